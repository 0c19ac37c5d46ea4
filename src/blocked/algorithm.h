/* Shared with other rooms: what an algorithm of convolution is made of. */
#pragma once
#include <blocked/blocked.h>

/* Limits of a tile of outputs, over all instruction sets. */
#define CONV_MAX_PIXELS 14
#define CONV_MAX_BLOCK 16
#define CONV_TILE_VECTORS 2

/* --- algorithms ------------------------------------------------------------------------------------------------------- */

/* ConvRun: one run. */
typedef struct
{
    const float *input, *sum;
    float *output;
    IfmBlockedParallel
        parallel; /* never NULL; its tasks are slots: options.n_threads of them, each with scratch of its own */
    void *user;
} ConvRun;

struct IfmBlockedConv
{
    IfmBlockedShape shape;
    IfmBlockedOptions options;
    IfmBlockedInfo info;
    const struct ConvKernels *kernels;
    const struct ConvAlgorithm *algorithm;
    float *bias;     /* [out_channels rounded up to whole tiles]; zeros without bias */
    float low, high; /* of ConvStore: what of the activation is a bound */
    bool is_bounds;  /* the activation is no more than those bounds */
    char implementation[128];
    void *state;                       /* of the algorithm */
    struct IfmBlockedWeights *weights; /* conv_own_weights() */
    bool has_weights;                  /* another layer has filled them */
    float *owned[8];                   /* memory of the state: conv_own() */
    int n_owned;
    bool is_short;  /* there was no memory for one of them */
    size_t n_tasks; /* of ConvAlgorithm.task: n_threads unless make() sets another number */
};

/* ConvJob: a run, or one pass of it over a part of the layer. */
typedef struct
{
    IfmBlockedConv *conv;
    const ConvRun *run;
    size_t first, n; /* of the pass: what the algorithm divides the layer into */
} ConvJob;

/* ConvTask: one of the equal parts of a job. @slot: whose scratch it may use */
typedef void (*ConvTask)(const ConvJob *job, size_t slot, size_t task);

/* ConvAlgorithm: one row of the table in convolution.c, or of IfmBlockedOptions.rows. Two of one file are told apart by
 * @self. */
typedef struct ConvAlgorithm ConvAlgorithm;
struct ConvAlgorithm
{
    const char *meaning;
    /* supports: whether it can do the shape; @why: as of ifm_blocked_supports(). The workspace is checked by workspace. */
    bool (*supports)(const ConvAlgorithm *self, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                     IfmBlockedError *why);
    /* workspace: bytes for one run, and those of the transformed weights. */
    size_t (*workspace)(const ConvAlgorithm *self, const IfmBlockedShape *shape, const IfmBlockedOptions *options);
    /* n_weights: numbers of the transformed weights; NULL: about as many as the layer has, or a few times as many. */
    size_t (*n_weights)(const ConvAlgorithm *self, const IfmBlockedShape *shape, const IfmBlockedOptions *options);
    size_t state_bytes; /* of IfmBlockedConv.state, which begins as zeros */
    /* make: fills state, info.implementation (through conv_set_implementation()), info.workspace_bytes, weights_bytes. */
    bool (*make)(IfmBlockedConv *conv, const float *weights, IfmBlockedError *error);
    /* run: NULL: @task for each of IfmBlockedConv.n_tasks */
    void (*run)(IfmBlockedConv *conv, const ConvRun *run);
    ConvTask task;
    void (*free)(IfmBlockedConv *conv); /* what the state has besides conv_own(); NULL: nothing */
};

/* --- what algorithms share -------------------------------------------------------------------------------------------- */

/* conv_alloc: zeroed, aligned to 64 bytes, large pages asked for where it is large. Freed by free(). NULL: no memory. */
float *conv_alloc(size_t n_floats);
/* conv_own: the same, freed with the layer. NULL: no memory, and conv->is_short. */
float *conv_own(IfmBlockedConv *conv, size_t n_floats);
void conv_set_implementation(IfmBlockedConv *conv, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* conv_own_weights: the same for weights as they are read; sets info.weights_bytes. They are filled where has_weights is
 * false. @form: a number for each form in which the algorithm reads the weights of one layer, such as the size of its
 * tiles: not the size of an image by itself, nor the number of threads. conv_n_weights: of a layer, in whatever order */
float *conv_own_weights(IfmBlockedConv *conv, size_t n_floats, uint64_t form);
size_t conv_n_weights(const IfmBlockedShape *shape);
/* conv_run_tasks: tasks 0 to n - 1, a share of them in a row for each slot. */
void conv_run_tasks(const ConvJob *job, size_t n, ConvTask task);

/* conv_no_memory: sets IFM_BLOCKED_NO_MEMORY. Returns: false */
bool conv_no_memory(const IfmBlockedConv *conv, IfmBlockedError *error);
/* conv_refuse: sets IFM_BLOCKED_UNSUPPORTED. Returns: false */
#define conv_refuse(why, ...) ifm_blocked_fail(why, IFM_BLOCKED_UNSUPPORTED, __VA_ARGS__)
/* conv_supports_groups: whether vectors of channels can do these groups, for ConvAlgorithm.supports. */
bool conv_supports_groups(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                          IfmBlockedError *why);

/* conv_depth: multiplications for one output: channels / groups * kernel */
static inline size_t conv_depth(const IfmBlockedShape *shape)
{
    return (size_t)(shape->channels / shape->groups * shape->kernel[0] * shape->kernel[1]);
}
static inline size_t conv_n_pixels(const IfmBlockedShape *shape)
{
    return (size_t)(shape->out[0] * shape->out[1]);
}

/* conv_pack_weights: into panels [group][panel][k][vectors][block] where the vectors of a group's last panel may be 1.
 * Order of k: kernel row, kernel column, block of input channels, channel. @panels: [out_channels * conv_depth()] */
void conv_pack_weights(const IfmBlockedShape *shape, const float *weights, float *panels);

/* conv_pack_patch: what one output pixel reads, in the order of conv_pack_weights(). @input: of the image and group
 * @row: (out) [conv_depth()] */
void conv_pack_patch(const IfmBlockedShape *shape, const float *input, int64_t y, int64_t x, float *row);

/* conv_finish: the part of the activation that is no bound, of n_blocks blocks of n_pixels pixels. */
void conv_finish(const IfmBlockedConv *conv, float *output, size_t n_pixels, size_t n_blocks, size_t block_stride);

/* conv_split: the bounds of part i of n nearly equal parts of a whole. */
static inline size_t conv_split(size_t whole, size_t n, size_t i)
{
    return whole * i / n;
}

/* ConvPart: part @part of @n_parts of the pixels of one group of one image. @input: of the group; @sum, @output: of the
 * first pixel and the group's first block. */
typedef struct
{
    const float *input, *sum;
    float *output;
    size_t group, first, n_pixels;
} ConvPart;
/* conv_n_parts: in all images and groups. conv_part: @index: of all parts, those of one group of an image in a row */
static inline size_t conv_n_parts(const IfmBlockedShape *shape, size_t n_parts)
{
    return (size_t)(shape->batch * shape->groups) * n_parts;
}
ConvPart conv_part(const ConvJob *job, size_t n_parts, size_t index);

/* conv_algorithm: the own row of an algorithm, or NULL. */
const ConvAlgorithm *conv_algorithm(IfmBlockedAlgorithm algorithm);
