#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "results.h"
#include "store.h"

/* Results of cases are shown in documents, as JSON and as CSV; a field's getter takes its value from an IfmResult. */

/* --- getters: results ----------------------------------------------------------------------------------------------- */

static const IfmSummary *summary_of(const IfmResult *result)
{
    const IfmMeasurement *measurement = ifm_result_measured(result);
    return measurement != NULL && measurement->has_summary ? &measurement->summary : NULL;
}

static void get_summary(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ifm_summary_figure(summary_of(record), user));
}

static void get_summary_count(const void *record, const void *user, IfmValue *value)
{
    double number = ifm_summary_figure(summary_of(record), user);
    if (isfinite(number))
        ifm_value_set_integer(value, (gint64)number);
}

static void get_summary_flag(const void *record, const void *user, IfmValue *value)
{
    double flag = ifm_summary_figure(summary_of(record), user);
    if (isfinite(flag))
        ifm_value_set_boolean(value, flag != 0);
}

/* As it was written on the command line: "ALIAS=DEVICE". */
static void get_label(const void *record, const void *user, IfmValue *value)
{
    const IfmResult *result = record;
    if (result->alias != NULL && *result->alias != '\0')
        ifm_value_take_text(value, g_strdup_printf("%s=%s", result->alias, result->device));
    else
        ifm_value_set_text(value, result->device);
}

/* Half the interval's width as a part of the median. */
static void get_half_width(const void *record, const void *user, IfmValue *value)
{
    const IfmSummary *summary = summary_of(record);
    double lower = ifm_summary_figure(summary, "median_interval.lower"),
           upper = ifm_summary_figure(summary, "median_interval.upper");
    ifm_value_set_real(value, (upper - lower) / 2 / ifm_summary_figure(summary, "median"));
}

static void get_strip(const void *record, const void *user, IfmValue *value)
{
    const IfmSummary *summary = summary_of(record);
    ifm_value_set_interval(value, ifm_summary_figure(summary, "min"), ifm_summary_figure(summary, "median_interval.lower"),
                           ifm_summary_figure(summary, "median"), ifm_summary_figure(summary, "median_interval.upper"),
                           ifm_summary_figure(summary, "max"));
}

/* What stopped short of the interval that was aimed at is a warning. */
static void get_ending(const void *record, const void *user, IfmValue *value)
{
    static const char *const short_of[] = { "max-runs", "time-budget", "interrupted", NULL };
    const IfmResult *result = record;
    const IfmMeasurement *measurement = result->measurement;
    ifm_value_set_text(value, ifm_result_ending(result));
    if (ifm_result_code(result) != NULL)
        value->tone = measurement != NULL && measurement->outcome == IFM_OUTCOME_SKIPPED ? IFM_TONE_WARN : IFM_TONE_BAD;
    else if (measurement->stop_reason != NULL && g_strv_contains(short_of, measurement->stop_reason))
        value->tone = IFM_TONE_WARN;
}

/* What verifying came to, in a word; NULL: the agreement with the reference. */
static const struct
{
    const char *status, *word;
    IfmTone tone;
} verdicts[] = {
    { "passed", NULL, IFM_TONE_GOOD },
    { "undetermined", NULL, IFM_TONE_WARN },
    { "failed", "different", IFM_TONE_BAD },
    { "not-applicable", "simulated", IFM_TONE_DIM }, /* a simulated device that computes nothing */
    { "not-asked", "unchecked", IFM_TONE_WARN },
    { "unavailable", "unchecked", IFM_TONE_WARN },
    { "interrupted", "unchecked", IFM_TONE_WARN },
    { "none", "unchecked", IFM_TONE_WARN },
};

static void get_outputs(const void *record, const void *user, IfmValue *value)
{
    const IfmResult *result = record;
    const json_t *verification = result->measurement != NULL ? result->measurement->verification : NULL;
    const char *status = ifm_member_text(verification, "status"), *agreement = ifm_member_text(verification, "agreement");
    for (gsize i = 0; i < G_N_ELEMENTS(verdicts); i++)
        if (g_strcmp0(status, verdicts[i].status) == 0 &&
            (ifm_result_code(result) == NULL || g_str_equal(verdicts[i].status, "failed")))
        {
            ifm_value_set_text(value, verdicts[i].word != NULL ? verdicts[i].word
                                      : agreement != NULL      ? agreement
                                                               : "equal");
            value->tone = verdicts[i].tone;
        }
}

static void get_verification(const void *record, const void *user, IfmValue *value)
{
    const IfmResult *result = record;
    if (result->measurement != NULL)
        ifm_value_set_text(value, ifm_member_text(result->measurement->verification, "status"));
}

/* What it computed in, where that is not all in the precision of the case: "u8s8, f32"; "f32, by casts" of a model in f16.
 */
static void get_arithmetic(const void *record, const void *user, IfmValue *value)
{
    /* integers as wide as these are numbers of sizes and indices */
    static const char *const of_indices[] = { "i64", "u64", "i32", "u32", "i16", "u16", "bool", NULL };
    const IfmResult *result = record;
    const json_t *config = result->measurement != NULL ? result->measurement->effective_config : NULL;
    const char *asked = result->subject_case != NULL ? ifm_member_text(result->subject_case->options, "dtype") : NULL;
    const char *written = ifm_member_text(config, "written");
    g_autoptr(GString) text = g_string_new(NULL);
    gsize i;
    json_t *one;
    json_array_foreach(json_object_get(config, "arithmetic"), i, one)
    {
        const char *arithmetic = ifm_member_text(one, "arithmetic");
        if (arithmetic != NULL && !g_strv_contains(of_indices, arithmetic))
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", arithmetic);
    }
    if (text->len == 0 || g_strcmp0(text->str, asked) == 0)
        return;
    if (g_strcmp0(written, asked) == 0 && g_str_equal(text->str, "f32"))
        g_string_append(text, ", by casts");
    ifm_value_take_text(value, g_strdup(text->str));
}

/* --- getters: exports alone ----------------------------------------------------------------------------------------- */

static void get_option(const void *record, const void *user, IfmValue *value)
{
    const IfmCase *subject_case = ((const IfmResult *)record)->subject_case;
    if (subject_case != NULL)
        ifm_value_set_text(value, ifm_member_text(subject_case->options, user));
}

/* "M=8,N=4", by name. */
static void get_sizes(const void *record, const void *user, IfmValue *value)
{
    const IfmCase *subject_case = ((const IfmResult *)record)->subject_case;
    const char *name;
    json_t *size;
    if (subject_case == NULL || json_object_size(subject_case->sizes) == 0)
        return;
    GString *text = g_string_new(NULL);
    json_object_foreach(subject_case->sizes, name, size) g_string_append_printf(
        text, "%s%s=%" JSON_INTEGER_FORMAT, text->len > 0 ? "," : "", name, json_integer_value(size));
    ifm_value_take_text(value, g_string_free(text, FALSE));
}

static void get_started(const void *record, const void *user, IfmValue *value)
{
    const IfmMeasurement *measurement = ((const IfmResult *)record)->measurement;
    g_autoptr(GDateTime) time = NULL;
    if (measurement != NULL)
        time = g_date_time_new_from_unix_utc(measurement->started_unix_ms / 1000);
    if (time != NULL)
        ifm_value_take_text(value, g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ"));
}

static void get_outcome(const void *record, const void *user, IfmValue *value)
{
    const IfmResult *result = record;
    ifm_value_set_text(value,
                       ifm_outcome_name(result->measurement != NULL ? result->measurement->outcome : IFM_OUTCOME_FAILED));
}

static void get_disturbed(const void *record, const void *user, IfmValue *value)
{
    const IfmMeasurement *measurement = ((const IfmResult *)record)->measurement;
    if (measurement != NULL)
        ifm_value_set_boolean(value, ifm_measurement_is_disturbed(measurement));
}

static void get_code(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_result_code(record));
}

static void get_reason(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_result_reason(record));
}

#define RESULT(member, ...) IFM_MEMBER(IfmResult, member, ##__VA_ARGS__)
#define CASE(member) IFM_MEMBER_VIA(IfmResult, subject_case, member)
#define MEASUREMENT(member) IFM_MEMBER_VIA(IfmResult, measurement, member)
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN

const IfmField ifm_result_fields[] = {
    { "label", "device", IFM_FIELD_TEXT, get_label, NULL, SCREEN | IFM_FIELD_WHOLE },
    { "device", NULL, IFM_FIELD_TEXT, RESULT(device), EXPORT },
    { "alias", NULL, IFM_FIELD_TEXT, RESULT(alias, .some = TRUE), EXPORT },
    { "subject", NULL, IFM_FIELD_TEXT, CASE(subject_name), EXPORT },
    { "sizes", NULL, IFM_FIELD_TEXT, get_sizes, NULL, EXPORT },
    { "dtype", NULL, IFM_FIELD_TEXT, get_option, "dtype", EXPORT },
    { "outcome", NULL, IFM_FIELD_TEXT, get_outcome, NULL, EXPORT },
    { "error_code", NULL, IFM_FIELD_TEXT, get_code, NULL, EXPORT },
    { "reason", NULL, IFM_FIELD_TEXT, get_reason, NULL, EXPORT },
    { "median_ns", "median", IFM_FIELD_DURATION, get_summary, "median" },
    { "strip", "range, 95 % interval", IFM_FIELD_INTERVAL, get_strip, NULL, SCREEN },
    { "median_lower_ns", NULL, IFM_FIELD_DURATION, get_summary, "median_interval.lower", EXPORT },
    { "median_upper_ns", NULL, IFM_FIELD_DURATION, get_summary, "median_interval.upper", EXPORT },
    { "half_width_ratio", "±", IFM_FIELD_PRECISION, get_half_width },
    { "n", "n", IFM_FIELD_INTEGER, get_summary_count, "n" },
    { "n_effective", NULL, IFM_FIELD_REAL, get_summary, "n_effective", EXPORT },
    { "stop_reason", NULL, IFM_FIELD_TEXT, MEASUREMENT(stop_reason), EXPORT },
    { "ending", "stop reason", IFM_FIELD_TEXT, get_ending, NULL, SCREEN },
    { "outputs", "outputs", IFM_FIELD_TEXT, get_outputs, NULL, SCREEN | IFM_FIELD_WHOLE },
    { "arithmetic", "computed in", IFM_FIELD_TEXT, get_arithmetic, NULL, SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "verification", NULL, IFM_FIELD_TEXT, get_verification, NULL, EXPORT },
    { "mean_ns", "mean", IFM_FIELD_DURATION, get_summary, "mean", IFM_FIELD_BREAK | IFM_FIELD_DETAIL },
    { "std_ns", "±std", IFM_FIELD_DURATION, get_summary, "std", IFM_FIELD_DETAIL },
    { "min_ns", "min", IFM_FIELD_DURATION, get_summary, "min", IFM_FIELD_DETAIL },
    { "p90_ns", "p90", IFM_FIELD_DURATION, get_summary, "p90", IFM_FIELD_DETAIL },
    { "p95_ns", "p95", IFM_FIELD_DURATION, get_summary, "p95", IFM_FIELD_DETAIL },
    { "p99_ns", "p99", IFM_FIELD_DURATION, get_summary, "p99", IFM_FIELD_DETAIL },
    { "max_ns", "max", IFM_FIELD_DURATION, get_summary, "max", IFM_FIELD_DETAIL },
    { "n_outliers", "outliers", IFM_FIELD_INTEGER, get_summary_count, "n_outliers" },
    { "drift_ratio", NULL, IFM_FIELD_REAL, get_summary, "drift_ratio", EXPORT },
    { "drifting", NULL, IFM_FIELD_BOOLEAN, get_summary_flag, "drifting", EXPORT },
    { "disturbed", NULL, IFM_FIELD_BOOLEAN, get_disturbed, NULL, EXPORT },
    { "started", NULL, IFM_FIELD_TEXT, get_started, NULL, EXPORT },
    { "resumed", NULL, IFM_FIELD_BOOLEAN, RESULT(resumed), EXPORT },
    { "case_key", NULL, IFM_FIELD_TEXT, CASE(key), EXPORT },
    { "uid", NULL, IFM_FIELD_TEXT, MEASUREMENT(uid), EXPORT },
    { NULL },
};

/* --- what a store holds --------------------------------------------------------------------------------------------- */

static void get_started_short(const void *record, const void *user, IfmValue *value)
{
    const IfmMeasurement *measurement = ((const IfmResult *)record)->measurement;
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(measurement->started_unix_ms / 1000);
    if (time != NULL)
        ifm_value_take_text(value, g_date_time_format(time, "%Y-%m-%d %H:%M"));
}

const IfmField ifm_record_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, RESULT(device), IFM_FIELD_WHOLE },
    { "subject", "subject", IFM_FIELD_TEXT, CASE(subject_name), IFM_FIELD_FOLD },
    { "sizes", "sizes", IFM_FIELD_TEXT, get_sizes, NULL, IFM_FIELD_HIDE_EMPTY | IFM_FIELD_FOLD },
    { "dtype", "dtype", IFM_FIELD_TEXT, get_option, "dtype", IFM_FIELD_HIDE_EMPTY | IFM_FIELD_FOLD },
    { "median_ns", "median", IFM_FIELD_DURATION, get_summary, "median" },
    { "half_width_ratio", "±", IFM_FIELD_PRECISION, get_half_width },
    { "n", "n", IFM_FIELD_INTEGER, get_summary_count, "n" },
    { "ending", "stop reason", IFM_FIELD_TEXT, get_ending },
    { "started", "started", IFM_FIELD_TEXT, get_started_short },
    { NULL },
};

/* --- samples -------------------------------------------------------------------------------------------------------- */

#define SAMPLE(member) IFM_MEMBER(IfmSampleRow, member)

const IfmField ifm_sample_fields[] = {
    { "case_key", "case", IFM_FIELD_TEXT, IFM_MEMBER_VIA(IfmSampleRow, subject_case, key) },
    { "uid", "measurement", IFM_FIELD_TEXT, IFM_MEMBER_VIA(IfmSampleRow, measurement, uid) },
    { "device", "device", IFM_FIELD_TEXT, SAMPLE(device) },
    { "kind", "kind", IFM_FIELD_TEXT, SAMPLE(kind) },
    { "index", "index", IFM_FIELD_INTEGER, SAMPLE(index) },
    { "time_ns", "time", IFM_FIELD_INTEGER, SAMPLE(time_ns) },
    { NULL },
};

/* --- reasons and warnings --------------------------------------------------------------------------------------------- */

/* A reason that repeats is shown once. */
void ifm_document_reasons(IfmDocument *document, const IfmResult *results, gsize n)
{
    g_autoptr(GHashTable) times = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    ifm_document_part(document);
    for (gsize i = 0; i < 2 * n; i++) /* counted first, then reported */
    {
        const IfmResult *result = &results[i < n ? i : i - n];
        g_autofree char *line = ifm_result_reason(result) != NULL ? ifm_result_line(result) : NULL;
        guint count = line != NULL ? GPOINTER_TO_UINT(g_hash_table_lookup(times, line)) : 0;
        if (line == NULL)
            continue;
        if (i < n)
            g_hash_table_replace(times, g_steal_pointer(&line), GUINT_TO_POINTER(count + 1));
        else if (count > 0)
        {
            g_autofree char *again = count > 1 ? g_strdup_printf(" (%u times)", count) : g_strdup("");
            ifm_document_note(document, ifm_result_name(result), IFM_TONE_BAD, "%s%s", ifm_result_short_reason(result),
                              again);
            g_hash_table_remove(times, line);
        }
    }
}

/* How many are named: of warnings, whose names are short; of reasons, whose names may be long. */
#define MAX_WARNED 6
#define MAX_FAILED 1

/* Said: a message, and whose it is. */
typedef struct
{
    char *text, *mask;
    gboolean vary; /* they differ in their numbers: the text is that of the first */
    GPtrArray *whose;
    const void *last; /* who of them */
} Said;

static void said_free(Said *said)
{
    g_free(said->text);
    g_free(said->mask);
    g_ptr_array_unref(said->whose);
    g_free(said);
}

GPtrArray *ifm_said_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)said_free);
}

static Said *said_of(GPtrArray *all, const char *text)
{
    g_autofree char *mask = ifm_format_mask(text);
    for (guint i = 0; i < all->len; i++)
        if (g_str_equal(((const Said *)all->pdata[i])->mask, mask))
            return all->pdata[i];
    Said *said = g_new0(Said, 1);
    said->text = g_strdup(text);
    said->mask = g_steal_pointer(&mask);
    said->whose = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(all, said);
    return said;
}

void ifm_said_add(GPtrArray *all, const char *text, const char *whose, const void *who)
{
    Said *said = said_of(all, text);
    said->vary |= !g_str_equal(said->text, text);
    if (said->whose->len > 0 && said->last == who)
        return;
    g_ptr_array_add(said->whose, g_strdup(whose));
    said->last = who;
}

/* Whether trust says it already: ifm_document_trust() */
static gboolean is_of_runtime(const json_t *environment, const char *warning)
{
    const json_t *runtime;
    gsize i;
    json_array_foreach(json_object_get(environment, "runtimes"), i,
                       runtime) if (g_strcmp0(ifm_member_text(runtime, "untested"), warning) == 0) return TRUE;
    return g_strcmp0(ifm_member_text(environment, "runtime.untested"), warning) == 0;
}

void ifm_said_add_warnings(GPtrArray *all, const IfmMeasurement *measurement, const char *whose, const void *who)
{
    const json_t *environment = measurement != NULL ? measurement->environment : NULL, *warning;
    gsize i;
    json_array_foreach(json_object_get(environment, "warnings"), i,
                       warning) if (json_is_string(warning) && !is_of_runtime(environment, json_string_value(warning)))
        ifm_said_add(all, json_string_value(warning), whose, who);
}

/* "m 8, m 16"; of more than @max the first ones and how many more. (transfer full) */
static char *whose_of(const Said *said, guint max)
{
    const guint n = said->whose->len, shown = n > max ? MAX(max / 2, 1) : n;
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < shown; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (const char *)said->whose->pdata[i]);
    if (n > shown)
        g_string_append_printf(text, " and %u more", n - shown);
    return g_string_free(text, FALSE);
}

static const char *first_says(const Said *said)
{
    return said->vary ? " (the reason of the first)" : "";
}

void ifm_document_warnings(IfmDocument *document, const GPtrArray *all, guint n_all)
{
    ifm_document_part(document);
    for (guint i = 0; i < all->len; i++)
    {
        const Said *said = all->pdata[i];
        const gboolean of_all = said->whose->len == n_all;
        g_autofree char *whose = whose_of(said, MAX_WARNED);
        ifm_document_warning(document, "%s%s%s%s", of_all ? "" : whose, of_all ? "" : ": ", said->text, first_says(said));
    }
}

void ifm_document_said(IfmDocument *document, const GPtrArray *all, IfmTone tone)
{
    for (guint i = 0; i < all->len; i++)
    {
        const Said *said = all->pdata[i];
        g_autofree char *whose = whose_of(said, MAX_FAILED);
        ifm_document_note(document, whose, tone, "%s%s", said->text, first_says(said));
    }
}

/* --- documents -------------------------------------------------------------------------------------------------------- */

static GPtrArray *records_of(const IfmResult *results, gsize n)
{
    GPtrArray *records = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
        g_ptr_array_add(records, (void *)&results[i]);
    return records;
}

IfmDocument *ifm_records_document(const IfmResult *results, gsize n)
{
    IfmDocument *document = ifm_document_new("measurements", "Measurements");
    ifm_document_table(document, "measurements", ifm_record_fields, records_of(results, n));
    ifm_document_reasons(document, results, n);
    return document;
}

char *ifm_results_to_csv(const IfmResult *results, gsize n)
{
    g_autoptr(GPtrArray) records = records_of(results, n);
    return ifm_rows_to_csv(ifm_result_fields, records);
}

void ifm_json_add_record(json_t *json, const IfmCase *subject_case, const IfmMeasurement *measurement)
{
    json_object_set_new(json, "case", subject_case != NULL ? ifm_case_to_json(subject_case) : json_null());
    json_object_set_new(json, "measurement", measurement != NULL ? ifm_measurement_to_json(measurement) : json_null());
}

json_t *ifm_result_to_json(const IfmResult *result)
{
    const IfmMeasurement *measurement = result->measurement;
    IfmOutcome outcome = measurement != NULL ? measurement->outcome : IFM_OUTCOME_FAILED;
    json_t *json = json_object();
    json_object_set_new(json, "device", ifm_json_string(result->device));
    json_object_set_new(json, "alias", ifm_json_string(result->alias));
    json_object_set_new(json, "outcome", json_string(ifm_outcome_name(outcome)));
    json_object_set_new(json, "error_code", ifm_json_string(ifm_result_code(result)));
    json_object_set_new(json, "reason", ifm_json_string(ifm_result_reason(result)));
    json_object_set_new(json, "resumed", json_boolean(result->resumed));
    ifm_json_add_record(json, result->subject_case, measurement);
    return json;
}

json_t *ifm_results_to_json(const IfmResult *results, gsize n)
{
    json_t *json = ifm_json_begin("cases", 2), *cases = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(cases, ifm_result_to_json(&results[i]));
    json_object_set_new(json, "cases", cases);
    return json;
}

char *ifm_samples_to_csv(const IfmResult *results, gsize n)
{
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, ifm_sample_fields);
    for (gsize i = 0; i < n; i++)
    {
        const IfmMeasurement *measurement = results[i].measurement;
        const struct
        {
            const char *kind;
            const GArray *times_ns;
        } kinds[] = { { "warmup", measurement != NULL ? measurement->warmup_ns : NULL },
                      { "run", measurement != NULL ? measurement->samples_ns : NULL },
                      { "profiled", measurement != NULL ? measurement->profiled_ns : NULL } };
        for (gsize kind = 0; kind < G_N_ELEMENTS(kinds) && measurement != NULL; kind++)
            for (guint k = 0; k < kinds[kind].times_ns->len; k++)
            {
                const IfmSampleRow row = { results[i].device,
                                           results[i].subject_case,
                                           measurement,
                                           kinds[kind].kind,
                                           k,
                                           g_array_index(kinds[kind].times_ns, gint64, k) };
                ifm_csv_append_record(out, ifm_sample_fields, &row);
            }
    }
    return g_string_free(out, FALSE);
}
