/* Shared with other rooms: models whose convolutions run in regions of blocked channels. */
#pragma once
#include <onnx/onnx.h>

G_BEGIN_DECLS

/*
 * A region is a part of a graph that one node computes, the operator "inferometer:Region": convolutions by named
 * algorithms with what lies between them, in blocked channels. Its attribute "program" is text, one step a line
 * (src/blocked runs it); "n_values" says how many of its inputs are values: the others are constants, which stay
 * initializers of the model; "threads" is how many the model was tuned for.
 *
 * Supported nodes, all of rank 4 and f32, are:
 *   Conv with constant weights; MaxPool without indices, AveragePool, GlobalAveragePool, ReduceMean over rows and columns
 *   Relu, LeakyRelu, PRelu of one slope, Clip, Sigmoid, Tanh, HardSigmoid, HardSwish, Gelu, and SiLU, HardSwish,
 * HardSigmoid and Gelu spelt out Add, Sum of two and Mul of equal shapes, or of one that has one row and column, or one
 * channel; BatchNormalization, and Add, Sub, Mul, Div with a constant for each channel or one for all Concat along
 * channels, Resize and Upsample to the nearest by whole factors; Identity and Dropout of inference Two of them are of one
 * region where a path leads from one to the other through supported nodes alone, unless another path leads through others:
 * a region can be computed at once. One without a Conv stays as it is.
 */

#define IFM_REGION_DOMAIN "inferometer"
#define IFM_REGION_OPERATOR "Region"
#define IFM_REGION_VERSION 1 /* of the domain */

/** IfmRegionConv: a convolution of a model. @name: its node's, or of its output where it has none
 * @why: what keeps it out of a region, static text; NULL: it is in one    @region, @layer: the numbers of the region and of
 * the convolution in its program, from 0 */
typedef struct
{
    char *name;
    const char *why;
    guint region, layer;
} IfmRegionConv;

/** IfmRegionsReport: @convs: IfmRegionConv, of the graph itself in its order    @n_nodes: of the model that are in regions
 */
typedef struct
{
    GArray *convs;
    guint n_regions, n_taken; /* convolutions that are in regions */
    gsize n_nodes;
} IfmRegionsReport;
void ifm_regions_report_clear(IfmRegionsReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmRegionsReport, ifm_regions_report_clear)

/** IfmRegionsOptions: @n_threads: the attribute of each region    @algorithms: char*, of each convolution of the report,
 * such as "winograd 4"; NULL, or one that is NULL: "any"    @keep: gboolean, of each region whether it is one; NULL: all
 * are    @is_apart: each line of a program is a region of its own, also one that is no convolution: to compare with
 * @metadata: key, value, …, NULL-terminated, besides the model's own; or NULL    @name: what a refusal calls the model;
 * NULL: its own name */
typedef struct
{
    int n_threads;
    const GPtrArray *algorithms;
    const GArray *keep;
    gboolean is_apart;
    const char *const *metadata;
    const char *name;
} IfmRegionsOptions;

/**
 * ifm_regions_partition: The model with its regions as nodes. What is in none is copied: nodes keep their names, tensors
 * theirs, ports, operator sets, functions and metadata stay. The same model and options give the same bytes.
 * @report: (out) to be cleared where it is not NULL
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID as ifm_regions_check(), where none of its convolutions can be in one
 * (the message says why), or its shapes contradict each other; or what one ONNX file cannot hold.
 */
IfmModel *ifm_regions_partition(IfmModel *model, const IfmRegionsOptions *options, IfmRegionsReport *report,
                                GError **error);

/** ifm_regions_are_in: whether a model has a region.    ifm_regions_check: What no partition can begin with. Returns: FALSE
 * with IFM_ERROR_INVALID where the model has regions already, or a program may give one of its initializers another value
 * (ifm_model_overridable()): a region has its constants once and for all. */
gboolean ifm_regions_are_in(const IfmModel *model);
gboolean ifm_regions_check(const IfmModel *model, GError **error);

/** ifm_regions_check_version: Returns: FALSE with IFM_ERROR_INVALID and both versions where the regions of a model are of
 * another version of the domain than this library's. A model without regions is of each, and so is one that ONNX Runtime
 * saved, by its domain; the programs have their version, too. */
gboolean ifm_regions_check_version(const IfmModel *model, GError **error);

/** ifm_regions_program: Returns: (transfer none) the program of a node; NULL where it is no region. */
const char *ifm_regions_program(const IfmNode *node);

/**
 * ifm_regions_expand: The model with the nodes that its regions stand for, for what reads a model but does not run regions:
 * shapes and costs, a reference. Its convolutions have the names that they had.
 * Returns: (transfer full) itself, referenced, where it has no region; NULL with IFM_ERROR_INVALID and one line that names
 * the node and the line of a program that is not as this version writes it.
 */
IfmModel *ifm_regions_expand(IfmModel *model, GError **error);
/** ifm_regions_expand_from: @ends: gsize, appended: of each node of @model, where those end that stand for it: they begin
 * where those of the node before it end */
IfmModel *ifm_regions_expand_from(IfmModel *model, GArray *ends, GError **error);

/** ifm_regions_analyse: ifm_model_analyse() of ifm_regions_expand(): what reads shapes and costs by the names of tensors,
 * or of the whole, and not by node. (transfer full) NULL with the errors of both */
IfmAnalysis *ifm_regions_analyse(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);

/** IfmProgramLayer: a convolution in a program. @algorithm: "any", "winograd 4" */
typedef struct
{
    char *name, *algorithm;
} IfmProgramLayer;

/** ifm_regions_layers: The convolutions of all regions of a model, in their order. Empty where it has none.
 * Returns: (transfer full) IfmProgramLayer */
GArray *ifm_regions_layers(const IfmModel *model);

G_END_DECLS
