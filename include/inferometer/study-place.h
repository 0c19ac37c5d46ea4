/* room: study */
#pragma once
#include <inferometer/study.h>

IFM_BEGIN_DECLS

/** IfmStudyPlace: what a name of a study means, and where its results are. */
typedef struct
{
    IfmStudy *study; /* NULL where only its results are there: imported ones, or a folder was named */
    char *folder, *store_path;
    const char *const
        *settings; /* (nullable) borrowed; for ifm_study_open_set(), to be set before ifm_study_place_init() */
    char *missing; /* the first part of @folder that was not there; NULL where all of it was */
} IfmStudyPlace;

/**
 * ifm_study_place_init: For what needs the study itself. Nothing is made.
 * @name: a shipped study's name, its file, or a folder with results of a shipped one
 * @folder: (nullable) where its results are or will be; without it the folder that was named, else out/NAME
 * Returns: FALSE with the errors of ifm_study_open(), or IFM_ERROR_INVALID for a folder without results of a shipped study.
 */
gboolean ifm_study_place_init(IfmStudyPlace *place, const char *name, const char *folder, GError **error);
/** ifm_study_place_find: For what needs the results alone: any folder with results, or the name of one in out/, will do,
 * too. */
gboolean ifm_study_place_find(IfmStudyPlace *place, const char *name, const char *folder, GError **error);
void ifm_study_place_clear(IfmStudyPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmStudyPlace, ifm_study_place_clear)
/** ifm_study_place_set_folder: @folder: (transfer full) */
void ifm_study_place_set_folder(IfmStudyPlace *place, char *folder);
/** ifm_study_place_tidy: Removes the folders that were made on the way to nothing: those without anything in them. */
void ifm_study_place_tidy(const IfmStudyPlace *place);
/** ifm_study_place_open: the store that is there already; NULL with an error also where it is another study's. */
IfmStore *ifm_study_place_open(const IfmStudyPlace *place, IfmStoreMode mode, GError **error);
/** ifm_study_place_check: FALSE with an error where a store that is there already is not this study's; none is fine. */
gboolean ifm_study_place_check(const IfmStudyPlace *place, GError **error);
/** ifm_study_place_begun: whether a store holds a study. */
gboolean ifm_study_place_begun(IfmStore *store);
/** ifm_study_place_tables: (transfer full) by the study's span where the study was named, else by what the store holds. */
IfmStudyTables *ifm_study_place_tables(const IfmStudyPlace *place, IfmStore *store, GError **error);

IFM_END_DECLS
