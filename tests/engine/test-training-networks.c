/*
 * Small networks of the kinds that people train, on every engine there is: a U-Net, a classifier of sequences by LSTM and
 * by GRU, a detector with a neck that widens. Their loss falls, step by step as on the first engine.
 */
#include "graph-text.h"
#include "training.h"

#define N_STEPS 30

/* Network: @falls: the part of the first loss that the last one is below */
typedef struct
{
    const char *name, *text;
    IfmLoss loss;
    gint64 opset;
    double falls;
} Network;

#define UNET                                                                                                               \
    "x : [2,2,8,8]; w1 ! [6,2,3,3]; w2 ! [8,6,3,3]; u ! [8,6,2,2]; b ! [6]; w3 ! [6,12,3,3]; w4 ! [1,6,1,1]; "             \
    "c1 = Conv(x, w1) pads=[1,1,1,1]; r1 = Relu(c1); p = MaxPool(r1) kernel_shape=[2,2] strides=[2,2]; "                   \
    "c2 = Conv(p, w2) pads=[1,1,1,1]; r2 = Relu(c2); t = ConvTranspose(r2, u, b) strides=[2,2]; "                          \
    "j = Concat(r1, t) axis=1; c3 = Conv(j, w3) pads=[1,1,1,1]; r3 = Relu(c3); y = Conv(r3, w4); -> y [2,1,8,8]"

/* Of opset 10, as detectors are found: attributes in Pad, Resize of two inputs. */
#define DETECTOR                                                                                                           \
    "x : [2,3,8,8]; w1 ! [6,3,3,3]; w2 ! [8,6,3,3]; w3 ! [6,16,1,1]; w4 ! [5,12,1,1]; b ! [5]; z % [4] 1 1 2 2; "          \
    "q # [3] 0 5 -1; f = Pad(x) pads=[0,0,1,1,0,0,1,1]; d = Conv(f, w1) strides=[2,2]; e = LeakyRelu(d) alpha=0.1; "       \
    "g = Conv(e, w2) strides=[2,2] pads=[1,1,1,1]; sg = Sigmoid(g); h = Mul(g, sg); "                                      \
    "m = MaxPool(h) kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1]; k = Concat(h, m) axis=1; l = Conv(k, w3); "           \
    "n = Resize(l, z) mode=nearest; o = Concat(e, n) axis=1; v = Conv(o, w4, b); i = Reshape(v, q); "                      \
    "y = Transpose(i) perm=[0,2,1]; -> y [2,16,5]"

#define LSTM                                                                                                               \
    "x : [5,12,4]; w ! [2,24,4]; r ! [2,24,6]; b ! [2,48]; w3 ! [12,3]; b3 ! [3]; "                                        \
    "a h = LSTM(x, w, r, b) hidden_size=6 direction=bidirectional; t = Transpose(h) perm=[1,0,2]; f = Flatten(t); "        \
    "y = Gemm(f, w3, b3); -> y [12,3]"

#define GRU                                                                                                                \
    "x : [5,12,4]; w ! [1,18,4]; r ! [1,18,6]; b ! [1,36]; w3 ! [6,3]; b3 ! [3]; "                                         \
    "a h = GRU(x, w, r, b) hidden_size=6 linear_before_reset=1; f = Squeeze(h) axes=[0]; y = Gemm(f, w3, b3); -> y [12,3]"

static const Network networks[] = {
    { "unet", UNET, IFM_LOSS_MSE, 17, 0.5 },
    { "detector", DETECTOR, IFM_LOSS_MSE, 10, 0.6 },
    { "lstm", LSTM, IFM_LOSS_CROSS_ENTROPY, 17, 0.5 },
    { "gru", GRU, IFM_LOSS_CROSS_ENTROPY, 12, 0.5 },
};

/* Rows tell their class by their mean, in sequences of 12 rows; targets of pixels are drawn. */
static void set_inputs(Run *run, const Network *network)
{
    IfmTensor *x = run_input(run, "x"), *target = run_input(run, "target");
    text_draw(x, "x", -1, 1, 5);
    if (network->loss == IFM_LOSS_MSE)
    {
        text_draw(target, "target", -1, 1, 5);
        return;
    }
    const gint64 rows = ifm_tensor_n_elements(target), width = x->shape[2];
    for (gint64 i = 0; i < rows; i++)
        ((gint64 *)target->data)[i] = i % 3;
    for (gint64 i = 0; i < ifm_tensor_n_elements(x); i++)
        ((float *)x->data)[i] += (float)(i / width % rows % 3) - 1;
}

/* train: Returns: FALSE where the device is not there. @losses: (out) [N_STEPS] */
static gboolean train(const Network *network, const char *device, double *losses)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    g_autoptr(IfmModel) model = text_model(network->text, IFM_DTYPE_F32, FALSE, network->opset);
    Training training;
    options.optimiser = IFM_OPTIMISER_ADAM;
    options.learning_rate = 0.03;
    options.gradient.loss = network->loss;
    if (!training_open(&training, device, model, &options))
        return FALSE;
    set_inputs(&training.run, network);
    for (int step = 0; step < N_STEPS; step++)
        losses[step] = training_step(&training);
    training_close(&training);
    return TRUE;
}

static void test_network(gconstpointer data)
{
    static const char *const devices[] = { "onnxruntime:CPU", "openvino:CPU" };
    const Network *network = data;
    double losses[G_N_ELEMENTS(devices)][N_STEPS];
    int n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        if (!train(network, devices[i], losses[n]))
            continue;
        g_test_message("%s: loss %.4f to %.4f", devices[i], losses[n][0], losses[n][N_STEPS - 1]);
        g_assert_cmpfloat(losses[n][N_STEPS - 1], <, network->falls * losses[n][0]);
        for (int step = 0; step < N_STEPS; step++) /* roundings grow from step to step */
            g_assert_cmpfloat(fabs(losses[n][step] - losses[0][step]), <=, 2e-3 * (losses[0][step] + 0.01));
        n++;
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(networks); i++)
    {
        g_autofree char *path = g_strdup_printf("/training/networks/%s", networks[i].name);
        g_test_add_data_func(path, &networks[i], test_network);
    }
    return g_test_run();
}
