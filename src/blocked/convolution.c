/* Convolution algorithms: the table of them, and what they share. One file an algorithm. */
#include "blocked-private.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const char *const names[IFM_N_BLOCKED_ALGORITHMS] = {
    [IFM_BLOCKED_DIRECT] = "direct",
    [IFM_BLOCKED_GEMM] = "gemm",
    [IFM_BLOCKED_IMPLICIT_GEMM] = "implicit_gemm",
    [IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM] = "implicit_precomp_gemm",
    [IFM_BLOCKED_FFT] = "fft",
    [IFM_BLOCKED_FFT_TILING] = "fft_tiling",
    [IFM_BLOCKED_WINOGRAD] = "winograd",
    [IFM_BLOCKED_WINOGRAD_NONFUSED] = "winograd_nonfused",
};
static const ConvAlgorithm *const own[IFM_N_BLOCKED_ALGORITHMS] = {
    [IFM_BLOCKED_DIRECT] = &conv_rows,
    [IFM_BLOCKED_IMPLICIT_GEMM] = &conv_implicit_gemm,
    [IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM] = &conv_implicit_precomp_gemm,
    [IFM_BLOCKED_FFT] = &conv_fft,
    [IFM_BLOCKED_FFT_TILING] = &conv_fft_tiling,
    [IFM_BLOCKED_WINOGRAD] = &conv_winograd,
    [IFM_BLOCKED_WINOGRAD_NONFUSED] = &conv_winograd_nonfused,
};

const char *ifm_blocked_algorithm_name(IfmBlockedAlgorithm algorithm)
{
    return names[algorithm];
}

const ConvAlgorithm *conv_algorithm(IfmBlockedAlgorithm algorithm)
{
    return own[algorithm];
}

/* The named implementation, or the own one of a layer that it does not do. */
static const ConvAlgorithm *row_of(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm,
                                   const IfmBlockedOptions *options)
{
    const ConvAlgorithm *row = options->rows != NULL ? options->rows[algorithm] : NULL;
    if (row == NULL)
        return own[algorithm];
    return own[algorithm] == NULL || row->supports(row, shape, options, NULL) ? row : own[algorithm];
}

const char *ifm_blocked_max_isa(void)
{
    const char *most = getenv("IFM_CONV_ISA");
    return most != NULL && most[0] != '\0' ? most : NULL;
}

int64_t ifm_blocked_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool ifm_blocked_fail(IfmBlockedError *error, IfmBlockedCode code, const char *format, ...)
{
    if (error == NULL)
        return false;
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

/* --- memory and weights ----------------------------------------------------------------------------------------------- */

#define HUGE_PAGE ((size_t)2 << 20)

float *conv_alloc(size_t n_floats)
{
    void *memory = NULL;
    const size_t n_bytes = MAX(n_floats, 16) * sizeof(float);
    if (posix_memalign(&memory, n_bytes >= HUGE_PAGE ? HUGE_PAGE : 64, n_bytes) != 0)
        return NULL;
    if (n_bytes >= HUGE_PAGE)
        madvise(memory, n_bytes, MADV_HUGEPAGE);
    memset(memory, 0, n_bytes);
    return memory;
}

float *conv_own(IfmBlockedConv *conv, size_t n_floats)
{
    assert(conv->n_owned < (int)(sizeof conv->owned / sizeof conv->owned[0]));
    float *memory = conv->owned[conv->n_owned++] = conv_alloc(n_floats);
    conv->is_short = conv->is_short || memory == NULL;
    return memory;
}

size_t conv_n_weights(const IfmBlockedShape *shape)
{
    return (size_t)shape->out_channels * conv_depth(shape);
}

/* IfmBlockedWeights: with what tells them from other transforms of the same weights. */
struct IfmBlockedWeights
{
    atomic_int n_users;
    float *data;
    size_t n_floats;
    const ConvAlgorithm *algorithm;
    const struct ConvKernels *kernels;
    int64_t groups;
    int input_block;
    uint64_t form;
};

/* Whether a layer would transform its weights to these. */
static bool fits(const IfmBlockedWeights *weights, const IfmBlockedConv *conv, size_t n_floats, uint64_t form)
{
    return weights->algorithm == conv->algorithm && weights->kernels == conv->kernels && weights->n_floats == n_floats &&
           weights->groups == conv->shape.groups && weights->input_block == conv->shape.input_block &&
           weights->form == form;
}

static IfmBlockedWeights *weights_new(const IfmBlockedConv *conv, size_t n_floats, uint64_t form)
{
    IfmBlockedWeights *weights = calloc(1, sizeof *weights);
    if (weights != NULL)
        *weights = (IfmBlockedWeights){ .n_users = 1,
                                        .data = conv_alloc(n_floats),
                                        .n_floats = n_floats,
                                        .algorithm = conv->algorithm,
                                        .kernels = conv->kernels,
                                        .groups = conv->shape.groups,
                                        .input_block = conv->shape.input_block,
                                        .form = form };
    return weights;
}

float *conv_own_weights(IfmBlockedConv *conv, size_t n_floats, uint64_t form)
{
    conv->info.weights_bytes = n_floats * sizeof(float);
    for (size_t i = 0; i < conv->options.n_weights && !conv->has_weights; i++)
        if (fits(conv->options.weights[i], conv, n_floats, form))
        {
            conv->weights = conv->options.weights[i];
            conv->has_weights = true;
            atomic_fetch_add(&conv->weights->n_users, 1);
        }
    if (!conv->has_weights)
        conv->weights = weights_new(conv, n_floats, form);
    float *data = conv->weights != NULL ? conv->weights->data : NULL;
    conv->is_short = conv->is_short || data == NULL;
    return data;
}

IfmBlockedWeights *ifm_blocked_conv_weights(const IfmBlockedConv *conv)
{
    if (conv->weights != NULL)
        atomic_fetch_add(&conv->weights->n_users, 1);
    return conv->weights;
}

void ifm_blocked_weights_unref(IfmBlockedWeights *weights)
{
    if (weights == NULL || atomic_fetch_sub(&weights->n_users, 1) > 1)
        return;
    free(weights->data);
    free(weights);
}

int ifm_blocked_weights_n_users(const IfmBlockedWeights *weights)
{
    return atomic_load(&weights->n_users);
}

bool conv_no_memory(const IfmBlockedConv *conv, IfmBlockedError *error)
{
    return ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "%s: no memory for %zu bytes of workspace and weights",
                            names[conv->info.algorithm], conv->info.workspace_bytes + conv->info.weights_bytes);
}

void conv_set_implementation(IfmBlockedConv *conv, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(conv->implementation, sizeof conv->implementation, format, arguments);
    va_end(arguments);
}

void conv_pack_weights(const IfmBlockedShape *shape, const float *weights, float *panels)
{
    const int64_t block = shape->block, channels = shape->channels / shape->groups, in_block = shape->input_block;
    const int64_t group_vectors = shape->out_channels / shape->groups / block, n_taps = shape->kernel[0] * shape->kernel[1];
    for (int64_t group = 0; group < shape->groups; group++)
        for (int64_t first = 0; first < group_vectors; first += CONV_TILE_VECTORS)
        {
            const int64_t vectors = MIN(CONV_TILE_VECTORS, group_vectors - first);
            const int64_t out = (group * group_vectors + first) * block;
            for (int64_t tap = 0; tap < n_taps; tap++)
                for (int64_t c = 0; c < channels; c++)
                {
                    /* With NCHW a channel is a block of one. */
                    const int64_t k = (tap * (channels / in_block) + c / in_block) * in_block + c % in_block;
                    for (int64_t o = 0; o < vectors * block; o++)
                        panels[k * vectors * block + o] = weights[((out + o) * channels + c) * n_taps + tap];
                }
            panels += vectors * block * n_taps * channels;
        }
}

/* --- activations ------------------------------------------------------------------------------------------------------ */

static void set_bounds(IfmBlockedConv *conv)
{
    const IfmBlockedOptions *options = &conv->options;
    conv->low = -INFINITY;
    conv->high = INFINITY;
    conv->is_bounds = true;
    if (options->activation == IFM_BLOCKED_RELU)
        conv->low = 0;
    else if (options->activation == IFM_BLOCKED_CLIP)
    {
        conv->low = options->alpha;
        conv->high = options->beta;
    }
    else
        conv->is_bounds = options->activation == IFM_BLOCKED_IDENTITY;
}

void conv_finish(const IfmBlockedConv *conv, float *output, size_t n_pixels, size_t n_blocks, size_t block_stride)
{
    const ConvActivation activation = { conv->options.activation, conv->options.alpha, conv->options.beta };
    for (size_t b = 0; b < n_blocks && !conv->is_bounds; b++)
        conv->kernels->region->activate(&activation, output + b * block_stride, output + b * block_stride, n_pixels);
}

/* --- a layer ---------------------------------------------------------------------------------------------------------- */

bool ifm_blocked_supports(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm, const IfmBlockedOptions *options,
                          IfmBlockedError *why)
{
    const IfmBlockedOptions defaults = { 0 };
    options = options != NULL ? options : &defaults;
    const ConvAlgorithm *row = row_of(shape, algorithm, options);
    const size_t limit = options->max_workspace_bytes != 0 ? options->max_workspace_bytes : IFM_BLOCKED_WORKSPACE_BYTES;
    if (row == NULL)
        return conv_refuse(why, "no implementation");
    return row->supports(row, shape, options, why) &&
           (row->workspace(row, shape, options) <= limit || conv_refuse(why, "workspace over the limit"));
}

size_t ifm_blocked_workspace(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm, const IfmBlockedOptions *options)
{
    const ConvAlgorithm *row = row_of(shape, algorithm, options);
    return row != NULL && row->supports(row, shape, options, NULL) ? row->workspace(row, shape, options) : 0;
}

/* Spectra of large layers: reading them takes longer than any algorithm gains. */
#define HOPELESS_TIMES 16
#define HOPELESS_BYTES ((size_t)32 << 20)

bool ifm_blocked_is_hopeless(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm, const IfmBlockedOptions *options)
{
    const ConvAlgorithm *row = row_of(shape, algorithm, options);
    const bool is_larger = row != NULL && row->n_weights != NULL && row->supports(row, shape, options, NULL);
    const size_t n = is_larger ? row->n_weights(row, shape, options) : 0;
    return n > HOPELESS_TIMES * conv_n_weights(shape) && n * sizeof(float) > HOPELESS_BYTES;
}

void ifm_blocked_conv_free(IfmBlockedConv *conv)
{
    if (conv == NULL)
        return;
    if (conv->state != NULL && conv->algorithm->free != NULL)
        conv->algorithm->free(conv);
    free(conv->state);
    ifm_blocked_weights_unref(conv->weights);
    for (int i = 0; i < conv->n_owned; i++)
        free(conv->owned[i]);
    free(conv->bias);
    free(conv);
}

static bool prepare(IfmBlockedConv *conv, const float *weights, const float *bias, IfmBlockedError *error)
{
    const IfmBlockedShape *shape = &conv->shape;
    conv->kernels = conv_kernels(shape->block, conv->options.max_isa);
    if (conv->kernels == NULL)
        return ifm_blocked_fail(error, IFM_BLOCKED_INVALID,
                                "convolution: no instruction set \"%s\": avx512, avx2 or portable is expected",
                                conv->options.max_isa);
    conv->bias = conv_alloc((size_t)(shape->out_channels + CONV_TILE_VECTORS * shape->block));
    conv->state = calloc(1, conv->algorithm->state_bytes);
    if (conv->bias == NULL || conv->state == NULL)
        return conv_no_memory(conv, error);
    if (bias != NULL)
        memcpy(conv->bias, bias, (size_t)shape->out_channels * sizeof(float));
    set_bounds(conv);
    conv->n_tasks = (size_t)conv->options.n_threads;
    return conv->algorithm->make(conv, weights, error);
}

/* Whether a fixed algorithm can do the complete shape. */
static bool check(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm, const IfmBlockedOptions *options,
                  IfmBlockedError *error)
{
    IfmBlockedError why;
    if (shape->block == 1)
        return ifm_blocked_fail(error, IFM_BLOCKED_INVALID,
                                "convolution: the processor's algorithms compute in blocks of 8 or 16 channels");
    return ifm_blocked_supports(shape, algorithm, options, &why) ||
           ifm_blocked_fail(error, why.code, "%s cannot do this layer (%s)", names[algorithm], why.text);
}

IfmBlockedConv *ifm_blocked_conv_new(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm,
                                     const IfmBlockedOptions *options, const float *weights, const float *bias,
                                     IfmBlockedError *error)
{
    const IfmBlockedOptions defaults = { 0 };
    IfmBlockedShape complete = *shape;
    options = options != NULL ? options : &defaults;
    if (!ifm_blocked_shape_complete(&complete, error) || !check(&complete, algorithm, options, error))
        return NULL;
    IfmBlockedConv *conv = calloc(1, sizeof *conv);
    if (conv == NULL)
    {
        ifm_blocked_fail(error, IFM_BLOCKED_NO_MEMORY, "%s: no memory for a layer", names[algorithm]);
        return NULL;
    }
    conv->shape = complete;
    conv->options = *options;
    conv->options.n_threads = MAX(options->n_threads, 1);
    conv->info.algorithm = algorithm;
    conv->info.implementation = conv->implementation;
    conv->algorithm = row_of(&complete, algorithm, options);
    const bool is_made = prepare(conv, weights, bias, error);
    conv->options.weights = NULL; /* no longer the caller's */
    conv->options.n_weights = 0;
    if (is_made)
        return conv;
    ifm_blocked_conv_free(conv);
    return NULL;
}

IfmBlockedInfo ifm_blocked_conv_info(const IfmBlockedConv *conv)
{
    return conv->info;
}

const IfmBlockedShape *ifm_blocked_conv_shape(const IfmBlockedConv *conv)
{
    return &conv->shape;
}

ConvPart conv_part(const ConvJob *job, size_t n_parts, size_t index)
{
    const IfmBlockedShape *shape = &job->conv->shape;
    const size_t n_pixels = conv_n_pixels(shape), whole = index / n_parts, groups = (size_t)shape->groups;
    const size_t first = conv_split(n_pixels, n_parts, index % n_parts);
    const size_t input = (size_t)(shape->channels * shape->in[0] * shape->in[1]) / groups;
    const size_t at = whole * ((size_t)shape->out_channels / groups) * n_pixels + first * (size_t)shape->block;
    return (ConvPart){ .input = job->run->input + whole * input,
                       .sum = job->run->sum != NULL ? job->run->sum + at : NULL,
                       .output = job->run->output + at,
                       .group = whole % groups,
                       .first = first,
                       .n_pixels = conv_split(n_pixels, n_parts, index % n_parts + 1) - first };
}

static void run_here(void *user, size_t n, void (*task)(void *data, size_t index), void *data)
{
    for (size_t i = 0; i < n; i++)
        task(data, i);
}

/* Tasks: n of a job, as the slots share them. */
typedef struct
{
    const ConvJob *job;
    size_t n;
    ConvTask task;
} Tasks;

static void run_slot(void *data, size_t slot)
{
    const Tasks *tasks = data;
    const size_t n_slots = (size_t)tasks->job->conv->options.n_threads, end = conv_split(tasks->n, n_slots, slot + 1);
    for (size_t task = conv_split(tasks->n, n_slots, slot); task < end; task++)
        tasks->task(tasks->job, slot, task);
}

void conv_run_tasks(const ConvJob *job, size_t n, ConvTask task)
{
    Tasks tasks = { job, n, task };
    job->run->parallel(job->run->user, (size_t)job->conv->options.n_threads, run_slot, &tasks);
}

void ifm_blocked_conv_run(IfmBlockedConv *conv, const float *input, const float *sum, float *output,
                          IfmBlockedParallel parallel, void *user)
{
    const ConvRun run = { input, sum, output, parallel != NULL ? parallel : run_here, user };
    const ConvJob job = { .conv = conv, .run = &run };
    if (conv->algorithm->run != NULL)
        conv->algorithm->run(conv, &run);
    else
        conv_run_tasks(&job, conv->n_tasks, conv->algorithm->task);
}
