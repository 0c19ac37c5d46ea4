/* Shapes around those of a kernel that was found in a model, and the numbers that describe a kernel's shape. */
#include <math.h>
#include <string.h>

#include <kernel/kernel.h>

#include "records-private.h"

/* Sizes are scaled by a factor from SMALLEST to LARGEST, evenly by its logarithm; dimensions up to FIXED stay: they are
 * kernels, heads or the like. Channels of a blocked layout come in BLOCKs. */
#define SMALLEST 0.4
#define LARGEST 2.2
#define FIXED 8
#define BLOCK 16
#define MAX_FLOP 6e9
#define MAX_BYTES ((gint64)250000000)

/* Scaling: equal dimensions stay equal. */
typedef struct
{
    GRand *random;
    GHashTable *sizes; /* gint64 -> gint64 */
} Scaling;

static gint64 scaled(const Scaling *self, gint64 size, gint64 multiple)
{
    gpointer found = g_hash_table_lookup(self->sizes, GSIZE_TO_POINTER((gsize)size));
    if (found != NULL)
        return (gint64)GPOINTER_TO_SIZE(found);
    const double factor = exp(g_rand_double_range(self->random, log(SMALLEST), log(LARGEST)));
    const gint64 other = MAX((gint64)llround((double)size * factor / (double)multiple), 1) * multiple;
    g_hash_table_insert(self->sizes, GSIZE_TO_POINTER((gsize)size), GSIZE_TO_POINTER((gsize)other));
    return other;
}

static gint64 *dims_of(IfmKernelTensor *tensor)
{
    return (gint64 *)(void *)tensor->dims->data;
}

static IfmKernelTensor *input_of(const IfmKernelRecord *record, guint index)
{
    IfmKernelTensor *tensor = index < record->inputs->len ? record->inputs->pdata[index] : NULL;
    return tensor != NULL && *tensor->name != '\0' ? tensor : NULL;
}

static gint64 integer_of(const IfmKernelRecord *record, const char *attribute, gsize at, gint64 fallback)
{
    const json_t *value = json_object_get(record->attributes, attribute);
    const json_t *one = json_is_array(value) ? json_array_get(value, at) : value;
    return json_is_integer(one) ? json_integer_value(one) : fallback;
}

static gboolean is_conv(const IfmKernelRecord *record)
{
    return g_str_has_suffix(record->op_type, "Conv") || g_str_equal(record->op_type, "ConvInteger");
}

/* --- convolutions -------------------------------------------------------------------------------------------------------
 */

static gint64 output_size(const IfmKernelRecord *record, gint64 in, gint64 kernel, gsize axis)
{
    const char *auto_pad = json_string_value(json_object_get(record->attributes, "auto_pad"));
    const gint64 stride = integer_of(record, "strides", axis, 1);
    const gint64 reach = integer_of(record, "dilations", axis, 1) * (kernel - 1) + 1;
    gint64 pads[] = { integer_of(record, "pads", axis, 0), integer_of(record, "pads", axis + 2, 0) };
    ifm_window_pads(auto_pad != NULL ? auto_pad : "", in, stride, reach, pads);
    const gint64 padded = in + pads[0] + pads[1];
    return padded >= reach ? (padded - reach) / stride + 1 : 0;
}

/* Groups of several channels stay whole; depthwise ones follow the channels. */
static gboolean vary_conv(IfmKernelRecord *record, const Scaling *scaling)
{
    IfmKernelTensor *x = input_of(record, 0), *w = input_of(record, 1), *bias = input_of(record, 2),
                    *sum = input_of(record, 3), *y = record->outputs->pdata[0];
    if (x->dims->len != 4 || w->dims->len != 4 || y->dims->len != 4)
        return FALSE;
    gint64 *in = dims_of(x), *weights = dims_of(w), *out = dims_of(y);
    const gint64 groups = integer_of(record, "group", 0, 1), multiple = *record->domain != '\0' ? BLOCK : 1;
    const gboolean is_depthwise = groups > 1 && weights[1] == 1;
    static const gint64 batches[] = { 1, 1, 1, 2, 3, 4 };
    const double factor = exp(g_rand_double_range(scaling->random, log(SMALLEST), log(LARGEST)));
    if (groups > 1 && !is_depthwise)
        return FALSE;
    in[0] = batches[g_rand_int_range(scaling->random, 0, G_N_ELEMENTS(batches))];
    for (int i = 2; i < 4; i++)
        in[i] = MAX(weights[i], (gint64)llround((double)in[i] * factor));
    if (in[1] >= BLOCK)
        in[1] = scaled(scaling, in[1], multiple);
    weights[0] = is_depthwise ? in[1] : scaled(scaling, weights[0], multiple);
    weights[1] = is_depthwise ? 1 : in[1] >= BLOCK ? in[1] : weights[1];
    if (is_depthwise)
        json_object_set_new(record->attributes, "group", json_integer(in[1]));
    if (bias != NULL)
        dims_of(bias)[0] = weights[0];
    out[0] = in[0];
    out[1] = weights[0];
    for (gsize i = 0; i < 2; i++)
        out[i + 2] = output_size(record, in[i + 2], weights[i + 2], i);
    if (sum != NULL)
        memcpy(dims_of(sum), out, 4 * sizeof *out);
    return out[2] >= 1 && out[3] >= 1;
}

/* --- other kernels ------------------------------------------------------------------------------------------------------
 */

/* What computes on integers, or is told sizes by them, keeps its shape. */
static gboolean is_all_float(const IfmKernelRecord *record)
{
    for (guint i = 0; i < record->inputs->len; i++)
    {
        const IfmKernelTensor *tensor = input_of(record, i);
        if (tensor != NULL && !g_str_equal(tensor->dtype, "f32"))
            return FALSE;
    }
    return TRUE;
}

static void vary_inputs(IfmKernelRecord *record, const Scaling *scaling)
{
    const gboolean is_blocked = g_str_has_suffix(record->domain, "nchwc");
    const gint64 batch = 1 + g_rand_int_range(scaling->random, 0, 3);
    for (guint i = 0; i < record->inputs->len; i++)
    {
        IfmKernelTensor *tensor = input_of(record, i);
        for (guint k = 0; tensor != NULL && k < tensor->dims->len; k++)
        {
            gint64 *dim = &dims_of(tensor)[k];
            if (k == 0 && *dim == 1 && tensor->dims->len >= 3 && !tensor->constant)
                *dim = batch;
            else if (*dim > FIXED)
                *dim = scaled(scaling, *dim, is_blocked && k == 1 ? BLOCK : 1);
        }
    }
}

/* ReorderOutput says how many of its blocked channels there are. */
static void follow_channels(IfmKernelRecord *record)
{
    const IfmKernelTensor *x = input_of(record, 0);
    if (json_object_get(record->attributes, "channels") != NULL && x != NULL && x->dims->len == 4)
        json_object_set_new(record->attributes, "channels", json_integer(g_array_index(x->dims, gint64, 1)));
}

/* The rules of the operators say what comes out, and at what cost. */
static gboolean infer(IfmKernelRecord *record)
{
    g_autoptr(IfmModel) model = NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_kernel_analyse(record, &model, NULL);
    for (guint i = 0; analysis != NULL && i < record->outputs->len; i++)
    {
        IfmKernelTensor *tensor = record->outputs->pdata[i];
        g_autofree char *name = g_strdup_printf("o%u_0", i);
        gint64 shape[IFM_MAX_RANK];
        int rank;
        IfmDtype dtype;
        if (*tensor->name == '\0')
            continue;
        if (!ifm_analysis_shape(analysis, name, &dtype, &rank, shape))
            return FALSE;
        g_array_set_size(tensor->dims, 0);
        g_array_append_vals(tensor->dims, shape, (guint)rank);
    }
    if (analysis == NULL)
        return FALSE;
    const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, 0);
    record->flop = cost->covered && !cost->is_upper_bound ? (double)cost->flop : (double)NAN;
    ifm_kernel_record_complete(record);
    return !(record->flop > MAX_FLOP) && record->input_bytes + record->weight_bytes + record->output_bytes <= MAX_BYTES;
}

IfmKernelRecord *ifm_kernel_vary(const IfmKernelRecord *record, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_autoptr(GHashTable) sizes = g_hash_table_new(g_direct_hash, g_direct_equal);
    const Scaling scaling = { random, sizes };
    g_autoptr(IfmKernelRecord) other = ifm_kernel_record_copy(record);
    g_ptr_array_set_size(other->covers, 0);
    g_array_set_size(other->depends, 0);
    if (!is_all_float(record) || record->outputs->len == 0 || ifm_kernel_record_moves(record))
        return NULL;
    if (!is_conv(record))
        vary_inputs(other, &scaling);
    else if (!vary_conv(other, &scaling))
        return NULL;
    follow_channels(other);
    return infer(other) && !g_str_equal(other->digest, record->digest) ? g_steal_pointer(&other) : NULL;
}

/* --- features -----------------------------------------------------------------------------------------------------------
 */

static double product_of(const IfmKernelTensor *tensor, guint first, guint end)
{
    double n = 1;
    for (guint i = first; i < MIN(end, tensor->dims->len); i++)
        n *= (double)g_array_index(tensor->dims, gint64, i);
    return n;
}

static double dim_of(const IfmKernelTensor *tensor, guint from_end)
{
    const guint rank = tensor->dims->len;
    return from_end < rank ? (double)g_array_index(tensor->dims, gint64, rank - 1 - from_end) : 1;
}

static gboolean is_product(const IfmKernelRecord *record)
{
    return g_str_has_suffix(record->op_type, "Gemm") || strstr(record->op_type, "MatMul") != NULL;
}

/* Behind the first factor of QLinearConv are its scale and its zero point. */
static const IfmKernelTensor *weights_of(const IfmKernelRecord *record)
{
    return input_of(record, g_str_has_prefix(record->op_type, "QLinear") ? 3 : 1);
}

static gboolean is_channels_last(const IfmKernelRecord *record)
{
    return g_str_has_prefix(record->op_type, "Nhwc") || integer_of(record, "channels_last", 0, 0) != 0;
}

/* A convolution as the matrix product that it comes to. */
static void describe_conv(const IfmKernelRecord *record, const IfmKernelTensor *w, const IfmKernelTensor *y,
                          IfmKernelFeatures *features)
{
    const guint rank = y->dims->len;
    features->outputs = product_of(w, 0, 1);
    features->kernel_size = dim_of(w, 0);
    features->stride = (double)integer_of(record, "strides", 0, 1);
    features->dilation = (double)integer_of(record, "dilations", 0, 1);
    features->groups = (double)integer_of(record, "group", 0, 1);
    features->m = is_channels_last(record) ? product_of(y, 0, rank - 1) : product_of(y, 0, 1) * product_of(y, 2, rank);
    features->k = product_of(w, 1, w->dims->len);
    features->n = features->outputs / MAX(features->groups, 1);
}

static void describe_product(const IfmKernelRecord *record, const IfmKernelTensor *x, const IfmKernelTensor *y,
                             IfmKernelFeatures *features)
{
    const gboolean transposed = integer_of(record, "transA", 0, 0) != 0;
    features->n = dim_of(y, 0);
    features->m = dim_of(y, 1);
    features->k = dim_of(x, transposed ? 1 : 0);
    features->batch = product_of(y, 0, y->dims->len >= 2 ? y->dims->len - 2 : 0);
}

/* --- what a kernel moves ------------------------------------------------------------------------------------------------
 */

#define LAYOUT_BLOCKS 1
#define LAYOUT_LAST 2

static gint64 from_front(gint64 axis, guint rank)
{
    return axis < 0 ? axis + (gint64)rank : axis;
}

/* The axes of a reduction, a bit each; all where it names none. */
static guint reduced_axes(const IfmKernelRecord *record, guint rank)
{
    const json_t *named = json_object_get(record->attributes, "axes");
    const IfmKernelTensor *given = input_of(record, 1);
    const gsize n = json_is_array(named) ? json_array_size(named) : given != NULL ? given->values->len : 0;
    guint axes = 0;
    for (gsize i = 0; i < n; i++)
    {
        const gint64 axis = from_front(json_is_array(named) ? json_integer_value(json_array_get(named, i))
                                                            : g_array_index(given->values, gint64, i),
                                       rank);
        axes |= axis >= 0 && axis < (gint64)rank ? 1u << axis : 0;
    }
    return axes != 0 ? axes : (1u << rank) - 1;
}

static void describe_reduction(const IfmKernelTensor *x, guint axes, IfmKernelFeatures *features)
{
    const guint rank = x->dims->len;
    guint last = 0;
    features->reduced = 1;
    for (guint i = 0; i < rank; i++)
        if (axes & (1u << i))
        {
            features->reduced *= (double)g_array_index(x->dims, gint64, i);
            last = i;
        }
    features->axis = (double)(rank - last);
    features->run = product_of(x, last + 1, rank);
}

static void describe_transposition(const IfmKernelRecord *record, const IfmKernelTensor *x, IfmKernelFeatures *features)
{
    const guint rank = x->dims->len;
    guint stays = rank;
    for (guint i = 0; i < rank; i++)
    {
        const gint64 from = integer_of(record, "perm", i, (gint64)(rank - 1 - i));
        if (from < 0 || from >= (gint64)rank)
            return;
        features->order = 10 * features->order + (double)from + 1;
        stays = from == (gint64)i ? MIN(stays, i) : rank; /* from here on to the end */
    }
    features->run = product_of(x, stays, rank);
}

/* Of what works along an axis; @fallback: where it names none */
static void describe_axis(const IfmKernelRecord *record, const IfmKernelTensor *x, gint64 fallback,
                          IfmKernelFeatures *features)
{
    const guint rank = x->dims->len;
    const gint64 axis = from_front(integer_of(record, "axis", 0, fallback), rank);
    if (axis < 0 || axis >= (gint64)rank)
        return;
    features->axis = (double)(rank - axis);
    features->run = product_of(x, (guint)axis, rank);
}

static void describe_movement(const IfmKernelRecord *record, const IfmKernelTensor *x, IfmKernelFeatures *features)
{
    const char *type = record->op_type;
    const guint rank = x->dims->len;
    for (guint i = 0; i < record->inputs->len; i++)
        features->inputs += input_of(record, i) != NULL && !input_of(record, i)->constant;
    features->domain = *record->domain != '\0';
    features->layout = g_str_has_suffix(record->domain, "nchwc")                              ? LAYOUT_BLOCKS
                       : is_channels_last(record) || g_str_has_suffix(record->domain, "nhwc") ? LAYOUT_LAST
                                                                                              : 0;
    if (rank == 0 || rank > IFM_MAX_RANK)
        return;
    if (g_str_has_prefix(type, "Reduce"))
        describe_reduction(x, reduced_axes(record, rank), features);
    else if (g_str_has_prefix(type, "Global") && rank > 2)
        describe_reduction(x, ((1u << rank) - 1) & ~3u, features);
    else if (g_str_equal(type, "Transpose"))
        describe_transposition(record, x, features);
    else if (g_str_has_suffix(type, "Softmax"))
        describe_axis(record, x, record->opset >= 13 ? -1 : 1, features);
    else if (g_str_has_suffix(type, "LayerNormalization"))
        describe_axis(record, x, -1, features);
    else if (json_object_get(record->attributes, "axis") != NULL)
        describe_axis(record, x, 0, features);
}

void ifm_kernel_features(const IfmKernelRecord *record, IfmKernelFeatures *features)
{
    const IfmKernelTensor *x = input_of(record, 0), *w = weights_of(record),
                          *y = record->outputs->len > 0 ? record->outputs->pdata[0] : NULL;
    *features = (IfmKernelFeatures){ 0 };
    if (x == NULL || y == NULL)
        return;
    const guint rank = x->dims->len, last = is_channels_last(record) ? 1 : 0;
    features->batch = rank == 4 ? product_of(x, 0, 1) : product_of(x, 0, rank > 0 ? rank - 1 : 0);
    features->channels = rank == 4 && !last ? product_of(x, 1, 2) : dim_of(x, 0);
    features->height = rank == 4 ? dim_of(x, 1 + last) : 0;
    features->width = rank == 4 ? dim_of(x, last) : 0;
    describe_movement(record, x, features);
    if (is_conv(record) && w != NULL && y->dims->len > 1)
        describe_conv(record, w, y, features);
    else if (is_product(record))
        describe_product(record, x, y, features);
    else
    {
        features->kernel_size = (double)integer_of(record, "kernel_shape", 0, 0);
        features->stride = (double)integer_of(record, "strides", 0, 0);
    }
}
