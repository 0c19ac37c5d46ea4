#pragma once
#include <staged/staged.h>

G_BEGIN_DECLS

#define IFM_STAGED_NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define IFM_STAGED_ZEROS "zeros"

/*
 * IfmStageBuild: the construction of one model from a range of stages. The ports exist before the first stage emits its
 * nodes.
 * @ports: IfmStagedPort: the inputs
 * @sources: for a partition: rows of the tensors that it needs whole; 0: free
 * @nodes_from: an input, or "zeros", whose first dimension is the number of nodes; NULL where the model does not need it
 * @made: bits for the recipe: tensors other than boundaries that earlier stages of the range have made
 */
typedef struct
{
    IfmModelBuilder *builder;
    const IfmStagedModel *staged;
    int first, last;
    IfmStageSizes sizes;
    gint64 sources;
    IfmScatter scatter;
    guint32 seed;
    GArray *ports;
    const char *nodes_from;
    guint made;
} IfmStageBuild;

/*
 * IfmStagedRecipe: the construction of a staged model.
 * @emit: [n_stages] adds the nodes of a stage. A tensor that passes between stages has the name of its boundary
 * @sums: [n_stages] whether the stage sums over the edges, so that it needs the number of nodes
 */
typedef struct
{
    const IfmStagedModel *model;
    void (*emit[IFM_MAX_STAGES])(IfmStageBuild *build);
    gboolean sums[IFM_MAX_STAGES];
} IfmStagedRecipe;

/** ifm_stage_own_rows: Returns: the tensor with the rows of a boundary that belong to this partition. It is the name of the
 * boundary where the whole is not an input, or a stage of the range makes it. */
const char *ifm_stage_own_rows(const IfmStageBuild *build, const char *boundary);
/** ifm_stage_node: Adds one node. Its name "STAGE.@what" gives its stage in a profile. @stage: from 0
 * Returns: its index. */
gsize ifm_stage_node(IfmStageBuild *build, int stage, const char *what, const char *op_type, const char *const *inputs,
                     const char *output);
/** ifm_stage_matrix: Adds a weight, uniform in +-sqrt(3 / rows), which keeps the variance. */
void ifm_stage_matrix(IfmStageBuild *build, const char *name, gint64 rows, gint64 columns);

/** ifm_staged_split_axis: Returns: the split axis of a boundary; -1 where one of the stages @first to @last needs all of
 * it. */
int ifm_staged_split_axis(const IfmStagedModel *staged, int first, int last, const char *boundary);

extern const IfmStagedRecipe ifm_staged_graphsage, ifm_staged_matmul;

G_END_DECLS
