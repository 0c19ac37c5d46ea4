#include <glib/gstdio.h>
#include <math.h>

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "folder.h"

/* One set of tests for every device of every driver: one test for each capability that it claims, and, where it does not
 * claim it, that it says so. */
static const char *const devices[] = {
    "onnxruntime:CPU@0",     "onnxruntime:CPU@1",   "onnxruntime:CPU@0-1", "onnxruntime:CPU#2",     "openvino:CPU@0",
    "openvino:CPU@1",        "openvino:CPU@0-1",    "openvino:CPU#2",      "simulated:ideal/CPU@0", "simulated:ideal/CPU@1",
    "simulated:ideal/CPU#2", "simulated:ideal/GPU", "openvino:GPU",        "openvino:NPU",          "onnxruntime:CUDA:0",
};

static void assert_unsupported(GError **error, const char *word)
{
    g_assert_error(*error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr((*error)->message, word));
    g_assert_null(strchr((*error)->message, '\n'));
    g_clear_error(error);
}

/* --- what it computes ----------------------------------------------------------------------------------------------------
 */

/* y = x w, in double, from the weights in the model: the reference itself is compared with it. */
static IfmTensor multiply(IfmModel *model, const IfmTensor *x)
{
    const IfmNode *node = ifm_model_node(model, 0);
    IfmTensor w, y;
    g_assert_cmpstr(node->op_type, ==, "MatMul");
    g_assert_true(ifm_model_initializer(model, node->inputs[1], &w));
    gint64 m = x->shape[0], k = x->shape[1], n = w.shape[1];
    g_assert_true(ifm_tensor_init(&y, IFM_DTYPE_F32, 2, (gint64[]){ m, n }, NULL));
    for (gint64 row = 0; row < m; row++)
        for (gint64 column = 0; column < n; column++)
        {
            double sum = 0;
            for (gint64 i = 0; i < k; i++)
                sum += ifm_tensor_get_double(x, row * k + i) * ifm_tensor_get_double(&w, i * n + column);
            ((float *)y.data)[row * n + column] = (float)sum;
        }
    return y;
}

static void test_product(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=5 k=33 n=17"), NULL);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 1);
    g_auto(IfmTensor) expected = multiply(fixture.model, &x);
    set_input(fixture.request, &x);
    run(fixture.request);
    g_auto(IfmTensor) y = copy_output(fixture.request);
    assert_equal(&y, &expected);
    run_and_compare(&fixture, &x);
    fixture_close(&fixture);
}

/* On a model whose output provably depends on its input: two inputs, two answers, both the reference's. */
static void test_reference(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("small-cnn", "size=24 channels=8"), NULL);
    g_auto(IfmTensor) a = make_input(fixture.model, NULL, 0, 1);
    g_auto(IfmTensor) b = make_input(fixture.model, NULL, 0, 2);
    g_auto(IfmTensor) reference_a = reference_output(fixture.model, &a);
    g_auto(IfmTensor) reference_b = reference_output(fixture.model, &b);
    g_assert_false(ifm_tensor_compare(&reference_a, &reference_b, 10 * RTOL, 10 * ATOL, NULL));
    run_and_compare(&fixture, &a);
    run_and_compare(&fixture, &b);
    run_and_compare(&fixture, &a);
    fixture_close(&fixture);
}

/* --- ways of running it
 * ---------------------------------------------------------------------------------------------------- */

typedef struct
{
    Fixture *fixture;
    pid_t tid;
    cpu_set_t mask;
    IfmRequestTimes times;
} Inline;

static void start_inline(void *user)
{
    Inline *self = user;
    self->tid = gettid();
    sched_getaffinity(0, sizeof self->mask, &self->mask);
    g_assert_true(ifm_request_start(self->fixture->request, NULL, NULL, NULL));
    ifm_request_times(self->fixture->request, &self->times); /* it is over: no hand-over, no wait */
    g_assert_cmpint(self->times.completed_ns, >, self->times.started_ns);
    g_assert_true(ifm_request_wait(self->fixture->request, 0, NULL));
}

/* On the executing thread an inference runs at once; that thread is on the cores of the spec, and no other. */
static void test_inline(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=8 k=8 n=8"), NULL);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 3);
    g_auto(IfmTensor) reference = reference_output(fixture.model, &x);
    set_input(fixture.request, &x);
    Inline seen = { .fixture = &fixture };
    ifm_compiled_invoke(fixture.compiled, 0, start_inline, &seen);
    g_assert_cmpint(seen.tid, !=, gettid());
    g_assert_cmpint(seen.times.queued_ns, ==, seen.times.started_ns);
    if (fixture.spec->n_cores > 0)
        g_assert_cmpint(CPU_COUNT(&seen.mask), ==, (int)fixture.spec->n_cores);
    for (gsize i = 0; i < fixture.spec->n_cores; i++)
        g_assert_true(CPU_ISSET(fixture.spec->cores[i], &seen.mask));
    g_auto(IfmTensor) y = copy_output(fixture.request);
    assert_equal(&y, &reference);
    fixture_close(&fixture);
}

typedef struct
{
    pid_t executing, called;
    gint n_calls;
    IfmRequestTimes times;
} Done;

static void note_thread(void *user)
{
    ((Done *)user)->executing = gettid();
}

static void note_done(IfmRequest *request, const GError *error, void *user)
{
    Done *done = user;
    g_assert_no_error(error);
    done->called = gettid();
    ifm_request_times(request, &done->times);
    g_atomic_int_inc(&done->n_calls);
}

static void check_done(Fixture *fixture, int n)
{
    Done done = { 0 };
    g_autoptr(GError) error = NULL;
    ifm_compiled_invoke(fixture->compiled, 0, note_thread, &done);
    for (int i = 1; i <= n; i++)
    {
        g_assert_true(ifm_request_start(fixture->request, note_done, &done, &error));
        ifm_request_wait(fixture->request, IFM_CLOCK_NEVER, &error);
        g_assert_no_error(error);
        while (g_atomic_int_get(&done.n_calls) < i) /* the wait may be over a little before the call */
            g_usleep(100);
        g_assert_cmpint(done.times.queued_ns, <=, done.times.started_ns);
        g_assert_cmpint(done.times.started_ns, <, done.times.completed_ns);
        g_assert_cmpint(done.times.completed_ns, <=, ifm_clock_now_ns(ifm_engine_info(fixture->engine).clock));
        g_assert_cmpint(done.called, !=, gettid());
    }
    g_assert_cmpint(done.n_calls, ==, n);
    if (done.executing != gettid())
        g_assert_cmpint(done.called, ==, done.executing);
}

/* From another thread: started, called back once on the executing thread, waited for. */
static void test_asynchronous(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("small-cnn", ""), NULL);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 4);
    run_and_compare(&fixture, &x);
    check_done(&fixture, 20);
    fixture_close(&fixture);
}

/* What the list of devices says, before anything is compiled. */
static gboolean claims(const Fixture *fixture, guint32 capability)
{
    g_autoptr(GPtrArray) devices_found = ifm_engine_devices(fixture->engine, NULL);
    g_autofree char *device = g_strdup_printf("%s:%s", fixture->spec->engine, fixture->spec->unit);
    for (guint i = 0; i < devices_found->len; i++)
    {
        const IfmDeviceInfo *info = devices_found->pdata[i];
        if (g_str_has_prefix(info->spec, device))
            return (info->capabilities & capability) != 0;
    }
    return FALSE;
}

static void test_native_async(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.native_async = TRUE;
    options.threads = 1 + MAX(fixture.spec->n_streams, 1);
    if (fixture.spec->n_cores > 0 || !claims(&fixture, IFM_CAN_NATIVE_ASYNC))
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = zoo("matmul", "");
        g_assert_null(ifm_engine_compile(fixture.engine, model, fixture.spec, &options, &error));
        assert_unsupported(&error, "asynchrony");
        fixture_close(&fixture);
        return;
    }
    fixture_compile(&fixture, zoo("small-cnn", ""), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 5);
    run_and_compare(&fixture, &x);
    check_done(&fixture, 20);
    fixture_close(&fixture);
}

/* Several requests of one compiled model keep their own inputs and outputs, whatever the order they are used in. */
static void test_several_requests(gconstpointer device)
{
    enum
    {
        N = 4
    };
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("small-cnn", "size=16 channels=4"), NULL);
    int n_streams = MAX(fixture.spec->n_streams, 1);
    IfmRequest *requests[N];
    IfmTensor inputs[N], references[N];
    g_autoptr(GError) error = NULL;
    for (int i = 0; i < N; i++)
    {
        requests[i] = ifm_compiled_request(fixture.compiled, i % n_streams, &error);
        g_assert_no_error(error);
        inputs[i] = make_input(fixture.model, NULL, 0, 100 + (guint)i);
        references[i] = reference_output(fixture.model, &inputs[i]);
        set_input(requests[i], &inputs[i]);
    }
    for (int round = 0; round < 10; round++)
    {
        for (int i = 0; i < N; i++) /* all at once: queued on their streams */
            g_assert_true(ifm_request_start(requests[i], NULL, NULL, &error));
        for (int i = N - 1; i >= 0; i--)
            g_assert_true(ifm_request_wait(requests[i], IFM_CLOCK_NEVER, &error));
    }
    for (int i = 0; i < N; i++)
    {
        g_auto(IfmTensor) output = copy_output(requests[i]);
        assert_equal(&output, &references[i]);
        ifm_request_free(requests[i]);
        ifm_tensor_clear(&inputs[i]);
        ifm_tensor_clear(&references[i]);
    }
    g_assert_null(ifm_compiled_request(fixture.compiled, n_streams, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    fixture_close(&fixture);
}

typedef struct
{
    Fixture *fixture;
    int stream;
    IfmTensor *input, *reference;
} Starter;

static void count_done(IfmRequest *request, const GError *error, void *user)
{
    g_assert_no_error(error);
    g_atomic_int_inc((gint *)user);
}

/* Requests that live for one inference: freed at once after the wait, which the callback may still outlast. */
static void *start_many(void *user)
{
    Starter *self = user;
    gint n_done = 0;
    for (int i = 0; i < 100; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmRequest) request = ifm_compiled_request(self->fixture->compiled, self->stream, &error);
        g_assert_no_error(error);
        set_input(request, self->input);
        g_assert_true(ifm_request_start(request, count_done, &n_done, &error));
        g_assert_true(ifm_request_wait(request, IFM_CLOCK_NEVER, &error));
        IfmTensor output;
        g_assert_true(ifm_request_output(request, 0, &output, &error));
        assert_equal(&output, self->reference);
    }
    g_assert_cmpint(n_done, ==, 100); /* freeing waited for it */
    return NULL;
}

/* Several threads at once, each with requests and inputs of its own, on the streams there are. */
static void test_threads(gconstpointer device)
{
    enum
    {
        N = 3
    };
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("small-cnn", "size=8 channels=4"), NULL);
    pthread_t threads[N];
    Starter starters[N];
    IfmTensor inputs[N], references[N];
    for (int i = 0; i < N; i++)
    {
        inputs[i] = make_input(fixture.model, NULL, 0, 200 + (guint)i);
        references[i] = reference_output(fixture.model, &inputs[i]);
        starters[i] = (Starter){ &fixture, i % MAX(fixture.spec->n_streams, 1), &inputs[i], &references[i] };
    }
    for (int i = 0; i < N; i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, start_many, &starters[i]), ==, 0);
    for (int i = 0; i < N; i++)
    {
        pthread_join(threads[i], NULL);
        ifm_tensor_clear(&inputs[i]);
        ifm_tensor_clear(&references[i]);
    }
    fixture_close(&fixture);
}

/* --- shapes --------------------------------------------------------------------------------------------------------------
 */

static void test_free_shapes(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=0 k=12 n=20"), NULL);
    const IfmPort *port = ifm_compiled_input(fixture.compiled, 0);
    g_assert_cmpstr(port->name, ==, "x");
    g_assert_cmpint(port->dims[0], ==, -1);
    g_assert_cmpstr(port->dim_names[0], ==, "M");
    g_assert_cmpint(port->dims[1], ==, 12);
    g_assert_cmpint(ifm_compiled_output(fixture.compiled, 0)->dims[0], ==, -1);
    for (gint64 m = 1; m < 200; m = m * 5 + 2)
    {
        g_auto(IfmTensor) x = make_input(fixture.model, &(IfmDimBinding){ "M", m }, 1, 6);
        run_and_compare(&fixture, &x);
        IfmTensor y;
        g_assert_true(ifm_request_output(fixture.request, 0, &y, NULL));
        g_assert_cmpint(y.shape[0], ==, m);
    }
    fixture_close(&fixture);
}

/* Nobody knows beforehand how many dimensions come out: as many as are asked for. No scalar is made of that. */
static void test_free_rank(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    if (g_str_has_prefix(device, "openvino:CPU"))
    {
        g_test_skip("OpenVINO's plug-in for processors has no Reshape whose rank is free");
        fixture_close(&fixture);
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("reshape", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, (gint64[]){ 12 }, NULL);
    ifm_model_builder_input(builder, "shape", IFM_DTYPE_I64, 1, (gint64[]){ -1 }, (const char *[]){ "N" });
    ifm_model_builder_node(builder, "Reshape", "reshape", (const char *[]){ "x", "shape", NULL },
                           (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, -1, NULL, NULL);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    fixture_compile(&fixture, model, NULL);
    g_assert_cmpint(ifm_compiled_output(fixture.compiled, 0)->rank, ==, -1);
    float numbers[12];
    for (int i = 0; i < 12; i++)
        numbers[i] = (float)i;
    for (int n = 1; n <= 4; n++)
    {
        static gint64 whole[] = { 12 }, shapes[][4] = { { 12 }, { 2, 6 }, { 2, 3, 2 }, { 3, 2, 1, 2 } };
        gint64 *shape = shapes[n - 1];
        IfmTensor x, wanted, y;
        g_assert_true(ifm_tensor_wrap(&x, IFM_DTYPE_F32, 1, whole, numbers, NULL));
        g_assert_true(ifm_tensor_wrap(&wanted, IFM_DTYPE_I64, 1, (gint64[]){ n }, shape, NULL));
        g_assert_true(ifm_request_set_input(fixture.request, 0, &x, NULL));
        g_assert_true(ifm_request_set_input(fixture.request, 1, &wanted, NULL));
        run(fixture.request);
        ifm_request_output(fixture.request, 0, &y, &error);
        g_assert_no_error(error);
        g_assert_cmpint(y.rank, ==, n);
        for (int i = 0; i < n; i++)
            g_assert_cmpint(y.shape[i], ==, shape[i]);
        g_assert_cmpmem(y.data, y.size_bytes, numbers, sizeof numbers);
    }
    fixture_close(&fixture);
}

/* One compile, several sizes, each with memory for its output given beforehand: it is what gets written. */
static void test_free_shapes_outputs(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=0 k=12 n=20"), NULL);
    for (gint64 m = 1; m < 200; m = m * 5 + 2)
    {
        g_autoptr(GError) error = NULL;
        g_auto(IfmTensor) mine = IFM_TENSOR_INIT, wrong = IFM_TENSOR_INIT;
        g_auto(IfmTensor) x = make_input(fixture.model, &(IfmDimBinding){ "M", m }, 1, 6);
        g_assert_true(ifm_tensor_init(&mine, IFM_DTYPE_F32, 2, (gint64[]){ m, 20 }, NULL));
        g_assert_true(ifm_tensor_init(&wrong, IFM_DTYPE_F32, 2, (gint64[]){ m, 21 }, NULL));
        g_assert_false(ifm_request_set_output(fixture.request, 0, &wrong, &error)); /* 20 is fixed */
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_true(ifm_request_set_output(fixture.request, 0, &mine, NULL));
        run_and_compare(&fixture, &x);
        IfmTensor y;
        g_assert_true(ifm_request_output(fixture.request, 0, &y, NULL));
        g_assert_true(y.data == mine.data);
        g_assert_cmpint(y.shape[0], ==, m);
        g_assert_true(ifm_request_set_output(fixture.request, 0, NULL, NULL));
    }
    fixture_close(&fixture);
}

static void test_bound_shapes(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    IfmDimBinding binding = { "M", 9 };
    options.bindings = &binding;
    options.n_bindings = 1;
    fixture_compile(&fixture, zoo("matmul", "m=0"), &options);
    g_assert_cmpint(ifm_compiled_input(fixture.compiled, 0)->dims[0], ==, 9);
    g_assert_cmpint(ifm_compiled_output(fixture.compiled, 0)->dims[0], ==, 9);
    g_auto(IfmTensor) x = make_input(fixture.model, &binding, 1, 7);
    run_and_compare(&fixture, &x);
    g_auto(IfmTensor) other = make_input(fixture.model, &(IfmDimBinding){ "M", 8 }, 1, 7);
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_request_set_input(fixture.request, 0, &other, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "[9,64]"));
    g_clear_error(&error);
    binding.name = "Batch";
    g_assert_null(ifm_engine_compile(fixture.engine, fixture.model, fixture.spec, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "free are: M"));
    fixture_close(&fixture);
}

/* The caller's memory is written, nothing beside it, and the engine's own serves again afterwards. */
static void test_set_output(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=3 k=8 n=4"), NULL);
    g_autoptr(GError) error = NULL;
    float *memory = NULL;
    g_assert_cmpint(posix_memalign((void **)&memory, 64, 64 * sizeof(float)), ==, 0);
    for (int i = 0; i < 64; i++)
        memory[i] = 77;
    IfmTensor mine, seen;
    g_assert_true(ifm_tensor_wrap(&mine, IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, memory + 16, NULL));
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 8);
    g_auto(IfmTensor) reference = reference_output(fixture.model, &x);
    set_input(fixture.request, &x);
    g_assert_true(can(&fixture, IFM_CAN_SET_OUTPUT));
    ifm_request_set_output(fixture.request, 0, &mine, &error);
    g_assert_no_error(error);
    run(fixture.request);
    g_assert_true(ifm_request_output(fixture.request, 0, &seen, NULL));
    g_assert_true(seen.data == mine.data);
    assert_equal(&mine, &reference);
    for (int i = 0; i < 64; i++)
        if (i < 16 || i >= 28)
            g_assert_cmpfloat(memory[i], ==, 77);
    ifm_request_set_output(fixture.request, 0, NULL, &error);
    g_assert_no_error(error);
    memset(memory, 0, 64 * sizeof(float));
    run(fixture.request);
    g_assert_true(ifm_request_output(fixture.request, 0, &seen, NULL));
    g_assert_true(seen.data != mine.data);
    assert_equal(&seen, &reference);
    g_assert_cmpfloat(memory[16], ==, 0);
    mine.shape[0] = 4;
    g_assert_false(ifm_request_set_output(fixture.request, 0, &mine, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    fixture_close(&fixture);
    free(memory);
}

/* --- looking inside ------------------------------------------------------------------------------------------------------
 */

static gint64 sum_ns(const IfmEngineProfile *profile)
{
    gint64 sum = 0;
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        const IfmNodeTime *node = profile->nodes->pdata[i];
        g_assert_cmpstr(node->name, !=, "");
        g_assert_cmpstr(node->op_type, !=, "");
        g_assert_cmpint(node->duration_ns, >=, 0);
        if (node->start_ns >= 0) /* no two at once, in order */
            for (guint k = 0; k < i; k++)
            {
                const IfmNodeTime *earlier = profile->nodes->pdata[k];
                g_assert_cmpint(earlier->start_ns + earlier->duration_ns, <=, node->start_ns);
            }
        sum += node->duration_ns;
    }
    return sum;
}

typedef struct
{
    Fixture *fixture;
    int n;
    gint64 wall_ns[16];
} Batch;

static void run_batch(void *user)
{
    Batch *batch = user;
    for (int i = 0; i < batch->n; i++)
    {
        IfmRequestTimes times;
        run(batch->fixture->request);
        ifm_request_times(batch->fixture->request, &times);
        batch->wall_ns[i] = times.completed_ns - times.started_ns;
    }
}

/* Runs @n inferences, then reads their profiles: each, or the mean, within its wall time. */
static void check_batch(Fixture *fixture, int n)
{
    g_autoptr(GError) error = NULL;
    Batch batch = { .fixture = fixture, .n = n };
    ifm_compiled_invoke(fixture->compiled, 0, run_batch, &batch);
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(fixture->compiled, fixture->request, &error);
    g_assert_no_error(error);
    gint64 n_seen = 0;
    for (guint i = 0; i < profiles->len; i++)
    {
        const IfmEngineProfile *profile = profiles->pdata[i];
        gint64 wall_ns = 0;
        for (gint64 k = 0; k < profile->n_inferences; k++)
            wall_ns += batch.wall_ns[n_seen + k];
        wall_ns /= profile->n_inferences;
        g_assert_cmpuint(profile->nodes->len, >=, 2);
        /* Where each time is cut off to whole microseconds, the sum can only be too small. */
        gint64 error_ns = profile->resolution_ns > 1000 ? profile->nodes->len * profile->resolution_ns : 0;
        g_assert_cmpint(sum_ns(profile), <=, wall_ns + error_ns);
        g_assert_cmpint(sum_ns(profile), >, 0);
        if (profile->inside_ns >= 0)
        {
            g_assert_cmpint(profile->inside_ns, <=, wall_ns);
            g_assert_cmpint(sum_ns(profile), <=, profile->inside_ns);
        }
        n_seen += profile->n_inferences;
    }
    g_assert_cmpint(n_seen, ==, n);
}

/* Where a runtime tells what its nodes were made of, no convolution of the model's is lost. */
static void check_parts(Fixture *fixture, const IfmEngineProfile *profile)
{
    g_autoptr(GHashTable) parts = ifm_compiled_parts(fixture->compiled);
    if (g_str_has_prefix(fixture->spec->text, "openvino:CPU"))
        g_assert_nonnull(parts);
    if (parts == NULL)
        return;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        const GPtrArray *names = g_hash_table_lookup(parts, ((const IfmNodeTime *)profile->nodes->pdata[i])->name);
        for (guint k = 0; names != NULL && k < names->len; k++)
            g_hash_table_add(seen, names->pdata[k]);
    }
    for (gsize i = 0; i < ifm_model_n_nodes(fixture->model); i++)
    {
        const IfmNode *node = ifm_model_node(fixture->model, i);
        g_autofree char *without = g_strconcat(node->name, "/WithoutBiases", NULL); /* the bias is a node by itself there */
        if (g_str_equal(node->op_type, "Conv"))
            g_assert_true(g_hash_table_contains(seen, node->name) || g_hash_table_contains(seen, without));
    }
}

static void test_profile(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    fixture_compile(&fixture, zoo("matmul", ""), NULL);
    g_autoptr(GError) error = NULL;
    gboolean can_profile = can(&fixture, IFM_CAN_PROFILE);
    g_assert_null(ifm_compiled_profile(fixture.compiled, fixture.request, &error));
    assert_unsupported(&error, can_profile ? "without profiling" : "profile");
    fixture_drop(&fixture);
    options.profiling = TRUE;
    if (!can_profile)
    {
        g_autoptr(IfmModel) model = zoo("matmul", "");
        g_assert_null(ifm_engine_compile(fixture.engine, model, fixture.spec, &options, &error));
        assert_unsupported(&error, "profil");
        fixture_close(&fixture);
        return;
    }
    fixture_compile(&fixture, zoo("small-cnn", "size=64 channels=32"), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 9);
    set_input(fixture.request, &x);
    check_batch(&fixture, 3);
    check_batch(&fixture, 16);
    run_and_compare(&fixture, &x); /* a profiled model still computes the same */
    g_autoptr(GPtrArray) that = ifm_compiled_profile(fixture.compiled, fixture.request, NULL);
    g_assert_cmpuint(that->len, ==, 1);
    check_parts(&fixture, that->pdata[0]);
    g_autoptr(GPtrArray) none = ifm_compiled_profile(fixture.compiled, fixture.request, NULL);
    g_assert_cmpuint(none->len, ==, 0);
    check_batch(&fixture, 1);
    fixture_close(&fixture);
}

static void test_memory(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("small-cnn", "size=64 channels=32"), NULL);
    g_autoptr(GError) error = NULL;
    IfmEngineMemory before, after;
    if (!can(&fixture, IFM_CAN_MEMORY))
    {
        g_assert_false(ifm_compiled_memory(fixture.compiled, &before, &error));
        assert_unsupported(&error, "memory");
        fixture_close(&fixture);
        return;
    }
    g_assert_true(ifm_compiled_memory(fixture.compiled, &before, &error));
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 9);
    run_and_compare(&fixture, &x);
    g_assert_true(ifm_compiled_memory(fixture.compiled, &after, &error));
    /* The first convolution's result alone is 32 x 64 x 64 floats, wherever the device computes. */
    gboolean own = after.device_peak_bytes >= 0;
    gint64 grown = own ? after.device_peak_bytes - before.device_peak_bytes : after.peak_bytes - before.peak_bytes;
    g_assert_cmpint(grown, >=, 32 * 64 * 64 * 4);
    g_assert_cmpint(after.in_use_bytes, <=, after.peak_bytes);
    if (!own) /* else the host's allocator may have no arena, and reserves nothing */
        g_assert_cmpint(after.peak_bytes, <=, after.reserved_bytes);
    g_assert_cmpint(after.device_in_use_bytes, <=, after.device_peak_bytes);
    g_assert_cmpint(after.device_peak_bytes, <=, after.device_reserved_bytes);
    fixture_close(&fixture);
}

static void test_effective_config(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    fixture_compile(&fixture, zoo("matmul", "m=256 k=1024 n=1024 layers=3"), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 10);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(fixture.compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_cmpint(effective_config->dtype, ==, IFM_DTYPE_F32);
    g_assert_cmpint(effective_config->n_streams, ==, MAX(fixture.spec->n_streams, 1));
    g_assert_cmpuint(effective_config->nodes->len, >=, 3);
    g_test_message("%s: %d threads on %s, %u nodes, the first %s %s", fixture.spec->text, effective_config->n_threads,
                   effective_config->cores, effective_config->nodes->len,
                   ((IfmNodeConfig *)effective_config->nodes->pdata[0])->op_type,
                   ((IfmNodeConfig *)effective_config->nodes->pdata[0])->implementation);
    if (fixture.spec->n_cores > 0) /* work enough for all of them */
        g_assert_cmpint(effective_config->n_threads, ==, (int)fixture.spec->n_cores);
    ifm_effective_config_check(effective_config, fixture.spec, &options, &error);
    g_assert_no_error(error);

    /* The check must be able to fail: each part in turn. */
    options.dtype = IFM_DTYPE_BF16;
    g_assert_false(ifm_effective_config_check(effective_config, fixture.spec, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_clear_error(&error);
    options.dtype = IFM_DTYPE_F32;
    effective_config->n_threads = 99;
    options.threads = 1;
    g_assert_false(ifm_effective_config_check(effective_config, fixture.spec, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_clear_error(&error);
    effective_config->n_threads = 1;
    g_free(effective_config->cores);
    effective_config->cores = g_strdup("77");
    g_assert_true(ifm_effective_config_check(effective_config, fixture.spec, &options, &error) ==
                  (fixture.spec->n_cores == 0));
    fixture_close(&fixture);
}

/* --- stopping it ---------------------------------------------------------------------------------------------------------
 */

static void check_cancel(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    gboolean is_cancelled = FALSE;
    g_assert_true(ifm_request_cancel(fixture->request, &error)); /* nothing runs: nothing happens */
    run(fixture->request);
    for (int attempt = 0; attempt < 50 && !is_cancelled; attempt++)
    {
        g_assert_true(ifm_request_start(fixture->request, NULL, NULL, &error));
        g_usleep((gulong)(attempt % 10) * 500);
        g_assert_true(ifm_request_cancel(fixture->request, &error));
        is_cancelled = !ifm_request_wait(fixture->request, IFM_CLOCK_NEVER, &error);
        if (is_cancelled)
            g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    }
    g_assert_true(is_cancelled);
    run(fixture->request); /* the next one is not */
}

/* More threads than cores: a process that keeps to the device's cores, as a runner's worker does, is held by every thread.
 */
static void check_many_threads(const char *device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 4;
    fixture_compile(&fixture, zoo("small-cnn", "size=64 channels=32"), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 8);
    run_and_compare(&fixture, &x);
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(fixture.compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_effective_config_check(effective_config, fixture.spec, &options, &error));
    g_assert_no_error(error);
    g_assert_cmpint(effective_config->n_threads, <=, 4);
    g_autofree char *own = g_strdup(strchr(device, '@') != NULL ? strchr(device, '@') + 1 : effective_config->cores);
    g_assert_cmpstr(effective_config->cores, ==, own);
    g_auto(GStrv) warnings = ifm_effective_config_warnings(effective_config, fixture.spec, &options);
    gboolean reported = FALSE;
    for (gsize i = 0; warnings[i] != NULL; i++)
        reported |= strstr(warnings[i], "4 threads were asked for") != NULL;
    g_assert_cmpint(reported, ==, effective_config->n_threads < 4);
    fixture_close(&fixture);
}

static void test_many_threads(gconstpointer device)
{
    if (g_test_subprocess())
    {
        check_many_threads(device);
        return;
    }
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    cpu_set_t before, mask;
    g_assert_cmpint(sched_getaffinity(0, sizeof before, &before), ==, 0);
    CPU_ZERO(&mask);
    for (gsize i = 0; i < spec->n_cores; i++)
        CPU_SET((gsize)spec->cores[i], &mask);
    if (spec->n_cores > 0 && sched_setaffinity(0, sizeof mask, &mask) != 0)
        g_test_skip("not all of those cores are here");
    else
    {
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_passed();
    }
    g_assert_cmpint(sched_setaffinity(0, sizeof before, &before), ==, 0);
}

static void test_cancel(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    fixture_compile(&fixture, zoo("matmul", "m=256 k=512 n=512 layers=32"), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 10);
    set_input(fixture.request, &x);
    if (can(&fixture, IFM_CAN_CANCEL))
        check_cancel(&fixture);
    else
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_request_cancel(fixture.request, &error));
        assert_unsupported(&error, "cancel");
    }
    fixture_close(&fixture);
}

/* With the runtime's own asynchrony, where that can be cancelled: OpenVINO's can, though its synchronous inference cannot.
 */
static void test_cancel_native_async(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.native_async = TRUE;
    options.threads = 1 + MAX(fixture.spec->n_streams, 1);
    if (fixture.spec->n_cores > 0 || !claims(&fixture, IFM_CAN_NATIVE_ASYNC))
    {
        g_test_skip("no asynchrony of its own here");
        fixture_close(&fixture);
        return;
    }
    fixture_compile(&fixture, zoo("matmul", "m=256 k=512 n=512 layers=32"), &options);
    g_assert_true(can(&fixture, IFM_CAN_CANCEL));
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 10);
    set_input(fixture.request, &x);
    check_cancel(&fixture);
    run_and_compare(&fixture, &x);
    fixture_close(&fixture);
}

static void test_timeout(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=512 k=1024 n=1024 layers=4"), NULL);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 10);
    g_autoptr(GError) error = NULL;
    set_input(fixture.request, &x);
    g_assert_true(ifm_request_start(fixture.request, NULL, NULL, &error));
    g_assert_false(ifm_request_wait(fixture.request, 1000, &error)); /* 1 us, for 4 GFLOP */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    g_clear_error(&error);
    /* It goes on: nothing may touch the request meanwhile, but waiting again ends well. */
    g_assert_false(ifm_request_start(fixture.request, NULL, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "running"));
    g_clear_error(&error);
    g_assert_false(ifm_request_set_input(fixture.request, 0, &x, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_true(ifm_request_wait(fixture.request, IFM_CLOCK_NEVER, &error));
    /* Freeing a running request waits for it. */
    g_assert_true(ifm_request_start(fixture.request, NULL, NULL, &error));
    fixture_close(&fixture);
}

/* --- errors --------------------------------------------------------------------------------------------------------------
 */

static void expect_invalid_input(IfmRequest *request, const IfmTensor *tensor, const char *says)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_request_set_input(request, 0, tensor, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    if (strstr(error->message, says) == NULL)
        g_error("'%s' should say '%s'", error->message, says);
}

static void test_wrong_use(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("matmul", "m=4 k=8 n=4"), NULL);
    g_autoptr(GError) error = NULL;
    IfmTensor tensor;
    g_assert_false(ifm_request_wait(fixture.request, 0, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_request_start(fixture.request, NULL, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "'x' was not set"));
    g_clear_error(&error);
    g_assert_false(ifm_request_output(fixture.request, 0, &tensor, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);

    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 1);
    g_auto(IfmTensor) f64 = IFM_TENSOR_INIT, flat = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&f64, IFM_DTYPE_F64, 2, (gint64[]){ 4, 8 }, NULL));
    g_assert_true(ifm_tensor_init(&flat, IFM_DTYPE_F32, 1, (gint64[]){ 32 }, NULL));
    expect_invalid_input(fixture.request, &f64, "f64[4,8] given, f32[4,8] is expected");
    expect_invalid_input(fixture.request, &flat, "f32[32] given");
    IfmTensor strided = x;
    strided.strides_bytes[0] *= 2;
    expect_invalid_input(fixture.request, &strided, "contiguous");
    IfmTensor elsewhere = x;
    elsewhere.memory = IFM_MEMORY_DEVICE;
    expect_invalid_input(fixture.request, &elsewhere, "device memory");
    g_assert_false(ifm_request_set_input(fixture.request, 1, &x, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    run_and_compare(&fixture, &x); /* and it still works */
    fixture_close(&fixture);
}

/* A model that no engine knows is refused in the engine's own words, in one line. */
static void test_refused(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("refused", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, (gint64[]){ 4 }, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 1, (gint64[]){ 4 }, NULL);
    ifm_model_builder_node(builder, "Frobnicate", "node", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_assert_null(ifm_engine_compile(fixture.engine, model, fixture.spec, &options, &error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, fixture.spec->text));
    assert_unsupported(&error, "Frobnicate");
    options.dtype = IFM_DTYPE_I8;
    g_autoptr(IfmModel) matmul = zoo("matmul", "");
    g_assert_null(ifm_engine_compile(fixture.engine, matmul, fixture.spec, &options, &error));
    g_test_message("%s", error->message);
    assert_unsupported(&error, "i8");
    fixture_close(&fixture);
}

/* --- the cache -----------------------------------------------------------------------------------------------------------
 */

static guint n_entries(const char *folder)
{
    guint n = 0;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

/* Compiles, and returns what it answers. */
static IfmTensor answer_of(Fixture *fixture, IfmModel *model, const IfmCompileOptions *options, gboolean from_cache)
{
    fixture_drop(fixture);
    fixture_compile(fixture, ifm_model_ref(model), options);
    g_assert_cmpint(ifm_compiled_info(fixture->compiled).from_cache, ==, from_cache);
    g_auto(IfmTensor) x = make_input(model, NULL, 0, 3);
    set_input(fixture->request, &x);
    run(fixture->request);
    return copy_output(fixture->request);
}

/* What comes out of the cache computes the same to the last bit; another model, or the same with other options, does not
 * come out of it. A device that has none compiles as ever, and writes nothing. */
static void test_cache(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    g_autofree char *folder = g_dir_make_tmp("inferometer-test-XXXXXX", NULL);
    g_autofree char *below = g_build_filename(folder, "not", "yet", NULL);
    g_autoptr(IfmModel) model = zoo("small-cnn", "");
    g_autoptr(IfmModel) other = ifm_zoo_build("small-cnn", NULL, 12, NULL); /* by name and shapes the same */
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT, profiled, two_threads;
    options.threads = 1;
    g_auto(IfmTensor) plain = answer_of(&fixture, model, &options, FALSE);
    g_auto(IfmTensor) other_plain = answer_of(&fixture, other, &options, FALSE);
    gboolean caches = can(&fixture, IFM_CAN_CACHE);
    options.cache_dir = below;
    g_auto(IfmTensor) first = answer_of(&fixture, model, &options, FALSE);
    g_auto(IfmTensor) second = answer_of(&fixture, model, &options, caches);
    g_auto(IfmTensor) other_first = answer_of(&fixture, other, &options, FALSE);
    g_auto(IfmTensor) other_second = answer_of(&fixture, other, &options, caches);
    g_assert_cmpmem(first.data, first.size_bytes, plain.data, plain.size_bytes);
    g_assert_cmpmem(second.data, second.size_bytes, plain.data, plain.size_bytes);
    g_assert_cmpmem(other_first.data, other_first.size_bytes, other_plain.data, other_plain.size_bytes);
    g_assert_cmpmem(other_second.data, other_second.size_bytes, other_plain.data, other_plain.size_bytes);
    two_threads = profiled = options;
    two_threads.threads = 2;
    profiled.profiling = TRUE;
    gboolean has_two = fixture.spec->n_cores == 2; /* others refuse more threads than they have */
    if (has_two)
    {
        g_auto(IfmTensor) threaded = answer_of(&fixture, model, &two_threads, FALSE);
        assert_equal(&threaded, &plain);
    }
    for (int i = 0; i < 2 && can(&fixture, IFM_CAN_PROFILE); i++)
    {
        g_auto(IfmTensor) seen = answer_of(&fixture, model, &profiled, i > 0 && caches);
        assert_equal(&seen, &plain);
        g_autoptr(GPtrArray) profiles = ifm_compiled_profile(fixture.compiled, fixture.request, NULL);
        g_assert_cmpuint(((const IfmEngineProfile *)profiles->pdata[0])->nodes->len, >, 0);
    }
    if (caches)
        g_assert_cmpuint(n_entries(below), ==, 2u + has_two + can(&fixture, IFM_CAN_PROFILE));
    else
        g_assert_cmpuint(n_entries(folder), ==, 0);
    remove_tree(folder);
    fixture_close(&fixture);
}

/* One test that says why a device's others are left out. */
static void test_available(gconstpointer device)
{
    Fixture fixture;
    if (fixture_open(&fixture, device))
        fixture_close(&fixture);
}

static gboolean is_available(const char *device)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    g_autoptr(IfmEngine) engine = ifm_engine_open(spec->engine, clock, NULL);
    return engine != NULL && ifm_engine_probe_device(engine, spec, NULL);
}

/* A runtime's pool may keep to the cores of the process, whatever cores a device has: "@0-1" is all there is, on every
 * machine. */
static void keep_to_two_cores(void)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(0, &mask);
    CPU_SET(1, &mask);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0)
        g_test_message("the process keeps the cores it has");
}

/* A thread of the process itself, at work all the time: the effective configuration must not count it. */
static void *work_on(void *unused)
{
    (void)unused;
    for (;;)
        g_usleep(1000);
    return NULL;
}

/* It begins before any engine opens, and so does the thread that ThreadSanitizer adds to a process with its first one. */
static void start_foreign_thread(void)
{
    pthread_t thread;
    g_assert_cmpint(pthread_create(&thread, NULL, work_on, NULL), ==, 0);
    pthread_detach(thread);
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*function)(gconstpointer device);
    } tests[] = {
        { "product", test_product },
        { "reference", test_reference },
        { "inline", test_inline },
        { "asynchronous", test_asynchronous },
        { "native-async", test_native_async },
        { "several-requests", test_several_requests },
        { "threads", test_threads },
        { "free-shapes", test_free_shapes },
        { "free-rank", test_free_rank },
        { "free-shapes-outputs", test_free_shapes_outputs },
        { "bound-shapes", test_bound_shapes },
        { "set-output", test_set_output },
        { "profile", test_profile },
        { "memory", test_memory },
        { "effective_config", test_effective_config },
        { "many-threads", test_many_threads },
        { "cancel", test_cancel },
        { "cancel-native-async", test_cancel_native_async },
        { "timeout", test_timeout },
        { "wrong-use", test_wrong_use },
        { "cache", test_cache },
        { "refused", test_refused },
    };
    g_test_init(&argc, &argv, NULL);
    start_foreign_thread();
    if (!g_test_subprocess())
        keep_to_two_cores();
    for (gsize device = 0; device < G_N_ELEMENTS(devices); device++)
    {
        g_autofree char *first = g_strdup_printf("/conformance/%s/available", devices[device]);
        g_test_add_data_func(first, devices[device], test_available);
        for (gsize i = 0; is_available(devices[device]) && i < G_N_ELEMENTS(tests); i++)
        {
            g_autofree char *name = g_strdup_printf("/conformance/%s/%s", devices[device], tests[i].name);
            g_test_add_data_func(name, devices[device], tests[i].function);
        }
    }
    return g_test_run();
}
