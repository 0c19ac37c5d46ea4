#pragma once
#include <inferometer/profile.h>
#include <inferometer/trace.h>

#include "report-private.h"

G_BEGIN_DECLS

/* What the files of a profile's page share. */

/* ifm_cost_is_exact: whether a rate may follow from it: it is known, and no upper bound. */
static inline gboolean ifm_cost_is_exact(const IfmNodeCost *cost)
{
    return cost->covered && !cost->at_most;
}
/* ifm_row_is_marshalling: whether a row moves or converts data for the runtime's sake. */
gboolean ifm_row_is_marshalling(const IfmNodeRow *row);

/* ifm_result_name: its alias, or its device. */
const char *ifm_result_name(const IfmResult *result);
/* ifm_result_measured: its measurement, where it has a latency; else NULL. */
const IfmMeasurement *ifm_result_measured(const IfmResult *result);

/* ifm_profile_roofline: FALSE where the device's limit is not known. */
gboolean ifm_profile_roofline(const IfmProfileDevice *device, IfmRoofline *roofline);
/* ifm_profile_layers: (transfer full) of one device; NULL where it has no nodes. */
IfmLayers *ifm_profile_layers(const IfmProfileStory *story, const IfmProfileDevice *device);
/* ifm_profile_attained: the share of the limit that the whole attains: all layers' least times / the median; NaN. */
double ifm_profile_attained(const IfmProfileStory *story, const IfmProfileDevice *device, const IfmLayers *layers);

/* Sections of the page; empty where there is nothing to tell. */
void ifm_profile_model(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
void ifm_profile_work(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
void ifm_profile_memory(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
/* ifm_profile_graph: what a graph transformer was built of. */
void ifm_profile_graph(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
/* ifm_profile_closed_form: whether its work is what the closed form says. */
void ifm_profile_closed_form(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
/* ifm_profile_parts_table: @device: whose times stand beside; NULL: none */
void ifm_profile_parts_table(GString *out, const IfmProfileStory *story, const IfmProfileDevice *device,
                             const IfmScreen *screen);
/* ifm_profile_encoding: what the positional encoding costs. */
void ifm_profile_encoding(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
void ifm_profile_limits(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
/* ifm_profile_inside: one device's layers, gains, families and books. */
void ifm_profile_inside(GString *out, const IfmProfileStory *story, const IfmProfileDevice *device,
                        const IfmScreen *screen);

/* IfmMemoryRow: one figure of memory. @of: a device's name, "" for the model's */
typedef struct
{
    const char *of, *key, *name, *meaning;
    double bytes; /* NaN: not known */
} IfmMemoryRow;
/* ifm_memory_row_add: one more, where its bytes are known. */
void ifm_memory_row_add(GArray *rows, const char *of, const char *key, const char *name, double bytes, const char *meaning);
/* ifm_memory_row_bytes: of that key; NaN where there is none. */
double ifm_memory_row_bytes(const GArray *rows, const char *key);
/* ifm_profile_attention_rows: of a graph transformer, what its attention takes; else nothing. */
void ifm_profile_attention_rows(GArray *rows, const IfmProfileStory *story);
/* ifm_profile_memory_rows: (transfer full) IfmMemoryRow. @device: NULL for the model's own */
GArray *ifm_profile_memory_rows(const IfmProfileStory *story, const IfmProfileDevice *device);

/* ifm_profile_peak: the peak of memory as the published keys have it, bytes: measured, be it less than the model's shapes
 * would need, since engines write in place and fuse nodes; where nothing was measured, by the shapes. @device: NULL: by the
 * shapes    @of: (out) whose peak it is; NULL where it is not known (NaN) */
double ifm_profile_peak(const IfmProfileStory *story, const IfmProfileDevice *device, const char **of);

/* What a mode tells beside its own pass: profile-passes.c. Nothing of them where the story has no mode. */
/* ifm_profile_mode_line: (transfer full) "train: cross-entropy, sgd, …" */
char *ifm_profile_mode_line(const IfmProfileStory *story);
void ifm_profile_passes(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
/* ifm_profile_runtime: (transfer full) the published "runtime" of a device (NULL: none was measured), mode or not. */
json_t *ifm_profile_runtime(const IfmProfileStory *story, const IfmProfileDevice *device);
/* ifm_profile_flop_breakdown: (transfer full) part, of any other model kind of nodes -> GFLOP; of a story with an analysis.
 */
json_t *ifm_profile_flop_breakdown(const IfmProfileStory *story);
/* ifm_profile_pass_flops: (transfer full) of each pass. */
json_t *ifm_profile_pass_flops(const IfmProfileStory *story);
/* ifm_profile_passes_csv: (transfer full) */
char *ifm_profile_passes_csv(const IfmProfileStory *story);
/* Passes as they are told, in order: those that are run, and IFM_PASS_BACKWARD, which nobody runs by itself. */
#define IFM_PASS_BACKWARD IFM_N_PASSES
#define IFM_PASS_N_TOLD (IFM_N_PASSES + 1)
extern const int ifm_pass_order[IFM_PASS_N_TOLD];
/* ifm_pass_words: "training pass"; this and ifm_pass_key() of IFM_PASS_BACKWARD, too. */
const char *ifm_pass_words(IfmPassKind kind);
/* ifm_mode_has_pass: backward is there where both are that it is the difference of. */
gboolean ifm_mode_has_pass(const IfmProfileMode *mode, int kind);
/* IfmBackward: NaN: not known. @holds_zero: whether the interval does */
typedef struct
{
    double median_ns;
    IfmInterval interval;
    double flop;
    gboolean holds_zero;
} IfmBackward;
/* ifm_mode_backward: @device: of any pass, the one it is told of; NULL: there is none */
void ifm_mode_backward(const IfmProfileMode *mode, const IfmProfileDevice *device, IfmBackward *told);

/* ifm_result_to_json: (transfer full) an entry of the document of cases. */
json_t *ifm_result_to_json(const IfmResult *result);
/* ifm_profile_layers_csv: (transfer full) a row a layer of each device. */
char *ifm_profile_layers_csv(const IfmProfileStory *story);
/* ifm_profile_nodes_csv: (transfer full) a row a node of the model, with its work; of one that has an analysis. */
char *ifm_profile_nodes_csv(const IfmProfileStory *story);

/* ifm_profile_time_to_json: (transfer full) the published keys of a time: ms; of NULL null. */
json_t *ifm_profile_time_to_json(const IfmMeasurement *measurement);
/* Members of a graph transformer's profile: (transfer full) null, or NULL, where it is none. */
json_t *ifm_profile_graph_to_json(const IfmProfileStory *story);
json_t *ifm_profile_encoding_to_json(const IfmProfileStory *story);
/* ifm_profile_encoding_bytes: What a node's encoding takes for all nodes; NaN where there is none, or nobody holds it. */
void ifm_profile_encoding_bytes(const IfmProfileGraph *of, double *estimated, double *held);
/* ifm_is_as_estimated: whether as many bytes are held, but for what an allocation is rounded up by. */
gboolean ifm_is_as_estimated(double estimated, double held);
json_t *ifm_profile_closed_form_to_json(const IfmProfileStory *story);
/* ifm_profile_part_flops: (transfer full) part -> GFLOP. */
json_t *ifm_profile_part_flops(const IfmProfileStory *story);
/* ifm_profile_parts_to_json: (transfer full) with a device's times. */
json_t *ifm_profile_parts_to_json(const IfmProfileStory *story, const IfmProfileDevice *device);

/* ifm_page_labelled: "label     text", wrapped. */
void ifm_page_labelled(GString *out, const char *label, const char *text, const IfmScreen *screen);
/* ifm_grouped: "25,557,032". ifm_scaled: "8.21 G". (transfer full) */
char *ifm_grouped(gint64 number);
char *ifm_scaled(double number);
/* ifm_joined_duration: (transfer full) a duration that no line is broken in. */
char *ifm_joined_duration(double ns);

G_END_DECLS
