#include "build-folders.h"
#include "cli/study-harness.h"

/*
 * The 55-size study on the simulated laptop, whose NPU does what the real one did: it refuses stages 3 and 4, fails in
 * stage 2, and is lost from 20,000 nodes and 200,000 edges on. From then on nothing that it answers is a latency, whichever
 * worker asks, now or after a resume. CPU and GPU are complete.
 */

#define RUN                                                                                                                \
    "study run large.yaml -q -d CPU=simulated:meteor-lake/CPU -d GPU=simulated:meteor-lake/GPU "                           \
    "-d NPU=simulated:meteor-lake/NPU --runs 5 --warmup 1 -o large"
#define STORE "large/store.db"
#define N_SIZES 55
#define N_SIZES_BEFORE_LOSS 19

/* As in the published table: the sizes before the one where the NPU was lost, in its order. */
static gboolean is_before_loss(gint64 nodes, gint64 edges)
{
    return nodes < 20000 || (nodes == 20000 && edges < 200000);
}

typedef struct
{
    guint n_ok, n_refused, n_flagged, n_lost, n_implausible, n_other;
} Outcomes;

static void count_outcome(Outcomes *outcomes, const json_t *row, gint64 nodes, gint64 edges, gint64 stage)
{
    const char *code = text_of(row, "error_code"), *reason = text_of(row, "reason");
    gboolean has_latency = json_array_size(json_object_get(row, "samples_ms")) > 0;
    if (has_latency)
        outcomes->n_ok++;
    else if (is_before_loss(nodes, edges) && (stage == 3 || stage == 4) && g_str_equal(code, "unsupported") &&
             strstr(reason, "stages 3 and 4 did not run on the NPU") != NULL)
        outcomes->n_refused++;
    else if (is_before_loss(nodes, edges) && stage == 2 && g_str_equal(code, "failed"))
        outcomes->n_flagged++;
    else if (g_str_equal(code, "implausible"))
        outcomes->n_implausible++;
    else if (!is_before_loss(nodes, edges) && g_str_equal(code, "lost"))
        outcomes->n_lost++;
    else
        outcomes->n_other++;
}

static Outcomes outcomes_of(const json_t *raw, const char *alias)
{
    Outcomes outcomes = { 0 };
    const char *key;
    json_t *row;
    json_object_foreach((json_t *)raw, key, row)
    {
        g_auto(GStrv) words = g_strsplit(key, ",", -1);
        if (*key != '_' && g_str_equal(words[2], alias))
            count_outcome(&outcomes, row, g_ascii_strtoll(words[0], NULL, 10), g_ascii_strtoll(words[1], NULL, 10),
                          g_ascii_strtoll(words[3], NULL, 10));
    }
    return outcomes;
}

static void assert_outcomes(const Bench *bench)
{
    json_auto_t *raw = load_json(bench, "large/raw_measurements.json");
    Outcomes cpu = outcomes_of(raw, "CPU"), gpu = outcomes_of(raw, "GPU"), npu = outcomes_of(raw, "NPU");
    /* the table has 60.2 ms at 30000 nodes / 300000 edges, and 257 ms at 60000 edges: one of the two is not believed */
    g_assert_cmpuint(cpu.n_ok + cpu.n_implausible, ==, N_SIZES * N_STAGES);
    g_assert_cmpuint(cpu.n_implausible, <=, 1);
    g_assert_cmpuint(gpu.n_ok, ==, N_SIZES * N_STAGES);
    g_assert_cmpuint(npu.n_ok, ==, N_SIZES_BEFORE_LOSS * 4); /* stages 1, 5, 6 and 7 */
    g_assert_cmpuint(npu.n_refused, ==, N_SIZES_BEFORE_LOSS * 2);
    g_assert_cmpuint(npu.n_flagged, ==, N_SIZES_BEFORE_LOSS);
    g_assert_cmpuint(npu.n_lost, ==, (N_SIZES - N_SIZES_BEFORE_LOSS) * N_STAGES);
    g_assert_cmpuint(cpu.n_other + gpu.n_other + npu.n_other, ==, 0);
    json_auto_t *lookup = load_json(bench, "large/lookup_table.json");
    g_assert_null(json_object_get(lookup, "20000,200000,NPU,1"));
    g_assert_null(json_object_get(lookup, "150000,1500000,NPU,7"));
    g_assert_true(json_number_value(json_object_get(json_object_get(lookup, "150000,1500000,GPU,7"), "total_time_ms")) > 0);
}

/* The shipped study, at its full size. */
static void write_study(const Bench *bench)
{
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "studies", "gnn-stages-large.yaml", NULL), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    write_text(bench, "large.yaml", text);
}

static void run_large(const Bench *bench, const char *extra, Ended *ended)
{
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_autofree char *state = bench_path(bench, "state"), *line = g_strdup_printf("%s %s%s", PROGRAM, RUN, extra);
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    g_mkdir_with_parents(state, 0777);
    g_subprocess_launcher_setenv(launcher, "IFM_SIMULATED_STATE_DIR", state, TRUE);
    ended_clear(ended);
    launch(launcher, (const char *const *)words, ended);
}

static void test_large(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_study(bench);
    run_large(bench, "", &ended);
    assert_complaint(&ended, 1, "cases have no latency");
    assert_outcomes(bench);
    /* Resumed: what failed stays, the device stays lost, and a latency it has not. */
    gint64 n_ok = query(bench, STORE, "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'");
    run_large(bench, "", &ended);
    assert_complaint(&ended, 1, "cases have no latency");
    assert_outcomes(bench);
    g_assert_cmpint(query(bench, STORE, "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'"), ==, n_ok);
    /* Tried again, all of it: the same. */
    run_large(bench, " --retry", &ended);
    assert_complaint(&ended, 1, "cases have no latency");
    assert_outcomes(bench);
    g_assert_cmpint(query(bench, STORE, "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'"), ==, n_ok);
    assert_none_left(bench);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-large/meteor-lake", Bench, NULL, bench_init, test_large, bench_clear);
    return g_test_run();
}
