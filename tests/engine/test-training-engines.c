/*
 * Training steps on every engine there is: a perceptron of two layers beside the same in plain C and in double, with each
 * optimiser; a small convolutional network whose loss falls; what batch normalisation does in training; gradients of what
 * the loss does not depend on, and of what it depends on twice.
 */
#include "graph-text.h"
#include "training.h"

#define N_STEPS 30

static const char *const devices[] = { "onnxruntime:CPU", "openvino:CPU" };

/* --- a perceptron in C
 * ----------------------------------------------------------------------------------------------------
 */

#define ROWS 8
#define IN 3
#define HIDDEN 5
#define OUT 2
#define MLP                                                                                                                \
    "x : [8,3]; w1 ! [3,5]; b1 ! [5]; w2 ! [5,2]; b2 ! [2] 0.5 1; p = MatMul(x, w1); q = Add(p, b1); h = Tanh(q); "        \
    "r = Gemm(h, w2, b2); y = Relu(r); -> y [8,2]"

/* Weight: a parameter with what each optimiser keeps of it. */
typedef struct
{
    double value[IN * HIDDEN], gradient[IN * HIDDEN], velocity[IN * HIDDEN], m[IN * HIDDEN], v[IN * HIDDEN];
    int n;
} Weight;

typedef struct
{
    Weight w1, b1, w2, b2;
    double x[ROWS][IN], target[ROWS][OUT];
    int n_steps;
} Perceptron;

static void take(Weight *weight, Run *run, const char *name)
{
    const IfmTensor *tensor = run_input(run, name);
    *weight = (Weight){ .n = (int)ifm_tensor_n_elements(tensor) };
    for (int i = 0; i < weight->n; i++)
        weight->value[i] = ifm_tensor_get_double(tensor, i);
}

/* back_row: one row's share of the gradients. @slope: of the loss by the outputs */
static void back_row(Perceptron *net, const double *x, const double *h, const double *slope)
{
    for (int k = 0; k < OUT; k++)
        net->b2.gradient[k] += slope[k];
    for (int j = 0; j < HIDDEN; j++)
    {
        double by_hidden = 0;
        for (int k = 0; k < OUT; k++)
        {
            net->w2.gradient[j * OUT + k] += h[j] * slope[k];
            by_hidden += net->w2.value[j * OUT + k] * slope[k];
        }
        by_hidden *= 1 - h[j] * h[j];
        net->b1.gradient[j] += by_hidden;
        for (int i = 0; i < IN; i++)
            net->w1.gradient[i * HIDDEN + j] += x[i] * by_hidden;
    }
}

/* gradients: Returns: the loss. */
static double gradients(Perceptron *net)
{
    double loss = 0;
    Weight *const weights[] = { &net->w1, &net->b1, &net->w2, &net->b2 };
    for (int i = 0; i < 4; i++)
        memset(weights[i]->gradient, 0, sizeof weights[i]->gradient);
    for (int row = 0; row < ROWS; row++)
    {
        double h[HIDDEN], slope[OUT];
        for (int j = 0; j < HIDDEN; j++)
        {
            double sum = net->b1.value[j];
            for (int i = 0; i < IN; i++)
                sum += net->x[row][i] * net->w1.value[i * HIDDEN + j];
            h[j] = tanh(sum);
        }
        for (int k = 0; k < OUT; k++)
        {
            double sum = net->b2.value[k];
            for (int j = 0; j < HIDDEN; j++)
                sum += h[j] * net->w2.value[j * OUT + k];
            double difference = MAX(sum, 0) - net->target[row][k];
            loss += difference * difference / (ROWS * OUT);
            slope[k] = sum > 0 ? 2 * difference / (ROWS * OUT) : 0;
        }
        back_row(net, net->x[row], h, slope);
    }
    return loss;
}

static void descend(Weight *weight, const IfmTrainingOptions *options, int step)
{
    for (int i = 0; i < weight->n; i++)
    {
        double g = weight->gradient[i];
        weight->velocity[i] = options->momentum * weight->velocity[i] + g;
        weight->m[i] = options->beta1 * weight->m[i] + (1 - options->beta1) * g;
        weight->v[i] = options->beta2 * weight->v[i] + (1 - options->beta2) * g * g;
        if (options->optimiser == IFM_OPTIMISER_SGD)
            weight->value[i] -= options->learning_rate * g;
        else if (options->optimiser == IFM_OPTIMISER_MOMENTUM)
            weight->value[i] -= options->learning_rate * weight->velocity[i];
        else
        {
            double m = weight->m[i] / (1 - pow(options->beta1, step)), v = weight->v[i] / (1 - pow(options->beta2, step));
            weight->value[i] -= options->learning_rate * m / (sqrt(v) + options->epsilon);
        }
    }
}

static void assert_near(double got, double expected, double tolerance, const char *what, int step)
{
    if (!(fabs(got - expected) <= tolerance * (fabs(expected) + 1e-2)))
        g_error("%s, step %d: %.9g, in C %.9g", what, step, got, expected);
}

static void assert_weight(Run *run, const char *name, const Weight *weight, int step)
{
    for (int i = 0; i < weight->n; i++)
        assert_near(ifm_tensor_get_double(run_input(run, name), i), weight->value[i], 1e-4, name, step);
}

static void take_all(Perceptron *net, Run *run)
{
    IfmTensor *target = run_input(run, "target");
    text_draw(run_input(run, "x"), "x", -1, 1, 5);
    text_draw(target, "target", 0.2, 1.5, 5); /* above 0, so that a rectifier can reach it */
    take(&net->w1, run, "w1");
    take(&net->b1, run, "b1");
    take(&net->w2, run, "w2");
    take(&net->b2, run, "b2");
    for (int row = 0; row < ROWS; row++)
    {
        for (int i = 0; i < IN; i++)
            net->x[row][i] = ifm_tensor_get_double(run_input(run, "x"), row * IN + i);
        for (int k = 0; k < OUT; k++)
            net->target[row][k] = ifm_tensor_get_double(target, row * OUT + k);
    }
}

static void train_perceptron(const char *device, IfmOptimiser optimiser, double learning_rate)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    g_autoptr(IfmModel) model = text_model(MLP, IFM_DTYPE_F32, FALSE, 17);
    Training training;
    Perceptron net = { 0 };
    options.optimiser = optimiser;
    options.learning_rate = learning_rate;
    if (!training_open(&training, device, model, &options))
        return;
    take_all(&net, &training.run);
    double first = 0, last = 0;
    for (int step = 1; step <= N_STEPS; step++)
    {
        double expected = gradients(&net);
        Weight *const weights[] = { &net.w1, &net.b1, &net.w2, &net.b2 };
        for (int i = 0; i < 4; i++)
            descend(weights[i], &options, step);
        last = training_step(&training);
        first = step == 1 ? last : first;
        assert_near(last, expected, 1e-4, "loss", step);
        assert_weight(&training.run, "w1", &net.w1, step);
        assert_weight(&training.run, "b1", &net.b1, step);
        assert_weight(&training.run, "w2", &net.w2, step);
        assert_weight(&training.run, "b2", &net.b2, step);
    }
    g_assert_cmpfloat(last, <, 0.7 * first);
    training_close(&training);
}

static void test_sgd(gconstpointer device)
{
    train_perceptron(device, IFM_OPTIMISER_SGD, 0.3);
}

static void test_momentum(gconstpointer device)
{
    train_perceptron(device, IFM_OPTIMISER_MOMENTUM, 0.1);
}

static void test_adam(gconstpointer device)
{
    train_perceptron(device, IFM_OPTIMISER_ADAM, 0.03);
}

/* --- a convolutional network
 * ----------------------------------------------------------------------------------------------
 */

#define CNN                                                                                                                \
    "x : [12,2,8,8]; w1 ! [4,2,3,3]; b1 ! [4]; s ! [4] 0.8 1.2; b ! [4]; m ! [4] 0 0.1; v ! [4] 0.9 1; w2 ! [6,2,3,3]; "   \
    "w3 ! [6,3]; b3 ! [3]; c1 = Conv(x, w1, b1) pads=[1,1,1,1]; n nm nv = BatchNormalization(c1, s, b, m, v) "             \
    "training_mode=1; r1 = Relu(n); p = MaxPool(r1) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]; "                     \
    "c2 = Conv(p, w2) group=2 strides=[2,2]; r2 = Relu(c2); g = GlobalAveragePool(r2); f = Flatten(g); "                   \
    "y = Gemm(f, w3, b3); -> y [12,3]"

static void test_cnn(gconstpointer device)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    g_autoptr(IfmModel) model = text_model(CNN, IFM_DTYPE_F32, FALSE, 17);
    Training training;
    options.optimiser = IFM_OPTIMISER_ADAM;
    options.learning_rate = 0.03;
    options.gradient.loss = IFM_LOSS_CROSS_ENTROPY;
    if (!training_open(&training, device, model, &options))
        return;
    IfmTensor *x = run_input(&training.run, "x"), *target = run_input(&training.run, "target");
    text_draw(x, "x", -1, 1, 5);
    for (gint64 i = 0; i < 12; i++) /* a class is seen in the mean of a channel */
    {
        ((gint64 *)target->data)[i] = i % 3;
        for (gint64 k = 0; k < 128; k++)
            ((float *)x->data)[i * 128 + k] += k < 64 ? (float)(i % 3) - 1 : 0;
    }
    double losses[N_STEPS];
    int n_rises = 0;
    for (int step = 0; step < N_STEPS; step++)
    {
        losses[step] = training_step(&training);
        n_rises += step > 0 && losses[step] > losses[step - 1];
    }
    g_test_message("loss %.4f to %.4f, %d rises", losses[0], losses[N_STEPS - 1], n_rises);
    g_assert_cmpfloat(losses[N_STEPS - 1], <, 0.5 * losses[0]);
    g_assert_cmpint(n_rises, <=, N_STEPS / 5);
    training_close(&training);
}

/* --- batch normalisation in training
 * --------------------------------------------------------------------------------------
 */

#define NORM                                                                                                               \
    "x : [4,2,3]; s ! [2]; b ! [2]; m ! [2]; v ! [2] 0.5 1; y nm nv = BatchNormalization(x, s, b, m, v) training_mode=1 "  \
    "momentum=0.75 epsilon=0.01; -> y [4,2,3]"

/* The batch's mean and variance (over all its elements, not one less) go into the running ones; the loss is that of what is
 * normalised by the batch's. */
static void test_running_statistics(gconstpointer device)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    g_autoptr(IfmModel) model = text_model(NORM, IFM_DTYPE_F32, FALSE, 17);
    Training training;
    if (!training_open(&training, device, model, &options))
        return;
    Weight scale, bias, mean, variance;
    take(&scale, &training.run, "s");
    take(&bias, &training.run, "b");
    take(&mean, &training.run, "m");
    take(&variance, &training.run, "v");
    const IfmTensor *x = run_input(&training.run, "x"), *target = run_input(&training.run, "target");
    double loss = 0;
    for (int channel = 0; channel < 2; channel++)
    {
        double sum = 0, squares = 0;
        for (int i = 0; i < 12; i++)
            sum += ifm_tensor_get_double(x, i / 3 * 6 + channel * 3 + i % 3) / 12;
        for (int i = 0; i < 12; i++)
            squares += pow(ifm_tensor_get_double(x, i / 3 * 6 + channel * 3 + i % 3) - sum, 2) / 12;
        for (int i = 0; i < 12; i++)
        {
            int at = i / 3 * 6 + channel * 3 + i % 3;
            double y =
                (ifm_tensor_get_double(x, at) - sum) / sqrt(squares + 0.01) * scale.value[channel] + bias.value[channel];
            loss += pow(y - ifm_tensor_get_double(target, at), 2) / 24;
        }
        mean.value[channel] = 0.75 * mean.value[channel] + 0.25 * sum;
        variance.value[channel] = 0.75 * variance.value[channel] + 0.25 * squares;
    }
    assert_near(training_step(&training), loss, 1e-5, "loss", 1);
    assert_weight(&training.run, "m", &mean, 1);
    assert_weight(&training.run, "v", &variance, 1);
    training_close(&training);
}

/* --- sums and zeros
 * -------------------------------------------------------------------------------------------------------
 */

/* x w + w, with x and target chosen so that all is whole: y = 3, dy = 2 (3 - 1) / 1 = 4, dw = 4 x + 4 = 12 */
static void test_twice_and_never(gconstpointer device)
{
    const char *text = "x : [1]; w ! [1]; u ! [2,3]; z : [N,2]; a = Mul(x, w); y = Add(a, w); q = Mul(z, z); -> y [1]";
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .input_gradients = TRUE };
    Run run;
    if (!run_open(&run, device))
        return;
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(IfmModel) backward = ifm_gradient_backward(model, &options, &error);
    g_assert_no_error(error);
    run_compile(&run, backward, IFM_DTYPE_F32, &(IfmDimBinding){ "N", 4 }, 1);
    IfmTensor weight;
    g_assert_true(ifm_model_initializer(model, "w", &weight));
    float w;
    memcpy(&w, weight.data, sizeof w);
    set_double(run_input(&run, "x"), 0, 2);
    set_double(run_input(&run, "target"), 0, 1);
    run_once(&run);
    IfmTensor gradient = run_output(&run, "grad.w"), unused = run_output(&run, "grad.u"),
              input = run_output(&run, "grad.z");
    double slope = 2 * (3 * (double)w - 1);
    assert_near(ifm_tensor_get_double(&gradient, 0), 3 * slope, 1e-5, "grad.w", 1);
    g_assert_true(unused.rank == 2 && unused.shape[0] == 2 && unused.shape[1] == 3);
    g_assert_true(input.rank == 2 && input.shape[0] == 4 && input.shape[1] == 2);
    for (int i = 0; i < 6; i++)
        g_assert_cmpfloat(ifm_tensor_get_double(&unused, i), ==, 0);
    for (int i = 0; i < 8; i++)
        g_assert_cmpfloat(ifm_tensor_get_double(&input, i), ==, 0);
    run_close(&run);
}

/* Of scores that are all equal the loss is log(classes), and its gradient what is missing from each row's target. */
static void test_cross_entropy(gconstpointer device)
{
    const char *text = "x : [2,4]; w ! [4] 1 1.001; y = Mul(x, w); -> y [2,4]";
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_CROSS_ENTROPY, .input_gradients = TRUE };
    Run run;
    if (!run_open(&run, device))
        return;
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(IfmModel) backward = ifm_gradient_backward(model, &options, &error);
    g_assert_no_error(error);
    run_compile(&run, backward, IFM_DTYPE_F32, NULL, 0);
    for (int i = 0; i < 8; i++)
        set_double(run_input(&run, "x"), i, 0);
    gint64 *target = run_input(&run, "target")->data;
    target[0] = 2;
    target[1] = 0;
    run_once(&run);
    IfmTensor loss = run_output(&run, "loss"), gradient = run_output(&run, "grad.x");
    assert_near(ifm_tensor_get_double(&loss, 0), log(4), 1e-5, "loss", 1);
    for (int i = 0; i < 8; i++)
        assert_near(ifm_tensor_get_double(&gradient, i), (i == 2 || i == 4 ? 0.25 - 1 : 0.25) / 2, 2e-3, "grad.x", i);
    run_close(&run);
}

/* --- half precision ----------------------------------------------------------------------------------------------------
 */

#define HALF_STEPS 5

/* half_gradients: of the mean squared error of x w, x [4,3] and w [3]: whose second column is 0. */
static void half_gradients(Weight *w, const IfmTensor *x, const IfmTensor *target)
{
    memset(w->gradient, 0, sizeof w->gradient);
    for (int i = 0; i < 12; i++)
    {
        double at = ifm_tensor_get_double(x, i), y = at * w->value[i % 3];
        w->gradient[i % 3] += 2 * (y - ifm_tensor_get_double(target, i)) / 12 * at;
    }
}

/* A weight whose gradient is 0 stays what it is, where Adam's epsilon is 0 in half precision; states are in single. */
static void train_half(const char *device, IfmOptimiser optimiser)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    g_autoptr(IfmModel) model = text_model("x : [4,3]; w ! [3]; y = Mul(x, w); -> y [4,3]", IFM_DTYPE_F16, FALSE, 17);
    Training training;
    Weight w;
    options.optimiser = optimiser;
    options.learning_rate = 0.03;
    if (!training_open(&training, device, model, &options))
        return;
    IfmTensor *x = run_input(&training.run, "x"), *target = run_input(&training.run, "target");
    for (int row = 0; row < 4; row++)
        set_double(x, 3 * row + 1, 0);
    take(&w, &training.run, "w");
    double fixed = w.value[1];
    for (int step = 1; step <= HALF_STEPS; step++)
    {
        half_gradients(&w, x, target);
        descend(&w, &options, step);
        training_step(&training);
        for (int i = 0; i < 3; i++) /* each step rounds to one part in 2048 */
            g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(run_input(&training.run, "w"), i), w.value[i],
                                           step * 0x1p-11);
    }
    g_assert_cmpfloat(ifm_tensor_get_double(run_input(&training.run, "w"), 1), ==, fixed);
    for (guint i = 1; i < training.states->len; i++)
        g_assert_true(((const IfmTrainingState *)training.states->pdata[i])->first.dtype != IFM_DTYPE_F16);
    training_close(&training);
}

static void test_half_sgd(gconstpointer device)
{
    train_half(device, IFM_OPTIMISER_SGD);
}

static void test_half_momentum(gconstpointer device)
{
    train_half(device, IFM_OPTIMISER_MOMENTUM);
}

static void test_half_adam(gconstpointer device)
{
    train_half(device, IFM_OPTIMISER_ADAM);
}

/* open_backward: of a text, with the gradients of its inputs. FALSE: skipped */
static gboolean open_backward(Run *run, const char *device, const char *text, IfmDtype dtype)
{
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE, .input_gradients = TRUE };
    if (!run_open(run, device))
        return FALSE;
    g_autoptr(IfmModel) model = text_model(text, dtype, FALSE, 20);
    g_autoptr(IfmModel) backward = ifm_gradient_backward(model, &options, &error);
    g_assert_no_error(error);
    run_compile(run, backward, training_dtype(run, model), NULL, 0);
    return TRUE;
}

/* The mean of more elements than half precision has numbers for: 1 / 70000 is there, 70000 is not. */
static void test_half_mean(gconstpointer device)
{
    Run run;
    if (!open_backward(&run, device, "x : [70000]; k # [1] 0; y = ReduceMean(x, k) keepdims=0; -> y []", IFM_DTYPE_F16))
        return;
    for (int i = 0; i < 70000; i++)
        set_double(run_input(&run, "x"), i, 1);
    set_double(run_input(&run, "target"), 0, -1);
    run_once(&run);
    IfmTensor gradient = run_output(&run, "grad.x");
    g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(&gradient, 69999), 4.0 / 70000, 0x1p-24);
    run_close(&run);
}

/* Squares of 300 and 1000 of them overflow; so does x^2 in the slope of a GELU. */
static void test_half_large(gconstpointer device)
{
    Run run;
    if (!open_backward(&run, device, "x : [1000]; y = Gelu(x) approximate=tanh; -> y [1000]", IFM_DTYPE_F16))
        return;
    for (int i = 0; i < 1000; i++)
    {
        set_double(run_input(&run, "x"), i, i < 500 ? 300 : -300);
        set_double(run_input(&run, "target"), i, i < 500 ? 0 : 300);
    }
    run_once(&run);
    IfmTensor loss = run_output(&run, "loss"), gradient = run_output(&run, "grad.x");
    g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(&loss, 0), 90000, 1);
    g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(&gradient, 0), 0.6, 1e-3);
    g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(&gradient, 999), 0, 1e-6);
    run_close(&run);
}

/* distance: |a - b| / |b|, the Euclidean norms. */
static double distance(const IfmTensor *a, const IfmTensor *b)
{
    double difference = 0, size = 0;
    g_assert_cmpint(ifm_tensor_n_elements(a), ==, ifm_tensor_n_elements(b));
    for (gint64 i = 0; i < ifm_tensor_n_elements(a); i++)
    {
        double right = ifm_tensor_get_double(b, i);
        difference += pow(ifm_tensor_get_double(a, i) - right, 2);
        size += right * right;
    }
    return sqrt(difference / size);
}

/* Sums over a row or a batch are beyond 65504: gradients are those that single precision gives, as far as digits go. */
static void check_half_norm(const char *device, const char *text)
{
    Run half, single;
    if (!open_backward(&half, device, text, IFM_DTYPE_F16))
        return;
    g_assert_true(open_backward(&single, device, text, IFM_DTYPE_F32));
    for (gsize i = 0; i < half.n; i++)
        for (gint64 k = 0; k < ifm_tensor_n_elements(&half.inputs[i]); k++)
            set_double(&single.inputs[i], k, ifm_tensor_get_double(&half.inputs[i], k));
    run_once(&half);
    run_once(&single);
    for (gsize i = 1; i < ifm_model_n_outputs(half.fixture.model); i++)
    {
        const char *name = ifm_model_output(half.fixture.model, i)->name;
        IfmTensor got = run_output(&half, name), right = run_output(&single, name);
        g_assert_cmpint(got.dtype, ==, IFM_DTYPE_F16);
        if (!(distance(&got, &right) <= 2e-2))
            g_error("%s: %s is off by %.3g of its size", text, name, distance(&got, &right));
    }
    run_close(&single);
    run_close(&half);
}

static void test_half_norms(gconstpointer device)
{
    check_half_norm(device, "x : [2,4096] 29 31; w ! [4096]; b ! [4096]; y = LayerNormalization(x, w, b); -> y [2,4096]");
    check_half_norm(device, "x : [64,2,40,40] 1.5 2.5; s ! [2]; b ! [2]; m ! [2]; v ! [2] 0.5 1; "
                            "y = BatchNormalization(x, s, b, m, v) training_mode=1; -> y [64,2,40,40]");
    check_half_norm(device, "x : [64,2,40,40] 1.5 2.5; s ! [2]; b ! [2]; m ! [2] 1.5 2.5; v ! [2] 0.5 1; "
                            "y = BatchNormalization(x, s, b, m, v); -> y [64,2,40,40]");
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*function)(gconstpointer device);
    } tests[] = { { "sgd", test_sgd },
                  { "momentum", test_momentum },
                  { "adam", test_adam },
                  { "cnn", test_cnn },
                  { "running-statistics", test_running_statistics },
                  { "twice-and-never", test_twice_and_never },
                  { "cross-entropy", test_cross_entropy },
                  { "half-sgd", test_half_sgd },
                  { "half-momentum", test_half_momentum },
                  { "half-adam", test_half_adam },
                  { "half-mean", test_half_mean },
                  { "half-large", test_half_large },
                  { "half-norms", test_half_norms } };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        for (gsize k = 0; k < G_N_ELEMENTS(devices); k++)
        {
            g_autofree char *path = g_strdup_printf("/training/%s/%s", tests[i].name, devices[k]);
            g_test_add_data_func(path, devices[k], tests[i].function);
        }
    return g_test_run();
}
