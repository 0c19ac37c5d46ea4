/* Models whose convolutions run in regions: which nodes are of one, what a program says, what stays. No engine is asked. */
#include <zoo/zoo.h>

#include "made-regions.h"

#define W "w ! [8,4,3,3]; b ! [8]; "

/* --- programs --------------------------------------------------------------------------------------------------------- */

static void expect_programs(const char *text, gint64 opset, const char *programs)
{
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, opset);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    const IfmDimBinding n = { "N", 2 };
    const gboolean is_free = strstr(text, "[N,") != NULL;
    g_autofree char *found = programs_of(made);
    g_assert_cmpstr(found, ==, programs);
    check_made(model, made, &report);
    check_expanded(model, made, &n, is_free ? 1 : 0);
}

#define CONV(values, sum, act, name)                                                                                       \
    "conv " values " " sum " kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act " act                             \
    " algorithm any 0 name " name "\n"
#define PADS " pads=[1,1,1,1]; "

static void test_conv(void)
{
    expect_programs("x : [N,4,9,9]; " W "y = Conv(x, w, b)" PADS "-> y [N,8,9,9]", 17,
                    "region 1\ninput nchw\n" CONV("v0 w0 w1", "-", "none 0 0", "y") "output nchw v1\n");
    expect_programs(
        "x : [1,4,9,9]; w ! [8,1,5,3]; y = Conv(x, w) group=4 strides=[2,1] dilations=[1,2] auto_pad=SAME_UPPER; "
        "-> y [1,8,5,9]",
        17,
        "region 1\ninput nchw\nconv v0 w0 - - kernel 5 3 stride 2 1 dilation 1 2 pads 2 2 2 2 group 4 act none 0 0 "
        "algorithm any 0 name y\noutput nchw v1\n");
}

/* Of two convolutions the later one adds the other; a sum that is read elsewhere, too, stays a value. */
static void test_sum(void)
{
    expect_programs(
        "x : [1,4,9,9]; " W "a = Conv(x, w, b)" PADS "c = Conv(x, w)" PADS "s = Add(c, a); y = Relu(s); -> y [1,8,9,9]", 17,
        "region 1\ninput nchw\n" CONV("v0 w0 w1", "-", "none 0 0", "a")
            CONV("v0 w0 -", "v1", "relu 0 0", "c") "output nchw v2\n");
    expect_programs("x : [1,4,9,9]; z : [1,8,1,1]; " W "a = Conv(x, w, b)" PADS "s = Add(z, a); -> s [1,8,9,9]", 17,
                    "region 1\ninput nchw\ninput nchw\n" CONV("v0 w0 w1", "-", "none 0 0", "a") "add v1 v2 act none 0 0\n"
                                                                                                "output nchw v3\n");
    expect_programs("x : [1,4,9,9]; " W "a = Conv(x, w, b)" PADS "s = Add(a, a); -> s [1,8,9,9]", 17,
                    "region 1\ninput nchw\n" CONV("v0 w0 w1", "-", "none 0 0", "a") "add v1 v1 act none 0 0\n"
                                                                                    "output nchw v2\n");
    expect_programs("x : [1,8,9,9]; v ! [8,8,3,3]; a = Conv(x, v)" PADS "s = Add(a, x); y = Relu(s); -> s [1,8,9,9]; "
                    "-> y [1,8,9,9]",
                    17,
                    "region 1\ninput nchw\n" CONV("v0 w0 -", "v0", "none 0 0", "a") "act v1 relu 0 0\noutput nchw v1\n"
                                                                                    "output nchw v2\n");
}

static void expect_act(const char *tail, gint64 opset, const char *act)
{
    g_autofree char *text =
        g_strconcat("x : [N,4,9,9]; " W "half % [] 0.5; one % [] 1; root % [] 1.4142135; three % [] 3; six % [] 6; "
                    "zero % [] 0; sixth % [] 0.16666667; slope % [1,1,1] 0.25; c = Conv(x, w, b)" PADS,
                    tail, "; -> y [N,8,9,9]", NULL);
    g_autofree char *line = g_strdup_printf("conv v0 w0 w1 - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act "
                                            "%s algorithm any 0 name c\noutput nchw v1\n",
                                            act);
    g_autofree char *program = g_strconcat("region 1\ninput nchw\n", line, NULL);
    expect_programs(text, opset, program);
}

static void test_activations(void)
{
    expect_act("y = Relu(c)", 17, "relu 0 0");
    expect_act("y = LeakyRelu(c)", 17, "leaky_relu 0.00999999978 0");
    expect_act("y = LeakyRelu(c) alpha=0.5", 17, "leaky_relu 0.5 0");
    expect_act("y = PRelu(c, slope)", 17, "leaky_relu 0.25 0");
    expect_act("y = Clip(c, zero, six)", 17, "clip 0 6");
    expect_act("y = Clip(c,,six)", 17, "clip -3.40282347e+38 6");
    expect_act("y = Clip(c) min=0.0 max=6.0", 9, "clip 0 6");
    expect_act("y = Sigmoid(c)", 17, "sigmoid 0 0");
    expect_act("y = Tanh(c)", 17, "tanh 0 0");
    expect_act("y = HardSigmoid(c)", 17, "hard_sigmoid 0.200000003 0.5");
    expect_act("y = HardSwish(c)", 17, "hard_swish 0 0");
    expect_act("y = Gelu(c)", 20, "gelu 0 0");
}

/* Spelt out: the factors in any order, constants as factors or divisors. */
static void test_products(void)
{
    expect_act("s = Sigmoid(c); y = Mul(c, s)", 17, "silu 0 0");
    expect_act("s = Sigmoid(c); y = Mul(s, c)", 17, "silu 0 0");
    expect_act("s = HardSigmoid(c) alpha=0.16666667; y = Mul(c, s)", 17, "hard_swish 0 0");
    expect_act("a = Add(c, three); s = Clip(a, zero, six); d = Div(s, six); y = Mul(c, d)", 17, "hard_swish 0 0");
    expect_act("a = Add(three, c); s = Clip(a, zero, six); d = Mul(c, s); y = Div(d, six)", 17, "hard_swish 0 0");
    expect_act("a = Add(c, three); s = Clip(a, zero, six); d = Mul(c, s); y = Mul(d, sixth)", 17, "hard_swish 0 0");
    expect_act("a = Add(c, three); s = Clip(a, zero, six); y = Div(s, six)", 17, "hard_sigmoid 0.166666672 0.5");
    expect_act("d = Div(c, root); e = Erf(d); a = Add(e, one); m = Mul(c, a); y = Mul(m, half)", 17, "gelu 0 0");
    expect_act("d = Div(c, root); e = Erf(d); a = Add(one, e); h = Mul(half, c); y = Mul(h, a)", 17, "gelu 0 0");
}

/* What another node reads, too, is no product's own; other constants make another function. */
static void test_no_products(void)
{
    static const char *const graphs[] = {
        "s = Sigmoid(c); y = Mul(c, s); z = Relu(s); -> z [1,8,9,9]",
        "s = Sigmoid(c); y = Mul(s, s)",
        "a = Add(c, six); s = Clip(a, zero, six); d = Div(s, six); y = Mul(c, d)",
        "s = HardSigmoid(c); y = Mul(c, s)",
        "s = Sigmoid(c); h = Mul(c, half); y = Mul(h, s)",
        "a = Add(c, three); s = Clip(a, zero, three); y = Div(s, six)",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(graphs); i++)
    {
        g_autofree char *text =
            g_strconcat("x : [1,4,9,9]; " W "half % [] 0.5; three % [] 3; six % [] 6; zero % [] 0; c = Conv(x, w, b)" PADS,
                        graphs[i], "; -> y [1,8,9,9]", NULL);
        g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
        g_auto(IfmRegionsReport) report = { 0 };
        g_autoptr(IfmModel) made = partitioned(model, &report);
        g_autofree char *found = programs_of(made);
        g_assert_null(strstr(found, "silu"));
        g_assert_null(strstr(found, "swish"));
        g_assert_null(strstr(found, "hard_sigmoid 0.166"));
        check_made(model, made, &report);
        check_expanded(model, made, NULL, 0);
    }
}

/* What follows a convolution in the same region: its line. */
static void expect_step(const char *tail, const char *output, gint64 opset, const char *lines)
{
    g_autofree char *text = g_strconcat("x : [1,4,9,9]; " W "c = Conv(x, w, b)" PADS, tail, "; -> y ", output, NULL);
    g_autofree char *programs =
        g_strdup_printf("region 1\ninput nchw\n" CONV("v0 w0 w1", "-", "none 0 0", "c") "%soutput "
                                                                                        "nchw v%d\n",
                        lines, strstr(lines, "mul") != NULL ? 4 : 2);
    expect_programs(text, opset, programs);
}

static void test_steps(void)
{
    expect_step("y = MaxPool(c) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "[1,8,5,5]", 17,
                "max_pool v1 kernel 3 3 stride 2 2 dilation 1 1 pads 1 1 1 1 ceil 0\n");
    expect_step("y = MaxPool(c) kernel_shape=[2,2] strides=[2,2] ceil_mode=1", "[1,8,5,5]", 17,
                "max_pool v1 kernel 2 2 stride 2 2 dilation 1 1 pads 0 0 0 0 ceil 1\n");
    expect_step("y = AveragePool(c) kernel_shape=[3,3] count_include_pad=1 pads=[1,1,1,1]", "[1,8,9,9]", 17,
                "average_pool v1 kernel 3 3 stride 1 1 pads 1 1 1 1 ceil 0 include_pad 1\n");
    expect_step("y = GlobalAveragePool(c)", "[1,8,1,1]", 17, "global_average_pool v1\n");
    expect_step("y = ReduceMean(c) axes=[2,3]", "[1,8,1,1]", 17, "global_average_pool v1\n");
    expect_step("i # [2] -1 -2; y = ReduceMean(c, i)", "[1,8,1,1]", 18, "global_average_pool v1\n");
    expect_step("k ! [8,1,1]; y = Add(c, k)", "[1,8,9,9]", 17, "scale v1 w2 w3 act none 0 0\n");
    expect_step("k ! [1,8,1,1]; m = Mul(k, c); y = Relu(m)", "[1,8,9,9]", 17, "scale v1 w2 w3 act relu 0 0\n");
    expect_step("k % [] 2.0; y = Div(c, k)", "[1,8,9,9]", 17, "scale v1 w2 w3 act none 0 0\n");
    expect_step("k ! [8] 0.5 2; l ! [8] 0.5 2; m ! [8] 0.5 2; v ! [8] 0.5 2; n = BatchNormalization(c, k, l, m, v); y = "
                "LeakyRelu(n)",
                "[1,8,9,9]", 17, "scale v1 w2 w3 act leaky_relu 0.00999999978 0\n");
    expect_step("y = Concat(c, x) axis=1", "[1,12,9,9]", 17, "concat v1 v0\n");
    expect_step("k % [4] 1 1 2 3; y = Resize(c,,k) mode=nearest", "[1,8,18,27]", 17, "resize v1 2 3\n");
    expect_step("k # [4] 1 8 18 18; y = Resize(c,,,k) mode=nearest coordinate_transformation_mode=asymmetric "
                "nearest_mode=floor",
                "[1,8,18,18]", 17, "resize v1 2 2\n");
    expect_step("k % [4] 1 1 2 2; y = Upsample(c, k) mode=nearest", "[1,8,18,18]", 9, "resize v1 2 2\n");
    expect_step("i = Identity(c); y = Relu(i)", "[1,8,9,9]", 17, "act v1 relu 0 0\n");
    expect_step("g = GlobalAveragePool(c); m = Mul(c, g); y = GlobalAveragePool(m)", "[1,8,1,1]", 17,
                "global_average_pool v1\nmul v1 v2 act none 0 0\nglobal_average_pool v3\n");
}
/* Sizes that are computed are whole factors of some images alone. */
static void test_sizes(void)
{
    g_autoptr(IfmModel) model = text_model(
        "x : [1,4,H,K]; " W "a = Conv(x, w, b)" PADS
        "c = MaxPool(a) kernel_shape=[2,2] strides=[2,2]; q = Shape(a); r = Resize(c,,,q) mode=nearest "
        "coordinate_transformation_mode=asymmetric nearest_mode=floor; v ! [8,8,3,3]; y = Conv(r, v)" PADS "-> y [1,8,P,Q]",
        IFM_DTYPE_F32, FALSE, 17);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    g_autofree char *found = programs_of(made);
    g_assert_nonnull(strstr(found, "max_pool"));
    g_assert_null(strstr(found, "resize"));
}

/* --- which nodes are of one region ------------------------------------------------------------------------------------ */

/* What lies between two regions: a path that leaves one does not come back to it. What regions alone read stays in blocks.
 */
static void test_convex(void)
{
    /* from a to s directly, and through a node that no program has */
    expect_programs("x : [1,8,9,9]; v ! [8,8,3,3]; a = Conv(x, v)" PADS "o = Sin(a); c = Conv(o, v)" PADS
                    "s = Add(a, c); -> s [1,8,9,9]",
                    17,
                    "region 1\ninput nchw\n" CONV("v0 w0 -", "-", "none 0 0",
                                                  "a") "output nchw v1\n\n"
                                                       "region 1\ninput nchw\ninput nchw\n" CONV(
                                                           "v0 w0 -", "v1", "none 0 0", "c") "output nchw v2\n");
    expect_programs(
        "x : [1,8,9,9]; v ! [8,8,3,3]; a = Conv(x, v)" PADS "r = Relu(a); o = Sin(r); c = Conv(o, v)" PADS
        "d = Conv(a, v)" PADS "s = Concat(d, c) axis=1; -> s [1,16,9,9]",
        17,
        "region 1\ninput nchw\n" CONV("v0 w0 -", "-", "none 0 0", "a") "act v1 relu 0 0\n" CONV(
            "v1 w0 -", "-", "none 0 0",
            "d") "output nchw v2\noutput blocked v3\n\nregion 1\ninput nchw\ninput blocked 8\n" CONV("v0 w0 -", "-",
                                                                                                     "none 0 0",
                                                                                                     "c") "concat "
                                                                                                          "v1 v2\n"
                                                                                                          "output "
                                                                                                          "nchw "
                                                                                                          "v3\n");
}

/* What stays a node of the model, and why. */
static void expect_left(const char *text, IfmDtype dtype, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = text_model(text, dtype, FALSE, 17);
    const IfmRegionsOptions options = { 0 };
    g_autoptr(IfmModel) made = ifm_regions_partition(model, &options, NULL, &error);
    g_assert_null(made);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_autofree char *end = g_strdup_printf("test: no convolution can be tuned: the first, \"y\", is %s", why);
    g_assert_cmpstr(error->message, ==, end);
}

static void test_left(void)
{
    expect_left("x : [1,4,9,9]; " W "y = Conv(x, w, b); -> y [1,8,7,7]", IFM_DTYPE_F16, "not of two dimensions, in f32");
    expect_left("x : [1,4,9]; w ! [8,4,3]; y = Conv(x, w); -> y [1,8,7]", IFM_DTYPE_F32, "not of two dimensions, in f32");
    expect_left("x : [1,4,9,9,9]; w ! [8,4,3,3,3]; y = Conv(x, w); -> y [1,8,7,7,7]", IFM_DTYPE_F32,
                "not of two dimensions, in f32");
    expect_left("x : [1,4,9,9]; w : [8,4,3,3]; y = Conv(x, w); -> y [1,8,7,7]", IFM_DTYPE_F32,
                "weights that are no constants");
    expect_left("x : [1,4,9,9]; w ! [8,4,3,3]; b : [8]; y = Conv(x, w, b); -> y [1,8,7,7]", IFM_DTYPE_F32,
                "weights that are no constants");
    expect_left("x : [1,4,H,9]; w ! [8,4,3,3]; y = Conv(x, w) strides=[2,1] auto_pad=SAME_UPPER; -> y [1,8,K,9]",
                IFM_DTYPE_F32, "pads that depend on the input's size");
}

/* One of several is left: the others are of regions, and the report says why it is not. */
static void test_some_left(void)
{
    g_autoptr(IfmModel) model = text_model("x : [1,4,9,9]; " W "v : [8,8,3,3]; c = Conv(x, w, b)" PADS "d = Conv(c, v)" PADS
                                           "e = ConvTranspose(d, u); "
                                           "u ! [8,8,2,2]; k ! [8,8,3,3]; y = Conv(e, k)" PADS "-> y [1,8,10,10]",
                                           IFM_DTYPE_F32, FALSE, 17);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    check_made(model, made, &report);
    check_expanded(model, made, NULL, 0);
    g_assert_cmpuint(report.convs->len, ==, 3);
    g_assert_cmpuint(report.n_taken, ==, 2);
    g_assert_cmpuint(report.n_regions, ==, 2);
    g_assert_cmpstr(g_array_index(report.convs, IfmRegionConv, 1).name, ==, "d");
    g_assert_cmpstr(g_array_index(report.convs, IfmRegionConv, 1).why, ==, "weights that are no constants");
    g_assert_null(g_array_index(report.convs, IfmRegionConv, 2).why);
    g_assert_cmpuint(g_array_index(report.convs, IfmRegionConv, 2).region, ==, 1);
}

/* What is spelt out over several nodes stays as they are where no convolution is beside it. */
static void test_product_left(void)
{
    g_autoptr(IfmModel) model = text_model("x : [1,4,9,9]; " W "c = Conv(x, w, b)" PADS "d = Sin(c); s = Sigmoid(d); "
                                           "m = Mul(d, s); y = Sin(m); -> y [1,8,9,9]",
                                           IFM_DTYPE_F32, FALSE, 17);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    g_assert_cmpuint(report.n_regions, ==, 1);
    g_assert_cmpuint(ifm_model_n_nodes(made), ==, ifm_model_n_nodes(model));
    check_made(model, made, &report);
    check_expanded(model, made, NULL, 0);
}

/* Algorithms and regions that are asked for; metadata besides the model's own. */
static void test_options(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model =
        text_model("x : [1,8,9,9]; v ! [8,8,3,3]; a = Conv(x, v)" PADS "o = Sin(a); c = Conv(o, v)" PADS "-> c [1,8,9,9]",
                   IFM_DTYPE_F32, FALSE, 17);
    const char *names[] = { NULL, "winograd 4" };
    const gboolean kept[] = { FALSE, TRUE };
    g_autoptr(GPtrArray) algorithms = g_ptr_array_new();
    g_autoptr(GArray) keep = g_array_new(FALSE, FALSE, sizeof(gboolean));
    g_ptr_array_add(algorithms, (gpointer)names[0]);
    g_ptr_array_add(algorithms, (gpointer)names[1]);
    g_array_append_vals(keep, kept, 2);
    const IfmRegionsOptions options = { .n_threads = 3,
                                        .algorithms = algorithms,
                                        .keep = keep,
                                        .metadata = (const char *const[]){ "inferometer.tuned", "{}", NULL } };
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = ifm_regions_partition(model, &options, &report, &error);
    g_assert_no_error(error);
    check_order(made);
    g_autoptr(GArray) layers = ifm_regions_layers(made);
    g_assert_cmpuint(layers->len, ==, 1);
    g_assert_cmpstr(g_array_index(layers, IfmProgramLayer, 0).name, ==, "c");
    g_assert_cmpstr(g_array_index(layers, IfmProgramLayer, 0).algorithm, ==, "winograd 4");
    g_assert_cmpstr(g_array_index(report.convs, IfmRegionConv, 0).why, ==, "left to the runtime");
    g_assert_cmpstr(ifm_model_metadata(made, "inferometer.tuned"), ==, "{}");
    for (gsize i = 0; i < ifm_model_n_nodes(made); i++)
        if (ifm_regions_program(ifm_model_node(made, i)) != NULL)
            g_assert_cmpint(ifm_node_int(ifm_model_node(made, i), "threads", 0), ==, 3);
    IfmModel *twice = ifm_regions_partition(made, &options, NULL, &error);
    g_assert_null(twice);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "is tuned already"));
}

static void test_no_convolution(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = text_model("x : [1,4,9,9]; y = Relu(x); -> y [1,4,9,9]", IFM_DTYPE_F32, FALSE, 17);
    const IfmRegionsOptions options = { 0 };
    g_assert_null(ifm_regions_partition(model, &options, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "test has no convolution");
}

/* --- the zoo ---------------------------------------------------------------------------------------------------------- */

/* Every convolutional network of the zoo but those whose weights take seconds to draw: all of its convolutions are of
 * regions. */
static void test_zoo(void)
{
    static const char *const large[] = { "alexnet", "resnet50", "resnet152", "vgg16", NULL };
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
    {
        g_autoptr(GError) error = NULL;
        if (!entry->takes_images || g_strv_contains(large, entry->name))
            continue;
        g_autofree char *size = g_strdup_printf("size=%" G_GINT64_FORMAT, MAX(ifm_zoo_min_image(entry), 64));
        g_autoptr(IfmModel) model = ifm_zoo_build(entry->name, (const char *const[]){ size, NULL }, 1, &error);
        g_assert_no_error(error);
        g_auto(IfmRegionsReport) report = { 0 };
        g_autoptr(IfmModel) made = partitioned(model, &report);
        g_test_message("%s: %u of %u convolutions in %u regions, %zu of %zu nodes", entry->name, report.n_taken,
                       report.convs->len, report.n_regions, report.n_nodes, ifm_model_n_nodes(model));
        g_assert_cmpuint(report.n_taken, ==, report.convs->len);
        check_made(model, made, &report);
        check_expanded(model, made, NULL, 0);
    }
}

/* --- programs of others ----------------------------------------------------------------------------------------------- */

/* Not what this library writes: one line says where. */
static void expect_refused(const char *program, gint64 n_values, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("test", 17);
    const gint64 shape[] = { 1, 4, 9, 9 };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, shape, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 4, shape, NULL);
    const gsize node = ifm_model_builder_node(builder, IFM_REGION_OPERATOR, "r", (const char *const[]){ "x", NULL },
                                              (const char *const[]){ "y", NULL });
    ifm_model_builder_domain(builder, node, IFM_REGION_DOMAIN, IFM_REGION_VERSION);
    ifm_model_builder_string(builder, node, "program", program);
    ifm_model_builder_int(builder, node, "n_values", n_values);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) expanded = ifm_regions_expand(model, &error);
    if (message == NULL)
    {
        g_assert_no_error(error);
        return;
    }
    g_assert_null(expanded);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_programs_of_others(void)
{
    expect_refused("region 1\ninput nchw\nact v0 relu 0 0\noutput nchw v1\n", 1, NULL);
    expect_refused("region 1\ninput nchw\nact v0 relu 0 0\noutput nchw v1", 1, NULL);
    expect_refused("", 1, "r: its program has other inputs or outputs than the node");
    expect_refused("region 2\n", 1, "r: line 1 of its program: it is no program, or one of another version of inferometer");
    expect_refused("region 1\nfold v0\n", 1, "r: line 2 of its program: a step that is not known");
    expect_refused("region 1\ninput nchw\ninput nchw\n", 1, "r: line 3 of its program: more inputs than the node has");
    expect_refused("region 1\ninput nchw\nact v1 relu 0 0\n", 1, "r: line 3 of its program: a value that is not there");
    expect_refused("region 1\ninput nchw\nact v0 reluu 0 0\n", 1,
                   "r: line 3 of its program: an activation that is not known");
    expect_refused("region 1\ninput nchw\nact v0 relu 0 x\n", 1, "r: line 3 of its program: a number is missing");
    expect_refused("region 1\ninput nchw\nact v0 relu 0 0 0\n", 1, "r: line 3 of its program: it goes on behind its end");
    expect_refused("region 1\ninput nchw\nscale v0 w0 w1 act none 0 0\n", 1,
                   "r: line 3 of its program: a constant that is not there");
    expect_refused("region 1\ninput nchw\nconv v0 w0 - -\n", 1, "r: line 3 of its program: a constant that is not there");
    expect_refused("region 1\ninput nchw\n", 1, "r: its program has other inputs or outputs than the node");
    expect_refused("region 1\ninput nchw\noutput nchw v0\n", 7, "r: its program has other inputs or outputs than the node");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/regions/conv", test_conv);
    g_test_add_func("/regions/sum", test_sum);
    g_test_add_func("/regions/activations", test_activations);
    g_test_add_func("/regions/products", test_products);
    g_test_add_func("/regions/no-products", test_no_products);
    g_test_add_func("/regions/steps", test_steps);
    g_test_add_func("/regions/sizes", test_sizes);
    g_test_add_func("/regions/convex", test_convex);
    g_test_add_func("/regions/left", test_left);
    g_test_add_func("/regions/some-left", test_some_left);
    g_test_add_func("/regions/product-left", test_product_left);
    g_test_add_func("/regions/options", test_options);
    g_test_add_func("/regions/no-convolution", test_no_convolution);
    g_test_add_func("/regions/zoo", test_zoo);
    g_test_add_func("/regions/programs-of-others", test_programs_of_others);
    return g_test_run();
}
