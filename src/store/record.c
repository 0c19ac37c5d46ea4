#include "store-private.h"
#include <base/fields.h>
#include <base/statistics.h>
#include <math.h>
#include <sensor/sensor.h>
#include <store/store.h>
#include <string.h>
#include <sys/random.h>

/* Cases and measurements are made, sealed with a key, checked, and written as JSON and read from it. */

/*
 * The records' fields are listed in tables, so that making, freeing, writing and reading one cannot drift apart.
 * What a field means is said at its struct in store.h, its place in a file in docs/formats.md.
 */
#define FIELD IFM_RECORD

const IfmRecordField ifm_case_fields[] = {
    { FIELD(TEXT, IfmCase, key) },          { FIELD(TEXT, IfmCase, subject_kind) },
    { FIELD(TEXT, IfmCase, subject_name) }, { FIELD(TEXT, IfmCase, subject_digest) },
    { FIELD(TEXT, IfmCase, model_path) },   { FIELD(TEXT, IfmCase, device) },
    { FIELD(TEXT, IfmCase, alias) },        { FIELD(JSON, IfmCase, sizes) },
    { FIELD(JSON, IfmCase, options) },      { FIELD(JSON, IfmCase, load) },
    { FIELD(JSON, IfmCase, environment) },  { NULL },
};

static const IfmRecordField node_fields[] = {
    { FIELD(TEXT, IfmNodeRow, name) },       { FIELD(TEXT, IfmNodeRow, op_type) },
    { FIELD(TEXT, IfmNodeRow, provider) },   { FIELD(TEXT, IfmNodeRow, implementation) },
    { FIELD(TEXT, IfmNodeRow, dtype) },      { FIELD(DOUBLE, IfmNodeRow, median_ns) },
    { FIELD(DOUBLE, IfmNodeRow, start_ns) }, { NULL },
};

static void node_row_free(gpointer row)
{
    ifm_record_free(row, node_fields);
}

const IfmRecordField ifm_interval_fields[] = {
    { FIELD(DOUBLE, IfmInterval, lower), .optional = TRUE },
    { FIELD(DOUBLE, IfmInterval, upper), .optional = TRUE },
    { FIELD(DOUBLE, IfmInterval, level), .optional = TRUE },
    { NULL },
};

/* Optional: tables that were read in have fewer. */
static const IfmRecordField summary_fields[] = {
    { FIELD(SIZE, IfmSummary, n), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, mean), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, std), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, min), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, max), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, median), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, p90), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, p95), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, p99), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, n_effective), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, drift_ratio), .optional = TRUE },
    { FIELD(DOUBLE, IfmSummary, drift_p), .optional = TRUE },
    { FIELD(PART, IfmSummary, median_interval), .fields = ifm_interval_fields, .optional = TRUE },
    { FIELD(FLAG, IfmSummary, drifting), .optional = TRUE },
    { FIELD(SIZE, IfmSummary, n_outliers), .optional = TRUE },
    { NULL },
};

static const char *const outcome_names[] = {
    [IFM_OUTCOME_OK] = "ok", [IFM_OUTCOME_FAILED] = "failed", [IFM_OUTCOME_SKIPPED] = "skipped", NULL
};

const IfmRecordField ifm_measurement_fields[] = {
    { FIELD(TEXT, IfmMeasurement, uid) },
    { FIELD(TEXT, IfmMeasurement, case_key) },
    { FIELD(INT64, IfmMeasurement, started_unix_ms) },
    { FIELD(CHOICE, IfmMeasurement, outcome), .words = outcome_names },
    { FIELD(TEXT, IfmMeasurement, error_code) },
    { FIELD(TEXT, IfmMeasurement, reason) },
    { FIELD(TEXT, IfmMeasurement, stop_reason) },
    { FIELD(SERIES, IfmMeasurement, warmup_ns) },
    { FIELD(SERIES, IfmMeasurement, samples_ns) },
    { FIELD(SERIES, IfmMeasurement, profiled_ns) },
    { FIELD(ROWS, IfmMeasurement, nodes), .fields = node_fields, .size = sizeof(IfmNodeRow), .free = node_row_free },
    { FIELD(MAYBE, IfmMeasurement, summary), .count = offsetof(IfmMeasurement, has_summary), .fields = summary_fields },
    { FIELD(JSON, IfmMeasurement, result) },
    { FIELD(JSON, IfmMeasurement, environment) },
    { FIELD(JSON, IfmMeasurement, effective_config) },
    { FIELD(JSON, IfmMeasurement, verification) },
    { FIELD(JSON, IfmMeasurement, breakdown) },
    { FIELD(JSON, IfmMeasurement, memory) },
    { NULL },
};

const char *ifm_outcome_name(IfmOutcome outcome)
{
    g_return_val_if_fail((gsize)outcome < G_N_ELEMENTS(outcome_names), "failed");
    return outcome_names[outcome];
}

/* --- cases ------------------------------------------------------------------------------------------------------------ */

IfmCase *ifm_case_new(void)
{
    IfmCase *self = g_rc_box_new0(IfmCase);
    ifm_record_init(self, ifm_case_fields);
    self->sizes = json_object();
    self->options = json_object();
    self->environment = json_object();
    return self;
}

static void clear_case(gpointer self)
{
    ifm_record_clear(self, ifm_case_fields);
}

void ifm_case_free(IfmCase *self)
{
    if (self != NULL)
        g_rc_box_release_full(self, clear_case);
}

IfmCase *ifm_case_ref(const IfmCase *self)
{
    return g_rc_box_acquire((gpointer)self);
}

void ifm_record_set_text(char **field, const char *text)
{
    char *copy = g_strdup(text != NULL ? text : "");
    g_free(*field);
    *field = copy;
}

void ifm_record_set_json(json_t **field, json_t *json)
{
    json_decref(*field);
    *field = json;
}

/* SHA-256 of a record's canonical JSON, but for the members that are null, "", {} or []: so a member that is added one day
 * leaves the key of every older case as it is. (transfer full) */
static char *digest_of(const json_t *record)
{
    json_auto_t *reported = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)record, key, value)
    {
        gboolean empty = json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
                         (json_is_object(value) && json_object_size(value) == 0) ||
                         (json_is_array(value) && json_array_size(value) == 0);
        if (!empty)
            json_object_set(reported, key, value);
    }
    return ifm_json_digest(reported);
}

static char *case_key(const IfmCase *self)
{
    json_auto_t *json = ifm_case_to_json(self);
    json_object_del(json, "key");
    json_object_del(json, "model_path");
    json_object_del(json, "alias"); /* a name for a thing is not the thing */
    return digest_of(json);
}

void ifm_case_seal(IfmCase *self)
{
    char *key = case_key(self);
    g_free(self->key);
    self->key = key;
}

gboolean ifm_case_check(const IfmCase *self, GError **error)
{
    g_autofree char *key = *self->key != '\0' ? case_key(self) : g_strdup("");
    if (g_str_equal(self->key, key))
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_CORRUPT, "case.key: found %s, the other fields give %s", self->key, key);
}

json_t *ifm_case_to_json(const IfmCase *self)
{
    return ifm_record_to_json(self, ifm_case_fields);
}

IfmCase *ifm_case_from_json(const json_t *json, GError **error)
{
    g_autoptr(IfmCase) self = ifm_case_new();
    return ifm_record_from_json(self, ifm_case_fields, json, "case", NULL, error) && ifm_case_check(self, error)
               ? g_steal_pointer(&self)
               : NULL;
}

/* --- measurements ----------------------------------------------------------------------------------------------------- */

/* From the kernel and not from GLib's generator: processes that forked from one another would draw the same numbers. */
static char *random_uid(void)
{
    guint64 chance[2] = { 0 };
    if (getrandom(chance, sizeof chance, 0) != sizeof chance)
        g_error("the kernel gives no random numbers");
    return g_strdup_printf("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", chance[0], chance[1]);
}

IfmMeasurement *ifm_measurement_new(void)
{
    IfmMeasurement *self = g_rc_box_new0(IfmMeasurement);
    ifm_record_init(self, ifm_measurement_fields);
    g_free(self->uid);
    self->uid = random_uid();
    self->started_unix_ms = g_get_real_time() / 1000;
    ifm_measurement_set_summary(self, NULL);
    return self;
}

static void clear_measurement(gpointer self)
{
    ifm_record_clear(self, ifm_measurement_fields);
}

void ifm_measurement_free(IfmMeasurement *self)
{
    if (self != NULL)
        g_rc_box_release_full(self, clear_measurement);
}

IfmMeasurement *ifm_measurement_ref(const IfmMeasurement *self)
{
    return g_rc_box_acquire((gpointer)self);
}

void ifm_measurement_set_summary(IfmMeasurement *self, const IfmSummary *summary)
{
    self->has_summary = summary != NULL;
    if (summary != NULL)
        self->summary = *summary;
    else
        ifm_summary_compute(NULL, 0, NAN, &self->summary);
}

gboolean ifm_measurement_is_disturbed(const IfmMeasurement *self)
{
    const json_t *mark = json_object_get(self->environment, "disturbed");
    if (g_strcmp0(ifm_member_text(self->environment, "clock_kind"), "virtual") == 0)
        return FALSE; /* nothing disturbs what is simulated */
    /* in records without the mark: of the processors */
    return mark != NULL ? json_is_true(mark) : ifm_member_number(self->environment, "others_ratio") > IFM_OTHERS_DISTURB;
}

const json_t *ifm_measurement_result(const IfmMeasurement *self, const char *path)
{
    const json_t *result = self != NULL ? self->result : NULL;
    return path == NULL || result == NULL ? result : ifm_member(result, path);
}

json_t *ifm_summary_to_json(const IfmSummary *summary)
{
    return ifm_record_to_json(summary, summary_fields);
}

double ifm_summary_figure(const IfmSummary *summary, const char *name)
{
    static const char *const of_samples[] = { "n", "n_outliers", "drifting", NULL };
    if (summary == NULL || (summary->n == 0 && g_strv_contains(of_samples, name)))
        return (double)NAN;
    return ifm_record_number(summary, summary_fields, name);
}

json_t *ifm_measurement_to_json(const IfmMeasurement *self)
{
    return ifm_record_to_json(self, ifm_measurement_fields);
}

IfmMeasurement *ifm_measurement_from_json(const json_t *json, GError **error)
{
    g_autoptr(IfmMeasurement) self = ifm_measurement_new();
    if (!ifm_record_from_json(self, ifm_measurement_fields, json, "measurement", NULL, error))
        return NULL;
    return g_steal_pointer(&self);
}
