#include <unistd.h>

#include <inferometer/kernels.h>

#include "cli.h"

/* Kernels of models as a runtime optimised them. */

const IfmOption cli_kernel_options[] = {
    { "device", IFM_OPTION_TEXT, "DEVICE", "whose runtime optimises the model, ENGINE:UNIT", "onnxruntime:CPU",
      .letter = 'd' },
    { "seed", IFM_OPTION_COUNT, "N", "seed of the weights of a zoo's model", "1", .maximum = G_MAXUINT32 },
    { "cache", IFM_OPTION_FOLDER, "DIR",
      "where kernels that were found are kept, instead of $IFM_KERNEL_CACHE or the user's" },
    { "no-cache", IFM_OPTION_FLAG, NULL, "have the model optimised, whatever is kept" },
    { NULL },
};

/* --- records ------------------------------------------------------------------------------------------------------------
 */

static IfmKernelOptions options_of(const Arguments *arguments)
{
    IfmKernelOptions options = { .device = cli_text(arguments, "device"),
                                 .seed = (guint32)cli_integer(arguments, "seed"),
                                 .cache = cli_text(arguments, "cache"),
                                 .anew = cli_given(arguments, "no-cache") };
    cli_fill(arguments, ifm_model_options, &options.open);
    return options;
}

/* @graph: where the optimised graph goes; or NULL    Returns: (transfer full) NULL with *status set, reported. */
static IfmKernelRecords *open_records(const Arguments *arguments, const char *model, const char *graph, int *status)
{
    g_autoptr(GError) error = NULL;
    IfmKernelOptions options = options_of(arguments);
    options.graph = graph;
    options.interrupted = cli_interrupt_install();
    options.note = cli_note_of;
    IfmKernelRecords *records = ifm_kernel_records_open(model, &options, &error);
    if (records == NULL)
        *status = cli_fail(error);
    return records;
}

GPtrArray *cli_open_kernels(const Arguments *arguments, int *status)
{
    const IfmKernelOptions options = options_of(arguments);
    return cli_open_each(arguments, &options, status);
}

/* --- kernels list -------------------------------------------------------------------------------------------------------
 */

static int run_list(const Arguments *arguments)
{
    int status = CLI_EXIT_OK;
    g_autoptr(GPtrArray) all = cli_open_kernels(arguments, &status);
    if (all == NULL)
        return status;
    if (!cli_is_none(all))
        status = cli_answer(
            arguments, (Answer){ .document = ifm_kernels_document((const IfmKernelRecords *const *)all->pdata, all->len) });
    return cli_end_each(all, status);
}

const Verb verb_kernels_list = {
    .name = "kernels list",
    .summary = "list the kernels of models as a runtime optimises them",
    .arguments = "MODEL|DIR...",
    .positional = POSITIONAL_FILE,
    .tables = { cli_kernel_options, ifm_model_options, cli_page_options, cli_json_options, cli_progress_options },
    .details =
        "MODEL is an ONNX file, NAME[,KEY=VALUE...] for a model of the zoo, or a file that kernels export or kernels "
        "extract "
        "wrote; DIR stands for the files of these in it. What cannot be opened is a row with its reason, and the exit "
        "status is 1. The "
        "runtime optimises the model in a process of its own, at its highest level. A kernel is a node of the optimised "
        "graph, under the name of what it computes: Conv_Add_Relu in every model and at every size. Kernels of one digest "
        "compute the same on the same shapes.\n"
        "Coverage is the source of a kernel's nodes in the model: exact; group (several kernels together); "
        "inserted (by the runtime, such as a change of layout); ambiguous (the nodes listed are likely). OpenVINO saves no "
        "graph: one profiled run shows its kernels, and what it names of their nodes is exact.\n"
        "What was found is kept in $IFM_KERNEL_CACHE, or inferometer/kernels in $XDG_CACHE_HOME (~/.cache), by the model's "
        "digest, the device, the runtime's library and the processor.",
    .examples = { { "inferometer kernels list resnet18,size=64 vit",
                    "shows the kernels of two models of the zoo, and which names both have" } },
    .run = run_list,
};

/* --- kernels show -------------------------------------------------------------------------------------------------------
 */

static int run_show(const Arguments *arguments)
{
    const char *const *words = cli_positional(arguments);
    g_autoptr(GError) error = NULL;
    int status = CLI_EXIT_OK;
    g_autoptr(IfmKernelRecords) records = open_records(arguments, words[0], NULL, &status);
    if (records == NULL)
        return status;
    IfmDocument *document = ifm_kernel_document(records, words[1], &error);
    return document != NULL ? cli_answer(arguments, (Answer){ .document = document }) : cli_fail(error);
}

const Verb verb_kernels_show = {
    .name = "kernels show",
    .summary = "show kernels of a model in full",
    .arguments = "MODEL KERNEL",
    .positional = POSITIONAL_FILE,
    .tables = { cli_kernel_options, ifm_model_options, cli_page_options, cli_json_options },
    .details = "KERNEL is a name (Conv_Add_Relu), the first digits of a digest, or both with the shape as files of kernels "
               "are called. MODEL is as of kernels list.",
    .examples = { { "inferometer kernels show resnet18 Conv_Add_Relu",
                    "shows each kernel of that name, and where it is in the model" } },
    .run = run_show,
};

/* --- kernels export -----------------------------------------------------------------------------------------------------
 */

static int run_export(const Arguments *arguments)
{
    const char *output = cli_text(arguments, "output"), *graph = cli_text(arguments, "graph");
    g_autoptr(GError) error = NULL;
    int status = CLI_EXIT_OK;
    if (output == NULL)
        return cli_usage("needs -o FILE: where the records go");
    if (g_strcmp0(graph, "-") == 0)
        return cli_usage("--graph: a graph may have weights in files of their own: name a file");
    g_autoptr(IfmKernelRecords) records = open_records(arguments, cli_positional(arguments)[0], graph, &status);
    if (records == NULL)
        return status;
    if (!g_str_equal(output, "-"))
        return ifm_kernel_records_write(records, output, &error) ? CLI_EXIT_OK : cli_fail(error);
    json_auto_t *json = ifm_kernel_records_to_json(records);
    return cli_write_json("-", json);
}

static const IfmOption export_options[] = {
    { "output", IFM_OPTION_OUTPUT, "FILE", "where the records go; - is standard output", .letter = 'o' },
    { "graph", IFM_OPTION_OUTPUT, "FILE", "write the optimised graph, too, as ONNX with its weights" },
    { NULL },
};

const Verb verb_kernels_export = {
    .name = "kernels export",
    .summary = "write a model's kernels as a file of records",
    .arguments = "MODEL",
    .positional = POSITIONAL_FILE,
    .tables = { cli_kernel_options, ifm_model_options, export_options },
    .details = "MODEL is as of kernels list. Records of an ONNX file are refused later if that file has changed.",
    .examples = { { "inferometer kernels export resnet18 -o resnet18.json",
                    "writes a record of each kernel: operator, attributes, shapes, FLOP, bytes, covered nodes" } },
    .run = run_export,
};

/* --- kernels dag --------------------------------------------------------------------------------------------------------
 */

static int run_dag(const Arguments *arguments)
{
    const char *output = cli_text(arguments, "output");
    int status = CLI_EXIT_OK;
    if (output == NULL)
        return cli_usage("needs -o FILE: where the graph goes");
    g_autoptr(IfmKernelRecords) records = open_records(arguments, cli_positional(arguments)[0], NULL, &status);
    if (records == NULL)
        return status;
    json_auto_t *json = ifm_kernel_dag_to_json(records);
    return cli_write_json(output, json);
}

static const IfmOption dag_options[] = {
    { "output", IFM_OPTION_OUTPUT, "FILE", "where the graph goes, as JSON; - is standard output", .letter = 'o' },
    { NULL },
};

const Verb verb_kernels_dag = {
    .name = "kernels dag",
    .summary = "write which kernels of a model wait for which",
    .arguments = "RECORD",
    .positional = POSITIONAL_FILE,
    .tables = { cli_kernel_options, ifm_model_options, dag_options },
    .details = "RECORD is a file that kernels export wrote, or a MODEL as of kernels list.",
    .run = run_dag,
};
