/* Figures of a profile that say more than its tables: every run, distributions, the roofline, memory node by node. */
#include <math.h>

#include "profile-page-private.h"
#include <base/base.h>

/* --- runs ------------------------------------------------------------------------------------------------------------- */

/* Run by run, as it happened: drift and bursts are seen. */
static void add_runs(IfmDocument *document, const IfmProfileReport *report)
{
    IfmBlock *block =
        ifm_document_page_figure(document, "runs", IFM_FIGURE_SCATTER, "Time of each run",
                                 "The runs in their order: a drift or a burst of another process is seen here.");
    block->figure.x.title = "run";
    block->figure.x.kind = IFM_FIELD_INTEGER;
    block->figure.x.own = TRUE;
    block->figure.y.title = "time";
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        if (measurement == NULL || measurement->samples_ns->len == 0)
            continue;
        IfmSeries *series = ifm_document_series(document, block, ifm_result_name(&report->devices[i].result), NULL);
        for (guint k = 0; k < measurement->samples_ns->len; k++)
        {
            IfmPoint point = IFM_POINT_INIT;
            point.x = k + 1;
            point.y = (double)g_array_index(measurement->samples_ns, gint64, k);
            ifm_document_point(document, series, &point);
        }
    }
}

#define MAX_STEPS 400 /* of a distribution: more are not told apart by the eye */

/* What share of the runs took at most so long. */
static void add_distributions(IfmDocument *document, const IfmProfileReport *report)
{
    IfmBlock *block =
        ifm_document_page_figure(document, "distributions", IFM_FIGURE_SCATTER, "Distribution of the times",
                                 "The share of runs that took at most so long (empirical distribution function).");
    block->figure.x.title = "time";
    block->figure.x.logarithmic = TRUE;
    block->figure.y.title = "share of runs";
    block->figure.y.kind = IFM_FIELD_RATIO;
    block->figure.y.low = 0;
    block->figure.y.high = 1;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        if (measurement == NULL || measurement->samples_ns->len < 2)
            continue;
        g_autoptr(GArray) sorted = g_array_copy(measurement->samples_ns);
        IfmSeries *series = ifm_document_series(document, block, ifm_result_name(&report->devices[i].result), NULL);
        const guint n = sorted->len, n_steps = MIN(n, MAX_STEPS);
        g_array_sort(sorted, ifm_compare_int64);
        series->joined = TRUE;
        for (guint step = 1; step <= n_steps; step++)
        {
            const guint rank = (guint)((guint64)step * n / n_steps);
            IfmPoint point = IFM_POINT_INIT;
            point.x = (double)g_array_index(sorted, gint64, rank - 1);
            point.y = (double)rank / n;
            ifm_document_point(document, series, &point);
        }
    }
}

void ifm_profile_add_runs(IfmDocument *document, const IfmProfileReport *report)
{
    add_runs(document, report);
    add_distributions(document, report);
}

/* --- kernels ---------------------------------------------------------------------------------------------------------- */

/* The peak over intensities: bandwidth up to the ridge, arithmetic from there. */
static void add_peak(IfmDocument *document, IfmBlock *block, const IfmRoofline *roofline, const double ends[2])
{
    const double ridge = roofline->flop_per_s / roofline->bytes_per_s, corners[] = { ends[0], ridge, ends[1] };
    IfmSeries *series = ifm_document_series(document, block, "peak", NULL);
    series->joined = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(corners); i++)
    {
        IfmPoint point = IFM_POINT_INIT;
        if (i == 1 && !(ridge > ends[0] && ridge < ends[1]))
            continue;
        point.x = corners[i];
        point.y = MIN(roofline->flop_per_s, point.x * roofline->bytes_per_s);
        ifm_document_point(document, series, &point);
    }
}

void ifm_profile_add_roofline(IfmDocument *document, const IfmKernels *kernels, const IfmRoofline *roofline,
                              const char *key)
{
    const double ridge = roofline->flop_per_s / roofline->bytes_per_s;
    double ends[2] = { ridge / 4, ridge * 4 };
    IfmBlock *block = ifm_document_page_figure(document, key, IFM_FIGURE_SCATTER, "Kernels under the roofline",
                                               "How far each kernel is below the peak that bounds it.");
    IfmSeries *ran = ifm_document_series(document, block, "kernels", NULL);
    block->figure.x = (IfmAxis){ "intensity", "FLOP/B", IFM_FIELD_REAL, TRUE, (double)NAN, (double)NAN, .own = TRUE };
    block->figure.y = (IfmAxis){ "rate", "FLOP/s", IFM_FIELD_REAL, TRUE, (double)NAN, (double)NAN };
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        IfmPoint point = IFM_POINT_INIT;
        point.x = kernel->place.intensity;
        if (!(point.x > 0) || !(kernel->node->median_ns > 0))
            continue;
        point.label = kernel->label != NULL ? kernel->label : kernel->node->name;
        point.y = 1e9 * (double)kernel->cost.flop / kernel->node->median_ns;
        ends[0] = fmin(ends[0], point.x);
        ends[1] = fmax(ends[1], point.x);
        ifm_document_point(document, ran, &point);
    }
    add_peak(document, block, roofline, ends);
}

/* --- memory ----------------------------------------------------------------------------------------------------------- */

void ifm_profile_add_alive(IfmDocument *document, const IfmProfileReport *report)
{
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (report->analysis == NULL || report->model == NULL || (report->parts & IFM_PROFILE_MEMORY) == 0)
        return;
    ifm_analysis_memory(report->analysis, &plan);
    const gsize n = ifm_model_n_nodes(report->model);
    g_autofree double *steps = g_new0(double, n + 1);
    for (guint i = 0; i < plan.lifetimes->len; i++)
    {
        const IfmLifetime *one = &g_array_index(plan.lifetimes, IfmLifetime, i);
        if (one->bytes <= 0 || one->first >= (gssize)n)
            continue;
        steps[MAX(one->first, 0)] += (double)one->bytes;
        if (one->last + 1 < (gssize)n)
            steps[one->last + 1] -= (double)one->bytes;
    }
    IfmBlock *block =
        ifm_document_page_figure(document, "alive", IFM_FIGURE_SCATTER, "Memory over an inference",
                                 "Bytes of inputs and activations that are alive at each node, by the shapes; the "
                                 "square is the peak.");
    IfmSeries *alive = ifm_document_series(document, block, "alive", NULL),
              *peak = ifm_document_series(document, block, "peak", NULL);
    double sum = 0;
    alive->joined = TRUE;
    block->figure.x.title = "node";
    block->figure.x.kind = IFM_FIELD_INTEGER;
    block->figure.x.own = TRUE;
    block->figure.y.title = "alive";
    block->figure.y.kind = IFM_FIELD_BYTES;
    block->figure.y.low = 0;
    for (gsize i = 0; i < n; i++)
    {
        IfmPoint point = IFM_POINT_INIT;
        sum += steps[i];
        point.x = (double)i;
        point.y = i == plan.peak_node ? (double)plan.peak_bytes : sum; /* with what a node's subgraphs need */
        point.label = ifm_layer_name(ifm_model_node(report->model, i));
        ifm_document_point(document, alive, &point);
        if (i == plan.peak_node)
            ifm_document_point(document, peak, &point);
    }
}
