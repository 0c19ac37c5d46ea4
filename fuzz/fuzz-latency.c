/*
 * The libFuzzer target of the readers of latency models (JSON) and of samples of kernels (CSV), and (compiled into
 * tests/learn/test-fuzz-latency.c) the same entry for the corpus. Whatever the file says, an error must be one line with
 * its place. A model must predict finite latencies within their intervals, and be written and read again the same; so must
 * samples.
 */
#include <math.h>

#include "fuzz.h"
#include "learn/learn-private.h"

/* Takes @error. */
static void check_error(GError *error)
{
    must(error != NULL && error->code == IFM_ERROR_INVALID && g_str_has_prefix(error->message, "input"));
    must_be_line(error);
}

static void check_prediction(const IfmLatencyModel *model, const IfmKernelSample *kernel, const IfmLoadState *load)
{
    IfmPredictedLatency predicted;
    ifm_latency_model_predict(model, kernel, load, &predicted);
    must(isfinite(predicted.latency_ns) && predicted.latency_ns > 0 && predicted.idle_ns > 0 && predicted.roofline_ns > 0);
    must(predicted.low_ns <= predicted.latency_ns && predicted.latency_ns <= predicted.high_ns);
    must(isfinite(predicted.high_ns) && predicted.low_ns >= 0);
}

static void check_model(const IfmLatencyModel *model)
{
    static const char *const operators[] = { "Conv_Relu", "Relu", "Einsum_", "" };
    static const double shares[] = { 0, 0.3, 0.45, 1 };
    double metrics[IFM_SAMPLES_MAX_METRICS] = { 0 };
    IfmKernelSample kernel;
    for (gsize i = 0; i < G_N_ELEMENTS(operators); i++)
    {
        ifm_kernel_sample_init(&kernel); /* features are 0 in memory but unknown here */
        kernel.op_type = operators[i];
        check_prediction(model, &kernel, NULL);
        kernel.flop = 1e9;
        kernel.input_bytes = kernel.output_bytes = 1e6;
        kernel.features.channels = 64;
        for (gsize k = 0; k < G_N_ELEMENTS(shares); k++)
        {
            check_prediction(model, &kernel, &(IfmLoadState){ shares[k], shares[i], (double)NAN, metrics });
            check_prediction(model, &kernel, &(IfmLoadState){ shares[k], 0, 1e5, NULL });
        }
    }
}

static void read_model(const char *text, gsize size)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_json_parse(text, size, "input", &error);
    g_autoptr(IfmLatencyModel) model = json != NULL ? ifm_latency_model_from_json(json, "input", &error) : NULL;
    must((model == NULL) == (error != NULL));
    if (model == NULL)
    {
        check_error(g_steal_pointer(&error));
        return;
    }
    check_model(model);
    json_auto_t *written = ifm_latency_model_to_json(model);
    g_autoptr(IfmLatencyModel) again = ifm_latency_model_from_json(written, "again", &error);
    must(again != NULL);
    json_auto_t *rewritten = ifm_latency_model_to_json(again);
    must(json_equal(written, rewritten));
}

static void check_samples(const IfmKernelSamples *samples)
{
    g_autofree char *written = ifm_kernel_samples_to_csv(samples);
    g_autoptr(IfmCsv) csv = ifm_csv_parse(written, strlen(written), "again", NULL);
    must(csv != NULL);
    g_autoptr(IfmKernelSamples) again = learn_samples_from_csv(csv, NULL, NULL);
    must(again != NULL && ifm_kernel_samples_n(again) == ifm_kernel_samples_n(samples));
    g_autofree char *rewritten = ifm_kernel_samples_to_csv(again);
    must(g_str_equal(written, rewritten));
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
        must(ifm_kernel_samples_at(samples, i)->latency_ms > 0);
}

static void read_samples(const char *text, gsize size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCsv) csv = ifm_csv_parse(text, size, "input", &error);
    g_autoptr(IfmKernelSamples) samples = csv != NULL ? learn_samples_from_csv(csv, NULL, &error) : NULL;
    must((samples == NULL) == (error != NULL));
    if (samples == NULL)
        check_error(g_steal_pointer(&error));
    else
        check_samples(samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy =
        g_memdup2(size > 0 ? data : (const uint8_t *)"", MAX(size, 1)); /* of just its size, so that ASan sees its end */
    if (size > 0 && *copy == '{')
        read_model(copy, size);
    else
        read_samples(copy, size);
    return 0;
}
