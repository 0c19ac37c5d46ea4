/* The matrix products in stages on every engine, against products written out here in double precision. */
#include "fixture.h"
#include <staged/staged.h>

enum
{
    ROWS = 17,
    FEATURES = 9,
    HIDDEN = 6,
    WIDE = 4 * HIDDEN,
    MAXIMUM = WIDE,
};

typedef double Rows[ROWS][MAXIMUM];

static IfmModel *build(int first, int last, gint64 rows)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { .nodes = rows, .features = FEATURES, .hidden = HIDDEN };
    IfmModel *model = ifm_staged_build(ifm_staged_find("matmul", NULL), first, last, &sizes, IFM_SCATTER_MIXED, 9, &error);
    g_assert_no_error(error);
    return model;
}

/* to = from W, with the weight as the model of all stages has it; @relu: what is below 0 becomes 0. */
static void multiply(const IfmModel *model, const char *weight, int depth, int width, gboolean relu, Rows from, Rows to)
{
    IfmTensor tensor;
    float w[MAXIMUM * MAXIMUM];
    g_assert_true(ifm_model_initializer(model, weight, &tensor));
    g_assert_cmpint(ifm_tensor_n_elements(&tensor), ==, depth * width);
    memcpy(w, tensor.data, tensor.size_bytes);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < width; i++)
        {
            double sum = 0;
            for (int k = 0; k < depth; k++)
                sum += from[row][k] * w[k * width + i];
            to[row][i] = relu && sum < 0 ? 0 : sum;
        }
}

/* values[0]: what enters; values[s]: what stage s makes. */
static void compute(Rows *values)
{
    g_autoptr(IfmModel) all = build(1, 4, ROWS);
    Rows between;
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < FEATURES; k++)
            values[0][row][k] = (row * 31 + k * 17) % 13 / 6.0 - 1;
    multiply(all, "W_1", FEATURES, HIDDEN, FALSE, values[0], values[1]);
    multiply(all, "W_2", HIDDEN, WIDE, TRUE, values[1], between);
    multiply(all, "W_3", WIDE, HIDDEN, FALSE, between, values[2]);
    multiply(all, "W_4", HIDDEN, HIDDEN, FALSE, values[2], values[3]);
    multiply(all, "W_5", HIDDEN, HIDDEN, TRUE, values[3], between);
    multiply(all, "W_6", HIDDEN, HIDDEN, FALSE, between, values[4]);
}

static void tensor_fill(IfmTensor *tensor, Rows from, gint64 first, gint64 rows, gint64 columns)
{
    g_assert_true(ifm_tensor_init(tensor, IFM_DTYPE_F32, 2, (gint64[]){ rows, columns }, NULL));
    for (gint64 i = 0; i < rows * columns; i++)
        ((float *)tensor->data)[i] = (float)from[first + i / columns][i % columns];
}

/* run_rows: rows @low to @high - 1 through stages @first to @last, against what they should become. */
static void run_rows(Fixture *fixture, Rows *values, int first, int last, gint64 low, gint64 high, gboolean dynamic)
{
    g_autoptr(GError) error = NULL;
    IfmTensor input, right, output;
    fixture_compile(fixture, build(first, last, dynamic ? 0 : high - low), NULL);
    g_assert_cmpuint(ifm_model_n_inputs(fixture->model), ==, 1);
    g_assert_cmpuint(ifm_model_n_outputs(fixture->model), ==, 1);
    tensor_fill(&input, values[first - 1], low, high - low, first == 1 ? FEATURES : HIDDEN);
    tensor_fill(&right, values[last], low, high - low, HIDDEN);
    set_input(fixture->request, &input);
    run(fixture->request);
    g_assert_true(ifm_request_output(fixture->request, 0, &output, &error));
    assert_equal(&output, &right);
    fixture_drop(fixture);
    ifm_tensor_clear(&input);
    ifm_tensor_clear(&right);
}

/* All ten ranges, whole and by parts, both forms. */
static void test_ranges(gconstpointer device)
{
    Fixture fixture;
    Rows values[5];
    if (!fixture_open(&fixture, device))
        return;
    compute(values);
    for (int first = 1; first <= 4; first++)
        for (int last = first; last <= 4; last++)
            for (int dynamic = 0; dynamic <= 1; dynamic++)
            {
                run_rows(&fixture, values, first, last, 0, ROWS, dynamic);
                run_rows(&fixture, values, first, last, 0, 5, dynamic);
                run_rows(&fixture, values, first, last, 5, ROWS, dynamic);
            }
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/engine/matmul/onnxruntime:CPU/ranges", "onnxruntime:CPU", test_ranges);
    g_test_add_data_func("/engine/matmul/openvino:CPU/ranges", "openvino:CPU", test_ranges);
    return g_test_run();
}
