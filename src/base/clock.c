#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include <base/base.h>
#include <pthread.h>

/* A clock tells real or virtual time, and a condition waits on it; virtual time moves on when all threads that entered
 * wait. */

#define NS_PER_S G_GINT64_CONSTANT(1000000000)
/* The last part of a wait is spun, not slept. Its length is about the cost of a wake-up on a virtual machine. */
#define SPIN_NS 80000

/* One thread that waits on a virtual clock. It is on the stack of that thread. */
typedef struct Waiter
{
    struct Waiter *next;
    IfmCondition *condition; /* NULL: sleeps */
    gint64 deadline_ns;
    gboolean woken;
    pthread_cond_t wake;
} Waiter;

struct IfmClock
{
    gatomicrefcount references;
    gboolean is_virtual;
    /* virtual only: */
    pthread_mutex_t mutex; /* also of every condition on this clock: with one lock, "all threads wait" is well defined */
    _Atomic gint64 now_ns;
    int n_running; /* registered threads that do not wait; a woken thread counts at once */
    Waiter *waiters;
};

struct IfmCondition
{
    IfmClock *clock;
    pthread_mutex_t mutex; /* real only */
    pthread_cond_t wake;   /* real only */
};

static IfmClock *clock_new(gboolean is_virtual, gint64 start_ns)
{
    IfmClock *clock = g_new0(IfmClock, 1);
    g_atomic_ref_count_init(&clock->references);
    clock->is_virtual = is_virtual;
    atomic_init(&clock->now_ns, start_ns);
    pthread_mutex_init(&clock->mutex, NULL);
    return clock;
}

IfmClock *ifm_clock_new_real(void)
{
    return clock_new(FALSE, 0);
}

IfmClock *ifm_clock_new_virtual(gint64 start_ns)
{
    return clock_new(TRUE, start_ns);
}

IfmClock *ifm_clock_ref(IfmClock *clock)
{
    g_atomic_ref_count_inc(&clock->references);
    return clock;
}

void ifm_clock_unref(IfmClock *clock)
{
    if (clock == NULL || !g_atomic_ref_count_dec(&clock->references))
        return;
    g_assert(clock->waiters == NULL);
    pthread_mutex_destroy(&clock->mutex);
    g_free(clock);
}

gboolean ifm_clock_is_virtual(const IfmClock *clock)
{
    return clock->is_virtual;
}

gint64 ifm_clock_now_ns(IfmClock *clock)
{
    if (clock->is_virtual)
        return atomic_load_explicit(&clock->now_ns, memory_order_acquire);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Moves time to the earliest deadline if no thread runs. The caller holds the mutex. */
static void advance_if_idle(IfmClock *clock)
{
    gint64 earliest = IFM_CLOCK_NEVER;
    if (clock->n_running > 0)
        return;
    for (Waiter *waiter = clock->waiters; waiter != NULL; waiter = waiter->next)
        earliest = MIN(earliest, waiter->deadline_ns);
    if (earliest == IFM_CLOCK_NEVER) /* only a broadcast by an unregistered thread can wake one */
        return;
    if (earliest > atomic_load_explicit(&clock->now_ns, memory_order_relaxed))
        atomic_store_explicit(&clock->now_ns, earliest, memory_order_release);
    for (Waiter *waiter = clock->waiters; waiter != NULL; waiter = waiter->next)
        if (!waiter->woken && waiter->deadline_ns <= earliest)
        {
            waiter->woken = TRUE;
            clock->n_running++;
            pthread_cond_signal(&waiter->wake);
        }
}

void ifm_clock_enter(IfmClock *clock)
{
    if (!clock->is_virtual)
        return;
    pthread_mutex_lock(&clock->mutex);
    clock->n_running++;
    pthread_mutex_unlock(&clock->mutex);
}

void ifm_clock_leave(IfmClock *clock)
{
    if (!clock->is_virtual)
        return;
    pthread_mutex_lock(&clock->mutex);
    g_assert(clock->n_running > 0);
    clock->n_running--;
    advance_if_idle(clock);
    pthread_mutex_unlock(&clock->mutex);
}

/* Waits on a virtual clock. The caller holds the mutex. */
static void wait_virtual(IfmClock *clock, IfmCondition *condition, gint64 deadline_ns)
{
    Waiter waiter = { .next = clock->waiters, .condition = condition, .deadline_ns = deadline_ns };
    pthread_cond_init(&waiter.wake, NULL);
    clock->waiters = &waiter;
    g_assert(clock->n_running > 0); /* the thread has entered */
    clock->n_running--;
    advance_if_idle(clock);
    while (!waiter.woken)
        pthread_cond_wait(&waiter.wake, &clock->mutex);
    Waiter **link = &clock->waiters;
    while (*link != &waiter) /* it is in the list: NOLINT(clang-analyzer-core.NullDereference) */
        link = &(*link)->next;
    *link = waiter.next;
    pthread_cond_destroy(&waiter.wake);
}

static struct timespec to_timespec(gint64 ns)
{
    return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

void ifm_clock_sleep_until_ns(IfmClock *clock, gint64 deadline_ns)
{
    if (clock->is_virtual)
    {
        pthread_mutex_lock(&clock->mutex);
        if (deadline_ns > atomic_load_explicit(&clock->now_ns, memory_order_relaxed))
            wait_virtual(clock, NULL, deadline_ns);
        pthread_mutex_unlock(&clock->mutex);
        return;
    }
    if (deadline_ns - ifm_clock_now_ns(clock) > SPIN_NS)
    {
        struct timespec until = to_timespec(deadline_ns - SPIN_NS);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
    }
    while (ifm_clock_now_ns(clock) < deadline_ns)
        continue;
}

IfmCondition *ifm_condition_new(IfmClock *clock)
{
    IfmCondition *condition = g_new0(IfmCondition, 1);
    condition->clock = ifm_clock_ref(clock);
    pthread_mutex_init(&condition->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return condition;
}

void ifm_condition_free(IfmCondition *condition)
{
    if (condition == NULL)
        return;
    pthread_cond_destroy(&condition->wake);
    pthread_mutex_destroy(&condition->mutex);
    ifm_clock_unref(condition->clock);
    g_free(condition);
}

static pthread_mutex_t *mutex_of(IfmCondition *condition)
{
    return condition->clock->is_virtual ? &condition->clock->mutex : &condition->mutex;
}

void ifm_condition_lock(IfmCondition *condition)
{
    pthread_mutex_lock(mutex_of(condition));
}

void ifm_condition_unlock(IfmCondition *condition)
{
    pthread_mutex_unlock(mutex_of(condition));
}

void ifm_condition_broadcast(IfmCondition *condition)
{
    IfmClock *clock = condition->clock;
    if (!clock->is_virtual)
    {
        pthread_cond_broadcast(&condition->wake);
        return;
    }
    for (Waiter *waiter = clock->waiters; waiter != NULL; waiter = waiter->next)
        if (waiter->condition == condition && !waiter->woken)
        {
            waiter->woken = TRUE;
            clock->n_running++;
            pthread_cond_signal(&waiter->wake);
        }
}

gboolean ifm_condition_wait_until(IfmCondition *condition, gint64 deadline_ns)
{
    IfmClock *clock = condition->clock;
    if (clock->is_virtual)
    {
        if (deadline_ns <= atomic_load_explicit(&clock->now_ns, memory_order_relaxed))
            return FALSE;
        wait_virtual(clock, condition, deadline_ns);
        return deadline_ns > atomic_load_explicit(&clock->now_ns, memory_order_relaxed);
    }
    if (deadline_ns == IFM_CLOCK_NEVER)
        return pthread_cond_wait(&condition->wake, &condition->mutex) == 0;
    struct timespec until = to_timespec(MAX(deadline_ns, 0));
    return pthread_cond_timedwait(&condition->wake, &condition->mutex, &until) != ETIMEDOUT;
}
