#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cuda.h>
#include <inferometer/engine.h>

#include "build-folders.h"
#include "stress/stress-private.h"

/* The times that a stressor takes are for the bench (bench/stress.c): here is what holds on any machine. */

#define OWNER "IFM_TEST_STRESS_OWNER"
#define LOOKS 500
#define LOOK_US 10000

static void assert_refused(const IfmStressOptions *options, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_stressor_start(options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, part));
}

static void test_refused(void)
{
    IfmStressKind kind;
    g_autoptr(GError) error = NULL;
    assert_refused(&(IfmStressOptions){ .intensity = 2 }, "an intensity of 2: 0 to 1 is expected");
    assert_refused(&(IfmStressOptions){ .intensity = -0.1 }, "0 to 1 is expected");
    assert_refused(&(IfmStressOptions){ .intensity = 0.0 / 0.0 }, "0 to 1 is expected");
    assert_refused(&(IfmStressOptions){ .cores = "1000" }, "there is no core 1000");
    assert_refused(&(IfmStressOptions){ .cores = "x" }, "\"x\" is no core");
    assert_refused(&(IfmStressOptions){ .cores = "" }, "0 cores, expected 1 to 256");
    assert_refused(&(IfmStressOptions){ .cores = "3-1" }, "\"3-1\" is no core");
    assert_refused(&(IfmStressOptions){ .cores = "-1" }, "\"-1\" is no core");
    g_assert_false(ifm_stress_parse("copi", &kind, &error));
    g_assert_nonnull(strstr(error->message, "did you mean \"copy\"?"));
    for (int i = 0; i < IFM_N_STRESS_KINDS; i++)
        g_assert_true(ifm_stress_parse(ifm_stress_words()[i], &kind, NULL) && kind == (IfmStressKind)i);
}

static gboolean is_there(int pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

static gboolean await_gone(int pid)
{
    for (int look = 0; look < LOOKS; look++)
    {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;
        if (!is_there(pid) || (g_file_get_contents(path, &text, NULL, NULL) && strstr(text, ") Z ") != NULL))
            return TRUE;
        g_usleep(LOOK_US);
    }
    return FALSE;
}

static void await_work(IfmStressor *stressor, IfmStressReading *reading)
{
    do
    {
        g_usleep(LOOK_US);
        ifm_stressor_read(stressor, reading);
        if (reading->ended != NULL)
            g_error("%s", reading->ended);
    } while (reading->work_per_s == 0);
    g_assert_cmpfloat(reading->achieved, >, 0);
}

/* It does its work; at an intensity of 0 none is done, and then it is again; it ends. Returns: a reading of work */
static IfmStressReading check_course(const IfmStressOptions *options)
{
    g_autoptr(GError) error = NULL;
    IfmStressReading reading, again;
    IfmStressor *stressor = ifm_stressor_start(options, &error);
    g_assert_no_error(error);
    const int pid = ifm_stressor_pid(stressor);
    await_work(stressor, &reading);
    g_assert_cmpfloat(reading.asked, ==, options->intensity);
    ifm_stressor_set(stressor, 0);
    for (guint n_idle = 0, n_looks = 0; n_idle < 5; n_looks++) /* the piece in hand may still end, late on a busy machine */
    {
        g_usleep(2 * LOOK_US);
        ifm_stressor_read(stressor, &again);
        n_idle = again.work_per_s == 0 && again.achieved == 0 ? n_idle + 1 : 0;
        g_assert_cmpuint(n_looks, <, 2000);
    }
    ifm_stressor_set(stressor, 0.3);
    await_work(stressor, &again);
    g_assert_cmpfloat(again.asked, ==, 0.3);
    ifm_stressor_free(stressor);
    g_assert_false(is_there(pid));
    return reading;
}

static void test_kinds(void)
{
    for (int i = 0; i < IFM_N_STRESS_KINDS; i++)
        g_assert_cmpuint(check_course(&(IfmStressOptions){ (IfmStressKind)i, 1, "0" }).n_cores, ==, 1);
}

/* A stressor that something else ended says so. */
/* What is counted is the work of the kind: a product of two matrices of order n takes 2 n^3 FLOP, and whole ones are done;
 * a byte that is copied is read and written. */
static void test_counts(void)
{
    static StressWork *gemm, *copy; /* it lives as long as its process */
    gemm = stress_work_new(IFM_STRESS_GEMM);
    copy = stress_work_new(IFM_STRESS_COPY);
    const gint64 flop = stress_work_run(gemm), bytes = stress_work_run(copy);
    g_assert_cmpint(flop, ==, 16 * 2 * 48 * 48 * 48);
    g_assert_cmpint(bytes, ==, 2 * 256 * 1024);
}

static void test_ended(void)
{
    IfmStressReading reading;
    g_autoptr(IfmStressor) stressor = ifm_stressor_start(&(IfmStressOptions){ .intensity = 0.1, .cores = "0" }, NULL);
    g_assert_nonnull(stressor);
    kill(ifm_stressor_pid(stressor), SIGTERM);
    do
    {
        g_usleep(LOOK_US);
        ifm_stressor_read(stressor, &reading);
    } while (reading.ended == NULL);
    g_assert_cmpstr(reading.ended, ==, "the stressor was ended by signal 15");
}

/* The program in the role of an owner: prints the stressor's process, and waits to be killed. */
static int be_owner(void)
{
    g_autoptr(GError) error = NULL;
    IfmStressor *stressor = ifm_stressor_start(&(IfmStressOptions){ .intensity = 0.2, .cores = "0" }, &error);
    g_assert_no_error(error);
    printf("%d\n", ifm_stressor_pid(stressor));
    fflush(stdout);
    for (;;)
        pause();
    return 0;
}

/* Killed at any moment, an owner leaves no stressor. */
static void test_killed_owner(void)
{
    for (int i = 0; i < 50; i++)
    {
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), OWNER, "1", TRUE);
        char *arguments[] = { (char *)"/proc/self/exe", NULL }, line[32] = { 0 };
        GPid owner;
        int out, status;
        g_spawn_async_with_pipes(NULL, arguments, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &owner, NULL, &out,
                                 NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpint(read(out, line, sizeof line - 1), >, 0);
        kill(owner, i % 2 == 0 ? SIGKILL : SIGSEGV);
        waitpid(owner, &status, 0);
        close(out);
        g_assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
        g_assert_true(await_gone(atoi(line)));
    }
}

/* --- on a GPU of the test -----------------------------------------------------------------------------------------------
 */

#define FAKE "IFM_CUDNN_LIBRARY", IFM_BUILD_DIR "/tests/convolution/libcudnn.so.9"
#define FAILURE "cuBLAS: cublasSgemm: CUBLAS_STATUS_EXECUTION_FAILED (13)"

/* With other settings of the stand-in library, which the stressor's process inherits: "NAME", "VALUE", …, NULL */
static IfmStressor *start_with(const char *const *settings, const IfmStressOptions *options, GError **error)
{
    for (gsize i = 0; settings[i] != NULL; i += 2)
        g_setenv(settings[i], settings[i + 1], TRUE);
    IfmStressor *stressor = ifm_stressor_start(options, error);
    for (gsize i = 0; settings[i] != NULL; i += 2)
        g_unsetenv(settings[i]);
    return stressor;
}

static void test_gpu_kinds(void)
{
    g_setenv(FAKE, TRUE);
    g_setenv("IFM_FAKE_PIECE", "1", TRUE);
    for (int i = 0; i < IFM_STRESS_RANDOM; i++)
    {
        const IfmStressReading reading =
            check_course(&(IfmStressOptions){ .kind = (IfmStressKind)i, .intensity = 0.5, .device = "CUDA:0" });
        const double work = round(reading.work_per_s * (double)reading.window_ns / 1e9);
        g_assert_cmpuint(reading.n_cores, ==, 0);
        g_assert_cmpfloat(fmod(work, i == IFM_STRESS_GEMM ? 2 * 512.0 * 512 * 512 : 2 * 268435456.0), ==, 0);
    }
    g_unsetenv("IFM_FAKE_PIECE");
    g_unsetenv("IFM_CUDNN_LIBRARY");
}

/* It is the events' time that counts: here a piece takes 50 ms of it and none of the host's, so more than all is reached.
 */
static void test_gpu_events(void)
{
    g_autoptr(GError) error = NULL;
    IfmStressReading reading;
    const char *const settings[] = { FAKE, "IFM_FAKE_PIECE", "50", NULL };
    g_autoptr(IfmStressor) stressor =
        start_with(settings, &(IfmStressOptions){ .intensity = 0.5, .device = "CUDA:0" }, &error);
    g_assert_no_error(error);
    do
        await_work(stressor, &reading);
    while (reading.achieved <= 1);
}

static void test_gpu_refused(void)
{
    static const struct
    {
        const char *settings[5];
        const char *device;
        IfmErrorCode code;
        const char *message;
    } rows[] = {
        { { FAKE }, "CUDA:1", IFM_ERROR_INVALID, "there is no CUDA:1: this machine has 1 GPU" },
        { { FAKE, "IFM_FAKE_GPUS", "0" },
          "CUDA:0",
          IFM_ERROR_UNAVAILABLE,
          "CUDA: there is no GPU: no CUDA-capable device is detected (100)" },
        { { FAKE, "IFM_FAKE_FAILING", "1" }, "CUDA:0", IFM_ERROR_FAILED, FAILURE },
        { { FAKE }, "CUDA:", IFM_ERROR_INVALID, "device: \"CUDA:\" is no GPU, such as CUDA:0" },
        { { FAKE }, "CUDA:-1", IFM_ERROR_INVALID, "device: \"CUDA:-1\" is no GPU, such as CUDA:0" },
        { { FAKE }, "GPU", IFM_ERROR_INVALID, "device: \"GPU\" is no GPU, such as CUDA:0" },
        { { "IFM_CUDNN_LIBRARY", "/nonexistent/libcudnn.so.9" },
          "CUDA:0",
          IFM_ERROR_UNAVAILABLE,
          "CUDA: libcudart.so.13 is missing: \"setup/install cuda\" gets it" },
    };
    const gboolean has_cuda = dlopen("libcudart.so.13", RTLD_LAZY) != NULL || dlopen("libcudart.so.12", RTLD_LAZY) != NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(rows) - (has_cuda ? 1 : 0); i++) /* the loader's own: it is never missing */
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(start_with(rows[i].settings, &(IfmStressOptions){ .device = rows[i].device }, &error));
        g_assert_error(error, IFM_ERROR, (gint)rows[i].code);
        g_assert_cmpstr(error->message, ==, rows[i].message);
    }
    assert_refused(&(IfmStressOptions){ IFM_STRESS_RANDOM, .device = "CUDA:0" }, "random is a load on cores");
    assert_refused(&(IfmStressOptions){ .cores = "0", .device = "CUDA:0" }, "cores or a device, not both");
}

/* A call that fails later ends it, and it says which. */
static void test_gpu_failing(void)
{
    g_autoptr(GError) error = NULL;
    IfmStressReading reading;
    const char *const settings[] = { FAKE, "IFM_FAKE_FAILING", "200", NULL };
    g_autoptr(IfmStressor) stressor =
        start_with(settings, &(IfmStressOptions){ .intensity = 1, .device = "CUDA:0" }, &error);
    g_assert_no_error(error);
    do
    {
        g_usleep(LOOK_US);
        ifm_stressor_read(stressor, &reading);
    } while (reading.ended == NULL);
    g_assert_cmpstr(reading.ended, ==, FAILURE);
}

/* Beside a device: on its GPU, or on a core that its host threads do not have. */
static void test_places(void)
{
    static const struct
    {
        IfmStressKind kind;
        const char *spec;
        gboolean other;
        const char *device, *cores; /* NULL both: refused */
        const char *why;
    } rows[] = {
        { IFM_STRESS_RANDOM, "onnxruntime:CPU@0", FALSE, NULL, "0", NULL },
        { IFM_STRESS_GEMM, "onnxruntime:CPU", TRUE, NULL, NULL, "name its cores, as in CPU@0" },
        { IFM_STRESS_GEMM, "onnxruntime:CUDA:1", FALSE, "CUDA:1", NULL, NULL },
        { IFM_STRESS_COPY, "onnxruntime:CUDA", FALSE, "CUDA:0", NULL, NULL },
        { IFM_STRESS_GEMM, "onnxruntime:CUDA:1@0", FALSE, "CUDA:1", NULL, NULL },
        { IFM_STRESS_GEMM, "onnxruntime:TensorRT:2", FALSE, "CUDA:2", NULL, NULL },
        { IFM_STRESS_RANDOM, "onnxruntime:CUDA:1", FALSE, NULL, NULL, "random is a load on cores" },
        { IFM_STRESS_RANDOM, "onnxruntime:CUDA:1", TRUE, NULL, NULL, "name its cores, as in onnxruntime:CUDA:1@0" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(rows[i].spec, NULL);
        IfmStressPlace place;
        g_assert_nonnull(spec);
        const gboolean found = ifm_stress_place_of(rows[i].kind, spec, rows[i].other, &place, &error);
        g_assert_cmpint(found, ==, rows[i].why == NULL);
        g_assert_cmpstr(place.device, ==, rows[i].device);
        g_assert_cmpstr(place.cores, ==, rows[i].cores);
        g_assert_true(found || strstr(error->message, rows[i].why) != NULL);
        ifm_stress_place_clear(&place);
    }
}

/* --- on a GPU ----------------------------------------------------------------------------------------------------------
 */

static void test_on_gpu(void)
{
    g_autoptr(GError) error = NULL;
    if (ifm_cublas(&error) == NULL) /* all symbols are found, or it is refused */
    {
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
        g_test_skip(error->message);
        return;
    }
    IfmStressor *first = ifm_stressor_start(&(IfmStressOptions){ .device = "CUDA:0" }, &error);
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_test_skip(error->message);
        return;
    }
    g_assert_no_error(error);
    ifm_stressor_free(first);
    for (int i = 0; i < IFM_STRESS_RANDOM; i++)
    {
        const IfmStressReading reading =
            check_course(&(IfmStressOptions){ .kind = (IfmStressKind)i, .intensity = 0.5, .device = "CUDA:0" });
        g_test_message("%s: %.1f %%, %.1f G/s over %.1f ms", ifm_stress_words()[i], 100 * reading.achieved,
                       reading.work_per_s / 1e9, (double)reading.window_ns / 1e6);
    }
}

int main(int argc, char **argv)
{
    if (g_getenv(OWNER) != NULL)
        return be_owner();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stress/refused", test_refused);
    g_test_add_func("/stress/kinds", test_kinds);
    g_test_add_func("/stress/counts", test_counts);
    g_test_add_func("/stress/ended", test_ended);
    g_test_add_func("/stress/killed-owner", test_killed_owner);
    g_test_add_func("/stress/gpu/kinds", test_gpu_kinds);
    g_test_add_func("/stress/gpu/events", test_gpu_events);
    g_test_add_func("/stress/gpu/refused", test_gpu_refused);
    g_test_add_func("/stress/gpu/failing", test_gpu_failing);
    g_test_add_func("/stress/gpu/places", test_places);
    g_test_add_func("/stress/gpu/on-gpu", test_on_gpu);
    return g_test_run();
}
