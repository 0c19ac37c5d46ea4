/* Winograd's algorithm for 3x3 kernels. Fused: the inputs of a panel of tiles are transformed into a cache; then, for a few
 * output channels at a time, all points are multiplied and the outputs transformed back at once. Nonfused: transform,
 * batched product and inverse are three passes over the whole layer. */
#include "winograd-private.h"

#include <math.h>
#include <stdlib.h>

/* Transformed inputs of a panel, and rows of one point of the batched product: with the weights that they meet, they stay
 * in the second-level cache. */
#define PANEL_BYTES ((size_t)256 << 10)
/* Weights of this size come from afar for each panel: then a panel has this many tiles at least. */
#define FAR_WEIGHTS ((size_t)8 << 20)
#define FAR_TILES 56

/* Plan: sizes of one layer. Tiles count over all images of the batch. */
typedef struct
{
    int pairs;
    bool is_fused;
    int64_t outputs, tiles[2]; /* of a tile; tiles of an image */
    size_t n_points, n_tiles, n_vectors, depth, row;
    size_t panel_tiles, n_panels;   /* of inputs that are transformed together; panel_tiles: at most */
    size_t chunk_vectors, n_shares; /* output channels that are transformed together; shares of slots */
} Plan;

typedef struct
{
    Plan plan;
    float *weights, *inputs, *products; /* inputs, products: for each slot where fused */
} State;

static size_t ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* The rule for F(m, 3): least multiplications, each number of the transforms and each weight counted as some more. So
 * large images take large tiles; small ones, which read each weight for few tiles, small tiles. */
#define TRANSFORM_COST 16
#define WEIGHT_COST 6
static double cost_of(const IfmBlockedShape *shape, int64_t outputs)
{
    const double channels = (double)shape->channels / (double)shape->groups;
    const double out = (double)shape->out_channels / (double)shape->groups;
    const size_t rows = ceil_div((size_t)shape->out[0], (size_t)outputs);
    const size_t columns = ceil_div((size_t)shape->out[1], (size_t)outputs);
    const double n_tiles = (double)shape->batch * (double)(rows * columns);
    const double n_points = (double)((outputs + 2) * (outputs + 2));
    return n_points * (n_tiles * (1 + TRANSFORM_COST / channels + TRANSFORM_COST / out) + WEIGHT_COST);
}

static int outputs_of(const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    int best = options->winograd_outputs != 0 ? options->winograd_outputs : 2;
    for (int outputs = 4; options->winograd_outputs == 0 && outputs <= 2 * WINOGRAD_MAX_PAIRS; outputs += 2)
        best = cost_of(shape, outputs) < cost_of(shape, best) ? outputs : best;
    return best;
}

/* Panels that fit into the cache. Where there are too few tiles for the slots, slots share output channels. */
static void plan_fused(Plan *plan, const IfmBlockedShape *shape, size_t n_slots)
{
    const size_t weights_bytes = plan->n_points * plan->depth * plan->n_vectors * (size_t)shape->block * sizeof(float);
    const size_t least = weights_bytes > FAR_WEIGHTS ? FAR_TILES : CONV_MAX_PIXELS;
    const size_t fitting = PANEL_BYTES / (plan->n_points * plan->row * sizeof(float));
    const size_t most = MAX(fitting / CONV_MAX_PIXELS * CONV_MAX_PIXELS, least);
    plan->n_panels = ceil_div(plan->n_tiles, most);
    plan->n_shares =
        plan->n_panels * (size_t)shape->groups >= n_slots ? 1 : MIN(n_slots, ceil_div(plan->n_vectors, CONV_TILE_VECTORS));
    if (plan->n_shares == 1 && shape->groups == 1)
        plan->n_panels = ceil_div(plan->n_panels, n_slots) * n_slots;
    plan->n_panels = MAX(MIN(plan->n_panels, plan->n_tiles), 1);
    plan->panel_tiles = ceil_div(plan->n_tiles, plan->n_panels);
    plan->chunk_vectors = MIN(CONV_TILE_VECTORS, plan->n_vectors);
}

static Plan plan_of(const IfmBlockedShape *shape, const IfmBlockedOptions *options, bool is_fused)
{
    Plan plan = { .outputs = outputs_of(shape, options), .is_fused = is_fused };
    plan.pairs = (int)plan.outputs / 2;
    plan.n_points = (size_t)((plan.outputs + 2) * (plan.outputs + 2));
    for (int i = 0; i < 2; i++)
        plan.tiles[i] = (shape->out[i] + plan.outputs - 1) / plan.outputs;
    plan.n_tiles = (size_t)(shape->batch * plan.tiles[0] * plan.tiles[1]);
    plan.n_vectors = (size_t)(shape->out_channels / shape->groups / shape->block);
    plan.depth = (size_t)(shape->channels / shape->groups);
    plan.row = ceil_div(plan.depth, (size_t)shape->block) * (size_t)shape->block;
    plan.panel_tiles = plan.n_tiles;
    plan.n_panels = plan.n_shares = 1;
    plan.chunk_vectors = plan.n_vectors;
    if (is_fused)
        plan_fused(&plan, shape, (size_t)MAX(options->n_threads, 1));
    return plan;
}

/* Floats from one point to the next: not a multiple of a page, which would be one place in a cache for all of them. */
static size_t input_stride(const Plan *plan)
{
    return plan->panel_tiles * plan->row + CONV_MAX_BLOCK;
}

static size_t product_stride(const Plan *plan, const IfmBlockedShape *shape)
{
    return plan->panel_tiles * plan->chunk_vectors * (size_t)shape->block + CONV_MAX_BLOCK;
}

static size_t workspace(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    const Plan plan = plan_of(shape, options, algorithm == &conv_winograd);
    const size_t n_buffers = plan.is_fused ? (size_t)MAX(options->n_threads, 1) : 1;
    return plan.n_points * (input_stride(&plan) + product_stride(&plan, shape)) * n_buffers * sizeof(float);
}

static bool supports(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                     IfmBlockedError *why)
{
    if (shape->kernel[0] != 3 || shape->kernel[1] != 3)
        return conv_refuse(why, "%dx%d", (int)shape->kernel[0], (int)shape->kernel[1]);
    if (shape->stride[0] != 1 || shape->stride[1] != 1)
        return conv_refuse(why, "stride %d", (int)MAX(shape->stride[0], shape->stride[1]));
    if (shape->dilation[0] != 1 || shape->dilation[1] != 1)
        return conv_refuse(why, "dilation %d", (int)MAX(shape->dilation[0], shape->dilation[1]));
    return conv_supports_groups(algorithm, shape, options, why);
}

/* --- the three steps -------------------------------------------------------------------------------------------------- */

/* Place: of one tile. */
typedef struct
{
    int64_t image, y, x; /* of its first output */
} Place;

static Place place_of(const Plan *plan, size_t tile)
{
    const int64_t row = (int64_t)tile / plan->tiles[1];
    return (Place){ row / plan->tiles[0], row % plan->tiles[0] * plan->outputs,
                    (int64_t)tile % plan->tiles[1] * plan->outputs };
}

/* Transforms channels of one tile. @to: of the tile's first channel of the group */
static void transform_input(const ConvJob *job, int64_t group, size_t tile, size_t first_channel, size_t n_channels,
                            float *to)
{
    const IfmBlockedConv *conv = job->conv;
    const IfmBlockedShape *shape = &conv->shape;
    const Plan *plan = &((const State *)conv->state)->plan;
    const Place place = place_of(plan, tile);
    const size_t channel = (size_t)(place.image * shape->channels) + (size_t)group * plan->depth + first_channel;
    conv->kernels->winograd_input(plan->pairs, shape, job->run->input + channel * (size_t)(shape->in[0] * shape->in[1]),
                                  (int64_t)n_channels, place.y - shape->pads[0], place.x - shape->pads[1],
                                  to + first_channel, input_stride(plan));
}

/* Multiplies rows of tiles at one point by the weights of a chunk of output channels. */
static void multiply(const IfmBlockedConv *conv, int64_t group, size_t point, size_t first_vector, size_t n_vectors,
                     size_t n_tiles, const float *inputs, float *products)
{
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const size_t block = (size_t)conv->shape.block, pixels = (size_t)conv->kernels->pixels;
    const size_t n_runs = ceil_div(n_tiles, pixels), chunk = MIN(plan->chunk_vectors, plan->n_vectors - first_vector);
    const size_t before = ((size_t)group * plan->n_vectors + first_vector) * plan->n_points + point * chunk;
    const float *weights = state->weights + before * block * plan->depth;
    const size_t row = plan->chunk_vectors * block;
    const ConvStore store = { NULL, false, row, block, NULL, -INFINITY, INFINITY };
    for (size_t v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
    {
        const size_t vectors = MIN(CONV_TILE_VECTORS, n_vectors - v);
        const float *panel = weights + v * block * plan->depth;
        for (size_t i = 0; i < n_runs; i++)
        {
            const size_t first = conv_split(n_tiles, n_runs, i), end = conv_split(n_tiles, n_runs, i + 1);
            conv->kernels->product((int)(end - first), (int)vectors, plan->depth, panel, inputs + first * plan->row,
                                   plan->row, products + first * row + v * block, &store);
        }
    }
}

/* Makes the outputs of one tile, of vectors of channels. @from: products of the tile's first of these vectors */
static void transform_output(const ConvJob *job, int64_t group, size_t tile, size_t first_vector, size_t n_vectors,
                             const float *from)
{
    const IfmBlockedConv *conv = job->conv;
    const IfmBlockedShape *shape = &conv->shape;
    const Plan *plan = &((const State *)conv->state)->plan;
    const Place place = place_of(plan, tile);
    const size_t block = (size_t)shape->block, block_stride = conv_n_pixels(shape) * block;
    const size_t vector = (size_t)group * plan->n_vectors + first_vector, row = (size_t)shape->out[1] * block;
    const int64_t size[2] = { MIN(plan->outputs, shape->out[0] - place.y), MIN(plan->outputs, shape->out[1] - place.x) };
    const size_t at = (size_t)(place.image * shape->out_channels) * conv_n_pixels(shape) + vector * block_stride +
                      (size_t)(place.y * shape->out[1] + place.x) * block;
    const float *sum = job->run->sum != NULL ? job->run->sum + at : NULL;
    const ConvStore store = { conv->bias + vector * block, false, block, block_stride, sum, conv->low, conv->high };
    conv->kernels->winograd_output(plan->pairs, from, product_stride(plan, shape), (int)n_vectors, size,
                                   job->run->output + at, row, &store);
    for (int64_t y = 0; y < size[0]; y++)
        conv_finish(conv, job->run->output + at + (size_t)y * row, (size_t)size[1], n_vectors, block_stride);
}

/* Fused: a panel of tiles, for a share of the output channels. */
static void run_panel(const ConvJob *job, size_t slot, size_t task)
{
    const IfmBlockedConv *conv = job->conv;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    float *inputs = state->inputs + slot * plan->n_points * input_stride(plan);
    float *products = state->products + slot * plan->n_points * product_stride(plan, &conv->shape);
    const size_t share = task % plan->n_shares, panel = task / plan->n_shares % plan->n_panels;
    const int64_t group = (int64_t)(task / plan->n_shares / plan->n_panels);
    const size_t block = (size_t)conv->shape.block, n_chunks = ceil_div(plan->n_vectors, plan->chunk_vectors);
    const size_t first = conv_split(plan->n_tiles, plan->n_panels, panel);
    const size_t n_tiles = conv_split(plan->n_tiles, plan->n_panels, panel + 1) - first;
    for (size_t t = 0; t < n_tiles; t++)
        transform_input(job, group, first + t, 0, plan->depth, inputs + t * plan->row);
    for (size_t chunk = conv_split(n_chunks, plan->n_shares, share);
         chunk < conv_split(n_chunks, plan->n_shares, share + 1); chunk++)
    {
        const size_t vector = chunk * plan->chunk_vectors, n_vectors = MIN(plan->chunk_vectors, plan->n_vectors - vector);
        for (size_t point = 0; point < plan->n_points; point++)
            multiply(conv, group, point, vector, n_vectors, n_tiles, inputs + point * input_stride(plan),
                     products + point * product_stride(plan, &conv->shape));
        for (size_t t = 0; t < n_tiles; t++)
            transform_output(job, group, first + t, vector, n_vectors, products + t * plan->chunk_vectors * block);
    }
}

/* Nonfused: a block of input channels of one tile. */
static void pass_input(const ConvJob *job, size_t slot, size_t task)
{
    const State *state = job->conv->state;
    const Plan *plan = &state->plan;
    const size_t block = (size_t)job->conv->shape.block, n_blocks = plan->row / block;
    const size_t tile = task / n_blocks, channel = task % n_blocks * block;
    transform_input(job, (int64_t)job->first, tile, channel, MIN(block, plan->depth - channel),
                    state->inputs + tile * plan->row);
}

/* A part of the products of one point. */
static void pass_products(const ConvJob *job, size_t slot, size_t task)
{
    const IfmBlockedConv *conv = job->conv;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const size_t point = task / job->n, first = conv_split(plan->n_tiles, job->n, task % job->n);
    const size_t n_tiles = conv_split(plan->n_tiles, job->n, task % job->n + 1) - first;
    multiply(conv, (int64_t)job->first, point, 0, plan->n_vectors, n_tiles,
             state->inputs + point * input_stride(plan) + first * plan->row,
             state->products + point * product_stride(plan, &conv->shape) +
                 first * plan->n_vectors * (size_t)conv->shape.block);
}

/* A block of output channels of one tile. */
static void pass_output(const ConvJob *job, size_t slot, size_t task)
{
    const State *state = job->conv->state;
    transform_output(job, (int64_t)job->first, task / state->plan.n_vectors, task % state->plan.n_vectors, 1,
                     state->products + task * (size_t)job->conv->shape.block);
}

/* Three passes for each group; the second divides the tiles of a point into parts. */
static void run_nonfused(IfmBlockedConv *conv, const ConvRun *run)
{
    const Plan *plan = &((const State *)conv->state)->plan;
    const size_t rows = MAX(PANEL_BYTES / (plan->row * sizeof(float)) / CONV_MAX_PIXELS, 1) * CONV_MAX_PIXELS;
    ConvJob job = { .conv = conv, .run = run, .n = ceil_div(plan->n_tiles, rows) };
    for (; job.first < (size_t)conv->shape.groups; job.first++)
    {
        conv_run_tasks(&job, plan->n_tiles * (plan->row / (size_t)conv->shape.block), pass_input);
        conv_run_tasks(&job, plan->n_points * job.n, pass_products);
        conv_run_tasks(&job, plan->n_tiles * plan->n_vectors, pass_output);
    }
}

/* --- a layer ---------------------------------------------------------------------------------------------------------- */

/* Weights of a group in the order in which they are read: [chunk][point][panel][channel][vectors][block]. */
static void pack(const Plan *plan, const IfmBlockedShape *shape, size_t group, const float *weights, float *packed)
{
    const size_t block = (size_t)shape->block, n_points = plan->n_points, depth = plan->depth;
    double points[WINOGRAD_MAX_SIDE * WINOGRAD_MAX_SIDE];
    for (size_t o = 0; o < plan->n_vectors * block; o++)
    {
        const size_t vector = o / block, first = vector / plan->chunk_vectors * plan->chunk_vectors;
        const size_t chunk = MIN(plan->chunk_vectors, plan->n_vectors - first);
        const size_t panel = (vector - first) / CONV_TILE_VECTORS * CONV_TILE_VECTORS;
        const size_t vectors = MIN(CONV_TILE_VECTORS, chunk - panel), lane = (vector - first - panel) * block + o % block;
        for (size_t c = 0; c < depth; c++)
        {
            winograd_weights(plan->pairs, weights + ((group * plan->n_vectors * block + o) * depth + c) * 9, points);
            for (size_t point = 0; point < n_points; point++)
            {
                const size_t before =
                    ((group * plan->n_vectors + first) * n_points + point * chunk + panel) * block * depth;
                packed[before + c * vectors * block + lane] = (float)points[point];
            }
        }
    }
}

static bool make(IfmBlockedConv *conv, const float *weights, IfmBlockedError *error)
{
    const bool is_fused = conv->algorithm == &conv_winograd;
    const IfmBlockedShape *shape = &conv->shape;
    State *state = conv->state;
    state->plan = plan_of(shape, &conv->options, is_fused);
    const Plan *plan = &state->plan;
    const size_t n_buffers = is_fused ? (size_t)conv->options.n_threads : 1;
    conv->n_tasks = (size_t)shape->groups * plan->n_panels * plan->n_shares;
    conv->info.workspace_bytes = workspace(conv->algorithm, shape, &conv->options);
    state->weights =
        conv_own_weights(conv, plan->n_points * plan->depth * (size_t)shape->out_channels, (uint64_t)plan->outputs);
    state->inputs = conv_own(conv, n_buffers * plan->n_points * input_stride(plan));
    state->products = conv_own(conv, n_buffers * plan->n_points * product_stride(plan, shape));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    for (size_t group = 0; group < (size_t)shape->groups && !conv->has_weights; group++)
        pack(plan, shape, group, weights, state->weights);
    conv_set_implementation(conv, "F(%d,3) %s, %s %dx%d", (int)plan->outputs, is_fused ? "fused" : "nonfused",
                            conv->kernels->isa, conv->kernels->pixels, CONV_TILE_VECTORS * shape->block);
    return true;
}

const ConvAlgorithm conv_winograd = {
    .meaning = "tiles transformed, multiplied and transformed back panel by panel, in a buffer of the size of a cache",
    .supports = supports,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_panel,
};

const ConvAlgorithm conv_winograd_nonfused = {
    .meaning = "all tiles transformed, one matrix product a point, all tiles transformed back",
    .supports = supports,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .run = run_nonfused,
};
