/* room: report */
#pragma once
#include <inferometer/document.h>
#include <inferometer/store.h>

IFM_BEGIN_DECLS

/* What stores hold, and how several differ. */

/** IfmStoredResults: measurements of stores with their cases, kept after the stores are closed. */
typedef struct IfmStoredResults IfmStoredResults;

/** ifm_stored_results_new: (transfer full) without any. @with_samples: keep runs and nodes, not the summaries alone */
IfmStoredResults *ifm_stored_results_new(gboolean with_samples);
void ifm_stored_results_free(IfmStoredResults *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStoredResults, ifm_stored_results_free)
/** ifm_stored_results_add: all measurements of a store. FALSE with the errors of ifm_store_each(). */
gboolean ifm_stored_results_add(IfmStoredResults *self, IfmStore *store, GError **error);
/** ifm_stored_results: (transfer none) [n] in the order of their starts. */
const IfmResult *ifm_stored_results(const IfmStoredResults *self, gsize *n);

/** IfmReportedStore: @name: what it is called on the page. Both borrowed; the store stays open while the documents are. */
typedef struct
{
    const char *name;
    IfmStore *store;
} IfmReportedStore;

/**
 * ifm_stores_documents: An overview of the stores: what each holds, on which machines it was measured; of several also each
 * case that the first and another one have, with its change and whether the intervals tell the two apart. Cases are the
 * same where kind, name, device, sizes, options and load are, whatever the machine, the runtime's version and the protocol.
 * Then what each store holds: the report of its study, or its measurements.
 * Returns: (transfer full) IfmDocument*, the overview first. NULL with the errors of ifm_store_each() and of a study whose
 * records are not whole.
 */
GPtrArray *ifm_stores_documents(const IfmReportedStore *stores, gsize n, GError **error);

IFM_END_DECLS
