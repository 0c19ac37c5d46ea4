#pragma once
#include <stdatomic.h>

#include <stress/stress.h>

G_BEGIN_DECLS

/* What a stressor and who started it share, in memory of both. */

/* StressCore: written by the thread of that core, or of the GPU. @busy_ns: its processor time, or the GPU's time by CUDA's
 * events    @work: FLOP, or bytes */
typedef struct
{
    _Atomic gint64 busy_ns, work;
    char line[48]; /* each core writes to a cache line of its own */
} StressCore;

/* StressBlock: @intensity_ppm: written by the owner    @n_running: threads that have begun    @trouble,
 * @message: why the process ended by itself; "": it did not */
typedef struct
{
    _Atomic gint64 intensity_ppm, n_running;
    IfmErrorCode trouble;
    char message[256];
    StressCore cores[IFM_STRESS_MAX_CORES];
} StressBlock;

/* stress_run: busy in its own way for some 50 to 200 us. Returns: what it did. (stress-work.c) */
typedef struct StressWork StressWork;
StressWork *stress_work_new(IfmStressKind kind);
gint64 stress_work_run(StressWork *work);

/* StressDone: of some pieces of work. */
typedef struct
{
    gint64 busy_ns, work;
} StressDone;

/* stress_gpu_new: For the calling thread, ready to work. Its process ends with it. (stress-gpu.c)
 * Returns: NULL with IFM_ERROR_UNAVAILABLE (no libraries, no GPU), IFM_ERROR_INVALID (no such GPU), IFM_ERROR_MEMORY,
 * IFM_ERROR_FAILED. */
typedef struct StressGpu StressGpu;
StressGpu *stress_gpu_new(IfmStressKind kind, int device, GError **error);
/* stress_gpu_run: as many pieces as take about @want_ns, one at least. */
gboolean stress_gpu_run(StressGpu *gpu, double want_ns, StressDone *done, GError **error);

G_END_DECLS
