#pragma once
#include <inferometer/transformer.h>
#include <inferometer/zoo.h>

G_BEGIN_DECLS

/** ifm_zoo_parameter: (transfer none) The parameter of that name; NULL: there is none. @entry: (nullable) NULL: the model
 * is a file */
const IfmZooParameter *ifm_zoo_parameter(const IfmZooEntry *entry, const char *name);

#define IFM_ZOO_MAX_PARAMETERS 32
/** ifm_zoo_values: The values of the parameters of an entry: from @settings, else the defaults. @values: (out)
 * [IFM_ZOO_MAX_PARAMETERS]. Errors: of ifm_zoo_build(). */
gboolean ifm_zoo_values(const IfmZooEntry *entry, const char *const *settings, gint64 *values, GError **error);

/**
 * IfmStagedPort: an input of the model of a partition. @whole: all rows of the sources of the graph ("sources"), which all
 * partitions share; else the own rows ("nodes") or columns ("edges") of the partition.
 */
typedef struct
{
    const IfmBoundary *boundary; /* NULL: "zeros" */
    const char *name; /* the port: the name of the boundary; NAME.part for own rows where the whole is an input too */
    gboolean whole;
} IfmStagedPort;

/** ifm_staged_boundary: Returns: (transfer none) NULL for an unknown name. */
const IfmBoundary *ifm_staged_boundary(const IfmStagedModel *staged, const char *name);

/** ifm_boundary_bytes: The bytes of the tensor; 0 where one of its sizes is free. */
gint64 ifm_boundary_bytes(const IfmBoundary *boundary, const IfmStageSizes *sizes);

/**
 * ifm_staged_inputs, ifm_staged_outputs: The boundaries that enter and leave the fused stages @first to @last: the ports of
 * ifm_staged_build().
 * @first, @last: a range that ifm_staged_build() accepts    Returns: (transfer container) const IfmBoundary *
 */
GPtrArray *ifm_staged_inputs(const IfmStagedModel *staged, int first, int last);
GPtrArray *ifm_staged_outputs(const IfmStagedModel *staged, int first, int last);

/** ifm_scatter_for: The fastest form on an engine ("openvino"), as bench/scatter measured it; for other engines the common
 * one. It is the fastest form on one thread. ONNX Runtime's ScatterND with add loses additions on several threads, so its
 * driver runs such models on one thread. That is still the fastest correct form (docs/stages.md). */
IfmScatter ifm_scatter_for(const char *engine);

/**
 * ifm_staged_build_part: Builds stages @first to @last for one partition of a graph, for data parallelism and ghost nodes.
 * Destinations are numbered from the first node of the partition; sources are rows of the whole graph. So the x of stage 1
 * is f32 [sources, features], with a dimension of its own. A range with other stages that read x by destination has it
 * again as "x.part" f32 [nodes, features]. The whole graph is the partition with sources = nodes and the same tensor for
 * both. The model computes the rows of the partition only. All else is as of ifm_staged_build(), with the same weights. For
 * a range that needs nothing whole, the model is the same.
 * @sources: 0: the free dimension "sources"
 * @ports: (out) (optional) (transfer full) IfmStagedPort, in the order of the inputs
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, as ifm_staged_build()
 */
IfmModel *ifm_staged_build_part(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                                gint64 sources, IfmScatter scatter, guint32 seed, GArray **ports, GError **error);

/** ifm_staged_io_bytes: The bytes that the fused stages @first to @last read and write: each input and output once, without
 * weights. @read, @written: (out) */
void ifm_staged_io_bytes(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes, gint64 *read,
                         gint64 *written);

/** ifm_attention_words: "dense", "sparse", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_attention_words(void);

/** ifm_norm_words: "layer", "batch", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_norm_words(void);

/** ifm_head_words: "graph", "node", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_head_words(void);

/** ifm_transformer_usual_edges: The number of directed edges of ifm_graph_synthetic() with average degree
 * IFM_TRANSFORMER_USUAL_DEGREE. In a graph with too few nodes for that degree, all nodes are neighbours. */
gint64 ifm_transformer_usual_edges(gint64 num_nodes);

/** ifm_transformer_scatter_words: "auto", then the words of IfmScatter in its order. */
const char *const *ifm_transformer_scatter_words(void);

/**
 * ifm_transformer_scatter: The form for a word of ifm_transformer_scatter_words(). Auto is mixed for sparse attention and
 * elements for dense attention. The form that is fast along the edges limits ONNX Runtime to one thread for the whole
 * model. That does not pay where dense attention, which uses several threads, is most of the work.
 * @word: index in ifm_transformer_scatter_words()
 */
IfmScatter ifm_transformer_scatter(int word, IfmAttention attention);

/** ifm_transformer_input_bytes: The bytes of all inputs, with the masks. Returns: FALSE with IFM_ERROR_INVALID for an
 * invalid configuration, or a sum above 63 bits. */
gboolean ifm_transformer_input_bytes(const IfmTransformer *transformer, gint64 *bytes, GError **error);

/** ifm_transformer_attention_bytes: ifm_estimate_attention_bytes() of one layer. Dense attention counts all graphs of a
 * batch, each padded to the largest. Sparse attention counts the edges. */
gboolean ifm_transformer_attention_bytes(const IfmTransformer *transformer, gboolean with_softmax, gint64 *bytes,
                                         GError **error);

/** ifm_transformer_part_of: Returns: "attention", "ffn", "mpnn", "norm", "head", or "input" (also the indices that layers
 * share); in a training step also "loss" and "update" (of the weights). NULL for a node of another model. */
const char *ifm_transformer_part_of(const char *node_name);

G_END_DECLS
