/* room: plan */
#pragma once
#include <inferometer/planning.h>

G_BEGIN_DECLS

/* What run, report and the command need of planning, and no user of the library does. */

/* --- costs ------------------------------------------------------------------------------------------------------------ */

/** ifm_costs_forget_corrections: Removes all corrections: the tables hold again. */
void ifm_costs_forget_corrections(IfmCosts *costs);
/** ifm_costs_why_sparse: Why the measurements of a device give no latency at a size: there is one size alone, or all
 * have one number of nodes, and the size has another. Returns: (transfer full) one line; NULL if they do give one. */
char *ifm_costs_why_sparse(const IfmCosts *costs, int device, double nodes, double edges);
/** ifm_costs_n_implausible: how many latencies of the tables are left out, since those of other sizes contradict them. */
gsize ifm_costs_n_implausible(const IfmCosts *costs);
/** ifm_costs_why_never: why a stage is not for a device, whatever range it is in; NULL where some range with it is. */
const char *ifm_costs_why_never(const IfmCosts *costs, int device, int stage);

/* --- the planning context --------------------------------------------------------------------------------------------- */

/**
 * ifm_plan_context_init: Reads the options, then the results.
 * @study, @folder, @sizes: as of IfmPlanOptions
 * Returns: FALSE with IFM_ERROR_USAGE, IFM_ERROR_INVALID (a device that nothing was measured of) or IFM_ERROR_UNAVAILABLE
 * (nothing was measured); whatever it returns, the context wants clearing.
 */
gboolean ifm_plan_context_init(IfmPlanContext *context, const char *study, const char *folder, const char *const *sizes,
                               const IfmPlanSearchOptions *search, IfmStoreMode mode, GError **error);
void ifm_plan_context_clear(IfmPlanContext *context);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanContext, ifm_plan_context_clear)
/** ifm_plan_context_measure_host: What partition and merge cost on this machine, at the context's sizes; nothing where all
 * devices are simulated, whose clock does not run meanwhile. */
gboolean ifm_plan_context_measure_host(IfmPlanContext *context, GError **error);
/** ifm_plan_context_question: the question at a size. */
IfmPlanQuestion ifm_plan_context_question(const IfmPlanContext *context, gint64 nodes, gint64 edges);
/** ifm_plan_parse_sizes: "NODES,EDGES" of --size. @texts: NULL-terminated, or NULL. @sizes: (out) IfmPlanSize, appended.
 * Returns: FALSE with IFM_ERROR_USAGE. */
gboolean ifm_plan_parse_sizes(const char *const *texts, GArray *sizes, GError **error);
/** ifm_plan_blame_input: Where no plan covers all stages (IFM_ERROR_UNSUPPORTED), it is the input that is wrong. */
void ifm_plan_blame_input(GError **error);

/* --- predictions and runs --------------------------------------------------------------------------------------------- */

/** ifm_prediction_add: One stream, run plan after plan: its makespan is the sum of theirs. @total: an object, empty at
 * first    @part: (transfer full) of ifm_plan_predict() */
void ifm_prediction_add(json_t *total, json_t *part);
/** ifm_plan_name_stream: A trace of a run or simulation says which stream of batches it is of, so that ifm_trace_diff()
 * finds its like. */
void ifm_plan_name_stream(IfmTrace *trace, const char *stream);

G_END_DECLS
