#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "measure-private.h"

/* The energy of a subject's runs: a window while nothing runs, then one that is as long as the source needs. */

/* How often the counters are read, and how long to wait for one to be seen changing. */
#define POLL_NS (5 * IFM_NS_PER_MS)
#define WATCH_NS (3000 * IFM_NS_PER_MS)
/* Windows are no shorter, whatever the source: what one run differs from the next averages out. */
#define MIN_WINDOW_NS (300 * IFM_NS_PER_MS)
#define MIN_RUNS 3

#define FIELD(TYPE, member) IFM_RECORD(TYPE, IfmModelEnergy, member)
static const IfmRecordField fields[] = {
    { FIELD(NAME, source) },          { FIELD(NAME, unavailable) },
    { FIELD(INT64, n_runs) },         { FIELD(INT64, duration_ns) },
    { FIELD(DOUBLE, gross_j) },       { FIELD(DOUBLE, gross_lower_j) },
    { FIELD(DOUBLE, gross_upper_j) }, { FIELD(DOUBLE, net_j) },
    { FIELD(DOUBLE, net_lower_j) },   { FIELD(DOUBLE, net_upper_j) },
    { FIELD(DOUBLE, power_w) },       { FIELD(DOUBLE, idle_w) },
    { FIELD(DOUBLE, sampler_ratio) }, { FIELD(FLAG, disagrees) },
    { FIELD(FLAG, too_short) },       { NULL },
};

static const IfmModelEnergy none = { .gross_j = NAN,
                                     .gross_lower_j = NAN,
                                     .gross_upper_j = NAN,
                                     .net_j = NAN,
                                     .net_lower_j = NAN,
                                     .net_upper_j = NAN,
                                     .power_w = NAN,
                                     .idle_w = NAN,
                                     .sampler_ratio = NAN };

gboolean ifm_model_energy(const IfmMeasurement *measurement, IfmModelEnergy *energy)
{
    const json_t *json = measurement != NULL ? ifm_measurement_result(measurement, "energy") : NULL;
    *energy = none;
    return json != NULL && ifm_record_from_json(energy, fields, json, "energy", NULL, NULL);
}

/* --- the source ---------------------------------------------------------------------------------------------------------
 */

#define RECORDED "recorded:"

gboolean ifm_energy_source_check(const char *text, GError **error)
{
    static const char *const names[] = { "auto", "rapl", "nvml", "hwmon", "simulated", NULL };
    if (g_strv_contains(names, text))
        return TRUE;
    if (g_str_has_prefix(text, RECORDED) && text[strlen(RECORDED)] != '\0')
    {
        g_autoptr(IfmClock) clock = ifm_clock_new_real();
        const IfmEnergyOptions options = { .recording = text + strlen(RECORDED) };
        g_autoptr(IfmEnergyMeter) meter = ifm_energy_open("recorded", &options, clock, error);
        return meter != NULL;
    }
    g_autofree char *hint = ifm_nearest_hint(text, names);
    return ifm_error_misuse(
        error, "\"%s\" is no source of energy%s (there are auto, rapl, nvml, hwmon, recorded:FILE, simulated)", text, hint);
}

/* What a described device is said to use, whatever it does: 15 W, read as RAPL is. */
static IfmEnergySimulated simulated_source(guint64 seed)
{
    return (IfmEnergySimulated){ .seed = seed,
                                 .power_w = 15,
                                 .noise_w = 0.3,
                                 .gauge_noise_w = 0.1,
                                 .update_period_ns = IFM_NS_PER_MS,
                                 .step_uj = 61,
                                 .range_uj = G_GUINT64_CONSTANT(262143328850) };
}

/* "auto" of a device: its own counter, or the processor's. */
static const char *source_of(const char *asked, const char *device)
{
    if (!g_str_equal(asked, "auto"))
        return asked;
    if (g_str_has_prefix(device, "simulated:"))
        return "simulated";
    if (strstr(device, ":CUDA") != NULL || strstr(device, ":TensorRT") != NULL)
        return "nvml";
    return "rapl";
}

/* --- the windows --------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    const gint *interrupted;
    IfmClock *clock;
    IfmEnergyMeter *meter;
    IfmEnergyResult idle, busy;
    IfmRepeat runs;
    GError *refused; /* of the source */
} Windows;

/* How long a window has to be; 0 with why not where no counter was seen to change. */
static gint64 watch(Windows *self)
{
    const gint64 end_ns = ifm_clock_now_ns(self->clock) + WATCH_NS;
    gint64 window_ns = 0;
    while ((window_ns = ifm_energy_window_ns(self->meter)) == 0 && ifm_clock_now_ns(self->clock) < end_ns &&

           (self->interrupted == NULL || g_atomic_int_get(self->interrupted) == 0))
        ifm_clock_sleep_until_ns(self->clock, ifm_clock_now_ns(self->clock) + POLL_NS);
    if (window_ns == 0)
        ifm_error_set(&self->refused, IFM_ERROR_UNAVAILABLE, "no counter was seen to change within %d s",
                      (int)(WATCH_NS / IFM_NS_PER_S));
    return window_ns;
}

static void run_windows(void *user)
{
    Windows *self = user;
    if (!ifm_energy_start(self->meter, POLL_NS, &self->refused))
        return;
    const gint64 window_ns = MAX(watch(self), MIN_WINDOW_NS);
    if (self->refused != NULL || !ifm_energy_begin(self->meter, &self->refused))
        return;
    ifm_clock_sleep_until_ns(self->clock, ifm_clock_now_ns(self->clock) + window_ns);
    if (!ifm_energy_end(self->meter, NULL, &self->idle, &self->refused) || !ifm_energy_begin(self->meter, &self->refused))
        return;
    self->runs.until_ns = ifm_clock_now_ns(self->clock) + window_ns;
    ifm_repeat(&self->runs);
    ifm_energy_end(self->meter, &self->idle, &self->busy, &self->refused);
    ifm_energy_stop(self->meter);
}

/* --- what it came to ----------------------------------------------------------------------------------------------------
 */

static void take(const IfmEnergyFigure *figure, double n_runs, double *value, double *lower, double *upper)
{
    *value = figure->value / n_runs;
    *lower = figure->interval.lower / n_runs;
    *upper = figure->interval.upper / n_runs;
}

static IfmModelEnergy describe(const Windows *self, const char *source)
{
    const IfmEnergyResult *busy = &self->busy;
    const double n = (double)self->runs.n, seconds = (double)busy->duration_ns / 1e9;
    IfmModelEnergy energy = { .source = source,
                              .unavailable = busy->gross_j.unavailable,
                              .n_runs = (gint64)self->runs.n,
                              .duration_ns = busy->duration_ns,
                              .power_w = busy->gross_j.value / seconds,
                              .idle_w = self->idle.gross_j.value / ((double)self->idle.duration_ns / 1e9),
                              .sampler_ratio = (double)busy->sampler_cpu_ns / (double)busy->duration_ns,
                              .too_short = busy->too_short };
    take(&busy->gross_j, n, &energy.gross_j, &energy.gross_lower_j, &energy.gross_upper_j);
    take(&busy->net_j, n, &energy.net_j, &energy.net_lower_j, &energy.net_upper_j);
    for (gsize i = 0; i < busy->n_readings; i++)
        energy.disagrees |= busy->readings[i].in_total && busy->readings[i].disagrees;
    return energy;
}

static json_t *unavailable(const char *source, const char *why)
{
    IfmModelEnergy energy = none;
    energy.source = source;
    energy.unavailable = why;
    return ifm_record_to_json(&energy, fields);
}

gboolean ifm_energy_of_subject(const IfmSubject *subject, const char *asked, const char *device, guint64 seed,
                               const gint *interrupted, IfmMeasurement *measurement, GError **error)
{
    const char *source = source_of(asked, device);
    const gboolean is_shared = strchr(device, '#') != NULL && !g_str_has_suffix(device, "#1");
    const IfmEnergySimulated simulated = simulated_source(seed);
    const gboolean is_file = g_str_has_prefix(source, RECORDED);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    const IfmEnergyOptions options = { .cuda_device = spec != NULL ? MAX(spec->index, 0) : 0,
                                       .recording = is_file ? source + strlen(RECORDED) : NULL,
                                       .simulated = &simulated };
    g_autoptr(IfmClock) clock = subject->clock != NULL ? ifm_clock_ref(subject->clock) : ifm_clock_new_real();
    Windows windows = { .interrupted = interrupted,
                        .clock = clock,
                        .runs = { *subject, clock, .min = MIN_RUNS, .stop = interrupted } };
    if (is_shared)
        ifm_error_set(&windows.refused, IFM_ERROR_UNSUPPORTED,
                      "several streams infer at once: an inference has no energy of its own");
    else
        windows.meter = ifm_energy_open(is_file ? "recorded" : source, &options, clock, &windows.refused);
    if (windows.meter != NULL)
        ifm_subject_invoke(subject, run_windows, &windows);
    json_t *json;
    if (windows.refused != NULL)
        json = unavailable(source, windows.refused->message);
    else if (windows.runs.n == 0)
        json = unavailable(source, "interrupted");
    else
    {
        const IfmModelEnergy energy = describe(&windows, source);
        json = ifm_record_to_json(&energy, fields);
    }
    if (measurement->result == NULL)
        measurement->result = json_object();
    json_object_set_new(measurement->result, "energy", json);
    ifm_energy_result_clear(&windows.idle);
    ifm_energy_result_clear(&windows.busy);
    ifm_energy_close(windows.meter);
    g_clear_error(&windows.refused);
    return ifm_error_pass(error, windows.runs.error);
}
