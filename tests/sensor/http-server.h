#pragma once
#include <gio/gio.h>
#include <string.h>

#include "ports.h"

/*
 * A server on loopback that answers each path with what a test says. A thread accepts, one more serves each connection.
 * (Not GThreadedSocketService: with as many connections as threads it goes on to accept in a context that nobody runs, and
 * its threads outlive it.)
 */

#define HTTP_RAW "raw:"
#define HTTP_DRIP "drip:"
#define HTTP_DRIP_US 100000

typedef struct
{
    GSocket *socket;
    GCancellable *end;
    GThread *thread;
    guint16 port;
    /* (transfer full) the body, or with HTTP_RAW before it the whole answer, or with HTTP_DRIP a body that comes a byte at
     * a time; NULL: nothing is ever answered. @form: what was posted. Called in several threads */
    char *(*answer)(const char *path, const char *form, void *user);
    void *user;
} HttpServer;

typedef struct
{
    const HttpServer *server;
    GSocketConnection *connection;
} HttpCall;

/* (transfer full) the head and the body of a request; NULL: the client went, or the server ends */
static inline char *http_read(GInputStream *in, GCancellable *end)
{
    g_autoptr(GString) request = g_string_new(NULL);
    char bytes[4096];
    const char *body = NULL;
    gsize length = 0;
    while (body == NULL || strlen(body) < length)
    {
        const gssize n = g_input_stream_read(in, bytes, sizeof bytes, end, NULL);
        if (n <= 0)
            return NULL;
        g_string_append_len(request, bytes, n);
        body = strstr(request->str, "\r\n\r\n");
        body = body != NULL ? body + 4 : NULL;
        const char *field = strstr(request->str, "Content-Length: ");
        length = field != NULL ? (gsize)g_ascii_strtoull(field + 16, NULL, 10) : 0;
    }
    return g_string_free(g_steal_pointer(&request), FALSE);
}

static inline void http_write(GOutputStream *out, const char *answer, GCancellable *end)
{
    const gboolean is_raw = g_str_has_prefix(answer, HTTP_RAW), drips = g_str_has_prefix(answer, HTTP_DRIP);
    const char *body = is_raw ? answer + strlen(HTTP_RAW) : drips ? answer + strlen(HTTP_DRIP) : answer;
    g_autofree char *head = g_strdup_printf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                                            "Content-Length: %zu\r\n\r\n",
                                            strlen(body));
    g_autofree char *whole = g_strconcat(is_raw ? "" : head, drips ? "" : body, NULL);
    gboolean ok = g_output_stream_write_all(out, whole, strlen(whole), NULL, end, NULL);
    for (const char *at = drips ? body : ""; ok && *at != '\0'; at++)
    {
        g_usleep(HTTP_DRIP_US);
        ok = g_output_stream_write_all(out, at, 1, NULL, end, NULL);
    }
}

static inline gpointer http_serve(gpointer data)
{
    g_autofree HttpCall *call = data;
    const HttpServer *server = call->server;
    g_autoptr(GSocketConnection) connection = call->connection;
    GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(connection));
    GOutputStream *out = g_io_stream_get_output_stream(G_IO_STREAM(connection));
    g_autofree char *request = http_read(in, server->end);
    if (request == NULL)
        return NULL;
    g_auto(GStrv) words = g_strsplit(request, " ", 3);
    g_autofree char *answer = server->answer(words[1], strstr(request, "\r\n\r\n") + 4, server->user);
    char bytes[64];
    if (answer == NULL) /* hangs until the client goes */
        while (g_input_stream_read(in, bytes, sizeof bytes, server->end, NULL) > 0)
            continue;
    else
        http_write(out, answer, server->end);
    return NULL;
}

static inline gpointer http_run(gpointer data)
{
    const HttpServer *server = data;
    g_autoptr(GPtrArray) threads = g_ptr_array_new();
    for (GSocket *socket; (socket = g_socket_accept(server->socket, server->end, NULL)) != NULL; g_object_unref(socket))
    {
        HttpCall *call = g_new(HttpCall, 1);
        *call = (HttpCall){ server, g_socket_connection_factory_create_connection(socket) };
        g_ptr_array_add(threads, g_thread_new("http-call", http_serve, call));
    }
    for (guint i = 0; i < threads->len; i++)
        g_thread_join(threads->pdata[i]);
    return NULL;
}

static inline void http_start(HttpServer *server)
{
    g_autoptr(GError) error = NULL;
    const int fd = hold_port(&server->port);
    server->socket = g_socket_new_from_fd(fd, &error);
    g_assert_no_error(error);
    g_assert_true(g_socket_listen(server->socket, &error));
    server->end = g_cancellable_new();
    server->thread = g_thread_new("http", http_run, server);
}

static inline void http_stop(HttpServer *server)
{
    g_cancellable_cancel(server->end);
    g_thread_join(server->thread);
    g_object_unref(server->socket);
    g_object_unref(server->end);
}
