#include "study-kind.h"

/* Every kind of study, a row each: docs/add-a-study-kind.md. */
const StudyKind *const study_kinds[] = { &study_kind_stages, &study_kind_profile, &study_kind_conv, &study_kind_kernels,
                                         NULL };

const StudyKind *study_kind_find(const StudyKind *const *kinds, const char *name)
{
    for (; *kinds != NULL; kinds++)
        if (g_str_equal((*kinds)->name, name))
            return *kinds;
    return NULL;
}
