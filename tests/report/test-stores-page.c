/* The documents of stores. */
#include <string.h>

#include <inferometer/document.h>
#include <store/store.h>

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
    g_assert_nonnull(strstr(page, "no measurements"));
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/stores-page/empty", Bench, NULL, bench_init, test_empty, bench_clear);
    g_test_add("/stores-page/hostile", Bench, NULL, bench_init, test_hostile, bench_clear);
    return g_test_run();
}
