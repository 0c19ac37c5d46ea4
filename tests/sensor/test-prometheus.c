#include <inferometer/measure.h>
#include <math.h>
#include <sensor/sensor.h>

#include "http-server.h"

/* What servers answer: recorded, broken, none and late. */

#define MATRIX(series) "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"

static void test_parse(void)
{
    static const struct
    {
        const char *text, *error;
        gint64 n_samples, n_series;
        double mean, min, max;
    } rows[] = {
        { MATRIX("{\"metric\":{\"cpu\":\"0\"},\"values\":[[1700000000,\"0.25\"],[1700000001.5,\"0.75\"]]}"), NULL, 2, 1,
          0.5, 0.25, 0.75 },
        { MATRIX("{\"metric\":{},\"values\":[[1,\"1\"],[2,\"2\"]]},{\"metric\":{},\"values\":[[1,\"6\"]]}"), NULL, 3, 2, 3,
          1, 6 },
        { MATRIX("{\"metric\":{},\"values\":[[1,\"NaN\"],[2,\"+Inf\"],[3,\"4\"],[4,\"8\"]]}"), NULL, 2, 1, 6, 4, 8 },
        { MATRIX(""), NULL, 0, 0, NAN, NAN, NAN },
        { "", "is this a Prometheus server?" },
        { "<html>", "is this a Prometheus server?" },
        { "{\"status\":\"succ", "is this a Prometheus server?" },
        { "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"1:10: parse error:\\nunclosed\"}",
          "q: 1:10: parse error: unclosed" },
        { "{}", "no success" },
        { "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}", "has no series" },
        { MATRIX("{\"metric\":{}}"), "a series without values" },
        { MATRIX("{\"values\":[[1]]}"), "no time and number" },
        { MATRIX("{\"values\":[[\"1\",\"1\"]]}"), "no time and number" },
        { MATRIX("{\"values\":[[1,\"much\"]]}"), "no time and number" },
        { MATRIX("{\"values\":[[1e300,\"1\"]]}"), "no time and number" },
        { MATRIX("{\"values\":[[17000000000,\"1\"]]}"), "no time and number" }, /* in ns more than 64 bits hold */
        { MATRIX("{\"values\":[[-1,\"1\"]]}"), "no time and number" },
        { MATRIX("{\"values\":[[1,\"1e308\"],[2,\"1e308\"]]}"), NULL, 2, 1, 1e308, 1e308, 1e308 },
        { MATRIX("7"), "a series without values" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        IfmPrometheusWindow window;
        gboolean empty = FALSE;
        const gboolean ok = ifm_prometheus_parse(rows[i].text, strlen(rows[i].text), "q", &window, &empty, &error);
        g_assert_cmpint(ok, ==, rows[i].error == NULL);
        if (!ok)
        {
            g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
            g_assert_nonnull(strstr(error->message, rows[i].error));
            g_assert_null(strchr(error->message, '\n'));
            continue;
        }
        g_assert_cmpint(window.n_samples, ==, rows[i].n_samples);
        g_assert_cmpint(window.n_series, ==, rows[i].n_series);
        g_assert_cmpint(empty, ==, rows[i].n_samples == 0);
        if (empty)
            continue;
        g_assert_cmpfloat(window.mean, ==, rows[i].mean);
        g_assert_cmpfloat(window.min, ==, rows[i].min);
        g_assert_cmpfloat(window.max, ==, rows[i].max);
    }
}

/* Cut off anywhere, an answer is refused or read, and nothing else. */
static void test_cut(void)
{
    static const char text[] = MATRIX("{\"metric\":{},\"values\":[[1,\"1\"],[2,\"2\"]]}");
    for (gsize n = 0; n < strlen(text); n++)
    {
        IfmPrometheusWindow window;
        gboolean empty;
        g_assert_false(ifm_prometheus_parse(text, n, "q", &window, &empty, NULL));
    }
}

/* --- a server -----------------------------------------------------------------------------------------------------------
 */

static char *answer(const char *path, const char *form, void *user)
{
    if (g_str_has_prefix(path, "/api/v1/label/"))
        return g_strdup("{\"status\":\"success\",\"data\":[\"node_load1\",\"node_cpu_seconds_total\",\"up\"]}");
    if (g_str_equal(path, "/api/v1/query")) /* raw samples: scrapes 15 s apart, and idle seconds of three processors */
        return g_strdup(strstr(form, "query=up%5B10m%5D") != NULL
                            ? MATRIX("{\"metric\":{},\"values\":[[0,\"1\"],[15,\"1\"],[30,\"1\"]]}")
                            : MATRIX("{\"metric\":{\"cpu\":\"0\"},\"values\":[[0,\"0\"],[15,\"15\"],[30,\"18\"]]},"
                                     "{\"metric\":{\"cpu\":\"1\"},\"values\":[[0,\"0\"],[15,\"15\"],[30,\"30\"]]},"
                                     "{\"metric\":{\"cpu\":\"2\"},\"values\":[[0,\"0\"],[15,\"15\"],[30,\"22.5\"]]}"));
    if (strstr(form, "query=nothing") != NULL || strstr(form, "node_load2") != NULL)
        return g_strdup(MATRIX(""));
    if (strstr(form, "query=late") != NULL)
        return NULL;
    if (strstr(form, "query=huge") != NULL)
        return g_strnfill(17 << 20, 'x');
    if (strstr(form, "query=bad%28") != NULL)
        return g_strdup("{\"status\":\"error\",\"error\":\"unclosed left parenthesis\"}");
    if (strstr(form, "start=1700000000.500&end=1700000002.000&step=0.500") == NULL)
        return g_strdup("{\"status\":\"error\",\"error\":\"another window\"}");
    return g_strdup(MATRIX("{\"metric\":{},\"values\":[[1700000001,\"0.5\"],[1700000002,\"0.7\"]]}"));
}

static void test_server(void)
{
    static const struct
    {
        const char *query;
        IfmErrorCode code;
        const char *message;
    } rows[] = {
        { "node_load2", IFM_ERROR_UNAVAILABLE,
          "node_load2: the server has nothing of it in this window; did you mean \"node_load1\"?" },
        { "avg(node_load2)", IFM_ERROR_UNAVAILABLE, "did you mean \"node_load1\"?" },
        { "sum by (cpu) (node_load2 * 100)", IFM_ERROR_UNAVAILABLE, "did you mean \"node_load1\"?" },
        { "nothing", IFM_ERROR_UNAVAILABLE, "nothing of it" },
        { "bad(", IFM_ERROR_INVALID, "bad(: unclosed left parenthesis" },
        { "huge", IFM_ERROR_INVALID, "the answer is too large" },
        { "late", IFM_ERROR_UNAVAILABLE, "prometheus: http://127.0.0.1" },
    };
    HttpServer server = { .answer = answer };
    IfmPrometheusWindow window;
    http_start(&server);
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d/", server.port);
    const gint64 start = G_GINT64_CONSTANT(1700000000500000000), end = G_GINT64_CONSTANT(1700000002000000000);
    g_autoptr(GError) fine = NULL;
    g_assert_true(ifm_prometheus_window(url, "cpu_busy", start, end, 500000000, &window, &fine));
    g_assert_no_error(fine);
    g_assert_cmpfloat_with_epsilon(window.mean, 0.6, 1e-12);
    g_assert_cmpint(window.last_ns, ==, end);
    g_assert_cmpint(window.interval_ns, ==, G_GINT64_CONSTANT(15000000000));
    g_assert_true(window.is_short); /* 1.5 s, of scrapes that are 15 s apart */
    const int core = 0;
    double same, other;
    g_assert_true(ifm_prometheus_busy(url, &core, 1, 1000000000, &same, &other, &fine));
    g_assert_cmpfloat_with_epsilon(same, 0.8, 1e-9);
    g_assert_cmpfloat_with_epsilon(other, 0.25, 1e-9);
    g_assert_true(ifm_prometheus_busy(url, &core, 1, G_GINT64_CONSTANT(20000000000), &same, &other, &fine));
    g_assert_cmpfloat_with_epsilon(same, 0.4, 1e-9); /* over 30 s */
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_prometheus_window(url, rows[i].query, start, end, 500000000, &window, &error));
        g_assert_error(error, IFM_ERROR, (gint)rows[i].code);
        if (strstr(error->message, rows[i].message) == NULL)
            g_error("\"%s\" is not in \"%s\"", rows[i].message, error->message);
    }
    http_stop(&server);
}

static gpointer ask_window(gpointer data)
{
    IfmPrometheusWindow window;
    const gint64 start = G_GINT64_CONSTANT(1700000000500000000), end = G_GINT64_CONSTANT(1700000002000000000);
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_prometheus_window(data, "cpu_busy", start, end, 500000000, &window, &error));
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(window.mean, 0.6, 1e-12);
    return NULL;
}

/* Threads ask one server at the same time; the server of these tests answers them all. */
static void test_at_once(void)
{
    HttpServer server = { .answer = answer };
    http_start(&server);
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d", server.port);
    GThread *threads[12];
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("ask", ask_window, url);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    http_stop(&server);
}

static void test_no_server(void)
{
    guint16 port = 0;
    const int held = hold_port(&port); /* no other program may serve it meanwhile */
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d", port);
    const struct
    {
        const char *url;
        IfmErrorCode code;
    } rows[] = { { url, IFM_ERROR_UNAVAILABLE },
                 { "127.0.0.1:9090", IFM_ERROR_INVALID },
                 { "file:///etc/passwd", IFM_ERROR_INVALID },
                 { "", IFM_ERROR_INVALID } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        double same, other;
        g_assert_false(ifm_prometheus_busy(rows[i].url, NULL, 0, 1000000000, &same, &other, &error));
        g_assert_error(error, IFM_ERROR, (gint)rows[i].code);
        g_assert_null(strchr(error->message, '\n'));
    }
    close(held);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prometheus/parse", test_parse);
    g_test_add_func("/prometheus/cut", test_cut);
    g_test_add_func("/prometheus/server", test_server);
    g_test_add_func("/prometheus/at-once", test_at_once);
    g_test_add_func("/prometheus/no-server", test_no_server);
    return g_test_run();
}
