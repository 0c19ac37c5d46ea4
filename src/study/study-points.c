#include <internal/store.h>
#include <internal/study.h>
#include <math.h>

#include "study-kind.h"

/* A study of points, as its store has it: whatever the kind, a row a case, led by its axes. */

static void point_free(IfmStudyPoint *point)
{
    g_free(point->title);
    g_free(point->key);
    json_decref(point->axes);
    ifm_measurement_free(point->measurement);
    g_free(point->code);
    g_free(point->reason);
    g_free(point->doubt);
    g_free(point);
}

void ifm_study_points_free(IfmStudyPoints *points)
{
    if (points == NULL)
        return;
    g_free(points->name);
    g_free(points->title);
    g_free(points->kind);
    json_decref(points->manifest);
    g_ptr_array_unref(points->axes);
    g_ptr_array_unref(points->points);
    g_ptr_array_unref(points->devices);
    g_free(points);
}

static void take_summary(IfmStudyPoint *point)
{
    const IfmSummary *summary = &point->measurement->summary;
    point->median_ns = summary->median;
    point->mean_ns = summary->mean;
    point->std_ns = summary->std;
    point->min_ns = summary->min;
    point->max_ns = summary->max;
    point->n = point->measurement->samples_ns->len;
    point->interval = summary->median_interval;
    point->items_per_s = point->items * 1e9 / point->median_ns;
    point->flop_per_s = point->flop * 1e9 / point->median_ns;
}

/* @refused: why it could not even be tried, or NULL */
static void say_why_not(IfmStudyPoint *point, const char *refused)
{
    const IfmMeasurement *measurement = point->measurement;
    const char *absent = point->device->reason;
    point->code = g_strdup(measurement != NULL ? measurement->error_code
                           : absent != NULL    ? ifm_error_code_name(IFM_ERROR_UNAVAILABLE)
                           : refused != NULL   ? ifm_error_code_name(IFM_ERROR_INVALID)
                                               : "");
    point->reason = g_strdup(measurement != NULL ? measurement->reason
                             : absent != NULL    ? absent
                             : refused != NULL   ? refused
                                                 : "not measured yet");
}

static gboolean read_point(IfmStudyPoints *points, IfmStore *store, const json_t *json, GError **error)
{
    static const char where[] = "cases[]";
    const char *alias, *title;
    gint64 phase;
    json_t *axes;
    GError *trouble = NULL;
    IfmStudyPoint *point = g_new(IfmStudyPoint, 1);
    *point = (IfmStudyPoint){ .items = ifm_member_number(json, "items"),
                              .flop = ifm_member_number(json, "flop"),
                              .median_ns = NAN,
                              .mean_ns = NAN,
                              .std_ns = NAN,
                              .min_ns = NAN,
                              .max_ns = NAN,
                              .interval = { NAN, NAN, NAN },
                              .items_per_s = NAN,
                              .flop_per_s = NAN };
    g_ptr_array_add(points->points, point);
    if (!study_text_or_null(json, where, "key", &point->key, error) ||
        !ifm_json_get_string(json, where, "alias", &alias, error) ||
        !ifm_json_get_string(json, where, "title", &title, error) ||
        !ifm_json_get_int64(json, where, "phase", &phase, error) || !ifm_json_get_object(json, where, "axes", &axes, error))
        return FALSE;
    point->title = g_strdup(title);
    point->phase = (int)phase;
    point->axes = json_incref(axes);
    point->device = study_device_find(points->devices, alias);
    if (point->device == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "%s: of %s, which is not in it", where, alias);
        return FALSE;
    }
    point->measurement = point->key != NULL ? ifm_store_last(store, point->key, &trouble) : NULL;
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    if (point->measurement != NULL)
        points->last_unix_ms = MAX(points->last_unix_ms, point->measurement->started_unix_ms);
    if (point->measurement != NULL && point->measurement->outcome == IFM_OUTCOME_OK)
        take_summary(point);
    else
        say_why_not(point, json_string_value(json_object_get(json, "refused")));
    return TRUE;
}

/* An axis of numbers and texts, as a table from elsewhere may have one, is one of texts: its values are of one type. */
static void unify_axis(IfmStudyPoints *points, const char *axis)
{
    gsize n_texts = 0;
    for (guint i = 0; i < points->points->len; i++)
        n_texts += !json_is_integer(json_object_get(((const IfmStudyPoint *)points->points->pdata[i])->axes, axis));
    for (guint i = 0; i < points->points->len && n_texts > 0; i++)
    {
        IfmStudyPoint *point = points->points->pdata[i];
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

static gboolean read_all(IfmStudyPoints *points, IfmStore *store, GError **error)
{
    const char *name, *title;
    gsize i;
    json_t *one;
    if (!ifm_json_get_string(points->manifest, "study", "name", &name, error) ||
        !ifm_json_get_string(points->manifest, "study", "title", &title, error))
        return FALSE;
    points->name = g_strdup(name);
    points->title = g_strdup(title);
    points->kind = g_strdup(study_manifest_kind(points->manifest));
    json_array_foreach(json_object_get(json_object_get(points->manifest, "definition"), "axes"), i, one)
    {
        if (json_is_string(one))
            g_ptr_array_add(points->axes, g_strdup(json_string_value(one)));
    }
    json_array_foreach(json_object_get(points->manifest, "sessions"), i, one)
    {
        points->spent_ns += json_integer_value(json_object_get(one, "spent_ns"));
    }
    json_array_foreach(json_object_get(points->manifest, "devices"), i, one)
    {
        IfmStudyDevice *device = study_read_manifest_device(one, error);
        if (device == NULL)
            return FALSE;
        g_ptr_array_add(points->devices, device);
    }
    json_array_foreach(json_object_get(points->manifest, "cases"), i, one)
    {
        if (!read_point(points, store, one, error))
            return FALSE;
    }
    for (guint axis = 0; axis < points->axes->len; axis++)
        unify_axis(points, points->axes->pdata[axis]);
    study_mark_points(points);
    return TRUE;
}

static json_t *manifest_of(IfmStudy *study, IfmStore *store, GError **error)
{
    json_auto_t *manifest = study_manifest_required(store, error);
    if (manifest == NULL || (study != NULL && !ifm_study_check_store(study, store, error)))
        return NULL;
    if (!g_str_equal(study_manifest_kind(manifest), STUDY_DEFAULT_KIND))
        return study != NULL ? study_manifest_update(manifest, study, error) : json_incref(manifest);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "%s: the study in it is of kind " STUDY_DEFAULT_KIND ": it has no points", ifm_store_path(store));
    return NULL;
}

IfmStudyPoints *ifm_study_points(IfmStudy *study, IfmStore *store, GError **error)
{
    GError *trouble = NULL;
    json_t *manifest = manifest_of(study, store, error);
    if (manifest == NULL)
        return NULL;
    g_autoptr(IfmStudyPoints) points = g_new0(IfmStudyPoints, 1);
    points->manifest = manifest;
    points->axes = g_ptr_array_new_with_free_func(g_free);
    points->devices = g_ptr_array_new_with_free_func((GDestroyNotify)study_device_free);
    points->points = g_ptr_array_new_with_free_func((GDestroyNotify)point_free);
    if (read_all(points, store, &trouble))
        return g_steal_pointer(&points);
    gboolean wrong = g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID); /* what this program wrote is not so */
    g_set_error(error, IFM_ERROR, wrong ? IFM_ERROR_CORRUPT : trouble->code, "%s: the study in it: %s",
                ifm_store_path(store), trouble->message);
    g_error_free(trouble);
    return NULL;
}

char *ifm_study_store_kind(IfmStore *store, GError **error)
{
    json_auto_t *manifest = study_manifest_required(store, error);
    return manifest != NULL ? g_strdup(study_manifest_kind(manifest)) : NULL;
}
