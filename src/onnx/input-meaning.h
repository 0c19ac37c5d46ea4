#pragma once
#include "onnx-private.h"

G_BEGIN_DECLS

/** IfmInputMeaning: what plausible values of an input are: from [low, high), or fixed ones.
 * @fixed: [n_fixed] element i is fixed[i], those beyond the last are as the last; 0: drawn */
typedef struct
{
    double low, high;
    gint64 fixed[IFM_MAX_RANK];
    gsize n_fixed;
} IfmInputMeaning;

/** ifm_onnx_input_meaning: Pictures (rank 4 with 1, 3 or 4 channels, read by a convolution) are from [0, 1), in integers
 * from 0 to 255. Places that an operator looks up are within what it looks them up in (token ids within the vocabulary at
 * Gather), masks are 1, and numbers that steer an operator (axes, shapes, counts, lengths) are such that it accepts them.
 * Else floats are from [-1, 1), integers 0 or 1.
 * @shape: [rank] of the port, as bound */
void ifm_onnx_input_meaning(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const IfmPort *port,
                            const gint64 *shape, IfmInputMeaning *meaning);

G_END_DECLS
