#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include <base/base.h>

/* Files are written whole or not at all, and a process that is ended at it leaves nothing behind. */

static char *own_path;

typedef struct
{
    char *folder, *path;
} Place;

static void set_up(Place *place, gconstpointer data)
{
    place->folder = g_dir_make_tmp("ifm-file-XXXXXX", NULL);
    place->path = g_build_filename(place->folder, "kept", NULL);
    g_assert_true(g_file_set_contents(place->path, "before", -1, NULL));
    g_assert_cmpint(g_chmod(place->path, 0640), ==, 0);
}

static void tear_down(Place *place, gconstpointer data)
{
    g_unlink(place->path);
    g_assert_cmpint(g_rmdir(place->folder), ==, 0); /* and so nothing else is in it */
    g_free(place->folder);
    g_free(place->path);
}

static guint count_files(const Place *place)
{
    guint n = 0;
    g_autoptr(GDir) dir = g_dir_open(place->folder, 0, NULL);
    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

static void assert_content(const Place *place, const char *expected)
{
    g_autofree char *bytes = NULL;
    g_assert_true(g_file_get_contents(place->path, &bytes, NULL, NULL));
    g_assert_cmpstr(bytes, ==, expected);
}

static void test_replaced(Place *place, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    struct stat after;
    g_autoptr(IfmFileWriter) writer = ifm_file_writer_open(place->path, TRUE, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_file_writer_write(writer, "after", 5, &error));
    assert_content(place, "before");
    g_assert_true(ifm_file_writer_commit(writer, &error));
    assert_content(place, "after");
    g_assert_cmpint(stat(place->path, &after), ==, 0);
    g_assert_cmpint(after.st_mode & 0777, ==, 0640);
    g_assert_cmpuint(count_files(place), ==, 1);
}

/* A new file has the permissions that the umask leaves. */
static void test_new(Place *place, gconstpointer data)
{
    struct stat made;
    mode_t mask = umask(027);
    g_assert_cmpint(g_unlink(place->path), ==, 0);
    g_assert_true(ifm_file_save(place->path, "new", 3, NULL));
    umask(mask);
    assert_content(place, "new");
    g_assert_cmpint(stat(place->path, &made), ==, 0);
    g_assert_cmpint(made.st_mode & 0777, ==, 0640);
}

static void test_given_up(Place *place, gconstpointer data)
{
    IfmFileWriter *writer = ifm_file_writer_open(place->path, FALSE, NULL);
    g_assert_true(ifm_file_writer_write(writer, "after", 5, NULL));
    ifm_file_writer_free(writer);
    assert_content(place, "before");
    g_assert_cmpuint(count_files(place), ==, 1);
}

static gboolean has_nameless_files(const Place *place)
{
    int fd = open(place->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* This program once more, which writes half of a file and waits to be ended. */
static void write_half(const char *path)
{
    g_autoptr(IfmFileWriter) writer = ifm_file_writer_open(path, TRUE, NULL);
    g_assert_true(writer != NULL && ifm_file_writer_write(writer, "half", 4, NULL));
    g_assert_cmpint(write(STDOUT_FILENO, "!", 1), ==, 1);
    for (;;)
        pause();
}

/* A shell may have started the tests with these ignored. */
static void hear_signals(gpointer data)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void test_ended(Place *place, gconstpointer data)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGKILL };
    if (!has_nameless_files(place))
    {
        g_test_skip("this file system has no files without a name");
        return;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    {
        g_autoptr(GError) error = NULL;
        char reported = '\0';
        g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE);
        g_subprocess_launcher_set_child_setup(launcher, hear_signals, NULL, NULL);
        g_autoptr(GSubprocess) process =
            g_subprocess_launcher_spawn(launcher, &error, own_path, "--write-half", place->path, NULL);
        g_assert_no_error(error);
        g_assert_cmpint(g_input_stream_read(g_subprocess_get_stdout_pipe(process), &reported, 1, NULL, NULL), ==, 1);
        g_assert_cmpint(reported, ==, '!');
        g_subprocess_send_signal(process, numbers[i]);
        g_assert_true(g_subprocess_wait(process, NULL, NULL));
        g_assert_true(g_subprocess_get_if_signaled(process));
        assert_content(place, "before");
        g_assert_cmpuint(count_files(place), ==, 1);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && g_str_equal(argv[1], "--write-half"))
        write_half(argv[2]);
    g_test_init(&argc, &argv, NULL);
    own_path = g_file_read_link("/proc/self/exe", NULL);
    g_test_add("/file/replaced", Place, NULL, set_up, test_replaced, tear_down);
    g_test_add("/file/new", Place, NULL, set_up, test_new, tear_down);
    g_test_add("/file/given-up", Place, NULL, set_up, test_given_up, tear_down);
    g_test_add("/file/ended", Place, NULL, set_up, test_ended, tear_down);
    int status = g_test_run();
    g_free(own_path);
    return status;
}
