#include <base/fields.h>
#include <engine/engine.h>
#include <pipeline/pipeline.h>
#include <string.h>

#include "study-kind.h"

/* Studies of every kind have these in common: devices, names, protocols, cases, their titles and their freeing. */

/* --- devices -------------------------------------------------------------------------------------------------------- */

gboolean study_is_alias(const char *text)
{
    return ifm_alias_check(text, NULL);
}

gboolean study_is_path(const char *model)
{
    return strchr(model, '/') != NULL || g_str_has_suffix(model, ".onnx");
}

gboolean study_is_name(const char *text)
{
    return *text != '\0' && text[strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-")] == '\0';
}

/* NPUs compile one size at a time. "NPU" of "openvino:NPU", "simulated:meteor-lake/NPU". */
static gboolean is_npu(const IfmDeviceSpec *spec)
{
    const char *slash = strrchr(spec->unit, '/');
    return g_ascii_strcasecmp(slash != NULL ? slash + 1 : spec->unit, "NPU") == 0;
}

void study_device_set_form(IfmStudyDevice *device, IfmStudyForm form)
{
    device->form = form;
    device->phase = form == IFM_STUDY_STATIC ? 2 : 1;
}

IfmStudyDevice *study_device_new(const char *alias, const char *device, GError **error)
{
    if (!ifm_alias_check(alias, error))
        return NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, error);
    if (spec == NULL || !ifm_engine_name_check(spec->engine, error))
    {
        g_prefix_error(error, "%s: ", alias);
        return NULL;
    }
    IfmStudyDevice *self = g_new0(IfmStudyDevice, 1);
    self->alias = g_strdup(alias);
    self->device = g_strdup(spec->text);
    self->simulated = g_str_equal(spec->engine, "simulated");
    study_device_set_form(self, is_npu(spec) ? IFM_STUDY_STATIC : IFM_STUDY_DYNAMIC);
    return self;
}

IfmStudyDevice *study_device_find(const GPtrArray *devices, const char *alias)
{
    for (guint i = 0; i < devices->len; i++)
        if (g_str_equal(((const IfmStudyDevice *)devices->pdata[i])->alias, alias))
            return devices->pdata[i];
    return NULL;
}

gboolean ifm_study_set_device(IfmStudy *study, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return ifm_error_refuse(error, "\"%s\" is not ALIAS=DEVICE, such as CPU=openvino:CPU@0", text);
    g_autofree char *alias = g_strndup(text, (gsize)(equals - text));
    g_autoptr(IfmStudyDevice) device = study_device_new(alias, equals + 1, error);
    if (device == NULL)
        return FALSE;
    device->asked = TRUE;
    IfmStudyDevice *before = study_device_find(study->devices, alias);
    if (before == NULL && study->contention && study->devices->len == IFM_PLAN_MAX_DEVICES)
        return ifm_error_refuse(error, "%s: one device too many: contention is measured of %d at most", alias,
                                IFM_PLAN_MAX_DEVICES);
    if (before == NULL && study->kind->one_device && study->devices->len > 0)
        return ifm_error_refuse(error, "%s: a second device: a study of kind %s is of one, %s", alias, study->kind->name,
                                ((const IfmStudyDevice *)study->devices->pdata[0])->alias);
    guint index = 0;
    study_forget_cases(study);
    if (before == NULL)
        g_ptr_array_add(study->devices, g_steal_pointer(&device));
    else
    {
        study_device_set_form(device, before->form);
        device->not_stages = before->not_stages;
        g_ptr_array_find(study->devices, before, &index);
        study_device_free(before);
        study->devices->pdata[index] = g_steal_pointer(&device);
    }
    return TRUE;
}

void ifm_study_asked_devices(IfmStudy *study, void (*dropped)(const IfmStudyDevice *device, void *user), void *user)
{
    gboolean any = FALSE;
    for (guint i = 0; i < study->devices->len; i++)
        any = any || ((const IfmStudyDevice *)study->devices->pdata[i])->asked;
    for (guint i = study->devices->len; study->kind->own_devices && any && i-- > 0;)
    {
        const IfmStudyDevice *device = study->devices->pdata[i];
        if (device->asked)
            continue;
        if (dropped != NULL)
            dropped(device, user);
        study_forget_cases(study);
        g_ptr_array_remove_index(study->devices, i);
    }
}

/* --- the rest ------------------------------------------------------------------------------------------------------- */

guint32 study_range_mask(int first, int last)
{
    guint32 mask = 0;
    for (int stage = first; stage <= last; stage++)
        mask |= 1u << (stage - 1);
    return mask;
}

const IfmProtocol *study_case_protocol(const IfmStudy *study, const StudyCase *one)
{
    if (one->to != NULL)
        return &study->link_protocol;
    return one->row.busy != NULL ? &study->contention_protocol : &study->protocol;
}

const IfmStage *study_stage(const IfmStagedModel *staged, int number)
{
    for (gsize i = 0; i < staged->n_stages; i++)
        if (staged->stages[i].number == number)
            return &staged->stages[i];
    return NULL;
}

char *study_stages_title(const char *of, const IfmStagedModel *staged, int first, int last)
{
    return last > first ? g_strdup_printf("%s stages %d-%d", of, first, last)
                        : g_strdup_printf("%s stage %d %s", of, first, study_stage(staged, first)->name);
}

void study_size_free(StudySize *size)
{
    if (size == NULL)
        return;
    g_free(size->size.graph);
    g_free(size->digest);
    ifm_graph_free(size->real);
    g_free(size);
}

IfmStudy *study_new(const StudyKind *kind)
{
    IfmStudy *study = g_new0(IfmStudy, 1);
    study->kind = kind;
    study->stages = g_array_new(FALSE, FALSE, sizeof(int));
    study->ranges = g_array_new(FALSE, FALSE, sizeof(StudyRange));
    study->devices = g_ptr_array_new_with_free_func((GDestroyNotify)study_device_free);
    study->sizes = g_ptr_array_new_with_free_func((GDestroyNotify)study_size_free);
    study->free_dims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    study->protocol = IFM_PROTOCOL_INIT;
    study->limits = IFM_LIMITS_INIT;
    return study;
}

void study_case_free(StudyCase *self)
{
    study_case_record_clear(&self->row);
    g_free(self->background);
    g_free(self->specs);
    g_free(self);
}

char *study_point_title(const char *alias, const json_t *axes)
{
    GString *title = g_string_new(NULL);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)axes, name, value)
    {
        g_string_append(title, title->len > 0 ? ", " : "");
        if (json_is_integer(value))
            g_string_append_printf(title, "%s %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
        else
            g_string_append(title, json_string_value(value));
    }
    if (alias != NULL)
    {
        g_string_prepend_c(title, ' ');
        g_string_prepend(title, alias);
    }
    return g_string_free(title, FALSE);
}

StudyCase *study_point_new(IfmStudyDevice *device, json_t *axes)
{
    StudyCase *one = g_new0(StudyCase, 1);
    one->device = device;
    one->row = (IfmStudyCase){ .phase = device->phase,
                               .alias = g_strdup(device->alias),
                               .title = study_point_title(device->alias, axes),
                               .axes = axes };
    return one;
}

void study_forget_cases(IfmStudy *study)
{
    for (guint i = 0; study->cases != NULL && study->kind->clear_case != NULL && i < study->cases->len; i++)
        study->kind->clear_case(study->cases->pdata[i]);
    g_clear_pointer(&study->cases, g_ptr_array_unref);
}

void ifm_study_free(IfmStudy *study)
{
    if (study == NULL)
        return;
    study_forget_cases(study);
    if (study->kind->clear != NULL)
        study->kind->clear(study);
    ifm_record_free(study->text, study->fields);
    g_free(study->fields);
    g_hash_table_unref(study->free_dims);
    g_ptr_array_unref(study->devices);
    g_ptr_array_unref(study->sizes);
    g_array_unref(study->stages);
    g_array_unref(study->ranges);
    g_free(study->name);
    g_free(study->title);
    g_free(study->energy);
    g_free(study);
}

IfmStudyInfo ifm_study_info(const IfmStudy *study)
{
    return (IfmStudyInfo){
        .name = study->name,
        .title = study->title,
        .staged = study->staged,
        .devices = study->devices,
        .sizes = study->sizes,
        .protocol = &study->protocol,
        .limits = &study->limits,
        .spans_by_run = study->kind->spans_by_run,
    };
}

const char *ifm_study_kind(const IfmStudy *study)
{
    return study->kind->name;
}

void ifm_study_set_protocol(IfmStudy *study, const IfmProtocol *protocol)
{
    study->protocol = *protocol;
    if (!study->own_link_protocol)
        study->link_protocol = *protocol;
    if (!study->own_contention_protocol)
        study->contention_protocol = *protocol;
}

IfmStageSizes ifm_study_stage_sizes(const IfmStudy *study)
{
    return (IfmStageSizes){ .features = study->features, .hidden = study->hidden };
}
