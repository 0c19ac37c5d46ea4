#include "profile-private.h"
#include <base/fields.h>

/* A profile from its options to its results. */

struct IfmProfile
{
    IfmProfileOptions options;
    ProfilePlan plan;
    gboolean as_it_is; /* the plan is one: the model as it is is profiled, too */
    Sweep sweep;
    GPtrArray *plans; /* ProfilePlan*, in the order of measuring; borrowed */
    const gint *interrupted;
    GError *store_error;
    Reported *reported;
    SweepReport points;
};

void ifm_profile_free(IfmProfile *self)
{
    if (self == NULL)
        return;
    profile_reported_free(self->reported);
    profile_sweep_reported_clear(&self->points);
    g_clear_pointer(&self->plans, g_ptr_array_unref);
    profile_plan_clear(&self->plan);
    profile_sweep_clear(&self->sweep);
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
    if (g_strcmp0(options->parts, "") == 0)
    {
        g_autofree char *all = g_strjoinv(", ", (char **)ifm_profile_part_words());
        return ifm_error_misuse(error, "--profile: which parts? (there are %s)", all);
    }
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
    if (!profile_sweep_init(&self->sweep, &self->options, error))
        return NULL;
    const IfmProfileOptions *as_it_is = self->sweep.rows->len == 0  ? &self->options
                                        : self->sweep.model != NULL ? &self->sweep.model->options
                                                                    : NULL;
    self->as_it_is = as_it_is != NULL;
    if (self->as_it_is && !profile_plan_init(&self->plan, as_it_is, FALSE, error))
        return NULL;
    if (self->as_it_is)
        g_ptr_array_add(self->plans, &self->plan);
    profile_sweep_add_plans(&self->sweep, self->plans);
    return g_steal_pointer(&self);
}

/* --- measuring ---------------------------------------------------------------------------------------------------------
 */

static gboolean observe_all(ProfilePlan *plan, IfmRunner *runner, gboolean asked, GError **error)
{
    gboolean good = profile_observe(plan, runner, asked, error);
    for (int kind = 0; kind < IFM_N_PASSES && good; kind++)
    {
        ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
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
        profile_note(watch, "%u cases of %" G_GSIZE_FORMAT " runs each are to be measured", n_cases, protocol.runs);
    else if (protocol.time_budget_ns > 0)
    {
        g_autofree char *each = ifm_format_duration((double)protocol.time_budget_ns);
        g_autofree char *all = ifm_format_duration((double)n_cases * (double)protocol.time_budget_ns);
        profile_note(watch,
                     "%u cases are to be measured, for %s at most each (--time-budget), %s in all; compiling, checking and "
                     "profiling them comes on top",
                     n_cases, each, all);
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
    const IfmRunnerOptions runner_options = { .limits = ifm_limits_with(&usual, &options->protocol),
                                              .interrupted = interrupted,
                                              .progress = watch != NULL ? watch->update : NULL,
                                              .progress_user = watch != NULL ? watch->user : NULL };
    g_autofree char *path = g_build_filename(options->output, "store.db", NULL);
    g_autoptr(IfmRunner) runner = ifm_runner_new(&runner_options);
    self->interrupted = interrupted;
    profile_watch_cases(watch, counts.cases);
    for (guint i = 0; i < self->plans->len; i++)
        if (!observe_all(self->plans->pdata[i], runner, options->observe, error)) /* a wrong model leaves no store behind */
            return FALSE;
    gboolean measures = counts.targets + counts.encodings > 0;
    g_autoptr(IfmStore) store = measures ? ifm_store_open(path, IFM_STORE_WRITE, error) : NULL;
    if (measures && store == NULL)
        return FALSE;
    if (options->devices == NULL && counts.targets > 0)
        profile_note(watch, "no --device given: measuring on onnxruntime:CPU (inferometer devices lists what is here)");
    if (self->sweep.rows->len > 0 && counts.cases > 0)
        announce(self, counts.cases);
    Measuring measuring = { .plans = self->plans,
                            .store = store,
                            .watch = watch,
                            .interrupted = interrupted,
                            .limits = runner_options.limits,
                            .resume = options->resume,
                            .no_peak = options->no_peak,
                            .new_peak = options->new_peak,
                            .sweep = &self->sweep };
    g_clear_pointer(&runner, ifm_runner_free);
    profile_measure(&measuring);
    self->store_error = measuring.store_error;
    return TRUE;
}

/* --- results -----------------------------------------------------------------------------------------------------------
 */

const IfmProfileReport *ifm_profile_report(IfmProfile *self)
{
    if (self->reported == NULL && self->as_it_is)
        self->reported = profile_reported_new(&self->plan, (gsize)self->options.n_layers, self->options.group);
    return self->reported != NULL ? profile_reported_report(self->reported) : NULL;
}

const IfmScalingRow *ifm_profile_rows(IfmProfile *self, gsize *n)
{
    if (self->points.rows == NULL)
        profile_sweep_report(&self->sweep, (gsize)self->options.n_layers, &self->points);
    const GArray *rows = self->points.rows;
    *n = rows != NULL ? rows->len : 0;
    return rows != NULL ? (const IfmScalingRow *)(const void *)rows->data : NULL;
}

gboolean ifm_profile_is_empty(const IfmProfile *self)
{
    return profile_all_failed(self->plans);
}

GStrv ifm_profile_failures(const IfmProfile *self, int *code)
{
    return profile_failures(self->plans, &self->sweep, self->store_error, profile_is_interrupted(self->interrupted), code);
}
