/* Winograd's algorithm for 3x3 kernels. Fused: the inputs of a panel of tiles are transformed into a cache; then, for a few
 * output channels at a time, all points are multiplied and the outputs transformed back at once. Nonfused: transform,
 * batched product and inverse are three passes over the whole layer. */
#include "winograd-private.h"

#include <math.h>
#include <stdlib.h>

/* Transformed inputs of a panel, and rows of one point of the batched product: with the weights that they meet, they stay
 * in the second-level cache. */
#define PANEL_BYTES ((gsize)256 << 10)
/* Weights of this size come from afar for each panel: then a panel has this many tiles at least. */
#define FAR_WEIGHTS ((gsize)8 << 20)
#define FAR_TILES 56
/* With fewer tiles, reading the weights takes all the time: asking for them early only adds to it. */
#define PREFETCH_TILES 8

/* Plan: sizes of one layer. Tiles count over all images of the batch. */
typedef struct
{
    int pairs;
    gboolean is_fused;
    gint64 outputs, tiles[2]; /* of a tile; tiles of an image */
    gsize n_points, n_tiles, n_vectors, depth, row;
    gsize panel_tiles, n_panels;   /* of inputs that are transformed together; panel_tiles: at most */
    gsize chunk_vectors, n_shares; /* output channels that are transformed together; shares of slots */
} Plan;

typedef struct
{
    Plan plan;
    float *weights, *inputs, *products; /* inputs, products: for each slot where fused */
} State;

static gsize ceil_div(gsize a, gsize b)
{
    return (a + b - 1) / b;
}

/* The rule for F(m, 3): least multiplications, each number of the transforms and each weight counted as some more. So
 * large images take large tiles; small ones, which read each weight for few tiles, small tiles. */
#define TRANSFORM_COST 16
#define WEIGHT_COST 6
static double cost_of(const IfmConvShape *shape, gint64 outputs)
{
    const double channels = (double)shape->channels / (double)shape->groups;
    const double out = (double)shape->out_channels / (double)shape->groups;
    const gsize rows = ceil_div((gsize)shape->out[0], (gsize)outputs);
    const gsize columns = ceil_div((gsize)shape->out[1], (gsize)outputs);
    const double n_tiles = (double)shape->batch * (double)(rows * columns);
    const double n_points = (double)((outputs + 2) * (outputs + 2));
    return n_points * (n_tiles * (1 + TRANSFORM_COST / channels + TRANSFORM_COST / out) + WEIGHT_COST);
}

static int outputs_of(const IfmConvShape *shape, const IfmConvOptions *options)
{
    int best = options->winograd_outputs != 0 ? options->winograd_outputs : 2;
    for (int outputs = 4; options->winograd_outputs == 0 && outputs <= 2 * WINOGRAD_MAX_PAIRS; outputs += 2)
        best = cost_of(shape, outputs) < cost_of(shape, best) ? outputs : best;
    return best;
}

/* Panels that fit into the cache. Where there are too few tiles for the slots, slots share output channels. */
static void plan_fused(Plan *plan, const IfmConvShape *shape, gsize n_slots)
{
    const gsize weights_bytes = plan->n_points * plan->depth * plan->n_vectors * (gsize)shape->block * sizeof(float);
    const gsize least = weights_bytes > FAR_WEIGHTS ? FAR_TILES : CONV_MAX_PIXELS;
    const gsize fitting = PANEL_BYTES / (plan->n_points * plan->row * sizeof(float));
    const gsize most = MAX(fitting / CONV_MAX_PIXELS * CONV_MAX_PIXELS, least);
    plan->n_panels = ceil_div(plan->n_tiles, most);
    plan->n_shares =
        plan->n_panels * (gsize)shape->groups >= n_slots ? 1 : MIN(n_slots, ceil_div(plan->n_vectors, CONV_TILE_VECTORS));
    if (plan->n_shares == 1 && shape->groups == 1)
        plan->n_panels = ceil_div(plan->n_panels, n_slots) * n_slots;
    plan->n_panels = MAX(MIN(plan->n_panels, plan->n_tiles), 1);
    plan->panel_tiles = ceil_div(plan->n_tiles, plan->n_panels);
    plan->chunk_vectors = MIN(CONV_TILE_VECTORS, plan->n_vectors);
}

static Plan plan_of(const IfmConvShape *shape, const IfmConvOptions *options, gboolean is_fused)
{
    Plan plan = { .outputs = outputs_of(shape, options), .is_fused = is_fused };
    plan.pairs = (int)plan.outputs / 2;
    plan.n_points = (gsize)((plan.outputs + 2) * (plan.outputs + 2));
    for (int i = 0; i < 2; i++)
        plan.tiles[i] = (shape->out[i] + plan.outputs - 1) / plan.outputs;
    plan.n_tiles = (gsize)(shape->batch * plan.tiles[0] * plan.tiles[1]);
    plan.n_vectors = (gsize)(shape->out_channels / shape->groups / shape->block);
    plan.depth = (gsize)(shape->channels / shape->groups);
    plan.row = ceil_div(plan.depth, (gsize)shape->block) * (gsize)shape->block;
    plan.panel_tiles = plan.n_tiles;
    plan.n_panels = plan.n_shares = 1;
    plan.chunk_vectors = plan.n_vectors;
    if (is_fused)
        plan_fused(&plan, shape, (gsize)MAX(options->n_threads, 1));
    return plan;
}

/* Floats from one point to the next: not a multiple of a page, which would be one place in a cache for all of them. */
static gsize input_stride(const Plan *plan)
{
    return plan->panel_tiles * plan->row + CONV_MAX_BLOCK;
}

static gsize product_stride(const Plan *plan, const IfmConvShape *shape)
{
    return plan->panel_tiles * plan->chunk_vectors * (gsize)shape->block + CONV_MAX_BLOCK;
}

static gsize workspace(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    const Plan plan = plan_of(shape, options, algorithm == &conv_winograd);
    const gsize n_buffers = plan.is_fused ? (gsize)MAX(options->n_threads, 1) : 1;
    return plan.n_points * (input_stride(&plan) + product_stride(&plan, shape)) * n_buffers * sizeof(float);
}

static const char *refuses(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    g_autofree char *why = NULL;
    if (shape->kernel[0] != 3 || shape->kernel[1] != 3)
        why = g_strdup_printf("%dx%d", (int)shape->kernel[0], (int)shape->kernel[1]);
    else if (shape->stride[0] != 1 || shape->stride[1] != 1)
        why = g_strdup_printf("stride %d", (int)MAX(shape->stride[0], shape->stride[1]));
    else if (shape->dilation[0] != 1 || shape->dilation[1] != 1)
        why = g_strdup_printf("dilation %d", (int)MAX(shape->dilation[0], shape->dilation[1]));
    return why != NULL ? g_intern_string(why) : conv_refuses_groups(algorithm, shape, options);
}

/* --- the three steps -------------------------------------------------------------------------------------------------- */

/* Place: of one tile. */
typedef struct
{
    gint64 image, y, x; /* of its first output */
} Place;

static Place place_of(const Plan *plan, gsize tile)
{
    const gint64 row = (gint64)tile / plan->tiles[1];
    return (Place){ row / plan->tiles[0], row % plan->tiles[0] * plan->outputs,
                    (gint64)tile % plan->tiles[1] * plan->outputs };
}

/* Transforms channels of one tile. @to: of the tile's first channel of the group */
static void transform_input(const ConvJob *job, gint64 group, gsize tile, gsize first_channel, gsize n_channels, float *to)
{
    const IfmConv *conv = job->conv;
    const IfmConvShape *shape = &conv->shape;
    const Plan *plan = &((const State *)conv->state)->plan;
    const Place place = place_of(plan, tile);
    const gsize channel = (gsize)(place.image * shape->channels) + (gsize)group * plan->depth + first_channel;
    conv->kernels->winograd_input(plan->pairs, shape, job->run->input + channel * (gsize)(shape->in[0] * shape->in[1]),
                                  (gint64)n_channels, place.y - shape->pads[0], place.x - shape->pads[1],
                                  to + first_channel, input_stride(plan));
}

/* Multiplies rows of tiles at one point by the weights of a chunk of output channels. */
static void multiply(const IfmConv *conv, gint64 group, gsize point, gsize first_vector, gsize n_vectors, gsize n_tiles,
                     const float *inputs, float *products)
{
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const gsize block = (gsize)conv->shape.block, pixels = (gsize)conv->kernels->pixels;
    const gsize n_runs = ceil_div(n_tiles, pixels), chunk = MIN(plan->chunk_vectors, plan->n_vectors - first_vector);
    const gsize before = ((gsize)group * plan->n_vectors + first_vector) * plan->n_points + point * chunk;
    const float *weights = state->weights + before * block * plan->depth;
    const gsize row = plan->chunk_vectors * block;
    ConvStore store = { NULL, FALSE, row, block, NULL, -INFINITY, INFINITY };
    for (gsize v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
    {
        const gsize vectors = MIN(CONV_TILE_VECTORS, n_vectors - v);
        const float *panel = weights + v * block * plan->depth, *next = panel + vectors * block * plan->depth;
        for (gsize i = 0; i < n_runs; i++)
        {
            store.next = i == 0 && n_tiles >= PREFETCH_TILES ? next : NULL;
            const gsize first = conv_split(n_tiles, n_runs, i), end = conv_split(n_tiles, n_runs, i + 1);
            conv->kernels->product((int)(end - first), (int)vectors, plan->depth, panel, inputs + first * plan->row,
                                   plan->row, products + first * row + v * block, &store);
        }
    }
}

/* Makes the outputs of one tile, of vectors of channels. @from: products of the tile's first of these vectors */
static void transform_output(const ConvJob *job, gint64 group, gsize tile, gsize first_vector, gsize n_vectors,
                             const float *from)
{
    const IfmConv *conv = job->conv;
    const IfmConvShape *shape = &conv->shape;
    const Plan *plan = &((const State *)conv->state)->plan;
    const Place place = place_of(plan, tile);
    const gsize block = (gsize)shape->block, block_stride = conv_n_pixels(shape) * block;
    const gsize vector = (gsize)group * plan->n_vectors + first_vector, row = (gsize)shape->out[1] * block;
    const gint64 size[2] = { MIN(plan->outputs, shape->out[0] - place.y), MIN(plan->outputs, shape->out[1] - place.x) };
    const gsize at = (gsize)(place.image * shape->out_channels) * conv_n_pixels(shape) + vector * block_stride +
                     (gsize)(place.y * shape->out[1] + place.x) * block;
    const float *sum = job->run->sum != NULL ? job->run->sum + at : NULL;
    const ConvStore store = { conv->bias + vector * block, FALSE, block, block_stride, sum, conv->low, conv->high };
    conv->kernels->winograd_output(plan->pairs, from, product_stride(plan, shape), (int)n_vectors, size,
                                   job->run->output + at, row, &store);
    for (gint64 y = 0; y < size[0]; y++)
        conv_finish(conv, job->run->output + at + (gsize)y * row, (gsize)size[1], n_vectors, block_stride);
}

/* Fused: a panel of tiles, for a share of the output channels. */
static void run_panel(const ConvJob *job, gsize slot, gsize task)
{
    const IfmConv *conv = job->conv;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    float *inputs = state->inputs + slot * plan->n_points * input_stride(plan);
    float *products = state->products + slot * plan->n_points * product_stride(plan, &conv->shape);
    const gsize share = task % plan->n_shares, panel = task / plan->n_shares % plan->n_panels;
    const gint64 group = (gint64)(task / plan->n_shares / plan->n_panels);
    const gsize block = (gsize)conv->shape.block, n_chunks = ceil_div(plan->n_vectors, plan->chunk_vectors);
    const gsize first = conv_split(plan->n_tiles, plan->n_panels, panel);
    const gsize n_tiles = conv_split(plan->n_tiles, plan->n_panels, panel + 1) - first;
    for (gsize t = 0; t < n_tiles; t++)
        transform_input(job, group, first + t, 0, plan->depth, inputs + t * plan->row);
    for (gsize chunk = conv_split(n_chunks, plan->n_shares, share); chunk < conv_split(n_chunks, plan->n_shares, share + 1);
         chunk++)
    {
        const gsize vector = chunk * plan->chunk_vectors, n_vectors = MIN(plan->chunk_vectors, plan->n_vectors - vector);
        for (gsize point = 0; point < plan->n_points; point++)
            multiply(conv, group, point, vector, n_vectors, n_tiles, inputs + point * input_stride(plan),
                     products + point * product_stride(plan, &conv->shape));
        for (gsize t = 0; t < n_tiles; t++)
            transform_output(job, group, first + t, vector, n_vectors, products + t * plan->chunk_vectors * block);
    }
}

/* Nonfused: a block of input channels of one tile. */
static void pass_input(const ConvJob *job, gsize slot, gsize task)
{
    const State *state = job->conv->state;
    const Plan *plan = &state->plan;
    const gsize block = (gsize)job->conv->shape.block, n_blocks = plan->row / block;
    const gsize tile = task / n_blocks, channel = task % n_blocks * block;
    transform_input(job, (gint64)job->first, tile, channel, MIN(block, plan->depth - channel),
                    state->inputs + tile * plan->row);
}

/* A part of the products of one point. */
static void pass_products(const ConvJob *job, gsize slot, gsize task)
{
    const IfmConv *conv = job->conv;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const gsize point = task / job->n, first = conv_split(plan->n_tiles, job->n, task % job->n);
    const gsize n_tiles = conv_split(plan->n_tiles, job->n, task % job->n + 1) - first;
    multiply(conv, (gint64)job->first, point, 0, plan->n_vectors, n_tiles,
             state->inputs + point * input_stride(plan) + first * plan->row,
             state->products + point * product_stride(plan, &conv->shape) +
                 first * plan->n_vectors * (gsize)conv->shape.block);
}

/* A block of output channels of one tile. */
static void pass_output(const ConvJob *job, gsize slot, gsize task)
{
    const State *state = job->conv->state;
    transform_output(job, (gint64)job->first, task / state->plan.n_vectors, task % state->plan.n_vectors, 1,
                     state->products + task * (gsize)job->conv->shape.block);
}

/* Three passes for each group; the second divides the tiles of a point into parts. */
static void run_nonfused(IfmConv *conv, const ConvRun *run)
{
    const Plan *plan = &((const State *)conv->state)->plan;
    const gsize rows = MAX(PANEL_BYTES / (plan->row * sizeof(float)) / CONV_MAX_PIXELS, 1) * CONV_MAX_PIXELS;
    ConvJob job = { .conv = conv, .run = run, .n = ceil_div(plan->n_tiles, rows) };
    for (; job.first < (gsize)conv->shape.groups; job.first++)
    {
        conv_run_tasks(&job, plan->n_tiles * (plan->row / (gsize)conv->shape.block), pass_input);
        conv_run_tasks(&job, plan->n_points * job.n, pass_products);
        conv_run_tasks(&job, plan->n_tiles * plan->n_vectors, pass_output);
    }
}

/* --- a layer ---------------------------------------------------------------------------------------------------------- */

/* Weights of a group in the order in which they are read: [chunk][point][panel][channel][vectors][block]. */
static void pack(const Plan *plan, const IfmConvShape *shape, gsize group, const float *weights, float *packed)
{
    const gsize block = (gsize)shape->block, n_points = plan->n_points, depth = plan->depth;
    double points[WINOGRAD_MAX_SIDE * WINOGRAD_MAX_SIDE];
    for (gsize o = 0; o < plan->n_vectors * block; o++)
    {
        const gsize vector = o / block, first = vector / plan->chunk_vectors * plan->chunk_vectors;
        const gsize chunk = MIN(plan->chunk_vectors, plan->n_vectors - first);
        const gsize panel = (vector - first) / CONV_TILE_VECTORS * CONV_TILE_VECTORS;
        const gsize vectors = MIN(CONV_TILE_VECTORS, chunk - panel), lane = (vector - first - panel) * block + o % block;
        for (gsize c = 0; c < depth; c++)
        {
            winograd_weights(plan->pairs, weights + ((group * plan->n_vectors * block + o) * depth + c) * 9, points);
            for (gsize point = 0; point < n_points; point++)
            {
                const gsize before = ((group * plan->n_vectors + first) * n_points + point * chunk + panel) * block * depth;
                packed[before + c * vectors * block + lane] = (float)points[point];
            }
        }
    }
}

static gboolean make(IfmConv *conv, const float *weights, GError **error)
{
    const gboolean is_fused = conv->algorithm == &conv_winograd;
    const IfmConvShape *shape = &conv->shape;
    State *state = conv->state;
    state->plan = plan_of(shape, &conv->options, is_fused);
    const Plan *plan = &state->plan;
    const gsize n_buffers = is_fused ? (gsize)conv->options.n_threads : 1;
    conv->n_tasks = (gsize)shape->groups * plan->n_panels * plan->n_shares;
    conv->info.workspace_bytes = workspace(conv->algorithm, shape, &conv->options);
    conv->info.weights_bytes = plan->n_points * plan->depth * (gsize)shape->out_channels * sizeof(float);
    state->weights = conv_own(conv, conv->info.weights_bytes / sizeof(float));
    state->inputs = conv_own(conv, n_buffers * plan->n_points * input_stride(plan));
    state->products = conv_own(conv, n_buffers * plan->n_points * product_stride(plan, shape));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    for (gsize group = 0; group < (gsize)shape->groups; group++)
        pack(plan, shape, group, weights, state->weights);
    conv_set_implementation(conv, "F(%d,3) %s, %s %dx%d", (int)plan->outputs, is_fused ? "fused" : "nonfused",
                            conv->kernels->isa, conv->kernels->pixels, CONV_TILE_VECTORS * shape->block);
    return TRUE;
}

const ConvAlgorithm conv_winograd = {
    .name = "winograd",
    .meaning = "tiles transformed, multiplied and transformed back panel by panel, in a buffer of the size of a cache",
    .refuses = refuses,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_panel,
};

const ConvAlgorithm conv_winograd_nonfused = {
    .name = "winograd_nonfused",
    .meaning = "all tiles transformed, one matrix product a point, all tiles transformed back",
    .refuses = refuses,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .run = run_nonfused,
};
