#pragma once
#include <sensor/sensor.h>

G_BEGIN_DECLS

/* EnergyPart: a domain of a source. */
typedef struct EnergyPart
{
    char *name;           /* "package-0", "package-0/core" */
    gboolean in_total;    /* FALSE: it lies inside another domain, or holds others */
    gboolean has_counter; /* it counts energy */
    gboolean has_power;   /* it shows power */
    char *unavailable;    /* (nullable) why it cannot be read, one line */
    char *path;           /* (nullable) of the counter's file */
    char *power_path;     /* (nullable) of the power's file */
    guint64 range_uj;     /* the counter's largest value; 0: it does not wrap */
    guint64 step_uj;      /* the counter's resolution; at least 1 */
    gsize index;          /* recorded: of its rows */
} EnergyPart;

/* energy_part_add: Appends a part. (transfer none) of the new part. @name: (transfer full) */
EnergyPart *energy_part_add(GPtrArray *parts, char *name, gboolean in_total);

typedef struct EnergySample
{
    guint64 counter_uj; /* where the domain has a counter */
    double power_w;     /* where it has power */
    guint64 update;     /* changes with every update, where the source knows; else 0 */
} EnergySample;

/* EnergyKind: one source. A row of the table in energy-meter.c. */
typedef struct EnergyKind
{
    const char *name;
    /* open: Fills @parts (of EnergyPart); parts that cannot be read have their reason. Returns: (transfer full) the
     * source's own state, at least a pointer that is not NULL; or NULL with an error of one line. */
    gpointer (*open)(const IfmEnergyOptions *options, GPtrArray *parts, GError **error);
    /* read: @elapsed_ns: since the meter was opened; never decreases */
    gboolean (*read)(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample, GError **error);
    void (*close)(gpointer state); /* (nullable) */
} EnergyKind;

extern const EnergyKind energy_rapl, energy_nvml, energy_hwmon, energy_recorded, energy_simulated;

/* EnergyPoint: one reading of a domain within a window. */
typedef struct EnergyPoint
{
    gint64 time_ns;
    guint64 total_uj; /* wraps undone */
    double power_w;
} EnergyPoint;

/* EnergySeries: a domain in a window. */
typedef struct EnergySeries
{
    const EnergyPoint *points; /* [n] n >= 1 where @failure is NULL */
    gsize n, n_updates;
    gint64 gap_ns; /* the longest time between updates */
    guint64 step_uj;
    const char *failure; /* (nullable) */
} EnergySeries;

/* energy_counted / energy_sampled: The energy with its interval. The caller frees figure.unavailable. */
IfmEnergyFigure energy_counted(const char *name, const EnergySeries *series);
IfmEnergyFigure energy_sampled(const char *name, const EnergySeries *series);
IfmEnergyFigure energy_unavailable(const char *format, ...) G_GNUC_PRINTF(1, 2);
IfmEnergyFigure energy_figure_copy(const IfmEnergyFigure *figure);
/* energy_result_finish: Fills net_j of the readings, the sums and too_short. @idle: (nullable) */
void energy_result_finish(IfmEnergyResult *result, const IfmEnergyResult *idle);

/* energy_read_count: Reads a file that is one number of 0 or more. IFM_ERROR_UNAVAILABLE names the file and what would
 * help. */
gboolean energy_read_count(const char *path, guint64 *value, GError **error);
/* energy_read_files: read() of the sources that are files: path in uJ, power_path in uW. */
gboolean energy_read_files(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample, GError **error);
/* energy_part_try: Reads a part once, and keeps the reason where that fails. */
void energy_part_try(EnergyPart *part);

G_END_DECLS
