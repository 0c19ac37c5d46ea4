#include "study-fixture.h"

#include <store/store.h>
#include <study/study.h>

/* Ranges of stages, and cases beside others, on simulated devices that slow each other by known factors. */
static const char machine[] =
    "description: a test's\n"
    "provenance: invented\n"
    "units:\n"
    "  A:\n"
    "    description: 1 ms alone\n"
    "    capabilities: [free-shapes, set-output]\n"
    "    latency: {source: fixed, fixed: 1 ms}\n"
    "    contention:\n"
    "      - {load: [B], factor: 3, stages: [\"1-2\"]}\n"
    "      - {load: [B], factor: 2}\n"
    "      - {load: [NPU], factor: 1.5}\n"
    "      - {load: [B, NPU], factor: 4}\n"
    "  B:\n"
    "    description: 2 ms alone\n"
    "    capabilities: [free-shapes, set-output]\n"
    "    latency: {source: fixed, fixed: 2 ms}\n"
    "    contention: [{load: [A], factor: 1.25}]\n"
    "  NPU:\n"
    "    description: 3 ms, whatever the others do\n"
    "    capabilities: [set-output]\n"
    "    latency: {source: fixed, fixed: 3 ms}\n"
    "  LOSES:\n"
    "    description: is lost in the thirtieth run of a model, which it reaches beside a slower one alone\n"
    "    capabilities: [free-shapes, set-output]\n"
    "    latency: {source: fixed, fixed: 100 us}\n"
    "    faults: [{what: lose, mode: reported-once, when: {run: 30}, reason: it is gone}]\n";

#define TWO                                                                                                                \
    "title: beside\n"                                                                                                      \
    "subject: {model: graphsage, features: 8, hidden: 4, stages: [2], ranges: [1-2]}\n"                                    \
    "sizes: [{nodes: 20, edges: [30]}]\n"                                                                                  \
    "devices: {A: {device: simulated:toy/A}, B: {device: simulated:toy/B}}\n"                                              \
    "protocol: {warmup: 2, runs: 5}\n"                                                                                     \
    "links: {measure: false}\n"
#define CONTENTION "contention: {measure: true, protocol: {warmup: 1, runs: 4}}\n"

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture_on_machine(fixture, machine);
}

static IfmCampaignProgress run(const Fixture *fixture, IfmStudy *study, gboolean retry)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmStudyOptions options = { .folder = folder, .limits = IFM_LIMITS_INIT, .retry = retry };
    IfmCampaignProgress result;
    ifm_study_measure(study, fixture->store, &options, &result, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(result.n_done, ==, result.n_cases);
    return result;
}

/* "A1 A1-2|B+NPU ...", as the span has them. */
static char *order_of(IfmStudy *study)
{
    GString *order = g_string_new(NULL);
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        const IfmStudyCase *one = cases->pdata[i];
        const char *busy = one->busy;
        g_string_append_printf(order, "%s%s%d", i > 0 ? " " : "", one->alias, one->stage);
        if (one->last > one->stage)
            g_string_append_printf(order, "-%d", one->last);
        if (busy != NULL)
            g_string_append_printf(order, "|%s", busy);
    }
    return g_string_free(order, FALSE);
}

static void assert_order(Fixture *fixture, const char *text, const char *expected)
{
    g_autoptr(IfmStudy) study = study_of(fixture, text);
    g_autofree char *order = order_of(study);
    g_assert_cmpstr(order, ==, expected);
}

/* --- the span --------------------------------------------------------------------------------------------------------- */

#define HEAD(subject) "title: span\nsubject: {model: graphsage, features: 8, hidden: 4, " subject "}\n"
#define SIZE "sizes: [{nodes: 20, edges: [30]}]\n"
#define ONE "devices: {A: {device: simulated:toy/A}}\nlinks: {measure: false}\n"
#define NO_LINKS "links: {measure: false}\n"

static void test_ranges(Fixture *fixture, gconstpointer data)
{
    assert_order(fixture, HEAD("stages: [7, 1]") SIZE ONE, "A7 A1");
    assert_order(fixture, HEAD("stages: [7, 1], ranges: [3-5, 1-2]") SIZE ONE, "A7 A1 A3-5 A1-2");
    assert_order(fixture, HEAD("stages: [1], ranges: [ends]") SIZE ONE,
                 "A1 A1-2 A1-3 A1-4 A1-5 A1-6 A1-7 A2-7 A3-7 A4-7 A5-7 A6-7");
    assert_order(fixture, HEAD("stages: [1], ranges: [6-7, all]") SIZE ONE,
                 "A1 A6-7 A1-2 A1-3 A1-4 A1-5 A1-6 A1-7 A2-3 A2-4 A2-5 A2-6 A2-7 A3-4 A3-5 A3-6 A3-7 A4-5 A4-6 A4-7 A5-6 "
                 "A5-7");
}

/* Alone, then beside each set of the others; what takes the static device waits for phase 2. */
static void test_sets(Fixture *fixture, gconstpointer data)
{
    assert_order(
        fixture,
        HEAD("stages: [1], ranges: [1-3]") SIZE NO_LINKS
        "contention: {}\n"
        "devices: {B: {device: simulated:toy/B}, A: {device: simulated:toy/A}, NPU: {device: simulated:toy/NPU}}\n",
        "B1 B1|A A1 A1|B B1-3 B1-3|A A1-3 A1-3|B "
        "B1|NPU B1|A+NPU A1|NPU A1|B+NPU NPU1 NPU1|B NPU1|A NPU1|A+B "
        "B1-3|NPU B1-3|A+NPU A1-3|NPU A1-3|B+NPU NPU1-3 NPU1-3|B NPU1-3|A NPU1-3|A+B");
    g_autoptr(IfmStudy) study = study_of(fixture, TWO CONTENTION);
    const GPtrArray *cases = ifm_study_cases(study);
    g_assert_cmpstr(((const IfmStudyCase *)cases->pdata[1])->title, ==,
                    "A stage 2 MESSAGE, 20 nodes, 30 edges, with background load on B");
    g_assert_cmpstr(((const IfmStudyCase *)cases->pdata[4])->title, ==, "A stages 1-2, 20 nodes, 30 edges");
}

/* A stage that is not for a device has no case on it, in no range, and not beside another one's. */
static void test_not_stages(Fixture *fixture, gconstpointer data)
{
    assert_order(fixture,
                 HEAD("stages: [1, 3], ranges: [1-2, 2-3]") SIZE NO_LINKS
                 "contention: {}\n"
                 "devices: {A: {device: simulated:toy/A}, B: {device: simulated:toy/B, not_stages: [3]}}\n",
                 "A1 A1|B B1 B1|A A3 A1-2 A1-2|B B1-2 B1-2|A A2-3");
}

/* Two names for one device are one: it does not work beside itself, nor twice beside another. */
static void test_same_device(Fixture *fixture, gconstpointer data)
{
    assert_order(fixture,
                 HEAD("stages: [1]") SIZE NO_LINKS
                 "contention: {}\n"
                 "devices: {A: {device: simulated:toy/A}, C: {device: simulated:toy/A}, B: {device: simulated:toy/B}}\n",
                 "A1 A1|B C1 C1|B B1 B1|A");
}

static void test_mistakes(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *text, *says;
    } cases[] = {
        { HEAD("ranges: [3]") SIZE ONE, "ranges: \"3\" is none: FIRST-LAST of stages 1 to 7" },
        { HEAD("ranges: [3-3]") SIZE ONE, "\"3-3\" is none" },
        { HEAD("ranges: [5-3]") SIZE ONE, "\"5-3\" is none" },
        { HEAD("ranges: [5-8]") SIZE ONE, "\"5-8\" is none" },
        { HEAD("ranges: [end]") SIZE ONE, "\"end\" is none" },
        { HEAD("ranges: [1-2-3]") SIZE ONE, "\"1-2-3\" is none" },
        { HEAD("seed: 1") SIZE "devices: {A: {device: simulated:toy/A, not_stages: [8]}}\n",
          "not_stages: there is no stage 8" },
        { HEAD("seed: 1") SIZE ONE "contention: {measur: true}\n", "did you mean \"measure\"" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(open_text(fixture, cases[i].text, &error));
        assert_says(&error, IFM_ERROR_INVALID, cases[i].says);
    }
}

/* --- measuring -------------------------------------------------------------------------------------------------------- */

static const IfmStudyRow *row_of(const GPtrArray *rows, const char *alias, int first, int last, guint32 busy)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        if (g_str_equal(row->device->alias, alias) && row->stage == first && row->last == last && row->busy == busy)
            return row;
    }
    return NULL;
}

static void assert_latency(const GPtrArray *rows, const char *alias, int first, int last, guint32 busy, double ns)
{
    const IfmStudyRow *row = row_of(rows, alias, first, last, busy);
    g_assert_nonnull(row);
    g_assert_cmpstr(row->reason, ==, NULL);
    g_assert_cmpfloat(row->median_ns, ==, ns);
}

static void test_whole(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, TWO CONTENTION);
    IfmCampaignProgress result = run(fixture, study, FALSE);
    g_assert_cmpuint(result.n_measured, ==, 8);
    g_assert_cmpuint(result.n_failed, ==, 0);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    g_assert_cmpuint(tables->rows->len, ==, 2); /* single stages alone, as all exports have them */
    g_assert_cmpuint(tables->ranges->len, ==, 6);
    g_assert_cmpuint(tables->fits->len, ==, 2);
    assert_latency(tables->rows, "A", 2, 2, 0, 1e6);
    assert_latency(tables->rows, "B", 2, 2, 0, 2e6);
    assert_latency(tables->ranges, "A", 2, 2, 2, 2e6);
    assert_latency(tables->ranges, "B", 2, 2, 1, 2.5e6);
    assert_latency(tables->ranges, "A", 1, 2, 0, 1e6);
    assert_latency(tables->ranges, "A", 1, 2, 2, 3e6); /* the range's own factor: its model says which stages it is */
    assert_latency(tables->ranges, "B", 1, 2, 1, 2.5e6);
    const IfmStudyRow *row = row_of(tables->ranges, "A", 1, 2, 2);
    g_assert_cmpint(row->n, ==, 4); /* contention's own protocol */
    g_assert_cmpint(row_of(tables->ranges, "A", 1, 2, 0)->n, ==, 5);
    /* fused, it reads x 20 x 8 and edge_index 2 x 30 x 8 bytes, and writes m 30 x 4 floats */
    g_assert_cmpint(row->read_bytes, ==, 20 * 8 * 4 + 2 * 30 * 8);
    g_assert_cmpint(row->written_bytes, ==, 30 * 4 * 4);
    g_autoptr(IfmCase) record = ifm_store_case(fixture->store, row->key, NULL);
    g_assert_cmpstr(record->subject_name, ==, "graphsage stages 1-2");
    g_assert_cmpuint(json_array_size(json_object_get(record->load, "devices")), ==, 1);
    g_autofree char *model = g_build_filename(fixture->folder, "out", "models", "B", "stages1-2.onnx", NULL);
    g_assert_true(g_file_test(model, G_FILE_TEST_EXISTS));
}

/* The manifest tells a range's last stage and who is busy, and of a stage alone no more than it needs. */
static void test_manifest(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, TWO CONTENTION);
    run(fixture, study, FALSE);
    json_auto_t *manifest = ifm_store_document(fixture->store, "study", NULL);
    const json_t *cases = json_object_get(manifest, "cases");
    g_assert_cmpint(json_integer_value(json_object_get(manifest, "format_version")), ==, 1);
    g_assert_null(json_object_get(json_array_get(cases, 0), "busy"));
    g_assert_null(json_object_get(json_array_get(cases, 0), "axes"));
    const json_t *background = json_array_get(cases, 5); /* A stages 1-2 beside B */
    g_assert_cmpint(json_integer_value(json_object_get(background, "last")), ==, 2);
    g_assert_cmpstr(json_string_value(json_object_get(background, "busy")), ==, "B");
    const json_t *definition = json_object_get(manifest, "definition");
    json_auto_t *ranges = json_pack("[[i,i]]", 1, 2);
    g_assert_true(json_equal(json_object_get(definition, "ranges"), ranges));
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(definition, "contention"), "runs")), ==, 4);
    /* a busy device that is none of the study's */
    json_object_set_new((json_t *)background, "busy", json_string("nobody"));
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_store_set_document(fixture->store, "study", manifest, NULL));
    g_assert_null(ifm_study_tables(NULL, fixture->store, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
}

/* Once measured, nothing is measured again; what is new is; each has the key of what it was measured beside. */
static void test_resume(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) first = study_of(fixture, TWO);
    g_assert_cmpuint(run(fixture, first, FALSE).n_measured, ==, 4);
    g_autoptr(IfmStudy) more = study_of(fixture, TWO CONTENTION);
    IfmCampaignProgress second = run(fixture, more, FALSE);
    g_assert_cmpuint(second.n_resumed, ==, 4);
    g_assert_cmpuint(second.n_measured, ==, 4);
    g_autoptr(IfmStudy) again = study_of(fixture, TWO CONTENTION);
    g_assert_cmpuint(run(fixture, again, FALSE).n_measured, ==, 0);
    g_assert_cmpuint(count(fixture->store), ==, 8);
    /* another device behind B: what was measured beside the old one says nothing of it */
    g_autoptr(IfmStudy) other = study_of(fixture, TWO CONTENTION);
    g_assert_true(ifm_study_set_device(other, "B=simulated:toy/A#2", NULL));
    IfmCampaignProgress third = run(fixture, other, FALSE);
    g_assert_cmpuint(third.n_resumed, ==, 2);
    g_assert_cmpuint(third.n_measured, ==, 6);
    g_autoptr(IfmStudy) back = study_of(fixture, TWO CONTENTION);
    g_assert_cmpuint(run(fixture, back, FALSE).n_measured, ==, 0);
    g_autoptr(IfmStudyTables) tables = ifm_study_tables(back, fixture->store, NULL);
    assert_latency(tables->ranges, "A", 1, 2, 2, 3e6);
}

/* A device that is not here takes its sets with it, and what was measured beside it stays. */
static void test_absent(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, TWO CONTENTION);
    run(fixture, study, FALSE);
    g_autofree char *file = g_build_filename(fixture->folder, "machines", "toy.yaml", NULL);
    g_autofree char *text = g_strdup(machine);
    char *unit = strstr(text, "  B:\n");
    unit[2] = 'X';
    while ((unit = strstr(text, "[B")) != NULL) /* contention with it goes, too */
        unit[1] = 'X';
    g_assert_true(g_file_set_contents(file, text, -1, NULL));
    g_autoptr(IfmStudy) without = study_of(fixture, TWO CONTENTION);
    IfmCampaignProgress result = run(fixture, without, FALSE);
    g_assert_cmpuint(result.n_cases, ==, 2);
    g_assert_cmpuint(result.n_resumed, ==, 2);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    g_assert_cmpuint(tables->ranges->len, ==, 6);
    assert_latency(tables->ranges, "A", 1, 2, 2, 3e6);
}

/* Phase 2, and the shape of a static device's load. */
static void test_static(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, TWO CONTENTION);
    g_assert_true(ifm_study_set_device(study, "NPU=simulated:toy/NPU", NULL));
    IfmCampaignProgress result = run(fixture, study, FALSE);
    g_assert_cmpuint(result.n_failed + result.n_skipped, ==, 0);
    g_assert_cmpuint(result.n_measured, ==, 2 * 3 * 4);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    assert_latency(tables->ranges, "A", 2, 2, 4, 1.5e6);
    assert_latency(tables->ranges, "A", 2, 2, 6, 4e6);
    assert_latency(tables->ranges, "B", 2, 2, 5, 2.5e6);
    assert_latency(tables->ranges, "NPU", 1, 2, 3, 3e6);
}

/* A device lost while it worked beside another: that case failed for that reason, what needs the lost device is skipped,
 * and the other goes on. */
static void test_lost_beside(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmStudy) study = study_of(fixture, TWO CONTENTION);
    g_assert_true(ifm_study_set_device(study, "B=simulated:toy/LOSES", NULL));
    IfmCampaignProgress first = run(fixture, study, FALSE);
    g_assert_cmpuint(first.n_failed, ==, 1);
    g_assert_cmpuint(first.n_skipped, ==, 5);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    const IfmStudyRow *lost = row_of(tables->ranges, "A", 2, 2, 2);
    g_assert_cmpstr(lost->code, ==, "lost");
    g_assert_nonnull(strstr(lost->reason, "load B: "));
    assert_latency(tables->ranges, "A", 1, 2, 0, 1e6);
    g_assert_nonnull(strstr(row_of(tables->ranges, "A", 1, 2, 2)->reason, "lost earlier (load B: "));
    /* The next session finds it well again, and tries what the loss left untried; what failed stands. */
    g_autoptr(IfmStudy) again = study_of(fixture, TWO CONTENTION);
    g_assert_true(ifm_study_set_device(again, "B=simulated:toy/LOSES", NULL));
    IfmCampaignProgress second = run(fixture, again, FALSE);
    g_assert_cmpuint(second.n_resumed, ==, 3 + 2); /* the last two wait again: it is lost once more */
    g_autoptr(IfmStudyTables) later = tables_of(fixture->store);
    g_assert_cmpstr(row_of(later->ranges, "A", 2, 2, 2)->code, ==, "lost");
    assert_latency(later->rows, "B", 2, 2, 0, 1e5);
    assert_latency(later->ranges, "B", 2, 2, 1, 1e5);
    g_assert_cmpstr(row_of(later->ranges, "A", 1, 2, 2)->code, ==, "lost");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-load/ranges", Fixture, NULL, set_up, test_ranges, tear_down);
    g_test_add("/study-load/sets", Fixture, NULL, set_up, test_sets, tear_down);
    g_test_add("/study-load/not-stages", Fixture, NULL, set_up, test_not_stages, tear_down);
    g_test_add("/study-load/same-device", Fixture, NULL, set_up, test_same_device, tear_down);
    g_test_add("/study-load/mistakes", Fixture, NULL, set_up, test_mistakes, tear_down);
    g_test_add("/study-load/whole", Fixture, NULL, set_up, test_whole, tear_down);
    g_test_add("/study-load/manifest", Fixture, NULL, set_up, test_manifest, tear_down);
    g_test_add("/study-load/resume", Fixture, NULL, set_up, test_resume, tear_down);
    g_test_add("/study-load/absent", Fixture, NULL, set_up, test_absent, tear_down);
    g_test_add("/study-load/static", Fixture, NULL, set_up, test_static, tear_down);
    g_test_add("/study-load/lost", Fixture, NULL, set_up, test_lost_beside, tear_down);
    return g_test_run();
}
