/* Shared with other rooms: models, nodes, shapes, costs, and the builder. */
#pragma once
#include <jansson.h>

#include <base/tensor.h>
#include <inferometer/model.h>

G_BEGIN_DECLS

/* --- models -------------------------------------------------------------------------------------------------------- */

/** Limits on a file. A file beyond them is IFM_ERROR_INVALID with the place, before any memory is allocated for it. */
#define IFM_MODEL_MAX_DEPTH 64 /* nesting of messages; a subgraph takes 4 levels */

#define IFM_MODEL_MAPPED_MIN_BYTES (1 << 14) /* tensors of this size or more are not copied */

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

/** ifm_model_parse: ifm_model_open() of a file in memory. @name: the file name that messages begin with */
IfmModel *ifm_model_parse(GBytes *bytes, const char *name, GError **error);
IfmModel *ifm_model_ref(IfmModel *model);

/** ifm_model_save: Writes the external data of the model into the folder of @path, then the model, both atomically. A file
 * of external data with the same bytes is left as it is; one with other bytes is replaced. A pipe or device receives
 * ifm_model_serialize().
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE (disk full, read-only). The file at @path is then unchanged. */
gboolean ifm_model_save(IfmModel *model, const char *path, GError **error);

/** A key of metadata_props: files with it may be replaced by a later export. */
#define IFM_MODEL_EXPORTED "inferometer.exported"

/** ifm_model_name: The base name of the file without ".onnx"; the name of the graph where there is no file. */
const char *ifm_model_name(const IfmModel *model);

/** ifm_model_digest: SHA-256 in hex of the serialised bytes and the files of external data. (transfer none) */
const char *ifm_model_digest(IfmModel *model, GError **error);

/** ifm_model_opset: The version of the default domain. */
gint64 ifm_model_opset(const IfmModel *model);
/** ifm_model_domain_version: The version of another domain that the model imports; 0: it imports none of that name. */
gint64 ifm_model_domain_version(const IfmModel *model, const char *domain);

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
/** ifm_model_overridable: Returns: (transfer none) the first initializer that is an input, too, so that a caller may give
 * it another value (IR version 4 and newer); NULL: there is none */
const char *ifm_model_overridable(const IfmModel *model);
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

/* --- the index: nodes of the top-level graph in topological order -------------------------------------------------- */

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

/* --- shapes and costs: the operator table (src/onnx/operators.c) --------------------------------------------------- */

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

/* --- building ------------------------------------------------------------------------------------------------------ */

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

/** ifm_model_builder_n_nodes: so far */
gsize ifm_model_builder_n_nodes(const IfmModelBuilder *builder);

/** ifm_model_builder_finish: The builder can only be freed afterwards. Returns: (transfer full) a checked model; NULL with
 * IFM_ERROR_INVALID. */
IfmModel *ifm_model_builder_finish(IfmModelBuilder *builder, GError **error);

/** IfmObservedShape: the shape of a tensor in a run of the model. */
typedef struct
{
    const char *tensor;
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
} IfmObservedShape;

/** ifm_model_open_outline: As ifm_model_open() without reading external data. Their tensors have types and shapes, but no
 * values. For a graph without its weights that is read and not run. */
IfmModel *ifm_model_open_outline(const char *path, GError **error);

/** ifm_model_open_outside: As ifm_model_open(), also where external data lie behind a symbolic link that leaves the model's
 * folder. Other programs may refuse such a file: save it elsewhere, data and all, before one is to read it.
 * @is_outside: (out) whether that is so */
IfmModel *ifm_model_open_outside(const char *path, gboolean *is_outside, GError **error);

/** ifm_model_inline_functions: The model with the functions that it brings put in where they are called, those in subgraphs
 * and in other functions too, attributes by reference resolved. A function of another version of an operator set stays a
 * call.
 * @inlined: (out) (transfer full) of the same name, in no file; NULL: the model calls none
 * Returns: FALSE with IFM_ERROR_INVALID (functions that call themselves, or come to over 200,000 nodes), IFM_ERROR_MEMORY.
 */
gboolean ifm_model_inline_functions(const IfmModel *model, IfmModel **inlined, GError **error);

/** ifm_model_inline_branches: The model with branches of If put in where the nodes stand, their weights as the graph's.
 * Their names begin with "OUTPUT#N/", so that no two are the same.
 * @taken: the first output of such a node of the graph itself -> GINT_TO_POINTER(1 + its condition)
 * Returns: (transfer full) of the same name, in no file; NULL with IFM_ERROR_INVALID or IFM_ERROR_MEMORY */
IfmModel *ifm_model_inline_branches(const IfmModel *model, GHashTable *taken, GError **error);

/** ifm_model_path: The path of an opened model; NULL for a built or parsed one. */
const char *ifm_model_path(const IfmModel *model);

/** ifm_model_files: (transfer full) NULL-terminated: the paths of all files of an opened model, with those of its weights.
 * Empty for a built or parsed model. */
char **ifm_model_files(const IfmModel *model);

/** ifm_port_copy / ifm_port_free: (transfer full) */
IfmPort *ifm_port_copy(const IfmPort *port);
void ifm_port_free(IfmPort *port);

/** ifm_port_is_fixed: Whether the rank and every dimension are known. */
gboolean ifm_port_is_fixed(const IfmPort *port);

/**
 * ifm_port_bind: The shape of an input under the bindings.
 * @shape: (out) [port->rank]
 * Returns: FALSE with IFM_ERROR_INVALID, which names the first free dimension without a binding, or a value below 0.
 */
gboolean ifm_port_bind(const IfmPort *port, const IfmDimBinding *bindings, gsize n_bindings, gint64 *shape, GError **error);

/**
 * ifm_model_check_bindings: Whether the bindings fit the model.
 * Returns: FALSE with IFM_ERROR_INVALID for a name that is not a free dimension of any input (the message lists those), a
 * name that is bound twice, or an input that stays unbound.
 */
gboolean ifm_model_check_bindings(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);

/** ifm_onnx_random: Returns: (transfer full) a generator of its own for (@seed, @name), as an input's values come from. */
GRand *ifm_onnx_random(guint32 seed, const char *name);

/** ifm_onnx_tensor_read: The tensor of a file with one TensorProto, as ONNX keeps test data.
 * @data: [size] its bytes    @where: the file's name, for messages    @tensor: (out) holds a copy of the values
 * Returns: FALSE with IFM_ERROR_INVALID for other bytes, elements that are no numbers, or values in another file; or with
 * IFM_ERROR_MEMORY. @tensor is then empty. */
gboolean ifm_onnx_tensor_read(const guint8 *data, gsize size, const char *where, IfmTensor *tensor, GError **error);

/** ifm_model_reserve_inputs: Makes inputs of the same shapes whose values are never read: addresses only, see
 * ifm_tensor_reserve(). They may be larger than the memory of the machine. */
gboolean ifm_model_reserve_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings,
                                  IfmTensor *tensors, GError **error);

/** ifm_model_node_names: (transfer full) name -> index + 1; G_MAXSIZE of a name that several nodes have. It borrows the
 * names. */
GHashTable *ifm_model_node_names(const IfmModel *model);

/** ifm_model_producer: Returns: the index of the node that makes the tensor; -1 for inputs, initializers and unknown
 * names. */
gssize ifm_model_producer(const IfmModel *model, const char *tensor);

/** ifm_model_consumers: Returns: (transfer none) indices (gsize) of the nodes that read the tensor; NULL where none does.
 */
const GArray *ifm_model_consumers(const IfmModel *model, const char *tensor);

/** ifm_model_n_initializers, ifm_model_initializer_name: All initializers of the graph, in the order of the file. */
gsize ifm_model_n_initializers(const IfmModel *model);
const char *ifm_model_initializer_name(const IfmModel *model, gsize index);

/** ifm_model_initializer: Describes a weight without a copy. Its bytes may be unaligned: read them with memcpy.
 * @tensor: (out) borrows from the model
 * Returns: FALSE for an unknown name, or a type that IfmTensor cannot hold (strings, 4-bit types). */
gboolean ifm_model_initializer(const IfmModel *model, const char *name, IfmTensor *tensor);

/** ifm_model_initializer_dtype: The element type of a weight whose values need not be known; UNDEFINED for another name. */
IfmDtype ifm_model_initializer_dtype(const IfmModel *model, const char *name);

/** ifm_model_weight: As ifm_model_initializer(), also of what a Constant node of the graph makes, where that is
 * floating-point numbers of rank 1 at least. */
gboolean ifm_model_weight(const IfmModel *model, const char *name, IfmTensor *tensor);

/** ifm_model_trainable: Names of the weights that training changes: what ifm_model_n_trainable() counts; initializers in
 * the order of the file, then outputs of Constant nodes. Returns: (transfer container) const char*, of the model */
GPtrArray *ifm_model_trainable(const IfmModel *model);

/** Attributes. Returns: @fallback where the node has no attribute of that name and type. */
gint64 ifm_node_int(const IfmNode *node, const char *attribute, gint64 fallback);
double ifm_node_float(const IfmNode *node, const char *attribute, double fallback);
const char *ifm_node_string(const IfmNode *node, const char *attribute, const char *fallback);

/** ifm_node_ints: Returns: (transfer none) [@n] NULL where the node has no such attribute. @n: (out) */
const gint64 *ifm_node_ints(const IfmNode *node, const char *attribute, gsize *n);
const float *ifm_node_floats(const IfmNode *node, const char *attribute, gsize *n);

/** ifm_window_pads: What the attribute auto_pad makes of the pads of one axis: NOTSET keeps @pads, VALID makes them 0;
 * SAME_UPPER and SAME_LOWER make them so many that there are ceil(in / stride) windows, an odd one behind or before.
 * @reach: dilation (kernel - 1) + 1    @pads: [2] before and behind the axis */
void ifm_window_pads(const char *auto_pad, gint64 in, gint64 stride, gint64 reach, gint64 pads[2]);

/** ifm_node_attributes: (transfer full) an object of all attributes by name: numbers, texts, lists of them; of a tensor,
 * graph or type IFM_ATTRIBUTE_DIGEST and the digest of its bytes. */
#define IFM_ATTRIBUTE_DIGEST "sha256:"
json_t *ifm_node_attributes(const IfmNode *node);

/** ifm_node_has_subgraph: Whether an attribute is a graph, whose nodes may read any tensor of the outer one. */
gboolean ifm_node_has_subgraph(const IfmNode *node);

/** IFM_EXPECTED: after an output's name: what it must be, among the inputs that are given. */
#define IFM_EXPECTED "\nexpected"
/** IfmGivenInput: what an input is fed. */
typedef struct
{
    const char *name;
    IfmTensor tensor;
} IfmGivenInput;

/** IfmKnown: what is known of a model besides its bindings. @observed: [n_observed] used where no rule gives a shape; one
 * that contradicts a rule is IFM_ERROR_INVALID    @given: [n_given] inputs whose values, where they are few, are followed:
 * turns of a loop, a shape */
typedef struct
{
    const IfmObservedShape *observed;
    gsize n_observed;
    const IfmGivenInput *given;
    gsize n_given;
} IfmKnown;

/** ifm_model_analyse_pair: Shapes are inferred for fixed sizes alone: what is the same in two analyses is known, what is
 * not is free. Takes the first pair of @sizes, those of all free dimensions that are not @bound, at which the model is
 * right.
 * @pair: [2] (out) both NULL where there is none    @error: of the first failure, unless there is one */
gboolean ifm_model_analyse_pair(IfmModel *model, const IfmDimBinding *bound, gsize n_bound, const gint64 (*sizes)[2],
                                gsize n_sizes, IfmAnalysis **pair, GError **error);
/** ifm_model_analyse_with: As ifm_model_analyse(), with what else is known. */
IfmAnalysis *ifm_model_analyse_with(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const IfmKnown *known,
                                    GError **error);

/** ifm_analysis_ints: The values of a small integer tensor that follow from the model and the bindings: axes, shapes, split
 * sizes. @values: (out) [IFM_ANALYSIS_MAX_INTS]    @n: (out)    Returns: FALSE where they are unknown. */
#define IFM_ANALYSIS_MAX_INTS 32
gboolean ifm_analysis_ints(const IfmAnalysis *analysis, const char *tensor, gint64 *values, gsize *n);

/** ifm_analysis_knows_operator: Whether the operator table has a row for the operator of the node. */
gboolean ifm_analysis_knows_operator(const IfmAnalysis *analysis, gsize node);

/** IfmExposedTensor: a tensor of the graph itself, with its type. */
typedef struct
{
    const char *name;
    IfmDtype dtype;
} IfmExposedTensor;

/** ifm_model_expose: (transfer full) a model that gives these tensors too, behind its own outputs; each once.
 * NULL with IFM_ERROR_INVALID where a graph has no tensor of the name, or what one ONNX file cannot hold. */
IfmModel *ifm_model_expose(IfmModel *model, const IfmExposedTensor *tensors, gsize n, GError **error);

/** ifm_operator_draws: Whether an operator's outputs are numbers that it draws at random. Dropout draws where it trains. */
gboolean ifm_operator_draws(const char *op_type);

/** ifm_model_draws: Which outputs depend on numbers that are drawn at random, in the graph, its subgraphs and functions: no
 * two runs, and no two runtimes, need to agree on them. Dropout draws unless its mode or ratio is known to be 0; of an If
 * whose condition is known only the branch that is taken counts.
 * @inputs: (optional) [ifm_model_n_inputs()] what is fed
 * Returns: (transfer full) output -> type of the operator that draws */
GHashTable *ifm_model_draws(IfmModel *model, const IfmTensor *inputs);

/** ifm_operator_family: Of an operator of any domain that has a row here; IFM_FAMILY_OTHER for another. */
IfmNodeFamily ifm_operator_family(const char *op_type);

/** ifm_model_stored_bytes: All that ifm_model_stored() counts. */
gint64 ifm_model_stored_bytes(const IfmModel *model);

/** ifm_analysis_family_total: The sums over the covered nodes of one family. @family: IFM_N_FAMILIES: of all */
void ifm_analysis_family_total(const IfmAnalysis *analysis, IfmNodeFamily family, IfmNodeCost *total, gsize *n_covered);

/**
 * ifm_model_builder_external: Drawn weights that are added later, of IFM_MODEL_EXTERNAL_MIN_BYTES or more, go into a
 * separate file in the folder of the model, as ONNX's external data. The limit of 2 GiB does not apply to them. They are in
 * memory until ifm_model_save() writes that file. ifm_model_serialize() returns one file with all weights.
 * @location: the name of the file. Models that draw the same weights in the same order may share it.
 */
#define IFM_MODEL_EXTERNAL_MIN_BYTES (1 << 14)
void ifm_model_builder_external(IfmModelBuilder *builder, const char *location);

/** ifm_model_builder_drawn_weight: Adds an f32 initializer, uniform in [low, high). Each number depends on (@seed, @name,
 * its index) only and is the same on every machine. ifm_model_builder_finish() draws it, hundreds of millions a second. */
void ifm_model_builder_drawn_weight(IfmModelBuilder *builder, const char *name, int rank, const gint64 *shape, double low,
                                    double high, guint32 seed);

/** ifm_model_builder_domain: Puts a node into an operator set that is not the default one; the model imports it. */
void ifm_model_builder_domain(IfmModelBuilder *builder, gsize node, const char *domain, gint64 version);

/** ifm_model_builder_attributes: Sets attributes as ifm_node_attributes() gives them. One that is a digest alone is an
 * error of ifm_model_builder_finish(). */
void ifm_model_builder_attributes(IfmModelBuilder *builder, gsize node, const json_t *attributes);

/** ifm_model_builder_copy_node: Copies a node of another model with its attributes, subgraphs and domain. The copy keeps
 * the names of its inputs, so the tensors that it reads must exist too. Returns: its index. */
gsize ifm_model_builder_copy_node(IfmModelBuilder *builder, const IfmNode *node);

/** ifm_model_builder_copy_node_as: The same under another name, its inputs and outputs renamed.
 * @tensors: name -> new name; what it does not have keeps its name; NULL: all do */
gsize ifm_model_builder_copy_node_as(IfmModelBuilder *builder, const IfmNode *node, const char *name, GHashTable *tensors);

/** ifm_model_builder_copy_weight: Copies an initializer of any type, with its bytes. */
void ifm_model_builder_copy_weight(IfmModelBuilder *builder, const IfmModel *model, const char *name);

/** ifm_model_builder_copy_inputs, ifm_model_builder_copy_outputs: Those of the graph, with the names of their dimensions.
 */
void ifm_model_builder_copy_inputs(IfmModelBuilder *builder, const IfmModel *model);
void ifm_model_builder_copy_outputs(IfmModelBuilder *builder, const IfmModel *model);

/** ifm_model_builder_share_external: Copied weights in external data stay there. The new model names the same file, and
 * ifm_model_save() writes the whole file where it is missing. For several models that are made of one and kept in one
 * folder. */
void ifm_model_builder_share_external(IfmModelBuilder *builder);

/** ifm_model_builder_copy_context: Copies what nodes may need besides the default domain: other operator sets and the
 * functions of the model. */
void ifm_model_builder_copy_context(IfmModelBuilder *builder, const IfmModel *model);

/** ifm_model_builder_copy_metadata: Copies metadata_props, but the mark of an export. */
void ifm_model_builder_copy_metadata(IfmModelBuilder *builder, const IfmModel *model);

/** ifm_model_builder_drop_domains: Takes out operator sets of which the model has no node: a runtime that does not know one
 * refuses the model. To be called behind all nodes. */
void ifm_model_builder_drop_domains(IfmModelBuilder *builder);

/** ifm_model_builder_value: Says what a tensor between nodes is, where no rule gives it. @dims: [rank] -1: free */
void ifm_model_builder_value(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims);

/** ifm_model_builder_node_output: Adds output @index of a node. Outputs between the last one and @index are left out. */
void ifm_model_builder_node_output(IfmModelBuilder *builder, gsize node, gsize index, const char *name);

/** IfmEncodingStorage: bytes of an encoding in f32. @node: [nodes, dim]. @relative_dense: [nodes, nodes, dim].
 * @relative_sparse: [edges, dim] and two i64 indices per edge. */
typedef struct
{
    gint64 node, relative_dense, relative_sparse;
} IfmEncodingStorage;

/** ifm_message_passing_words: "none", "gin", "gcn", "sage", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_message_passing_words(void);

/** ifm_positional_encoding_words: "none", "lap", "rwse", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_positional_encoding_words(void);

/** ifm_estimate_attention_bytes: The bytes of the score matrices of one layer, f32.
 * Equals: 4 h s, s = sparse_ratio n^2, rounded; twice that where @with_softmax, since training keeps scores and softmax */
gboolean ifm_estimate_attention_bytes(gint64 num_nodes, gint64 num_heads, double sparse_ratio, gboolean with_softmax,
                                      gint64 *bytes, GError **error);

/** ifm_estimate_encoding_storage: Equals: 4 n dim; 4 n^2 dim; 4 e dim + 16 e */
gboolean ifm_estimate_encoding_storage(gint64 num_nodes, gint64 num_edges, gint64 dim, IfmEncodingStorage *storage,
                                       GError **error);

/* IfmRecurrentInput: the inputs of LSTM, GRU and RNN (the first six; LSTM: eight) and of DynamicQuantizeLSTM (all), in
 * order.
 */
typedef enum
{
    IFM_RECURRENT_X,
    IFM_RECURRENT_W,
    IFM_RECURRENT_R,
    IFM_RECURRENT_BIAS,
    IFM_RECURRENT_LENGTHS,
    IFM_RECURRENT_H,
    IFM_RECURRENT_C,
    IFM_RECURRENT_PEEPHOLES,
    IFM_RECURRENT_W_SCALE,
    IFM_RECURRENT_W_ZERO,
    IFM_RECURRENT_R_SCALE,
    IFM_RECURRENT_R_ZERO,
} IfmRecurrentInput;

/* --- inputs of models ---------------------------------------------------------------------------------------------- */

/** IfmNote: Receives what is worth knowing and no error. */
typedef void (*IfmNote)(const char *message, void *user);

/**
 * IfmModelFeed: sizes of a model's free dimensions, and inputs that are given.
 * @bindings: IfmDimBinding    @given: IfmGivenInput, those that are not seeded    @names: what the names of both point to
 * @samples: IfmGivenInput, of those of which a file has several samples, all of them along the first axis: @n_samples; the
 * first of them is what is given
 */
typedef struct
{
    GArray *bindings;
    GPtrArray *names;
    GArray *given;
    GArray *samples;
    gint64 n_samples;
} IfmModelFeed;
void ifm_model_feed_clear(IfmModelFeed *feed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmModelFeed, ifm_model_feed_clear)

/** ifm_model_feed_init: What --dim says. @feed: (out) to be cleared in any case. Returns: FALSE with IFM_ERROR_USAGE. */
gboolean ifm_model_feed_init(IfmModelFeed *feed, const char *const *dims, GError **error);

/** ifm_model_feed_bind: Adds a size. */
void ifm_model_feed_bind(IfmModelFeed *feed, const char *name, gint64 size);

/**
 * ifm_model_feed_fill: Reads the inputs that are given. Sizes of free dimensions: those asked for, those of the inputs, and
 * 1 for a batch that nothing is said of, which is noted.
 * A batch: a first dimension that exporters call so ("batch_size", "N"), or one that has no name or one that an exporter
 * made up ("unk__749", "DynamicDimension.0"), where all inputs have it.
 * @feed: of ifm_model_feed_init()    @seed: of inputs that are random numbers of a range    @note: (nullable)
 * Returns: FALSE with IFM_ERROR_USAGE (words that are none), IFM_ERROR_INVALID (an input or a size that does not fit, all
 * dimensions that stay free), IFM_ERROR_UNAVAILABLE (no such file)
 */
gboolean ifm_model_feed_fill(IfmModelFeed *feed, const IfmModel *model, const IfmModelOptions *options, guint32 seed,
                             IfmNote note, void *user, GError **error);

/** ifm_given_inputs_save: Writes inputs of a feed, or its samples, into @folder as a file of tensors (tensor-file.h) that
 * is named for what is in it. @inputs: IfmGivenInput    Returns: (transfer full) its path; NULL with an error */
char *ifm_given_inputs_save(const GArray *inputs, const char *folder, GError **error);

static inline const IfmDimBinding *ifm_model_feed_bindings(const IfmModelFeed *feed)
{
    return (const IfmDimBinding *)(const void *)feed->bindings->data;
}

G_END_DECLS
