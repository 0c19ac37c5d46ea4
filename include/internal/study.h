#pragma once
#include <inferometer/study.h>

G_BEGIN_DECLS

/* The lock of a study, and words for its kinds. */

const char *ifm_study_form_name(IfmStudyForm form);

void ifm_study_lock_free(IfmStudyLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyLock, ifm_study_lock_free)

IfmStudyLock *ifm_study_lock_new(const char *folder, GError **error);

/** ifm_study_store_kind: (transfer full) of the study that a store holds; NULL with IFM_ERROR_INVALID where it holds none.
 */
char *ifm_study_store_kind(IfmStore *store, GError **error);

G_END_DECLS
