#include <math.h>

#include <base/fields.h>
#include <measure/kinds.h>
#include <onnx/onnx.h>
#include <store/store.h>
#include <study/findings.h>
#include <study/study-pages.h>

#include "document/summary-line.h"
#include "study-fixture.h"

/* Studies of convolution algorithms, on a described device whose algorithms take a known share of the time. */

static const char machine[] = "description: a test's\n"
                              "provenance: invented\n"
                              "units:\n"
                              "  A:\n"
                              "    description: one\n"
                              "    capabilities: [profile]\n"
                              "    convolutions: {direct: 1, winograd: 0.5, gemm: 2}\n"
                              "    latency: {source: roofline, roofline: {flop_per_s: 1e9, bytes_per_s: 1e18}}\n"
                              "  NOISY:\n"
                              "    description: one whose runs scatter\n"
                              "    capabilities: [profile]\n"
                              "    convolutions: {direct: 1}\n"
                              "    noise: {kind: lognormal, sigma: 0.1, seed: 7}\n"
                              "    latency: {source: roofline, roofline: {flop_per_s: 1e9, bytes_per_s: 1e18}}\n"
                              "  PLAIN: {description: another, latency: {source: fixed, fixed: 1 ms}}\n";

#define HEAD "title: conv\nkind: conv-algorithms\n"
#define DEVICE "devices: {A: {device: simulated:toy/A}}\n"
#define FIXED "protocol: {warmup: 1, runs: 5}\nverify: false\nenergy: none\n"
#define SMALL HEAD "models: [small-cnn]\nalgorithms: [direct, winograd, fft, runtime]\n" DEVICE FIXED

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture_on_machine(fixture, machine);
}

static gboolean run_shard(const Fixture *fixture, IfmStudy *study, IfmStore *store, gsize shard, gsize n_shards)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmCampaignProgress result;
    IfmStudyOptions options = { .folder = folder, .shard = shard, .n_shards = n_shards };
    options.limits = IFM_LIMITS_INIT;
    gboolean good = ifm_study_measure(study, store, &options, &result, &error);
    g_assert_no_error(error);
    return good;
}

static IfmStudyTables *points_of(IfmStore *store)
{
    g_autoptr(GError) error = NULL;
    IfmStudyTables *points = ifm_study_tables(NULL, store, &error);
    g_assert_no_error(error);
    return points;
}

/* points.csv of what a store holds. (transfer full) */
static char *csv_of(const Fixture *fixture, IfmStore *store)
{
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, store, NULL);
    g_autofree char *folder = g_build_filename(fixture->folder, "tables", NULL),
                    *path = g_build_filename(folder, "points.csv", NULL);
    char *text = NULL;
    g_mkdir_with_parents(folder, 0777);
    g_assert_true(results != NULL && ifm_study_results_write(results, folder, NULL));
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* --- the sizes ------------------------------------------------------------------------------------------------------- */

/* "64 81 …" of one model with its first algorithm. (transfer full) */
static char *sizes_of(IfmStudy *study, const char *model)
{
    g_autofree char *start = g_strdup_printf("A %s, direct, input_size ", model);
    GString *sizes = g_string_new(NULL);
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        const char *title = ((const IfmStudyCase *)cases->pdata[i])->title;
        if (g_str_has_prefix(title, start))
            g_string_append_printf(sizes, "%s%s", sizes->len > 0 ? " " : "", title + strlen(start));
    }
    return g_string_free(sizes, FALSE);
}

static void test_sizes(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *settings[3], *model, *sizes;
    } rows[] = {
        { { NULL }, "resnet18", "224" },
        { { "level=quick" }, "resnet18", "32 44 59 81 110 149 203 276 376 512" },
        { { "level=quick" }, "alexnet", "64 81 102 128 161 203 256 323 406 512" },
        { { "num_sizes=3", "max_size=128" }, "resnet18", "32 64 128" },
        { { "max_size=100" }, "resnet18", "100" },
        { { "sizes=[80, 70]", "level=full" }, "resnet18", "80 70" },
    };
    static const char text[] = HEAD "models: [resnet18, alexnet]\nalgorithms: [direct, winograd]\n" DEVICE;
    g_autofree char *path = write_file(fixture, "small.yaml", text);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStudy) study = ifm_study_open_set(path, rows[i].settings, &error);
        g_assert_no_error(error);
        g_autofree char *sizes = sizes_of(study, rows[i].model);
        g_assert_cmpstr(sizes, ==, rows[i].sizes);
    }
    g_autoptr(IfmStudy) full = ifm_study_open_set(path, (const char *const[]){ "level=full", NULL }, NULL);
    g_assert_nonnull(full);
    g_assert_cmpuint(ifm_study_cases(full)->len, >, 2 * 2 * 90); /* 100 sizes but for those that round to the same */
}

static void test_mistakes(Fixture *fixture, gconstpointer data)
{
    static const char *const rows[][2] = {
        { "algorithms=[winnograd]",
          "algorithms: \"winnograd\" is not a convolution algorithm; did you mean \"winograd\"?" },
        { "algorithms=[direct, Direct]", "algorithms: \"direct\" is listed twice" },
        { "models=[matmul]", "models: \"matmul\" is no convolutional network of the zoo" },
        { "models=[vit]", "models: \"vit\" is no convolutional network of the zoo" },
        { "models=[resnet19]", "there is no model 'resnet19'; did you mean \"resnet18\"?" },
        { "models=[\"resnet18,size=32\"]", "size is an axis of the study; give it once" },
        { "level=fast", "level is \"fast\"; it should be one of: sanity, quick, full" },
        { "max_size=33", "max_size: alexnet takes images of 64 or more, not 33" },
        { "fallback=none", "fallback: \"none\" is not a convolution algorithm" },
        { "energy=solar", "energy: \"solar\" is no source of energy" },
        { "lewel=full", "unknown key \"lewel\"; did you mean \"level\"?" },
        { "level", "\"level\" is not KEY=VALUE" },
        { "level=[", "level=[" },
    };
    g_autofree char *path =
        write_file(fixture, "small.yaml", HEAD "models: [resnet18, alexnet]\nalgorithms: [direct]\n" DEVICE);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        const char *const settings[] = { rows[i][0], NULL };
        g_assert_null(ifm_study_open_set(path, settings, &error));
        assert_says(&error, IFM_ERROR_INVALID, rows[i][1]);
    }
}

/* --- files ----------------------------------------------------------------------------------------------------------- */

/* What a file of the tests has. @dims: of its input, 0: free, and named by its axis */
typedef struct
{
    const char *name;
    gint64 dims[4];
    int rank;
    gboolean convolves, even; /* even: two paths that meet where height and width are even */
} Net;

static void save_net(const Fixture *fixture, const Net *net)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("net", 17);
    const char *const axes[] = { "n", "c", "h", "w" };
    g_autofree char *path = g_build_filename(fixture->folder, net->name, NULL);
    gint64 dims[4];
    for (int i = 0; i < net->rank; i++)
        dims[i] = net->dims[i] > 0 ? net->dims[i] : -1;
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, net->rank, dims, axes);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, -1, NULL, NULL);
    ifm_model_builder_random_weight(builder, "w", 4, (gint64[]){ 3, 3, 2, 2 }, 0.5, 1);
    if (!net->convolves)
        ifm_model_builder_node(builder, "Relu", "relu", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    else
        ifm_model_builder_node(builder, net->even ? "Conv strides=[2,2]" : "Conv", "conv",
                               (const char *[]){ "x", "w", NULL }, (const char *[]){ net->even ? "half" : "y", NULL });
    if (net->even)
    {
        ifm_model_builder_node(builder, "ConvTranspose strides=[2,2]", "up", (const char *[]){ "half", "w", NULL },
                               (const char *[]){ "whole", NULL });
        ifm_model_builder_node(builder, "Concat axis=1", "join", (const char *[]){ "x", "whole", NULL },
                               (const char *[]){ "y", NULL });
    }
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
}

static const Net nets[] = {
    { "fixed.onnx", { 1, 3, 48, 40 }, 4, TRUE, FALSE }, { "four.onnx", { 4, 3, 48, 48 }, 4, TRUE, FALSE },
    { "free.onnx", { 0, 3, 0, 0 }, 4, TRUE, FALSE },    { "even.onnx", { 0, 3, 0, 0 }, 4, TRUE, TRUE },
    { "plain.onnx", { 0, 3, 0, 0 }, 4, FALSE, FALSE },  { "flat.onnx", { 0, 3 }, 2, FALSE, FALSE },
    { "small.onnx", { 1, 3, 1, 1 }, 4, TRUE, FALSE },   { "sub/free.onnx", { 0, 3, 0, 0 }, 4, TRUE, FALSE },
    { "high.onnx", { 0, 3, 64, 0 }, 4, TRUE, FALSE },
};

/* A file has the sizes that its windows fit, or its own; what it cannot be measured with is refused in one line. */
static void test_files(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *settings[4], *model, *sizes;
    } good[] = {
        { { "models=[fixed.onnx]" }, "fixed.onnx", "48" },
        { { "models=[fixed.onnx]", "sizes=[64]" }, "fixed.onnx", "48" },
        { { "models=[four.onnx]", "batch=4" }, "four.onnx", "48" },
        { { "models=[free.onnx, resnet18]", "num_sizes=3", "max_size=128" }, "free.onnx", "32 64 128" },
        { { "models=[even.onnx]", "num_sizes=4", "max_size=101" }, "even.onnx", "32 48 70 100" },
        { { "models=[even.onnx]", "max_size=223" }, "even.onnx", "222" },
        { { "models=[high.onnx]", "sizes=[2, 80]" }, "high.onnx", "2 80" },
    };
    static const char *const bad[][3] = {
        { "models=[plain.onnx]", NULL, "/plain.onnx: has no convolution" },
        { "models=[flat.onnx]", NULL, "/flat.onnx: has no convolution" },
        { "models=[four.onnx]", NULL, "/four.onnx: its batch is fixed at 4, and 1 is asked for" },
        { "models=[small.onnx]", NULL, "models: small: node 0 (Conv 'conv')" },
        { "models=[fre.onnx]", NULL, "/fre.onnx: no such file; did you mean \"free.onnx\"?" },
        { "models=[free.onnx, sub/free.onnx]", NULL, "models: two files are called free.onnx" },
        { "models=[free.onnx]", "sizes=[1]", "sizes: free.onnx takes images of 2 or more, not 1" },
        { "models=[even.onnx]", "sizes=[33]", "sizes: even.onnx takes no images of 33: even: node 2 (Concat 'join')" },
    };
    g_autofree char *sub = g_build_filename(fixture->folder, "sub", NULL);
    g_assert_cmpint(g_mkdir_with_parents(sub, 0777), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(nets); i++)
        save_net(fixture, &nets[i]);
    g_autofree char *path =
        write_file(fixture, "small.yaml", HEAD "models: [resnet18]\nalgorithms: [direct, winograd]\n" DEVICE);
    for (gsize i = 0; i < G_N_ELEMENTS(good); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStudy) study = ifm_study_open_set(path, good[i].settings, &error);
        g_assert_no_error(error);
        g_autofree char *sizes = sizes_of(study, good[i].model);
        g_assert_cmpstr(sizes, ==, good[i].sizes);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_autoptr(GError) error = NULL;
        const char *const settings[] = { bad[i][0], bad[i][1], NULL };
        g_assert_null(ifm_study_open_set(path, settings, &error));
        assert_says(&error, IFM_ERROR_INVALID, bad[i][2]);
    }
}

/* Files are measured: one at its own size and batch, one at each that is asked for. */
static void test_measured_files(Fixture *fixture, gconstpointer data)
{
    save_net(fixture, &nets[1]);
    save_net(fixture, &nets[2]);
    g_autoptr(IfmStudy) study = study_of(
        fixture, HEAD "models: [four.onnx, free.onnx]\nalgorithms: [direct]\nsizes: [32, 64]\nbatch: 4\n" DEVICE FIXED);
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyTables) points = points_of(fixture->store);
    double flop[3];
    g_assert_cmpuint(points->rows->len, ==, 3);
    for (guint i = 0; i < 3; i++)
    {
        const IfmStudyRow *row = points->rows->pdata[i];
        g_assert_null(row->reason);
        flop[i] = row->measurement->summary.median;
    }
    g_assert_cmpfloat_with_epsilon(flop[0] / flop[1], 47.0 * 47 / (31 * 31), 0.01);
    g_assert_cmpfloat_with_epsilon(flop[2] / flop[1], 63.0 * 63 / (31 * 31), 0.01);
}

/* Devices that are named take the place of the study's; in a study of stages they do not. */
static void test_devices(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL "sizes: [32]\n");
    ifm_study_asked_devices(study, NULL, NULL); /* none is named: they stay */
    g_assert_cmpuint(ifm_study_info(study).devices->len, ==, 1);
    g_assert_true(ifm_study_set_device(study, "N=simulated:toy/NOISY", &error));
    ifm_study_asked_devices(study, NULL, NULL);
    const GPtrArray *devices = ifm_study_info(study).devices;
    g_assert_cmpuint(devices->len, ==, 1);
    g_assert_cmpstr(((const IfmStudyDevice *)devices->pdata[0])->alias, ==, "N");
    g_assert_cmpuint(ifm_study_cases(study)->len, ==, 4);
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudy) again = study_of(fixture, SMALL "sizes: [32]\n"); /* tables are of what was measured */
    g_autoptr(IfmStudyTables) tables = ifm_study_tables(again, fixture->store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(tables->devices->len, ==, 1);
    g_assert_cmpuint(tables->rows->len, ==, 4);
    g_autoptr(IfmStudy) staged = ifm_study_open("gnn-stages", &error);
    g_assert_no_error(error);
    g_assert_true(ifm_study_set_device(staged, "N=simulated:toy/NOISY", &error));
    ifm_study_asked_devices(staged, NULL, NULL);
    g_assert_cmpuint(ifm_study_info(staged).devices->len, ==, 4);
}

/* A mistake in a list names the line of the entry, one of a setting no line of the file. */
static void test_places(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *text, *message;
    } rows[] = {
        { HEAD "models:\n  - resnet18\n  - resnet19\nalgorithms: [direct]\n" DEVICE, ":5: models: zoo: there is no model" },
        { HEAD "models:\n  - resnet18\n  - resnet18\nalgorithms: [direct]\n" DEVICE, ":5: models: \"resnet18\" is listed" },
        { HEAD "models: [resnet18]\nalgorithms:\n  - direct\n\n  - drect\n" DEVICE, ":7: algorithms: \"drect\" is not" },
        { HEAD "models: [resnet18]\nalgorithms: [direct]\nfallback: none\n" DEVICE, ":5: fallback: \"none\" is not" },
        { HEAD "models: [resnet18]\nalgorithms: [direct]\nsizes: [64,\n  80,\n  64]\n" DEVICE, ":7: sizes: 64 is listed" },
        { HEAD "models: [alexnet]\nalgorithms: [direct]\nsizes:\n  - 64\n  - 62\n" DEVICE,
          ":7: sizes: alexnet takes images of 63 or more, not 62" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = write_file(fixture, "small.yaml", rows[i].text);
        g_assert_null(ifm_study_open(path, &error));
        assert_says(&error, IFM_ERROR_INVALID, rows[i].message);
    }
    g_autoptr(GError) error = NULL;
    g_autofree char *path = write_file(fixture, "small.yaml", HEAD "models: [resnet18]\nalgorithms: [direct]\n" DEVICE);
    g_assert_null(ifm_study_open_set(path, (const char *const[]){ "algorithms=[gem]", NULL }, &error));
    g_assert_true(g_str_has_prefix(error->message, "setting: algorithms: \"gem\" is not"));
}

/* --- what it comes to ------------------------------------------------------------------------------------------------ */

static void test_findings(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL "sizes: [32, 64]\n");
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyTables) points = points_of(fixture->store);
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_assert_cmpuint(findings->sizes->len, ==, 2);
    for (guint i = 0; i < findings->sizes->len; i++)
    {
        const IfmConvSizeRow *row = &g_array_index(findings->sizes, IfmConvSizeRow, i);
        g_assert_cmpstr(row->fastest, ==, "winograd");
        g_assert_cmpfloat_with_epsilon(row->runtime_ns / row->time_ns, 2, 1e-3);
    }
    for (guint i = 0; i < points->rows->len; i++) /* described, so it is not measured */
        g_assert_cmpfloat(((const IfmStudyRow *)points->rows->pdata[i])->device->peak_flop_per_s, ==, 1e9);
    g_assert_cmpuint(findings->shapes->len, >, 1);
    gsize n_refused = 0;
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *point = findings->points->pdata[i];
        const gboolean refused = g_str_equal(point->algorithm, "fft");
        n_refused += refused;
        g_assert_cmpint(point->point->reason != NULL, ==, refused);
        if (refused)
            g_assert_nonnull(strstr(point->point->reason, "fft cannot do any layer"));
        else
            g_assert_cmpuint(point->layers->len, >, 1);
    }
    g_assert_cmpuint(n_refused, ==, 2);
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, fixture->store, NULL);
    g_assert_nonnull(results);
    g_assert_cmpuint(results->n_incapable, ==, 2);
    g_autofree char *open = summary_line(ifm_study_results_document(results, IFM_STUDY_SUMMARY, NULL)); /* no interval */
    assert_line(open, (const char *const[]){
                          "Which algorithm is the fastest is not known: nowhere have the two lowest an interval | ",
                          "!times as fast", NULL });
    for (guint i = 0; i < results->tables->rows->len; i++)
    {
        IfmStudyRow *row = results->tables->rows->pdata[i];
        row->interval = (IfmInterval){ row->median_ns * 0.99, row->median_ns * 1.01, 0.95 };
    }
    g_autofree char *led = summary_line(ifm_study_results_document(results, IFM_STUDY_SUMMARY, NULL));
    assert_line(led,
                (const char *const[]){ "winograd is the lowest most often: at 2 of 2 models and sizes | Where it is told "
                                       "apart from the runtime's own kernels, it is at most 2.00 times as fast: "
                                       "small-cnn on A at ",
                                       NULL });
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL),
                    *path = g_build_filename(folder, "results", "2_quick", "small-cnn_winograd_a",
                                             "small-cnn_winograd_layers.csv", NULL),
                    *none = g_build_filename(folder, "results", "2_quick", "small-cnn_fft_a", NULL);
    g_assert_true(ifm_study_results_write(results, folder, NULL));
    g_assert_false(g_file_test(none, G_FILE_TEST_EXISTS));
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, NULL);
    g_assert_nonnull(csv);
    g_assert_cmpuint(ifm_csv_n_rows(csv), ==, 2 * ((const IfmConvPoint *)findings->points->pdata[0])->layers->len);
    gsize column;
    double percentage = 0, part;
    g_assert_true(ifm_csv_column(csv, "percentage", &column, NULL));
    for (gsize i = 0; i < ifm_csv_n_rows(csv); i++)
    {
        g_assert_true(ifm_csv_number(csv, i, column, &part, NULL));
        percentage += part;
    }
    g_assert_cmpfloat(percentage, >, 20);
    g_assert_cmpfloat(percentage, <=, 200.1);
    for (guint i = 0; i < results->tables->rows->len; i++)
    {
        IfmStudyRow *row = results->tables->rows->pdata[i];
        if (row->reason == NULL && g_strcmp0(ifm_member_text(row->axes, "algorithm"), "runtime") != 0)
            row->reason = g_strdup("left out");
    }
    g_autofree char *alone = summary_line(ifm_study_results_document(results, IFM_STUDY_SUMMARY, NULL));
    assert_line(alone, (const char *const[]){ "Of each model and size one algorithm was measured, and none beside it | ",
                                              "!told apart from the runtime's own", NULL });
}

/* Each column of the published figures has its own, which differ where runs scatter. */
static void test_published(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, HEAD "models: [small-cnn]\nalgorithms: [direct]\nsizes: [32]\n"
                                                       "devices: {A: {device: simulated:toy/NOISY}}\n" FIXED);
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyTables) points = points_of(fixture->store);
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, fixture->store, &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(fixture->folder, "results", "1_sanity", "small-cnn_direct_a",
                                             "small-cnn_direct_overall.csv", NULL);
    g_assert_true(ifm_study_results_write(results, fixture->folder, &error));
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, &error);
    g_assert_no_error(error);
    const IfmSummary *summary = &((const IfmStudyRow *)points->rows->pdata[0])->measurement->summary;
    const struct
    {
        const char *name;
        double ns;
    } figures[] = {
        { "mean", summary->mean },
        { "std", summary->std },
        { "min", summary->min },
        { "max", summary->max },
        { "median", summary->median },
        { "lower", summary->median_interval.lower },
        { "upper", summary->median_interval.upper },
    };
    g_assert_cmpfloat(summary->min, <, summary->max);
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
    {
        gsize column;
        double ms;
        g_assert_true(ifm_csv_column(csv, figures[i].name, &column, NULL));
        if (isnan(figures[i].ns))
            continue;
        g_assert_true(ifm_csv_number(csv, 0, column, &ms, NULL));
        g_assert_cmpfloat_with_epsilon(ms, figures[i].ns / 1e6, 1e-9 * ms);
    }
}

/* The parts of a study, merged, are the whole. */
static void test_shards(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL "sizes: [32, 48, 64]\nfallback: direct\n");
    for (gsize shard = 1; shard <= 3; shard++)
    {
        g_autofree char *name = g_strdup_printf("shard-%" G_GSIZE_FORMAT ".db", shard),
                        *path = g_build_filename(fixture->folder, name, NULL);
        g_autoptr(IfmStore) part = ifm_store_open(path, IFM_STORE_WRITE, NULL);
        run_shard(fixture, study, part, shard, 3);
        g_assert_true(ifm_store_merge(fixture->store, part, NULL, NULL));
    }
    g_assert_cmpuint(count(fixture->store), ==, 3 * 4);
    run_shard(fixture, study, fixture->store, 0, 0); /* nothing is left to measure */
    g_assert_cmpuint(count(fixture->store), ==, 3 * 4);
    g_autofree char *alone_path = g_build_filename(fixture->folder, "alone.db", NULL);
    g_autoptr(IfmStore) alone = ifm_store_open(alone_path, IFM_STORE_WRITE, NULL);
    run_shard(fixture, study, alone, 0, 0);
    g_autofree char *left = csv_of(fixture, fixture->store), *right = csv_of(fixture, alone);
    g_assert_cmpstr(left, ==, right);
}

/* Shards that are merged keep the peak of the first one that knows it, and with it the share of each layer. */
static void test_merged_peak(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    char *folders[3] = { NULL };
    for (gsize shard = 1; shard <= 2; shard++)
    {
        g_autoptr(IfmStudy) study = study_of(fixture, SMALL "sizes: [32, 64]\n");
        g_autofree char *name = g_strdup_printf("shard-%zu", shard);
        folders[shard - 1] = g_build_filename(fixture->folder, name, NULL);
        g_assert_cmpint(g_mkdir_with_parents(folders[shard - 1], 0777), ==, 0);
        g_autofree char *path = g_build_filename(folders[shard - 1], "store.db", NULL);
        g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, &error);
        g_assert_no_error(error);
        run_shard(fixture, study, store, shard, 2);
        if (shard > 1)
            continue;
        json_auto_t *manifest = ifm_store_document(store, "study", &error); /* the first does not know it */
        g_assert_nonnull(manifest);
        json_t *device = json_array_get(json_object_get(manifest, "devices"), 0);
        g_assert_cmpint(json_object_del(device, "peak_flop_per_s"), ==, 0);
        g_assert_true(ifm_store_set_document(store, "study", manifest, &error));
    }
    IfmStudyMerge merge;
    g_autofree char *into = g_build_filename(fixture->folder, "merged", NULL);
    g_assert_cmpint(g_mkdir_with_parents(into, 0777), ==, 0);
    ifm_study_merge(NULL, into, (const char *const *)folders, &merge, &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(into, "store.db", NULL);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyTables) points = points_of(store);
    g_assert_cmpuint(points->rows->len, ==, 8);
    g_assert_cmpfloat(((const IfmStudyDevice *)points->devices->pdata[0])->peak_flop_per_s, ==, 1e9);
    g_free(folders[0]);
    g_free(folders[1]);
}

/* What became of a combination on a cluster, in one word. */
static void test_combination_state(void)
{
    static const struct
    {
        IfmCombinationStatus status;
        const char *state;
    } rows[] = {
        { { .counts = { .n_cases = 3, .n_done = 3 } }, "done" },
        { { .counts = { .n_cases = 3, .n_done = 2, .n_unsupported = 1 } }, "done" },
        { { .counts = { .n_cases = 3, .n_unsupported = 3 } }, "unsupported" },
        { { .counts = { .n_cases = 3, .n_done = 2, .n_failed = 1 } }, "failed" },
        { { .counts = { .n_cases = 3, .n_failed = 1, .n_unavailable = 2 } }, "failed" },
        { { .counts = { .n_cases = 3, .n_done = 2, .n_unavailable = 1 } }, "unavailable" },
        { { .counts = { .n_cases = 3, .n_failed = 2, .n_missing = 1 } }, "missing" },
        { { .n_queued = 1, .counts = { .n_cases = 3, .n_failed = 1, .n_missing = 2 } }, "queued" },
        { { .n_queued = 1, .n_running = 1, .counts = { .n_cases = 2, .n_missing = 2 } }, "running" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpstr(ifm_combination_state(&rows[i].status), ==, rows[i].state);
}

/* Sizes that were left out are met, and each algorithm keeps its share of the time. */
static void test_predictions(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL "sizes: [32, 40, 48, 56, 64, 80, 96]\n");
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyTables) points = points_of(fixture->store);
    g_autoptr(GArray) predictions = ifm_conv_predict(points, "small-cnn", 72, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(predictions->len, ==, 3);
    const IfmConvPrediction *first = &g_array_index(predictions, IfmConvPrediction, 0);
    const IfmConvPrediction *last = &g_array_index(predictions, IfmConvPrediction, 2);
    g_assert_cmpstr(first->algorithm, ==, "winograd");
    g_assert_cmpint(first->origin, ==, IFM_GRID_INTERPOLATED);
    g_assert_cmpfloat_with_epsilon(last->time_ns / first->time_ns, 2, 0.02);
    g_assert_cmpfloat(first->mean_ratio, <, 0.08);
    g_autoptr(IfmStudy) held =
        study_of(fixture, HEAD "models: [small-cnn]\nalgorithms: [winograd]\nsizes: [72]\n" DEVICE FIXED);
    g_autofree char *path = g_build_filename(fixture->folder, "held.db", NULL);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, NULL);
    run_shard(fixture, held, store, 0, 0);
    g_autoptr(IfmStudyTables) truth = points_of(store);
    const double true_ns = ((const IfmStudyRow *)truth->rows->pdata[0])->median_ns;
    g_assert_cmpfloat(fabs(first->time_ns / true_ns - 1), <, 0.08);
    g_autoptr(GArray) there = ifm_conv_predict(points, "small-cnn", 64, 0, NULL);
    const IfmConvPrediction *known = &g_array_index(there, IfmConvPrediction, 0);
    g_assert_cmpint(known->origin, ==, IFM_GRID_EXACT);
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        if (json_integer_value(json_object_get(point->axes, "input_size")) == 64 &&
            g_strcmp0(json_string_value(json_object_get(point->axes, "algorithm")), known->algorithm) == 0)
            g_assert_cmpfloat(known->time_ns, ==, point->median_ns);
    }
    g_autoptr(GArray) beyond = ifm_conv_predict(points, "small-cnn", 200, 0, NULL);
    g_assert_cmpint(g_array_index(beyond, IfmConvPrediction, 0).origin, ==, IFM_GRID_OUTSIDE);
    g_assert_null(ifm_conv_predict(points, "small-cn", 72, 0, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no model \"small-cn\" (there are small-cnn); did you mean \"small-cnn\"?");
    g_assert_null(ifm_conv_predict(truth, "small-cnn", 72, 0, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no algorithm was measured at 2 sizes or more");
}

/* A network of other sizes, predicted by the layers of those that were measured; and which algorithm suits its layers. */
static void test_network(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, HEAD "models: [small-cnn]\nalgorithms: [direct, winograd]\n"
                                                       "fallback: runtime\nsizes: [32, 48, 64, 80]\n" DEVICE FIXED);
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyTables) points = points_of(fixture->store);
    g_autoptr(GArray) predictions = ifm_conv_predict_network(points, "small-cnn,channels=20", 56, 0, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(predictions->len, ==, 2);
    const IfmConvPrediction *first = &g_array_index(predictions, IfmConvPrediction, 0);
    g_assert_cmpstr(first->algorithm, ==, "winograd");
    g_assert_cmpuint(first->n_networks, ==, 1);
    g_assert_true(isnan(first->upper_ns)); /* one network cannot be left out */
    g_autofree char *line = summary_line(ifm_conv_prediction_document(predictions, "small-cnn", 56));
    g_assert_nonnull(strstr(line, "has no interval: 1 network was measured"));
    const gint64 threads = first->threads;
    g_assert_null(ifm_conv_predict_network(points, "small-cnn,channels=20", 56, threads + 6, NULL, &error));
    assert_says(&error, IFM_ERROR_INVALID, "nothing was measured with");
    g_assert_null(ifm_conv_predict(points, "small-cnn", 56, threads + 6, &error));
    assert_says(&error, IFM_ERROR_INVALID, "nothing was measured with");
    g_autoptr(IfmModel) graph = ifm_zoo_build("small-cnn", (const char *const[]){ "channels=20", NULL }, 1, &error);
    g_assert_no_error(error);
    g_assert_null(ifm_conv_choose(points, graph, NULL, 0, (int)threads, IFM_TUNE_ALL, &error));
    assert_says(&error, IFM_ERROR_INVALID, "nothing was measured on onnxruntime:CPU with");
    IfmStudyDevice *device = points->devices->pdata[0];
    g_free(device->device);
    device->device = g_strdup("onnxruntime:CPU");
    for (int level = IFM_TUNE_ALL; level < IFM_N_TUNE_LEVELS; level++)
    {
        g_autoptr(GPtrArray) choices = ifm_conv_choose(points, graph, NULL, 0, (int)threads, (IfmTuneLevel)level, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(choices->len, ==, 2);
        for (guint i = 0; i < choices->len; i++)
        {
            const IfmTunePrediction *choice = choices->pdata[i];
            g_assert_cmpstr(choice->algorithm, ==, level == IFM_TUNE_ALL ? "winograd" : "direct");
            g_assert_cmpfloat(choice->time_ns, >, 0);
        }
    }
}

/* A table of points measured elsewhere is of the kind whose axes it has, and predicts as the study does. */
static void test_import(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL "sizes: [32, 48, 64]\n");
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autofree char *csv = csv_of(fixture, fixture->store), *path = write_file(fixture, "points.csv", csv);
    g_autofree char *store_path = g_build_filename(fixture->folder, "imported.db", NULL);
    g_autoptr(IfmStore) store = ifm_store_open(store_path, IFM_STORE_WRITE, NULL);
    const IfmStageSizes sizes = { 0 };
    ifm_study_import((const char *const[]){ path, NULL }, "elsewhere", &sizes, FALSE, store, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(IfmStudyTables) points = points_of(store);
    g_assert_cmpstr(points->kind, ==, "conv-algorithms");
    g_autoptr(GArray) predictions = ifm_conv_predict(points, "small-cnn", 40, 0, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(g_array_index(predictions, IfmConvPrediction, 0).algorithm, ==, "winograd");
}

/* The last column of the one row of an overall table. (transfer full) */
static char *power_source_of(const Fixture *fixture, const IfmStudyResults *results)
{
    g_autofree char *folder = g_build_filename(fixture->folder, "power", NULL),
                    *path = g_build_filename(folder, "results", "1_sanity", "small-cnn_direct_a",
                                             "small-cnn_direct_overall.csv", NULL);
    gsize column;
    g_assert_cmpint(g_mkdir_with_parents(folder, 0777), ==, 0);
    g_assert_true(ifm_study_results_write(results, folder, NULL));
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, NULL);
    g_assert_true(csv != NULL && ifm_csv_column(csv, "power_source", &column, NULL));
    return g_strdup(ifm_csv_text(csv, 0, column));
}

/* Where power comes from is said in one of four words, or in none where no energy was asked for. */
static void test_power_source(Fixture *fixture, gconstpointer data)
{
    static const char *const rows[][3] = { { "rapl", NULL, "counter" },
                                           { "nvml", NULL, "counter" },
                                           { "recorded:a.csv", NULL, "recording" },
                                           { "simulated", NULL, "simulated" },
                                           { "rapl", "no counter", "unavailable" } };
    g_autoptr(IfmStudy) study = study_of(fixture, HEAD "models: [small-cnn]\nalgorithms: [direct]\nsizes: [32]\n" DEVICE
                                                       "protocol: {warmup: 1, runs: 5}\nverify: false\n");
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, fixture->store, NULL);
    g_assert_nonnull(results);
    json_t *energy =
        (json_t *)ifm_measurement_result(((const IfmStudyRow *)results->tables->rows->pdata[0])->measurement, "energy");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        json_object_set_new(energy, "source", json_string(rows[i][0]));
        json_object_set_new(energy, "unavailable", rows[i][1] != NULL ? json_string(rows[i][1]) : json_null());
        g_autofree char *word = power_source_of(fixture, results);
        g_assert_cmpstr(word, ==, rows[i][2]);
    }
    g_autoptr(IfmStudy) without =
        study_of(fixture, HEAD "models: [small-cnn]\nalgorithms: [direct]\nsizes: [32]\n" DEVICE FIXED);
    g_autofree char *path = g_build_filename(fixture->folder, "without.db", NULL);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, NULL);
    run_shard(fixture, without, store, 0, 0);
    g_autoptr(IfmStudyResults) none = ifm_study_results(NULL, store, NULL);
    g_autofree char *word = power_source_of(fixture, none);
    g_assert_cmpstr(word, ==, "");
}

/* Joules of a run, by a source that is described: 15 W, whatever runs. */
static void test_energy(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study =
        study_of(fixture, HEAD "models: [small-cnn]\nalgorithms: [direct, winograd, fft, runtime]\n" DEVICE
                               "protocol: {warmup: 1, runs: 5}\nverify: false\nsizes: [32]\n");
    run_shard(fixture, study, fixture->store, 0, 0);
    g_autoptr(IfmStudyTables) points = points_of(fixture->store);
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        IfmModelEnergy energy;
        if (point->reason != NULL)
            continue;
        g_assert_true(ifm_model_energy(point->measurement, &energy));
        g_assert_cmpstr(energy.source, ==, "simulated");
        g_assert_null(energy.unavailable);
        g_assert_cmpint(energy.n_runs, >, 2);
        g_assert_cmpfloat(energy.gross_lower_j, <=, energy.gross_j);
        const double expected_j = 15 * (double)energy.duration_ns / 1e9 / (double)energy.n_runs;
        g_assert_cmpfloat_with_epsilon(energy.gross_j / expected_j, 1, 0.02);
        g_assert_cmpfloat(fabs(energy.net_j), <, 0.05 * energy.gross_j);
        g_assert_false(energy.too_short);
    }
    g_autofree char *csv = csv_of(fixture, fixture->store);
    g_assert_nonnull(strstr(csv, ",energy_j,energy_lower_j,"));
}

#define ADD(name, function) g_test_add("/study-conv/" name, Fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("sizes", test_sizes);
    ADD("mistakes", test_mistakes);
    ADD("places", test_places);
    ADD("network", test_network);
    ADD("import", test_import);
    ADD("files", test_files);
    ADD("measured-files", test_measured_files);
    ADD("devices", test_devices);
    ADD("findings", test_findings);
    ADD("published", test_published);
    ADD("shards", test_shards);
    ADD("merged-peak", test_merged_peak);
    g_test_add_func("/study-conv/combination-state", test_combination_state);
    ADD("predictions", test_predictions);
    ADD("energy", test_energy);
    ADD("power-source", test_power_source);
    return g_test_run();
}
