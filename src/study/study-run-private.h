#pragma once
#include "study-kind.h"

/* What the files of a study's run share: study-run.c, study-run-devices.c. */

/* One study on its way. */
typedef struct
{
    IfmStudy *study;
    IfmStore *store;
    const IfmStudyOptions *options;
    IfmCampaign *campaign;
    StudyManifest *before; /* the manifest as the store had it, or NULL */
    json_t *written;       /* … as it has it now, or NULL */
    StudyPast *past;
    GPtrArray *sessions;   /* StudySession*; the last one is this one's, once something was measured */
    StudySession *session; /* borrowed from it; NULL before that */
    gint64 started_unix_ms, began_us, noted_us;
    guint n_invalid; /* points that were refused since a model, a size or an input is wrong */
} Run;

/* --- study-run-devices.c --- */
/* study_run_find_devices: which of the study's devices are here; those that are not have the reason. FALSE where the run
 * must end: none is here, or one is wrong. */
gboolean study_run_find_devices(Run *run, GError **error);
/* study_run_check_devices: FALSE with IFM_ERROR_UNAVAILABLE where none is here, or left; with IFM_ERROR_INVALID where the
 * study's models, sizes or inputs are wrong on all of them. */
gboolean study_run_check_devices(const Run *run, GError **error);

/* --- study-run-peaks.c --- */
/* study_run_find_peaks: the peak of each device that is here: from the store, else measured and kept there. One that cannot
 * be measured is not known. FALSE where the run must end: it was interrupted, or the store takes nothing. */
gboolean study_run_find_peaks(Run *run, GError **error);
