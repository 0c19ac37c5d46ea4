/*
 * A profile, an estimate and a comparison from C: what the options refuse, what is there before anything is measured, and
 * what is there after it.
 */
#include <math.h>

#include <gradient/gradient.h>
#include <inferometer/compare.h>
#include <profile/profile.h>
#include <store/store.h>

#include "document/summary-line.h"
#include "folder.h"

/* Place: a folder for the results, and what was said meanwhile. */
typedef struct
{
    char *folder;
    GString *said; /* "note …", "3 cases", "begin NAME", "end OUTCOME", a line each */
    gboolean accepts;
    IfmProfileWatch watch;
} Place;

static void on_note(const char *message, void *user)
{
    g_string_append_printf(((Place *)user)->said, "note %s\n", message);
}

static void on_progress(const IfmProgress *now, void *user)
{
    GString *said = ((Place *)user)->said;
    if (now->n_cases > 0)
        g_string_append_printf(said, "%" G_GSIZE_FORMAT " cases\n", now->n_cases);
    if (now->outcome != NULL)
        g_string_append_printf(said, "end %s\n", now->outcome);
    else if (now->title != NULL && now->phase == NULL)
        g_string_append_printf(said, "%s %s %" G_GSIZE_FORMAT "\n", now->again ? "again" : "begin", now->title, now->runs);
}

static gboolean on_model(const IfmModel *model, void *user, GError **error)
{
    return ((Place *)user)->accepts || ifm_error_misuse(error, "not this one");
}

static void place_set_up(Place *place, gconstpointer data)
{
    place->folder = g_dir_make_tmp("ifm-profile-XXXXXX", NULL);
    g_assert_nonnull(place->folder);
    place->said = g_string_new(NULL);
    place->accepts = TRUE;
    place->watch = (IfmProfileWatch){ on_note, on_progress, on_model, place };
}

static void place_tear_down(Place *place, gconstpointer data)
{
    remove_tree(place->folder);
    g_free(place->folder);
    g_string_free(place->said, TRUE);
}

static const char *const one_device[] = { "simulated:ideal/CPU", NULL };

static IfmProfileOptions options_of(const Place *place, const char *model)
{
    IfmProfileOptions options;
    ifm_profile_options_init(&options);
    options.model = model;
    options.devices = one_device;
    options.protocol.runs = 3;
    options.no_peak = TRUE;
    options.output = place->folder;
    options.watch = &place->watch;
    return options;
}

/* --- refusals -----------------------------------------------------------------------------------------------------------
 */

static void check_refused(const IfmProfileOptions *options, int code, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmProfile) profile = ifm_profile_new(options, &error);
    g_assert_null(profile);
    g_assert_error(error, IFM_ERROR, code);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_refusals(Place *place, gconstpointer data)
{
#define REFUSED(model, code, message, ...)                                                                                 \
    {                                                                                                                      \
        IfmProfileOptions options = options_of(place, model);                                                              \
        __VA_ARGS__;                                                                                                       \
        check_refused(&options, code, message);                                                                            \
    }
    static const char *const twice[] = { "simulated:ideal/CPU", "simulated:ideal/CPU", NULL };
    static const char *const nobody[] = { "nobody:CPU", NULL };
    static const char *const two_lists[] = { "m=2,4", "n=2,4", NULL };
    static const char *const descending[] = { "m=4,2", NULL };
    REFUSED(NULL, IFM_ERROR_USAGE, "needs MODEL: a file, or a name of the zoo");
    REFUSED("matmul", IFM_ERROR_USAGE, "--mode: \"7\" is none of forward, backward, train", options.mode = 7);
    REFUSED("matmul", IFM_ERROR_USAGE, "--threads: \"-3\" is not a whole number from 0 to 4096", options.threads = -3);
    REFUSED("matmul", IFM_ERROR_USAGE, "--dtype: \"f8\" is none of f32, f16, bf16", options.dtype = "f8");
    REFUSED("matmul", IFM_ERROR_USAGE,
            "--profile: \"flop\" is none of runtime, memory, flops, layers, scaling, pe; did you "
            "mean \"flops\"?",
            options.parts = "flop");
    REFUSED("matmul", IFM_ERROR_USAGE, "--profile flops is of the model alone: no device is run for it",
            options.parts = "flops");
    REFUSED("matmul", IFM_ERROR_USAGE, "--device simulated:ideal/CPU: given twice", options.devices = twice);
    REFUSED("matmul", IFM_ERROR_USAGE, "--ci and --runs: one of them, not both", options.protocol.ci_ratio = 0.01);
    REFUSED("matmul", IFM_ERROR_USAGE, "--learning-rate: only a training step has one: --mode train",
            options.learning_rate = "1");
    REFUSED("matmul", IFM_ERROR_USAGE, "--learning-rate: \"-1\" is not a number above 0",
            (options.mode = IFM_PASS_STEP, options.learning_rate = "-1"));
    REFUSED("matmul", IFM_ERROR_USAGE, "--dim m=2,4 and --dim n=2,4: one dimension at a time has a list of sizes",
            options.open.dims = two_lists);
    REFUSED("matmul", IFM_ERROR_USAGE, "--dim m=4,2: 2 is not above 4: the sizes of a list ascend",
            options.open.dims = descending);
    REFUSED("matmul", IFM_ERROR_USAGE,
            "--hidden-dim is of graph transformers: it goes with --estimate, "
            "graph_transformer or gps",
            options.graph.hidden_dim = 8);
    REFUSED("gps", IFM_ERROR_USAGE, "--hidden-dim: \"0\" is not a whole number of at least 1",
            options.graph.hidden_dim = 0);
    REFUSED("gps,hidden_dim=8", IFM_ERROR_USAGE, "--hidden-dim: is given with the model's name, too",
            options.graph.hidden_dim = 8);
    REFUSED("gps,hidden_dim=x", IFM_ERROR_INVALID, "zoo: gps: --hidden-dim: \"x\" is not a whole number of at least 1");
    REFUSED("gps", IFM_ERROR_USAGE, "--scaling: nodes is given twice", options.scaling = "nodes,nodes");
    REFUSED("matmul", IFM_ERROR_USAGE, "not this one", place->accepts = FALSE);
    place->accepts = TRUE;
    {
        IfmProfileOptions options = options_of(place, "matmul");
        g_autoptr(GError) error = NULL;
        options.devices = nobody;
        g_assert_null(ifm_profile_new(&options, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_true(g_str_has_prefix(error->message, "--device nobody:CPU: "));
    }
#undef REFUSED
}

/* A row's choices are an enumeration's words, in its order. */
static void test_words(Place *place, gconstpointer data)
{
    const struct
    {
        const IfmOption *table;
        const char *name;
        const char *const *words;
    } rows[] = {
        { ifm_profile_options, "loss", ifm_loss_words() },
        { ifm_profile_options, "optimiser", ifm_optimiser_words() },
        { ifm_graph_options, "mpnn", ifm_message_passing_words() },
        { ifm_graph_options, "attention", ifm_attention_words() },
        { ifm_graph_options, "norm", ifm_norm_words() },
        { ifm_graph_options, "head", ifm_head_words() },
        { ifm_graph_options, "scatter", ifm_transformer_scatter_words() },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const IfmOption *row = rows[i].table;
        while (!g_str_equal(row->name, rows[i].name))
            row++;
        g_assert_true(g_strv_equal(row->choices, rows[i].words));
    }
}

/* --- one model
 * ------------------------------------------------------------------------------------------------------------ */

static IfmProfile *measured(const IfmProfileOptions *options)
{
    g_autoptr(GError) error = NULL;
    IfmProfile *profile = ifm_profile_new(options, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_profile_measure(profile, NULL, &error));
    g_assert_no_error(error);
    return profile;
}

static void assert_all_good(const IfmProfile *profile)
{
    int code = -1;
    g_auto(GStrv) lines = ifm_profile_failures(profile, &code);
    g_assert_cmpuint(g_strv_length(lines), ==, 0);
    g_assert_cmpint(code, ==, 0);
    g_assert_false(ifm_profile_is_empty(profile));
}

static void test_one_model(Place *place, gconstpointer data)
{
    IfmProfileOptions options = options_of(place, "matmul,m=8");
    gsize n_rows = 1;
    g_autoptr(IfmProfile) profile = measured(&options);
    assert_all_good(profile);
    ifm_profile_rows(profile, &n_rows);
    g_assert_cmpuint(n_rows, ==, 0);
    const IfmProfileReport *report = ifm_profile_report(profile);
    g_assert_cmpstr(report->source, ==, "zoo:matmul,m=8");
    g_assert_cmpuint(report->n_devices, ==, 1);
    g_assert_null(report->mode);
    g_assert_nonnull(ifm_result_measured(&report->devices[0].result));
    g_assert_false(report->devices[0].result.resumed);
    g_assert_cmpstr(place->said->str, ==, "1 cases\nbegin simulated:ideal/CPU 3\nend ok\n");
    g_string_set_size(place->said, 0);
    options.resume = TRUE;
    g_autoptr(IfmProfile) again = measured(&options);
    g_assert_true(ifm_profile_report(again)->devices[0].result.resumed);
    g_autofree char *note =
        g_strdup_printf("1 cases\nnote simulated:ideal/CPU: measured before, taken from %s/store.db\n", place->folder);
    g_assert_cmpstr(place->said->str, ==, note);
    /* An empty list of devices is as no list, which counting FLOP alone needs. */
    static const char *const none[] = { NULL };
    options.devices = none;
    options.parts = "flops";
    g_autoptr(IfmProfile) counted = measured(&options);
    g_assert_cmpuint(ifm_profile_report(counted)->n_devices, ==, 0);
}

/* What needs a device then takes the usual one. */
static void test_no_device(Place *place, gconstpointer data)
{
    static const char *const none[] = { NULL };
    IfmProfileOptions options = options_of(place, "matmul,m=8");
    int code = 0;
    options.devices = none;
    options.parts = "runtime";
    g_autoptr(IfmProfile) usual = measured(&options);
    const IfmProfileReport *report = ifm_profile_report(usual);
    g_assert_cmpuint(report->n_devices, ==, 1);
    g_assert_cmpstr(report->devices[0].result.device, ==, "onnxruntime:CPU");
    g_assert_nonnull(strstr(place->said->str, "note no --device given: measuring on onnxruntime:CPU"));
    g_auto(GStrv) lines = ifm_profile_failures(usual, &code); /* where that runtime is missing, it says so */
    g_assert_true((ifm_result_measured(&report->devices[0].result) != NULL) == (g_strv_length(lines) == 0));
}

static void test_training(Place *place, gconstpointer data)
{
    IfmProfileOptions options = options_of(place, "matmul,m=8");
    options.mode = IFM_PASS_STEP;
    options.optimiser = IFM_OPTIMISER_MOMENTUM;
    g_autoptr(IfmProfile) profile = measured(&options);
    assert_all_good(profile);
    const IfmProfileMode *mode = ifm_profile_report(profile)->mode;
    g_assert_nonnull(mode);
    g_assert_cmpint(mode->asked, ==, IFM_PASS_STEP);
    g_assert_cmpstr(mode->optimiser, ==, "momentum");
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        g_assert_nonnull(mode->passes[kind]);
        g_assert_nonnull(ifm_result_measured(&mode->passes[kind]->devices[0].result));
    }
    json_auto_t *json = ifm_profile_to_json(ifm_profile_report(profile));
    g_assert_cmpuint(json_array_size(json_object_get(json, "cases")), ==, 3);
}

static void test_failures(Place *place, gconstpointer data)
{
    static const char *const devices[] = { "A=simulated:ideal/CPU", "B=simulated:ideal/NOSUCH", NULL };
    IfmProfileOptions options = options_of(place, "matmul,m=8");
    int code = 0;
    options.devices = devices;
    g_autoptr(IfmProfile) profile = measured(&options);
    g_auto(GStrv) lines = ifm_profile_failures(profile, &code);
    g_assert_cmpint(code, ==, IFM_ERROR_FAILED);
    g_assert_cmpuint(g_strv_length(lines), ==, 1);
    g_assert_cmpstr(lines[0], ==, "1 of 2 devices failed");
    options.devices = devices + 1;
    g_autoptr(IfmProfile) none = measured(&options);
    g_auto(GStrv) all = ifm_profile_failures(none, &code);
    g_assert_cmpint(code, ==, IFM_ERROR_UNAVAILABLE);
    g_assert_true(ifm_profile_is_empty(none));
    g_assert_cmpuint(g_strv_length(all), ==, 1);
}

static void test_interrupted(Place *place, gconstpointer data)
{
    const gint now = 1;
    const IfmProfileOptions options = options_of(place, "matmul,m=8");
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmProfile) profile = ifm_profile_new(&options, &error);
    int code = 0;
    g_assert_true(ifm_profile_measure(profile, &now, &error));
    g_auto(GStrv) lines = ifm_profile_failures(profile, &code);
    g_assert_cmpint(code, ==, IFM_ERROR_CANCELLED);
    g_assert_cmpstr(lines[0], ==, "interrupted: 1 of 1 devices were not measured; --resume measures what is missing");
}

static void test_no_store(Place *place, gconstpointer data)
{
    IfmProfileOptions options = options_of(place, "matmul,m=8");
    g_autoptr(GError) error = NULL;
    g_autofree char *store = g_build_filename(place->folder, "store.db", NULL);
    g_assert_true(g_file_set_contents(store, "no store", -1, NULL));
    g_autoptr(IfmProfile) profile = ifm_profile_new(&options, &error);
    g_assert_no_error(error);
    g_assert_false(ifm_profile_measure(profile, NULL, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, store));
}

/* --- rows of models
 * ------------------------------------------------------------------------------------------------------- */

static void test_sizes(Place *place, gconstpointer data)
{
    static const char *const sizes[] = { "m=2,4,8", NULL };
    IfmProfileOptions options = options_of(place, "matmul");
    gsize n_rows = 0;
    options.open.dims = sizes;
    g_autoptr(IfmProfile) profile = measured(&options);
    assert_all_good(profile);
    g_assert_null(ifm_profile_report(profile));
    const IfmScalingRow *rows = ifm_profile_rows(profile, &n_rows);
    g_assert_cmpuint(n_rows, ==, 1);
    g_assert_cmpstr(rows[0].axis, ==, "m");
    g_assert_cmpuint(rows[0].n, ==, 3);
    for (gsize i = 0; i < rows[0].n; i++)
    {
        g_autofree char *source = g_strdup_printf("zoo:matmul,m=%s", rows[0].values[i]);
        g_assert_null(rows[0].refusals[i]);
        g_assert_cmpstr(rows[0].reports[i].source, ==, source);
        g_assert_nonnull(ifm_result_measured(&rows[0].reports[i].devices[0].result));
    }
    g_assert_true(g_str_has_prefix(place->said->str, "3 cases\nnote 3 cases of 3 runs each are to be measured\n"
                                                     "begin m 2: simulated:ideal/CPU 3\nend ok\n"));
}

/* What the caller says of a graph transformer goes before a preset's settings; a point that contradicts it says why. */
static void test_scaling(Place *place, gconstpointer data)
{
    IfmProfileOptions options = options_of(place, "gps,num_layers=1");
    gsize n_rows = 0;
    options.devices = NULL;
    options.parts = "flops";
    options.scaling = "heads";
    options.graph.hidden_dim = 6;
    options.graph.num_nodes = 20;
    options.graph.num_heads = 3;
    const IfmGraphOptions before = options.graph;
    g_autoptr(IfmProfile) profile = measured(&options);
    g_assert_cmpint(memcmp(&before, &options.graph, sizeof before), ==, 0);
    const IfmScalingRow *rows = ifm_profile_rows(profile, &n_rows);
    g_assert_cmpuint(n_rows, ==, 1);
    g_assert_cmpuint(rows[0].n, ==, 4); /* 1, 2, 4, 8 heads of a layer that is 6 wide */
    for (gsize i = 0; i < rows[0].n; i++)
        g_assert_cmpint(rows[0].refusals[i] == NULL, ==, i < 2);
    g_assert_cmpstr(rows[0].reports[1].source, ==, "zoo:gps,num_nodes=20,hidden_dim=6,num_layers=1,num_heads=2");
    g_assert_cmpint(rows[0].reports[1].graph->transformer->sizes.num_heads, ==, 2);
    g_assert_cmpstr(ifm_profile_report(profile)->source, ==, "zoo:gps,num_nodes=20,hidden_dim=6,num_layers=1,num_heads=3");
    int code = 0;
    g_auto(GStrv) lines = ifm_profile_failures(profile, &code);
    g_assert_cmpint(code, ==, IFM_ERROR_FAILED);
    g_assert_cmpstr(lines[0], ==, "2 of 4 points have no model");
}

/* --- estimates, comparisons
 * ----------------------------------------------------------------------------------------------- */

static void test_estimate(Place *place, gconstpointer data)
{
    g_auto(IfmEstimateAnswer) answer = { 0 }, wrong = { 0 };
    g_autoptr(GError) error = NULL;
    IfmGraphOptions said;
    IfmEstimate expected;
    ifm_options_init(ifm_graph_options, &said);
    said.num_nodes = 10;
    said.hidden_dim = 8;
    said.ffn_dim = 24;
    g_assert_true(ifm_profile_estimate(IFM_PROFILE_ESTIMATE_FFN, &said, 1, &answer, &error));
    g_assert_true(ifm_estimate_feed_forward(10, 8, 24, &expected, NULL));
    g_assert_cmpuint(answer.lines->len, ==, 1);
    g_assert_cmpint(g_array_index(answer.lines, IfmEstimateLine, 0).estimate.flop, ==, expected.flop);
    json_auto_t *json = ifm_estimate_answer_to_json(&answer);
    g_assert_cmpstr(json_string_value(json_object_get(json, "estimate")), ==, "ffn");
    g_autofree char *line = summary_line(ifm_estimate_answer_document(&answer));
    assert_line(line,
                (const char *const[]){
                    "The ffn of these sizes needs ", "unchecked no model was made",
                    "Measure a transformer of these sizes (): inferometer profile graph_transformer --num-nodes ", NULL });
    said.num_edges = 3;
    g_assert_false(ifm_profile_estimate(IFM_PROFILE_ESTIMATE_FFN, &said, 1, &wrong, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
    g_assert_cmpstr(error->message, ==,
                    "--num-edges means nothing to --estimate ffn, which reads --num-nodes, --hidden-dim, --ffn-dim");
}

static void test_compare(Place *place, gconstpointer data)
{
    g_auto(IfmComparison) comparison = { 0 }, wrong = { 0 };
    g_autoptr(GError) error = NULL;
    IfmCompareOptions options;
    ifm_compare_options_init(&options);
    options.models[0] = options.models[1] = "matmul,m=8";
    options.device = "simulated:ideal/CPU";
    options.max_pairs = 6;
    options.rounds = 2;
    options.time_budget_ns = 0;
    options.output = place->folder;
    options.watch = &place->watch;
    g_assert_true(ifm_compare_models(&options, NULL, &comparison, &error));
    g_assert_no_error(error);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_SAME);
    g_assert_true(g_str_has_prefix(place->said->str, "note A and B are one and the same: what differs is chance\n"));
    options.device_of[1] = "nobody:CPU";
    g_assert_false(ifm_compare_models(&options, NULL, &wrong, &error));
    g_assert_true(g_str_has_prefix(error->message, "--b-device nobody:CPU: "));
    g_clear_error(&error);
    options.models[1] = NULL;
    g_assert_false(ifm_compare_models(&options, NULL, &wrong, &error));
    g_assert_cmpstr(error->message, ==, "needs A and B: files, or names of the zoo");
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *path;
        void (*test)(Place *place, gconstpointer data);
    } tests[] = {
        { "/profile-room/refusals", test_refusals },   { "/profile-room/words", test_words },
        { "/profile-room/one-model", test_one_model }, { "/profile-room/training", test_training },
        { "/profile-room/failures", test_failures },   { "/profile-room/interrupted", test_interrupted },
        { "/profile-room/no-store", test_no_store },   { "/profile-room/sizes", test_sizes },
        { "/profile-room/scaling", test_scaling },     { "/profile-room/estimate", test_estimate },
        { "/profile-room/compare", test_compare },     { "/profile-room/no-device", test_no_device },
    };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Place, NULL, place_set_up, tests[i].test, place_tear_down);
    return g_test_run();
}
