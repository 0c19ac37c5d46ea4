#pragma once
#include <inferometer/kernels.h>
#include <inferometer/measure.h>
#include <onnx/cover.h>
#include <onnx/fused-kernel.h>

G_BEGIN_DECLS

/* --- records-find.c ----------------------------------------------------------------------------------------------------
 */

/* kernel_records_find: Has the runtime of a device optimise a model, and reads its kernels. @options: graph
 * @model_case: model_path, device, dtype, threads, bindings and vendor count    Returns: (transfer full) NULL with the
 * errors of ifm_kernel_records_open() */
IfmKernelRecords *kernel_records_find(IfmRunner *runner, const IfmKernelOptions *options, const IfmModelCase *model_case,
                                      GError **error);

/* kernel_graph_instrument: (transfer full) a copy of a model whose nodes are named N0, N1, … and whose inner tensors are
 * named T<node>_<output>, so that each name of the optimised graph leads to one of them. Inputs, outputs and weights keep
 * their names; where a node has a subgraph, all tensors do. */
IfmModel *kernel_graph_instrument(const IfmModel *model, GError **error);

/* --- records-layers.c --------------------------------------------------------------------------------------------------
 */

/* kernel_records_by_layers: (transfer full) of a runtime that does not save its graph, but says which of the model's nodes
 * went into each of its own: by runs that are not measured. @named: as kernel_graph_instrument() makes it, which
 * @model_case has the file of    @version: (out) (transfer full) of the runtime Returns: NULL with IFM_ERROR_UNSUPPORTED
 * where the runtime does not say it, or the errors of measuring. */
IfmKernelRecords *kernel_records_by_layers(IfmRunner *runner, const IfmModelCase *model_case, const IfmModel *model,
                                           IfmModel *named, char **version, GError **error);

/* --- records-kept.c ----------------------------------------------------------------------------------------------------
 */

/* kept_folder: (transfer full) where records are kept. @named: or NULL: $IFM_KERNEL_CACHE or the user's
 * kept_program: the file of this code, which decides about models of the zoo and about records */
char *kept_folder(const char *named);
const char *kept_program(void);
/* kept_digest: (transfer full) of a model as it was, where its files are what they were; else NULL. @model: its path, or
 * what it is built from    kept_add_digest: @files: NULL-terminated: all that it depends on */
char *kept_digest(const char *folder, const char *model);
void kept_add_digest(const char *folder, const char *model, const char *digest, const char *const *files);
/* kept_records: (transfer full) of a model of that digest on a device; NULL where there are none. @model_case: its path is
 * not looked at */
IfmKernelRecords *kept_records(const char *folder, const char *digest, const IfmModelCase *model_case);
void kept_add_records(const char *folder, const IfmKernelRecords *records, const IfmModelCase *model_case);

/* --- records.c ---------------------------------------------------------------------------------------------------------
 */

/* KernelSource: what all kernels of a graph are made from. @optimised: the graph that they are nodes of, or the model
 * itself
 * @analysis: of it    @weights: names of its initializers, as kernel_weight_names() has them */
typedef struct
{
    const IfmModel *model, *optimised;
    const IfmAnalysis *analysis;
    GHashTable *weights;
} KernelSource;
GHashTable *kernel_weight_names(const IfmModel *model);
/* kernel_tensor_of: (transfer full)    kernel_node_label: (transfer full) how records name a node of the model */
IfmKernelTensor *kernel_tensor_of(const KernelSource *source, const char *name);
char *kernel_node_label(const IfmModel *model, gsize index);
void kernel_add_depend(GArray *depends, gint64 row); /* once; -1: none */

/* kernel_records_new: (transfer full) of the optimised graph. @model: as written    @analysis: of the optimised graph */
IfmKernelRecords *kernel_records_new(const IfmModel *model, const IfmModel *optimised, const IfmAnalysis *analysis,
                                     const Cover *cover);

/* kernel_records_of_kernel: (transfer full) of a model that ifm_kernel_extract() made, which has nodes. */
IfmKernelRecords *kernel_records_of_kernel(const IfmModel *model, const IfmAnalysis *analysis);

/* --- records-file.c ----------------------------------------------------------------------------------------------------
 */

/* (transfer full) empty */
IfmKernelRecords *kernel_records_alloc(void);

G_END_DECLS
