#include <base/fields.h>
#include <measure/measure.h>
#include <store/store.h>
#include <string.h>

#include "study-stages.h"

/* --- out ------------------------------------------------------------------------------------------------------------ */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? ifm_json_string(text) : json_null();
}

static json_t *stages_to_json(guint32 mask)
{
    json_t *json = json_array();
    for (int stage = 1; stage <= 32; stage++)
        if ((mask & study_range_mask(stage, stage)) != 0)
            json_array_append_new(json, json_integer(stage));
    return json;
}

json_t *study_device_to_json(const IfmStudyDevice *device)
{
    json_t *json = json_pack("{s:o,s:o,s:s,s:i,s:b,s:b,s:o,s:o}", "alias", ifm_json_string(device->alias), "device",
                             ifm_json_string(device->device), "form", ifm_study_form_name(device->form), "phase",
                             device->phase, "simulated", device->simulated, "asked", device->asked, "description",
                             text_or_null(device->description), "skipped", text_or_null(device->reason));
    if (device->not_stages != 0)
        json_object_set_new(json, "not_stages", stages_to_json(device->not_stages));
    if (device->peak_flop_per_s > 0)
        json_object_set_new(json, "peak_flop_per_s", ifm_json_real(device->peak_flop_per_s));
    if (device->peak_bytes_per_s > 0)
        json_object_set_new(json, "peak_bytes_per_s", ifm_json_real(device->peak_bytes_per_s));
    return json;
}

static json_t *aliases_to_json(char *const *aliases)
{
    json_t *json = json_array();
    for (; *aliases != NULL; aliases++)
        json_array_append_new(json, ifm_json_string(*aliases));
    return json;
}

json_t *study_case_to_json(const IfmStudyCase *row)
{
    json_t *json =
        json_pack("{s:o,s:o,s:o,s:i,s:i,s:I,s:I,s:I}", "key", text_or_null(row->key), "alias", ifm_json_string(row->alias),
                  "to", text_or_null(row->to), "phase", row->phase, "stage", row->stage, "nodes", (json_int_t)row->nodes,
                  "edges", (json_int_t)row->edges, "bytes", (json_int_t)row->bytes);
    if (row->last > row->stage)
        json_object_set_new(json, "last", json_integer(row->last));
    if (row->busy != NULL)
        json_object_set_new(json, "busy", aliases_to_json(row->busy));
    return json;
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

json_t *study_point_to_json(const StudyCase *one)
{
    const IfmStudyCase *row = &one->row;
    json_t *json = json_pack("{s:o,s:o,s:i,s:o,s:O,s:o,s:o}", "key", text_or_null(row->key), "alias",
                             ifm_json_string(row->alias), "phase", row->phase, "title", ifm_json_string(row->title), "axes",
                             one->axes, "items", one->items > 0 ? ifm_json_real(one->items) : json_null(), "flop",
                             one->flop > 0 ? ifm_json_real(one->flop) : json_null());
    if (one->refused != NULL)
        json_object_set_new(json, "refused", ifm_json_string(one->refused));
    return json;
}

/* Names of axes in the order that tables lead with: of objects a store keeps none. */
static json_t *axis_names(const GPtrArray *span)
{
    json_t *names = json_array(), *value;
    const char *name;
    json_object_foreach(span->len > 0 ? ((const StudyCase *)span->pdata[0])->axes : NULL, name, value)
    {
        json_array_append_new(names, ifm_json_string(name));
    }
    return names;
}

json_t *study_model_to_json(const char *name, gint64 features, gint64 hidden, gint64 seed)
{
    return json_pack("{s:s,s:I,s:I,s:I}", "name", name, "features", (json_int_t)features, "hidden", (json_int_t)hidden,
                     "seed", (json_int_t)seed);
}

static json_t *size_to_json(const StudySize *size)
{
    json_t *json = json_pack("{s:I,s:I,s:o}", "nodes", (json_int_t)size->size.nodes, "edges", (json_int_t)size->size.edges,
                             "graph", ifm_json_string(size->size.graph));
    if (size->digest != NULL)
        json_object_set_new(json, "digest", json_string(size->digest));
    if (size->pad_nodes > 0)
        json_object_set_new(
            json, "padded",
            json_pack("{s:I,s:I}", "nodes", (json_int_t)size->pad_nodes, "edges", (json_int_t)size->pad_edges));
    return json;
}

/* What a study need not have. */
static void add_ranges(const IfmStudy *study, json_t *definition)
{
    json_t *ranges = json_array();
    for (guint i = 0; i < study->ranges->len; i++)
    {
        const StudyRange *range = &g_array_index(study->ranges, StudyRange, i);
        json_array_append_new(ranges, json_pack("[i,i]", range->first, range->last));
    }
    if (json_array_size(ranges) > 0)
        json_object_set(definition, "ranges", ranges);
    json_decref(ranges);
    if (study->contention)
        json_object_set_new(definition, "contention", ifm_protocol_to_json(&study->contention_protocol));
}

json_t *study_stages_definition(const IfmStudy *study)
{
    json_t *stages = json_array(), *sizes = json_array();
    for (guint i = 0; i < study->stages->len; i++)
        json_array_append_new(stages, json_integer(g_array_index(study->stages, int, i)));
    for (guint i = 0; i < study->sizes->len; i++)
        json_array_append_new(sizes, size_to_json(study->sizes->pdata[i]));
    json_t *json =
        json_pack("{s:o,s:o,s:{s:s,s:I},s:o,s:o,s:o}", "model",
                  study_model_to_json(study->staged->name, study->features, study->hidden, study->seed), "stages", stages,
                  "graph", "kind", ifm_graph_kind_words()[study->graph_kind], "seed", (json_int_t)study->graph_seed,
                  "sizes", sizes, "protocol", ifm_protocol_to_json(&study->protocol), "links",
                  study->links ? ifm_protocol_to_json(&study->link_protocol) : json_null());
    add_ranges(study, json);
    return json;
}

json_t *study_manifest(IfmStudy *study, json_t *sessions)
{
    json_t *devices = json_array(), *cases = json_array();
    const GPtrArray *span = ifm_study_cases(study);
    for (guint i = 0; i < study->devices->len; i++)
        json_array_append_new(devices, study_device_to_json(study->devices->pdata[i]));
    for (guint i = 0; i < span->len; i++)
    {
        const StudyCase *one = span->pdata[i];
        json_array_append_new(cases, one->axes != NULL ? study_point_to_json(one) : study_case_to_json(&one->row));
    }
    json_t *definition = study->kind->definition(study);
    if (!g_str_equal(study->kind->name, STUDY_DEFAULT_KIND))
    {
        json_object_set_new(definition, "kind", json_string(study->kind->name));
        json_object_set_new(definition, "axes", axis_names(span));
    }
    return json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:O,s:n}", "format_version", STUDY_FORMAT_VERSION, "name",
                     ifm_json_string(study->name), "title", ifm_json_string(study->title), "definition", definition,
                     "devices", devices, "cases", cases, "sessions", sessions, "imported");
}

/* --- in ------------------------------------------------------------------------------------------------------------- */

gboolean study_manifest_read(IfmStore *store, json_t **manifest, GError **error)
{
    GError *trouble = NULL;
    gint64 version = 0;
    const char *text;
    json_t *part;
    json_auto_t *found = ifm_store_document(store, STUDY_DOCUMENT, &trouble);
    *manifest = NULL;
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    if (found == NULL)
        return TRUE;
    static const char where[] = "document \"" STUDY_DOCUMENT "\"";
    gboolean good = ifm_json_get_int64(found, where, "format_version", &version, &trouble) &&
                    (version == STUDY_FORMAT_VERSION || ifm_json_get_string(found, where, "name", &text, &trouble)) &&
                    ifm_json_get_string(found, where, "name", &text, &trouble) &&
                    ifm_json_get_string(found, where, "title", &text, &trouble) &&
                    ifm_json_get_object(found, where, "definition", &part, &trouble) &&
                    ifm_json_get_object(part, where, "model", &part, &trouble) &&
                    ifm_json_get_array(found, where, "devices", &part, &trouble) &&
                    ifm_json_get_array(found, where, "cases", &part, &trouble) &&
                    ifm_json_get_array(found, where, "sessions", &part, &trouble);
    if (good && version != STUDY_FORMAT_VERSION)
    {
        g_set_error(&trouble, IFM_ERROR, IFM_ERROR_INVALID, "%s is of format %" G_GINT64_FORMAT "; this program reads %d",
                    where, version, STUDY_FORMAT_VERSION);
        g_propagate_prefixed_error(error, trouble, "%s: ", ifm_store_path(store));
        return FALSE;
    }
    if (!good)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "%s: %s", ifm_store_path(store), trouble->message);
        g_error_free(trouble);
        return FALSE;
    }
    *manifest = json_incref(found);
    return TRUE;
}

static gboolean see_one(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    *(gboolean *)user = TRUE;
    return FALSE;
}

static gboolean store_holds(IfmStore *store, gboolean *holds, GError **error)
{
    *holds = FALSE;
    return ifm_store_each(store, see_one, holds, error);
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

gboolean study_check_identity(IfmStore *store, const json_t *manifest, const char *name, const json_t *model,
                              gboolean imported, GError **error)
{
    const char *path = ifm_store_path(store);
    const char *other = json_string_value(json_object_get(manifest, "name"));
    const json_t *other_model = json_object_get(json_object_get(manifest, "definition"), "model");
    gboolean was_imported = !json_is_null(json_object_get(manifest, "imported"));
    if (g_strcmp0(name, other) != 0)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is the store of study \"%s\", not of \"%s\"", path, other,
                    name);
    else if (was_imported != imported)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "%s: holds a study \"%s\" that was %s, and cannot take one that %s", path, name,
                    was_imported ? "imported" : "measured", was_imported ? "is measured" : "is imported");
    else if (!json_equal(other_model, model))
    {
        g_autofree char *what = difference(other_model, model);
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is the store of a study \"%s\" whose model has %s", path,
                    name, what);
    }
    else
        return TRUE;
    return FALSE;
}

gboolean study_check_empty(IfmStore *store, GError **error)
{
    gboolean holds;
    if (!store_holds(store, &holds, error))
        return FALSE;
    if (holds)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "%s: holds measurements, but of no study; a study needs a store of "
                    "its own",
                    ifm_store_path(store));
    return !holds;
}

const char *study_manifest_kind(const json_t *manifest)
{
    const char *kind = json_string_value(json_object_get(json_object_get(manifest, "definition"), "kind"));
    return kind != NULL ? kind : STUDY_DEFAULT_KIND;
}

static gboolean check_graph(IfmStore *store, const json_t *manifest, const IfmStudy *study, GError **error)
{
    json_auto_t *now = study->kind->definition(study);
    const json_t *before = json_object_get(json_object_get(manifest, "definition"), "graph");
    if (json_object_get(now, "graph") == NULL || json_equal(before, json_object_get(now, "graph")))
        return TRUE;
    g_autofree char *what = difference(before, json_object_get(now, "graph"));
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is the store of a study \"%s\" whose graphs have %s",
                ifm_store_path(store), study->name, what);
    return FALSE;
}

/* The name, the model and the kind of graph make a study the same; sizes, devices and the protocol may change from run to
 * run, since each case has its key: what was measured stays, what is new gets measured. */
gboolean ifm_study_check_store(IfmStudy *study, IfmStore *store, GError **error)
{
    json_auto_t *manifest = NULL;
    if (!study_manifest_read(store, &manifest, error))
        return FALSE;
    if (manifest == NULL)
        return study_check_empty(store, error);
    const char *kind = study_manifest_kind(manifest);
    json_auto_t *definition = study->kind->definition(study);
    if (g_strcmp0(json_string_value(json_object_get(manifest, "name")), study->name) == 0 &&
        !g_str_equal(kind, study->kind->name))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is the store of a study \"%s\" of kind %s, not %s",
                    ifm_store_path(store), study->name, kind, study->kind->name);
        return FALSE;
    }
    return study_check_identity(store, manifest, study->name, json_object_get(definition, "model"), FALSE, error) &&
           check_graph(store, manifest, study, error);
}
