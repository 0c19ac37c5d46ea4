#include <glib/gstdio.h>
#include <kernel/kernel.h>
#include <math.h>

#include "../../src/kernel/records-private.h"
#include "../engine/all-outputs.h"
#include "graph-text.h"

/*
 * Records of what ONNX Runtime makes of models of the zoo. The oracle are values: the graph as written and the optimised
 * one are both made to give out every tensor, and where a record says that two tensors are the same, their values are.
 */

typedef struct
{
    const char *name, *settings; /* of the zoo; or a graph as text */
} Model;

static const Model models[] = {
    { "resnet18", "size=64" },
    { "resnet50", "size=32" },
    { "vgg16", "size=32" },
    { "alexnet", "size=64" },
    { "googlenet", "size=32" },
    { "densenet121", "size=32" },
    { "mobilenet_v2", "size=64" },
    { "squeezenet", "size=64" },
    { "vit", "size=32 layers=2" },
    { "bert", "length=16 layers=2" },
    { "graph_transformer", "num_nodes=50" },
    { "gps", "num_nodes=50 num_layers=2" },
    /* sums of convolutions without bias whose pads are not written out */
    { "same", "x : [1,32,15,14]; w ! [32,32,3,3]; v ! [32,32,3,3]; a = Conv(x,w) auto_pad=SAME_UPPER strides=[2,2]; "
              "b = Conv(x,v) auto_pad=SAME_LOWER strides=[2,2]; s = Add(a,b); y = Relu(s); -> y [1,32,8,7]" },
    /* blocks in channels-last between sums in channels-first, as of ConvNeXt: the runtime moves the Transposes */
    { "channels-last",
      "x : [1,8,12,12]; w ! [8,1,7,7]; ga ! [8]; be ! [8]; u ! [8,32]; v ! [32,8]; sc ! [8,1,1]; "
      "c = Conv(x,w) group=8 pads=[3,3,3,3]; t = Transpose(c) perm=[0,2,3,1]; n = LayerNormalization(t,ga,be) axis=-1; "
      "m = MatMul(n,u); r = Relu(m); d = MatMul(r,v); f = Transpose(d) perm=[0,3,1,2]; e = Mul(f,sc); a = Add(e,x); "
      "c2 = Conv(a,w) group=8 pads=[3,3,3,3]; t2 = Transpose(c2) perm=[0,2,3,1]; "
      "n2 = LayerNormalization(t2,ga,be) axis=-1; m2 = MatMul(n2,u); r2 = Relu(m2); d2 = MatMul(r2,v); "
      "f2 = Transpose(d2) perm=[0,3,1,2]; e2 = Mul(f2,sc); a2 = Add(e2,a); "
      "t3 = Transpose(a2) perm=[0,2,3,1]; n3 = LayerNormalization(t3,ga,be) axis=-1; y = Transpose(n3) perm=[0,3,1,2]; "
      "-> y [1,8,12,12]" },
};

/* --- both graphs --------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    char *folder, *model_path, *extended_path, *all_path;
    IfmRunner *runner;
    IfmModel *model, *named, *extended, *all;
    IfmAnalysis *before, *after;
    Cover *of_extended, *cover;
} Graphs;

static char *in_folder(const Graphs *graphs, const char *name)
{
    return g_build_filename(graphs->folder, name, NULL);
}

static void graphs_init(Graphs *graphs, const Model *model)
{
    g_autoptr(GError) error = NULL;
    const IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    *graphs = (Graphs){ .folder = g_dir_make_tmp("ifm-records-XXXXXX", NULL), .runner = ifm_runner_new(&options) };
    graphs->model_path = in_folder(graphs, "model.onnx");
    graphs->extended_path = in_folder(graphs, "extended.onnx");
    graphs->all_path = in_folder(graphs, "all.onnx");
    graphs->model = strchr(model->settings, ';') != NULL ? text_model(model->settings, IFM_DTYPE_F32, FALSE, 17)
                                                         : zoo(model->name, model->settings);
    graphs->named = kernel_graph_instrument(graphs->model, &error);
    g_assert_no_error(error);
    ifm_model_save(graphs->named, graphs->model_path, &error);
    g_assert_no_error(error);
    const IfmOptimisedFile files[] = { { graphs->extended_path, TRUE, TRUE }, { graphs->all_path, FALSE, FALSE } };
    const IfmModelCase model_case = { .model_path = graphs->model_path, .device = "onnxruntime:CPU@0" };
    ifm_runner_optimise(graphs->runner, &model_case, files, 2, NULL, &error);
    g_assert_no_error(error);
    graphs->extended = ifm_model_open_outline(graphs->extended_path, &error);
    g_assert_no_error(error);
    graphs->all = ifm_model_open(graphs->all_path, &error);
    g_assert_no_error(error);
    graphs->before = ifm_model_analyse(graphs->named, NULL, 0, &error);
    g_assert_no_error(error);
    graphs->after = ifm_model_analyse(graphs->all, NULL, 0, &error);
    g_assert_no_error(error);
    graphs->of_extended = cover_new(graphs->named, graphs->before, graphs->extended, NULL, NULL);
    graphs->cover = cover_new(graphs->named, graphs->before, graphs->all, graphs->extended, graphs->of_extended);
}

static void graphs_clear(Graphs *graphs)
{
    GDir *folder = g_dir_open(graphs->folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(folder)) != NULL;)
    {
        g_autofree char *path = in_folder(graphs, name);
        g_unlink(path);
    }
    g_dir_close(folder);
    g_rmdir(graphs->folder);
    cover_free(graphs->of_extended);
    cover_free(graphs->cover);
    ifm_analysis_free(graphs->before);
    ifm_analysis_free(graphs->after);
    ifm_model_unref(graphs->model);
    ifm_model_unref(graphs->named);
    ifm_model_unref(graphs->extended);
    ifm_model_unref(graphs->all);
    ifm_runner_free(graphs->runner);
    g_free(graphs->folder);
    g_free(graphs->model_path);
    g_free(graphs->extended_path);
    g_free(graphs->all_path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Graphs, graphs_clear)

/* --- values -------------------------------------------------------------------------------------------------------------
 */

static void free_tensor(gpointer tensor)
{
    ifm_tensor_clear(tensor);
    g_free(tensor);
}

/* (transfer full) name -> IfmTensor* of all that a graph makes, without optimisation */
static GHashTable *values_of(IfmModel *model, const IfmAnalysis *analysis, const char *folder)
{
    g_autoptr(GError) error = NULL;
    GHashTable *values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_tensor);
    Fixture fixture;
    g_autoptr(IfmModel) open = with_all_outputs(model, analysis, folder);
    g_assert_true(fixture_open(&fixture, "onnxruntime:CPU"));
    compile_and_run(&fixture, open, NULL, 0, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_compiled_info(fixture.compiled).n_outputs; i++)
    {
        IfmTensor output, *copy = g_new0(IfmTensor, 1);
        ifm_request_output(fixture.request, i, &output, &error);
        g_assert_no_error(error);
        ifm_tensor_init(copy, output.dtype, output.rank, output.shape, &error);
        g_assert_no_error(error);
        if (output.size_bytes > 0)
            memcpy(copy->data, output.data, output.size_bytes);
        g_hash_table_insert(values, g_strdup(ifm_compiled_output(fixture.compiled, i)->name), copy);
    }
    fixture_close(&fixture);
    return values;
}

/* Element of a tensor in blocked channels, by its place in NCHW. */
static float unblocked(const IfmTensor *tensor, gint64 block, const gint64 *place)
{
    const gint64 *shape = tensor->shape;
    const gint64 at =
        (((place[0] * (shape[1] / block) + place[1] / block) * shape[2] + place[2]) * shape[3] + place[3]) * block +
        place[1] % block;
    return ((const float *)tensor->data)[at];
}

/* The same in channels-last. */
static float channels_last(const IfmTensor *tensor, const gint64 *place)
{
    const gint64 *shape = tensor->shape;
    return ((const float *)tensor->data)[((place[0] * shape[1] + place[2]) * shape[2] + place[3]) * shape[3] + place[1]];
}

static gboolean is_channels_last(const IfmTensor *made, const IfmTensor *wanted)
{
    return made->rank == 4 && wanted->rank == 4 && made->shape[1] == wanted->shape[2] &&
           made->shape[2] == wanted->shape[3] && made->shape[3] == wanted->shape[1] && made->shape[1] != wanted->shape[1];
}

/* Whether the values are those of the model's tensor: as they are, in channels-last, or in blocks of channels, of which
 * some are filled up.
 */
static gboolean is_same(const IfmTensor *made, const IfmTensor *wanted, gint64 block)
{
    double largest = 0, worst = 0;
    gint64 place[4];
    const gboolean last = is_channels_last(made, wanted),
                   blocked = !last && block > 1 && made->rank == 4 && wanted->rank == 4;
    gsize n = 1;
    for (int i = 0; i < wanted->rank; i++)
        n *= (gsize)wanted->shape[i];
    if (wanted->dtype != IFM_DTYPE_F32 || made->dtype != IFM_DTYPE_F32)
        return made->size_bytes == wanted->size_bytes &&
               (made->size_bytes == 0 || memcmp(made->data, wanted->data, made->size_bytes) == 0);
    if (!blocked && made->size_bytes != wanted->size_bytes)
        return FALSE;
    for (gsize i = 0; i < n; i++)
    {
        gsize rest = i;
        for (int d = 3; (blocked || last) && d >= 0; d--)
        {
            place[d] = (gint64)(rest % (gsize)wanted->shape[d]);
            rest /= (gsize)wanted->shape[d];
        }
        const double value = (double)((const float *)wanted->data)[i];
        const double found = (double)(last      ? channels_last(made, place)
                                      : blocked ? unblocked(made, block, place)
                                                : ((const float *)made->data)[i]);
        largest = MAX(largest, fabs(value));
        worst = MAX(worst, fabs(found - value));
    }
    return worst <= 2e-3 * MAX(1e-3, largest);
}

static gboolean is_blocked(const IfmModel *model, const char *tensor)
{
    const gssize maker = ifm_model_producer(model, tensor);
    const IfmNode *node = maker >= 0 ? ifm_model_node(model, (gsize)maker) : NULL;
    if (node == NULL || g_str_equal(node->op_type, "ReorderOutput"))
        return FALSE;
    return g_str_has_suffix(node->domain, "nchwc") ||
           (node->n_inputs > 0 &&
            (g_str_equal(node->op_type, "Concat") || g_str_equal(node->op_type, "Add") ||
             g_str_equal(node->op_type, "Mul")) &&
            is_blocked(model, node->inputs[0]));
}

static gboolean moves_data(const IfmNode *node)
{
    static const char *const types[] = { "ReorderInput", "ReorderOutput", "Reshape",  "Transpose", "Squeeze",
                                         "Unsqueeze",    "Flatten",       "Identity", NULL };
    return g_strv_contains(types, node->op_type);
}

/* Kernels that only move data compute nothing of the model. */
static void assert_moved_only(const Graphs *graphs, const CoverGroup *group)
{
    for (guint i = 0; i < group->nodes->len; i++)
        if (!moves_data(ifm_model_node(graphs->all, g_array_index(group->nodes, gsize, i))))
            return;
    for (guint i = 0; i < group->covers->len; i++)
    {
        const IfmNode *node = ifm_model_node(graphs->named, g_array_index(group->covers, gsize, i));
        if (!moves_data(node))
            g_error("what only moves data covers %s, a %s", node->name, node->op_type);
    }
}

static void test_values(gconstpointer data)
{
    const Model *model = data;
    g_auto(Graphs) graphs;
    gsize n = 0, n_open = 0, n_ambiguous = 0, n_nodes = 0;
    graphs_init(&graphs, model);
    g_autoptr(GHashTable) wanted = values_of(graphs.named, graphs.before, NULL),
                          made = values_of(graphs.all, graphs.after, graphs.folder);
    GHashTableIter iter;
    gpointer name, found;
    g_hash_table_iter_init(&iter, graphs.cover->anchors);
    while (g_hash_table_iter_next(&iter, &name, &found))
    {
        const Anchor *anchor = found;
        const IfmTensor *value = g_hash_table_lookup(made, name),
                        *of_model = anchor->tensor != NULL ? g_hash_table_lookup(wanted, anchor->tensor) : NULL;
        n_open += anchor->tensor == NULL;
        if (value == NULL || of_model == NULL || anchor->how == ANCHOR_LAYOUT)
            continue;
        const gint64 block = is_blocked(graphs.all, name) ? (value->shape[1] % 16 == 0 ? 16 : 8) : 1;
        if (!is_same(value, of_model, block) && !is_same(value, of_model, block == 16 ? 8 : 1))
            g_error("%s: '%s' is not the model's '%s' (%d)", model->name, (const char *)name, anchor->tensor,
                    (int)anchor->how);
        n++;
    }
    for (guint i = 0; i < graphs.cover->groups->len; i++)
    {
        const CoverGroup *group = graphs.cover->groups->pdata[i];
        n_nodes += group->nodes->len;
        n_ambiguous += group->coverage == IFM_COVERAGE_AMBIGUOUS ? group->nodes->len : 0;
        assert_moved_only(&graphs, group);
    }
    g_test_message("%s: %zu nodes, %zu ambiguous, %zu tensors compared, %zu open, %u uncovered, %zu twice", model->name,
                   n_nodes, n_ambiguous, n, n_open, graphs.cover->uncovered->len, graphs.cover->n_twice);
    for (guint i = 0; i < graphs.cover->uncovered->len; i++)
    {
        const IfmNode *node = ifm_model_node(graphs.named, g_array_index(graphs.cover->uncovered, gsize, i));
        g_test_message("uncovered: %s (%s)", node->name, node->op_type);
    }
    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(n_ambiguous * 200, <=, n_nodes);
    g_assert_cmpuint(graphs.cover->uncovered->len, ==, 0);
}

/* --- kernels alone ------------------------------------------------------------------------------------------------------
 */

/* The tensors that a model is fed, as compile_and_run() makes them, added to what its graph makes. */
static void add_inputs(IfmModel *model, GHashTable *values)
{
    g_autoptr(GError) error = NULL;
    const gsize n = ifm_model_n_inputs(model);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, n + 1);
    ifm_model_make_inputs(model, NULL, 0, 1, inputs, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < n; i++)
        g_hash_table_insert(values, g_strdup(ifm_model_input(model, i)->name), g_memdup2(&inputs[i], sizeof inputs[i]));
}

/* Runs a kernel on the model's own values. Returns: whether its outputs are the model's. */
static gboolean answers_alike(const Fixture *engine, IfmModel *alone, const IfmKernelRecord *record, GHashTable *values)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine->engine, alone, engine->spec, &options, &error);
    g_assert_no_error(error);
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_inputs(alone); i++)
    {
        const IfmPort *port = ifm_model_input(alone, i);
        const IfmKernelTensor *tensor = record->inputs->pdata[atoi(port->name + 1)];
        const IfmTensor *value = g_hash_table_lookup(values, tensor->name);
        if (value == NULL)
            g_error("%s: no value of '%s'", record->name, tensor->name);
        ifm_request_set_input(request, i, value, &error);
        g_assert_no_error(error);
    }
    run(request);
    for (gsize i = 0; i < ifm_compiled_info(compiled).n_outputs; i++)
    {
        const IfmKernelTensor *tensor = record->outputs->pdata[atoi(ifm_compiled_output(compiled, i)->name + 1)];
        IfmTensor output;
        ifm_request_output(request, i, &output, &error);
        g_assert_no_error(error);
        if (!ifm_tensor_compare(&output, g_hash_table_lookup(values, tensor->name), 1e-5, 1e-6, NULL))
            return FALSE;
    }
    return TRUE;
}

/* Each kernel of a model, cut out with its weights, makes of the model's own values what it makes in the model. */
static void test_extract(gconstpointer data)
{
    const Model *model = data;
    g_auto(Graphs) graphs;
    Fixture engine;
    graphs_init(&graphs, model);
    g_autoptr(IfmKernelRecords) records = kernel_records_new(graphs.model, graphs.all, graphs.after, graphs.cover);
    g_autoptr(GHashTable) values = values_of(graphs.all, graphs.after, graphs.folder),
                          seen = g_hash_table_new(g_str_hash, g_str_equal);
    add_inputs(graphs.all, values);
    g_assert_true(fixture_open(&engine, "onnxruntime:CPU"));
    for (guint i = 0; i < records->kernels->len; i++)
    {
        g_autoptr(GError) error = NULL;
        const IfmKernelRecord *record = records->kernels->pdata[i];
        if (!g_hash_table_add(seen, record->digest))
            continue;
        g_autoptr(IfmModel) alone = ifm_kernel_extract(record, graphs.all, 1, 1, &error);
        g_assert_no_error(error);
        if (!answers_alike(&engine, alone, record, values))
            g_error("%s: %s (%s) answers otherwise alone", model->name, record->name, record->node);
    }
    g_test_message("%s: %u kernels, %u distinct", model->name, records->kernels->len, g_hash_table_size(seen));
    fixture_close(&engine);
}

/* Runs a kernel of other sizes; its outputs have the shapes that the record says. */
static void assert_runs(const Fixture *engine, const IfmKernelRecord *record)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    g_autoptr(IfmModel) alone = ifm_kernel_extract(record, NULL, 1, 1, &error);
    g_assert_no_error(error);
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine->engine, alone, engine->spec, &options, &error);
    g_assert_no_error(error);
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, &error);
    g_assert_no_error(error);
    const gsize n = ifm_model_n_inputs(alone);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, n + 1);
    ifm_model_make_inputs(alone, NULL, 0, 1, inputs, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < n; i++)
    {
        ifm_request_set_input(request, i, &inputs[i], &error);
        g_assert_no_error(error);
    }
    run(request);
    for (gsize i = 0; i < ifm_compiled_info(compiled).n_outputs; i++)
    {
        const IfmKernelTensor *tensor = record->outputs->pdata[atoi(ifm_compiled_output(compiled, i)->name + 1)];
        IfmTensor output;
        ifm_request_output(request, i, &output, &error);
        g_assert_no_error(error);
        g_assert_cmpint(output.rank, ==, (int)tensor->dims->len);
        g_assert_cmpmem(output.shape, (gsize)output.rank * sizeof(gint64), tensor->dims->data,
                        tensor->dims->len * sizeof(gint64));
    }
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
}

/* Kernels around those of a model run, and are counted as their shapes say; equal seeds give equal ones. */
static void test_vary(gconstpointer data)
{
    const Model *model = data;
    g_auto(Graphs) graphs;
    Fixture engine;
    gsize n = 0, n_distinct = 0;
    graphs_init(&graphs, model);
    g_autoptr(IfmKernelRecords) records = kernel_records_new(graphs.model, graphs.all, graphs.after, graphs.cover);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_assert_true(fixture_open(&engine, "onnxruntime:CPU"));
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *record = records->kernels->pdata[i];
        if (!g_hash_table_add(seen, record->digest))
            continue;
        n_distinct++;
        g_autoptr(IfmKernelRecord) other = ifm_kernel_vary(record, i), again = ifm_kernel_vary(record, i);
        if (other == NULL)
            continue;
        n++;
        IfmKernelFeatures features;
        ifm_kernel_features(other, &features);
        g_assert_cmpstr(other->digest, ==, again->digest);
        g_assert_cmpstr(other->name, ==, record->name);
        if (g_str_has_prefix(other->name, "Conv")) /* as a matrix product it has the same work, but for what is fused */
            g_assert_cmpfloat(2 * features.m * features.k * features.outputs, <=, other->flop);
        assert_runs(&engine, other);
    }
    g_test_message("%s: %zu of %zu kernels varied", model->name, n, n_distinct);
    g_assert_cmpuint(2 * n, >=, n_distinct);
    fixture_close(&engine);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
    {
        g_autofree char *path = g_strdup_printf("/records/values/%s", models[i].name);
        g_autofree char *alone = g_strdup_printf("/records/extract/%s", models[i].name);
        g_test_add_data_func(path, &models[i], test_values);
        g_test_add_data_func(alone, &models[i], test_extract);
        g_autofree char *varied = g_strdup_printf("/records/vary/%s", models[i].name);
        g_test_add_data_func(varied, &models[i], test_vary);
    }
    return g_test_run();
}
