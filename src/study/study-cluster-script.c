#include <string.h>

#include "study-cluster-private.h"
#include <math.h>

/*
 * The script of a job array. Its lines for sbatch are read by sbatch's own rules, which know quotes and backslashes. The
 * rest is read by a shell. A task that ends early continues:
 *
 * - Where its node fails or it is requeued, Slurm queues it again (--requeue). The store has all but the case in hand.
 * - Before the time limit Slurm warns the shell (--signal=B:USR1). It ends the run and queues the task again, if that
 * stored anything since it began. Else a case takes longer than the limit.
 */

/* How long before the limit of a task it is warned; of a shorter one a quarter of it. */
#define WARNING_S 60

/* FALSE with an error for what no line can hold. */
static gboolean check_line(const char *what, const char *text, GError **error)
{
    for (const char *at = text; *at != '\0'; at++)
        if (g_ascii_iscntrl(*at))
            return ifm_error_refuse(error, "%s: has a control character, which a script for sbatch cannot have", what);
    return TRUE;
}

/* "--output=/a \"b\"" in double quotes, with a backslash before quotes and backslashes, where it has more than harmless
 * characters. */
static void append_directive(GString *script, const char *option)
{
    static const char harmless[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-=/.,:@+%";
    gboolean plain = option[strspn(option, harmless)] == '\0';
    g_string_append(script, plain ? "#SBATCH " : "#SBATCH \"");
    for (const char *at = option; *at != '\0'; at++)
    {
        if (*at == '"' || *at == '\\')
            g_string_append_c(script, '\\');
        g_string_append_c(script, *at);
    }
    g_string_append(script, plain ? "\n" : "\"\n");
}

/* "1-6", "2,5,6": ascending numbers. */
static char *array_of(const GArray *shards)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < shards->len; i++)
    {
        gint64 first = g_array_index(shards, gint64, i), last = first;
        while (i + 1 < shards->len && g_array_index(shards, gint64, i + 1) == last + 1)
            last = g_array_index(shards, gint64, ++i);
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, text->len > 0 ? "," : "", first);
        if (last > first)
            g_string_append_printf(text, "-%" G_GINT64_FORMAT, last);
    }
    return g_string_free(text, FALSE);
}

/* The log's path as a pattern: a percent sign of the folder is doubled. A backslash would switch patterns off. */
static char *log_pattern(const char *folder, gint64 n_shards, GError **error)
{
    if (strchr(folder, '\\') != NULL)
    {
        ifm_error_refuse(error, "%s: sbatch cannot write into a folder with a backslash in its name", folder);
        return NULL;
    }
    g_auto(GStrv) parts = g_strsplit(folder, "%", -1);
    g_autofree char *plain = g_strjoinv("%%", parts);
    return g_strdup_printf("%s/shard-%%a-of-%" G_GINT64_FORMAT ".out", plain, n_shards);
}

static gboolean append_directives(GString *script, const ClusterRecord *record, const char *folder, const GArray *shards,
                                  const ClusterRequest *request, GError **error)
{
    g_autofree char *pattern = log_pattern(folder, record->n_shards, error), *numbers = array_of(shards);
    gint64 warning_s = request->time_ns > 0 ? MIN(WARNING_S, request->time_ns / 4000000000) : WARNING_S;
    if (pattern == NULL || !check_line(folder, pattern, error))
        return FALSE;
    g_autofree char *name = g_strdup_printf("--job-name=%s", record->name), *array = g_strdup_printf("--array=%s", numbers),
                    *log = g_strdup_printf("--output=%s", pattern),
                    *warning = g_strdup_printf("--signal=B:USR1@%" G_GINT64_FORMAT, MAX(warning_s, 1));
    const char *const own[] = { name, array, log, "--open-mode=append", "--requeue", warning };
    for (gsize i = 0; i < G_N_ELEMENTS(own); i++)
        append_directive(script, own[i]);
    for (guint i = 0; i < request->options->len; i++)
    {
        if (!check_line("an option of sbatch", request->options->pdata[i], error))
            return FALSE;
        append_directive(script, request->options->pdata[i]);
    }
    return TRUE;
}

static gboolean append_word(GString *script, const char *word, GError **error)
{
    g_autofree char *quoted = g_shell_quote(word);
    if (!check_line("an argument", word, error))
        return FALSE;
    g_string_append_printf(script, " %s", quoted);
    return TRUE;
}

static gboolean append_command(GString *script, const ClusterRecord *record, const ClusterRequest *request, GError **error)
{
    const char *const first[] = { "study", "run", record->study, "--only", "measure" };
    g_autofree char *program = g_shell_quote(request->program);
    g_string_append(script, program);
    for (gsize i = 0; i < G_N_ELEMENTS(first); i++)
    {
        if (!append_word(script, first[i], error))
            return FALSE;
    }
    g_string_append_printf(script, " --shard \"$shard/%" G_GINT64_FORMAT "\" -o \"$folder\"", record->n_shards);
    for (char **word = request->arguments; *word != NULL; word++)
    {
        if (!append_word(script, *word, error))
            return FALSE;
    }
    g_string_append(script, " &\n");
    return TRUE;
}

char *cluster_script(const ClusterRecord *record, const char *folder, const GArray *shards, const ClusterRequest *request,
                     GError **error)
{
    g_autoptr(GString) script = g_string_new("#!/bin/sh\n");
    g_autofree char *cluster = g_build_filename(folder, CLUSTER_FOLDER, NULL), *quoted = g_shell_quote(cluster);
    g_string_append_printf(script, "# The %" G_GINT64_FORMAT " shards of study %s, by inferometer " IFM_VERSION "\n",
                           record->n_shards, record->name);
    if (!check_line("--program", request->program, error) ||
        !append_directives(script, record, folder, shards, request, error))
        return NULL;
    g_string_append(script, "\n");
    for (guint i = 0; i < request->setup->len; i++)
    {
        if (!check_line("setup", request->setup->pdata[i], error))
            return NULL;
        g_string_append_printf(script, "%s\n", (const char *)request->setup->pdata[i]);
    }
    g_string_append_printf(script,
                           "shard=$SLURM_ARRAY_TASK_ID\n"
                           "folder=%s/shard-$shard-of-%" G_GINT64_FORMAT "\n"
                           "mkdir -p \"$folder\" && : >\"$folder/started\" || exit\n"
                           "warned=\n"
                           "trap 'warned=yes; kill -TERM \"$run\"' USR1\n"
                           "trap 'kill -TERM \"$run\"' TERM\n",
                           quoted, record->n_shards);
    if (!append_command(script, record, request, error))
        return NULL;
    g_string_append(script, "run=$!\n"
                            "# A signal ends wait, not the run.\n"
                            "wait \"$run\"; status=$?\n"
                            "while kill -0 \"$run\" 2>/dev/null; do wait \"$run\"; status=$?; done\n"
                            "if [ \"$warned\" ] && [ \"$folder/store.db\" -nt \"$folder/started\" ]; then\n"
                            "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$shard\" && exit 0\n"
                            "fi\n"
                            "exit \"$status\"\n");
    return g_string_free(g_steal_pointer(&script), FALSE);
}
