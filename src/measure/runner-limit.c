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
    ifm_record_set_json(&record->options, json_pack("{s:s,s:i}", "dtype", ifm_dtype_name(dtype_of(limit_case)), "threads",
                                                    limit_case->threads));
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
