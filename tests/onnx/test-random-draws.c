/* Outputs that follow from random numbers: in the graph, in branches and in functions (tests/data/draws.py). */
#include <onnx/onnx.h>

static void check(GHashTable *draws, const char *output, const char *source)
{
    g_test_message("%s", output);
    g_assert_cmpstr(g_hash_table_lookup(draws, output), ==, source);
}

static IfmModel *open_draws(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "data", "draws.onnx", NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static void test_sources(void)
{
    g_autoptr(IfmModel) model = open_draws();
    g_autoptr(GHashTable) draws = ifm_model_draws(model, NULL);
    check(draws, "plain", NULL);
    check(draws, "dropped", "Dropout");
    check(draws, "mask", "Dropout");
    check(draws, "behind", "Dropout");
    check(draws, "shape", NULL); /* of what is drawn the shape is known */
    check(draws, "infers", NULL);
    check(draws, "keeps", NULL);
    check(draws, "asked", "Dropout");
    check(draws, "either", "RandomNormalLike");
    check(draws, "taken", NULL);
    check(draws, "called", "RandomUniformLike");
}

/* What is fed says whether a Dropout trains. */
static void test_fed(void)
{
    for (gint8 trains = 0; trains < 2; trains++)
    {
        static float numbers[4 * 8];
        gint8 mode = trains;
        IfmTensor inputs[2];
        g_autoptr(IfmModel) model = open_draws();
        g_assert_true(ifm_tensor_wrap(&inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ 4, 8 }, numbers, NULL));
        g_assert_true(ifm_tensor_wrap(&inputs[1], IFM_DTYPE_BOOL, 0, NULL, &mode, NULL));
        g_autoptr(GHashTable) draws = ifm_model_draws(model, inputs);
        check(draws, "asked", trains ? "Dropout" : NULL);
        check(draws, "dropped", "Dropout");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/random-draws/sources", test_sources);
    g_test_add_func("/random-draws/fed", test_fed);
    return g_test_run();
}
