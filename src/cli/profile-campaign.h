#pragma once
#include "profile.h"

G_BEGIN_DECLS

/* A profile once it is planned: measured, and told. */

/* One profile on its way through its devices, or several, one after the other. */
typedef struct
{
    const GPtrArray *plans;  /* ProfilePlan* */
    const ProfilePlan *plan; /* the one in hand */
    const IfmRunnerOptions *options;
    IfmRunner *runner; /* owned */
    IfmStore *store;
    Progress *progress;
    gboolean resume, no_limit, new_limit;
    GHashTable *measured; /* keys of what earlier plans measured: one model may be at several points. Owned */
    GError *store_error;  /* the store took no more: nothing further is measured */
} Campaign;

/* profile_measure: Each plan in workers of its own: the memory that one took would be there for the next. */
void profile_measure(Campaign *campaign);
/* profile_target_result: what became of a target; borrows. */
IfmResult profile_target_result(const Target *target);

/* profile_results: (transfer full) IfmResult of the targets that were tried; borrow from the plan. */
GArray *profile_results(const ProfilePlan *plan);
guint profile_count_failed(const GArray *results);
/* profile_complain: Where nothing was measured the reasons are all there is to tell; else they stand below the table, and
 * how many there are is said. @what: "devices" */
void profile_complain(const GArray *results, const char *what);
/* profile_write: The files that were asked for, and the page. @plan: NULL where there are points alone. @nothing: nothing
 * was measured: there is no page. Returns: an exit status. */
int profile_write(const Arguments *arguments, const ProfilePlan *plan, const Sweep *sweep, gboolean nothing);

G_END_DECLS
