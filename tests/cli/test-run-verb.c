#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <study/study.h>

#include "cli/run-harness.h"

/*
 * Running plans on simulated devices that take 5 ms for whatever they run, on a virtual clock: what a pipeline of them does
 * is known exactly.
 */

static double number(const json_t *json, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (char **key = keys; *key != NULL; key++)
        json = g_ascii_isdigit(**key) ? json_array_get(json, (gsize)g_ascii_strtoull(*key, NULL, 10))
                                      : json_object_get(json, *key);
    if (!json_is_number(json))
        g_error("no number at %s", path);
    return json_number_value(json);
}

static double figure(const json_t *run, const char *key, const char *which)
{
    gsize i;
    json_t *row;
    json_array_foreach(json_object_get(run, "figures"), i,
                       row) if (g_str_equal(text_of(row, "figure"), key)) return number(row, which);
    g_error("no figure %s", key);
}

static json_t *run_plan(const Bench *bench, const char *text, const char *options)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("run plan.json -q --json - -o out %s", options);
    write_text(bench, "plan.json", text);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

/* n batches of 5 ms each, one after the other; in a chain of two the second block ends one later. */
static void test_makespan(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *plan;
        double cycles;
    } known[] = { { ONE, 40 }, { SHARED, 40 }, { CHAIN, 41 } };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        json_auto_t *json = run_plan(bench, known[i].plan, "--batches 40 --repetitions 2");
        const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
        /* the virtual clock stands still while the host works, but what it does not own is not for it to stop */
        g_assert_cmpfloat_with_epsilon(figure(run, "makespan", "measured"), known[i].cycles * 5 * MS, 0.01 * 40 * 5 * MS);
        g_assert_cmpuint(
            json_array_size(json_object_get(json_object_get(json_object_get(run, "measurement"), "result"), "repetitions")),
            ==, 2);
    }
    gint64 n = query(bench, "out/store.db", "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'");
    g_assert_cmpint(n, ==, 3);
}

/* A row a batch; in the chain each block takes 5 ms. */
static void test_files(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", CHAIN);
    run_line(bench, "run plan.json -q -o out --batches 10 --repetitions 1 --csv batches.csv --trace run.json.gz", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "makespan"));
    g_autofree char *csv = read_text(bench, "batches.csv");
    g_auto(GStrv) rows = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpstr(rows[0], ==,
                    "run,batch,block_1_ns,block_2_ns,block_1_turn_ns,block_2_turn_ns,cycle_ns,bottleneck_block");
    g_assert_cmpuint(g_strv_length(rows), ==, 12); /* a head, ten rows, the end */
    run_line(bench, "trace run.json.gz --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *trace = parse_output(&ended);
    g_assert_cmpfloat(number(trace, "traces.0.batches.count"), ==, 10);
    g_autoptr(GDir) out = g_dir_open(bench->folder, 0, NULL); /* no trace of its own is left behind */
    g_autofree char *folder = bench_path(bench, "out");
    g_autoptr(GDir) inside = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(inside)) != NULL;)
        g_assert_false(g_str_has_prefix(name, ".trace"));
}

/* The closed loop: a study, the plan by its tables, the prediction in the store before the run, both on the page. */
static void test_study(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    run_line(bench, "run ./small -q --use CPU --size 10,20 --batches 20 --repetitions 1 --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
    const char *key = text_of(json_object_get(run, "case"), "key");
    g_assert_cmpfloat(figure(run, "makespan", "predicted"), >, 0);
    g_autofree char *sql = g_strdup_printf("SELECT COUNT(*) FROM document WHERE name = 'prediction %s'", key);
    g_assert_cmpint(query(bench, "small/store.db", sql), ==, 1);
    sql =
        (g_free(sql), g_strdup_printf("SELECT json_extract(content, '$.predicted_unix_ms') <= (SELECT MAX(started_unix_ms) "
                                      "FROM measurement) FROM document WHERE name = 'prediction %s'",
                                      key));
    g_assert_cmpint(query(bench, "small/store.db", sql), ==, 1);
    run_line(bench, "run ./small -q --model nope --size 10,20", &ended);
    assert_complaint(&ended, 2, "--model: has no effect: the study says it");
    run_line(bench, "run ./small -q --features 7 --size 10,20", &ended);
    assert_complaint(&ended, 2, "--features: has no effect: the study says it");
    run_line(bench, "run ./small -q --batches 1 --size 10,20 --size 5,8", &ended);
    assert_complaint(&ended, 2, "\"1\" is not a whole number from 2");
    run_line(bench, "run ./small --use CPU --size 10,20 --size 5,8 --batches 20 --repetitions 1", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "Predicted and measured"));
    g_assert_nonnull(strstr(ended.out, " within their prediction's interval\n"));
    /* and the study's own tables are as they were */
    run_line(bench, "study status ./small", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "63 cases: 63 measured"));
}

/* What is tried before it is predicted is told on the page and in JSON, and is not taken where it can do nothing. */
static void test_pilot(Bench *bench, gconstpointer data)
{
    static const char *const refused[] = { "run --demo --pilot 1s -q", "run plan.json --pilot 1s -q",
                                           "run ./small --table table.json --pilot 1s -q" };
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    write_text(bench, "plan.json", CHAIN);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    run_line(bench, "plan ./small -q --table table.json", &ended);
    assert_status(&ended, 0);
    run_line(bench, "run ./small -q --use CPU --size 10,20 --batches 40 --repetitions 1 --pilot 1s --json run.json",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "pilot     tried in "));
    g_assert_nonnull(strstr(ended.out, " before the prediction; by the study alone "));
    g_autofree char *path = g_build_filename(bench->folder, "run.json", NULL);
    json_auto_t *json = ifm_json_load(path, NULL);
    const json_t *run = json_array_get(json_object_get(json, "runs"), 0),
                 *pilot = json_object_get(json_object_get(run, "prediction"), "pilot"),
                 *round = json_array_get(json_object_get(pilot, "rounds"), 0);
    g_assert_cmpint(json_integer_value(json_object_get(pilot, "budget_ns")), ==, 1000000000);
    g_assert_cmpfloat(json_number_value(json_object_get(json_object_get(pilot, "tables"), "makespan_ns")), >, 0);
    g_assert_cmpfloat(json_number_value(json_object_get(round, "measured_ns")), >, 0);
    g_assert_cmpfloat(json_number_value(json_object_get(round, "pace_ns")), >, 0);
    /* the plan that it ended with was tried twice; how far looks are apart is in the interval that is stated */
    gsize n_rounds = json_array_size(json_object_get(pilot, "rounds"));
    g_assert_true(json_is_false(json_object_get(round, "again")));
    g_assert_true(json_is_true(json_object_get(json_array_get(json_object_get(pilot, "rounds"), n_rounds - 1), "again")));
    double drift = json_number_value(json_object_get(pilot, "drift_ratio")),
           stated = json_number_value(json_object_get(json_object_get(run, "prediction"), "makespan_spread_ratio"));
    g_assert_cmpfloat(drift, >, 0.05);
    g_assert_cmpfloat(stated, >=, drift);
    g_assert_cmpfloat(
        json_number_value(json_object_get(json_object_get(json_object_get(run, "prediction"), "together"), "CPU")), >, 0);
    g_assert_cmpfloat_with_epsilon(figure(run, "makespan", "predicted") / figure(run, "makespan", "measured"), 1, 0.01);
    /* begun again with --resume, the first look at each plan, and the run, are those of the store */
    run_line(bench,
             "run ./small -q --use CPU --size 10,20 --batches 40 --repetitions 1 --pilot 1s --resume --json resumed.json",
             &ended);
    assert_status(&ended, 0);
    g_autofree char *again_path = g_build_filename(bench->folder, "resumed.json", NULL);
    json_auto_t *again = ifm_json_load(again_path, NULL);
    const json_t *resumed = json_array_get(json_object_get(again, "runs"), 0),
                 *rounds = json_object_get(json_object_get(json_object_get(resumed, "prediction"), "pilot"), "rounds");
    g_assert_cmpfloat(json_number_value(json_object_get(json_array_get(rounds, 0), "measured_ns")), ==,
                      json_number_value(json_object_get(round, "measured_ns")));
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        run_line(bench, refused[i], &ended);
        assert_status(&ended, 2);
        g_assert_nonnull(strstr(ended.err, "--pilot"));
    }
}

/* A member of a pair of the diff, of the makespan; fails where there is none. */
static double makespan_of(const json_t *diff, const char *stream, const char *which)
{
    gsize i, k;
    json_t *pair, *row;
    json_array_foreach(json_object_get(diff, "pairs"), i, pair)
    {
        if (!g_str_equal(text_of(pair, "stream"), stream))
            continue;
        json_array_foreach(json_object_get(pair, "differences"), k, row)
        {
            if (g_str_equal(text_of(row, "key"), "makespan"))
                return json_number_value(json_object_get(row, which));
        }
    }
    g_error("no makespan of %s", stream);
}

static double makespan_in(const Bench *bench, const char *file, guint run, const char *which)
{
    json_auto_t *json = load_json(bench, file);
    return figure(json_array_get(json_object_get(json, "runs"), run), "makespan", which);
}

/* Two files of two sizes each, their simulations first: run is held against run of the same size, in whatever order; of one
 * file each simulation against its run. */
static void test_diff(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    static const char *const lines[] = {
        "study run ./small.yaml -q -o small",
        "run ./small -q --use CPU --size 10,20 --size 5,8 --batches 20 --repetitions 1 --json a.json --trace a.json.gz",
        "run ./small -q --use GPU --size 5,8 --size 10,20 --batches 10 --repetitions 1 --json b.json --trace b.json.gz",
    };
    write_text(bench, "small.yaml", SMALL);
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        run_line(bench, lines[i], &ended);
        assert_status(&ended, 0);
    }
    run_line(bench, "trace diff a.json.gz b.json.gz --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *both = parse_output(&ended);
    g_assert_cmpuint(json_array_size(json_object_get(both, "pairs")), ==, 2);
    g_assert_cmpfloat(makespan_of(both, "10 nodes, 20 edges", "a"), ==, makespan_in(bench, "a.json", 0, "measured"));
    g_assert_cmpfloat(makespan_of(both, "10 nodes, 20 edges", "b"), ==, makespan_in(bench, "b.json", 1, "measured"));
    g_assert_cmpfloat(makespan_of(both, "5 nodes, 8 edges", "a"), ==, makespan_in(bench, "a.json", 1, "measured"));
    g_assert_cmpfloat(makespan_of(both, "5 nodes, 8 edges", "b"), ==, makespan_in(bench, "b.json", 0, "measured"));
    run_line(bench, "trace diff a.json.gz --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *one = parse_output(&ended);
    g_assert_cmpfloat(makespan_of(one, "5 nodes, 8 edges", "a"), ==, makespan_in(bench, "a.json", 1, "predicted"));
    g_assert_cmpfloat(makespan_of(one, "5 nodes, 8 edges", "b"), ==, makespan_in(bench, "a.json", 1, "measured"));
    run_line(bench, "trace diff a.json.gz", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "10 nodes, 20 edges: "));
    run_line(bench, "trace a.json.gz --json -", &ended); /* what was recorded comes first, whatever is first in the file */
    json_auto_t *explained = parse_output(&ended);
    g_autofree char *summary = json_dumps(json_object_get(explained, "summary"), 0);
    g_assert_nonnull(strstr(summary, "one recording: how much another would differ"));
    g_assert_null(strstr(summary, "computed from a plan's costs"));
    /* a study's plan and its run: the one has a simulation alone */
    run_line(bench, "plan ./small --use CPU --size 5,8 --batches 20 --trace plan.json.gz", &ended);
    assert_status(&ended, 0);
    run_line(bench, "trace diff plan.json.gz a.json.gz --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *planned = parse_output(&ended);
    g_assert_cmpuint(json_array_size(json_object_get(planned, "pairs")), ==, 1);
    g_assert_cmpfloat(makespan_of(planned, "5 nodes, 8 edges", "b"), ==, makespan_in(bench, "a.json", 1, "measured"));
    run_line(bench, "plan ./small --use CPU --size 5,6 --size 4,6 --batches 20 --trace plan.json.gz", &ended);
    assert_status(&ended, 0);
    run_line(bench, "trace diff plan.json.gz a.json.gz", &ended);
    assert_complaint(&ended, 3,
                     "nothing to compare: \"5 nodes, 6 edges\" is in the first, \"10 nodes, 20 edges\" in the second");
}

/* One edge in four parts: some have none, and are batches all the same. */
static void test_parts(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    run_line(bench, "run ./small -q --use CPU --size 40,1 --partitions 4 --batches 8 --repetitions 1 --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
    g_assert_cmpfloat(figure(run, "makespan", "predicted"), >, 0);
    g_assert_cmpfloat(figure(run, "makespan", "measured"), >, 0);
}

/* Whoever runs holds the folder: a second run there is told who it is, and does not begin. */
static void test_held(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GError) error = NULL;
    g_autofree char *out = bench_path(bench, "out"), *small = bench_path(bench, "small");
    g_autofree char *in_out = g_strdup_printf("out: is in use by process %d, which measures there", (int)getpid());
    g_autofree char *in_small = g_strdup_printf("small: is in use by process %d, which measures there", (int)getpid());
    write_text(bench, "plan.json", ONE);
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    g_assert_cmpint(g_mkdir(out, 0777), ==, 0);
    {
        g_autoptr(IfmStudyLock) one = ifm_study_lock_new(out, &error);
        g_autoptr(IfmStudyLock) other = ifm_study_lock_new(small, &error);
        g_assert_no_error(error);
        run_line(bench, "run plan.json -q -o out --batches 5", &ended);
        assert_complaint(&ended, 4, in_out);
        run_line(bench, "run ./small -q --size 10,20 --batches 5", &ended);
        assert_complaint(&ended, 4, in_small);
    }
    run_line(bench, "run plan.json -q -o out --batches 5 --repetitions 1", &ended);
    assert_status(&ended, 0);
    g_assert_false(is_there(bench, "out/lock")); /* the run lets go of it */
    /* while one runs, it is the holder: of more batches than it will get through */
    run_shell(bench, "sh",
              "\"$INFEROMETER\" run plan.json -q -o out --batches 4000 --repetitions 1000 >run.txt 2>&1 & "
              "while kill -0 $! && ! [ -s out/lock ]; do sleep 0.05; done; "
              "\"$INFEROMETER\" run plan.json -q -o out --batches 5; echo $?; echo $!; kill $!; wait",
              &ended);
    int status = 0, holder = 0;
    g_assert_cmpint(sscanf(ended.out, "%d %d", &status, &holder), ==, 2);
    g_assert_cmpint(status, ==, 4);
    g_autofree char *in_use = g_strdup_printf("out: is in use by process %d, which measures there", holder);
    g_assert_nonnull(strstr(ended.err, in_use));
}

/* Bare blocks beside a study: its model, its devices; the folder may be said twice; what is wrong with a plan is its
 * file's. */
static void test_bare(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    write_text(bench, "bare.json", "[[[\"CPU\"],[1,2,3],[1]],[[\"GPU\"],[4,5,6,7],[1]]]");
    run_line(bench, "run ./small --plan bare.json --size 10,20 --batches 8 --repetitions 1 -q --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
    g_assert_cmpstr(text_of(json_object_get(run, "plan"), "model"), ==, "graphsage");
    g_assert_cmpfloat(figure(run, "makespan", "predicted"), >, 0);
    run_line(bench, "run ./small -o small --plan bare.json --size 10,20 --batches 8 --repetitions 1 -q", &ended);
    assert_status(&ended, 0);
    write_text(bench, "other.json", "[[[\"CPU\"],[1,2,3],[1]],[[\"TPU\"],[4,5,6,7],[1]]]");
    run_line(bench, "run ./small --plan other.json -d TPU=simulated:lab/FIXED --size 10,20", &ended);
    assert_complaint(&ended, 3, "other.json: block 2: TPU: no such device in the cost model");
    run_line(bench, "plan ./small --compare other.json --size 10,20", &ended);
    assert_complaint(&ended, 3, "inferometer: other.json: block 2: TPU");
}

/* A stage that is not for its device is the plan's fault, and told once. */
static void test_refused(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", CHAIN);
    run_line(bench, "run plan.json -o out -q -d B=simulated:lab/TABLE-REFUSES --batches 5 --repetitions 1", &ended);
    assert_complaint(&ended, 3, "nor of stage \"4\" to add up; use a plan that gives these stages to another device");
    g_assert_cmpstr(ended.out, ==, "");
}

/* Plans by size, made by plan and looked up by run: one stream, each graph by its own. */
static void test_table(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    run_line(bench, "plan ./small -q --table table.json", &ended);
    assert_status(&ended, 0);
    run_line(bench, "run ./small --table table.json --batches 12 --repetitions 1 --json - -q", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    g_assert_cmpuint(json_array_size(json_object_get(json, "runs")), ==, 1);
    g_assert_cmpstr(text_of(json_array_get(json_object_get(json, "runs"), 0), "title"), ==, "3 graphs, alternating");
    g_assert_cmpstr(text_of(json_array_get(json_object_get(json, "runs"), 0), "plan_origin"), ==,
                    "exact (the table's of this very size)");
    run_line(bench, "run ./small --table table.json --size 100,200 --batches 12 --repetitions 1 -q", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "plan      searched (the table has none: searched at this size)"));
}

static const json_t *plan_reported(const json_t *run)
{
    return json_object_get(json_object_get(run, "measurement"), "result");
}

static const json_t *first_run(const json_t *json)
{
    return json_array_get(json_object_get(json, "runs"), 0);
}

/* A plan that leaves B idle attains half of what both make, each a batch in 5 ms; where there is one device, no bound. */
static void test_bound(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *json = run_plan(bench, ONE, "--batches 40 --repetitions 2 --bound");
    const json_t *bound = json_object_get(plan_reported(first_run(json)), "bound");
    g_assert_cmpfloat_with_epsilon(number(bound, "together.A"), 200, 0.01 * 200);
    g_assert_cmpfloat_with_epsilon(number(bound, "together.B"), 200, 0.01 * 200);
    g_assert_cmpfloat_with_epsilon(number(bound, "attained"), 0.5, 0.01);
    json_auto_t *shared = run_plan(bench, SHARED, "--batches 40 --repetitions 2 --bound");
    g_assert_cmpfloat_with_epsilon(number(plan_reported(first_run(shared)), "bound.attained"), 0.5, 0.01);
    write_text(bench, "alone.json",
               "{\"plan\": [[[\"A\"],[1,2,3,4,5,6,7],[1]]], \"devices\": {\"A\": {\"device\": \"simulated:lab/FIXED\"}}, "
               "\"model\": \"graphsage\", \"sizes\": [[100, 300]], \"features\": 4, \"hidden\": 3}");
    run_line(bench, "run alone.json -q -o out --batches 10 --repetitions 1 --bound", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "no bound: the plan has one device"));
}

/* Counting makes an inference of that device a fifth longer: with all counted it is in the makespan, and known by a part
 * of each repetition that runs uncounted; with some counted it is known by the others. */
static void test_device_time(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *on = run_plan(bench, ONE, "--batches 40 --repetitions 2 --device-time on");
    const json_t *cost = json_object_get(plan_reported(first_run(on)), "device_time_cost");
    g_assert_cmpfloat_with_epsilon(figure(first_run(on), "makespan", "measured"), 40 * 6.0 * MS, 0.01 * 40 * 6 * MS);
    g_assert_cmpfloat_with_epsilon(number(cost, "ratio"), 0.2, 0.005);
    g_assert_cmpfloat(number(cost, "n_counted"), ==, 20);
    g_assert_cmpfloat(number(cost, "n_plain"), ==, 20);
    g_assert_true(json_is_null(json_object_get(cost, "why")));
    json_auto_t *sampled = run_plan(bench, ONE, "--batches 40 --repetitions 2 --device-time sampled");
    cost = json_object_get(plan_reported(first_run(sampled)), "device_time_cost");
    g_assert_cmpfloat_with_epsilon(number(cost, "ratio"), 0.2, 0.005);
    g_assert_cmpfloat(number(cost, "n_counted"), >=, 4);
    g_assert_cmpfloat(number(cost, "n_counted") + number(cost, "n_plain"), ==, 80);
    g_assert_cmpfloat(number(cost, "interval.lower"), <=, number(cost, "ratio"));
    g_assert_cmpfloat(number(cost, "interval.upper"), <, 0.3);
    run_line(bench, "run plan.json -q -o out --batches 10 --repetitions 1 --device-time on --trace on.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "asking for device time slowed it down by 20.0 %"));
    g_autofree char *trace = read_text(bench, "on.json");
    g_assert_nonnull(strstr(trace, "\"device_time_slow_down_ratio\""));
    g_assert_null(strstr(trace, "\"device_time_slow_down_ratio\": null"));
    g_assert_null(strstr(trace, "\"device_time_slow_down_ratio\":null"));
    write_text(bench, "chain.json", CHAIN); /* B can count nothing */
    run_line(bench, "run chain.json -q -o out --batches 40 --repetitions 1 --device-time sampled", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "asking for device time slowed it down by 20.0 %"));
}

/* With --ci the repetitions are the most of them; of a device without noise the least are enough. */
static void test_interval(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *json = run_plan(bench, ONE, "--batches 10 --ci 5%");
    double n = number(plan_reported(first_run(json)), "makespan_ns.n");
    g_assert_cmpstr(text_of(json_object_get(first_run(json), "measurement"), "stop_reason"), ==, "interval");
    g_assert_cmpfloat(n, >=, 10);
    g_assert_cmpfloat(n, <, 100);
    run_line(bench, "run plan.json -q -o out --batches 10 --ci 5% --repetitions 5", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "10 batches, 5 times"));
    g_assert_nonnull(strstr(ended.out, "interval: wider than was asked for after the maximum number of repetitions"));
    run_line(bench, "run plan.json --ci 0%", &ended);
    assert_complaint(&ended, 2, "--ci: above 0%, at most 100%");
    run_line(bench, "run plan.json --time-budget 5s", &ended);
    assert_complaint(&ended, 2, "--time-budget needs --ci");
}

/* A graph from a file, whole and in parts: each part is a batch, and all of them are computed. */
static void test_graph(Bench *bench, gconstpointer data)
{
    write_text(bench, "ring.txt", "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 0\n");
    json_auto_t *whole =
        run_plan(bench, ONE, "--graph ring.txt --batches 6 --repetitions 1 -d A=simulated:lab/TRUE --verify");
    const json_t *run = first_run(whole);
    g_assert_cmpstr(text_of(run, "title"), ==, "ring.txt");
    g_assert_cmpfloat(number(run, "case.sizes.nodes"), ==, 8);
    g_assert_cmpfloat(number(run, "case.sizes.edges"), ==, 8);
    const json_t *verification = json_object_get(json_object_get(run, "measurement"), "verification");
    if (g_str_equal(text_of(verification, "status"), "not-applicable"))
        g_test_message("not compared: %s", text_of(verification, "why"));
    else
        g_assert_cmpstr(text_of(verification, "status"), ==, "passed");
    json_auto_t *partitioned = run_plan(
        bench, ONE, "--graph ring.txt --partitions 2 --batches 6 --repetitions 1 -d A=simulated:lab/TRUE --verify");
    run = first_run(partitioned);
    g_assert_cmpfloat(number(run, "case.options.graphs.0.parts"), ==, 2);
    g_assert_cmpfloat(number(plan_reported(run), "repetitions.0.n_batches"), ==, 6);
    const json_t *of_parts = json_object_get(json_object_get(run, "measurement"), "verification");
    g_assert_cmpstr(text_of(of_parts, "status"), ==, text_of(verification, "status"));
}

/* Where a device fails the others go on by the plan for them, and nothing is compared with what was predicted of another.
 */
static void test_replan(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    write_text(bench, "chain.json", "[[[\"CPU\"],[1,2,3],[1]],[[\"GPU\"],[4,5,6,7],[1]]]");
    run_line(bench,
             "run ./small --plan chain.json --on-failure replan -d CPU=simulated:faulty/FAILS --size 10,20 "
             "--batches 12 --repetitions 2 -q --json run.json",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *json = load_json(bench, "run.json");
    const json_t *run = first_run(json), *reported = plan_reported(run);
    g_assert_cmpstr(text_of(json_array_get(json_object_get(reported, "repetitions"), 1), "plan"), ==, "GPU 1-7");
    g_assert_cmpfloat(number(reported, "repetitions.1.n_batches"), ==, 12);
    g_assert_nonnull(strstr(ended.out, "block 1 GPU 1-7"));
    g_assert_nonnull(strstr(ended.out, "status 7; from then on: GPU 1-7"));
    g_assert_nonnull(strstr(ended.out, "what was predicted is of another plan than ran"));
    g_assert_null(strstr(ended.out, "than predicted"));
    run_line(bench, "run ./small --plan chain.json -d CPU=simulated:faulty/FAILS --size 10,20 --batches 12 -q", &ended);
    assert_status(&ended, 1); /* without being asked, nothing is done about it */
    /* one that is not here at the start is planned without, and the prediction is of the plan that runs */
    run_line(bench,
             "run ./small --on-failure replan -d CPU=openvino:GPU.7 --size 10,20 --batches 12 --repetitions 1 -q "
             "--json gone.json",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *gone = load_json(bench, "gone.json");
    const json_t *left = first_run(gone);
    g_assert_nonnull(strstr(text_of(left, "plan_origin"), "without CPU: openvino:GPU.7: "));
    const char *ran = text_of(json_array_get(json_object_get(plan_reported(left), "repetitions"), 0), "plan");
    g_assert_true(g_str_has_prefix(ran, "GPU"));
    g_assert_null(strstr(ran, "CPU"));
    g_assert_nonnull(strstr(ended.out, "redict"));
    run_line(bench, "run ./small -d CPU=openvino:GPU.7 --size 10,20 --batches 12 -q", &ended);
    assert_status(&ended, 4);
}

/* A folder without a study takes the runs alone, again and again; one with results is the study's. Where the study does not
 * tell plans apart, pilots come first, and are announced with their time. */
static void test_folder(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small --runs 2 --warmup 1", &ended);
    assert_status(&ended, 0);
    gint64 before = query(bench, "small/store.db", "SELECT COUNT(*) FROM measurement");
    for (int again = 0; again < 2; again++)
    {
        run_line(bench, "run ./small -o runs --size 10,20 --batches 4 --repetitions 1 --json run.json", &ended);
        assert_status(&ended, 0);
        g_assert_nonnull(strstr(ended.err, "the study does not tell plans apart: pilots come first, about 8 s to 16 s"));
    }
    json_auto_t *json = load_json(bench, "run.json");
    g_assert_nonnull(json_object_get(json_object_get(first_run(json), "prediction"), "pilot"));
    g_assert_cmpint(query(bench, "runs/store.db", "SELECT COUNT(*) FROM measurement"), >, 0);
    g_assert_cmpint(query(bench, "small/store.db", "SELECT COUNT(*) FROM measurement"), ==, before);
    run_line(bench, "run ./small.yaml -o small --pilot 0 --size 10,20 --batches 4 --repetitions 1 -q --json run.json",
             &ended);
    assert_status(&ended, 0);
    g_assert_cmpint(query(bench, "small/store.db", "SELECT COUNT(*) FROM measurement"), >, before);
    json_auto_t *bare = load_json(bench, "run.json");
    g_assert_null(json_object_get(json_object_get(first_run(bare), "prediction"), "pilot"));
}

/* A device that fails ends the run, with what was seen until then. */
static void test_failure(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", CHAIN);
    run_line(bench, "run plan.json -q -o out -d B=simulated:faulty/FAILS --batches 10 --repetitions 1 --trace run.json",
             &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "status 7"));
    g_assert_nonnull(strstr(ended.err, "block 2: B"));
    g_assert_cmpint(query(bench, "out/store.db", "SELECT COUNT(*) FROM measurement WHERE outcome = 'failed'"), ==, 1);
    run_line(bench, "trace run.json", &ended); /* whose verdict is not to be trusted */
    assert_status(&ended, 0);
    if (strstr(ended.out, "this is not to be trusted") == NULL || strstr(ended.out, "it ended early: block 2: B") == NULL)
        g_error("%s", ended.out);
    assert_none_left(bench);
}

/* One whose device never answers is ended by the watchdog, which says who waited for whom. */
static void test_watchdog(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", CHAIN);
    run_line(bench, "run plan.json -q -o out -d B=simulated:faulty/HANGS --batches 10 --repetitions 1 --watchdog 1s",
             &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "no batch got on for 1.000 s: block 1: the queue to block 2 is full; block 2: B "
                                       "(simulated:faulty/HANGS) has had batch "));
    assert_none_left(bench);
}

static void test_bad(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *plan, *options;
        int status;
        const char *part;
    } known[] = {
        { PLAN("[[[\"A\"],[1,2,3],[1]],[[\"A\"],[4,5,6,7],[1]]]"), "", 3, "block 2: device 'A' is in block 1 already" },
        { PLAN("[[[\"A\"],[1,2,3],[1]],[[\"B\"],[5,6,7],[1]]]"), "", 3, "block 2" },
        { PLAN("[[[\"A\"],[1,2,3],[1]]]"), "", 3, "7 stages" },
        { PLAN("[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.6]]]"), "", 3, "block 1: its ratios add up to 1.1; 1 is expected" },
        { PLAN("[[[\"A\",\"C\"],[1,2,3,4,5,6,7],[0.5,0.5]]]"), "", 3, "C" },
        { PLAN("[]"), "", 3, "no blocks" },
        { "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]", "--size 10,20", 3, "nothing says what device \"A\" is: --device A=DEVICE" },
        { "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]", "-d A=simulated:lab/FIXED", 2, "needs --size NODES,EDGES or --graph FILE" },
        { ONE, "-d Z=simulated:lab/FIXED", 2, "no plan to be run has a device \"Z\"" },
        { ONE, "-d A=nonsense", 3, "device \"A\"" },
        { ONE, "--graph missing.txt", 4, "missing.txt" },
        { ONE, "--watchdog 0s", 2,
          "--watchdog 0s: a run in which nothing gets on would never end; a time above 0 is expected" },
        { ONE, "--size 200000000,5", 2, "--size 200000000,5: 200000000 nodes; a graph has 100000000 at most" },
        { ONE, "--size 5,400000001", 2, "--size 5,400000001: 400000001 edges; a graph has 400000000 at most" },
        { ONE, "--size 99999999999999999999999,5", 2, "a graph has 100000000 at most" },
        { ONE, "--size 0,5", 2, "--size: \"0,5\" is not NODES,EDGES, such as 5000,10000" },
        { ONE, "--on-failure replan", 2, "--on-failure replan needs STUDY" },
        { ONE, "--grid x", 2, "--grid: has no effect on a plan that is given" },
        { ONE, "--grid 0.5", 2, "--grid: has no effect on a plan that is given" },
        { ONE, "--power x", 2, "--power: has no effect on a plan that is given" },
        { ONE, "--use x", 2, "--use: has no effect on a plan that is given" },
        { ONE, "--objective latency", 2, "--objective: has no effect on a plan that is given" },
        { ONE, "--by mean", 2, "--by: has no effect on a plan that is given" },
        { "{\"plan\": ", "", 3, "plan.json:1" },
        { "{\"plan\": 7, \"model\": \"graphsage\"}", "", 3, "plan.json" },
        { "{\"plan\": [], \"model\": \"graphsag\"}", "", 3, "graphsage" },
    };
    g_auto(Ended) ended = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *line =
            g_strdup_printf("run plan.json -o out%s%s", *known[i].options != '\0' ? " " : "", known[i].options);
        write_text(bench, "plan.json", known[i].plan);
        run_line(bench, line, &ended);
        assert_complaint(&ended, known[i].status, known[i].part);
        g_assert_cmpstr(ended.out, ==, "");
    }
    g_autoptr(GString) deep = g_string_new(NULL);
    for (int i = 0; i < 10000; i++)
        g_string_append_c(deep, '[');
    write_text(bench, "plan.json", deep->str);
    run_line(bench, "run plan.json -o out", &ended);
    assert_complaint(&ended, 3, "plan.json:1");
    run_line(bench, "run missing.json -o out", &ended);
    assert_complaint(&ended, 4, "missing.json");
    g_assert_false(is_there(bench, "out/store.db")); /* nothing was begun */
}

/* Read from standard input, as a pipe from plan leaves it. */
static void test_pipe(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", ONE);
    run_shell(bench, "sh", "\"$INFEROMETER\" run --plan - -q -o out --batches 5 --repetitions 1 < plan.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "100 nodes, 300 edges"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/run/makespan", Bench, NULL, bench_init, test_makespan, bench_clear);
    g_test_add("/run/files", Bench, NULL, bench_init, test_files, bench_clear);
    g_test_add("/run/study", Bench, NULL, bench_init, test_study, bench_clear);
    g_test_add("/run/pilot", Bench, NULL, bench_init, test_pilot, bench_clear);
    g_test_add("/run/diff", Bench, NULL, bench_init, test_diff, bench_clear);
    g_test_add("/run/parts", Bench, NULL, bench_init, test_parts, bench_clear);
    g_test_add("/run/held", Bench, NULL, bench_init, test_held, bench_clear);
    g_test_add("/run/table", Bench, NULL, bench_init, test_table, bench_clear);
    g_test_add("/run/bare", Bench, NULL, bench_init, test_bare, bench_clear);
    g_test_add("/run/refused", Bench, NULL, bench_init, test_refused, bench_clear);
    g_test_add("/run/bound", Bench, NULL, bench_init, test_bound, bench_clear);
    g_test_add("/run/device-time", Bench, NULL, bench_init, test_device_time, bench_clear);
    g_test_add("/run/interval", Bench, NULL, bench_init, test_interval, bench_clear);
    g_test_add("/run/graph", Bench, NULL, bench_init, test_graph, bench_clear);
    g_test_add("/run/replan", Bench, NULL, bench_init, test_replan, bench_clear);
    g_test_add("/run/folder", Bench, NULL, bench_init, test_folder, bench_clear);
    g_test_add("/run/failure", Bench, NULL, bench_init, test_failure, bench_clear);
    g_test_add("/run/watchdog", Bench, NULL, bench_init, test_watchdog, bench_clear);
    g_test_add("/run/bad", Bench, NULL, bench_init, test_bad, bench_clear);
    g_test_add("/run/pipe", Bench, NULL, bench_init, test_pipe, bench_clear);
    return g_test_run();
}
