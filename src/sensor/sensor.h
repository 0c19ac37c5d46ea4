/* Shared with other rooms: energy, load, memory and temperature of the machine. */
#pragma once
#include <jansson.h>

#include <inferometer/common.h>

G_BEGIN_DECLS

/* --- the machine --------------------------------------------------------------------------------------------------- */

/*
 * Facts and state of a machine, from /proc and /sys. @root: "/", or the folder of a recorded machine (saved parts of /proc
 * and /sys), as the tests use it. These functions do not fail: what cannot be read is null (or -1).
 * docs/formats.md lists the keys. All functions read files and allocate: do not call them in a timed region.
 */

/**
 * ifm_sensor_machine: The facts that do not change while a machine runs: "id", "cpu", "logical_processors", "cores",
 * "memory_bytes", "kernel", "governor", "smt", "virtual", "boost" and more.
 * "id" is a digest of the processor's model, the processor counts, the memory in whole GiB and whether the machine is
 * virtual. Machines of the same build share it; a new kernel or governor does not change it. It is null where the processor
 * is unknown.
 * @root: (nullable) NULL: the machine of the case keys. It is the recorded machine $IFM_MACHINE_ROOT where that is set, so
 * that another machine finds its cases again; else "/".
 * Returns: (transfer full) an object
 */
json_t *ifm_sensor_machine(const char *root);

/** ifm_sensor_last_cache_bytes: What one last-level cache of a machine holds, by "caches_bytes" of its facts. @level: (out)
 * (optional) 2 to 4    Returns: 0 where unknown */
gint64 ifm_sensor_last_cache_bytes(const json_t *machine, int *level);

/**
 * ifm_sensor_snapshot: The state that changes: "unix_ms", "load_1min", "running", "clock_mhz", "temperature_c",
 * "throttle_counts", "cpu_jiffies", "own_jiffies", "memory_available_bytes", "pressure", "cpu_quotas". Take one snapshot
 * after the warm-up and one after the last run: the clock of an idle processor differs from that of a busy one.
 * "own_jiffies" is the processor time of the calling process, its living descendants and the children it has waited for.
 * Returns: (transfer full) an object
 */
json_t *ifm_sensor_snapshot(const char *root);

/**
 * ifm_sensor_environment: The environment of a measurement: two snapshots, their differences, and one warning (a line) for
 * each condition that makes the measurement doubtful.
 * @machine, @before, @after: (nullable) borrowed; NULL or null where unknown
 * @cores: [n_cores] those that were measured; 0: all. Of these "cores_others_ratio" is, at least: what the caller and its
 * descendants used elsewhere is taken for use of them, since the kernel counts no process by core.
 * Returns: (transfer full) {"machine", "before", "after", "others_ratio", "cores_others_ratio", "steal_ratio",
 * "throttled_ratio", "warnings": [...]}
 */
json_t *ifm_sensor_environment(const json_t *machine, const json_t *before, const json_t *after, const int *cores,
                               gsize n_cores);

/** ifm_core_is_among: @cores: [n_cores]; none: all are. */
gboolean ifm_core_is_among(const int *cores, gsize n_cores, int core);

/* --- idle or disturbed --------------------------------------------------------------------------------------------- */

/** IFM_OTHERS_DISTURB: more of the cores than that used by others disturbs what is measured on them. */
#define IFM_OTHERS_DISTURB 0.10
/** IFM_STEAL_DISTURB: the same of what a hypervisor or a quota took, and of the time that runs, or the program between
 * them, waited for a processor. */
#define IFM_STEAL_DISTURB 0.05

/**
 * ifm_sensor_disturbance: How far the figures of a measurement are from those of a machine that is idle, by its
 * environment: as above, with "runs" where its runs have processor times.
 * Equals: the greatest of others / IFM_OTHERS_DISTURB and of steal, quota and waiting / IFM_STEAL_DISTURB; above 1 it is
 * disturbed. NaN: nothing of it is known.
 * @loaded: beside a load, for which runs wait    @why: (out) (optional) (transfer full) the greatest in words, where it is
 * above 1; else NULL
 */
double ifm_sensor_disturbance(const json_t *environment, gboolean loaded, char **why);

/**
 * IfmIdleGate: Waits before a measurement until others leave its cores alone, by /proc/stat. What the calling process and
 * its descendants use does not count. A wait that was in vain spends patience, which is whole again once cores were found
 * idle: on a machine that is always busy it ends waiting soon.
 */
typedef struct IfmIdleGate IfmIdleGate;

/** ifm_idle_gate_new: @root: NULL: "/"    @clock: is referenced    @patience_ns: 0: it never waits */
IfmIdleGate *ifm_idle_gate_new(const char *root, IfmClock *clock, gint64 patience_ns);
void ifm_idle_gate_free(IfmIdleGate *gate);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmIdleGate, ifm_idle_gate_free)

/** ifm_idle_gate_wait: Returns once others used no more than IFM_OTHERS_DISTURB of the cores during the last 0.25 s, or
 * where that is not known; else after half of the patience, or where none is left. Where it looked within 2 s before, and
 * they were idle since, it does not wait. @interrupted: (atomic) (optional)    Returns: how long it waited, ns */
gint64 ifm_idle_gate_wait(IfmIdleGate *gate, const int *cores, gsize n_cores, const gint *interrupted);

/** ifm_idle_gate_is_patient: whether something may still be measured again.    ifm_idle_gate_spend: what that took
 * ifm_idle_gate_renew: nothing disturbed a measurement: there is as much patience as at first */
gboolean ifm_idle_gate_is_patient(const IfmIdleGate *gate);
void ifm_idle_gate_spend(IfmIdleGate *gate, gint64 ns);
void ifm_idle_gate_renew(IfmIdleGate *gate);

/* Memory and waiting time of a process. */

/**
 * ifm_sensor_free_bytes: The memory that the calling process can still get: the minimum of the memory that the machine has
 * available without paging (MemAvailable), the rest in the limits of its control groups, and the rest in its limit of
 * address space (`ulimit -v`).
 * Returns: G_MAXINT64 where all of them are unknown
 */
gint64 ifm_sensor_free_bytes(const char *root);

/** ifm_sensor_peak_rss_bytes: The peak resident memory of a process so far. Arguments and result as of
 * ifm_sensor_rss_bytes(). */
gint64 ifm_sensor_peak_rss_bytes(const char *root, int pid);

/** ifm_sensor_rss_bytes: The resident memory of a process. @pid: 0: the calling process. Returns: -1 where unknown. */
gint64 ifm_sensor_rss_bytes(const char *root, int pid);

/**
 * ifm_sensor_wait_ns: The total time that the calling thread was ready to run and waited for a processor.
 * Returns: -1 where the kernel does not count it.
 */
gint64 ifm_sensor_wait_ns(const char *root);

/** ifm_sensor_process_wait_ns: The same of all threads that the calling process has, together. */
gint64 ifm_sensor_process_wait_ns(const char *root);

/* --- energy -------------------------------------------------------------------------------------------------------- */

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
    const char *cuda_library;            /* (nullable) NULL: libcuda.so.1 */
    int cuda_device;                     /* the GPU as CUDA counts them: NVML counts them by their place on the bus */
    const char *recording;               /* (nullable) the CSV file of `recorded` */
    const IfmEnergySimulated *simulated; /* (nullable) */
} IfmEnergyOptions;

/** IfmEnergyMeter: an open source with its sampler. Calls on one meter come from one thread. */
typedef struct IfmEnergyMeter IfmEnergyMeter;

/**
 * ifm_energy_open: @name: rapl, nvml, hwmon, recorded or simulated    @clock: is referenced
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

/* --- metrics ------------------------------------------------------------------------------------------------------- */

/*
 * What a machine did over a window of time, as named numbers: how busy its processors were, and how long tasks waited. Each
 * source is a row of a table (src/sensor/metrics.c); one that a machine lacks has no number.
 */

typedef struct IfmMetricWindow IfmMetricWindow;

/** ifm_metrics_begin: @root: of a recorded machine; NULL: "/"    Returns: (transfer full) */
IfmMetricWindow *ifm_metrics_begin(const char *root);

/** ifm_metrics_end: (transfer full) {"start_unix_ns", "end_unix_ns", "values": {"busy": 0.25, "cpu0_busy": 0.5, …,
 * "pressure_cpu": 0.01, …}}: shares of the window. The kernel counts processor time in steps of 10 ms: a short window is
 * coarse. @window: (transfer full) */
json_t *ifm_metrics_end(IfmMetricWindow *window);

/**
 * ifm_metrics_add_read: What the calling thread's core gets of the memory now, among the values of a window. On a virtual
 * machine that changes from second to second by what the host's other guests do, and nothing else tells.
 * IFM_METRIC_READ_RATE: by two reads of 64 MiB, of each the median of parts of 8 MiB, of these the mean (of logarithms).
 * 64 MiB are mostly more than other guests leave of the last cache; rings of kernels are of that size, too. The process
 * keeps them, on the memory node of the first caller; where they were not to be had there is no such value.
 * @window: as ifm_metrics_end() returns it
 */
#define IFM_METRIC_READ_RATE "read_bytes_per_s"
void ifm_metrics_add_read(json_t *window);

/**
 * ifm_metrics_look: What the machine does during @window_ns, in which the calling thread sleeps: as ifm_metrics_end(),
 * with two more values, and ifm_metrics_add_read() at its end. Latency under load is learnt from what is looked at in this
 * way, and a live load is.
 * "running": tasks that run or wait for a processor, without the caller's: the mean of a look every few milliseconds.
 * "own": share of one processor that the calling process used.
 * @root: of a recorded machine; NULL: "/"
 */
json_t *ifm_metrics_look(const char *root, gint64 window_ns);

/**
 * ifm_metrics_groups: What others have used of processors so far, in steps of 10 ms, where the kernel gives sessions, not
 * tasks, even shares of a core (autogroups, as on most desktops): each other session, and each other process of ours.
 * Returns: (transfer full) (nullable) NULL: tasks have even shares, or it is not known
 */
json_t *ifm_metrics_groups(const char *root);

/** ifm_metrics_n_groups: How many of them used at least a tenth of a processor between two such looks, @window_ns apart.
 * @before, @after: (nullable)    Returns: NaN where one is NULL */
double ifm_metrics_n_groups(const json_t *before, const json_t *after, gint64 window_ns);

/* --- load, as Prometheus knows it ---------------------------------------------------------------------------------- */

/*
 * Metrics that a Prometheus server has of this machine or of others, over a window of time. Nothing is sent but the
 * queries.
 */

/** IfmPrometheusPreset: a query by a short name. @query: PromQL    @help: what it gives, with its unit and exporter */
typedef struct
{
    const char *name, *query, *help;
} IfmPrometheusPreset;

/** ifm_prometheus_presets: of node exporter (processors) and of the DCGM exporter (GPUs); ends with a row without a name.
 */
extern const IfmPrometheusPreset ifm_prometheus_presets[];

/** IfmPrometheusWindow: what a query gave over a window. @mean, @min, @max: over all samples of all series    @first_ns,
 * @last_ns: times of the first and last sample, Unix: the server gives one a step, whenever it scraped    @interval_ns: how
 * far apart scrapes are, of the slowest target that gives a metric of the query; 0: not known yet    @is_short: the window
 * holds fewer than two scrapes: what is measured is to be repeated until it holds several */
typedef struct
{
    double mean, min, max;
    gint64 n_samples, n_series, first_ns, last_ns, interval_ns;
    gboolean is_short;
} IfmPrometheusWindow;

/** IfmPrometheusWait: how a scrape is waited for. @budget_ns: in all, at most    @say: (nullable) before each wait, a line
 * that says how long it takes and for whom    @sleep: (nullable) instead of sleeping */
typedef struct
{
    gint64 budget_ns;
    void (*say)(const char *phase, void *user);
    void (*sleep)(gint64 wait_ns, void *user);
    void *user;
} IfmPrometheusWait;

/** IfmPrometheusLoad: of one machine over a window.
 * @same, @other: share of the time that the processors in question were busy, and all others: means of them
 * @busy: processors that were busy: the sum of those shares
 * @running, @most_running: tasks that run or wait, without the exporter: the mean over the scrapes within the window, and
 * the most. NaN: the server does not have it
 * @pressure: share of the time that a task waits for a processor. NaN: the server does not have it */
typedef struct
{
    double same, other, busy, running, most_running, pressure;
} IfmPrometheusLoad;

/**
 * ifm_prometheus_await_load: What ifm_prometheus_busy() (inferometer/measure.h) finds, and the tasks that compete, of a
 * server that may not have scraped twice yet. All is of one window: the last @window_ns, or where scrapes are farther apart
 * the time between the last two. Each wait is as long as the target's own interval, by its scrapes, or else by what the
 * server says it is set to.
 * @url: with "#HOST:PORT", the instance of a node exporter, where the server watches several machines
 * @wait: NULL: not at all
 * Returns: FALSE with IFM_ERROR_INVALID (an answer that is none, a processor that is no number, a counter out of range,
 * several machines), IFM_ERROR_UNAVAILABLE (no server, an HTTP status of 5xx, 408 or 429, the budget is over).
 */
gboolean ifm_prometheus_await_load(const char *url, const int *cores, gsize n_cores, gint64 window_ns,
                                   const IfmPrometheusWait *wait, IfmPrometheusLoad *load, GError **error);

/** ifm_prometheus_shown: (transfer full) An address, or what was given for one, as messages have it: one line, without what
 * stands before the last "@", in which there may be a password. */
char *ifm_prometheus_shown(const char *text);

/**
 * ifm_prometheus_window: Asks over [@start_ns, @end_ns] (Unix) in steps of @step_ns, by /api/v1/query_range.
 * @url: of the server, "http://127.0.0.1:9090"; http or https    @query: PromQL, or the name of a preset
 * Returns: FALSE with IFM_ERROR_INVALID (no such URL; a query that the server refuses, with its words; a redirect or an
 * HTTP status of 4xx but 408 and 429; an answer that is none), IFM_ERROR_UNAVAILABLE (no server, or none that answers in
 * time; a status of 5xx, 408 or 429; a metric that is not there: the nearest names are given).
 */
gboolean ifm_prometheus_window(const char *url, const char *query, gint64 start_ns, gint64 end_ns, gint64 step_ns,
                               IfmPrometheusWindow *window, GError **error);

/** ifm_prometheus_is_url: Whether a text can be the address of a server. */
gboolean ifm_prometheus_is_url(const char *text);

/** ifm_prometheus_parse: What a server answered to a query over a window. @where: for messages    @empty: (out) whether
 * there is nothing in it, which is no error here    Returns: FALSE with IFM_ERROR_INVALID */
gboolean ifm_prometheus_parse(const char *bytes, gsize n_bytes, const char *where, IfmPrometheusWindow *window,
                              gboolean *empty, GError **error);

G_END_DECLS
