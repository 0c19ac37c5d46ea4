#pragma once
#include <inferometer/profile.h>

#include "cli.h"

G_BEGIN_DECLS

/* Watch: what the verbs that look at models print while they do: notes, and the progress of cases. */
typedef struct
{
    const Arguments *arguments;
    Progress *progress;
} Watch;

/* watch_reported: what hands all of it to the terminal; borrows @self. */
IfmProfileWatch watch_reported(Watch *self);
void watch_clear(Watch *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Watch, watch_clear)

G_END_DECLS
