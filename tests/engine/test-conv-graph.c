/* Every form that a convolution has in ONNX Runtime's optimised graph, by every algorithm, against the runtime's own
 * kernels: inputs that are left out, and attributes that change the shape. */
#include <math.h>

#include "engine/onnxruntime/onnxruntime-conv.h"
#include "equal-outputs.h"
#include "folder.h"
#include "graph-text.h"
#include "run-model.h"

#define PROCESSOR "onnxruntime:CPU"
#define TOLERANCE 1e-4 /* of the largest output */
#define GPU "onnxruntime:CUDA:0"

/* --- models ----------------------------------------------------------------------------------------------------------- */

typedef struct
{
    GString *text;
    guint n;
} Branches;

/* A branch "y = OP(...)" from x to an output of its own. */
static void add_output(Branches *branches, const char *name)
{
    g_string_append_printf(branches->text, "; -> %s [a%u,b%u,c%u,d%u]", name, branches->n, branches->n, branches->n,
                           branches->n);
    branches->n++;
}

/* The input is odd, so that paddings before and behind it differ. */
#define INPUT "x : [2,32,13,18]; z : [2,3,15,14]"

/* Kernels, strides, dilations and pads by each auto_pad. Pads beside SAME and VALID mean nothing. ONNX Runtime 1.31 gives
 * cuDNN a negative pad where SAME skips elements, and then refuses to run: such are left out on a GPU. */
static void add_windows(Branches *branches, gboolean is_on_gpu)
{
    static const char *const forms[] = { "", "auto_pad=NOTSET pads=[1,0,2,1]", "auto_pad=VALID", "auto_pad=SAME_UPPER",
                                         "auto_pad=SAME_LOWER" };
    static const int kernels[][2] = { { 1, 1 }, { 3, 3 }, { 4, 2 }, { 5, 5 } };
    for (gsize form = 0; form < G_N_ELEMENTS(forms); form++)
        for (gsize k = 0; k < G_N_ELEMENTS(kernels); k++)
            for (int stride = 1; stride <= 3; stride++)
                for (int dilation = 1; dilation <= 2; dilation++)
                {
                    if (dilation == 2 && (form > 2 || kernels[k][0] == 1)) /* the runtime has no SAME with dilations */
                        continue;
                    const int rows = kernels[k][0], columns = kernels[k][1];
                    if (is_on_gpu && form >= 3 && (rows < stride || columns < stride))
                        continue;
                    g_autofree char *name = g_strdup_printf("y%u", branches->n);
                    g_string_append_printf(
                        branches->text,
                        "; %sw ! [16,32,%d,%d] -0.1 0.1; %s = Conv(x,%sw) %s strides=[%d,%d] dilations=[%d,%d]", name, rows,
                        columns, name, name, forms[form], stride, stride, dilation, dilation);
                    add_output(branches, name);
                }
}

/* With and without bias, sum and activation; images in NCHW; groups. */
static void add_inputs(Branches *branches, gboolean is_on_gpu)
{
    static const char *const activations[] = { "", "Relu", "LeakyRelu", "Sigmoid", "Tanh" };
    static const char *const convolutions[] = {
        "%s = Conv(x,%sw) pads=[1,1,1,1]",
        "%s = Conv(x,%sw,%sb) pads=[1,1,1,1]",
        "%s = Conv(x,%sw) auto_pad=SAME_LOWER",
        "%s = Conv(x,%sw,) pads=[1,1,1,1]",
    };
    for (gsize a = 0; a < G_N_ELEMENTS(activations); a++)
        for (gsize c = 0; c < G_N_ELEMENTS(convolutions); c++)
            for (int has_sum = 0; has_sum <= 1; has_sum++)
            {
                g_autofree char *name = g_strdup_printf("y%u", branches->n), *left = g_strconcat(name, "c", NULL);
                g_autofree char *other = g_strconcat(name, "o", NULL), *sum = g_strconcat(name, "s", NULL);
                g_auto(GStrv) parts = g_strsplit(convolutions[c], "%s", -1);
                g_autofree char *call = g_strjoinv(left, parts);
                g_string_append_printf(branches->text, "; %sw ! [32,32,3,3] -0.1 0.1; %sb ! [32]; %s", left, left, call);
                if (has_sum)
                    g_string_append_printf(branches->text,
                                           "; %sw ! [32,32,1,1] -0.1 0.1; %s = Conv(x,%sw); %s = Add(%s,%s)", other, other,
                                           other, sum, left, other);
                g_string_append_printf(branches->text, "; %s = %s(%s)", name,
                                       *activations[a] != '\0' ? activations[a] : "Neg", has_sum ? sum : left);
                add_output(branches, name);
            }
    g_string_append(branches->text, "; iw ! [32,3,3,3]; i = Conv(z,iw) auto_pad=SAME_UPPER strides=[2,2]"
                                    "; gw ! [64,16,3,3]; g = Conv(x,gw) auto_pad=SAME_UPPER group=2"
                                    "; dw ! [32,1,3,3]; d = Conv(x,dw) auto_pad=SAME_LOWER group=32 strides=[2,1]"
                                    "; lw ! [64,3,11,11] -0.1 0.1; l = Conv(z,lw) pads=[2,2,2,2] strides=[4,4]");
    add_output(branches, "i");
    add_output(branches, "g");
    add_output(branches, "d");
    add_output(branches, "l"); /* AlexNet's first */
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

/* (transfer full) GArray* of float, copies of all outputs; NULL: skipped. @bindings: [N_NAMELESS] or NULL
 * @layers: (out) (optional) what ran */
#define N_NAMELESS 2
static GPtrArray *outputs_at(const char *device, IfmModel *model, const IfmDimBinding *bindings, const char *const *lines,
                             GPtrArray **layers)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    if (!fixture_open(&fixture, device))
        return NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.convolutions = lines;
    options.bindings = bindings;
    options.n_bindings = bindings != NULL ? N_NAMELESS : 0;
    fixture_compile(&fixture, ifm_model_ref(model), &options);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, ifm_model_n_inputs(model));
    ifm_model_make_inputs(model, bindings, options.n_bindings, 3, inputs, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        ifm_request_set_input(fixture.request, i, &inputs[i], &error);
    run(fixture.request);
    GPtrArray *outputs = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        IfmTensor output;
        ifm_request_output(fixture.request, i, &output, &error);
        g_assert_no_error(error);
        GArray *copy = g_array_new(FALSE, FALSE, sizeof(float));
        g_array_append_vals(copy, output.data, (guint)(output.size_bytes / sizeof(float)));
        g_ptr_array_add(outputs, copy);
    }
    if (layers != NULL)
    {
        g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(fixture.compiled, inputs, &error);
        g_assert_no_error(error);
        *layers = g_ptr_array_ref(effective->convolutions);
    }
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        ifm_tensor_clear(&inputs[i]);
    fixture_close(&fixture);
    return outputs;
}

static GPtrArray *outputs_of(const char *device, IfmModel *model, const char *const *lines, GPtrArray **layers)
{
    return outputs_at(device, model, NULL, lines, layers);
}

/* That the algorithm runs of the layers those that it can do, and the runtime's kernel the others. @may_be_none: whether
 * that may be none of them */
static void check_layers(const char *algorithm, const GPtrArray *layers, gboolean may_be_none)
{
    guint n_own = 0;
    for (guint i = 0; i < layers->len; i++)
    {
        const IfmConvLayer *layer = layers->pdata[i];
        const gboolean is_runtime = g_str_equal(layer->algorithm, "runtime");
        g_assert_cmpstr(layer->asked, ==, algorithm);
        n_own += !is_runtime;
        if (g_str_equal(algorithm, "guess") || g_str_equal(algorithm, "best"))
            continue;
        g_assert_cmpstr(layer->algorithm, ==, layer->fell_back ? "runtime" : algorithm);
    }
    g_test_message("%s: %u of %u layers", algorithm, n_own, layers->len);
#ifdef __x86_64__ /* elsewhere the runtime may have no blocked layout */
    if (!may_be_none)
        g_assert_cmpuint(n_own, >, 0);
#endif
}

/* A model, and an algorithm for all of its layers. */
typedef struct
{
    const char *device, *name;
    void (*add)(Branches *, gboolean is_on_gpu); /* NULL: of tests/data */
    IfmConvAlgorithm algorithm;
} Form;

static IfmModel *model_of(const Form *form)
{
    if (form->add != NULL)
    {
        Branches branches = { g_string_new(INPUT), 0 };
        form->add(&branches, g_str_equal(form->device, GPU));
        g_autofree char *text = g_string_free(branches.text, FALSE);
        return text_model(text, IFM_DTYPE_F32, FALSE, 17);
    }
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strconcat(form->name, ".onnx", NULL);
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", file, NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static void test_form(gconstpointer data)
{
    const Form *form = data;
    g_autofree char *folder = g_dir_make_tmp("ifm-forms-XXXXXX", NULL);
    g_autofree char *cache = g_build_filename(folder, "cache.json", NULL);
    const char *lines[] = { ifm_conv_algorithm_name(form->algorithm), "fallback=runtime", NULL };
    const gboolean is_on_gpu = g_str_equal(form->device, GPU);
    g_autoptr(IfmModel) model = model_of(form);
    g_autoptr(GPtrArray) layers = NULL, got = NULL, expected = outputs_of(PROCESSOR, model, NULL, NULL);
    g_setenv("IFM_TUNING_CACHE", cache, TRUE);
    if (expected != NULL)
        got = outputs_of(form->device, model, lines, &layers);
    if (got != NULL)
    {
        /* cuDNN's Winograd of 5x5 kernels loses three digits */
        check_equal(lines[0], expected, got, is_on_gpu && form->algorithm == IFM_CONV_WINOGRAD_NONFUSED ? 1e-2 : TOLERANCE);
        /* best may keep the runtime's kernels; cuDNN has no fused Winograd for some GPUs (Hopper's) */
        check_layers(lines[0], layers,
                     form->algorithm == IFM_CONV_BEST || (is_on_gpu && form->algorithm == IFM_CONV_WINOGRAD));
    }
    remove_tree(folder);
}

/* A chain of fallbacks ends at the runtime's kernel: here, as no algorithm with a workspace keeps within one byte. */
static void test_chain(void)
{
    static const char *const lines[] = { "gemm", "fallback=fft", "workspace=1", NULL };
    g_autoptr(IfmModel) model =
        text_model(INPUT "; w ! [32,32,3,3]; y = Conv(x,w); -> y [a,b,c,d]", IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(GPtrArray) layers = NULL, expected = outputs_of(PROCESSOR, model, NULL, NULL), got = NULL;
    if (expected == NULL)
        return;
    got = outputs_of(PROCESSOR, model, lines, &layers);
    check_equal("gemm", expected, got, TOLERANCE);
    g_assert_cmpuint(layers->len, ==, 1);
    const IfmConvLayer *layer = layers->pdata[0];
    g_assert_cmpstr(layer->asked, ==, "gemm");
    g_assert_cmpstr(layer->algorithm, ==, "runtime");
    g_assert_true(g_str_has_prefix(layer->implementation, "ONNX Runtime "));
    g_assert_true(layer->fell_back);
}

/* Free dimensions without a name, which the runtime cannot be told the size of. */
static void test_nameless(void)
{
    static const IfmDimBinding bindings[N_NAMELESS] = { { "x[0]", 2 }, { "x[2]", 13 } };
    static const IfmConvAlgorithm algorithms[] = { IFM_CONV_IMPLICIT_GEMM, IFM_CONV_GUESS, IFM_CONV_BEST };
    g_autofree char *folder = g_dir_make_tmp("ifm-nameless-XXXXXX", NULL);
    g_autofree char *cache = g_build_filename(folder, "cache.json", NULL);
    g_autoptr(IfmModel) model = text_model("x : [-1,32,-1,18]; w ! [32,32,3,3] -0.1 0.1; v ! [16,32,1,1] -0.1 0.1"
                                           "; c = Conv(x,w) pads=[1,1,1,1]; r = Relu(c); s = Add(r,x); y = Conv(s,v)"
                                           "; -> y [a,b,c,d]",
                                           IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(GPtrArray) expected = outputs_at(PROCESSOR, model, bindings, NULL, NULL);
    g_setenv("IFM_TUNING_CACHE", cache, TRUE);
    for (gsize i = 0; expected != NULL && i < G_N_ELEMENTS(algorithms); i++)
    {
        const char *const lines[] = { ifm_conv_algorithm_name(algorithms[i]), NULL };
        g_autoptr(GPtrArray) layers = NULL, got = outputs_at(PROCESSOR, model, bindings, lines, &layers);
        check_equal(lines[0], expected, got, TOLERANCE);
        check_layers(lines[0], layers, algorithms[i] == IFM_CONV_BEST);
    }
    remove_tree(folder);
}

/* A file that is not as the runtime saves one: nothing beyond its tensors is read. */
static void test_damaged(void)
{
    static const struct
    {
        gint64 weights[4], sum[4];
        const char *message;
    } damaged[] = {
        { { 16, 16, 3, 3 }, { 1, 16, 8, 8 }, NULL },
        { { 16, 8, 3, 3 },
          { 1, 16, 8, 8 },
          "implicit_gemm cannot do 1 of 1 layers of damaged (weights of other channels)" },
        { { 16, 16, 3, 3 }, { 1, 16, 8, 4 }, "implicit_gemm cannot do 1 of 1 layers of damaged (a sum of another shape)" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(damaged); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("damaged", 17);
        const gint64 dims[] = { 1, 16, 8, 8 }, pads[] = { 1, 1, 1, 1 };
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, dims, NULL);
        ifm_model_builder_input(builder, "s", IFM_DTYPE_F32, 4, damaged[i].sum, NULL);
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 4, dims, NULL);
        ifm_model_builder_random_weight(builder, "w", 4, damaged[i].weights, 1, 1);
        const gsize node = ifm_model_builder_node(builder, "Conv", "c", (const char *[]){ "x", "w", "", "s", NULL },
                                                  (const char *[]){ "y", NULL });
        ifm_model_builder_domain(builder, node, "com.microsoft.nchwc", 1);
        ifm_model_builder_ints(builder, node, "pads", pads, G_N_ELEMENTS(pads));
        g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
        g_assert_no_error(error);
        g_auto(IfmConvChoice) choice = { 0 };
        g_autoptr(GPtrArray) layers = ifm_ort_conv_layers_new();
        ifm_conv_choice_init(&choice, (const char *[]){ "implicit_gemm", NULL }, &error);
        const OrtConvWish wish = { .model = model, .runtime = "", .choice = &choice, .n_threads = 1 };
        g_autoptr(IfmModel) rewritten = ifm_ort_conv_rewrite(model, &wish, layers, &error);
        g_assert_cmpstr(error != NULL ? error->message : NULL, ==, damaged[i].message);
        g_assert_true((rewritten != NULL) == (damaged[i].message == NULL));
    }
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*add)(Branches *, gboolean is_on_gpu);
    } models[] = {
        { "windows", add_windows },
        { "inputs", add_inputs },
        { "preact-resnet", NULL }, /* no biases, sums */
        { "same-upper", NULL },
    };
    static const struct
    {
        const char *device, *path;
    } devices[] = { { PROCESSOR, "/conv-graph" }, { GPU, "/conv-graph/cuda" } };
    g_test_init(&argc, &argv, NULL);
    for (gsize d = 0; d < G_N_ELEMENTS(devices); d++)
        for (gsize k = 0; k < G_N_ELEMENTS(models); k++)
            for (int i = 0; i <= IFM_CONV_BEST; i++)
            {
                const Form form = { devices[d].device, models[k].name, models[k].add, (IfmConvAlgorithm)i };
                g_autofree char *path =
                    g_strdup_printf("%s/%s/%s", devices[d].path, form.name, ifm_conv_algorithm_name(form.algorithm));
                g_test_add_data_func_full(path, g_memdup2(&form, sizeof form), test_form, g_free);
            }
    g_test_add_func("/conv-graph/chain", test_chain);
    g_test_add_func("/conv-graph/nameless", test_nameless);
    g_test_add_func("/conv-graph/damaged", test_damaged);
    return g_test_run();
}
