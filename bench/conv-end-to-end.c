/*
 * Whole networks with the best algorithm of each convolution: images of 224 (640 of the YOLO-like), f32, on pinned cores. A
 * cell is a network, 1 or 2 threads, batch 1 or 8. Four subjects of a cell take turns in one process: ONNX Runtime with
 * `best`, ONNX Runtime as it is, OpenVINO, and the model that `tune` makes (tuned), whether that would be written or not;
 * where that leaves every layer to the runtime, it is the model itself. A round is one inference of each, after one that is
 * not counted, which of them begins taking turns. The ratios are of a round: how many times as long one takes as the other.
 * At the end the geometric means over the networks. Bounds, of ONNX Runtime's time over that of best and of tuned: no cell
 * lies wholly below 1; ResNet-50 and VGG-16 have their own at batch 1 and one thread; geometric means of at least 1.20 at
 * one thread and 1.12 at two. Fails where a whole 95 % interval lies below its bound.
 *
 *     conv-end-to-end [--rounds N] [--threads N] [--batch N] [--state FILE] [MODEL …]: only these cells. Each cell is kept
 * in FILE (BUILD/conv-end-to-end.json) and not measured again on the same processor by the same versions: a run that was
 *     broken off goes on. IFM_TUNING_CACHE: where the choices are kept (docs/convolutions.md). The networks that the zoo
 *     lacks are written by bench/conv-networks.py, which needs torchvision: setup/install bench.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <convolution/convolution.h>
#include <glib/gstdio.h>

#include "bench.h"
#include "conv-study.h"
#include "measure/measure-private.h"
#include "profile/tune.h"

enum
{
    ROUNDS = 31,
    WARMUP = 3, /* rounds before them */
};

enum
{
    BEST,
    RUNTIME,
    OPENVINO,
    TUNED,
    N_SUBJECTS,
};
static const struct
{
    const char *name, *engine;
} subjects_of[N_SUBJECTS] = {
    [BEST] = { "best", "onnxruntime" },
    [RUNTIME] = { "onnxruntime", "onnxruntime" },
    [OPENVINO] = { "openvino", "openvino" },
    [TUNED] = { "tuned", "onnxruntime" },
};

/* Ratio: of two subjects' times. @has_bound: the cell's and the means' bounds are of it */
typedef struct
{
    const char *name;
    int over, under;
    gboolean has_bound;
} Ratio;
static const Ratio ratios_of[] = {
    { "onnxruntime / best", RUNTIME, BEST, TRUE },  { "openvino / best", OPENVINO, BEST, FALSE },
    { "tuned / best", TUNED, BEST, FALSE },         { "onnxruntime / tuned", RUNTIME, TUNED, TRUE },
    { "openvino / tuned", OPENVINO, TUNED, FALSE },
};

/* Network: @avx2, @avx512: least ratio to ONNX Runtime at batch 1 and one thread, where the processor has that */
typedef struct
{
    const char *name;
    gboolean exported; /* by bench/conv-networks.py, with free sizes; else of the zoo */
    gint64 size;
    double avx2, avx512;
} Network;
static const Network networks[] = {
    { "resnet50", FALSE, 224, 1.2, 1.25 }, { "vgg16", FALSE, 224, 2.2, 2.2 },      { "resnet152", FALSE, 224, 1, 1 },
    { "densenet121", FALSE, 224, 1, 1 },   { "googlenet", FALSE, 224, 1, 1 },      { "alexnet", FALSE, 224, 1, 1 },
    { "mobilenet_v2", FALSE, 224, 1, 1 },  { "efficientnet_b0", TRUE, 224, 1, 1 }, { "regnet_y_400mf", TRUE, 224, 1, 1 },
    { "convnext_tiny", TRUE, 224, 1, 1 },  { "resnext50", TRUE, 224, 1, 1 },       { "yolo_like", TRUE, 640, 1, 1 },
};
static const int threads_of[] = { 1, 2 }, batches_of[] = { 1, 8 };
static const double mean_bounds[] = { 1.2, 1.12 }; /* by threads */

/* Cell: what is measured. */
typedef struct
{
    const Network *network;
    int threads, batch;
} Cell;

/* Bench: the options, and what is kept. */
typedef struct
{
    int rounds, threads, batch; /* threads, batch: 0: all */
    char *state_path;           /* NULL: nothing is kept */
    json_t *state;              /* key of a cell -> what it came to */
    char *folder;               /* of models that are made for this run */
    char *processor;
} Bench;

static void say(const char *what, const GError *error)
{
    fprintf(stderr, "conv-end-to-end: %s: %s\n", what, error != NULL ? error->message : "failed");
}

/* --- models ----------------------------------------------------------------------------------------------------------- */

/* Opened: a cell's model, as it is and tuned. @bindings: of a file with free sizes */
typedef struct
{
    char *path, *tuned_path;
    IfmModel *model, *tuned;
    IfmDimBinding bindings[3];
    gsize n_bindings;
} Opened;

static void opened_clear(Opened *opened)
{
    g_clear_pointer(&opened->model, ifm_model_unref);
    g_clear_pointer(&opened->tuned, ifm_model_unref);
    if (opened->tuned_path != NULL)
        g_unlink(opened->tuned_path);
    g_free(opened->path);
    g_free(opened->tuned_path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Opened, opened_clear)

/* The first Python that has what the script needs. */
static const char *find_python(void)
{
    static const char *const known[] = { "/usr/bin/python3", "python3" };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        const char *const words[] = { known[i], "-c", "import onnx, torch, torchvision", NULL };
        int status = 1;
        if (g_spawn_sync(NULL, (char **)words, NULL,
                         G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                         NULL, &status, NULL) &&
            status == 0)
            return known[i];
    }
    return NULL;
}

static char *export_network(const char *name, GError **error)
{
    const char *build = g_getenv("IFM_BENCH_BUILD"), *python;
    g_autofree char *folder = g_build_filename(build != NULL ? build : "build", "conv-networks", NULL),
                    *file = g_strconcat(name, ".onnx", NULL), *path = g_build_filename(folder, file, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&path);
    if ((python = find_python()) == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "no Python with torchvision writes it: setup/install bench");
        return NULL;
    }
    const char *const words[] = { python, "bench/conv-networks.py", folder, name, NULL };
    int status = 1;
    g_autofree char *said = NULL;
    if (!g_spawn_sync(NULL, (char **)words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said,
                      &status, error))
        return NULL;
    if (status == 0)
        return g_steal_pointer(&path);
    ifm_error_set(error, IFM_ERROR_FAILED, "bench/conv-networks.py: %s", said);
    return NULL;
}

static gboolean build_network(const Bench *bench, const Cell *cell, Opened *opened, GError **error)
{
    g_autofree char *batch = g_strdup_printf("batch=%d", cell->batch),
                    *name = g_strdup_printf("%s-%d.onnx", cell->network->name, cell->batch);
    g_autoptr(IfmModel) built = ifm_zoo_build(cell->network->name, (const char *const[]){ batch, NULL }, 1, error);
    opened->path = g_build_filename(bench->folder, name, NULL);
    return built != NULL && ifm_model_save(built, opened->path, error);
}

static gboolean open_network(const Bench *bench, const Cell *cell, Opened *opened, GError **error)
{
    const Network *network = cell->network;
    if (network->exported)
    {
        const IfmDimBinding bindings[] = { { "batch", cell->batch },
                                           { "height", network->size },
                                           { "width", network->size } };
        memcpy(opened->bindings, bindings, sizeof bindings);
        opened->n_bindings = G_N_ELEMENTS(bindings);
        opened->path = export_network(network->name, error);
    }
    if (network->exported ? opened->path == NULL : !build_network(bench, cell, opened, error))
        return FALSE;
    opened->model = ifm_model_open(opened->path, error);
    return opened->model != NULL;
}

/* On the last cores, one a thread. (transfer full) */
static char *device_of(int subject, int threads)
{
    const guint last = g_get_num_processors() - 1;
    g_autofree char *cores =
        threads > 1 ? g_strdup_printf("%u-%u", last + 1 - (guint)threads, last) : g_strdup_printf("%u", last);
    return g_strdup_printf("%s:CPU@%s", subjects_of[subject].engine, cores);
}

static gboolean tune_network(const Bench *bench, const Cell *cell, Opened *opened, GError **error)
{
    g_auto(IfmTuned) tuned = { 0 };
    g_autofree char *device = device_of(TUNED, cell->threads), *output = g_build_filename(bench->folder, "out", NULL);
    g_auto(GStrv) dims = g_new0(char *, G_N_ELEMENTS(opened->bindings) + 1);
    IfmTuneOptions options;
    for (gsize i = 0; i < opened->n_bindings; i++)
        dims[i] = g_strdup_printf("%s=%" G_GINT64_FORMAT, opened->bindings[i].name, opened->bindings[i].value);
    opened->tuned_path = g_build_filename(bench->folder, "tuned.onnx", NULL);
    ifm_tune_options_init(&options);
    options.model = opened->path;
    options.path = opened->tuned_path;
    options.device = device;
    options.open.dims = (const char *const *)dims;
    options.threads = cell->threads;
    options.output = output;
    g_autoptr(GError) refused = NULL;
    if (ifm_tune_layers(&options, NULL, &tuned, &refused))
        opened->tuned = ifm_model_open(opened->tuned_path, error);
    else if (g_error_matches(refused, IFM_ERROR, IFM_ERROR_INVALID)) /* no layer is faster: the model stays as it is */
        opened->tuned = ifm_model_ref(opened->model);
    else
        g_propagate_error(error, g_steal_pointer(&refused));
    return opened->tuned != NULL;
}

static IfmModelSubject *subject_new(const Opened *opened, int number, int threads, GError **error)
{
    g_autofree char *device = device_of(number, threads);
    const char *const lines[] = { "best", NULL };
    IfmModel *model = number == TUNED ? opened->tuned : opened->model;
    const gboolean is_other = model != opened->model;
    const IfmModelCase model_case = { .model_path = is_other ? opened->tuned_path : opened->path,
                                      .device = device,
                                      .bindings = opened->bindings,
                                      .n_bindings = opened->n_bindings,
                                      .dtype = IFM_DTYPE_F32,
                                      .threads = threads,
                                      .seed = 1,
                                      .protocol = IFM_PROTOCOL_INIT,
                                      .convolutions = number == BEST ? lines : NULL };
    IfmClock *clock = ifm_clock_new_real();
    IfmEngine *engine = ifm_engine_open(subjects_of[number].engine, clock, error);
    return engine != NULL ? ifm_model_subject_new(engine, model, &model_case, IFM_COMPILE_MEASURED, error) : NULL;
}

/* --- one cell --------------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Series: times of one cell in ms, by subject and round. */
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

/* The median over rounds of how many times as long one takes as the other. */
static double ratio_of(const Series *series, const Ratio *of, IfmInterval *interval)
{
    const gsize n = (gsize)series->n_rounds;
    g_autofree double *ratios = g_new(double, n);
    for (gsize i = 0; i < n; i++)
        ratios[i] = series->times_ms[of->over][i] / series->times_ms[of->under][i];
    qsort(ratios, n, sizeof *ratios, compare_doubles);
    ifm_quantile_interval(ratios, n, (double)n, 0.5, 0.95, interval);
    return ifm_quantile(ratios, n, 0.5);
}

static void run_rounds(IfmModelSubject *const *subjects, const Series *series)
{
    for (int round = -WARMUP; round < series->n_rounds; round++)
        for (int i = 0; i < N_SUBJECTS; i++)
        {
            const int at = (i + round + WARMUP) % N_SUBJECTS;
            conv_infer_ms(subjects[at], 1); /* with its own data in the caches, as in a series */
            const double time_ms = conv_infer_ms(subjects[at], 1);
            if (round >= 0)
                series->times_ms[at][round] = time_ms;
        }
}

/* How many layers each algorithm got: {"direct": 3}. (transfer full) */
static json_t *choices_of(const IfmModelSubject *subject, const Opened *opened)
{
    g_autoptr(GError) error = NULL;
    json_t *choices = json_object();
    const gsize n_inputs = ifm_model_n_inputs(opened->model);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, n_inputs);
    if (!ifm_model_make_inputs(opened->model, opened->bindings, opened->n_bindings, 1, inputs, &error))
        conv_study_fail("inputs", error);
    g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(subject->compiled, inputs, &error);
    if (effective == NULL)
        conv_study_fail("what ran", error);
    for (guint i = 0; effective->convolutions != NULL && i < effective->convolutions->len; i++)
    {
        const char *name = ((const IfmConvLayer *)effective->convolutions->pdata[i])->algorithm;
        json_object_set_new(choices, name, json_integer(json_integer_value(json_object_get(choices, name)) + 1));
    }
    for (gsize i = 0; i < n_inputs; i++)
        ifm_tensor_clear(&inputs[i]);
    return choices;
}

/* {"median": , "lower": , "upper": } (transfer full) */
static json_t *ratio_to_json(const Series *series, const Ratio *of)
{
    IfmInterval interval;
    const double ratio = ratio_of(series, of, &interval);
    return json_pack("{s:f,s:f,s:f}", "median", ratio, "lower", interval.lower, "upper", interval.upper);
}

/* (transfer full) What the state keeps of a cell. NULL with an error */
static json_t *measure(const Bench *bench, const Cell *cell, GError **error)
{
    g_auto(Opened) opened = { 0 };
    IfmModelSubject *subjects[N_SUBJECTS] = { NULL };
    g_autofree double *times_ms = g_new(double, N_SUBJECTS * bench->rounds);
    Series series = { .n_rounds = bench->rounds };
    json_t *found = NULL;
    gboolean good = open_network(bench, cell, &opened, error) && tune_network(bench, cell, &opened, error);
    for (int i = 0; i < N_SUBJECTS && good; i++)
    {
        series.times_ms[i] = times_ms + i * bench->rounds;
        good = (subjects[i] = subject_new(&opened, i, cell->threads, error)) != NULL;
    }
    if (good)
    {
        run_rounds(subjects, &series);
        found = json_object();
        for (int i = 0; i < N_SUBJECTS; i++)
            json_object_set_new(found, subjects_of[i].name, json_real(median_of(&series, i)));
        for (gsize i = 0; i < G_N_ELEMENTS(ratios_of); i++)
            json_object_set_new(found, ratios_of[i].name, ratio_to_json(&series, &ratios_of[i]));
        json_object_set_new(found, "choices", choices_of(subjects[BEST], &opened));
    }
    for (int i = 0; i < N_SUBJECTS; i++)
        if (subjects[i] != NULL)
            ifm_model_subject_free(subjects[i]);
    return found;
}

/* --- the state -------------------------------------------------------------------------------------------------------- */

/* "model name" of the first processor; "unknown". (transfer full) */
static char *processor_name(void)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL) ? g_strsplit(text, "\n", 0) : NULL;
    for (char **line = lines; line != NULL && *line != NULL; line++)
        if (g_str_has_prefix(*line, "model name") && strchr(*line, ':') != NULL)
            return g_strstrip(g_strdup(strchr(*line, ':') + 1));
    return g_strdup("unknown");
}

static char *key_of(const Bench *bench, const Cell *cell)
{
    return g_strdup_printf("%s, %d threads, batch %d, %d rounds of %d, %s, inferometer %s", cell->network->name,
                           cell->threads, cell->batch, bench->rounds, N_SUBJECTS, bench->processor, IFM_VERSION);
}

/* Whole or not at all: a run may be killed here. */
static void keep(const Bench *bench, const char *key, json_t *found)
{
    g_autoptr(GError) error = NULL;
    json_object_set(bench->state, key, found);
    g_autofree char *text = json_dumps(bench->state, JSON_INDENT(1));
    if (bench->state_path != NULL && !ifm_file_save(bench->state_path, text, strlen(text), &error))
        conv_study_fail(bench->state_path, error);
}

static void load_state(Bench *bench)
{
    g_autoptr(GError) error = NULL;
    bench->state = json_object();
    if (bench->state_path == NULL || !g_file_test(bench->state_path, G_FILE_TEST_EXISTS))
        return;
    json_decref(bench->state);
    if ((bench->state = ifm_json_load(bench->state_path, &error)) == NULL || !json_is_object(bench->state))
        conv_study_fail(bench->state_path, error);
}

/* --- what is said ------------------------------------------------------------------------------------------------------
 */

static double number(const json_t *found, const Ratio *of, const char *name)
{
    return json_number_value(json_object_get(json_object_get(found, of->name), name));
}

/* Least ratio to ONNX Runtime; the networks' own are of batch 1 and one thread. */
static double bound_of(const Cell *cell)
{
    gboolean avx512 = FALSE;
#ifdef __x86_64__
    avx512 = __builtin_cpu_supports("avx512f");
#endif
    if (cell->threads > 1 || cell->batch > 1)
        return 1;
    return avx512 ? cell->network->avx512 : cell->network->avx2;
}

/* Returns: FALSE where the bound is broken. */
static gboolean report(const Cell *cell, const json_t *found)
{
    const double bound = bound_of(cell);
    gboolean good = TRUE;
    const char *name;
    json_t *n;
    printf("%s, %d thread%s, batch %d:", cell->network->name, cell->threads, ifm_plural((gsize)cell->threads), cell->batch);
    for (int i = 0; i < N_SUBJECTS; i++)
        printf("%s %s %.2f ms", i > 0 ? "," : "", subjects_of[i].name,
               json_number_value(json_object_get(found, subjects_of[i].name)));
    printf("\n");
    for (gsize i = 0; i < G_N_ELEMENTS(ratios_of); i++)
    {
        const Ratio *of = &ratios_of[i];
        const gboolean is_broken = of->has_bound && number(found, of, "upper") < bound;
        printf("  %-19s  %.3f  [%.3f, %.3f]%s\n", of->name, number(found, of, "median"), number(found, of, "lower"),
               number(found, of, "upper"),
               !of->has_bound ? ""
               : is_broken    ? "  bound BROKEN"
                              : "  bound kept");
        good &= !is_broken;
    }
    printf("  layers:");
    json_object_foreach(json_object_get(found, "choices"), name, n) printf(" %d %s", (int)json_integer_value(n), name);
    printf("\n");
    fflush(stdout);
    return good;
}

/* Mean: of the logarithms of ratios, whose half-widths add up as squares: cells are measured one after the other. */
typedef struct
{
    int n;
    double sum, squares;
} Mean;

static void add_to(Mean *mean, const json_t *found, const Ratio *of)
{
    const double half = log(number(found, of, "upper") / number(found, of, "lower")) / 2;
    mean->n++;
    mean->sum += log(number(found, of, "median"));
    mean->squares += half * half;
}

/* Returns: FALSE where the whole interval lies below the bound. @bound: 0: none */
static gboolean print_mean(const char *what, const Ratio *of, const Mean *mean, double bound)
{
    const double middle = mean->sum / mean->n, half = sqrt(mean->squares) / mean->n;
    if (mean->n == 0)
        return TRUE;
    const gboolean is_broken = exp(middle + half) < bound;
    printf("  %-20s %-19s  %.3f  [%.3f, %.3f]  of %d%s\n", what, of->name, exp(middle), exp(middle - half),
           exp(middle + half), mean->n,
           bound <= 0  ? ""
           : is_broken ? "  bound BROKEN"
                       : "  bound kept");
    return !is_broken;
}

/* Of all cells that were measured, now or before. Returns: FALSE where a bound is broken. */
static gboolean print_means(const Bench *bench)
{
    const int n_cells = G_N_ELEMENTS(networks) * G_N_ELEMENTS(batches_of); /* of one number of threads */
    gboolean good = TRUE;
    printf("geometric means:\n");
    for (gsize t = 0; t < G_N_ELEMENTS(threads_of); t++)
        for (gsize p = 0; p < G_N_ELEMENTS(ratios_of); p++)
        {
            Mean all = { 0 };
            for (gsize b = 0; b < G_N_ELEMENTS(batches_of); b++)
            {
                Mean mean = { 0 };
                for (gsize i = 0; i < G_N_ELEMENTS(networks); i++)
                {
                    const Cell cell = { &networks[i], threads_of[t], batches_of[b] };
                    g_autofree char *key = key_of(bench, &cell);
                    const json_t *found = json_object_get(bench->state, key);
                    if (found == NULL)
                        continue;
                    add_to(&mean, found, &ratios_of[p]);
                    add_to(&all, found, &ratios_of[p]);
                }
                g_autofree char *what = g_strdup_printf("%d thread%s, batch %d", threads_of[t],
                                                        ifm_plural((gsize)threads_of[t]), batches_of[b]);
                print_mean(what, &ratios_of[p], &mean, 0);
            }
            g_autofree char *what = g_strdup_printf("%d thread%s", threads_of[t], ifm_plural((gsize)threads_of[t]));
            good &= print_mean(what, &ratios_of[p], &all, ratios_of[p].has_bound && all.n == n_cells ? mean_bounds[t] : 0);
            if (ratios_of[p].has_bound && all.n > 0 && all.n < n_cells)
                printf("  %-20s not judged: %d of %d cells\n", what, all.n, n_cells);
        }
    return good;
}

/* --- all of it ---------------------------------------------------------------------------------------------------------
 */

/* Returns: FALSE where its bound is broken, or it cannot be measured. */
static gboolean run_cell(const Bench *bench, const Cell *cell)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *key = key_of(bench, cell);
    json_t *before = json_object_get(bench->state, key);
    if (before != NULL)
        return report(cell, before);
    if ((guint)cell->threads > g_get_num_processors())
    {
        printf("%s, %d threads: left out: there are not so many cores\n", cell->network->name, cell->threads);
        return TRUE;
    }
    json_auto_t *found = measure(bench, cell, &error);
    if (found == NULL)
    {
        say(key, error);
        return FALSE;
    }
    keep(bench, key, found);
    return report(cell, found);
}

static void check_names(const char *const *words)
{
    const char *names[G_N_ELEMENTS(networks) + 1] = { NULL };
    for (gsize i = 0; i < G_N_ELEMENTS(networks); i++)
        names[i] = networks[i].name;
    for (; *words != NULL; words++)
    {
        g_autofree char *hint = ifm_nearest_hint(*words, names), *all = g_strjoinv(", ", (char **)names);
        if (g_strv_contains(names, *words))
            continue;
        fprintf(stderr, "conv-end-to-end: there is no network \"%s\"%s (there are %s)\n", *words, hint, all);
        exit(2);
    }
}

/* Reads the options and checks the networks' names, which stay in @argv. */
static void read_options(Bench *bench, int *argc, char ***argv)
{
    g_autoptr(GError) error = NULL;
    const char *build = g_getenv("IFM_BENCH_BUILD");
    const GOptionEntry entries[] = {
        { "rounds", 0, 0, G_OPTION_ARG_INT, &bench->rounds, "Of each cell", "N" },
        { "threads", 0, 0, G_OPTION_ARG_INT, &bench->threads, "Only cells of so many", "N" },
        { "batch", 0, 0, G_OPTION_ARG_INT, &bench->batch, "Only cells of so many", "N" },
        { "state", 0, 0, G_OPTION_ARG_FILENAME, &bench->state_path, "What was measured before", "FILE" },
        { NULL },
    };
    g_autoptr(GOptionContext) context = g_option_context_new("[MODEL …]");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &error))
        conv_study_fail("options", error);
    if (bench->rounds < 6)
        conv_study_fail("--rounds: 6 or more are expected, fewer have no interval", NULL);
    if (bench->state_path == NULL && !bench_is_quick())
        bench->state_path = g_build_filename(build != NULL ? build : "build", "conv-end-to-end.json", NULL);
    check_names((const char *const *)*argv + 1);
}

/* Whether the options leave a cell in; a quick run has one. */
static gboolean is_asked(const Bench *bench, const Cell *cell, int argc, char **argv)
{
    if (bench_is_quick() && argc < 2)
        return cell->network == networks && cell->threads == 1 && cell->batch == 1;
    return (bench->threads == 0 || bench->threads == cell->threads) && (bench->batch == 0 || bench->batch == cell->batch) &&
           (argc < 2 || g_strv_contains((const char *const *)argv + 1, cell->network->name));
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    Bench bench = { .rounds = bench_rounds(ROUNDS, 6) };
    read_options(&bench, &argc, &argv);
    load_state(&bench);
    bench.processor = processor_name();
    bench.folder = g_dir_make_tmp("conv-end-to-end-XXXXXX", &error);
    if (bench.folder == NULL)
        conv_study_fail("a folder", error);
    gboolean good = TRUE;
    printf("%s\n", bench.processor);
    for (gsize i = 0; i < G_N_ELEMENTS(networks); i++)
        for (gsize t = 0; t < G_N_ELEMENTS(threads_of); t++)
            for (gsize b = 0; b < G_N_ELEMENTS(batches_of); b++)
            {
                const Cell cell = { &networks[i], threads_of[t], batches_of[b] };
                if (is_asked(&bench, &cell, argc, argv))
                    good &= run_cell(&bench, &cell);
            }
    good &= print_means(&bench);
    const char *const remove[] = { "rm", "-r", "--", bench.folder, NULL };
    g_spawn_sync(NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
    return bench_status(good);
}
