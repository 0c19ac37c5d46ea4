/* Figures of a study of stages. */
#include <math.h>

#include "report-private.h"
#include "study-pages.h"
#include <base/base.h>

static gboolean is_of(const IfmStudyRow *row, const IfmStageFit *fit)
{
    return row->device == fit->device && row->stage == fit->stage && row->reason == NULL && isfinite(row->median_ns);
}

static char *title_of(const IfmStudyTables *tables, const IfmStageFit *fit)
{
    g_autofree char *stage = ifm_stage_title(tables, fit->stage);
    return g_strdup_printf("%s on %s", stage, fit->device->alias);
}

/* --- latency over nodes and edges ------------------------------------------------------------------------------------- */

/* The different counts of all rows, sorted. @edges: of edges, else of nodes. (transfer full) gint64 */
static GArray *counts_of(const IfmStudyTables *tables, gboolean edges)
{
    GArray *counts = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        g_array_append_val(counts, *(edges ? &row->edges : &row->nodes));
    }
    g_array_sort(counts, ifm_compare_int64);
    guint n = 0;
    for (guint i = 0; i < counts->len; i++)
        if (n == 0 || g_array_index(counts, gint64, i) != g_array_index(counts, gint64, n - 1))
            g_array_index(counts, gint64, n++) = g_array_index(counts, gint64, i);
    g_array_set_size(counts, n);
    return counts;
}

static double latency_at(const IfmStudyTables *tables, const IfmStageFit *fit, gint64 nodes, gint64 edges)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->nodes == nodes && row->edges == edges && is_of(row, fit))
            return row->median_ns;
    }
    return (double)NAN;
}

static void add_surface(IfmDocument *document, const IfmStudyTables *tables, const IfmStageFit *fit, const GArray *nodes,
                        const GArray *edges)
{
    g_autofree char *key = g_strdup_printf("surface_%s_%d", fit->device->alias, fit->stage), *title = title_of(tables, fit);
    IfmBlock *block = ifm_document_page_figure(
        document, key, IFM_FIGURE_MATRIX, title,
        "Latency of this stage: a row for each number of nodes, a column for each number of edges.");
    block->figure.y.title = "latency";
    block->figure.group = "Latency over nodes and edges:";
    for (guint n = 0; n < nodes->len; n++)
    {
        const gint64 at = g_array_index(nodes, gint64, n);
        g_autofree char *name = g_strdup_printf("%" G_GINT64_FORMAT " nodes", at);
        IfmSeries *series = ifm_document_series(document, block, name, NULL);
        for (guint e = 0; e < edges->len; e++)
        {
            g_autofree char *label = g_strdup_printf("%" G_GINT64_FORMAT, g_array_index(edges, gint64, e));
            IfmPoint point = IFM_POINT_INIT;
            point.label = label;
            point.y = latency_at(tables, fit, at, g_array_index(edges, gint64, e));
            ifm_document_point(document, series, &point);
        }
    }
}

static void add_surfaces(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GArray) nodes = counts_of(tables, FALSE);
    g_autoptr(GArray) edges = counts_of(tables, TRUE);
    for (guint i = 0; i < tables->fits->len && nodes->len > 1; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (fit->n_rows > 2)
            add_surface(document, tables, fit, nodes, edges);
    }
}

/* --- the fastest device ----------------------------------------------------------------------------------------------- */

/* Aliases, and what stands where intervals overlap. (transfer none) */
static const char *const *categories_of(IfmDocument *document, const IfmStudyTables *tables)
{
    GPtrArray *names = ifm_document_keep(document, g_ptr_array_new(), (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < tables->devices->len; i++)
        g_ptr_array_add(names, ((const IfmStudyDevice *)tables->devices->pdata[i])->alias);
    g_ptr_array_add(names, "not told apart");
    g_ptr_array_add(names, NULL);
    return (const char *const *)names->pdata;
}

static void add_fastest_at(IfmDocument *document, IfmBlock *block, const IfmStudyTables *tables, const IfmStudyRow *row)
{
    gboolean measured;
    g_autofree char *name = g_strdup_printf("%" G_GINT64_FORMAT " / %" G_GINT64_FORMAT, row->nodes, row->edges);
    g_autoptr(GPtrArray) all = ifm_study_latencies(tables, row, &measured);
    IfmSeries *series = ifm_document_series(document, block, name, NULL);
    for (guint i = 0; i < all->len; i++)
    {
        const IfmStageLatencies *latencies = all->pdata[i];
        g_autofree char *label = latencies->stage > 0 ? ifm_stage_title(tables, latencies->stage) : g_strdup("all");
        IfmPoint point = IFM_POINT_INIT;
        point.label = label;
        if (latencies->next != G_MAXUINT)
            point.y = latencies->decided ? latencies->best : tables->devices->len;
        ifm_document_point(document, series, &point);
    }
}

static void add_fastest(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (tables->devices->len < 2)
        return;
    IfmBlock *block = ifm_document_page_figure(
        document, "fastest", IFM_FIGURE_MATRIX, "Device with the lowest latency of each stage at each size",
        "A row for each size, nodes / edges; a device is named where its interval lies below all "
        "others', of one process of each: compare tells which is the faster.");
    block->figure.y.categories = categories_of(document, tables);
    block->figure.y.kind = IFM_FIELD_INTEGER;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (g_hash_table_add(seen, g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, row->nodes, row->edges)))
            add_fastest_at(document, block, tables, row);
    }
}

/* --- compute and transfer --------------------------------------------------------------------------------------------- */

static void add_line(IfmDocument *document, IfmBlock *block, const char *name, double at_0, double slope, double bytes)
{
    IfmSeries *series = ifm_document_series(document, block, name, NULL);
    series->joined = TRUE;
    for (int end = 0; end < 2; end++)
    {
        IfmPoint point = IFM_POINT_INIT;
        point.x = end * bytes;
        point.y = at_0 + slope * point.x;
        ifm_document_point(document, series, &point);
    }
}

static void add_fit(IfmDocument *document, const IfmStudyTables *tables, const IfmStageFit *fit)
{
    double most = 0;
    g_autofree char *key = g_strdup_printf("fit_%s_%d", fit->device->alias, fit->stage), *title = title_of(tables, fit);
    IfmBlock *block =
        ifm_document_page_figure(document, key, IFM_FIGURE_SCATTER, title,
                                 "Latency over data size: the line's slope is read as transfer, the rest as compute.");
    block->figure.group = "Compute and transfer:";
    block->figure.x.title = "data";
    block->figure.x.kind = IFM_FIELD_BYTES;
    block->figure.y.title = "latency";
    block->figure.y.low = 0;
    IfmSeries *measured = ifm_document_series(document, block, "measured", NULL);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (!is_of(row, fit))
            continue;
        g_autofree char *label = g_strdup_printf("%" G_GINT64_FORMAT " / %" G_GINT64_FORMAT, row->nodes, row->edges);
        IfmPoint point = IFM_POINT_INIT;
        point.x = (double)row->table_bytes;
        point.y = row->median_ns;
        point.lower = row->interval.lower;
        point.upper = row->interval.upper;
        point.label = label;
        most = fmax(most, point.x);
        ifm_document_point(document, measured, &point);
    }
    add_line(document, block, "line", fit->bandwidth.intercept_ns, fit->bandwidth.slope_ns_per_byte, most);
    if (fit->bandwidth.identifiable)
        add_line(document, block, "transfer", 0, fit->bandwidth.slope_ns_per_byte, most);
}

static void add_bandwidths(IfmDocument *document, const IfmStudyTables *tables)
{
    IfmSeries *series = NULL;
    const IfmStudyDevice *device = NULL;
    IfmBlock *block = ifm_document_page_figure(document, "bandwidths", IFM_FIGURE_BARS, "Bandwidth of each stage",
                                               "1 / slope of latency over data size, with its 95 % interval.");
    block->figure.y.title = "bandwidth";
    block->figure.y.kind = IFM_FIELD_RATE;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        g_autofree char *label = ifm_stage_title(tables, fit->stage);
        IfmPoint point = IFM_POINT_INIT;
        if (!fit->fitted || !fit->bandwidth.identifiable)
            continue;
        if (fit->device != device)
            series = ifm_document_series(document, block, fit->device->alias, NULL);
        device = fit->device;
        point.label = label;
        point.y = fit->bandwidth.bytes_per_s;
        point.lower = fit->bandwidth.bytes_per_s_interval.lower;
        point.upper = fit->bandwidth.bytes_per_s_interval.upper;
        ifm_document_point(document, series, &point);
    }
}

void ifm_study_add_size_figures(IfmDocument *document, const IfmStudyTables *tables)
{
    add_fastest(document, tables);
    add_surfaces(document, tables);
}

void ifm_study_add_split_figures(IfmDocument *document, const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->fits->len; i++)
        if (((const IfmStageFit *)tables->fits->pdata[i])->fitted)
            add_fit(document, tables, tables->fits->pdata[i]);
    add_bandwidths(document, tables);
}
