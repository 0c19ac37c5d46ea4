#include <base/fields.h>
#include <math.h>

#include "study-kind.h"

/* Rows of a study of points: whatever the kind, a row a case, led by its axes. */

gboolean study_read_point(IfmStudyTables *tables, IfmStore *store, const json_t *json, GError **error)
{
    static const char where[] = "cases[]";
    g_autofree char *key = NULL;
    const char *alias, *title;
    gint64 phase;
    json_t *axes;
    IfmMeasurement *measurement;
    if (!study_text_or_null(json, where, "key", &key, error) || !ifm_json_get_string(json, where, "alias", &alias, error) ||
        !ifm_json_get_string(json, where, "title", &title, error) ||
        !ifm_json_get_int64(json, where, "phase", &phase, error) || !ifm_json_get_object(json, where, "axes", &axes, error))
        return FALSE;
    const IfmStudyDevice *device = study_device_find(tables->devices, alias);
    if (device == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "%s: of %s, which is not in it", where, alias);
        return FALSE;
    }
    if (!study_row_measurement(tables, store, key, &measurement, error))
        return FALSE;
    IfmStudyRow *row = study_row_new(tables->rows, device, (int)phase, key);
    row->title = g_strdup(title);
    row->axes = json_incref(axes);
    row->items = ifm_member_number(json, "items");
    row->flop = ifm_member_number(json, "flop");
    study_row_take(tables, row, measurement, json_string_value(json_object_get(json, "refused")));
    if (row->reason == NULL)
    {
        row->items_per_s = row->items * 1e9 / row->median_ns;
        row->flop_per_s = row->flop * 1e9 / row->median_ns;
    }
    return TRUE;
}

/* An axis of numbers and texts, as a table from elsewhere may have one, is one of texts: its values are of one type. */
static void unify_axis(IfmStudyTables *tables, const char *axis)
{
    gsize n_texts = 0;
    for (guint i = 0; i < tables->rows->len; i++)
        n_texts += !json_is_integer(json_object_get(((const IfmStudyRow *)tables->rows->pdata[i])->axes, axis));
    for (guint i = 0; i < tables->rows->len && n_texts > 0; i++)
    {
        IfmStudyRow *point = tables->rows->pdata[i];
        const json_t *value = json_object_get(point->axes, axis);
        if (json_is_string(value))
            continue;
        g_autofree char *text = json_is_null(value) || value == NULL ? g_strdup("") : ifm_json_canonical(value);
        json_t *unified = json_deep_copy(point->axes);
        json_object_set_new(unified, axis, ifm_json_string(text));
        json_decref(point->axes);
        point->axes = unified;
    }
}

void study_finish_points(IfmStudyTables *tables)
{
    gsize i;
    json_t *axis;
    json_array_foreach(json_object_get(json_object_get(tables->manifest, "definition"), "axes"), i, axis)
    {
        if (json_is_string(axis))
            g_ptr_array_add(tables->axes, g_strdup(json_string_value(axis)));
    }
    for (guint at = 0; at < tables->axes->len; at++)
        unify_axis(tables, tables->axes->pdata[at]);
    study_mark_points(tables);
}
