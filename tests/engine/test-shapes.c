/*
 * Inferred shapes against what ONNX Runtime really makes: operators with random attributes, whole models node by node, and
 * graphs that it has optimised.
 */
#include <glib/gstdio.h>

#include "fixture.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define MAX_NAMES 8

/* --- every tensor as an output -------------------------------------------------------------------------------------- */

static void append_varint(GByteArray *bytes, guint64 value)
{
    do
    {
        guint8 byte = (guint8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        g_byte_array_append(bytes, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void append_field(GByteArray *bytes, guint8 number, const guint8 *data, gsize size)
{
    guint8 key = (guint8)(number << 3 | 2);
    g_byte_array_append(bytes, &key, 1);
    append_varint(bytes, size);
    g_byte_array_append(bytes, data, (guint)size);
}

static guint64 read_varint(const guint8 **at)
{
    guint64 value = 0;
    for (int shift = 0;; shift += 7)
    {
        value |= (guint64)(**at & 0x7f) << shift;
        if ((*(*at)++ & 0x80) == 0)
            return value;
    }
}

static gboolean is_output(const IfmModel *model, const char *name)
{
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        if (g_str_equal(ifm_model_output(model, i)->name, name))
            return TRUE;
    return FALSE;
}

/*
 * append_type: TypeProto.tensor_type with the element type and as many free dimensions as are inferred. The driver takes an
 * output of which the runtime knows no rank for a scalar; a wrong rank makes the run fail, and the sizes are the run's own.
 */
static void append_type(GByteArray *info, IfmDtype dtype, int rank)
{
    const guint8 element[] = { 1 << 3, (guint8)dtype };
    g_autoptr(GByteArray) shape = g_byte_array_new(), tensor = g_byte_array_new(), type = g_byte_array_new();
    for (int i = 0; i < rank; i++)
        append_field(shape, 1, (const guint8 *)"", 0);
    g_byte_array_append(tensor, element, sizeof element);
    append_field(tensor, 2, shape->data, shape->len);
    append_field(type, 1, tensor->data, tensor->len);
    append_field(info, 2, type->data, type->len);
}

/* add_outputs: to a GraphProto (field 12 is a ValueInfoProto, whose field 1 is the name), everything that its nodes make.
 */
static void add_outputs(const IfmModel *model, const IfmAnalysis *analysis, GByteArray *graph)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++)
        {
            const char *name = node->outputs[k];
            IfmDtype dtype;
            int rank;
            gint64 shape[IFM_MAX_RANK];
            g_autoptr(GByteArray) info = g_byte_array_new();
            append_field(info, 1, (const guint8 *)name, strlen(name));
            if (analysis != NULL && ifm_analysis_shape(analysis, name, &dtype, &rank, shape))
                append_type(info, dtype, rank);
            if (*name != '\0' && !is_output(model, name))
                append_field(graph, 12, info->data, info->len);
        }
    }
}

/* with_all_outputs: the model's bytes with its graph (field 7) replaced by one that gives out all that it makes. */
static IfmModel *with_all_outputs(IfmModel *model, const IfmAnalysis *analysis, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = ifm_model_serialize(model, &error);
    g_autoptr(GByteArray) made = g_byte_array_new();
    gsize size;
    const guint8 *start = g_bytes_get_data(bytes, &size), *at = start;
    while (at < start + size)
    {
        const guint8 *field = at;
        guint64 key = read_varint(&at), length = read_varint(&at); /* of a number field its value: the same bytes */
        const guint8 *payload = at;
        at += (key & 7) == 2 ? length : 0;
        if (key != (7 << 3 | 2))
        {
            g_byte_array_append(made, field, (guint)(at - field));
            continue;
        }
        g_autoptr(GByteArray) graph = g_byte_array_new();
        g_byte_array_append(graph, payload, (guint)length);
        add_outputs(model, analysis, graph);
        append_field(made, 7, graph->data, graph->len);
    }
    g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(g_steal_pointer(&made));
    if (folder == NULL)
    {
        IfmModel *parsed = ifm_model_parse(whole, ifm_model_name(model), &error);
        g_assert_no_error(error);
        return parsed;
    }
    g_autofree char *path = g_build_filename(folder, "all-outputs.onnx", NULL);
    g_file_set_contents(path, g_bytes_get_data(whole, NULL), (gssize)g_bytes_get_size(whole), &error);
    g_assert_no_error(error);
    IfmModel *opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return opened;
}

/* --- running -------------------------------------------------------------------------------------------------------- */

/* compile_and_run: FALSE with what the runtime said. @fixture: its engine is open */
static gboolean compile_and_run(Fixture *fixture, IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings,
                                GError **error)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    fixture->model = ifm_model_ref(model);
    fixture->compiled = ifm_engine_compile(fixture->engine, model, fixture->spec, &options, error);
    fixture->request = fixture->compiled != NULL ? ifm_compiled_request(fixture->compiled, 0, error) : NULL;
    if (fixture->request == NULL)
        return FALSE;
    gsize n = ifm_model_n_inputs(model);
    IfmTensor *inputs = g_new0(IfmTensor, n + 1);
    gboolean ok = ifm_model_make_inputs(model, bindings, n_bindings, 1, inputs, error);
    for (gsize i = 0; ok && i < n; i++)
        ok = ifm_request_set_input(fixture->request, i, &inputs[i], error);
    ok = ok && ifm_request_start(fixture->request, NULL, NULL, error) &&
         ifm_request_wait(fixture->request, IFM_CLOCK_NEVER, error);
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
    g_free(inputs);
    return ok;
}

/* compare_outputs: Returns: how many shapes are known, each of them as the run had it. */
static gsize compare_outputs(Fixture *fixture, const IfmAnalysis *analysis, const char *what)
{
    gsize n_known = 0;
    for (gsize i = 0; i < ifm_compiled_n_outputs(fixture->compiled); i++)
    {
        g_autoptr(GError) error = NULL;
        const char *name = ifm_compiled_output(fixture->compiled, i)->name;
        IfmTensor output;
        IfmDtype dtype;
        int rank;
        gint64 shape[IFM_MAX_RANK];
        ifm_request_output(fixture->request, i, &output, &error);
        g_assert_no_error(error);
        if (!ifm_analysis_shape(analysis, name, &dtype, &rank, shape))
            continue;
        g_autofree char *found = ifm_shape_to_string(rank, shape), *real = ifm_shape_to_string(output.rank, output.shape);
        if (!g_str_equal(found, real) || dtype != output.dtype)
            g_error("%s: '%s' is inferred as %s %s, but is %s %s", what, name, ifm_dtype_name(dtype), found,
                    ifm_dtype_name(output.dtype), real);
        n_known++;
    }
    return n_known;
}

/* --- random attributes ---------------------------------------------------------------------------------------------- */

/* Case: a graph of one node under construction. Its inputs are "x", "a", ... in the order of their making. */
typedef struct
{
    IfmModelBuilder *builder;
    GRand *random;
    gint64 opset;
    const char *inputs[MAX_NAMES + 1], *outputs[MAX_NAMES + 1];
    gsize n_inputs, n_outputs;
    gsize node;
    gint64 x[IFM_MAX_RANK]; /* shape of the first input */
    int rank;
} Case;

static const char *const input_names[] = { "x", "a", "b", "c", "d", "e", "f", "g" };
static const char *const output_names[] = { "y", "y1", "y2", "y3", "y4", "y5", "y6", "y7" };

static gint64 draw(Case *self, gint64 least, gint64 most)
{
    return g_rand_int_range(self->random, (gint32)least, (gint32)most + 1);
}

static gboolean coin(Case *self)
{
    return g_rand_boolean(self->random);
}

static void input(Case *self, IfmDtype dtype, int rank, const gint64 *dims)
{
    const char *name = input_names[self->n_inputs];
    ifm_model_builder_input(self->builder, name, dtype, rank, dims, NULL);
    self->inputs[self->n_inputs++] = name;
}

/* x: the first input, of random shape. */
static void x(Case *self, int least_rank, int most_rank, gint64 most)
{
    self->rank = (int)draw(self, least_rank, most_rank);
    for (int i = 0; i < self->rank; i++)
        self->x[i] = draw(self, 1, most);
    input(self, IFM_DTYPE_F32, self->rank, self->x);
}

static void left_out(Case *self)
{
    self->inputs[self->n_inputs++] = "";
}

static void weight(Case *self, IfmDtype dtype, int rank, const gint64 *shape, const void *data)
{
    IfmTensor tensor;
    const char *name = input_names[self->n_inputs];
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, shape, (void *)data, NULL));
    ifm_model_builder_weight(self->builder, name, &tensor);
    self->inputs[self->n_inputs++] = name;
}

static void ints(Case *self, gsize n, const gint64 *values)
{
    weight(self, IFM_DTYPE_I64, 1, &(gint64){ (gint64)n }, values);
}

static void random_weight(Case *self, int rank, const gint64 *shape)
{
    const char *name = input_names[self->n_inputs];
    ifm_model_builder_random_weight(self->builder, name, rank, shape, 1, 1);
    self->inputs[self->n_inputs++] = name;
}

static void node(Case *self, const char *op_type, gsize n_outputs)
{
    for (gsize i = 0; i < n_outputs; i++)
        self->outputs[i] = output_names[i];
    self->node = ifm_model_builder_node(self->builder, op_type, NULL, self->inputs, self->outputs);
}

static void set_int(Case *self, const char *name, gint64 value)
{
    ifm_model_builder_int(self->builder, self->node, name, value);
}

static void set_ints(Case *self, const char *name, const gint64 *values, gsize n)
{
    ifm_model_builder_ints(self->builder, self->node, name, values, n);
}

static void set_string(Case *self, const char *name, const char *value)
{
    ifm_model_builder_string(self->builder, self->node, name, value);
}

static gint64 axis_of(Case *self, int rank)
{
    return draw(self, -rank, rank - 1);
}

/* some_axes: at random, each once, some counted from the end. */
static gsize some_axes(Case *self, int rank, gint64 *axes)
{
    gsize n = 0;
    for (int i = 0; i < rank; i++)
        if (coin(self))
            axes[n++] = coin(self) ? i : i - rank;
    return n;
}

/* --- windows */

static const char *const auto_pads[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };

/* windows: pads are less than the kernel, as the standard asks of pools. */
static void windows(Case *self, const gint64 *kernel, int n, gboolean dilate)
{
    gint64 strides[3], dilations[3], pads[6];
    const char *auto_pad = auto_pads[draw(self, 0, 3)];
    for (int i = 0; i < n; i++)
    {
        strides[i] = draw(self, 1, 4);
        dilations[i] = dilate ? draw(self, 1, 3) : 1;
        pads[i] = draw(self, 0, kernel[i] - 1);
        pads[i + n] = draw(self, 0, kernel[i] - 1);
    }
    if (coin(self))
        set_ints(self, "strides", strides, (gsize)n);
    if (dilate && coin(self) && !g_str_has_prefix(auto_pad, "SAME")) /* which the runtime computes only without */
        set_ints(self, "dilations", dilations, (gsize)n);
    if (coin(self) && g_str_equal(auto_pad, "NOTSET"))
        set_ints(self, "pads", pads, (gsize)(2 * n));
    if (coin(self) || !g_str_equal(auto_pad, "NOTSET"))
        set_string(self, "auto_pad", auto_pad);
}

static void make_conv(Case *self)
{
    int n = (int)draw(self, 1, 3);
    gint64 group = draw(self, 1, 3), each_in = draw(self, 1, 3), each_out = draw(self, 1, 3);
    gint64 dims[5] = { draw(self, 1, 2), group * each_in }, w[5] = { group * each_out, each_in };
    for (int i = 0; i < n; i++)
    {
        dims[i + 2] = draw(self, 3, 14);
        w[i + 2] = draw(self, 1, 4);
    }
    input(self, IFM_DTYPE_F32, n + 2, dims);
    random_weight(self, n + 2, w);
    if (coin(self))
        random_weight(self, 1, w);
    node(self, "Conv", 1);
    set_int(self, "group", group);
    if (coin(self))
        set_ints(self, "kernel_shape", w + 2, (gsize)n);
    windows(self, w + 2, n, TRUE);
}

static void make_conv_transpose(Case *self)
{
    int n = (int)draw(self, 1, 2);
    gint64 group = draw(self, 1, 3), each_in = draw(self, 1, 3);
    gint64 dims[4] = { draw(self, 1, 2), group * each_in }, w[4] = { group * each_in, draw(self, 1, 3) }, more[2], shape[2];
    gint64 strides[2];
    for (int i = 0; i < n; i++)
    {
        dims[i + 2] = draw(self, 2, 9);
        w[i + 2] = draw(self, 2, 4);
        strides[i] = draw(self, 1, 3);
        more[i] = draw(self, 0, strides[i] - 1);
        shape[i] = strides[i] * (dims[i + 2] - 1) + w[i + 2] - draw(self, 0, 1);
    }
    input(self, IFM_DTYPE_F32, n + 2, dims);
    random_weight(self, n + 2, w);
    node(self, "ConvTranspose", 1);
    set_int(self, "group", group);
    set_ints(self, "strides", strides, (gsize)n);
    gint64 form = draw(self, 0, 3);
    if (form == 0)
        set_ints(self, "output_padding", more, (gsize)n);
    else if (form == 1)
        set_ints(self, "output_shape", shape, (gsize)n);
    else if (form == 2)
        set_string(self, "auto_pad", auto_pads[draw(self, 1, 3)]);
    else
        set_ints(self, "pads", (gint64[]){ 1, 0, 0, 1 }, (gsize)(2 * n));
}

static void make_pool(Case *self)
{
    static const char *const pools[] = { "MaxPool", "AveragePool", "LpPool" };
    int n = (int)draw(self, 1, 3), kind = (int)draw(self, 0, 2);
    gint64 dims[5] = { 2, 3 }, kernel[3];
    for (int i = 0; i < n; i++)
    {
        dims[i + 2] = draw(self, 4, 14);
        kernel[i] = draw(self, 1, 4);
    }
    input(self, IFM_DTYPE_F32, n + 2, dims);
    node(self, pools[kind], kind == 0 && coin(self) ? 2 : 1);
    set_ints(self, "kernel_shape", kernel, (gsize)n);
    windows(self, kernel, n, kind == 0 && self->opset >= 10);
    if (coin(self) && self->opset >= 10 && kind != 2)
        set_int(self, "ceil_mode", 1);
}

/* --- parts */

static void make_slice(Case *self)
{
    gint64 axes[4], starts[4], ends[4], steps[4];
    x(self, 1, 4, 9);
    gsize n = some_axes(self, self->rank, axes);
    gboolean as_attributes = self->opset < 10;
    for (gsize i = 0; i < n; i++)
    {
        starts[i] = draw(self, -12, 12);
        ends[i] = draw(self, 0, 5) == 0 ? G_MAXINT64 : draw(self, 0, 5) == 0 ? -G_MAXINT64 : draw(self, -12, 12);
        steps[i] = coin(self) ? draw(self, 1, 4) : -draw(self, 1, 4);
    }
    if (n == 0)
    {
        axes[0] = starts[0] = 0;
        ends[0] = steps[0] = 1;
        n = 1;
    }
    gboolean has_steps = coin(self);
    for (gsize i = 0; i < 4 && !as_attributes; i++)
        if (i < 3 || has_steps)
            ints(self, n, i == 0 ? starts : i == 1 ? ends : i == 2 ? axes : steps);
    node(self, "Slice", 1);
    if (!as_attributes)
        return;
    set_ints(self, "starts", starts, n);
    set_ints(self, "ends", ends, n);
    set_ints(self, "axes", axes, n);
}

static void make_pad(Case *self)
{
    static const char *const modes[] = { "constant", "edge", "reflect" };
    gint64 pads[8], axes[4];
    x(self, 1, 4, 6);
    gsize n = self->opset >= 18 && coin(self) ? some_axes(self, self->rank, axes) : 0;
    gsize n_padded = n > 0 ? n : (gsize)self->rank;
    const char *mode = modes[draw(self, 0, 2)];
    gint64 least = g_str_equal(mode, "constant") && coin(self) ? -1 : 0, most = g_str_equal(mode, "reflect") ? 0 : 3;
    for (gsize i = 0; i < 2 * n_padded; i++)
        pads[i] = draw(self, least, most);
    if (self->opset >= 11)
        ints(self, 2 * n_padded, pads);
    if (n > 0)
    {
        left_out(self);
        ints(self, n, axes);
    }
    node(self, "Pad", 1);
    set_string(self, "mode", mode);
    if (self->opset < 11)
        set_ints(self, "pads", pads, 2 * n_padded);
}

static void make_split(Case *self)
{
    gint64 sizes[3];
    x(self, 1, 3, 9);
    gint64 axis = axis_of(self, self->rank), length = self->x[axis < 0 ? axis + self->rank : axis];
    gsize n = (gsize)draw(self, 1, MIN(3, length));
    gboolean named = coin(self);
    for (gsize i = 0; i < n; i++)
        sizes[i] = i + 1 == n ? length : draw(self, 0, length - (gint64)(n - i - 1));
    for (gsize i = 0; i < n; length -= sizes[i++])
        sizes[i] = i + 1 == n ? length : MIN(sizes[i], length);
    if (named && self->opset >= 13)
        ints(self, n, sizes);
    node(self, "Split", n);
    set_int(self, "axis", axis);
    if (named && self->opset < 13)
        set_ints(self, "split", sizes, n);
    if (!named && self->opset >= 18)
        set_int(self, "num_outputs", (gint64)n);
}

static void make_tile(Case *self)
{
    gint64 repeats[4];
    x(self, 1, 4, 4);
    for (int i = 0; i < self->rank; i++)
        repeats[i] = draw(self, 0, 3);
    ints(self, (gsize)self->rank, repeats);
    node(self, "Tile", 1);
}

static void make_concat(Case *self)
{
    x(self, 1, 4, 4);
    gint64 axis = axis_of(self, self->rank), dims[4];
    memcpy(dims, self->x, sizeof dims);
    for (int i = 0; i < 2; i++)
    {
        dims[axis < 0 ? axis + self->rank : axis] = draw(self, 0, 4);
        input(self, IFM_DTYPE_F32, self->rank, dims);
    }
    node(self, "Concat", 1);
    set_int(self, "axis", axis);
}

/* --- resizing */

static void floats(Case *self, gsize n, const float *values)
{
    weight(self, IFM_DTYPE_F32, 1, &(gint64){ (gint64)n }, values);
}

static void make_resize(Case *self)
{
    static const char *const modes[] = { "nearest", "linear", "cubic" }, *const policies[] = { "stretch", "not_larger",
                                                                                               "not_smaller" };
    gboolean by_sizes = self->opset >= 11 && coin(self), some = self->opset >= 18 && coin(self);
    float scales[4] = { 1, 1, 1, 1 };
    gint64 sizes[4];
    self->rank = 4;
    for (int i = 0; i < 4; i++)
    {
        sizes[i] = self->x[i] = i < 2 ? draw(self, 1, 3) : draw(self, 2, 9);
        if (i < 2)
            continue;
        sizes[i] = draw(self, 2, 20);
        scales[i] = (float)draw(self, 3, 30) / 10;
    }
    input(self, IFM_DTYPE_F32, 4, self->x);
    gsize from = some ? 2 : 0;
    if (self->opset >= 11)
        left_out(self);
    if (by_sizes)
    {
        left_out(self);
        ints(self, 4 - from, sizes + from);
    }
    else
        floats(self, 4 - from, scales + from);
    node(self, self->opset < 10 ? "Upsample" : "Resize", 1);
    set_string(self, "mode", modes[draw(self, 0, self->opset >= 11 && !some ? 2 : 1)]);
    if (some)
        set_ints(self, "axes", (gint64[]){ 2, -1 }, 2);
    if (some && by_sizes)
        set_string(self, "keep_aspect_ratio_policy", policies[draw(self, 0, 2)]);
}

static void make_blocks(Case *self)
{
    gint64 block = draw(self, 1, 3);
    gboolean to_space = coin(self);
    const gint64 dims[] = { 2, to_space ? block * block * 2 : 3, draw(self, 1, 3) * block, draw(self, 1, 3) * block };
    input(self, IFM_DTYPE_F32, 4, dims);
    node(self, to_space ? "DepthToSpace" : "SpaceToDepth", 1);
    set_int(self, "blocksize", block);
}

/* --- reductions */

static void make_reduce(Case *self)
{
    static const char *const ops[] = { "ReduceSum",    "ReduceMean",      "ReduceMax", "ReduceMin", "ReduceProd",
                                       "ReduceLogSum", "ReduceLogSumExp", "ReduceL1",  "ReduceL2",  "ReduceSumSquare" };
    gint64 axes[4], which = draw(self, 0, G_N_ELEMENTS(ops) - 1);
    x(self, 1, 4, 4);
    gsize n = some_axes(self, self->rank, axes);
    gboolean as_input = self->opset >= (which == 0 ? 13 : 18);
    if (as_input && coin(self))
        ints(self, n, axes);
    else if (as_input)
        n = 0;
    node(self, ops[which], 1);
    if (!as_input && n > 0)
        set_ints(self, "axes", axes, n);
    if (coin(self))
        set_int(self, "keepdims", draw(self, 0, 1));
    if (as_input && coin(self))
        set_int(self, "noop_with_empty_axes", 1);
}

static void make_arg(Case *self)
{
    x(self, 1, 4, 5);
    node(self, coin(self) ? "ArgMax" : "ArgMin", 1);
    set_int(self, "axis", axis_of(self, self->rank));
    set_int(self, "keepdims", draw(self, 0, 1));
}

static void make_top_k(Case *self)
{
    x(self, 1, 4, 6);
    gint64 axis = axis_of(self, self->rank), k = draw(self, 0, self->x[axis < 0 ? axis + self->rank : axis]);
    if (self->opset >= 10)
        ints(self, 1, &k);
    node(self, "TopK", 2);
    set_int(self, "axis", axis);
    if (self->opset < 10)
        set_int(self, "k", MAX(k, 1));
}

/* --- shapes written anew */

static void make_squeeze(Case *self)
{
    gint64 axes[5], dims[5];
    int rank = (int)draw(self, 1, 5);
    gsize n = some_axes(self, rank, axes);
    for (int i = 0; i < rank; i++)
        dims[i] = draw(self, 1, 3);
    for (gsize i = 0; i < n; i++)
        dims[axes[i] < 0 ? axes[i] + rank : axes[i]] = 1;
    input(self, IFM_DTYPE_F32, rank, dims);
    if (n > 0 && self->opset >= 13)
        ints(self, n, axes);
    node(self, "Squeeze", 1);
    if (n > 0 && self->opset < 13)
        set_ints(self, "axes", axes, n);
}

static void make_unsqueeze(Case *self)
{
    gint64 axes[7];
    x(self, 0, 3, 4);
    gsize n = 0;
    int more = (int)draw(self, 1, 3);
    for (int i = 0; n < (gsize)more && i < self->rank + more; i++)
        if (coin(self) || self->rank + more - i == more - (int)n)
            axes[n++] = self->opset >= 11 && coin(self) ? i - self->rank - more : i;
    if (self->opset >= 13)
        ints(self, n, axes);
    node(self, "Unsqueeze", 1);
    if (self->opset < 13)
        set_ints(self, "axes", axes, n);
}

static void make_reshape(Case *self)
{
    gint64 wanted[4];
    x(self, 2, 4, 4);
    gint64 form = draw(self, 0, 3);
    gsize n = form == 0 ? 1 : form == 3 ? 3 : 2;
    wanted[0] = form == 0 ? -1 : form == 1 ? 0 : form == 2 ? -1 : 0;
    wanted[1] = form == 1 ? -1 : form == 2 ? self->x[self->rank - 1] : 1;
    wanted[2] = -1;
    ints(self, n, wanted);
    node(self, "Reshape", 1);
}

static void make_flatten(Case *self)
{
    x(self, 1, 4, 4);
    node(self, "Flatten", 1);
    set_int(self, "axis", draw(self, self->opset >= 11 ? -self->rank : 0, self->rank));
}

static void make_transpose(Case *self)
{
    gint64 perm[4] = { 0, 1, 2, 3 };
    x(self, 1, 4, 5);
    for (int i = self->rank - 1; i > 0; i--)
    {
        gint64 other = draw(self, 0, i), kept = perm[i];
        perm[i] = perm[other];
        perm[other] = kept;
    }
    node(self, "Transpose", 1);
    if (coin(self))
        set_ints(self, "perm", perm, (gsize)self->rank);
}

static void make_expand(Case *self)
{
    gint64 wanted[5];
    x(self, 1, 3, 3);
    int rank = self->rank + (int)draw(self, 0, 2);
    for (int i = 0; i < rank; i++)
    {
        gint64 old = i < rank - self->rank ? 1 : self->x[i - (rank - self->rank)];
        wanted[i] = old == 1 ? draw(self, 1, 4) : coin(self) ? 1 : old;
    }
    ints(self, (gsize)rank, wanted);
    node(self, "Expand", 1);
}

/* --- by index */

static void make_gather(Case *self)
{
    static const gint64 zeros[64] = { 0 };
    gint64 shape[3];
    x(self, 1, 3, 4);
    int rank = (int)draw(self, 0, 3);
    for (int i = 0; i < rank; i++)
        shape[i] = draw(self, 1, 4);
    weight(self, IFM_DTYPE_I64, rank, shape, zeros);
    node(self, "Gather", 1);
    set_int(self, "axis", axis_of(self, self->rank));
}

static void make_one_hot(Case *self)
{
    static const float pair[] = { 0, 1 };
    const gint64 depth = draw(self, 1, 6), dims[] = { draw(self, 1, 4), draw(self, 1, 4) };
    input(self, IFM_DTYPE_I64, (int)draw(self, 1, 2), dims);
    if (coin(self))
        ints(self, 1, &depth);
    else
        weight(self, IFM_DTYPE_I64, 0, NULL, &depth);
    floats(self, 2, pair);
    node(self, "OneHot", 1);
    set_int(self, "axis", draw(self, -2, 1));
}

static void make_range(Case *self)
{
    const gint64 start = draw(self, -9, 9), limit = draw(self, -9, 9),
                 delta = coin(self) ? draw(self, 1, 4) : -draw(self, 1, 4);
    const float reals[] = { (float)start / 4, (float)limit / 3, (float)delta / 7 };
    gboolean is_real = coin(self);
    for (int i = 0; i < 3; i++)
        if (is_real)
            weight(self, IFM_DTYPE_F32, 0, NULL, &reals[i]);
        else
            weight(self, IFM_DTYPE_I64, 0, NULL, i == 0 ? &start : i == 1 ? &limit : &delta);
    node(self, "Range", 1);
}

/* --- products */

static void make_matmul(Case *self)
{
    gint64 inner = draw(self, 1, 4), batch = draw(self, 1, 3);
    const gint64 a[] = { coin(self) ? batch : 1, draw(self, 1, 4), inner }, b[] = { batch, inner, draw(self, 1, 4) };
    int rank_a = (int)draw(self, 1, 3), rank_b = (int)draw(self, 1, 3);
    input(self, IFM_DTYPE_F32, rank_a, a + 3 - rank_a);
    input(self, IFM_DTYPE_F32, rank_b, rank_b == 1 ? b + 1 : b + 3 - rank_b);
    node(self, "MatMul", 1);
}

static void make_einsum(Case *self)
{
    static const char *const equations[] = { "ij,jk->ik", "bij,bjk->bik",       "ij,kj->ik", "bhid,bhjd->bhij",
                                             "ij->ji",    "...ij,...jk->...ik", "ij,jk",     "i,j->ij",
                                             "ijk->i",    "bij , bjk -> b i k" };
    const char *equation = equations[draw(self, 0, G_N_ELEMENTS(equations) - 1)];
    gint64 sizes[128];
    for (int i = 0; i < 128; i++)
        sizes[i] = draw(self, 1, 4);
    const char *end = strchr(equation, '-') != NULL ? strchr(equation, '-') : equation + strlen(equation);
    gint64 dims[IFM_MAX_RANK];
    int rank = 0;
    for (const char *at = equation; at <= end; at++)
    {
        if (g_ascii_isalpha(*at))
            dims[rank++] = sizes[(int)*at];
        else if (*at == '.' && at[1] == '.' && at[2] == '.')
            dims[rank++] = 2;
        else if (*at == ',' || at == end)
        {
            input(self, IFM_DTYPE_F32, rank, dims);
            rank = 0;
        }
    }
    node(self, "Einsum", 1);
    set_string(self, "equation", equation);
}

static void make_recurrent(Case *self)
{
    static const char *const ops[] = { "RNN", "GRU", "LSTM" }, *const directions[] = { "forward", "reverse",
                                                                                       "bidirectional" };
    gint64 which = draw(self, 0, 2), way = draw(self, 0, 2), gates = which == 0 ? 1 : which + 2, n = way == 2 ? 2 : 1;
    gint64 hidden = draw(self, 1, 5), width = draw(self, 1, 5);
    const gint64 dims[] = { draw(self, 1, 4), draw(self, 1, 3), width };
    input(self, IFM_DTYPE_F32, 3, dims);
    random_weight(self, 3, (gint64[]){ n, gates * hidden, width });
    random_weight(self, 3, (gint64[]){ n, gates * hidden, hidden });
    if (coin(self))
        random_weight(self, 2, (gint64[]){ n, 2 * gates * hidden });
    node(self, ops[which], which == 2 ? 3 : 2);
    set_int(self, "hidden_size", hidden);
    set_string(self, "direction", directions[way]);
}

static void make_layer_normalization(Case *self)
{
    x(self, 1, 4, 5);
    gint64 axis = draw(self, 0, self->rank - 1);
    random_weight(self, self->rank - (int)axis, self->x + axis);
    node(self, "LayerNormalization", 3);
    set_int(self, "axis", coin(self) ? axis : axis - self->rank);
}

static void make_binary(Case *self)
{
    static const char *const ops[] = { "Add", "Mul", "Div", "Pow", "Less", "Max", "PRelu", "Mod", "Equal" };
    gint64 dims[4];
    x(self, 1, 4, 3);
    int rank = (int)draw(self, 1, self->rank);
    for (int i = 0; i < rank; i++)
        dims[i] = coin(self) ? 1 : self->x[self->rank - rank + i];
    input(self, IFM_DTYPE_F32, rank, dims);
    const char *op = ops[draw(self, 0, G_N_ELEMENTS(ops) - 1)];
    node(self, op, 1);
    if (g_str_equal(op, "Mod")) /* of floats */
        set_int(self, "fmod", 1);
}

/* Makers: @least_agreeing: of 60, how many the runtime must have computed, so that none is compared with nothing. */
static const struct
{
    const char *name;
    void (*make)(Case *self);
    gint64 opsets[4];
    int least_agreeing;
} makers[] = {
    { "conv", make_conv, { 7, 11, 17, 22 }, 30 },
    { "conv-transpose", make_conv_transpose, { 7, 11, 17, 22 }, 30 },
    { "pool", make_pool, { 8, 10, 12, 22 }, 30 },
    { "slice", make_slice, { 7, 10, 13, 17 }, 50 },
    { "pad", make_pad, { 7, 11, 13, 18 }, 40 },
    { "split", make_split, { 7, 11, 13, 18 }, 50 },
    { "tile", make_tile, { 7, 13, 13, 17 }, 50 },
    { "concat", make_concat, { 11, 13, 13, 17 }, 50 },
    { "resize", make_resize, { 9, 10, 13, 19 }, 30 },
    { "blocks", make_blocks, { 7, 11, 13, 17 }, 50 },
    { "reduce", make_reduce, { 7, 11, 13, 18 }, 45 },
    { "arg", make_arg, { 11, 12, 13, 17 }, 50 },
    { "top-k", make_top_k, { 7, 10, 11, 17 }, 40 },
    { "squeeze", make_squeeze, { 11, 13, 17, 21 }, 50 },
    { "unsqueeze", make_unsqueeze, { 7, 11, 13, 21 }, 50 },
    { "reshape", make_reshape, { 7, 13, 14, 21 }, 50 },
    { "flatten", make_flatten, { 7, 9, 11, 13 }, 50 },
    { "transpose", make_transpose, { 7, 13, 17, 21 }, 50 },
    { "expand", make_expand, { 8, 13, 17, 21 }, 50 },
    { "gather", make_gather, { 7, 11, 13, 17 }, 50 },
    { "one-hot", make_one_hot, { 9, 11, 13, 17 }, 40 },
    { "range", make_range, { 11, 13, 17, 21 }, 50 },
    { "matmul", make_matmul, { 7, 9, 13, 17 }, 50 },
    { "einsum", make_einsum, { 12, 13, 17, 21 }, 50 },
    { "recurrent", make_recurrent, { 7, 11, 14, 17 }, 50 },
    { "layer-normalization", make_layer_normalization, { 17, 17, 18, 21 }, 50 },
    { "binary", make_binary, { 11, 13, 15, 17 }, 50 },
};

/* try_case: one model; what is refused here must be refused there. Returns: whether both computed it, and agree. */
static gboolean try_case(Fixture *fixture, IfmModelBuilder *builder, const char *what)
{
    g_autoptr(GError) error = NULL, trouble = NULL;
    g_autoptr(IfmModel) plain = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) model = with_all_outputs(plain, NULL, NULL);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    gboolean ran = compile_and_run(fixture, model, NULL, 0, &trouble);
    if (analysis == NULL && ran)
        g_error("%s: refused (%s), but ONNX Runtime computes it", what, error->message);
    gboolean agrees = analysis != NULL && ran;
    if (agrees)
        g_assert_cmpuint(compare_outputs(fixture, analysis, what), ==, ifm_compiled_n_outputs(fixture->compiled));
    if (g_test_verbose() && !ran)
        g_test_message("%s: %s", what, trouble->message);
    fixture_drop(fixture);
    return agrees;
}

static void test_random(gconstpointer data)
{
    const gsize which = GPOINTER_TO_SIZE(data);
    Fixture fixture;
    int n_agreeing = 0;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (guint32 seed = 0; seed < 60; seed++)
    {
        g_autoptr(GRand) random = g_rand_new_with_seed(1000 + seed);
        gint64 opset = makers[which].opsets[seed % 4];
        g_autofree char *what = g_strdup_printf("%s, opset %d, seed %u", makers[which].name, (int)opset, seed);
        g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("case", opset);
        Case self = { .builder = builder, .random = random, .opset = opset };
        makers[which].make(&self);
        n_agreeing += try_case(&fixture, builder, what);
    }
    fixture_close(&fixture);
    g_test_message("%d of 60 agree", n_agreeing);
    g_assert_cmpint(n_agreeing, >=, makers[which].least_agreeing);
}

/* --- whole models --------------------------------------------------------------------------------------------------- */

/* bind_free: every free dimension of the inputs. */
static GArray *bind_free(const IfmModel *model, gint64 value)
{
    GArray *bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
        {
            gboolean seen = port->dim_names[axis] == NULL;
            for (guint k = 0; k < bindings->len && !seen; k++)
                seen = g_str_equal(g_array_index(bindings, IfmDimBinding, k).name, port->dim_names[axis]);
            IfmDimBinding binding = { port->dim_names[axis], value };
            if (!seen)
                g_array_append_val(bindings, binding);
        }
    }
    return bindings;
}

/* check_whole: every tensor that a node makes has a shape, and it is the one that the run made. @folder: where the model's
 * external data is; NULL where it has none */
static void check_whole(Fixture *fixture, IfmModel *plain, gint64 size, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) bindings = bind_free(plain, size);
    const IfmDimBinding *bound = (const IfmDimBinding *)(void *)bindings->data;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(plain, bound, bindings->len, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) model = with_all_outputs(plain, analysis, folder);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_covered, ==, coverage.n_nodes);
    compile_and_run(fixture, model, bound, bindings->len, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(compare_outputs(fixture, analysis, ifm_model_name(model)), ==,
                     ifm_compiled_n_outputs(fixture->compiled));
    g_assert_cmpuint(ifm_compiled_n_outputs(fixture->compiled), >=, ifm_model_n_nodes(model));
    fixture_drop(fixture);
}

static void remove_folder(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir))
    {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

/* Models of the zoo whose images may be of any size are made at sizes that all of them take. */
static void test_zoo(gconstpointer data)
{
    static const char *const sizes[] = { "size=96", "size=128" };
    const IfmZooEntry *entry = data;
    Fixture fixture;
    gboolean has_size = FALSE;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (const IfmZooParameter *parameter = entry->parameters; parameter->name != NULL; parameter++)
        has_size = has_size || g_str_equal(parameter->name, "size");
    for (int i = 0; i < 2; i++)
    {
        /* By way of a file: large weights lie beside it, and are mapped. */
        g_autoptr(IfmModel) built = zoo(entry->name, has_size ? sizes[i] : "");
        g_autoptr(GError) error = NULL;
        g_autofree char *folder = g_dir_make_tmp("inferometer-shapes-XXXXXX", &error);
        g_autofree char *path = g_build_filename(folder, "model.onnx", NULL);
        ifm_model_save(built, path, &error);
        g_assert_no_error(error);
        g_clear_pointer(&built, ifm_model_unref);
        g_autoptr(IfmModel) model = ifm_model_open(path, &error);
        g_assert_no_error(error);
        check_whole(&fixture, model, 2 + i, folder);
        remove_folder(folder);
    }
    fixture_close(&fixture);
}

/* Models of the onnx wheel, as exporters wrote them. */
static void test_light(void)
{
    Fixture fixture;
    g_autofree char *folder = g_build_filename(IFM_DEPS_DIR, "onnx", "light", NULL);
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    if (files == NULL)
    {
        g_test_skip("the onnx wheel's light models are not here");
        return;
    }
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (const char *name = g_dir_read_name(files); name != NULL; name = g_dir_read_name(files))
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!g_str_has_suffix(name, ".onnx"))
            continue;
        g_autoptr(IfmModel) model = ifm_model_open(path, &error);
        g_assert_no_error(error);
        check_whole(&fixture, model, 1, NULL);
    }
    fixture_close(&fixture);
}

/* --- optimised graphs ----------------------------------------------------------------------------------------------- */

static void count(const IfmAnalysis *analysis, IfmNodeCost *total, IfmCoverage *coverage)
{
    gsize n_covered;
    ifm_analysis_total(analysis, total, &n_covered);
    ifm_analysis_coverage(analysis, coverage);
}

static gboolean has_node(const IfmModel *model, const char *domain, const char *op_type)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *found = ifm_model_node(model, i);
        if (g_str_equal(found->domain, domain) && (op_type == NULL || g_str_equal(found->op_type, op_type)))
            return TRUE;
    }
    return FALSE;
}

/* optimised: the file that ONNX Runtime writes of the model as it runs it. */
static IfmModel *optimised(Fixture *fixture, IfmModel *model)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-shapes-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(folder, "optimised.onnx", NULL);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.save_optimised = path;
    fixture_compile(fixture, ifm_model_ref(model), &options);
    fixture_drop(fixture);
    IfmModel *read = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_unlink(path);
    g_rmdir(folder);
    return read;
}

/* check_optimised: The graph that was fused is read, its shapes are known, and it multiplies as much as the one it came
 * from.
 */
static IfmModel *check_optimised(Fixture *fixture, IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) fused = optimised(fixture, model);
    g_autoptr(IfmAnalysis) before = ifm_model_analyse(model, bindings, n_bindings, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) after = ifm_model_analyse(fused, bindings, n_bindings, &error);
    g_assert_no_error(error);
    IfmNodeCost one, other;
    g_auto(IfmCoverage) coverage = { 0 }, coverage_fused = { 0 };
    count(before, &one, &coverage);
    count(after, &other, &coverage_fused);
    for (guint i = 0; i < coverage_fused.missing->len; i++)
        g_test_message("%s", (const char *)g_ptr_array_index(coverage_fused.missing, i));
    g_assert_cmpuint(coverage.n_covered, ==, coverage.n_nodes);
    g_assert_cmpuint(coverage_fused.n_covered, ==, coverage_fused.n_nodes);
    g_assert_cmpuint(coverage_fused.n_nodes, <, coverage.n_nodes);
    g_assert_cmpint(other.macs, ==, one.macs);
    return g_steal_pointer(&fused);
}

/* add: a node of one output; the names are its own. */
static gsize add(IfmModelBuilder *builder, const char *op_type, const char *output, const char *const *inputs)
{
    return ifm_model_builder_node(builder, op_type, output, inputs, NAMES(output));
}

static void add_conv(IfmModelBuilder *builder, const char *from, const char *to, gint64 in, gint64 out, gint64 group)
{
    g_autofree char *weights = g_strconcat(to, ".w", NULL), *bias = g_strconcat(to, ".b", NULL);
    ifm_model_builder_random_weight(builder, weights, 4, (gint64[]){ out, in / group, 3, 3 }, 0.1, 1);
    ifm_model_builder_random_weight(builder, bias, 1, &out, 0.1, 1);
    gsize index = add(builder, "Conv", to, NAMES(from, weights, bias));
    ifm_model_builder_ints(builder, index, "pads", (gint64[]){ 1, 1, 1, 1 }, 4);
    ifm_model_builder_int(builder, index, "group", group);
}

/* A residual block, a depthwise convolution, pools: channels come in whole blocks, or the runtime would fill them up. */
static void test_optimised_cnn(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("cnn", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, (gint64[]){ 2, 3, 32, 32 }, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ 2, 10 }, NULL);
    add_conv(builder, "x", "c1", 3, 32, 1);
    add(builder, "Relu", "r1", NAMES("c1"));
    gsize pool = add(builder, "MaxPool", "p1", NAMES("r1"));
    ifm_model_builder_ints(builder, pool, "kernel_shape", (gint64[]){ 2, 2 }, 2);
    ifm_model_builder_ints(builder, pool, "strides", (gint64[]){ 2, 2 }, 2);
    add_conv(builder, "p1", "c2", 32, 32, 1);
    add(builder, "Add", "a2", NAMES("c2", "p1"));
    add(builder, "Relu", "r2", NAMES("a2"));
    add_conv(builder, "r2", "c3", 32, 32, 32);
    add(builder, "Relu", "r3", NAMES("c3"));
    add(builder, "GlobalAveragePool", "g", NAMES("r3"));
    add(builder, "Flatten", "f", NAMES("g"));
    ifm_model_builder_random_weight(builder, "w", 2, (gint64[]){ 32, 10 }, 0.1, 1);
    ifm_model_builder_random_weight(builder, "b", 1, (gint64[]){ 10 }, 0.1, 1);
    add(builder, "Gemm", "y", NAMES("f", "w", "b"));
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) fused = check_optimised(&fixture, model, NULL, 0);
    if (!has_node(fused, "com.microsoft.nchwc", NULL) && !has_node(fused, "com.microsoft", "FusedConv"))
        g_test_skip("ONNX Runtime neither blocks channels nor fuses convolutions on this processor");
    fixture_close(&fixture);
}

static void add_dense(IfmModelBuilder *builder, const char *from, const char *to, gint64 in, gint64 out)
{
    g_autofree char *weights = g_strconcat(to, ".w", NULL), *bias = g_strconcat(to, ".b", NULL);
    g_autofree char *product = g_strconcat(to, ".m", NULL);
    ifm_model_builder_random_weight(builder, weights, 2, (gint64[]){ in, out }, 0.1, 1);
    ifm_model_builder_random_weight(builder, bias, 1, &out, 0.1, 1);
    add(builder, "MatMul", product, NAMES(from, weights));
    add(builder, "Add", to, NAMES(bias, product));
}

static void add_ints(IfmModelBuilder *builder, const char *name, gsize n, const gint64 *values)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &(gint64){ (gint64)n }, (void *)values, NULL));
    ifm_model_builder_weight(builder, name, &tensor);
}

static void add_number(IfmModelBuilder *builder, const char *name, float value)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 0, NULL, &value, NULL));
    ifm_model_builder_weight(builder, name, &tensor);
}

static void add_norm(IfmModelBuilder *builder, const char *from, const char *to, gint64 width)
{
    g_autofree char *scale = g_strconcat(to, ".s", NULL), *bias = g_strconcat(to, ".b", NULL);
    ifm_model_builder_random_weight(builder, scale, 1, &width, 0.1, 1);
    ifm_model_builder_random_weight(builder, bias, 1, &width, 0.1, 1);
    add(builder, "LayerNormalization", to, NAMES(from, scale, bias));
}

static void add_heads(IfmModelBuilder *builder, const char *from, const char *to, gint64 width, const gint64 *perm)
{
    g_autofree char *dense = g_strconcat(to, ".d", NULL), *split = g_strconcat(to, ".r", NULL);
    add_dense(builder, from, dense, width, width);
    add(builder, "Reshape", split, NAMES(dense, "heads"));
    gsize index = add(builder, "Transpose", to, NAMES(split));
    ifm_model_builder_ints(builder, index, "perm", perm, 4);
}

/* A layer of a transformer as exporters write it: attention in heads, skips, GELU by Erf; two layers, so that all patterns
 * that the runtime looks for are there. */
static void test_optimised_transformer(void)
{
    const gint64 width = 64, length = 12;
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("transformer", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 3, (gint64[]){ 2, length, width }, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 3, (gint64[]){ 2, length, width }, NULL);
    add_ints(builder, "heads", 4, (gint64[]){ 0, 0, 4, 16 });
    add_ints(builder, "joined", 3, (gint64[]){ 0, 0, 64 });
    add_number(builder, "four", 4);
    add_number(builder, "root2", 1.4142135f);
    add_number(builder, "one", 1);
    add_number(builder, "half", 0.5f);
    add_norm(builder, "x", "n0", width);
    add_heads(builder, "n0", "q", width, (gint64[]){ 0, 2, 1, 3 });
    add_heads(builder, "n0", "k", width, (gint64[]){ 0, 2, 3, 1 });
    add_heads(builder, "n0", "v", width, (gint64[]){ 0, 2, 1, 3 });
    add(builder, "MatMul", "qk", NAMES("q", "k"));
    add(builder, "Div", "scores", NAMES("qk", "four"));
    ifm_model_builder_int(builder, add(builder, "Softmax", "p", NAMES("scores")), "axis", -1);
    add(builder, "MatMul", "pv", NAMES("p", "v"));
    gsize back = add(builder, "Transpose", "t", NAMES("pv"));
    ifm_model_builder_ints(builder, back, "perm", (gint64[]){ 0, 2, 1, 3 }, 4);
    add(builder, "Reshape", "o", NAMES("t", "joined"));
    add_dense(builder, "o", "od", width, width);
    add(builder, "Add", "s1", NAMES("od", "n0"));
    add_norm(builder, "s1", "n1", width);
    add_dense(builder, "n1", "h", width, 4 * width);
    add(builder, "Div", "g1", NAMES("h", "root2"));
    add(builder, "Erf", "g2", NAMES("g1"));
    add(builder, "Add", "g3", NAMES("g2", "one"));
    add(builder, "Mul", "g4", NAMES("h", "g3"));
    add(builder, "Mul", "g5", NAMES("g4", "half"));
    add_dense(builder, "g5", "fd", 4 * width, width);
    add(builder, "Add", "s2", NAMES("fd", "n1"));
    add_norm(builder, "s2", "y", width);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) fused = check_optimised(&fixture, model, NULL, 0);
    g_assert_true(has_node(fused, "com.microsoft", "SkipLayerNormalization"));
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/engine/shapes/light", test_light);
    g_test_add_func("/engine/shapes/optimised/cnn", test_optimised_cnn);
    g_test_add_func("/engine/shapes/optimised/transformer", test_optimised_transformer);
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
    {
        g_autofree char *path = g_strconcat("/engine/shapes/zoo/", entry->name, NULL);
        g_test_add_data_func(path, entry, test_zoo);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(makers); i++)
    {
        g_autofree char *path = g_strconcat("/engine/shapes/random/", makers[i].name, NULL);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_random);
    }
    return g_test_run();
}
