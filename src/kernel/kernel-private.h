#pragma once
#include <kernel/kernel.h>

G_BEGIN_DECLS

/* ifm_node_row_is_marshalling: whether it moves or converts data for the runtime's sake. */
gboolean ifm_node_row_is_marshalling(const IfmNodeRow *row);

/* ifm_kernels_cost_by_names: Gives kernels without a known cost the layers that their names, or the names of their parts,
 * give. @alone: nothing else gave any kernel's work: what is then in none counts as missing */
void ifm_kernels_cost_by_names(IfmKernels *kernels, const IfmMeasurement *measurement, IfmModel *model,
                               const IfmAnalysis *analysis, gboolean alone);

gboolean kernel_is_output(const IfmModel *model, const char *tensor);

void ifm_roofline_place(const IfmRoofline *roofline, double flop, double bytes, double measured_ns, IfmRoofPlace *place);

G_END_DECLS
