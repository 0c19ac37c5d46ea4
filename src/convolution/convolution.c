/* The algorithms by name: those of blocked, of oneDNN, and those that choose one. */
#include "onednn-private.h"

#include <base/base.h>

G_STATIC_ASSERT((int)IFM_CONV_DIRECT == (int)IFM_BLOCKED_DIRECT && (int)IFM_CONV_GEMM == (int)IFM_BLOCKED_GEMM &&
                (int)IFM_CONV_IMPLICIT_GEMM == (int)IFM_BLOCKED_IMPLICIT_GEMM &&
                (int)IFM_CONV_IMPLICIT_PRECOMP_GEMM == (int)IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM &&
                (int)IFM_CONV_FFT == (int)IFM_BLOCKED_FFT && (int)IFM_CONV_FFT_TILING == (int)IFM_BLOCKED_FFT_TILING &&
                (int)IFM_CONV_WINOGRAD == (int)IFM_BLOCKED_WINOGRAD &&
                (int)IFM_CONV_WINOGRAD_NONFUSED == (int)IFM_BLOCKED_WINOGRAD_NONFUSED &&
                (int)IFM_N_CONV_FIXED == (int)IFM_N_BLOCKED_ALGORITHMS);

static const ConvAlgorithm *const rows[IFM_N_BLOCKED_ALGORITHMS] = {
    [IFM_BLOCKED_DIRECT] = &conv_direct,
    [IFM_BLOCKED_GEMM] = &conv_gemm,
};
/* That gemm needs oneDNN is said when a layer is made. */
static const ConvAlgorithm *const rows_without_onednn[IFM_N_BLOCKED_ALGORITHMS] = { [IFM_BLOCKED_GEMM] = &conv_gemm };
const ConvAlgorithm *const ifm_conv_own_rows[IFM_N_BLOCKED_ALGORITHMS] = { NULL };
static const struct
{
    const char *name, *meaning;
} choices[] = {
    { "guess", "the algorithm that a rule names from the layer's shape, without measuring" },
    { "best", "the fastest one, measured in the model once a layer shape and kept" },
    { "runtime", "the runtime's own kernel" },
};

/* --- names ------------------------------------------------------------------------------------------------------------ */

const char *ifm_conv_algorithm_name(IfmConvAlgorithm algorithm)
{
    return algorithm < IFM_N_CONV_FIXED ? ifm_blocked_algorithm_name((IfmBlockedAlgorithm)algorithm)
                                        : choices[algorithm - IFM_N_CONV_FIXED].name;
}

const char *ifm_conv_algorithm_meaning(IfmConvAlgorithm algorithm)
{
    if (algorithm >= IFM_N_CONV_FIXED)
        return choices[algorithm - IFM_N_CONV_FIXED].meaning;
    const ConvAlgorithm *row = rows[algorithm];
    return (row != NULL ? row : conv_algorithm((IfmBlockedAlgorithm)algorithm))->meaning;
}

gboolean ifm_conv_algorithm_parse(const char *text, IfmConvAlgorithm *algorithm, GError **error)
{
    const char *names[IFM_N_CONV_ALGORITHMS + 1] = { NULL };
    g_autofree char *plain = g_strdelimit(g_ascii_strdown(text, -1), " -", '_');
    for (int i = 0; i < IFM_N_CONV_ALGORITHMS; i++)
    {
        names[i] = ifm_conv_algorithm_name((IfmConvAlgorithm)i);
        if (g_str_equal(plain, names[i]))
        {
            *algorithm = (IfmConvAlgorithm)i;
            return TRUE;
        }
    }
    g_autofree char *hint = ifm_nearest_hint(plain, names), *list = g_strjoinv(", ", (char **)names);
    return hint[0] != '\0' ? ifm_error_refuse(error, "\"%s\" is not a convolution algorithm%s", text, hint)
                           : ifm_error_refuse(error, "\"%s\" is not a convolution algorithm (there are: %s)", text, list);
}

/* --- layers ----------------------------------------------------------------------------------------------------------- */

static gboolean take_error(const IfmBlockedError *from, GError **error)
{
    static const IfmErrorCode codes[] = {
        [IFM_BLOCKED_INVALID] = IFM_ERROR_INVALID,
        [IFM_BLOCKED_UNSUPPORTED] = IFM_ERROR_UNSUPPORTED,
        [IFM_BLOCKED_UNAVAILABLE] = IFM_ERROR_UNAVAILABLE,
        [IFM_BLOCKED_NO_MEMORY] = IFM_ERROR_MEMORY,
    };
    return ifm_error_set(error, codes[from->code], "%s", from->text);
}

/* @options: (nullable) */
static IfmBlockedOptions with_rows(const IfmConvOptions *options)
{
    IfmBlockedOptions all = options != NULL ? *options : (IfmBlockedOptions){ 0 };
    if (all.rows == NULL)
        all.rows = conv_onednn_check(NULL) ? rows : rows_without_onednn;
    return all;
}

gboolean ifm_conv_shape_complete(IfmConvShape *shape, GError **error)
{
    IfmBlockedError why;
    return ifm_blocked_shape_complete(shape, &why) || take_error(&why, error);
}

gboolean ifm_conv_supports(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                           const char **why)
{
    IfmBlockedError reason;
    const IfmBlockedOptions all = with_rows(options);
    const gboolean can =
        algorithm >= IFM_N_CONV_FIXED || ifm_blocked_supports(shape, (IfmBlockedAlgorithm)algorithm, &all, &reason);
    if (why != NULL)
        *why = can ? NULL : g_intern_string(reason.text);
    return can;
}

gsize ifm_conv_workspace(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options)
{
    const IfmBlockedOptions all = with_rows(options);
    return ifm_blocked_workspace(shape, (IfmBlockedAlgorithm)algorithm, &all);
}

gboolean ifm_conv_is_hopeless(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options)
{
    const IfmBlockedOptions all = with_rows(options);
    return ifm_blocked_is_hopeless(shape, (IfmBlockedAlgorithm)algorithm, &all);
}

IfmConvAlgorithm ifm_conv_guess(const IfmConvShape *shape, const IfmConvOptions *options)
{
    const IfmBlockedOptions all = with_rows(options);
    return (IfmConvAlgorithm)ifm_blocked_guess(shape, &all);
}

IfmConv *ifm_conv_new(const IfmConvShape *shape, IfmConvAlgorithm algorithm, const IfmConvOptions *options,
                      const float *weights, const float *bias, GError **error)
{
    IfmConvShape complete = *shape;
    IfmBlockedError why;
    const IfmBlockedOptions all = with_rows(options);
    if (!ifm_conv_shape_complete(&complete, error))
        return NULL;
    if (algorithm == IFM_CONV_GUESS)
        algorithm = ifm_conv_guess(&complete, options);
    if (algorithm >= IFM_N_CONV_FIXED)
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s cannot do this layer (not a fixed algorithm)",
                      ifm_conv_algorithm_name(algorithm));
        return NULL;
    }
    IfmConv *conv = ifm_blocked_conv_new(&complete, (IfmBlockedAlgorithm)algorithm, &all, weights, bias, &why);
    if (conv == NULL)
        take_error(&why, error);
    return conv;
}

IfmConvInfo ifm_conv_info(const IfmConv *conv)
{
    const IfmBlockedInfo info = ifm_blocked_conv_info(conv);
    return (IfmConvInfo){ .algorithm = (IfmConvAlgorithm)info.algorithm,
                          .implementation = info.implementation,
                          .workspace_bytes = info.workspace_bytes,
                          .weights_bytes = info.weights_bytes };
}
