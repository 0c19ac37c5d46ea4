/* Models in stages: the table of them, what every such model shares, and how a range of stages becomes one model. */
#include <inferometer/dataset.h>
#include <inferometer/nearest.h>

#include "zoo-private.h"

/* The table: one row each, sorted by name. */
static const IfmStagedRecipe *const recipes[] = { &ifm_zoo_graphsage_recipe };

const IfmStagedModel *ifm_staged_find(const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize i = 0; i < G_N_ELEMENTS(recipes); i++)
    {
        if (g_str_equal(recipes[i]->model->name, name))
            return recipes[i]->model;
        g_ptr_array_add(names, (gpointer)recipes[i]->model->name);
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "zoo: there is no model in stages '%s'%s", name, hint);
    return NULL;
}

static const IfmStagedRecipe *recipe_of(const IfmStagedModel *staged)
{
    for (gsize i = 0; i < G_N_ELEMENTS(recipes); i++)
        if (recipes[i]->model == staged)
            return recipes[i];
    g_assert_not_reached();
}

/* --- boundaries ------------------------------------------------------------------------------------------------------- */

const IfmBoundary *ifm_staged_boundary(const IfmStagedModel *staged, const char *name)
{
    for (gsize i = 0; i < staged->n_boundaries; i++)
        if (g_str_equal(staged->boundaries[i].name, name))
            return &staged->boundaries[i];
    return NULL;
}

/* size_of: Returns: 0 where it is free. */
static gint64 size_of(const char *dim, const IfmStageSizes *sizes)
{
    if (g_str_equal(dim, "nodes"))
        return sizes->nodes;
    if (g_str_equal(dim, "edges"))
        return sizes->edges;
    if (g_str_equal(dim, "features"))
        return sizes->features;
    return g_str_equal(dim, "hidden") ? sizes->hidden : g_ascii_strtoll(dim, NULL, 10);
}

gint64 ifm_boundary_bytes(const IfmBoundary *boundary, const IfmStageSizes *sizes)
{
    gint64 bytes = (gint64)ifm_dtype_size_bytes(boundary->dtype);
    for (int i = 0; i < boundary->rank; i++)
        bytes *= size_of(boundary->dims[i], sizes);
    return bytes;
}

static gboolean is_among(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (g_str_equal(*names, name))
            return TRUE;
    return FALSE;
}

/* some_stage: Whether one of the stages reads (or @makes) the boundary. */
static gboolean some_stage(const IfmStagedModel *staged, int first, int last, const char *boundary, gboolean makes)
{
    for (int number = first; number <= last; number++)
    {
        const IfmStage *stage = &staged->stages[number - 1];
        if (is_among(makes ? stage->outputs : stage->inputs, boundary))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_output(const IfmStagedModel *staged, int first, int last, const char *name)
{
    int end = (int)staged->n_stages;
    return some_stage(staged, first, last, name, TRUE) &&
           (some_stage(staged, last + 1, end, name, FALSE) || some_stage(staged, MAX(first, end), last, name, TRUE));
}

GPtrArray *ifm_staged_inputs(const IfmStagedModel *staged, int first, int last)
{
    GPtrArray *inputs = g_ptr_array_new();
    for (gsize i = 0; i < staged->n_boundaries; i++)
    {
        const char *name = staged->boundaries[i].name;
        if (some_stage(staged, first, last, name, FALSE) && !some_stage(staged, first, last, name, TRUE))
            g_ptr_array_add(inputs, (gpointer)&staged->boundaries[i]);
    }
    return inputs;
}

GPtrArray *ifm_staged_outputs(const IfmStagedModel *staged, int first, int last)
{
    GPtrArray *outputs = g_ptr_array_new();
    for (gsize i = 0; i < staged->n_boundaries; i++)
        if (is_output(staged, first, last, staged->boundaries[i].name))
            g_ptr_array_add(outputs, (gpointer)&staged->boundaries[i]);
    return outputs;
}

int ifm_staged_split_axis(const IfmStagedModel *staged, int first, int last, const char *boundary)
{
    for (int number = first; number <= last; number++)
        if (g_strcmp0(staged->stages[number - 1].whole_input, boundary) == 0)
            return -1;
    return ifm_staged_boundary(staged, boundary)->split_axis;
}

static gint64 sum_of_bytes(const GPtrArray *boundaries, const IfmStageSizes *sizes)
{
    gint64 bytes = 0;
    for (guint i = 0; i < boundaries->len; i++)
        bytes += ifm_boundary_bytes(g_ptr_array_index(boundaries, i), sizes);
    return bytes;
}

void ifm_staged_io_bytes(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes, gint64 *read,
                         gint64 *written)
{
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, first, last);
    g_autoptr(GPtrArray) outputs = ifm_staged_outputs(staged, first, last);
    *read = sum_of_bytes(inputs, sizes);
    *written = sum_of_bytes(outputs, sizes);
}

/* --- building --------------------------------------------------------------------------------------------------------- */

static gboolean check_range(const IfmStagedModel *staged, int first, int last, GError **error)
{
    if (first >= 1 && first <= last && last <= (int)staged->n_stages)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "zoo: %s: stages %d to %d are no range of its stages 1 to %" G_GSIZE_FORMAT, staged->name, first, last,
                staged->n_stages);
    return FALSE;
}

static gboolean check_sizes(const IfmStagedModel *staged, const IfmStageSizes *sizes, GError **error)
{
    const struct
    {
        const char *name;
        gint64 value, least, most;
    } checks[] = {
        { "nodes", sizes->nodes, 0, IFM_GRAPH_MAX_NODES },
        { "edges", sizes->edges, 0, IFM_GRAPH_MAX_EDGES },
        { "features", sizes->features, 1, IFM_STAGED_MAX_WIDTH },
        { "hidden", sizes->hidden, 1, IFM_STAGED_MAX_WIDTH },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(checks); i++)
        if (checks[i].value < checks[i].least || checks[i].value > checks[i].most)
        {
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                        "zoo: %s: %s=%" G_GINT64_FORMAT " is not a number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                        staged->name, checks[i].name, checks[i].value, checks[i].least, checks[i].most);
            return FALSE;
        }
    return TRUE;
}

typedef void (*AddPort)(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                        const char *const *dim_names);

static void add_port(IfmStageBuild *build, const IfmBoundary *boundary, AddPort add)
{
    gint64 dims[G_N_ELEMENTS(boundary->dims)];
    for (int i = 0; i < boundary->rank; i++)
    {
        gint64 size = size_of(boundary->dims[i], &build->sizes);
        dims[i] = size > 0 ? size : -1;
    }
    add(build->builder, boundary->name, boundary->dtype, boundary->rank, dims, boundary->dims);
}

static void add_metadata(IfmStageBuild *build, const char *key, const char *of, gint64 value)
{
    g_autofree char *full = g_strdup_printf("inferometer.%s%s", key, of);
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    ifm_model_builder_metadata(build->builder, full, text);
}

static void describe(IfmStageBuild *build)
{
    g_autofree char *stages = build->first == build->last ? g_strdup_printf("%d", build->first)
                                                          : g_strdup_printf("%d-%d", build->first, build->last);
    ifm_model_builder_metadata(build->builder, "inferometer.staged_model", build->staged->name);
    ifm_model_builder_metadata(build->builder, "inferometer.stage", stages);
    if (build->sizes.nodes > 0)
        add_metadata(build, "size.", "nodes", build->sizes.nodes);
    if (build->sizes.edges > 0)
        add_metadata(build, "size.", "edges", build->sizes.edges);
}

/* add_ports: @boundaries, and which axis each is split on. Returns: one of them that has the nodes first, NULL: none. */
static const char *add_ports(IfmStageBuild *build, const GPtrArray *boundaries, AddPort add)
{
    const char *has_nodes = NULL;
    for (guint i = 0; i < boundaries->len; i++)
    {
        const IfmBoundary *boundary = g_ptr_array_index(boundaries, i);
        add_port(build, boundary, add);
        add_metadata(build, "split.", boundary->name,
                     ifm_staged_split_axis(build->staged, build->first, build->last, boundary->name));
        if (g_str_equal(boundary->dims[0], "nodes"))
            has_nodes = boundary->name;
    }
    return has_nodes;
}

/* Node numbers can be drawn only where the number of nodes is known; else the default, 0 or 1, is in any graph's range. */
static void describe_indices(IfmStageBuild *build, const GPtrArray *inputs)
{
    g_autofree char *range = g_strdup_printf("0 %" G_GINT64_FORMAT, build->sizes.nodes);
    for (guint i = 0; i < inputs->len && build->sizes.nodes > 0; i++)
    {
        const IfmBoundary *boundary = g_ptr_array_index(inputs, i);
        g_autofree char *key = g_strdup_printf("inferometer.range.%s", boundary->name);
        if (boundary->dtype == IFM_DTYPE_I64)
            ifm_model_builder_metadata(build->builder, key, range);
    }
}

static void add_zeros(IfmStageBuild *build)
{
    static const IfmBoundary zeros = { IFM_STAGED_ZEROS, IFM_DTYPE_F32, 1, { "nodes" }, 0 };
    add_port(build, &zeros, ifm_model_builder_input);
    add_metadata(build, "split.", zeros.name, zeros.split_axis);
    ifm_model_builder_metadata(build->builder, "inferometer.range." IFM_STAGED_ZEROS, "0 0");
    build->nodes_from = zeros.name;
}

IfmModel *ifm_staged_build(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                           IfmScatter scatter, guint32 seed, GError **error)
{
    const IfmStagedRecipe *recipe = recipe_of(staged);
    if (!check_range(staged, first, last, error) || !check_sizes(staged, sizes, error))
        return NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(staged->name, IFM_ZOO_OPSET);
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, first, last);
    g_autoptr(GPtrArray) outputs = ifm_staged_outputs(staged, first, last);
    IfmStageBuild build = { .builder = builder,
                            .staged = staged,
                            .first = first,
                            .last = last,
                            .sizes = *sizes,
                            .scatter = scatter,
                            .seed = seed };
    gboolean sums = FALSE;
    describe(&build);
    build.nodes_from = add_ports(&build, inputs, ifm_model_builder_input);
    describe_indices(&build, inputs);
    for (int number = first; number <= last; number++)
        sums = sums || recipe->sums[number - 1];
    if (sums && sizes->nodes == 0 && build.nodes_from == NULL)
        add_zeros(&build);
    add_ports(&build, outputs, ifm_model_builder_output);
    for (int number = first; number <= last; number++)
        recipe->emit[number - 1](&build);
    return ifm_model_builder_finish(builder, error);
}

/* --- which form ------------------------------------------------------------------------------------------------------- */

/*
 * As bench/scatter measured on one core of an AMD EPYC (Zen 4), with ONNX Runtime 1.31 and OpenVINO 2026.4: a sum of rows
 * of 256 numbers takes 20 to 67 times as long as ScatterElements as it takes as ScatterND on ONNX Runtime, 7 to 29 times on
 * OpenVINO: both add a whole row at a time for ScatterND; ScatterElements wants an index for every number. Single numbers
 * are the other way round: ScatterElements takes 0.8 to 0.9 times as long on ONNX Runtime, 0.6 to 0.9 on OpenVINO. So both
 * get the same; an engine that differs gets a row of its own. All figures: docs/stages.md.
 */
static const struct
{
    const char *engine;
    IfmScatter fastest;
} scatter_table[] = {
    { "onnxruntime", IFM_SCATTER_MIXED },
    { "openvino", IFM_SCATTER_MIXED },
};

IfmScatter ifm_scatter_for(const char *engine)
{
    for (gsize i = 0; i < G_N_ELEMENTS(scatter_table); i++)
        if (g_str_equal(scatter_table[i].engine, engine))
            return scatter_table[i].fastest;
    return IFM_SCATTER_MIXED;
}
