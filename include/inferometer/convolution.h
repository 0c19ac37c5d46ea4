#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

/**
 * IfmConvAlgorithm: how a convolution is computed. The fixed ones come first; IFM_CONV_GUESS and IFM_CONV_BEST choose one
 * of them. IFM_CONV_RUNTIME leaves a layer to the runtime's own kernel: a candidate of IFM_CONV_BEST.
 */
typedef enum
{
    IFM_CONV_DIRECT,
    IFM_CONV_GEMM,
    IFM_CONV_IMPLICIT_GEMM,
    IFM_CONV_IMPLICIT_PRECOMP_GEMM,
    IFM_CONV_WINOGRAD,
    IFM_CONV_WINOGRAD_NONFUSED,
    IFM_N_CONV_FIXED,
    IFM_CONV_GUESS = IFM_N_CONV_FIXED,
    IFM_CONV_RUNTIME,
    IFM_N_CONV_ALGORITHMS
} IfmConvAlgorithm;

/** ifm_conv_algorithm_name: "direct", "implicit_gemm", …: as options, files and tables have it. */
const char *ifm_conv_algorithm_name(IfmConvAlgorithm algorithm);
/** ifm_conv_algorithm_parse: blanks and dashes count as underscores. Returns: FALSE with IFM_ERROR_INVALID and the nearest
 * name. */
gboolean ifm_conv_algorithm_parse(const char *text, IfmConvAlgorithm *algorithm, GError **error);
/** ifm_conv_algorithm_meaning: one sentence for lists of algorithms. */
const char *ifm_conv_algorithm_meaning(IfmConvAlgorithm algorithm);

IFM_END_DECLS
