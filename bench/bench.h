#pragma once
#include <glib.h>

/*
 * What the benches share. IFM_BENCH_QUICK=1 (tools/run-benches --quick) makes a run of seconds, which shows that a bench
 * starts and finds its figures. Its bounds are then printed and not judged: so few rounds prove nothing.
 */
static inline gboolean bench_is_quick(void)
{
    return g_getenv("IFM_BENCH_QUICK") != NULL;
}

/** bench_rounds: how many rounds, runs or series: @usual, or @quick of them in a quick run */
static inline int bench_rounds(int usual, int quick)
{
    return bench_is_quick() ? quick : usual;
}

/** bench_status: the exit status of a bench. @kept: whether its bounds are */
static inline int bench_status(gboolean kept)
{
    return kept || bench_is_quick() ? 0 : 1;
}
