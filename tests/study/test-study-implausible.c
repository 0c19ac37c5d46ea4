#include <base/statistics.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <study/findings.h>

#include "folder.h"
#include "study/study-kind.h"

/* Latencies that those of other sizes contradict: in the tables of a study, along the axes of points. */

/* The laptop's tables without their flags: what a harness records that does not notice that a device is gone. */
static char *write_unflagged(const char *folder)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", "large-55-sizes.csv", NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) out = g_string_new(lines[0]);
    g_string_append_c(out, '\n');
    for (char **line = lines + 1; *line != NULL; line++)
    {
        char *flag = strrchr(*line, ',');
        if (flag == NULL)
            continue;
        flag[1] = '\0';
        g_string_append_printf(out, "%s\n", *line);
    }
    char *copy = g_build_filename(folder, "unflagged.csv", NULL);
    g_assert_true(g_file_set_contents(copy, out->str, -1, NULL));
    return copy;
}

typedef struct
{
    char *folder;
    IfmStore *store;
    IfmStudyTables *tables;
} Laptop;

static void laptop_init(Laptop *laptop)
{
    g_autoptr(GError) error = NULL;
    laptop->folder = g_dir_make_tmp("implausible-XXXXXX", &error);
    g_autofree char *csv = write_unflagged(laptop->folder), *path = g_build_filename(laptop->folder, "store.db", NULL);
    const char *paths[] = { csv, NULL };
    const IfmStageSizes sizes = { .features = 500, .hidden = 500 };
    IfmStudyImported n;
    laptop->store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    ifm_study_import(paths, "laptop", &sizes, FALSE, laptop->store, &n, &error);
    g_assert_no_error(error);
    laptop->tables = ifm_study_tables(NULL, laptop->store, &error);
    g_assert_no_error(error);
}

static void laptop_clear(Laptop *laptop)
{
    ifm_study_tables_free(laptop->tables);
    ifm_store_close(laptop->store);
    remove_tree(laptop->folder);
    g_free(laptop->folder);
}

/* @n_all: (out) (optional) with a latency, of that device and stage */
static gsize count_implausible(const IfmStudyTables *tables, const char *alias, int stage, gsize *n_all)
{
    gsize n = 0, known = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (!g_str_equal(row->device->alias, alias) || (stage > 0 && row->stage != stage))
            continue;
        n += g_strcmp0(row->code, IFM_IMPLAUSIBLE) == 0;
        known += row->reason == NULL;
    }
    if (n_all != NULL)
        *n_all = known;
    return n;
}

static void test_tables(void)
{
    Laptop laptop;
    gsize n_known;
    laptop_init(&laptop);
    g_assert_cmpuint(count_implausible(laptop.tables, "NPU", 1, &n_known), ==, 36);
    g_assert_cmpuint(n_known, ==, 55 - 36);
    g_assert_cmpuint(count_implausible(laptop.tables, "CPU", 0, NULL), ==, 0);
    g_assert_cmpuint(count_implausible(laptop.tables, "GPU", 0, NULL), ==, 0);
    for (guint i = 0; i < laptop.tables->rows->len; i++)
    {
        const IfmStudyRow *row = laptop.tables->rows->pdata[i];
        if (g_strcmp0(row->code, IFM_IMPLAUSIBLE) != 0 || row->stage != 1)
            continue;
        g_assert_true(g_str_has_prefix(row->reason, "implausible: "));
        g_assert_nonnull(strstr(row->reason, "which is less work, took "));
        g_assert_true(isfinite(row->median_ns)); /* what was measured stays to be seen */
    }
    const gsize n = ifm_study_tables_implausible(laptop.tables);
    g_assert_cmpuint(n, >=, 36);
    gsize counts[IFM_ROW_STATES];
    ifm_study_row_count(laptop.tables, NULL, 0, counts);
    g_assert_cmpuint(counts[IFM_ROW_IMPLAUSIBLE], ==, n); /* apart from what failed */
    const gsize n_fits = laptop.tables->fits->len;
    ifm_study_tables_admit(laptop.tables);
    g_assert_cmpuint(ifm_study_tables_implausible(laptop.tables), ==, 0);
    g_assert_cmpuint(laptop.tables->fits->len, ==, n_fits);
    g_assert_cmpuint(count_implausible(laptop.tables, "NPU", 1, &n_known), ==, 0);
    g_assert_cmpuint(n_known, ==, 55);
    laptop_clear(&laptop);
}

/* --- points ------------------------------------------------------------------------------------------------------------
 */

static IfmStudyRow *add_row(IfmStudyTables *points, const char *title, json_t *axes, double flop, double ns)
{
    IfmStudyRow *point = g_new0(IfmStudyRow, 1);
    point->device = points->devices->len > 0 ? points->devices->pdata[0] : NULL;
    point->title = g_strdup(title);
    point->axes = axes;
    point->flop = flop;
    point->median_ns = ns;
    point->interval = (IfmInterval){ ns * 0.99, ns * 1.01, 0.95 };
    g_ptr_array_add(points->rows, point);
    return point;
}

static IfmStudyRow *add_point(IfmStudyTables *points, int batch, int threads, double ns)
{
    g_autofree char *title = g_strdup_printf("batch %d, threads %d", batch, threads);
    return add_row(points, title, json_pack("{s:i,s:i}", "batch", batch, "threads", threads), 1e6 * batch, ns);
}

static void row_free(gpointer data)
{
    IfmStudyRow *point = data;
    g_free(point->title);
    json_decref(point->axes);
    g_free(point->code);
    g_free(point->doubt);
    g_free(point->reason);
    g_free(point);
}

static void points_free(IfmStudyTables *points)
{
    g_ptr_array_unref(points->rows);
    g_ptr_array_unref(points->axes);
    g_ptr_array_unref(points->devices);
    g_free(points);
}

static IfmStudyTables *points_new(const char *first, const char *second)
{
    IfmStudyTables *points = g_new0(IfmStudyTables, 1);
    points->axes = g_ptr_array_new_with_free_func(g_free);
    points->rows = g_ptr_array_new_with_free_func(row_free);
    points->devices = g_ptr_array_new();
    g_ptr_array_add(points->axes, g_strdup(first));
    g_ptr_array_add(points->axes, g_strdup(second));
    return points;
}

/* What has a name is no size: of two kernels the one with less work may take longer; of one kernel the larger may not. */
static void test_names(void)
{
    static const struct
    {
        const char *kernel;
        int size;
        double flop, ns;
        gboolean wrong;
    } rows[] = {
        { "Conv", 1, 1e6, 20, FALSE },     { "Conv", 2, 2e6, 40, FALSE },     { "Conv", 4, 4e6, 8, TRUE },
        { "Softmax", 1, 1e3, 100, FALSE }, { "Softmax", 2, 2e3, 200, FALSE }, { "Gemm", 1, 1e9, 10, FALSE },
    };
    IfmStudyTables *points = points_new("kernel", "size");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        add_row(points, rows[i].kernel, json_pack("{s:s,s:i}", "kernel", rows[i].kernel, "size", rows[i].size),
                rows[i].flop, rows[i].ns);
    study_mark_points(points);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const IfmStudyRow *row = points->rows->pdata[i];
        g_test_message("%s %d: %s", rows[i].kernel, rows[i].size, row->reason != NULL ? row->reason : "plausible");
        g_assert_true((row->reason != NULL) == rows[i].wrong);
        g_assert_null(row->doubt);
    }
    points_free(points);
}

static void test_points(void)
{
    IfmStudyTables *points = points_new("batch", "threads");
    add_point(points, 1, 1, 100);
    const IfmStudyRow *faster = add_point(points, 1, 8, 20); /* more threads: no more work */
    const IfmStudyRow *more = add_point(points, 2, 1, 190), *gone = add_point(points, 4, 1, 30);
    const IfmStudyRow *both = add_point(points, 4, 8, 30); /* of what has other threads, nothing follows */
    const IfmStudyRow *one = add_point(points, 1, 2, 100), *other = add_point(points, 2, 2, 20); /* and nothing else */
    study_mark_points(points);
    g_test_message("%s", one->doubt);
    g_assert_true(g_str_has_prefix(one->doubt, "doubtful: "));
    g_assert_true(one->reason == NULL && other->reason == NULL);
    g_assert_nonnull(strstr(one->doubt, "ns, but batch 2, threads 2, which is more work, took 20"));
    g_assert_nonnull(strstr(other->doubt, "ns, but batch 1, threads 2, which is less work, took 100"));
    g_assert_null(faster->doubt);
    g_assert_null(faster->reason);
    g_assert_null(more->reason);
    g_assert_null(both->reason);
    g_assert_cmpstr(gone->code, ==, IFM_IMPLAUSIBLE);
    g_assert_nonnull(strstr(gone->reason, "but batch 2, threads 1, which is less work, took "));
    points_free(points);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/study-implausible/tables", test_tables);
    g_test_add_func("/study-implausible/points", test_points);
    g_test_add_func("/study-implausible/names", test_names);
    return g_test_run();
}
