/* Models in stages: their table, their common parts, and the fusing of a range of stages into one model. */
#include <math.h>

#include <dataset/dataset.h>

#include "staged-private.h"

#define OPSET 17

/* The table: one row per model, sorted by name. */
static const IfmStagedRecipe *const recipes[] = { &ifm_staged_graphsage, &ifm_staged_matmul };

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
    ifm_error_refuse(error, "zoo: there is no model in stages '%s'%s", name, hint);
    return NULL;
}

/* --- boundaries --------------------------------------------------------------------------------------------------- */

const IfmBoundary *ifm_staged_boundary(const IfmStagedModel *staged, const char *name)
{
    for (gsize i = 0; i < staged->n_boundaries; i++)
        if (g_str_equal(staged->boundaries[i].name, name))
            return &staged->boundaries[i];
    return NULL;
}

/* size_of: Returns: 0 for a free size. */
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

void ifm_boundary_shape(const IfmBoundary *boundary, const IfmStageSizes *sizes, gint64 *shape)
{
    for (int i = 0; i < boundary->rank; i++)
        shape[i] = size_of(boundary->dims[i], sizes);
}

gint64 ifm_boundary_bytes(const IfmBoundary *boundary, const IfmStageSizes *sizes)
{
    gint64 bytes = (gint64)ifm_dtype_size_bytes(boundary->dtype);
    for (int i = 0; i < boundary->rank; i++)
        bytes *= size_of(boundary->dims[i], sizes);
    return bytes;
}

int ifm_staged_stage_with(const IfmStagedModel *staged, int first, int last, const char *boundary, gboolean makes)
{
    for (int number = first; number <= last; number++)
    {
        const IfmStage *stage = &staged->stages[number - 1];
        if (g_strv_contains(makes ? stage->outputs : stage->inputs, boundary))
            return number;
    }
    return 0;
}

GPtrArray *ifm_staged_inputs(const IfmStagedModel *staged, int first, int last)
{
    GPtrArray *inputs = g_ptr_array_new();
    for (gsize i = 0; i < staged->n_boundaries; i++)
    {
        const char *name = staged->boundaries[i].name;
        if (ifm_staged_stage_with(staged, first, last, name, FALSE) > 0 &&
            ifm_staged_stage_with(staged, first, last, name, TRUE) == 0)
            g_ptr_array_add(inputs, (gpointer)&staged->boundaries[i]);
    }
    return inputs;
}

GPtrArray *ifm_staged_outputs(const IfmStagedModel *staged, int first, int last)
{
    GPtrArray *outputs = g_ptr_array_new();
    int end = (int)staged->n_stages;
    for (gsize i = 0; i < staged->n_boundaries; i++)
    {
        const char *name = staged->boundaries[i].name;
        if (ifm_staged_stage_with(staged, first, last, name, TRUE) > 0 &&
            (ifm_staged_stage_with(staged, last + 1, end, name, FALSE) > 0 ||
             ifm_staged_stage_with(staged, MAX(first, end), last, name, TRUE) > 0))
            g_ptr_array_add(outputs, (gpointer)&staged->boundaries[i]);
    }
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

/* --- building ----------------------------------------------------------------------------------------------------- */

static gboolean check_range(const IfmStagedModel *staged, int first, int last, GError **error)
{
    return (first >= 1 && first <= last && last <= (int)staged->n_stages) ||
           ifm_error_refuse(error, "zoo: %s: stages %d to %d are no range of its stages 1 to %zu", staged->name, first,
                            last, staged->n_stages);
}

static gboolean check_sizes(const IfmStagedModel *staged, const IfmStageSizes *sizes, gint64 sources, GError **error)
{
    const struct
    {
        const char *name;
        gint64 value, min, max;
    } checks[] = {
        { "nodes", sizes->nodes, 0, IFM_GRAPH_MAX_NODES },        { "edges", sizes->edges, 0, IFM_GRAPH_MAX_EDGES },
        { "features", sizes->features, 1, IFM_STAGED_MAX_WIDTH }, { "hidden", sizes->hidden, 1, IFM_STAGED_MAX_WIDTH },
        { "sources", sources, 0, IFM_GRAPH_MAX_NODES },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(checks); i++)
        if (checks[i].value < checks[i].min || checks[i].value > checks[i].max)
            return ifm_error_refuse(
                error, "zoo: %s: %s=%" G_GINT64_FORMAT " is not a number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                staged->name, checks[i].name, checks[i].value, checks[i].min, checks[i].max);
    return TRUE;
}

typedef void (*AddPort)(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                        const char *const *dim_names);

/* add_port: @whole: its nodes are the sources of the graph. */
static void add_port(IfmStageBuild *build, const IfmBoundary *boundary, const char *name, gboolean whole, AddPort add)
{
    gint64 dims[G_N_ELEMENTS(boundary->dims)];
    const char *words[G_N_ELEMENTS(boundary->dims)];
    for (int i = 0; i < boundary->rank; i++)
    {
        gboolean sources = whole && g_str_equal(boundary->dims[i], "nodes");
        gint64 size = sources ? build->sources : size_of(boundary->dims[i], &build->sizes);
        words[i] = sources ? "sources" : boundary->dims[i];
        dims[i] = size > 0 ? size : -1;
    }
    add(build->builder, name, boundary->dtype, boundary->rank, dims, words);
}

static void add_metadata(IfmStageBuild *build, const char *key, const char *of, gint64 value)
{
    g_autofree char *full = g_strdup_printf("inferometer.%s%s", key, of);
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
    ifm_model_builder_metadata(build->builder, full, text);
}

static void add_staged_port(GArray *ports, const IfmBoundary *boundary, const char *name, gboolean whole)
{
    IfmStagedPort port = { boundary, name, whole };
    g_array_append_val(ports, port);
}

static gboolean has_whole(const IfmStageBuild *build)
{
    for (guint i = 0; i < build->ports->len; i++)
        if (g_array_index(build->ports, IfmStagedPort, i).whole)
            return TRUE;
    return FALSE;
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
    if (build->sources > 0 && has_whole(build))
        add_metadata(build, "size.", "sources", build->sources);
}

/* add_inputs: Adds the inputs, the metadata of their split axes and of the range of node numbers, and finds the input that
 * gives the number of nodes. The range is set only where that number is known. The default, 0 or 1, is valid for other
 * graphs. For a partition, both rows must be in range: sources and destinations. */
static void add_inputs(IfmStageBuild *build)
{
    gint64 max = has_whole(build) ? MIN(build->sizes.nodes, build->sources) : build->sizes.nodes;
    g_autofree char *range = g_strdup_printf("0 %" G_GINT64_FORMAT, max);
    for (guint i = 0; i < build->ports->len; i++)
    {
        const IfmStagedPort *port = &g_array_index(build->ports, IfmStagedPort, i);
        const IfmBoundary *boundary = port->boundary;
        gboolean second = !g_str_equal(port->name, boundary->name);
        add_port(build, boundary, port->name, port->whole, ifm_model_builder_input);
        add_metadata(build, "split.", port->name,
                     second ? boundary->split_axis
                            : ifm_staged_split_axis(build->staged, build->first, build->last, boundary->name));
        if (!port->whole && g_str_equal(boundary->dims[0], "nodes"))
            build->nodes_from = port->name;
    }
    for (guint i = 0; i < build->ports->len && max > 0; i++)
    {
        const IfmStagedPort *port = &g_array_index(build->ports, IfmStagedPort, i);
        g_autofree char *key = g_strdup_printf("inferometer.range.%s", port->name);
        if (port->boundary->dtype == IFM_DTYPE_I64)
            ifm_model_builder_metadata(build->builder, key, range);
    }
}

static void add_outputs(IfmStageBuild *build)
{
    g_autoptr(GPtrArray) outputs = ifm_staged_outputs(build->staged, build->first, build->last);
    for (guint i = 0; i < outputs->len; i++)
    {
        const IfmBoundary *boundary = g_ptr_array_index(outputs, i);
        add_port(build, boundary, boundary->name, FALSE, ifm_model_builder_output);
        add_metadata(build, "split.", boundary->name, boundary->split_axis);
    }
}

/* build_ports: The model whose inputs are the build's ports. */
static IfmModel *build_ports(IfmStageBuild *build, GError **error)
{
    const IfmStagedRecipe *recipe = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(build->staged->name, OPSET);
    gboolean sums = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(recipes); i++)
        recipe = recipes[i]->model == build->staged ? recipes[i] : recipe;
    g_assert(recipe != NULL);
    build->builder = builder;
    describe(build);
    add_inputs(build);
    for (int number = build->first; number <= build->last; number++)
        sums = sums || recipe->sums[number - 1];
    if (sums && build->sizes.nodes == 0 && build->nodes_from == NULL)
    {
        static const IfmBoundary zeros = { IFM_STAGED_ZEROS, IFM_DTYPE_F32, 1, { "nodes" }, 0 };
        add_port(build, &zeros, zeros.name, FALSE, ifm_model_builder_input);
        add_metadata(build, "split.", zeros.name, zeros.split_axis);
        ifm_model_builder_metadata(builder, "inferometer.range." IFM_STAGED_ZEROS, "0 0");
        build->nodes_from = zeros.name;
        add_staged_port(build->ports, NULL, zeros.name, FALSE);
    }
    add_outputs(build);
    for (int number = build->first; number <= build->last; number++)
        recipe->emit[number - 1](build);
    return ifm_model_builder_finish(builder, error);
}

IfmModel *ifm_staged_build(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                           IfmScatter scatter, guint32 seed, GError **error)
{
    if (!check_range(staged, first, last, error) || !check_sizes(staged, sizes, 0, error))
        return NULL;
    g_autoptr(GArray) ports = g_array_new(FALSE, FALSE, sizeof(IfmStagedPort));
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, first, last);
    for (guint i = 0; i < inputs->len; i++)
    {
        const IfmBoundary *boundary = g_ptr_array_index(inputs, i);
        add_staged_port(ports, boundary, boundary->name, FALSE);
    }
    IfmStageBuild build = {
        .staged = staged, .first = first, .last = last, .sizes = *sizes, .scatter = scatter, .seed = seed, .ports = ports
    };
    return build_ports(&build, error);
}

/* --- of a part of a graph ----------------------------------------------------------------------------------------- */

/* add_part_ports: The boundary as the stages read it: whole, own rows, or both. */
static void add_part_ports(const IfmStagedModel *staged, int first, int last, const IfmBoundary *boundary, GArray *ports)
{
    gboolean whole = FALSE, own = FALSE;
    for (int number = first; number <= last; number++)
    {
        const IfmStage *stage = &staged->stages[number - 1];
        gboolean reads = g_strv_contains(stage->inputs, boundary->name);
        gboolean all = g_strcmp0(stage->whole_input, boundary->name) == 0;
        whole = whole || (reads && all);
        own = own || (reads && !all);
    }
    if (whole)
        add_staged_port(ports, boundary, boundary->name, TRUE);
    if (own)
    {
        g_autofree char *second = g_strdup_printf("%s.part", boundary->name);
        add_staged_port(ports, boundary, whole ? g_intern_string(second) : boundary->name, FALSE);
    }
}

/* check_whole: A tensor that is needed whole must be an input of the range: a partition computes its own rows only. */
static gboolean check_whole(const IfmStagedModel *staged, int first, int last, GError **error)
{
    for (int number = first; number <= last; number++)
    {
        const char *whole = staged->stages[number - 1].whole_input;
        if (whole == NULL || ifm_staged_stage_with(staged, first, number - 1, whole, TRUE) == 0)
            continue;
        return ifm_error_set(
            error, IFM_ERROR_UNSUPPORTED,
            "zoo: %s: stages %d to %d cannot be computed by parts: stage %d needs all of '%s', which the range makes",
            staged->name, first, last, number, whole);
    }
    return TRUE;
}

IfmModel *ifm_staged_build_part(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                                gint64 sources, IfmScatter scatter, guint32 seed, GArray **ports, GError **error)
{
    if (!check_range(staged, first, last, error) || !check_sizes(staged, sizes, sources, error) ||
        !check_whole(staged, first, last, error))
        return NULL;
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(IfmStagedPort));
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, first, last);
    for (guint i = 0; i < inputs->len; i++)
        add_part_ports(staged, first, last, g_ptr_array_index(inputs, i), list);
    IfmStageBuild build = { .staged = staged,
                            .first = first,
                            .last = last,
                            .sizes = *sizes,
                            .sources = sources,
                            .scatter = scatter,
                            .seed = seed,
                            .ports = list };
    IfmModel *model = build_ports(&build, error);
    if (model != NULL && ports != NULL)
        *ports = g_steal_pointer(&list);
    return model;
}

/* --- helpers of recipes ------------------------------------------------------------------------------------------- */

const char *ifm_stage_own_rows(const IfmStageBuild *build, const char *boundary)
{
    const char *name = boundary;
    for (guint i = 0; i < build->ports->len; i++)
    {
        const IfmStagedPort *port = &g_array_index(build->ports, IfmStagedPort, i);
        if (port->boundary != NULL && !port->whole && g_str_equal(port->boundary->name, boundary))
            name = port->name;
    }
    return name;
}

gsize ifm_stage_node(IfmStageBuild *build, int stage, const char *what, const char *op_type, const char *const *inputs,
                     const char *output)
{
    g_autofree char *name = g_strdup_printf("%s.%s", build->staged->stages[stage].name, what);
    return ifm_model_builder_node(build->builder, op_type, name, inputs, IFM_STAGED_NAMES(output));
}

void ifm_stage_matrix(IfmStageBuild *build, const char *name, gint64 rows, gint64 columns)
{
    ifm_model_builder_random_weight(build->builder, name, 2, (gint64[]){ rows, columns }, sqrt(3.0 / (double)rows),
                                    build->seed);
}

/* --- which form --------------------------------------------------------------------------------------------------- */

/*
 * bench/scatter measured on one core of an AMD EPYC (Zen 4), with ONNX Runtime 1.31 and OpenVINO 2026.4. For rows of 256
 * numbers, ScatterElements takes 20 to 67 times as long as ScatterND on ONNX Runtime, and 7 to 29 times on OpenVINO:
 * ScatterND adds a row at once, ScatterElements needs an index for each number. For single numbers, ScatterElements takes
 * 0.8 to 0.9 of the time on ONNX Runtime and 0.6 to 0.9 on OpenVINO. So both engines use the same form. An engine that
 * differs gets its own row. All figures: docs/stages.md.
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
