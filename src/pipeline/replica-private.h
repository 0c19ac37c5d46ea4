#pragma once
#include "pipeline-private.h"

G_BEGIN_DECLS

/* What the files of a replica share: replica.c, replica-models.c, replica-tensors.c. */

/* What a share needs of a static model: room for its nodes and edges, and for all nodes of tensors that it needs
 * whole. */
typedef struct
{
    gint64 nodes, edges, sources;
} Need;

/* ifm_replica_variant: The model for a share. @make: compiles it unless it exists. Returns: (transfer none) NULL with an
 * error. */
Variant *ifm_replica_variant(Replica *replica, const Need *need, gboolean make, GError **error);
/* ifm_variant_recompile: Compiles the variant's model again, with requests of their own. Nothing of it may be running. */
gboolean ifm_variant_recompile(Variant *variant, GError **error);
/* ifm_variant_free: a GDestroyNotify; NULL is ignored. */
void ifm_variant_free(gpointer data);
/* ifm_replica_set_tensors: Sets the inputs and outputs of a job's request. @start_ns: when copies to the device began */
gboolean ifm_replica_set_tensors(Job *job, gint64 start_ns, GError **error);

G_END_DECLS
