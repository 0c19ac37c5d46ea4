#pragma once
#include <regions/regions.h>

G_BEGIN_DECLS

/* Partitioning, from the bottom: facts.c (shapes and constants), operators.c (a node as a step), products.c (activations
 * that are spelt out), steps.c (all steps, joined), partition.c (which are of one region), program.c (its text), build.c
 * (the model). And back: expand.c. */

/* Facts: of the model that is partitioned. Shapes are inferred at two sizes of each free dimension: what holds at both is
 * taken to hold at all. */
typedef struct
{
    IfmModel *model;
    IfmAnalysis *analyses[2];
    GHashTable *outputs; /* names of the model's outputs */
} Facts;

/* Shape4: of a tensor of rank 4, f32, at both sizes. */
typedef struct
{
    gint64 dims[2][4];
} Shape4;

gboolean regions_facts_init(Facts *facts, IfmModel *model, GError **error);
void regions_facts_clear(Facts *facts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Facts, regions_facts_clear)

gboolean regions_shape(const Facts *facts, const char *name, Shape4 *shape);
/* regions_fixed: Returns: the length of an axis; -1 where it depends on free dimensions. */
gint64 regions_fixed(const Shape4 *shape, int axis);
/* regions_constant: f32 that do not change; the bytes may be unaligned. */
gboolean regions_constant(const Facts *facts, const char *name, IfmTensor *tensor);
float regions_constant_at(const IfmTensor *tensor, gint64 index);
/* regions_scalar: a constant of one number */
gboolean regions_scalar(const Facts *facts, const char *name, float *value);
/* regions_is_inner: Whether a tensor is read by one node alone, and is no output of the model. @reader: (out) */
gboolean regions_is_inner(const Facts *facts, const char *name, gsize *reader);

/* regions_input, regions_output: NULL where it is left out */
static inline const char *regions_input(const IfmNode *node, gsize index)
{
    return index < node->n_inputs && *node->inputs[index] != '\0' ? node->inputs[index] : NULL;
}
static inline const char *regions_output(const IfmNode *node, gsize index)
{
    return index < node->n_outputs && *node->outputs[index] != '\0' ? node->outputs[index] : NULL;
}
static inline gboolean regions_is(const IfmNode *node, const char *op_type)
{
    return *node->domain == '\0' && g_str_equal(node->op_type, op_type);
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

/* Activation: @name: as programs have it; NULL: none */
typedef struct
{
    const char *name;
    float alpha, beta;
} Activation;

/* Constant: @name: of an initializer; else @values: numbers that were made, [channels] */
typedef struct
{
    const char *name;
    float *values;
    gint64 n;
} Constant;

/* Step: one line of a program, or a node that no program has. */
typedef struct
{
    gsize node;         /* that makes @output */
    const char *word;   /* "conv"; NULL: no program has it, or is_alias */
    const char *output; /* NULL: it is of no program */
    GPtrArray *values;  /* names of the tensors that it reads */
    GArray *constants;  /* Constant */
    char *settings;     /* the words behind them */
    const char *sum;    /* of a convolution: what is added; NULL */
    char *layer;        /* the name of a convolution */
    guint conv;         /* its number in the report */
    Activation act;
    gboolean has_act;   /* an activation is among its words */
    gboolean is_alias;  /* its output is its input */
    gboolean is_equal;  /* of an add: of equal shapes */
    const char *why;    /* a convolution that no program has: the reason */
    gboolean is_joined; /* another step has become it */
    guint level;
    guint region; /* from 1; 0: none */
} Step;

void regions_step_free(gpointer step);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Step, regions_step_free)
static inline gboolean regions_is_supported(const Step *step)
{
    return step->output != NULL;
}

/* regions_read_node: What a node is as a step. @step: of a node, empty    Returns: NULL, or why no program has it. */
const char *regions_read_node(const Facts *facts, const IfmNode *node, Step *step);
/* regions_read_product: Whether a node is the last of an activation that is spelt out. @inner: (inout) gsize, indices of
 * the nodes before it are added */
gboolean regions_read_product(const Facts *facts, const IfmNode *node, Step *step, GArray *inner);

/* Partition: @steps: Step*, in the order of their nodes    @owners: [nodes] the index of the step that a node is of
 * @n_regions: those with a convolution */
typedef struct
{
    Facts *facts;
    GPtrArray *steps;
    gsize *owners;
    guint n_regions;
} Partition;

/* regions_read_steps: What the nodes are as steps: sums and activations are joined to the step before them. */
void regions_read_steps(Partition *partition, Facts *facts);
void regions_partition_clear(Partition *partition);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Partition, regions_partition_clear)
/* regions_number: Numbers the regions in the order of their first step. */
void regions_number(Partition *partition, const IfmRegionsOptions *options);
/* regions_maker: Returns: the step that makes a tensor; NULL: none does */
Step *regions_maker(const Partition *partition, const char *tensor);

/* regions_stays_blocked: Whether a tensor goes from a region to regions alone: it stays in blocks then. */
gboolean regions_stays_blocked(const Partition *partition, const char *tensor);

/* Program: the text of a region, and what its node reads and makes. @constants, @made: of programs of one model: name of an
 * initializer that a region reads; initializers that are new */
typedef struct
{
    const Partition *partition;
    guint region;
    const IfmRegionsOptions *options;
    IfmModelBuilder *builder;
    GHashTable *taken, *constants; /* names: of the model and what was made, of constants of regions */
    GString *text;
    GPtrArray *values, *weights, *outputs; /* const char*: of the node */
    GHashTable *numbers, *weight_numbers;  /* name -> number + 1 */
    guint n_values;                        /* so far */
} Program;

/* regions_program_init: Writes the program. New initializers go to @builder. @taken: names, to which theirs are added
 * @constants: (inout) names of the initializers that it reads */
void regions_program_init(Program *program, const Partition *partition, guint region, const IfmRegionsOptions *options,
                          IfmModelBuilder *builder, GHashTable *taken, GHashTable *constants);
void regions_program_clear(Program *program);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Program, regions_program_clear)

G_END_DECLS
