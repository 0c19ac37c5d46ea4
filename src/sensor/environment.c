#include "sensor-private.h"
#include <base/fields.h>
#include <math.h>
#include <sensor/sensor.h>
#include <stdarg.h>
#include <string.h>

/* Thresholds of the warnings. */
#define CLOCK_CHANGE_RATIO 0.05
#define OTHERS_RATIO 0.02
#define STEAL_RATIO 0.01
#define PRESSURE_RATIO 0.01
#define THROTTLED_RATIO 0.01
#define NEAR_LIMIT_C 10.0
#define HOT_C 90.0 /* where the limit of the machine is unknown */
#define MIN_AVAILABLE_RATIO 0.05
#define MIN_JIFFIES 20 /* fewer are too few for a ratio */

static void warn(json_t *warnings, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void warn(json_t *warnings, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *line = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    json_array_append_new(warnings, ifm_json_string(line));
}

/* By how much a number grew; NaN where it is in one of them alone. @path: as ifm_member() takes it */
static double grown(const json_t *before, const json_t *after, const char *path)
{
    return ifm_member_number(after, path) - ifm_member_number(before, path);
}

/* The entry of an earlier list with the same @key, which mostly stands at the same place; NULL: there is none. */
static const json_t *find_same(const json_t *list, gsize likely, const char *key, const json_t *like)
{
    const json_t *wanted = json_object_get(like, key), *found = json_array_get(list, likely);
    for (gsize i = 0; i < json_array_size(list) && !json_equal(json_object_get(found, key), wanted); i++)
        found = json_array_get(list, i);
    return json_equal(json_object_get(found, key), wanted) ? found : NULL;
}

/* The highest clock is that of the busy processor: idle ones are clocked down. NaN where no clock is known. */
static double highest_clock(const json_t *snapshot)
{
    double highest = NAN;
    gsize i;
    json_t *clock;
    json_array_foreach(json_object_get(snapshot, "clock_mhz"), i, clock)
    {
        highest = json_is_number(clock) ? fmax(highest, json_number_value(clock)) : highest;
    }
    return highest;
}

static void check_clock(json_t *warnings, const json_t *machine, const json_t *before, const json_t *after)
{
    double first = highest_clock(before), last = highest_clock(after), change = last / first - 1;
    if (fabs(change) > CLOCK_CHANGE_RATIO) /* not so where one is NaN */
        warn(warnings, "the processor clock %s by %.0f %% meanwhile (%.0f MHz to %.0f MHz)", change > 0 ? "rose" : "fell",
             fabs(change) * 100, first, last);
    const char *governor = ifm_member_text(machine, "governor");
    if (governor != NULL && !g_str_equal(governor, "performance"))
        warn(warnings, "the clock governor is %s: the clock follows the load (performance keeps it steady)", governor);
}

static void check_throttling(json_t *warnings, const json_t *before, const json_t *after)
{
    static const char *const kinds[][2] = { { "core", "throttle_counts.core" }, { "package", "throttle_counts.package" } };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        const double n = grown(before, after, kinds[i][1]);
        if (n > 0)
            warn(warnings, "the processor throttled %.0f times for heat or power (%s)", n, kinds[i][0]);
    }
}

static void check_temperature(json_t *warnings, const json_t *after)
{
    const json_t *hottest = NULL;
    double min_headroom = NEAR_LIMIT_C;
    gsize i;
    json_t *entry;
    json_array_foreach(json_object_get(after, "temperature_c"), i, entry)
    {
        double value = ifm_member_number(entry, "value"), limit = ifm_member_number(entry, "limit");
        double headroom = isnan(limit) ? HOT_C + NEAR_LIMIT_C - value : limit - value;
        if (headroom > min_headroom || (hottest != NULL && headroom == min_headroom) || isnan(headroom))
            continue;
        hottest = entry;
        min_headroom = headroom;
    }
    if (hottest == NULL)
        return;
    const char *zone = ifm_member_text(hottest, "zone");
    double limit = ifm_member_number(hottest, "limit");
    g_autofree char *of = isnan(limit) ? g_strdup("") : g_strdup_printf(" of at most %.0f", limit);
    warn(warnings, "hot: %s reads %.0f C%s", zone != NULL ? zone : "a sensor", ifm_member_number(hottest, "value"), of);
}

gboolean ifm_core_is_among(const int *cores, gsize n_cores, int core)
{
    for (gsize i = 0; i < n_cores; i++)
        if (cores[i] == core)
            return TRUE;
    return n_cores == 0;
}

/* The work of processors between two snapshots, in jiffies, over all of @cores that are in both. */
typedef struct
{
    double busy, steal, total;
} Jiffies;

static Jiffies jiffies_between(const json_t *before, const json_t *after, const int *cores, gsize n_cores)
{
    Jiffies sum = { 0 };
    const json_t *earlier = json_object_get(before, "cpu_jiffies");
    gsize i;
    json_t *now;
    json_array_foreach(json_object_get(after, "cpu_jiffies"), i, now)
    {
        const json_t *then = find_same(earlier, i, "cpu", now);
        double busy = grown(then, now, "busy"), steal = grown(then, now, "steal"), total = grown(then, now, "total");
        if (!ifm_core_is_among(cores, n_cores, (int)json_integer_value(json_object_get(now, "cpu"))))
            continue;
        if (!(busy >= 0 && steal >= 0 && total >= 0)) /* a processor that was offline in between starts again at 0 */
            continue;
        sum.busy += busy;
        sum.steal += steal;
        sum.total += total;
    }
    return sum;
}

double ifm_sensor_others_ratio(const json_t *before, const json_t *after, const int *cores, gsize n_cores)
{
    const Jiffies jiffies = jiffies_between(before, after, cores, n_cores);
    const double own = grown(before, after, "own_jiffies");
    if (jiffies.total < MIN_JIFFIES || !(own >= 0))
        return NAN;
    return fmax(jiffies.busy - own, 0) / jiffies.total;
}

static void check_memory(json_t *warnings, const json_t *machine, const json_t *before, const json_t *after)
{
    double available = ifm_member_number(after, "memory_available_bytes"),
           total = ifm_member_number(machine, "memory_bytes");
    if (available < total * MIN_AVAILABLE_RATIO)
        warn(warnings, "only %.0f MiB of memory were left: the system may have been paging", available / (1 << 20));
    double stalled_us = grown(before, after, "pressure.memory_some_us");
    double wall_us = grown(before, after, "unix_ms") * 1000;
    if (wall_us > 0 && stalled_us > wall_us * PRESSURE_RATIO)
        warn(warnings, "tasks waited for memory during %.0f %% of the time", fmin(stalled_us / wall_us, 1) * 100);
}

/* A control group that has used up its quota of processor time waits for the next period, as if the processor were taken
 * away. Returns: the wait of the group that waited longest / the time that passed; it may be above 1, since all processors
 * count. NaN where no group has a quota. */
static double check_quotas(json_t *warnings, const json_t *before, const json_t *after)
{
    double wall_us = grown(before, after, "unix_ms") * 1000, most_us = NAN, n = 0, processors = NAN;
    gsize i;
    json_t *now;
    json_array_foreach(json_object_get(after, "cpu_quotas"), i, now)
    {
        const json_t *then = find_same(json_object_get(before, "cpu_quotas"), i, "group", now);
        double waited_us = grown(then, now, "throttled_us");
        if (!(waited_us >= 0) || waited_us <= most_us)
            continue;
        most_us = waited_us;
        n = grown(then, now, "throttled");
        processors = ifm_member_number(now, "processors");
    }
    double ratio = wall_us > 0 ? most_us / wall_us : NAN;
    if (n > 0 && ratio > THROTTLED_RATIO)
        warn(warnings,
             "the control group's quota of %.4g processors was used up %.0f times: its tasks waited during %.0f %% of the "
             "time",
             processors, n, fmin(ratio, 1) * 100);
    return ratio;
}

static json_t *copy_or_null(const json_t *json)
{
    return json != NULL ? json_deep_copy(json) : json_null();
}

json_t *ifm_sensor_environment(const json_t *machine, const json_t *before, const json_t *after, const int *cores,
                               gsize n_cores)
{
    json_t *warnings = json_array();
    Jiffies jiffies = jiffies_between(before, after, NULL, 0);
    double others = ifm_sensor_others_ratio(before, after, NULL, 0);
    double steal = jiffies.total < MIN_JIFFIES ? NAN : jiffies.steal / jiffies.total;
    check_clock(warnings, machine, before, after);
    check_throttling(warnings, before, after);
    check_temperature(warnings, after);
    if (others > OTHERS_RATIO)
        warn(warnings, "other processes used %.0f %% of the processors", others * 100);
    if (steal > STEAL_RATIO)
        warn(warnings, "the hypervisor took away %.0f %% of the processors (steal time)", steal * 100);
    double throttled = check_quotas(warnings, before, after);
    check_memory(warnings, machine, before, after);

    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "machine", copy_or_null(machine), "before", copy_or_null(before),
                     "after", copy_or_null(after), "others_ratio", ifm_json_real(others), "cores_others_ratio",
                     ifm_json_real(ifm_sensor_others_ratio(before, after, cores, n_cores)), "steal_ratio",
                     ifm_json_real(steal), "throttled_ratio", ifm_json_real(throttled), "warnings", warnings);
}

/* --- disturbed --------------------------------------------------------------------------------------------------------
 */

double ifm_sensor_disturbance(const json_t *environment, gboolean loaded, char **why)
{
    const double own = ifm_member_number(environment, "cores_others_ratio");
    const struct
    {
        double ratio, bound;
        const char *format;
    } causes[] = {
        { isnan(own) ? ifm_member_number(environment, "others_ratio") : own, IFM_OTHERS_DISTURB,
          isnan(own) ? "other processes used %.0f %% of the processors" : "other processes used %.0f %% of the cores" },
        { ifm_member_number(environment, "steal_ratio"), IFM_STEAL_DISTURB,
          "the hypervisor took %.0f %% of the processors" },
        { ifm_member_number(environment, "throttled_ratio"), IFM_STEAL_DISTURB,
          "the control group's quota held tasks up for %.0f %% of the time" },
        { loaded ? (double)NAN : ifm_member_number(environment, "runs.waited_ratio"), IFM_STEAL_DISTURB,
          "the measurement waited %.0f %% of the time for a processor" },
    };
    gsize worst = 0;
    double level = (double)NAN;
    for (gsize i = 0; i < G_N_ELEMENTS(causes); i++)
        if (causes[i].ratio / causes[i].bound > level || (isnan(level) && !isnan(causes[i].ratio)))
        {
            worst = i;
            level = causes[i].ratio / causes[i].bound;
        }
    if (why != NULL)
        *why = level > 1 ? g_strdup_printf(causes[worst].format, 100 * causes[worst].ratio) : NULL;
    return level;
}
