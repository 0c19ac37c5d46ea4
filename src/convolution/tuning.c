/* The tuning cache: which algorithm was the fastest for a layer shape. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <base/base.h>
#include <base/fields.h>
#include <glib/gstdio.h>

#include "onednn-private.h"

#define VERSION 1

#define FIELD(TYPE, member) IFM_RECORD(TYPE, IfmConvTuned, member)

const IfmRecordField ifm_conv_tuned_fields[] = {
    { FIELD(TEXT, processor) }, { FIELD(TEXT, library) },   { FIELD(TEXT, shape) },        { FIELD(INT, n_threads) },
    { FIELD(TEXT, algorithm) }, { FIELD(DOUBLE, time_ns) }, { FIELD(DOUBLE, runtime_ns) }, { NULL },
};

/* --- rows ------------------------------------------------------------------------------------------------------------- */

void ifm_conv_tuned_free(IfmConvTuned *tuned)
{
    ifm_record_free(tuned, ifm_conv_tuned_fields);
}

/* What of /proc/cpuinfo tells one processor from another, on x86 and on ARM. */
static const struct
{
    const char *key, *word;
} processor_words[] = {
    { "vendor_id", "" },           { "cpu family", "family " },   { "model", "model " },
    { "stepping", "stepping " },   { "microcode", "microcode " }, { "CPU implementer", "implementer " },
    { "CPU variant", "variant " }, { "CPU part", "part " },       { "CPU revision", "revision " },
    { "model name", "" },
};

/* The value of a line "key : value"; NULL: there is none. (transfer full) */
static char *line_value(const char *const *lines, const char *key)
{
    for (; *lines != NULL; lines++)
    {
        const char *colon = strchr(*lines, ':');
        g_autofree char *name = colon != NULL ? g_strstrip(g_strndup(*lines, (gsize)(colon - *lines))) : NULL;
        if (g_strcmp0(name, key) == 0)
            return g_strstrip(g_strdup(colon + 1));
    }
    return NULL;
}

char *conv_processor_text(const char *cpuinfo, const gint64 *cache_bytes, gsize n_caches)
{
    g_auto(GStrv) lines = g_strsplit(cpuinfo, "\n", -1);
    g_autofree char *flags = line_value((const char *const *)lines, "flags");
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(processor_words); i++)
    {
        g_autofree char *value = line_value((const char *const *)lines, processor_words[i].key);
        if (value != NULL)
            g_string_append_printf(text, "%s%s%s", text->len > 0 ? ", " : "", processor_words[i].word, value);
    }
    if (text->len == 0)
        g_string_append(text, "unknown");
    if (flags != NULL && strstr(flags, "hypervisor") != NULL)
        g_string_append(text, ", under a hypervisor");
    for (gsize i = 0; i < n_caches; i++)
        if (cache_bytes[i] > 0)
            g_string_append_printf(text, "%s%" G_GINT64_FORMAT " KiB", i == 0 ? ", caches " : " ", cache_bytes[i] >> 10);
    return g_string_free(text, FALSE);
}

char *ifm_conv_processor(void)
{
    const gint64 caches[] = { sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE),
                              sysconf(_SC_LEVEL3_CACHE_SIZE) };
    g_autofree char *text = NULL;
    g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL);
    return conv_processor_text(text != NULL ? text : "", caches, G_N_ELEMENTS(caches));
}

static char *shape_text(const IfmConvShape *shape, const IfmConvOptions *options)
{
    g_autofree char *activation = g_strdelimit(g_strdup(ifm_blocked_activation_name(options->activation)), "_", ' ');
    GString *text = g_string_new(NULL);
    const gint64 *in = shape->in, *kernel = shape->kernel, *stride = shape->stride, *pads = shape->pads;
    g_string_append_printf(text, "%ldx%ldx%ldx%ld to %ld, %ldx%ld", (long)shape->batch, (long)shape->channels, (long)in[0],
                           (long)in[1], (long)shape->out_channels, (long)kernel[0], (long)kernel[1]);
    if (stride[0] != 1 || stride[1] != 1)
        g_string_append_printf(text, ", stride %ldx%ld", (long)stride[0], (long)stride[1]);
    if (shape->dilation[0] != 1 || shape->dilation[1] != 1)
        g_string_append_printf(text, ", dilation %ldx%ld", (long)shape->dilation[0], (long)shape->dilation[1]);
    if (pads[0] != 0 || pads[1] != 0 || pads[2] != 0 || pads[3] != 0)
        g_string_append_printf(text, ", pads %ld %ld %ld %ld", (long)pads[0], (long)pads[1], (long)pads[2], (long)pads[3]);
    if (shape->groups != 1)
        g_string_append_printf(text, ", %ld groups", (long)shape->groups);
    g_string_append_printf(text, ", blocks %d %d", shape->input_block, shape->block);
    if (options->has_sum)
        g_string_append(text, ", sum");
    if (options->activation != IFM_BLOCKED_IDENTITY)
        g_string_append_printf(text, ", %s", activation);
    if (options->max_workspace_bytes != 0 && options->max_workspace_bytes != IFM_CONV_WORKSPACE_BYTES)
        g_string_append_printf(text, ", workspace %zu", options->max_workspace_bytes);
    return g_string_free(text, FALSE);
}

IfmConvTuned *conv_tuned_key(char *processor, char *library, const IfmConvShape *shape, const IfmConvOptions *options)
{
    IfmConvTuned *key = g_new0(IfmConvTuned, 1);
    key->processor = processor;
    key->library = library;
    key->shape = shape_text(shape, options);
    key->n_threads = MAX(options->n_threads, 1);
    key->algorithm = g_strdup("");
    return key;
}

IfmConvTuned *ifm_conv_tuned_key(const IfmConvShape *shape, const IfmConvOptions *options, const char *runtime)
{
    const char *isa = ifm_conv_isa(shape->block, options->max_isa);
    const char *onednn = conv_onednn_check(NULL) ? conv_onednn_version() : "none";
    g_autofree char *name = ifm_conv_processor();
    return conv_tuned_key(g_strdup_printf("%s, %s", name, isa != NULL ? isa : "none"),
                          g_strdup_printf("%s, oneDNN %s, inferometer %s", runtime, onednn, IFM_VERSION), shape, options);
}

#define EXACT ", FMA"

char *ifm_conv_tuned_name(IfmConvAlgorithm algorithm, gboolean is_exact)
{
    return g_strconcat(ifm_conv_algorithm_name(algorithm), is_exact ? EXACT : NULL, NULL);
}

gboolean ifm_conv_tuned_parse(const IfmConvTuned *row, IfmConvAlgorithm *algorithm, gboolean *is_exact, GError **error)
{
    *is_exact = g_str_has_suffix(row->algorithm, EXACT);
    g_autofree char *name = g_strndup(row->algorithm, strlen(row->algorithm) - (*is_exact ? strlen(EXACT) : 0));
    return ifm_conv_algorithm_parse(name, algorithm, error);
}

IfmConvTuned *ifm_conv_tuned_find(const GPtrArray *rows, const IfmConvTuned *key)
{
    for (guint i = 0; i < rows->len; i++)
    {
        IfmConvTuned *row = rows->pdata[i];
        if (row->n_threads == key->n_threads && g_str_equal(row->shape, key->shape) &&
            g_str_equal(row->library, key->library) && g_str_equal(row->processor, key->processor))
            return row;
    }
    return NULL;
}

/* --- the file --------------------------------------------------------------------------------------------------------- */

char *ifm_conv_tuning_path(void)
{
    const char *named = g_getenv("IFM_TUNING_CACHE");
    return named != NULL && *named != '\0'
               ? g_strdup(named)
               : g_build_filename(g_get_user_cache_dir(), "inferometer", "convolutions.json", NULL);
}

static gboolean read_row(const json_t *json, const char *path, GPtrArray *rows, GError **error)
{
    IfmConvTuned *row = g_new0(IfmConvTuned, 1);
    IfmConvAlgorithm algorithm;
    gboolean is_exact;
    ifm_record_init(row, ifm_conv_tuned_fields);
    g_ptr_array_add(rows, row);
    return ifm_record_from_json(row, ifm_conv_tuned_fields, json, path, NULL, error) &&
           ifm_conv_tuned_parse(row, &algorithm, &is_exact, error);
}

GPtrArray *ifm_conv_tuning_load(const char *path, GError **error)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_conv_tuned_free);
    gint64 version = 0;
    json_t *list = NULL;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&rows);
    json_auto_t *json = ifm_json_load(path, error);
    if (json == NULL || !ifm_json_get_int64(json, path, "convolution_tuning", &version, error) ||
        !ifm_json_get_array(json, path, "rows", &list, error))
        return NULL;
    if (version != VERSION)
    {
        ifm_error_refuse(error, "%s: a tuning cache of version %" G_GINT64_FORMAT ", this program reads %d", path, version,
                         VERSION);
        return NULL;
    }
    for (gsize i = 0; i < json_array_size(list); i++)
        if (!read_row(json_array_get(list, i), path, rows, error))
            return NULL;
    return g_steal_pointer(&rows);
}

static void add_rows(json_t *list, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
        json_array_append_new(list, ifm_record_to_json(rows->pdata[i], ifm_conv_tuned_fields));
}

/* Rows of the same key are replaced. */
static gboolean merge(const char *path, const GPtrArray *added, GError **error)
{
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(path, error);
    if (rows == NULL)
        return FALSE;
    for (guint i = 0; i < added->len; i++)
        g_ptr_array_remove(rows, ifm_conv_tuned_find(rows, added->pdata[i]));
    json_t *list = json_array();
    json_auto_t *json = json_pack("{s:i,s:o}", "convolution_tuning", VERSION, "rows", list);
    add_rows(list, rows);
    add_rows(list, added);
    g_autofree char *text = json_dumps(json, JSON_INDENT(1)); /* allocated with malloc(), as GLib does */
    return ifm_file_save(path, text, strlen(text), error);
}

static gboolean unavailable(const char *path, GError **error)
{
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "the tuning cache %s: %s", path, g_strerror(errno));
}

gboolean ifm_conv_tuning_add(const char *path, const GPtrArray *rows, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path), *lock = g_strconcat(path, ".lock", NULL);
    if (g_mkdir_with_parents(folder, 0755) != 0)
        return unavailable(path, error);
    const int fd = g_open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
    {
        unavailable(path, error);
        if (fd >= 0)
            close(fd);
        return FALSE;
    }
    const gboolean ok = merge(path, rows, error);
    close(fd); /* gives the lock back */
    return ok;
}

gboolean ifm_conv_tuning_clear(const char *path, GError **error)
{
    return g_unlink(path) == 0 || errno == ENOENT || unavailable(path, error);
}
