/* The costs that are measured on this computer when a plan is made: ordering the edges of a graph, waking a thread,
 * merging and padding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "plan-private.h"

enum
{
    RUNS = 9,
    WAKE_UPS = 101,
    FRACTIONS = 3,
    MIN_COPY = 1 << 16,
    MAX_COPY = 1 << 24,
};
/* Larger graphs are measured at this number of edges: the cost per edge is the same. */
#define MAX_EDGES G_GINT64_CONSTANT(20000000)

static double median_of(double *values, gsize n)
{
    ifm_sort_doubles(values, n);
    return ifm_quantile(values, n, 0.5);
}

/* --- ordering edges --------------------------------------------------------------------------------------------------- */

/* The time to order the edges of a random graph with two shares of equal size. The first run, which touches the memory,
 * does not count. */
static gboolean partition_ns(IfmClock *clock, gint64 nodes, gint64 edges, double *median_ns, GError **error)
{
    g_autofree gint64 *index = g_new(gint64, 2 * edges), *ordered = g_new(gint64, 2 * edges);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    const gint64 cuts[] = { (nodes + 1) / 2, nodes };
    gint64 ends[G_N_ELEMENTS(cuts)];
    double ns[RUNS];
    for (gint64 i = 0; i < 2 * edges; i++)
        index[i] = (gint64)(g_rand_double(random) * (double)nodes);
    for (int run = -1; run < RUNS; run++)
    {
        gint64 start = ifm_clock_now_ns(clock);
        if (!ifm_partition_edges(index, edges, cuts, G_N_ELEMENTS(cuts), ordered, ends, error))
            return FALSE;
        if (run >= 0)
            ns[run] = (double)(ifm_clock_now_ns(clock) - start);
    }
    *median_ns = median_of(ns, RUNS);
    return TRUE;
}

/* Fits a line to the times of all edges of each size and of parts of them, so that one size is enough. */
static gboolean measure_partition(IfmCosts *costs, IfmClock *clock, const IfmPlanSize *sizes, gsize n_sizes, GError **error)
{
    g_autofree double *edges = g_new(double, n_sizes *FRACTIONS), *ns = g_new(double, n_sizes *FRACTIONS);
    IfmBandwidthFit fit;
    gsize n = 0;
    for (gsize i = 0; i < n_sizes; i++)
        for (int part = 1; part <= FRACTIONS; part++, n++)
        {
            gint64 of = MAX(MIN(sizes[i].edges, MAX_EDGES), FRACTIONS) * part / FRACTIONS;
            edges[n] = (double)of;
            if (!partition_ns(clock, sizes[i].nodes, of, &ns[n], error))
                return FALSE;
            ns[n] = fmax(ns[n], 1);
        }
    if (!ifm_link_fit(edges, ns, n, 0.95, &fit, error))
        return FALSE;
    costs->partition_fixed_ns = fmax(0, fit.intercept_ns);
    costs->partition_ns_per_edge = fmax(0, fit.slope_ns_per_byte);
    return TRUE;
}

/* --- wake-up time ----------------------------------------------------------------------------------------------------- */

/* Devices write into the merged output. So the cost of a merge is the time until the block's thread learns that the
 * last device is done. */
typedef struct
{
    IfmClock *clock;
    IfmCondition *condition;
    gboolean asked, done, over;
    gint64 done_ns;
} WakeUp;

static void *device_thread(void *data)
{
    WakeUp *wake = data;
    ifm_condition_lock(wake->condition);
    while (!wake->over)
    {
        if (!wake->asked)
        {
            ifm_condition_wait_until(wake->condition, IFM_CLOCK_NEVER);
            continue;
        }
        wake->asked = FALSE;
        wake->done = TRUE;
        wake->done_ns = ifm_clock_now_ns(wake->clock);
        ifm_condition_broadcast(wake->condition);
    }
    ifm_condition_unlock(wake->condition);
    return NULL;
}

static gboolean measure_merge(IfmCosts *costs, IfmClock *clock, GError **error)
{
    WakeUp wake = { .clock = clock, .condition = ifm_condition_new(clock) };
    pthread_t thread;
    double ns[WAKE_UPS];
    int trouble = pthread_create(&thread, NULL, device_thread, &wake);
    if (trouble != 0)
    {
        ifm_error_set(error, IFM_ERROR_FAILED, "costs of the host: no thread: %s", g_strerror(trouble));
        ifm_condition_free(wake.condition);
        return FALSE;
    }
    ifm_condition_lock(wake.condition);
    for (int run = 0; run < WAKE_UPS; run++)
    {
        wake.done = FALSE;
        wake.asked = TRUE;
        ifm_condition_broadcast(wake.condition);
        while (!wake.done)
            ifm_condition_wait_until(wake.condition, IFM_CLOCK_NEVER);
        ns[run] = (double)(ifm_clock_now_ns(clock) - wake.done_ns);
    }
    wake.over = TRUE;
    ifm_condition_broadcast(wake.condition);
    ifm_condition_unlock(wake.condition);
    pthread_join(thread, NULL);
    ifm_condition_free(wake.condition);
    costs->merge_ns = median_of(ns, WAKE_UPS);
    return TRUE;
}

/* --- padding ---------------------------------------------------------------------------------------------------------- */

static void measure_padding(IfmCosts *costs, IfmClock *clock, const IfmPlanSize *sizes, gsize n_sizes)
{
    double bytes = 0, ns[RUNS];
    for (gsize i = 0; i < n_sizes; i++)
        bytes = fmax(bytes, costs_cut_bytes(costs, 0, (double)sizes[i].nodes, (double)sizes[i].edges));
    gsize n = (gsize)CLAMP(bytes, MIN_COPY, MAX_COPY);
    g_autofree char *from = g_malloc(n), *to = g_malloc(n);
    memset(from, 1, n);
    memset(to, 0, n);
    for (int run = 0; run < RUNS; run++)
    {
        from[run] = (char)run;
        gint64 start = ifm_clock_now_ns(clock);
        memcpy(to, from, n);
        ns[run] = (double)(ifm_clock_now_ns(clock) - start);
        __asm__ volatile("" : : "r"(to) : "memory"); /* keeps the copy although its result is not used */
    }
    costs->pad_ns_per_byte = median_of(ns, RUNS) / (double)n;
}

gboolean ifm_costs_measure_host(IfmCosts *costs, const IfmPlanSize *sizes, gsize n_sizes, GError **error)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    for (gsize i = 0; i < n_sizes; i++)
        if (sizes[i].nodes < 1 || sizes[i].edges < 1)
            return ifm_error_refuse(error,
                                    "costs of the host: size %zu: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT
                                    " edges: both must be above 0",
                                    i + 1, sizes[i].nodes, sizes[i].edges);
    if (n_sizes == 0)
        return ifm_error_refuse(error, "costs of the host: no size to measure at; one is enough");
    if (!measure_partition(costs, clock, sizes, n_sizes, error) || !measure_merge(costs, clock, error))
        return FALSE;
    measure_padding(costs, clock, sizes, n_sizes);
    return TRUE;
}
