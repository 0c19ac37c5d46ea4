#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <base/fields.h>

#include "document/golden.h"
#include "document/study-tables.h"
#include "study/study-pages.h"

static double number(const json_t *json, const char *key)
{
    const json_t *found = json_object_get(json, key);
    g_assert_true(json_is_number(found));
    return json_number_value(found);
}

static void check_null(const json_t *json, const char *key)
{
    g_assert_true(json_is_null(json_object_get(json, key)));
}

/* How many keys a published reader takes: those of four words parted by commas. */
static guint count_rows(const json_t *json)
{
    guint n = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json, key, value)
    {
        g_auto(GStrv) words = g_strsplit(key, ",", -1);
        n += g_strv_length(words) == 4;
        if (g_strv_length(words) != 4)
            g_assert_cmpstr(key, ==, "_metadata");
    }
    return n;
}

static void test_lookup(Fixture *fixture, gconstpointer data)
{
    json_auto_t *json = ifm_study_lookup_json(fixture->tables);
    g_assert_cmpuint(count_rows(json), ==, 28 + 27 + 15);
    const json_t *row = json_object_get(json, "1000,3000,CPU,1");
    double bytes = 1000 * 2000 + 3000 * 16, total_ns = 100000 + bytes / 4;
    g_assert_cmpfloat(number(row, "total_time_ms"), ==, total_ns / 1e6);
    g_assert_cmpfloat(number(row, "transfer_time_ms"), ==, bytes / 4 / 1e6);
    g_assert_cmpfloat(number(row, "compute_time_ms"), ==, 0.1);
    g_assert_cmpfloat_with_epsilon(number(row, "std_ms"), sqrt(13.0) / 1000, 1e-15);
    g_assert_cmpfloat(number(row, "mean_time_ms"), ==, (total_ns + 1000) / 1e6);
    g_assert_cmpfloat(number(row, "interval_lower_ms"), ==, (total_ns - 2000) / 1e6);
    g_assert_cmpstr(json_string_value(json_object_get(row, "origin")), ==, "measured");
    check_null(row, "split_why");
    const json_t *simulated = json_object_get(json, "1000,3000,NPU,1");
    g_assert_cmpstr(json_string_value(json_object_get(simulated, "origin")), ==, "simulated");
    const json_t *unsplit = json_object_get(json, "1000,1000,CPU,2");
    check_null(unsplit, "compute_time_ms");
    check_null(unsplit, "transfer_time_ms");
    g_assert_cmpstr(json_string_value(json_object_get(unsplit, "split_why")), ==, "compute would be negative");
}

/* Nothing without a latency is a row of the table; what was tried is listed with its reason, and an absent device once. */
static void test_lookup_metadata(Fixture *fixture, gconstpointer data)
{
    json_auto_t *json = ifm_study_lookup_json(fixture->tables);
    const json_t *about = json_object_get(json, "_metadata"), *failed = json_object_get(about, "failed");
    g_assert_null(json_object_get(json, "1000,1000,NPU,3"));
    g_assert_cmpuint(json_object_size(failed), ==, 1 + 6 + 7);
    const json_t *refused = json_object_get(failed, "1000,1000,NPU,3"), *lost = json_object_get(failed, "2000,5000,NPU,3");
    g_assert_cmpstr(json_string_value(json_object_get(refused, "outcome")), ==, "failed");
    g_assert_cmpstr(json_string_value(json_object_get(refused, "error_code")), ==, "unsupported");
    g_assert_cmpstr(json_string_value(json_object_get(lost, "outcome")), ==, "skipped");
    const json_t *devices = json_object_get(about, "devices"), *gpu = json_object_get(devices, "GPU");
    g_assert_cmpuint(json_object_size(devices), ==, 4);
    g_assert_cmpstr(json_string_value(json_object_get(gpu, "skipped")), ==, "openvino:GPU: no such device here");
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(gpu, "cases"), "skipped")), ==, 28);
    const json_t *npu = json_object_get(devices, "NPU"), *cpu = json_object_get(devices, "CPU");
    g_assert_true(json_is_true(json_object_get(npu, "simulated")));
    g_assert_true(json_is_false(json_object_get(cpu, "simulated")));
    g_assert_cmpstr(json_string_value(json_object_get(npu, "device")), ==, "simulated:meteor-lake/NPU");
    g_assert_cmpstr(json_string_value(json_object_get(cpu, "runtime_version")), ==, "2025.3");
    const json_t *miss = json_object_get(json_object_get(about, "leave_one_out"), "CPU_stage3");
    g_assert_cmpfloat(number(miss, "median_ratio"), ==, 0.03);
    g_assert_cmpint(json_integer_value(json_object_get(miss, "n_extrapolated")), ==, 3);
    g_assert_null(json_object_get(json_object_get(about, "leave_one_out"), "NPU_stage3"));
}

static void test_bandwidth(Fixture *fixture, gconstpointer data)
{
    json_auto_t *json = ifm_study_bandwidth_json(fixture->tables);
    const json_t *about = json_object_get(json, "_metadata"), *fits = json_object_get(about, "fits");
    g_assert_cmpuint(json_object_size(json), ==, 15); /* what is not known is left out: readers stop at a null */
    g_assert_cmpuint(json_object_size(fits), ==, 4 * 7);
    g_assert_cmpfloat(number(json, "CPU_stage1"), ==, 4e9 / 1048576); /* a quarter ns a byte */
    g_assert_cmpfloat(number(json, "NPU_stage1"), ==, 8e9 / 1048576);
    g_assert_null(json_object_get(json, "CPU_stage4"));
    g_assert_null(json_object_get(json, "CPU_stage7"));
    g_assert_null(json_object_get(json, "GPU_stage1"));
    g_assert_null(json_object_get(json, "NPU_stage3"));
    const json_t *fit = json_object_get(fits, "CPU_stage4");
    g_assert_true(json_is_false(json_object_get(fit, "identifiable")));
    g_assert_cmpstr(json_string_value(json_object_get(fit, "why")), ==, "the interval of the slope spans 0");
    g_assert_cmpfloat_with_epsilon(number(fit, "slope_lower_ms_per_mb"), -0.25 * 1.048576, 1e-12);
    g_assert_cmpfloat(number(fit, "r_squared"), ==, 0.9876);
    check_null(fit, "mb_per_s_lower");
    g_assert_cmpint(json_integer_value(json_object_get(fit, "n_split")), ==, 0);
    g_assert_cmpint(
        json_integer_value(json_object_get(json_object_get(fit, "not_split"), "the bandwidth is not identifiable")), ==, 4);
    const json_t *good = json_object_get(fits, "CPU_stage1"), *none = json_object_get(fits, "NPU_stage3");
    g_assert_cmpfloat_with_epsilon(number(good, "mb_per_s_upper"), 1e9 / (0.25 * 7 / 8) / 1048576, 1e-9);
    g_assert_cmpfloat(number(good, "intercept_ms"), ==, 0.1);
    check_null(good, "why");
    check_null(none, "slope_ms_per_mb");
    g_assert_cmpstr(json_string_value(json_object_get(none, "why")), ==, "0 sizes with a latency, of 3 at least");
}

static void test_links(Fixture *fixture, gconstpointer data)
{
    json_auto_t *json = ifm_study_bandwidth_json(fixture->tables);
    const json_t *links = json_object_get(json_object_get(json, "_metadata"), "links");
    g_assert_cmpuint(json_array_size(links), ==, 3);
    const json_t *shared = json_array_get(links, 0), *assumed = json_array_get(links, 1),
                 *unfitted = json_array_get(links, 2);
    g_assert_true(json_is_true(json_object_get(shared, "shared")));
    g_assert_true(json_is_false(json_object_get(shared, "simulated")));
    g_assert_true(json_is_true(json_object_get(assumed, "assumed")));
    g_assert_true(json_is_true(json_object_get(assumed, "simulated")));
    g_assert_cmpfloat(number(shared, "fixed_ms"), ==, 0.02);
    g_assert_cmpfloat(number(shared, "mb_per_s"), ==, 8e9 / 1048576);
    check_null(unfitted, "mb_per_s");
    check_null(unfitted, "fixed_ms");
    g_assert_cmpstr(json_string_value(json_object_get(unfitted, "why")), ==, "2 sizes, of 3 at least");
    const json_t *point = json_array_get(json_object_get(shared, "points"), 2);
    g_assert_cmpint(json_integer_value(json_object_get(point, "bytes")), ==, 3000000);
    g_assert_cmpfloat(number(point, "median_ms"), ==, 0.395);
}

static void test_raw(Fixture *fixture, gconstpointer data)
{
    json_auto_t *all = ifm_study_raw_json(fixture->tables, 0), *first = ifm_study_raw_json(fixture->tables, 1),
                *second = ifm_study_raw_json(fixture->tables, 2);
    g_assert_cmpuint(count_rows(all), ==, 84); /* what GPU would have measured is no row */
    g_assert_cmpuint(count_rows(first), ==, 56);
    g_assert_cmpuint(count_rows(second), ==, 28);
    g_assert_null(json_object_get(first, "1000,1000,NPU,1"));
    const json_t *row = json_object_get(all, "2000,5000,CPU,3"), *failed = json_object_get(all, "1000,3000,ORT,6");
    double total_ns = 300000 + (5000 * 1024 + 5000 * 16) / 4.0;
    g_assert_cmpfloat(number(row, "median"), ==, total_ns / 1e6);
    g_assert_cmpfloat(number(row, "mean"), ==, (total_ns + 1000) / 1e6);
    g_assert_cmpfloat(number(row, "max"), ==, (total_ns + 5000) / 1e6);
    g_assert_cmpint(json_integer_value(json_object_get(row, "data_bytes")), ==, 5000 * 1024 + 5000 * 16);
    g_assert_cmpint(json_integer_value(json_object_get(row, "n")), ==, 3);
    const json_t *samples = json_object_get(row, "samples_ms"); /* in the order taken */
    g_assert_cmpuint(json_array_size(samples), ==, 3);
    g_assert_cmpfloat(json_real_value(json_array_get(samples, 1)), ==, (total_ns + 5000) / 1e6);
    g_assert_true(json_is_true(json_object_get(failed, "failed")));
    g_assert_cmpstr(json_string_value(json_object_get(failed, "reason")), ==, "no answer within 60 s");
    g_assert_null(json_object_get(failed, "mean"));
    g_assert_null(json_object_get(failed, "median"));
}

/* What is not measured yet is neither a row nor a failure. */
static void test_unfinished(Fixture *fixture, gconstpointer data)
{
    IfmStudyRow *row = fixture->tables->rows->pdata[0];
    g_clear_pointer(&row->measurement, ifm_measurement_free);
    row->reason = g_strdup("not measured yet");
    json_auto_t *raw = ifm_study_raw_json(fixture->tables, 0), *lookup = ifm_study_lookup_json(fixture->tables);
    const json_t *about = json_object_get(lookup, "_metadata");
    g_assert_null(json_object_get(raw, "1000,1000,CPU,1"));
    g_assert_null(json_object_get(lookup, "1000,1000,CPU,1"));
    g_assert_null(json_object_get(json_object_get(about, "failed"), "1000,1000,CPU,1"));
    const json_t *cases = json_object_get(json_object_get(json_object_get(about, "devices"), "CPU"), "cases");
    g_assert_cmpint(json_integer_value(json_object_get(cases, "left")), ==, 1);
    g_assert_cmpint(json_integer_value(json_object_get(cases, "measured")), ==, 27);
}

/* Of an imported table there is no sample and no interval, and what failed in it is a failure. */
static void test_imported(Fixture *fixture, gconstpointer data)
{
    tables_import(fixture->tables);
    json_auto_t *lookup = ifm_study_lookup_json(fixture->tables), *raw = ifm_study_raw_json(fixture->tables, 0);
    const json_t *row = json_object_get(lookup, "1000,1000,CPU,1");
    g_assert_cmpstr(json_string_value(json_object_get(row, "origin")), ==, "imported");
    check_null(row, "mean_time_ms");
    check_null(row, "interval_lower_ms");
    g_assert_cmpint(json_integer_value(json_object_get(row, "n")), ==, 0);
    const json_t *raw_row = json_object_get(raw, "1000,1000,CPU,1"), *failed = json_object_get(raw, "1000,1000,NPU,3");
    g_assert_cmpuint(json_array_size(json_object_get(raw_row, "samples_ms")), ==, 0);
    g_assert_cmpstr(json_string_value(json_object_get(failed, "outcome")), ==, "failed");
}

/* A bandwidth_table.json that was read in stands beside the fits, none of which it is. */
static void test_imported_bandwidth(Fixture *fixture, gconstpointer data)
{
    json_auto_t *without = ifm_study_bandwidth_json(fixture->tables);
    g_assert_null(json_object_get(json_object_get(without, "_metadata"), "imported_mb_per_s"));
    tables_import(fixture->tables);
    json_auto_t *json = ifm_study_bandwidth_json(fixture->tables);
    const json_t *imported = json_object_get(json_object_get(json, "_metadata"), "imported_mb_per_s");
    g_assert_cmpuint(json_object_size(imported), ==, 4);
    g_assert_cmpfloat(number(imported, "CPU_stage1"), ==, 411.25);
    g_assert_cmpstr(json_string_value(json_object_get(imported, "CPU_stage2")), ==, "inf");
    check_null(imported, "NPU_stage7");
    g_assert_cmpfloat(number(json, "CPU_stage1"), ==, 4e9 / 1048576);
}

static char *read_file(const char *folder, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    return text;
}

static void remove_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_cmpint(g_remove(path), ==, 0);
}

/* Seven files; JSON that keeps every digit, is read back equal, and does not change from one writing to the next. */
static void test_files(Fixture *fixture, gconstpointer data)
{
    static const char *const names[] = { "raw_measurements.json",  "lookup_table.json",   "bandwidth_table.json",
                                         "checkpoint_cpugpu.json", "checkpoint_npu.json", "stages.csv",
                                         "profiling_report.txt" };
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("study-XXXXXX", &error);
    g_assert_no_error(error);
    char *before[G_N_ELEMENTS(names)];
    for (int time = 0; time < 2; time++)
    {
        ifm_study_write(fixture->tables, folder, &error);
        g_assert_no_error(error);
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        {
            char *text = read_file(folder, names[i]);
            if (time == 0)
                before[i] = text;
            else
            {
                g_assert_cmpstr(text, ==, before[i]);
                g_free(text);
            }
        }
    }
    json_t *built[] = { ifm_study_raw_json(fixture->tables, 0), ifm_study_lookup_json(fixture->tables),
                        ifm_study_bandwidth_json(fixture->tables) };
    for (gsize i = 0; i < G_N_ELEMENTS(built); i++)
    {
        json_auto_t *back = ifm_json_parse(before[i], strlen(before[i]), names[i], &error);
        g_assert_no_error(error);
        g_assert_true(json_equal(back, built[i]));
        json_decref(built[i]);
    }
    check_golden("study-stages.csv", before[5]);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        remove_file(folder, names[i]);
        g_free(before[i]);
    }
    g_assert_false(ifm_study_write(fixture->tables, "/no/such/folder", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_remove(folder);
}

/* The fewest digits that read back as the same number, reals stay reals, and numbers fill lines. */
static void test_json_text(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "inferometer-json-XXXXXX", NULL);
    close(g_mkstemp(path));
    json_auto_t *json = json_pack("{s:[f,f,f,f,i,n], s:[], s:{}, s:[{s:s},[b]], s:f}", "numbers", 0.1, 2.0, 1e300, 1.0 / 3,
                                  7, "empty", "none", "parts", "a \"key\"", "\xc3\xa4\n", 1, "\xc3\xbc", -0.0);
    json_t *many = json_array();
    for (int i = 0; i < 60; i++)
        json_array_append_new(many, json_real(i + 0.5));
    json_object_set_new(json, "many", many);
    g_assert_true(ifm_output_write_json(path, json, &error));
    g_autofree char *text = read_file("/", path);
    g_assert_true(g_str_has_prefix(text, "{\n"
                                         "  \"numbers\": [0.1, 2.0, 1e+300, 0.3333333333333333, 7, null],\n"
                                         "  \"empty\": [],\n"
                                         "  \"none\": {},\n"
                                         "  \"parts\": [\n"
                                         "    {\n"
                                         "      \"a \\\"key\\\"\": \"\xc3\xa4\\n\"\n"
                                         "    },\n"
                                         "    [true]\n"
                                         "  ],\n"
                                         "  \"\xc3\xbc\": -0.0,\n"
                                         "  \"many\": [0.5, 1.5, "));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        g_assert_cmpuint(strlen(*line), <, 130);
    json_auto_t *back = ifm_json_load(path, &error);
    g_assert_no_error(error);
    g_assert_true(json_equal(json, back));
    g_remove(path);
}

/* A range, or a stage beside others, taken from a row that stands. */
static void add_range(IfmStudyTables *tables, guint row, int last, guint32 busy, double ns)
{
    const IfmStudyRow *from = tables->rows->pdata[row];
    IfmStudyRow *one = g_new0(IfmStudyRow, 1);
    *one = *from;
    one->last = last;
    one->busy = busy;
    one->key = g_strdup_printf("range-%u", tables->ranges->len);
    tables_measure(one, ns);
    g_ptr_array_add(tables->ranges, one);
}

/* Ranges and contention have a file and a section of their own; what there was before is the same byte for byte. */
static void test_ranges(Fixture *fixture, gconstpointer data)
{
    IfmScreen screen = { .width = 100, .utf8 = TRUE };
    const IfmStudyRow *alone = fixture->tables->rows->pdata[0]; /* CPU, stage 1, 1000 nodes, 1000 edges */
    json_auto_t *before = ifm_study_lookup_json(fixture->tables);
    g_autofree char *report = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_null(strstr(report, "Contention"));
    add_range(fixture->tables, 0, 1, 1u << TABLES_ORT, 1.5 * alone->median_ns);
    add_range(fixture->tables, 0, 3, 0, 4e6);
    add_range(fixture->tables, 0, 3, 1u << TABLES_ORT | 1u << TABLES_NPU, 10e6);
    json_auto_t *after = ifm_study_lookup_json(fixture->tables);
    json_object_del(before, "_metadata"); /* it counts the study's cases */
    json_object_del(after, "_metadata");
    g_assert_true(json_equal(before, after));
    g_autofree char *reported = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_nonnull(strstr(reported, "Contention"));
    g_assert_nonnull(
        strstr(reported, "2 slow-downs, median 2.00 times as long, from 1.50 to 2.50; ranges.csv has them, too"));
    g_assert_nonnull(strstr(reported, "ORT + NPU"));
    g_autofree char *csv = ifm_study_ranges_csv(fixture->tables);
    g_auto(GStrv) lines = g_strsplit(csv, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1 + 3 + 1);
    g_assert_true(g_str_has_prefix(lines[0], "device,stage,last,nodes,edges,busy,slow_down,slow_down_lower,"
                                             "slow_down_upper,latency_ms,"));
    g_assert_true(g_str_has_prefix(lines[1], "CPU,1,1,1000,1000,ORT,1.5,"));
    g_assert_true(g_str_has_prefix(lines[2], "CPU,1,3,1000,1000,,,,,4,"));
    g_assert_true(g_str_has_prefix(lines[3], "CPU,1,3,1000,1000,ORT+NPU,2.5,"));
    /* half-widths of 3.5 us: they add up as squares */
    g_auto(GStrv) cells = g_strsplit(lines[3], ",", 10);
    double width = sqrt(pow(3500 / 4e6, 2) + pow(3500 / 10e6, 2));
    g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[7], NULL), 2.5 * (1 - width), 1e-12);
    g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[8], NULL), 2.5 * (1 + width), 1e-12);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-files/lookup", Fixture, NULL, set_up, test_lookup, tear_down);
    g_test_add("/study-files/lookup-metadata", Fixture, NULL, set_up, test_lookup_metadata, tear_down);
    g_test_add("/study-files/bandwidth", Fixture, NULL, set_up, test_bandwidth, tear_down);
    g_test_add("/study-files/links", Fixture, NULL, set_up, test_links, tear_down);
    g_test_add("/study-files/raw", Fixture, NULL, set_up, test_raw, tear_down);
    g_test_add("/study-files/unfinished", Fixture, NULL, set_up, test_unfinished, tear_down);
    g_test_add("/study-files/imported", Fixture, NULL, set_up, test_imported, tear_down);
    g_test_add("/study-files/imported/bandwidth", Fixture, NULL, set_up, test_imported_bandwidth, tear_down);
    g_test_add("/study-files/files", Fixture, NULL, set_up, test_files, tear_down);
    g_test_add("/study-files/ranges", Fixture, NULL, set_up, test_ranges, tear_down);
    g_test_add_func("/study-files/json-text", test_json_text);
    return g_test_run();
}
