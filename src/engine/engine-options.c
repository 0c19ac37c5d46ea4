#include <base/base.h>
#include <string.h>

#include "engine-private.h"

/* These functions name an engine's capabilities, and copy, free and check the options of a compile. */

const char *ifm_capability_name(guint32 bit)
{
    static const char *const names[] = {
        "cores",        "streams",        "native-async", "cancel",        "profile", "node-starts",
        "memory",       "save-optimised", "free-shapes",  "set-output",    "buffers", "custom-ops",
        "true-outputs", "simulated",      "cache",        "profile-means",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (bit == 1u << i)
            return names[i];
    return NULL;
}

static IfmDimBinding *copy_bindings(const IfmDimBinding *from, gsize n)
{
    IfmDimBinding *to = g_new0(IfmDimBinding, n + 1);
    for (gsize i = 0; i < n; i++)
        to[i] = (IfmDimBinding){ g_strdup(from[i].name), from[i].value };
    return to;
}

static void free_bindings(const IfmDimBinding *bindings, gsize n)
{
    for (gsize i = 0; i < n; i++)
        g_free((char *)bindings[i].name);
    g_free((IfmDimBinding *)bindings);
}

void ifm_compile_options_copy(IfmCompileOptions *to, const IfmCompileOptions *from)
{
    *to = *from;
    to->bindings = copy_bindings(from->bindings, from->n_bindings);
    to->sizes = copy_bindings(from->sizes, from->n_sizes);
    to->cache_dir = g_strdup(from->cache_dir);
    to->save_optimised = g_strdup(from->save_optimised);
    to->custom_op_libraries = (const char *const *)g_strdupv((char **)from->custom_op_libraries);
    to->vendor = (const char *const *)g_strdupv((char **)from->vendor);
    to->convolutions = (const char *const *)g_strdupv((char **)from->convolutions);
}

void ifm_compile_options_clear(IfmCompileOptions *options)
{
    free_bindings(options->bindings, options->n_bindings);
    free_bindings(options->sizes, options->n_sizes);
    g_free((char *)options->cache_dir);
    g_free((char *)options->save_optimised);
    g_strfreev((char **)options->custom_op_libraries);
    g_strfreev((char **)options->vendor);
    g_strfreev((char **)options->convolutions);
    memset(options, 0, sizeof *options);
}

static gboolean is_given(const char *const *list)
{
    return list != NULL && *list != NULL;
}

guint32 ifm_device_traits(const char *engine, const char *unit)
{
    static const struct
    {
        const char *engine, *unit;
        guint32 traits;
    } rows[] = {
        { "onnxruntime", "CUDA", IFM_DEVICE_ELSEWHERE | IFM_DEVICE_NVIDIA },
        { "onnxruntime", "TensorRT", IFM_DEVICE_ELSEWHERE | IFM_DEVICE_NVIDIA | IFM_DEVICE_FUSES },
        { "onnxruntime", "MIGraphX", IFM_DEVICE_ELSEWHERE | IFM_DEVICE_FUSES },
        { "onnxruntime", "OpenVINO", IFM_DEVICE_FUSES },
        { "openvino", "GPU", IFM_DEVICE_ELSEWHERE | IFM_DEVICE_FUSES },
        { "openvino", "NPU", IFM_DEVICE_ELSEWHERE | IFM_DEVICE_FUSES },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_equal(engine, rows[i].engine) && g_str_equal(unit, rows[i].unit))
            return rows[i].traits;
    return 0;
}

gboolean ifm_compile_options_check(const IfmCompileOptions *options, const IfmDeviceSpec *spec, const char *who,
                                   guint32 capabilities, GError **error)
{
    const struct
    {
        gboolean asked;
        guint32 needs;
        const char *what;
    } wishes[] = {
        { spec->n_cores > 0, IFM_CAN_CORES, "staying on given cores" },
        { spec->n_streams > 1, IFM_CAN_STREAMS, "several streams" },
        { options->profiling, IFM_CAN_PROFILE, "profiling" },
        { options->native_async, IFM_CAN_NATIVE_ASYNC, "asynchrony of its own" },
        { options->save_optimised != NULL, IFM_CAN_SAVE_OPTIMISED, "saving the optimised model" },
        { is_given(options->custom_op_libraries), IFM_CAN_CUSTOM_OPS, "loading custom operators" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wishes); i++)
        if (wishes[i].asked && (capabilities & wishes[i].needs) == 0)
            return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: %s is not among the things it can do (\"%s\")", who,
                                 wishes[i].what, ifm_capability_name(wishes[i].needs));
    const gboolean has_convolutions =
        g_str_equal(spec->engine, "simulated") ||
        (g_str_equal(spec->engine, "onnxruntime") && (g_str_equal(spec->unit, "CPU") || g_str_equal(spec->unit, "CUDA")));
    if (is_given(options->convolutions) && !has_convolutions)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                             "%s: convolution algorithms run on onnxruntime:CPU and onnxruntime:CUDA alone", who);
    if (options->native_async && spec->n_cores > 0)
        return ifm_error_set(
            error, IFM_ERROR_UNSUPPORTED,
            "%s: the runtime's own asynchrony runs on threads that do not stay on cores: leave out @%s or the "
            "asynchrony",
            who, strchr(spec->text, '@') + 1);
    if (options->dtype == IFM_DTYPE_UNDEFINED || options->threads < 0)
        return ifm_error_refuse(error, "%s: %s", who,
                                options->threads < 0 ? "a negative number of threads" : "no dtype was stated");
    for (gsize i = 0; options->vendor != NULL && options->vendor[i] != NULL; i++)
    {
        const char *equals = strchr(options->vendor[i], '=');
        if (equals == NULL || equals == options->vendor[i])
            return ifm_error_refuse(error, "%s: option '%s' is not of the form KEY=VALUE", who, options->vendor[i]);
    }
    return TRUE;
}
