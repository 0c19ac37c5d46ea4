/*
 * How well a stressor holds its intensity: for each kind and 30, 60 and 90 %, ten windows of a second. Bound: the mean over
 * the ten is within 3 points where the core is free. Usage: build/bench/stress [CORE]
 */
#include <inferometer/measure.h>
#include <math.h>
#include <stdio.h>

#include "bench.h"

#define N_WINDOWS 10
#define BOUND 0.03

static gboolean hold(IfmStressKind kind, double intensity, const char *core)
{
    g_autoptr(GError) error = NULL;
    const IfmStressOptions options = { kind, intensity, core };
    g_autoptr(IfmStressor) stressor = ifm_stressor_start(&options, &error);
    const int n_windows = bench_rounds(N_WINDOWS, 1);
    double sum = 0, worst = 0;
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
        sum += reading.achieved / n_windows;
        worst = fmax(worst, fabs(reading.achieved - intensity));
    }
    const gboolean good = fabs(sum - intensity) <= BOUND;
    printf("%-6s asked %.0f %%: reached %.2f %%, worst second off by %.2f points: %s\n", ifm_stress_words()[kind],
           100 * intensity, 100 * sum, 100 * worst, good ? "kept" : "MISSED");
    return good;
}

int main(int argc, char **argv)
{
    static const double intensities[] = { 0.3, 0.6, 0.9 };
    gboolean good = TRUE;
    for (int kind = 0; kind < IFM_N_STRESS_KINDS; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(intensities); i++)
            good &= hold((IfmStressKind)kind, intensities[i], argc > 1 ? argv[1] : "0");
    return bench_status(good);
}
