#pragma once

#include "onnxruntime-private.h"

G_BEGIN_DECLS

/*
 * Convolutions by named algorithms in a session. The runtime optimises the model and saves it (level ALL); there its
 * convolutions in blocked channels (com.microsoft.nchwc) become inferometer:Conv, a custom operator of this process; that
 * graph is loaded with optimisation off, so the blocked layout stays from layer to layer. On the CUDA provider the graph
 * has no blocks: there Conv and com.microsoft.FusedConv in NCHW become the operator.
 */

/** OrtConvKernel: what computes a layer: on the processor, or on a GPU; neither: the runtime's own kernel. */
typedef struct
{
    IfmConv *conv;
    IfmConvCudaLayer *cuda;
} OrtConvKernel;
/** ort_conv_runs: whether it is one of ours. */
static inline gboolean ort_conv_runs(const OrtConvKernel *kernel)
{
    return kernel->conv != NULL || kernel->cuda != NULL;
}

/** ORT_CONV_CANDIDATES: each algorithm; on a GPU that has TF32, where that is allowed, behind them each once more in
 * f32. */
#define ORT_CONV_CANDIDATES (2 * IFM_N_CONV_FIXED)

/* OrtConvLayer: one convolution of the graph, ready to run. */
typedef struct
{
    IfmConvLayer *record;
    char *node; /* its name in the graph that the runtime saved; the record has the model's own */
    OrtConvKernel kernel;
    IfmConvCudaMarks *marks; /* on a GPU, around the runtime's own kernel, where that is timed */
    /* while "best" is found: */
    IfmConvTuned *key;                             /* NULL: not tuned */
    OrtConvKernel candidates[ORT_CONV_CANDIDATES]; /* kernel is one of them; none: it cannot do the layer */
    gint64 ran_ns;                                 /* how long the operator's last run took, on the processor */
} OrtConvLayer;

/**
 * OrtConvWish: what a rewriting is to do.
 * @model: as the runtime was given it    @runtime: "onnxruntime 1.23.0"    @tuned: IfmConvTuned*: what "best" takes
 * @bindings: of dimensions that the runtime left free, since they have no name
 * @cuda: the GPU that runs the layers; NULL: the processor
 * @tune: make all candidates of the layers of "best" that are not among @tuned, and leave the others to the runtime
 * @marks: on a GPU, time the layers that stay with the runtime, between two inferometer:Mark
 * @leave_best: leave all layers of "best" to the runtime, whatever is among @tuned
 */
typedef struct
{
    const IfmModel *model;
    const char *runtime;
    const IfmConvChoice *choice;
    int n_threads;
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const GPtrArray *tuned;
    IfmConvCuda *cuda;
    gboolean tune, leave_best, marks;
} OrtConvWish;

/** ifm_ort_conv_rewrite: @optimised: as the runtime saved it on this processor    @layers: OrtConvLayer* are added; a node
 * names its layer by index    Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and one line which layers refuse;
 * with @tune NULL without an error where nothing is to be tuned. */
IfmModel *ifm_ort_conv_rewrite(IfmModel *optimised, const OrtConvWish *wish, GPtrArray *layers, GError **error);
GPtrArray *ifm_ort_conv_layers_new(void);
/** ifm_ort_conv_records: (transfer full) what runs, by @layers: IfmConvLayer*, copied. */
GPtrArray *ifm_ort_conv_records(const GPtrArray *layers);

/** ifm_ort_conv_names: The convolutions of @model in the graph that the runtime made of it.
 * Returns: (transfer full) IfmNode* -> the name of the model's node, or of its output where it has none; the graph's own
 * where that is all there is. A node that became a convolution (BatchNormalization) is not among them. The graphs must
 * outlive it. */
GHashTable *ifm_ort_conv_names(const IfmModel *model, const IfmModel *optimised);
gboolean ifm_ort_is_blocked_conv(const IfmNode *node);
/** ifm_ort_is_conv: in any layout and of integers, too. */
gboolean ifm_ort_is_conv(const IfmNode *node);
gboolean ifm_ort_is_integer_conv(const IfmNode *node);
/** ifm_ort_conv_graph_name: of a node; of its output where it has none. */
const char *ifm_ort_conv_graph_name(const IfmNode *node);

/** OrtConvDomain: the operators. They live as long as their sessions. */
typedef struct OrtConvDomain OrtConvDomain;
/** OrtConvPlace: where the operator runs. OF_CUDA_TIMED keeps events of each run. */
typedef enum
{
    ORT_CONV_OF_CPU,
    ORT_CONV_OF_CUDA,
    ORT_CONV_OF_CUDA_TIMED
} OrtConvPlace;
/** ifm_ort_conv_domain_new: @layers: borrowed */
OrtConvDomain *ifm_ort_conv_domain_new(const OrtApi *api, GPtrArray *layers, OrtConvPlace place, const char *who,
                                       GError **error);
void ifm_ort_conv_domain_free(OrtConvDomain *domain);
OrtCustomOpDomain *ifm_ort_conv_domain_handle(OrtConvDomain *domain);

/** ifm_ort_conv_cuda_run: A node on the provider's stream. (onnxruntime-conv-cuda.c) */
OrtStatus *ifm_ort_conv_cuda_run(const OrtApi *api, OrtConvLayer *layer, OrtKernelContext *context, gboolean timed);
/** ifm_ort_conv_cuda_mark: A node inferometer:Mark: its tensor goes on as it is. @is_end: behind the runtime's own
 * kernel */
OrtStatus *ifm_ort_conv_cuda_mark(const OrtApi *api, OrtConvLayer *layer, OrtKernelContext *context, gboolean is_end);
/** ifm_ort_conv_cuda_last: What a layer, or the runtime's own kernel of it, took in its last timed run, ns; -1: it has
 * not run, or its events are broken. The times before are forgotten. */
double ifm_ort_conv_cuda_last(const OrtConvLayer *layer);
/** ifm_ort_conv_cuda_times: Leaves in @profiles the layers that took their own times, with the times of their events: those
 * of all nodes there are the processor's. @layers: NULL: none    @first: index of the first profile of this session */
gboolean ifm_ort_conv_cuda_times(const GPtrArray *layers, GPtrArray *profiles, guint first, GError **error);

/**
 * ifm_ort_conv_tune: Measures the candidates of each layer of "best" that is not in @wish->tuned, within the model. On the
 * executing thread.
 * @optimised: the graph, saved at @file    @found: IfmConvTuned* are added
 */
gboolean ifm_ort_conv_tune(OrtCompiled *compiled, IfmModel *optimised, const char *file, const OrtConvWish *wish,
                           GPtrArray *found, GError **error);

/** OrtConvGraph: a rewritten graph with its layers. ifm_ort_conv_graph_clear: frees both. */
typedef struct
{
    IfmModel *model;
    GPtrArray *layers; /* OrtConvLayer* */
} OrtConvGraph;
void ifm_ort_conv_graph_clear(OrtConvGraph *graph);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrtConvGraph, ifm_ort_conv_graph_clear)

/** ifm_ort_conv_whole_key: The row of a whole graph without what came of it: the graph's operators and what its
 * convolutions run by. Returns: (transfer full) NULL where "best" chose no algorithm in it but the runtime's. */
IfmConvTuned *ifm_ort_conv_whole_key(const OrtConvGraph *graph, const OrtConvWish *wish);
/** ifm_ort_conv_compare: Whether a whole graph is told apart as faster: it and the other take turns. On the executing
 * thread. @chosen: with what "best" chose    @of_runtime: with the runtime's kernels in its place; NULL: the model as it is
 * @row: algorithm is "best" where the chosen one is faster, else "runtime"; time_ns is that of the chosen one */
gboolean ifm_ort_conv_compare(OrtCompiled *compiled, const OrtConvGraph *chosen, const OrtConvGraph *of_runtime,
                              IfmConvTuned *row, GError **error);
/** ifm_ort_session_plain: The model as it would run without convolution algorithms. (onnxruntime-session.c) */
OrtSession *ifm_ort_session_plain(OrtCompiled *compiled, GError **error);
/**
 * ifm_ort_session_bare: A session without optimisation, with the threads and the device of @compiled.
 * (onnxruntime-session.c)
 * @model: NULL: that of @file    @domain: or NULL    @profile: prefix of the profile's file, or NULL
 */
OrtSession *ifm_ort_session_bare(OrtCompiled *compiled, IfmModel *model, const char *file, OrtConvDomain *domain,
                                 const char *profile, GError **error);

G_END_DECLS
