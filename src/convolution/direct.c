/* Direct convolution by oneDNN's kernels for the blocked layout. A slot computes a share of the output channels. */
#include "onednn-private.h"

#include <stdlib.h>

/* Part: the blocks of output channels of a slot. */
typedef struct
{
    ConvPrimitive *primitive; /* NULL: none is left for this slot */
    gint64 first, end;        /* channels */
    float *scratch;
} Part;

typedef struct
{
    Part *parts; /* [n_threads] */
    gboolean is_fused;
} State;

static gboolean is_depthwise(const IfmConvShape *shape)
{
    return shape->groups == shape->channels && shape->out_channels == shape->channels && shape->input_block != 1;
}

/* How many slots get a share: groups of several channels stay whole. */
static gsize n_shares(const IfmConvShape *shape, gsize n_slots)
{
    const gboolean can_split = shape->groups == 1 || is_depthwise(shape);
    return can_split ? MIN(n_slots, (gsize)(shape->out_channels / shape->block)) : 1;
}

/* The output channels of a share, from @first to @end. */
static void bounds_of(const IfmConvShape *shape, gsize n, gsize share, gint64 *first, gint64 *end)
{
    const gsize n_blocks = (gsize)(shape->out_channels / shape->block);
    *first = (gint64)conv_split(n_blocks, n, share) * shape->block;
    *end = (gint64)conv_split(n_blocks, n, share + 1) * shape->block;
}

/* One image's share of the layer, as a layer. */
static IfmConvShape share_of(const IfmConvShape *shape, gint64 n_channels)
{
    IfmConvShape share = *shape;
    share.batch = 1;
    share.out_channels = n_channels;
    if (is_depthwise(shape))
        share.channels = share.groups = n_channels;
    return share;
}

/* Whether the library has a kernel for each share, and the workspace that they ask for together. */
static gboolean shares_need(const IfmConvShape *shape, const IfmConvOptions *options, gboolean fused, gsize *n_bytes)
{
    const gsize n = n_shares(shape, (gsize)MAX(options->n_threads, 1));
    gint64 n_channels = 0;
    gsize share_bytes = 0;
    *n_bytes = 0;
    for (gsize i = 0; i < n; i++)
    {
        gint64 first, end;
        bounds_of(shape, n, i, &first, &end);
        const IfmConvShape share = share_of(shape, end - first);
        /* Most shares are alike. */
        if (end - first != n_channels && !conv_primitive_needs(&share, options, fused, &share_bytes))
            return FALSE;
        n_channels = end - first;
        *n_bytes += share_bytes;
    }
    return TRUE;
}

/* Not each kernel takes a sum: then it is added afterwards. */
static gboolean any_need(const IfmConvShape *shape, const IfmConvOptions *options, gsize *n_bytes)
{
    return shares_need(shape, options, TRUE, n_bytes) || shares_need(shape, options, FALSE, n_bytes);
}

static bool supports(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options,
                     IfmBlockedError *why)
{
    gsize n_bytes;
    return any_need(shape, options, &n_bytes) || conv_refuse(why, "no optimised kernel of oneDNN");
}

static gsize workspace(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    gsize n_bytes = 0;
    return any_need(shape, options, &n_bytes) ? n_bytes : 0;
}

/* Adds the sum and bounds the outputs where the library's kernel did not. */
static void add_sum(const IfmConv *conv, const float *sum, float *output, gsize n_floats)
{
    for (gsize i = 0; i < n_floats; i++)
    {
        const float value = output[i] + (sum != NULL ? sum[i] : 0);
        output[i] = value < conv->low ? conv->low : value > conv->high ? conv->high : value;
    }
}

static void run_share(const ConvJob *job, gsize slot, gsize share)
{
    const IfmConv *conv = job->conv;
    const IfmConvShape *shape = &conv->shape;
    const State *state = conv->state;
    const Part *part = &state->parts[share];
    const gsize in_pixels = (gsize)(shape->in[0] * shape->in[1]), out_pixels = conv_n_pixels(shape);
    for (gint64 n = 0; part->primitive != NULL && n < shape->batch; n++)
    {
        const gsize first_input = (gsize)(n * shape->channels + (is_depthwise(shape) ? part->first : 0)) * in_pixels;
        const gsize at = (gsize)(n * shape->out_channels + part->first) * out_pixels;
        const gsize n_floats = (gsize)(part->end - part->first) * out_pixels;
        const float *sum = job->run->sum != NULL ? job->run->sum + at : NULL;
        float *output = job->run->output + at;
        conv_primitive_run(part->primitive, job->run->input + first_input, sum, output, part->scratch);
        if (!state->is_fused)
            add_sum(conv, sum, output, n_floats);
        conv_finish(conv, output, n_floats / (gsize)shape->block, 1, 0);
    }
}

static gboolean make_part(IfmConv *conv, Part *part, gboolean fused, const float *weights, IfmBlockedError *error)
{
    g_autoptr(GError) refusal = NULL;
    const IfmConvShape share = share_of(&conv->shape, part->end - part->first);
    const float *from = weights + (gsize)part->first * conv_depth(&conv->shape);
    part->primitive = conv_primitive_new(&share, &conv->options, fused, from, conv->bias + part->first, &refusal);
    if (part->primitive == NULL)
        return conv_onednn_fail(error, refusal);
    const gsize n_bytes = conv_primitive_workspace(part->primitive);
    part->scratch = conv_alloc(n_bytes / sizeof(float) + 1);
    conv->info.workspace_bytes += n_bytes;
    conv->info.weights_bytes += conv_primitive_weights(part->primitive);
    return part->scratch != NULL || conv_no_memory(conv, error);
}

static void clear_parts(IfmConv *conv)
{
    State *state = conv->state;
    for (int i = 0; i < conv->options.n_threads; i++)
    {
        conv_primitive_free(state->parts[i].primitive);
        free(state->parts[i].scratch);
        state->parts[i] = (Part){ 0 };
    }
    conv->info.workspace_bytes = conv->info.weights_bytes = 0;
}

static gboolean make_parts(IfmConv *conv, gboolean fused, const float *weights, IfmBlockedError *error)
{
    State *state = conv->state;
    const IfmConvShape *shape = &conv->shape;
    const gsize n = n_shares(shape, (gsize)conv->options.n_threads);
    state->is_fused = fused;
    for (gsize i = 0; i < n; i++)
    {
        bounds_of(shape, n, i, &state->parts[i].first, &state->parts[i].end);
        if (!make_part(conv, &state->parts[i], fused, weights, error))
            return FALSE;
    }
    return TRUE;
}

static bool make(IfmConv *conv, const float *weights, IfmBlockedError *error)
{
    State *state = conv->state;
    state->parts = g_new0(Part, conv->options.n_threads);
    if (!make_parts(conv, TRUE, weights, NULL))
    {
        clear_parts(conv);
        if (!make_parts(conv, FALSE, weights, error))
            return FALSE;
    }
    conv_set_implementation(conv, "oneDNN %s %s", conv_onednn_version(),
                            conv_primitive_implementation(state->parts[0].primitive));
    return TRUE;
}

static void free_state(IfmConv *conv)
{
    State *state = conv->state;
    clear_parts(conv);
    g_free(state->parts);
}

const ConvAlgorithm conv_direct = {
    .meaning = "the sums as they are defined, by oneDNN's kernels for the blocked layout, or own ones",
    .supports = supports,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_share,
    .free = free_state,
};
