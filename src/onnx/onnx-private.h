#pragma once

#include "onnx.pb-c.h"
#include <onnx/onnx.h>

G_BEGIN_DECLS

/* --- scan.c: the file's bytes, looked at before protobuf-c is ----------------------------------------------------- */

/* More messages than this take gigabytes of structs. The largest real models have about 100,000. */
#define IFM_ONNX_MAX_MESSAGES (1u << 22)

/* IfmOnnxSpan: the place of the raw_data of a large tensor in the file. */
typedef struct
{
    gsize offset, length;
} IfmOnnxSpan;

/*
 * ifm_onnx_scan: Checks the whole wire format and writes a copy for protobuf-c: without unknown fields, and with each large
 * raw_data replaced by a field of number IFM_ONNX_SPAN_FIELD that holds the index of its span.
 * @compact: (out) empty    @spans: (out) of IfmOnnxSpan, empty
 */
#define IFM_ONNX_SPAN_FIELD 1000u
gboolean ifm_onnx_scan(const guint8 *data, gsize size, GByteArray *compact, GArray *spans, GError **error);

/* --- tensor-values.c: where a tensor's values are, and whether they are as many as its shape says ----------------- */

/*
 * ifm_onnx_attach_tensors: Gives every tensor of the model its values (spans of the file, external files) and checks it.
 * The message does not own attached values: call ifm_onnx_detach_tensors() before the message is freed.
 */
gboolean ifm_onnx_attach_tensors(IfmModel *model, const GArray *spans, GError **error);
void ifm_onnx_detach_tensors(IfmModel *model);

/*
 * ifm_onnx_tensor_wrap: Describes a checked tensor. Types stored wider than they are (int32_data of i8, …) are converted.
 * Returns: FALSE where IfmTensor cannot hold it (strings, packed types); @tensor is then empty.
 */
gboolean ifm_onnx_tensor_wrap(const Onnx__TensorProto *proto, IfmTensor *tensor);

/* ifm_onnx_type_bits: Returns: bits per element of a TensorProto.DataType; 0 for strings and unknown types. */
guint ifm_onnx_type_bits(int data_type);
/* ifm_onnx_type_name: Returns: "f32", "i4", "f8e4m3fn", …; "undefined" for an unknown type. */
const char *ifm_onnx_type_name(int data_type);

/* --- model-external.c: weights in files of their own -------------------------------------------------------------- */

#define IFM_ONNX_MAX_FILE_BYTES G_MAXINT32 /* the limit of protobuf for one message, so for one ONNX file */

/* ifm_onnx_add_external: @bytes: (transfer full)    Returns: them, borrowed. */
GBytes *ifm_onnx_add_external(IfmModel *model, const char *location, GBytes *bytes);
/* IfmOnnxExternal: one file of external data. */
typedef struct
{
    char *location;
    GBytes *bytes;
} IfmOnnxExternal;
/* ifm_onnx_parse_built: ifm_model_parse() of a model whose external data are in memory. @externals: [n], borrowed */
IfmModel *ifm_onnx_parse_built(GBytes *bytes, const char *name, const IfmOnnxExternal *externals, gsize n, GError **error);
IfmModel *ifm_onnx_parse_outline(GBytes *bytes, const char *name, GError **error);
/* ifm_onnx_save_external: Writes the external data of the model into the folder of @path, unless they are there. */
gboolean ifm_onnx_save_external(const IfmModel *model, const char *path, GError **error);
/* ifm_onnx_save_external_file: One of them, which replaces what is there, unless that is a symbolic link. */
gboolean ifm_onnx_save_external_file(const char *folder, const char *location, GBytes *bytes, GError **error);
/* ifm_onnx_has_these_bytes: Whether there is a file with that content. */
gboolean ifm_onnx_has_these_bytes(const char *path, GBytes *bytes);
/* ifm_onnx_reparse: ifm_model_parse() of what @model was made into, with its name and external data. */
IfmModel *ifm_onnx_reparse(const IfmModel *model, GBytes *bytes, GError **error);
/* ifm_onnx_repack: The model of a changed @proto, with the name and the external data of the one that it is made of.
 * Returns: (transfer full) NULL with an error */
IfmModel *ifm_onnx_repack(const IfmModel *model, const Onnx__ModelProto *proto, GError **error);
/* ifm_onnx_inline: Returns: (transfer full) the bytes of one file with the model and its external data. */
GBytes *ifm_onnx_inline(const IfmModel *model, GError **error);
/* ifm_onnx_draw: Fills @values with numbers uniform in [@low, @high), each a function of (@seed, @name, its index) alone.
 */
void ifm_onnx_draw(float *values, gsize n, double low, double high, guint32 seed, const char *name);

/* --- messages.c: messages in the making --------------------------------------------------------------------------- */

/* ifm_onnx_append: Grows a repeated field by one pointer. */
void ifm_onnx_append(void *array, size_t *n, void *element);
/* ifm_onnx_is_external: Whether the values are in another file.    ifm_onnx_external_value: "location", "offset", "length";
 * NULL: it does not say    ifm_onnx_copy_external: Refers to the same place.    ifm_onnx_forget_external: to none */
gboolean ifm_onnx_is_external(const Onnx__TensorProto *tensor);
const char *ifm_onnx_external_value(const Onnx__TensorProto *tensor, const char *key);
void ifm_onnx_copy_external(Onnx__TensorProto *tensor, const Onnx__TensorProto *from);
void ifm_onnx_forget_external(Onnx__TensorProto *tensor);
/* ifm_onnx_set_text: @text: (transfer full) */
void ifm_onnx_set_text(char **where, char *text);
/* ifm_onnx_new: (transfer full) An empty message: IFM_ONNX_NEW(node_proto). */
void *ifm_onnx_new(const ProtobufCMessageDescriptor *descriptor);
#define IFM_ONNX_NEW(type) ifm_onnx_new(&onnx__##type##__descriptor)
/* ifm_onnx_copy_message: (transfer full) */
void *ifm_onnx_copy_message(const void *message);
/* ifm_onnx_new_node: (transfer full) @text: see ifm_onnx_set_operator()    @name: (transfer full) */
Onnx__NodeProto *ifm_onnx_new_node(const char *text, char *name);
/* ifm_onnx_new_port: (transfer full) of any shape */
Onnx__ValueInfoProto *ifm_onnx_new_port(const char *name, IfmDtype dtype);
/* ifm_onnx_elem_type: The element type that a value is said to have; 0: none, or it is no tensor */
int ifm_onnx_elem_type(const Onnx__ValueInfoProto *port);
/* ifm_onnx_new_tensor: (transfer full) without values */
Onnx__TensorProto *ifm_onnx_new_tensor(const char *name, int dtype, gsize rank, const gint64 *dims);
Onnx__OperatorSetIdProto *ifm_onnx_new_opset(const char *domain, gint64 version);
void ifm_onnx_add_entry(Onnx__StringStringEntryProto ***entries, size_t *n, const char *key, const char *value);
/* ifm_onnx_unpack: (transfer full) The message that a model was made of.    ifm_onnx_pack: (transfer full) NULL with
 * IFM_ERROR_INVALID (more than a file holds) or IFM_ERROR_MEMORY. @name: of the model, for messages */
Onnx__ModelProto *ifm_onnx_unpack(const IfmModel *model);
GBytes *ifm_onnx_pack(const Onnx__ModelProto *proto, const char *name, GError **error);
/* ifm_onnx_each_graph: Calls @visit for a graph and for each subgraph in it. The scan of the file bounds their depth. */
void ifm_onnx_each_graph(const Onnx__GraphProto *graph, void (*visit)(Onnx__GraphProto *graph, gpointer user),
                         gpointer user);
/* ifm_onnx_each_made: … for each name that a graph defines: inputs, weights, outputs of nodes. */
void ifm_onnx_each_made(const Onnx__GraphProto *graph, void (*visit)(const char *name, gpointer user), gpointer user);
/* ifm_onnx_set_nodes: Makes @nodes those of the graph; what it had are not freed. */
void ifm_onnx_set_nodes(Onnx__GraphProto *graph, const GPtrArray *nodes);
/* ifm_onnx_body: Returns: (transfer none) subgraph @index of a node, in the order of its attributes; NULL behind the last.
 */
Onnx__GraphProto *ifm_onnx_body(const Onnx__NodeProto *node, gsize index);

/* IfmOnnxRenaming: @rename: gives a tensor its new name (ifm_onnx_set_text())    @prefix: of nodes' names */
typedef struct IfmOnnxRenaming
{
    void (*rename)(const struct IfmOnnxRenaming *renaming, char **name);
    GHashTable *names;
    const char *prefix;
} IfmOnnxRenaming;
/* ifm_onnx_rename_graph: Renames all tensors and nodes, subgraphs included. */
void ifm_onnx_rename_graph(const IfmOnnxRenaming *renaming, Onnx__GraphProto *graph);
void ifm_onnx_rename_node(const IfmOnnxRenaming *renaming, Onnx__NodeProto *node);

/* ifm_onnx_set_operator: Sets the operator and attributes: "Softmax axis=-1", "Transpose perm=[1,0]", "Gemm alpha=0.5",
 * "ScatterND reduction=add". */
void ifm_onnx_set_operator(Onnx__NodeProto *node, const char *text);
Onnx__AttributeProto *ifm_onnx_add_attribute(Onnx__NodeProto *node, const char *name, int type);
void ifm_onnx_add_int(Onnx__NodeProto *node, const char *name, gint64 value);
void ifm_onnx_add_ints(Onnx__NodeProto *node, const char *name, const gint64 *values, gsize n);
void ifm_onnx_add_string(Onnx__NodeProto *node, const char *name, const char *value);
void ifm_onnx_add_float(Onnx__NodeProto *node, const char *name, double value);
/* ifm_onnx_add_value: An attribute as ifm_node_attributes() gives it. FALSE: nothing that one can be made of */
gboolean ifm_onnx_add_value(Onnx__NodeProto *node, const char *name, const json_t *value);

/* --- graph-check.c ------------------------------------------------------------------------------------------------ */

/*
 * IfmGraphOrder: results of the check of a graph.
 * @order: of gsize: node numbers in topological order; the order of the file if that is topological
 * @captures: [n_node] names that the subgraphs of a node read from this graph (GPtrArray of borrowed strings), or NULL
 */
typedef struct
{
    GArray *order;
    GPtrArray *captures;
} IfmGraphOrder;
void ifm_graph_order_clear(IfmGraphOrder *order);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmGraphOrder, ifm_graph_order_clear)

/* ifm_onnx_check_graph: Names, scopes and cycles of a graph and its subgraphs. @order: (out) */
gboolean ifm_onnx_check_graph(const Onnx__GraphProto *graph, IfmGraphOrder *order, GError **error);
/* ifm_onnx_node_place: Returns: (transfer full) "node 3 (Conv 'conv1')". */
char *ifm_onnx_node_place(gsize index, const Onnx__NodeProto *node);

/* The IR version since which an initializer need not be listed as an input; one that is may be given another value. */
#define INITIALIZERS_WITHOUT_INPUTS 4

/* --- the model ---------------------------------------------------------------------------------------------------- */

struct IfmModel
{
    gatomicrefcount references;
    GBytes *bytes;
    gboolean outline;       /* external data are not read: see ifm_model_open_outline() */
    gboolean allow_outside; /* links may leave the folder: see ifm_model_open_outside() */
    gboolean is_outside;    /* one does */
    char *path, *name;
    Onnx__ModelProto *proto;
    GPtrArray *attached;       /* Onnx__TensorProto* whose raw_data belongs to `bytes` or `external` */
    GHashTable *external;      /* location -> GBytes*: a mapped file, or the content that a built model will write */
    GPtrArray *external_order; /* the locations, as first named (borrowed) */
    gint64 opset;
    GPtrArray *inputs, *outputs; /* IfmPort* */
    IfmNode *nodes;              /* [n_nodes], in topological order */
    gsize n_nodes;
    GHashTable *producers;    /* tensor -> node index + 1 */
    GHashTable *consumers;    /* tensor -> GArray of gsize */
    GHashTable *initializers; /* name -> IfmInitializer* */
    GHashTable *constants;    /* output of a Constant node -> IfmInitializer*, of those that ifm_onnx_constant() returns */
    GMutex lock;              /* of digest */
    char *digest;
};

/* IfmInitializer: a weight. @tensor: empty where IfmTensor cannot hold it (has_tensor FALSE). */
typedef struct
{
    const Onnx__TensorProto *proto;
    IfmTensor tensor;
    gboolean has_tensor;
} IfmInitializer;

/* ifm_onnx_index: Fills nodes, producers, consumers and initializers. */
gboolean ifm_onnx_index(IfmModel *model, GError **error);
void ifm_onnx_index_clear(IfmModel *model);
/* ifm_onnx_ports: Fills inputs and outputs. */
gboolean ifm_onnx_ports(IfmModel *model, GError **error);
/* ifm_onnx_port_parse: Returns: (transfer full) the port of a ValueInfoProto; NULL with IFM_ERROR_INVALID. */
IfmPort *ifm_onnx_port_parse(const Onnx__ValueInfoProto *info, GError **error);
/* ifm_onnx_constant: Returns: the floating-point numbers, of rank 1 at least, that a Constant node makes; NULL. */
const Onnx__TensorProto *ifm_onnx_constant(const IfmNode *node);
/* ifm_onnx_node_wrap: Describes a node of the model or of one of its subgraphs; it owns nothing. */
void ifm_onnx_node_wrap(const Onnx__NodeProto *proto, IfmNode *node);
/* ifm_onnx_attribute: Returns: the node's attribute of that name, or NULL. */
const Onnx__AttributeProto *ifm_onnx_attribute(const IfmNode *node, const char *name);

/* ifm_onnx_tidy_error: Makes a message that quotes a file's names one line of valid UTF-8, with @prefix in front. */
void ifm_onnx_tidy_error(GError **error, const char *prefix);

G_END_DECLS
