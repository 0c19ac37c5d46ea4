#include <math.h>

#include <base/statistics.h>
#include <document/summary.h>
#include <document/words.h>

#include "learn-headline.h"

/* What a latency model, a prediction by it and its evaluation come to, and how far each may be trusted. */

#define NAMED 3          /* models in a sentence */
#define MOSTLY_KNOWN 0.9 /* of the time: so much is to be of operators and sizes that were learnt … */
#define LITTLE_KNOWN 0.5 /* … and with less than that it is mostly a guess */
#define WIDE 10          /* high / low: an interval as wide as that says nothing to act on */
#define FEW 20           /* of so many an interval of 90 % holds 18: of fewer its share says little */

/* Whether so many within their intervals are as many as these are to hold. */
static void check_coverage(IfmDocument *document, gsize n_inside, gsize n, const char *what)
{
    const IfmInterval share = ifm_binomial_interval(n_inside, n, 0.95);
    g_autofree char *aim = ifm_say_per_cent(IFM_LEARN_COVERAGE), *least = ifm_say_per_cent(share.lower),
                    *most = ifm_say_per_cent(share.upper);
    if (n == 0)
        return;
    ifm_document_check(document, share.upper < IFM_LEARN_COVERAGE ? IFM_TRUST_CARE : IFM_TRUST_GOOD,
                       "%zu of %zu %s are within their %s interval (the share of all: %s to %s, with 95 %% confidence)%s",
                       n_inside, n, what, aim, least, most,
                       share.upper < IFM_LEARN_COVERAGE ? ": the intervals are too narrow" : "");
    if (n < FEW)
        ifm_document_check(document, IFM_TRUST_CARE, "%zu %s: too few to know the error well", n, what);
}

/* --- a prediction -------------------------------------------------------------------------------------------------------
 */

static void check_prediction(IfmDocument *document, const IfmPredictReport *report)
{
    const double known = report->prediction->known_ratio;
    g_autofree char *share = ifm_say_per_cent(known),
                    *range = ifm_say_durations(report->prediction->low_ns, report->prediction->high_ns);
    ifm_document_check(document,
                       known < LITTLE_KNOWN   ? IFM_TRUST_BAD
                       : known < MOSTLY_KNOWN ? IFM_TRUST_CARE
                                              : IFM_TRUST_GOOD,
                       "%s%s of the time of %s is of operators and sizes that were learnt; %zu of %u kernels are not",
                       report->prediction->n_unknown > 0 ? "at least " : "", share, report->records->model,
                       report->prediction->n_unknown, report->prediction->kernels->len);
    if (report->prediction->high_ns > WIDE * report->prediction->low_ns)
        ifm_document_check(document, IFM_TRUST_BAD, "the interval of %s is from %s: what was learnt does not tell its time",
                           report->records->model, range);
    if (report->warning != NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", report->warning);
    ifm_document_check(document, IFM_TRUST_UNCHECKED, "predicted by kernels; nothing was measured");
}

static void say_prediction(IfmDocument *document, const IfmPredictReport *report, gsize n)
{
    const IfmModelPrediction *prediction = report->prediction;
    g_autofree char *latency = ifm_say_duration(prediction->latency_ns), *measured = ifm_say_duration(report->measured_ns),
                    *range = ifm_say_durations(prediction->low_ns, prediction->high_ns),
                    *off = ifm_say_per_cent(fabs(prediction->latency_ns / report->measured_ns - 1)),
                    *least = ifm_say_duration(prediction->critical_ns);
    const gboolean is_within = prediction->low_ns <= report->measured_ns && report->measured_ns <= prediction->high_ns;
    if (isnan(report->measured_ns))
        ifm_document_verdict(document, "%s is predicted to take %s %s, %s in 9 of 10 cases%s", report->records->model,
                             latency, report->load, range, n > 1 ? ", the longest of those asked for" : "");
    else
        ifm_document_verdict(document, "%s took %s, %s the predicted %s: an error of %s", report->records->model, measured,
                             is_within ? "within" : "outside", range, off);
    ifm_document_verdict_more(document, "The longest path of kernels that wait for each other is predicted to take %s",
                              least);
    if (isfinite(report->measured_ns))
        ifm_document_estimate(document, &(IfmVerdictRange){ prediction->latency_ns, prediction->low_ns, prediction->high_ns,
                                                            report->measured_ns, TRUE, IFM_FIELD_DURATION, "measured",
                                                            "predicted shorter", "predicted longer" });
}

void ifm_predict_add_headline(IfmDocument *document, const IfmPredictReport *reports, gsize n)
{
    const IfmPredictReport *longest = NULL;
    gsize n_failed = 0;
    for (gsize i = 0; i < n; i++)
    {
        const IfmPredictReport *report = &reports[i];
        n_failed += report->prediction == NULL;
        if (report->prediction == NULL)
            continue;
        longest = longest == NULL || report->prediction->latency_ns > longest->prediction->latency_ns ? report : longest;
        check_prediction(document, report);
        g_autofree char *value = ifm_say_duration(report->prediction->latency_ns),
                        *range = ifm_say_durations(report->prediction->low_ns, report->prediction->high_ns);
        if (i < NAMED)
            ifm_document_tile(document, &(IfmTile){ report->records->model, value, range, NAN });
    }
    ifm_document_check_count(document, IFM_TRUST_CARE, n_failed, n, "could not be opened");
    if (longest == NULL)
        return;
    const IfmKernelRecords *records = longest->records;
    const IfmLatencyModelInfo *place = longest->place;
    const char *device = place != NULL ? place->device : records->device;
    g_autofree char *command = ifm_kernel_records_command(records, "profile", "-d", device, NULL);
    ifm_document_subject(document, "%s · %s", records->model, device);
    say_prediction(document, longest, n);
    if (isnan(longest->measured_ns))
        ifm_document_next(document, command, NULL, "Measure it%s", place != NULL ? " on that machine" : "");
    ifm_document_provenance(document, "device", "%s", device);
    ifm_document_provenance(document, "runtime", "%s", place != NULL ? place->runtime : records->runtime);
    ifm_document_provenance(document, place != NULL ? "machine" : "CPU", "%s",
                            place != NULL ? place->machine : records->processor);
    ifm_document_provenance(document, "load", "%s", longest->load);
}

/* --- an evaluation ------------------------------------------------------------------------------------------------------
 */

/* Errors of rows: of whole models, or of kernels where no model was measured. */
typedef struct
{
    gsize n, n_inside, n_missing;
    double sum;
    const IfmEvaluated *worst;
} Errors;

static double error_of(const IfmEvaluated *row)
{
    return fabs(row->predicted_ns / row->measured_ns - 1);
}

static Errors errors_of(const GPtrArray *rows, gboolean kernels)
{
    Errors errors = { 0 };
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmEvaluated *row = rows->pdata[i];
        if ((row->record != NULL) != kernels)
            continue;
        errors.n_missing += isnan(row->measured_ns);
        if (isnan(row->measured_ns))
            continue;
        errors.n++;
        errors.sum += error_of(row);
        errors.n_inside += row->low_ns <= row->measured_ns && row->measured_ns <= row->high_ns;
        errors.worst = errors.worst == NULL || error_of(row) > error_of(errors.worst) ? row : errors.worst;
    }
    return errors;
}

static void say_worst(IfmDocument *document, const Errors *errors)
{
    const double mean = errors->sum / (double)errors->n,
                 without = errors->n > 1 ? (errors->sum - error_of(errors->worst)) / (double)(errors->n - 1) : (double)NAN;
    g_autofree char *why = ifm_evaluated_why(errors->worst), *off = ifm_say_per_cent(error_of(errors->worst)),
                    *less = ifm_say_per_cent(without), *now = ifm_say_per_cent(mean),
                    *gain = isfinite(without) ? g_strdup_printf("without it the MAPE is %s, not %s", less, now) : NULL;
    const char *model = errors->worst->model;
    const IfmKernelRecords *records = errors->worst->records;
    g_autofree char *command =
        records != NULL ? ifm_kernel_records_command(records, "kernels extract", "-o", "kernels", NULL) : NULL;
    if (why != NULL)
        ifm_document_next(document, command, gain, "Learn from the largest error, that of %s, %s: %s", model, off, why);
}

void ifm_evaluation_add_headline(IfmDocument *document, const IfmEvaluation *evaluation)
{
    const Errors models = errors_of(evaluation->rows, FALSE), kernels = errors_of(evaluation->rows, TRUE);
    const Errors *told = models.n > 0 ? &models : &kernels;
    const char *of = told == &models ? "model" : "kernel";
    g_autofree char *what =
        told->n == 1 ? g_strdup_printf("prediction of a %s", of) : g_strdup_printf("predictions of %ss", of);
    const gsize n_missing = models.n_missing + kernels.n_missing;
    g_autofree char *mean = ifm_say_per_cent(told->sum / (double)told->n),
                    *of_kernels = ifm_say_per_cent(kernels.sum / (double)kernels.n);
    ifm_document_subject(document, "predicted and measured · %u latenc%s", evaluation->rows->len,
                         evaluation->rows->len == 1 ? "y" : "ies");
    ifm_document_check_count(document, IFM_TRUST_CARE, n_missing, evaluation->rows->len, "could not be measured");
    if (evaluation->n_dropped > 0)
        ifm_document_check(document, IFM_TRUST_CARE,
                           "%" G_GINT64_FORMAT " kernel%s left out, which cannot be measured alone (%s)",
                           evaluation->n_dropped, evaluation->n_dropped == 1 ? " is" : "s are", evaluation->why_dropped);
    if (evaluation->warning != NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", evaluation->warning);
    for (guint i = 0; evaluation->records != NULL && i < evaluation->records->len; i++)
    {
        const IfmKernelRecords *records = evaluation->records->pdata[i];
        if (records->reason != NULL)
            continue;
        ifm_document_provenance(document, "device", "%s", records->device);
        ifm_document_provenance(document, "runtime", "%s", records->runtime);
        ifm_document_provenance(document, "CPU", "%s", records->processor);
    }
    if (told->n == 0)
    {
        ifm_document_verdict(document, "Nothing was measured: the predictions stay untested");
        return;
    }
    if (told->n == 1)
        ifm_document_verdict(document, "The %s has an error of %s, and what was measured lies %s its interval", what, mean,
                             told->n_inside > 0 ? "within" : "outside");
    else
        ifm_document_verdict(document, "%zu %s have a MAPE of %s, and %zu lie within their interval", told->n, what, mean,
                             told->n_inside);
    if (told == &models && kernels.n > 0)
        ifm_document_verdict_more(document, "Of their %zu kernels, each by itself, it is %s", kernels.n, of_kernels);
    check_coverage(document, told->n_inside, told->n, what);
    if (told->sum > (double)told->n)
        ifm_document_check(document, IFM_TRUST_BAD, "%s: an error of over 100 %% is no prediction", mean);
    ifm_document_tile(document, &(IfmTile){ told->n == 1 ? "error" : "MAPE", mean, what, NAN });
    say_worst(document, told);
}

/* --- a latency model ----------------------------------------------------------------------------------------------------
 */

/* The model's own errors of the first protocol: over all rows. NULL: it was not evaluated. */
static const IfmLearnError *own_error(const IfmLatencyModelInfo *info)
{
    for (guint i = 0; i < info->errors->len; i++)
        if (g_str_equal(((const IfmLearnError *)info->errors->pdata[i])->method, info->method))
            return info->errors->pdata[i];
    return NULL;
}

/* The baseline with the least mean error on the same rows; NULL: there is none. */
static const IfmLearnError *best_baseline(const IfmLatencyModelInfo *info, const IfmLearnError *own)
{
    const IfmLearnError *best = NULL;
    for (guint i = 0; i < info->errors->len; i++)
    {
        const IfmLearnError *error = info->errors->pdata[i];
        const gboolean is_rival = !g_str_equal(error->method, info->method) && !g_str_equal(error->method, "metrics") &&
                                  !g_str_equal(error->method, "share alone") &&
                                  g_str_equal(error->protocol, own->protocol) && g_str_equal(error->part, own->part);
        best = is_rival && (best == NULL || error->mape < best->mape) ? error : best;
    }
    return best;
}

static void say_errors(IfmDocument *document, const IfmLearnError *own, const IfmLearnError *rival)
{
    g_autofree char *mean = ifm_say_per_cent(own->mape), *noise = ifm_say_per_cent(own->noise),
                    *other = ifm_say_per_cent(rival != NULL ? rival->mape : (double)NAN);
    ifm_document_verdict(document, "Latencies of kernels that it was not trained on are predicted with a MAPE of %s", mean);
    if (rival != NULL)
        ifm_document_verdict_more(document, "%s; the best baseline, %s, has %s on the same %" G_GINT64_FORMAT " rows",
                                  own->protocol, rival->method, other, own->n);
    if (rival != NULL && rival->mape <= own->mape)
        ifm_document_check(document, IFM_TRUST_CARE,
                           "the baseline %s has a MAPE of %s, the model one of %s: it is worth nothing", rival->method,
                           other, mean);
    if (isfinite(own->noise))
        ifm_document_check(document, IFM_TRUST_GOOD, "two repetitions of one kernel differ by %s: no model does better",
                           noise);
    else
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "no kernel was measured twice: the noise is not known");
    if (isfinite(own->covered))
        check_coverage(document, (gsize)own->n_covered, (gsize)own->n, "rows");
    ifm_document_tile(document, &(IfmTile){ "MAPE", mean, own->protocol, NAN });
}

void ifm_train_add_headline(IfmDocument *document, const IfmLatencyModelInfo *info)
{
    const IfmLearnError *own = own_error(info);
    const struct
    {
        const char *name, *text;
    } facts[] = { { "data", info->data },
                  { "machine", info->machine },
                  { "runtime", info->runtime },
                  { "device", info->device },
                  { "level", info->level } };
    ifm_document_subject(document, "%" G_GINT64_FORMAT " trees · %" G_GINT64_FORMAT " kernels · %" G_GINT64_FORMAT " rows",
                         info->n_trees, info->n_kernels, info->n_rows);
    if (own != NULL)
        say_errors(document, own, best_baseline(info, own));
    else
    {
        ifm_document_verdict(document, "Learnt from %" G_GINT64_FORMAT " kernels; how well it predicts is not known",
                             info->n_kernels);
        ifm_document_check(document, IFM_TRUST_CARE, "it was not evaluated on what was left out of the training");
    }
    if (info->n_disturbed > 0)
        ifm_document_check(document, IFM_TRUST_BAD,
                           "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " rows were disturbed while they were measured",
                           info->n_disturbed, info->n_rows);
    else if (info->n_left_out > 0)
        ifm_document_check(document, IFM_TRUST_CARE,
                           info->n_left_out == 1
                               ? "%" G_GINT64_FORMAT " row was left out: it was disturbed while it was measured"
                               : "%" G_GINT64_FORMAT " rows were left out: they were disturbed while they were measured",
                           info->n_left_out);
    if (info->n_dropped > 0)
        ifm_document_check(document, IFM_TRUST_CARE, "%" G_GINT64_FORMAT " rows under load were left out", info->n_dropped);
    for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
        ifm_document_provenance(document, facts[i].name, "%s", facts[i].text);
    ifm_document_provenance(document, "seed", "%" G_GINT64_FORMAT, info->seed);
}
