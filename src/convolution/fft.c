/* Convolutions as products of spectra: of the whole image (fft), or of overlapping tiles of which each gives the outputs
 * that no wrapping touches (fft_tiling, overlap-save).
 *
 * The transforms are own ones, over vectors of a block of channels: with the blocked layout every lane does the same, no
 * value is moved between lanes, and bias, sum and activation are applied where a row leaves its inverse transform. A
 * library for one sequence (kissfft, which Debian has in f32) would need each channel gathered and scattered, and uses one
 * lane in 4 to 16.
 *
 * At one frequency the product over channels is  Y = X conj(W),  X: [tiles][channels], W: [channels][outputs]. It is done
 * by real products of the micro-kernel of the other algorithms (ConvFftForm): for many tiles by 3, for few, where loading
 * the weights takes the time, as one of twice the tiles and channels, which needs 2 numbers for a weight and not 3. All
 * spectra are half ones of real values.
 *
 * A stride s divides the input into s x s phases: a convolution of stride 1 with s * s times the channels, and a kernel of
 * 1 / s the size. So no output is computed that is not stored.
 *
 * The workspace holds the spectra of as many tiles as CHUNK_BYTES and the limit allow, but not of fewer than one. Weights
 * are the larger part by far: a layer whose spectra of weights and one tile exceed the limit is refused. */
#include "convolution-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Spectra of a chunk of tiles, where they are not fewer than MIN_CHUNK tiles: these use each weight that is loaded often
 * enough. */
#define CHUNK_BYTES ((gsize)2 << 20)
#define MIN_CHUNK 28
/* From this number of tiles on 3 products are faster than 4. */
#define MIN_TILES_OF_3 8
/* Floats of weights that are prefetched: what is multiplied in some 500 ns. */
#define AHEAD 2048

/* Plan: how a shape is divided. Sizes [0] are of rows, [1] of columns, after the division into phases. */
typedef struct
{
    gint64 n[2], step[2], tiles[2]; /* values and outputs of a tile, tiles of an image */
    gint64 phases[2], reach[2];     /* reach: values that an output reads */
    gsize n_frequencies;
    gsize depth, n_groups;                    /* depth: channels and phases of a group, in whole blocks */
    gsize n_tiles, chunk;                     /* of all images; with their spectra in the workspace */
    gboolean is_of_3;                         /* see ConvFftForm */
    gsize n_parts;                            /* of a weight and of an output */
    gsize input_tile;                         /* floats at a frequency, of a group */
    gsize input_all, weights_all, output_all; /* floats at a frequency, of a chunk */
    gsize scratch;                            /* floats of a slot */
    gsize weights_bytes, workspace_bytes;
} Plan;

typedef struct
{
    Plan plan;
    ConvFft fft;
    float *weights; /* [frequency][group][panel][2 or 3 parts][depth][vectors][block] */
    float *inputs;  /* [frequency][group][tile of the chunk][4 or 3 parts][depth] */
    float *outputs; /* [frequency][tile of the chunk][2 or 3 parts][out_channels] */
    float *scratch; /* [n_threads] */
} State;

/* --- plans ------------------------------------------------------------------------------------------------------------ */

static gint64 divide_up(gint64 a, gint64 b)
{
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/* The least number of factors 2, 3 and 5 from n on. */
static gint64 next_smooth(gint64 n)
{
    for (;; n++)
    {
        gint64 rest = n;
        for (gint64 factor = 2; factor <= 5; factor++)
            while (rest % factor == 0)
                rest /= factor;
        if (rest == 1)
            return n;
    }
}

/* How many values of a dimension of the whole image are transformed. Zeros that pad its end may be those of its begin, as
 * long as the kernel and the outputs do not wrap. */
static gint64 whole_size(const IfmConvShape *shape, const Plan *plan, int i)
{
    const gint64 used = shape->out[i] + plan->reach[i] - 1;
    const gint64 begin = shape->pads[i] / shape->stride[i];
    const gint64 end = used - divide_up(shape->in[i] + shape->pads[i], shape->stride[i]);
    return next_smooth(MAX(used - CLAMP(end, 0, begin), MAX(shape->out[i], plan->reach[i])));
}

static gsize limit_of(const IfmConvOptions *options)
{
    return options->max_workspace_bytes != 0 ? options->max_workspace_bytes : IFM_CONV_WORKSPACE_BYTES;
}

static void plan_memory(const IfmConvShape *shape, const IfmConvOptions *options, gboolean is_of_3, Plan *plan)
{
    const gsize out_channels = (gsize)shape->out_channels, n_threads = (gsize)MAX(options->n_threads, 1);
    plan->is_of_3 = is_of_3;
    plan->n_parts = is_of_3 ? 3 : 2;
    plan->input_tile = (is_of_3 ? 3 : 4) * plan->depth;
    plan->weights_all = plan->n_parts * plan->depth * out_channels;
    plan->weights_bytes = plan->n_frequencies * plan->weights_all * sizeof(float);
    /* A vector more, so that the frequencies of a tile are not all in one set of a cache. */
    const gsize tile = plan->n_groups * plan->input_tile + plan->n_parts * out_channels, pad = 2 * CONV_MAX_BLOCK;
    const gsize tile_bytes = plan->n_frequencies * tile * sizeof(float);
    const gsize fixed = plan->weights_bytes + (plan->scratch * n_threads + plan->n_frequencies * pad) * sizeof(float);
    const gsize left = limit_of(options) > fixed ? limit_of(options) - fixed : 0;
    plan->chunk = MIN(plan->n_tiles, MAX(CHUNK_BYTES * n_threads / tile_bytes, MIN_CHUNK));
    plan->chunk = MAX(MIN(plan->chunk, left / tile_bytes), 1);
    const gsize n_chunks = (plan->n_tiles + plan->chunk - 1) / plan->chunk;
    plan->chunk = (plan->n_tiles + n_chunks - 1) / n_chunks;
    plan->input_all = plan->chunk * plan->n_groups * plan->input_tile + CONV_MAX_BLOCK;
    plan->output_all = plan->chunk * plan->n_parts * out_channels + CONV_MAX_BLOCK;
    plan->workspace_bytes =
        (plan->n_frequencies * (plan->input_all + plan->output_all) + plan->scratch * n_threads) * sizeof(float);
}

static gboolean is_within(const Plan *plan, const IfmConvOptions *options)
{
    return plan->workspace_bytes + plan->weights_bytes <= limit_of(options);
}

/* Plans tiles of a size, or of the whole image where it is 0. */
static void plan_size(const IfmConvShape *shape, const IfmConvOptions *options, gint64 tile, Plan *plan)
{
    const gsize block = (gsize)shape->block;
    *plan = (Plan){ .n_groups = (gsize)shape->groups };
    for (int i = 0; i < 2; i++)
    {
        const gint64 reach = (shape->kernel[i] - 1) * shape->dilation[i] + 1;
        plan->phases[i] = MIN(shape->stride[i], reach);
        plan->reach[i] = (reach - 1) / shape->stride[i] + 1;
        /* One value needs no transform: then each row, or column, is a tile. */
        plan->n[i] = plan->reach[i] == 1 ? 1 : tile != 0 ? tile : whole_size(shape, plan, i);
        plan->step[i] = plan->reach[i] == 1 ? 1 : tile != 0 ? tile - plan->reach[i] + 1 : shape->out[i];
        plan->tiles[i] = plan->step[i] > 0 ? divide_up(shape->out[i], plan->step[i]) : 0;
    }
    const ConvFft fft = { { { .n = (int)plan->n[0] }, { .n = (int)plan->n[1] } } };
    plan->n_frequencies = conv_fft_column(&fft, (gsize)plan->n[1] / 2 + 1);
    plan->depth = (gsize)(shape->channels / shape->groups * plan->phases[0] * plan->phases[1]);
    plan->depth = (plan->depth + block - 1) / block * block;
    plan->n_tiles = (gsize)(shape->batch * plan->tiles[0] * plan->tiles[1]);
    plan->scratch = 2 * block * ((gsize)(plan->n[0] * (plan->n[1] / 2 + 1)) + 3 * (gsize)MAX(plan->n[0], plan->n[1]));
    if (shape->input_block == 1)
        plan->scratch += (gsize)(plan->n[0] * plan->n[1]) * block;
    if (plan->n_tiles == 0)
        return;
    plan_memory(shape, options, TRUE, plan);
    if (plan->chunk < MIN_TILES_OF_3 || !is_within(plan, options))
        plan_memory(shape, options, FALSE, plan);
}

/* Estimated time in multiplications: of the products, the transforms, and loading the weights. */
static double cost(const IfmConvShape *shape, const IfmConvOptions *options, const Plan *plan)
{
    if (!is_within(plan, options))
        return INFINITY;
    const double tiles = (double)plan->n_tiles, values = (double)(plan->n[0] * plan->n[1]);
    const double channels = (double)(plan->depth * plan->n_groups) + (double)shape->out_channels;
    const double weights = (double)(plan->n_frequencies * plan->weights_all);
    return (plan->is_of_3 ? 1 : 2) * tiles * weights + 2 * tiles * channels * values * log2(values) + 2 * weights;
}

/* Plans for an algorithm: the whole image, or the cheaper tiles. Returns: FALSE where there are none */
static gboolean plan_layer(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options,
                           Plan *plan)
{
    static const gint64 sizes[] = { 16, 8 };
    gboolean is_planned = algorithm == &conv_fft;
    if (is_planned)
        plan_size(shape, options, 0, plan);
    for (gsize i = 0; algorithm != &conv_fft && i < G_N_ELEMENTS(sizes); i++)
    {
        Plan candidate;
        plan_size(shape, options, sizes[i], &candidate);
        if (candidate.n_tiles == 0 ||
            ((candidate.n[0] == 1 || candidate.tiles[0] == 1) && (candidate.n[1] == 1 || candidate.tiles[1] == 1)) ||
            (is_planned && cost(shape, options, &candidate) > cost(shape, options, plan)))
            continue;
        *plan = candidate;
        is_planned = TRUE;
    }
    return is_planned;
}

static const char *refuses(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    if (shape->kernel[0] == 1 && shape->kernel[1] == 1)
        return "1x1";
    Plan plan;
    const IfmConvOptions defaults = { 0 };
    plan_size(shape, &defaults, 0, &plan);
    const char *why = plan.reach[0] == 1 && plan.reach[1] == 1 ? "stride not below the kernel"
                                                               : conv_refuses_groups(algorithm, shape, options);
    if (why != NULL || plan_layer(algorithm, shape, &defaults, &plan))
        return why;
    plan_size(shape, &defaults, 16, &plan);
    return plan.n_tiles == 0 ? "kernel larger than a tile" : "one tile holds the image";
}

static gsize workspace(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    Plan plan;
    return plan_layer(algorithm, shape, options, &plan) ? plan.workspace_bytes + plan.weights_bytes : 0;
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

/* Tile: where one tile is. */
typedef struct
{
    gint64 image, y, x; /* first output */
} Tile;

static Tile tile_at(const Plan *plan, gsize index)
{
    const gint64 i = (gint64)index, n_columns = plan->tiles[1], image = plan->tiles[0] * n_columns;
    return (Tile){ i / image, i % image / n_columns * plan->step[0], i % n_columns * plan->step[1] };
}

static ConvFftForm form_of_inputs(const Plan *plan)
{
    return plan->is_of_3 ? CONV_FFT_INPUTS_OF_3 : CONV_FFT_INPUTS_OF_4;
}

/* The values of a phase of a plane that a tile reads. @value_floats: from one value of a row to the next */
static ConvWindow window_at(const IfmConvShape *shape, const Plan *plan, const Tile *tile, gint64 phase, const float *plane,
                            gint64 value_floats)
{
    const gint64 phases[] = { phase / plan->phases[1], phase % plan->phases[1] }, first[] = { tile->y, tile->x };
    ConvWindow window = { .base = plane,
                          .row_stride = shape->stride[0] * shape->in[1] * value_floats,
                          .pixel_stride = shape->stride[1] * value_floats };
    gint64 origin[2];
    for (int i = 0; i < 2; i++)
    {
        origin[i] = first[i] * shape->stride[i] + phases[i] - shape->pads[i];
        window.first[i] = CLAMP(divide_up(-origin[i], shape->stride[i]), 0, plan->n[i]);
        window.end[i] = CLAMP(divide_up(shape->in[i] - origin[i], shape->stride[i]), window.first[i], plan->n[i]);
    }
    window.offset = (origin[0] * shape->in[1] + origin[1]) * value_floats;
    return window;
}

/* The channels and phases of a block in NCHW, gathered into vectors. @block: of depth */
static ConvWindow gather(const IfmConvShape *shape, const Plan *plan, const Tile *tile, const float *image, gsize block,
                         float *values)
{
    const gint64 lanes = shape->block, n_columns = plan->n[1], n_values = plan->n[0] * n_columns;
    memset(values, 0, (gsize)(n_values * lanes) * sizeof(float));
    for (gint64 lane = 0; lane < lanes; lane++)
    {
        const gint64 channel = (gint64)block * lanes + lane, phase = channel / shape->channels;
        if (phase >= plan->phases[0] * plan->phases[1])
            break;
        const float *plane = image + channel % shape->channels * shape->in[0] * shape->in[1];
        const ConvWindow from = window_at(shape, plan, tile, phase, plane, 1);
        for (gint64 y = from.first[0]; y < from.end[0]; y++)
            for (gint64 x = from.first[1]; x < from.end[1]; x++)
                values[(y * n_columns + x) * lanes + lane] =
                    plane[from.offset + y * from.row_stride + x * from.pixel_stride];
    }
    return (ConvWindow){
        .base = values, .row_stride = n_columns * lanes, .pixel_stride = lanes, .end = { plan->n[0], n_columns }
    };
}

/* One block of channels of one of the chunk's tiles. */
static void transform_input(const ConvJob *job, gsize slot, gsize task)
{
    const IfmConv *conv = job->conv;
    const IfmConvShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const gsize block = (gsize)shape->block, n_blocks = plan->depth / block;
    const gsize group_blocks = (gsize)shape->channels / plan->n_groups / block,
                plane = (gsize)(shape->in[0] * shape->in[1]);
    const gsize b = task % n_blocks, group = task / n_blocks % plan->n_groups, i = task / n_blocks / plan->n_groups;
    float *scratch = state->scratch + slot * plan->scratch;
    const Tile tile = tile_at(plan, job->first + i);
    const float *image = job->run->input + (gsize)(tile.image * shape->channels) * plane;
    const ConvWindow window =
        shape->input_block == 1
            ? gather(shape, plan, &tile, image, b, scratch + plan->scratch - (gsize)(plan->n[0] * plan->n[1]) * block)
            : window_at(shape, plan, &tile, (gint64)(b / group_blocks),
                        image + (group * group_blocks + b % group_blocks) * block * plane, shape->block);
    conv->kernels->fft_forward(&state->fft, &window, scratch,
                               state->inputs + (group * plan->chunk + i) * plan->input_tile + b * block, plan->input_all,
                               plan->depth, form_of_inputs(plan));
}

/* The products of one panel of weights at frequency f. @v: the panel's first vector of output channels */
static void multiply_panel(const IfmConv *conv, gsize n_tiles, gsize f, gsize group, gsize v, gsize vectors)
{
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const gsize block = (gsize)conv->shape.block, out_channels = (gsize)conv->shape.out_channels;
    const gsize pixels = (gsize)conv->kernels->pixels, n_products = plan->is_of_3 ? 3 : 1;
    /* As one product: a tile is two rows of two parts. */
    const gsize depth = plan->is_of_3 ? plan->depth : 2 * plan->depth, n_rows = plan->is_of_3 ? n_tiles : 2 * n_tiles;
    const gsize row_stride = plan->is_of_3 ? plan->input_tile : depth, n_splits = (n_rows + pixels - 1) / pixels;
    ConvStore store = { NULL, FALSE, n_products * out_channels, block, NULL, -INFINITY, INFINITY };
    const float *rows = state->inputs + f * plan->input_all + group * plan->chunk * plan->input_tile;
    const float *weights = state->weights + f * plan->weights_all + v * block * plan->n_parts * plan->depth;
    float *out = state->outputs + f * plan->output_all + v * block;
    for (gsize i = 0; i < n_products; i++, weights += depth * vectors * block, rows += depth, out += out_channels)
        for (gsize split = 0; split < n_splits; split++)
        {
            const gsize first = conv_split(n_rows, n_splits, split), end = conv_split(n_rows, n_splits, split + 1);
            /* The first rows of a panel read its weights from afar. */
            store.next = split == 0 ? weights + AHEAD : NULL;
            conv->kernels->product((int)(end - first), (int)vectors, depth, weights, rows + first * row_stride, row_stride,
                                   out + first * store.pixel_stride, &store);
        }
}

/* The products of frequency f. */
static void multiply(const ConvJob *job, gsize slot, gsize f)
{
    const Plan *plan = &((const State *)job->conv->state)->plan;
    const gsize n_vectors = (gsize)(job->conv->shape.out_channels / job->conv->shape.block) / plan->n_groups;
    for (gsize group = 0; group < plan->n_groups; group++)
        for (gsize v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
            multiply_panel(job->conv, job->n, f, group, group * n_vectors + v, MIN(CONV_TILE_VECTORS, n_vectors - v));
}

/* One block of output channels of one of the chunk's tiles. */
static void transform_output(const ConvJob *job, gsize slot, gsize task)
{
    const IfmConv *conv = job->conv;
    const IfmConvShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const gsize block = (gsize)shape->block, out = (gsize)shape->out_channels, row = (gsize)shape->out[1] * block;
    const gsize i = task / (out / block), channel = task % (out / block) * block;
    const Tile tile = tile_at(plan, job->first + i);
    const gint64 size[] = { MIN(plan->step[0], shape->out[0] - tile.y), MIN(plan->step[1], shape->out[1] - tile.x) };
    const gsize at =
        ((gsize)tile.image * out + channel) * conv_n_pixels(shape) + (gsize)tile.y * row + (gsize)tile.x * block;
    const ConvStore store = { .start = conv->bias + channel,
                              .pixel_stride = block,
                              .sum = job->run->sum != NULL ? job->run->sum + at : NULL,
                              .low = conv->low,
                              .high = conv->high };
    conv->kernels->fft_inverse(&state->fft, state->outputs + i * plan->n_parts * out + channel, plan->output_all, out,
                               form_of_inputs(plan), state->scratch + slot * plan->scratch, size, job->run->output + at,
                               row, &store);
    conv_finish(conv, job->run->output + at, (gsize)size[1], (gsize)size[0], row);
}

static void run(IfmConv *conv, const ConvRun *run)
{
    const Plan *plan = &((const State *)conv->state)->plan;
    const gsize block = (gsize)conv->shape.block;
    ConvJob job = { .conv = conv, .run = run };
    for (; job.first < plan->n_tiles; job.first += job.n)
    {
        job.n = MIN(plan->chunk, plan->n_tiles - job.first);
        conv_run_tasks(&job, job.n * plan->n_groups * (plan->depth / block), transform_input);
        conv_run_tasks(&job, plan->n_frequencies, multiply);
        conv_run_tasks(&job, job.n * (gsize)conv->shape.out_channels / block, transform_output);
    }
}

/* --- making ----------------------------------------------------------------------------------------------------------- */

static void make_line(ConvFftLine *line, gint64 n)
{
    *line = (ConvFftLine){ .n = (int)n, .twiddles = g_new(float, 4 * (gsize)n) };
    float *twiddles = line->twiddles;
    gint64 rest = n;
    do
    {
        const int radix = rest % 4 == 0 ? 4 : rest % 2 == 0 ? 2 : rest % 3 == 0 ? 3 : rest % 5 == 0 ? 5 : 1;
        line->factors[line->n_factors++] = radix;
        for (gint64 p = 0; p < rest / radix; p++)
            for (gint64 r = 1; r < radix; r++)
            {
                *twiddles++ = (float)cos(-2 * G_PI * (double)(p * r) / (double)rest);
                *twiddles++ = (float)sin(-2 * G_PI * (double)(p * r) / (double)rest);
            }
        rest /= radix;
    } while (rest > 1);
}

/* The taps of a phase of one input channel, for a block of output channels, scaled as the transforms need. */
static void fill_taps(const IfmConvShape *shape, const Plan *plan, const float *weights, gint64 channel, gint64 phase,
                      float *taps)
{
    const gint64 block = shape->block, out_stride = (gint64)conv_depth(shape);
    const float scale = (float)(0.25 / (double)(plan->n[0] * plan->n[1]));
    memset(taps, 0, (gsize)(plan->reach[0] * plan->reach[1] * block) * sizeof(float));
    for (gint64 i = 0; i < shape->kernel[0]; i++)
        for (gint64 j = 0; j < shape->kernel[1]; j++)
        {
            const gint64 y = i * shape->dilation[0], x = j * shape->dilation[1];
            if (y % shape->stride[0] != phase / plan->phases[1] || x % shape->stride[1] != phase % plan->phases[1])
                continue;
            float *to = taps + (y / shape->stride[0] * plan->reach[1] + x / shape->stride[1]) * block;
            for (gint64 o = 0; o < block; o++)
                to[o] = scale * weights[o * out_stride + (channel * shape->kernel[0] + i) * shape->kernel[1] + j];
        }
}

/* Transforms the weights with the vectors' lanes being output channels, straight into the panels of the product. */
static void transform_weights(const IfmConv *conv, const float *weights, float *taps)
{
    const IfmConvShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const gint64 block = shape->block, channels = shape->channels / shape->groups;
    const gint64 group_vectors = shape->out_channels / shape->groups / block, n_phases = plan->phases[0] * plan->phases[1];
    const ConvWindow window = {
        .base = taps, .row_stride = plan->reach[1] * block, .pixel_stride = block, .end = { plan->reach[0], plan->reach[1] }
    };
    for (gint64 v = 0; v < shape->out_channels / block; v++)
    {
        const gint64 in_group = v % group_vectors, panel = in_group / CONV_TILE_VECTORS * CONV_TILE_VECTORS;
        const gint64 vectors = MIN(CONV_TILE_VECTORS, group_vectors - panel);
        float *to = state->weights + (gsize)((v - in_group + panel) * block) * plan->n_parts * plan->depth +
                    (in_group - panel) * block;
        for (gint64 d = 0; d < channels * n_phases; d++)
        {
            /* With blocks of channels a phase is a number of blocks; in NCHW, of channels: that is the same order. */
            fill_taps(shape, plan, weights + (gsize)(v * block) * conv_depth(shape), d % channels, d / channels, taps);
            conv->kernels->fft_forward(&state->fft, &window, state->scratch, to + d * vectors * block, plan->weights_all,
                                       plan->depth * (gsize)(vectors * block),
                                       plan->is_of_3 ? CONV_FFT_WEIGHTS_OF_3 : CONV_FFT_WEIGHTS_OF_4);
        }
    }
}

static gboolean make(IfmConv *conv, const float *weights, GError **error)
{
    State *state = conv->state;
    const Plan *plan = &state->plan;
    plan_layer(conv->algorithm, &conv->shape, &conv->options, &state->plan);
    conv_set_implementation(conv,
                            "%s %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT ", %d products of %" G_GSIZE_FORMAT " spectra, %s",
                            conv->algorithm == &conv_fft ? "rfft" : "rfft tile", plan->n[0], plan->n[1],
                            plan->is_of_3 ? 3 : 4, plan->chunk, conv->kernels->isa);
    for (int i = 0; i < 2; i++)
        make_line(&state->fft.line[i], plan->n[i]);
    conv->info.workspace_bytes = plan->workspace_bytes;
    conv->info.weights_bytes = plan->weights_bytes;
    state->weights = conv_own(conv, plan->weights_bytes / sizeof(float));
    state->inputs = conv_own(conv, plan->n_frequencies * plan->input_all);
    state->outputs = conv_own(conv, plan->n_frequencies * plan->output_all);
    state->scratch = conv_own(conv, plan->scratch * (gsize)conv->options.n_threads);
    g_autofree float *taps = g_new(float, (gsize)(plan->reach[0] * plan->reach[1] * conv->shape.block));
    if (conv->is_short)
        return conv_no_memory(conv, error);
    transform_weights(conv, weights, taps);
    return TRUE;
}

static void free_state(IfmConv *conv)
{
    State *state = conv->state;
    for (int i = 0; i < 2; i++)
        g_free(state->fft.line[i].twiddles);
}

const ConvAlgorithm conv_fft = {
    .name = "fft",
    .meaning = "products of the spectra of whole images and kernels",
    .refuses = refuses,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .run = run,
    .free = free_state,
};

const ConvAlgorithm conv_fft_tiling = {
    .name = "fft_tiling",
    .meaning = "products of the spectra of overlapping tiles of 8 or 16 and of kernels",
    .refuses = refuses,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .run = run,
    .free = free_state,
};
