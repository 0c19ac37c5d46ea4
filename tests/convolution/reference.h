#pragma once
#include <convolution/convolution.h>
#include <math.h>

/* A layer with random values and its outputs in double. */
typedef struct
{
    IfmConvShape shape;
    IfmConvOptions options;
    float *input, *weights, *bias, *sum; /* bias, sum: NULL: none */
    double *expected, largest;           /* largest: |output| before the activation */
    gsize n_inputs, n_weights, n_outputs;
    guint32 seed;
} Layer;

static inline void layer_clear(Layer *layer)
{
    g_free(layer->input);
    g_free(layer->weights);
    g_free(layer->bias);
    g_free(layer->sum);
    g_free(layer->expected);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Layer, layer_clear)

static inline float *random_floats(GRand *rand, gsize n)
{
    float *values = g_new0(float, MAX(n, 1));
    for (gsize i = 0; i < n; i++)
        values[i] = (float)g_rand_double_range(rand, -1, 1);
    return values;
}

/* Where channel c of image n is in a blocked tensor. */
static inline gsize blocked(gint64 n, gint64 c, gint64 y, gint64 x, gint64 channels, const gint64 size[2], gint64 block)
{
    return (gsize)((((n * channels + c / block * block) * size[0] + y * block) * size[1]) + x * block + c % block);
}

static inline double activated(const IfmConvOptions *options, double x)
{
    switch (options->activation)
    {
    case IFM_BLOCKED_RELU:
        return fmax(x, 0);
    case IFM_BLOCKED_CLIP:
        return fmin(fmax(x, (double)options->alpha), (double)options->beta);
    case IFM_BLOCKED_LEAKY_RELU:
        return x < 0 ? (double)options->alpha * x : x;
    case IFM_BLOCKED_HARD_SIGMOID:
        return fmax(0, fmin(1, (double)options->alpha * x + (double)options->beta));
    case IFM_BLOCKED_SIGMOID:
        return 1 / (1 + exp(-x));
    case IFM_BLOCKED_TANH:
        return tanh(x);
    case IFM_BLOCKED_SILU:
        return x / (1 + exp(-x));
    case IFM_BLOCKED_HARD_SWISH:
        return x * fmax(0, fmin(1, x / 6 + 0.5));
    case IFM_BLOCKED_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case IFM_BLOCKED_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / G_PI) * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

static inline double reference_at(const Layer *layer, gint64 n, gint64 o, gint64 y, gint64 x)
{
    const IfmConvShape *shape = &layer->shape;
    const gint64 channels = shape->channels / shape->groups, group = o / (shape->out_channels / shape->groups);
    double sum = layer->bias != NULL ? (double)layer->bias[o] : 0;
    for (gint64 c = 0; c < channels; c++)
        for (gint64 i = 0; i < shape->kernel[0]; i++)
            for (gint64 j = 0; j < shape->kernel[1]; j++)
            {
                const gint64 from_y = y * shape->stride[0] - shape->pads[0] + i * shape->dilation[0];
                const gint64 from_x = x * shape->stride[1] - shape->pads[1] + j * shape->dilation[1];
                if (from_y < 0 || from_y >= shape->in[0] || from_x < 0 || from_x >= shape->in[1])
                    continue;
                const gsize at =
                    blocked(n, group * channels + c, from_y, from_x, shape->channels, shape->in, shape->input_block);
                const gsize weight = (gsize)(((o * channels + c) * shape->kernel[0] + i) * shape->kernel[1] + j);
                sum += (double)layer->input[at] * (double)layer->weights[weight];
            }
    return sum;
}

/* Makes values for the shape and options as they are now, and what they give. */
static inline void layer_set(Layer *layer, gboolean has_bias)
{
    const IfmConvShape *shape = &layer->shape;
    g_autoptr(GRand) rand = g_rand_new_with_seed(layer->seed);
    const IfmConvShape kept = layer->shape;
    const IfmConvOptions options = layer->options;
    layer_clear(layer);
    *layer = (Layer){ .shape = kept, .options = options, .seed = layer->seed };
    layer->n_inputs = (gsize)(shape->batch * shape->channels * shape->in[0] * shape->in[1]);
    layer->n_weights = (gsize)(shape->out_channels * shape->channels / shape->groups * shape->kernel[0] * shape->kernel[1]);
    layer->n_outputs = (gsize)(shape->batch * shape->out_channels * shape->out[0] * shape->out[1]);
    layer->input = random_floats(rand, layer->n_inputs);
    layer->weights = random_floats(rand, layer->n_weights);
    layer->bias = has_bias ? random_floats(rand, (gsize)shape->out_channels) : NULL;
    layer->sum = options.has_sum ? random_floats(rand, layer->n_outputs) : NULL;
    layer->expected = g_new(double, layer->n_outputs);
    for (gint64 n = 0; n < shape->batch; n++)
        for (gint64 o = 0; o < shape->out_channels; o++)
            for (gint64 y = 0; y < shape->out[0]; y++)
                for (gint64 x = 0; x < shape->out[1]; x++)
                {
                    const gsize at = blocked(n, o, y, x, shape->out_channels, shape->out, shape->block);
                    double value = reference_at(layer, n, o, y, x) + (layer->sum != NULL ? (double)layer->sum[at] : 0);
                    layer->largest = fmax(layer->largest, fabs(value));
                    layer->expected[at] = activated(&options, value);
                }
}

static inline void layer_init(Layer *layer, const IfmConvShape *shape, int block, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    layer->shape = *shape;
    layer->shape.block = block;
    layer->shape.input_block = shape->channels < block ? 1 : block;
    layer->seed = seed;
    ifm_conv_shape_complete(&layer->shape, &error);
    g_assert_no_error(error);
    layer_set(layer, TRUE);
}

static inline void layer_check(const Layer *layer, const float *output, double tolerance, const char *what)
{
    double worst = 0;
    for (gsize i = 0; i < layer->n_outputs; i++)
    {
        const double off = fabs((double)output[i] - layer->expected[i]);
        worst = off <= worst ? worst : off; /* a NaN is the worst */
    }
    if (!(worst <= tolerance * layer->largest))
        g_error("%s: off by %g of the largest output; the tolerance is %g", what, worst / layer->largest, tolerance);
}

/* The bound of |output - exact| / max |exact|: errors of a sum of n products in f32, with terms of random signs, grow with
 * the root of n. Transforms multiply it by what they amplify: Winograd's of F(2,3), F(4,3), F(6,3) by these numbers, from
 * the squares of their constants; Fourier's add what their passes do. */
static inline double layer_tolerance(const Layer *layer, IfmConvAlgorithm algorithm, const IfmConvOptions *options)
{
    static const double winograd[] = { 1.67, 7.49, 46.3 };
    const IfmConvShape *s = &layer->shape;
    const double n = (double)(s->channels / s->groups * s->kernel[0] * s->kernel[1]), u = 0x1p-23;
    if (algorithm == IFM_CONV_WINOGRAD || algorithm == IFM_CONV_WINOGRAD_NONFUSED)
        return 4 * sqrt(n) * winograd[options->winograd_outputs != 0 ? options->winograd_outputs / 2 - 1 : 2] * u;
    if (algorithm != IFM_CONV_FFT && algorithm != IFM_CONV_FFT_TILING)
        return 4 * sqrt(n) * u;
    const double phases = (double)(s->stride[0] * s->stride[1]), depth = (double)(s->channels / s->groups) * phases + 16;
    const double values = (double)((s->in[0] + s->kernel[0] * s->dilation[0]) * (s->in[1] + s->kernel[1] * s->dilation[1]));
    return 2 * (sqrt(2 * depth) + 4 * log2(values)) * u;
}

typedef struct
{
    void (*task)(void *data, gsize index);
    void *data;
    gsize index;
} Slot;

static inline gpointer run_slot_here(gpointer data)
{
    Slot *slot = data;
    slot->task(slot->data, slot->index);
    return NULL;
}

/* IfmConvParallel: a thread for each task. */
static inline void layer_parallel(void *user, gsize n, void (*task)(void *data, gsize index), void *data)
{
    g_autofree Slot *slots = g_new(Slot, n);
    g_autofree GThread **threads = g_new(GThread *, n);
    for (gsize i = 0; i < n; i++)
    {
        slots[i] = (Slot){ task, data, i };
        threads[i] = g_thread_new("slot", run_slot_here, &slots[i]);
    }
    for (gsize i = 0; i < n; i++)
        g_thread_join(threads[i]);
}
