#include <base/fields.h>
#include <measure/measure.h>

#include "profile-private.h"

/* Two models, each planned as a profile's is, compared. */

#define OPTION(member) .at = G_STRUCT_OFFSET(IfmCompareOptions, member)

static const char *const dtypes[] = { "f32", "f16", "bf16", NULL };

const IfmOption ifm_compare_options[] = {
    { "device", IFM_OPTION_TEXT, "DEVICE", "what both run on, ENGINE:UNIT[:INDEX][@CORES][#STREAMS]", "onnxruntime:CPU",
      OPTION(device), .letter = 'd' },
    { "a-device", IFM_OPTION_TEXT, "DEVICE", "what A runs on", OPTION(device_of[0]) },
    { "b-device", IFM_OPTION_TEXT, "DEVICE", "what B runs on", OPTION(device_of[1]) },
    { .table = ifm_model_options, OPTION(open) },
    { "a-input", IFM_OPTION_TEXT, "NAME=WHAT", "of A alone", OPTION(inputs_of[0]), .repeatable = TRUE },
    { "b-input", IFM_OPTION_TEXT, "NAME=WHAT", "of B alone", OPTION(inputs_of[1]), .repeatable = TRUE },
    { "a-dim", IFM_OPTION_TEXT, "NAME=SIZE", "of A alone", OPTION(dims_of[0]), .repeatable = TRUE },
    { "b-dim", IFM_OPTION_TEXT, "NAME=SIZE", "of B alone", OPTION(dims_of[1]), .repeatable = TRUE },
    { "dtype", IFM_OPTION_TEXT, "DTYPE", "precision to compute in: f32, f16 or bf16; not given: each model's own", NULL,
      dtypes, OPTION(dtype) },
    { "a-dtype", IFM_OPTION_TEXT, "DTYPE", "A's precision", NULL, dtypes, OPTION(dtype_of[0]) },
    { "b-dtype", IFM_OPTION_TEXT, "DTYPE", "B's precision", NULL, dtypes, OPTION(dtype_of[1]) },
    { "threads", IFM_OPTION_COUNT, "N", "threads of the runtime; 0: as many as the device has cores", "0", .maximum = 4096,
      OPTION(threads), .letter = 't' },
    { "a-threads", IFM_OPTION_COUNT, "N", "A's threads", .maximum = 4096, OPTION(threads_of[0]) },
    { "b-threads", IFM_OPTION_COUNT, "N", "B's threads", .maximum = 4096, OPTION(threads_of[1]) },
    { "option", IFM_OPTION_TEXT, "[ENGINE:]KEY=VALUE", "a setting of both, in the runtime's own words", OPTION(vendor),
      .repeatable = TRUE },
    { "a-option", IFM_OPTION_TEXT, "KEY=VALUE", "of A alone", OPTION(vendor_of[0]), .repeatable = TRUE },
    { "b-option", IFM_OPTION_TEXT, "KEY=VALUE", "of B alone", OPTION(vendor_of[1]), .repeatable = TRUE },
    { "a-runtime", IFM_OPTION_FILE, "LIBRARY", "A's runtime: the library of another version", OPTION(runtime_of[0]) },
    { "b-runtime", IFM_OPTION_FILE, "LIBRARY", "B's runtime", OPTION(runtime_of[1]) },
    { "margin", IFM_OPTION_RATIO, "PERCENT", "a difference within this is none", "1%", OPTION(margin) },
    { "time-budget", IFM_OPTION_DURATION, "TIME", "the maximum time for it; 0: no limit", "30s", OPTION(time_budget_ns) },
    { "max-pairs", IFM_OPTION_COUNT, "N", "the maximum number of pairs of processes", "200", .minimum = 2,
      .maximum = IFM_COMPARE_MAX_PAIRS, OPTION(max_pairs) },
    { "rounds", IFM_OPTION_COUNT, "N", "rounds in each pair; 0: as many as take as long as making it", "0",
      .maximum = 10000, OPTION(rounds) },
    { "seed", IFM_OPTION_COUNT, "N", "seed of the inputs, of a zoo model's weights, and of who begins", "1",
      .maximum = G_MAXUINT32, OPTION(seed) },
    { "no-verify", IFM_OPTION_FLAG, NULL, "do not compare the outputs with those of the reference", OPTION(no_verify) },
    { "no-accuracy", IFM_OPTION_FLAG, NULL, "do not compare B's outputs with A's", OPTION(no_accuracy) },
    { "samples", IFM_OPTION_COUNT, "N", "inputs that are generated to compare the outputs on", "8", .minimum = 1,
      .maximum = 100000, OPTION(samples) },
    { "layer-loss", IFM_OPTION_COUNT, "DB", "what a layer may lose of the accuracy before it is named", "10",
      .maximum = 1000, OPTION(layer_loss) },
    IFM_PROTOCOL_ROW_TIMEOUT(G_STRUCT_OFFSET(IfmCompareOptions, protocol), "60s"),
    IFM_PROTOCOL_ROW_MEMORY_LIMIT(G_STRUCT_OFFSET(IfmCompareOptions, protocol), "0"),
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the store (store.db) and of the zoo's models", "out/compare",
      OPTION(output), .letter = 'o' },
    { NULL },
};

void ifm_compare_options_init(IfmCompareOptions *options)
{
    IfmProfileOptions usual;
    ifm_profile_options_init(&usual);
    *options = (IfmCompareOptions){ .protocol = usual.protocol };
    ifm_options_init(ifm_compare_options, options);
}

/* --- what is compared --------------------------------------------------------------------------------------------------
 */

/* Plans: A's and B's. */
typedef struct
{
    IfmProfilePlan *of[2];
} Plans;

static void plans_clear(Plans *plans)
{
    ifm_profile_plan_free(plans->of[0]);
    ifm_profile_plan_free(plans->of[1]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plans, plans_clear)

static gboolean same_words(const char *const *a, const char *const *b)
{
    static const char *const none[] = { NULL };
    return g_strv_equal(a != NULL ? a : none, b != NULL ? b : none);
}

static gboolean same_model(const Plans *plans)
{
    return g_strcmp0(ifm_model_digest(plans->of[0]->source.model, NULL),
                     ifm_model_digest(plans->of[1]->source.model, NULL)) == 0;
}

/* Whether chance is all that tells them apart: what such a comparison shows is what the rule is worth here. */
static gboolean are_the_same(const Plans *plans, const IfmCompareSide sides[2])
{
    const IfmModelCase *a = sides[0].spec, *b = sides[1].spec;
    gboolean same_dims = a->n_bindings == b->n_bindings;
    for (gsize i = 0; i < a->n_bindings && same_dims; i++)
        same_dims = g_str_equal(a->bindings[i].name, b->bindings[i].name) && a->bindings[i].value == b->bindings[i].value;
    return same_model(plans) && same_dims && g_str_equal(a->device, b->device) && a->dtype == b->dtype &&
           a->threads == b->threads && same_words(a->vendor, b->vendor) && g_strcmp0(a->inputs_path, b->inputs_path) == 0 &&
           g_strcmp0(sides[0].runtime, sides[1].runtime) == 0;
}

static gboolean same_port(const IfmPort *a, const IfmPort *b)
{
    return g_strcmp0(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank;
}

/* Whether they take and give the same, as two versions of one model would. */
static gboolean are_versions(const IfmModel *a, const IfmModel *b)
{
    gsize n_in = ifm_model_n_inputs(a), n_out = ifm_model_n_outputs(a);
    gboolean same = n_in == ifm_model_n_inputs(b) && n_out == ifm_model_n_outputs(b);
    for (gsize i = 0; i < n_in && same; i++)
        same = same_port(ifm_model_input(a, i), ifm_model_input(b, i));
    for (gsize i = 0; i < n_out && same; i++)
        same = same_port(ifm_model_output(a, i), ifm_model_output(b, i));
    return same;
}

/* All that a file has; where nothing is generated, one. */
static gsize count_samples(const IfmProfilePlan *plan, const IfmCompareOptions *options)
{
    const gsize n_given = plan->source.feed.given != NULL ? plan->source.feed.given->len : 0;
    return plan->source.feed.n_samples > 0                     ? (gsize)plan->source.feed.n_samples
           : n_given >= ifm_model_n_inputs(plan->source.model) ? 1
                                                               : (gsize)options->samples;
}

/* Outputs that are made of other inputs are not compared. NULL: they can be. */
static const char *why_no_accuracy(const Plans *plans)
{
    const IfmModel *a = plans->of[0]->source.model, *b = plans->of[1]->source.model;
    if (ifm_model_n_inputs(a) != ifm_model_n_inputs(b) || ifm_model_n_outputs(a) != ifm_model_n_outputs(b))
        return "the models have different numbers of inputs or outputs";
    for (gsize i = 0; i < ifm_model_n_inputs(a); i++)
        if (g_strcmp0(ifm_model_input(a, i)->name, ifm_model_input(b, i)->name) != 0)
            return "the inputs of the models have different names";
    return NULL;
}

/* What was said for both, and what for one. */
static const char *const *joined(IfmProfilePlan *plan, const char *const *both, const char *const *own)
{
    GPtrArray *texts = g_ptr_array_new();
    const char *const *lists[] = { both, own };
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
        for (const char *const *text = lists[i]; text != NULL && *text != NULL; text++)
            g_ptr_array_add(texts, (gpointer)*text);
    g_ptr_array_add(texts, NULL);
    g_ptr_array_add(plan->owned, g_ptr_array_free(texts, FALSE));
    return g_ptr_array_index(plan->owned, plan->owned->len - 1);
}

static gboolean read_side(const IfmCompareOptions *options, gsize i, Plans *plans, IfmCompareSide *side, GError **error)
{
    static const char *const names[] = { "A", "B" };
    static const char *const device_options[] = { "a-device", "b-device" };
    static const char *const runtime_options[] = { "--a-runtime", "--b-runtime" };
    gboolean own_device = options->device_of[i] != NULL;
    const char *const devices[] = { own_device ? options->device_of[i] : options->device, NULL };
    IfmProfileOptions usual;
    ifm_profile_options_init(&usual);
    IfmProfilePlan *plan = plans->of[i] = ifm_profile_plan_new(&usual);
    IfmProfileOptions *of_side = &plan->options;
    of_side->model = options->models[i];
    of_side->devices = joined(plan, devices, NULL);
    of_side->open = options->open;
    of_side->open.dims = joined(plan, options->open.dims, options->dims_of[i]);
    of_side->vendor = joined(plan, options->vendor, options->vendor_of[i]);
    of_side->dtype = options->dtype_of[i] != NULL ? options->dtype_of[i] : options->dtype;
    of_side->threads = options->threads_of[i] != IFM_OPTION_UNSET ? options->threads_of[i] : options->threads;
    of_side->open.samples = TRUE;
    of_side->open.inputs = joined(plan, options->open.inputs, options->inputs_of[i]);
    of_side->seed = options->seed;
    of_side->no_verify = options->no_verify;
    of_side->output = options->output;
    of_side->watch = options->watch;
    *side = (IfmCompareSide){ &ifm_kind_model, &plan->base, options->runtime_of[i], runtime_options[i] };
    return profile_plan_init_side(plan, names[i], own_device ? device_options[i] : "device", error);
}

static gboolean read_sides(const IfmCompareOptions *options, Plans *plans, IfmCompareSide sides[2], GError **error)
{
    if (!read_side(options, 0, plans, &sides[0], error) || !read_side(options, 1, plans, &sides[1], error))
        return FALSE;
    if (are_the_same(plans, sides))
        profile_note(options->watch, "A and B are one and the same: what differs is chance");
    if (!are_versions(plans->of[0]->source.model, plans->of[1]->source.model))
        profile_note(options->watch, "A and B are different models: their inputs or outputs are not the same");
    return TRUE;
}

/* --- all of it ---------------------------------------------------------------------------------------------------------
 */

static IfmCompareProtocol protocol_of(const IfmCompareOptions *options)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.margin = options->margin;
    protocol.time_budget_ns = options->time_budget_ns;
    protocol.max_pairs = (gsize)options->max_pairs;
    protocol.min_pairs = MIN(protocol.min_pairs, protocol.max_pairs);
    protocol.rounds = (gsize)options->rounds;
    return protocol;
}

/* Comparing: one item of a campaign. What its records are is known only once it is measured: a side may have a runtime of
 * its own. */
typedef struct
{
    const IfmCompareOptions *options;
    const IfmCompareSide *sides;
    IfmAccuracyOptions accuracy;
    const char *why_no_accuracy; /* NULL: there is some */
    IfmComparison *comparison;
} Comparing;

/* How near B comes to A, beside how fast it is: into the comparison, and into what is stored of it. */
static gboolean measure_accuracy(IfmRunner *runner, const Comparing *comparing, GError **error)
{
    IfmComparison *comparison = comparing->comparison;
    if (comparing->options->no_accuracy)
        return TRUE;
    if (comparing->why_no_accuracy != NULL)
        comparison->accuracy = json_pack("{s:s}", "why", comparing->why_no_accuracy);
    else
        comparison->accuracy = ifm_runner_accuracy(runner, comparing->sides, &comparing->accuracy, error);
    for (gsize side = 0; side < 2 && comparison->accuracy != NULL; side++)
        json_object_set(json_object_get(comparison->measurements[side]->result, "comparison"), "accuracy",
                        comparison->accuracy);
    return comparison->accuracy != NULL;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    const Comparing *comparing = item->tag;
    const IfmCompareProtocol protocol = protocol_of(comparing->options);
    IfmComparison *comparison = comparing->comparison;
    if (!ifm_runner_compare(ifm_campaign_runner(campaign), comparing->sides, &protocol, (guint32)comparing->options->seed,
                            comparison, error))
        return FALSE;
    g_autoptr(GError) trouble = NULL;
    if (!measure_accuracy(ifm_campaign_runner(campaign), comparing, &trouble)) /* interrupted: the times stand */
        comparison->accuracy = json_pack("{s:o}", "why", ifm_json_string(trouble != NULL ? trouble->message : "unknown"));
    for (gsize side = 0; side < 2; side++)
    {
        cases[side] = g_steal_pointer(&comparison->cases[side]);
        measurements[side] = g_steal_pointer(&comparison->measurements[side]);
    }
    return TRUE;
}

static gboolean on_after(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    const Comparing *comparing = item->tag;
    IfmComparison *comparison = comparing->comparison;
    gboolean compared = end->measurements != NULL;
    for (gsize side = 0; side < 2 && compared; side++)
    {
        comparison->cases[side] = g_steal_pointer(&end->cases[side]);
        comparison->measurements[side] = g_steal_pointer(&end->measurements[side]);
    }
    profile_report(comparing->options->watch,
                   &(IfmProgress){ .outcome = compared ? ifm_verdict_name(comparison->verdict) : "failed" });
    if (!compared)
        g_propagate_error(error, g_error_copy(end->error));
    return compared;
}

static gboolean compare_sides(IfmStore *store, Comparing *comparing, const gint *interrupted, GError **error)
{
    static const IfmItemKind both = { .measure = measure };
    const IfmCompareOptions *options = comparing->options;
    const IfmLimits usual = IFM_LIMITS_INIT;
    const IfmCampaignOptions campaign_options = { .limits = ifm_limits_with(&usual, &options->protocol),
                                                  .interrupted = interrupted,
                                                  .keep_partial = TRUE,
                                                  .after = on_after,
                                                  .progress = profile_on_progress,
                                                  .user = (gpointer)options->watch };
    const IfmCampaignItem item = { .title = "A and B", .tag = comparing, .own = &both };
    g_autoptr(GError) trouble = NULL;
    g_autoptr(IfmCampaign) campaign = ifm_campaign_new(store, &campaign_options);
    profile_report(options->watch, &(IfmProgress){ .n_cases = 1, .title = item.title, .target_ci_ratio = options->margin });
    ifm_campaign_add(campaign, &item);
    if (ifm_campaign_run(campaign, &trouble) ||
        (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED) && comparing->comparison->measurements[1] != NULL))
        return TRUE; /* interrupted, it reports what it has */
    return ifm_error_pass(error, g_steal_pointer(&trouble));
}

gboolean ifm_compare_models(const IfmCompareOptions *options, const gint *interrupted, IfmComparison *comparison,
                            GError **error)
{
    g_auto(Plans) plans = { 0 };
    IfmCompareSide sides[2] = { 0 };
    if (options->models[0] == NULL || options->models[1] == NULL)
        return ifm_error_misuse(error, "needs A and B: files, or names of the zoo");
    if (!ifm_options_check(ifm_compare_options, options, error) || !read_sides(options, &plans, sides, error))
        return FALSE;
    g_autofree char *path = g_build_filename(options->output, "store.db", NULL);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, error);
    Comparing comparing = { .options = options, .sides = sides, .comparison = comparison };
    comparing.accuracy = (IfmAccuracyOptions){ .n = count_samples(plans.of[0], options),
                                               .samples_path = plans.of[0]->source.samples_path,
                                               .layers = !same_model(&plans),
                                               .layer_loss_db = (double)options->layer_loss };
    comparing.why_no_accuracy = why_no_accuracy(&plans);
    if (store != NULL && compare_sides(store, &comparing, interrupted, error))
        return TRUE;
    ifm_comparison_clear(comparison);
    return FALSE;
}
