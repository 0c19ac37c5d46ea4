#include <unistd.h>

#include "profile-campaign.h"

/* What was measured, as files and as a page. */

GArray *profile_results(const ProfilePlan *plan)
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

guint profile_count_failed(const GArray *results)
{
    guint n = 0;
    for (guint i = 0; i < results->len; i++)
        n += ifm_result_code(&g_array_index(results, IfmResult, i)) != NULL;
    return n;
}

void profile_complain(const GArray *results, const char *what)
{
    guint n_failed = profile_count_failed(results);
    g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < results->len && n_failed == results->len; i++)
    {
        char *line = ifm_result_line(&g_array_index(results, IfmResult, i));
        g_autofree char *kept = g_strdup(line);
        if (g_hash_table_add(told, line)) /* of several models one device may fail in one way */
            cli_complain("%s", kept);
    }
    if (n_failed > 0 && n_failed < results->len)
        cli_complain("%u of %u %s failed", n_failed, results->len, what);
}

/* What there is to tell of each device that was tried. */
static GArray *devices_of(const ProfilePlan *plan, const GArray *results)
{
    GArray *devices = g_array_new(FALSE, TRUE, sizeof(IfmProfileDevice));
    guint at = 0;
    for (guint i = 0; i < plan->targets->len && at < results->len; i++)
    {
        const Target *target = plan->targets->pdata[i];
        if (!target->tried || (target->measurement == NULL && target->error == NULL))
            continue;
        IfmProfileDevice device = { g_array_index(results, IfmResult, at++),
                                    target->limit,
                                    target->no_limit,
                                    target->limit_stored,
                                    target->limit_doubt,
                                    target->turns,
                                    target->no_turns };
        g_array_append_val(devices, device);
    }
    return devices;
}

/* Told: a plan's results as they are told, those of its mode's other passes beside them; the story borrows from all of it.
 */
typedef struct Told
{
    GArray *results, *devices;
    IfmProfileMode mode;
    struct Told *others[IFM_N_PASSES];
    IfmProfileStory story;
} Told;

static void told_free(Told *told)
{
    if (told == NULL)
        return;
    g_array_unref(told->results);
    g_array_unref(told->devices);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        told_free(told->others[kind]);
    g_free(told);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Told, told_free)

static Told *told_new(const Arguments *arguments, const ProfilePlan *plan);

static void tell_mode(Told *told, const Arguments *arguments, const ProfilePlan *plan)
{
    profile_mode_tell(plan, &told->mode);
    told->mode.passes[told->mode.asked] = &told->story;
    told->story.mode = &told->mode;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        if (other == NULL)
            continue;
        told->others[kind] = told_new(arguments, other);
        told->mode.passes[kind] = &told->others[kind]->story;
    }
}

static Told *told_new(const Arguments *arguments, const ProfilePlan *plan)
{
    Told *told = g_new0(Told, 1);
    told->results = profile_results(plan);
    told->devices = devices_of(plan, told->results);
    told->story = (IfmProfileStory){
        .graph = plan->graph != NULL ? profile_graph_story(plan->graph) : NULL,
        .parts = plan->parts,
        .source = plan->source,
        .unix_ms = g_get_real_time() / 1000,
        .model = plan->model,
        .analysis = plan->analysis,
        .bindings = plan->base.bindings,
        .n_bindings = plan->base.n_bindings,
        .observed_on = plan->observed_on,
        .why_not_observed = plan->why_not_observed,
        .devices = (const IfmProfileDevice *)(const void *)told->devices->data,
        .n_devices = told->devices->len,
        .n_layers = (gsize)cli_integer(arguments, "nodes"),
    };
    if (plan->mode != NULL)
        tell_mode(told, arguments, plan);
    return told;
}

/* @story: NULL where there are @rows alone    @nothing: nothing was measured: the reasons are all there is to tell */
static int write_story(const Arguments *arguments, const IfmProfileStory *story, const GArray *rows, gboolean nothing)
{
    const char *json_path = cli_text(arguments, "json"), *csv_path = cli_text(arguments, "csv");
    const IfmScalingRow *first = (const IfmScalingRow *)(const void *)rows->data;
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = story != NULL ? ifm_profile_to_json(story) : NULL;
        json = rows->len > 0 ? ifm_scaling_add_json(json, first, rows->len) : json;
        status = cli_write_json(json_path, json);
    }
    if (csv_path != NULL && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = rows->len > 0 ? ifm_scaling_to_csv(first, rows->len) : ifm_profile_to_csv(story);
        status = cli_write(csv_path, csv);
    }
    if (nothing || g_strcmp0(json_path, "-") == 0 || g_strcmp0(csv_path, "-") == 0)
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = story != NULL ? ifm_profile_to_screen(story, &screen) : g_strdup("");
    g_autofree char *more = rows->len > 0 ? ifm_scaling_to_screen(first, rows->len, &screen) : g_strdup("");
    g_autofree char *page = g_strconcat(text, *text != '\0' && *more != '\0' ? "\n" : "", more, NULL);
    int printed = cli_print(page);
    return status != CLI_EXIT_OK ? status : printed;
}

/* Tellers: what tell_point() is called with. @tolds: Told*, kept as long as their stories */
typedef struct
{
    const Arguments *arguments;
    GPtrArray *tolds;
} Tellers;

static void tell_point(const ProfilePlan *plan, IfmProfileStory *story, void *user)
{
    Tellers *tellers = user;
    Told *told = told_new(tellers->arguments, plan);
    g_ptr_array_add(tellers->tolds, told);
    *story = told->story;
}

int profile_write(const Arguments *arguments, const ProfilePlan *plan, const Sweep *sweep, gboolean nothing)
{
    g_autoptr(Told) told = plan != NULL ? told_new(arguments, plan) : NULL;
    g_auto(SweepTold) points = { 0 };
    g_autoptr(GPtrArray) tolds = g_ptr_array_new_with_free_func((GDestroyNotify)told_free);
    Tellers tellers = { arguments, tolds };
    profile_sweep_tell(sweep, tell_point, &tellers, &points);
    return write_story(arguments, told != NULL ? &told->story : NULL, points.rows, nothing);
}
