/* Figures of a window and their intervals (docs/energy.md, "Where the intervals come from"). */
#include "energy-private.h"
#include <math.h>
#include <string.h>

#define NS_PER_S 1e9
#define UJ_PER_J 1e6
#define LEVEL 0.95
#define NORMAL_QUANTILE 1.959964
#define TRIANGLE_QUANTILE 0.776393 /* 1 - sqrt(0.05): |U - V| of two uniform numbers is below it in 95 % */

IfmEnergyFigure energy_unavailable(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    IfmEnergyFigure figure = { .value = NAN,
                               .interval = { .lower = NAN, .upper = NAN, .level = LEVEL },
                               .unavailable = g_strdup_vprintf(format, arguments) };
    va_end(arguments);
    return figure;
}

IfmEnergyFigure energy_figure_copy(const IfmEnergyFigure *figure)
{
    IfmEnergyFigure copy = *figure;
    copy.unavailable = g_strdup(figure->unavailable);
    return copy;
}

static IfmEnergyFigure figure_new(double value, double half)
{
    return (IfmEnergyFigure){ .value = value,
                              .interval = { .lower = value - half, .upper = value + half, .level = LEVEL } };
}

static double half_of(const IfmEnergyFigure *figure)
{
    return (figure->interval.upper - figure->interval.lower) / 2;
}

/* The mean power by the counter between two points. */
static double power_between(const EnergyPoint *from, const EnergyPoint *to)
{
    double seconds = (double)(to->time_ns - from->time_ns) / NS_PER_S;
    return seconds > 0 ? (double)(to->total_uj - from->total_uj) / UJ_PER_J / seconds : 0;
}

IfmEnergyFigure energy_counted(const char *name, const EnergySeries *series)
{
    if (series->failure != NULL)
        return energy_unavailable("%s", series->failure);
    const EnergyPoint *first = &series->points[0], *last = &series->points[series->n - 1];
    double seconds = (double)(last->time_ns - first->time_ns) / NS_PER_S;
    if (series->n_updates == 0)
        return energy_unavailable("%s: the counter did not change in %.3f s", name, seconds);
    gsize quarter = (series->n - 1) / 4;
    double edge_w = power_between(first, last);
    edge_w = MAX(edge_w, power_between(first, &series->points[quarter]));
    edge_w = MAX(edge_w, power_between(&series->points[series->n - 1 - quarter], last));
    double gap_s = series->n_updates > 1 ? (double)series->gap_ns / NS_PER_S : seconds;
    double edges_j = TRIANGLE_QUANTILE * edge_w * gap_s;
    double steps_j = TRIANGLE_QUANTILE * (double)series->step_uj / UJ_PER_J;
    return figure_new((double)(last->total_uj - first->total_uj) / UJ_PER_J, hypot(edges_j, steps_j));
}

/* Points where the power changed, and both ends: a gauge that is read more often than it is renewed repeats itself. */
static GArray *distinct_points(const EnergySeries *series)
{
    GArray *distinct = g_array_sized_new(FALSE, FALSE, sizeof(EnergyPoint), (guint)series->n);
    for (gsize i = 0; i < series->n; i++)
        if (i == 0 || i == series->n - 1 || series->points[i].power_w != series->points[i - 1].power_w)
            g_array_append_val(distinct, series->points[i]);
    return distinct;
}

/* The standard deviation of one sample, from second differences: a drift is not noise. */
static double sample_deviation_w(const EnergyPoint *points, gsize n)
{
    double sum = 0;
    for (gsize i = 1; i + 1 < n; i++)
    {
        double difference = points[i - 1].power_w - 2 * points[i].power_w + points[i + 1].power_w;
        sum += difference * difference;
    }
    return sqrt(sum / (6 * (double)(n - 2)));
}

#define MIN_SAMPLES 4

/* Student's quantile for 95 %, with the degrees of freedom of @n second differences (18 / 35 of n for Gaussian noise;
 * Gasser, Sroka and Jennen-Steinmetz 1986), by its expansion around the normal one. */
static double student_quantile(double n)
{
    double freedom = n * 18 / 35;
    return NORMAL_QUANTILE * (1 + (NORMAL_QUANTILE * NORMAL_QUANTILE + 1) / (4 * freedom));
}

IfmEnergyFigure energy_sampled(const char *name, const EnergySeries *series)
{
    if (series->failure != NULL)
        return energy_unavailable("%s", series->failure);
    if (series->n < MIN_SAMPLES)
        return energy_unavailable("%s: %zu samples of the power are too few", name, series->n);
    g_autoptr(GArray) distinct = distinct_points(series);
    const EnergyPoint *points = (const EnergyPoint *)(const void *)distinct->data;
    gsize n = distinct->len;
    double energy_j = 0, weights = 0, moments = 0, before_s = 0;
    for (gsize i = 0; i < n; i++)
    {
        double after_s = i + 1 < n ? (double)(points[i + 1].time_ns - points[i].time_ns) / NS_PER_S : 0;
        double weight_s = (before_s + after_s) / 2;
        double change_j = i + 1 < n ? (points[i + 1].power_w - points[i].power_w) * after_s : 0;
        energy_j += weight_s * points[i].power_w;
        weights += weight_s * weight_s;
        moments += change_j * change_j / 12; /* it changed at any moment between the two samples */
        before_s = after_s;
    }
    double noise_j = n > 2 ? sample_deviation_w(points, n) * sqrt(weights) : 0;
    return figure_new(energy_j, student_quantile((double)MAX(n, 3) - 2) * hypot(noise_j, sqrt(moments)));
}

/* gross - idle power x time, of one domain. */
static IfmEnergyFigure net_of(const IfmEnergyReading *reading, gint64 duration_ns, const IfmEnergyResult *idle)
{
    const IfmEnergyReading *still = NULL;
    if (reading->gross_j.unavailable != NULL)
        return energy_figure_copy(&reading->gross_j);
    for (gsize i = 0; idle != NULL && i < idle->n_readings; i++)
        if (strcmp(idle->readings[i].domain, reading->domain) == 0)
            still = &idle->readings[i];
    if (still == NULL || idle->duration_ns <= 0)
        return energy_unavailable("%s: no idle power was measured", reading->domain);
    if (still->gross_j.unavailable != NULL)
        return energy_unavailable("idle power: %s", still->gross_j.unavailable);
    double share = (double)duration_ns / (double)idle->duration_ns;
    return figure_new(reading->gross_j.value - still->gross_j.value * share,
                      hypot(half_of(&reading->gross_j), half_of(&still->gross_j) * share));
}

/* Adds a domain to a sum. Half-widths are added: the counters of a machine may be renewed at the same moments. */
static void add_figure(IfmEnergyFigure *sum, const IfmEnergyFigure *figure)
{
    if (sum->unavailable != NULL)
        return;
    if (figure->unavailable != NULL)
        *sum = energy_figure_copy(figure);
    else
        *sum = figure_new(sum->value + figure->value, half_of(sum) + half_of(figure));
}

void energy_result_finish(IfmEnergyResult *result, const IfmEnergyResult *idle)
{
    gsize n_summed = 0;
    result->gross_j = figure_new(0, 0);
    result->net_j = figure_new(0, 0);
    for (gsize i = 0; i < result->n_readings; i++)
    {
        IfmEnergyReading *reading = &result->readings[i];
        reading->net_j = net_of(reading, result->duration_ns, idle);
        if (!reading->in_total)
            continue;
        add_figure(&result->gross_j, &reading->gross_j);
        add_figure(&result->net_j, &reading->net_j);
        result->too_short = result->too_short || reading->n_updates < IFM_ENERGY_MIN_UPDATES;
        n_summed++;
    }
    if (n_summed > 0)
        return;
    result->gross_j = energy_unavailable("no domain holds the others");
    result->net_j = energy_unavailable("no domain holds the others");
}

void ifm_energy_result_clear(IfmEnergyResult *result)
{
    for (gsize i = 0; i < result->n_readings; i++)
    {
        IfmEnergyReading *reading = &result->readings[i];
        g_free(reading->domain);
        g_free(reading->counted_j.unavailable);
        g_free(reading->sampled_j.unavailable);
        g_free(reading->gross_j.unavailable);
        g_free(reading->net_j.unavailable);
    }
    g_free(result->readings);
    g_free(result->gross_j.unavailable);
    g_free(result->net_j.unavailable);
    memset(result, 0, sizeof *result);
}
