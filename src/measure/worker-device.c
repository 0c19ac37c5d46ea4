#include <base/base.h>
#include <base/fields.h>

#include "worker-private.h"

/* A simulated device lives on a virtual clock, so that its inferences take no real time, unless $IFM_SIMULATED_CLOCK says
 * "real". */
static gboolean goes_by_virtual_clock(const Worker *worker, const char *engine)
{
    return !worker->keeps_real_time && g_str_equal(engine, "simulated") &&
           g_strcmp0(g_getenv("IFM_SIMULATED_CLOCK"), "real") != 0;
}

gboolean worker_is_simulated(const char *device)
{
    return g_str_has_prefix(device, "simulated:");
}

IfmEngine *worker_open_engine(Worker *worker, const char *name, GError **error)
{
    IfmEngine *engine = g_hash_table_lookup(worker->engines, name);
    if (engine != NULL)
        return engine;
    IfmClock *clock = goes_by_virtual_clock(worker, name) ? worker->virtual_clock : worker->real_clock;
    engine = ifm_engine_open(name, clock, error);
    if (engine != NULL)
        g_hash_table_insert(worker->engines, g_strdup(name), engine);
    return engine;
}

IfmEngine *worker_open_device(Worker *worker, const char *device, IfmDeviceSpec **spec, GError **error)
{
    *spec = ifm_device_spec_parse(device, error);
    return *spec != NULL ? worker_open_engine(worker, (*spec)->engine, error) : NULL;
}

json_t *worker_engine_to_json(IfmEngine *engine)
{
    const IfmEngineInfo info = ifm_engine_info(engine);
    json_t *json = json_pack("{s:s,s:o,s:o}", "engine", info.name, "version", ifm_json_string(info.version), "library",
                             ifm_json_string(info.library));
    if (info.untested != NULL)
        json_object_set_new(json, "untested", ifm_json_string(info.untested));
    return json;
}

json_t *worker_answer_engine(Worker *worker, const json_t *request, GError **error)
{
    const char *name;
    if (!ifm_json_get_string(request, "request", "engine", &name, error))
        return NULL;
    worker_enter_phase(worker, "opening the runtime");
    IfmEngine *engine = worker_open_engine(worker, name, error);
    return engine != NULL ? worker_engine_to_json(engine) : NULL;
}

static json_t *device_to_json(const IfmDeviceInfo *info)
{
    json_t *capabilities = json_array();
    for (guint bit = 0; bit < 32; bit++)
        if ((info->capabilities & (1u << bit)) != 0 && ifm_capability_name(1u << bit) != NULL)
            json_array_append_new(capabilities, json_string(ifm_capability_name(1u << bit)));
    return json_pack("{s:o,s:o,s:o,s:b,s:o}", "spec", ifm_json_string(info->spec), "description",
                     ifm_json_string(info->description), "capabilities", capabilities, "available", info->available,
                     "reason", info->reason != NULL ? ifm_json_string(info->reason) : json_null());
}

json_t *worker_answer_devices(Worker *worker, const json_t *request, GError **error)
{
    json_auto_t *answer = worker_answer_engine(worker, request, error);
    if (answer == NULL)
        return NULL;
    worker_enter_phase(worker, "looking for devices");
    IfmEngine *engine = worker_open_engine(worker, ifm_member_text(request, "engine"), error);
    g_autoptr(GPtrArray) devices = ifm_engine_devices(engine, error);
    if (devices == NULL)
        return NULL;
    json_t *list = json_array();
    for (guint i = 0; i < devices->len; i++)
        json_array_append_new(list, device_to_json(devices->pdata[i]));
    json_object_set_new(answer, "devices", list);
    return json_incref(answer);
}

gboolean worker_still_there(Worker *worker, IfmEngine *engine, const char *device, GError **error)
{
    g_autoptr(GError) failure = NULL;
    worker_enter_phase(worker, "probing the device");
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, &failure);
    return (spec != NULL && ifm_engine_probe_device(engine, spec, &failure)) ||
           ifm_error_set(error, IFM_ERROR_LOST, "the device is lost after the runs: %s", failure->message);
}

gboolean worker_all_there(Worker *worker, const GPtrArray *devices, GPtrArray *given_up, const char *what, GError **error)
{
    g_autoptr(GError) loss = NULL;
    json_auto_t *lost = json_array();
    worker_enter_phase(worker, "probing the devices");
    for (guint i = 0; i < devices->len; i++)
    {
        const char *device = devices->pdata[i];
        g_autoptr(GError) failure = NULL;
        g_autoptr(IfmDeviceSpec) spec = NULL;
        IfmEngine *engine = worker_open_device(worker, device, &spec, &failure);
        if (engine != NULL && ifm_engine_probe_device(engine, spec, &failure))
            continue;
        json_array_append_new(lost, ifm_json_string(device));
        if (loss == NULL && (given_up == NULL || !g_ptr_array_find_with_equal_func(given_up, device, g_str_equal, NULL)))
            ifm_error_set(&loss, IFM_ERROR_LOST, "the device is lost after the %s: %s", what, failure->message);
    }
    if (json_array_size(lost) > 0)
        worker_say(worker, json_pack("{s:s,s:O}", "say", "lost", "devices", lost));
    return ifm_error_pass(error, g_steal_pointer(&loss));
}

json_t *worker_answer_find(Worker *worker, const json_t *request, GError **error)
{
    const gboolean find = g_str_equal(ifm_member_text(request, "do"), "find");
    const char *device;
    g_autoptr(IfmDeviceSpec) spec = NULL;
    g_autoptr(IfmDeviceInfo) info = NULL;
    if (!ifm_json_get_string(request, "request", "device", &device, error))
        return NULL;
    worker_enter_phase(worker, find ? "opening the runtime" : "probing the device");
    IfmEngine *engine = worker_open_device(worker, device, &spec, error);
    if (find && engine != NULL)
    {
        worker_enter_phase(worker, "looking for the device");
        info = ifm_engine_find_device(engine, spec, error);
    }
    if (engine == NULL || (find && info == NULL))
        return NULL;
    worker_enter_phase(worker, "probing the device");
    if (!ifm_engine_probe_device(engine, spec, error))
        return NULL;
    return find ? device_to_json(info) : json_pack("{s:b}", "alive", TRUE);
}
