/* Metrics of a Prometheus server. */
#include <curl/curl.h>
#include <math.h>
#include <string.h>

#include <internal/json.h>
#include <internal/nearest.h>
#include <internal/prometheus.h>

#include "sensor-private.h"

#define CONNECT_MS 2000L
#define TOTAL_MS 5000L
#define MAX_ANSWER ((gsize)16 << 20)
/* Node exporter's counters are asked over a rate of this many seconds, which holds several scrapes of one second. */
#define NODE_RATE "[5s]"

const IfmPrometheusPreset ifm_prometheus_presets[] = {
    { "cpu_busy", "1 - avg(rate(node_cpu_seconds_total{mode=\"idle\"}" NODE_RATE "))",
      "share of the time that processors are busy; node exporter" },
    { "pressure_cpu", "rate(node_pressure_cpu_waiting_seconds_total" NODE_RATE ")",
      "share of the time that a task waits for a processor; node exporter" },
    { "pressure_memory", "rate(node_pressure_memory_waiting_seconds_total" NODE_RATE ")",
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

static gboolean check_url(const char *url, GError **error)
{
    if (g_str_has_prefix(url, "http://") || g_str_has_prefix(url, "https://"))
        return TRUE;
    return ifm_error_refuse(error, "prometheus: \"%s\": a URL such as http://127.0.0.1:9090 is expected", url);
}

static void set_failure(CURLcode code, const char *words, const char *url, GError **error)
{
    const IfmErrorCode kind = code == CURLE_OPERATION_TIMEDOUT ? IFM_ERROR_TIMEOUT
                              : code == CURLE_WRITE_ERROR      ? IFM_ERROR_INVALID
                                                               : IFM_ERROR_UNAVAILABLE;
    g_set_error(error, IFM_ERROR, kind, "prometheus: %s: %s", url,
                code == CURLE_WRITE_ERROR ? "the answer is too large"
                : *words != '\0'          ? words
                                          : curl_easy_strerror(code));
}

/* (transfer full) the answer, whatever its HTTP status; NULL with an error. @form: of a POST, or NULL */
static GByteArray *ask(const char *url, const char *path, const char *form, GError **error)
{
    static GOnce once = G_ONCE_INIT;
    char words[CURL_ERROR_SIZE] = "";
    if (!check_url(url, error))
        return NULL;
    CURL *handle = GPOINTER_TO_INT(g_once(&once, init_library, NULL)) ? curl_easy_init() : NULL;
    if (handle == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_MEMORY, "prometheus: %s: libcurl cannot be started", url);
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
static gboolean add_sample(const json_t *sample, IfmPrometheusWindow *window, double *sum, const char *where,
                           GError **error)
{
    const json_t *time = json_array_get(sample, 0);
    const char *text = json_string_value(json_array_get(sample, 1));
    char *end = NULL;
    const double value = text != NULL ? g_ascii_strtod(text, &end) : (double)NAN, seconds = json_number_value(time);
    if (!json_is_number(time) || text == NULL || end == text || *end != '\0' || !(fabs(seconds) < 1e11))
        return refuse(where, "a sample that is no time and number", error);
    if (!isfinite(value)) /* "NaN": the server has no number for that moment */
        return TRUE;
    const gint64 time_ns = (gint64)(seconds * 1e9);
    *sum += value;
    window->min = window->n_samples == 0 ? value : MIN(window->min, value);
    window->max = window->n_samples == 0 ? value : MAX(window->max, value);
    window->first_ns = window->n_samples == 0 ? time_ns : MIN(window->first_ns, time_ns);
    window->last_ns = window->n_samples == 0 ? time_ns : MAX(window->last_ns, time_ns);
    window->n_samples++;
    return TRUE;
}

static gboolean add_series(const json_t *series, IfmPrometheusWindow *window, double *sum, const char *where,
                           GError **error)
{
    const json_t *values = json_object_get(series, "values");
    const gint64 before = window->n_samples;
    if (!json_is_array(values))
        return refuse(where, "a series without values", error);
    for (gsize i = 0; i < json_array_size(values); i++)
        if (!add_sample(json_array_get(values, i), window, sum, where, error))
            return FALSE;
    window->is_short |= window->n_samples - before < 2;
    window->n_series++;
    return TRUE;
}

gboolean ifm_prometheus_parse(const char *bytes, gsize n_bytes, const char *where, IfmPrometheusWindow *window,
                              gboolean *empty, GError **error)
{
    double sum = 0;
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
        if (!add_series(json_array_get(result, i), window, &sum, where, error))
            return FALSE;
    *empty = window->n_samples == 0;
    window->mean = *empty ? (double)NAN : sum / (double)window->n_samples;
    return TRUE;
}

/* --- windows ------------------------------------------------------------------------------------------------------------
 */

static const char *query_of(const char *text)
{
    for (const IfmPrometheusPreset *preset = ifm_prometheus_presets; preset->name != NULL; preset++)
        if (g_str_equal(preset->name, text))
            return preset->query;
    return text;
}

/* The first word of a query that may be the name of a metric. (transfer full) */
static char *metric_in(const char *query)
{
    const char *brace = strpbrk(query, "{[");
    const char *end = brace != NULL ? brace : query + strlen(query), *start = end;
    while (start > query && (g_ascii_isalnum(start[-1]) || start[-1] == '_' || start[-1] == ':'))
        start--;
    return g_strndup(start, (gsize)(end - start));
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

gboolean ifm_prometheus_window(const char *url, const char *query, gint64 start_ns, gint64 end_ns, gint64 step_ns,
                               IfmPrometheusWindow *window, GError **error)
{
    gboolean empty = FALSE;
    if (end_ns < start_ns || step_ns <= 0)
        return ifm_error_refuse(error, "prometheus: a window that ends before it begins, or has no step");
    query = query_of(query);
    g_autofree char *form = form_of(query, start_ns, end_ns, step_ns);
    g_autoptr(GByteArray) answer = ask(url, "/api/v1/query_range", form, error);
    if (answer == NULL || !ifm_prometheus_parse((const char *)answer->data, answer->len, query, window, &empty, error))
        return FALSE;
    if (!empty)
        return TRUE;
    g_autofree char *hint = hint_for(url, query);
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "prometheus: %s: the server has nothing of it in this window%s",
                query, hint);
    return FALSE;
}

/* --- processors ---------------------------------------------------------------------------------------------------------
 */

/* {cpu=~"0|2"}, or with @negated all others. */
static char *busy_query(const int *cores, gsize n_cores, gboolean negated)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (gsize i = 0; i < n_cores; i++)
        g_string_append_printf(list, "%s%d", i > 0 ? "|" : "", cores[i]);
    g_autofree char *cpus = n_cores > 0 ? g_strdup_printf(",cpu%s\"%s\"", negated ? "!~" : "=~", list->str) : g_strdup("");
    return g_strdup_printf("1 - avg(rate(node_cpu_seconds_total{mode=\"idle\"%s}" NODE_RATE "))", cpus);
}

gboolean ifm_prometheus_busy(const char *url, const int *cores, gsize n_cores, gint64 window_ns, double *same,
                             double *other, GError **error)
{
    const gint64 now_ns = g_get_real_time() * 1000;
    double *const shares[] = { same, other };
    *same = *other = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(shares) && (i == 0 || n_cores > 0); i++)
    {
        g_autofree char *query = busy_query(cores, n_cores, i == 1);
        g_autoptr(GError) trouble = NULL;
        IfmPrometheusWindow window = { .mean = 0 };
        if (ifm_prometheus_window(url, query, now_ns - window_ns, now_ns, G_GINT64_CONSTANT(1000000000), &window, &trouble))
            *shares[i] = CLAMP(window.mean, 0, 1);
        else if (i == 0 || !g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNAVAILABLE)) /* there may be no other core */
        {
            g_propagate_error(error, g_steal_pointer(&trouble));
            return FALSE;
        }
    }
    return TRUE;
}
