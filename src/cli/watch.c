#include "watch.h"

static void on_cases(gsize n_cases, void *user)
{
    Watch *self = user;
    progress_free(self->progress);
    self->progress = progress_new(n_cases, cli_given(self->arguments, "quiet"));
}

static void on_begin(const char *name, gsize runs, double ci_ratio, gboolean again, void *user)
{
    Watch *self = user;
    if (again)
        progress_again(self->progress, name);
    else
        progress_begin(self->progress, name, runs, ci_ratio);
}

static void on_update(const char *phase, gsize n, double median_ns, double ci_ratio, void *user)
{
    progress_update(phase, n, median_ns, ci_ratio, ((Watch *)user)->progress);
}

static void on_end(const char *outcome, void *user)
{
    progress_end(((Watch *)user)->progress, outcome);
}

static gboolean on_model(const IfmModel *model, void *user, GError **error)
{
    return cli_check_model_kept(((Watch *)user)->arguments, model, error);
}

IfmProfileWatch watch_reported(Watch *self)
{
    return (IfmProfileWatch){ cli_note_of, on_cases, on_begin, on_update, on_end, on_model, self };
}

void watch_clear(Watch *self)
{
    g_clear_pointer(&self->progress, progress_free);
}
