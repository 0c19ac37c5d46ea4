/* Metrics of a Prometheus server. */
#include <curl/curl.h>
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <inferometer/measure.h>
#include <sensor/sensor.h>

#include "sensor-private.h"

#define CONNECT_MS 2000L
#define TOTAL_MS 5000L
#define MAX_ANSWER ((gsize)16 << 20)
/* In a preset: a range that holds several scrapes of the server's slowest target. */
#define RANGE "$range"
#define RANGE_SCRAPES 4
/* How far back the server's own scrapes are looked at. */
#define SCRAPES_QUERY "up[10m]"
#define MAX_INTERVAL_NS (600 * G_GINT64_CONSTANT(1000000000))
/* In nanoseconds it still is a 64-bit integer. */
#define MAX_UNIX_S 9e9
#define IDLE_QUERY "node_cpu_seconds_total{mode=\"idle\"}"

const IfmPrometheusPreset ifm_prometheus_presets[] = {
    { "cpu_busy", "1 - avg(rate(" IDLE_QUERY "[" RANGE "]))", "share of the time that processors are busy; node exporter" },
    { "cpu_count", "count(" IDLE_QUERY ")", "processors; node exporter" },
    { "tasks_running", "sum(avg_over_time(node_procs_running[" RANGE "]) - 1)",
      "tasks that run or wait at a scrape, but for the exporter; node exporter" },
    { "pressure_cpu", "rate(node_pressure_cpu_waiting_seconds_total[" RANGE "])",
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

static void set_failure(CURLcode code, const char *words, const char *url, GError **error)
{
    const IfmErrorCode kind = code == CURLE_WRITE_ERROR ? IFM_ERROR_INVALID : IFM_ERROR_UNAVAILABLE;
    ifm_error_set(error, kind, "prometheus: %s: %s", url,
                  code == CURLE_WRITE_ERROR ? "the answer is too large"
                  : *words != '\0'          ? words
                                            : curl_easy_strerror(code));
}

/* (transfer full) the answer, whatever its HTTP status; NULL with an error. @form: of a POST, or NULL */
static GByteArray *ask(const char *url, const char *path, const char *form, GError **error)
{
    static GOnce once = G_ONCE_INIT;
    char words[CURL_ERROR_SIZE] = "";
    if (!ifm_prometheus_is_url(url))
    {
        ifm_error_refuse(error, "prometheus: \"%s\": a URL such as http://127.0.0.1:9090 is expected", url);
        return NULL;
    }
    CURL *handle = GPOINTER_TO_INT(g_once(&once, init_library, NULL)) ? curl_easy_init() : NULL;
    if (handle == NULL)
    {
        ifm_error_set(error, IFM_ERROR_MEMORY, "prometheus: %s: libcurl cannot be started", url);
        return NULL;
    }
    g_autoptr(GByteArray) answer = g_byte_array_new();
    g_autofree char *base = g_strdup(url);
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
    curl_easy_cleanup(handle);
    if (code == CURLE_OK)
        return g_steal_pointer(&answer);
    set_failure(code, words, url, error);
    return NULL;
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

static gboolean add_series(const json_t *series, IfmPrometheusWindow *window, const char *where, GError **error)
{
    const json_t *values = json_object_get(series, "values");
    const gsize n = json_array_size(values);
    if (!json_is_array(values))
        return refuse(where, "a series without values", error);
    for (gsize i = 0; i < json_array_size(values); i++)
        if (!add_sample(json_array_get(values, i), window, where, error))
            return FALSE;
    if (n >= 2) /* evenly spaced but for what the server missed */
    {
        const double first = json_number_value(json_array_get(json_array_get(values, 0), 0)),
                     last = json_number_value(json_array_get(json_array_get(values, n - 1), 0));
        window->interval_ns = MAX(window->interval_ns, (gint64)((last - first) * 1e9 / (double)(n - 1)));
    }
    window->n_series++;
    return TRUE;
}

gboolean ifm_prometheus_parse(const char *bytes, gsize n_bytes, const char *where, IfmPrometheusWindow *window,
                              gboolean *empty, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    *window = (IfmPrometheusWindow){ .mean = (double)NAN, .min = (double)NAN, .max = (double)NAN };
    json_auto_t *json = ifm_json_parse(bytes, n_bytes, "answer", &trouble);
    if (json == NULL)
        return refuse(where, "the answer is not JSON: is this a Prometheus server?", error);
    const char *said = ifm_member_text(json, "error");
    if (g_strcmp0(ifm_member_text(json, "status"), "success") != 0)
    {
        g_autofree char *line = g_strdelimit(g_strdup(said != NULL ? said : "the answer is no success"), "\r\n\t", ' ');
        return refuse(where, line, error);
    }
    const json_t *result = ifm_member(json, "data.result");
    if (!json_is_array(result) || g_strcmp0(ifm_member_text(json, "data.resultType"), "matrix") != 0)
        return refuse(where, "the answer has no series", error);
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

/* The first word of a query that looks like the name of a metric, which has an underscore; else the first that is no
 * function. (transfer full) */
static char *metric_in(const char *query)
{
    char *first = NULL;
    for (const char *at = query; *at != '\0';)
    {
        const char *end = at;
        while (is_name_byte(*end))
            end++;
        g_autofree char *word = g_strndup(at, (gsize)(end - at));
        const gboolean is_word = end > at && !g_ascii_isdigit(*at) && *end != '(';
        if (is_word && strchr(word, '_') != NULL)
        {
            g_free(first);
            return g_steal_pointer(&word);
        }
        if (is_word && first == NULL)
            first = g_steal_pointer(&word);
        at = end > at ? end : at + 1;
    }
    return first != NULL ? first : g_strdup("");
}

/* "; did you mean …?" by the names that the server has; "" where it has none alike. (transfer full) */
static char *hint_for(const char *url, const char *query)
{
    g_autoptr(GByteArray) answer = ask(url, "/api/v1/label/__name__/values", NULL, NULL);
    json_auto_t *json = answer != NULL ? ifm_json_parse((const char *)answer->data, answer->len, "answer", NULL) : NULL;
    const json_t *names = json_object_get(json, "data");
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    g_autofree char *metric = metric_in(query);
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

/* What a server has of a range of raw samples: "up[10m]". */
static GByteArray *ask_range(const char *url, const char *query, GError **error)
{
    g_autofree char *escaped = g_uri_escape_string(query, NULL, FALSE), *form = g_strconcat("query=", escaped, NULL);
    return ask(url, "/api/v1/query", form, error);
}

/* How far apart the scrapes of the slowest target are; 0 where the server has not scraped twice. */
static gboolean find_interval(const char *url, gint64 *interval_ns, GError **error)
{
    IfmPrometheusWindow scrapes;
    gboolean empty = FALSE;
    g_autoptr(GByteArray) answer = ask_range(url, SCRAPES_QUERY, error);
    if (answer == NULL ||
        !ifm_prometheus_parse((const char *)answer->data, answer->len, SCRAPES_QUERY, &scrapes, &empty, error))
        return FALSE;
    *interval_ns = scrapes.interval_ns;
    return scrapes.interval_ns <= MAX_INTERVAL_NS ||
           refuse(SCRAPES_QUERY, "scrapes that lie further apart than was asked for", error);
}

gboolean ifm_prometheus_window(const char *url, const char *query, gint64 start_ns, gint64 end_ns, gint64 step_ns,
                               IfmPrometheusWindow *window, GError **error)
{
    gboolean empty = FALSE;
    gint64 interval_ns = 0;
    if (end_ns < start_ns || step_ns <= 0)
        return ifm_error_refuse(error, "prometheus: a window that ends before it begins, or has no step");
    if (!find_interval(url, &interval_ns, error))
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

static gboolean is_among(const int *cores, gsize n_cores, const char *cpu)
{
    for (gsize i = 0; i < n_cores; i++)
        if (g_ascii_strtoll(cpu, NULL, 10) == cores[i])
            return TRUE;
    return n_cores == 0;
}

/* Share of the time that one processor was busy, by the raw samples of its idle seconds: the last one against the one that
 * is a window before it, or where scrapes are farther apart the one before. NaN with fewer than two */
static double busy_of(const json_t *values, gint64 window_ns)
{
    const gsize n = json_array_size(values);
    double times[2] = { 0 }, idle[2] = { 0 };
    for (gsize i = n; i-- > 0;)
    {
        const json_t *sample = json_array_get(values, i);
        const char *text = json_string_value(json_array_get(sample, 1));
        const int at = i + 1 == n ? 1 : 0;
        times[at] = json_number_value(json_array_get(sample, 0));
        idle[at] = text != NULL ? g_ascii_strtod(text, NULL) : (double)NAN;
        if (at == 0 && times[1] - times[0] >= (double)window_ns / 1e9)
            break;
    }
    const double span = times[1] - times[0];
    return n >= 2 && span > 0 ? 1 - (idle[1] - idle[0]) / span : (double)NAN;
}

gboolean ifm_prometheus_busy(const char *url, const int *cores, gsize n_cores, gint64 window_ns, double *same,
                             double *other, GError **error)
{
    static const char query[] = IDLE_QUERY "[5m]";
    double sums[2] = { 0 };
    gsize counts[2] = { 0 };
    IfmPrometheusWindow window;
    gboolean empty = FALSE;
    g_autoptr(GByteArray) answer = ask_range(url, query, error);
    if (answer == NULL || !ifm_prometheus_parse((const char *)answer->data, answer->len, query, &window, &empty, error))
        return FALSE;
    json_auto_t *json = ifm_json_parse((const char *)answer->data, answer->len, "answer", NULL);
    const json_t *result = ifm_member(json, "data.result");
    for (gsize i = 0; i < json_array_size(result); i++)
    {
        const json_t *series = json_array_get(result, i);
        const char *cpu = ifm_member_text(series, "metric.cpu");
        const double busy = busy_of(json_object_get(series, "values"), window_ns);
        if (cpu == NULL || !isfinite(busy))
            continue;
        const int is_other = !is_among(cores, n_cores, cpu);
        sums[is_other] += CLAMP(busy, 0, 1);
        counts[is_other]++;
    }
    *same = counts[0] > 0 ? sums[0] / (double)counts[0] : 0;
    *other = counts[1] > 0 ? sums[1] / (double)counts[1] : 0;
    return counts[0] > 0 ||
           ifm_error_set(
               error, IFM_ERROR_UNAVAILABLE,
               "prometheus: %s: the server has not scraped a node exporter of these processors twice in the last 5 minutes",
               query);
}
