#include <math.h>

#include <document/document.h>
#include <document/words.h>
#include <learn/learn.h>

#include "learn-headline.h"
#include "predict-page.h"

/* A trained latency model is described in a document: its errors beside the baselines', its features, and its data. */

/* --- errors ---------------------------------------------------------------------------------------------------------- */

#define ERROR(member) IFM_MEMBER(IfmLearnError, member)

static const IfmField error_fields[] = {
    { "protocol", "not trained on", IFM_FIELD_TEXT, ERROR(protocol), IFM_FIELD_KEY },
    { "part", "rows", IFM_FIELD_TEXT, ERROR(part), IFM_FIELD_KEY },
    { "method", "by", IFM_FIELD_TEXT, ERROR(method), IFM_FIELD_KEY },
    { "n", "n", IFM_FIELD_INTEGER, ERROR(n) },
    { "mape_ratio", "mean", IFM_FIELD_RATIO, ERROR(mape) },
    { "median_ratio", "median", IFM_FIELD_RATIO, ERROR(median) },
    { "weighted_ratio", "of time", IFM_FIELD_RATIO, ERROR(weighted) },
    { "within_ratio", "in 10 %", IFM_FIELD_RATIO, ERROR(within) },
    { "n_covered", "covered", IFM_FIELD_INTEGER, ERROR(n_covered) },
    { "covered_ratio", "covered", IFM_FIELD_RATIO, ERROR(covered) },
    { "noise_ratio", "noise", IFM_FIELD_RATIO, ERROR(noise) },
    { NULL },
};

/* ErrorRow: of the model, beside the mean errors of the baselines; NaN: it is not one of the protocol */
typedef struct
{
    const IfmLearnError *own;
    double linear, roofline, flop, time_sharing, idle, share, metrics;
} ErrorRow;

#define OWN(member) IFM_MEMBER_VIA(ErrorRow, own, member)
#define BASELINE(member) IFM_MEMBER(ErrorRow, member), IFM_FIELD_HIDE_EMPTY

static const IfmField row_fields[] = {
    { "protocol", "not trained on", IFM_FIELD_TEXT, OWN(protocol), IFM_FIELD_KEY | IFM_FIELD_FOLD },
    { "part", "rows", IFM_FIELD_TEXT, OWN(part), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "n", "n", IFM_FIELD_INTEGER, OWN(n) },
    { "mape_ratio", "mean", IFM_FIELD_RATIO, OWN(mape) },
    { "median_ratio", "median", IFM_FIELD_RATIO, OWN(median) },
    { "weighted_ratio", "of time", IFM_FIELD_RATIO, OWN(weighted) },
    { "within_ratio", "in 10 %", IFM_FIELD_RATIO, OWN(within) },
    { "covered_ratio", "covered", IFM_FIELD_RATIO, OWN(covered), IFM_FIELD_HIDE_EMPTY },
    { "noise_ratio", "noise", IFM_FIELD_RATIO, OWN(noise), IFM_FIELD_HIDE_EMPTY },
    { "linear_ratio", "linear", IFM_FIELD_RATIO, BASELINE(linear) },
    { "roofline_ratio", "roofline", IFM_FIELD_RATIO, BASELINE(roofline) },
    { "flop_ratio", "FLOP", IFM_FIELD_RATIO, BASELINE(flop) },
    { "time_sharing_ratio", "sharing", IFM_FIELD_RATIO, BASELINE(time_sharing) },
    { "idle_ratio", "no load", IFM_FIELD_RATIO, BASELINE(idle) },
    { "share_ratio", "by share", IFM_FIELD_RATIO, BASELINE(share) },
    { "metrics_ratio", "metrics", IFM_FIELD_RATIO, BASELINE(metrics) },
    { NULL },
};

static double mean_of(const GPtrArray *errors, const IfmLearnError *like, const char *method)
{
    for (guint i = 0; i < errors->len; i++)
    {
        const IfmLearnError *error = errors->pdata[i];
        if (g_str_equal(error->protocol, like->protocol) && g_str_equal(error->part, like->part) &&
            g_str_equal(error->method, method))
            return error->mape;
    }
    return (double)NAN;
}

/* (transfer full) the model's rows of one protocol */
static GArray *rows_of(const IfmLatencyModelInfo *info, const char *protocol)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(ErrorRow));
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *own = info->errors->pdata[i];
        if (!g_str_equal(own->method, info->method) || !g_str_equal(own->protocol, protocol))
            continue;
        const ErrorRow row = { own,
                               mean_of(info->errors, own, "linear"),
                               mean_of(info->errors, own, "roofline"),
                               mean_of(info->errors, own, "flop"),
                               mean_of(info->errors, own, "time-sharing"),
                               mean_of(info->errors, own, "idle"),
                               mean_of(info->errors, own, "share alone"),
                               mean_of(info->errors, own, "metrics") };
        g_array_append_val(rows, row);
    }
    return rows;
}

/* Of the rows of a protocol that stand first: the mean error of the model, and that of the best baseline. (transfer full)
 */
char *ifm_train_title(const char *protocol, const char *part, double own, const char *baseline, double best)
{
    g_autofree char *model = ifm_say_per_cent(own), *other = ifm_say_per_cent(best);
    if (baseline == NULL)
        return g_strdup_printf("Not trained on %s: the model's MAPE is %s on %s", protocol, model, part);
    return g_strdup_printf("Not trained on %s: the model's MAPE is %s on %s, that of the best baseline, %s, %s", protocol,
                           model, part, baseline, other);
}

static char *title_of(const IfmLatencyModelInfo *info, const char *protocol)
{
    const IfmLearnError *own = NULL, *best = NULL;
    for (guint i = 0; i < info->errors->len && own == NULL; i++)
    {
        const IfmLearnError *error = info->errors->pdata[i];
        own = g_str_equal(error->protocol, protocol) && g_str_equal(error->method, info->method) ? error : NULL;
    }
    for (guint i = 0; i < info->errors->len && own != NULL; i++)
    {
        const IfmLearnError *error = info->errors->pdata[i];
        if (error != own && g_str_equal(error->protocol, protocol) && g_str_equal(error->part, own->part) &&
            (best == NULL || error->mape < best->mape))
            best = error;
    }
    return own != NULL ? ifm_train_title(protocol, own->part, own->mape, best != NULL ? best->method : NULL,
                                         best != NULL ? best->mape : NAN)
                       : g_strdup(protocol);
}

/* The model against every baseline on the rows of a protocol. */
static void add_bars(IfmDocument *document, const IfmLatencyModelInfo *info, const char *protocol, const char *key)
{
    static const char *const method[] = { "method", NULL }, *const part[] = { "part", NULL },
                             *const mean[] = { "mape_ratio", NULL };
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (guint i = 0; i < info->errors->len; i++)
        if (g_str_equal(((const IfmLearnError *)info->errors->pdata[i])->protocol, protocol))
            g_ptr_array_add(records, info->errors->pdata[i]);
    const IfmTable table = { error_fields, (const void *const *)records->pdata, records->len };
    g_autofree char *title = title_of(info, protocol);
    ifm_document_plot(document, key, IFM_FIGURE_BARS, title,
                      "MAPE of the model and of each baseline on rows that were not trained on.", &table,
                      &(IfmPlotColumns){ .series = method, .label = part, .y = mean })
        ->figure.group = "MAPE:";
}

static void add_protocols(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    const char *protocol = "";
    guint n = 0;
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *error = info->errors->pdata[i];
        if (g_str_equal(error->protocol, protocol))
            continue;
        protocol = error->protocol;
        g_autofree char *key = g_strdup_printf("errors_%u", ++n);
        add_bars(document, info, protocol, key);
    }
}

/* A table a protocol, and for exports one of everything. */
static void add_errors(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    const char *protocol = "";
    guint n = 0;
    if (info->errors->len == 0)
        return;
    ifm_document_question(document, "Was the prediction right?", NULL);
    add_protocols(document, info);
    const guint from = document->sections->len;
    ifm_document_heading(document, "Errors on what was not trained on");
    ifm_document_text(
        document,
        "mean, median: of |predicted / measured - 1|. of time: sum of the differences over the sum of the "
        "latencies. in 10 %%: rows that are at most so far off. covered: rows within their interval, which is "
        "to hold %.0f %%. noise: by how much two repetitions of a kernel differ on average. Then the mean of each "
        "baseline, and under load that of the trees where the kind of load is not known (by share), and where metrics "
        "of the machine are known instead.",
        100 * IFM_LEARN_COVERAGE);
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *error = info->errors->pdata[i];
        g_ptr_array_add(records, (gpointer)error);
        if (g_str_equal(error->protocol, protocol))
            continue;
        protocol = error->protocol;
        g_autofree char *key = g_strdup_printf("protocol_%u", ++n);
        ifm_document_part(document);
        ifm_document_rows(document, ifm_document_keep_text(document, key), row_fields, rows_of(info, protocol));
    }
    ifm_document_table(document, "errors", error_fields, records)->no_screen = TRUE;
    ifm_document_close_from(document, from);
}

static void add_beaten(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    static const char *const baselines[] = { "linear", "idle", "time-sharing" };
    ifm_document_part(document);
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *own = info->errors->pdata[i];
        for (gsize k = 0; g_str_equal(own->method, info->method) && k < G_N_ELEMENTS(baselines); k++)
        {
            const double mean = mean_of(info->errors, own, baselines[k]);
            if (mean < own->mape)
                ifm_document_note(document, "beaten", IFM_TONE_WARN,
                                  "%s, %s: the baseline \"%s\" has a MAPE of %.1f %%, the model one of %.1f %%",
                                  own->protocol, own->part, baselines[k], 100 * mean, 100 * own->mape);
        }
    }
}

/* --- choices --------------------------------------------------------------------------------------------------------- */

/* OperatorRow: an operator with so many rows that its error is known well. @own, @best: mean errors on what was not trained
 * on; NaN: it was not evaluated    @baseline: that has @best */
typedef struct
{
    const IfmOperatorChoice *choice;
    char *way, *far;
    double own, best;
    const char *baseline;
} OperatorRow;

#define CHOICE(member) IFM_MEMBER_VIA(OperatorRow, choice, member)

static const IfmField operator_fields[] = {
    { "operator", "operator", IFM_FIELD_TEXT, CHOICE(name), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "n", "n", IFM_FIELD_INTEGER, CHOICE(n) },
    { "way", "by", IFM_FIELD_TEXT, IFM_MEMBER(OperatorRow, way) },
    { "far_way", "by, when far", IFM_FIELD_TEXT, IFM_MEMBER(OperatorRow, far), IFM_FIELD_HIDE_EMPTY },
    { "mape_ratio", "chosen at", IFM_FIELD_RATIO, CHOICE(mape) },
    { "linear_ratio", "its line", IFM_FIELD_RATIO, CHOICE(linear), IFM_FIELD_HIDE_EMPTY },
    { "held_out_ratio", "held out", IFM_FIELD_RATIO, IFM_MEMBER(OperatorRow, own), IFM_FIELD_HIDE_EMPTY },
    { "best_ratio", "best baseline", IFM_FIELD_RATIO, IFM_MEMBER(OperatorRow, best), IFM_FIELD_HIDE_EMPTY },
    { "baseline", "which", IFM_FIELD_TEXT, IFM_MEMBER(OperatorRow, baseline), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* Errors of an operator of the protocol that stands first. */
static void find_errors(OperatorRow *row, const IfmLatencyModelInfo *info)
{
    g_autofree char *part = g_strconcat(IFM_LEARN_OPERATOR_PREFIX, row->choice->name, NULL);
    const IfmLearnError *first = info->errors->len > 0 ? info->errors->pdata[0] : NULL;
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *error = info->errors->pdata[i];
        if (!g_str_equal(error->protocol, first->protocol) || !g_str_equal(error->part, part))
            continue;
        if (g_str_equal(error->method, info->method))
            row->own = error->mape;
        else if (!(row->best <= error->mape))
        {
            row->best = error->mape;
            row->baseline = error->method;
        }
    }
}

static void add_operators(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(OperatorRow));
    for (guint i = 0; info->choices != NULL && i < info->choices->len; i++)
    {
        OperatorRow row = { info->choices->pdata[i], NULL, NULL, (double)NAN, (double)NAN, NULL };
        if (row.choice->n < IFM_LEARN_OPERATOR_CASES || !g_str_equal(row.choice->group, row.choice->name))
            continue;
        g_autofree char *way = ifm_operator_choice_text(row.choice, FALSE),
                        *far = ifm_operator_choice_text(row.choice, TRUE);
        const gboolean is_other = !g_str_equal(way, far);
        row.way = (char *)ifm_document_keep_text(document, way);
        row.far = is_other ? (char *)ifm_document_keep_text(document, far) : NULL;
        find_errors(&row, info);
        g_array_append_val(rows, row);
    }
    if (rows->len == 0)
    {
        g_array_unref(rows);
        return;
    }
    ifm_document_heading(document, "How each operator is predicted");
    ifm_document_text(
        document,
        "Of operators with %d cases or more: what predicts them best in cross-validation, with its mean error "
        "there and that of a line through FLOP and bytes. held out: its mean error where the choice, too, was "
        "made without the kernel, beside that of the best baseline.",
        IFM_LEARN_OPERATOR_CASES);
    ifm_document_rows(document, "operators", operator_fields, rows);
}

/* --- features -------------------------------------------------------------------------------------------------------- */

#define FEATURE(member) IFM_MEMBER(IfmLearnFeature, member)

static const IfmField feature_fields[] = {
    { "feature", "feature", IFM_FIELD_TEXT, FEATURE(name), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "min", "min", IFM_FIELD_REAL, FEATURE(min) },
    { "max", "max", IFM_FIELD_REAL, FEATURE(max) },
    { "importance_ratio", "share of gain", IFM_FIELD_RATIO, FEATURE(importance) },
    { NULL },
};

static void add_features(IfmDocument *document, const char *title, const char *key, const GPtrArray *features)
{
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < features->len; i++)
        g_ptr_array_add(records, features->pdata[i]);
    ifm_document_heading(document, title);
    ifm_document_table(document, key, feature_fields, records);
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

static void add_noise(IfmDocument *document, const IfmLearnNoise *noise)
{
    if (noise->n_pairs == 0)
    {
        ifm_document_fact(document, "noise floor", "unknown: no kernel was measured twice");
        return;
    }
    ifm_document_fact(document, "noise floor",
                      "two repetitions of a kernel differ by %.1f %% on average, median %.1f %% (%" G_GINT64_FORMAT
                      " pairs)",
                      100 * noise->mean, 100 * noise->median, noise->n_pairs);
    if (isfinite(noise->mean_large) && isfinite(noise->mean_small))
        ifm_document_fact(document, "", "%.1f %% from 20 us on, %.1f %% below", 100 * noise->mean_large,
                          100 * noise->mean_small);
    if (noise->exponent < 0)
        ifm_document_fact(document, "speed",
                          "times are put to that of the median visit, in which a read got %.3g GB/s; as measured they "
                          "differ by %.1f %%",
                          noise->read_bytes_per_s / 1e9, 100 * noise->mean_as_measured);
}

static void add_facts(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    ifm_document_fact(document, "rows",
                      "%" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " kernels without load, %" G_GINT64_FORMAT
                      " cases under load, %" G_GINT64_FORMAT " configurations, %u operators",
                      info->n_rows, info->n_kernels, info->n_loaded, info->n_configurations, info->operators->len);
    if (info->n_left_out + info->n_disturbed > 0)
        ifm_document_fact(document, "disturbed", "%" G_GINT64_FORMAT " rows left out, %" G_GINT64_FORMAT " learnt from",
                          info->n_left_out, info->n_disturbed);
    if (info->n_dropped > 0)
        ifm_document_fact(document, "",
                          "%" G_GINT64_FORMAT " more left out: rows under load of kernels without a latency without load",
                          info->n_dropped);
    for (guint i = 0; i < info->machines->len; i++)
        ifm_document_fact(document, i == 0 ? "machines" : "", "%s", ((const IfmMachine *)info->machines->pdata[i])->name);
    ifm_document_fact(document, "trees", "%" G_GINT64_FORMAT ", %s, seed %" G_GINT64_FORMAT, info->n_trees, info->method,
                      info->seed);
    add_noise(document, &info->noise);
}

IfmDocument *ifm_train_document(const IfmLatencyModel *model, gboolean features)
{
    IfmLatencyModelInfo info;
    ifm_latency_model_info(model, &info);
    IfmDocument *document = ifm_document_new("latency model", "A model of kernels' latencies");
    ifm_train_add_headline(document, &info);
    add_facts(document, &info);
    add_errors(document, &info);
    add_beaten(document, &info);
    add_operators(document, &info);
    if (!features)
        return document;
    const guint from = document->sections->len;
    add_features(document, "Features of the latency without load", "features", info.features);
    if (info.n_loaded > 0)
        add_features(document, "Further features of the slow-down under load", "load_features", info.load_features);
    ifm_document_close_from(document, from);
    return document;
}
