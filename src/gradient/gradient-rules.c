/* The tables of rules, one a kind of operators, each in the file of its rules. */
#include "gradient-private.h"

/* Operators of the default domain whose gradients are zero everywhere. */
static const char *const flat[] = { "And",      "ArgMax",
                                    "ArgMin",   "Ceil",
                                    "Constant", "ConstantOfShape",
                                    "Equal",    "Floor",
                                    "Greater",  "GreaterOrEqual",
                                    "IsInf",    "IsNaN",
                                    "Less",     "LessOrEqual",
                                    "NonZero",  "Not",
                                    "Or",       "Round",
                                    "Shape",    "Sign",
                                    "Size",     NULL };

const IfmGradientRule *ifm_gradient_rule_find(const IfmNode *node)
{
    static const IfmGradientRule *const tables[] = {
        ifm_gradients_convolution,   ifm_gradients_elementwise, ifm_gradients_indexing, ifm_gradients_movement,
        ifm_gradients_normalisation, ifm_gradients_pad,         ifm_gradients_pooling,  ifm_gradients_products,
        ifm_gradients_recurrent,     ifm_gradients_reduction,   ifm_gradients_resize,
    };
    static const IfmGradientRule zero = { "" };
    if (*node->domain != '\0')
        return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        for (const IfmGradientRule *row = tables[i]; row->op_type != NULL; row++)
            if (g_str_equal(row->op_type, node->op_type))
                return row;
    return g_strv_contains(flat, node->op_type) ? &zero : NULL;
}
