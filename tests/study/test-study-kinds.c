#include <measure/kinds.h>
#include <measure/measure.h>
#include <onnx/onnx.h>
#include <store/store.h>

#include "study-fixture.h"

#include "study/definition.h"

/* Kinds of studies that have points instead of stages: the shipped one, and one that this file adds. */

static const char machine[] = "description: a test's\n"
                              "provenance: invented\n"
                              "units:\n"
                              "  A:\n"
                              "    description: one\n"
                              "    capabilities: [streams]\n"
                              "    latency: {source: fixed, fixed: 1 ms}\n"
                              "    link: {bytes_per_s: 1e9, fixed: 1 us, assumed: true}\n"
                              "  B:\n"
                              "    description: another\n"
                              "    capabilities: [streams]\n"
                              "    latency: {source: fixed, fixed: 4 ms}\n"
                              "    link: {bytes_per_s: 1e9, fixed: 1 us, assumed: true}\n"
                              "  BAD:\n"
                              "    description: fails whatever it is asked\n"
                              "    latency: {source: fixed, fixed: 1 ms}\n"
                              "    faults: [{what: fail, when: {from_run: 1}, reason: no luck}]\n"
                              "  NPU: {description: compiles one size at a time, latency: {source: fixed, fixed: 2 ms}}\n";

#define HEAD "title: points\nkind: profile\n"
#define DEVICES "devices:\n  A: {device: simulated:toy/A}\n  B: {device: simulated:toy/B}\n"
#define FIXED "protocol: {warmup: 1, runs: 5}\n"

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture_on_machine(fixture, machine);
}

static gboolean measure_into(const Fixture *fixture, IfmStudy *study, IfmStore *store, const IfmStudyOptions *given,
                             IfmCampaignProgress *result, GError **error)
{
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmStudyOptions options = *given;
    options.folder = folder;
    options.limits = IFM_LIMITS_INIT;
    return ifm_study_measure(study, store, &options, result, error);
}

static IfmCampaignProgress run(const Fixture *fixture, IfmStudy *study, const IfmStudyOptions *options)
{
    g_autoptr(GError) error = NULL;
    IfmCampaignProgress result;
    measure_into(fixture, study, fixture->store, options, &result, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(result.n_done, ==, result.n_cases);
    return result;
}

static const IfmStudyOptions plain = { 0 };

static IfmStudyTables *points_of(IfmStudy *study, IfmStore *store)
{
    g_autoptr(GError) error = NULL;
    IfmStudyTables *points = ifm_study_tables(study, store, &error);
    g_assert_no_error(error);
    return points;
}

static void assert_span(IfmStudy *study, const char *expected)
{
    g_autoptr(GString) titles = g_string_new(NULL);
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
        g_string_append_printf(titles, "%s\n", ((const IfmStudyCase *)cases->pdata[i])->title);
    g_assert_cmpstr(titles->str, ==, expected);
}

/* --- what it spans ------------------------------------------------------------------------------------------------------
 */

/* Models outermost, devices innermost, static ones in phase 2. */
static void test_span(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, HEAD "models: [small-cnn, \"matmul,m=8\"]\nbatch: [1, 2]\n" DEVICES
                                                       "  N: {device: simulated:toy/NPU}\n");
    g_assert_cmpstr(ifm_study_kind(study), ==, "profile");
    g_assert_null(ifm_study_info(study).staged);
    assert_span(study, "A small-cnn, batch 1\nB small-cnn, batch 1\nA small-cnn, batch 2\nB small-cnn, batch 2\n"
                       "A matmul,m=8, batch 1\nB matmul,m=8, batch 1\nA matmul,m=8, batch 2\nB matmul,m=8, batch 2\n"
                       "N small-cnn, batch 1\nN small-cnn, batch 2\nN matmul,m=8, batch 1\nN matmul,m=8, batch 2\n");
    g_autoptr(IfmStudy) all =
        study_of(fixture, HEAD "models: [matmul]\ndims: [{name: m, sizes: [8, 16]}]\ndtype: [f32, bf16]\nthreads: [1]\n"
                               "streams: [1, 2]\ndevices: {A: {device: simulated:toy/A}}\n");
    assert_span(all, "A matmul, m 8, f32, threads 1, streams 1\nA matmul, m 8, f32, threads 1, streams 2\n"
                     "A matmul, m 8, bf16, threads 1, streams 1\nA matmul, m 8, bf16, threads 1, streams 2\n"
                     "A matmul, m 16, f32, threads 1, streams 1\nA matmul, m 16, f32, threads 1, streams 2\n"
                     "A matmul, m 16, bf16, threads 1, streams 1\nA matmul, m 16, bf16, threads 1, streams 2\n");
}

/* The shipped one: seven networks, four batches, two engines. */
static void test_shipped(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = ifm_study_open("cnn-batch", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_study_cases(study)->len, ==, 7 * 4 * 2);
    g_assert_cmpstr(((const IfmStudyDevice *)ifm_study_info(study).devices->pdata[0])->device, ==, "openvino:CPU");
    g_assert_cmpstr(((const IfmStudyDevice *)ifm_study_info(study).devices->pdata[1])->device, ==, "onnxruntime:CPU");
}

static const struct
{
    const char *name, *text, *says;
} mistakes[] = {
    { "kind", "title: t\nkind: profil\nmodels: [matmul]\n" DEVICES,
      "small.yaml:2: kind: \"profil\" is none; there are stages, profile, conv-algorithms, kernels-under-load; did you "
      "mean \"profile\"?" },
    { "key", HEAD "models: [matmul]\nsizes: []\n" DEVICES, "small.yaml:4: " },
    { "stages-key", "title: t\nmodels: [matmul]\n" DEVICES, "small.yaml:2: unknown key \"models\"" },
    { "none", HEAD DEVICES, "models" },
    { "zoo", HEAD "models: [matmull]\n" DEVICES, "matmul" },
    { "twice", HEAD "models: [matmul, matmul]\n" DEVICES, "models: \"matmul\" is listed twice" },
    { "file", HEAD "models: [./nowhere.onnx]\n" DEVICES, "nowhere.onnx: no such file" },
    { "batch", HEAD "models: [matmul]\nbatch: [0]\n" DEVICES, "small.yaml:4: " },
    { "batch-twice", HEAD "models: [matmul]\nbatch: [2, 2]\n" DEVICES, "batch: 2 is listed twice" },
    { "batch-set", HEAD "models: [\"small-cnn,batch=4\"]\nbatch: [2]\n" DEVICES,
      "models: \"small-cnn,batch=4\": batch is an axis of the study; give it once" },
    { "dim-set", HEAD "models: [\"matmul,k=2,m=4\"]\ndims: [{name: m, sizes: [1]}]\n" DEVICES,
      "models: \"matmul,k=2,m=4\": m is an axis of the study; give it once" },
    { "dim-twice", HEAD "models: [matmul]\ndims: [{name: m, sizes: [1]}, {name: m, sizes: [2]}]\n" DEVICES,
      "dims: \"m\" is listed twice" },
    { "dim-taken", HEAD "models: [matmul]\ndims: [{name: batch, sizes: [1]}]\n" DEVICES,
      "dims: \"batch\" is an axis of its own" },
    { "dtype-twice", HEAD "models: [matmul]\ndtype: [f32, f32]\n" DEVICES, "dtype: f32 is listed twice" },
    { "stages", HEAD "models: [matmul]\ndevices: {A: {device: simulated:toy/A, not_stages: [1]}}\n",
      "a study of kind profile has no stages" },
    { "streams", HEAD "models: [matmul]\nstreams: [2]\ndevices: {A: {device: \"simulated:toy/A#2\"}}\n",
      "has streams of its own" },
    { "devices", HEAD "models: [matmul]\ndevices: {}\n", "spans no case: \"devices\" has no entry" },
};

static void test_mistakes(Fixture *fixture, gconstpointer data)
{
    for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++)
    {
        g_autoptr(GError) error = NULL;
        g_test_message("%s", mistakes[i].name);
        g_assert_null(open_text(fixture, mistakes[i].text, &error));
        assert_says(&error, IFM_ERROR_INVALID, mistakes[i].says);
    }
}

/* --- measured ------------------------------------------------------------------------------------------------------------
 */

#define SMALL HEAD "models: [small-cnn, matmul]\n" DEVICES FIXED

static void test_whole(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study =
        study_of(fixture, HEAD "models: [small-cnn]\nbatch: [1, 4]\nstreams: [1, 2]\n" DEVICES FIXED);
    IfmCampaignProgress result = run(fixture, study, &plain);
    g_assert_cmpuint(result.n_measured, ==, 8);
    g_autoptr(IfmStudyTables) points = points_of(NULL, fixture->store);
    g_assert_cmpstr(points->kind, ==, "profile");
    g_assert_cmpuint(points->axes->len, ==, 3);
    static const char *const axes[] = { "model", "batch", "streams" };
    for (guint i = 0; i < 3; i++)
        g_assert_cmpstr(points->axes->pdata[i], ==, axes[i]);
    g_assert_cmpuint(points->rows->len, ==, 8);
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        g_assert_cmpstr(point->reason, ==, NULL);
        double latency_ns = g_str_equal(point->device->alias, "A") ? 1e6 : 4e6, batch = i < 4 ? 1 : 4;
        double streams = i % 4 < 2 ? 1 : 2;
        g_assert_cmpfloat(point->median_ns, ==, latency_ns);
        g_assert_cmpfloat(point->items, ==, batch * streams);
        g_assert_cmpfloat(point->items_per_s, ==, batch * streams * 1e9 / latency_ns);
        g_assert_cmpint(json_integer_value(json_object_get(point->axes, "batch")), ==, (json_int_t)batch);
        const IfmStudyRow *first = points->rows->pdata[0];
        g_assert_cmpfloat(first->flop, >, 0);
        g_assert_cmpfloat(point->flop, ==, first->flop * batch * streams);
        g_assert_cmpint(point->n, ==, 5);
    }
    g_autofree char *model = g_build_filename(fixture->folder, "out", "models", "small-cnn,batch=0.onnx", NULL);
    g_assert_true(g_file_test(model, G_FILE_TEST_IS_REGULAR)); /* one file for all batches */
    /* Again: nothing is measured. A batch more: that alone is. */
    g_autoptr(IfmStudy) again =
        study_of(fixture, HEAD "models: [small-cnn]\nbatch: [1, 4]\nstreams: [1, 2]\n" DEVICES FIXED);
    g_assert_cmpuint(run(fixture, again, &plain).n_measured, ==, 0);
    g_autoptr(IfmStudy) more =
        study_of(fixture, HEAD "models: [small-cnn]\nbatch: [1, 2, 4]\nstreams: [1, 2]\n" DEVICES FIXED);
    g_autoptr(IfmStudyTables) begun = points_of(more, fixture->store);
    g_assert_cmpuint(begun->rows->len, ==, 12);
    g_assert_cmpstr(((const IfmStudyRow *)begun->rows->pdata[4])->reason, ==, "not measured yet");
    g_assert_cmpfloat(((const IfmStudyRow *)begun->rows->pdata[0])->flop, >, 0); /* as the manifest has it */
    g_assert_cmpuint(run(fixture, more, &plain).n_measured, ==, 4);
}

/* A dimension that is a parameter of the zoo's model builds it anew; one of a file is bound. */
static void test_dims(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build("small-cnn", (const char *const[]){ "batch=0", NULL }, 1, &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(fixture->folder, "mine.onnx", NULL);
    g_assert_true(ifm_model_save(model, path, &error));
    g_autoptr(IfmStudy) study =
        study_of(fixture, HEAD "models: [./mine.onnx]\ndims: [{name: N, sizes: [2, 3]}]\n" DEVICES FIXED);
    g_assert_cmpuint(run(fixture, study, &plain).n_measured, ==, 4);
    g_autoptr(IfmStudyTables) points = points_of(NULL, fixture->store);
    const IfmStudyRow *two = points->rows->pdata[0], *three = points->rows->pdata[2];
    g_assert_cmpfloat(three->flop / two->flop, ==, 1.5);
    g_autoptr(IfmCase) record = ifm_store_case(fixture->store, three->key, &error);
    g_assert_no_error(error);
    g_assert_cmpint(json_integer_value(json_object_get(record->sizes, "N")), ==, 3);
}

/* What cannot even be tried, and what fails, costs itself alone; --retry measures the failed again. */
static void test_refused(Fixture *fixture, gconstpointer data)
{
    static const char text[] = HEAD "models: [small-cnn, matmul]\nbatch: [2]\n"
                                    "devices:\n  A: {device: simulated:toy/A}\n  X: {device: simulated:toy/BAD}\n"
                                    "  Y: {device: simulated:toy/NOWHERE}\n" FIXED;
    g_autoptr(IfmStudy) study = study_of(fixture, text);
    IfmCampaignProgress result = run(fixture, study, &plain);
    g_assert_cmpuint(result.n_cases, ==, 2);
    g_assert_cmpuint(result.n_failed, ==, 1);
    g_autoptr(IfmStudyTables) points = points_of(NULL, fixture->store);
    g_assert_cmpuint(points->rows->len, ==, 6);
    static const char *const codes[] = { NULL, "failed", "unavailable", "invalid", "invalid", "unavailable" };
    for (guint i = 0; i < points->rows->len; i++)
        g_assert_cmpstr(((const IfmStudyRow *)points->rows->pdata[i])->code, ==, codes[i]);
    g_assert_cmpstr(((const IfmStudyRow *)points->rows->pdata[3])->reason, ==,
                    "batch: the first dimension of the first input of matmul is not free");
    g_assert_cmpuint(run(fixture, study, &plain).n_measured, ==, 0);
    g_assert_cmpuint(run(fixture, study, &(IfmStudyOptions){ .retry = TRUE }).n_measured, ==, 1);
}

/* --- order, attempts, time -------------------------------------------------------------------------------------------- */

/* The first device of each case that ended. */
static void note_device(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    if (ended != NULL)
        g_string_append_c(user, progress->now->devices[0][strlen("simulated:toy/")]);
}

#define LINKED                                                                                                             \
    "title: stages\nsubject: {model: graphsage, features: 4, hidden: 3, stages: [1]}\n"                                    \
    "sizes: [{nodes: 5, edges: [6]}]\n"

static char *measured_order(const Fixture *fixture, IfmCampaignOrder order)
{
    GString *devices = g_string_new(NULL);
    g_autofree char *path = g_strdup_printf("%s/order-%d/store.db", fixture->folder, order);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    g_autoptr(IfmStudy) study = study_of(fixture, LINKED DEVICES FIXED);
    measure_into(fixture, study, store, &(IfmStudyOptions){ .order = order, .progress = note_device, .user = devices },
                 NULL, &error);
    g_assert_no_error(error);
    return g_string_free(devices, FALSE);
}

/* The links of one device come before those of the other as listed, and alternate with them interleaved. */
static void test_order(Fixture *fixture, gconstpointer data)
{
    g_autofree char *listed = measured_order(fixture, IFM_CAMPAIGN_AS_GIVEN);
    g_autofree char *interleaved = measured_order(fixture, IFM_CAMPAIGN_INTERLEAVED);
    g_assert_cmpuint(strlen(listed), ==, strlen(interleaved));
    g_assert_cmpuint(strlen(listed), >, 4);
    g_assert_true(g_str_has_prefix(listed, "AA"));
    for (gsize i = 0; interleaved[i] != '\0'; i++)
        g_assert_cmpint(interleaved[i], ==, i % 2 == 0 ? 'A' : 'B');
}

static gboolean count_measurement(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    ++*(int *)user;
    return TRUE;
}

static void test_attempts(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study =
        study_of(fixture, HEAD "models: [matmul]\ndevices:\n  BAD: {device: simulated:toy/BAD}\n" FIXED);
    IfmCampaignProgress result = run(fixture, study, &(IfmStudyOptions){ .attempts = 3 });
    g_assert_cmpuint(result.n_failed, ==, 1);
    int n = 0;
    g_assert_true(ifm_store_each(fixture->store, count_measurement, &n, &error));
    g_assert_cmpint(n, ==, 3);
}

/* No case begins once the time is spent, and the next run measures them. */
static void test_total_time(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL);
    IfmCampaignProgress result;
    g_assert_false(
        measure_into(fixture, study, fixture->store, &(IfmStudyOptions){ .time_budget_ns = 1 }, &result, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    g_assert_cmpuint(result.n_measured, ==, 0);
    g_assert_cmpuint(run(fixture, study, &plain).n_measured, ==, 4);
}

/* The lines of the command line: tests/cli/test-usage.c has them, too. */
static void test_options_refused(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        IfmStudyOptions options;
        const char *line;
    } cases[] = {
        { { .attempts = 101 }, "--attempts: \"101\" is not a whole number from 1 to 100" },
        { { .time_budget_ns = -5 }, "--total-time: \"-5ns\" is not a duration, such as 500ms, 20s or 5min" },
        { { .order = 2 }, "--order: \"2\" is none of as-listed, interleaved" },
    };
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(measure_into(fixture, study, fixture->store, &cases[i].options, NULL, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
        g_assert_cmpstr(error->message, ==, cases[i].line);
    }
}

/* Every case is in one shard, and merged they are the study. */
static void test_shards(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    for (gsize i = 1; i <= 2; i++)
    {
        g_autofree char *path = g_strdup_printf("%s/shard-%zu/store.db", fixture->folder, i);
        g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_SHARD, &error);
        g_assert_no_error(error);
        g_autoptr(IfmStudy) study = study_of(fixture, SMALL);
        IfmCampaignProgress result;
        measure_into(fixture, study, store, &(IfmStudyOptions){ .shard = i, .n_shards = 2 }, &result, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(result.n_cases, ==, 2);
        g_assert_cmpuint(result.n_measured, ==, 2);
        g_assert_true(ifm_store_merge(fixture->store, store, NULL, &error));
    }
    g_autoptr(IfmStudyTables) points = points_of(NULL, fixture->store);
    for (guint i = 0; i < points->rows->len; i++)
        g_assert_null(((const IfmStudyRow *)points->rows->pdata[i])->reason);
    g_autoptr(IfmStudy) whole = study_of(fixture, SMALL);
    IfmCampaignProgress result = run(fixture, whole, &plain);
    g_assert_cmpuint(result.n_resumed, ==, 4);
    g_assert_cmpuint(result.n_measured, ==, 0);
}

/* What is of stages is refused in so many words, and the other way round. */
static void test_not_stages(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL);
    run(fixture, study, &plain);
    g_autoptr(IfmStudyTables) points = points_of(NULL, fixture->store);
    g_assert_false(ifm_study_tables_check_stages(points, fixture->store, &error));
    assert_says(&error, IFM_ERROR_INVALID, "is of kind profile: it has points, but no stages");
    g_autoptr(IfmStudy) stages = study_of(fixture, "title: points\nsubject: {model: graphsage, features: 4, hidden: 4}\n"
                                                   "sizes: [{nodes: 5, edges: [6]}]\n" DEVICES);
    g_assert_false(ifm_study_check_store(stages, fixture->store, &error));
    assert_says(&error, IFM_ERROR_INVALID, "is the store of a study \"small\" of kind profile, not stages");
}

/* --- a kind of this file's own -------------------------------------------------------------------------------------------
 */

/* Links of given sizes between each two devices, as points: what a new kind takes. */
typedef struct
{
    StudyText study;
    GArray *bytes;
} CopyText;

static const IfmRecordField copy_fields[] = { IFM_FIELD(SERIES, CopyText, bytes, .required = TRUE, .filled = TRUE, .min = 1,
                                                        .max = 1e9, .help = "sizes of the copies"),
                                              { 0 } };

static gboolean copy_read(IfmStudy *study, StudyText *text, GError **error)
{
    study->own = g_array_copy(((const CopyText *)(const void *)text)->bytes);
    return TRUE;
}

static void copy_clear(IfmStudy *study)
{
    g_array_unref(study->own);
}

static void copy_span(IfmStudy *study, int phase)
{
    const GArray *bytes = study->own;
    for (guint i = 0; i < bytes->len; i++)
        for (guint d = 0; d < study->devices->len; d++)
        {
            IfmStudyDevice *device = study->devices->pdata[d];
            const gint64 size = g_array_index(bytes, gint64, i);
            study_add_case(study, phase, study_point_new(device, json_pack("{s:I}", "bytes", (json_int_t)size)));
        }
}

static gboolean copy_export(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                            GError **error)
{
    if (n_models != NULL)
        *n_models = 0;
    return TRUE;
}

static gboolean copy_fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    IfmLinkCase *link = one->text = g_new(IfmLinkCase, 1);
    *link = (IfmLinkCase){ .from = one->device->device,
                           .to = one->device->device,
                           .size_bytes = json_integer_value(json_object_get(one->row.axes, "bytes")),
                           .protocol = study->protocol };
    item->kind = &ifm_kind_link;
    item->spec = link;
    return TRUE;
}

static void copy_drop(StudyCase *one)
{
    g_clear_pointer(&one->text, g_free);
}

static int copy_pace(const StudyCase *one)
{
    return 1;
}

static json_t *copy_definition(const IfmStudy *study)
{
    return json_pack("{s:{},s:o}", "model", "protocol", ifm_protocol_to_json(&study->protocol));
}

static const StudyKind copies = { .name = "copies",
                                  .help = "copies within a device",
                                  .fields = copy_fields,
                                  .text_size = sizeof(CopyText),
                                  .read = copy_read,
                                  .clear = copy_clear,
                                  .span = copy_span,
                                  .export_files = copy_export,
                                  .fill = copy_fill,
                                  .drop = copy_drop,
                                  .pace = copy_pace,
                                  .definition = copy_definition };

static void test_own_kind(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    const StudyKind *const kinds[] = { &study_kind_stages, &copies, NULL };
    g_autofree char *path =
        write_file(fixture, "copies.yaml", "title: copies\nkind: copies\nbytes: [100, 1000]\n" DEVICES FIXED);
    g_autoptr(IfmStudy) study = study_open_with(kinds, path, NULL, &error);
    g_assert_no_error(error);
    IfmCampaignProgress result = run(fixture, study, &plain);
    g_assert_cmpuint(result.n_measured, ==, 4);
    g_autoptr(IfmStudyTables) points = points_of(NULL, fixture->store);
    g_assert_cmpstr(points->kind, ==, "copies");
    g_assert_cmpstr(points->axes->pdata[0], ==, "bytes");
    for (guint i = 0; i < points->rows->len; i++)
        g_assert_cmpstr(((const IfmStudyRow *)points->rows->pdata[i])->reason, ==, NULL);
    g_autoptr(IfmStudy) again = study_open_with(kinds, path, NULL, &error);
    g_assert_cmpuint(run(fixture, again, &plain).n_resumed, ==, 4);
    g_assert_null(ifm_study_open(path, &error)); /* not a shipped one */
    assert_says(&error, IFM_ERROR_INVALID, "kind: \"copies\" is none");
}

#define ADD(name) g_test_add("/study-kinds/" #name, Fixture, NULL, set_up, test_##name, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD(span);
    ADD(shipped);
    ADD(mistakes);
    ADD(whole);
    ADD(dims);
    ADD(refused);
    ADD(order);
    ADD(attempts);
    ADD(total_time);
    ADD(options_refused);
    ADD(shards);
    ADD(not_stages);
    ADD(own_kind);
    return g_test_run();
}
