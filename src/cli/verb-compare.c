#include <string.h>
#include <unistd.h>

#include <inferometer/compare-page.h>

#include "profile.h"
#include "protocol.h"

#define DEFAULT_DEVICE "onnxruntime:CPU"

/* --- what is compared ------------------------------------------------------------------------------------------------- */

/* Plans: A's and B's. */
typedef struct
{
    ProfilePlan of[2];
} Plans;

static void plans_clear(Plans *plans)
{
    profile_plan_clear(&plans->of[0]);
    profile_plan_clear(&plans->of[1]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Plans, plans_clear)

static IfmCompareProtocol protocol_of(const Arguments *arguments)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.margin = cli_ratio(arguments, "margin");
    protocol.time_budget_ns = cli_integer(arguments, "time-budget");
    protocol.most_pairs = (gsize)cli_integer(arguments, "most-pairs");
    protocol.rounds = (gsize)cli_integer(arguments, "rounds");
    return protocol;
}

static gboolean same_words(const char *const *a, const char *const *b)
{
    static const char *const none[] = { NULL };
    return g_strv_equal(a != NULL ? a : none, b != NULL ? b : none);
}

/* Whether chance is all that tells them apart: what such a comparison shows is what the rule is worth here. */
static gboolean are_the_same(const Plans *plans, const IfmCompareSide sides[2])
{
    const IfmModelCase *a = &sides[0].model_case, *b = &sides[1].model_case;
    const char *digest_a = ifm_model_digest(plans->of[0].model, NULL),
               *digest_b = ifm_model_digest(plans->of[1].model, NULL);
    gboolean same_dims = a->n_bindings == b->n_bindings;
    for (gsize i = 0; i < a->n_bindings && same_dims; i++)
        same_dims = g_str_equal(a->bindings[i].name, b->bindings[i].name) && a->bindings[i].value == b->bindings[i].value;
    return g_strcmp0(digest_a, digest_b) == 0 && same_dims && g_str_equal(a->device, b->device) && a->dtype == b->dtype &&
           a->threads == b->threads && same_words(a->vendor, b->vendor) &&
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

static int read_sides(const Arguments *arguments, Plans *plans, IfmCompareSide sides[2], const char *out)
{
    static const char *const letters[] = { "a", "b" };
    static const char *const runtimes[] = { "a-runtime", "b-runtime" };
    static const char *const said[] = { "--a-runtime", "--b-runtime" };
    for (gsize i = 0; i < 2; i++)
    {
        int status = profile_plan_init_side(&plans->of[i], arguments, letters[i], cli_positional(arguments)[i], out);
        if (status != CLI_EXIT_OK)
            return status;
        sides[i].model_case = profile_plan_case(&plans->of[i], plans->of[i].targets->pdata[0]);
        sides[i].runtime = cli_text(arguments, runtimes[i]);
        sides[i].runtime_said = said[i];
    }
    if (are_the_same(plans, sides))
        cli_note("A and B are one and the same: what differs is chance");
    if (!are_versions(plans->of[0].model, plans->of[1].model))
        cli_note("A and B are different models: their inputs or outputs are not the same");
    return CLI_EXIT_OK;
}

/* --- telling -------------------------------------------------------------------------------------------------------- */

static int write_comparison(const Arguments *arguments, const IfmComparison *comparison)
{
    const char *json_path = cli_text(arguments, "json"), *csv_path = cli_text(arguments, "csv");
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = ifm_comparison_document(comparison);
        status = cli_write_json(json_path, json);
    }
    if (csv_path != NULL && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = ifm_comparison_to_csv(comparison);
        status = cli_write(csv_path, csv);
    }
    if (g_strcmp0(json_path, "-") == 0 || g_strcmp0(csv_path, "-") == 0)
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = ifm_comparison_to_screen(comparison, &screen);
    int printed = cli_print(text);
    return status != CLI_EXIT_OK ? status : printed;
}

static gboolean store_comparison(IfmStore *store, const IfmComparison *comparison, GError **error)
{
    for (gsize side = 0; side < 2; side++)
        if (!ifm_store_commit(store, comparison->cases[side], comparison->measurements[side], error))
            return FALSE;
    return TRUE;
}

/* --- all of it ------------------------------------------------------------------------------------------------------ */

static int compare_sides(const Arguments *arguments, const IfmCompareSide sides[2], IfmStore *store)
{
    IfmCompareProtocol protocol = protocol_of(arguments);
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    g_autoptr(Progress) progress = progress_new(1, cli_given(arguments, "quiet"));
    IfmRunnerOptions options = { .limits = { .hang_ns = cli_integer(arguments, "timeout"),
                                             .memory_bytes = cli_integer(arguments, "memory-limit") },
                                 .interrupted = cli_interrupt_install(),
                                 .progress = progress_update,
                                 .progress_user = progress };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    progress_begin(progress, "A and B", 0, protocol.margin);
    gboolean compared =
        ifm_runner_compare(runner, sides, &protocol, (guint32)cli_integer(arguments, "seed"), &comparison, &error);
    progress_end(progress, compared ? ifm_verdict_name(comparison.verdict) : "failed");
    int number = cli_interrupt_signal();
    if (!compared && number != 0)
    {
        cli_complain("interrupted before there was anything to tell");
        return CLI_EXIT_SIGNAL + number;
    }
    if (!compared || !store_comparison(store, &comparison, &error))
        return cli_fail(error);
    int status = write_comparison(arguments, &comparison);
    if (number == 0)
        return status;
    cli_complain("interrupted: this is what %" G_GSIZE_FORMAT " whole pair%s of processes showed until then",
                 comparison.n_pairs, comparison.n_pairs == 1 ? "" : "s");
    return CLI_EXIT_SIGNAL + number;
}

static int run_compare(const Arguments *arguments)
{
    const char *out = cli_text(arguments, "output");
    g_autofree char *store_path = g_build_filename(out, "store.db", NULL);
    g_autoptr(GError) error = NULL;
    g_auto(Plans) plans = { 0 };
    IfmCompareSide sides[2] = { 0 };
    int status = cli_check_outputs(arguments, (const char *const[]){ "json", "csv", NULL });
    if (status != CLI_EXIT_OK || (status = read_sides(arguments, &plans, sides, out)) != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmStore) store = ifm_store_open(store_path, IFM_STORE_WRITE, &error);
    return store != NULL ? compare_sides(arguments, sides, store) : cli_fail(error);
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static const char *const dtypes[] = { "f32", "f16", "bf16", NULL };

static const Option compare_options[] = {
    { "device", 'd', OPTION_TEXT, FALSE, "DEVICE", "what both run on, ENGINE:UNIT[:INDEX][@CORES][#STREAMS]",
      DEFAULT_DEVICE },
    { "a-device", 0, OPTION_TEXT, FALSE, "DEVICE", "what A runs on" },
    { "b-device", 0, OPTION_TEXT, FALSE, "DEVICE", "what B runs on" },
    { "dim", 0, OPTION_TEXT, TRUE, "NAME=SIZE", "size of a free dimension of both, such as N=8" },
    { "a-dim", 0, OPTION_TEXT, TRUE, "NAME=SIZE", "of A alone" },
    { "b-dim", 0, OPTION_TEXT, TRUE, "NAME=SIZE", "of B alone" },
    { "dtype", 0, OPTION_TEXT, FALSE, "DTYPE", "precision to compute in: f32, f16 or bf16", "f32", dtypes },
    { "a-dtype", 0, OPTION_TEXT, FALSE, "DTYPE", "A's precision", NULL, dtypes },
    { "b-dtype", 0, OPTION_TEXT, FALSE, "DTYPE", "B's precision", NULL, dtypes },
    { "threads", 't', OPTION_COUNT, FALSE, "N", "threads of the runtime; 0: as many as the device has cores", "0",
      .most = 4096 },
    { "a-threads", 0, OPTION_COUNT, FALSE, "N", "A's threads", .most = 4096 },
    { "b-threads", 0, OPTION_COUNT, FALSE, "N", "B's threads", .most = 4096 },
    { "option", 0, OPTION_TEXT, TRUE, "[ENGINE:]KEY=VALUE", "a setting of both, in the runtime's own words" },
    { "a-option", 0, OPTION_TEXT, TRUE, "KEY=VALUE", "of A alone" },
    { "b-option", 0, OPTION_TEXT, TRUE, "KEY=VALUE", "of B alone" },
    { "a-runtime", 0, OPTION_FILE, FALSE, "LIBRARY", "A's runtime: the library of another version" },
    { "b-runtime", 0, OPTION_FILE, FALSE, "LIBRARY", "B's runtime" },
    { "margin", 0, OPTION_RATIO, FALSE, "PERCENT", "a difference within this is none", "1%" },
    { "time-budget", 0, OPTION_DURATION, FALSE, "TIME", "the most time for it; 0: no limit", "30s" },
    { "most-pairs", 0, OPTION_COUNT, FALSE, "N", "the most pairs of processes to make", "200", .least = 5, .most = 10000 },
    { "rounds", 0, OPTION_COUNT, FALSE, "N", "rounds in each pair; 0: as many as take as long as making it", "0",
      .most = 10000 },
    { "seed", 0, OPTION_COUNT, FALSE, "N", "seed of the inputs, of a zoo model's weights, and of who begins", "1",
      .most = G_MAXUINT32 },
    { "no-verify", 0, OPTION_FLAG, FALSE, NULL, "do not compare the outputs with those of the reference" },
    ROW_TIMEOUT("60s"),
    ROW_MEMORY_LIMIT("0"),
    { "json", 0, OPTION_FILE, FALSE, "FILE", "write everything as JSON, samples included; - is standard output" },
    { "csv", 0, OPTION_FILE, FALSE, "FILE", "write a row a round as CSV; - is standard output" },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the store (store.db) and of the zoo's models", "out/compare" },
    { NULL },
};

static const char *const compare_examples[] = {
    "inferometer compare old.onnx new.onnx -d openvino:CPU@0",
    "says whether the new model is faster",
    "inferometer compare model.onnx model.onnx --a-device onnxruntime:CPU --b-device openvino:CPU",
    "compares two runtimes",
    "inferometer compare model.onnx model.onnx --b-runtime ./libonnxruntime.so.1.24.1",
    "compares two versions of a runtime",
    NULL,
};

const Verb verb_compare = {
    .name = "compare",
    .summary = "say whether one of two is faster, the same, or not to be told apart",
    .arguments = "A B",
    .least = 2,
    .most = 2,
    .positional = POSITIONAL_FILE,
    .options = compare_options,
    .details =
        "A and B are models as profile takes them: ONNX files, or names of the zoo. They may be the same one with "
        "different devices, settings or runtimes; the options that begin with a- and b- are for one of them.\n"
        "Each runs in a process of its own, a few runs of the one, then of the other, in an order that is drawn. Processes "
        "are made anew again and again, since two of the very same thing differ, too; each pair of processes counts as one "
        "observation.\n"
        "The verdict is faster or slower (B than A) where the whole interval of the ratio lies on one side of 1, same "
        "where "
        "all of it is within the margin, and else uncertain, with the reason and what would settle it. Of comparisons of a "
        "thing with itself, at most 5 % end in faster or slower, whenever it stops.\n"
        "What was measured of both is stored. The exit status is 0 whatever the verdict, and 3 or 4 where the input is "
        "wrong "
        "or something is missing.",
    .examples = compare_examples,
    .run = run_compare,
};
