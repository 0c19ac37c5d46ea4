#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Each kind does its work; at an intensity of 0 none is done. */
static void test_kinds(void)
{
    for (int i = 0; i < IFM_N_STRESS_KINDS; i++)
    {
        g_autoptr(GError) error = NULL;
        const IfmStressOptions options = { (IfmStressKind)i, 1, "0" };
        IfmStressReading reading;
        IfmStressor *stressor = ifm_stressor_start(&options, &error);
        g_assert_no_error(error);
        const int pid = ifm_stressor_pid(stressor);
        do
        {
            g_usleep(LOOK_US);
            ifm_stressor_read(stressor, &reading);
            g_assert_null(reading.ended);
        } while (reading.work_per_s == 0);
        g_assert_cmpfloat(reading.achieved, >, 0);
        g_assert_cmpfloat(reading.asked, ==, 1);
        g_assert_cmpuint(reading.n_cores, ==, 1);
        ifm_stressor_set(stressor, 0);
        for (guint n_idle = 0, n_looks = 0; n_idle < 5;
             n_looks++) /* the piece in hand may still end, late on a busy machine */
        {
            g_usleep(2 * LOOK_US);
            ifm_stressor_read(stressor, &reading);
            n_idle = reading.work_per_s == 0 && reading.achieved == 0 ? n_idle + 1 : 0;
            g_assert_cmpuint(n_looks, <, 2000);
        }
        ifm_stressor_free(stressor);
        g_assert_false(is_there(pid));
    }
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
    return g_test_run();
}
