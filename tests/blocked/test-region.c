/* Regions against plain loops in double over NCHW: each step, over sizes, channels that are no whole blocks, instruction
 * sets and threads. Those that the processor lacks are skipped by name. */
#include <blocked/region.h>
#include <locale.h>

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

static void net_init(Net *net, guint32 seed)
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

static void net_clear(Net *net)
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

static Tensor *value(const Net *net, guint index)
{
    return &g_array_index(net->values, Tensor, index);
}

static gsize count(const int64_t size[4])
{
    return (gsize)(size[0] * size[1] * size[2] * size[3]);
}

static double *at(const Tensor *tensor, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t *size = tensor->size;
    return &tensor->at[((n * size[1] + c) * size[2] + y) * size[3] + x];
}

static guint net_add(Net *net, int64_t n, int64_t c, int64_t h, int64_t w)
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

static double act_one(const char *name, double alpha, double beta, double x)
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

static void net_act_all(Net *net, guint index, Act act)
{
    Tensor *tensor = value(net, index);
    for (gsize i = 0; i < count(tensor->size); i++)
        tensor->at[i] = act_one(act.name, act.alpha, act.beta, tensor->at[i]);
}

static guint net_input(Net *net, int64_t n, int64_t c, int64_t h, int64_t w, gboolean is_blocked)
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

static void net_output(Net *net, guint index, gboolean is_blocked)
{
    g_array_append_val(net->outputs, index);
    g_array_append_val(net->blocked_outputs, is_blocked);
    g_string_append_printf(net->program, "output %s v%u\n", is_blocked ? "blocked" : "nchw", index);
}

static guint net_constant(Net *net, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const IfmRegionConstant constant = { rank, { a, b, c, d }, random_floats(net->rand, (gsize)(a * b * c * d)) };
    g_array_append_val(net->constants, constant);
    return net->constants->len - 1;
}

static const float *constant_data(const Net *net, guint index)
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

static double conv_at(const Tensor *in, const Conv *conv, const float *weights, int64_t n, int64_t o, int64_t y, int64_t x)
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

static int64_t slid(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads)
{
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

static guint net_conv(Net *net, guint from, const Conv *conv)
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
static int64_t pooled_size(const Pool *pool, int axis, int64_t in)
{
    const int64_t left = in + pool->pads[axis] + pool->pads[axis + 2] - (pool->kernel[axis] - 1) * pool->dilation[axis] - 1;
    int64_t out = left / pool->stride[axis] + 1;
    if (pool->is_ceil && left % pool->stride[axis] != 0)
        out++;
    return (out - 1) * pool->stride[axis] >= in + pool->pads[axis] ? out - 1 : out;
}

static double pool_at(const Tensor *in, const Pool *pool, gboolean is_max, int64_t n, int64_t c, int64_t y, int64_t x)
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

static guint net_pool(Net *net, guint from, gboolean is_max, const Pool *pool)
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

static guint net_global_pool(Net *net, guint from)
{
    const guint index = net_add(net, value(net, from)->size[0], value(net, from)->size[1], 1, 1);
    const Tensor *in = value(net, from), *out = value(net, index);
    g_string_append_printf(net->program, "global_average_pool v%u\n", from);
    FOR_EACH(in)
    *at(out, n, c, 0, 0) += *at(in, n, c, y, x) / (double)(in->size[2] * in->size[3]);
    return index;
}

static double broadcast_at(const Tensor *from, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t *size = from->size;
    return *at(from, size[0] == 1 ? 0 : n, size[1] == 1 ? 0 : c, size[2] == 1 ? 0 : y, size[3] == 1 ? 0 : x);
}

static guint net_binary(Net *net, const char *kind, guint left, guint right, Act act)
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

static guint net_like(Net *net, guint from)
{
    const int64_t *size = value(net, from)->size;
    const guint index = net_add(net, size[0], size[1], size[2], size[3]);
    memcpy(value(net, index)->at, value(net, from)->at, count(value(net, from)->size) * sizeof(double));
    return index;
}

static guint net_act(Net *net, guint from, Act act)
{
    const guint index = net_like(net, from);
    g_string_append_printf(net->program, "act v%u %s %g %g\n", from, act.name, act.alpha, act.beta);
    net_act_all(net, index, act);
    return index;
}

static guint net_scale(Net *net, guint from, Act act)
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

static guint net_concat(Net *net, const guint *parts, guint n_parts)
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

static guint net_resize(Net *net, guint from, int64_t rows, int64_t columns)
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

static gboolean has_isa(const char *isa)
{
    return g_str_equal(ifm_blocked_isa(g_str_equal(isa, "avx512") ? 16 : 8, isa), isa);
}

static IfmRegion *net_region(const Net *net, const char *isa, int n_threads)
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

static gsize place_in(const int64_t size[4], int64_t block, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t blocks = (size[1] + block - 1) / block;
    return (gsize)((((n * blocks + c / block) * size[2] + y) * size[3] + x) * block + c % block);
}

/* As the caller of a region has a tensor. @shape: (out) */
static float *outside(const Tensor *tensor, int64_t block, int64_t shape[4])
{
    const int64_t *size = tensor->size;
    memcpy(shape, size, sizeof(tensor->size));
    shape[1] = (size[1] + block - 1) / block * block;
    float *made = g_new0(float, count(shape));
    FOR_EACH(tensor)
    made[place_in(size, block, n, c, y, x)] = (float)*at(tensor, n, c, y, x);
    return made;
}

static gboolean is_blocked_input(const Net *net, guint input)
{
    g_auto(GStrv) lines = g_strsplit(net->program->str, "\n", -1);
    return g_str_has_prefix(lines[1 + g_array_index(net->inputs, guint, input)], "input blocked");
}

/* Returns: how far off an output is, as a share of the largest. */
static double worst_of(const Tensor *expected, int64_t block, const float *output)
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
static gboolean net_runs(const Net *net, IfmRegion *region, IfmBlockedParallel parallel, const char *what)
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
static void net_check(const Net *net)
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

/* --- steps ------------------------------------------------------------------------------------------------------------ */

static const int64_t odd[] = { 3, 20, 33, 64 };

static void test_conv(void)
{
    for (gsize a = 0; a < G_N_ELEMENTS(odd); a++)
        for (gsize b = 0; b < G_N_ELEMENTS(odd); b++)
            for (int kind = 0; kind < 4; kind++)
            {
                g_auto(Net) net;
                net_init(&net, (guint32)(a * 16 + b * 4 + (gsize)kind));
                Conv conv = plain;
                conv.outputs = odd[b];
                conv.has_bias = kind % 2 == 0;
                conv.kernel[0] = kind == 3 ? 1 : 3;
                conv.stride[1] = kind == 2 ? 2 : 1;
                conv.dilation[0] = kind == 1 ? 2 : 1;
                conv.act = acts[(a * 4 + b + (gsize)kind) % G_N_ELEMENTS(acts)];
                conv.algorithm = kind == 0 ? "implicit_gemm 0" : kind == 1 ? "fft 0" : "implicit_precomp_gemm 0";
                net.tolerance = 3e-5;
                const guint in = net_input(&net, 1 + kind % 2, odd[a], 9, 7, kind == 2);
                net_output(&net, net_conv(&net, in, &conv), kind == 1);
                net_check(&net);
            }
}

static void test_winograd(void)
{
    static const char *const algorithms[] = { "winograd 2", "winograd 4", "winograd 6", "winograd_nonfused 0", "any 0" };
    for (gsize i = 0; i < G_N_ELEMENTS(algorithms); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        Conv conv = plain;
        conv.outputs = 33;
        conv.algorithm = algorithms[i];
        net.tolerance = 4e-4;
        net_output(&net, net_conv(&net, net_input(&net, 1, 20, 12, 13, FALSE), &conv), FALSE);
        net_check(&net);
    }
}

/* Channels, outputs, groups: depthwise, with several outputs a channel, groups of blocks, narrow ones, and some that no
 * block divides. */
static void test_groups(void)
{
    static const int64_t groups[][3] = { { 16, 16, 16 }, { 20, 20, 20 }, { 33, 66, 33 }, { 32, 48, 2 }, { 64, 64, 16 },
                                         { 20, 40, 4 },  { 33, 33, 3 },  { 60, 20, 20 }, { 3, 3, 3 } };
    for (gsize i = 0; i < G_N_ELEMENTS(groups); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        Conv conv = plain;
        conv.outputs = groups[i][1];
        conv.group = groups[i][2];
        conv.stride[0] = conv.stride[1] = 1 + i % 2;
        conv.act = acts[i];
        net.tolerance = 1e-4; /* any: Winograd's among them */
        net_output(&net, net_conv(&net, net_input(&net, 2, groups[i][0], 10, 11, FALSE), &conv), FALSE);
        net_check(&net);
    }
}

static void test_conv_fused(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
        for (int channels = 16; channels <= 20; channels += 4)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            Conv conv = plain;
            conv.outputs = channels;
            conv.act = acts[i];
            conv.algorithm = "implicit_precomp_gemm 0";
            const guint in = net_input(&net, 2, channels, 6, 5, i % 2 == 0);
            conv.sum = i % 3 == 0 ? (int)in : (int)net_act(&net, in, acts[1]);
            net_output(&net, net_conv(&net, net_conv(&net, in, &conv), &plain), FALSE);
            net.tolerance = 1e-4;
            net_check(&net);
        }
}

static void test_pools(void)
{
    static const Pool pools[] = {
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 }, FALSE, FALSE },
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 0, 0, 0, 0 }, TRUE, TRUE },
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 }, TRUE, TRUE },
        { { 2, 2 }, { 2, 2 }, { 1, 1 }, { 0, 0, 0, 0 }, FALSE, FALSE },
        { { 5, 5 }, { 1, 1 }, { 1, 1 }, { 2, 2, 2, 2 }, FALSE, TRUE },
        { { 2, 3 }, { 3, 1 }, { 2, 3 }, { 1, 0, 0, 2 }, TRUE, FALSE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(pools); i++)
        for (gsize c = 0; c < G_N_ELEMENTS(odd); c++)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            const guint in = net_input(&net, 1 + (int64_t)(c % 2), odd[c], 14, 13, c == 1);
            Pool pool = pools[i];
            net_output(&net, net_pool(&net, in, TRUE, &pool), FALSE);
            pool.dilation[0] = pool.dilation[1] = 1;
            net_output(&net, net_pool(&net, in, FALSE, &pool), c == 2);
            net_output(&net, net_global_pool(&net, in), FALSE);
            net_check(&net);
        }
}

static void test_activations(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        const guint in = net_input(&net, 1, 20, 8, 9, FALSE);
        for (gsize k = 0; k < 200; k++) /* where exponentials end, and small values */
            value(&net, in)->at[k] = (float)(k < 100 ? g_rand_double_range(net.rand, -100, 100) : 1e-5 * (double)k);
        net.tolerance = 3e-7;
        net_output(&net, net_act(&net, in, acts[i]), i % 2 == 0);
        net_check(&net);
    }
    for (IfmBlockedActivation i = 0; i < IFM_N_BLOCKED_ACTIVATIONS; i++)
        g_assert_nonnull(ifm_blocked_activation_name(i));
}

static void test_binary(void)
{
    static const int64_t sizes[][2][4] = {
        { { 2, 20, 5, 6 }, { 2, 20, 5, 6 } }, { { 2, 20, 5, 6 }, { 2, 20, 1, 1 } }, { { 1, 33, 1, 1 }, { 2, 33, 4, 5 } },
        { { 2, 20, 5, 6 }, { 2, 1, 5, 6 } },  { { 1, 1, 5, 6 }, { 3, 16, 5, 6 } },  { { 2, 20, 5, 6 }, { 1, 1, 1, 1 } },
        { { 1, 20, 1, 6 }, { 2, 1, 5, 1 } },  { { 2, 16, 5, 1 }, { 2, 16, 5, 6 } }, { { 1, 3, 7, 1 }, { 1, 3, 7, 1 } },
        { { 2, 1, 3, 3 }, { 2, 1, 3, 3 } },   { { 1, 64, 1, 1 }, { 1, 64, 1, 9 } }, { { 1, 16, 4, 1 }, { 1, 16, 1, 1 } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (int is_add = 0; is_add < 2; is_add++)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            const int64_t *a = sizes[i][0], *b = sizes[i][1];
            const guint left = net_input(&net, a[0], a[1], a[2], a[3], i % 3 == 0);
            const guint right = net_input(&net, b[0], b[1], b[2], b[3], i % 4 == 1);
            const guint out = net_binary(&net, is_add ? "add" : "mul", left, right, acts[i]);
            net_output(&net, out, FALSE);
            /* lanes without a channel: the next convolution reads them */
            net_output(&net, net_conv(&net, out, &plain), FALSE);
            net_output(&net, net_binary(&net, is_add ? "add" : "mul", out, out, acts[is_add]), TRUE);
            net.tolerance = 1e-4;
            net_check(&net);
        }
}

static void test_scale(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        const guint in = net_input(&net, 2, odd[i % 4], 5, 7, i % 2 == 0);
        net_output(&net, net_scale(&net, net_scale(&net, in, acts[i]), none), FALSE);
        net_check(&net);
    }
}

static void test_concat(void)
{
    static const int64_t channels[][3] = { { 16, 32, 16 }, { 20, 3, 33 }, { 16, 16, 5 }, { 3, 3, 3 }, { 8, 16, 24 } };
    for (gsize i = 0; i < G_N_ELEMENTS(channels); i++)
        for (int64_t batch = 1; batch <= 2; batch++)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            guint parts[5];
            for (guint k = 0; k < 3; k++)
                parts[k] = net_act(&net, net_input(&net, batch, channels[i][k], 4, 5, k == 1), acts[k + 1]);
            parts[3] = 0;        /* an input */
            parts[4] = parts[1]; /* twice */
            const guint whole = net_concat(&net, parts, 5), inner = net_concat(&net, parts + 1, 2);
            const guint nested = net_concat(&net, (guint[]){ whole, inner, parts[0] }, 3);
            net_output(&net, nested, i % 2 == 0);
            net_output(&net, whole, TRUE);
            net_output(&net, net_act(&net, parts[1], acts[6]), FALSE);
            net_output(&net, net_act(&net, whole, acts[6]), FALSE);
            /* in the place of a part that nobody reads any more */
            const guint last = net_act(&net, net_act(&net, parts[0], acts[7]), acts[8]);
            net_output(&net, last, i % 2 == 1);
            net_output(&net, net_act(&net, nested, acts[9]), FALSE);
            net_check(&net);
        }
}

/* Sums over places that lie in one another: a concatenation with its part, and two that have a part in common. */
static void test_overlaps(void)
{
    for (int turn = 0; turn < 2; turn++)
    {
        g_auto(Net) net;
        net_init(&net, 1);
        guint parts[4];
        for (guint k = 0; k < 4; k++)
            parts[k] = net_act(&net, net_input(&net, 1, k == 3 ? 1 : 16, 40, 40, FALSE), acts[k + 1]);
        const guint wide = net_concat(&net, (guint[]){ parts[0], parts[3] }, 2);
        net_output(&net, net_binary(&net, "add", turn == 0 ? wide : parts[3], turn == 0 ? parts[3] : wide, none), FALSE);
        for (guint k = 0; k < 3; k++)
            parts[k] = net_act(&net, net_input(&net, 1, 16, 40, 40, FALSE), acts[k + 1]);
        const guint left = net_concat(&net, parts, 2), right = net_concat(&net, parts + 1, 2);
        const guint all = net_global_pool(&net, net_concat(&net, parts, 3));
        net_output(&net, all, FALSE);
        net_output(&net, net_binary(&net, "mul", turn == 0 ? left : right, turn == 0 ? right : left, none), FALSE);
        net_check(&net);
    }
}

/* Each layer reads all before it. Returns: the region's memory of one image */
static gsize dense_bytes(int64_t growth)
{
    g_auto(Net) net;
    net_init(&net, 3);
    guint parts[5] = { net_act(&net, net_input(&net, 1, 32, 6, 6, FALSE), acts[1]) };
    Conv conv = plain;
    conv.outputs = growth;
    conv.algorithm = "implicit_precomp_gemm 0";
    for (guint k = 1; k < 5; k++)
        parts[k] = net_conv(&net, k == 1 ? parts[0] : net_concat(&net, parts, k), &conv);
    net_output(&net, net_concat(&net, parts, 5), FALSE);
    net.tolerance = 1e-4;
    net_check(&net);
    IfmRegion *region = net_region(&net, "portable", 1);
    g_assert_true(net_runs(&net, region, NULL, "dense"));
    const gsize n_bytes = ifm_region_arena_bytes(ifm_region_idle(region));
    ifm_region_free(region);
    return n_bytes;
}

/* All concatenations are one where channels are whole blocks. */
static void test_dense(void)
{
    g_assert_cmpuint(dense_bytes(16), ==, (32 + 32 + 4 * 16) * 36 * sizeof(float));
    g_assert_cmpuint(dense_bytes(12), >, (32 + 32 + 4 * 16) * 36 * sizeof(float));
}

static void test_resize(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    const guint in = net_input(&net, 2, 20, 3, 5, FALSE);
    net_output(&net, net_resize(&net, in, 2, 2), FALSE);
    net_output(&net, net_resize(&net, in, 1, 3), TRUE);
    net_check(&net);
}

/* A value as it came, in both forms, more than once. */
static void test_borders(void)
{
    for (int is_blocked = 0; is_blocked < 2; is_blocked++)
    {
        g_auto(Net) net;
        net_init(&net, 1);
        const guint in = net_input(&net, 2, 20, 7, 9, is_blocked);
        const guint out = net_act(&net, in, acts[1]);
        net_input(&net, 1, 5, 1, 1, !is_blocked); /* nobody reads it */
        net_act(&net, out, acts[1]);
        for (int k = 0; k < 4; k++)
            net_output(&net, k % 2 == 0 ? in : out, k / 2 == 0);
        net_output(&net, out, TRUE);
        net.tolerance = 0;
        net_check(&net);
    }
}

/* --- networks --------------------------------------------------------------------------------------------------------- */

static void net_residual(Net *net, int64_t side, int64_t channels)
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

/* Values whose lives do not meet share memory: three planes are enough for any number of residual blocks. */
static void test_memory(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    net_residual(&net, 16, 16);
    net_check(&net);
    IfmRegion *region = net_region(&net, "portable", 1);
    g_assert_true(net_runs(&net, region, NULL, "residual"));
    g_assert_cmpuint(ifm_region_arena_bytes(ifm_region_idle(region)), <=, (16 * 256 + 16 * 64 + 64) * sizeof(float));
    ifm_region_free(region);
}

typedef struct
{
    const Net *nets;
    IfmRegion *region;
    gboolean is_right;
} Caller;

static gpointer call(gpointer data)
{
    Caller *caller = data;
    caller->is_right = TRUE;
    for (int i = 0; i < 20 && caller->is_right; i++)
        caller->is_right = net_runs(&caller->nets[0], caller->region, layer_parallel, "caller");
    return NULL;
}

static void test_callers(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    net_residual(&net, 12, 20);
    IfmRegion *region = net_region(&net, NULL, 2);
    Caller callers[4];
    GThread *threads[4];
    for (int i = 0; i < 4; i++)
    {
        callers[i] = (Caller){ &net, region, FALSE };
        threads[i] = g_thread_new("caller", call, &callers[i]);
    }
    for (int i = 0; i < 4; i++)
    {
        g_thread_join(threads[i]);
        g_assert_true(callers[i].is_right);
    }
    ifm_region_free(region);
}

static IfmRegionRun *take(IfmRegion *region, int64_t n, int64_t c, int64_t h, int64_t w, IfmBlockedError *error)
{
    const int64_t shape[1][4] = { { n, c, h, w } };
    *error = (IfmBlockedError){ 0 };
    return ifm_region_take(region, shape, error);
}

/* One region of several sizes; those that do not fit are refused, and no images are none. */
static void test_sizes(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    net_residual(&net, 12, 20);
    IfmRegion *region = net_region(&net, NULL, 1);
    IfmBlockedError error;
    int64_t shape[4];
    for (int64_t side = 4; side < 12; side++)
    {
        IfmRegionRun *run = take(region, side % 3, 3, side, side + 1, &error);
        g_assert_nonnull(run);
        ifm_region_output_shape(run, 0, shape);
        g_assert_cmpint(shape[0], ==, side % 3);
        g_assert_cmpint(shape[1], ==, 20);
        g_assert_cmpint(shape[2], ==, (side + 1) / 2);
        float *output = g_new0(float, count(shape) + 1), *input = g_new0(float, 3 * 3 * side * (side + 1));
        ifm_region_run(run, (const float *const[]){ input }, (float *const[]){ output }, NULL, NULL);
        ifm_region_give_back(region, run);
        g_free(output);
        g_free(input);
    }
    g_assert_true(net_runs(&net, region, NULL, "again"));
    static const struct
    {
        int64_t shape[4];
        const char *line;
    } bad[] = { { { 1, 4, 8, 8 }, "line 3: " },         { { 1, 3, 0, 8 }, "line 2: " },
                { { 1, 3, -1, 8 }, "line 2: " },        { { -1, 3, 8, 8 }, "line 2: " },
                { { 1, 3, INT64_MAX, 8 }, "line 2: " }, { { 1 << 20, 3, 1 << 20, 8 }, "line 2: " } };
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_assert_null(take(region, bad[i].shape[0], bad[i].shape[1], bad[i].shape[2], bad[i].shape[3], &error));
        g_assert_cmpint(error.code, ==, IFM_BLOCKED_INVALID);
        g_assert_true(g_str_has_prefix(error.text, bad[i].line));
        g_assert_null(ifm_region_take(region, &bad[i].shape, NULL));
    }
    ifm_region_free(region);
}

static IfmRegion *parse(const char *program, IfmBlockedError *error)
{
    static const float numbers[144];
    static const IfmRegionConstant constants[] = {
        { 4, { 4, 4, 3, 3 }, numbers }, { 1, { 4 }, numbers }, { 1, { 3 }, numbers }, { 4, { 4, 0, 3, 3 }, numbers }
    };
    *error = (IfmBlockedError){ 0 };
    return ifm_region_new(program, constants, G_N_ELEMENTS(constants), NULL, error);
}

#define CONV "kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 name x"
#define HEAD "region 1\ninput nchw\n"

/* Sizes that do not fit each other, by the line where that is. */
static void test_misfits(void)
{
    static const struct
    {
        const char *program, *text;
    } misfits[] = {
        { HEAD
          "conv v0 w0 - v0 kernel 3 3 stride 1 1 dilation 1 1 pads 0 0 0 0 group 1 act none 0 0 algorithm any 0 name x\n"
          "output nchw v1\n",
          "line 3: a sum of another size than the outputs" },
        { HEAD "max_pool v0 kernel 20 3 stride 1 1 dilation 1 1 pads 1 1 1 1 ceil 0\noutput nchw v1\n",
          "line 3: a window that reaches beyond its padded inputs" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 9 9 pads 0 0 0 0 group 1 act none 0 0 algorithm any 0 name x\n"
          "output nchw v1\n",
          "line 3: a kernel that reaches beyond its padded inputs" },
        { HEAD "scale v0 w2 w2 act none 0 0\noutput nchw v1\n", "line 3: factors of another number of channels" },
        { HEAD "resize v0 2 1\nadd v0 v1 act none 0 0\noutput nchw v2\n",
          "line 4: operands whose sizes are neither equal nor 1" },
        { HEAD "resize v0 2 1\nconcat v0 v1\noutput nchw v2\n", "line 4: parts of other images, rows or columns" },
        { HEAD "resize v0 16777216 1\noutput nchw v1\n", "line 3: a size of 134217728" },
        { "region 1\ninput blocked 5\noutput nchw v0\n", "line 2: an input of 4 channels in blocks of " },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(misfits); i++)
    {
        IfmBlockedError error;
        IfmRegion *region = parse(misfits[i].program, &error);
        g_assert_cmpstr(error.text, ==, "");
        g_assert_nonnull(region);
        g_assert_null(take(region, 1, 4, 8, 8, &error));
        g_assert_true(g_str_has_prefix(error.text, misfits[i].text));
        ifm_region_free(region);
    }
}

/* Each line that is none. */
static void test_refused(void)
{
    static const struct
    {
        const char *program, *text;
    } refused[] = {
        { "", "line 1: region is expected, not \"\"" },
        { "region", "line 1: version 1 of regions" },
        { "region 2\n", "line 1: version 1 of regions (a newer file needs a newer library) is expected, not \"2\"" },
        { "region 1 \n", "line 1: version 1" },
        { "region 1\n", "line 2: a program without an output" },
        { HEAD, "line 3: a program without an output" },
        { "region 1\n\n", "line 2: a step is expected, not \"\"" },
        { "region 1\ninput  nchw\n", "line 2: nchw or blocked" },
        { "region 1\ninput nhwc\n", "line 2: nchw or blocked is expected, not \"nhwc\"" },
        { "region 1\ninput blocked\n", "line 2: a number from 1 to 16777216 is expected, not \"\"" },
        { "region 1\ninput blocked 0\n", "line 2: a number from 1" },
        { "region 1\ninput blocked 16777217\n", "line 2: a number from 1" },
        { "region 1\ninput blocked 99999999999999999999\n", "line 2: a number from 1" },
        { "region 1\ninput nchw 3\n", "line 2: the end of the line is expected, not \"3\"" },
        { "region 1\ninput nchw \n", "line 2: the end of the line" },
        { HEAD "softmax v0\n", "line 3: a step is expected, not \"softmax\"" },
        { HEAD "act v1 relu 0 0\n", "line 3: a value made before, such as v0, is expected, not \"v1\"" },
        { HEAD "act v-0 relu 0 0\n", "line 3: a value" },
        { HEAD "act v relu 0 0\n", "line 3: a value" },
        { HEAD "act v0 elu 0 0\n", "line 3: an activation is expected, not \"elu\"" },
        { HEAD "act v0 relu 0\n", "line 3: a number is expected, not \"\"" },
        { HEAD "act v0 relu 0 nan\n", "line 3: a number is expected, not \"nan\"" },
        { HEAD "act v0 relu 0 1x\n", "line 3: a number" },
        { HEAD "conv v0 w9 w1 - " CONV "\n", "line 3: a constant of the node, such as w0, is expected, not \"w9\"" },
        { HEAD "conv v0 - w1 - " CONV "\n", "line 3: a constant" },
        { HEAD "conv v0 w0 v0 - " CONV "\n", "line 3: a constant" },
        { HEAD "conv v0 w0 w1 v1 " CONV "\n", "line 3: a value" },
        { HEAD "conv v0 w0 w2 - " CONV "\n", "line 3: the bias is not one number for each output channel" },
        { HEAD "conv v0 w1 w1 - " CONV "\n", "line 3: the weights are not of rank 4, or not of this kernel" },
        { HEAD "conv v0 w3 w1 - " CONV "\n", "line 3: the weights have a size of 0" },
        { HEAD
          "conv v0 w0 - - kernel 3 5 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 name x\n",
          "line 3: the weights are not of rank 4" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 0 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 name x\n",
          "line 3: a number from 1" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads -1 1 1 1 group 1 act none 0 0 algorithm any 0 name x\n",
          "line 3: a number from 0" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 3 act none 0 0 algorithm any 0 name x\n",
          "line 3: the outputs cannot be divided into these groups" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm fast 0 name x\n",
          "line 3: an algorithm is expected, not \"fast\"" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm winograd 3 name x",
          "line 3: 0, 2, 4 or 6 outputs of a tile is expected, not \"3\"" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 named x\n",
          "line 3: name is expected, not \"named\"" },
        { HEAD "conv v0 w0 - - " CONV "\ty\n", "line 3: a name with control characters" },
        { HEAD "max_pool v0 kernel 2 2 stride 2 2 dilation 1 1 pads 2 0 0 0 ceil 0\n",
          "line 3: more padding than the window of a pool has" },
        { HEAD "max_pool v0 kernel 2 2 stride 2 2 dilation 1 1 pads 0 0 0 0 ceil 2\n", "line 3: a number from 0 to 1" },
        { HEAD "average_pool v0 kernel 2 2 stride 2 2 dilation 1 1 pads 0 0 0 0 ceil 0 include_pad 0\n",
          "line 3: pads is expected, not \"dilation\"" },
        { HEAD "scale v0 w0 w0 act none 0 0\n", "line 3: factors and terms are not one number for each channel" },
        { HEAD "scale v0 w1 w2 act none 0 0\n", "line 3: factors and terms" },
        { HEAD "concat\n", "line 3: a value" },
        { HEAD "concat v0 \n", "line 3: the end of the line" },
        { HEAD "resize v0 0 1\n", "line 3: a number from 1" },
        { HEAD "output v0\n", "line 3: nchw or blocked" },
        { HEAD "output nchw v1\n", "line 3: a value" },
        { HEAD "\x01\xff\n", "line 3: a step is expected, not \"?\?\"" },
        { HEAD "a_word_that_is_longer_than_any_word_of_this_language_and_then_longer_still_for_good_measure\n",
          "line 3: a step is expected, not \"a_word_that_is_longer_than_any_word_of_t\"" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        IfmBlockedError error;
        g_assert_null(parse(refused[i].program, &error));
        if (!g_str_has_prefix(error.text, refused[i].text))
            g_error("program %zu: \"%s\" instead of \"%s\"", i, error.text, refused[i].text);
        g_assert_cmpint(error.code, ==, IFM_BLOCKED_INVALID);
        g_assert_null(ifm_region_new(refused[i].program, NULL, 0, NULL, NULL));
    }
    IfmBlockedError error = { 0 };
    g_assert_null(ifm_region_new(HEAD "output nchw v0\n", NULL, 0, &(IfmRegionOptions){ .max_isa = "neon" }, &error));
    g_assert_cmpstr(error.text, ==, "no instruction set \"neon\": avx512, avx2 or portable is expected");
    g_autoptr(GString) many = g_string_new(HEAD);
    for (int i = 0; i < 10000; i++)
        g_string_append_printf(many, "act v%d relu 0 0\n", i);
    g_assert_null(parse(many->str, &error));
    g_assert_cmpstr(error.text, ==, "line 10002: too many steps");
}

/* Numbers have a point, whatever the caller's language is. */
static void test_locale(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "C" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (setlocale(LC_ALL, names[i]) != NULL)
        {
            IfmBlockedError error;
            ifm_region_free(parse(HEAD "act v0 clip -0.5 0x1.8p1\noutput nchw v1", &error));
            g_assert_cmpstr(error.text, ==, "");
            g_assert_null(parse(HEAD "act v0 clip 0 0,5\noutput nchw v1", &error));
        }
        else
            g_test_message("no locale %s", names[i]);
}

/* Infinity and NaN in one place stay with what reads that place. */
static void test_not_finite(void)
{
    static const float strange[] = { INFINITY, -INFINITY, NAN };
    g_auto(Net) net;
    net_init(&net, 5);
    Conv conv = plain;
    conv.kernel[0] = conv.kernel[1] = 1;
    memset(conv.pads, 0, sizeof(conv.pads));
    conv.outputs = 20;
    conv.act = (Act){ "clip", -1, 1 };
    conv.algorithm = "implicit_precomp_gemm 0";
    net_output(&net, net_conv(&net, net_conv(&net, net_input(&net, 1, 20, 3, 3, FALSE), &conv), &conv), FALSE);
    for (gsize i = 0; i < G_N_ELEMENTS(isas); i++)
        for (gsize k = 0; has_isa(isas[i]) && k < G_N_ELEMENTS(strange); k++)
        {
            IfmRegion *region = net_region(&net, isas[i], 1);
            IfmBlockedError error;
            IfmRegionRun *run = take(region, 1, 20, 3, 3, &error);
            int64_t shape[4];
            g_autofree float *input = outside(value(&net, 0), 1, shape), *output = g_new(float, 20 * 9);
            input[4] = strange[k];
            ifm_region_run(run, (const float *const[]){ input }, (float *const[]){ output }, NULL, NULL);
            for (int p = 0; p < 20 * 9; p++)
                g_assert_true(isfinite(output[p]) || (isnan(strange[k]) && p % 9 == 4));
            ifm_region_give_back(region, run);
            ifm_region_free(region);
        }
}

/* What a layer runs by, and another algorithm for it. */
static void test_layers(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    Conv conv = plain;
    conv.stride[0] = conv.stride[1] = 2;
    conv.algorithm = "winograd 4";
    net.tolerance = 1e-4;
    net_output(&net, net_conv(&net, net_conv(&net, net_input(&net, 1, 20, 9, 9, FALSE), &conv), &plain), FALSE);
    net_conv(&net, 0, &plain); /* nobody reads it */
    IfmRegion *region = net_region(&net, "portable", 1);
    g_assert_null(ifm_region_idle(region));
    g_assert_true(net_runs(&net, region, NULL, "layers"));
    IfmRegionRun *run = ifm_region_idle(region);
    IfmBlockedError error = { 0 };
    g_assert_cmpuint(ifm_region_n_layers(region), ==, 3);
    IfmRegionLayerRun layer = ifm_region_layer(run, 0);
    g_assert_cmpstr(layer.name, ==, "/layer 1");
    g_assert_cmpstr(layer.asked, ==, "winograd");
    g_assert_cmpstr(layer.algorithm, !=, "winograd");
    g_assert_true(layer.is_replaced);
    g_assert_cmpint(layer.shape.channels, ==, 20);
    layer = ifm_region_layer(run, 1);
    g_assert_cmpstr(layer.asked, ==, "any");
    g_assert_false(layer.is_replaced);
    g_assert_cmpstr(ifm_region_layer(run, 2).algorithm, ==, "none");
    g_assert_false(ifm_region_set(run, 2, IFM_BLOCKED_FFT, 0, &error));
    g_assert_false(ifm_region_set(run, 0, IFM_BLOCKED_WINOGRAD, 4, &error));
    g_assert_cmpint(error.code, ==, IFM_BLOCKED_UNSUPPORTED);
    for (IfmBlockedAlgorithm i = 0; i < IFM_N_BLOCKED_ALGORITHMS; i++)
        if (ifm_region_set(run, 1, i, 0, NULL))
        {
            g_assert_cmpstr(ifm_region_layer(run, 1).algorithm, ==, ifm_blocked_algorithm_name(i));
            g_assert_true(net_runs(&net, region, NULL, ifm_blocked_algorithm_name(i)));
            g_assert_true(ifm_region_idle(region) == run);
        }
    ifm_region_set_threads(region, 2);
    g_assert_true(net_runs(&net, region, layer_parallel, "threads"));
    g_assert_true(ifm_region_idle(region) != run);
    ifm_region_free(region);
    ifm_region_free(NULL);
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*test)(void);
    } tests[] = {
        { "/region/conv", test_conv },       { "/region/winograd", test_winograd },
        { "/region/groups", test_groups },   { "/region/conv-fused", test_conv_fused },
        { "/region/pools", test_pools },     { "/region/activations", test_activations },
        { "/region/binary", test_binary },   { "/region/scale", test_scale },
        { "/region/concat", test_concat },   { "/region/overlaps", test_overlaps },
        { "/region/dense", test_dense },     { "/region/resize", test_resize },
        { "/region/borders", test_borders }, { "/region/memory", test_memory },
        { "/region/callers", test_callers }, { "/region/sizes", test_sizes },
        { "/region/misfits", test_misfits }, { "/region/refused", test_refused },
        { "/region/locale", test_locale },   { "/region/not-finite", test_not_finite },
        { "/region/layers", test_layers },
    };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].test);
    return g_test_run();
}
