#include <math.h>

#include <inferometer/json.h>

#include "scaling-private.h"

/* How a model grows, for programs. */

static json_t *interval_to_json(const IfmInterval *interval)
{
    if (isnan(interval->lower) || isnan(interval->upper))
        return json_null();
    return json_pack("{s:o,s:o,s:o}", "lower", ifm_json_real(interval->lower), "upper", ifm_json_real(interval->upper),
                     "level", ifm_json_real(interval->level));
}

static json_t *fit_to_json(gboolean stands, const IfmPowerFit *fit)
{
    if (!stands)
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:I}", "exponent", ifm_json_real(fit->exponent), "interval",
                     interval_to_json(&fit->interval), "last", ifm_json_real(fit->last), "last_interval",
                     interval_to_json(&fit->last_interval), "factor", ifm_json_real(fit->factor), "r_squared",
                     ifm_json_real(fit->r_squared), "n", (json_int_t)fit->n);
}

static json_t *part_to_json(const ScalingPart *part)
{
    const IfmScaling *scaling = part->scaling;
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (gsize i = 0; i < part->row->n; i++)
        g_ptr_array_add(records, &part->lines[i]);
    IfmTable table = { ifm_scaling_line_fields, (const void *const *)records->pdata, records->len };
    const IfmResult *device = part->device;
    return json_pack(
        "{s:o,s:o,s:o,s:{s:o,s:o,s:o},s:o,s:o}", "device", device != NULL ? ifm_json_string(device->device) : json_null(),
        "alias", device != NULL && device->alias != NULL ? ifm_json_string(device->alias) : json_null(), "points",
        ifm_table_to_json(&table), "fits", "time", fit_to_json(scaling->has_time, &scaling->time), "flop",
        fit_to_json(scaling->has_flop, &scaling->flop), "bytes", fit_to_json(scaling->has_bytes, &scaling->bytes), "why",
        scaling->why != NULL ? ifm_json_string(scaling->why) : json_null(), "most_flop_per_s",
        ifm_json_real(scaling->most_flop_per_s));
}

static json_t *row_to_json(const IfmScalingRow *row)
{
    json_t *devices = json_array(), *values = json_array();
    g_autoptr(GPtrArray) parts = ifm_scaling_parts(row);
    for (guint i = 0; i < parts->len; i++)
        json_array_append_new(devices, part_to_json(parts->pdata[i]));
    for (gsize i = 0; i < row->n; i++)
        json_array_append_new(values, ifm_json_string(row->values[i]));
    return json_pack("{s:o,s:o,s:s?,s:o,s:o}", "axis", ifm_json_string(row->axis), "help",
                     row->help != NULL ? ifm_json_string(row->help) : json_null(), "pass", row->pass, "values", values,
                     "devices", devices);
}

/* The records that the points stand on, samples included. */
static void add_cases(json_t *cases, const IfmScalingRow *row)
{
    for (gsize i = 0; i < row->n; i++)
        for (gsize at = 0; row->refusals[i] == NULL && at < row->stories[i].n_devices; at++)
            json_array_append_new(cases, ifm_result_to_json(&row->stories[i].devices[at].result));
}

json_t *ifm_scaling_add_json(json_t *profile, const IfmScalingRow *rows, gsize n_rows)
{
    json_t *json = profile != NULL ? profile
                                   : json_pack("{s:{s:s,s:s,s:i},s:[]}", "inferometer", "version", IFM_VERSION, "format",
                                               "cases", "format_version", 1, "cases");
    json_t *scaling = json_array();
    for (gsize i = 0; i < n_rows; i++)
    {
        json_array_append_new(scaling, row_to_json(&rows[i]));
        add_cases(json_object_get(json, "cases"), &rows[i]);
    }
    json_object_set_new(json, "scaling", scaling);
    return json;
}

char *ifm_scaling_to_csv(const IfmScalingRow *rows, gsize n_rows)
{
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, ifm_scaling_line_fields);
    for (gsize i = 0; i < n_rows; i++)
    {
        g_autoptr(GPtrArray) parts = ifm_scaling_parts(&rows[i]);
        for (guint at = 0; at < parts->len; at++)
            for (gsize point = 0; point < rows[i].n; point++)
                ifm_csv_append_record(out, ifm_scaling_line_fields, &((const ScalingPart *)parts->pdata[at])->lines[point]);
    }
    return g_string_free(out, FALSE);
}
