/* Shared by the files of regions: a program, and what is made of it for sizes. */
#pragma once
#include "blocked-private.h"
#include "region.h"

#include <pthread.h>

/* --- a program -------------------------------------------------------------------------------------------------------- */

typedef enum
{
    REGION_INPUT,
    REGION_CONV,
    REGION_MAX_POOL,
    REGION_AVERAGE_POOL,
    REGION_GLOBAL_AVERAGE_POOL,
    REGION_ADD,
    REGION_MUL,
    REGION_SCALE,
    REGION_ACT,
    REGION_CONCAT,
    REGION_RESIZE,
    N_REGION_KINDS
} RegionKind;

/* RegionStep: a line; its value has the same index. What a kind does not have is zeros.
 * @values: those that it reads; of a convolution a second one is the sum
 * @weights, @bias: indices of constants, -1: none; those of a scale are the factors and the terms
 * @asked: index of an algorithm; IFM_N_BLOCKED_ALGORITHMS: the rule
 * @last_use: of its value: the last step that reads it; SIZE_MAX: an output; 0: none */
typedef struct
{
    RegionKind kind;
    size_t line, n_values, *values, last_use, layer;
    int weights, bias;
    int64_t channels, kernel[2], stride[2], dilation[2], pads[4], group, factors[2];
    bool is_blocked, is_ceil, includes_pad;
    ConvActivation activation;
    int asked, winograd_outputs;
    char *name;
} RegionStep;

typedef struct
{
    size_t value, line;
    bool is_blocked;
} RegionOutput;

/* RegionForms: the weights of a layer, as its algorithms have transformed them: those that a run has, and the last one. */
#define REGION_MAX_FORMS 16
typedef struct
{
    IfmBlockedWeights *all[REGION_MAX_FORMS];
    size_t n;
} RegionForms;

/* RegionArena: memory for the values of one run at a time. */
typedef struct RegionArena
{
    struct RegionArena *next; /* of those that no run has */
    size_t n_floats;
    float *at;
} RegionArena;

/* Beyond these a program is refused: nothing that a network needs, and nothing that takes long to plan. */
#define REGION_MAX_STEPS 10000
#define REGION_MAX_SIZE (1 << 24)

struct IfmRegion
{
    RegionStep *steps;
    size_t n_steps, n_inputs, n_layers;
    RegionOutput *outputs;
    size_t n_outputs;
    IfmRegionConstant *constants;
    size_t n_constants;
    IfmRegionOptions options;
    const ConvKernels *kernels;
    pthread_mutex_t making; /* of forms and n_transforms, and held while layers are made */
    RegionForms *forms;     /* of each layer */
    size_t n_transforms;
    pthread_mutex_t mutex; /* of what follows, and the number of threads */
    IfmRegionRun *idle;    /* the last one first */
    RegionArena *arenas;   /* that no run has */
    IfmRegionCounts counts;
};

/* region_parse: Fills steps and outputs. Returns: false with an error */
bool region_parse(IfmRegion *region, const char *program, IfmBlockedError *error);

#define region_refuse(error, ...) ifm_blocked_fail(error, IFM_BLOCKED_INVALID, __VA_ARGS__)

/* --- made for sizes --------------------------------------------------------------------------------------------------- */

/* RegionPlace: floats from @offset on of a buffer; @buffer: -1: the caller's tensor in NCHW. */
typedef struct
{
    int buffer;
    size_t offset;
} RegionPlace;

/* RegionBuffer: memory of one value after the other.
 * @first, @last: the steps at which it is written first and used last
 * @input, @output: the caller's tensor that it is, -1: it is at @at of the arena, in floats */
typedef struct
{
    size_t n_floats, first, last, at;
    int input, output;
} RegionBuffer;

/* RegionValue: @size: of images, channels, rows, columns
 * @place: of the form in blocks; buffer -1: there is none yet
 * @nchw: index of the caller's tensor that has it in NCHW, -1: none
 * @whole: index of the concatenation that it is made in, from block @first_block on; SIZE_MAX: none */
typedef struct
{
    int64_t size[4];
    size_t n_blocks, n_floats, whole, first_block;
    RegionPlace place;
    int nchw;
} RegionValue;

/* RegionWork: one pass: units 0 to @n_units - 1 may run on any thread.
 * @value: that it makes or, of an output, reads    @output: index of the caller's tensor */
typedef struct RegionWork RegionWork;
struct RegionWork
{
    const RegionStep *step;
    size_t value, output;
    RegionPlace from[2], to;
    size_t n_units, unit_floats;
    void (*run)(const IfmRegionRun *run, const RegionWork *work, size_t first, size_t end); /* NULL: a convolution */
    RegionPool pool;
    RegionBinary binary;
    RegionPlace *parts; /* of a concatenation */
    float *by, *plus;   /* of a scale, by whole blocks; owned */
};

/* RegionLayer: @shape: of the model: true channels and groups    @padded: what is computed */
typedef struct
{
    const RegionStep *step;
    IfmBlockedConv *conv;
    IfmBlockedShape shape, padded;
    bool is_replaced;
    int64_t ran_ns;
} RegionLayer;

struct IfmRegionRun
{
    IfmRegion *region;
    IfmRegionRun *next; /* of the idle ones */
    int n_threads;
    int64_t (*shapes)[4];
    RegionValue *values;
    RegionBuffer *buffers;
    size_t n_buffers;
    RegionWork *works;
    size_t n_works;
    RegionLayer *layers;
    size_t arena_floats, own_bytes; /* own_bytes: of workspaces, and of weights that were transformed for it */
    int64_t taken_ns, ran_ns;       /* where the region is timed */
    bool is_empty;                  /* no images */
    /* while somebody has it */
    RegionArena *arena; /* NULL: it needs none */
    const float *const *inputs;
    float *const *outputs;
};

/* region_size: Fills the values' sizes. region_plan: and buffers and works. Returns: false with an error */
bool region_size(IfmRegionRun *run, IfmBlockedError *error);
bool region_plan(IfmRegionRun *run, IfmBlockedError *error);

/* region_work_set: The pass of a step, whose places are known. Returns: false without memory. The others: into blocks, out
 * of them, lanes without a channel set to 0, and a value as it is. */
bool region_work_set(const IfmRegionRun *run, RegionWork *work);
void region_work_to_blocks(const IfmRegionRun *run, RegionWork *work);
void region_work_from_blocks(const IfmRegionRun *run, RegionWork *work);
void region_work_clear_lanes(const IfmRegionRun *run, RegionWork *work);
void region_work_copy(RegionWork *work);

/* region_address: of a place, while it runs. */
float *region_address(const IfmRegionRun *run, RegionPlace place);

/* region_layer_make: The convolution of a layer, by what its step asks for or what takes its place. Under region->making.
 */
bool region_layer_make(IfmRegionRun *run, RegionLayer *layer, IfmBlockedError *error);

/* region_forms_prune: Frees the weights that no run has, but for the last ones. Under region->making. */
void region_forms_prune(RegionForms *forms);
