#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

#include <base/base.h>
#include <gio/gio.h>

#include "build-folders.h"

/* These functions find the data files, the worker and the runtimes' libraries, in a build folder or where they are
 * installed. */

/* runtime_files: the path of each runtime's library below the folder that setup/install or `make install` filled, and in
 * a Python package, less the version at its end; its name for the system's loader. */
static const struct RuntimeFile
{
    const char *runtime, *variable, *relative, *in_package, *bare;
} runtime_files[] = {
    { "onnxruntime", "IFM_ONNXRUNTIME_LIBRARY", "onnxruntime/lib/libonnxruntime.so", "onnxruntime/capi/libonnxruntime.so.",
      "libonnxruntime.so.1" },
    { "cuda", "IFM_CUDNN_LIBRARY", "cuda/lib/libcudnn.so.9", NULL, "libcudnn.so.9" },
    { "openvino", "IFM_OPENVINO_LIBRARY", "openvino/lib/libopenvino_c.so", "openvino/libs/libopenvino_c.so.",
      "libopenvino_c.so" },
};

static const struct RuntimeFile *runtime_file(const char *runtime)
{
    for (gsize i = 0; i < G_N_ELEMENTS(runtime_files); i++)
        if (g_str_equal(runtime, runtime_files[i].runtime))
            return &runtime_files[i];
    return NULL;
}

/* prefix_of: PREFIX of PREFIX/bin/inferometer, PREFIX/libexec/inferometer/inferometer-worker, PREFIX/lib/libinferometer.so
 * or PREFIX/lib/ARCHITECTURE/libinferometer.so. */
static char *prefix_of(const char *file)
{
    g_autofree char *folder = g_path_get_dirname(file);
    g_autofree char *name = g_path_get_basename(folder);
    g_autofree char *above = g_path_get_dirname(folder);
    g_autofree char *above_name = g_path_get_basename(above);
    if (g_str_equal(name, "inferometer") || g_str_equal(above_name, "lib"))
        return g_path_get_dirname(above);
    return g_steal_pointer(&above);
}

static char *existing(char *path /* (transfer full) */)
{
    if (path != NULL && g_file_test(path, G_FILE_TEST_EXISTS))
        return path;
    g_free(path);
    return NULL;
}

/* The same of what is run or loaded: not where anyone may put another in its place. */
static char *trusted(char *path /* (transfer full) */)
{
    struct stat file, folder;
    g_autofree char *above = path != NULL ? g_path_get_dirname(path) : NULL;
    if (path != NULL && stat(path, &file) == 0 && stat(above, &folder) == 0 && (file.st_mode & S_IWOTH) == 0 &&
        (folder.st_mode & S_IWOTH) == 0)
        return path;
    g_free(path);
    return NULL;
}

/* --- where this code is ------------------------------------------------------------------------------------------- */

/* own_file: 0: the running program; 1: what holds this code, which for other programs is the shared library. (transfer
 * full) NULL where that is not known */
static char *own_file(int which)
{
    Dl_info code = { 0 };
    if (which == 0)
        return g_file_read_link("/proc/self/exe", NULL);
    return dladdr(&runtime_files, &code) != 0 && code.dli_fname != NULL && g_path_is_absolute(code.dli_fname)
               ? g_strdup(code.dli_fname)
               : NULL;
}

#define MAX_UP 3 /* folders between a program of a build and the build's own */

/* build_folder: Where this was built, if it runs from there: BUILD of BUILD/inferometer and BUILD/tests/test-paths,
 * wherever it was moved. (transfer full) NULL: it does not: it is installed, and what its build was is no matter any more
 */
static char *build_folder(void)
{
    for (int which = 0; which < 2; which++)
    {
        g_autofree char *file = own_file(which);
        char *folder = file != NULL ? g_path_get_dirname(file) : NULL;
        for (int up = 0; folder != NULL && up < MAX_UP; up++)
        {
            g_autofree char *ninja = g_build_filename(folder, "build.ninja", NULL),
                            *worker = g_build_filename(folder, "inferometer-worker", NULL);
            if (g_file_test(ninja, G_FILE_TEST_EXISTS) && g_file_test(worker, G_FILE_TEST_EXISTS))
                return folder;
            char *above = g_path_get_dirname(folder);
            g_free(folder);
            folder = above;
        }
        g_free(folder);
    }
    return NULL;
}

/* source_folder: The sources of a build folder: above it, or where they were when a build elsewhere was configured.
 * (transfer full) NULL: not known */
static char *source_folder(void)
{
    g_autofree char *build = build_folder();
    if (build == NULL)
        return NULL;
    g_autofree char *above = g_path_get_dirname(build), *file = g_build_filename(above, "meson.build", NULL);
    if (g_file_test(file, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&above);
    return g_str_equal(build, IFM_BUILD_DIR) ? g_strdup(IFM_SOURCE_DIR) : NULL;
}

/* (transfer full) what setup/install filled: in the sources, or the folder that the build was told */
static char *deps_folder(void)
{
    g_autofree char *source = source_folder();
    const gboolean is_inside = g_str_has_prefix(IFM_DEPS_DIR, IFM_SOURCE_DIR "/");
    if (source == NULL)
        return NULL;
    return is_inside ? g_build_filename(source, IFM_DEPS_DIR + strlen(IFM_SOURCE_DIR), NULL) : g_strdup(IFM_DEPS_DIR);
}

/* below: a path in a folder that may not be known. (transfer full) NULL */
static char *below(char *folder /* (transfer full) */, const char *relative)
{
    char *path = folder != NULL ? g_build_filename(folder, relative, NULL) : NULL;
    g_free(folder);
    return path;
}

/* own_prefix: @which: as of own_file(). (transfer full) NULL */
static char *own_prefix(int which)
{
    g_autofree char *file = own_file(which);
    return file != NULL ? prefix_of(file) : NULL;
}

/* installed: @relative below the prefix of the running program, or below that of the shared library that holds this code
 * (for other programs that use the library). @check: existing() or trusted()    NULL where neither has it. */
static char *installed(const char *relative, char *(*check)(char *path))
{
    char *found = NULL;
    for (int which = 0; which < 2 && found == NULL; which++)
        found = check(below(own_prefix(which), relative));
    return found;
}

/* --- Python packages ---------------------------------------------------------------------------------------------- */

/* packages_folder: Where Python packages with libraries for an installation lie: for PACKAGES/inferometer/_root, which is
 * the installation of a wheel, PACKAGES; else PREFIX/lib/inferometer, which `pip install --target` may fill.
 * (transfer full) */
static char *packages_folder(const char *prefix, gboolean *is_wheel)
{
    g_autofree char *name = g_path_get_basename(prefix), *package = g_path_get_dirname(prefix),
                    *module = g_build_filename(package, "__init__.py", NULL);
    *is_wheel = g_str_equal(name, "_root") && g_file_test(module, G_FILE_TEST_EXISTS);
    return *is_wheel ? g_path_get_dirname(package) : g_build_filename(prefix, "lib", "inferometer", NULL);
}

/* newest: The file of the highest version of those that begin with @start. (transfer full) NULL: there is none */
static char *newest(char *start /* (transfer full) */)
{
    g_autofree char *folder = g_path_get_dirname(start), *name = g_path_get_basename(start), *last = NULL;
    GDir *files = g_dir_open(folder, 0, NULL);
    for (const char *file; files != NULL && (file = g_dir_read_name(files)) != NULL;)
        if (g_str_has_prefix(file, name) && (last == NULL || strverscmp(file, last) > 0))
        {
            g_free(last);
            last = g_strdup(file);
        }
    g_clear_pointer(&files, g_dir_close);
    g_free(start);
    return last != NULL ? g_build_filename(folder, last, NULL) : NULL;
}

char *ifm_path_package(const char *start)
{
    char *found = NULL;
    gboolean is_wheel = FALSE;
    for (int which = 0; which < 2 && found == NULL; which++)
    {
        g_autofree char *prefix = own_prefix(which);
        char *folder = prefix != NULL ? packages_folder(prefix, &is_wheel) : NULL;
        found = folder != NULL ? trusted(newest(below(folder, start))) : NULL;
    }
    return found;
}

#define OPERATORS "libinferometer_ops.so"

/* --- what is looked for ------------------------------------------------------------------------------------------- */

char *ifm_path_data(const char *relative, GError **error)
{
    const char *folder = g_getenv("IFM_DATA_DIR");
    char *found = folder != NULL && *folder != '\0' ? existing(g_build_filename(folder, relative, NULL)) : NULL;
    g_autofree char *shared = g_build_filename("share", "inferometer", relative, NULL);
    if (found == NULL)
        found = existing(below(source_folder(), relative));
    if (found == NULL)
        found = installed(shared, existing);
    if (found == NULL)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                      "%s: not found in the installation (IFM_DATA_DIR names another folder to look in)", relative);
    return found;
}

char *ifm_path_worker(GError **error)
{
    const char *named = g_getenv("IFM_WORKER");
    if (named != NULL && *named != '\0')
    {
        if (g_file_test(named, G_FILE_TEST_IS_EXECUTABLE) && !g_file_test(named, G_FILE_TEST_IS_DIR))
            return g_strdup(named);
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "IFM_WORKER: %s is no program", named);
        return NULL;
    }
    char *found = trusted(below(build_folder(), "inferometer-worker"));
    if (found == NULL)
        found = installed("libexec/inferometer/inferometer-worker", trusted);
    if (found == NULL)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                      "inferometer-worker: not found in the installation (IFM_WORKER names it)");
    return found;
}

char *ifm_path_operators(void)
{
    char *found = trusted(below(build_folder(), OPERATORS));
    if (found == NULL)
        found = installed("lib/" OPERATORS, trusted);
    if (found == NULL) /* such as lib/x86_64-linux-gnu */
        found = installed(IFM_LIB_DIR "/" OPERATORS, trusted);
    return found != NULL ? found : g_strdup(OPERATORS);
}

char *ifm_path_runtime(const char *runtime)
{
    const struct RuntimeFile *row = runtime_file(runtime);
    const char *named = g_getenv(row->variable);
    if (named != NULL && *named != '\0') /* the user's choice is used, even if it is wrong */
        return g_strdup(named);
    g_autofree char *library = g_build_filename("lib", "inferometer", row->relative, NULL);
    char *found = trusted(below(deps_folder(), row->relative));
    if (found == NULL)
        found = installed(library, trusted);
    if (found == NULL && row->in_package != NULL)
        found = ifm_path_package(row->in_package);
    return found != NULL ? found : g_strdup(row->bare);
}

char *ifm_path_install(const char *package)
{
    g_autofree char *build = build_folder();
    if (build != NULL)
        return g_strdup("setup/install");
    for (int which = 1; which >= 0; which--) /* the library's, which may be in a package of a foreign program */
    {
        gboolean is_wheel = FALSE;
        g_autofree char *prefix = own_prefix(which), *folder = prefix != NULL ? packages_folder(prefix, &is_wheel) : NULL;
        if (is_wheel)
            return g_strdup_printf("pip install %s", package);
        if (folder != NULL && which == 0)
            return g_strdup_printf("pip install --target %s %s", folder, package);
    }
    return g_strdup_printf("pip install %s", package);
}

const char *ifm_path_runtime_variable(const char *runtime)
{
    const struct RuntimeFile *row = runtime_file(runtime);
    return row != NULL ? row->variable : NULL;
}

char *ifm_path_beside(const char *file, const char *path)
{
    g_autofree char *folder = g_path_get_dirname(file);
    return g_path_is_absolute(path) ? g_strdup(path) : g_build_filename(folder, path, NULL);
}
