#include <errno.h>
#include <math.h>
#include <store/store.h>
#include <string.h>
#include <zoo/zoo.h>

#include <glib/gstdio.h>

#include "import.h"
#include "study-kind.h"

#define ORIGIN "imported"
/* What the published tables are of. */
#define MODEL "graphsage"

static double ns_in(double ms)
{
    return ms * 1e6;
}

static json_t *ns_of(double ms)
{
    return ifm_json_real(ms * 1e6);
}

/* --- records -------------------------------------------------------------------------------------------------------- */

static IfmCase *point_case_of(const ImportRow *row)
{
    g_autofree char *device = g_strdup_printf(ORIGIN ":%s", row->alias), *title = study_point_title(NULL, row->axes);
    json_t *environment = json_object();
    json_object_set_new(environment, "engine", json_string(ORIGIN));
    IfmCase *record = ifm_case_new();
    ifm_record_set_text(&record->subject_kind, "model");
    ifm_record_set_text(&record->subject_name, title);
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, row->alias);
    ifm_record_set_json(&record->options, json_incref(row->axes));
    ifm_record_set_json(&record->environment, environment);
    ifm_case_seal(record);
    return record;
}

static json_t *texts_to_json(char *const *texts)
{
    json_t *array = json_array();
    for (; *texts != NULL; texts++)
        json_array_append_new(array, ifm_json_string(*texts));
    return array;
}

static IfmCase *case_of(const ImportRow *row, const ImportTable *table, const IfmStageSizes *sizes)
{
    if (row->axes != NULL)
        return point_case_of(row);
    const IfmStage *stage = study_stage(table->staged, row->stage);
    g_autofree char *name = row->last > row->stage
                                ? g_strdup_printf("%s stages %d-%d", table->staged->name, row->stage, row->last)
                                : g_strdup_printf("%s stage %d %s", table->staged->name, stage->number, stage->name);
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
    if (row->busy != NULL)
        json_object_set_new(record->options, "busy", texts_to_json(row->busy));
    ifm_record_set_json(&record->environment, json_pack("{s:s}", "engine", ORIGIN));
    ifm_case_seal(record);
    return record;
}

static void set_summary(IfmMeasurement *measurement, const ImportRow *row)
{
    gboolean has_mean = !isnan(row->mean_ms);
    IfmSummary summary = measurement->summary; /* nothing is known */
    summary.mean = ns_in(has_mean || row->axes != NULL ? row->mean_ms : row->total_ms);
    summary.std = ns_in(row->std_ms);
    if (has_mean || row->axes != NULL) /* what a table of points has is a median; another may have means alone */
        summary.median = ns_in(row->total_ms);
    summary.min = ns_in(row->min_ms);
    summary.max = ns_in(row->max_ms);
    if (!isnan(row->lower_ms))
        summary.median_interval = (IfmInterval){ ns_in(row->lower_ms), ns_in(row->upper_ms), row->level };
    ifm_measurement_set_summary(measurement, &summary);
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
    ifm_record_set_json(&measurement->environment,
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
    set_summary(measurement, row);
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
static json_t *device_to_json(const char *alias, gboolean simulated)
{
    IfmStudyDevice device = { .alias = (char *)alias, .simulated = simulated };
    g_autofree char *spec = g_strdup_printf(ORIGIN ":%s", alias);
    device.device = spec;
    study_device_set_form(&device, g_ascii_strcasecmp(alias, "NPU") == 0 ? IFM_STUDY_STATIC : IFM_STUDY_DYNAMIC);
    return study_device_to_json(&device);
}

static const json_t *device_of(json_t *manifest, const char *alias, const ImportTable *table)
{
    gsize i;
    json_t *device, *devices = json_object_get(manifest, "devices");
    json_array_foreach(devices, i, device) if (g_strcmp0(json_string_value(json_object_get(device, "alias")), alias) ==
                                               0) return device;
    json_array_append_new(devices, device_to_json(alias, g_hash_table_contains(table->simulated, alias)));
    return json_array_get(devices, json_array_size(devices) - 1);
}

static void add_row(json_t *manifest, const ImportTable *table, const ImportRow *row, const IfmCase *record)
{
    const json_t *device = device_of(manifest, row->alias, table);
    if (row->axes != NULL)
    {
        g_autofree char *title = study_point_title(row->alias, row->axes);
        const StudyCase point = { .row = { .key = record->key,
                                           .phase = (int)json_integer_value(json_object_get(device, "phase")),
                                           .alias = row->alias,
                                           .title = title },
                                  .axes = row->axes,
                                  .items = row->items,
                                  .flop = row->flop };
        json_array_append_new(json_object_get(manifest, "cases"), study_point_to_json(&point));
        return;
    }
    for (gsize i = 0; row->busy != NULL && row->busy[i] != NULL; i++)
        device_of(manifest, row->busy[i], table);
    IfmStudyCase one = { .key = record->key,
                         .phase = (int)json_integer_value(json_object_get(device, "phase")),
                         .alias = row->alias,
                         .stage = row->stage,
                         .last = row->last,
                         .busy = row->busy,
                         .nodes = row->nodes,
                         .edges = row->edges };
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
    ImportTable *table;
    const IfmStageSizes *sizes;
    IfmStore *store;   /* where it shall go */
    IfmStore *from;    /* what is prepared: merged in one transaction */
    GHashTable *known; /* keys that the manifest has */
    json_t *manifest;
} Import;

static double total_ms_of(const IfmMeasurement *measurement)
{
    const IfmSummary *summary = &measurement->summary;
    if (measurement->outcome != IFM_OUTCOME_OK)
        return NAN;
    return (isnan(summary->median) ? summary->mean : summary->median) / 1e6;
}

static gboolean same_summary(const IfmMeasurement *a, const IfmMeasurement *b)
{
    json_auto_t *first = ifm_summary_to_json(&a->summary), *second = ifm_summary_to_json(&b->summary);
    return a->has_summary == b->has_summary && json_equal(first, second);
}

/* One that the store has with the same figures is no news; with others, it replaces them only where that was asked for. */
static gboolean is_news(const Import *import, const ImportRow *row, const IfmCase *record, IfmMeasurement *measurement,
                        gboolean *news, GError **error)
{
    GError *trouble = NULL;
    g_autoptr(IfmMeasurement) last = ifm_store_newest(import->store, record->key, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    *news = last == NULL || last->outcome != measurement->outcome || !g_str_equal(last->reason, measurement->reason) ||
            (measurement->has_summary && !same_summary(last, measurement));
    if (last != NULL) /* the newest counts, whatever became of the clock in between */
        measurement->started_unix_ms = MAX(measurement->started_unix_ms, last->started_unix_ms + 1);
    if (last == NULL || import->table->replace)
        return TRUE;
    *news = FALSE;
    if (!import_is_same(total_ms_of(measurement), total_ms_of(last)))
        import_differ(import->table, row->place, total_ms_of(measurement), ifm_store_path(import->store),
                      total_ms_of(last));
    return TRUE;
}

static gboolean take_row(const Import *import, const ImportRow *row, GError **error)
{
    g_autoptr(IfmCase) record = case_of(row, import->table, import->sizes);
    g_autoptr(IfmMeasurement) measurement = measurement_of(row, record);
    gboolean news;
    if (!is_news(import, row, record, measurement, &news, error))
        return FALSE;
    if (!g_hash_table_contains(import->known, record->key))
        add_row(import->manifest, import->table, row, record);
    import->table->n_taken += news;
    return !news || ifm_store_commit(import->from, record, measurement, error);
}

static gboolean check_differences(const ImportTable *table, GError **error)
{
    if (table->n_differ == 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "%zu %s from what is there already: %s; nothing is imported (to take the later ones: --replace)",
                table->n_differ, table->n_differ == 1 ? "row differs" : "rows differ", table->first);
    return FALSE;
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
    if (!check_differences(import->table, error))
        return FALSE;
    return ifm_store_set_document(import->from, STUDY_DOCUMENT, import->manifest, error);
}

/* A store of its own first, then merged: all of it in one transaction, or nothing. */
static gboolean fill_and_merge(Import *import, const char *path, GError **error)
{
    import->from = ifm_store_open(path, IFM_STORE_SCRATCH, error);
    gboolean good =
        import->from != NULL && fill(import, error) && ifm_store_merge_over(import->store, import->from, NULL, error);
    g_clear_pointer(&import->from, ifm_store_close);
    return good;
}

static gboolean store_table(Import *import, GError **error)
{
    IfmTemporary folder = { 0 };
    if (!ifm_temporary_make(&folder, error))
        return FALSE;
    g_autofree char *path = g_build_filename(folder.path, "store.db", NULL);
    gboolean good = fill_and_merge(import, path, error);
    ifm_temporary_clear(&folder);
    return good;
}

/* Points and stages are studies of different kinds; a study of points has the same axes throughout. */
static gboolean check_axes(const ImportTable *table, const json_t *manifest, GError **error)
{
    const json_t *before = json_object_get(json_object_get(manifest, "definition"), "axes");
    for (guint i = 0; i < table->rows->len && table->axes != NULL; i++)
        if (((const ImportRow *)table->rows->pdata[i])->axes == NULL)
            return ifm_error_refuse(error, "%s: rows of stages, and the other files have points: import them apart",
                                    ((const ImportRow *)table->rows->pdata[i])->place);
    if (manifest == NULL || (before == NULL && table->axes == NULL) || json_equal(before, table->axes))
        return TRUE;
    json_auto_t *none = json_array();
    g_autofree char *is = ifm_json_canonical(table->axes != NULL ? table->axes : none),
                    *was = ifm_json_canonical(before != NULL ? before : none);
    return ifm_error_refuse(error, "the study that is there has the axes %s, the files have %s", was, is);
}

/* @has_rows: whether the store has latencies */
static gboolean read_files(ImportTable *table, const char *const *paths, gboolean has_rows, GError **error)
{
    for (const char *const *path = paths; *path != NULL; path++)
        if (!import_file(table, *path, error))
            return FALSE;
    if (table->rows->len > 0 || (has_rows && json_object_size(table->bandwidth) > 0))
        return TRUE;
    if (json_object_size(table->bandwidth) > 0)
    {
        g_set_error(
            error, IFM_ERROR, IFM_ERROR_INVALID,
            "%s: has bandwidths alone, which belong to latencies: name lookup_table.json, raw_measurements.json or a "
            "CSV of latencies with it, or a study that has them",
            paths[0]);
        return FALSE;
    }
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no row of a latency in it",
                paths[0] != NULL ? paths[0] : "import");
    return FALSE;
}

static gboolean check_name(const char *name, GError **error)
{
    g_auto(GStrv) shipped = ifm_study_names();
    if (!study_is_name(name))
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "\"%s\" is no name of a study: letters, digits, - and _", name);
    else if (g_strv_contains((const char *const *)shipped, name))
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "\"%s\" is a shipped study's name, whose own results go there; give the import another", name);
    else
        return TRUE;
    return FALSE;
}

/* @wanted: by the caller    @reported: by the files    @before: by the store; 0: by none */
static gboolean choose_size(const char *what, gint64 wanted, gint64 reported, gint64 before, gint64 fallback, gint64 *size,
                            GError **error)
{
    *size = wanted > 0 ? wanted : reported > 0 ? reported : before > 0 ? before : fallback;
    if (wanted <= 0 || reported <= 0 || wanted == reported)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "%s: found %" G_GINT64_FORMAT " in the files, and %" G_GINT64_FORMAT " was asked for", what, reported,
                wanted);
    return FALSE;
}

static gboolean choose_sizes(const ImportTable *table, const json_t *manifest, const IfmStageSizes *wanted,
                             IfmStageSizes *sizes, GError **error)
{
    const json_t *model = json_object_get(json_object_get(manifest, "definition"), "model");
    *sizes = (IfmStageSizes){ 0 };
    return choose_size("features", wanted->features, table->features,
                       json_integer_value(json_object_get(model, "features")), 500, &sizes->features, error) &&
           choose_size("hidden", wanted->hidden, table->hidden, json_integer_value(json_object_get(model, "hidden")), 500,
                       &sizes->hidden, error);
}

/* What one source says is simulated is so marked, whatever the others leave unsaid. */
static void mark_simulated(json_t *manifest, const ImportTable *table)
{
    gsize i;
    json_t *device;
    json_array_foreach(json_object_get(manifest, "devices"), i, device)
    {
        const char *alias = json_string_value(json_object_get(device, "alias"));
        if (alias != NULL && g_hash_table_contains(table->simulated, alias))
            json_object_set_new(device, "simulated", json_true());
    }
}

/* kind_of_axes: The kind whose points have these axes. */
static const char *kind_of_axes(const json_t *axes)
{
    gboolean has_algorithm = FALSE, has_size = FALSE;
    gsize i;
    json_t *axis;
    json_array_foreach(axes, i, axis)
    {
        has_algorithm |= g_str_equal(json_string_value(axis), "algorithm");
        has_size |= g_str_equal(json_string_value(axis), "input_size");
    }
    return has_algorithm && has_size ? study_kind_conv.name : study_kind_profile.name;
}

static gboolean import_into(ImportTable *table, const char *const *paths, const char *name, const IfmStageSizes *wanted,
                            IfmStore *store, GError **error)
{
    IfmStageSizes sizes;
    json_auto_t *manifest = NULL;
    if (!study_manifest_read(store, &manifest, error) || !read_files(table, paths, manifest != NULL, error) ||
        !check_axes(table, manifest, error) || !choose_sizes(table, manifest, wanted, &sizes, error))
        return FALSE;
    json_auto_t *model = table->axes != NULL ? json_object() : study_model_to_json(MODEL, sizes.features, sizes.hidden, 0);
    if (!(manifest != NULL ? study_check_identity(store, manifest, name, model, TRUE, error)
                           : study_check_empty(store, error)))
        return FALSE;
    gboolean is_first = manifest == NULL;
    if (is_first)
        manifest = manifest_new(name, model);
    if (is_first && table->axes != NULL)
    {
        json_t *definition = json_object_get(manifest, "definition");
        json_object_set_new(definition, "kind", json_string(kind_of_axes(table->axes)));
        json_object_set(definition, "axes", table->axes);
    }
    note_source(manifest, paths, table);
    mark_simulated(manifest, table);
    Import import = { .table = table, .sizes = &sizes, .store = store, .manifest = manifest };
    import.known = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean good = store_table(&import, error);
    g_hash_table_unref(import.known);
    return good;
}

gboolean ifm_study_import(const char *const *paths, const char *name, const IfmStageSizes *sizes, gboolean replace,
                          IfmStore *store, IfmStudyImported *counts, GError **error)
{
    const IfmStagedModel *staged = ifm_staged_find(MODEL, error);
    if (staged == NULL || !check_name(name, error))
        return FALSE;
    g_autoptr(ImportTable) table = import_table_new(staged);
    table->replace = replace;
    if (!import_into(table, paths, name, sizes, store, error))
        return FALSE;
    if (counts != NULL)
        *counts = (IfmStudyImported){ .n_read = table->n_read,
                                      .n_imported = table->n_taken,
                                      .n_there = table->rows->len - table->n_taken,
                                      .n_repeated = table->n_read - table->n_left_out - table->rows->len,
                                      .n_left_out = table->n_left_out };
    return TRUE;
}
