/* Shared with other rooms: background load. */
#pragma once
#include <inferometer/engine.h>
#include <inferometer/measure.h>

G_BEGIN_DECLS

/* --- background load ----------------------------------------------------------------------------------------------- */

#define IFM_STRESS_MAX_CORES 256

/** ifm_stressor_set: another intensity from now on. */
void ifm_stressor_set(IfmStressor *stressor, double intensity);

/** ifm_stressor_pid: of its process. */
int ifm_stressor_pid(const IfmStressor *stressor);

/** IFM_STRESS_ARGUMENT: the first argument of the worker program that makes it a stressor. */
#define IFM_STRESS_ARGUMENT "--stress"

/** ifm_stress_main: the worker program's, then. @words: KIND PARENT FD CORE…, of @n. Returns: an exit status. */
int ifm_stress_main(int n, char **words);

/** ifm_stress_cores_of: (transfer full) for IfmStressOptions.cores: the cores of a device, all where it names none; or with
 * @other one that is none of them. NULL where there is none that this process may use. */
char *ifm_stress_cores_of(const IfmDeviceSpec *spec, gboolean other);

G_END_DECLS
