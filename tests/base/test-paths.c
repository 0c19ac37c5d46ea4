#include <glib/gstdio.h>
#include <sys/stat.h>

#include <base/base.h>

#include "folder.h"

/* Where a program of a build folder finds the rest, and what it does not take. */

static void test_build(void)
{
    g_autoptr(GError) error = NULL;
    g_unsetenv("IFM_WORKER");
    g_unsetenv("IFM_DATA_DIR");
    g_autofree char *worker = ifm_path_worker(&error), *data = ifm_path_data("devices/meteor-lake.yaml", &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_suffix(worker, "/inferometer-worker"));
    g_assert_true(g_file_test(worker, G_FILE_TEST_IS_EXECUTABLE));
    g_assert_true(g_file_test(data, G_FILE_TEST_IS_REGULAR));
}

/* A worker that is named and is none is an error, not another worker. */
static void test_named(void)
{
    static const char *const bad[] = { "/nowhere/worker", "/tmp", "/proc/self/status" };
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_autoptr(GError) error = NULL;
        g_setenv("IFM_WORKER", bad[i], TRUE);
        g_assert_null(ifm_path_worker(&error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, bad[i]));
    }
    g_unsetenv("IFM_WORKER");
}

static void copy(const char *from, const char *to)
{
    g_autofree char *bytes = NULL;
    gsize length = 0;
    g_assert_true(g_file_get_contents(from, &bytes, &length, NULL));
    g_assert_true(g_file_set_contents_full(to, bytes, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
}

/* The output of this program, copied to @to, when it is asked for its paths. */
static char *paths_of(const char *to)
{
    g_autofree char *own = g_file_read_link("/proc/self/exe", NULL), *out = NULL;
    g_autoptr(GError) error = NULL;
    int status = 0;
    copy(own, to);
    g_assert_true(g_spawn_sync(NULL, (char *[]){ (char *)to, "--show", NULL }, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out,
                               NULL, &status, &error));
    g_assert_no_error(error);
    g_assert_cmpint(status, ==, 0);
    return g_steal_pointer(&out);
}

/* A build folder that was copied is a build folder of its own; a program that is in none has no build folder. */
static void test_moved(void)
{
    g_autofree char *folder = g_dir_make_tmp("ifm-paths-XXXXXX", NULL), *build = g_build_filename(folder, "copy", NULL),
                    *tests = g_build_filename(build, "tests", NULL), *program = g_build_filename(tests, "test-paths", NULL),
                    *ninja = g_build_filename(build, "build.ninja", NULL),
                    *worker = g_build_filename(build, "inferometer-worker", NULL),
                    *meson = g_build_filename(folder, "meson.build", NULL), *bin = g_build_filename(folder, "bin", NULL),
                    *alone = g_build_filename(bin, "program", NULL);
    g_unsetenv("IFM_WORKER");
    g_unsetenv("IFM_DATA_DIR");
    g_assert_cmpint(g_mkdir_with_parents(tests, 0755), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(bin, 0755), ==, 0);
    g_assert_true(g_file_set_contents(ninja, "", 0, NULL) && g_file_set_contents(meson, "", 0, NULL));
    copy("/bin/true", worker);
    g_autofree char *moved = paths_of(program), *installed = paths_of(alone);
    g_autofree char *expected = g_strdup_printf("worker %s\n", worker);
    g_assert_nonnull(strstr(moved, expected));
    g_autofree char *nothing =
        g_strdup_printf("worker none\ndata none\nonnxruntime libonnxruntime.so.1\nopenvino "
                        "libopenvino_c.so\ninstall pip install --target %s/lib/inferometer openvino\n",
                        folder);
    g_assert_cmpstr(installed, ==, nothing);
    /* one that anyone may replace is not taken */
    g_assert_cmpint(g_chmod(worker, 0777), ==, 0);
    g_autofree char *open_to_all = paths_of(program);
    g_assert_nonnull(strstr(open_to_all, "worker none\n"));
    remove_tree(folder);
}

static char *make_file(const char *folder, const char *relative)
{
    char *path = g_build_filename(folder, relative, NULL);
    g_autofree char *above = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(above, 0755), ==, 0);
    g_assert_true(g_file_set_contents_full(path, "", 0, G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    return path;
}

/* @program, wherever it lies, finds @runtime at @path. */
static void assert_finds(const char *program, const char *runtime, const char *path)
{
    g_autofree char *shown = paths_of(program), *line = g_strdup_printf("\n%s %s\n", runtime, path);
    g_assert_nonnull(strstr(shown, line));
}

/* The installation of a wheel finds its own worker and data, and the runtimes in the packages beside its own: those of the
 * highest version, and none that anyone may replace. */
static void test_wheel(void)
{
    g_autofree char *packages = g_dir_make_tmp("ifm-packages-XXXXXX", NULL),
                    *root = g_build_filename(packages, "inferometer", "_root", NULL),
                    *program = make_file(root, "bin/inferometer"),
                    *worker = make_file(root, "libexec/inferometer/inferometer-worker"),
                    *data = make_file(root, "share/inferometer/devices/meteor-lake.yaml");
    g_autofree char *bare = paths_of(program);
    g_assert_nonnull(strstr(bare, "\nopenvino libopenvino_c.so\n"));
    g_assert_nonnull(strstr(bare, "\ninstall pip install --target ")); /* no package: a prefix of that name */
    g_autofree char *module = make_file(packages, "inferometer/__init__.py"), *own = paths_of(program),
                    *expected = g_strdup_printf("worker %s\ndata %s\nonnxruntime libonnxruntime.so.1\nopenvino "
                                                "libopenvino_c.so\ninstall pip install openvino\n",
                                                worker, data);
    g_assert_cmpstr(own, ==, expected);
    g_autofree char *old = make_file(packages, "openvino/libs/libopenvino_c.so.2541"),
                    *new = make_file(packages, "openvino/libs/libopenvino_c.so.20260"),
                    *ort = make_file(packages, "onnxruntime/capi/libonnxruntime.so.1.9.0"),
                    *newer = make_file(packages, "onnxruntime/capi/libonnxruntime.so.1.31.1");
    assert_finds(program, "openvino", new);
    assert_finds(program, "onnxruntime", newer);
    g_assert_cmpint(g_chmod(new, 0777), ==, 0);
    assert_finds(program, "openvino", "libopenvino_c.so");
    g_assert_cmpint(g_remove(new) | g_remove(newer), ==, 0);
    assert_finds(program, "openvino", old);
    assert_finds(program, "onnxruntime", ort);
    remove_tree(packages);
}

/* A prefix finds what `pip install --target PREFIX/lib/inferometer` brought, after what `make install` did. */
static void test_target(void)
{
    g_autofree char *prefix = g_dir_make_tmp("ifm-prefix-XXXXXX", NULL), *program = make_file(prefix, "bin/inferometer"),
                    *packaged = make_file(prefix, "lib/inferometer/openvino/libs/libopenvino_c.so.2641");
    assert_finds(program, "openvino", packaged);
    g_autofree char *own = make_file(prefix, "lib/inferometer/openvino/lib/libopenvino_c.so");
    assert_finds(program, "openvino", own);
    remove_tree(prefix);
}

int main(int argc, char **argv)
{
    if (argc == 2 && g_str_equal(argv[1], "--show"))
    {
        g_autofree char *worker = ifm_path_worker(NULL), *data = ifm_path_data("devices/meteor-lake.yaml", NULL),
                        *onnxruntime = ifm_path_runtime("onnxruntime"), *openvino = ifm_path_runtime("openvino"),
                        *install = ifm_path_install("openvino");
        g_print("worker %s\ndata %s\nonnxruntime %s\nopenvino %s\ninstall %s\n", worker != NULL ? worker : "none",
                data != NULL ? data : "none", onnxruntime, openvino, install);
        return 0;
    }
    g_test_init(&argc, &argv, NULL);
    g_unsetenv("IFM_ONNXRUNTIME_LIBRARY");
    g_unsetenv("IFM_OPENVINO_LIBRARY");
    g_test_add_func("/paths/build", test_build);
    g_test_add_func("/paths/named", test_named);
    g_test_add_func("/paths/moved", test_moved);
    g_test_add_func("/paths/wheel", test_wheel);
    g_test_add_func("/paths/target", test_target);
    return g_test_run();
}
