#include <base/base.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"

/* The owner of temporary folders, in a TMPDIR of this program's own: see main(). */

static guint count_folders(void)
{
    g_autoptr(GDir) dir = g_dir_open(g_get_tmp_dir(), 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

static char *in_tmp(const char *name)
{
    return g_build_filename(g_get_tmp_dir(), name, NULL);
}

/* What a process leaves that is killed: before it has the lock, with it, and while it removes its folder. A folder of
 * another name, and a link, are none of ours. */
static void test_orphans(void)
{
    static const struct
    {
        const char *name, *files[3];
        gboolean stays;
    } rows[] = {
        { "inferometer-tmp-aaaaaa", { NULL }, FALSE },
        { "inferometer-tmp-bbbbbb", { "lock" }, FALSE },
        { "inferometer-tmp-cccccc", { "lock", "model.onnx" }, FALSE },
        { "inferometer-tmp-dddddd", { "model.onnx" }, FALSE },
        { "inferometer-models", { "lock", "model.onnx" }, TRUE },
        { "inferometer-tmp-eeeeeee", { NULL }, TRUE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *path = in_tmp(rows[i].name);
        g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
        for (gsize k = 0; rows[i].files[k] != NULL; k++)
        {
            g_autofree char *file = g_build_filename(path, rows[i].files[k], NULL);
            g_assert_true(g_file_set_contents(file, "", 0, NULL));
        }
    }
    g_autofree char *link = in_tmp("inferometer-tmp-ffffff"), *target = in_tmp("inferometer-models");
    g_assert_cmpint(symlink(target, link), ==, 0);
    IfmTemporary folder = { 0 };
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_temporary_make(&folder, &error));
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *path = in_tmp(rows[i].name);
        g_test_message("%s", rows[i].name);
        g_assert_cmpint(g_file_test(path, G_FILE_TEST_EXISTS), ==, rows[i].stays);
        remove_tree(path);
    }
    g_assert_cmpint(g_unlink(link), ==, 0);
    ifm_temporary_clear(&folder);
    g_assert_cmpuint(count_folders(), ==, 0);
}

/* Makes folders and uses them, while others do the same and remove whatever has no lock. */
static gpointer use_folders(gpointer data)
{
    for (int i = 0; i < 200; i++)
    {
        IfmTemporary folder = { 0 };
        g_autoptr(GError) error = NULL;
        g_assert_true(ifm_temporary_make(&folder, &error));
        g_assert_no_error(error);
        g_autofree char *file = g_build_filename(folder.path, "model.onnx", NULL);
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        g_thread_yield();
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
        ifm_temporary_clear(&folder);
        g_assert_null(folder.path);
    }
    return NULL;
}

/* At no moment is a folder in use one that another removes. */
static void test_at_once(void)
{
    GThread *threads[4];
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("use", use_folders, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    g_assert_cmpuint(count_folders(), ==, 0);
}

/* Killed at any moment, a process leaves nothing that the next one does not remove. */
static void test_killed(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    char *arguments[] = { program, (char *)"--victim", NULL };
    guint n_left = 0;
    for (int i = 0; i < 100; i++)
    {
        GPid victim;
        IfmTemporary folder = { 0 };
        g_autoptr(GError) error = NULL;
        g_assert_true(g_spawn_async(NULL, arguments, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &victim, &error));
        g_usleep(2000 + (gulong)g_test_rand_int_range(0, 8000));
        kill(victim, SIGKILL);
        waitpid(victim, NULL, 0);
        n_left += count_folders();
        g_assert_true(ifm_temporary_make(&folder, &error));
        ifm_temporary_clear(&folder);
        g_assert_cmpuint(count_folders(), ==, 0);
    }
    g_test_message("100 processes left %u folders", n_left);
}

int main(int argc, char **argv)
{
    if (argc == 2 && g_str_equal(argv[1], "--victim"))
        for (;;)
            use_folders(NULL);
    char temporary[] = "/tmp/ifm-temporary-XXXXXX";
    if (mkdtemp(temporary) == NULL || !g_setenv("TMPDIR", temporary, TRUE))
        return 1;
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/temporary/orphans", test_orphans);
    g_test_add_func("/temporary/at-once", test_at_once);
    g_test_add_func("/temporary/killed", test_killed);
    const int status = g_test_run();
    return g_rmdir(temporary) == 0 ? status : 1;
}
