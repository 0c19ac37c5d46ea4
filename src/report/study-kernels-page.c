/* Studies of kernels under load: the file to learn from, and their page. */
#include <math.h>
#include <string.h>

#include <learn/learn.h>

#include "study-pages.h"

/* --- held-out models ----------------------------------------------------------------------------------------------------
 */

static const char *load_word(int kind)
{
    return kind > IFM_LOAD_NONE ? ifm_stress_words()[kind - IFM_LOAD_GEMM] : "none";
}

static const char *cores_word(int cores)
{
    return cores == IFM_LOAD_CORES_SAME ? "the same" : cores == IFM_LOAD_CORES_OTHER ? "another" : "";
}

/* @user: the offset of an IfmLoadKind, of IfmLoadCores. */
static void get_load(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, load_word(G_STRUCT_MEMBER(int, record, GPOINTER_TO_SIZE(user))));
}

static void get_cores(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, cores_word(G_STRUCT_MEMBER(int, record, GPOINTER_TO_SIZE(user))));
}

static void get_error(const void *record, const void *user, IfmValue *value)
{
    const IfmModelVerdict *verdict = record;
    ifm_value_set_real(value, verdict->predicted_ns / verdict->measured_ns - 1);
}

static void get_inside(const void *record, const void *user, IfmValue *value)
{
    const IfmModelVerdict *verdict = record;
    ifm_value_set_boolean(value, verdict->low_ns <= verdict->measured_ns && verdict->measured_ns <= verdict->high_ns);
}

#define VERDICT(member) IFM_MEMBER(IfmModelVerdict, member)
#define VERDICT_AT(member) IFM_FIELD_AT(IfmModelVerdict, member)

static const IfmField verdict_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, VERDICT(name), .flags = IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "load", "load", IFM_FIELD_TEXT, get_load, VERDICT_AT(kind) },
    { "cores", "on core", IFM_FIELD_TEXT, get_cores, VERDICT_AT(cores), IFM_FIELD_HIDE_EMPTY },
    { "threads", "threads", IFM_FIELD_INTEGER, VERDICT(threads), IFM_FIELD_FOLD },
    { "level", "asked", IFM_FIELD_RATIO, VERDICT(level) },
    { "measured_ns", "measured", IFM_FIELD_DURATION, VERDICT(measured_ns) },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, VERDICT(predicted_ns) },
    { "low_ns", "from", IFM_FIELD_DURATION, VERDICT(low_ns) },
    { "high_ns", "to", IFM_FIELD_DURATION, VERDICT(high_ns) },
    { "error_ratio", "off by", IFM_FIELD_RATIO, get_error },
    { "inside", "inside", IFM_FIELD_BOOLEAN, get_inside },
    { "known_ratio", "known", IFM_FIELD_RATIO, VERDICT(known_ratio) },
    { NULL },
};

/* kernels.csv, and where something can be learnt from it latency.json and models.csv: the held-out models. */
gboolean ifm_kernels_write(const IfmStudyTables *points, const char *folder, GError **error)
{
    g_autoptr(IfmKernelsOutcome) outcome = ifm_study_kernels_outcome(points, error);
    if (outcome == NULL)
        return FALSE;
    g_autofree char *csv = ifm_kernel_samples_to_csv(outcome->samples),
                    *path = g_build_filename(folder, "kernels.csv", NULL),
                    *model = g_build_filename(folder, "latency.json", NULL),
                    *models = g_build_filename(folder, "models.csv", NULL);
    if (!ifm_output_write(path, csv, strlen(csv), error) ||
        (outcome->model != NULL && !ifm_latency_model_write(outcome->model, model, error)))
        return FALSE;
    g_autoptr(GPtrArray) rows = ifm_pointers_to(outcome->verdicts);
    g_autofree char *table = ifm_rows_to_csv(verdict_fields, rows);
    return outcome->verdicts->len == 0 || ifm_output_write(models, table, strlen(table), error);
}

#define OPERATOR(member) IFM_MEMBER(IfmOperatorRow, member)

static const IfmField operator_fields[] = {
    { "op_type", "kernel", IFM_FIELD_TEXT, OPERATOR(op_type), .flags = IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "kernels", "shapes", IFM_FIELD_INTEGER, OPERATOR(n_kernels) },
    { "visits", "visits", IFM_FIELD_INTEGER, OPERATOR(n_visits) },
    { "min_ns", "fastest", IFM_FIELD_DURATION, OPERATOR(min_ns) },
    { "median_ns", "median", IFM_FIELD_DURATION, OPERATOR(median_ns) },
    { "max_ns", "slowest", IFM_FIELD_DURATION, OPERATOR(max_ns) },
    { "spread_ratio", "between visits", IFM_FIELD_RATIO, OPERATOR(spread) },
    { NULL },
};

#define LOAD(member) IFM_MEMBER(IfmLoadRow, member)
#define LOAD_AT(member) IFM_FIELD_AT(IfmLoadRow, member)

static const IfmField load_fields[] = {
    { "load", "load", IFM_FIELD_TEXT, get_load, LOAD_AT(kind), IFM_FIELD_KEY },
    { "cores", "on core", IFM_FIELD_TEXT, get_cores, LOAD_AT(cores), IFM_FIELD_KEY },
    { "level", "asked", IFM_FIELD_RATIO, LOAD(level) },
    { "achieved", "reached", IFM_FIELD_RATIO, LOAD(achieved) },
    { "kernels", "kernels", IFM_FIELD_INTEGER, LOAD(n) },
    { "slow_down", "slow-down", IFM_FIELD_REAL, LOAD(slow_down) },
    { "slow_down_90", "of one in ten above", IFM_FIELD_REAL, LOAD(slow_down_90) },
    { NULL },
};

#define FAR_BELOW 0.03 /* of the time: a load that misses by more is mentioned */

/* Loads that did not reach what was asked, as beside a kernel on the same core, which takes its share. */
static void add_missed_loads(IfmDocument *document, const GArray *loads)
{
    guint n = 0;
    for (guint i = 0; i < loads->len; i++)
    {
        const IfmLoadRow *row = &g_array_index(loads, IfmLoadRow, i);
        n += row->achieved < row->level - FAR_BELOW;
    }
    if (n > 0)
        ifm_document_note(
            document, "note", IFM_TONE_WARN,
            "%u of %u loads reached more than %g %% less than was asked: something else kept the core busy, or "
            "it was the kernel itself, with which the load shares the core",
            n, loads->len, 100 * FAR_BELOW);
}

static void add_alike(IfmDocument *document, const GArray *verdicts)
{
    g_autoptr(GArray) predictions = g_array_new(FALSE, FALSE, sizeof(IfmLoadPrediction));
    for (guint i = 0; i < verdicts->len; i++)
    {
        const IfmModelVerdict *verdict = &g_array_index(verdicts, IfmModelVerdict, i);
        g_autofree char *load = g_strdup_printf("%s %.0f %% on %s core", load_word(verdict->kind), 100 * verdict->level,
                                                cores_word(verdict->cores));
        const IfmLoadPrediction one = { verdict->name, ifm_document_keep_text(document, load), verdict->predicted_ns };
        if (verdict->kind != IFM_LOAD_NONE)
            g_array_append_val(predictions, one);
    }
    ifm_document_alike(document, predictions);
}

/* --- figures ---------------------------------------------------------------------------------------------------------- */

/* A line for each kind of load and core. */
static void add_slow_downs(IfmDocument *document, const GArray *loads)
{
    IfmBlock *block = ifm_document_page_figure(document, "slow_downs", IFM_FIGURE_LINES, "Slow-down over load",
                                               "Median time of the kernels under a load over their time without it.");
    IfmSeries *series = NULL;
    block->figure.x.title = "load reached";
    block->figure.x.kind = IFM_FIELD_RATIO;
    block->figure.y.title = "times as long";
    block->figure.y.kind = IFM_FIELD_REAL;
    for (guint i = 0; i < loads->len; i++)
    {
        const IfmLoadRow *row = &g_array_index(loads, IfmLoadRow, i);
        IfmPoint point = IFM_POINT_INIT;
        if (i == 0 || row[-1].kind != row->kind || row[-1].cores != row->cores)
        {
            g_autofree char *name = g_strdup_printf("%s, %s core", load_word(row->kind), cores_word(row->cores));
            series = ifm_document_series(document, block, name, NULL);
        }
        point.x = row->achieved;
        point.y = row->slow_down;
        ifm_document_point(document, series, &point);
    }
}

/* Over the diagonal, where a prediction is right. */
static void add_scatter(IfmDocument *document, const GArray *verdicts)
{
    IfmBlock *block = ifm_document_predicted(document, "predicted_models", "Held-out models");
    block->no_screen = TRUE; /* which shows the table */
    for (guint i = 0; i < verdicts->len; i++)
    {
        const IfmModelVerdict *verdict = &g_array_index(verdicts, IfmModelVerdict, i);
        g_autofree char *name = verdict->kind == IFM_LOAD_NONE
                                    ? g_strdup("no load")
                                    : g_strdup_printf("%s, %s core", load_word(verdict->kind), cores_word(verdict->cores));
        IfmPoint point = IFM_POINT_INIT;
        point.x = verdict->measured_ns;
        point.y = verdict->predicted_ns;
        point.lower = verdict->low_ns;
        point.upper = verdict->high_ns;
        point.label = verdict->name;
        ifm_document_predicted_point(document, block, name, &point);
    }
    ifm_document_diagonal(document, block, "predicted = measured");
}

static void add_verdicts(IfmDocument *document, const IfmKernelsOutcome *outcome)
{
    if (outcome->model == NULL)
    {
        ifm_document_note(document, "note", IFM_TONE_DIM, "nothing is learnt yet: %s", outcome->why);
        return;
    }
    if (outcome->verdicts->len == 0)
        return;
    ifm_document_heading(document, "Models that were held out, predicted from the kernels of the others");
    ifm_document_rows(document, "models", verdict_fields, g_array_ref(outcome->verdicts));
    add_scatter(document, outcome->verdicts);
    add_alike(document, outcome->verdicts);
    if (!isnan(outcome->mape))
        ifm_document_text(document, "Mean error without load: %.1f %%.", 100 * outcome->mape);
    if (!isnan(outcome->mape_loaded))
        ifm_document_text(document, "Mean error under load: %.1f %%.", 100 * outcome->mape_loaded);
}

void ifm_kernels_add(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page)
{
    g_autoptr(GError) trouble = NULL;
    if (page == IFM_STUDY_STATUS)
        return;
    IfmKernelsOutcome *outcome = ifm_study_kernels_outcome(points, &trouble);
    if (outcome == NULL)
    {
        ifm_document_note(document, "error", IFM_TONE_BAD, "%s", trouble->message);
        return;
    }
    ifm_document_keep(document, outcome, (GDestroyNotify)ifm_kernels_outcome_free);
    g_autoptr(GArray) loads = ifm_kernel_load_rows(outcome->samples);
    ifm_document_heading(document, "Kernels without load");
    ifm_document_rows(document, "operators", operator_fields, ifm_kernel_operator_rows(outcome->samples));
    if (loads->len > 0)
    {
        ifm_document_heading(document, "Under load, against the same kernels without it in the same visit");
        add_missed_loads(document, loads);
        add_slow_downs(document, loads);
        ifm_document_rows(document, "loads", load_fields, g_steal_pointer(&loads));
    }
    add_verdicts(document, outcome);
}
