#include <string.h>

#include "build-folders.h"
#include "cli/harness.h"

/* A profile's page has forty lines at most, says what it leaves out, and shows that with --all. */

#define LINES 40
#define COLUMNS 80

static int check_lines(const char *page)
{
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
    int n = 0;
    for (char **line = lines; *line != NULL && (**line != '\0' || line[1] != NULL); line++, n++)
        g_assert_cmpint(g_utf8_strlen(*line, -1), <=, COLUMNS);
    return n;
}

static void run_page(Bench *bench, const char *line, const char *more, int status, Ended *ended)
{
    g_autofree char *script =
        g_strdup_printf("LC_ALL=C.UTF-8 COLUMNS=%d \"$INFEROMETER\" profile %s -q --resume%s", COLUMNS, line, more);
    run_shell(bench, "sh", script, ended);
    assert_status(ended, status);
    g_test_message("%s", ended->out);
}

/* Verdicts, warnings and what it is are on both pages. */
static void test_kinds(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        const char *const kept[6];
        gboolean is_long;
        int status;
    } kinds[] = {
        { "matmul,m=8,k=8,n=8 --runs 3 -d simulated:ideal/GPU", { "model  ", "weights  ", "work  ", "\ndevice " }, FALSE },
        { "resnet18,size=64 --runs 3 -d simulated:ideal/CPU",
          { "model  ", "\ndevice ", "compile ", "kernels by ", "time breakdown" },
          TRUE },
        { "resnet18,size=64 --runs 3 -d simulated:ideal/CPU -d simulated:ideal/GPU -d simulated:ideal/NOISY "
          "-d simulated:meteor-lake/GPU",
          { "rounds of fresh processes", "\nsimulated:meteor-lake/GPU ", "names no stage" },
          TRUE,
          1 },
        { "graph_transformer,num_layers=2,hidden_dim=16,num_heads=2 --num-nodes 32 --pe lap:4 --mode train --runs 3 "
          "-d simulated:ideal/CPU",
          { "mode  ", "\npass ", "backward ", "training step " },
          TRUE },
        { "matmul --dim m=8,16,32,64,128,256 --runs 3 -d simulated:ideal/CPU -d simulated:ideal/GPU",
          { "scaling with m", "\n256 ", "grows as m^", "simulated:ideal/GPU" },
          TRUE },
        { "densenet121 -p flops", { "work  ", "family ", "convolution " }, TRUE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        g_auto(Ended) page = { 0 }, whole = { 0 };
        run_page(bench, kinds[i].line, "", kinds[i].status, &page);
        run_page(bench, kinds[i].line, " --all", kinds[i].status, &whole);
        g_assert_cmpint(check_lines(page.out), <=, LINES);
        g_assert_true((check_lines(whole.out) > LINES) == (strstr(page.out, "\nmore with --all: ") != NULL));
        g_assert_true(!kinds[i].is_long || check_lines(whole.out) > LINES);
        g_assert_null(strstr(whole.out, "more with --all"));
        for (const char *const *text = kinds[i].kept; *text != NULL; text++)
            g_assert_nonnull(strstr(page.out, *text));
    }
}

/* Who asks for so many kernels gets them. */
static void test_nodes(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_page(bench, "resnet18,size=64 --runs 3 -d simulated:ideal/CPU", " --nodes 60", 0, &ended);
    g_assert_cmpint(check_lines(ended.out), >, 60);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-brief/kinds", Bench, NULL, bench_init, test_kinds, bench_clear);
    g_test_add("/profile-brief/nodes", Bench, NULL, bench_init, test_nodes, bench_clear);
    return g_test_run();
}
