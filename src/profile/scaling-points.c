#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <measure/rounds.h>
#include <profile/figures.h>

/* The points of a row on one device: what a profile of each model says, as a scaling reads it. */

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* IfmResult* of each device that was tried at any point; one that is NULL where there is none. */
static GPtrArray *devices_of(const IfmScalingRow *row)
{
    GPtrArray *devices = g_ptr_array_new();
    for (gsize i = 0; i < row->n; i++)
        for (gsize at = 0; row->refusals[i] == NULL && at < row->reports[i].n_devices; at++)
        {
            const IfmResult *result = &row->reports[i].devices[at].result;
            gsize before = 0;
            while (before < i &&
                   (row->refusals[before] != NULL || ifm_profile_find_device(&row->reports[before], result) == NULL))
                before++;
            if (before == i)
                g_ptr_array_add(devices, (gpointer)result);
        }
    if (devices->len == 0)
        g_ptr_array_add(devices, NULL); /* the models alone */
    return devices;
}

/* --- passes ------------------------------------------------------------------------------------------------------------
 */

const IfmProfileMode *ifm_scaling_mode(const IfmScalingRow *row)
{
    for (gsize i = 0; i < row->n; i++)
        if (row->refusals[i] == NULL)
            return row->reports[i].mode;
    return NULL;
}

/* A point's report of a pass; NULL where that is not run. */
static const IfmProfileReport *report_of(const IfmScalingRow *row, gsize i, int kind)
{
    const IfmProfileReport *report = &row->reports[i];
    if (report->mode == NULL || kind == (int)report->mode->asked)
        return report;
    return kind >= IFM_N_PASSES ? NULL : report->mode->passes[kind];
}

/* --- what a model says of itself ---------------------------------------------------------------------------------------
 */

static void add_model(IfmScalingPoint *point, const IfmProfileReport *report)
{
    IfmNodeCost total = { 0 };
    gsize n_covered;
    g_auto(IfmMemoryPlan) plan = { 0 };
    if (report->analysis == NULL)
        return;
    ifm_analysis_total(report->analysis, &total, &n_covered);
    ifm_analysis_memory(report->analysis, &plan);
    if (total.covered) /* a part of it would grow as it likes */
        point->flop = total.flop;
    if (plan.n_unknown == 0)
        point->bytes = (double)plan.parameter_bytes + (double)plan.peak_bytes;
}

/* --- what was measured of it -------------------------------------------------------------------------------------------
 */

static void take_summary(IfmScalingPoint *point, const IfmSummary *summary)
{
    point->time_ns = summary->median;
    point->mean_ns = summary->mean;
    point->std_ns = summary->std;
    point->min_ns = summary->min;
    point->max_ns = summary->max;
}

/* Points are compared by processes that took turns, and not each by a process of its own time. */
static void add_rounds(IfmScalingPoint *point, const IfmMeasurement *measurement)
{
    IfmRoundsOfOne of;
    if (measurement == NULL)
        return;
    ifm_rounds_of_one(measurement, &of);
    if (of.n == 0)
        return;
    take_summary(point, &measurement->summary);
    point->n_rounds = of.n;
    point->time_ns = of.median_ns;
    point->least_ns = of.least_ns;
    point->most_ns = of.most_ns;
    point->disturbed = of.most_ns > IFM_SCALING_DISTURBED * of.least_ns;
    point->interval = of.interval;
}

static void add_measured(IfmScalingPoint *point, const IfmProfileDevice *device)
{
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    if (measurement == NULL)
    {
        point->reason = ifm_result_reason(&device->result);
        return;
    }
    take_summary(point, &measurement->summary);
    point->interval.lower = measurement->summary.median_interval.lower;
    point->interval.upper = measurement->summary.median_interval.upper;
    add_rounds(point, device->rounds);
    point->process_bytes = ifm_member_number(measurement->memory, "process.growth_runs_bytes");
    point->allocator_bytes = ifm_member_number(measurement->memory, "device.peak_bytes");
    if (isnan(point->allocator_bytes)) /* the runtime has no memory but the host's */
        point->allocator_bytes = ifm_member_number(measurement->memory, "engine.peak_bytes");
    IfmModelEnergy energy;
    if (ifm_model_energy(measurement, &energy))
    {
        point->energy_j = energy.gross_j;
        point->energy_lower_j = energy.gross_lower_j;
        point->energy_upper_j = energy.gross_upper_j;
        point->no_energy = energy.unavailable;
    }
    point->reason = isnan(point->time_ns) ? "there is no median" : NULL;
}

/* Of graph transformers: attention's shares and memory, and what the encoding took. @device: NULL: not measured */
static void add_transformer(IfmScalingPoint *point, const IfmProfileReport *report, const IfmProfileDevice *device)
{
    g_autoptr(IfmKernels) kernels = device != NULL && report->graph != NULL ? ifm_profile_kernels(report, device) : NULL;
    g_autoptr(GArray) parts = ifm_profile_parts(report, kernels);
    for (guint i = 0; parts != NULL && i < parts->len; i++)
    {
        const IfmModelPart *part = &g_array_index(parts, IfmModelPart, i);
        if (!g_str_equal(part->name, "attention"))
            continue;
        point->attention_flop_ratio = part->flop_ratio;
        point->attention_time_ratio = part->time_ratio;
    }
    if (report->graph == NULL)
        return;
    g_autoptr(GArray) memory = ifm_profile_memory_rows(report, NULL);
    g_autoptr(GArray) storage = ifm_profile_storage_rows(report->graph);
    point->attention_estimated_bytes = ifm_memory_row_bytes(memory, "attention_estimated");
    point->attention_planned_bytes = ifm_memory_row_bytes(memory, "attention_planned");
    if (storage->len > 0) /* that of nodes */
    {
        point->encoding_estimated_bytes = g_array_index(storage, IfmStorageRow, 0).estimated;
        point->encoding_held_bytes = g_array_index(storage, IfmStorageRow, 0).held;
    }
    const IfmMeasurement *encoding = report->graph->encoding_cost;
    if (encoding != NULL && encoding->outcome == IFM_OUTCOME_OK)
        point->encoding_ns = encoding->summary.median;
}

/* Of the rounds in which all passes of a point took turns; of a difference, of which there is no measurement, in any case.
 */
static void add_pass(IfmScalingPoint *point, const IfmProfileReport *report, const IfmResult *device, int kind)
{
    const IfmProfileDevice *of = ifm_profile_find_device(report, device);
    IfmTiming timing;
    if (kind < 0 || (kind < IFM_N_PASSES && ifm_mode_rounds(report->mode, of) == 0))
        return;
    ifm_mode_timing(report->mode, kind, of, &timing);
    point->time_ns = timing.median_ns;
    point->mean_ns = timing.mean_ns;
    point->std_ns = timing.std_ns;
    point->interval = timing.interval;
}

/* A difference is as disturbed as what it is of. */
static void add_difference(IfmScalingPoint *point, const IfmProfileReport *report, const IfmResult *device, int kind)
{
    IfmPassKind of[2];
    IfmWork work;
    ifm_pass_parts(kind, &of[0], &of[1]);
    for (gsize i = 0; i < G_N_ELEMENTS(of); i++)
    {
        const IfmProfileDevice *part = ifm_mode_device(report->mode, of[i], ifm_profile_find_device(report, device));
        IfmScalingPoint rounds = { 0 };
        add_rounds(&rounds, part != NULL ? part->rounds : NULL);
        point->disturbed |= rounds.disturbed;
    }
    point->n_rounds = ifm_mode_rounds(report->mode, ifm_profile_find_device(report, device));
    ifm_mode_work(report->mode, kind, &work);
    point->flop = isfinite(work.flop) ? (gint64)work.flop : -1;
    if (point->reason != NULL)
        point->reason = isfinite(point->time_ns)    ? NULL
                        : kind == IFM_PASS_BACKWARD ? "forward or training pass has no time"
                                                    : "training pass or training step has no time";
}

static IfmScalingPoint point_of(const IfmScalingRow *row, gsize i, const IfmResult *device, int kind)
{
    IfmScalingPoint point = { .value = row->values[i],
                              .x = ifm_number_of(row->values[i]),
                              .time_ns = NAN,
                              .mean_ns = NAN,
                              .least_ns = NAN,
                              .most_ns = NAN,
                              .std_ns = NAN,
                              .min_ns = NAN,
                              .max_ns = NAN,
                              .interval = { NAN, NAN, 0.95 },
                              .reason = device != NULL ? "not measured" : NULL,
                              .flop = -1,
                              .bytes = NAN,
                              .process_bytes = NAN,
                              .allocator_bytes = NAN,
                              .energy_j = NAN,
                              .energy_lower_j = NAN,
                              .energy_upper_j = NAN,
                              .attention_flop_ratio = NAN,
                              .attention_time_ratio = NAN,
                              .attention_estimated_bytes = NAN,
                              .attention_planned_bytes = NAN,
                              .encoding_ns = NAN,
                              .encoding_estimated_bytes = NAN,
                              .encoding_held_bytes = NAN };
    if (row->refusals[i] != NULL)
    {
        point.reason = row->refusals[i];
        return point;
    }
    const IfmProfileReport *report = report_of(row, i, kind);
    if (report == NULL)
    {
        add_pass(&point, &row->reports[i], device, kind);
        add_difference(&point, &row->reports[i], device, kind);
        return point;
    }
    const IfmProfileDevice *of = ifm_profile_find_device(report, device);
    add_model(&point, report);
    add_transformer(&point, report, of);
    if (of != NULL)
        add_measured(&point, of);
    if (row->reports[i].mode != NULL)
        add_pass(&point, &row->reports[i], device, kind);
    return point;
}

/* --- the points of one device ------------------------------------------------------------------------------------------
 */

static IfmScalingLine line_of(const IfmScalingPart *part, gsize i)
{
    const IfmScalingRow *row = part->row;
    const IfmScalingPoint *point = &part->points[i];
    const IfmProfileReport *report = row->refusals[i] == NULL ? report_of(row, i, part->kind) : NULL;
    const IfmProfileDevice *of = report != NULL ? ifm_profile_find_device(report, part->device) : NULL;
    gboolean has_rate = point->flop > 0 && point->time_ns > 0;
    return (IfmScalingLine){
        .point = *point,
        .axis = row->axis,
        .device = part->device != NULL ? part->device->device : NULL,
        .alias = part->device != NULL ? part->device->alias : NULL,
        .pass = part->kind >= 0 ? ifm_pass_key(part->kind) : NULL,
        .result = of != NULL ? &of->result : NULL,
        .departure = part->scaling->departures[i],
        .flop_per_s = has_rate ? 1e9 * (double)point->flop / point->time_ns : (double)NAN,
        .departs = part->scaling->departs[i],
    };
}

/* A time that one of another size contradicts is none: nothing follows from it. By the models' FLOP. */
static void drop_implausible(IfmScalingPart *part, gsize n)
{
    g_autofree double *flop = g_new(double, n + 1);
    g_autofree IfmTimedWork *cases = g_new(IfmTimedWork, n + 1);
    g_autofree IfmContradiction *found = g_new(IfmContradiction, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        const IfmScalingPoint *point = &part->points[i];
        flop[i] = point->flop > 0 ? (double)point->flop : (double)NAN;
        cases[i] = (IfmTimedWork){ &flop[i], point->time_ns, point->interval.lower, point->interval.upper, point->std_ns };
    }
    ifm_find_implausible(cases, n, 1, found);
    for (gsize i = 0; i < n; i++)
    {
        IfmScalingPoint *point = &part->points[i];
        if (found[i].kind == IFM_IS_PLAUSIBLE)
            continue;
        const IfmTimedWork *own = &cases[i], *other = &cases[found[i].against];
        const gboolean doubtful = found[i].kind == IFM_IS_DOUBTFUL;
        g_autofree char *time = ifm_format_duration(own->ns), *others = ifm_format_duration(other->ns);
        char *why =
            g_strdup_printf("%s: %s, but %s %s, which is %s work, took %s%s", doubtful ? "doubtful" : IFM_IMPLAUSIBLE, time,
                            part->row->axis, part->points[found[i].against].value, own->ns < other->ns ? "less" : "more",
                            others, doubtful ? "; which of the two is wrong is not known" : "");
        g_ptr_array_add(part->reasons, why);
        *(doubtful ? &point->doubt : &point->reason) = why;
        point->implausible = !doubtful;
        if (doubtful)
            continue;
        point->time_ns = NAN;
        point->interval = (IfmInterval){ NAN, NAN, point->interval.level };
    }
}

static IfmScalingPart *pass_of(const IfmScalingRow *row, const IfmResult *device, int kind)
{
    IfmScalingPart *part = g_new0(IfmScalingPart, 1);
    part->row = row;
    part->device = device;
    part->kind = kind;
    part->points = g_new(IfmScalingPoint, row->n + 1);
    part->lines = g_new0(IfmScalingLine, row->n + 1);
    for (gsize i = 0; i < row->n; i++)
        part->points[i] = point_of(row, i, device, kind);
    part->reasons = g_ptr_array_new_with_free_func(g_free);
    drop_implausible(part, row->n);
    part->scaling = ifm_scaling_new(part->points, row->n);
    for (gsize i = 0; i < row->n; i++)
        part->lines[i] = line_of(part, i);
    return part;
}

static IfmScalingPart *part_of(const IfmScalingRow *row, const IfmResult *device)
{
    const IfmProfileMode *mode = ifm_scaling_mode(row);
    IfmScalingPart *part = pass_of(row, device, mode != NULL ? (int)mode->asked : -1);
    part->passes = g_ptr_array_new();
    for (gsize i = 0; i < IFM_N_PASS_FIGURES && mode != NULL; i++)
        if (ifm_pass_order[i] == part->kind)
            g_ptr_array_add(part->passes, part);
        else if (ifm_mode_has_pass(mode, ifm_pass_order[i]))
            g_ptr_array_add(part->passes, pass_of(row, device, ifm_pass_order[i]));
    return part;
}

static void part_free(IfmScalingPart *part)
{
    if (part == NULL)
        return;
    for (guint i = 0; part->passes != NULL && i < part->passes->len; i++)
        if (part->passes->pdata[i] != part)
            part_free(part->passes->pdata[i]);
    g_clear_pointer(&part->passes, g_ptr_array_unref);
    g_clear_pointer(&part->reasons, g_ptr_array_unref);
    ifm_scaling_free(part->scaling);
    g_free(part->points);
    g_free(part->lines);
    g_free(part);
}

GPtrArray *ifm_scaling_parts(const IfmScalingRow *row)
{
    g_autoptr(GPtrArray) devices = devices_of(row);
    GPtrArray *parts = g_ptr_array_new_with_free_func((GDestroyNotify)part_free);
    for (guint i = 0; i < devices->len; i++)
        g_ptr_array_add(parts, part_of(row, devices->pdata[i]));
    return parts;
}

gboolean ifm_scaling_has_numbers(const IfmScalingPart *part)
{
    for (gsize i = 0; i < part->row->n; i++)
        if (isnan(part->points[i].x))
            return FALSE;
    return TRUE;
}
