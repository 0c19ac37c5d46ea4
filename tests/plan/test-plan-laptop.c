#include <math.h>
#include <string.h>

#include "meteor-lake.h"
#include "plan/costs-private.h"
#include <study/study.h>

/*
 * The best plan at each size of the laptop, under each objective, is never worse than the one the published search finds
 * under the same costs: from the published tables, and from what a study measures on the simulated laptop itself.
 */

static const double published_shares[] = { 0.3, 0.5, 0.7 };

/* Nobody measured the laptop's watts. These are of the order of its parts' limits, and stated so that energy has a meaning:
 * while working, while waiting. */
static const struct
{
    const char *alias;
    double active_w, idle_w;
} watts[] = { { "CPU", 28, 2 }, { "GPU", 18, 1 }, { "NPU", 6, 0.5 } };

static double value_of(const IfmPlanCost *cost, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? cost->latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? cost->cycle_ns
                                                   : cost->energy_j;
}

typedef struct
{
    const IfmCosts *costs;
    guint32 npu;
    int n_sizes, n_better[3];
} Compared;

static const char *alias_of(const IfmPlan *plan, int device)
{
    return ((const IfmPlanDevice *)g_ptr_array_index(plan->devices, device))->alias;
}

/* That a plan's energy is what its devices' times and these watts make of it. */
static void check_energy(const IfmPlanAnswer *answer)
{
    double joules = 0, idle_w = 0;
    for (guint b = 0; b < answer->best.cost.steady->len; b++)
    {
        const IfmBlockCost *cost = &g_array_index(answer->best.cost.steady, IfmBlockCost, b);
        const IfmPlanBlock *block = &g_array_index(answer->best.plan->blocks, IfmPlanBlock, b);
        for (gsize k = 0; k < block->n_devices; k++)
            for (gsize d = 0; d < G_N_ELEMENTS(watts); d++)
                if (g_str_equal(watts[d].alias, alias_of(answer->best.plan, block->devices[k])))
                {
                    joules += (watts[d].active_w - watts[d].idle_w) * cost->device_ns[k] * 1e-9;
                    idle_w += watts[d].idle_w;
                }
    }
    joules += idle_w * answer->best.cost.cycle_ns * 1e-9;
    g_assert_cmpfloat_with_epsilon(answer->best.cost.energy_j / joules, 1, 1e-9);
}

static void compare_at(Compared *compared, gint64 nodes, gint64 edges)
{
    compared->n_sizes++;
    for (int objective = 0; objective < 3; objective++)
    {
        g_auto(IfmPlanAnswer) best = { 0 }, restricted = { 0 };
        g_autoptr(GError) error = NULL;
        IfmPlanQuestion question = { .objective = (IfmObjective)objective, .nodes = (double)nodes, .edges = (double)edges };
        g_assert_true(ifm_plan_search(compared->costs, &question, &best, &error));
        question.grid = published_shares;
        question.n_grid = G_N_ELEMENTS(published_shares);
        question.max_blocks = 2;
        question.no_split = compared->npu;
        g_assert_true(ifm_plan_search(compared->costs, &question, &restricted, &error));
        g_assert_true(best.optimal && restricted.optimal);
        double ours = value_of(&best.best.cost, question.objective);
        double theirs = value_of(&restricted.best.cost, question.objective);
        g_assert_cmpfloat(ours, >, 0);
        g_assert_cmpfloat(ours, <=, theirs * (1 + 1e-9));
        g_assert_cmpfloat(ours, <=, value_of(&best.single.cost, question.objective) * (1 + 1e-9));
        check_energy(&best);
        compared->n_better[objective] += ours < 0.99 * theirs;
        g_autofree char *text = ifm_plan_to_text(best.best.plan), *other = ifm_plan_to_text(restricted.best.plan);
        g_test_message("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT " %s: %.4g %s; published search %.4g %s", nodes, edges,
                       ifm_objective_words()[objective], ours, text, theirs, other);
    }
}

static void compare_all(const IfmStudyTables *tables, int n_sizes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = ifm_costs_from_tables(tables, NULL, &error);
    Compared compared = { .costs = costs };
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_costs_n_devices(costs), ==, G_N_ELEMENTS(watts));
    for (int d = 0; d < (int)G_N_ELEMENTS(watts); d++)
    {
        g_assert_cmpstr(ifm_costs_device(costs, d)->alias, ==, watts[d].alias);
        ifm_costs_set_power(costs, d, watts[d].active_w, watts[d].idle_w);
        compared.npu |= (guint32)g_str_equal(watts[d].alias, "NPU") << d;
    }
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->stage == 1 && g_str_equal(row->device->alias, "CPU"))
            compare_at(&compared, row->nodes, row->edges);
    }
    g_assert_cmpint(compared.n_sizes, ==, n_sizes);
    for (int objective = 0; objective < 3; objective++)
        g_test_message("%s: better by more than 1 %% at %d of %d sizes", ifm_objective_words()[objective],
                       compared.n_better[objective], n_sizes);
    g_assert_cmpint(compared.n_better[IFM_OBJECTIVE_LATENCY], >, 0);
    g_assert_cmpint(compared.n_better[IFM_OBJECTIVE_THROUGHPUT], >, 0);
}

static void test_published(gconstpointer data)
{
    Imported imported;
    const char *file = data;
    import(&imported, file);
    compare_all(imported.tables, g_str_has_prefix(file, "large") ? 55 : 15);
    imported_clear(&imported);
}

/* The sizes of the published protocol, on the simulated laptop, whose latencies scatter as the published ones did. */
#define STUDY                                                                                                              \
    "title: The published protocol\n"                                                                                      \
    "subject: {model: graphsage, features: 4, hidden: 4}\n"                                                                \
    "sizes:\n"                                                                                                             \
    "  - {nodes: 1000, edges: [1000, 2000, 3000, 5000, 10000]}\n"                                                          \
    "  - {nodes: 2000, edges: [2000, 3000, 5000, 10000]}\n"                                                                \
    "  - {nodes: 3000, edges: [3000, 5000, 10000]}\n"                                                                      \
    "  - {nodes: 5000, edges: [5000, 10000]}\n"                                                                            \
    "  - {nodes: 10000, edges: [10000]}\n"                                                                                 \
    "devices:\n"                                                                                                           \
    "  CPU: {device: simulated:meteor-lake/CPU}\n"                                                                         \
    "  GPU: {device: simulated:meteor-lake/GPU}\n"                                                                         \
    "  NPU: {device: simulated:meteor-lake/NPU}\n"                                                                         \
    "protocol: {warmup: 1, runs: 10}\n"                                                                                    \
    "links: {measure: false}\n"

static void test_measured(void)
{
    Imported measured = { .folder = g_dir_make_tmp("laptop-XXXXXX", NULL) };
    g_autoptr(GError) error = NULL;
    g_autofree char *yaml = g_build_filename(measured.folder, "laptop.yaml", NULL);
    g_autofree char *path = g_build_filename(measured.folder, "store.db", NULL);
    g_assert_true(g_file_set_contents(yaml, STUDY, -1, NULL));
    g_autoptr(IfmStudy) study = ifm_study_open(yaml, &error);
    g_assert_no_error(error);
    measured.store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    IfmStudyOptions options = { .folder = measured.folder, .limits = *ifm_study_info(study).limits };
    IfmCampaignProgress progress;
    g_assert_true(ifm_study_measure(study, measured.store, &options, &progress, &error));
    g_assert_cmpuint(progress.n_done, ==, 3 * 7 * 15);
    /* of the NPU stages 3 and 4, and stage 2 where the larger table, which comes first, marks it */
    g_assert_cmpuint(progress.n_failed, ==, 15 + 15 + 5);
    measured.tables = ifm_study_tables(NULL, measured.store, &error);
    g_assert_no_error(error);
    compare_all(measured.tables, 15);
    imported_clear(&measured);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/plan-laptop/published/15", "protocol-15-sizes.csv", test_published);
    g_test_add_data_func("/plan-laptop/published/55", "large-55-sizes.csv", test_published);
    g_test_add_func("/plan-laptop/measured", test_measured);
    return g_test_run();
}
