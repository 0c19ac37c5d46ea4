#include <store/store.h>

#include "profile-private.h"

/* What failed, and what that comes to. */

ProfileCounts profile_count(const GPtrArray *plans)
{
    ProfileCounts counts = { 0 };
    for (guint p = 0; p < plans->len; p++)
    {
        const ProfilePlan *plan = plans->pdata[p];
        for (guint i = 0; i < plan->targets->len; i++)
            counts.left += ((const Target *)plan->targets->pdata[i])->measurement == NULL;
        counts.targets += plan->targets->len;
        counts.encodings += profile_measures_encoding(plan);
        counts.encoded += plan->graph != NULL && plan->graph->encoding_cost != NULL;
        counts.cases += plan->targets->len * (1 + profile_mode_n_others(plan)) + profile_measures_encoding(plan);
    }
    return counts;
}

static GArray *collect_all(const GPtrArray *plans)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (guint i = 0; i < plans->len; i++)
    {
        g_autoptr(GArray) some = profile_plan_results(plans->pdata[i]);
        g_array_append_vals(results, some->data, some->len);
    }
    return results;
}

static guint count_failed(const GArray *results)
{
    guint n = 0;
    for (guint i = 0; i < results->len; i++)
        n += ifm_result_code(&g_array_index(results, IfmResult, i)) != NULL;
    return n;
}

gboolean profile_all_failed(const GPtrArray *plans)
{
    g_autoptr(GArray) results = collect_all(plans);
    return results->len > 0 ? count_failed(results) == results->len : profile_count(plans).targets > 0;
}

/* A device's refusal is its own affair; one of an unknown operator is the model's. Returns: one of the three
 * codes that are told apart. */
static int code_of_failure(const ProfilePlan *plan, const IfmResult *result)
{
    IfmErrorCode code = ifm_error_code_from_name(ifm_result_code(result));
    gboolean unknown = code == IFM_ERROR_UNSUPPORTED && profile_blamed_operator(plan, ifm_result_reason(result)) != NULL;
    if (unknown || code == IFM_ERROR_INVALID || code == IFM_ERROR_CORRUPT)
        return IFM_ERROR_INVALID;
    return code == IFM_ERROR_UNAVAILABLE ? IFM_ERROR_UNAVAILABLE : IFM_ERROR_FAILED;
}

/* 0: all measured. Else what all that failed have in common; IFM_ERROR_FAILED where they differ or some were measured. */
static int code_of_all(const GPtrArray *plans)
{
    int common = 0;
    guint n_failed = 0, n = 0;
    for (guint p = 0; p < plans->len; p++)
    {
        g_autoptr(GArray) results = profile_plan_results(plans->pdata[p]);
        n += results->len;
        for (guint i = 0; i < results->len; i++)
        {
            const IfmResult *result = &g_array_index(results, IfmResult, i);
            if (ifm_result_code(result) == NULL)
                continue;
            int code = code_of_failure(plans->pdata[p], result);
            common = n_failed == 0 || common == code ? code : IFM_ERROR_FAILED;
            n_failed++;
        }
    }
    return n_failed == 0 || n_failed == n ? common : IFM_ERROR_FAILED;
}

/* Where nothing was measured the reasons are all there is to report; else they stand below the table, and how many there
 * are is said. @what: "devices" */
static void add_results(GStrvBuilder *lines, const GArray *results, const char *what)
{
    guint n_failed = count_failed(results);
    g_autoptr(GHashTable) reported = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < results->len && n_failed == results->len; i++)
    {
        g_autofree char *line = ifm_result_line(&g_array_index(results, IfmResult, i));
        if (g_hash_table_add(reported, g_strdup(line))) /* of several models one device may fail in one way */
            g_strv_builder_add(lines, line);
    }
    g_autofree char *sum = g_strdup_printf("%u of %u %s failed", n_failed, results->len, what);
    if (n_failed > 0 && n_failed < results->len)
        g_strv_builder_add(lines, sum);
}

/* Failures of the passes besides the one asked for, one by one: the page may not be shown. Returns: how many. */
static guint add_others(GStrvBuilder *lines, const ProfilePlan *plan)
{
    guint n = 0;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        g_autoptr(GArray) results = other != NULL ? profile_plan_results(other) : NULL;
        for (guint i = 0; results != NULL && i < results->len; i++)
        {
            const IfmResult *result = &g_array_index(results, IfmResult, i);
            if (ifm_result_code(result) == NULL)
                continue;
            g_autofree char *why = ifm_result_line(result);
            g_autofree char *line = g_strdup_printf("%s: %s", other->base.model_name, why);
            g_strv_builder_add(lines, line);
            n++;
        }
    }
    return n;
}

/* The first encoding that could not be computed. Returns: an error code, 0 where all could. */
static int add_encoding(GStrvBuilder *lines, const GPtrArray *plans)
{
    for (guint i = 0; i < plans->len; i++)
    {
        const ProfilePlan *plan = plans->pdata[i];
        if (!profile_measures_encoding(plan) || plan->graph->encoding_error == NULL)
            continue;
        g_strv_builder_add(lines, plan->graph->encoding_error->message);
        return plan->graph->encoding_error->code;
    }
    return 0;
}

/* Points without a model. Returns: an error code, 0 where there is none. */
static int add_refused(GStrvBuilder *lines, const Sweep *sweep)
{
    guint n = 0, n_refused = 0;
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        for (guint at = 0; at < row->points->len; at++, n++)
            n_refused += profile_row_plan(row, at)->refused != NULL;
    }
    g_autofree char *line = g_strdup_printf("%u of %u points have no model", n_refused, n);
    if (n_refused > 0)
        g_strv_builder_add(lines, line);
    return n_refused > 0 ? IFM_ERROR_FAILED : 0;
}

/* (transfer full) */
static char *interruption(const GPtrArray *plans, const char *what)
{
    ProfileCounts counts = profile_count(plans);
    if (counts.left > 0)
        return g_strdup_printf("interrupted: %u of %u %s were not measured; --resume measures what is missing", counts.left,
                               counts.targets, what);
    return g_strdup(counts.targets + counts.encoded > 0
                        ? "interrupted: what was measured until then is kept; --resume measures what is missing"
                        : "interrupted: nothing was measured");
}

GStrv profile_failures(const GPtrArray *plans, const Sweep *sweep, const GError *store_error, gboolean interrupted,
                       int *code)
{
    const char *what = sweep->rows->len > 0 ? "points" : "devices";
    g_autoptr(GStrvBuilder) lines = g_strv_builder_new();
    if (store_error != NULL)
    {
        *code = store_error->code;
        g_strv_builder_add(lines, store_error->message);
    }
    else if (interrupted)
    {
        g_autofree char *line = interruption(plans, what);
        *code = IFM_ERROR_CANCELLED;
        g_strv_builder_add(lines, line);
    }
    else
    {
        g_autoptr(GArray) results = collect_all(plans);
        add_results(lines, results, what);
        *code = code_of_all(plans);
        for (guint i = 0; i < plans->len; i++)
            *code = add_others(lines, plans->pdata[i]) > 0 && *code == 0 ? IFM_ERROR_FAILED : *code;
        if (*code == 0)
            *code = add_encoding(lines, plans);
        if (*code == 0)
            *code = add_refused(lines, sweep);
    }
    return g_strv_builder_end(lines);
}
