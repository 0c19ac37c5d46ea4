/*
 * Matrix products in four stages, without a graph, for demonstrations and tests of pipelines. The stages differ in cost, so
 * that a plan can balance them. Multiply-adds per node: features x hidden, then 8, 1 and 2 x hidden x hidden.
 */

#include "staged-private.h"

/* --- the table ---------------------------------------------------------------------------------------------------- */

static gint64 first_bytes(const IfmStageSizes *sizes)
{
    return 4 * sizes->nodes * sizes->features;
}

static gint64 row_bytes(const IfmStageSizes *sizes)
{
    return 4 * sizes->nodes * sizes->hidden;
}

static const IfmBoundary boundaries[] = {
    { "x", IFM_DTYPE_F32, 2, { "nodes", "features" }, 0 }, { "p", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "q", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },   { "r", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
    { "y", IFM_DTYPE_F32, 2, { "nodes", "hidden" }, 0 },
};

enum
{
    ENTER,
    WIDE,
    PLAIN,
    DOUBLE,
    N_STAGES,
};

static const IfmStage stages[] = {
    [ENTER] = { 1, "ENTER", "p = x W_1", { "x" }, { "p" }, NULL, first_bytes },
    [WIDE] = { 2, "WIDE", "q = max(p W_2, 0) W_3, 4 times as wide between", { "p" }, { "q" }, NULL, row_bytes },
    [PLAIN] = { 3, "PLAIN", "r = q W_4", { "q" }, { "r" }, NULL, row_bytes },
    [DOUBLE] = { 4, "DOUBLE", "y = max(r W_5, 0) W_6", { "r" }, { "y" }, NULL, row_bytes },
};

static const IfmStagedModel matmul = { "matmul", stages, N_STAGES, boundaries, G_N_ELEMENTS(boundaries) };

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static void emit_product(IfmStageBuild *build, int stage, const char *weight, gint64 rows, gint64 columns)
{
    ifm_stage_matrix(build, weight, rows, columns);
    ifm_stage_node(build, stage, "product", "MatMul", IFM_STAGED_NAMES(stages[stage].inputs[0], weight),
                   stages[stage].outputs[0]);
}

/* Two products with an operator between them. Without it an engine might fuse them into one matrix. */
static void emit_two_products(IfmStageBuild *build, int stage, const char *const *weights, gint64 width)
{
    const gint64 hidden = build->sizes.hidden;
    const char *inner = stage == WIDE ? "q_inner" : "y_inner", *kept = stage == WIDE ? "q_kept" : "y_kept";
    ifm_stage_matrix(build, weights[0], hidden, width);
    ifm_stage_matrix(build, weights[1], width, hidden);
    ifm_stage_node(build, stage, "product_1", "MatMul", IFM_STAGED_NAMES(stages[stage].inputs[0], weights[0]), inner);
    ifm_stage_node(build, stage, "relu", "Relu", IFM_STAGED_NAMES(inner), kept);
    ifm_stage_node(build, stage, "product_2", "MatMul", IFM_STAGED_NAMES(kept, weights[1]), stages[stage].outputs[0]);
}

static void emit_enter(IfmStageBuild *build)
{
    emit_product(build, ENTER, "W_1", build->sizes.features, build->sizes.hidden);
}

static void emit_wide(IfmStageBuild *build)
{
    emit_two_products(build, WIDE, IFM_STAGED_NAMES("W_2", "W_3"), 4 * build->sizes.hidden);
}

static void emit_plain(IfmStageBuild *build)
{
    emit_product(build, PLAIN, "W_4", build->sizes.hidden, build->sizes.hidden);
}

static void emit_double(IfmStageBuild *build)
{
    emit_two_products(build, DOUBLE, IFM_STAGED_NAMES("W_5", "W_6"), build->sizes.hidden);
}

const IfmStagedRecipe ifm_staged_matmul = {
    .model = &matmul,
    .emit = { emit_enter, emit_wide, emit_plain, emit_double },
};
