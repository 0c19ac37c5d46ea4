#include <math.h>

#include <base/fields.h>

#include "scaling-private.h"

/* How a model grows, for programs. */

static const IfmRecordField interval_fields[] = { { IFM_RECORD(DOUBLE, IfmInterval, lower) },
                                                  { IFM_RECORD(DOUBLE, IfmInterval, upper) },
                                                  { IFM_RECORD(DOUBLE, IfmInterval, level) },
                                                  { NULL } };

static const IfmRecordField fit_fields[] = {
    { IFM_RECORD(DOUBLE, IfmPowerFit, exponent) },
    { IFM_RECORD(PART, IfmPowerFit, interval), IFM_FIELDS_OF(interval_fields, IfmInterval) },
    { IFM_RECORD(DOUBLE, IfmPowerFit, last) },
    { IFM_RECORD(PART, IfmPowerFit, last_interval), IFM_FIELDS_OF(interval_fields, IfmInterval) },
    { IFM_RECORD(DOUBLE, IfmPowerFit, factor) },
    { IFM_RECORD(DOUBLE, IfmPowerFit, r_squared) },
    { IFM_RECORD(SIZE, IfmPowerFit, n) },
    { NULL },
};

static json_t *fit_to_json(gboolean stands, const IfmPowerFit *fit)
{
    if (!stands)
        return json_null();
    json_t *json = ifm_record_to_json(fit, fit_fields);
    if (isnan(fit->interval.lower) || isnan(fit->interval.upper))
        json_object_set_new(json, "interval", json_null());
    if (isnan(fit->last_interval.lower) || isnan(fit->last_interval.upper))
        json_object_set_new(json, "last_interval", json_null());
    return json;
}

/* add_findings: What the points of a pass come to. @json: (inout) an object */
static void add_findings(json_t *json, const IfmScalingPart *part)
{
    const IfmScaling *scaling = part->scaling;
    g_autoptr(GPtrArray) records = ifm_scaling_records(part);
    json_t *fits = json_object();
    json_object_set_new(fits, "time", fit_to_json(scaling->has_time, &scaling->time));
    json_object_set_new(fits, "flop", fit_to_json(scaling->has_flop, &scaling->flop));
    json_object_set_new(fits, "bytes", fit_to_json(scaling->has_bytes, &scaling->bytes));
    json_object_set_new(fits, "attention_bytes", fit_to_json(scaling->has_attention, &scaling->attention));
    json_object_set_new(json, "points", ifm_rows_to_json(ifm_scaling_line_fields, records));
    json_object_set_new(json, "fits", fits);
    json_object_set_new(json, "why", ifm_json_text(scaling->why));
    json_object_set_new(json, "n_without_interval", json_integer((json_int_t)scaling->n_bare));
    json_object_set_new(json, "without_interval_fitted", json_boolean(scaling->bare_fitted));
    json_object_set_new(json, "max_flop_per_s", ifm_json_real(scaling->max_flop_per_s));
}

static json_t *part_to_json(const IfmScalingPart *part)
{
    const IfmResult *device = part->device;
    json_t *passes = part->passes->len > 0 ? json_array() : json_null(), *json = json_object();
    json_object_set_new(json, "device", ifm_json_text(device != NULL ? device->device : NULL));
    json_object_set_new(json, "alias", ifm_json_text(device != NULL ? device->alias : NULL));
    add_findings(json, part);
    for (guint i = 0; i < part->passes->len; i++)
    {
        const IfmScalingPart *pass = part->passes->pdata[i];
        json_t *reported = json_object();
        json_object_set_new(reported, "pass", json_string(ifm_pass_key(pass->kind)));
        add_findings(reported, pass);
        json_array_append_new(passes, reported);
    }
    json_object_set_new(json, "passes", passes);
    return json;
}

static json_t *row_to_json(const IfmScalingRow *row)
{
    const IfmProfileMode *mode = ifm_scaling_mode(row);
    json_t *json = json_object(), *devices = json_array(), *values = json_array();
    g_autoptr(GPtrArray) parts = ifm_scaling_parts(row);
    for (guint i = 0; i < parts->len; i++)
        json_array_append_new(devices, part_to_json(parts->pdata[i]));
    for (gsize i = 0; i < row->n; i++)
        json_array_append_new(values, ifm_json_string(row->values[i]));
    json_object_set_new(json, "axis", ifm_json_string(row->axis));
    json_object_set_new(json, "help", ifm_json_text(row->help));
    json_object_set_new(json, "pass", ifm_json_text(mode != NULL ? ifm_pass_key(mode->asked) : NULL));
    json_object_set_new(json, "values", values);
    json_object_set_new(json, "devices", devices);
    return json;
}

/* @kind: of @report; -1: there is no mode */
static void add_results(json_t *cases, const IfmProfileReport *report, int kind)
{
    for (gsize i = 0; i < report->n_devices; i++)
    {
        json_t *entry = ifm_result_to_json(&report->devices[i].result);
        if (kind >= 0)
            json_object_set_new(entry, "pass", json_string(ifm_pass_key(kind)));
        json_array_append_new(cases, entry);
    }
}

/* The records that the points stand on, samples included; with a mode that of the pass that was asked for first. */
static void add_cases(json_t *cases, const IfmScalingRow *row)
{
    for (gsize i = 0; i < row->n; i++)
    {
        const IfmProfileMode *mode = row->refusals[i] == NULL ? row->reports[i].mode : NULL;
        if (row->refusals[i] == NULL)
            add_results(cases, &row->reports[i], mode != NULL ? (int)mode->asked : -1);
        for (int kind = 0; mode != NULL && kind < IFM_N_PASSES; kind++)
            if (kind != (int)mode->asked && mode->passes[kind] != NULL)
                add_results(cases, mode->passes[kind], kind);
    }
}

json_t *ifm_scaling_add_json(json_t *profile, const IfmScalingRow *rows, gsize n_rows)
{
    json_t *json = profile != NULL ? profile : ifm_results_to_json(NULL, 0);
    json_t *scaling = json_array();
    for (gsize i = 0; i < n_rows; i++)
    {
        json_array_append_new(scaling, row_to_json(&rows[i]));
        add_cases(json_object_get(json, "cases"), &rows[i]);
    }
    json_object_set_new(json, "scaling", scaling);
    return json;
}

static void append_lines(GString *out, const IfmScalingPart *part)
{
    for (gsize i = 0; i < part->row->n; i++)
        ifm_csv_append_record(out, ifm_scaling_line_fields, &part->lines[i]);
}

char *ifm_scaling_to_csv(const IfmScalingRow *rows, gsize n_rows)
{
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, ifm_scaling_line_fields);
    for (gsize i = 0; i < n_rows; i++)
    {
        g_autoptr(GPtrArray) parts = ifm_scaling_parts(&rows[i]);
        for (guint at = 0; at < parts->len; at++)
        {
            const IfmScalingPart *part = parts->pdata[at];
            for (guint k = 0; k < part->passes->len; k++)
                append_lines(out, part->passes->pdata[k]);
            if (part->passes->len == 0)
                append_lines(out, part);
        }
    }
    return g_string_free(out, FALSE);
}
