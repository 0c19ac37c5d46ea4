#include <math.h>
#include <string.h>

#include "report-private.h"

/* --- reading records ------------------------------------------------------------------------------------------------ */

static gboolean is_ok(const IfmResult *result)
{
    return result->measurement != NULL && result->measurement->outcome == IFM_OUTCOME_OK;
}

const char *ifm_result_reason(const IfmResult *result)
{
    if (is_ok(result))
        return NULL;
    const char *reason = result->measurement != NULL ? result->measurement->reason : result->reason;
    return reason != NULL && *reason != '\0' ? reason : "no reason was given";
}

const char *ifm_result_code(const IfmResult *result)
{
    if (is_ok(result))
        return NULL;
    const char *code = result->measurement != NULL ? result->measurement->error_code : result->code;
    return code != NULL && *code != '\0' ? code : ifm_error_code_name(IFM_ERROR_FAILED);
}

/* --- getters: results ----------------------------------------------------------------------------------------------- */

static const json_t *summary_of(const IfmResult *result)
{
    return is_ok(result) ? result->measurement->summary : NULL;
}

static void get_summary(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ifm_member_number(summary_of(record), user));
}

static void get_summary_count(const void *record, const void *user, IfmValue *value)
{
    double number = ifm_member_number(summary_of(record), user);
    if (isfinite(number))
        ifm_value_set_integer(value, (gint64)number);
}

static void get_summary_flag(const void *record, const void *user, IfmValue *value)
{
    const json_t *flag = ifm_member(summary_of(record), user);
    if (json_is_boolean(flag))
        ifm_value_set_boolean(value, json_is_true(flag));
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
    const json_t *summary = summary_of(record);
    double lower = ifm_member_number(summary, "median_interval.lower"),
           upper = ifm_member_number(summary, "median_interval.upper");
    ifm_value_set_real(value, (upper - lower) / 2 / ifm_member_number(summary, "median"));
}

static void get_strip(const void *record, const void *user, IfmValue *value)
{
    const json_t *summary = summary_of(record);
    ifm_value_set_interval(value, ifm_member_number(summary, "min"), ifm_member_number(summary, "median_interval.lower"),
                           ifm_member_number(summary, "median"), ifm_member_number(summary, "median_interval.upper"),
                           ifm_member_number(summary, "max"));
}

/* Why measuring ended, in words, or what went wrong instead. */
static const struct
{
    const char *name, *words;
    IfmTone tone;
} endings[] = {
    { "fixed", "counts", IFM_TONE_PLAIN },           { "interval", "interval", IFM_TONE_PLAIN },
    { "most-runs", "most runs", IFM_TONE_WARN },     { "time-budget", "time budget", IFM_TONE_WARN },
    { "interrupted", "interrupted", IFM_TONE_WARN },
};

static const char *ending_of(const IfmResult *result, IfmTone *tone)
{
    if (!is_ok(result))
    {
        gboolean skipped = result->measurement != NULL && result->measurement->outcome == IFM_OUTCOME_SKIPPED;
        *tone = skipped ? IFM_TONE_WARN : IFM_TONE_BAD;
        return skipped ? "skipped" : ifm_result_code(result);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
        if (g_strcmp0(result->measurement->stop_reason, endings[i].name) == 0)
        {
            *tone = endings[i].tone;
            return endings[i].words;
        }
    return result->measurement->stop_reason;
}

const char *ifm_result_ending(const IfmResult *result)
{
    IfmTone tone;
    return ending_of(result, &tone);
}

static void get_ending(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ending_of(record, &value->tone));
}

/* What verifying came to, in a word. */
static const struct
{
    const char *status, *word;
    IfmTone tone;
} verdicts[] = {
    { "passed", "right", IFM_TONE_GOOD },
    { "failed", "wrong", IFM_TONE_BAD },
    { "not-applicable", "simulated", IFM_TONE_DIM }, /* a simulated device that computes nothing */
    { "not-asked", "unchecked", IFM_TONE_WARN },
    { "unavailable", "unchecked", IFM_TONE_WARN },
    { "interrupted", "unchecked", IFM_TONE_WARN },
    { "none", "unchecked", IFM_TONE_WARN },
};

static void get_outputs(const void *record, const void *user, IfmValue *value)
{
    const IfmResult *result = record;
    const char *status = result->measurement != NULL ? ifm_member_text(result->measurement->verification, "status") : NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(verdicts); i++)
        if (g_strcmp0(status, verdicts[i].status) == 0 && (is_ok(result) || g_str_equal(verdicts[i].status, "failed")))
        {
            ifm_value_set_text(value, verdicts[i].word);
            value->tone = verdicts[i].tone;
        }
}

static void get_verification(const void *record, const void *user, IfmValue *value)
{
    const IfmResult *result = record;
    if (result->measurement != NULL)
        ifm_value_set_text(value, ifm_member_text(result->measurement->verification, "status"));
}

/* --- getters: exports alone ----------------------------------------------------------------------------------------- */

/* @user: the offset of a char * in IfmCase or IfmMeasurement. */
static void get_case_text(const void *record, const void *user, IfmValue *value)
{
    const IfmCase *subject_case = ((const IfmResult *)record)->subject_case;
    if (subject_case != NULL)
        ifm_field_get_text(subject_case, user, value);
}

static void get_measurement_text(const void *record, const void *user, IfmValue *value)
{
    const IfmMeasurement *measurement = ((const IfmResult *)record)->measurement;
    if (measurement != NULL)
        ifm_field_get_text(measurement, user, value);
}

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

static void get_code(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_result_code(record));
}

static void get_reason(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_result_reason(record));
}

static void get_resumed(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, ((const IfmResult *)record)->resumed);
}

#define RESULT(member) IFM_FIELD_AT(IfmResult, member)
#define CASE(member) IFM_FIELD_AT(IfmCase, member)
#define MEASUREMENT(member) IFM_FIELD_AT(IfmMeasurement, member)
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN

const IfmField ifm_result_fields[] = {
    { "label", "device", IFM_FIELD_TEXT, get_label, NULL, SCREEN | IFM_FIELD_WHOLE },
    { "device", NULL, IFM_FIELD_TEXT, ifm_field_get_text, RESULT(device), EXPORT },
    { "alias", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, RESULT(alias), EXPORT },
    { "subject", NULL, IFM_FIELD_TEXT, get_case_text, CASE(subject_name), EXPORT },
    { "sizes", NULL, IFM_FIELD_TEXT, get_sizes, NULL, EXPORT },
    { "dtype", NULL, IFM_FIELD_TEXT, get_option, "dtype", EXPORT },
    { "outcome", NULL, IFM_FIELD_TEXT, get_outcome, NULL, EXPORT },
    { "error_code", NULL, IFM_FIELD_TEXT, get_code, NULL, EXPORT },
    { "reason", NULL, IFM_FIELD_TEXT, get_reason, NULL, EXPORT },
    { "median_ns", "median", IFM_FIELD_DURATION, get_summary, "median" },
    { "strip", "95 % interval", IFM_FIELD_INTERVAL, get_strip, NULL, SCREEN },
    { "median_lower_ns", NULL, IFM_FIELD_DURATION, get_summary, "median_interval.lower", EXPORT },
    { "median_upper_ns", NULL, IFM_FIELD_DURATION, get_summary, "median_interval.upper", EXPORT },
    { "half_width_ratio", "±", IFM_FIELD_RATIO, get_half_width },
    { "n", "n", IFM_FIELD_INTEGER, get_summary_count, "n" },
    { "n_effective", NULL, IFM_FIELD_REAL, get_summary, "n_effective", EXPORT },
    { "stop_reason", NULL, IFM_FIELD_TEXT, get_measurement_text, MEASUREMENT(stop_reason), EXPORT },
    { "ending", "ended", IFM_FIELD_TEXT, get_ending, NULL, SCREEN },
    { "outputs", "outputs", IFM_FIELD_TEXT, get_outputs, NULL, SCREEN },
    { "verification", NULL, IFM_FIELD_TEXT, get_verification, NULL, EXPORT },
    { "mean_ns", "mean", IFM_FIELD_DURATION, get_summary, "mean", IFM_FIELD_BREAK },
    { "std_ns", "±std", IFM_FIELD_DURATION, get_summary, "std" },
    { "min_ns", "min", IFM_FIELD_DURATION, get_summary, "min" },
    { "p90_ns", "p90", IFM_FIELD_DURATION, get_summary, "p90" },
    { "p95_ns", "p95", IFM_FIELD_DURATION, get_summary, "p95" },
    { "p99_ns", "p99", IFM_FIELD_DURATION, get_summary, "p99" },
    { "max_ns", "max", IFM_FIELD_DURATION, get_summary, "max" },
    { "n_outliers", "outliers", IFM_FIELD_INTEGER, get_summary_count, "n_outliers" },
    { "drift_ratio", NULL, IFM_FIELD_REAL, get_summary, "drift_ratio", EXPORT },
    { "drifting", NULL, IFM_FIELD_BOOLEAN, get_summary_flag, "drifting", EXPORT },
    { "started", NULL, IFM_FIELD_TEXT, get_started, NULL, EXPORT },
    { "resumed", NULL, IFM_FIELD_BOOLEAN, get_resumed, NULL, EXPORT },
    { "case_key", NULL, IFM_FIELD_TEXT, get_case_text, CASE(key), EXPORT },
    { "uid", NULL, IFM_FIELD_TEXT, get_measurement_text, MEASUREMENT(uid), EXPORT },
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
    { "device", "device", IFM_FIELD_TEXT, ifm_field_get_text, RESULT(device), IFM_FIELD_WHOLE },
    { "subject", "subject", IFM_FIELD_TEXT, get_case_text, CASE(subject_name), IFM_FIELD_FOLD },
    { "sizes", "sizes", IFM_FIELD_TEXT, get_sizes, NULL, IFM_FIELD_HIDE_EMPTY | IFM_FIELD_FOLD },
    { "dtype", "dtype", IFM_FIELD_TEXT, get_option, "dtype", IFM_FIELD_HIDE_EMPTY | IFM_FIELD_FOLD },
    { "median_ns", "median", IFM_FIELD_DURATION, get_summary, "median" },
    { "half_width_ratio", "±", IFM_FIELD_RATIO, get_half_width },
    { "n", "n", IFM_FIELD_INTEGER, get_summary_count, "n" },
    { "ending", "ended", IFM_FIELD_TEXT, get_ending },
    { "started", "started", IFM_FIELD_TEXT, get_started_short },
    { NULL },
};

/* --- samples -------------------------------------------------------------------------------------------------------- */

static void get_sample_result(const void *record, const void *user, IfmValue *value)
{
    const IfmField *field = user;
    field->get(((const IfmSampleRow *)record)->result, field->user, value);
}

/* Columns taken over from a result. */
static const IfmField of_result[] = {
    { "case_key", NULL, IFM_FIELD_TEXT, get_case_text, CASE(key) },
    { "uid", NULL, IFM_FIELD_TEXT, get_measurement_text, MEASUREMENT(uid) },
    { "device", NULL, IFM_FIELD_TEXT, ifm_field_get_text, RESULT(device) },
};

#define SAMPLE(member) IFM_FIELD_AT(IfmSampleRow, member)

const IfmField ifm_sample_fields[] = {
    { "case_key", "case", IFM_FIELD_TEXT, get_sample_result, &of_result[0] },
    { "uid", "measurement", IFM_FIELD_TEXT, get_sample_result, &of_result[1] },
    { "device", "device", IFM_FIELD_TEXT, get_sample_result, &of_result[2] },
    { "kind", "kind", IFM_FIELD_TEXT, ifm_field_get_text, SAMPLE(kind) },
    { "index", "index", IFM_FIELD_INTEGER, ifm_field_get_count, SAMPLE(index) },
    { "time_ns", "time", IFM_FIELD_INTEGER, ifm_field_get_integer, SAMPLE(time_ns) },
    { NULL },
};
