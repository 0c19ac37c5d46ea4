#include <base/fields.h>
#include <math.h>
#include <store/store.h>
#include <string.h>

#include "build-folders.h"

static IfmCase *example_case(void)
{
    IfmCase *self = ifm_case_new();
    g_free(self->subject_kind);
    self->subject_kind = g_strdup("model");
    g_free(self->subject_name);
    self->subject_name = g_strdup("small-cnn");
    g_free(self->device);
    self->device = g_strdup("onnxruntime:CPU@0-1");
    g_free(self->model_path);
    self->model_path = g_strdup("/models/small-cnn.onnx");
    json_object_set_new(self->sizes, "N", json_integer(8));
    json_object_set_new(self->options, "dtype", json_string("f32"));
    json_object_set_new(self->options, "ci", json_real(0.01));
    return self;
}

static IfmMeasurement *example_measurement(void)
{
    IfmMeasurement *self = ifm_measurement_new();
    const gint64 samples[] = { 0, 1, G_MAXINT64, 9007199254740993, -1 }; /* 2^53 + 1 is no double */
    g_array_append_vals(self->samples_ns, samples, G_N_ELEMENTS(samples));
    g_array_append_val(self->warmup_ns, samples[3]);
    g_free(self->reason);
    self->reason = g_strdup("said: \"no\"\n\xc3\xa9");
    self->outcome = IFM_OUTCOME_SKIPPED;
    self->has_summary = TRUE;
    self->summary.median = 0.1;
    self->result = json_pack("{s:f}", "figure", 0.2);
    IfmNodeRow *row = g_new0(IfmNodeRow, 1);
    row->name = g_strdup("conv");
    row->median_ns = 1.0 / 3;
    row->start_ns = NAN;
    g_ptr_array_add(self->nodes, row);
    return self;
}

static void test_key(void)
{
    g_autoptr(IfmCase) one = example_case();
    g_autoptr(IfmCase) two = example_case();
    ifm_case_seal(one);
    g_free(two->model_path); /* the only field that may differ */
    two->model_path = g_strdup("/elsewhere/x.onnx");
    ifm_case_seal(two);
    g_assert_cmpuint(strlen(one->key), ==, 64);
    g_assert_cmpstr(one->key, ==, two->key);
    g_autofree char *before = g_strdup(one->key);
    ifm_case_seal(one); /* the key is no part of itself */
    g_assert_cmpstr(one->key, ==, before);
}

/* Every field but those three changes the key. */
static void test_key_covers(void)
{
    g_autoptr(IfmCase) self = example_case();
    ifm_case_seal(self);
    json_auto_t *json = ifm_case_to_json(self);
    const char *name;
    json_t *value;
    guint n = 0;
    json_object_foreach(json, name, value)
    {
        if (g_str_equal(name, "key") || g_str_equal(name, "model_path") || g_str_equal(name, "alias"))
            continue;
        json_auto_t *changed = json_deep_copy(json);
        json_object_set_new(changed, name, json_is_string(value) ? json_string("other") : json_pack("{s:i}", "other", 1));
        json_object_set_new(changed, "key", json_string(""));
        g_autoptr(IfmCase) other = ifm_case_from_json(changed, NULL);
        g_assert_nonnull(other);
        ifm_case_seal(other);
        g_assert_cmpstr(other->key, !=, self->key);
        n++;
    }
    g_assert_cmpuint(n, ==, 8);
}

static void test_case_round_trip(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) self = example_case();
    ifm_case_seal(self);
    json_auto_t *json = ifm_case_to_json(self);
    g_autofree char *text = ifm_json_canonical(json);
    json_auto_t *parsed = ifm_json_parse(text, strlen(text), "case", &error);
    g_autoptr(IfmCase) again = ifm_case_from_json(parsed, &error);
    g_assert_no_error(error);
    json_auto_t *json_again = ifm_case_to_json(again);
    g_assert_true(json_equal(json, json_again));
    g_assert_null(again->load);
    g_assert_cmpstr(again->model_path, ==, "/models/small-cnn.onnx");

    json_object_set_new(parsed, "device", json_string("openvino:CPU"));
    g_assert_null(ifm_case_from_json(parsed, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    g_assert_true(g_str_has_prefix(error->message, "case.key: "));
}

static void test_measurement_round_trip(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmMeasurement) self = example_measurement();
    json_auto_t *json = ifm_measurement_to_json(self);
    g_autofree char *text = ifm_json_canonical(json);
    json_auto_t *parsed = ifm_json_parse(text, strlen(text), "measurement", &error);
    g_autoptr(IfmMeasurement) again = ifm_measurement_from_json(parsed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(again->uid, ==, self->uid);
    g_assert_cmpint(again->outcome, ==, IFM_OUTCOME_SKIPPED);
    g_assert_cmpstr(again->reason, ==, self->reason);
    g_assert_cmpint(again->started_unix_ms, ==, self->started_unix_ms);
    g_assert_cmpmem(again->samples_ns->data, again->samples_ns->len * sizeof(gint64), self->samples_ns->data,
                    self->samples_ns->len * sizeof(gint64));
    g_assert_cmpint(g_array_index(again->warmup_ns, gint64, 0), ==, 9007199254740993);
    g_assert_cmpuint(again->profiled_ns->len, ==, 0);
    g_assert_cmpuint(again->nodes->len, ==, 1);
    const IfmNodeRow *row = again->nodes->pdata[0];
    g_assert_cmpstr(row->name, ==, "conv");
    g_assert_cmpstr(row->provider, ==, "");
    g_assert_cmpfloat(row->median_ns, ==, 1.0 / 3);
    g_assert_true(isnan(row->start_ns));
    g_assert_true(again->has_summary);
    g_assert_cmpfloat(again->summary.median, ==, 0.1);
    g_assert_true(isnan(again->summary.p99));
    g_assert_true(json_equal(again->result, self->result));
    g_assert_null(again->breakdown);
}

typedef struct
{
    char *text;
    gint64 number;
    json_t *object;
    double figure;
} Sparse;

static const IfmRecordField sparse_fields[] = {
    { IFM_RECORD(STRING, Sparse, text) },
    { IFM_RECORD(INT64, Sparse, number), .sparse = TRUE },
    { IFM_RECORD(JSON, Sparse, object), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, Sparse, figure), .sparse = TRUE },
    { NULL },
};

/* A text that may be none is null; what is sparse is left out where it is nothing, and may be missing. */
static void test_sparse(void)
{
    static const char *const texts[] = { "{\"text\":null}",
                                         "{\"figure\":0.5,\"number\":7,\"object\":{\"a\":1},\"text\":\"t\"}" };
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        Sparse record = { 0 };
        json_auto_t *json = ifm_json_parse(texts[i], strlen(texts[i]), "sparse", &error);
        g_assert_true(ifm_record_from_json(&record, sparse_fields, json, "sparse", NULL, &error));
        g_assert_cmpint(record.number, ==, i == 0 ? 0 : 7);
        json_auto_t *again = ifm_record_to_json(&record, sparse_fields);
        g_autofree char *text = ifm_json_canonical(again);
        g_assert_cmpstr(text, ==, texts[i]);
        ifm_record_clear(&record, sparse_fields);
    }
    Sparse record = { 0 };
    json_auto_t *missing = json_object();
    g_assert_false(
        ifm_record_from_json(&record, sparse_fields, missing, "sparse", NULL, &error)); /* its text is not sparse */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* The JSON is a copy: changing it leaves the record as it was, and the other way round. */
static void test_independent(void)
{
    g_autoptr(IfmMeasurement) self = example_measurement();
    json_auto_t *json = ifm_measurement_to_json(self);
    json_object_set_new(json_object_get(json, "summary"), "median", json_real(7));
    g_assert_cmpfloat(self->summary.median, ==, 0.1);
    g_autoptr(IfmMeasurement) again = ifm_measurement_from_json(json, NULL);
    json_object_set_new(json_object_get(json, "summary"), "median", json_real(8));
    g_assert_cmpfloat(again->summary.median, ==, 7);
}

static void assert_refused(const char *key, json_t *value /* (transfer full) */, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmMeasurement) self = example_measurement();
    json_auto_t *json = ifm_measurement_to_json(self);
    if (value != NULL)
        json_object_set_new(json, key, value);
    else
        json_object_del(json, key);
    g_autoptr(IfmMeasurement) got = ifm_measurement_from_json(json, &error);
    g_assert_null(got);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_refused(void)
{
    assert_refused("samples_ns", json_pack("[i,f]", 1, 0.5), "measurement.samples_ns[1]: found 0.5, expected an integer");
    assert_refused("outcome", json_string("fine"),
                   "measurement.outcome: found \"fine\", expected \"ok\", \"failed\" or \"skipped\"");
    assert_refused("breakdown", NULL, "measurement.breakdown: missing, expected an object");
    assert_refused("effective_config", json_array(), "measurement.effective_config: found an array, expected an object");
    assert_refused("reasn", json_string(""), "measurement.reasn: unknown key; did you mean \"reason\"?");
    assert_refused("nodes", json_pack("[{s:s}]", "name", "x"), "measurement.nodes[0].op_type: missing, expected a string");
    assert_refused("started_unix_ms", json_true(), "measurement.started_unix_ms: found true, expected an integer");
}

/* What a runtime says may not be UTF-8: it is still told. */
static void test_not_utf8(void)
{
    g_autoptr(IfmMeasurement) self = ifm_measurement_new();
    g_free(self->reason);
    self->reason = g_strdup("bad \xff byte");
    json_auto_t *json = ifm_measurement_to_json(self);
    g_assert_cmpstr(json_string_value(json_object_get(json, "reason")), ==, "bad \xef\xbf\xbd byte");
}

static void test_uid(void)
{
    g_autoptr(IfmMeasurement) one = ifm_measurement_new();
    g_autoptr(IfmMeasurement) two = ifm_measurement_new();
    g_assert_cmpuint(strlen(one->uid), ==, 32);
    g_assert_cmpstr(one->uid, !=, two->uid);
}

/* docs/formats.md names every key. */
static void assert_documented(const json_t *json)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(IFM_SOURCE_DIR "/docs/formats.md", &text, NULL, NULL));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json, key, value)
    {
        g_autofree char *quoted = g_strdup_printf("`%s`", key);
        if (strstr(text, quoted) == NULL)
            g_error("docs/formats.md does not name %s", quoted);
    }
}

static void test_documented(void)
{
    g_autoptr(IfmCase) subject_case = example_case();
    g_autoptr(IfmMeasurement) measurement = example_measurement();
    json_auto_t *case_json = ifm_case_to_json(subject_case), *measurement_json = ifm_measurement_to_json(measurement);
    assert_documented(case_json);
    assert_documented(measurement_json);
    assert_documented(json_array_get(json_object_get(measurement_json, "nodes"), 0));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/sparse", test_sparse);
    g_test_add_func("/record/key", test_key);
    g_test_add_func("/record/key/covers", test_key_covers);
    g_test_add_func("/record/case/round-trip", test_case_round_trip);
    g_test_add_func("/record/measurement/round-trip", test_measurement_round_trip);
    g_test_add_func("/record/independent", test_independent);
    g_test_add_func("/record/refused", test_refused);
    g_test_add_func("/record/not-utf8", test_not_utf8);
    g_test_add_func("/record/uid", test_uid);
    g_test_add_func("/record/documented", test_documented);
    return g_test_run();
}
