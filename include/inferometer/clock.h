#pragma once
#include <pthread.h>

#include <inferometer/error.h>

G_BEGIN_DECLS

/**
 * IfmClock: the only source of time, and the owner of every wait.
 *
 * A real clock reads CLOCK_MONOTONIC. A virtual one stands still while any registered thread runs and jumps to the
 * earliest deadline once all of them wait, so that a simulation takes no real time and is deterministic in time.
 * A thread that uses a virtual clock registers first (ifm_clock_enter()) and leaves before it ends or blocks on
 * anything the clock does not own. On a real clock both do nothing.
 */
typedef struct IfmClock IfmClock;

IfmClock *ifm_clock_new_real(void);
/** ifm_clock_new_virtual: @start_ns: what it reads at first. */
IfmClock *ifm_clock_new_virtual(gint64 start_ns);
IfmClock *ifm_clock_ref(IfmClock *clock);
void ifm_clock_unref(IfmClock *clock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmClock, ifm_clock_unref)

gboolean ifm_clock_is_virtual(const IfmClock *clock);

/** ifm_clock_now_ns: monotonic, ns, from an origin that means nothing. No lock, no allocation. */
gint64 ifm_clock_now_ns(IfmClock *clock);

/** ifm_clock_enter / ifm_clock_leave: registers, unregisters one more running thread. */
void ifm_clock_enter(IfmClock *clock);
void ifm_clock_leave(IfmClock *clock);

/** ifm_clock_sleep_until_ns: Returns at or after @deadline_ns. On a real clock the last stretch is spun, for precision. */
void ifm_clock_sleep_until_ns(IfmClock *clock, gint64 deadline_ns);

/**
 * IfmCondition: a condition variable whose wait the clock owns. It has its own mutex.
 * Use: lock; while (!predicate) if (!ifm_condition_wait_until(...)) break; unlock.   And: lock; change; broadcast; unlock.
 */
typedef struct IfmCondition IfmCondition;
IfmCondition *ifm_condition_new(IfmClock *clock);
void ifm_condition_free(IfmCondition *condition);
void ifm_condition_lock(IfmCondition *condition);
void ifm_condition_unlock(IfmCondition *condition);
/** ifm_condition_broadcast: Wakes all waiters; the caller holds the lock. */
void ifm_condition_broadcast(IfmCondition *condition);

#define IFM_CLOCK_NEVER G_MAXINT64

/**
 * ifm_condition_wait_until: Unlocks, waits for a broadcast or the deadline on the condition's clock, locks again.
 * @deadline_ns: IFM_CLOCK_NEVER waits for a broadcast alone.
 * Returns: FALSE once the deadline has passed; TRUE on a wake-up (perhaps a spurious one: test the predicate).
 */
gboolean ifm_condition_wait_until(IfmCondition *condition, gint64 deadline_ns);

G_END_DECLS
