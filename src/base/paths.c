#include <gio/gio.h>
#include <inferometer/paths.h>

/* The folder two levels above the running program: PREFIX for PREFIX/bin/inferometer, NULL where /proc does not tell. */
static char *program_prefix(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    if (program == NULL)
        return NULL;
    g_autofree char *folder = g_path_get_dirname(program);
    g_autofree char *name = g_path_get_basename(folder);
    g_autofree char *above = g_path_get_dirname(folder);
    if (g_str_equal(name, "inferometer")) /* PREFIX/libexec/inferometer/worker */
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

char *ifm_path_data(const char *relative, GError **error)
{
    const char *folder = g_getenv("IFM_DATA_DIR");
    char *found = folder != NULL && *folder != '\0' ? existing(g_build_filename(folder, relative, NULL)) : NULL;
    g_autofree char *prefix = program_prefix();
    if (found == NULL && prefix != NULL)
        found = existing(g_build_filename(prefix, "share", "inferometer", relative, NULL));
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
    g_autofree char *prefix = program_prefix();
    if (found == NULL && prefix != NULL)
        found = existing(g_build_filename(prefix, "libexec", "inferometer", "inferometer-worker", NULL));
    if (found == NULL)
        found = existing(g_build_filename(IFM_BUILD_DIR, "inferometer-worker", NULL));
    if (found == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE,
                    "inferometer-worker: not found in the installation (IFM_WORKER names it)");
    return found;
}

/* runtime_files: where each runtime's library lies below a folder that setup/install or `make install` filled. */
static const struct
{
    const char *runtime, *variable, *relative, *bare;
} runtime_files[] = {
    { "onnxruntime", "IFM_ONNXRUNTIME_LIBRARY", "onnxruntime/lib/libonnxruntime.so", "libonnxruntime.so.1" },
    { "openvino", "IFM_OPENVINO_LIBRARY", "openvino/lib/libopenvino_c.so", "libopenvino_c.so" },
};

char *ifm_path_runtime(const char *runtime)
{
    g_autofree char *prefix = program_prefix();
    for (gsize i = 0; i < G_N_ELEMENTS(runtime_files); i++)
    {
        if (!g_str_equal(runtime, runtime_files[i].runtime))
            continue;
        const char *named = g_getenv(runtime_files[i].variable);
        if (named != NULL && *named != '\0') /* the user's word stands, also where it is wrong */
            return g_strdup(named);
        char *found = prefix != NULL
                          ? existing(g_build_filename(prefix, "lib", "inferometer", runtime_files[i].relative, NULL))
                          : NULL;
        if (found == NULL)
            found = existing(g_build_filename(IFM_DEPS_DIR, runtime_files[i].relative, NULL));
        return found != NULL ? found : g_strdup(runtime_files[i].bare);
    }
    g_assert_not_reached();
}
