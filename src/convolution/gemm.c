/* im2col and one matrix product by oneDNN. */
#include "onednn-private.h"

#include <stdlib.h>

typedef struct
{
    float *weights, *columns, *product; /* weights: [depth][channels of a group] for each group */
} State;

static gsize workspace(const IfmConvShape *shape, const IfmConvOptions *options)
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
static void run_slot(void *data, gsize slot)
{
    const ConvJob *job = data;
    const IfmConv *conv = job->conv;
    const State *state = conv->state;
    const IfmConvShape *shape = &conv->shape;
    const gsize n_slots = (gsize)conv->options.n_threads, image = conv_n_pixels(shape), depth = conv_depth(shape);
    const gsize first = conv_split(image, n_slots, slot), n_pixels = conv_split(image, n_slots, slot + 1) - first;
    const gsize n_channels = (gsize)(shape->out_channels / shape->groups);
    const gsize group_input = (gsize)(shape->channels / shape->groups * shape->in[0] * shape->in[1]);
    float *columns = state->columns + first * depth, *product = state->product + first * n_channels;
    for (gsize part = 0; n_pixels > 0 && part < (gsize)(shape->batch * shape->groups); part++)
    {
        const gsize group = part % (gsize)shape->groups, at = part * n_channels * image + first * (gsize)shape->block;
        for (gsize pixel = 0; pixel < n_pixels; pixel++)
            conv_pack_patch(shape, job->run->input + part * group_input, (gint64)(first + pixel) / shape->out[1],
                            (gint64)(first + pixel) % shape->out[1], columns + pixel * depth);
        conv_onednn_product(n_pixels, n_channels, depth, columns, state->weights + group * depth * n_channels, product);
        store_rows(conv, product, group * n_channels, n_pixels, job->run->sum != NULL ? job->run->sum + at : NULL,
                   job->run->output + at);
    }
}

static void run(IfmConv *conv, const ConvRun *run)
{
    const ConvJob job = { conv, run };
    run->parallel(run->user, (gsize)conv->options.n_threads, run_slot, (void *)&job);
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

static gboolean make(IfmConv *conv, const float *weights, GError **error)
{
    const IfmConvShape *shape = &conv->shape;
    if (!conv_onednn_check(error))
        return FALSE;
    State *state = g_new0(State, 1);
    conv->state = state;
    conv->info.workspace_bytes = workspace(shape, &conv->options);
    conv->info.weights_bytes = (gsize)shape->out_channels * conv_depth(shape) * sizeof(float);
    state->weights = conv_alloc(conv->info.weights_bytes / sizeof(float));
    state->columns = conv_alloc(conv_n_pixels(shape) * conv_depth(shape));
    state->product = conv_alloc(conv_n_pixels(shape) * (gsize)(shape->out_channels / shape->groups));
    if (state->weights == NULL || state->columns == NULL || state->product == NULL)
        return conv_no_memory(conv, error);
    transpose_weights(shape, weights, state->weights);
    conv_set_implementation(conv, "im2col and sgemm of oneDNN %s", conv_onednn_version());
    return TRUE;
}

static void free_state(IfmConv *conv)
{
    State *state = conv->state;
    free(state->weights);
    free(state->columns);
    free(state->product);
    g_free(state);
}

const ConvAlgorithm conv_gemm = {
    .name = "gemm",
    .meaning = "all patches as one matrix (im2col), and one matrix product",
    .refuses = conv_refuses_groups,
    .workspace = workspace,
    .make = make,
    .run = run,
    .free = free_state,
};
