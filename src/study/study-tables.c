#include <base/fields.h>
#include <base/statistics.h>
#include <math.h>
#include <measure/kinds.h>
#include <predict/predict.h>
#include <staged/staged.h>
#include <store/store.h>
#include <string.h>

#include "study-kind.h"

/* Of the fits' intervals. */
#define LEVEL 0.95

static void row_free(IfmStudyRow *row)
{
    g_free(row->title);
    json_decref(row->axes);
    g_free(row->key);
    g_free(row->code);
    g_free(row->reason);
    g_free(row->doubt);
    ifm_measurement_free(row->measurement);
    g_free(row);
}

static void fit_free(IfmStageFit *fit)
{
    g_free(fit->why);
    g_free(fit);
}

static void link_free(IfmLinkFit *link)
{
    g_free(link->bytes);
    g_free(link->median_ns);
    g_free(link->why);
    g_free(link);
}

void ifm_study_tables_free(IfmStudyTables *tables)
{
    if (tables == NULL)
        return;
    g_free(tables->name);
    g_free(tables->title);
    g_free(tables->kind);
    json_decref(tables->definition);
    json_decref(tables->bandwidth);
    g_clear_pointer(&tables->axes, g_ptr_array_unref);
    g_ptr_array_unref(tables->links);
    g_ptr_array_unref(tables->fits);
    g_ptr_array_unref(tables->ranges);
    g_ptr_array_unref(tables->rows);
    g_ptr_array_unref(tables->devices);
    g_free(tables);
}

/* --- from the measurements ------------------------------------------------------------------------------------------ */

static void take_summary(IfmStudyRow *row)
{
    const IfmSummary *summary = &row->measurement->summary;
    row->mean_ns = summary->mean;
    row->std_ns = summary->std;
    row->min_ns = summary->min;
    row->max_ns = summary->max;
    row->n = row->measurement->samples_ns->len;
    row->median_ns = summary->median;
    if (isnan(row->median_ns)) /* a table from elsewhere may have means alone */
        row->median_ns = row->mean_ns;
    row->interval = summary->median_interval;
}

/* Why a row cannot be measured: its own device, or one of its background load. NULL: all are here. */
static const char *why_absent(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    const char *why = row->device->reason;
    for (guint i = 0; why == NULL && i < MIN(tables->devices->len, 32); i++)
        if ((row->busy >> i & 1) != 0)
            why = ((const IfmStudyDevice *)tables->devices->pdata[i])->reason;
    return why;
}

/* @refused: why it could not even be tried, or NULL */
static void say_why_not(const IfmStudyTables *tables, IfmStudyRow *row, const char *refused)
{
    const IfmMeasurement *measurement = row->measurement;
    const char *absent = why_absent(tables, row);
    row->code = g_strdup(measurement != NULL ? measurement->error_code
                         : absent != NULL    ? ifm_error_code_name(IFM_ERROR_UNAVAILABLE)
                         : refused != NULL   ? ifm_error_code_name(IFM_ERROR_INVALID)
                                             : "");
    row->reason = g_strdup(measurement != NULL ? measurement->reason
                           : absent != NULL    ? absent
                           : refused != NULL   ? refused
                                               : "not measured yet");
}

static double known(double figure)
{
    return figure > 0 ? figure : (double)NAN;
}

/* What stages read and write. */
static void add_bytes(const IfmStudyTables *tables, IfmStudyRow *row)
{
    const IfmStage *stage = row->last == row->stage ? study_stage(tables->staged, row->stage) : NULL;
    IfmStageSizes sizes = tables->sizes;
    sizes.nodes = row->nodes;
    sizes.edges = row->edges;
    ifm_staged_io_bytes(tables->staged, row->stage, row->last, &sizes, &row->read_bytes, &row->written_bytes);
    row->table_bytes = stage != NULL && stage->table_bytes != NULL ? stage->table_bytes(&sizes) : 0;
}

/* @measurement: (transfer full) NULL: never tried */
static void add_row(IfmStudyTables *tables, const IfmStudyCase *one, IfmMeasurement *measurement)
{
    IfmStudyRow *row = g_new(IfmStudyRow, 1);
    g_auto(GStrv) aliases = study_case_aliases(one);
    *row = (IfmStudyRow){ .device = study_device_find(tables->devices, one->alias),
                          .phase = one->phase,
                          .key = g_strdup(one->key),
                          .measurement = measurement,
                          .median_ns = NAN,
                          .mean_ns = NAN,
                          .std_ns = NAN,
                          .min_ns = NAN,
                          .max_ns = NAN,
                          .interval = { NAN, NAN, NAN },
                          .stage = one->stage,
                          .last = one->last,
                          .nodes = one->nodes,
                          .edges = one->edges,
                          .transfer_ns = NAN,
                          .compute_ns = NAN,
                          .title = one->axes != NULL ? g_strdup(one->title) : NULL,
                          .axes = json_incref(one->axes),
                          .items = known(one->items),
                          .flop = known(one->flop) };
    for (char **alias = aliases + 1; *alias != NULL; alias++)
    {
        guint device = 0;
        g_ptr_array_find(tables->devices, study_device_find(tables->devices, *alias), &device);
        row->busy |= 1u << device;
    }
    g_ptr_array_add(row->last > row->stage || row->busy != 0 ? tables->ranges : tables->rows, row);
    if (one->axes == NULL)
        add_bytes(tables, row);
    if (measurement != NULL && measurement->outcome == IFM_OUTCOME_OK)
        take_summary(row);
    else
        say_why_not(tables, row, one->refused);
    row->items_per_s = row->items * 1e9 / row->median_ns;
    row->flop_per_s = row->flop * 1e9 / row->median_ns;
}

static IfmLinkFit *link_between(IfmStudyTables *tables, const IfmStudyDevice *from, const IfmStudyDevice *to)
{
    for (guint i = 0; i < tables->links->len; i++)
    {
        IfmLinkFit *link = tables->links->pdata[i];
        if (link->from == from && link->to == to)
            return link;
    }
    IfmLinkFit *link = g_new0(IfmLinkFit, 1);
    link->from = from;
    link->to = to;
    g_ptr_array_add(tables->links, link);
    return link;
}

static void add_link_point(IfmLinkFit *link, const IfmStudyCase *one, const IfmMeasurement *measurement)
{
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
    {
        const char *absent = link->from->reason != NULL ? link->from->reason : link->to->reason;
        gboolean tried = measurement != NULL && measurement->outcome == IFM_OUTCOME_FAILED;
        link->n_failed += tried;
        link->n_skipped += !tried && (measurement != NULL || absent != NULL);
        link->n_left += measurement == NULL && absent == NULL;
        g_free(link->why);
        link->why = g_strdup(measurement != NULL ? measurement->reason : absent != NULL ? absent : "not measured yet");
        return;
    }
    IfmLinkResult result;
    ifm_link_result(measurement, &result);
    const char *const *around = result.around_inference;
    link->shared |= result.shared;
    link->assumed |= result.assumed;
    link->within_inference |= result.within_inference != NULL;
    link->n_copies = result.copies;
    link->from_around = around != NULL && g_strv_contains(around, link->from->device);
    link->to_around = around != NULL && g_strv_contains(around, link->to->device);
    ifm_link_result_clear(&result);
    link->bytes = g_renew(double, link->bytes, link->n + 1);
    link->median_ns = g_renew(double, link->median_ns, link->n + 1);
    link->bytes[link->n] = (double)one->bytes;
    link->median_ns[link->n] = measurement->summary.median;
    link->n++;
}

/* Devices of the background load are bits of a mask. */
static gboolean check_case(const IfmStudyTables *tables, const IfmStudyCase *one, GError **error)
{
    const gboolean staged = one->axes == NULL && one->to == NULL;
    return !staged ||
           (tables->devices->len <= 32 && study_stage(tables->staged, one->stage) != NULL &&
            study_stage(tables->staged, one->last) != NULL) ||
           ifm_error_refuse(error, "cases[]: of %s, stage %d, which are not in it", one->alias, one->stage);
}

/* A failure imported over a latency says that the latency was none; a failure measured after one says nothing of it. */
static gboolean read_case(IfmStudyTables *tables, IfmStore *store, const IfmStudyCase *one, GError **error)
{
    IfmMeasurement *measurement;
    if ((one->axes == NULL) != (tables->staged != NULL))
        return ifm_error_refuse(error, "cases[]: of %s: not of kind %s", one->alias, tables->kind);
    if (!check_case(tables, one, error) || !ifm_store_find(store, one->key, tables->imported, &measurement, error))
        return FALSE;
    if (measurement != NULL)
        tables->last_unix_ms = MAX(tables->last_unix_ms, measurement->started_unix_ms);
    if (one->to == NULL)
    {
        add_row(tables, one, measurement);
        return TRUE;
    }
    add_link_point(
        link_between(tables, study_device_find(tables->devices, one->alias), study_device_find(tables->devices, one->to)),
        one, measurement);
    ifm_measurement_free(measurement);
    return TRUE;
}

/* --- points ----------------------------------------------------------------------------------------------------------- */

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

static void read_axes(IfmStudyTables *tables)
{
    gsize i;
    json_t *axis;
    json_array_foreach(json_object_get(tables->definition, "axes"), i, axis)
    {
        if (json_is_string(axis))
            g_ptr_array_add(tables->axes, g_strdup(json_string_value(axis)));
    }
    for (guint at = 0; at < tables->axes->len; at++)
        unify_axis(tables, tables->axes->pdata[at]);
}

/* --- fits ----------------------------------------------------------------------------------------------------------- */

static GPtrArray *rows_of(const IfmStudyTables *tables, const IfmStudyDevice *device, int stage, gsize *n_known)
{
    GPtrArray *rows = g_ptr_array_new();
    *n_known = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device != device || row->stage != stage)
            continue;
        ++*n_known;
        if (row->reason == NULL)
            g_ptr_array_add(rows, (gpointer)row);
    }
    return rows;
}

static GArray *points_of(const GPtrArray *rows)
{
    GArray *points = g_array_new(FALSE, FALSE, sizeof(IfmLookupPoint));
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        IfmLookupPoint point = { row->nodes, row->edges, row->median_ns };
        g_array_append_val(points, point);
    }
    return points;
}

static void fit_bandwidth(IfmStageFit *fit, const IfmStage *stage, const GPtrArray *rows)
{
    g_autoptr(GError) trouble = NULL;
    g_autofree double *bytes = g_new(double, rows->len + 1), *latency_ns = g_new(double, rows->len + 1);
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        bytes[i] = (double)row->table_bytes;
        latency_ns[i] = row->median_ns;
    }
    if (rows->len == 0)
        fit->why = g_strdup(fit->device->reason != NULL ? fit->device->reason : "no size has a latency");
    else if (stage->table_bytes == NULL)
        fit->why = g_strdup("no table counts this stage's data");
    else if (rows->len < 3)
        fit->why =
            g_strdup_printf("%u size%s with a latency; a line with an interval takes 3", rows->len, ifm_plural(rows->len));
    else
    {
        fit->fitted = ifm_bandwidth_fit(bytes, latency_ns, rows->len, LEVEL, &fit->bandwidth, &trouble);
        fit->why = fit->fitted ? NULL : g_strdup(trouble->message);
    }
}

static void split_rows(IfmStageFit *fit, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
    {
        IfmStudyRow *row = rows->pdata[i];
        row->split_why = fit->fitted ? ifm_bandwidth_split(&fit->bandwidth, (double)row->table_bytes, row->median_ns,
                                                           &row->transfer_ns, &row->compute_ns)
                                     : fit->why;
        fit->n_split += row->split_why == NULL;
    }
}

static void add_fit(IfmStudyTables *tables, const IfmStudyDevice *device, const IfmStage *stage)
{
    gsize n_known;
    g_autoptr(GPtrArray) rows = rows_of(tables, device, stage->number, &n_known);
    if (n_known == 0)
        return;
    g_autoptr(GArray) points = points_of(rows);
    IfmStageFit *fit = g_new0(IfmStageFit, 1);
    fit->device = device;
    fit->stage = stage->number;
    fit->n_rows = rows->len;
    g_ptr_array_add(tables->fits, fit);
    fit_bandwidth(fit, stage, rows);
    split_rows(fit, rows);
    fit->has_lookup = ifm_lookup_leave_one_out((const IfmLookupPoint *)(const void *)points->data, points->len,
                                               &fit->lookup_error, NULL, NULL);
}

static void fit_links(IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->links->len; i++)
    {
        IfmLinkFit *link = tables->links->pdata[i];
        g_autoptr(GError) trouble = NULL;
        link->fitted =
            link->n > 0 && ifm_link_fit(link->bytes, link->median_ns, link->n, LEVEL, &link->bandwidth, &trouble);
        if (link->fitted)
            g_clear_pointer(&link->why, g_free);
        else if (link->why == NULL)
            link->why = g_strdup(trouble != NULL ? trouble->message : "no size was measured");
    }
}

static void fit_all(IfmStudyTables *tables)
{
    for (guint d = 0; d < tables->devices->len; d++)
        for (gsize s = 0; s < tables->staged->n_stages; s++)
            add_fit(tables, tables->devices->pdata[d], &tables->staged->stages[s]);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        IfmStudyRow *row = tables->rows->pdata[i];
        if (row->reason != NULL)
            row->split_why = "there is no latency";
    }
    for (guint i = 0; i < tables->ranges->len; i++)
    {
        IfmStudyRow *row = tables->ranges->pdata[i];
        row->split_why = row->reason != NULL ? "there is no latency" : "single stages alone are split";
    }
    fit_links(tables);
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

static gboolean read_model(IfmStudyTables *tables, GError **error)
{
    json_t *model;
    const char *staged;
    if (!ifm_json_get_object(tables->definition, "definition", "model", &model, error) ||
        !ifm_json_get_string(model, "model", "name", &staged, error) ||
        !ifm_json_get_int64(model, "model", "features", &tables->sizes.features, error) ||
        !ifm_json_get_int64(model, "model", "hidden", &tables->sizes.hidden, error))
        return FALSE;
    tables->staged = ifm_staged_find(staged, error);
    return tables->staged != NULL;
}

static gboolean read_all(IfmStudyTables *tables, IfmStore *store, const StudyManifest *manifest, GError **error)
{
    if (g_str_equal(tables->kind, STUDY_DEFAULT_KIND) && !read_model(tables, error))
        return FALSE;
    for (guint i = 0; i < manifest->sessions->len; i++)
        tables->spent_ns += ((const StudySession *)manifest->sessions->pdata[i])->spent_ns;
    for (guint i = 0; i < manifest->cases->len; i++)
        if (!read_case(tables, store, manifest->cases->pdata[i], error))
            return FALSE;
    return TRUE;
}

static IfmStudyTables *tables_from(IfmStore *store, const StudyManifest *manifest, GError **error)
{
    GError *trouble = NULL;
    g_autoptr(IfmStudyTables) tables = g_new0(IfmStudyTables, 1);
    const json_t *bandwidth = ifm_member(manifest->imported, "bandwidth_mb_per_s");
    tables->name = g_strdup(manifest->name);
    tables->title = g_strdup(manifest->title);
    tables->kind = g_strdup(study_manifest_kind(manifest));
    tables->definition = json_incref(manifest->definition);
    tables->imported = manifest->imported != NULL;
    tables->bandwidth = json_object_size(bandwidth) > 0 ? json_incref((json_t *)bandwidth) : NULL;
    tables->devices = g_ptr_array_ref(manifest->devices);
    tables->axes = g_ptr_array_new_with_free_func(g_free);
    tables->rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    tables->ranges = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    tables->fits = g_ptr_array_new_with_free_func((GDestroyNotify)fit_free);
    tables->links = g_ptr_array_new_with_free_func((GDestroyNotify)link_free);
    if (!read_all(tables, store, manifest, &trouble))
    {
        gboolean wrong = g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID); /* what this program wrote is not so */
        ifm_error_set(error, wrong ? IFM_ERROR_CORRUPT : trouble->code, "%s: the study in it: %s", ifm_store_path(store),
                      trouble->message);
        g_error_free(trouble);
        return NULL;
    }
    if (tables->staged == NULL)
    {
        read_axes(tables);
        study_mark_points(tables);
        return g_steal_pointer(&tables);
    }
    study_mark_rows(tables->rows);
    study_mark_rows(tables->ranges);
    fit_all(tables);
    return g_steal_pointer(&tables);
}

IfmStudyTables *ifm_study_tables(IfmStudy *study, IfmStore *store, GError **error)
{
    g_autoptr(StudyManifest) manifest = study_manifest_required(store, error);
    if (manifest == NULL || (study != NULL && !ifm_study_check_store(study, store, error)))
        return NULL;
    g_autoptr(StudyManifest) updated = study != NULL ? study_manifest_update(manifest, study, error) : NULL;
    return study == NULL || updated != NULL ? tables_from(store, updated != NULL ? updated : manifest, error) : NULL;
}

gboolean ifm_study_tables_check_stages(const IfmStudyTables *tables, IfmStore *store, GError **error)
{
    return tables->staged != NULL ||
           ifm_error_refuse(error,
                            "%s: the study in it is of kind %s: it has points, but no stages to look up or to plan by",
                            ifm_store_path(store), tables->kind);
}

/* --- latencies that others contradict --------------------------------------------------------------------------------- */

static void admit(GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
    {
        IfmStudyRow *row = rows->pdata[i];
        if (g_strcmp0(row->code, IFM_IMPLAUSIBLE) != 0)
            continue;
        g_clear_pointer(&row->code, g_free);
        g_clear_pointer(&row->reason, g_free);
        row->split_why = NULL;
    }
}

void ifm_study_tables_admit(IfmStudyTables *tables)
{
    admit(tables->rows);
    admit(tables->ranges);
    g_ptr_array_set_size(tables->fits, 0);
    fit_all(tables);
}

gsize ifm_study_tables_implausible(const IfmStudyTables *tables)
{
    gsize n = 0;
    for (guint i = 0; i < tables->rows->len; i++)
        n += g_strcmp0(((const IfmStudyRow *)tables->rows->pdata[i])->code, IFM_IMPLAUSIBLE) == 0;
    for (guint i = 0; i < tables->ranges->len; i++)
        n += g_strcmp0(((const IfmStudyRow *)tables->ranges->pdata[i])->code, IFM_IMPLAUSIBLE) == 0;
    return n;
}

IfmLookup *ifm_study_tables_lookup(const IfmStudyTables *tables, const char *alias, int stage, GError **error)
{
    const IfmStudyDevice *device = study_device_find(tables->devices, alias);
    gsize n_known = 0;
    if (device == NULL)
    {
        g_autoptr(GString) all = g_string_new(NULL);
        for (guint i = 0; i < tables->devices->len; i++)
            g_string_append_printf(all, "%s%s", i > 0 ? ", " : "",
                                   ((const IfmStudyDevice *)tables->devices->pdata[i])->alias);
        ifm_error_refuse(error, "study \"%s\" has no device \"%s\" (it has %s)", tables->name, alias, all->str);
        return NULL;
    }
    g_autoptr(GPtrArray) rows = rows_of(tables, device, stage, &n_known);
    g_autoptr(GArray) points = points_of(rows);
    if (rows->len > 0)
        return ifm_lookup_new((const IfmLookupPoint *)(const void *)points->data, points->len, error);
    ifm_error_refuse(error, "study \"%s\" has no latency of stage %d on %s", tables->name, stage, alias);
    return NULL;
}
