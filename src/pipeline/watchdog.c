/*
 * The watchdog: the thread that called ifm_pipeline_run() watches the threads of the line. It stops them on the
 * caller's request, or if no batch progressed for too long. It does not wait for a thread that does not come back.
 */
#include <pthread.h>

#include "pipeline-private.h"

#define POLL_NS G_GINT64_CONSTANT(50000000)     /* how often the caller's request is checked */
#define GRACE_NS G_GINT64_CONSTANT(10000000000) /* how long a cancelled inference may take to end */
#define LEAVE_NS G_GINT64_CONSTANT(1000000000)  /* how long threads may take to end when they have nothing else to do */

/* "2.000 s", "1.500 ms", "1 ns" (transfer full) */
static char *span_text(gint64 ns)
{
    return ns >= 100000000 ? g_strdup_printf("%.3f s", (double)ns / 1e9)
           : ns >= 1000000 ? g_strdup_printf("%.3f ms", (double)ns / 1e6)
           : ns >= 1000    ? g_strdup_printf("%.3f us", (double)ns / 1e3)
                           : g_strdup_printf("%d ns", (int)ns);
}

/* The jobs of a block in progress; called with its inbox locked. Devices that have had a job for @min_ns are added to
 * @hung. */
static void describe_jobs(Block *block, GString *text, gint64 now_ns, gint64 min_ns, guint32 *hung)
{
    const char *comma = "";
    for (gint64 n = block->n_pushed; n < block->n_begun; n++)
        for (gsize i = 0; i < block->n_replicas; i++)
        {
            const Job *job = &block->works[n % block->depth].jobs[i];
            if (job->state != IFM_JOB_RUNNING)
                continue;
            gint64 since_ns = now_ns - job->ready_ns;
            g_autofree char *since = span_text(since_ns);
            g_string_append_printf(text, "%s%s (%s) has had batch %" G_GINT64_FORMAT " for %s", comma,
                                   job->replica->described->alias, job->replica->spec->text, job->work->flight->batch->id,
                                   since);
            comma = ", ";
            if (since_ns >= min_ns)
                *hung |= 1u << job->replica->device;
        }
}

static gboolean has_running(const Block *block)
{
    for (gint64 n = block->n_pushed; n < block->n_begun; n++)
        for (gsize i = 0; i < block->n_replicas; i++)
            if (block->works[n % block->depth].jobs[i].state == IFM_JOB_RUNNING)
                return TRUE;
    return FALSE;
}

static void describe_block(Block *block, GString *text, gint64 now_ns, gint64 min_ns, guint32 *hung)
{
    const Line *line = block->line;
    g_string_append_printf(text, "%s block %d: ", block->index > 0 ? ";" : "", block->index + 1);
    ifm_condition_lock(block->inbox);
    if (block->delivering)
    {
        g_autofree char *since = span_text(now_ns - block->since_ns);
        g_string_append_printf(text, "the caller has had a batch handed to it for %s", since);
    }
    else if (has_running(block))
        describe_jobs(block, text, now_ns, min_ns, hung);
    else if (block->n_merged > block->n_pushed && block->room == 0 && block->index + 1 < line->n_blocks)
        g_string_append_printf(text, "the queue to block %d is full", block->index + 2);
    else if (block->n_begun > block->n_pushed)
        g_string_append(text, "its host thread is at work");
    else if (block->index == 0)
        g_string_append(text, "has no batch left");
    else
        g_string_append_printf(text, "waits for block %d", block->index);
    ifm_condition_unlock(block->inbox);
}

/* The error says what each block waits for. Devices that do not answer are noted as lost. */
static void set_timeout(Line *line, gint64 watchdog_ns, GError **error)
{
    GString *text = g_string_new(NULL);
    guint32 hung = 0;
    gint64 now_ns = ifm_clock_now_ns(line->clock);
    g_autofree char *since = span_text(now_ns - atomic_load(&line->progress_ns));
    g_string_append_printf(text, "no batch got on for %s:", since);
    for (int i = 0; i < line->n_blocks; i++)
        describe_block(&line->blocks[i], text, now_ns, watchdog_ns, &hung);
    ifm_error_set(error, IFM_ERROR_TIMEOUT, "%s", text->str);
    g_string_free(text, TRUE);
    ifm_condition_lock(line->ended);
    line->lost |= hung;
    ifm_condition_unlock(line->ended);
}

static void stop_all(Line *line)
{
    for (int i = 0; i < line->n_blocks; i++)
        ifm_block_stop(&line->blocks[i]);
}

/* Called repeatedly: an inference may begin just after the call. */
static void cancel(Line *line, Variant *variant, gpointer user)
{
    for (gsize k = 0; k < variant->n_slots; k++)
        ifm_request_cancel(variant->slots[k].request, NULL);
}

/* Waits until all threads ended, or until @deadline_ns. Returns: whether they ended. */
static gboolean wait_ended(Line *line, int n_threads, gint64 deadline_ns)
{
    gboolean in_time = TRUE;
    ifm_condition_lock(line->ended);
    while (in_time && line->n_ended < n_threads)
        in_time = ifm_condition_wait_until(line->ended, deadline_ns);
    gboolean all = line->n_ended == n_threads;
    ifm_condition_unlock(line->ended);
    return all;
}

static void join(Line *line)
{
    for (int i = 0; i < line->n_blocks; i++)
        if (line->blocks[i].has_thread)
        {
            pthread_join(line->blocks[i].thread, NULL);
            line->blocks[i].has_thread = FALSE;
        }
}

/* Records what a device never answered, for each block whose thread has ended and so writes no events any more. */
static void record_unanswered(Line *line)
{
    for (int i = 0; i < line->n_blocks; i++)
    {
        ifm_condition_lock(line->ended);
        gboolean has_left = line->blocks[i].has_left;
        ifm_condition_unlock(line->ended);
        if (has_left)
            ifm_block_record_unanswered(&line->blocks[i]);
    }
}

/* A device or a thread did not come back. The threads are detached: they end when they see that the line was abandoned,
 * if they do. The line is never freed, as they may still access it. */
static void abandon(Line *line, int n_threads)
{
    Block *last = &line->blocks[line->n_blocks - 1];
    ifm_condition_lock(last->inbox);
    atomic_store(&line->abandoned, 1);
    line->is_stuck = last->delivering;
    ifm_condition_unlock(last->inbox);
    stop_all(line);
    wait_ended(line, n_threads, ifm_clock_now_ns(line->clock) + LEAVE_NS);
    record_unanswered(line);
    for (int i = 0; i < line->n_blocks; i++)
        if (line->blocks[i].has_thread)
            pthread_detach(line->blocks[i].thread);
}

/* Ends what was begun, or cancels it. */
static void wind_up(Line *line, int n_threads, gint64 grace_ns)
{
    gint64 now_ns = ifm_clock_now_ns(line->clock), until_ns = now_ns + grace_ns;
    gboolean ended = FALSE;
    stop_all(line);
    while (!ended && now_ns < until_ns)
    {
        ifm_line_each_variant(line, cancel, NULL);
        ended = wait_ended(line, n_threads, MIN(until_ns, now_ns + POLL_NS));
        now_ns = ifm_clock_now_ns(line->clock);
    }
    if (ended)
        join(line);
    else
        abandon(line, n_threads);
}

gboolean ifm_line_watch(Line *line, GError **error)
{
    gint64 watchdog_ns = line->options->watchdog_ns;
    int n_threads = 0;
    for (int i = 0; i < line->n_blocks; i++)
        n_threads += line->blocks[i].has_thread;
    for (;;)
    {
        gint64 limit_ns = atomic_load(&line->progress_ns) + watchdog_ns, now_ns = ifm_clock_now_ns(line->clock);
        gint64 until_ns = line->options->interrupted != NULL ? MIN(limit_ns, now_ns + POLL_NS) : limit_ns;
        if (wait_ended(line, n_threads, until_ns))
        {
            join(line);
            return TRUE;
        }
        const gint *flag = line->options->interrupted;
        gboolean interrupted = flag != NULL && g_atomic_int_get(flag) != 0;
        if (!interrupted && ifm_clock_now_ns(line->clock) < atomic_load(&line->progress_ns) + watchdog_ns)
            continue;
        if (interrupted)
            ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted");
        else
            set_timeout(line, watchdog_ns, error);
        wind_up(line, n_threads, interrupted ? watchdog_ns : MIN(watchdog_ns, GRACE_NS));
        return FALSE;
    }
}
