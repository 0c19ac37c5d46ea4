/* What is written, judged by a reader of its own: jansson, and the rules of the viewers. */
#include <stdlib.h>

#include "trace-fixture.h"

/* --- the checker ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    gint64 pid, tid;
    gint64 start_ns, end_ns;
    const json_t *event;
} Slice;

static gint64 ns_of(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    g_assert_true(json_is_real(value));
    double ns = json_real_value(value) * 1000;
    g_assert_cmpfloat(ns, >=, 0);
    return (gint64)(ns + 0.5);
}

static gint64 integer(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    g_assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *text(const json_t *event, const char *key)
{
    const char *value = json_string_value(json_object_get(event, key));
    g_assert_nonnull(value);
    return value;
}

static json_t *load(const char *path)
{
    json_error_t trouble;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &trouble);
    if (root == NULL)
        g_error("%s:%d: %s", path, trouble.line, trouble.text);
    return root;
}

/* Every two slices of one tid: one within the other, or apart. */
static void check_nesting(GArray *slices)
{
    for (guint i = 0; i < slices->len; i++)
        for (guint j = i + 1; j < slices->len; j++)
        {
            const Slice *a = &g_array_index(slices, Slice, i), *b = &g_array_index(slices, Slice, j);
            if (a->pid != b->pid || a->tid != b->tid)
                continue;
            gboolean apart = a->end_ns <= b->start_ns || b->end_ns <= a->start_ns;
            gboolean a_in_b = a->start_ns >= b->start_ns && a->end_ns <= b->end_ns;
            gboolean b_in_a = b->start_ns >= a->start_ns && b->end_ns <= a->end_ns;
            g_assert_true(apart || a_in_b || b_in_a);
            /* viewers take them in the file's order: the outer has to come first */
            if (!apart && a_in_b && !b_in_a)
                g_assert_cmpint(a->start_ns, >, b->start_ns);
        }
}

/* A flow touches a slice at each of its steps, begins once and ends once, in order of the file. */
static void check_flows(const json_t *events, GArray *slices)
{
    g_autoptr(GHashTable) state = g_hash_table_new(g_str_hash, g_str_equal);
    gsize index;
    json_t *event;
    json_array_foreach(events, index, event)
    {
        const char *phase = text(event, "ph");
        if (strchr("stf", *phase) == NULL)
            continue;
        const char *id = text(event, "id");
        gint64 at_ns = ns_of(event, "ts");
        gboolean touches = FALSE;
        for (guint i = 0; i < slices->len && !touches; i++)
        {
            const Slice *slice = &g_array_index(slices, Slice, i);
            touches = slice->pid == integer(event, "pid") && slice->tid == integer(event, "tid") &&
                      slice->start_ns <= at_ns && at_ns <= slice->end_ns;
        }
        g_assert_true(touches);
        int before = GPOINTER_TO_INT(g_hash_table_lookup(state, id));
        g_assert_cmpint(before, ==, *phase == 's' ? 0 : 1);
        g_hash_table_insert(state, (gpointer)id, GINT_TO_POINTER(*phase == 'f' ? 2 : 1));
    }
    GHashTableIter iterator;
    gpointer value;
    g_hash_table_iter_init(&iterator, state);
    while (g_hash_table_iter_next(&iterator, NULL, &value))
        g_assert_cmpint(GPOINTER_TO_INT(value), ==, 2);
}

static void check_async(const json_t *events)
{
    g_autoptr(GHashTable) open = g_hash_table_new(g_str_hash, g_str_equal),
                          used = g_hash_table_new(g_str_hash, g_str_equal);
    gsize index;
    json_t *event;
    json_array_foreach(events, index, event)
    {
        char phase = *text(event, "ph");
        if (phase != 'b' && phase != 'e')
            continue;
        const char *id = text(event, "id");
        const json_t *begin = g_hash_table_lookup(open, id);
        if (phase == 'b')
        {
            g_assert_true(g_hash_table_add(used, (gpointer)id)); /* nothing is nested: an id each */
            g_hash_table_insert(open, (gpointer)id, event);
            continue;
        }
        g_assert_nonnull(begin);
        g_assert_cmpstr(text(begin, "name"), ==, text(event, "name"));
        g_assert_cmpstr(text(begin, "cat"), ==, text(event, "cat"));
        g_assert_cmpint(integer(begin, "pid"), ==, integer(event, "pid"));
        g_assert_cmpint(ns_of(begin, "ts"), <=, ns_of(event, "ts"));
        g_hash_table_remove(open, id);
    }
    g_assert_cmpuint(g_hash_table_size(open), ==, 0);
}

/* Each tid that has a slice has a name, and so has its process. */
static void check_names(const json_t *events)
{
    g_autoptr(GHashTable) named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize index;
    json_t *event;
    json_array_foreach(events, index, event)
    {
        gboolean is_process = g_str_equal(text(event, "name"), "process_name");
        if (*text(event, "ph") == 'M' && g_str_has_suffix(text(event, "name"), "_name"))
            g_assert_true(g_hash_table_add(
                named, g_strdup_printf("%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT "%s", integer(event, "pid"),
                                       is_process ? 0 : integer(event, "tid"), is_process ? " process" : "")));
    }
    json_array_foreach(events, index, event)
    {
        g_autofree char *thread =
            g_strdup_printf("%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, integer(event, "pid"), integer(event, "tid"));
        g_autofree char *process = g_strdup_printf("%" G_GINT64_FORMAT ".0 process", integer(event, "pid"));
        g_assert_true(g_hash_table_contains(named, process));
        g_assert_true(*text(event, "ph") == 'M' || g_hash_table_contains(named, thread));
    }
}

static GArray *collect(const json_t *events)
{
    GArray *slices = g_array_new(FALSE, FALSE, sizeof(Slice));
    gsize index;
    json_t *event;
    json_array_foreach(events, index, event)
    {
        if (*text(event, "ph") != 'X')
            continue;
        Slice slice = { integer(event, "pid"), integer(event, "tid"), ns_of(event, "ts"), 0, event };
        slice.end_ns = slice.start_ns + ns_of(event, "dur");
        g_array_append_val(slices, slice);
    }
    return slices;
}

static void check_file(const json_t *root)
{
    const json_t *events = json_object_get(root, "traceEvents");
    g_autoptr(GArray) slices = collect(events);
    check_nesting(slices);
    check_flows(events, slices);
    check_async(events);
    check_names(events);
}

static json_t *write_and_check(const IfmTrace *const *traces, gsize n)
{
    g_autofree char *path = fixture_path("trace.json");
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_trace_write(traces, n, path, &error));
    g_assert_no_error(error);
    json_t *root = load(path);
    check_file(root);
    fixture_remove(path);
    return root;
}

/* --- known traces ----------------------------------------------------------------------------------------------------- */

static const json_t *find(const json_t *root, const char *phase, const char *category, gsize skip)
{
    gsize index;
    json_t *event;
    json_array_foreach(json_object_get(root, "traceEvents"), index, event)
    {
        const char *own = json_string_value(json_object_get(event, "cat"));
        if (g_str_equal(text(event, "ph"), phase) && g_strcmp0(own, category) == 0 && skip-- == 0)
            return event;
    }
    return NULL;
}

static gsize count(const json_t *root, const char *phase, const char *category)
{
    gsize n = 0;
    while (find(root, phase, category, n) != NULL)
        n++;
    return n;
}

/* Two blocks, two batches, one at a time in each block: blocks hold their parts, and an arrow a batch. */
static void test_pipeline(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    ifm_trace_set_meta(trace, json_pack("{s:s}", "plan", "two blocks"));
    IfmTrack *cpu = fixture_track(trace, IFM_TRACK_DEVICE, "CPU stream 0", 1, 10);
    IfmTrack *gpu = fixture_track(trace, IFM_TRACK_DEVICE, "GPU stream 0", 2, 10);
    IfmTrack *host_1 = fixture_track(trace, IFM_TRACK_HOST, "block 1 host", 1, 20);
    IfmTrack *host_2 = fixture_track(trace, IFM_TRACK_HOST, "block 2 host", 2, 20);
    IfmTrack *queue = fixture_track(trace, IFM_TRACK_QUEUE, "queue 1", 1, 10);
    for (gint32 batch = 0; batch < 2; batch++)
    {
        gint64 at_ns = 5000000 + batch * 1000;
        fixture_record(host_1, IFM_EVENT_PARTITION, at_ns, at_ns + 100, batch, 1);
        fixture_record(cpu, IFM_EVENT_INFER, at_ns + 100, at_ns + 801, batch, 1);
        fixture_record(host_1, IFM_EVENT_MERGE, at_ns + 801, at_ns + 900, batch, 1);
        fixture_record(host_1, IFM_EVENT_BLOCK, at_ns, at_ns + 900, batch, 1);
        fixture_record(queue, IFM_EVENT_QUEUE, at_ns + 900, at_ns + 1100, batch, 0);
        fixture_record(gpu, IFM_EVENT_INFER, at_ns + 1200, at_ns + 1900, batch, 2);
        fixture_record(host_2, IFM_EVENT_BLOCK, at_ns + 1100, at_ns + 1950, batch, 2);
        fixture_record(queue, IFM_EVENT_BATCH, at_ns, at_ns + 2000, batch, 0);
    }
    const IfmTrace *traces[] = { trace };
    json_auto_t *root = write_and_check(traces, 1);
    const json_t *infer = find(root, "X", "infer", 0), *args = json_object_get(infer, "args");
    g_assert_cmpint(ns_of(infer, "ts"), ==, 100);
    g_assert_cmpint(ns_of(infer, "dur"), ==, 701);
    g_assert_cmpint(integer(args, "batch"), ==, 0);
    g_assert_cmpint(integer(args, "block"), ==, 1);
    g_assert_null(json_object_get(args, "device_ns")); /* unavailable is not 0 */
    g_assert_cmpuint(count(root, "X", "infer"), ==, 4);
    g_assert_cmpuint(count(root, "X", "block"), ==, 4);
    g_assert_cmpuint(count(root, "b", "block"), ==, 0);
    g_assert_cmpuint(count(root, "b", "queue"), ==, 2);
    g_assert_cmpuint(count(root, "e", "batch"), ==, 2);
    g_assert_cmpuint(count(root, "s", "flow"), ==, 2);
    g_assert_cmpuint(count(root, "t", "flow"), ==, 0);
    g_assert_cmpuint(count(root, "f", "flow"), ==, 2);
    /* from block 1's inference to block 2's */
    g_assert_cmpint(ns_of(find(root, "s", "flow", 1), "ts"), ==, 1100);
    g_assert_cmpint(ns_of(find(root, "f", "flow", 1), "ts"), ==, 2200);
    const json_t *other = json_object_get(root, "otherData"), *first = json_array_get(json_object_get(other, "traces"), 0);
    g_assert_cmpstr(text(first, "name"), ==, "run");
    g_assert_cmpstr(text(json_object_get(first, "meta"), "plan"), ==, "two blocks");
    g_assert_cmpint(integer(first, "start_ns"), ==, 5000000);
}

/* Two batches in one block at a time: their blocks are asynchronous, what is within stays on the host's tid. */
static void test_depth_two(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    IfmTrack *host = fixture_track(trace, IFM_TRACK_HOST, "block 1 host", 1, 20);
    fixture_record(host, IFM_EVENT_PARTITION, 0, 10, 0, 1);
    fixture_record(host, IFM_EVENT_PARTITION, 50, 60, 1, 1);
    fixture_record(host, IFM_EVENT_MERGE, 90, 100, 0, 1);
    fixture_record(host, IFM_EVENT_BLOCK, 0, 100, 0, 1);
    fixture_record(host, IFM_EVENT_MERGE, 140, 150, 1, 1);
    fixture_record(host, IFM_EVENT_BLOCK, 50, 150, 1, 1);
    const IfmTrace *traces[] = { trace };
    json_auto_t *root = write_and_check(traces, 1);
    g_assert_cmpuint(count(root, "X", "block"), ==, 0);
    g_assert_cmpuint(count(root, "b", "block"), ==, 2);
    g_assert_cmpuint(count(root, "X", "partition"), ==, 2);
    g_assert_cmpuint(count(root, "X", "merge"), ==, 2);
    for (gsize i = 0; i < 2; i++)
        g_assert_cmpint(integer(find(root, "X", "merge", i), "tid"), ==, integer(find(root, "X", "partition", i), "tid"));
}

/* What overlaps although it should not goes onto a tid beside. */
static void test_overlap(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    IfmTrack *cpu = fixture_track(trace, IFM_TRACK_DEVICE, "CPU stream 0", 1, 200);
    for (int i = 0; i < 100; i++) /* more at a time than there are tids for */
        fixture_record(cpu, IFM_EVENT_INFER, i, 1000 + i, i, 1);
    const IfmTrace *traces[] = { trace };
    json_auto_t *root = write_and_check(traces, 1);
    g_assert_cmpuint(count(root, "X", "infer") + count(root, "b", "infer"), ==, 100);
    g_assert_cmpuint(count(root, "X", "infer"), >, 1);
    g_assert_cmpint(integer(find(root, "X", "infer", 0), "tid"), !=, integer(find(root, "X", "infer", 1), "tid"));
}

static void test_side_by_side(void)
{
    g_autoptr(IfmTrace) simulation = ifm_trace_new("simulation"), run = ifm_trace_new("run");
    fixture_record(fixture_track(simulation, IFM_TRACK_DEVICE, "CPU", 1, 1), IFM_EVENT_INFER, 0, 10, 0, 1);
    fixture_record(fixture_track(run, IFM_TRACK_DEVICE, "CPU", 1, 1), IFM_EVENT_INFER, 77777, 77790, 0, 1);
    const IfmTrace *traces[] = { simulation, run };
    json_auto_t *root = write_and_check(traces, 2);
    const json_t *a = find(root, "X", "infer", 0), *b = find(root, "X", "infer", 1);
    g_assert_cmpint(integer(a, "pid"), !=, integer(b, "pid"));
    g_assert_cmpint(ns_of(a, "ts"), ==, 0);
    g_assert_cmpint(ns_of(b, "ts"), ==, 0);
    g_assert_cmpint(ns_of(b, "dur"), ==, 13);
}

static void test_random(void)
{
    for (guint32 seed = 1; seed <= 60; seed++)
    {
        GRand *rand = g_rand_new_with_seed(seed);
        g_autoptr(IfmTrace) a = fixture_random(rand), b = fixture_random(rand);
        const IfmTrace *traces[] = { a, b };
        json_auto_t *root = write_and_check(traces, 1 + seed % 2);
        g_rand_free(rand);
    }
}

/* --- files ------------------------------------------------------------------------------------------------------------ */

static IfmTrace *small(void)
{
    IfmTrace *trace = ifm_trace_new("run");
    IfmTrack *cpu = fixture_track(trace, IFM_TRACK_DEVICE, "CPU", 1, 20000);
    for (int i = 0; i < 20000; i++)
        fixture_record(cpu, IFM_EVENT_INFER, i * 10, i * 10 + 5, i, 1);
    return trace;
}

/* gzip itself says that it is whole, and what it holds. */
static void test_gzip(void)
{
    g_autoptr(IfmTrace) trace = small();
    const IfmTrace *traces[] = { trace };
    g_autofree char *packed = fixture_path("trace.json.gz"), *plain = fixture_path("trace.json"), *text = NULL;
    g_assert_true(ifm_trace_write(traces, 1, packed, NULL));
    g_assert_true(ifm_trace_write(traces, 1, plain, NULL));
    g_autofree char *program = g_find_program_in_path("gzip"), *out = NULL;
    if (program == NULL)
    {
        g_test_skip("there is no gzip here to unpack with");
        return;
    }
    const char *arguments[] = { program, "-dc", packed, NULL };
    int status;
    gsize length;
    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL, &status, NULL));
    g_assert_true(g_spawn_check_wait_status(status, NULL));
    g_assert_true(g_file_get_contents(plain, &text, &length, NULL));
    g_assert_cmpuint(length, >, 1000000);
    g_assert_cmpstr(out, ==, text);
    fixture_remove(packed);
    fixture_remove(plain);
}

static void test_replaced_whole(void)
{
    g_autoptr(IfmTrace) trace = small();
    const IfmTrace *traces[] = { trace };
    g_autofree char *path = fixture_path("kept.json"), *text = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(path, "before", -1, NULL));
    IfmTrack *bad = fixture_track(trace, IFM_TRACK_DEVICE, "CPU", 1, 1);
    fixture_record(bad, IFM_EVENT_INFER, G_MININT64 + 1, G_MININT64 + 2, 0, 1);
    g_assert_false(ifm_trace_write(traces, 1, path, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_true(g_str_has_prefix(error->message, path));
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "before");
    g_clear_error(&error);
    g_assert_false(ifm_trace_write(traces, 1, "/no such folder/trace.json", &error));
    g_assert_true(error != NULL);
    fixture_remove(path);
}

static void test_full_disk(void)
{
    g_autoptr(IfmTrace) trace = small();
    const IfmTrace *traces[] = { trace };
    g_autoptr(GError) error = NULL;
    if (!g_file_test("/dev/full", G_FILE_TEST_EXISTS))
    {
        g_test_skip("there is no /dev/full here");
        return;
    }
    g_assert_false(ifm_trace_write(traces, 1, "/dev/full", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* How many batches wait, and how many devices work, at each moment at which that changes. */
static void test_counters(void)
{
    static const struct
    {
        const char *name;
        gint64 at_ns, count;
    } expected[] = {
        { "A: batches", 0, 1 },    { "A: batches", 5, 2 },    { "A: batches", 15, 0 },   { "busy devices", 20, 1 },
        { "busy devices", 30, 2 }, { "busy devices", 50, 1 }, { "busy devices", 60, 0 },
    };
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    IfmTrack *queue = fixture_track(trace, IFM_TRACK_QUEUE, "A", 1, 4),
             *one = fixture_track(trace, IFM_TRACK_DEVICE, "B", 1, 4),
             *two = fixture_track(trace, IFM_TRACK_DEVICE, "C", 1, 4);
    fixture_record(queue, IFM_EVENT_QUEUE, 0, 15, 0, 1);
    fixture_record(queue, IFM_EVENT_QUEUE, 5, 15, 1, 1);
    fixture_record(one, IFM_EVENT_INFER, 20, 40, 0, 1);
    fixture_record(one, IFM_EVENT_INFER, 40, 60, 1, 1); /* at once after the first: nothing changes */
    fixture_record(two, IFM_EVENT_INFER, 30, 50, 0, 1);
    const IfmTrace *traces[] = { trace };
    json_auto_t *root = write_and_check(traces, 1);
    gsize found = 0, index;
    json_t *event;
    json_array_foreach(json_object_get(root, "traceEvents"), index, event)
    {
        if (*text(event, "ph") != 'C')
            continue;
        g_assert_cmpuint(found, <, G_N_ELEMENTS(expected));
        g_assert_cmpstr(text(event, "name"), ==, expected[found].name);
        g_assert_cmpint(ns_of(event, "ts"), ==, expected[found].at_ns);
        g_assert_cmpint(integer(json_object_get(event, "args"), "count"), ==, expected[found].count);
        found++;
    }
    g_assert_cmpuint(found, ==, G_N_ELEMENTS(expected));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/write/pipeline", test_pipeline);
    g_test_add_func("/trace/write/depth-two", test_depth_two);
    g_test_add_func("/trace/write/overlap", test_overlap);
    g_test_add_func("/trace/write/side-by-side", test_side_by_side);
    g_test_add_func("/trace/write/random", test_random);
    g_test_add_func("/trace/write/counters", test_counters);
    g_test_add_func("/trace/write/gzip", test_gzip);
    g_test_add_func("/trace/write/replaced-whole", test_replaced_whole);
    g_test_add_func("/trace/write/full-disk", test_full_disk);
    return g_test_run();
}
