#include <math.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <profile/figures.h>

/* What the measurements of a profile come to: kernels of a device, passes. */

IfmKernels *ifm_profile_kernels(const IfmProfileReport *report, const IfmProfileDevice *device)
{
    IfmRoofline roofline;
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    if (measurement == NULL || measurement->nodes->len == 0)
        return NULL;
    gboolean limited = ifm_roofline_of(device->peak, &roofline);
    return ifm_kernels_new(measurement, report->model, report->analysis, limited ? &roofline : NULL);
}

const json_t *ifm_profile_rounds(const IfmProfileReport *report)
{
    return report->rounds != NULL ? ifm_measurement_result(report->rounds, "rounds") : NULL;
}

void ifm_profile_time(const IfmProfileReport *report, const IfmProfileDevice *device, IfmRoundsOfOne *of)
{
    const json_t *rounds = ifm_profile_rounds(report), *sides = json_object_get(rounds, "sides");
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    IfmTiming timing;
    gsize side = 0;
    *of = (IfmRoundsOfOne){ 0, NAN, NAN, NAN, { NAN, NAN, NAN } };
    while (side < json_array_size(sides) &&
           g_strcmp0(ifm_member_text(json_array_get(sides, side), "name"), ifm_result_name(&device->result)) != 0)
        side++;
    if (side < json_array_size(sides))
        ifm_rounds_of_side(rounds, side, of);
    else if (report->mode != NULL && ifm_mode_rounds(report->mode, device) > 0)
        ifm_rounds_of_one(device->rounds, of);
    if (of->n > 0 || measurement == NULL)
        return;
    ifm_timing_of(measurement, &timing);
    *of = (IfmRoundsOfOne){ 0, timing.median_ns, measurement->summary.min, measurement->summary.max, timing.interval };
}

const IfmProfileDevice *ifm_profile_fastest(const IfmProfileReport *report)
{
    const IfmProfileDevice *best = NULL;
    double least_ns = INFINITY;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        IfmRoundsOfOne of;
        ifm_profile_time(report, &report->devices[i], &of);
        if (ifm_result_measured(&report->devices[i].result) == NULL || !(best == NULL || of.median_ns < least_ns))
            continue;
        best = &report->devices[i];
        least_ns = of.median_ns;
    }
    return best;
}

double ifm_profile_attained(const IfmKernels *kernels, double time_ns)
{
    return kernels != NULL ? kernels->min_ns / time_ns : (double)NAN;
}

GArray *ifm_profile_parts(const IfmProfileReport *report, const IfmKernels *kernels)
{
    return report->graph != NULL && report->analysis != NULL ? ifm_model_parts(report->model, report->analysis, kernels)
                                                             : NULL;
}

/* --- passes ----------------------------------------------------------------------------------------------------------- */

const int ifm_pass_order[IFM_N_PASS_FIGURES] = { IFM_PASS_FORWARD, IFM_PASS_BACKWARD, IFM_PASS_TRAINING, IFM_PASS_UPDATE,
                                                 IFM_PASS_STEP };

const char *ifm_pass_key(int kind)
{
    static const char *const keys[] = { [IFM_PASS_FORWARD] = "forward",
                                        [IFM_PASS_TRAINING] = "training_pass",
                                        [IFM_PASS_STEP] = "training_step",
                                        [IFM_PASS_BACKWARD] = "backward",
                                        [IFM_PASS_UPDATE] = "update" };
    return keys[kind];
}

gboolean ifm_pass_parts(int kind, IfmPassKind *whole, IfmPassKind *part)
{
    *whole = kind == IFM_PASS_UPDATE ? IFM_PASS_STEP : IFM_PASS_TRAINING;
    *part = kind == IFM_PASS_UPDATE ? IFM_PASS_TRAINING : IFM_PASS_FORWARD;
    return kind >= IFM_N_PASSES;
}

gboolean ifm_mode_has_pass(const IfmProfileMode *mode, int kind)
{
    IfmPassKind whole, part;
    return ifm_pass_parts(kind, &whole, &part) ? mode->passes[whole] != NULL && mode->passes[part] != NULL
                                               : mode->passes[kind] != NULL;
}

const IfmProfileDevice *ifm_profile_find_device(const IfmProfileReport *report, const IfmResult *like)
{
    for (gsize i = 0; report != NULL && like != NULL && i < report->n_devices; i++)
        if (g_str_equal(report->devices[i].result.device, like->device) &&
            g_strcmp0(report->devices[i].result.alias, like->alias) == 0)
            return &report->devices[i];
    return NULL;
}

const IfmProfileDevice *ifm_mode_device(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like)
{
    return ifm_profile_find_device(mode->passes[kind], like != NULL ? &like->result : NULL);
}

static const IfmMeasurement *measurement_in(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like)
{
    const IfmProfileDevice *device = ifm_mode_device(mode, kind, like);
    return device != NULL ? device->result.measurement : NULL;
}

/* The processes of a side, or of one less another in each round. @less: G_MAXSIZE: of none */
static IfmTiming timing_of_rounds(const json_t *rounds, gsize side, gsize less, double level)
{
    const gsize n = json_array_size(rounds);
    IfmTiming timing = { .mean_ns = 0, .median_ns = NAN, .std_ns = NAN, .interval = { INFINITY, -INFINITY, level } };
    g_autofree double *of = g_new(double, n + 1), *values = g_new(double, n + 1), *from = g_new(double, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        const json_t *medians = json_object_get(json_array_get(rounds, i), "median_ns");
        of[i] = json_number_value(json_array_get(medians, side));
        from[i] = less != G_MAXSIZE ? json_number_value(json_array_get(medians, less)) : 0;
        values[i] = of[i] - from[i];
        timing.mean_ns += values[i] / (double)n;
        timing.interval.lower = fmin(timing.interval.lower, values[i]);
        timing.interval.upper = fmax(timing.interval.upper, values[i]);
    }
    double squares = 0;
    for (gsize i = 0; i < n; i++)
        squares += (values[i] - timing.mean_ns) * (values[i] - timing.mean_ns);
    timing.std_ns = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
    ifm_sort_doubles(of, n);
    ifm_sort_doubles(from, n);
    timing.median_ns = ifm_quantile(of, n, 0.5) - ifm_quantile(from, n, 0.5);
    if (ldexp(1, 1 - (int)MIN(n, 1000)) > (1 - level) * (1 + 1e-12)) /* too few hold the middle of all */
        timing.interval.lower = timing.interval.upper = NAN;
    return timing;
}

/* What rounds a pass was in. @side: (out) of them. Returns: NULL: in none */
static const json_t *rounds_of(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like, gsize *side)
{
    const IfmProfileDevice *device = ifm_mode_device(mode, kind, like);
    const IfmMeasurement *measurement = device != NULL ? device->rounds : NULL;
    *side = (gsize)json_integer_value(ifm_measurement_result(measurement, "side"));
    return ifm_measurement_result(measurement, "rounds");
}

gsize ifm_mode_rounds(const IfmProfileMode *mode, const IfmProfileDevice *device)
{
    const json_t *shared = NULL;
    gsize side;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        if (mode->passes[kind] == NULL)
            continue;
        const json_t *rounds = json_object_get(rounds_of(mode, (IfmPassKind)kind, device, &side), "rounds");
        if (json_array_size(rounds) == 0 || (shared != NULL && !json_equal(rounds, shared)))
            return 0;
        shared = rounds;
    }
    return json_array_size(shared);
}

void ifm_mode_timing(const IfmProfileMode *mode, int kind, const IfmProfileDevice *device, IfmTiming *timing)
{
    IfmPassDifference difference;
    IfmPassKind whole, part;
    gsize side;
    if (ifm_pass_parts(kind, &whole, &part))
    {
        ifm_mode_difference(mode, kind, device, &difference);
        *timing = difference.timing;
    }
    else if (ifm_mode_rounds(mode, device) > 0)
    {
        const json_t *json = rounds_of(mode, (IfmPassKind)kind, device, &side);
        *timing = timing_of_rounds(json_object_get(json, "rounds"), side, G_MAXSIZE, ifm_member_number(json, "level"));
    }
    else
        ifm_timing_of(measurement_in(mode, (IfmPassKind)kind, device), timing);
}

void ifm_mode_difference(const IfmProfileMode *mode, int kind, const IfmProfileDevice *device,
                         IfmPassDifference *difference)
{
    IfmPassKind whole, part;
    gsize side, less;
    ifm_pass_parts(kind, &whole, &part);
    ifm_pass_difference(measurement_in(mode, part, device), measurement_in(mode, whole, device), difference);
    if ((difference->n_rounds = ifm_mode_rounds(mode, device)) == 0)
        return;
    IfmTiming *timing = &difference->timing;
    const json_t *json = rounds_of(mode, whole, device, &side);
    rounds_of(mode, part, device, &less);
    *timing = timing_of_rounds(json_object_get(json, "rounds"), side, less, ifm_member_number(json, "level"));
    difference->holds_zero = timing->interval.lower <= 0 && timing->interval.upper >= 0;
}

void ifm_mode_work(const IfmProfileMode *mode, int kind, IfmWork *work)
{
    IfmPassKind whole, part;
    IfmWork less;
    const gboolean differs = ifm_pass_parts(kind, &whole, &part);
    const IfmProfileReport *report = mode->passes[differs ? (int)whole : kind];
    ifm_work_of(report != NULL ? report->analysis : NULL, work);
    if (!differs)
        return;
    ifm_mode_work(mode, (int)part, &less);
    *work = (IfmWork){ work->macs - less.macs, work->flop - less.flop };
}
