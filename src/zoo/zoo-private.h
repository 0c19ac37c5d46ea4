#pragma once
#include <zoo/zoo.h>

G_BEGIN_DECLS

#define IFM_ZOO_OPSET 17
#define IFM_ZOO_NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

extern const IfmZooParameter ifm_zoo_graph_transformer_parameters[];
IfmModel *ifm_zoo_graph_transformer_build(const gint64 *values, guint32 seed, GError **error);
extern const IfmZooParameter ifm_zoo_gps_parameters[];
IfmModel *ifm_zoo_gps_build(const gint64 *values, guint32 seed, GError **error);

/** ifm_zoo_form_words: "evaluation", "training": the words of the parameter "form". */
const char *const *ifm_zoo_form_words(void);

extern const IfmZooParameter ifm_zoo_graphsage_parameters[];
IfmModel *ifm_zoo_graphsage_build(const gint64 *values, guint32 seed, GError **error);

extern const IfmZooParameter ifm_zoo_matmul_parameters[];
IfmModel *ifm_zoo_matmul_build(const gint64 *values, guint32 seed, GError **error);

extern const IfmZooParameter ifm_zoo_matmul_stages_parameters[];
IfmModel *ifm_zoo_matmul_stages_build(const gint64 *values, guint32 seed, GError **error);

/* The convolutional networks: their parameters are ifm_cnn_parameters of cnn-private.h. */
IfmModel *ifm_zoo_alexnet_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_densenet121_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_googlenet_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_mobilenet_v2_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_resnet18_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_resnet50_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_resnet152_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_squeezenet_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_vgg16_build(const gint64 *values, guint32 seed, GError **error);

/* Transformer encoders over sequences. */
extern const IfmZooParameter ifm_zoo_bert_parameters[];
IfmModel *ifm_zoo_bert_build(const gint64 *values, guint32 seed, GError **error);
extern const IfmZooParameter ifm_zoo_vit_parameters[];
IfmModel *ifm_zoo_vit_build(const gint64 *values, guint32 seed, GError **error);

extern const IfmZooParameter ifm_zoo_small_cnn_parameters[];
IfmModel *ifm_zoo_small_cnn_build(const gint64 *values, guint32 seed, GError **error);

/* --- models in stages --------------------------------------------------------------------------------------------- */

#define IFM_STAGED_MAX_WIDTH G_GINT64_CONSTANT(65536) /* features, hidden */
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

extern const IfmStagedRecipe ifm_zoo_graphsage_recipe;
extern const IfmStagedRecipe ifm_zoo_matmul_recipe;

G_END_DECLS
