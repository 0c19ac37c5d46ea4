#pragma once
#include <inferometer/plan.h>

#include "cli.h"
#include "study-place.h"

G_BEGIN_DECLS

/* The study that verbs look in where none is named. */
#define PLAN_STUDY "gnn-plan"

/* What verbs that plan have in common: what is asked for. Rows for their tables of options. */
#define ROW_SIZE(help)                                                                                                     \
    {                                                                                                                      \
        "size", 0, OPTION_TEXT, TRUE, "NODES,EDGES", help                                                                  \
    }
#define ROW_OBJECTIVE                                                                                                      \
    {                                                                                                                      \
        "objective", 0, OPTION_TEXT, FALSE, "WORD", HELP_OBJECTIVE, "throughput", plan_objectives                          \
    }
#define ROW_GRID                                                                                                           \
    {                                                                                                                      \
        "grid", 0, OPTION_TEXT, FALSE, "SHARE,…", HELP_GRID                                                                \
    }
#define ROW_MAX_BLOCKS                                                                                                     \
    {                                                                                                                      \
        "max-blocks", 0, OPTION_COUNT, FALSE, "N", HELP_MAX_BLOCKS, .least = 1, .most = IFM_PLAN_MAX_DEVICES               \
    }
#define ROW_NO_NPU_SPLIT                                                                                                   \
    {                                                                                                                      \
        "no-npu-split", 0, OPTION_FLAG, FALSE, NULL, HELP_NO_NPU_SPLIT                                                     \
    }
#define ROW_USE                                                                                                            \
    {                                                                                                                      \
        "use", 0, OPTION_TEXT, TRUE, "ALIAS", "a device to plan with; without it all that have latencies"                  \
    }
#define ROW_WITHOUT                                                                                                        \
    {                                                                                                                      \
        "without", 0, OPTION_TEXT, TRUE, "ALIAS", "a device to plan without"                                               \
    }
#define ROW_POWER                                                                                                          \
    {                                                                                                                      \
        "power", 0, OPTION_TEXT, TRUE, "ALIAS=WATTS", HELP_POWER                                                           \
    }

#define HELP_OBJECTIVE                                                                                                     \
    "latency: of one batch; throughput: the cycle of many; energy: joules a batch, with the --power of each device"
#define HELP_GRID "shares that a device of a block may have, such as 0.3,0.5,0.7; without it any that let them end together"
#define HELP_MAX_BLOCKS "the most blocks of a plan; without it any number"
#define HELP_NO_NPU_SPLIT "NPUs take no part in data parallelism, as in the published search"
#define HELP_POWER "what a device draws while it works; ALIAS=WATTS,IDLE also while it waits (else 0)"

extern const char *const plan_objectives[];

/* PlanGround: what plans are searched over: a study's tables as costs, and the question. */
typedef struct
{
    StudyPlace place;
    IfmStore *store;
    IfmStudyTables *tables;
    IfmCosts *costs;
    GArray *sizes; /* IfmPlanSize: those asked for, or all of the study */
    GArray *grid;  /* double */
    IfmPlanQuestion question;
} PlanGround;

/* plan_ground_init: @study: what was named, NULL for PLAN_STUDY. Returns: an exit status; what is wrong was told. */
int plan_ground_init(PlanGround *ground, const Arguments *arguments, const char *study, IfmStoreMode mode);
/* plan_ground_measure_host: what parting and merging cost on this machine, at these sizes; nothing where all devices are
 * simulated, whose clock does not run meanwhile. Returns: an exit status. */
int plan_ground_measure_host(PlanGround *ground, const IfmPlanSize *sizes, gsize n_sizes);
void plan_ground_clear(PlanGround *ground);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PlanGround, plan_ground_clear)
/* plan_ground_at: the question at a size. */
IfmPlanQuestion plan_ground_at(const PlanGround *ground, gint64 nodes, gint64 edges);

/* plan_predict: costs a plan at the first size and simulates it. @trace: (out) (optional) (transfer full) of the
 * simulation. (transfer full) NULL with an error */
json_t *plan_predict(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, IfmTrace **trace,
                     GError **error);

/* plan_name_stream: a trace of a run or simulation tells the stream of batches it is of, so that "trace diff" finds its
 * like. plan_size_title: "5000 nodes, 10000 edges" (transfer full) */
void plan_name_stream(IfmTrace *trace, const char *stream);
char *plan_size_title(const IfmPlanSize *size);
/* plan_fail: cli_fail(), but where no plan covers all stages it is the input that is wrong. */
int plan_fail(GError *error);
/* plan_parse_sizes: "NODES,EDGES" of --size. Returns: an exit status. @sizes: (out) IfmPlanSize, appended */
int plan_parse_sizes(const Arguments *arguments, GArray *sizes);

G_END_DECLS
