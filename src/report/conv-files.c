#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>

#include <measure/kinds.h>

#include "study-pages.h"

/* The published files of a study of convolution algorithms: a folder for each model, algorithm and device. */

/* ConvRow: a row of either file. @layer: of the point; not read in a row of a whole point */
typedef struct
{
    const IfmConvPoint *point;
    guint layer;
} ConvRow;

static const IfmConvLayer *layer_of(const void *record)
{
    const ConvRow *row = record;
    return row->point->layers->pdata[row->layer];
}

static double time_of(const void *record)
{
    const ConvRow *row = record;
    return g_array_index(row->point->times_ns, double, row->layer);
}

static double mean_of(const void *record)
{
    const ConvRow *row = record;
    return g_array_index(row->point->means_ns, double, row->layer);
}

/* --- a row a size ------------------------------------------------------------------------------------------------------
 */

static void get_model(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const ConvRow *)record)->point->model);
}

static void get_algorithm(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const ConvRow *)record)->point->algorithm);
}

static void get_size(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const ConvRow *)record)->point->input_size);
}

/* @user: the offset of a double in IfmStudyRow, in ns. */
static void get_ms(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get_ms(((const ConvRow *)record)->point->point, user, value);
}

static void get_lower(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const ConvRow *)record)->point->point->interval.lower / 1e6);
}

static void get_upper(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const ConvRow *)record)->point->point->interval.upper / 1e6);
}

static void get_runs(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const ConvRow *)record)->point->point->n);
}

static void get_fallback_layers(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, (gint64)((const ConvRow *)record)->point->n_fell_back);
}

static void get_workspace(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const ConvRow *)record)->point->workspace_bytes);
}

static void get_layers_ms(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const ConvRow *)record)->point->layers_ns / 1e6);
}

static void get_profiled_ms(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const ConvRow *)record)->point->profiled_ns / 1e6);
}

/* @user: the offset of a double in IfmModelEnergy. */
static void get_energy(const void *record, const void *user, IfmValue *value)
{
    IfmModelEnergy energy;
    if (ifm_model_energy(((const ConvRow *)record)->point->point->measurement, &energy))
        ifm_field_get_real(&energy, user, value);
}

#define POINT(member) IFM_FIELD_AT(IfmStudyRow, member)

static const IfmField overall_fields[] = {
    { "model", "", IFM_FIELD_TEXT, get_model },
    { "algorithm", "", IFM_FIELD_TEXT, get_algorithm },
    { "input_size", "", IFM_FIELD_INTEGER, get_size },
    { "mean", "", IFM_FIELD_REAL, get_ms, POINT(mean_ns) },
    { "std", "", IFM_FIELD_REAL, get_ms, POINT(std_ns) },
    { "min", "", IFM_FIELD_REAL, get_ms, POINT(min_ns) },
    { "max", "", IFM_FIELD_REAL, get_ms, POINT(max_ns) },
    { "power_mean_w", "", IFM_FIELD_REAL, get_energy, IFM_FIELD_AT(IfmModelEnergy, power_w) },
    { "energy_per_inference_j", "", IFM_FIELD_REAL, get_energy, IFM_FIELD_AT(IfmModelEnergy, gross_j) },
    { "median", "", IFM_FIELD_REAL, get_ms, POINT(median_ns) },
    { "lower", "", IFM_FIELD_REAL, get_lower },
    { "upper", "", IFM_FIELD_REAL, get_upper },
    { "runs", "", IFM_FIELD_INTEGER, get_runs },
    { "fallback_layers", "", IFM_FIELD_INTEGER, get_fallback_layers },
    { "workspace_bytes", "", IFM_FIELD_INTEGER, get_workspace },
    { "layers_ms", "", IFM_FIELD_REAL, get_layers_ms },
    { "profiled_ms", "", IFM_FIELD_REAL, get_profiled_ms },
    { NULL },
};

/* --- a row a layer ------------------------------------------------------------------------------------------------------
 */

/* @user: the offset of a text in IfmConvLayer. */
static void get_layer_text(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get_text(layer_of(record), user, value);
}

/* @user: the offset of a gint64 in IfmConvLayer. */
static void get_layer_integer(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get_integer(layer_of(record), user, value);
}

static void get_kernel(const void *record, const void *user, IfmValue *value)
{
    const IfmConvLayer *layer = layer_of(record);
    ifm_value_take_text(
        value, g_strdup_printf("%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, layer->kernel_rows, layer->kernel_columns));
}

static void get_time(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, time_of(record) / 1e6);
}

static void get_mean(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, mean_of(record) / 1e6);
}

static void get_percentage(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, 100 * time_of(record) / ((const ConvRow *)record)->point->nodes_ns);
}

static void get_gflop_per_s(const void *record, const void *user, IfmValue *value)
{
    if (layer_of(record)->macs > 0)
        ifm_value_set_real(value, 2 * (double)layer_of(record)->macs / time_of(record));
}

/* Above 100 where an algorithm does with fewer operations than the definition, as Winograd's. */
static void get_share_of_peak(const void *record, const void *user, IfmValue *value)
{
    const double peak = ((const ConvRow *)record)->point->point->device->peak_flop_per_s;
    if (layer_of(record)->macs > 0 && peak > 0)
        ifm_value_set_real(value, 100 * 2e9 * (double)layer_of(record)->macs / time_of(record) / peak);
}

static void get_fell_back(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_boolean(value, layer_of(record)->fell_back);
}

#define LAYER(member) IFM_FIELD_AT(IfmConvLayer, member)

static const IfmField layer_fields[] = {
    { "layer", "", IFM_FIELD_TEXT, get_layer_text, LAYER(layer) },
    { "in_channels", "", IFM_FIELD_INTEGER, get_layer_integer, LAYER(in_channels) },
    { "out_channels", "", IFM_FIELD_INTEGER, get_layer_integer, LAYER(out_channels) },
    { "kernel_size", "", IFM_FIELD_TEXT, get_kernel },
    { "mean_ms", "", IFM_FIELD_REAL, get_mean },
    { "percentage", "", IFM_FIELD_REAL, get_percentage },
    { "input_size", "", IFM_FIELD_INTEGER, get_size },
    { "algorithm", "", IFM_FIELD_TEXT, get_layer_text, LAYER(algorithm) },
    { "implementation", "", IFM_FIELD_TEXT, get_layer_text, LAYER(implementation) },
    { "fell_back", "", IFM_FIELD_BOOLEAN, get_fell_back },
    { "workspace_bytes", "", IFM_FIELD_INTEGER, get_layer_integer, LAYER(workspace_bytes) },
    { "macs", "", IFM_FIELD_INTEGER, get_layer_integer, LAYER(macs) },
    { "gflop_per_s", "", IFM_FIELD_REAL, get_gflop_per_s },
    { "median_ms", "", IFM_FIELD_REAL, get_time },
    { "peak_percentage", "", IFM_FIELD_REAL, get_share_of_peak },
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

static gboolean write_csv(const char *folder, const char *stem, const char *what, const IfmField *fields, GArray *rows,
                          GError **error)
{
    g_autofree char *name = g_strdup_printf("%s_%s.csv", stem, what), *path = g_build_filename(folder, name, NULL);
    g_autoptr(GPtrArray) records = ifm_pointers_to(rows);
    g_autofree char *csv = ifm_rows_to_csv(fields, records);
    return ifm_output_write(path, csv, strlen(csv), error);
}

/* All points of the combination of one of them. */
static gboolean write_combination(const IfmConvFindings *findings, const IfmConvPoint *first, const char *results,
                                  GError **error)
{
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(ConvRow)),
                      layers = g_array_new(FALSE, FALSE, sizeof(ConvRow));
    for (guint i = 0; i < findings->points->len; i++)
    {
        const ConvRow row = { findings->points->pdata[i], 0 };
        if (row.point->point->reason != NULL || row.point->point->device != first->point->device ||
            !g_str_equal(row.point->model, first->model) || !g_str_equal(row.point->algorithm, first->algorithm))
            continue;
        g_array_append_val(points, row);
        for (guint k = 0; row.point->layers != NULL && k < row.point->layers->len; k++)
        {
            const ConvRow layer = { row.point, k };
            g_array_append_val(layers, layer);
        }
    }
    g_autofree char *model = plain(first->model), *alias = g_ascii_strdown(first->point->device->alias, -1);
    g_autofree char *stem = g_strdup_printf("%s_%s", model, first->algorithm),
                    *name = g_strdup_printf("%s_%s", stem, alias), *folder = g_build_filename(results, name, NULL);
    if (g_mkdir_with_parents(folder, 0777) != 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: cannot be made: %s", folder, g_strerror(errno));
        return FALSE;
    }
    return write_csv(folder, stem, "overall", overall_fields, points, error) &&
           write_csv(folder, stem, "layers", layer_fields, layers, error);
}

gboolean ifm_conv_write(const IfmStudyTables *points, const char *folder, GError **error)
{
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_autoptr(GHashTable) done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *results = g_build_filename(folder, "results", level_folder(findings), NULL);
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *point = findings->points->pdata[i];
        if (point->point->reason == NULL &&
            g_hash_table_add(done,
                             g_strdup_printf("%s %s %s", point->model, point->algorithm, point->point->device->alias)) &&
            !write_combination(findings, point, results, error))
            return FALSE;
    }
    return TRUE;
}
