#include <math.h>

#include <base/statistics.h>
#include <document/summary.h>
#include <document/words.h>

#include "study-pages.h"

/* What a study of convolution algorithms came to: combinations, models and sizes, layer shapes. */

/* --- combinations -------------------------------------------------------------------------------------------------------
 */

/* Combination: a model, an algorithm and a device over the sizes. */
typedef struct
{
    const char *model, *algorithm;
    const IfmStudyDevice *device;
    gint64 n_done, n_refused, n_failed, n_implausible, n_left, n_fell_back;
    const char *reason;                     /* of the first that failed or was refused */
    double time_ns, layers_ratio, energy_j; /* at the largest size that was measured; layers_ratio: of a profiled run's
                                             wall time, convolutions' */
    gint64 input_size;
} Combination;

static Combination combination_of(const IfmConvCombination *of)
{
    Combination one = { of->model, of->algorithm, of->device, .time_ns = NAN, .layers_ratio = NAN, .energy_j = NAN };
    for (guint i = 0; i < of->points->len; i++)
    {
        const IfmConvPoint *point = of->points->pdata[i];
        const IfmRowState state = ifm_study_row_state(NULL, point->point);
        one.n_done += state == IFM_ROW_MEASURED;
        one.n_refused += state == IFM_ROW_REFUSED;
        one.n_left += state == IFM_ROW_LEFT;
        one.n_failed += state == IFM_ROW_FAILED || state == IFM_ROW_SKIPPED;
        one.n_implausible += state == IFM_ROW_IMPLAUSIBLE;
        one.n_fell_back = MAX(one.n_fell_back, (gint64)point->n_fell_back);
        if (one.reason == NULL && state != IFM_ROW_MEASURED && state != IFM_ROW_LEFT)
            one.reason = point->point->reason;
        if (state != IFM_ROW_MEASURED || point->input_size < one.input_size)
            continue;
        one.input_size = point->input_size;
        one.time_ns = point->point->median_ns;
        one.layers_ratio = point->layers_ns / point->profiled_ns;
        one.energy_j = point->energy_j;
    }
    return one;
}

/* (transfer full) Combination, in the order of the study. */
static GArray *combine(const IfmConvFindings *findings)
{
    GArray *combinations = g_array_new(FALSE, FALSE, sizeof(Combination));
    for (guint i = 0; i < findings->combinations->len; i++)
    {
        const Combination one = combination_of(&g_array_index(findings->combinations, IfmConvCombination, i));
        g_array_append_val(combinations, one);
    }
    return combinations;
}

static void get_combination_state(const void *record, const void *user, IfmValue *value)
{
    const Combination *one = record;
    if (one->n_left > 0)
        ifm_value_set_text(value, one->n_done + one->n_refused + one->n_failed > 0 ? "begun" : "queued");
    else if (one->n_failed > 0)
        ifm_value_set_text(value, one->n_done + one->n_refused == 0 ? "failed" : "in part");
    else if (one->n_implausible > 0)
        ifm_value_set_text(value, IFM_IMPLAUSIBLE);
    else
        ifm_value_set_text(value, one->n_done == 0 && one->n_refused > 0 ? "unsupported" : "done");
    value->tone = one->n_left > 0 ? IFM_TONE_DIM : one->n_failed > 0 ? IFM_TONE_BAD : IFM_TONE_PLAIN;
}

static void get_combination_size(const void *record, const void *user, IfmValue *value)
{
    const Combination *one = record;
    if (one->n_done > 0)
        ifm_value_set_integer(value, one->input_size);
}

#define OF(member, ...) IFM_MEMBER(Combination, member, ##__VA_ARGS__)
#define OF_AT(member) IFM_FIELD_AT(Combination, member)

static const IfmField combination_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, OF(model), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "algorithm", "algorithm", IFM_FIELD_TEXT, OF(algorithm), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "device", "device", IFM_FIELD_TEXT, ifm_field_get_marked, OF_AT(device), IFM_FIELD_WHOLE },
    { "state", "status", IFM_FIELD_TEXT, get_combination_state, NULL, IFM_FIELD_WHOLE },
    { "done", "measured", IFM_FIELD_INTEGER, OF(n_done) },
    { "refused", "unsupported", IFM_FIELD_INTEGER, OF(n_refused, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "failed", "failed", IFM_FIELD_INTEGER, OF(n_failed) },
    { "left", "pending", IFM_FIELD_INTEGER, OF(n_left) },
    { "fallback_layers", "fell back", IFM_FIELD_INTEGER, OF(n_fell_back, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "input_size", "at size", IFM_FIELD_INTEGER, get_combination_size, NULL, IFM_FIELD_HIDE_EMPTY },
    { "time_ns", "latency", IFM_FIELD_DURATION, OF(time_ns), IFM_FIELD_HIDE_EMPTY },
    { "layers_ratio", "convolutions", IFM_FIELD_RATIO, OF(layers_ratio), IFM_FIELD_HIDE_EMPTY },
    { "energy_j", "J", IFM_FIELD_REAL, OF(energy_j), IFM_FIELD_HIDE_EMPTY },
    { "reason", "", IFM_FIELD_TEXT, OF(reason, .some = TRUE), IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* --- models and sizes ---------------------------------------------------------------------------------------------------
 */

/* @user: the offsets of two doubles. */
static void get_ratio(const void *record, const void *user, IfmValue *value)
{
    const gsize *at = user;
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, record, at[0]) / G_STRUCT_MEMBER(double, record, at[1]));
}

#define RATIO(type, over, under)                                                                                           \
    get_ratio, (const gsize[])                                                                                             \
    {                                                                                                                      \
        G_STRUCT_OFFSET(type, over), G_STRUCT_OFFSET(type, under)                                                          \
    }

static void get_ahead(const void *record, const void *user, IfmValue *value)
{
    const IfmConvSizeRow *row = record;
    ifm_value_set_real(value, row->second_ns / row->time_ns);
    value->mark = row->is_apart || !row->has_intervals || isnan(row->second_ns) ? IFM_MARK_NONE : IFM_MARK_ROUGH;
}

#define SIZE(member) IFM_MEMBER(IfmConvSizeRow, member)
#define SIZE_AT(member) IFM_FIELD_AT(IfmConvSizeRow, member)

static const IfmField size_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, SIZE(model), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "input_size", "size", IFM_FIELD_INTEGER, SIZE(input_size), IFM_FIELD_KEY },
    { "device", "device", IFM_FIELD_TEXT, ifm_field_get_marked, SIZE_AT(device), IFM_FIELD_WHOLE },
    { "fastest", "lowest", IFM_FIELD_TEXT, SIZE(fastest), IFM_FIELD_WHOLE },
    { "time_ns", "latency", IFM_FIELD_DURATION, SIZE(time_ns) },
    { "second", "next", IFM_FIELD_TEXT, SIZE(second), IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "ahead", "next/lowest", IFM_FIELD_REAL, get_ahead, NULL, IFM_FIELD_HIDE_EMPTY },
    { "gain", "runtime/lowest", IFM_FIELD_REAL, RATIO(IfmConvSizeRow, runtime_ns, time_ns), IFM_FIELD_HIDE_EMPTY },
    { "best_gain", "runtime/best", IFM_FIELD_REAL, RATIO(IfmConvSizeRow, runtime_ns, best_ns), IFM_FIELD_HIDE_EMPTY },
    { "cheapest", "cheapest", IFM_FIELD_TEXT, SIZE(cheapest), IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "energy_j", "J", IFM_FIELD_REAL, SIZE(energy_j), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* Sizes between which another algorithm becomes the fastest. */
static void add_crossovers(IfmDocument *document, const IfmConvFindings *findings)
{
    for (guint i = 1; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *before = &g_array_index(findings->sizes, IfmConvSizeRow, i - 1),
                             *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        if (before->device != row->device || !g_str_equal(before->model, row->model) ||
            g_str_equal(before->fastest, row->fastest))
            continue;
        ifm_document_note(document, row->model, IFM_TONE_PLAIN,
                          "%s is the lowest at %" G_GINT64_FORMAT ", %s at %" G_GINT64_FORMAT "%s", before->fastest,
                          before->input_size, row->fastest, row->input_size,
                          before->is_apart && row->is_apart             ? ""
                          : before->has_intervals && row->has_intervals ? "; within its interval the next may be faster"
                                                                        : "; without intervals, of too few runs");
    }
}

static void add_sizes(IfmDocument *document, const IfmConvFindings *findings)
{
    if (findings->sizes->len == 0)
        return;
    ifm_document_heading(document, "The algorithm with the lowest latency, by model and size");
    ifm_document_rows(document, "sizes", size_fields, g_array_copy(findings->sizes));
    add_crossovers(document, findings);
    gboolean overlaps = FALSE, lacks = FALSE;
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        overlaps |= row->has_intervals && !row->is_apart;
        lacks |= !row->has_intervals && !isnan(row->second_ns);
    }
    if (overlaps)
        ifm_document_text(document, "~: the intervals of the two latencies overlap");
    if (lacks)
        ifm_document_text(document,
                          "latencies of too few runs have no interval: which of the two is faster is not certain");
    ifm_document_text(document, "one process of each: lower in this study; compare tells which of two is the faster");
}

/* --- layer shapes -------------------------------------------------------------------------------------------------------
 */

/* append_pair: ", stride 2"; nothing of 1 and of what was not recorded, 0. */
static void append_pair(GString *text, const char *what, gint64 rows, gint64 columns)
{
    if (rows != columns)
        g_string_append_printf(text, ", %s %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, what, rows, columns);
    else if (rows > 1)
        g_string_append_printf(text, ", %s %" G_GINT64_FORMAT, what, rows);
}

char *ifm_conv_shape_text(const IfmConvLayer *layer)
{
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT,
                    layer->in_channels, layer->out_channels, layer->kernel_rows, layer->kernel_columns);
    append_pair(text, "stride", layer->stride_rows, layer->stride_columns);
    append_pair(text, "dilation", layer->dilation_rows, layer->dilation_columns);
    if (layer->groups > 1)
        g_string_append_printf(text, ", %" G_GINT64_FORMAT " groups", layer->groups);
    return g_string_free(text, FALSE);
}

static void get_shape(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_conv_shape_text(((const IfmConvShapeRow *)record)->layer));
}

static void get_shape_rate(const void *record, const void *user, IfmValue *value)
{
    const IfmConvShapeRow *row = record;
    ifm_value_set_real(value, 2 * (double)row->layer->macs / row->time_ns);
}

static void get_shape_ahead(const void *record, const void *user, IfmValue *value)
{
    const IfmConvShapeRow *row = record;
    ifm_value_set_real(value, row->second_ns / row->time_ns);
    value->mark = row->overlaps ? IFM_MARK_ROUGH : IFM_MARK_NONE;
}

#define SHAPE(member) IFM_MEMBER(IfmConvShapeRow, member)
#define SHAPE_AT(member) IFM_FIELD_AT(IfmConvShapeRow, member)

static const IfmField shape_fields[] = {
    { "shape", "channels, kernel", IFM_FIELD_TEXT, get_shape, NULL, IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "mmac", "MMAC", IFM_FIELD_REAL, IFM_MEMBER_VIA(IfmConvShapeRow, layer, macs, .per = 1e6), IFM_FIELD_KEY },
    { "device", "device", IFM_FIELD_TEXT, ifm_field_get_marked, SHAPE_AT(device), IFM_FIELD_WHOLE },
    { "fastest", "lowest", IFM_FIELD_TEXT, SHAPE(fastest), IFM_FIELD_WHOLE },
    { "time_ns", "time", IFM_FIELD_DURATION, SHAPE(time_ns) },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_shape_rate },
    { "second", "next", IFM_FIELD_TEXT, SHAPE(second), IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "ahead", "next/lowest", IFM_FIELD_REAL, get_shape_ahead, NULL, IFM_FIELD_HIDE_EMPTY },
    { "gain", "runtime/lowest", IFM_FIELD_REAL, RATIO(IfmConvShapeRow, runtime_ns, time_ns), IFM_FIELD_HIDE_EMPTY },
    { "implementation", "", IFM_FIELD_TEXT, SHAPE(implementation), IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* How many shapes a terminal shows; exports have all. */
#define MAX_SHAPES 20

static void add_shapes(IfmDocument *document, const IfmConvFindings *findings)
{
    if (findings->shapes->len == 0)
        return;
    ifm_document_heading(document, "The algorithm with the lowest time, by the shape of a layer");
    IfmBlock *all = ifm_document_rows(document, "shapes", shape_fields, g_array_copy(findings->shapes));
    if (findings->shapes->len > MAX_SHAPES)
    {
        all->no_screen = TRUE;
        GArray *first = g_array_new(FALSE, FALSE, sizeof(IfmConvShapeRow));
        g_array_append_vals(first, findings->shapes->data, MAX_SHAPES);
        ifm_document_rows(document, "largest_shapes", shape_fields, first);
        ifm_document_text(document, "the %d shapes with the most work, of %u", MAX_SHAPES, findings->shapes->len);
    }
    for (guint i = 0; i < findings->shapes->len; i++)
        if (g_array_index(findings->shapes, IfmConvShapeRow, i).overlaps)
        {
            ifm_document_text(document, "~: the times of such layers by the two algorithms overlap");
            break;
        }
}

/* How often each algorithm is the lowest for sure, and what the best gains over the runtime's own kernels. */
static void say_verdict(IfmDocument *document, const IfmConvFindings *findings)
{
    g_autoptr(GHashTable) wins = g_hash_table_new(g_str_hash, g_str_equal);
    const char *most = NULL;
    gsize n_most = 0, n_open = 0, n_runtime = 0, n_beside = 0, n_known = 0;
    double gain = 0;
    const IfmConvSizeRow *best = NULL;
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        n_open += !row->is_apart;
        if (row->is_apart)
        {
            const gsize n = GPOINTER_TO_SIZE(g_hash_table_lookup(wins, row->fastest)) + 1;
            g_hash_table_insert(wins, (char *)row->fastest, GSIZE_TO_POINTER(n));
            most = n > n_most ? row->fastest : most;
            n_most = MAX(n, n_most);
        }
        n_runtime += isfinite(row->runtime_ns) && row->second != NULL;
        n_beside += row->second != NULL;
        n_known += row->second != NULL && row->has_intervals;
        if (row->gains && row->runtime_ns / row->time_ns > gain)
        {
            gain = row->runtime_ns / row->time_ns;
            best = row;
        }
    }
    if (findings->sizes->len == 0)
        return;
    if (most != NULL)
        ifm_document_verdict(document, "%s is the lowest most often: at %zu of %u models and sizes", most, n_most,
                             findings->sizes->len);
    else if (n_beside == 0)
        ifm_document_verdict(document, "Of each model and size one algorithm was measured, and none beside it");
    else if (n_known == 0)
        ifm_document_verdict(document,
                             "Which algorithm is the fastest is not known: nowhere have the two lowest an interval");
    else
        ifm_document_verdict(document, "No algorithm is told apart at any of %u models and sizes", findings->sizes->len);
    g_autofree char *times = ifm_say_number(gain);
    g_autofree char *open = n_open > 0 && most != NULL ? g_strdup_printf("; at %zu the two lowest overlap", n_open) : NULL;
    if (best != NULL)
        ifm_document_verdict_more(document,
                                  "Where it is told apart from the runtime's own kernels, it is at most %s times as fast: "
                                  "%s on %s at %" G_GINT64_FORMAT " by %s%s",
                                  times, best->model, best->device->alias, best->input_size, best->fastest,
                                  open != NULL ? open : "");
    else if (n_runtime > 0 && n_known > 0)
        ifm_document_verdict_more(document, "Nowhere is the lowest told apart from the runtime's own kernels%s",
                                  open != NULL ? open : "");
}

void ifm_conv_add(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page)
{
    IfmConvFindings *findings =
        ifm_document_keep(document, ifm_conv_findings(points), (GDestroyNotify)ifm_conv_findings_free);
    say_verdict(document, findings);
    if (page == IFM_STUDY_REPORT)
    {
        ifm_document_question(document, "Which algorithm?", NULL);
        ifm_conv_add_size_figures(document, findings);
        add_sizes(document, findings);
        ifm_document_question(document, "Which algorithm for which layer?", NULL);
        ifm_conv_add_shape_figures(document, findings);
        add_shapes(document, findings);
        ifm_document_closed(document, "Every combination of model, algorithm and device");
    }
    ifm_document_rows(document, "combinations", combination_fields, combine(findings));
    for (guint i = 0; i < findings->same->len; i++)
        ifm_document_note(document, "error", IFM_TONE_BAD, "%s", (const char *)findings->same->pdata[i]);
    if (page != IFM_STUDY_SUMMARY)
        return;
    add_sizes(document, findings);
    add_shapes(document, findings);
    ifm_conv_add_size_figures(document, findings);
    ifm_conv_add_shape_figures(document, findings);
}
