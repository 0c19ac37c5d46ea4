#include <engine/engine.h>

/* What is written, and what it means: canonical text, engine, unit, index, cores, streams. */
static const struct
{
    const char *given, *text, *engine, *unit;
    int index;
    const char *cores;
    int n_streams;
} right[] = {
    { "onnxruntime:CPU", "onnxruntime:CPU", "onnxruntime", "CPU", -1, "", 0 },
    { "onnxruntime:CPU@0", "onnxruntime:CPU@0", "onnxruntime", "CPU", -1, "0", 0 },
    { "openvino:CPU@0-1", "openvino:CPU@0-1", "openvino", "CPU", -1, "0 1", 0 },
    { "openvino:CPU@0,1,2", "openvino:CPU@0-2", "openvino", "CPU", -1, "0 1 2", 0 },
    { "openvino:CPU@5,0,2-3,3,1023", "openvino:CPU@0,2-3,5,1023", "openvino", "CPU", -1, "0 2 3 5 1023", 0 },
    { "openvino:CPU@4-4", "openvino:CPU@4", "openvino", "CPU", -1, "4", 0 },
    { "openvino:CPU#1", "openvino:CPU", "openvino", "CPU", -1, "", 1 },
    { "openvino:CPU#16", "openvino:CPU#16", "openvino", "CPU", -1, "", 16 },
    { "onnxruntime:CUDA:0", "onnxruntime:CUDA:0", "onnxruntime", "CUDA", 0, "", 0 },
    { "onnxruntime:CUDA:007", "onnxruntime:CUDA:7", "onnxruntime", "CUDA", 7, "", 0 },
    { "openvino:GPU:1@03#02", "openvino:GPU:1@3#2", "openvino", "GPU", 1, "3", 2 },
    { "simulated:meteor-lake/GPU", "simulated:meteor-lake/GPU", "simulated", "meteor-lake/GPU", -1, "", 0 },
    { "simulated:m.1_x/NPU:2#3", "simulated:m.1_x/NPU:2#3", "simulated", "m.1_x/NPU", 2, "", 3 },
};

static char *cores_text(const IfmDeviceSpec *spec)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < spec->n_cores; i++)
        g_string_append_printf(text, i > 0 ? " %d" : "%d", spec->cores[i]);
    return g_string_free(text, FALSE);
}

static void check_spec(const IfmDeviceSpec *spec, gsize row)
{
    g_autofree char *cores = cores_text(spec);
    g_assert_cmpstr(spec->text, ==, right[row].text);
    g_assert_cmpstr(spec->engine, ==, right[row].engine);
    g_assert_cmpstr(spec->unit, ==, right[row].unit);
    g_assert_cmpint(spec->index, ==, right[row].index);
    g_assert_cmpstr(cores, ==, right[row].cores);
    g_assert_true((spec->cores == NULL) == (spec->n_cores == 0));
}

static void test_right(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(right); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(right[i].given, &error);
        g_assert_no_error(error);
        check_spec(spec, i);
        g_assert_cmpint(spec->n_streams, ==, right[i].n_streams);
        g_autoptr(IfmDeviceSpec) copy = ifm_device_spec_copy(spec);
        check_spec(copy, i);
        /* The canonical text means the same, and is canonical. */
        g_autoptr(IfmDeviceSpec) again = ifm_device_spec_parse(spec->text, &error);
        g_assert_no_error(error);
        check_spec(again, i);
        g_assert_cmpint(MAX(again->n_streams, 1), ==, MAX(spec->n_streams, 1));
    }
}

/* What is wrong, and the words that say which part. */
static const struct
{
    const char *given, *says;
} wrong[] = {
    { "", "the engine is missing" },
    { ":", "the engine is missing before ':'" },
    { ":CPU", "the engine is missing before ':CPU'" },
    { "openvino", "a ':' and a unit are missing after 'openvino'" },
    { "openvino@0", "a ':' and a unit are missing after 'openvino'" },
    { "openvino:", "the unit is missing" },
    { "openvino:@0", "the unit is missing before '@0'" },
    { "openvino:#2", "the unit is missing before '#2'" },
    { "openvino:0", "the unit '0' does not start with a letter" },
    { "1ov:CPU", "the engine '1ov' does not start with a letter" },
    { "simulated:/GPU", "the unit is missing before '/GPU'" },
    { "simulated:m/", "the unit after '/' is missing" },
    { "simulated:m/GPU/0", "'/0' is out of place" },
    { "openvino:GPU:", "a number is missing for the index, found ''" },
    { "openvino:GPU:x", "a number is missing for the index, found 'x'" },
    { "openvino:GPU:-1", "a number is missing for the index, found '-1'" },
    { "openvino:GPU:65536", "index 65536 is not within 0 to 65535" },
    { "openvino:GPU:99999999999999999999", "is not within 0 to 65535" },
    { "openvino:GPU:0:1", "':1' is out of place" },
    { "openvino:CPU@", "a number is missing for the core, found ''" },
    { "openvino:CPU@x", "a number is missing for the core, found 'x'" },
    { "openvino:CPU@0-", "a number is missing for the core, found ''" },
    { "openvino:CPU@-1", "a number is missing for the core, found '-1'" },
    { "openvino:CPU@0,", "a number is missing for the core, found ''" },
    { "openvino:CPU@0,,1", "a number is missing for the core, found ',1'" },
    { "openvino:CPU@3-1", "the range of cores 3-1 runs backwards" },
    { "openvino:CPU@1024", "core 1024 is not within 0 to 1023" },
    { "openvino:CPU@0-4294967296", "is not within 0 to 1023" },
    { "openvino:CPU@0-1-2", "'-2' is out of place" },
    { "openvino:CPU@0 ", "' ' is out of place" },
    { "openvino:CPU#", "a number is missing for the number of streams, found ''" },
    { "openvino:CPU#0", "number of streams 0 is not within 1 to 1024" },
    { "openvino:CPU#1025", "number of streams 1025 is not within 1 to 1024" },
    { "openvino:CPU#2@0", "'@0' is out of place" },
    { "openvino:CPU@0:1", "':1' is out of place" },
    { "openvino:C PU", "' PU' is out of place" },
    { " openvino:CPU", "the engine is missing before ' openvino:CPU'" },
};

static void test_wrong(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(wrong[i].given, &error);
        g_assert_null(spec);
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_autofree char *start = g_strdup_printf("device '%s': ", wrong[i].given);
        g_assert_true(g_str_has_prefix(error->message, start));
        if (strstr(error->message, wrong[i].says) == NULL)
            g_error("'%s' should say: %s", error->message, wrong[i].says);
        g_assert_null(strchr(error->message, '\n'));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/spec/right", test_right);
    g_test_add_func("/spec/wrong", test_wrong);
    return g_test_run();
}
