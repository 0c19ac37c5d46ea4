#pragma once
#include "study-private.h"

/* What the files of a study's run share: study-run.c, study-run-devices.c, study-run-case.c. */

/* What takes equally long: links, each stage alone, ranges by their length, and both beside others, by the length, too. */
#define MOST_KINDS (1 + 3 * IFM_MAX_STAGES)

/* One study on its way. */
typedef struct
{
    IfmStudy *study;
    IfmStore *store;
    const IfmStudyOptions *options;
    IfmRunner *runner;
    IfmStudyProgress progress;
    char *step;     /* what progress.step points to: the runner's own words are gone once its call returns */
    json_t *before; /* the manifest as the store has it, or NULL */
    StudyPast *past;
    json_t *sessions; /* array; the last one is this one's, once something was measured */
    json_t *session;  /* borrowed from it; NULL before that */
    gint64 started_unix_ms, began_us, noted_us, case_began_us;
    struct
    {
        gint64 spent_us;
        gsize n;
    } kinds[MOST_KINDS]; /* what cases of each stage took in this session */
    gint64 left_ns;
    GHashTable *free_dims; /* model path -> GPtrArray of names */
} Run;

/* --- study-run-devices.c --- */
/* study_run_find_devices: which of the study's devices are here; those that are not have the reason. FALSE where the run
 * must end: none is here, or one is wrong. */
gboolean study_run_find_devices(Run *run, GError **error);
/* study_run_check_devices: FALSE with IFM_ERROR_UNAVAILABLE where none is here, or left. */
gboolean study_run_check_devices(const Run *run, GError **error);

/* --- study-run-case.c --- */
/* study_run_seal: (transfer full) the case with its key. */
IfmCase *study_run_seal(Run *run, const StudyCase *one, GError **error);
/* study_run_measure: (transfer full) by the runner; NULL where it could not even be tried. */
IfmMeasurement *study_run_measure(Run *run, const StudyCase *one, GError **error);
