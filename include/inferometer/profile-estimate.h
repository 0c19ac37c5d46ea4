/* room: profile */
#pragma once
#include <inferometer/profile.h>

IFM_BEGIN_DECLS

/* What a layer, or a whole graph transformer, costs before there is a model of it: closed forms (estimate.h) of the numbers
 * that a graph transformer is built by. */

/** IfmProfileEstimate: what is counted. */
typedef enum
{
    IFM_PROFILE_ESTIMATE_TRANSFORMER,
    IFM_PROFILE_ESTIMATE_ATTENTION,
    IFM_PROFILE_ESTIMATE_LINEAR,
    IFM_PROFILE_ESTIMATE_MPNN,
    IFM_PROFILE_ESTIMATE_FFN,
    IFM_PROFILE_ESTIMATE_ENCODING,
    IFM_PROFILE_N_ESTIMATES,
} IfmProfileEstimate;
/** ifm_profile_estimate_words: "transformer", "attention", "linear", "mpnn", "ffn", "encoding", NULL-terminated, in the
 * order of the enumeration. */
extern const char *const ifm_profile_estimate_words[];

/** IfmEstimateLine: one row of the answer. @name: static */
typedef struct
{
    const char *name;
    IfmEstimate estimate;
} IfmEstimateLine;

/** IfmEstimateStorage: bytes that something takes. @name: static */
typedef struct
{
    const char *name;
    gint64 bytes;
} IfmEstimateStorage;

/** IfmEstimateAnswer: @lines: IfmEstimateLine; of a transformer its parts, then all of it    @storage: IfmEstimateStorage
 */
typedef struct
{
    IfmProfileEstimate kind;
    IfmTransformerSizes sizes; /* of one graph */
    gint64 batch;
    GArray *lines, *storage;
} IfmEstimateAnswer;

/**
 * ifm_profile_estimate: @said: numbers that mean nothing to @kind are IFM_ERROR_USAGE
 * @batch: how many graphs of these sizes at once, 1 or more: work and what is stored are so many times one graph's, and the
 * weights are read once
 * @answer: (out) to be cleared, whatever comes back
 * Returns: FALSE with IFM_ERROR_USAGE, or with the errors of estimate.h
 */
gboolean ifm_profile_estimate(IfmProfileEstimate kind, const IfmGraphOptions *said, gint64 batch, IfmEstimateAnswer *answer,
                              GError **error);
void ifm_estimate_answer_clear(IfmEstimateAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmEstimateAnswer, ifm_estimate_answer_clear)

IFM_END_DECLS
