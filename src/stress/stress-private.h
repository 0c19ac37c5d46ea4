#pragma once
#include <stdatomic.h>

#include <stress/stress.h>

G_BEGIN_DECLS

/* What a stressor and who started it share, in memory of both. */

/* StressCore: written by the thread of that core. @cpu_ns: its processor time    @work: FLOP, or bytes */
typedef struct
{
    _Atomic gint64 cpu_ns, work;
    char line[48]; /* each core writes to a cache line of its own */
} StressCore;

/* StressBlock: @intensity_ppm: written by the owner    @n_running: threads that have begun */
typedef struct
{
    _Atomic gint64 intensity_ppm, n_running;
    StressCore cores[IFM_STRESS_MAX_CORES];
} StressBlock;

/* stress_run: busy in its own way for some 50 to 200 us. Returns: what it did. (stress-work.c) */
typedef struct StressWork StressWork;
StressWork *stress_work_new(IfmStressKind kind);
gint64 stress_work_run(StressWork *work);

G_END_DECLS
