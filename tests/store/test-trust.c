#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <document/document.h>
#include <store/results.h>
#include <store/store.h>
#include <store/trust.h>

#include "document/summary-line.h"

/* Each check of a measurement, at each level that it can have; what a summary makes of them. */

#define QUIET "{\"others_ratio\": 0.01, \"after\": {\"clock_mhz\": [3000], \"temperature_c\": 50, \"throttle_counts\": 0}"

typedef struct
{
    const char *environment, *verification, *options;
    double drift, half, others; /* others: of the whole */
    gboolean is_drifting;
    const char *wanted[4];
} Row;

static IfmMeasurement *measurement_of(const Row *row)
{
    IfmMeasurement *made = ifm_measurement_new();
    ifm_record_set_text(&made->uid, "0123456789abcdef");
    made->started_unix_ms = G_GINT64_CONSTANT(1700000000000);
    made->has_summary = TRUE;
    made->summary = (IfmSummary){ .n = 50,
                                  .median = 1e6,
                                  .median_interval = { 1e6 - 1e6 * row->half, 1e6 + 1e6 * row->half, 0.95 },
                                  .drift_ratio = row->drift,
                                  .drifting = row->is_drifting };
    ifm_record_set_json(&made->environment, json_loads(row->environment, 0, NULL));
    ifm_record_set_json(&made->verification,
                        json_loads(row->verification != NULL ? row->verification : "{\"status\": \"passed\"}", 0, NULL));
    g_assert_true(json_is_object(made->environment) && json_is_object(made->verification));
    return made;
}

static IfmCase *case_of(const char *device, const char *options)
{
    IfmCase *made = ifm_case_new();
    ifm_record_set_text(&made->device, device);
    ifm_record_set_json(&made->options, json_loads(options != NULL ? options : "{}", 0, NULL));
    return made;
}

static char *line_of(const Row *row, const char *device, const char *name)
{
    g_autoptr(IfmMeasurement) measurement = measurement_of(row);
    g_autoptr(IfmCase) subject = case_of(device, row->options);
    const IfmResult result = { .device = device, .subject_case = subject, .measurement = measurement };
    IfmDocument *document = ifm_document_new("test", "test");
    ifm_document_verdict(document, "It is so");
    ifm_document_trust(document, &result, name);
    return summary_line(document);
}

static const Row rows[] = {
    { QUIET "}", .half = 0.01,
      .wanted = { "It is so |  | good:", "good other processes used 1 % of the processors;", "good no drift;",
                  "good outputs equal those of the reference;" } },
    { "{\"others_ratio\": 0.05}", .half = 0.01,
      .wanted = { "care:", "care other processes used 5 %", "unchecked no sensor of clock, temperature and throttling;" } },
    { "{\"others_ratio\": 0.2, \"machine\": {\"virtual\": true}}", .half = 0.01,
      .wanted = { "It is so; this is not to be trusted | ", "bad other processes used 20 %",
                  "throttling: a virtual machine;" } },
    { "{}", .half = 0.01, .wanted = { "good:", "unchecked what other processes used is not known;" } },
    { QUIET ", \"steal_ratio\": 0.02}", .half = 0.01, .wanted = { "care the hypervisor took 2 % of the processors;" } },
    { QUIET ", \"steal_ratio\": 0.2}", .half = 0.01, .wanted = { "bad the hypervisor took 20 %" } },
    { QUIET ", \"throttled_ratio\": 0.02}", .half = 0.01,
      .wanted = { "care the control group's quota held tasks up for 2 % of the time;" } },
    { QUIET ", \"throttled_ratio\": 0.2}", .half = 0.01, .wanted = { "bad the control group's quota" } },
    { QUIET "}", .half = 0.01, .drift = 0.05, .is_drifting = TRUE, .wanted = { "care the times drifted by 5 %;" } },
    { QUIET "}", .half = 0.01, .drift = -0.5, .is_drifting = TRUE,
      .wanted = { "bad the times drifted by \342\210\22250 %;" } },
    { QUIET "}", .half = 0.01, .drift = NAN, .wanted = { "!drift" } },
    { QUIET "}", .half = NAN, .wanted = { "care the median has no interval: too few runs;" } },
    { QUIET "}", .half = 0.1, .options = "{\"protocol\": {\"ci_ratio\": 0.02}}",
      .wanted = { "care the median is known to ±10 %, not to the ±2 % asked for;" } },
    { QUIET "}", .half = 0.5, .options = "{\"protocol\": {\"ci_ratio\": 0.02}}",
      .wanted = { "bad the median is known to ±50 %" } },
    { QUIET "}", .half = 0.02, .options = "{\"protocol\": {\"ci_ratio\": 0.02}}", .wanted = { "good:", "!is known to" } },
    { QUIET "}", "{\"status\": \"failed\"}", .half = 0.01,
      .wanted = { "bad outputs differ from those of the reference;" } },
    { QUIET "}", "{\"status\": \"unavailable\", \"why\": \"none\"}", .half = 0.01,
      .wanted = { "good:", "unchecked outputs were not compared: none;" } },
    { QUIET "}", "{\"status\": \"undetermined\"}", .half = 0.01,
      .wanted = { "unchecked outputs are undetermined on these inputs;" } },
    { QUIET "}", "{\"status\": \"not-applicable\"}", .half = 0.01,
      .wanted = { "unchecked outputs were not compared: simulated devices compute nothing;" } },
    { QUIET ", \"runtime\": {\"untested\": \"openvino 2024.1 is outside\"}}", .half = 0.01,
      .wanted = { "It is so |  | care:", "care openvino 2024.1 is outside;" } },
    { QUIET ", \"runtimes\": [{}, {\"untested\": \"openvino 2024.1 is outside\"}]}", .half = 0.01,
      .wanted = { "care openvino 2024.1 is outside;" } },
};

static void test_checks(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *line = line_of(&rows[i], "onnxruntime:CPU", NULL);
        for (gsize k = 0; k < G_N_ELEMENTS(rows[i].wanted) && rows[i].wanted[k] != NULL; k++)
            assert_line(line, (const char *const[]){ rows[i].wanted[k], NULL });
    }
    g_autofree char *named = line_of(&rows[8], "onnxruntime:CPU", "B"),
                    *simulated = line_of(&rows[1], "simulated:a/B", NULL);
    assert_line(named, (const char *const[]){ "care the times of B drifted by 5 %;", NULL });
    assert_line(simulated, (const char *const[]){ "care simulated: the figures come from a description", "!other processes",
                                                  "!sensor", NULL });
}

/* What a runtime does not tell is said so, and is no dtype of that name. */
static void test_unknown_dtype(void)
{
    const Row row = { "{}", .options = "{\"dtype\": \"f32\"}" };
    g_autoptr(IfmMeasurement) measurement = measurement_of(&row);
    g_autoptr(IfmCase) subject = case_of("onnxruntime:CPU", row.options);
    const IfmResult result = { .device = "onnxruntime:CPU", .subject_case = subject, .measurement = measurement };
    g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
    ifm_document_verdict(document, "A");
    ifm_document_trust(document, &result, NULL);
    json_auto_t *json = ifm_document_summary_to_json(document);
    g_assert_cmpstr(ifm_member_text(json, "provenance.facts.dtype"), ==, "f32 asked; what ran is not known");
}

/* All that a reader needs to measure it again. */
static void test_provenance(void)
{
    static const char *const facts[][2] = {
        { "when", "2023-11-14 22:13 UTC" },
        { "CPU", "A CPU" },
        { "cores", "4, clock 3000 MHz" },
        { "load", "0.50 before" },
        { "ONNX Runtime", "1.31.1" },
        { "dtype", "f32 asked, f16 run" },
        { "on onnxruntime:CPU", "2 threads, cores 0-1, measurement 01234567" },
        { "seed", "7" },
    };
    const Row row = {
        "{\"before\": {\"load_1min\": 0.5}, \"after\": {\"clock_mhz\": [3000]}, \"machine\": {\"cpu\": \"A CPU\", "
        "\"cores\": 4}, \"runtime\": {\"engine\": \"onnxruntime\", \"version\": \"1.31.1-abc\"}}",
        .options = "{\"dtype\": \"f32\", \"seed\": 7}"
    };
    g_autoptr(IfmMeasurement) measurement = measurement_of(&row);
    g_autoptr(IfmCase) subject = case_of("onnxruntime:CPU", row.options);
    ifm_record_set_json(&measurement->effective_config,
                        json_loads("{\"n_threads\": 2, \"cores\": \"0-1\", \"dtype\": \"f16\"}", 0, NULL));
    const IfmResult result = { .device = "onnxruntime:CPU", .subject_case = subject, .measurement = measurement };
    g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
    ifm_document_verdict(document, "It is so");
    ifm_document_trust(document, &result, NULL);
    ifm_document_next_again(document, "--trace t.json", NULL, "See why");
    ifm_document_command(document, "inferometer profile m.onnx --resume", "inferometer profile m.onnx");
    json_auto_t *json = ifm_document_summary_to_json(document);
    const json_t *provenance = json_object_get(json, "provenance");
    const json_t *next = json_array_get(json_object_get(json, "next"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(provenance, "command")), ==, "inferometer profile m.onnx --resume");
    g_assert_cmpstr(ifm_member_text(next, "command"), ==, "inferometer profile m.onnx --trace t.json");
    ifm_document_command(document, "inferometer.profile(Net(…))", NULL); /* what no shell takes */
    g_assert_null(g_array_index(document->summary->actions, IfmAction, 0).command);
    for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    {
        const char *text = json_string_value(json_object_get(json_object_get(provenance, "facts"), facts[i][0]));
        g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "", "\u00a0", -1);
        g_autofree char *plain = g_strjoinv(" ", parts);
        g_assert_cmpstr(plain, ==, facts[i][1]);
    }
}

/* What was given is not given twice: each option of the step gets its new value, and nothing else changes. */
static void test_again(void)
{
    static const struct
    {
        const char *typed, *more, *command;
    } rows[] = {
        { "inferometer run s -q", "", "inferometer run s -q" },
        { "inferometer run s -q", "--trace t.gz", "inferometer run s -q --trace t.gz" },
        { "inferometer run s --trace a.gz -q", "--trace t.gz && inferometer trace t.gz",
          "inferometer run s -q --trace t.gz && inferometer trace t.gz" },
        { "inferometer compare a b --time-budget=1s --pairs 4 -q", "--pairs 8 --time-budget 60s",
          "inferometer compare a b -q --pairs 8 --time-budget 60s" },
        { "inferometer run s --verify --trace", "--verify --trace b", "inferometer run s --verify --trace b" },
        { "inferometer run s --tracer a --trace-all", "--trace b", "inferometer run s --tracer a --trace-all --trace b" },
        { "inferometer run 'my study' --trace 'a b.gz' -q", "--trace t", "inferometer run 'my study' -q --trace t" },
        { "inferometer run 'it'\\''s a --trace x' -q", "--trace t", "inferometer run 'it'\\''s a --trace x' -q --trace t" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
        ifm_document_verdict(document, "It is so");
        ifm_document_next_again(document, rows[i].more, NULL, "See why");
        ifm_document_command(document, rows[i].typed, rows[i].typed);
        g_assert_cmpstr(g_array_index(document->summary->actions, IfmAction, 0).command, ==, rows[i].command);
    }
}

/* A document that sums up others has their checks: said of all as they are, else with of how many. */
static void test_parts(void)
{
    g_autoptr(IfmDocument) whole = ifm_document_new("test", "test"), one = ifm_document_new("test", "1"),
                           two = ifm_document_new("test", "2");
    const IfmDocument *parts[] = { one, two };
    ifm_document_check(one, IFM_TRUST_GOOD, "all is well");
    ifm_document_check(two, IFM_TRUST_GOOD, "all is well");
    ifm_document_check(one, IFM_TRUST_CARE, "off by 3 %%");
    ifm_document_check(two, IFM_TRUST_CARE, "off by 4 %%");
    ifm_document_check(two, IFM_TRUST_BAD, "far away");
    ifm_document_verdict(whole, "It is so");
    ifm_document_checks_of_parts(whole, parts, 2, "sizes");
    json_auto_t *json = ifm_document_summary_to_json(whole);
    const json_t *checks = json_object_get(json_object_get(json, "trust"), "checks");
    static const char *const texts[] = { "all is well", "off by 3 %; at others of these by other figures",
                                         "at 1 of 2 sizes: far away" };
    g_assert_cmpuint(json_array_size(checks), ==, G_N_ELEMENTS(texts));
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_cmpstr(ifm_member_text(json_array_get(checks, i), "text"), ==, texts[i]);
    g_assert_cmpint(ifm_document_summary_trust(whole->summary), ==, IFM_TRUST_BAD);
}

/* Of many: how many of them. @levels: of others, by measurement */
static char *line_of_all(const double *others, gsize n, gboolean simulated, gsize n_bad, const char *status)
{
    g_autoptr(GPtrArray) results = g_ptr_array_new_with_free_func(g_free),
                         measurements = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_measurement_free),
                         cases = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_case_free);
    IfmDocument *document = ifm_document_new("test", "test");
    ifm_document_verdict(document, "It is so");
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *environment = g_strdup_printf("{\"others_ratio\": %.2f}", others[i]);
        g_autofree char *verification = g_strdup_printf("{\"status\": \"%s\"}", i < n_bad ? status : "passed");
        const Row row = { environment, verification, .half = i < n_bad ? (double)NAN : 0.01, .is_drifting = i < n_bad };
        g_ptr_array_add(measurements, measurement_of(&row));
        g_ptr_array_add(cases, case_of(simulated ? "simulated:a/B" : "onnxruntime:CPU", NULL));
        IfmResult *result = g_new0(IfmResult, 1);
        *result = (IfmResult){ .device = "d", .subject_case = cases->pdata[i], .measurement = measurements->pdata[i] };
        g_ptr_array_add(results, result);
    }
    ifm_document_trust_all(document, results, "case");
    return summary_line(document);
}

/* A runtime that was not tested is named once, however many were measured by it. */
static void test_many_of_a_runtime(void)
{
    const Row row = { QUIET ", \"runtime\": {\"untested\": \"openvino 2024.1 is outside\"}}", .half = 0.01 };
    g_autoptr(IfmMeasurement) measurement = measurement_of(&row);
    IfmResult result = { .device = "d", .measurement = measurement };
    g_autoptr(GPtrArray) results = g_ptr_array_new(), said = ifm_said_new();
    g_ptr_array_add(results, &result);
    g_ptr_array_add(results, &result);
    IfmDocument *document = ifm_document_new("test", "test");
    ifm_document_verdict(document, "It is so");
    ifm_document_trust_all(document, results, "case");
    g_autofree char *line = summary_line(document), *once = g_strdup(strstr(line, "openvino 2024.1"));
    assert_line(line, (const char *const[]){ "care: care openvino 2024.1 is outside;", NULL });
    g_assert_nonnull(once);
    g_assert_null(strstr(once + 1, "openvino 2024.1"));
    /* nor again among the warnings */
    ifm_record_set_json(&measurement->environment,
                        json_loads("{\"warnings\": [\"old\", \"other\"], \"runtime\": {\"untested\": \"old\"}}", 0, NULL));
    ifm_said_add_warnings(said, measurement, "d", &result);
    g_assert_cmpuint(said->len, ==, 1);
}

static void test_many(void)
{
    static const double quiet[] = { 0.01, 0.02, 0.03, 0.01 },
                        one[] = { 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.5 },
                        two[] = { 0.01, 0.5, 0.5, 0.01 };
    g_autofree char *good = line_of_all(quiet, 4, FALSE, 0, ""), *care = line_of_all(one, 10, FALSE, 0, ""),
                    *bad = line_of_all(two, 4, FALSE, 0, ""), *simulated = line_of_all(quiet, 4, TRUE, 0, ""),
                    *wrong = line_of_all(quiet, 4, FALSE, 1, "failed"),
                    *open = line_of_all(quiet, 4, FALSE, 2, "unavailable"), *none = line_of_all(NULL, 0, FALSE, 0, "");
    assert_line(good,
                (const char *const[]){ "good: good other processes used 2 % of the processors in the median case, 3 % at "
                                       "most; 0 of 4 were disturbed;",
                                       NULL });
    assert_line(care, (const char *const[]){ "care: care other processes used 1 %", "1 of 10 were disturbed;", NULL });
    assert_line(bad, (const char *const[]){ "bad: bad other processes", "2 of 4 were disturbed;", NULL });
    assert_line(simulated, (const char *const[]){ "care simulated: the figures come from", "!others", NULL });
    assert_line(wrong, (const char *const[]){ "bad 1 of 4 have outputs that differ from those of the reference;",
                                              "care 1 of 4 drifted while they were measured;",
                                              "care 1 of 4 have no interval: too few runs;", NULL });
    assert_line(open, (const char *const[]){ "unchecked 2 of 4 have outputs that were not compared;", NULL });
    assert_line(none, (const char *const[]){ "It is so |  | good: |", NULL });
}

/* The worst check is the summary's; one that could not be made counts for nothing; a part of the cases says so. */
static void test_summary(void)
{
    static const struct
    {
        IfmTrust checks[3];
        gsize n_done, n;
        const char *sentence, *trust;
    } cases[] = {
        { { IFM_TRUST_GOOD, IFM_TRUST_GOOD, IFM_TRUST_GOOD }, 1, 1, "A", "good" },
        { { IFM_TRUST_GOOD, IFM_TRUST_GOOD, IFM_TRUST_GOOD }, 0, 0, "So far: A", "good" },
        { { IFM_TRUST_GOOD, IFM_TRUST_UNCHECKED, IFM_TRUST_GOOD }, 3, 3, "A", "good" },
        { { IFM_TRUST_CARE, IFM_TRUST_UNCHECKED, IFM_TRUST_GOOD }, 1, 3, "So far, of 1 of 3 cases: A", "care" },
        { { IFM_TRUST_CARE, IFM_TRUST_BAD, IFM_TRUST_GOOD }, 1, 1, "A; this is not to be trusted", "bad" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
        ifm_document_verdict(document, "A");
        for (gsize k = 0; k < 3; k++)
            ifm_document_check(document, cases[i].checks[k], "check %zu", k);
        ifm_document_check(document, IFM_TRUST_GOOD, "check 0"); /* said once */
        ifm_document_so_far(document, cases[i].n_done, cases[i].n);
        json_auto_t *json = ifm_document_summary_to_json(document);
        g_assert_cmpstr(json_string_value(json_object_get(json, "verdict")), ==, cases[i].sentence);
        g_assert_cmpstr(ifm_member_text(json, "trust.level"), ==, cases[i].trust);
        g_assert_cmpuint(json_array_size(ifm_member(json, "trust.checks")), ==, 3);
    }
    g_autoptr(IfmDocument) empty = ifm_document_new("test", "test");
    g_assert_null(ifm_document_summary_to_json(empty));
}

/* What spoils a result is said first, and is not cut for want of lines; what was a reason to trust it then is none. */
static void test_bad_first(void)
{
    for (int lines = 0; lines < 2; lines++)
    {
        g_autoptr(IfmDocument) document = ifm_document_new("test", "test");
        ifm_document_verdict(document, "A");
        g_auto(GStrv) words = g_strsplit("a b c d e f g h i j k l m n o p q r s t", " ", -1);
        g_autofree char *more =
            g_strjoinv(" is a word that takes a line of the screen with all the words that are behind it ",
                       words); /* more lines than a head has */
        ifm_document_verdict_more(document, "%s", more);
        ifm_document_trust_why(document, "it led all rounds");
        ifm_document_check(document, IFM_TRUST_CARE, "drifted by 4 %%");
        ifm_document_check(document, IFM_TRUST_BAD, "others used 84 %%");
        g_autofree char *shown =
            ifm_document_to_screen(document, &(IfmScreen){ .width = 80, .utf8 = TRUE, .lines = 40 * lines });
        g_assert_nonnull(strstr(shown, "not to be trusted: others used 84"));
        g_assert_null(strstr(shown, "it led all rounds"));
        g_assert_true((strstr(shown, "drifted") == NULL) == (lines > 0));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trust/again", test_again);
    g_test_add_func("/trust/parts", test_parts);
    g_test_add_func("/trust/checks", test_checks);
    g_test_add_func("/trust/provenance", test_provenance);
    g_test_add_func("/trust/unknown-dtype", test_unknown_dtype);
    g_test_add_func("/trust/many", test_many);
    g_test_add_func("/trust/many/runtime", test_many_of_a_runtime);
    g_test_add_func("/trust/summary", test_summary);
    g_test_add_func("/trust/bad-first", test_bad_first);
    return g_test_run();
}
