/* Implicit GEMM: the patches of a panel of outputs are packed row by row into a buffer of the size of a cache, and
 * multiplied from there; the whole im2col matrix never exists. */
#include "convolution-private.h"

#include <stdlib.h>

/* A panel of packed rows stays in the second-level cache together with a panel of weights. */
#define PANEL_BYTES ((gsize)256 << 10)

typedef struct
{
    float *weights, *rows; /* rows: [n_threads][panel_pixels][depth] */
    gsize panel_pixels, n_panels;
} State;

/* Pixels of a panel: whole tiles, as many as the cache holds, and no more panels than that takes. */
static gsize panel_pixels(const IfmConvShape *shape)
{
    const gsize n = conv_n_pixels(shape), fitting = PANEL_BYTES / (conv_depth(shape) * sizeof(float));
    const gsize most = MAX(fitting / CONV_MAX_PIXELS, 1) * CONV_MAX_PIXELS;
    const gsize even = (n + (n + most - 1) / most - 1) / ((n + most - 1) / most);
    return MIN((even + CONV_MAX_PIXELS - 1) / CONV_MAX_PIXELS * CONV_MAX_PIXELS, n);
}

static gsize workspace(const IfmConvShape *shape, const IfmConvOptions *options)
{
    return panel_pixels(shape) * conv_depth(shape) * sizeof(float) * (gsize)MAX(options->n_threads, 1);
}

/* Multiplies the rows of a panel by all weights of a group. @output, @sum: of the panel's first pixel, first block of the
 * group */
static void multiply(const IfmConv *conv, const State *state, const float *rows, gint64 group, gsize n_pixels,
                     const float *sum, float *output)
{
    const IfmConvShape *shape = &conv->shape;
    const gsize block = (gsize)shape->block, depth = conv_depth(shape), block_stride = conv_n_pixels(shape) * block;
    const gsize n_vectors = (gsize)(shape->out_channels / shape->groups) / block;
    const gsize n_tiles = (n_pixels + (gsize)conv->kernels->pixels - 1) / (gsize)conv->kernels->pixels;
    for (gsize v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
    {
        const gsize vectors = MIN(CONV_TILE_VECTORS, n_vectors - v), channel = ((gsize)group * n_vectors + v) * block;
        ConvStore store = { conv->bias + channel, FALSE, block, block_stride, NULL, conv->low, conv->high };
        for (gsize t = 0; t < n_tiles; t++)
        {
            const gsize first = conv_split(n_pixels, n_tiles, t), end = conv_split(n_pixels, n_tiles, t + 1);
            store.sum = sum != NULL ? sum + v * block_stride + first * block : NULL;
            conv->kernels->product((int)(end - first), (int)vectors, depth, state->weights + channel * depth,
                                   rows + first * depth, depth, output + v * block_stride + first * block, &store);
        }
        conv_finish(conv, output + v * block_stride, n_pixels, vectors, block_stride);
    }
}

/* A slot's share of the panels of all images and groups. */
static void run_slot(void *data, gsize slot)
{
    const ConvJob *job = data;
    const IfmConv *conv = job->conv;
    const State *state = conv->state;
    const IfmConvShape *shape = &conv->shape;
    const gsize n_slots = (gsize)conv->options.n_threads, n_pixels = conv_n_pixels(shape), block = (gsize)shape->block;
    const gsize n_tasks = (gsize)(shape->batch * shape->groups) * state->n_panels;
    const gsize group_input = (gsize)(shape->channels / shape->groups * shape->in[0] * shape->in[1]);
    const gsize group_output = (gsize)(shape->out_channels / shape->groups) * n_pixels;
    float *rows = state->rows + slot * state->panel_pixels * conv_depth(shape);
    for (gsize task = conv_split(n_tasks, n_slots, slot); task < conv_split(n_tasks, n_slots, slot + 1); task++)
    {
        const gsize panel = task % state->n_panels, part = task / state->n_panels; /* part: of an image, a group */
        const gsize first = conv_split(n_pixels, state->n_panels, panel);
        const gsize end = conv_split(n_pixels, state->n_panels, panel + 1);
        for (gsize pixel = first; pixel < end; pixel++)
            conv_pack_patch(shape, job->run->input + part * group_input, (gint64)pixel / shape->out[1],
                            (gint64)pixel % shape->out[1], rows + (pixel - first) * conv_depth(shape));
        const gsize at = part * group_output + first * block;
        multiply(conv, state, rows, (gint64)part % shape->groups, end - first,
                 job->run->sum != NULL ? job->run->sum + at : NULL, job->run->output + at);
    }
}

static void run(IfmConv *conv, const ConvRun *run)
{
    const ConvJob job = { conv, run };
    run->parallel(run->user, (gsize)conv->options.n_threads, run_slot, (void *)&job);
}

static gboolean make(IfmConv *conv, const float *weights, GError **error)
{
    const IfmConvShape *shape = &conv->shape;
    State *state = g_new0(State, 1);
    conv->state = state;
    state->panel_pixels = panel_pixels(shape);
    state->n_panels = (conv_n_pixels(shape) + state->panel_pixels - 1) / state->panel_pixels;
    conv->info.workspace_bytes = workspace(shape, &conv->options);
    conv->info.weights_bytes = (gsize)shape->out_channels * conv_depth(shape) * sizeof(float);
    state->weights = conv_alloc(conv->info.weights_bytes / sizeof(float));
    state->rows = conv_alloc(conv->info.workspace_bytes / sizeof(float));
    if (state->weights == NULL || state->rows == NULL)
        return conv_no_memory(conv, error);
    conv_pack_weights(shape, weights, state->weights);
    conv_set_implementation(conv, "patches packed by %" G_GSIZE_FORMAT " pixels, %s %dx%d", state->panel_pixels,
                            conv->kernels->isa, conv->kernels->pixels, CONV_TILE_VECTORS * shape->block);
    return TRUE;
}

static void free_state(IfmConv *conv)
{
    State *state = conv->state;
    free(state->weights);
    free(state->rows);
    g_free(state);
}

const ConvAlgorithm conv_implicit_gemm = {
    .name = "implicit_gemm",
    .meaning = "patches packed panel by panel into a buffer of the size of a cache, without an im2col matrix",
    .refuses = conv_refuses_groups,
    .workspace = workspace,
    .make = make,
    .run = run,
    .free = free_state,
};
