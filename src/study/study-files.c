#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "study-pages.h"

/* A study's tables in the published formats. Their readers take keys of four words parted by commas, or "ALIAS_stageS", and
 * leave the key "_metadata" alone. */

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* An empty text, too, is null. */
static char *row_key(const IfmStudyRow *row)
{
    return g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%s,%d", row->nodes, row->edges, row->device->alias,
                           row->stage);
}

static char *fit_key(const IfmStageFit *fit)
{
    return g_strdup_printf("%s_stage%d", fit->device->alias, fit->stage);
}

/* --- what every file says of itself ----------------------------------------------------------------------------------- */

/* What the runtime called itself, by the first of the device's measurements. */
static const json_t *runtime_of(const IfmStudyTables *tables, const IfmStudyDevice *device)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        const json_t *environment = row->measurement != NULL ? row->measurement->environment : NULL;
        const json_t *runtime = row->device == device ? json_object_get(environment, "runtime") : NULL;
        if (json_is_object(runtime))
            return runtime;
    }
    return NULL;
}

static json_t *counts_to_json(const IfmStudyTables *tables, const IfmStudyDevice *device, int phase)
{
    gsize counts[IFM_ROW_STATES];
    json_t *json = json_object();
    ifm_study_row_count(tables, device, phase, counts);
    for (int state = 0; state < IFM_ROW_STATES; state++)
        json_object_set_new(json, ifm_row_state_name(state), json_integer((json_int_t)counts[state]));
    return json;
}

static json_t *device_to_json(const IfmStudyTables *tables, const IfmStudyDevice *device)
{
    const json_t *runtime = runtime_of(tables, device);
    return json_pack("{s:o,s:o,s:b,s:s,s:i,s:o,s:o,s:o,s:o}", "device", ifm_json_some_string(device->device), "description",
                     ifm_json_some_string(device->description), "simulated", device->simulated, "models",
                     ifm_study_form_name(device->form), "phase", device->phase, "runtime",
                     ifm_json_some_string(ifm_member_text(runtime, "engine")), "runtime_version",
                     ifm_json_some_string(ifm_member_text(runtime, "version")), "skipped",
                     ifm_json_some_string(device->reason), "cases", counts_to_json(tables, device, 0));
}

/* @facts: [n] what each key of the file's rows is */
static json_t *metadata(const IfmStudyTables *tables, const char *format, const IfmFact *facts, gsize n)
{
    json_t *devices = json_object();
    json_auto_t *figures = json_object();
    for (gsize i = 0; i < n; i++)
        json_object_set_new(figures, facts[i].name, json_string(facts[i].text));
    for (guint i = 0; i < tables->devices->len; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        json_object_set_new(devices, device->alias, device_to_json(tables, device));
    }
    json_t *json = ifm_json_begin(format, 1), *protocol = json_object_get(tables->definition, "protocol");
    json_object_set_new(json, "study",
                        json_pack("{s:o,s:o,s:o,s:I,s:I,s:b,s:o}", "name", ifm_json_some_string(tables->name), "title",
                                  ifm_json_some_string(tables->title), "model", ifm_json_some_string(tables->staged->name),
                                  "features", (json_int_t)tables->sizes.features, "hidden",
                                  (json_int_t)tables->sizes.hidden, "imported", tables->imported, "protocol",
                                  json_is_object(protocol) ? json_deep_copy(protocol) : json_null()));
    if (n > 0)
        json_object_set(json, "figures", figures);
    json_object_set_new(json, "devices", devices);
    return json;
}

static json_t *failure_to_json(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    return json_pack("{s:s,s:o,s:o}", "outcome", ifm_row_state_name(ifm_study_row_state(tables, row)), "error_code",
                     ifm_json_some_string(row->code), "reason", ifm_json_some_string(row->reason));
}

/* Rows that were tried, or given up for their device, and have no latency. */
static json_t *failures_to_json(const IfmStudyTables *tables)
{
    json_t *failed = json_object();
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->reason == NULL || !ifm_stage_row_listed(tables, row))
            continue;
        g_autofree char *key = row_key(row);
        json_object_set_new(failed, key, failure_to_json(tables, row));
    }
    return failed;
}

/* --- lookup_table.json ------------------------------------------------------------------------------------------------ */

static json_t *lookup_row(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    json_t *json = ifm_row_to_json(ifm_lookup_row_fields, row);
    if (tables->imported)
        json_object_set_new(json, "origin", json_string("imported"));
    if (row->doubt != NULL)
        json_object_set_new(json, "doubt", json_string(row->doubt));
    return json;
}

static json_t *leave_one_out_to_json(const IfmStudyTables *tables)
{
    json_t *errors = json_object();
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        g_autofree char *key = fit_key(fit);
        if (fit->has_lookup)
            json_object_set_new(errors, key, ifm_row_to_json(ifm_lookup_error_fields, &fit->lookup_error));
    }
    return errors;
}

static const IfmFact lookup_facts[] = {
    { "total_time_ms", "median of the runs; of an imported table, what it says" },
    { "transfer_time_ms", "data bytes / bandwidth of the regression over all sizes, see bandwidth_table.json: an estimate, "
                          "no measurement of a transfer; null where split_why says why" },
    { "compute_time_ms", "total_time_ms - transfer_time_ms" },
    { "interval_lower_ms to interval_upper_ms", "95 % confidence interval of the median" },
    { "leave_one_out", "ratios of |predicted / measured - 1|, each size predicted from all others by interpolation" },
};

json_t *ifm_study_lookup_json(const IfmStudyTables *tables)
{
    json_t *json = json_object();
    json_t *about = metadata(tables, "lookup_table", lookup_facts, G_N_ELEMENTS(lookup_facts));
    json_object_set_new(about, "failed", failures_to_json(tables));
    json_object_set_new(about, "leave_one_out", leave_one_out_to_json(tables));
    json_object_set_new(json, "_metadata", about);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        g_autofree char *key = row_key(row);
        if (row->reason == NULL)
            json_object_set_new(json, key, lookup_row(tables, row));
    }
    return json;
}

/* --- bandwidth_table.json --------------------------------------------------------------------------------------------- */

/* MB/s, or null. */
static json_t *mb_per_s(const IfmBandwidthFit *fit, double bytes_per_s)
{
    return fit->identifiable ? real_or_null(bytes_per_s / MB) : json_null();
}

/* The line and what is read from it. @intercept: what its intercept is called: "intercept", "fixed". */
static void set_line(json_t *json, gboolean fitted, const IfmBandwidthFit *fit, const char *intercept)
{
    const double ns_to_ms_mb = MB / 1e6;
    const struct
    {
        const char *name, *part;
        double value;
    } lines[] = {
        { "slope", "_ms_per_mb", fit->slope_ns_per_byte * ns_to_ms_mb },
        { "slope", "_lower_ms_per_mb", fit->slope_interval.lower * ns_to_ms_mb },
        { "slope", "_upper_ms_per_mb", fit->slope_interval.upper * ns_to_ms_mb },
        { intercept, "_ms", fit->intercept_ns / 1e6 },
        { intercept, "_lower_ms", fit->intercept_interval.lower / 1e6 },
        { intercept, "_upper_ms", fit->intercept_interval.upper / 1e6 },
        { "", "level", fit->slope_interval.level },
        { "", "r_squared", fit->r_squared },
        { "", "residual_std_ms", fit->residual_std_ns / 1e6 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_autofree char *key = g_strconcat(lines[i].name, lines[i].part, NULL);
        json_object_set_new(json, key, fitted ? real_or_null(lines[i].value) : json_null());
    }
    gboolean known = fitted && fit->identifiable;
    json_object_set_new(json, "identifiable", json_boolean(known));
    json_object_set_new(json, "mb_per_s_lower", known ? mb_per_s(fit, fit->bytes_per_s_interval.lower) : json_null());
    json_object_set_new(json, "mb_per_s_upper", known ? mb_per_s(fit, fit->bytes_per_s_interval.upper) : json_null());
}

/* Why rows have no split: how many for each reason. */
static json_t *not_split_to_json(const IfmStudyTables *tables, const IfmStageFit *fit)
{
    json_t *reasons = json_object();
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device != fit->device || row->stage != fit->stage || row->reason != NULL || row->split_why == NULL)
            continue;
        g_autofree char *why = g_utf8_make_valid(row->split_why, -1);
        json_object_set_new(reasons, why, json_integer(json_integer_value(json_object_get(reasons, why)) + 1));
    }
    return reasons;
}

static json_t *fit_to_json(const IfmStudyTables *tables, const IfmStageFit *fit)
{
    json_t *json = json_pack("{s:I}", "n", fit->fitted ? (json_int_t)fit->bandwidth.n : 0);
    set_line(json, fit->fitted, &fit->bandwidth, "intercept");
    json_object_update_new(json, json_pack("{s:o,s:I,s:I,s:o}", "why",
                                           ifm_json_some_string(fit->fitted ? fit->bandwidth.why : fit->why), "n_rows",
                                           (json_int_t)fit->n_rows, "n_split", (json_int_t)fit->n_split, "not_split",
                                           not_split_to_json(tables, fit)));
    return json;
}

static json_t *link_to_json(const IfmLinkFit *link)
{
    const IfmBandwidthFit *fit = &link->bandwidth;
    json_t *points = json_array();
    for (gsize i = 0; i < link->n; i++)
        json_array_append_new(points, json_pack("{s:I,s:o}", "bytes", (json_int_t)link->bytes[i], "median_ms",
                                                real_or_null(link->median_ns[i] / 1e6)));
    json_t *json =
        json_pack("{s:o,s:o,s:b,s:b,s:b,s:b,s:I,s:o}", "from", ifm_json_some_string(link->from->alias), "to",
                  ifm_json_some_string(link->to->alias), "simulated", link->from->simulated || link->to->simulated,
                  "shared", link->shared, "assumed", link->assumed, "within_inference", link->within_inference, "n",
                  (json_int_t)link->n, "mb_per_s", link->fitted ? mb_per_s(fit, fit->bytes_per_s) : json_null());
    set_line(json, link->fitted, fit, "fixed");
    json_object_set_new(json, "why", ifm_json_some_string(link->fitted ? fit->why : link->why));
    json_object_set_new(json, "points", points);
    return json;
}

static const IfmFact bandwidth_facts[] = {
    { "ALIAS_stageS", "MB/s (2^20 bytes), 1 / slope of latency over data size (data_bytes: inputs alone) by least squares: "
                      "compute grows with the size, too, so this is an estimate; left out where it is unknown, and fits "
                      "says why" },
    { "fits", "the lines, with their intervals and how many rows could be split by them" },
    { "links", "moving a tensor from one device to another: a fixed cost and a bandwidth over the medians of points" },
    { "imported_mb_per_s", "what a bandwidth_table.json that was read in says, where there was one; published ones count "
                           "inputs and outputs, so they are not comparable one to one" },
};

json_t *ifm_study_bandwidth_json(const IfmStudyTables *tables)
{
    json_t *json = json_object(), *fits = json_object(), *links = json_array();
    json_t *about = metadata(tables, "bandwidth_table", bandwidth_facts, G_N_ELEMENTS(bandwidth_facts));
    json_object_set_new(json, "_metadata", about);
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        g_autofree char *key = fit_key(fit);
        if (fit->fitted &&
            fit->bandwidth.identifiable) /* published readers stop at a null; `fits` says why there is none */
            json_object_set_new(json, key, mb_per_s(&fit->bandwidth, fit->bandwidth.bytes_per_s));
        json_object_set_new(fits, key, fit_to_json(tables, fit));
    }
    for (guint i = 0; i < tables->links->len; i++)
        json_array_append_new(links, link_to_json(tables->links->pdata[i]));
    json_object_set_new(about, "fits", fits);
    json_object_set_new(about, "links", links);
    if (tables->bandwidth != NULL)
        json_object_set(about, "imported_mb_per_s", tables->bandwidth);
    return json;
}

/* --- raw_measurements.json, checkpoints ------------------------------------------------------------------------------- */

static json_t *samples_to_json(const IfmMeasurement *measurement)
{
    json_t *samples = json_array();
    for (guint i = 0; measurement != NULL && i < measurement->samples_ns->len; i++)
        json_array_append_new(samples, json_real((double)g_array_index(measurement->samples_ns, gint64, i) / 1e6));
    return samples;
}

static json_t *raw_row(const IfmStudyTables *tables, const IfmStudyRow *row)
{
    if (row->reason != NULL)
    {
        json_t *failed = json_pack("{s:b}", "failed", TRUE);
        json_object_update_new(failed, failure_to_json(tables, row));
        return failed;
    }
    json_t *json = ifm_row_to_json(ifm_raw_row_fields, row);
    json_object_set_new(json, "samples_ms", samples_to_json(row->measurement));
    if (row->doubt != NULL)
        json_object_set_new(json, "doubt", json_string(row->doubt));
    return json;
}

static const IfmFact raw_facts[] = {
    { "mean, std, min, max, median", "ms, of samples_ms; std with n - 1" },
    { "interval_lower_ms to interval_upper_ms", "95 % confidence interval of the median" },
    { "data_bytes", "the data size the tables count: the stage's inputs, features and index, in float32 and int64" },
    { "read_bytes, written_bytes", "what the stage really reads and writes, without weights" },
};

json_t *ifm_study_raw_json(const IfmStudyTables *tables, int phase)
{
    json_t *json = json_object();
    json_t *about = metadata(tables, "raw_measurements", raw_facts, G_N_ELEMENTS(raw_facts));
    json_object_set_new(about, "phase", phase != 0 ? json_integer(phase) : json_null());
    json_object_set_new(about, "cases", counts_to_json(tables, NULL, phase));
    json_object_set_new(json, "_metadata", about);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if ((phase != 0 && row->phase != phase) || !ifm_stage_row_listed(tables, row))
            continue;
        g_autofree char *key = row_key(row);
        json_object_set_new(json, key, raw_row(tables, row));
    }
    return json;
}

/* --- all files ----------------------------------------------------------------------------------------------------------
 */

/* (transfer full) IfmStudyRow*, borrowed. */
static GPtrArray *listed_rows(const IfmStudyTables *tables)
{
    GPtrArray *records = g_ptr_array_new();
    for (guint i = 0; i < tables->rows->len; i++)
        if (ifm_stage_row_listed(tables, tables->rows->pdata[i]))
            g_ptr_array_add(records, tables->rows->pdata[i]);
    return records;
}

char *ifm_study_stages_to_csv(const IfmStudyTables *tables)
{
    g_autoptr(GPtrArray) records = listed_rows(tables);
    return ifm_rows_to_csv(ifm_stage_row_fields, records);
}

json_t *ifm_study_stages_to_json(const IfmStudyTables *tables)
{
    g_autoptr(GPtrArray) records = listed_rows(tables);
    json_t *json = metadata(tables, "study_stages", NULL, 0);
    json_object_set_new(json, "stages", ifm_rows_to_json(ifm_stage_row_fields, records));
    return json;
}

static char *report_of(const IfmStudyTables *tables)
{
    return ifm_document_show(ifm_study_document(tables, IFM_STUDY_REPORT, NULL),
                             &(IfmScreen){ .width = 100, .utf8 = TRUE });
}

/* Steals @json. */
static gboolean write_json(const char *folder, const char *name, json_t *json, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    gboolean written = ifm_output_write_json(path, json, error);
    json_decref(json);
    return written;
}

/* Steals @text. */
static gboolean write_text(const char *folder, const char *name, char *text, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *owned = text;
    return ifm_output_write(path, owned, strlen(owned), error);
}

gboolean ifm_study_write(const IfmStudyTables *tables, const char *folder, GError **error)
{
    return write_json(folder, "raw_measurements.json", ifm_study_raw_json(tables, 0), error) &&
           write_json(folder, "checkpoint_cpugpu.json", ifm_study_raw_json(tables, 1), error) &&
           write_json(folder, "checkpoint_npu.json", ifm_study_raw_json(tables, 2), error) &&
           write_json(folder, "lookup_table.json", ifm_study_lookup_json(tables), error) &&
           write_json(folder, "bandwidth_table.json", ifm_study_bandwidth_json(tables), error) &&
           write_text(folder, "stages.csv", ifm_study_stages_to_csv(tables), error) &&
           (tables->ranges->len == 0 || write_text(folder, "ranges.csv", ifm_study_ranges_csv(tables), error)) &&
           write_text(folder, "profiling_report.txt", report_of(tables), error);
}
