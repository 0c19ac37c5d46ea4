#include <gio/gio.h>
#include <string.h>

#include "study-cluster-private.h"

/* Slurm's own programs, started without a shell. Their C locale keeps the words that are looked for. */

typedef struct
{
    int status; /* exit status, or 128 + the signal */
    char *out, *err;
} Said;

static void said_clear(Said *said)
{
    g_free(said->out);
    g_free(said->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Said, said_clear)

static gboolean run_program(const char *const *words, Said *said, GError **error)
{
    g_autofree char *path = g_find_program_in_path(words[0]);
    if (path == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                      "%s is not installed: on a login node of a Slurm cluster it is; elsewhere install Slurm's client "
                      "(Debian: slurm-client)",
                      words[0]);
        return FALSE;
    }
    g_autoptr(GSubprocessLauncher) launcher =
        g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
    g_subprocess_launcher_setenv(launcher, "LC_ALL", "C", TRUE);
    g_autoptr(GError) trouble = NULL;
    g_autoptr(GSubprocess) process = g_subprocess_launcher_spawnv(launcher, words, &trouble);
    if (process == NULL || !g_subprocess_communicate_utf8(process, NULL, NULL, &said->out, &said->err, &trouble))
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %s", words[0], trouble->message);
    said->status = g_subprocess_get_if_exited(process) ? g_subprocess_get_exit_status(process)
                                                       : 128 + g_subprocess_get_term_sig(process);
    return TRUE;
}

/* What a program complained of, as one line: "sbatch: invalid partition specified: x; Batch job submission failed". */
static gboolean fail(const char *program, const Said *said, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(said->err, "\n", -1);
    g_autofree char *prefix = g_strdup_printf("%s: ", program);
    static const char *const levels[] = { "error: ", "fatal: " };
    for (char **one = lines; *one != NULL; one++)
    {
        const char *text = g_strstrip(*one);
        if (g_str_has_prefix(text, prefix))
            text += strlen(prefix);
        for (gsize i = 0; i < G_N_ELEMENTS(levels); i++)
            if (g_str_has_prefix(text, levels[i]))
                text += strlen(levels[i]);
        if (*text != '\0')
            g_string_append_printf(line, "%s%s", line->len > 0 ? "; " : "", text);
    }
    if (line->len == 0)
        g_string_append_printf(line, "ended with status %d and said nothing", said->status);
    return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %s", program, line->str);
}

/* "123" or "123;CLUSTER", as --parsable prints it. */
gboolean cluster_queue_submit(const char *script, char **id, char **cluster, GError **error)
{
    static const char program[] = "sbatch";
    const char *const words[] = { program, "--parsable", script, NULL };
    g_auto(Said) said = { 0 };
    if (!run_program(words, &said, error))
        return FALSE;
    if (said.status != 0)
        return fail(program, &said, error);
    g_auto(GStrv) parts = g_strsplit(g_strstrip(said.out), ";", 2);
    if (parts[0] == NULL || parts[0][0] == '\0' || parts[0][strspn(parts[0], G_CSET_DIGITS)] != '\0')
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: answered \"%.80s\", expected the number of a job", program,
                             said.out);
    *id = g_strdup(parts[0]);
    *cluster = g_strdup(parts[1]);
    return TRUE;
}

/* --- the queue -------------------------------------------------------------------------------------------------------- */

/* "12_3|PENDING|(Resources)": a task a line. Lines of another form are headings of several clusters. */
static void take_tasks(GHashTable *tasks, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
    {
        g_auto(GStrv) parts = g_strsplit(*line, "|", 3);
        if (g_strv_length(parts) != 3)
            continue;
        for (char **part = parts; *part != NULL; part++)
            g_strstrip(*part);
        char *id = parts[0];
        g_hash_table_insert(tasks, id, g_steal_pointer(&parts));
    }
}

/* Slurm forgets a job some minutes after its end, and calls its number invalid from then on. */
static gboolean ask_for(GHashTable *tasks, const ClusterJob *job, GError **error)
{
    static const char program[] = "squeue";
    g_autofree char *jobs = g_strdup_printf("--jobs=%s", job->id);
    g_autofree char *clusters = job->cluster != NULL ? g_strdup_printf("--clusters=%s", job->cluster) : NULL;
    const char *const words[] = { program, "--noheader", "--array", "--format=%i|%T|%R", jobs, clusters, NULL };
    g_auto(Said) said = { 0 };
    if (!run_program(words, &said, error))
        return FALSE;
    if (said.status != 0 && strstr(said.err, "Invalid job id") == NULL)
        return fail(program, &said, error);
    take_tasks(tasks, said.out);
    return TRUE;
}

GHashTable *cluster_queue_ask(const ClusterRecord *record, GError **error)
{
    g_autoptr(GHashTable) tasks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_strfreev);
    for (guint i = 0; i < record->jobs->len; i++)
    {
        const ClusterJob *job = record->jobs->pdata[i];
        if (job->id != NULL && !ask_for(tasks, job, error))
            return NULL;
    }
    return g_steal_pointer(&tasks);
}
