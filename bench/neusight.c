/*
 * How well latencies are predicted on machines that were never measured: the published table of NeuSight (repository
 * sitar-lab/NeuSight), whose checkout is FOLDER. Learns from its five training GPUs (of each operator and GPU some rows,
 * drawn by the seed) with the library's own learner, and prints the 54 cells of inference beside NeuSight's own
 * predictions: sums over the operators of a model as that repository lists them. 19 of the cells are of GPUs that were not
 * trained on (H100, L4, A100 80GB). Each figure is the median of five seeds. What the trees see was chosen by leaving out
 * one training GPU at a time, never by the cells.
 *
 *     neusight FOLDER [N]    N: only the first of the seeds    Without FOLDER: status 77 (skipped)
 */
#include <base/fields.h>
#include <learn/learn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define SKIPPED 77
#define N_SEEDS 5
#define WITHIN 0.10
/* Of an element of 4 bytes, times bytes/s: what only moves data is counted as NeuSight counts it, with 2^30 bytes in a GB.
 */
#define MOVE_NS (4e9 * 1e9 / (1 << 30))

/* --- the training data --------------------------------------------------------------------------------------------------
 */

#define PRODUCT                                                                                                            \
    "op=OPName,shape=B*M*N,latency_ms=Latency,Machine=Device,Batch=B,M=M,K=N,N_Columns=K,FLOP=2*B*M*N*K,"                  \
    "Input_Bytes=4*B*M*N,Weight_Bytes=4*B*N*K,Output_Bytes=4*B*M*K"
#define UNARY                                                                                                              \
    "op=OPName,shape=B*H,latency_ms=Latency,Machine=Device,Batch=B,Channels=H,FLOP=B*H,Input_Bytes=4*B*H,Output_Bytes=4*"  \
    "B*H"
#define BINARY                                                                                                             \
    "op=OPName,shape=B*H,latency_ms=Latency,Machine=Device,Batch=B,Channels=H,FLOP=B*H,Input_Bytes=8*B*H,Output_Bytes=4*"  \
    "B*H"

/* Operator: @columns: what its files have    @rows: that are drawn of each GPU */
static const struct
{
    const char *name, *columns;
    guint rows;
} operators[] = {
    { "bmm", PRODUCT, 1600 }, { "linear", PRODUCT, 1600 }, { "softmax", UNARY, 1600 }, { "ln", UNARY, 1600 },
    { "add", BINARY, 145 },   { "mul", BINARY, 145 },      { "pow", BINARY, 145 },     { "div", BINARY, 145 },
    { "addu", UNARY, 145 },   { "mulu", UNARY, 145 },      { "powu", UNARY, 145 },     { "divu", UNARY, 145 },
    { "tanh", UNARY, 145 },   { "relu", UNARY, 145 },      { "gelu", UNARY, 145 },
};

static const char *const trained[] = { "Tesla P4", "Tesla P100-PCIE-16GB", "Tesla T4", "Tesla V100-PCIE-32GB",
                                       "NVIDIA A100-PCIE-40GB" };

G_GNUC_NORETURN static void fail(const GError *error)
{
    fprintf(stderr, "neusight: %s\n", error->message);
    exit(1);
}

/* A path below FOLDER/scripts/asplos. (transfer full) */
static char *path_of(const char *folder, const char *format, ...) G_GNUC_PRINTF(2, 3);

static char *path_of(const char *folder, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *below = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return g_build_filename(folder, "scripts", "asplos", below, NULL);
}

/* @name: as its files have it, with spaces or underscores */
static IfmMachine read_machine(const char *folder, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strdelimit(g_strdup(name), " ", '_');
    g_autofree char *path = path_of(folder, "data/device_configs/%s.json", file);
    json_auto_t *json = ifm_json_load(path, &error);
    if (json == NULL)
        fail(error);
    return (IfmMachine){ g_strdup(ifm_member_text(json, "Device")),
                         { .flop_per_s = 1e9 * ifm_member_number(json, "SingleFLOPs"),
                           .bytes_per_s = 1e9 * ifm_member_number(json, "Mem_Bw"),
                           .cache_bytes = 1e6 * ifm_member_number(json, "L2Cache"),
                           .cache_bytes_per_s = (double)NAN,
                           .cores = ifm_member_number(json, "Num_Sm"),
                           .clock_hz = 1e6 * ifm_member_number(json, "Freq") } };
}

/* (transfer full) IfmKernelSamples*: of each operator and GPU */
static GPtrArray *read_all(const char *folder)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *tables = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_kernel_samples_free);
    for (gsize g = 0; g < G_N_ELEMENTS(trained); g++)
    {
        IfmMachine machine = read_machine(folder, trained[g]);
        for (gsize i = 0; i < G_N_ELEMENTS(operators); i++)
        {
            g_autofree char *path =
                path_of(folder, "data/dataset/train/collect/%s/p2.1.0/%s.csv", operators[i].name, trained[g]);
            IfmKernelSamples *samples = ifm_kernel_samples_read_as(path, operators[i].columns, &error);
            if (samples == NULL)
                fail(error);
            ifm_kernel_samples_place(samples, &machine);
            g_ptr_array_add(tables, samples);
        }
        g_free(machine.name);
    }
    return tables;
}

/* (transfer full) some rows of each table */
static IfmKernelSamples *draw(const GPtrArray *tables, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    IfmKernelSamples *drawn = ifm_kernel_samples_new(NULL);
    for (guint i = 0; i < tables->len; i++)
    {
        const IfmKernelSamples *table = tables->pdata[i];
        const guint wanted = operators[i % G_N_ELEMENTS(operators)].rows;
        gsize left = ifm_kernel_samples_n(table), missing = bench_is_quick() ? MAX(wanted / 50, 8) : wanted;
        for (gsize row = 0; row < ifm_kernel_samples_n(table); row++, left--)
            if (g_rand_double(random) * (double)left < (double)missing)
            {
                ifm_kernel_samples_add(drawn, ifm_kernel_samples_at(table, row));
                missing--;
            }
    }
    return drawn;
}

/* --- cells --------------------------------------------------------------------------------------------------------------
 */

/* Cell: a model on a GPU. Milliseconds. @unseen: a GPU that was not trained on    @ours, @covered: of each seed */
typedef struct
{
    char *model, *device, *sequence, *batch;
    double label, published;
    gboolean unseen;
    IfmMachine machine;
    double ours[N_SEEDS];
    gboolean covered[N_SEEDS];
} Cell;

/* Sums, over the tuples in a text of Python, of the products of their numbers: "[(8, 512), (1,)]" is 4097. */
static double count_elements(const char *text, const char *end)
{
    double sum = 0, product = 1;
    for (const char *at = text; at < end && *at != '\0';)
        if (g_ascii_isdigit(*at))
        {
            char *after = NULL;
            product *= g_ascii_strtod(at, &after);
            at = after;
        }
        else
        {
            sum += *at == ')' && at[-1] != ')' && at > text ? product : 0;
            product = *at == '(' ? 1 : product;
            at++;
        }
    return sum;
}

/* @numbers: (out) the first of a tuple    Returns: how many there are, at most 4 */
static gsize read_numbers(const char *at, const char *end, double *numbers)
{
    gsize n = 0;
    while (at < end && n < 4)
        if (g_ascii_isdigit(*at))
        {
            char *after = NULL;
            numbers[n++] = g_ascii_strtod(at, &after);
            at = after;
        }
        else
            at++;
    return n;
}

static void describe_product(IfmKernelSample *sample, const char *name, double batch, const double *sizes)
{
    const double m = sizes[0], k = sizes[1], n = sizes[2];
    sample->op_type = name;
    sample->features = (IfmKernelFeatures){ .batch = batch, .m = m, .k = k, .n = n };
    sample->flop = 2 * batch * m * n * k;
    sample->input_bytes = 4 * batch * m * k;
    sample->weight_bytes = 4 * batch * k * n;
    sample->output_bytes = 4 * batch * m * n;
}

/* Node: what of a row of a graph all its operators share. */
typedef struct
{
    double n_inputs, n_outputs; /* elements */
} Node;

/* FALSE: the operator only moves data, or is one that no time is listed for. @words: "'VECadd', (4096, 1024)" */
static gboolean describe(IfmKernelSample *sample, const char *name, const char *arguments, const char *end,
                         const Node *node)
{
    double sizes[4] = { 0 };
    const gsize n = read_numbers(arguments, end, sizes);
    ifm_kernel_sample_init(sample);
    sample->features = (IfmKernelFeatures){ 0 };
    if (g_str_equal(name, "Linear") && n == 3)
        describe_product(sample, "linear", 1, sizes);
    else if (g_str_equal(name, "BMM") && n == 4)
        describe_product(sample, "bmm", sizes[0], sizes + 1);
    else if (g_str_has_prefix(name, "VEC") && n == 2)
    {
        sample->op_type = name + strlen("VEC");
        sample->features = (IfmKernelFeatures){ .batch = sizes[0], .channels = sizes[1] };
        sample->flop = sizes[0] * sizes[1];
        sample->output_bytes = 4 * node->n_outputs;
        sample->input_bytes = 4 * node->n_inputs;
    }
    else
        return FALSE;
    return TRUE;
}

/* Adds the operators of a row, each @times. */
static void add_row(const IfmLatencyModel *model, const Cell *cell, const char *operators_of, const Node *node,
                    double times, IfmLatencySum *sum)
{
    const char *at = operators_of;
    while ((at = strstr(at, "['")) != NULL)
    {
        const char *quote = strchr(at + 2, '\''), *end = quote != NULL ? strchr(quote, ']') : NULL;
        IfmKernelSample sample;
        IfmPredictedLatency predicted;
        if (end == NULL)
            return;
        g_autofree char *name = g_strndup(at + 2, (gsize)(quote - at - 2));
        at = end;
        const gboolean moves = g_str_equal(name, "MEM");
        if (moves)
        {
            const double ns = MOVE_NS * count_elements(quote, end) / cell->machine.features.bytes_per_s;
            predicted = (IfmPredictedLatency){ ns, ns, ns, ns, ns, TRUE, TRUE, TRUE };
        }
        else if (!describe(&sample, name, quote, end, node))
            continue;
        else
        {
            sample.place = cell->machine.features;
            ifm_latency_model_predict(model, &sample, NULL, &predicted);
        }
        ifm_latency_sum_add(sum, moves ? "MEM" : sample.op_type, &predicted, times);
    }
}

/* The first and the last node of the layer that stands for all layers of a model. */
static const struct
{
    const char *model, *first, *last;
} layers[] = {
    { "bert", "bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm" },
    { "gpt", "transformer_h_0_ln_1", "add_15" },
    { "opt", "model_decoder_layers_0_self_attn_layer_norm", "view_11" },
};

static double count_layers(const char *folder, const Cell *cell)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path =
        path_of(folder, "label/%s/%s-inf-%s-%s.json", cell->device, cell->model, cell->sequence, cell->batch);
    json_auto_t *json = ifm_json_load(path, &error);
    if (json == NULL)
        fail(error);
    return MAX(ifm_member_number(json, "num_layer"), 1);
}

static const char *text_at(const IfmCsv *csv, gsize row, const char *column)
{
    g_autoptr(GError) error = NULL;
    gsize at;
    if (!ifm_csv_column(csv, column, &at, &error))
        fail(error);
    return ifm_csv_text(csv, row, at);
}

static void predict(const char *folder, const IfmLatencyModel *model, Cell *cell, int seed)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = path_of(folder, "results/opgraph/%s-inf-%s-%s.csv", cell->model, cell->sequence, cell->batch);
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, &error);
    g_autoptr(IfmLatencySum) sum = ifm_latency_sum_new();
    const double n_layers = count_layers(folder, cell);
    double times = 1, low, high;
    if (csv == NULL)
        fail(error);
    gsize layer = 0;
    while (layer < G_N_ELEMENTS(layers) && !g_str_has_prefix(cell->model, layers[layer].model))
        layer++;
    for (gsize row = 0; row < ifm_csv_n_rows(csv); row++)
    {
        const char *name = text_at(csv, row, "Name"), *inputs = text_at(csv, row, "InputShapes"),
                   *output = text_at(csv, row, "OutputShape");
        const Node node = { count_elements(inputs, inputs + strlen(inputs)),
                            count_elements(output, output + strlen(output)) };
        if (layer < G_N_ELEMENTS(layers) && g_str_equal(name, layers[layer].first))
            times = n_layers;
        add_row(model, cell, text_at(csv, row, "FwOps"), &node, times, sum);
        if (layer < G_N_ELEMENTS(layers) && g_str_equal(name, layers[layer].last))
            times = 1;
    }
    cell->ours[seed] = ifm_latency_sum_end(sum, &low, &high) / 1e6;
    cell->covered[seed] = low / 1e6 <= cell->label && cell->label <= high / 1e6;
}

static gboolean is_trained(const char *device)
{
    for (gsize i = 0; i < G_N_ELEMENTS(trained); i++)
    {
        g_autofree char *name = g_strdelimit(g_strdup(trained[i]), " ", '_');
        if (g_str_equal(name, device))
            return TRUE;
    }
    return FALSE;
}

/* (transfer full) Cell: of inference on one GPU of NVIDIA, without fusion, that both were measured and predicted by
 * NeuSight
 */
static GArray *read_cells(const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = path_of(folder, "summary/summary.csv");
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, &error);
    GArray *cells = g_array_new(FALSE, TRUE, sizeof(Cell));
    if (csv == NULL)
        fail(error);
    for (gsize row = 0; row < ifm_csv_n_rows(csv); row++)
    {
        const char *device = text_at(csv, row, "device"), *label = text_at(csv, row, "label_all_e2e_latency"),
                   *published = text_at(csv, row, "neusight_all_e2e_latency");
        if (!g_str_equal(text_at(csv, row, "mode"), "inf") || *text_at(csv, row, "option") != '\0' || *label == '\0' ||
            *published == '\0' || strstr(device, "AMD") != NULL)
            continue;
        const Cell cell = { .model = g_strdup(text_at(csv, row, "model_name")),
                            .device = g_strdup(device),
                            .sequence = g_strdup(text_at(csv, row, "seqlen")),
                            .batch = g_strdup(text_at(csv, row, "batch")),
                            .label = g_ascii_strtod(label, NULL),
                            .published = g_ascii_strtod(published, NULL),
                            .unseen = !is_trained(device),
                            .machine = read_machine(folder, device) };
        g_array_append_val(cells, cell);
    }
    return cells;
}

/* --- figures ------------------------------------------------------------------------------------------------------------
 */

/* Figures: over cells: mean |error|, share within 10 %, share within the interval. */
typedef struct
{
    double mean, within, covered;
    guint n, n_within;
} Figures;

/* @seed: -1: NeuSight's    @unseen: -1: all cells */
static Figures figures_of(const GArray *cells, int seed, int unseen)
{
    Figures figures = { 0 };
    for (guint i = 0; i < cells->len; i++)
    {
        const Cell *cell = &g_array_index(cells, Cell, i);
        const double error = fabs((seed < 0 ? cell->published : cell->ours[seed]) / cell->label - 1);
        if (unseen >= 0 && cell->unseen != unseen)
            continue;
        figures.n++;
        figures.mean += error;
        figures.n_within += error <= WITHIN;
        figures.covered += seed >= 0 && cell->covered[seed];
    }
    figures.mean /= figures.n;
    figures.within = (double)figures.n_within / figures.n;
    figures.covered /= figures.n;
    return figures;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, int n)
{
    double sorted[N_SEEDS];
    memcpy(sorted, values, (gsize)n * sizeof *values);
    qsort(sorted, (gsize)n, sizeof *sorted, compare_numbers);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static void print_cells(const GArray *cells, int n_seeds)
{
    printf("%-24s %-11s %5s %12s %12s %8s %12s %8s\n", "GPU", "model", "batch", "measured ms", "NeuSight ms", "error",
           "ours ms", "error");
    for (guint i = 0; i < cells->len; i++)
    {
        const Cell *cell = &g_array_index(cells, Cell, i);
        const double ours = median(cell->ours, n_seeds);
        printf("%-24s %-11s %5s %12.1f %12.1f %+7.1f%% %12.1f %+7.1f%%%s\n", cell->device, cell->model, cell->batch,
               cell->label, cell->published, 100 * (cell->published / cell->label - 1), ours,
               100 * (ours / cell->label - 1), cell->unseen ? "  unseen" : "");
    }
}

/* Prints one line of figures, the mean of each seed last. @bound: of the mean error    Returns: whether it is kept */
static gboolean print_figures(const GArray *cells, int n_seeds, const char *name, int unseen, double bound, guint least)
{
    const Figures theirs = figures_of(cells, -1, unseen);
    double means[N_SEEDS], within[N_SEEDS], covered[N_SEEDS];
    for (int seed = 0; seed < n_seeds; seed++)
    {
        const Figures ours = figures_of(cells, seed, unseen);
        means[seed] = ours.mean;
        within[seed] = ours.n_within;
        covered[seed] = ours.covered;
    }
    const double mean = median(means, n_seeds), inside = median(within, n_seeds);
    const gboolean kept = mean <= bound && inside >= least;
    printf(
        "%-12s %2u cells: mean error %4.1f %% (NeuSight %4.1f %%), within 10 %%: %2.0f (%2u), within the 90 %% interval: "
        "%3.0f %%",
        name, theirs.n, 100 * mean, 100 * theirs.mean, inside, theirs.n_within, 100 * median(covered, n_seeds));
    if (isfinite(bound))
        printf("; bound %.1f %%%s: %s", 100 * bound, least > 0 ? ", 16 within 10 %" : "", kept ? "kept" : "MISSED");
    printf("; of each seed");
    for (int seed = 0; seed < n_seeds; seed++)
        printf(" %.1f", 100 * means[seed]);
    printf("\n");
    return kept;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const int n_seeds = argc > 2 ? CLAMP(atoi(argv[2]), 1, N_SEEDS) : bench_rounds(N_SEEDS, 1);
    if (argc < 2)
    {
        printf("neusight: skipped: needs FOLDER, a checkout of github.com/sitar-lab/NeuSight\n");
        return SKIPPED;
    }
    g_autoptr(GPtrArray) tables = read_all(argv[1]);
    GArray *cells = read_cells(argv[1]);
    for (int seed = 0; seed < n_seeds; seed++)
    {
        const gint64 began = g_get_monotonic_time();
        g_autoptr(IfmKernelSamples) samples = draw(tables, (guint32)seed + 1);
        IfmLearnOptions options = { 0 };
        ifm_options_init(ifm_learn_options, &options);
        options.seed = seed + 1;
        g_autoptr(IfmLatencyModel) model = ifm_learn_train(samples, &options, &error);
        if (model == NULL)
            fail(error);
        for (guint i = 0; i < cells->len; i++)
            predict(argv[1], model, &g_array_index(cells, Cell, i), seed);
        printf("seed %d: trained on %zu rows in %.0f s, intervals included\n", seed + 1, ifm_kernel_samples_n(samples),
               (double)(g_get_monotonic_time() - began) / 1e6);
    }
    print_cells(cells, n_seeds);
    gboolean kept = print_figures(cells, n_seeds, "all", -1, 0.09, 0);
    kept &= print_figures(cells, n_seeds, "unseen GPUs", 1, 0.07, 16);
    print_figures(cells, n_seeds, "seen GPUs", 0, (double)INFINITY, 0);
    return bench_status(kept);
}
