#pragma once
#include <study/study.h>

#include "measure/measure-private.h"

/* What the benches of convolutions share. Each function ends the process with one line where it cannot. */

/** conv_study_fail: @what: what could not be done    @error: why, or NULL */
G_GNUC_NORETURN void conv_study_fail(const char *what, const GError *error);

/** conv_study_measure: Measures a study into a folder, which is made, or goes on there. (transfer full) */
IfmStudyTables *conv_study_measure(const char *path, const char *folder);

/** conv_infer_ms: Runs a subject on its own thread. Returns: the mean of n inferences in a row, ms */
double conv_infer_ms(IfmModelSubject *subject, int n);
