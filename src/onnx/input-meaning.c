/* What an input of a model is for, as far as the graph tells, and so which values are plausible for it. */
#include <string.h>

#include "input-meaning.h"

#define MAX_HOPS 8 /* nodes that hand an input on, before one that says what it is for */
#define PIXEL_SIDE 16

/* What an operator does with an integer input. */
typedef enum
{
    STEER_PLACE,   /* a place along the axis of another input: token ids at the table's Gather */
    STEER_PLACES,  /* places in the first dimensions of another input: GatherND, ScatterND */
    STEER_AXES,    /* numbers of axes, each once */
    STEER_ONES,    /* how often, how many: 1 is always right */
    STEER_ZEROS,   /* where to begin, how far to shift */
    STEER_SHAPE,   /* the shape that another input has already */
    STEER_PARTS,   /* sizes that add up to a dimension of another input */
    STEER_LENGTHS, /* how much of a dimension of another input there is */
    STEER_COUNT,   /* a number of things that are made */
    STEER_DIVISOR, /* anything but 0 */
    STEER_CASE,    /* one of the cases that an If tells apart: what it is compared with */
} Steer;

/* @of: which input it is about    @attribute: … and which dimension, where it is not the first */
#define OPS(...) ((const char *const[]){ __VA_ARGS__, NULL })
static const struct
{
    const char *const *op_types;
    gsize input;
    Steer steer;
    gsize of;
    const char *attribute;
} steered[] = {
    { OPS("Gather", "GatherElements", "ScatterElements", "Scatter"), 1, STEER_PLACE, 0, "axis" },
    { OPS("GatherND"), 1, STEER_PLACES, 0, "batch_dims" },
    { OPS("ScatterND"), 1, STEER_PLACES },
    { OPS("EmbedLayerNormalization"), 0, STEER_PLACE, 2 },
    { OPS("EmbedLayerNormalization"), 1, STEER_PLACE, 4 },
    { OPS("EmbedLayerNormalization"), 7, STEER_ONES },
    { OPS("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
          "ReduceLogSumExp", "ReduceSumSquare", "Unsqueeze", "Squeeze", "CumSum"),
      1, STEER_AXES },
    { OPS("Slice"), 3, STEER_AXES },
    { OPS("Slice", "Pad", "Trilu"), 1, STEER_ZEROS },
    { OPS("Slice"), 2, STEER_SHAPE },
    { OPS("Slice"), 4, STEER_ONES },
    { OPS("Reshape", "CenterCropPad"), 1, STEER_SHAPE },
    { OPS("Resize"), 3, STEER_SHAPE },
    { OPS("Expand", "Tile", "TopK", "Upsample", "SplitToSequence"), 1, STEER_ONES },
    { OPS("ConstantOfShape"), 0, STEER_ONES },
    { OPS("Resize", "Range"), 2, STEER_ONES },
    { OPS("Range"), 0, STEER_ZEROS },
    { OPS("Range", "OneHot"), 1, STEER_COUNT },
    { OPS("Split"), 1, STEER_PARTS, 0, "axis" },
    { OPS("ReverseSequence"), 1, STEER_LENGTHS, 0, "time_axis" },
    { OPS("LSTM", "GRU", "RNN"), 4, STEER_LENGTHS },
    { OPS("Loop"), 0, STEER_COUNT },
    { OPS("Loop"), 1, STEER_ONES }, /* it turns at least once */
    { OPS("Equal"), 0, STEER_CASE, 1 },
    { OPS("Equal"), 1, STEER_CASE },
    { OPS("Div", "Mod"), 1, STEER_DIVISOR },
};
#undef OPS
#define COUNT 4 /* of things that are made */

/* They hand integers on as they are. */
static const char *const plain[] = { "Cast",   "Identity", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose",
                                     "Concat", "Slice",    "Expand",  "Tile",      "Split",   NULL };
/* They hand pictures on. */
static const char *const picturing[] = {
    "Cast",   "Identity",           "Transpose", "Sub", "Mul", "Div", "Add", "Pad", "QuantizeLinear", "DequantizeLinear",
    "Resize", "BatchNormalization", NULL
};

typedef struct
{
    const IfmModel *model;
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const IfmPort *port;
    const gint64 *shape;
    IfmAnalysis *analysis; /* made when it is first asked for; NULL before, and where it cannot be */
    gboolean is_analysed;
    IfmInputMeaning *meaning;
    gboolean is_found;
} Search;

/* The shape of a tensor of the graph. Returns: FALSE where it is unknown. */
static gboolean shape_of(Search *search, const char *tensor, int *rank, gint64 *shape)
{
    IfmDtype dtype;
    IfmTensor weight;
    if (ifm_model_initializer(search->model, tensor, &weight))
    {
        *rank = weight.rank;
        memcpy(shape, weight.shape, sizeof weight.shape);
        return TRUE;
    }
    if (!search->is_analysed)
        search->analysis = ifm_model_analyse((IfmModel *)search->model, search->bindings, search->n_bindings, NULL);
    search->is_analysed = TRUE;
    return search->analysis != NULL && ifm_analysis_shape(search->analysis, tensor, &dtype, rank, shape);
}

/* --- what to draw -------------------------------------------------------------------------------------------------------
 */

/* Of several readers the narrowest range. */
static void draw_below(Search *search, double high)
{
    IfmInputMeaning *meaning = search->meaning;
    if (search->is_found && meaning->n_fixed == 0)
        high = MIN(high, meaning->high);
    *meaning = (IfmInputMeaning){ .low = 0, .high = MAX(high, 1) };
    search->is_found = TRUE;
}

/* The first reader that wants fixed numbers has them. */
static void fix(Search *search, const gint64 *values, gsize n)
{
    if (search->is_found)
        return;
    search->is_found = TRUE;
    search->meaning->n_fixed = MIN(n, IFM_MAX_RANK);
    memcpy(search->meaning->fixed, values, search->meaning->n_fixed * sizeof *values);
}

static void fix_one(Search *search, gint64 value)
{
    fix(search, &value, 1);
}

/* @n: how many numbers the input has */
static void fix_axes(Search *search, const IfmNode *node, gint64 n)
{
    gint64 axes[IFM_MAX_RANK] = { 0 }, shape[IFM_MAX_RANK], found = 0;
    int rank;
    const gboolean squeezes = g_str_equal(node->op_type, "Squeeze");
    if (squeezes && shape_of(search, node->inputs[0], &rank, shape))
        for (int axis = 0; axis < rank && found < IFM_MAX_RANK; axis++)
            axes[found] = axis, found += shape[axis] == 1;
    for (; found < MIN(n, IFM_MAX_RANK); found++)
        axes[found] = found;
    fix(search, axes, (gsize)CLAMP(n, 1, IFM_MAX_RANK));
}

static void fix_shape(Search *search, const IfmNode *node, gsize of, gint64 n)
{
    gint64 shape[IFM_MAX_RANK];
    int rank;
    if (of < node->n_inputs && shape_of(search, node->inputs[of], &rank, shape) && rank == n && rank > 0)
        fix(search, shape, (gsize)rank);
    else if (g_str_equal(node->op_type, "Reshape"))
    {
        for (int axis = 0; axis < IFM_MAX_RANK; axis++)
            shape[axis] = axis == 0 ? -1 : 1;
        fix(search, shape, IFM_MAX_RANK);
    }
    else
        fix_one(search, g_str_equal(node->op_type, "Slice") ? G_MAXINT32 : 1);
}

/* The dimension of input @of that an attribute names, or the first; 0: unknown. */
static gint64 dimension(Search *search, const IfmNode *node, gsize of, const char *attribute)
{
    gint64 shape[IFM_MAX_RANK];
    int rank;
    if (of >= node->n_inputs || !shape_of(search, node->inputs[of], &rank, shape))
        return 0;
    gint64 axis = attribute != NULL ? ifm_node_int(node, attribute, 0) : 0;
    axis += axis < 0 ? rank : 0;
    return axis >= 0 && axis < rank ? shape[axis] : 0;
}

static void fix_parts(Search *search, const IfmNode *node, gint64 size, gint64 n)
{
    gint64 parts[IFM_MAX_RANK];
    if (size <= 0 || n <= 0 || n > IFM_MAX_RANK)
        return;
    for (gint64 i = 0; i < n; i++)
        parts[i] = i < n - 1 ? size / n : size - size / n * (n - 1);
    fix(search, parts, (gsize)n);
}

static gboolean is_condition(const Search *search, const char *tensor)
{
    const GArray *readers = ifm_model_consumers(search->model, tensor);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = ifm_model_node(search->model, g_array_index(readers, gsize, i));
        if (g_str_equal(node->op_type, "If") && g_str_equal(node->inputs[0], tensor))
            return TRUE;
    }
    return FALSE;
}

/* An integer that is stored, or made by a Constant node. */
static gboolean stored_integer(const Search *search, const char *name, gint64 *value)
{
    g_auto(IfmTensor) number = IFM_TENSOR_INIT;
    const gssize index = ifm_model_producer(search->model, name);
    const IfmNode *maker = index >= 0 ? ifm_model_node(search->model, (gsize)index) : NULL;
    const gboolean is_constant = maker != NULL && g_str_equal(maker->op_type, "Constant");
    const Onnx__AttributeProto *written = is_constant ? ifm_onnx_attribute(maker, "value") : NULL;
    if (is_constant && ifm_onnx_attribute(maker, "value_int") != NULL)
    {
        *value = ifm_node_int(maker, "value_int", 0);
        return TRUE;
    }
    if (!(written != NULL && written->t != NULL ? ifm_onnx_tensor_wrap(written->t, &number)
                                                : ifm_model_initializer(search->model, name, &number)) ||
        ifm_dtype_is_float(number.dtype) || ifm_dtype_size_bytes(number.dtype) == 0 || ifm_tensor_n_elements(&number) != 1)
        return FALSE;
    *value = (gint64)ifm_tensor_get_double(&number, 0);
    return TRUE;
}

/* A rate of 16000, say: the branch for all others need not take any other. */
static void fix_case(Search *search, const IfmNode *node, gsize of)
{
    gint64 value;
    if (!ifm_dtype_is_float(search->port->dtype) && of < node->n_inputs && is_condition(search, node->outputs[0]) &&
        stored_integer(search, node->inputs[of], &value))
        fix_one(search, value);
}

/* Each number is a place in one of the first dimensions: below the smallest of them. */
static void draw_places(Search *search, const IfmNode *node)
{
    gint64 shape[IFM_MAX_RANK], high = G_MAXINT64;
    int rank, index_rank;
    gint64 index_shape[IFM_MAX_RANK];
    if (!shape_of(search, node->inputs[0], &rank, shape) || !shape_of(search, node->inputs[1], &index_rank, index_shape) ||
        index_rank == 0)
        return;
    const gint64 first = CLAMP(ifm_node_int(node, "batch_dims", 0), 0, rank);
    for (gint64 axis = first; axis < MIN(first + index_shape[index_rank - 1], rank); axis++)
        high = MIN(high, shape[axis]);
    if (high < G_MAXINT64)
        draw_below(search, (double)high);
}

static void steer(Search *search, const IfmNode *node, gsize row)
{
    const gint64 n = search->port->rank == 0 ? 1 : search->shape[search->port->rank - 1];
    gint64 size = 0;
    switch (steered[row].steer)
    {
    case STEER_PLACE:
        size = dimension(search, node, steered[row].of, steered[row].attribute);
        if (size > 0)
            draw_below(search, (double)size);
        break;
    case STEER_PLACES:
        draw_places(search, node);
        break;
    case STEER_AXES:
        fix_axes(search, node, n);
        break;
    case STEER_ONES:
        fix_one(search, 1);
        break;
    case STEER_ZEROS:
        fix_one(search, 0);
        break;
    case STEER_SHAPE:
        fix_shape(search, node, steered[row].of, n);
        break;
    case STEER_PARTS:
        fix_parts(search, node, dimension(search, node, steered[row].of, steered[row].attribute), n);
        break;
    case STEER_LENGTHS:
        size = dimension(search, node, steered[row].of, steered[row].attribute);
        if (size > 0)
            fix_one(search, size);
        break;
    case STEER_COUNT:
        fix_one(search, COUNT);
        break;
    case STEER_CASE:
        fix_case(search, node, steered[row].of);
        break;
    case STEER_DIVISOR:
        if (!search->is_found && !ifm_dtype_is_float(search->port->dtype))
            *search->meaning = (IfmInputMeaning){ .low = 1, .high = 3 };
        break;
    }
}

/* --- following an input through the graph --------------------------------------------------------------------------- */

static void follow(Search *search, const char *tensor, int hops)
{
    const GArray *readers = ifm_model_consumers(search->model, tensor);
    for (guint i = 0; hops > 0 && readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = ifm_model_node(search->model, g_array_index(readers, gsize, i));
        for (gsize k = 0; k < node->n_inputs; k++)
            for (gsize row = 0; row < G_N_ELEMENTS(steered) && g_str_equal(node->inputs[k], tensor); row++)
                if (steered[row].input == k && g_strv_contains(steered[row].op_types, node->op_type))
                    steer(search, node, row);
        for (gsize k = 0;
             g_strv_contains(plain, node->op_type) && g_str_equal(node->inputs[0], tensor) && k < node->n_outputs; k++)
            follow(search, node->outputs[k], hops - 1);
    }
}

/* Whether a convolution reads it. */
static gboolean is_picture_for(const IfmModel *model, const char *tensor, int hops)
{
    const GArray *readers = ifm_model_consumers(model, tensor);
    for (guint i = 0; hops > 0 && readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = ifm_model_node(model, g_array_index(readers, gsize, i));
        if (strstr(node->op_type, "Conv") != NULL || g_str_equal(node->domain, "inferometer") ||
            (g_strv_contains(picturing, node->op_type) && node->n_outputs > 0 &&
             is_picture_for(model, node->outputs[0], hops - 1)))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_channels(gint64 n)
{
    return n == 1 || n == 3 || n == 4;
}

static gboolean is_picture(const IfmModel *model, const IfmPort *port, const gint64 *shape)
{
    const gboolean channels_first = port->rank == 4 && is_channels(shape[1]) && MIN(shape[2], shape[3]) >= PIXEL_SIDE;
    const gboolean channels_last = port->rank == 4 && is_channels(shape[3]) && MIN(shape[1], shape[2]) >= PIXEL_SIDE;
    return (channels_first || channels_last) && is_picture_for(model, port->name, MAX_HOPS);
}

/* Nothing is masked: of a batch without padding. */
static gboolean is_mask(const IfmPort *port)
{
    return port->rank > 0 && !ifm_dtype_is_float(port->dtype) &&
           (g_str_equal(port->name, "mask") || strstr(port->name, "attention_mask") != NULL ||
            strstr(port->name, "input_mask") != NULL);
}

void ifm_onnx_input_meaning(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const IfmPort *port,
                            const gint64 *shape, IfmInputMeaning *meaning)
{
    const gboolean is_float = ifm_dtype_is_float(port->dtype);
    Search search = {
        .model = model, .bindings = bindings, .n_bindings = n_bindings, .port = port, .shape = shape, .meaning = meaning
    };
    *meaning = is_float ? (IfmInputMeaning){ .low = -1, .high = 1 } : (IfmInputMeaning){ .low = 0, .high = 2 };
    if (is_picture(model, port, shape))
        *meaning = (IfmInputMeaning){ .low = 0, .high = is_float || port->dtype == IFM_DTYPE_BOOL ? 1 : 256 };
    else if (is_mask(port))
        fix_one(&search, 1);
    else
        follow(&search, port->name, MAX_HOPS);
    ifm_analysis_free(search.analysis);
}
