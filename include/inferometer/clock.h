/* room: base */
#pragma once
#include <pthread.h>

#include <inferometer/error.h>

IFM_BEGIN_DECLS

/**
 * IfmClock: the only source of time, and the owner of every wait.
 *
 * A real clock reads CLOCK_MONOTONIC. A virtual clock stands still while a registered thread runs. It jumps to the
 * earliest deadline when all registered threads wait. So a simulation takes no real time, and its times are deterministic.
 * A thread is registered with ifm_clock_enter() before it uses a virtual clock. It is unregistered with ifm_clock_leave()
 * before it ends, and before it blocks on anything but the clock. On a real clock both calls do nothing.
 */
typedef struct IfmClock IfmClock;

IfmClock *ifm_clock_new_real(void);
/** ifm_clock_new_virtual: @start_ns: the first value of ifm_clock_now_ns(). */
IfmClock *ifm_clock_new_virtual(gint64 start_ns);
IfmClock *ifm_clock_ref(IfmClock *clock);
void ifm_clock_unref(IfmClock *clock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmClock, ifm_clock_unref)

gboolean ifm_clock_is_virtual(const IfmClock *clock);

/** ifm_clock_now_ns: Monotonic time in ns from an arbitrary origin. Takes no lock and allocates nothing. */
gint64 ifm_clock_now_ns(IfmClock *clock);

/** ifm_clock_enter / ifm_clock_leave: Registers / unregisters one running thread. */
void ifm_clock_enter(IfmClock *clock);
void ifm_clock_leave(IfmClock *clock);

/** ifm_clock_sleep_until_ns: Returns at or after @deadline_ns. On a real clock it spins for the last 80 us, for precision.
 */
void ifm_clock_sleep_until_ns(IfmClock *clock, gint64 deadline_ns);

/**
 * IfmCondition: a condition variable whose wait the clock owns. It has its own mutex.
 * Use: lock; while (!predicate) if (!ifm_condition_wait_until(...)) break; unlock.   And: lock; change; broadcast; unlock.
 */
typedef struct IfmCondition IfmCondition;

#define IFM_CLOCK_NEVER G_MAXINT64

IFM_END_DECLS
