/* Models in regions compute what the models compute: each is partitioned as it is and as the runtime's portable rules leave
 * it, and ONNX Runtime runs both with the regions put back as nodes, and with the regions themselves. */
#include <math.h>

#include <blocked/region.h>
#include <regions/regions.h>
#include <zoo/zoo.h>

#include "engine/onnxruntime/onnxruntime-regions.h"
#include "equal-outputs.h"
#include "folder.h"
#include "graph-text.h"
#include "run-model.h"

#define DEVICE "onnxruntime:CPU"
#define TOLERANCE 1e-5     /* of the largest output: sums in another order, a division as a product */
#define OWN_TOLERANCE 1e-3 /* Winograd's transforms, through all layers of a network */

/* Free dimensions: the first of an input is a batch. (transfer full) */
static GArray *bindings_of(const IfmModel *model)
{
    GArray *bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    g_autoptr(GHashTable) bound = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
        {
            const IfmDimBinding binding = { port->dim_names[axis], axis == 0 ? 2 : 32 };
            if (port->dim_names[axis] != NULL && g_hash_table_add(bound, port->dim_names[axis]))
                g_array_append_val(bindings, binding);
        }
    }
    return bindings;
}

/* (transfer full) GArray* of float: copies of all outputs; NULL: skipped */
static GPtrArray *outputs_of(IfmModel *model)
{
    Run run;
    if (!run_open(&run, DEVICE))
        return NULL;
    g_autoptr(GArray) bindings = bindings_of(model);
    run_compile(&run, model, IFM_DTYPE_F32, (const IfmDimBinding *)(const void *)bindings->data, bindings->len);
    run_once(&run);
    GPtrArray *outputs = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        const IfmTensor output = run_output(&run, ifm_model_output(model, i)->name);
        GArray *copy = g_array_new(FALSE, FALSE, sizeof(float));
        g_array_append_vals(copy, output.data, (guint)(output.size_bytes / sizeof(float)));
        g_ptr_array_add(outputs, copy);
    }
    run_close(&run);
    return outputs;
}

/* As the runtime optimises it with standard operators alone. (transfer full) */
static IfmModel *portable(IfmModel *model, const char *path)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.keep_operators = TRUE;
    options.save_optimised = path;
    g_assert_true(fixture_open(&fixture, DEVICE));
    fixture_compile(&fixture, ifm_model_ref(model), &options);
    fixture_close(&fixture);
    IfmModel *saved = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return saved;
}

static void check_partitioned(const char *name, IfmModel *model, const GPtrArray *expected)
{
    g_autoptr(GError) error = NULL;
    const IfmRegionsOptions options = { 0 }, apart = { .is_apart = TRUE };
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = ifm_regions_partition(model, &options, &report, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) expanded = ifm_regions_expand(made, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) each = ifm_regions_partition(model, &apart, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) got = outputs_of(expanded), own = outputs_of(made), single = outputs_of(each);
    check_equal(name, expected, got, TOLERANCE);
    check_equal(name, expected, own, OWN_TOLERANCE);
    check_equal(name, expected, single, OWN_TOLERANCE);
    g_test_message("%s: %u of %u convolutions in %u regions, %zu of %zu nodes", name, report.n_taken, report.convs->len,
                   report.n_regions, report.n_nodes, ifm_model_n_nodes(model));
}

static void check_model(const char *name, IfmModel *model)
{
    g_autoptr(GPtrArray) expected = outputs_of(model);
    if (expected == NULL)
        return;
    g_autofree char *folder = g_dir_make_tmp("ifm-regions-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "portable.onnx", NULL);
    check_partitioned(name, model, expected);
    g_autoptr(IfmModel) saved = portable(model, path);
    check_partitioned(name, saved, expected);
    remove_tree(folder);
}

/* --- models ----------------------------------------------------------------------------------------------------------- */

#define C                                                                                                                  \
    "x : [N,4,12,10]; w ! [8,4,3,3]; b ! [8]; half % [] 0.5; one % [] 1; root % [] 1.4142135; three % [] 3; six % [] 6; "  \
    "zero % [] 0; c = Conv(x, w, b) pads=[1,1,1,1]; "
#define Y "; -> y [N,A,B,D]"

static const char *const graphs[] = {
    C "y = LeakyRelu(c) alpha=0.3" Y,
    C "y = Clip(c,,six)" Y,
    C "s = Sigmoid(c); y = Mul(c, s)" Y,
    C "a = Add(c, three); s = Clip(a, zero, six); d = Div(s, six); y = Mul(c, d)" Y,
    C "s = HardSigmoid(c) alpha=0.16666667; y = Mul(c, s)" Y,
    C "d = Div(c, root); e = Erf(d); a = Add(e, one); m = Mul(c, a); y = Mul(m, half)" Y,
    C "d = Conv(x, w); e = Conv(x, w, b) pads=[1,1,1,1]; s = Add(e, c); r = Relu(s); y = Tanh(r)" Y,
    C "y = MaxPool(c) kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1] ceil_mode=1" Y,
    C "y = MaxPool(c) kernel_shape=[3,3] dilations=[2,2]" Y,
    C "y = AveragePool(c) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]" Y,
    C "y = AveragePool(c) kernel_shape=[3,3] count_include_pad=1 pads=[1,1,1,1]" Y,
    C "g = GlobalAveragePool(c); s = Sigmoid(g); y = Mul(c, s)" Y,
    C "k ! [1,1,1,8]; g = ReduceMean(c) axes=[1]; y = Mul(c, g)" Y,
    C "k ! [8,1,1]; l ! [1,8,1,1] 0.5 2; a = Sub(c, k); m = Div(a, l); n = Mul(m, half); y = Relu(n)" Y,
    C "k ! [8]; l ! [8]; m ! [8]; v ! [8] 0.5 2; r = Relu(c); n = BatchNormalization(r, k, l, m, v) epsilon=0.01; y = "
      "Relu(n)" Y,
    C "d = Sin(c); e = Conv(d, u, b) pads=[1,1,1,1]; u ! [8,8,3,3]; s = Add(c, e); y = Concat(s, x, s) axis=1" Y,
    C "k % [4] 1 1 2 3; y = Resize(c,,k) mode=nearest" Y,
    C "k % [4] 1 1 3 2; y = Resize(c,,k) mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor" Y,
    C "u ! [8,1,5,3]; y = Conv(c, u) group=8 auto_pad=SAME_LOWER strides=[2,1]" Y,
    C "u ! [8,2,3,3]; d = Conv(c, u) group=4 dilations=[1,2] pads=[2,1,0,3]; i = Identity(d); y = Relu(i)" Y,
    C "e = ConvTranspose(c, u) strides=[2,2]; u ! [8,4,2,2]; y = Conv(e, w)" Y,
};

static void test_graphs(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(graphs); i++)
    {
        g_autoptr(IfmModel) model = text_model(graphs[i], IFM_DTYPE_F32, FALSE, 17);
        check_model(graphs[i] + sizeof C - 1, model);
    }
}

/* Two regions with a node between them. What the model fixes is made when it is loaded, once: runs find it there. */
static void test_ready(void)
{
    static const char *const images[] = { "x : [2,4,12,10]", "x : [N,4,12,10]" };
    for (gsize is_free = 0; is_free < G_N_ELEMENTS(images); is_free++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strconcat(images[is_free],
                                            "; w ! [8,4,3,3]; v ! [8,8,3,3]; c = Conv(x, w); d = Sin(c); e = Conv(d, v); "
                                            "y = MaxPool(e) kernel_shape=[2,2]; -> y [N,A,B,D]",
                                            NULL);
        g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
        g_autoptr(IfmModel) made = ifm_regions_partition(model, &(IfmRegionsOptions){ 0 }, NULL, &error);
        const IfmDimBinding n = { "N", 2 };
        Run run;
        g_assert_no_error(error);
        if (!run_open(&run, DEVICE))
            return;
        run_compile(&run, made, IFM_DTYPE_F32, &n, is_free);
        const GPtrArray *regions = ifm_ort_regions((const OrtCompiled *)run.fixture.compiled);
        g_assert_cmpuint(regions->len, ==, 2);
        for (int k = 0; k < 3; k++)
        {
            for (guint i = 0; i < regions->len; i++)
            {
                const IfmRegionCounts counts = ifm_region_counts(((const OrtRegion *)regions->pdata[i])->region);
                g_assert_cmpuint(counts.n_made, ==, k == 0 && is_free ? 0 : 1);
                g_assert_cmpuint(counts.n_transforms, ==, k == 0 && is_free ? 0 : 1);
            }
            run_once(&run);
        }
        run_close(&run);
    }
}

static void test_zoo(gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    const char *name = data;
    g_autoptr(IfmModel) model = ifm_zoo_build(name, (const char *const[]){ "size=64", NULL }, 1, &error);
    g_assert_no_error(error);
    check_model(name, model);
}

/* What exporters write. */
static void test_export(gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", (const char *)data, NULL);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    check_model(data, model);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/regions-graph/graphs", test_graphs);
    g_test_add_func("/regions-graph/ready", test_ready);
    g_test_add_data_func("/regions-graph/resnet18", "resnet18", test_zoo);
    g_test_add_data_func("/regions-graph/mobilenet_v2", "mobilenet_v2", test_zoo);
    g_test_add_data_func("/regions-graph/googlenet", "googlenet", test_zoo);
    g_test_add_data_func("/regions-graph/densenet121", "densenet121", test_zoo);
    g_test_add_data_func("/regions-graph/preact", "preact-resnet.onnx", test_export);
    g_test_add_data_func("/regions-graph/same-upper", "same-upper.onnx", test_export);
    g_test_add_data_func("/regions-graph/script-dynamic", "convolutions-script-dynamic.onnx", test_export);
    g_test_add_data_func("/regions-graph/script-static", "convolutions-script-static.onnx", test_export);
    g_test_add_data_func("/regions-graph/dynamo-dynamic", "convolutions-dynamo-dynamic.onnx", test_export);
    return g_test_run();
}
