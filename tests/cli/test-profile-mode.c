#include <math.h>

#include <base/base.h>
#include <engine/engine.h>

#include "cli/harness.h"

/* `inferometer profile --mode`: the passes of a training, what they come to, and models that cannot be trained. */

static const json_t *at(const json_t *json, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (char **key = keys; *key != NULL; key++)
        json = json_object_get(json, *key);
    return json;
}

static double number(const json_t *json, const char *path)
{
    const json_t *found = at(json, path);
    if (!json_is_number(found))
        g_error("no number at %s", path);
    return json_number_value(found);
}

static json_t *profile(Bench *bench, const char *line)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *whole = g_strdup_printf("profile -q --json - %s", line);
    run_line(bench, whole, &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

/* --- work and memory, by hand ---------------------------------------------------------------------------------------- */

#define M 8
#define K 16
#define N 4

/* y = x w, mse: dw = x' dy is the one product of the backward pass. */
static void test_work(Bench *bench, gconstpointer data)
{
    json_auto_t *json = profile(bench, "matmul,m=8,k=16,n=4 --mode train --optimiser adam -p flops,memory");
    g_assert_cmpfloat(number(json, "flops.total_macs"), ==, M * K * N); /* the published figure is of the forward pass */
    g_assert_cmpfloat(number(json, "flops.passes.forward.total_macs"), ==, M * K * N);
    g_assert_cmpfloat(number(json, "flops.passes.backward.total_macs"), ==, M * K * N);
    g_assert_cmpfloat(number(json, "flops.passes.training_pass.total_macs"), ==, 2 * M * K * N);
    g_assert_cmpfloat(number(json, "flops.passes.training_step.total_macs"), ==, 2 * M * K * N);
    g_assert_cmpfloat(number(json, "flops.passes.training_step.total_flop"), >,
                      number(json, "flops.passes.training_pass.total_flop"));
    g_assert_cmpfloat(number(json, "model_info.total_parameters"), ==, K * N);
    const double mb = 1048576;
    g_assert_cmpfloat(number(json, "memory.breakdown.parameters"), ==, K * N * 4 / mb);
    g_assert_cmpfloat(number(json, "memory.breakdown.gradients"), ==, K * N * 4 / mb);
    g_assert_cmpfloat(number(json, "memory.breakdown.optimizer_state"), ==, (2 * K * N * 4 + 8) / mb);
    /* x for the product, y - target for its own gradient */
    g_assert_cmpfloat(number(json, "memory.breakdown.activations"), ==, (M * K + M * N) * 4 / mb);
    g_assert_cmpstr(json_string_value(at(json, "mode.loss")), ==, "mse");
    json_auto_t *backward = profile(bench, "matmul,m=8,k=16,n=4 --mode backward -p flops,memory");
    g_assert_null(at(backward, "flops.passes.training_step"));
    g_assert_cmpfloat(number(backward, "memory.breakdown.optimizer_state"), ==, 0);
    g_assert_true(json_is_null(at(backward, "mode.optimiser")));
}

/* --- times ----------------------------------------------------------------------------------------------------------- */

static const json_t *case_of(const json_t *json, const char *pass)
{
    for (gsize i = 0; i < json_array_size(at(json, "cases")); i++)
        if (g_strcmp0(json_string_value(at(json_array_get(at(json, "cases"), i), "pass")), pass) == 0)
            return json_array_get(at(json, "cases"), i);
    g_error("no case of %s", pass);
}

/* A device that takes 5 ms whatever it is given: backward is nothing, and that is said. */
static void test_equal(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *json = profile(bench, "matmul --mode train --runs 10 -d simulated:lab/FIXED -p runtime");
    static const char *const passes[] = { "forward", "training_pass", "training_step" };
    static const char *const names[] = { "(training pass)", "(training step)" };
    for (gsize i = 0; i < G_N_ELEMENTS(passes); i++)
    {
        g_autofree char *path = g_strdup_printf("runtime.%s.median", passes[i]);
        g_assert_cmpfloat(number(json, path), ==, 5);
        for (gsize k = 0; k < i; k++)
            g_assert_cmpstr(json_string_value(at(case_of(json, passes[i]), "case.key")), !=,
                            json_string_value(at(case_of(json, passes[k]), "case.key")));
        const char *name = json_string_value(at(case_of(json, passes[i]), "case.subject_name"));
        g_assert_true(i == 0 || g_str_has_suffix(name, names[i - 1]));
    }
    g_assert_cmpuint(json_array_size(at(json, "cases")), ==, 3);
    g_assert_cmpfloat(number(json, "runtime.backward.mean"), ==, 0);
    g_assert_true(json_is_true(at(json, "runtime.backward.includes_zero")));
    run_line(bench, "profile -q matmul --mode train --runs 10 -d simulated:lab/FIXED -p runtime,flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "the interval of backward holds 0"));
    g_assert_nonnull(strstr(ended.out, "mode      train: loss mse, optimiser sgd, learning rate 0.001"));
    g_assert_nonnull(strstr(ended.out, "training step"));
    run_line(bench, "profile -q matmul --mode backward --runs 10 -d A=simulated:lab/FIXED -p runtime --csv -", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) lines = g_strsplit(ended.out, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 5); /* a header, three passes, and what follows the last line's end */
    g_assert_true(g_str_has_prefix(lines[2], "simulated:lab/FIXED,A,backward,difference,rounds,0,0,0,"));
}

/* Times that follow from the work: backward is the difference, and without noise known exactly. */
static void test_difference(Bench *bench, gconstpointer data)
{
    json_auto_t *json =
        profile(bench, "small-cnn --mode backward --runs 30 -d simulated:lab/FIXED -d simulated:lab/ROOFLINE -p runtime");
    const json_t *runtime = NULL;
    for (gsize i = 0; i < json_array_size(at(json, "cases")); i++)
    {
        const json_t *entry = json_array_get(at(json, "cases"), i);
        if (g_strcmp0(json_string_value(at(entry, "device")), "simulated:lab/ROOFLINE") == 0 &&
            at(entry, "runtime") != NULL)
            runtime = at(entry, "runtime");
    }
    double forward = number(runtime, "forward.median"), pass = number(runtime, "training_pass.median");
    g_assert_cmpfloat(pass, >, forward);
    g_assert_cmpfloat_with_epsilon(number(runtime, "backward.median"), pass - forward, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(runtime, "backward.median_lower"), pass - forward, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(runtime, "backward.median_upper"), pass - forward, 1e-9);
    g_assert_true(json_is_false(at(runtime, "backward.includes_zero")));
    g_assert_cmpstr(json_string_value(at(runtime, "backward.of")), ==, "training_pass - forward");
}

/* --- rounds ------------------------------------------------------------------------------------------------------------
 */

#define NOISY "small-cnn -p runtime --no-verify -d simulated:lab/GAUSSIAN --json out.json"

static json_t *read_json(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (json == NULL)
        g_error("%s: %s", name, error.text);
    return json;
}

/* @runtime: of all passes; the update and the step where there is one. */
static void assert_adds_up(const json_t *runtime, double n_rounds, gboolean step)
{
    static const char *const figures[] = { "median", "mean" };
    static const char *const passes[] = { "forward", "backward", "training_pass", "update", "training_step" };
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
    {
        double of[G_N_ELEMENTS(passes)];
        for (gsize k = 0; k < (step ? 5 : 3); k++)
        {
            g_autofree char *path = g_strdup_printf("%s.%s", passes[k], figures[i]);
            g_autofree char *rounds = g_strdup_printf("%s.n_rounds", passes[k]);
            of[k] = number(runtime, path);
            g_assert_cmpfloat(number(runtime, rounds), ==, n_rounds);
        }
        g_assert_cmpfloat_with_epsilon(of[0] + of[1], of[2], 1e-9);
        if (step)
            g_assert_cmpfloat_with_epsilon(of[0] + of[1] + of[3], of[4], 1e-9);
    }
    g_assert_cmpstr(json_string_value(at(runtime, "backward.difference")), ==, "rounds");
    g_assert_true(json_is_null(at(runtime, "backward.why")));
    g_assert_true(json_is_number(at(runtime, "backward.median_lower")) == (n_rounds >= 6));
    g_assert_true(json_is_null(at(runtime, "update")) == !step);
}

/* All passes are of the same rounds, and add up: of a step and of backward alone, of many runs and of few. */
static void test_adds_up(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        double n_rounds;
        gboolean step;
    } known[] = {
        { "--mode train --runs 12", 6, TRUE },
        { "--mode train --runs 4", 4, TRUE },
        { "--mode backward --runs 12", 6, FALSE },
        { "--mode backward --runs 1", 1, FALSE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("profile -q " NOISY " %s", known[i].options);
        g_autofree char *again = g_strdup_printf("profile " NOISY " %s --resume", known[i].options);
        g_test_message("%s", line);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        const char *sum = strstr(ended.out, known[i].step ? "forward + backward + update = training step, of the same "
                                                          : "forward + backward = training pass, of the same ");
        g_assert_nonnull(sum);
        g_assert_null(strstr(sum + 12, "backward = training pass")); /* said once */
        g_assert_true((strstr(ended.out, "\nupdate ") != NULL) == known[i].step);
        g_assert_true((strstr(sum, ": too") != NULL) == (known[i].n_rounds < 6));
        json_auto_t *json = read_json(bench, "out.json");
        assert_adds_up(at(json, "runtime"), known[i].n_rounds, known[i].step);
        run_line(bench, again, &ended);
        assert_status(&ended, 0);
        g_assert_null(strstr(ended.err, "all passes in rounds  starts"));
        json_auto_t *kept = read_json(bench, "out.json");
        g_assert_true(json_equal(at(kept, "runtime"), at(json, "runtime")));
    }
}

static void expect_independent(Bench *bench, const char *line, const char *why)
{
    json_auto_t *json = profile(bench, line);
    double difference = number(json, "runtime.training_pass.median") - number(json, "runtime.forward.median");
    g_assert_cmpstr(json_string_value(at(json, "runtime.backward.difference")), ==, "independent");
    g_assert_cmpfloat_with_epsilon(number(json, "runtime.backward.median"), difference, 1e-9);
    g_assert_true(json_is_null(at(json, "runtime.backward.n_rounds")));
    const json_t *reported = at(json, "runtime.backward.why");
    g_test_message("%s", json_string_value(reported));
    g_assert_true(why != NULL ? json_is_string(reported) && strstr(json_string_value(reported), why) != NULL
                              : json_is_null(reported));
}

/* Where there were no rounds, the figures are those of each pass measured alone. */
static void test_no_rounds(Bench *bench, gconstpointer data)
{
    static const char yaml[] = "description: fails where it runs longer\nprovenance: invented\nunits:\n"
                               "  LOSES:\n    description: is lost in its 8th run\n    capabilities: [free-shapes]\n"
                               "    latency: {source: fixed, fixed: 5 ms}\n"
                               "    faults: [{what: lose, mode: reported, when: {run: 8}}]\n";
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "late.yaml", yaml, sizeof yaml - 1);
    bench->devices = bench->folder;
    expect_independent(bench, "matmul --mode backward -p memory --runs 2 --warmup 0 -d simulated:late/LOSES", NULL);
    expect_independent(bench, "matmul --mode backward -p runtime --runs 2 --warmup 0 -d simulated:late/LOSES", "lost");
    run_line(bench, "profile -q matmul --mode backward -p runtime --runs 2 --warmup 0 -d simulated:late/LOSES", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "each measured by itself"));
    g_assert_nonnull(strstr(ended.out, "the passes took no turns: "));
}

/* A step measured on a machine that became faster than when the pass in it was, and no rounds of both: what cannot be is
 * said to be so. */
static void test_impossible(Bench *bench, gconstpointer data)
{
    static const char yaml[] = "description: becomes faster\nprovenance: invented\nunits:\n"
                               "  U:\n    description: a unit\n    capabilities: [free-shapes]\n"
                               "    latency: {source: fixed, fixed: %s}\n";
    static const char reported[] = "the training step took less time than the training pass";
    static const char *const latencies[] = { "5 ms", "2 ms" }, *const asked[] = { "backward", "train --resume" };
    g_auto(Ended) ended = { 0 };
    bench->devices = bench->folder;
    for (int i = 0; i < 2; i++)
    {
        g_autofree char *text = g_strdup_printf(yaml, latencies[i]);
        g_autofree char *line =
            g_strdup_printf("profile -q matmul -p memory --runs 4 -d simulated:faster/U -o out --mode %s", asked[i]);
        bench_write(bench, "faster.yaml", text, strlen(text));
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_assert_true((strstr(ended.out, reported) != NULL) == (i == 1));
    }
    /* none where all of it is measured at one speed */
    run_line(bench, "profile -q matmul --mode train -p memory --runs 4 -d simulated:faster/U -o out", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, reported));
}

/* Interrupted in the rounds: the passes are kept and reported, and --resume measures what is missing. */
static void test_rounds_interrupted(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *out = NULL, *err = NULL;
    g_autoptr(GSubprocess) process = start_line(bench, "profile --mode backward --time-budget 2s " NOISY);
    g_autoptr(GDataInputStream) lines = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    for (gboolean seen = FALSE; !seen;)
    {
        g_autofree char *line = g_data_input_stream_read_line(lines, NULL, NULL, NULL);
        g_assert_nonnull(line);
        seen = strstr(line, "all passes in rounds  starts") != NULL;
    }
    g_subprocess_send_signal(process, SIGINT);
    g_assert_true(g_subprocess_communicate_utf8(process, NULL, NULL, &out, &err, NULL));
    g_assert_cmpint(status_of(process), ==, 128 + SIGINT);
    json_auto_t *json = read_json(bench, "out.json");
    g_assert_cmpfloat(number(json, "runtime.training_pass.n"), >, 0);
    g_assert_true(json_is_string(at(json, "runtime.backward.difference")));
    assert_none_left(bench);
    run_line(bench, "profile -q --resume --mode backward --time-budget 2s " NOISY, &ended);
    assert_status(&ended, 0);
    json_auto_t *whole = read_json(bench, "out.json");
    assert_adds_up(at(whole, "runtime"), number(whole, "runtime.backward.n_rounds"), FALSE);
    g_assert_cmpfloat(number(whole, "runtime.training_pass.n"), ==, number(json, "runtime.training_pass.n"));
}

/* --- a real runtime -------------------------------------------------------------------------------------------------- */

static void test_measured(Bench *bench, gconstpointer data)
{
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *json =
        profile(bench, "small-cnn,size=8,channels=4,batch=2 --mode train --optimiser momentum --runs 5 --no-peak "
                       "-d onnxruntime:CPU");
    g_assert_cmpstr(json_string_value(at(json, "mode.loss")), ==, "cross-entropy");
    static const char *const passes[] = { "forward", "training_pass", "training_step" };
    for (gsize i = 0; i < G_N_ELEMENTS(passes); i++)
        g_assert_cmpstr(json_string_value(at(case_of(json, passes[i]), "measurement.verification.status")), ==, "passed");
    /* layers of the step: nodes of the backward pass under the name of the node that they belong to, and the update */
    const json_t *rows = at(case_of(json, "training_step"), "layers.rows");
    gboolean backward = FALSE, update = FALSE;
    for (gsize i = 0; i < json_array_size(rows); i++)
    {
        const char *name = json_string_value(at(json_array_get(rows, i), "name"));
        backward |= name != NULL && g_str_has_prefix(name, "backward.conv1.");
        update |= name != NULL && g_str_has_prefix(name, "update.");
    }
    g_assert_true(backward);
    g_assert_true(update);
    g_assert_cmpuint(json_array_size(at(case_of(json, "forward"), "measurement.nodes")), ==, 0);
}

/* --- same seed, same bytes ------------------------------------------------------------------------------------------- */

static gint compare_lines(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What lies in a folder, by name, each file by its bytes. */
static char *digests(const Bench *bench, const char *folder)
{
    g_autofree char *path = bench_path(bench, folder);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    g_assert_nonnull(dir);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *file = g_build_filename(path, name, NULL), *bytes = NULL;
        gsize length = 0;
        g_assert_true(g_file_get_contents(file, &bytes, &length, NULL));
        g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, length);
        g_ptr_array_add(lines, g_strdup_printf("%s %s", name, digest));
    }
    g_ptr_array_sort(lines, compare_lines);
    g_ptr_array_add(lines, NULL);
    return g_strjoinv("\n", (char **)lines->pdata);
}

#define STEP "small-cnn,size=8,channels=4,train,cross-entropy,adam,0.001"

/* Seeded inputs, with those of the file in their places. @inputs: (out) [ifm_model_n_inputs()] */
static void feed(IfmModel *model, const char *path, IfmTensor *inputs)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, &error);
    g_assert_no_error(error);
    gsize n_fed = 0;
    g_assert_true(ifm_model_make_inputs(model, NULL, 0, 1, inputs, &error));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *from = ifm_tensor_file_find(file, ifm_model_input(model, i)->name);
        if (from == NULL)
            continue;
        g_assert_cmpuint(inputs[i].size_bytes, ==, from->size_bytes);
        memcpy(inputs[i].data, from->data, from->size_bytes);
        n_fed++;
    }
    g_assert_cmpuint(n_fed, ==, ifm_tensor_file_n(file));
}

static void add_outputs(GChecksum *checksum, IfmRequest *request, const IfmModel *model)
{
    g_autoptr(GError) error = NULL;
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        IfmTensor tensor = IFM_TENSOR_INIT;
        g_assert_true(ifm_request_output(request, i, &tensor, &error));
        g_checksum_update(checksum, tensor.data, (gssize)tensor.size_bytes);
    }
}

/* All outputs of the saved step, run from the saved inputs. (transfer full) NULL: no such engine. */
static char *outputs_digest(const Bench *bench, const char *out)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(bench->folder, out, "models", STEP ".onnx", NULL);
    g_autofree char *fed = g_build_filename(bench->folder, out, "inputs", STEP ".tensors", NULL);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, NULL);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CPU", &error);
    if (engine == NULL || !ifm_engine_probe_device(engine, spec, NULL))
        return NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1; /* sums of several threads may be taken in another order */
    IfmCompiled *compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    g_assert_no_error(error);
    IfmRequest *request = ifm_compiled_request(compiled, 0, &error);
    gsize n = ifm_model_n_inputs(model);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, n);
    feed(model, fed, inputs);
    for (gsize i = 0; i < n; i++)
        g_assert_true(ifm_request_set_input(request, i, &inputs[i], &error));
    g_assert_true(ifm_request_start(request, NULL, NULL, &error));
    g_assert_true(ifm_request_wait(request, IFM_CLOCK_NEVER, &error));
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    add_outputs(checksum, request, model);
    ifm_request_free(request);
    ifm_compiled_free(compiled);
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
    return g_strdup(g_checksum_get_string(checksum));
}

static void test_reproducible(Bench *bench, gconstpointer data)
{
    static const char *const outs[] = { "a", "b", "c" };
    static const int seeds[] = { 1, 1, 2 };
    char *models[3] = { NULL }, *inputs[3] = { NULL };
    for (gsize i = 0; i < 3; i++)
    {
        g_autofree char *line =
            g_strdup_printf("small-cnn,size=8,channels=4 --mode train --optimiser adam -p runtime -o %s "
                            "--runs 2 -d simulated:lab/FIXED --seed %d",
                            outs[i], seeds[i]);
        json_auto_t *json = profile(bench, line);
        g_autofree char *made = g_build_filename(outs[i], "models", NULL);
        g_autofree char *fed = g_build_filename(outs[i], "inputs", NULL);
        models[i] = digests(bench, made);
        inputs[i] = digests(bench, fed);
    }
    g_assert_cmpstr(models[0], ==, models[1]);
    g_assert_cmpstr(inputs[0], ==, inputs[1]);
    g_assert_cmpstr(models[0], !=, models[2]);
    g_assert_cmpstr(inputs[0], !=, inputs[2]);
    g_autofree char *first = outputs_digest(bench, "a"), *again = outputs_digest(bench, "b");
    if (first == NULL)
        g_test_skip("no ONNX Runtime on this machine to compute the outputs");
    g_assert_cmpstr(first, ==, again);
    for (gsize i = 0; i < 3; i++)
    {
        g_free(models[i]);
        g_free(inputs[i]);
    }
}

/* --- which model ----------------------------------------------------------------------------------------------------- */

/* A file of the user's, with a free dimension, which the target has, too. */
static void test_file(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export small-cnn batch=0 size=8 channels=4 -o m.onnx", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = profile(bench, "m.onnx --dim N=3 --mode train --runs 3 -d simulated:lab/FIXED");
    g_assert_cmpint(json_integer_value(at(case_of(json, "training_step"), "case.sizes.N")), ==, 3);
    g_assert_cmpstr(json_string_value(at(case_of(json, "training_step"), "case.subject_name")), ==, "m (training step)");
    run_line(bench, "profile m.onnx --mode train -p flops", &ended);
    assert_status(&ended, 0); /* a batch that nothing is said of is 1 */
    g_assert_nonnull(strstr(ended.err, "N is taken as 1"));
}

/* Batch normalisation by the batch and dropout are what is trained; the weights, and the work forward, stay as they are. */
static void test_training_form(Bench *bench, gconstpointer data)
{
    json_auto_t *plain = profile(bench, "googlenet,size=15 -p flops");
    json_auto_t *json = profile(bench, "googlenet,size=15 --mode train -p flops");
    g_assert_cmpstr(json_string_value(at(json, "model_info.source")), ==, "zoo:googlenet,size=15,form=training");
    g_assert_cmpfloat(number(json, "model_info.total_parameters"), ==, number(plain, "model_info.total_parameters"));
    g_assert_cmpfloat(number(json, "flops.total_macs"), ==, number(plain, "flops.total_macs"));
    g_assert_cmpstr(json_string_value(at(json, "mode.forward")), ==,
                    "forward in the training form, batch norm by the batch, dropout by inputs");
    const json_t *inputs = at(json, "model_info.inputs");
    g_assert_cmpuint(json_array_size(inputs), ==, 2);
    g_assert_cmpstr(json_string_value(at(json_array_get(inputs, 1), "name")), ==, "chance.dropout");
    g_autoptr(GError) error = NULL;
    g_autofree char *path =
        g_build_filename(bench->folder, "out", "profile", "models", "googlenet,size=15,form=training,forward.onnx", NULL);
    g_autoptr(IfmModel) forward = ifm_model_open(path, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < ifm_model_n_nodes(forward); i++)
        g_assert_cmpstr(ifm_model_node(forward, i)->op_type, !=, "BatchNormalization");
    /* one file of weights for all: nothing of 16 KiB or more is in the models themselves */
    GStatBuf info;
    g_assert_cmpint(g_stat(path, &info), ==, 0);
    g_assert_cmpint(info.st_size, <, 1 << 20);
    json_auto_t *evaluation = profile(bench, "googlenet,size=15 --mode backward -p flops");
    g_assert_cmpstr(json_string_value(at(evaluation, "model_info.source")), ==, "zoo:googlenet,size=15");
    g_assert_true(json_is_null(at(evaluation, "mode.forward")));
}

/* Dropout alone makes another forward pass, too, and that is told; without it nothing is. */
static void test_forward_words(Bench *bench, gconstpointer data)
{
#define SMALL "graph_transformer --num-nodes 12 --num-layers 1 --hidden-dim 8 --mode train -p runtime,flops"
    g_auto(Ended) ended = { 0 };
    json_auto_t *json = profile(bench, SMALL " --runs 3 -d simulated:lab/FIXED");
    g_assert_cmpstr(json_string_value(at(json, "mode.forward")), ==, "forward in the training form, dropout by inputs");
    run_line(bench, "profile -q " SMALL " --runs 3 -d simulated:lab/FIXED", &ended);
    assert_status(&ended, 0);
    g_assert_true(
        g_regex_match_simple("forward\\s+in\\s+the\\s+training\\s+form,\\s+dropout\\s+by\\s+inputs", ended.out, 0, 0));
    json_auto_t *kept = profile(bench, SMALL " --runs 3 -d simulated:lab/FIXED --dropout 0%");
    g_assert_true(json_is_null(at(kept, "mode.forward")));
    json_auto_t *evaluation = profile(bench, "gps --num-nodes 12 --num-layers 1 --mode backward -p flops");
    g_assert_true(json_is_null(at(evaluation, "mode.forward")));
}

/* --- what cannot be trained ------------------------------------------------------------------------------------------ */

static void refuse(Bench *bench, const char *line, int status, const char *part)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, line, &ended);
    assert_complaint(&ended, status, part);
    g_assert_cmpstr(ended.out, ==, "");
}

/* x [2, 3] w [3, 4] -> "product" -> OPERATOR -> y */
static void save_product(const Bench *bench, const char *name, gint64 opset, const char *op_type, IfmDtype made)
{
    static const gint64 x[] = { 2, 3 }, w[] = { 3, 4 }, y[] = { -1, -1 };
    static const char *const names[] = { "a", "b" };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("product", opset);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_random_weight(builder, "w", 2, w, 1, 1);
    ifm_model_builder_node(builder, "MatMul", "first", (const char *[]){ "x", "w", NULL },
                           (const char *[]){ "product", NULL });
    ifm_model_builder_node(builder, op_type, "second", (const char *[]){ "product", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", made, 2, y, names);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, name);
    g_assert_true(ifm_model_save(model, path, &error));
}

static void test_refused(Bench *bench, gconstpointer data)
{
    save_product(bench, "no-rule.onnx", 17, "Acosh", IFM_DTYPE_F32);
    refuse(bench, "profile no-rule.onnx --mode backward -p flops", 3, "node 'second' (Acosh): no gradient rule");
    refuse(bench, "profile no-rule.onnx --mode train -d simulated:lab/FIXED", 3, "no gradient rule");
    save_product(bench, "old.onnx", 6, "Relu", IFM_DTYPE_F32);
    refuse(bench, "profile old.onnx --mode train -p flops", 3, "opset 6");
    save_product(bench, "index.onnx", 17, "ArgMax", IFM_DTYPE_I64);
    refuse(bench, "profile index.onnx --mode train -p flops", 3, "floating-point");
}

/* x [2, 3] -> Relu -> y */
static void test_nothing_to_train(Bench *bench, gconstpointer data)
{
    static const gint64 x[] = { 2, 3 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("bare", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, x, NULL);
    ifm_model_builder_node(builder, "Relu", "only", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, x, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, "bare.onnx");
    g_assert_true(ifm_model_save(model, path, &error));
    refuse(bench, "profile bare.onnx --mode train -p flops", 3, "nothing to train");
}

/* Weights in branches (tests/data/branches.py) train where it is known which branch runs; the others have no gradient. */
static void test_branches(Bench *bench, gconstpointer data)
{
    g_autofree char *known = g_test_build_filename(G_TEST_DIST, "data", "weights-known.onnx", NULL);
    g_autofree char *open = g_test_build_filename(G_TEST_DIST, "data", "weights-open.onnx", NULL);
    static const char *const modes[] = { "train", "backward" };
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *trains = g_strdup_printf("profile %s --mode %s -p flops", known, modes[i]);
        g_autofree char *refused = g_strdup_printf("profile %s --mode %s -p flops", open, modes[i]);
        run_line(bench, trains, &ended);
        assert_status(&ended, 0);
        g_assert_nonnull(strstr(ended.out, "weights   0 trainable, 128 within branches and bodies; "));
        refuse(bench, refused, 3, "nothing to train: all its weights lie in branches and bodies");
    }
}

static void test_loss_does_not_fit(Bench *bench, gconstpointer data)
{
    static const gint64 x[] = { 2, 3, 4 }, w[] = { 4 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("cube", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 3, x, NULL);
    ifm_model_builder_random_weight(builder, "w", 1, w, 1, 1);
    ifm_model_builder_node(builder, "Mul", "scale", (const char *[]){ "x", "w", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 3, x, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, "cube.onnx");
    g_assert_true(ifm_model_save(model, path, &error));
    refuse(bench, "profile cube.onnx --mode train --loss cross-entropy -p flops", 3, "cross-entropy is of [rows, classes]");
}

/* Said before it is tried, in one line, whatever else the mode has. */
static void test_too_large(Bench *bench, gconstpointer data)
{
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    refuse(bench, "profile small-cnn,batch=4096,size=1024 --mode train -q --no-peak --runs 2 -d onnxruntime:CPU", 3,
           "needs at least");
}

static void test_usage(Bench *bench, gconstpointer data)
{
    refuse(bench, "profile matmul --loss mse -p flops", 2, "--loss: the forward pass has none");
    refuse(bench, "profile matmul --mode backward --optimiser adam -p flops", 2, "only a training step has one");
    refuse(bench, "profile matmul --mode train --learning-rate fast -p flops", 2, "not a number above 0");
    refuse(bench, "profile matmul --mode train --learning-rate 0 -p flops", 2, "not a number above 0");
    refuse(bench, "profile matmul --mode backwards -p flops", 2, "backward");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-mode/work", Bench, NULL, bench_init, test_work, bench_clear);
    g_test_add("/profile-mode/equal", Bench, NULL, bench_init, test_equal, bench_clear);
    g_test_add("/profile-mode/difference", Bench, NULL, bench_init, test_difference, bench_clear);
    g_test_add("/profile-mode/adds-up", Bench, NULL, bench_init, test_adds_up, bench_clear);
    g_test_add("/profile-mode/no-rounds", Bench, NULL, bench_init, test_no_rounds, bench_clear);
    g_test_add("/profile-mode/impossible", Bench, NULL, bench_init, test_impossible, bench_clear);
    g_test_add("/profile-mode/rounds-interrupted", Bench, NULL, bench_init, test_rounds_interrupted, bench_clear);
    g_test_add("/profile-mode/measured", Bench, NULL, bench_init, test_measured, bench_clear);
    g_test_add("/profile-mode/reproducible", Bench, NULL, bench_init, test_reproducible, bench_clear);
    g_test_add("/profile-mode/file", Bench, NULL, bench_init, test_file, bench_clear);
    g_test_add("/profile-mode/training-form", Bench, NULL, bench_init, test_training_form, bench_clear);
    g_test_add("/profile-mode/forward-words", Bench, NULL, bench_init, test_forward_words, bench_clear);
    g_test_add("/profile-mode/refused", Bench, NULL, bench_init, test_refused, bench_clear);
    g_test_add("/profile-mode/nothing", Bench, NULL, bench_init, test_nothing_to_train, bench_clear);
    g_test_add("/profile-mode/branches", Bench, NULL, bench_init, test_branches, bench_clear);
    g_test_add("/profile-mode/loss", Bench, NULL, bench_init, test_loss_does_not_fit, bench_clear);
    g_test_add("/profile-mode/too-large", Bench, NULL, bench_init, test_too_large, bench_clear);
    g_test_add("/profile-mode/usage", Bench, NULL, bench_init, test_usage, bench_clear);
    return g_test_run();
}
