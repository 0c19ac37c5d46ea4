#pragma once
#include "convolution-private.h"

/* What of oneDNN is used, over its versions 2 and 3. The library is opened at run time. */

/* conv_onednn_check: opens the library at the first call. Returns: FALSE with IFM_ERROR_UNAVAILABLE. */
gboolean conv_onednn_check(GError **error);
/* conv_onednn_fail: hands on what failed here: of its codes, unavailable and unsupported. Returns: FALSE */
gboolean conv_onednn_fail(IfmBlockedError *error, const GError *failure);
/* conv_onednn_version: "2.6.3"; NULL where the library is not there. */
const char *conv_onednn_version(void);

/* conv_onednn_product: out[m][n] = a[m][k] b[k][n], rows as long as they are wide, on this thread alone. */
void conv_onednn_product(gsize m, gsize n, gsize k, const float *a, const float *b, float *out);

/* ConvPrimitive: a direct convolution of one image, in the blocked layout. */
typedef struct ConvPrimitive ConvPrimitive;
/* conv_primitive_new: @shape: batch 1    @options: whose sum and bounds are fused where @fused
 * Returns: NULL with IFM_ERROR_UNSUPPORTED where the library has only a reference or a GEMM for this shape. */
ConvPrimitive *conv_primitive_new(const IfmConvShape *shape, const IfmConvOptions *options, gboolean fused,
                                  const float *weights, const float *bias, GError **error);
void conv_primitive_free(ConvPrimitive *primitive);
/* conv_primitive_needs: @n_bytes: (out) of workspace that its kernel for this shape asks for
 * Returns: FALSE where the library has none, or is not there. */
gboolean conv_primitive_needs(const IfmConvShape *shape, const IfmConvOptions *options, gboolean fused, gsize *n_bytes);
const char *conv_primitive_implementation(const ConvPrimitive *primitive);
gsize conv_primitive_workspace(const ConvPrimitive *primitive);
gsize conv_primitive_weights(const ConvPrimitive *primitive);
/* conv_primitive_run: on this thread alone. @scratch: [conv_primitive_workspace()] bytes */
void conv_primitive_run(const ConvPrimitive *primitive, const float *input, const float *sum, float *output,
                        float *scratch);
