#include "study-fixture.h"
#include "study/study-private.h"

#include <math.h>
#include <unistd.h>

#include <onnx/onnx.h>
#include <store/store.h>

/* All on simulated devices and a virtual clock. A machine whose every run takes 1 ms, so that each figure is known. */
static const char machine[] =
    "description: a test's\n"
    "provenance: invented\n"
    "units:\n"
    "  CPU:\n"
    "    description: the processor\n"
    "    capabilities: [free-shapes, set-output]\n"
    "    latency: {source: fixed, fixed: 1 ms}\n"
    "    link: {bytes_per_s: 1e9, fixed: 1 us, assumed: true}\n"
    "  NPU:\n"
    "    description: the unit that gets lost\n"
    "    capabilities: [set-output, buffers]\n"
    "    latency: {source: fixed, fixed: 2 ms}\n"
    "    link: {bytes_per_s: 1e9, fixed: 1 us, assumed: true}\n"
    "    faults:\n"
    "      - {what: refuse, when: {at: compile, stages: [\"3\"]}, reason: no scatter here}\n"
    "      - {what: lose, mode: reported-once, when: {min: {nodes: 200}}, reason: it is gone, recover_after: 2}\n"
    "  NPU2:\n"
    "    description: one that stays\n"
    "    capabilities: [set-output]\n"
    "    latency: {source: fixed, fixed: 3 ms}\n";

#define SUBJECT "subject: {model: graphsage, features: 8, hidden: 4}\n"
#define THREE "subject: {model: graphsage, features: 8, hidden: 4, stages: [1, 3, 5]}\n"
#define FIXED "protocol: {warmup: 2, runs: 5}\n"
#define NO_LINKS "links: {measure: false}\n"

#define STORE "out/store.db"

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture_on_machine(fixture, machine);
}

/* --- what a run says on its way --------------------------------------------------------------------------------------- */

typedef struct
{
    GString *order; /* titles of the cases that ended, in order */
    int phases[2], n_phases;
    gsize n_phase_1; /* rows with a latency when phase 1 was done */
    gsize n_ended, n_stages_ended, stop_after;
    gint interrupted;
} Witness;

static void witness_clear(Witness *witness)
{
    if (witness->order != NULL)
        g_string_free(witness->order, TRUE);
    witness->order = NULL;
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Witness, witness_clear)

static void see(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    Witness *witness = user;
    g_assert_cmpuint(progress->n_done, ==, progress->n_resumed + progress->n_measured);
    g_assert_cmpuint(progress->n_done, <=, progress->n_cases);
    g_assert_true(progress->step == NULL || g_utf8_validate(progress->step, -1, NULL)); /* reads all of it */
    if (ended == NULL)
        return;
    g_assert_nonnull(progress->now);
    g_assert_true(progress->step == NULL || *progress->step != '\0');
    gboolean rated = progress->n_measured > 0;
    g_assert_true(rated ? progress->cases_per_s > 0 : isnan(progress->cases_per_s));
    witness->n_stages_ended += ((const IfmStudyCase *)progress->now->tag)->stage > 0;
    /* Links, which come first, tell nothing of how long stages take. */
    gboolean reported = rated && (witness->n_stages_ended > 0 || progress->n_done == progress->n_cases);
    g_assert_true(reported ? progress->left_ns >= 0 : progress->left_ns == -1);
    g_assert_true(progress->n_done < progress->n_cases || !rated || progress->left_ns == 0);
    g_string_append_printf(witness->order, "%s\n", progress->now->title);
    if (++witness->n_ended == witness->stop_after)
        g_atomic_int_set(&witness->interrupted, 1);
}

static gsize count_latencies(const IfmStudyTables *tables)
{
    gsize n = 0;
    for (guint i = 0; i < tables->rows->len; i++)
        n += ((const IfmStudyRow *)tables->rows->pdata[i])->reason == NULL;
    return n;
}

static gboolean phase_done(IfmStudy *study, IfmStore *store, int phase, void *user, GError **error)
{
    Witness *witness = user;
    g_autoptr(IfmStudyTables) tables = ifm_study_tables(NULL, store, error);
    g_assert_nonnull(tables);
    witness->phases[witness->n_phases++] = phase;
    if (phase == 1)
        witness->n_phase_1 = count_latencies(tables);
    return TRUE;
}

static gboolean run_with(const Fixture *fixture, IfmStudy *study, IfmStore *store, gboolean retry, Witness *witness,
                         IfmCampaignProgress *result, GError **error)
{
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmStudyOptions options = { .folder = folder,
                                .limits = IFM_LIMITS_INIT,
                                .retry = retry,
                                .interrupted = &witness->interrupted,
                                .progress = see,
                                .phase_done = phase_done,
                                .user = witness };
    witness_clear(witness);
    witness->order = g_string_new(NULL);
    gboolean good = ifm_study_measure(study, store, &options, result, error);
    return good;
}

static IfmCampaignProgress run(const Fixture *fixture, IfmStudy *study, IfmStore *store, gboolean retry, Witness *witness)
{
    g_autoptr(GError) error = NULL;
    IfmCampaignProgress result;
    witness_clear(witness);
    *witness = (Witness){ 0 };
    run_with(fixture, study, store, retry, witness, &result, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(result.n_done, ==, result.n_cases);
    return result;
}

/* --- a whole study ---------------------------------------------------------------------------------------------------- */

#define SMALL                                                                                                              \
    "title: small\n" THREE "sizes: [{nodes: 20, edges: [30, 40]}, {nodes: 50, edges: [60]}]\n"                             \
    "devices:\n  CPU: {device: simulated:toy/CPU}\n  Two: {device: simulated:toy/NPU2, form: static}\n" FIXED

static void assert_inputs(const Fixture *fixture, const char *file, const IfmGraph *graph)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture->folder, "out", "inputs", file, NULL);
    g_autoptr(IfmTensorFile) inputs = ifm_tensor_file_open(path, &error);
    g_assert_no_error(error);
    const IfmTensor *edges = ifm_tensor_file_find(inputs, "edge_index"), *degrees = ifm_tensor_file_find(inputs, "c"),
                    *zeros = ifm_tensor_file_find(inputs, "zeros");
    g_assert_true(edges != NULL && degrees != NULL && zeros != NULL);
    g_assert_cmpint(edges->shape[1], ==, graph->n_edges);
    g_assert_cmpmem(edges->data, edges->size_bytes, graph->edge_index, 2 * (gsize)graph->n_edges * sizeof(gint64));
    g_assert_cmpint(degrees->shape[0], ==, graph->n_nodes);
    g_assert_cmpint(zeros->shape[0], ==, graph->n_nodes);
    for (gint64 node = 0; node < graph->n_nodes; node++)
    {
        gint64 n = 0;
        for (gint64 edge = 0; edge < graph->n_edges; edge++)
            n += graph->edge_index[graph->n_edges + edge] == node;
        g_assert_cmpfloat(ifm_tensor_get_double(degrees, node), ==, (double)n);
        g_assert_cmpfloat(ifm_tensor_get_double(zeros, node), ==, 0);
    }
}

static void assert_model(const Fixture *fixture, const char *file, int stage, gboolean dynamic)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture->folder, "out", "models", file, NULL);
    g_autofree char *number = g_strdup_printf("%d", stage);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_model_metadata(model, "inferometer.stage"), ==, number);
    gboolean fixed = TRUE;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        fixed &= ifm_port_is_fixed(ifm_model_input(model, i));
    g_assert_cmpint(fixed, ==, !dynamic);
}

static void test_whole(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
    IfmStore *store = fixture->store;
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_cases, ==, 3 * 3 * 2);
    g_assert_cmpuint(result.n_measured, ==, 18);
    g_assert_cmpuint(result.n_failed + result.n_skipped + result.n_resumed, ==, 0);
    g_assert_cmpuint(count(store), ==, 18);
    g_autoptr(GString) span = g_string_new(NULL); /* measured in the order of the span */
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        const IfmStudyCase *one = cases->pdata[i];
        g_string_append_printf(span, "%s\n", one->title);
        g_assert_nonnull(one->key);
    }
    g_assert_cmpstr(witness.order->str, ==, span->str);
    g_assert_cmpint(witness.n_phases, ==, 2);
    g_assert_cmpint(witness.phases[0], ==, 1);
    g_assert_cmpint(witness.phases[1], ==, 2);
    g_assert_cmpuint(witness.n_phase_1, ==, 9);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_cmpstr(tables->name, ==, "small");
    g_assert_false(tables->imported);
    g_assert_cmpuint(tables->rows->len, ==, 18);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        const IfmStudyCase *one = cases->pdata[i];
        g_assert_cmpstr(row->key, ==, one->key);
        g_assert_cmpstr(row->device->alias, ==, one->alias);
        g_assert_true(row->device->simulated);
        g_assert_cmpfloat(row->median_ns, ==, g_str_equal(one->alias, "CPU") ? 1e6 : 3e6);
        g_assert_cmpint(row->n, ==, 5);
        g_assert_cmpfloat(row->std_ns, ==, 0);
    }
    g_assert_cmpstr(((const IfmStudyDevice *)tables->devices->pdata[0])->description, ==, "the processor");
    g_autoptr(IfmGraph) graph = ifm_graph_random(IFM_GRAPH_UNIFORM, 20, 40, 1, NULL);
    assert_inputs(fixture, "n20-e40.tensors", graph);
    assert_model(fixture, "CPU/stage3.onnx", 3, TRUE);
    assert_model(fixture, "Two/stage5-n50-e60.onnx", 5, FALSE);
}

/* What the records say of a case. */
static void test_records(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
    IfmStore *store = fixture->store;
    run(fixture, study, store, FALSE, &witness);
    const IfmStudyCase *one = ifm_study_cases(study)->pdata[1];
    g_autoptr(IfmMeasurement) measurement = ifm_store_latest(store, one->key, NULL);
    g_assert_nonnull(measurement);
    g_assert_cmpstr(measurement->stop_reason, ==, "fixed");
    g_assert_cmpuint(measurement->samples_ns->len, ==, 5);
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 2);
    g_assert_cmpstr(json_string_value(json_object_get(measurement->environment, "clock_kind")), ==, "virtual");
    json_auto_t *manifest = ifm_store_document(store, "study", NULL);
    const json_t *row = json_array_get(json_object_get(manifest, "cases"), 1);
    g_assert_cmpstr(json_string_value(json_object_get(row, "key")), ==, one->key);
    g_assert_cmpint(json_array_size(json_object_get(manifest, "sessions")), ==, 1);
    const json_t *session = json_array_get(json_object_get(manifest, "sessions"), 0);
    g_assert_cmpint(json_integer_value(json_object_get(session, "n_measured")), ==, 18);
    g_assert_true(json_is_null(json_object_get(manifest, "imported")));
}

static void test_resume(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    IfmStore *store = fixture->store;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
    run(fixture, study, store, FALSE, &witness);
    json_auto_t *before = ifm_store_document(store, "study", NULL);
    g_autoptr(IfmStudy) again = study_of(fixture, SMALL NO_LINKS);
    IfmCampaignProgress result = run(fixture, again, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 0);
    g_assert_cmpuint(result.n_resumed, ==, 18);
    g_assert_cmpuint(count(store), ==, 18);
    g_assert_cmpint(witness.n_phases, ==, 2); /* its results are written again */
    json_auto_t *after = ifm_store_document(store, "study", NULL);
    g_assert_cmpint(json_equal(before, after), ==, 1);
    /* A size more: that alone is measured. */
    g_autoptr(IfmStudy) larger = study_of(
        fixture,
        "title: small\n" THREE "sizes: [{nodes: 20, edges: [30, 40]}, {nodes: 50, edges: [60, 70]}]\n"
        "devices:\n  CPU: {device: simulated:toy/CPU}\n  Two: {device: simulated:toy/NPU2, form: static}\n" FIXED NO_LINKS);
    result = run(fixture, larger, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 6);
    g_assert_cmpuint(result.n_resumed, ==, 18);
}

/* Interrupted after every third case until it is done: each case once. */
static void test_interrupted(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    IfmStore *store = fixture->store;
    gsize n_measured = 0, n_runs = 0;
    for (gboolean done = FALSE; !done; n_runs++)
    {
        g_auto(Witness) witness = { .stop_after = 3 };
        IfmCampaignProgress result;
        g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
        done = run_with(fixture, study, store, FALSE, &witness, &result, &error);
        n_measured += result.n_measured;
        g_assert_cmpuint(result.n_resumed + result.n_measured, ==, n_measured);
        g_assert_cmpuint(count(store), ==, n_measured);
        g_assert_cmpuint(result.n_measured, <=, 3);
        if (!done && n_runs == 0)
            assert_says(&error, IFM_ERROR_CANCELLED, "interrupted: 3 of 18 cases are measured");
        g_clear_error(&error);
    }
    g_assert_cmpuint(n_measured, ==, 18);
    g_assert_cmpuint(n_runs, ==, 6); /* the last of 18 is the end, before it could be stopped */
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_cmpuint(count_latencies(tables), ==, 18);
    json_auto_t *manifest = ifm_store_document(store, "study", NULL);
    g_assert_cmpuint(json_array_size(json_object_get(manifest, "sessions")), ==, n_runs);
}

/* --- links ------------------------------------------------------------------------------------------------------------ */

/* 20 nodes, 30 edges, F 8, H 4: 80, 320, 480, 640 and 960 bytes; assumed, since a simulation's. */
static void test_links(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    g_autoptr(IfmStudy) study =
        study_of(fixture, "title: links\n" THREE "sizes: [{nodes: 20, edges: [30]}]\n"
                          "devices:\n  CPU: {device: simulated:toy/CPU}\n  NPU: {device: simulated:toy/NPU}\n" FIXED);
    IfmStore *store = fixture->store;
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_cases, ==, 3 + 3 + 2 * 5);
    g_assert_cmpuint(result.n_failed, ==, 1); /* the NPU's stage 3 */
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_cmpuint(tables->links->len, ==, 2);
    static const double bytes[] = { 80, 320, 480, 640, 960 };
    for (guint i = 0; i < tables->links->len; i++)
    {
        const IfmLinkFit *link = tables->links->pdata[i];
        g_assert_cmpuint(link->n, ==, 5);
        g_assert_cmpmem(link->bytes, sizeof bytes, bytes, sizeof bytes);
        g_assert_true(link->fitted && link->assumed);
        g_assert_null(link->why);
        g_assert_cmpstr(link->from->alias, ==, i == 0 ? "CPU" : "NPU");
        g_assert_cmpstr(link->to->alias, ==, i == 0 ? "NPU" : "CPU");
    }
}

/* --- devices that are not here, or go -----------------------------------------------------------------------------------
 */

static void test_absent(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    IfmStore *store = fixture->store;
    g_autoptr(IfmStudy) study =
        study_of(fixture, "title: small\n" THREE "sizes: [{nodes: 20, edges: [30, 40]}, {nodes: 50, edges: [60]}]\n"
                          "devices:\n  CPU: {device: simulated:toy/CPU}\n"
                          "  Two: {device: simulated:toy/TPU, form: static}\n" FIXED);
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_cases, ==, 9);
    g_assert_cmpint(witness.n_phases, ==, 1);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    const IfmStudyDevice *absent = tables->devices->pdata[1];
    g_assert_nonnull(absent->reason);
    g_assert_nonnull(strstr(absent->reason, "TPU"));
    g_assert_cmpuint(tables->rows->len, ==, 18);
    g_assert_cmpuint(count_latencies(tables), ==, 9);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device != absent)
            continue;
        g_assert_cmpstr(row->code, ==, "unavailable");
        g_assert_cmpstr(row->reason, ==, absent->reason);
        g_assert_true(isnan(row->median_ns) && row->measurement == NULL);
    }
    for (guint i = 0; i < tables->links->len; i++)
        g_assert_cmpuint(((const IfmLinkFit *)tables->links->pdata[i])->n, ==, 0);
    g_autofree char *models = g_build_filename(fixture->folder, "out", "models", "Two", NULL);
    g_assert_false(g_file_test(models, G_FILE_TEST_EXISTS)); /* what is not here needs no models */
}

/* What was measured while a device was here stays in the tables when it is not. */
static void test_gone(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_auto(Witness) witness = { 0 };
    IfmStore *store = fixture->store;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
    run(fixture, study, store, FALSE, &witness);
    g_autofree char *file = g_build_filename(fixture->folder, "machines", "toy.yaml", NULL);
    g_autofree char *without = g_strndup(machine, (gsize)(strstr(machine, "  NPU2:") - machine));
    g_assert_true(g_file_set_contents(file, without, -1, NULL));
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_cases, ==, 9);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_nonnull(((const IfmStudyDevice *)tables->devices->pdata[1])->reason);
    g_assert_cmpuint(count_latencies(tables), ==, 18);
    const char *cpu = strstr(machine, "  CPU:"), *npu = strstr(machine, "  NPU:");
    g_autofree char *start = g_strndup(machine, (gsize)(cpu - machine));
    g_autofree char *rest = g_strndup(npu, (gsize)(strstr(machine, "  NPU2:") - npu));
    g_autofree char *neither = g_strconcat(start, rest, NULL);
    g_assert_true(g_file_set_contents(file, neither, -1, NULL));
    g_assert_false(run_with(fixture, study, store, FALSE, &witness, NULL, &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE, "no device of study \"small\" is here: CPU: ");
}

#define LOSING                                                                                                             \
    "title: losing\n" THREE "sizes: [{nodes: 20, edges: [30]}, {nodes: 200, edges: [30]}, {nodes: 50, edges: [30]}]\n"     \
    "devices:\n  CPU: {device: simulated:toy/CPU}\n  NPU: {device: simulated:toy/NPU}\n" FIXED NO_LINKS

/* "CODE CODE ...": of the NPU's nine rows: stages 1, 3, 5 at 20 nodes, at 200, at 50. */
static char *codes_of(const IfmStudyTables *tables)
{
    GString *codes = g_string_new(NULL);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (!g_str_equal(row->device->alias, "NPU"))
        {
            g_assert_cmpfloat(row->median_ns, ==, 1e6); /* the CPU loses nothing */
            continue;
        }
        g_assert_true(isnan(row->median_ns) == (row->reason != NULL));
        const char *outcome = row->measurement != NULL ? ifm_outcome_name(row->measurement->outcome) : "none";
        g_string_append_printf(codes, "%s%s%s ", outcome, row->code != NULL ? ":" : "", row->code != NULL ? row->code : "");
    }
    return g_string_free(codes, FALSE);
}

static void assert_codes(IfmStore *store, const char *expected)
{
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_autofree char *codes = codes_of(tables);
    g_assert_cmpstr(codes, ==, expected);
}

static void test_lost(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    g_autofree char *state = g_build_filename(fixture->folder, "state", NULL);
    g_assert_cmpint(g_mkdir(state, 0777), ==, 0);
    g_setenv("IFM_SIMULATED_STATE_DIR", state, TRUE); /* what is lost stays lost for other processes, too */
    IfmStore *store = fixture->store;
    g_autoptr(IfmStudy) study = study_of(fixture, LOSING);
    /* without a device that comes back */
    g_autofree char *file = g_build_filename(fixture->folder, "machines", "toy.yaml", NULL);
    g_auto(GStrv) parts = g_strsplit(machine, ", recover_after: 2", -1);
    g_autofree char *gone = g_strjoinv("", parts);
    g_assert_true(g_file_set_contents(file, gone, -1, NULL));
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_failed, ==, 2);
    g_assert_cmpuint(result.n_skipped, ==, 5);
    static const char after_loss[] = "ok failed:unsupported ok failed:lost skipped:lost skipped:lost skipped:lost "
                                     "skipped:lost skipped:lost ";
    assert_codes(store, after_loss);
    g_assert_cmpuint(count(store), ==, 18);
    /* Resumed, still lost: nothing is tried, and nothing put down twice. */
    result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 0);
    g_assert_cmpuint(result.n_failed, ==, 2);
    g_assert_cmpuint(result.n_skipped, ==, 5);
    g_assert_cmpuint(count(store), ==, 18);
    assert_codes(store, after_loss);
    /* To measure the failed ones again, too, needs the device: what they came to stands. */
    run(fixture, study, store, TRUE, &witness);
    assert_codes(store, after_loss);
    g_assert_cmpuint(count(store), ==, 18);
    /* It answers: what was skipped is tried, what failed is not. At 200 nodes it goes again. */
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
    result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 2); /* refused; lost; the other three stay as they are */
    assert_codes(store, "ok failed:unsupported ok failed:lost failed:unsupported failed:lost skipped:lost skipped:lost "
                        "skipped:lost ");
    /* The session just now was the chance of the other three. */
    gsize n = count(store);
    result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 0);
    g_assert_cmpuint(result.n_skipped, ==, 3);
    g_assert_cmpuint(count(store), ==, n);
    /* Asked for, they are all tried again. */
    result = run(fixture, study, store, TRUE, &witness);
    g_assert_cmpuint(result.n_measured, >=, 1);
}

/* A device that answers anew in every session is no reason to go on for ever: after one more run nothing is added. */
static void test_converges(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    IfmStore *store = fixture->store;
    gsize n[5];
    for (gsize i = 0; i < G_N_ELEMENTS(n); i++)
    {
        g_autoptr(IfmStudy) study = study_of(
            fixture, "title: losing\n" SUBJECT "sizes: [{nodes: 20, edges: [30]}, {nodes: 200, edges: [30, 40]}]\n"
                     "devices:\n  CPU: {device: simulated:toy/CPU}\n  NPU: {device: simulated:toy/NPU}\n" FIXED NO_LINKS);
        run(fixture, study, store, FALSE, &witness);
        n[i] = count(store);
    }
    g_assert_cmpuint(n[1], >=, n[0]);
    for (gsize i = 2; i < G_N_ELEMENTS(n); i++)
        g_assert_cmpuint(n[i], ==, n[1]);
}

static IfmMeasurement *measurement_of(IfmOutcome outcome, const char *key, const char *code, const char *reason)
{
    IfmMeasurement *measurement = ifm_measurement_new();
    measurement->outcome = outcome;
    ifm_record_set_text(&measurement->case_key, key);
    ifm_record_set_text(&measurement->error_code, code);
    ifm_record_set_text(&measurement->reason, reason);
    return measurement;
}

static void without_recovery(const Fixture *fixture)
{
    g_autofree char *state = g_build_filename(fixture->folder, "state", NULL);
    g_autofree char *file = g_build_filename(fixture->folder, "machines", "toy.yaml", NULL);
    g_auto(GStrv) parts = g_strsplit(machine, ", recover_after: 2", -1);
    g_autofree char *gone = g_strjoinv("", parts);
    g_assert_cmpint(g_mkdir(state, 0777), ==, 0);
    g_assert_true(g_file_set_contents(file, gone, -1, NULL));
    g_setenv("IFM_SIMULATED_STATE_DIR", state, TRUE);
}

/* The store of a run in which each link lost the NPU. */
static IfmStore *store_of_lost_links(const Fixture *fixture, IfmStudy *study, IfmStore *good)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture->folder, "lost.db", NULL);
    json_auto_t *manifest = ifm_store_document(good, "study", NULL);
    IfmStore *store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_store_set_document(store, "study", manifest, &error));
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        const IfmStudyCase *one = cases->pdata[i];
        g_autoptr(IfmCase) record = ifm_store_case(good, one->key, &error);
        g_autoptr(IfmMeasurement) last = ifm_store_last(good, one->key, &error);
        if (one->stage == 0)
        {
            g_clear_pointer(&last, ifm_measurement_free);
            last = measurement_of(IFM_OUTCOME_FAILED, one->key, "lost", "gone by a copy");
            last->started_unix_ms += 1000;
            last->environment = json_pack("{s:[s]}", "lost_devices", "simulated:toy/NPU");
        }
        g_assert_true(ifm_store_commit(store, record, last, &error));
    }
    return store;
}

/* A device that a link lost in an earlier run must answer before anything is measured on it. */
static void test_lost_by_link(Fixture *fixture, gconstpointer data)
{
#define LINKED "devices:\n  CPU: {device: simulated:toy/CPU}\n  NPU: {device: simulated:toy/NPU, form: static}\n" FIXED
    g_autoptr(GError) error = NULL;
    g_auto(Witness) witness = { 0 };
    without_recovery(fixture);
    g_autoptr(IfmStudy) study = study_of(fixture, "title: t\n" THREE "sizes: [{nodes: 20, edges: [30]}]\n" LINKED);
    run(fixture, study, fixture->store, FALSE, &witness);
    g_autoptr(IfmStore) lost = store_of_lost_links(fixture, study, fixture->store);
    g_autofree char *path = g_build_filename(fixture->folder, "spare.db", NULL);
    g_autoptr(IfmStore) spare = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_autoptr(IfmStudy) losing = study_of(fixture, LOSING); /* loses it for all processes */
    run(fixture, losing, spare, FALSE, &witness);
    g_autoptr(IfmStudy) larger = study_of(fixture, "title: t\n" THREE "sizes: [{nodes: 20, edges: [30, 31]}]\n" LINKED);
    run(fixture, larger, lost, FALSE, &witness);
    g_autoptr(IfmStudyTables) tables = tables_of(lost);
    gsize n_skipped = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->edges == 30 || !g_str_equal(row->device->alias, "NPU"))
            continue;
        g_assert_cmpint(row->measurement->outcome, ==, IFM_OUTCOME_SKIPPED);
        n_skipped++;
    }
    g_assert_cmpuint(n_skipped, ==, 3);
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
}

/* Rows of a device that is not here stay only where they answer what is asked now. */
static void test_gone_otherwise(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    IfmStore *store = fixture->store;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
    run(fixture, study, store, FALSE, &witness);
    g_autofree char *file = g_build_filename(fixture->folder, "machines", "toy.yaml", NULL);
    g_autofree char *without = g_strndup(machine, (gsize)(strstr(machine, "  NPU2:") - machine));
    g_assert_true(g_file_set_contents(file, without, -1, NULL));
    IfmProtocol protocol = *ifm_study_info(study).protocol;
    protocol.runs = 7;
    ifm_study_set_protocol(study, &protocol);
    run(fixture, study, store, FALSE, &witness);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_cmpuint(count_latencies(tables), ==, 9);
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        g_assert_cmpint(row->n, ==, row->reason == NULL ? 7 : 0);
        g_assert_true((row->reason == NULL) == g_str_equal(row->device->alias, "CPU"));
    }
    protocol.runs = 5; /* as before: there they are again */
    ifm_study_set_protocol(study, &protocol);
    run(fixture, study, store, FALSE, &witness);
    g_autoptr(IfmStudyTables) before = tables_of(store);
    g_assert_cmpuint(count_latencies(before), ==, 9);
}

/* What the static device's models come to is no matter of phase 1, and of no other device. */
static void test_no_models(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    g_autofree char *models = g_build_filename(fixture->folder, "out", "models", NULL);
    g_autofree char *in_the_way = g_build_filename(models, "Two", NULL);
    g_assert_cmpint(g_mkdir_with_parents(models, 0777), ==, 0);
    g_assert_true(g_file_set_contents(in_the_way, "a file", -1, NULL));
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL);
    IfmCampaignProgress result = run(fixture, study, fixture->store, FALSE, &witness);
    g_assert_cmpuint(result.n_cases, ==, 9);
    g_assert_cmpuint(result.n_measured, ==, 9);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    const IfmStudyDevice *two = tables->devices->pdata[1];
    g_assert_nonnull(two->reason);
    g_assert_true(g_str_has_prefix(two->reason, "its models cannot be written: "));
    g_assert_cmpuint(count_latencies(tables), ==, 9);
    /* Out of the way, the next run has it. */
    g_assert_cmpint(g_remove(in_the_way), ==, 0);
    g_autoptr(IfmStudy) again = study_of(fixture, SMALL NO_LINKS);
    result = run(fixture, again, fixture->store, FALSE, &witness);
    g_assert_cmpuint(result.n_resumed, ==, 9);
    g_assert_cmpuint(result.n_measured, ==, 9);
}

static void test_other_study(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_auto(Witness) witness = { 0 };
    IfmStore *store = fixture->store;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL NO_LINKS);
    run(fixture, study, store, FALSE, &witness);
    static const struct
    {
        const char *text, *says;
    } others[] = {
        { "title: t\nname: other\n" THREE, "is the store of study \"small\", not of \"other\"" },
        { "title: t\nsubject: {model: graphsage, features: 9, hidden: 4}\n", "whose model has features 8, not 9" },
        { "title: t\n" THREE "graph: {kind: power-law}\n", "power-law" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
    {
        g_autofree char *text = g_strconcat(others[i].text,
                                            "sizes: [{nodes: 20, edges: [30]}]\n"
                                            "devices: {CPU: {device: simulated:toy/CPU}}\n",
                                            NULL);
        g_autoptr(IfmStudy) other = study_of(fixture, text);
        g_assert_false(run_with(fixture, other, store, FALSE, &witness, NULL, &error));
        assert_says(&error, IFM_ERROR_INVALID, others[i].says);
        g_assert_cmpuint(count(store), ==, 18);
    }
}

/* --- graphs -------------------------------------------------------------------------------------------------------------
 */

static void test_power_law(Fixture *fixture, gconstpointer data)
{
    g_auto(Witness) witness = { 0 };
    g_autoptr(IfmStudy) study =
        study_of(fixture, "title: t\n" SUBJECT "graph: {kind: power-law, seed: 7}\nsizes: [{nodes: 60, edges: [300]}]\n"
                          "devices: {CPU: {device: simulated:toy/CPU}}\n" FIXED);
    IfmStore *store = fixture->store;
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 7);
    g_assert_cmpuint(result.n_failed, ==, 0);
    g_autoptr(IfmGraph) graph = ifm_graph_random(IFM_GRAPH_POWER_LAW, 60, 300, 7, NULL);
    assert_inputs(fixture, "n60-e300.tensors", graph);
}

/* A real peptide: on a dynamic device as it is, on a static one within the smallest listed size that holds it. */
static void test_peptide(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_auto(Witness) witness = { 0 };
    g_autofree char *peptides = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "peptides", NULL);
    g_autoptr(IfmGraph) all = ifm_graph_read(peptides, IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    g_autoptr(IfmGraph) graph = ifm_graph_part(all, 3);
    g_autofree char *text =
        g_strdup_printf("title: t\n" SUBJECT "sizes: [{nodes: 5000, edges: [9000]}, {nodes: 2000, edges: [9000, 20000]}]\n"
                        "graphs: [{path: %s, part: 3, padded: true}]\n"
                        "devices:\n  CPU: {device: simulated:toy/CPU}\n"
                        "  Two: {device: simulated:toy/NPU2, form: static}\n" FIXED NO_LINKS,
                        peptides);
    g_autoptr(IfmStudy) study = study_of(fixture, text);
    IfmStore *store = fixture->store;
    IfmCampaignProgress result = run(fixture, study, store, FALSE, &witness);
    g_assert_cmpuint(result.n_measured, ==, 4 * 7 * 2);
    g_assert_cmpuint(result.n_failed, ==, 0);
    g_autoptr(IfmGraph) padded = ifm_graph_pad(graph, 2000, 9000, &error);
    g_assert_no_error(error);
    g_autofree char *folder = g_build_filename(fixture->folder, "out", "inputs", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autofree char *prefix = g_strdup_printf("n%d-e%d-", (int)graph->n_nodes, (int)graph->n_edges);
    gsize n_plain = 0, n_padded = 0;
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        gboolean is_padded = g_str_has_suffix(name, "-in-n2000-e9000.tensors");
        if (!g_str_has_prefix(name, prefix))
            continue;
        assert_inputs(fixture, name, is_padded ? padded : graph);
        n_plain += !is_padded;
        n_padded += is_padded;
    }
    g_assert_cmpuint(n_plain, ==, 1);
    g_assert_cmpuint(n_padded, ==, 1);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    const IfmStudyRow *last = tables->rows->pdata[tables->rows->len - 1];
    g_assert_cmpint(last->nodes, ==, graph->n_nodes); /* its row is under its own size */
    g_assert_cmpfloat(last->median_ns, ==, 3e6);
}

/* --- export -------------------------------------------------------------------------------------------------------------
 */

static gint64 inode_of(const char *path)
{
    GStatBuf status;
    g_assert_cmpint(g_stat(path, &status), ==, 0);
    return (gint64)status.st_ino;
}

/* Every device's, here or not. What is there already stays; what was damaged is written anew. */
static void test_export(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = study_of(fixture, SMALL);
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    gsize n = 0;
    g_assert_true(ifm_study_set_device(study, "Two=openvino:NPU", &error));
    g_assert_true(ifm_study_export(study, folder, &n, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(n, ==, 3 + 3 * 3);
    g_autofree char *model = g_build_filename(folder, "models", "Two", "stage1-n20-e30.onnx", NULL);
    g_autofree char *inputs = g_build_filename(folder, "inputs", "n20-e30.tensors", NULL);
    gint64 model_inode = inode_of(model), inputs_inode = inode_of(inputs);
    g_assert_true(ifm_study_export(study, folder, &n, &error));
    g_assert_cmpuint(n, ==, 12);
    g_assert_cmpint(inode_of(model), ==, model_inode);
    g_assert_cmpint(inode_of(inputs), ==, inputs_inode);
    g_assert_true(g_file_set_contents(model, "junk", -1, NULL));
    g_assert_true(g_file_set_contents(inputs, "junk", -1, NULL));
    g_assert_true(ifm_study_export(study, folder, NULL, &error));
    assert_model(fixture, "Two/stage1-n20-e30.onnx", 1, FALSE);
    g_autoptr(IfmGraph) graph = ifm_graph_random(IFM_GRAPH_UNIFORM, 20, 30, 1, NULL);
    assert_inputs(fixture, "n20-e30.tensors", graph);
}

/* --- one run at a time ------------------------------------------------------------------------------------------------ */

typedef struct
{
    IfmStore *store;
    IfmStudyOptions options;
    char *folder, *text;
    const Fixture *fixture;
    gboolean tried;
} Rival;

/* A second run of the same study in the same folder, begun while the first is under way. */
static void begin_too(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    Rival *rival = user;
    g_autoptr(GError) error = NULL;
    if (rival->tried)
        return;
    rival->tried = TRUE;
    g_autoptr(IfmStudy) study = study_of(rival->fixture, rival->text);
    g_autofree char *says = g_strdup_printf("%s: is in use by process %d", rival->folder, (int)getpid());
    rival->options.progress = NULL;
    g_assert_cmpint(ifm_study_holder(rival->folder), ==, getpid());
    g_assert_false(ifm_study_measure(study, rival->store, &rival->options, NULL, &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE, says);
}

static void test_lock(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL),
                    *lock = g_build_filename(folder, "lock", NULL);
    Rival rival = { .store = fixture->store,
                    .options = { .folder = folder, .limits = IFM_LIMITS_INIT },
                    .folder = folder,
                    .text = "title: t\n" THREE "sizes: [{nodes: 10, edges: [20]}]\n"
                            "devices: {CPU: {device: \"simulated:toy/CPU\"}}\n" FIXED NO_LINKS,
                    .fixture = fixture };
    IfmStudyOptions options = rival.options;
    options.progress = begin_too;
    options.user = &rival;
    /* what a killed run leaves: a file that nobody holds */
    g_assert_true(g_file_set_contents(lock, "1\n", -1, NULL));
    g_assert_cmpint(ifm_study_holder(folder), ==, 0);
    g_autoptr(IfmStudy) study = study_of(fixture, rival.text);
    IfmCampaignProgress result;
    g_assert_true(ifm_study_measure(study, rival.store, &options, &result, &error));
    g_assert_no_error(error);
    g_assert_true(rival.tried);
    g_assert_cmpuint(result.n_measured, ==, 3);
    g_assert_cmpint(ifm_study_holder(folder), ==, 0);
    g_assert_false(g_file_test(lock, G_FILE_TEST_EXISTS));
}

/* A unit that its engine does not know is a slip where it was asked for, and absent where a file names it. */
static void test_unknown(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *asked, *says;
    } known[] = {
        { "CPU=simulated:toy/CPUX", "CPU=simulated:toy/CPUX: simulated:toy/CPUX: no such device (there are: " },
        { "CPU=onnxruntime:CPU@1023", "CPU=onnxruntime:CPU@1023: there is no core 1023 that this process may use" },
    };
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmStudyOptions options = { .folder = folder, .limits = IFM_LIMITS_INIT };
    IfmStore *store = fixture->store;
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStudy) study = study_of(fixture, "title: t\n" THREE "sizes: [{nodes: 10, edges: [20]}]\n"
                                                      "devices: {OLD: {device: \"simulated:toy/GONE\"}, "
                                                      "CPU: {device: \"simulated:toy/CPU\"}}\n" FIXED NO_LINKS);
        g_assert_true(ifm_study_set_device(study, known[i].asked, &error));
        g_assert_false(ifm_study_measure(study, store, &options, NULL, &error));
        assert_says(&error, IFM_ERROR_INVALID, known[i].says);
        g_assert_null(ifm_store_document(store, "study", NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-run/export", Fixture, NULL, set_up, test_export, tear_down);
    g_test_add("/study-run/whole", Fixture, NULL, set_up, test_whole, tear_down);
    g_test_add("/study-run/records", Fixture, NULL, set_up, test_records, tear_down);
    g_test_add("/study-run/resume", Fixture, NULL, set_up, test_resume, tear_down);
    g_test_add("/study-run/interrupted", Fixture, NULL, set_up, test_interrupted, tear_down);
    g_test_add("/study-run/links", Fixture, NULL, set_up, test_links, tear_down);
    g_test_add("/study-run/absent", Fixture, NULL, set_up, test_absent, tear_down);
    g_test_add("/study-run/gone", Fixture, NULL, set_up, test_gone, tear_down);
    g_test_add("/study-run/lock", Fixture, NULL, set_up, test_lock, tear_down);
    g_test_add("/study-run/unknown", Fixture, NULL, set_up, test_unknown, tear_down);
    g_test_add("/study-run/lost", Fixture, NULL, set_up, test_lost, tear_down);
    g_test_add("/study-run/converges", Fixture, NULL, set_up, test_converges, tear_down);
    g_test_add("/study-run/lost-by-link", Fixture, NULL, set_up, test_lost_by_link, tear_down);
    g_test_add("/study-run/gone-otherwise", Fixture, NULL, set_up, test_gone_otherwise, tear_down);
    g_test_add("/study-run/no-models", Fixture, NULL, set_up, test_no_models, tear_down);
    g_test_add("/study-run/other-study", Fixture, NULL, set_up, test_other_study, tear_down);
    g_test_add("/study-run/power-law", Fixture, NULL, set_up, test_power_law, tear_down);
    g_test_add("/study-run/peptide", Fixture, NULL, set_up, test_peptide, tear_down);
    return g_test_run();
}
