/* The kernels of models as files, each a model of its own. */
#include <errno.h>

#include <glib/gstdio.h>

#include <kernel/kernel.h>
#include <sensor/sensor.h>

static gboolean extract_kernel(const IfmKernelExtraction *options, const IfmKernelRecord *kernel, gint64 working_set_bytes,
                               gint64 cache_bytes, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    if (options->interrupted != NULL && g_atomic_int_get(options->interrupted) != 0)
        return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted");
    const gsize n_copies = options->ring ? ifm_kernel_ring_copies(kernel, working_set_bytes, cache_bytes) : 1;
    g_autoptr(IfmModel) model = ifm_kernel_extract(kernel, options->graph, n_copies, options->seed, &trouble);
    if (model == NULL)
    {
        options->left_out(kernel, trouble->message, options->user);
        return TRUE;
    }
    g_autofree char *stem = ifm_kernel_record_stem(kernel), *file = g_strconcat(stem, ".onnx", NULL),
                    *path = g_build_filename(options->folder, file, NULL);
    if (!ifm_model_save(model, path, error))
        return FALSE;
    if (options->written(kernel, file, options->user))
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_CANCELLED, "ended after %s", file);
}

gboolean ifm_kernel_records_extract(const IfmKernelRecords *const *records, gsize n, const IfmKernelExtraction *options,
                                    GError **error)
{
    g_autoptr(GHashTable) done = g_hash_table_new(g_str_hash, g_str_equal), sets = ifm_kernel_working_sets(records, n);
    json_auto_t *machine = ifm_sensor_machine(NULL);
    const gint64 cache_bytes = ifm_sensor_last_cache_bytes(machine, NULL);
    if (g_mkdir_with_parents(options->folder, 0777) != 0)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", options->folder, g_strerror(errno));
    for (gsize i = 0; i < n; i++)
    {
        if (options->graph != NULL && !ifm_kernel_records_check_graph(records[i], options->graph, error))
            return FALSE;
        for (guint k = 0; k < records[i]->kernels->len; k++)
        {
            const IfmKernelRecord *kernel = records[i]->kernels->pdata[k];
            const gboolean named = options->names == NULL || g_strv_contains(options->names, kernel->name);
            const gint64 *set = g_hash_table_lookup(sets, kernel->digest);
            if (named && g_hash_table_add(done, kernel->digest) &&
                !extract_kernel(options, kernel, *set, cache_bytes, error))
                return FALSE;
        }
    }
    return TRUE;
}
