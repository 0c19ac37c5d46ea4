/* room: measure */
#pragma once
#include <inferometer/kinds.h>

G_BEGIN_DECLS

/* What a profile asks of its cases. */

/** IfmObservedShapes: @shapes: IfmObservedShape, whose names are borrowed from @names. */
typedef struct
{
    GArray *shapes;
    json_t *names;
} IfmObservedShapes;
void ifm_observed_shapes_clear(IfmObservedShapes *observed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmObservedShapes, ifm_observed_shapes_clear)

/** ifm_runner_observe: What shapes the model's tensors had in one run, unoptimised, for ifm_model_analyse_with(); of what
 * the runtime does not report there is none. Errors: those of compiling and inferring; IFM_ERROR_UNSUPPORTED where
 * the runtime reports no shapes. */
gboolean ifm_runner_observe(IfmRunner *runner, const IfmModelCase *model_case, IfmObservedShapes *observed, GError **error);

/** IfmOptimisedFile: a graph to write. @keep_layout: IfmCompileOptions has it    @outline: without its large weights */
typedef struct
{
    const char *path;
    gboolean keep_layout, outline;
} IfmOptimisedFile;
/** ifm_runner_optimise: Has the runtime of a case optimise its model for its device, and writes the graphs that result.
 * @version: (out) (optional) (transfer full) of the runtime    Errors: those of compiling; IFM_ERROR_UNSUPPORTED where a
 * runtime cannot save its graph. */
gboolean ifm_runner_optimise(IfmRunner *runner, const IfmModelCase *model_case, const IfmOptimisedFile *files, gsize n,
                             char **version, GError **error);

/**
 * ifm_peak_counts: Which of two peaks of one case counts from now on: the new one if it is not in doubt, else the higher
 * one (by the product of FLOP/s and bytes/s), since other load lowers a peak and nothing raises it. If the one that counts
 * is committed, the latest in a store is the one that counts.
 * @before: what the store has; NULL: none    Returns: whether it is @peak
 */
gboolean ifm_peak_counts(const IfmMeasurement *peak, const IfmMeasurement *before);

/** ifm_peak_doubt: Why a measured limit may be too low. (transfer full) NULL where nothing speaks for that. */
char *ifm_peak_doubt(const IfmMeasurement *peak);

/** ifm_peak_is_measured: FALSE for one that failed, and for the described peak of a simulated device, which costs nothing
 * to ask for again. */
gboolean ifm_peak_is_measured(const IfmMeasurement *peak);

/** ifm_devices_share_core: The first core that two devices, by their specs, are both pinned to: they take turns there,
 * which is another thing than working at once. -1: none, or one of them is simulated. */
int ifm_devices_share_core(const char *a, const char *b);

G_END_DECLS
