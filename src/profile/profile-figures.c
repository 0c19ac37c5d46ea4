/* Figures of a profile that say more than its tables: every run, time breakdowns, rooflines, memory node by node. */
#include <math.h>

#include <base/fields.h>
#include <document/words.h>

#include "profile-findings.h"
#include <base/base.h>

#include "profile-page-private.h"

/* --- runs ------------------------------------------------------------------------------------------------------------- */

/* Run by run, as it happened: drift and bursts are seen. */
void ifm_profile_add_runs(IfmDocument *document, const IfmProfileReport *report)
{
    IfmBlock *block =
        ifm_document_page_figure(document, "runs", IFM_FIGURE_SCATTER, NULL,
                                 "The runs in their order: a drift or a burst of another process is seen here.");
    g_autofree const char **names = g_new0(const char *, report->n_devices + 1);
    g_autofree double *drifts = g_new0(double, report->n_devices + 1);
    g_autofree gboolean *drifting = g_new0(gboolean, report->n_devices + 1);
    gsize n = 0;
    block->figure.half = TRUE;
    block->figure.x = ifm_axis("run", IFM_FIELD_INTEGER);
    block->figure.x.own = TRUE;
    block->figure.y.title = "time";
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
        if (measurement == NULL || measurement->samples_ns->len == 0)
            continue;
        IfmSeries *series = ifm_document_series(document, block, ifm_result_name(&report->devices[i].result), NULL);
        names[n] = series->name;
        drifts[n] = measurement->summary.drift_ratio;
        drifting[n++] = measurement->summary.drifting;
        for (guint k = 0; k < measurement->samples_ns->len; k++)
        {
            ifm_document_point_at(document, series, NULL, k + 1, (double)g_array_index(measurement->samples_ns, gint64, k));
        }
    }
    block->figure.title = ifm_document_take_text(document, ifm_finding_drift(names, n, drifts, drifting));
}

/* --- what a profiled run spends -----------------------------------------------------------------------------------------
 */

void ifm_profile_add_breakdowns(const IfmProfilePage *page)
{
    static const struct
    {
        const char *name, *key;
    } terms[] = { { "kernels", "nodes_ns" },
                  { "data movement", "copies_ns" },
                  { "gaps", "gaps_ns" },
                  { "not explained", "residual_ns" } };
    const IfmProfileReport *report = page->report;
    g_autofree const char **names = g_new0(const char *, report->n_devices + 1);
    g_autofree double *shares = g_new0(double, report->n_devices + 1);
    gsize n = 0;
    IfmBlock *figure = ifm_document_page_figure(
        page->document, "breakdown", IFM_FIGURE_STACKED, NULL,
        "The wall time of a profiled run: its kernels, data movement, gaps between them, and what no cause is known "
        "of; what overlaps is counted once, as kernels.");
    figure->figure.half = TRUE;
    figure->figure.y.title = "wall time of a profiled run";
    for (gsize k = 0; k < G_N_ELEMENTS(terms); k++)
    {
        IfmSeries *series = ifm_document_series(page->document, figure, terms[k].name, NULL);
        for (gsize i = 0; i < report->n_devices; i++)
        {
            const IfmMeasurement *measurement = ifm_result_measured(&report->devices[i].result);
            const json_t *breakdown = measurement != NULL ? measurement->breakdown : NULL;
            const double overlap_ns = ifm_member_number(breakdown, "overlap_ns"),
                         wall_ns = ifm_member_number(breakdown, "wall_ns");
            const char *name = ifm_result_name(&report->devices[i].result);
            const double ns = ifm_member_number(breakdown, terms[k].key) - (k == 0 && overlap_ns > 0 ? overlap_ns : 0);
            if (!(wall_ns > 0) || !isfinite(ns))
                continue;
            if (k == 0)
            {
                names[n] = name;
                shares[n++] = ns / wall_ns;
            }
            ifm_document_point_at(page->document, series, name, NAN, ns);
        }
    }
    figure->figure.title = ifm_document_take_text(page->document, ifm_finding_breakdown(names, n, shares));
}

/* --- kernels under their roofs
 * -------------------------------------------------------------------------------------------- */

static void add_roof(IfmDocument *document, IfmBlock *block, const char *name, double flop_per_s, double bytes_per_s,
                     const double ends[2])
{
    const double ridge = flop_per_s / bytes_per_s, corners[] = { ends[0], ridge, ends[1] };
    g_autofree char *rate = ifm_scaled(bytes_per_s), *text = g_strdup_printf("%s %sB/s", name, rate);
    IfmSeries *series = ifm_document_series(document, block, text, NULL);
    series->joined = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(corners); i++)
    {
        if (i != 1 || (ridge > ends[0] && ridge < ends[1]))
            ifm_document_point_at(document, series, NULL, corners[i], MIN(flop_per_s, corners[i] * bytes_per_s));
    }
}

/* Roof: what the kernels of a device come to. */
typedef struct
{
    double arithmetic, memory; /* shares of the kernels' time */
    gsize n_above;
    const IfmKernel **order; /* the most above its roof first */
    gsize n;
} Roof;

static gint by_excess(gconstpointer a, gconstpointer b, gpointer unused)
{
    const IfmKernel *x = *(const IfmKernel *const *)a, *y = *(const IfmKernel *const *)b;
    return (x->place.excess_ns < y->place.excess_ns) - (x->place.excess_ns > y->place.excess_ns);
}

static void roof_init(Roof *roof, const IfmKernels *kernels)
{
    gsize n_known;
    const IfmKernel *furthest;
    *roof = (Roof){ .n_above = ifm_profile_above_roof(kernels, &n_known, &furthest),
                    .order = g_new0(const IfmKernel *, kernels->rows->len + 1) };
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        roof->arithmetic += kernel->place.bound == IFM_BOUND_COMPUTE ? kernel->share_ratio : 0;
        roof->memory += kernel->place.bound == IFM_BOUND_MEMORY ? kernel->share_ratio : 0;
        if (isfinite(kernel->place.excess_ns))
            roof->order[roof->n++] = kernel;
    }
    g_qsort_with_data(roof->order, (gint)roof->n, sizeof *roof->order, by_excess, NULL);
}

static const char *label_of(const IfmKernel *kernel)
{
    return kernel->label != NULL ? kernel->label : kernel->node->name;
}

static void add_roofline(IfmDocument *document, const IfmKernels *kernels, const IfmRoofline *roofline, const Roof *roof,
                         const char *key, const char *device)
{
    const double ridge = roofline->flop_per_s / roofline->bytes_per_s;
    double ends[2] = { ridge / 4, ridge * 4 };
    g_autofree char *finding = ifm_finding_bounds(roof->arithmetic, roof->memory, roof->n_above),
                    *title = g_strconcat(device, device[0] != '\0' ? ": " : "", finding, NULL);
    IfmBlock *block = ifm_document_page_figure(document, key, IFM_FIGURE_SCATTER, title,
                                               "Each kernel by its intensity and rate; area: its time. Lines: the roofs as "
                                               "they were measured, of memory and of what each cache holds.");
    IfmSeries *ran = ifm_document_series(document, block, "kernels", NULL);
    block->figure.half = TRUE;
    block->figure.x = (IfmAxis){ "intensity", "FLOP/B", IFM_FIELD_REAL, TRUE, (double)NAN, (double)NAN, .own = TRUE };
    block->figure.y = (IfmAxis){ "rate", "FLOP/s", IFM_FIELD_REAL, TRUE, (double)NAN, (double)NAN };
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        IfmPoint point = IFM_POINT_INIT;
        point.x = kernel->place.intensity;
        if (!(point.x > 0) || !(kernel->node->median_ns > 0) || kernel->cost.flop <= 0)
            continue;
        point.label = label_of(kernel);
        point.y = 1e9 * (double)kernel->cost.flop / kernel->node->median_ns;
        point.size = kernel->node->median_ns;
        ends[0] = fmin(ends[0], point.x);
        ends[1] = fmax(ends[1], point.x);
        ifm_document_point(document, ran, &point);
    }
    add_roof(document, block, "memory", roofline->flop_per_s, roofline->bytes_per_s, ends);
    for (gsize i = 0; i < roofline->n_caches; i++)
    {
        g_autofree char *held = ifm_say_bytes(roofline->caches[i].bytes), *name = g_strdup_printf("cache of %s", held);
        add_roof(document, block, name, roofline->flop_per_s, roofline->caches[i].bytes_per_s, ends);
    }
}

#define EXCESSES 10 /* kernels that a figure shows */

static void add_excess(IfmDocument *document, const Roof *roof, const char *key, const char *device)
{
    g_autofree double *excess_ns = g_new0(double, roof->n + 1);
    for (gsize i = 0; i < roof->n; i++)
        excess_ns[i] = roof->order[i]->place.excess_ns;
    g_autofree char *finding = ifm_finding_excess(excess_ns, roof->n),
                    *title = g_strconcat(device, device[0] != '\0' ? ": " : "", finding, NULL);
    IfmBlock *block = ifm_document_page_figure(document, key, IFM_FIGURE_STACKED, title,
                                               "The kernels with most time above their roof: what they would take at it, "
                                               "and what is above.");
    IfmSeries *at = ifm_document_series(document, block, "at its roof", NULL),
              *above = ifm_document_series(document, block, "above", NULL);
    block->figure.half = TRUE;
    block->figure.y.title = "time of the kernel";
    for (gsize i = 0; i < roof->n && i < EXCESSES && excess_ns[i] > 0; i++)
    {
        const IfmKernel *kernel = roof->order[i];
        ifm_document_point_at(document, at, label_of(kernel), NAN, kernel->node->median_ns - excess_ns[i]);
        ifm_document_point_at(document, above, label_of(kernel), NAN, excess_ns[i]);
    }
}

static double time_of(const IfmProfileReport *report, gsize at)
{
    IfmRoundsOfOne of;
    ifm_profile_time(report, &report->devices[at], &of);
    return of.median_ns;
}

/* How many of the others whose peak is known take less. */
static gsize rank_of(const IfmProfileReport *report, gsize at)
{
    const double own_ns = time_of(report, at);
    gsize rank = 0;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const double ns = report->devices[i].peak != NULL ? time_of(report, i) : (double)NAN;
        rank += i != at && (ns < own_ns || (ns == own_ns && i < at));
    }
    return rank;
}

/* The answer is of the device that takes least of those whose peak is known. */
void ifm_profile_add_roofs(const IfmProfilePage *page)
{
    const IfmProfileReport *report = page->report;
    const IfmProfileDevice *best = NULL;
    double attained = NAN, min_ns = NAN, best_ns = NAN;
    for (gsize i = 0; i < report->n_devices; i++)
    {
        const double ns = time_of(report, i), share = ifm_profile_attained(page->kernels[i], ns);
        if (!isfinite(share) || best_ns <= ns)
            continue;
        best = &report->devices[i];
        best_ns = ns;
        attained = share;
        min_ns = page->kernels[i]->min_ns;
    }
    g_autofree char *share = ifm_say_per_cent(attained), *least = ifm_say_duration(min_ns),
                    *median = ifm_say_duration(best_ns);
    if (best == NULL)
        ifm_document_question(page->document, "How far from the peak?", NULL);
    else if (attained > 1)
        ifm_document_question(
            page->document, "How far from the peak?",
            "The measured peak of %s is too low: an inference takes %s, and %s with every kernel at its roof.",
            ifm_result_name(&best->result), median, least);
    else
        ifm_document_question(
            page->document, "How far from the peak?",
            "%s reaches %s of its measured peak: with every kernel at its roof an inference would take %s "
            "instead of %s.",
            ifm_result_name(&best->result), share, least, median);
    for (gsize i = 0; report->devices != NULL && i < report->n_devices; i++)
    {
        IfmRoofline roofline;
        Roof roof;
        if (page->kernels[i] == NULL || !ifm_roofline_of(report->devices[i].peak, &roofline) ||
            rank_of(report, i) >= (report->n_devices > 2 ? 1 : 2)) /* of many that which takes least */
            continue;
        const char *name = report->n_devices > 1 ? ifm_result_name(&report->devices[i].result) : "";
        roof_init(&roof, page->kernels[i]);
        add_roofline(page->document, page->kernels[i], &roofline, &roof, ifm_profile_key(page, "roofline", i), name);
        add_excess(page->document, &roof, ifm_profile_key(page, "excess", i), name);
        g_free(roof.order);
    }
    ifm_document_detail(page->document, IFM_DETAIL_PEAKS, "peaks");
    ifm_profile_add_peaks(page);
    ifm_document_detail(page->document, 0, NULL);
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
    const IfmNode *peak_node = plan.peak_node < n ? ifm_model_node(report->model, plan.peak_node) : NULL;
    g_autofree char *title =
        ifm_finding_alive((double)plan.peak_bytes, peak_node != NULL ? ifm_layer_name(peak_node) : NULL);
    IfmBlock *block =
        ifm_document_page_figure(document, "alive", IFM_FIGURE_SCATTER, title,
                                 "Bytes of inputs and activations that are alive at each node, by the shapes; the "
                                 "square is the peak.");
    IfmSeries *alive = ifm_document_series(document, block, "alive", NULL),
              *peak = ifm_document_series(document, block, "peak", NULL);
    double sum = 0;
    alive->joined = TRUE;
    block->figure.half = TRUE;
    block->figure.x = ifm_axis("node", IFM_FIELD_INTEGER);
    block->figure.x.own = TRUE;
    block->figure.y = ifm_axis("alive", IFM_FIELD_BYTES);
    block->figure.y.low = 0;
    for (gsize i = 0; i < n; i++)
    {
        const char *label = ifm_layer_name(ifm_model_node(report->model, i));
        sum += steps[i];
        const double bytes = i == plan.peak_node ? (double)plan.peak_bytes : sum; /* with what a node's subgraphs need */
        ifm_document_point_at(document, alive, label, (double)i, bytes);
        if (i == plan.peak_node)
            ifm_document_point_at(document, peak, label, (double)i, bytes);
    }
}
