#include <string.h>

#include <base/base.h>
#include <measure/kinds.h>
#include <measure/measure.h>

#include "definition.h"

/* A study is found by its name or path and read from YAML: its devices, protocol and name are checked here, the rest by
 * its kind. */

/* --- from text to study ----------------------------------------------------------------------------------------------- */

gboolean study_prefix_place(const IfmPlace *record, GError *trouble, GError **error)
{
    ifm_yaml_error(record, error, "%s", trouble->message);
    g_error_free(trouble);
    return FALSE;
}

static gboolean refuse_not_stages(const IfmStudy *study, const DeviceText *text, GError **error)
{
    return text->not_stages->len == 0 ||
           ifm_yaml_key_error(&text->place, "not_stages", -1, error, "a study of kind %s has no stages", study->kind->name);
}

static gboolean take_devices(IfmStudy *study, const StudyText *text, GError **error)
{
    for (guint i = 0; i < text->devices->len; i++)
    {
        const DeviceText *one = text->devices->pdata[i];
        GError *trouble = NULL;
        IfmStudyDevice *device = study_device_new(one->place.name, one->device, &trouble);
        if (device == NULL)
            return study_prefix_place(&one->place, trouble, error);
        if (study->kind->one_device && i > 0)
        {
            study_device_free(device);
            return ifm_yaml_error(&one->place, error, "a second device: a study of kind %s is of one", study->kind->name);
        }
        if (one->form > 0)
            study_device_set_form(device, (IfmStudyForm)(one->form - 1));
        g_ptr_array_add(study->devices, device);
        if (study->kind->take_device != NULL ? !study->kind->take_device(study, one, device, error)
                                             : !refuse_not_stages(study, one, error))
            return FALSE;
    }
    return TRUE;
}

gboolean study_take_protocol(IfmProtocol *protocol, const ProtocolText *text, GError **error)
{
    GError *trouble = NULL;
    if (text == NULL)
        return TRUE;
    *protocol = text->protocol;
    if (protocol->min_runs > protocol->max_runs)
        return ifm_yaml_key_error(&text->place, "min_runs", -1, error, "%zu is more than max_runs, %zu", protocol->min_runs,
                                  protocol->max_runs);
    return ifm_protocol_check(protocol, &trouble) || study_prefix_place(&text->place, trouble, error);
}

static gboolean take_name(IfmStudy *study, const StudyText *text, GError **error)
{
    g_autofree char *base = g_path_get_basename(text->place.file);
    if (g_str_has_suffix(base, ".yaml"))
        base[strlen(base) - strlen(".yaml")] = '\0';
    study->title = g_strdup(text->title);
    study->name = g_strdup(text->name != NULL ? text->name : base);
    return study_is_name(study->name) ||
           ifm_yaml_key_error(&text->place, "name", -1, error, "\"%s\" is none: letters, digits, - and _", study->name);
}

static gboolean take_all(IfmStudy *study, StudyText *text, GError **error)
{
    GError *trouble = NULL;
    study->limits = text->limits != NULL ? text->limits->limits : study->limits;
    const char *energy = text->energy != NULL ? text->energy : study->kind->energy;
    study->energy = g_strcmp0(energy, "none") != 0 ? g_strdup(energy) : NULL;
    if (study->energy != NULL && !ifm_energy_source_check(study->energy, &trouble))
    {
        g_prefix_error(&trouble, "energy: ");
        if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_USAGE)) /* the study's fault, no option's */
            trouble->code = IFM_ERROR_INVALID;
        return study_prefix_place(&text->place, trouble, error);
    }
    if (!take_name(study, text, error) || !study->kind->read(study, text, error) || !take_devices(study, text, error) ||
        !study_take_protocol(&study->protocol, text->protocol, error) ||
        (study->kind->read_rest != NULL && !study->kind->read_rest(study, text, error)))
        return FALSE;
    if (study->devices->len == 0)
        return ifm_yaml_error(&text->place, error,
                              "spans no case: \"devices\" has no entry (such as CPU: {device: openvino:CPU})");
    return TRUE;
}

/* --- where studies are ------------------------------------------------------------------------------------------------ */

char **ifm_study_names(void)
{
    g_autofree char *folder = ifm_path_data("studies", NULL);
    g_autoptr(GDir) dir = folder != NULL ? g_dir_open(folder, 0, NULL) : NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const char *file; dir != NULL && (file = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_suffix(file, ".yaml") && *file != '.')
            g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".yaml")));
    g_ptr_array_sort(names, ifm_compare_texts);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

static char *find_file(const char *name, GError **error)
{
    if (strchr(name, '/') != NULL || g_str_has_suffix(name, ".yaml"))
        return g_strdup(name);
    g_auto(GStrv) names = ifm_study_names();
    g_autofree char *relative = g_strdup_printf("studies/%s.yaml", name);
    if (g_strv_contains((const char *const *)names, name))
        return ifm_path_data(relative, error);
    g_autofree char *all = g_strjoinv(", ", names), *hint = ifm_nearest_hint(name, (const char *const *)names);
    if (*name == '\0')
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "the study's name is empty; there are %s, or name a file", all);
    else
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "no study \"%s\"; there are %s, or name a file: ./%s.yaml%s", name, all,
                      name, hint);
    return NULL;
}

/* The kind that a file says it is of. */
static const StudyKind *kind_of(const StudyKind *const *kinds, const char *path, GError **error)
{
    g_autofree char *name = NULL;
    gsize line = 0;
    if (!ifm_yaml_peek(path, "kind", &name, &line, error))
        return NULL;
    const StudyKind *kind = study_kind_find(kinds, name != NULL ? name : STUDY_DEFAULT_KIND);
    if (kind != NULL)
        return kind;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (; *kinds != NULL; kinds++)
        g_ptr_array_add(names, (gpointer)(*kinds)->name);
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    ifm_error_refuse(error, "%s:%zu: kind: \"%s\" is none; there are %s%s", path, line, name, all, hint);
    return NULL;
}

void study_seal_texts(const IfmPlace *place, GPtrArray *texts, gboolean are_inputs)
{
    g_autofree char *folder = g_path_get_dirname(place->file);
    for (guint i = 0; i < texts->len && are_inputs; i++)
    {
        char *word = texts->pdata[i];
        const char *equals = strchr(word, '='), *dot = strrchr(word, '.'), *const files[] = { ".npy", ".npz", ".pb", NULL };
        const gboolean is_path = equals != NULL && dot != NULL && g_strv_contains(files, dot);
        if (!is_path || g_path_is_absolute(equals + 1))
            continue;
        g_autofree char *path = g_build_filename(folder, equals + 1, NULL);
        texts->pdata[i] = g_strdup_printf("%.*s=%s", (int)(equals - word), word, path);
        g_free(word);
    }
    g_ptr_array_add(texts, NULL);
}

json_t *study_texts_to_json(const GPtrArray *texts)
{
    json_t *json = json_array();
    for (guint i = 0; texts->pdata[i] != NULL; i++)
        json_array_append_new(json, ifm_json_string(texts->pdata[i]));
    return json;
}

IfmStudy *study_open_with(const StudyKind *const *kinds, const char *name, const char *const *settings, GError **error)
{
    g_autofree char *path = find_file(name, error);
    const StudyKind *kind = path != NULL ? kind_of(kinds, path, error) : NULL;
    if (kind == NULL)
        return NULL;
    g_autoptr(IfmStudy) study = study_new(kind);
    study->fields = study_text_new_fields(kind);
    study->text = ifm_yaml_read_with(study->fields, kind->text_size, path, settings, error);
    return study->text != NULL && take_all(study, study->text, error) ? g_steal_pointer(&study) : NULL;
}

IfmStudy *ifm_study_open(const char *name, GError **error)
{
    return study_open_with(study_kinds, name, NULL, error);
}

IfmStudy *ifm_study_open_set(const char *name, const char *const *settings, GError **error)
{
    return study_open_with(study_kinds, name, settings, error);
}
