#include <errno.h>
#include <math.h>
#include <staged/staged.h>
#include <store/store.h>
#include <string.h>

#include <glib/gstdio.h>

#include "import.h"
#include "study-kind.h"

/* Published tables of latencies are imported as a finished study: each row becomes a case and a measurement in a store. */

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

/* (transfer full) */
static char *device_name_of(const char *alias)
{
    return g_strdup_printf(ORIGIN ":%s", alias);
}

static json_t *options_of(const IfmStudyCase *of, const IfmStageSizes *sizes)
{
    if (of->axes != NULL)
        return json_incref(of->axes);
    json_t *busy = of->busy != NULL ? json_array() : NULL;
    g_auto(GStrv) others = g_strsplit(of->busy != NULL ? of->busy : "", "+", -1);
    for (char **other = others; *other != NULL; other++)
        json_array_append_new(busy, ifm_json_string(*other));
    return json_pack("{s:I,s:I,s:o*}", "features", (json_int_t)sizes->features, "hidden", (json_int_t)sizes->hidden, "busy",
                     busy);
}

static IfmCase *case_of(const IfmStudyCase *of, const ImportTable *table, const IfmStageSizes *sizes)
{
    g_autofree char *name = of->axes != NULL ? study_point_title(NULL, of->axes)
                                             : study_stages_title(MODEL, table->staged, of->stage, of->last),
                    *device = device_name_of(of->alias);
    IfmCase *record = ifm_case_new();
    ifm_record_set_text(&record->subject_kind, of->axes != NULL ? "model" : "stage");
    ifm_record_set_text(&record->subject_name, name);
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, of->alias);
    if (of->axes == NULL)
        ifm_record_set_json(&record->sizes,
                            json_pack("{s:I,s:I}", "nodes", (json_int_t)of->nodes, "edges", (json_int_t)of->edges));
    ifm_record_set_json(&record->options, options_of(of, sizes));
    ifm_record_set_json(&record->environment, json_pack("{s:s}", "engine", ORIGIN));
    ifm_case_seal(record);
    return record;
}

static void set_summary(IfmMeasurement *measurement, const ImportRow *row)
{
    gboolean has_mean = !isnan(row->mean_ms);
    IfmSummary summary = measurement->summary; /* nothing is known */
    summary.mean = ns_in(has_mean || row->of.axes != NULL ? row->mean_ms : row->total_ms);
    summary.std = ns_in(row->std_ms);
    if (has_mean || row->of.axes != NULL) /* what a table of points has is a median; another may have means alone */
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

/* The device of an alias, which the manifest has from then on. An NPU's rows stand in the checkpoint of phase 2, as they
 * did where they were measured. */
static IfmStudyDevice *device_of(const StudyManifest *manifest, const char *alias)
{
    IfmStudyDevice *device = study_device_find(manifest->devices, alias);
    if (device != NULL)
        return device;
    device = g_new0(IfmStudyDevice, 1);
    device->alias = g_strdup(alias);
    device->device = device_name_of(alias);
    study_device_set_form(device, g_ascii_strcasecmp(alias, "NPU") == 0 ? IFM_STUDY_STATIC : IFM_STUDY_DYNAMIC);
    g_ptr_array_add(manifest->devices, device);
    return device;
}

/* Takes what a row is of. */
static void add_case(StudyManifest *manifest, IfmStudyCase *of, const IfmCase *record)
{
    IfmStudyCase *one = g_new0(IfmStudyCase, 1);
    g_auto(GStrv) aliases = study_case_aliases(of);
    for (char **alias = aliases; *alias != NULL; alias++)
        device_of(manifest, *alias);
    if (of->axes == NULL)
        add_once(json_object_get(manifest->definition, "sizes"),
                 json_pack("{s:I,s:I}", "nodes", (json_int_t)of->nodes, "edges", (json_int_t)of->edges));
    *one = *of;
    *of = (IfmStudyCase){ 0 };
    one->key = g_strdup(record->key);
    one->phase = device_of(manifest, one->alias)->phase;
    one->title = one->axes != NULL ? study_point_title(one->alias, one->axes) : NULL;
    g_ptr_array_add(manifest->cases, one);
}

/* The kind whose points have these axes. */
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

/* @axes: of points; NULL: of stages, and of @model. (transfer full) */
static StudyManifest *manifest_new(const char *name, json_t *model, json_t *axes)
{
    StudyManifest *manifest = study_manifest_new();
    g_autofree char *title = g_strdup_printf("%s, measured elsewhere", name);
    ifm_record_set_text(&manifest->name, name);
    ifm_record_set_text(&manifest->title, title);
    manifest->definition = json_pack("{s:O,s:[]}", "model", model, "sizes");
    manifest->imported = json_pack("{s:[],s:{}}", "files", "bandwidth_mb_per_s");
    if (axes != NULL)
    {
        json_object_set_new(manifest->definition, "kind", json_string(kind_of_axes(axes)));
        json_object_set(manifest->definition, "axes", axes);
    }
    return manifest;
}

static void note_source(const StudyManifest *manifest, const char *const *paths, const ImportTable *table)
{
    for (const char *const *path = paths; *path != NULL; path++)
    {
        g_autofree char *file = g_path_get_basename(*path);
        add_once(json_object_get(manifest->imported, "files"), ifm_json_string(file));
    }
    json_object_update(json_object_get(manifest->imported, "bandwidth_mb_per_s"), table->bandwidth);
}

/* --- into the store ------------------------------------------------------------------------------------------------- */

typedef struct
{
    ImportTable *table;
    const IfmStageSizes *sizes;
    IfmStore *store;   /* where it shall go */
    IfmStore *from;    /* what is prepared: merged in one transaction */
    GHashTable *known; /* keys that the manifest has */
    StudyManifest *manifest;
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
    g_autoptr(IfmMeasurement) last = NULL;
    if (!ifm_store_find(import->store, record->key, TRUE, &last, error))
        return FALSE;
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

static gboolean take_row(const Import *import, ImportRow *row, GError **error)
{
    g_autoptr(IfmCase) record = case_of(&row->of, import->table, import->sizes);
    g_autoptr(IfmMeasurement) measurement = measurement_of(row, record);
    gboolean news;
    if (!is_news(import, row, record, measurement, &news, error))
        return FALSE;
    if (!g_hash_table_contains(import->known, record->key))
        add_case(import->manifest, &row->of, record);
    import->table->n_taken += news;
    return !news || ifm_store_commit(import->from, record, measurement, error);
}

static gboolean check_differences(const ImportTable *table, GError **error)
{
    if (table->n_differ == 0)
        return TRUE;
    return ifm_error_refuse(
        error, "%zu %s from what is there already: %s; nothing is imported (to take the later ones: --replace)",
        table->n_differ, table->n_differ == 1 ? "row differs" : "rows differ", table->first);
}

static gboolean fill(Import *import, GError **error)
{
    const GPtrArray *cases = import->manifest->cases;
    for (guint i = 0; i < cases->len; i++)
        g_hash_table_add(import->known, ((const IfmStudyCase *)cases->pdata[i])->key);
    for (guint i = 0; i < import->table->rows->len; i++)
        if (!take_row(import, import->table->rows->pdata[i], error))
            return FALSE;
    for (guint i = 0; i < import->manifest->devices->len; i++) /* what one source says, whatever the others leave unsaid */
    {
        IfmStudyDevice *device = import->manifest->devices->pdata[i];
        device->simulated |= g_hash_table_contains(import->table->simulated, device->alias);
    }
    json_auto_t *json = study_manifest_to_json(import->manifest);
    return check_differences(import->table, error) && ifm_store_set_document(import->from, STUDY_DOCUMENT, json, error);
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
static gboolean check_axes(const ImportTable *table, const StudyManifest *manifest, GError **error)
{
    const json_t *before = manifest != NULL ? json_object_get(manifest->definition, "axes") : NULL;
    for (guint i = 0; i < table->rows->len && table->axes != NULL; i++)
        if (((const ImportRow *)table->rows->pdata[i])->of.axes == NULL)
            return ifm_error_refuse(error, "%s: rows of stages, and the other files have points: import them apart",
                                    ((const ImportRow *)table->rows->pdata[i])->place);
    if (manifest == NULL || (before == NULL && table->axes == NULL) || json_equal(before, table->axes))
        return TRUE;
    g_autofree char *is = table->axes != NULL ? ifm_json_canonical(table->axes) : g_strdup("[]"),
                    *was = before != NULL ? ifm_json_canonical(before) : g_strdup("[]");
    return ifm_error_refuse(error, "the study that is there has the axes %s, the files have %s", was, is);
}

/* @has_rows: whether the store has latencies */
static gboolean read_files(ImportTable *table, const char *const *paths, gboolean has_rows, GError **error)
{
    for (const char *const *path = paths; *path != NULL; path++)
    {
        if (!g_str_has_suffix(*path, ".csv") && !g_str_has_suffix(*path, ".json"))
            return ifm_error_refuse(error, "%s: expected a file that ends in .json or .csv", *path);
        if (!(g_str_has_suffix(*path, ".csv") ? import_csv : import_json)(table, *path, error))
            return FALSE;
    }
    if (table->rows->len > 0 || (has_rows && json_object_size(table->bandwidth) > 0))
        return TRUE;
    if (json_object_size(table->bandwidth) > 0)
        return ifm_error_refuse(
            error,
            "%s: has bandwidths alone, which belong to latencies: name lookup_table.json, raw_measurements.json or a "
            "CSV of latencies with it, or a study that has them",
            paths[0]);
    return ifm_error_refuse(error, "%s: no row of a latency in it", paths[0] != NULL ? paths[0] : "import");
}

static gboolean check_name(const char *name, GError **error)
{
    g_auto(GStrv) shipped = ifm_study_names();
    if (!study_is_name(name))
        return ifm_error_refuse(error, "\"%s\" is no name of a study: letters, digits, - and _", name);
    return !g_strv_contains((const char *const *)shipped, name) ||
           ifm_error_refuse(error, "\"%s\" is a shipped study's name, whose own results go there; give the import another",
                            name);
}

/* @wanted: by the caller    @reported: by the files    @before: by the store; 0: by none */
static gboolean choose_size(const char *what, gint64 wanted, gint64 reported, gint64 before, gint64 fallback, gint64 *size,
                            GError **error)
{
    *size = wanted > 0 ? wanted : reported > 0 ? reported : before > 0 ? before : fallback;
    return wanted <= 0 || reported <= 0 || wanted == reported ||
           ifm_error_refuse(error, "%s: found %" G_GINT64_FORMAT " in the files, and %" G_GINT64_FORMAT " was asked for",
                            what, reported, wanted);
}

static gboolean choose_sizes(const ImportTable *table, const StudyManifest *manifest, const IfmStageSizes *wanted,
                             IfmStageSizes *sizes, GError **error)
{
    const json_t *model = manifest != NULL ? json_object_get(manifest->definition, "model") : NULL;
    *sizes = (IfmStageSizes){ 0 };
    return choose_size("features", wanted->features, table->features,
                       json_integer_value(json_object_get(model, "features")), 500, &sizes->features, error) &&
           choose_size("hidden", wanted->hidden, table->hidden, json_integer_value(json_object_get(model, "hidden")), 500,
                       &sizes->hidden, error);
}

static gboolean import_into(ImportTable *table, const char *const *paths, const char *name, const IfmStageSizes *wanted,
                            IfmStore *store, GError **error)
{
    IfmStageSizes sizes;
    g_autoptr(StudyManifest) manifest = NULL;
    if (!study_manifest_read(store, &manifest, error) || !read_files(table, paths, manifest != NULL, error) ||
        !check_axes(table, manifest, error) || !choose_sizes(table, manifest, wanted, &sizes, error))
        return FALSE;
    json_auto_t *model = table->axes != NULL ? json_object() : study_model_to_json(MODEL, sizes.features, sizes.hidden, 0);
    if (!(manifest != NULL ? study_check_identity(store, manifest, name, model, TRUE, error)
                           : study_check_empty(store, error)))
        return FALSE;
    if (manifest == NULL)
        manifest = manifest_new(name, model, table->axes);
    note_source(manifest, paths, table);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    Import import = { .table = table, .sizes = &sizes, .store = store, .known = known, .manifest = manifest };
    return store_table(&import, error);
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
