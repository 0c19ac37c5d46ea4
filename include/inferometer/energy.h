/* room: sensor */
#pragma once
#include <inferometer/clock.h>
#include <inferometer/statistics.h>

IFM_BEGIN_DECLS

/**
 * Energy: what a machine used during a window of time, from a counter (RAPL, NVML, hwmon) or from sampled power. A source
 * has domains (a package, its cores, a GPU). Absent is `unavailable` with the reason, never 0. docs/energy.md says where
 * the intervals come from.
 */

/** IfmEnergySimulated: a source that is computed from the clock. All of it is a function of the seed and the time. */
typedef struct IfmEnergySimulated
{
    guint64 seed;
    double power_w;           /* at the time of opening; above 0 */
    double drift_w_per_s;     /* the power's change */
    double noise_w;           /* standard deviation of the power from one update to the next */
    double gauge_noise_w;     /* standard deviation of one sample of the power's gauge */
    double gauge_bias_w;      /* what the gauge shows too much */
    gint64 update_period_ns;  /* of the counter */
    guint64 step_uj;          /* the counter counts in multiples of it; at least 1 */
    guint64 range_uj;         /* the counter's largest value, then 0 again; 0: it does not wrap */
    gint64 vanishes_after_ns; /* every later reading fails; 0: never */
} IfmEnergySimulated;

/** IfmEnergyOptions: where the sources are. All of it is borrowed until the call returns. Zero is this machine. */
typedef struct IfmEnergyOptions
{
    const char *root;                    /* (nullable) the folder that holds proc and sys; NULL: "/" */
    const char *nvml_library;            /* (nullable) NULL: libnvidia-ml.so.1 */
    const char *pci_id;                  /* (nullable) the GPU, "0000:65:00.0"; NULL: the first */
    const char *recording;               /* (nullable) the CSV file of `recorded` */
    const IfmEnergySimulated *simulated; /* (nullable) */
} IfmEnergyOptions;

/** IfmEnergyDomain: a part of a source. */
typedef struct IfmEnergyDomain
{
    char *name;           /* "package-0", "package-0/core" */
    gboolean in_total;    /* FALSE: it lies inside another domain, or holds others */
    gboolean has_counter; /* it counts energy */
    gboolean has_power;   /* it shows power */
    char *unavailable;    /* (nullable) why it cannot be read, one line */
} IfmEnergyDomain;

/** IfmEnergySource: one row of ifm_energy_sources(). */
typedef struct IfmEnergySource
{
    const char *name;
    char *unavailable; /* (nullable) why no domain of it can be read, one line */
    gsize n_domains;
    IfmEnergyDomain *domains; /* [n_domains] */
} IfmEnergySource;

/** ifm_energy_sources: All sources, available or not: rapl, nvml, hwmon, recorded, simulated.
 * Returns: (transfer full) of IfmEnergySource. Unreference the array to free them. */
GPtrArray *ifm_energy_sources(const IfmEnergyOptions *options);

/** IfmEnergyMeter: an open source with its sampler. Calls on one meter come from one thread. */
typedef struct IfmEnergyMeter IfmEnergyMeter;

/**
 * ifm_energy_open: @name: a name of ifm_energy_sources()    @clock: is referenced
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (no such source, a recording with a fault: FILE:LINE) or
 * IFM_ERROR_UNAVAILABLE (the reason of the source).
 */
IfmEnergyMeter *ifm_energy_open(const char *name, const IfmEnergyOptions *options, IfmClock *clock, GError **error);
/** ifm_energy_close: Stops the sampler where it runs. @meter: (nullable) (transfer full) */
void ifm_energy_close(IfmEnergyMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEnergyMeter, ifm_energy_close)

/**
 * ifm_energy_start: Starts the sampler, a thread that reads all domains every @poll_ns. On a virtual clock the caller has
 * entered. The poll has to be well below the time in which the fastest counter passes half its range: a reading that has
 * advanced by more fails its domain.
 * Returns: FALSE with IFM_ERROR_INVALID (@poll_ns below 1, or a sampler runs).
 */
gboolean ifm_energy_start(IfmEnergyMeter *meter, gint64 poll_ns, GError **error);
/** ifm_energy_stop: Ends the sampler and waits for its thread. */
void ifm_energy_stop(IfmEnergyMeter *meter);

/** The updates of the slowest domain that a window has to hold. */
#define IFM_ENERGY_MIN_UPDATES 20

/**
 * ifm_energy_window_ns: How long a window has to be: IFM_ENERGY_MIN_UPDATES + 1 times the longest update period of a
 * counted domain, as seen since the sampler started. Returns: 0 while a domain was not yet seen to change three times:
 * sleep and ask again. A power that stays the same, without a counter, never does: the caller limits how often it asks.
 */
gint64 ifm_energy_window_ns(IfmEnergyMeter *meter);

/** IfmEnergyFigure: a figure with its 95 % interval, or the reason why there is none. */
typedef struct IfmEnergyFigure
{
    double value; /* NAN where @unavailable is set */
    IfmInterval interval;
    char *unavailable; /* (nullable) one line */
} IfmEnergyFigure;

/** IfmEnergyReading: one domain in one window. */
typedef struct IfmEnergyReading
{
    char *domain;
    gboolean in_total;
    gsize n_updates;           /* changes of the counter (of the power, without one) that were seen in the window */
    gint64 update_period_ns;   /* 0: not found */
    IfmEnergyFigure counted_j; /* by the counter */
    IfmEnergyFigure sampled_j; /* by trapezoids under the sampled power */
    IfmEnergyFigure gross_j;   /* counted_j, or sampled_j where there is no counter */
    IfmEnergyFigure net_j;     /* gross_j - idle power x time */
    gboolean disagrees;        /* the intervals of counted_j and sampled_j lie apart */
} IfmEnergyReading;

/** IfmEnergyResult: one window. Zero it before its first use. */
typedef struct IfmEnergyResult
{
    gint64 duration_ns; /* always there */
    gboolean too_short; /* fewer than IFM_ENERGY_MIN_UPDATES updates of a domain in the total */
    gsize n_readings;
    IfmEnergyReading *readings; /* [n_readings] */
    IfmEnergyFigure gross_j;    /* the sum of the domains in the total; unavailable where one of them is */
    IfmEnergyFigure net_j;
    gint64 sampler_cpu_ns; /* processor time of the sampler's thread within the window */
} IfmEnergyResult;

void ifm_energy_result_clear(IfmEnergyResult *result);

/** ifm_energy_begin: Reads all domains and begins a window. Returns: FALSE with IFM_ERROR_INVALID where no sampler runs or
 * a window is open. */
gboolean ifm_energy_begin(IfmEnergyMeter *meter, GError **error);
/**
 * ifm_energy_end: Ends the window. A source that vanished within it leaves its figures unavailable and the time.
 * @idle: (nullable) a window of the same source while nothing ran: its power is subtracted. NULL: net_j is unavailable.
 * @result: (out) is overwritten; ifm_energy_result_clear() frees its content
 * Returns: FALSE with IFM_ERROR_INVALID where no window is open.
 */
gboolean ifm_energy_end(IfmEnergyMeter *meter, const IfmEnergyResult *idle, IfmEnergyResult *result, GError **error);

/** ifm_energy_simulated_j: The true energy that the simulated source used from its opening until @elapsed_ns after it. */
double ifm_energy_simulated_j(const IfmEnergySimulated *simulated, gint64 elapsed_ns);

IFM_END_DECLS
