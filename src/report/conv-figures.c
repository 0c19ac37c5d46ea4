/* Figures of a study of convolution algorithms. */
#include <math.h>

#include "study-pages.h"

static IfmBlock *add_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                            const char *sentence, const char *group)
{
    IfmBlock *block = ifm_document_page_figure(document, key, kind, title, sentence);
    block->figure.group = group;
    return block;
}

static IfmSeries *series_named(IfmDocument *document, IfmBlock *block, const char *name)
{
    for (guint i = 0; i < block->figure.series->len; i++)
        if (g_strcmp0(((const IfmSeries *)block->figure.series->pdata[i])->name, name) == 0)
            return block->figure.series->pdata[i];
    return ifm_document_series(document, block, name, NULL);
}

/* --- over the size of the image --------------------------------------------------------------------------------------- */

/* A series for each algorithm of the model on each device. @energy: of an inference, in place of its time */
static void add_growth(IfmDocument *document, const IfmConvFindings *findings, const char *model, gboolean energy)
{
    g_autofree char *key = g_strdup_printf("%s_%s", energy ? "energy" : "growth", model);
    IfmBlock *block =
        energy ? add_figure(document, key, IFM_FIGURE_LINES, model,
                            "Energy of an inference by each algorithm, gross, over the image's height and width.",
                            "Energy over size:")
               : add_figure(document, key, IFM_FIGURE_LINES, model,
                            "Median latency by each algorithm over the image's height and width, with its interval.",
                            "Latency over size:");
    block->figure.x.title = "size";
    block->figure.x.kind = IFM_FIELD_INTEGER;
    block->figure.y.title = energy ? "energy" : "latency";
    block->figure.x.logarithmic = block->figure.y.logarithmic = TRUE;
    if (energy)
    {
        block->figure.y.kind = IFM_FIELD_REAL;
        block->figure.y.unit = "J";
    }
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *point = findings->points->pdata[i];
        IfmPoint at = IFM_POINT_INIT;
        at.x = (double)point->input_size;
        at.y = energy ? point->energy_j : point->point->median_ns;
        if (point->point->reason != NULL || !isfinite(at.y) || !g_str_equal(point->model, model))
            continue;
        at.lower = energy ? (double)NAN : point->point->interval.lower;
        at.upper = energy ? (double)NAN : point->point->interval.upper;
        g_autofree char *name = g_strdup_printf("%s, %s", point->algorithm, point->point->device->alias);
        ifm_document_point(document, series_named(document, block, name), &at);
    }
}

/* (transfer container) const char*: the models in their order */
static GPtrArray *models_of(const IfmConvFindings *findings)
{
    GPtrArray *models = g_ptr_array_new();
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *point = findings->points->pdata[i];
        if (*point->model != '\0' && !g_ptr_array_find_with_equal_func(models, point->model, g_str_equal, NULL))
            g_ptr_array_add(models, (gpointer)point->model);
    }
    return models;
}

static gboolean has_energy(const IfmConvFindings *findings)
{
    for (guint i = 0; i < findings->points->len; i++)
        if (isfinite(((const IfmConvPoint *)findings->points->pdata[i])->energy_j))
            return TRUE;
    return FALSE;
}

/* --- layer shapes ----------------------------------------------------------------------------------------------------- */

#define MAX_SHAPES 60 /* rows, those with the most work */

/* A row for each shape, a column for each algorithm. @peaks: its share of the device's peak; else its time over the
 * fastest's */
static void add_shapes(IfmDocument *document, const IfmConvFindings *findings, gboolean peaks)
{
    IfmBlock *block = peaks
                          ? add_figure(document, "shapes_peak", IFM_FIGURE_MATRIX, "share of the peak",
                                       "Arithmetic of each layer shape by each algorithm, as a share of the device's peak.",
                                       "Algorithms by layer shape:")
                          : add_figure(document, "shapes_ratio", IFM_FIGURE_MATRIX, "times as long as the lowest",
                                       "Time of each layer shape by each algorithm over the lowest, which is 1.",
                                       "Algorithms by layer shape:");
    block->figure.y.title = block->figure.title;
    block->figure.y.kind = peaks ? IFM_FIELD_RATIO : IFM_FIELD_REAL;
    for (guint i = 0; i < MIN(findings->shapes->len, MAX_SHAPES); i++)
    {
        const IfmConvShapeRow *row = &g_array_index(findings->shapes, IfmConvShapeRow, i);
        const double flop = 2 * (double)row->layer->macs, peak = row->device->peak_flop_per_s;
        g_autofree char *shape = ifm_conv_shape_text(row->layer),
                        *name = g_strdup_printf("%s, %.3g MMAC, %s", shape, flop / 2e6, row->device->alias);
        if (peaks && !(peak > 0))
            continue;
        IfmSeries *series = ifm_document_series(document, block, name, NULL);
        for (guint k = 0; k < row->times->len; k++)
        {
            const IfmConvTime *time = &g_array_index(row->times, IfmConvTime, k);
            IfmPoint at = IFM_POINT_INIT;
            at.label = time->algorithm;
            at.y = peaks ? 1e9 * flop / time->time_ns / peak : time->time_ns / row->time_ns;
            ifm_document_point(document, series, &at);
        }
    }
}

/* --- what choosing gains ---------------------------------------------------------------------------------------------- */

static void add_gains(IfmDocument *document, const IfmConvFindings *findings)
{
    IfmBlock *block = add_figure(document, "gains", IFM_FIGURE_BARS, "The runtime's own time over that of the choice",
                                 "Above 1 the choice is faster than the runtime's own kernels.", NULL);
    block->figure.y.title = "runtime / choice";
    block->figure.y.kind = IFM_FIELD_REAL;
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        g_autofree char *label =
            g_strdup_printf("%s, %" G_GINT64_FORMAT ", %s", row->model, row->input_size, row->device->alias);
        const double times[] = { row->best_ns, row->time_ns };
        static const char *const names[] = { "best for each layer", "lowest for all layers" };
        for (gsize k = 0; k < G_N_ELEMENTS(times); k++)
        {
            IfmPoint at = IFM_POINT_INIT;
            at.label = label;
            at.y = row->runtime_ns / times[k];
            if (isfinite(at.y))
                ifm_document_point(document, series_named(document, block, names[k]), &at);
        }
    }
}

void ifm_conv_add_figures(IfmDocument *document, const IfmConvFindings *findings)
{
    g_autoptr(GPtrArray) models = models_of(findings);
    for (guint i = 0; i < models->len; i++)
        add_growth(document, findings, models->pdata[i], FALSE);
    for (guint i = 0; i < models->len && has_energy(findings); i++)
        add_growth(document, findings, models->pdata[i], TRUE);
    add_shapes(document, findings, FALSE);
    add_shapes(document, findings, TRUE);
    add_gains(document, findings);
}
