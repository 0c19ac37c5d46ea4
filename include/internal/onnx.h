#pragma once
#include <inferometer/estimate.h>
#include <inferometer/onnx.h>
#include <jansson.h>

G_BEGIN_DECLS

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
void ifm_model_builder_floats(IfmModelBuilder *builder, gsize node, const char *attribute, const float *values, gsize n);
/** ifm_model_builder_attributes: Sets attributes as ifm_node_attributes() gives them. One that is a digest alone is an
 * error of ifm_model_builder_finish(). */
void ifm_model_builder_attributes(IfmModelBuilder *builder, gsize node, const json_t *attributes);
/** ifm_model_builder_copy_node: Copies a node of another model with its attributes, subgraphs and domain. The copy keeps
 * the names of its inputs, so the tensors that it reads must exist too. Returns: its index. */
gsize ifm_model_builder_copy_node(IfmModelBuilder *builder, const IfmNode *node);

/** ifm_model_builder_copy_node_as: The same under another name, its inputs and outputs renamed.
 * @tensors: name -> new name; what it does not have keeps its name */
gsize ifm_model_builder_copy_node_as(IfmModelBuilder *builder, const IfmNode *node, const char *name, GHashTable *tensors);

/** ifm_model_builder_copy_weight: Copies an initializer of any type, with its bytes. */
void ifm_model_builder_copy_weight(IfmModelBuilder *builder, const IfmModel *model, const char *name);

/** ifm_model_builder_share_external: Copied weights in external data stay there. The new model names the same file, and
 * ifm_model_save() writes the whole file where it is missing. For several models that are made of one and kept in one
 * folder. */
void ifm_model_builder_share_external(IfmModelBuilder *builder);

/** ifm_model_builder_copy_context: Copies what nodes may need besides the default domain: other operator sets and the
 * functions of the model. */
void ifm_model_builder_copy_context(IfmModelBuilder *builder, const IfmModel *model);

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

G_END_DECLS
