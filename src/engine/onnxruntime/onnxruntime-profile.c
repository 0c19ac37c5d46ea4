#include <errno.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnxruntime-arithmetic.h"
#include "onnxruntime-conv.h"

/* This reader takes the time and outputs of each node from the profile that ONNX Runtime writes. */

/*
 * The runtime keeps one profile per session: a Chrome trace, written when profiling ends, one event a line. It silently
 * drops events beyond 1,000,000. A session is replaced long before that, which also keeps its memory and the file
 * small.
 */
#define MAX_EVENTS 100000
#define RESOLUTION_NS 1000 /* whole microseconds */

/* A node's event is written when the node ends, the `model_run` that contains it after all of its nodes, on the same
 * thread (the trace's tid). Runs of several streams interleave. */
typedef struct
{
    gint64 tid, start_us, duration_us;
    IfmNodeTime *node;
    IfmDtype dtype;
    char *arithmetic;
} Event;

typedef struct
{
    GArray *open; /* Event: of runs that have not ended yet */
    GPtrArray *profiles;
    IfmEffectiveConfig *effective_config; /* (optional) gets the nodes of every run */
    gint64 n_events;
} Reader;

static void event_clear(gpointer data)
{
    Event *event = data;
    g_clear_pointer(&event->node, ifm_node_time_free);
    g_clear_pointer(&event->arithmetic, g_free);
}

static gint64 member(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

static const char *text_member(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text != NULL ? text : "";
}

/* The runtime's names of tensor types. */
static const struct
{
    const char *name;
    IfmDtype dtype;
} type_names[] = {
    { "float", IFM_DTYPE_F32 },  { "float16", IFM_DTYPE_F16 }, { "bfloat16", IFM_DTYPE_BF16 }, { "double", IFM_DTYPE_F64 },
    { "int64", IFM_DTYPE_I64 },  { "int32", IFM_DTYPE_I32 },   { "int16", IFM_DTYPE_I16 },     { "int8", IFM_DTYPE_I8 },
    { "uint64", IFM_DTYPE_U64 }, { "uint32", IFM_DTYPE_U32 },  { "uint16", IFM_DTYPE_U16 },    { "uint8", IFM_DTYPE_U8 },
    { "bool", IFM_DTYPE_BOOL },
};

/* Of {"float":[1,3]}. @type: (out) (optional) "float"; NULL: there is none. Returns: UNDEFINED for types that IfmTensor
 * lacks */
static IfmDtype read_type(json_t *entry, const char **type)
{
    const char *name = json_object_iter_key(json_object_iter(entry));
    if (type != NULL)
        *type = name;
    for (gsize i = 0; name != NULL && i < G_N_ELEMENTS(type_names); i++)
        if (g_str_equal(type_names[i].name, name))
            return type_names[i].dtype;
    return IFM_DTYPE_UNDEFINED;
}

/* [{"float":[1,3]},{"int64":[]}]. Returns: how many */
static gsize read_types(const json_t *list, IfmDtype *types, gsize max)
{
    size_t index;
    json_t *entry;
    json_array_foreach(list, index, entry)
    {
        if (index >= max)
            return max;
        types[index] = read_type(entry, NULL);
    }
    return json_array_size(list);
}

/* Reads {"float":[1,3]}. */
static gboolean read_output(json_t *entry, IfmNodeOutput *output)
{
    const char *type;
    const IfmDtype dtype = read_type(entry, &type);
    const json_t *shape = type != NULL ? json_object_get(entry, type) : NULL;
    if (!json_is_array(shape) || json_array_size(shape) > IFM_MAX_RANK)
        return FALSE;
    *output = (IfmNodeOutput){ .dtype = dtype, .rank = (int)json_array_size(shape) };
    for (int i = 0; i < output->rank; i++)
        output->shape[i] = json_integer_value(json_array_get(shape, (gsize)i));
    return TRUE;
}

/* Returns: NULL if one of them cannot be read: outputs are matched by position. */
static GArray *read_outputs(const json_t *list)
{
    g_autoptr(GArray) outputs = g_array_new(FALSE, FALSE, sizeof(IfmNodeOutput));
    size_t index;
    json_t *entry;
    if (!json_is_array(list))
        return NULL;
    json_array_foreach(list, index, entry)
    {
        IfmNodeOutput output;
        if (!read_output(entry, &output))
            return NULL;
        g_array_append_val(outputs, output);
    }
    return g_steal_pointer(&outputs);
}

static void read_node(Reader *reader, const json_t *json)
{
    static const char suffix[] = "_kernel_time";
    const char *name = text_member(json, "name");
    const json_t *arguments = json_object_get(json, "args");
    if (!g_str_has_suffix(name, suffix))
        return;
    IfmNodeTime *node = g_new0(IfmNodeTime, 1);
    node->name = g_strndup(name, strlen(name) - strlen(suffix));
    node->op_type = g_strdup(text_member(arguments, "op_name"));
    node->provider = g_strdup(text_member(arguments, "provider"));
    node->implementation = g_strdup("");
    node->outputs = read_outputs(json_object_get(arguments, "output_type_shape"));
    Event event = {
        .tid = member(json, "tid"), .start_us = member(json, "ts"), .duration_us = member(json, "dur"), .node = node
    };
    OrtNodeTypes types;
    types.n_inputs = read_types(json_object_get(arguments, "input_type_shape"), types.inputs, G_N_ELEMENTS(types.inputs));
    types.n_outputs =
        read_types(json_object_get(arguments, "output_type_shape"), types.outputs, G_N_ELEMENTS(types.outputs));
    event.arithmetic = ifm_ort_arithmetic(node->op_type, &types, &event.dtype);
    g_array_append_val(reader->open, event);
}

static int by_start(gconstpointer a, gconstpointer b)
{
    const Event *x = a, *y = b;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->duration_us < y->duration_us) - (x->duration_us > y->duration_us); /* the outer before the inner */
}

/* Nodes of a subgraph run within their node's own time: only the outermost are counted. */
static void add_outermost(Reader *reader, GArray *events, gint64 run_us, IfmEngineProfile *profile)
{
    gint64 end_us = 0;
    g_array_sort(events, by_start);
    for (guint i = 0; i < events->len; i++)
    {
        Event *event = &g_array_index(events, Event, i);
        gint64 event_end_us = event->start_us + event->duration_us;
        if (i > 0 && event_end_us <= end_us && event->duration_us > 0)
            continue;
        end_us = MAX(end_us, event_end_us);
        event->node->start_ns = (event->start_us - run_us) * RESOLUTION_NS;
        event->node->duration_ns = event->duration_us * RESOLUTION_NS;
        if (reader->effective_config != NULL)
        {
            IfmNodeConfig *config = ifm_effective_config_add_node(
                reader->effective_config, event->node->name, event->node->op_type, event->node->provider, "", event->dtype);
            g_free(config->arithmetic);
            config->arithmetic = g_strdup(event->arithmetic);
        }
        g_ptr_array_add(profile->nodes, g_steal_pointer(&event->node));
    }
}

static void end_run(Reader *reader, const json_t *json)
{
    gint64 tid = member(json, "tid"), start_us = member(json, "ts"), duration_us = member(json, "dur");
    IfmEngineProfile *profile = ifm_engine_profile_new();
    g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(Event));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(Event));
    g_array_set_clear_func(events, event_clear);
    for (guint i = 0; i < reader->open->len; i++)
    {
        Event *event = &g_array_index(reader->open, Event, i);
        gboolean is_inside = event->tid == tid && event->start_us >= start_us;
        g_array_append_vals(is_inside ? events : others, event, 1);
    }
    g_array_set_size(reader->open, 0); /* moved, so nothing is freed */
    g_array_append_vals(reader->open, others->data, others->len);
    profile->resolution_ns = RESOLUTION_NS;
    profile->inside_ns = duration_us * RESOLUTION_NS;
    add_outermost(reader, events, start_us, profile);
    g_ptr_array_add(reader->profiles, profile);
}

/* Threads that have not worked yet share one name in the runtime's profile, so keys may repeat. */
static gboolean read_line(Reader *reader, char *line, json_error_t *trouble)
{
    g_strchomp(line);
    if (g_str_has_suffix(line, ","))
        line[strlen(line) - 1] = '\0';
    if (*line == '\0' || g_str_equal(line, "[") || g_str_equal(line, "]"))
        return TRUE;
    json_t *json = json_loads(line, 0, trouble);
    if (json == NULL)
        return FALSE;
    reader->n_events++;
    if (g_str_equal(text_member(json, "cat"), "Node"))
        read_node(reader, json);
    else if (g_str_equal(text_member(json, "name"), "model_run"))
        end_run(reader, json);
    json_decref(json);
    return TRUE;
}

#define SHOWN_BEFORE 60 /* bytes shown of a line that cannot be read, before the place … */
#define SHOWN_BEHIND 20 /* … and after it */

/* The file does not exist any more when the message is read, so the message quotes it. */
static void refuse_line(const char *who, gsize number, const char *line, const json_error_t *trouble, GError **error)
{
    gsize length = strlen(line), at = MIN((gsize)MAX(trouble->position, 0), length);
    gsize from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0, to = MIN(at + SHOWN_BEHIND, length);
    g_autofree char *part = g_strndup(line + from, to - from);
    g_autofree char *shown = ifm_runtime_words(part, NULL);
    ifm_error_set(error, IFM_ERROR_FAILED, "%s: line %zu of the runtime's profile is no event: %s, at byte %zu: …%s…", who,
                  number, trouble->text, at, shown);
}

static gboolean read_lines(FILE *file, const char *who, Reader *reader, GError **error)
{
    g_autofree char *line = NULL; /* from getline(): GLib uses malloc(), too */
    size_t size = 0;
    for (gsize number = 1; getline(&line, &size, file) >= 0; number++)
    {
        json_error_t trouble = { 0 };
        if (read_line(reader, line, &trouble))
            continue;
        refuse_line(who, number, line, &trouble, error);
        return FALSE;
    }
    return TRUE;
}

gboolean ifm_ort_profile_read(const char *path, const char *who, GPtrArray *profiles, IfmEffectiveConfig *effective_config,
                              gint64 *n_events, GError **error)
{
    FILE *file = g_fopen(path, "re");
    if (file == NULL)
        return ifm_error_set(error, IFM_ERROR_FAILED, "%s: the runtime's profile cannot be read: %s: %s", who, path,
                             g_strerror(errno));
    Reader reader = { .open = g_array_new(FALSE, FALSE, sizeof(Event)),
                      .profiles = profiles,
                      .effective_config = effective_config };
    gboolean ok = read_lines(file, who, &reader, error);
    fclose(file);
    for (guint i = 0; i < reader.open->len; i++)
        event_clear(&g_array_index(reader.open, Event, i));
    g_array_unref(reader.open);
    *n_events = reader.n_events;
    return ok;
}

static void replace_text(char **member, const char *text)
{
    g_free(*member);
    *member = g_strdup(text);
}

/* The runtime reports no implementation of a node; the convolutions of named algorithms have one. */
static void name_implementations(const OrtCompiled *self, const GPtrArray *profiles, IfmEffectiveConfig *effective_config)
{
    g_autoptr(GHashTable) records = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < self->conv_layers->len; i++)
    {
        const IfmConvLayer *record = ((const OrtConvLayer *)self->conv_layers->pdata[i])->record;
        g_hash_table_insert(records, record->layer, (gpointer)record);
    }
    for (guint i = 0; i < profiles->len; i++)
    {
        const GPtrArray *nodes = ((const IfmEngineProfile *)profiles->pdata[i])->nodes;
        for (guint k = 0; k < nodes->len; k++)
        {
            IfmNodeTime *node = nodes->pdata[k];
            const IfmConvLayer *record = g_hash_table_lookup(records, node->name);
            if (record != NULL)
                replace_text(&node->implementation, record->implementation);
        }
    }
    for (guint i = 0; effective_config != NULL && i < effective_config->nodes->len; i++)
    {
        IfmNodeConfig *node = effective_config->nodes->pdata[i];
        const IfmConvLayer *record = g_hash_table_lookup(records, node->name);
        if (record != NULL)
            replace_text(&node->implementation, record->implementation);
    }
}

gboolean ifm_ort_profile_end(const OrtApi *api, OrtSession *session, const char *who, GPtrArray *profiles,
                             IfmEffectiveConfig *effective_config, gint64 *n_events, GError **error)
{
    OrtAllocator *allocator = NULL;
    char *path = NULL;
    if (!ifm_ort_check(api, api->GetAllocatorWithDefaultOptions(&allocator), who, IFM_ERROR_FAILED, error) ||
        !ifm_ort_check(api, api->SessionEndProfiling(session, allocator, &path), who, IFM_ERROR_FAILED, error))
        return FALSE;
    gboolean ok = ifm_ort_profile_read(path, who, profiles, effective_config, n_events, error);
    g_unlink(path);
    ifm_ort_check(api, api->AllocatorFree(allocator, path), who, IFM_ERROR_FAILED, NULL);
    return ok;
}

/* What stands around the runtime's own convolutions, to time them, is no node of the model's. */
static void drop_marks(GPtrArray *nodes)
{
    for (guint i = nodes->len; i > 0; i--)
        if (g_str_equal(((const IfmNodeConfig *)nodes->pdata[i - 1])->op_type, "Mark"))
            g_ptr_array_remove_index(nodes, i - 1);
}

static gboolean end_profile(OrtCompiled *self, GPtrArray *profiles, IfmEffectiveConfig *effective_config, GError **error)
{
    guint n_before = profiles->len;
    gint64 n_events = 0;
    gboolean ok = ifm_ort_profile_end(ort_engine(&self->base)->api, self->session, self->base.who, profiles,
                                      effective_config, &n_events, error);
    if (ok && self->conv_layers != NULL)
        name_implementations(self, profiles, effective_config);
    if (ok && self->conv_cuda != NULL && effective_config != NULL)
        drop_marks(effective_config->nodes);
    if (ok && (ifm_device_traits(IFM_ORT_NAME, self->base.spec->unit) & IFM_DEVICE_ELSEWHERE) != 0)
        ok = ifm_ort_conv_cuda_times(self->conv_layers, profiles, n_before, error);
    if (ok && profiles->len > n_before)
        self->events_per_run = n_events / (profiles->len - n_before) + 1;
    return ok;
}

/* Ends the profile. Another profile needs a new session, which is made before the next inference: usually there is
 * none. On the executing thread. */
static gboolean end_session(OrtCompiled *self, GPtrArray *profiles, GError **error)
{
    if (!end_profile(self, profiles, NULL, error))
        return FALSE;
    ort_engine(&self->base)->api->ReleaseSession(self->session);
    self->session = NULL;
    self->events = 0;
    return TRUE;
}

static gboolean need_session(OrtCompiled *self, GError **error)
{
    return self->session != NULL || ifm_ort_session_open(self, error);
}

gboolean ifm_ort_profile_prepare(IfmRequest *request, GError **error)
{
    OrtCompiled *self = (OrtCompiled *)request->compiled;
    if (!self->base.options.profiling)
        return TRUE;
    /* Until a profile was read, twice the model's nodes: the runtime inserts nodes of its own. */
    gint64 per_run = self->events_per_run;
    if (per_run == 0)
        per_run = 2 * (gint64)ifm_model_n_nodes(self->base.model) + 8;
    if (atomic_fetch_add(&self->events, per_run) + per_run < MAX_EVENTS)
        return need_session(self, error);
    if (ifm_device_spec_n_streams(self->base.spec) > 1) /* other streams may be running in the session */
    {
        return ifm_error_set(error, IFM_ERROR_FAILED,
                             "%s: its profile is full: read it at least every %" G_GINT64_FORMAT " inferences",
                             self->base.who, MAX_EVENTS / per_run);
    }
    return end_session(self, self->pending, error) && need_session(self, error);
}

typedef struct
{
    OrtCompiled *self;
    GPtrArray *profiles;
    gboolean ok;
    GError *error;
} Ending;

static void call_end(void *user)
{
    Ending *ending = user;
    OrtCompiled *self = ending->self;
    gboolean several = ifm_device_spec_n_streams(self->base.spec) >
                       1; /* several streams could not agree on which of them makes the next session */
    ending->ok = (self->session == NULL /* nothing ran since */ || end_session(self, ending->profiles, &ending->error)) &&
                 (!several || need_session(self, &ending->error));
}

gboolean ifm_ort_profile(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error)
{
    OrtCompiled *self = (OrtCompiled *)compiled;
    if (atomic_load(&self->n_running) > 0)
        return ifm_error_refuse(error, "%s: another stream is inferring: the profile is the session's, so all have to wait",
                                compiled->who);
    g_ptr_array_extend_and_steal(profiles, g_steal_pointer(&self->pending));
    self->pending = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    Ending ending = { .self = self, .profiles = profiles };
    ifm_compiled_invoke(compiled, 0, call_end, &ending);
    if (!ending.ok)
        g_propagate_error(error, ending.error);
    return ending.ok;
}

/* The graph that ran, where a quantised model may have become another. A provider that compiles nodes cannot save it: the
 * profile then has to do. (transfer full) */
static IfmCompiled *run_again(IfmCompiled *compiled, const IfmTensor *inputs, IfmRequest **request, IfmModel **graph,
                              GError **error)
{
    IfmTemporary folder = { 0 };
    if (!ifm_ort_is_quantised(compiled->model) || !ifm_temporary_make(&folder, NULL))
        return ifm_compiled_again(compiled, inputs, NULL, request, error);
    g_autofree char *path = g_build_filename(folder.path, "graph.onnx", NULL);
    IfmCompiled *profiled = ifm_compiled_again(compiled, inputs, path, request, NULL);
    if (profiled != NULL)
        *graph = ifm_model_open_outline(path, NULL);
    ifm_temporary_clear(&folder);
    return profiled != NULL ? profiled : ifm_compiled_again(compiled, inputs, NULL, request, error);
}

gboolean ifm_ort_effective_config(IfmCompiled *compiled, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                                  GError **error)
{
    IfmRequest *request = NULL;
    g_autoptr(IfmModel) graph = NULL;
    IfmCompiled *profiled = run_again(compiled, inputs, &request, &graph, error);
    if (profiled == NULL)
        return FALSE;
    if (((OrtCompiled *)compiled)->one_thread)
        effective_config->why_one_thread = IFM_ORT_WHY_ONE_THREAD;
    ifm_ort_note_options((OrtCompiled *)compiled, effective_config);
    if (((OrtCompiled *)compiled)->conv_layers != NULL)
        effective_config->convolutions = ifm_ort_conv_records(((OrtCompiled *)compiled)->conv_layers);
    g_autoptr(GPtrArray) profiles = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    gboolean ok = end_profile((OrtCompiled *)profiled, profiles, effective_config, error);
    if (graph != NULL)
        ifm_ort_arithmetic_by_graph(graph, effective_config);
    ifm_request_free(request);
    ifm_compiled_free(profiled);
    return ok;
}

void ifm_ort_profile_clear(OrtCompiled *self)
{
    ifm_temporary_clear(&self->profile_folder); /* a session writes its profile when it is released */
}
