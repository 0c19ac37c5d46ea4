/* Convolutions on a GPU: on a processor that passes for one, and as far as the real libraries go without a GPU. */
#include <dlfcn.h>
#include <string.h>

#include <base/base.h>

#include "build-folders.h"
#include "convolution/cuda-private.h"
#include "reference.h"

/* --- on libraries of the test -------------------------------------------------------------------------------------------
 */

static const IfmConvShape shapes[] = {
    { 1, 3, 5, 1, { 9, 7 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 1, 1 },
    { 2, 8, 12, 4, { 6, 8 }, { 3, 3 }, { 2, 1 }, { 1, 1 }, { 0, 1, 0, 1 }, { 0 }, 1, 1 },
    { 1, 4, 6, 1, { 9, 9 }, { 1, 5 }, { 1, 1 }, { 2, 2 }, { 0, 4, 0, 4 }, { 0 }, 1, 1 },
    { 1, 4, 6, 2, { 8, 8 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 0, 0, 1, 1 }, { 0 }, 1, 1 },
    { 1, 4, 6, 1, { 8, 8 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0, 0, 0, 0 }, { 0 }, 1, 1 },
};

static void run_layer(IfmConvCuda *cuda, const Layer *layer, IfmConvAlgorithm algorithm)
{
    g_autoptr(GError) error = NULL;
    g_autofree float *output = g_new0(float, layer->n_outputs);
    IfmConvCudaLayer *made = ifm_conv_cuda_layer_new(cuda, &layer->shape, algorithm, FALSE, &layer->options, &error);
    if (made == NULL)
    {
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
        g_assert_cmpint(algorithm, !=, IFM_CONV_DIRECT);
        return;
    }
    const gboolean ok = ifm_conv_cuda_layer_run(made, NULL, layer->input, layer->weights, layer->bias, layer->sum, output,
                                                algorithm == IFM_CONV_DIRECT, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    layer_check(layer, output, layer_tolerance(layer, algorithm, &layer->options), ifm_conv_algorithm_name(algorithm));
    g_autoptr(GArray) times_ms = ifm_conv_cuda_layer_times(made, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(times_ms->len, ==, algorithm == IFM_CONV_DIRECT ? 1 : 0);
    if (times_ms->len > 0)
        g_assert_cmpfloat(g_array_index(times_ms, double, 0), ==, 200);
    ifm_conv_cuda_layer_free(made);
}

static IfmConvCuda *open_fake_with(gboolean allows_tf32)
{
    g_autoptr(GError) error = NULL;
    g_setenv("IFM_CUDNN_LIBRARY", IFM_BUILD_DIR "/tests/convolution/libcudnn.so.9", TRUE);
    IfmConvCuda *cuda = ifm_conv_cuda_open(0, allows_tf32, &error);
    g_assert_no_error(error);
    return cuda;
}

static IfmConvCuda *open_fake(void)
{
    return open_fake_with(FALSE);
}

static void test_layers(void)
{
    if (!g_test_subprocess())
    {
        g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
        g_test_trap_assert_passed();
        return;
    }
    g_autoptr(IfmConvCuda) cuda = open_fake();
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (int a = 0; a < IFM_N_BLOCKED_ACTIVATIONS; a++)
        {
            g_auto(Layer) layer = { 0 };
            layer_init(&layer, &shapes[i], 1, (guint32)i);
            layer.options =
                (IfmConvOptions){ .activation = (IfmConvActivation)a, .alpha = 0.2F, .beta = 0.5F, .has_sum = a % 2 == 0 };
            layer_set(&layer, a % 3 != 0);
            for (int algorithm = 0; algorithm < IFM_N_CONV_FIXED; algorithm++)
                run_layer(cuda, &layer, (IfmConvAlgorithm)algorithm);
        }
}

static void assert_made(IfmConvCuda *cuda, IfmConvAlgorithm asked, gboolean is_exact, IfmConvAlgorithm taken,
                        const char *implementation)
{
    g_autoptr(GError) error = NULL;
    IfmConvCudaLayer *layer = ifm_conv_cuda_layer_new(cuda, &shapes[0], asked, is_exact, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(ifm_conv_cuda_layer_info(layer).algorithm, ==, taken);
    g_assert_cmpstr(ifm_conv_cuda_layer_info(layer).implementation, ==, implementation);
    ifm_conv_cuda_layer_free(layer);
}

static void assert_choice(IfmConvCuda *cuda, IfmConvAlgorithm asked, IfmConvAlgorithm taken, const char *implementation)
{
    assert_made(cuda, asked, FALSE, taken, implementation);
}

static void assert_refused(IfmConvCuda *cuda, gsize shape, IfmConvAlgorithm algorithm, gsize limit, const char *why)
{
    g_autoptr(GError) error = NULL;
    const IfmConvOptions options = { .max_workspace_bytes = limit };
    g_assert_null(ifm_conv_cuda_layer_new(cuda, &shapes[shape], algorithm, FALSE, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==, why);
}

static void test_choices(void)
{
    if (!g_test_subprocess())
    {
        g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
        g_test_trap_assert_passed();
        return;
    }
    g_autoptr(IfmConvCuda) cuda = open_fake();
    assert_choice(cuda, IFM_CONV_DIRECT, IFM_CONV_DIRECT, "own direct kernel, sm_90");
    assert_choice(cuda, IFM_CONV_GUESS, IFM_CONV_IMPLICIT_PRECOMP_GEMM, "cuDNN 9.12.34 forward algorithm 1, FMA, sm_90");
    assert_refused(cuda, 1, IFM_CONV_WINOGRAD, 0, "stride 2");
    assert_refused(cuda, 2, IFM_CONV_FFT, 0, "dilation");
    assert_refused(cuda, 3, IFM_CONV_GEMM, 0, "asymmetric padding");
    assert_refused(cuda, 0, IFM_CONV_FFT_TILING, 4999, "workspace over the limit");
    assert_refused(cuda, 4, IFM_CONV_FFT, 0, "cuDNN has no kernel for it on this GPU"); /* which a run told */
}

/* Where TF32 is allowed it is a candidate, and the label says that it ran; what converts to f16 is none. */
static void test_tf32(void)
{
    if (!g_test_subprocess())
    {
        g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
        g_test_trap_assert_passed();
        return;
    }
    g_setenv("IFM_FAKE_TF32", "1", TRUE);
    g_autoptr(IfmConvCuda) cuda = open_fake_with(TRUE);
    assert_choice(cuda, IFM_CONV_GUESS, IFM_CONV_IMPLICIT_GEMM, "cuDNN 9.12.34 forward algorithm 0, TF32, sm_90");
    assert_made(cuda, IFM_CONV_GEMM, TRUE, IFM_CONV_GEMM, "cuDNN 9.12.34 forward algorithm 2, FMA, sm_90");
    assert_choice(cuda, IFM_CONV_GEMM, IFM_CONV_GEMM, "cuDNN 9.12.34 forward algorithm 2, TF32, sm_90");
    assert_choice(cuda, IFM_CONV_DIRECT, IFM_CONV_DIRECT, "own direct kernel, sm_90");
    g_autoptr(IfmConvCuda) exact = open_fake_with(FALSE);
    const IfmConvOptions options = { 0 };
    IfmConvTuned *const keys[] = { ifm_conv_cuda_tuned_key(cuda, &shapes[0], &options, "r"),
                                   ifm_conv_cuda_tuned_key(exact, &shapes[0], &options, "r") };
    g_assert_cmpstr(keys[0]->processor, !=, keys[1]->processor); /* choices are not shared */
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        ifm_conv_tuned_free(keys[i]);
}

/* What others put on a stream has its time, and the copies around it have none. */
static void test_marks(void)
{
    if (!g_test_subprocess())
    {
        g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
        g_test_trap_assert_passed();
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmConvCuda) cuda = open_fake();
    IfmConvCudaMarks *marks = ifm_conv_cuda_marks_new(cuda);
    const float from[] = { 1, 2, 3 };
    float to[3] = { 0 }, back[3] = { 0 };
    for (int run = 0; run < 2; run++)
    {
        g_assert_true(ifm_conv_cuda_marks_begin(marks, NULL, from, to, sizeof from, &error));
        g_assert_true(ifm_conv_cuda_marks_end(marks, NULL, to, back, sizeof back, &error));
    }
    g_assert_true(ifm_conv_cuda_marks_begin(marks, NULL, from, to, sizeof from, &error)); /* a run that failed */
    g_assert_no_error(error);
    g_assert_cmpmem(from, sizeof from, back, sizeof back);
    for (int k = 0; k < 2; k++)
    {
        g_autoptr(GArray) times_ms = ifm_conv_cuda_marks_times(marks, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(times_ms->len, ==, k == 0 ? 2 : 0);
        for (guint i = 0; i < times_ms->len; i++)
            g_assert_cmpfloat(g_array_index(times_ms, double, i), ==, 50);
    }
    ifm_conv_cuda_marks_free(marks);
}

/* Rows of the cache say the arithmetic where it is not the usual one. */
static void test_rows(void)
{
    g_autoptr(GError) error = NULL;
    for (int is_exact = 0; is_exact < 2; is_exact++)
    {
        IfmConvAlgorithm algorithm;
        gboolean found;
        g_autofree char *name = ifm_conv_tuned_name(IFM_CONV_FFT_TILING, is_exact);
        const IfmConvTuned row = { .algorithm = name };
        g_assert_cmpstr(name, ==, is_exact ? "fft_tiling, FMA" : "fft_tiling");
        g_assert_true(ifm_conv_tuned_parse(&row, &algorithm, &found, &error));
        g_assert_cmpint(algorithm, ==, IFM_CONV_FFT_TILING);
        g_assert_cmpint(found, ==, is_exact);
    }
    gboolean is_exact;
    IfmConvAlgorithm algorithm;
    g_assert_false(
        ifm_conv_tuned_parse(&(IfmConvTuned){ .algorithm = (char *)"none, FMA" }, &algorithm, &is_exact, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

static void test_missing(void)
{
    if (g_test_subprocess())
    {
        g_autoptr(GError) error = NULL;
        g_setenv("IFM_CUDNN_LIBRARY", "/nonexistent/libcudnn.so.9", TRUE);
        g_assert_null(ifm_conv_cuda_open(0, FALSE, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
        g_assert_cmpstr(error->message, ==, "CUDA: /nonexistent/libcudnn.so.9 is missing: \"setup/install cuda\" gets it");
        return;
    }
    g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
    g_test_trap_assert_passed();
}

static void test_v100(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(conv_cuda_check_gpu(13000, 75, NULL) && conv_cuda_check_gpu(12090, 70, NULL));
    g_assert_false(conv_cuda_check_gpu(13050, 70, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_cmpstr(error->message, ==,
                    "CUDA: this GPU (V100) has compute capability 7.0, which CUDA 13 has no kernels for: an "
                    "onnxruntime-gpu of 1.26 or older, with CUDA 12 and cuDNN 9.10, is needed");
}

/* --- on the real libraries ----------------------------------------------------------------------------------------------
 */

/* NULL: skipped, with the reason. */
static const ConvCudaApi *real_api(void)
{
    g_autoptr(GError) error = NULL;
    const ConvCudaApi *api = conv_cuda_api(&error); /* all symbols are found, or it is refused */
    if (api == NULL)
        g_test_skip(error->message);
    return api;
}

static void test_no_gpu(void)
{
    const ConvCudaApi *api = real_api();
    int n = 0;
    if (api == NULL)
        return;
    g_assert_cmpuint(api->cudnnGetVersion(), >=, 90000);
    if (api->cudart->cudaGetDeviceCount(&n) == 0 && n > 0)
    {
        g_test_skip("there is a GPU");
        return;
    }
    g_autoptr(GError) error = NULL;
    void *handle = NULL;
    g_assert_cmpint(api->cudnnCreate(&handle), ==, CUDNN_NOT_INITIALIZED);
    g_assert_null(ifm_conv_cuda_open(0, FALSE, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, "cuDNN: cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED (1001)"));
    g_assert_null(strchr(error->message, '\n'));
}

static void test_compile(void)
{
    const ConvCudaApi *api = real_api();
    if (api == NULL)
        return;
    g_autoptr(GError) error = NULL;
    gsize n = 0;
    g_autoptr(GBytes) ptx = conv_cuda_compile(api, "compute_75", &error);
    g_assert_no_error(error);
    const char *text = g_bytes_get_data(ptx, &n);
    g_assert_nonnull(g_strstr_len(text, (gssize)n, ".entry direct("));
    g_assert_nonnull(g_strstr_len(text, (gssize)n, ".entry finish("));
    g_autoptr(GBytes) code = conv_cuda_compile(api, "sm_90", &error);
    g_assert_no_error(error);
    g_assert_cmpmem(g_bytes_get_data(code, NULL), 4, "\177ELF", 4);
    g_assert_null(conv_cuda_compile(api, "sm_1", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
}

/* --- on a GPU ----------------------------------------------------------------------------------------------------------
 */

#define COPY_TO_HOST 2

typedef int (*Copy)(void *to, const void *from, size_t bytes, int kind);

/* NULL: for NULL. */
static float *to_gpu(const ConvCudaApi *api, Copy copy, const float *values, gsize n)
{
    void *at = NULL;
    if (values == NULL)
        return NULL;
    g_assert_cmpint(api->cudart->cudaMalloc(&at, n * sizeof(float)), ==, 0);
    g_assert_cmpint(copy(at, values, n * sizeof(float), CUDA_COPY_TO_DEVICE), ==, 0);
    return at;
}

/* Runs the layer twice, timed, on memory that is not a number before. Returns: whether the algorithm can do it. */
static gboolean run_on_gpu(IfmConvCuda *cuda, Copy copy, const Layer *layer, IfmConvAlgorithm algorithm)
{
    g_autoptr(GError) error = NULL;
    const ConvCudaApi *api = cuda->api;
    IfmConvCudaLayer *made = ifm_conv_cuda_layer_new(cuda, &layer->shape, algorithm, FALSE, &layer->options, &error);
    if (made == NULL)
    {
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
        g_assert_cmpint(algorithm, !=, IFM_CONV_DIRECT);
        return FALSE;
    }
    g_autofree float *output = g_new0(float, layer->n_outputs);
    memset(output, 0xff, layer->n_outputs * sizeof *output);
    const gsize n_channels = (gsize)layer->shape.out_channels;
    float *const at[] = { to_gpu(api, copy, layer->input, layer->n_inputs),
                          to_gpu(api, copy, layer->weights, layer->n_weights), to_gpu(api, copy, layer->bias, n_channels),
                          to_gpu(api, copy, layer->sum, layer->n_outputs), to_gpu(api, copy, output, layer->n_outputs) };
    for (int run = 0; run < 2; run++)
    {
        ifm_conv_cuda_layer_run(made, NULL, at[0], at[1], at[2], at[3], at[4], TRUE, &error);
        g_assert_no_error(error);
    }
    g_autoptr(GArray) times_ms = ifm_conv_cuda_layer_times(made, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(times_ms->len, ==, 2);
    g_assert_cmpfloat(g_array_index(times_ms, double, 1), >, 0);
    g_assert_cmpint(copy(output, at[4], layer->n_outputs * sizeof *output, COPY_TO_HOST), ==, 0);
    const IfmConvAlgorithm taken = ifm_conv_cuda_layer_info(made).algorithm;
    /* cuDNN's Winograd of 5x5 kernels loses three digits; no one but who asks for it gets it. */
    const gboolean is_rough = taken == IFM_CONV_WINOGRAD_NONFUSED && layer->shape.kernel[0] == 5;
    g_assert_true(!is_rough || algorithm == taken);
    layer_check(layer, output, is_rough ? 1e-2 : layer_tolerance(layer, taken, &layer->options),
                ifm_conv_algorithm_name(taken));
    for (gsize i = 0; i < G_N_ELEMENTS(at); i++)
        api->cudart->cudaFree(at[i]);
    ifm_conv_cuda_layer_free(made);
    return TRUE;
}

/* Every algorithm, and those that are chosen, by cuDNN and the own kernels. */
static void test_on_gpu(void)
{
    static const IfmConvShape more[] = {
        { 2, 32, 64, 1, { 28, 28 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 1, 1 },
        { 1, 16, 32, 1, { 30, 30 }, { 5, 5 }, { 1, 1 }, { 1, 1 }, { 2, 2, 2, 2 }, { 0 }, 1, 1 },
        { 1, 64, 32, 1, { 14, 14 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0, 0, 0, 0 }, { 0 }, 1, 1 },
    };
    const ConvCudaApi *api = real_api();
    int n = 0;
    guint n_ran[IFM_CONV_GUESS + 1] = { 0 };
    if (api == NULL)
        return;
    if (api->cudart->cudaGetDeviceCount(&n) != 0 || n == 0)
    {
        g_test_skip("there is no GPU");
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmConvCuda) cuda = ifm_conv_cuda_open(0, FALSE, &error);
    g_assert_no_error(error);
    void *cudart = dlopen(api->cudart->file, RTLD_NOW | RTLD_NOLOAD);
    Copy copy = NULL;
    *(void **)&copy = cudart != NULL ? dlsym(cudart, "cudaMemcpy") : NULL;
    g_assert_true(copy != NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes) + G_N_ELEMENTS(more); i++)
        for (int a = 0; a < IFM_N_BLOCKED_ACTIVATIONS; a++)
        {
            g_auto(Layer) layer = { 0 };
            layer_init(&layer, i < G_N_ELEMENTS(shapes) ? &shapes[i] : &more[i - G_N_ELEMENTS(shapes)], 1, (guint32)i);
            layer.options =
                (IfmConvOptions){ .activation = (IfmConvActivation)a, .alpha = 0.2F, .beta = 0.5F, .has_sum = a % 2 == 0 };
            layer_set(&layer, a % 3 != 0);
            for (int algorithm = 0; algorithm <= IFM_CONV_GUESS; algorithm++)
                n_ran[algorithm] += run_on_gpu(cuda, copy, &layer, (IfmConvAlgorithm)algorithm);
        }
    for (int algorithm = 0; algorithm <= IFM_CONV_GUESS; algorithm++)
        g_test_message("%s: %u layers", ifm_conv_algorithm_name((IfmConvAlgorithm)algorithm), n_ran[algorithm]);
    g_assert_cmpuint(n_ran[IFM_CONV_IMPLICIT_GEMM], >, 0);
    g_assert_cmpuint(n_ran[IFM_CONV_GUESS], >, 0);
}

/* Those of cuDNN, the CUDA runtime, NVRTC and cuBLAS without comments. (transfer full) NULL: skipped */
static char *read_headers(void)
{
    static const char *const headers[] = { "cudnn_graph.h",      "cudnn_ops.h", "cudnn_cnn.h", "driver_types.h",
                                           "cuda_runtime_api.h", "nvrtc.h",     "cublas_api.h" };
    g_autofree char *library = ifm_path_runtime("cuda"), *folder = g_path_get_dirname(library);
    g_autoptr(GString) all = g_string_new(NULL);
    g_autoptr(GRegex) comment = g_regex_new("/\\*.*?\\*/", G_REGEX_DOTALL, (GRegexMatchFlags)0, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(headers); i++)
    {
        g_autofree char *file = g_build_filename(folder, "..", "include", headers[i], NULL), *text = NULL;
        if (!g_file_get_contents(file, &text, NULL, NULL))
        {
            g_test_skip("cuDNN's and CUDA's headers are not installed: \"setup/install cuda\" gets them");
            return NULL;
        }
        g_autofree char *bare = g_regex_replace_literal(comment, text, -1, 0, " ", (GRegexMatchFlags)0, NULL);
        g_string_append(all, bare);
    }
    return g_string_free(g_steal_pointer(&all), FALSE);
}

/* The number that a header gives to an enumerator, or to a name that it defines. */
static int header_value(const char *text, const char *name)
{
    g_autofree char *pattern = g_strdup_printf("\\b%s(?:\\s*=\\s*|[ \\t]+0x0*)(\\d+)", name);
    g_autoptr(GRegex) regex = g_regex_new(pattern, (GRegexCompileFlags)0, (GRegexMatchFlags)0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    if (!g_regex_match(regex, text, (GRegexMatchFlags)0, &match))
        g_error("the headers have no %s", name);
    g_autofree char *number = g_match_info_fetch(match, 1);
    return (int)g_ascii_strtoll(number, NULL, 10);
}

static void test_headers(void)
{
    static const struct
    {
        const char *name;
        int value;
    } values[] = {
        { "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM", CUDNN_ALGO_IMPLICIT_GEMM },
        { "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM", CUDNN_ALGO_IMPLICIT_PRECOMP_GEMM },
        { "CUDNN_CONVOLUTION_FWD_ALGO_GEMM", CUDNN_ALGO_GEMM },
        { "CUDNN_CONVOLUTION_FWD_ALGO_FFT", CUDNN_ALGO_FFT },
        { "CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING", CUDNN_ALGO_FFT_TILING },
        { "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD", CUDNN_ALGO_WINOGRAD },
        { "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED", CUDNN_ALGO_WINOGRAD_NONFUSED },
        { "CUDNN_CONVOLUTION_FWD_ALGO_COUNT", CUDNN_N_ALGOS },
        { "CUDNN_DEFAULT_MATH", CUDNN_DEFAULT_MATH },
        { "CUDNN_TENSOR_OP_MATH", CUDNN_TENSOR_OP },
        { "CUDNN_FMA_MATH", CUDNN_FMA },
        { "CUDNN_CROSS_CORRELATION", CUDNN_CROSS_CORRELATION_MODE },
        { "CUDNN_TENSOR_NCHW", CUDNN_NCHW },
        { "CUDNN_DATA_FLOAT", CUDNN_FLOAT },
        { "CUDNN_STATUS_NOT_INITIALIZED", CUDNN_NOT_INITIALIZED },
        { "CUDNN_STATUS_NOT_SUPPORTED", CUDNN_NOT_SUPPORTED },
        { "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", CUDNN_DEVICE_ALLOCATION_FAILED },
        { "cudaDevAttrMultiProcessorCount", CUDA_ATTRIBUTE_MULTIPROCESSORS },
        { "cudaDevAttrL2CacheSize", CUDA_ATTRIBUTE_L2_BYTES },
        { "cudaErrorMemoryAllocation", CUDA_OUT_OF_MEMORY },
        { "cudaErrorNoDevice", CUDA_NO_DEVICE },
        { "cudaMemcpyHostToDevice", CUDA_COPY_TO_DEVICE },
        { "cudaEventBlockingSync", CUDA_EVENT_BLOCKING },
        { "CUBLAS_OP_N", CUBLAS_NOT_TRANSPOSED },
        { "CUBLAS_STATUS_ALLOC_FAILED", CUBLAS_ALLOCATION_FAILED },
        { "cudaMemcpyDeviceToDevice", CUDA_COPY_WITHIN_DEVICE },
        { "cudaDevAttrComputeCapabilityMajor", CUDA_ATTRIBUTE_MAJOR },
        { "cudaDevAttrComputeCapabilityMinor", CUDA_ATTRIBUTE_MINOR },
    };
    g_autofree char *all = read_headers();
    for (gsize i = 0; all != NULL && i < G_N_ELEMENTS(values); i++)
        g_assert_cmpint(header_value(all, values[i].name), ==, values[i].value);
}

static guint count(const char *text, char of)
{
    guint n = 0;
    for (; *text != '\0'; text++)
        n += *text == of;
    return n;
}

/* Each function has as many parameters as its header says. */
static void test_parameters(void)
{
#define X(type, name, parameters) { #name, #parameters },
    static const struct
    {
        const char *name, *parameters;
    } functions[] = { CUDART_SYMBOLS(X) CUDNN_SYMBOLS(X) NVRTC_SYMBOLS(X) CUBLAS_SYMBOLS(X) };
#undef X
    g_autofree char *all = read_headers();
    for (gsize i = 0; all != NULL && i < G_N_ELEMENTS(functions); i++)
    {
        g_autofree char *pattern =
            g_strdup_printf("\\b%s\\s*\\(([^()]*(?:\\([^()]*\\)[^()]*)*)\\)\\s*;", functions[i].name);
        g_autoptr(GRegex) regex = g_regex_new(pattern, (GRegexCompileFlags)0, (GRegexMatchFlags)0, NULL);
        g_autoptr(GMatchInfo) match = NULL;
        if (!g_regex_match(regex, all, (GRegexMatchFlags)0, &match))
            g_error("the headers have no %s", functions[i].name);
        g_autofree char *found = g_match_info_fetch(match, 1);
        if (count(found, ',') != count(functions[i].parameters, ','))
            g_error("%s%s: the header has (%s)", functions[i].name, functions[i].parameters, found);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/convolution/cuda/layers", test_layers);
    g_test_add_func("/convolution/cuda/choices", test_choices);
    g_test_add_func("/convolution/cuda/tf32", test_tf32);
    g_test_add_func("/convolution/cuda/marks", test_marks);
    g_test_add_func("/convolution/cuda/rows", test_rows);
    g_test_add_func("/convolution/cuda/missing", test_missing);
    g_test_add_func("/convolution/cuda/v100", test_v100);
    g_test_add_func("/convolution/cuda/no-gpu", test_no_gpu);
    g_test_add_func("/convolution/cuda/compile", test_compile);
    g_test_add_func("/convolution/cuda/on-gpu", test_on_gpu);
    g_test_add_func("/convolution/cuda/headers", test_headers);
    g_test_add_func("/convolution/cuda/parameters", test_parameters);
    return g_test_run();
}
