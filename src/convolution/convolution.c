/* Convolution algorithms: the table of them, and what they share. One file an algorithm. */
#include "convolution-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <base/base.h>

static const ConvAlgorithm choices[] = {
    { .name = "guess", .meaning = "the algorithm that a rule names from the layer's shape, without measuring" },
    { .name = "best", .meaning = "the fastest one, measured in the model once a layer shape and kept" },
    { .name = "runtime", .meaning = "the runtime's own kernel" },
};
static const ConvAlgorithm *const algorithms[IFM_N_CONV_ALGORITHMS] = {
    [IFM_CONV_DIRECT] = &conv_direct,
    [IFM_CONV_GEMM] = &conv_gemm,
    [IFM_CONV_IMPLICIT_GEMM] = &conv_implicit_gemm,
    [IFM_CONV_IMPLICIT_PRECOMP_GEMM] = &conv_implicit_precomp_gemm,
    [IFM_CONV_FFT] = &conv_fft,
    [IFM_CONV_FFT_TILING] = &conv_fft_tiling,
    [IFM_CONV_WINOGRAD] = &conv_winograd,
    [IFM_CONV_WINOGRAD_NONFUSED] = &conv_winograd_nonfused,
    [IFM_CONV_GUESS] = &choices[0],
    [IFM_CONV_BEST] = &choices[1],
    [IFM_CONV_RUNTIME] = &choices[2],
};

/* --- names ------------------------------------------------------------------------------------------------------------ */

const char *ifm_conv_algorithm_name(IfmConvAlgorithm algorithm)
{
    return algorithms[algorithm]->name;
}

const char *ifm_conv_algorithm_meaning(IfmConvAlgorithm algorithm)
{
    return algorithms[algorithm]->meaning;
}

gboolean ifm_conv_algorithm_parse(const char *text, IfmConvAlgorithm *algorithm, GError **error)
{
    const char *names[IFM_N_CONV_ALGORITHMS + 1] = { NULL };
    g_autofree char *plain = g_strdelimit(g_ascii_strdown(text, -1), " -", '_');
    for (int i = 0; i < IFM_N_CONV_ALGORITHMS; i++)
    {
        names[i] = algorithms[i]->name;
        if (g_str_equal(plain, names[i]))
        {
            *algorithm = (IfmConvAlgorithm)i;
            return TRUE;
        }
    }
    g_autofree char *hint = ifm_nearest_hint(plain, names), *list = g_strjoinv(", ", (char **)names);
    return hint[0] != '\0' ? ifm_error_refuse(error, "\"%s\" is not a convolution algorithm%s", text, hint)
                           : ifm_error_refuse(error, "\"%s\" is not a convolution algorithm (there are: %s)", text, list);
}

/* --- memory and weights ----------------------------------------------------------------------------------------------- */

#define HUGE_PAGE ((gsize)2 << 20)

float *conv_alloc(gsize n_floats)
{
    void *memory = NULL;
    const gsize n_bytes = MAX(n_floats, 16) * sizeof(float);
    if (posix_memalign(&memory, n_bytes >= HUGE_PAGE ? HUGE_PAGE : 64, n_bytes) != 0)
        return NULL;
    if (n_bytes >= HUGE_PAGE)
        madvise(memory, n_bytes, MADV_HUGEPAGE);
    memset(memory, 0, n_bytes);
    return memory;
}

float *conv_own(IfmConv *conv, gsize n_floats)
{
    g_assert(conv->n_owned < (int)G_N_ELEMENTS(conv->owned));
    float *memory = conv->owned[conv->n_owned++] = conv_alloc(n_floats);
    conv->is_short = conv->is_short || memory == NULL;
    return memory;
}

float *conv_own_weights(IfmConv *conv)
{
    const gsize n_floats = (gsize)conv->shape.out_channels * conv_depth(&conv->shape);
    conv->info.weights_bytes = n_floats * sizeof(float);
    return conv_own(conv, n_floats);
}

gboolean conv_no_memory(const IfmConv *conv, GError **error)
{
    return ifm_error_set(error, IFM_ERROR_MEMORY, "%s: no memory for %" G_GSIZE_FORMAT " bytes of workspace and weights",
                         conv->algorithm->name, conv->info.workspace_bytes + conv->info.weights_bytes);
}

void conv_set_implementation(IfmConv *conv, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(conv->implementation);
    conv->implementation = g_strdup_vprintf(format, arguments);
    conv->info.implementation = conv->implementation;
    va_end(arguments);
}

void conv_pack_weights(const IfmConvShape *shape, const float *weights, float *panels)
{
    const gint64 block = shape->block, channels = shape->channels / shape->groups, in_block = shape->input_block;
    const gint64 group_vectors = shape->out_channels / shape->groups / block, n_taps = shape->kernel[0] * shape->kernel[1];
    for (gint64 group = 0; group < shape->groups; group++)
        for (gint64 first = 0; first < group_vectors; first += CONV_TILE_VECTORS)
        {
            const gint64 vectors = MIN(CONV_TILE_VECTORS, group_vectors - first);
            const gint64 out = (group * group_vectors + first) * block;
            for (gint64 tap = 0; tap < n_taps; tap++)
                for (gint64 c = 0; c < channels; c++)
                {
                    /* With NCHW a channel is a block of one. */
                    const gint64 k = (tap * (channels / in_block) + c / in_block) * in_block + c % in_block;
                    for (gint64 o = 0; o < vectors * block; o++)
                        panels[k * vectors * block + o] = weights[((out + o) * channels + c) * n_taps + tap];
                }
            panels += vectors * block * n_taps * channels;
        }
}

/* --- activations ------------------------------------------------------------------------------------------------------ */

static void set_bounds(IfmConv *conv)
{
    const IfmConvOptions *options = &conv->options;
    conv->low = -INFINITY;
    conv->high = INFINITY;
    conv->is_bounds = TRUE;
    if (options->activation == IFM_CONV_RELU)
        conv->low = 0;
    else if (options->activation == IFM_CONV_CLIP)
    {
        conv->low = options->alpha;
        conv->high = options->beta;
    }
    else
        conv->is_bounds = options->activation == IFM_CONV_IDENTITY;
}

static float activate(const IfmConvOptions *options, float x)
{
    switch (options->activation)
    {
    case IFM_CONV_LEAKY_RELU:
        return x < 0 ? options->alpha * x : x;
    case IFM_CONV_HARD_SIGMOID:
        return fmaxf(0, fminf(1, options->alpha * x + options->beta));
    case IFM_CONV_SIGMOID:
        return 1 / (1 + expf(-x));
    case IFM_CONV_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

void conv_finish(const IfmConv *conv, float *output, gsize n_pixels, gsize n_blocks, gsize block_stride)
{
    if (conv->is_bounds)
        return;
    for (gsize b = 0; b < n_blocks; b++)
        for (gsize i = 0; i < n_pixels * (gsize)conv->shape.block; i++)
            output[b * block_stride + i] = activate(&conv->options, output[b * block_stride + i]);
}

/* --- a layer ---------------------------------------------------------------------------------------------------------- */

gboolean ifm_conv_supports(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                           const char **why)
{
    const IfmConvOptions defaults = { 0 };
    options = options != NULL ? options : &defaults;
    const ConvAlgorithm *row = algorithms[algorithm];
    const gsize limit = options->max_workspace_bytes != 0 ? options->max_workspace_bytes : IFM_CONV_WORKSPACE_BYTES;
    const char *reason = algorithm < IFM_N_CONV_FIXED ? row->refuses(row, shape, options) : NULL;
    if (algorithm < IFM_N_CONV_FIXED && reason == NULL && row->workspace(row, shape, options) > limit)
        reason = "workspace over the limit";
    if (why != NULL)
        *why = reason;
    return reason == NULL;
}

gsize ifm_conv_workspace(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options)
{
    const ConvAlgorithm *row = algorithms[algorithm];
    return row->refuses(row, shape, options) == NULL ? row->workspace(row, shape, options) : 0;
}

void ifm_conv_free(IfmConv *conv)
{
    if (conv == NULL)
        return;
    if (conv->state != NULL && conv->algorithm->free != NULL)
        conv->algorithm->free(conv);
    g_free(conv->state);
    for (int i = 0; i < conv->n_owned; i++)
        free(conv->owned[i]);
    free(conv->bias);
    g_free(conv->implementation);
    g_free(conv);
}

static gboolean prepare(IfmConv *conv, const float *weights, const float *bias, GError **error)
{
    const IfmConvShape *shape = &conv->shape;
    conv->kernels = conv_kernels(shape->block, conv->options.max_isa);
    if (conv->kernels == NULL)
        return ifm_error_refuse(error, "convolution: no instruction set \"%s\": avx512, avx2 or portable is expected",
                                conv->options.max_isa);
    conv->bias = conv_alloc((gsize)(shape->out_channels + CONV_TILE_VECTORS * shape->block));
    if (conv->bias == NULL)
        return conv_no_memory(conv, error);
    if (bias != NULL)
        memcpy(conv->bias, bias, (gsize)shape->out_channels * sizeof(float));
    set_bounds(conv);
    conv->state = g_malloc0(conv->algorithm->state_bytes);
    conv->n_tasks = (gsize)conv->options.n_threads;
    return conv->algorithm->make(conv, weights, error);
}

IfmConv *ifm_conv_new(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                      const float *weights, const float *bias, GError **error)
{
    const IfmConvOptions defaults = { 0 };
    IfmConvShape complete = *shape;
    options = options != NULL ? options : &defaults;
    if (!ifm_conv_shape_complete(&complete, error))
        return NULL;
    if (algorithm == IFM_CONV_GUESS)
        algorithm = ifm_conv_guess(&complete, options);
    const char *why = NULL;
    if (complete.block == 1)
    {
        ifm_error_refuse(error, "convolution: the processor's algorithms compute in blocks of 8 or 16 channels");
        return NULL;
    }
    if (algorithm >= IFM_N_CONV_FIXED || !ifm_conv_supports(&complete, algorithm, options, &why))
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s cannot do this layer (%s)", ifm_conv_algorithm_name(algorithm),
                      why != NULL ? why : "not a fixed algorithm");
        return NULL;
    }
    g_autoptr(IfmConv) conv = g_new0(IfmConv, 1);
    conv->shape = complete;
    conv->options = *options;
    conv->options.n_threads = MAX(options->n_threads, 1);
    conv->info.algorithm = algorithm;
    conv->algorithm = algorithms[algorithm];
    return prepare(conv, weights, bias, error) ? g_steal_pointer(&conv) : NULL;
}

IfmConvInfo ifm_conv_info(const IfmConv *conv)
{
    return conv->info;
}

const IfmConvShape *ifm_conv_shape(const IfmConv *conv)
{
    return &conv->shape;
}

ConvPart conv_part(const ConvJob *job, gsize n_parts, gsize index)
{
    const IfmConvShape *shape = &job->conv->shape;
    const gsize n_pixels = conv_n_pixels(shape), whole = index / n_parts, groups = (gsize)shape->groups;
    const gsize first = conv_split(n_pixels, n_parts, index % n_parts);
    const gsize input = (gsize)(shape->channels * shape->in[0] * shape->in[1]) / groups;
    const gsize at = whole * ((gsize)shape->out_channels / groups) * n_pixels + first * (gsize)shape->block;
    return (ConvPart){ .input = job->run->input + whole * input,
                       .sum = job->run->sum != NULL ? job->run->sum + at : NULL,
                       .output = job->run->output + at,
                       .group = whole % groups,
                       .first = first,
                       .n_pixels = conv_split(n_pixels, n_parts, index % n_parts + 1) - first };
}

static void run_here(void *user, gsize n, void (*task)(void *data, gsize index), void *data)
{
    for (gsize i = 0; i < n; i++)
        task(data, i);
}

/* Tasks: n of a job, as the slots share them. */
typedef struct
{
    const ConvJob *job;
    gsize n;
    ConvTask task;
} Tasks;

static void run_slot(void *data, gsize slot)
{
    const Tasks *tasks = data;
    const gsize n_slots = (gsize)tasks->job->conv->options.n_threads, end = conv_split(tasks->n, n_slots, slot + 1);
    for (gsize task = conv_split(tasks->n, n_slots, slot); task < end; task++)
        tasks->task(tasks->job, slot, task);
}

void conv_run_tasks(const ConvJob *job, gsize n, ConvTask task)
{
    Tasks tasks = { job, n, task };
    job->run->parallel(job->run->user, (gsize)job->conv->options.n_threads, run_slot, &tasks);
}

void ifm_conv_run(IfmConv *conv, const float *input, const float *sum, float *output, IfmConvParallel parallel, void *user)
{
    const ConvRun run = { input, sum, output, parallel != NULL ? parallel : run_here, user };
    const ConvJob job = { .conv = conv, .run = &run };
    if (conv->algorithm->run != NULL)
        conv->algorithm->run(conv, &run);
    else
        conv_run_tasks(&job, conv->n_tasks, conv->algorithm->task);
}
