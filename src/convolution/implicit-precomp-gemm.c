/* Implicit GEMM with precomputed indices: where each tap of each output pixel reads is computed once, as an offset; the
 * kernel reads the input in place. */
#include "convolution-private.h"

/* Pixels whose taps are looked up together: their pointers stay in the first-level cache. */
#define PADDING G_MAXINT32

typedef struct
{
    float *weights, *zeros; /* zeros: one block, which padding reads */
    gint32 *offsets;        /* [n_taps][n_pixels] of one image of a group, in floats / block; PADDING: in the padding */
    const float **taps;     /* [n_threads][n_taps][tile] */
    gsize n_taps, n_tiles;
} State;

static const char *refuses(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    if (shape->in[0] * shape->in[1] >= PADDING)
        return "more than 2^31 input pixels";
    return conv_refuses_groups(algorithm, shape, options);
}

static gsize offsets_bytes(const IfmConvShape *shape)
{
    return (gsize)(shape->kernel[0] * shape->kernel[1]) * conv_n_pixels(shape) * sizeof(gint32);
}

static gsize taps_of_slot(const IfmConvShape *shape)
{
    return (gsize)(shape->kernel[0] * shape->kernel[1]) * CONV_MAX_PIXELS;
}

static gsize workspace(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    return offsets_bytes(shape) + taps_of_slot(shape) * (gsize)MAX(options->n_threads, 1) * sizeof(float *);
}

static void fill_offsets(const IfmConvShape *shape, gint32 *offsets)
{
    for (gint64 i = 0; i < shape->kernel[0]; i++)
        for (gint64 j = 0; j < shape->kernel[1]; j++)
            for (gint64 y = 0; y < shape->out[0]; y++)
                for (gint64 x = 0; x < shape->out[1]; x++)
                {
                    const gint64 from_y = y * shape->stride[0] - shape->pads[0] + i * shape->dilation[0];
                    const gint64 from_x = x * shape->stride[1] - shape->pads[1] + j * shape->dilation[1];
                    const gboolean is_inside = from_y >= 0 && from_y < shape->in[0] && from_x >= 0 && from_x < shape->in[1];
                    *offsets++ = is_inside ? (gint32)(from_y * shape->in[1] + from_x) : PADDING;
                }
}

/* One tile of pixels for all output channels of a group. */
static void run_tile(const ConvJob *job, gsize slot, gsize task)
{
    const IfmConv *conv = job->conv;
    const State *state = conv->state;
    const IfmConvShape *shape = &conv->shape;
    const ConvPart tile = conv_part(job, state->n_tiles, task), *part = &tile;
    const gsize block = (gsize)shape->block, in_block = (gsize)shape->input_block, image = conv_n_pixels(shape);
    const gsize n_vectors = (gsize)(shape->out_channels / shape->groups) / block, block_stride = image * block;
    const float **taps = state->taps + slot * taps_of_slot(shape);
    for (gsize t = 0; t < state->n_taps; t++)
        for (gsize p = 0; p < part->n_pixels; p++)
        {
            const gint32 offset = state->offsets[t * image + part->first + p];
            taps[t * CONV_MAX_PIXELS + p] = offset == PADDING ? state->zeros : part->input + (gsize)offset * in_block;
        }
    for (gsize v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
    {
        const gsize vectors = MIN(CONV_TILE_VECTORS, n_vectors - v), channel = (part->group * n_vectors + v) * block;
        const gsize at = v * block_stride;
        const ConvStore store = { conv->bias + channel,
                                  FALSE,
                                  block,
                                  block_stride,
                                  part->sum != NULL ? part->sum + at : NULL,
                                  conv->low,
                                  conv->high };
        conv->kernels->product_indirect(
            (int)part->n_pixels, (int)vectors, state->n_taps, (gsize)(shape->channels / shape->groups) / in_block, in_block,
            state->weights + channel * conv_depth(shape), taps, CONV_MAX_PIXELS,
            (gsize)(shape->in[0] * shape->in[1]) * in_block, state->zeros, part->output + at, &store);
        conv_finish(conv, part->output + at, part->n_pixels, vectors, block_stride);
    }
}

static gboolean make(IfmConv *conv, const float *weights, GError **error)
{
    const IfmConvShape *shape = &conv->shape;
    State *state = conv->state;
    state->n_taps = (gsize)(shape->kernel[0] * shape->kernel[1]);
    conv->info.workspace_bytes = workspace(conv->algorithm, shape, &conv->options);
    state->n_tiles = (conv_n_pixels(shape) + (gsize)conv->kernels->pixels - 1) / (gsize)conv->kernels->pixels;
    conv->n_tasks = conv_n_parts(shape, state->n_tiles);
    state->weights = conv_own_weights(conv);
    state->zeros = conv_own(conv, CONV_MAX_BLOCK);
    state->offsets = (gint32 *)conv_own(conv, offsets_bytes(shape) / sizeof(float));
    state->taps = (const float **)(void *)conv_own(conv, taps_of_slot(shape) * (gsize)conv->options.n_threads *
                                                             sizeof(float *) / sizeof(float));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    conv_pack_weights(shape, weights, state->weights);
    fill_offsets(shape, state->offsets);
    conv_set_implementation(conv, "input read in place by %" G_GSIZE_FORMAT " indices a pixel, %s %dx%d", state->n_taps,
                            conv->kernels->isa, conv->kernels->pixels, CONV_TILE_VECTORS * shape->block);
    return TRUE;
}

const ConvAlgorithm conv_implicit_precomp_gemm = {
    .name = "implicit_precomp_gemm",
    .meaning = "the input read in place, by indices that are computed once",
    .refuses = refuses,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_tile,
};
