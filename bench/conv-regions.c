/*
 * What regions are worth: whole networks whose supported nodes are one operator for each region, against one operator for
 * each node, in the same blocked channels with the same kernels. Images of 224, f32, batch 1, one pinned core. Both take
 * turns in one process: a round is two inferences of each, after two that are not counted, and which begins alternates. The
 * ratio is of a round: how many times as long the operators one by one take. Fails where a whole 95 % interval lies
 * below 1.
 *
 *     conv-regions [NETWORK …]: those of the zoo, without any resnet50, mobilenet_v2 and densenet121
 */
#include <stdio.h>
#include <stdlib.h>

#include <base/base.h>
#include <base/statistics.h>
#include <regions/regions.h>
#include <zoo/zoo.h>

#include "bench.h"
#include "conv-study.h"
#include "measure/measure-private.h"

enum
{
    ROUNDS = 61,
    WARMUP = 3,
    WHOLE = 0,
    APART = 1,
};

/* As the runtime's rules for any processor leave it, which is what is tuned. (transfer full) */
static IfmModel *optimise(IfmEngine *engine, IfmModel *network, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CPU", &error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.keep_operators = TRUE;
    options.save_optimised = path;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, network, spec, &options, &error);
    IfmModel *optimised = compiled != NULL ? ifm_model_open(path, &error) : NULL;
    if (optimised == NULL)
        conv_study_fail(path, error);
    return optimised;
}

/* The network in regions, saved and compiled. @n: (out) how many regions */
static IfmModelSubject *subject_new(IfmEngine *engine, IfmModel *network, const char *path, gboolean is_apart, guint *n,
                                    GError **error)
{
    const IfmRegionsOptions options = { .n_threads = 1, .is_apart = is_apart };
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = ifm_regions_partition(network, &options, &report, error);
    if (made == NULL || !ifm_model_save(made, path, error))
        return NULL;
    g_autofree char *device = g_strdup_printf("onnxruntime:CPU@%u", g_get_num_processors() - 1);
    const IfmModelCase model_case = {
        .model_path = path, .device = device, .dtype = IFM_DTYPE_F32, .threads = 1, .seed = 1, .protocol = IFM_PROTOCOL_INIT
    };
    g_autoptr(IfmModel) saved = ifm_model_open(path, error);
    *n = report.n_regions;
    return saved != NULL ? ifm_model_subject_new(engine, saved, &model_case, IFM_COMPILE_MEASURED, error) : NULL;
}

/* Returns: FALSE where the bound is broken. */
static gboolean report(const char *name, const guint n_regions[2], double *ratios, int n, double whole_ms)
{
    IfmInterval interval;
    ifm_sort_doubles(ratios, (gsize)n);
    ifm_quantile_interval(ratios, (gsize)n, n, 0.5, 0.95, &interval);
    printf("%s: %u regions %.2f ms; %u operators one by one / regions  %.3f  [%.3f, %.3f]%s\n", name, n_regions[WHOLE],
           whole_ms, n_regions[APART], ifm_quantile(ratios, (gsize)n, 0.5), interval.lower, interval.upper,
           interval.upper < 1 ? "  bound BROKEN" : "  bound kept");
    fflush(stdout);
    return interval.upper >= 1;
}

static gboolean run_network(const char *name, const char *folder)
{
    const int n = bench_rounds(ROUNDS, 6);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    IfmEngine *engine = ifm_engine_open("onnxruntime", clock, &error);
    g_autoptr(IfmModel) built = ifm_zoo_build(name, (const char *const[]){ NULL }, 1, &error);
    g_autofree char *graph = g_strdup_printf("%s/%s.onnx", folder, name);
    if (engine == NULL || built == NULL)
        conv_study_fail(name, error);
    g_autoptr(IfmModel) network = optimise(engine, built, graph);
    IfmModelSubject *subjects[2];
    guint n_regions[2];
    for (int i = 0; i < 2; i++)
    {
        g_autofree char *path = g_strdup_printf("%s/%s-%d.onnx", folder, name, i);
        if ((subjects[i] = subject_new(engine, network, path, i == APART, &n_regions[i], &error)) == NULL)
            conv_study_fail(name, error);
    }
    g_autofree double *ratios = g_new0(double, n), *times_ms = g_new0(double, n);
    for (int round = -WARMUP; round < n; round++)
    {
        double now_ms[2];
        for (int i = 0; i < 2; i++)
        {
            const int at = (i + round + WARMUP) % 2;
            conv_infer_ms(subjects[at], 2);
            now_ms[at] = conv_infer_ms(subjects[at], 2);
        }
        if (round < 0)
            continue;
        ratios[round] = now_ms[APART] / now_ms[WHOLE];
        times_ms[round] = now_ms[WHOLE];
    }
    ifm_sort_doubles(times_ms, (gsize)n);
    for (int i = 0; i < 2; i++)
        ifm_model_subject_free(subjects[i]);
    ifm_engine_unref(engine);
    return report(name, n_regions, ratios, n, ifm_quantile(times_ms, (gsize)n, 0.5));
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "resnet50", "mobilenet_v2", "densenet121", NULL };
    const char *const *names = argc > 1 ? (const char *const *)argv + 1 : usual;
    g_autoptr(GError) error = NULL;
    IfmTemporary folder = { 0 };
    gboolean good = TRUE;
    if (!ifm_temporary_make(&folder, &error))
        conv_study_fail("a folder", error);
    for (gsize i = 0; names[i] != NULL && (i == 0 || argc > 1 || !bench_is_quick()); i++)
        good &= run_network(names[i], folder.path);
    ifm_temporary_clear(&folder);
    return bench_status(good);
}
