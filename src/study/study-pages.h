#pragma once
#include <document/document.h>
#include <inferometer/study.h>
#include <store/results.h>

#include "findings.h"
#include "shared-core.h"

G_BEGIN_DECLS

/* What the pages of a study share. */

/** ifm_study_write: lookup_table.json, bandwidth_table.json, raw_measurements.json, checkpoint_cpugpu.json,
 * checkpoint_npu.json, profiling_report.txt and stages.csv into @folder, each in one step. */
gboolean ifm_study_write(const IfmStudyTables *tables, const char *folder, GError **error);

extern const IfmField ifm_stage_row_fields[]; /* IfmStudyRow */
extern const IfmField ifm_stage_fit_fields[]; /* IfmStageFit */
extern const IfmField ifm_link_fit_fields[];  /* IfmLinkFit */

/* ifm_study_bandwidth_json: bandwidth_table.json, with the conventions of ifm_study_lookup_json(). (transfer full) */
json_t *ifm_study_bandwidth_json(const IfmStudyTables *tables);

/* ifm_study_raw_json: every row with its samples, failures as such. @phase: 0: all */
json_t *ifm_study_raw_json(const IfmStudyTables *tables, int phase);

/* ifm_study_stages_to_csv: stages.csv. ifm_study_stages_to_json: its rows, and what was studied. (transfer full) */
char *ifm_study_stages_to_csv(const IfmStudyTables *tables);
json_t *ifm_study_stages_to_json(const IfmStudyTables *tables);

/* ifm_study_warning: one line of how many latencies are known less well than was aimed at; NULL where none is. (transfer
 * full) */
char *ifm_study_warning(const IfmStudyTables *tables);

/* ifm_study_points_to_json: (transfer full) docs/formats.md, "study points". ifm_study_points_to_csv: a row a point. */
json_t *ifm_study_points_to_json(const IfmStudyTables *points);
char *ifm_study_points_to_csv(const IfmStudyTables *points);

/* ifm_study_document: (transfer full) borrows @tables. @folder: of a summary: where its files are, or NULL */
IfmDocument *ifm_study_document(const IfmStudyTables *tables, IfmStudyPage page, const char *folder);

/* ifm_device_marked: "CPU", "NPU *": a simulated device's figures stand under a name with a mark. (transfer full) */
char *ifm_device_marked(const IfmStudyDevice *device);
/* Getters of a const IfmStudyDevice * at the offset @user. ifm_field_get_width: of an IfmStudyRow, the half-width of its
 * interval. */
void ifm_field_get_marked(const void *record, const void *user, IfmValue *value);
void ifm_field_get_simulated(const void *record, const void *user, IfmValue *value);
void ifm_field_get_disturbed(const void *record, const void *user, IfmValue *value);
void ifm_field_get_width(const void *record, const void *user, IfmValue *value);
/* ifm_study_note_files: Names the files of a study's folder. @files: "FILE (a remark), FILE, FOLDER/": those that are there
 * are named; a study without enough results does not have all. @folder: NULL: nothing is said */
void ifm_study_note_files(IfmDocument *document, const char *folder, const char *files);
/* ifm_stage_title: "3 REDUCE_SUM" (transfer full) */
char *ifm_stage_title(const IfmStudyTables *tables, int number);

/* Sections, which stay without blocks where there is nothing to say. @latencies: ifm_study_latencies() of the tables, once
 * for all of them; kept by the document. */
/* ifm_study_add_latencies: Stages by devices at the smallest (@sign -1; nothing where there is but one) or largest (1)
 * size.
 */
void ifm_study_add_latencies(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies, int sign);
/* ifm_study_add_lookup_errors: What leaving each size out came to. */
void ifm_study_add_lookup_errors(IfmDocument *document, const IfmStudyTables *tables);
/* ifm_study_add_precision: Which latencies missed what was aimed at. */
void ifm_study_add_precision(IfmDocument *document, const IfmStudyTables *tables);
/* ifm_study_add_splits: Bandwidths and compute times. */
void ifm_study_add_splits(IfmDocument *document, const IfmStudyTables *tables);
/* Figures (study-figures.c): ifm_study_add_fastest: The fastest device of each stage at each size. Returns: what that comes
 * to, NULL where one device has no rival (transfer full). ifm_study_add_growth: latency over data. ifm_study_add_shares:
 * "Where does the time go?" at the largest size. ifm_study_add_sureness: how well latencies are known, and which there are;
 * returns that (transfer full). */
char *ifm_study_add_fastest(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies);
void ifm_study_add_growth(IfmDocument *document, const IfmStudyTables *tables);
void ifm_study_add_shares(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies);
char *ifm_study_add_sureness(IfmDocument *document, const IfmStudyTables *tables);
/* ifm_study_add_split_figures: Bandwidths. */
void ifm_study_add_split_figures(IfmDocument *document, const IfmStudyTables *tables);
/* ifm_study_add_contention: What devices lose under load: in figures, and the @max largest losses. */
void ifm_study_add_contention(IfmDocument *document, const IfmStudyTables *tables, gsize max);
/* ifm_study_add_headline (study-headline.c): the summary. A kind that has a verdict of its own gave it before. @folder:
 * where the results are; NULL: not known. @latencies: ifm_study_latencies(), as above; NULL: of a study without stages */
void ifm_study_add_headline(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies,
                            const char *folder);
/* ifm_study_add_failures: What has no latency and why, alike cases together. */
void ifm_study_add_failures(IfmDocument *document, const IfmStudyTables *tables);

/* study-page.c, of studies of all kinds. ifm_study_add_devices: what became of each device's cases. ifm_study_counts_text:
 * "84 cases: 63 measured, 21 failed, 0 skipped; 21 more on unavailable devices" (transfer full) @phase: 0: all */
void ifm_study_add_devices(IfmDocument *document, const IfmStudyTables *tables, IfmStudyPage page);
char *ifm_study_counts_text(const IfmStudyTables *tables, int phase);

/* study-points-page.c. ifm_points_write: points.csv and points.json. ifm_points_document: @files: what is written into
 * @folder    @add: in place of the table of points, or NULL */
gboolean ifm_points_write(const IfmStudyTables *points, const char *folder, GError **error);
IfmDocument *ifm_points_document(const IfmStudyTables *points, IfmStudyPage page, const char *folder, const char *files,
                                 void (*add)(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page));

/* ifm_conv_write (conv-files.c): results/LEVEL/MODEL_ALGORITHM_DEVICE/MODEL_ALGORITHM_{overall,layers}.csv under @folder,
 * each whole or as it was, of every combination with a point that was measured. */
gboolean ifm_conv_write(const IfmStudyTables *points, const char *folder, GError **error);
/* ifm_conv_add (conv-page.c): A line for each combination; on a summary also the fastest algorithm by model and size, where
 * it changes, and by the shape of a layer. */
void ifm_conv_add(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page);
/* ifm_conv_shape_text: "64 to 128, 3x3, stride 2" (transfer full) */
char *ifm_conv_shape_text(const IfmConvLayer *layer);
/* conv-figures.c: ifm_conv_add_size_figures: time and energy over size, what choosing gains. ifm_conv_add_shape_figures:
 * algorithms by layer shape. */
void ifm_conv_add_size_figures(IfmDocument *document, const IfmConvFindings *findings);
void ifm_conv_add_shape_figures(IfmDocument *document, const IfmConvFindings *findings);
/* ifm_kernels_write, ifm_kernels_add (study-kernels-page.c): kernels.csv, to learn from; kernels by operator, and how a
 * load slows them down. */
gboolean ifm_kernels_write(const IfmStudyTables *points, const char *folder, GError **error);
void ifm_kernels_add(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page);

/* ifm_precision_mark: what stands before a latency. */
IfmMark ifm_precision_mark(IfmPrecision precision);
/* Of the published files: rows of lookup_table.json but for their origin, of raw_measurements.json but for their samples;
 * IfmLookupError. */
extern const IfmField ifm_lookup_row_fields[], ifm_raw_row_fields[], ifm_lookup_error_fields[];

/* ifm_study_ranges_csv: (transfer full) ranges, and what was measured under load, as the columns of stages.csv and more. */
char *ifm_study_ranges_csv(const IfmStudyTables *tables);

G_END_DECLS
