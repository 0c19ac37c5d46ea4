#pragma once
#include <inferometer/tensor.h>

IFM_BEGIN_DECLS

/**
 * IfmModel: one ONNX model, checked and indexed. Immutable after it is made, so threads may share it.
 * Large tensors stay in a private mapping of their file. The file must not be truncated while the model exists.
 */
typedef struct IfmModel IfmModel;

/** Limits on a file. A file beyond them is IFM_ERROR_INVALID with the place, before any memory is allocated for it. */
#define IFM_MODEL_MAX_DEPTH 64 /* nesting of messages; a subgraph takes 4 levels */
#ifndef IFM_MODEL_MAPPED_MIN_BYTES
#define IFM_MODEL_MAPPED_MIN_BYTES (1 << 14) /* tensors of this size or more are not copied */
#endif

/**
 * IfmPort: an input or output of a model.
 * @dims: [rank] -1 for a free dimension    @rank: -1 where unknown
 * @dim_names: [rank] the name of a free dimension in the model, "PORT[axis]" for one without a name; NULL for a fixed one
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
 * Returns: (transfer full) NULL with an error. IFM_ERROR_INVALID: the file is empty, truncated, not ONNX or nested too
 * deep; a tensor is larger than its file or its shape; external data are missing or outside the folder of the model; the
 * graph has a cycle, a duplicate name, or an input without a source. IFM_ERROR_UNAVAILABLE: no such file, no permission.
 * IFM_ERROR_MEMORY.
 */
IfmModel *ifm_model_open(const char *path, GError **error);
/** ifm_model_parse: ifm_model_open() of a file in memory. @name: the file name that messages begin with */
IfmModel *ifm_model_parse(GBytes *bytes, const char *name, GError **error);
IfmModel *ifm_model_ref(IfmModel *model);
void ifm_model_unref(IfmModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModel, ifm_model_unref)

/** ifm_model_serialize: Returns: (transfer full) the bytes of the ONNX file. For an opened model they are those of its
 * file. For a built model they contain all weights; NULL with IFM_ERROR_INVALID where those exceed the size of one file. */
GBytes *ifm_model_serialize(IfmModel *model, GError **error);
/** ifm_model_save: Writes the external data of the model into the folder of @path, then the model, both atomically. A file
 * of external data with the same bytes is left as it is; one with other bytes is replaced. A pipe or device receives
 * ifm_model_serialize().
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (disk full, read-only). The file at @path is then unchanged. */
gboolean ifm_model_save(IfmModel *model, const char *path, GError **error);

/** IfmModelExport: how ifm_model_export() writes a model.
 * @named: the user gave the path: an older model there is replaced, and weights in external data are named after the file,
 * "a.weights" next to "a.onnx"; else those keep their name, and a file is replaced only if it was exported before
 * @force: also replace other files    @metadata: key, value, …, NULL-terminated, added to metadata_props; or NULL */
typedef struct
{
    gboolean named, force;
    const char *const *metadata;
} IfmModelExport;
/** A key of metadata_props: files with it may be replaced by a later export. */
#define IFM_MODEL_EXPORTED "inferometer.exported"
/**
 * ifm_model_export: ifm_model_save() in places where a user keeps files. No file is written through a symbolic link. A file
 * of weights with the same bytes is left as it is; one with other bytes is replaced only where the model that is replaced
 * names it, or with @force.
 * @written: char*, to which the paths of the files that were written are added
 * Returns: FALSE with the errors of ifm_model_save(), IFM_ERROR_UNAVAILABLE for a symbolic link, or IFM_ERROR_INVALID for a
 * file that would be replaced. All files are checked before the first one is written.
 */
gboolean ifm_model_export(IfmModel *model, const char *path, const IfmModelExport *options, GPtrArray *written,
                          GError **error);

/** ifm_model_name: The base name of the file without ".onnx"; the name of the graph where there is no file. */
const char *ifm_model_name(const IfmModel *model);
/** ifm_model_digest: SHA-256 in hex of the serialised bytes and the files of external data. (transfer none) */
const char *ifm_model_digest(IfmModel *model, GError **error);
/** ifm_model_opset: The version of the default domain. */
gint64 ifm_model_opset(const IfmModel *model);
/** ifm_model_metadata: A value of metadata_props; NULL for an unknown key. */
const char *ifm_model_metadata(const IfmModel *model, const char *key);
/** IfmStoredType: What a model stores in one element type. @dtype: static: "f32", "i8", "u4", "f8e4m3fn", "string", …
 * @bytes: as stored: several elements of 4 or 2 bits in a byte    @n_parameters: as ifm_model_n_parameters() counts */
typedef struct
{
    const char *dtype;
    gint64 n_tensors, n_elements, bytes, n_parameters;
} IfmStoredType;
/** ifm_model_stored: (transfer full) IfmStoredType of each element type, the most bytes first: all initializers and the
 * values of Constant nodes, of the graph and of its subgraphs (the branches of If, the bodies of Loop and Scan). */
GArray *ifm_model_stored(const IfmModel *model);
/** ifm_model_n_parameters: The number of parameters in the graph and its subgraphs: elements of all floating-point
 * initializers but the scales of quantised operators; weights that are written as Constant nodes: more than a number of a
 * formula, and none of an operator's settings (the scales of Resize, the first state of LSTM); and integers that a
 * quantised operator reads as weights or bias, those of 4 bits in a byte one by one. */
gint64 ifm_model_n_parameters(const IfmModel *model);
/** ifm_model_dtype: The precision that a model is written in: the lowest floating-point type that a node other than a Cast
 * reads, or is told to make, in the graph or a subgraph; IFM_DTYPE_F32 where there is none. */
IfmDtype ifm_model_dtype(const IfmModel *model);
/** ifm_model_names_dtype: Whether an input, an output or another value of the graph or a subgraph is said to have a type,
 * or a node to make it: the ends of a Cast too, but not the type of a weight that is cast before it is used. */
gboolean ifm_model_names_dtype(const IfmModel *model, IfmDtype dtype);
/** ifm_model_n_trainable: ifm_model_n_parameters() without the running mean and variance of BatchNormalization, settings of
 * operators, and numbers of a formula: tensors of rank 0, and those of one element that only arithmetic reads and whose
 * name an exporter made up ("val_70"; a learnt number has the name of its module). */
gint64 ifm_model_n_trainable(const IfmModel *model);
/** ifm_model_n_trainable_within: Those in the branches of If and the bodies of Loop and Scan, which do not count there:
 * they are trained where it is known beforehand which branch runs. */
gint64 ifm_model_n_trainable_within(const IfmModel *model);

/** ifm_model_n_inputs: The inputs that the caller feeds. Initializers that are listed as inputs (IR version 3) do not
 * count. */
gsize ifm_model_n_inputs(const IfmModel *model);
const IfmPort *ifm_model_input(const IfmModel *model, gsize index);
gsize ifm_model_n_outputs(const IfmModel *model);
const IfmPort *ifm_model_output(const IfmModel *model, gsize index);

/**
 * ifm_model_make_inputs: Makes seeded inputs for all ports, in the order of the ports.
 * They are plausible where the graph tells what an input is for: pictures (rank 4 with 1, 3 or 4 channels, read by a
 * convolution) from [0, 1), in integers from 0 to 255; what an operator looks up within what it is looked up in (token ids
 * within the vocabulary at Gather); masks 1; integers that steer an operator (axes, shapes, counts, lengths) ones that it
 * accepts. Other floats are uniform in [-1, 1), other integers and bools 0 or 1. The metadata
 * "inferometer.range.PORT" = "LOW HIGH" gives another range. For an integer port, "LOW HIGH distinct" gives distinct values
 * in ascending order, for indices that must be unique (ScatterND without a reduction). Each port has its own generator,
 * seeded by (@seed, port name), so the shape of one port does not change the values of another.
 * @tensors: (out) [ifm_model_n_inputs()], to be cleared by the caller
 * Returns: FALSE with IFM_ERROR_INVALID for a free dimension without a binding, or the errors of ifm_tensor_init().
 */
gboolean ifm_model_make_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, guint32 seed,
                               IfmTensor *tensors, GError **error);

/* --- the index: nodes of the top-level graph in topological order ------------------------------------------------- */

/** IfmNode: borrowed from the model. An optional input that is left out is "". */
typedef struct
{
    const char *name; /* "" for a node without a name */
    const char *op_type, *domain;
    const char *const *inputs;
    gsize n_inputs;
    const char *const *outputs;
    gsize n_outputs;
    const void *proto; /* Onnx__NodeProto, for the files of the onnx room */
} IfmNode;

gsize ifm_model_n_nodes(const IfmModel *model);
const IfmNode *ifm_model_node(const IfmModel *model, gsize index);

/* --- shapes and costs: the operator table (src/onnx/operators.c) -------------------------------------------------- */

/**
 * IfmNodeFamily: the kind of an operator, to sum costs by kind. Each row of the operator table has one.
 */
typedef enum
{
    IFM_FAMILY_OTHER, /* also operators without a row */
    IFM_FAMILY_CONVOLUTION,
    IFM_FAMILY_PRODUCT, /* MatMul, Gemm, Einsum */
    IFM_FAMILY_ATTENTION,
    IFM_FAMILY_NORMALISATION,
    IFM_FAMILY_ACTIVATION,
    IFM_FAMILY_ELEMENTWISE,
    IFM_FAMILY_POOLING,
    IFM_FAMILY_REDUCTION,
    IFM_FAMILY_RECURRENT,
    IFM_FAMILY_INDEXING, /* Gather, Scatter: data moved by index */
    IFM_FAMILY_MOVEMENT, /* Reshape, Transpose, Concat: data moved or described */
    IFM_FAMILY_CONTROL,  /* If, Loop, Scan: the costs of their subgraphs */
    IFM_FAMILY_QUANTISATION,
    IFM_FAMILY_SOFTMAX,
    IFM_N_FAMILIES,
} IfmNodeFamily;
/** ifm_family_name: "convolution", … */
const char *ifm_family_name(IfmNodeFamily family);

/**
 * IfmNodeCost: the cost of a node. One multiply-add is 1 MAC and 2 FLOP. Bytes are those of the inputs and outputs of the
 * node, each once (intensity = flop / (bytes_read + bytes_written)). ifm_cost_conventions() gives all conventions as text.
 */
typedef struct
{
    gboolean covered; /* a cost rule exists and its shapes are known; if FALSE, all other members are 0 */
    IfmNodeFamily family;
    gint64 macs, flop, bytes_read, bytes_written;
    /* the counts are an upper bound: the node contains an If, and its branch is unknown. They give no rate. */
    gboolean is_upper_bound;
} IfmNodeCost;
/** ifm_cost_conventions: (transfer none) lines of text, NULL-terminated: "matmul A(m x k) B(k x n): 2 m k n", … */
const char *const *ifm_cost_conventions(void);

/** IfmAnalysis: inferred shapes and costs of a model under bindings. */
typedef struct IfmAnalysis IfmAnalysis;

/**
 * ifm_model_analyse: Infers the shapes and costs of a model.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where shapes contradict each other (the message names node and
 * tensor) or a dimension is unbound. An operator without a rule is not an error: shapes that depend on it stay unknown.
 */
IfmAnalysis *ifm_model_analyse(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);
void ifm_analysis_free(IfmAnalysis *analysis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmAnalysis, ifm_analysis_free)
/** ifm_analysis_shape: The shape of a tensor. @dtype, @rank: (out)    @shape: (out) [IFM_MAX_RANK]
 * Returns: FALSE where it is unknown. */
gboolean ifm_analysis_shape(const IfmAnalysis *analysis, const char *tensor, IfmDtype *dtype, int *rank, gint64 *shape);
const IfmNodeCost *ifm_analysis_node_cost(const IfmAnalysis *analysis, gsize node);
/** ifm_analysis_contradiction: Returns: (transfer none) the first shape that the model declares and that is another by the
 * operators' rules, which hold; NULL where there is none. @n: (out) how many there are */
const char *ifm_analysis_contradiction(const IfmAnalysis *analysis, gsize *n);
/** ifm_analysis_total: The sums over all covered nodes. @n_covered: (out) their number */
void ifm_analysis_total(const IfmAnalysis *analysis, IfmNodeCost *total, gsize *n_covered);

/**
 * IfmCoverage: the nodes that the costs include. Each node is either covered or listed in @missing.
 * @n_mac_nodes: nodes with MACs by their rule (convolution, product, attention, recurrent), and nodes without a rule, whose
 * MACs are unknown    @n_mac_covered: those of them that are covered
 * @n_observed: tensors whose shape comes from a run
 * @missing: char*, one line per operator: "NonZero (3 nodes): its shape depends on values; …"
 */
typedef struct
{
    gsize n_nodes, n_covered, n_mac_nodes, n_mac_covered, n_observed;
    GPtrArray *missing;
} IfmCoverage;
void ifm_analysis_coverage(const IfmAnalysis *analysis, IfmCoverage *coverage);
void ifm_coverage_clear(IfmCoverage *coverage);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmCoverage, ifm_coverage_clear)

/** IfmLifetime: a tensor of the top-level graph that is an input or the output of a node; not a constant.
 * @first: the node that makes it; -1: an input    @last: the last node that reads it; n_nodes: an output of the model;
 * @first: no node reads it    @bytes: -1 where its shape is unknown */
typedef struct
{
    const char *tensor; /* borrowed from the model */
    gint64 bytes;
    gssize first, last;
} IfmLifetime;

/**
 * IfmMemoryPlan: the memory of a graph, computed from its shapes. It contains no padding, workspace or fusing of a runtime.
 * A subgraph counts at its node: of If the branch that needs the most, of Loop one iteration. Its outputs are those of the
 * node.
 * @peak_bytes: the maximum, over the nodes, of the bytes alive at a node, with inputs and outputs of the model. It is the
 * minimum for any allocator with this order of nodes, if no node works in place and none is fused
 * @arena_bytes: the size of an arena with a greedy placement of these tensors (largest first, none moved)
 */
typedef struct
{
    gint64 parameter_bytes; /* initializers and values of Constant nodes of all types */
    gint64 input_bytes, output_bytes;
    gint64 activation_bytes; /* all outputs of nodes, none freed: what a backward pass keeps */
    gint64 peak_bytes, arena_bytes;
    gsize peak_node;   /* the node with the peak */
    gsize n_unknown;   /* tensors of unknown shape: with them all figures are too small */
    GArray *lifetimes; /* IfmLifetime */
} IfmMemoryPlan;
void ifm_analysis_memory(const IfmAnalysis *analysis, IfmMemoryPlan *plan);
void ifm_memory_plan_clear(IfmMemoryPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmMemoryPlan, ifm_memory_plan_clear)

/* --- building ----------------------------------------------------------------------------------------------------- */

/** IfmModelBuilder: a model under construction. ifm_model_builder_finish() reports the first error of all calls. */
typedef struct IfmModelBuilder IfmModelBuilder;

/** ifm_model_builder_new: @opset: the version of the default domain, usually 17. (transfer full) */
IfmModelBuilder *ifm_model_builder_new(const char *graph_name, gint64 opset);
void ifm_model_builder_free(IfmModelBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModelBuilder, ifm_model_builder_free)

/** ifm_model_builder_input / _output: @rank: -1: unknown    @dims: [rank] -1 for a free dimension    @dim_names: [rank]
 * names of the free dimensions, or NULL */
void ifm_model_builder_input(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                             const char *const *dim_names);
void ifm_model_builder_output(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                              const char *const *dim_names);
/** ifm_model_builder_weight: Adds an initializer. The bytes of @tensor are copied. */
void ifm_model_builder_weight(IfmModelBuilder *builder, const char *name, const IfmTensor *tensor);
/** ifm_model_builder_random_weight: Adds an f32 initializer, uniform in +-bound, from a generator seeded by (@seed, name).
 * ifm_model_builder_finish() draws it, so weights above one ONNX file (2 GiB) are refused before that work. */
void ifm_model_builder_random_weight(IfmModelBuilder *builder, const char *name, int rank, const gint64 *shape,
                                     double bound, guint32 seed);
void ifm_model_builder_metadata(IfmModelBuilder *builder, const char *key, const char *value);
/**
 * ifm_model_builder_node: Adds a node.
 * @inputs, @outputs: NULL-terminated; "" for an optional one that is left out
 * Returns: its index, for the attribute calls.
 */
gsize ifm_model_builder_node(IfmModelBuilder *builder, const char *op_type, const char *name, const char *const *inputs,
                             const char *const *outputs);
void ifm_model_builder_int(IfmModelBuilder *builder, gsize node, const char *attribute, gint64 value);
void ifm_model_builder_float(IfmModelBuilder *builder, gsize node, const char *attribute, double value);
void ifm_model_builder_string(IfmModelBuilder *builder, gsize node, const char *attribute, const char *value);
void ifm_model_builder_ints(IfmModelBuilder *builder, gsize node, const char *attribute, const gint64 *values, gsize n);
/** ifm_model_builder_finish: The builder can only be freed afterwards. Returns: (transfer full) a checked model; NULL with
 * IFM_ERROR_INVALID. */
IfmModel *ifm_model_builder_finish(IfmModelBuilder *builder, GError **error);

IFM_END_DECLS
