#include <errno.h>

#include <glib/gstdio.h>
#include <regions/regions.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "profile-private.h"

/* What plans are made of, how they are kept, reported and freed. */

/* --- targets -----------------------------------------------------------------------------------------------------------
 */

Target *profile_target_new(const char *alias, IfmDeviceSpec *spec, GStrv vendor)
{
    Target *target = g_new0(Target, 1);
    target->spec = spec;
    target->vendor = vendor;
    target->device.result.device = spec->text;
    target->device.result.alias = g_strdup(alias);
    return target;
}

void profile_target_free(Target *target)
{
    IfmProfileDevice *device = &target->device;
    ifm_device_spec_free(target->spec);
    g_strfreev(target->vendor);
    g_free((char *)device->result.alias);
    g_free((char *)device->result.reason);
    ifm_case_free((IfmCase *)device->result.subject_case);
    ifm_measurement_free((IfmMeasurement *)device->result.measurement);
    ifm_measurement_free(device->peak);
    g_free(device->no_peak);
    g_free(device->peak_doubt);
    ifm_measurement_free(device->rounds);
    g_free(device->why_not_rounds);
    json_decref(device->nodes);
    g_free(target);
}

gboolean profile_is_measured(const Target *target)
{
    return ifm_result_measured(&target->device.result) != NULL;
}

/* --- graph transformers ------------------------------------------------------------------------------------------------
 */

static void clear_graph(GraphModel *self)
{
    json_decref(self->encoding_seen[0]);
    json_decref(self->encoding_seen[1]);
    g_free((char *)self->report.title);
    g_free((char *)self->report.encoding_name);
    g_free((char *)self->report.no_encoding_cost);
    ifm_graph_free((IfmGraph *)self->report.graph);
    ifm_encoding_free((IfmEncoding *)self->report.encoding);
    ifm_case_free((IfmCase *)self->report.encoding_case);
    ifm_measurement_free((IfmMeasurement *)self->report.encoding_cost);
}

/* --- plans --------------------------------------------------------------------------------------------------------------
 */

IfmProfilePlan *ifm_profile_plan_new(const IfmProfileOptions *options)
{
    IfmProfilePlan *plan = g_new0(IfmProfilePlan, 1);
    plan->options = *options;
    plan->owned = g_ptr_array_new_with_free_func(g_free);
    return plan;
}

void ifm_profile_plan_free(IfmProfilePlan *plan)
{
    if (plan == NULL)
        return;
    g_clear_pointer(&plan->mode, profile_mode_free);
    g_clear_pointer(&plan->targets, g_ptr_array_unref);
    ifm_model_source_clear(&plan->source);
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->plain, ifm_model_unref);
    g_clear_pointer(&plan->observed_on, g_free);
    g_clear_pointer(&plan->why_not_observed, g_free);
    g_clear_pointer(&plan->label, g_free);
    g_clear_error(&plan->refused);
    if (plan->graph != NULL)
        g_rc_box_release_full(plan->graph, (GDestroyNotify)clear_graph);
    g_clear_pointer(&plan->rounds, ifm_measurement_free);
    g_clear_pointer(&plan->why_not_rounds, g_free);
    g_clear_pointer(&plan->sizes, g_array_unref);
    g_clear_pointer(&plan->convolutions, g_strfreev);
    g_clear_pointer(&plan->devices, g_array_unref);
    g_clear_pointer(&plan->owned, g_ptr_array_unref);
    g_free(plan);
}

/* --- what is varied ---------------------------------------------------------------------------------------------------
 */

const char *profile_plan_own(IfmProfilePlan *plan, char *text)
{
    g_ptr_array_add(plan->owned, text);
    return text;
}

void profile_plan_change_dims(IfmProfilePlan *plan, const char *without, char *with)
{
    GPtrArray *dims = g_ptr_array_new();
    for (const char *const *at = plan->options.open.dims; at != NULL && *at != NULL; at++)
        if (*at != without)
            g_ptr_array_add(dims, (gpointer)*at);
    if (with != NULL)
        g_ptr_array_add(dims, (gpointer)profile_plan_own(plan, with));
    g_ptr_array_add(dims, NULL);
    plan->options.open.dims = (const char *const *)dims->pdata;
    g_ptr_array_add(plan->owned, g_ptr_array_free(dims, FALSE));
}

void ifm_profile_plan_set(IfmProfilePlan *plan, const char *name, gint64 size)
{
    g_autofree char *text = g_strdup_printf("%s=%" G_GINT64_FORMAT, name, size);
    if (ifm_zoo_parameter(ifm_model_source_entry(plan->options.model), name) != NULL)
        plan->options.model = profile_plan_own(plan, g_strdup_printf("%s,%s", plan->options.model, text));
    else
        profile_plan_change_dims(plan, NULL, g_steal_pointer(&text));
}

gboolean ifm_profile_plan_make(IfmProfilePlan *plan, GHashTable *written, GError **error)
{
    plan->written = written;
    return profile_plan_init(plan, FALSE, error);
}

IfmModelCase ifm_profile_plan_case(const IfmProfilePlan *plan)
{
    IfmModelCase model_case = profile_plan_case(plan, plan->targets->pdata[0]);
    model_case.model = plan->source.model;
    return model_case;
}

gint64 ifm_profile_plan_flop(const IfmProfilePlan *plan)
{
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_total(plan->analysis, &total, &n_covered);
    ifm_analysis_coverage(plan->analysis, &coverage);
    return n_covered == coverage.n_nodes ? total.flop : -1;
}

/* --- the model ----------------------------------------------------------------------------------------------------------
 */

char *profile_out_file(const char *out, const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(out, folder, NULL);
    return ifm_file_make_folder(path, error) ? g_build_filename(path, name, NULL) : NULL;
}

IfmAnalysis *profile_analyse(const IfmProfilePlan *plan, const IfmObservedShapes *observed, GError **error)
{
    const IfmKnown known = {
        .observed = observed != NULL ? (const IfmObservedShape *)(const void *)observed->shapes->data : NULL,
        .n_observed = observed != NULL ? observed->shapes->len : 0,
        .given =
            plan->source.feed.given != NULL ? (const IfmGivenInput *)(const void *)plan->source.feed.given->data : NULL,
        .n_given = plan->source.feed.given != NULL ? plan->source.feed.given->len : 0,
    };
    return ifm_model_analyse_with(plan->plain, ifm_model_feed_bindings(&plan->source.feed), plan->source.feed.bindings->len,
                                  &known, error);
}

gboolean profile_plan_analyse(IfmProfilePlan *plan, GError **error)
{
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->plain, ifm_model_unref);
    if (ifm_model_check_bindings(plan->source.model, ifm_model_feed_bindings(&plan->source.feed),
                                 plan->source.feed.bindings->len, error))
        plan->plain = ifm_regions_expand(plan->source.model, error);
    if (plan->plain != NULL)
        plan->analysis = profile_analyse(plan, NULL, error);
    return plan->analysis != NULL;
}

gboolean profile_plan_open(IfmProfilePlan *plan, GError **error)
{
    const IfmProfileOptions *options = &plan->options;
    const IfmProfileWatch *watch = options->watch;
    const IfmModelRequest request = {
        .text = options->model,
        .open = &options->open,
        .seed = (guint32)options->seed,
        .folder = options->output,
        .is_run = plan->targets->len > 0 || options->observe,
        .training = options->mode == IFM_PASS_STEP,
        .written = plan->written,
        .note = watch != NULL ? watch->note : NULL,
        .user = watch != NULL ? watch->user : NULL,
    };
    return ifm_model_source_open(&request, &plan->source, error) && profile_plan_analyse(plan, error);
}

gboolean profile_plan_save(IfmProfilePlan *plan, GError **error)
{
    if (!ifm_model_save(plan->source.model, plan->source.path, error))
        return FALSE;
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->source.model, ifm_model_unref);
    plan->source.model = ifm_model_open(plan->source.path, error);
    return plan->source.model != NULL && profile_plan_analyse(plan, error);
}

IfmModelCase profile_plan_case(const IfmProfilePlan *plan, const Target *target)
{
    IfmModelCase model_case = plan->base;
    model_case.inputs_path = plan->source.inputs_path;
    model_case.device = target->spec->text;
    model_case.alias = target->device.result.alias;
    model_case.vendor = target->vendor[0] != NULL ? (const char *const *)target->vendor : NULL;
    return model_case;
}

/* --- what is too large -------------------------------------------------------------------------------------------------
 */

/* It is refused before any of it is made, drawn or written. */

static gboolean takes_host_memory(const Target *target)
{
    return !g_str_equal(target->spec->engine, "simulated") && g_str_equal(target->spec->unit, "CPU");
}

gboolean profile_runs_on_host(const IfmProfilePlan *plan)
{
    for (guint i = 0; i < plan->targets->len; i++)
        if (!takes_host_memory(plan->targets->pdata[i]))
            return FALSE;
    return plan->targets->len > 0;
}

gboolean profile_check_host(const char *name, const char *what, double bytes, const char *more, GError **error)
{
    gint64 available = ifm_sensor_free_bytes("/");
    if (available == G_MAXINT64 || bytes <= (double)available)
        return TRUE;
    g_autofree char *needed = ifm_format_bytes(bytes), *there = ifm_format_bytes((double)available);
    return ifm_error_refuse(error, "%s: %s %s (%s), there are %s available", name, what, needed, more, there);
}

gboolean profile_check_fits(const IfmProfilePlan *plan, const char *name, GError **error)
{
    g_auto(IfmMemoryPlan) memory = { 0 };
    if (!profile_runs_on_host(plan))
        return TRUE;
    ifm_analysis_memory(plan->analysis, &memory);
    const char *node =
        memory.peak_node < ifm_model_n_nodes(plan->plain) ? ifm_model_node(plan->plain, memory.peak_node)->name : "";
    g_autofree char *parameters = ifm_format_bytes((double)memory.parameter_bytes);
    g_autofree char *alive = ifm_format_bytes((double)memory.peak_bytes);
    g_autofree char *more = g_strdup_printf("parameters %s, tensors alive at node '%s': %s", parameters, node, alive);
    return profile_check_host(name, "needs at least", (double)memory.peak_bytes + (double)memory.parameter_bytes, more,
                              error);
}

/* --- what came of it --------------------------------------------------------------------------------------------------
 */

GArray *profile_plan_devices(const IfmProfilePlan *plan)
{
    GArray *devices = g_array_new(FALSE, FALSE, sizeof(IfmProfileDevice));
    for (guint i = 0; i < plan->targets->len; i++)
    {
        const IfmProfileDevice *device = &((const Target *)plan->targets->pdata[i])->device;
        if (device->result.measurement != NULL || device->result.code != NULL)
            g_array_append_vals(devices, device, 1);
    }
    return devices;
}

/* All but its mode: the plans of other passes have none of their own. */
static const IfmProfileReport *report_alone(IfmProfilePlan *plan, gsize n_layers, gboolean group)
{
    g_clear_pointer(&plan->devices, g_array_unref);
    plan->devices = profile_plan_devices(plan);
    plan->report = (IfmProfileReport){
        .graph = plan->graph != NULL ? &plan->graph->report : NULL,
        .parts = plan->parts,
        .source = plan->source.source,
        .unix_ms = g_get_real_time() / 1000,
        .model = plan->plain,
        .analysis = plan->analysis,
        .bindings = plan->base.bindings,
        .n_bindings = plan->base.n_bindings,
        .observed_on = plan->observed_on,
        .why_not_observed = plan->why_not_observed,
        .devices = (const IfmProfileDevice *)(const void *)plan->devices->data,
        .n_devices = plan->devices->len,
        .n_layers = n_layers,
        .group = group,
        .rounds = plan->rounds,
        .why_not_rounds = plan->why_not_rounds,
    };
    return &plan->report;
}

const IfmProfileReport *profile_plan_report(IfmProfilePlan *plan)
{
    ProfileMode *mode = plan->mode;
    const gsize n_layers = (gsize)plan->options.n_layers;
    const gboolean group = plan->options.group && plan->label == NULL;
    report_alone(plan, n_layers, group);
    if (mode == NULL)
        return &plan->report;
    profile_mode_report(mode);
    mode->report.passes[mode->report.asked] = &plan->report;
    plan->report.mode = &mode->report;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        if (profile_mode_plan(plan, kind) != NULL)
            mode->report.passes[kind] = report_alone(profile_mode_plan(plan, kind), n_layers, group);
    return &plan->report;
}
