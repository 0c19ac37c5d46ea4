/* Shared with other rooms: predictions under load. */
#pragma once
#include <document/document.h>

G_BEGIN_DECLS

/* IfmLoadPrediction: of a model under a load, in words. */
typedef struct
{
    const char *model, *load;
    double predicted_ns;
} IfmLoadPrediction;
/** ifm_document_alike: Loads of one model with one prediction look like a mistake: a note says why. @predictions:
 * IfmLoadPrediction */
void ifm_document_alike(IfmDocument *document, const GArray *predictions);

/* Titles of figures (evaluate-page.c, train-page.c), (transfer full). ifm_train_title: mean errors of the trees and of
 * the best baseline, or NULL. ifm_predictions_title: of @n measured, those in the interval of
 * their prediction. ifm_operator_errors_title: of @n operators, with the largest and the smallest median error */
char *ifm_train_title(const char *protocol, const char *part, double own, const char *baseline, double best);
char *ifm_predictions_title(gsize n, gsize n_inside);
char *ifm_operator_errors_title(gsize n, const char *most, double most_ratio, const char *least, double least_ratio);

G_END_DECLS
