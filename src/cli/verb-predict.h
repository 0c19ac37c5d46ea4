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

/* cli_latency_model: Reads a latency model, for one machine. @device: as of the command line: whose runtime makes kernels;
 * or the name of a machine that it was learnt on, or the file that describes another: then (out) the runtime that there is
 * where none is named. Returns: (transfer full) NULL with an error. */
IfmLatencyModel *cli_latency_model(const char *path, const char **device, GError **error);

/* cli_predict: Predicts and answers. Returns: an exit status. */
int cli_predict(const Arguments *arguments, const PredictAsk *ask);
