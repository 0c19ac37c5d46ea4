/* Implicit GEMM with precomputed indices: where each tap of each output pixel reads is computed once, as an offset; the
 * kernel reads the input in place. */
#include "blocked-private.h"

/* Pixels whose taps are looked up together: their pointers stay in the first-level cache. */
#define PADDING INT32_MAX

typedef struct
{
    float *weights, *zeros; /* zeros: one block, which padding reads */
    int32_t *offsets;       /* [n_taps][n_pixels] of one image of a group, in floats / block; PADDING: in the padding */
    const float **taps;     /* [n_threads][n_taps][tile] */
    size_t n_taps, n_tiles;
} State;

static bool supports(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                     IfmBlockedError *why)
{
    if (shape->in[0] * shape->in[1] >= PADDING)
        return conv_refuse(why, "more than 2^31 input pixels");
    return conv_supports_groups(algorithm, shape, options, why);
}

static size_t offsets_bytes(const IfmBlockedShape *shape)
{
    return (size_t)(shape->kernel[0] * shape->kernel[1]) * conv_n_pixels(shape) * sizeof(int32_t);
}

static size_t taps_of_slot(const IfmBlockedShape *shape)
{
    return (size_t)(shape->kernel[0] * shape->kernel[1]) * CONV_MAX_PIXELS;
}

static size_t workspace(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    return offsets_bytes(shape) + taps_of_slot(shape) * (size_t)MAX(options->n_threads, 1) * sizeof(float *);
}

static void fill_offsets(const IfmBlockedShape *shape, int32_t *offsets)
{
    for (int64_t i = 0; i < shape->kernel[0]; i++)
        for (int64_t j = 0; j < shape->kernel[1]; j++)
            for (int64_t y = 0; y < shape->out[0]; y++)
                for (int64_t x = 0; x < shape->out[1]; x++)
                {
                    const int64_t from_y = y * shape->stride[0] - shape->pads[0] + i * shape->dilation[0];
                    const int64_t from_x = x * shape->stride[1] - shape->pads[1] + j * shape->dilation[1];
                    const bool is_inside = from_y >= 0 && from_y < shape->in[0] && from_x >= 0 && from_x < shape->in[1];
                    *offsets++ = is_inside ? (int32_t)(from_y * shape->in[1] + from_x) : PADDING;
                }
}

/* One tile of pixels for all output channels of a group. */
static void run_tile(const ConvJob *job, size_t slot, size_t task)
{
    const IfmBlockedConv *conv = job->conv;
    const State *state = conv->state;
    const IfmBlockedShape *shape = &conv->shape;
    const ConvPart tile = conv_part(job, state->n_tiles, task), *part = &tile;
    const size_t block = (size_t)shape->block, in_block = (size_t)shape->input_block, image = conv_n_pixels(shape);
    const size_t n_vectors = (size_t)(shape->out_channels / shape->groups) / block, block_stride = image * block;
    const float **taps = state->taps + slot * taps_of_slot(shape);
    for (size_t t = 0; t < state->n_taps; t++)
        for (size_t p = 0; p < part->n_pixels; p++)
        {
            const int32_t offset = state->offsets[t * image + part->first + p];
            taps[t * CONV_MAX_PIXELS + p] = offset == PADDING ? state->zeros : part->input + (size_t)offset * in_block;
        }
    for (size_t v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
    {
        const size_t vectors = MIN(CONV_TILE_VECTORS, n_vectors - v), channel = (part->group * n_vectors + v) * block;
        const size_t at = v * block_stride;
        const ConvStore store = { conv->bias + channel,
                                  false,
                                  block,
                                  block_stride,
                                  part->sum != NULL ? part->sum + at : NULL,
                                  conv->low,
                                  conv->high };
        conv->kernels->product_indirect(
            (int)part->n_pixels, (int)vectors, state->n_taps, (size_t)(shape->channels / shape->groups) / in_block,
            in_block, state->weights + channel * conv_depth(shape), taps, CONV_MAX_PIXELS,
            (size_t)(shape->in[0] * shape->in[1]) * in_block, state->zeros, part->output + at, &store);
        conv_finish(conv, part->output + at, part->n_pixels, vectors, block_stride);
    }
}

static bool make(IfmBlockedConv *conv, const float *weights, IfmBlockedError *error)
{
    const IfmBlockedShape *shape = &conv->shape;
    State *state = conv->state;
    state->n_taps = (size_t)(shape->kernel[0] * shape->kernel[1]);
    conv->info.workspace_bytes = workspace(conv->algorithm, shape, &conv->options);
    state->n_tiles = (conv_n_pixels(shape) + (size_t)conv->kernels->pixels - 1) / (size_t)conv->kernels->pixels;
    conv->n_tasks = conv_n_parts(shape, state->n_tiles);
    state->weights = conv_own_weights(conv, conv_n_weights(shape), 0);
    state->zeros = conv_own(conv, CONV_MAX_BLOCK);
    state->offsets = (int32_t *)conv_own(conv, offsets_bytes(shape) / sizeof(float));
    state->taps = (const float **)(void *)conv_own(conv, taps_of_slot(shape) * (size_t)conv->options.n_threads *
                                                             sizeof(float *) / sizeof(float));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    if (!conv->has_weights)
        conv_pack_weights(shape, weights, state->weights);
    fill_offsets(shape, state->offsets);
    conv_set_implementation(conv, "input read in place by %zu indices a pixel, %s %dx%d", state->n_taps, conv->kernels->isa,
                            conv->kernels->pixels, CONV_TILE_VECTORS * shape->block);
    return true;
}

const ConvAlgorithm conv_implicit_precomp_gemm = {
    .meaning = "the input read in place, by indices that are computed once",
    .supports = supports,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_tile,
};
