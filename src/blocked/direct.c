/* Direct convolution: the sums as they are defined, a tile of one row or two of outputs at a time, whose inputs are read in
 * place. Taps that lie in the padding are left out. */
#include "blocked-private.h"

#include <stdio.h>
#include <string.h>

/* Inputs of a chunk of tiles stay in the second-level cache while the weights of all output channels go by. */
#define CHUNK_BYTES ((size_t)256 << 10)
/* With fewer tasks for a slot, their number should be a multiple of that of the slots. */
#define MANY_TASKS 8
/* Depthwise rows of one call, at most: what a tile has besides its products is then little of it. */
#define DEPTHWISE_LINES 8

/* Form: how groups are computed. */
typedef enum
{
    WHOLE_BLOCKS,   /* one group or several of whole blocks */
    WITHIN_VECTORS, /* groups of as many outputs as inputs, several to a block: a vector exchanges its lanes; depthwise */
    WITH_ZEROS      /* others: a vector of outputs reads all that one of its channels reads, with weights of 0. A value that
                     * is not finite then spreads over the groups of a vector. */
} Form;

/* Plan: how the layer is divided: [image and group][chunk of tiles][panel of output channels]. */
typedef struct
{
    Form form;
    int64_t in[2], out[2];                                 /* a layer that reads one pixel for one is one long row */
    size_t n_wholes, n_chunks, n_panels, row_tiles, lines; /* lines: rows of a tile */
    size_t group_vectors, panel_vectors;                   /* output channels of a group, of a panel at most */
} Plan;

/* Window: the input channels that a vector of outputs reads. */
typedef struct
{
    int64_t first, n_blocks, depth;
    size_t weights; /* where its weights are */
} Window;

/* Taps: rows of the kernel, from first to before end, that lie in the image. */
typedef struct
{
    int64_t first, end;
} Taps;

/* Tile: of a row: its first column, and how many columns before and behind the image it reaches. */
typedef struct
{
    int x, lead, excess;
} Tile;

typedef struct
{
    Plan plan;
    float
        *weights; /* of conv_pack_weights(), or of ConvKernels.grouped_rows, or [vector][tap][input of the window][block] */
    Window *windows; /* WITH_ZEROS: [vector] */
    Tile *tiles;     /* [row_tiles + 1] */
    Taps *taps;      /* [out[0]] */
    ConvSpan *spans; /* [row_tiles][kernel columns] */
} State;

static int64_t group_channels(const IfmBlockedShape *shape)
{
    return shape->channels / shape->groups;
}

static Form form_of(const IfmBlockedShape *shape, const ConvKernels *kernels)
{
    const int64_t inputs = group_channels(shape), outputs = shape->out_channels / shape->groups, block = shape->block;
    if (shape->groups == 1 || (shape->input_block == block && inputs % block == 0 && outputs % block == 0))
        return WHOLE_BLOCKS;
    return shape->input_block == block && inputs == outputs && inputs <= kernels->max_group && block % inputs == 0
               ? WITHIN_VECTORS
               : WITH_ZEROS;
}

static bool is_depthwise(const IfmBlockedShape *shape, Form form)
{
    return form == WITHIN_VECTORS && group_channels(shape) == 1;
}

static bool supports(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                     IfmBlockedError *why)
{
    return true;
}

static size_t workspace(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    return 0;
}

static bool is_pointwise(const IfmBlockedShape *shape)
{
    for (int i = 0; i < 2; i++)
        if (shape->kernel[i] != 1 || shape->stride[i] != 1 || shape->pads[i] != 0 || shape->pads[i + 2] != 0)
            return false;
    return true;
}

/* By how many rows of the kernel a row of outputs is behind the one above it; 0: by no whole number. */
static int64_t lag_of(const IfmBlockedShape *shape)
{
    return shape->stride[0] % shape->dilation[0] == 0 ? shape->stride[0] / shape->dilation[0] : 0;
}

/* Rows of a tile: two where they fit into the registers and share what is loaded, weights or inputs. */
static size_t lines_of(const IfmBlockedShape *shape, const Plan *plan)
{
    const int64_t lag = lag_of(shape);
    if (plan->out[0] < 2)
        return 1;
    if (is_depthwise(shape, plan->form))
        return DEPTHWISE_LINES;
    if (plan->form == WITHIN_VECTORS)
        return lag > 0 && lag < shape->kernel[0] ? 2 : 1;
    return MIN(plan->group_vectors, plan->panel_vectors) == 1 && shape->stride[1] == 1 && shape->input_block == shape->block
               ? 2
               : 1;
}

/* How many chunks: as caches and slots ask for, of n_tiles at most. */
static size_t n_chunks_of(const IfmBlockedConv *conv, const Plan *plan)
{
    const IfmBlockedShape *shape = &conv->shape;
    const size_t n_slots = (size_t)conv->options.n_threads;
    const size_t n_tiles = ((size_t)plan->out[0] + plan->lines - 1) / plan->lines * plan->row_tiles;
    const size_t channels = plan->form == WHOLE_BLOCKS ? (size_t)group_channels(shape) : (size_t)shape->block;
    const size_t bytes = channels * (size_t)(shape->in[0] * shape->in[1]) * sizeof(float);
    size_t n_chunks = (bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
    const size_t n_tasks = plan->n_wholes * plan->n_panels * n_chunks;
    if (n_tasks < MANY_TASKS * n_slots && n_tasks % n_slots != 0)
        n_chunks = (n_chunks + n_slots - 1) / n_slots * n_slots;
    return MIN(n_chunks, n_tiles);
}

static Plan plan_of(const IfmBlockedConv *conv)
{
    const IfmBlockedShape *shape = &conv->shape;
    Plan plan = { form_of(shape, conv->kernels), { shape->in[0], shape->in[1] }, { shape->out[0], shape->out[1] } };
    if (is_pointwise(shape))
    {
        plan.in[1] = plan.out[1] = shape->out[0] * shape->out[1];
        plan.in[0] = plan.out[0] = 1;
    }
    const size_t groups = plan.form == WHOLE_BLOCKS ? (size_t)shape->groups : 1;
    const bool is_exchanged = plan.form == WITHIN_VECTORS && !is_depthwise(shape, plan.form);
    const size_t pixels = (size_t)(is_exchanged ? conv->kernels->group_pixels : conv->kernels->pixels);
    plan.panel_vectors = plan.form == WHOLE_BLOCKS ? CONV_TILE_VECTORS : 1;
    plan.group_vectors = (size_t)(shape->out_channels / shape->block) / groups;
    plan.n_panels = (plan.group_vectors + plan.panel_vectors - 1) / plan.panel_vectors;
    plan.n_wholes = (size_t)shape->batch * groups;
    plan.row_tiles = ((size_t)plan.out[1] + pixels - 1) / pixels;
    plan.lines = lines_of(shape, &plan);
    plan.n_chunks = n_chunks_of(conv, &plan);
    return plan;
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

/* Strip: a panel of output channels of an image and group. */
typedef struct
{
    const IfmBlockedConv *conv;
    const float *input, *weights, *sum; /* sum: of the first pixel, or NULL */
    float *output;                      /* of the first pixel */
    size_t vectors, row_weights;        /* row_weights: floats of one row of the kernel */
    ConvReach reach;
    ConvStore store;
} Strip;

/* What the tiles of @lines rows of outputs from row y on read, but for their columns. @weights: (out) of the first of the
 * kernel's rows that is read    Returns: false where two rows share nothing */
static bool reach_rows(Strip *strip, int64_t y, size_t lines, const float **weights)
{
    const IfmBlockedShape *shape = &strip->conv->shape;
    const State *state = strip->conv->state;
    const Plan *plan = &state->plan;
    ConvReach *reach = &strip->reach;
    const bool is_pair = lines == 2 && !is_depthwise(shape, plan->form);
    const Taps taps = state->taps[y], next = state->taps[is_pair ? y + 1 : y];
    const int64_t lag = plan->form == WITHIN_VECTORS && is_pair ? reach->lag : 0;
    int64_t first = MIN(taps.first, next.first + lag);
    if (is_pair && (taps.first == taps.end || next.first == next.end))
        return false;
    reach->n_before = MAX(taps.first, next.first + lag) - first;
    reach->n_rows = MIN(taps.end, next.end + lag) - first - reach->n_before;
    reach->n_after = MAX(taps.end, next.end + lag) - MIN(taps.end, next.end + lag);
    const int64_t from_y = y * shape->stride[0] - shape->pads[0] + first * shape->dilation[0];
    reach->from = strip->input + (from_y * plan->in[1] - shape->pads[1]) * shape->input_block;
    *weights = strip->weights + (size_t)first * strip->row_weights;
    return reach->n_rows >= 0;
}

/* Tiles of @lines rows of outputs from row y on, from the first to before the end. */
static void run_rows(Strip *strip, size_t y, size_t lines, size_t first, size_t end)
{
    const IfmBlockedConv *conv = strip->conv;
    const State *state = conv->state;
    const size_t block = (size_t)conv->shape.block, row = y * (size_t)state->plan.out[1];
    const int group = (int)group_channels(&conv->shape);
    const float *weights;
    if (!reach_rows(strip, (int64_t)y, lines, &weights))
    {
        run_rows(strip, y, 1, first, end);
        run_rows(strip, y + 1, 1, first, end);
        return;
    }
    ConvReach *reach = &strip->reach;
    const float *from = reach->from;
    for (size_t tile = first; tile < end; tile++)
    {
        const size_t x = (size_t)state->tiles[tile].x, to = (row + x) * block;
        const int width = state->tiles[tile + 1].x - state->tiles[tile].x;
        reach->lead = state->tiles[tile].lead;
        reach->excess = state->tiles[tile].excess;
        reach->from = from + x * reach->pixel_stride;
        reach->spans = state->spans + tile * (size_t)reach->n_columns;
        strip->store.sum = strip->sum != NULL ? strip->sum + to : NULL;
        if (state->plan.form == WITHIN_VECTORS)
            conv->kernels->grouped_rows((int)lines, width, group, reach, weights, strip->output + to, &strip->store);
        else
            conv->kernels->product_rows((int)lines, width, (int)strip->vectors, reach, weights, strip->output + to,
                                        &strip->store);
        for (size_t line = 0; !conv->is_bounds && line < lines; line++)
            conv_finish(conv, strip->output + to + line * strip->store.line_stride, (size_t)width, strip->vectors,
                        strip->store.vector_stride);
    }
}

/* The same of rows y to before the end of a tile. */
static void run_band(Strip *strip, size_t y, size_t bottom, size_t first, size_t end)
{
    const State *state = strip->conv->state;
    if (!is_depthwise(&strip->conv->shape, state->plan.form))
        run_rows(strip, y, bottom - y, first, end);
    else
        for (size_t n = 1; y < bottom; y += n, n = 1)
        {
            while (y + n < bottom && memcmp(&state->taps[y + n], &state->taps[y], sizeof(Taps)) == 0)
                n++;
            run_rows(strip, y, n, first, end);
        }
}

/* The first input channel of a strip, and its place in the weights. */
static Window window_of(const IfmBlockedConv *conv, size_t whole, size_t panel)
{
    const IfmBlockedShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const int64_t block = shape->input_block;
    const size_t groups = plan->form == WHOLE_BLOCKS ? (size_t)shape->groups : 1, first = panel * plan->panel_vectors;
    const size_t vector = whole % groups * plan->group_vectors + first;
    if (plan->form == WITH_ZEROS)
        return state->windows[vector];
    return (Window){ .first = plan->form == WITHIN_VECTORS ? (int64_t)first * block
                                                           : (int64_t)(whole % groups) * group_channels(shape),
                     .n_blocks = group_channels(shape) / block,
                     .depth = block,
                     .weights = vector * (size_t)shape->block * conv_depth(shape) };
}

static ConvReach reach_of(const IfmBlockedShape *shape, const Plan *plan, const Window *window)
{
    const int64_t block = shape->input_block;
    return (ConvReach){ .row_stride = shape->dilation[0] * plan->in[1] * block,
                        .column_stride = shape->dilation[1] * block,
                        .pixel_stride = (size_t)(shape->stride[1] * block),
                        .block_stride = (size_t)(shape->in[0] * shape->in[1] * block),
                        .line_stride = (size_t)(shape->stride[0] * plan->in[1] * block),
                        .n_blocks = (size_t)window->n_blocks,
                        .depth = (size_t)window->depth,
                        .n_columns = shape->kernel[1],
                        .lag = lag_of(shape) };
}

static Strip strip_of(const ConvJob *job, size_t whole, size_t panel)
{
    const IfmBlockedConv *conv = job->conv;
    const IfmBlockedShape *shape = &conv->shape;
    const State *state = conv->state;
    const Plan *plan = &state->plan;
    const size_t groups = plan->form == WHOLE_BLOCKS ? (size_t)shape->groups : 1, first = panel * plan->panel_vectors;
    const size_t block = (size_t)shape->block, in_pixels = (size_t)(shape->in[0] * shape->in[1]);
    const size_t vector = whole % groups * plan->group_vectors + first; /* of the image */
    const size_t block_stride = conv_n_pixels(shape) * block, image = whole / groups;
    const size_t at = (image * (size_t)shape->out_channels / block + vector) * block_stride;
    const Window window = window_of(conv, whole, panel);
    const size_t in_block = (size_t)shape->input_block, channel = (size_t)window.first;
    const size_t input = (image * (size_t)shape->channels + channel / in_block * in_block) * in_pixels + channel % in_block;
    Strip strip = { .conv = conv,
                    .input = job->run->input + input,
                    .weights = state->weights + window.weights,
                    .sum = job->run->sum != NULL ? job->run->sum + at : NULL,
                    .output = job->run->output + at,
                    .vectors = MIN(plan->panel_vectors, plan->group_vectors - first),
                    .reach = reach_of(shape, plan, &window),
                    .store = { conv->bias + vector * block, false, block, block_stride, NULL, conv->low, conv->high } };
    const int64_t inputs = plan->form == WITHIN_VECTORS ? group_channels(shape) : window.n_blocks * window.depth;
    strip.row_weights = (size_t)(shape->kernel[1] * inputs) * strip.vectors * block;
    strip.store.line_stride = (size_t)plan->out[1] * block;
    return strip;
}

/* One panel of output channels of a chunk of tiles. */
static void run_chunk(const ConvJob *job, size_t slot, size_t task)
{
    const Plan *plan = &((const State *)job->conv->state)->plan;
    const size_t panel = task % plan->n_panels, chunk = task / plan->n_panels % plan->n_chunks;
    const size_t height = (size_t)plan->out[0], n_tiles = (height + plan->lines - 1) / plan->lines * plan->row_tiles;
    const size_t end = conv_split(n_tiles, plan->n_chunks, chunk + 1);
    Strip strip = strip_of(job, task / plan->n_panels / plan->n_chunks, panel);
    for (size_t tile = conv_split(n_tiles, plan->n_chunks, chunk), next; tile < end; tile = next)
    {
        const size_t band = tile / plan->row_tiles, first = band * plan->row_tiles, y = band * plan->lines;
        next = MIN(first + plan->row_tiles, end);
        run_band(&strip, y, MIN(y + plan->lines, height), tile - first, next - first);
    }
}

/* --- making ----------------------------------------------------------------------------------------------------------- */

static Taps taps_of(const IfmBlockedShape *shape, int64_t y)
{
    const int64_t from = y * shape->stride[0] - shape->pads[0], dilation = shape->dilation[0];
    const int64_t first = from >= 0 ? 0 : (-from + dilation - 1) / dilation;
    const int64_t end = from < shape->in[0] ? MIN((shape->in[0] - 1 - from) / dilation + 1, shape->kernel[0]) : 0;
    return (Taps){ MIN(first, end), end };
}

/* Which rows of the kernel each row reads, where each tile of a row begins, and which of its columns each column of the
 * kernel finds in the image. */
static void fill_tiles(const IfmBlockedShape *shape, State *state)
{
    const Plan *plan = &state->plan;
    const int64_t stride = shape->stride[1], dilation = shape->dilation[1], in = plan->in[1];
    ConvSpan *span = state->spans;
    for (int64_t y = 0; y < plan->out[0]; y++)
        state->taps[y] = taps_of(shape, y);
    for (size_t tile = 0; tile <= plan->row_tiles; tile++)
        state->tiles[tile].x = (int)conv_split((size_t)plan->out[1], plan->row_tiles, tile);
    for (Tile *tile = state->tiles; tile < state->tiles + plan->row_tiles; tile++)
    {
        const int64_t n = tile[1].x - tile->x, from = tile->x * stride - shape->pads[1];
        const int64_t last = from + (n - 1) * stride + (shape->kernel[1] - 1) * dilation;
        tile->lead = (int)MAX(-from, 0);
        tile->excess = (int)MAX(last - (in - 1), 0);
        for (int64_t j = 0, x = from; j < shape->kernel[1]; j++, x += dilation, span++)
        {
            span->first = x >= 0 ? 0 : (int)MIN((-x + stride - 1) / stride, n);
            span->end = x < in ? (int)MIN((in - 1 - x) / stride + 1, n) : 0;
        }
    }
}

/* Returns: how many floats all weights are */
static size_t fill_windows(const IfmBlockedShape *shape, Window *windows)
{
    const int64_t inputs = group_channels(shape), outputs = shape->out_channels / shape->groups, block = shape->input_block;
    size_t n = 0;
    for (int64_t v = 0; v < shape->out_channels / shape->block; v++)
    {
        int64_t first = v * shape->block / outputs * inputs, end = ((v + 1) * shape->block - 1) / outputs * inputs + inputs;
        const bool is_in_one = first / block == (end - 1) / block;
        if (!is_in_one)
        {
            first = first / block * block;
            end = (end + block - 1) / block * block;
        }
        windows[v] = (Window){ first, is_in_one ? 1 : (end - first) / block, is_in_one ? end - first : block, n };
        n += (size_t)((end - first) * shape->kernel[0] * shape->kernel[1] * shape->block);
    }
    return n;
}

/* Of all inputs of the windows, in the order in which they are read. The others stay 0. */
static void pack_windows(const IfmBlockedShape *shape, const State *state, const float *weights)
{
    const int64_t inputs = group_channels(shape), outputs = shape->out_channels / shape->groups, block = shape->block;
    const int64_t n_taps = shape->kernel[0] * shape->kernel[1];
    for (int64_t out = 0; out < shape->out_channels; out++)
    {
        const Window *window = &state->windows[out / block];
        const int64_t n = window->n_blocks * window->depth, first = out / outputs * inputs - window->first;
        for (int64_t c = 0; c < inputs; c++)
            for (int64_t tap = 0; tap < n_taps; tap++)
                state->weights[window->weights + (size_t)((tap * n + first + c) * block + out % block)] =
                    weights[(out * inputs + c) * n_taps + tap];
    }
}

/* As ConvKernels.grouped_rows has them. */
static void pack_exchanged(const IfmBlockedShape *shape, const float *weights, float *packed)
{
    const int64_t block = shape->block, n_taps = shape->kernel[0] * shape->kernel[1], group = group_channels(shape);
    for (int64_t out = 0; out < shape->out_channels; out++)
        for (int64_t tap = 0; tap < n_taps; tap++)
            for (int64_t other = 0; other < group; other++)
                packed[((out / block * n_taps + tap) * group + other) * block + out % block] =
                    weights[(out * group + (out % group ^ other)) * n_taps + tap];
}

static bool make_windows(IfmBlockedConv *conv, State *state)
{
    state->windows =
        (Window *)conv_own(conv, (size_t)(conv->shape.out_channels / conv->shape.block) * (sizeof(Window) / sizeof(float)));
    if (conv->is_short)
        return false;
    state->weights = conv_own_weights(conv, fill_windows(&conv->shape, state->windows), 0);
    return true;
}

static void name(IfmBlockedConv *conv, const Plan *plan)
{
    const int group = (int)group_channels(&conv->shape);
    const bool is_exchanged = plan->form == WITHIN_VECTORS && group > 1;
    char what[48] = "rows";
    if (plan->form == WITH_ZEROS || is_exchanged)
        snprintf(what, sizeof what, "rows of groups of %d%s", group, is_exchanged ? "" : " with zeros");
    else if (plan->form == WITHIN_VECTORS)
        snprintf(what, sizeof what, "depthwise rows");
    conv_set_implementation(conv, "%s in place, %s %dx%d", what, conv->kernels->isa,
                            is_exchanged ? conv->kernels->group_pixels : conv->kernels->pixels,
                            (int)plan->panel_vectors * conv->shape.block);
}

static bool make(IfmBlockedConv *conv, const float *weights, IfmBlockedError *error)
{
    State *state = conv->state;
    const IfmBlockedShape *shape = &conv->shape;
    const Plan *plan = &state->plan;
    state->plan = plan_of(conv);
    conv->n_tasks = plan->n_wholes * plan->n_chunks * plan->n_panels;
    state->tiles = (Tile *)conv_own(conv, (plan->row_tiles + 1) * (sizeof(Tile) / sizeof(float)));
    state->taps = (Taps *)conv_own(conv, (size_t)plan->out[0] * (sizeof(Taps) / sizeof(float)));
    state->spans = (ConvSpan *)conv_own(conv, plan->row_tiles * (size_t)shape->kernel[1] * 2);
    if (plan->form != WITH_ZEROS)
        state->weights = conv_own_weights(conv, conv_n_weights(shape), 0);
    else if (!make_windows(conv, state))
        return conv_no_memory(conv, error);
    if (conv->is_short)
        return conv_no_memory(conv, error);
    fill_tiles(shape, state);
    if (!conv->has_weights && plan->form == WHOLE_BLOCKS)
        conv_pack_weights(shape, weights, state->weights);
    else if (!conv->has_weights && plan->form == WITHIN_VECTORS)
        pack_exchanged(shape, weights, state->weights);
    else if (!conv->has_weights)
        pack_windows(shape, state, weights);
    name(conv, plan);
    return true;
}

const ConvAlgorithm conv_rows = {
    .meaning = "the sums as they are defined, a tile of rows of outputs at a time",
    .supports = supports,
    .workspace = workspace,
    .state_bytes = sizeof(State),
    .make = make,
    .task = run_chunk,
};
