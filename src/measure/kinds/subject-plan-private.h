#pragma once
#include "../measure-private.h"

G_BEGIN_DECLS

/* What the files of a plan's subject share: subject-plan.c makes it and says what it came to, subject-plan-compile.c makes
 * its pipelines, subject-plan-run.c runs them and, by subject-plan-bound.c, what is held against them; subject-plan-parts.c
 * is what all of them stand on. */

/** IfmPlanGroup: graphs whose plans differ in their ratios alone: one pipeline, each batch with ratios of its own. */
typedef struct
{
    IfmPlan *plan;
    IfmPipeline *pipeline;
    IfmPipeline *plain; /* the same uncounted, where all of the pipeline's inferences are counted; or NULL */
    char *no_plain;     /* why there is none (any more), or NULL */
    gsize n_replanned;  /* runs after which it went by another plan */
    IfmTrace *trace;
    GArray *batches; /* IfmBatch */
    gint64 most_nodes, max_edges;
    IfmPlanSubject *subject;
    char *aliases; /* of the plan's blocks: "CPU, GPU" */
    char *last;    /* devices of the block that hands out, of the plan it now goes by: "CPU, GPU" */
    char *stopped; /* why its last run ended early; NULL: it did not */
} IfmPlanGroup;

/** IfmPlanSolo: one device with all stages on it: what it does alone. */
typedef struct
{
    const IfmPlanDevice *device; /* of one of the plans */
    IfmPipeline *pipeline;       /* NULL: see why */
    char *why;
    double rate;     /* alone, as last seen; 0: not yet */
    gboolean failed; /* in the plan's run */
} IfmPlanSolo;

struct IfmPlanSubject
{
    const IfmPlanTask *task;
    IfmClock *clock;
    IfmPlanWatch watch;
    const IfmStagedModel *staged;
    IfmPlanBatches *batches;
    GPtrArray *groups; /* IfmPlanGroup* */
    IfmPlanSolo solos[IFM_PLAN_MAX_DEVICES];
    gsize n_devices, n_in_blocks; /* those of blocks come first; the others have a part in the bound alone */
    GArray *repetitions;          /* IfmPlanRepetition */
    GPtrArray *counted;           /* see plan-counted.c */
    GPtrArray *replans;           /* char* */
    gint stop_solos;              /* atomic */
    gint n_delivered;             /* atomic */
    gsize turn;                   /* which of a repetition's parts comes first */
    double slow_down;
    gboolean stuck; /* a device never answered: its thread is in there still */
    char *doing;    /* what runs now; NULL: nothing does yet */
};

/** IfmPlanDelivery: who verifies a run's outputs, and how. */
typedef struct
{
    IfmPlanSubject *self;
    gboolean verify, timed;
    const char *const *devices; /* that hand out: "CPU, GPU" */
} IfmPlanDelivery;

/* --- subject-plan-parts.c ------------------------------------------------------------------------------------------- */

/** ifm_plan_aliases_from: "CPU, GPU": those of blocks @first to the last, each once. (transfer full) */
char *ifm_plan_aliases_from(const IfmPlan *plan, guint first);
/** ifm_plan_subject_solo: that of an alias, or NULL. */
IfmPlanSolo *ifm_plan_subject_solo(IfmPlanSubject *self, const char *alias);
/** ifm_plan_solo_has_part: whether it compiled, and did not fail since. */
gboolean ifm_plan_solo_has_part(const IfmPlanSolo *solo);
/** ifm_plan_subject_has_bound: whether one was asked for and there is one: one device cannot do better than itself. */
gboolean ifm_plan_subject_has_bound(const IfmPlanSubject *self);
/** ifm_plan_subject_share: so many of a stream's batches are enough for a rate. */
gsize ifm_plan_subject_share(gsize n_batches);
gboolean ifm_plan_subject_is_interrupted(const IfmPlanSubject *self);
/** ifm_plan_subject_delivered: an IfmDelivered. @user: IfmPlanDelivery */
void ifm_plan_subject_delivered(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user);
/** ifm_plan_subject_settle: What came of a run, also where it failed. @failure: (transfer full) Returns: whether it ran and
 * nothing was wrong. */
gboolean ifm_plan_subject_settle(IfmPlanSubject *self, gboolean ran, GError *failure, GError **error);
/** ifm_plan_subject_report: Reports what is done now to the progress callback. */
void ifm_plan_subject_report(const IfmPlanSubject *self, const char *what);
/** ifm_plan_subject_set_doing: @what: (transfer full) what runs from now on */
void ifm_plan_subject_set_doing(IfmPlanSubject *self, char *what);

/* --- subject-plan-bound.c ------------------------------------------------------------------------------------------- */

/** ifm_plan_subject_run_solo: One device alone. @repetition: NULL: to warm up */
gboolean ifm_plan_subject_run_solo(IfmPlanSubject *self, gsize device, IfmPlanRepetition *repetition, GError **error);
/** ifm_plan_subject_run_together: All devices at once, each alone. */
gboolean ifm_plan_subject_run_together(IfmPlanSubject *self, IfmPlanRepetition *repetition, GError **error);

G_END_DECLS
