#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <inferometer/json.h>

#include "measure-private.h"

/* --- frames ------------------------------------------------------------------------------------------------------- */

/* Waits until the other end has taken something. FALSE with ETIMEDOUT where it does not for that long. */
static gboolean wait_for_room(int fd)
{
    struct pollfd channel = { .fd = fd, .events = POLLOUT };
    int n;
    while ((n = poll(&channel, 1, IFM_MESSAGE_PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    if (n == 0)
        errno = ETIMEDOUT;
    return n > 0; /* the next send tells where it is an error */
}

static gboolean send_whole(int fd, const char *bytes, gsize n)
{
    while (n > 0)
    {
        gssize sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && wait_for_room(fd))
            continue;
        if (sent <= 0)
            return FALSE;
        bytes += sent;
        n -= (gsize)sent;
    }
    return TRUE;
}

gboolean ifm_message_send(int fd, const json_t *message)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    char *text = json_dumps(message, JSON_COMPACT);
    gsize length = text != NULL ? strlen(text) : 0;
    if (text == NULL || length > IFM_MESSAGE_MOST_BYTES)
    {
        free(text);
        errno = EMSGSIZE;
        return FALSE;
    }
    guint32 n = (guint32)length;
    pthread_mutex_lock(&one_at_a_time);
    gboolean sent = send_whole(fd, (const char *)&n, sizeof n) && send_whole(fd, text, n);
    int failure = errno;
    pthread_mutex_unlock(&one_at_a_time);
    free(text);
    errno = failure;
    return sent;
}

void ifm_message_reader_init(IfmMessageReader *reader, int fd)
{
    reader->fd = fd;
    reader->bytes = g_byte_array_new();
}

void ifm_message_reader_clear(IfmMessageReader *reader)
{
    g_clear_pointer(&reader->bytes, g_byte_array_unref);
}

/* Takes a whole message off the front of what was read. */
static IfmMessageState take_message(IfmMessageReader *reader, json_t **message)
{
    guint32 n;
    if (reader->bytes->len < sizeof n)
        return IFM_MESSAGE_NONE;
    memcpy(&n, reader->bytes->data, sizeof n);
    if (n > IFM_MESSAGE_MOST_BYTES)
        return IFM_MESSAGE_ENDED;
    if (reader->bytes->len - sizeof n < n)
        return IFM_MESSAGE_NONE;
    *message = json_loadb((const char *)reader->bytes->data + sizeof n, n, JSON_REJECT_DUPLICATES, NULL);
    g_byte_array_remove_range(reader->bytes, 0, (guint)(sizeof n + n));
    return *message != NULL ? IFM_MESSAGE_ONE : IFM_MESSAGE_ENDED;
}

IfmMessageState ifm_message_read(IfmMessageReader *reader, json_t **message)
{
    guint8 chunk[65536];
    IfmMessageState state;
    while ((state = take_message(reader, message)) == IFM_MESSAGE_NONE)
    {
        gssize n = recv(reader->fd, chunk, sizeof chunk, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return IFM_MESSAGE_NONE;
        if (n <= 0)
            return IFM_MESSAGE_ENDED;
        g_byte_array_append(reader->bytes, chunk, (guint)n);
    }
    return state;
}

/* --- members of a case ---------------------------------------------------------------------------------------------- */

json_t *ifm_path_to_json(const char *path)
{
    g_autofree char *escaped = path != NULL ? g_strescape(path, NULL) : NULL;
    return escaped != NULL ? json_string(escaped) : json_null();
}

gboolean ifm_members_path(const IfmMembers *members, const char *key, char **value)
{
    const char *escaped;
    *value = NULL;
    if (json_is_null(json_object_get(members->object, key)))
        return TRUE;
    if (!ifm_members_text(members, key, &escaped))
        return FALSE;
    *value = g_strcompress(escaped);
    return TRUE;
}

gboolean ifm_members_size(const IfmMembers *members, const char *key, gsize *value)
{
    gint64 whole;
    if (!ifm_members_int(members, key, &whole))
        return FALSE;
    *value = (gsize)MAX(whole, 0);
    return TRUE;
}

gboolean ifm_members_int(const IfmMembers *members, const char *key, gint64 *value)
{
    return ifm_json_get_int64(members->object, members->where, key, value, members->error);
}

gboolean ifm_members_double(const IfmMembers *members, const char *key, double *value)
{
    return ifm_json_get_double(members->object, members->where, key, value, members->error);
}

gboolean ifm_members_flag(const IfmMembers *members, const char *key, gboolean *value)
{
    return ifm_json_get_boolean(members->object, members->where, key, value, members->error);
}

gboolean ifm_members_text(const IfmMembers *members, const char *key, const char **value)
{
    return ifm_json_get_string(members->object, members->where, key, value, members->error);
}

/* --- a model case ------------------------------------------------------------------------------------------------- */

json_t *ifm_protocol_to_json(const IfmProtocol *protocol)
{
    if (protocol->runs > 0)
        return json_pack("{s:I,s:I}", "warmup", (json_int_t)protocol->warmup, "runs", (json_int_t)protocol->runs);
    return json_pack("{s:f,s:f,s:I,s:I,s:I,s:I}", "ci_ratio", protocol->ci_ratio, "level", protocol->level, "warmup",
                     (json_int_t)protocol->warmup, "least_runs", (json_int_t)protocol->least_runs, "most_runs",
                     (json_int_t)protocol->most_runs, "time_budget_ns", (json_int_t)protocol->time_budget_ns);
}

json_t *ifm_protocol_to_message(const IfmProtocol *protocol)
{
    return json_pack("{s:I,s:I,s:f,s:f,s:I,s:I,s:I}", "warmup", (json_int_t)protocol->warmup, "runs",
                     (json_int_t)protocol->runs, "ci_ratio", protocol->ci_ratio, "level", protocol->level, "least_runs",
                     (json_int_t)protocol->least_runs, "most_runs", (json_int_t)protocol->most_runs, "time_budget_ns",
                     (json_int_t)protocol->time_budget_ns);
}

static json_t *sizes_to_json(const IfmDimBinding *sizes, gsize n)
{
    json_t *json = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(
            json, json_pack("{s:o,s:I}", "name", ifm_json_string(sizes[i].name), "value", (json_int_t)sizes[i].value));
    return json;
}

/* "" where it has no alias. */
static json_t *load_to_json(const IfmModelCase *model_case)
{
    json_t *json = json_array();
    for (gsize i = 0; i < model_case->n_load; i++)
    {
        const IfmLoadDevice *one = &model_case->load[i];
        json_array_append_new(
            json, json_pack("{s:o,s:o,s:o,s:o,s:b}", "alias", ifm_json_string(one->alias != NULL ? one->alias : ""),
                            "device", ifm_json_string(one->device), "model_path", ifm_path_to_json(one->model_path),
                            "inputs_path", ifm_path_to_json(one->inputs_path), "free_shapes", one->free_shapes));
    }
    return json;
}

json_t *ifm_model_case_to_json(const IfmModelCase *model_case)
{
    json_t *vendor = json_array();
    for (gsize i = 0; model_case->vendor != NULL && model_case->vendor[i] != NULL; i++)
        json_array_append_new(vendor, ifm_json_string(model_case->vendor[i]));
    json_t *json = json_object();
    json_object_set_new(json, "model_path", ifm_path_to_json(model_case->model_path));
    json_object_set_new(json, "inputs_path", ifm_path_to_json(model_case->inputs_path));
    json_object_set_new(json, "cache_dir", ifm_path_to_json(model_case->cache_dir));
    json_object_set_new(json, "free_shapes", json_boolean(model_case->free_shapes));
    json_object_set_new(json, "model_name", ifm_json_string(model_case->model_name));
    json_object_set_new(json, "device", ifm_json_string(model_case->device));
    json_object_set_new(json, "bindings", sizes_to_json(model_case->bindings, model_case->n_bindings));
    json_object_set_new(json, "sizes", sizes_to_json(model_case->sizes, model_case->n_sizes));
    json_object_set_new(json, "vendor", vendor);
    json_object_set_new(json, "dtype", json_integer(model_case->dtype));
    json_object_set_new(json, "threads", json_integer(model_case->threads));
    json_object_set_new(json, "seed", json_integer(model_case->seed));
    json_object_set_new(json, "protocol", ifm_protocol_to_message(&model_case->protocol));
    json_object_set_new(json, "profile", json_boolean(model_case->profile));
    json_object_set_new(json, "profile_few", json_boolean(model_case->profile_few));
    json_object_set_new(json, "verify", json_boolean(model_case->verify));
    json_object_set_new(json, "native_async", json_boolean(model_case->native_async));
    json_object_set_new(json, "rtol", ifm_json_real(model_case->rtol));
    json_object_set_new(json, "atol", ifm_json_real(model_case->atol));
    json_object_set_new(json, "as_wholes", json_boolean(model_case->as_wholes));
    json_object_set_new(json, "load", load_to_json(model_case));
    return json;
}

gboolean ifm_protocol_from_message(const json_t *json, IfmProtocol *protocol, GError **error)
{
    json_t *object;
    if (!ifm_json_get_object(json, "case", "protocol", &object, error))
        return FALSE;
    const IfmMembers members = { object, "case.protocol", error };
    return ifm_members_size(&members, "warmup", &protocol->warmup) && ifm_members_size(&members, "runs", &protocol->runs) &&
           ifm_members_double(&members, "ci_ratio", &protocol->ci_ratio) &&
           ifm_members_double(&members, "level", &protocol->level) &&
           ifm_members_size(&members, "least_runs", &protocol->least_runs) &&
           ifm_members_size(&members, "most_runs", &protocol->most_runs) &&
           ifm_members_int(&members, "time_budget_ns", &protocol->time_budget_ns);
}

static gboolean read_sizes(const json_t *json, const char *key, IfmDimBinding **sizes, gsize *n, GError **error)
{
    json_t *list;
    if (!ifm_json_get_array(json, "case", key, &list, error))
        return FALSE;
    *n = json_array_size(list);
    *sizes = g_new0(IfmDimBinding, *n);
    for (gsize i = 0; i < *n; i++)
    {
        const IfmMembers members = { json_array_get(list, i), key, error };
        if (!ifm_members_text(&members, "name", &(*sizes)[i].name) ||
            !ifm_members_int(&members, "value", &(*sizes)[i].value))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_load(IfmOwnedCase *owned, GError **error)
{
    json_t *list;
    if (!ifm_json_get_array(owned->json, "case", "load", &list, error))
        return FALSE;
    gsize n = json_array_size(list);
    owned->load = g_new0(IfmLoadDevice, n + 1);
    owned->load_paths = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < n; i++)
    {
        IfmLoadDevice *one = &owned->load[i];
        const IfmMembers members = { json_array_get(list, i), "case.load", error };
        char *model_path = NULL, *inputs_path = NULL;
        gboolean whole = ifm_members_text(&members, "alias", &one->alias) &&
                         ifm_members_text(&members, "device", &one->device) &&
                         ifm_members_path(&members, "model_path", &model_path) &&
                         ifm_members_path(&members, "inputs_path", &inputs_path) &&
                         ifm_members_flag(&members, "free_shapes", &one->free_shapes);
        one->alias = whole && *one->alias != '\0' ? one->alias : NULL;
        one->model_path = model_path;
        one->inputs_path = inputs_path;
        g_ptr_array_add(owned->load_paths, model_path);
        g_ptr_array_add(owned->load_paths, inputs_path);
        if (!whole)
            return FALSE;
    }
    owned->model_case.load = owned->load;
    owned->model_case.n_load = n;
    return TRUE;
}

static gboolean read_lists(IfmOwnedCase *owned, GError **error)
{
    json_t *vendor;
    IfmModelCase *out = &owned->model_case;
    if (!read_sizes(owned->json, "bindings", &owned->bindings, &out->n_bindings, error) ||
        !read_sizes(owned->json, "sizes", &owned->sizes, &out->n_sizes, error) ||
        !ifm_json_get_array(owned->json, "case", "vendor", &vendor, error))
        return FALSE;
    gsize n_vendor = json_array_size(vendor);
    owned->vendor = g_new0(const char *, n_vendor + 1);
    for (gsize i = 0; i < n_vendor; i++)
        owned->vendor[i] = json_string_value(json_array_get(vendor, i));
    out->bindings = owned->bindings;
    out->sizes = out->n_sizes > 0 ? owned->sizes : NULL;
    out->vendor = n_vendor > 0 ? owned->vendor : NULL;
    return TRUE;
}

gboolean ifm_owned_case_init(IfmOwnedCase *owned, json_t *json, GError **error)
{
    *owned = (IfmOwnedCase){ .json = json_incref(json) };
    IfmModelCase *out = &owned->model_case;
    const IfmMembers members = { json, "case", error };
    gint64 dtype = 0, threads = 0, seed = 0;
    gboolean whole =
        ifm_members_path(&members, "model_path", &owned->model_path) &&
        ifm_members_path(&members, "inputs_path", &owned->inputs_path) &&
        ifm_members_path(&members, "cache_dir", &owned->cache_dir) &&
        ifm_members_flag(&members, "free_shapes", &out->free_shapes) &&
        ifm_members_text(&members, "model_name", &out->model_name) && ifm_members_text(&members, "device", &out->device) &&
        ifm_members_int(&members, "dtype", &dtype) && ifm_members_int(&members, "threads", &threads) &&
        ifm_members_int(&members, "seed", &seed) && ifm_members_flag(&members, "profile", &out->profile) &&
        ifm_members_flag(&members, "profile_few", &out->profile_few) &&
        ifm_members_flag(&members, "verify", &out->verify) &&
        ifm_members_flag(&members, "native_async", &out->native_async) &&
        ifm_members_flag(&members, "as_wholes", &out->as_wholes) && ifm_members_double(&members, "rtol", &out->rtol) &&
        ifm_members_double(&members, "atol", &out->atol) && read_lists(owned, error) && read_load(owned, error) &&
        ifm_protocol_from_message(json, &out->protocol, error);
    out->model_path = owned->model_path;
    out->inputs_path = owned->inputs_path;
    out->cache_dir = owned->cache_dir;
    out->dtype = (IfmDtype)dtype;
    out->threads = (int)threads;
    out->seed = (guint32)seed;
    if (!whole)
        ifm_owned_case_clear(owned);
    return whole;
}

void ifm_owned_case_clear(IfmOwnedCase *owned)
{
    g_clear_pointer(&owned->bindings, g_free);
    g_clear_pointer(&owned->sizes, g_free);
    g_clear_pointer(&owned->inputs_path, g_free);
    g_clear_pointer(&owned->cache_dir, g_free);
    g_clear_pointer(&owned->vendor, g_free);
    g_clear_pointer(&owned->load, g_free);
    g_clear_pointer(&owned->load_paths, g_ptr_array_unref);
    g_clear_pointer(&owned->model_path, g_free);
    json_decref(owned->json);
    owned->json = NULL;
}

/* --- a link case -------------------------------------------------------------------------------------------------- */

json_t *ifm_link_case_to_json(const IfmLinkCase *link_case)
{
    return json_pack("{s:s,s:s,s:I,s:o}", "from", link_case->from, "to", link_case->to, "bytes",
                     (json_int_t)link_case->size_bytes, "protocol", ifm_protocol_to_message(&link_case->protocol));
}

gboolean ifm_link_case_from_json(const json_t *json, IfmLinkCase *link_case, GError **error)
{
    const IfmMembers members = { json, "case", error };
    *link_case = (IfmLinkCase){ 0 };
    return ifm_members_text(&members, "from", &link_case->from) && ifm_members_text(&members, "to", &link_case->to) &&
           ifm_members_int(&members, "bytes", &link_case->size_bytes) &&
           ifm_protocol_from_message(json, &link_case->protocol, error);
}

/* --- a limit's case ----------------------------------------------------------------------------------------------- */

json_t *ifm_limit_case_to_json(const IfmLimitCase *limit_case)
{
    return json_pack("{s:s,s:i,s:i,s:I}", "device", limit_case->device, "dtype", (int)limit_case->dtype, "threads",
                     limit_case->threads, "time_budget_ns", (json_int_t)limit_case->time_budget_ns);
}

gboolean ifm_limit_case_from_json(const json_t *json, IfmLimitCase *limit_case, GError **error)
{
    const IfmMembers members = { json, "case", error };
    gint64 dtype = 0, threads = 0;
    *limit_case = (IfmLimitCase){ 0 };
    gboolean whole = ifm_members_text(&members, "device", &limit_case->device) &&
                     ifm_members_int(&members, "dtype", &dtype) && ifm_members_int(&members, "threads", &threads) &&
                     ifm_members_int(&members, "time_budget_ns", &limit_case->time_budget_ns);
    limit_case->dtype = (IfmDtype)dtype;
    limit_case->threads = (int)threads;
    return whole;
}
