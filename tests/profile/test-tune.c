/* Tuning a model: what bad input gets, what a tuned model says of itself, and one small model tuned on ONNX Runtime. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <base/base.h>
#include <convolution/convolution.h>
#include <document/summary.h>
#include <profile/profile.h>
#include <profile/tune-private.h>
#include <profile/tune.h>
#include <regions/regions.h>

#include "folder.h"
#include "graph-text.h"

#define NETWORK                                                                                                            \
    "x : [N,8,24,24]; w ! [16,8,3,3] -0.1 0.1; v ! [16,16,3,3] -0.1 0.1; c = Conv(x, w) pads=[1,1,1,1]; r = Relu(c); "     \
    "d = Conv(r, v) pads=[1,1,1,1]; s = Add(d, c); y = Relu(s); -> y [N,16,24,24]"

static char *folder;

static char *in_folder(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static void save(IfmModel *model, const char *path)
{
    g_autoptr(GError) error = NULL;
    ifm_model_save(model, path, &error);
    g_assert_no_error(error);
}

static void save_text(const char *text, const char *path)
{
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    save(model, path);
}

/* A model with regions. @metadata: of its tuning, or NULL    @algorithm: of its first convolution, or NULL */
static void save_regions(const char *path, const char *metadata, const char *algorithm)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) algorithms = g_ptr_array_new();
    const char *const said[] = { IFM_TUNED_METADATA, metadata, NULL };
    const IfmRegionsOptions options = { .algorithms = algorithms, .metadata = metadata != NULL ? said : NULL };
    g_autoptr(IfmModel) model = text_model(NETWORK, IFM_DTYPE_F32, FALSE, 17);
    g_ptr_array_add(algorithms, (gpointer)algorithm);
    g_autoptr(IfmModel) made = ifm_regions_partition(model, &options, NULL, &error);
    g_assert_no_error(error);
    save(made, path);
}

/* --- bad input -------------------------------------------------------------------------------------------------------- */

static void expect_error_on(const char *device, const char *model, const char *path, int code, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmTuned) tuned = { 0 };
    g_autofree char *output = in_folder("out"), *before = NULL, *after = NULL;
    gsize size = 0, size_after = 0;
    const gboolean is_there = path != NULL && g_file_get_contents(path, &before, &size, NULL);
    IfmTuneOptions options;
    ifm_tune_options_init(&options);
    options.model = model;
    options.path = path;
    options.output = output;
    options.device = device;
    options.threads = 1;
    options.open.dims = (const char *const[]){ "*=1", NULL };
    g_assert_false(ifm_tune_model(&options, NULL, &tuned, &error));
    g_assert_error(error, IFM_ERROR, code);
    g_assert_null(strchr(error->message, '\n'));
    if (strstr(error->message, words) == NULL)
        g_error("\"%s\" says nothing of \"%s\"", error->message, words);
    g_autofree char *twice = g_strconcat(model, ": ", model, NULL); /* "x.onnx: x.onnx: …" */
    g_assert_true(model == NULL || strstr(error->message, twice) == NULL);
    /* what was there is as it was, and what was not is not */
    g_assert_cmpint(path != NULL && g_file_get_contents(path, &after, &size_after, NULL), ==, is_there);
    g_assert_true(!is_there || (size == size_after && memcmp(before, after, size) == 0));
}

static void expect_error(const char *model, const char *path, int code, const char *words)
{
    expect_error_on("onnxruntime:CPU", model, path, code, words);
}

static void test_bad_input(void)
{
    g_autofree char *model = in_folder("model.onnx"), *link = in_folder("link.onnx"), *plain = in_folder("plain.onnx"),
                    *tuned = in_folder("regions.onnx"), *out = in_folder("tuned.onnx"), *text = in_folder("text.onnx"),
                    *nowhere = in_folder("no/such/folder.onnx"), *other = in_folder("hard.onnx");
    save_text(NETWORK, model);
    save_text("x : [N,8]; y = Relu(x); -> y [N,8]", plain);
    save_regions(tuned, NULL, NULL);
    g_assert_cmpint(symlink(model, link), ==, 0);
    g_assert_cmpint(linkat(AT_FDCWD, model, AT_FDCWD, other, 0), ==, 0);
    g_assert_true(g_file_set_contents(text, "no model", -1, NULL));
    expect_error(NULL, out, IFM_ERROR_USAGE, "needs a model");
    expect_error(model, NULL, IFM_ERROR_USAGE, "needs -o FILE");
    expect_error(plain, out, IFM_ERROR_INVALID, "plain has no convolution");
    expect_error(tuned, out, IFM_ERROR_INVALID, "regions is tuned already");
    expect_error(text, out, IFM_ERROR_INVALID, "text.onnx");
    expect_error("no-such.onnx", out, IFM_ERROR_UNAVAILABLE, "no-such.onnx");
    expect_error(model, model, IFM_ERROR_INVALID, "is the model itself");
    expect_error(model, link, IFM_ERROR_INVALID, "is the model itself");
    expect_error(model, other, IFM_ERROR_INVALID, "is the model itself");
    expect_error(model, text, IFM_ERROR_INVALID, "is no ONNX model");
    expect_error_on("simulated:ideal/CPU", model, out, IFM_ERROR_UNSUPPORTED, "tuned for onnxruntime:CPU alone");
    expect_error(model, folder, IFM_ERROR_INVALID, "is a folder");
    expect_error(model, nowhere, IFM_ERROR_UNAVAILABLE, "cannot be written");
}

/* Weights in files of their own are the model's, by whatever name the file is called. */
static void test_own_weights(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder("outside.onnx"), *weights = in_folder("outside.weights"),
                    *link = in_folder("link.weights"), *other = in_folder("hard.weights");
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("outside", 17);
    const gint64 shape[] = { 16, 8, 8, 8 }, image[] = { 1, 8, 24, 24 }, out[] = { 1, 16, 17, 17 };
    ifm_model_builder_external(builder, "outside.weights");
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, image, NULL);
    ifm_model_builder_drawn_weight(builder, "w", 4, shape, -0.1, 0.1, 1);
    ifm_model_builder_node(builder, "Conv", "c", (const char *const[]){ "x", "w", NULL },
                           (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 4, out, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    save(model, path);
    g_assert_cmpint(symlink(weights, link), ==, 0);
    g_assert_cmpint(linkat(AT_FDCWD, weights, AT_FDCWD, other, 0), ==, 0);
    expect_error(path, weights, IFM_ERROR_INVALID, "has the model's weights");
    expect_error(path, link, IFM_ERROR_INVALID, "has the model's weights");
    expect_error(path, other, IFM_ERROR_INVALID, "has the model's weights");
}

/* A refusal has the model's name and that of its own node. */
static void test_none_can_be_tuned(void)
{
    g_autofree char *half = in_folder("half.onnx"), *transposed = in_folder("transposed.onnx"), *out = in_folder("t.onnx");
    g_autoptr(IfmModel) model = text_model(NETWORK, IFM_DTYPE_F16, FALSE, 17);
    save(model, half);
    save_text("x : [N,8,24,24]; w ! [8,16,2,2] -0.1 0.1; y = ConvTranspose(x, w) strides=[2,2]; -> y [N,16,48,48]",
              transposed);
    expect_error(half, out, IFM_ERROR_INVALID, "half: no convolution can be tuned: the first, \"c\", is in f16");
    expect_error(transposed, out, IFM_ERROR_INVALID,
                 "transposed: no convolution can be tuned: the first, \"y\", is a ConvTranspose");
}

/* Not for its sizes, which nobody needs to say. */
static void test_tuned_already(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmTuned) tuned = { 0 };
    g_autofree char *path = in_folder("free.onnx"), *out = in_folder("t.onnx");
    IfmTuneOptions options;
    save_regions(path, NULL, NULL);
    ifm_tune_options_init(&options);
    options.model = path;
    options.path = out;
    g_assert_false(ifm_tune_model(&options, NULL, &tuned, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "free is tuned already"));
}

/* --- why there is no file ----------------------------------------------------------------------------------------------
 */

/* What is said of a verdict that is open or not, @lower and @upper with that level of 0.95 */
static char *why_not(IfmVerdict verdict, double lower, double upper, double level, const char *why)
{
    IfmComparison comparison = {
        .verdict = verdict, .ratio = 0.75, .interval = { lower, upper, level }, .level = 0.95, .why = (char *)why
    };
    return tuned_why_not(&comparison, TRUE);
}

/* Few pairs leave a verdict open although their interval lies below 1, and say how to get more. */
static void test_why_not(void)
{
    static const char few[] = "4 pairs of processes were measured, and 6 are the minimum for a verdict at 95 %";
    g_autofree char *open = why_not(IFM_VERDICT_UNCERTAIN, 0.7, 0.8, 0.875, few),
                    *one = why_not(IFM_VERDICT_UNCERTAIN, NAN, NAN, 0, few),
                    *wide = why_not(IFM_VERDICT_UNCERTAIN, 0.9, 1.1, 0.95, "pairs of processes differ by 5 %"),
                    *same = why_not(IFM_VERDICT_SAME, 0.99, 1.005, 0.95, NULL),
                    *faster = why_not(IFM_VERDICT_FASTER, 0.7, 0.8, 0.95, NULL);
    g_assert_nonnull(strstr(open, few));
    g_assert_nonnull(strstr(open, "[0.700, 0.800]"));
    g_assert_nonnull(strstr(open, "--time-budget"));
    g_assert_null(strstr(open, "not told apart"));
    g_assert_nonnull(strstr(one, "--time-budget"));
    g_assert_null(strstr(one, "nan"));
    g_assert_nonnull(strstr(wide, "not told apart"));
    g_assert_nonnull(strstr(same, "as fast as"));
    g_assert_null(faster);
}

/* --- what a tuned model says ------------------------------------------------------------------------------------------ */

#define TUNED_FOR                                                                                                          \
    "{\"format\":1,\"version\":\"0.1.0\",\"processor\":\"a processor\",\"instruction_set\":\"avx512\",\"threads\":2,"      \
    "\"runtime\":\"1.31.1\",\"gain\":{\"ratio\":0.8,\"lower\":0.75,\"upper\":0.85}}"

#define AT_SIZE ",\"sizes\":{\"N\":1}}"

/* What the executor says of the two layers in portable kernels; @here: of the first, NULL: not known */
static void expect_here(const char *metadata, const char *algorithm, const char *here, gboolean is_replaced)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder("here.onnx");
    json_t *json = NULL;
    save_regions(path, metadata, algorithm);
    g_setenv("IFM_CONV_ISA", "portable", TRUE);
    g_autoptr(IfmDocument) document = ifm_tuned_show_document(path, &json, &error);
    g_unsetenv("IFM_CONV_ISA");
    g_assert_no_error(error);
    g_assert_nonnull(document);
    const json_t *first = json_array_get(json_object_get(json, "layers"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(first, "here")), ==, here);
    g_assert_cmpint(json_is_true(json_object_get(first, "is_replaced")), ==, is_replaced);
    if (here != NULL)
        g_assert_nonnull(strstr(json_string_value(json_object_get(first, "implementation")), "portable"));
    json_decref(json);
}

/* No kernel of a region does "gemm", one product of all patches: the rule takes the layer. */
static void test_here(void)
{
    g_autofree char *known = g_strndup(TUNED_FOR, strlen(TUNED_FOR) - 1), *sized = g_strconcat(known, AT_SIZE, NULL);
    expect_here(sized, "winograd 4", "winograd", FALSE);
    expect_here(sized, "implicit_gemm", "implicit_gemm", FALSE);
    expect_here(sized, "gemm", "direct", TRUE);
    expect_here(TUNED_FOR, "winograd 4", NULL, FALSE);
}

/* What its memory is planned by has the tensors within regions. */
static void test_memory(void)
{
    g_autofree char *path = in_folder("regions-memory.onnx");
    const IfmDimBinding n = { "N", 2 };
    IfmMemoryPlan plans[2] = { { 0 } };
    save_regions(path, NULL, NULL);
    for (int i = 0; i < 2; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = i == 0 ? text_model(NETWORK, IFM_DTYPE_F32, FALSE, 17) : ifm_model_open(path, &error);
        g_assert_no_error(error);
        g_autoptr(IfmAnalysis) analysis = ifm_regions_analyse(model, &n, 1, &error);
        g_assert_no_error(error);
        ifm_analysis_memory(analysis, &plans[i]);
        g_assert_cmpuint(plans[i].n_unknown, ==, 0);
    }
    g_assert_cmpint(plans[0].parameter_bytes, ==, plans[1].parameter_bytes);
    g_assert_cmpint(plans[0].peak_bytes, ==, plans[1].peak_bytes);
    for (int i = 0; i < 2; i++)
        ifm_memory_plan_clear(&plans[i]);
}

/* A model with regions counts as many multiplications as the model that it was made of. */
static void test_counts(void)
{
    g_autofree char *model = in_folder("plain-count.onnx"), *regions = in_folder("regions-count.onnx");
    gint64 flop[2];
    save_text(NETWORK, model);
    save_regions(regions, NULL, NULL);
    for (int i = 0; i < 2; i++)
    {
        g_autoptr(GError) error = NULL;
        IfmProfileOptions options;
        ifm_profile_options_init(&options);
        options.model = i == 0 ? model : regions;
        options.open.dims = (const char *const[]){ "N=2", NULL };
        g_autoptr(IfmProfilePlan) plan = ifm_profile_plan_new(&options);
        g_assert_true(ifm_profile_plan_make(plan, NULL, &error));
        g_assert_no_error(error);
        flop[i] = ifm_profile_plan_flop(plan);
    }
    g_assert_cmpint(flop[0], >, 0);
    g_assert_cmpint(flop[0], ==, flop[1]);
}

static void expect_shown(const char *metadata, const char *algorithm, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder("shown.onnx");
    json_t *json = NULL;
    save_regions(path, metadata, algorithm);
    g_autoptr(IfmDocument) document = ifm_tuned_show_document(path, &json, &error);
    if (message == NULL)
    {
        g_assert_no_error(error);
        g_assert_cmpuint(json_array_size(json_object_get(json, "layers")), ==, 2);
        const json_t *first = json_array_get(json_object_get(json, "layers"), 0);
        g_assert_cmpstr(json_string_value(json_object_get(first, "layer")), ==, "c");
        g_assert_cmpstr(json_string_value(json_object_get(first, "algorithm")), ==, algorithm != NULL ? algorithm : "any");
    }
    else
    {
        g_assert_null(document);
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, message));
    }
    json_decref(json);
}

static void test_show(void)
{
    expect_shown(TUNED_FOR, NULL, NULL);
    expect_shown(TUNED_FOR, "winograd 4", NULL);
    expect_shown(NULL, NULL, "is not tuned");
    expect_shown("not JSON", NULL, "is no JSON");
    expect_shown("{\"format\":7,\"version\":\"9.9\"}", NULL, "was tuned by another version, \"9.9\"");
    expect_shown(TUNED_FOR, "magic", "an algorithm is expected, not \"magic\"");
    expect_shown(TUNED_FOR, "a", "an algorithm is expected, not \"a\"");
    expect_shown(TUNED_FOR, "winograd 77", "not \"77\"");
}

/* The verdict's sentence of a tuned model with this in its metadata, which has a check that says @words. (transfer full) */
static char *sentence_of(const char *members, IfmTrust trust, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder("origin.onnx"),
                    *metadata =
                        g_strdup_printf("%.*s,\"sizes\":{\"N\":1}%s}", (int)strlen(TUNED_FOR) - 1, TUNED_FOR, members);
    gboolean is_said = FALSE;
    save_regions(path, metadata, NULL);
    g_autoptr(IfmDocument) document = ifm_tuned_show_document(path, NULL, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < document->summary->checks->len; i++)
        is_said |= strstr(g_array_index(document->summary->checks, IfmCheck, i).text, words) != NULL;
    g_assert_true(is_said);
    g_assert_cmpint(ifm_document_summary_trust(document->summary), ==, trust);
    return ifm_document_summary_sentence(document->summary);
}

/* What was not to be trusted when it was written is not to be trusted when it is shown, and one name is many processors. */
static void test_origin(void)
{
    g_autofree char *here = ifm_conv_processor();
    g_autofree char *bad = g_strdup_printf(",\"processor_key\":\"%s\",\"trust\":{\"level\":\"bad\",\"checks\":"
                                           "[{\"level\":\"bad\",\"text\":\"others used 89 %%\"}]}",
                                           here),
                    *good = g_strdup_printf(",\"processor_key\":\"%s\",\"trust\":{\"level\":\"good\",\"checks\":"
                                            "[{\"level\":\"good\",\"text\":\"at rest\"}]}",
                                            here);
    g_autofree char *first = sentence_of(bad, IFM_TRUST_BAD, "when it was tuned: others used 89 %"),
                    *second = sentence_of(good, IFM_TRUST_GOOD, "when it was tuned: at rest"),
                    *third = sentence_of(",\"processor_key\":\"a processor, family 1\",\"trust\":{}", IFM_TRUST_CARE,
                                         "may not be here"),
                    *fourth = sentence_of("", IFM_TRUST_CARE, "does not say how far");
    g_assert_nonnull(strstr(first, "which is this processor"));
    g_assert_nonnull(strstr(first, "not to be trusted"));
    g_assert_null(strstr(second, "not to be trusted"));
    g_assert_nonnull(strstr(third, "another processor"));
    g_assert_nonnull(strstr(fourth, "may be this processor or another"));
}

/* --- a small model ---------------------------------------------------------------------------------------------------- */

/* Whether it is faster is the machine's affair: it is written whole, or not at all with a reason. */
static void test_tune(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmTuned) tuned = { 0 };
    g_autofree char *model = in_folder("small.onnx"), *path = in_folder("small-tuned.onnx"), *output = in_folder("out");
    g_autofree char *library = ifm_path_operators();
    IfmTuneOptions options;
    g_assert_true(g_str_has_suffix(library, "/libinferometer_ops.so"));
    g_assert_true(g_file_test(library, G_FILE_TEST_EXISTS));
    save_text(NETWORK, model);
    ifm_tune_options_init(&options);
    options.model = model;
    options.path = path;
    options.output = output;
    options.threads = 1;
    options.open.dims = (const char *const[]){ "N=1", NULL };
    options.time_budget_ns = 2 * G_GINT64_CONSTANT(1000000000);
    if (!ifm_tune_model(&options, NULL, &tuned, &error) && g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_test_skip(error->message);
        return;
    }
    g_assert_no_error(error);
    const IfmTuneLayer *layer = tuned.layers->pdata[1];
    const gboolean is_left = layer->why != NULL; /* the one region is slower */
    g_assert_cmpuint(tuned.layers->len, ==, 2);
    g_assert_cmpuint(tuned.n_taken, ==, is_left ? 0 : 2);
    g_assert_cmpuint(tuned.n_regions, ==, is_left ? 0 : 1);
    g_assert_cmpstr(layer->layer, ==, "d");
    g_assert_cmpint(layer->time_ns > 0, ==, !is_left);
    g_assert_cmpint(ifm_tuned_is_compared(&tuned), ==, !is_left);
    g_assert_false(tuned.comparison.outputs_differ);
    g_assert_cmpint(tuned.path == NULL, ==, tuned.why != NULL);
    g_assert_cmpint(g_file_test(path, G_FILE_TEST_EXISTS), ==, tuned.path != NULL);
    g_autoptr(IfmDocument) document = ifm_tuned_document(&tuned), shown = NULL;
    g_assert_nonnull(document);
    json_auto_t *json = ifm_tuned_json(&tuned);
    g_assert_cmpuint(json_array_size(json_object_get(json, "layers")), ==, 2);
    if (tuned.path == NULL)
        return;
    shown = ifm_tuned_show_document(path, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ifm_document_summary_trust(shown->summary), ==, ifm_document_summary_trust(document->summary));
}

/* What a predictor knows of, by its name; @fails: it knows of nothing. */
typedef struct
{
    const char *layer, *algorithm;
    gboolean fails;
    int n_threads;
    gsize n_nodes;
} Known;

static GPtrArray *predict(gpointer user, IfmModel *graph, const IfmDimBinding *bindings, gsize n_bindings, int n_threads,
                          IfmTuneLevel level, GError **error)
{
    Known *known = user;
    known->n_threads = n_threads;
    known->n_nodes = ifm_model_n_nodes(graph);
    if (known->fails)
    {
        ifm_error_refuse(error, "nothing was measured");
        return NULL;
    }
    GPtrArray *predictions = ifm_tune_predictions_new();
    IfmTunePrediction *one = g_new(IfmTunePrediction, 1);
    *one = (IfmTunePrediction){ g_strdup(known->layer), g_strdup(known->algorithm), 5e3 };
    g_ptr_array_add(predictions, one);
    return predictions;
}

static gboolean tune_with(Known *known, IfmTuned *tuned, GError **error)
{
    g_autofree char *model = in_folder("known.onnx"), *path = in_folder("known-tuned.onnx"), *output = in_folder("out");
    const IfmTunePredictor predictor = { "a study", predict, known };
    IfmTuneOptions options;
    save_text(NETWORK, model);
    ifm_tune_options_init(&options);
    options.model = model;
    options.path = path;
    options.output = output;
    options.threads = 1;
    options.open.dims = (const char *const[]){ "N=1", NULL };
    options.time_budget_ns = 2 * G_GINT64_CONSTANT(1000000000);
    options.predictor = &predictor;
    g_remove(path);
    const gboolean is_done = ifm_tune_model(&options, NULL, tuned, error);
    g_assert_true(is_done || !g_file_test(path, G_FILE_TEST_EXISTS));
    return is_done;
}

/* Layers that are predicted have no time; those that nothing is known of keep the rule's algorithm. The whole is compared
 * all the same. */
static void test_predicted(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmTuned) tuned = { 0 }, none = { 0 };
    Known known = { .layer = "d", .algorithm = "implicit_gemm" }, unknown = { .fails = TRUE };
    if (!tune_with(&known, &tuned, &error) && g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_test_skip(error->message);
        return;
    }
    g_assert_no_error(error);
    const IfmTuneLayer *first = tuned.layers->pdata[0], *second = tuned.layers->pdata[1];
    g_assert_cmpint(known.n_threads, ==, 1);
    g_assert_cmpuint(known.n_nodes, >, 0);
    g_assert_cmpstr(tuned.predicted, ==, "a study");
    g_assert_cmpstr(first->algorithm, ==, "any");
    g_assert_cmpfloat(first->predicted_ns, ==, 0);
    g_assert_cmpstr(second->algorithm, ==, "implicit_gemm");
    g_assert_cmpfloat(second->predicted_ns, ==, 5e3);
    g_assert_cmpfloat(second->time_ns, ==, 0);
    g_assert_cmpuint(tuned.comparison.n_pairs, >, 0);
    json_auto_t *json = ifm_tuned_json(&tuned);
    g_assert_cmpstr(json_string_value(json_object_get(json, "predicted")), ==, "a study");
    g_assert_false(tune_with(&unknown, &none, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "nothing was measured");
}

/* One channel and a chain of cheap steps: in blocks each of them moves 8 or 16 times the numbers, so the runtime's own is
 * many times as fast on any machine. It is left to it; of a model that has no other region nothing is written, and nothing
 * is compared. */
#define HOPELESS                                                                                                           \
    "x : [N,1,600,600]; u ! [1,1,1,1]; h = Conv(x, u); a = LeakyRelu(h); b = LeakyRelu(a); c = LeakyRelu(b); d = "         \
    "LeakyRelu(c); e = LeakyRelu(d); f = LeakyRelu(e); g = LeakyRelu(f); i = LeakyRelu(g); j = LeakyRelu(i); k = "         \
    "LeakyRelu(j); "

static gboolean tune_hopeless(const char *text, IfmTuned *tuned)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *model = in_folder("hopeless.onnx"), *path = in_folder("hopeless-tuned.onnx"),
                    *output = in_folder("out");
    IfmTuneOptions options;
    save_text(text, model);
    ifm_tune_options_init(&options);
    options.model = model;
    options.path = path;
    options.output = output;
    options.threads = 1;
    options.open.dims = (const char *const[]){ "N=1", NULL };
    options.time_budget_ns = 2 * G_GINT64_CONSTANT(1000000000);
    if (!ifm_tune_model(&options, NULL, tuned, &error) && g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_test_skip(error->message);
        return FALSE;
    }
    g_assert_no_error(error);
    const IfmTuneLayer *layer = tuned->layers->pdata[0];
    g_assert_cmpstr(layer->layer, ==, "h");
    g_assert_cmpstr(layer->algorithm, ==, "runtime");
    g_assert_true(g_str_has_prefix(layer->why, "the runtime's own is faster: "));
    g_assert_cmpfloat(layer->time_ns, ==, 0);
    return TRUE;
}

static void test_slower(void)
{
    g_auto(IfmTuned) none = { 0 }, one = { 0 };
    g_autofree char *path = in_folder("hopeless-tuned.onnx");
    if (!tune_hopeless(HOPELESS "y = Sin(k); -> y [N,1,600,600]", &none))
        return;
    g_assert_null(none.path);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_true(g_str_has_prefix(none.why, "no region is as fast as the runtime's own kernels for it: it takes "));
    g_assert_cmpuint(none.n_taken, ==, 0);
    g_assert_cmpuint(none.n_regions, ==, 0);
    g_assert_false(ifm_tuned_is_compared(&none));
    g_autoptr(IfmDocument) document = ifm_tuned_document(&none);
    g_autofree char *sentence = ifm_document_summary_sentence(document->summary);
    g_assert_nonnull(strstr(sentence, "Nothing is written: no region is as fast"));
    json_auto_t *json = ifm_tuned_json(&none);
    g_assert_true(json_is_null(json_object_get(json, "comparison")));
    if (!tune_hopeless(HOPELESS "p = MaxPool(k) kernel_shape=[20,20] strides=[20,20]; s = Sin(p); w ! [64,1,3,3]; "
                                "v ! [64,64,3,3]; m = Conv(s, w); y = Conv(m, v); -> y [N,64,26,26]",
                       &one))
        return;
    guint n_left = 0;
    for (guint i = 0; i < one.layers->len; i++)
        n_left += ((const IfmTuneLayer *)one.layers->pdata[i])->why != NULL;
    g_assert_cmpuint(one.layers->len, ==, 3);
    g_assert_cmpuint(one.n_taken, ==, 3 - n_left);
    g_assert_cmpint(ifm_tuned_is_compared(&one), ==, one.n_regions > 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("ifm-tune-XXXXXX", NULL);
    g_test_add_func("/tune/bad-input", test_bad_input);
    g_test_add_func("/tune/own-weights", test_own_weights);
    g_test_add_func("/tune/none-can-be-tuned", test_none_can_be_tuned);
    g_test_add_func("/tune/tuned-already", test_tuned_already);
    g_test_add_func("/tune/why-not", test_why_not);
    g_test_add_func("/tune/show", test_show);
    g_test_add_func("/tune/here", test_here);
    g_test_add_func("/tune/memory", test_memory);
    g_test_add_func("/tune/counts", test_counts);
    g_test_add_func("/tune/origin", test_origin);
    g_test_add_func("/tune/tune", test_tune);
    g_test_add_func("/tune/predicted", test_predicted);
    g_test_add_func("/tune/slower", test_slower);
    const int status = g_test_run();
    remove_tree(folder);
    g_free(folder);
    return status;
}
