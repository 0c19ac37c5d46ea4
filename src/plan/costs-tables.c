/* The cost model from a study's tables. */
#include <math.h>
#include <string.h>
#include <study/study.h>

#include "plan-private.h"

/* The devices of the cost model and those of the tables. */
typedef struct
{
    const IfmStudyTables *tables;
    IfmCosts *costs;
    GPtrArray *rows; /* IfmStudyRow*: those with a latency */
    int index[32];   /* [index in the tables] index in the model; -1: not in it */
    CostHeld *held;  /* NULL if no device has links */
} Reading;

/* The rows with a latency, of stages and of ranges. (transfer container) */
static GPtrArray *rows_of(const IfmStudyTables *tables)
{
    GPtrArray *rows = g_ptr_array_new();
    const GPtrArray *lists[] = { tables->rows, tables->ranges };
    for (gsize k = 0; k < G_N_ELEMENTS(lists); k++)
        for (guint i = 0; lists[k] != NULL && i < lists[k]->len; i++)
            if (((IfmStudyRow *)lists[k]->pdata[i])->reason == NULL)
                g_ptr_array_add(rows, lists[k]->pdata[i]);
    return rows;
}

static gboolean has_latency(const Reading *reading, const IfmStudyDevice *device)
{
    for (guint i = 0; i < reading->rows->len; i++)
        if (((const IfmStudyRow *)reading->rows->pdata[i])->device == device)
            return TRUE;
    return FALSE;
}

static int row_last(const IfmStudyRow *row)
{
    return row->last != 0 ? row->last : row->stage;
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* The sizes at which a static device has a model that ran. */
static GArray *static_sizes(const Reading *reading, const IfmStudyDevice *device)
{
    GArray *sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    for (guint i = 0; i < reading->rows->len; i++)
    {
        const IfmStudyRow *row = reading->rows->pdata[i];
        if (row->device == device)
            ifm_plan_sizes_add(sizes, row->nodes, row->edges);
    }
    return sizes;
}

static gboolean add_device(Reading *reading, guint at, GError **error)
{
    const IfmStudyDevice *device = reading->tables->devices->pdata[at];
    IfmPlanForm form = device->form == IFM_STUDY_STATIC ? IFM_PLAN_STATIC : IFM_PLAN_DYNAMIC;
    g_autoptr(GArray) sizes = form == IFM_PLAN_STATIC ? static_sizes(reading, device) : NULL;
    IfmCostDevice one = { .alias = device->alias,
                          .device = device->device,
                          .form = form,
                          .sizes = sizes != NULL ? (const IfmPlanSize *)(const void *)sizes->data : NULL,
                          .n_sizes = sizes != NULL ? sizes->len : 0,
                          .splits = TRUE,
                          .active_w = NAN,
                          .idle_w = NAN };
    reading->index[at] = ifm_costs_add_device(reading->costs, &one, error);
    return reading->index[at] >= 0;
}

static gboolean find_device(const Reading *reading, const char *alias, guint *at, GError **error)
{
    const IfmStudyTables *tables = reading->tables;
    g_autoptr(GString) known = g_string_new("");
    for (*at = 0; *at < tables->devices->len; ++*at)
    {
        const IfmStudyDevice *device = tables->devices->pdata[*at];
        if (g_str_equal(device->alias, alias))
        {
            return has_latency(reading, device) ||
                   ifm_error_refuse(error, "study %s: table too sparse: device %s has not a single latency%s%s",
                                    tables->name, alias, device->reason != NULL ? ": " : "; measure it",
                                    device->reason != NULL ? device->reason : "");
        }
        g_string_append_printf(known, "%s%s", known->len > 0 ? ", " : "", device->alias);
    }
    return ifm_error_refuse(error, "study %s: no device \"%s\"; there are %s", tables->name, alias, known->str);
}

static gboolean add_devices(Reading *reading, const char *const *aliases, GError **error)
{
    const IfmStudyTables *tables = reading->tables;
    guint at;
    for (gsize i = 0; i < G_N_ELEMENTS(reading->index); i++)
        reading->index[i] = -1;
    for (gsize i = 0; aliases != NULL && aliases[i] != NULL; i++)
        if (!find_device(reading, aliases[i], &at, error) || !add_device(reading, at, error))
            return FALSE;
    for (at = 0; aliases == NULL && at < MIN(tables->devices->len, G_N_ELEMENTS(reading->index)); at++)
        if (has_latency(reading, tables->devices->pdata[at]) && !add_device(reading, at, error))
            return FALSE;
    if (reading->costs->n_devices == 0)
        ifm_error_refuse(error, "study %s: table too sparse: no device has a single latency; measure one", tables->name);
    return reading->costs->n_devices > 0;
}

/* --- links ------------------------------------------------------------------------------------------------------------ */

/* What crosses is needed only if some device may need copies. */
static gboolean set_links(Reading *reading, GError **error)
{
    const IfmStudyTables *tables = reading->tables;
    gboolean around = FALSE, linked = FALSE;
    for (guint i = 0; i < tables->links->len; i++)
    {
        const IfmLinkFit *link = tables->links->pdata[i];
        around = around || link->from_around || link->to_around;
    }
    if (!around)
        return TRUE;
    reading->held = g_new0(CostHeld, 1);
    if (!costs_set_crossings(reading->costs, tables, reading->held, error))
        return FALSE;
    for (guint at = 0; at < MIN(tables->devices->len, G_N_ELEMENTS(reading->index)); at++)
        if (reading->index[at] >= 0)
            linked |= costs_take_links(reading->costs, tables, reading->rows, tables->devices->pdata[at],
                                       reading->index[at], reading->held);
    if (!linked)
        g_clear_pointer(&reading->held, g_free);
    return TRUE;
}

/* Subtracts the copies that the pipeline makes itself. Under load the whole latency was slower: the inference is slower
 * by the same ratio. @samples: [n_samples] of the point */
static void take_out_copies(const Reading *reading, int device, const IfmStudyRow *row, IfmCostPoint *point,
                            double *samples)
{
    if (reading->held == NULL || !reading->costs->devices[device]->copies)
        return;
    double nodes = (double)row->nodes, edges = (double)row->edges, held_ns = 0, ratio = 1;
    if (row->busy == 0)
        held_ns = costs_held_ns(reading->costs, reading->held, device, row->stage, row_last(row), nodes, edges);
    else
        ratio = costs_unheld_ratio(reading->costs, reading->held, device, row->stage, row_last(row), nodes, edges);
    double left_ns = point->latency_ns * ratio - held_ns;
    point->spread_ratio *= point->latency_ns / left_ns;
    point->latency_ns = left_ns;
    for (gsize i = 0; i < point->n_samples; i++)
        samples[i] = samples[i] * ratio - held_ns;
}

/* The runs of a row. (transfer full) NULL where its table has none, as one from elsewhere */
static double *samples_of(const IfmStudyRow *row, gsize *n)
{
    const GArray *runs = row->measurement != NULL ? row->measurement->samples_ns : NULL;
    *n = runs != NULL ? runs->len : 0;
    if (*n == 0)
        return NULL;
    double *samples = g_new(double, *n);
    for (gsize i = 0; i < *n; i++)
        samples[i] = (double)g_array_index(runs, gint64, i);
    return samples;
}

/* --- latencies -------------------------------------------------------------------------------------------------------- */

/* Translates a mask of the tables' devices to one of the model's. FALSE if one of them is not in the model. */
static gboolean translate_busy(const Reading *reading, guint32 busy, guint32 *mask)
{
    *mask = 0;
    for (guint at = 0; at < G_N_ELEMENTS(reading->index); at++)
    {
        if ((busy & 1u << at) == 0)
            continue;
        if (reading->index[at] < 0)
            return FALSE;
        *mask |= 1u << reading->index[at];
    }
    return TRUE;
}

static gint compare_rows(gconstpointer a, gconstpointer b)
{
    const IfmStudyRow *x = *(const IfmStudyRow *const *)a, *y = *(const IfmStudyRow *const *)b;
    const gint64 keys[][2] = { { (gint64)(gsize)x->device, (gint64)(gsize)y->device },
                               { x->busy, y->busy },
                               { x->stage, y->stage },
                               { row_last(x), row_last(y) },
                               { x->nodes, y->nodes },
                               { x->edges, y->edges } };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static gboolean same_thing(const IfmStudyRow *a, const IfmStudyRow *b)
{
    return a->device == b->device && a->busy == b->busy && a->stage == b->stage && row_last(a) == row_last(b);
}

static gboolean set_group(const Reading *reading, IfmStudyRow **rows, guint n, GError **error)
{
    guint at;
    guint32 busy;
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(IfmCostPoint));
    g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func(g_free);
    if (!g_ptr_array_find(reading->tables->devices, rows[0]->device, &at) || at >= G_N_ELEMENTS(reading->index) ||
        reading->index[at] < 0 || !translate_busy(reading, rows[0]->busy, &busy))
        return TRUE;
    for (guint i = 0; i < n; i++)
    {
        double half_ns = (rows[i]->interval.upper - rows[i]->interval.lower) / 2; /* NaN without an interval */
        IfmCostPoint point = { rows[i]->nodes, rows[i]->edges, rows[i]->median_ns, half_ns / rows[i]->median_ns, NULL, 0 };
        double *samples = samples_of(rows[i], &point.n_samples);
        g_ptr_array_add(kept, samples);
        take_out_copies(reading, reading->index[at], rows[i], &point, samples);
        point.samples_ns = samples;
        if (i == 0 || rows[i]->nodes != rows[i - 1]->nodes || rows[i]->edges != rows[i - 1]->edges)
            g_array_append_val(points, point);
    }
    const IfmCostPoint *data = (const IfmCostPoint *)(const void *)points->data;
    int device = reading->index[at], first = rows[0]->stage, last = row_last(rows[0]);
    return busy == 0 ? ifm_costs_set_points(reading->costs, device, first, last, data, points->len, error)
                     : ifm_costs_set_busy_points(reading->costs, device, first, last, busy, data, points->len, error);
}

static gboolean set_latencies(const Reading *reading, GError **error)
{
    GPtrArray *rows = reading->rows;
    g_ptr_array_sort(rows, compare_rows);
    for (guint from = 0, to; from < rows->len; from = to)
    {
        for (to = from + 1; to < rows->len && same_thing(rows->pdata[from], rows->pdata[to]);)
            to++;
        if (!set_group(reading, (IfmStudyRow **)(void *)&rows->pdata[from], to - from, error))
            return FALSE;
    }
    return TRUE;
}

/* --- stages that cannot run ------------------------------------------------------------------------------------------- */

/* Whether a measured range of the device contains the stage. */
static gboolean stage_covered(const IfmCosts *costs, int device, int stage)
{
    for (int first = 1; first <= stage; first++)
        for (int last = stage; last <= costs->n_stages; last++)
        {
            const CostRange *range = costs_range(costs, device, first, last);
            if (range != NULL && range->alone != NULL)
                return TRUE;
        }
    return FALSE;
}

/* The first row of the stage that was tried, or refused, and has no latency; NULL. */
static const IfmStudyRow *failed_row(const IfmStudyTables *tables, const IfmStudyDevice *device, int stage)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device == device && row->stage == stage && row->reason != NULL && row->measurement != NULL)
            return row;
    }
    return NULL;
}

/* A stage that failed at every size is forbidden on the device. A stage that was not tried is an error, except in
 * tables measured elsewhere, which do not list what they did not try. */
static gboolean judge_stages(const Reading *reading, guint at, GError **error)
{
    const IfmStudyTables *tables = reading->tables;
    const IfmStudyDevice *device = tables->devices->pdata[at];
    int d = reading->index[at];
    for (int stage = 1; stage <= reading->costs->n_stages; stage++)
    {
        if ((device->not_stages >> (stage - 1) & 1) != 0)
        {
            g_autofree char *why = g_strdup_printf("stage %d is not for it, by the study's not_stages", stage);
            ifm_costs_forbid(reading->costs, d, stage, why);
            continue;
        }
        if (stage_covered(reading->costs, d, stage))
            continue;
        const IfmStudyRow *row = failed_row(tables, device, stage);
        if (row == NULL && !tables->imported)
            return ifm_error_refuse(
                error,
                "study %s: table too sparse: device %s has not a single latency of stage %d; measure it, or leave the "
                "device out",
                tables->name, device->alias, stage);
        g_autofree char *why = row != NULL ? g_strdup_printf("stage %d failed: %s", stage, row->reason)
                                           : g_strdup_printf("stage %d has no latency in the table", stage);
        ifm_costs_forbid(reading->costs, d, stage, why);
    }
    return TRUE;
}

/* --- what crosses ----------------------------------------------------------------------------------------------------- */

static void set_cuts(const Reading *reading)
{
    const IfmStagedModel *staged = reading->tables->staged;
    int n = (int)staged->n_stages;
    for (int stage = 0; stage <= n; stage++)
    {
        double per_node = 0, per_edge = 0;
        g_autoptr(GPtrArray) cross = stage < n ? ifm_staged_inputs(staged, stage + 1, n) : ifm_staged_outputs(staged, 1, n);
        for (guint i = 0; i < cross->len; i++)
            costs_add_bytes(reading->tables, cross->pdata[i], &per_node, &per_edge);
        ifm_costs_set_cut(reading->costs, stage, per_node, per_edge);
    }
}

static void set_readers(const Reading *reading)
{
    const IfmStagedModel *staged = reading->tables->staged;
    const IfmBoundary *edges = ifm_staged_boundary(staged, "edge_index");
    for (int stage = 1; stage <= (int)staged->n_stages; stage++)
    {
        g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, stage, stage);
        ifm_costs_set_reads_edges(reading->costs, stage, edges != NULL && g_ptr_array_find(inputs, edges, NULL));
    }
}

static void forbid_splits(const Reading *reading)
{
    const IfmStagedModel *staged = reading->tables->staged;
    for (gsize s = 0; s < staged->n_stages; s++)
        for (gsize i = 0; staged->stages[s].outputs[i] != NULL; i++)
        {
            const IfmBoundary *boundary = ifm_staged_boundary(staged, staged->stages[s].outputs[i]);
            if (boundary == NULL || boundary->split_axis < 0)
                ifm_costs_forbid_split(reading->costs, staged->stages[s].number);
        }
}

static void reading_clear(Reading *reading)
{
    g_ptr_array_unref(reading->rows);
    g_free(reading->held);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reading, reading_clear)

/* A study measures from host tensors to host tensors: its latencies contain the copies to the device and back. These
 * are subtracted where the pipeline makes them itself and where the links were measured. */
IfmCosts *ifm_costs_from_tables(const IfmStudyTables *tables, const char *const *devices, GError **error)
{
    g_autoptr(IfmCosts) costs = ifm_costs_new(tables->staged->name, tables->staged->n_stages);
    g_auto(Reading) reading = { .tables = tables, .costs = costs, .rows = rows_of(tables) };
    if (!add_devices(&reading, devices, error) || !set_links(&reading, error) || !set_latencies(&reading, error))
        return NULL;
    for (guint at = 0; at < MIN(tables->devices->len, G_N_ELEMENTS(reading.index)); at++)
        if (reading.index[at] >= 0 && !judge_stages(&reading, at, error))
            return NULL;
    costs->n_implausible = ifm_study_tables_implausible(tables);
    set_cuts(&reading);
    set_readers(&reading);
    forbid_splits(&reading);
    return g_steal_pointer(&costs);
}
