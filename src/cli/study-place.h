#pragma once
#include "cli.h"

G_BEGIN_DECLS

/* What STUDY means, for the details of a verb's help. */
#define WHICH_STUDY "STUDY is a shipped study's name (inferometer study list) or a YAML file."
/* And for a verb that needs results alone. */
#define WHICH_RESULTS                                                                                                      \
    WHICH_STUDY " It may also be a folder with results (out/gnn-stages), or the name of one in out/, as imports have it."

/* StudyPlace: what STUDY on the command line means, and where its results are. */
typedef struct
{
    IfmStudy *study; /* NULL where only its results are there: imported ones, or a folder was named */
    char *folder, *store_path;
    char *missing; /* the first part of @folder that was not there; NULL where all of it was */
} StudyPlace;

/* study_place_init: For a verb that needs the study itself: a shipped one's name, or a file. Both return an exit status;
 * what is wrong was told, and nothing made. */
int study_place_init(StudyPlace *place, const Arguments *arguments);
/* study_place_find: For a verb that needs its results alone: a folder, or a name that results have, will do, too. */
int study_place_find(StudyPlace *place, const Arguments *arguments);
/* study_place_find_named: the same of @text, whatever stands on the command line. */
int study_place_find_named(StudyPlace *place, const Arguments *arguments, const char *text);
void study_place_clear(StudyPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StudyPlace, study_place_clear)
/* study_place_set_folder: @folder: (transfer full) */
void study_place_set_folder(StudyPlace *place, char *folder);
/* study_place_tidy: Takes away the folders that were made on the way to nothing: those without anything in them. */
void study_place_tidy(const StudyPlace *place);
/* study_place_open: the store that is there already; NULL with an error also where it is another study's. */
IfmStore *study_place_open(const StudyPlace *place, IfmStoreMode mode, GError **error);
/* study_place_check: whether a store that is there already is this study's; none is fine. Returns: an exit status. */
int study_place_check(const StudyPlace *place);

/* study_place_begun: whether a store holds a study. */
gboolean study_place_begun(IfmStore *store);
/* study_place_tables: (transfer full) by the study's span where the study was named, else by what the store was left with.
 */
IfmStudyTables *study_place_tables(const StudyPlace *place, IfmStore *store, GError **error);
/* study_place_write: The same, and writes them as its folder's files. (transfer full) */
IfmStudyTables *study_place_write(const StudyPlace *place, IfmStore *store, GError **error);
/* study_print_page: what one wants to see first. Returns: an exit status. */
int study_print_page(const IfmStudyTables *tables, const char *folder);

G_END_DECLS
