/*
 * Whole networks with the best algorithm of each convolution: batch 1, images of 224, f32, on one pinned core. Three
 * subjects of a model take turns in one process: ONNX Runtime with `best`, ONNX Runtime as it is, and OpenVINO. A round is
 * one inference of each, after one that is not counted, which of them begins taking turns. The ratios are of a round: how
 * many times as long the peer takes. Bounds: at least 1.12 times ONNX Runtime and 1.06 times OpenVINO on ResNet-50, 1.9 and
 * 1.8 times on VGG-16; on the others the interval of the ratio to ONNX Runtime does not lie wholly below 1. They hold for
 * processors with AVX-512; others are reported. Fails where a whole 95 % interval lies below its bound.
 *
 *     conv-end-to-end [--rounds N] [MODEL …]: only these models. IFM_TUNING_CACHE: where the choices are kept
 *     (docs/convolutions.md)
 */
#include <stdio.h>
#include <stdlib.h>

#include <base/base.h>
#include <base/statistics.h>
#include <convolution/convolution.h>
#include <math.h>

#include "bench.h"
#include "measure/measure-private.h"

enum
{
    ROUNDS = 31,
    WARMUP = 3, /* rounds before them */
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
    ifm_compiled_invoke(subject->compiled, 0, time_once, &timed);
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

/* Series: times of one model in ms, by subject and round. */
typedef struct
{
    int n_rounds;
    double *times_ms[N_SUBJECTS];
} Series;

static double median_of(const Series *series, int subject)
{
    g_autofree double *sorted = g_memdup2(series->times_ms[subject], (gsize)series->n_rounds * sizeof(double));
    qsort(sorted, (gsize)series->n_rounds, sizeof *sorted, compare_doubles);
    return ifm_quantile(sorted, (gsize)series->n_rounds, 0.5);
}

/* The median over rounds of how many times as long as subject 0 a peer takes. */
static double ratio_of(const Series *series, int peer, IfmInterval *interval)
{
    const gsize n = (gsize)series->n_rounds;
    g_autofree double *ratios = g_new(double, n);
    for (gsize i = 0; i < n; i++)
        ratios[i] = series->times_ms[peer][i] / series->times_ms[0][i];
    qsort(ratios, n, sizeof *ratios, compare_doubles);
    ifm_quantile_interval(ratios, n, (double)n, 0.5, 0.95, interval);
    return ifm_quantile(ratios, n, 0.5);
}

/* Returns: FALSE where the bound is broken. */
static gboolean report(const char *peer, const Series *series, int number, double bound, gboolean binds)
{
    IfmInterval interval;
    const double ratio = ratio_of(series, number, &interval);
    const gboolean is_broken = binds && bound > 0 && interval.upper < bound;
    printf("  %s / best  %.3f  [%.3f, %.3f]", peer, ratio, interval.lower, interval.upper);
    if (bound > 0)
        printf("  bound %.2f: %s", bound, is_broken ? "BROKEN" : binds ? "kept" : "not of this processor");
    printf("\n");
    return !is_broken;
}

/* How many layers each algorithm got. */
static void print_choices(IfmModelSubject *subject, IfmModel *model)
{
    g_autoptr(GError) error = NULL;
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, ifm_model_n_inputs(model));
    if (!ifm_model_make_inputs(model, NULL, 0, 1, inputs, &error))
        give_up("inputs", error);
    g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(subject->compiled, inputs, &error);
    if (effective == NULL)
        give_up("what ran", error);
    printf("  %u layers:", effective->convolutions->len);
    for (int algorithm = 0; algorithm < IFM_N_CONV_ALGORITHMS; algorithm++)
    {
        const char *name = ifm_conv_algorithm_name((IfmConvAlgorithm)algorithm);
        int n = 0;
        for (guint i = 0; i < effective->convolutions->len; i++)
            n += g_str_equal(((const IfmConvLayer *)effective->convolutions->pdata[i])->algorithm, name);
        if (n > 0)
            printf(" %d %s", n, name);
    }
    printf("\n");
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        ifm_tensor_clear(&inputs[i]);
}

static void run_rounds(IfmModelSubject *const *subjects, const Series *series)
{
    for (int round = -WARMUP; round < series->n_rounds; round++)
        for (int i = 0; i < N_SUBJECTS; i++)
        {
            const int at = (i + round + WARMUP) % N_SUBJECTS;
            run_once(subjects[at]); /* with its own data in the caches, as in a series */
            const double time_ms = run_once(subjects[at]);
            if (round >= 0)
                series->times_ms[at][round] = time_ms;
        }
}

/* Returns: FALSE where a bound is broken. */
static gboolean bench_model(const Bound *bound, const char *folder, int n_rounds, gboolean binds)
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
    g_autofree double *times_ms = g_new(double, N_SUBJECTS *n_rounds);
    const Series series = { n_rounds, { times_ms, times_ms + n_rounds, times_ms + 2 * n_rounds } };
    run_rounds(subjects, &series);
    printf("%s: best %.2f ms, onnxruntime %.2f ms, openvino %.2f ms\n", bound->model, median_of(&series, 0),
           median_of(&series, 1), median_of(&series, 2));
    gboolean good = report("onnxruntime", &series, 1, bound->runtime, binds);
    good &= report("openvino   ", &series, 2, bound->openvino, binds);
    print_choices(subjects[0], model);
    fflush(stdout);
    for (int i = 0; i < N_SUBJECTS; i++)
        ifm_model_subject_free(subjects[i]);
    return good;
}

/* Reads --rounds and checks the models' names, which stay in @argv. */
static int read_options(int *argc, char ***argv)
{
    g_autoptr(GError) error = NULL;
    int n_rounds = bench_rounds(ROUNDS, 6);
    const GOptionEntry entries[] = { { "rounds", 0, 0, G_OPTION_ARG_INT, &n_rounds, "Of each model", "N" }, { NULL } };
    g_autoptr(GOptionContext) context = g_option_context_new("[MODEL …]");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &error))
        give_up("options", error);
    if (n_rounds < 6)
        give_up("--rounds: 6 or more are expected, fewer have no interval", NULL);
    for (int k = 1; k < *argc; k++)
    {
        gboolean is_known = FALSE;
        for (gsize i = 0; i < G_N_ELEMENTS(bounds); i++)
            is_known |= g_str_equal((*argv)[k], bounds[i].model);
        if (!is_known)
            give_up((*argv)[k], NULL);
    }
    return n_rounds;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const int n_rounds = read_options(&argc, &argv);
    g_autofree char *folder = g_dir_make_tmp("conv-end-to-end-XXXXXX", &error);
    gboolean good = TRUE, binds = FALSE;
    if (folder == NULL)
        give_up("a folder", error);
#ifdef __x86_64__
    binds = __builtin_cpu_supports("avx512f");
#endif
    for (gsize i = 0; i < G_N_ELEMENTS(bounds); i++)
        if (argc < 2 ? i == 0 || !bench_is_quick() : g_strv_contains((const char *const *)argv + 1, bounds[i].model))
            good &= bench_model(&bounds[i], folder, n_rounds, binds);
    const char *const remove[] = { "rm", "-r", "--", folder, NULL };
    g_spawn_sync(NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
    return bench_status(good);
}
