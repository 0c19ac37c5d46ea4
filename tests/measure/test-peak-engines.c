#include <math.h>
#include <sched.h>

#include "measure/measure-private.h"
#include "runner-fixture.h"

/* Limits of the real runtimes' processor devices, where they are. Nothing here depends on how fast they are. */

typedef struct
{
    const char *device;
    int threads, n_threads; /* 0: as many as this process may use */
    const char *cores;
    IfmDtype dtype, triad;
} Real;

static const Real limits[] = {
    { "onnxruntime:CPU@0", 1, 1, "0", IFM_DTYPE_F32, IFM_DTYPE_F32 },
    { "onnxruntime:CPU", 0, 0, NULL, IFM_DTYPE_F64, IFM_DTYPE_F64 },
    { "openvino:CPU@0", 0, 1, "0", IFM_DTYPE_F32, IFM_DTYPE_F32 },
    { "openvino:CPU", 1, 1, NULL, IFM_DTYPE_F32, IFM_DTYPE_F32 },
};

static gboolean is_here(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    if (ifm_runner_find_device(fixture->runner, device, NULL, &error))
        return TRUE;
    g_test_skip(error->message);
    return FALSE;
}

static int n_allowed(void)
{
    cpu_set_t mask;
    g_assert_cmpint(sched_getaffinity(0, sizeof mask, &mask), ==, 0);
    return CPU_COUNT(&mask);
}

static gboolean may_use_core_0(void)
{
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_ISSET(0, &mask);
}

static double number_in(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static gint compare_ns(gconstpointer a, gconstpointer b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* The median of the samples, computed here. */
static double median_of(GArray *samples)
{
    g_autoptr(GArray) sorted = g_array_copy(samples);
    g_array_sort(sorted, compare_ns);
    guint n = sorted->len;
    return ((double)g_array_index(sorted, gint64, (n - 1) / 2) + (double)g_array_index(sorted, gint64, n / 2)) / 2;
}

static void assert_within(const json_t *peak, const char *interval, const char *figure)
{
    const json_t *lower = json_array_get(json_object_get(peak, interval), 0);
    const json_t *upper = json_array_get(json_object_get(peak, interval), 1);
    if (json_is_null(lower)) /* too few independent samples on a busy machine bound no median */
        return;
    g_assert_cmpfloat(json_number_value(lower), <=, number_in(peak, figure));
    g_assert_cmpfloat(json_number_value(upper), >=, number_in(peak, figure));
}

/* Sizes double; the samples are those of the size with the best rate, which is 2 n^3 over their median. */
static void check_products(const json_t *peak, GArray *samples)
{
    const json_t *products = json_object_get(peak, "products");
    double best = 0, best_size = 0;
    for (gsize i = 0; i < json_array_size(products); i++)
    {
        const json_t *one = json_array_get(products, i);
        g_assert_cmpint(json_integer_value(json_object_get(one, "size")), ==, (gint64)256 << i);
        if (number_in(one, "flop_per_s") <= best)
            continue;
        best = number_in(one, "flop_per_s");
        best_size = number_in(one, "size");
        g_assert_cmpint(json_integer_value(json_object_get(one, "n")), >=, 1);
    }
    g_assert_cmpfloat(best, >, 0);
    g_assert_cmpfloat(number_in(peak, "flop_per_s"), ==, best);
    g_assert_cmpfloat_with_epsilon(best, 1e9 * 2 * pow(best_size, 3) / median_of(samples), 1e-9 * best);
    assert_within(peak, "flop_interval", "flop_per_s");
}

static void check_triad(const json_t *peak, IfmDtype dtype)
{
    gint64 bytes = json_integer_value(json_object_get(peak, "triad_bytes"));
    g_assert_cmpint(bytes, >=, 3 * json_integer_value(json_object_get(peak, "cache_bytes")));
    g_assert_cmpint(bytes % (3 * (gint64)ifm_dtype_size_bytes(dtype)), ==, 0);
    g_assert_cmpstr(text_in(peak, "triad_by"), ==, "loops");
    g_assert_cmpstr(text_in(peak, "triad_dtype"), ==, ifm_dtype_name(dtype));
    g_assert_true(json_is_false(json_object_get(peak, "write_allocate_counted")));
    g_assert_cmpfloat(number_in(peak, "bytes_per_s"), >, 0);
    assert_within(peak, "bytes_interval", "bytes_per_s");
    /* the same in the caches that the machine reports: a nearer one holds less and is not slower, nor is memory faster */
    const json_t *caches = json_object_get(peak, "caches");
    double faster = INFINITY, smaller = 0;
    for (gsize i = 0; i <= json_array_size(caches); i++)
    {
        const json_t *one = i < json_array_size(caches) ? json_array_get(caches, i) : peak;
        g_assert_cmpfloat(number_in(one, "bytes_per_s"), <=, faster);
        faster = number_in(one, "bytes_per_s");
        if (one == peak)
            break;
        g_assert_cmpfloat(number_in(one, "bytes"), >, smaller);
        g_assert_cmpint(json_integer_value(json_object_get(one, "n")), >=, 1);
        smaller = number_in(one, "bytes");
    }
}

static void test_real(gconstpointer data)
{
    const Real *row = data;
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase peak_case = {
        .device = row->device, .threads = row->threads, .dtype = row->dtype, .time_budget_ns = 1500 * MS
    };
    if (row->cores != NULL && !may_use_core_0())
        g_test_skip("this process may not use core 0");
    else if (is_here(&fixture, row->device))
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_peak, &peak_case, &error);
        g_assert_no_error(error);
        g_autoptr(IfmMeasurement) measurement =
            ifm_runner_measure(fixture.runner, &ifm_kind_peak, &peak_case, sealed, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
        const json_t *peak = ifm_measurement_result(measurement, NULL);
        g_assert_cmpstr(text_in(peak, "source"), ==, "measured");
        g_assert_cmpint(json_integer_value(json_object_get(peak, "threads")), ==,
                        row->n_threads > 0 ? row->n_threads : n_allowed());
        if (row->cores != NULL)
            g_assert_cmpstr(text_in(peak, "triad_cores"), ==, row->cores);
        check_products(peak, measurement->samples_ns);
        check_triad(peak, row->triad);
        g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "real");
        g_assert_true(json_is_object(measurement->effective_config));
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
    }
    fixture_clear(&fixture);
}

/* Refused in the runtime's words, or measured in what it executes: never another precision under that name. */
static void test_half(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase peak_case = { .device = "onnxruntime:CPU", .dtype = IFM_DTYPE_BF16, .time_budget_ns = 500 * MS };
    if (is_here(&fixture, peak_case.device))
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_peak, &peak_case, &error);
        g_autoptr(IfmMeasurement) measurement =
            ifm_runner_measure(fixture.runner, &ifm_kind_peak, &peak_case, sealed, &error);
        g_assert_no_error(error);
        if (measurement->outcome == IFM_OUTCOME_OK)
            g_assert_cmpstr(text_in(measurement->effective_config, "dtype"), ==, "bf16");
        else
            g_assert_cmpstr(measurement->error_code, ==, "unsupported");
    }
    fixture_clear(&fixture);
}

/* Cores that there are not: a failure with its reason. */
static void test_no_such_cores(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase peak_case = { .device = "onnxruntime:CPU@1000", .time_budget_ns = 500 * MS };
    if (is_here(&fixture, "onnxruntime:CPU"))
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_peak, &peak_case, &error);
        g_autoptr(IfmMeasurement) measurement =
            ifm_runner_measure(fixture.runner, &ifm_kind_peak, &peak_case, sealed, &error);
        g_assert_no_error(error);
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
        g_assert_cmpstr(measurement->error_code, ==, "invalid");
    }
    fixture_clear(&fixture);
}

/* --- the models, in this process ------------------------------------------------------------------------------------ */

typedef struct
{
    const char *engine;
    IfmPeakKind kind;
    gint64 size;
    double work; /* by hand */
} Modelled;

static const Modelled modelled[] = {
    { "onnxruntime", IFM_PEAK_PRODUCT, 256, 33554432 }, { "openvino", IFM_PEAK_PRODUCT, 256, 33554432 },
    { "onnxruntime", IFM_PEAK_PRODUCT, 32, 65536 },     { "onnxruntime", IFM_PEAK_TRIAD, 10000, 200004 },
    { "openvino", IFM_PEAK_TRIAD, 10000, 200004 },      { "onnxruntime", IFM_PEAK_TRIAD, 100, 2004 },
};

/* They compute what they say, and an output that is off is found, wherever the check looks. */
static void test_modelled(gconstpointer data)
{
    const Modelled *row = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open(row->engine, clock, &error);
    if (engine == NULL)
    {
        g_test_skip(error->message);
        return;
    }
    g_autofree char *device = g_strconcat(row->engine, ":CPU", NULL);
    const IfmPeakCase peak_case = { .device = device, .dtype = IFM_DTYPE_F32, .threads = 1 };
    g_autoptr(IfmPeakSubject) subject =
        ifm_peak_subject_new(engine, &peak_case, row->kind, row->size, IFM_DTYPE_F32, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(ifm_peak_subject_work(subject), ==, row->work);
    IfmSubject slots = ifm_peak_subject_slots(subject);
    for (int i = 0; i < 5; i++)
    {
        g_assert_true(slots.run(slots.self, &error));
        g_assert_true(slots.verify(slots.self, &error));
    }
    IfmTensor output = IFM_TENSOR_INIT;
    g_assert_true(ifm_request_output(ifm_peak_subject_model(subject)->requests[0], 0, &output, &error));
    for (gint64 i = 0; i < ifm_tensor_n_elements(&output); i += 30)
        ((float *)output.data)[i] += 1;
    g_assert_false(slots.verify(slots.self, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, row->kind == IFM_PEAK_PRODUCT ? "product of size" : "triad of size"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(modelled); i++)
    {
        g_autofree char *path = g_strdup_printf("/limit-engines/model/%d-%s", (int)i, modelled[i].engine);
        g_test_add_data_func(path, &modelled[i], test_modelled);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++)
    {
        g_autofree char *path = g_strdup_printf("/limit-engines/%d", (int)i);
        g_test_add_data_func(path, &limits[i], test_real);
    }
    g_test_add_func("/limit-engines/half", test_half);
    g_test_add_func("/limit-engines/no-such-cores", test_no_such_cores);
    return g_test_run();
}
