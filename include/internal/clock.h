/* room: base */
#pragma once
#include <inferometer/clock.h>

G_BEGIN_DECLS

/* Conditions that wait on a clock. */

IfmCondition *ifm_condition_new(IfmClock *clock);

void ifm_condition_free(IfmCondition *condition);

void ifm_condition_lock(IfmCondition *condition);

void ifm_condition_unlock(IfmCondition *condition);

/** ifm_condition_broadcast: Wakes all waiters; the caller holds the lock. */
void ifm_condition_broadcast(IfmCondition *condition);

/**
 * ifm_condition_wait_until: Unlocks, waits for a broadcast or the deadline on the condition's clock, locks again.
 * @deadline_ns: IFM_CLOCK_NEVER: no deadline
 * Returns: FALSE once the deadline has passed. TRUE on a wake-up, which may be spurious: test the predicate.
 */
gboolean ifm_condition_wait_until(IfmCondition *condition, gint64 deadline_ns);

G_END_DECLS
