#include <base/base.h>
#include <engine/engine-private.h>
#include <engine/engine.h>
#include <unistd.h>

#define MS G_GINT64_CONSTANT(1000000)

typedef struct
{
    IfmExecutor *executor;
    IfmClock *clock;
    pid_t tid;
    char *cores;
    int depth, n;
    GArray *order;
} Seen;

static void look(void *user)
{
    Seen *seen = user;
    seen->tid = gettid();
    g_free(seen->cores);
    seen->cores = ifm_affinity_to_string();
    g_assert_true(ifm_executor_is_current(seen->executor));
    if (seen->depth++ == 0)
        ifm_executor_call(seen->executor, look, seen); /* from its own thread: at once */
}

static void test_call(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) mine = ifm_affinity_cores();
    int last = g_array_index(mine, int, mine->len - 1);
    IfmExecutor *executor = ifm_executor_new(clock, &last, 1, "test", &error);
    g_assert_no_error(error);
    Seen seen = { .executor = executor };
    ifm_executor_call(executor, look, &seen);
    g_assert_cmpint(seen.depth, ==, 2);
    g_assert_cmpint(seen.tid, !=, gettid());
    g_assert_cmpint(seen.tid, ==, ifm_executor_tid(executor));
    g_autofree char *expected = g_strdup_printf("%d", last);
    g_assert_cmpstr(seen.cores, ==, expected);
    g_assert_false(ifm_executor_is_current(executor));
    ifm_executor_free(executor);
    g_free(seen.cores);
}

static void test_no_such_core(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) mine = ifm_affinity_cores();
    int cores[] = { g_array_index(mine, int, 0), 1023 }; /* the kernel alone would take this mask and drop the second */
    if (g_array_index(mine, int, mine->len - 1) == 1023)
    {
        g_test_skip("this machine has a core 1023");
        return;
    }
    g_assert_null(ifm_executor_new(clock, cores, 2, "test", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "1023"));
}

typedef struct
{
    IfmJob job;
    Seen *seen;
    int number;
} Posted;

static void posted(void *user)
{
    Posted *self = user;
    ifm_clock_sleep_until_ns(self->seen->clock, ifm_clock_now_ns(self->seen->clock) + 10 * MS);
    g_array_append_val(self->seen->order, self->number);
    g_free(self); /* the executor must not touch it any more */
}

/* Posted jobs run in order, all of them before the executor ends, each taking its time on a virtual clock. */
static void test_posted(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(0);
    ifm_clock_enter(clock);
    Seen seen = { .clock = clock, .order = g_array_new(FALSE, FALSE, sizeof(int)) };
    seen.executor = ifm_executor_new(clock, NULL, 0, "test", NULL);
    for (int i = 0; i < 50; i++)
    {
        Posted *job = g_new0(Posted, 1);
        job->job.function = posted;
        job->job.user = job;
        job->seen = &seen;
        job->number = i;
        ifm_executor_post(seen.executor, &job->job);
    }
    g_assert_cmpint(ifm_clock_now_ns(clock), ==, 0);
    ifm_executor_free(seen.executor);
    g_assert_cmpint(ifm_clock_now_ns(clock), ==, 500 * MS);
    g_assert_cmpuint(seen.order->len, ==, 50);
    for (int i = 0; i < 50; i++)
        g_assert_cmpint(g_array_index(seen.order, int, i), ==, i);
    ifm_clock_leave(clock);
    g_array_unref(seen.order);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/executor/call", test_call);
    g_test_add_func("/executor/no-such-core", test_no_such_core);
    g_test_add_func("/executor/posted", test_posted);
    return g_test_run();
}
