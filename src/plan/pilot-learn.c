/* Corrects the costs by a short run of a plan. Earlier knowledge and the run are weighted by their precision. */
#include <math.h>

#include <base/fields.h>

#include "plan-private.h"

/* Bounds of makespan / simulated makespan: beyond these the run is not the one that was simulated. */
#define MIN_REST 0.5
#define MAX_REST 2.0

/* --- figures of its repetitions --------------------------------------------------------------------------------------- */

/* The median over repetitions, and half their range, so that one disturbed repetition counts little. @block: from 0;
 * -1: a member of the repetition itself    @alias: of the block's device; NULL: a member of the block */
static double over_repetitions(const json_t *repetitions, int block, const char *key, const char *alias, double *half)
{
    g_autofree double *values = g_new(double, json_array_size(repetitions) + 1);
    gsize n = 0;
    for (gsize r = 0; r < json_array_size(repetitions); r++)
    {
        const json_t *of = json_array_get(repetitions, r);
        if (block >= 0)
            of = json_array_get(json_object_get(of, "stages"), (gsize)block);
        double value = ifm_member_number(alias != NULL ? json_object_get(of, key) : of, alias != NULL ? alias : key);
        if (isfinite(value))
            values[n++] = value;
    }
    if (n == 0)
        return NAN;
    ifm_sort_doubles(values, n);
    if (half != NULL)
        *half = (values[n - 1] - values[0]) / 2;
    return ifm_quantile(values, n, 0.5);
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* A device of a block: its share and its load. */
typedef struct
{
    int block, device, first, last;
    const char *alias;
    double ratio;
    guint32 busy;
    gsize n_devices; /* of the block */
} Part;

/* All devices of the plan, by blocks. */
static GArray *parts_of(const PilotRun *run)
{
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(Part));
    guint32 all = 0;
    for (guint b = 0; b < run->plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = ifm_plan_block(run->plan, b);
        for (gsize d = 0; d < block->n_devices; d++)
        {
            const IfmPlanDevice *described = run->plan->devices->pdata[block->devices[d]];
            Part part = { (int)b,
                          ifm_costs_find_device(run->costs, described->alias),
                          block->first,
                          block->last,
                          described->alias,
                          block->ratios[d],
                          0,
                          block->n_devices };
            if (part.device < 0) /* unknown to the costs */
                continue;
            all |= 1u << part.device;
            g_array_append_val(parts, part);
        }
    }
    for (guint i = 0; i < parts->len; i++)
        g_array_index(parts, Part, i).busy = all & ~(1u << g_array_index(parts, Part, i).device);
    return parts;
}

/* The nodes that its model would have to hold if the whole batch were its share. */
static double held_nodes(const PilotRun *run, const Part *part, gsize i)
{
    return cost_held_nodes(run->costs, part->device, part->n_devices, (double)run->stream.sizes[i].nodes,
                           run->stream.sources != NULL ? (double)run->stream.sources[i] : 0);
}

/* Its mean latency, as a run reports it, and the spread of that, averaged over the batches' sizes. NaN: unknown. */
static double predicted_ns(const PilotRun *run, const Part *part, double *spread_ratio)
{
    double sum = 0;
    *spread_ratio = 0;
    for (gsize i = 0; i < run->stream.n_sizes; i++)
    {
        IfmCostLatency latency;
        const IfmPlanSize *size = &run->stream.sizes[i];
        if (!ifm_costs_latency(run->costs, part->device, part->first, part->last, part->ratio * held_nodes(run, part, i),
                               part->ratio * (double)size->edges, part->busy, &latency, NULL))
            return NAN;
        sum += latency.mean_ns;
        *spread_ratio += latency.mean_spread_ratio / (double)run->stream.n_sizes;
    }
    return sum / (double)run->stream.n_sizes;
}

/* The correction of this range and mask; NULL if it has only its tables. */
static const CostCorrection *own_correction(const PilotRun *run, const Part *part)
{
    const CostCorrection *found = costs_correction(run->costs, part->device, part->first, part->last, part->busy);
    return found != NULL && found->first == part->first && found->last == part->last && found->busy == part->busy ? found
                                                                                                                  : NULL;
}

/* Equals: factor = known^(1 - w) seen^w, with the weight w by the inverse squares of the relative errors of both. */
static void correct(const PilotRun *run, const Part *part, double seen_ns, double rest, double seen_ratio)
{
    const CostCorrection *own = own_correction(run, part),
                         *any = costs_correction(run->costs, part->device, part->first, part->last, part->busy);
    double known_ratio, now_ns = predicted_ns(run, part, &known_ratio);
    double now = any != NULL ? any->factor : 1, known = own != NULL ? own->factor : 1;
    double seen = now * seen_ns / now_ns * rest;
    known_ratio = own != NULL   ? own->spread_ratio
                  : any != NULL ? (double)NAN
                                : hypot(known_ratio, COST_DEVIATIONS * PILOT_DRIFT);
    double known_square = known_ratio * known_ratio, seen_square = seen_ratio * seen_ratio, weight = 1;
    if (isfinite(known_square) && isfinite(seen_square) && seen_square > 0)
        weight = known_square / (known_square + seen_square);
    double factor = pow(known, 1 - weight) * pow(seen, weight);
    double spread = weight < 1 ? known_ratio * seen_ratio / hypot(known_ratio, seen_ratio) : seen_ratio;
    if (isfinite(factor) && factor > 0)
        ifm_costs_correct(run->costs, part->device, part->first, part->last, part->busy, factor, spread);
}

/* --- the host --------------------------------------------------------------------------------------------------------- */

/* The copies to and from devices' own memory: partition and merge contain them, and they are known. */
static void copied_ns(const PilotRun *run, const GArray *parts, int block, gsize n_devices, double *in_ns, double *out_ns)
{
    *in_ns = *out_ns = 0;
    for (guint p = 0; p < parts->len; p++)
        for (gsize i = 0; i < run->stream.n_sizes && g_array_index(parts, Part, p).block == block; i++)
        {
            CostPart copies = { 0 };
            const Part *part = &g_array_index(parts, Part, p);
            costs_copies(run->costs, part->device, part->first, part->last, (int)n_devices, part->ratio,
                         held_nodes(run, part, i), (double)run->stream.sizes[i].edges, &copies);
            *in_ns += copies.in_ns / (double)run->stream.n_sizes;
            *out_ns += copies.out_ns / (double)run->stream.n_sizes;
        }
}

/* The mean over blocks of several devices of the time beyond that predicted without a run. */
static void learn_host(const PilotRun *run, const GArray *parts, const json_t *repetitions)
{
    double partition_ns = 0, merge_ns = 0, edges = 0;
    int n = 0;
    for (gsize i = 0; i < run->stream.n_sizes; i++)
        edges += (double)run->stream.sizes[i].edges / (double)run->stream.n_sizes;
    ifm_costs_correct_host(run->costs, 0, 0);
    for (guint b = 0; b < run->plan->blocks->len; b++)
    {
        int n_devices = (int)ifm_plan_block(run->plan, b)->n_devices;
        double partition = over_repetitions(repetitions, (int)b, "partition_ns", NULL, NULL),
               merging = over_repetitions(repetitions, (int)b, "merge_ns", NULL, NULL), in_ns, out_ns;
        if (n_devices < 2 || !isfinite(partition) || !isfinite(merging))
            continue;
        copied_ns(run, parts, (int)b, (gsize)n_devices, &in_ns, &out_ns);
        partition_ns += partition - in_ns - cost_partition_ns(run->costs, n_devices, n == 0, edges);
        merge_ns += merging - out_ns - cost_merge_ns(run->costs, n_devices);
        n++;
    }
    if (n > 0)
        ifm_costs_correct_host(run->costs, partition_ns / n, merge_ns / n);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

gboolean pilot_simulate(const PilotRun *run, gsize n_batches, double *makespan_ns, GError **error)
{
    IfmSimulateOptions whole = run->stream;
    whole.n_batches = n_batches;
    g_auto(IfmSimulation) simulation = { 0 };
    if (!ifm_plan_simulate(run->costs, run->plan, &whole, &simulation, error))
        return FALSE;
    *makespan_ns = (double)simulation.makespan_ns;
    return TRUE;
}

/* The ratio of the measured makespan to the simulated one if all new values were taken as they are. The rest is time of
 * threads that hand over to each other, or of devices that are alone now and then. It is added to the devices'
 * times. */
static double rest_of(const PilotRun *run, const GArray *parts, const double *walls, double measured_ns)
{
    const GArray *corrections = run->costs->corrections;
    g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(CostCorrection)); /* this run's are taken back below */
    g_array_append_vals(before, corrections->data, corrections->len);
    double simulated_ns = NAN;
    for (guint p = 0; p < parts->len; p++)
        correct(run, &g_array_index(parts, Part, p), walls[p], 1, 0);
    gboolean simulated = pilot_simulate(run, run->stream.n_batches, &simulated_ns, NULL);
    g_array_set_size(run->costs->corrections, 0);
    g_array_append_vals(run->costs->corrections, before->data, before->len);
    return simulated ? fmin(MAX_REST, fmax(MIN_REST, measured_ns / simulated_ns)) : 1;
}

gboolean pilot_learn(const PilotRun *run, const json_t *repetitions, IfmPilotRound *round)
{
    double half = NAN;
    g_autoptr(GArray) parts = parts_of(run);
    g_autofree double *walls = g_new(double, parts->len + 1);
    double rate = over_repetitions(repetitions, -1, "rate_per_s", NULL, NULL);
    round->measured_ns = over_repetitions(repetitions, -1, "makespan_ns", NULL, &half);
    round->spread_ratio = half / round->measured_ns;
    round->pace_ns = isfinite(rate) ? 1e9 / rate : round->measured_ns / (double)run->stream.n_batches;
    if (!isfinite(round->measured_ns))
        return FALSE;
    for (guint p = 0; p < parts->len; p++)
    {
        const Part *part = &g_array_index(parts, Part, p);
        walls[p] = over_repetitions(repetitions, part->block, "device_wall_ns", part->alias, NULL);
    }
    learn_host(run, parts, repetitions);
    double rest = rest_of(run, parts, walls, round->measured_ns);
    for (guint p = 0; p < parts->len; p++)
        correct(run, &g_array_index(parts, Part, p), walls[p], rest, round->spread_ratio);
    return TRUE;
}
