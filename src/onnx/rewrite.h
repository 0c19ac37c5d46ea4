#pragma once
#include "operators.h"

G_BEGIN_DECLS

/*
 * A model made from another by replacing nodes. The rewriting works on a private copy of the model's messages: each graph,
 * bodies included, is walked in topological order, and each node is either kept or replaced by what a rule emits. New
 * constants are initializers of the top-level graph, which bodies see, too. Names that a rule returns live as long as the
 * rewriting.
 */
typedef struct
{
    IfmModel *source;         /* as given, a reference */
    IfmModel *copy;           /* its graphs are changed */
    IfmAnalysis *analyses[2]; /* of the source at two sizes of each free dimension; NULL: not known */
    GHashTable *origins;      /* graph of the copy -> the same graph of the source */
    GHashTable *taken;        /* names of tensors in all graphs */
    GHashTable *constants;    /* content -> name */
    GHashTable *stands_for;   /* name -> the name of the tensor that it has the values of, in another type */
    GHashTable *scalars;      /* names of tensors of one element, whatever is known of shapes */
    GHashTable *narrow;       /* name of what stands for a tensor of 2 or 4 bits -> ONNX's type of that */
    gboolean is_widened;      /* f16 and bf16 have become f32 */
    GStringChunk *strings;
    guint n_names;
    gsize n_changes;
} IfmRewrite;

/* IfmRewriteScope: a graph of the copy while it is walked. @nodes: Onnx__NodeProto*, what the graph will consist of
 * @values: name -> const Onnx__TensorProto*, what initializers and Constant nodes hold    @dtypes: name -> dtype, of what
 * nodes made */
typedef struct IfmRewriteScope
{
    IfmRewrite *rewrite;
    const struct IfmRewriteScope *outer;
    Onnx__GraphProto *graph;
    GPtrArray *nodes;
    GHashTable *values, *dtypes;
} IfmRewriteScope;

/* ifm_rewrite_new: @bindings: [n_bindings] the sizes of free dimensions; none: they stay free. (transfer full) */
IfmRewrite *ifm_rewrite_new(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);
void ifm_rewrite_free(IfmRewrite *rewrite);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRewrite, ifm_rewrite_free)
/* ifm_rewrite_finish: (transfer full) */
IfmModel *ifm_rewrite_finish(IfmRewrite *rewrite, GError **error);
/* ifm_rewrite_inlined: (transfer full) The model with its functions put in where they are called, so that what is in them
 * is rewritten, too; itself where it calls none. */
IfmModel *ifm_rewrite_inlined(IfmModel *model, GError **error);

/* --- walking ------------------------------------------------------------------------------------------------------ */

void ifm_rewrite_scope_init(IfmRewriteScope *scope, IfmRewrite *rewrite, const IfmRewriteScope *outer,
                            Onnx__GraphProto *graph);
/* ifm_rewrite_scope_end: Puts the nodes into the graph. */
void ifm_rewrite_scope_end(IfmRewriteScope *scope);
/* ifm_rewrite_keep: Takes a node over as it is. */
void ifm_rewrite_keep(IfmRewriteScope *scope, Onnx__NodeProto *node);

/* --- what is known of a tensor ------------------------------------------------------------------------------------ */

/* ifm_rewrite_value: Returns: what an initializer or Constant node holds; NULL. */
const Onnx__TensorProto *ifm_rewrite_value(const IfmRewriteScope *scope, const char *name);
/* ifm_rewrite_tensor: The same, described. @tensor: (out) to be cleared    FALSE: no constant, or none of whole bytes */
gboolean ifm_rewrite_tensor(const IfmRewriteScope *scope, const char *name, IfmTensor *tensor);
/* ifm_rewrite_dtype: Returns: ONNX's type; 0 where it is not known. */
int ifm_rewrite_dtype(const IfmRewriteScope *scope, const char *name);
/* ifm_rewrite_rank: Returns: -1 where it is not known. @dims: (out) [IFM_MAX_RANK] -1 where free */
int ifm_rewrite_rank(const IfmRewriteScope *scope, const char *name, gint64 *dims);
/* ifm_rewrite_size: Returns: the number of elements; -1 where it is not known. */
gint64 ifm_rewrite_size(const IfmRewriteScope *scope, const char *name);
/* ifm_rewrite_learn: Notes the types of what a node makes, from those of what it reads. */
void ifm_rewrite_learn(IfmRewriteScope *scope, const Onnx__NodeProto *node);

/* ifm_rewrite_input, ifm_rewrite_output: Returns: NULL where it is left out. */
static inline const char *ifm_rewrite_input(const IfmNode *node, gsize index)
{
    return index < node->n_inputs && *node->inputs[index] != '\0' ? node->inputs[index] : NULL;
}
static inline const char *ifm_rewrite_output(const IfmNode *node, gsize index)
{
    return index < node->n_outputs && *node->outputs[index] != '\0' ? node->outputs[index] : NULL;
}

/* --- emitting ----------------------------------------------------------------------------------------------------- */

/* Nodes of arithmetic that every engine must do exactly have names with this prefix. */
#define IFM_REWRITE_EXACT "inferometer.exact."

/* ifm_rewrite_name: a name that no graph has. */
const char *ifm_rewrite_name(IfmRewrite *rewrite, const char *like);
/* ifm_emit: Emits a node of one output, named @output (NULL: a new name); its inputs end with NULL. Attributes go to the
 * last node emitted. @exact: it has no rounding: integer arithmetic, moves of data */
const char *ifm_emit(IfmRewriteScope *scope, gboolean exact, const char *output, const char *op_type,
                     ...) G_GNUC_NULL_TERMINATED;
#define ifm_exact(scope, ...) ifm_emit((scope), TRUE, NULL, __VA_ARGS__)
#define ifm_exact_to(scope, output, ...) ifm_emit((scope), TRUE, (output), __VA_ARGS__)
#define ifm_rounded(scope, ...) ifm_emit((scope), FALSE, NULL, __VA_ARGS__)
#define ifm_rounded_to(scope, output, ...) ifm_emit((scope), FALSE, (output), __VA_ARGS__)
void ifm_emit_int(IfmRewriteScope *scope, const char *attribute, gint64 value);
void ifm_emit_float(IfmRewriteScope *scope, const char *attribute, double value);
/* ifm_emit_attributes: Copies those of another node but the ones in @without (NULL-terminated, or NULL). */
void ifm_emit_attributes(IfmRewriteScope *scope, const IfmNode *from, const char *const *without);
/* ifm_emit_output: One more output of the last node emitted. */
void ifm_emit_output(IfmRewriteScope *scope, const char *name);
/* ifm_emit_input: One more input of the last node emitted. */
void ifm_emit_input(IfmRewriteScope *scope, const char *name);
void ifm_emit_domain(IfmRewriteScope *scope, const char *domain);
/* ifm_emit_graph: @graph: (transfer full) */
void ifm_emit_graph(IfmRewriteScope *scope, const char *attribute, Onnx__GraphProto *graph);
const char *ifm_emit_cast(IfmRewriteScope *scope, const char *output, const char *x, int dtype);
const char *ifm_emit_reshape(IfmRewriteScope *scope, const char *x, const gint64 *dims, gsize n);

/* Constants, each once. */
const char *ifm_emit_number(IfmRewrite *rewrite, IfmDtype dtype, double value); /* f32 or f64, rank 0 */
const char *ifm_emit_list(IfmRewrite *rewrite, const gint64 *values, gsize n);  /* i64 [n] */
const char *ifm_emit_true(IfmRewrite *rewrite);                                 /* bool, rank 0 */
/* ifm_emit_filled: A tensor of f32 of shape @shape, all of it @value. */
const char *ifm_emit_filled(IfmRewriteScope *scope, const char *shape, float value);
/* ifm_emit_tensor: a new initializer of the top-level graph. @data: copied */
const char *ifm_emit_tensor(IfmRewrite *rewrite, const char *like, int dtype, gsize rank, const gint64 *dims,
                            const void *data, gsize size);

/* ifm_rewrite_graph_port: Adds an input or output of any shape to a body of a node that is emitted. */
void ifm_rewrite_graph_port(Onnx__GraphProto *graph, gboolean is_input, const char *name, IfmDtype dtype);

/* ifm_rewrite_replace: Renames what the nodes of a graph and their bodies read. */
void ifm_rewrite_replace(Onnx__GraphProto *graph, GHashTable *names);

/* --- the parts of ifm_model_reference() --------------------------------------------------------------------------- */

/* IfmModelPrecision: reference-precision.c: what a model is written in, bodies and functions included. @roundoff: the
 * largest unit roundoff of its types    @quantises: activations are rounded to integers    @is_low: there may be something
 * to rewrite */
typedef struct
{
    double roundoff;
    gboolean quantises, is_low;
} IfmModelPrecision;
/* ifm_names_half: Whether an attribute names f16 or bf16 as a type. */
gboolean ifm_names_half(const Onnx__AttributeProto *attribute);
IfmModelPrecision ifm_model_precision(const IfmModel *model);
/* ifm_is_low_precision: Whether an operator is one of integer or quantised arithmetic. */
gboolean ifm_is_low_precision(const char *op_type);

/* reference-float.c: f16 and bf16 become f32, tensors of 2 and 4 bits bytes. */
void ifm_reference_widen(IfmRewrite *rewrite);

/* ifm_emit_unpacked: The numbers of @bits bits in a tensor of bytes, the lowest bits first, looked up in a table:
 * [number of bytes 8 / bits]. @bits: 2, 4 or 8    @has_sign: of fewer than 8 bits    @dtype: f32, or of one byte */
const char *ifm_emit_unpacked(IfmRewriteScope *scope, const char *bytes, int bits, gboolean has_sign, IfmDtype dtype);

/* IfmReferenceRule: Returns: FALSE where the node must stay as it is; nothing was emitted then. */
typedef gboolean IfmReferenceRule(IfmRewriteScope *scope, const IfmNode *node);
/* IfmReferenceRow: @required: a bit for each input that the rule relies on. It may rely on one output, too. */
typedef struct
{
    const char *op_type;
    gboolean is_fused; /* com.microsoft alone has it; else the default domain, too */
    guint required;
    IfmReferenceRule *rule;
} IfmReferenceRow;

#define IFM_REFERENCE_RULE(name) gboolean ifm_reference_##name(IfmRewriteScope *scope, const IfmNode *node)
/* reference-quantised.c, -conv.c, -fused.c, -recurrent.c */
IfmReferenceRule ifm_reference_quantize, ifm_reference_dequantize, ifm_reference_dynamic_quantize,
    ifm_reference_matmul_integer, ifm_reference_qlinear_matmul, ifm_reference_conv_integer, ifm_reference_qlinear_conv,
    ifm_reference_matmul_n_bits, ifm_reference_matmul_to_float, ifm_reference_dynamic_matmul, ifm_reference_q_gemm,
    ifm_reference_q_binary, ifm_reference_q_unary, ifm_reference_q_where, ifm_reference_q_concat, ifm_reference_q_attention,
    ifm_reference_dynamic_lstm;

/* --- pieces of the rules: reference-quantised.c ------------------------------------------------------------------- */

/* How a scale or zero point of rank 1 lies along the tensor that it belongs to. */
typedef struct
{
    int axis, rank; /* rank -1: it must have one element */
    gint64 block;   /* elements of the axis that one of its elements stands for; 0: one */
    gint64 length;  /* of the axis; -1: not known */
} IfmBroadcast;
#define IFM_SPREAD_NONE ((IfmBroadcast){ .rank = -1, .length = -1 })
/* ifm_reference_can_spread: Whether ifm_reference_spread() can, for the tensor @name. */
gboolean ifm_reference_can_spread(const IfmRewriteScope *scope, const char *name, const IfmBroadcast *spread);
/* ifm_reference_spread: @value: of the shape of @name    Returns: so that it broadcasts with the tensor */
const char *ifm_reference_spread(IfmRewriteScope *scope, const char *value, const char *name, const IfmBroadcast *spread);
/* ifm_reference_centred: Equals: x - zero in type @to, f32 or f64. @zero: NULL: 0 */
const char *ifm_reference_centred(IfmRewriteScope *scope, const char *x, const char *zero, IfmDtype to,
                                  const IfmBroadcast *spread);
/* ifm_reference_real: Equals: (x - zero) scale, f32; one element each. @output: NULL: a new name */
const char *ifm_reference_real(IfmRewriteScope *scope, const char *output, const char *x, const char *scale,
                               const char *zero);
/* ifm_reference_quantised: Equals: clip(round(y) + zero), as @dtype; @y, @zero: of type @in, f32 or f64    @zero: NULL: 0
 */
void ifm_reference_quantised(IfmRewriteScope *scope, const char *output, const char *y, const char *zero, IfmDtype in,
                             int dtype);
/* ifm_reference_quantise: the same of a real tensor f32, with one scale and zero point. */
void ifm_reference_quantise(IfmRewriteScope *scope, const char *output, const char *x, const char *scale, const char *zero,
                            int dtype);
/* ifm_reference_product: Equals: (a - zero_a) (b - zero_b), f64, exact. @zero_a: of one number, or one a row of @a */
const char *ifm_reference_product(IfmRewriteScope *scope, const char *a, const char *zero_a, const char *b,
                                  const char *zero_b);
/* ifm_reference_scales: Equals: a b / by, f64. @by: NULL: 1 */
const char *ifm_reference_scales(IfmRewriteScope *scope, const char *a, const char *b, const char *by);
/* ifm_reference_is_integer: Whether it is one of the integer types that quantise: 2 to 16 bits. */
gboolean ifm_reference_is_integer(int dtype);
/* ifm_reference_zero_dtype: the type of what has that zero point; u8 where it is left out. */
int ifm_reference_zero_dtype(const IfmRewriteScope *scope, const char *zero);
/* ifm_reference_dynamic: As DynamicQuantizeLinear. @outputs: [3] names, bytes, scale, zero point */
void ifm_reference_dynamic(IfmRewriteScope *scope, const char *x, const char *const *outputs);

G_END_DECLS
