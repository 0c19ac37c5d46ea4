#include <base/fields.h>
#include <base/statistics.h>
#include <math.h>
#include <measure/kinds.h>
#include <predict/predict.h>
#include <store/store.h>
#include <string.h>
#include <zoo/zoo.h>

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
    json_decref(tables->manifest);
    g_clear_pointer(&tables->axes, g_ptr_array_unref);
    g_ptr_array_unref(tables->links);
    g_ptr_array_unref(tables->fits);
    g_ptr_array_unref(tables->ranges);
    g_ptr_array_unref(tables->rows);
    g_ptr_array_unref(tables->devices);
    g_free(tables);
}

/* --- from the manifest ---------------------------------------------------------------------------------------------- */

/* @value: (out) (transfer full) NULL for null */
gboolean study_text_or_null(const json_t *object, const char *where, const char *key, char **value, GError **error)
{
    const char *text = NULL;
    if (!json_is_null(json_object_get(object, key)) && !ifm_json_get_string(object, where, key, &text, error))
        return FALSE;
    *value = g_strdup(text);
    return TRUE;
}

static void read_not_stages(const json_t *json, IfmStudyDevice *device)
{
    gsize i;
    json_t *stage;
    json_array_foreach(json_object_get(json, "not_stages"), i, stage)
    {
        json_int_t number = json_integer_value(stage);
        if (number >= 1 && number <= IFM_MAX_STAGES)
            device->not_stages |= study_range_mask((int)number, (int)number);
    }
}

IfmStudyDevice *study_read_manifest_device(const json_t *json, GError **error)
{
    static const char where[] = "devices[]";
    const char *alias, *device, *form;
    gint64 phase;
    IfmStudyDevice *one = g_new0(IfmStudyDevice, 1);
    if (!ifm_json_get_string(json, where, "alias", &alias, error) ||
        !ifm_json_get_string(json, where, "device", &device, error) ||
        !ifm_json_get_string(json, where, "form", &form, error) ||
        !ifm_json_get_int64(json, where, "phase", &phase, error) ||
        !ifm_json_get_boolean(json, where, "simulated", &one->simulated, error) ||
        !study_text_or_null(json, where, "description", &one->description, error) ||
        !study_text_or_null(json, where, "skipped", &one->reason, error))
    {
        study_device_free(one);
        return NULL;
    }
    one->alias = g_strdup(alias);
    one->device = g_strdup(device);
    read_not_stages(json, one);
    one->peak_flop_per_s = json_number_value(json_object_get(json, "peak_flop_per_s"));
    one->peak_bytes_per_s = json_number_value(json_object_get(json, "peak_bytes_per_s"));
    one->form = g_str_equal(form, ifm_study_form_name(IFM_STUDY_STATIC)) ? IFM_STUDY_STATIC : IFM_STUDY_DYNAMIC;
    one->phase = (int)phase;
    return one;
}

/* What all kinds have. */
static gboolean read_head(IfmStudyTables *tables, GError **error)
{
    const char *name, *title;
    gsize i;
    json_t *one;
    if (!ifm_json_get_string(tables->manifest, "study", "name", &name, error) ||
        !ifm_json_get_string(tables->manifest, "study", "title", &title, error))
        return FALSE;
    tables->name = g_strdup(name);
    tables->title = g_strdup(title);
    tables->kind = g_strdup(study_manifest_kind(tables->manifest));
    tables->imported = json_is_object(json_object_get(tables->manifest, "imported"));
    json_array_foreach(json_object_get(tables->manifest, "sessions"), i, one)
    {
        gint64 spent_ns;
        if (!ifm_json_get_int64(one, "sessions[]", "spent_ns", &spent_ns, error))
            return FALSE;
        tables->spent_ns += spent_ns;
    }
    json_array_foreach(json_object_get(tables->manifest, "devices"), i, one)
    {
        IfmStudyDevice *device = study_read_manifest_device(one, error);
        if (device == NULL)
            return FALSE;
        g_ptr_array_add(tables->devices, device);
    }
    return TRUE;
}

static gboolean read_model(IfmStudyTables *tables, GError **error)
{
    json_t *definition, *model;
    const char *staged;
    if (!ifm_json_get_object(tables->manifest, "study", "definition", &definition, error) ||
        !ifm_json_get_object(definition, "definition", "model", &model, error) ||
        !ifm_json_get_string(model, "model", "name", &staged, error) ||
        !ifm_json_get_int64(model, "model", "features", &tables->sizes.features, error) ||
        !ifm_json_get_int64(model, "model", "hidden", &tables->sizes.hidden, error))
        return FALSE;
    tables->staged = ifm_staged_find(staged, error);
    return tables->staged != NULL;
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

IfmStudyRow *study_row_new(GPtrArray *rows, const IfmStudyDevice *device, int phase, const char *key)
{
    IfmStudyRow *row = g_new(IfmStudyRow, 1);
    *row = (IfmStudyRow){ .device = device,
                          .phase = phase,
                          .key = g_strdup(key),
                          .median_ns = NAN,
                          .mean_ns = NAN,
                          .std_ns = NAN,
                          .min_ns = NAN,
                          .max_ns = NAN,
                          .interval = { NAN, NAN, NAN },
                          .transfer_ns = NAN,
                          .compute_ns = NAN,
                          .items = NAN,
                          .flop = NAN,
                          .items_per_s = NAN,
                          .flop_per_s = NAN };
    g_ptr_array_add(rows, row);
    return row;
}

void study_row_take(const IfmStudyTables *tables, IfmStudyRow *row, IfmMeasurement *measurement, const char *refused)
{
    row->measurement = measurement;
    if (measurement != NULL && measurement->outcome == IFM_OUTCOME_OK)
        take_summary(row);
    else
        say_why_not(tables, row, refused);
}

gboolean study_row_measurement(IfmStudyTables *tables, IfmStore *store, const char *key, IfmMeasurement **measurement,
                               GError **error)
{
    GError *trouble = NULL;
    *measurement = key == NULL        ? NULL
                   : tables->imported ? ifm_store_newest(store, key, &trouble)
                                      : ifm_store_last(store, key, &trouble);
    if (*measurement != NULL)
        tables->last_unix_ms = MAX(tables->last_unix_ms, (*measurement)->started_unix_ms);
    if (trouble != NULL)
        g_propagate_error(error, trouble);
    return trouble == NULL;
}

/* @busy: as of IfmStudyRow */
static void add_row(IfmStudyTables *tables, const IfmStudyDevice *device, const IfmStudyCase *one, guint32 busy,
                    IfmMeasurement *measurement /* (transfer full) */)
{
    const IfmStage *stage = study_stage(tables->staged, one->stage);
    gboolean single = one->last == one->stage, plain = single && busy == 0;
    IfmStageSizes sizes = tables->sizes;
    sizes.nodes = one->nodes;
    sizes.edges = one->edges;
    IfmStudyRow *row = study_row_new(plain ? tables->rows : tables->ranges, device, one->phase, one->key);
    row->stage = one->stage;
    row->last = one->last;
    row->busy = busy;
    row->nodes = one->nodes;
    row->edges = one->edges;
    ifm_staged_io_bytes(tables->staged, one->stage, one->last, &sizes, &row->read_bytes, &row->written_bytes);
    row->table_bytes = single && stage->table_bytes != NULL ? stage->table_bytes(&sizes) : 0;
    study_row_take(tables, row, measurement, NULL);
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

/* "last" and "busy" stand only where a case is more than a stage alone. FALSE where they name what is not there. */
static gboolean read_range(const IfmStudyTables *tables, const json_t *json, IfmStudyCase *one, guint32 *busy)
{
    const json_t *last = json_object_get(json, "last");
    gsize i;
    json_t *alias;
    one->last = last != NULL ? (int)json_integer_value(last) : one->stage;
    *busy = 0;
    json_array_foreach(json_object_get(json, "busy"), i, alias)
    {
        guint device = 0;
        const char *name = json_string_value(alias);
        const IfmStudyDevice *found = name != NULL ? study_device_find(tables->devices, name) : NULL;
        if (found == NULL || !g_ptr_array_find(tables->devices, found, &device) || device >= 32)
            return FALSE;
        *busy |= 1u << device;
    }
    return one->last >= one->stage && study_stage(tables->staged, one->stage) != NULL &&
           study_stage(tables->staged, one->last) != NULL;
}

static gboolean read_case(IfmStudyTables *tables, IfmStore *store, const json_t *json, GError **error)
{
    static const char where[] = "cases[]";
    g_autofree char *to = NULL, *key = NULL;
    const char *alias;
    gint64 phase, stage;
    guint32 busy = 0;
    IfmStudyCase one = { 0 };
    g_autoptr(IfmMeasurement) measurement = NULL;
    if (!study_text_or_null(json, where, "key", &key, error) || !study_text_or_null(json, where, "to", &to, error) ||
        !ifm_json_get_string(json, where, "alias", &alias, error) ||
        !ifm_json_get_int64(json, where, "phase", &phase, error) ||
        !ifm_json_get_int64(json, where, "stage", &stage, error) ||
        !ifm_json_get_int64(json, where, "nodes", &one.nodes, error) ||
        !ifm_json_get_int64(json, where, "edges", &one.edges, error) ||
        !ifm_json_get_int64(json, where, "bytes", &one.bytes, error))
        return FALSE;
    one.key = key;
    one.phase = (int)phase;
    one.stage = (int)stage;
    IfmStudyDevice *device = study_device_find(tables->devices, alias);
    IfmStudyDevice *receiver = to != NULL ? study_device_find(tables->devices, to) : NULL;
    if (device == NULL || (to != NULL && receiver == NULL) || (to == NULL && !read_range(tables, json, &one, &busy)))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "%s: of %s, stage %d, which are not in it", where, alias,
                    one.stage);
        return FALSE;
    }
    if (!study_row_measurement(tables, store, key, &measurement, error))
        return FALSE;
    if (receiver != NULL)
        add_link_point(link_between(tables, device, receiver), &one, measurement);
    else
        add_row(tables, device, &one, busy, g_steal_pointer(&measurement));
    return TRUE;
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
        fit->why = g_strdup_printf("%u size%s with a latency; a line with an interval takes 3", rows->len,
                                   rows->len == 1 ? "" : "s");
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

static gboolean read_all(IfmStudyTables *tables, IfmStore *store, GError **error)
{
    const gboolean staged = g_str_equal(study_manifest_kind(tables->manifest), STUDY_DEFAULT_KIND);
    gsize i;
    json_t *one;
    if (!read_head(tables, error) || (staged && !read_model(tables, error)))
        return FALSE;
    json_array_foreach(json_object_get(tables->manifest, "cases"), i, one)
    {
        if (!(staged ? read_case : study_read_point)(tables, store, one, error))
            return FALSE;
    }
    if (!staged)
        study_finish_points(tables);
    return TRUE;
}

json_t *study_manifest_required(IfmStore *store, GError **error)
{
    json_t *manifest = NULL;
    if (study_manifest_read(store, &manifest, error) && manifest == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: holds no study", ifm_store_path(store));
    return manifest;
}

static IfmStudyTables *tables_from(IfmStore *store, json_t *manifest /* (transfer full) */, GError **error)
{
    GError *trouble = NULL;
    g_autoptr(IfmStudyTables) tables = g_new0(IfmStudyTables, 1);
    tables->manifest = manifest;
    tables->axes = g_ptr_array_new_with_free_func(g_free);
    tables->devices = g_ptr_array_new_with_free_func((GDestroyNotify)study_device_free);
    tables->rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    tables->ranges = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    tables->fits = g_ptr_array_new_with_free_func((GDestroyNotify)fit_free);
    tables->links = g_ptr_array_new_with_free_func((GDestroyNotify)link_free);
    if (!read_all(tables, store, &trouble))
    {
        gboolean wrong = g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID); /* what this program wrote is not so */
        g_set_error(error, IFM_ERROR, wrong ? IFM_ERROR_CORRUPT : trouble->code, "%s: the study in it: %s",
                    ifm_store_path(store), trouble->message);
        g_error_free(trouble);
        return NULL;
    }
    if (tables->staged != NULL)
    {
        study_mark_rows(tables->rows);
        study_mark_rows(tables->ranges);
        fit_all(tables);
    }
    return g_steal_pointer(&tables);
}

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

/* @study: NULL: over the span of the last run    @points: of a kind without stages; else one with them */
static IfmStudyTables *read_study(IfmStudy *study, IfmStore *store, gboolean points, GError **error)
{
    json_auto_t *manifest = study_manifest_required(store, error);
    const char *kind = manifest != NULL ? study_manifest_kind(manifest) : NULL;
    if (manifest == NULL || (study != NULL && !ifm_study_check_store(study, store, error)))
        return NULL;
    if (!points != g_str_equal(kind, STUDY_DEFAULT_KIND))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: the study in it is of kind %s: it has %s",
                    ifm_store_path(store), kind, points ? "no points" : "points, but no stages to look up or to plan by");
        return NULL;
    }
    json_t *updated = study != NULL ? study_manifest_update(manifest, study, error) : json_incref(manifest);
    return updated != NULL ? tables_from(store, updated, error) : NULL;
}

IfmStudyTables *ifm_study_tables(IfmStore *store, GError **error)
{
    return read_study(NULL, store, FALSE, error);
}

IfmStudyTables *ifm_study_tables_of(IfmStudy *study, IfmStore *store, GError **error)
{
    return read_study(study, store, FALSE, error);
}

IfmStudyTables *ifm_study_points(IfmStudy *study, IfmStore *store, GError **error)
{
    return read_study(study, store, TRUE, error);
}

char *ifm_study_store_kind(IfmStore *store, GError **error)
{
    json_auto_t *manifest = study_manifest_required(store, error);
    return manifest != NULL ? g_strdup(study_manifest_kind(manifest)) : NULL;
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
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "study \"%s\" has no device \"%s\" (it has %s)", tables->name,
                    alias, all->str);
        return NULL;
    }
    g_autoptr(GPtrArray) rows = rows_of(tables, device, stage, &n_known);
    g_autoptr(GArray) points = points_of(rows);
    if (rows->len > 0)
        return ifm_lookup_new((const IfmLookupPoint *)(const void *)points->data, points->len, error);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "study \"%s\" has no latency of stage %d on %s", tables->name, stage,
                alias);
    return NULL;
}
