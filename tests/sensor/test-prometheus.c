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
        { "{\"status\":\"error\",\"error\":\"\\u001b[31mred\\u0007\"}", "q:  [31mred " },
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

#define OF(instance, values) "{\"metric\":{\"cpu\":\"0\",\"instance\":\"" instance "\"},\"values\":[" values "]}"
#define BUSY "[0,\"0\"],[15,\"12\"],[30,\"12\"]"

/* What two machines have of tasks, the processor of one busy and that of the other not. */
typedef struct
{
    const char *running, *pressure;
} Tasks;

static char *answer_two(const char *path, const char *form, void *user)
{
    const Tasks *tasks = user;
    if (strstr(form, "query=up%5B10m%5D") != NULL)
        return g_strdup(
            MATRIX(OF("a:1", "[0,\"1\"],[15,\"1\"],[30,\"1\"]") "," OF("b:1", "[0,\"1\"],[15,\"1\"],[30,\"1\"]")));
    if (strstr(form, "query=node_procs_running") != NULL)
        return g_strdup(tasks->running);
    if (strstr(form, "query=node_pressure_cpu") != NULL)
        return g_strdup(tasks->pressure);
    /* the exporter of a:1 has two processors, and two jobs scrape the first */
    return g_strdup(MATRIX(OF("a:1", BUSY) "," OF("b:1", "[0,\"0\"],[15,\"15\"],[30,\"30\"]") "," OF(
        "a:1", BUSY) ","
                     "{\"metric\":{\"cpu\":\"1\",\"instance\":\"a:1\"},\"values\":[[15,\"0\"],[30,\"7.5\"]]}"));
}

/* All of a load is of one machine and of one window: what was counted as the window began is of before, and what was
 * scraped later than the processors is of after. */
static void test_load(void)
{
#define RUNNING(values) MATRIX(OF("b:1", "[30,\"1\"]") "," OF("a:1", values))
#define PRESSURE(values) MATRIX(OF("a:1", values))
    static const double none = (double)NAN;
    static const struct
    {
        const char *machine;
        Tasks tasks;
        gint64 window_s;
        double busy, running, most, pressure;
    } rows[] = {
        { "a:1",
          { RUNNING("[0,\"80\"],[15,\"8\"],[30,\"5\"]"), PRESSURE("[0,\"0\"],[15,\"1.5\"],[30,\"9\"]") },
          5,
          1.5,
          4,
          4,
          0.5 },
        { "a:1",
          { RUNNING("[0,\"80\"],[15,\"8\"],[30,\"5\"]"), PRESSURE("[0,\"0\"],[15,\"1.5\"],[30,\"9\"]") },
          20,
          1.1,
          5.5,
          7,
          0.3 },
        { "a:1",
          { RUNNING("[0,\"80\"],[15,\"NaN\"],[30,\"5\"]"), PRESSURE("[15,\"1.5\"],[30,\"31.5\"]") },
          20,
          1.1,
          4,
          4,
          1 },
        { "a:1", { RUNNING("[15,\"8\"],[30,\"+Inf\"]"), PRESSURE("[15,\"1.5\"],[30,\"90\"]") }, 5, 1.5, none, none, none },
        { "a:1",
          { RUNNING("[15,\"8\"],[30,\"0\"],[45,\"99\"]"), PRESSURE("[15,\"9\"],[30,\"3\"],[45,\"18\"]") },
          5,
          1.5,
          0,
          0,
          none },
        { "a:1",
          { MATRIX(OF("a:1", "[0,\"80\"]") "," OF("a:1", "[15,\"8\"],[30,\"3\"]") "," OF("a:1", "[0,\"7\"],[15,\"8\"]")),
            MATRIX("") },
          5,
          1.5,
          2,
          2,
          none },
        { "a:1", { MATRIX(OF("b:1", "[30,\"9\"]")), HTTP_RAW "HTTP/1.1 500 Oops\r\n\r\n" }, 5, 1.5, none, none, none },
        { "b:1", { RUNNING("[30,\"9\"]"), PRESSURE("[15,\"1.5\"],[30,\"9\"]") }, 5, 0, 0, 0, none },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        HttpServer server = { .answer = answer_two, .user = (void *)&rows[i].tasks };
        IfmPrometheusLoad load;
        g_autoptr(GError) error = NULL;
        http_start(&server);
        g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d#%s", server.port, rows[i].machine);
        const gboolean ok = ifm_prometheus_await_load(url, NULL, 0, rows[i].window_s * 1000000000, NULL, &load, &error);
        http_stop(&server);
        g_assert_no_error(error);
        g_assert_true(ok);
        const double found[] = { load.busy, load.running, load.most_running, load.pressure },
                     expected[] = { rows[i].busy, rows[i].running, rows[i].most, rows[i].pressure };
        for (gsize k = 0; k < G_N_ELEMENTS(found); k++)
            if (!(isnan(found[k]) && isnan(expected[k])) && !(fabs(found[k] - expected[k]) < 1e-9))
                g_error("row %zu, value %zu: found %g, expected %g", i, k, found[k], expected[k]);
    }
#undef RUNNING
#undef PRESSURE
}

/* --- what is no answer ------------------------------------------------------------------------------------------------ */

#define HTTP(status, fields) HTTP_RAW "HTTP/1.1 " status "\r\n" fields "Connection: close\r\n\r\n"
#define CPU(cpu, values) MATRIX("{\"metric\":{\"cpu\":\"" cpu "\",\"instance\":\"a\"},\"values\":[" values "]}")

/* Each row's answer to everything. */
static const struct Mischief
{
    const char *answer, *message;
    IfmErrorCode code;
} mischief[] = {
    { HTTP("500 Oops", ""), ": 500 Internal Server Error", IFM_ERROR_UNAVAILABLE },
    { HTTP("503 Oops", "") "{\"status\":\"error\",\"error\":\"busy\"}", ": 503 Service Unavailable: busy",
      IFM_ERROR_UNAVAILABLE },
    { HTTP("400 Oops", "") "{\"status\":\"error\",\"error\":\"parse error\"}", ": parse error", IFM_ERROR_INVALID },
    { HTTP("400 Oops", "") "<html>", ": 400 Bad Request", IFM_ERROR_INVALID },
    { HTTP("404 \033[31mNot", ""), ": 404 Not Found", IFM_ERROR_INVALID },
    { HTTP("299 Fine", "") "<html>", "is this a Prometheus server?", IFM_ERROR_INVALID },
    { HTTP("799 Fine", ""), ": 799 an unknown HTTP status", IFM_ERROR_UNAVAILABLE },
    { HTTP("302 Found", "Location: http://user:word@127.0.0.2:1/x\r\n"),
      ": 302 Found; redirects are not followed: give the address http://127.0.0.2:1/x", IFM_ERROR_INVALID },
    { HTTP("307 Moved", ""), ": 307 Temporary Redirect", IFM_ERROR_INVALID },
    { HTTP("204 No", ""), "is this a Prometheus server?", IFM_ERROR_INVALID },
    { HTTP_RAW "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "prometheus: http://127.0.0.1", IFM_ERROR_UNAVAILABLE },
    { HTTP_RAW, "prometheus: http://127.0.0.1", IFM_ERROR_UNAVAILABLE },
    { HTTP_RAW "SSH-2.0-x\r\n", "prometheus: http://127.0.0.1", IFM_ERROR_UNAVAILABLE },
    { HTTP_DRIP MATRIX(""), "no complete answer within 5 s, but ", IFM_ERROR_UNAVAILABLE },
    { NULL, "no complete answer within 5 s, but 0 bytes", IFM_ERROR_UNAVAILABLE },
    { CPU("0x", "[0,\"0\"],[60,\"30\"]"), "cpu=\"0x\" is no processor", IFM_ERROR_INVALID },
    { CPU("", "[0,\"0\"],[60,\"30\"]"), "cpu=\"\" is no processor", IFM_ERROR_INVALID },
    { CPU("-0", "[0,\"0\"],[60,\"30\"]"), "cpu=\"-0\" is no processor", IFM_ERROR_INVALID },
    { CPU("4294967296", "[0,\"0\"],[60,\"30\"]"), "cpu=\"4294967296\" is no processor", IFM_ERROR_INVALID },
    { CPU("99999999999999999999", "[0,\"0\"]"), "is no processor", IFM_ERROR_INVALID },
    { MATRIX("{\"metric\":{},\"values\":[[0,\"1\"],[60,\"1\"]]}"), "cpu=\"\" is no processor", IFM_ERROR_INVALID },
    { CPU("0", "[0,\"0\"],[60,\"600\"]"), "processor 0 was idle for 10.0 s a second", IFM_ERROR_INVALID },
    { CPU("0", "[0,\"-1e308\"],[60,\"1e308\"]"), "processor 0 was idle for inf s a second", IFM_ERROR_INVALID },
    { CPU("0", "[0,\"NaN\"],[60,\"NaN\"]"), "not scraped a node exporter of these processors twice",
      IFM_ERROR_UNAVAILABLE },
    { CPU("0", "[0,\"90\"],[60,\"30\"]"), "not scraped a node exporter", IFM_ERROR_UNAVAILABLE }, /* began anew */
    { CPU("1", "[0,\"0\"],[60,\"30\"]"), "not scraped a node exporter", IFM_ERROR_UNAVAILABLE },
    { MATRIX("{\"metric\":{\"cpu\":\"0\",\"instance\":\"a\"},\"values\":[[0,\"0\"],[60,\"30\"]]},"
             "{\"metric\":{\"cpu\":\"0\",\"instance\":\"b\"},\"values\":[[0,\"0\"],[60,\"60\"]]}"),
      "it watches several machines, a and b: say which, as http://127.0.0.1", IFM_ERROR_INVALID },
};

static char *answer_mischief(const char *path, const char *form, void *user)
{
    const struct Mischief *row = user;
    return g_strdup(row->answer);
}

static gpointer assert_mischief(gpointer data)
{
    struct Mischief *row = data;
    const int core = 0;
    double same, other;
    HttpServer server = { .answer = answer_mischief, .user = row };
    g_autoptr(GError) error = NULL;
    http_start(&server);
    g_autofree char *url = g_strdup_printf("http://user:secret@127.0.0.1:%d", server.port);
    g_assert_false(ifm_prometheus_busy(url, &core, 1, 1000000000, &same, &other, &error));
    if (strstr(error->message, row->message) == NULL)
        g_error("\"%s\" is not in \"%s\"", row->message, error->message);
    g_assert_error(error, IFM_ERROR, (gint)row->code);
    g_assert_null(strstr(error->message, "secret"));
    g_assert_null(strstr(error->message, "word@"));
    for (const char *at = error->message; *at != '\0'; at++)
        g_assert_false(g_ascii_iscntrl(*at));
    g_assert_cmpuint(strlen(error->message), <, 600);
    http_stop(&server);
    return NULL;
}

/* One clear line for each, all at once: two of them take what an answer may take. */
static void test_mischief(void)
{
    GThread *threads[G_N_ELEMENTS(mischief)];
    for (gsize i = 0; i < G_N_ELEMENTS(mischief); i++)
        threads[i] = g_thread_new("ask", assert_mischief, (gpointer)&mischief[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(mischief); i++)
        g_thread_join(threads[i]);
}

/* --- scrapes far apart ------------------------------------------------------------------------------------------------ */

/* Clock: a server's own time, which goes on where its client sleeps. It scrapes the node exporter every @scrape_s, and
 * another target every 5 minutes, both for the first time at 0. Processor 0 is idle for a quarter of the time until 120 s,
 * and then always. */
typedef struct
{
    double now_s, scrape_s, slept_s;
    gboolean has_node;
    char *said;
} Clock;

static void add_scrapes(GString *text, const Clock *clock, double scrape_s, gboolean is_idle)
{
    for (double at = 0; at <= clock->now_s; at += scrape_s)
        g_string_append_printf(text, "%s[%.3f,\"%.3f\"]", at > 0 ? "," : "", 1e9 + at,
                               !is_idle ? 1 : 0.25 * MIN(at, 120) + MAX(at - 120, 0));
}

#define NODE "\"job\":\"node\",\"instance\":\"host:9100\""
#define OTHER "\"job\":\"slow\",\"instance\":\"host:1\""

static char *answer_clock(const char *path, const char *form, void *user)
{
    const Clock *clock = user;
    g_autoptr(GString) text = g_string_new("{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
    if (g_str_has_prefix(path, "/api/v1/targets"))
        g_string_printf(text,
                        "{\"status\":\"success\",\"data\":{\"activeTargets\":[{\"labels\":{" OTHER
                        "},\"scrapeInterval\":\"5m\"}%s",
                        clock->has_node ? ",{\"labels\":{" NODE "},\"scrapeInterval\":\"1m\"}" : "");
    else if (strstr(form, "query=group") != NULL)
        g_string_append(text, clock->has_node ? "{\"metric\":{" NODE "},\"value\":[1,\"1\"]}" : "");
    else if (strstr(form, "query=up") != NULL)
    {
        g_string_append(text, "{\"metric\":{" OTHER "},\"values\":[");
        add_scrapes(text, clock, 300, FALSE);
        g_string_append(text, "]}");
        if (clock->has_node)
            g_string_append(text, ",{\"metric\":{" NODE "},\"values\":[");
        if (clock->has_node)
            add_scrapes(text, clock, clock->scrape_s, FALSE);
        g_string_append(text, clock->has_node ? "]}" : "");
    }
    else if (clock->has_node)
    {
        g_string_append(text, "{\"metric\":{\"cpu\":\"0\"," NODE "},\"values\":[");
        add_scrapes(text, clock, clock->scrape_s, TRUE);
        g_string_append(text, "]}");
    }
    g_string_append(text, "]}}");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void sleep_on(gint64 wait_ns, void *user)
{
    Clock *clock = user;
    clock->now_s += (double)wait_ns / 1e9;
    clock->slept_s += (double)wait_ns / 1e9;
}

static void hear(const char *phase, void *user)
{
    Clock *clock = user;
    g_free(clock->said);
    clock->said = g_strdup(phase);
}

/* As often as the node exporter is scraped, not the slowest target; at 60 s the first time by what the server is set to. */
static void test_scrapes(void)
{
    static const struct
    {
        Clock clock;
        double budget_s, slept_s, busy; /* busy < 0: an error */
        const char *message;
    } rows[] = {
        { { .now_s = 100, .scrape_s = 5, .has_node = TRUE }, 60, 0, 0.75, NULL },
        { { .now_s = 130, .scrape_s = 5, .has_node = TRUE }, 60, 0, 0, NULL },
        { { .now_s = 119, .scrape_s = 60, .has_node = TRUE }, 0, 0, 0.75, NULL },
        { { .now_s = 190, .scrape_s = 60, .has_node = TRUE }, 0, 0, 0, NULL },
        { { .now_s = 10, .scrape_s = 60, .has_node = TRUE }, 60, 60, 0.75, "waiting 60 s for the next scrape of http://" },
        { { .now_s = 10, .scrape_s = 60, .has_node = TRUE },
          59,
          0,
          -1,
          "the next scrape takes up to 60 s, and of 59 s to wait 0 s are over" },
        { { .now_s = 1000, .scrape_s = 60 }, 600, 0, -1, "not scraped a node exporter of these processors twice" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        Clock clock = rows[i].clock;
        HttpServer server = { .answer = answer_clock, .user = &clock };
        const IfmPrometheusWait wait = { (gint64)(rows[i].budget_s * 1e9), hear, sleep_on, &clock };
        const int core = 0;
        IfmPrometheusLoad load;
        g_autoptr(GError) error = NULL;
        http_start(&server);
        g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d#host:9100", server.port);
        const gboolean ok = ifm_prometheus_await_load(url, &core, 1, G_GINT64_CONSTANT(5000000000), &wait, &load, &error);
        http_stop(&server);
        g_test_message("row %zu: %s", i, ok ? "busy" : error->message);
        g_assert_cmpint(ok, ==, rows[i].busy >= 0);
        g_assert_cmpfloat(clock.slept_s, ==, rows[i].slept_s);
        if (ok)
            g_assert_cmpfloat_with_epsilon(load.same, rows[i].busy, 1e-9);
        if (rows[i].message != NULL)
            g_assert_nonnull(strstr(ok ? clock.said : error->message, rows[i].message));
        g_free(clock.said);
    }
}

/* A window, too, has the interval of what it is asked for, with and without labels. */
static void test_interval(void)
{
    static const char *const queries[] = { "cpu_busy", "node_load1", "rate(node_x{mode=\"a}b\"}[5m]) + 1", "up" };
    Clock clock = { .now_s = 130, .scrape_s = 5, .has_node = TRUE };
    HttpServer server = { .answer = answer_clock, .user = &clock };
    http_start(&server);
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d", server.port);
    for (gsize i = 0; i < G_N_ELEMENTS(queries); i++)
    {
        IfmPrometheusWindow window;
        g_autoptr(GError) error = NULL;
        g_assert_true(
            ifm_prometheus_window(url, queries[i], 0, G_GINT64_CONSTANT(11000000000), 1000000000, &window, &error));
        g_assert_no_error(error);
        g_assert_cmpint(window.interval_ns, ==, G_GINT64_CONSTANT(5000000000));
        g_assert_false(window.is_short);
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
                 { "user:secret@127.0.0.1:9090", IFM_ERROR_INVALID },
                 { "ftp://user:secret@127.0.0.1", IFM_ERROR_INVALID },
                 { "http://user:secret/secret@127.0.0.1", IFM_ERROR_UNAVAILABLE },
                 { "http://user:secret#secret@127.0.0.1", IFM_ERROR_UNAVAILABLE },
                 { "", IFM_ERROR_INVALID } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        double same, other;
        g_assert_false(ifm_prometheus_busy(rows[i].url, NULL, 0, 1000000000, &same, &other, &error));
        g_assert_null(strstr(error->message, "secret"));
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
    g_test_add_func("/prometheus/load", test_load);
    g_test_add_func("/prometheus/mischief", test_mischief);
    g_test_add_func("/prometheus/scrapes", test_scrapes);
    g_test_add_func("/prometheus/interval", test_interval);
    g_test_add_func("/prometheus/at-once", test_at_once);
    g_test_add_func("/prometheus/no-server", test_no_server);
    return g_test_run();
}
