
#include "law.h"
#include "sensor/http-server.h"

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
    ifm_kernel_record_complete(record);
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
    for (int round = 0; round < 4; round++)
    {
        /* a load on the same cores slows the nodes' overhead, as it is work of the processor */
        const IfmLoadState load = { round == 2 ? 0.6 : 0, round == 3 ? 0.6 : 0, (double)NAN, NULL };
        const double overhead_ns = round == 2 ? 2 * 700 : round > 0 ? 700 : 0;
        ifm_latency_model_set_overhead(model, round > 0 ? 700 : 0);
        g_autoptr(IfmModelPrediction) prediction = ifm_model_predict(model, records, 1, round < 2 ? NULL : &load);
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

/* An operator that nothing was learnt of is counted, and widens the interval; of the time it may be as much as the interval
 * holds. */
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
    add_kernel(known, "Unheard", 64, 128, 256, -1);
    for (guint i = 0; i < model->features->len; i++) /* none is outside of nothing */
        ((IfmLearnFeature *)model->features->pdata[i])->min = (double)NAN;
    g_autoptr(IfmModelPrediction) of_both = ifm_model_predict(model, known, 1, NULL);
    const IfmPredictedKernel *kernels = (const IfmPredictedKernel *)(const void *)of_both->kernels->data;
    const double learnt_ns = kernels[0].predicted.low_ns, most_ns = kernels[1].predicted.high_ns;
    g_assert_cmpfloat_with_epsilon(of_both->known_ratio, learnt_ns / (learnt_ns + most_ns), 1e-12);
    g_assert_cmpfloat(of_both->known_ratio, <, learnt_ns / of_both->latency_ns);
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

/* Of what runs or waits a busy core; looks that differ by chance are no competitors where nothing waited. */
static void test_competitors(void)
{
    static const struct
    {
        double running, busy, pressure, groups, competitors;
    } rows[] = { { 0, 0, 0, NAN, 1 },   { 1, 1, 0, NAN, 1 },     { 0.7, 0.6, 0.01, NAN, 1 }, { 3, 1, 1, NAN, 3 },
                 { 2, 1, NAN, NAN, 2 }, { NAN, 1, NAN, NAN, 1 }, { 1.5, 1, 1, NAN, 2 },      { NAN, 1, 1, NAN, 2 },
                 { 6, 2, 0.9, NAN, 3 }, { NAN, 0, NAN, NAN, 1 }, { 8, 1, 1, 2, 2 },          { 6, 2, 0.9, 1, 0.5 },
                 { 8, 1, 1, 0, 1 },     { 3, 1, 1, 5, 3 } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpfloat_with_epsilon(learn_competitors(rows[i].running, rows[i].busy, rows[i].pressure, rows[i].groups),
                                       rows[i].competitors, 1e-12);
}

/* (transfer full) learnt with one metric of that name, which copies take from */
static IfmLatencyModel *learn_with(const char *metric)
{
    const Law law = { .n_kernels = 90, .n_visits = 1, .spread = 0.02, .loads = TRUE, .seed = 3 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) from = law_samples(&law),
                                samples = ifm_kernel_samples_new((const char *const[]){ metric, NULL });
    const IfmLearnOptions options = law_options();
    for (gsize i = 0; i < ifm_kernel_samples_n(from); i++)
    {
        IfmKernelSample sample = *ifm_kernel_samples_at(from, i);
        const double left = 1e10 * (1 - 0.5 * sample.metrics[1]);
        sample.metrics = &left;
        ifm_kernel_samples_add(samples, &sample);
    }
    IfmLatencyModel *model = ifm_learn_train(samples, &options, &error);
    g_assert_no_error(error);
    return model;
}

/* What the machine does now fills the metrics that were learnt, where it can be had; else there are none. A load that has
 * less bandwidth left is not faster. */
static void test_live(void)
{
    const int core = 0;
    static const char *const columns[] = { "metric:before:read_bytes_per_s", "metric:before:a_query" };
    IfmKernelSample sample;
    ifm_kernel_sample_init(&sample);
    sample.op_type = "Relu";
    sample.input_bytes = sample.output_bytes = 1e6;
    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
    {
        g_autoptr(IfmLatencyModel) model = learn_with(columns[i]);
        IfmLatencyModelInfo info;
        IfmLoadState load;
        IfmPredictedLatency predicted;
        ifm_latency_model_info(model, &info);
        g_assert_cmpstr(info.metrics[0], ==, columns[i]);
        g_autofree double *metrics = ifm_load_state_live(model, &core, 1, 50 * G_GINT64_CONSTANT(1000000), &load);
        g_assert_true(metrics == load.metrics);
        g_assert_cmpint(metrics != NULL, ==, i == 0);
        g_assert_true(metrics == NULL || metrics[0] > 0);
        g_assert_true(load.same >= 0 && load.same <= 1 && load.other >= 0 && load.other <= 1 && load.competitors > 0);
        ifm_latency_model_predict(model, &sample, &load, &predicted);
        g_assert_cmpfloat(predicted.latency_ns, >=, predicted.idle_ns);
        double before = 0;
        for (double left = 2e10; left > 0; left -= 1e9)
        {
            const IfmLoadState given = { .same = 0.6, .idle_ns = 1e5, .metrics = &left };
            ifm_latency_model_predict(model, &sample, &given, &predicted);
            g_assert_true(i == 1 || predicted.latency_ns >= before);
            before = predicted.latency_ns;
        }
    }
    g_autoptr(IfmLatencyModel) without = learn();
    IfmLoadState load;
    g_assert_null(ifm_load_state_live(without, NULL, 0, 1000000, &load));
}

#define MATRIX(series) "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"

/* Two processors that are busy; of what is not among @user there is nothing. The first count of tasks is of before. */
static char *answer(const char *path, const char *form, void *user)
{
    if (strstr(form, "query=up") != NULL)
        return g_strdup(MATRIX("{\"metric\":{},\"values\":[[0,\"1\"],[15,\"1\"],[30,\"1\"]]}"));
    if (!g_str_equal(path, "/api/v1/query"))
        return g_strdup(MATRIX(""));
    if (strstr(form, "query=node_procs_running") != NULL)
        return g_strdup(strstr(user, "running") != NULL ? MATRIX("{\"metric\":{},\"values\":[[0,\"90\"],[15,\"7\"]]}")
                                                        : MATRIX(""));
    if (strstr(form, "query=node_pressure_cpu") != NULL)
        return g_strdup(strstr(user, "pressure") != NULL ? MATRIX("{\"metric\":{},\"values\":[[0,\"10\"],[15,\"17.5\"]]}")
                                                         : MATRIX(""));
    if (strstr(form, "query=node_cpu") != NULL)
        return g_strdup(MATRIX("{\"metric\":{\"cpu\":\"0\"},\"values\":[[0,\"0\"],[15,\"0\"]]},"
                               "{\"metric\":{\"cpu\":\"1\"},\"values\":[[0,\"0\"],[15,\"0\"]]}"));
    return g_strdup(MATRIX(""));
}

/* Competitors are known by the tasks that were counted, bounded by how long tasks waited, or by either alone; else one. */
static void test_prometheus(void)
{
    static const struct
    {
        const char *has;
        double competitors;
    } rows[] = { { "running pressure", 2.5 }, { "running", 3 }, { "pressure", 1.25 }, { "", 1 } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        HttpServer server = { .answer = answer, .user = (void *)rows[i].has };
        const int core = 1;
        IfmLoadState load;
        g_autoptr(GError) error = NULL;
        http_start(&server);
        g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d", server.port);
        g_assert_true(ifm_load_state_prometheus(url, &core, 1, G_GINT64_CONSTANT(5000000000), &load, &error));
        g_assert_no_error(error);
        http_stop(&server);
        g_assert_cmpfloat(load.same, ==, 1);
        g_assert_cmpfloat(load.other, ==, 1);
        g_assert_cmpfloat_with_epsilon(load.competitors, rows[i].competitors, 1e-9);
        g_assert_null(load.metrics);
    }
}

/* A share that is a little beside those that were learnt is inside, as what is measured always is. */
static void test_beside(void)
{
    static const struct
    {
        double same, other;
        gboolean inside;
    } rows[] = { { 0.3, 0.01, TRUE }, { 0.47, 0, TRUE },    { 1, 0, TRUE },
                 { 0, 0.93, TRUE },   { 0.01, 0.02, TRUE }, { 0, 1, FALSE } };
    const Law law = { .n_kernels = 1, .n_visits = 1, .seed = 3 };
    g_autoptr(IfmLatencyModel) model = learn_with("metric:before:read_bytes_per_s");
    g_autoptr(IfmKernelSamples) samples = law_samples(&law);
    const IfmKernelSample *sample = ifm_kernel_samples_at(samples, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const IfmLoadState load = { .same = rows[i].same, .other = rows[i].other, .idle_ns = 1e5, .kind = 3 };
        g_autofree char *outside = ifm_latency_model_outside(model, sample, &load);
        g_assert_cmpint(outside != NULL && strstr(outside, "_load ") != NULL, ==, !rows[i].inside);
        g_assert_true(outside == NULL || strstr(outside, "kind:") == NULL); /* of a kind that was not learnt */
    }
}

/* --- why a prediction is off --------------------------------------------------------------------------------------------
 */

/* Which feature is farthest outside, and its range. */
static void test_outside(void)
{
    g_autoptr(IfmLatencyModel) model = learn();
    IfmKernelSample sample;
    ifm_kernel_sample_init(&sample);
    sample.op_type = "Relu";
    sample.threads = 1;
    sample.features.channels = 64;
    g_autofree char *inside = ifm_latency_model_outside(model, &sample, NULL);
    sample.features.channels = 2048;
    g_autofree char *outside = ifm_latency_model_outside(model, &sample, NULL);
    g_assert_cmpstr(outside, ==, "channels 2048, learnt from 16 to 256");
    g_assert_true(inside == NULL || !g_str_has_prefix(inside, "channels"));
}

/* A case for each reason, against one that needs none. */
static void test_why(void)
{
    const double nan = (double)NAN;
    static char unknown[] = "Einsum", outside[] = "channels 2048, learnt from 16 to 256", failed[] = "out of memory";
    const struct
    {
        IfmEvaluated row;
        const char *why;
    } rows[] = {
        { { .measured_ns = 100, .predicted_ns = 105, .low_ns = 90, .high_ns = 120, .asked = nan, .kernels_ns = nan },
          NULL },
        { { .measured_ns = nan, .predicted_ns = 105, .reason = failed }, "out of memory" },
        { { .measured_ns = 100, .predicted_ns = 150, .unknown = unknown, .asked = nan, .kernels_ns = nan },
          "operator not learnt, by the roofline: Einsum" },
        { { .measured_ns = 100, .predicted_ns = 150, .outside = outside, .asked = nan, .kernels_ns = nan },
          "outside of the training data: channels 2048, learnt from 16 to 256" },
        { { .measured_ns = 100, .predicted_ns = 150, .asked = 0.6, .achieved = 0.3, .kernels_ns = nan },
          "the load achieved is 30 % of the time, asked 60 %" },
        { { .measured_ns = 100, .predicted_ns = 150, .asked = 0.9, .achieved = 0.5, .same = TRUE, .kernels_ns = nan },
          "not known: operator and sizes were learnt, the load was as asked, the runs differ by 0 %" },
        { { .measured_ns = 100, .predicted_ns = 150, .std_ns = 30, .asked = nan, .kernels_ns = nan },
          "noise: the measured runs differ by 30 % (standard deviation)" },
        { { .measured_ns = 100, .predicted_ns = 150, .std_ns = 3, .asked = nan, .kernels_ns = 145 },
          "the kernels, each measured by itself, take 145 % of the model's time" },
        { { .measured_ns = 100, .predicted_ns = 150, .std_ns = 3, .asked = nan, .kernels_ns = 101 },
          "not known: operator and sizes were learnt, the runs differ by 3 %" },
        { { .measured_ns = 100,
            .predicted_ns = 104,
            .low_ns = 102,
            .high_ns = 106,
            .std_ns = 1,
            .asked = nan,
            .kernels_ns = nan },
          "not known: operator and sizes were learnt, the runs differ by 1 %" },
        { { .measured_ns = 100, .predicted_ns = 150, .unknown = unknown, .std_ns = 40, .asked = nan, .kernels_ns = nan },
          "operator not learnt, by the roofline: Einsum; noise: the measured runs differ by 40 % (standard deviation)" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *why = ifm_evaluated_why(&rows[i].row);
        g_assert_cmpstr(why, ==, rows[i].why);
    }
}

/* Relative errors count, so that the overhead of small models outweighs what large ones lack of their memory; it is never
 * negative, nor large. */
static void test_node_overhead(void)
{
    const IfmWholeTime some[] = { { 1000e3, 900e3, 100 }, { 900e3, 800e3, 100 }, { 100000e3, 60000e3, 10 } },
                       below[] = { { 900e3, 1000e3, 100 } }, above[] = { { 2000e3, 1000e3, 100 } };
    g_assert_cmpfloat(ifm_node_overhead(NULL, 0), ==, 0);
    g_assert_cmpfloat_with_epsilon(ifm_node_overhead(some, 3), 1000, 1e-9);
    g_assert_cmpfloat(ifm_node_overhead(below, 1), ==, 0);
    g_assert_cmpfloat(ifm_node_overhead(above, 1), ==, 2000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model-predict/sum", test_sum);
    g_test_add_func("/model-predict/unknown", test_unknown);
    g_test_add_func("/model-predict/loads", test_loads);
    g_test_add_func("/model-predict/competitors", test_competitors);
    g_test_add_func("/model-predict/live", test_live);
    g_test_add_func("/model-predict/prometheus", test_prometheus);
    g_test_add_func("/model-predict/beside", test_beside);
    g_test_add_func("/model-predict/outside", test_outside);
    g_test_add_func("/model-predict/why", test_why);
    g_test_add_func("/model-predict/node-overhead", test_node_overhead);
    return g_test_run();
}
