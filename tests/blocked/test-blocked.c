/* The room alone: this program links its objects, libm and threads, and nothing else. Numbers are held by
 * test-convolution. */
#include <blocked/blocked.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int n_tests;
static bool all_ok = true;

static void report(bool is_ok, const char *what)
{
    printf("%s %d - %s\n", is_ok ? "ok" : "not ok", ++n_tests, what);
    all_ok = all_ok && is_ok;
}

static const IfmBlockedShape layer = {
    2, 32, 48, 1, { 13, 11 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16
};
#define N_INPUTS (2 * 32 * 13 * 11)
#define N_WEIGHTS (48 * 32 * 3 * 3)
#define N_OUTPUTS (2 * 48 * 13 * 11)

static void fill(float *values, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
    {
        seed = seed * 1664525 + 1013904223;
        values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

static double expected_at(const float *input, const float *weights, int64_t n, int64_t o, int64_t y, int64_t x)
{
    double sum = 0;
    for (int64_t c = 0; c < 32; c++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 3; j++)
            {
                const int64_t from_y = y - 1 + i, from_x = x - 1 + j;
                if (from_y >= 0 && from_y < 13 && from_x >= 0 && from_x < 11)
                    sum += (double)input[(((n * 2 + c / 16) * 13 + from_y) * 11 + from_x) * 16 + c % 16] *
                           (double)weights[((o * 32 + c) * 3 + i) * 3 + j];
            }
    return sum;
}

static bool is_right(const float *input, const float *weights, const float *output)
{
    for (int64_t n = 0; n < 2; n++)
        for (int64_t o = 0; o < 48; o++)
            for (int64_t y = 0; y < 13; y++)
                for (int64_t x = 0; x < 11; x++)
                {
                    const float value = output[(((n * 3 + o / 16) * 13 + y) * 11 + x) * 16 + o % 16];
                    if (!(fabs((double)value - expected_at(input, weights, n, o, y, x)) < 1e-3))
                        return false;
                }
    return true;
}

/* Caller: makes and runs layers of its own, as others do at the same time. */
typedef struct
{
    unsigned seed;
    bool is_right;
} Caller;

static void *call(void *data)
{
    Caller *caller = data;
    float *input = malloc(N_INPUTS * sizeof(float)), *weights = malloc(N_WEIGHTS * sizeof(float));
    float *output = malloc(N_OUTPUTS * sizeof(float));
    caller->is_right = input != NULL && weights != NULL && output != NULL;
    for (int a = 0; caller->is_right && a < IFM_N_BLOCKED_ALGORITHMS; a++)
    {
        IfmBlockedError error = { 0 };
        fill(input, N_INPUTS, caller->seed + (unsigned)a);
        fill(weights, N_WEIGHTS, caller->seed + 77);
        IfmBlockedConv *conv =
            ifm_blocked_conv_new(&layer, (IfmBlockedAlgorithm)a, &(IfmBlockedOptions){ 0 }, weights, NULL, &error);
        if (conv == NULL)
        {
            caller->is_right = error.code == IFM_BLOCKED_UNSUPPORTED;
            continue;
        }
        memset(output, 0xff, N_OUTPUTS * sizeof(float));
        ifm_blocked_conv_run(conv, input, NULL, output, NULL, NULL);
        caller->is_right = is_right(input, weights, output);
        ifm_blocked_conv_free(conv);
    }
    free(input);
    free(weights);
    free(output);
    return NULL;
}

static void test_callers(void)
{
    Caller callers[4];
    pthread_t threads[4];
    bool is_ok = true;
    for (unsigned i = 0; i < 4; i++)
    {
        callers[i] = (Caller){ .seed = 1000 * i };
        if (pthread_create(&threads[i], NULL, call, &callers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < 4; i++)
    {
        pthread_join(threads[i], NULL);
        is_ok = is_ok && callers[i].is_right;
    }
    report(is_ok, "several callers at once");
}

/* A layer that takes the weights of another, which is gone when it runs, needs none of its own; nor does one of another
 * size, but for the spectra of whole images. With other options it makes its own, or takes them where they are the same. */
static bool shares(IfmBlockedAlgorithm algorithm, const float *input, const float *weights, float *output)
{
    IfmBlockedOptions options = { .winograd_outputs = 4 };
    IfmBlockedShape small = layer;
    small.in[0] = 9;
    IfmBlockedConv *first = ifm_blocked_conv_new(&layer, algorithm, &options, weights, NULL, NULL);
    if (first == NULL)
        return !ifm_blocked_supports(&layer, algorithm, &options, NULL);
    IfmBlockedWeights *shared = ifm_blocked_conv_weights(first);
    options.weights = &shared;
    options.n_weights = 1;
    IfmBlockedConv *twin = ifm_blocked_conv_new(&layer, algorithm, &options, NULL, NULL, NULL);
    IfmBlockedConv *other =
        ifm_blocked_conv_new(&small, algorithm, &options, algorithm == IFM_BLOCKED_FFT ? weights : NULL, NULL, NULL);
    options.winograd_outputs = 2;
    IfmBlockedConv *tiles = ifm_blocked_conv_new(&layer, algorithm, &options, weights, NULL, NULL);
    ifm_blocked_conv_free(first);
    ifm_blocked_weights_unref(shared);
    bool is_ok = twin != NULL && other != NULL && tiles != NULL;
    for (int i = 0; i < 2 && is_ok; i++)
    {
        memset(output, 0xff, N_OUTPUTS * sizeof(float));
        ifm_blocked_conv_run(i == 0 ? twin : tiles, input, NULL, output, NULL, NULL);
        is_ok = is_right(input, weights, output);
    }
    ifm_blocked_conv_free(twin);
    ifm_blocked_conv_free(other);
    ifm_blocked_conv_free(tiles);
    return is_ok;
}

static void test_shared(void)
{
    static float input[N_INPUTS], weights[N_WEIGHTS], output[N_OUTPUTS];
    bool is_ok = true;
    fill(input, N_INPUTS, 5);
    fill(weights, N_WEIGHTS, 6);
    for (int a = 0; a < IFM_N_BLOCKED_ALGORITHMS; a++)
        is_ok = shares((IfmBlockedAlgorithm)a, input, weights, output) && is_ok;
    ifm_blocked_weights_unref(NULL);
    report(is_ok, "weights of another layer");
}

static void test_errors(void)
{
    IfmBlockedError error = { 0 };
    IfmBlockedShape wrong = layer;
    const float weights[1] = { 0 };
    wrong.kernel[0] = 99;
    report(ifm_blocked_conv_new(&wrong, IFM_BLOCKED_WINOGRAD, NULL, weights, NULL, &error) == NULL &&
               error.code == IFM_BLOCKED_INVALID && strstr(error.text, "reaches over 99") != NULL,
           "a shape that cannot be");
    wrong = layer;
    wrong.stride[1] = 2;
    report(ifm_blocked_conv_new(&wrong, IFM_BLOCKED_WINOGRAD, NULL, weights, NULL, &error) == NULL &&
               error.code == IFM_BLOCKED_UNSUPPORTED && strcmp(error.text, "winograd cannot do this layer (stride 2)") == 0,
           "a layer that the algorithm cannot do");
    report(ifm_blocked_conv_new(&layer, IFM_BLOCKED_GEMM, NULL, weights, NULL, &error) == NULL &&
               error.code == IFM_BLOCKED_UNSUPPORTED,
           "an algorithm without an implementation");
    report(ifm_blocked_conv_new(&layer, IFM_BLOCKED_WINOGRAD, &(IfmBlockedOptions){ .max_isa = "avx3" }, weights, NULL,
                                &error) == NULL &&
               error.code == IFM_BLOCKED_INVALID,
           "an instruction set that is none");
    report(ifm_blocked_conv_new(&wrong, IFM_BLOCKED_WINOGRAD, NULL, weights, NULL, NULL) == NULL, "nobody asks why");
}

/* What is told before a layer is made is what it is made with. */
static void test_hopeless(void)
{
    static const IfmBlockedShape shapes[] = {
        { 1, 512, 512, 1, { 14, 14 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 },
        { 1, 64, 64, 1, { 56, 56 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 },
        { 1, 16, 16, 1, { 56, 56 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 },
        { 1, 64, 64, 1, { 14, 14 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
    };
    const IfmBlockedOptions options = { 0 };
    size_t n_hopeless = 0;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (int a = 0; a < IFM_N_BLOCKED_ALGORITHMS; a++)
        {
            IfmBlockedShape shape = shapes[i];
            ifm_blocked_shape_complete(&shape, NULL);
            const size_t n_weights = (size_t)(shape.channels * shape.out_channels * shape.kernel[0] * shape.kernel[1]);
            float *weights = calloc(n_weights, sizeof(float));
            IfmBlockedConv *conv = ifm_blocked_conv_new(&shape, (IfmBlockedAlgorithm)a, &options, weights, NULL, NULL);
            const size_t bytes = conv != NULL ? ifm_blocked_conv_info(conv).weights_bytes : 0;
            const bool is_hopeless = bytes > 16 * n_weights * sizeof(float) && bytes > (size_t)32 << 20;
            n_hopeless += is_hopeless;
            report(ifm_blocked_is_hopeless(&shape, (IfmBlockedAlgorithm)a, &options) == is_hopeless,
                   ifm_blocked_algorithm_name((IfmBlockedAlgorithm)a));
            ifm_blocked_conv_free(conv);
            free(weights);
        }
    report(n_hopeless > 0, "a layer has an algorithm that is hopeless");
}

/* The environment names the instruction set; nothing is nothing. */
static void test_max_isa(void)
{
    unsetenv("IFM_CONV_ISA");
    report(ifm_blocked_max_isa() == NULL, "no instruction set is named");
    setenv("IFM_CONV_ISA", "", 1);
    report(ifm_blocked_max_isa() == NULL, "an empty name is none");
    setenv("IFM_CONV_ISA", "avx2", 1);
    report(ifm_blocked_max_isa() != NULL && strcmp(ifm_blocked_max_isa(), "avx2") == 0, "an instruction set is named");
    unsetenv("IFM_CONV_ISA");
}

/* Without memory that is an error. */
static void test_memory(void)
{
    static float weights[16 * 16 * 9];
    const IfmBlockedShape shape = { 1,     16, 16, 1, { 4000, 4000 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 },
                                    { 0 }, 16, 16 };
    const IfmBlockedOptions options = { .max_workspace_bytes = (size_t)1 << 40 };
    const struct rlimit limit = { 512 << 20, RLIM_INFINITY };
    if (strcmp(IFM_SANITIZE, "none") != 0 || setrlimit(RLIMIT_AS, &limit) != 0)
    {
        printf("ok %d - no memory # SKIP a sanitizer takes all addresses\n", ++n_tests);
        return;
    }
    for (int a = 0; a < IFM_N_BLOCKED_ALGORITHMS; a++)
    {
        IfmBlockedError error = { 0 };
        IfmBlockedConv *conv = ifm_blocked_conv_new(&shape, (IfmBlockedAlgorithm)a, &options, weights, NULL, &error);
        const bool is_large = a == IFM_BLOCKED_FFT || a == IFM_BLOCKED_WINOGRAD_NONFUSED;
        report(is_large ? conv == NULL && error.code == IFM_BLOCKED_NO_MEMORY && strstr(error.text, "no memory") != NULL
                        : conv != NULL || error.code != IFM_BLOCKED_OK,
               ifm_blocked_algorithm_name((IfmBlockedAlgorithm)a));
        ifm_blocked_conv_free(conv);
    }
}

int main(void)
{
    test_callers();
    test_shared();
    test_errors();
    test_hopeless();
    test_max_isa();
    test_memory();
    printf("1..%d\n", n_tests);
    return all_ok ? 0 : 1;
}
