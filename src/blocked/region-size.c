/* Sizes of a region's values. What does not fit is refused by its line. */
#include "region-private.h"

/* More floats than this in one value: nothing that memory holds. */
#define MAX_FLOATS ((int64_t)1 << 40)

static bool refuse(const RegionStep *step, const char *what, IfmBlockedError *error)
{
    return region_refuse(error, "line %zu: %s", step->line, what);
}

/* Where one of the sizes is known, all of the value. */
static bool set_size(IfmRegionRun *run, size_t value, const int64_t size[4], IfmBlockedError *error)
{
    RegionValue *to = &run->values[value];
    const int64_t block = run->region->kernels->block;
    int64_t n_floats = 1;
    for (int i = 0; i < 4; i++)
    {
        if (size[i] < 1 || size[i] > REGION_MAX_SIZE)
            return region_refuse(error, "line %zu: a size of %lld", run->region->steps[value].line, (long long)size[i]);
        to->size[i] = size[i];
        n_floats *= i == 1 ? (size[i] + block - 1) / block * block : size[i];
        if (n_floats > MAX_FLOATS)
            return refuse(&run->region->steps[value], "a value of more than 2^40 numbers", error);
    }
    to->n_blocks = (size_t)((size[1] + block - 1) / block);
    to->n_floats = (size_t)n_floats;
    return true;
}

/* --- by kinds --------------------------------------------------------------------------------------------------------- */

static bool size_input(IfmRegionRun *run, size_t value, const int64_t shape[4], IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t block = run->region->kernels->block, whole = (step->channels + block - 1) / block * block;
    /* No images: planned as for one. */
    int64_t size[4] = { shape[0] == 0 ? 1 : shape[0], shape[1], shape[2], shape[3] };
    run->is_empty = run->is_empty || shape[0] == 0;
    if (step->is_blocked && size[1] != whole)
        return region_refuse(error, "line %zu: an input of %lld channels in blocks of %lld where %lld are expected",
                             step->line, (long long)size[1], (long long)block, (long long)whole);
    if (step->is_blocked)
        size[1] = step->channels;
    return set_size(run, value, size, error);
}

/* Rows and columns of what windows give. Returns: false where they do not fit */
static bool slide(const RegionStep *step, const int64_t in[4], int64_t out[4])
{
    for (int i = 0; i < 2; i++)
    {
        const int64_t reach = (step->kernel[i] - 1) * step->dilation[i] + 1, padded = in[i + 2] + step->pads[i];
        const int64_t left = padded + step->pads[i + 2] - reach;
        if (left < 0)
            return false;
        out[i + 2] = left / step->stride[i] + 1;
        /* A window that is cut off begins within the input. */
        if (step->is_ceil && left % step->stride[i] != 0 && out[i + 2] * step->stride[i] < padded)
            out[i + 2]++;
    }
    return true;
}

static bool size_conv(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t *in = run->values[step->values[0]].size, *weights = run->region->constants[step->weights].shape;
    int64_t size[4] = { in[0], weights[0] };
    if (in[1] != weights[1] * step->group)
        return region_refuse(error, "line %zu: %lld channels where the weights have %lld", step->line, (long long)in[1],
                             (long long)(weights[1] * step->group));
    if (!slide(step, in, size))
        return refuse(step, "a kernel that reaches beyond its padded inputs", error);
    for (int i = 0; i < 4 && step->n_values > 1; i++)
        if (run->values[step->values[1]].size[i] != size[i])
            return refuse(step, "a sum of another size than the outputs", error);
    return set_size(run, value, size, error);
}

static bool size_pool(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t *in = run->values[step->values[0]].size;
    int64_t size[4] = { in[0], in[1] };
    return slide(step, in, size) ? set_size(run, value, size, error)
                                 : refuse(step, "a window that reaches beyond its padded inputs", error);
}

static bool size_global_pool(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const int64_t *in = run->values[run->region->steps[value].values[0]].size;
    return set_size(run, value, (const int64_t[]){ in[0], in[1], 1, 1 }, error);
}

static bool size_binary(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t *a = run->values[step->values[0]].size, *b = run->values[step->values[1]].size;
    int64_t size[4];
    for (int i = 0; i < 4; i++)
    {
        size[i] = MAX(a[i], b[i]);
        if ((a[i] != size[i] && a[i] != 1) || (b[i] != size[i] && b[i] != 1))
            return refuse(step, "operands whose sizes are neither equal nor 1", error);
    }
    return set_size(run, value, size, error);
}

static bool size_same(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t *in = run->values[step->values[0]].size;
    if (step->kind == REGION_SCALE && in[1] != step->channels)
        return refuse(step, "factors of another number of channels", error);
    return set_size(run, value, in, error);
}

static bool size_concat(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t *first = run->values[step->values[0]].size;
    int64_t size[4] = { first[0], 0, first[2], first[3] };
    for (size_t k = 0; k < step->n_values; k++)
    {
        const int64_t *part = run->values[step->values[k]].size;
        if (part[0] != size[0] || part[2] != size[2] || part[3] != size[3])
            return refuse(step, "parts of other images, rows or columns", error);
        size[1] += part[1];
    }
    return set_size(run, value, size, error);
}

static bool size_resize(IfmRegionRun *run, size_t value, IfmBlockedError *error)
{
    const RegionStep *step = &run->region->steps[value];
    const int64_t *in = run->values[step->values[0]].size;
    return set_size(run, value, (const int64_t[]){ in[0], in[1], in[2] * step->factors[0], in[3] * step->factors[1] },
                    error);
}

static bool (*const sizes[N_REGION_KINDS])(IfmRegionRun *run, size_t value, IfmBlockedError *error) = {
    [REGION_CONV] = size_conv,         [REGION_MAX_POOL] = size_pool,
    [REGION_AVERAGE_POOL] = size_pool, [REGION_GLOBAL_AVERAGE_POOL] = size_global_pool,
    [REGION_ADD] = size_binary,        [REGION_MUL] = size_binary,
    [REGION_SCALE] = size_same,        [REGION_ACT] = size_same,
    [REGION_CONCAT] = size_concat,     [REGION_RESIZE] = size_resize,
};

bool region_size(IfmRegionRun *run, IfmBlockedError *error)
{
    const IfmRegion *region = run->region;
    for (size_t i = 0, input = 0; i < region->n_steps; i++)
    {
        const bool is_input = region->steps[i].kind == REGION_INPUT;
        if (is_input ? !size_input(run, i, run->shapes[input++], error) : !sizes[region->steps[i].kind](run, i, error))
            return false;
    }
    return true;
}
