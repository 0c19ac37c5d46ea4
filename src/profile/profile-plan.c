#include <errno.h>

#include <glib/gstdio.h>

#include "profile-private.h"

/* What plans are made of, how they are kept and freed. */

/* --- targets -----------------------------------------------------------------------------------------------------------
 */

void profile_target_free(Target *target)
{
    g_free(target->alias);
    ifm_device_spec_free(target->spec);
    g_strfreev(target->vendor);
    ifm_case_free(target->sealed);
    ifm_measurement_free(target->measurement);
    ifm_measurement_free(target->peak);
    g_free(target->no_peak);
    g_free(target->peak_doubt);
    ifm_measurement_free(target->rounds);
    g_free(target->why_not_rounds);
    g_clear_error(&target->error);
    g_free(target);
}

GPtrArray *profile_targets_copy(const GPtrArray *targets)
{
    GPtrArray *copies = g_ptr_array_new_with_free_func((GDestroyNotify)profile_target_free);
    for (guint i = 0; i < targets->len; i++)
    {
        const Target *target = targets->pdata[i];
        Target *copy = g_new0(Target, 1);
        copy->alias = g_strdup(target->alias);
        copy->spec = ifm_device_spec_parse(target->spec->text, NULL); /* it was one before */
        copy->vendor = g_strdupv(target->vendor);
        g_ptr_array_add(copies, copy);
    }
    return copies;
}

IfmResult profile_target_result(const Target *target)
{
    return (IfmResult){
        .device = target->spec->text,
        .alias = target->alias,
        .subject_case = target->sealed,
        .measurement = target->measurement,
        .code = target->error != NULL ? ifm_error_code_name(target->error->code) : NULL,
        .reason = target->error != NULL ? target->error->message : NULL,
        .resumed = target->resumed,
    };
}

/* --- graph transformers ------------------------------------------------------------------------------------------------
 */

GraphModel *profile_graph_new(void)
{
    return g_rc_box_new0(GraphModel);
}

static void clear_graph(GraphModel *self)
{
    g_free(self->words);
    g_free(self->stem);
    g_free(self->title);
    g_free(self->digest);
    g_free(self->encoding_name);
    ifm_graph_free(self->graph);
    ifm_encoding_free(self->encoding);
    json_decref(self->encoding_seen[0]);
    json_decref(self->encoding_seen[1]);
    ifm_case_free(self->encoding_case);
    ifm_measurement_free(self->encoding_cost);
    g_clear_error(&self->encoding_error);
}

GraphModel *profile_graph_ref(GraphModel *self)
{
    return g_rc_box_acquire(self);
}

void profile_graph_unref(GraphModel *self)
{
    g_rc_box_release_full(self, (GDestroyNotify)clear_graph);
}

const IfmProfileGraph *profile_graph_report(GraphModel *self)
{
    self->report =
        (IfmProfileGraph){ .title = self->title,
                           .transformer = &self->transformer,
                           .graph = self->graph,
                           .encoding_name = self->encoding_name,
                           .encoding = self->encoding,
                           .encoding_case = self->encoding_case,
                           .encoding_cost = self->encoding_cost,
                           .no_encoding_cost = self->encoding_error != NULL ? self->encoding_error->message : NULL };
    return &self->report;
}

/* --- passes -------------------------------------------------------------------------------------------------------------
 */

void profile_mode_free(ProfileMode *mode)
{
    if (mode == NULL)
        return;
    profile_plan_free(mode->given);
    profile_plan_free(mode->forward);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        profile_plan_free(mode->derived[kind]);
        g_free(mode->names[kind]);
    }
    g_free(mode);
}

ProfilePlan *profile_mode_plan(const ProfilePlan *plan, IfmPassKind kind)
{
    ProfileMode *mode = plan->mode;
    if (mode == NULL)
        return NULL;
    if (kind == IFM_PASS_FORWARD)
        return mode->forward != NULL ? mode->forward : mode->given;
    return mode->derived[kind];
}

guint profile_mode_n_others(const ProfilePlan *plan)
{
    guint n = 0;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        n += profile_mode_plan(plan, (IfmPassKind)kind) != NULL;
    return n;
}

/* --- plans --------------------------------------------------------------------------------------------------------------
 */

void profile_plan_clear(ProfilePlan *plan)
{
    g_clear_pointer(&plan->mode, profile_mode_free);
    g_clear_pointer(&plan->targets, g_ptr_array_unref);
    g_clear_pointer(&plan->bindings, g_array_unref);
    g_clear_pointer(&plan->given, g_array_unref);
    g_clear_pointer(&plan->dim_names, g_ptr_array_unref);
    g_clear_pointer(&plan->model, ifm_model_unref);
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->model_path, g_free);
    g_clear_pointer(&plan->inputs_path, g_free);
    g_clear_pointer(&plan->samples_path, g_free);
    g_clear_pointer(&plan->source, g_free);
    g_clear_pointer(&plan->observed_on, g_free);
    g_clear_pointer(&plan->why_not_observed, g_free);
    g_clear_pointer(&plan->label, g_free);
    g_clear_error(&plan->refused);
    g_clear_pointer(&plan->graph, profile_graph_unref);
    g_clear_pointer(&plan->rounds, profile_rounds_free);
    g_clear_pointer(&plan->sizes, g_array_unref);
    g_clear_pointer(&plan->convolutions, g_strfreev);
}

void profile_plan_free(ProfilePlan *plan)
{
    if (plan == NULL)
        return;
    profile_plan_clear(plan);
    g_free(plan);
}

char *profile_out_file(const char *out, const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(out, folder, NULL);
    if (g_mkdir_with_parents(path, 0777) == 0)
        return g_build_filename(path, name, NULL);
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: cannot be made: %s", path, g_strerror(errno));
    return NULL;
}

IfmAnalysis *profile_analyse(const ProfilePlan *plan, const IfmObservedShapes *observed, GError **error)
{
    const IfmKnown known = {
        .observed = observed != NULL ? (const IfmObservedShape *)(const void *)observed->shapes->data : NULL,
        .n_observed = observed != NULL ? observed->shapes->len : 0,
        .given = plan->given != NULL ? (const IfmGivenInput *)(const void *)plan->given->data : NULL,
        .n_given = plan->given != NULL ? plan->given->len : 0,
    };
    return ifm_model_analyse_with(plan->model, (const IfmDimBinding *)(const void *)plan->bindings->data,
                                  plan->bindings->len, &known, error);
}

gboolean profile_plan_analyse(ProfilePlan *plan, GError **error)
{
    const IfmDimBinding *bindings = (const IfmDimBinding *)(const void *)plan->bindings->data;
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    if (ifm_model_check_bindings(plan->model, bindings, plan->bindings->len, error))
        plan->analysis = profile_analyse(plan, NULL, error);
    return plan->analysis != NULL;
}

gboolean profile_plan_save(ProfilePlan *plan, GError **error)
{
    if (!ifm_model_save(plan->model, plan->model_path, error))
        return FALSE;
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->model, ifm_model_unref);
    plan->model = ifm_model_open(plan->model_path, error);
    return plan->model != NULL && profile_plan_analyse(plan, error);
}

IfmModelCase profile_plan_case(const ProfilePlan *plan, const Target *target)
{
    IfmModelCase model_case = plan->base;
    model_case.inputs_path = plan->inputs_path;
    model_case.device = target->spec->text;
    model_case.alias = target->alias;
    model_case.vendor = target->vendor[0] != NULL ? (const char *const *)target->vendor : NULL;
    return model_case;
}

GArray *profile_plan_results(const ProfilePlan *plan)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (guint i = 0; i < plan->targets->len; i++)
    {
        const Target *target = plan->targets->pdata[i];
        IfmResult result = profile_target_result(target);
        if (target->tried && (target->measurement != NULL || target->error != NULL))
            g_array_append_val(results, result);
    }
    return results;
}
