#include <base/fields.h>
#include <string.h>

#include "study-private.h"

/* A store's manifest against a study as it is now: which of its cases the manifest knows, by what they are of. */

const char *study_manifest_device(const json_t *manifest, const char *alias)
{
    gsize i;
    json_t *device;
    json_array_foreach(json_object_get(manifest, "devices"), i, device)
    {
        if (alias != NULL && g_strcmp0(json_string_value(json_object_get(device, "alias")), alias) == 0)
            return json_string_value(json_object_get(device, "device"));
    }
    return NULL;
}

/* "ALIAS DEVICE STAGE LAST NODES EDGES TO RECEIVER BYTES BACKGROUND": what a case is found again by. @receiver: "" but of a
 * link
 * @background: "ALIAS=DEVICE,..." of those that work meanwhile */
static char *place_of(const IfmStudyCase *row, const char *device, const char *receiver, const char *background)
{
    return g_strdup_printf("%s %s %d %d %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s %s %" G_GINT64_FORMAT " %s",
                           row->alias, device, row->stage, MAX(row->last, row->stage), row->nodes, row->edges,
                           row->to != NULL ? row->to : "", receiver, row->bytes, background);
}

/* FALSE where one of them is no device of the manifest. */
static gboolean background_in(const json_t *manifest, const json_t *row, GString *background)
{
    gsize i;
    json_t *alias;
    json_array_foreach(json_object_get(row, "busy"), i, alias)
    {
        const char *device = study_manifest_device(manifest, json_string_value(alias));
        if (device == NULL)
            return FALSE;
        g_string_append_printf(background, "%s=%s,", json_string_value(alias), device);
    }
    return TRUE;
}

/* Of a point: "ALIAS DEVICE {AXIS: VALUE, ...}". */
static char *place_of_point(const char *alias, const char *device, const json_t *axes)
{
    g_autofree char *values = json_dumps(axes, JSON_COMPACT | JSON_SORT_KEYS);
    return g_strdup_printf("%s %s %s", alias, device, values);
}

/* NULL where the row names no device of the manifest. */
static char *place_in(const json_t *manifest, const json_t *row)
{
    IfmStudyCase one = { .alias = (char *)json_string_value(json_object_get(row, "alias")),
                         .to = (char *)json_string_value(json_object_get(row, "to")),
                         .stage = (int)json_integer_value(json_object_get(row, "stage")),
                         .last = (int)json_integer_value(json_object_get(row, "last")),
                         .nodes = json_integer_value(json_object_get(row, "nodes")),
                         .edges = json_integer_value(json_object_get(row, "edges")),
                         .bytes = json_integer_value(json_object_get(row, "bytes")) };
    g_autoptr(GString) background = g_string_new(NULL);
    const char *device = study_manifest_device(manifest, one.alias);
    const json_t *axes = json_object_get(row, "axes");
    if (axes != NULL)
        return device != NULL ? place_of_point(one.alias, device, axes) : NULL;
    const char *receiver = one.to != NULL ? study_manifest_device(manifest, one.to) : "";
    gboolean known = device != NULL && receiver != NULL && background_in(manifest, row, background);
    return known ? place_of(&one, device, receiver, background->str) : NULL;
}

GHashTable *study_manifest_rows(const json_t *manifest)
{
    GHashTable *rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize n;
    json_t *row;
    json_array_foreach(json_object_get(manifest, "cases"), n, row)
    {
        char *place = place_in(manifest, row);
        if (place != NULL)
            g_hash_table_insert(rows, place, row);
    }
    return rows;
}

const json_t *study_manifest_row(GHashTable *rows, const StudyCase *one)
{
    g_autoptr(GString) background = g_string_new(NULL);
    for (IfmStudyDevice **other = one->background; other != NULL && *other != NULL; other++)
        g_string_append_printf(background, "%s=%s,", (*other)->alias, (*other)->device);
    g_autofree char *place = one->axes != NULL ? place_of_point(one->row.alias, one->device->device, one->axes)
                                               : place_of(&one->row, one->device->device,
                                                          one->to != NULL ? one->to->device : "", background->str);
    return g_hash_table_lookup(rows, place);
}

void study_take_flop(StudyCase *one, const json_t *row)
{
    double flop = ifm_member_number(row, "flop");
    if (one->flop == 0 && flop > 0)
        one->flop = flop;
}

/* Gives cases without a key the one that a manifest has for what they are of, and points what else it has. */
static void keep_keys(const json_t *manifest, IfmStudy *study)
{
    g_autoptr(GHashTable) rows = study_manifest_rows(manifest);
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        const json_t *row = study_manifest_row(rows, one);
        if (one->row.key == NULL)
            one->row.key = g_strdup(json_string_value(json_object_get(row, "key")));
        if (one->refused == NULL)
            one->refused = g_strdup(json_string_value(json_object_get(row, "refused")));
        study_take_flop(one, row);
    }
}

/* --- a study as its store knows it ------------------------------------------------------------------------------------ */

/* What the last run found out of a device: its hardware, or why it was left out. */
static void take_findings(IfmStudyDevice *device, const json_t *found)
{
    g_free(device->description);
    g_free(device->reason);
    device->description = g_strdup(json_string_value(json_object_get(found, "description")));
    device->peak_flop_per_s = json_number_value(json_object_get(found, "peak_flop_per_s"));
    device->peak_bytes_per_s = json_number_value(json_object_get(found, "peak_bytes_per_s"));
    device->reason = g_strdup(json_string_value(json_object_get(found, "skipped")));
}

/* Devices that were put behind an alias for the last run stay there; those of the file alone follow the file. */
static gboolean take_device(IfmStudy *study, const json_t *found, GError **error)
{
    const char *alias = json_string_value(json_object_get(found, "alias"));
    const char *spec = json_string_value(json_object_get(found, "device"));
    const char *form = json_string_value(json_object_get(found, "form"));
    IfmStudyDevice *device = alias != NULL ? study_device_find(study->devices, alias) : NULL;
    if (alias == NULL || spec == NULL)
        return TRUE; /* who reads the manifest next says so */
    gboolean keeps = !json_is_false(json_object_get(found, "asked")) && (device == NULL || !device->asked);
    if (keeps && (device == NULL || !g_str_equal(device->device, spec)))
    {
        g_autofree char *text = g_strdup_printf("%s=%s", alias, spec);
        if (!ifm_study_set_device(study, text, error))
            return FALSE;
        device = study_device_find(study->devices, alias);
        study_device_set_form(device, g_strcmp0(form, ifm_study_form_name(IFM_STUDY_STATIC)) == 0 ? IFM_STUDY_STATIC
                                                                                                  : IFM_STUDY_DYNAMIC);
    }
    if (device != NULL && g_str_equal(device->device, spec))
        take_findings(device, found);
    return TRUE;
}

json_t *study_manifest_update(const json_t *manifest, IfmStudy *study, GError **error)
{
    gsize i;
    json_t *device;
    json_array_foreach(json_object_get(manifest, "devices"), i, device) if (!take_device(study, device, error)) return NULL;
    keep_keys(manifest, study);
    json_t *updated = study_manifest(study, json_object_get(manifest, "sessions"));
    /* what was measured was measured by the protocol of then, which a command line may have given */
    json_t *then = json_object_get(json_object_get(manifest, "definition"), "protocol");
    if (then != NULL)
        json_object_set(json_object_get(updated, "definition"), "protocol", then);
    return updated;
}
