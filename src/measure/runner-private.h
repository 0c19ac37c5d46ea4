#pragma once
#include <base/base.h>

#include <sensor/sensor.h>

#include "measure-private.h"

G_BEGIN_DECLS

/* What the files of the runner share: runner.c keeps workers, kinds.c has cases of every kind sealed and
 * measured, runner-compare.c measures two in turn, runner-reference.c keeps the outputs that are right. */

/** IfmReferences: outputs that are right, in files; computed once a model, sizes and inputs. */
typedef struct
{
    const IfmTemporary *folder;
    GHashTable *known; /* key -> json_t*: {"path"} or {"why"} there is none */
    GQueue kept;       /* char*: keys of those with a file, oldest first */
    guint64 kept_bytes;
    guint n_made;
} IfmReferences;

struct IfmRunner
{
    IfmRunnerOptions options;
    IfmTemporary temporary;   /* references, and whatever a runtime drops */
    IfmReferences references; /* in it */
    GHashTable *workers;      /* canonical device -> IfmWorker* */
    GHashTable *engines;      /* name -> json_t*: engine, version, library */
    GHashTable *lost;         /* device without cores and streams -> char*, why */
    GHashTable *digests;      /* of files with inputs: see ifm_case_inputs_digest() */
    json_t *machine;
    IfmIdleGate *gate;
};

/* --- asking ------------------------------------------------------------------------------------------------------- */

/** ifm_runner_ask: Asks the worker of that key, which is started where there is none; one that died meanwhile is
 * forgotten, so that the next question starts another. @key: a device, "FROM>TO", "A + B" or "plan A+B": the cores to
 * keep to are its own
 * @request: (transfer full) */
json_t *ifm_runner_ask(IfmRunner *runner, const char *key, json_t *request, const IfmWorkerWatch *watch, GError **error);
/** ifm_runner_watch: limits and interruption, no callback. */
IfmWorkerWatch ifm_runner_watch(IfmRunner *runner);
/** IFM_PLAN_WORKER: what the key of a plan's worker begins with; "DEVICE+DEVICE" follows, all of whose cores it keeps to.
 */
#define IFM_PLAN_WORKER "plan "
/** ifm_runner_drop_sets: Ends the workers of all links and plans but @kept: each has several runtimes open. */
void ifm_runner_drop_sets(IfmRunner *runner, const char *kept);
/** ifm_runner_drop_worker: Ends one; the next question starts another. */
void ifm_runner_drop_worker(IfmRunner *runner, const char *key);
/** ifm_runner_model_json: (transfer full) a case as workers take it: its paths absolute, its device in full, its dtype
 * named.
 */
json_t *ifm_runner_model_json(const IfmModelCase *given, GError **error);
/** ifm_runner_folder: borrowed: the runner's own for files that workers read; NULL where it cannot be made. */
const char *ifm_runner_folder(IfmRunner *runner, GError **error);
/** ifm_runner_engine_facts: (transfer none) {"engine", "version", "library"}. @key: of the worker that is asked where it is
 * not known yet */
const json_t *ifm_runner_engine_facts(IfmRunner *runner, const char *key, const IfmDeviceSpec *spec, GError **error);
/** ifm_runner_machine: (transfer none) the machine's facts. */
const json_t *ifm_runner_machine(IfmRunner *runner);
gboolean ifm_runner_is_interrupted(const IfmRunner *runner);
/** ifm_runner_cores: (transfer full) the cores of devices, of int; empty: all, as one of them keeps to none.
 * @devices: IfmDeviceSpec* */
GArray *ifm_runner_cores(const GPtrArray *devices);
/** ifm_runner_wait_idle: Waits, no longer than its patience, until others leave the cores of devices alone; not for devices
 * that are simulated. Returns: how long, ns */
gint64 ifm_runner_wait_idle(IfmRunner *runner, const GPtrArray *devices);
/** ifm_kind_seal: ifm_runner_case(). @facts: the engine's; NULL: asked for */
IfmCase *ifm_kind_seal(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, const json_t *facts, GError **error);
/** ifm_case_set_engine: Its name and version into the record. */
void ifm_case_set_engine(IfmCase *record, const json_t *facts);
/** ifm_runner_inputs_of: the digest of what the case is fed from a file; NULL where it is not. */
const char *ifm_runner_inputs_of(const IfmCase *sealed);

/* --- kinds/model-load.c ------------------------------------------------------------------------------------------------
 */

/** ifm_runner_seal_load: Puts what of a case's load defines it into its record. */
gboolean ifm_runner_seal_load(IfmRunner *runner, const IfmModelCase *model_case, IfmCase *record, GError **error);
/** ifm_runner_set_key: (transfer full) the key of the worker that has a set of devices, "A + B", in whatever order. */
char *ifm_runner_set_key(const IfmDeviceSpec *const *devices, gsize n);
/** ifm_runner_key_cores: (transfer full) the device whose cores a worker of that key keeps to; NULL: it keeps to none. */
char *ifm_runner_key_cores(const char *key);

/* --- measuring ---------------------------------------------------------------------------------------------------- */

/** IfmRunMonitor: what is heard of a case on the way. */
typedef struct
{
    IfmRunner *runner;
    json_t *draft; /* the measurement as far as it is, in case the worker must be ended */
    json_t *before, *after;
    gboolean warm;   /* `before` was taken while it ran */
    json_t *lost;    /* devices that did not answer a probe after the runs; NULL: the worker has one alone */
    GArray *cores;   /* of int: those that are measured; NULL or empty: all */
    gboolean loaded; /* beside a load */
} IfmRunMonitor;
/** ifm_run_monitor_watch: what ifm_runner_watch() gives, and @monitor listens. */
IfmWorkerWatch ifm_run_monitor_watch(IfmRunMonitor *monitor);
void ifm_run_monitor_clear(IfmRunMonitor *monitor);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmRunMonitor, ifm_run_monitor_clear)
/** ifm_run_monitor_add_environment: Joins what the machine reports with what the worker knew of the runtime. */
void ifm_run_monitor_add_environment(IfmRunMonitor *monitor, IfmMeasurement *measurement);

/** IfmKindJob: one case, and where it is measured. @spec: completed, as in its message */
typedef struct IfmKindPlace IfmKindPlace;
typedef struct
{
    const IfmCaseKind *kind;
    const void *spec;
    const IfmCase *sealed;
    IfmKindPlace *place;
} IfmKindJob;
/** ifm_kind_ask: Has a worker measure it. NULL with the worker's own error, or its end's. */
IfmMeasurement *ifm_kind_ask(IfmRunMonitor *monitor, const IfmKindJob *job, GError **error);
/** ifm_runner_run: Does a job: as ifm_runner_measure() says. */
IfmMeasurement *ifm_runner_run(IfmRunner *runner, const IfmKindJob *job, GError **error);
/** ifm_is_among: whether a list of texts has one. */
gboolean ifm_is_among(const json_t *names, const char *name);

/* --- runner-reference.c ------------------------------------------------------------------------------------------- */

/** ifm_references_init: @folder: borrowed; made before the first is added. */
void ifm_references_init(IfmReferences *references, const IfmTemporary *folder);
/** ifm_references_clear: The files stay: they go with the folder. */
void ifm_references_clear(IfmReferences *references);
/** ifm_references_add: Completes the request to measure with what its outputs are to be compared with, or why they are not.
 * Returns: FALSE with IFM_ERROR_CANCELLED where interrupted. */
gboolean ifm_references_add(const IfmModelCase *model_case, const IfmCase *sealed, gboolean true_outputs,
                            IfmRunMonitor *monitor, json_t *request, GError **error);

G_END_DECLS
