#pragma once
#include <gio/gio.h>
#include <string.h>

/* A server on loopback that answers each path with what a test says. */

typedef struct
{
    GSocketService *service;
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
    guint16 port;
    /* (transfer full) the body; NULL: nothing is ever answered. @form: what was posted */
    char *(*answer)(const char *path, const char *form, void *user);
    void *user;
} HttpServer;

static inline gboolean http_serve(GThreadedSocketService *service, GSocketConnection *connection, GObject *source,
                                  gpointer data)
{
    HttpServer *server = data;
    GInputStream *in = g_io_stream_get_input_stream(G_IO_STREAM(connection));
    GOutputStream *out = g_io_stream_get_output_stream(G_IO_STREAM(connection));
    g_autoptr(GString) request = g_string_new(NULL);
    char bytes[4096];
    const char *body = NULL;
    gsize length = 0;
    while (body == NULL || strlen(body) < length)
    {
        const gssize n = g_input_stream_read(in, bytes, sizeof bytes, NULL, NULL);
        if (n <= 0)
            return TRUE;
        g_string_append_len(request, bytes, n);
        body = strstr(request->str, "\r\n\r\n");
        body = body != NULL ? body + 4 : NULL;
        const char *field = strstr(request->str, "Content-Length: ");
        length = field != NULL ? (gsize)g_ascii_strtoull(field + 16, NULL, 10) : 0;
    }
    g_auto(GStrv) words = g_strsplit(request->str, " ", 3);
    g_autofree char *answer = server->answer(words[1], body, server->user);
    if (answer == NULL) /* hangs until the client goes */
        while (g_input_stream_read(in, bytes, sizeof bytes, NULL, NULL) > 0)
            continue;
    else
    {
        g_autofree char *whole = g_strdup_printf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                                                 "Content-Length: %zu\r\n\r\n%s",
                                                 strlen(answer), answer);
        g_output_stream_write_all(out, whole, strlen(whole), NULL, NULL, NULL);
    }
    return TRUE;
}

static inline gpointer http_run(gpointer data)
{
    HttpServer *server = data;
    g_main_context_push_thread_default(server->context);
    g_main_loop_run(server->loop);
    g_main_context_pop_thread_default(server->context);
    return NULL;
}

static inline void http_start(HttpServer *server)
{
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) address = g_inet_socket_address_new(loopback, 0), actual = NULL;
    g_autoptr(GError) error = NULL;
    server->context = g_main_context_new();
    g_main_context_push_thread_default(server->context);
    server->service = g_threaded_socket_service_new(4);
    g_socket_listener_add_address(G_SOCKET_LISTENER(server->service), address, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP,
                                  NULL, &actual, &error);
    g_assert_no_error(error);
    server->port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(actual));
    g_signal_connect(server->service, "run", G_CALLBACK(http_serve), server);
    g_socket_service_start(server->service);
    g_main_context_pop_thread_default(server->context);
    server->loop = g_main_loop_new(server->context, FALSE);
    server->thread = g_thread_new("http", http_run, server);
}

static inline void http_stop(HttpServer *server)
{
    g_socket_service_stop(server->service);
    g_main_loop_quit(server->loop);
    g_thread_join(server->thread);
    g_object_unref(server->service);
    g_main_loop_unref(server->loop);
    g_main_context_unref(server->context);
}

/* A port that is free now. */
static inline guint16 free_port(void)
{
    g_autoptr(GSocketListener) listener = g_socket_listener_new();
    const guint16 port = g_socket_listener_add_any_inet_port(listener, NULL, NULL);
    g_socket_listener_close(listener);
    return port;
}
