/* Inferred shapes against what ONNX Runtime really makes: operators with random attributes. */
#include "all-outputs.h"
#include "shape-cases.h"

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
    gint64 min = g_str_equal(mode, "constant") && coin(self) ? -1 : 0, max = g_str_equal(mode, "reflect") ? 0 : 3;
    for (gsize i = 0; i < 2 * n_padded; i++)
        pads[i] = draw(self, min, max);
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

/* Makers: @min_agreeing: of 60, how many the runtime must have computed, so that none is compared with nothing. */
static const struct
{
    const char *name;
    void (*make)(Case *self);
    gint64 opsets[4];
    int min_agreeing;
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
        g_assert_cmpuint(compare_outputs(fixture, analysis, what), ==, ifm_compiled_info(fixture->compiled).n_outputs);
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
    g_assert_cmpint(n_agreeing, >=, makers[which].min_agreeing);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(makers); i++)
    {
        g_autofree char *path = g_strconcat("/engine/shapes/random/", makers[i].name, NULL);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_random);
    }
    return g_test_run();
}
