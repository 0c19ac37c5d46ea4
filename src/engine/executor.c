#include <base/base.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "engine-private.h"

/* An executor is a thread, pinned to cores where asked, that runs the jobs posted to it in order. */

struct IfmExecutor
{
    IfmClock *clock;
    IfmCondition *condition;
    pthread_t thread;
    pid_t tid;
    const int *cores; /* the creator's, until the thread has started */
    gsize n_cores;
    const char *name;
    /* under the condition's lock: */
    IfmJob *first, **last;
    gboolean started, quit, ended;
    char *refusal; /* why the thread could not be pinned */
};

/* Pins the calling thread. The kernel silently drops cores that it does not have from a mask, so the mask is read
 * back. */
static char *pin(const int *cores, gsize n_cores)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (gsize i = 0; i < n_cores; i++)
        CPU_SET(cores[i], &mask);
    g_autofree char *allowed = ifm_affinity_to_string();
    cpu_set_t got;
    if (sched_setaffinity(0, sizeof mask, &mask) == 0 && sched_getaffinity(0, sizeof got, &got) == 0 &&
        CPU_EQUAL(&mask, &got))
        return NULL;
    g_autofree char *asked = ifm_cores_to_string(cores, n_cores);
    return g_strdup_printf("cores %s: this process may use %s", asked, allowed);
}

static void announce(IfmExecutor *executor, gboolean *what)
{
    ifm_condition_lock(executor->condition);
    *what = TRUE;
    ifm_condition_broadcast(executor->condition);
    ifm_condition_unlock(executor->condition);
}

/* Takes the next job. Returns: NULL if there is none left and the executor is to end. */
static IfmJob *take(IfmExecutor *executor)
{
    ifm_condition_lock(executor->condition);
    while (executor->first == NULL && !executor->quit)
        ifm_condition_wait_until(executor->condition, IFM_CLOCK_NEVER);
    IfmJob *job = executor->first;
    if (job != NULL)
    {
        executor->first = job->next;
        if (executor->first == NULL)
            executor->last = &executor->first;
    }
    ifm_condition_unlock(executor->condition);
    return job;
}

static void *executor_main(void *data)
{
    IfmExecutor *executor = data;
    IfmJob *job;
    executor->tid = gettid();
    pthread_setname_np(pthread_self(), executor->name);
    if (executor->n_cores > 0)
        executor->refusal = pin(executor->cores, executor->n_cores);
    announce(executor, &executor->started);
    while ((job = take(executor)) != NULL)
    {
        gboolean waited = job->waited; /* a posted job may be freed when its function returns */
        job->function(job->user);
        if (waited)
            announce(executor, &job->done);
    }
    announce(executor, &executor->ended);
    ifm_clock_leave(executor->clock);
    return NULL;
}

static void wait_for(IfmExecutor *executor, const gboolean *what)
{
    ifm_condition_lock(executor->condition);
    while (!*what)
        ifm_condition_wait_until(executor->condition, IFM_CLOCK_NEVER);
    ifm_condition_unlock(executor->condition);
}

static void executor_release(IfmExecutor *executor)
{
    ifm_condition_free(executor->condition);
    ifm_clock_unref(executor->clock);
    g_free(executor->refusal);
    g_free(executor);
}

IfmExecutor *ifm_executor_new(IfmClock *clock, const int *cores, gsize n_cores, const char *thread_name, GError **error)
{
    IfmExecutor *executor = g_new0(IfmExecutor, 1);
    executor->clock = ifm_clock_ref(clock);
    executor->condition = ifm_condition_new(clock);
    executor->last = &executor->first;
    executor->cores = cores;
    executor->n_cores = n_cores;
    executor->name = thread_name;
    ifm_clock_enter(clock); /* on behalf of the thread, before it runs: time must not pass in between */
    int failure = pthread_create(&executor->thread, NULL, executor_main, executor);
    if (failure != 0)
    {
        ifm_clock_leave(clock);
        executor_release(executor);
        ifm_error_set(error, IFM_ERROR_MEMORY, "executing thread: %s", g_strerror(failure));
        return NULL;
    }
    wait_for(executor, &executor->started);
    if (executor->refusal != NULL)
    {
        ifm_error_refuse(error, "%s", executor->refusal);
        ifm_executor_free(executor);
        return NULL;
    }
    return executor;
}

void ifm_executor_free(IfmExecutor *executor)
{
    if (executor == NULL)
        return;
    g_assert(!ifm_executor_is_current(executor));
    announce(executor, &executor->quit);
    wait_for(executor, &executor->ended); /* through the clock; the join below then does not wait for time to pass */
    pthread_join(executor->thread, NULL);
    executor_release(executor);
}

gboolean ifm_executor_is_current(const IfmExecutor *executor)
{
    return pthread_equal(executor->thread, pthread_self());
}

pid_t ifm_executor_tid(const IfmExecutor *executor)
{
    return executor->tid;
}

void ifm_executor_post(IfmExecutor *executor, IfmJob *job)
{
    job->next = NULL;
    ifm_condition_lock(executor->condition);
    *executor->last = job;
    executor->last = &job->next;
    ifm_condition_broadcast(executor->condition);
    ifm_condition_unlock(executor->condition);
}

void ifm_executor_call(IfmExecutor *executor, void (*function)(void *user), void *user)
{
    if (ifm_executor_is_current(executor))
    {
        function(user);
        return;
    }
    IfmJob job = { .function = function, .user = user, .waited = TRUE };
    ifm_executor_post(executor, &job);
    wait_for(executor, &job.done);
}
