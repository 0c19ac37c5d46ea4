#include <unistd.h>

#include <base/base.h>
#include <document/document.h>
#include <document/summary.h>
#include <document/words.h>

#include "cli.h"

/* Kernels of models as files, each a model of its own. */

/* A kernel. @kernel: borrowed    @reason: why it has no file; or NULL */
typedef struct
{
    const IfmKernelRecord *kernel;
    char *file, *reason;
} ExtractRow;

static void extract_row_free(ExtractRow *row)
{
    g_free(row->file);
    g_free(row->reason);
    g_free(row);
}

static void get_bytes(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, (double)ifm_kernel_bytes(((const ExtractRow *)record)->kernel));
}

#define ROW(member, ...) IFM_MEMBER(ExtractRow, member, ##__VA_ARGS__)
#define OF_KERNEL(member) IFM_MEMBER_VIA(ExtractRow, kernel, member)

static const IfmField extract_fields[] = {
    { "file", "file", IFM_FIELD_TEXT, ROW(file, .some = TRUE), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "kernel", "kernel", IFM_FIELD_TEXT, OF_KERNEL(name), IFM_FIELD_KEY },
    { "node", "node of the optimised graph", IFM_FIELD_TEXT, OF_KERNEL(node), IFM_FIELD_NO_SCREEN },
    { "flop", "FLOP", IFM_FIELD_REAL, OF_KERNEL(flop) },
    { "bytes", "bytes", IFM_FIELD_BYTES, get_bytes },
    { "reason", "no file", IFM_FIELD_TEXT, ROW(reason, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* Extracting: the rows so far. @prints: their names are printed as they come */
typedef struct
{
    GPtrArray *rows;
    gboolean prints;
    gsize n_written;
} Extracting;

static void add_row(Extracting *self, const IfmKernelRecord *kernel, const char *file, const char *reason)
{
    ExtractRow *row = g_new0(ExtractRow, 1);
    row->kernel = kernel;
    row->file = g_strdup(file);
    row->reason = g_strdup(reason);
    g_ptr_array_add(self->rows, row);
}

static gboolean on_written(const IfmKernelRecord *kernel, const char *file, void *user)
{
    Extracting *self = user;
    g_autofree char *line = g_strconcat(file, "\n", NULL);
    add_row(self, kernel, file, NULL);
    self->n_written++;
    return !self->prints || cli_print(line) == CLI_EXIT_OK;
}

static void on_left_out(const IfmKernelRecord *kernel, const char *why, void *user)
{
    add_row(user, kernel, NULL, why);
}

/* Of many kernels without a file for one reason, one line. */
static void note_left_out(const GPtrArray *rows)
{
    g_autoptr(GHashTable) said = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < rows->len; i++)
    {
        const ExtractRow *row = rows->pdata[i];
        guint n = 0;
        if (row->reason == NULL || !g_hash_table_add(said, (gpointer)row->kernel->name))
            continue;
        for (guint k = i + 1; k < rows->len; k++)
        {
            const ExtractRow *other = rows->pdata[k];
            n += other->reason != NULL && g_str_equal(other->kernel->name, row->kernel->name);
        }
        g_autofree char *more = n > 0 ? g_strdup_printf(" (and %u more of that name)", n) : g_strdup("");
        cli_note("no file: %s%s", row->reason, more);
    }
}

/* (transfer full) */
static IfmDocument *document_of(const Extracting *self, const char *folder)
{
    const gsize n = self->n_written, n_out = self->rows->len - n;
    IfmDocument *document = ifm_document_new("extraction", "Kernels as models");
    g_autofree char *command = ifm_say_command("kernels", "run", folder, NULL);
    ifm_document_subject(document, "%s", folder);
    ifm_document_verdict(document, "%zu kernel%s %s a file of %s own", n, ifm_plural(n), n == 1 ? "has" : "have",
                         n == 1 ? "its" : "their");
    ifm_document_check_count(document, IFM_TRUST_CARE, n_out, self->rows->len, "have none: their reason is in the table");
    if (n > 0)
        ifm_document_next(document, command, NULL, "Measure each by itself");
    ifm_document_table(document, "kernels", extract_fields, self->rows);
    return document;
}

static gboolean extract(const Arguments *arguments, const GPtrArray *all, const IfmModel *weights, Extracting *self,
                        GError **error)
{
    const char *const *names = cli_texts(arguments, "kernel");
    const IfmKernelExtraction options = { .folder = cli_text(arguments, "output"),
                                          .names = *names != NULL ? names : NULL,
                                          .graph = weights,
                                          .seed = (guint32)cli_integer(arguments, "seed"),
                                          .ring = cli_given(arguments, "ring"),
                                          .interrupted = cli_interrupt_install(),
                                          .written = on_written,
                                          .left_out = on_left_out,
                                          .user = self };
    return ifm_kernel_records_extract((const IfmKernelRecords *const *)all->pdata, all->len, &options, error);
}

static gboolean any_opened(const GPtrArray *records)
{
    for (guint i = 0; i < records->len; i++)
        if (((const IfmKernelRecords *)records->pdata[i])->reason == NULL)
            return TRUE;
    return FALSE;
}

static int run_extract(const Arguments *arguments)
{
    const char *graph = cli_text(arguments, "graph"), *folder = cli_text(arguments, "output");
    g_autoptr(GError) error = NULL;
    int status = CLI_EXIT_OK;
    if (folder == NULL)
        return cli_usage("needs -o DIR: where the models go");
    if (graph != NULL && cli_positional(arguments)[1] != NULL)
        return cli_usage("--graph: is of one model, so with it there is one RECORD");
    g_autoptr(IfmModel) weights = graph != NULL ? ifm_model_open(graph, &error) : NULL;
    if (error != NULL)
        return cli_fail(error);
    g_autoptr(GPtrArray) all = cli_open_kernels(arguments, &status);
    if (all == NULL)
        return status;
    if (cli_is_none(all))
        return cli_end_each(all, status);
    Extracting self = { .rows = g_ptr_array_new_with_free_func((GDestroyNotify)extract_row_free),
                        .prints = !cli_to_stdout(arguments) };
    const gboolean ok = extract(arguments, all, weights, &self, &error);
    const gsize n_written = self.n_written;
    note_left_out(self.rows);
    status =
        cli_answer(arguments, (Answer){ .document = document_of(&self, folder), .key = "kernels", .text = g_strdup("") });
    if (!ok)
        return g_error_matches(error, IFM_ERROR, IFM_ERROR_CANCELLED) && cli_interrupt_signal() == 0 ? CLI_EXIT_FAILED
                                                                                                     : cli_fail(error);
    if (status == CLI_EXIT_OK && n_written == 0 && any_opened(all))
    {
        cli_complain("no kernel of that name could be extracted");
        status = CLI_EXIT_FAILED;
    }
    return cli_end_each(all, status);
}

static const IfmOption extract_options[] = {
    { "output", IFM_OPTION_FOLDER, "DIR", "where the models go", .letter = 'o' },
    { "kernel", IFM_OPTION_TEXT, "NAME", "kernels of this name alone, such as Conv_Add_Relu", .repeatable = TRUE },
    { "graph", IFM_OPTION_FILE, "FILE",
      "the optimised graph as kernels export --graph wrote it: its weights are kept; without it they are drawn from "
      "--seed" },
    { "ring", IFM_OPTION_FLAG, NULL,
      "as many copies in one model as hold what the kernel's model does, so that each is as cold as there; one run "
      "computes each in turn" },
    { NULL },
};

const Verb verb_kernels_extract = {
    .name = "kernels extract",
    .summary = "write each distinct kernel of models as a model of its own",
    .arguments = "RECORD|DIR...",
    .positional = POSITIONAL_FILE,
    .tables = { cli_kernel_options, ifm_model_options, extract_options, cli_page_options, cli_json_options,
                cli_progress_options },
    .details =
        "RECORD is a file that kernels export wrote, or a MODEL as of kernels list; DIR stands for the files of these in "
        "it. Each file is called NAME_SHAPE-DIGITS.onnx, with the shape of the first input and the first digits of the "
        "kernel's digest; its name is printed once it is there. It is the outcome of an optimisation: run it with "
        "optimisation off. A kernel whose shapes or attributes are not known gets no file, and a note has the reason; "
        "what cannot be opened is a line, and the exit status is 1.",
    .examples = { { "inferometer kernels extract resnet18.json vit.json -o kernels",
                    "writes a model for each distinct kernel of two models" } },
    .run = run_extract,
};
