#pragma once
#include <internal/convolution.h>

#include "onnxruntime-private.h"

G_BEGIN_DECLS

/*
 * Convolutions by named algorithms in a session. The runtime optimises the model and saves it (level ALL); there its
 * convolutions in blocked channels (com.microsoft.nchwc) become inferometer:Conv, a custom operator of this process; that
 * graph is loaded with optimisation off, so the blocked layout stays from layer to layer.
 */

/* OrtConvLayer: one convolution of the graph, ready to run. */
typedef struct
{
    IfmConvLayer *record;
    IfmConv *conv; /* NULL: the runtime's own kernel */
} OrtConvLayer;

/** ifm_ort_conv_rewrite: @optimised: as the runtime saved it on this processor    @layers: (out) OrtConvLayer*; a node
 * names its layer by index    Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and one line which layers refuse. */
IfmModel *ifm_ort_conv_rewrite(IfmModel *optimised, const char *model_name, const IfmConvChoice *choice, int n_threads,
                               GPtrArray *layers, GError **error);
GPtrArray *ifm_ort_conv_layers_new(void);
/** ifm_ort_conv_records: (transfer full) what runs, by @layers: IfmConvLayer*, copied. */
GPtrArray *ifm_ort_conv_records(const GPtrArray *layers);

/** OrtConvDomain: the operator. It lives as long as its sessions. */
typedef struct OrtConvDomain OrtConvDomain;
/** ifm_ort_conv_domain_new: @layers: borrowed */
OrtConvDomain *ifm_ort_conv_domain_new(const OrtApi *api, GPtrArray *layers, const char *who, GError **error);
void ifm_ort_conv_domain_free(OrtConvDomain *domain);
OrtCustomOpDomain *ifm_ort_conv_domain_handle(OrtConvDomain *domain);

G_END_DECLS
