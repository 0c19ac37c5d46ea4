#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include "../runner-private.h"

/* These functions seal the load under which a case is measured: other devices that run models, or a stressor. */

static gint compare_rows(gconstpointer a, gconstpointer b)
{
    const json_t *left = *(const json_t *const *)a, *right = *(const json_t *const *)b;
    g_autofree char *left_text = json_dumps(left, JSON_SORT_KEYS), *right_text = json_dumps(right, JSON_SORT_KEYS);
    return strcmp(left_text, right_text);
}

/* What of a load defines the case: its device, its model's bytes, and the engine's version. */
static json_t *row_of(IfmRunner *runner, const IfmLoadDevice *device, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
    g_autoptr(IfmModel) model = spec != NULL ? ifm_model_open(device->model_path, error) : NULL;
    const char *digest = model != NULL ? ifm_model_digest(model, error) : NULL;
    const json_t *facts = digest != NULL ? ifm_runner_engine_facts(runner, spec->text, spec, error) : NULL;
    if (facts == NULL)
    {
        g_prefix_error(error, "load %s: ", device->alias != NULL ? device->alias : device->device);
        return NULL;
    }
    json_t *row = json_pack("{s:s,s:s,s:O}", "device", spec->text, "model", digest, "engine_version",
                            json_object_get(facts, "version"));
    if (device->free_shapes)
        json_object_set_new(row, "free_shapes", json_true());
    return row;
}

/* A stressor loads this machine's cores or GPU, whose load a described device does not feel. (transfer full) */
static json_t *stress_of(const IfmModelCase *model_case, const IfmCase *record, GError **error)
{
    IfmStressKind kind;
    if (!ifm_stress_parse(model_case->stress_kind, &kind, error))
        return NULL;
    if (!(model_case->stress_level >= 0 && model_case->stress_level <= 1))
    {
        ifm_error_refuse(error, "load: a level of %g: 0 to 1 is expected", model_case->stress_level);
        return NULL;
    }
    if (g_str_has_prefix(record->device, "simulated:"))
    {
        ifm_error_refuse(error, "load: a stressor keeps this machine busy, and %s is simulated", record->device);
        return NULL;
    }
    json_t *json =
        json_pack("{s:s,s:o}", "kind", model_case->stress_kind, "level", ifm_json_real(model_case->stress_level));
    if (model_case->stress_cores != NULL)
        json_object_set_new(json, "cores", ifm_json_string(model_case->stress_cores));
    if (model_case->stress_device != NULL)
        json_object_set_new(json, "device", ifm_json_string(model_case->stress_device));
    return json;
}

static gboolean seal_stress(const IfmModelCase *model_case, IfmCase *record, GError **error)
{
    json_t *stress = model_case->stress_kind != NULL ? stress_of(model_case, record, error) : NULL;
    if (stress != NULL)
        ifm_record_set_json(&record->load, json_pack("{s:o}", "stress", stress));
    return stress != NULL || model_case->stress_kind == NULL;
}

gboolean ifm_runner_seal_load(IfmRunner *runner, const IfmModelCase *model_case, IfmCase *record, GError **error)
{
    if (model_case->n_load == 0)
        return seal_stress(model_case, record, error);
    if (model_case->stress_kind != NULL)
        return ifm_error_refuse(error, "load: a stressor or other devices, not both");
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    for (gsize i = 0; i < model_case->n_load; i++)
    {
        json_t *row = row_of(runner, &model_case->load[i], error);
        if (row == NULL)
            return FALSE;
        g_ptr_array_add(rows, row);
    }
    g_ptr_array_sort(rows, compare_rows); /* in whatever order they are named, it is one case */
    json_t *devices = json_array();
    for (guint i = 0; i < rows->len; i++)
        json_array_append(devices, rows->pdata[i]);
    ifm_record_set_json(&record->load, json_pack("{s:o}", "devices", devices));
    return TRUE;
}
