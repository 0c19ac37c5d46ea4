#include <math.h>

#include <internal/json.h>
#include <internal/profile-figures.h>
#include <internal/statistics.h>

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

/* The processes of a side, or of one less another in each round. @less: G_MAXSIZE: of none */
static IfmTiming timing_of_rounds(const json_t *rounds, gsize side, gsize less, double level)
{
    const gsize n = json_array_size(rounds);
    IfmTiming timing = { .mean_ns = 0, .median_ns = NAN, .std_ns = NAN, .interval = { INFINITY, -INFINITY, level } };
    g_autofree double *of = g_new(double, n + 1), *values = g_new(double, n + 1), *from = g_new(double, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        const json_t *medians = json_object_get(json_array_get(rounds, i), "median_ns");
        of[i] = json_number_value(json_array_get(medians, side));
        from[i] = less != G_MAXSIZE ? json_number_value(json_array_get(medians, less)) : 0;
        values[i] = of[i] - from[i];
        timing.mean_ns += values[i] / (double)n;
        timing.interval.lower = fmin(timing.interval.lower, values[i]);
        timing.interval.upper = fmax(timing.interval.upper, values[i]);
    }
    double squares = 0;
    for (gsize i = 0; i < n; i++)
        squares += (values[i] - timing.mean_ns) * (values[i] - timing.mean_ns);
    timing.std_ns = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
    ifm_sort_doubles(of, n);
    ifm_sort_doubles(from, n);
    timing.median_ns = ifm_quantile(of, n, 0.5) - ifm_quantile(from, n, 0.5);
    if (ldexp(1, 1 - (int)MIN(n, 1000)) > (1 - level) * (1 + 1e-12)) /* too few hold the middle of all */
        timing.interval.lower = timing.interval.upper = NAN;
    return timing;
}

gboolean ifm_mode_step_rounds(const IfmProfileMode *mode, const IfmProfileDevice *device, IfmStepRounds *of)
{
    const IfmProfileDevice *asked = ifm_mode_device(mode, mode->asked, device);
    const json_t *json = asked != NULL && asked->rounds != NULL ? ifm_measurement_result(asked->rounds, "rounds") : NULL,
                 *rounds = json_object_get(json, "rounds"), *sides = json_object_get(json, "sides");
    if (json_array_size(sides) != IFM_STEP_SIDES || json_array_size(rounds) == 0 ||
        g_strcmp0(ifm_member_text(json_array_get(sides, 0), "name"), IFM_STEP_FORWARD) != 0)
        return FALSE;
    const double level = ifm_member_number(json, "level");
    *of = (IfmStepRounds){ json_array_size(rounds),
                           timing_of_rounds(rounds, 0, G_MAXSIZE, level),
                           timing_of_rounds(rounds, 1, 0, level),
                           timing_of_rounds(rounds, 1, G_MAXSIZE, level),
                           timing_of_rounds(rounds, 2, 1, level),
                           timing_of_rounds(rounds, 2, G_MAXSIZE, level) };
    return TRUE;
}

void ifm_mode_backward(const IfmProfileMode *mode, const IfmProfileDevice *device, IfmBackward *backward)
{
    IfmStepRounds rounds;
    if (ifm_mode_step_rounds(mode, device, &rounds))
    {
        const IfmTiming *timing = &rounds.backward;
        *backward = (IfmBackward){ .timing = *timing,
                                   .forward_ratio = timing->median_ns / rounds.forward.median_ns,
                                   .holds_zero = timing->interval.lower <= 0 && timing->interval.upper >= 0,
                                   .paired = TRUE,
                                   .n_pairs = (gint64)rounds.n,
                                   .n_rounds = (gint64)rounds.n };
        return;
    }
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
