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
#include "blocked-private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Spectra of a chunk of tiles, where they are not fewer than MIN_CHUNK tiles: these use each weight that is loaded often
 * enough. */
#define CHUNK_BYTES ((size_t)2 << 20)
#define MIN_CHUNK 28
/* From this number of tiles on 3 products are faster than 4. */
#define MIN_TILES_OF_3 8

/* Plan: how a shape is divided. Sizes [0] are of rows, [1] of columns, after the division into phases. */
typedef struct
{
    int64_t n[2], step[2], tiles[2]; /* values and outputs of a tile, tiles of an image */
    int64_t phases[2], reach[2];     /* reach: values that an output reads */
    size_t n_frequencies;
    size_t depth, n_groups;                    /* depth: channels and phases of a group, in whole blocks */
    size_t n_tiles, chunk;                     /* of all images; with their spectra in the workspace */
    bool is_of_3;                              /* see ConvFftForm */
    size_t n_parts;                            /* of a weight and of an output */
    size_t input_tile;                         /* floats at a frequency, of a group */
    size_t input_all, weights_all, output_all; /* floats at a frequency, of a chunk */
    size_t scratch;                            /* floats of a slot */
    size_t weights_bytes, workspace_bytes;
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

static int64_t divide_up(int64_t a, int64_t b)
{
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/* The least number of factors 2, 3 and 5 from n on. */
static int64_t next_smooth(int64_t n)
{
    for (;; n++)
    {
        int64_t rest = n;
        for (int64_t factor = 2; factor <= 5; factor++)
            while (rest % factor == 0)
                rest /= factor;
        if (rest == 1)
            return n;
    }
}

/* How many values of a dimension of the whole image are transformed. Zeros that pad its end may be those of its begin, as
 * long as the kernel and the outputs do not wrap. */
static int64_t whole_size(const IfmBlockedShape *shape, const Plan *plan, int i)
{
    const int64_t used = shape->out[i] + plan->reach[i] - 1;
    const int64_t begin = shape->pads[i] / shape->stride[i];
    const int64_t end = used - divide_up(shape->in[i] + shape->pads[i], shape->stride[i]);
    return next_smooth(MAX(used - CLAMP(end, 0, begin), MAX(shape->out[i], plan->reach[i])));
}

static size_t limit_of(const IfmBlockedOptions *options)
{
    return options->max_workspace_bytes != 0 ? options->max_workspace_bytes : IFM_BLOCKED_WORKSPACE_BYTES;
}

static void plan_memory(const IfmBlockedShape *shape, const IfmBlockedOptions *options, bool is_of_3, Plan *plan)
{
    const size_t out_channels = (size_t)shape->out_channels, n_threads = (size_t)MAX(options->n_threads, 1);
    plan->is_of_3 = is_of_3;
    plan->n_parts = is_of_3 ? 3 : 2;
    plan->input_tile = (is_of_3 ? 3 : 4) * plan->depth;
    plan->weights_all = plan->n_parts * plan->depth * out_channels;
    plan->weights_bytes = plan->n_frequencies * plan->weights_all * sizeof(float);
    /* A vector more, so that the frequencies of a tile are not all in one set of a cache. */
    const size_t tile = plan->n_groups * plan->input_tile + plan->n_parts * out_channels, pad = 2 * CONV_MAX_BLOCK;
    const size_t tile_bytes = plan->n_frequencies * tile * sizeof(float);
    const size_t fixed = plan->weights_bytes + (plan->scratch * n_threads + plan->n_frequencies * pad) * sizeof(float);
    const size_t left = limit_of(options) > fixed ? limit_of(options) - fixed : 0;
    plan->chunk = MIN(plan->n_tiles, MAX(CHUNK_BYTES * n_threads / tile_bytes, MIN_CHUNK));
    plan->chunk = MAX(MIN(plan->chunk, left / tile_bytes), 1);
    const size_t n_chunks = (plan->n_tiles + plan->chunk - 1) / plan->chunk;
    plan->chunk = (plan->n_tiles + n_chunks - 1) / n_chunks;
    plan->input_all = plan->chunk * plan->n_groups * plan->input_tile + CONV_MAX_BLOCK;
    plan->output_all = plan->chunk * plan->n_parts * out_channels + CONV_MAX_BLOCK;
    plan->workspace_bytes =
        (plan->n_frequencies * (plan->input_all + plan->output_all) + plan->scratch * n_threads) * sizeof(float);
}

static bool is_within(const Plan *plan, const IfmBlockedOptions *options)
{
    return plan->workspace_bytes + plan->weights_bytes <= limit_of(options);
}

/* Plans tiles of a size, or of the whole image where it is 0. */
static void plan_size(const IfmBlockedShape *shape, const IfmBlockedOptions *options, int64_t tile, Plan *plan)
{
    const size_t block = (size_t)shape->block;
    *plan = (Plan){ .n_groups = (size_t)shape->groups };
    for (int i = 0; i < 2; i++)
    {
        const int64_t reach = (shape->kernel[i] - 1) * shape->dilation[i] + 1;
        plan->phases[i] = MIN(shape->stride[i], reach);
        plan->reach[i] = (reach - 1) / shape->stride[i] + 1;
        /* One value needs no transform: then each row, or column, is a tile. */
        plan->n[i] = plan->reach[i] == 1 ? 1 : tile != 0 ? tile : whole_size(shape, plan, i);
        plan->step[i] = plan->reach[i] == 1 ? 1 : tile != 0 ? tile - plan->reach[i] + 1 : shape->out[i];
        plan->tiles[i] = plan->step[i] > 0 ? divide_up(shape->out[i], plan->step[i]) : 0;
    }
    const ConvFft fft = { { { .n = (int)plan->n[0] }, { .n = (int)plan->n[1] } } };
    plan->n_frequencies = conv_fft_column(&fft, (size_t)plan->n[1] / 2 + 1);
    plan->depth = (size_t)(shape->channels / shape->groups * plan->phases[0] * plan->phases[1]);
    plan->depth = (plan->depth + block - 1) / block * block;
    plan->n_tiles = (size_t)(shape->batch * plan->tiles[0] * plan->tiles[1]);
    plan->scratch = 2 * block * ((size_t)(plan->n[0] * (plan->n[1] / 2 + 1)) + 3 * (size_t)MAX(plan->n[0], plan->n[1]));
    if (shape->input_block == 1)
        plan->scratch += (size_t)(plan->n[0] * plan->n[1]) * block;
    if (plan->n_tiles == 0)
        return;
    plan_memory(shape, options, true, plan);
    if (plan->chunk < MIN_TILES_OF_3 || !is_within(plan, options))
        plan_memory(shape, options, false, plan);
}

/* Estimated time in multiplications: of the products, the transforms, and loading the weights. */
static double cost(const IfmBlockedShape *shape, const IfmBlockedOptions *options, const Plan *plan)
{
    if (!is_within(plan, options))
        return INFINITY;
    const double tiles = (double)plan->n_tiles, values = (double)(plan->n[0] * plan->n[1]);
    const double channels = (double)(plan->depth * plan->n_groups) + (double)shape->out_channels;
    const double weights = (double)(plan->n_frequencies * plan->weights_all);
    return (plan->is_of_3 ? 1 : 2) * tiles * weights + 2 * tiles * channels * values * log2(values) + 2 * weights;
}

/* Plans for an algorithm: the whole image, or the cheaper tiles. Returns: false where there are none */
static bool plan_layer(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                       Plan *plan)
{
    static const int64_t sizes[] = { 16, 8 };
    bool is_planned = algorithm == &conv_fft;
    if (is_planned)
        plan_size(shape, options, 0, plan);
    for (size_t i = 0; algorithm != &conv_fft && i < sizeof sizes / sizeof sizes[0]; i++)
    {
        Plan candidate;
        plan_size(shape, options, sizes[i], &candidate);
        if (candidate.n_tiles == 0 ||
            ((candidate.n[0] == 1 || candidate.tiles[0] == 1) && (candidate.n[1] == 1 || candidate.tiles[1] == 1)) ||
            (is_planned && cost(shape, options, &candidate) > cost(shape, options, plan)))
            continue;
        *plan = candidate;
        is_planned = true;
    }
    return is_planned;
}

static bool supports(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                     IfmBlockedError *why)
{
    if (shape->kernel[0] == 1 && shape->kernel[1] == 1)
        return conv_refuse(why, "1x1");
    Plan plan;
    const IfmBlockedOptions defaults = { 0 };
    plan_size(shape, &defaults, 0, &plan);
    if (plan.reach[0] == 1 && plan.reach[1] == 1)
        return conv_refuse(why, "stride not below the kernel");
    if (!conv_supports_groups(algorithm, shape, options, why))
        return false;
    if (plan_layer(algorithm, shape, &defaults, &plan))
        return true;
    plan_size(shape, &defaults, 16, &plan);
    return conv_refuse(why, plan.n_tiles == 0 ? "kernel larger than a tile" : "one tile holds the image");
}

static size_t workspace(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    Plan plan;
    return plan_layer(algorithm, shape, options, &plan) ? plan.workspace_bytes + plan.weights_bytes : 0;
}

static size_t n_weights(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    Plan plan;
    return plan_layer(algorithm, shape, options, &plan) ? plan.weights_bytes / sizeof(float) : 0;
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

/* Tile: where one tile is. */
typedef struct
{
    int64_t image, y, x; /* first output */
} Tile;

static Tile tile_at(const Plan *plan, size_t index)
{
    const int64_t i = (int64_t)index, n_columns = plan->tiles[1], image = plan->tiles[0] * n_columns;
    return (Tile){ i / image, i % image / n_columns * plan->step[0], i % n_columns * plan->step[1] };
}

static ConvFftForm form_of_inputs(const Plan *plan)
{
    return plan->is_of_3 ? CONV_FFT_INPUTS_OF_3 : CONV_FFT_INPUTS_OF_4;
}

/* The values of a phase of a plane that a tile reads. @value_floats: from one value of a row to the next */
static ConvWindow window_at(const IfmBlockedShape *shape, const Plan *plan, const Tile *tile, int64_t phase,
                            const float *plane, int64_t value_floats)
{
    const int64_t phases[] = { phase / plan->phases[1], phase % plan->phases[1] }, first[] = { tile->y, tile->x };
    ConvWindow window = { .base = plane,
                          .row_stride = shape->stride[0] * shape->in[1] * value_floats,
                          .pixel_stride = shape->stride[1] * value_floats };
    int64_t origin[2];
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
static ConvWindow gather(const IfmBlockedShape *shape, const Plan *plan, const Tile *tile, const float *image, size_t block,
                         float *values)
{
    const int64_t lanes = shape->block, n_columns = plan->n[1], n_values = plan->n[0] * n_columns;
    memset(values, 0, (size_t)(n_values * lanes) * sizeof(float));
    for (int64_t lane = 0; lane < lanes; lane++)
    {
        const int64_t channel = (int64_t)block * lanes + lane, phase = channel / shape->channels;
        if (phase >= plan->phases[0] * plan->phases[1])
            break;
        const float *plane = image + channel % shape->channels * shape->in[0] * shape->in[1];
        const ConvWindow from = window_at(shape, plan, tile, phase, plane, 1);
        for (int64_t y = from.first[0]; y < from.end[0]; y++)
            for (int64_t x = from.first[1]; x < from.end[1]; x++)
                values[(y * n_columns + x) * lanes + lane] =
                    plane[from.offset + y * from.row_stride + x * from.pixel_stride];
    }
    return (ConvWindow){
        .base = values, .row_stride = n_columns * lanes, .pixel_stride = lanes, .end = { plan->n[0], n_columns }
    };
}

/* One block of channels of one of the chunk's tiles. */
static void transform_input(const ConvJob *job, size_t slot, size_t task)
{
    const IfmBlockedConv *conv = job->conv;
    const IfmBlockedShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const size_t block = (size_t)shape->block, n_blocks = plan->depth / block;
    const size_t group_blocks = (size_t)shape->channels / plan->n_groups / block,
                 plane = (size_t)(shape->in[0] * shape->in[1]);
    const size_t b = task % n_blocks, group = task / n_blocks % plan->n_groups, i = task / n_blocks / plan->n_groups;
    float *scratch = state->scratch + slot * plan->scratch;
    const Tile tile = tile_at(plan, job->first + i);
    const float *image = job->run->input + (size_t)(tile.image * shape->channels) * plane;
    const ConvWindow window =
        shape->input_block == 1
            ? gather(shape, plan, &tile, image, b, scratch + plan->scratch - (size_t)(plan->n[0] * plan->n[1]) * block)
            : window_at(shape, plan, &tile, (int64_t)(b / group_blocks),
                        image + (group * group_blocks + b % group_blocks) * block * plane, shape->block);
    conv->kernels->fft_forward(&state->fft, &window, scratch,
                               state->inputs + (group * plan->chunk + i) * plan->input_tile + b * block, plan->input_all,
                               plan->depth, form_of_inputs(plan));
}

/* The products of one panel of weights at frequency f. @v: the panel's first vector of output channels */
static void multiply_panel(const IfmBlockedConv *conv, size_t n_tiles, size_t f, size_t group, size_t v, size_t vectors)
{
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const size_t block = (size_t)conv->shape.block, out_channels = (size_t)conv->shape.out_channels;
    const size_t pixels = (size_t)conv->kernels->pixels, n_products = plan->is_of_3 ? 3 : 1;
    /* As one product: a tile is two rows of two parts. */
    const size_t depth = plan->is_of_3 ? plan->depth : 2 * plan->depth, n_rows = plan->is_of_3 ? n_tiles : 2 * n_tiles;
    const size_t row_stride = plan->is_of_3 ? plan->input_tile : depth, n_splits = (n_rows + pixels - 1) / pixels;
    const ConvStore store = { NULL, false, n_products * out_channels, block, NULL, -INFINITY, INFINITY };
    const float *rows = state->inputs + f * plan->input_all + group * plan->chunk * plan->input_tile;
    const float *weights = state->weights + f * plan->weights_all + v * block * plan->n_parts * plan->depth;
    float *out = state->outputs + f * plan->output_all + v * block;
    for (size_t i = 0; i < n_products; i++, weights += depth * vectors * block, rows += depth, out += out_channels)
        for (size_t split = 0; split < n_splits; split++)
        {
            const size_t first = conv_split(n_rows, n_splits, split), end = conv_split(n_rows, n_splits, split + 1);
            conv->kernels->product((int)(end - first), (int)vectors, depth, weights, rows + first * row_stride, row_stride,
                                   out + first * store.pixel_stride, &store);
        }
}

/* The products of frequency f. */
static void multiply(const ConvJob *job, size_t slot, size_t f)
{
    const Plan *plan = &((const State *)job->conv->state)->plan;
    const size_t n_vectors = (size_t)(job->conv->shape.out_channels / job->conv->shape.block) / plan->n_groups;
    for (size_t group = 0; group < plan->n_groups; group++)
        for (size_t v = 0; v < n_vectors; v += CONV_TILE_VECTORS)
            multiply_panel(job->conv, job->n, f, group, group * n_vectors + v, MIN(CONV_TILE_VECTORS, n_vectors - v));
}

/* One block of output channels of one of the chunk's tiles. */
static void transform_output(const ConvJob *job, size_t slot, size_t task)
{
    const IfmBlockedConv *conv = job->conv;
    const IfmBlockedShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const size_t block = (size_t)shape->block, out = (size_t)shape->out_channels, row = (size_t)shape->out[1] * block;
    const size_t i = task / (out / block), channel = task % (out / block) * block;
    const Tile tile = tile_at(plan, job->first + i);
    const int64_t size[] = { MIN(plan->step[0], shape->out[0] - tile.y), MIN(plan->step[1], shape->out[1] - tile.x) };
    const size_t at =
        ((size_t)tile.image * out + channel) * conv_n_pixels(shape) + (size_t)tile.y * row + (size_t)tile.x * block;
    const ConvStore store = { .start = conv->bias + channel,
                              .pixel_stride = block,
                              .sum = job->run->sum != NULL ? job->run->sum + at : NULL,
                              .low = conv->low,
                              .high = conv->high };
    conv->kernels->fft_inverse(&state->fft, state->outputs + i * plan->n_parts * out + channel, plan->output_all, out,
                               form_of_inputs(plan), state->scratch + slot * plan->scratch, size, job->run->output + at,
                               row, &store);
    conv_finish(conv, job->run->output + at, (size_t)size[1], (size_t)size[0], row);
}

static void run(IfmBlockedConv *conv, const ConvRun *run)
{
    const Plan *plan = &((const State *)conv->state)->plan;
    const size_t block = (size_t)conv->shape.block;
    ConvJob job = { .conv = conv, .run = run };
    for (; job.first < plan->n_tiles; job.first += job.n)
    {
        job.n = MIN(plan->chunk, plan->n_tiles - job.first);
        conv_run_tasks(&job, job.n * plan->n_groups * (plan->depth / block), transform_input);
        conv_run_tasks(&job, plan->n_frequencies, multiply);
        conv_run_tasks(&job, job.n * (size_t)conv->shape.out_channels / block, transform_output);
    }
}

/* --- making ----------------------------------------------------------------------------------------------------------- */

static void make_line(IfmBlockedConv *conv, ConvFftLine *line, int64_t n)
{
    *line = (ConvFftLine){ .n = (int)n, .twiddles = conv_own(conv, 4 * (size_t)n) };
    float *twiddles = line->twiddles;
    int64_t rest = n;
    if (twiddles == NULL)
        return;
    do
    {
        const int radix = rest % 4 == 0 ? 4 : rest % 2 == 0 ? 2 : rest % 3 == 0 ? 3 : rest % 5 == 0 ? 5 : 1;
        line->factors[line->n_factors++] = radix;
        for (int64_t p = 0; p < rest / radix; p++)
            for (int64_t r = 1; r < radix; r++)
            {
                *twiddles++ = (float)cos(-2 * M_PI * (double)(p * r) / (double)rest);
                *twiddles++ = (float)sin(-2 * M_PI * (double)(p * r) / (double)rest);
            }
        rest /= radix;
    } while (rest > 1);
}

/* The taps of a phase of one input channel, for a block of output channels, scaled as the transforms need. */
static void fill_taps(const IfmBlockedShape *shape, const Plan *plan, const float *weights, int64_t channel, int64_t phase,
                      float *taps)
{
    const int64_t block = shape->block, out_stride = (int64_t)conv_depth(shape);
    const float scale = (float)(0.25 / (double)(plan->n[0] * plan->n[1]));
    memset(taps, 0, (size_t)(plan->reach[0] * plan->reach[1] * block) * sizeof(float));
    for (int64_t i = 0; i < shape->kernel[0]; i++)
        for (int64_t j = 0; j < shape->kernel[1]; j++)
        {
            const int64_t y = i * shape->dilation[0], x = j * shape->dilation[1];
            if (y % shape->stride[0] != phase / plan->phases[1] || x % shape->stride[1] != phase % plan->phases[1])
                continue;
            float *to = taps + (y / shape->stride[0] * plan->reach[1] + x / shape->stride[1]) * block;
            for (int64_t o = 0; o < block; o++)
                to[o] = scale * weights[o * out_stride + (channel * shape->kernel[0] + i) * shape->kernel[1] + j];
        }
}

/* Transforms the weights with the vectors' lanes being output channels, straight into the panels of the product. */
static void transform_weights(const IfmBlockedConv *conv, const float *weights, float *taps)
{
    const IfmBlockedShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const int64_t block = shape->block, channels = shape->channels / shape->groups;
    const int64_t group_vectors = shape->out_channels / shape->groups / block, n_phases = plan->phases[0] * plan->phases[1];
    const ConvWindow window = {
        .base = taps, .row_stride = plan->reach[1] * block, .pixel_stride = block, .end = { plan->reach[0], plan->reach[1] }
    };
    for (int64_t v = 0; v < shape->out_channels / block; v++)
    {
        const int64_t in_group = v % group_vectors, panel = in_group / CONV_TILE_VECTORS * CONV_TILE_VECTORS;
        const int64_t vectors = MIN(CONV_TILE_VECTORS, group_vectors - panel);
        float *to = state->weights + (size_t)((v - in_group + panel) * block) * plan->n_parts * plan->depth +
                    (in_group - panel) * block;
        for (int64_t d = 0; d < channels * n_phases; d++)
        {
            /* With blocks of channels a phase is a number of blocks; in NCHW, of channels: that is the same order. */
            fill_taps(shape, plan, weights + (size_t)(v * block) * conv_depth(shape), d % channels, d / channels, taps);
            conv->kernels->fft_forward(&state->fft, &window, state->scratch, to + d * vectors * block, plan->weights_all,
                                       plan->depth * (size_t)(vectors * block),
                                       plan->is_of_3 ? CONV_FFT_WEIGHTS_OF_3 : CONV_FFT_WEIGHTS_OF_4);
        }
    }
}

/* What a transform of the weights depends on besides the layer. */
static uint64_t form_of_weights(const Plan *plan)
{
    return (uint64_t)plan->n[0] << 32 | (uint64_t)plan->n[1] << 1 | (plan->is_of_3 ? 1 : 0);
}

static bool make(IfmBlockedConv *conv, const float *weights, IfmBlockedError *error)
{
    State *state = conv->state;
    const Plan *plan = &state->plan;
    plan_layer(conv->algorithm, &conv->shape, &conv->options, &state->plan);
    conv_set_implementation(conv, "%s %" PRId64 "x%" PRId64 ", %d products of %zu spectra, %s",
                            conv->algorithm == &conv_fft ? "rfft" : "rfft tile", plan->n[0], plan->n[1],
                            plan->is_of_3 ? 3 : 4, plan->chunk, conv->kernels->isa);
    for (int i = 0; i < 2; i++)
        make_line(conv, &state->fft.line[i], plan->n[i]);
    conv->info.workspace_bytes = plan->workspace_bytes;
    state->weights = conv_own_weights(conv, plan->weights_bytes / sizeof(float), form_of_weights(plan));
    state->inputs = conv_own(conv, plan->n_frequencies * plan->input_all);
    state->outputs = conv_own(conv, plan->n_frequencies * plan->output_all);
    state->scratch = conv_own(conv, plan->scratch * (size_t)conv->options.n_threads);
    float *taps = conv_alloc((size_t)(plan->reach[0] * plan->reach[1] * conv->shape.block));
    const bool has_memory = !conv->is_short && taps != NULL;
    if (has_memory && !conv->has_weights)
        transform_weights(conv, weights, taps);
    free(taps);
    return has_memory || conv_no_memory(conv, error);
}

const ConvAlgorithm conv_fft = {
    .meaning = "products of the spectra of whole images and kernels",
    .supports = supports,
    .workspace = workspace,
    .n_weights = n_weights,
    .state_bytes = sizeof(State),
    .make = make,
    .run = run,
};

const ConvAlgorithm conv_fft_tiling = {
    .meaning = "products of the spectra of overlapping tiles of 8 or 16 and of kernels",
    .supports = supports,
    .workspace = workspace,
    .n_weights = n_weights,
    .state_bytes = sizeof(State),
    .make = make,
    .run = run,
};
