/*
 * Monte Carlo arithmetic on a graph (Parker, 1997; Denis et al., Verificarlo, 2016; Jezequel & Chesneaux, CADNA, 2008): the
 * spread of runs with noise of the size of the rounding errors is what rounding may do to each element of the result.
 */
#include <onnx/reference-model.h>

#include "rewrite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_OUTPUT 2.0 /* units of roundoff */
#define AT_CURVE 8.0  /* libraries of exp and the like are good to about 4 ulp */
#define AT_SUM 2.0    /* times the root of the number of terms */
#define UNKNOWN_TERMS 64.0
#define HALF_ROUNDOFF 1e-6 /* below every half precision's, above f32's */

/* Operators whose outputs are sums. @n_sides: how many of the inputs, from the first, are factors of the terms */
static const struct
{
    gsize n_sides;
    const char *const *op_types;
} sums[] = {
    { 1, (const char *const[]){ "AveragePool",
                                "Conv",
                                "ConvTranspose",
                                "DeformConv",
                                "FusedConv",
                                "FusedGemm",
                                "GRU",
                                "Gemm",
                                "GlobalAveragePool",
                                "GlobalLpPool",
                                "LSTM",
                                "MatMulNBits",
                                "NhwcFusedConv",
                                "RNN",
                                "ReduceL1",
                                "ReduceL2",
                                "ReduceLogSum",
                                "ReduceLogSumExp",
                                "ReduceMean",
                                "ReduceSum",
                                "ReduceSumSquare",
                                NULL } },
    { 2, (const char *const[]){ "Einsum", "FusedMatMul", "MatMul", NULL } },
    { 3, (const char *const[]){ "Attention", "GroupQueryAttention", "MultiHeadAttention", NULL } },
    { G_MAXSIZE, (const char *const[]){ "Mean", "Sum", NULL } },
};

/* Level: a graph in work. @data: names that depend on the values of inputs, not on shapes and constants alone */
typedef struct Level
{
    IfmRewriteScope scope;
    const struct Level *outer;
    GHashTable *data;
    const IfmDisturbance *options;
    gsize *n_places;
} Level;

/* --- what depends on the inputs --------------------------------------------------------------------------------------- */

static gboolean is_data(const Level *level, const char *name)
{
    for (; level != NULL; level = level->outer)
        if (g_hash_table_contains(level->data, name))
            return TRUE;
    return FALSE;
}

static gboolean body_reads_data(const Level *level, const Onnx__GraphProto *body)
{
    for (gsize i = 0; i < body->n_output; i++)
        if (is_data(level, body->output[i]->name))
            return TRUE;
    for (gsize i = 0; i < body->n_node; i++)
    {
        const Onnx__GraphProto *inner;
        for (gsize k = 0; k < body->node[i]->n_input; k++)
            if (is_data(level, body->node[i]->input[k]))
                return TRUE;
        for (gsize k = 0; (inner = ifm_onnx_body(body->node[i], k)) != NULL; k++)
            if (body_reads_data(level, inner))
                return TRUE;
    }
    return FALSE;
}

static gboolean reads_data(const Level *level, const Onnx__NodeProto *node)
{
    const Onnx__GraphProto *body;
    if (g_str_equal(node->op_type, "Shape") || g_str_equal(node->op_type, "Size"))
        return FALSE;
    if (ifm_operator_draws(node->op_type))
        return TRUE;
    for (gsize k = 0; k < node->n_input; k++)
        if (is_data(level, node->input[k]))
            return TRUE;
    for (gsize k = 0; (body = ifm_onnx_body(node, k)) != NULL; k++)
        if (body_reads_data(level, body))
            return TRUE;
    return FALSE;
}

/* --- the number of terms ---------------------------------------------------------------------------------------------- */

static double product(const gint64 *dims, int first, int end)
{
    double n = 1;
    for (int i = first; i < end; i++)
        n *= (double)dims[i];
    return n;
}

/* terms_of_weights: from the shape of the second factor; below 1 where it does not tell. */
static double terms_of_weights(const Level *level, const IfmNode *node)
{
    gint64 dims[IFM_MAX_RANK], more[IFM_MAX_RANK];
    const char *w = ifm_rewrite_input(node, 1), *recurrent = ifm_rewrite_input(node, 2);
    const int rank = w != NULL ? ifm_rewrite_rank(&level->scope, w, dims) : -1;
    if (rank < 1)
        return 0;
    if (g_str_equal(node->op_type, "MatMul") || g_str_equal(node->op_type, "FusedMatMul"))
        return (double)(rank == 1 ? dims[0] : dims[rank - (ifm_node_int(node, "transB", 0) != 0 ? 1 : 2)]);
    if (g_str_equal(node->op_type, "Gemm"))
        return rank == 2 ? (double)dims[ifm_node_int(node, "transB", 0) != 0 ? 1 : 0] : 0;
    if (g_str_has_suffix(node->op_type, "Conv"))
        return product(dims, 1, rank);
    if (g_str_equal(node->op_type, "ConvTranspose"))
        return (double)dims[0] * product(dims, 2, rank);
    if (rank == 3 && recurrent != NULL && ifm_rewrite_rank(&level->scope, recurrent, more) == 3 &&
        strlen(node->op_type) <= 4) /* LSTM, GRU, RNN */
        return (double)(dims[2] + more[2]);
    return 0;
}

/* terms: How many products or numbers each output is a sum of. @index: of the node in its graph */
static double terms(const Level *level, const IfmNode *node, gsize index)
{
    const IfmAnalysis *analysis = level->scope.rewrite->analyses[0];
    const char *output = ifm_rewrite_output(node, 0), *input = ifm_rewrite_input(node, 0);
    const gint64 made = output != NULL ? ifm_rewrite_size(&level->scope, output) : -1;
    const gint64 read = input != NULL ? ifm_rewrite_size(&level->scope, input) : -1;
    double n = terms_of_weights(level, node);
    if (n < 1 && (g_str_equal(node->op_type, "Sum") || g_str_equal(node->op_type, "Mean")))
        n = (double)node->n_inputs;
    if (n < 1 && (g_str_has_prefix(node->op_type, "Reduce") || g_str_has_suffix(node->op_type, "Pool")) && made > 0)
        n = (double)read / (double)made;
    if (n < 1 && analysis != NULL && level->outer == NULL && made > 0)
        n = (double)ifm_analysis_node_cost(analysis, index)->macs / (double)made;
    return n >= 1 ? n : UNKNOWN_TERMS;
}

/* --- noise ------------------------------------------------------------------------------------------------------------ */

/* seed_of: Neighbouring seeds make neighbouring sequences in a linear congruential generator, so they are mixed. ONNX keeps
 * seeds as f32, which has integers of 24 bits. */
static double seed_of(guint32 seed, gsize place)
{
    guint64 z = ((guint64)seed << 32 | (guint64)(place & G_MAXUINT32)) + G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9); /* SplitMix64 */
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 40);
}

/* drawn_uniform: Factors uniform in 1 +- amplitude, of the shape of @x. */
static const char *drawn_uniform(Level *level, const char *x, int dtype, double amplitude, double seed)
{
    const char *factors = ifm_exact(&level->scope, "RandomUniformLike", x, NULL);
    ifm_emit_int(&level->scope, "dtype", dtype);
    ifm_emit_float(&level->scope, "low", 1 - amplitude);
    ifm_emit_float(&level->scope, "high", 1 + amplitude);
    ifm_emit_float(&level->scope, "seed", seed);
    return factors;
}

/*
 * drawn_of_two: Factors that are one of two numbers, with mean 1 and the variance of the uniform ones. ONNX Runtime has no
 * RandomUniformLike of opset 22 and later, but it has Dropout: of numbers c it makes 0 with a probability r, else c / (1 -
 * r). 1 - low + that is 1 - low or 1 + high: in f32 both have steps below and above 1, of which those below are half as
 * large.
 */
static const char *drawn_of_two(Level *level, const char *x, int dtype, double amplitude, double seed)
{
    IfmRewrite *rewrite = level->scope.rewrite;
    const double step = 0x1p-23, deviation = amplitude / sqrt(3), n_steps = MAX(1, round(deviation / step));
    const double low = deviation < 0.75 * step ? step / 2 : n_steps * step, high = n_steps * step;
    const double ratio = high / (low + high);
    const char *shape = ifm_exact(&level->scope, "Shape", x, NULL);
    const char *all = ifm_emit_filled(&level->scope, shape, (float)((low + high) * (1 - ratio)));
    const char *kept = ifm_exact(&level->scope, "Dropout", all, ifm_emit_number(rewrite, IFM_DTYPE_F32, ratio),
                                 ifm_emit_true(rewrite), NULL);
    ifm_emit_int(&level->scope, "seed", (gint64)seed);
    const char *factors = ifm_exact(&level->scope, "Add", kept, ifm_emit_number(rewrite, IFM_DTYPE_F32, 1 - low), NULL);
    return dtype == IFM_DTYPE_F32 ? factors : ifm_emit_cast(&level->scope, NULL, factors, dtype);
}

#define NO_RANDOM_OPSET 22 /* since which ONNX Runtime lacks RandomUniformLike on the processor */

/* add_noise: @output: NULL: a new name    @units: amplitude in units of roundoff    Returns: the disturbed tensor */
static const char *add_noise(Level *level, const char *output, const char *x, int dtype, double units)
{
    const double amplitude = units * level->options->roundoff * level->options->factor;
    const double seed = seed_of(level->options->seed, (*level->n_places)++);
    const char *factors = ifm_model_opset(level->scope.rewrite->source) < NO_RANDOM_OPSET
                              ? drawn_uniform(level, x, dtype, amplitude, seed)
                              : drawn_of_two(level, x, dtype, amplitude, seed);
    return ifm_exact_to(&level->scope, output, "Mul", x, factors, NULL);
}

static gboolean is_real(int dtype)
{
    return dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F64;
}

/* disturb_inputs: of a sum, each for this node alone. */
static void disturb_inputs(Level *level, Onnx__NodeProto *proto, const IfmNode *node, gsize index)
{
    gsize n_sides = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(sums); i++)
        if (g_strv_contains(sums[i].op_types, node->op_type))
            n_sides = sums[i].n_sides;
    if (n_sides == 0)
        return;
    const gboolean is_half = level->options->roundoff > HALF_ROUNDOFF; /* engines keep those sums in f32 */
    const double units = AT_SUM * (is_half ? 1 : sqrt(terms(level, node, index)));
    gsize n = 0;
    for (gsize k = 0; k < proto->n_input && n < n_sides; k++)
    {
        const int dtype = ifm_rewrite_dtype(&level->scope, proto->input[k]);
        if (!is_data(level, proto->input[k]) || !is_real(dtype))
            continue;
        const char *disturbed = add_noise(level, NULL, proto->input[k], dtype, units);
        free(proto->input[k]);
        proto->input[k] = g_strdup(disturbed);
        n++;
    }
}

/* disturb_outputs: of a node that is in the list already. */
static void disturb_outputs(Level *level, Onnx__NodeProto *proto)
{
    const double units = ifm_operator_rounding(proto->op_type) == IFM_ROUNDS_OFTEN ? AT_CURVE : AT_OUTPUT;
    for (gsize k = 0; k < proto->n_output; k++)
    {
        const int dtype = *proto->output[k] != '\0' ? ifm_rewrite_dtype(&level->scope, proto->output[k]) : 0;
        if (!is_real(dtype))
            continue;
        g_autofree char *output = g_strdup(proto->output[k]);
        free(proto->output[k]);
        proto->output[k] = g_strdup(ifm_rewrite_name(level->scope.rewrite, "inferometer.undisturbed"));
        add_noise(level, output, proto->output[k], dtype, units);
    }
}

/* --- walking ---------------------------------------------------------------------------------------------------------- */

static void disturb_graph(Level *level, Onnx__GraphProto *graph, gboolean has_data);

static void disturb_node(Level *level, Onnx__NodeProto *proto, gsize index)
{
    IfmNode node;
    Onnx__GraphProto *body;
    const gboolean depends = reads_data(level, proto);
    for (gsize i = 0; (body = ifm_onnx_body(proto, i)) != NULL; i++)
    {
        Level inner = { .outer = level, .options = level->options, .n_places = level->n_places };
        disturb_graph(&inner, body, depends);
    }
    ifm_onnx_node_wrap(proto, &node);
    ifm_rewrite_learn(&level->scope, proto);
    const gboolean is_ours = proto->name != NULL && g_str_has_prefix(proto->name, IFM_REWRITE_EXACT);
    for (gsize k = 0; k < proto->n_output && depends; k++)
        g_hash_table_add(level->data,
                         (gpointer)g_string_chunk_insert_const(level->scope.rewrite->strings, proto->output[k]));
    if (depends && !is_ours)
        disturb_inputs(level, proto, &node, index);
    g_ptr_array_add(level->scope.nodes, proto);
    if (depends && !is_ours && ifm_onnx_body(proto, 0) == NULL && ifm_operator_rounding(proto->op_type) != IFM_ROUNDS_NEVER)
        disturb_outputs(level, proto);
}

/* @level: its outer graph and what it shares with it are set    @has_data: whether its inputs depend on the model's */
static void disturb_graph(Level *level, Onnx__GraphProto *graph, gboolean has_data)
{
    IfmRewrite *rewrite = level->outer != NULL ? level->outer->scope.rewrite : level->scope.rewrite;
    level->data = g_hash_table_new(g_str_hash, g_str_equal);
    ifm_rewrite_scope_init(&level->scope, rewrite, level->outer != NULL ? &level->outer->scope : NULL, graph);
    for (gsize i = 0; i < graph->n_input && has_data; i++)
        if (!g_hash_table_contains(level->scope.values, graph->input[i]->name)) /* a default value is a constant */
            g_hash_table_add(level->data, graph->input[i]->name);
    for (gsize i = 0; i < graph->n_node; i++)
        disturb_node(level, graph->node[i], i);
    ifm_rewrite_scope_end(&level->scope);
    g_hash_table_unref(level->data);
}

#define BROADCAST_OPSET 7 /* since which Mul has no attributes, and ONNX Runtime has it */

IfmModel *ifm_model_disturbed(IfmModel *reference, const IfmDisturbance *disturbance, gsize *n_disturbed, GError **error)
{
    gsize n_places = 0;
    g_autoptr(IfmModel) whole = ifm_rewrite_inlined(reference, error);
    g_autoptr(IfmRewrite) rewrite =
        whole != NULL ? ifm_rewrite_new(whole, disturbance->bindings, disturbance->n_bindings, error) : NULL;
    if (rewrite == NULL)
        return NULL;
    Level level = { .scope.rewrite = rewrite, .options = disturbance, .n_places = &n_places };
    disturb_graph(&level, rewrite->copy->proto->graph, TRUE);
    const gint64 opset = ifm_model_opset(reference);
    if (n_places > 0 && opset > 0 && opset < BROADCAST_OPSET)
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                      "%s: opset %" G_GINT64_FORMAT ": noise is multiplied as opset %d and later do it",
                      ifm_model_name(reference), opset, BROADCAST_OPSET);
        ifm_onnx_tidy_error(error, NULL);
        return NULL;
    }
    if (n_disturbed != NULL)
        *n_disturbed = n_places;
    return n_places > 0 ? ifm_rewrite_finish(rewrite, error) : ifm_model_ref(reference);
}

void ifm_disturbance_init(IfmDisturbance *disturbance, const IfmModel *model)
{
    const IfmModelPrecision precision = ifm_model_precision(model);
    *disturbance =
        (IfmDisturbance){ .roundoff = precision.roundoff, .factor = precision.quantises ? IFM_DISTURBANCE_QUANTISED : 1 };
}
