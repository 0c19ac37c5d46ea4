/*
 * Whole networks with the best algorithm of each convolution: batch 1, images of 224, f32, on one pinned core. Three
 * subjects of a model take turns in one process: ONNX Runtime with `best`, ONNX Runtime as it is, and OpenVINO. A round is
 * one inference of each, after one that is not counted, which of them begins taking turns. The ratios are of a round: how
 * many times as long the peer takes. Bounds: at least 1.12 times ONNX Runtime and 1.06 times OpenVINO on ResNet-50, 1.9 and
 * 1.8 times on VGG-16; on the others the interval of the ratio to ONNX Runtime does not lie wholly below 1. They hold for
 * processors with AVX-512; others are reported. Fails where a whole 95 % interval lies below its bound.
 *
 *     conv-end-to-end [MODEL …]: only these. IFM_TUNING_CACHE: where the choices are kept (docs/convolutions.md)
 */
#include <stdio.h>
#include <stdlib.h>

#include <inferometer/zoo.h>

#include "measure/measure-private.h"

enum
{
    ROUNDS = 31,
    N_SUBJECTS = 3,
};

typedef struct
{
    const char *model;
    double runtime, openvino; /* least ratios; 0: none */
} Bound;
static const Bound bounds[] = {
    { "resnet50", 1.12, 1.06 }, { "vgg16", 1.9, 1.8 }, { "resnet152", 1, 0 },
    { "densenet121", 1, 0 },    { "googlenet", 1, 0 }, { "alexnet", 1, 0 },
};

static void give_up(const char *what, const GError *error)
{
    fprintf(stderr, "conv-end-to-end: %s: %s\n", what, error != NULL ? error->message : "failed");
    exit(1);
}

/* Timed: one run of a subject, on its own thread. */
typedef struct
{
    IfmModelSubject *subject;
    double time_ms;
} Timed;

static void time_once(void *user)
{
    Timed *timed = user;
    const IfmSubject slots = ifm_model_subject_slots(timed->subject);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    const gint64 began_ns = ifm_clock_now_ns(clock);
    if (!slots.run(slots.self, &error))
        give_up(slots.name, error);
    timed->time_ms = (double)(ifm_clock_now_ns(clock) - began_ns) / 1e6;
}

static double run_once(IfmModelSubject *subject)
{
    Timed timed = { .subject = subject };
    ifm_compiled_invoke(ifm_model_subject_compiled(subject), 0, time_once, &timed);
    return timed.time_ms;
}

static IfmModelSubject *subject_new(const char *engine, const char *path, IfmModel *model, const char *algorithm)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *device = g_strdup_printf("%s:CPU@%u", engine, g_get_num_processors() - 1);
    const char *const lines[] = { algorithm, NULL };
    const IfmModelCase model_case = { .model_path = path,
                                      .device = device,
                                      .dtype = IFM_DTYPE_F32,
                                      .threads = 1,
                                      .seed = 1,
                                      .protocol = IFM_PROTOCOL_INIT,
                                      .convolutions = algorithm != NULL ? lines : NULL };
    IfmClock *clock = ifm_clock_new_real();
    IfmEngine *opened = ifm_engine_open(engine, clock, &error);
    IfmModelSubject *subject =
        opened != NULL ? ifm_model_subject_new(opened, model, &model_case, IFM_COMPILE_MEASURED, &error) : NULL;
    if (subject == NULL)
        give_up(engine, error);
    return subject;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, IfmInterval *interval)
{
    qsort(values, ROUNDS, sizeof *values, compare_doubles);
    if (interval != NULL)
        ifm_quantile_interval(values, ROUNDS, ROUNDS, 0.5, 0.95, interval);
    return ifm_quantile(values, ROUNDS, 0.5);
}

static gboolean report(const char *peer, double *ratios, double bound, gboolean binds)
{
    IfmInterval interval;
    const double ratio = median_of(ratios, &interval);
    const gboolean is_broken = binds && bound > 0 && interval.upper < bound;
    printf("  %s / best  %.3f  [%.3f, %.3f]", peer, ratio, interval.lower, interval.upper);
    if (bound > 0)
        printf("  bound %.2f: %s", bound, is_broken ? "BROKEN" : binds ? "kept" : "not of this processor");
    printf("\n");
    return !is_broken;
}

/* Returns: FALSE where a bound is broken. */
static gboolean bench_model(const Bound *bound, const char *folder, gboolean binds)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *name = g_strconcat(bound->model, ".onnx", NULL), *path = g_build_filename(folder, name, NULL);
    g_autoptr(IfmModel) built = ifm_zoo_build(bound->model, (const char *const[]){ NULL }, 1, &error);
    if (built == NULL || !ifm_model_save(built, path, &error))
        give_up(bound->model, error);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    IfmModelSubject *subjects[N_SUBJECTS] = { subject_new("onnxruntime", path, model, "best"),
                                              subject_new("onnxruntime", path, model, NULL),
                                              subject_new("openvino", path, model, NULL) };
    double times_ms[N_SUBJECTS][ROUNDS], ratios[N_SUBJECTS][ROUNDS];
    for (int round = -3; round < ROUNDS; round++)
    {
        double now_ms[N_SUBJECTS];
        for (int i = 0; i < N_SUBJECTS; i++)
        {
            const int at = (i + round + 3) % N_SUBJECTS;
            run_once(subjects[at]); /* with its own data in the caches, as in a series */
            now_ms[at] = run_once(subjects[at]);
        }
        for (int i = 0; i < N_SUBJECTS && round >= 0; i++)
        {
            times_ms[i][round] = now_ms[i];
            ratios[i][round] = now_ms[i] / now_ms[0];
        }
    }
    printf("%s: best %.2f ms, onnxruntime %.2f ms, openvino %.2f ms\n", bound->model, median_of(times_ms[0], NULL),
           median_of(times_ms[1], NULL), median_of(times_ms[2], NULL));
    gboolean good = report("onnxruntime", ratios[1], bound->runtime, binds);
    good &= report("openvino   ", ratios[2], bound->openvino, binds);
    fflush(stdout);
    for (int i = 0; i < N_SUBJECTS; i++)
        ifm_model_subject_free(subjects[i]);
    return good;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("conv-end-to-end-XXXXXX", &error);
    gboolean good = TRUE, binds = FALSE;
    if (folder == NULL)
        give_up("a folder", error);
#ifdef __x86_64__
    binds = __builtin_cpu_supports("avx512f");
#endif
    for (gsize i = 0; i < G_N_ELEMENTS(bounds); i++)
        if (argc < 2 || g_strv_contains((const char *const *)argv + 1, bounds[i].model))
            good &= bench_model(&bounds[i], folder, binds);
    const char *const remove[] = { "rm", "-r", "--", folder, NULL };
    g_spawn_sync(NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
    return good ? 0 : 1;
}
