#include <string.h>

#include <learn/learn.h>
#include <learn/predict-page.h>

#include "build-folders.h"
#include "document/check-document.h"

/* The pages of `predict` and `evaluate`, of predictions made by hand. */

static const IfmScreen narrow = { .width = 80 }, whole = { .width = IFM_SCREEN_UNBOUNDED };

static IfmKernelRecords *read_records(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "kernels", name, NULL);
    IfmKernelRecords *records = ifm_kernel_records_read(path, &error);
    g_assert_no_error(error);
    return records;
}

/* Each kernel takes 1 ms; each node costs 100 us besides. (transfer full) */
static IfmModelPrediction *predict(const IfmKernelRecords *records)
{
    IfmModelPrediction *prediction = g_new0(IfmModelPrediction, 1);
    prediction->kernels = g_array_new(FALSE, FALSE, sizeof(IfmPredictedKernel));
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *record = records->kernels->pdata[i];
        const gboolean moves = ifm_kernel_record_moves(record);
        const IfmPredictedKernel kernel = { record,
                                            { moves ? 0 : 1e6, 0.9e6, 1.1e6, 1e6, 0.5e6, i % 2 == 0, i % 3 == 0, TRUE },
                                            moves };
        g_array_append_val(prediction->kernels, kernel);
        prediction->latency_ns += kernel.predicted.latency_ns + 1e5;
    }
    prediction->overhead_ns = 1e5 * records->kernels->len;
    prediction->known_ratio = 1;
    return prediction;
}

static void assert_fits(const char *page)
{
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        g_assert_cmpuint(strlen(*line), <=, 80);
}

/* At 80 columns a table is one block, and each of its rows is another. */
static void test_predict(void)
{
    g_autoptr(IfmKernelRecords) records = read_records("transformer.json");
    g_autoptr(IfmModelPrediction) prediction = predict(records);
    const IfmPredictReport report = { records, prediction, "on an idle machine", NULL, (double)NAN };
    g_autoptr(IfmDocument) document = ifm_predict_document(&report, 1);
    g_autofree char *page = ifm_document_to_screen(document, &narrow);
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    double sum = 0;
    guint n_rows = 0, n_heads = 0;
    assert_fits(page);
    for (char **line = lines; *line != NULL; line++)
    {
        n_heads += g_str_has_prefix(*line, "kernel  ");
        char *end = strstr(*line, "  ");
        const char *share = strchr(*line, '%');
        if (n_heads == 0 || end == NULL || share == NULL)
            continue;
        sum += g_ascii_strtod(share - 5, NULL);
        *end = '\0';
        g_assert_true(g_hash_table_add(names, *line));
        n_rows++;
    }
    g_assert_cmpuint(n_heads, ==, 1);
    g_assert_cmpfloat_with_epsilon(sum, 100, 0.5); /* the overhead of the nodes is a row */
    g_assert_true(g_hash_table_contains(names, "overhead of each node"));
    g_assert_nonnull(strstr(page, "2 (Reshape, Unsqueeze)"));
    g_assert_null(strstr(page, "Reshape_"));
    g_assert_cmpuint(n_rows, ==, 12); /* 13 kernels, all different, of which 2 only move data */
    check_document(g_steal_pointer(&document));
}

/* --- evaluate -----------------------------------------------------------------------------------------------------------
 */

static IfmEvaluated *add_row(const IfmEvaluation *evaluation, const IfmKernelRecord *record, const char *load,
                             double measured_ns, double predicted_ns)
{
    IfmEvaluated *row = g_new0(IfmEvaluated, 1);
    *row = (IfmEvaluated){ .model = g_strdup("bert,length=16,layers=1"),
                           .load = g_strdup(load),
                           .record = record,
                           .times = 1,
                           .measured_ns = measured_ns,
                           .predicted_ns = predicted_ns,
                           .low_ns = predicted_ns / 2,
                           .high_ns = predicted_ns * 2,
                           .asked = strchr(load, ':') != NULL ? 0.6 : (double)NAN,
                           .achieved = strchr(load, ':') != NULL ? 0.5 : (double)NAN,
                           .kernels_ns = (double)NAN,
                           .same = TRUE };
    g_ptr_array_add(evaluation->rows, row);
    return row;
}

static void row_free(IfmEvaluated *row)
{
    g_free(row->model);
    g_free(row->load);
    g_free(row->unknown);
    g_free(row);
}

static gsize count(const char *text, const char *part)
{
    gsize n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

static void test_evaluate(void)
{
    g_autoptr(IfmKernelRecords) records = read_records("transformer.json");
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    const IfmEvaluation evaluation = { .rows = rows };
    add_row(&evaluation, NULL, "idle", 1e6, 1.05e6);
    g_autofree char *one = ifm_document_show(ifm_evaluation_document(&evaluation), &narrow);
    g_assert_nonnull(strstr(one, "Mean error of 1 model: 5"));
    g_assert_null(strstr(one, "predicted alike"));
    add_row(&evaluation, NULL, "gemm:60%", 2e6, 2.1e6);
    add_row(&evaluation, NULL, "copy:60%", 3e6, 2.1e6);
    for (guint i = 0; i < records->kernels->len; i++)
        add_row(&evaluation, records->kernels->pdata[i], "idle", 1e5, 1e5 * (i + 1))->unknown =
            i == 12 ? g_strdup("Einsum") : NULL;
    g_autoptr(IfmDocument) document = ifm_evaluation_document(&evaluation);
    g_autofree char *page = ifm_document_to_screen(document, &narrow), *wide = ifm_document_to_screen(document, &whole);
    assert_fits(page);
    g_assert_nonnull(strstr(page, "Mean error of 3 models: "));
    g_assert_nonnull(strstr(wide, "Mean error of 13 kernels: "));
    g_assert_nonnull(strstr(wide, "gemm:60%, copy:60%: some of these are predicted alike")); /* and idle is not */
    g_assert_nonnull(strstr(wide, "operator not learnt, by the roofline: Einsum"));
    g_assert_nonnull(strstr(wide, "copy:60%: error -30 %: "));
    g_assert_cmpuint(count(page, "measured  predicted"), ==, 2); /* each table is one block */
    json_auto_t *json = ifm_document_to_json(document);
    const json_t *blocks = json_object_get(json_array_get(json_object_get(json, "sections"), 0), "blocks"), *block;
    gsize i, n_series = 0;
    json_array_foreach(blocks, i, block) n_series += json_array_size(ifm_member(block, "series"));
    g_assert_cmpuint(n_series, ==, 4); /* models, kernels, the diagonal; errors by operator */
    g_assert_cmpuint(check_document(g_steal_pointer(&document)), ==, 31);
}

static void check_title(char *title /* (transfer full) */, const char *expected)
{
    g_auto(GStrv) parts = g_strsplit(title, "\u00a0", -1);
    g_autofree char *own = title, *plain = g_strjoinv(" ", parts);
    g_assert_cmpstr(plain, ==, expected);
}

/* Each way the rules of titles can fall. */
static void test_titles(void)
{
    check_title(ifm_predictions_title(0, 0), "Nothing was measured that was predicted");
    check_title(ifm_predictions_title(1, 1), "What was measured lies in its prediction's 90 % interval");
    check_title(ifm_predictions_title(4, 4), "Everything that was measured lies in its prediction's 90 % interval");
    check_title(ifm_predictions_title(3, 2), "2 of 3 lie in their prediction's 90 % interval, as many as that lets expect");
    check_title(ifm_predictions_title(10, 5), "5 of 10 lie in their prediction's 90 % interval: too few by chance, the "
                                              "intervals are too narrow");
    check_title(ifm_operator_errors_title(0, NULL, -1, NULL, 1), "No kernel was measured");
    check_title(ifm_operator_errors_title(1, "Conv", 0.2, "Conv", 0.2), "Conv has a median error of 20 %");
    check_title(ifm_operator_errors_title(2, "Conv", 0.2, "Add", 0.05),
                "The median error of Conv is 20 %, that of Add 5 %");
    check_title(ifm_train_title("kernels", "all", 0.08, NULL, 0), "Not trained on kernels: the model's MAPE is 8 % on all");
    check_title(ifm_train_title("kernels", "all", 0.08, "linear", 0.2),
                "Not trained on kernels: the model's MAPE is 8 % on all, that of the best baseline, linear, 20 %");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/predict-page/predict", test_predict);
    g_test_add_func("/predict-page/evaluate", test_evaluate);
    g_test_add_func("/predict-page/titles", test_titles);
    return g_test_run();
}
