#include <math.h>

#include "zoo-private.h"

enum
{
    M,
    K,
    N,
    LAYERS,
};

const IfmZooParameter ifm_zoo_matmul_parameters[] = {
    [M] = { "m", 64, 0, 1 << 20, "rows of x; 0 leaves them free, as dimension M" },
    [K] = { "k", 64, 1, 1 << 16, "columns of x" },
    [N] = { "n", 64, 1, 1 << 16, "columns of y" },
    [LAYERS] = { "layers", 1, 1, 64, "products in a row; those after the first are n by n" },
    [LAYERS + 1] = { NULL },
};

IfmModel *ifm_zoo_matmul_build(const gint64 *values, guint32 seed, GError **error)
{
    gint64 m = values[M] > 0 ? values[M] : -1, k = values[K], n = values[N];
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("matmul", IFM_ZOO_OPSET);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ m, k }, (const char *[]){ "M", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ m, n }, (const char *[]){ "M", NULL });
    g_autofree char *from = g_strdup("x");
    for (gint64 layer = 1; layer <= values[LAYERS]; layer++)
    {
        g_autofree char *weight = g_strdup_printf("w%d", (int)layer);
        g_autofree char *node = g_strdup_printf("matmul%d", (int)layer);
        g_autofree char *to = layer == values[LAYERS] ? g_strdup("y") : g_strdup_printf("y%d", (int)layer);
        gint64 rows = layer == 1 ? k : n;
        /* Uniform in +-sqrt(3 / rows) keeps the variance. */
        ifm_model_builder_random_weight(builder, weight, 2, (gint64[]){ rows, n }, sqrt(3.0 / (double)rows), seed);
        ifm_model_builder_node(builder, "MatMul", node, IFM_ZOO_NAMES(from, weight), IFM_ZOO_NAMES(to));
        g_free(from);
        from = g_steal_pointer(&to);
    }
    return ifm_model_builder_finish(builder, error);
}
