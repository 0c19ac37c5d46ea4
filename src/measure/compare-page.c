#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/results.h>
#include <store/trust.h>

#include "compare-accuracy.h"
#include "compare-page.h"
#include "rounds.h"

/* --- the sentence --------------------------------------------------------------------------------------------------- */

/* What prints as 0 has no sign. */
static double rounded(double value, int decimals)
{
    double unit = pow(10, -decimals);
    return nearbyint(value / unit) * unit + 0.0;
}

/* "3.1 % slower than A [2.7, 3.6]": the ends in the order of size, whatever the direction. */
static char *as_share(const IfmComparison *comparison, const char *faster, const char *slower)
{
    double sign = comparison->ratio < 1 ? -1 : 1;
    double share = 100 * fabs(comparison->ratio - 1);
    double first = sign * 100 * (comparison->interval.lower - 1), second = sign * 100 * (comparison->interval.upper - 1);
    const double half = fabs(second - first) / 2; /* which makes so many decimals worth reading: */
    const int decimals = half >= 0.3 || !isfinite(half) ? 1 : half >= 0.03 ? 2 : 3;
    return g_strdup_printf("%.*f %% %s A [%.*f, %.*f]", decimals, share, sign < 0 ? faster : slower, decimals,
                           rounded(MIN(first, second), decimals), decimals, rounded(MAX(first, second), decimals));
}

char *ifm_comparison_sentence(const IfmComparison *comparison)
{
    /* as a share it would be hard to read, or below -100 %, which a multiple never is */
    gboolean far = comparison->ratio >= 2 || comparison->ratio <= 0.5 || comparison->interval.upper > 2;
    gboolean exact = comparison->ratio == 1;
    g_autofree char *multiple = g_strdup_printf("%.3g times A's time [%.3g, %.3g]", comparison->ratio,
                                                comparison->interval.lower, comparison->interval.upper);
    g_autofree char *share = as_share(comparison, "faster than", "slower than");
    g_autofree char *time = as_share(comparison, "less time than", "more time than");
    switch (comparison->verdict)
    {
    case IFM_VERDICT_FASTER:
    case IFM_VERDICT_SLOWER:
        return far ? g_strdup_printf("B is %s: %s", ifm_verdict_name(comparison->verdict), multiple)
                   : g_strdup_printf("B is %s", share);
    case IFM_VERDICT_SAME:
        return g_strdup_printf("A and B are the same within %.3g %%: B takes %s", 100 * comparison->margin,
                               exact ? "A's time" : time);
    default:
        if (comparison->n_pairs < 2)
            return g_strdup("Uncertain whether A or B is faster");
        if (comparison->interval.level < comparison->level)
            return g_strdup_printf("Uncertain whether A or B is faster: B takes %.3g times A's time in %zu pairs, too few "
                                   "for %.3g %% confidence",
                                   comparison->ratio, comparison->n_pairs, 100 * comparison->level);
        return g_strdup_printf("Uncertain whether A or B is faster: B takes %s", far     ? multiple
                                                                                 : exact ? "A's time"
                                                                                         : time);
    }
}

char *ifm_comparison_failure(const IfmComparison *comparison, double ratio, IfmTrust trust)
{
    if (trust == IFM_TRUST_BAD)
        return g_strdup("the result is not to be trusted, and shows nothing: measure again");
    if (comparison->interval.level < comparison->level || !(comparison->interval.lower > ratio))
        return NULL;
    return g_strdup_printf("B is slower: at least %.3g times A's time", comparison->interval.lower);
}

#define SIDE_LEVEL 0.95

/* --- both sides ----------------------------------------------------------------------------------------------------- */

/* SideRow: one side of the table; marks: the range of its rounds' medians, and the interval of their median. */
typedef struct
{
    const char *side;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    double median_ns;
    double marks[5];
} SideRow;

static void get_runtime(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_member_text(((const SideRow *)record)->subject_case->environment, "engine_version"));
}

/* What is not as usual: precision, threads, the runtime's own words. */
static void get_settings(const void *record, const void *user, IfmValue *value)
{
    const json_t *options = ((const SideRow *)record)->subject_case->options;
    GString *text = g_string_new(ifm_member_text(options, "dtype"));
    gint64 threads = json_integer_value(json_object_get(options, "threads"));
    gsize i;
    json_t *word;
    if (threads > 0)
        g_string_append_printf(text, ", %" G_GINT64_FORMAT " thread%s", threads, ifm_plural(threads));
    json_array_foreach(json_object_get(options, "vendor"), i, word)
        g_string_append_printf(text, ", %s", json_string_value(word));
    ifm_value_take_text(value, g_string_free(text, FALSE));
}

static void get_runs(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const SideRow *)record)->measurement->samples_ns->len);
}

static void get_strip(const void *record, const void *user, IfmValue *value)
{
    const double *marks = ((const SideRow *)record)->marks;
    ifm_value_set_interval(value, marks[0], marks[1], marks[2], marks[3], marks[4]);
}

static const IfmField side_fields[] = {
    { "side", "", IFM_FIELD_TEXT, IFM_MEMBER(SideRow, side), IFM_FIELD_KEY },
    { "model", "model", IFM_FIELD_TEXT, IFM_MEMBER_VIA(SideRow, subject_case, subject_name), IFM_FIELD_FOLD },
    { "device", "device", IFM_FIELD_TEXT, IFM_MEMBER_VIA(SideRow, subject_case, device), IFM_FIELD_WHOLE | IFM_FIELD_FOLD },
    { "runtime", "runtime", IFM_FIELD_TEXT, get_runtime, NULL, IFM_FIELD_FOLD },
    { "settings", "settings", IFM_FIELD_TEXT, get_settings, NULL, IFM_FIELD_FOLD },
    { "runs", "runs", IFM_FIELD_INTEGER, get_runs },
    { "median_ns", "median", IFM_FIELD_DURATION, IFM_MEMBER(SideRow, median_ns) },
    { "rounds", "95 % interval, range of rounds", IFM_FIELD_INTERVAL, get_strip },
    { NULL },
};

/* (transfer full) double: a side's time in each round. @pair: of that pair of processes alone; -1: of all */
static GArray *times_of(const IfmComparison *comparison, gsize side, gssize pair)
{
    GArray *times = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < comparison->rounds->len; i++)
    {
        const IfmCompareRound *round = &g_array_index(comparison->rounds, IfmCompareRound, i);
        const double ns = side == 0 ? round->a_ns : round->b_ns;
        if (pair < 0 || round->pair == (gsize)pair)
            g_array_append_val(times, ns);
    }
    return times;
}

IfmInterval ifm_comparison_side_interval(const IfmComparison *comparison, gsize side)
{
    IfmPairedEstimate of;
    g_autofree double *logs = g_new(double, comparison->n_pairs + 1);
    gsize n = 0;
    for (gsize pair = 0; pair < comparison->n_pairs; pair++)
    {
        g_autoptr(GArray) times = times_of(comparison, side, (gssize)pair);
        if (times->len > 0)
            logs[n++] = log(ifm_quantile_of_array(times, 0.5));
    }
    ifm_paired_estimate(logs, n, 1 - SIDE_LEVEL, &of);
    const double median = side == 0 ? comparison->a_ns : comparison->b_ns; /* of all rounds: it may be a little beyond */
    if (isnan(of.lower))
        return (IfmInterval){ NAN, NAN, SIDE_LEVEL };
    return (IfmInterval){ fmin(exp(of.lower), median), fmax(exp(of.upper), median), SIDE_LEVEL };
}

static void fill_row(const IfmComparison *comparison, gsize side, SideRow *row)
{
    g_autoptr(GArray) times = times_of(comparison, side, -1);
    const IfmInterval interval = ifm_comparison_side_interval(comparison, side);
    *row = (SideRow){ .side = side == 0 ? "A" : "B",
                      .subject_case = comparison->cases[side],
                      .measurement = comparison->measurements[side],
                      .median_ns = side == 0 ? comparison->a_ns : comparison->b_ns };
    const double marks[] = { ifm_quantile_of_array(times, 0), interval.lower, row->median_ns, interval.upper,
                             ifm_quantile_of_array(times, 1) };
    memcpy(row->marks, marks, sizeof marks);
}

static void add_sides(IfmDocument *document, const IfmComparison *comparison)
{
    SideRow row;
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(SideRow));
    for (gsize side = 0; side < 2; side++)
    {
        fill_row(comparison, side, &row);
        g_array_append_val(rows, row);
    }
    ifm_document_rows(document, "sides", side_fields, rows);
}

/* --- rounds --------------------------------------------------------------------------------------------------------- */

static void get_first(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmCompareRound *)record)->b_first ? "B" : "A");
}

static void get_ratio(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const IfmCompareRound *)record)->b_ns / ((const IfmCompareRound *)record)->a_ns);
}

static void get_number(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const IfmCompareRound *)record)->pair + 1);
}

#define ROUND(member) IFM_MEMBER(IfmCompareRound, member)

static const IfmField round_fields[] = {
    { "pair", "", IFM_FIELD_INTEGER, ROUND(pair), IFM_FIELD_NO_SCREEN },
    { "number", "pair", IFM_FIELD_INTEGER, get_number, NULL, IFM_FIELD_NO_EXPORT },
    { "first", "first", IFM_FIELD_TEXT, get_first },
    { "a_median_ns", "A", IFM_FIELD_DURATION, ROUND(a_ns) },
    { "b_median_ns", "B", IFM_FIELD_DURATION, ROUND(b_ns) },
    { "ratio", "B / A", IFM_FIELD_REAL, get_ratio },
    { NULL },
};

char *ifm_comparison_rounds_finding(const IfmComparison *comparison)
{
    gsize n_less = 0, n_more = 0;
    for (guint i = 0; i < comparison->rounds->len; i++)
    {
        const IfmCompareRound *round = &g_array_index(comparison->rounds, IfmCompareRound, i);
        n_less += round->b_ns < round->a_ns;
        n_more += round->b_ns > round->a_ns;
    }
    return g_strdup_printf("B took less than A in %zu of %u round%s, more in %zu", n_less, comparison->rounds->len,
                           ifm_plural(comparison->rounds->len), n_more);
}

char *ifm_comparison_looks_finding(const IfmComparison *comparison)
{
    g_autofree char *range = ifm_say_numbers(comparison->interval.lower, comparison->interval.upper);
    if (!isfinite(comparison->interval.lower) || !isfinite(comparison->interval.upper))
        return g_strdup("Too few pairs of processes for an interval of the ratio");
    if (comparison->interval.level < comparison->level)
        return g_strdup_printf("Too few pairs for %.3g" IFM_NO_BREAK "%%: an interval of %.3g" IFM_NO_BREAK "%% is %s",
                               100 * comparison->level, 100 * comparison->interval.level, range);
    return g_strdup_printf("The ratio's interval, %s, %s 1", range,
                           comparison->interval.lower > 1 || comparison->interval.upper < 1 ? "excludes" : "holds");
}

static void add_rounds(IfmDocument *document, const IfmComparison *comparison)
{
    static const char *const times[] = { "a_median_ns", "b_median_ns", NULL };
    g_autoptr(GPtrArray) rounds = ifm_pointers_to(comparison->rounds);
    g_autofree char *a = ifm_say_duration(comparison->a_ns), *b = ifm_say_duration(comparison->b_ns),
                    *title = g_strdup_printf("A takes %s, B %s", a, b);
    IfmBlock *figure = ifm_document_plot(document, "rounds", IFM_FIGURE_SCATTER, title,
                                         "The median of each round of A and of B, pair by pair of processes.",
                                         &(IfmTable){ round_fields, (const void *const *)rounds->pdata, rounds->len },
                                         &(IfmPlotColumns){ .x = "number", .y = times });
    figure->figure.y.title = "median of a round";
    figure->figure.half = TRUE;
}

/* Each round's ratio, and what each look came to. */
static void add_narrowing(IfmDocument *document, const IfmComparison *comparison)
{
    g_autofree char *title = ifm_comparison_looks_finding(comparison);
    IfmBlock *block = ifm_document_page_figure(document, "ratios", IFM_FIGURE_SCATTER, title,
                                               "Time of B over time of A in each round, and the interval of each look, of "
                                               "all pairs so far: the last one is the verdict's.");
    IfmSeries *ratios = ifm_document_series(document, block, "rounds", NULL),
              *known = ifm_document_series(document, block, "all pairs so far", NULL);
    block->figure.x = ifm_axis("pair", IFM_FIELD_INTEGER);
    block->figure.y = ifm_axis_of_ratio("B / A", FALSE, "same time");
    block->figure.half = known->joined = TRUE;
    for (guint i = 0; i < comparison->rounds->len; i++)
    {
        const IfmCompareRound *round = &g_array_index(comparison->rounds, IfmCompareRound, i);
        ifm_document_point_at(document, ratios, NULL, (double)round->pair + 1, round->b_ns / round->a_ns);
    }
    for (guint i = 0; comparison->history != NULL && i < comparison->history->len; i++)
    {
        const IfmCompareStep *step = &g_array_index(comparison->history, IfmCompareStep, i);
        if (!isnan(step->lower))
            ifm_document_point_within(document, known, NULL, (double)step->n_pairs, step->ratio, step->lower, step->upper);
    }
}

/* --- the page ------------------------------------------------------------------------------------------------------- */

/* What the verdict stands on. */
static void add_basis(IfmDocument *document, const IfmComparison *comparison)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *time = ifm_format_duration((double)comparison->elapsed_ns);
    g_string_append_printf(text, "%zu pair%s of processes, %u round%s, %s", comparison->n_pairs,
                           ifm_plural(comparison->n_pairs), comparison->rounds->len, ifm_plural(comparison->rounds->len),
                           time);
    if (isfinite(comparison->between) && comparison->between > 0)
    {
        g_autofree char *scatter = ifm_say_per_cent(comparison->between);
        g_string_append_printf(text, "; the log ratio scatters by %s from pair to pair", scatter);
    }
    if (isfinite(comparison->within) && comparison->within > 0)
    {
        g_autofree char *scatter = ifm_say_per_cent(comparison->within);
        g_string_append_printf(text, ", by %s from round to round of one pair", scatter);
    }
    if (comparison->interval.level < comparison->level)
        g_string_append_printf(text, ". Interval: %.3g %%, the least and the greatest pair",
                               100 * comparison->interval.level);
    else
        g_string_append_printf(text, ". Interval: %.3g %%, all looks taken together", 100 * comparison->interval.level);
    if (comparison->n_looks > 1)
        g_string_append_printf(text, " (this is look %zu)", comparison->n_looks);
    if (comparison->n_effective > 0 && comparison->n_effective < (double)comparison->n_pairs - 0.05)
        g_string_append_printf(text, "; pairs resemble their neighbours and count as %.1f", comparison->n_effective);
    ifm_document_part(document);
    ifm_document_text(document, "%s.", text->str);
}

/* "resnet18.onnx on openvino:CPU" */
static char *side_name(const IfmComparison *comparison, gsize side)
{
    const IfmCase *one = comparison->cases[side], *other = comparison->cases[1 - side];
    const gboolean same_model = g_strcmp0(one->subject_name, other->subject_name) == 0,
                   same_device = g_strcmp0(one->device, other->device) == 0;
    return same_model && !same_device ? g_strdup(one->device)
           : same_device              ? g_strdup(one->subject_name)
                                      : g_strdup_printf("%s on %s", one->subject_name, one->device);
}

/* So many times what was not enough, and at least the usual. */
#define MORE 4
#define LEAST_MORE_S 60
#define LEAST_MORE_PAIRS 200

/* The next step where there is no verdict: what stood in the way. */
static void say_next(IfmDocument *document, const IfmComparison *comparison)
{
    if (comparison->verdict != IFM_VERDICT_UNCERTAIN)
        return;
    if (comparison->why != NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", comparison->why);
    const gint64 budget_s = MAX(MORE * comparison->elapsed_ns / 1000000000, LEAST_MORE_S);
    const gsize pairs = MIN(MAX(MORE * comparison->n_pairs, LEAST_MORE_PAIRS), IFM_COMPARE_MAX_PAIRS);
    g_autofree char *more = g_strdup_printf("--time-budget %" G_GINT64_FORMAT "s --max-pairs %zu", budget_s, pairs);
    ifm_document_next_again(document, more, NULL,
                            "Give it more time, or a wider margin within which both count as the same (--margin)");
}

void ifm_comparison_trust(IfmDocument *document, const IfmComparison *comparison, const char *const sides[2])
{
    for (gsize side = 0; side < 2; side++)
    {
        const IfmResult result = { .device = comparison->cases[side]->device,
                                   .alias = sides[side],
                                   .subject_case = comparison->cases[side],
                                   .measurement = comparison->measurements[side] };
        ifm_document_device(document, result.alias);
        ifm_document_trust(document, &result, result.alias);
    }
    for (guint i = 0; i < comparison->notes->len; i++)
        ifm_document_check(document, i == 0 && comparison->outputs_differ ? IFM_TRUST_BAD : IFM_TRUST_CARE, "%s",
                           (const char *)comparison->notes->pdata[i]);
}

static void add_summary(IfmDocument *document, const IfmComparison *comparison, const char *sentence)
{
    g_autofree char *a = side_name(comparison, 0), *b = side_name(comparison, 1),
                    *a_time = ifm_say_duration(comparison->a_ns), *b_time = ifm_say_duration(comparison->b_ns),
                    *ratio = ifm_say_number(comparison->ratio),
                    *range = ifm_say_numbers(comparison->interval.lower, comparison->interval.upper);
    ifm_document_subject(document, "A: %s · B: %s", a, b);
    ifm_document_verdict(document, "%s%s", sentence, comparison->outputs_differ ? "; their outputs differ" : "");
    g_autofree char *within =
        !isfinite(comparison->interval.upper) /* too few pairs */
            ? g_strdup("")
            : g_strdup_printf("%s%s with %.3g" IFM_NO_BREAK "%% confidence,", g_str_equal(range, ratio) ? "" : ", ",
                              g_str_equal(range, ratio) ? "" : range, 100 * comparison->interval.level);
    if (isfinite(comparison->interval.lower))
        ifm_document_verdict_more(document,
                                  "%s and %s an inference; B takes %s times A's time%s over %zu pair%s of processes",
                                  a_time, b_time, ratio, within, comparison->n_pairs, ifm_plural(comparison->n_pairs));
    ifm_document_estimate(document,
                          &(IfmVerdictRange){ comparison->ratio, comparison->interval.lower, comparison->interval.upper, 1,
                                              TRUE, IFM_FIELD_REAL, "same time", "B takes less", "A takes less" });
    ifm_comparison_trust(document, comparison, (const char *const[2]){ "A", "B" });
    say_next(document, comparison);
}

IfmDocument *ifm_comparison_document(const IfmComparison *comparison)
{
    g_autofree char *sentence = ifm_comparison_sentence(comparison);
    IfmDocument *document = ifm_document_new("comparison", sentence);
    add_summary(document, comparison, sentence);
    g_autofree char *finding = ifm_comparison_rounds_finding(comparison);
    ifm_document_question(document, "Which is faster?", "%s.", finding);
    add_sides(document, comparison);
    add_rounds(document, comparison);
    add_narrowing(document, comparison);
    ifm_document_question(document, "How sure?", NULL)->answer = ifm_document_checks_answer(document);
    add_basis(document, comparison);
    ifm_comparison_add_accuracy(document, comparison->accuracy);
    return document;
}

/* --- exports ------------------------------------------------------------------------------------------------------- */

char *ifm_comparison_to_csv(const IfmComparison *comparison)
{
    g_autoptr(GPtrArray) rounds = ifm_pointers_to(comparison->rounds);
    return ifm_rows_to_csv(round_fields, rounds);
}

json_t *ifm_comparison_records_json(const IfmComparison *comparison)
{
    json_t *sides = json_array();
    for (gsize side = 0; side < 2; side++)
    {
        json_t *one = json_object();
        json_object_set_new(one, "side", json_string(side == 0 ? "A" : "B"));
        ifm_json_add_record(one, comparison->cases[side], comparison->measurements[side]);
        json_array_append_new(sides, one);
    }
    json_t *json = ifm_json_begin("comparison", 2);
    json_object_set_new(json, "comparison", ifm_comparison_to_json(comparison));
    json_object_set_new(json, "sides", sides);
    return json;
}
