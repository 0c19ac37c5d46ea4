#pragma once
#include <sqlite3.h>

#include "cli/harness.h"

/* What the tests of studies share: a small study on devices with known answers, and a look at what it left. */

#define SMALL_HEAD                                                                                                         \
    "title: A small study\n"                                                                                               \
    "subject: {model: graphsage, features: 4, hidden: 3}\n"
#define SMALL_SIZES                                                                                                        \
    "sizes:\n"                                                                                                             \
    "  - {nodes: 5, edges: [6, 8]}\n"                                                                                      \
    "  - {nodes: 10, edges: [20]}\n"
#define SMALL_DEVICES                                                                                                      \
    "devices:\n"                                                                                                           \
    "  CPU: {device: simulated:lab/LINKED}\n"                                                                              \
    "  GPU: {device: simulated:lab/GAUSSIAN}\n"                                                                            \
    "  NPU: {device: simulated:lab/PLAIN, form: static}\n"
#define SMALL_REST                                                                                                         \
    "protocol: {warmup: 2, runs: 10}\n"                                                                                    \
    "links: {measure: false}\n"
#define SMALL SMALL_HEAD SMALL_SIZES SMALL_DEVICES SMALL_REST

#define N_STAGES 7
#define SMALL_N_SIZES 3
#define SMALL_N_CASES (3 * SMALL_N_SIZES * N_STAGES)

static inline void write_text(const Bench *bench, const char *name, const char *text)
{
    g_autofree char *path = bench_path(bench, name);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static inline char *read_text(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(GError) error = NULL;
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    return text;
}

static inline gboolean is_there(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static inline json_t *load_json(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(GError) error = NULL;
    json_t *json = ifm_json_load(path, &error);
    g_assert_no_error(error);
    return json;
}

static inline const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* A number that one query gives; -1 where the store is not there yet, or not ready to be read. */
static inline gint64 query(const Bench *bench, const char *store, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    gint64 value = -1;
    g_autofree char *path = bench_path(bench, store);
    if (g_file_test(path, G_FILE_TEST_EXISTS) && sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static inline gint64 count_measured(const Bench *bench, const char *store)
{
    return query(bench, store, "SELECT COUNT(*) FROM measurement");
}

/* Every case has one measurement, no more. */
static inline void assert_once_each(const Bench *bench, const char *store, gint64 n)
{
    g_assert_cmpint(count_measured(bench, store), ==, n);
    g_assert_cmpint(query(bench, store, "SELECT COUNT(DISTINCT case_key) FROM measurement"), ==, n);
}
