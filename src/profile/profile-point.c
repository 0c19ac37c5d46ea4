
#include "profile-private.h"

/* Points: options with one value of each axis put in, and the plan that is made by them. */

IfmProfilePoint *ifm_profile_point_new(const IfmProfileOptions *options)
{
    IfmProfilePoint *self = g_new0(IfmProfilePoint, 1);
    self->options = *options;
    self->owned = g_ptr_array_new_with_free_func(g_free);
    return self;
}

void ifm_profile_point_free(IfmProfilePoint *self)
{
    if (self == NULL)
        return;
    profile_plan_free(self->plan);
    g_ptr_array_unref(self->owned);
    g_free(self);
}

const char *profile_point_own(IfmProfilePoint *self, char *text)
{
    g_ptr_array_add(self->owned, text);
    return text;
}

void profile_point_drop_dim(IfmProfilePoint *self, const char *dim)
{
    GPtrArray *dims = g_ptr_array_new();
    for (const char *const *at = self->options.open.dims; at != NULL && *at != NULL; at++)
        if (*at != dim)
            g_ptr_array_add(dims, (gpointer)*at);
    g_ptr_array_add(dims, NULL);
    self->options.open.dims = (const char *const *)dims->pdata;
    g_ptr_array_add(self->owned, g_ptr_array_free(dims, FALSE));
}

void ifm_profile_point_set(IfmProfilePoint *self, const char *name, gint64 size)
{
    const char *text = profile_point_own(self, g_strdup_printf("%s=%" G_GINT64_FORMAT, name, size));
    if (ifm_zoo_parameter(ifm_model_source_entry(self->options.model), name) != NULL)
    {
        self->options.model = profile_point_own(self, g_strdup_printf("%s,%s", self->options.model, text));
        return;
    }
    const guint n = self->options.open.dims != NULL ? g_strv_length((char **)self->options.open.dims) : 0;
    const char **dims = g_new0(const char *, n + 2);
    for (guint i = 0; i < n; i++)
        dims[i] = self->options.open.dims[i];
    dims[n] = text;
    self->options.open.dims = dims;
    g_ptr_array_add(self->owned, dims);
}

gboolean ifm_profile_point_plan(IfmProfilePoint *self, GHashTable *written, GError **error)
{
    self->plan = g_new0(ProfilePlan, 1);
    self->plan->written = written;
    return profile_plan_init(self->plan, &self->options, FALSE, error);
}

IfmModelCase ifm_profile_point_case(const IfmProfilePoint *self)
{
    IfmModelCase model_case = profile_plan_case(self->plan, self->plan->targets->pdata[0]);
    model_case.model = self->plan->model;
    return model_case;
}

gint64 ifm_profile_point_flop(const IfmProfilePoint *self)
{
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_total(self->plan->analysis, &total, &n_covered);
    ifm_analysis_coverage(self->plan->analysis, &coverage);
    return n_covered == coverage.n_nodes ? total.flop : -1;
}
