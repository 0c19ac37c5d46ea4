#pragma once
#include <inferometer/record-fields.h>

IFM_BEGIN_DECLS

/**
 * IfmConvAlgorithm: how a convolution is computed. The fixed ones come first; IFM_CONV_GUESS and IFM_CONV_BEST choose one
 * of them. IFM_CONV_RUNTIME leaves a layer to the runtime's own kernel: a candidate of IFM_CONV_BEST.
 */
typedef enum
{
    IFM_CONV_DIRECT,
    IFM_CONV_GEMM,
    IFM_CONV_IMPLICIT_GEMM,
    IFM_CONV_IMPLICIT_PRECOMP_GEMM,
    IFM_CONV_FFT,
    IFM_CONV_FFT_TILING,
    IFM_CONV_WINOGRAD,
    IFM_CONV_WINOGRAD_NONFUSED,
    IFM_N_CONV_FIXED,
    IFM_CONV_GUESS = IFM_N_CONV_FIXED,
    IFM_CONV_BEST,
    IFM_CONV_RUNTIME,
    IFM_N_CONV_ALGORITHMS
} IfmConvAlgorithm;

/** ifm_conv_algorithm_name: "direct", "implicit_gemm", …: as options, files and tables have it. */
const char *ifm_conv_algorithm_name(IfmConvAlgorithm algorithm);
/** ifm_conv_algorithm_parse: blanks and dashes count as underscores. Returns: FALSE with IFM_ERROR_INVALID and the nearest
 * name. */
gboolean ifm_conv_algorithm_parse(const char *text, IfmConvAlgorithm *algorithm, GError **error);
/** ifm_conv_algorithm_meaning: one sentence for lists of algorithms. */
const char *ifm_conv_algorithm_meaning(IfmConvAlgorithm algorithm);

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

/** ifm_conv_cuda_report: What convolutions on a GPU need, a line each: "found    cuDNN 9.28.1 (…)" or "missing  …", and
 * how to get it. @is_complete: (out) whether all is there    Returns: (transfer full) */
char *ifm_conv_cuda_report(gboolean *is_complete);

/* --- what "best" measured --------------------------------------------------------------------------------------------- */

/**
 * IfmConvTuned: the fastest algorithm of one layer shape, as measured within a model. The first four members are the key.
 * @processor: its name and the instruction set of the kernels    @library: versions of the runtime, of oneDNN and of this
 * library    @shape: sizes, blocks, activation and workspace limit in one text
 * @time_ns: of that algorithm    @runtime_ns: of the runtime's own kernel
 */
typedef struct
{
    char *processor, *library, *shape;
    int n_threads;
    char *algorithm;
    double time_ns, runtime_ns;
} IfmConvTuned;
extern const IfmRecordField ifm_conv_tuned_fields[];
/** ifm_conv_tuned_new: (transfer full) texts are "". */
IfmConvTuned *ifm_conv_tuned_new(void);
void ifm_conv_tuned_free(IfmConvTuned *tuned);

/** ifm_conv_tuning_path: (transfer full) the user's tuning cache: $IFM_TUNING_CACHE, else convolutions.json in
 * $XDG_CACHE_HOME/inferometer (~/.cache/inferometer). */
char *ifm_conv_tuning_path(void);
/** ifm_conv_tuning_load: Returns: (transfer full) IfmConvTuned*, none where there is no such file; NULL with
 * IFM_ERROR_INVALID where the file is none of this kind. */
GPtrArray *ifm_conv_tuning_load(const char *path, GError **error);
/** ifm_conv_tuning_add: Adds rows, or replaces those of the same key. The file is written completely or not at all; what
 * other processes add at the same time stays. @rows: IfmConvTuned* */
gboolean ifm_conv_tuning_add(const char *path, const GPtrArray *rows, GError **error);
/** ifm_conv_tuning_clear: Removes the file. Returns: TRUE where there is none, too. */
gboolean ifm_conv_tuning_clear(const char *path, GError **error);

IFM_END_DECLS
