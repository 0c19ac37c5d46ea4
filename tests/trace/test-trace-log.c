/* What another program logged becomes a trace: streams, blocks and batches, its analysis, and what is refused. */
#include <glib/gstdio.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <trace/trace.h>

/* Two stages: CPU (10 ns, of which 8 by its counter), then a partition, two inferences of GPU at once, a merge. */
static void add_batch(GString *log, int batch, int at, gboolean last)
{
    const struct
    {
        const char *kind, *name, *device, *stage;
        int from, to, device_ns;
    } events[] = {
        { "merge", "Merge", "CPU", "Embed", at + 42, at + 45, -1 }, /* in any order */
        { "infer", "Prepare", "CPU", "Prepare", at, at + 10, 8 },
        { "partition", "Partition", "CPU", "Embed", at + 10, at + 12, -1 },
        { "infer", "Embed", "GPU", "Embed", at + 12, at + 42, -1 },
        { "infer", "Embed", "GPU", "Embed", at + 12, at + 32, -1 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(events); i++)
        g_string_append_printf(log,
                               "{\"kind\": \"%s\", \"name\": \"%s\", \"device\": \"%s\", \"stage\": \"%s\", \"batch\": %d, "
                               "\"start_ns\": %d, \"end_ns\": %d, \"device_ns\": %d}%s",
                               events[i].kind, events[i].name, events[i].device, events[i].stage, batch, events[i].from,
                               events[i].to, events[i].device_ns, last && i + 1 == G_N_ELEMENTS(events) ? "" : ", ");
}

static json_t *track_of(json_t *json, const char *thread)
{
    json_t *tracks = json_object_get(json, "tracks"), *track;
    gsize i;
    json_array_foreach(tracks, i, track) if (g_str_equal(ifm_member_text(track, "thread"), thread)) return track;
    return NULL;
}

static void test_analysis(void)
{
    g_autoptr(GString) log = g_string_new("{\"name\": \"mine\", \"events\": [");
    g_autofree char *folder = g_dir_make_tmp("trace-log-XXXXXX", NULL), *path = g_build_filename(folder, "t.json", NULL);
    g_autoptr(GError) error = NULL;
    add_batch(log, 0, 1000, FALSE);
    add_batch(log, 1, 1050, TRUE);
    g_string_append(log, "]}");
    g_autofree char *text = ifm_trace_log(log->str, path, &error);
    g_assert_no_error(error);
    json_auto_t *json = json_loads(text, 0, NULL);
    g_assert_cmpstr(ifm_member_text(json, "name"), ==, "mine");
    g_assert_cmpfloat(ifm_member_number(json, "devices"), ==, 3);
    const json_t *cpu = track_of(json, "CPU stream 0"), *gpu = track_of(json, "GPU stream 1");
    g_assert_cmpfloat(ifm_member_number(cpu, "busy_ns"), ==, 20);
    g_assert_cmpfloat(ifm_member_number(cpu, "device_ns"), ==, 16);
    g_assert_cmpfloat(ifm_member_number(cpu, "penalty_mean_ns"), ==, 2);
    g_assert_cmpfloat(ifm_member_number(cpu, "bubbles.sum_ns"), ==, 40);
    g_assert_cmpfloat(ifm_member_number(gpu, "count"), ==, 2);
    g_assert_cmpfloat(ifm_member_number(json, "batches.left"), ==, 2);
    g_assert_cmpfloat(ifm_member_number(json, "batches.latency.p50_ns"), ==, 45);
    g_assert_cmpfloat(ifm_member_number(json, "batches.cycle.max_ns"), ==, 35); /* 2 + 30 + 3 */
    g_assert_cmpfloat(ifm_member_number(json, "bottleneck_block"), ==, 2);
    const json_t *embed = json_array_get(json_object_get(json, "stages"), 1);
    g_assert_cmpfloat(ifm_member_number(embed, "partition_mean_ns"), ==, 2);
    g_assert_cmpfloat(ifm_member_number(embed, "merge_mean_ns"), ==, 3);
    /* the file is the same trace */
    g_autoptr(GPtrArray) read = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(read->len, ==, 1);
    g_autoptr(IfmTraceAnalysis) again = ifm_trace_analyse(read->pdata[0], &IFM_TRACE_QUESTION_INIT, &error);
    json_auto_t *reread = ifm_trace_analysis_to_json(again, read->pdata[0]);
    g_assert_true(json_equal(json, reread));
    g_remove(path);
    g_rmdir(folder);
}

#define EVENT(kind, stage, batch, from, to)                                                                                \
    "{\"name\": \"x\", \"events\": [{\"kind\": \"" kind "\", \"name\": \"n\", \"device\": \"CPU\", \"stage\": " stage      \
    ", \"batch\": " batch ", \"start_ns\": " from ", \"end_ns\": " to ", \"device_ns\": -1}]}"

static void test_refused(void)
{
    static const struct
    {
        const char *log, *message;
    } wrong[] = {
        { "nothing", "log: *" },
        { "{\"name\": \"x\"}", "*events*" },
        { "{\"name\": \"x\", \"events\": []}", "*" },
        { EVENT("infer", "\"s\"", "0", "9", "8"), "log.events[0]: it ends before it starts: from 9 to 8 ns" },
        { EVENT("dance", "\"s\"", "0", "1", "8"), "*dance*" },
        { EVENT("infer", "null", "0", "1", "8"), "log.events[0]: an event has a name, a device and a stage" },
        { EVENT("infer", "\"s\"", "3000000000", "1", "8"), "*batch*3000000000*" },
        { EVENT("infer", "\"s\"", "0", "1.5", "8"), "*start_ns*" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_trace_log(wrong[i].log, NULL, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_true(g_pattern_match_simple(wrong[i].message, error->message));
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_trace_log(EVENT("infer", "\"s\"", "-1", "1", "8"), "/nowhere/t.json", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* Without batches: devices alone. */
static void test_no_batch(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = ifm_trace_log(EVENT("infer", "\"s\"", "-1", "1", "8"), NULL, &error);
    g_assert_no_error(error);
    json_auto_t *json = json_loads(text, 0, NULL);
    g_assert_cmpfloat(ifm_member_number(json, "busy_ns"), ==, 7);
    g_assert_cmpfloat(ifm_member_number(json, "batches.count"), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace-log/analysis", test_analysis);
    g_test_add_func("/trace-log/refused", test_refused);
    g_test_add_func("/trace-log/no-batch", test_no_batch);
    return g_test_run();
}
