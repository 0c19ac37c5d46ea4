#include <base/base.h>
#include <engine/engine.h>

#include "cli/harness.h"

/* `inferometer profile graph_transformer`: the graph, the model for it, its parts, its encoding, and what is wrong. */

#define QUICK " -q --runs 3 --warmup 1 -d simulated:lab/FIXED"

/* profile: `profile ARGUMENTS` with its document. (transfer full) */
static json_t *profile(const Bench *bench, const char *arguments)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("profile %s --json -", arguments);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

static void refused(const Bench *bench, const char *arguments, int status, const char *part)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("profile %s", arguments);
    run_line(bench, line, &ended);
    assert_complaint(&ended, status, part);
    g_assert_cmpstr(ended.out, ==, "");
}

static const json_t *at(const json_t *json, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (char **key = keys; *key != NULL; key++)
    {
        json = g_ascii_isdigit(**key) ? json_array_get(json, (size_t)atoi(*key)) : json_object_get(json, *key);
        if (json == NULL)
            g_error("no \"%s\" on the way to \"%s\"", *key, path);
    }
    return json;
}

static double number_at(const json_t *json, const char *path)
{
    const json_t *found = at(json, path);
    if (!json_is_number(found))
        g_error("%s is no number", path);
    return json_number_value(found);
}

static const char *text_at(const json_t *json, const char *path)
{
    return json_string_value(at(json, path));
}

/* A page as one line, blanks as they come. (transfer full) */
static char *unwrapped(const char *page)
{
    g_autoptr(GRegex) blanks = g_regex_new("\\s+", 0, 0, NULL);
    return g_regex_replace_literal(blanks, page, -1, 0, " ", 0, NULL);
}

static void write_text(const Bench *bench, const char *name, const char *text)
{
    g_autofree char *path = bench_path(bench, name), *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0777), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Two graphs, a path of three nodes and a pair, two numbers a node. */
static void write_dataset(const Bench *bench)
{
    write_text(bench, "two/T_A.txt", "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n");
    write_text(bench, "two/T_graph_indicator.txt", "1\n1\n1\n2\n2\n");
    write_text(bench, "two/T_node_attributes.txt", "1, 2\n3, 4\n5, 6\n7, 8\n9, 10\n");
}

/* --- parts -------------------------------------------------------------------------------------------------------------
 */

#define TINY "graph_transformer --num-nodes 6 --avg-degree 2 --feature-dim 4 --hidden-dim 8 --num-heads 2 --num-layers 1"

/* Counted by hand, n = 6, d = 8, h = 2, f = 16, 4 features: a matrix product is 2 n i o, a bias n o, GELU 4, softmax and a
 * normalisation 5 an element. */
static void test_parts(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *part;
        int flop;
    } known[] = {
        { "input", 2 * 6 * 4 * 8 + 6 * 8 },
        { "attention", 4 * (2 * 6 * 8 * 8 + 6 * 8) + 2 * (2 * 6 * 6 * 8) + 6 * 6 * 2 + 5 * 6 * 6 * 2 },
        { "ffn", (2 * 6 * 8 * 16 + 6 * 16) + 4 * 6 * 16 + (2 * 6 * 16 * 8 + 6 * 8) },
        { "norm", 2 * (5 * 6 * 8) + 2 * (6 * 8) },
        { "head", 6 * 8 + 2 * 8 + 1 },
        { "mpnn", 0 },
        { "pe", 0 },
    };
    json_auto_t *json = profile(bench, TINY " --profile flops");
    double sum = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *path = g_strdup_printf("flops.breakdown.%s", known[i].part);
        g_test_message("%s", known[i].part);
        g_assert_cmpfloat_with_epsilon(number_at(json, path) * 1e9, known[i].flop, 1e-6);
        sum += known[i].flop;
    }
    g_assert_cmpfloat(number_at(json, "flops.total_flop"), ==, sum);
    g_assert_cmpfloat(number_at(json, "flops.closed_form.total_flop"), ==, sum);
    g_assert_true(json_is_true(at(json, "flops.closed_form.equal")));
    g_assert_null(json_object_get(at(json, "flops.breakdown"), "not_known"));
    /* 2 heads, 6 x 6 scores of 4 bytes */
    json_auto_t *memory = profile(bench, TINY " --profile memory");
    g_assert_cmpfloat(number_at(memory, "memory.planned.attention_estimated_bytes"), ==, 4 * 2 * 36);
    g_assert_cmpfloat(number_at(memory, "memory.planned.attention_planned_bytes"), >=, 4 * 2 * 36);
    g_assert_cmpfloat(number_at(memory, "memory.planned.attention_planned_bytes"), <=,
                      number_at(memory, "memory.planned.activations_min_bytes"));
}

/* Of a training the work of each pass by part: backward is what the training pass has more than forward, the step has an
 * update besides. The published keys are of forward. */
static void test_parts_of_passes(Bench *bench, gconstpointer data)
{
    static const char *const passes[] = { "forward", "backward", "training_pass", "training_step" };
    json_auto_t *json = profile(bench, TINY " --profile flops --mode train --dropout 0%");
    json_auto_t *plain = profile(bench, TINY " --profile flops");
    for (gsize i = 0; i < G_N_ELEMENTS(passes); i++)
    {
        const json_t *pass = json_object_get(at(json, "flops.passes"), passes[i]), *part;
        const char *key;
        double sum = 0;
        json_object_foreach((json_t *)at(pass, "breakdown"), key, part) sum += json_number_value(part);
        g_test_message("%s", passes[i]);
        g_assert_cmpfloat_with_epsilon(sum * 1e9, number_at(pass, "total_flop"), 1e-3);
        g_assert_cmpfloat(number_at(pass, "breakdown.attention"), >, 0);
        g_assert_cmpint(json_is_null(at(pass, "closed_form")), ==, i > 0);
    }
    g_assert_cmpfloat_with_epsilon(number_at(json, "flops.passes.backward.breakdown.attention") +
                                       number_at(json, "flops.passes.forward.breakdown.attention"),
                                   number_at(json, "flops.passes.training_pass.breakdown.attention"), 1e-15);
    g_assert_cmpfloat(number_at(json, "flops.passes.training_step.breakdown.update"), >, 0);
    g_assert_null(json_object_get(at(json, "flops.passes.training_pass.breakdown"), "update"));
    g_assert_true(json_equal(at(json, "flops.breakdown"), at(plain, "flops.breakdown")));
    g_assert_true(json_equal(at(json, "flops.closed_form"), at(plain, "flops.closed_form")));
    g_assert_true(json_equal(at(json, "flops.closed_form"), at(json, "flops.passes.forward.closed_form")));
    /* of any other model by kind of nodes */
    json_auto_t *product = profile(bench, "zoo:matmul,m=8,k=8,n=8 --profile flops --mode backward");
    g_assert_cmpfloat_with_epsilon(number_at(product, "flops.passes.forward.breakdown.product") * 1e9, 2 * 8 * 8 * 8, 1e-6);
    g_assert_null(json_object_get(at(product, "flops.passes.forward"), "closed_form"));
    /* the times of what nobody ran are null, and there */
    json_auto_t *timed = profile(bench, TINY " --profile runtime" QUICK);
    g_assert_true(json_is_object(at(timed, "runtime.forward")));
    g_assert_true(json_is_null(at(timed, "runtime.backward")));
    g_assert_true(json_is_null(at(timed, "runtime.training_step")));
    g_assert_true(json_is_null(at(timed, "cases.0.runtime.backward")));
}

/* The graph is said once, by the line that is of it. */
static void test_head(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile graph_transformer --num-nodes 24 --num-layers 1 --profile runtime,memory" QUICK, &ended);
    assert_status(&ended, 0);
    g_test_message("%s", ended.out);
    g_assert_true(g_str_has_prefix(ended.out, "graph_transformer · f32 · "));
    const char *graph = strstr(ended.out, "synthetic, 24 nodes");
    g_assert_nonnull(graph);
    g_assert_null(strstr(graph + strlen("synthetic, 24 nodes"), "24 nodes"));
    run_line(bench,
             "profile gps --dataset peptides --num-graphs 2 --num-layers 1 --hidden-dim 8 --mode train --profile runtime "
             "--all" QUICK,
             &ended);
    assert_status(&ended, 0);
    g_assert_true(g_str_has_prefix(ended.out, "gps (training step) · f32 · "));
    g_assert_true(
        g_regex_match_simple("graph +peptides, .*2 graphs of at most [0-9]+ nodes, [0-9]+ nodes,", ended.out, 0, 0));
}

/* Every form counts what its closed form says, and gps is the one with message passing. */
static void test_forms(Bench *bench, gconstpointer data)
{
    static const char *const forms[] = {
        "gps --hidden-dim 16",
        "graph_transformer --mpnn gcn --attention sparse --norm batch",
        "graph_transformer,mpnn=sage,head=node --pe rwse:5 --num-outputs 3",
        "gps --mpnn none --pe lap --pe-dim 3",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
    {
        g_autofree char *line = g_strdup_printf("%s --num-nodes 20 --num-layers 2 --profile flops", forms[i]);
        json_auto_t *json = profile(bench, line);
        g_test_message("%s", forms[i]);
        g_assert_true(json_is_true(at(json, "flops.closed_form.equal")));
        g_assert_cmpint(number_at(json, "flops.breakdown.mpnn") > 0, ==, i != 3);
    }
    json_auto_t *json = profile(bench, "gps --num-nodes 20 --profile flops");
    g_assert_cmpstr(text_at(json, "graph_transformer.mpnn"), ==, "gin");
    json_auto_t *same = profile(bench, "zoo:gps,num_nodes=20,hidden_dim=32,pe=rwse:4 --profile flops");
    g_assert_cmpfloat(number_at(same, "graph_transformer.hidden_dim"), ==, 32);
    g_assert_cmpfloat(number_at(same, "graph_transformer.pe_dim"), ==, 4);
    g_assert_cmpstr(text_at(same, "model_info.source"), ==, "zoo:gps,num_nodes=20,hidden_dim=32,pe=rwse:4");
}

/* --- the same again ----------------------------------------------------------------------------------------------------
 */

/* The only file of a folder. (transfer full) */
static char *only_file(const Bench *bench, const char *folder)
{
    g_autofree char *path = bench_path(bench, folder);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_assert_nonnull(dir);
    const char *name = g_dir_read_name(dir);
    g_assert_nonnull(name);
    char *found = g_build_filename(path, name, NULL);
    g_assert_null(g_dir_read_name(dir));
    return found;
}

static gboolean same_file(const char *path_a, const char *path_b)
{
    g_autofree char *bytes_a = NULL, *bytes_b = NULL;
    gsize n_a, n_b;
    g_assert_true(g_file_get_contents(path_a, &bytes_a, &n_a, NULL));
    g_assert_true(g_file_get_contents(path_b, &bytes_b, &n_b, NULL));
    return n_a == n_b && memcmp(bytes_a, bytes_b, n_a) == 0;
}

static gboolean same_bytes(const Bench *bench, const char *a, const char *b)
{
    g_autofree char *path_a = only_file(bench, a), *path_b = only_file(bench, b);
    return same_file(path_a, path_b);
}

/* What the model of OUT makes of the inputs of OUT. (transfer full) its bytes */
static GBytes *infer(const Bench *bench, IfmEngine *engine, const char *out)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *models = g_build_filename(out, "models", NULL), *inputs = g_build_filename(out, "inputs", NULL);
    g_autofree char *model_path = only_file(bench, models), *inputs_path = only_file(bench, inputs);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CPU", &error);
    const IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmModel) model = ifm_model_open(model_path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(inputs_path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    g_assert_no_error(error);
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *found = ifm_tensor_file_find(file, ifm_model_input(model, i)->name);
        g_assert_nonnull(found); /* nothing is left to chance */
        g_assert_true(ifm_request_set_input(request, i, found, &error));
    }
    IfmTensor output = IFM_TENSOR_INIT;
    g_assert_true(ifm_request_start(request, NULL, NULL, &error));
    g_assert_true(ifm_request_wait(request, IFM_CLOCK_NEVER, &error));
    g_assert_true(ifm_request_output(request, 0, &output, &error));
    return g_bytes_new(output.data, output.size_bytes);
}

static void test_same_bytes(Bench *bench, gconstpointer data)
{
#define FORM "gps --num-nodes 40 --avg-degree 3 --hidden-dim 16 --num-layers 2 --pe lap:4 --profile runtime"
    static const struct
    {
        const char *out;
        int seed;
    } runs[] = { { "a", 42 }, { "b", 42 }, { "c", 43 } };
    for (gsize i = 0; i < G_N_ELEMENTS(runs); i++)
    {
        g_autofree char *line = g_strdup_printf(FORM " --seed %d -o %s" QUICK, runs[i].seed, runs[i].out);
        json_auto_t *json = profile(bench, line);
        g_assert_cmpfloat(number_at(json, "cases.0.case.sizes.nodes"), ==, 40);
        g_assert_cmpfloat(number_at(json, "cases.0.case.sizes.edges"), ==, 2 * 60);
        g_assert_true(json_is_string(at(json, "cases.0.case.options.inputs")));
    }
    g_assert_true(same_bytes(bench, "a/models", "b/models"));
    g_assert_true(same_bytes(bench, "a/inputs", "b/inputs"));
    g_assert_false(same_bytes(bench, "a/models", "c/models"));
    g_assert_false(same_bytes(bench, "a/inputs", "c/inputs"));
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    if (engine == NULL)
    {
        g_test_skip(error->message);
        return;
    }
    g_autoptr(GBytes) one = infer(bench, engine, "a"), other = infer(bench, engine, "b"), third = infer(bench, engine, "c");
    g_assert_cmpuint(g_bytes_get_size(one), ==, 4);
    g_assert_true(g_bytes_equal(one, other));
    g_assert_false(g_bytes_equal(one, third));
}

/* operators: The model's, in order. (transfer full) */
static char *operators(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    GString *text = g_string_new(NULL);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        g_string_append_printf(text, "%s ", ifm_model_node(model, i)->op_type);
    return g_string_free(text, FALSE);
}

/* The same words are the same model, whichever verb makes it. */
static void test_as_the_zoo(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *words;
        gboolean nd; /* whether the layers have any ScatterND */
    } known[] = {
        { "attention=sparse", TRUE },
        { "attention=sparse scatter=auto", TRUE },
        { "attention=sparse scatter=elements", FALSE },
        { "attention=dense", FALSE },
        { "attention=dense scatter=auto", FALSE },
        { "attention=dense scatter=nd", TRUE },
        { "attention=dense scatter=mixed", TRUE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *beside = g_strdelimit(g_strdup(known[i].words), " ", ',');
        g_autofree char *folder = g_strdup_printf("p%d/models", (int)i), *zoo = g_strdup_printf("z%d.onnx", (int)i);
        g_autofree char *line =
            g_strdup_printf("gps,%s --num-nodes 20 --num-layers 2 --profile flops -o p%d", beside, (int)i);
        g_autofree char *export = g_strdup_printf("zoo export gps num_nodes=20 num_layers=2 %s -o %s", known[i].words, zoo);
        json_auto_t *json = profile(bench, line);
        run_line(bench, export, &ended);
        assert_status(&ended, 0);
        g_autofree char *profiled = only_file(bench, folder), *exported = bench_path(bench, zoo);
        g_autofree char *ours = operators(profiled), *theirs = operators(exported);
        g_test_message("%s", known[i].words);
        g_assert_cmpstr(ours, ==, theirs);
        g_assert_cmpint(strstr(ours, "ScatterND") != NULL, ==, known[i].nd);
    }
}

/* Without a word about it a model is the zoo's, to the byte, and an estimate is of that one. */
static void test_defaults(Bench *bench, gconstpointer data)
{
    static const char *const known[][2] = { { "graph_transformer", "" }, { "gps", " --mpnn gin" } };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("%s --profile flops -o %s", known[i][0], known[i][0]);
        g_autofree char *export = g_strdup_printf("zoo export %s -o %s.onnx", known[i][0], known[i][0]);
        g_autofree char *estimate = g_strdup_printf("--estimate transformer%s", known[i][1]);
        g_autofree char *folder = g_strdup_printf("%s/models", known[i][0]),
                        *name = g_strconcat(known[i][0], ".onnx", NULL);
        g_test_message("%s", known[i][0]);
        json_auto_t *json = profile(bench, line);
        json_auto_t *estimated = profile(bench, estimate);
        run_line(bench, export, &ended);
        assert_status(&ended, 0);
        g_autofree char *profiled = only_file(bench, folder), *exported = bench_path(bench, name);
        g_assert_true(same_file(profiled, exported));
        g_assert_cmpfloat(number_at(json, "graph_transformer.num_nodes"), ==, 500);
        g_assert_cmpfloat(number_at(json, "graph_transformer.feature_dim"), ==, 16);
        g_assert_cmpfloat(number_at(json, "graph_transformer.num_edges"), ==, number_at(estimated, "sizes.num_edges"));
        size_t last = json_array_size(at(estimated, "parts")) - 1;
        g_autofree char *total = g_strdup_printf("parts.%d.flop", (int)last);
        g_assert_cmpfloat(number_at(estimated, total), ==, number_at(json, "flops.total_flop"));
    }
}

/* However many words there are, two models have two files. */
static void test_long_words(Bench *bench, gconstpointer data)
{
#define LONG                                                                                                               \
    "graph_transformer,num_nodes=20,avg_degree=2.0000,feature_dim=16,hidden_dim=16,num_layers=1,num_heads=2,ffn_dim=16,"   \
    "mpnn=gin,pe=rwse:4,attention=dense,norm=layer"
    static const char *const heads[] = { "head=graph", "head=node", "head=node,num_outputs=3" };
    guint n = 0;
    g_assert_cmpuint(strlen(LONG ",head="), >, 160);
    for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    {
        g_autofree char *line = g_strdup_printf(LONG ",%s --profile flops -o long", heads[i]);
        json_auto_t *json = profile(bench, line);
        json_auto_t *again = profile(bench, line); /* which has the same name */
        g_assert_nonnull(again);
    }
    g_autofree char *path = bench_path(bench, "long/models");
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir), n++)
        g_assert_cmpuint(strlen(name), <, 240);
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(heads));
}

/* Of a training step each node has its part, the loss and the new weights too. */
static void test_parts_of_a_step(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile " TINY " --mode train --profile flops --all", &ended);
    assert_status(&ended, 0);
    g_test_message("%s", ended.out);
    g_assert_true(g_regex_match_simple("^\\s*attention\\s", ended.out, G_REGEX_MULTILINE, 0));
    g_assert_true(g_regex_match_simple("^\\s*loss\\s", ended.out, G_REGEX_MULTILINE, 0));
    g_assert_true(g_regex_match_simple("^\\s*update\\s", ended.out, G_REGEX_MULTILINE, 0));
    g_assert_false(g_regex_match_simple("^\\s*not known\\s", ended.out, G_REGEX_MULTILINE, 0));
}

/* --- the encoding ------------------------------------------------------------------------------------------------------
 */

/* By itself it takes no device, and is kept as a measurement. */
static void test_encoding(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *json =
        profile(bench, "graph_transformer --num-nodes 30 --avg-degree 4 --pe rwse:4 --profile pe -q --runs 5 --warmup 1");
    g_assert_cmpstr(text_at(json, "pe.kind"), ==, "rwse");
    g_assert_cmpfloat(number_at(json, "pe.dim"), ==, 4);
    g_assert_cmpfloat(number_at(json, "pe.computing.n"), ==, 5);
    g_assert_cmpfloat(number_at(json, "pe.computing.median"), >, 0);
    g_assert_cmpuint(json_array_size(at(json, "pe.measurement.samples_ns")), ==, 5);
    g_assert_cmpstr(text_at(json, "pe.measurement.verification.status"), ==, "passed");
    g_assert_cmpfloat(number_at(json, "pe.storage.node.estimated_bytes"), ==, 4 * 30 * 4);
    g_assert_cmpfloat(number_at(json, "pe.storage.node.held_bytes"), >=, 4 * 30 * 4);
    g_assert_cmpfloat(number_at(json, "pe.storage.node.held_bytes"), <, 4 * 30 * 4 + 64);
    g_assert_cmpfloat(number_at(json, "pe.storage.relative_dense.estimated_bytes"), ==, 4 * 30 * 30 * 4);
    g_assert_cmpfloat(number_at(json, "pe.storage.relative_sparse.estimated_bytes"), ==, 4 * 120 * 4 + 16 * 120);
    g_assert_cmpfloat(number_at(json, "pe.flop"), ==, 2 * 4 * 120 * 30 + 120); /* p products of e with n; e divisions */
    g_assert_cmpuint(json_array_size(at(json, "cases")), ==, 0);
    /* the same is not measured again where that is not wanted */
    run_line(
        bench,
        "profile graph_transformer --num-nodes 30 --avg-degree 4 --pe rwse:4 --profile pe --runs 5 --warmup 1 --resume "
        "--json -",
        &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "measured before"));
    json_auto_t *again = parse_output(&ended);
    g_assert_cmpstr(text_at(again, "pe.measurement.uid"), ==, text_at(json, "pe.measurement.uid"));
    run_line(bench, "store show out/profile/store.db", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "host:CPU"));
    run_line(bench, "profile graph_transformer --num-nodes 30 --pe lap:4 --profile pe -q --runs 5 --warmup 1", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "once, on this machine's processor; median of 5 runs"));
    g_assert_true(g_regex_match_simple("of nodes +480 B +as estimated\n", ended.out, 0, 0));
    g_assert_true(g_regex_match_simple("eigenvalues.* +32 B +as estimated\n", ended.out, 0, 0));
    g_assert_null(strstr(ended.out, "closed form"));
    run_line(bench, "profile graph_transformer --num-nodes 30 --profile pe -q", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "none: nothing to compute or to store"));
}

#define LENGTHY "graph_transformer --num-nodes 600 --hidden-dim 16 --attention sparse --pe rwse:16 --profile pe"

/* An encoding that took the whole budget once is not computed again, and one that takes longer than a case may is none. */
static void test_encoding_limits(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *json = profile(bench, LENGTHY " -q --time-budget 1us");
    g_assert_cmpfloat(number_at(json, "pe.computing.n"), ==, 1);
    g_assert_cmpuint(json_array_size(at(json, "pe.measurement.warmup_ns")), ==, 0);
    g_assert_cmpstr(text_at(json, "pe.measurement.stop_reason"), ==, "time-budget");
    /* what speaks against the figure stands on the page, as of any other */
    run_line(bench, "profile " LENGTHY " -q --time-budget 1us", &ended);
    assert_status(&ended, 0);
    g_autofree char *page = unwrapped(ended.out);
    g_assert_nonnull(strstr(page, "on this machine's processor; one run"));
    g_assert_nonnull(strstr(page,
                            "warning: encoding rwse:16: computed once, without warm-up: that took longer than the time "
                            "budget of 1.00 µs"));
    run_line(bench, "profile " LENGTHY " -q --runs 3 --warmup 1 --case-timeout 1us", &ended);
    assert_complaint(&ended, 1, "--pe rwse:16: not computed within 1.00 µs (--case-timeout)");
}

/* Interrupted before there was a sample: nothing is said to be kept. */
static void test_encoding_interrupted(Bench *bench, gconstpointer data)
{
    g_autoptr(GSubprocess) process = start_line(bench, "profile " LENGTHY " --runs 3 --warmup 5000000");
    g_autoptr(GDataInputStream) lines = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    static const char *const said[] = { "encoding rwse:16", "interrupted: nothing was measured" };
    for (gsize i = 0; i < G_N_ELEMENTS(said); i++)
    {
        for (gboolean found = FALSE; !found;)
        {
            g_autofree char *line = g_data_input_stream_read_line(lines, NULL, NULL, NULL);
            g_assert_nonnull(line);
            g_assert_null(strstr(line, "kept"));
            found = strstr(line, said[i]) != NULL;
        }
        if (i == 0)
            g_subprocess_send_signal(process, SIGINT);
    }
    g_assert_true(g_subprocess_wait(process, NULL, NULL));
    g_assert_cmpint(status_of(process), ==, 128 + SIGINT);
}

/* Beside a device it is told where there is one and nothing was picked. */
static void test_encoding_beside(Bench *bench, gconstpointer data)
{
    json_auto_t *with = profile(bench, "graph_transformer --hidden-dim 16 --num-nodes 30 --pe lap:4 --no-peak" QUICK);
    g_assert_cmpfloat(number_at(with, "pe.computing.n"), ==, 3);
    g_assert_cmpfloat(number_at(with, "runtime.forward.mean"), ==, 5);
    json_auto_t *without = profile(bench, "graph_transformer --hidden-dim 16 --num-nodes 30 --no-peak" QUICK);
    g_assert_null(json_object_get(without, "pe"));
    g_assert_cmpfloat(number_at(without, "flops.breakdown.pe"), ==, 0);
    refused(bench, "matmul --profile pe", 2, "--profile pe: matmul has no positional encoding");
    refused(bench, "graph_transformer --profile pe -d simulated:lab/FIXED", 2, "no device is run for it");
}

/* --- graphs ------------------------------------------------------------------------------------------------------------
 */

static void test_datasets(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_dataset(bench);
    json_auto_t *both = profile(bench, "graph_transformer --hidden-dim 16 --dataset two --profile runtime" QUICK);
    g_assert_cmpfloat(number_at(both, "graph_transformer.num_nodes"), ==, 5);
    g_assert_cmpfloat(number_at(both, "graph_transformer.num_edges"), ==, 6);
    g_assert_cmpfloat(number_at(both, "graph_transformer.num_graphs"), ==, 2);
    g_assert_cmpfloat(number_at(both, "graph_transformer.most_nodes"), ==, 3);
    g_assert_cmpfloat(number_at(both, "graph_transformer.feature_dim"), ==, 2);
    g_assert_true(json_is_false(at(both, "graph_transformer.seeded_features")));
    g_assert_cmpfloat(number_at(both, "cases.0.case.sizes.graphs"), ==, 2);
    json_auto_t *first = profile(bench, "graph_transformer --dataset two --num-graphs 1 --profile flops");
    g_assert_cmpfloat(number_at(first, "graph_transformer.num_nodes"), ==, 3);
    g_assert_cmpfloat(number_at(first, "graph_transformer.num_graphs"), ==, 1);
    /* several seeded graphs of one size; an estimate of as many at once lacks only the masks between them */
    json_auto_t *three = profile(bench, "graph_transformer --hidden-dim 16 --num-nodes 20 --num-graphs 3 --profile flops");
    g_assert_cmpfloat(number_at(three, "graph_transformer.num_graphs"), ==, 3);
    g_assert_cmpfloat(number_at(three, "graph_transformer.num_nodes"), ==, 60);
    g_assert_cmpfloat(number_at(three, "graph_transformer.most_nodes"), ==, 20);
    json_auto_t *estimated = profile(bench, "--estimate transformer --hidden-dim 16 --num-nodes 20 --batch 3");
    g_autofree char *total = g_strdup_printf("parts.%zu.flop", json_array_size(at(estimated, "parts")) - 1);
    g_assert_cmpfloat(number_at(estimated, total), <, number_at(three, "flops.total_flop"));
    g_assert_cmpfloat(number_at(estimated, total), >, 0.98 * number_at(three, "flops.total_flop"));
    json_auto_t *one = profile(bench, "--estimate attention --hidden-dim 16 --num-nodes 20");
    json_auto_t *four = profile(bench, "--estimate attention --hidden-dim 16 --num-nodes 20 --batch 4");
    g_assert_cmpfloat(number_at(four, "batch"), ==, 4);
    g_assert_cmpfloat(number_at(four, "parts.0.flop"), ==, 4 * number_at(one, "parts.0.flop"));
    g_assert_cmpfloat(number_at(four, "parts.0.parameters"), ==, number_at(one, "parts.0.parameters"));
    g_assert_cmpfloat(number_at(four, "memory.0.bytes"), ==, 4 * number_at(one, "memory.0.bytes"));
    g_assert_cmpfloat(number_at(four, "parts.0.bytes"), ==,
                      4 * number_at(one, "parts.0.bytes") - 3 * 4 * number_at(one, "parts.0.parameters"));
    /* labels are features where there are no attributes */
    write_text(bench, "two/T_node_labels.txt", "3\n4\n4\n3\n5\n");
    json_auto_t *both_there = profile(bench, "graph_transformer --dataset two --profile flops");
    g_assert_cmpfloat(number_at(both_there, "graph_transformer.feature_dim"), ==, 2);
    g_assert_true(json_is_false(at(both_there, "graph_transformer.label_features")));
    g_autofree char *attributes = bench_path(bench, "two/T_node_attributes.txt");
    g_assert_cmpint(g_unlink(attributes), ==, 0);
    json_auto_t *labels = profile(bench, "graph_transformer --dataset two --profile flops");
    g_assert_cmpfloat(number_at(labels, "graph_transformer.feature_dim"), ==, 3);
    g_assert_true(json_is_true(at(labels, "graph_transformer.label_features")));
    g_assert_true(json_is_false(at(labels, "graph_transformer.seeded_features")));
    run_line(bench, "profile graph_transformer --dataset two --profile flops", &ended);
    g_assert_nonnull(strstr(ended.out, "3 numbers a node (its labels, one-hot)"));
    g_assert_cmpstr(ended.err, ==, "");
    /* without attributes they are seeded, and that is said */
    write_text(bench, "edges.txt", "0 1\n1 0\n1 2\n2 1\n");
    run_line(bench, "profile graph_transformer --dataset edges.txt --feature-dim 7 --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "edges.txt: nodes without attributes: each gets 7 seeded numbers"));
    g_assert_nonnull(strstr(ended.out, "7 numbers a node (seeded: it has none)"));
    write_text(bench, "m.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n");
    json_auto_t *market = profile(bench, "gps --dataset m.mtx --profile flops -q");
    g_assert_cmpfloat(number_at(market, "graph_transformer.num_edges"), ==, 6);
    g_assert_true(json_is_true(at(market, "graph_transformer.seeded_features")));
}

/* Of what dense attention computes for graphs of several sizes much is padding: sizes 3 and 2 are 18 pairs, 9 + 4 of use.
 */
static void test_padding(Bench *bench, gconstpointer data)
{
    static const char reported[] = "of attention's 18 scores a head 13 (72.2 %) are of two nodes of one graph";
    static const char sums[] = "sums over edges by ScatterElements: scatter=mixed may be faster on few cores";
    static const struct
    {
        const char *words;
        gboolean padded, summed;
    } known[] = {
        { "graph_transformer --dataset two", TRUE, FALSE },   { "gps --dataset two", TRUE, TRUE },
        { "gps --dataset two --scatter mixed", TRUE, FALSE }, { "gps --dataset two --attention sparse", FALSE, FALSE },
        { "gps --dataset two --num-graphs 1", FALSE, TRUE },  { "gps --num-nodes 20", FALSE, TRUE },
    };
    g_auto(Ended) ended = { 0 };
    write_dataset(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *line = g_strdup_printf("profile %s --num-layers 1 --profile flops -q", known[i].words);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_test_message("%s", ended.out);
        g_autofree char *text = unwrapped(ended.out);
        g_assert_cmpint(strstr(text, reported) != NULL, ==, known[i].padded);
        g_assert_cmpint(strstr(text, sums) != NULL, ==, known[i].summed);
    }
    json_auto_t *peptides = profile(bench, "graph_transformer --dataset peptides --num-layers 1 --profile flops -q");
    g_assert_cmpfloat(number_at(peptides, "graph_transformer.score_pairs"), ==, 64.0 * 353 * 353);
    g_assert_cmpfloat(number_at(peptides, "graph_transformer.score_pairs_used"), ==, 2525486);
    g_assert_cmpfloat_with_epsilon(number_at(peptides, "graph_transformer.score_pairs_used_ratio"),
                                   2525486 / (64.0 * 353 * 353), 1e-12);
    json_auto_t *sparse = profile(bench, "gps --dataset two --attention sparse --profile flops -q");
    g_assert_true(json_is_null(at(sparse, "graph_transformer.score_pairs")));
}

/* Some of the shipped molecules on a real runtime, every node's time with its part. */
static void test_peptides(Bench *bench, gconstpointer data)
{
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *json = profile(bench, "gps --dataset peptides --num-graphs 4 --num-layers 2 --hidden-dim 32 --pe lap:16 "
                                       "-q --runs 3 --warmup 1 --no-peak --seed 42");
    g_assert_cmpfloat(number_at(json, "graph_transformer.num_graphs"), ==, 4);
    g_assert_cmpfloat(number_at(json, "graph_transformer.feature_dim"), ==, 9);
    g_assert_cmpstr(text_at(json, "cases.0.measurement.verification.status"), ==, "passed");
    g_assert_true(json_is_true(at(json, "flops.closed_form.equal")));
    g_assert_cmpfloat(number_at(json, "pe.computing.n"), ==, 3);
    g_assert_cmpfloat(number_at(json, "memory.measured.engine_peak_bytes"), >, 0);
    const json_t *parts = at(json, "cases.0.parts"), *part;
    size_t i;
    double flop = 0, time = 0, unknown = 0, attention = 0;
    json_array_foreach(parts, i, part)
    {
        gboolean known = g_strcmp0(text_at(part, "part"), "not known") != 0;
        g_test_message("%s: %g of the FLOPs, %g of the time", text_at(part, "part"), number_at(part, "flop_ratio"),
                       number_at(part, "time_ratio"));
        flop += number_at(part, "flop_ratio");
        time += number_at(part, "time_ratio");
        unknown += known ? 0 : number_at(part, "time_ratio");
        attention += g_strcmp0(text_at(part, "part"), "attention") == 0 ? number_at(part, "time_ns") : 0;
    }
    g_assert_cmpfloat_with_epsilon(flop, 1, 1e-9);
    g_assert_cmpfloat_with_epsilon(time, 1, 1e-9);
    g_assert_cmpfloat(attention, >, 0);
    g_assert_cmpfloat(unknown, <, 0.05);
}

/* --- what is wrong -----------------------------------------------------------------------------------------------------
 */

static void test_refusals(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } known[] = {
        { "graph_transformer --hidden-dim 64 --num-heads 3", 3, "num_heads 3" },
        { "graph_transformer --num-nodes 12 --pe lap:16", 3, "12 nodes" },
        { "graph_transformer --dataset two --pe lap:2 -d simulated:lab/FIXED", 3, "graph 2" },
        { "graph_transformer --num-nodes 100000 --pe lap:16 -d onnxruntime:CPU", 3, "--attention sparse" },
        { "graph_transformer,hiden_dim=32", 3, "did you mean \"hidden_dim\"?" },
        { "graph_transformer,hidden_dim=0", 3, "hidden" },
        { "graph_transformer,num_edges=5", 3, "'num_edges' follows from the graph" },
        { "graph_transformer,form=training", 3, "'form' follows from what is profiled" },
        { "graph_transformer,hidden_dim=8,hidden_dim=8", 3, "given twice" },
        { "graph_transformer,hidden_dim=8 --hidden-dim 8", 2, "--hidden-dim: is given with the model's name, too" },
        { "graph_transfomer", 3, "did you mean \"graph_transformer\"?" },
        { "graph_transformer --mpnn gim", 2, "none of none, gin, gcn, sage" },
        { "graph_transformer --pe lapp:16", 2, "did you mean \"lap\"?" },
        { "graph_transformer --pe lap:0", 2, "\"0\" is not a whole number from 1" },
        { "graph_transformer --pe lap:4 --pe-dim 4", 2, "given twice" },
        { "graph_transformer --pe none:4", 2, "no encoding has no numbers" },
        { "graph_transformer --pe-dim 4", 2, "there is no encoding" },
        { "graph_transformer --dropout 100%", 2, "--dropout" },
        { "graph_transformer --avg-degree x", 2, "--avg-degree" },
        { "graph_transformer --num-nodes 4 --avg-degree 5", 3, "neighbours" },
        { "graph_transformer --num-edges 8", 2, "it goes with --estimate" },
        { "graph_transformer --num-graphs 9000000000000000", 2, "more nodes or edges in all" },
        { "graph_transformer --dim N=3", 3, "N" },
        { "graph_transformer --dataset two --num-nodes 8", 2, "--num-nodes and --dataset: one of them, not both" },
        { "graph_transformer --dataset two --feature-dim 8", 2, "have 2 numbers each" },
        { "graph_transformer --dataset two --num-graphs 3", 3, "--num-graphs" },
        { "graph_transformer --dataset peptide", 3, "did you mean \"peptides\"?" },
        { "graph_transformer --dataset ./none", 4, "./none" },
        { "matmul --hidden-dim 8", 2, "it goes with --estimate, graph_transformer or gps" },
        { "matmul --attention sparse", 2, "it goes with graph_transformer or gps" },
        { "--estimate attention --attention sparse", 2, "--estimate and --attention: one of them, not both" },
        { "--estimate encoding --pe lop", 2, "did you mean \"lap\"?" },
    };
    write_dataset(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_test_message("%s", known[i].line);
        refused(bench, known[i].line, known[i].status, known[i].part);
    }
}

/* A dataset's faults, each through the command: file and line. */
static void test_dataset_faults(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *file, *text; /* NULL: the file is not there */
        int status;
        const char *part;
    } known[] = {
        { "two/T_graph_indicator.txt", NULL, 3, "T_graph_indicator.txt: is missing: a TUDataset has it" },
        { "two/T_A.txt", NULL, 3, "a folder without a NAME_A.txt is no TUDataset" },
        { "two/T_graph_indicator.txt", "", 3, "T_graph_indicator.txt" },
        { "two/T_graph_indicator.txt", "1\n1\n1\n3\n3\n", 3, "T_graph_indicator.txt:4: " },
        { "two/T_A.txt", "1, 2\n2, 1\n2\n", 3, "T_A.txt:3: " },
        { "two/T_A.txt", "1, 2\n2, 9\n", 3, "T_A.txt:2: " },
        { "two/T_A.txt", "1, 2\n3, 4\n", 3, "T_A.txt:2: an edge from graph 1 to graph 2" },
        { "two/T_node_attributes.txt", "1, 2\n3\n5, 6\n7, 8\n9, 10\n", 3, "T_node_attributes.txt:2: " },
        { "two/T_node_attributes.txt", "1, 2\n3, 4\n", 3, "T_node_attributes.txt:" },
        { "two/T_node_attributes.txt", "1, 2\n3, x\n5, 6\n7, 8\n9, 10\n", 3, "T_node_attributes.txt:2: " },
        { "two/T_edge_attributes.txt", "1\n2\n3\n4\n5\n", 3, "T_edge_attributes.txt:5: the file ends after 5 of 6 edges" },
        { "two/T_edge_attributes.txt", "1\n2 2\n3\n4\n5\n6\n", 3, "T_edge_attributes.txt:2: 2 numbers" },
        { "two/T_node_labels.txt", "1\n2\n", 3, "T_node_labels.txt:2: the file ends after 2 of 5 nodes" },
        { "two/T_edge_labels.txt", "1\n", 3, "T_edge_labels.txt:1: the file ends after 1 of 6 edges" },
        { "two/T_graph_labels.txt", "1\n", 3, "T_graph_labels.txt:1: the file ends after 1 of 2 graphs" },
        { "two/T_graph_attributes.txt", "1, 2\n3\n", 3, "T_graph_attributes.txt:2: 1 number; the first line has 2" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *path = bench_path(bench, known[i].file);
        write_dataset(bench);
        g_remove(path);
        if (known[i].text != NULL)
            write_text(bench, known[i].file, known[i].text);
        g_test_message("%s %s", known[i].file, known[i].text);
        refused(bench, "graph_transformer --dataset two --profile flops", known[i].status, known[i].part);
        g_remove(path);
    }
    write_dataset(bench);
    write_text(bench, "two/T_node_labels.txt/x", "");
    refused(bench, "graph_transformer --dataset two --profile flops", 3, "T_node_labels.txt: is a folder");
}

/* The same of graphs that are one file. */
static void test_file_faults(Bench *bench, gconstpointer data)
{
#define MARKET "%%MatrixMarket matrix coordinate pattern general\n"
    static const struct
    {
        const char *text, *part;
    } known[] = {
        { "0 1\n1 x\n", "g.txt:2: the destination: \"x\" is not a whole number from 0 on" },
        { "0 1\n\n2\n", "g.txt:3: the line ends before the destination" },
        { "# Nodes: 2 Edges: 1\n0 2\n", "g.txt:2: the destination: \"2\" is outside the 2 nodes" },
        { "", "g.txt:1: there is no edge" },
        { MARKET "2 3 1\n1 1\n", "g.txt:2: 2 rows and 3 columns; a graph's matrix is square" },
        { MARKET "2 2 2\n1 1\n", "g.txt:2: announces 2 entries; what follows has room for 1" },
        { MARKET "2 2 1\n1 3\n", "g.txt:3: the column: \"3\" is outside the 2 nodes" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        write_text(bench, "g.txt", known[i].text);
        g_test_message("%s", known[i].text);
        refused(bench, "graph_transformer --dataset g.txt --profile flops", 3, known[i].part);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/graph-transformer/parts", Bench, NULL, bench_init, test_parts, bench_clear);
    g_test_add("/graph-transformer/parts-of-passes", Bench, NULL, bench_init, test_parts_of_passes, bench_clear);
    g_test_add("/graph-transformer/head", Bench, NULL, bench_init, test_head, bench_clear);
    g_test_add("/graph-transformer/forms", Bench, NULL, bench_init, test_forms, bench_clear);
    g_test_add("/graph-transformer/same-bytes", Bench, NULL, bench_init, test_same_bytes, bench_clear);
    g_test_add("/graph-transformer/as-the-zoo", Bench, NULL, bench_init, test_as_the_zoo, bench_clear);
    g_test_add("/graph-transformer/defaults", Bench, NULL, bench_init, test_defaults, bench_clear);
    g_test_add("/graph-transformer/long-words", Bench, NULL, bench_init, test_long_words, bench_clear);
    g_test_add("/graph-transformer/parts-of-a-step", Bench, NULL, bench_init, test_parts_of_a_step, bench_clear);
    g_test_add("/graph-transformer/encoding", Bench, NULL, bench_init, test_encoding, bench_clear);
    g_test_add("/graph-transformer/encoding-beside", Bench, NULL, bench_init, test_encoding_beside, bench_clear);
    g_test_add("/graph-transformer/encoding-limits", Bench, NULL, bench_init, test_encoding_limits, bench_clear);
    g_test_add("/graph-transformer/encoding-interrupted", Bench, NULL, bench_init, test_encoding_interrupted, bench_clear);
    g_test_add("/graph-transformer/padding", Bench, NULL, bench_init, test_padding, bench_clear);
    g_test_add("/graph-transformer/datasets", Bench, NULL, bench_init, test_datasets, bench_clear);
    g_test_add("/graph-transformer/peptides", Bench, NULL, bench_init, test_peptides, bench_clear);
    g_test_add("/graph-transformer/refusals", Bench, NULL, bench_init, test_refusals, bench_clear);
    g_test_add("/graph-transformer/dataset-faults", Bench, NULL, bench_init, test_dataset_faults, bench_clear);
    g_test_add("/graph-transformer/file-faults", Bench, NULL, bench_init, test_file_faults, bench_clear);
    return g_test_run();
}
