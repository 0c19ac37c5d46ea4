/* The operator inferometer:Region in the sessions of this program. */
#include "onnxruntime-regions.h"

#include <ops/ops.h>
#include <regions/regions.h>

struct OrtRegions
{
    IfmOps *ops;
    GPtrArray *nodes; /* OrtRegion* */
    GMutex mutex;     /* a runtime may make nodes on several threads */
};

static void node_free(gpointer data)
{
    OrtRegion *node = data;
    g_free(node->node);
    g_free(node);
}

static void on_made(void *user, const char *name, IfmRegion *region)
{
    struct OrtRegions *self = user;
    OrtRegion *node = g_new0(OrtRegion, 1);
    node->node = g_strdup(name);
    node->region = region;
    g_mutex_lock(&self->mutex);
    g_ptr_array_add(self->nodes, node);
    g_mutex_unlock(&self->mutex);
}

static void on_freed(void *user, IfmRegion *region)
{
    struct OrtRegions *self = user;
    g_mutex_lock(&self->mutex);
    for (guint i = 0; i < self->nodes->len; i++)
        if (((const OrtRegion *)self->nodes->pdata[i])->region == region)
            g_ptr_array_remove_index(self->nodes, i--);
    g_mutex_unlock(&self->mutex);
}

gboolean ifm_ort_regions_prepare(OrtCompiled *compiled, GError **error)
{
    const OrtApi *api = ort_engine(&compiled->base)->api;
    OrtStatus *status = NULL;
    if (compiled->regions != NULL || !ifm_regions_are_in(compiled->base.model))
        return TRUE;
    if (!ifm_regions_check_version(compiled->base.model, error))
        return FALSE;
    struct OrtRegions *self = compiled->regions = g_new0(struct OrtRegions, 1);
    g_mutex_init(&self->mutex);
    self->nodes = g_ptr_array_new_with_free_func(node_free);
    const IfmOpsOptions options = { .max_isa = ifm_blocked_max_isa(),
                                    .n_threads = ifm_runtime_n_threads(&compiled->base),
                                    .is_timed = compiled->base.options.time_regions,
                                    .made = on_made,
                                    .freed = on_freed,
                                    .user = self };
    self->ops = ifm_ops_new(api, &options, &status);
    if (status != NULL)
        return ifm_ort_check(api, status, compiled->base.who, IFM_ERROR_MEMORY, error);
    return self->ops != NULL || ifm_error_set(error, IFM_ERROR_MEMORY, "%s: no memory for its regions", compiled->base.who);
}

OrtCustomOpDomain *ifm_ort_regions_domain(const OrtCompiled *compiled)
{
    return compiled->regions != NULL ? ifm_ops_domain(compiled->regions->ops) : NULL;
}

const GPtrArray *ifm_ort_regions(const OrtCompiled *compiled)
{
    return compiled->regions->nodes;
}

void ifm_ort_regions_clear(OrtCompiled *compiled)
{
    if (compiled->regions == NULL)
        return;
    ifm_ops_free(compiled->regions->ops);
    g_ptr_array_unref(compiled->regions->nodes);
    g_mutex_clear(&compiled->regions->mutex);
    g_clear_pointer(&compiled->regions, g_free);
}
