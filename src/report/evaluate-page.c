/* Predictions against measurements. */
#include <math.h>

#include <learn/learn.h>

#include "report-private.h"

static void get_kernel(const void *record, const void *user, IfmValue *value)
{
    const IfmEvaluated *row = record;
    if (row->record != NULL)
        ifm_value_take_text(value, ifm_kernel_record_stem(row->record));
}

static void get_error(const void *record, const void *user, IfmValue *value)
{
    const IfmEvaluated *row = record;
    ifm_value_set_real(value, row->predicted_ns / row->measured_ns - 1);
}

static void get_inside(const void *record, const void *user, IfmValue *value)
{
    const IfmEvaluated *row = record;
    if (!isnan(row->measured_ns))
        ifm_value_set_boolean(value, row->low_ns <= row->measured_ns && row->measured_ns <= row->high_ns);
}

static void get_why(const void *record, const void *user, IfmValue *value)
{
    char *why = ifm_evaluated_why(record);
    if (why != NULL)
        ifm_value_take_text(value, why);
}

#define ROW(member) IFM_MEMBER(IfmEvaluated, member)
#define WIDE 100 /* columns of a screen that has room for these fields, too */

static const IfmField model_fields[] = {
    { "model", "model", IFM_FIELD_TEXT, ROW(model), .flags = IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "load", "load", IFM_FIELD_TEXT, ROW(load), .flags = IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "measured_ns", "measured", IFM_FIELD_DURATION, ROW(measured_ns) },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, ROW(predicted_ns) },
    { "low_ns", "from", IFM_FIELD_DURATION, ROW(low_ns) },
    { "high_ns", "to", IFM_FIELD_DURATION, ROW(high_ns) },
    { "error_ratio", "off by", IFM_FIELD_RATIO, get_error },
    { "inside", "inside", IFM_FIELD_BOOLEAN, get_inside, .min_width = WIDE },
    { "why", "why", IFM_FIELD_TEXT, get_why, NULL, IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* A name that is shortened keeps its end, the digest: rows stay distinct. */
static const IfmField kernel_fields[] = {
    { "kernel", "kernel", IFM_FIELD_TEXT, get_kernel, .flags = IFM_FIELD_KEY },
    { "load", "load", IFM_FIELD_TEXT, ROW(load), .flags = IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "model", "model", IFM_FIELD_TEXT, ROW(model), .flags = IFM_FIELD_FOLD },
    { "times", "times", IFM_FIELD_INTEGER, ROW(times), .min_width = WIDE },
    { "measured_ns", "measured", IFM_FIELD_DURATION, ROW(measured_ns) },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, ROW(predicted_ns) },
    { "low_ns", "from", IFM_FIELD_DURATION, ROW(low_ns), .min_width = WIDE },
    { "high_ns", "to", IFM_FIELD_DURATION, ROW(high_ns), .min_width = WIDE },
    { "error_ratio", "off by", IFM_FIELD_RATIO, get_error },
    { "inside", "inside", IFM_FIELD_BOOLEAN, get_inside },
    { "why", "why", IFM_FIELD_TEXT, get_why, NULL, IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* What is off by most of the model's time comes first. */
static double time_off(const IfmEvaluated *row)
{
    return isnan(row->measured_ns) ? (double)INFINITY : fabs(row->predicted_ns - row->measured_ns) * (double)row->times;
}

static gint compare_rows(gconstpointer a, gconstpointer b)
{
    const double x = time_off(*(const IfmEvaluated *const *)a), y = time_off(*(const IfmEvaluated *const *)b);
    return (x < y) - (x > y);
}

/* (transfer full) IfmEvaluated*, borrowed: whole models, or kernels */
static GPtrArray *rows_of(const IfmEvaluation *evaluation, gboolean kernels)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < evaluation->rows->len; i++)
        if ((((const IfmEvaluated *)evaluation->rows->pdata[i])->record != NULL) == kernels)
            g_ptr_array_add(rows, evaluation->rows->pdata[i]);
    if (kernels)
        g_ptr_array_sort(rows, compare_rows);
    return rows;
}

/* @what: "model" */
static void add_summary(IfmDocument *document, const GPtrArray *rows, const char *what)
{
    double sum = 0;
    gsize n = 0, n_inside = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmEvaluated *row = rows->pdata[i];
        if (isnan(row->measured_ns))
            continue;
        sum += fabs(row->predicted_ns / row->measured_ns - 1);
        n_inside += row->low_ns <= row->measured_ns && row->measured_ns <= row->high_ns;
        n++;
    }
    if (n > 0)
        ifm_document_text(
            document, "Mean error of %" G_GSIZE_FORMAT " %s%s: %.1f %%; %.0f %% in the 90 %% interval of the prediction.",
            n, what, n == 1 ? "" : "s", 100 * sum / (double)n, 100 * (double)n_inside / (double)n);
}

/* So many rows that are off most get their reason on a page. */
#define MAX_REASONS 8

static void add_reasons(IfmDocument *document, const GPtrArray *rows)
{
    guint n = 0;
    for (guint i = 0; i < rows->len && n < MAX_REASONS; i++)
    {
        const IfmEvaluated *row = rows->pdata[i];
        g_autofree char *why = ifm_evaluated_why(row);
        g_autofree char *name = row->record != NULL ? ifm_kernel_record_stem(row->record) : g_strdup(row->model);
        if (why == NULL)
            continue;
        if (isnan(row->measured_ns))
            ifm_document_note(document, name, IFM_TONE_BAD, "%s: not measured: %s", row->load, why);
        else
            ifm_document_note(document, name, IFM_TONE_WARN, "%s: off by %+.0f %%: %s", row->load,
                              100 * (row->predicted_ns / row->measured_ns - 1), why);
        n++;
    }
}

void ifm_document_alike(IfmDocument *document, const GArray *predictions)
{
    g_autoptr(GPtrArray) loads = g_ptr_array_new();
    for (guint i = 0; i < predictions->len; i++)
        for (guint k = 0; k < predictions->len; k++)
        {
            const IfmLoadPrediction *one = &g_array_index(predictions, IfmLoadPrediction, i),
                                    *other = &g_array_index(predictions, IfmLoadPrediction, k);
            if (i != k && g_str_equal(one->model, other->model) && one->predicted_ns == other->predicted_ns &&
                !g_ptr_array_find_with_equal_func(loads, one->load, g_str_equal, NULL))
                g_ptr_array_add(loads, (gpointer)one->load);
        }
    if (loads->len == 0)
        return;
    g_ptr_array_add(loads, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)loads->pdata);
    ifm_document_note(document, "note", IFM_TONE_DIM,
                      "%s: some of these are predicted alike, as a prediction knows the share of a load and not its kind, "
                      "and beside 50 %% or more on the same cores a kernel gets its half of them",
                      list);
}

static void add_alike(IfmDocument *document, const GPtrArray *models)
{
    g_autoptr(GArray) predictions = g_array_new(FALSE, FALSE, sizeof(IfmLoadPrediction));
    for (guint i = 0; i < models->len; i++)
    {
        const IfmEvaluated *row = models->pdata[i];
        const IfmLoadPrediction one = { row->model, row->load, row->predicted_ns };
        if (!isnan(row->asked))
            g_array_append_val(predictions, one);
    }
    ifm_document_alike(document, predictions);
}

static void add_scatter(IfmDocument *document, const IfmEvaluation *evaluation)
{
    IfmBlock *figure = ifm_document_predicted(document, "scatter", "Predicted over measured");
    for (guint i = 0; i < evaluation->rows->len; i++)
    {
        const IfmEvaluated *row = evaluation->rows->pdata[i];
        g_autofree char *name = row->record != NULL ? ifm_kernel_record_stem(row->record) : g_strdup(row->model),
                        *label = g_strdup_printf("%s, %s", name, row->load);
        IfmPoint point = IFM_POINT_INIT;
        point.x = row->measured_ns;
        point.y = row->predicted_ns;
        point.lower = row->low_ns;
        point.upper = row->high_ns;
        point.label = label;
        ifm_document_predicted_point(document, figure, row->record != NULL ? "kernels" : "models", &point);
    }
    ifm_document_diagonal(document, figure, "predicted = measured");
}

IfmDocument *ifm_evaluation_document(const IfmEvaluation *evaluation)
{
    IfmDocument *document = ifm_document_new("evaluation", "Predicted and measured");
    GPtrArray *models = rows_of(evaluation, FALSE), *kernels = rows_of(evaluation, TRUE);
    ifm_document_heading(document, "Models");
    if (evaluation->warning != NULL)
        ifm_document_note(document, "warning", IFM_TONE_WARN, "%s", evaluation->warning);
    add_summary(document, models, "model");
    add_scatter(document, evaluation);
    ifm_document_table(document, "models", model_fields, models);
    add_alike(document, models);
    add_reasons(document, models);
    if (kernels->len == 0)
    {
        g_ptr_array_unref(kernels);
        return document;
    }
    ifm_document_heading(document, "Kernels, those that are off by most time first");
    add_summary(document, kernels, "kernel");
    ifm_document_table(document, "kernels", kernel_fields, kernels);
    add_reasons(document, kernels);
    return document;
}
