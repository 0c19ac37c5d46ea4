#pragma once
#include <math.h>

#include <staged/staged.h>
#include <store/store.h>
#include <study/study.h>

/* Tables of a study made by hand: every figure here is chosen, not computed by what is tested.
 *
 *     CPU  openvino:CPU@0      stage s takes s * 100 us + bytes / (4 bytes/ns), so its line is known
 *     ORT  onnxruntime:CPU@1   twice that
 *     GPU  openvino:GPU        not here
 *     NPU  simulated           half of CPU's; stages 3 and 4 refused, nothing at the largest size
 */

#define TABLES_SIZES 4
static const gint64 tables_sizes[TABLES_SIZES][2] = { { 1000, 1000 }, { 1000, 3000 }, { 2000, 2000 }, { 2000, 5000 } };

enum
{
    TABLES_CPU,
    TABLES_ORT,
    TABLES_GPU,
    TABLES_NPU,
};

static const double tables_factor[] = { 1, 2, NAN, 0.5 };

/* The data size the tables count, a stage's inputs, for 500 features and 256 hidden ones. */
static inline gint64 tables_bytes(int stage, gint64 nodes, gint64 edges)
{
    switch (stage)
    {
    case 1:
        return nodes * 500 * 4 + 2 * edges * 8;
    case 2:
        return edges * 500 * 4 + 2 * edges * 8;
    case 3:
        return edges * 256 * 4 + 2 * edges * 8;
    case 4:
        return nodes * 256 * 4 + 2 * edges * 8;
    case 5:
        return nodes * 256 * 4 + nodes * 4;
    default:
        return nodes * 256 * 4;
    }
}

static inline IfmStudyDevice *tables_device(const char *alias, const char *device, int phase, const char *reason)
{
    IfmStudyDevice *made = g_new0(IfmStudyDevice, 1);
    made->alias = g_strdup(alias);
    made->device = g_strdup(device);
    made->form = phase == 2 ? IFM_STUDY_STATIC : IFM_STUDY_DYNAMIC;
    made->phase = phase;
    made->simulated = g_str_has_prefix(device, "simulated:");
    made->description = reason == NULL ? g_strdup_printf("the hardware of %s", alias) : NULL;
    made->reason = g_strdup(reason);
    return made;
}

/* Three samples: 2 us less, the median, 5 us more. */
static inline void tables_measure(IfmStudyRow *row, double median_ns)
{
    const gint64 samples[] = { (gint64)median_ns - 2000, (gint64)median_ns + 5000, (gint64)median_ns };
    row->measurement = ifm_measurement_new();
    g_array_append_vals(row->measurement->samples_ns, samples, 3);
    ifm_record_set_text(&row->measurement->stop_reason, "interval");
    row->measurement->environment = json_pack("{s:{s:s,s:s}}", "runtime", "engine",
                                              row->device->simulated ? "simulated" : "openvino", "version", "2025.3");
    row->median_ns = median_ns;
    row->mean_ns = median_ns + 1000;
    row->std_ns = 3605.551275463989; /* sqrt(((-3000)^2 + 4000^2 + (-1000)^2) / 2) */
    row->min_ns = median_ns - 2000;
    row->max_ns = median_ns + 5000;
    row->interval = (IfmInterval){ median_ns - 2000, median_ns + 5000, 0.95 };
    row->n = 3;
}

static inline void tables_fail(IfmStudyRow *row, IfmOutcome outcome, const char *code, char *reason)
{
    row->measurement = ifm_measurement_new();
    row->measurement->outcome = outcome;
    ifm_record_set_text(&row->measurement->error_code, code);
    ifm_record_set_text(&row->measurement->reason, reason);
    row->code = g_strdup(code);
    row->reason = reason;
}

static inline void tables_split(IfmStudyRow *row, double factor)
{
    if (row->stage == 4 || row->stage == 7)
        row->split_why = "the bandwidth is not identifiable";
    else if (row->stage == 2 && row->nodes == 1000 && row->edges == 1000)
        row->split_why = "compute would be negative";
    else
    {
        row->transfer_ns = factor * (double)row->table_bytes / 4;
        row->compute_ns = row->median_ns - row->transfer_ns;
    }
}

static inline void tables_row(IfmStudyTables *tables, int device, int stage, int size)
{
    IfmStudyRow *row = g_new0(IfmStudyRow, 1);
    row->device = tables->devices->pdata[device];
    row->phase = row->device->phase;
    row->stage = row->last = stage;
    row->nodes = tables_sizes[size][0];
    row->edges = tables_sizes[size][1];
    row->key = g_strdup_printf("key-%d-%d-%d", device, stage, size);
    row->table_bytes = tables_bytes(stage, row->nodes, row->edges);
    row->read_bytes = 8 * row->nodes;
    row->written_bytes = 4 * row->edges;
    row->median_ns = row->mean_ns = row->std_ns = row->min_ns = row->max_ns = row->transfer_ns = row->compute_ns = NAN;
    row->interval = (IfmInterval){ NAN, NAN, 0.95 };
    g_ptr_array_add(tables->rows, row);
    if (device == TABLES_GPU)
    {
        row->code = g_strdup("unavailable");
        row->reason = g_strdup(row->device->reason);
    }
    else if (device == TABLES_NPU && size == TABLES_SIZES - 1)
        tables_fail(row, IFM_OUTCOME_SKIPPED, "lost", g_strdup("simulated:meteor-lake/NPU was lost before"));
    else if (device == TABLES_NPU && (stage == 3 || stage == 4))
        tables_fail(row, IFM_OUTCOME_FAILED, "unsupported",
                    g_strdup_printf("simulated:meteor-lake/NPU: stage %d is refused, %" G_GINT64_FORMAT " edges", stage,
                                    row->edges));
    else if (device == TABLES_ORT && stage == 6 && size == 1)
        tables_fail(row, IFM_OUTCOME_FAILED, "timeout", g_strdup("no answer within 60 s"));
    else
    {
        tables_measure(row, tables_factor[device] * (stage * 100000 + (double)row->table_bytes / 4));
        tables_split(row, tables_factor[device]);
    }
    if (row->reason != NULL)
        row->split_why = "it has no latency";
}

static inline IfmBandwidthFit tables_line(double slope, double slack, double intercept_ns, const char *why)
{
    IfmBandwidthFit fit = { .n = TABLES_SIZES,
                            .slope_ns_per_byte = slope,
                            .intercept_ns = intercept_ns,
                            .slope_interval = { slope - slack, slope + slack, 0.95 },
                            .intercept_interval = { intercept_ns - 5000, intercept_ns + 5000, 0.95 },
                            .r_squared = 0.9876,
                            .residual_std_ns = 1500,
                            .identifiable = *why == '\0',
                            .bytes_per_s = NAN,
                            .bytes_per_s_interval = { NAN, NAN, 0.95 } };
    g_strlcpy(fit.why, why, sizeof fit.why);
    if (fit.identifiable)
    {
        fit.bytes_per_s = 1e9 / slope;
        fit.bytes_per_s_interval = (IfmInterval){ 1e9 / (slope + slack), 1e9 / (slope - slack), 0.95 };
    }
    return fit;
}

static inline void tables_fit(IfmStudyTables *tables, int device, int stage)
{
    IfmStageFit *fit = g_new0(IfmStageFit, 1);
    double slope = 0.25 * tables_factor[device];
    fit->device = tables->devices->pdata[device];
    fit->stage = stage;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device == fit->device && row->stage == stage && row->reason == NULL)
        {
            fit->n_rows++;
            fit->n_split += row->split_why == NULL;
        }
    }
    fit->fitted = fit->n_rows >= 3;
    if (!fit->fitted)
        fit->why = g_strdup_printf("%" G_GSIZE_FORMAT " sizes with a latency, of 3 at least", fit->n_rows);
    else if (stage == 4)
        fit->bandwidth = tables_line(slope, 2 * slope, 400000, "the interval of the slope spans 0");
    else if (stage == 7)
        fit->bandwidth = tables_line(-slope, slope / 8, 700000, "latency does not grow with the size");
    else
        fit->bandwidth = tables_line(slope, slope / 8, tables_factor[device] * stage * 100000, "");
    fit->has_lookup = fit->fitted;
    fit->lookup_error = (IfmLookupError){ .n_interpolated = 1,
                                          .n_extrapolated = fit->n_rows - 1,
                                          .median_ratio = 0.01 * stage,
                                          .p90_ratio = 0.02 * stage,
                                          .max_ratio = 0.02 * stage,
                                          .extrapolated_median_ratio = 0.5,
                                          .extrapolated_max_ratio = 1.5 };
    g_ptr_array_add(tables->fits, fit);
}

static inline void tables_link(IfmStudyTables *tables, int from, int to, gboolean shared, gboolean assumed, const char *why)
{
    IfmLinkFit *link = g_new0(IfmLinkFit, 1);
    link->from = tables->devices->pdata[from];
    link->to = tables->devices->pdata[to];
    link->n = why != NULL ? 2 : 3;
    link->bytes = g_new0(double, link->n);
    link->median_ns = g_new0(double, link->n);
    for (gsize i = 0; i < link->n; i++)
    {
        link->bytes[i] = 1000000.0 * (double)(i + 1);
        link->median_ns[i] = 20000 + link->bytes[i] / 8;
    }
    link->fitted = why == NULL;
    link->why = g_strdup(why);
    link->shared = shared;
    link->assumed = assumed;
    if (link->fitted)
        link->bandwidth = tables_line(0.125, 0.025, 20000, "");
    g_ptr_array_add(tables->links, link);
}

static inline IfmStudyTables *tables_new(void)
{
    IfmStudyTables *tables = g_new0(IfmStudyTables, 1);
    tables->name = g_strdup("gnn-stages");
    tables->title = g_strdup("The stages of GraphSAGE");
    tables->staged = ifm_staged_find("graphsage", NULL);
    tables->sizes = (IfmStageSizes){ .features = 500, .hidden = 256 };
    tables->devices = g_ptr_array_new();
    tables->rows = g_ptr_array_new();
    tables->ranges = g_ptr_array_new();
    tables->fits = g_ptr_array_new();
    tables->links = g_ptr_array_new();
    tables->spent_ns = G_GINT64_CONSTANT(200123456789);
    g_ptr_array_add(tables->devices, tables_device("CPU", "openvino:CPU@0", 1, NULL));
    g_ptr_array_add(tables->devices, tables_device("ORT", "onnxruntime:CPU@1", 1, NULL));
    g_ptr_array_add(tables->devices, tables_device("GPU", "openvino:GPU", 1, "openvino:GPU: no such device here"));
    g_ptr_array_add(tables->devices, tables_device("NPU", "simulated:meteor-lake/NPU", 2, NULL));
    for (int size = 0; size < TABLES_SIZES; size++)
        for (int stage = 1; stage <= 7; stage++)
            for (int device = TABLES_CPU; device <= TABLES_NPU; device++)
                tables_row(tables, device, stage, size);
    for (int device = TABLES_CPU; device <= TABLES_NPU; device++)
        for (int stage = 1; stage <= 7; stage++)
            tables_fit(tables, device, stage);
    tables_link(tables, TABLES_CPU, TABLES_ORT, TRUE, FALSE, NULL);
    tables_link(tables, TABLES_CPU, TABLES_NPU, FALSE, TRUE, NULL);
    tables_link(tables, TABLES_NPU, TABLES_CPU, FALSE, FALSE, "2 sizes, of 3 at least");
    return tables;
}

/* As of tables read from files: no samples, no intervals, and what failed is no measurement of ours. A bandwidth_table.json
 * was among them. */
static inline void tables_import(IfmStudyTables *tables)
{
    tables->imported = TRUE;
    tables->bandwidth =
        json_pack("{s:f,s:s,s:n,s:i}", "CPU_stage1", 411.25, "CPU_stage2", "inf", "NPU_stage7", "ORT_stage1", 2048);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        IfmStudyRow *row = tables->rows->pdata[i];
        g_clear_pointer(&row->measurement, ifm_measurement_free);
        row->mean_ns = row->min_ns = row->max_ns = NAN;
        row->interval = (IfmInterval){ NAN, NAN, NAN };
        row->n = 0;
    }
}

static inline void tables_free_device(IfmStudyDevice *device)
{
    g_free(device->alias);
    g_free(device->device);
    g_free(device->description);
    g_free(device->reason);
    g_free(device);
}

static inline void tables_free_row(IfmStudyRow *row)
{
    g_clear_pointer(&row->measurement, ifm_measurement_free);
    g_free(row->key);
    g_free(row->code);
    g_free(row->reason);
    g_free(row);
}

static inline void tables_free_link(IfmLinkFit *link)
{
    g_free(link->bytes);
    g_free(link->median_ns);
    g_free(link->why);
    g_free(link);
}

static inline void tables_free(IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->rows->len; i++)
        tables_free_row(tables->rows->pdata[i]);
    for (guint i = 0; i < tables->ranges->len; i++)
        tables_free_row(tables->ranges->pdata[i]);
    for (guint i = 0; i < tables->links->len; i++)
        tables_free_link(tables->links->pdata[i]);
    for (guint i = 0; i < tables->fits->len; i++)
    {
        g_free(((IfmStageFit *)tables->fits->pdata[i])->why);
        g_free(tables->fits->pdata[i]);
    }
    for (guint i = 0; i < tables->devices->len; i++)
        tables_free_device(tables->devices->pdata[i]);
    g_ptr_array_unref(tables->rows);
    g_ptr_array_unref(tables->ranges);
    g_ptr_array_unref(tables->links);
    g_ptr_array_unref(tables->fits);
    g_ptr_array_unref(tables->devices);
    json_decref(tables->definition);
    json_decref(tables->bandwidth);
    g_free(tables->name);
    g_free(tables->title);
    g_free(tables);
}

typedef struct
{
    IfmStudyTables *tables;
} Fixture;

static inline void set_up(Fixture *fixture, gconstpointer data)
{
    fixture->tables = tables_new();
}

static inline void tear_down(Fixture *fixture, gconstpointer data)
{
    tables_free(fixture->tables);
}
