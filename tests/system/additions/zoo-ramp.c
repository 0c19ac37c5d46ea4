#include "zoo-private.h"

const IfmZooParameter ifm_zoo_ramp_parameters[] = {
    { "n", 64, 1, 1 << 20, "numbers of x" },
    { NULL },
};

IfmModel *ifm_zoo_ramp_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    g_auto(IfmNet) net = { 0 };
    ifm_net_init(&net, entry->name, IFM_ZOO_OPSET, seed, NULL);
    ifm_model_builder_input(net.builder, "x", IFM_DTYPE_F32, 1, values, NULL);
    ifm_model_builder_output(net.builder, "y", IFM_DTYPE_F32, 1, values, NULL);
    ifm_model_builder_node(net.builder, "Ramp", "ramp", IFM_ZOO_NAMES("x"), IFM_ZOO_NAMES("y"));
    return ifm_net_finish(&net, error);
}
