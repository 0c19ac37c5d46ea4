/* Shared with other rooms: the figures of a profile by name. */
#pragma once
#include <kernel/kernel.h>
#include <measure/rounds.h>
#include <predict/predict.h>
#include <profile/profile.h>

G_BEGIN_DECLS

/* --- a device ------------------------------------------------------------------------------------------------------ */

/* ifm_profile_find_device: The same device in another report. Both may be NULL. Returns: (transfer none) NULL: it was not
 * tried there. */
const IfmProfileDevice *ifm_profile_find_device(const IfmProfileReport *report, const IfmResult *like);

/* ifm_profile_kernels: (transfer full) of one device's profiled runs, under its roofline where that is known; NULL where
 * it has none. */
IfmKernels *ifm_profile_kernels(const IfmProfileReport *report, const IfmProfileDevice *device);

/* ifm_profile_rounds: those of the devices (docs/formats.md, "rounds"); NULL: there are none. */
const json_t *ifm_profile_rounds(const IfmProfileReport *report);

/* ifm_profile_time: what a device takes, as all that compares devices says it: the middle of its processes' medians where
 * it took part in rounds, of the devices or of the passes; else of its runs, with @of->n 0, and @of->least_ns,
 * @of->most_ns those of single runs. NaN: not measured. */
void ifm_profile_time(const IfmProfileReport *report, const IfmProfileDevice *device, IfmRoundsOfOne *of);

/* ifm_profile_fastest: of least time; NULL: none was measured. (transfer none) */
const IfmProfileDevice *ifm_profile_fastest(const IfmProfileReport *report);

/* ifm_profile_attained: the share of the peak that the whole attains: all kernels' least times / its time; NaN where
 * either is not known. */
double ifm_profile_attained(const IfmKernels *kernels, double time_ns);

/* ifm_profile_parts: (transfer full) of ifm_model_parts(); NULL where the model is no graph transformer. @kernels: whose
 * times; or NULL */
GArray *ifm_profile_parts(const IfmProfileReport *report, const IfmKernels *kernels);

/* --- memory -------------------------------------------------------------------------------------------------------- */

/* IfmMemoryRow: one figure of memory. @of: a device's name, "" for the model's. @key: stable. @name, @meaning: in words */
typedef struct
{
    const char *of, *key, *name, *meaning;
    double bytes; /* NaN: not known */
} IfmMemoryRow;

/* ifm_profile_memory_rows: (transfer full) IfmMemoryRow, those that are known. @device: NULL for the model's own */
GArray *ifm_profile_memory_rows(const IfmProfileReport *report, const IfmProfileDevice *device);

/* ifm_memory_row_bytes: of that key; NaN where there is none. */
double ifm_memory_row_bytes(const GArray *rows, const char *key);

/* ifm_profile_peak: the peak of memory as the published keys have it, bytes: measured, be it less than the model's shapes
 * would need, since engines write in place and fuse nodes; where nothing was measured, by the shapes. @device: NULL: by the
 * shapes    @of: (out) whose peak it is; NULL where it is not known (NaN) */
double ifm_profile_peak(const IfmProfileReport *report, const IfmProfileDevice *device, const char **of);

/* IfmStorageRow: what a positional encoding takes, bytes. @held: NaN where it is not held */
typedef struct
{
    const char *key, *name;
    double estimated, held;
} IfmStorageRow;

/* ifm_profile_storage_rows: (transfer full) IfmStorageRow: that of nodes first; empty where there is no encoding. */
GArray *ifm_profile_storage_rows(const IfmProfileGraph *of);

/* ifm_is_as_estimated: whether as many bytes are held, but for what an allocation is rounded up by. */
gboolean ifm_is_as_estimated(double estimated, double held);

/* --- passes -------------------------------------------------------------------------------------------------------- */

/* Passes in the order of reports: those that are run, and two that are never run by themselves, but are the difference of
 * two others: IFM_PASS_BACKWARD, the training pass less forward, and IFM_PASS_UPDATE, the step less the training pass. */
#define IFM_PASS_BACKWARD IFM_N_PASSES
#define IFM_PASS_UPDATE (IFM_N_PASSES + 1)
#define IFM_N_PASS_FIGURES (IFM_N_PASSES + 2)
extern const int ifm_pass_order[IFM_N_PASS_FIGURES];

/* ifm_pass_key: "forward", "training_pass", "training_step", "backward", "update". */
const char *ifm_pass_key(int kind);

/* ifm_pass_parts: of a difference: the whole, less the part. Returns: FALSE of a pass that is run. */
gboolean ifm_pass_parts(int kind, IfmPassKind *whole, IfmPassKind *part);

/* ifm_mode_has_pass: a difference is there where both are that it is of. */
gboolean ifm_mode_has_pass(const IfmProfileMode *mode, int kind);

/* ifm_mode_device: the same device in another pass. @like: of any pass, or NULL    Returns: (transfer none) NULL where the
 * mode has no such pass, or it was not tried there. */
const IfmProfileDevice *ifm_mode_device(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like);

/* ifm_mode_rounds: in how many rounds all passes of the mode took turns on that device (of any pass; NULL: there is none);
 * 0: in none. All times are then of these rounds, a median the middle of the processes' medians, an interval all of them:
 * forward + backward = training pass, training pass + update = step. */
gsize ifm_mode_rounds(const IfmProfileMode *mode, const IfmProfileDevice *device);

/* ifm_mode_timing: of a pass or a difference: of the rounds, without any of measurements each by itself. */
void ifm_mode_timing(const IfmProfileMode *mode, int kind, const IfmProfileDevice *device, IfmTiming *timing);

/* ifm_mode_difference: @kind: IFM_PASS_BACKWARD, IFM_PASS_UPDATE */
void ifm_mode_difference(const IfmProfileMode *mode, int kind, const IfmProfileDevice *device,
                         IfmPassDifference *difference);

/* ifm_mode_work: of a pass; of a difference what the whole has more than the part. */
void ifm_mode_work(const IfmProfileMode *mode, int kind, IfmWork *work);

/* --- scalings ------------------------------------------------------------------------------------------------------ */

/* IfmScalingLine: a point on a device, with what follows from it and the others. @result: NULL where there is none. */
typedef struct
{
    IfmScalingPoint point;
    const char *axis, *device, *alias;
    const char *pass; /* its key, "backward" too; NULL without a mode */
    const IfmResult *result;
    double departure, flop_per_s; /* NaN: not known */
    IfmDeparture departs;
} IfmScalingLine;

/* IfmScalingPart: the points of a row on one device: of the pass that was asked for, and with a mode of each. */
typedef struct IfmScalingPart IfmScalingPart;
struct IfmScalingPart
{
    const IfmScalingRow *row; /* borrowed */
    const IfmResult *device;  /* NULL: no device was asked for, or tried */
    int kind;                 /* IfmPassKind, IFM_PASS_BACKWARD; without a mode -1 */
    IfmScalingPoint *points;  /* [row->n] */
    IfmScalingLine *lines;    /* [row->n] */
    IfmScaling *scaling;
    GPtrArray *passes; /* IfmScalingPart*, in the order of ifm_pass_order, this one among them; empty without a mode; of one
                          in such a list NULL, but of this one */
    GPtrArray *reasons; /* char*, of points whose time others contradict */
};

/* ifm_scaling_parts: (transfer full) IfmScalingPart*, one of each device. */
GPtrArray *ifm_scaling_parts(const IfmScalingRow *row);

/* ifm_scaling_mode: that of a row's points; NULL: the model as it is. What it says of passes is the point's own. */
const IfmProfileMode *ifm_scaling_mode(const IfmScalingRow *row);

/* ifm_scaling_has_numbers: whether what is varied are numbers. */
gboolean ifm_scaling_has_numbers(const IfmScalingPart *part);

G_END_DECLS
