#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
    return n > 0; /* if it is an error, the next send reports it */
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
    if (text == NULL || length > IFM_MESSAGE_MAX_BYTES)
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
        return IFM_MESSAGE_NOT_YET;
    memcpy(&n, reader->bytes->data, sizeof n);
    if (n > IFM_MESSAGE_MAX_BYTES)
        return IFM_MESSAGE_ENDED;
    if (reader->bytes->len - sizeof n < n)
        return IFM_MESSAGE_NOT_YET;
    *message = json_loadb((const char *)reader->bytes->data + sizeof n, n, JSON_REJECT_DUPLICATES, NULL);
    g_byte_array_remove_range(reader->bytes, 0, (guint)(sizeof n + n));
    return *message != NULL ? IFM_MESSAGE_ONE : IFM_MESSAGE_ENDED;
}

IfmMessageState ifm_message_read(IfmMessageReader *reader, json_t **message)
{
    guint8 chunk[65536];
    IfmMessageState state;
    while ((state = take_message(reader, message)) == IFM_MESSAGE_NOT_YET)
    {
        gssize n = recv(reader->fd, chunk, sizeof chunk, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return IFM_MESSAGE_NOT_YET;
        if (n <= 0)
            return IFM_MESSAGE_ENDED;
        g_byte_array_append(reader->bytes, chunk, (guint)n);
    }
    return state;
}
