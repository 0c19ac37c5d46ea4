/* Figures of a study of convolution algorithms. */
#include <math.h>

#include <document/words.h>

#include "study-answers.h"
#include "study-pages.h"

static IfmBlock *add_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                            const char *sentence, const char *group)
{
    IfmBlock *block = ifm_document_page_figure(document, key, kind, title, sentence);
    block->figure.group = group;
    return block;
}

/* --- titles ----------------------------------------------------------------------------------------------------------- */

char *ifm_conv_lowest_title(const char *what, const char *algorithm, gsize n_lowest, gsize n_sure, gsize n_known, gsize n,
                            const char *of_what)
{
    if (n_lowest == 0)
        return g_strdup_printf("%s: no algorithm was measured beside another", what);
    if (n_known == 0)
        return g_strdup_printf("%s: %s has the lowest median of %zu of %zu %s; nowhere have the two lowest an interval",
                               what, algorithm, n_lowest, n, of_what);
    if (n_sure == 0)
        return g_strdup_printf("%s: %s has the lowest median of %zu of %zu %s, at none of them beyond the intervals", what,
                               algorithm, n_lowest, n, of_what);
    return g_strdup_printf("%s: %s is the lowest of %zu of %zu %s, at %zu beyond the intervals", what, algorithm, n_lowest,
                           n, of_what, n_sure);
}

char *ifm_conv_energy_title(const char *model, const char *algorithm, gsize n_lowest, gsize n)
{
    if (n_lowest == 0)
        return g_strdup_printf("%s: no algorithm's energy was measured beside another's", model);
    return g_strdup_printf("%s: %s takes the least energy at %zu of %zu sizes; energies have no intervals", model,
                           algorithm, n_lowest, n);
}

char *ifm_conv_peak_title(double most, const char *algorithm, const char *shape)
{
    g_autofree char *share = ifm_say_per_cent(most);
    if (!isfinite(most))
        return g_strdup("No share of the peak is known: no device's peak was measured");
    return g_strdup_printf("At most %s of the peak is reached: by %s on %s", share, algorithm, shape);
}

char *ifm_conv_gain_title(gsize n, double most, const char *where)
{
    g_autofree char *times = ifm_say_number(most);
    if (n == 0)
        return g_strdup("What choosing gains is not known: no choice was measured beside the runtime's own kernels");
    if (!isfinite(most))
        return g_strdup("Nowhere is a choice told apart from the runtime's own kernels");
    return g_strdup_printf("At most the runtime's own kernels take %s times as long as the choice: %s", times, where);
}

/* Win: how often an algorithm is the lowest. */
typedef struct
{
    const char *algorithm;
    gsize n, n_sure;
} Win;

static void count_win(GArray *wins, const char *algorithm, gboolean sure)
{
    guint at = 0;
    while (at < wins->len && !g_str_equal(g_array_index(wins, Win, at).algorithm, algorithm))
        at++;
    const Win fresh = { algorithm, 0, 0 };
    if (at == wins->len)
        g_array_append_val(wins, fresh);
    g_array_index(wins, Win, at).n++;
    g_array_index(wins, Win, at).n_sure += sure;
}

static const Win *most_of(const GArray *wins)
{
    const Win *most = NULL;
    for (guint i = 0; i < wins->len; i++)
        most = most == NULL || g_array_index(wins, Win, i).n > most->n ? &g_array_index(wins, Win, i) : most;
    return most;
}

/* Of a model's sizes; of all layer shapes where @model is NULL. (transfer full) */
static char *lowest_title(const IfmConvFindings *findings, const char *model)
{
    g_autoptr(GArray) wins = g_array_new(FALSE, FALSE, sizeof(Win));
    gsize n = 0, n_known = 0;
    for (guint i = 0; i < findings->sizes->len && model != NULL; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        if (!g_str_equal(row->model, model))
            continue;
        n++;
        n_known += row->has_intervals;
        if (row->second != NULL)
            count_win(wins, row->fastest, row->is_apart);
    }
    for (guint i = 0; i < findings->shapes->len && model == NULL; i++)
    {
        const IfmConvShapeRow *row = &g_array_index(findings->shapes, IfmConvShapeRow, i);
        n++;
        if (row->second != NULL)
            count_win(wins, row->fastest, !row->overlaps);
    }
    const Win *most = most_of(wins);
    return ifm_conv_lowest_title(model != NULL ? model : "Layers", most != NULL ? most->algorithm : NULL,
                                 most != NULL ? most->n : 0, most != NULL ? most->n_sure : 0, n_known, n,
                                 model != NULL ? "sizes" : "shapes");
}

/* (transfer full) */
static char *energy_title(const IfmConvFindings *findings, const char *model)
{
    g_autoptr(GArray) wins = g_array_new(FALSE, FALSE, sizeof(Win));
    gsize n = 0;
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        if (!g_str_equal(row->model, model))
            continue;
        n++;
        if (row->second_cheapest != NULL)
            count_win(wins, row->cheapest, FALSE);
    }
    const Win *most = most_of(wins);
    return ifm_conv_energy_title(model, most != NULL ? most->algorithm : NULL, most != NULL ? most->n : 0, n);
}

/* --- over the size of the image --------------------------------------------------------------------------------------- */

/* A series for each algorithm of the model on each device. @energy: of an inference, in place of its time */
static void add_growth(IfmDocument *document, const IfmConvFindings *findings, const char *model, gboolean energy)
{
    g_autofree char *key = g_strdup_printf("%s_%s", energy ? "energy" : "growth", model);
    g_autofree char *title = energy ? energy_title(findings, model) : lowest_title(findings, model);
    IfmBlock *block =
        energy ? add_figure(document, key, IFM_FIGURE_LINES, title,
                            "Energy of an inference by each algorithm, gross, over the image's height and width.",
                            "Energy over size:")
               : add_figure(document, key, IFM_FIGURE_LINES, title,
                            "Median latency by each algorithm over the image's height and width, with its interval.",
                            "Latency over size:");
    block->figure.x = ifm_axis("size", IFM_FIELD_INTEGER);
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
        const double y = energy ? point->energy_j : point->point->median_ns;
        if (point->point->reason != NULL || !isfinite(y) || !g_str_equal(point->model, model))
            continue;
        g_autofree char *name = g_strdup_printf("%s, %s", point->algorithm, point->point->device->alias);
        ifm_document_point_within(document, ifm_document_series_named(document, block, name), NULL,
                                  (double)point->input_size, y, energy ? (double)NAN : point->point->interval.lower,
                                  energy ? (double)NAN : point->point->interval.upper);
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
                          ? add_figure(document, "shapes_peak", IFM_FIGURE_MATRIX, NULL,
                                       "Arithmetic of each layer shape by each algorithm, as a share of the device's peak.",
                                       "Algorithms by layer shape:")
                          : add_figure(document, "shapes_ratio", IFM_FIGURE_MATRIX, NULL,
                                       "Time of each layer shape by each algorithm over the lowest, which is 1.",
                                       "Algorithms by layer shape:");
    double most = NAN;
    const char *by = NULL, *on = NULL;
    block->figure.y =
        peaks ? ifm_axis("share of the peak", IFM_FIELD_RATIO) : ifm_axis("times as long as the lowest", IFM_FIELD_REAL);
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
            const double share = 1e9 * flop / time->time_ns / peak;
            ifm_document_point_at(document, series, time->algorithm, NAN, peaks ? share : time->time_ns / row->time_ns);
            if (peaks && isfinite(share) && !(share <= most))
            {
                most = share;
                by = time->algorithm;
                on = series->name;
            }
        }
    }
    block->figure.title =
        ifm_document_take_text(document, peaks ? ifm_conv_peak_title(most, by, on) : lowest_title(findings, NULL));
}

/* --- what choosing gains ---------------------------------------------------------------------------------------------- */

/* Whether a choice is another than the runtime's own kernels at any size. */
static gboolean has_choices(const IfmConvFindings *findings)
{
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        const double times[] = { row->best_ns, row->time_ns };
        for (gsize k = 0; k < G_N_ELEMENTS(times); k++)
            if (isfinite(times[k]) && times[k] < row->runtime_ns) /* none is longer: the runtime is one of them */
                return TRUE;
    }
    return FALSE;
}

static void add_gains(IfmDocument *document, const IfmConvFindings *findings)
{
    if (!has_choices(findings))
        return;
    IfmBlock *block = add_figure(document, "gains", IFM_FIGURE_BARS, "The runtime's own time over that of the choice",
                                 "Above 1 the choice is faster than the runtime's own kernels.", NULL);
    double most = NAN;
    gsize n = 0;
    const char *where = NULL;
    block->figure.y = ifm_axis_of_ratio("runtime / choice", FALSE, NULL);
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        g_autofree char *label =
            g_strdup_printf("%s, %" G_GINT64_FORMAT ", %s", row->model, row->input_size, row->device->alias);
        const double times[] = { row->best_ns, row->time_ns };
        const gboolean gains[] = { row->best_gains, row->gains };
        static const char *const names[] = { "best for each layer", "lowest for all layers" };
        for (gsize k = 0; k < G_N_ELEMENTS(times); k++)
        {
            const double ratio = row->runtime_ns / times[k];
            if (!isfinite(ratio))
                continue;
            n += k == 0 || row->second != NULL;
            where = gains[k] && !(ratio <= most) ? ifm_document_keep_text(document, label) : where;
            most = gains[k] ? fmax(most, ratio) : most;
            ifm_document_point_at(document, ifm_document_series_named(document, block, names[k]), label, NAN, ratio);
        }
    }
    block->figure.title = ifm_document_take_text(document, ifm_conv_gain_title(n, most, where));
}

void ifm_conv_add_size_figures(IfmDocument *document, const IfmConvFindings *findings)
{
    g_autoptr(GPtrArray) models = models_of(findings);
    for (guint i = 0; i < models->len; i++)
        add_growth(document, findings, models->pdata[i], FALSE);
    for (guint i = 0; i < models->len && has_energy(findings); i++)
        add_growth(document, findings, models->pdata[i], TRUE);
    add_gains(document, findings);
}

void ifm_conv_add_shape_figures(IfmDocument *document, const IfmConvFindings *findings)
{
    add_shapes(document, findings, FALSE);
    add_shapes(document, findings, TRUE);
}
