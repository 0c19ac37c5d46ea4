#include <sched.h>
#include <string.h>

#include <inferometer/json.h>

#include "runner-private.h"

static const IfmDtype dtypes[] = { IFM_DTYPE_F32, IFM_DTYPE_F64, IFM_DTYPE_F16, IFM_DTYPE_BF16 };

static gboolean check(const IfmLimitCase *limit_case, GError **error)
{
    gboolean known = limit_case->dtype == IFM_DTYPE_UNDEFINED;
    for (gsize i = 0; i < G_N_ELEMENTS(dtypes); i++)
        known |= limit_case->dtype == dtypes[i];
    if (!known)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "limit: found dtype %s, expected f32, f64, f16 or bf16",
                    ifm_dtype_name(limit_case->dtype));
    else if (limit_case->threads < 0)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "limit: found %d threads, expected 0 (as the device has) or more",
                    limit_case->threads);
    else if (limit_case->time_budget_ns < 0)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "limit: found a time budget of %" G_GINT64_FORMAT " ns, expected more than 0",
                    limit_case->time_budget_ns);
    else
        return TRUE;
    return FALSE;
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

static json_t *surroundings_of(IfmRunner *runner, const json_t *facts)
{
    json_t *id = json_object_get(ifm_runner_machine(runner), "id");
    return json_pack("{s:o,s:O,s:O}", "machine", id != NULL ? json_incref(id) : json_null(), "engine",
                     json_object_get(facts, "engine"), "engine_version", json_object_get(facts, "version"));
}

static IfmDtype dtype_of(const IfmLimitCase *limit_case)
{
    return limit_case->dtype != IFM_DTYPE_UNDEFINED ? limit_case->dtype : IFM_DTYPE_F32;
}

/* A process that is kept to some of the processors finds less, where the device is not told its cores. */
static json_t *options_of(const IfmLimitCase *limit_case, const IfmDeviceSpec *spec)
{
    cpu_set_t mask;
    json_t *options = json_pack("{s:s,s:i}", "dtype", ifm_dtype_name(dtype_of(limit_case)), "threads", limit_case->threads);
    if (spec->n_cores == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0)
        json_object_set_new(options, "processors", json_integer(CPU_COUNT(&mask)));
    return options;
}

IfmCase *ifm_runner_limit_case(IfmRunner *runner, const IfmLimitCase *limit_case, GError **error)
{
    if (!check(limit_case, error))
        return NULL;
    g_autoptr(IfmDeviceSpec) spec = without_streams(limit_case->device, error);
    const json_t *facts = spec != NULL ? ifm_runner_engine_facts(runner, spec->text, spec, error) : NULL;
    if (facts == NULL)
        return NULL;
    g_autoptr(IfmCase) record = ifm_case_new();
    ifm_record_set_text(&record->subject_kind, "limit");
    ifm_record_set_text(&record->subject_name, "limit");
    ifm_record_set_text(&record->device, spec->text);
    ifm_record_set_text(&record->alias, limit_case->alias);
    ifm_record_set_json(&record->options, options_of(limit_case, spec));
    ifm_record_set_json(&record->surroundings, surroundings_of(runner, facts));
    ifm_case_seal(record);
    return g_steal_pointer(&record);
}

static IfmMeasurement *measure_limit(IfmHearing *hearing, void *user, GError **error)
{
    const IfmLimitCase *limit_case = user;
    IfmWorkerWatch watch = ifm_hearing_watch(hearing);
    json_auto_t *answer =
        ifm_runner_ask(hearing->runner, limit_case->device,
                       json_pack("{s:s,s:o,s:I}", "do", "limit", "case", ifm_limit_case_to_json(limit_case), "memory_bytes",
                                 (json_int_t)watch.limits->memory_bytes),
                       &watch, error);
    return answer != NULL ? ifm_measurement_from_json(json_object_get(answer, "measurement"), error) : NULL;
}

IfmMeasurement *ifm_runner_measure_limit(IfmRunner *runner, const IfmLimitCase *limit_case, const IfmCase *sealed,
                                         GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(sealed->device, error);
    if (spec == NULL || !check(limit_case, error))
        return NULL;
    IfmLimitCase whole = *limit_case;
    whole.device = sealed->device; /* canonical, without streams */
    whole.dtype = dtype_of(limit_case);
    if (whole.time_budget_ns == 0)
        whole.time_budget_ns = IFM_LIMIT_BUDGET_NS;
    const IfmDeviceSpec *devices[] = { spec };
    const IfmProtocol protocol = IFM_PROTOCOL_INIT;
    IfmRunnerJob job = { .worker = sealed->device,
                         .devices = devices,
                         .n_devices = 1,
                         .level = protocol.level,
                         .measure = measure_limit,
                         .user = &whole };
    return ifm_runner_run(runner, &job, sealed, error);
}

/* --- which of two counts -------------------------------------------------------------------------------------------- */

/* A described limit is no measurement: it is asked again each time, and costs nothing. */
static gboolean is_measured(const IfmMeasurement *limit)
{
    const json_t *told = json_object_get(limit->surroundings, "limit");
    const char *source = json_string_value(json_object_get(told, "source"));
    return limit->outcome == IFM_OUTCOME_OK && g_strcmp0(source, "described") != 0;
}

/* A figure to within a tenth, on a machine that was left alone: what else was running lowers a limit, and nothing raises
 * it. */
#define MOST_OTHERS 0.1
#define MOST_WIDTH 0.2

static gboolean is_wide(const json_t *told, const char *value, const char *interval)
{
    const json_t *ends = json_object_get(told, interval);
    const json_t *lower = json_array_get(ends, 0), *upper = json_array_get(ends, 1);
    return !json_is_number(lower) || !json_is_number(upper) ||
           json_number_value(upper) - json_number_value(lower) >
               MOST_WIDTH * json_number_value(json_object_get(told, value));
}

char *ifm_limit_doubt(const IfmMeasurement *limit)
{
    const json_t *told = json_object_get(limit->surroundings, "limit"),
                 *others = json_object_get(limit->surroundings, "others_ratio");
    if (!is_measured(limit))
        return NULL;
    if (json_is_number(others) && json_number_value(others) > MOST_OTHERS)
        return g_strdup_printf("other processes used %.0f %% of the processors then", 100 * json_number_value(others));
    if (is_wide(told, "flop_per_s", "flop_interval") || is_wide(told, "bytes_per_s", "bytes_interval"))
        return g_strdup("its runs scattered by more than a tenth");
    return NULL;
}

static double height_of(const IfmMeasurement *limit)
{
    const json_t *told = json_object_get(limit->surroundings, "limit");
    return json_number_value(json_object_get(told, "flop_per_s")) * json_number_value(json_object_get(told, "bytes_per_s"));
}

gboolean ifm_limit_store(IfmStore *store, const IfmCase *sealed, const IfmMeasurement *limit, const IfmMeasurement *before,
                         gboolean *counts, GError **error)
{
    g_autofree char *doubt = ifm_limit_doubt(limit);
    gboolean better = before == NULL || doubt == NULL || height_of(limit) >= height_of(before);
    *counts = better && (!is_measured(limit) || ifm_store_commit(store, sealed, limit, error));
    return *counts || !better;
}
