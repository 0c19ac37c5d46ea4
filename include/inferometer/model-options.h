/* room: onnx */
#pragma once
#include <inferometer/onnx.h>
#include <inferometer/options.h>

IFM_BEGIN_DECLS

/** IfmModelOptions: how a model is opened, wherever one is named. Zeros are the defaults. */
typedef struct
{
    gint64 batch;              /* inputs at once; 0: as the model is */
    const char *const *dims;   /* "N=8", "*=1" */
    const char *const *inputs; /* "image=a.npy", "rate=16000", "ids=0..1000": what inputs are fed; the others are seeded */
    gboolean samples;          /* a file may have several samples for a model that takes one at once: the first is fed */
    gboolean allow_outside_data; /* external data may lie behind symbolic links that leave the model's folder */
} IfmModelOptions;
extern const IfmOption ifm_model_options[]; /* IfmModelOptions */

IFM_END_DECLS
