#pragma once
#include <inferometer/measure.h>

#include "cli.h"

G_BEGIN_DECLS

/* Target: one device of a profile, and what became of it. */
typedef struct
{
    char *alias; /* or NULL */
    IfmDeviceSpec *spec;
    GStrv vendor; /* "KEY=VALUE" meant for its engine */
    IfmCase *sealed;
    IfmMeasurement *measurement;
    GError *error; /* where there is no measurement */
    gboolean tried, resumed, stored;
} Target;

/* ProfilePlan: what is to be measured on what, checked before anything is started or written. */
typedef struct
{
    GPtrArray *targets;   /* Target* */
    GArray *bindings;     /* IfmDimBinding */
    GPtrArray *dim_names; /* what the bindings' names point to */
    IfmModel *model;
    char *model_path;
    IfmModelCase base; /* all that the targets share */
} ProfilePlan;

/* profile_plan_init: @out: folder for a zoo's model. Returns: an exit status; what is wrong was told. */
int profile_plan_init(ProfilePlan *plan, const Arguments *arguments, const char *out);
void profile_plan_clear(ProfilePlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProfilePlan, profile_plan_clear)
/* profile_plan_case: the case of one target; borrows from both. */
IfmModelCase profile_plan_case(const ProfilePlan *plan, const Target *target);

G_END_DECLS
