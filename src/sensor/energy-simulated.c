/* A source computed from the clock: in update k the power is power_w + drift x time + noise of (seed, k). */
#include "energy-private.h"
#include <math.h>

#define NS_PER_S 1e9
#define UJ_PER_J 1e6

/* Walk: the energy until the beginning of update @k. */
typedef struct Walk
{
    const IfmEnergySimulated *simulated;
    gint64 offset_ns; /* the first update ends so much before a period after the opening */
    gint64 k;
    double energy_j;
} Walk;

typedef struct Simulation
{
    IfmEnergySimulated simulated;
    Walk walk;
    gint64 gauge_reads; /* seeds the noise of the gauge */
} Simulation;

/* SplitMix64 (Steele, Lea and Flood 2014) of a counter: a number in (0, 1). */
static double uniform(guint64 seed, guint64 stream, guint64 index)
{
    guint64 z = seed * G_GUINT64_CONSTANT(0xd1342543de82ef95) + stream * G_GUINT64_CONSTANT(0xda942042e4dd58b5);
    z += (index + 1) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    for (int round = 0; round < 2; round++)
    {
        z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
        z ^= z >> 31;
    }
    return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller's normal number. */
static double normal(guint64 seed, guint64 stream, gint64 index)
{
    double radius = sqrt(-2 * log(uniform(seed, stream, (guint64)index)));
    return radius * cos(2 * G_PI * uniform(seed, stream + 1, (guint64)index));
}

static Walk walk_new(const IfmEnergySimulated *simulated)
{
    double phase = uniform(simulated->seed, 5, 0);
    return (Walk){ .simulated = simulated, .offset_ns = (gint64)(phase * (double)simulated->update_period_ns) };
}

static double power_w(const Walk *walk, gint64 k)
{
    const IfmEnergySimulated *simulated = walk->simulated;
    double time_s = (double)k * (double)simulated->update_period_ns / NS_PER_S;
    return MAX(simulated->power_w + simulated->drift_w_per_s * time_s + simulated->noise_w * normal(simulated->seed, 1, k),
               0);
}

static gint64 begin_of(const Walk *walk, gint64 k)
{
    return k == 0 ? 0 : k * walk->simulated->update_period_ns - walk->offset_ns;
}

static void walk_to(Walk *walk, gint64 elapsed_ns)
{
    for (; begin_of(walk, walk->k + 1) <= elapsed_ns; walk->k++)
        walk->energy_j +=
            power_w(walk, walk->k) * (double)(begin_of(walk, walk->k + 1) - begin_of(walk, walk->k)) / NS_PER_S;
}

double ifm_energy_simulated_j(const IfmEnergySimulated *simulated, gint64 elapsed_ns)
{
    Walk walk = walk_new(simulated);
    walk_to(&walk, elapsed_ns);
    return walk.energy_j + power_w(&walk, walk.k) * (double)(elapsed_ns - begin_of(&walk, walk.k)) / NS_PER_S;
}

static gpointer simulated_open(const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    const IfmEnergySimulated *simulated = options->simulated;
    if (simulated == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "no simulated source was given");
        return NULL;
    }
    if (!(simulated->power_w > 0 && simulated->noise_w >= 0 && simulated->gauge_noise_w >= 0 &&
          isfinite(simulated->power_w) && isfinite(simulated->drift_w_per_s) && isfinite(simulated->noise_w) &&
          isfinite(simulated->gauge_noise_w) && isfinite(simulated->gauge_bias_w) && simulated->update_period_ns > 0 &&
          simulated->step_uj > 0))
    {
        ifm_error_refuse(error,
                         "simulated: power, update period and step are above 0, noise is 0 or more, and all are finite");
        return NULL;
    }
    Simulation *simulation = g_new0(Simulation, 1);
    simulation->simulated = *simulated;
    simulation->walk = walk_new(&simulation->simulated);
    EnergyPart *part = energy_part_add(parts, g_strdup("simulated"), TRUE);
    part->has_counter = TRUE;
    part->has_power = TRUE;
    part->range_uj = simulated->range_uj;
    part->step_uj = simulated->step_uj;
    return simulation;
}

static gboolean simulated_read(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample,
                               GError **error)
{
    Simulation *simulation = state;
    const IfmEnergySimulated *simulated = &simulation->simulated;
    if (simulated->vanishes_after_ns > 0 && elapsed_ns > simulated->vanishes_after_ns)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "simulated: the source vanished");
    walk_to(&simulation->walk, elapsed_ns);
    guint64 total_uj = (guint64)(simulation->walk.energy_j * UJ_PER_J) / simulated->step_uj * simulated->step_uj;
    sample->counter_uj = simulated->range_uj > 0 ? total_uj % (simulated->range_uj + simulated->step_uj) : total_uj;
    sample->power_w = power_w(&simulation->walk, simulation->walk.k) + simulated->gauge_bias_w +
                      simulated->gauge_noise_w * normal(simulated->seed, 3, simulation->gauge_reads++);
    return TRUE;
}

const EnergyKind energy_simulated = {
    .name = "simulated", .open = simulated_open, .read = simulated_read, .close = g_free
};
