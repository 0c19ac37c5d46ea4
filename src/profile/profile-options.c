#include "profile-private.h"
#include <zoo/zoo.h>

/* Two tables define the options of `profile` and those of its graph transformers: value, default, help, and the field
 * each sets. */

#define PROFILE(member) G_STRUCT_OFFSET(IfmProfileOptions, member)
#define GRAPH(member) G_STRUCT_OFFSET(IfmGraphOptions, member)
#define PROTOCOL PROFILE(protocol)

static const char *const modes[] = { "forward", "backward", "train", NULL };
static const char *const parts[] = { "runtime", "memory", "flops", "layers", "scaling", "pe", NULL };
static const char *const losses[] = { "mse", "cross-entropy", NULL };
static const char *const optimisers[] = { "sgd", "momentum", "adam", NULL };
static const char *const dtypes[] = { "f32", "f16", "bf16", NULL };
static const char *const message_passings[] = { "none", "gin", "gcn", "sage", NULL };
static const char *const attentions[] = { "dense", "sparse", NULL };
static const char *const norms[] = { "layer", "batch", NULL };
static const char *const heads[] = { "graph", "node", NULL };
static const char *const scatters[] = { "auto", "nd", "elements", "mixed", NULL };

const IfmOption ifm_profile_options[] = {
    { "device", IFM_OPTION_TEXT, "[ALIAS=]DEVICE", "a device to measure on, ENGINE:UNIT[:INDEX][@CORES][#STREAMS]",
      "onnxruntime:CPU", .at = PROFILE(devices), .letter = 'd', .repeatable = TRUE },
    { "profile", IFM_OPTION_TEXT, "PARTS",
      "what to report, of runtime, memory, flops, layers and, of graph transformers, pe, joined by commas; all where it is "
      "not given; scaling: how it grows",
      NULL, parts, .is_list = TRUE, .at = PROFILE(parts), .letter = 'p' },
    { "mode", IFM_OPTION_CHOICE, "MODE",
      "forward; backward: also forward and backward in one; train: also the whole training step", "forward", modes,
      .at = PROFILE(mode), .letter = 'm' },
    { "loss", IFM_OPTION_CHOICE, "LOSS",
      "of backward and train: mse or cross-entropy; without it cross-entropy of a classifier of images, else mse", NULL,
      losses, .at = PROFILE(loss) },
    { "optimiser", IFM_OPTION_CHOICE, "NAME", "of train: sgd, momentum or adam", "sgd", optimisers, .deferred = TRUE,
      .at = PROFILE(optimiser) },
    { "learning-rate", IFM_OPTION_TEXT, "RATE", "of train: how far a step goes", "0.001", .deferred = TRUE,
      .at = PROFILE(learning_rate) },
    { .table = ifm_model_options, .at = PROFILE(open) },
    { "scaling", IFM_OPTION_TEXT, "AXES",
      "of a graph transformer: how it grows with nodes, layers, pe, hidden and heads, joined by commas; all where "
      "--profile scaling alone says that",
      .is_list = TRUE, .at = PROFILE(scaling) },
    { "dtype", IFM_OPTION_TEXT, "DTYPE", "precision to compute in: f32, f16 or bf16; not given: the model's own", NULL,
      dtypes, .at = PROFILE(dtype) },
    { "threads", IFM_OPTION_COUNT, "N", "threads of the runtime; 0: as many as the device has cores", "0", .maximum = 4096,
      .at = PROFILE(threads), .letter = 't' },
    IFM_PROTOCOL_ROW_CI(PROTOCOL, "1%"),
    IFM_PROTOCOL_ROW_RUNS(PROTOCOL),
    IFM_PROTOCOL_ROW_WARMUP(PROTOCOL),
    IFM_PROTOCOL_ROW_TIME_BUDGET(PROTOCOL, "20s"),
    { "seed", IFM_OPTION_COUNT, "N", "seed of the inputs, and of a zoo model's weights", "1", .maximum = G_MAXUINT32,
      .at = PROFILE(seed) },
    { "energy", IFM_OPTION_TEXT, "SOURCE",
      "measure the energy of an inference, too: auto, rapl, nvml, hwmon, recorded:FILE or simulated",
      .at = PROFILE(energy) },
    { "no-nodes", IFM_OPTION_FLAG, NULL, "do not measure a second time, profiled, for the times of the nodes",
      .at = PROFILE(no_nodes) },
    { "no-peak", IFM_OPTION_FLAG, NULL, "do not place the kernels under the device's roofline", .at = PROFILE(no_peak) },
    { "new-peak", IFM_OPTION_FLAG, NULL, "measure the device's peaks again", .excludes = "no-peak",
      .at = PROFILE(new_peak) },
    { "no-verify", IFM_OPTION_FLAG, NULL, "do not compare the outputs with those of the reference",
      .at = PROFILE(no_verify) },
    { "expect", IFM_OPTION_TEXT, "NAME=FILE",
      "what an output must be, as another program computed it of the same inputs: a file of NumPy (.npy, .npz) or ONNX "
      "(.pb); where the model gives something else, it is not what was meant, and nothing is measured of it",
      .at = PROFILE(open.expected), .repeatable = TRUE },
    { "tolerance-runs", IFM_OPTION_COUNT, "N",
      "runs of the reference with every rounding disturbed, which tell how far the outputs may differ; 0: the tolerance is "
      "that of the precision",
      G_STRINGIFY(IFM_TOLERANCE_RUNS), .maximum = 1000, .at = PROFILE(tolerance_runs) },
    { "observe", IFM_OPTION_FLAG, NULL,
      "shapes that no rule gives: run the model once to measure them, also where nothing else is run (--profile flops)",
      .at = PROFILE(observe) },
    { "native-async", IFM_OPTION_FLAG, NULL, "use the runtime's own asynchrony instead of a pinned thread",
      .at = PROFILE(native_async) },
    { "conv", IFM_OPTION_TEXT, "[LAYER=]ALGORITHM",
      "ONNX Runtime on CPU or CUDA: how convolutions are computed, all of them or the layer: direct, gemm, implicit_gemm, "
      "implicit_precomp_gemm, fft, fft_tiling, winograd, winograd_nonfused, guess, best or runtime",
      .at = PROFILE(conv), .repeatable = TRUE },
    { "conv-fallback", IFM_OPTION_TEXT, "ALGORITHM",
      "of layers that --conv's algorithm does not support; without it such a model is unsupported",
      .at = PROFILE(conv_fallback) },
    { "conv-workspace", IFM_OPTION_BYTES, "SIZE", "an algorithm that needs a larger workspace for a layer cannot do it",
      "1GiB", .at = PROFILE(conv_workspace) },
    { "option", IFM_OPTION_TEXT, "[ENGINE:]KEY=VALUE", "a setting in the runtime's own words", .at = PROFILE(vendor),
      .repeatable = TRUE },
    IFM_PROTOCOL_ROW_TIMEOUT(PROTOCOL, "60s"),
    IFM_PROTOCOL_ROW_CASE_TIMEOUT(PROTOCOL, "0"),
    IFM_PROTOCOL_ROW_MEMORY_LIMIT(PROTOCOL, "0"),
    { "resume", IFM_OPTION_FLAG, NULL, "do not measure again what the store holds already", .at = PROFILE(resume) },
    { "nodes", IFM_OPTION_COUNT, "N", "how many of the slowest kernels to show for each device", "15",
      .at = PROFILE(n_layers) },
    { "group", IFM_OPTION_FLAG, NULL, "one row for kernels that do the same: a model's repeated layers",
      .at = PROFILE(group) },
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the store (store.db) and of the zoo's models", "out/profile",
      .at = PROFILE(output), .letter = 'o' },
    { NULL },
};

/* A number of a graph transformer that is built, or of an estimate. A graph may be without edges; of all else there is one
 * at least. */
#define ROW_SIZE(name, help, fallback, member)                                                                             \
    {                                                                                                                      \
        name, IFM_OPTION_COUNT, "N", "graph transformer: " help, fallback, .minimum = 1, .deferred = TRUE,                 \
                                                                           .at = GRAPH(member)                             \
    }

const IfmOption ifm_graph_options[] = {
    { "num-nodes", IFM_OPTION_COUNT, "N", "graph transformer: nodes of its graph; of an estimate also: rows",
      G_STRINGIFY(IFM_TRANSFORMER_USUAL_NODES), .minimum = 1, .deferred = TRUE, .after = "nodes", .at = GRAPH(num_nodes) },
    { "num-edges", IFM_OPTION_COUNT, "N",
      "of an estimate: edges of the graph; where it is not given as many as of average degree " G_STRINGIFY(
          IFM_TRANSFORMER_USUAL_DEGREE),
      .at = GRAPH(num_edges) },
    { "avg-degree", IFM_OPTION_TEXT, "X", "graph transformer: neighbours of a node, on average, in a seeded graph",
      G_STRINGIFY(IFM_TRANSFORMER_USUAL_DEGREE), .deferred = TRUE, .at = GRAPH(avg_degree) },
    { "dataset", IFM_OPTION_FILE, "PATH",
      "graph transformer: its graph: peptides (64 that are shipped), a folder of the TUDataset layout, an edge list or a "
      "Matrix Market file",
      .excludes = "num-nodes,avg-degree", .at = GRAPH(dataset) },
    { "num-graphs", IFM_OPTION_COUNT, "N",
      "graph transformer: the first so many graphs of --dataset; else all; without it so many seeded graphs, else one",
      .minimum = 1, .at = GRAPH(num_graphs) },
    ROW_SIZE("feature-dim", "numbers a node comes with", G_STRINGIFY(IFM_TRANSFORMER_USUAL_FEATURES), feature_dim),
    ROW_SIZE("hidden-dim", "width of a layer", G_STRINGIFY(IFM_TRANSFORMER_USUAL_HIDDEN), hidden_dim),
    ROW_SIZE("num-layers", "layers", G_STRINGIFY(IFM_TRANSFORMER_USUAL_LAYERS), num_layers),
    ROW_SIZE("num-heads", "heads of attention", G_STRINGIFY(IFM_TRANSFORMER_USUAL_HEADS), num_heads),
    ROW_SIZE("ffn-dim", "inner width of the feed-forward part; twice hidden where it is not given", NULL, ffn_dim),
    { "mpnn", IFM_OPTION_CHOICE, "KIND",
      "graph transformer: message passing: none, gin, gcn or sage; without it none, gin of gps, and of an estimate gin of "
      "mpnn itself",
      NULL, message_passings, .at = GRAPH(mpnn) },
    { "pe", IFM_OPTION_TEXT, "KIND[:N]",
      "graph transformer: positional encoding: none, lap or rwse, and its numbers a node, such as lap:16; without it none, "
      "and of an estimate lap of encoding itself",
      .at = GRAPH(pe) },
    ROW_SIZE("pe-dim", "numbers of a node's positional encoding, where --pe does not say",
             G_STRINGIFY(IFM_TRANSFORMER_USUAL_PE), pe_dim),
    { "attention", IFM_OPTION_CHOICE, "KIND",
      "graph transformer: dense, every node of a graph with every other, or sparse, along the edges", "dense", attentions,
      .deferred = TRUE, .at = GRAPH(attention) },
    { "sparse-ratio", IFM_OPTION_RATIO, "PERCENT",
      "of an estimate: the share of a node's scores with all others that attention computes", "100%", .deferred = TRUE,
      .at = GRAPH(sparse_ratio) },
    { "norm", IFM_OPTION_CHOICE, "KIND", "graph transformer: normalisation: layer or batch", "layer", norms,
      .deferred = TRUE, .at = GRAPH(norm) },
    { "head", IFM_OPTION_CHOICE, "KIND", "graph transformer: a prediction for each graph or for each node", "graph", heads,
      .deferred = TRUE, .at = GRAPH(head) },
    ROW_SIZE("num-outputs", "outputs of its head", G_STRINGIFY(IFM_TRANSFORMER_USUAL_OUTPUTS), num_outputs),
    { "dropout", IFM_OPTION_RATIO, "PERCENT", "graph transformer: dropped in training",
      G_STRINGIFY(IFM_TRANSFORMER_USUAL_DROPOUT) "%", .deferred = TRUE, .at = GRAPH(dropout) },
    { "scatter", IFM_OPTION_CHOICE, "KIND",
      "graph transformer: how sums over edges are written: nd, elements, mixed or auto: mixed with sparse attention, "
      "elements with dense",
      "auto", scatters, .deferred = TRUE, .at = GRAPH(scatter) },
    { NULL },
};

const char *const *ifm_profile_part_words(void)
{
    return parts;
}

void ifm_profile_options_init(IfmProfileOptions *options)
{
    *options = (IfmProfileOptions){ 0 };
    ifm_options_init(ifm_profile_options, options);
    ifm_options_init(ifm_graph_options, &options->graph);
}
