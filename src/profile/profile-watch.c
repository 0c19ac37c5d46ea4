#include <math.h>
#include <stdarg.h>

#include "profile-private.h"

void profile_note(const IfmProfileWatch *watch, const char *format, ...)
{
    va_list values;
    if (watch == NULL || watch->note == NULL)
        return;
    va_start(values, format);
    g_autofree char *message = g_strdup_vprintf(format, values);
    va_end(values);
    watch->note(message, watch->user);
}

void profile_watch_cases(const IfmProfileWatch *watch, gsize n_cases)
{
    if (watch != NULL && watch->cases != NULL)
        watch->cases(n_cases, watch->user);
}

void profile_watch_begin(const IfmProfileWatch *watch, const char *name, gsize runs, double ci_ratio)
{
    if (watch != NULL && watch->begin != NULL)
        watch->begin(name, runs, ci_ratio, FALSE, watch->user);
}

void profile_watch_again(const IfmProfileWatch *watch, const char *what)
{
    if (watch != NULL && watch->begin != NULL)
        watch->begin(what, 0, NAN, TRUE, watch->user);
}

void profile_watch_update(const IfmProfileWatch *watch, const char *phase, gsize n, double median_ns, double ci_ratio)
{
    if (watch != NULL && watch->update != NULL)
        watch->update(phase, n, median_ns, ci_ratio, watch->user);
}

void profile_watch_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *watch)
{
    if (ended == NULL && progress->now != NULL && progress->step != NULL)
        profile_watch_update(watch, progress->step, progress->n, progress->median_ns, progress->ci_ratio);
}

void profile_watch_end(const IfmProfileWatch *watch, const char *outcome)
{
    if (watch != NULL && watch->end != NULL)
        watch->end(outcome, watch->user);
}

gboolean profile_is_interrupted(const gint *interrupted)
{
    return interrupted != NULL && g_atomic_int_get(interrupted) != 0;
}
