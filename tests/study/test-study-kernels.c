#include <math.h>

#include <base/fields.h>
#include <learn/learn.h>
#include <store/store.h>
#include <study/study-pages.h>
#include <study/study.h>

#include "document/summary-line.h"
#include "sensor/http-server.h"
#include "study-fixture.h"
#include "study/kind-kernels.h"
#include "study/study-cluster-private.h"

/* Studies of kernels: their keys, and a small one on the real runtime where it is here. */

#define HEAD "title: kernels\nkind: kernels-under-load\n"
#define DEVICE "devices: {CPU: {device: \"onnxruntime:CPU@0\"}}\n"
#define FIXED "protocol: {warmup: 1, runs: 3}\n"

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture_on_machine(fixture, "description: a test's\nprovenance: invented\nunits:\n  A: {description: one, latency: "
                                "{source: fixed, fixed: 1 ms}}\n");
}

static void test_mistakes(Fixture *fixture, gconstpointer data)
{
    static const char *const rows[][2] = {
        { HEAD DEVICE, "models" },
        { HEAD "models: [small-cnn]\nstress: [gem]\nlevels: [50]\ncores: [same]\n" DEVICE,
          ":4: stress: \"gem\" is no kind of load: gemm, copy or random is expected; did you mean \"gemm\"?" },
        { HEAD "models: [small-cnn]\nstress: [gemm]\n" DEVICE, ":4: stress: stress, levels and cores go together" },
        { HEAD "models: [small-cnn]\nlevels: [50]\n" DEVICE, ":4: levels: stress, levels and cores go together" },
        { HEAD "models: [small-cnn]\nlevels: [500]\n" DEVICE, "levels" },
        { HEAD "models: [small-cnn]\ncores: [all]\n" DEVICE, "cores" },
        { HEAD "models:\n  - vit\n  - vit\n" DEVICE, ":5: models: \"vit\" is listed twice" },
        { HEAD "models: [vit]\nheld_out: [vit]\n" DEVICE, ":4: held_out: \"vit\" is listed twice" },
        { HEAD "models: [vit]\nvisits: 0\n" DEVICE, "visits" },
        { HEAD "models: [vit]\nrounds: 0\n" DEVICE, "rounds" },
        { HEAD "models: [vit]\nprometheus: \"ftp://127.0.0.1\"\nqueries: {a: up}\n" DEVICE,
          ":4: prometheus: \"ftp://127.0.0.1\" is no URL" },
        { HEAD "models: [vit]\nprometheus: \"user:secret@127.0.0.1\"\nqueries: {a: up}\n" DEVICE,
          ":4: prometheus: \"127.0.0.1\" is no URL" },
        { HEAD "models: [vit]\nprometheus: \"http://127.0.0.1:1\"\n" DEVICE, ":4: prometheus: prometheus and queries go" },
        { HEAD "models: [vit]\nqueries: {up: up}\n" DEVICE, ":4: queries: prometheus and queries go together" },
        { HEAD "models: [vit]\nprometheus: \"http://127.0.0.1:1\"\nqueries: {\"a,b\": up}\n" DEVICE,
          ":5: queries: \"a,b\" is no name" },
        { HEAD "models: [no-such-model]\n" DEVICE, ":3: models: " },
        { HEAD "models: [vit]\nheld_out: [nowhere.onnx]\n" DEVICE, ":4: held_out: " },
        { HEAD "models: [vit]\nstress: [gemm, gemm]\nlevels: [30]\ncores: [same]\n" DEVICE,
          ":4: stress: \"gemm\" is listed twice" },
        { HEAD "models: [vit]\nstress: [gemm]\nlevels: [30, 30]\ncores: [same]\n" DEVICE,
          ":5: levels: 30 is listed twice" },
        { HEAD "models: [vit]\nstress: [gemm]\nlevels: [30]\ncores: [same, same]\n" DEVICE,
          ":6: cores: same is listed twice" },
        { HEAD "models: [vit]\nthreads: [1, 2, 1]\n" DEVICE, ":4: threads: 1 is listed twice" },
        { HEAD "models: [vit]\ndevices:\n  A: {device: \"onnxruntime:CPU@0\"}\n  B: {device: \"openvino:CPU@0\"}\n",
          ":6: a second device" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = write_file(fixture, "small.yaml", rows[i][0]);
        g_assert_null(ifm_study_open(path, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        if (strstr(error->message, rows[i][1]) == NULL)
            g_error("\"%s\" is not in \"%s\"", rows[i][1], error->message);
    }
}

/* A model that cannot be read costs its device; nothing is measured. */
static void test_unknown_model(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *model = write_file(fixture, "broken.onnx", "none");
    g_autofree char *path = write_file(fixture, "small.yaml", HEAD "models: [broken.onnx]\n" DEVICE FIXED),
                    *folder = g_build_filename(fixture->folder, "out", NULL);
    g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_study_info(study).spans_by_run);
    IfmStudyOptions options = { .folder = folder, .limits = IFM_LIMITS_INIT };
    g_assert_false(ifm_study_measure(study, fixture->store, &options, NULL, &error));
    g_assert_nonnull(error);
    g_assert_cmpuint(count(fixture->store), <=, 1); /* the device's peak at most */
}

static gboolean run_study(Fixture *fixture, IfmStudy *study, IfmCampaignProgress *result)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmStudyOptions options = { .folder = folder, .limits = IFM_LIMITS_INIT };
    const gboolean ok = ifm_study_measure(study, fixture->store, &options, result, &error);
    if (!ok && g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_test_skip(error->message);
        return FALSE;
    }
    g_assert_no_error(error);
    return TRUE;
}

static gboolean is_loaded(const IfmStudyRow *row)
{
    return g_strcmp0(ifm_member_text(row->axes, "load"), "none") != 0;
}

/* The kernels that were also measured under load, too few to learn from; these times are what they all took. */
static void keep_loaded(IfmStudyTables *tables, double loaded_ns, double idle_ns)
{
    g_autoptr(GHashTable) kept = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (is_loaded(row))
            g_hash_table_add(kept, (gpointer)ifm_member_text(row->axes, "kernel"));
    }
    for (guint i = 0; i < tables->rows->len; i++)
    {
        IfmStudyRow *row = tables->rows->pdata[i];
        row->median_ns = row->mean_ns = is_loaded(row) ? loaded_ns : idle_ns;
        if (row->reason == NULL && !g_hash_table_contains(kept, ifm_member_text(row->axes, "kernel")))
            row->reason = g_strdup("left out");
    }
}

static double bytes_of(const IfmKernelSample *sample)
{
    return sample->input_bytes + sample->weight_bytes + sample->output_bytes;
}

/* What the zoo's small-cnn holds: the weights of its kernels, and the most that one of them reads and writes else. */
static double working_set_of_model(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelRecords) records =
        ifm_kernel_records_open("small-cnn", &(const IfmKernelOptions){ .device = "onnxruntime:CPU@0", .seed = 1 }, &error);
    g_assert_no_error(error);
    double weights = 0, most = 0;
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *kernel = records->kernels->pdata[i];
        weights += (double)kernel->weight_bytes;
        most = fmax(most, (double)(kernel->input_bytes + kernel->output_bytes));
    }
    return weights + most;
}

/* What holds a kernel that was extracted is not known, nor what would hold one of its sizes around it, also where it is
 * read back, until a model has it that is known. */
static void test_nobodys_kernel(void)
{
    g_autoptr(GError) error = NULL;
    const IfmKernelOptions options = { .device = "onnxruntime:CPU@0", .seed = 1 };
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_open("small-cnn", &options, &error);
    StudyKernelSet set;
    if (records == NULL)
    {
        g_test_skip(error->message);
        return;
    }
    const gint64 known = ifm_kernel_records_working_set(records);
    char *level = records->level;
    study_kernel_set_init(&set);
    records->level = (char *)"";
    study_kernel_set_add(&set, "extracted", records);
    records->level = level;
    study_kernel_set_seal(&set, 100);
    study_kernel_set_vary(&set, set.n_own + 4, NULL, 1);
    g_assert_cmpuint(set.n_own, >=, 2);
    g_assert_cmpuint(set.kernels->len, ==, set.n_own + 4);
    for (guint i = 0; i < set.kernels->len; i++)
    {
        json_auto_t *json = ifm_record_to_json(set.kernels->pdata[i], study_kernel_fields);
        g_autoptr(StudyKernel) again = study_kernel_from_json(json, &error);
        g_assert_no_error(error);
        g_assert_cmpint(again->working_set_bytes, ==, -1);
    }
    study_kernel_set_add(&set, "small-cnn", records);
    for (guint i = 0; i < set.n_own; i++)
        g_assert_cmpint(((const StudyKernel *)set.kernels->pdata[i])->working_set_bytes, ==, known);
    study_kernel_set_clear(&set);
}

/* A ring holds what the model does; of a kernel of other sizes, what the model would with it. A store that does not say it
 * says the rings alone. */
static void check_rings(IfmStudyTables *points, const IfmKernelSamples *samples)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) own = g_hash_table_new(g_str_hash, g_str_equal);
    const double model_bytes = working_set_of_model();
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        if (sample->models != NULL)
            g_hash_table_insert(own, (gpointer)sample->kernel_id, (gpointer)sample);
    }
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        const IfmKernelSample *base = g_hash_table_lookup(own, sample->configuration);
        const double bytes = bytes_of(sample), held = model_bytes + bytes - bytes_of(base);
        const double copies = fmax(fmin(floor(held / bytes), IFM_KERNEL_MAX_COPIES),
                                   held >= 1.5 * bytes && sample->cache_bytes > bytes / 2 ? 2 : 1);
        g_assert_cmpfloat(sample->working_set_bytes, ==, held);
        g_assert_cmpfloat(held, <, (double)IFM_KERNEL_RING_BYTES); /* no bound but that of copies */
        g_assert_cmpfloat(sample->ring_bytes, ==, bytes + (copies - 1) * (bytes - sample->input_bytes));
    }
    json_t *kernel;
    gsize i;
    json_array_foreach((json_t *)ifm_member(points->definition, "kernels"), i, kernel)
    {
        g_assert_cmpint(json_object_del(kernel, "working_set_bytes"), ==, 0);
    }
    g_autoptr(IfmKernelSamples) older = ifm_study_kernel_samples(points, &error);
    g_assert_no_error(error);
    for (gsize k = 0; k < ifm_kernel_samples_n(samples); k++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(older, k);
        g_assert_true(isnan(sample->working_set_bytes));
        g_assert_cmpfloat(sample->ring_bytes, ==, ifm_kernel_samples_at(samples, k)->ring_bytes);
    }
}

/* Records of rings that hold something else than the model does are none of this study. */
static void check_answers(const Fixture *fixture, IfmStudy *study)
{
    const GPtrArray *cases = ifm_study_cases(study);
    gsize n_rings = 0;
    for (guint i = 0; i < cases->len; i++)
    {
        g_autoptr(GError) error = NULL;
        const StudyCase *one = cases->pdata[i];
        g_autoptr(IfmCase) record = ifm_store_case(fixture->store, one->row.key, &error);
        g_assert_no_error(error);
        g_assert_true(study_kind_kernels.answers(study, one, record));
        const json_int_t copies = json_integer_value(json_object_get(record->options, "ring"));
        json_object_set_new(record->options, "ring", json_integer(copies + 1));
        const gboolean is_ring = copies > 0;
        g_assert_true(study_kind_kernels.answers(study, one, record) == !is_ring);
        n_rings += is_ring;
    }
    g_assert_cmpuint(n_rings, ==, 2 * 8 + 2 * 2);
}

/* Visits, loads, the idle case of the same visit, models that were held out; and a second run finds everything. */
static void test_run(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    static const char text[] = HEAD "models: [small-cnn]\nheld_out: [\"zoo:matmul\"]\nshapes: 8\nloaded: 2\nvisits: 2\n"
                                    "stress: [gemm]\nlevels: [0, 50]\ncores: [same]\n" DEVICE FIXED;
    g_autofree char *path = write_file(fixture, "small.yaml", text);
    g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
    g_assert_no_error(error);
    IfmCampaignProgress result;
    if (!run_study(fixture, study, &result))
        return;
    const gsize n_kernels = 8,
                n_models = 1; /* each twice, two kernels in both visits under load, too, and the model in one */
    g_assert_cmpuint(result.n_cases, ==, 2 * (n_kernels + n_models) + 2 * 2 + n_models);
    g_assert_cmpuint(result.n_measured, ==, result.n_cases);
    g_assert_cmpuint(result.n_failed, ==, 0);
    g_autoptr(IfmStudyTables) points = ifm_study_tables(NULL, fixture->store, &error);
    g_assert_no_error(error);
    g_autoptr(IfmKernelSamples) samples = ifm_study_kernel_samples(points, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_kernel_samples_n(samples), ==, 2 * n_kernels + 2 * 2);
    gsize n_loaded = 0, n_own = 0;
    int visits = 0;
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        g_assert_cmpfloat(sample->latency_ms, >, 0);
        g_assert_cmpfloat(sample->idle_ms, >, 0);
        g_assert_cmpfloat(sample->n, ==, 3);
        g_assert_cmpfloat(sample->threads, ==, 1); /* of one core, though none were named */
        g_assert_cmpfloat(sample->roofline_ms, >, 0);
        g_assert_cmpstr(sample->device, ==, "onnxruntime:CPU@0");
        g_assert_true(g_str_has_prefix(sample->runtime, "onnxruntime ") && *sample->machine != '\0' &&
                      *sample->level != '\0');
        n_own += sample->models != NULL;
        if (sample->load_kind == IFM_LOAD_NONE)
        {
            g_assert_cmpfloat(sample->latency_ms, ==, sample->idle_ms);
            continue;
        }
        n_loaded++;
        g_assert_cmpint(sample->load_kind, ==, IFM_LOAD_GEMM);
        g_assert_cmpint(sample->load_cores, ==, IFM_LOAD_CORES_SAME);
        g_assert_cmpfloat(sample->load_level, ==, 0.5);
        g_assert_cmpfloat(sample->achieved_load, >, 0);
        visits |= 1 << (int)sample->visit;
    }
    g_assert_cmpuint(n_loaded, ==, 2 * 2);
    g_assert_cmpint(visits, ==, 1 << 1 | 1 << 2);
    g_assert_cmpuint(n_own, >, 0);
    check_rings(points, samples);
    g_autoptr(GArray) operators = ifm_kernel_operator_rows(samples), loads = ifm_kernel_load_rows(samples);
    gint64 n = 0;
    for (guint i = 0; i < operators->len; i++)
        n += g_array_index(operators, IfmOperatorRow, i).n_kernels;
    g_assert_cmpint(n, ==, (gint64)n_kernels);
    g_assert_cmpuint(loads->len, ==, 1);
    g_assert_cmpint(g_array_index(loads, IfmLoadRow, 0).n, ==, 2);
    g_autoptr(IfmKernelsOutcome) outcome = ifm_study_kernels_outcome(points, &error);
    g_assert_no_error(error);
    g_assert_true((outcome->model == NULL) == (outcome->why != NULL));
    g_assert_cmpuint(outcome->verdicts->len, ==, outcome->model != NULL ? 2 : 0);
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, fixture->store, &error);
    g_assert_no_error(error);
    keep_loaded(results->tables, 2e6, 1e6);
    g_autofree char *line = summary_line(ifm_study_results_document(results, IFM_STUDY_SUMMARY, NULL));
    assert_line(line, (const char *const[]){ "Under load the median kernel takes at most 2.00 times as long", NULL });
    keep_loaded(results->tables, 1e6, 1e6);
    g_autofree char *equal = summary_line(ifm_study_results_document(results, IFM_STUDY_SUMMARY, NULL));
    assert_line(equal, (const char *const[]){ "Under no load does the median kernel take longer than unloaded", NULL });
    for (guint i = 0; i < results->tables->rows->len; i++)
        ifm_record_set_text(&((IfmStudyRow *)results->tables->rows->pdata[i])->reason, "left out");
    g_autofree char *none = summary_line(ifm_study_results_document(results, IFM_STUDY_SUMMARY, NULL));
    assert_line(none, (const char *const[]){ "Nothing was measured: ", NULL });
    g_autoptr(IfmStudy) again = ifm_study_open(path, &error);
    g_assert_no_error(error);
    g_assert_true(run_study(fixture, again, &result));
    g_assert_cmpuint(result.n_measured, ==, 0);
    check_answers(fixture, again);
}

/* (transfer full) round -> how many kernels of it the manifest has */
static GArray *count_rounds(const IfmStudyTables *points)
{
    GArray *counts = g_array_new(FALSE, TRUE, sizeof(gint64));
    const json_t *list = ifm_member(points->definition, "kernels");
    for (gsize i = 0; i < json_array_size(list); i++)
    {
        const guint round = (guint)json_integer_value(json_object_get(json_array_get(list, i), "round"));
        if (counts->len <= round)
            g_array_set_size(counts, round + 1);
        g_array_index(counts, gint64, round)++;
    }
    return counts;
}

/* Rounds share the shapes; what an earlier session chose stays, and is found. */
static void test_rounds(Fixture *fixture, gconstpointer data)
{
    static const char text[] =
        HEAD "models: [small-cnn, \"zoo:matmul\"]\nshapes: 24\nrounds: 3\nloaded: 0\nvisits: 1\n" DEVICE FIXED;
    g_autofree char *path = write_file(fixture, "small.yaml", text);
    gint64 measured = 24;
    for (int session = 0; session < 2; session++)
    {
        g_autoptr(GError) error = NULL;
        IfmCampaignProgress result;
        g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
        g_assert_no_error(error);
        if (!run_study(fixture, study, &result))
            return;
        g_assert_cmpuint(result.n_cases, ==, 24);
        g_assert_cmpuint(result.n_measured, ==, measured);
        g_autoptr(IfmStudyTables) points = ifm_study_tables(NULL, fixture->store, &error);
        g_assert_no_error(error);
        g_autoptr(GArray) counts = count_rounds(points);
        const gint64 *n = (const gint64 *)(const void *)counts->data;
        g_assert_cmpuint(counts->len, ==, 4);
        g_assert_cmpint(n[1] + n[2] + n[3], ==, 24);
        g_assert_cmpint(ABS(n[2] - n[3]), <=, 1);
        g_assert_cmpint(n[2], >, 0);
        measured = 0;
    }
}

/* Asks for two shards; sbatch, which need not be here, is a script that answers with the number of a job. */
static void submit_shards(const Fixture *fixture, IfmStudy *study, const char *path, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmClusterJob) job = { 0 };
    g_autofree char *sbatch = write_file(fixture, "sbatch", "#!/bin/sh\necho 7\n");
    g_autofree char *before = g_strdup(g_getenv("PATH")), *with = g_strconcat(fixture->folder, ":", before, NULL);
    IfmClusterOptions options = { .slurm = TRUE,
                                  .n_shards = 2,
                                  .time_ns = IFM_OPTION_UNSET,
                                  .memory_bytes = IFM_OPTION_UNSET,
                                  .cpus_per_task = IFM_OPTION_UNSET,
                                  .study = path };
    g_assert_cmpint(g_chmod(sbatch, 0700), ==, 0);
    g_setenv("PATH", with, TRUE);
    ifm_cluster_submit(study, folder, &options, &job, &error);
    g_setenv("PATH", before, TRUE);
    g_assert_no_error(error);
}

/* FALSE where it cannot be measured here. */
static gboolean run_shard(Fixture *fixture, const char *path, const char *folder, gsize shard)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *part = cluster_shard_folder(folder, (gint64)shard, 2),
                    *store = g_build_filename(part, "store.db", NULL);
    g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
    g_assert_no_error(error);
    ifm_store_close(fixture->store);
    fixture->store = ifm_store_open(store, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    IfmStudyOptions options = { .folder = part, .limits = IFM_LIMITS_INIT, .shard = shard, .n_shards = 2 };
    if (ifm_study_measure(study, fixture->store, &options, NULL, &error))
        return TRUE;
    assert_says(&error, IFM_ERROR_UNAVAILABLE, "");
    g_test_skip("the runtime is not here");
    return FALSE;
}

/* As a program without rounds has left them. */
static void forget_rounds(IfmStore *store)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *manifest = ifm_store_document(store, STUDY_DOCUMENT, &error);
    g_assert_no_error(error);
    json_t *kernel, *list = (json_t *)ifm_member(manifest, "definition.kernels");
    gsize i;
    g_assert_cmpuint(json_array_size(list), ==, 16);
    json_array_foreach(list, i, kernel)
    {
        g_assert_cmpint(json_object_del(kernel, "round"), ==, 0);
    }
    g_assert_true(ifm_store_set_document(store, STUDY_DOCUMENT, manifest, &error));
}

/* Shards have all kernels from the start, as the submission counts them; a run of the whole study finds all of them. */
static void test_shards(Fixture *fixture, gconstpointer data)
{
    static const char text[] = HEAD "models: [small-cnn]\nshapes: 16\nrounds: 3\nloaded: 2\nvisits: 1\n"
                                    "stress: [gemm]\nlevels: [50]\ncores: [same]\n" DEVICE FIXED;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = write_file(fixture, "small.yaml", text),
                    *folder = g_build_filename(fixture->folder, "out", NULL),
                    *store = g_build_filename(folder, "store.db", NULL);
    IfmStudyMerge merge;
    IfmCampaignProgress result;
    g_autoptr(IfmStudy) study = ifm_study_open(path, &error), again = ifm_study_open(path, &error);
    g_assert_no_error(error);
    if (!run_shard(fixture, path, folder, 1))
        return;
    submit_shards(fixture, study, path, folder);
    g_autoptr(IfmClusterStatus) status = ifm_cluster_status(folder, &error);
    g_assert_no_error(error);
    const IfmShardStatus *first = status->shards->pdata[0];
    g_assert_cmpstr(first->why, ==, NULL);
    g_assert_cmpuint(first->counts.n_done, ==, (16 + 2) / 2);
    g_assert_true(run_shard(fixture, path, folder, 2));
    g_assert_true(ifm_study_merge(study, folder, NULL, &merge, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(merge.n_missing, ==, 0);
    ifm_store_close(fixture->store);
    fixture->store = ifm_store_open(store, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    forget_rounds(fixture->store);
    g_assert_true(run_study(fixture, again, &result));
    g_assert_cmpuint(result.n_cases, ==, 16 + 2);
    g_assert_cmpuint(result.n_measured, ==, 0);
}

static void add_kernel(IfmKernelSamples *samples, const char *op_type, int i, double latency_ms)
{
    g_autofree char *id = g_strdup_printf("%s-%d", op_type, i);
    IfmKernelSample sample;
    ifm_kernel_sample_init(&sample);
    sample.kernel_id = id;
    sample.op_type = op_type;
    sample.models = "one";
    sample.threads = 1;
    sample.visit = 1;
    sample.flop = 1e6 * (1 + i);
    sample.input_bytes = sample.weight_bytes = sample.output_bytes = 1e4 * (1 + i);
    sample.latency_ms = sample.median_ms = latency_ms;
    ifm_kernel_samples_add(samples, &sample);
}

/* The next kernels are of operators that are predicted badly and take long. */
static void test_needs(void)
{
    enum
    {
        N = 24
    };
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    double sum = 0;
    for (int i = 0; i < N; i++)
    {
        add_kernel(samples, "Gemm", i, 0.1 * (1 + i));
        add_kernel(samples, "Relu", i, 0.001 * (1 + i) * exp(g_rand_double_range(random, -1, 1)));
        add_kernel(samples, "Conv", i, 0.1 * (1 + i) * exp(g_rand_double_range(random, -1, 1)));
    }
    g_autoptr(GArray) needs = study_kernel_needs(samples, NULL, NULL);
    g_assert_cmpuint(needs->len, ==, 3);
    for (guint i = 0; i < needs->len; i++)
        sum += g_array_index(needs, StudyNeed, i).share;
    g_assert_cmpfloat_with_epsilon(sum, 1, 1e-9);
    g_assert_cmpstr(g_array_index(needs, StudyNeed, 0).op_type, ==, "Conv");
    g_assert_cmpfloat(g_array_index(needs, StudyNeed, 0).share, >, 0.5);
    g_assert_cmpstr(g_array_index(needs, StudyNeed, 1).op_type, ==, "Relu"); /* off as far, in a hundredth of the time */
    g_assert_cmpfloat(g_array_index(needs, StudyNeed, 1).share, <, 0.05);
    g_assert_cmpstr(g_array_index(needs, StudyNeed, 2).op_type, ==, "Gemm"); /* a line, which nothing is to be learnt of */
    g_assert_cmpfloat(g_array_index(needs, StudyNeed, 2).share, <, 1e-3);
    g_autoptr(IfmKernelSamples) few = ifm_kernel_samples_new(NULL);
    add_kernel(few, "Gemm", 0, 1);
    g_autoptr(GArray) none = study_kernel_needs(few, NULL, NULL);
    g_assert_cmpuint(none->len, ==, 0);
    g_autoptr(GError) error = NULL;
    const gint interrupted = 1;
    g_assert_null(study_kernel_needs(samples, &interrupted, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
}

/* A kernel of a model for each of @n sizes, and between each two of them @between that were chosen in the second round. The
 * time follows the size in waves, which the first alone do not show. (transfer full) what the manifest says of them */
static json_t *add_waves(IfmKernelSamples *samples, int n, int between)
{
    json_t *kernels = json_array();
    for (int i = 0; i < n * (1 + between); i++)
    {
        const gboolean is_own = i % (1 + between) == 0;
        const double size = pow(1.1, (double)i / (1 + between));
        g_autofree char *id = g_strdup_printf("wave-%d", i);
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        sample.kernel_id = id;
        sample.op_type = i % 2 == 0 ? "Conv" : "Gemm";
        sample.models = is_own ? "one" : NULL;
        sample.threads = sample.visit = 1;
        sample.flop = 1e6 * size;
        sample.input_bytes = sample.weight_bytes = sample.output_bytes = 1e4 * size;
        sample.latency_ms = sample.median_ms = 0.1 * size * exp(0.6 * sin((double)i / (1 + between) / 1.5));
        ifm_kernel_samples_add(samples, &sample);
        json_array_append_new(kernels, json_pack("{s:s,s:i}", "id", id, "round", is_own ? 1 : 2));
    }
    return json_pack("{s:o}", "kernels", kernels);
}

/* (transfer full) IfmRoundRow */
static GArray *round_rows(const json_t *definition, const IfmKernelSamples *samples)
{
    g_autoptr(GError) error = NULL;
    const IfmStudyTables points = { .definition = (json_t *)definition };
    GArray *rows = ifm_kernel_round_rows(&points, samples, &error);
    g_assert_no_error(error);
    return rows;
}

/* Whether a round helped is said with an interval, kernel by kernel. */
static void test_round_rows(void)
{
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL), none = ifm_kernel_samples_new(NULL);
    json_auto_t *definition = add_waves(samples, 40, 8);
    g_autoptr(GArray) rows = round_rows(definition, samples);
    g_assert_cmpuint(rows->len, ==, 2);
    const IfmRoundRow *row = &g_array_index(rows, IfmRoundRow, 0);
    g_assert_true(isnan(row[0].change) && isnan(row[0].change_interval.lower));
    g_assert_cmpint(row[0].n_kernels, ==, 40);
    g_assert_cmpint(row[1].n_kernels, ==, 40 * 9);
    g_assert_cmpfloat_with_epsilon(row[1].change, row[1].mape - row[0].mape, 1e-12);
    g_assert_cmpfloat(row[1].change_interval.upper, <, 0);
    g_assert_cmpfloat(row[1].change_interval.lower, <, row[1].change);
    g_autoptr(GArray) nothing_learnt = round_rows(definition, none);
    g_assert_cmpuint(nothing_learnt->len, ==, 0);
}

/* A study of one round has nothing to compare. */
static void test_one_round(void)
{
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    json_auto_t *definition = add_waves(samples, 40, 0);
    g_autoptr(GArray) rows = round_rows(definition, samples);
    g_assert_cmpuint(rows->len, ==, 0);
}

#define SCRAPE_S 0.05

/* A server that scrapes every 50 ms and has one metric; of another it has nothing. */
static char *answer(const char *path, const char *form, void *user)
{
    static const char head[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[";
    const double now = (double)g_get_real_time() / 1e6;
    if (form != NULL && strstr(form, "start=") == NULL) /* its scrapes */
        return g_strdup_printf("%s{\"metric\":{},\"values\":[[%.3f,\"1\"],[%.3f,\"1\"]]}]}}", head, now - SCRAPE_S, now);
    const gboolean is_there = form != NULL && strstr(form, "query=there") != NULL;
    return g_strdup_printf("%s%s]}}", head, is_there ? "{\"metric\":{},\"values\":[[1700000000,\"0.25\"]]}" : "");
}

/* Windows hold several scrapes, and the server's numbers stand in the samples by their names. */
static void test_prometheus(Fixture *fixture, gconstpointer data)
{
    static const char *const queries[] = { "there", "nowhere" };
    HttpServer server = { .answer = answer };
    IfmCampaignProgress result;
    http_start(&server);
    for (gsize i = 0; i < G_N_ELEMENTS(queries); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *text =
            g_strdup_printf(HEAD "models: [small-cnn]\nshapes: 3\nloaded: 0\nvisits: 1\n"
                                 "prometheus: \"http://127.0.0.1:%d\"\nqueries: {gpu.busy: %s}\n" DEVICE FIXED,
                            server.port, queries[i]);
        g_autofree char *path = write_file(fixture, "small.yaml", text);
        g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
        g_assert_no_error(error);
        if (!run_study(fixture, study, &result))
            break;
        g_assert_cmpuint(result.n_failed + result.n_skipped, ==, i == 0 ? 0 : 3);
        g_autoptr(IfmStudyTables) points = ifm_study_tables(NULL, fixture->store, &error);
        g_assert_no_error(error);
        for (guint k = 0; k < points->rows->len; k++)
        {
            const IfmStudyRow *point = points->rows->pdata[k];
            if (i == 1)
            {
                g_assert_nonnull(
                    strstr(point->reason, "metric gpu.busy: prometheus: nowhere: the server has nothing of it"));
                continue;
            }
            const json_t *environment = point->measurement->environment;
            g_assert_cmpfloat(ifm_member_number(environment, "metrics.before.end_unix_ns") -
                                  ifm_member_number(environment, "metrics.before.start_unix_ns"),
                              >=, 3e9 * SCRAPE_S * 0.9);
            g_assert_cmpfloat(ifm_member_number(environment, "metrics.during.end_unix_ns") -
                                  ifm_member_number(environment, "metrics.during.start_unix_ns"),
                              >=, 3e9 * SCRAPE_S * 0.9);
        }
        g_autoptr(IfmKernelSamples) samples = ifm_study_kernel_samples(points, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(ifm_kernel_samples_n(samples), ==, i == 0 ? 3 : 0);
        g_autofree char *csv = ifm_kernel_samples_to_csv(samples);
        g_assert_true((strstr(csv, "metric:before:gpu.busy,") != NULL) == (i == 0));
        g_assert_true(i == 1 || strstr(csv, ",0.25,") != NULL);
    }
    http_stop(&server);
}

/* Slow: a server that scrapes every second and more. */
#define SLOW_SCRAPE_S 1.2

static char *answer_slowly(const char *path, const char *form, void *user)
{
    static const char head[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},";
    const double now = (double)g_get_real_time() / 1e6;
    return g_strdup_printf("%s\"values\":[[%.3f,\"1\"],[%.3f,\"1\"]]}]}}", head, now - SLOW_SCRAPE_S, now);
}

/* A server that scrapes once a minute, and a study that does not wait so long: the case fails before it waits. */
static char *answer_by_minute(const char *path, const char *form, void *user)
{
    static const char head[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},";
    const double now = (double)g_get_real_time() / 1e6;
    return g_strdup_printf("%s\"values\":[[%.3f,\"1\"],[%.3f,\"1\"]]}]}}", head, now - 60, now);
}

static void test_wait_budget(Fixture *fixture, gconstpointer data)
{
    HttpServer server = { .answer = answer_by_minute };
    IfmCampaignProgress result;
    g_autoptr(GError) error = NULL;
    http_start(&server);
    g_autofree char *text =
        g_strdup_printf(HEAD "models: [small-cnn]\nshapes: 1\nloaded: 0\nvisits: 1\nprometheus_wait: 90 s\n"
                             "prometheus: \"http://127.0.0.1:%d\"\nqueries: {a: up}\n" DEVICE FIXED,
                        server.port);
    g_autofree char *path = write_file(fixture, "minute.yaml", text);
    g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
    g_assert_no_error(error);
    if (run_study(fixture, study, &result))
    {
        g_assert_cmpuint(result.n_failed + result.n_skipped, ==, 1);
        g_autoptr(IfmStudyTables) points = ifm_study_tables(NULL, fixture->store, &error);
        g_assert_no_error(error);
        const IfmStudyRow *point = points->rows->pdata[0];
        g_assert_nonnull(strstr(point->reason, "scrapes are 60 s apart: a window of two is longer than the wait of 90 s"));
    }
    http_stop(&server);
}

/* Waiting for the server is no silence of the worker: three scrapes take longer than the hang limit. */
static void test_wait(Fixture *fixture, gconstpointer data)
{
    HttpServer server = { .answer = answer_slowly };
    IfmCampaignProgress result;
    g_autoptr(GError) error = NULL;
    http_start(&server);
    g_autofree char *text =
        g_strdup_printf(HEAD "models: [small-cnn]\nshapes: 1\nloaded: 0\nvisits: 1\nlimits: {hang: 3 s}\n"
                             "prometheus: \"http://127.0.0.1:%d\"\nqueries: {a: up}\n" DEVICE FIXED,
                        server.port);
    g_autofree char *path = write_file(fixture, "slow.yaml", text);
    g_autoptr(IfmStudy) study = ifm_study_open(path, &error);
    g_assert_no_error(error);
    if (run_study(fixture, study, &result))
    {
        g_assert_cmpuint(result.n_failed + result.n_skipped, ==, 0);
        g_assert_cmpuint(result.n_measured, ==, 1);
    }
    http_stop(&server);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, test) g_test_add("/study-kernels/" name, Fixture, NULL, set_up, test, tear_down)
    ADD("mistakes", test_mistakes);
    ADD("prometheus", test_prometheus);
    ADD("wait", test_wait);
    ADD("wait-budget", test_wait_budget);
    ADD("unknown-model", test_unknown_model);
    ADD("run", test_run);
    ADD("rounds", test_rounds);
    ADD("shards", test_shards);
    g_test_add_func("/study-kernels/nobodys-kernel", test_nobodys_kernel);
    g_test_add_func("/study-kernels/needs", test_needs);
    g_test_add_func("/study-kernels/round-rows", test_round_rows);
    g_test_add_func("/study-kernels/one-round", test_one_round);
    return g_test_run();
}
