#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <base/base.h>

#include "runtime-private.h"
#include "tested-versions.h"

/* A hint for a library that cannot be opened: @variable names another one, or is the reason for this one. */
static char *variable_hint(const char *runtime)
{
    const char *variable = ifm_path_runtime_variable(runtime), *value = g_getenv(variable);
    if (value != NULL && *value != '\0')
        return g_strdup_printf("set by %s", variable);
    return g_strdup_printf("%s names another", variable);
}

static gboolean refuse_library(const char *runtime, const char *path, const char *said, GError **error)
{
    const gsize length = strlen(path);
    const gboolean is_missing = strchr(path, '/') == NULL && said != NULL && strstr(said, "No such file") != NULL;
    if (said != NULL && g_str_has_prefix(said, path)) /* the loader's message begins with it, too */
        said += length + strspn(said + length, ": ");
    g_autofree char *words = ifm_runtime_words(said, NULL), *hint = variable_hint(runtime),
                    *install = ifm_path_install(runtime);
    if (is_missing && g_getenv(ifm_path_runtime_variable(runtime)) == NULL)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: not installed: %s (%s)", runtime, install, hint);
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: cannot open its library %s: %s (%s)", runtime, path, words,
                         hint);
}

void *ifm_runtime_open(const char *runtime, char **file, GError **error)
{
    g_autofree char *path = ifm_path_runtime(runtime);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
    {
        refuse_library(runtime, path, dlerror(), error);
        return NULL;
    }
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_name[0] == '/')
        *file = g_strdup(map->l_name);
    else
        *file = g_steal_pointer(&path);
    return library;
}

void *ifm_runtime_symbol(void *library, const char *runtime, const char *file, const char *symbol, GError **error)
{
    void *address = dlsym(library, symbol);
    if (address != NULL)
        return address;
    g_autofree char *hint = variable_hint(runtime);
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                  "%s: %s has no function %s: it is another library, or too old a version (%s)", runtime, file, symbol,
                  hint);
    return NULL;
}

/* --- versions ------------------------------------------------------------------------------------------------------ */

static const struct
{
    const char *runtime, *oldest, *newest;
} tested[] = { IFM_TESTED_VERSIONS };

/* The first two numbers of a version, which are compared; FALSE: it has none. */
static gboolean read_release(const char *version, gint64 *release)
{
    char *end = NULL;
    release[0] = g_ascii_strtoll(version, &end, 10);
    if (end == version || *end != '.')
        return FALSE;
    version = end + 1;
    release[1] = g_ascii_strtoll(version, &end, 10);
    return end > version;
}

gboolean ifm_runtime_is_at_least(const char *version, const char *oldest)
{
    gint64 release[2], other[2];
    if (version == NULL || !read_release(version, release) || !read_release(oldest, other))
        return FALSE;
    return release[0] != other[0] ? release[0] > other[0] : release[1] >= other[1];
}

char *ifm_runtime_untested(const char *runtime, const char *version)
{
    for (gsize i = 0; i < G_N_ELEMENTS(tested); i++)
    {
        if (!g_str_equal(runtime, tested[i].runtime))
            continue;
        if (ifm_runtime_is_at_least(version, tested[i].oldest) && ifm_runtime_is_at_least(tested[i].newest, version))
            return NULL;
        return g_strdup_printf("%s %s is outside the tested versions, %s to %s", runtime,
                               version != NULL && *version != '\0' ? version : "of an unknown version", tested[i].oldest,
                               tested[i].newest);
    }
    return NULL;
}

gint64 ifm_runtime_bound(const IfmCompileOptions *options, const char *dim_name)
{
    for (gsize i = 0; dim_name != NULL && i < options->n_bindings; i++)
        if (g_str_equal(options->bindings[i].name, dim_name))
            return options->bindings[i].value;
    return -1;
}

int ifm_runtime_n_threads(const IfmCompiled *compiled)
{
    int n = compiled->options.threads;
    if (n <= 0)
        n = (int)compiled->spec->n_cores;
    if (n <= 0)
    {
        g_autoptr(GArray) cores = ifm_affinity_cores();
        n = (int)cores->len;
    }
    return MAX(n, ifm_device_spec_n_streams(compiled->spec)); /* a stream has at least its own thread */
}

static gboolean is_skipped(const char *line, const char *const *skip)
{
    if (*line == '\0')
        return TRUE;
    for (; skip != NULL && *skip != NULL; skip++)
        if (g_str_has_prefix(line, *skip))
            return TRUE;
    return FALSE;
}

/* Parts of a runtime's message that are left out, in this order: places in its own sources, and repetitions. */
static const struct
{
    const char *pattern, *with;
} left_out[] = {
    { "^Load model from .*? failed: ?", "" },
    /* FILE.cc:LINE, and optionally the signature of the function up to the end of its parameters */
    { "\\S*/\\S+\\.(?:h|hpp|c|cc|cpp|cu|cuh):\\d+:?"
      "(?:\\s+[\\w:<>,*&~ ]*::[\\w~]+(?:<[^()]*>)?(\\((?:[^()]|(?1))*\\))(?:::<lambda(?1)>)?(?: const)?(?: \\[with "
      "[^\\]]*\\])?)?"
      "\\s*",
      "" },
};

#define MAX_READ 4096 /* bytes of a runtime's message */
#define MAX_WORDS 200 /* characters of it that are shown */

static void leave_out(char **words)
{
    for (gsize i = 0; i < G_N_ELEMENTS(left_out); i++)
    {
        g_autoptr(GRegex) regex = g_regex_new(left_out[i].pattern, (GRegexCompileFlags)0, (GRegexMatchFlags)0, NULL);
        char *shorter = g_regex_replace_literal(regex, *words, -1, 0, left_out[i].with, (GRegexMatchFlags)0, NULL);
        if (shorter != NULL &&
            *g_strstrip(shorter) != '\0') /* else nothing was left, or the message was too odd to match */
        {
            g_free(*words);
            *words = g_steal_pointer(&shorter);
        }
        g_free(shorter);
    }
}

/* Makes one printable line: names from a file cannot send control characters to a terminal. */
static void make_printable(char **words)
{
    g_autoptr(GString) clean = g_string_new(NULL);
    glong n = 0;
    for (const char *at = *words; *at != '\0'; at = g_utf8_next_char(at))
    {
        gunichar c = g_utf8_get_char(at);
        if (++n == MAX_WORDS && *g_utf8_next_char(at) != '\0')
        {
            g_string_append(clean, "…");
            break;
        }
        if (g_unichar_iscntrl(c) || g_unichar_type(c) == G_UNICODE_FORMAT)
            g_string_append_c(clean, '?');
        else
            g_string_append_unichar(clean, c);
    }
    g_free(*words);
    *words = g_string_free(g_steal_pointer(&clean), FALSE);
}

#define BETWEEN_LINES " | "

/* The last of several lines says what is wrong, those before it say where: of too many words the middle is left out. */
static void keep_last_line(char **words)
{
    const char *last = g_strrstr(*words, BETWEEN_LINES);
    const glong n = g_utf8_strlen(*words, -1), n_last = last != NULL ? g_utf8_strlen(last, -1) : 0;
    if (last == NULL || n <= MAX_WORDS || n_last > MAX_WORDS * 3 / 4)
        return;
    g_autofree char *first = g_utf8_substring(*words, 0, MAX_WORDS - n_last - 1);
    char *shorter = g_strconcat(first, "…", last, NULL);
    g_free(*words);
    *words = shorter;
}

char *ifm_runtime_words(const char *message, const char *const *skip)
{
    g_autofree char *start = g_strndup(message != NULL ? message : "", MAX_READ);
    g_auto(GStrv) lines = g_strsplit_set(start, "\r\n", -1);
    g_autoptr(GString) reported = g_string_new(NULL);
    const char *fallback = "no reason given";
    for (char **line = lines; *line != NULL; line++)
    {
        if (!is_skipped(g_strstrip(*line), skip))
            g_string_append_printf(reported, "%s%s", reported->len > 0 ? BETWEEN_LINES : "",
                                   g_str_has_prefix(*line, "-- ") ? *line + 3 : *line);
        else if (**line != '\0')
            fallback = *line;
    }
    char *words = g_utf8_make_valid(reported->len > 0 ? reported->str : fallback, -1);
    leave_out(&words);
    if (message != NULL && strlen(message) <= MAX_READ)
        keep_last_line(&words);
    make_printable(&words);
    return words;
}

IfmErrorCode ifm_runtime_code(const char *message, IfmErrorCode other)
{
    static const struct
    {
        const char *part;
        IfmErrorCode code;
    } parts[] = {
        { "bad_alloc", IFM_ERROR_MEMORY },          { "bad allocation", IFM_ERROR_MEMORY },
        { "failed to allocate", IFM_ERROR_MEMORY }, { "out of memory", IFM_ERROR_MEMORY },
        { "out_of_memory", IFM_ERROR_MEMORY },      { "cannot allocate", IFM_ERROR_MEMORY },
        { "memory allocation", IFM_ERROR_MEMORY },  { "out_of_resources", IFM_ERROR_MEMORY },
        { "device_lost", IFM_ERROR_LOST },          { "device lost", IFM_ERROR_LOST },
        { "device is lost", IFM_ERROR_LOST },       { "device removed", IFM_ERROR_LOST },
        { "device hung", IFM_ERROR_LOST },          { "cuda failure", IFM_ERROR_LOST },
        { "cuda error", IFM_ERROR_LOST },           { "out_of_host", IFM_ERROR_LOST },
        { "device_not_available", IFM_ERROR_LOST },
    };
    g_autofree char *lower = g_ascii_strdown(message, -1);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (strstr(lower, parts[i].part) != NULL)
            return parts[i].code;
    return other;
}
