#include <math.h>

#include "profile-figures-private.h"

/* What the measurements of a profile come to: kernels of a device, passes. */

IfmKernels *ifm_profile_kernels(const IfmProfileReport *report, const IfmProfileDevice *device)
{
    IfmRoofline roofline;
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    if (measurement == NULL || measurement->nodes->len == 0)
        return NULL;
    gboolean limited = ifm_roofline_of(device->peak, &roofline);
    return ifm_kernels_new(measurement, report->model, report->analysis, limited ? &roofline : NULL);
}

double ifm_profile_attained(const IfmProfileDevice *device, const IfmKernels *kernels)
{
    IfmTiming timing;
    ifm_timing_of(device->result.measurement, &timing);
    return kernels != NULL ? kernels->min_ns / timing.median_ns : (double)NAN;
}

GArray *ifm_profile_parts(const IfmProfileReport *report, const IfmKernels *kernels)
{
    return report->graph != NULL && report->analysis != NULL ? ifm_model_parts(report->model, report->analysis, kernels)
                                                             : NULL;
}

/* --- passes ----------------------------------------------------------------------------------------------------------- */

const int ifm_pass_order[IFM_N_PASS_FIGURES] = { IFM_PASS_FORWARD, IFM_PASS_BACKWARD, IFM_PASS_TRAINING, IFM_PASS_STEP };

const char *ifm_pass_key(int kind)
{
    static const char *const keys[] = { [IFM_PASS_FORWARD] = "forward",
                                        [IFM_PASS_TRAINING] = "training_pass",
                                        [IFM_PASS_STEP] = "training_step",
                                        [IFM_PASS_BACKWARD] = "backward" };
    return keys[kind];
}

gboolean ifm_mode_has_pass(const IfmProfileMode *mode, int kind)
{
    return kind != IFM_PASS_BACKWARD ? mode->passes[kind] != NULL
                                     : mode->passes[IFM_PASS_TRAINING] != NULL && mode->passes[IFM_PASS_FORWARD] != NULL;
}

const IfmProfileDevice *ifm_mode_device(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like)
{
    const IfmProfileReport *report = mode->passes[kind];
    for (gsize i = 0; report != NULL && like != NULL && i < report->n_devices; i++)
        if (g_str_equal(report->devices[i].result.device, like->result.device) &&
            g_strcmp0(report->devices[i].result.alias, like->result.alias) == 0)
            return &report->devices[i];
    return NULL;
}

static const IfmMeasurement *measurement_in(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like)
{
    const IfmProfileDevice *device = ifm_mode_device(mode, kind, like);
    return device != NULL ? device->result.measurement : NULL;
}

void ifm_mode_backward(const IfmProfileMode *mode, const IfmProfileDevice *device, IfmBackward *backward)
{
    const IfmProfileDevice *asked = ifm_mode_device(mode, mode->asked, device);
    ifm_backward_time(measurement_in(mode, IFM_PASS_FORWARD, device), measurement_in(mode, IFM_PASS_TRAINING, device),
                      asked != NULL ? asked->interleaved : NULL, backward);
}

void ifm_mode_work(const IfmProfileMode *mode, int kind, IfmWork *work)
{
    IfmWork forward;
    const IfmProfileReport *report = mode->passes[kind == IFM_PASS_BACKWARD ? IFM_PASS_TRAINING : kind];
    ifm_work_of(report != NULL ? report->analysis : NULL, work);
    if (kind != IFM_PASS_BACKWARD)
        return;
    ifm_mode_work(mode, IFM_PASS_FORWARD, &forward);
    *work = (IfmWork){ work->macs - forward.macs, work->flop - forward.flop };
}
