/* Metrics of a Prometheus server. */
#include <curl/curl.h>
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <inferometer/measure.h>
#include <sensor/sensor.h>

#include "sensor-private.h"

#define CONNECT_MS 2000L
#define TOTAL_MS 5000L
#define MAX_ANSWER ((gsize)16 << 20)
/* Of what a server says in a message, in characters. */
#define MAX_WORDS 200
/* In a preset: a range that holds several scrapes of the server's slowest target. */
#define RANGE "$range"
#define RANGE_SCRAPES 4
/* How far back the server's own scrapes are looked at. */
#define SCRAPES_QUERY "up[10m]"
#define SECOND_NS G_GINT64_CONSTANT(1000000000)
#define MAX_INTERVAL_NS (600 * SECOND_NS)
/* In nanoseconds it still is a 64-bit integer. */
#define MAX_UNIX_S 9e9
#define IDLE_QUERY "node_cpu_seconds_total{mode=\"idle\"}"
#define RUNNING_QUERY "node_procs_running"
#define PRESSURE_QUERY "node_pressure_cpu_waiting_seconds_total"

const IfmPrometheusPreset ifm_prometheus_presets[] = {
    { "cpu_busy", "1 - avg(rate(" IDLE_QUERY "[" RANGE "]))", "share of the time that processors are busy; node exporter" },
    { "cpu_count", "count(" IDLE_QUERY ")", "processors; node exporter" },
    { "tasks_running", "sum(avg_over_time(" RUNNING_QUERY "[" RANGE "]) - 1)",
      "tasks that run or wait at a scrape, but for the exporter; node exporter" },
    { "pressure_cpu", "rate(" PRESSURE_QUERY "[" RANGE "])",
      "share of the time that a task waits for a processor; node exporter" },
    { "pressure_memory", "rate(node_pressure_memory_waiting_seconds_total[" RANGE "])",
      "share of the time that a task waits for memory; node exporter" },
    { "load_1min", "node_load1", "tasks that run or wait, mean of a minute; node exporter" },
    { "gpu_engine_active", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "share of the time that an engine is active; DCGM exporter" },
    { "gpu_memory_active", "DCGM_FI_PROF_DRAM_ACTIVE", "share of the time that memory moves data; DCGM exporter" },
    { "gpu_tensor_active", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "share of the time that tensor cores work; DCGM exporter" },
    { "gpu_sm_active", "DCGM_FI_PROF_SM_ACTIVE",
      "share of the time that a multiprocessor has work; DCGM exporter, whose shipped lists have it off" },
    { "gpu_util", "DCGM_FI_DEV_GPU_UTIL", "percent of the time that a kernel runs; DCGM exporter" },
    { "gpu_copy_util", "DCGM_FI_DEV_MEM_COPY_UTIL", "percent of the time that memory is copied; DCGM exporter" },
    { NULL },
};

/* --- asking -------------------------------------------------------------------------------------------------------------
 */

static size_t take_bytes(char *bytes, size_t size, size_t n, void *user)
{
    GByteArray *answer = user;
    if (size * n > MAX_ANSWER - answer->len)
        return 0; /* ends the transfer */
    g_byte_array_append(answer, (const guint8 *)bytes, (guint)(size * n));
    return size * n;
}

static gpointer init_library(gpointer data)
{
    return GINT_TO_POINTER(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

gboolean ifm_prometheus_is_url(const char *text)
{
    return g_str_has_prefix(text, "http://") || g_str_has_prefix(text, "https://");
}

/* What a server says, as one line that is no longer than a line. (transfer full) */
static char *line_of(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    if (g_utf8_strlen(valid, -1) > MAX_WORDS)
        *g_utf8_offset_to_pointer(valid, MAX_WORDS) = '\0';
    for (char *at = valid; *at != '\0'; at++)
        if (g_ascii_iscntrl(*at))
            *at = ' ';
    return g_steal_pointer(&valid);
}

char *ifm_prometheus_shown(const char *text)
{
    const char *at = strrchr(text, '@'), *host = strstr(text, "://");
    const int n_scheme = at != NULL && host != NULL && host < at ? (int)(host + 3 - text) : 0;
    g_autofree char *open = g_strdup_printf("%.*s%s", n_scheme, text, at != NULL ? at + 1 : text);
    return line_of(open);
}

/* An address without what follows '#'. (transfer full) */
static char *address_of(const char *url)
{
    char *shown = ifm_prometheus_shown(url);
    shown[strcspn(shown, "#")] = '\0';
    return shown;
}

static const struct
{
    long status;
    const char *name;
} http_names[] = {
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 408, "Request Timeout" },
    { 413, "Content Too Large" },
    { 422, "Unprocessable Content" },
    { 429, "Too Many Requests" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
};

static const char *http_name(long status)
{
    for (gsize i = 0; i < G_N_ELEMENTS(http_names); i++)
        if (http_names[i].status == status)
            return http_names[i].name;
    return "an unknown HTTP status";
}

/* Whether an answer is to be read: it has succeeded, or it is Prometheus' own refusal of a query, in JSON. */
static gboolean check_status(CURL *handle, const GByteArray *answer, const char *address, GError **error)
{
    long status = 0;
    char *to = NULL;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &to);
    if (status >= 200 && status < 300)
        return TRUE;
    json_auto_t *json = ifm_json_parse((const char *)answer->data, answer->len, "answer", NULL);
    const char *said = ifm_member_text(json, "error");
    if (said != NULL && status >= 400 && status < 500)
        return TRUE;
    const gboolean is_for_now = status >= 500 || status == 408 || status == 429;
    g_autofree char *target = to != NULL ? address_of(to) : NULL, *words = said != NULL ? line_of(said) : NULL;
    return ifm_error_set(error, is_for_now ? IFM_ERROR_UNAVAILABLE : IFM_ERROR_INVALID, "prometheus: %s: %ld %s%s%s%s%s",
                         address, status, http_name(status),
                         target != NULL ? "; redirects are not followed: give the address " : "",
                         target != NULL ? target : "", words != NULL ? ": " : "", words != NULL ? words : "");
}

static void set_failure(CURL *handle, CURLcode code, const char *words, const char *address, GError **error)
{
    curl_off_t connected_us = 0, n_bytes = 0;
    curl_easy_getinfo(handle, CURLINFO_CONNECT_TIME_T, &connected_us);
    curl_easy_getinfo(handle, CURLINFO_SIZE_DOWNLOAD_T, &n_bytes);
    g_autofree char *late = connected_us == 0
                                ? g_strdup_printf("no connection within %ld s", CONNECT_MS / 1000)
                                : g_strdup_printf("no complete answer within %ld s, but %" G_GINT64_FORMAT " bytes of one",
                                                  TOTAL_MS / 1000, (gint64)n_bytes);
    const IfmErrorCode kind = code == CURLE_WRITE_ERROR ? IFM_ERROR_INVALID : IFM_ERROR_UNAVAILABLE;
    ifm_error_set(error, kind, "prometheus: %s: %s", address,
                  code == CURLE_WRITE_ERROR          ? "the answer is too large"
                  : code == CURLE_OPERATION_TIMEDOUT ? late
                  : *words != '\0'                   ? words
                                                     : curl_easy_strerror(code));
}

/* (transfer full) an answer that can be read; NULL with an error. @form: of a POST, or NULL */
static GByteArray *ask(const char *url, const char *path, const char *form, GError **error)
{
    static GOnce once = G_ONCE_INIT;
    char words[CURL_ERROR_SIZE] = "";
    if (!ifm_prometheus_is_url(url))
    {
        g_autofree char *shown = ifm_prometheus_shown(url);
        ifm_error_refuse(error, "prometheus: \"%s\": a URL such as http://127.0.0.1:9090 is expected", shown);
        return NULL;
    }
    g_autofree char *address = address_of(url);
    CURL *handle = GPOINTER_TO_INT(g_once(&once, init_library, NULL)) ? curl_easy_init() : NULL;
    if (handle == NULL)
    {
        ifm_error_set(error, IFM_ERROR_MEMORY, "prometheus: %s: libcurl cannot be started", address);
        return NULL;
    }
    g_autoptr(GByteArray) answer = g_byte_array_new();
    g_autofree char *base = g_strndup(url, strcspn(url, "#"));
    while (g_str_has_suffix(base, "/"))
        base[strlen(base) - 1] = '\0';
    g_autofree char *whole = g_strconcat(base, path, NULL);
    curl_easy_setopt(handle, CURLOPT_URL, whole);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, TOTAL_MS);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, words);
    if (form != NULL)
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, form);
    const CURLcode code = curl_easy_perform(handle);
    const gboolean ok = code == CURLE_OK && check_status(handle, answer, address, error);
    if (code != CURLE_OK)
        set_failure(handle, code, words, address, error);
    curl_easy_cleanup(handle);
    return ok ? g_steal_pointer(&answer) : NULL;
}

/* --- answers ------------------------------------------------------------------------------------------------------------
 */

static gboolean refuse(const char *where, const char *why, GError **error)
{
    return ifm_error_refuse(error, "prometheus: %s: %s", where, why);
}

/* [1700000000.5, "0.25"] */
static gboolean add_sample(const json_t *sample, IfmPrometheusWindow *window, const char *where, GError **error)
{
    const json_t *time = json_array_get(sample, 0);
    const char *text = json_string_value(json_array_get(sample, 1));
    char *end = NULL;
    const double value = text != NULL ? g_ascii_strtod(text, &end) : (double)NAN, seconds = json_number_value(time);
    if (!json_is_number(time) || text == NULL || end == text || *end != '\0' || !(seconds >= 0 && seconds < MAX_UNIX_S))
        return refuse(where, "a sample that is no time and number", error);
    if (!isfinite(value)) /* "NaN": the server has no number for that moment */
        return TRUE;
    const gint64 time_ns = (gint64)(seconds * 1e9);
    const double n = (double)window->n_samples;
    window->mean = window->n_samples == 0 ? value : window->mean * (n / (n + 1)) + value / (n + 1); /* never too large */
    window->min = window->n_samples == 0 ? value : MIN(window->min, value);
    window->max = window->n_samples == 0 ? value : MAX(window->max, value);
    window->first_ns = window->n_samples == 0 ? time_ns : MIN(window->first_ns, time_ns);
    window->last_ns = window->n_samples == 0 ? time_ns : MAX(window->last_ns, time_ns);
    window->n_samples++;
    return TRUE;
}

static double time_at(const json_t *values, gsize i)
{
    return json_number_value(json_array_get(json_array_get(values, i), 0));
}

/* How far apart samples are: the median, as a server may have missed some. 0 of fewer than two */
static gint64 spacing_of(const json_t *values)
{
    const gsize n = json_array_size(values);
    g_autofree double *gaps = g_new0(double, n + 1);
    for (gsize i = 1; i < n; i++)
        gaps[i - 1] = time_at(values, i) - time_at(values, i - 1);
    if (n < 2)
        return 0;
    ifm_sort_doubles(gaps, n - 1);
    return (gint64)(1e9 * MAX(gaps[(n - 1) / 2], 0));
}

static gboolean add_series(const json_t *series, IfmPrometheusWindow *window, const char *where, GError **error)
{
    const json_t *values = json_object_get(series, "values");
    if (!json_is_array(values))
        return refuse(where, "a series without values", error);
    for (gsize i = 0; i < json_array_size(values); i++)
        if (!add_sample(json_array_get(values, i), window, where, error))
            return FALSE;
    window->interval_ns = MAX(window->interval_ns, spacing_of(values));
    window->n_series++;
    return TRUE;
}

/* An answer that says success; NULL with an error. */
static json_t *success_of(const char *bytes, gsize n_bytes, const char *where, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    json_auto_t *json = ifm_json_parse(bytes, n_bytes, "answer", &trouble);
    const char *said = ifm_member_text(json, "error");
    if (json == NULL)
        return refuse(where, "the answer is not JSON: is this a Prometheus server?", error), NULL;
    if (g_strcmp0(ifm_member_text(json, "status"), "success") == 0)
        return g_steal_pointer(&json);
    g_autofree char *line = line_of(said != NULL ? said : "the answer is no success");
    refuse(where, line, error);
    return NULL;
}

/* The series of an answer to a range; (transfer none) NULL with an error. */
static const json_t *matrix_of(const json_t *json, const char *where, GError **error)
{
    const json_t *result = ifm_member(json, "data.result");
    if (json_is_array(result) && g_strcmp0(ifm_member_text(json, "data.resultType"), "matrix") == 0)
        return result;
    refuse(where, "the answer has no series", error);
    return NULL;
}

gboolean ifm_prometheus_parse(const char *bytes, gsize n_bytes, const char *where, IfmPrometheusWindow *window,
                              gboolean *empty, GError **error)
{
    *window = (IfmPrometheusWindow){ .mean = (double)NAN, .min = (double)NAN, .max = (double)NAN };
    json_auto_t *json = success_of(bytes, n_bytes, where, error);
    const json_t *result = json != NULL ? matrix_of(json, where, error) : NULL;
    if (result == NULL)
        return FALSE;
    for (gsize i = 0; i < json_array_size(result); i++)
        if (!add_series(json_array_get(result, i), window, where, error))
            return FALSE;
    *empty = window->n_samples == 0;
    return TRUE;
}

/* --- windows ------------------------------------------------------------------------------------------------------------
 */

/* (transfer full) the query of a preset, or the text itself */
static char *query_of(const char *text, gint64 interval_ns)
{
    for (const IfmPrometheusPreset *preset = ifm_prometheus_presets; preset->name != NULL; preset++)
        if (g_str_equal(preset->name, text))
        {
            g_auto(GStrv) parts = g_strsplit(preset->query, RANGE, -1);
            g_autofree char *range =
                g_strdup_printf("%" G_GINT64_FORMAT "s", RANGE_SCRAPES * MAX((interval_ns + 999999999) / 1000000000, 1));
            return g_strjoinv(range, parts);
        }
    return g_strdup(text);
}

static gboolean is_name_byte(char byte)
{
    return g_ascii_isalnum(byte) || byte == '_' || byte == ':';
}

/* Where a pair of quotes, braces or brackets that opens at @at ends, or the text. */
static const char *end_of_pair(const char *at)
{
    const char close = *at == '{' ? '}' : *at == '[' ? ']' : *at;
    for (at++; *at != '\0' && *at != close;)
        at = close == '}' && (*at == '"' || *at == '\'') ? end_of_pair(at) : at + (*at == '\\' && at[1] != '\0' ? 2 : 1);
    return *at != '\0' ? at + 1 : at;
}

/* The metrics of a query with their labels: node_load1{job="node"}. Words that look like the name of one have an
 * underscore; where none has, it is the first that is no function. (transfer full) char* */
static GPtrArray *selectors_in(const char *query)
{
    GPtrArray *selectors = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *first = NULL;
    for (const char *at = query; *at != '\0';)
    {
        const char *end = at;
        while (is_name_byte(*end))
            end++;
        g_autofree char *word = g_strndup(at, (gsize)(end - at));
        const gboolean is_word = end > at && !g_ascii_isdigit(*at) && *end != '(';
        const gboolean is_pair = *end != '\0' && strchr("\"'{[", *end) != NULL;
        const char *next = is_pair && (end == at || *end == '{') ? end_of_pair(end) : end > at ? end : at + 1;
        if (is_word && strchr(word, '_') != NULL)
            g_ptr_array_add(selectors, g_strndup(at, (gsize)(next - at)));
        else if (is_word && first == NULL)
            first = g_steal_pointer(&word);
        at = next;
    }
    if (selectors->len == 0 && first != NULL)
        g_ptr_array_add(selectors, g_steal_pointer(&first));
    return selectors;
}

/* "; did you mean …?" by the names that the server has; "" where it has none alike. (transfer full) */
static char *hint_for(const char *url, const char *query)
{
    g_autoptr(GByteArray) answer = ask(url, "/api/v1/label/__name__/values", NULL, NULL);
    json_auto_t *json = answer != NULL ? ifm_json_parse((const char *)answer->data, answer->len, "answer", NULL) : NULL;
    const json_t *names = json_object_get(json, "data");
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    g_autoptr(GPtrArray) selectors = selectors_in(query);
    const char *selector = selectors->len > 0 ? selectors->pdata[0] : "";
    g_autofree char *metric = g_strndup(selector, strcspn(selector, "{"));
    for (gsize i = 0; i < json_array_size(names); i++)
        if (json_is_string(json_array_get(names, i)))
            g_ptr_array_add(known, (gpointer)json_string_value(json_array_get(names, i)));
    g_ptr_array_add(known, NULL);
    return ifm_nearest_hint(metric, (const char *const *)known->pdata);
}

static char *form_of(const char *query, gint64 start_ns, gint64 end_ns, gint64 step_ns)
{
    char start[G_ASCII_DTOSTR_BUF_SIZE], end[G_ASCII_DTOSTR_BUF_SIZE], step[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *escaped = g_uri_escape_string(query, NULL, FALSE);
    g_ascii_formatd(start, sizeof start, "%.3f", (double)start_ns / 1e9);
    g_ascii_formatd(end, sizeof end, "%.3f", (double)end_ns / 1e9);
    g_ascii_formatd(step, sizeof step, "%.3f", (double)step_ns / 1e9);
    return g_strdup_printf("query=%s&start=%s&end=%s&step=%s", escaped, start, end, step);
}

/* --- scrapes ------------------------------------------------------------------------------------------------------------
 */

/* What a server says to a query of one moment, whose range gives raw samples: "up[10m]". */
static json_t *ask_now(const char *url, const char *query, GError **error)
{
    g_autofree char *escaped = g_uri_escape_string(query, NULL, FALSE), *form = g_strconcat("query=", escaped, NULL);
    g_autoptr(GByteArray) answer = ask(url, "/api/v1/query", form, error);
    return answer != NULL ? success_of((const char *)answer->data, answer->len, query, error) : NULL;
}

/* The targets that give the metrics of a query, by their labels; NULL where that is not known. (transfer full) */
static json_t *targets_of(const char *url, const char *query)
{
    g_autoptr(GPtrArray) selectors = selectors_in(query);
    if (selectors->len == 0)
        return NULL;
    g_ptr_array_add(selectors, NULL);
    g_autofree char *any = g_strjoinv(" or ", (char **)selectors->pdata),
                    *group = g_strdup_printf("group by (job, instance) (%s)", any);
    return ask_now(url, group, NULL);
}

/* Whether labels are of one of the targets; all are where there are none. */
static gboolean is_target(const json_t *targets, const json_t *labels)
{
    const json_t *result = ifm_member(targets, "data.result");
    for (gsize i = 0; i < json_array_size(result); i++)
    {
        const json_t *metric = json_object_get(json_array_get(result, i), "metric");
        if (g_strcmp0(ifm_member_text(metric, "job"), ifm_member_text(labels, "job")) == 0 &&
            g_strcmp0(ifm_member_text(metric, "instance"), ifm_member_text(labels, "instance")) == 0)
            return TRUE;
    }
    return json_array_size(result) == 0;
}

/* "1m30s" in Prometheus' own words. 0 where it is none, or longer than can be asked for */
static gint64 duration_of(const char *text)
{
    static const struct
    {
        const char *unit;
        gint64 ns;
    } units[] = { { "ms", SECOND_NS / 1000 }, { "s", SECOND_NS }, { "m", 60 * SECOND_NS }, { "h", 3600 * SECOND_NS } };
    gint64 sum_ns = 0;
    while (text != NULL && g_ascii_isdigit(*text) && sum_ns <= MAX_INTERVAL_NS)
    {
        char *end = NULL;
        const guint64 number = g_ascii_strtoull(text, &end, 10);
        const gsize length = strspn(end, "hms");
        text = NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(units) && number <= (guint64)MAX_INTERVAL_NS; i++)
            if (strlen(units[i].unit) == length && strncmp(end, units[i].unit, length) == 0)
            {
                sum_ns += (gint64)MIN(number, (guint64)(MAX_INTERVAL_NS / units[i].ns + 1)) * units[i].ns;
                text = end + length;
            }
    }
    return text != NULL && *text == '\0' && sum_ns <= MAX_INTERVAL_NS ? sum_ns : 0;
}

/* What the server is set to: the longest interval of the targets; 0 where it does not say. */
static gint64 interval_set(const char *url, const json_t *targets)
{
    gint64 interval_ns = 0;
    g_autoptr(GByteArray) answer = ask(url, "/api/v1/targets?state=active", NULL, NULL);
    json_auto_t *json = answer != NULL ? success_of((const char *)answer->data, answer->len, "targets", NULL) : NULL;
    const json_t *active = ifm_member(json, "data.activeTargets");
    for (gsize i = 0; i < json_array_size(active); i++)
    {
        const json_t *target = json_array_get(active, i);
        if (is_target(targets, json_object_get(target, "labels")))
            interval_ns = MAX(interval_ns, duration_of(ifm_member_text(target, "scrapeInterval")));
    }
    return interval_ns;
}

/* How far apart the scrapes of the slowest target are that gives a metric of @query, by the scrapes themselves, or where
 * there was one at most (@is_seen) by what the server is set to. 0: unknown */
static gboolean find_interval(const char *url, const char *query, gint64 *interval_ns, gboolean *is_seen, GError **error)
{
    IfmPrometheusWindow scrapes = { 0 };
    json_auto_t *json = ask_now(url, SCRAPES_QUERY, error);
    const json_t *result = json != NULL ? matrix_of(json, SCRAPES_QUERY, error) : NULL;
    if (result == NULL)
        return FALSE;
    json_auto_t *targets = targets_of(url, query);
    for (gsize i = 0; i < json_array_size(result); i++)
    {
        const json_t *series = json_array_get(result, i);
        if (is_target(targets, json_object_get(series, "metric")) && !add_series(series, &scrapes, SCRAPES_QUERY, error))
            return FALSE;
    }
    *is_seen = scrapes.interval_ns > 0;
    *interval_ns = *is_seen ? scrapes.interval_ns : interval_set(url, targets);
    return *interval_ns <= MAX_INTERVAL_NS ||
           refuse(SCRAPES_QUERY, "scrapes that lie further apart than was asked for", error);
}

gboolean ifm_prometheus_window(const char *url, const char *query, gint64 start_ns, gint64 end_ns, gint64 step_ns,
                               IfmPrometheusWindow *window, GError **error)
{
    gboolean empty = FALSE, is_seen = FALSE;
    gint64 interval_ns = 0;
    if (end_ns < start_ns || step_ns <= 0)
        return ifm_error_refuse(error, "prometheus: a window that ends before it begins, or has no step");
    g_autofree char *plain = query_of(query, 0);
    if (!find_interval(url, plain, &interval_ns, &is_seen, error))
        return FALSE;
    g_autofree char *text = query_of(query, interval_ns), *form = form_of(text, start_ns, end_ns, step_ns);
    g_autoptr(GByteArray) answer = ask(url, "/api/v1/query_range", form, error);
    if (answer == NULL || !ifm_prometheus_parse((const char *)answer->data, answer->len, text, window, &empty, error))
        return FALSE;
    window->interval_ns = interval_ns;
    window->is_short = interval_ns == 0 || end_ns - start_ns < 2 * interval_ns;
    if (!empty)
        return TRUE;
    g_autofree char *hint = hint_for(url, text);
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "prometheus: %s: the server has nothing of it in this window%s",
                         text, hint);
}

/* --- processors ---------------------------------------------------------------------------------------------------------
 */

static double value_at(const json_t *values, gsize i)
{
    const char *text = json_string_value(json_array_get(json_array_get(values, i), 1));
    return text != NULL ? g_ascii_strtod(text, NULL) : (double)NAN;
}

/* Samples: of a series the first @n, which are up to a time. */
typedef struct
{
    const json_t *values;
    gsize n;
} Samples;

static Samples samples_until(const json_t *series, double until_s)
{
    Samples samples = { json_object_get(series, "values"), 0 };
    while (samples.n < json_array_size(samples.values) && time_at(samples.values, samples.n) <= until_s)
        samples.n++;
    return samples;
}

static double last_s(const Samples *samples)
{
    return time_at(samples->values, samples->n - 1);
}

/* The one that is a window before the last one, or where scrapes are farther apart the one before. @samples: at least 2 */
static gsize first_of(const Samples *samples, gint64 window_ns)
{
    gsize i = samples->n - 2;
    while (i > 0 && last_s(samples) - time_at(samples->values, i) < (double)window_ns / 1e9)
        i--;
    return i;
}

/* What a counter grew by in a second of the window. NaN with fewer than two samples */
static double growth_of(const Samples *samples, gint64 window_ns)
{
    if (samples->n < 2)
        return (double)NAN;
    const gsize first = first_of(samples, window_ns);
    const double span = last_s(samples) - time_at(samples->values, first);
    return span > 0 ? (value_at(samples->values, samples->n - 1) - value_at(samples->values, first)) / span : (double)NAN;
}

/* A gauge over the window: the sample at its start belongs to the window before. NaN where the server has no number */
static IfmPrometheusWindow window_of(const Samples *samples, gint64 window_ns)
{
    IfmPrometheusWindow window = { .mean = (double)NAN, .max = (double)NAN };
    for (gsize i = samples->n >= 2 ? first_of(samples, window_ns) + 1 : 0; i < samples->n; i++)
        add_sample(json_array_get(samples->values, i), &window, "", NULL);
    return window;
}

/* How often more than once a second a counter of seconds may grow, by scrapes that came early or late. */
#define MAX_GROWTH 2.0

/* Busy: of the processors in question [0] and of the others [1]: sums of shares, and how many they are
 * @n_series: with however few samples    @instance: (borrowed from the answer) of the machine they are of; NULL: not known
 * yet    @until_s: the last scrape of them    @numbers: those that are counted: two jobs may scrape one exporter */
typedef struct
{
    double sums[2], until_s;
    gsize counts[2], n_series;
    const char *instance;
    GHashTable *numbers;
} Busy;

static gboolean check_machine(Busy *busy, const char *instance, const char *address, GError **error)
{
    if (busy->instance == NULL)
        busy->instance = instance;
    if (g_strcmp0(busy->instance, instance) == 0)
        return TRUE;
    g_autofree char *one = line_of(busy->instance), *another = line_of(instance != NULL ? instance : "one without a name");
    return ifm_error_refuse(error, "prometheus: %s: it watches several machines, %s and %s: say which, as %s#%s", address,
                            one, another, address, one);
}

/* Adds one processor. @wanted: of which machine; NULL: of the one that there is */
static gboolean add_cpu(Busy *busy, const json_t *series, const int *cores, gsize n_cores, gint64 window_ns,
                        const char *address, const char *wanted, GError **error)
{
    const char *cpu = ifm_member_text(series, "metric.cpu"), *instance = ifm_member_text(series, "metric.instance");
    const Samples samples = samples_until(series, (double)INFINITY);
    const double share = 1 - growth_of(&samples, window_ns);
    guint64 number = 0;
    if (wanted != NULL && g_strcmp0(wanted, instance) != 0)
        return TRUE;
    g_autofree char *word = line_of(cpu != NULL ? cpu : "");
    if (!g_ascii_string_to_unsigned(word, 10, 0, G_MAXINT, &number, NULL))
        return ifm_error_refuse(error, "prometheus: %s: cpu=\"%s\" is no processor", address, word);
    if (!check_machine(busy, instance, address, error))
        return FALSE;
    busy->n_series++;
    if (share < 1 - MAX_GROWTH)
        return ifm_error_refuse(error, "prometheus: %s: processor %s was idle for %.1f s a second", address, word,
                                1 - share);
    if (!isfinite(share) || share > 1) /* too few samples; a counter that began anew */
        return TRUE;
    if (!g_hash_table_add(busy->numbers, GUINT_TO_POINTER((guint)number)))
        return TRUE;
    const int is_other = !ifm_core_is_among(cores, n_cores, (int)number);
    busy->until_s = MAX(busy->until_s, last_s(&samples));
    busy->sums[is_other] += MAX(share, 0);
    busy->counts[is_other]++;
    return TRUE;
}

static gboolean add_cpus(Busy *busy, const char *url, const json_t *result, const int *cores, gsize n_cores,
                         gint64 window_ns, GError **error)
{
    const char *mark = strchr(url, '#');
    g_autofree char *address = address_of(url);
    g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
    *busy = (Busy){ .numbers = numbers };
    for (gsize i = 0; i < json_array_size(result); i++)
    {
        IfmPrometheusWindow checked = { 0 };
        const json_t *series = json_array_get(result, i);
        if (!add_series(series, &checked, IDLE_QUERY, error) ||
            !add_cpu(busy, series, cores, n_cores, window_ns, address, mark != NULL ? mark + 1 : NULL, error))
            return FALSE;
    }
    busy->numbers = NULL;
    return TRUE;
}

/* (transfer full) raw samples of the last so many seconds */
static json_t *ask_samples(const char *url, const char *query, gint64 range_s, GError **error)
{
    g_autofree char *range = g_strdup_printf("%s[%" G_GINT64_FORMAT "s]", query, range_s);
    json_auto_t *json = ask_now(url, range, error);
    return json != NULL && matrix_of(json, range, error) != NULL ? json_incref(json) : NULL;
}

/* Of the series of the machine the one with the latest sample: another may have ended. None: .n is 0 */
static Samples latest_of(const json_t *json, const Busy *busy)
{
    const json_t *result = ifm_member(json, "data.result");
    Samples latest = { 0 };
    for (gsize i = 0; i < json_array_size(result); i++)
    {
        IfmPrometheusWindow checked = { 0 };
        const json_t *series = json_array_get(result, i);
        const Samples samples = samples_until(series, busy->until_s);
        if (g_strcmp0(ifm_member_text(series, "metric.instance"), busy->instance) == 0 && samples.n > 0 &&
            add_series(series, &checked, "", NULL) && (latest.n == 0 || last_s(&samples) > last_s(&latest)))
            latest = samples;
    }
    return latest;
}

static double without_exporter(double tasks)
{
    return tasks >= 0 ? MAX(tasks - 1, 0) : (double)NAN;
}

/* What a server does not have is NaN. A scrape that came after the one of the processors is not looked at. */
static void find_tasks(const char *url, gint64 range_s, gint64 window_ns, const Busy *busy, IfmPrometheusLoad *load)
{
    json_auto_t *running = ask_samples(url, RUNNING_QUERY, range_s, NULL),
                *pressure = ask_samples(url, PRESSURE_QUERY, range_s, NULL);
    const Samples counts = latest_of(running, busy), waits = latest_of(pressure, busy);
    const IfmPrometheusWindow window = window_of(&counts, window_ns);
    const double growth = growth_of(&waits, window_ns);
    load->running = without_exporter(window.mean);
    load->most_running = without_exporter(window.max);
    load->pressure = growth >= 0 && growth <= MAX_GROWTH ? MIN(growth, 1) : (double)NAN;
}

/* Waits for a scrape as far as the budget goes. FALSE with an error where it does not, or where none will help. */
static gboolean await_scrape(const char *url, gint64 interval_ns, gboolean is_hopeless, const IfmPrometheusWait *wait,
                             gint64 *waited_ns, GError **error)
{
    g_autofree char *address = address_of(url);
    const double seconds = (double)interval_ns / 1e9;
    if (interval_ns <= 0 || is_hopeless || wait == NULL)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                             "prometheus: %s has not scraped a node exporter of these processors twice lately", address);
    if (interval_ns > wait->budget_ns - *waited_ns)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                             "prometheus: %s has not scraped a node exporter of these processors twice; the next scrape "
                             "takes up to %.6g s, and of %.6g s to wait %.6g s are over",
                             address, seconds, (double)wait->budget_ns / 1e9, (double)*waited_ns / 1e9);
    g_autofree char *phase = g_strdup_printf("waiting %.6g s for the next scrape of %s", seconds, address);
    if (wait->say != NULL)
        wait->say(phase, wait->user);
    if (wait->sleep != NULL)
        wait->sleep(interval_ns, wait->user);
    else
        g_usleep((gulong)(interval_ns / 1000));
    *waited_ns += interval_ns;
    return TRUE;
}

/* @answer: (out) (transfer full) that @busy borrows from    @range_s: (out) of that many seconds */
static gboolean await_busy(const char *url, const int *cores, gsize n_cores, gint64 window_ns,
                           const IfmPrometheusWait *wait, Busy *busy, json_t **answer, gint64 *range_s, GError **error)
{
    for (gint64 waited_ns = 0;;)
    {
        gint64 interval_ns = 0;
        gboolean is_seen = FALSE;
        if (!find_interval(url, IDLE_QUERY, &interval_ns, &is_seen, error))
            return FALSE;
        const gint64 range_ns = interval_ns > 0 ? MAX(3 * interval_ns, window_ns + 2 * interval_ns) : MAX_INTERVAL_NS;
        *range_s = (range_ns + SECOND_NS - 1) / SECOND_NS;
        json_auto_t *json = ask_samples(url, IDLE_QUERY, *range_s, error);
        if (json == NULL || !add_cpus(busy, url, ifm_member(json, "data.result"), cores, n_cores, window_ns, error))
            return FALSE;
        if (busy->counts[0] > 0)
        {
            *answer = json_incref(json);
            return TRUE;
        }
        const gboolean is_hopeless = (is_seen && busy->n_series == 0) || busy->counts[1] > 0;
        if (!await_scrape(url, interval_ns, is_hopeless, wait, &waited_ns, error))
            return FALSE;
    }
}

static double share_of(const Busy *busy, int which)
{
    return busy->counts[which] > 0 ? busy->sums[which] / (double)busy->counts[which] : 0;
}

gboolean ifm_prometheus_await_load(const char *url, const int *cores, gsize n_cores, gint64 window_ns,
                                   const IfmPrometheusWait *wait, IfmPrometheusLoad *load, GError **error)
{
    Busy busy;
    gint64 range_s;
    json_auto_t *answer = NULL;
    if (!await_busy(url, cores, n_cores, window_ns, wait, &busy, &answer, &range_s, error))
        return FALSE;
    *load = (IfmPrometheusLoad){ share_of(&busy, 0), share_of(&busy, 1), .busy = busy.sums[0] + busy.sums[1] };
    find_tasks(url, range_s, window_ns, &busy, load);
    return TRUE;
}

gboolean ifm_prometheus_busy(const char *url, const int *cores, gsize n_cores, gint64 window_ns, double *same,
                             double *other, GError **error)
{
    Busy busy;
    gint64 range_s;
    json_auto_t *answer = NULL;
    if (!await_busy(url, cores, n_cores, window_ns, NULL, &busy, &answer, &range_s, error))
        return FALSE;
    *same = share_of(&busy, 0);
    *other = share_of(&busy, 1);
    return TRUE;
}
