/* im2col and one matrix product by oneDNN. */
#include "onednn-private.h"

typedef struct
{
    float *weights, *columns, *product; /* weights: [depth][channels of a group] for each group */
} State;

static gsize workspace(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    return conv_n_pixels(shape) * (conv_depth(shape) + (gsize)(shape->out_channels / shape->groups)) * sizeof(float);
}

/* Stores rows of a product [pixel][channel] in blocks, with bias, sum and activation. */
static void store_rows(const IfmConv *conv, const float *product, gsize first_channel, gsize n_pixels, const float *sum,
                       float *output)
{
    const gsize block = (gsize)conv->shape.block, n_channels = (gsize)(conv->shape.out_channels / conv->shape.groups);
    const gsize block_stride = conv_n_pixels(&conv->shape) * block;
    for (gsize v = 0; v < n_channels / block; v++)
        for (gsize pixel = 0; pixel < n_pixels; pixel++)
        {
            const gsize at = v * block_stride + pixel * block;
            const float *from = product + pixel * n_channels + v * block, *bias = conv->bias + first_channel + v * block;
            for (gsize c = 0; c < block; c++)
            {
                const float value = from[c] + bias[c] + (sum != NULL ? sum[at + c] : 0);
                output[at + c] = value < conv->low ? conv->low : value > conv->high ? conv->high : value;
            }
        }
    conv_finish(conv, output, n_pixels, n_channels / block, block_stride);
}

/* A slot's pixels of every image and group. */
static void run_pixels(const ConvJob *job, gsize slot, gsize share)
{
    const IfmConv *conv = job->conv;
    const State *state = conv->state;
    const IfmConvShape *shape = &conv->shape;
    const gsize n_slots = (gsize)conv->options.n_threads, depth = conv_depth(shape);
    const gsize n_channels = (gsize)(shape->out_channels / shape->groups);
    for (gsize i = share; i < conv_n_parts(shape, n_slots); i += n_slots)
    {
        const ConvPart part = conv_part(job, n_slots, i);
        float *columns = state->columns + part.first * depth, *product = state->product + part.first * n_channels;
        if (part.n_pixels == 0)
            return;
        for (gsize pixel = 0; pixel < part.n_pixels; pixel++)
            conv_pack_patch(shape, part.input, (gint64)(part.first + pixel) / shape->out[1],
                            (gint64)(part.first + pixel) % shape->out[1], columns + pixel * depth);
        conv_onednn_product(part.n_pixels, n_channels, depth, columns, state->weights + part.group * depth * n_channels,
                            product);
        store_rows(conv, product, part.group * n_channels, part.n_pixels, part.sum, part.output);
    }
}

static void transpose_weights(const IfmConvShape *shape, const float *weights, float *transposed)
{
    const gint64 channels = shape->channels / shape->groups, n_taps = shape->kernel[0] * shape->kernel[1];
    const gint64 n_out = shape->out_channels / shape->groups;
    for (gint64 group = 0; group < shape->groups; group++)
        for (gint64 tap = 0; tap < n_taps; tap++)
            for (gint64 c = 0; c < channels; c++)
                for (gint64 o = 0; o < n_out; o++)
                    *transposed++ = weights[((group * n_out + o) * channels + c) * n_taps + tap];
}

static bool make(IfmConv *conv, const float *weights, IfmBlockedError *error)
{
    const IfmConvShape *shape = &conv->shape;
    g_autoptr(GError) missing = NULL;
    if (!conv_onednn_check(&missing))
        return conv_onednn_fail(error, missing);
    State *state = conv->state;
    conv->info.workspace_bytes = workspace(conv->algorithm, shape, &conv->options);
    state->weights = conv_own_weights(conv, conv_n_weights(&conv->shape), 0);
    state->columns = conv_own(conv, conv_n_pixels(shape) * conv_depth(shape));
    state->product = conv_own(conv, conv_n_pixels(shape) * (gsize)(shape->out_channels / shape->groups));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    transpose_weights(shape, weights, state->weights);
    conv_set_implementation(conv, "im2col and sgemm of oneDNN %s", conv_onednn_version());
    return TRUE;
}

const ConvAlgorithm conv_gemm = {
    .meaning = "all patches as one matrix (im2col), and one matrix product",
    .supports = conv_supports_groups,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_pixels,
};
