/* What a device can at most: what describes a case of it, its record, and which of two counts. */
#include <math.h>
#include <sched.h>
#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include "../kind-private.h"

static const IfmDtype dtypes[] = { IFM_DTYPE_F32, IFM_DTYPE_F64, IFM_DTYPE_F16, IFM_DTYPE_BF16 };

static const IfmRecordField fields[] = {
    { IFM_RECORD(NAME, IfmPeakCase, device) },
    { IFM_RECORD(NAME, IfmPeakCase, alias) },
    { IFM_RECORD(DTYPE, IfmPeakCase, dtype), .key = "dtype" },
    { IFM_RECORD(INT, IfmPeakCase, threads), .key = "threads" },
    { IFM_RECORD(INT64, IfmPeakCase, time_budget_ns) },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    IfmPeakCase *peak_case = spec;
    gboolean known = FALSE;
    if (peak_case->dtype == IFM_DTYPE_UNDEFINED)
        peak_case->dtype = IFM_DTYPE_F32;
    for (gsize i = 0; i < G_N_ELEMENTS(dtypes); i++)
        known |= peak_case->dtype == dtypes[i];
    if (!known)
        return ifm_error_refuse(error, "peak: found dtype %s, expected f32, f64, f16 or bf16",
                                ifm_dtype_name(peak_case->dtype));
    if (peak_case->threads < 0)
        return ifm_error_refuse(error, "peak: found %d threads, expected 0 (as the device has) or more",
                                peak_case->threads);
    if (peak_case->time_budget_ns < 0)
        return ifm_error_refuse(error, "peak: found a time budget of %" G_GINT64_FORMAT " ns, expected more than 0",
                                peak_case->time_budget_ns);
    if (peak_case->time_budget_ns == 0)
        peak_case->time_budget_ns = IFM_PEAK_BUDGET_NS;
    return TRUE;
}

/* Several streams share what the device can: its limit is that of one that has it all. */
static IfmDeviceSpec *without_streams(const char *device, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, error);
    if (spec == NULL || spec->n_streams == 0)
        return g_steal_pointer(&spec);
    g_autofree char *text = g_strndup(spec->text, strcspn(spec->text, "#"));
    return ifm_device_spec_parse(text, error);
}

static gboolean seal(IfmRunner *runner, const void *given, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmPeakCase *peak_case = given;
    cpu_set_t mask;
    g_autoptr(IfmDeviceSpec) spec = without_streams(peak_case->device, error);
    facts = spec != NULL ? ifm_runner_engine_facts(runner, spec->text, spec, error) : NULL;
    if (facts == NULL)
        return FALSE;
    ifm_record_set_text(&record->subject_name, "peak");
    ifm_record_set_text(&record->device, spec->text);
    ifm_record_set_text(&record->alias, peak_case->alias);
    /* A process that is kept to some of the processors finds less, if the device has no list of cores. */
    if (spec->n_cores == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0)
        json_object_set_new(record->options, "processors", json_integer(CPU_COUNT(&mask)));
    ifm_case_set_engine(record, facts);
    return TRUE;
}

static gboolean place(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error)
{
    IfmPeakCase *peak_case = spec;
    peak_case->device = sealed->device; /* canonical, without streams */
    place->worker = g_strdup(sealed->device);
    return ifm_kind_place_add(place, sealed->device, error) != NULL;
}

static const IfmKindInWorker in_worker = {
    .place = place, .prepare = worker_peak_prepare, .run = worker_peak_run, .drop = worker_peak_drop
};

const IfmCaseKind ifm_kind_peak = { .name = "peak",
                                    .size = sizeof(IfmPeakCase),
                                    .fields = fields,
                                    .complete = complete,
                                    .seal = seal,
                                    .in_worker = &in_worker };

/* --- which of two counts -------------------------------------------------------------------------------------------- */

static IfmInterval interval_in(const IfmMeasurement *peak, const char *name)
{
    const json_t *ends = ifm_measurement_result(peak, name), *lower = json_array_get(ends, 0),
                 *upper = json_array_get(ends, 1);
    return (IfmInterval){ json_is_number(lower) ? json_number_value(lower) : (double)NAN,
                          json_is_number(upper) ? json_number_value(upper) : (double)NAN, 0.95 };
}

gboolean ifm_peak_result(const IfmMeasurement *peak, IfmPeakResult *result)
{
    const json_t *reported = ifm_measurement_result(peak, NULL);
    *result = (IfmPeakResult){ .flop_per_s = ifm_member_number(reported, "flop_per_s"),
                               .bytes_per_s = ifm_member_number(reported, "bytes_per_s"),
                               .flop_interval = interval_in(peak, "flop_interval"),
                               .bytes_interval = interval_in(peak, "bytes_interval"),
                               .described = g_strcmp0(ifm_member_text(reported, "source"), "described") == 0 };
    const json_t *caches = json_object_get(reported, "caches");
    for (gsize i = 0; i < json_array_size(caches) && i < IFM_PEAK_MAX_CACHES; i++)
    {
        result->caches[i].bytes = ifm_member_number(json_array_get(caches, i), "bytes");
        result->caches[i].bytes_per_s = ifm_member_number(json_array_get(caches, i), "bytes_per_s");
        result->n_caches = i + 1;
    }
    return isfinite(result->flop_per_s) && isfinite(result->bytes_per_s);
}

gboolean ifm_peak_is_measured(const IfmMeasurement *peak)
{
    IfmPeakResult reported;
    ifm_peak_result(peak, &reported);
    return peak->outcome == IFM_OUTCOME_OK && !reported.described;
}

/* A figure to within a tenth, on a machine that was left alone: what else was running lowers a limit, and nothing raises
 * it. */
#define MAX_OTHERS 0.1
#define MAX_WIDTH 0.2

static gboolean is_wide(double value, const IfmInterval *interval)
{
    return !(interval->upper - interval->lower <= MAX_WIDTH * value);
}

char *ifm_peak_doubt(const IfmMeasurement *peak)
{
    IfmPeakResult reported;
    double others_ratio = ifm_member_number(peak->environment, "others_ratio");
    ifm_peak_result(peak, &reported);
    if (!ifm_peak_is_measured(peak))
        return NULL;
    double throttled_ratio = ifm_member_number(peak->environment, "throttled_ratio");
    if (throttled_ratio > MAX_OTHERS)
        return g_strdup("the control group had used up its quota of processor time then");
    if (others_ratio > MAX_OTHERS)
        return g_strdup_printf("other processes used %.0f %% of the processors then", 100 * others_ratio);
    if (is_wide(reported.flop_per_s, &reported.flop_interval) || is_wide(reported.bytes_per_s, &reported.bytes_interval))
        return g_strdup("its runs scattered by more than a tenth");
    return NULL;
}

static double height_of(const IfmMeasurement *peak)
{
    IfmPeakResult reported;
    return ifm_peak_result(peak, &reported) ? reported.flop_per_s * reported.bytes_per_s : 0;
}

gboolean ifm_peak_counts(const IfmMeasurement *peak, const IfmMeasurement *before)
{
    g_autofree char *doubt = ifm_peak_doubt(peak);
    return before == NULL || doubt == NULL || height_of(peak) >= height_of(before);
}
