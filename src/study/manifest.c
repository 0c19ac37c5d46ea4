#include <base/fields.h>
#include <measure/measure.h>
#include <store/store.h>
#include <string.h>

#include "study-kind.h"

/* What a store keeps of a study besides measurements: the document "study", a record. */

#define FORMAT_VERSION 1

/* --- the record ------------------------------------------------------------------------------------------------------- */

static const char *const form_words[] = { [IFM_STUDY_DYNAMIC] = "dynamic", [IFM_STUDY_STATIC] = "static", NULL };

const char *ifm_study_form_name(IfmStudyForm form)
{
    return form_words[form];
}

/* In the order of their names: points.json has them so. */
static const IfmRecordField device_fields[] = {
    { IFM_RECORD(TEXT, IfmStudyDevice, alias) },
    { IFM_RECORD(FLAG, IfmStudyDevice, asked) },
    { IFM_RECORD(STRING, IfmStudyDevice, description) },
    { IFM_RECORD(TEXT, IfmStudyDevice, device) },
    { IFM_RECORD(CHOICE, IfmStudyDevice, form), .words = form_words },
    { IFM_RECORD(UINT32, IfmStudyDevice, not_stages), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, IfmStudyDevice, peak_bytes_per_s), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, IfmStudyDevice, peak_flop_per_s), .sparse = TRUE },
    { IFM_RECORD(INT, IfmStudyDevice, phase) },
    { IFM_RECORD(FLAG, IfmStudyDevice, simulated) },
    { IFM_RECORD_AS(STRING, IfmStudyDevice, reason, "skipped") },
    { NULL },
};

static const IfmRecordField case_fields[] = {
    { IFM_RECORD(STRING, IfmStudyCase, key), .sparse = TRUE },
    { IFM_RECORD(TEXT, IfmStudyCase, alias) },
    { IFM_RECORD(STRING, IfmStudyCase, to), .sparse = TRUE },
    { IFM_RECORD(STRING, IfmStudyCase, title), .sparse = TRUE },
    { IFM_RECORD(INT, IfmStudyCase, phase) },
    { IFM_RECORD(INT, IfmStudyCase, stage), .sparse = TRUE },
    { IFM_RECORD(INT, IfmStudyCase, last), .sparse = TRUE },
    { IFM_RECORD(STRING, IfmStudyCase, busy), .sparse = TRUE },
    { IFM_RECORD(INT64, IfmStudyCase, nodes), .sparse = TRUE },
    { IFM_RECORD(INT64, IfmStudyCase, edges), .sparse = TRUE },
    { IFM_RECORD(INT64, IfmStudyCase, bytes), .sparse = TRUE },
    { IFM_RECORD(JSON, IfmStudyCase, axes), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, IfmStudyCase, items), .sparse = TRUE },
    { IFM_RECORD(DOUBLE, IfmStudyCase, flop), .sparse = TRUE },
    { IFM_RECORD(STRING, IfmStudyCase, refused), .sparse = TRUE },
    { NULL },
};

static const IfmRecordField session_fields[] = {
    { IFM_RECORD(INT64, StudySession, started_unix_ms) },
    { IFM_RECORD(INT64, StudySession, spent_ns) },
    { IFM_RECORD(INT64, StudySession, n_measured) },
    { NULL },
};

static const IfmRecordField manifest_fields[] = {
    { IFM_RECORD(INT64, StudyManifest, format_version) },
    { IFM_RECORD(TEXT, StudyManifest, name) },
    { IFM_RECORD(TEXT, StudyManifest, title) },
    { IFM_RECORD(JSON, StudyManifest, definition) },
    { IFM_RECORD(ROWS, StudyManifest, devices), IFM_FIELDS_OF(device_fields, IfmStudyDevice),
      .free = (GDestroyNotify)study_device_free },
    { IFM_RECORD(ROWS, StudyManifest, cases), IFM_FIELDS_OF(case_fields, IfmStudyCase), .free = study_case_record_free },
    { IFM_RECORD(ROWS, StudyManifest, sessions), IFM_FIELDS_OF(session_fields, StudySession), .free = g_free },
    { IFM_RECORD(JSON, StudyManifest, imported) },
    { IFM_RECORD(JSON, StudyManifest, shard), .sparse = TRUE },
    { NULL },
};

void study_device_free(IfmStudyDevice *device)
{
    ifm_record_free(device, device_fields);
}

void study_case_record_clear(IfmStudyCase *row)
{
    ifm_record_clear(row, case_fields);
}

void study_case_record_free(gpointer row)
{
    ifm_record_free(row, case_fields);
}

json_t *ifm_study_device_to_json(const IfmStudyDevice *device)
{
    return ifm_record_to_json(device, device_fields);
}

StudyManifest *study_manifest_new(void)
{
    StudyManifest *manifest = g_new0(StudyManifest, 1);
    ifm_record_init(manifest, manifest_fields);
    manifest->format_version = FORMAT_VERSION;
    return manifest;
}

void study_manifest_free(StudyManifest *manifest)
{
    ifm_record_free(manifest, manifest_fields);
}

json_t *study_manifest_to_json(const StudyManifest *manifest)
{
    return ifm_record_to_json(manifest, manifest_fields);
}

/* Names of axes in the order that tables lead with: of objects a store keeps none. */
static json_t *axis_names(const GPtrArray *span)
{
    json_t *names = json_array(), *value;
    const char *name;
    json_object_foreach(span->len > 0 ? ((const IfmStudyCase *)span->pdata[0])->axes : NULL, name, value)
    {
        json_array_append_new(names, ifm_json_string(name));
    }
    return names;
}

json_t *study_manifest_of(IfmStudy *study, const GPtrArray *sessions, json_t *shard)
{
    json_auto_t *definition = study->kind->definition(study);
    const StudyManifest manifest = {
        FORMAT_VERSION,        study->name, study->title, definition, study->devices, (GPtrArray *)ifm_study_cases(study),
        (GPtrArray *)sessions, NULL,        shard
    };
    if (!g_str_equal(study->kind->name, STUDY_DEFAULT_KIND))
    {
        json_object_set_new(definition, "kind", json_string(study->kind->name));
        json_object_set_new(definition, "axes", axis_names(manifest.cases));
    }
    return study_manifest_to_json(&manifest);
}

/* --- in --------------------------------------------------------------------------------------------------------------- */

/* That its cases are of devices that it has. */
static gboolean check_case(const StudyManifest *manifest, const IfmStudyCase *row, const char *where, GError **error)
{
    g_auto(GStrv) aliases = study_case_aliases(row);
    for (char **alias = aliases; *alias != NULL; alias++)
        if (study_device_find(manifest->devices, *alias) == NULL)
            return ifm_error_refuse(error, "%s.cases[]: of %s, which is not in it", where, *alias);
    return row->axes != NULL || row->to != NULL || row->last >= row->stage ||
           ifm_error_refuse(error, "%s.cases[]: of stages %d to %d", where, row->stage, row->last);
}

static StudyManifest *manifest_from(const json_t *json, const char *where, GError **error)
{
    json_t *model;
    g_autoptr(StudyManifest) manifest = study_manifest_new();
    if (!ifm_record_from_json(manifest, manifest_fields, json, where, NULL, error) ||
        !ifm_json_get_object(manifest->definition, where, "model", &model, error))
        return NULL;
    for (guint i = 0; i < manifest->cases->len; i++)
        if (!check_case(manifest, manifest->cases->pdata[i], where, error))
            return NULL;
    return g_steal_pointer(&manifest);
}

gboolean study_manifest_read(IfmStore *store, StudyManifest **manifest, GError **error)
{
    static const char where[] = "document \"" STUDY_DOCUMENT "\"";
    g_autoptr(GError) trouble = NULL;
    gint64 version = FORMAT_VERSION;
    json_auto_t *found = ifm_store_document(store, STUDY_DOCUMENT, &trouble);
    *manifest = NULL;
    if (trouble != NULL)
        g_propagate_error(error, g_steal_pointer(&trouble));
    else if (found == NULL)
        return TRUE;
    else if (ifm_json_get_int64(found, where, "format_version", &version, &trouble) && version == FORMAT_VERSION)
        *manifest = manifest_from(found, where, &trouble);
    else if (trouble == NULL)
        ifm_error_refuse(error, "%s: %s is of format %" G_GINT64_FORMAT "; this program reads %d", ifm_store_path(store),
                         where, version, FORMAT_VERSION);
    if (trouble != NULL) /* what this program wrote is not so */
        ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: %s", ifm_store_path(store), trouble->message);
    return *manifest != NULL;
}

StudyManifest *study_manifest_required(IfmStore *store, GError **error)
{
    StudyManifest *manifest = NULL;
    if (study_manifest_read(store, &manifest, error) && manifest == NULL)
        ifm_error_refuse(error, "%s: holds no study", ifm_store_path(store));
    return manifest;
}

const char *study_manifest_kind(const StudyManifest *manifest)
{
    const char *kind = ifm_member_text(manifest->definition, "kind");
    return kind != NULL ? kind : STUDY_DEFAULT_KIND;
}

char *ifm_study_store_kind(IfmStore *store, GError **error)
{
    g_autoptr(StudyManifest) manifest = study_manifest_required(store, error);
    return manifest != NULL ? g_strdup(study_manifest_kind(manifest)) : NULL;
}

/* --- whether it is of a study ----------------------------------------------------------------------------------------- */

static gboolean see_one(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    *(gboolean *)user = TRUE;
    return FALSE;
}

gboolean study_check_empty(IfmStore *store, GError **error)
{
    gboolean holds = FALSE;
    if (!ifm_store_each(store, see_one, &holds, error))
        return FALSE;
    return !holds || ifm_error_refuse(error, "%s: holds measurements, but of no study; a study needs a store of its own",
                                      ifm_store_path(store));
}

/* "features 32, not 16; seed 1, not 2": what two objects differ in. (transfer full) */
static char *difference(const json_t *is, const json_t *wanted)
{
    GString *text = g_string_new(NULL);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)wanted, key, value)
    {
        json_t *other = json_object_get(is, key);
        if (json_equal(other, value))
            continue;
        g_autofree char *left = other != NULL ? json_dumps(other, JSON_ENCODE_ANY) : g_strdup("nothing");
        g_autofree char *right = json_dumps(value, JSON_ENCODE_ANY);
        g_string_append_printf(text, "%s%s %s, not %s", text->len > 0 ? "; " : "", key, left, right);
    }
    return g_string_free(text, FALSE);
}

/* A member of the definition. @has: "model has", "graphs have" */
static gboolean check_member(IfmStore *store, const StudyManifest *manifest, const char *member, const char *has,
                             const json_t *wanted, GError **error)
{
    const json_t *is = json_object_get(manifest->definition, member);
    g_autofree char *what = difference(is, wanted);
    return json_equal(is, wanted) || ifm_error_refuse(error, "%s: is the store of a study \"%s\" whose %s %s",
                                                      ifm_store_path(store), manifest->name, has, what);
}

gboolean study_check_identity(IfmStore *store, const StudyManifest *manifest, const char *name, const json_t *model,
                              gboolean imported, GError **error)
{
    const char *path = ifm_store_path(store);
    const gboolean was_imported = manifest->imported != NULL;
    if (!g_str_equal(name, manifest->name))
        return ifm_error_refuse(error, "%s: is the store of study \"%s\", not of \"%s\"", path, manifest->name, name);
    if (was_imported != imported)
        return ifm_error_refuse(error, "%s: holds a study \"%s\" that was %s, and cannot take one that %s", path, name,
                                was_imported ? "imported" : "measured", was_imported ? "is measured" : "is imported");
    return check_member(store, manifest, "model", "model has", model, error);
}

/* The name, the model and the kind of graph make a study the same; sizes, devices and the protocol may change from run to
 * run, since each case has its key: what was measured stays, what is new gets measured. */
gboolean ifm_study_check_store(IfmStudy *study, IfmStore *store, GError **error)
{
    g_autoptr(StudyManifest) manifest = NULL;
    if (!study_manifest_read(store, &manifest, error))
        return FALSE;
    if (manifest == NULL)
        return study_check_empty(store, error);
    const char *kind = study_manifest_kind(manifest);
    json_auto_t *definition = study->kind->definition(study);
    const json_t *graph = json_object_get(definition, "graph");
    if (g_str_equal(manifest->name, study->name) && !g_str_equal(kind, study->kind->name))
        return ifm_error_refuse(error, "%s: is the store of a study \"%s\" of kind %s, not %s", ifm_store_path(store),
                                study->name, kind, study->kind->name);
    return study_check_identity(store, manifest, study->name, json_object_get(definition, "model"), FALSE, error) &&
           (graph == NULL || check_member(store, manifest, "graph", "graphs have", graph, error));
}

/* --- which of its cases it knows -------------------------------------------------------------------------------------- */

char **study_case_aliases(const IfmStudyCase *row)
{
    g_autofree char *all = g_strjoin("+", row->alias, row->to != NULL ? row->to : row->busy, NULL);
    return g_strsplit(all, "+", -1);
}

char *study_case_place(const GPtrArray *devices, const IfmStudyCase *row)
{
    GString *place = g_string_new(NULL);
    g_auto(GStrv) aliases = study_case_aliases(row);
    g_autofree char *axes = row->axes != NULL ? ifm_json_canonical(row->axes) : g_strdup("");
    for (char **alias = aliases; *alias != NULL; alias++)
        g_string_append_printf(place, "%s=%s ", *alias, study_device_find(devices, *alias)->device);
    g_string_append_printf(place, "%d %d-%d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s",
                           row->to != NULL, row->stage, row->last, row->nodes, row->edges, row->bytes, axes);
    return g_string_free(place, FALSE);
}

GHashTable *study_manifest_rows(const StudyManifest *manifest)
{
    GHashTable *rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; manifest != NULL && i < manifest->cases->len; i++)
        g_hash_table_insert(rows, study_case_place(manifest->devices, manifest->cases->pdata[i]),
                            manifest->cases->pdata[i]);
    return rows;
}

const IfmStudyCase *study_manifest_row(GHashTable *rows, const IfmStudy *study, const StudyCase *one)
{
    g_autofree char *place = study_case_place(study->devices, &one->row);
    return g_hash_table_lookup(rows, place);
}

void study_take_flop(StudyCase *one, const IfmStudyCase *row)
{
    if (row != NULL && !(one->row.flop > 0))
        one->row.flop = row->flop;
}

/* Gives cases without a key the one that a manifest has for what they are of, and points what else it has. */
static void keep_keys(const StudyManifest *manifest, IfmStudy *study)
{
    g_autoptr(GHashTable) rows = study_manifest_rows(manifest);
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        const IfmStudyCase *row = study_manifest_row(rows, study, one);
        if (row != NULL && one->row.key == NULL)
            one->row.key = g_strdup(row->key);
        if (row != NULL && one->row.refused == NULL)
            one->row.refused = g_strdup(row->refused);
        study_take_flop(one, row);
    }
}

/* --- a study as its store knows it ------------------------------------------------------------------------------------ */

/* Devices that were put behind an alias for the last run stay there; those of the file alone follow the file. What that run
 * found out of a device, its hardware or why it was left out, is taken. */
static gboolean take_device(IfmStudy *study, const IfmStudyDevice *found, GError **error)
{
    IfmStudyDevice *device = study_device_find(study->devices, found->alias);
    const gboolean keeps = found->asked && (device == NULL || !device->asked);
    if (keeps && (device == NULL || !g_str_equal(device->device, found->device)))
    {
        g_autofree char *text = g_strdup_printf("%s=%s", found->alias, found->device);
        if (!ifm_study_set_device(study, text, error))
            return FALSE;
        device = study_device_find(study->devices, found->alias);
        study_device_set_form(device, found->form);
    }
    if (device == NULL || !g_str_equal(device->device, found->device))
        return TRUE;
    device->asked = device->asked || found->asked;
    g_free(device->description);
    g_free(device->reason);
    device->description = g_strdup(found->description);
    device->reason = g_strdup(found->reason);
    device->peak_flop_per_s = found->peak_flop_per_s;
    device->peak_bytes_per_s = found->peak_bytes_per_s;
    return TRUE;
}

StudyManifest *study_manifest_update(const StudyManifest *manifest, IfmStudy *study, GError **error)
{
    for (guint i = 0; i < manifest->devices->len; i++)
        if (!take_device(study, manifest->devices->pdata[i], error))
            return NULL;
    ifm_study_asked_devices(study, NULL, NULL);
    keep_keys(manifest, study);
    json_auto_t *json = study_manifest_of(study, manifest->sessions, NULL);
    /* what was measured was measured by the protocol of then, which a command line may have given */
    json_t *then = json_object_get(manifest->definition, "protocol");
    if (then != NULL)
        json_object_set(json_object_get(json, "definition"), "protocol", then);
    return manifest_from(json, STUDY_DOCUMENT, error);
}
