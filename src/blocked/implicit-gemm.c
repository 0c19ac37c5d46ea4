/* Implicit GEMM: the patches of a panel of outputs are packed row by row into a buffer of the size of a cache, and
 * multiplied from there; the whole im2col matrix never exists. */
#include "blocked-private.h"

/* A panel of packed rows stays in the second-level cache together with a panel of weights. */
#define PANEL_BYTES ((size_t)256 << 10)

typedef struct
{
    float *weights, *rows; /* rows: [n_threads][panel_pixels][depth] */
    size_t panel_pixels, n_panels;
} State;

/* Pixels of a panel: whole tiles, as many as the cache holds, and no more panels than that takes. */
static size_t panel_pixels(const IfmBlockedShape *shape)
{
    const size_t n = conv_n_pixels(shape), fitting = PANEL_BYTES / (conv_depth(shape) * sizeof(float));
    const size_t most = MAX(fitting / CONV_MAX_PIXELS, 1) * CONV_MAX_PIXELS;
    const size_t even = (n + (n + most - 1) / most - 1) / ((n + most - 1) / most);
    return MIN((even + CONV_MAX_PIXELS - 1) / CONV_MAX_PIXELS * CONV_MAX_PIXELS, n);
}

static size_t workspace(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    return panel_pixels(shape) * conv_depth(shape) * sizeof(float) * (size_t)MAX(options->n_threads, 1);
}

/* Multiplies the rows of a panel by all weights of its group. */
static void multiply(const IfmBlockedConv *conv, const State *state, const float *rows, const ConvPart *part)
{
    const IfmBlockedShape *shape = &conv->shape;
    const size_t block = (size_t)shape->block, depth = conv_depth(shape), block_stride = conv_n_pixels(shape) * block;
    const size_t n_vectors = (size_t)(shape->out_channels / shape->groups) / block;
    const size_t n_tiles = (part->n_pixels + (size_t)conv->kernels->pixels - 1) / (size_t)conv->kernels->pixels;
    for (size_t v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
    {
        const size_t vectors = MIN(CONV_TILE_VECTORS, n_vectors - v), channel = (part->group * n_vectors + v) * block;
        ConvStore store = { conv->bias + channel, false, block, block_stride, NULL, conv->low, conv->high };
        for (size_t t = 0; t < n_tiles; t++)
        {
            const size_t first = conv_split(part->n_pixels, n_tiles, t), end = conv_split(part->n_pixels, n_tiles, t + 1);
            store.sum = part->sum != NULL ? part->sum + v * block_stride + first * block : NULL;
            conv->kernels->product((int)(end - first), (int)vectors, depth, state->weights + channel * depth,
                                   rows + first * depth, depth, part->output + v * block_stride + first * block, &store);
        }
        conv_finish(conv, part->output + v * block_stride, part->n_pixels, vectors, block_stride);
    }
}

/* One panel of an image and group. */
static void run_panel(const ConvJob *job, size_t slot, size_t task)
{
    const IfmBlockedShape *shape = &job->conv->shape;
    const State *state = job->conv->state;
    const ConvPart part = conv_part(job, state->n_panels, task);
    float *rows = state->rows + slot * state->panel_pixels * conv_depth(shape);
    for (size_t pixel = 0; pixel < part.n_pixels; pixel++)
        conv_pack_patch(shape, part.input, (int64_t)(part.first + pixel) / shape->out[1],
                        (int64_t)(part.first + pixel) % shape->out[1], rows + pixel * conv_depth(shape));
    multiply(job->conv, state, rows, &part);
}

static bool make(IfmBlockedConv *conv, const float *weights, IfmBlockedError *error)
{
    const IfmBlockedShape *shape = &conv->shape;
    State *state = conv->state;
    state->panel_pixels = panel_pixels(shape);
    state->n_panels = (conv_n_pixels(shape) + state->panel_pixels - 1) / state->panel_pixels;
    conv->info.workspace_bytes = workspace(conv->algorithm, shape, &conv->options);
    conv->n_tasks = conv_n_parts(shape, state->n_panels);
    state->weights = conv_own_weights(conv, conv_n_weights(shape), 0);
    state->rows = conv_own(conv, conv->info.workspace_bytes / sizeof(float));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    if (!conv->has_weights)
        conv_pack_weights(shape, weights, state->weights);
    conv_set_implementation(conv, "patches packed by %zu pixels, %s %dx%d", state->panel_pixels, conv->kernels->isa,
                            conv->kernels->pixels, CONV_TILE_VECTORS * shape->block);
    return true;
}

const ConvAlgorithm conv_implicit_gemm = {
    .meaning = "patches packed panel by panel into a buffer of the size of a cache, without an im2col matrix",
    .supports = conv_supports_groups,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_panel,
};
