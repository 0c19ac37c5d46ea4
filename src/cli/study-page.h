#pragma once
#include <inferometer/study.h>

#include "cli.h"

G_BEGIN_DECLS

/* What STUDY means, for the details of a verb's help. */
#define WHICH_STUDY "STUDY is a shipped study's name (inferometer study list) or a YAML file."
/* And for a verb that needs results alone. */
#define WHICH_RESULTS                                                                                                      \
    WHICH_STUDY " It may also be a folder with results (out/gnn-stages), or the name of one in out/, as imports have it."

/* study-settings.c: the rows of options that replace keys of a study's file, and that of the folder with its results.
 * study_open_place: opens what a verb's first word and --output name, with these keys replaced. @results_will_do: a folder
 * with results will do, without its study Returns: an exit status. */
extern const IfmOption study_setting_options[], study_results_options[];
int study_open_place(IfmStudyPlace *place, const Arguments *arguments, gboolean results_will_do);
/* study_list_options: rows of lists that are printed instead of measuring. study_list: (transfer full) NULL: none is asked
 * for. */
extern const IfmOption study_list_options[];
char *study_list(const Arguments *arguments);
/* study_model_word: a value of --model as it is from any folder: paths are absolute. (transfer full) */
char *study_model_word(const char *word);

/* study_case_options: the rows of devices, protocol and limits of a case, of verbs that measure a study or have it
 * measured. study_take_arguments: sets them in a study but for the limits. Returns: an exit status. */
extern const IfmOption study_case_options[];
int study_take_arguments(IfmStudy *study, const Arguments *arguments);
/* study_print_shards: of a study that was submitted to a cluster. Returns: an exit status. */
int study_print_shards(const char *folder);
/* study_file_options: the rows of --json and --csv. */
extern const IfmOption study_file_options[];
/* study_print_page: what one wants to see first; all there is to say goes into the files of cli_page_options. Returns: an
 * exit status. */
int study_print_page(const Arguments *arguments, const IfmStudyResults *results, const char *folder);
/* study_print_status: how far it is. Returns: an exit status. */
int study_print_status(const Arguments *arguments, const IfmStudyResults *results, const char *folder);
/* study_write_and_print: a study's tables from its store, as files of its folder, and the page. Returns: an exit status. */
int study_write_and_print(const Arguments *arguments, const IfmStudyPlace *place);

G_END_DECLS
