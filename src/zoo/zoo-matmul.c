#include <math.h>

#include "zoo-private.h"

/* The model `matmul` is a row of matrix products with random weights. */

typedef struct
{
    gint64 m, k, n, layers;
} Parameters;

const IfmZooParameter ifm_zoo_matmul_parameters[] = {
    { "m", 64, 0, 1 << 20, "rows of x; 0 leaves them free, as dimension M" },
    { "k", 64, 1, 1 << 16, "columns of x" },
    { "n", 64, 1, 1 << 16, "columns of y" },
    { "layers", 1, 1, 64, "products in a row; those after the first are n by n" },
    { NULL },
};

IfmModel *ifm_zoo_matmul_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    const Parameters *at = (const void *)values;
    const gint64 m = at->m > 0 ? at->m : -1;
    g_auto(IfmNet) net = { 0 };
    ifm_net_init(&net, entry->name, IFM_ZOO_OPSET, seed, NULL);
    ifm_model_builder_input(net.builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ m, at->k }, (const char *[]){ "M", NULL });
    ifm_model_builder_output(net.builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ m, at->n }, (const char *[]){ "M", NULL });
    const char *from = "x";
    for (int layer = 1; layer <= at->layers; layer++)
    {
        const char *weight = ifm_net_name(&net, "w%d", layer), *node = ifm_net_name(&net, "matmul%d", layer);
        const char *to = layer == at->layers ? "y" : ifm_net_name(&net, "y%d", layer);
        const gint64 rows = layer == 1 ? at->k : at->n;
        /* Uniform in +-sqrt(3 / rows) keeps the variance. */
        ifm_model_builder_random_weight(net.builder, weight, 2, (gint64[]){ rows, at->n }, sqrt(3.0 / (double)rows), seed);
        ifm_model_builder_node(net.builder, "MatMul", node, IFM_ZOO_NAMES(from, weight), IFM_ZOO_NAMES(to));
        from = to;
    }
    return ifm_net_finish(&net, error);
}
