#include <math.h>
#include <stdio.h>
#include <string.h>

#include <base/fields.h>
#include <kernel/aligned.h>
#include <kernel/kernel.h>
#include <profile/profile.h>

/*
 * Whose work a runtime's nodes do. The model: x [1,3,8,8] -> conv (4 channels, 3x3, padded) -> norm -> relu -> sum with a
 * second convolution of x -> flatten -> dense (10 outputs) -> soft.
 */

enum
{
    CONV_MACS = 4 * 8 * 8 * 3 * 3 * 3,
    PIXELS = 4 * 8 * 8, /* elements of what a convolution makes */
    DENSE_MACS = PIXELS * 10,
};

#define BYTES_X (3 * 8 * 8 * 4)
#define BYTES_W (4 * 3 * 3 * 3 * 4)
#define BYTES_Y (PIXELS * 4)

typedef struct
{
    IfmModel *model;
    IfmAnalysis *analysis;
    IfmMeasurement *measurement;
} Fixture;

static void add_node(IfmModelBuilder *builder, const char *op_type, const char *name, const char *a, const char *b)
{
    g_autofree char *made = g_str_equal(name, "soft") ? g_strdup("probabilities") : g_strconcat(name, ".out", NULL);
    gsize node =
        ifm_model_builder_node(builder, op_type, name, (const char *[]){ a, b, NULL }, (const char *[]){ made, NULL });
    if (g_str_equal(op_type, "Conv"))
        ifm_model_builder_ints(builder, node, "pads", (const gint64[]){ 1, 1, 1, 1 }, 4);
}

static void set_up(Fixture *fixture, gconstpointer data)
{
    static const gint64 x[] = { 1, 3, 8, 8 }, w[] = { 4, 3, 3, 3 }, channels[] = { 4 }, d[] = { PIXELS, 10 },
                        y[] = { 1, 10 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("two-ways", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, x, NULL);
    ifm_model_builder_random_weight(builder, "w1", 4, w, 1, 1);
    ifm_model_builder_random_weight(builder, "w2", 4, w, 1, 1);
    ifm_model_builder_random_weight(builder, "d", 2, d, 1, 1);
    for (const char *const *name = (const char *const[]){ "scale", "bias", "mean", "variance", NULL }; *name != NULL;
         name++)
        ifm_model_builder_random_weight(builder, *name, 1, channels, 1, 1);
    add_node(builder, "Conv", "conv1", "x", "w1");
    ifm_model_builder_node(builder, "BatchNormalization", "norm",
                           (const char *[]){ "conv1.out", "scale", "bias", "mean", "variance", NULL },
                           (const char *[]){ "norm.out", NULL });
    add_node(builder, "Relu", "relu", "norm.out", NULL);
    add_node(builder, "Conv", "conv2", "x", "w2");
    add_node(builder, "Add", "sum", "relu.out", "conv2.out");
    add_node(builder, "Flatten", "flatten", "sum.out", NULL);
    add_node(builder, "MatMul", "dense", "flatten.out", "d");
    add_node(builder, "Softmax", "soft", "dense.out", NULL);
    ifm_model_builder_output(builder, "probabilities", IFM_DTYPE_F32, 2, y, NULL);
    fixture->model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    fixture->analysis = ifm_model_analyse(fixture->model, NULL, 0, &error);
    g_assert_no_error(error);
    fixture->measurement = ifm_measurement_new();
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    ifm_analysis_free(fixture->analysis);
    ifm_model_unref(fixture->model);
    ifm_measurement_free(fixture->measurement);
}

static void ran(Fixture *fixture, const char *name, const char *op_type, double ns)
{
    IfmNodeRow *row = g_new0(IfmNodeRow, 1);
    row->name = g_strdup(name);
    row->op_type = g_strdup(op_type);
    row->provider = g_strdup("");
    row->implementation = g_strdup("");
    row->dtype = g_strdup("");
    row->median_ns = ns;
    row->start_ns = NAN;
    g_ptr_array_add(fixture->measurement->nodes, row);
}

static IfmKernels *kernels_of(const Fixture *fixture, const IfmRoofline *roofline)
{
    return ifm_kernels_new(fixture->measurement, fixture->model, fixture->analysis, roofline);
}

static const IfmKernel *kernel_named(const IfmKernels *kernels, const char *name)
{
    for (guint i = 0; i < kernels->rows->len; i++)
        if (g_str_equal(((const IfmKernel *)kernels->rows->pdata[i])->node->name, name))
            return kernels->rows->pdata[i];
    g_error("no layer %s", name);
}

/* Every node by itself: each row has the cost of its own. */
static void test_by_name(Fixture *fixture, gconstpointer data)
{
    for (gsize i = 0; i < ifm_model_n_nodes(fixture->model); i++)
        ran(fixture, ifm_model_node(fixture->model, i)->name, "", 1000);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_cmpuint(kernels->n_unknown, ==, 0);
    g_assert_cmpuint(kernels->n_model_missing, ==, 0);
    const IfmKernel *conv = kernel_named(kernels, "conv1");
    g_assert_cmpint(conv->cost.macs, ==, CONV_MACS);
    g_assert_cmpint(conv->cost.flop, ==, 2 * CONV_MACS);
    g_assert_cmpint(conv->cost.bytes_read, ==, BYTES_X + BYTES_W);
    g_assert_cmpint(conv->cost.bytes_written, ==, BYTES_Y);
    g_assert_cmpint(kernel_named(kernels, "relu")->cost.flop, ==, PIXELS);
    g_assert_true(isnan(kernels->min_ns)); /* no limit is known */
}

/* As runtimes fuse: what runs within another is that one's work, and what passes between the two crosses no boundary. */
static void test_fused(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1/WithoutBiases", "Convolution", 4000);
    ran(fixture, "x_abcd_acdb_conv1", "Reorder", 500);
    ran(fixture, "conv2_nchwc", "Conv", 3000);
    ran(fixture, "dense", "FullyConnected", 2000);
    ran(fixture, "constant-folded-7", "Subgraph", 500);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    const IfmKernel *first = kernel_named(kernels, "conv1/WithoutBiases"), *second = kernel_named(kernels, "conv2_nchwc");
    const IfmKernel *dense = kernel_named(kernels, "dense");
    g_assert_cmpstr(first->members, ==, "conv1, norm, relu");
    g_assert_cmpint(first->cost.flop, ==, 2 * CONV_MACS + 2 * PIXELS + PIXELS);
    g_assert_cmpint(first->cost.bytes_read, ==, BYTES_X + BYTES_W + 4 * 4 * 4);
    g_assert_cmpint(first->cost.bytes_written, ==, BYTES_Y);
    g_assert_cmpint(first->family, ==, IFM_FAMILY_CONVOLUTION);
    g_assert_cmpstr(second->members, ==, "conv2, sum, flatten"); /* the later of the two that the sum reads */
    g_assert_cmpint(second->cost.macs, ==, CONV_MACS);
    g_assert_cmpint(second->cost.bytes_read, ==, BYTES_X + BYTES_W + BYTES_Y);
    g_assert_cmpstr(dense->members, ==, "dense, soft");
    g_assert_cmpint(dense->cost.flop, ==, 2 * DENSE_MACS + 5 * 10);
    g_assert_cmpuint(kernels->n_unknown, ==, 2);
    g_assert_cmpuint(kernels->n_marshalling, ==, 1);
    g_assert_cmpfloat(kernels->unknown_ratio, ==, 0.1);
    g_assert_false(kernel_named(kernels, "constant-folded-7")->known);
    g_assert_cmpuint(kernels->n_model_missing, ==, 0);
}

/* A fused node may have the name of what it ends with. */
static void test_named_for_its_end(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "relu", "Convolution", 4000);
    ran(fixture, "sum", "Convolution", 4000);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_cmpint(kernel_named(kernels, "relu")->cost.macs, ==, CONV_MACS);
    g_assert_cmpstr(kernel_named(kernels, "relu")->members, ==, "conv1, norm, relu");
    g_assert_cmpint(kernel_named(kernels, "sum")->cost.macs, ==, CONV_MACS);
    /* the product ran into none: it is missing, and so is what hangs on it alone */
    g_assert_cmpuint(kernels->n_model_missing, ==, 2);
    g_assert_cmpfloat_with_epsilon(kernels->missing_ratio,
                                   (2.0 * DENSE_MACS + 50) / (4.0 * CONV_MACS + 4 * PIXELS + 2.0 * DENSE_MACS + 50), 1e-12);
}

/* A convolution did not run within the pooling or the sum behind it: where its own kernel is not told, its work is missing.
 */
static void test_no_product(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "Multiply_1", "Convolution", 4000);
    ran(fixture, "sum", "Eltwise", 1000);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_cmpint(kernel_named(kernels, "sum")->cost.macs, ==, 0);
    g_assert_cmpint(kernel_named(kernels, "sum")->cost.flop, ==, PIXELS);
    g_assert_false(kernel_named(kernels, "Multiply_1")->known);
    g_assert_cmpuint(kernels->n_model_missing, ==, 6); /* both convolutions, norm, relu, dense, soft */
}

/* A node that ran in two pieces: nobody tells which did what. */
static void test_in_pieces(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1", "Conv", 1000);
    ran(fixture, "conv1_nchwc", "Conv", 1000);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_cmpuint(kernels->n_unknown, ==, 2);
    g_assert_cmpfloat(kernels->unknown_ratio, ==, 1);
}

/* --- parts that the runtime names ------------------------------------------------------------------------------------ */

static void has_parts(Fixture *fixture, json_t *parts)
{
    ifm_record_set_json(&fixture->measurement->breakdown, json_pack("{s:o}", "parts", parts));
}

/* The rows' own names tell nothing; what went into weights (norm, of the first) costs nothing where it stands once more. */
static void test_by_parts(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "Multiply_7", "Convolution", 4000);
    ran(fixture, "norm", "Add", 1000);
    ran(fixture, "Multiply_9", "Convolution", 3000);
    ran(fixture, "Transpose_1", "Transpose", 100);
    ran(fixture, "Multiply_11", "FullyConnected", 2000);
    has_parts(fixture,
              json_pack("[[s,s,s],[s],[s],[s],[s,s]]", "norm", "conv1", "w1", "norm", "conv2", "dense", "dense", "d"));
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_cmpstr(kernels->reported_by, ==, "the parts that the runtime names");
    const IfmKernel *first = kernel_named(kernels, "Multiply_7"), *dense = kernel_named(kernels, "Multiply_11");
    g_assert_cmpint(first->cost.flop, ==, 2 * CONV_MACS);
    g_assert_cmpstr(first->label, ==, "conv1");
    g_assert_cmpstr(kernel_named(kernels, "norm")->members, ==, "norm, relu");
    g_assert_null(kernel_named(kernels, "norm")->label);
    g_assert_cmpstr(kernel_named(kernels, "Multiply_9")->members, ==, "conv2, sum, flatten");
    g_assert_cmpint(dense->cost.macs, ==, DENSE_MACS);
    g_assert_cmpuint(kernels->n_unknown, ==, 1); /* it moved what the product reads */
    g_assert_false(kernel_named(kernels, "Transpose_1")->known);
    g_assert_cmpuint(kernels->n_model_missing, ==, 0);
}

/* Where two rows say that they did the same, nobody knows how much of it: not by another's name, nor by what hangs on it.
 */
static void test_parts_contradict(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "Multiply_7", "Convolution", 4000);
    ran(fixture, "Multiply_8", "Convolution", 4000);
    ran(fixture, "conv2", "Convolution", 3000);
    ran(fixture, "Divide_3", "Eltwise", 1000);
    ran(fixture, "Exp_2", "Eltwise", 1000);
    has_parts(fixture, json_pack("[[s],[s],[s],[s],[s]]", "conv1", "conv1", "conv2", "soft", "soft"));
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_false(kernel_named(kernels, "Multiply_7")->known);
    g_assert_false(kernel_named(kernels, "Multiply_8")->known);
    g_assert_false(kernel_named(kernels, "Divide_3")->known);
    g_assert_cmpint(kernel_named(kernels, "conv2")->cost.macs, ==, CONV_MACS);
    g_assert_cmpuint(kernels->n_unknown, ==, 4);
    g_assert_cmpuint(kernels->n_model_missing, ==, 5); /* conv1 with norm and relu behind it, dense, soft */
}

/* MACs of ResNet-18's convolution @name, from the architecture's table: four groups of two blocks of two 3x3, the first of
 * each group but the first at half the size, with a 1x1 beside it. */
static gint64 resnet_macs(const char *name)
{
    int group = 0, block = 0, number = 0;
    if (g_str_equal(name, "conv1"))
        return 64LL * 112 * 112 * 3 * 7 * 7;
    if (sscanf(name, "layer%d.%d.", &group, &block) != 2)
        return -1;
    gint64 out = 32LL << group, size = 112 >> group, in = block == 0 && group > 1 ? out / 2 : out;
    if (strstr(name, "downsample.0") != NULL)
        return out * size * size * in;
    const char *conv = strstr(name, ".conv");
    if (conv == NULL || sscanf(conv, ".conv%d", &number) != 1)
        return -1;
    return out * size * size * (number == 1 ? in : out) * 3 * 3;
}

typedef struct
{
    const char *name;
    gint64 total_macs; /* of the kernel table in tests/zoo/test-cnn.c */
    guint n_convolutions;
} Recorded;

/* What OpenVINO told in a real run. Most convolutions have a number for a name there. */
static void test_recorded(gconstpointer data)
{
    const Recorded *recorded = data;
    g_autoptr(GError) error = NULL;
    Fixture fixture = { 0 };
    g_autofree char *file = g_strdup_printf("kernel/runtimes/openvino-%s.json", recorded->name);
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, file, NULL);
    json_auto_t *json = json_load_file(path, 0, NULL), *parts = json_array();
    g_assert_nonnull(json);
    fixture.model = ifm_zoo_build(recorded->name, NULL, 1, &error);
    g_assert_no_error(error);
    fixture.analysis = ifm_model_analyse(fixture.model, NULL, 0, &error);
    g_assert_no_error(error);
    fixture.measurement = ifm_measurement_new();
    gsize i;
    json_t *row;
    json_array_foreach(json_object_get(json, "rows"), i, row)
    {
        ran(&fixture, json_string_value(json_array_get(row, 0)), json_string_value(json_array_get(row, 1)),
            json_number_value(json_array_get(row, 2)));
        json_array_append(parts, json_array_get(row, 3));
    }
    has_parts(&fixture, json_incref(parts));
    g_autoptr(IfmKernels) kernels = kernels_of(&fixture, NULL);
    gint64 macs = 0;
    guint n_convolutions = 0;
    for (guint k = 0; k < kernels->rows->len; k++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[k];
        macs += kernel->cost.macs;
        n_convolutions += kernel->known && kernel->family == IFM_FAMILY_CONVOLUTION;
        if (kernel->known && kernel->family == IFM_FAMILY_CONVOLUTION && g_str_equal(recorded->name, "resnet18"))
            g_assert_cmpint(kernel->cost.macs, ==, resnet_macs(kernel->label));
        g_assert_true(kernel->known || kernel->marshalling);
    }
    g_assert_cmpuint(n_convolutions, ==, recorded->n_convolutions);
    g_assert_cmpint(macs, ==, recorded->total_macs);
    g_assert_cmpuint(kernels->n_model_missing, ==, 0);
    tear_down(&fixture, NULL);
}

/* The runtime's own graph stands before names, which tell what it does not. */
static void test_by_graph(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1", "FusedConv", 1000);
    ran(fixture, "conv2", "Conv", 1000);
    ifm_record_set_json(&fixture->measurement->breakdown,
                        json_pack("{s:[{s:b,s:s,s:i,s:i,s:i,s:i},n]}", "costs", "covered", 1, "family",
                                  ifm_family_name(IFM_FAMILY_CONVOLUTION), "macs", 10, "flop", 24, "bytes_read", 5,
                                  "bytes_written", 3));
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    const IfmKernel *reported = kernel_named(kernels, "conv1");
    g_assert_cmpint(reported->cost.flop, ==, 24);
    g_assert_cmpfloat(reported->place.intensity, ==, 3);
    g_assert_null(reported->members);
    g_assert_cmpint(kernel_named(kernels, "conv2")->cost.macs, ==, CONV_MACS);
    g_assert_cmpuint(kernels->n_by_names, ==, 1);
    g_assert_cmpuint(kernels->n_unknown, ==, 0);
    g_assert_null(kernels->why_names);
}

/* A graph that could have told, and why it did not. */
static void test_no_graph(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1", "Conv", 1000);
    ifm_record_set_json(&fixture->measurement->breakdown, json_pack("{s:s}", "costs_why", "too large"));
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    g_assert_cmpstr(kernels->reported_by, ==, "the nodes' names");
    g_assert_cmpstr(kernels->why_names, ==, "too large");
    g_assert_cmpuint(kernels->n_by_names, ==, 0);
}

/* 1 GFLOP/s and 1000 GB/s: everything is bound by compute, and a FLOP takes a ns. Copies could go altogether. */
static void test_limit(Fixture *fixture, gconstpointer data)
{
    const IfmRoofline roofline = { 1e9, 1e12 };
    ran(fixture, "conv1", "Conv", 4.0 * CONV_MACS);
    ran(fixture, "Reorder", "Reorder", 1000);
    ran(fixture, "conv2", "Conv", 2.0 * CONV_MACS);
    ran(fixture, "dense", "MatMul", 8.0 * DENSE_MACS);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, &roofline);
    const IfmKernel *conv = kernel_named(kernels, "conv1");
    double min = 2 * CONV_MACS + 3 * PIXELS;
    g_assert_cmpint(conv->place.bound, ==, IFM_BOUND_COMPUTE);
    g_assert_cmpfloat_with_epsilon(conv->place.attained, min / (4.0 * CONV_MACS), 1e-12);
    g_assert_cmpfloat_with_epsilon(conv->place.excess_ns, 4.0 * CONV_MACS - min, 1e-6);
    g_assert_cmpfloat_with_epsilon(kernels->min_ns, 4.0 * CONV_MACS + 4 * PIXELS + 2 * DENSE_MACS + 50, 1e-6);
    g_autoptr(GArray) families = ifm_kernels_families(kernels);
    double time_ns = 0, excess_ns = 0;
    gsize n = 0;
    for (guint i = 0; i < families->len; i++)
    {
        const IfmKernelFamily *family = &g_array_index(families, IfmKernelFamily, i);
        time_ns += family->time_ns;
        excess_ns += family->excess_ns;
        n += family->n;
        if (g_str_equal(family->name, ifm_family_name(IFM_FAMILY_CONVOLUTION)))
            g_assert_cmpfloat_with_epsilon(family->time_ns, 6.0 * CONV_MACS, 1e-6);
    }
    g_assert_cmpuint(n, ==, 4);
    g_assert_cmpfloat_with_epsilon(time_ns, kernels->nodes_ns, 1e-6);
    g_assert_cmpfloat(excess_ns, >=, 1000); /* the copy's, whole, with the others' */
}

/* A time that is no longer than what it may be off by gives neither a rate nor a share of the peak, and nothing to gain. */
static void test_unresolved(Fixture *fixture, gconstpointer data)
{
    const IfmRoofline roofline = { 1e9, 1e12 };
    ran(fixture, "conv1", "Conv", 4.0 * CONV_MACS);
    ran(fixture, "conv2", "Conv", 2000);
    ran(fixture, "dense", "MatMul", 2001);
    ifm_record_set_json(&fixture->measurement->breakdown, json_pack("{s:i}", "resolution_ns", 2000));
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, &roofline);
    const IfmKernel *short_one = kernel_named(kernels, "conv2");
    g_assert_true(short_one->unresolved);
    g_assert_true(isnan(short_one->place.attained));
    g_assert_cmpfloat(short_one->place.excess_ns, ==, 0);
    g_assert_false(kernel_named(kernels, "dense")->unresolved);
    g_assert_true(isfinite(kernel_named(kernels, "dense")->place.attained));
    g_assert_cmpuint(kernels->n_unresolved, ==, 1);
    g_assert_true(isfinite(kernels->min_ns));
}

/* A copy that the runtime's own graph knows the bytes of is none of the model's work, either. */
static void test_covered_copy(Fixture *fixture, gconstpointer data)
{
    const IfmRoofline roofline = { 1e9, 1e9 };
    ran(fixture, "conv1", "Conv", 100);
    ran(fixture, "ReorderInput_3", "ReorderInput", 50);
    ifm_record_set_json(&fixture->measurement->breakdown,
                        json_pack("{s:[{s:b,s:s,s:i,s:i,s:i,s:i},{s:b,s:s,s:i,s:i,s:i,s:i}]}", "costs", "covered", 1,
                                  "family", ifm_family_name(IFM_FAMILY_CONVOLUTION), "macs", 10, "flop", 24, "bytes_read",
                                  5, "bytes_written", 3, "covered", 1, "family", ifm_family_name(IFM_FAMILY_MOVEMENT),
                                  "macs", 0, "flop", 0, "bytes_read", 20, "bytes_written", 20));
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, &roofline);
    const IfmKernel *copy = kernel_named(kernels, "ReorderInput_3");
    g_assert_true(copy->cost.covered);
    g_assert_cmpfloat(copy->place.min_ns, ==, 0); /* not the 40 ns of its bytes */
    g_assert_cmpfloat(copy->place.excess_ns, ==, 50);
    g_assert_true(isnan(copy->place.attained));
    g_assert_true(isnan(copy->place.intensity));
    g_assert_cmpfloat_with_epsilon(kernels->min_ns, 24, 1e-9);
    g_autoptr(GArray) families = ifm_kernels_families(kernels);
    g_assert_cmpuint(families->len, ==, 2);
    const IfmKernelFamily *copies = &g_array_index(families, IfmKernelFamily, 1);
    g_assert_cmpstr(copies->name, ==, "the runtime's copies");
    g_assert_cmpfloat(copies->time_ns, ==, 50);
    g_assert_cmpfloat(copies->excess_ns, ==, 50);
    g_assert_cmpfloat(copies->flop, ==, 0);
}

/* The page names what stands furthest above its limit, in its own words, and says so of what it cannot. */
static void test_page(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1", "Conv", 4.0 * CONV_MACS);
    ran(fixture, "conv2", "Conv", 2.5 * CONV_MACS);
    ran(fixture, "Reorder", "Reorder", 100);
    ran(fixture, "dense", "MatMul", 4.0 * DENSE_MACS);
    fixture->measurement->has_summary = TRUE;
    fixture->measurement->summary.median = 8.0 * CONV_MACS;
    g_autoptr(IfmMeasurement) peak = ifm_measurement_new();
    peak->result = json_pack("{s:f,s:f}", "flop_per_s", 1e9, "bytes_per_s", 1e12);
    IfmProfileDevice device = { .result = { .device = "simulated:x/CPU", .measurement = fixture->measurement },
                                .peak = peak };
    IfmProfileReport report = { .parts = IFM_PROFILE_ALL,
                                .source = "two-ways.onnx",
                                .model = fixture->model,
                                .analysis = fixture->analysis,
                                .devices = &device,
                                .n_devices = 1,
                                .n_layers = 15 };
    g_autofree char *page = ifm_document_show(ifm_profile_document(&report), &(IfmScreen){ .width = IFM_SCREEN_UNBOUNDED });
    g_assert_nonnull(strstr(page, "peak of simulated:x/CPU: 1 GFLOP/s"));
    g_assert_nonnull(strstr(page, "largest possible gain: "));
    g_assert_nonnull(strstr(page, "in one kernel, conv1: "));
    g_assert_nonnull(strstr(page, "none of the model's work: it moves data for the runtime"));
    g_assert_nonnull(strstr(page, "two-ways.onnx, opset 17, 8 nodes"));
    json_auto_t *json = ifm_profile_to_json(&report);
    double gflops = json_number_value(json_object_get(json_object_get(json, "flops"), "total_gflops"));
    g_assert_cmpfloat_with_epsilon(gflops, (4.0 * CONV_MACS + 4 * PIXELS + 2 * DENSE_MACS + 50) / 1e9, 1e-15);
    const json_t *entry = json_array_get(json_object_get(json, "cases"), 0), *kernels = json_object_get(entry, "layers");
    g_assert_cmpuint(json_array_size(json_object_get(kernels, "rows")), ==, 4);
    g_autofree char *csv = ifm_profile_to_csv(&report);
    g_auto(GStrv) devices = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(devices), ==, 3); /* a head, the device, the end */
    report.parts = IFM_PROFILE_LAYERS;
    g_autofree char *rows = ifm_profile_to_csv(&report);
    g_auto(GStrv) lines = g_strsplit(rows, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 6);
    g_assert_true(g_str_has_prefix(lines[1], "simulated:x/CPU,,conv1,Conv,"));
}

/* --- kernels as numbers -------------------------------------------------------------------------------------------------
 */

/* A record of an operator with inputs of the given dimensions; an empty one is a scale. */
static void features_of(const char *op_type, const char *attributes, const char *const *inputs, const char *output,
                        IfmKernelFeatures *features)
{
    const char *point = strrchr(op_type, '.'), *type = point != NULL ? point + 1 : op_type;
    g_autofree char *domain = point != NULL ? g_strndup(op_type, (gsize)(point - op_type)) : g_strdup("");
    static const char tensor[] = "%s{\"name\": \"t\", \"dtype\": \"u8\", \"constant\": false, \"dims\": [%s], "
                                 "\"values\": [], \"number\": null}";
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text,
                    "{\"name\": \"k\", \"node\": \"n\", \"op_type\": \"%s\", \"domain\": \"%s\", \"digest\": "
                    "\"ab12cd34ef\", \"attributes\": {%s}, \"inputs\": [",
                    type, domain, attributes);
    for (gsize i = 0; inputs[i] != NULL; i++)
        g_string_append_printf(text, tensor, i > 0 ? ", " : "", inputs[i]);
    g_string_append(text, "], \"outputs\": [");
    g_string_append_printf(text, tensor, "", output);
    g_string_append(text, "], \"flop\": 1, \"opset\": 17, \"input_bytes\": 1, \"weight_bytes\": 1, \"output_bytes\": 1, "
                          "\"coverage\": \"exact\", \"covers\": [], \"depends\": []}");
    json_auto_t *json = ifm_json_parse(text->str, text->len, "kernel", &error);
    g_assert_no_error(error);
    g_autoptr(IfmKernelRecord) record = ifm_kernel_record_from_json(json, "kernel", &error);
    g_assert_no_error(error);
    ifm_kernel_features(record, features);
}

/* A convolution of 2 pictures of 3 x 10 x 12 by 8 filters of 3 x 3 x 5, and a product of 6 x 7 by 7 x 9, in all words. */
static void test_features(void)
{
    static const char x[] = "2,3,10,12", w[] = "8,3,3,5", y[] = "2,8,8,8", last_x[] = "2,10,12,3", last_y[] = "2,8,8,8";
    static const struct
    {
        const char *op_type, *attributes, *inputs[10], *output;
        double m, k, n;
    } rows[] = {
        { "Conv", "", { x, w, "8" }, y, 2 * 64, 45, 8 },
        { "FusedConv", "", { x, w, "8" }, y, 2 * 64, 45, 8 },
        { "QLinearConv", "", { x, "", "", w, "", "", "", "", "8" }, y, 2 * 64, 45, 8 },
        { "QLinearConv", "\"channels_last\": 1", { last_x, "", "", w, "", "", "", "" }, last_y, 2 * 64, 45, 8 },
        { "ConvInteger", "", { x, w, "", "" }, y, 2 * 64, 45, 8 },
        { "Conv", "", { "2,3,10", "8,3,3" }, "2,8,8", 2 * 8, 9, 8 },
        { "Conv", "", { "1,3,4,10,12", "8,3,1,3,5" }, "1,8,4,8,8", 4 * 64, 45, 8 },
        { "MatMul", "", { "6,7", "7,9" }, "6,9", 6, 7, 9 },
        { "QLinearMatMul", "", { "6,7", "", "", "7,9", "", "", "", "" }, "6,9", 6, 7, 9 },
        { "MatMulInteger", "", { "6,7", "7,9", "", "" }, "6,9", 6, 7, 9 },
        { "MatMulIntegerToFloat", "", { "6,7", "7,9", "", "" }, "6,9", 6, 7, 9 },
        { "QGemm", "", { "6,7", "", "", "7,9", "", "" }, "6,9", 6, 7, 9 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmKernelFeatures features;
        g_test_message("%s", rows[i].op_type);
        features_of(rows[i].op_type, rows[i].attributes, rows[i].inputs, rows[i].output, &features);
        g_assert_cmpfloat(features.m, ==, rows[i].m);
        g_assert_cmpfloat(features.k, ==, rows[i].k);
        g_assert_cmpfloat(features.n, ==, rows[i].n);
        if (strstr(rows[i].op_type, "Conv") == NULL)
            continue;
        g_assert_cmpfloat(features.outputs, ==, 8);
        if (strlen(rows[i].inputs[0]) == strlen(x))
            g_assert_true(features.channels == 3 && features.height == 10 && features.width == 12);
    }
}

/* What tells two kernels of one name and one size apart: the axis, the order, the layout, and whose operator it is. */
static void test_movement_features(void)
{
    static const char x[] = "2,3,10,12";
    static const struct
    {
        const char *op_type, *attributes, *inputs[4], *output;
        double n_inputs, axis, order, reduced, run, layout, domain;
    } rows[] = {
        { "Concat", "\"axis\": 1", { x, "2,5,10,12" }, "2,8,10,12", 2, 3, 0, 0, 360, 0, 0 },
        { "Concat", "\"axis\": -1", { x, x, x }, "2,3,10,36", 3, 1, 0, 0, 12, 0, 0 },
        { "Transpose", "\"perm\": [0, 2, 3, 1]", { x }, "2,10,12,3", 1, 0, 1342, 0, 1, 0, 0 },
        { "Transpose", "\"perm\": [1, 0, 2, 3]", { x }, "3,2,10,12", 1, 0, 2134, 0, 120, 0, 0 },
        { "Transpose", "\"perm\": [0, 2, 1, 3]", { x }, "2,10,3,12", 1, 0, 1324, 0, 12, 0, 0 },
        { "Transpose", "", { "4,5" }, "5,4", 1, 0, 21, 0, 1, 0, 0 },
        { "ReduceMean", "\"axes\": [2, 3]", { x }, "2,3,1,1", 1, 1, 0, 120, 1, 0, 0 },
        { "ReduceMean", "\"axes\": [-3]", { x }, "2,1,10,12", 1, 3, 0, 3, 120, 0, 0 },
        { "ReduceSum", "", { x }, "1", 1, 1, 0, 720, 1, 0, 0 },
        { "GlobalAveragePool", "", { x }, "2,3,1,1", 1, 1, 0, 120, 1, 0, 0 },
        { "Softmax", "", { x }, x, 1, 1, 0, 0, 12, 0, 0 },
        { "Softmax", "\"axis\": 9", { x }, x, 1, 0, 0, 0, 0, 0, 0 },
        { "com.microsoft.nchwc.Conv", "", { "1,16,8,8", "16,16,1,1" }, "1,16,8,8", 2, 0, 0, 0, 0, 1, 1 },
        { "com.ms.internal.nhwc.MaxPool", "", { "1,8,8,16" }, "1,4,4,16", 1, 0, 0, 0, 0, 2, 1 },
        { "com.microsoft.QLinearConv", "\"channels_last\": 1", { x }, x, 1, 0, 0, 0, 0, 2, 1 },
        { "Conv", "", { "1,16,8,8", "16,16,1,1" }, "1,16,8,8", 2, 0, 0, 0, 0, 0, 0 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmKernelFeatures features;
        g_test_message("%s %s", rows[i].op_type, rows[i].attributes);
        features_of(rows[i].op_type, rows[i].attributes, rows[i].inputs, rows[i].output, &features);
        g_assert_cmpfloat(features.inputs, ==, rows[i].n_inputs);
        g_assert_cmpfloat(features.axis, ==, rows[i].axis);
        g_assert_cmpfloat(features.order, ==, rows[i].order);
        g_assert_cmpfloat(features.reduced, ==, rows[i].reduced);
        g_assert_cmpfloat(features.run, ==, rows[i].run);
        g_assert_cmpfloat(features.layout, ==, rows[i].layout);
        g_assert_cmpfloat(features.domain, ==, rows[i].domain);
    }
}

/* @more: longer from round to round */
static json_t *rounds_of(const IfmMeasurement *of, int n_rounds, double factor, double more)
{
    json_t *op_types = json_array(), *rounds = json_array();
    for (guint i = 0; i < of->nodes->len; i++)
        json_array_append_new(op_types, json_string(((const IfmNodeRow *)of->nodes->pdata[i])->op_type));
    for (int round = 0; round < n_rounds; round++)
    {
        json_t *times = json_array();
        for (guint i = 0; i < of->nodes->len; i++)
            json_array_append_new(times,
                                  json_real(((const IfmNodeRow *)of->nodes->pdata[i])->median_ns * factor + round * more));
        json_array_append_new(rounds, times);
    }
    return json_pack("{s:o,s:o,s:i}", "op_types", op_types, "rounds", rounds, "elapsed_ns", 1);
}

static const IfmAlignedRow *row_named(const GArray *rows, const char *name)
{
    for (guint i = 0; i < rows->len; i++)
        if (g_str_equal(g_array_index(rows, IfmAlignedRow, i).name, name))
            return &g_array_index(rows, IfmAlignedRow, i);
    g_error("no row %s", name);
}

/* One fuses what the other does in pieces; one has its graph read, the other names. Each kernel is in one row. */
static void test_aligned(Fixture *fixture, gconstpointer data)
{
    Fixture other = { fixture->model, fixture->analysis, ifm_measurement_new() };
    ran(fixture, "x_abcd_acdb_conv1", "Reorder", 500);
    ran(fixture, "conv1", "Convolution", 4000);
    ran(fixture, "conv2_nchwc", "Conv", 3000);
    ran(fixture, "dense", "FullyConnected", 2000);
    ran(&other, "fused 1", "Conv", 1000); /* conv1, norm */
    ran(&other, "fused 2", "Relu", 100);
    ran(&other, "fused 3", "Conv", 6000); /* conv2, sum */
    ran(&other, "fused 4", "Gemm", 2000); /* flatten, dense */
    ran(&other, "fused 5", "Softmax", 50);
    ran(&other, "made up", "Subgraph", 7);
    json_t *costs = json_array();
    static const char *const covers[] = { "[0,1]", "[2]", "[3,4]", "[5,6]", "[7]" };
    for (gsize i = 0; i < G_N_ELEMENTS(covers); i++)
        json_array_append_new(costs, json_pack("{s:b,s:s,s:i,s:o}", "covered", 1, "family", "convolution", "flop", 8,
                                               "covers", json_loads(covers[i], 0, NULL)));
    json_array_append_new(costs, json_null());
    ifm_record_set_json(&other.measurement->breakdown, json_pack("{s:o}", "costs", costs));
    g_autoptr(IfmKernels) first = kernels_of(fixture, NULL), second = kernels_of(&other, NULL);
    g_assert_cmpstr(kernel_named(second, "fused 3")->label, ==, "conv2");
    for (int n_rounds = 0; n_rounds <= 6; n_rounds += 3)
    {
        json_auto_t *a = n_rounds > 0 ? rounds_of(fixture->measurement, n_rounds, 1, 0) : NULL,
                    *b = n_rounds > 0 ? rounds_of(other.measurement, n_rounds, 1, 10) : NULL;
        const IfmAlignedSide sides[] = { { first, fixture->measurement, a }, { second, other.measurement, b } };
        g_autoptr(GArray) rows = ifm_kernels_align(sides, fixture->model, fixture->analysis);
        const IfmAlignedRow *conv1 = row_named(rows, "conv1"), *conv2 = row_named(rows, "conv2"),
                            *dense = row_named(rows, "dense"), *moved = row_named(rows, "layout changes");
        g_assert_cmpuint(rows->len, ==, 5);
        g_assert_true(g_array_index(rows, IfmAlignedRow, 0).name == conv1->name);
        g_assert_cmpuint(conv1->n_rounds, ==, n_rounds);
        g_assert_cmpfloat(conv1->time_ns[0], ==, 4000);
        g_assert_cmpfloat(conv1->time_ns[1], ==, n_rounds > 0 ? 1100 + 10 * (n_rounds - 1) : 1100);
        g_assert_cmpfloat(dense->time_ns[1], ==, n_rounds > 0 ? 2050 + 10 * (n_rounds - 1) : 2050);
        g_assert_cmpfloat(moved->time_ns[0], ==, 500);
        g_assert_true(isnan(moved->time_ns[1]) && isnan(moved->ratio));
        g_assert_cmpfloat(row_named(rows, "not known")->time_ns[1], ==, 7);
        g_assert_true(ifm_aligned_is_told(conv2) == (n_rounds == 6)); /* fewer give no interval */
        g_assert_true(isfinite(conv2->lower) == (n_rounds == 6));
    }
    ifm_measurement_free(other.measurement);
}

/* A ratio is that of the two times, and none is told from 1 within what the clocks may be off by: a step for each kernel of
 * a row. */
static void test_aligned_steps(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        int step_ns;
        double lower, upper;
    } cases[] = { { 0, 1.02, 1.02 }, { 10, 4070.0 / 4010, 4090.0 / 3990 }, { 100, 3980.0 / 4100, 4180.0 / 3900 } };
    ran(fixture, "conv1", "Convolution", 4000);
    ran(fixture, "conv2", "Convolution", 50);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    json_auto_t *good = rounds_of(fixture->measurement, 6, 1, 0), *slower = rounds_of(fixture->measurement, 6, 1.02, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        ifm_record_set_json(&fixture->measurement->breakdown, json_pack("{s:i}", "resolution_ns", cases[i].step_ns));
        const IfmAlignedSide sides[] = { { kernels, fixture->measurement, good },
                                         { kernels, fixture->measurement, slower } };
        g_autoptr(GArray) rows = ifm_kernels_align(sides, fixture->model, fixture->analysis);
        const IfmAlignedRow *conv1 = row_named(rows, "conv1"), *conv2 = row_named(rows, "conv2");
        g_assert_cmpfloat_with_epsilon(conv1->ratio, 1.02, 1e-9);
        g_assert_cmpfloat_with_epsilon(conv1->lower, cases[i].lower, 1e-9);
        g_assert_cmpfloat_with_epsilon(conv1->upper, cases[i].upper, 1e-9);
        g_assert_true(ifm_aligned_is_told(conv1) == (cases[i].step_ns < 100));
        g_assert_true(ifm_aligned_is_told(conv2) == (cases[i].step_ns == 0));
        g_assert_true((isinf(conv2->upper) != 0) == (cases[i].step_ns == 100)); /* it may take no time at all */
    }
}

/* The rounds' ratios scatter about another middle than that of the times: the ratio is of the times that are shown. */
static void test_aligned_ratio(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1", "Convolution", 4000);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    json_auto_t *a = json_pack("{s:[s],s:[[f],[f],[f]]}", "op_types", "Convolution", "rounds", 1000.0, 2000.0, 3000.0),
                *b = json_pack("{s:[s],s:[[f],[f],[f]]}", "op_types", "Convolution", "rounds", 2500.0, 1000.0, 2400.0);
    const IfmAlignedSide sides[] = { { kernels, fixture->measurement, a }, { kernels, fixture->measurement, b } };
    g_autoptr(GArray) rows = ifm_kernels_align(sides, fixture->model, fixture->analysis);
    const IfmAlignedRow *row = row_named(rows, "conv1");
    g_assert_cmpfloat(row->time_ns[1] - row->time_ns[0], ==, 400);
    g_assert_cmpfloat_with_epsilon(row->ratio, 1.2, 1e-9); /* the median of the ratios is 0.8 */
}

/* A process that made another graph has no round, and rounds of other nodes are none. */
static void test_aligned_rounds(Fixture *fixture, gconstpointer data)
{
    ran(fixture, "conv1", "Convolution", 4000);
    ran(fixture, "conv2", "Convolution", 3000);
    g_autoptr(IfmKernels) kernels = kernels_of(fixture, NULL);
    json_auto_t *good = rounds_of(fixture->measurement, 6, 1, 0), *bad = rounds_of(fixture->measurement, 6, 2, 0),
                *other = json_pack("{s:[s],s:[]}", "op_types", "Convolution", "rounds");
    json_array_set_new(json_object_get(bad, "rounds"), 2, json_null());
    const IfmAlignedSide sides[] = { { kernels, fixture->measurement, good }, { kernels, fixture->measurement, bad } };
    g_autoptr(GArray) rows = ifm_kernels_align(sides, fixture->model, fixture->analysis);
    g_assert_cmpuint(g_array_index(rows, IfmAlignedRow, 0).n_rounds, ==, 5);
    g_assert_cmpfloat(g_array_index(rows, IfmAlignedRow, 0).ratio, ==, 2);
    g_assert_false(ifm_aligned_is_told(&g_array_index(rows, IfmAlignedRow, 0)));
    /* a runtime that left one out when it was measured, and one that has another in its rounds: by their names */
    json_auto_t *more = json_pack("{s:[s,s,s],s:[s,s,s],s:[[f,f,f]]}", "names", "flatten", "conv1", "conv2", "op_types",
                                  "Flatten", "Convolution", "Convolution", "rounds", 1.0, 8000.0, 6000.0);
    const IfmAlignedSide named[] = { { kernels, fixture->measurement, good }, { kernels, fixture->measurement, more } };
    g_autoptr(GArray) by_name = ifm_kernels_align(named, fixture->model, fixture->analysis);
    g_assert_cmpuint(g_array_index(by_name, IfmAlignedRow, 0).n_rounds, ==, 1);
    g_assert_cmpfloat(g_array_index(by_name, IfmAlignedRow, 0).ratio, ==, 2);
    const IfmAlignedSide none[] = { { kernels, fixture->measurement, good }, { kernels, fixture->measurement, other } };
    g_autoptr(GArray) bare = ifm_kernels_align(none, fixture->model, fixture->analysis);
    g_assert_cmpuint(g_array_index(bare, IfmAlignedRow, 0).n_rounds, ==, 0);
    g_assert_cmpfloat(g_array_index(bare, IfmAlignedRow, 0).ratio, ==, 1);
}

/* A ring holds what its model does: at most twice what the last-level cache does, within its bounds, and no more than the
 * least of these where that is much work. */
static void test_ring(void)
{
    static const struct
    {
        gint64 bytes, working_set_bytes, cache_bytes;
        double flop;
        gsize copies;
    } rings[] = {
        /* what a small model holds, whatever the caches are */
        { 1 << 20, 5 << 20, 0, NAN, 5 },
        { 1 << 20, 5 << 20, 32 << 20, NAN, 5 },
        { 1 << 20, (12 << 20) - 1, 1 << 30, NAN, 11 },
        { 1 << 20, 1, 32 << 20, NAN, 1 },
        { 1 << 20, -1, 32 << 20, NAN, 48 },
        { 4096, 8 << 20, 32 << 20, NAN, 48 },
        { 1 << 20, 12 << 20, 32 << 20, 1e12, 12 },
        { 1 << 20, 30 << 20, 32 << 20, 1e9, 16 },
        /* of a large one as much as the caches do not */
        { 1 << 20, G_MAXINT64, 0, NAN, 16 },
        { 1 << 20, 1 << 30, 4 << 20, NAN, 16 },
        { 1 << 20, 1 << 30, 20 << 20, NAN, 40 },
        { 2 << 20, 1 << 30, 32 << 20, NAN, 32 },
        { 2 << 20, 1 << 30, 1 << 30, NAN, 32 },
        { 2 << 20, G_MAXINT64, G_MAXINT64, 0, 32 },
        { 1 << 20, 1 << 30, 1 << 30, NAN, 48 },
        { 4096, 1 << 30, 32 << 20, NAN, 48 },
        { 100 << 20, 1 << 30, 6 << 20, NAN, 1 },
        /* twice, where the cache would hold a part of it alone, and something else in the model takes its place */
        { 100 << 20, 1 << 30, 7 << 20, NAN, 2 },
        { 100 << 20, 150 << 20, 1 << 30, NAN, 2 },
        { 100 << 20, 149 << 20, 1 << 30, NAN, 1 },
        { 512 << 20, 1 << 30, 1 << 30, NAN, 2 },
        { (512 << 20) + 1, 1 << 30, 1 << 30, NAN, 1 },
        { 100 << 20, 1 << 30, 1 << 30, 2e9, 1 },
        { 1 << 20, 1 << 30, 20 << 20, 1e9, 16 },
        { 1 << 20, 1 << 30, 20 << 20, 1e8, 20 },
        { 1 << 20, 1 << 30, 20 << 20, 1, 40 },
        { 16 << 20, 1 << 30, 32 << 20, 1e12, 1 },
        { 0, 1 << 30, 32 << 20, NAN, 48 },
    };
    const IfmKernelRecord three = { .input_bytes = 1, .weight_bytes = 10, .output_bytes = 100 };
    g_assert_cmpint(ifm_kernel_ring_bytes(&three, 3), ==, 331); /* of which the inputs are one */
    for (gsize i = 0; i < G_N_ELEMENTS(rings); i++)
    {
        const IfmKernelRecord record = { .input_bytes = rings[i].bytes, .flop = rings[i].flop };
        g_assert_cmpint(ifm_kernel_bytes(&record), ==, rings[i].bytes);
        g_assert_cmpuint(ifm_kernel_ring_copies(&record, rings[i].working_set_bytes, rings[i].cache_bytes), ==,
                         rings[i].copies);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/kernels/by-name", Fixture, NULL, set_up, test_by_name, tear_down);
    g_test_add("/kernels/fused", Fixture, NULL, set_up, test_fused, tear_down);
    g_test_add("/kernels/named-for-its-end", Fixture, NULL, set_up, test_named_for_its_end, tear_down);
    g_test_add("/kernels/no-product", Fixture, NULL, set_up, test_no_product, tear_down);
    g_test_add("/kernels/in-pieces", Fixture, NULL, set_up, test_in_pieces, tear_down);
    g_test_add("/kernels/by-parts", Fixture, NULL, set_up, test_by_parts, tear_down);
    g_test_add("/kernels/parts-contradict", Fixture, NULL, set_up, test_parts_contradict, tear_down);
    g_test_add_data_func("/kernels/recorded/resnet18", &(const Recorded){ "resnet18", 1814073344, 20 }, test_recorded);
    g_test_add_data_func("/kernels/recorded/googlenet", &(const Recorded){ "googlenet", 1498376192, 57 }, test_recorded);
    g_test_add("/kernels/by-graph", Fixture, NULL, set_up, test_by_graph, tear_down);
    g_test_add("/kernels/no-graph", Fixture, NULL, set_up, test_no_graph, tear_down);
    g_test_add("/kernels/limit", Fixture, NULL, set_up, test_limit, tear_down);
    g_test_add("/kernels/unresolved", Fixture, NULL, set_up, test_unresolved, tear_down);
    g_test_add("/kernels/covered-copy", Fixture, NULL, set_up, test_covered_copy, tear_down);
    g_test_add("/kernels/page", Fixture, NULL, set_up, test_page, tear_down);
    g_test_add_func("/kernels/ring", test_ring);
    g_test_add_func("/kernels/features", test_features);
    g_test_add_func("/kernels/features/movement", test_movement_features);
    g_test_add("/kernels/aligned", Fixture, NULL, set_up, test_aligned, tear_down);
    g_test_add("/kernels/aligned-rounds", Fixture, NULL, set_up, test_aligned_rounds, tear_down);
    g_test_add("/kernels/aligned-steps", Fixture, NULL, set_up, test_aligned_steps, tear_down);
    g_test_add("/kernels/aligned-ratio", Fixture, NULL, set_up, test_aligned_ratio, tear_down);
    return g_test_run();
}
