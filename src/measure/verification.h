#pragma once
#include "measure-private.h"
#include "spread.h"

G_BEGIN_DECLS

/* What a reference holds of an output. @allowed, @figures: of ifm_spread_finish(); n_runs is 0 without disturbed runs. */
typedef struct
{
    char *name;
    IfmTensor tensor, allowed;
    IfmSpreadFigures figures;
    double root_mean_square;
    gboolean not_finite; /* the model itself gives NaN or infinities there */
    gboolean is_drawn;   /* it follows from random numbers, which nothing else draws again */
    char *unexpected;    /* how it differs from what is expected of the model; NULL: it does not */
} IfmReferenceOutput;

struct IfmReference
{
    IfmTensorFile *file; /* NULL: the tensors' own */
    gsize n;
    IfmReferenceOutput *outputs; /* [n] tensors of the file borrowed */
    json_t *facts;               /* how it was made; NULL: not known */
};

/** IfmReferenceProgress: @enter: told of each phase, and how many compiles and runs it makes without a word in between */
typedef struct
{
    void (*enter)(const char *phase, int n_steps, void *user);
    void *user;
} IfmReferenceProgress;

/**
 * ifm_reference_make: Computes what is right for a case and what it may be off by, on ONNX Runtime's CPU without graph
 * optimisation: the model in exact arithmetic (reference-model.h), and its disturbed runs (spread.h).
 * @engine: ONNX Runtime    @progress: nullable    @path: of the file, for ifm_reference_open()
 * Returns: FALSE where the model itself does not run there.
 */
gboolean ifm_reference_make(IfmEngine *engine, const IfmModelCase *model_case, const IfmReferenceProgress *progress,
                            const char *path, GError **error);

G_END_DECLS
