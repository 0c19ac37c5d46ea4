/*
 * How often does comparing a thing with itself end in "faster" or "slower", and how often is a slow-down of 3 % found?
 * compare-calibration [--count N] [--seed S] [--slow-down PERCENT]: the rule on simulated noise of many kinds.
 * compare-calibration --device D [--budget SECONDS] [--count N] [--seed S]: the whole of it, processes and all, on a
 * device, with a budget for each comparison: a chain of 33 matrix products with itself, and with one of 34, 3.03 % more
 * work (and whatever an inference takes beside its products less of that).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib/gstdio.h>

#include <inferometer/compare.h>
#include <inferometer/zoo.h>
#include <internal/statistics.h>

#include "measure/measure-private.h"
#include "series.h"

enum
{
    PAIRS = 20, /* what half a minute has room for on a small model */
    ROUNDS = 8, /* in each */
    RUNS = 11,  /* of each side in a round */
};

typedef struct
{
    gsize count;
    guint64 seed;
    double slow_down;
    const char *device;
    double budget_s;
} Setting;

typedef struct
{
    gsize n[4];
    double pairs, seconds;
} Tally;

static void tally_add(Tally *tally, const IfmComparison *comparison)
{
    tally->n[comparison->verdict]++;
    tally->pairs += (double)comparison->n_pairs;
    tally->seconds += (double)comparison->elapsed_ns / 1e9;
}

static void print_share(const char *what, gsize k, gsize n)
{
    IfmInterval interval = ifm_binomial_interval(k, n, 0.95);
    printf("  %s %5.1f %% [%4.1f, %5.1f]", what, 100.0 * (double)k / (double)n, 100 * interval.lower, 100 * interval.upper);
}

static void print_tallies(const char *name, const Tally *null, const Tally *slow, gsize n)
{
    printf("%-34s", name);
    print_share("itself:", null->n[IFM_VERDICT_FASTER] + null->n[IFM_VERDICT_SLOWER], n);
    printf(" (same %3.0f %%, %4.1f pairs)", 100.0 * (double)null->n[IFM_VERDICT_SAME] / (double)n, null->pairs / (double)n);
    print_share("slow-down found:", slow->n[IFM_VERDICT_SLOWER], n);
    printf(" (%4.1f pairs)\n", slow->pairs / (double)n);
    fflush(stdout);
}

/* --- simulated noise ------------------------------------------------------------------------------------------------- */

/* How processes differ, and what happens to pairs of them, beside what single runs do. */
typedef struct
{
    BenchKind runs;
    double process; /* standard deviation of a process's level */
    double modes;   /* one process in five is slower by this */
    double common;  /* the machine's level rises by this over the comparison, and swings by as much */
    double wander;  /* standard deviation of an AR(1) of 0.9 from round to round, each side's own */
} Noise;

static const Noise noises[] = {
    { .runs = { "independent 2 %", bench_gaussian, 0, 0.02 } },
    { .runs = { "AR(1) 0.9, 2 %", bench_gaussian, 0.9, 0.02 } },
    { .runs = { "AR(1) 0.99, 2 %", bench_gaussian, 0.99, 0.02 } },
    { .runs = { "lognormal, outliers 5 %", bench_outliers, 0.5, 0.05 } },
    { .runs = { "Pareto 1.5, AR(1) 0.9, 2 %", bench_pareto, 0.9, 0.02 } },
    { .runs = { "quantised, ticks of 2 %", bench_quantised, 0, 0.02 } },
    { .runs = { "two levels 3 : 2, 5 % apart", bench_two_levels, 0, 0.005 } },
    { .runs = { "processes differ by 1 %", bench_gaussian, 0.5, 0.02 }, .process = 0.01 },
    { .runs = { "processes differ by 2 %", bench_gaussian, 0.5, 0.02 }, .process = 0.02 },
    { .runs = { "one process in 5 is 4 % slower", bench_gaussian, 0.5, 0.02 }, .modes = 0.04 },
    { .runs = { "the machine drifts by 20 %", bench_gaussian, 0.5, 0.02 }, .common = 0.2 },
    { .runs = { "each side wanders by 1 %", bench_gaussian, 0.5, 0.02 }, .wander = 0.01 },
    { .runs = { "all of it", bench_outliers, 0.9, 0.03 }, .process = 0.01, .modes = 0.02, .common = 0.1, .wander = 0.005 },
    { .runs = { "recorded: gemm", .recorded = "gemm.txt" }, .process = 0.005 },
    { .runs = { "recorded: onnxruntime", .recorded = "onnxruntime-small-cnn.txt" }, .process = 0.005 },
};

/* Simulation: one comparison on its way. */
typedef struct
{
    const Noise *noise;
    BenchSource *sources[2];
    GRand *random;
    double wander[2];
    gsize step;
} Simulation;

static double draw_gaussian(GRand *random)
{
    return sqrt(-2 * log(1 - g_rand_double(random))) * cos(2 * G_PI * g_rand_double(random));
}

static double draw_process(Simulation *simulation)
{
    double level = 1 + simulation->noise->process * draw_gaussian(simulation->random);
    return g_rand_double(simulation->random) < 0.2 ? level * (1 + simulation->noise->modes) : level;
}

static double side_median(Simulation *simulation, int side)
{
    double runs[RUNS], share = (double)simulation->step++ / (2 * PAIRS * ROUNDS);
    double level = 1 + simulation->noise->common * (share + 0.5 * sin(40 * share));
    for (int i = 0; i < RUNS; i++)
        runs[i] = (double)bench_source_next(simulation->sources[side]);
    ifm_sort_doubles(runs, RUNS);
    simulation->wander[side] =
        0.9 * simulation->wander[side] + sqrt(1 - 0.81) * simulation->noise->wander * draw_gaussian(simulation->random);
    return level * (1 + simulation->wander[side]) * ifm_quantile(runs, RUNS, 0.5);
}

static void simulate(Simulation *simulation, double slow_down, IfmComparison *comparison)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.max_pairs = PAIRS;
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    simulation->step = 0;
    for (int side = 0; side < 2; side++)
        simulation->wander[side] = simulation->noise->wander * draw_gaussian(simulation->random);
    gboolean done = FALSE;
    while (!done)
    {
        double a_level = draw_process(simulation), b_level = draw_process(simulation) * (1 + slow_down);
        gboolean b_first = FALSE;
        for (int round = 0; round < ROUNDS; round++)
        {
            double medians[2];
            b_first = round % 2 == 0 ? g_rand_boolean(simulation->random) : !b_first;
            medians[b_first] = side_median(simulation, b_first);
            medians[!b_first] = side_median(simulation, !b_first);
            ifm_comparer_add(comparer, medians[0] * a_level, medians[1] * b_level, b_first);
        }
        done = ifm_comparer_end_pair(comparer, 0);
    }
    ifm_comparer_finish(comparer, comparison);
}

static void restart(Simulation *simulation, const Setting *setting, gsize index)
{
    for (int side = 0; side < 2; side++)
        bench_source_restart(simulation->sources[side], setting->seed, 2 * index + (gsize)side);
    g_rand_set_seed(simulation->random, (guint32)(setting->seed * 1000003 + index));
}

static int run_noises(const Setting *setting)
{
    printf("%" G_GSIZE_FORMAT
           " comparisons a row, at most %d pairs of processes with %d rounds each; a slow-down of %.3g %%\n",
           setting->count, PAIRS, ROUNDS, 100 * setting->slow_down);
    for (gsize kind = 0; kind < G_N_ELEMENTS(noises); kind++)
    {
        g_autoptr(BenchSource) a = bench_source_new(&noises[kind].runs);
        g_autoptr(BenchSource) b = bench_source_new(&noises[kind].runs);
        if (a == NULL || b == NULL)
            return 1;
        Simulation simulation = { .noise = &noises[kind], .sources = { a, b }, .random = g_rand_new() };
        Tally tallies[2] = { 0 };
        for (gsize i = 0; i < 2 * setting->count; i++)
        {
            g_auto(IfmComparison) comparison = { 0 };
            restart(&simulation, setting, i);
            simulate(&simulation, i % 2 == 0 ? 0 : setting->slow_down, &comparison);
            tally_add(&tallies[i % 2], &comparison);
        }
        print_tallies(noises[kind].runs.name, &tallies[0], &tallies[1], setting->count);
        g_rand_free(simulation.random);
    }
    return 0;
}

/* --- a device -------------------------------------------------------------------------------------------------------- */

static gboolean make_chain(const char *folder, const char *layers, char **path, GError **error)
{
    const char *settings[] = { layers, NULL };
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", settings, 1, error);
    *path = g_build_filename(folder, layers, NULL);
    return model != NULL && ifm_model_save(model, *path, error);
}

static gboolean compare_once(const Setting *setting, const char *a, const char *b, guint32 seed, Tally *tally,
                             GError **error)
{
    IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    g_auto(IfmComparison) comparison = { 0 };
    IfmModelCase cases[2];
    IfmCompareSide sides[2] = { 0 };
    protocol.time_budget_ns = (gint64)(setting->budget_s * 1e9);
    for (int side = 0; side < 2; side++)
    {
        cases[side] = (IfmModelCase){ .model_path = side == 0 ? a : b,
                                      .device = setting->device,
                                      .dtype = IFM_DTYPE_F32,
                                      .seed = 1,
                                      .protocol = IFM_PROTOCOL_INIT };
        sides[side] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &cases[side] };
    }
    if (!ifm_runner_compare(runner, sides, &protocol, seed, &comparison, error))
        return FALSE;
    tally_add(tally, &comparison);
    printf("  %-9s %.4f [%.4f, %.4f] %2u pairs, %3u rounds, %4.1f s; A %.1f us; std between pairs %.2f %%, within %.2f "
           "%%%s%s\n",
           ifm_verdict_name(comparison.verdict), comparison.ratio, comparison.interval.lower, comparison.interval.upper,
           (unsigned)comparison.n_pairs, comparison.rounds->len, (double)comparison.elapsed_ns / 1e9, comparison.a_ns / 1e3,
           100 * comparison.between, 100 * comparison.within, comparison.why != NULL ? ": " : "",
           comparison.why != NULL ? comparison.why : "");
    fflush(stdout);
    return TRUE;
}

/* The two kinds in turn, so that whatever the machine does meanwhile happens to both. */
static int run_device(const Setting *setting)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-bench-XXXXXX", &error);
    g_autofree char *less = NULL, *more = NULL;
    Tally tallies[2] = { 0 };
    gboolean good =
        folder != NULL && make_chain(folder, "layers=33", &less, &error) && make_chain(folder, "layers=34", &more, &error);
    printf("%" G_GSIZE_FORMAT " comparisons of each kind on %s, %.3g s each\n", setting->count, setting->device,
           setting->budget_s);
    for (gsize i = 0; i < 2 * setting->count && good; i++)
        good = compare_once(setting, less, i % 2 == 0 ? less : more, (guint32)(setting->seed * 1000003 + i),
                            &tallies[i % 2], &error);
    if (good)
        print_tallies(setting->device, &tallies[0], &tallies[1], setting->count);
    else
        fprintf(stderr, "compare-calibration: %s\n", error->message);
    if (less != NULL)
        g_unlink(less);
    if (more != NULL)
        g_unlink(more);
    if (folder != NULL)
        g_rmdir(folder);
    return good ? 0 : 1;
}

static gboolean parse(int argc, char **argv, Setting *setting)
{
    for (int i = 1; i < argc; i += 2)
    {
        char *end = NULL;
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        double value = g_ascii_strtod(text, &end);
        gboolean good = *text != '\0' && *end == '\0' && value > 0;
        if (strcmp(argv[i], "--device") == 0 && *text != '\0')
            setting->device = text;
        else if (good && strcmp(argv[i], "--budget") == 0)
            setting->budget_s = value;
        else if (good && strcmp(argv[i], "--count") == 0 && value < 1e6)
            setting->count = (gsize)value;
        else if (good && strcmp(argv[i], "--seed") == 0)
            setting->seed = (guint64)value;
        else if (good && strcmp(argv[i], "--slow-down") == 0 && value < 100)
            setting->slow_down = value / 100;
        else
        {
            fprintf(stderr, "usage: %s [--count N] [--seed S] [--slow-down PERCENT | --device D [--budget SECONDS]]\n",
                    argv[0]);
            return FALSE;
        }
    }
    return TRUE;
}

int main(int argc, char **argv)
{
    Setting setting = { .count = 400, .seed = 1, .slow_down = 0.03, .budget_s = 8 };
    if (!parse(argc, argv, &setting))
        return 2;
    return setting.device != NULL ? run_device(&setting) : run_noises(&setting);
}
