#pragma once
#include <inferometer/profile.h>
#include <inferometer/trace.h>

#include "report-private.h"

G_BEGIN_DECLS

/* What the files of a profile's page share. */

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
/* ifm_profile_memory_rows: (transfer full) IfmMemoryRow. @device: NULL for the model's own */
GArray *ifm_profile_memory_rows(const IfmProfileStory *story, const IfmProfileDevice *device);

/* ifm_profile_peak: the peak of memory as the published keys have it, bytes: measured, and never below what the model's
 * shapes need. @device: NULL: by the shapes    @of: (out) whose peak it is; NULL where it is not known (NaN) */
double ifm_profile_peak(const IfmProfileStory *story, const IfmProfileDevice *device, const char **of);

/* What a mode tells beside its own pass: profile-passes.c. Nothing of them where the story has no mode. */
/* ifm_profile_mode_line: (transfer full) "train: cross-entropy, sgd, …" */
char *ifm_profile_mode_line(const IfmProfileStory *story);
void ifm_profile_passes(GString *out, const IfmProfileStory *story, const IfmScreen *screen);
/* ifm_profile_runtime: (transfer full) the published "runtime" of a device (NULL: none was measured), mode or not. */
json_t *ifm_profile_runtime(const IfmProfileStory *story, const IfmProfileDevice *device);
/* ifm_profile_pass_flops: (transfer full) of each pass. */
json_t *ifm_profile_pass_flops(const IfmProfileStory *story);
/* ifm_profile_passes_csv: (transfer full) */
char *ifm_profile_passes_csv(const IfmProfileStory *story);
/* ifm_pass_words: "training pass". */
const char *ifm_pass_words(IfmPassKind kind);

/* ifm_result_to_json: (transfer full) an entry of the document of cases. */
json_t *ifm_result_to_json(const IfmResult *result);
/* ifm_profile_layers_csv: (transfer full) a row a layer of each device. */
char *ifm_profile_layers_csv(const IfmProfileStory *story);

/* ifm_joined_duration: (transfer full) a duration that no line is broken in. */
char *ifm_joined_duration(double ns);

G_END_DECLS
