#pragma once
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include <base/fields.h>

#include "build-folders.h"
#include "folder.h"
#define GOLDEN_FOLDER "cli"
#include "document/golden.h"

/* What the tests of the command share: running it in a folder of its own and looking at what it said. */

#define PROGRAM IFM_BUILD_DIR "/inferometer"
/* Marks every process a test starts, workers included, so that those left running can be found. */
#define MARK_VARIABLE "IFM_TEST_MARK"

typedef struct
{
    char *folder;    /* the command's working directory; removed afterwards */
    char *temporary; /* where it puts temporary folders: none may be left there */
    char *mark;
    const char *devices; /* folder of descriptions of simulated devices; NULL: the tests' */
} Bench;

typedef struct
{
    int status; /* exit status; 128 + N where signal N ended it */
    char *out, *err;
} Ended;

static inline void ended_clear(Ended *ended)
{
    g_clear_pointer(&ended->out, g_free);
    g_clear_pointer(&ended->err, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Ended, ended_clear)

static inline void bench_init(Bench *bench, gconstpointer data)
{
    bench->folder = g_dir_make_tmp("ifm-cli-XXXXXX", NULL);
    bench->temporary = g_dir_make_tmp("ifm-cli-temporary-XXXXXX", NULL);
    bench->mark = g_uuid_string_random();
    g_assert_true(bench->folder != NULL && bench->temporary != NULL);
}

/* How many temporary folders of the program there are. */
static inline guint count_temporary(const Bench *bench)
{
    g_autoptr(GDir) dir = g_dir_open(bench->temporary, 0, NULL);
    guint n = 0;
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
        n += g_str_has_prefix(name, "inferometer-");
    return n;
}

static inline void bench_clear(Bench *bench, gconstpointer data)
{
    for (int i = 0; i < 500 && count_temporary(bench) > 0; i++)
        g_usleep(10000); /* asked twice for its end, the command has another process remove them */
    g_assert_cmpuint(count_temporary(bench), ==, 0);
    remove_tree(bench->folder);
    remove_tree(bench->temporary);
    g_free(bench->folder);
    g_free(bench->temporary);
    g_free(bench->mark);
}

static inline char *bench_path(const Bench *bench, const char *name)
{
    return g_build_filename(bench->folder, name, NULL);
}

static inline void bench_write(const Bench *bench, const char *name, gconstpointer bytes, gsize length)
{
    g_autofree char *path = bench_path(bench, name);
    g_assert_true(g_file_set_contents(path, bytes, (gssize)length, NULL));
}

/* A launcher with the environment that makes output the same everywhere. */
static inline GSubprocessLauncher *bench_launcher(const Bench *bench)
{
    GSubprocessLauncher *launcher =
        g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
    g_autofree char *devices = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "devices", NULL);
    g_subprocess_launcher_set_cwd(launcher, bench->folder);
    g_subprocess_launcher_setenv(launcher, "LC_ALL", "C.UTF-8", TRUE);
    g_subprocess_launcher_setenv(launcher, "COLUMNS", "100", TRUE);
    g_subprocess_launcher_setenv(launcher, "IFM_DEVICES_DIR", bench->devices != NULL ? bench->devices : devices, TRUE);
    g_subprocess_launcher_setenv(launcher, MARK_VARIABLE, bench->mark, TRUE);
    g_subprocess_launcher_setenv(launcher, "TMPDIR", bench->temporary, TRUE);
    g_subprocess_launcher_unsetenv(launcher, "G_TEST_SRCDIR");
    return launcher;
}

static inline int status_of(GSubprocess *process)
{
    return g_subprocess_get_if_exited(process) ? g_subprocess_get_exit_status(process)
                                               : 128 + g_subprocess_get_term_sig(process);
}

static inline void launch(GSubprocessLauncher *launcher, const char *const *words, Ended *ended)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GSubprocess) process = g_subprocess_launcher_spawnv(launcher, words, &error);
    g_assert_no_error(error);
    g_subprocess_communicate_utf8(process, NULL, NULL, &ended->out, &ended->err, &error);
    g_assert_no_error(error);
    ended->status = status_of(process);
}

/* Runs "inferometer LINE" (words parted by blanks; none holds one). */
static inline void run_line(const Bench *bench, const char *line, Ended *ended)
{
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_autofree char *whole = g_strdup_printf("%s %s", PROGRAM, line);
    g_auto(GStrv) words = g_strsplit(whole, " ", -1);
    ended_clear(ended);
    launch(launcher, (const char *const *)words, ended);
}

/* Runs a shell script in which $INFEROMETER is the command. */
static inline void run_shell(const Bench *bench, const char *shell, const char *script, Ended *ended)
{
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_subprocess_launcher_setenv(launcher, "INFEROMETER", PROGRAM, TRUE);
    ended_clear(ended);
    launch(launcher, (const char *[]){ shell, "-c", script, NULL }, ended);
}

/* Starts "inferometer LINE" and does not wait for it. (transfer full) */
static inline GSubprocess *start_line(const Bench *bench, const char *line)
{
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_autoptr(GError) error = NULL;
    g_autofree char *whole = g_strdup_printf("%s %s", PROGRAM, line);
    g_auto(GStrv) words = g_strsplit(whole, " ", -1);
    GSubprocess *process = g_subprocess_launcher_spawnv(launcher, (const char *const *)words, &error);
    g_assert_no_error(error);
    return process;
}

/* What `inferometer devices` says: asked once, for opening every runtime takes longer than most tests. */
static inline const char *bench_listing(const Bench *bench)
{
    static char *listing;
    if (listing == NULL)
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, "devices", &ended);
        listing = g_steal_pointer(&ended.out);
    }
    return listing;
}

/* Whether the command lists that device of a real runtime as there. @more: what the row has to say beside that ("" for
 * nothing) */
static inline gboolean bench_has_device(const Bench *bench, const char *device, const char *more)
{
    g_autofree char *row = g_strdup_printf("^%s *available.*%s", device, more);
    return g_regex_match_simple(row, bench_listing(bench), G_REGEX_MULTILINE, 0);
}

/* The same, and the test is skipped where it is not. */
static inline gboolean bench_needs_device(const Bench *bench, const char *device, const char *more)
{
    gboolean has = bench_has_device(bench, device, more);
    g_autofree char *why = g_strdup_printf("no %s%s%s on this machine", device, *more != '\0' ? " with " : "", more);
    if (!has)
        g_test_skip(why);
    return has;
}

/* That it ended so; shows what it said where it did not. */
static inline void assert_status(const Ended *ended, int status)
{
    if (ended->status != status)
        g_test_message("stdout: %.2000s\nstderr: %.2000s", ended->out, ended->err);
    g_assert_cmpint(ended->status, ==, status);
}

/* That all it said was one line "inferometer: …" with @part in it, and that it ended with @status. */
static inline void assert_complaint(const Ended *ended, int status, const char *part)
{
    assert_status(ended, status);
    const char *end = strchr(ended->err, '\n');
    if (!g_str_has_prefix(ended->err, "inferometer: ") || end == NULL || end[1] != '\0' || strstr(ended->err, part) == NULL)
        g_error("expected one line with \"%s\", got: %s", part, ended->err);
}

static inline json_t *parse_output(const Ended *ended)
{
    g_autoptr(GError) error = NULL;
    json_t *json = ifm_json_parse(ended->out, strlen(ended->out), "stdout", &error);
    g_assert_no_error(error);
    return json;
}

/* Whether "NAME=VALUE" is in a process's environment. */
static inline gboolean has_setting(const char *pid, const char *setting)
{
    gsize length = 0;
    g_autofree char *path = g_build_filename("/proc", pid, "environ", NULL), *environment = NULL;
    if (!g_file_get_contents(path, &environment, &length, NULL))
        return FALSE;
    for (gsize at = 0; at < length; at += strlen(environment + at) + 1)
        if (g_str_equal(environment + at, setting))
            return TRUE;
    return FALSE;
}

/* How many processes with the bench's mark there are. */
static inline guint count_marked(const Bench *bench)
{
    guint n = 0;
    g_autofree char *mark = g_strdup_printf(MARK_VARIABLE "=%s", bench->mark);
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    for (const char *name; (name = g_dir_read_name(proc)) != NULL;)
        n += g_ascii_isdigit(name[0]) && has_setting(name, mark);
    return n;
}

/* That nothing is left running; what was told to end is given time to. */
static inline void assert_none_left(const Bench *bench)
{
    for (int look = 0; look < 200 && count_marked(bench) > 0; look++)
        g_usleep(50000);
    g_assert_cmpuint(count_marked(bench), ==, 0);
}

/* For a launcher's child: root's power to write where it may not is given up for good. */
static inline void drop_override(gpointer data)
{
    prctl(PR_CAPBSET_DROP, 1, 0, 0, 0); /* CAP_DAC_OVERRIDE */
    prctl(PR_CAPBSET_DROP, 2, 0, 0, 0); /* CAP_DAC_READ_SEARCH */
}
