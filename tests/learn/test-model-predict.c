#include <inferometer/model-predict.h>
#include <internal/kernel-record.h>

#include "law.h"

/* Whole models from their kernels: records made by hand, latencies learnt from a known law. */

static void set_text(char **to, const char *text)
{
    g_free(*to);
    *to = g_strdup(text);
}

static IfmKernelTensor *tensor(const char *name, gboolean constant, gint64 rows, gint64 columns)
{
    IfmKernelTensor *made = ifm_kernel_tensor_new();
    set_text(&made->name, name);
    set_text(&made->dtype, "f32");
    made->constant = constant;
    g_array_append_val(made->dims, rows);
    g_array_append_val(made->dims, columns);
    return made;
}

/* A product of @m x @k with @k x @n, or another operator of the same shapes. @after: the kernel that it waits for; -1 */
static void add_kernel(IfmKernelRecords *records, const char *name, gint64 m, gint64 k, gint64 n, gint64 after)
{
    IfmKernelRecord *record = ifm_kernel_record_new();
    set_text(&record->name, name);
    set_text(&record->op_type, name);
    set_text(&record->node, name);
    record->attributes = json_object();
    record->flop = 2 * (double)m * (double)k * (double)n;
    g_ptr_array_add(record->inputs, tensor("x", FALSE, m, k));
    g_ptr_array_add(record->inputs, tensor("w", TRUE, k, n));
    g_ptr_array_add(record->outputs, tensor("y", FALSE, m, n));
    ifm_kernel_record_count_bytes(record);
    g_free(record->digest);
    record->digest = ifm_kernel_record_digest(record);
    if (after >= 0)
        g_array_append_val(record->depends, after);
    g_ptr_array_add(records->kernels, record);
}

static IfmKernelRecords *records_new(void)
{
    static const char text[] =
        "{\"kernel_records\": 1, \"model\": \"m\", \"model_digest\": \"ab\", \"device\": \"d\", \"runtime\": \"r\", "
        "\"level\": \"all\", \"processor\": \"p\", \"settings\": \"\", \"n_nodes\": 0, \"n_folded\": 0, "
        "\"n_covered_twice\": 0, \"uncovered\": [], \"kernels\": [], \"source\": \"\"}";
    g_autoptr(GError) error = NULL;
    json_auto_t *json = json_loads(text, 0, NULL);
    IfmKernelRecords *records = ifm_kernel_records_from_json(json, "test", &error);
    g_assert_no_error(error);
    return records;
}

static IfmLatencyModel *learn(void)
{
    g_autoptr(GError) error = NULL;
    const Law law = { .n_kernels = 150, .n_visits = 2, .spread = 0.02, .seed = 3 };
    g_autoptr(IfmKernelSamples) samples = law_samples(&law);
    const IfmLearnOptions options = law_options();
    IfmLatencyModel *model = ifm_learn_train(samples, &options, &error);
    g_assert_no_error(error);
    return model;
}

/* The latency is the sum over kernels and what each node costs; the longest path is a lower bound. */
static void test_sum(void)
{
    g_autoptr(IfmLatencyModel) model = learn();
    g_autoptr(IfmKernelRecords) records = records_new();
    add_kernel(records, "Relu", 64, 128, 256, -1);
    add_kernel(records, "Relu", 128, 128, 128, 0);
    add_kernel(records, "Relu", 128, 64, 128, 0);
    add_kernel(records, "Reshape", 128, 128, 128, 1);
    for (int round = 0; round < 2; round++)
    {
        const double overhead_ns = round * 700.0;
        ifm_latency_model_set_overhead(model, overhead_ns);
        g_autoptr(IfmModelPrediction) prediction = ifm_model_predict(model, records, 1, NULL);
        double sum = 0, longest = 0, times[4];
        for (guint i = 0; i < 4; i++)
        {
            const IfmPredictedKernel *kernel = &g_array_index(prediction->kernels, IfmPredictedKernel, i);
            g_assert_cmpint(kernel->moves, ==, i == 3);
            times[i] = kernel->predicted.latency_ns;
            g_assert_true(i == 3 ? times[i] == 0 : times[i] > 0);
            sum += times[i];
        }
        longest = times[0] + MAX(times[1] + times[3] + overhead_ns, times[2]) + 2 * overhead_ns;
        g_assert_cmpfloat_with_epsilon(prediction->latency_ns, sum + 4 * overhead_ns, 1e-6);
        g_assert_cmpfloat_with_epsilon(prediction->overhead_ns, 4 * overhead_ns, 1e-6);
        g_assert_cmpfloat_with_epsilon(prediction->critical_ns, longest, 1e-6);
        g_assert_cmpfloat(prediction->low_ns, <, prediction->latency_ns);
        g_assert_cmpfloat(prediction->high_ns, >, prediction->latency_ns);
    }
}

/* An operator that nothing was learnt of is counted, and widens the interval. */
static void test_unknown(void)
{
    g_autoptr(IfmLatencyModel) model = learn();
    g_autoptr(IfmKernelRecords) known = records_new(), unknown = records_new();
    add_kernel(known, "Relu", 64, 128, 256, -1);
    add_kernel(unknown, "Unheard", 64, 128, 256, -1);
    g_autoptr(IfmModelPrediction) of_known = ifm_model_predict(model, known, 1, NULL),
                                  of_unknown = ifm_model_predict(model, unknown, 1, NULL);
    g_assert_cmpuint(of_unknown->n_unknown, ==, 1);
    g_assert_cmpfloat(of_unknown->known_ratio, ==, 0);
    g_assert_cmpfloat(of_unknown->high_ns / of_unknown->low_ns, >, of_known->high_ns / of_known->low_ns);
    g_assert_cmpfloat(of_unknown->latency_ns, >, 0);
}

static void test_loads(void)
{
    static const struct
    {
        const char *text;
        double same, other;
    } rows[] = { { "idle", 0, 0 },   { "60%", 0.6, 0 },       { "0.6", 0.6, 0 },
                 { "same:1", 1, 0 }, { "other:30%", 0, 0.3 }, { "60%,other:30%", 0.6, 0.3 } };
    static const char *const wrong[] = { "", "2", "-1", "60 percent", "others:1", "60%,", "nan", "live" };
    IfmLoadState load;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_assert_true(ifm_load_state_parse(rows[i].text, &load, NULL));
        g_assert_cmpfloat_with_epsilon(load.same, rows[i].same, 1e-12);
        g_assert_cmpfloat_with_epsilon(load.other, rows[i].other, 1e-12);
        g_assert_true(isnan(load.idle_ns));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_load_state_parse(wrong[i], &load, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_null(strchr(error->message, '\n'));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model-predict/sum", test_sum);
    g_test_add_func("/model-predict/unknown", test_unknown);
    g_test_add_func("/model-predict/loads", test_loads);
    return g_test_run();
}
