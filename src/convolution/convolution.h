/* Shared with other rooms: layers, algorithms and their tuning. */
#pragma once
#include <jansson.h>

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
    gint64 groups, stride_rows, stride_columns, dilation_rows, dilation_columns; /* 0: not recorded */
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

/* Convolutions on the processor by a named algorithm, in the blocked layout of the runtime that calls them. */

/** IfmConvActivation: what is applied to an output after bias and sum. @alpha, @beta: as ONNX names them for that operator.
 */
typedef enum
{
    IFM_CONV_IDENTITY,
    IFM_CONV_RELU,
    IFM_CONV_CLIP,         /* alpha: lower bound, beta: upper bound */
    IFM_CONV_LEAKY_RELU,   /* alpha: slope below 0 */
    IFM_CONV_HARD_SIGMOID, /* max(0, min(1, alpha x + beta)) */
    IFM_CONV_SIGMOID,
    IFM_CONV_TANH,
    IFM_N_CONV_ACTIVATIONS
} IfmConvActivation;

/**
 * IfmConvShape: one layer. Channel c of a tensor is at [n][c / block][y][x][c % block]; where the block is 1 that is NCHW.
 * @block: of the output, 16 or 8, or 1 on a GPU; @channels (but see @input_block) and @out_channels are multiples of it
 * @input_block: @block, or 1: the input is NCHW with any number of channels
 * @out: computed by ifm_conv_shape_complete()
 */
typedef struct
{
    gint64 batch, channels, out_channels, groups;
    gint64 in[2], kernel[2], stride[2], dilation[2]; /* [0] rows, [1] columns */
    gint64 pads[4];                                  /* top, left, bottom, right, as ONNX has them */
    gint64 out[2];
    int block, input_block;
} IfmConvShape;

/** ifm_conv_shape_complete: Checks a shape and fills @out. Returns: FALSE with IFM_ERROR_INVALID. */
gboolean ifm_conv_shape_complete(IfmConvShape *shape, GError **error);

/** ifm_conv_shape_macs: multiplications of the direct algorithm; padding counts, as everywhere in this library. */
gint64 ifm_conv_shape_macs(const IfmConvShape *shape);

/** IfmConvParallel: runs task(data, i) for each i < @n on the caller's threads and returns when all have returned. */
typedef void (*IfmConvParallel)(void *user, gsize n, void (*task)(void *data, gsize index), void *data);

/**
 * IfmConvOptions: zeros are the defaults.
 * @max_workspace_bytes: an algorithm that needs more refuses the layer; 0: IFM_CONV_WORKSPACE_BYTES
 * @max_isa: of the own kernels, for tests: "avx512", "avx2", "portable"; NULL: the best one that the processor has
 * @winograd_outputs: of the Winograd algorithms: 2, 4 or 6 for F(2,3), F(4,3), F(6,3); 0: by a rule from the shape
 * @n_threads: how many of the caller's threads work at a time, 1 for 0: sizes the blocks and the workspace
 */
typedef struct
{
    gsize max_workspace_bytes;
    const char *max_isa;
    int winograd_outputs;
    int n_threads;
    IfmConvActivation activation;
    float alpha, beta;
    gboolean has_sum; /* an output-shaped tensor is added before the activation */
} IfmConvOptions;

#define IFM_CONV_WORKSPACE_BYTES ((gsize)1 << 30)

/** IfmConv: a layer that is ready to run: weights transformed, workspace allocated. One run at a time. */
typedef struct IfmConv IfmConv;

/** IfmConvInfo: what runs. Borrowed from the IfmConv. */
typedef struct
{
    IfmConvAlgorithm algorithm; /* a fixed one, what guess chose included */
    const char *implementation; /* packing and kernel, such as "F(4,3) fused, avx512 14x32" or "onednn jit:avx512_core" */
    gsize workspace_bytes, weights_bytes;
} IfmConvInfo;

/**
 * ifm_conv_new:
 * @algorithm: a fixed one or IFM_CONV_GUESS
 * @weights: [out_channels][channels / groups][kernel rows][kernel columns], f32, not kept
 * @bias: [out_channels] or NULL, not kept
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and one line why the algorithm cannot do this layer.
 */
IfmConv *ifm_conv_new(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                      const float *weights, const float *bias, GError **error);
void ifm_conv_free(IfmConv *conv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConv, ifm_conv_free)

IfmConvInfo ifm_conv_info(const IfmConv *conv);

/** ifm_conv_shape: complete; borrowed. */
const IfmConvShape *ifm_conv_shape(const IfmConv *conv);

/** ifm_conv_run: output = activation(convolution(input) + bias + sum).
 * @sum: NULL without has_sum; not @output    @parallel: NULL: all on this thread */
void ifm_conv_run(IfmConv *conv, const float *input, const float *sum, float *output, IfmConvParallel parallel, void *user);

/** ifm_conv_isa: The instruction set of the own kernels for a block, as max_isa of the options limits it: "avx512", "avx2",
 * "portable". Returns: static text; NULL where there are none. */
const char *ifm_conv_isa(int block, const char *max_isa);

/** ifm_conv_supports: whether an algorithm can do a layer, without making it. @why: (out) (optional) static text, such as
 * "stride 2"; NULL where it can. */
gboolean ifm_conv_supports(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                           const char **why);

/** ifm_conv_workspace: bytes that a fixed algorithm needs for a complete shape, which it may refuse for another reason. */
gsize ifm_conv_workspace(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options);

/** ifm_conv_guess: The fixed algorithm that a rule names from the shape: Winograd's or tiles of spectra where they save
 * multiplications; else indices for few outputs or where oneDNN has no direct kernel, else direct. */
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

/** ifm_conv_tuned_key: (transfer full) a row without an algorithm: the key of a layer on this processor.
 * @runtime: "onnxruntime 1.23.0"; its kernel is a candidate */
IfmConvTuned *ifm_conv_tuned_key(const IfmConvShape *shape, const IfmConvOptions *options, const char *runtime);

/** ifm_conv_tuned_find: (transfer none) the row of the same key; NULL: there is none. */
IfmConvTuned *ifm_conv_tuned_find(const GPtrArray *rows, const IfmConvTuned *key);

/* --- convolution cuda ---------------------------------------------------------------------------------------------- */

/* Convolutions on an NVIDIA GPU by a named algorithm: cuDNN's, and a direct kernel of our own. Tensors are NCHW in f32 on
 * the GPU. cuDNN, the CUDA runtime and NVRTC are opened at run time; setup/install cuda gets them. */

/** IfmConvCuda: a GPU with a handle of cuDNN of our own and a workspace that all layers share. One stream. */
typedef struct IfmConvCuda IfmConvCuda;

/** ifm_conv_cuda_open: @device: the CUDA runtime's index
 * Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE and one line: what is missing and how to get it. */
IfmConvCuda *ifm_conv_cuda_open(int device, GError **error);
void ifm_conv_cuda_free(IfmConvCuda *cuda);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConvCuda, ifm_conv_cuda_free)

/** IfmConvCudaLayer: a layer that is ready to run. Weights stay where the caller has them. */
typedef struct IfmConvCudaLayer IfmConvCudaLayer;

/**
 * ifm_conv_cuda_layer_new:
 * @cuda: has to outlive the layer    @shape: its blocks are 1
 * @algorithm: a fixed one, IFM_CONV_GUESS (cuDNN's own rule) or IFM_CONV_BEST (cuDNN measures on this GPU)
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and a few words why it cannot do the layer: "stride 2".
 */
IfmConvCudaLayer *ifm_conv_cuda_layer_new(IfmConvCuda *cuda, const IfmConvShape *shape, IfmConvAlgorithm algorithm,
                                          const IfmConvOptions *options, GError **error);
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

G_END_DECLS
