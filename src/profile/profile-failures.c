#include <store/store.h>

#include "profile-private.h"

/* What failed, and what that comes to. */

/* A device's refusal is its own affair; one of an unknown operator is the model's. Returns: one of the three
 * codes that are told apart. */
static int code_of_failure(const IfmProfilePlan *plan, const IfmResult *result)
{
    IfmErrorCode code = ifm_error_code_from_name(ifm_result_code(result));
    gboolean unknown = code == IFM_ERROR_UNSUPPORTED && profile_blamed_operator(plan, ifm_result_reason(result)) != NULL;
    if (unknown || code == IFM_ERROR_INVALID || code == IFM_ERROR_CORRUPT)
        return IFM_ERROR_INVALID;
    return code == IFM_ERROR_UNAVAILABLE ? IFM_ERROR_UNAVAILABLE : IFM_ERROR_FAILED;
}

ProfileCounts profile_count(const GPtrArray *plans)
{
    ProfileCounts counts = { 0 };
    for (guint p = 0; p < plans->len; p++)
    {
        const IfmProfilePlan *plan = plans->pdata[p];
        g_autoptr(GArray) devices = profile_plan_devices(plan);
        counts.targets += plan->targets->len;
        counts.left += plan->targets->len;
        counts.tried += devices->len;
        for (guint i = 0; i < devices->len; i++)
        {
            const IfmResult *result = &g_array_index(devices, IfmProfileDevice, i).result;
            counts.left -= result->measurement != NULL;
            if (ifm_result_code(result) == NULL)
                continue;
            const int code = code_of_failure(plan, result);
            counts.code = counts.failed++ == 0 || counts.code == code ? code : IFM_ERROR_FAILED;
        }
        counts.encodings += profile_measures_encoding(plan);
        counts.encoded += plan->graph != NULL && plan->graph->report.encoding_cost != NULL;
        counts.cases += plan->targets->len * (1 + profile_mode_n_others(plan)) + profile_measures_encoding(plan);
    }
    if (counts.failed > 0 && counts.failed < counts.tried)
        counts.code = IFM_ERROR_FAILED;
    return counts;
}

gboolean ifm_profile_is_empty(const IfmProfile *self)
{
    const ProfileCounts counts = profile_count(self->plans);
    return counts.tried > 0 ? counts.failed == counts.tried : counts.targets > 0;
}

/* The lines of a plan's devices that failed, after @name (NULL: none). @reported: what was said before: of several models
 * one device may fail in one way. Returns: how many failed. */
static guint add_lines(GStrvBuilder *lines, const IfmProfilePlan *plan, const char *name, GHashTable *reported)
{
    guint n = 0;
    g_autoptr(GArray) devices = profile_plan_devices(plan);
    for (guint i = 0; i < devices->len; i++)
    {
        const IfmResult *result = &g_array_index(devices, IfmProfileDevice, i).result;
        if (ifm_result_code(result) == NULL)
            continue;
        g_autofree char *why = ifm_result_line(result);
        g_autofree char *line = g_strconcat(name != NULL ? name : "", name != NULL ? ": " : "", why, NULL);
        if (reported == NULL || g_hash_table_add(reported, g_strdup(line)))
            g_strv_builder_add(lines, line);
        n++;
    }
    return n;
}

/* Where nothing was measured the reasons are all there is to report; else they stand below the table, and how many there
 * are is said. Failures of the passes besides the one asked for are reported one by one: the page may not be shown.
 * @what: "devices". Returns: an IfmErrorCode, 0 where none failed. */
static int add_devices(GStrvBuilder *lines, const GPtrArray *plans, const char *what)
{
    const ProfileCounts counts = profile_count(plans);
    guint n_others = 0;
    g_autoptr(GHashTable) reported = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < plans->len && counts.failed == counts.tried; i++)
        add_lines(lines, plans->pdata[i], NULL, reported);
    g_autofree char *sum = g_strdup_printf("%u of %u %s failed", counts.failed, counts.tried, what);
    if (counts.failed > 0 && counts.failed < counts.tried)
        g_strv_builder_add(lines, sum);
    for (guint i = 0; i < plans->len; i++)
        for (int kind = 0; kind < IFM_N_PASSES; kind++)
        {
            const IfmProfilePlan *other = profile_mode_plan(plans->pdata[i], kind);
            n_others += other != NULL ? add_lines(lines, other, other->base.model_name, NULL) : 0;
        }
    return counts.code == 0 && n_others > 0 ? IFM_ERROR_FAILED : counts.code;
}

/* The first encoding that could not be computed. Returns: an error code, 0 where all could. */
static int add_encoding(GStrvBuilder *lines, const GPtrArray *plans)
{
    for (guint i = 0; i < plans->len; i++)
    {
        const IfmProfilePlan *plan = plans->pdata[i];
        if (!profile_measures_encoding(plan) || plan->graph->report.no_encoding_cost == NULL)
            continue;
        g_strv_builder_add(lines, plan->graph->report.no_encoding_cost);
        return plan->graph->encoding_code;
    }
    return 0;
}

/* Points without a model. Returns: an error code, 0 where there is none. */
static int add_refused(GStrvBuilder *lines, const IfmProfile *self)
{
    guint n = 0, n_refused = 0;
    for (guint i = 0; i < self->rows->len; i++)
    {
        const SweepRow *row = self->rows->pdata[i];
        for (guint at = 0; at < row->points->len; at++, n++)
            n_refused += ((const IfmProfilePlan *)row->points->pdata[at])->refused != NULL;
    }
    g_autofree char *line = g_strdup_printf("%u of %u points have no model", n_refused, n);
    if (n_refused > 0)
        g_strv_builder_add(lines, line);
    return n_refused > 0 ? IFM_ERROR_FAILED : 0;
}

/* (transfer full) */
static char *interruption(const GPtrArray *plans, const char *what)
{
    const ProfileCounts counts = profile_count(plans);
    if (counts.left > 0)
        return g_strdup_printf("interrupted: %u of %u %s were not measured; --resume measures what is missing", counts.left,
                               counts.targets, what);
    return g_strdup(counts.targets + counts.encoded > 0
                        ? "interrupted: what was measured until then is kept; --resume measures what is missing"
                        : "interrupted: nothing was measured");
}

GStrv ifm_profile_failures(const IfmProfile *self, int *code)
{
    const char *what = self->rows->len > 0 ? "points" : "devices";
    g_autoptr(GStrvBuilder) lines = g_strv_builder_new();
    if (self->store_error != NULL)
    {
        *code = self->store_error->code;
        g_strv_builder_add(lines, self->store_error->message);
    }
    else if (profile_is_interrupted(self->interrupted))
    {
        g_autofree char *line = interruption(self->plans, what);
        *code = IFM_ERROR_CANCELLED;
        g_strv_builder_add(lines, line);
    }
    else
    {
        *code = add_devices(lines, self->plans, what);
        if (*code == 0)
            *code = add_encoding(lines, self->plans);
        if (*code == 0)
            *code = add_refused(lines, self);
    }
    return g_strv_builder_end(lines);
}
