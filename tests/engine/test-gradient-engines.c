/*
 * Each rule against central finite differences. The loss is the mean squared error against a drawn target; the forward
 * model is run by ONNX Runtime, in double where it has the operators in double, and the loss is summed up in double here.
 * Rules of operators that it has in single alone are held to the same differences with a wider step and tolerance: most of
 * those are linear in each input, so that the loss is a square along it and a central difference of any step exact. Then
 * the same backward models, in single, on each engine, against what they gave in double.
 */
#include <gradient/gradient.h>

#include "graph-text.h"
#include "run-model.h"

typedef struct
{
    const char *name, *text;
    gboolean is_single;       /* ONNX Runtime has it not in double */
    double step;              /* 0: the usual one */
    gint64 opset;             /* 0: 17 */
    const char *not_openvino; /* why not */
    const char *plain;        /* the same in operators that ONNX Runtime has; NULL: it has those of @text */
} Case;

#include "gradient-cases.h"

static gint64 opset_of(const Case *test)
{
    return test->opset > 0 ? test->opset : 17;
}

static IfmModel *model_of(const Case *test, IfmDtype dtype)
{
    return text_model(test->text, dtype, FALSE, opset_of(test));
}

/* forward_of: what is run forwards, its parameters as inputs. */
static IfmModel *forward_of(const Case *test, IfmDtype dtype)
{
    return text_model(test->plain != NULL ? test->plain : test->text, dtype, TRUE, opset_of(test));
}

/* backward_of: @parameters: NULL: those that nobody named */
static IfmModel *backward_of(IfmModel *model, const char *name, char *const *parameters)
{
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .input_gradients = TRUE };
    options.parameters = (const char *const *)parameters;
    IfmModel *backward = ifm_gradient_backward(model, &options, &error);
    if (backward == NULL)
        g_error("%s: %s", name, error->message);
    return backward;
}

/* parameters_of: all that the text calls so, scalars too. */
static char **parameters_of(const Case *test)
{
    return test->plain != NULL ? NULL : text_parameters(test->text);
}

static void copy_values(IfmTensor *to, const IfmTensor *from)
{
    g_assert_cmpint(ifm_tensor_n_elements(to), ==, ifm_tensor_n_elements(from));
    if (to->dtype == IFM_DTYPE_I64)
        memcpy(to->data, from->data, from->size_bytes);
    for (gint64 i = 0; to->dtype != IFM_DTYPE_I64 && i < ifm_tensor_n_elements(to); i++)
        set_double(to, i, ifm_tensor_get_double(from, i));
}

/* P, Q and R are what some cases make of N. */
static const IfmDimBinding free_dims[] = { { "N", 3 }, { "M", 2 }, { "P", 5 }, { "Q", 2 }, { "R", 4 } };

/* free_of: those of @free_dims that a model has. */
static gsize free_of(const IfmModel *model, IfmDimBinding *bindings)
{
    gsize n = 0;
    for (gsize k = 0; k < G_N_ELEMENTS(free_dims); k++)
    {
        gboolean has = FALSE;
        for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
            for (int axis = 0; axis < ifm_model_input(model, i)->rank; axis++)
                has = has || g_strcmp0(ifm_model_input(model, i)->dim_names[axis], free_dims[k].name) == 0;
        if (has)
            bindings[n++] = free_dims[k];
    }
    return n;
}

/* In the types that it is written in: MaxPool's gradient finds its places in single in a model in double too. */
static void prepare(Run *run, IfmModel *model)
{
    IfmDimBinding bindings[G_N_ELEMENTS(free_dims)];
    gsize n = free_of(model, bindings);
    run_compile(run, model, ifm_model_dtype(model), bindings, n);
}

/* set_drawn: Inputs, by name the same numbers in every model of one case; parameters as inputs have their own. */
static void set_drawn(Run *run, IfmModel *model)
{
    for (gsize i = 0; i < run->n; i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        g_autofree char *key = g_strdup_printf("inferometer.range.%s", port->name);
        const char *range = ifm_model_metadata(model, key);
        double low = -1, high = 1;
        if (range != NULL)
            sscanf(range, "%lf %lf", &low, &high);
        if (port->dtype != IFM_DTYPE_I64)
            text_draw(&run->inputs[i], port->name, low, high, 7);
    }
}

/* loss_of: of the forward model's output, in double. */
static double loss_of(Run *forward, const char *output, const IfmTensor *target)
{
    run_once(forward);
    IfmTensor y = run_output(forward, output);
    double sum = 0;
    gint64 n = ifm_tensor_n_elements(&y);
    g_assert_cmpint(n, ==, ifm_tensor_n_elements(target));
    for (gint64 i = 0; i < n; i++)
    {
        double difference = ifm_tensor_get_double(&y, i) - ifm_tensor_get_double(target, i);
        sum += difference * difference;
    }
    return sum / (double)n;
}

/* check_tensor: the gradient by each element of input @name of the forward model. */
static void check_tensor(const Case *test, Run *forward, const char *output, const IfmTensor *target, const char *name,
                         const IfmTensor *gradient)
{
    IfmTensor *input = run_input(forward, name);
    double step = test->step > 0 ? test->step : test->is_single ? 0.25 : 1e-5;
    double tolerance = test->is_single ? 5e-4 : 1e-6, scale = 0;
    g_assert_cmpint(gradient->rank, ==, input->rank);
    for (int i = 0; i < input->rank; i++)
        g_assert_cmpint(gradient->shape[i], ==, input->shape[i]);
    for (gint64 i = 0; i < ifm_tensor_n_elements(input); i++)
        scale = MAX(scale, fabs(ifm_tensor_get_double(gradient, i)));
    for (gint64 i = 0; i < ifm_tensor_n_elements(input); i++)
    {
        double value = ifm_tensor_get_double(input, i), got = ifm_tensor_get_double(gradient, i);
        set_double(input, i, value + step);
        double above = loss_of(forward, output, target), upper = ifm_tensor_get_double(input, i);
        set_double(input, i, value - step);
        double below = loss_of(forward, output, target), lower = ifm_tensor_get_double(input, i);
        set_double(input, i, value);
        double expected = (above - below) / (upper - lower);
        if (!(fabs(got - expected) <= tolerance * (scale + 1e-3)))
            g_error("%s: gradient by %s[%" G_GINT64_FORMAT "]: %.9g, by differences %.9g (largest %.3g)", test->name, name,
                    i, got, expected, scale);
    }
}

/* check_all: every gradient that the backward model gives out. */
static void check_all(const Case *test, Run *forward, Run *backward, const char *output)
{
    gsize n_checked = 0;
    const IfmTensor *target = run_input(backward, "target");
    IfmTensor loss = run_output(backward, "loss");
    g_assert_cmpint(loss.rank, ==, 0);
    double expected = loss_of(forward, output, target);
    g_assert_cmpfloat(fabs(ifm_tensor_get_double(&loss, 0) - expected), <=,
                      (test->is_single ? 1e-5 : 1e-12) * (1 + expected));
    for (gsize i = 0; i < ifm_model_n_outputs(backward->fixture.model); i++)
    {
        const char *name = ifm_model_output(backward->fixture.model, i)->name;
        if (!g_str_has_prefix(name, "grad."))
            continue;
        IfmTensor gradient = run_output(backward, name);
        check_tensor(test, forward, output, target, name + strlen("grad."), &gradient);
        n_checked++;
    }
    g_assert_cmpuint(n_checked, >, 0);
}

static void test_differences(gconstpointer data)
{
    const Case *test = data;
    IfmDtype dtype = test->is_single ? IFM_DTYPE_F32 : IFM_DTYPE_F64;
    Run forward, backward;
    if (!run_open(&forward, "onnxruntime:CPU"))
        return;
    g_assert_true(run_open(&backward, "onnxruntime:CPU"));
    g_autoptr(IfmModel) model = model_of(test, dtype), all_inputs = forward_of(test, dtype);
    g_auto(GStrv) parameters = parameters_of(test);
    g_autoptr(IfmModel) derived = backward_of(model, test->name, parameters);
    prepare(&forward, all_inputs);
    prepare(&backward, derived);
    set_drawn(&forward, all_inputs);
    set_drawn(&backward, derived);
    run_once(&backward);
    check_all(test, &forward, &backward, ifm_model_output(model, 0)->name);
    run_close(&backward);
    run_close(&forward);
}

/* --- the same on every engine, in single
 * ----------------------------------------------------------------------------------
 */

static void compare_outputs(const char *name, Run *run, Run *reference)
{
    for (gsize i = 0; i < ifm_model_n_outputs(run->fixture.model); i++)
    {
        const char *output = ifm_model_output(run->fixture.model, i)->name;
        IfmTensor value = run_output(run, output), right = run_output(reference, output);
        double scale = 0;
        g_assert_cmpint(value.rank, ==, right.rank);
        g_assert_cmpint(ifm_tensor_n_elements(&value), ==, ifm_tensor_n_elements(&right));
        for (gint64 k = 0; k < ifm_tensor_n_elements(&right); k++)
            scale = MAX(scale, fabs(ifm_tensor_get_double(&right, k)));
        for (gint64 k = 0; k < ifm_tensor_n_elements(&right); k++)
        {
            double got = ifm_tensor_get_double(&value, k), expected = ifm_tensor_get_double(&right, k);
            if (!(fabs(got - expected) <= 2e-4 * (scale + 1e-3)))
                g_error("%s: %s[%" G_GINT64_FORMAT "] is %.9g, right is %.9g", name, output, k, got, expected);
        }
    }
}

static void test_engine(gconstpointer data, const char *device)
{
    const Case *test = data;
    IfmDtype dtype = test->is_single ? IFM_DTYPE_F32 : IFM_DTYPE_F64;
    Run run, reference;
    if (!run_open(&run, device))
        return;
    if (!run_open(&reference, "onnxruntime:CPU"))
    {
        run_close(&run);
        return;
    }
    g_autoptr(IfmModel) model = model_of(test, IFM_DTYPE_F32), exact = model_of(test, dtype);
    g_auto(GStrv) parameters = parameters_of(test);
    g_autoptr(IfmModel) derived = backward_of(model, test->name, parameters);
    g_autoptr(IfmModel) exact_derived = backward_of(exact, test->name, parameters);
    prepare(&run, derived);
    prepare(&reference, exact_derived);
    set_drawn(&run, derived);
    for (gsize i = 0; i < run.n; i++)
        copy_values(&reference.inputs[i], &run.inputs[i]);
    run_once(&run);
    run_once(&reference);
    compare_outputs(test->name, &run, &reference);
    run_close(&reference);
    run_close(&run);
}

static void test_onnxruntime(gconstpointer data)
{
    test_engine(data, "onnxruntime:CPU");
}

static void test_openvino(gconstpointer data)
{
    const Case *test = data;
    if (test->not_openvino != NULL)
        g_test_skip(test->not_openvino);
    else
        test_engine(data, "openvino:CPU");
}

/* --- equal extremes, kinks, ends ---------------------------------------------------------------------------------------
 */

/* Tie: inputs x and w, y - target, which is whole after the loss's factor 2 / n, and the gradients that follow. */
typedef struct
{
    const char *name, *text;
    double x[4], w[4], y[4], slope[4], by_x[4], by_w[4];
} Tie;

static const Tie ties[] = {
    { "scatter-elements",
      "x : [3]; w : [4]; i # [4] 0 0 1 2; y = ScatterElements(x, i, w) axis=0 reduction=max; -> y [3]",
      { 1, 0, 2 },
      { 3, 3, 5, 2 },
      { 3, 5, 2 },
      { 2, 4, 6 },
      { 0, 0, 3 },
      { 1, 1, 4, 3 } },
    { "scatter-nd",
      "x : [3,1]; w : [4,1]; i # [4,1] 1 1 1 0; y = ScatterND(x, i, w) reduction=min; -> y [3,1]",
      { 1, 4, 7 },
      { 4, 9, 4, 2 },
      { 1, 4, 7 },
      { 2, 6, 4 },
      { 2, 2, 4 },
      { 2, 0, 2, 0 } },
    { "max",
      "x : [4]; w : [4]; y = Max(x, w); -> y [4]",
      { 1, 2, 3, 5 },
      { 1, 3, 2, 5 },
      { 1, 3, 3, 5 },
      { 2, 4, 6, 8 },
      { 1, 0, 6, 4 },
      { 1, 4, 0, 4 } },
    { "reduce-max",
      "x : [2,2]; w : [2,1]; k # [1] 1; a = ReduceMax(x, k); y = Add(a, w); -> y [2,1]",
      { 2, 2, 0, 1 },
      { 1, 1 },
      { 3, 2 },
      { 4, 6 },
      { 2, 2, 0, 6 },
      { 4, 6 } },
    { "pow",
      "x : [4]; w : [4]; y = Pow(x, w); -> y [4]",
      { 0, 0, -2, 0 },
      { 0, 1, 3, 2 },
      { 1, 0, -8, 0 },
      { 2, 4, 6, 8 },
      { 0, 4, 72, 0 } },
    { "pow-root",
      "x : [4]; w : [4]; y = Pow(x, w); -> y [4]",
      { 0, 4, 1, 1 },
      { 0.5, 0.5, 0, -1 },
      { 0, 2, 1, 1 },
      { 2, 4, 6, 8 },
      { INFINITY, 1, 0, -8 },
      { 0, 8 * 2 * G_LN2, 0, 0 } },
    { "pow-none",
      "x : [4]; w : [4]; e % [] 0; a = Pow(x, e); y = Add(a, w); -> y [4]",
      { 0, -2, 3, 0 },
      { 1, 1, 1, 1 },
      { 2, 2, 2, 2 },
      { 2, 4, 6, 8 },
      { 0, 0, 0, 0 },
      { 2, 4, 6, 8 } },
    { "pow-square",
      "x : [4]; w : [4]; e % [] 2; a = Pow(x, e); y = Add(a, w); -> y [4]",
      { 0, -2, 3, 1 },
      { 1, 1, 1, 1 },
      { 1, 5, 10, 2 },
      { 2, 4, 6, 8 },
      { 0, -16, 36, 16 },
      { 2, 4, 6, 8 } },
    { "pow-whole",
      "x : [4]; w : [4]; e # [2,1,1] 1 3; a = Pow(x, e); k # [2] 0 1; b = ReduceSum(a, k) keepdims=0; y = Add(b, w); "
      "-> y [4]",
      { 0, -2, 3, 1 },
      { 1, 1, 1, 1 },
      { 1, -9, 31, 3 },
      { 2, 4, 6, 8 },
      { 2, 52, 168, 32 },
      { 2, 4, 6, 8 } },
    { "clip-ends",
      "x : [4]; w : [4]; l % [] -1; h % [] 2; a = Clip(x, l, h); y = Add(a, w); -> y [4]",
      { -1, 2, -3, 5 },
      { 1, 1, 1, 1 },
      { 0, 3, 0, 3 },
      { 2, 4, 6, 8 },
      { 2, 4, 0, 0 },
      { 2, 4, 6, 8 } },
    { "max-pool",
      "x : [1,1,4]; w : [1,1,3]; a = MaxPool(x) kernel_shape=[2]; y = Add(a, w); -> y [1,1,3]",
      { 2, 2, 2, 1 },
      { 0, 1, 2 },
      { 2, 3, 4 },
      { 2, 4, 6 },
      { 2, 4, 6, 0 },
      { 2, 4, 6 } },
    { "max-pool-infinite", /* as small as what some pad with */
      "x : [1,1,4]; w : [1,1,4]; a = MaxPool(x) kernel_shape=[3] pads=[1,1]; b = Max(a, w); y = Mul(b, b); -> y [1,1,4]",
      { -INFINITY, -INFINITY, 2, 2 },
      { 1, 1, 1, 1 },
      { 1, 4, 4, 4 },
      { 2, 4, 6, 8 },
      { 0, 0, 72, 0 },
      { 4, 0, 0, 0 } },
};

static void assert_values(const Tie *tie, const char *what, const IfmTensor *got, const double *expected)
{
    for (gint64 i = 0; i < ifm_tensor_n_elements(got); i++)
        if (ifm_tensor_get_double(got, i) != expected[i] &&
            !(fabs(ifm_tensor_get_double(got, i) - expected[i]) <= 1e-6 * (1 + fabs(expected[i]))))
            g_error("%s: %s[%" G_GINT64_FORMAT "] is %g, not %g", tie->name, what, i, ifm_tensor_get_double(got, i),
                    expected[i]);
}

/* The loss's gradient is 2 / n (y - target): the target is put so that it is the slope. */
static void check_tie(const Tie *tie, const char *device)
{
    Run run;
    if (!run_open(&run, device))
        return;
    g_autoptr(IfmModel) model = text_model(tie->text, IFM_DTYPE_F32, FALSE, 18);
    g_autoptr(IfmModel) derived = backward_of(model, tie->name, NULL);
    prepare(&run, derived);
    IfmTensor *x = run_input(&run, "x"), *w = run_input(&run, "w"), *target = run_input(&run, "target");
    gint64 n = ifm_tensor_n_elements(target);
    for (gint64 i = 0; i < ifm_tensor_n_elements(x); i++)
        set_double(x, i, tie->x[i]);
    for (gint64 i = 0; i < ifm_tensor_n_elements(w); i++)
        set_double(w, i, tie->w[i]);
    for (gint64 i = 0; i < n; i++)
        set_double(target, i, tie->y[i] - tie->slope[i] * (double)n / 2);
    run_once(&run);
    IfmTensor by_x = run_output(&run, "grad.x"), by_w = run_output(&run, "grad.w");
    assert_values(tie, "grad.x", &by_x, tie->by_x);
    assert_values(tie, "grad.w", &by_w, tie->by_w);
    run_close(&run);
}

static void test_tie_onnxruntime(gconstpointer data)
{
    check_tie(data, "onnxruntime:CPU");
}

static void test_tie_openvino(gconstpointer data)
{
    check_tie(data, "openvino:CPU");
}

/* --- branches that are known -------------------------------------------------------------------------------------- */

/* The model of tests/data/branches.py beside the same without If. A weight in a branch is one of the model. */
static void test_branches(gconstpointer device)
{
    static const char *const compared[][2] = {
        { "loss", "loss" }, { "grad.x", "grad.x" }, { "grad.w", "grad.w" }, { "grad.y#5/v", "grad.v" }
    };
    g_autoptr(GError) error = NULL;
    Run run, plain;
    if (!run_open(&run, device))
        return;
    g_assert_true(run_open(&plain, device));
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "data", "branches.onnx", NULL);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) same = text_model("x : [N,3]; w : [3]; v % [3] 0.5 -1 0.25; a = Mul(x, w); b = Add(a, v); "
                                          "y = Tanh(b); z = Mul(y, y); -> z [N,3]",
                                          IFM_DTYPE_F32, FALSE, 17);
    char *const weight[] = { (char *)"v", NULL };
    g_autoptr(IfmModel) derived = backward_of(model, "branches", NULL);
    g_autoptr(IfmModel) expected = backward_of(same, "without branches", weight);
    prepare(&run, derived);
    prepare(&plain, expected);
    set_drawn(&run, derived);
    for (gsize i = 0; i < run.n; i++)
        copy_values(run_input(&plain, ifm_model_input(derived, i)->name), &run.inputs[i]);
    run_once(&run);
    run_once(&plain);
    for (gsize i = 0; i < G_N_ELEMENTS(compared); i++)
    {
        IfmTensor got = run_output(&run, compared[i][0]), right = run_output(&plain, compared[i][1]);
        g_assert_cmpint(ifm_tensor_n_elements(&got), ==, ifm_tensor_n_elements(&right));
        for (gint64 k = 0; k < ifm_tensor_n_elements(&got); k++)
            g_assert_cmpfloat(fabs(ifm_tensor_get_double(&got, k) - ifm_tensor_get_double(&right, k)), <=, 1e-6);
    }
    run_close(&plain);
    run_close(&run);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/gradient/branches/onnxruntime", "onnxruntime:CPU", test_branches);
    g_test_add_data_func("/gradient/branches/openvino", "openvino:CPU", test_branches);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *differences = g_strdup_printf("/gradient/rules/differences/%s", cases[i].name);
        g_autofree char *onnxruntime = g_strdup_printf("/gradient/rules/onnxruntime/%s", cases[i].name);
        g_autofree char *openvino = g_strdup_printf("/gradient/rules/openvino/%s", cases[i].name);
        g_test_add_data_func(differences, &cases[i], test_differences);
        g_test_add_data_func(onnxruntime, &cases[i], test_onnxruntime);
        g_test_add_data_func(openvino, &cases[i], test_openvino);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(ties); i++)
    {
        g_autofree char *onnxruntime = g_strdup_printf("/gradient/rules/ties/onnxruntime/%s", ties[i].name);
        g_autofree char *openvino = g_strdup_printf("/gradient/rules/ties/openvino/%s", ties[i].name);
        g_test_add_data_func(onnxruntime, &ties[i], test_tie_onnxruntime);
        g_test_add_data_func(openvino, &ties[i], test_tie_openvino);
    }
    return g_test_run();
}
