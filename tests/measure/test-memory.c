
#include "runner-fixture.h"

/* What a case takes of memory, and what is refused because it cannot fit. */

#define GIB (G_GINT64_CONSTANT(1) << 30)
#define MIB (G_GINT64_CONSTANT(1) << 20)

/* y = x W with W 1024 x 1024 (4 MiB), x of M rows, which are free. */
static void write_wide(const Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", (const char *[]){ "m=0", "k=1024", "n=1024", NULL }, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, &error));
    g_assert_no_error(error);
}

static gint64 bytes_in(const IfmMeasurement *measurement, const char *group, const char *key)
{
    const json_t *value = json_object_get(json_object_get(measurement->memory, group), key);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static gboolean is_null(const json_t *object, const char *key)
{
    return json_is_null(json_object_get(object, key));
}

static gboolean is_here(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    if (ifm_runner_find_device(fixture->runner, device, NULL, &error))
        return TRUE;
    g_test_skip(error->message);
    return FALSE;
}

/* --- what it takes -------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *device;
    gboolean engine, own; /* what the runtime tells of */
} Reported;

static const Reported reported[] = {
    { "simulated:faulty/well", TRUE, FALSE }, { "simulated:faulty/plain", FALSE, FALSE },
    { "simulated:ideal/GPU", FALSE, TRUE },   { "onnxruntime:CPU@0", TRUE, FALSE },
    { "openvino:CPU@0", FALSE, FALSE },
};

static void assert_absent(const IfmMeasurement *measurement, const char *group, const char *part)
{
    g_autofree char *why = g_strconcat(group, "_why", NULL);
    g_assert_true(is_null(measurement->memory, group));
    const char *text = text_in(measurement->memory, why);
    g_assert_nonnull(text);
    if (strstr(text, part) == NULL)
        g_assert_cmpstr(text, ==, part);
}

/* The figures stand side by side; what a runtime does not tell is null and has its reason. */
static void test_reported(gconstpointer data)
{
    const Reported *row = data;
    Fixture fixture;
    fixture_init(&fixture, NULL);
    write_wide(&fixture);
    IfmDimBinding rows = { "M", 64 };
    IfmModelCase model_case = case_on(&fixture, row->device);
    model_case.bindings = &rows;
    model_case.n_bindings = 1;
    model_case.verify = FALSE;
    if (is_here(&fixture, row->device))
    {
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        if (row->engine)
        {
            g_assert_cmpint(bytes_in(measurement, "engine", "peak_bytes"), >=, 4 * MIB); /* W at least */
            g_assert_cmpint(bytes_in(measurement, "engine", "peak_bytes"), >=,
                            bytes_in(measurement, "engine", "in_use_bytes"));
        }
        else
            assert_absent(measurement, "engine",
                          row->own ? "does not report" : "this runtime reports nothing about its memory");
        if (row->own)
            g_assert_cmpint(bytes_in(measurement, "device", "peak_bytes"), >=, 4 * MIB);
        else
            assert_absent(measurement, "device", "the device computes in the host's memory");
        /* W; x and y, 64 x 1024 floats each */
        g_assert_cmpint(bytes_in(measurement, "graph", "parameter_bytes"), ==, 4 * MIB);
        g_assert_cmpint(bytes_in(measurement, "graph", "input_bytes"), ==, 256 * 1024);
        g_assert_cmpint(bytes_in(measurement, "graph", "output_bytes"), ==, 256 * 1024);
        g_assert_cmpint(bytes_in(measurement, "graph", "peak_bytes"), ==, 512 * 1024);
        g_assert_cmpint(bytes_in(measurement, "graph", "n_unknown"), ==, 0);
        g_assert_cmpstr(text_in(json_object_get(measurement->memory, "graph"), "peak_node"), ==, "matmul1");
    }
    fixture_clear(&fixture);
}

/* Growth is peak less what there was before the compile, for each of the two peaks, which are told apart. */
static void test_growth(gconstpointer data)
{
    const char *device = data;
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model =
        ifm_zoo_build("matmul", (const char *[]){ "m=4", "k=4096", "n=4096", NULL }, 1, &error); /* W: 64 MiB */
    g_assert_true(ifm_model_save(model, fixture.model_path, &error));
    IfmModelCase model_case = case_on(&fixture, device);
    model_case.verify = FALSE;
    if (is_here(&fixture, device))
    {
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        gint64 before = bytes_in(measurement, "process", "before_compile_bytes");
        gint64 compile = bytes_in(measurement, "process", "peak_compile_bytes");
        gint64 runs = bytes_in(measurement, "process", "peak_runs_bytes");
        g_assert_cmpint(before, >, 0);
        g_assert_cmpint(bytes_in(measurement, "process", "growth_compile_bytes"), ==, MAX(compile - before, 0));
        g_assert_cmpint(bytes_in(measurement, "process", "growth_runs_bytes"), ==, MAX(runs - before, 0));
        g_assert_cmpint(bytes_in(measurement, "process", "growth_compile_bytes"), >=, 64 * MIB);
        g_assert_cmpint(runs, >=, bytes_in(measurement, "process", "before_runs_bytes") - MIB); /* counted in batches */
        g_assert_true(json_is_boolean(json_object_get(json_object_get(measurement->memory, "process"), "peak_reset")));
    }
    fixture_clear(&fixture);
}

/* --- what cannot fit ------------------------------------------------------------------------------------------------ */

typedef struct
{
    const char *device;
    gint64 rows;
    gint64 limit_bytes;
    const char *needs, *there; /* parts of the reason, by hand */
} TooLarge;

/* x and y have 4 KiB a row each, and are both alive at the product; on a device with memory of its own, too. */
static const TooLarge too_large[] = {
    { "simulated:ideal/CPU", GIB, 0,
      "needs at least 8192.0 GiB (parameters 0.00 GiB, tensors alive at node 0 'matmul1': "
      "8192.0 GiB)",
      "GiB available" },
    { "simulated:ideal/GPU", GIB, 0, "needs at least 8192.0 GiB (parameters 0.00 GiB, inputs and outputs: 8192.0 GiB)",
      "GiB available" },
    { "simulated:ideal/CPU", 64 * 1024, 100 * MIB, "needs at least 0.50 GiB (parameters 0.00 GiB, tensors alive at",
      "there are 0.10 GiB within the case's limit" },
    { "onnxruntime:CPU@0", GIB, 0, "needs at least 8192.0 GiB", "GiB available" },
    { "onnxruntime:CPU@0", 64 * 1024, 100 * MIB, "needs at least 0.50 GiB", "0.10 GiB within the case's limit" },
    { "openvino:CPU@0", 64 * 1024, 100 * MIB, "needs at least 0.50 GiB", "0.10 GiB within the case's limit" },
};

static void assert_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        g_assert_cmpstr(text, ==, part);
}

/* Said in one line, before anything is compiled or made: by a limit's watch it would have been "memory". The worker goes
 * on. */
static void test_too_large(gconstpointer data)
{
    const TooLarge *row = data;
    Fixture fixture;
    IfmLimits limits = IFM_LIMITS_INIT;
    limits.memory_bytes = row->limit_bytes;
    fixture_init(&fixture, &limits);
    write_wide(&fixture);
    IfmDimBinding rows = { "M", row->rows };
    IfmModelCase model_case = case_on(&fixture, row->device);
    model_case.bindings = &rows;
    model_case.n_bindings = 1;
    if (is_here(&fixture, row->device))
    {
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
        g_assert_cmpstr(measurement->error_code, ==, "invalid");
        g_autofree char *name = g_path_get_basename(fixture.model_path), *head = g_strndup(name, strcspn(name, "."));
        g_assert_true(g_str_has_prefix(measurement->reason, head)); /* what people call it, not where our file lies */
        g_assert_null(strstr(measurement->reason, fixture.model_path));
        assert_part(measurement->reason, row->needs);
        assert_part(measurement->reason, row->there);
        g_assert_null(strchr(measurement->reason, '\n'));
        g_assert_null(json_object_get(measurement->memory, "process")); /* it did not come to a compile */
        g_assert_cmpint(bytes_in(measurement, "graph", "input_bytes"), ==, 4096 * row->rows);
    }
    fixture_clear(&fixture);
}

/* A device that looks at no numbers takes addresses alone: what no memory holds is measured there. */
static void test_not_looked_at(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    write_wide(&fixture);
    IfmDimBinding rows = { "M", 100 * 1024 * 1024 }; /* 400 GiB each */
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/plain");
    model_case.bindings = &rows;
    model_case.n_bindings = 1;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpint(bytes_in(measurement, "graph", "peak_bytes"), ==, 800 * GIB);
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(reported); i++)
    {
        g_autofree char *path = g_strdup_printf("/memory/told/%s", reported[i].device);
        g_strdelimit(path + strlen("/memory/told/"), "/", '-');
        g_test_add_data_func(path, &reported[i], test_reported);
    }
    g_test_add_data_func("/memory/growth/onnxruntime", "onnxruntime:CPU@0", test_growth);
    g_test_add_data_func("/memory/growth/openvino", "openvino:CPU@0", test_growth);
    for (gsize i = 0; i < G_N_ELEMENTS(too_large); i++)
    {
        g_autofree char *path = g_strdup_printf("/memory/too-large/%d", (int)i);
        g_test_add_data_func(path, &too_large[i], test_too_large);
    }
    g_test_add_func("/memory/not-looked-at", test_not_looked_at);
    return g_test_run();
}
