/* Which of a study's devices are here. */
#include <campaign/campaign.h>
#include <engine/engine.h>
#include <measure/measure.h>
#include <sched.h>

#include "study-run-private.h"

/* Whether an engine that is here knows no unit of that name, present or absent. */
static gboolean is_unknown_unit(Run *run, const IfmDeviceSpec *spec)
{
    gsize i;
    json_t *device;
    json_auto_t *found = ifm_runner_devices(ifm_campaign_runner(run->campaign), spec->engine, NULL);
    json_array_foreach(json_object_get(found, "devices"), i, device)
    {
        g_autoptr(IfmDeviceSpec) listed = ifm_device_spec_parse(json_string_value(json_object_get(device, "spec")), NULL);
        if (listed != NULL && g_str_equal(listed->unit, spec->unit))
            return FALSE;
    }
    return json_array_size(json_object_get(found, "devices")) > 0;
}

/* Cores that are not there would be found out by every case anew. A simulated device runs on none. */
static gboolean check_cores(const IfmStudyDevice *device, const IfmDeviceSpec *spec, GError **error)
{
    cpu_set_t usable;
    if (device->simulated || sched_getaffinity(0, sizeof usable, &usable) != 0)
        return TRUE;
    for (gsize i = 0; i < spec->n_cores; i++)
    {
        if (spec->cores[i] < CPU_SETSIZE && CPU_ISSET((gsize)spec->cores[i], &usable))
            continue;
        g_autofree char *all = ifm_affinity_to_string();
        return ifm_error_refuse(error, "%s=%s: there is no core %d that this process may use; it may use %s", device->alias,
                                device->device, spec->cores[i], all);
    }
    return TRUE;
}

/* A device that was lost is here: its cases are skipped one by one, so that each states why. */
static gboolean find_device(Run *run, IfmStudyDevice *device, GError **error)
{
    GError *trouble = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
    if (spec == NULL || !check_cores(device, spec, error))
        return FALSE;
    g_clear_pointer(&device->description, g_free);
    g_clear_pointer(&device->reason, g_free);
    device->is_refused = FALSE;
    if (ifm_runner_find_device(ifm_campaign_runner(run->campaign), device->device, &device->description, &trouble))
        return TRUE;
    if (device->asked && g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNAVAILABLE) && is_unknown_unit(run, spec))
        trouble->code = IFM_ERROR_INVALID;
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED) || g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID))
    {
        g_propagate_prefixed_error(error, trouble, "%s=%s: ", device->alias, device->device);
        return FALSE;
    }
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_LOST))
        ifm_runner_set_lost(ifm_campaign_runner(run->campaign), device->device, trouble->message);
    else
        device->reason = g_strdup(trouble->message);
    g_error_free(trouble);
    return TRUE;
}

gboolean study_run_check_devices(const Run *run, GError **error)
{
    g_autoptr(GString) reasons = g_string_new(NULL);
    gboolean any = FALSE, all_refused = TRUE;
    for (guint i = 0; i < run->study->devices->len; i++)
    {
        const IfmStudyDevice *device = run->study->devices->pdata[i];
        any |= device->reason == NULL;
        all_refused &= device->is_refused;
        if (device->reason != NULL)
            g_string_append_printf(reasons, "%s%s: %s", reasons->len > 0 ? "; " : "", device->alias, device->reason);
    }
    if (!any && all_refused)
        ifm_error_refuse(error, "study \"%s\": %s", run->study->name, reasons->str);
    else if (!any)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "no device of study \"%s\" is here: %s", run->study->name,
                      reasons->str);
    return any;
}

gboolean study_run_find_devices(Run *run, GError **error)
{
    for (guint i = 0; i < run->study->devices->len; i++)
        if (!find_device(run, run->study->devices->pdata[i], error))
            return FALSE;
    return study_run_check_devices(run, error);
}
