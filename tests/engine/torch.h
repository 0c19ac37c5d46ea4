#pragma once
#include <sys/wait.h>

#include <glib/gstdio.h>

#include "run-model.h"

/* Gradients of backward models against PyTorch's autograd: what went into each and what came out is put into a folder of
 * its own, and torch-gradients.py computes the same from what went in. */

typedef struct
{
    const char *folder;
    GString *index;
    int n;
} TorchExport;

static inline void torch_save(const char *folder, const char *name, const void *data, gsize n)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_assert_true(ifm_file_save(path, data, n, &error));
}

static inline void torch_export(TorchExport *to, const char *name, const IfmTensor *tensor)
{
    g_autofree char *number = g_strdup_printf("%d", to->n++);
    g_string_append_printf(to->index, "%s %s", name, ifm_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++)
        g_string_append_printf(to->index, " %" G_GINT64_FORMAT, tensor->shape[i]);
    g_string_append_c(to->index, '\n');
    torch_save(to->folder, number, tensor->data, tensor->size_bytes);
}

/* torch_is_constant: whether differentiation put it in, not the model. */
static inline gboolean torch_is_constant(const char *weight)
{
    return g_str_has_prefix(weight, "forward.") || g_str_has_prefix(weight, "loss.") ||
           g_str_has_prefix(weight, "backward.");
}

/* torch_add: @run: of a backward model, after a run. @settings: "NAME=VALUE ...": what the script is told of the model
 * @folders: char*, another is added */
static inline void torch_add(GPtrArray *folders, Run *run, const char *settings)
{
    g_autoptr(GError) error = NULL;
    IfmModel *backward = run->fixture.model;
    char *folder = g_dir_make_tmp("inferometer-torch-XXXXXX", &error);
    g_assert_no_error(error);
    g_ptr_array_add(folders, folder);
    g_autoptr(GString) index = g_string_new(NULL);
    TorchExport to = { folder, index, 0 };
    for (gsize i = 0; i < run->n; i++)
        torch_export(&to, ifm_model_input(backward, i)->name, &run->inputs[i]);
    for (gsize i = 0; i < ifm_model_n_outputs(backward); i++)
    {
        IfmTensor output = run_output(run, ifm_model_output(backward, i)->name);
        torch_export(&to, ifm_model_output(backward, i)->name, &output);
    }
    for (gsize i = 0; i < ifm_model_n_initializers(backward); i++)
    {
        const char *name = ifm_model_initializer_name(backward, i);
        IfmTensor weight;
        g_assert_true(ifm_model_initializer(backward, name, &weight));
        if (weight.dtype == IFM_DTYPE_F32 && !torch_is_constant(name))
            torch_export(&to, name, &weight);
    }
    torch_save(folder, "index", index->str, index->len);
    torch_save(folder, "settings", settings, strlen(settings));
}

static inline void torch_remove(const char *folder)
{
    g_autoptr(GDir) all = g_dir_open(folder, 0, NULL);
    for (const char *name = all != NULL ? g_dir_read_name(all) : NULL; name != NULL; name = g_dir_read_name(all))
    {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_remove(path);
    }
    g_rmdir(folder);
}

/* torch_check: The python is IFM_TEST_PYTHON, else python3; the test is skipped where it has no torch.
 * @folders: (transfer full) */
static inline void torch_check(GPtrArray *folders)
{
    g_autoptr(GPtrArray) command = g_ptr_array_new();
    g_autofree char *script = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "torch-gradients.py", NULL);
    g_autofree char *output = NULL;
    int status = -1;
    g_ptr_array_add(command, (gpointer)(g_getenv("IFM_TEST_PYTHON") != NULL ? g_getenv("IFM_TEST_PYTHON") : "python3"));
    g_ptr_array_add(command, script);
    for (guint i = 0; i < folders->len; i++)
        g_ptr_array_add(command, g_ptr_array_index(folders, i));
    g_ptr_array_add(command, NULL);
    gboolean ran =
        g_spawn_sync(NULL, (char **)command->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &output, NULL, &status, NULL);
    for (guint i = 0; i < folders->len; i++)
        torch_remove(g_ptr_array_index(folders, i));
    g_ptr_array_unref(folders);
    if (ran)
        g_test_message("%s", g_strchomp(output));
    if (!ran || (WIFEXITED(status) && WEXITSTATUS(status) == 77))
        g_test_skip("no python3 with torch (IFM_TEST_PYTHON names another one)");
    else
        g_assert_cmpint(status, ==, 0);
}
