/* Predictions against measurements. */
#include <math.h>

#include <base/base.h>
#include <base/statistics.h>
#include <document/document.h>
#include <document/words.h>
#include <inferometer/predict.h>

#include "learn-headline.h"
#include "predict-page.h"

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
    { "error_ratio", "error", IFM_FIELD_RATIO, get_error },
    { "inside", "inside", IFM_FIELD_BOOLEAN, get_inside, .min_width = WIDE },
    { "why", "why", IFM_FIELD_TEXT, get_why, NULL, IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* A name that is shortened keeps its end, the digest: rows stay distinct. */
static const IfmField kernel_fields[] = {
    { "kernel", "kernel", IFM_FIELD_TEXT, get_kernel, .flags = IFM_FIELD_KEY },
    { "load", "load", IFM_FIELD_TEXT, ROW(load), .flags = IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "model", "model", IFM_FIELD_TEXT, ROW(model), .flags = IFM_FIELD_FOLD },
    { "times", "count", IFM_FIELD_INTEGER, ROW(times), .min_width = WIDE },
    { "measured_ns", "measured", IFM_FIELD_DURATION, ROW(measured_ns) },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, ROW(predicted_ns) },
    { "low_ns", "from", IFM_FIELD_DURATION, ROW(low_ns), .min_width = WIDE },
    { "high_ns", "to", IFM_FIELD_DURATION, ROW(high_ns), .min_width = WIDE },
    { "error_ratio", "error", IFM_FIELD_RATIO, get_error },
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

/* --- in sentences ----------------------------------------------------------------------------------------------------- */

#define LEVEL 0.9  /* of a prediction's interval */
#define RARE 0.025 /* so seldom do so few lie inside by chance: then the intervals are too narrow */

/* The chance that at most @k of @n lie inside where each does with LEVEL. */
static double chance_of_at_most(gsize k, gsize n)
{
    double sum = 0;
    for (gsize i = 0; i <= k; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) + (double)i * log(LEVEL) +
                   (double)(n - i) * log(1 - LEVEL));
    return sum;
}

char *ifm_predictions_title(gsize n, gsize n_inside)
{
    if (n == 0)
        return g_strdup("Nothing was measured that was predicted");
    if (n_inside == n)
        return g_strdup_printf("%s in its prediction's 90 %% interval",
                               n == 1 ? "What was measured lies" : "Everything that was measured lies");
    if (chance_of_at_most(n_inside, n) < RARE)
        return g_strdup_printf(
            "%zu of %zu lie in their prediction's 90 %% interval: too few by chance, the intervals are too narrow",
            n_inside, n);
    return g_strdup_printf("%zu of %zu lie in their prediction's 90 %% interval, as many as that lets expect", n_inside, n);
}

char *ifm_operator_errors_title(gsize n, const char *most, double most_ratio, const char *least, double least_ratio)
{
    g_autofree char *high = ifm_say_per_cent(most_ratio), *low = ifm_say_per_cent(least_ratio);
    if (n == 0)
        return g_strdup("No kernel was measured");
    if (n == 1)
        return g_strdup_printf("%s has a median error of %s", most, high);
    return g_strdup_printf("The median error of %s is %s, that of %s %s", most, high, least, low);
}

static double error_of(const IfmEvaluated *row)
{
    return fabs(row->predicted_ns / row->measured_ns - 1);
}

static gsize count_measured(const GPtrArray *rows, double *mean, gsize *n_inside)
{
    double sum = 0;
    gsize n = 0;
    *n_inside = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmEvaluated *row = rows->pdata[i];
        if (isnan(row->measured_ns))
            continue;
        sum += error_of(row);
        *n_inside += row->low_ns <= row->measured_ns && row->measured_ns <= row->high_ns;
        n++;
    }
    *mean = sum / (double)n;
    return n;
}

/* @what: "model" (transfer full) "" where there is none */
static char *answer_of(const GPtrArray *rows, const char *what)
{
    double mean;
    gsize n_inside, n = count_measured(rows, &mean, &n_inside);
    g_autofree char *error = ifm_say_per_cent(mean);
    if (n == 0)
        return g_strdup("");
    return g_strdup_printf("Mean error of %zu %s%s: %s; %zu lie%s in the 90 %% interval of the prediction.", n, what,
                           ifm_plural(n), error, n_inside, n_inside == 1 ? "s" : "");
}

/* --- error by operator ------------------------------------------------------------------------------------------------ */

#define MAX_OPERATORS 24 /* rows of a figure, those of most kernels */

/* Operator: the errors of its kernels, sorted. */
typedef struct
{
    const char *name;
    GArray *errors; /* double */
} Operator;

static void operator_clear(gpointer data)
{
    g_array_unref(((Operator *)data)->errors);
}

static gint compare_operators(gconstpointer a, gconstpointer b)
{
    const Operator *one = a, *other = b;
    return (one->errors->len < other->errors->len) - (one->errors->len > other->errors->len);
}

/* (transfer full) Operator, those of most kernels first */
static GArray *operators_of(const GPtrArray *kernels)
{
    GArray *operators = g_array_new(FALSE, FALSE, sizeof(Operator));
    g_array_set_clear_func(operators, operator_clear);
    for (guint i = 0; i < kernels->len; i++)
    {
        const IfmEvaluated *row = kernels->pdata[i];
        guint at = 0;
        if (isnan(row->measured_ns))
            continue;
        while (at < operators->len && !g_str_equal(g_array_index(operators, Operator, at).name, row->record->name))
            at++;
        const Operator fresh = { row->record->name, NULL };
        if (at == operators->len)
        {
            g_array_append_val(operators, fresh);
            g_array_index(operators, Operator, at).errors = g_array_new(FALSE, FALSE, sizeof(double));
        }
        const double error = error_of(row);
        g_array_append_val(g_array_index(operators, Operator, at).errors, error);
    }
    g_array_sort(operators, compare_operators);
    return operators;
}

static void add_operator_errors(IfmDocument *document, const GPtrArray *kernels)
{
    g_autoptr(GArray) operators = operators_of(kernels);
    const Operator *most = NULL, *least = NULL;
    double most_ratio = -1, least_ratio = INFINITY;
    IfmBlock *block =
        ifm_document_page_figure(document, "operator_errors", IFM_FIGURE_STRIPS, "",
                                 "Error of the prediction by operator: the median kernel, and the range of all.");
    block->figure.half = TRUE;
    block->figure.y = ifm_axis("predicted off measured", IFM_FIELD_RATIO);
    block->figure.y.low = 0;
    IfmSeries *series = ifm_document_series(document, block, NULL, NULL);
    for (guint i = 0; i < MIN(operators->len, MAX_OPERATORS); i++)
    {
        const Operator *one = &g_array_index(operators, Operator, i);
        double *sorted = (double *)(void *)one->errors->data;
        ifm_sort_doubles(sorted, one->errors->len);
        IfmPoint point = IFM_POINT_INIT;
        point.label = one->name;
        point.y = ifm_quantile(sorted, one->errors->len, 0.5);
        point.min = sorted[0];
        point.max = sorted[one->errors->len - 1];
        ifm_document_point(document, series, &point);
        most = point.y > most_ratio ? one : most;
        least = point.y < least_ratio ? one : least;
        most_ratio = fmax(most_ratio, point.y);
        least_ratio = fmin(least_ratio, point.y);
    }
    block->figure.title = ifm_document_take_text(
        document, ifm_operator_errors_title(operators->len, most != NULL ? most->name : NULL, most_ratio,
                                            least != NULL ? least->name : NULL, least_ratio));
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
            ifm_document_note(document, name, IFM_TONE_WARN, "%s: error %+.0f %%: %s", row->load,
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
    double mean;
    gsize n_inside, n = count_measured(evaluation->rows, &mean, &n_inside);
    if (n < 2)
        return; /* one point says no more than its row */
    g_autofree char *title = ifm_predictions_title(n, n_inside);
    IfmBlock *figure = ifm_document_predicted(document, "scatter", title);
    figure->figure.half = TRUE;
    for (guint i = 0; i < evaluation->rows->len; i++)
    {
        const IfmEvaluated *row = evaluation->rows->pdata[i];
        if (isnan(row->measured_ns))
            continue;
        g_autofree char *name = row->record != NULL ? ifm_kernel_record_stem(row->record) : g_strdup(row->model),
                        *label = g_strdup_printf("%s, %s", name, row->load);
        ifm_document_predicted_point(document, figure, row->record != NULL ? "kernels" : "models", label, row->measured_ns,
                                     row->predicted_ns, row->low_ns, row->high_ns);
    }
    ifm_document_diagonal(document, figure, "predicted = measured");
}

IfmDocument *ifm_evaluation_document(const IfmEvaluation *evaluation)
{
    IfmDocument *document = ifm_document_new("evaluation", "Predicted and measured");
    ifm_evaluation_add_headline(document, evaluation);
    GPtrArray *models = rows_of(evaluation, FALSE), *kernels = rows_of(evaluation, TRUE);
    g_autofree char *of_models = answer_of(models, "model"), *of_kernels = answer_of(kernels, "kernel");
    ifm_document_question(document, "Was the prediction right?", NULL);
    ifm_document_text(document, "%s%s%s", of_models, *of_models != '\0' && *of_kernels != '\0' ? " " : "", of_kernels);
    add_scatter(document, evaluation);
    add_operator_errors(document, kernels);
    if (models->len > 0 || kernels->len == 0) /* of records there are kernels alone */
        ifm_document_heading(document, "Models");
    if (models->len > 0 || kernels->len == 0)
        ifm_document_table(document, "models", model_fields, models);
    add_alike(document, models);
    add_reasons(document, models);
    if (kernels->len == 0)
    {
        g_ptr_array_unref(kernels);
        return document;
    }
    const guint from = document->sections->len;
    ifm_document_heading(document, "Kernels, the largest error of time first");
    ifm_document_table(document, "kernels", kernel_fields, kernels);
    add_reasons(document, kernels);
    ifm_document_close_from(document, from);
    return document;
}
