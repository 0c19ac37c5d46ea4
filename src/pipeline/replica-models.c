/* The models of a replica: one for every share, or, on a static device, one for each size. */
#include <math.h>
#include <staged/staged.h>
#include <string.h>

#include "replica-private.h"

static void slot_clear(Slot *slot, gsize n_inputs, gsize n_outputs)
{
    ifm_request_free(slot->request);
    for (gsize i = 0; i < n_inputs + n_outputs; i++)
    {
        Port *port = i < n_inputs ? &slot->inputs[i] : &slot->outputs[i - n_inputs];
        ifm_tensor_clear(&port->staging);
        ifm_buffer_free(port->buffer);
    }
    g_free(slot->inputs);
    g_free(slot->outputs);
}

static void node_profile_clear(gpointer data)
{
    NodeProfile *profile = data;
    g_clear_pointer(&profile->profiles, g_ptr_array_unref);
}

static void drop_compiled(Variant *variant)
{
    for (gsize i = 0; i < variant->n_slots; i++)
        slot_clear(&variant->slots[i], variant->ports->len, variant->replica->block->outputs->len);
    variant->n_slots = 0;
    g_clear_pointer(&variant->slots, g_free);
    g_clear_pointer(&variant->compiled, ifm_compiled_free);
    g_clear_pointer(&variant->inputs, g_free);
    g_clear_pointer(&variant->outputs, g_free);
}

void ifm_variant_free(gpointer data)
{
    Variant *variant = data;
    if (variant == NULL)
        return;
    ifm_variant_free(variant->sampled);
    drop_compiled(variant);
    ifm_model_unref(variant->model);
    g_clear_pointer(&variant->ports, g_array_unref);
    g_clear_pointer(&variant->inferences, g_array_unref);
    g_clear_pointer(&variant->nodes_of, g_array_unref);
    g_clear_pointer(&variant->walls, g_array_unref);
    g_free(variant);
}

static gboolean find_port(gsize n, const IfmPort *(*port_at)(const IfmCompiled *compiled, gsize index),
                          const IfmCompiled *compiled, const char *name, gsize *found, GError **error)
{
    for (gsize i = 0; i < n; i++)
        if (g_str_equal(port_at(compiled, i)->name, name))
        {
            *found = i;
            return TRUE;
        }
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "the compiled model has no port '%s'", name);
}

static gboolean find_ports(Variant *variant, GError **error)
{
    const IfmCompiled *compiled = variant->compiled;
    const GPtrArray *outputs = variant->replica->block->outputs;
    variant->inputs = g_new0(gsize, variant->ports->len);
    variant->outputs = g_new0(gsize, outputs->len);
    for (guint i = 0; i < variant->ports->len; i++)
        if (!find_port(ifm_compiled_info(compiled).n_inputs, ifm_compiled_input, compiled,
                       g_array_index(variant->ports, IfmStagedPort, i).name, &variant->inputs[i], error))
            return FALSE;
    for (guint i = 0; i < outputs->len; i++)
        if (!find_port(ifm_compiled_info(compiled).n_outputs, ifm_compiled_output, compiled,
                       ((const IfmBoundary *)g_ptr_array_index(outputs, i))->name, &variant->outputs[i], error))
            return FALSE;
    return TRUE;
}

static gboolean make_slots(Variant *variant, gsize n, GError **error)
{
    variant->slots = g_new0(Slot, n);
    for (gsize i = 0; i < n; i++)
    {
        Slot *slot = &variant->slots[i];
        slot->variant = variant;
        slot->inputs = g_new0(Port, variant->ports->len);
        slot->outputs = g_new0(Port, variant->replica->block->outputs->len);
        variant->n_slots = i + 1;
        slot->request = ifm_compiled_request(variant->compiled, (int)(i % (gsize)variant->n_streams), error);
        if (slot->request == NULL)
            return FALSE;
    }
    return TRUE;
}

/* A profiled run takes the place of an inference on one stream: it needs one request alone, on the same cores. */
static IfmDeviceSpec *spec_of(const Variant *variant, gboolean is_profiled)
{
    IfmDeviceSpec *spec = ifm_device_spec_copy(variant->replica->spec);
    if (!is_profiled || spec->n_streams <= 1)
        return spec;
    g_autofree char *text = g_strndup(spec->text, (gsize)(strchr(spec->text, '#') - spec->text));
    ifm_device_spec_free(spec);
    return ifm_device_spec_parse(text, NULL);
}

/* Reports to the caller that the compilation of a model begins or has ended. */
static void report_compiling(const Replica *replica, gboolean ended)
{
    const IfmPipelineOptions *options = replica->block->line->options;
    if (options->compiling != NULL)
        options->compiling(replica->block->index + 1, replica->described->alias, ended, options->compiling_user);
}

static gboolean variant_compile(Variant *variant, gboolean is_profiled, GError **error)
{
    const Replica *replica = variant->replica;
    const Line *line = replica->block->line;
    double share = replica->block->plan->ratios[replica->place];
    const IfmDimBinding sizes[] = {
        { "nodes", variant->nodes > 0 ? variant->nodes : MAX(1, llround(share * (double)line->options->most_nodes)) },
        { "edges", variant->nodes > 0 ? variant->edges : MAX(1, llround(share * (double)line->options->max_edges)) },
    };
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmDeviceSpec) spec = spec_of(variant, is_profiled);
    options.dtype = line->options->dtype;
    options.profiling = variant->profiled;
    options.sizes = sizes;
    options.n_sizes = G_N_ELEMENTS(sizes);
    options.cache_dir = (replica->info->capabilities & IFM_CAN_CACHE) != 0 ? line->options->cache_dir : NULL;
    variant->n_streams = MAX(spec->n_streams, 1);
    report_compiling(replica, FALSE);
    variant->compiled = ifm_engine_compile(replica->engine, variant->model, spec, &options, error);
    report_compiling(replica, TRUE);
    return variant->compiled != NULL && find_ports(variant, error) &&
           make_slots(variant, is_profiled ? 1 : (gsize)variant->n_streams * replica->n_per_stream, error);
}

static Variant *variant_new(Replica *replica, gint64 nodes, gint64 edges, gint64 sources, gboolean is_profiled,
                            GError **error)
{
    const Block *block = replica->block;
    const Line *line = block->line;
    IfmStageSizes sizes = line->options->sizes;
    Variant *variant = g_new0(Variant, 1);
    *variant = (Variant){ .replica = replica, .nodes = nodes, .edges = edges, .sources = sources };
    variant->profiled = replica->profiles && (is_profiled || line->options->device_time == IFM_DEVICE_TIME_ON);
    variant->inferences = g_array_new(FALSE, FALSE, sizeof(Inference));
    variant->nodes_of = g_array_new(FALSE, FALSE, sizeof(NodeProfile));
    g_array_set_clear_func(variant->nodes_of, node_profile_clear);
    if (replica->profiles && line->options->device_time == IFM_DEVICE_TIME_SAMPLED)
        variant->walls = g_array_new(FALSE, FALSE, sizeof(Wall));
    sizes.nodes = nodes;
    sizes.edges = edges;
    variant->model =
        ifm_staged_build_part(line->staged, block->plan->first, block->plan->last, &sizes, sources,
                              ifm_scatter_for(replica->spec->engine), line->options->seed, &variant->ports, error);
    gboolean ok = variant->model != NULL && variant_compile(variant, is_profiled, error);
    if (ok && !is_profiled && replica->profiles && line->options->device_time == IFM_DEVICE_TIME_SAMPLED)
        ok = (variant->sampled = variant_new(replica, nodes, edges, sources, TRUE, error)) != NULL;
    if (ok)
        return variant;
    ifm_variant_free(variant);
    return NULL;
}

/* Returns: NULL with an error. */
static const IfmPlanSize *choose_size(const Replica *replica, const Need *need, GError **error)
{
    const IfmPlanDevice *of = replica->described;
    gint64 nodes = replica->block->n_replicas == 1 ? MAX(need->nodes, need->sources) : need->nodes;
    const IfmPlanSize *size =
        ifm_plan_static_size(of->sizes, of->n_sizes, (double)nodes, (double)need->edges, replica->block->reads_edges);
    if (size == NULL)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                      "none of its %zu static sizes holds %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT " edges%s",
                      of->n_sizes, nodes, need->edges,
                      replica->block->reads_edges ? ", with a node more where edges have to be added" : "");
    return size;
}

gboolean ifm_variant_recompile(Variant *variant, GError **error)
{
    const IfmPipelineOptions *options = variant->replica->block->line->options;
    drop_compiled(variant);
    variant->is_coarse = FALSE;
    /* only the profiled twin of a sampled variant is not of the options' own kind */
    return variant_compile(variant, options->device_time == IFM_DEVICE_TIME_SAMPLED, error);
}

Variant *ifm_replica_variant(Replica *replica, const Need *need, gboolean make, GError **error)
{
    const IfmPlanSize *size = replica->is_static ? choose_size(replica, need, error) : NULL;
    if (replica->is_static && size == NULL)
        return NULL;
    gint64 nodes = size != NULL ? size->nodes : 0, edges = size != NULL ? size->edges : 0, sources = 0;
    if (size != NULL)
        sources = replica->block->n_replicas == 1 ? nodes : MAX(replica->block->line->options->most_nodes, nodes);
    for (guint i = 0; i < replica->variants->len; i++)
    {
        Variant *variant = g_ptr_array_index(replica->variants, i);
        if (variant->nodes == nodes && variant->edges == edges)
            return variant;
    }
    g_assert(make);
    Variant *variant = variant_new(replica, nodes, edges, sources, FALSE, error);
    if (variant != NULL)
        g_ptr_array_add(replica->variants, variant);
    return variant;
}
