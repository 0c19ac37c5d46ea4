#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * A stressor: a process of its own that keeps cores busy for a given share of the time, as a background load whose strength
 * is known. It ends with the process that started it, however that ends.
 */

/** IfmStressKind: what it does while it is busy. */
typedef enum
{
    IFM_STRESS_GEMM,   /* products of matrices that stay in the first-level cache: the arithmetic units */
    IFM_STRESS_COPY,   /* copies between buffers that no cache holds: the memory's bandwidth */
    IFM_STRESS_RANDOM, /* reads and writes at random places of such a buffer: the memory's latency */
    IFM_N_STRESS_KINDS,
} IfmStressKind;
/** ifm_stress_words: "gemm", "copy", "random", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_stress_words(void);
/** ifm_stress_parse: FALSE with IFM_ERROR_INVALID and the nearest word. */
gboolean ifm_stress_parse(const char *text, IfmStressKind *kind, GError **error);

#define IFM_STRESS_MAX_CORES 256

/** IfmStressOptions: @intensity: share of the time that each core is busy, 0 to 1    @cores: "0,2-3", one thread a core;
 * NULL: all cores that this process may use */
typedef struct
{
    IfmStressKind kind;
    double intensity;
    const char *cores;
} IfmStressOptions;

/** IfmStressReading: what was done since the last reading, or since the intensity was last set.
 * @asked: the intensity    @achieved: processor time over time, mean of the cores; less than @asked where others keep a
 * core busy    @work_per_s: of all cores, FLOP of gemm, else bytes read and written    @ended: why the process is gone, one
 * line; NULL where it runs; borrowed */
typedef struct
{
    double asked, achieved, work_per_s;
    gint64 window_ns;
    gsize n_cores;
    const char *ended;
} IfmStressReading;

typedef struct IfmStressor IfmStressor;
/**
 * ifm_stressor_start: Returns once each thread runs.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (an intensity outside 0 to 1, cores that are none or that this
 * process may not use), IFM_ERROR_UNAVAILABLE (the process cannot be started).
 */
IfmStressor *ifm_stressor_start(const IfmStressOptions *options, GError **error);
/** ifm_stressor_set: another intensity from now on. */
void ifm_stressor_set(IfmStressor *stressor, double intensity);
void ifm_stressor_read(IfmStressor *stressor, IfmStressReading *reading);
/** ifm_stressor_pid: of its process. */
int ifm_stressor_pid(const IfmStressor *stressor);
/** ifm_stressor_free: Ends it and waits for it. @stressor: (nullable) */
void ifm_stressor_free(IfmStressor *stressor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStressor, ifm_stressor_free)

IFM_END_DECLS
