/* The documents of stores. */
#include <string.h>

#include <document/document.h>
#include <inferometer/document.h>
#include <store/store.h>

#include "document/summary-line.h"
#include "folder.h"

typedef struct
{
    char *folder;
    IfmStore *store;
} Bench;

static void bench_init(Bench *bench, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    bench->folder = g_dir_make_tmp("ifm-stores-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(bench->folder, "store.db", NULL);
    bench->store = ifm_store_open(path, IFM_STORE_SCRATCH, &error);
    g_assert_no_error(error);
}

static void bench_clear(Bench *bench, gconstpointer data)
{
    ifm_store_close(bench->store);
    remove_tree(bench->folder);
    g_free(bench->folder);
}

/* (transfer full) the page of a store with that name */
static char *page_of(const Bench *bench, const char *name)
{
    g_autoptr(GError) error = NULL;
    const IfmReportedStore one = { name, bench->store };
    g_autoptr(GPtrArray) documents = ifm_stores_documents(&one, 1, &error);
    g_assert_no_error(error);
    return ifm_documents_to_html((const IfmDocument *const *)documents->pdata, documents->len, "report");
}

static void test_empty(Bench *bench, gconstpointer data)
{
    g_autofree char *page = page_of(bench, "nothing.db");
    g_assert_nonnull(strstr(page, "Nothing was measured"));
    g_assert_true(g_str_has_suffix(page, "</html>\n"));
}

/* Names from models and files are text, whatever they hold. */
static void test_hostile(Bench *bench, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) one = ifm_case_new();
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    ifm_record_set_text(&one->subject_kind, "model");
    ifm_record_set_text(&one->subject_name, "<script>alert(1)</script>\x1b[31m");
    ifm_record_set_text(&one->device, "onnxruntime:CPU");
    ifm_record_set_text(&one->alias, "<img src=x onerror=alert(2)>");
    ifm_case_seal(one);
    ifm_record_set_text(&measurement->case_key, one->key);
    measurement->outcome = IFM_OUTCOME_FAILED;
    ifm_record_set_text(&measurement->error_code, "failed");
    ifm_record_set_text(&measurement->reason, "</td></table><script>alert(3)</script>");
    g_assert_true(ifm_store_commit(bench->store, one, measurement, &error));
    g_assert_no_error(error);
    g_autofree char *page = page_of(bench, "<b>name</b>");
    g_assert_null(strstr(page, "<script>alert"));
    g_assert_null(strstr(page, "<img src=x"));
    g_assert_null(strstr(page, "<b>name"));
    g_assert_null(strchr(page, '\x1b'));
    g_assert_nonnull(strstr(page, "&lt;script&gt;alert(1)"));
}

/* Cases whose medians are known to ±1 %; @factor: of the second half, of all others 1 */
static void fill(IfmStore *store, const char *device, gsize n, double factor, double others)
{
    for (gsize i = 0; i < n; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmCase) one = ifm_case_new();
        g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
        const double median = (double)(i + 1) * 1e6 * (2 * i >= n ? factor : others);
        g_autofree char *name = g_strdup_printf("model %zu", i), *uid = g_strdup_printf("%s-%zu-%g", device, i, median);
        ifm_record_set_text(&one->subject_kind, "model");
        ifm_record_set_text(&one->subject_name, name);
        ifm_record_set_text(&one->device, device);
        ifm_case_seal(one);
        ifm_record_set_text(&measurement->case_key, one->key);
        ifm_record_set_text(&measurement->uid, uid);
        ifm_measurement_set_summary(
            measurement,
            &(IfmSummary){ .n = 9, .median = median, .median_interval = { 0.99 * median, 1.01 * median, 0.95 } });
        g_assert_true(ifm_store_commit(store, one, measurement, &error));
        g_assert_no_error(error);
    }
}

/* What changed is said of the middle of all cases, by its interval; gains and losses have a sum each. */
static void test_changes(Bench *bench, gconstpointer data)
{
    static const struct
    {
        gsize n, n_other;
        double factor, others;
        const char *wanted[3];
    } rows[] = {
        { 0, 4, 1, 1, { "The stores have no case in common", "care no case is in A and in another store" } },
        { 2, 2, 2, 2, { "2 cases are in A and B: too few to say what changed" } },
        { 12,
          12,
          1,
          1,
          { "None of 12 cases is told apart between A and B, nor is their median | In each case the two intervals overlap "
            "|",
            "Measure them again on another day", "!Measure again what" } },
        { 12,
          12,
          2,
          0.5,
          { "The median of 12 cases is not told apart between A and B | 6 took less, \342\210\22210.5 ms together, and 6 "
            "more, +57.0 ms" } },
        { 12,
          12,
          2,
          2,
          { "The median case of 12 takes 2.00 times the time that it took in A | ",
            "0 took less, 0 together, and 12 more, +78.0 ms", "Measure again what changed most, model " } },
        { 12,
          12,
          0.5,
          0.5,
          { "The median case of 12 takes 0.500 times the time", "12 took less, \342\210\22239.0 ms together" } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *a = g_strdup_printf("%s/a%zu.db", bench->folder, i),
                        *b = g_strdup_printf("%s/b%zu.db", bench->folder, i);
        const IfmReportedStore both[] = { { "A", ifm_store_open(a, IFM_STORE_SCRATCH, &error) },
                                          { "B", ifm_store_open(b, IFM_STORE_SCRATCH, &error) } };
        g_assert_no_error(error);
        fill(both[0].store, "onnxruntime:CPU", rows[i].n, 1, 1);
        fill(both[1].store, "onnxruntime:CPU", rows[i].n_other, rows[i].factor, rows[i].others);
        g_autoptr(GPtrArray) documents = ifm_stores_documents(both, 2, &error);
        g_assert_no_error(error);
        g_autofree char *line = summary_line(g_ptr_array_steal_index(documents, 0));
        for (gsize k = 0; k < 3 && rows[i].wanted[k] != NULL; k++)
            assert_line(line, (const char *const[]){ rows[i].wanted[k], NULL });
        ifm_store_close(both[0].store);
        ifm_store_close(both[1].store);
    }
}

/* What one store says of its devices, as it fills. */
static void test_devices(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *device;
        gsize n;
        double factor;
        const char *verdict;
    } steps[] = {
        { "openvino:CPU", 2, 1, "2 cases were measured, none on several devices" },
        { "onnxruntime:CPU", 1, 1, "No device is told apart in any of 1 cases" },
        { "openvino:GPU", 2, 0.5, "openvino:GPU takes the least time in 2 of 2 cases on several devices" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
    {
        fill(bench->store, steps[i].device, steps[i].n, steps[i].factor, steps[i].factor);
        g_autofree char *page = page_of(bench, "one.db");
        if (strstr(page, steps[i].verdict) == NULL)
            g_error("%s not in %.20000s", steps[i].verdict, strstr(page, "<h1>"));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/stores-page/empty", Bench, NULL, bench_init, test_empty, bench_clear);
    g_test_add("/stores-page/hostile", Bench, NULL, bench_init, test_hostile, bench_clear);
    g_test_add("/stores-page/changes", Bench, NULL, bench_init, test_changes, bench_clear);
    g_test_add("/stores-page/devices", Bench, NULL, bench_init, test_devices, bench_clear);
    return g_test_run();
}
