#pragma once
#include <inferometer/tensor.h>

G_BEGIN_DECLS

/**
 * IfmModel: one ONNX model, checked and indexed; immutable after it is made, so it may be shared between threads.
 * Large tensors stay mapped in the file they came from (private mapping: the file must not be truncated meanwhile).
 */
typedef struct IfmModel IfmModel;

/** Limits on what is read; anything beyond is IFM_ERROR_INVALID, said with its place, before memory is taken for it. */
#define IFM_MODEL_MAX_DEPTH 64 /* nesting of messages (a subgraph takes 4) */
#ifndef IFM_MODEL_MAPPED_LEAST_BYTES
#define IFM_MODEL_MAPPED_LEAST_BYTES (1 << 14) /* tensors at least this large are not copied */
#endif

/**
 * IfmPort: an input or output of a model.
 * @dims: [rank]; -1 where free.  @dim_names: [rank]; the free dimension's name as the model gives it, "PORT[axis]" where
 * it gives none, NULL where the dimension is fixed.  @rank: -1 where the model does not even say that.
 */
typedef struct
{
    char *name;
    IfmDtype dtype;
    int rank;
    gint64 dims[IFM_MAX_RANK];
    char *dim_names[IFM_MAX_RANK];
} IfmPort;

/** IfmDimBinding: "N=8". */
typedef struct
{
    const char *name;
    gint64 value;
} IfmDimBinding;

/**
 * ifm_model_open: Reads a file.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (empty, truncated, junk, too deep, a tensor larger than its file or
 * than its shape says, external data missing or outside the model's folder, a cycle, a name defined twice, an input nobody
 * makes), IFM_ERROR_UNAVAILABLE (no such file, no permission), IFM_ERROR_MEMORY.
 */
IfmModel *ifm_model_open(const char *path, GError **error);
/** ifm_model_open_outline: The same, but external data are not looked for, wherever they are said to lie: their tensors
 * have types and shapes, and no values. For a graph away from its weights that is to be read and not run. */
IfmModel *ifm_model_open_outline(const char *path, GError **error);
/** ifm_model_parse: the same from memory. @name: what messages call it. */
IfmModel *ifm_model_parse(GBytes *bytes, const char *name, GError **error);
IfmModel *ifm_model_ref(IfmModel *model);
void ifm_model_unref(IfmModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModel, ifm_model_unref)

/** ifm_model_serialize: Returns: (transfer full) the ONNX file's bytes: those of the file itself where it was opened; of a
 * built model with all weights in it (IFM_ERROR_INVALID where those are more than one file can hold). */
GBytes *ifm_model_serialize(IfmModel *model, GError **error);
/** ifm_model_save: Writes atomically; before it, into the same folder, the model's external data, unless a file of that
 * name with these very bytes is there (one of other bytes is replaced). A pipe or device gets ifm_model_serialize().
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (disk full, read-only: the file is as before). */
gboolean ifm_model_save(IfmModel *model, const char *path, GError **error);

/** ifm_model_path: the file it was opened from, NULL where it was built or parsed. */
const char *ifm_model_path(const IfmModel *model);
/** ifm_model_files: (transfer full) NULL-terminated: the paths of all files it was read from, those of its weights among
 * them; none where it was not read from a file. */
char **ifm_model_files(const IfmModel *model);
/** ifm_model_name: the file's base name without ".onnx", else the graph's name. */
const char *ifm_model_name(const IfmModel *model);
/** ifm_model_digest: SHA-256 in hex over the serialised bytes and the external data files they name. */
const char *ifm_model_digest(IfmModel *model, GError **error);
/** ifm_model_opset: the version of the default domain. */
gint64 ifm_model_opset(const IfmModel *model);
/** ifm_model_metadata: a value of metadata_props; NULL where there is none of that key. */
const char *ifm_model_metadata(const IfmModel *model, const char *key);
/** ifm_model_n_parameters: elements of all floating-point initializers. */
gint64 ifm_model_n_parameters(const IfmModel *model);
/** ifm_model_n_trainable: the same without the running mean and variance of BatchNormalization, and without numbers of
 * rank 0: exporters write an attention's scale, an epsilon and the like so, and a learnt number as a vector of one. */
gint64 ifm_model_n_trainable(const IfmModel *model);

/** ifm_model_n_inputs: inputs the caller must feed (initializers listed as inputs, as IR version 3 did, are not). */
gsize ifm_model_n_inputs(const IfmModel *model);
const IfmPort *ifm_model_input(const IfmModel *model, gsize index);
gsize ifm_model_n_outputs(const IfmModel *model);
const IfmPort *ifm_model_output(const IfmModel *model, gsize index);

/** ifm_port_copy / ifm_port_free: (transfer full) */
IfmPort *ifm_port_copy(const IfmPort *port);
void ifm_port_free(IfmPort *port);
/** ifm_port_is_fixed: whether its rank and every dimension are known. */
gboolean ifm_port_is_fixed(const IfmPort *port);

/**
 * ifm_port_bind: The shape an input has under the bindings.
 * @shape: (out) [port->rank]
 * Returns: FALSE with IFM_ERROR_INVALID naming the first free dimension without a binding, or a value below 0.
 */
gboolean ifm_port_bind(const IfmPort *port, const IfmDimBinding *bindings, gsize n_bindings, gint64 *shape, GError **error);

/**
 * ifm_model_check_bindings: Returns: FALSE with IFM_ERROR_INVALID for a binding that names no free dimension of any input
 * (the message lists those there are), for a name bound twice, or for an input left unbound.
 */
gboolean ifm_model_check_bindings(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);

/**
 * ifm_model_make_inputs: Seeded inputs for every port, in port order.
 * Floats uniform in [-1, 1); integers and bools 0 or 1 (indices that stay in range of anything non-empty) unless the
 * model's metadata "inferometer.range.PORT" = "LOW HIGH" says otherwise; of an integer port "LOW HIGH distinct": none of
 * them twice, and ascending, for what indices must not have twice (a ScatterND's that does not reduce). Each port has a
 * generator of its own, seeded from
 * (@seed, port name), so that one port's shape does not change another's values.
 * @tensors: (out) [ifm_model_n_inputs()], to be cleared by the caller
 */
gboolean ifm_model_make_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, guint32 seed,
                               IfmTensor *tensors, GError **error);
/** ifm_model_reserve_inputs: Inputs of the same shapes for who never looks at their values: of addresses alone, see
 * ifm_tensor_reserve(). They may be larger than the machine's memory. */
gboolean ifm_model_reserve_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings,
                                  IfmTensor *tensors, GError **error);

/* --- the index: nodes of the top-level graph in topological order ------------------------------------------------- */

/** IfmNode: borrowed from the model. Optional inputs left out are "". */
typedef struct
{
    const char *name; /* "" where the model gives none */
    const char *op_type, *domain;
    const char *const *inputs;
    gsize n_inputs;
    const char *const *outputs;
    gsize n_outputs;
    const void *proto; /* Onnx__NodeProto, for the onnx room's own files */
} IfmNode;

gsize ifm_model_n_nodes(const IfmModel *model);
const IfmNode *ifm_model_node(const IfmModel *model, gsize index);
/** ifm_model_producer: Returns: index of the node that makes the tensor; -1 for inputs, initializers and unknown names. */
gssize ifm_model_producer(const IfmModel *model, const char *tensor);
/** ifm_model_consumers: Returns: (transfer none) indices (gsize) of the nodes that read it; NULL where nobody does. */
const GArray *ifm_model_consumers(const IfmModel *model, const char *tensor);
/** ifm_model_initializer: Describes a weight without copying it: its bytes may lie unaligned in the file (memcpy them).
 * Returns: FALSE where there is none of that name, or one that IfmTensor cannot hold (strings, 4-bit types). */
gboolean ifm_model_initializer(const IfmModel *model, const char *name, IfmTensor *tensor);
/** ifm_model_n_initializers, ifm_model_initializer_name: All of the graph's initializers, in the file's order. */
gsize ifm_model_n_initializers(const IfmModel *model);
const char *ifm_model_initializer_name(const IfmModel *model, gsize index);
/** Attributes, with the default where the node has none of that name and type. */
gint64 ifm_node_int(const IfmNode *node, const char *attribute, gint64 fallback);
double ifm_node_float(const IfmNode *node, const char *attribute, double fallback);
const char *ifm_node_string(const IfmNode *node, const char *attribute, const char *fallback);
/** ifm_node_ints: Returns: (transfer none) NULL where the node has none. @n: (out) */
const gint64 *ifm_node_ints(const IfmNode *node, const char *attribute, gsize *n);

/* --- shapes and costs: the operator table (src/onnx/operators.c) -------------------------------------------------- */

/**
 * IfmNodeFamily: what a node does, for who sums costs by kind. Each row of the operator table names one.
 */
typedef enum
{
    IFM_FAMILY_OTHER, /* also what has no row */
    IFM_FAMILY_CONVOLUTION,
    IFM_FAMILY_PRODUCT, /* MatMul, Gemm, Einsum */
    IFM_FAMILY_ATTENTION,
    IFM_FAMILY_NORMALISATION,
    IFM_FAMILY_ACTIVATION,
    IFM_FAMILY_ELEMENTWISE,
    IFM_FAMILY_POOLING,
    IFM_FAMILY_REDUCTION,
    IFM_FAMILY_RECURRENT,
    IFM_FAMILY_INDEXING, /* Gather, Scatter: moved by index */
    IFM_FAMILY_MOVEMENT, /* Reshape, Transpose, Concat: moved or described */
    IFM_FAMILY_CONTROL,  /* If, Loop, Scan: their branches' costs */
    IFM_FAMILY_QUANTISATION,
    IFM_FAMILY_SOFTMAX,
    IFM_N_FAMILIES,
} IfmNodeFamily;
/** ifm_family_name: "convolution", … */
const char *ifm_family_name(IfmNodeFamily family);

/**
 * IfmNodeCost: conventions: one multiply-add = 1 MAC = 2 FLOP; bytes are the node's inputs and outputs, each once
 * (intensity = flop / (bytes_read + bytes_written)). All conventions, as text to be printed: ifm_cost_conventions().
 */
typedef struct
{
    gboolean covered; /* a cost rule exists and its shapes are known; all else is 0 where not */
    IfmNodeFamily family;
    gint64 macs, flop, bytes_read, bytes_written;
    gboolean
        at_most; /* an upper bound: there is an If in it, and nobody knows which branch runs. No rate follows from it */
} IfmNodeCost;
/** ifm_cost_conventions: lines, NULL-terminated, static: "matmul A(m x k) B(k x n): 2 m k n", … */
const char *const *ifm_cost_conventions(void);

/** IfmAnalysis: inferred shapes and costs of a model under bindings. */
typedef struct IfmAnalysis IfmAnalysis;

/** IfmObservedShape: of a tensor, as a run of the model really had it. */
typedef struct
{
    const char *tensor;
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
} IfmObservedShape;

/**
 * ifm_model_analyse:
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where shapes contradict each other (node and tensor named) or a
 * dimension is unbound. Operators without a rule are no error: what follows from them stays unknown.
 */
IfmAnalysis *ifm_model_analyse(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);
/** ifm_model_analyse_with: the same with what a run told: taken where no rule tells a shape; one that contradicts a rule's
 * is IFM_ERROR_INVALID, too. @observed: [n_observed] */
IfmAnalysis *ifm_model_analyse_with(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings,
                                    const IfmObservedShape *observed, gsize n_observed, GError **error);
void ifm_analysis_free(IfmAnalysis *analysis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmAnalysis, ifm_analysis_free)
/** ifm_analysis_shape: Returns: FALSE where it is not known. @rank, @shape [IFM_MAX_RANK], @dtype: (out) */
gboolean ifm_analysis_shape(const IfmAnalysis *analysis, const char *tensor, IfmDtype *dtype, int *rank, gint64 *shape);
/** ifm_analysis_ints: The values of a small integer tensor where they follow from the model and the bindings: axes, shapes,
 * split sizes. @values: (out) [IFM_ANALYSIS_MAX_INTS]    @n: (out)    Returns: FALSE where they are not known. */
#define IFM_ANALYSIS_MAX_INTS 32
gboolean ifm_analysis_ints(const IfmAnalysis *analysis, const char *tensor, gint64 *values, gsize *n);
const IfmNodeCost *ifm_analysis_node_cost(const IfmAnalysis *analysis, gsize node);
/** ifm_analysis_knows_operator: whether the table has a row for the node's operator. */
gboolean ifm_analysis_knows_operator(const IfmAnalysis *analysis, gsize node);
/** ifm_analysis_total: Sums over covered nodes. @n_covered: (out) how many those are. */
void ifm_analysis_total(const IfmAnalysis *analysis, IfmNodeCost *total, gsize *n_covered);
/** ifm_analysis_family_total: the same over the nodes of one family. */
void ifm_analysis_family_total(const IfmAnalysis *analysis, IfmNodeFamily family, IfmNodeCost *total, gsize *n_covered);

/**
 * IfmCoverage: what the figures are about. Nothing is counted as 0 in silence: a node is covered, or in @missing.
 * @n_mac_nodes: nodes whose operator multiplies and adds by its rule (convolution, product, attention, recurrent), or has
 * no rule, so that nobody can say; @n_mac_covered: how many of those are covered
 * @n_observed: tensors whose shape came from a run
 * @missing: char*, a line an operator: "NonZero (3 nodes): its shape depends on values; …"
 */
typedef struct
{
    gsize n_nodes, n_covered, n_mac_nodes, n_mac_covered, n_observed;
    GPtrArray *missing;
} IfmCoverage;
void ifm_analysis_coverage(const IfmAnalysis *analysis, IfmCoverage *coverage);
void ifm_coverage_clear(IfmCoverage *coverage);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmCoverage, ifm_coverage_clear)

/** IfmLifetime: a tensor of the model's own graph that some node makes, or an input; no constants. @first, @last: index of
 * the node that makes it (-1: an input) and of the last that reads it (n_nodes where it is an output; @first where nobody
 * does). @bytes: -1 where its shape is not known. */
typedef struct
{
    const char *tensor; /* borrowed from the model */
    gint64 bytes;
    gssize first, last;
} IfmLifetime;

/**
 * IfmMemoryPlan: what the graph needs, by its shapes alone: no runtime's padding, workspace or fusing is in it. What goes
 * on in a subgraph (of If the branch that needs most, of a Loop one turn) is counted at its node, its outputs as the
 * node's.
 * @peak_bytes: the largest sum of the tensors alive at one node, inputs and outputs of the model included: the least that
 * any allocator can do with in this order of the nodes, where none works in place and none is fused away
 * @arena_bytes: what a greedy placement of those (largest first, no tensor moved) comes to
 */
typedef struct
{
    gint64 parameter_bytes; /* initializers and values of Constant nodes, of any type, in the width of the type */
    gint64 input_bytes, output_bytes;
    gint64 activation_bytes; /* all made by nodes, as though none was ever freed: what a backward pass keeps */
    gint64 peak_bytes, arena_bytes;
    gsize peak_node;   /* at which */
    gsize n_unknown;   /* tensors without a shape: the figures are then too small */
    GArray *lifetimes; /* IfmLifetime */
} IfmMemoryPlan;
void ifm_analysis_memory(const IfmAnalysis *analysis, IfmMemoryPlan *plan);
void ifm_memory_plan_clear(IfmMemoryPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmMemoryPlan, ifm_memory_plan_clear)

/* --- building ------------------------------------------------------------------------------------------------------ */

/** IfmModelBuilder: a model under construction. Errors stick: the first is returned by ifm_model_builder_finish(). */
typedef struct IfmModelBuilder IfmModelBuilder;

/** ifm_model_builder_new: @opset: version of the default domain, 17 where nothing speaks against it. */
IfmModelBuilder *ifm_model_builder_new(const char *graph_name, gint64 opset);
void ifm_model_builder_free(IfmModelBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModelBuilder, ifm_model_builder_free)

/** ifm_model_builder_input / _output: @rank: -1: the model does not say. @dims: [rank], -1 where free. @dim_names: [rank]
 * names of the free ones, or NULL. */
void ifm_model_builder_input(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                             const char *const *dim_names);
void ifm_model_builder_output(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                              const char *const *dim_names);
/** ifm_model_builder_weight: Adds an initializer; @tensor's bytes are copied. */
void ifm_model_builder_weight(IfmModelBuilder *builder, const char *name, const IfmTensor *tensor);
/** ifm_model_builder_random_weight: uniform in +-bound, from a generator seeded by (@seed, name). Drawn by
 * ifm_model_builder_finish(), so that weights too large for one ONNX file (2 GiB) are refused before any work is done. */
void ifm_model_builder_random_weight(IfmModelBuilder *builder, const char *name, int rank, const gint64 *shape,
                                     double bound, guint32 seed);
/**
 * ifm_model_builder_external: Drawn weights added after this, of IFM_MODEL_EXTERNAL_LEAST_BYTES or more, go into a file of
 * their own in the model's folder, as ONNX's external data, for which its 2 GiB are no limit. In memory until then,
 * ifm_model_save() writes that file (see there); ifm_model_serialize() returns one file with all in it.
 * @location: its name. Models that draw the same weights in the same order may share it.
 */
#define IFM_MODEL_EXTERNAL_LEAST_BYTES (1 << 14)
void ifm_model_builder_external(IfmModelBuilder *builder, const char *location);
/** ifm_model_builder_drawn_weight: f32, uniform in [low, high); each number a function of (@seed, @name, its index) alone,
 * the same on every machine: hundreds of millions take a second. Drawn by ifm_model_builder_finish(). */
void ifm_model_builder_drawn_weight(IfmModelBuilder *builder, const char *name, int rank, const gint64 *shape, double low,
                                    double high, guint32 seed);
void ifm_model_builder_metadata(IfmModelBuilder *builder, const char *key, const char *value);
/**
 * ifm_model_builder_node: Adds a node; returns its index, for the attribute calls.
 * @inputs, @outputs: NULL-terminated; "" for an optional one left out.
 */
gsize ifm_model_builder_node(IfmModelBuilder *builder, const char *op_type, const char *name, const char *const *inputs,
                             const char *const *outputs);
void ifm_model_builder_int(IfmModelBuilder *builder, gsize node, const char *attribute, gint64 value);
void ifm_model_builder_float(IfmModelBuilder *builder, gsize node, const char *attribute, double value);
void ifm_model_builder_string(IfmModelBuilder *builder, gsize node, const char *attribute, const char *value);
void ifm_model_builder_ints(IfmModelBuilder *builder, gsize node, const char *attribute, const gint64 *values, gsize n);
/* Parts of another model, as they are. A node's names come along: what it reads must be there, too. */
/** ifm_model_builder_copy_node: with all its attributes, subgraphs and domain. Returns: its index. */
gsize ifm_model_builder_copy_node(IfmModelBuilder *builder, const IfmNode *node);
/** ifm_model_builder_copy_weight: an initializer of any type; its bytes are copied. */
void ifm_model_builder_copy_weight(IfmModelBuilder *builder, const IfmModel *model, const char *name);
/** ifm_model_builder_share_external: Copied weights that lie in a file beside their model stay there: the model that comes
 * out names the same file, and ifm_model_save() writes that file where it is not, whole. For models that are made of one
 * and kept in one folder. */
void ifm_model_builder_share_external(IfmModelBuilder *builder);
/** ifm_model_builder_copy_context: what nodes stand on beside the default domain: other operator sets, the model's own
 * functions. */
void ifm_model_builder_copy_context(IfmModelBuilder *builder, const IfmModel *model);
/** ifm_model_builder_node_output: One more output of a node; those between its last and the @index-th are left out. */
void ifm_model_builder_node_output(IfmModelBuilder *builder, gsize node, gsize index, const char *name);
/** ifm_model_builder_finish: Returns: (transfer full) a checked model; NULL with IFM_ERROR_INVALID. The builder is used up.
 */
IfmModel *ifm_model_builder_finish(IfmModelBuilder *builder, GError **error);

G_END_DECLS
