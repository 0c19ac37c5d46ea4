/* room: report */
#pragma once
#include <inferometer/conv-predict.h>
#include <inferometer/document.h>
#include <inferometer/evaluate.h>
#include <inferometer/model-predict.h>

IFM_BEGIN_DECLS

/** IfmPredictReport: all borrowed. @load: in words, "idle", "60 % on the same cores"    @measured_ns: NaN: not measured
 * @warning: of the latency model, or NULL    @place: what the latency model says of the machine that it predicts for, where
 * that is not this one; NULL: it is this one */
typedef struct
{
    const IfmKernelRecords *records;
    const IfmModelPrediction *prediction;
    const char *load, *warning;
    double measured_ns;
    const IfmLatencyModelInfo *place;
} IfmPredictReport;

/** ifm_predict_document: (transfer full) of each model its latency with its interval, what is known of it, and its kernels
 * by operator and by share. Borrows @reports: [n] */
IfmDocument *ifm_predict_document(const IfmPredictReport *reports, gsize n);

/** ifm_predictions_to_json: (transfer full) the same with every kernel: docs/formats.md, "A prediction of kernels". */
json_t *ifm_predictions_to_json(const IfmPredictReport *reports, gsize n);

/** ifm_evaluation_document: (transfer full) whole models, kernels by how far they are off, and a figure of predicted over
 * measured. Borrows @evaluation. */
IfmDocument *ifm_evaluation_document(const IfmEvaluation *evaluation);

/** ifm_conv_prediction_document: (transfer full) a table of the predictions, "predictions", and of each device the
 * algorithm to take. Borrows @predictions: of ifm_conv_predict(), of @model and @size */
IfmDocument *ifm_conv_prediction_document(const GArray *predictions, const char *model, gint64 size);

IFM_END_DECLS
