#include <math.h>
#include <string.h>

#include <document/document.h>
#include <measure/compare-page.h>
#include <measure/rounds.h>
#include <store/store.h>

#include "document/check-document.h"
#include "document/golden.h"
#include "document/summary-line.h"

/* A comparison with known figures: two pairs of two rounds, B 3 % slower but for one round. */
static void fill(IfmComparison *comparison)
{
    static const IfmCompareRound rounds[] = {
        { 0, FALSE, 1.0e6, 1.03e6 }, { 0, TRUE, 1.1e6, 1.133e6 }, { 1, TRUE, 0.9e6, 0.927e6 }, { 1, FALSE, 1.0e6, 1.05e6 }
    };
    *comparison = (IfmComparison){ .verdict = IFM_VERDICT_SLOWER,
                                   .ratio = 1.031,
                                   .a_ns = 1.0e6,
                                   .b_ns = 1.04e6,
                                   .interval = { 1.0271, 1.0354, 0.95 },
                                   .margin = 0.01,
                                   .between = 0.004,
                                   .within = 0.011,
                                   .n_pairs = 2,
                                   .n_looks = 1,
                                   .elapsed_ns = 1500000000 };
    comparison->level = 0.95;
    comparison->rounds = g_array_new(FALSE, FALSE, sizeof(IfmCompareRound));
    g_array_append_vals(comparison->rounds, rounds, G_N_ELEMENTS(rounds));
    comparison->notes = g_ptr_array_new_with_free_func(g_free);
    for (gsize side = 0; side < 2; side++)
    {
        comparison->cases[side] = ifm_case_new();
        ifm_record_set_text(&comparison->cases[side]->subject_name, "resnet");
        ifm_record_set_text(&comparison->cases[side]->device, side == 0 ? "onnxruntime:CPU@0" : "openvino:CPU@0");
        ifm_record_set_json(&comparison->cases[side]->options,
                            json_pack("{s:s,s:i,s:[s]}", "dtype", "f32", "threads", (int)side, "vendor", "KEY=1"));
        ifm_record_set_json(&comparison->cases[side]->environment, json_pack("{s:s}", "engine_version", "1.2.3"));
        comparison->measurements[side] = ifm_measurement_new();
        if (comparison->measurements[side]->samples_ns == NULL)
            comparison->measurements[side]->samples_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_array_set_size(comparison->measurements[side]->samples_ns, 40);
    }
}

/* @said: (transfer full) */
static void check_said(char *said, const char *expected)
{
    g_assert_cmpstr(said, ==, expected);
    g_free(said);
}

/* What the figures' titles say, whichever way it falls. */
static void test_findings(void)
{
    IfmComparison comparison;
    fill(&comparison);
    check_said(ifm_comparison_rounds_finding(&comparison), "B took less than A in 0 of 4 rounds, more in 4");
    check_said(ifm_comparison_looks_finding(&comparison), "The ratio's interval, 1.03 to 1.04, excludes 1");
    comparison.interval = (IfmInterval){ 0.96, 0.98, 0.95 };
    check_said(ifm_comparison_looks_finding(&comparison), "The ratio's interval, 0.960 to 0.980, excludes 1");
    comparison.interval.upper = 1.5;
    check_said(ifm_comparison_looks_finding(&comparison), "The ratio's interval, 0.960 to 1.50, holds 1");
    comparison.interval.level = 0.5;
    check_said(ifm_comparison_looks_finding(&comparison),
               "Too few pairs for 95\xc2\xa0%: an interval of 50\xc2\xa0% is 0.960 to "
               "1.50");
    comparison.interval.upper = NAN;
    check_said(ifm_comparison_looks_finding(&comparison), "Too few pairs of processes for an interval of the ratio");
    g_array_index(comparison.rounds, IfmCompareRound, 0).b_ns = 0.5e6;
    g_array_set_size(comparison.rounds, 1);
    check_said(ifm_comparison_rounds_finding(&comparison), "B took less than A in 1 of 1 round, more in 0");
    ifm_comparison_clear(&comparison);
}

static void test_sentence(void)
{
    static const struct
    {
        IfmVerdict verdict;
        double ratio, lower, upper;
        const char *sentence;
    } rows[] = {
        { IFM_VERDICT_SLOWER, 1.031, 1.0271, 1.0354, "B is 3.1 % slower than A [2.7, 3.5]" },
        { IFM_VERDICT_UNCERTAIN, 0.69, 0.083, 5.73,
          "Uncertain whether A or B is faster: B takes 0.69 times A's time [0.083, 5.73]" },
        { IFM_VERDICT_SLOWER, 1.031, 1.0306, 1.0314, "B is 3.10 % slower than A [3.06, 3.14]" },
        { IFM_VERDICT_FASTER, 0.97, 0.96, 0.98, "B is 3.0 % faster than A [2.0, 4.0]" },
        { IFM_VERDICT_FASTER, 0.25, 0.24, 0.26, "B is faster: 0.25 times A's time [0.24, 0.26]" },
        { IFM_VERDICT_SLOWER, 2.31, 2.29, 2.33, "B is slower: 2.31 times A's time [2.29, 2.33]" },
        { IFM_VERDICT_SAME, 1.0012, 0.998, 1.0044,
          "A and B are the same within 1 %: B takes 0.1 % more time than A [-0.2, 0.4]" },
        { IFM_VERDICT_SAME, 0.999, 0.998, 1,
          "A and B are the same within 1 %: B takes 0.10 % less time than A [0.00, 0.20]" },
        { IFM_VERDICT_SAME, 1, 1, 1, "A and B are the same within 1 %: B takes A's time" },
        { IFM_VERDICT_UNCERTAIN, 1.008, 0.988, 1.028,
          "Uncertain whether A or B is faster: B takes 0.8 % more time than A [-1.2, 2.8]" },
    };
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_auto(IfmComparison) comparison = { 0 };
        fill(&comparison);
        comparison.verdict = rows[row].verdict;
        comparison.ratio = rows[row].ratio;
        comparison.interval.lower = rows[row].lower;
        comparison.interval.upper = rows[row].upper;
        g_autofree char *sentence = ifm_comparison_sentence(&comparison);
        g_assert_cmpstr(sentence, ==, rows[row].sentence);
    }
    g_auto(IfmComparison) none = { 0 };
    fill(&none);
    none.verdict = IFM_VERDICT_UNCERTAIN;
    none.ratio = none.interval.lower = none.interval.upper = NAN;
    none.n_pairs = 0;
    g_autofree char *sentence = ifm_comparison_sentence(&none);
    g_assert_cmpstr(sentence, ==, "Uncertain whether A or B is faster");
}

static void test_page(void)
{
    IfmScreen screen = { .width = 100, .utf8 = TRUE }, narrow = { .width = 50 };
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    g_ptr_array_add(comparison.notes, g_strdup("other processes used 4 % of the processors"));
    g_autofree char *text = ifm_document_show(ifm_comparison_document(&comparison), &screen);
    check_golden("compare.txt", text);
    g_assert_cmpuint(check_document(ifm_comparison_document(&comparison)), ==,
                     3 * comparison.rounds->len); /* A, B, their ratio */
    comparison.verdict = IFM_VERDICT_UNCERTAIN;
    comparison.why = g_strdup("pairs of processes differ by 2.1 %");
    g_autofree char *ascii = ifm_document_show(ifm_comparison_document(&comparison), &narrow);
    check_golden("compare-narrow-ascii.txt", ascii);
}

/* The figure's last interval is the verdict's, however wide. */
static void test_figure(void)
{
    static const IfmCompareStep looks[] = { { 8, 1.1, 0.5, 9.0 }, { 9, 1.031, 0.2, 7.5 } };
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    comparison.history = g_array_new(FALSE, FALSE, sizeof(IfmCompareStep));
    g_array_append_vals(comparison.history, looks, G_N_ELEMENTS(looks));
    IfmDocument *document = ifm_comparison_document(&comparison);
    const IfmSeries *known = NULL;
    for (guint s = 0; s < document->sections->len; s++)
    {
        const IfmSection *section = document->sections->pdata[s];
        for (guint i = 0; i < section->blocks->len; i++)
        {
            const IfmBlock *block = section->blocks->pdata[i];
            if (block->kind == IFM_BLOCK_FIGURE && g_str_equal(block->key, "ratios"))
                known = block->figure.series->pdata[1];
        }
    }
    g_assert_nonnull(known);
    g_assert_cmpuint(known->points->len, ==, 2);
    const IfmPoint *last = &g_array_index(known->points, IfmPoint, 1);
    g_assert_cmpfloat(last->x, ==, 9);
    g_assert_cmpfloat(last->y, ==, 1.031);
    g_assert_cmpfloat(last->lower, ==, 0.2);
    g_assert_cmpfloat(last->upper, ==, 7.5);
    check_document(document);
}

/* An interval of fewer pairs than the level needs says what it is. */
static void test_few(void)
{
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    comparison.verdict = IFM_VERDICT_UNCERTAIN;
    comparison.interval = (IfmInterval){ 1.0271, 1.0354, 0.9375 };
    g_autofree char *sentence = ifm_comparison_sentence(&comparison);
    g_assert_cmpstr(
        sentence, ==,
        "Uncertain whether A or B is faster: B takes 1.03 times A's time in 2 pairs, too few for 95 % confidence");
}

/* Likeness of neighbours is spoken of where it was found. */
static void test_neighbours(void)
{
    static const char found[] = "pairs resemble their neighbours and count as 1.5";
    static const struct
    {
        double n_effective, correlation;
        gboolean found;
    } rows[] = { { 1.5, 0.3, TRUE }, { 2, -0.1, FALSE }, { 2, 0.3, FALSE }, { 2, NAN, FALSE } };
    IfmScreen screen = { .width = IFM_SCREEN_UNBOUNDED, .utf8 = TRUE };
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_auto(IfmComparison) comparison = { 0 };
        fill(&comparison);
        comparison.n_effective = rows[row].n_effective;
        comparison.correlation = rows[row].correlation;
        g_autofree char *text = ifm_document_show(ifm_comparison_document(&comparison), &screen);
        g_assert_cmpint(strstr(text, found) != NULL, ==, rows[row].found);
    }
}

static void test_exports(void)
{
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    g_autofree char *csv = ifm_comparison_to_csv(&comparison);
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 6); /* the last is empty */
    g_assert_cmpstr(lines[0], ==, "pair,first,a_median_ns,b_median_ns,ratio");
    g_assert_cmpstr(lines[1], ==, "0,A,1000000,1030000,1.03");
    g_assert_cmpstr(lines[3], ==, "1,B,900000,927000,1.03");
    json_auto_t *json = ifm_comparison_records_json(&comparison);
    g_assert_cmpstr(json_string_value(json_object_get(json_object_get(json, "inferometer"), "format")), ==, "comparison");
    g_assert_cmpstr(json_string_value(json_object_get(json_object_get(json, "comparison"), "verdict")), ==, "slower");
    json_t *b = json_array_get(json_object_get(json, "sides"), 1);
    g_assert_cmpstr(json_string_value(json_object_get(b, "side")), ==, "B");
    g_assert_cmpstr(json_string_value(json_object_get(json_object_get(b, "case"), "device")), ==, "openvino:CPU@0");
    g_assert_cmpuint(json_array_size(json_object_get(json_object_get(b, "measurement"), "samples_ns")), ==, 40);
}

/* What is not to be trusted says so, and is what --fail-if fails by; what is not known is not said; pairs count from 1. */
static void test_doubts(void)
{
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    ifm_measurement_set_summary(
        comparison.measurements[1],
        &(IfmSummary){
            .n = 40, .median = 1e6, .median_interval = { 9e5, 2e6, 0.95 }, .drifting = TRUE, .drift_ratio = 0.3 });
    comparison.interval.lower = comparison.interval.upper = NAN;
    IfmDocument *document = ifm_comparison_document(&comparison);
    const IfmTrust trust = ifm_document_summary_trust(document->summary);
    const IfmFigure *rounds = &ifm_document_find(document, "rounds")->figure;
    g_assert_cmpfloat(g_array_index(((const IfmSeries *)rounds->series->pdata[0])->points, IfmPoint, 0).x, ==, 1);
    check_said(ifm_comparison_failure(&comparison, 1, trust),
               "the result is not to be trusted, and shows nothing: measure again");
    g_autofree char *line = summary_line(document);
    assert_line(line, (const char *const[]){ "; this is not to be trusted |  | bad:", "bad the times of B drifted by 30 %;",
                                             "!–", "!confidence", NULL });
}

/* A wrong answer is no candidate, however fast: the verdict says so, and --fail-if fails by it. */
static void test_outputs(void)
{
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    comparison.verdict = IFM_VERDICT_FASTER;
    comparison.ratio = 0.97;
    comparison.interval = (IfmInterval){ 0.96, 0.98, 0.95 };
    comparison.outputs_differ = TRUE;
    g_ptr_array_add(comparison.notes, g_strdup("the outputs of B differ from those of A: output y"));
    g_ptr_array_add(comparison.notes, g_strdup("another thing"));
    IfmDocument *document = ifm_comparison_document(&comparison);
    check_said(ifm_comparison_failure(&comparison, 2, ifm_document_summary_trust(document->summary)),
               "the result is not to be trusted, and shows nothing: measure again");
    g_autofree char *line = summary_line(document);
    assert_line(line, (const char *const[]){
                          "B is 3.0 % faster than A [2.0, 4.0]; their outputs differ; this is not to be trusted",
                          "bad the outputs of B differ from those of A: output y;", "care another thing", NULL });
}

static int rising(gconstpointer a, gconstpointer b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The fourth of the sorted means of two logarithms from either end: of eight, Wilcoxon's ranks leave out three for 95 %. */
static double fourth_of(const double *values, gboolean last)
{
    g_autoptr(GArray) means = g_array_new(FALSE, FALSE, sizeof(double));
    for (int i = 0; i < 8; i++)
        for (int k = i; k < 8; k++)
        {
            const double mean = (log(values[i]) + log(values[k])) / 2;
            g_array_append_val(means, mean);
        }
    g_array_sort(means, rising);
    return exp(g_array_index(means, double, last ? means->len - 4 : 3));
}

/* What the table draws for a side: the interval of its median over processes; none where these are too few; the whole
 * range where each is like the one before; never one that leaves out the median that stands beside it. */
static void test_side_interval(void)
{
    static const double processes[][8] = { { 105, 101, 107, 103, 108, 102, 106, 104 },
                                           { 101, 102, 103, 104, 105, 106, 107, 108 } };
    g_auto(IfmComparison) comparison = { 0 };
    fill(&comparison);
    g_assert_true(isnan(ifm_comparison_side_interval(&comparison, 0).lower)); /* two pairs */
    comparison.n_pairs = 8;
    comparison.a_ns = 104.5;
    comparison.b_ns = 100;
    for (gsize row = 0; row < G_N_ELEMENTS(processes); row++)
    {
        g_array_set_size(comparison.rounds, 0);
        for (gsize pair = 0; pair < 8; pair++)
            for (int k = -1; k <= 1; k++) /* of a pair's rounds the middle one counts */
            {
                const IfmCompareRound round = { pair, FALSE, processes[row][pair] + 20 * k, 100 };
                g_array_append_val(comparison.rounds, round);
            }
        const IfmInterval a = ifm_comparison_side_interval(&comparison, 0),
                          b = ifm_comparison_side_interval(&comparison, 1);
        g_assert_cmpfloat_with_epsilon(a.lower, row == 0 ? fourth_of(processes[row], FALSE) : 101, 1e-9);
        g_assert_cmpfloat_with_epsilon(a.upper, row == 0 ? fourth_of(processes[row], TRUE) : 108, 1e-9);
        g_assert_cmpfloat_with_epsilon(b.lower, 100, 1e-9);
        g_assert_cmpfloat_with_epsilon(b.upper, 100, 1e-9);
    }
    comparison.a_ns = 120;
    g_assert_cmpfloat(ifm_comparison_side_interval(&comparison, 0).upper, ==, 120);
    IfmDocument *document = ifm_comparison_document(&comparison);
    const IfmBlock *sides = ifm_document_find(document, "sides");
    const IfmField *field = sides->table.fields;
    while (!g_str_equal(field->key, "rounds"))
        field++;
    IfmValue value = { 0 };
    ifm_field_get(field, sides->table.records[0], &value);
    const double marks[] = { 81, 101, 120, 120, 128 }; /* the range of rounds, and the interval within */
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        g_assert_cmpfloat_with_epsilon(value.marks[i], marks[i], 1e-9);
    ifm_document_free(document);
}

/* The interval is said where it is known, and says more than the ratio. */
static void test_detail(void)
{
    static const IfmInterval intervals[] = { { 0, INFINITY, 0.95 }, { 1.0301, 1.0349, 0.95 } };
    static const char *const said[] = { "B takes 1.03 times A's time over 2 pairs of processes |",
                                        "B takes 1.03 times A's time with 95 % confidence, over 2 pairs of processes |" };
    for (gsize i = 0; i < G_N_ELEMENTS(said); i++)
    {
        g_auto(IfmComparison) comparison = { 0 };
        fill(&comparison);
        comparison.interval = intervals[i];
        g_autofree char *line = summary_line(ifm_comparison_document(&comparison));
        assert_line(line, (const char *const[]){ said[i], NULL });
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/compare-page/findings", test_findings);
    g_test_add_func("/compare-page/sentence", test_sentence);
    g_test_add_func("/compare-page/page", test_page);
    g_test_add_func("/compare-page/figure", test_figure);
    g_test_add_func("/compare-page/few", test_few);
    g_test_add_func("/compare-page/neighbours", test_neighbours);
    g_test_add_func("/compare-page/exports", test_exports);
    g_test_add_func("/compare-page/doubts", test_doubts);
    g_test_add_func("/compare-page/outputs", test_outputs);
    g_test_add_func("/compare-page/side-interval", test_side_interval);
    g_test_add_func("/compare-page/detail", test_detail);
    return g_test_run();
}
