#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/statistics.h>
#include <measure/kinds.h>
#include <store/store.h>
#include <study/findings.h>

/* The findings of a study of convolutions name the fastest algorithm of each shape, and of each model and input size. */

/* --- points ----------------------------------------------------------------------------------------------------------- */

static void point_free(IfmConvPoint *self)
{
    g_clear_pointer(&self->layers, g_ptr_array_unref);
    g_array_unref(self->times_ns);
    g_array_unref(self->means_ns);
    g_free(self);
}

static const char *axis_text(const IfmStudyRow *point, const char *axis)
{
    const char *text = json_string_value(json_object_get(point->axes, axis));
    return text != NULL ? text : "";
}

static void take_layers(IfmConvPoint *self, const IfmMeasurement *measurement)
{
    g_autoptr(GHashTable) nodes = g_hash_table_new(g_str_hash, g_str_equal); /* name -> its place, + 1 */
    const json_t *means = json_object_get(measurement->breakdown, "nodes_mean_ns");
    for (guint i = 0; i < measurement->nodes->len; i++)
        g_hash_table_insert(nodes, ((IfmNodeRow *)measurement->nodes->pdata[i])->name, GSIZE_TO_POINTER(i + 1));
    for (guint i = 0; i < self->layers->len; i++)
    {
        const IfmConvLayer *layer = self->layers->pdata[i];
        const gsize at = GPOINTER_TO_SIZE(g_hash_table_lookup(nodes, layer->layer));
        const IfmNodeRow *node = at > 0 ? measurement->nodes->pdata[at - 1] : NULL;
        const json_t *mean = at > 0 ? json_array_get(means, at - 1) : NULL;
        const double time_ns = node != NULL ? node->median_ns : (double)NAN,
                     mean_ns = json_is_number(mean) ? json_number_value(mean) : (double)NAN;
        g_array_append_val(self->times_ns, time_ns);
        g_array_append_val(self->means_ns, mean_ns);
        self->layers_ns += isnan(time_ns) ? 0 : time_ns;
        self->n_fell_back += layer->fell_back;
        self->workspace_bytes = MAX(self->workspace_bytes, layer->workspace_bytes);
    }
}

/* @values: sorted here. */
static double median(GArray *values)
{
    double *sorted = (double *)(void *)values->data;
    ifm_sort_doubles(sorted, values->len);
    return values->len > 0 ? ifm_quantile(sorted, values->len, 0.5) : (double)NAN;
}

static double median_of_times(const GArray *times_ns)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < times_ns->len; i++)
    {
        const double value = (double)g_array_index(times_ns, gint64, i);
        g_array_append_val(values, value);
    }
    return median(values);
}

static IfmConvPoint *point_new(const IfmStudyRow *point)
{
    IfmConvPoint *self = g_new0(IfmConvPoint, 1);
    IfmModelEnergy energy;
    const IfmMeasurement *measurement = point->reason == NULL ? point->measurement : NULL;
    *self = (IfmConvPoint){ .point = point,
                            .model = axis_text(point, "model"),
                            .algorithm = axis_text(point, "algorithm"),
                            .input_size = json_integer_value(json_object_get(point->axes, "input_size")),
                            .layers = ifm_model_convolutions(measurement),
                            .times_ns = g_array_new(FALSE, FALSE, sizeof(double)),
                            .means_ns = g_array_new(FALSE, FALSE, sizeof(double)),
                            .energy_j = ifm_model_energy(measurement, &energy) ? energy.gross_j : (double)NAN,
                            .profiled_ns = measurement != NULL ? median_of_times(measurement->profiled_ns) : (double)NAN };
    if (measurement != NULL && self->layers != NULL)
        take_layers(self, measurement);
    for (guint i = 0; measurement != NULL && i < measurement->nodes->len; i++)
        self->nodes_ns += ((const IfmNodeRow *)measurement->nodes->pdata[i])->median_ns;
    return self;
}

/* --- combinations ----------------------------------------------------------------------------------------------------- */

static void combination_clear(gpointer combination)
{
    g_ptr_array_unref(((IfmConvCombination *)combination)->points);
}

static IfmConvCombination *combination_of(IfmConvFindings *self, const IfmConvPoint *point)
{
    for (guint i = 0; i < self->combinations->len; i++)
    {
        IfmConvCombination *one = &g_array_index(self->combinations, IfmConvCombination, i);
        if (one->device == point->point->device && g_str_equal(one->model, point->model) &&
            g_str_equal(one->algorithm, point->algorithm))
            return one;
    }
    const IfmConvCombination one = { point->point->device, point->model, point->algorithm, g_ptr_array_new() };
    g_array_append_val(self->combinations, one);
    return &g_array_index(self->combinations, IfmConvCombination, self->combinations->len - 1);
}

static void combine(IfmConvFindings *self)
{
    for (guint i = 0; i < self->points->len; i++)
    {
        IfmConvPoint *point = self->points->pdata[i];
        if (*point->model != '\0' && *point->algorithm != '\0')
            g_ptr_array_add(combination_of(self, point)->points, point);
    }
}

/* --- the fastest ------------------------------------------------------------------------------------------------------ */

/* Takes one more time into the two shortest. */
static void rank(const char *algorithm, double time_ns, const char **fastest, double *time, const char **second,
                 double *second_time)
{
    if (isnan(*time) || time_ns < *time)
    {
        *second = *fastest;
        *second_time = *time;
        *fastest = algorithm;
        *time = time_ns;
    }
    else if (isnan(*second_time) || time_ns < *second_time)
    {
        *second = algorithm;
        *second_time = time_ns;
    }
}

/* "best" and "guess" name others: they are not compared with them. */
static gboolean is_choice(const char *algorithm)
{
    return g_str_equal(algorithm, ifm_conv_algorithm_name(IFM_CONV_BEST)) ||
           g_str_equal(algorithm, ifm_conv_algorithm_name(IFM_CONV_GUESS));
}

/* LayerTimes: the layers of one shape. @times: algorithm (interned) -> GArray of double */
typedef struct
{
    const IfmStudyDevice *device;
    const IfmConvLayer *layer;
    GHashTable *times, *implementations;
} LayerTimes;

static void layer_times_free(LayerTimes *self)
{
    g_hash_table_unref(self->times);
    g_hash_table_unref(self->implementations);
    g_free(self);
}

#define N_SHAPE 10

/* What makes two layers the same work. */
static void shape_of(const IfmConvLayer *layer, gint64 shape[N_SHAPE])
{
    const gint64 all[N_SHAPE] = {
        layer->in_channels, layer->out_channels,   layer->kernel_rows,   layer->kernel_columns,   layer->groups,
        layer->stride_rows, layer->stride_columns, layer->dilation_rows, layer->dilation_columns, layer->macs
    };
    memcpy(shape, all, sizeof all);
}

static void note_layer(GHashTable *by_shape, const IfmConvPoint *point, guint i)
{
    const IfmConvLayer *layer = point->layers->pdata[i];
    const double time_ns = g_array_index(point->times_ns, double, i);
    if (isnan(time_ns) || layer->fell_back || layer->macs <= 0)
        return;
    gint64 shape[N_SHAPE];
    shape_of(layer, shape);
    GString *text = g_string_new(point->point->device->alias);
    for (gsize k = 0; k < N_SHAPE; k++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, shape[k]);
    char *key = g_string_free(text, FALSE);
    LayerTimes *times = g_hash_table_lookup(by_shape, key);
    if (times == NULL)
    {
        times = g_new0(LayerTimes, 1);
        *times = (LayerTimes){ .device = point->point->device, .layer = layer };
        times->times = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
        times->implementations = g_hash_table_new(g_str_hash, g_str_equal);
        g_hash_table_insert(by_shape, key, times);
    }
    else
        g_free(key);
    const char *algorithm = g_intern_string(layer->algorithm);
    GArray *of = g_hash_table_lookup(times->times, algorithm);
    if (of == NULL)
        g_hash_table_insert(times->times, (gpointer)algorithm, of = g_array_new(FALSE, FALSE, sizeof(double)));
    g_array_append_val(of, time_ns);
    g_hash_table_insert(times->implementations, (gpointer)algorithm, layer->implementation);
}

/* overlap: Whether the shortest of the second's times is below the longest of the fastest's. One time each says nothing. */
static gboolean overlap(GHashTable *times, const char *fastest, const char *second)
{
    const GArray *first = g_hash_table_lookup(times, fastest),
                 *next = second != NULL ? g_hash_table_lookup(times, second) : NULL;
    if (next == NULL || first->len < 2 || next->len < 2) /* sorted by median() */
        return FALSE;
    return g_array_index(next, double, 0) <= g_array_index(first, double, first->len - 1);
}

static IfmConvShapeRow shape_row(const LayerTimes *times)
{
    IfmConvShapeRow row = { .device = times->device,
                            .layer = times->layer,
                            .time_ns = NAN,
                            .second_ns = NAN,
                            .runtime_ns = NAN,
                            .times = g_array_new(FALSE, FALSE, sizeof(IfmConvTime)) };
    const char *runtime = ifm_conv_algorithm_name(IFM_CONV_RUNTIME);
    GHashTableIter iter;
    gpointer algorithm, of;
    g_hash_table_iter_init(&iter, times->times);
    while (g_hash_table_iter_next(&iter, &algorithm, &of))
    {
        const double time_ns = median(of);
        const IfmConvTime one = { algorithm, time_ns };
        g_array_append_val(row.times, one);
        if (g_str_equal(algorithm, runtime))
            row.runtime_ns = time_ns;
        rank(algorithm, time_ns, &row.fastest, &row.time_ns, &row.second, &row.second_ns);
    }
    row.implementation = g_hash_table_lookup(times->implementations, row.fastest);
    row.overlaps = overlap(times->times, row.fastest, row.second);
    return row;
}

static int by_work(gconstpointer a, gconstpointer b)
{
    const IfmConvShapeRow *one = a, *other = b;
    gint64 left[N_SHAPE], right[N_SHAPE];
    shape_of(one->layer, left);
    shape_of(other->layer, right);
    if (left[N_SHAPE - 1] != right[N_SHAPE - 1])
        return left[N_SHAPE - 1] < right[N_SHAPE - 1] ? 1 : -1;
    for (gsize i = 0; i < N_SHAPE; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return strcmp(one->device->alias, other->device->alias);
}

static void find_shapes(IfmConvFindings *self)
{
    g_autoptr(GHashTable) by_shape =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)layer_times_free);
    for (guint i = 0; i < self->points->len; i++)
    {
        const IfmConvPoint *point = self->points->pdata[i];
        for (guint k = 0; point->layers != NULL && k < point->layers->len; k++)
            note_layer(by_shape, point, k);
    }
    GHashTableIter iter;
    gpointer times;
    g_hash_table_iter_init(&iter, by_shape);
    while (g_hash_table_iter_next(&iter, NULL, &times))
    {
        const IfmConvShapeRow row = shape_row(times);
        g_array_append_val(self->shapes, row);
    }
    g_array_sort(self->shapes, by_work);
}

/* --- models and sizes ------------------------------------------------------------------------------------------------- */

static IfmConvSizeRow *size_row(IfmConvFindings *self, const IfmConvPoint *point)
{
    for (guint i = 0; i < self->sizes->len; i++)
    {
        IfmConvSizeRow *row = &g_array_index(self->sizes, IfmConvSizeRow, i);
        if (row->device == point->point->device && row->input_size == point->input_size &&
            g_str_equal(row->model, point->model))
            return row;
    }
    const IfmConvSizeRow row = { .device = point->point->device,
                                 .model = point->model,
                                 .input_size = point->input_size,
                                 .time_ns = NAN,
                                 .second_ns = NAN,
                                 .runtime_ns = NAN,
                                 .best_ns = NAN,
                                 .energy_j = NAN,
                                 .second_j = NAN };
    g_array_append_val(self->sizes, row);
    return &g_array_index(self->sizes, IfmConvSizeRow, self->sizes->len - 1);
}

static int by_model(gconstpointer a, gconstpointer b)
{
    const IfmConvSizeRow *left = a, *right = b;
    int order = strcmp(left->device->alias, right->device->alias);
    if (order == 0)
        order = strcmp(left->model, right->model);
    return order != 0 ? order : (left->input_size > right->input_size) - (left->input_size < right->input_size);
}

static const IfmStudyRow *point_of(const IfmConvFindings *self, const IfmConvSizeRow *row, const char *algorithm)
{
    for (guint i = 0; i < self->points->len && algorithm != NULL; i++)
    {
        const IfmConvPoint *point = self->points->pdata[i];
        if (point->point->device == row->device && point->input_size == row->input_size &&
            g_str_equal(point->model, row->model) && g_str_equal(point->algorithm, algorithm))
            return point->point;
    }
    return NULL;
}

/* Unknown intervals are not. */
static gboolean is_below(const IfmStudyRow *row, const IfmStudyRow *other)
{
    return row != NULL && other != NULL && row->interval.upper < other->interval.lower;
}

static void find_sizes(IfmConvFindings *self)
{
    for (guint i = 0; i < self->points->len; i++)
    {
        const IfmConvPoint *point = self->points->pdata[i];
        const double time_ns = point->point->median_ns;
        if (point->point->reason != NULL || *point->model == '\0' || *point->algorithm == '\0')
            continue;
        IfmConvSizeRow *row = size_row(self, point);
        if (g_str_equal(point->algorithm, ifm_conv_algorithm_name(IFM_CONV_RUNTIME)))
            row->runtime_ns = time_ns;
        if (g_str_equal(point->algorithm, ifm_conv_algorithm_name(IFM_CONV_BEST)))
            row->best_ns = time_ns;
        if (!is_choice(point->algorithm))
            rank(point->algorithm, time_ns, &row->fastest, &row->time_ns, &row->second, &row->second_ns);
        if (!is_choice(point->algorithm) && isfinite(point->energy_j))
            rank(point->algorithm, point->energy_j, &row->cheapest, &row->energy_j, &row->second_cheapest, &row->second_j);
    }
    for (guint i = 0; i < self->sizes->len; i++)
    {
        IfmConvSizeRow *row = &g_array_index(self->sizes, IfmConvSizeRow, i);
        const IfmStudyRow *first = point_of(self, row, row->fastest), *second = point_of(self, row, row->second);
        row->has_intervals =
            first != NULL && second != NULL && isfinite(first->interval.upper) && isfinite(second->interval.lower);
        row->is_apart = is_below(first, second);
        const IfmStudyRow *own = point_of(self, row, ifm_conv_algorithm_name(IFM_CONV_RUNTIME));
        row->gains = is_below(first, own);
        row->best_gains = is_below(point_of(self, row, ifm_conv_algorithm_name(IFM_CONV_BEST)), own);
    }
    g_array_sort(self->sizes, by_model);
}

/* --- labels that are one ---------------------------------------------------------------------------------------------- */

static gboolean is_same_model(const IfmConvPoint *a, const IfmConvPoint *b)
{
    return a->point->device == b->point->device && a->input_size == b->input_size && g_str_equal(a->model, b->model);
}

static void find_same(IfmConvFindings *self)
{
    for (guint i = 0; i < self->points->len; i++)
        for (guint k = i + 1; k < self->points->len; k++)
        {
            g_autoptr(GError) error = NULL;
            const IfmConvPoint *a = self->points->pdata[i], *b = self->points->pdata[k];
            if (a->layers != NULL && b->layers != NULL && is_same_model(a, b) &&
                !ifm_conv_layers_check(a->layers, b->layers, &error))
                g_ptr_array_add(self->same, g_strdup_printf("%s, size %" G_GINT64_FORMAT ": %s", a->model, a->input_size,
                                                            error->message));
        }
}

IfmConvFindings *ifm_conv_findings(const IfmStudyTables *points)
{
    IfmConvFindings *self = g_new0(IfmConvFindings, 1);
    self->points = g_ptr_array_new_with_free_func((GDestroyNotify)point_free);
    self->shapes = g_array_new(FALSE, FALSE, sizeof(IfmConvShapeRow));
    self->combinations = g_array_new(FALSE, FALSE, sizeof(IfmConvCombination));
    g_array_set_clear_func(self->combinations, combination_clear);
    self->same = g_ptr_array_new_with_free_func(g_free);
    self->sizes = g_array_new(FALSE, FALSE, sizeof(IfmConvSizeRow));
    for (guint i = 0; i < points->rows->len; i++)
        g_ptr_array_add(self->points, point_new(points->rows->pdata[i]));
    combine(self);
    find_shapes(self);
    find_sizes(self);
    find_same(self);
    return self;
}

void ifm_conv_findings_free(IfmConvFindings *self)
{
    if (self == NULL)
        return;
    for (guint i = 0; i < self->shapes->len; i++)
        g_array_unref(g_array_index(self->shapes, IfmConvShapeRow, i).times);
    g_ptr_array_unref(self->points);
    g_array_unref(self->combinations);
    g_array_unref(self->shapes);
    g_array_unref(self->sizes);
    g_ptr_array_unref(self->same);
    g_free(self);
}
