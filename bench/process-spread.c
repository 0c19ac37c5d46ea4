/*
 * How much of the scatter between repeated measurements of one case comes from the process it is measured in: where its
 * memory lies, which threads it got. Several fresh worker processes, several measurements in each, one after the other.
 * Source: one-way random-effects analysis of variance; the interval by resampling whole processes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/statistics.h>
#include <measure/measure.h>
#include <onnx/onnx.h>

#include "bench.h"

enum
{
    PROCESSES = 12,
    REPEATS = 5, /* in each */
    RESAMPLES = 2000,
};

static int n_processes, n_repeats;
typedef double Medians[PROCESSES][REPEATS];

typedef struct
{
    double within_ratio, between_ratio, share; /* standard deviations / mean; the share of variance that is between */
} Spread;

static void give_up(const char *what, const GError *error)
{
    fprintf(stderr, "process-spread: %s: %s\n", what, error != NULL ? error->message : "failed");
    exit(1);
}

static double measure_once(IfmRunner *runner, const char *path, const char *device)
{
    IfmModelCase model_case = {
        .model_path = path, .device = device, .dtype = IFM_DTYPE_F32, .seed = 1, .protocol = IFM_PROTOCOL_INIT
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(runner, &ifm_kind_model, &model_case, &error);
    g_autoptr(IfmMeasurement) measurement =
        sealed != NULL ? ifm_runner_measure(runner, &ifm_kind_model, &model_case, sealed, &error) : NULL;
    if (measurement == NULL)
        give_up(device, error);
    if (measurement->outcome != IFM_OUTCOME_OK)
    {
        fprintf(stderr, "process-spread: %s: %s\n", device, measurement->reason);
        exit(1);
    }
    return measurement->summary.median;
}

static void measure_all(const char *path, const char *device, Medians medians)
{
    IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    for (int process = 0; process < n_processes; process++)
    {
        g_autoptr(IfmRunner) runner = ifm_runner_new(&options); /* its worker is a fresh process, used for all repeats */
        for (int repeat = 0; repeat < n_repeats; repeat++)
            medians[process][repeat] = measure_once(runner, path, device);
    }
}

static Spread analyse(const Medians medians, const int *chosen)
{
    double grand = 0, within = 0, between = 0, means[PROCESSES];
    for (int i = 0; i < n_processes; i++)
    {
        means[i] = 0;
        for (int k = 0; k < n_repeats; k++)
            means[i] += medians[chosen[i]][k] / n_repeats;
        grand += means[i] / n_processes;
    }
    for (int i = 0; i < n_processes; i++)
    {
        between += n_repeats * (means[i] - grand) * (means[i] - grand) / (n_processes - 1);
        for (int k = 0; k < n_repeats; k++)
            within += pow(medians[chosen[i]][k] - means[i], 2) / (n_processes * (n_repeats - 1));
    }
    double component = MAX(0, (between - within) / n_repeats);
    return (Spread){ sqrt(within) / grand, sqrt(component) / grand,
                     component + within > 0 ? component / (component + within) : 0 };
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *device, const Medians medians)
{
    int chosen[PROCESSES];
    double shares[RESAMPLES], betweens[RESAMPLES];
    GRand *random = g_rand_new_with_seed(1);
    for (int i = 0; i < n_processes; i++)
        chosen[i] = i;
    Spread spread = analyse(medians, chosen);
    for (int sample = 0; sample < RESAMPLES; sample++)
    {
        for (int i = 0; i < n_processes; i++)
            chosen[i] = g_rand_int_range(random, 0, n_processes);
        Spread other = analyse(medians, chosen);
        shares[sample] = other.share;
        betweens[sample] = other.between_ratio;
    }
    g_rand_free(random);
    qsort(shares, RESAMPLES, sizeof *shares, compare_doubles);
    qsort(betweens, RESAMPLES, sizeof *betweens, compare_doubles);
    printf("%-18s medians of %d measurements in each of %d processes: within a process %.2f %%, between processes %.2f %% "
           "[%.2f, %.2f] (std / mean); between is %.0f %% of the variance [%.0f, %.0f]\n",
           device, n_repeats, n_processes, 100 * spread.within_ratio, 100 * spread.between_ratio,
           100 * ifm_quantile(betweens, RESAMPLES, 0.025), 100 * ifm_quantile(betweens, RESAMPLES, 0.975),
           100 * spread.share, 100 * ifm_quantile(shares, RESAMPLES, 0.025), 100 * ifm_quantile(shares, RESAMPLES, 0.975));
}

int main(void)
{
    n_processes = bench_rounds(PROCESSES, 2);
    n_repeats = bench_rounds(REPEATS, 2);
    static const char *const engines[] = { "onnxruntime", "openvino" };
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-bench-XXXXXX", &error);
    g_autofree char *path = folder != NULL ? g_build_filename(folder, "small-cnn.onnx", NULL) : NULL;
    g_autoptr(IfmModel) model = folder != NULL ? ifm_zoo_build("small-cnn", NULL, 1, &error) : NULL;
    if (model == NULL || !ifm_model_save(model, path, &error))
        give_up("small-cnn", error);
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++)
    {
        IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
        g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
        g_autoptr(GError) absent = NULL;
        json_auto_t *devices = ifm_runner_devices(runner, engines[i], &absent);
        g_autofree char *device = g_strdup_printf("%s:CPU@%u", engines[i], g_get_num_processors() - 1);
        static Medians medians;
        if (devices == NULL)
        {
            printf("%-18s skipped: %s\n", engines[i], absent->message);
            continue;
        }
        measure_all(path, device, medians);
        report(device, medians);
    }
    remove(path);
    remove(folder);
    return 0;
}
