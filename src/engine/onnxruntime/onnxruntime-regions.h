#pragma once
#include "onnxruntime-private.h"

G_BEGIN_DECLS

/*
 * Models with regions: inferometer:Region is an operator of this program for a session whose model has such nodes, as
 * libinferometer_ops.so is for the sessions of others.
 */

/** ifm_ort_regions_prepare: Makes the operator where the model has regions, once. Before each session's options are set. */
gboolean ifm_ort_regions_prepare(OrtCompiled *compiled, GError **error);
/** ifm_ort_regions_domain: NULL where the model has no region. */
OrtCustomOpDomain *ifm_ort_regions_domain(const OrtCompiled *compiled);
/** ifm_ort_regions_clear: Behind the session's end. */
void ifm_ort_regions_clear(OrtCompiled *compiled);

/** ifm_ort_tune: the slot: see IfmDriver. (onnxruntime-regions-tune.c) */
gboolean ifm_ort_tune(IfmCompiled *compiled, IfmRequest *request, const IfmTuning *tuning, GPtrArray *layers,
                      GError **error);

/** OrtRegion: of a node of the session. */
typedef struct
{
    char *node;
    struct IfmRegion *region;
} OrtRegion;
/** ifm_ort_regions: Returns: (transfer none) OrtRegion*, in the order of the session's nodes */
const GPtrArray *ifm_ort_regions(const OrtCompiled *compiled);

/** OrtVerdict: a region against the runtime's own kernels: lower quartiles; 0: not known, then it is not slower */
typedef struct
{
    const char *node;
    double region_ns, runtime_ns;
    gboolean is_slower;
} OrtVerdict;
/** ifm_ort_regions_judge: Of each region that ran: in turns with tuning->plain. @verdicts: OrtVerdict are added
 * (onnxruntime-regions-judge.c) */
gboolean ifm_ort_regions_judge(const OrtCompiled *compiled, IfmRequest *request, const IfmTuning *tuning, GArray *verdicts,
                               GError **error);

G_END_DECLS
