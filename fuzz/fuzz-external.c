/*
 * The libFuzzer target of external data, and (compiled into tests/onnx/test-fuzz-external.c) the same entry for the corpus.
 * The input is a model file in a folder with a file of weights, links and folders that lead out of it, and a file outside.
 * Whatever the model says, nothing outside is read, and nothing beyond the end of a file.
 */
#include <glib/gstdio.h>
#include <onnx/onnx.h>
#include <unistd.h>

#include "fuzz.h"

#define WEIGHT_BYTES 64

/* What the file outside is full of: no input says it by chance. */
static const guint8 secret[16] = { 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15,
                                   0xf3, 0x9c, 0xc0, 0x60, 0x5c, 0xed, 0xc8, 0x34 };

static void write_in(const char *folder, const char *name, const void *data, gsize size)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    must(g_file_set_contents(path, data, (gssize)size, NULL));
}

/* make_folder: TOP/outside.bin and TOP/model/{weights.bin, sub/more.bin, link.bin -> ../outside.bin, out -> ..} */
static char *make_folder(void)
{
    guint8 bytes[WEIGHT_BYTES];
    g_autofree char *top = g_dir_make_tmp("inferometer-fuzz-XXXXXX", NULL);
    must(top != NULL);
    char *folder = g_build_filename(top, "model", NULL);
    g_autofree char *sub = g_build_filename(folder, "sub", NULL), *link = g_build_filename(folder, "link.bin", NULL);
    g_autofree char *out = g_build_filename(folder, "out", NULL);
    must(g_mkdir_with_parents(sub, 0700) == 0 && symlink("../outside.bin", link) == 0 && symlink("..", out) == 0);
    memset(bytes, 1, sizeof bytes);
    write_in(folder, "weights.bin", bytes, sizeof bytes);
    write_in(sub, "more.bin", bytes, sizeof bytes / 2);
    for (gsize i = 0; i < sizeof bytes; i++)
        bytes[i] = secret[i % sizeof secret];
    write_in(top, "outside.bin", bytes, sizeof bytes);
    return folder;
}

static char *model_folder;

static void remove_folder(void)
{
    static const char *const names[] = { "model.onnx", "weights.bin", "sub/more.bin", "link.bin", "out", "../outside.bin" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = g_build_filename(model_folder, names[i], NULL);
        g_unlink(path);
    }
    g_autofree char *sub = g_build_filename(model_folder, "sub", NULL), *top = g_path_get_dirname(model_folder);
    g_rmdir(sub);
    g_rmdir(model_folder);
    g_rmdir(top);
    g_clear_pointer(&model_folder, g_free);
}

static volatile guint8 read_bytes; /* so that the reads are not left out */

/* look_at: every byte is read, so that one beyond a mapping shows, and the secret is nowhere in them. */
static void look_at(const IfmTensor *weight)
{
    const guint8 *bytes = weight->data;
    guint8 sum = 0;
    for (gsize i = 0; i < weight->size_bytes; i++)
        sum ^= bytes[i];
    read_bytes = sum;
    must(weight->size_bytes == 0 || memmem(bytes, weight->size_bytes, secret, sizeof secret) == NULL);
}

/* The same file's outline: no weight of another file is in it. */
static void look_at_outline(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) outline = ifm_model_open_outline(path, &error);
    must((outline == NULL) == (error != NULL));
    for (gsize i = 0; outline != NULL && i < ifm_model_n_initializers(outline); i++)
    {
        IfmTensor weight;
        if (ifm_model_initializer(outline, ifm_model_initializer_name(outline, i), &weight))
            look_at(&weight);
    }
    g_autoptr(IfmAnalysis) analysis = outline != NULL ? ifm_model_analyse(outline, NULL, 0, NULL) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GError *error = NULL;
    if (memmem(data, size, secret, sizeof secret / 2) != NULL)
        return 0;
    if (model_folder == NULL)
    {
        model_folder = make_folder();
        must(atexit(remove_folder) == 0);
    }
    g_autofree char *path = g_build_filename(model_folder, "model.onnx", NULL);
    FILE *file = g_fopen(path, "wb"); /* in place: no name of its own for each of thousands a second */
    must(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    look_at_outline(path);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    if (model == NULL)
    {
        must_be_line(error);
        return 0;
    }
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        for (gsize k = 0; k < ifm_model_node(model, i)->n_inputs; k++)
        {
            IfmTensor weight;
            if (ifm_model_initializer(model, ifm_model_node(model, i)->inputs[k], &weight))
                look_at(&weight);
        }
    must(ifm_model_n_parameters(model) >= ifm_model_n_trainable(model) && ifm_model_n_trainable(model) >= 0);
    must(ifm_model_digest(model, NULL) != NULL);
    return 0;
}
