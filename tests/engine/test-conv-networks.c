/* Whole networks as exporters write them, by every algorithm, against the runtime without optimisation; that reference
 * against OpenVINO's. IFM_TEST_NETWORKS: a folder that conv-networks.py wrote; else it is written here. */
#include <sys/wait.h>

#include <convolution/convolution.h>

#include "folder.h"
#include "run-model.h"

#define TOLERANCE 1e-4 /* of the largest output */
#define BATCH 2
#define SIZE 20

/* Networks with a tolerance of their own, and those of which no algorithm of ours does any layer. */
typedef struct
{
    const char *name;
    double tolerance;
    gboolean keeps_all;
} Special;

static const Special specials[] = {
    { "tf-quantised", 0.05, TRUE }, /* a step of an integer */
    { "torch-quantised", 0.05, TRUE },
    { "torch-half", 5e-3, FALSE },
    { "conv1d-dynamo-dynamic", TOLERANCE, TRUE },
    { "torch-one-dimension", TOLERANCE, TRUE },
    { "torch-three-dimensions", TOLERANCE, TRUE },
    { "convolutions-script-static", TOLERANCE, TRUE }, /* four channels */
    { "convolutions-script-dynamic", TOLERANCE, TRUE },
    { "convolutions-dynamo-dynamic", TOLERANCE, TRUE },
    { "widening-script-dynamic", TOLERANCE, TRUE },
    { "widening-dynamo-dynamic", TOLERANCE, TRUE },
    { "torch-grouped-odd", TOLERANCE, TRUE },
};

/* Exports of another PyTorch and its other exporter, and networks that once failed. */
static const char *const kept[] = { "preact-resnet",
                                    "same-upper",
                                    "conv1d-dynamo-dynamic",
                                    "convolutions-script-static",
                                    "convolutions-script-dynamic",
                                    "convolutions-dynamo-dynamic",
                                    "widening-script-dynamic",
                                    "widening-dynamo-dynamic" };

static Special special_of(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(specials); i++)
        if (g_str_equal(specials[i].name, name))
            return specials[i];
    return (Special){ name, TOLERANCE, FALSE };
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

/* Network: one file, opened and referred to once for all algorithms. */
typedef struct
{
    char *name;
    IfmModel *model;
    GArray *bindings;      /* IfmDimBinding */
    GPtrArray *reference;  /* IfmTensor* */
    GHashTable *own_names; /* of the model's convolutions */
} Network;

static void tensor_free(gpointer data)
{
    ifm_tensor_clear(data);
    g_free(data);
}

/* (transfer full) IfmTensor*, copies of all outputs; NULL: skipped. @layers: (out) (optional) what ran */
static GPtrArray *outputs_of(const char *device, const Network *network, const char *const *lines, gboolean optimise,
                             GPtrArray **layers)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    if (!fixture_open(&fixture, device))
        return NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    IfmModel *model = network->model;
    const gsize n = ifm_model_n_inputs(model);
    options.threads = 1;
    options.optimise = optimise;
    options.dtype = ifm_model_input(model, 0)->dtype;
    options.convolutions = lines;
    options.bindings = (const IfmDimBinding *)(const void *)network->bindings->data;
    options.n_bindings = network->bindings->len;
    fixture_compile(&fixture, ifm_model_ref(model), &options);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, n);
    ifm_model_make_inputs(model, options.bindings, options.n_bindings, 3, inputs, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < n; i++)
        ifm_request_set_input(fixture.request, i, &inputs[i], &error);
    run(fixture.request);
    GPtrArray *outputs = g_ptr_array_new_with_free_func(tensor_free);
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        IfmTensor output, *copy = g_new0(IfmTensor, 1);
        ifm_request_output(fixture.request, i, &output, &error);
        g_assert_no_error(error);
        ifm_tensor_init(copy, output.dtype, output.rank, output.shape, &error);
        g_assert_no_error(error);
        memcpy(copy->data, output.data, output.size_bytes);
        g_ptr_array_add(outputs, copy);
    }
    if (layers != NULL)
    {
        g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(fixture.compiled, inputs, &error);
        g_assert_no_error(error);
        *layers = g_ptr_array_ref(effective->convolutions);
    }
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
    fixture_close(&fixture);
    return outputs;
}

static void check_equal(const char *who, const GPtrArray *expected, const GPtrArray *got, double tolerance)
{
    g_assert_cmpuint(got->len, ==, expected->len);
    for (guint k = 0; k < expected->len; k++)
    {
        const IfmTensor *left = expected->pdata[k], *right = got->pdata[k];
        IfmTensorDifference worst;
        double largest = 0;
        for (gint64 i = 0; i < ifm_tensor_n_elements(left); i++)
            largest = fmax(largest, fabs(ifm_tensor_get_double(left, i)));
        g_assert_cmpfloat(largest, >, 0);
        if (!ifm_tensor_compare(right, left, 0, tolerance * largest, &worst))
            g_error("%s: output %u of %u: %" G_GINT64_FORMAT
                    " elements differ, the worst is %g and not %g (the largest is %g)",
                    who, k, expected->len, worst.n_different, worst.worst_value, worst.worst_reference, largest);
    }
}

/* --- what ran --------------------------------------------------------------------------------------------------------- */

/* Each layer is a convolution of the model under the model's name, once; what no algorithm of ours does is the runtime's.
 */
static void check_layers(const Network *network, IfmConvAlgorithm algorithm, const GPtrArray *layers)
{
    const Special special = special_of(network->name);
    const char *asked = ifm_conv_algorithm_name(algorithm), *isa = g_getenv("IFM_CONV_ISA");
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    guint n_own = 0;
    for (guint i = 0; i < layers->len; i++)
    {
        const IfmConvLayer *layer = layers->pdata[i];
        const gboolean is_runtime = g_str_equal(layer->algorithm, "runtime");
        if (!g_hash_table_contains(network->own_names, layer->layer) || !g_hash_table_add(seen, layer->layer))
            g_error("%s: \"%s\" is no convolution of the model, or a second one", network->name, layer->layer);
        g_assert_cmpstr(layer->asked, ==, asked);
        g_assert_true(g_str_has_prefix(layer->implementation, "ONNX Runtime ") == is_runtime);
        if (algorithm < IFM_N_CONV_FIXED)
            g_assert_true(layer->fell_back == !g_str_equal(layer->algorithm, asked));
        else
            g_assert_false(layer->fell_back);
        n_own += !is_runtime;
        if (!is_runtime && isa != NULL && !g_str_equal(layer->algorithm, "direct") &&
            !g_str_equal(layer->algorithm, "gemm"))
            g_assert_nonnull(strstr(layer->implementation, isa));
    }
    g_assert_cmpuint(layers->len, ==, g_hash_table_size(network->own_names));
#ifdef __x86_64__ /* elsewhere the runtime may have no blocked layout */
    if (!special.keeps_all && algorithm != IFM_CONV_BEST)
        g_assert_cmpuint(n_own, >, 0);
#endif
    g_test_message("%s, %s: %u of %u layers", network->name, asked, n_own, layers->len);
}

typedef struct
{
    const Network *network;
    IfmConvAlgorithm algorithm;
} Case;

static gboolean make_reference(Network *network)
{
    if (network->reference == NULL)
        network->reference = outputs_of("onnxruntime:CPU", network, NULL, FALSE, NULL);
    return network->reference != NULL;
}

static void test_algorithm(gconstpointer data)
{
    const Case *self = data;
    const Network *network = self->network;
    g_autofree char *folder = g_dir_make_tmp("ifm-networks-XXXXXX", NULL),
                    *cache = g_build_filename(folder, "cache.json", NULL);
    const char *fallback = self->algorithm == IFM_CONV_IMPLICIT_GEMM ? "fallback=direct" : "fallback=implicit_gemm";
    const char *lines[] = { ifm_conv_algorithm_name(self->algorithm), fallback, NULL };
    g_autoptr(GPtrArray) layers = NULL, got = NULL;
    if (self->algorithm >= IFM_N_CONV_FIXED)
        lines[1] = NULL;
    g_setenv("IFM_TUNING_CACHE", cache, TRUE);
    if (make_reference((Network *)network))
        got = outputs_of("onnxruntime:CPU", network, lines, TRUE, &layers);
    if (got != NULL)
    {
        check_equal(lines[0], network->reference, got, special_of(network->name).tolerance);
        check_layers(network, self->algorithm, layers);
    }
    remove_tree(folder);
}

static void test_reference(gconstpointer data)
{
    const Network *network = data;
    if (g_getenv("IFM_CONV_ISA") != NULL)
    {
        g_test_skip("the reference is the same for each instruction set");
        return;
    }
    g_autoptr(GPtrArray) got =
        make_reference((Network *)network) ? outputs_of("openvino:CPU", network, NULL, TRUE, NULL) : NULL;
    if (got != NULL)
        check_equal("openvino", network->reference, got, special_of(network->name).tolerance);
}

/* --- the networks ----------------------------------------------------------------------------------------------------- */

static gint64 size_of(const char *dimension)
{
    return g_strrstr(dimension, "batch") != NULL ? BATCH : SIZE;
}

static Network *network_open(const char *path)
{
    g_autoptr(GError) error = NULL;
    Network *self = g_new0(Network, 1);
    self->name = g_path_get_basename(path);
    self->name[strlen(self->name) - strlen(".onnx")] = '\0';
    self->model = ifm_model_open(path, &error);
    self->bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    self->own_names = g_hash_table_new(g_str_hash, g_str_equal);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_inputs(self->model); i++)
        for (int axis = 0; axis < ifm_model_input(self->model, i)->rank; axis++)
        {
            const char *name = ifm_model_input(self->model, i)->dim_names[axis];
            if (name == NULL)
                continue;
            const IfmDimBinding binding = { name, size_of(name) };
            g_array_append_val(self->bindings, binding);
        }
    for (gsize i = 0; i < ifm_model_n_nodes(self->model); i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        if (g_str_equal(node->op_type, "Conv"))
            g_hash_table_add(self->own_names, (gpointer)(*node->name != '\0' ? node->name : node->outputs[0]));
    }
    return self;
}

static void network_free(gpointer data)
{
    Network *self = data;
    g_free(self->name);
    ifm_model_unref(self->model);
    g_array_unref(self->bindings);
    g_hash_table_unref(self->own_names);
    g_clear_pointer(&self->reference, g_ptr_array_unref);
    g_free(self);
}

static void add_network(GPtrArray *networks, const char *path)
{
    Network *network = network_open(path);
    g_ptr_array_add(networks, network);
    for (int i = 0; i <= IFM_CONV_BEST; i++)
    {
        const Case one = { network, (IfmConvAlgorithm)i };
        g_autofree char *name =
            g_strdup_printf("/conv-networks/%s/%s", network->name, ifm_conv_algorithm_name(one.algorithm));
        g_test_add_data_func_full(name, g_memdup2(&one, sizeof one), test_algorithm, g_free);
    }
    g_autofree char *name = g_strdup_printf("/conv-networks/%s/reference", network->name);
    g_test_add_data_func(name, network, test_reference);
}

static void skip(void)
{
    g_test_skip("no python3 with torch and onnx (IFM_TEST_PYTHON names another one)");
}

/* Has the script write its networks. FALSE: this Python lacks what it needs. */
static gboolean write_networks(const char *python, const char *folder)
{
    g_autofree char *script = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "conv-networks.py", NULL);
    const char *command[] = { python, script, folder, NULL };
    g_autofree char *output = NULL;
    int status = -1;
    if (python == NULL ||
        !g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
                      NULL, &status, NULL) ||
        (WIFEXITED(status) && WEXITSTATUS(status) == 77))
        return FALSE;
    g_assert_cmpint(status, ==, 0);
    return TRUE;
}

static gboolean write_by_any(const char *folder)
{
    return write_networks(g_getenv("IFM_TEST_PYTHON"), folder) || write_networks("python3", folder) ||
           write_networks("/usr/bin/python3", folder); /* the system's, where another is before it in the path */
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_folder(GPtrArray *networks, const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        g_ptr_array_add(names, g_build_filename(path, name, NULL));
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++)
        add_network(networks, names->pdata[i]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autoptr(GPtrArray) networks = g_ptr_array_new_with_free_func(network_free);
    const char *given = g_getenv("IFM_TEST_NETWORKS");
    g_autofree char *folder = given == NULL ? g_dir_make_tmp("ifm-exports-XXXXXX", NULL) : g_strdup(given);
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
    {
        g_autofree char *file = g_strconcat(kept[i], ".onnx", NULL),
                        *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", file, NULL);
        add_network(networks, path);
    }
    if (given != NULL || write_by_any(folder))
        add_folder(networks, folder);
    else
        g_test_add_func("/conv-networks/exports", skip);
    const int status = g_test_run();
    if (given == NULL)
        remove_tree(folder);
    return status;
}
