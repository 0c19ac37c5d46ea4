/* Figures of a study of stages. */
#include <math.h>

#include <base/base.h>
#include <base/statistics.h>
#include <document/words.h>

#include "study-answers.h"
#include "study-pages.h"

static gboolean is_of(const IfmStudyRow *row, const IfmStageFit *fit)
{
    return row->device == fit->device && row->stage == fit->stage && row->reason == NULL && isfinite(row->median_ns);
}

/* "5k", "1,500" (transfer full) */
static char *short_count(gint64 count)
{
    return count >= 1000 && count % 1000 == 0 ? g_strdup_printf("%" G_GINT64_FORMAT "k", count / 1000)
                                              : g_strdup_printf("%" G_GINT64_FORMAT, count);
}

static char *size_name(const IfmStudyRow *row)
{
    g_autofree char *nodes = short_count(row->nodes), *edges = short_count(row->edges);
    return g_strdup_printf("%s / %s", nodes, edges);
}

/* --- which device ----------------------------------------------------------------------------------------------------- */

/* Aliases, and what stands where there is none. (transfer none) */
static const char *const *categories_of(IfmDocument *document, const IfmStudyTables *tables)
{
    GPtrArray *names = ifm_document_keep(document, g_ptr_array_new(), (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < tables->devices->len; i++)
        g_ptr_array_add(names, ((const IfmStudyDevice *)tables->devices->pdata[i])->alias);
    g_ptr_array_add(names, "not told apart");
    g_ptr_array_add(names, NULL);
    return (const char *const *)names->pdata;
}

/* "CPU ×2.2"; "CPU or GPU" where intervals overlap; the lowest, "CPU", where one lacks. (transfer full) */
static char *cell_text(const IfmStageLatencies *latencies, const char *const *aliases)
{
    if (latencies->decided)
    {
        const double ratio = latencies->devices[latencies->next].ns / latencies->devices[latencies->best].ns;
        char times[G_ASCII_DTOSTR_BUF_SIZE]; /* short: cells are narrow */
        g_ascii_formatd(times, sizeof times, ratio < 1.1 ? "%.2f" : ratio < 10 ? "%.1f" : "%.0f", ratio);
        return g_strdup_printf("%s ×%s", aliases[latencies->best], times);
    }
    const char *names[2] = { NULL };
    guint n = 0;
    for (guint i = 0; i < latencies->n_devices; i++)
        if (ifm_latencies_may_be_fastest(latencies, i) && ++n <= G_N_ELEMENTS(names))
            names[n - 1] = aliases[i];
    return !latencies->known || n < 2 ? g_strdup(aliases[latencies->best])
           : n == 2                   ? g_strdup_printf("%s or %s", names[0], names[1])
                                      : g_strdup_printf("%s or %u more", names[0], n - 1);
}

static void add_cell(IfmDocument *document, IfmSeries *series, const char *label, const IfmStageLatencies *latencies,
                     const char *const *aliases)
{
    g_autofree char *text = latencies->next != G_MAXUINT ? cell_text(latencies, aliases) : NULL;
    IfmPoint point = IFM_POINT_INIT;
    point.label = label;
    point.text = text;
    point.mark = latencies->decided ? IFM_MARK_NONE : latencies->known ? IFM_MARK_ROUGH : IFM_MARK_UNKNOWN;
    if (text != NULL)
        point.y = latencies->known ? latencies->best : latencies->n_devices; /* which stands for none of them */
    ifm_document_point(document, series, &point);
}

/* @winner: (inout) the alias that wins a stage at each size so far; "": none at one of them; NULL: no size yet */
static void take_winner(const char **winner, const char *alias)
{
    *winner = *winner == NULL || *winner == alias ? alias : "";
}

static gboolean has_intervals(const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->rows->len; i++)
        if (isfinite(((const IfmStudyRow *)tables->rows->pdata[i])->interval.lower))
            return TRUE;
    return FALSE;
}

char *ifm_study_add_fastest(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies)
{
    g_autoptr(GPtrArray) stages = g_ptr_array_new_with_free_func(g_free);
    const gsize n_stages = tables->staged->n_stages;
    g_autofree gsize *counts = g_new0(gsize, tables->devices->len + 1);
    g_autofree const char **winners = g_new0(const char *, n_stages + 1);
    gsize states[IFM_ROW_STATES];
    if (tables->devices->len < 2)
        return NULL;
    IfmBlock *block =
        ifm_document_page_figure(document, "fastest", IFM_FIGURE_MATRIX, "",
                                 "Full colour: the device with the lowest latency, and how many times as long the next one "
                                 "takes. Pale: intervals, of one process of each, overlap. Hatched: the lowest where one "
                                 "has no interval, so that the fastest is not known. Rows: nodes / edges.");
    const char *const *aliases = block->figure.y.categories = categories_of(document, tables);
    g_autofree gboolean *absent = g_new0(gboolean, tables->devices->len);
    for (guint i = 0; i < tables->devices->len; i++)
        absent[i] = !ifm_study_has_latency(tables, tables->devices->pdata[i]);
    IfmWins wins = { .aliases = aliases,
                     .wins = counts,
                     .absent = absent,
                     .n_devices = tables->devices->len,
                     .imported = tables->imported,
                     .no_intervals = !has_intervals(tables) };
    block->figure.y.kind = IFM_FIELD_INTEGER;
    for (guint i = 0; i < latencies->len; i++)
    {
        const IfmSizeLatencies *size = latencies->pdata[i];
        g_autofree char *name = size_name(size->at);
        IfmSeries *series = ifm_document_series(document, block, name, NULL);
        for (guint k = 0; k < size->stages->len; k++)
        {
            const IfmStageLatencies *stage = size->stages->pdata[k];
            if (i == 0 && stage->stage > 0)
                g_ptr_array_add(stages, ifm_stage_title(tables, stage->stage));
            add_cell(document, series, stage->stage > 0 ? stages->pdata[k] : "all", stage, aliases);
            if (ifm_wins_take(&wins, stage))
                take_winner(&winners[k], stage->decided ? aliases[stage->best] : "");
        }
    }
    for (gsize i = 0; i < n_stages; i++)
        winners[i] = winners[i] != NULL && *winners[i] != '\0' ? winners[i] : NULL;
    ifm_study_row_count(tables, NULL, 0, states);
    wins.n_implausible = states[IFM_ROW_IMPLAUSIBLE];
    block->figure.title =
        ifm_document_take_text(document, ifm_wins_title((const char *const *)stages->pdata, winners, stages->len, &wins));
    return ifm_wins_answer(&wins);
}

/* --- how latencies grow ----------------------------------------------------------------------------------------------- */

static const IfmStudyRow *outermost_of(const IfmStudyTables *tables, const IfmStageFit *fit, int sign)
{
    const IfmStudyRow *found = NULL;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (is_of(row, fit) && (found == NULL || sign * (double)row->table_bytes > sign * (double)found->table_bytes))
            found = row;
    }
    return found;
}

static char *growth_title(const IfmStudyTables *tables)
{
    g_autoptr(GArray) growths = g_array_new(FALSE, FALSE, sizeof(IfmGrowth));
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    double data_ratio = 1;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        const IfmStudyRow *least = outermost_of(tables, fit, -1), *most = outermost_of(tables, fit, 1);
        if (least == NULL || most->table_bytes <= least->table_bytes)
            continue;
        g_autofree char *stage = ifm_stage_title(tables, fit->stage);
        g_ptr_array_add(names, g_strdup_printf("%s on %s", stage, fit->device->alias));
        const IfmGrowth growth = { names->pdata[names->len - 1], most->median_ns / least->median_ns,
                                   most->interval.lower > least->interval.upper };
        data_ratio = fmax(data_ratio, (double)most->table_bytes / (double)least->table_bytes);
        g_array_append_val(growths, growth);
    }
    return ifm_growth_title((const IfmGrowth *)(const void *)growths->data, growths->len, data_ratio);
}

/* The measured latencies of a fit into a series of its device, in the panel of its stage. */
static void add_measured(IfmDocument *document, IfmBlock *block, const IfmStudyTables *tables, const IfmStageFit *fit,
                         const char *name)
{
    g_autofree char *stage = ifm_stage_title(tables, fit->stage);
    IfmSeries *series = ifm_document_series(document, block, name, stage);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (!is_of(row, fit))
            continue;
        g_autofree char *label = size_name(row);
        ifm_document_point_within(document, series, label, (double)row->table_bytes, row->median_ns, row->interval.lower,
                                  row->interval.upper);
    }
}

void ifm_study_add_growth(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autofree char *title = growth_title(tables);
    IfmBlock *block = ifm_document_page_figure(
        document, "latencies", IFM_FIGURE_SCATTER, title,
        has_intervals(tables)
            ? "A panel a stage, a mark a size, all on one scale; bars: 95 % intervals, of the runs of one "
              "process. Both axes are logarithmic."
            : "A panel a stage, a mark a size, all on one scale; no latency has an interval. Both axes are logarithmic.");
    IfmFigure *figure = &block->figure;
    figure->x = ifm_axis("data that the stage reads and writes", IFM_FIELD_BYTES);
    figure->y.title = "latency";
    figure->x.logarithmic = figure->y.logarithmic = TRUE;
    figure->x.own = TRUE;
    for (int stage = 1; stage <= (int)tables->staged->n_stages; stage++)
        for (guint i = 0; i < tables->fits->len; i++)
        {
            const IfmStageFit *fit = tables->fits->pdata[i];
            if (fit->stage == stage)
                add_measured(document, block, tables, fit, fit->device->alias);
        }
}

/* --- where the time goes ---------------------------------------------------------------------------------------------- */

/* The shares of a device's stages at one size; FALSE, and nothing added, where one has no latency. */
static gboolean add_shares_of(IfmDocument *document, IfmBlock *block, const IfmStudyTables *tables, const GPtrArray *all,
                              guint device, IfmTopStage *top, GPtrArray *texts)
{
    const IfmStageLatencies *sum = all->pdata[all->len - 1];
    guint best = 0;
    if (sum->stage != 0 || !(sum->devices[device].ns > 0))
        return FALSE;
    const char *alias = ((const IfmStudyDevice *)tables->devices->pdata[device])->alias;
    IfmSeries *series = ifm_document_series(document, block, alias, NULL);
    *top = (IfmTopStage){ alias, NULL, 0, TRUE };
    for (guint k = 0; k + 1 < all->len; k++)
    {
        const IfmStageLatencies *latencies = all->pdata[k];
        g_autofree char *label = ifm_stage_title(tables, latencies->stage);
        const double share = latencies->devices[device].ns / sum->devices[device].ns;
        best = share > top->share ? k : best;
        top->share = fmax(top->share, share);
        ifm_document_point_at(document, series, label, NAN, share);
    }
    const IfmStageLatencies *first = all->pdata[best];
    for (guint k = 0; k + 1 < all->len; k++)
        if (k != best)
            top->is_apart = top->is_apart && first->devices[device].interval.lower >
                                                 ((const IfmStageLatencies *)all->pdata[k])->devices[device].interval.upper;
    g_ptr_array_add(texts, ifm_stage_title(tables, first->stage));
    top->stage = texts->pdata[texts->len - 1];
    return TRUE;
}

void ifm_study_add_shares(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies)
{
    const IfmStudyRow *at = ifm_study_outermost(tables, 1);
    if (at == NULL || tables->staged->n_stages < 2)
        return;
    const GPtrArray *all = ifm_latencies_at(latencies, at)->stages;
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) tops = g_array_new(FALSE, FALSE, sizeof(IfmTopStage));
    g_autofree char *sentence =
        g_strdup_printf("Share of each stage in the sum of a device's latencies at %" G_GINT64_FORMAT
                        " nodes and %" G_GINT64_FORMAT " edges, without moves between devices.",
                        at->nodes, at->edges);
    IfmSection *section = ifm_document_question(document, "Where does the time go?", NULL);
    IfmBlock *block = ifm_document_page_figure(document, "shares", IFM_FIGURE_MATRIX, "", sentence);
    block->figure.y = ifm_axis("share", IFM_FIELD_RATIO);
    for (guint d = 0; d < tables->devices->len; d++)
    {
        IfmTopStage top;
        if (add_shares_of(document, block, tables, all, d, &top, texts))
            g_array_append_val(tops, top);
    }
    block->figure.title =
        ifm_document_take_text(document, ifm_top_stages_title((const IfmTopStage *)(const void *)tops->data, tops->len));
    if (tops->len == 0)
        section->answer = block->figure.title;
}

/* --- how sure --------------------------------------------------------------------------------------------------------- */

static char *add_widths(IfmDocument *document, const IfmStudyTables *tables)
{
    const IfmPrecisionCount count = ifm_study_precision(tables, NULL, 0);
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    IfmBlock *block =
        ifm_document_page_figure(document, "widths", IFM_FIGURE_STRIPS, "",
                                 "Half of the 95 % interval over the median: the median case of a device, and "
                                 "the range of all of its cases.");
    block->figure.y = ifm_axis("half of the interval over the median", IFM_FIELD_RATIO);
    block->figure.half = block->figure.y.logarithmic = TRUE;
    block->figure.y.reference = ifm_study_target(tables);
    block->figure.y.has_reference = isfinite(block->figure.y.reference);
    block->figure.y.reference_words = "asked for";
    for (guint d = 0; d < tables->devices->len; d++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[d];
        g_autoptr(GArray) widths = g_array_new(FALSE, FALSE, sizeof(double));
        for (guint i = 0; i < tables->rows->len; i++)
        {
            const IfmStudyRow *row = tables->rows->pdata[i];
            const double width = ifm_stage_row_width(row);
            if (row->device == device && row->reason == NULL && width > 0 && isfinite(width))
                g_array_append_val(widths, width);
        }
        if (widths->len == 0)
            continue;
        double *sorted = (double *)(void *)widths->data;
        ifm_sort_doubles(sorted, widths->len);
        g_array_append_vals(all, sorted, widths->len);
        IfmPoint point = IFM_POINT_INIT;
        point.label = device->alias;
        point.y = ifm_quantile(sorted, widths->len, 0.5);
        point.min = sorted[0];
        point.max = sorted[widths->len - 1];
        ifm_document_point(document, ifm_document_series(document, block, device->alias, NULL), &point);
    }
    ifm_sort_doubles((double *)(void *)all->data, all->len);
    const double middle = all->len > 0 ? ifm_quantile((const double *)(const void *)all->data, all->len, 0.5) : (double)NAN;
    block->figure.title = ifm_document_take_text(
        document, ifm_widths_title(count.n, count.n_missed, count.n_unknown, block->figure.y.reference));
    return ifm_widths_answer(count.n, count.n_unknown, middle);
}

static void add_coverage(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GPtrArray) lacking = g_ptr_array_new_with_free_func(g_free);
    gsize n_measured = 0, n_all = 0;
    IfmBlock *block = ifm_document_page_figure(document, "coverage", IFM_FIGURE_MATRIX, "",
                                               "Sizes that have a latency, of those there are, by stage.");
    block->figure.half = TRUE;
    block->figure.y = ifm_axis("sizes", IFM_FIELD_RATIO);
    block->figure.y.low = 0;
    for (guint d = 0; d < tables->devices->len; d++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[d];
        IfmSeries *series = ifm_document_series(document, block, device->alias, NULL);
        for (gsize s = 0; s < tables->staged->n_stages; s++)
        {
            gsize n = 0, n_here = 0;
            for (guint i = 0; i < tables->rows->len; i++)
            {
                const IfmStudyRow *row = tables->rows->pdata[i];
                n += row->device == device && row->stage == tables->staged->stages[s].number;
                n_here += row->device == device && row->stage == tables->staged->stages[s].number &&
                          ifm_study_row_state(tables, row) == IFM_ROW_MEASURED;
            }
            if (n == 0)
                continue;
            g_autofree char *label = ifm_stage_title(tables, tables->staged->stages[s].number),
                            *text = g_strdup_printf("%zu of %zu", n_here, n);
            IfmPoint point = IFM_POINT_INIT;
            point.label = label;
            point.text = text;
            point.y = (double)n_here / (double)n;
            point.mark = n_here > 0 ? IFM_MARK_NONE : IFM_MARK_UNKNOWN;
            ifm_document_point(document, series, &point);
            n_measured += n_here;
            n_all += n;
            if (n_here < n)
                g_ptr_array_add(lacking, g_strdup_printf("%s on %s", label, device->alias));
        }
    }
    block->figure.title = ifm_document_take_text(
        document, ifm_coverage_title((const char *const *)lacking->pdata, lacking->len, n_measured, n_all));
}

char *ifm_study_add_sureness(IfmDocument *document, const IfmStudyTables *tables)
{
    char *answer = add_widths(document, tables);
    add_coverage(document, tables);
    return answer;
}

/* --- bandwidths --------------------------------------------------------------------------------------------------------
 */

char *ifm_bandwidths_title(gsize n, const char *stage, double bytes_per_s, gboolean is_apart)
{
    g_autofree char *rate = ifm_format_value(IFM_FIELD_RATE, bytes_per_s);
    if (n == 0)
        return g_strdup("No stage has a bandwidth: no latency grows with the data");
    if (n == 1)
        return g_strdup_printf("Only %s has a bandwidth: %s MB/s", stage, rate);
    return g_strdup_printf("%s has the lowest bandwidth of %zu, %s MB/s%s", stage, n, rate,
                           is_apart ? ", below the intervals of all others" : "; intervals of others reach it");
}

/* (transfer full) */
static char *bandwidths_title(const IfmStudyTables *tables)
{
    const IfmStageFit *lowest = NULL;
    gsize n = 0;
    gboolean is_apart = TRUE;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (!fit->fitted || !fit->bandwidth.identifiable)
            continue;
        n++;
        lowest = lowest == NULL || fit->bandwidth.bytes_per_s < lowest->bandwidth.bytes_per_s ? fit : lowest;
    }
    for (guint i = 0; i < tables->fits->len && lowest != NULL; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (fit != lowest && fit->fitted && fit->bandwidth.identifiable)
            is_apart = is_apart && lowest->bandwidth.bytes_per_s_interval.upper < fit->bandwidth.bytes_per_s_interval.lower;
    }
    g_autofree char *stage = lowest != NULL ? ifm_stage_title(tables, lowest->stage) : NULL,
                    *name = lowest != NULL ? g_strdup_printf("%s on %s", stage, lowest->device->alias) : NULL;
    return ifm_bandwidths_title(n, name, lowest != NULL ? lowest->bandwidth.bytes_per_s : (double)NAN, is_apart);
}

void ifm_study_add_split_figures(IfmDocument *document, const IfmStudyTables *tables)
{
    IfmSeries *series = NULL;
    const IfmStudyDevice *device = NULL;
    g_autofree char *title = bandwidths_title(tables);
    IfmBlock *block = ifm_document_page_figure(document, "bandwidths", IFM_FIGURE_BARS, title,
                                               "1 / slope of latency over data size, with its 95 % interval.");
    block->figure.y = ifm_axis("bandwidth", IFM_FIELD_RATE);
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        g_autofree char *label = ifm_stage_title(tables, fit->stage);
        if (!fit->fitted || !fit->bandwidth.identifiable)
            continue;
        if (fit->device != device)
            series = ifm_document_series(document, block, fit->device->alias, NULL);
        device = fit->device;
        ifm_document_point_within(document, series, label, NAN, fit->bandwidth.bytes_per_s,
                                  fit->bandwidth.bytes_per_s_interval.lower, fit->bandwidth.bytes_per_s_interval.upper);
    }
}
