#include <math.h>
#include <string.h>

#include <document/document.h>
#include <profile/profile.h>
#include <store/store.h>

#include "document/document-check.h"
#include "document/golden.h"

/*
 * Matrix products of m rows: 2 * 64 * 64 m FLOP. One device takes 1 ms and 1 ns for each 8 FLOP (8 GFLOP/s); the other
 * fails where m = 64 and is not tried where m = 32. Of m = 128 there is no model.
 */

#define N 5
static const char *const values[N + 1] = { "8", "16", "32", "64", "128", NULL };
static const int sizes[N] = { 8, 16, 32, 64, 128 };
#define N_MODELS 4

typedef struct
{
    IfmModel *models[N_MODELS];
    IfmAnalysis *analyses[N_MODELS];
    IfmCase *cases[N_MODELS][2];
    IfmMeasurement *measurements[N_MODELS][2];
    IfmProfileDevice devices[N_MODELS][2];
    IfmProfileReport reports[N];
    const char *refusals[N];
    IfmScalingRow row;
} Fixture;

static double flop_of(int m)
{
    return 2.0 * 64 * 64 * m;
}

static IfmCase *make_case(const char *device, int m)
{
    IfmCase *made = ifm_case_new();
    ifm_record_set_text(&made->subject_kind, "model");
    ifm_record_set_text(&made->subject_name, "matmul");
    ifm_record_set_text(&made->device, device);
    ifm_record_set_json(&made->sizes, json_pack("{s:i}", "m", m));
    ifm_case_seal(made);
    return made;
}

/* One run of 0.1 ms, which bounds nothing. */
static void set_one_run(IfmMeasurement *measurement)
{
    measurement->summary.n = 1;
    measurement->summary.median = 1e5;
    measurement->summary.median_interval = (IfmInterval){ NAN, NAN, NAN };
    measurement->has_summary = TRUE;
}

static IfmMeasurement *make_measurement(const IfmCase *of, double median_ns)
{
    IfmMeasurement *made = ifm_measurement_new();
    ifm_record_set_text(&made->uid, "uid");
    ifm_record_set_text(&made->case_key, of->key);
    ifm_record_set_json(&made->environment, json_pack("{s:[s]}", "warnings", "a debug build"));
    if (isnan(median_ns))
    {
        made->outcome = IFM_OUTCOME_FAILED;
        ifm_record_set_text(&made->error_code, "memory");
        ifm_record_set_text(&made->reason, "out of memory");
        return made;
    }
    made->has_summary = TRUE;
    made->summary.n = 50;
    made->summary.median = median_ns;
    made->summary.median_interval = (IfmInterval){ 0.99 * median_ns, 1.01 * median_ns, 0.95 };
    ifm_record_set_json(&made->memory, json_pack("{s:{s:i}}", "process", "growth_runs_bytes", 1 << 20));
    return made;
}

static void set_up(Fixture *fixture, gconstpointer data)
{
    static const char *const devices[] = { "simulated:lab/FIRST", "simulated:lab/SECOND" };
    for (int i = 0; i < N_MODELS; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *m = g_strdup_printf("m=%d", sizes[i]);
        fixture->models[i] = ifm_zoo_build("matmul", (const char *[]){ m, "k=64", "n=64", NULL }, 1, &error);
        g_assert_no_error(error);
        fixture->analyses[i] = ifm_model_analyse(fixture->models[i], NULL, 0, &error);
        g_assert_no_error(error);
        for (int d = 0; d < 2; d++)
        {
            double time_ns = d == 0 ? 1e6 + flop_of(sizes[i]) / 8 : i == 3 ? (double)NAN : 500.0 * sizes[i];
            fixture->cases[i][d] = make_case(devices[d], sizes[i]);
            fixture->measurements[i][d] = make_measurement(fixture->cases[i][d], time_ns);
            fixture->devices[i][d].result = (IfmResult){ .device = devices[d],
                                                         .alias = d == 1 ? "CPU" : NULL,
                                                         .subject_case = fixture->cases[i][d],
                                                         .measurement = fixture->measurements[i][d] };
        }
        fixture->reports[i] = (IfmProfileReport){ .parts = IFM_PROFILE_RUNTIME,
                                                  .model = fixture->models[i],
                                                  .analysis = fixture->analyses[i],
                                                  .devices = fixture->devices[i],
                                                  .n_devices = i == 2 ? 1 : 2 };
    }
    fixture->refusals[4] = "m=128 is above what fits";
    fixture->row = (IfmScalingRow){ .axis = "m",
                                    .help = "rows of the left matrix",
                                    .values = values,
                                    .refusals = fixture->refusals,
                                    .reports = fixture->reports,
                                    .n = N };
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < N_MODELS; i++)
    {
        ifm_model_unref(fixture->models[i]);
        ifm_analysis_free(fixture->analyses[i]);
        for (int d = 0; d < 2; d++)
        {
            ifm_case_free(fixture->cases[i][d]);
            ifm_measurement_free(fixture->measurements[i][d]);
        }
    }
}

static void test_screen(Fixture *fixture, gconstpointer data)
{
    g_autofree char *page =
        ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("scaling.txt", page);
    g_assert_null(strchr(page, '\033'));
    g_autofree char *narrow =
        ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 60, .utf8 = FALSE });
    check_golden("scaling-narrow-ascii.txt", narrow);
    g_assert_true(g_str_is_ascii(narrow));
    g_auto(GStrv) lines = g_strsplit(narrow, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        g_assert_cmpint(ifm_text_width(*line), <=, 60);
    g_autofree char *coloured = ifm_document_show(ifm_scaling_document(&fixture->row, 1),
                                                  &(IfmScreen){ .width = 100, .utf8 = TRUE, .colour = TRUE });
    g_assert_nonnull(strchr(coloured, '\033'));
}

/* The plot's points are data: as measured, and as the FLOP alone predict. */
static void test_document(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmDocument) document = ifm_scaling_document(&fixture->row, 1);
    const IfmFigure *time = &check_document(document, "time-1")->figure;
    g_assert_true(time->x.logarithmic && time->y.logarithmic);
    g_assert_cmpstr(time->x.title, ==, fixture->row.axis);
    const IfmSeries *measured = time->series->pdata[0], *predicted = time->series->pdata[1];
    g_assert_cmpstr(measured->name, ==, "measured");
    g_assert_cmpuint(measured->points->len, ==, N);
    double per_flop_ns = g_array_index(predicted->points, IfmPoint, 0).y / flop_of(sizes[0]);
    for (guint i = 0; i < N; i++)
    {
        const IfmPoint *point = &g_array_index(measured->points, IfmPoint, i);
        g_assert_cmpfloat(point->x, ==, sizes[i]);
        g_assert_cmpstr(point->label, ==, values[i]);
        g_assert_false(point->y > point->upper || point->y < point->lower);
        double predicted_ns = g_array_index(predicted->points, IfmPoint, i).y;
        g_assert_cmpint(isnan(point->y), ==, isnan(predicted_ns));
        if (!isnan(point->y)) /* one rate for all */
            g_assert_cmpfloat_with_epsilon(predicted_ns / flop_of(sizes[i]), per_flop_ns, 1e-9 * per_flop_ns);
    }
    g_assert_cmpuint(check_document(document, "points-1")->table.n_records, ==, N);
}

static double number_at(const json_t *json, const char *key)
{
    const json_t *found = json_object_get(json, key);
    g_assert_true(json_is_number(found));
    return json_number_value(found);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        g_error("%.17g is not within %g of %.17g", value, tolerance, expected);
}

/* Every figure of the first device, computed anew. */
static void check_first(const json_t *device)
{
    const json_t *points = json_object_get(device, "points"), *fits = json_object_get(device, "fits");
    double best = 8 * flop_of(64) / (8e6 + flop_of(64)) / 1.01; /* FLOP per ns, of the largest at least */
    g_assert_cmpstr(json_string_value(json_object_get(device, "device")), ==, "simulated:lab/FIRST");
    g_assert_true(json_is_null(json_object_get(device, "alias")));
    g_assert_cmpuint(json_array_size(points), ==, N);
    for (size_t i = 0; i < N_MODELS; i++)
    {
        const json_t *point = json_array_get(points, i);
        double flop = flop_of(sizes[i]), time_ns = 1e6 + flop / 8;
        g_assert_cmpstr(json_string_value(json_object_get(point, "axis")), ==, "m");
        g_assert_cmpstr(json_string_value(json_object_get(point, "value")), ==, values[i]);
        g_assert_cmpfloat(number_at(point, "flop"), ==, flop);
        g_assert_cmpfloat(number_at(point, "median_ns"), ==, time_ns);
        assert_near(number_at(point, "flop_per_s"), 1e9 * flop / time_ns, 1);
        assert_near(number_at(point, "departure_ratio"), time_ns * best / flop, 1e-12 * time_ns);
        g_assert_cmpint(json_is_true(json_object_get(point, "departs")), ==, i < 3);
        g_assert_cmpfloat(number_at(point, "process_bytes"), ==, 1 << 20);
        /* x [m, 64], y [m, 64] and the weight [64, 64], all f32 */
        g_assert_cmpfloat(number_at(point, "model_bytes"), ==, 4.0 * (2 * 64 * sizes[i] + 64 * 64));
        g_assert_true(json_is_null(json_object_get(point, "reason")));
        g_assert_cmpuint(strlen(json_string_value(json_object_get(point, "case_key"))), >, 8);
    }
    const json_t *refused = json_array_get(points, 4);
    g_assert_cmpstr(json_string_value(json_object_get(refused, "reason")), ==, "m=128 is above what fits");
    g_assert_true(json_is_null(json_object_get(refused, "median_ns")));
    assert_near(number_at(json_object_get(fits, "flop"), "exponent"), 1, 1e-12);
    double last = log((1e6 + flop_of(64) / 8) / (1e6 + flop_of(32) / 8)) / log(2);
    assert_near(number_at(json_object_get(fits, "time"), "last"), last, 1e-12);
    const json_t *interval = json_object_get(json_object_get(fits, "time"), "last_interval");
    assert_near(number_at(interval, "upper"), last + hypot(log(1.01), log(1 / 0.99)) / log(2), 1e-12);
    g_assert_true(json_is_null(json_object_get(json_object_get(fits, "flop"), "last_interval")));
    assert_near(number_at(device, "max_flop_per_s"), 1e9 * best, 1);
}

static void test_json(Fixture *fixture, gconstpointer data)
{
    json_auto_t *json = ifm_scaling_add_json(NULL, &fixture->row, 1);
    const json_t *rows = json_object_get(json, "scaling"), *row = json_array_get(rows, 0);
    const json_t *devices = json_object_get(row, "devices");
    g_assert_cmpstr(json_string_value(json_object_get(json_object_get(json, "inferometer"), "format")), ==, "cases");
    g_assert_cmpuint(json_array_size(rows), ==, 1);
    g_assert_cmpstr(json_string_value(json_object_get(row, "axis")), ==, "m");
    g_assert_cmpuint(json_array_size(json_object_get(row, "values")), ==, N);
    g_assert_cmpuint(json_array_size(devices), ==, 2);
    check_first(json_array_get(devices, 0));
    const json_t *second = json_array_get(devices, 1), *points = json_object_get(second, "points");
    g_assert_cmpstr(json_string_value(json_object_get(second, "alias")), ==, "CPU");
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(points, 2), "reason")), ==, "not measured");
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(points, 3), "reason")), ==, "out of memory");
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(points, 3), "error_code")), ==, "memory");
    g_assert_true(json_is_null(json_object_get(json_object_get(second, "fits"), "time")));
    g_assert_cmpstr(json_string_value(json_object_get(second, "why")), ==, "2 points have a time: 3 are needed");
    assert_near(number_at(json_object_get(json_object_get(second, "fits"), "flop"), "exponent"), 1, 1e-12);
    g_assert_cmpuint(json_array_size(json_object_get(json, "cases")), ==, 7); /* what was tried */
    /* Into a document that there is already: its own keys and cases stay, and stand first. */
    json_t *profile = json_pack("{s:s,s:[s]}", "model_info", "x", "cases", "first");
    json_auto_t *both = ifm_scaling_add_json(profile, &fixture->row, 1);
    g_assert_true(both == profile);
    g_assert_cmpuint(json_array_size(json_object_get(both, "cases")), ==, 8);
    g_assert_cmpstr(json_string_value(json_array_get(json_object_get(both, "cases"), 0)), ==, "first");
    g_assert_nonnull(json_object_get(both, "scaling"));
}

static void test_csv(Fixture *fixture, gconstpointer data)
{
    const IfmScalingRow rows[] = { fixture->row, fixture->row };
    g_autofree char *csv = ifm_scaling_to_csv(rows, 2);
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1 + 2 * 2 * N + 1);
    g_assert_true(g_str_has_prefix(lines[0], "axis,value,device,alias,error_code,reason,median_ns,"));
    g_assert_true(g_str_has_prefix(lines[1], "m,8,simulated:lab/FIRST,,,,1008192,"));
    g_assert_true(
        g_str_has_prefix(lines[9], "m,64,simulated:lab/SECOND,CPU,memory,out of memory,,,,,,,,0,,,false,524288,,"));
    g_assert_cmpstr(lines[1], ==, lines[11]);
}

/* Of a time without an interval nothing is said of whether it departs, nor does the exponent stand on it. */
static void test_bare(Fixture *fixture, gconstpointer data)
{
    IfmMeasurement *bare = fixture->measurements[0][0];
    set_one_run(bare);
    json_auto_t *json = ifm_scaling_add_json(NULL, &fixture->row, 1);
    const json_t *devices = json_object_get(json_array_get(json_object_get(json, "scaling"), 0), "devices");
    const json_t *device = json_array_get(devices, 0), *points = json_object_get(device, "points");
    g_assert_true(json_is_null(json_object_get(json_array_get(points, 0), "departs")));
    g_assert_true(json_is_true(json_object_get(json_array_get(points, 1), "departs")));
    g_assert_true(json_is_false(json_object_get(json_array_get(points, 3), "departs")));
    g_assert_cmpfloat(number_at(json_object_get(json_object_get(device, "fits"), "time"), "n"), ==, 3);
    g_assert_cmpfloat(number_at(device, "n_without_interval"), ==, 1);
    g_assert_true(json_is_false(json_object_get(device, "without_interval_fitted")));
    g_autofree char *page =
        ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 120, .utf8 = TRUE });
    g_assert_true(g_regex_match_simple("\n +8 .* not known ", page, 0, 0));
    g_assert_nonnull(strstr(page, "; without one that is not known\n"));
    g_assert_nonnull(strstr(page, "\ntime: no interval at m 8: left out of the exponent\n"));
    bare = fixture->measurements[1][0];
    set_one_run(bare);
    g_autofree char *two =
        ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 120, .utf8 = TRUE });
    g_assert_nonnull(strstr(two, "\ntime: no interval at m 8, 16: in the exponent all the same"));
    for (int i = 2; i < N_MODELS; i++)
        set_one_run(fixture->measurements[i][0]);
    g_autofree char *none =
        ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 120, .utf8 = TRUE });
    g_assert_nonnull(strstr(none, "\nx FLOP: not known: no point's time has an interval\n"));
}

/* Without a device there are the models. */
static void test_models_alone(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < N_MODELS; i++)
        fixture->reports[i].n_devices = 0;
    json_auto_t *json = ifm_scaling_add_json(NULL, &fixture->row, 1);
    const json_t *devices = json_object_get(json_array_get(json_object_get(json, "scaling"), 0), "devices");
    g_assert_cmpuint(json_array_size(devices), ==, 1);
    const json_t *only = json_array_get(devices, 0);
    g_assert_true(json_is_null(json_object_get(only, "device")));
    assert_near(number_at(json_object_get(json_object_get(only, "fits"), "flop"), "exponent"), 1, 1e-12);
    g_autofree char *page = ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 100 });
    g_assert_null(strstr(page, "not measured"));
    g_assert_null(strstr(page, "logarithmic"));
}

/* --- passes ----------------------------------------------------------------------------------------------------------- */

/* Trained: the fixture's points as training passes, each with a forward pass on the first device: half as long; at the
 * smallest so long that the difference may be nothing; at the largest it failed. */
typedef struct
{
    IfmMeasurement *measurements[N_MODELS];
    IfmProfileDevice devices[N_MODELS];
    IfmProfileReport reports[N_MODELS];
    IfmProfileMode modes[N_MODELS];
} Trained;

static double forward_ns(int i)
{
    double whole = 1e6 + flop_of(sizes[i]) / 8;
    return i == 0 ? 0.999 * whole : i == 3 ? (double)NAN : whole / 2;
}

static void train(Fixture *fixture, Trained *trained)
{
    for (int i = 0; i < N_MODELS; i++)
    {
        trained->measurements[i] = make_measurement(fixture->cases[i][0], forward_ns(i));
        trained->devices[i] = fixture->devices[i][0];
        trained->devices[i].result.measurement = trained->measurements[i];
        trained->reports[i] = fixture->reports[i];
        trained->reports[i].devices = &trained->devices[i];
        trained->reports[i].n_devices = fixture->reports[i].n_devices = 1;
        trained->modes[i] = (IfmProfileMode){ .asked = IFM_PASS_TRAINING, .loss = "mse" };
        trained->modes[i].passes[IFM_PASS_FORWARD] = &trained->reports[i];
        trained->modes[i].passes[IFM_PASS_TRAINING] = &fixture->reports[i];
        fixture->reports[i].mode = &trained->modes[i];
    }
}

static const json_t *find_pass(const json_t *device, const char *pass)
{
    const json_t *found;
    size_t i;
    json_array_foreach(json_object_get(device, "passes"), i, found)
    {
        if (g_strcmp0(json_string_value(json_object_get(found, "pass")), pass) == 0)
            return found;
    }
    g_error("no pass %s", pass);
}

static const json_t *point_at(const json_t *pass, size_t i)
{
    return json_array_get(json_object_get(pass, "points"), i);
}

static void check_backward(const json_t *device)
{
    const json_t *backward = find_pass(device, "backward");
    for (int i = 0; i < 3; i++)
    {
        const json_t *point = point_at(backward, (size_t)i);
        double whole = 1e6 + flop_of(sizes[i]) / 8, difference = whole - forward_ns(i);
        double reach = hypot(0.01 * whole, 0.01 * forward_ns(i));
        g_assert_cmpstr(json_string_value(json_object_get(point, "pass")), ==, "backward");
        assert_near(number_at(point, "median_ns"), difference, 1e-6);
        assert_near(number_at(point, "median_lower_ns"), difference - reach, 1e-6);
        assert_near(number_at(point, "median_upper_ns"), difference + reach, 1e-6);
        g_assert_true(json_is_null(json_object_get(point, "case_key")));
    }
    g_assert_true(json_is_null(json_object_get(point_at(backward, 3), "median_ns")));
    g_assert_cmpstr(json_string_value(json_object_get(point_at(backward, 3), "reason")), ==,
                    "forward or training pass has no time");
}

/* All passes at each point, whichever was asked for. */
static void test_passes(Fixture *fixture, gconstpointer data)
{
    Trained trained = { 0 };
    train(fixture, &trained);
    json_auto_t *json = ifm_scaling_add_json(NULL, &fixture->row, 1);
    const json_t *row = json_array_get(json_object_get(json, "scaling"), 0);
    const json_t *device = json_array_get(json_object_get(row, "devices"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(row, "pass")), ==, "training_pass");
    g_assert_cmpuint(json_array_size(json_object_get(device, "passes")), ==, 3);
    check_backward(device);
    const json_t *forward = find_pass(device, "forward"), *asked = find_pass(device, "training_pass");
    g_assert_cmpfloat(number_at(point_at(forward, 1), "median_ns"), ==, forward_ns(1));
    g_assert_cmpstr(json_string_value(json_object_get(point_at(forward, 3), "error_code")), ==, "memory");
    g_assert_true(json_equal(json_object_get(asked, "points"), json_object_get(device, "points")));
    g_assert_true(json_equal(json_object_get(json_object_get(asked, "fits"), "time"),
                             json_object_get(json_object_get(device, "fits"), "time")));
    assert_near(number_at(json_object_get(json_object_get(forward, "fits"), "time"), "last"),
                log(forward_ns(2) / forward_ns(1)) / log(2), 1e-12);
    g_assert_cmpuint(json_array_size(json_object_get(json, "cases")), ==, 2 * N_MODELS);
    g_autofree char *csv = ifm_scaling_to_csv(&fixture->row, 1);
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1 + 3 * N + 1);
    g_assert_nonnull(strstr(lines[1], ",forward,"));
    g_assert_nonnull(strstr(lines[1 + N], ",backward,"));
    g_assert_nonnull(strstr(lines[1 + 2 * N], ",training_pass,"));
    g_autofree char *page =
        ifm_document_show(ifm_scaling_document(&fixture->row, 1), &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("scaling-passes.txt", page);
    g_auto(GStrv) reported = g_strsplit(page, "\n", -1);
    for (char **line = reported; *line != NULL; line++)
        g_assert_cmpint(ifm_text_width(*line), <=, 100);
    for (int i = 0; i < N_MODELS; i++)
        ifm_measurement_free(trained.measurements[i]);
}

/* What an encoding took is told of one that was measured well, and of no other. */
static void test_encoding_cost(Fixture *fixture, gconstpointer data)
{
    const IfmTransformer transformer = IFM_TRANSFORMER_INIT;
    IfmProfileGraph graphs[2];
    IfmMeasurement *costs[2];
    for (int i = 0; i < 2; i++)
    {
        costs[i] = make_measurement(fixture->cases[i][0], 7000);
        graphs[i] = (IfmProfileGraph){ .title = "gps",
                                       .transformer = &transformer,
                                       .encoding_name = "lap:4",
                                       .encoding_case = fixture->cases[i][0],
                                       .encoding_cost = costs[i] };
        fixture->reports[i].graph = &graphs[i];
    }
    costs[1]->outcome = IFM_OUTCOME_FAILED;
    json_auto_t *json = ifm_scaling_add_json(NULL, &fixture->row, 1);
    const json_t *row = json_array_get(json_object_get(json, "scaling"), 0);
    const json_t *points = json_object_get(json_array_get(json_object_get(row, "devices"), 0), "points");
    g_assert_cmpfloat(number_at(json_array_get(points, 0), "encoding_ns"), ==, 7000);
    g_assert_true(json_is_null(json_object_get(json_array_get(points, 1), "encoding_ns")));
    for (int i = 0; i < 2; i++)
        ifm_measurement_free(costs[i]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/scaling-page/screen", Fixture, NULL, set_up, test_screen, tear_down);
    g_test_add("/scaling-page/document", Fixture, NULL, set_up, test_document, tear_down);
    g_test_add("/scaling-page/json", Fixture, NULL, set_up, test_json, tear_down);
    g_test_add("/scaling-page/csv", Fixture, NULL, set_up, test_csv, tear_down);
    g_test_add("/scaling-page/bare", Fixture, NULL, set_up, test_bare, tear_down);
    g_test_add("/scaling-page/models-alone", Fixture, NULL, set_up, test_models_alone, tear_down);
    g_test_add("/scaling-page/passes", Fixture, NULL, set_up, test_passes, tear_down);
    g_test_add("/scaling-page/encoding-cost", Fixture, NULL, set_up, test_encoding_cost, tear_down);
    return g_test_run();
}
