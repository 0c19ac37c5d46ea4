/*
 * How well latencies of kernels and models are predicted, on data collected here: the kernels.csv of `inferometer study run
 * kernels`, or another such file; where there is none, it runs that study first, which takes half an hour. Each figure is
 * of rows that were not trained on, with the noise floor (how far two visits of a kernel are apart) and the baselines
 * beside it. Bounds: see `bounds`; one on a mean error also holds where that is within the noise floor and two points, one
 * on a median where it is within half of that; no mean error may be above that of a line for each operator. Where two
 * visits differ by more than NOISE_JUDGED, nothing is judged, and the status is 77. Each operator that has an error of its
 * own is at most OPERATOR_FACTOR times as far off as the best of its baselines.
 *
 *     predict-quality [FILE]: out/kernels/kernels.csv    IFM_BENCH_STUDY=kernels-quick: that study instead
 */
#include <learn/learn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* @metric: which figure of a row    @bound: at most; of "within" at least, of "covered" also at most 95 % */
typedef struct
{
    const char *protocol, *part, *metric;
    double bound;
} Bound;

static const Bound bounds[] = {
    { "held-out configurations", ">= 20 us", "mape", 0.10 },
    { "held-out configurations", ">= 20 us", "median", 0.05 },
    { "held-out configurations", ">= 20 us", "weighted", 0.07 },
    { "held-out configurations", "all", "covered", 0.85 },
    { "family unseen, its exact shapes", "models", "mape", 0.09 },
    { "family unseen, its exact shapes", "models", "median", 0.06 },
    { "family unseen, its exact shapes", "models", "within", 0.85 },
    { "family unseen, all its shapes", "models", "mape", 0.12 },
    { "load of 60 % unseen, same cores", "all", "mape", 0.10 },
    { "load of 60 % and kernels unseen, same cores, idle measured", "all", "mape", 0.13 },
    { "kind of load unseen", "all", "mape", 0.12 },
};

#define NOISE_JUDGED 0.12
#define OPERATOR_FACTOR 1.05

static const char *const baselines[] = { "flop", "roofline", "linear", "idle", "time-sharing", "share alone", "metrics" };

static const IfmLearnError *find(const GPtrArray *errors, const char *protocol, const char *part, const char *method)
{
    for (guint i = 0; i < errors->len; i++)
    {
        const IfmLearnError *error = errors->pdata[i];
        if (g_str_equal(error->protocol, protocol) && g_str_equal(error->part, part) && g_str_equal(error->method, method))
            return error;
    }
    return NULL;
}

static double figure_of(const IfmLearnError *error, const char *metric)
{
    return g_str_equal(metric, "mape")       ? error->mape
           : g_str_equal(metric, "median")   ? error->median
           : g_str_equal(metric, "weighted") ? error->weighted
           : g_str_equal(metric, "within")   ? error->within
                                             : error->covered;
}

/* Returns: whether it is kept, or cannot be said of this data. */
static gboolean check(const GPtrArray *errors, const Bound *bound)
{
    const IfmLearnError *error = find(errors, bound->protocol, bound->part, "chosen");
    const gboolean covers = g_str_equal(bound->metric, "covered"), is_mean = g_str_equal(bound->metric, "mape"),
                   is_median = g_str_equal(bound->metric, "median");
    if (error == NULL)
    {
        printf("%-60s %-9s %-8s: not in this data\n", bound->protocol, bound->part, bound->metric);
        return TRUE;
    }
    const IfmLearnError *line = find(errors, bound->protocol, bound->part, "linear");
    const double figure = figure_of(error, bound->metric), floor = isnan(error->noise) ? 0 : error->noise + 0.02,
                 within = is_mean     ? MAX(bound->bound, floor)
                          : is_median ? MAX(bound->bound, floor / 2)
                                      : bound->bound;
    const gboolean is_behind = is_mean && line != NULL && figure > line->mape;
    const gboolean is_least = covers || g_str_equal(bound->metric, "within");
    const gboolean kept = is_least ? figure >= bound->bound && (!covers || figure <= 0.95) : figure <= within && !is_behind;
    g_autofree char *noise = isnan(error->noise) ? g_strdup("") : g_strdup_printf(", noise %.1f %%", 100 * error->noise);
    printf("%-60s %-9s %-8s %5.1f %% of %4d rows (bound %.0f %%%s): %s;", bound->protocol, bound->part, bound->metric,
           100 * figure, (int)error->n, 100 * bound->bound, noise, kept ? "kept" : "MISSED");
    for (gsize i = 0; !covers && i < G_N_ELEMENTS(baselines); i++)
    {
        const IfmLearnError *other = find(errors, bound->protocol, bound->part, baselines[i]);
        if (other != NULL)
            printf(" %s %.1f %%", baselines[i], 100 * figure_of(other, bound->metric));
    }
    printf("\n");
    return kept;
}

/* Returns: whether no operator with an error of its own is far behind the best of its baselines. */
static gboolean check_operators(const GPtrArray *errors)
{
    gboolean kept = TRUE;
    for (guint i = 0; i < errors->len; i++)
    {
        const IfmLearnError *error = errors->pdata[i];
        const char *best = NULL;
        double least = (double)INFINITY;
        if (!g_str_equal(error->method, "chosen") || !g_str_has_prefix(error->part, IFM_LEARN_OPERATOR_PREFIX))
            continue;
        for (gsize k = 0; k < G_N_ELEMENTS(baselines); k++)
        {
            const IfmLearnError *other = find(errors, error->protocol, error->part, baselines[k]);
            best = other != NULL && other->mape < least ? baselines[k] : best;
            least = other != NULL ? MIN(least, other->mape) : least;
        }
        if (best == NULL)
            continue;
        const gboolean is_near = error->mape <= OPERATOR_FACTOR * least;
        printf("%-60s %-18s mape %5.1f %% of %4d rows: %s; %s %.1f %%\n", error->protocol, error->part, 100 * error->mape,
               (int)error->n, is_near ? "kept" : "MISSED", best, 100 * least);
        kept &= is_near;
    }
    return kept;
}

/* Goes on where it was interrupted; what was measured before is found. */
static gboolean collect(const char *study, GError **error)
{
    const char *program = g_getenv("INFEROMETER");
    const char *file = g_str_equal(study, "kernels-few") ? "bench/data/kernels-few.yaml" : study; /* for a quick run */
    const char *const words[] = { program != NULL ? program : "build/inferometer", "study", "run", file, NULL };
    int status = 0;
    return g_spawn_sync(NULL, (char **)words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                        NULL, &status, error) &&
           g_spawn_check_wait_status(status, error);
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *named = g_getenv("IFM_BENCH_STUDY");
    const char *study = named != NULL ? named : bench_is_quick() ? "kernels-few" : "kernels";
    g_autofree char *collected = g_build_filename("out", study, "kernels.csv", NULL);
    const char *path = argc > 1 ? argv[1] : collected;
    if (!g_file_test(path, G_FILE_TEST_EXISTS) && argc == 1 && !collect(study, &error))
    {
        fprintf(stderr, "predict-quality: %s\n", error->message);
        return 1;
    }
    IfmLearnOptions options = { 0 };
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_read(path, &error);
    ifm_options_init(ifm_learn_options, &options);
    options.allow_disturbed = bench_is_quick(); /* beside others, too, it shows that the bench works */
    g_autoptr(GPtrArray) errors = samples != NULL ? ifm_learn_evaluate(samples, &options, &error) : NULL;
    gboolean good = TRUE;
    if (errors == NULL)
    {
        fprintf(stderr, "predict-quality: %s\n", error->message);
        return 1;
    }
    printf("%s: %d samples; trained on all but the rows named, seed 1\n", path, (int)ifm_kernel_samples_n(samples));
    for (gsize i = 0; i < G_N_ELEMENTS(bounds); i++)
        good &= check(errors, &bounds[i]);
    good &= check_operators(errors);
    const IfmLearnError *held_out = find(errors, bounds[0].protocol, bounds[0].part, "chosen");
    if (held_out != NULL && held_out->noise > NOISE_JUDGED)
    {
        printf("not judged: two visits of a kernel differ by %.1f %%, more than %.0f %%\n", 100 * held_out->noise,
               100 * NOISE_JUDGED);
        return 77;
    }
    return bench_status(good);
}
