#pragma once
#include <inferometer/predict.h>

#include "cli.h"

/* PredictAsk: what is to be predicted of the models of the command line. @load: NULL: an idle machine. @info: of the
 * machine that was learnt, where this may be another; NULL: it is this one */
typedef struct
{
    const IfmLatencyModel *model;
    const char *device; /* whose runtime makes kernels of the models */
    int threads;
    guint32 seed;
    const IfmLoadState *load;
    const char *load_words;
    const IfmLatencyModelInfo *info;
} PredictAsk;

/* cli_predict: Predicts and answers. Returns: an exit status. */
int cli_predict(const Arguments *arguments, const PredictAsk *ask);
