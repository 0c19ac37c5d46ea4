#include <string.h>

#include <base/base.h>
#include <measure/kinds.h>

#include "study-pages.h"

/* The published files of a study of convolution algorithms: a folder for each model, algorithm and device. */

/* --- a row a size ----------------------------------------------------------------------------------------------------- */

/* @user: the offset of a double in IfmModelEnergy. */
static void get_energy(const void *record, const void *user, IfmValue *value)
{
    IfmModelEnergy energy;
    if (ifm_model_energy(((const IfmConvPoint *)record)->point->measurement, &energy))
        ifm_field_get_real(&energy, user, value);
}

/* Where the power comes from: a counter of the machine, a recording of one, a described device, or nowhere. Empty: no
 * energy was asked for. */
static void get_power_source(const void *record, const void *user, IfmValue *value)
{
    IfmModelEnergy energy;
    if (!ifm_model_energy(((const IfmConvPoint *)record)->point->measurement, &energy))
        return;
    ifm_value_set_text(value, energy.unavailable != NULL                     ? "unavailable"
                              : g_str_has_prefix(energy.source, "recorded:") ? "recording"
                              : g_str_equal(energy.source, "simulated")      ? "simulated"
                                                                             : "counter");
}

#define ROW(member, ...) IFM_MEMBER_VIA(IfmConvPoint, point, member, ##__VA_ARGS__)
#define POINT(member, ...) IFM_MEMBER(IfmConvPoint, member, ##__VA_ARGS__)

static const IfmField overall_fields[] = {
    { "model", "", IFM_FIELD_TEXT, POINT(model) },
    { "algorithm", "", IFM_FIELD_TEXT, POINT(algorithm) },
    { "input_size", "", IFM_FIELD_INTEGER, POINT(input_size) },
    { "mean", "", IFM_FIELD_REAL, ROW(mean_ns, .per = 1e6) },
    { "std", "", IFM_FIELD_REAL, ROW(std_ns, .per = 1e6) },
    { "min", "", IFM_FIELD_REAL, ROW(min_ns, .per = 1e6) },
    { "max", "", IFM_FIELD_REAL, ROW(max_ns, .per = 1e6) },
    { "power_mean_w", "", IFM_FIELD_REAL, get_energy, IFM_FIELD_AT(IfmModelEnergy, power_w) },
    { "energy_per_inference_j", "", IFM_FIELD_REAL, get_energy, IFM_FIELD_AT(IfmModelEnergy, gross_j) },
    { "median", "", IFM_FIELD_REAL, ROW(median_ns, .per = 1e6) },
    { "lower", "", IFM_FIELD_REAL, ROW(interval.lower, .per = 1e6) },
    { "upper", "", IFM_FIELD_REAL, ROW(interval.upper, .per = 1e6) },
    { "runs", "", IFM_FIELD_INTEGER, ROW(n) },
    { "fallback_layers", "", IFM_FIELD_INTEGER, POINT(n_fell_back) },
    { "workspace_bytes", "", IFM_FIELD_INTEGER, POINT(workspace_bytes) },
    { "layers_ms", "", IFM_FIELD_REAL, POINT(layers_ns, .per = 1e6) },
    { "profiled_ms", "", IFM_FIELD_REAL, POINT(profiled_ns, .per = 1e6) },
    { "power_source", "", IFM_FIELD_TEXT, get_power_source },
    { NULL },
};

/* --- a row a layer ---------------------------------------------------------------------------------------------------- */

/* LayerRow: @layer: a copy that borrows all it points to */
typedef struct
{
    IfmConvLayer layer;
    gint64 input_size;
    double time_ns, mean_ns, percentage, gflop_per_s;
    double peak_percentage; /* above 100 where an algorithm does with fewer operations than the definition, as Winograd's */
} LayerRow;

static LayerRow layer_row(const IfmConvPoint *point, guint i)
{
    const IfmConvLayer *layer = point->layers->pdata[i];
    const double time_ns = g_array_index(point->times_ns, double, i), peak = point->point->device->peak_flop_per_s,
                 rate = layer->macs > 0 ? 2 * (double)layer->macs / time_ns : (double)NAN;
    return (LayerRow){ .layer = *layer,
                       .input_size = point->input_size,
                       .time_ns = time_ns,
                       .mean_ns = g_array_index(point->means_ns, double, i),
                       .percentage = 100 * time_ns / point->nodes_ns,
                       .gflop_per_s = rate,
                       .peak_percentage =
                           layer->macs > 0 && peak > 0 ? 100 * 2e9 * (double)layer->macs / time_ns / peak : (double)NAN };
}

static void get_kernel(const void *record, const void *user, IfmValue *value)
{
    const IfmConvLayer *layer = &((const LayerRow *)record)->layer;
    ifm_value_take_text(
        value, g_strdup_printf("%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, layer->kernel_rows, layer->kernel_columns));
}

static void get_fell_back(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, ((const LayerRow *)record)->layer.fell_back);
}

#define LAYER(member, ...) IFM_MEMBER(LayerRow, member, ##__VA_ARGS__)

static const IfmField layer_fields[] = {
    { "layer", "", IFM_FIELD_TEXT, LAYER(layer.layer) },
    { "in_channels", "", IFM_FIELD_INTEGER, LAYER(layer.in_channels) },
    { "out_channels", "", IFM_FIELD_INTEGER, LAYER(layer.out_channels) },
    { "kernel_size", "", IFM_FIELD_TEXT, get_kernel },
    { "mean_ms", "", IFM_FIELD_REAL, LAYER(mean_ns, .per = 1e6) },
    { "percentage", "", IFM_FIELD_REAL, LAYER(percentage) },
    { "input_size", "", IFM_FIELD_INTEGER, LAYER(input_size) },
    { "algorithm", "", IFM_FIELD_TEXT, LAYER(layer.algorithm) },
    { "implementation", "", IFM_FIELD_TEXT, LAYER(layer.implementation) },
    { "fell_back", "", IFM_FIELD_BOOLEAN, get_fell_back },
    { "workspace_bytes", "", IFM_FIELD_INTEGER, LAYER(layer.workspace_bytes) },
    { "macs", "", IFM_FIELD_INTEGER, LAYER(layer.macs) },
    { "gflop_per_s", "", IFM_FIELD_REAL, LAYER(gflop_per_s) },
    { "median_ms", "", IFM_FIELD_REAL, LAYER(time_ns, .per = 1e6) },
    { "peak_percentage", "", IFM_FIELD_REAL, LAYER(peak_percentage) },
    { NULL },
};

/* --- folders ------------------------------------------------------------------------------------------------------------
 */

/* "1_sanity": by how many sizes a model has at most. */
static const char *level_folder(const IfmConvFindings *findings)
{
    guint most = 0;
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *first = findings->points->pdata[i];
        g_autoptr(GHashTable) sizes = g_hash_table_new(g_direct_hash, g_direct_equal);
        if (i > 0 && g_strcmp0(first->model, ((const IfmConvPoint *)findings->points->pdata[i - 1])->model) == 0)
            continue;
        for (guint k = i; k < findings->points->len; k++)
        {
            const IfmConvPoint *point = findings->points->pdata[k];
            if (g_strcmp0(point->model, first->model) == 0)
                g_hash_table_add(sizes, GINT_TO_POINTER((int)point->input_size));
        }
        most = MAX(most, g_hash_table_size(sizes));
    }
    return most <= 1 ? "1_sanity" : most <= 10 ? "2_quick" : "3_full";
}

/* For a path: no blanks, commas or slashes. (transfer full) */
static char *plain(const char *text)
{
    return g_strdelimit(g_strdup(text), " ,=/\\:", '_');
}

static gboolean write_csv(const char *folder, const char *stem, const char *what, const IfmField *fields,
                          const GPtrArray *records, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s_%s.csv", stem, what), *path = g_build_filename(folder, name, NULL);
    g_autofree char *csv = ifm_rows_to_csv(fields, records);
    return ifm_output_write(path, csv, strlen(csv), error);
}

/* Nothing of one without a latency. */
static gboolean write_combination(const IfmConvCombination *of, const char *results, GError **error)
{
    g_autoptr(GPtrArray) points = g_ptr_array_new();
    g_autoptr(GArray) layers = g_array_new(FALSE, FALSE, sizeof(LayerRow));
    for (guint i = 0; i < of->points->len; i++)
    {
        IfmConvPoint *point = of->points->pdata[i];
        if (point->point->reason != NULL)
            continue;
        g_ptr_array_add(points, point);
        for (guint k = 0; point->layers != NULL && k < point->layers->len; k++)
        {
            const LayerRow row = layer_row(point, k);
            g_array_append_val(layers, row);
        }
    }
    if (points->len == 0)
        return TRUE;
    g_autoptr(GPtrArray) layer_rows = ifm_pointers_to(layers);
    g_autofree char *model = plain(of->model), *alias = g_ascii_strdown(of->device->alias, -1);
    g_autofree char *stem = g_strdup_printf("%s_%s", model, of->algorithm), *name = g_strdup_printf("%s_%s", stem, alias),
                    *folder = g_build_filename(results, name, NULL);
    return ifm_file_make_folder(folder, error) && write_csv(folder, stem, "overall", overall_fields, points, error) &&
           write_csv(folder, stem, "layers", layer_fields, layer_rows, error);
}

gboolean ifm_conv_write(const IfmStudyTables *points, const char *folder, GError **error)
{
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_autofree char *results = g_build_filename(folder, "results", level_folder(findings), NULL);
    for (guint i = 0; i < findings->combinations->len; i++)
        if (!write_combination(&g_array_index(findings->combinations, IfmConvCombination, i), results, error))
            return FALSE;
    return TRUE;
}
