/* Shared between the files that learn what a convolution takes. */
#pragma once
#include <learn/learn.h>
#include <study/findings.h>

G_BEGIN_DECLS

/* --- conv-work.c: what a layer is ------------------------------------------------------------------------------------ */

/* conv_is_known: whether the sizes of a layer were recorded. */
gboolean conv_is_known(const IfmConvLayer *layer);

/* conv_pixels: outputs of one channel, of all images */
double conv_pixels(const IfmConvLayer *layer);
double conv_output_bytes(const IfmConvLayer *layer);

#define CONV_N_TERMS 8
/* conv_work: What an algorithm has to do, the terms of a line through its times: 1, multiplications, numbers of inputs and
 * of outputs, transformed where they are, weights, weights by how far they are, what kernels do for whole panels.
 * @weights_bytes: of all layers of the network: a run of it finds in the caches what of them the caches hold */
void conv_work(const IfmConvLayer *layer, double weights_bytes, const char *algorithm, double terms[CONV_N_TERMS]);

#define CONV_N_PLACES 8
/* conv_place: Where a layer is among others: logarithms of its sizes, and of @weights_bytes. */
void conv_place(const IfmConvLayer *layer, double weights_bytes, double place[CONV_N_PLACES]);

/* conv_grouping: "dense", "depthwise" or "grouped"    conv_kind: (transfer full) what an algorithm can do or not, and does
 * in its own way: "winograd 3x3 1x1 plain dense" */
const char *conv_grouping(const IfmConvLayer *layer);
char *conv_kind(const IfmConvLayer *layer, const char *algorithm);

/* --- conv-curve.c: times by one algorithm ---------------------------------------------------------------------------- */

/* ConvSample: @time_ns: of a layer that ran    @model: the network that has it */
typedef struct
{
    const IfmConvLayer *layer;
    double weights_bytes, time_ns;
    const char *model;
} ConvSample;

/* ConvCurve: times of layers by one algorithm: a line through its work, and a smooth function of the layer's sizes that
 * corrects it, where that is closer on networks that are left out. */
typedef struct ConvCurve ConvCurve;

/* conv_curve_new: (transfer full) @samples: [n], n above 0 */
ConvCurve *conv_curve_new(const ConvSample *samples, gsize n, const char *algorithm);
void conv_curve_free(ConvCurve *self);
double conv_curve_ns(const ConvCurve *self, const IfmConvLayer *layer, double weights_bytes);

/* --- conv-rest.c: what of a network is no convolution ------------------------------------------------------------------
 */

#define CONV_N_REST 4

/* ConvNetwork: what of a network at a size goes with what it takes beside its convolutions. */
typedef struct
{
    double terms[CONV_N_REST];
} ConvNetwork;

/* ConvLearning: the points of one device with so many threads. */
typedef struct
{
    const IfmConvFindings *findings;
    const IfmConvSetting *setting;
} ConvLearning;

/* ConvRest: ns of each term, none below 0. */
typedef struct
{
    double weights[CONV_N_REST];
} ConvRest;

/* conv_network_of_model: @layers: IfmConvLayer*, its convolutions */
void conv_network_of_model(ConvNetwork *network, const IfmModel *model, const IfmAnalysis *analysis,
                           const GPtrArray *layers);

/* conv_network_of_point: By what the runtime ran in a measured point. */
void conv_network_of_point(ConvNetwork *network, const IfmConvPoint *point);

/* conv_rest_learn: zeros where nothing is known    @without: (nullable) a model that is left out */
void conv_rest_learn(ConvRest *rest, const ConvLearning *self, const char *without);
double conv_rest_ns(const ConvRest *rest, const ConvNetwork *network);

/* --- conv-learn.c ------------------------------------------------------------------------------------------------------
 */

/* conv_threads: of a point: as the study asked for them; else those of its device's cores; else those that worked.
 * conv_settings: (transfer full) as ifm_conv_settings(), of so many threads; 0: of any. NULL with IFM_ERROR_INVALID, which
 * names those that there are    @name: the study's */
gint64 conv_threads(const IfmConvPoint *point);
GArray *conv_settings(const IfmConvFindings *findings, gint64 threads, const char *name, GError **error);

/* conv_has_layers: whether a point has layer times.    conv_is_used: whether it is learnt from.    conv_models: (transfer
 * full) const char*, of those points */
gboolean conv_has_layers(const IfmConvPoint *point);
gboolean conv_is_used(const ConvLearning *self, const IfmConvPoint *point, const char *without);
GPtrArray *conv_models(const ConvLearning *self);

/* conv_learn, conv_errors: as ifm_conv_learn(), ifm_conv_learned_errors() */
IfmConvLearned *conv_learn(const ConvLearning *self, const char *without, GError **error);
GArray *conv_errors(const ConvLearning *self);

/* conv_own_layer: ns of a layer by the own implementation of an algorithm, which tuned models have; where the library ran
 * all such layers by its time: the own kernels are about as fast. NaN: not known */
double conv_own_layer(const IfmConvLearned *self, const IfmConvLayer *layer, double weights_bytes, const char *algorithm);
const ConvRest *conv_rest(const IfmConvLearned *self);

/* --- conv-network.c ----------------------------------------------------------------------------------------------------
 */

/* conv_network_again: A measured point as though it had never been: by its model, where that is of the zoo; else as
 * conv_network_of_point(). */
void conv_network_again(ConvNetwork *network, const IfmConvPoint *point);

G_END_DECLS
