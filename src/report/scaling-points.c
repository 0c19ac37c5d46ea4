#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "scaling-private.h"

/* The points of a row on one device: what a profile of each model says, as a scaling reads it. */

/* --- devices ---------------------------------------------------------------------------------------------------------- */

static gboolean is_device(const IfmResult *a, const IfmResult *b)
{
    return g_str_equal(a->device, b->device) && g_strcmp0(a->alias, b->alias) == 0;
}

static const IfmProfileDevice *find_device(const IfmProfileStory *story, const IfmResult *device)
{
    for (gsize i = 0; device != NULL && i < story->n_devices; i++)
        if (is_device(&story->devices[i].result, device))
            return &story->devices[i];
    return NULL;
}

/* IfmResult* of each device that was tried at any point; one that is NULL where there is none. */
static GPtrArray *devices_of(const IfmScalingRow *row)
{
    GPtrArray *devices = g_ptr_array_new();
    for (gsize i = 0; i < row->n; i++)
        for (gsize at = 0; row->refusals[i] == NULL && at < row->stories[i].n_devices; at++)
        {
            const IfmResult *result = &row->stories[i].devices[at].result;
            gboolean known = FALSE;
            for (guint k = 0; k < devices->len; k++)
                known |= is_device(devices->pdata[k], result);
            if (!known)
                g_ptr_array_add(devices, (gpointer)result);
        }
    if (devices->len == 0)
        g_ptr_array_add(devices, NULL); /* the models alone */
    return devices;
}

/* --- what a model says of itself ---------------------------------------------------------------------------------------
 */

static void add_model(IfmScalingPoint *point, const IfmProfileStory *story)
{
    IfmNodeCost total = { 0 };
    gsize n_covered;
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (story->analysis == NULL)
        return;
    ifm_analysis_total(story->analysis, &total, &n_covered);
    ifm_analysis_memory(story->analysis, &plan);
    if (total.covered) /* a part of it would grow as it likes */
        point->flop = total.flop;
    if (plan.n_unknown == 0)
        point->bytes = (double)plan.parameter_bytes + (double)plan.peak_bytes;
}

/* --- what was measured of it -------------------------------------------------------------------------------------------
 */

static void add_measured(IfmScalingPoint *point, const IfmProfileDevice *device)
{
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    if (measurement == NULL)
    {
        point->reason = ifm_result_reason(&device->result);
        return;
    }
    point->time_ns = ifm_member_number(measurement->summary, "median");
    point->interval.lower = ifm_member_number(measurement->summary, "median_interval.lower");
    point->interval.upper = ifm_member_number(measurement->summary, "median_interval.upper");
    point->process_bytes = ifm_member_number(measurement->memory, "process.growth_runs_bytes");
    point->reason = isnan(point->time_ns) ? "there is no median" : NULL;
}

/* Of graph transformers: attention's shares, and what the encoding took. @device: NULL: not measured */
static void add_transformer(IfmScalingPoint *point, const IfmProfileStory *story, const IfmProfileDevice *device)
{
    g_autoptr(GArray) parts = ifm_profile_parts(story, device);
    for (guint i = 0; parts != NULL && i < parts->len; i++)
    {
        const IfmProfilePart *part = &g_array_index(parts, IfmProfilePart, i);
        if (!g_str_equal(part->name, "attention"))
            continue;
        point->attention_flop_ratio = part->flop_ratio;
        point->attention_time_ratio = part->time_ratio;
    }
    const IfmMeasurement *encoding = story->graph != NULL ? story->graph->encoding_cost : NULL;
    if (encoding != NULL && encoding->outcome == IFM_OUTCOME_OK)
        point->encoding_ns = ifm_member_number(encoding->summary, "median");
}

/* The number that a value is; NaN of a word. */
static double number_of(const char *value)
{
    char *end;
    double number = g_ascii_strtod(value, &end);
    return end != value && *end == '\0' && isfinite(number) ? number : (double)NAN;
}

static IfmScalingPoint point_of(const IfmScalingRow *row, gsize i, const IfmResult *device)
{
    IfmScalingPoint point = { .value = row->values[i],
                              .x = number_of(row->values[i]),
                              .time_ns = NAN,
                              .interval = { NAN, NAN, 0.95 },
                              .reason = device != NULL ? "not measured" : NULL,
                              .flop = -1,
                              .bytes = NAN,
                              .process_bytes = NAN,
                              .attention_flop_ratio = NAN,
                              .attention_time_ratio = NAN,
                              .encoding_ns = NAN };
    if (row->refusals[i] != NULL)
    {
        point.reason = row->refusals[i];
        return point;
    }
    const IfmProfileDevice *of = find_device(&row->stories[i], device);
    add_model(&point, &row->stories[i]);
    add_transformer(&point, &row->stories[i], of);
    if (of != NULL)
        add_measured(&point, of);
    return point;
}

/* --- the points of one device ------------------------------------------------------------------------------------------
 */

static ScalingPart *part_of(const IfmScalingRow *row, const IfmResult *device)
{
    ScalingPart *part = g_new0(ScalingPart, 1);
    part->row = row;
    part->device = device;
    part->points = g_new(IfmScalingPoint, row->n + 1);
    part->lines = g_new0(IfmScalingLine, row->n + 1);
    for (gsize i = 0; i < row->n; i++)
        part->points[i] = point_of(row, i, device);
    part->scaling = ifm_scaling_new(part->points, row->n);
    for (gsize i = 0; i < row->n; i++)
    {
        const IfmScalingPoint *point = &part->points[i];
        const IfmProfileDevice *of = row->refusals[i] == NULL ? find_device(&row->stories[i], device) : NULL;
        part->lines[i] = (IfmScalingLine){
            .point = *point,
            .axis = row->axis,
            .device = device != NULL ? device->device : NULL,
            .alias = device != NULL ? device->alias : NULL,
            .result = of != NULL ? &of->result : NULL,
            .departure = part->scaling->departures[i],
            .flop_per_s = point->flop > 0 ? 1e9 * (double)point->flop / point->time_ns : (double)NAN,
            .departs = part->scaling->departs[i],
        };
    }
    return part;
}

void ifm_scaling_part_free(ScalingPart *part)
{
    if (part == NULL)
        return;
    ifm_scaling_free(part->scaling);
    g_free(part->points);
    g_free(part->lines);
    g_free(part);
}

GPtrArray *ifm_scaling_parts(const IfmScalingRow *row)
{
    g_autoptr(GPtrArray) devices = devices_of(row);
    GPtrArray *parts = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_scaling_part_free);
    for (guint i = 0; i < devices->len; i++)
        g_ptr_array_add(parts, part_of(row, devices->pdata[i]));
    return parts;
}
