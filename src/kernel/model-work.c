#include <math.h>

#include "kernel-private.h"

/* What the model says of its layers alone. */

const char *ifm_layer_name(const IfmNode *node)
{
    return *node->name != '\0' ? node->name : node->n_outputs > 0 ? node->outputs[0] : node->op_type;
}

void ifm_work_of(const IfmAnalysis *analysis, IfmWork *work)
{
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    *work = (IfmWork){ NAN, NAN };
    if (analysis == NULL)
        return;
    ifm_analysis_total(analysis, &total, &n_covered);
    ifm_analysis_coverage(analysis, &coverage);
    if (coverage.n_covered == coverage.n_nodes)
        work->flop = (double)total.flop;
    if (coverage.n_mac_covered == coverage.n_mac_nodes)
        work->macs = (double)total.macs;
}
