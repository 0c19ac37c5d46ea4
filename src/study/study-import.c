#include <errno.h>
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "import.h"

#define ORIGIN "imported"
/* What the published tables are of. */
#define MODEL "graphsage"

static json_t *ns_of(double ms)
{
    return ifm_json_real(ms * 1e6);
}

/* --- records -------------------------------------------------------------------------------------------------------- */

static IfmCase *case_of(const ImportRow *row, const ImportTable *table, const IfmStageSizes *sizes)
{
    const IfmStage *stage = study_stage(table->staged, row->stage);
    g_autofree char *name = g_strdup_printf("%s stage %d %s", table->staged->name, stage->number, stage->name);
    g_autofree char *device = g_strdup_printf(ORIGIN ":%s", row->alias);
    IfmCase *record = ifm_case_new();
    ifm_record_set_text(&record->subject_kind, "stage");
    ifm_record_set_text(&record->subject_name, name);
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, row->alias);
    ifm_record_set_json(&record->sizes,
                        json_pack("{s:I,s:I}", "nodes", (json_int_t)row->nodes, "edges", (json_int_t)row->edges));
    ifm_record_set_json(&record->options, json_pack("{s:I,s:I}", "features", (json_int_t)sizes->features, "hidden",
                                                    (json_int_t)sizes->hidden));
    ifm_record_set_json(&record->surroundings, json_pack("{s:s}", "engine", ORIGIN));
    ifm_case_seal(record);
    return record;
}

static json_t *summary_of(const ImportRow *row)
{
    gboolean has_mean = !isnan(row->mean_ms);
    json_t *summary = json_object();
    json_object_set_new(summary, "mean", ns_of(has_mean ? row->mean_ms : row->total_ms));
    json_object_set_new(summary, "std", ns_of(row->std_ms));
    if (has_mean)
        json_object_set_new(summary, "median", ns_of(row->total_ms));
    if (!isnan(row->min_ms))
        json_object_set_new(summary, "min", ns_of(row->min_ms));
    if (!isnan(row->max_ms))
        json_object_set_new(summary, "max", ns_of(row->max_ms));
    return summary;
}

static const char *code_of(const ImportRow *row)
{
    if (row->code != NULL)
        return ifm_error_code_name((int)ifm_error_code_from_name(row->code));
    return ifm_error_code_name(g_str_equal(row->flag, "device_lost") ? IFM_ERROR_LOST : IFM_ERROR_FAILED);
}

static IfmMeasurement *measurement_of(const ImportRow *row, const IfmCase *record)
{
    g_autofree char *file = g_path_get_basename(row->file);
    IfmMeasurement *measurement = ifm_measurement_new();
    ifm_record_set_text(&measurement->case_key, record->key);
    /* How the table split the latency is kept, and used for nothing: see docs/measuring.md on such splits. */
    ifm_record_set_json(&measurement->surroundings,
                        json_pack("{s:{s:o,s:o,s:o},s:[]}", ORIGIN, "file", ifm_json_string(file), "compute_ns",
                                  ns_of(row->compute_ms), "transfer_ns", ns_of(row->transfer_ms), "warnings"));
    if (row->flag != NULL)
    {
        measurement->outcome = IFM_OUTCOME_FAILED;
        ifm_record_set_text(&measurement->error_code, code_of(row));
        ifm_record_set_text(&measurement->reason, row->flag);
        return measurement;
    }
    ifm_record_set_text(&measurement->stop_reason, ORIGIN);
    ifm_record_set_json(&measurement->summary, summary_of(row));
    return measurement;
}

/* --- the manifest --------------------------------------------------------------------------------------------------- */

/* Adds to an array of objects one that none in it equals. */
static void add_once(json_t *array, json_t *object /* (transfer full) */)
{
    gsize i;
    json_t *one;
    json_array_foreach(array, i, one) if (json_equal(one, object))
    {
        json_decref(object);
        return;
    }
    json_array_append_new(array, object);
}

/* An NPU's rows stand in the checkpoint of phase 2, as they did where they were measured. */
static json_t *device_to_json(const char *alias)
{
    IfmStudyDevice device = { .alias = (char *)alias };
    g_autofree char *spec = g_strdup_printf(ORIGIN ":%s", alias);
    device.device = spec;
    study_device_set_form(&device, g_ascii_strcasecmp(alias, "NPU") == 0 ? IFM_STUDY_STATIC : IFM_STUDY_DYNAMIC);
    return study_device_to_json(&device);
}

static void add_row(json_t *manifest, const ImportRow *row, const IfmCase *record)
{
    json_t *device = device_to_json(row->alias);
    IfmStudyCase one = { .key = record->key,
                         .phase = (int)json_integer_value(json_object_get(device, "phase")),
                         .alias = row->alias,
                         .stage = row->stage,
                         .nodes = row->nodes,
                         .edges = row->edges };
    add_once(json_object_get(manifest, "devices"), device);
    add_once(json_object_get(json_object_get(manifest, "definition"), "sizes"),
             json_pack("{s:I,s:I}", "nodes", (json_int_t)row->nodes, "edges", (json_int_t)row->edges));
    json_array_append_new(json_object_get(manifest, "cases"), study_case_to_json(&one));
}

static json_t *manifest_new(const char *name, const json_t *model)
{
    g_autofree char *title = g_strdup_printf("%s, measured elsewhere", name);
    return json_pack("{s:i,s:o,s:o,s:{s:O,s:[]},s:[],s:[],s:[],s:{s:[],s:{}}}", "format_version", STUDY_FORMAT_VERSION,
                     "name", ifm_json_string(name), "title", ifm_json_string(title), "definition", "model", (json_t *)model,
                     "sizes", "devices", "cases", "sessions", "imported", "files", "bandwidth_mb_per_s");
}

static void note_source(json_t *manifest, const char *const *paths, const ImportTable *table)
{
    json_t *imported = json_object_get(manifest, "imported");
    for (const char *const *path = paths; *path != NULL; path++)
    {
        g_autofree char *file = g_path_get_basename(*path);
        add_once(json_object_get(imported, "files"), ifm_json_string(file));
    }
    json_object_update(json_object_get(imported, "bandwidth_mb_per_s"), table->bandwidth);
}

/* --- into the store ------------------------------------------------------------------------------------------------- */

typedef struct
{
    const ImportTable *table;
    const IfmStageSizes *sizes;
    IfmStore *store;   /* where it shall go */
    IfmStore *from;    /* what is prepared: merged in one transaction */
    GHashTable *known; /* keys that the manifest has */
    json_t *manifest;
} Import;

/* One that the store has with the same figures is no news. */
static gboolean is_news(const Import *import, const IfmCase *record, const IfmMeasurement *measurement, gboolean *news,
                        GError **error)
{
    GError *trouble = NULL;
    g_autoptr(IfmMeasurement) last = ifm_store_last(import->store, record->key, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    *news = last == NULL || last->outcome != measurement->outcome || !g_str_equal(last->reason, measurement->reason) ||
            (measurement->summary != NULL && !json_equal(last->summary, measurement->summary));
    return TRUE;
}

static gboolean take_row(Import *import, const ImportRow *row, GError **error)
{
    g_autoptr(IfmCase) record = case_of(row, import->table, import->sizes);
    g_autoptr(IfmMeasurement) measurement = measurement_of(row, record);
    gboolean news;
    if (!is_news(import, record, measurement, &news, error))
        return FALSE;
    if (!g_hash_table_contains(import->known, record->key))
        add_row(import->manifest, row, record);
    return !news || ifm_store_commit(import->from, record, measurement, error);
}

static gboolean fill(Import *import, GError **error)
{
    gsize i;
    json_t *one;
    json_array_foreach(json_object_get(import->manifest, "cases"), i, one)
        g_hash_table_add(import->known, (gpointer)json_string_value(json_object_get(one, "key")));
    for (guint k = 0; k < import->table->rows->len; k++)
        if (!take_row(import, import->table->rows->pdata[k], error))
            return FALSE;
    return ifm_store_set_document(import->from, STUDY_DOCUMENT, import->manifest, error);
}

/* A store of its own first, then merged: all of it in one transaction, or nothing. */
static gboolean fill_and_merge(Import *import, const char *path, gboolean is_first, GError **error)
{
    import->from = ifm_store_open(path, IFM_STORE_SCRATCH, error);
    gboolean good =
        import->from != NULL && fill(import, error) && ifm_store_merge(import->store, import->from, NULL, error);
    g_clear_pointer(&import->from, ifm_store_close);
    /* merging leaves a document that is there as it is */
    return good && (is_first || ifm_store_set_document(import->store, STUDY_DOCUMENT, import->manifest, error));
}

static gboolean store_table(Import *import, gboolean is_first, GError **error)
{
    g_autofree char *folder = g_build_filename(g_get_tmp_dir(), "inferometer-import-XXXXXX", NULL);
    if (g_mkdtemp_full(folder, 0700) == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: cannot be made: %s", folder, g_strerror(errno));
        return FALSE;
    }
    g_autofree char *path = g_build_filename(folder, "store.db", NULL);
    gboolean good = fill_and_merge(import, path, is_first, error);
    g_rmdir(folder);
    return good;
}

static gboolean read_files(ImportTable *table, const char *const *paths, GError **error)
{
    for (const char *const *path = paths; *path != NULL; path++)
        if (!import_file(table, *path, error))
            return FALSE;
    if (table->rows->len > 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no row of a latency in it",
                paths[0] != NULL ? paths[0] : "import");
    return FALSE;
}

gboolean ifm_study_import(const char *const *paths, const char *name, const IfmStageSizes *sizes, IfmStore *store,
                          gsize *n_rows, GError **error)
{
    const IfmStagedModel *staged = ifm_staged_find(MODEL, error);
    json_auto_t *model = study_model_to_json(MODEL, sizes->features, sizes->hidden, 0);
    json_auto_t *manifest = NULL;
    if (staged == NULL)
        return FALSE;
    g_autoptr(ImportTable) table = import_table_new(staged);
    if (!study_is_name(name))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "\"%s\" is no name of a study: letters, digits, - and _", name);
        return FALSE;
    }
    if (!read_files(table, paths, error) || !study_manifest_read(store, &manifest, error) ||
        !(manifest != NULL ? study_check_identity(store, manifest, name, model, TRUE, error)
                           : study_check_empty(store, error)))
        return FALSE;
    gboolean is_first = manifest == NULL;
    if (is_first)
        manifest = manifest_new(name, model);
    note_source(manifest, paths, table);
    Import import = { .table = table, .sizes = sizes, .store = store, .manifest = manifest };
    import.known = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean good = store_table(&import, is_first, error);
    g_hash_table_unref(import.known);
    if (good && n_rows != NULL)
        *n_rows = table->rows->len;
    return good;
}
