#include <base/fields.h>
#include <base/statistics.h>
#include <measure/rounds.h>

#include <math.h>

#include "compare-accuracy.h"

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
    g_autofree char *multiple = g_strdup_printf("%.4g times A's time [%.4g, %.4g]", comparison->ratio,
                                                comparison->interval.lower, comparison->interval.upper);
    g_autofree char *level = comparison->interval.level < comparison->level /* of too few pairs for what was asked for */
                                 ? g_strdup_printf(", a %.3g %% interval", 100 * comparison->interval.level)
                                 : g_strdup("");
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
            return g_strdup("uncertain whether A or B is faster");
        return g_strdup_printf("uncertain whether A or B is faster: B takes %s%s",
                               far     ? multiple
                               : exact ? "A's time"
                                       : time,
                               level);
    }
}

/* --- both sides ----------------------------------------------------------------------------------------------------- */

/* SideRow: one side of the table; marks: of its rounds' medians. */
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
        g_string_append_printf(text, ", %" G_GINT64_FORMAT " thread%s", threads, threads > 1 ? "s" : "");
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
    { "rounds", "rounds: min, quartiles, median, max", IFM_FIELD_INTERVAL, get_strip },
    { NULL },
};

static void fill_row(const IfmComparison *comparison, gsize side, SideRow *row)
{
    static const double quantiles[] = { 0, 0.25, 0.5, 0.75, 1 };
    gsize n = comparison->rounds->len;
    g_autofree double *sorted = g_new(double, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        const IfmCompareRound *round = &g_array_index(comparison->rounds, IfmCompareRound, i);
        sorted[i] = side == 0 ? round->a_ns : round->b_ns;
    }
    ifm_sort_doubles(sorted, n);
    *row = (SideRow){ .side = side == 0 ? "A" : "B",
                      .subject_case = comparison->cases[side],
                      .measurement = comparison->measurements[side],
                      .median_ns = side == 0 ? comparison->a_ns : comparison->b_ns };
    for (gsize i = 0; i < G_N_ELEMENTS(quantiles); i++)
        row->marks[i] = n > 0 ? ifm_quantile(sorted, n, quantiles[i]) : (double)NAN;
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
    ifm_document_part(document);
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

#define ROUND(member) IFM_MEMBER(IfmCompareRound, member)

static const IfmField round_fields[] = {
    { "pair", "pair", IFM_FIELD_INTEGER, ROUND(pair) },      { "first", "first", IFM_FIELD_TEXT, get_first },
    { "a_median_ns", "A", IFM_FIELD_DURATION, ROUND(a_ns) }, { "b_median_ns", "B", IFM_FIELD_DURATION, ROUND(b_ns) },
    { "ratio", "B / A", IFM_FIELD_REAL, get_ratio },         { NULL },
};

static void add_rounds(IfmDocument *document, const IfmComparison *comparison)
{
    static const char *const times[] = { "a_median_ns", "b_median_ns", NULL };
    g_autoptr(GPtrArray) rounds = ifm_pointers_to(comparison->rounds);
    ifm_document_plot(document, "rounds", IFM_FIGURE_SCATTER, "Rounds' medians",
                      "What each round of A and of B took, pair by pair of processes.",
                      &(IfmTable){ round_fields, (const void *const *)rounds->pdata, rounds->len },
                      &(IfmPlotColumns){ .x = "pair", .y = times });
}

/* Each round's ratio, and what each look came to. */
static void add_narrowing(IfmDocument *document, const IfmComparison *comparison)
{
    IfmBlock *block = ifm_document_page_figure(document, "ratios", IFM_FIGURE_SCATTER, "Ratio of the two, pair by pair",
                                               "Time of B over time of A in each round, and the interval of each look, of "
                                               "all pairs so far: the last one is the verdict's.");
    IfmSeries *ratios = ifm_document_series(document, block, "rounds", NULL),
              *known = ifm_document_series(document, block, "all pairs so far", NULL);
    block->figure.x.title = "pair";
    block->figure.x.kind = IFM_FIELD_INTEGER;
    block->figure.y.title = "B / A";
    block->figure.y.kind = IFM_FIELD_REAL;
    known->joined = TRUE;
    for (guint i = 0; i < comparison->rounds->len; i++)
    {
        const IfmCompareRound *round = &g_array_index(comparison->rounds, IfmCompareRound, i);
        IfmPoint point = IFM_POINT_INIT;
        point.x = (double)round->pair + 1;
        point.y = round->b_ns / round->a_ns;
        ifm_document_point(document, ratios, &point);
    }
    for (guint i = 0; comparison->history != NULL && i < comparison->history->len; i++)
    {
        const IfmCompareStep *step = &g_array_index(comparison->history, IfmCompareStep, i);
        IfmPoint point = IFM_POINT_INIT;
        point.x = (double)step->n_pairs;
        point.y = step->ratio;
        point.lower = step->lower;
        point.upper = step->upper;
        if (!isnan(step->lower))
            ifm_document_point(document, known, &point);
    }
}

/* --- the page ------------------------------------------------------------------------------------------------------- */

/* What the verdict stands on. */
static void add_basis(IfmDocument *document, const IfmComparison *comparison)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *time = ifm_format_duration((double)comparison->elapsed_ns);
    g_string_append_printf(text, "%" G_GSIZE_FORMAT " pair%s of processes, %u round%s, %s", comparison->n_pairs,
                           comparison->n_pairs == 1 ? "" : "s", comparison->rounds->len,
                           comparison->rounds->len == 1 ? "" : "s", time);
    if (isfinite(comparison->between) && comparison->between > 0)
        g_string_append_printf(text, "; the log ratio scatters by %.2g %% from pair to pair", 100 * comparison->between);
    if (isfinite(comparison->within) && comparison->within > 0)
        g_string_append_printf(text, ", by %.2g %% from round to round of one pair", 100 * comparison->within);
    if (comparison->interval.level < comparison->level)
        g_string_append_printf(text, ". Interval: %.3g %%, the least and the greatest pair",
                               100 * comparison->interval.level);
    else
        g_string_append_printf(text, ". Interval: %.3g %%, all looks taken together", 100 * comparison->interval.level);
    if (comparison->n_looks > 1)
        g_string_append_printf(text, " (this is look %" G_GSIZE_FORMAT ")", comparison->n_looks);
    if (comparison->n_effective > 0 && comparison->n_effective < (double)comparison->n_pairs - 0.05)
        g_string_append_printf(text, "; pairs resemble their neighbours and count as %.1f", comparison->n_effective);
    ifm_document_part(document);
    ifm_document_text(document, "%s.", text->str);
}

IfmDocument *ifm_comparison_document(const IfmComparison *comparison)
{
    g_autofree char *sentence = ifm_comparison_sentence(comparison);
    IfmDocument *document = ifm_document_new("comparison", sentence);
    ifm_document_title(document, sentence, NULL);
    if (comparison->why != NULL)
        ifm_document_note(document, "why", IFM_TONE_WARN, "%s", comparison->why);
    for (guint i = 0; i < comparison->notes->len; i++) /* beside the verdict that they concern */
        ifm_document_warning(document, "%s", (const char *)comparison->notes->pdata[i]);
    add_sides(document, comparison);
    add_rounds(document, comparison);
    add_narrowing(document, comparison);
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
