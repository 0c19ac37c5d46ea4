/*
 * What predicting a model's latency costs in a warm process, once its kernels are known: medians of many rounds on one
 * thread, without load and under it. Bounds: 10 ms a model, and 0.3 ms for 60 distinct kernels without load.
 *
 *     predict-speed [LATENCY.json MODEL…]: as of `inferometer predict`; else what is learnt from predict-quality's kernels,
 *     and some models of the zoo    IFM_BENCH_STUDY=kernels-quick: from that study's
 */
#include <base/base.h>
#include <inferometer/predict.h>
#include <math.h>
#include <onnx/fused-kernel.h>
#include <stdio.h>

#include "bench.h"

#define ROUNDS 201
#define MAX_MODEL_NS 10e6
#define MAX_KERNEL_NS (0.3e6 / 60)

static gint compare(gconstpointer a, gconstpointer b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ns(const IfmLatencyModel *model, const IfmKernelRecords *records, const IfmLoadState *load)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
    for (int round = 0; round < ROUNDS; round++)
    {
        const gint64 start_ns = ifm_clock_now_ns(clock);
        g_autoptr(IfmModelPrediction) prediction = ifm_model_predict(model, records, 1, load);
        const double taken_ns = (double)(ifm_clock_now_ns(clock) - start_ns);
        g_array_append_val(times, taken_ns);
    }
    g_array_sort(times, compare);
    return g_array_index(times, double, ROUNDS / 2);
}

/* Kernels of one digest are predicted once. */
static guint count_distinct(const IfmKernelRecords *records)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < records->kernels->len; i++)
        if (!ifm_kernel_record_moves(records->kernels->pdata[i]))
            g_hash_table_add(seen, ((const IfmKernelRecord *)records->kernels->pdata[i])->digest);
    return g_hash_table_size(seen);
}

/* Disturbed rows, too: they change what is predicted, not how long it takes. (transfer full) */
static IfmLatencyModel *learn_collected(GError **error)
{
    const char *named = g_getenv("IFM_BENCH_STUDY");
    const char *study = named != NULL ? named : bench_is_quick() ? "kernels-few" : "kernels";
    g_autofree char *path = g_build_filename("out", study, "kernels.csv", NULL);
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_read(path, error);
    IfmLearnOptions options = { 0 };
    ifm_options_init(ifm_learn_options, &options);
    options.allow_disturbed = TRUE;
    return samples != NULL ? ifm_learn_train(samples, &options, error) : NULL;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "resnet18", "bert", "resnet50", "densenet121", NULL };
    const char *const *texts = argc > 2 ? (const char *const *)argv + 2 : usual;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmLatencyModel) model = argc > 1 ? ifm_latency_model_read(argv[1], &error) : learn_collected(&error);
    const IfmLoadState load = { 0.6, 0, (double)NAN, NULL };
    gboolean good = TRUE;
    if (model == NULL)
    {
        fprintf(stderr, "predict-speed: %s\n", error->message);
        return 1;
    }
    for (; *texts != NULL; texts++)
    {
        g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open(*texts, NULL, &error);
        if (records == NULL)
        {
            fprintf(stderr, "predict-speed: %s\n", error->message);
            return 1;
        }
        const guint n = MAX(count_distinct(records), 1);
        const double idle_ns = median_ns(model, records, NULL), loaded_ns = median_ns(model, records, &load);
        const gboolean kept = loaded_ns <= MAX_MODEL_NS && idle_ns / n <= MAX_KERNEL_NS;
        printf("%-24s %4u distinct kernels: %7.1f us idle, %7.1f us under load; 60 kernels: %6.1f us (bound 300): %s\n",
               records->model, n, idle_ns / 1e3, loaded_ns / 1e3, 60 * idle_ns / n / 1e3, kept ? "kept" : "MISSED");
        good &= kept;
    }
    return bench_status(good);
}
