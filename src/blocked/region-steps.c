/* The passes of a region beside convolutions: what each reads and writes, and its code. A unit of a pass is a plane of a
 * block of channels, or a row of one. */
#include "region-private.h"

#include <stdlib.h>
#include <string.h>

/* --- shared ----------------------------------------------------------------------------------------------------------- */

static const RegionKernels *kernels(const IfmRegionRun *run)
{
    return run->region->kernels->region;
}

static size_t block_of(const IfmRegionRun *run)
{
    return (size_t)run->region->kernels->block;
}

static const RegionValue *value_of(const IfmRegionRun *run, const RegionWork *work)
{
    return &run->values[work->value];
}

static const RegionValue *operand_of(const IfmRegionRun *run, const RegionWork *work, size_t index)
{
    return &run->values[work->step->values[index]];
}

static size_t row_floats(const IfmRegionRun *run, const RegionValue *value)
{
    return (size_t)value->size[3] * block_of(run);
}

static size_t plane_floats(const IfmRegionRun *run, const RegionValue *value)
{
    return (size_t)(value->size[2] * value->size[3]) * block_of(run);
}

/* --- values in the same place ----------------------------------------------------------------------------------------- */

/* Units: rows of all planes. */
static void run_act(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const size_t row = row_floats(run, value_of(run, work)), n_vectors = (end - first) * (row / block_of(run));
    kernels(run)->activate(&work->step->activation, region_address(run, work->from[0]) + first * row,
                           region_address(run, work->to) + first * row, n_vectors);
}

/* Units: rows of all planes; those of one plane have the same factors. */
static void run_scale(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work);
    const size_t block = block_of(run), row = row_floats(run, value), n_rows = (size_t)value->size[2];
    const float *from = region_address(run, work->from[0]);
    float *to = region_address(run, work->to);
    for (size_t i = first, next; i < end; i = next)
    {
        const size_t plane = i / n_rows, at = plane % value->n_blocks * block;
        next = MIN(end, (plane + 1) * n_rows);
        kernels(run)->scale(&work->step->activation, from + i * row, work->by + at, work->plus + at, to + i * row,
                            (next - i) * (row / block));
    }
}

/* Where an operand has row @y of block @b of image @n of the output. */
static const float *operand_row(const IfmRegionRun *run, const RegionWork *work, size_t index, size_t n, size_t b, size_t y)
{
    const RegionValue *value = operand_of(run, work, index);
    n = value->size[0] == 1 ? 0 : n;
    b = value->size[1] == 1 ? 0 : b;
    y = value->size[2] == 1 ? 0 : y;
    return region_address(run, work->from[index]) + (n * value->n_blocks + b) * plane_floats(run, value) +
           y * row_floats(run, value);
}

/* Whether all rows of a plane are one: each operand has all pixels of the output or one. */
static bool has_plane_or_pixel(const RegionValue *operand, const RegionValue *value)
{
    return (operand->size[2] == value->size[2] && operand->size[3] == value->size[3]) ||
           (operand->size[2] == 1 && operand->size[3] == 1);
}

/* Units: rows of all planes. */
static void run_binary(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work), *a = operand_of(run, work, 0), *b = operand_of(run, work, 1);
    const size_t row = row_floats(run, value), n_rows = (size_t)value->size[2], n_pixels = (size_t)value->size[3];
    const bool is_by_planes = has_plane_or_pixel(a, value) && has_plane_or_pixel(b, value);
    float *to = region_address(run, work->to);
    if (memcmp(a->size, b->size, sizeof(a->size)) == 0)
    {
        const float *left = region_address(run, work->from[0]), *right = region_address(run, work->from[1]);
        kernels(run)->binary(&work->binary, left + first * row, right + first * row, to + first * row,
                             (end - first) * n_pixels);
        return;
    }
    for (size_t i = first, next; i < end; i = next)
    {
        const size_t y = i % n_rows, plane = i / n_rows, n = plane / value->n_blocks, block = plane % value->n_blocks;
        next = is_by_planes ? MIN(end, (plane + 1) * n_rows) : i + 1;
        kernels(run)->binary(&work->binary, operand_row(run, work, 0, n, block, y), operand_row(run, work, 1, n, block, y),
                             to + i * row, (next - i) * n_pixels);
    }
}

/* Lanes without a channel become 0 again, so that nothing ever comes of them. Units: rows of each image's last plane. */
static void run_clear(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work);
    const size_t block = block_of(run), row = row_floats(run, value), n_rows = (size_t)value->size[2];
    const size_t n_lanes = (size_t)value->size[1] % block;
    for (size_t i = first; i < end; i++)
    {
        const size_t plane = (i / n_rows + 1) * value->n_blocks - 1;
        float *to = region_address(run, work->to) + (plane * n_rows + i % n_rows) * row;
        for (size_t x = 0; x < row; x += block)
            memset(to + x + n_lanes, 0, (block - n_lanes) * sizeof(float));
    }
}

/* --- windows ---------------------------------------------------------------------------------------------------------- */

/* Units: rows of outputs of all planes. */
static void run_pool(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work), *in = operand_of(run, work, 0);
    const size_t row = row_floats(run, value), plane = plane_floats(run, in), n_rows = (size_t)value->size[2];
    const float *from = region_address(run, work->from[0]);
    float *to = region_address(run, work->to);
    const bool is_max = work->step->kind == REGION_MAX_POOL;
    for (size_t i = first; i < end; i++)
        (is_max ? kernels(run)->max_pool : kernels(run)->average_pool)(&work->pool, from + i / n_rows * plane,
                                                                       (int64_t)(i % n_rows), to + i * row);
}

/* Units: planes. */
static void run_mean(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *in = operand_of(run, work, 0);
    const size_t plane = plane_floats(run, in), block = block_of(run);
    for (size_t i = first; i < end; i++)
        kernels(run)->mean(region_address(run, work->from[0]) + i * plane, plane / block,
                           region_address(run, work->to) + i * block);
}

/* Units: rows of outputs of all planes. */
static void run_resize(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work), *in = operand_of(run, work, 0);
    const size_t block = block_of(run), row = row_floats(run, value), n_rows = (size_t)value->size[2];
    const size_t rows = (size_t)work->step->factors[0], columns = (size_t)work->step->factors[1];
    for (size_t i = first; i < end; i++)
    {
        const size_t from_row = i / n_rows * (size_t)in->size[2] + i % n_rows / rows;
        const float *from = region_address(run, work->from[0]) + from_row * row_floats(run, in);
        float *to = region_address(run, work->to) + i * row;
        for (size_t x = 0; x < (size_t)in->size[3]; x++, from += block)
            for (size_t k = 0; k < columns; k++, to += block)
                memcpy(to, from, block * sizeof(float));
    }
}

/* --- channels --------------------------------------------------------------------------------------------------------- */

/* Lanes of a plane from a plane of a part: n of them from lane @from_lane on. */
static void copy_lanes(const float *from, size_t from_lane, float *to, size_t to_lane, size_t n, size_t block, size_t plane)
{
    for (size_t i = 0; i < plane; i += block)
        for (size_t lane = 0; lane < n; lane++)
            to[i + to_lane + lane] = from[i + from_lane + lane];
}

/* What part @k, whose channels begin at @begin, gives to block @b of image @n. */
static void copy_part(const IfmRegionRun *run, const RegionWork *work, size_t k, size_t begin, size_t n, size_t b)
{
    const RegionValue *value = value_of(run, work), *part = operand_of(run, work, k);
    const size_t block = block_of(run), plane = plane_floats(run, value), channels = (size_t)part->size[1];
    const float *from = region_address(run, work->parts[k]) + n * part->n_blocks * plane;
    float *to = region_address(run, work->to) + (n * value->n_blocks + b) * plane;
    size_t channel = MAX(begin, b * block);
    const size_t end = MIN(begin + channels, (b + 1) * block);
    while (channel < end)
    {
        const size_t in_part = channel - begin, from_lane = in_part % block, to_lane = channel % block;
        const size_t count = MIN(end - channel, block - from_lane);
        const float *from_plane = from + in_part / block * plane;
        if (from_lane == 0 && to_lane == 0 && from_plane != to)
            memcpy(to, from_plane, plane * sizeof(float)); /* what follows the last channel are zeros, or written next */
        else if (from_plane != to)
            copy_lanes(from_plane, from_lane, to, to_lane, count, block, plane);
        channel += count;
    }
}

/* Units: planes. Parts that were made in their place are passed over. */
static void run_concat(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work);
    for (size_t i = first; i < end; i++)
    {
        const size_t n = i / value->n_blocks, b = i % value->n_blocks, block = block_of(run);
        size_t begin = 0;
        for (size_t k = 0; k < work->step->n_values; k++)
        {
            const size_t channels = (size_t)operand_of(run, work, k)->size[1];
            if (begin < (b + 1) * block && begin + channels > b * block)
                copy_part(run, work, k, begin, n, b);
            begin += channels;
        }
    }
}

/* --- borders ---------------------------------------------------------------------------------------------------------- */

/* Units: planes. */
static void run_to_blocks(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work);
    const size_t block = block_of(run), plane = plane_floats(run, value), n_pixels = plane / block;
    const float *from = run->inputs[value->nchw];
    for (size_t i = first; i < end; i++)
    {
        const size_t n = i / value->n_blocks, channel = i % value->n_blocks * block, channels = (size_t)value->size[1];
        kernels(run)->to_blocks(from + (n * channels + channel) * n_pixels, n_pixels, MIN(block, channels - channel),
                                n_pixels, region_address(run, work->to) + i * plane);
    }
}

static void run_from_blocks(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work);
    const size_t block = block_of(run), plane = plane_floats(run, value), n_pixels = plane / block;
    for (size_t i = first; i < end; i++)
    {
        const size_t n = i / value->n_blocks, channel = i % value->n_blocks * block, channels = (size_t)value->size[1];
        kernels(run)->from_blocks(region_address(run, work->from[0]) + i * plane, n_pixels,
                                  run->outputs[work->output] + (n * channels + channel) * n_pixels, n_pixels,
                                  MIN(block, channels - channel));
    }
}

/* One unit. */
static void run_copy(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end)
{
    const RegionValue *value = value_of(run, work);
    const float *from = work->from[0].buffer < 0 ? run->inputs[value->nchw] : region_address(run, work->from[0]);
    const size_t n = work->from[0].buffer < 0 ? (size_t)(value->size[0] * value->size[1] * value->size[2] * value->size[3])
                                              : value->n_floats;
    memcpy(run->outputs[work->output], from, n * sizeof(float));
}

/* --- works ------------------------------------------------------------------------------------------------------------ */

static void set_units(const IfmRegionRun *run, RegionWork *work, bool by_rows)
{
    const RegionValue *value = value_of(run, work);
    const size_t n_planes = (size_t)value->size[0] * value->n_blocks;
    work->n_units = by_rows ? n_planes * (size_t)value->size[2] : n_planes;
    work->unit_floats = value->n_floats / work->n_units;
}

static void set_binary(const IfmRegionRun *run, RegionWork *work)
{
    const RegionValue *value = value_of(run, work);
    work->binary = (RegionBinary){ .is_product = work->step->kind == REGION_MUL, .activation = work->step->activation };
    for (size_t k = 0; k < 2; k++)
    {
        const int64_t *size = operand_of(run, work, k)->size;
        work->binary.is_one_channel[k] = size[1] == 1 && value->size[1] != 1;
        work->binary.is_one_pixel[k] = size[3] == 1 && (value->size[3] != 1 || size[2] != value->size[2]);
    }
}

static void set_pool(const IfmRegionRun *run, RegionWork *work)
{
    const RegionStep *step = work->step;
    RegionPool *pool = &work->pool;
    const int64_t *in = operand_of(run, work, 0)->size, *out = value_of(run, work)->size;
    *pool = (RegionPool){ .in = { in[2], in[3] }, .out = { out[2], out[3] }, .includes_pad = step->includes_pad };
    memcpy(pool->kernel, step->kernel, sizeof(pool->kernel));
    memcpy(pool->stride, step->stride, sizeof(pool->stride));
    memcpy(pool->dilation, step->dilation, sizeof(pool->dilation));
    memcpy(pool->pads, step->pads, sizeof(pool->pads));
}

/* Factors and terms of whole blocks. */
static bool set_scale(const IfmRegionRun *run, RegionWork *work)
{
    const RegionValue *value = value_of(run, work);
    const IfmRegionConstant *constants = run->region->constants;
    const size_t n = value->n_blocks * block_of(run), n_bytes = (size_t)value->size[1] * sizeof(float);
    work->by = calloc(2 * n, sizeof(float));
    if (work->by == NULL)
        return false;
    work->plus = work->by + n;
    memcpy(work->by, constants[work->step->weights].data, n_bytes);
    memcpy(work->plus, constants[work->step->bias].data, n_bytes);
    return true;
}

bool region_work_set(const IfmRegionRun *run, RegionWork *work)
{
    static void (*const runs[N_REGION_KINDS])(const IfmRegionRun *, const RegionWork *, size_t, size_t) = {
        [REGION_MAX_POOL] = run_pool, [REGION_AVERAGE_POOL] = run_pool, [REGION_GLOBAL_AVERAGE_POOL] = run_mean,
        [REGION_ADD] = run_binary,    [REGION_MUL] = run_binary,        [REGION_SCALE] = run_scale,
        [REGION_ACT] = run_act,       [REGION_CONCAT] = run_concat,     [REGION_RESIZE] = run_resize,
    };
    const RegionKind kind = work->step->kind;
    work->run = runs[kind];
    set_units(run, work, kind != REGION_GLOBAL_AVERAGE_POOL && kind != REGION_CONCAT);
    if (kind == REGION_ADD || kind == REGION_MUL)
        set_binary(run, work);
    if (kind == REGION_MAX_POOL || kind == REGION_AVERAGE_POOL)
        set_pool(run, work);
    return kind != REGION_SCALE || set_scale(run, work);
}

void region_work_clear_lanes(const IfmRegionRun *run, RegionWork *work)
{
    const RegionValue *value = value_of(run, work);
    work->run = run_clear;
    work->n_units = (size_t)(value->size[0] * value->size[2]);
    work->unit_floats = row_floats(run, value);
}

void region_work_to_blocks(const IfmRegionRun *run, RegionWork *work)
{
    work->run = run_to_blocks;
    set_units(run, work, false);
}

void region_work_from_blocks(const IfmRegionRun *run, RegionWork *work)
{
    work->run = run_from_blocks;
    set_units(run, work, false);
}

void region_work_copy(RegionWork *work)
{
    work->run = run_copy;
    work->n_units = work->unit_floats = 1;
}
