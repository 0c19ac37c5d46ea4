/* Shared with other rooms: layers, algorithms and their tuning. */
#pragma once
#include <jansson.h>

#include <blocked/blocked.h>
#include <inferometer/engine.h>

G_BEGIN_DECLS

/* --- algorithms of convolution ------------------------------------------------------------------------------------- */

/** ifm_conv_algorithm_parse: blanks and dashes count as underscores. Returns: FALSE with IFM_ERROR_INVALID and the nearest
 * name. */
gboolean ifm_conv_algorithm_parse(const char *text, IfmConvAlgorithm *algorithm, GError **error);

/**
 * IfmConvLayer: what ran of one convolution of a model that was compiled with convolution algorithms.
 * @layer: the node's name in the graph that the runtime optimised
 * @asked: what the options name: "winograd", "guess", "best"
 * @algorithm: what ran: a fixed one, or "runtime": the runtime's own kernel
 * @implementation: the code path: packing and kernel
 * @fell_back: the algorithm that was asked for cannot do the layer
 * @macs: as everywhere in this library, by the definition of a convolution; 0 where the sizes are not known
 */
typedef struct
{
    char *layer, *asked, *algorithm, *implementation;
    gint64 workspace_bytes;
    gboolean fell_back;
    gint64 in_channels, out_channels, kernel_rows, kernel_columns, macs;
    /* 0: not recorded */
    gint64 groups, stride_rows, stride_columns, dilation_rows, dilation_columns, batch, out_rows, out_columns;
} IfmConvLayer;

/** ifm_conv_layer_fields: of IfmConvLayer, as files and stores have it. */
extern const IfmRecordField ifm_conv_layer_fields[];

/** ifm_conv_layer_new: (transfer full) texts are "". ifm_conv_layer_copy: (transfer full) */
IfmConvLayer *ifm_conv_layer_new(void);
IfmConvLayer *ifm_conv_layer_copy(const IfmConvLayer *layer);
void ifm_conv_layer_free(IfmConvLayer *layer);

/** ifm_conv_layers_new: Returns: (transfer full) an empty list of IfmConvLayer*, which it owns. */
GPtrArray *ifm_conv_layers_new(void);

/** ifm_conv_layers_to_json: (transfer full) ifm_conv_layers_from_json: (transfer full) NULL where @json is no such list. */
json_t *ifm_conv_layers_to_json(const GPtrArray *layers);
GPtrArray *ifm_conv_layers_from_json(const json_t *json);

/**
 * ifm_conv_layers_check: Whether two records of one model keep their labels apart.
 * @a, @b: IfmConvLayer*: the same model, each compiled with one algorithm
 * Returns: FALSE with IFM_ERROR_FAILED: "layer: gemm and implicit_gemm are one implementation (…)", for the first layer
 * where two different fixed algorithms ran by the same code. A layer that fell back names what ran, and is right.
 */
gboolean ifm_conv_layers_check(const GPtrArray *a, const GPtrArray *b, GError **error);

/* --- what "best" measured ------------------------------------------------------------------------------------------ */

extern const IfmRecordField ifm_conv_tuned_fields[];

void ifm_conv_tuned_free(IfmConvTuned *tuned);

/** ifm_conv_tuning_add: Adds rows, or replaces those of the same key. The file is written completely or not at all; what
 * other processes add at the same time stays. @rows: IfmConvTuned* */
gboolean ifm_conv_tuning_add(const char *path, const GPtrArray *rows, GError **error);

/* --- layers on the processor --------------------------------------------------------------------------------------- */

/* Convolutions on the processor by a named algorithm, in the blocked layout of the runtime that calls them: those of
 * blocked/blocked.h, and with oneDNN. */
typedef IfmBlockedActivation IfmConvActivation;
typedef IfmBlockedShape IfmConvShape;
typedef IfmBlockedParallel IfmConvParallel;
typedef IfmBlockedOptions IfmConvOptions; /* rows: NULL: those of oneDNN, where it is there, else the own ones */
typedef IfmBlockedConv IfmConv;
#define IFM_CONV_WORKSPACE_BYTES IFM_BLOCKED_WORKSPACE_BYTES
/** ifm_conv_own_rows: of IfmConvOptions.rows: the own implementations alone. */
extern const struct ConvAlgorithm *const ifm_conv_own_rows[IFM_N_BLOCKED_ALGORITHMS];

/** ifm_conv_shape_complete: Checks a shape and fills @out. Returns: FALSE with IFM_ERROR_INVALID. */
gboolean ifm_conv_shape_complete(IfmConvShape *shape, GError **error);

/** IfmConvInfo: what runs. Borrowed from the layer. */
typedef struct
{
    IfmConvAlgorithm algorithm; /* a fixed one, what guess chose included */
    const char *implementation; /* packing and kernel, such as "F(4,3) fused, avx512 14x32" or "onednn jit:avx512_core" */
    gsize workspace_bytes, weights_bytes;
} IfmConvInfo;

/** ifm_conv_new: as ifm_blocked_conv_new(). @algorithm: a fixed one or IFM_CONV_GUESS
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and one line why the algorithm cannot do this layer. */
IfmConv *ifm_conv_new(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                      const float *weights, const float *bias, GError **error);

/* These are the functions of blocked. */
static inline void ifm_conv_free(IfmConv *conv)
{
    ifm_blocked_conv_free(conv);
}
static inline void ifm_conv_run(IfmConv *conv, const float *input, const float *sum, float *output,
                                IfmConvParallel parallel, void *user)
{
    ifm_blocked_conv_run(conv, input, sum, output, parallel, user);
}
static inline const IfmConvShape *ifm_conv_shape(const IfmConv *conv)
{
    return ifm_blocked_conv_shape(conv);
}
static inline gint64 ifm_conv_shape_macs(const IfmConvShape *shape)
{
    return ifm_blocked_shape_macs(shape);
}
static inline const char *ifm_conv_isa(int block, const char *max_isa)
{
    return ifm_blocked_isa(block, max_isa);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConv, ifm_conv_free)

IfmConvInfo ifm_conv_info(const IfmConv *conv);

/** ifm_conv_supports: as ifm_blocked_supports(). @why: (out) (optional) static text, such as "stride 2"; NULL where it can.
 */
gboolean ifm_conv_supports(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                           const char **why);

/** ifm_conv_workspace: as ifm_blocked_workspace(). ifm_conv_is_hopeless: as ifm_blocked_is_hopeless(), of a fixed one.
 * ifm_conv_guess: as ifm_blocked_guess(). */
gsize ifm_conv_workspace(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options);
gboolean ifm_conv_is_hopeless(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options);
IfmConvAlgorithm ifm_conv_guess(const IfmConvShape *shape, const IfmConvOptions *options);

/**
 * IfmConvChoice: which algorithm each layer of a model gets.
 * @all: of layers that @layers does not name
 * @fallback: of those that refuse it, else the runtime's kernel; IFM_N_CONV_ALGORITHMS: none, the model is refused
 * @layers: name -> GINT_TO_POINTER(IfmConvAlgorithm)
 */
typedef struct
{
    IfmConvAlgorithm all, fallback;
    gsize max_workspace_bytes;
    GHashTable *layers;
} IfmConvChoice;

/** ifm_conv_choice_init: @lines: NULL-terminated: "ALGORITHM", "LAYER=ALGORITHM", "fallback=ALGORITHM", "workspace=BYTES";
 * or NULL    Returns: FALSE with IFM_ERROR_INVALID */
gboolean ifm_conv_choice_init(IfmConvChoice *choice, const char *const *lines, GError **error);
void ifm_conv_choice_clear(IfmConvChoice *choice);

/** ifm_conv_choice_has: whether a layer may get it. */
gboolean ifm_conv_choice_has(const IfmConvChoice *choice, IfmConvAlgorithm algorithm);

/** ifm_conv_choice_lines: (transfer full) the lines that mean the same, algorithms by their names, layers in order: equal
 * choices have equal lines. */
GStrv ifm_conv_choice_lines(const IfmConvChoice *choice);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmConvChoice, ifm_conv_choice_clear)

/** ifm_conv_processor: (transfer full) what tells this processor from another kind: family, model, stepping, microcode,
 * whether it is a hypervisor's, caches. */
char *ifm_conv_processor(void);

/** ifm_conv_tuned_key: (transfer full) a row without an algorithm: the key of a layer on this processor.
 * @runtime: "onnxruntime 1.23.0"; its kernel is a candidate */
IfmConvTuned *ifm_conv_tuned_key(const IfmConvShape *shape, const IfmConvOptions *options, const char *runtime);

/** ifm_conv_tuned_name: (transfer full) as a row has an algorithm: "gemm"; "gemm, FMA": in f32 where TF32 is allowed.
 * ifm_conv_tuned_parse: of a row. FALSE with IFM_ERROR_INVALID */
char *ifm_conv_tuned_name(IfmConvAlgorithm algorithm, gboolean is_exact);
gboolean ifm_conv_tuned_parse(const IfmConvTuned *row, IfmConvAlgorithm *algorithm, gboolean *is_exact, GError **error);

/** ifm_conv_tuned_find: (transfer none) the row of the same key; NULL: there is none. */
IfmConvTuned *ifm_conv_tuned_find(const GPtrArray *rows, const IfmConvTuned *key);

/* --- convolution cuda ---------------------------------------------------------------------------------------------- */

/* Convolutions on an NVIDIA GPU by a named algorithm: cuDNN's, and a direct kernel of our own. Tensors are NCHW in f32 on
 * the GPU. cuDNN, the CUDA runtime and NVRTC are opened at run time; setup/install cuda gets them. */

/** IfmConvCuda: a GPU with a handle of cuDNN of our own and a workspace that all layers share. One stream. */
typedef struct IfmConvCuda IfmConvCuda;

/** ifm_conv_cuda_open: @device: the CUDA runtime's index    @allows_tf32: an f32 product may be one of TF32, where the GPU
 * has it: algorithms that were asked for take it, a choice takes the faster Returns: (transfer full) NULL with
 * IFM_ERROR_UNAVAILABLE and one line: what is missing and how to get it. */
IfmConvCuda *ifm_conv_cuda_open(int device, gboolean allows_tf32, GError **error);
void ifm_conv_cuda_free(IfmConvCuda *cuda);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConvCuda, ifm_conv_cuda_free)

/** ifm_conv_cuda_allows_tf32: and the GPU has it: each algorithm of cuDNN's then has two arithmetics. */
gboolean ifm_conv_cuda_allows_tf32(const IfmConvCuda *cuda);

/** ifm_conv_cuda_tuned_key: as ifm_conv_tuned_key(), of a layer on this GPU. */
IfmConvTuned *ifm_conv_cuda_tuned_key(const IfmConvCuda *cuda, const IfmConvShape *shape, const IfmConvOptions *options,
                                      const char *runtime);

/** ifm_conv_cuda_is_choice: whether a choice may take it; what is not is run where it is asked for. */
gboolean ifm_conv_cuda_is_choice(const IfmConvShape *shape, IfmConvAlgorithm algorithm);

/** IfmConvCudaLayer: a layer that is ready to run. Weights stay where the caller has them. */
typedef struct IfmConvCudaLayer IfmConvCudaLayer;

/**
 * ifm_conv_cuda_layer_new:
 * @cuda: has to outlive the layer    @shape: its blocks are 1
 * @algorithm: a fixed one or IFM_CONV_GUESS (cuDNN's own rule)    @is_exact: products of f32 also where TF32 is allowed
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and a few words why it cannot do the layer: "stride 2".
 */
IfmConvCudaLayer *ifm_conv_cuda_layer_new(IfmConvCuda *cuda, const IfmConvShape *shape, IfmConvAlgorithm algorithm,
                                          gboolean is_exact, const IfmConvOptions *options, GError **error);
void ifm_conv_cuda_layer_free(IfmConvCudaLayer *layer);

/** ifm_conv_cuda_layer_info: borrowed from the layer. */
IfmConvInfo ifm_conv_cuda_layer_info(const IfmConvCudaLayer *layer);
const IfmConvShape *ifm_conv_cuda_layer_shape(const IfmConvCudaLayer *layer);

/** ifm_conv_cuda_layer_run: Puts the layer on a stream. All tensors are on the GPU.
 * @bias, @sum: or NULL    @timed: events before and after it are kept until ifm_conv_cuda_layer_times() */
gboolean ifm_conv_cuda_layer_run(IfmConvCudaLayer *layer, void *stream, const float *input, const float *weights,
                                 const float *bias, const float *sum, float *output, gboolean timed, GError **error);

/** ifm_conv_cuda_layer_times: Waits for the timed runs. Returns: (transfer full) double: milliseconds of each, in order,
 * and forgets them. */
GArray *ifm_conv_cuda_layer_times(IfmConvCudaLayer *layer, GError **error);

/** IfmConvCudaMarks: times, by CUDA's events, of what is put on a stream between a beginning and an end: by others,
 * too. ifm_conv_cuda_marks_new: @cuda: has to outlive it */
typedef struct IfmConvCudaMarks IfmConvCudaMarks;
IfmConvCudaMarks *ifm_conv_cuda_marks_new(const IfmConvCuda *cuda);
void ifm_conv_cuda_marks_free(IfmConvCudaMarks *marks);
/** ifm_conv_cuda_marks_begin, _end: Puts an event on the stream. @to: (nullable) @bytes of @from, on the GPU, are
 * copied there as well, outside of what is timed */
gboolean ifm_conv_cuda_marks_begin(IfmConvCudaMarks *marks, void *stream, const void *from, void *to, gsize bytes,
                                   GError **error);
gboolean ifm_conv_cuda_marks_end(IfmConvCudaMarks *marks, void *stream, const void *from, void *to, gsize bytes,
                                 GError **error);
/** ifm_conv_cuda_marks_times: as ifm_conv_cuda_layer_times(). */
GArray *ifm_conv_cuda_marks_times(IfmConvCudaMarks *marks, GError **error);

G_END_DECLS
