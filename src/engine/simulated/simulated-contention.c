
#include "simulated-private.h"

/* On a real clock a waiting thread is woken this much earlier and spins the rest. */
#define SPIN_NS 100000
/* Longer than any latency, and still a valid time. */
#define MAX_NS 4e18

Contention *contention_new(IfmClock *clock)
{
    Contention *contention = g_new0(Contention, 1);
    contention->clock = ifm_clock_ref(clock);
    contention->condition = ifm_condition_new(clock);
    return contention;
}

void contention_free(Contention *contention)
{
    if (contention == NULL)
        return;
    ifm_condition_free(contention->condition);
    ifm_clock_unref(contention->clock);
    g_free(contention);
}

static gboolean is_for(const ContentionDescription *entry, const char *stage)
{
    return entry->stages->len == 0 ||
           (stage != NULL && g_ptr_array_find_with_equal_func(entry->stages, stage, g_str_equal, NULL));
}

double contention_factor(const UnitDescription *unit, const char *stage, guint64 busy)
{
    const ContentionDescription *best = NULL;
    for (guint i = 0; i < unit->contention->len; i++)
    {
        const ContentionDescription *entry = unit->contention->pdata[i];
        if ((entry->mask & ~busy) == 0 && is_for(entry, stage) && (best == NULL || entry->busy->len > best->busy->len))
            best = entry;
    }
    return best != NULL ? best->factor : 1;
}

/* Subtracts the work done since it was last settled, at the rate of that time. */
static void settle(ContendedWork *work, gint64 now_ns)
{
    work->left_ns = MAX(work->left_ns - (double)(now_ns - work->settled_ns) / work->factor, 0);
    work->settled_ns = now_ns;
}

static guint64 background_busy(const Contention *contention, const ContendedWork *work)
{
    guint64 busy = 0;
    for (const ContendedWork *other = contention->first; other != NULL; other = other->next)
        busy |= G_GUINT64_CONSTANT(1) << other->unit->index;
    return busy & ~(G_GUINT64_CONSTANT(1) << work->unit->index);
}

/* Sets the new rates after the set of running inferences changed. Between two changes at one moment nothing is done, so
 * that their order does not matter. Called with the lock held. */
static void reckon(Contention *contention)
{
    for (ContendedWork *work = contention->first; work != NULL; work = work->next)
    {
        work->factor = contention_factor(work->unit, work->stage, background_busy(contention, work));
        work->deadline_ns = work->settled_ns + (gint64)(MIN(work->left_ns * work->factor, MAX_NS) + 0.5);
    }
    ifm_condition_broadcast(contention->condition);
}

static void settle_all(Contention *contention)
{
    gint64 now_ns = ifm_clock_now_ns(contention->clock);
    for (ContendedWork *work = contention->first; work != NULL; work = work->next)
        settle(work, now_ns);
}

void contention_begin(Contention *contention, ContendedWork *work, gint64 started_ns, double alone_ns)
{
    ifm_condition_lock(contention->condition);
    settle_all(contention);
    work->left_ns = alone_ns;
    work->settled_ns = started_ns;
    work->factor = 1;
    work->next = contention->first;
    contention->first = work;
    reckon(contention);
    ifm_condition_unlock(contention->condition);
}

static void leave(Contention *contention, ContendedWork *work)
{
    ContendedWork **link = &contention->first;
    settle_all(contention);
    while (*link != NULL && *link != work)
        link = &(*link)->next;
    g_assert(*link == work);
    *link = work->next;
    reckon(contention);
}

void contention_end(Contention *contention, ContendedWork *work)
{
    ifm_condition_lock(contention->condition);
    leave(contention, work);
    ifm_condition_unlock(contention->condition);
}

/* On a real clock the last stretch is spun without the lock: a change within it is seen at its end. */
gint64 contention_pass(Contention *contention, ContendedWork *work, const gboolean *cancelled)
{
    gint64 lead_ns = ifm_clock_is_virtual(contention->clock) ? 0 : SPIN_NS;
    ifm_condition_lock(contention->condition);
    while (!*cancelled && work->deadline_ns > ifm_clock_now_ns(contention->clock))
    {
        gint64 deadline_ns = work->deadline_ns;
        if (deadline_ns - lead_ns > ifm_clock_now_ns(contention->clock))
        {
            ifm_condition_wait_until(contention->condition, deadline_ns - lead_ns);
            continue;
        }
        ifm_condition_unlock(contention->condition);
        ifm_clock_sleep_until_ns(contention->clock, deadline_ns);
        ifm_condition_lock(contention->condition);
    }
    gint64 ended_ns = *cancelled ? -1 : work->deadline_ns;
    leave(contention, work);
    ifm_condition_unlock(contention->condition);
    return ended_ns;
}
