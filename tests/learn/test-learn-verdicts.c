#include <math.h>
#include <string.h>

#include <document/document.h>
#include <inferometer/predict.h>
#include <learn/learn-headline.h>

#include "document/summary-line.h"

/* Each way that the rules of verdicts can fall: of latency models, their predictions and evaluations. */

static void test_train(void)
{
    static const struct
    {
        double own, other, noise;
        gint64 n_covered;
        const char *wanted[4];
    } rows[] = {
        { 0.05,
          0.2,
          0.03,
          90,
          { "are predicted with a MAPE of 5 % | held out; the best baseline, linear, has 20 %",
            "| good:", "good two repetitions of one kernel differ by 3 %", "good 90 of 100 rows are within their 90 %" } },
        { 0.2, 0.05, 0.03, 90, { "care the baseline linear has a MAPE of 5 %, the model one of 20 %" } },
        { 0.05, 0.2, NAN, 90, { "unchecked no kernel was measured twice" } },
        { 0.05, 0.2, 0.03, 50, { "care 50 of 100 rows are within their 90 % interval", ": the intervals are too narrow" } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmLearnError errors[] = { { (char *)"held out", (char *)"chosen", (char *)"all", 100, rows[i].n_covered,
                                     rows[i].own, 0, 0, 0, (double)rows[i].n_covered / 100, rows[i].noise },
                                   { (char *)"held out", (char *)"linear", (char *)"all", 100, 0, rows[i].other, 0, 0, 0,
                                     NAN, NAN },
                                   { (char *)"other", (char *)"flop", (char *)"all", 100, 0, 0.001, 0, 0, 0, NAN, NAN } };
        g_autoptr(GPtrArray) all = g_ptr_array_new();
        for (gsize k = 0; k < G_N_ELEMENTS(errors); k++)
            g_ptr_array_add(all, &errors[k]);
        const IfmLatencyModelInfo info = {
            .method = "chosen", .data = "a.csv", .machine = "", .runtime = "", .device = "", .level = "", .errors = all
        };
        IfmDocument *document = ifm_document_new("model", "model");
        ifm_train_add_headline(document, &info);
        g_autofree char *line = summary_line(document);
        assert_line(line, (const char *const[]){ rows[i].wanted[0], rows[i].wanted[1], rows[i].wanted[2], rows[i].wanted[3],
                                                 NULL });
    }
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    const IfmLatencyModelInfo info = { .method = "chosen",
                                       .data = "a.csv",
                                       .machine = "",
                                       .runtime = "",
                                       .device = "",
                                       .level = "",
                                       .errors = none,
                                       .n_kernels = 9 };
    IfmDocument *document = ifm_document_new("model", "model");
    ifm_train_add_headline(document, &info);
    g_autofree char *line = summary_line(document);
    assert_line(line, (const char *const[]){ "Learnt from 9 kernels; how well it predicts is not known",
                                             "care it was not evaluated", NULL });
}

static void test_predict(void)
{
    static const struct
    {
        double known, measured;
        const char *warning;
        const char *wanted[3];
        double high_ns; /* 0: 12 ms */
    } rows[] = {
        { 1, NAN, NULL, { "bad the interval of m is from 9.00 ms to 1.00 s", "; this is not to be trusted" }, 1e9 },
        { 1,
          NAN,
          NULL,
          { "m is predicted to take 10.0 ms on an idle machine, 9.00 to 12.0 ms in 9 of 10 cases | ", "| good: good 100 %",
            "Measure it (): inferometer profile m -d onnxruntime:CPU;" } },
        { 0.8, NAN, NULL, { "care at least 80 % of the time of m is of operators and sizes that were learnt" } },
        { 0.3, NAN, NULL, { "bad at least 30 % of the time", "; this is not to be trusted" } },
        { 1, NAN, "another machine", { "care another machine;" } },
        { 1, 11e6, NULL, { "m took 11.0 ms, within the predicted 9.00 to 12.0 ms: an error of 9 %", "!Measure it" } },
        { 1, 20e6, NULL, { "m took 20.0 ms, outside the predicted 9.00 to 12.0 ms: an error of 50 %" } },
    };
    IfmKernelRecords records = { .model = (char *)"m",
                                 .source = (char *)"zoo:m",
                                 .device = (char *)"onnxruntime:CPU",
                                 .runtime = (char *)"r",
                                 .processor = (char *)"p" };
    g_autoptr(GArray) kernels = g_array_new(FALSE, TRUE, sizeof(IfmPredictedKernel));
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const IfmModelPrediction prediction = { .kernels = kernels,
                                                .latency_ns = 10e6,
                                                .low_ns = 9e6,
                                                .high_ns = rows[i].high_ns > 0 ? rows[i].high_ns : 12e6,
                                                .known_ratio = rows[i].known,
                                                .n_unknown = rows[i].known < 1 };
        const IfmPredictReport report = { &records,        &prediction,      "on an idle machine",
                                          rows[i].warning, rows[i].measured, NULL };
        IfmDocument *document = ifm_document_new("prediction", "m");
        ifm_predict_add_headline(document, &report, 1);
        g_autofree char *line = summary_line(document);
        assert_line(line, (const char *const[]){ rows[i].wanted[0], rows[i].wanted[1], rows[i].wanted[2], NULL });
    }
}

static double predicted_ns = 1.1e6; /* of what takes 1 ms */

/* @n: models, of which so many are within their interval and so many were not measured */
static char *evaluation_line(gsize n, gsize n_inside, gsize n_missing, gboolean kernels)
{
    static const IfmKernelRecord record;
    static const IfmKernelRecords records = { .model = (char *)"m", .source = (char *)"zoo:m" };
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < n; i++)
    {
        IfmEvaluated *row = g_new0(IfmEvaluated, 1);
        *row = (IfmEvaluated){ .model = (char *)"m",
                               .records = &records,
                               .load = (char *)"idle",
                               .record = kernels ? &record : NULL,
                               .times = 1,
                               .measured_ns = i < n_missing ? (double)NAN : 1e6,
                               .predicted_ns = predicted_ns,
                               .low_ns = i < n_inside ? 0.9e6 : 1.05e6,
                               .high_ns = 1.2e6,
                               .asked = NAN,
                               .achieved = NAN };
        g_ptr_array_add(rows, row);
    }
    const IfmEvaluation evaluation = { .rows = rows };
    IfmDocument *document = ifm_document_new("evaluation", "m");
    ifm_evaluation_add_headline(document, &evaluation);
    return summary_line(document);
}

static void test_evaluate(void)
{
    g_autofree char *good = evaluation_line(40, 36, 0, FALSE), *narrow = evaluation_line(40, 10, 0, FALSE),
                    *few = evaluation_line(3, 3, 0, FALSE), *missing = evaluation_line(2, 0, 2, FALSE),
                    *kernels = evaluation_line(30, 30, 1, TRUE), *one = evaluation_line(1, 1, 0, FALSE),
                    *outside = evaluation_line(1, 0, 0, TRUE);
    assert_line(one, (const char *const[]){
                         "The prediction of a model has an error of 10 %, and what was measured lies within its interval",
                         "care 1 prediction of a model: too few to know the error well;", NULL });
    assert_line(outside, (const char *const[]){
                             "The prediction of a kernel has an error of 10 %, and what was measured lies outside", NULL });
    predicted_ns = 3e6;
    g_autofree char *far = evaluation_line(40, 36, 0, FALSE);
    predicted_ns = 1.1e6;
    assert_line(far, (const char *const[]){ "; this is not to be trusted",
                                            "bad 200 %: an error of over 100 % is no prediction", NULL });
    assert_line(good,
                (const char *const[]){ "40 predictions of models have a MAPE of 10 %, and 36 lie within their interval",
                                       "| good:", NULL });
    assert_line(narrow, (const char *const[]){ "care 10 of 40", ": the intervals are too narrow", NULL });
    assert_line(few, (const char *const[]){ "care 3 predictions of models: too few to know the error well;", NULL });
    assert_line(missing, (const char *const[]){ "Nothing was measured: the predictions stay untested",
                                                "care 2 of 2 could not", NULL });
    assert_line(kernels, (const char *const[]){ "29 predictions of kernels have a MAPE of 10 %",
                                                "care 1 of 30 could not be measured;", NULL });
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/learn-verdicts/train", test_train);
    g_test_add_func("/learn-verdicts/predict", test_predict);
    g_test_add_func("/learn-verdicts/evaluate", test_evaluate);
    return g_test_run();
}
