#pragma once
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <measure/measure.h>
#include <onnx/onnx.h>
#include <store/store.h>

/* What the tests of the runner share: a small model in a file, cases on it, and a look at the processes there are. */

#define MS G_GINT64_CONSTANT(1000000)

typedef struct
{
    char *folder, *model_path;
    IfmRunner *runner;
    gint interrupted; /* atomic */
} Fixture;

static inline void fixture_init(Fixture *fixture, const IfmLimits *limits)
{
    g_autoptr(GError) error = NULL;
    IfmRunnerOptions options = { .interrupted = &fixture->interrupted };
    if (limits != NULL)
        options.limits = *limits;
    fixture->interrupted = 0;
    fixture->folder = g_dir_make_tmp("runner-test-XXXXXX", NULL);
    fixture->model_path = g_build_filename(fixture->folder, "matmul.onnx", NULL);
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", NULL, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, &error));
    g_assert_no_error(error);
    fixture->runner = ifm_runner_new(&options);
}

static inline GArray *children_of(pid_t parent)
{
    GArray *children = g_array_new(FALSE, FALSE, sizeof(pid_t));
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while ((entry = readdir(proc)) != NULL)
    {
        pid_t pid = atoi(entry->d_name), its_parent;
        char state;
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
        g_autofree char *text = NULL;
        if (pid <= 0 || !g_file_get_contents(path, &text, NULL, NULL))
            continue;
        const char *rest = strrchr(text, ')');
        if (rest != NULL && sscanf(rest + 1, " %c %d", &state, &its_parent) == 2 && its_parent == parent)
            g_array_append_val(children, pid);
    }
    closedir(proc);
    return children;
}

static inline void fixture_clear(Fixture *fixture)
{
    ifm_runner_free(fixture->runner);
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0); /* nothing is left running */
    g_unlink(fixture->model_path);
    g_rmdir(fixture->folder);
    g_free(fixture->model_path);
    g_free(fixture->folder);
}

static inline IfmModelCase case_on(const Fixture *fixture, const char *device)
{
    IfmModelCase model_case = { .model_path = fixture->model_path,
                                .model_name = "matmul",
                                .device = device,
                                .dtype = IFM_DTYPE_F32,
                                .seed = 7,
                                .protocol = IFM_PROTOCOL_INIT,
                                .verify = TRUE };
    model_case.protocol.warmup = 2;
    model_case.protocol.runs = 20;
    return model_case;
}

static inline IfmMeasurement *measure(Fixture *fixture, const IfmModelCase *model_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error);
    g_assert_no_error(error);
    IfmMeasurement *measurement = ifm_runner_measure(fixture->runner, &ifm_kind_model, model_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(measurement->case_key, ==, sealed->key);
    return measurement;
}

static inline void assert_ok(const IfmMeasurement *measurement)
{
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
}

/* @series: gint64 */
static inline void assert_all(const GArray *series, gint64 value, guint n)
{
    g_assert_cmpuint(series->len, ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpint(g_array_index(series, gint64, i), ==, value);
}

/* As JSON and back it has the key that it had. */
static inline void assert_key_holds(const IfmCase *sealed)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_case_to_json(sealed);
    g_autoptr(IfmCase) again = ifm_case_from_json(json, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(again->key, ==, sealed->key);
}

static inline const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static inline gboolean has_onnxruntime(Fixture *fixture)
{
    json_t *devices = ifm_runner_devices(fixture->runner, "onnxruntime", NULL);
    json_decref(devices);
    return devices != NULL;
}

/* Gone, or a zombie that its parent has not looked at. */
static inline gboolean wait_until_gone(pid_t pid)
{
    for (int i = 0; i < 3000; i++, g_usleep(10000))
    {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid);
        g_autofree char *text = NULL;
        if (!g_file_get_contents(path, &text, NULL, NULL) || strstr(text, ") Z ") != NULL)
            return TRUE;
    }
    return FALSE;
}
