/* A region as it is written, with the value of each of its lines by plain loops in double over NCHW; and its runs against
 * them. */
#pragma once
#include <blocked/region.h>

#include "convolution/reference.h"

/* --- a network and what it gives -------------------------------------------------------------------------------------- */

typedef struct
{
    int64_t size[4];
    double *at;
} Tensor;

/* Net: a program as it is written, with the value of each of its lines. */
typedef struct
{
    GString *program;
    GArray *values;           /* Tensor */
    GArray *constants;        /* IfmRegionConstant */
    GArray *inputs, *outputs; /* guint: of values */
    GArray *blocked_outputs;  /* gboolean */
    GRand *rand;
    double tolerance; /* of the largest output */
} Net;

static inline void net_init(Net *net, guint32 seed)
{
    *net = (Net){ .program = g_string_new("region 1\n"),
                  .values = g_array_new(FALSE, FALSE, sizeof(Tensor)),
                  .constants = g_array_new(FALSE, FALSE, sizeof(IfmRegionConstant)),
                  .inputs = g_array_new(FALSE, FALSE, sizeof(guint)),
                  .outputs = g_array_new(FALSE, FALSE, sizeof(guint)),
                  .blocked_outputs = g_array_new(FALSE, FALSE, sizeof(gboolean)),
                  .rand = g_rand_new_with_seed(seed),
                  .tolerance = 1e-5 };
}

static inline void net_clear(Net *net)
{
    for (guint i = 0; i < net->values->len; i++)
        g_free(g_array_index(net->values, Tensor, i).at);
    for (guint i = 0; i < net->constants->len; i++)
        g_free((float *)g_array_index(net->constants, IfmRegionConstant, i).data);
    g_string_free(net->program, TRUE);
    g_array_unref(net->values);
    g_array_unref(net->constants);
    g_array_unref(net->inputs);
    g_array_unref(net->outputs);
    g_array_unref(net->blocked_outputs);
    g_rand_free(net->rand);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Net, net_clear)

static inline Tensor *value(const Net *net, guint index)
{
    return &g_array_index(net->values, Tensor, index);
}

static inline gsize count(const int64_t size[4])
{
    return (gsize)(size[0] * size[1] * size[2] * size[3]);
}

static inline double *at(const Tensor *tensor, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t *size = tensor->size;
    return &tensor->at[((n * size[1] + c) * size[2] + y) * size[3] + x];
}

static inline guint net_add(Net *net, int64_t n, int64_t c, int64_t h, int64_t w)
{
    const Tensor tensor = { { n, c, h, w }, g_new0(double, n *c *h *w) };
    g_array_append_val(net->values, tensor);
    return net->values->len - 1;
}

/* FOR_EACH: loops over the places of a tensor. */
#define FOR_EACH(tensor)                                                                                                   \
    for (int64_t n = 0; n < (tensor)->size[0]; n++)                                                                        \
        for (int64_t c = 0; c < (tensor)->size[1]; c++)                                                                    \
            for (int64_t y = 0; y < (tensor)->size[2]; y++)                                                                \
                for (int64_t x = 0; x < (tensor)->size[3]; x++)

static inline double act_one(const char *name, double alpha, double beta, double x)
{
    const double limited = fmax(0, fmin(1, x / 6 + 0.5));
    if (g_str_equal(name, "relu"))
        return fmax(x, 0);
    if (g_str_equal(name, "clip"))
        return fmin(fmax(x, alpha), beta);
    if (g_str_equal(name, "leaky_relu"))
        return x < 0 ? alpha * x : x;
    if (g_str_equal(name, "hard_sigmoid"))
        return fmax(0, fmin(1, alpha * x + beta));
    if (g_str_equal(name, "sigmoid"))
        return 1 / (1 + exp(-x));
    if (g_str_equal(name, "tanh"))
        return tanh(x);
    if (g_str_equal(name, "silu"))
        return x / (1 + exp(-x));
    if (g_str_equal(name, "hard_swish"))
        return x * limited;
    if (g_str_equal(name, "gelu"))
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    if (g_str_equal(name, "gelu_tanh"))
        return 0.5 * x * (1 + tanh(sqrt(2 / G_PI) * (x + 0.044715 * x * x * x)));
    g_assert_cmpstr(name, ==, "none");
    return x;
}

/* Act: a name with its parameters, each exact in f32. */
typedef struct
{
    const char *name;
    double alpha, beta;
} Act;
static const Act none = { "none", 0, 0 };
static const Act acts[] = {
    { "none", 0, 0 },       { "relu", 0, 0 },           { "clip", -0.25, 0.5 },
    { "clip", 0.125, 2 },   { "leaky_relu", 0.125, 0 }, { "hard_sigmoid", 0.25, 0.5 },
    { "sigmoid", 0, 0 },    { "tanh", 0, 0 },           { "silu", 0, 0 },
    { "hard_swish", 0, 0 }, { "gelu", 0, 0 },           { "gelu_tanh", 0, 0 },
};

static inline void net_act_all(Net *net, guint index, Act act)
{
    Tensor *tensor = value(net, index);
    for (gsize i = 0; i < count(tensor->size); i++)
        tensor->at[i] = act_one(act.name, act.alpha, act.beta, tensor->at[i]);
}

static inline guint net_input(Net *net, int64_t n, int64_t c, int64_t h, int64_t w, gboolean is_blocked)
{
    const guint index = net_add(net, n, c, h, w);
    Tensor *tensor = value(net, index);
    for (gsize i = 0; i < count(tensor->size); i++)
        tensor->at[i] = (float)g_rand_double_range(net->rand, -1, 1);
    g_array_append_val(net->inputs, index);
    if (is_blocked)
        g_string_append_printf(net->program, "input blocked %ld\n", (long)c);
    else
        g_string_append(net->program, "input nchw\n");
    return index;
}

static inline void net_output(Net *net, guint index, gboolean is_blocked)
{
    g_array_append_val(net->outputs, index);
    g_array_append_val(net->blocked_outputs, is_blocked);
    g_string_append_printf(net->program, "output %s v%u\n", is_blocked ? "blocked" : "nchw", index);
}

static inline guint net_constant(Net *net, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const IfmRegionConstant constant = { rank, { a, b, c, d }, random_floats(net->rand, (gsize)(a * b * c * d)) };
    g_array_append_val(net->constants, constant);
    return net->constants->len - 1;
}

static inline const float *constant_data(const Net *net, guint index)
{
    return g_array_index(net->constants, IfmRegionConstant, index).data;
}

/* Conv: what a step of it has. */
typedef struct
{
    int64_t outputs, kernel[2], stride[2], dilation[2], pads[4], group;
    gboolean has_bias;
    int sum; /* a value, or -1 */
    Act act;
    const char *algorithm;
} Conv;
static const Conv plain = { 16, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, 1, TRUE, -1, { "none", 0, 0 }, "any 0" };

static inline double conv_at(const Tensor *in, const Conv *conv, const float *weights, int64_t n, int64_t o, int64_t y,
                             int64_t x)
{
    const int64_t channels = in->size[1] / conv->group, first = o / (conv->outputs / conv->group) * channels;
    double sum = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < conv->kernel[0]; i++)
            for (int64_t j = 0; j < conv->kernel[1]; j++)
            {
                const int64_t from_y = y * conv->stride[0] - conv->pads[0] + i * conv->dilation[0];
                const int64_t from_x = x * conv->stride[1] - conv->pads[1] + j * conv->dilation[1];
                if (from_y >= 0 && from_y < in->size[2] && from_x >= 0 && from_x < in->size[3])
                    sum += *at(in, n, first + c, from_y, from_x) *
                           (double)weights[((o * channels + c) * conv->kernel[0] + i) * conv->kernel[1] + j];
            }
    return sum;
}

static inline int64_t slid(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads)
{
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

static inline guint net_conv(Net *net, guint from, const Conv *conv)
{
    const int64_t *size = value(net, from)->size, *k = conv->kernel, *s = conv->stride, *d = conv->dilation,
                  *p = conv->pads;
    const guint weights = net_constant(net, 4, conv->outputs, size[1] / conv->group, k[0], k[1]);
    const guint bias = conv->has_bias ? net_constant(net, 1, conv->outputs, 1, 1, 1) : 0;
    g_autofree char *bias_text = conv->has_bias ? g_strdup_printf("w%u", bias) : g_strdup("-");
    g_autofree char *sum_text = conv->sum >= 0 ? g_strdup_printf("v%d", conv->sum) : g_strdup("-");
    g_string_append_printf(net->program,
                           "conv v%u w%u %s %s kernel %ld %ld stride %ld %ld dilation %ld %ld pads %ld %ld %ld %ld group "
                           "%ld act %s %g %g algorithm %s name /layer %u\n",
                           from, weights, bias_text, sum_text, (long)k[0], (long)k[1], (long)s[0], (long)s[1], (long)d[0],
                           (long)d[1], (long)p[0], (long)p[1], (long)p[2], (long)p[3], (long)conv->group, conv->act.name,
                           conv->act.alpha, conv->act.beta, conv->algorithm, net->values->len);
    const guint index = net_add(net, size[0], conv->outputs, slid(size[2], k[0], s[0], d[0], p[0] + p[2]),
                                slid(size[3], k[1], s[1], d[1], p[1] + p[3]));
    const Tensor *in = value(net, from), *out = value(net, index);
    FOR_EACH(out)
    *at(out, n, c, y, x) = conv_at(in, conv, constant_data(net, weights), n, c, y, x) +
                           (conv->has_bias ? (double)constant_data(net, bias)[c] : 0) +
                           (conv->sum >= 0 ? *at(value(net, (guint)conv->sum), n, c, y, x) : 0);
    net_act_all(net, index, conv->act);
    return index;
}

typedef struct
{
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    gboolean is_ceil, includes_pad;
} Pool;

/* Windows that are cut off begin within the input or the padding before it. */
static inline int64_t pooled_size(const Pool *pool, int axis, int64_t in)
{
    const int64_t left = in + pool->pads[axis] + pool->pads[axis + 2] - (pool->kernel[axis] - 1) * pool->dilation[axis] - 1;
    int64_t out = left / pool->stride[axis] + 1;
    if (pool->is_ceil && left % pool->stride[axis] != 0)
        out++;
    return (out - 1) * pool->stride[axis] >= in + pool->pads[axis] ? out - 1 : out;
}

static inline double pool_at(const Tensor *in, const Pool *pool, gboolean is_max, int64_t n, int64_t c, int64_t y,
                             int64_t x)
{
    double sum = 0, largest = -INFINITY;
    int64_t n_inside = 0, n_padded = 0;
    for (int64_t i = 0; i < pool->kernel[0]; i++)
        for (int64_t j = 0; j < pool->kernel[1]; j++)
        {
            const int64_t from_y = y * pool->stride[0] - pool->pads[0] + i * pool->dilation[0];
            const int64_t from_x = x * pool->stride[1] - pool->pads[1] + j * pool->dilation[1];
            n_padded += from_y < in->size[2] + pool->pads[2] && from_x < in->size[3] + pool->pads[3];
            if (from_y < 0 || from_y >= in->size[2] || from_x < 0 || from_x >= in->size[3])
                continue;
            n_inside++;
            sum += *at(in, n, c, from_y, from_x);
            largest = fmax(largest, *at(in, n, c, from_y, from_x));
        }
    return is_max ? largest : sum / (double)(pool->includes_pad ? n_padded : n_inside);
}

static inline guint net_pool(Net *net, guint from, gboolean is_max, const Pool *pool)
{
    const int64_t *size = value(net, from)->size, *k = pool->kernel, *s = pool->stride, *d = pool->dilation,
                  *p = pool->pads;
    g_string_append_printf(net->program, "%s v%u kernel %ld %ld stride %ld %ld", is_max ? "max_pool" : "average_pool", from,
                           (long)k[0], (long)k[1], (long)s[0], (long)s[1]);
    if (is_max)
        g_string_append_printf(net->program, " dilation %ld %ld", (long)d[0], (long)d[1]);
    g_string_append_printf(net->program, " pads %ld %ld %ld %ld ceil %d", (long)p[0], (long)p[1], (long)p[2], (long)p[3],
                           pool->is_ceil);
    g_string_append_printf(net->program, is_max ? "\n" : " include_pad %d\n", pool->includes_pad);
    const guint index = net_add(net, size[0], size[1], pooled_size(pool, 0, size[2]), pooled_size(pool, 1, size[3]));
    const Tensor *in = value(net, from), *out = value(net, index);
    FOR_EACH(out)
    *at(out, n, c, y, x) = pool_at(in, pool, is_max, n, c, y, x);
    return index;
}

static inline guint net_global_pool(Net *net, guint from)
{
    const guint index = net_add(net, value(net, from)->size[0], value(net, from)->size[1], 1, 1);
    const Tensor *in = value(net, from), *out = value(net, index);
    g_string_append_printf(net->program, "global_average_pool v%u\n", from);
    FOR_EACH(in)
    *at(out, n, c, 0, 0) += *at(in, n, c, y, x) / (double)(in->size[2] * in->size[3]);
    return index;
}

static inline double broadcast_at(const Tensor *from, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t *size = from->size;
    return *at(from, size[0] == 1 ? 0 : n, size[1] == 1 ? 0 : c, size[2] == 1 ? 0 : y, size[3] == 1 ? 0 : x);
}

static inline guint net_binary(Net *net, const char *kind, guint left, guint right, Act act)
{
    int64_t size[4];
    for (int i = 0; i < 4; i++)
        size[i] = MAX(value(net, left)->size[i], value(net, right)->size[i]);
    const guint index = net_add(net, size[0], size[1], size[2], size[3]);
    const Tensor *a = value(net, left), *b = value(net, right), *out = value(net, index);
    g_string_append_printf(net->program, "%s v%u v%u act %s %g %g\n", kind, left, right, act.name, act.alpha, act.beta);
    FOR_EACH(out)
    *at(out, n, c, y, x) = g_str_equal(kind, "add") ? broadcast_at(a, n, c, y, x) + broadcast_at(b, n, c, y, x)
                                                    : broadcast_at(a, n, c, y, x) * broadcast_at(b, n, c, y, x);
    net_act_all(net, index, act);
    return index;
}

static inline guint net_like(Net *net, guint from)
{
    const int64_t *size = value(net, from)->size;
    const guint index = net_add(net, size[0], size[1], size[2], size[3]);
    memcpy(value(net, index)->at, value(net, from)->at, count(value(net, from)->size) * sizeof(double));
    return index;
}

static inline guint net_act(Net *net, guint from, Act act)
{
    const guint index = net_like(net, from);
    g_string_append_printf(net->program, "act v%u %s %g %g\n", from, act.name, act.alpha, act.beta);
    net_act_all(net, index, act);
    return index;
}

static inline guint net_scale(Net *net, guint from, Act act)
{
    const guint index = net_like(net, from);
    const Tensor *out = value(net, index);
    const guint by = net_constant(net, 1, out->size[1], 1, 1, 1), plus = net_constant(net, 1, out->size[1], 1, 1, 1);
    g_string_append_printf(net->program, "scale v%u w%u w%u act %s %g %g\n", from, by, plus, act.name, act.alpha, act.beta);
    FOR_EACH(out)
    *at(out, n, c, y, x) = *at(out, n, c, y, x) * (double)constant_data(net, by)[c] + (double)constant_data(net, plus)[c];
    net_act_all(net, index, act);
    return index;
}

static inline guint net_concat(Net *net, const guint *parts, guint n_parts)
{
    const int64_t *size = value(net, parts[0])->size;
    int64_t channels = 0, begin = 0;
    g_string_append(net->program, "concat");
    for (guint k = 0; k < n_parts; k++)
    {
        channels += value(net, parts[k])->size[1];
        g_string_append_printf(net->program, " v%u", parts[k]);
    }
    g_string_append_c(net->program, '\n');
    const guint index = net_add(net, size[0], channels, size[2], size[3]);
    const Tensor *out = value(net, index);
    for (guint k = 0; k < n_parts; begin += value(net, parts[k++])->size[1])
        FOR_EACH(value(net, parts[k]))
    *at(out, n, begin + c, y, x) = *at(value(net, parts[k]), n, c, y, x);
    return index;
}

static inline guint net_resize(Net *net, guint from, int64_t rows, int64_t columns)
{
    const int64_t *size = value(net, from)->size;
    const guint index = net_add(net, size[0], size[1], size[2] * rows, size[3] * columns);
    const Tensor *in = value(net, from), *out = value(net, index);
    g_string_append_printf(net->program, "resize v%u %ld %ld\n", from, (long)rows, (long)columns);
    FOR_EACH(out)
    *at(out, n, c, y, x) = *at(in, n, c, y / rows, x / columns);
    return index;
}

/* --- checks ----------------------------------------------------------------------------------------------------------- */

static const char *const isas[] = { "avx512", "avx2", "portable" };

static inline gboolean has_isa(const char *isa)
{
    return g_str_equal(ifm_blocked_isa(g_str_equal(isa, "avx512") ? 16 : 8, isa), isa);
}

static inline IfmRegion *net_region(const Net *net, const char *isa, int n_threads)
{
    const IfmRegionOptions options = { .max_isa = isa, .n_threads = n_threads };
    IfmBlockedError error = { 0 };
    IfmRegion *region = ifm_region_new(net->program->str, (const IfmRegionConstant *)(gpointer)net->constants->data,
                                       net->constants->len, &options, &error);
    if (region == NULL)
        g_error("%s\n%s", error.text, net->program->str);
    g_assert_cmpuint(ifm_region_n_inputs(region), ==, net->inputs->len);
    g_assert_cmpuint(ifm_region_n_outputs(region), ==, net->outputs->len);
    return region;
}

static inline gsize place_in(const int64_t size[4], int64_t block, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t blocks = (size[1] + block - 1) / block;
    return (gsize)((((n * blocks + c / block) * size[2] + y) * size[3] + x) * block + c % block);
}

/* As the caller of a region has a tensor. @shape: (out) */
static inline float *outside(const Tensor *tensor, int64_t block, int64_t shape[4])
{
    const int64_t *size = tensor->size;
    memcpy(shape, size, sizeof(tensor->size));
    shape[1] = (size[1] + block - 1) / block * block;
    float *made = g_new0(float, count(shape));
    FOR_EACH(tensor)
    made[place_in(size, block, n, c, y, x)] = (float)*at(tensor, n, c, y, x);
    return made;
}

static inline gboolean is_blocked_input(const Net *net, guint input)
{
    g_auto(GStrv) lines = g_strsplit(net->program->str, "\n", -1);
    return g_str_has_prefix(lines[1 + g_array_index(net->inputs, guint, input)], "input blocked");
}

/* Returns: how far off an output is, as a share of the largest. */
static inline double worst_of(const Tensor *expected, int64_t block, const float *output)
{
    double worst = 0, largest = 0;
    FOR_EACH(expected)
    {
        const double off = fabs((double)output[place_in(expected->size, block, n, c, y, x)] - *at(expected, n, c, y, x));
        worst = off <= worst ? worst : off; /* a NaN is the worst */
        largest = fmax(largest, fabs(*at(expected, n, c, y, x)));
    }
    return worst / fmax(largest, 1e-30);
}

/* Runs a region on the net's inputs and compares. Returns: FALSE with a line on stderr */
static inline gboolean net_runs(const Net *net, IfmRegion *region, IfmBlockedParallel parallel, const char *what)
{
    const int64_t block = ifm_region_block(region);
    const guint n_inputs = net->inputs->len, n_outputs = net->outputs->len;
    g_autofree float **inputs = g_new0(float *, n_inputs + 1), **outputs = g_new0(float *, n_outputs + 1);
    int64_t(*shapes)[4] = g_malloc0_n(n_inputs + 1, sizeof(*shapes)), shape[4];
    IfmBlockedError error = { 0 };
    gboolean is_right = TRUE;
    for (guint i = 0; i < n_inputs; i++)
        inputs[i] =
            outside(value(net, g_array_index(net->inputs, guint, i)), is_blocked_input(net, i) ? block : 1, shapes[i]);
    IfmRegionRun *run = ifm_region_take(region, (const int64_t(*)[4])shapes, &error);
    if (run == NULL)
        g_error("%s\n%s", error.text, net->program->str);
    for (guint i = 0; i < n_outputs; i++)
    {
        ifm_region_output_shape(run, i, shape);
        outputs[i] = g_new(float, count(shape));
        memset(outputs[i], 0xff, count(shape) * sizeof(float));
    }
    ifm_region_run(run, (const float *const *)inputs, outputs, parallel, NULL);
    ifm_region_give_back(region, run);
    for (guint i = 0; i < n_outputs; i++)
    {
        const gboolean is_blocked = g_array_index(net->blocked_outputs, gboolean, i);
        const double worst =
            worst_of(value(net, g_array_index(net->outputs, guint, i)), is_blocked ? block : 1, outputs[i]);
        if (!(worst <= net->tolerance))
            g_printerr("%s: output %u is off by %g, tolerance %g\n%s", what, i, worst, net->tolerance, net->program->str);
        is_right = is_right && worst <= net->tolerance;
        g_free(outputs[i]);
    }
    for (guint i = 0; i < n_inputs; i++)
        g_free(inputs[i]);
    g_free(shapes);
    return is_right;
}

/* By each instruction set, on one thread and on three; a second run gives the same. */
static inline void net_check(const Net *net)
{
    for (gsize i = 0; i < G_N_ELEMENTS(isas); i++)
        for (int n_threads = 1; has_isa(isas[i]) && n_threads <= 3; n_threads += 2)
        {
            IfmRegion *region = net_region(net, isas[i], n_threads);
            for (int k = 0; k < 2; k++)
                g_assert_true(net_runs(net, region, n_threads > 1 ? layer_parallel : NULL, isas[i]));
            ifm_region_free(region);
        }
}

/* --- networks --------------------------------------------------------------------------------------------------------- */

static inline void net_residual(Net *net, int64_t side, int64_t channels)
{
    static const Pool pool = { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 }, FALSE, FALSE };
    Conv conv = plain;
    conv.outputs = channels;
    conv.act = acts[1];
    guint now = net_pool(net, net_conv(net, net_input(net, 1, 3, side, side, FALSE), &conv), TRUE, &pool);
    for (int k = 0; k < 3; k++)
    {
        Conv second = conv;
        second.sum = (int)now;
        now = net_conv(net, net_conv(net, now, &conv), &second);
    }
    const guint gate = net_act(net, net_global_pool(net, now), acts[6]);
    net_output(net, net_binary(net, "mul", now, gate, none), FALSE);
    net->tolerance = 1e-3;
}

static inline IfmRegionRun *take(IfmRegion *region, int64_t n, int64_t c, int64_t h, int64_t w, IfmBlockedError *error)
{
    const int64_t shape[1][4] = { { n, c, h, w } };
    *error = (IfmBlockedError){ 0 };
    return ifm_region_take(region, shape, error);
}
