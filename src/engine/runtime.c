#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <inferometer/paths.h>

#include "runtime-private.h"

static const char *variable_of(const char *runtime)
{
    return g_str_equal(runtime, "openvino") ? "IFM_OPENVINO_LIBRARY" : "IFM_ONNXRUNTIME_LIBRARY";
}

void *ifm_runtime_open(const char *runtime, char **file, GError **error)
{
    g_autofree char *path = ifm_path_runtime(runtime);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
    {
        g_autofree char *words = ifm_runtime_words(dlerror(), NULL);
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: cannot open its library %s: %s (%s names another)",
                    runtime, path, words, variable_of(runtime));
        return NULL;
    }
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_name[0] == '/')
        *file = g_strdup(map->l_name);
    else
        *file = g_steal_pointer(&path);
    return library;
}

void *ifm_runtime_symbol(void *library, const char *runtime, const char *file, const char *symbol, GError **error)
{
    void *address = dlsym(library, symbol);
    if (address == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE,
                    "%s: %s has no function %s: it is another library, or too old a version (%s names another)", runtime,
                    file, symbol, variable_of(runtime));
    return address;
}

gint64 ifm_runtime_bound(const IfmCompileOptions *options, const char *dim_name)
{
    for (gsize i = 0; dim_name != NULL && i < options->n_bindings; i++)
        if (g_str_equal(options->bindings[i].name, dim_name))
            return options->bindings[i].value;
    return -1;
}

int ifm_runtime_n_threads(const IfmCompiled *compiled)
{
    int n = compiled->options.threads;
    if (n <= 0)
        n = (int)compiled->spec->n_cores;
    if (n <= 0)
    {
        g_autoptr(GArray) cores = ifm_affinity_cores();
        n = (int)cores->len;
    }
    return MAX(n, ifm_device_spec_n_streams(compiled->spec)); /* a stream has at least its own thread */
}

static gboolean is_skipped(const char *line, const char *const *skip)
{
    if (*line == '\0')
        return TRUE;
    for (; skip != NULL && *skip != NULL; skip++)
        if (g_str_has_prefix(line, *skip))
            return TRUE;
    return FALSE;
}

char *ifm_runtime_words(const char *message, const char *const *skip)
{
    g_auto(GStrv) lines = g_strsplit_set(message != NULL ? message : "", "\r\n", -1);
    const char *fallback = "no reason given";
    for (char **line = lines; *line != NULL; line++)
    {
        if (!is_skipped(g_strstrip(*line), skip))
            return g_utf8_make_valid(g_str_has_prefix(*line, "-- ") ? *line + 3 : *line, -1);
        if (**line != '\0')
            fallback = *line;
    }
    return g_utf8_make_valid(fallback, -1);
}

static gboolean contains_any(const char *words, const char *const *parts)
{
    g_autofree char *lower = g_ascii_strdown(words, -1);
    for (; *parts != NULL; parts++)
        if (strstr(lower, *parts) != NULL)
            return TRUE;
    return FALSE;
}

gboolean ifm_runtime_is_memory(const char *words)
{
    static const char *const parts[] = { "bad_alloc",         "bad allocation",   "failed to allocate",
                                         "out of memory",     "out_of_memory",    "cannot allocate",
                                         "memory allocation", "out_of_resources", NULL };
    return contains_any(words, parts);
}

gboolean ifm_runtime_is_lost(const char *words)
{
    static const char *const parts[] = {
        "device_lost",  "device lost", "device is lost", "device removed",       "device hung",
        "cuda failure", "cuda error",  "out_of_host",    "device_not_available", NULL
    };
    return contains_any(words, parts);
}

/* Bits of the significand, by which floating-point types are ordered; 0 for all else. */
static int significand_bits(IfmDtype dtype)
{
    switch (dtype)
    {
    case IFM_DTYPE_F64:
        return 53;
    case IFM_DTYPE_F32:
        return 24;
    case IFM_DTYPE_F16:
        return 11;
    case IFM_DTYPE_BF16:
        return 8;
    default:
        return 0;
    }
}

IfmDtype ifm_dtype_lower(IfmDtype a, IfmDtype b)
{
    int bits_a = significand_bits(a), bits_b = significand_bits(b);
    if (bits_a == 0)
        return bits_b == 0 ? IFM_DTYPE_UNDEFINED : b;
    return bits_b == 0 || bits_a <= bits_b ? a : b;
}
