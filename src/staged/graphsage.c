/*
 * GraphSAGE (mean aggregation) in seven stages: h = relu(mean over edges into the node of (x[source] W) W_l + b + x W_r).
 * Source: Hamilton, Ying, Leskovec: Inductive Representation Learning on Large Graphs, 2017; the message's product comes
 * before the mean. What each stage is, and why it is written as it is: docs/stages.md.
 */

#include "staged-private.h"

#define F32(n) (4 * (n))
#define I64(n) (8 * (n))

/* --- the data size the tables count: a stage's inputs, features and index --------------------------------------------- */

static gint64 edge_index_bytes(const IfmStageSizes *sizes)
{
    return I64(2 * sizes->edges);
}

static gint64 gather_bytes(const IfmStageSizes *sizes)
{
    return F32(sizes->nodes * sizes->features) + edge_index_bytes(sizes);
}

static gint64 message_bytes(const IfmStageSizes *sizes)
{
    return F32(sizes->edges * sizes->features) + edge_index_bytes(sizes);
}

static gint64 reduce_sum_bytes(const IfmStageSizes *sizes)
{
    return F32(sizes->edges * sizes->hidden) + edge_index_bytes(sizes);
}

static gint64 reduce_count_bytes(const IfmStageSizes *sizes)
{
    return F32(sizes->nodes * sizes->hidden) + edge_index_bytes(sizes);
}

static gint64 normalize_bytes(const IfmStageSizes *sizes)
{
    return F32(sizes->nodes * sizes->hidden) + F32(sizes->nodes);
}

static gint64 node_bytes(const IfmStageSizes *sizes)
{
    return F32(sizes->nodes * sizes->hidden);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const IfmBoundary boundaries[] = {
    { "x", IFM_DTYPE_F32, 2, { "nodes", "features" }, 0 },
    { "edge_index", IFM_DTYPE_I64, 2, { "2", "edges" }, 1 }, /* row 0 the sources, row 1 the destinations */
    { "x_j", IFM_DTYPE_F32, 2, { "edges", "features" }, 0 },
    { "m", IFM_DTYPE_F32, 2, { "edges", "hidden" }, 0 },
    { "s", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "c", IFM_DTYPE_F32, 1, { "nodes" }, 0 },
    { "a", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "y", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "h", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
};

enum
{
    GATHER,
    MESSAGE,
    REDUCE_SUM,
    REDUCE_COUNT,
    NORMALIZE,
    TRANSFORM,
    ACTIVATE,
    N_STAGES,
};

static const IfmStage stages[] = {
    [GATHER] = { 1, "GATHER", "x_j = x[source]", { "x", "edge_index" }, { "x_j" }, "x", gather_bytes },
    [MESSAGE] = { 2, "MESSAGE", "m = x_j W", { "x_j" }, { "m" }, NULL, message_bytes },
    [REDUCE_SUM] = { 3,
                     "REDUCE_SUM",
                     "s[v] = sum of m over the edges into v",
                     { "m", "edge_index" },
                     { "s" },
                     NULL,
                     reduce_sum_bytes },
    [REDUCE_COUNT] = { 4, "REDUCE_COUNT", "c[v] = edges into v", { "edge_index" }, { "c" }, NULL, reduce_count_bytes },
    [NORMALIZE] = { 5, "NORMALIZE", "a = s / max(c, 1)", { "s", "c" }, { "a" }, NULL, normalize_bytes },
    [TRANSFORM] = { 6, "TRANSFORM", "y = a W_l + b + x W_r", { "a", "x" }, { "y" }, NULL, node_bytes },
    [ACTIVATE] = { 7, "ACTIVATE", "h = max(y, 0)", { "y" }, { "h" }, NULL, node_bytes },
};

static const IfmStagedModel graphsage = { "graphsage", stages, N_STAGES, boundaries, G_N_ELEMENTS(boundaries) };

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* Tensors that are not boundaries and serve several stages. The first stage that needs one makes it. */
enum
{
    MADE_DESTINATION = 1 << 0,
    MADE_DESTINATION_COLUMN = 1 << 1,
    MADE_N_NODES = 1 << 2,
};

/* constant: A small constant. @rank: 0 (a scalar) or 1 */
static const char *constant_ints(IfmStageBuild *build, const char *name, int rank, gint64 n, const gint64 *values)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, rank, &n, (void *)values, NULL));
    ifm_model_builder_weight(build->builder, name, &tensor);
    return name;
}

static const char *constant_one(IfmStageBuild *build, const char *name)
{
    float one = 1;
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 1, (gint64[]){ 1 }, &one, NULL));
    ifm_model_builder_weight(build->builder, name, &tensor);
    return name;
}

/* take_row: One row of edge_index, as a vector. */
static void take_row(IfmStageBuild *build, int stage, const char *to, gint64 row)
{
    g_autofree char *which = g_strdup_printf("%s.row", to);
    ifm_stage_node(build, stage, to, "Gather", IFM_STAGED_NAMES("edge_index", constant_ints(build, which, 0, 1, &row)), to);
}

/* need: Whether @what is not made yet. It marks @what as made. */
static gboolean need(IfmStageBuild *build, guint what)
{
    gboolean missing = (build->made & what) == 0;
    build->made |= what;
    return missing;
}

/* need_destination: Returns: the destinations, i64[edges], or in the shape of ScatterND, i64[edges, 1]. */
static const char *need_destination(IfmStageBuild *build, int stage, gboolean column)
{
    if (need(build, MADE_DESTINATION))
        take_row(build, stage, "destination", 1);
    if (!column)
        return "destination";
    if (need(build, MADE_DESTINATION_COLUMN))
    {
        constant_ints(build, "destination.axis", 1, 1, (gint64[]){ 1 });
        ifm_stage_node(build, stage, "destination_column", "Unsqueeze", IFM_STAGED_NAMES("destination", "destination.axis"),
                       "destination_column");
    }
    return "destination_column";
}

/* need_n_nodes: Returns: the number of nodes, i64[1]; a constant where it is fixed. */
static const char *need_n_nodes(IfmStageBuild *build, int stage)
{
    if (!need(build, MADE_N_NODES))
        return "n_nodes";
    if (build->sizes.nodes > 0)
        return constant_ints(build, "n_nodes", 1, 1, &build->sizes.nodes);
    gsize shape = ifm_stage_node(build, stage, "n_nodes", "Shape", IFM_STAGED_NAMES(build->nodes_from), "n_nodes");
    ifm_model_builder_int(build->builder, shape, "end", 1);
    return "n_nodes";
}

static void add_scatter(IfmStageBuild *build, int stage, const char *op_type, const char *onto, const char *index,
                        const char *updates, const char *to)
{
    gsize node = ifm_stage_node(build, stage, "scatter", op_type, IFM_STAGED_NAMES(onto, index, updates), to);
    ifm_model_builder_string(build->builder, node, "reduction", "add");
}

static void emit_gather(IfmStageBuild *build)
{
    take_row(build, GATHER, "source", 0);
    ifm_stage_node(build, GATHER, "rows", "Gather", IFM_STAGED_NAMES("x", "source"), "x_j");
}

static void emit_message(IfmStageBuild *build)
{
    ifm_stage_matrix(build, "W", build->sizes.features, build->sizes.hidden);
    ifm_stage_node(build, MESSAGE, "product", "MatMul", IFM_STAGED_NAMES("x_j", "W"), "m");
}

/* zero_rows: Returns: f32[nodes, hidden], the start value of the sums. It is made from the shape: expanding "zeros" took up
 * to 1.4 times as long for the whole stage. */
static const char *zero_rows(IfmStageBuild *build)
{
    const gint64 hidden = build->sizes.hidden;
    const char *shape = "zero_rows.shape";
    if (build->sizes.nodes > 0)
        constant_ints(build, shape, 1, 2, (gint64[]){ build->sizes.nodes, hidden });
    else
    {
        const char *n_nodes = need_n_nodes(build, REDUCE_SUM);
        constant_ints(build, "zero_rows.hidden", 1, 1, &hidden);
        gsize node =
            ifm_stage_node(build, REDUCE_SUM, shape, "Concat", IFM_STAGED_NAMES(n_nodes, "zero_rows.hidden"), shape);
        ifm_model_builder_int(build->builder, node, "axis", 0);
    }
    ifm_stage_node(build, REDUCE_SUM, "zero_rows", "ConstantOfShape", IFM_STAGED_NAMES(shape), "zero_rows");
    return "zero_rows";
}

static void emit_reduce_sum(IfmStageBuild *build)
{
    const char *index = need_destination(build, REDUCE_SUM, TRUE), *zeros = zero_rows(build), *op_type = "ScatterND";
    if (build->scatter == IFM_SCATTER_ELEMENTS)
    {
        constant_ints(build, "destination_rows.shape", 1, 2, (gint64[]){ 1, build->sizes.hidden });
        ifm_stage_node(build, REDUCE_SUM, "destination_rows", "Expand", IFM_STAGED_NAMES(index, "destination_rows.shape"),
                       "destination_rows");
        index = "destination_rows";
        op_type = "ScatterElements";
    }
    add_scatter(build, REDUCE_SUM, op_type, zeros, index, "m", "s");
}

/* ones: Returns: f32[edges]. */
static const char *ones(IfmStageBuild *build)
{
    if (build->sizes.edges > 0)
        constant_ints(build, "ones.shape", 1, 1, &build->sizes.edges);
    else
        ifm_stage_node(build, REDUCE_COUNT, "ones.shape", "Shape", IFM_STAGED_NAMES("destination"), "ones.shape");
    ifm_stage_node(build, REDUCE_COUNT, "ones", "Expand", IFM_STAGED_NAMES(constant_one(build, "ones.one"), "ones.shape"),
                   "ones");
    return "ones";
}

static void emit_reduce_count(IfmStageBuild *build)
{
    gboolean nd = build->scatter == IFM_SCATTER_ND;
    const char *index = need_destination(build, REDUCE_COUNT, nd);
    const char *zeros = IFM_STAGED_ZEROS;
    if (g_strcmp0(build->nodes_from, zeros) != 0)
    {
        zeros = "zero_counts";
        ifm_stage_node(build, REDUCE_COUNT, zeros, "ConstantOfShape", IFM_STAGED_NAMES(need_n_nodes(build, REDUCE_COUNT)),
                       zeros);
    }
    add_scatter(build, REDUCE_COUNT, nd ? "ScatterND" : "ScatterElements", zeros, index, ones(build), "c");
}

static void emit_normalize(IfmStageBuild *build)
{
    constant_ints(build, "divisor.axis", 1, 1, (gint64[]){ 1 });
    ifm_stage_node(build, NORMALIZE, "at_least_one", "Max", IFM_STAGED_NAMES("c", constant_one(build, "divisor.least")),
                   "divisor");
    ifm_stage_node(build, NORMALIZE, "divisor_column", "Unsqueeze", IFM_STAGED_NAMES("divisor", "divisor.axis"),
                   "divisor_column");
    ifm_stage_node(build, NORMALIZE, "quotient", "Div", IFM_STAGED_NAMES("s", "divisor_column"), "a");
}

static void emit_transform(IfmStageBuild *build)
{
    ifm_stage_matrix(build, "W_l", build->sizes.hidden, build->sizes.hidden);
    ifm_stage_matrix(build, "W_r", build->sizes.features, build->sizes.hidden);
    ifm_model_builder_random_weight(build->builder, "b", 1, (gint64[]){ build->sizes.hidden }, 0.1, build->seed);
    ifm_stage_node(build, TRANSFORM, "neighbours", "Gemm", IFM_STAGED_NAMES("a", "W_l", "b"), "y_l");
    ifm_stage_node(build, TRANSFORM, "self", "Gemm", IFM_STAGED_NAMES(ifm_stage_own_rows(build, "x"), "W_r", "y_l"), "y");
}

static void emit_activate(IfmStageBuild *build)
{
    ifm_stage_node(build, ACTIVATE, "relu", "Relu", IFM_STAGED_NAMES("y"), "h");
}

const IfmStagedRecipe ifm_staged_graphsage = {
    .model = &graphsage,
    .emit = { emit_gather, emit_message, emit_reduce_sum, emit_reduce_count, emit_normalize, emit_transform,
              emit_activate },
    .sums = { [REDUCE_SUM] = TRUE, [REDUCE_COUNT] = TRUE },
};
