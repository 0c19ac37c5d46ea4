#pragma once
#include <inferometer/zoo.h>

G_BEGIN_DECLS

#define IFM_ZOO_MAX_PARAMETERS 32
#define IFM_ZOO_OPSET 17
#define IFM_ZOO_NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ifm_zoo_values: The values that @settings give an entry's parameters, or those they have. @values: (out)
 * [IFM_ZOO_MAX_PARAMETERS] */
gboolean ifm_zoo_values(const IfmZooEntry *entry, const char *const *settings, gint64 *values, GError **error);

extern const IfmZooParameter ifm_zoo_graph_transformer_parameters[];
IfmModel *ifm_zoo_graph_transformer_build(const gint64 *values, guint32 seed, GError **error);
extern const IfmZooParameter ifm_zoo_gps_parameters[];
IfmModel *ifm_zoo_gps_build(const gint64 *values, guint32 seed, GError **error);

/** ifm_zoo_form_words: "evaluation", "training": of the parameter "form" of every entry that has both. */
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
IfmModel *ifm_zoo_resnet18_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_resnet50_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_resnet152_build(const gint64 *values, guint32 seed, GError **error);
IfmModel *ifm_zoo_vgg16_build(const gint64 *values, guint32 seed, GError **error);

extern const IfmZooParameter ifm_zoo_small_cnn_parameters[];
IfmModel *ifm_zoo_small_cnn_build(const gint64 *values, guint32 seed, GError **error);

/* --- models in stages ---------------------------------------------------------------------------------------------------
 */

#define IFM_STAGED_MAX_WIDTH G_GINT64_CONSTANT(65536) /* features, hidden */
#define IFM_STAGED_ZEROS "zeros"

/*
 * IfmStageBuild: a range of stages on its way to one model; its ports are there before the first stage emits its nodes.
 * @ports: IfmStagedPort: its inputs
 * @sources: of a part: rows of what it needs whole; 0: free
 * @nodes_from: an input, or "zeros", whose first dimension is the nodes; NULL where the model needs none
 * @made: bits of the recipe's own: what earlier stages of the range have made that is no boundary
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
 * IfmStagedRecipe: how a staged model is built.
 * @emit: [n_stages] adds a stage's nodes; tensors that pass between stages have their boundary's name
 * @sums: [n_stages] whether the stage sums over the edges, so that it must know how many nodes there are
 */
typedef struct
{
    const IfmStagedModel *model;
    void (*emit[IFM_MAX_STAGES])(IfmStageBuild *build);
    gboolean sums[IFM_MAX_STAGES];
} IfmStagedRecipe;

/** ifm_stage_own_rows: Returns: the tensor that has a boundary's rows of this part alone; the boundary's own name where it
 * comes only so, or is made by a stage of the range. */
const char *ifm_stage_own_rows(const IfmStageBuild *build, const char *boundary);
/** ifm_stage_node: Adds one node, named "STAGE.@what", so that a profile tells which stage it belongs to. @stage: from 0.
 * Returns: its index. */
gsize ifm_stage_node(IfmStageBuild *build, int stage, const char *what, const char *op_type, const char *const *inputs,
                     const char *output);
/** ifm_stage_matrix: Adds a weight, uniform in +-sqrt(3 / rows), which keeps the variance of what goes through. */
void ifm_stage_matrix(IfmStageBuild *build, const char *name, gint64 rows, gint64 columns);

extern const IfmStagedRecipe ifm_zoo_graphsage_recipe;
extern const IfmStagedRecipe ifm_zoo_matmul_recipe;

G_END_DECLS
