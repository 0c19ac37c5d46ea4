#pragma once
#include "driver.h"

G_BEGIN_DECLS

/* --- executor.c: the thread that runs the inferences of a stream ------------------------------------------------------ */

/** IfmJob: a call to be made on an executor. It is embedded in its subject, so that posting allocates nothing. */
typedef struct IfmJob
{
    struct IfmJob *next;
    void (*function)(void *user);
    void *user;
    gboolean waited, done; /* the executor's own */
} IfmJob;

/**
 * ifm_executor_new: Starts a thread and pins it to cores before it runs anything, so that threads started from it by a
 * runtime inherit the mask. The thread registers with the clock and blocks through it alone.
 * @cores: [n_cores]; none: the caller's mask
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (cores this process may not use) or IFM_ERROR_MEMORY.
 */
IfmExecutor *ifm_executor_new(IfmClock *clock, const int *cores, gsize n_cores, const char *thread_name, GError **error);
/** ifm_executor_free: Finishes what was posted, then ends the thread. Not from that thread. */
void ifm_executor_free(IfmExecutor *executor);
gboolean ifm_executor_is_current(const IfmExecutor *executor);
/** ifm_executor_tid: Returns: the thread's id as in /proc/self/task. */
pid_t ifm_executor_tid(const IfmExecutor *executor);
/** ifm_executor_post: Queues @job; its memory is not touched once its function has been called. */
void ifm_executor_post(IfmExecutor *executor, IfmJob *job);
/** ifm_executor_call: Runs @function on the executor and waits; directly if this is that thread. */
void ifm_executor_call(IfmExecutor *executor, void (*function)(void *user), void *user);

/* --- engine.c --------------------------------------------------------------------------------------------------------- */

/** ifm_engine_compile_listing: As ifm_engine_compile(), but options.profiling needs no IFM_CAN_PROFILE: which nodes run is
 * asked for, not their times. */
IfmCompiled *ifm_engine_compile_listing(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec,
                                        const IfmCompileOptions *options, GError **error);

/* --- spec.c ----------------------------------------------------------------------------------------------------------- */

/** ifm_device_spec_device: Returns: (transfer full) "ENGINE:UNIT[:INDEX]", without cores and streams. */
char *ifm_device_spec_device(const IfmDeviceSpec *spec);
/** ifm_device_spec_n_streams: Returns: 1 or more. */
int ifm_device_spec_n_streams(const IfmDeviceSpec *spec);

/* --- threads.c: this process's threads, from /proc and the scheduler -------------------------------------------------- */

/** ifm_affinity_cores: Returns: (transfer full) the calling thread's mask, an array of int, ascending. */
GArray *ifm_affinity_cores(void);
/** ifm_affinity_of_process: Returns: (transfer full) the mask of the process's first thread, "0-3". */
char *ifm_affinity_of_process(void);
/** ifm_threads_list: Returns: (transfer full) thread id -> processor time so far, ns (gint64*). */
GHashTable *ifm_threads_list(void);
/** ifm_threads_remember: Notes the threads of the process before its first engine opens; later calls do nothing. */
void ifm_threads_remember(void);
/** ifm_thread_is_foreign: Whether a thread is older than the first engine, so that no runtime can have begun it. */
gboolean ifm_thread_is_foreign(pid_t tid);

/* --- engine-options.c ----------------------------------------------------------------------------------------------- */

/** ifm_compile_options_copy: A deep copy. */
void ifm_compile_options_copy(IfmCompileOptions *to, const IfmCompileOptions *from);
void ifm_compile_options_clear(IfmCompileOptions *options);
/** ifm_compile_options_check: Returns: FALSE with an error if the driver's capabilities or the spec do not allow the
 * options. */
gboolean ifm_compile_options_check(const IfmCompileOptions *options, const IfmDeviceSpec *spec, const char *who,
                                   guint32 capabilities, GError **error);

/* --- request.c -------------------------------------------------------------------------------------------------------- */

IfmExecutor *ifm_compiled_executor(const IfmCompiled *compiled, int stream);

G_END_DECLS
