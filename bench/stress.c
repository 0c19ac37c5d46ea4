/*
 * How well a stressor holds its intensity: for each kind and 30, 60 and 90 %, ten windows of a second. Bound: the mean over
 * the ten is within 3 points where the core, or the GPU, is free. Usage: build/bench/stress [CORE | CUDA:INDEX]
 */
#include <inferometer/measure.h>
#include <math.h>
#include <stdio.h>

#include "bench.h"

#define N_WINDOWS 10
#define BOUND 0.03

static gboolean hold(IfmStressKind kind, double intensity, const char *place)
{
    g_autoptr(GError) error = NULL;
    const gboolean is_gpu = g_str_has_prefix(place, "CUDA");
    const IfmStressOptions options = { kind, intensity, is_gpu ? NULL : place, is_gpu ? place : NULL };
    g_autoptr(IfmStressor) stressor = ifm_stressor_start(&options, &error);
    const int n_windows = bench_rounds(N_WINDOWS, 1);
    double sum = 0, worst = 0, work = 0;
    if (stressor == NULL)
    {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    for (int i = 0; i < n_windows; i++)
    {
        IfmStressReading reading;
        g_usleep(G_USEC_PER_SEC);
        ifm_stressor_read(stressor, &reading);
        if (reading.ended != NULL)
        {
            fprintf(stderr, "%s\n", reading.ended);
            return FALSE;
        }
        sum += reading.achieved / n_windows;
        work += reading.work_per_s / n_windows;
        worst = fmax(worst, fabs(reading.achieved - intensity));
    }
    const gboolean good = fabs(sum - intensity) <= BOUND;
    printf("%-6s asked %.0f %%: reached %.2f %%, %.1f %s, worst second off by %.2f points: %s\n", ifm_stress_words()[kind],
           100 * intensity, 100 * sum, work / 1e9, kind == IFM_STRESS_GEMM ? "GFLOP/s" : "GB/s", 100 * worst,
           good ? "kept" : "MISSED");
    return good;
}

int main(int argc, char **argv)
{
    static const double intensities[] = { 0.3, 0.6, 0.9 };
    gboolean good = TRUE;
    const char *place = argc > 1 ? argv[1] : "0";
    const int n_kinds = g_str_has_prefix(place, "CUDA") ? IFM_STRESS_RANDOM : IFM_N_STRESS_KINDS;
    for (int kind = 0; kind < n_kinds; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(intensities); i++)
            good &= hold((IfmStressKind)kind, intensities[i], place);
    return bench_status(good);
}
