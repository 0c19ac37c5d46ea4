#include "study-fixture.h"
#include "study/study-private.h"

#include <math.h>

#include <base/fields.h>
#include <predict/predict.h>
#include <store/store.h>

static const IfmStageSizes published = { .features = 500, .hidden = 500 };

#define STORE "store.db"

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture_init(fixture);
    fixture_open_store(fixture, STORE);
}

static char *table_path(const char *file)
{
    return g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", file, NULL);
}

static gsize import(IfmStore *store, const char *path)
{
    g_autoptr(GError) error = NULL;
    const char *paths[] = { path, NULL };
    IfmStudyImported n = { 0 };
    ifm_study_import(paths, "laptop", &published, FALSE, store, &n, &error);
    g_assert_no_error(error);
    return n.n_imported;
}

static const IfmStudyRow *find_row(const IfmStudyTables *tables, const char *alias, int stage, gint64 nodes, gint64 edges)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (g_str_equal(row->device->alias, alias) && row->stage == stage && row->nodes == nodes && row->edges == edges)
            return row;
    }
    return NULL;
}

/* --- the published tables --------------------------------------------------------------------------------------------- */

static double text_number(const IfmCsv *csv, gsize row, const char *column)
{
    gsize at;
    g_assert_true(ifm_csv_column(csv, column, &at, NULL));
    return *ifm_csv_text(csv, row, at) != '\0' ? g_ascii_strtod(ifm_csv_text(csv, row, at), NULL) : (double)NAN;
}

static const char *text_in(const IfmCsv *csv, gsize row, const char *column)
{
    gsize at;
    g_assert_true(ifm_csv_column(csv, column, &at, NULL));
    return ifm_csv_text(csv, row, at);
}

/* Every line of the CSV against the row that came of it. */
static void assert_as_in_csv(const IfmStudyTables *tables, const char *path)
{
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, NULL);
    g_assert_cmpuint(tables->rows->len, ==, ifm_csv_n_rows(csv));
    for (gsize i = 0; i < ifm_csv_n_rows(csv); i++)
    {
        const char *flag = text_in(csv, i, "flag");
        const IfmStudyRow *row = find_row(tables, text_in(csv, i, "device"), (int)text_number(csv, i, "stage"),
                                          (gint64)text_number(csv, i, "nodes"), (gint64)text_number(csv, i, "edges"));
        g_assert_nonnull(row);
        g_assert_cmpint(row->n, ==, 0);
        if (*flag != '\0')
        {
            g_assert_cmpstr(row->reason, ==, flag);
            g_assert_cmpstr(row->code, ==, g_str_equal(flag, "device_lost") ? "lost" : "failed");
            g_assert_true(isnan(row->median_ns));
            continue;
        }
        g_assert_null(row->reason);
        g_assert_cmpfloat_with_epsilon(row->median_ns, text_number(csv, i, "latency_ms") * 1e6, 1e-3);
        g_assert_cmpfloat_with_epsilon(row->std_ns, text_number(csv, i, "std_ms") * 1e6, 1e-3);
        g_assert_true(isnan(row->transfer_ns) == isnan(row->compute_ns));
        g_assert_true(isnan(row->transfer_ns) == (row->split_why != NULL));
        if (row->split_why == NULL) /* both stand: they are the whole */
        {
            g_assert_cmpfloat(row->compute_ns, >=, 0);
            g_assert_cmpfloat_with_epsilon(row->transfer_ns + row->compute_ns, row->median_ns, 1e-6 * row->median_ns);
        }
    }
}

/* The data size the tables count, a stage's inputs, written down once more. */
static double bytes_of(int stage, double nodes, double edges)
{
    const double width = 500 * 4, index = 2 * edges * 8;
    switch (stage)
    {
    case 1:
        return nodes * width + index;
    case 2:
    case 3:
        return edges * width + index;
    case 4:
        return nodes * width + index;
    case 5:
        return nodes * width + nodes * 4;
    default:
        return nodes * width;
    }
}

static void assert_slopes(const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        double n = 0, x = 0, y = 0, xx = 0, xy = 0;
        for (guint k = 0; k < tables->rows->len; k++)
        {
            const IfmStudyRow *row = tables->rows->pdata[k];
            if (row->device != fit->device || row->stage != fit->stage || row->reason != NULL)
                continue;
            double bytes = bytes_of(row->stage, (double)row->nodes, (double)row->edges);
            g_assert_cmpint(row->table_bytes, ==, (gint64)bytes);
            n++, x += bytes, y += row->median_ns, xx += bytes * bytes, xy += bytes * row->median_ns;
        }
        g_assert_cmpuint(fit->n_rows, ==, (gsize)n);
        if (!fit->fitted)
        {
            g_assert_nonnull(fit->why);
            continue;
        }
        double slope = (xy - x * y / n) / (xx - x * x / n);
        g_assert_cmpfloat_with_epsilon(fit->bandwidth.slope_ns_per_byte, slope, 1e-6 * fabs(slope));
        g_assert_true(fit->has_lookup);
        g_assert_cmpuint(fit->lookup_error.n_interpolated + fit->lookup_error.n_extrapolated, ==, fit->n_rows);
    }
}

typedef struct
{
    const char *file;
    gsize n_rows, n_devices, n_failed, n_lost;
} Published;

static const Published tables_published[] = { { "protocol-15-sizes.csv", 285, 3, 0, 0 },
                                              { "large-55-sizes.csv", 1045, 3, 180 + 19, 180 } };

static void test_published(Fixture *fixture, gconstpointer data)
{
    const Published *expected = data;
    g_autoptr(GError) error = NULL;
    IfmStore *store = fixture->store;
    g_autofree char *path = table_path(expected->file);
    g_assert_cmpuint(import(store, path), ==, expected->n_rows);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_true(tables->imported);
    g_assert_cmpstr(tables->name, ==, "laptop");
    g_assert_cmpuint(tables->devices->len, ==, expected->n_devices);
    g_assert_cmpstr(((const IfmStudyDevice *)tables->devices->pdata[0])->device, ==, "imported:CPU");
    g_assert_cmpint(tables->spent_ns, ==, 0);
    assert_as_in_csv(tables, path);
    assert_slopes(tables);
    gsize n_failed = 0, n_lost = 0, n_phase_2 = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        n_failed += row->reason != NULL;
        n_lost += g_strcmp0(row->code, "lost") == 0;
        n_phase_2 += row->phase == 2;
        g_assert_true((row->phase == 2) == g_str_equal(row->device->alias, "NPU"));
    }
    g_assert_cmpuint(n_failed, ==, expected->n_failed);
    g_assert_cmpuint(n_lost, ==, expected->n_lost);
    g_assert_cmpuint(n_phase_2, ==, expected->n_rows * 5 / 19); /* 7 stages on two devices, 5 on the NPU */
    g_autoptr(IfmLookup) lookup = ifm_study_tables_lookup(tables, "CPU", 1, &error);
    g_assert_no_error(error);
    double at_point = 0;
    g_assert_true(ifm_lookup_at(lookup, 1000, 2000, &at_point, NULL, &error));
    g_assert_cmpfloat_with_epsilon(at_point, find_row(tables, "CPU", 1, 1000, 2000)->median_ns, 1e-3);
    g_assert_null(ifm_study_tables_lookup(tables, "NPU", 3, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no latency of stage 3 on NPU");
    g_assert_null(ifm_study_tables_lookup(tables, "TPU", 3, &error));
    assert_says(&error, IFM_ERROR_INVALID, "no device \"TPU\" (it has CPU, GPU, NPU)");
    g_assert_true(ifm_store_check(store, &error));
}

/* The same table once more adds nothing; another one adds what is new in it. Of two tables at once, the first stands. */
static void test_again(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    IfmStore *store = fixture->store;
    g_autofree char *small = table_path("protocol-15-sizes.csv"), *large = table_path("large-55-sizes.csv");
    import(store, small);
    g_assert_cmpuint(count(store), ==, 285);
    import(store, small);
    g_assert_cmpuint(count(store), ==, 285);
    ifm_store_close(store);
    g_autofree char *path = g_build_filename(fixture->folder, "store.db", NULL);
    g_unlink(path);
    store = fixture_open_store(fixture, STORE);
    const char *both[] = { small, large, NULL }; /* the later counts */
    IfmStudyImported n = { 0 };
    g_assert_false(ifm_study_import(both, "laptop", &published, FALSE, store, &n, &error));
    assert_says(&error, IFM_ERROR_INVALID, "95 rows differ from what is there already: ");
    g_assert_cmpuint(count(store), ==, 0);
    g_assert_true(ifm_study_import(both, "laptop", &published, TRUE, store, &n, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(n.n_read, ==, 285 + 1045);
    g_assert_cmpuint(n.n_repeated, ==, 95); /* stand in both */
    g_assert_cmpuint(n.n_imported + n.n_there, ==, 285 + 1045 - 95);
    g_assert_cmpuint(count(store), ==, n.n_imported + n.n_there);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    /* in the large table 4.325984 ms, in the small one 17.097334 */
    g_assert_cmpfloat_with_epsilon(find_row(tables, "CPU", 1, 1000, 2000)->median_ns, 4325984, 1e-3);
}

/* A latency that turns out to be none, then one again: of what is imported the newest counts, and once is enough. */
static void test_flagged(Fixture *fixture, gconstpointer data)
{
    static const char head[] = "device,stage,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag\n";
    static const struct
    {
        const char *rows, *reason;
        gsize n_stored;
    } steps[] = {
        { "CPU,1,5,6,2,,,,\nCPU,1,5,7,3,,,,\n", NULL, 2 },
        { "CPU,1,5,6,2,,,,device_lost\n", "device_lost", 3 },
        { "CPU,1,5,6,2,,,,device_lost\n", "device_lost", 3 },
        { "CPU,1,5,6,2,,,,\n", NULL, 4 },
        { "CPU,1,5,6,2,,,,\n", NULL, 4 },
        { "CPU,1,5,6,,,,,implausible\n", "implausible", 5 },
    };
    IfmStore *store = fixture->store;
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strconcat(head, steps[i].rows, NULL), *path = write_file(fixture, "t.csv", text);
        const char *paths[] = { path, NULL };
        ifm_study_import(paths, "laptop", &published, TRUE, store, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(count(store), ==, steps[i].n_stored);
        g_autoptr(IfmStudyTables) tables = tables_of(store);
        const IfmStudyRow *row = find_row(tables, "CPU", 1, 5, 6);
        g_assert_cmpuint(tables->rows->len, ==, 2);
        g_assert_cmpstr(row->reason, ==, steps[i].reason);
        g_assert_true(isnan(row->median_ns) == (steps[i].reason != NULL));
        g_assert_cmpfloat(find_row(tables, "CPU", 1, 5, 7)->median_ns, ==, 3e6);
    }
}

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

static void test_lookup_json(Fixture *fixture, gconstpointer data)
{
    IfmStore *store = fixture->store;
    g_autofree char *path = write_file(
        fixture, "lookup_table.json",
        "{\"1000,2000,CPU,1\": {\"compute_time_ms\": 1.5, \"transfer_time_ms\": 0.5, \"total_time_ms\": 2, \"std_ms\": "
        "0.25},\n"
        " \"1000,3000,CPU,1\": {\"compute_time_ms\": null, \"transfer_time_ms\": null, \"total_time_ms\": 3.5, \"std_ms\": "
        "null},\n"
        " \"1000,5000,CPU,1\": {\"total_time_ms\": 5},\n"
        " \"1000,2000,NPU,1\": {\"total_time_ms\": 9, \"flag\": \"device_lost\"},\n"
        " \"_metadata\": {\"failed\": {\"1000,3000,NPU,1\": {\"outcome\": \"failed\", \"error_code\": \"unsupported\", "
        "\"reason\": \"refused\"}}}}");
    g_assert_cmpuint(import(store, path), ==, 5);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    const IfmStudyRow *first = find_row(tables, "CPU", 1, 1000, 2000), *second = find_row(tables, "CPU", 1, 1000, 3000);
    g_assert_cmpfloat(first->median_ns, ==, 2e6);
    g_assert_cmpfloat(first->std_ns, ==, 0.25e6);
    g_assert_cmpfloat(second->median_ns, ==, 3.5e6);
    g_assert_true(isnan(second->std_ns));
    const IfmStudyRow *lost = find_row(tables, "NPU", 1, 1000, 2000), *refused = find_row(tables, "NPU", 1, 1000, 3000);
    g_assert_cmpstr(lost->code, ==, "lost");
    g_assert_cmpstr(refused->code, ==, "unsupported");
    g_assert_cmpstr(refused->reason, ==, "refused");
    /* 2, 3.5 and 5 ms at 2000, 3000 and 5000 edges; 16 bytes an edge beside the nodes */
    const IfmStageFit *fit = tables->fits->pdata[0];
    g_assert_true(fit->fitted);
    g_assert_cmpfloat_with_epsilon(fit->bandwidth.slope_ns_per_byte, 1e6 * (13.5 / 14) / 16000, 1e-6);
}

static void test_raw_json(Fixture *fixture, gconstpointer data)
{
    IfmStore *store = fixture->store;
    g_autofree char *raw = write_file(fixture, "raw_measurements.json",
                                      "{\"1000,2000,CPU,7\": {\"mean\": 2, \"std\": 0.5, \"min\": 1, \"max\": 4},\n"
                                      " \"1000,3000,CPU,7\": {\"mean\": 2, \"median\": 1.75, \"std\": 0.5},\n"
                                      " \"1000,2000,NPU,3\": {\"failed\": true, \"error_code\": \"unsupported\", "
                                      "\"reason\": \"no scatter\"}}");
    g_autofree char *bandwidth = write_file(fixture, "bandwidth_table.json",
                                            "{\"CPU_stage1\": 411.25, \"CPU_stage2\": Infinity, \"NPU_stage7\": null}");
    const char *paths[] = { raw, bandwidth, NULL };
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_study_import(paths, "laptop", &published, FALSE, store, NULL, &error));
    g_assert_no_error(error);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    const IfmStudyRow *mean = find_row(tables, "CPU", 7, 1000, 2000), *median = find_row(tables, "CPU", 7, 1000, 3000);
    g_assert_cmpfloat(mean->median_ns, ==, 2e6);
    g_assert_cmpfloat(mean->min_ns, ==, 1e6);
    g_assert_cmpfloat(mean->max_ns, ==, 4e6);
    g_assert_cmpfloat(median->median_ns, ==, 1.75e6);
    g_assert_cmpfloat(median->mean_ns, ==, 2e6);
    g_assert_cmpstr(find_row(tables, "NPU", 3, 1000, 2000)->reason, ==, "no scatter");
    const json_t *kept = tables->bandwidth;
    g_assert_cmpfloat(json_real_value(json_object_get(kept, "CPU_stage1")), ==, 411.25);
    g_assert_cmpstr(json_string_value(json_object_get(kept, "CPU_stage2")), ==, "inf");
    g_assert_true(json_is_null(json_object_get(kept, "NPU_stage7")));
}

/* --- what is wrong: told with its place, and nothing is changed ---------------------------------------------------------
 */

#define HEAD "device,stage,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag\nCPU,1,9,9,1,,,,\n"

static const struct
{
    const char *name, *file, *text, *says;
} mistakes[] = {
    { "missing", "t.json", "{\"1,2,CPU,1\": {\"total_time_ms\": 1}, \"1,3,CPU,1\": {\"std_ms\": 1}}",
      "t.json: 1,3,CPU,1: total_time_ms is missing" },
    { "null", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": null}}", "t.json: 1,3,CPU,1: total_time_ms is missing" },
    { "zero", "t.json", "{\"1,2,CPU,1\": {\"total_time_ms\": 1}, \"1,3,CPU,1\": {\"total_time_ms\": 0}}",
      "t.json: 1,3,CPU,1: total_time_ms: found 0, expected more than 0" },
    { "negative", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": -2.5}}",
      "total_time_ms: found -2.5, expected more than 0" },
    { "infinite", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": Infinity}}", "found inf, expected more than 0" },
    { "text", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": \"2\"}}", "t.json: 1,3,CPU,1.total_time_ms: " },
    { "negative-std", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": 1, \"std_ms\": -1}}", "standard deviation: found -1" },
    { "mean", "t.json", "{\"1,3,CPU,1\": {\"mean\": 0, \"std\": 1}}", "t.json: 1,3,CPU,1: mean: found 0" },
    { "mean-below-0", "t.json", "{\"1,3,CPU,1\": {\"mean\": -1, \"median\": 2}}",
      "t.json: 1,3,CPU,1: mean: found -1, expected more than 0" },
    { "mean-infinite", "t.json", "{\"1,3,CPU,1\": {\"mean\": Infinity, \"median\": 2}}",
      "t.json: 1,3,CPU,1: mean: found inf, expected more than 0" },
    { "mean-nan", "t.json", "{\"1,3,CPU,1\": {\"mean\": NaN, \"median\": 2}}", "t.json: 1,3,CPU,1.mean: " },
    { "mean-beside", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": 1, \"mean_time_ms\": 0}}",
      "t.json: 1,3,CPU,1: mean: found 0, expected more than 0" },
    { "median", "t.json", "{\"1,3,CPU,1\": {\"mean\": 2, \"median\": -3}}",
      "t.json: 1,3,CPU,1: median: found -3, expected more than 0" },
    { "median-nan", "t.json", "{\"1,3,CPU,1\": {\"mean\": 2, \"median\": NaN}}", "t.json: 1,3,CPU,1.median: " },
    { "min", "t.json", "{\"1,3,CPU,1\": {\"mean\": 2, \"min\": 0, \"max\": 3}}",
      "t.json: 1,3,CPU,1: min: found 0, expected more than 0" },
    { "max", "t.json", "{\"1,3,CPU,1\": {\"mean\": 2, \"max\": Infinity}}",
      "t.json: 1,3,CPU,1: max: found inf, expected more than 0" },
    { "infinite-std", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": 1, \"std_ms\": Infinity}}",
      "t.json: 1,3,CPU,1: the standard deviation: found inf, expected 0 or more" },
    { "csv-range", "t.csv", "device,stage,last,nodes,edges,latency_ms,flag\nCPU,3,2,9,9,1,\n",
      "t.csv:2: last: found 2, expected 3 to 7" },
    { "csv-busy", "t.csv", "device,stage,busy,nodes,edges,latency_ms,flag\nCPU,3,GPU+CPU,9,9,1,\n",
      "t.csv:2: busy: found \"CPU\", expected names of other devices" },
    { "block", "t.json", "{\"5,6,CPU,block7\": {\"mean\": 1}}", "t.json: 5,6,CPU,block7: is no key of a row" },
    { "fused", "t.json", "{\"fused0_8,5,6,CPU\": {\"mean\": 1}}", "last: found 8, expected 1 to 7" },
    { "models", "t.json", "{\"5,6,CPU,2\": {\"mean\": 1}, \"gcn,5,6,CPU\": {\"mean\": 1}}", "import them apart" },
    { "failed", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": 1, \"failed\": \"yes\"}}", "t.json: 1,3,CPU,1.failed: " },
    { "failed-1", "t.json", "{\"1,3,CPU,1\": {\"mean\": 1, \"failed\": 1}}", "t.json: 1,3,CPU,1.failed: " },
    { "key", "t.json", "{\"1,3,CPU\": {\"total_time_ms\": 1}}", "t.json: 1,3,CPU: is no key of a row" },
    { "stage", "t.json", "{\"1,3,CPU,8\": {\"total_time_ms\": 1}}", "stage: found 8, expected 1 to 7" },
    { "alias", "t.json", "{\"1,3,C U,1\": {\"total_time_ms\": 1}}", "device: found \"C U\"" },
    { "truncated", "t.json", "{\"1,2,CPU,1\": {\"total_time_ms\": 1},\n \"1,3,CPU,1\": {\"total", "t.json:2:" },
    { "no-rows", "t.json", "{}", "t.json: no row of a latency" },
    { "bandwidth", "t.json", "{\"1,2,CPU,1\": {\"total_time_ms\": 1}, \"CPU_stage1\": 0}",
      "t.json: CPU_stage1: found 0, expected more than 0" },
    { "bandwidth-key", "t.json", "{\"CPU_stag1\": 5}", "t.json: CPU_stag1: expected DEVICE_stageN" },
    { "csv-missing", "t.csv", HEAD "CPU,1,9,10,,,,,\n", "t.csv:3: latency_ms is missing" },
    { "csv-zero", "t.csv", HEAD "CPU,1,9,10,0,,,,\n", "t.csv:3: latency_ms: found 0, expected more than 0" },
    { "csv-negative", "t.csv", HEAD "CPU,1,9,10,-1,,,,\n", "t.csv:3: latency_ms: found -1" },
    { "csv-number", "t.csv", HEAD "CPU,1,9,10,fast,,,,\n", "t.csv:3: " },
    { "csv-nodes", "t.csv", HEAD "CPU,1,9.5,10,1,,,,\n", "t.csv:3: nodes: found \"9.5\"" },
    { "csv-twice", "t.csv", HEAD "CPU,1,9,9,2,,,,\n", "t.csv:3: stands there already, at " },
    { "csv-short", "t.csv", HEAD "CPU,1,9\n", "t.csv:3: " },
    { "csv-column", "t.csv", "device,stage,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flg\n", "flag" },
    { "csv-stage", "t.csv", HEAD "CPU,99,9,10,1,,,,\n",
      "t.csv:3: stage: found \"99\", expected a whole number from 1 to 7" },
    { "stage-99", "t.json", "{\"1,3,CPU,99\": {\"total_time_ms\": 1}}", "stage: found 99, expected 1 to 7" },
    { "csv-huge", "t.csv", HEAD "CPU,1,9,10,1e300,,,,\n", "t.csv:3: latency_ms: found 1e+300, which is no latency in ms" },
    { "csv-tiny", "t.csv", HEAD "CPU,1,9,10,1e-300,,,,\n", "t.csv:3: latency_ms: found 1e-300, which is no latency" },
    { "parts", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": 1, \"compute_time_ms\": 5, \"transfer_time_ms\": 9}}",
      "total_time_ms: found 1, less than compute and transfer together, 14" },
    { "above", "t.csv", "device,stage,nodes,edges,latency_ms,flag,interval_lower_ms,interval_upper_ms\nCPU,1,9,9,5,,6,7\n",
      "t.csv:2: the interval, 6 to 7 ms, does not hold the median, 5 ms" },
    { "below", "t.csv", "device,stage,nodes,edges,latency_ms,flag,interval_lower_ms,interval_upper_ms\nCPU,1,9,9,5,,3,4\n",
      "t.csv:2: the interval, 3 to 4 ms, does not hold the median, 5 ms" },
    { "least", "t.json", "{\"1,3,CPU,1\": {\"total_time_ms\": 2, \"min\": 3, \"max\": 1}}",
      "the minimum, 3, is more than" },
    { "differs", "t.csv",
      "device,stage,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag\nCPU,1,5,6,999,,,,\nCPU,2,5,6,9,,,,\n",
      "1 row differs from what is there already: " },
    { "flagged", "t.csv", "device,stage,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag\nCPU,1,5,6,1,,,,lost\n",
      "has a failure, and " },
    { "hidden", "t.json", "{\"_metadata\": {\"study\": {\"hidden\": 16}}, \"5,6,CPU,2\": {\"total_time_ms\": 1}}",
      "hidden: found 16 in the files, and 500 was asked for" },
    { "ending", "t.txt", "", "expected a file that ends in .json or .csv" },
};

static void test_mistake(Fixture *fixture, gconstpointer data)
{
    const gsize i = GPOINTER_TO_SIZE(data);
    g_autoptr(GError) error = NULL;
    IfmStore *store = fixture->store;
    g_autofree char *good = write_file(fixture, "good.json", "{\"5,6,CPU,1\": {\"total_time_ms\": 1}}");
    import(store, good);
    json_auto_t *before = ifm_store_document(store, "study", NULL);
    g_autofree char *path = write_file(fixture, mistakes[i].file, mistakes[i].text);
    const char *paths[] = { path, NULL };
    g_assert_false(ifm_study_import(paths, "laptop", &published, FALSE, store, NULL, &error));
    assert_says(&error, IFM_ERROR_INVALID, mistakes[i].says);
    json_auto_t *after = ifm_store_document(store, "study", NULL);
    g_assert_cmpint(json_equal(before, after), ==, 1);
    g_assert_cmpuint(count(store), ==, 1);
}

static void test_other_store(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    IfmStore *store = fixture->store;
    g_autofree char *path = write_file(fixture, "good.json", "{\"5,6,CPU,1\": {\"total_time_ms\": 1}}");
    const char *paths[] = { path, NULL };
    g_assert_null(ifm_study_tables(NULL, store, &error));
    assert_says(&error, IFM_ERROR_INVALID, "holds no study");
    import(store, path);
    g_assert_false(ifm_study_import(paths, "desktop", &published, FALSE, store, NULL, &error));
    assert_says(&error, IFM_ERROR_INVALID, "is the store of study \"laptop\", not of \"desktop\"");
    IfmStageSizes other = { .features = 500, .hidden = 256 };
    g_assert_false(ifm_study_import(paths, "laptop", &other, FALSE, store, NULL, &error));
    assert_says(&error, IFM_ERROR_INVALID, "whose model has hidden 500, not 256");
    g_autoptr(IfmStudy) study = ifm_study_open("gnn-stages", NULL);
    g_assert_false(ifm_study_check_store(study, store, &error));
    assert_says(&error, IFM_ERROR_INVALID, "is the store of study \"laptop\", not of \"gnn-stages\"");
    g_assert_cmpuint(count(store), ==, 1);
}

/* What a file of ours says of itself comes in with its rows; bandwidths alone are nothing to begin with. */
static void test_about(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    static const IfmStageSizes unsaid = { 0 };
    IfmStore *store = fixture->store;
    g_autofree char *bandwidth = write_file(fixture, "bandwidth_table.json", "{\"CPU_stage1\": 411.25}");
    g_autofree char *bare = write_file(fixture, "bare.json", "{\"7,8,CPU,1\": {\"total_time_ms\": 2}}");
    g_autofree char *ours = write_file(fixture, "lookup_table.json",
                                       "{\"_metadata\": {\"study\": {\"features\": 32, \"hidden\": 16}, "
                                       "\"devices\": {\"CPU\": {\"simulated\": true}, \"GPU\": {\"simulated\": false}}}, "
                                       "\"5,6,CPU,1\": {\"total_time_ms\": 1}, \"5,6,GPU,1\": {\"total_time_ms\": 1}}");
    const char *alone[] = { bandwidth, NULL }, *first[] = { ours, NULL }, *then[] = { bare, bandwidth, NULL };
    g_assert_false(ifm_study_import(alone, "sim", &unsaid, FALSE, store, NULL, &error));
    assert_says(&error, IFM_ERROR_INVALID, "bandwidth_table.json: has bandwidths alone, which belong to latencies");
    g_assert_false(ifm_study_import(first, "gnn-stages", &unsaid, FALSE, store, NULL, &error));
    assert_says(&error, IFM_ERROR_INVALID, "\"gnn-stages\" is a shipped study's name");
    g_assert_cmpuint(count(store), ==, 0);
    g_assert_true(ifm_study_import(first, "sim", &unsaid, FALSE, store, NULL, &error));
    g_assert_no_error(error);
    g_assert_true(ifm_study_import(then, "sim", &unsaid, FALSE, store, NULL, &error)); /* sizes: as the store has */
    g_assert_no_error(error);
    g_assert_true(ifm_study_import(alone, "sim", &unsaid, FALSE, store, NULL, &error));
    g_assert_no_error(error);
    g_autoptr(IfmStudyTables) tables = tables_of(store);
    g_assert_cmpint(tables->sizes.features, ==, 32);
    g_assert_cmpint(tables->sizes.hidden, ==, 16);
    g_assert_cmpuint(tables->devices->len, ==, 2);
    g_assert_cmpuint(tables->rows->len, ==, 3);
    for (guint i = 0; i < 2; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        g_assert_true(device->simulated == g_str_equal(device->alias, "CPU"));
    }
    /* stage 1 at 32 features: 5 * 32 * 4 bytes of nodes, 2 * 6 * 8 of edges */
    g_assert_cmpint(find_row(tables, "CPU", 1, 5, 6)->table_bytes, ==, 736);
}

/* Published files do not say how wide the models were; they were 500 wide throughout. */
static void test_widths(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    static const IfmStageSizes unsaid = { 0 };
    g_autofree char *path = write_file(fixture, "t.json", "{\"7,8,CPU,3\": {\"total_time_ms\": 2}}");
    const char *paths[] = { path, NULL };
    ifm_study_import(paths, "laptop", &unsaid, FALSE, fixture->store, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    g_assert_cmpint(find_row(tables, "CPU", 3, 7, 8)->table_bytes, ==, 8 * 500 * 4 + 2 * 8 * 8);
}

/* --- ranges, loads, whole models -------------------------------------------------------------------------------------- */

static char *case_path(const char *file)
{
    return g_build_filename(g_getenv("IFM_TEST_DATA"), "study", "data", file, NULL);
}

/* A fused row is a range and a row under load a loaded one: neither is an idle stage. */
static void test_ranges(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = case_path("ranges.csv");
    g_assert_cmpuint(import(fixture->store, path), ==, 7);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    g_assert_cmpuint(tables->rows->len, ==, 4);
    g_assert_cmpuint(tables->ranges->len, ==, 3);
    g_assert_null(find_row(tables, "GPU", 1, 5000, 50000));
    g_assert_null(find_row(tables, "GPU", 3, 5000, 50000));
    const IfmStudyRow *whole = tables->ranges->pdata[0], *pair = tables->ranges->pdata[1],
                      *loaded = tables->ranges->pdata[2];
    g_assert_cmpint(whole->stage, ==, 1);
    g_assert_cmpint(whole->last, ==, 7);
    g_assert_cmpfloat(whole->median_ns, ==, 11889000);
    g_assert_cmpint(pair->last, ==, 3);
    g_assert_cmpuint(pair->busy, ==, 0);
    g_assert_cmpint(loaded->last, ==, 3);
    g_assert_cmpstr(((const IfmStudyDevice *)tables->devices->pdata[1])->alias, ==, "CPU");
    g_assert_cmpuint(loaded->busy, ==, 2);
}

/* The keys of GNX's tables of fused stages: the two blocks of a plan, all stages, and the computing of a block alone. */
static void test_fused(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path =
        write_file(fixture, "fused.json",
                   "{\"fused0_7,5,60,GPU\": {\"mean\": 12, \"median\": 11.5, \"std\": 0.1, \"failed\": false},"
                   " \"5,60,CPU,block0\": {\"mean\": 9, \"std\": NaN, \"original_mean\": 10, \"transfer_time\": 1},"
                   " \"5,60,NPU,block1\": {\"mean\": -1, \"failed\": true, \"error\": \"out of memory\"}}");
    g_assert_cmpuint(import(fixture->store, path), ==, 3);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    g_assert_cmpuint(tables->rows->len, ==, 0);
    g_assert_cmpuint(tables->ranges->len, ==, 3);
    static const struct
    {
        int first, last;
        double total_ns;
    } expected[] = { { 1, 7, 11.5e6 }, { 1, 4, 10e6 }, { 5, 7, NAN } };
    for (guint i = 0; i < 3; i++)
    {
        const IfmStudyRow *row = tables->ranges->pdata[i];
        g_assert_cmpint(row->stage, ==, expected[i].first);
        g_assert_cmpint(row->last, ==, expected[i].last);
        g_assert_true(isnan(expected[i].total_ns) ? isnan(row->median_ns) : row->median_ns == expected[i].total_ns);
    }
    g_assert_cmpstr(((const IfmStudyRow *)tables->ranges->pdata[2])->reason, ==, "out of memory");
}

/* GNX's tables of whole models: points with the axes model, nodes and edges. */
static void test_models(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = write_file(fixture, "models.json",
                                       "{\"gcn,5,60,CPU\": {\"mean\": 3, \"min\": 2, \"max\": 4, \"std\": 0.5},"
                                       " \"gat,5,60,GPU\": {\"mean\": 7, \"std\": 0.5}}");
    g_assert_cmpuint(import(fixture->store, path), ==, 2);
    g_autoptr(IfmStudyTables) points = ifm_study_tables(NULL, fixture->store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(points->axes->len, ==, 3);
    g_assert_cmpuint(points->rows->len, ==, 2);
    const IfmStudyRow *gat = points->rows->pdata[1];
    g_assert_cmpstr(ifm_member_text(gat->axes, "model"), ==, "gat");
    g_assert_cmpint(json_integer_value(json_object_get(gat->axes, "edges")), ==, 60);
    g_assert_cmpfloat(gat->median_ns, ==, 7e6);
}

/* An axis of integers and texts is one of texts, in a store that was written before that was so, too. */
static void test_mixed_axis(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = case_path("mixed-axis.csv");
    g_assert_cmpuint(import(fixture->store, path), ==, 2);
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, fixture->store, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < 2; i++)
    {
        const IfmStudyRow *point = results->tables->rows->pdata[i];
        g_assert_cmpstr(ifm_member_text(point->axes, "batch"), ==, i == 0 ? "1" : "auto");
    }
    IfmDocument *document = ifm_study_results_document(results, IFM_STUDY_REPORT, NULL);
    g_autofree char *shown = ifm_document_show(document, &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(shown, "auto"));
}

/* --- export, import, export ------------------------------------------------------------------------------------------- */

static void export_to(const Fixture *fixture, IfmStore *store, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, store, &error);
    g_autofree char *path = g_build_filename(fixture->folder, folder, NULL);
    g_assert_no_error(error);
    g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
    g_assert_true(ifm_study_results_write(results, path, &error));
    g_assert_no_error(error);
}

static char *text_of(const Fixture *fixture, const char *folder, const char *file)
{
    g_autofree char *path = g_build_filename(fixture->folder, folder, file, NULL);
    char *text;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* The page of a study names the files that are there, and no others. */
static void test_files_named(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = case_path("mixed-axis.csv"), *folder = g_build_filename(fixture->folder, "named", NULL);
    import(fixture->store, path);
    for (int written = 0; written < 2; written++)
    {
        g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, fixture->store, NULL);
        if (written == 1)
            export_to(fixture, fixture->store, "named");
        IfmDocument *document = ifm_study_results_document(results, IFM_STUDY_SUMMARY, folder);
        g_autofree char *shown = ifm_document_show(document, &(IfmScreen){ .width = 200 });
        g_assert_true((strstr(shown, "points.csv, points.json") != NULL) == (written == 1));
    }
}

/* What each format that the program exports has, it has again once it was imported: byte for byte. */
typedef struct
{
    const char *name, *text, *files[8]; /* imported; exported and imported, each by itself or (second) with the first */
} RoundTrip;

#define STAGE_COLUMNS                                                                                                      \
    "nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag,simulated,error_code,mean_ms,min_ms,max_ms,"                \
    "interval_lower_ms,interval_upper_ms\n"
#define POINT_COLUMNS                                                                                                      \
    "alias,median_ns,lower_ns,upper_ns,level,mean_ns,std_ns,min_ns,max_ns,items,flop,outcome,error_code,"                  \
    "reason,simulated\n"
static const RoundTrip round_trips[] = {
    { "stages",
      "device,stage,last,busy," STAGE_COLUMNS "CPU,1,,,5,6,2.25,0.125,,,,true,,2.5,2,3,2.125,2.5\n"
      "CPU,1,,,9,18,4.5,,,,,true,,,,,,\nCPU,1,,,50,70,9.125,0.5,,,,true,,9.5,,,,\nCPU,2,,,5,6,,,,,\"lost, "
      "twice\",true,lost,,,,,\n"
      "NPU,3,,,5,6,1.5,0.25,,,,false,,1.5,1,2,,\nCPU,1,7,,5,6,3.5,0.5,,,,true,,3.75,3,4,3.25,3.75\n"
      "CPU,2,4,NPU+GPU,5,6,6.25,,,,,true,,,,,,\nCPU,1,1,NPU,5,6,,,,,no memory,true,memory,,,,,\n",
      { "stages.csv", "ranges.csv" } },
    { "lookup",
      "device,stage," STAGE_COLUMNS "CPU,1,5,6,2.25,0.125,,,,false,,2.5,,,2.125,2.5\nCPU,2,5,6,,,,,gone,false,lost,,,,,\n",
      { "lookup_table.json" } },
    { "raw",
      "device,stage," STAGE_COLUMNS
      "CPU,1,5,6,2.25,0.125,,,,false,,2.5,2,3,2.125,2.5\nCPU,2,5,6,,,,,gone,false,lost,,,,,\n",
      { "raw_measurements.json" } },
    { "points",
      "model,batch," POINT_COLUMNS "a,1,CPU,1000,900,1100,0.95,1010,5,800,1300,1,2000,measured,,,false\n"
      "a,auto,CPU,2000,,,,,,,,,,measured,,,false\n\"b, c\",2,GPU,,,,,,,,,,,failed,memory,\"too, large\",true\n",
      { "points.csv" } },
    { "conv",
      "model,input_size,algorithm," POINT_COLUMNS
      "alexnet,64,direct,CPU,1000,900,1100,0.95,1010,5,800,1300,1,,measured,,,false\n"
      "alexnet,64,winograd,CPU,,,,,,,,,,,refused,unsupported,no 3x3,false\n",
      { "points.csv" } },
};

static void test_round_trip(Fixture *fixture, gconstpointer data)
{
    const RoundTrip *trip = &round_trips[GPOINTER_TO_SIZE(data)];
    g_autofree char *given = write_file(fixture, "given.csv", trip->text);
    g_autoptr(GError) error = NULL;
    g_assert_cmpuint(import(fixture->store, given), >, 0);
    export_to(fixture, fixture->store, "first");
    for (guint i = 0; trip->files[i] != NULL; i++)
    {
        g_autofree char *store_name = g_strdup_printf("store-%u.db", i), *folder = g_strdup_printf("again-%u", i);
        g_autofree char *store_path = g_build_filename(fixture->folder, store_name, NULL);
        g_autofree char *exported = g_build_filename(fixture->folder, "first", trip->files[i], NULL);
        g_autofree char *other = g_build_filename(fixture->folder, "first", trip->files[0], NULL);
        g_autoptr(IfmStore) store = ifm_store_open(store_path, IFM_STORE_WRITE, &error);
        g_assert_no_error(error);
        import(store, other);
        if (i > 0)
            import(store, exported);
        export_to(fixture, store, folder);
        g_autofree char *before = text_of(fixture, "first", trip->files[i]),
                        *after = text_of(fixture, folder, trip->files[i]);
        g_assert_cmpstr(after, ==, before);
    }
}

/* The help says that these may be missing. */
static void test_no_deviation(Fixture *fixture, gconstpointer data)
{
    g_autofree char *stages = write_file(fixture, "stages.csv", "device,stage,nodes,edges,latency_ms,flag\nCPU,1,5,6,2,\n");
    g_autofree char *nan = write_file(fixture, "t.json", "{\"5,6,CPU,2\": {\"total_time_ms\": 1, \"std_ms\": NaN}}");
    g_assert_cmpuint(import(fixture->store, stages), ==, 1);
    g_assert_cmpuint(import(fixture->store, nan), ==, 1);
    g_autoptr(IfmStudyTables) tables = tables_of(fixture->store);
    g_assert_true(isnan(find_row(tables, "CPU", 1, 5, 6)->std_ns));
    g_assert_true(isnan(find_row(tables, "CPU", 2, 5, 6)->std_ns));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-import/published/15-sizes", Fixture, &tables_published[0], set_up, test_published, tear_down);
    g_test_add("/study-import/published/55-sizes", Fixture, &tables_published[1], set_up, test_published, tear_down);
    g_test_add("/study-import/again", Fixture, NULL, set_up, test_again, tear_down);
    g_test_add("/study-import/flagged", Fixture, NULL, set_up, test_flagged, tear_down);
    g_test_add("/study-import/lookup-json", Fixture, NULL, set_up, test_lookup_json, tear_down);
    g_test_add("/study-import/raw-json", Fixture, NULL, set_up, test_raw_json, tear_down);
    g_test_add("/study-import/ranges", Fixture, NULL, set_up, test_ranges, tear_down);
    g_test_add("/study-import/fused", Fixture, NULL, set_up, test_fused, tear_down);
    g_test_add("/study-import/models", Fixture, NULL, set_up, test_models, tear_down);
    g_test_add("/study-import/mixed-axis", Fixture, NULL, set_up, test_mixed_axis, tear_down);
    for (gsize i = 0; i < G_N_ELEMENTS(round_trips); i++)
    {
        g_autofree char *name = g_strdup_printf("/study-import/round-trip/%s", round_trips[i].name);
        g_test_add(name, Fixture, GSIZE_TO_POINTER(i), set_up, test_round_trip, tear_down);
    }
    g_test_add("/study-import/files-named", Fixture, NULL, set_up, test_files_named, tear_down);
    g_test_add("/study-import/no-deviation", Fixture, NULL, set_up, test_no_deviation, tear_down);
    g_test_add("/study-import/widths", Fixture, NULL, set_up, test_widths, tear_down);
    g_test_add("/study-import/about", Fixture, NULL, set_up, test_about, tear_down);
    for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++)
    {
        g_autofree char *name = g_strdup_printf("/study-import/mistake/%s", mistakes[i].name);
        g_test_add(name, Fixture, GSIZE_TO_POINTER(i), set_up, test_mistake, tear_down);
    }
    g_test_add("/study-import/other-store", Fixture, NULL, set_up, test_other_store, tear_down);
    return g_test_run();
}
