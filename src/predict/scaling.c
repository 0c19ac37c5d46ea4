#include <math.h>

#include <base/base.h>
#include <predict/predict.h>

/* What is varied of a graph transformer, and what a row of points comes to. */

#define LEVEL 0.95
#define MIN_POINTS 3 /* of a fit */

/* --- presets ---------------------------------------------------------------------------------------------------------- */

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const IfmScalingPreset presets[] = {
    { "nodes", "nodes of the graph, of average degree 5", "num-nodes", WORDS("100", "500", "1000", "2000", "5000"),
      WORDS("avg-degree=5") },
    { "layers", "layers", "num-layers", WORDS("2", "4", "6", "8", "12", "16"), WORDS("num-nodes=500") },
    { "pe", "positional encoding", "pe", WORDS("none", "lap:16", "rwse:16"), WORDS("num-nodes=500") },
    { "hidden", "width of a layer", "hidden-dim", WORDS("32", "64", "128", "256"), WORDS("num-nodes=500") },
    { "heads", "heads of attention", "num-heads", WORDS("1", "2", "4", "8"), WORDS("num-nodes=500") },
    { NULL, NULL, NULL, NULL, NULL },
};

const IfmScalingPreset *ifm_scaling_presets(void)
{
    return presets;
}

const IfmScalingPreset *ifm_scaling_preset(const char *axis, GError **error)
{
    const char *names[G_N_ELEMENTS(presets)] = { NULL };
    for (gsize i = 0; presets[i].axis != NULL; i++)
    {
        if (g_str_equal(presets[i].axis, axis))
            return &presets[i];
        names[i] = presets[i].axis;
    }
    g_autofree char *all = g_strjoinv(", ", (char **)names), *hint = ifm_nearest_hint(axis, names);
    ifm_error_refuse(error, "\"%s\" is nothing to vary (there are %s)%s", axis, all, hint);
    return NULL;
}

/* --- fits ------------------------------------------------------------------------------------------------------------- */

typedef enum
{
    OF_TIME,
    OF_FLOP,
    OF_BYTES,
    OF_ATTENTION,
} Of;

static double amount_of(const IfmScalingPoint *point, Of of)
{
    switch (of)
    {
    case OF_TIME:
        return point->time_ns;
    case OF_FLOP:
        return point->flop > 0 ? (double)point->flop : (double)NAN;
    case OF_BYTES:
        return point->bytes;
    default:
        return point->attention_planned_bytes;
    }
}

/* Whether it is known how well its time is known. */
static gboolean has_interval(const IfmScalingPoint *point)
{
    return point->time_ns > 0 && !point->disturbed && !isnan(point->interval.lower) && !isnan(point->interval.upper);
}

/* A time of a run or two may be far off, and how far is unknown: where enough others are known, it is left out. */
static void count_bare(IfmScaling *scaling)
{
    gsize n_known = 0;
    for (gsize i = 0; i < scaling->n; i++)
    {
        const IfmScalingPoint *point = &scaling->points[i];
        n_known += has_interval(point) && !isnan(point->x);
        scaling->n_bare += point->time_ns > 0 && !point->disturbed && !has_interval(point);
    }
    scaling->bare_fitted = scaling->n_bare > 0 && n_known < MIN_POINTS;
}

static gboolean is_fitted(const IfmScaling *scaling, Of of, const IfmScalingPoint *point)
{
    gboolean left_out = of == OF_TIME && (point->disturbed || (!scaling->bare_fitted && !has_interval(point)));
    return !isnan(point->x) && amount_of(point, of) > 0 && !left_out;
}

/* @why: (out) (optional) (transfer full) one line where there is no fit */
static gboolean fit_points(const IfmScaling *scaling, Of of, IfmPowerFit *fit, char **why)
{
    g_autofree double *x = g_new(double, scaling->n + 1), *y = g_new(double, scaling->n + 1);
    g_autofree IfmInterval *intervals = g_new(IfmInterval, scaling->n + 1);
    g_autoptr(GError) error = NULL;
    gsize n = 0, n_numbers = 0;
    gboolean any_below = FALSE, any_disturbed = FALSE;
    for (gsize i = 0; i < scaling->n; i++)
    {
        const IfmScalingPoint *point = &scaling->points[i];
        double amount = amount_of(point, of);
        n_numbers += !isnan(point->x);
        any_below |= amount <= 0;
        any_disturbed |= of == OF_TIME && point->disturbed;
        if (!is_fitted(scaling, of, point))
            continue;
        x[n] = point->x;
        y[n] = amount;
        intervals[n++] = point->interval;
    }
    if (n >= MIN_POINTS && ifm_power_fit(x, y, of == OF_TIME ? intervals : NULL, n, LEVEL, fit, &error))
        return TRUE;
    if (why == NULL)
        return FALSE;
    if (error != NULL)
        *why = g_strdup(error->message);
    else if (n_numbers == 0)
        *why = g_strdup("words have no exponent");
    else
        *why = g_strdup_printf("%zu point%s a time%s%s: 3 are needed", n, n == 1 ? " has" : "s have",
                               any_below ? " above 0" : "", any_disturbed ? " that nothing disturbed" : "");
    return FALSE;
}

/* --- departures ------------------------------------------------------------------------------------------------------- */

/* FLOP per second that a time of so many ns means; NaN: not known. */
static double rate_in(const IfmScalingPoint *point, double time_ns)
{
    return time_ns > 0 && point->flop > 0 ? 1e9 * (double)point->flop / time_ns : (double)NAN;
}

/* What the others are held against is what a point attains at least, so that no single lucky time makes them depart. */
static void find_max(IfmScaling *scaling)
{
    scaling->max_flop_per_s = NAN;
    for (gsize i = 0; i < scaling->n; i++)
    {
        const IfmScalingPoint *point = &scaling->points[i];
        double rate = has_interval(point) ? rate_in(point, point->interval.upper) : (double)NAN;
        if (isnan(rate) || rate <= scaling->max_flop_per_s)
            continue;
        scaling->max_flop_per_s = rate;
        scaling->max_at = i;
    }
}

static IfmDeparture judge(const IfmScaling *scaling, const IfmScalingPoint *point)
{
    if (!has_interval(point) || isnan(scaling->max_flop_per_s) || point->flop <= 0)
        return IFM_DEPARTURE_UNKNOWN;
    double min = scaling->max_flop_per_s / rate_in(point, point->interval.lower);
    return min > IFM_SCALING_DEPARTS ? IFM_DEPARTS : IFM_DEPARTS_NOT;
}

static void find_departures(IfmScaling *scaling)
{
    find_max(scaling);
    for (gsize i = 0; i < scaling->n; i++)
    {
        const IfmScalingPoint *point = &scaling->points[i];
        scaling->departures[i] = scaling->max_flop_per_s / rate_in(point, point->time_ns);
        scaling->departs[i] = judge(scaling, point);
    }
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

IfmScaling *ifm_scaling_new(const IfmScalingPoint *points, gsize n)
{
    IfmScaling *scaling = g_new0(IfmScaling, 1);
    scaling->points = points;
    scaling->n = n;
    scaling->departures = g_new(double, n + 1);
    scaling->departs = g_new0(IfmDeparture, n + 1);
    count_bare(scaling);
    scaling->has_time = fit_points(scaling, OF_TIME, &scaling->time, &scaling->why);
    scaling->has_flop = fit_points(scaling, OF_FLOP, &scaling->flop, NULL);
    scaling->has_bytes = fit_points(scaling, OF_BYTES, &scaling->bytes, NULL);
    scaling->has_attention = fit_points(scaling, OF_ATTENTION, &scaling->attention, NULL);
    find_departures(scaling);
    return scaling;
}

void ifm_scaling_free(IfmScaling *scaling)
{
    if (scaling == NULL)
        return;
    g_free(scaling->why);
    g_free(scaling->departures);
    g_free(scaling->departs);
    g_free(scaling);
}
