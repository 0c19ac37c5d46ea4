/* Shapes of operators between numbers and their quantised form. */
#include "operators.h"

/* The output's type is the zero point's, else the attribute's (since version 21), else u8. */
gboolean ifm_shape_quantize(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0], *zero = ifm_call_input(call, 2);
    gint64 named = ifm_node_int(call->node, "output_dtype", 0);
    IfmDtype dtype = zero != NULL ? zero->dtype : named > 0 && named < 64 ? (IfmDtype)named : IFM_DTYPE_U8;
    ifm_call_make(call, 0, dtype, x->rank, x->dims);
    return TRUE;
}

gboolean ifm_shape_dequantize(const IfmOperatorCall *call, GError **error)
{
    ifm_call_make(call, 0, call->inputs[1].dtype, call->inputs[0].rank, call->inputs[0].dims);
    return TRUE;
}

gboolean ifm_shape_dynamic_quantize(const IfmOperatorCall *call, GError **error)
{
    ifm_call_make(call, 0, IFM_DTYPE_U8, call->inputs[0].rank, call->inputs[0].dims);
    ifm_call_make(call, 1, IFM_DTYPE_F32, 0, NULL);
    ifm_call_make(call, 2, IFM_DTYPE_U8, 0, NULL);
    return TRUE;
}
