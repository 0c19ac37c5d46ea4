/* The bytes of a trace file, whether it is plain, gzip or in memory. */
#include <base/base.h>
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "read-private.h"

#define RAW_BYTES (1 << 16)

struct IfmTraceSource
{
    char *name;
    int fd; /* -1: memory */
    const char *memory;
    gsize n_memory;
    GConverter *gunzip; /* NULL: plain */
    gboolean between;   /* one packed part has ended; another may follow */
    gboolean ended;     /* the file has nothing after raw */
    gboolean is_cut;    /* it ended within packed data */
    gint64 raw_start;   /* byte of the file where raw begins */
    gsize at, n_raw;
    char *unread; /* NULL: nothing was given back */
    gsize n_unread, at_unread;
    char raw[RAW_BYTES];
};

IfmTraceSource *ifm_trace_source_new(const char *text, gsize length, const char *name)
{
    IfmTraceSource *self = g_new0(IfmTraceSource, 1);
    self->name = g_strdup(name);
    self->fd = -1;
    self->memory = text;
    self->n_memory = length;
    return self;
}

IfmTraceSource *ifm_trace_source_open(const char *path, GError **error)
{
    gboolean standard = g_str_equal(path, "-");
    int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    path = standard ? IFM_TRACE_STANDARD_INPUT : path;
    if (fd < 0)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: cannot be read: %s", path, g_strerror(errno));
        return NULL;
    }
    IfmTraceSource *self = ifm_trace_source_new(NULL, 0, path);
    self->fd = fd;
    return self;
}

void ifm_trace_source_free(IfmTraceSource *self)
{
    if (self == NULL)
        return;
    if (self->fd >= 0)
        close(self->fd);
    g_clear_object(&self->gunzip);
    g_free(self->unread);
    g_free(self->name);
    g_free(self);
}

gboolean ifm_trace_source_is_packed(const IfmTraceSource *self)
{
    return self->gunzip != NULL;
}

/* Moves the rest to the front and reads more after it, until raw has at least @min bytes or the file ends. */
static gboolean fill(IfmTraceSource *self, gsize min, GError **error)
{
    memmove(self->raw, self->raw + self->at, self->n_raw - self->at);
    self->raw_start += (gint64)self->at;
    self->n_raw -= self->at;
    self->at = 0;
    while (self->n_raw < min && !self->ended)
    {
        gsize room = sizeof self->raw - self->n_raw;
        gssize n = (gssize)MIN(room, self->n_memory);
        if (self->fd >= 0)
            n = read(self->fd, self->raw + self->n_raw, room);
        else if (n > 0)
        {
            memcpy(self->raw + self->n_raw, self->memory, (gsize)n);
            self->memory += n;
            self->n_memory -= (gsize)n;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: cannot be read: %s", self->name, g_strerror(errno));
        self->ended = n == 0;
        self->n_raw += (gsize)n;
    }
    return TRUE;
}

static gboolean begins_packed(const IfmTraceSource *self)
{
    return self->n_raw - self->at >= 2 && memcmp(self->raw + self->at, "\x1f\x8b", 2) == 0;
}

static gboolean refuse(IfmTraceSource *self, const char *what, GError **error)
{
    return ifm_error_refuse(error, "%s: byte %" G_GINT64_FORMAT ": %s", self->name, self->raw_start + (gint64)self->at,
                            what);
}

static gboolean cut(IfmTraceSource *self, GError **error)
{
    self->is_cut = TRUE;
    return refuse(self, "the gzip data are truncated: expected more", error);
}

gboolean ifm_trace_source_is_cut(const IfmTraceSource *self)
{
    return self->is_cut;
}

/* A packed file may consist of several, as `cat a.gz b.gz` makes it. */
static gboolean next_part(IfmTraceSource *self, GError **error)
{
    if (!fill(self, 2, error))
        return FALSE;
    if (self->n_raw == 0)
        return TRUE;
    if (!begins_packed(self))
        return refuse(self, "the gzip data end here, but the file does not: expected its end or more gzip data", error);
    g_converter_reset(self->gunzip);
    self->between = FALSE;
    return TRUE;
}

static gboolean unpack(IfmTraceSource *self, char *buffer, gsize room, gsize *n, GError **error)
{
    while (*n == 0)
    {
        if (self->between && !next_part(self, error))
            return FALSE;
        if (self->between)
            return TRUE;
        if (self->at == self->n_raw && !fill(self, 1, error))
            return FALSE;
        if (self->n_raw == 0)
            return cut(self, error);
        gsize n_read = 0;
        g_autoptr(GError) local = NULL;
        GConverterResult result = g_converter_convert(self->gunzip, self->raw + self->at, self->n_raw - self->at, buffer,
                                                      room, G_CONVERTER_NO_FLAGS, &n_read, n, &local);
        self->at += n_read;
        if (result == G_CONVERTER_FINISHED)
            self->between = TRUE;
        if (result != G_CONVERTER_ERROR)
            continue;
        if (!g_error_matches(local, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
            return refuse(self, "the gzip data are damaged", error);
        gsize before = self->n_raw - self->at; /* the decompressor needs more bytes at once */
        if (!fill(self, before + 1, error))
            return FALSE;
        if (self->n_raw == before)
            return cut(self, error);
    }
    return TRUE;
}

void ifm_trace_source_unread(IfmTraceSource *self, const char *bytes, gsize n)
{
    g_assert(self->unread == NULL);
    self->unread = g_memdup2(bytes, n);
    self->n_unread = n;
}

gboolean ifm_trace_source_read(IfmTraceSource *self, char *buffer, gsize room, gsize *n, GError **error)
{
    *n = MIN(room, self->n_unread - self->at_unread);
    if (*n > 0)
    {
        memcpy(buffer, self->unread + self->at_unread, *n);
        self->at_unread += *n;
        return TRUE;
    }
    if (self->gunzip != NULL)
        return unpack(self, buffer, room, n, error);
    if (self->at == self->n_raw && !fill(self, 2, error))
        return FALSE;
    if (self->raw_start == 0 && self->at == 0 && begins_packed(self))
    {
        self->gunzip = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
        return unpack(self, buffer, room, n, error);
    }
    *n = MIN(room, self->n_raw - self->at);
    memcpy(buffer, self->raw + self->at, *n);
    self->at += *n;
    return TRUE;
}
