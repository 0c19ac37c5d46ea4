#pragma once
#include "measure-private.h"

G_BEGIN_DECLS

/* What the files of the runner share: runner.c keeps workers and measures models, runner-link.c measures links. */

/* --- asking ------------------------------------------------------------------------------------------------------- */

/** ifm_runner_ask: Asks the worker of that key, which is started where there is none; one that died meanwhile is
 * forgotten, so that the next question starts another. @key: a device, or "FROM>TO": the cores to keep to are its own
 * @request: (transfer full) */
json_t *ifm_runner_ask(IfmRunner *runner, const char *key, json_t *request, const IfmWorkerWatch *watch, GError **error);
/** ifm_runner_watch: limits and interruption, nobody who listens. */
IfmWorkerWatch ifm_runner_watch(IfmRunner *runner);
/** ifm_runner_drop_links: Ends the workers of all links but @kept: each has two runtimes open. */
void ifm_runner_drop_links(IfmRunner *runner, const char *kept);
/** ifm_runner_engine_facts: (transfer none) {"engine", "version", "library"}. */
const json_t *ifm_runner_engine_facts(IfmRunner *runner, const IfmDeviceSpec *spec, GError **error);
/** ifm_runner_machine: (transfer none) the machine's facts. */
const json_t *ifm_runner_machine(IfmRunner *runner);

/* --- measuring ---------------------------------------------------------------------------------------------------- */

/** IfmHearing: what is heard of a case on the way. */
typedef struct
{
    IfmRunner *runner;
    json_t *draft; /* the measurement as far as it is, in case the worker must be ended */
    json_t *before, *after;
    gboolean warm; /* `before` was taken while it ran */
    json_t *lost;  /* devices that did not answer a probe after the runs; NULL: the worker has one alone */
} IfmHearing;
/** ifm_hearing_watch: what ifm_runner_watch() gives, and @hearing listens. */
IfmWorkerWatch ifm_hearing_watch(IfmHearing *hearing);

/** IfmRunnerJob: one case, as far as all kinds are alike. */
typedef struct
{
    const char *worker; /* its key */
    const IfmDeviceSpec *devices[2];
    gsize n_devices;
    double level; /* of the summary */
    /* measure: asks the worker. NULL with the worker's own error, or its end's. */
    IfmMeasurement *(*measure)(IfmHearing *hearing, void *user, GError **error);
    void *user;
} IfmRunnerJob;

/** ifm_runner_run: Does a job: as ifm_runner_measure() says. */
IfmMeasurement *ifm_runner_run(IfmRunner *runner, const IfmRunnerJob *job, const IfmCase *sealed, GError **error);

G_END_DECLS
