#pragma once
#include <base/fields.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <store/store.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the tests of the store share: example records, a folder of their own, and children that act on a store. */

static char *folder;

static inline char *in_folder(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static inline void make_folder(void)
{
    folder = g_dir_make_tmp("ifm-store-XXXXXX", NULL);
    g_assert_nonnull(folder);
}

static inline void remove_folder(void)
{
    const char *arguments[] = { "rm", "-rf", folder, NULL };
    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    g_free(folder);
}

static inline IfmCase *example_case(const char *device)
{
    IfmCase *self = ifm_case_new();
    ifm_record_set_text(&self->subject_kind, "model");
    ifm_record_set_text(&self->subject_name, "small-cnn");
    ifm_record_set_text(&self->subject_digest, "cd01");
    ifm_record_set_text(&self->model_path, "/models/small-cnn.onnx");
    ifm_record_set_text(&self->device, device);
    json_object_set_new(self->sizes, "N", json_integer(8));
    json_object_set_new(self->options, "ci", json_real(0.01));
    json_object_set_new(self->environment, "machine", json_string("m1"));
    ifm_case_seal(self);
    return self;
}

/* An OK one with all that a measurement may hold. */
static inline IfmMeasurement *example_measurement(const IfmCase *subject_case, gint64 started_unix_ms, guint n_samples)
{
    IfmMeasurement *self = ifm_measurement_new();
    ifm_record_set_text(&self->case_key, subject_case->key);
    self->started_unix_ms = started_unix_ms;
    ifm_record_set_text(&self->stop_reason, "interval");
    for (guint i = 0; i < n_samples; i++)
    {
        gint64 value = G_GINT64_CONSTANT(9007199254740993) + i * G_GINT64_CONSTANT(0x0102030405);
        g_array_append_val(self->samples_ns, value);
    }
    gint64 extremes[] = { G_MININT64, -1, 0, G_MAXINT64 };
    g_array_append_vals(self->warmup_ns, extremes, 4);
    g_array_append_vals(self->profiled_ns, extremes, 1);
    for (int i = 0; i < 3; i++)
    {
        IfmNodeRow *row = g_new0(IfmNodeRow, 1);
        row->name = g_strdup_printf("node \"%d\"", i);
        row->op_type = g_strdup("Conv");
        row->provider = g_strdup("CPU");
        row->implementation = g_strdup("");
        row->dtype = g_strdup("f32");
        row->median_ns = 1000.0 / 3 * (i + 1);
        row->start_ns = i == 0 ? 0.0 : i == 1 ? NAN : INFINITY;
        g_ptr_array_add(self->nodes, row);
    }
    self->has_summary = TRUE;
    self->summary.median = 1.0 / 3;
    self->summary.n = (gsize)n_samples;
    self->result = json_pack("{s:f}", "figure", 2.0 / 3);
    self->environment = json_pack("{s:{s:s,s:i},s:[s]}", "machine", "id", "m1", "cores", 2, "warnings", "caf\xc3\xa9");
    self->effective_config = json_pack("{s:s}", "dtype", "f32");
    self->verification = json_pack("{s:f}", "worst", 1e-7);
    self->breakdown = json_pack("{s:I}", "wall_ns", (json_int_t)9007199254740993);
    self->memory = json_object();
    return self;
}

static inline void assert_same(const IfmMeasurement *a, const IfmMeasurement *b)
{
    json_auto_t *first = ifm_measurement_to_json(a), *second = ifm_measurement_to_json(b);
    g_autofree char *first_text = ifm_json_canonical(first), *second_text = ifm_json_canonical(second);
    g_assert_cmpstr(first_text, ==, second_text);
}

static inline IfmStore *open_store(const char *path, IfmStoreMode mode)
{
    g_autoptr(GError) error = NULL;
    IfmStore *store = ifm_store_open(path, mode, &error);
    g_assert_no_error(error);
    g_assert_nonnull(store);
    return store;
}

static inline void commit(IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement)
{
    g_autoptr(GError) error = NULL;
    ifm_store_commit(store, subject_case, measurement, &error);
    g_assert_no_error(error);
}

static inline void check(IfmStore *store)
{
    g_autoptr(GError) error = NULL;
    ifm_store_check(store, &error);
    g_assert_no_error(error);
}

static inline gboolean count_visitor(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    g_assert_cmpstr(subject_case->key, ==, measurement->case_key);
    (*(guint *)user)++;
    return TRUE;
}

static inline guint count(IfmStore *store)
{
    guint n = 0;
    g_autoptr(GError) error = NULL;
    ifm_store_each(store, count_visitor, &n, &error);
    g_assert_no_error(error);
    return n;
}

/* Runs @function in a child; its return value is the exit status. */
static inline pid_t start_child(int (*function)(const char *path), const char *path)
{
    fflush(NULL);
    pid_t child = fork();
    g_assert_cmpint(child, >=, 0);
    if (child == 0)
        _exit(function(path));
    return child;
}

static inline int end_child(pid_t child)
{
    int status = -1;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline char *content_of(const char *path, gsize *length)
{
    char *content = NULL;
    g_assert_true(g_file_get_contents(path, &content, length, NULL));
    return content;
}
