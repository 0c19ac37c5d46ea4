#include <math.h>
#include <string.h>

#include <onnx/onnx.h>

#define SETTINGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* content_of: A digest of all that the model is; of one with many weights, of the first million numbers of each: SHA-256
 * takes seconds a gigabyte. (transfer full) */
static char *content_of(IfmModel *model)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    if (ifm_model_n_parameters(model) < 1000000)
        return g_strdup(ifm_model_digest(model, NULL));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        IfmTensor weight;
        g_checksum_update(checksum, (const guchar *)node->name, -1);
        for (gsize k = 0; k < node->n_inputs; k++)
            if (ifm_model_initializer(model, node->inputs[k], &weight))
                g_checksum_update(checksum, weight.data, (gssize)MIN(weight.size_bytes, 4000000));
    }
    return g_strdup(g_checksum_get_string(checksum));
}

static char *content(const char *name, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build(name, NULL, seed, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_check_bindings(model, NULL, 0, &error));
    return content_of(model);
}

static void test_all_build(void)
{
    const IfmZooEntry *previous = NULL;
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; previous = entry++)
    {
        g_autofree char *one = content(entry->name, 1), *same = content(entry->name, 1), *other = content(entry->name, 2);
        g_assert_true(previous == NULL || strcmp(previous->name, entry->name) < 0);
        g_assert_cmpstr(one, ==, same);
        g_assert_cmpstr(one, !=, other);
        for (const IfmZooParameter *p = entry->parameters; p->name != NULL; p++)
            g_assert_true(p->min <= p->fallback && p->fallback <= p->max && p->help != NULL);
    }
}

static void test_matmul(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", SETTINGS("m=3", "k=5", "n=7", "layers=3"), 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_model_n_nodes(model), ==, 3);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 5 * 7 + 2 * 7 * 7);
    g_assert_cmpstr(ifm_model_input(model, 0)->name, ==, "x");
    g_assert_cmpint(ifm_model_input(model, 0)->dims[0], ==, 3);
    g_assert_cmpint(ifm_model_output(model, 0)->dims[1], ==, 7);
    g_assert_cmpstr(ifm_model_output(model, 0)->name, ==, "y");
    g_autoptr(IfmModel) free_rows = ifm_zoo_build("matmul", SETTINGS("m=0"), 0, &error);
    g_assert_cmpstr(ifm_model_input(free_rows, 0)->dim_names[0], ==, "M");
}

static void test_small_cnn(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build("small-cnn", SETTINGS("batch=0", "size=20", "channels=4"), 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_model_n_inputs(model), ==, 1);
    g_assert_cmpstr(ifm_model_input(model, 0)->dim_names[0], ==, "N");
    g_assert_cmpint(ifm_model_input(model, 0)->dims[3], ==, 20);
    /* 3x3x3x4 + 4, 3x3x4x8 + 8, 8x10 + 10 */
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 108 + 4 + 288 + 8 + 80 + 10);
    g_assert_false(ifm_model_check_bindings(model, NULL, 0, NULL));
    g_assert_true(ifm_model_check_bindings(model, &(IfmDimBinding){ "N", 8 }, 1, &error));
}

static void test_refused(void)
{
    static const struct
    {
        const char *name, *setting, *said;
    } cases[] = {
        { "matmull", NULL, "did you mean \"matmul\"" },
        { "matmul", "q=1", "no parameter 'q'" },
        { "matmul", "m=-1", "0 to 1048576" },
        { "matmul", "m", "is not NAME=VALUE" },
        { "matmul", "m=", "m= is not a number" },
        { "small-cnn", "chanels=1", "did you mean \"channels\"" },
        { "matmul", "k=65536 n=65536 layers=64", "'w1'" },
        { "matmul", "k=4096 n=4096 layers=64", "one ONNX file" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) settings = g_strsplit(cases[i].setting != NULL ? cases[i].setting : "", " ", -1);
        g_assert_null(ifm_zoo_build(cases[i].name, (const char *const *)settings, 0, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, cases[i].said));
    }
}

/* What is fed to it is plausible: words of the vocabulary, of which none is masked, in two segments. */
static void test_words(void)
{
    static const double least[] = { 0, 1, 0 }, most[] = { 49, 1, 1 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build(
        "bert", (const char *const[]){ "batch=1", "length=1000", "layers=1", "vocabulary=50", NULL }, 1, &error);
    g_assert_no_error(error);
    IfmTensor inputs[] = { IFM_TENSOR_INIT, IFM_TENSOR_INIT, IFM_TENSOR_INIT };
    g_assert_true(ifm_model_make_inputs(model, NULL, 0, 3, inputs, &error));
    for (gsize i = 0; i < G_N_ELEMENTS(inputs); i++)
    {
        double low = G_MAXDOUBLE, high = -G_MAXDOUBLE;
        for (gint64 k = 0; k < ifm_tensor_n_elements(&inputs[i]); k++)
        {
            low = fmin(low, ifm_tensor_get_double(&inputs[i], k));
            high = fmax(high, ifm_tensor_get_double(&inputs[i], k));
        }
        g_assert_cmpfloat(low, ==, least[i]);
        g_assert_cmpfloat(high, ==, most[i]);
        ifm_tensor_clear(&inputs[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/zoo/all-build", test_all_build);
    g_test_add_func("/zoo/matmul", test_matmul);
    g_test_add_func("/zoo/small-cnn", test_small_cnn);
    g_test_add_func("/zoo/refused", test_refused);
    g_test_add_func("/zoo/words", test_words);
    return g_test_run();
}
