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

/** IFM_STRESS_GPU: what a GPU's index follows: in IfmStressOptions.device, and in place of cores in what the worker program
 * is started with. */
#define IFM_STRESS_GPU "CUDA:"

/** IFM_STRESS_GPU_START_NS: what one on a GPU may take to begin: its driver may have to start, and libraries to load. */
#define IFM_STRESS_GPU_START_NS (60 * G_GINT64_CONSTANT(1000000000))

/** ifm_stress_main: the worker program's, then. @words: KIND PARENT FD CORE…, or KIND PARENT FD CUDA:INDEX, of @n. Returns:
 * an exit status. */
int ifm_stress_main(int n, char **words);

/** IfmStressPlace: (transfer full) for IfmStressOptions and IfmModelCase: one of both. */
typedef struct
{
    char *cores, *device;
} IfmStressPlace;

void ifm_stress_place_clear(IfmStressPlace *place);

/**
 * ifm_stress_place_of: Where a load of a kind beside a device is: on the GPU itself where the device is one of CUDA's, else
 * on its cores, all where it names none; or with @other on one core that is none of those that it names, for its host
 * threads if it is a GPU. Returns: FALSE with IFM_ERROR_INVALID where this process may use no such core, or a GPU has no
 * load of that kind.
 */
gboolean ifm_stress_place_of(IfmStressKind kind, const IfmDeviceSpec *spec, gboolean other, IfmStressPlace *place,
                             GError **error);

G_END_DECLS
