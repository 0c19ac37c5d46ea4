#include "profile-private.h"
#include <base/fields.h>

/* A profile from its options to its results. */

void ifm_profile_free(IfmProfile *self)
{
    if (self == NULL)
        return;
    g_clear_pointer(&self->reported, g_array_unref);
    g_clear_pointer(&self->plans, g_ptr_array_unref);
    g_clear_pointer(&self->model, ifm_profile_plan_free);
    g_clear_pointer(&self->rows, g_ptr_array_unref);
    g_clear_pointer(&self->written, g_hash_table_unref);
    g_clear_error(&self->store_error);
    g_free(self);
}

/* What holds whatever the model is. */
static gboolean check(const IfmProfileOptions *options, GError **error)
{
    if (!ifm_options_check(ifm_profile_options, options, error) ||
        !ifm_options_check(ifm_graph_options, &options->graph, error))
        return FALSE;
    if (options->model == NULL)
        return ifm_error_misuse(error, "needs MODEL: a file, or a name of the zoo");
    return profile_check_sizes(&options->graph, profile_is_graph(options->model) ? PROFILE_OF_GRAPH : 0, 0, error);
}

IfmProfile *ifm_profile_new(const IfmProfileOptions *options, GError **error)
{
    if (!check(options, error))
        return NULL;
    g_autoptr(IfmProfile) self = g_new0(IfmProfile, 1);
    self->options = *options;
    if (options->devices != NULL && *options->devices == NULL)
        self->options.devices = NULL; /* an empty list asks for none by name */
    self->plans = g_ptr_array_new();
    self->rows = g_ptr_array_new_with_free_func((GDestroyNotify)profile_row_free);
    self->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!profile_sweep_init(self, error) || (self->model != NULL && !profile_plan_init(self->model, FALSE, error)))
        return NULL;
    if (self->model != NULL)
        g_ptr_array_insert(self->plans, 0, self->model);
    return g_steal_pointer(&self);
}

/* --- measuring ---------------------------------------------------------------------------------------------------------
 */

static gboolean observe_all(IfmProfilePlan *plan, IfmRunner *runner, gboolean asked, GError **error)
{
    gboolean good = profile_observe(plan, runner, asked, error);
    for (int kind = 0; kind < IFM_N_PASSES && good; kind++)
    {
        IfmProfilePlan *other = profile_mode_plan(plan, kind);
        good = other == NULL || profile_observe(other, runner, asked, error);
    }
    return good;
}

/* A row of models may take long: what is to come is reported before it begins. */
static void announce(const IfmProfile *self, guint n_cases)
{
    const IfmProfileWatch *watch = self->options.watch;
    const IfmProtocol usual = IFM_PROTOCOL_INIT, protocol = ifm_protocol_with(&usual, &self->options.protocol);
    if (protocol.runs > 0)
        profile_note(watch, "%u cases of %zu runs each are to be measured", n_cases, protocol.runs);
    else if (protocol.time_budget_ns > 0)
    {
        g_autofree char *each = ifm_format_duration((double)protocol.time_budget_ns);
        g_autofree char *all = ifm_format_duration((double)n_cases * (double)protocol.time_budget_ns);
        profile_note(
            watch,
            "%u cases are to be measured, for %s at most each (--time-budget), %s in all; the least %zu runs of slow "
            "ones, compiling, checking and profiling come on top",
            n_cases, each, all, protocol.min_runs);
    }
    else
        profile_note(watch, "%u cases are to be measured, without a time budget", n_cases);
}

gboolean ifm_profile_measure(IfmProfile *self, const gint *interrupted, GError **error)
{
    const IfmProfileOptions *options = &self->options;
    const IfmProfileWatch *watch = options->watch;
    const IfmLimits usual = IFM_LIMITS_INIT;
    const ProfileCounts counts = profile_count(self->plans);
    self->limits = ifm_limits_with(&usual, &options->protocol);
    self->interrupted = interrupted;
    const IfmRunnerOptions runner_options = { .limits = self->limits, .interrupted = interrupted };
    g_autofree char *path = g_build_filename(options->output, "store.db", NULL);
    g_autoptr(IfmRunner) runner = ifm_runner_new(&runner_options);
    profile_report(watch, &(IfmProgress){ .n_cases = counts.cases });
    for (guint i = 0; i < self->plans->len; i++)
        if (!observe_all(self->plans->pdata[i], runner, options->observe, error)) /* a wrong model leaves no store behind */
            return FALSE;
    gboolean measures = counts.targets + counts.encodings > 0;
    g_autoptr(IfmStore) store = measures ? ifm_store_open(path, IFM_STORE_WRITE, error) : NULL;
    if (measures && store == NULL)
        return FALSE;
    if (options->devices == NULL && counts.targets > 0)
        profile_note(watch, "no --device given: measuring on onnxruntime:CPU (inferometer devices lists what is here)");
    if (self->rows->len > 0 && counts.cases > 0)
        announce(self, counts.cases);
    g_clear_pointer(&runner, ifm_runner_free);
    self->store = store;
    profile_measure(self);
    return TRUE;
}

/* --- results -----------------------------------------------------------------------------------------------------------
 */

const IfmProfileReport *ifm_profile_report(IfmProfile *self)
{
    if (self->model == NULL)
        return NULL;
    profile_plan_report(self->model);
    self->model->report.interrupted = profile_is_interrupted(self->interrupted);
    return &self->model->report;
}

static IfmScalingRow report_row(SweepRow *row)
{
    const guint n = row->points->len;
    row->reports = g_new0(IfmProfileReport, n);
    row->refusals = g_new0(const char *, n);
    for (guint i = 0; i < n; i++)
    {
        IfmProfilePlan *plan = row->points->pdata[i];
        if (plan->refused != NULL)
            row->refusals[i] = plan->refused->message;
        else
            row->reports[i] = *profile_plan_report(plan);
    }
    return (IfmScalingRow){ row->axis,    row->help, (const char *const *)row->values, (const char *const *)row->refusals,
                            row->reports, n };
}

const IfmScalingRow *ifm_profile_rows(IfmProfile *self, gsize *n)
{
    if (self->reported == NULL)
    {
        self->reported = g_array_new(FALSE, FALSE, sizeof(IfmScalingRow));
        for (guint i = 0; i < self->rows->len; i++)
        {
            const IfmScalingRow row = report_row(self->rows->pdata[i]);
            g_array_append_val(self->reported, row);
        }
    }
    *n = self->reported->len;
    return (const IfmScalingRow *)(const void *)self->reported->data;
}
