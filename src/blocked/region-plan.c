/* Where a region's values are, and in which passes they are made. Values whose lives do not meet share memory; a step whose
 * operand is used for the last time writes over it; parts of a concatenation are made in their place where they are whole
 * blocks of one image. */
#include "region-private.h"

#include <stdlib.h>
#include <string.h>

/* Works are at most this many a step: its value into blocks, the step, lanes cleared. */
#define WORKS_OF_STEP 3

static const RegionStep *step_of(const IfmRegionRun *run, size_t value)
{
    return &run->region->steps[value];
}

static RegionWork *add_work(IfmRegionRun *run, size_t value)
{
    RegionWork *work = &run->works[run->n_works++];
    work->step = step_of(run, value);
    work->value = value;
    return work;
}

static int add_buffer(IfmRegionRun *run, size_t n_floats, size_t first, size_t last)
{
    run->buffers[run->n_buffers] =
        (RegionBuffer){ .n_floats = n_floats, .first = first, .last = last, .input = -1, .output = -1 };
    return (int)run->n_buffers++;
}

/* --- concatenations --------------------------------------------------------------------------------------------------- */

static bool is_whole_blocks(const IfmRegionRun *run, size_t value)
{
    return run->values[value].size[1] % run->region->kernels->block == 0;
}

/* Parts that no other concatenation has are made in this one. */
static void place_parts(IfmRegionRun *run, size_t whole)
{
    const RegionStep *step = step_of(run, whole);
    size_t first_block = 0;
    for (size_t k = 0; k < step->n_values; k++)
    {
        RegionValue *part = &run->values[step->values[k]];
        const bool is_last = k + 1 == step->n_values, is_whole = is_whole_blocks(run, step->values[k]);
        if (!is_whole && !is_last)
            return;
        if (step_of(run, step->values[k])->kind != REGION_INPUT && part->whole == SIZE_MAX)
        {
            part->whole = whole;
            part->first_block = first_block;
        }
        first_block += part->n_blocks;
    }
}

/* A concatenation whose parts lie in a row within a larger one is a part of that itself, and nothing is left to do. */
static void place_prefix(IfmRegionRun *run, size_t value)
{
    const RegionStep *step = step_of(run, value);
    const RegionValue *first = &run->values[step->values[0]];
    size_t next = first->first_block;
    for (size_t k = 0; k < step->n_values; k++)
    {
        const RegionValue *part = &run->values[step->values[k]];
        if (part->whole == SIZE_MAX || part->whole != first->whole || part->first_block != next ||
            !is_whole_blocks(run, step->values[k]))
            return;
        next += part->n_blocks;
    }
    run->values[value].whole = first->whole;
    run->values[value].first_block = first->first_block;
}

/* The last ones first: networks whose layers read all layers before them concatenate more and more. */
static void place_concatenations(IfmRegionRun *run)
{
    for (size_t i = run->region->n_steps; i-- > 0;)
        if (step_of(run, i)->kind == REGION_CONCAT && step_of(run, i)->last_use > 0 && run->values[i].size[0] == 1)
        {
            if (run->values[i].whole == SIZE_MAX)
                place_prefix(run, i);
            place_parts(run, i);
        }
}

/* The buffer that has a value's place, which is made when its first part is. */
static RegionPlace place_within(IfmRegionRun *run, size_t value, size_t now)
{
    size_t whole = value, first_block = 0;
    while (run->values[whole].whole != SIZE_MAX)
    {
        first_block += run->values[whole].first_block;
        whole = run->values[whole].whole;
    }
    RegionValue *root = &run->values[whole];
    if (root->place.buffer < 0)
        root->place.buffer = add_buffer(run, root->n_floats, now, step_of(run, whole)->last_use);
    RegionBuffer *buffer = &run->buffers[root->place.buffer];
    buffer->last = MAX(buffer->last, step_of(run, value)->last_use);
    const size_t plane = (size_t)(root->size[2] * root->size[3]) * (size_t)run->region->kernels->block;
    return (RegionPlace){ root->place.buffer, first_block * plane };
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

/* Whether a step may write over an operand: nobody reads its buffer any more, and what else the step reads from it, parts
 * of one concatenation, lies at the same place. A caller's input is used to the end. */
static bool is_in_place(const IfmRegionRun *run, size_t value, size_t operand)
{
    const RegionStep *step = step_of(run, value);
    const RegionValue *from = &run->values[step->values[operand]];
    if (from->place.buffer < 0 || run->buffers[from->place.buffer].last != value ||
        memcmp(from->size, run->values[value].size, sizeof(from->size)) != 0)
        return false;
    for (size_t k = 0; k < step->n_values; k++)
    {
        const RegionValue *other = &run->values[step->values[k]];
        if (other->place.buffer == from->place.buffer &&
            (other->place.offset != from->place.offset || memcmp(other->size, from->size, sizeof(from->size)) != 0))
            return false;
    }
    return true;
}

/* Steps that read each number at the place where they write it. */
static RegionPlace choose_place(IfmRegionRun *run, size_t value)
{
    const RegionStep *step = step_of(run, value);
    const bool may_overwrite =
        step->kind == REGION_ACT || step->kind == REGION_SCALE || step->kind == REGION_ADD || step->kind == REGION_MUL;
    /* a concatenation may have its place already, of its first part */
    if (run->values[value].whole != SIZE_MAX || run->values[value].place.buffer >= 0)
        return place_within(run, value, value);
    for (size_t k = 0; may_overwrite && k < step->n_values; k++)
        if (is_in_place(run, value, k))
        {
            const RegionPlace place = run->values[step->values[k]].place;
            run->buffers[place.buffer].last = step->last_use;
            return place;
        }
    return (RegionPlace){ add_buffer(run, run->values[value].n_floats, value, step->last_use), 0 };
}

/* A convolution reads NCHW where that has no whole block. */
static bool reads_nchw(const IfmRegionRun *run, const RegionStep *step)
{
    const RegionValue *from = &run->values[step->values[0]];
    return step->kind == REGION_CONV && step->group == 1 && from->nchw >= 0 && from->place.buffer < 0 &&
           from->size[1] < run->region->kernels->block;
}

static void into_blocks(IfmRegionRun *run, size_t value, size_t now)
{
    RegionValue *from = &run->values[value];
    if (from->place.buffer >= 0)
        return;
    from->place = (RegionPlace){ add_buffer(run, from->n_floats, now, step_of(run, value)->last_use), 0 };
    RegionWork *work = add_work(run, value);
    work->to = from->place;
    region_work_to_blocks(run, work);
}

/* Whether an activation makes something of 0. */
static bool moves_zero(const ConvActivation *activation)
{
    switch (activation->kind)
    {
    case IFM_BLOCKED_CLIP:
        return activation->alpha > 0 || activation->beta < 0;
    case IFM_BLOCKED_HARD_SIGMOID:
    case IFM_BLOCKED_SIGMOID:
        return true;
    default:
        return false;
    }
}

/* Whether lanes without a channel may get a number; a convolution makes a NaN there of one or of infinity. */
static bool dirties_lanes(const IfmRegionRun *run, const RegionWork *work)
{
    const RegionKind kind = work->step->kind;
    return run->values[work->value].size[1] % run->region->kernels->block != 0 &&
           (kind == REGION_CONV || kind == REGION_CONCAT || kind == REGION_MAX_POOL || work->binary.is_one_channel[0] ||
            work->binary.is_one_channel[1] || moves_zero(&work->step->activation));
}

static void set_layer(IfmRegionRun *run, RegionWork *work)
{
    const RegionStep *step = work->step;
    const RegionValue *in = &run->values[step->values[0]], *out = &run->values[work->value];
    RegionLayer *layer = &run->layers[step->layer];
    IfmBlockedShape *shape = &layer->shape;
    *shape = (IfmBlockedShape){ .batch = in->size[0],
                                .channels = in->size[1],
                                .out_channels = out->size[1],
                                .groups = step->group,
                                .in = { in->size[2], in->size[3] },
                                .out = { out->size[2], out->size[3] },
                                .block = run->region->kernels->block,
                                .input_block = work->from[0].buffer < 0 ? 1 : run->region->kernels->block };
    memcpy(shape->kernel, step->kernel, sizeof(shape->kernel));
    memcpy(shape->stride, step->stride, sizeof(shape->stride));
    memcpy(shape->dilation, step->dilation, sizeof(shape->dilation));
    memcpy(shape->pads, step->pads, sizeof(shape->pads));
    layer->step = step;
}

/* The parts of a concatenation that are not in their place. Returns: false without memory */
static bool set_parts(IfmRegionRun *run, RegionWork *work)
{
    work->parts = calloc(work->step->n_values, sizeof(*work->parts));
    for (size_t k = 0; work->parts != NULL && k < work->step->n_values; k++)
        work->parts[k] = run->values[work->step->values[k]].place;
    return work->parts != NULL;
}

static bool is_made_of_its_parts(const IfmRegionRun *run, const RegionWork *work)
{
    const size_t block = (size_t)run->region->kernels->block;
    const RegionValue *value = &run->values[work->value];
    size_t offset = work->to.offset;
    for (size_t k = 0; k < work->step->n_values; k++)
    {
        const RegionValue *part = &run->values[work->step->values[k]];
        if (part->place.buffer != work->to.buffer || part->place.offset != offset || value->size[0] != 1)
            return false;
        offset += part->n_blocks * (size_t)(value->size[2] * value->size[3]) * block;
    }
    return true;
}

static bool plan_step(IfmRegionRun *run, size_t value)
{
    const RegionStep *step = step_of(run, value);
    const bool is_nchw = reads_nchw(run, step);
    for (size_t k = is_nchw ? 1 : 0; k < step->n_values; k++)
        into_blocks(run, step->values[k], value);
    RegionWork *work = add_work(run, value);
    for (size_t k = 0; k < step->n_values && k < 2; k++)
        work->from[k] = k == 0 && is_nchw ? (RegionPlace){ -1, 0 } : run->values[step->values[k]].place;
    work->to = run->values[value].place = choose_place(run, value);
    if (step->kind == REGION_CONV)
        set_layer(run, work);
    else if ((step->kind == REGION_CONCAT && !set_parts(run, work)) || !region_work_set(run, work))
        return false;
    if (step->kind == REGION_CONCAT && is_made_of_its_parts(run, work))
        work->n_units = 0;
    else if (dirties_lanes(run, work))
    {
        RegionWork *clear = add_work(run, value);
        clear->to = work->to;
        region_work_clear_lanes(run, clear);
    }
    return true;
}

/* --- borders ---------------------------------------------------------------------------------------------------------- */

static void plan_inputs(IfmRegionRun *run)
{
    int input = 0;
    for (size_t i = 0; i < run->region->n_steps; i++)
    {
        RegionValue *value = &run->values[i];
        const bool is_input = step_of(run, i)->kind == REGION_INPUT, is_blocked = step_of(run, i)->is_blocked;
        value->whole = SIZE_MAX;
        value->place = (RegionPlace){ -1, 0 };
        value->nchw = is_input && !is_blocked ? input : -1;
        if (is_input && is_blocked)
        {
            value->place.buffer = add_buffer(run, value->n_floats, 0, SIZE_MAX);
            run->buffers[value->place.buffer].input = input;
        }
        input += is_input;
    }
}

/* A value that is blocked outside, too, is made there; others are copied or put in order. */
static void plan_output(IfmRegionRun *run, size_t index)
{
    const RegionOutput *output = &run->region->outputs[index];
    const RegionValue *value = &run->values[output->value];
    const size_t end = run->region->n_steps;
    if (output->is_blocked)
        into_blocks(run, output->value, end);
    RegionBuffer *buffer = value->place.buffer >= 0 ? &run->buffers[value->place.buffer] : NULL;
    if (output->is_blocked && buffer->input < 0 && buffer->output < 0 && value->place.offset == 0 &&
        buffer->n_floats == value->n_floats)
    {
        buffer->output = (int)index;
        return;
    }
    RegionWork *work = add_work(run, output->value);
    work->output = index;
    work->from[0] = value->place;
    const bool is_nchw = !output->is_blocked && value->nchw >= 0;
    if (is_nchw)
        work->from[0].buffer = -1;
    if (is_nchw || output->is_blocked)
        region_work_copy(work);
    else
        region_work_from_blocks(run, work);
}

/* --- the arena -------------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const RegionBuffer *left = *(RegionBuffer *const *)a, *right = *(RegionBuffer *const *)b;
    if (left->n_floats != right->n_floats)
        return left->n_floats > right->n_floats ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int by_place(const void *a, const void *b)
{
    const RegionBuffer *left = *(RegionBuffer *const *)a, *right = *(RegionBuffer *const *)b;
    return left->at < right->at ? -1 : left->at > right->at;
}

/* The lowest gap among those that live at the same time. @placed: in the order of their places */
static size_t find_gap(const RegionBuffer *buffer, RegionBuffer *const *placed, size_t n_placed)
{
    size_t at = 0;
    for (size_t i = 0; i < n_placed; i++)
        if (placed[i]->first <= buffer->last && buffer->first <= placed[i]->last)
        {
            if (placed[i]->at >= at + buffer->n_floats)
                break;
            at = MAX(at, placed[i]->at + placed[i]->n_floats);
        }
    return at;
}

#define LINE ((size_t)16) /* floats of a line of the caches */

/* Largest first. Returns: false without memory, or where it would be too much */
static bool place_buffers(IfmRegionRun *run)
{
    RegionBuffer **buffers = calloc(2 * run->n_buffers + 1, sizeof(*buffers)), **placed = buffers + run->n_buffers;
    size_t n = 0;
    if (buffers == NULL)
        return false;
    for (size_t i = 0; i < run->n_buffers; i++)
        if (run->buffers[i].input < 0 && run->buffers[i].output < 0)
        {
            run->buffers[i].n_floats = (run->buffers[i].n_floats + LINE - 1) / LINE * LINE;
            buffers[n++] = &run->buffers[i];
        }
    qsort(buffers, n, sizeof(*buffers), by_size);
    for (size_t i = 0; i < n; i++)
    {
        buffers[i]->at = find_gap(buffers[i], placed, i);
        run->arena_floats = MAX(run->arena_floats, buffers[i]->at + buffers[i]->n_floats);
        placed[i] = buffers[i];
        for (size_t k = i; k > 0 && by_place(&placed[k - 1], &placed[k]) > 0; k--)
        {
            RegionBuffer *later = placed[k - 1];
            placed[k - 1] = placed[k];
            placed[k] = later;
        }
    }
    free(buffers);
    const size_t most = run->region->options.max_bytes;
    return most == 0 || run->arena_floats * sizeof(float) <= most;
}

static bool plan(IfmRegionRun *run)
{
    const IfmRegion *region = run->region;
    plan_inputs(run);
    place_concatenations(run);
    for (size_t i = 0; i < region->n_steps; i++)
        if (region->steps[i].kind != REGION_INPUT && region->steps[i].last_use > 0 && !plan_step(run, i))
            return false;
    for (size_t i = 0; i < region->n_outputs; i++)
        plan_output(run, i);
    return place_buffers(run);
}

bool region_plan(IfmRegionRun *run, IfmBlockedError *error)
{
    const IfmRegion *region = run->region;
    const size_t n = region->n_steps * WORKS_OF_STEP + 2 * region->n_outputs;
    run->works = calloc(n, sizeof(*run->works));
    run->buffers = calloc(n, sizeof(*run->buffers));
    if (run->works == NULL || run->buffers == NULL || !plan(run))
        return ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "no memory for the values of a region");
    return true;
}
