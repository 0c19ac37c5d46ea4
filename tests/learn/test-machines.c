#include <glib/gstdio.h>
#include <string.h>

#include "folder.h"
#include "law.h"

/* Samples of several machines, what is predicted for one that was not measured, and tables of other collectors. */

/* --- descriptions of machines -------------------------------------------------------------------------------------------
 */

/* A file in a folder of its own. (transfer full) its path; NULL: without the file */
static char *new_file(const char *name, const char *text, char **folder)
{
    *folder = g_dir_make_tmp("machines-XXXXXX", NULL);
    char *path = g_build_filename(*folder, name, NULL);
    g_assert_true(text == NULL || g_file_set_contents(path, text, -1, NULL));
    return path;
}

static IfmMachine *read_text(const char *text, GError **error)
{
    g_autofree char *folder = NULL, *path = new_file("machine.yaml", text, &folder);
    IfmMachine *machine = ifm_machine_read(path, error);
    remove_tree(folder);
    return machine;
}

static void test_description(void)
{
    static const char *const refused[][2] = {
        { "machine: A\nbytes_per_s: 3e11\ncores: 60\n", "flop_per_s" },
        { "machine: A\nflop_per_s: -1\nbytes_per_s: 3e11\ncores: 60\n", "flop_per_s" },
        { "machine: A\nflop_per_s: fast\nbytes_per_s: 3e11\ncores: 60\n", "flop_per_s" },
        { "machine: A\nflop_per_s: 3e13\nbytes_per_s: 3e11\ncores: 60\nclock: 2e9\n", "clock_hz" },
        { "flop_per_s: 3e13\nbytes_per_s: 3e11\ncores: 60\n", "machine" },
        { "", "machine.yaml" },
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmMachine) machine =
        read_text("machine: NVIDIA L4\nflop_per_s: 31.3e12\nbytes_per_s: 300e9\ncores: 60\nclock_hz: 2.04e9\n", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(machine->name, ==, "NVIDIA L4");
    g_assert_cmpfloat(machine->features.bytes_per_s, ==, 300e9);
    g_assert_true(isnan(machine->features.cache_bytes) && isnan(machine->features.cache_bytes_per_s));
    g_autoptr(IfmMachine) json =
        read_text("{\"machine\": \"B\", \"flop_per_s\": 1e13, \"bytes_per_s\": 1e12, \"cores\": 8}\n", &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(json->features.cores, ==, 8);
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_assert_null(read_text(refused[i][0], &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, refused[i][1]));
        g_assert_null(strchr(error->message, '\n'));
        g_clear_error(&error);
    }
}

/* --- learning from several ----------------------------------------------------------------------------------------------
 */

/* Of a law machine the latency is max(FLOP / peak, bytes / bandwidth) and a fixed part, by a factor of the operator and one
 * of its own (0.85 to 1.15), which no number says. */
static const IfmMachine law_machines[] = {
    { (char *)"small", { 50e9, 20e9, 1e6, NAN, 4, 2e9 } },     { (char *)"wide", { 200e9, 25e9, 2e6, NAN, 8, 2e9 } },
    { (char *)"fast", { 400e9, 100e9, 8e6, NAN, 16, 3e9 } },   { (char *)"large", { 800e9, 160e9, 16e6, NAN, 32, 3e9 } },
    { (char *)"other", { 300e9, 60e9, 4e6, NAN, 12, 2.5e9 } },
};
#define N_TRAINED 4

static double machine_ns(const IfmMachine *machine, const IfmKernelSample *sample, double factor)
{
    const double own = 0.85 + 0.15 * (*machine->name % 3);
    return own * factor *
           (LAW_LEAST_NS +
            1e9 * fmax(sample->flop / machine->features.flop_per_s, learn_bytes(sample) / machine->features.bytes_per_s));
}

/* @described: FALSE: without features of the machines */
static void add_machine(IfmKernelSamples *samples, const IfmMachine *machine, guint n, gboolean described)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (guint i = 0; i < n; i++)
    {
        const LawOperator *kind = &law_operators[g_rand_int_range(random, 0, G_N_ELEMENTS(law_operators))];
        g_autofree char *id = g_strdup_printf("k%u", i);
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        law_shape(&sample, random, kind->conv);
        sample.kernel_id = id;
        sample.op_type = kind->name;
        sample.input_shape = "1";
        sample.machine = machine->name;
        if (described)
            sample.place = machine->features;
        sample.latency_ms = machine_ns(machine, &sample, kind->factor) * law_noise(random, 0.02) / 1e6;
        ifm_kernel_samples_add(samples, &sample);
    }
}

static IfmKernelSamples *machine_samples(guint n_machines, gboolean described)
{
    IfmKernelSamples *samples = ifm_kernel_samples_new(NULL);
    for (guint i = 0; i < n_machines; i++)
        add_machine(samples, &law_machines[i], 60, described);
    return samples;
}

static IfmLatencyModel *train_machines(guint n_machines)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = machine_samples(n_machines, TRUE);
    IfmLearnOptions options = law_options();
    options.data = "law.csv";
    IfmLatencyModel *model = ifm_learn_train(samples, &options, &error);
    g_assert_no_error(error);
    return model;
}

/* Mean of |predicted / law - 1| of kernels that were not trained on. @width: (out) mean of high over low */
static double error_on(const IfmLatencyModel *model, const IfmMachine *machine, double *width)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(77);
    double sum = 0;
    *width = 0;
    for (guint i = 0; i < 100; i++)
    {
        const LawOperator *kind = &law_operators[g_rand_int_range(random, 0, G_N_ELEMENTS(law_operators))];
        IfmKernelSample sample;
        IfmPredictedLatency predicted;
        ifm_kernel_sample_init(&sample);
        law_shape(&sample, random, kind->conv);
        sample.op_type = kind->name;
        ifm_latency_model_predict(model, &sample, NULL, &predicted);
        sum += fabs(predicted.latency_ns / machine_ns(machine, &sample, kind->factor) - 1) / 100;
        *width += predicted.high_ns / predicted.low_ns / 100;
    }
    return sum;
}

/* A machine that was never measured goes by its numbers, and its intervals are those of machines that were left out. */
static void test_unseen(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmLatencyModel) model = train_machines(N_TRAINED);
    IfmLatencyModelInfo info;
    double known_width, unseen_width, wrong_width;
    ifm_latency_model_info(model, &info);
    g_assert_cmpuint(info.machines->len, ==, N_TRAINED);
    g_assert_false(ifm_latency_model_place(model, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "learnt on 4 machines (small, wide, fast, large)"));
    g_clear_error(&error);
    g_assert_true(ifm_latency_model_place(model, ifm_latency_model_find_machine(model, "fast"), NULL));
    const double known = error_on(model, &law_machines[2], &known_width);
    g_assert_cmpfloat(known, <, 0.1);
    g_assert_cmpfloat(error_on(model, &law_machines[0], &wrong_width), >, 0.5); /* of another machine it is not */
    g_assert_null(ifm_latency_model_outside_machines(model));
    g_assert_true(ifm_latency_model_place(model, &law_machines[N_TRAINED], NULL));
    g_assert_cmpfloat(error_on(model, &law_machines[N_TRAINED], &unseen_width), <, 0.45);
    g_assert_cmpfloat(unseen_width, >, known_width);
    g_assert_null(ifm_latency_model_outside_machines(model));
    IfmMachine far = law_machines[N_TRAINED];
    far.features.flop_per_s = 5e12;
    g_assert_true(ifm_latency_model_place(model, &far, NULL));
    g_autofree char *outside = ifm_latency_model_outside_machines(model);
    g_assert_cmpstr(outside, ==, "flop_per_s 5e+12, learnt from 5e+10 to 8e+11");
}

/* What trees say of the last of two machines, after 2,000 rows of them by turns: 0 of the first, 1 of the last. */
static double at_last(const IfmMachine *const *two)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    g_autoptr(IfmLatencyModel) model = learn_model_alloc();
    g_auto(LearnTable) table = { 0 };
    const gsize n_base = g_strv_length((GStrv)learn_base_features);
    const IfmLearnOptions options = law_options();
    IfmKernelSample sample;
    float row[LEARN_MAX_FEATURES];
    ifm_kernel_sample_init(&sample);
    for (guint i = 0; i < 2; i++)
    {
        LearnMachine *machine = g_new0(LearnMachine, 1);
        *machine = (LearnMachine){ { g_strdup(two[i]->name), two[i]->features }, (double)NAN };
        g_ptr_array_add(model->machines, machine);
    }
    learn_table_init(&table, n_base + g_strv_length((GStrv)learn_machine_features));
    for (gsize k = 0; k < table.n_columns; k++)
        row[k] = NAN;
    for (guint i = 0; i < 2000; i++)
    {
        const float y = (float)(i % 2);
        sample.place = two[i % 2]->features;
        learn_blur_machine(model, &sample, random, row);
        g_array_append_vals(table.x, row, (guint)table.n_columns);
        g_array_append_val(table.y, y);
    }
    g_assert_true(learn_trees_train(&model->idle, &table, LEARN_MACHINES, IFM_LEARN_BOOSTED, &options, NULL, &error));
    learn_fill_machine(&sample.place, &sample, (double)NAN, row + n_base);
    return learn_trees_at(&model->idle, row);
}

/* Trees tell machines apart by numbers that differ, not by such as are nearly the same. */
static void test_near(void)
{
    IfmMachine near = law_machines[1];
    near.features.flop_per_s *= 1.02;
    near.features.cores *= 1.01;
    g_assert_cmpfloat(at_last((const IfmMachine *const[]){ &law_machines[1], &law_machines[3] }), >, 0.95);
    g_assert_cmpfloat(at_last((const IfmMachine *const[]){ &law_machines[1], &near }), <, 0.8);
}

/* What has one value of a feature is predicted by trees of its own, all else as before. */
static void test_graft(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    const IfmLearnOptions options = law_options();
    LearnTrees trees[2] = { 0 };
    for (gsize k = 0; k < 2; k++)
    {
        g_auto(LearnTable) table = { 0 };
        learn_table_init(&table, 2);
        for (guint i = 0; i < 300; i++)
        {
            const float row[] = { (float)(k == 1 ? 1 : 2 * (i % 2)), (float)g_rand_double(random) };
            const float y = k == 1 ? 3 - row[1] : row[0] + row[1];
            g_array_append_vals(table.x, row, 2);
            g_array_append_val(table.y, y);
        }
        g_assert_true(learn_trees_train(&trees[k], &table, LEARN_MACHINES, IFM_LEARN_BOOSTED, &options, NULL, &error));
        g_assert_no_error(error);
    }
    const float rows[][2] = { { 0, 0.2f }, { 1, 0.2f }, { 2, 0.2f }, { 1, 0.9f }, { NAN, 0.5f } };
    double before[G_N_ELEMENTS(rows)];
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        before[i] = learn_trees_at(&trees[rows[i][0] == 1], rows[i]);
    learn_trees_graft(&trees[0], &trees[1], 0, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpfloat(fabs(learn_trees_at(&trees[0], rows[i]) - before[i]), <, 1e-4);
    learn_trees_clear(&trees[0]);
    learn_trees_clear(&trees[1]);
}

/* A machine in a file is the machine in memory. */
static void test_round_trip(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = NULL, *path = new_file("latency.json", NULL, &folder);
    g_autoptr(IfmLatencyModel) model = train_machines(3);
    g_assert_true(ifm_latency_model_write(model, path, &error));
    g_autoptr(IfmLatencyModel) again = ifm_latency_model_read(path, &error);
    g_assert_no_error(error);
    remove_tree(folder);
    double width, width_again;
    g_assert_true(ifm_latency_model_place(model, &law_machines[4], NULL));
    g_assert_true(ifm_latency_model_place(again, &law_machines[4], NULL));
    g_assert_cmpfloat(error_on(model, &law_machines[4], &width), ==, error_on(again, &law_machines[4], &width_again));
    g_assert_cmpfloat(width, ==, width_again);
    json_auto_t *json = ifm_latency_model_to_json(model);
    json_object_set_new(json_array_get(json_object_get(json, "machines"), 1), "flop_per_s", json_integer(0));
    g_assert_null(ifm_latency_model_from_json(json, "t.json", &error));
    g_assert_nonnull(strstr(error->message, "t.json.machines.flop_per_s: found 0"));
}

/* The evaluation leaves each machine out, and the baselines know its peaks, too. */
static void test_evaluation(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = machine_samples(3, TRUE);
    IfmLearnOptions options = law_options();
    g_autoptr(GPtrArray) errors = ifm_learn_evaluate(samples, &options, &error);
    guint n = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < errors->len; i++)
    {
        const IfmLearnError *row = errors->pdata[i];
        if (!g_str_equal(row->protocol, "machine unseen") || !g_str_equal(row->part, "all"))
            continue;
        n++;
        g_assert_cmpint(row->n, ==, 180);
        if (g_str_equal(row->method, "chosen") || g_str_equal(row->method, "linear"))
            g_assert_cmpfloat(row->mape, <, 0.8);
    }
    g_assert_cmpuint(n, ==, 4);
}

static void assert_refused(const IfmKernelSamples *samples, const char *message)
{
    g_autoptr(GError) error = NULL;
    const IfmLearnOptions options = law_options();
    g_assert_null(ifm_learn_train(samples, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_mixed(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) plain = machine_samples(2, FALSE), half = machine_samples(1, TRUE),
                                two_ways = machine_samples(2, TRUE), unnamed = machine_samples(2, TRUE);
    assert_refused(plain, "samples of 2 machines, and \"small\" is not described (Machine_FLOP_per_s): learn from one, "
                          "describe each (train --machines), or name what they are");
    add_machine(half, &law_machines[1], 60, FALSE);
    assert_refused(half, "samples of 2 machines, and \"wide\" is not described (Machine_FLOP_per_s): learn from one, "
                         "describe each (train --machines), or name what they are");
    g_assert_cmpuint(ifm_kernel_samples_place(half, &law_machines[1]), ==, 60);
    g_assert_cmpuint(ifm_kernel_samples_place(half, &law_machines[2]), ==, 0);
    const IfmLearnOptions options = law_options();
    g_autoptr(IfmLatencyModel) described = ifm_learn_train(half, &options, &error);
    g_assert_no_error(error);
    IfmMachine changed = law_machines[1];
    changed.features.clock_hz = 1e9;
    add_machine(two_ways, &changed, 1, TRUE);
    assert_refused(two_ways, "rows of wide describe it in two ways (Machine_FLOP_per_s and so on)");
    changed.name = (char *)"";
    add_machine(unnamed, &changed, 1, TRUE);
    assert_refused(unnamed, "samples of several machines, and some whose Machine is empty");
}

/* A model of one machine knows nothing of another. */
static void test_one(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmLatencyModel) model = train_machines(1);
    IfmLatencyModelInfo info;
    ifm_latency_model_info(model, &info);
    g_assert_cmpuint(info.machines->len, ==, 0);
    g_assert_true(ifm_latency_model_place(model, NULL, &error));
    g_assert_false(ifm_latency_model_place(model, &law_machines[1], &error));
    g_assert_nonnull(
        strstr(error->message, "wide: the model was learnt on one machine, small and knows nothing of others"));
}

/* --- tables of other collectors -----------------------------------------------------------------------------------------
 */

static IfmKernelSamples *read_as(const char *columns, const char *text, GError **error)
{
    g_autofree char *folder = NULL, *path = new_file("t.csv", text, &folder);
    IfmKernelSamples *samples = ifm_kernel_samples_read_as(path, columns, error);
    remove_tree(folder);
    return samples;
}

static void test_columns(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelSamples) samples = read_as(
        "op=OPName,shape=B*M*N,latency_us=Latency,Machine=Device,Batch=B,M=M,K=N,N_Columns=K,FLOP=2*B*M*N*K,"
        "Input_Bytes=4*B*M*N + 4*B*N*K,Threads=\"Warps per SM\",Level='fp32'",
        "OPName,Latency,Device,B,M,N,K,Warps per SM,Kernel_ID\nbmm,250,T4,2,3,5,7,8,x\nbmm,250,T4,2,3,5,8,,y\n", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_kernel_samples_n(samples), ==, 2);
    const IfmKernelSample *first = ifm_kernel_samples_at(samples, 0), *second = ifm_kernel_samples_at(samples, 1);
    g_assert_cmpstr(first->op_type, ==, "bmm");
    g_assert_cmpstr(first->input_shape, ==, "2x3x5");
    g_assert_cmpfloat(first->latency_ms, ==, 0.25);
    g_assert_cmpstr(first->machine, ==, "T4");
    g_assert_cmpfloat(first->features.k, ==, 5);
    g_assert_cmpfloat(first->features.n, ==, 7);
    g_assert_cmpfloat(first->flop, ==, 2 * 2 * 3 * 5 * 7);
    g_assert_cmpfloat(first->input_bytes, ==, 4 * 2 * (3 * 5 + 5 * 7));
    g_assert_cmpstr(first->level, ==, "fp32");
    g_assert_cmpfloat(first->threads, ==, 8);
    g_assert_true(isnan(second->threads) && isnan(first->n) && isnan(first->weight_bytes));
    g_assert_cmpfloat(first->features.height, ==, 0);         /* it has none */
    g_assert_cmpstr(first->kernel_id, !=, second->kernel_id); /* made of the sizes, not read */
    g_assert_true(g_str_has_prefix(first->kernel_id, "bmm 2x3x5 "));
}

static void test_columns_refused(void)
{
    static const struct
    {
        const char *columns;
        int code;
        const char *message;
    } rows[] = {
        { "op=o,shape=s", IFM_ERROR_USAGE, "--columns: Latency_ms is not named: mean of the repetition's runs" },
        { "op=o,shape=s,latency_ms=t,Speed=t", IFM_ERROR_USAGE, "--columns: \"Speed\" is no column of samples" },
        { "op=o,shape=s,latency_ms=t,latency_us=t", IFM_ERROR_USAGE, "--columns: Latency_ms is named twice" },
        { "op=o,shape=s,latency_ms='fast'", IFM_ERROR_USAGE, "--columns: Latency_ms is a number: a 'text' is none" },
        { "op=o+s,shape=s,latency_ms=t", IFM_ERROR_USAGE, "--columns: OpType is a text" },
        { "op=o,shape=s,latency_ms=", IFM_ERROR_USAGE, "--columns: found \"\", expected a column of the file" },
        { "op=o,shape=s,latency_ms=t t", IFM_ERROR_USAGE, "--columns: found \"t\", expected a comma, + or *" },
        { "op=o,shape=s,latency_ms=\"t", IFM_ERROR_USAGE, "--columns: \"t: the quote is not closed" },
        { "op=o,shape=s,latency_ms=2t", IFM_ERROR_USAGE, "--columns: found \"t\" after a number" },
        { "op", IFM_ERROR_USAGE, "--columns: op: expected =" },
        { "", IFM_ERROR_USAGE, "--columns: found \"\", expected a column" },
        { "op=o,shape=s,latency_ms=time", IFM_ERROR_INVALID, "t.csv:1: " },
        { "op=o,shape=s,latency_ms=s", IFM_ERROR_INVALID, "t.csv:2: s: \"a\" is not a number" },
        { "op=o,shape=s,latency_ms=0*t", IFM_ERROR_INVALID, "t.csv:2: Latency_ms: found 0, expected a number above 0" },
        { "op=o,shape=s,latency_ms=u", IFM_ERROR_INVALID, "t.csv:2: Latency_ms is empty" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(read_as(rows[i].columns, "o,s,t,u\nRelu,a,1,\n", &error));
        g_assert_error(error, IFM_ERROR, rows[i].code);
        if (strstr(error->message, rows[i].message) == NULL)
            g_error("%s: \"%s\", expected \"%s\"", rows[i].columns, error->message, rows[i].message);
        g_assert_null(strchr(error->message, '\n'));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/machines/description", test_description);
    g_test_add_func("/machines/unseen", test_unseen);
    g_test_add_func("/machines/near", test_near);
    g_test_add_func("/machines/graft", test_graft);
    g_test_add_func("/machines/round-trip", test_round_trip);
    g_test_add_func("/machines/evaluation", test_evaluation);
    g_test_add_func("/machines/mixed", test_mixed);
    g_test_add_func("/machines/one", test_one);
    g_test_add_func("/machines/columns", test_columns);
    g_test_add_func("/machines/columns-refused", test_columns_refused);
    return g_test_run();
}
