#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <document/summary.h>
#include <document/words.h>
#include <sensor/sensor.h>

#include "results.h"
#include "store.h"
#include "trust.h"

/* What a measurement says for and against itself. */

/* Shares of the processors, of the first value, above which a figure is to be used with care, and not at all; what disturbs
 * it (sensor.h) is not to be used. */
#define OTHERS_CARE 0.03
#define STEAL_CARE 0.01
#define DRIFT_BAD 0.10
#define WIDTH_BAD 0.25 /* half an interval, of the median */

/* More of something than this is to be used with care, more than that is bad. */
static IfmTrust level_of(double value, double care, double bad)
{
    return value > bad ? IFM_TRUST_BAD : value > care ? IFM_TRUST_CARE : IFM_TRUST_GOOD;
}

static void check_disturbance(IfmDocument *document, const json_t *environment)
{
    const double others = ifm_member_number(environment, "others_ratio"),
                 steal = ifm_member_number(environment, "steal_ratio"),
                 throttled = ifm_member_number(environment, "throttled_ratio");
    g_autofree char *used = ifm_say_per_cent(others), *taken = ifm_say_per_cent(steal),
                    *waited = ifm_say_per_cent(throttled);
    const char *why = ifm_member_text(environment, "disturbed_why");
    if (isfinite(others))
        ifm_document_check(document, level_of(others, OTHERS_CARE, IFM_OTHERS_DISTURB),
                           "other processes used %s of the processors", used);
    else
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "what other processes used is not known");
    if (why != NULL && !(others > IFM_OTHERS_DISTURB || steal > IFM_STEAL_DISTURB || throttled > IFM_STEAL_DISTURB))
        ifm_document_check(document, IFM_TRUST_BAD, "disturbed: %s", why);
    if (steal > 0)
        ifm_document_check(document, level_of(steal, STEAL_CARE, IFM_STEAL_DISTURB),
                           "the hypervisor took %s of the processors", taken);
    if (throttled > 0)
        ifm_document_check(document, level_of(throttled, STEAL_CARE, IFM_STEAL_DISTURB),
                           "the control group's quota held tasks up for %s of the time", waited);
}

static void check_drift(IfmDocument *document, const IfmMeasurement *measurement, const char *name)
{
    const IfmSummary *summary = &measurement->summary;
    g_autofree char *drift = ifm_say_per_cent(summary->drift_ratio);
    if (!isfinite(summary->drift_ratio))
        return;
    if (!summary->drifting)
        ifm_document_check(document, IFM_TRUST_GOOD, "no drift");
    else
        ifm_document_check_of(document, fabs(summary->drift_ratio) > DRIFT_BAD ? IFM_TRUST_BAD : IFM_TRUST_CARE, name,
                              "the times", "drifted by %s", drift);
}

static void check_interval(IfmDocument *document, const IfmResult *result, const char *name)
{
    const IfmInterval *interval = &result->measurement->summary.median_interval;
    const double half = (interval->upper - interval->lower) / 2 / result->measurement->summary.median,
                 asked = ifm_member_number(result->subject_case != NULL ? result->subject_case->options : NULL,
                                           "protocol.ci_ratio");
    g_autofree char *width = ifm_say_per_cent(half), *aim = ifm_say_per_cent(asked);
    if (!isfinite(half))
        ifm_document_check_of(document, IFM_TRUST_CARE, name, "the median", "has no interval: too few runs");
    else if (asked > 0 && half > asked * 1.05)
        ifm_document_check_of(document, level_of(half, 0, WIDTH_BAD), name, "the median",
                              "is known to ±%s, not to the ±%s asked for", width, aim);
}

static void check_outputs(IfmDocument *document, const json_t *verification, const char *name)
{
    const char *status = ifm_member_text(verification, "status"), *agreement = ifm_member_text(verification, "agreement"),
               *why = ifm_member_text(verification, "why");
    g_autofree char *words = ifm_outputs_words(verification);
    if (g_strcmp0(status, "passed") == 0)
        ifm_document_check_of(document, g_strcmp0(agreement, "undetermined") == 0 ? IFM_TRUST_UNCHECKED : IFM_TRUST_GOOD,
                              words != NULL ? name : NULL, "outputs", "%s",
                              words != NULL ? words
                              : json_object_get(verification, "expected") != NULL
                                  ? "equal those of the reference and those that are expected"
                                  : "equal those of the reference");
    else if (g_strcmp0(status, "undetermined") == 0)
        ifm_document_check_of(document, IFM_TRUST_UNCHECKED, name, "outputs", "are undetermined on these inputs");
    else if (g_strcmp0(status, "not-applicable") == 0)
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "outputs were not compared: simulated devices compute nothing");
    else if (g_strcmp0(status, "failed") == 0)
        ifm_document_check_of(document, IFM_TRUST_BAD, name, "outputs", "differ from those of the reference");
    else
        ifm_document_check_of(document, IFM_TRUST_UNCHECKED, name, "outputs", "were not compared%s%s",
                              why != NULL ? ": " : "", why != NULL ? why : "");
}

/* What this machine has no sensor for. */
static void check_sensors(IfmDocument *document, const json_t *environment)
{
    static const struct
    {
        const char *path, *name;
    } sensors[] = { { "after.clock_mhz", "clock" },
                    { "after.temperature_c", "temperature" },
                    { "after.throttle_counts", "throttling" } };
    const char *missing[G_N_ELEMENTS(sensors)];
    gsize n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(sensors); i++)
    {
        const json_t *value = ifm_member(environment, sensors[i].path);
        if (value == NULL || json_is_null(value))
            missing[n++] = sensors[i].name;
    }
    g_autofree char *names = ifm_say_list(missing, n, n);
    if (n > 0)
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "no sensor of %s%s", names,
                           json_is_true(ifm_member(environment, "machine.virtual")) ? ": a virtual machine" : "");
}

/* --- how it was measured ---------------------------------------------------------------------------------------------- */

static void add_time(IfmDocument *document, gint64 unix_ms)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(unix_ms / 1000);
    g_autofree char *text = time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M UTC") : NULL;
    if (text != NULL && unix_ms > 0)
        ifm_document_provenance(document, "when", "%s", text);
}

static void add_machine(IfmDocument *document, const json_t *environment)
{
    const json_t *machine = json_object_get(environment, "machine");
    const char *cpu = ifm_member_text(machine, "cpu"), *kernel = ifm_member_text(machine, "kernel");
    const double cores = ifm_member_number(machine, "cores"), load = ifm_member_number(environment, "before.load_1min"),
                 clock = json_number_value(json_array_get(ifm_member(environment, "after.clock_mhz"), 0));
    if (cpu != NULL)
        ifm_document_provenance(document, "CPU", "%s%s", cpu,
                                json_is_true(json_object_get(machine, "virtual")) ? ", virtual machine" : "");
    if (cores > 0 && clock > 0)
        ifm_document_provenance(document, "cores", "%.0f, clock %.0f" IFM_NO_BREAK "MHz", cores, clock);
    else if (cores > 0)
        ifm_document_provenance(document, "cores", "%.0f", cores);
    if (isfinite(load))
        ifm_document_provenance(document, "load", "%.2f before", load);
    ifm_document_provenance(document, "kernel", "%s", kernel != NULL ? kernel : "");
}

/* "2026.4.1-22982-e213a147257" is 2026.4.1 to a reader. */
static char *short_version(const char *version)
{
    return version != NULL ? g_strndup(version, strcspn(version, "-")) : NULL;
}

/* As its makers write it. */
static const char *runtime_name(const char *engine)
{
    return g_strcmp0(engine, "onnxruntime") == 0 ? "ONNX Runtime"
           : g_strcmp0(engine, "openvino") == 0  ? "OpenVINO"
                                                 : engine;
}

static void add_runtime(IfmDocument *document, const IfmResult *result)
{
    const json_t *environment = result->measurement->environment, *run = result->measurement->effective_config,
                 *options = result->subject_case != NULL ? result->subject_case->options : NULL;
    const char *engine = ifm_member_text(environment, "runtime.engine"), *asked = ifm_member_text(options, "dtype"),
               *ran = ifm_member_text(run, "dtype"), *cores = ifm_member_text(run, "cores");
    const double threads = ifm_member_number(run, "n_threads"), seed = ifm_member_number(options, "seed");
    g_autofree char *version = short_version(ifm_member_text(environment, "runtime.version"));
    if (engine != NULL && version != NULL)
        ifm_document_provenance(document, runtime_name(engine), "%s", version);
    g_autofree char *where = g_strdup_printf("on %s", ifm_result_name(result));
    g_autoptr(GString) how = g_string_new(NULL);
    if (threads > 0)
        g_string_append_printf(how, "%.0f thread%s, ", threads, ifm_plural(threads));
    if (cores != NULL && *cores != '\0')
        g_string_append_printf(how, "cores %s, ", cores);
    if (result->measurement->uid != NULL)
        ifm_document_provenance(document, where, "%smeasurement %.8s", how->str, result->measurement->uid);
    if (asked != NULL && ran != NULL)
        ifm_document_provenance(document, "dtype", "%s asked, %s run", asked, ran);
    else if (asked != NULL)
        ifm_document_provenance(document, "dtype", "%s asked; what ran is not known", asked);
    if (isfinite(seed))
        ifm_document_provenance(document, "seed", "%.0f", seed);
}

void ifm_document_provenance_of(IfmDocument *document, const IfmMeasurement *measurement)
{
    add_time(document, measurement->started_unix_ms);
    add_machine(document, measurement->environment);
}

/* Those of several engines: a pipeline's. */
static void check_runtimes(IfmDocument *document, const json_t *environment)
{
    const char *untested = ifm_member_text(environment, "runtime.untested");
    const json_t *runtime;
    gsize i;
    if (untested != NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", untested);
    json_array_foreach(json_object_get(environment, "runtimes"), i, runtime)
    {
        untested = ifm_member_text(runtime, "untested");
        if (untested != NULL)
            ifm_document_check(document, IFM_TRUST_CARE, "%s", untested);
    }
}

static gboolean is_of_simulated(const IfmResult *result)
{
    return g_strcmp0(ifm_member_text(result->measurement->environment, "runtime.engine"), "simulated") == 0 ||
           (result->subject_case != NULL && strstr(result->subject_case->device, "simulated:") != NULL);
}

#define SIMULATED "simulated: the figures come from a description of a device, not from a device"

void ifm_document_trust(IfmDocument *document, const IfmResult *result, const char *name)
{
    const IfmMeasurement *measurement = result->measurement;
    if (measurement == NULL)
        return;
    const json_t *environment = measurement->environment;
    const gboolean is_simulated = is_of_simulated(result);
    ifm_document_provenance_of(document, measurement);
    add_runtime(document, result);
    if (is_simulated)
        ifm_document_check(document, IFM_TRUST_CARE, SIMULATED);
    check_runtimes(document, environment);
    if (ifm_result_measured(result) == NULL)
        return;
    if (!is_simulated)
        check_disturbance(document, environment);
    check_drift(document, measurement, name);
    check_interval(document, result, name);
    check_outputs(document, measurement->verification, name);
    if (!is_simulated)
        check_sensors(document, environment);
}

/* --- many measurements ------------------------------------------------------------------------------------------------ */

#define MOST_DISTURBED 10 /* of so many one: more than that is bad */

void ifm_document_disturbances(IfmDocument *document, GArray *shares, gsize n_disturbed, const char *what)
{
    double *sorted = (double *)(void *)shares->data;
    if (shares->len == 0)
        return;
    ifm_sort_doubles(sorted, shares->len);
    g_autofree char *middle = ifm_say_per_cent(ifm_quantile(sorted, shares->len, 0.5)),
                    *most = ifm_say_per_cent(sorted[shares->len - 1]);
    ifm_document_check(document,
                       n_disturbed * MOST_DISTURBED > shares->len ? IFM_TRUST_BAD
                       : n_disturbed > 0                          ? IFM_TRUST_CARE
                                                                  : IFM_TRUST_GOOD,
                       "other processes used %s of the processors in the median %s, %s at most; %zu of %u were disturbed",
                       middle, what, most, n_disturbed, shares->len);
}

void ifm_document_trust_all(IfmDocument *document, const GPtrArray *results, const char *what)
{
    g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(double));
    gsize n = 0, n_simulated = 0, n_drifting = 0, n_differing = 0, n_unverified = 0, n_bare = 0, n_disturbed = 0;
    for (guint i = 0; i < results->len; i++)
    {
        const IfmResult *result = results->pdata[i];
        const IfmMeasurement *measurement = ifm_result_measured(result);
        const char *status = measurement != NULL ? ifm_member_text(measurement->verification, "status") : NULL;
        if (measurement == NULL)
            continue;
        const double others = ifm_member_number(measurement->environment, "others_ratio");
        ifm_document_provenance_of(document, measurement);
        add_runtime(document, result);
        check_runtimes(document, measurement->environment);
        n++;
        n_simulated += is_of_simulated(result);
        n_drifting += measurement->summary.drifting;
        n_bare += !isfinite(measurement->summary.median_interval.lower);
        n_differing += g_strcmp0(status, "failed") == 0;
        n_unverified += g_strcmp0(status, "failed") != 0 && g_strcmp0(status, "passed") != 0;
        if (isfinite(others) && !is_of_simulated(result))
        {
            n_disturbed += ifm_measurement_is_disturbed(measurement);
            g_array_append_val(shares, others);
        }
    }
    if (n_simulated > 0 && n_simulated == n)
        ifm_document_check(document, IFM_TRUST_CARE, SIMULATED);
    else
        ifm_document_check_count(document, IFM_TRUST_CARE, n_simulated, n,
                                 "are simulated: of a description, not of a device");
    ifm_document_disturbances(document, shares, n_disturbed, what);
    ifm_document_check_count(document, IFM_TRUST_BAD, n_differing, n,
                             "have outputs that differ from those of the reference");
    ifm_document_check_count(document, IFM_TRUST_CARE, n_drifting, n, "drifted while they were measured");
    ifm_document_check_count(document, IFM_TRUST_CARE, n_bare, n, "have no interval: too few runs");
    ifm_document_check_count(document, IFM_TRUST_UNCHECKED, n_unverified, n, "have outputs that were not compared");
}
