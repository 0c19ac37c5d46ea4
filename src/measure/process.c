#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <base/base.h>
#include <base/fields.h>
#include <sensor/sensor.h>

#include "measure-private.h"

/* A worker is a process with a channel: these functions start it, ask it, hold it to limits, and say why it ended. */

#define CHANNEL_FD 3
/* How often limits and interruption are looked at while nothing is heard. */
#define LOOK_MS 50
/* What a worker is given to finish after an interruption, and to end after its channel was closed. */
#define FINISH_NS (700 * IFM_NS_PER_MS)
#define END_NS (300 * IFM_NS_PER_MS)
/* What the runtime prints is kept in memory up to this much. */
#define LOG_MAX_BYTES (1 << 20)

struct IfmWorker
{
    GPid pid;
    int fd;     /* our end of the channel */
    int log_fd; /* what it prints, in memory */
    IfmMessageReader reader;
    char *word, *phase; /* what it last said it does; and with what */
    gint64
        spare_ns; /* what it may be silent for in that phase, beyond the hang limit: it waits, or has a watch of its own */
    gboolean gone;
    int status;            /* of waitpid, once gone */
    gint64 base_rss_bytes; /* its own figure, with the runtime open and no model; -1: not reported yet */
};

/* --- starting and ending ------------------------------------------------------------------------------------------ */

/* In the child, before exec: only what may be called there. A group of its own keeps the terminal's Ctrl-C from it. A batch
 * system ends a job by SIGTERM to each of its processes: the program decides then, and no case has failed. The death signal
 * ends it however the program dies (the channel's end of file does too, in case this thread ends first). */
static void child_setup(gpointer data)
{
    setpgid(0, 0);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* TMPDIR: what a runtime drops goes with the runner. A simulated device's loss outlives a worker as a real one's does. */
static char **worker_environment(const char *temporary, const char *setting)
{
    g_auto(GStrv) words = setting != NULL ? g_strsplit(setting, "=", 2) : NULL;
    char **environment = g_get_environ();
    environment = g_environ_setenv(environment, "ORT_DISABLE_TELEMETRY", "1", TRUE);
    environment = g_environ_setenv(environment, "IFM_SIMULATED_STATE_DIR", temporary, FALSE);
    if (words != NULL)
        environment = g_environ_setenv(environment, words[0], words[1], TRUE);
    return g_environ_setenv(environment, "TMPDIR", temporary, TRUE);
}

static gboolean spawn(IfmWorker *worker, const char *program, int child_fd, const char *temporary, const char *device,
                      const char *setting, GError **error)
{
    g_auto(GStrv) environment = worker_environment(temporary, setting);
    g_autofree char *channel = g_strdup_printf("%d", CHANNEL_FD);
    g_autofree char *parent = g_strdup_printf("%d", (int)getpid());
    const char *arguments[] = { program, channel, parent, device, NULL };
    const int target_fd = CHANNEL_FD;
    g_autoptr(GError) failure = NULL;
    return g_spawn_async_with_pipes_and_fds(NULL, arguments, (const char *const *)environment, G_SPAWN_DO_NOT_REAP_CHILD,
                                            child_setup, NULL, -1, worker->log_fd, worker->log_fd, &child_fd, &target_fd, 1,
                                            &worker->pid, NULL, NULL, NULL, &failure) ||
           ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", program, failure->message);
}

IfmWorker *ifm_worker_start(const char *temporary, const char *device, const char *setting, GError **error)
{
    int ends[2] = { -1, -1 };
    g_autofree char *program = ifm_path_worker(error);
    if (program == NULL)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "channel to a worker: %s", g_strerror(errno));
        return NULL;
    }
    IfmWorker *worker = g_new0(IfmWorker, 1);
    worker->fd = ends[0];
    worker->log_fd = memfd_create("inferometer-worker-log", MFD_CLOEXEC);
    if (worker->log_fd >= 0)
        fcntl(worker->log_fd, F_SETFL, O_APPEND);
    worker->word = g_strdup("starting");
    worker->phase = g_strdup("starting");
    worker->base_rss_bytes = -1; /* no limit yet */
    fcntl(worker->fd, F_SETFL, O_NONBLOCK);
    ifm_message_reader_init(&worker->reader, worker->fd);
    worker->gone = !spawn(worker, program, ends[1], temporary, device, setting, error);
    close(ends[1]);
    if (worker->gone)
        g_clear_pointer(&worker, ifm_worker_free);
    return worker;
}

static gint64 now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

/* Waits for its end, at most that long. */
static gboolean reap(IfmWorker *worker, gint64 patience_ns)
{
    gint64 deadline_ns = now_ns() + patience_ns;
    while (!worker->gone)
    {
        pid_t pid = waitpid(worker->pid, &worker->status, WNOHANG);
        worker->gone = pid == worker->pid || (pid < 0 && errno == ECHILD);
        if (worker->gone || now_ns() >= deadline_ns)
            break;
        g_usleep(1000);
    }
    return worker->gone;
}

/* Its first thread is gone, so it is ending, though it cannot be waited for before its other threads are gone, too. */
static gboolean is_ending(const IfmWorker *worker)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)worker->pid);
    g_autofree char *text = NULL;
    const char *state = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
    return state != NULL && g_str_has_prefix(state, ") Z");
}

/* Ends it at once. */
static void kill_worker(IfmWorker *worker)
{
    if (worker->gone)
        return;
    kill(-worker->pid, SIGKILL); /* what the runtime started, too */
    kill(worker->pid, SIGKILL);
    while (!worker->gone && waitpid(worker->pid, &worker->status, 0) < 0 && errno == EINTR)
        ;
    worker->gone = TRUE;
}

gboolean ifm_worker_is_alive(IfmWorker *worker)
{
    if (!reap(worker, 0) && is_ending(worker))
        kill_worker(worker);
    return !worker->gone;
}

void ifm_worker_free(IfmWorker *worker)
{
    if (worker == NULL)
        return;
    shutdown(worker->fd, SHUT_RDWR); /* it ends by that */
    if (!reap(worker, END_NS))
        kill_worker(worker);
    close(worker->fd);
    if (worker->log_fd >= 0)
        close(worker->log_fd);
    ifm_message_reader_clear(&worker->reader);
    g_free(worker->word);
    g_free(worker->phase);
    g_free(worker);
}

typedef struct
{
    IfmWorker *worker;
    const IfmWorkerWatch *watch;
    gint64 began_ns, heard_ns;
    gint64 n_steps;     /* that the worker announced to make before it is heard again */
    gint64 oom_kills;   /* when it was asked */
    gint64 reported_ns; /* when it was asked to finish; 0: not yet */
} Asking;

/* --- why it ended ------------------------------------------------------------------------------------------------- */

/* The last line it printed, "" where it printed nothing. */
static char *last_line(const IfmWorker *worker)
{
    char tail[512] = "";
    off_t end = worker->log_fd >= 0 ? lseek(worker->log_fd, 0, SEEK_END) : 0;
    off_t from = MAX(0, end - (off_t)(sizeof tail - 1));
    gssize n = end > 0 ? pread(worker->log_fd, tail, sizeof tail - 1, from) : 0;
    tail[MAX(n, 0)] = '\0';
    g_autofree char *text = g_utf8_make_valid(g_strchomp(tail), -1);
    const char *line = strrchr(text, '\n');
    return g_strdup(line != NULL ? line + 1 : text);
}

static char *signal_name(int number)
{
    const char *name = sigabbrev_np(number);
    return name != NULL ? g_strdup_printf("SIG%s", name) : g_strdup_printf("signal %d", number);
}

/* How many processes the kernel has ended for want of memory; -1 if unknown. */
static gint64 count_oom_kills(void)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/vmstat", &text, NULL, NULL))
        return -1;
    const char *line = strstr(text, "\noom_kill ");
    return line != NULL ? g_ascii_strtoll(line + strlen("\noom_kill "), NULL, 10) : -1;
}

static void set_death(const Asking *asking, GError **error)
{
    const IfmWorker *worker = asking->worker;
    g_autofree char *line = last_line(worker);
    g_autofree char *how = NULL;
    if (WIFSIGNALED(worker->status))
    {
        g_autofree char *name = signal_name(WTERMSIG(worker->status));
        how = g_strdup_printf("ended by %s", name);
    }
    else
        how = g_strdup_printf("ended with status %d", WEXITSTATUS(worker->status));
    gboolean starved =
        WIFSIGNALED(worker->status) && WTERMSIG(worker->status) == SIGKILL && count_oom_kills() > asking->oom_kills;
    ifm_error_set(error, starved ? IFM_ERROR_MEMORY : IFM_ERROR_FAILED, "worker %s while %s%s%s%s", how, worker->phase,
                  starved ? " (the kernel was out of memory)" : "", *line != '\0' ? ": " : "", line);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

static gboolean check_memory(const Asking *asking, GError **error)
{
    const IfmWorker *worker = asking->worker;
    gint64 limit_bytes = asking->watch->limits->memory_bytes;
    if (limit_bytes <= 0 || worker->base_rss_bytes < 0)
        return TRUE;
    gint64 grown_bytes = ifm_sensor_rss_bytes("/", worker->pid) - worker->base_rss_bytes;
    return grown_bytes <= limit_bytes ||
           ifm_error_set(error, IFM_ERROR_MEMORY, "worker took %.1f MiB while %s, the limit is %.1f MiB",
                         (double)grown_bytes / (1 << 20), worker->phase, (double)limit_bytes / (1 << 20));
}

static gboolean check_limits(const Asking *asking, GError **error)
{
    const IfmLimits *limits = asking->watch->limits;
    gint64 now = now_ns();
    const char *phase = asking->worker->phase;
    if (limits->case_time_ns > 0 && asking->watch->spent_ns + now - asking->began_ns > limits->case_time_ns)
    {
        g_autofree char *limit = ifm_format_duration((double)limits->case_time_ns);
        return ifm_error_set(error, IFM_ERROR_TIMEOUT, "not done within the case's limit of %s (was %s)", limit, phase);
    }
    gint64 silence_ns = limits->hang_ns * asking->n_steps + asking->worker->spare_ns;
    if (limits->hang_ns > 0 && now - asking->heard_ns > silence_ns)
    {
        g_autofree char *limit = ifm_format_duration((double)silence_ns);
        return ifm_error_set(error, IFM_ERROR_TIMEOUT, "no sign of life for %s while %s", limit, phase);
    }
    return check_memory(asking, error);
}

/* Asks it once to finish, then waits a little. Returns: FALSE once that is over. */
static gboolean check_interruption(Asking *asking, GError **error)
{
    const gint *interrupted = asking->watch->interrupted;
    if (interrupted == NULL || g_atomic_int_get(interrupted) == 0)
        return TRUE;
    if (asking->reported_ns == 0)
    {
        json_auto_t *stop = json_pack("{s:s}", "do", "stop");
        asking->reported_ns = now_ns();
        ifm_message_send(asking->worker->fd, stop);
    }
    return now_ns() - asking->reported_ns < FINISH_NS ||
           ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted while %s", asking->worker->phase);
}

static void drop_long_log(const IfmWorker *worker)
{
    off_t end = worker->log_fd >= 0 ? lseek(worker->log_fd, 0, SEEK_END) : 0;
    if (end > LOG_MAX_BYTES && ftruncate(worker->log_fd, 0) != 0)
        g_debug("worker log: %s", g_strerror(errno));
}

/* "compiling", then, with what it reports on the way, "compiling block 1 for CPU". */
static void take_phase(IfmWorker *worker, const json_t *message)
{
    const char *word = ifm_member_text(message, "phase");
    const char *detail = ifm_member_text(message, "detail");
    gboolean is_new = word != NULL && g_strcmp0(word, worker->word) != 0;
    if (is_new)
    {
        g_free(worker->word);
        worker->word = g_strdup(word);
        worker->spare_ns = json_integer_value(json_object_get(message, "spare_ns"));
    }
    if (!is_new && detail == NULL)
        return;
    g_free(worker->phase);
    worker->phase = detail != NULL ? g_strdup_printf("%s %s", worker->word, detail) : g_strdup(worker->word);
    if (detail != NULL)
        worker->spare_ns = json_integer_value(json_object_get(message, "spare_ns"));
}

/* Takes the answer out of a message. Returns: whether it was one; *answer NULL with @error where it is an error. */
static gboolean take_answer(Asking *asking, json_t *message, json_t **answer, GError **error)
{
    IfmWorker *worker = asking->worker;
    const char *say = ifm_member_text(message, "say");
    asking->heard_ns = now_ns();
    asking->n_steps = MAX(1, json_integer_value(json_object_get(message, "steps")));
    json_t *base = json_object_get(message, "base_rss_bytes");
    if (json_is_integer(base))
        worker->base_rss_bytes = json_integer_value(base);
    take_phase(worker, message);
    if (g_strcmp0(say, "answer") == 0)
    {
        *answer = json_incref(json_object_get(message, "answer"));
        return TRUE;
    }
    if (g_strcmp0(say, "error") == 0)
    {
        const char *text = ifm_member_text(message, "message");
        if (asking->watch->is_wrong != NULL)
            *asking->watch->is_wrong = json_is_true(json_object_get(message, "wrong"));
        g_set_error_literal(error, IFM_ERROR, ifm_error_code_from_name(ifm_member_text(message, "code")),
                            text != NULL ? text : "the worker does not say why");
        return TRUE;
    }
    if (asking->watch->said != NULL)
        asking->watch->said(message, asking->watch->user);
    return FALSE;
}

typedef enum
{
    HEARD_NOTHING,
    HEARD_ANSWER, /* or an error of its own */
    HEARD_DEATH,
} Heard;

static Heard listen_to(Asking *asking, json_t **answer, GError **error)
{
    for (;;)
    {
        json_auto_t *message = NULL;
        IfmMessageState state = ifm_message_read(&asking->worker->reader, &message);
        if (state == IFM_MESSAGE_NOT_YET)
            return HEARD_NOTHING;
        if (state == IFM_MESSAGE_ENDED)
            return HEARD_DEATH;
        if (take_answer(asking, message, answer, error))
            return HEARD_ANSWER;
    }
}

static Heard wait_for_answer(Asking *asking, json_t **answer, GError **error)
{
    struct pollfd channel = { .fd = asking->worker->fd, .events = POLLIN };
    for (;;)
    {
        poll(&channel, 1, LOOK_MS);
        Heard heard = listen_to(asking, answer, error);
        if (heard == HEARD_DEATH)
        {
            if (reap(asking->worker, END_NS))
                set_death(asking, error);
            else
                ifm_error_set(error, IFM_ERROR_FAILED, "worker broke off its channel while %s", asking->worker->phase);
        }
        if (heard != HEARD_NOTHING)
            return heard;
        if (!check_interruption(asking, error) || !check_limits(asking, error))
            return HEARD_NOTHING;
        drop_long_log(asking->worker);
    }
}

json_t *ifm_worker_ask(IfmWorker *worker, json_t *request, const IfmWorkerWatch *watch, gboolean *alive, GError **error)
{
    Asking asking = { .worker = worker, .watch = watch, .began_ns = now_ns(), .oom_kills = count_oom_kills() };
    json_t *answer = NULL;
    asking.heard_ns = asking.began_ns;
    asking.n_steps = 1;
    if (worker->log_fd >= 0 && ftruncate(worker->log_fd, 0) != 0)
        g_debug("worker log: %s", g_strerror(errno));
    gboolean sent = ifm_message_send(worker->fd, request);
    if (!sent && (errno == EMSGSIZE || errno == ETIMEDOUT))
    {
        ifm_error_set(error, errno == EMSGSIZE ? IFM_ERROR_INVALID : IFM_ERROR_TIMEOUT,
                      "a request to a worker was not taken: %s", g_strerror(errno));
        *alive = FALSE;
    }
    else /* where it is dead, the answer says how it died */
        *alive = wait_for_answer(&asking, &answer, error) == HEARD_ANSWER;
    if (!*alive)
        kill_worker(worker);
    return answer;
}
