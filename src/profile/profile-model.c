#include "profile-private.h"

/* Models of files, and those of the zoo that are built by their names alone. */

/* What a source holds becomes the plan's. */
static void take_source(ProfilePlan *plan, IfmModelSource *source)
{
    plan->model = g_steal_pointer(&source->model);
    plan->model_path = g_steal_pointer(&source->path);
    plan->source = g_steal_pointer(&source->source);
    plan->bindings = g_steal_pointer(&source->feed.bindings);
    plan->given = g_steal_pointer(&source->feed.given);
    plan->dim_names = g_steal_pointer(&source->feed.names);
    plan->inputs_path = g_steal_pointer(&source->inputs_path);
    plan->samples_path = g_steal_pointer(&source->samples_path);
    plan->n_samples = source->feed.n_samples;
}

gboolean profile_model_init(ProfilePlan *plan, const IfmProfileOptions *options, GError **error)
{
    const IfmProfileWatch *watch = options->watch;
    const IfmModelRequest request = {
        .text = options->model,
        .open = &options->open,
        .seed = (guint32)options->seed,
        .folder = options->output,
        .is_run = plan->targets->len > 0 || options->observe,
        .training = plan->training,
        .written = plan->written,
        .note = watch != NULL ? watch->note : NULL,
        .user = watch != NULL ? watch->user : NULL,
    };
    g_auto(IfmModelSource) source = { 0 };
    if (!ifm_model_source_open(&request, &source, error))
        return FALSE;
    take_source(plan, &source);
    return profile_plan_analyse(plan, error);
}
