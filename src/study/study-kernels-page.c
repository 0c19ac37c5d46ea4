/* Studies of kernels under load: the file to learn from, and their page. */
#include <math.h>
#include <string.h>

#include <document/summary.h>
#include <document/words.h>
#include <learn/learn.h>
#include <learn/predict-page.h>

#include "study-answers.h"
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
    { "error_ratio", "error", IFM_FIELD_RATIO, get_error },
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
    { "visits", "repetitions", IFM_FIELD_INTEGER, OPERATOR(n_visits) },
    { "min_ns", "fastest", IFM_FIELD_DURATION, OPERATOR(min_ns) },
    { "median_ns", "median", IFM_FIELD_DURATION, OPERATOR(median_ns) },
    { "max_ns", "slowest", IFM_FIELD_DURATION, OPERATOR(max_ns) },
    { "spread_ratio", "between repetitions", IFM_FIELD_RATIO, OPERATOR(spread) },
    { NULL },
};

#define LOAD(member) IFM_MEMBER(IfmLoadRow, member)
#define LOAD_AT(member) IFM_FIELD_AT(IfmLoadRow, member)

static const IfmField load_fields[] = {
    { "load", "load", IFM_FIELD_TEXT, get_load, LOAD_AT(kind), IFM_FIELD_KEY },
    { "cores", "on core", IFM_FIELD_TEXT, get_cores, LOAD_AT(cores), IFM_FIELD_KEY },
    { "level", "asked", IFM_FIELD_RATIO, LOAD(level) },
    { "achieved", "achieved", IFM_FIELD_RATIO, LOAD(achieved) },
    { "kernels", "kernels", IFM_FIELD_INTEGER, LOAD(n) },
    { "slow_down", "slow-down", IFM_FIELD_REAL, LOAD(slow_down) },
    { "slow_down_90", "of one in ten above", IFM_FIELD_REAL, LOAD(slow_down_90) },
    { NULL },
};

#define ROUND(member) IFM_MEMBER(IfmRoundRow, member)

static const IfmField round_fields[] = {
    { "round", "round", IFM_FIELD_INTEGER, ROUND(round), .flags = IFM_FIELD_KEY },
    { "kernels", "kernels", IFM_FIELD_INTEGER, ROUND(n_kernels) },
    { "most", "most are", IFM_FIELD_TEXT, ROUND(most) },
    { "mape", "MAPE", IFM_FIELD_RATIO, ROUND(mape) },
    { "weighted", "time-weighted", IFM_FIELD_RATIO, ROUND(weighted) },
    { "change", "change since the first", IFM_FIELD_RATIO, ROUND(change) },
    { "change_lower", "95 % from", IFM_FIELD_RATIO, ROUND(change_interval.lower) },
    { "change_upper", "95 % to", IFM_FIELD_RATIO, ROUND(change_interval.upper) },
    { NULL },
};

char *ifm_rounds_text(const IfmRoundRow *last)
{
    const IfmInterval *interval = &last->change_interval;
    if (isnan(interval->lower) || isnan(interval->upper))
        return NULL;
    if (interval->lower <= 0 && interval->upper >= 0)
        return g_strdup("Whether kernels chosen after the first round helped is not shown: the interval holds 0.");
    g_autofree char *change = ifm_say_per_cent(fabs(last->change));
    return g_strdup_printf("Kernels chosen after the first round %s the error by %s of the measured time.",
                           last->change < 0 ? "lowered" : "raised", change);
}

static void add_rounds(IfmDocument *document, const IfmStudyTables *points, const IfmKernelSamples *samples)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) rounds = ifm_kernel_round_rows(points, samples, &error);
    if (rounds == NULL)
        ifm_document_note(document, "error", IFM_TONE_BAD, "whether more kernels helped is not known: %s", error->message);
    if (rounds == NULL || rounds->len == 0)
        return;
    const IfmRoundRow last = g_array_index(rounds, IfmRoundRow, rounds->len - 1);
    ifm_document_question(document, "Did more kernels help?", NULL);
    ifm_document_heading(document, "The models' own kernels, predicted from other configurations of the rounds until then");
    ifm_document_rows(document, "rounds", round_fields, g_steal_pointer(&rounds));
    g_autofree char *text = ifm_rounds_text(&last);
    if (text != NULL)
        ifm_document_text(document, "%s", text);
}

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
            "%u of %u loads achieved more than %g %% less than was asked: something else kept the core busy, or "
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

char *ifm_load_title(const char *load, double achieved, double slow_down)
{
    g_autofree char *times = ifm_say_number(slow_down), *share = ifm_say_per_cent(achieved);
    if (!(slow_down > 1))
        return g_strdup("Under no load does the median kernel take longer than unloaded");
    return g_strdup_printf("The median kernel takes at most %s times as long: beside %s at %s of the core", times, load,
                           share);
}

/* A line for each kind of load and core. */
static void add_slow_downs(IfmDocument *document, const GArray *loads)
{
    IfmBlock *block = ifm_document_page_figure(document, "slow_downs", IFM_FIGURE_LINES, "",
                                               "Median time of the kernels under a load over their time without it.");
    IfmSeries *series = NULL;
    const IfmLoadRow *worst = NULL;
    block->figure.x = ifm_axis("achieved load", IFM_FIELD_RATIO);
    block->figure.y = ifm_axis("times as long", IFM_FIELD_REAL);
    for (guint i = 0; i < loads->len; i++)
    {
        const IfmLoadRow *row = &g_array_index(loads, IfmLoadRow, i);
        if (i == 0 || row[-1].kind != row->kind || row[-1].cores != row->cores)
        {
            g_autofree char *name = g_strdup_printf("%s, %s core", load_word(row->kind), cores_word(row->cores));
            series = ifm_document_series(document, block, name, NULL);
        }
        ifm_document_point_at(document, series, NULL, row->achieved, row->slow_down);
        worst = worst == NULL || row->slow_down > worst->slow_down ? row : worst;
    }
    block->figure.title = ifm_document_take_text(
        document, worst != NULL ? ifm_load_title(load_word(worst->kind), worst->achieved, worst->slow_down) : g_strdup(""));
}

/* Over the diagonal, where a prediction is right. */
static void add_scatter(IfmDocument *document, const GArray *verdicts)
{
    gsize n_inside = 0;
    for (guint i = 0; i < verdicts->len; i++)
    {
        const IfmModelVerdict *verdict = &g_array_index(verdicts, IfmModelVerdict, i);
        n_inside += verdict->low_ns <= verdict->measured_ns && verdict->measured_ns <= verdict->high_ns;
    }
    if (verdicts->len < 2)
        return; /* one point says no more than its row */
    g_autofree char *title = ifm_predictions_title(verdicts->len, n_inside);
    IfmBlock *block = ifm_document_predicted(document, "predicted_models", title);
    block->no_screen = TRUE; /* which shows the table */
    for (guint i = 0; i < verdicts->len; i++)
    {
        const IfmModelVerdict *verdict = &g_array_index(verdicts, IfmModelVerdict, i);
        g_autofree char *name = verdict->kind == IFM_LOAD_NONE
                                    ? g_strdup("no load")
                                    : g_strdup_printf("%s, %s core", load_word(verdict->kind), cores_word(verdict->cores));
        ifm_document_predicted_point(document, block, name, verdict->name, verdict->measured_ns, verdict->predicted_ns,
                                     verdict->low_ns, verdict->high_ns);
    }
    ifm_document_diagonal(document, block, "predicted = measured");
}

char *ifm_operators_title(const GArray *operators)
{
    const IfmOperatorRow *longest = NULL;
    for (guint i = 0; i < operators->len; i++)
    {
        const IfmOperatorRow *row = &g_array_index(operators, IfmOperatorRow, i);
        longest = longest == NULL || row->median_ns > longest->median_ns ? row : longest;
    }
    g_autofree char *time = ifm_say_duration(longest != NULL ? longest->median_ns : (double)NAN);
    if (longest == NULL)
        return g_strdup("No kernel was measured");
    if (operators->len == 1)
        return g_strdup_printf("The median kernel of %s takes %s", longest->op_type, time);
    return g_strdup_printf("Of %u kinds of kernels %s has the largest median: %s", operators->len, longest->op_type, time);
}

void ifm_kernels_say(IfmDocument *document, const IfmKernelsOutcome *outcome, const GArray *loads, gsize n)
{
    double worst = 0;
    for (guint i = 0; i < loads->len; i++)
        worst = fmax(worst, g_array_index(loads, IfmLoadRow, i).slow_down);
    g_autofree char *error = ifm_say_per_cent(outcome->mape), *loaded = ifm_say_per_cent(outcome->mape_loaded),
                    *slower = ifm_say_number(worst);
    if (outcome->model != NULL && !isnan(outcome->mape))
        ifm_document_verdict(document, "Models that were held out are predicted with a MAPE of %s", error);
    else if (worst > 1)
        ifm_document_verdict(document, "Under load the median kernel takes at most %s times as long", slower);
    else if (loads->len > 0)
        ifm_document_verdict(document, "Under no load does the median kernel take longer than unloaded");
    else if (n > 0)
        ifm_document_verdict(document, "%zu kernel%s measured; nothing is learnt of them", n, n == 1 ? " was" : "s were");
    if (outcome->model != NULL && !isnan(outcome->mape_loaded))
        ifm_document_verdict_more(document, "%s under load", loaded);
    if (outcome->warning != NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", outcome->warning);
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
    ifm_document_question(document, "Was the prediction right?", NULL);
    ifm_document_heading(document, "Models that were held out, predicted from the kernels of the others");
    ifm_document_rows(document, "models", verdict_fields, g_array_ref(outcome->verdicts));
    add_scatter(document, outcome->verdicts);
    add_alike(document, outcome->verdicts);
    if (!isnan(outcome->mape))
        ifm_document_text(document, "MAPE unloaded: %.1f %%.", 100 * outcome->mape);
    if (!isnan(outcome->mape_loaded))
        ifm_document_text(document, "MAPE under load: %.1f %%.", 100 * outcome->mape_loaded);
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
    GArray *operators = ifm_kernel_operator_rows(outcome->samples);
    g_autofree char *title = ifm_operators_title(operators);
    ifm_kernels_say(document, outcome, loads, ifm_kernel_samples_n(outcome->samples));
    ifm_document_question(document, "Where does the time go?", NULL);
    ifm_document_heading(document, "Unloaded kernels");
    static const char *const names[] = { "op_type", NULL }, *const median[] = { "median_ns", NULL };
    const IfmTable *table = &ifm_document_rows(document, "operators", operator_fields, operators)->table;
    IfmBlock *figure =
        ifm_document_plot(document, "operator_times", IFM_FIGURE_BARS, title,
                          "Median time of the kernels of each kind, unloaded; how many shapes each has is in the table.",
                          table, &(IfmPlotColumns){ .label = names, .y = median });
    figure->figure.y.title = "median time";
    if (loads->len > 0)
    {
        ifm_document_question(document, "What does a load cost?", NULL);
        ifm_document_heading(document, "Under load, against the same kernels unloaded in the same repetition");
        add_missed_loads(document, loads);
        add_slow_downs(document, loads);
        ifm_document_rows(document, "loads", load_fields, g_steal_pointer(&loads));
    }
    add_rounds(document, points, outcome->samples);
    add_verdicts(document, outcome);
}
