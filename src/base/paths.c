#include <dlfcn.h>

#include <gio/gio.h>
#include <inferometer/paths.h>

/* runtime_files: the path of each runtime's library below the folder that setup/install or `make install` filled. */
static const struct
{
    const char *runtime, *variable, *relative, *bare;
} runtime_files[] = {
    { "onnxruntime", "IFM_ONNXRUNTIME_LIBRARY", "onnxruntime/lib/libonnxruntime.so", "libonnxruntime.so.1" },
    { "cuda", "IFM_CUDNN_LIBRARY", "cuda/lib/libcudnn.so.9", "libcudnn.so.9" },
    { "openvino", "IFM_OPENVINO_LIBRARY", "openvino/lib/libopenvino_c.so", "libopenvino_c.so" },
};

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

/* installed: @relative below the prefix of the running program, or below that of the shared library that holds this code
 * (for other programs that use the library). NULL where neither has it. */
static char *installed(const char *relative)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    Dl_info code = { 0 };
    const char *files[] = { program, dladdr(&runtime_files, &code) != 0 ? code.dli_fname : NULL };
    char *found = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(files) && found == NULL; i++)
    {
        if (files[i] == NULL || !g_path_is_absolute(files[i]))
            continue;
        g_autofree char *prefix = prefix_of(files[i]);
        found = existing(g_build_filename(prefix, relative, NULL));
    }
    return found;
}

char *ifm_path_data(const char *relative, GError **error)
{
    const char *folder = g_getenv("IFM_DATA_DIR");
    char *found = folder != NULL && *folder != '\0' ? existing(g_build_filename(folder, relative, NULL)) : NULL;
    g_autofree char *below = g_build_filename("share", "inferometer", relative, NULL);
    if (found == NULL)
        found = installed(below);
    if (found == NULL)
        found = existing(g_build_filename(IFM_SOURCE_DIR, relative, NULL));
    if (found == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE,
                    "%s: not found in the installation (IFM_DATA_DIR names another folder to look in)", relative);
    return found;
}

char *ifm_path_worker(GError **error)
{
    const char *worker = g_getenv("IFM_WORKER");
    char *found = worker != NULL && *worker != '\0' ? existing(g_strdup(worker)) : NULL;
    if (found == NULL)
        found = installed("libexec/inferometer/inferometer-worker");
    if (found == NULL)
        found = existing(g_build_filename(IFM_BUILD_DIR, "inferometer-worker", NULL));
    if (found == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE,
                    "inferometer-worker: not found in the installation (IFM_WORKER names it)");
    return found;
}

char *ifm_path_runtime(const char *runtime)
{
    for (gsize i = 0; i < G_N_ELEMENTS(runtime_files); i++)
    {
        if (!g_str_equal(runtime, runtime_files[i].runtime))
            continue;
        const char *named = g_getenv(runtime_files[i].variable);
        if (named != NULL && *named != '\0') /* the user's choice is used, even if it is wrong */
            return g_strdup(named);
        g_autofree char *below = g_build_filename("lib", "inferometer", runtime_files[i].relative, NULL);
        char *found = installed(below);
        if (found == NULL)
            found = existing(g_build_filename(IFM_DEPS_DIR, runtime_files[i].relative, NULL));
        return found != NULL ? found : g_strdup(runtime_files[i].bare);
    }
    g_assert_not_reached();
}

const char *ifm_path_runtime_variable(const char *runtime)
{
    for (gsize i = 0; i < G_N_ELEMENTS(runtime_files); i++)
        if (g_str_equal(runtime, runtime_files[i].runtime))
            return runtime_files[i].variable;
    return NULL;
}
