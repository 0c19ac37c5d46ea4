#pragma once
#include <zoo/zoo.h>

G_BEGIN_DECLS

#define IFM_ZOO_OPSET 17
#define IFM_ZOO_NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- net.c: a network in the making ------------------------------------------------------------------------------- */

/* IfmNet: @made: names of constants and nodes that several layers share    @of: what the model is of: each has its own
 * @layer: the one in work    @last: the builder's number of the last node    @error: the first */
typedef struct
{
    IfmModelBuilder *builder;
    guint32 seed;
    GStringChunk *names;
    GHashTable *made;
    const void *of;
    gint64 layer;
    gsize last;
    GError *error;
} IfmNet;

void ifm_net_init(IfmNet *net, const char *name, gint64 opset, guint32 seed, const void *of);
void ifm_net_clear(IfmNet *net);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmNet, ifm_net_clear)
/* ifm_net_finish: (transfer full) NULL with the first error */
IfmModel *ifm_net_finish(IfmNet *net, GError **error);
/* ifm_net_name: Formats a name, as printf. Returns: a string that the network owns. */
const char *ifm_net_name(IfmNet *net, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* ifm_net_is_new: Whether the name is new. It records the name. */
gboolean ifm_net_is_new(IfmNet *net, const char *name);
/* Weights, uniform from @low to @high, and constants, each name once: f32, i64, i64 [n]. Returns: @name */
const char *ifm_net_draw(IfmNet *net, const char *name, int rank, const gint64 *dims, double low, double high);
const char *ifm_net_vector(IfmNet *net, const char *name, gint64 n, double low, double high);
const char *ifm_net_number(IfmNet *net, const char *name, double value);
const char *ifm_net_index(IfmNet *net, const char *name, gint64 value);
const char *ifm_net_ints(IfmNet *net, const char *name, gint64 n, const gint64 *values);
/* ifm_net_op: Adds a node whose output has its name; attributes stand behind the operator: "Softmax axis=-1". Inputs end
 * with NULL. Returns: @name */
const char *ifm_net_op(IfmNet *net, const char *name, const char *op_type, ...) G_GNUC_NULL_TERMINATED;

/* IfmBatchNorm: @momentum: 0: not said    @gain: the mean of its scale: below 1 for a branch whose output is added to a
 * stream many times */
typedef struct
{
    double epsilon, momentum, gain;
    gboolean training;
} IfmBatchNorm;
/* ifm_net_batch_norm: Of @n channels. Statistics are as after training: means near 0, variances near 1. The training form
 * uses those of the batch and gives out the next ones. */
const char *ifm_net_batch_norm(IfmNet *net, const char *name, const char *x, gint64 n, IfmBatchNorm norm);

/* --- the models --------------------------------------------------------------------------------------------------- */

typedef IfmModel *IfmZooBuild(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error);
IfmZooBuild ifm_zoo_transformer_build, ifm_zoo_graphsage_build, ifm_zoo_matmul_build, ifm_zoo_matmul_stages_build,
    ifm_zoo_bert_build, ifm_zoo_vit_build, ifm_zoo_small_cnn_build;
extern const IfmZooParameter ifm_zoo_graph_transformer_parameters[], ifm_zoo_gps_parameters[],
    ifm_zoo_graphsage_parameters[], ifm_zoo_matmul_parameters[], ifm_zoo_matmul_stages_parameters[],
    ifm_zoo_bert_parameters[], ifm_zoo_vit_parameters[], ifm_zoo_small_cnn_parameters[];

/** ifm_zoo_form_words: "evaluation", "training": the words of the parameter "form". */
const char *const *ifm_zoo_form_words(void);

G_END_DECLS
