#pragma once
#include <document/document.h>
#include <document/words.h>
#include <kernel/kernel.h>
#include <store/results.h>

#include "profile.h"

G_BEGIN_DECLS

/* What the files of a profile's page share. */

/* Details of a profile's page and of its scaling's, those that stay longest first. */
enum
{
    IFM_DETAIL_STARTS = 1, /* compile, first inference, peak memory, energy */
    IFM_DETAIL_GROWTH,
    IFM_DETAIL_KERNELS,
    IFM_DETAIL_GAINS,
    IFM_DETAIL_BREAKDOWN,
    IFM_DETAIL_PASSES, /* all passes of each point */
    IFM_DETAIL_FIGURES,
    IFM_DETAIL_ENCODING,
    IFM_DETAIL_GRAPH,
    IFM_DETAIL_FAMILIES,
    IFM_DETAIL_MEMORY,
    IFM_DETAIL_PEAKS,
    IFM_DETAIL_REMARKS, /* what only explains */
};

/* IfmProfilePage: a document under construction. @kernels: [n_devices] NULL where a device has no nodes */
typedef struct
{
    IfmDocument *document;
    const IfmProfileReport *report;
    IfmKernels *const *kernels;
} IfmProfilePage;
/* ifm_profile_key: (transfer none) "WORD-1": a key of each device. */
const char *ifm_profile_key(const IfmProfilePage *page, const char *word, gsize device);

/* What a page is made of; nothing where there is nothing to show. */
/* profile-headline.c. ifm_profile_add_headline: the summary: how long it takes, which device is the fastest or that they
 * are not told apart, trust, next step. */
void ifm_profile_add_headline(const IfmProfilePage *page);
/* ifm_profile_called: (transfer full) "squeezenet · f32 · N=8": what it is of, in which precision and sizes; NULL: nothing.
 */
char *ifm_profile_called(const IfmProfileReport *report);
void ifm_profile_add_model(IfmDocument *document, const IfmProfileReport *report);
/* ifm_profile_add_graph: what a graph transformer was built of. */
void ifm_profile_add_graph(IfmDocument *document, const IfmProfileReport *report);
void ifm_profile_add_work(const IfmProfilePage *page);
/* ifm_profile_add_closed_form: whether its work is what the closed form says. */
void ifm_profile_add_closed_form(IfmDocument *document, const IfmProfileReport *report);
/* ifm_profile_add_parts: of a graph transformer. @kernels: whose times are shown; NULL: none */
void ifm_profile_add_parts(const IfmProfilePage *page, const char *key, const IfmKernels *kernels);
void ifm_profile_add_passes(IfmDocument *document, const IfmProfileReport *report);
void ifm_profile_add_memory(IfmDocument *document, const IfmProfileReport *report);
/* ifm_profile_add_encoding: what the positional encoding costs. */
void ifm_profile_add_encoding(IfmDocument *document, const IfmProfileReport *report);
void ifm_profile_add_peaks(const IfmProfilePage *page);

/* profile-figures.c. ifm_profile_add_runs: every run.
 * ifm_profile_add_alive: bytes alive at each node; nothing without an analysis. */
void ifm_profile_add_runs(IfmDocument *document, const IfmProfileReport *report);
void ifm_profile_add_alive(IfmDocument *document, const IfmProfileReport *report);
/* profile-layers.c. ifm_profile_add_layers: where the time goes, of all devices together, as a section of its own.
 * ifm_profile_aligned: (transfer full) IfmAlignedRow, of the two devices of least time; NULL where there are no two with
 * kernels. @names: (out) what they are called */
void ifm_profile_add_layers(const IfmProfilePage *page);
GArray *ifm_profile_aligned(const IfmProfilePage *page, const char *names[2]);
/* ifm_profile_aligned_to_json: (transfer full) docs/formats.md, layers_aligned. */
json_t *ifm_profile_aligned_to_json(const IfmProfileReport *report);
/* ifm_profile_add_breakdowns: what profiled runs spend besides their kernels. ifm_profile_add_roofs: how far kernels are
 * from the peak, as a section of its own. */
void ifm_profile_add_breakdowns(const IfmProfilePage *page);
void ifm_profile_add_roofs(const IfmProfilePage *page);
/* ifm_profile_are_means: whether the times of nodes are means of the runs, not medians: of a runtime that reports no more.
 */
gboolean ifm_profile_are_means(const json_t *breakdown);
/* ifm_profile_add_inside: one device's kernels, gains, families and time breakdown. */
void ifm_profile_add_inside(const IfmProfilePage *page, gsize device);
/* ifm_profile_above_roof: how many kernels are faster than the measured peak allows. @n_known: (out) of how many that is
 * known    @furthest: (out) the most so; NULL: none is */
gsize ifm_profile_above_roof(const IfmKernels *kernels, gsize *n_known, const IfmKernel **furthest);
/* ifm_profile_check_kernels (profile-headline.c): whether kernels are faster than the device can be, as a check of the
 * summary. @peak: as it was measured, or NULL    @name: of the device; NULL: it is the only one */
void ifm_profile_check_kernels(IfmDocument *document, const IfmKernels *kernels, const IfmMeasurement *peak,
                               const char *name);
/* ifm_profile_add_convolutions: what computed each convolution of a device, where an algorithm was asked for. */
void ifm_profile_add_convolutions(const IfmProfilePage *page, gsize device);

/* What a mode adds to its own pass: profile-passes.c. Nothing where the report has no mode. */
/* ifm_profile_mode_line: (transfer full) "train: cross-entropy, sgd, …" */
char *ifm_profile_mode_line(const IfmProfileReport *report);
/* ifm_profile_runtime: (transfer full) the published "runtime" of a device (NULL: none was measured), mode or not. */
json_t *ifm_profile_runtime(const IfmProfileReport *report, const IfmProfileDevice *device);
/* ifm_profile_flop_breakdown: (transfer full) part, of any other model kind of nodes -> GFLOP; of a report with an
 * analysis.
 */
json_t *ifm_profile_flop_breakdown(const IfmProfileReport *report);
/* ifm_profile_pass_flops: (transfer full) of each pass. */
json_t *ifm_profile_pass_flops(const IfmProfileReport *report);
/* ifm_profile_passes_csv: (transfer full) */
char *ifm_profile_passes_csv(const IfmProfileReport *report);
/* ifm_pass_words: "training pass"; of IFM_PASS_BACKWARD, too. */
const char *ifm_pass_words(int kind);

/* ifm_profile_layers_csv: (transfer full) a row a layer of each device. */
char *ifm_profile_layers_csv(const IfmProfileReport *report);
/* ifm_profile_nodes_csv: (transfer full) a row a node of the model, with its work; of one that has an analysis. */
char *ifm_profile_nodes_csv(const IfmProfileReport *report);

/* ifm_profile_time_to_json: (transfer full) the published keys of a time: ms; of NULL null. */
json_t *ifm_profile_time_to_json(const IfmMeasurement *measurement);
/* Members of a graph transformer's profile: (transfer full) null, or NULL, where it is none. */
json_t *ifm_profile_graph_to_json(const IfmProfileReport *report);
json_t *ifm_profile_encoding_to_json(const IfmProfileReport *report);
json_t *ifm_profile_closed_form_to_json(const IfmProfileReport *report);
/* ifm_profile_part_flops: (transfer full) part -> GFLOP. */
json_t *ifm_profile_part_flops(const IfmProfileReport *report);
/* ifm_profile_parts_to_json: (transfer full) with a device's times. */
json_t *ifm_profile_parts_to_json(const IfmProfileReport *report, const IfmKernels *kernels);

/* ifm_grouped: "25,557,032". ifm_scaled: "8.21 G". (transfer full) */
char *ifm_grouped(gint64 number);
char *ifm_scaled(double number);
/* ifm_joined_duration: (transfer full) a duration that no line is broken in. */
char *ifm_joined_duration(double ns);

extern const IfmField ifm_kernel_fields[];        /* IfmKernel */
extern const IfmField ifm_kernel_family_fields[]; /* IfmKernelFamily */

G_END_DECLS
