/* Regions as the nodes that they stand for: what reads a tuned model but does not run it knows no regions. */
#include <base/base.h>
#include <string.h>

#include "regions-private.h"

/* Expansion: of one region. @words: of the line in hand, @at: the next one */
typedef struct
{
    const IfmModel *model;
    const IfmNode *node;
    IfmModelBuilder *builder;
    gint64 opset;
    gsize n_values;    /* inputs of the node that are no constants */
    GPtrArray *values; /* char*: names of v0, v1, … */
    gsize n_read, n_made;
    guint n_names;
    char **words;
    gsize at, line;
    GError **error;
} Expansion;

static gboolean fail(Expansion *self, const char *what)
{
    if (self->error == NULL || *self->error == NULL)
        ifm_error_refuse(self->error, "%s: line %zu of its program: %s", self->node->name, self->line, what);
    return FALSE;
}

/* --- words ------------------------------------------------------------------------------------------------------------ */

static const char *word(Expansion *self)
{
    return self->words[self->at] != NULL ? self->words[self->at++] : "";
}

static gboolean expect(Expansion *self, const char *what)
{
    if (g_str_equal(word(self), what))
        return TRUE;
    g_autofree char *text = g_strdup_printf("\"%s\" is missing", what);
    return fail(self, text);
}

static gboolean read_ints(Expansion *self, const char *name, gint64 *values, gsize n)
{
    if (*name != '\0' && !expect(self, name))
        return FALSE;
    for (gsize i = 0; i < n; i++)
        if (!g_ascii_string_to_signed(word(self), 10, 0, G_MAXINT32, &values[i], NULL))
            return fail(self, "a number is missing");
    return TRUE;
}

static gboolean read_float(Expansion *self, double *value)
{
    const char *text = word(self);
    char *end;
    *value = g_ascii_strtod(text, &end);
    return (end != text && *end == '\0') || fail(self, "a number is missing");
}

/* "v3": the name of that value. NULL: there is none */
static const char *read_value(Expansion *self)
{
    const char *text = word(self);
    guint64 number;
    if (*text == 'v' && g_ascii_string_to_unsigned(text + 1, 10, 0, G_MAXINT32, &number, NULL) &&
        number < self->values->len)
        return self->values->pdata[number];
    fail(self, "a value that is not there");
    return NULL;
}

/* "w3", or "-": "". NULL: there is none */
static const char *read_weight(Expansion *self)
{
    const char *text = word(self);
    guint64 number;
    if (g_str_equal(text, "-"))
        return "";
    if (*text == 'w' && g_ascii_string_to_unsigned(text + 1, 10, 0, G_MAXINT32, &number, NULL) &&
        number < self->node->n_inputs - self->n_values)
        return self->node->inputs[self->n_values + number];
    fail(self, "a constant that is not there");
    return NULL;
}

static gboolean is_at_end(Expansion *self)
{
    return self->words[self->at] == NULL || fail(self, "it goes on behind its end");
}

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

static char *new_name(Expansion *self)
{
    return g_strdup_printf("%s/%u", self->node->name, self->n_names++);
}

static void add_value(Expansion *self, char *name /* (transfer full) */)
{
    g_ptr_array_add(self->values, name);
}

/* A node of one output. @b: NULL: it has one input    Returns: (transfer full) the output's name; @node: (out) (optional)
 */
static char *emit(Expansion *self, const char *op_type, const char *name, const char *a, const char *b, gsize *node)
{
    char *output = new_name(self);
    const char *inputs[] = { a, b, NULL }, *outputs[] = { output, NULL };
    const gsize index = ifm_model_builder_node(self->builder, op_type, name != NULL ? name : output, inputs, outputs);
    if (node != NULL)
        *node = index;
    return output;
}

static char *constant(Expansion *self, int rank, const gint64 *shape, const float *values)
{
    char *name = new_name(self);
    IfmTensor tensor;
    if (ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, rank, shape, (void *)values, NULL))
        ifm_model_builder_weight(self->builder, name, &tensor);
    return name;
}

static char *with_number(Expansion *self, const char *op_type, const char *a, float value)
{
    g_autofree char *number = constant(self, 0, NULL, &value);
    return emit(self, op_type, NULL, a, number, NULL);
}

static char *times(Expansion *self, const char *x, char *factor /* (transfer full) */)
{
    g_autofree char *taken = factor;
    return emit(self, "Mul", NULL, x, taken, NULL);
}

static char *emit_clip(Expansion *self, const char *x, const double bounds[2])
{
    gsize node;
    char *output;
    if (self->opset < 11)
    {
        output = emit(self, "Clip", NULL, x, NULL, &node);
        ifm_model_builder_float(self->builder, node, "min", bounds[0]);
        ifm_model_builder_float(self->builder, node, "max", bounds[1]);
        return output;
    }
    g_autofree char *low = constant(self, 0, NULL, &(float){ (float)bounds[0] });
    g_autofree char *high = constant(self, 0, NULL, &(float){ (float)bounds[1] });
    output = new_name(self);
    ifm_model_builder_node(self->builder, "Clip", output, (const char *const[]){ x, low, high, NULL },
                           (const char *const[]){ output, NULL });
    return output;
}

static char *emit_gelu(Expansion *self, const char *x)
{
    g_autofree char *scaled = with_number(self, "Mul", x, (float)(1 / G_SQRT2));
    g_autofree char *erf = emit(self, "Erf", NULL, scaled, NULL, NULL);
    g_autofree char *more = with_number(self, "Add", erf, 1);
    g_autofree char *half = with_number(self, "Mul", x, 0.5F);
    return emit(self, "Mul", NULL, half, more, NULL);
}

static char *emit_hard_sigmoid(Expansion *self, const char *x, double alpha, double beta)
{
    gsize node;
    char *output = emit(self, "HardSigmoid", NULL, x, NULL, &node);
    ifm_model_builder_float(self->builder, node, "alpha", alpha);
    ifm_model_builder_float(self->builder, node, "beta", beta);
    return output;
}

/* @x: (transfer full)    Returns: (transfer full) what the activation makes of it; NULL: there is no such one */
static char *emit_act(Expansion *self, char *x, const char *name, const double of[2])
{
    static const char *const plain[][2] = { { "relu", "Relu" }, { "sigmoid", "Sigmoid" }, { "tanh", "Tanh" } };
    g_autofree char *taken = x;
    gsize node;
    char *output = NULL;
    if (g_str_equal(name, "none"))
        return g_steal_pointer(&taken);
    for (gsize i = 0; i < G_N_ELEMENTS(plain); i++)
        if (g_str_equal(name, plain[i][0]))
            return emit(self, plain[i][1], NULL, x, NULL, NULL);
    if (g_str_equal(name, "clip"))
        return emit_clip(self, x, of);
    if (g_str_equal(name, "hard_sigmoid"))
        return emit_hard_sigmoid(self, x, of[0], of[1]);
    if (g_str_equal(name, "hard_swish"))
        return times(self, x, emit_hard_sigmoid(self, x, 1 / 6.0, 0.5));
    if (g_str_equal(name, "silu"))
        return times(self, x, emit(self, "Sigmoid", NULL, x, NULL, NULL));
    if (g_str_equal(name, "gelu"))
        return emit_gelu(self, x);
    if (!g_str_equal(name, "leaky_relu"))
    {
        fail(self, "an activation that is not known");
        return NULL;
    }
    output = emit(self, "LeakyRelu", NULL, x, NULL, &node);
    ifm_model_builder_float(self->builder, node, "alpha", of[0]);
    return output;
}

/* The words "NAME ALPHA BETA", and the value that they make of @x (transfer full). */
static gboolean finish_act(Expansion *self, char *x)
{
    const char *name = word(self);
    double of[2];
    if (!read_float(self, &of[0]) || !read_float(self, &of[1]))
    {
        g_free(x);
        return FALSE;
    }
    char *output = emit_act(self, x, name, of);
    if (output != NULL)
        add_value(self, output);
    return output != NULL;
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

static gboolean step_input(Expansion *self)
{
    const char *kind = word(self);
    gint64 channels;
    if (!g_str_equal(kind, "nchw") && (!g_str_equal(kind, "blocked") || !read_ints(self, "", &channels, 1)))
        return fail(self, "an input of another kind");
    if (self->n_read == self->n_values)
        return fail(self, "more inputs than the node has");
    add_value(self, g_strdup(self->node->inputs[self->n_read++]));
    return TRUE;
}

static gboolean step_output(Expansion *self)
{
    const char *kind = word(self), *value = read_value(self);
    if (value == NULL || (!g_str_equal(kind, "nchw") && !g_str_equal(kind, "blocked")))
        return fail(self, "an output of another kind");
    if (self->n_made == self->node->n_outputs)
        return fail(self, "more outputs than the node has");
    g_autofree char *name = new_name(self);
    ifm_model_builder_node(self->builder, "Identity", name, (const char *const[]){ value, NULL },
                           (const char *const[]){ self->node->outputs[self->n_made++], NULL });
    return TRUE;
}

static gboolean read_window(Expansion *self, gsize node, gboolean has_dilation)
{
    gint64 kernel[2], stride[2], dilation[2], pads[4];
    if (!read_ints(self, "kernel", kernel, 2) || !read_ints(self, "stride", stride, 2) ||
        (has_dilation && !read_ints(self, "dilation", dilation, 2)) || !read_ints(self, "pads", pads, 4))
        return FALSE;
    ifm_model_builder_ints(self->builder, node, "kernel_shape", kernel, 2);
    ifm_model_builder_ints(self->builder, node, "strides", stride, 2);
    ifm_model_builder_ints(self->builder, node, "pads", pads, 4);
    if (has_dilation && (dilation[0] != 1 || dilation[1] != 1)) /* a pool has it since opset 10 */
        ifm_model_builder_ints(self->builder, node, "dilations", dilation, 2);
    return TRUE;
}

/* The node comes first, since it has its attributes from the words behind it; the name is the last of those. */
static gboolean step_conv(Expansion *self)
{
    const char *x = read_value(self), *w = read_weight(self), *b = w != NULL ? read_weight(self) : NULL;
    const gboolean has_sum = g_strcmp0(self->words[self->at], "-") != 0;
    const char *sum = has_sum ? read_value(self) : word(self);
    gsize name = self->at, node;
    gint64 groups;
    while (self->words[name] != NULL && !g_str_equal(self->words[name], "name"))
        name++;
    if (x == NULL || b == NULL || sum == NULL || *w == '\0' || self->words[name] == NULL)
        return fail(self, "a convolution without a part");
    g_autofree char *layer = g_strjoinv(" ", self->words + name + 1);
    g_autofree char *made = new_name(self);
    char *output = NULL;
    node = ifm_model_builder_node(self->builder, "Conv", layer, (const char *const[]){ x, w, *b != '\0' ? b : NULL, NULL },
                                  (const char *const[]){ made, NULL });
    if (!read_window(self, node, TRUE) || !read_ints(self, "group", &groups, 1) || !expect(self, "act"))
        return FALSE;
    ifm_model_builder_int(self->builder, node, "group", groups);
    output = has_sum ? emit(self, "Add", NULL, made, sum, NULL) : g_steal_pointer(&made);
    return finish_act(self, output) && expect(self, "algorithm");
}

static gboolean step_pool(Expansion *self, const char *op_type)
{
    const gboolean is_max = g_str_equal(op_type, "MaxPool");
    const char *x = read_value(self);
    gint64 ceil, include = 0;
    gsize node;
    if (x == NULL)
        return FALSE;
    add_value(self, emit(self, op_type, NULL, x, NULL, &node));
    if (!read_window(self, node, is_max) || !read_ints(self, "ceil", &ceil, 1) ||
        (!is_max && !read_ints(self, "include_pad", &include, 1)))
        return FALSE;
    if (ceil != 0)
        ifm_model_builder_int(self->builder, node, "ceil_mode", 1);
    if (include != 0)
        ifm_model_builder_int(self->builder, node, "count_include_pad", 1);
    return is_at_end(self);
}

static gboolean step_max_pool(Expansion *self)
{
    return step_pool(self, "MaxPool");
}

static gboolean step_average_pool(Expansion *self)
{
    return step_pool(self, "AveragePool");
}

static gboolean step_global_pool(Expansion *self)
{
    const char *x = read_value(self);
    if (x != NULL)
        add_value(self, emit(self, "GlobalAveragePool", NULL, x, NULL, NULL));
    return x != NULL && is_at_end(self);
}

static gboolean step_binary(Expansion *self, const char *op_type)
{
    const char *a = read_value(self), *b = a != NULL ? read_value(self) : NULL;
    return b != NULL && expect(self, "act") && finish_act(self, emit(self, op_type, NULL, a, b, NULL)) && is_at_end(self);
}

static gboolean step_add(Expansion *self)
{
    return step_binary(self, "Add");
}

static gboolean step_mul(Expansion *self)
{
    return step_binary(self, "Mul");
}

/* A constant [channels] as [channels, 1, 1]. */
static char *spread(Expansion *self, const char *name)
{
    IfmTensor tensor;
    if (name == NULL || !ifm_model_initializer(self->model, name, &tensor) || tensor.dtype != IFM_DTYPE_F32)
    {
        fail(self, "a constant that is none of the model");
        return NULL;
    }
    const gint64 n = ifm_tensor_n_elements(&tensor);
    g_autofree float *none = tensor.data == NULL ? g_new0(float, n) : NULL; /* an outline's: its shape alone is asked for */
    return constant(self, 3, (const gint64[]){ n, 1, 1 }, none != NULL ? none : tensor.data);
}

static gboolean step_scale(Expansion *self)
{
    const char *x = read_value(self);
    g_autofree char *factor = x != NULL ? spread(self, read_weight(self)) : NULL;
    g_autofree char *term = factor != NULL ? spread(self, read_weight(self)) : NULL;
    if (term == NULL || !expect(self, "act"))
        return FALSE;
    g_autofree char *product = emit(self, "Mul", NULL, x, factor, NULL);
    return finish_act(self, emit(self, "Add", NULL, product, term, NULL)) && is_at_end(self);
}

static gboolean step_act(Expansion *self)
{
    const char *x = read_value(self);
    return x != NULL && finish_act(self, g_strdup(x)) && is_at_end(self);
}

static gboolean step_concat(Expansion *self)
{
    g_autoptr(GPtrArray) inputs = g_ptr_array_new();
    char *output = new_name(self);
    while (self->words[self->at] != NULL)
    {
        const char *value = read_value(self);
        if (value != NULL)
            g_ptr_array_add(inputs, (gpointer)value);
        else
            break;
    }
    const gboolean good = inputs->len > 0 && self->words[self->at] == NULL && (self->error == NULL || *self->error == NULL);
    g_ptr_array_add(inputs, NULL);
    const gsize node = ifm_model_builder_node(self->builder, "Concat", output, (const char *const *)inputs->pdata,
                                              (const char *const[]){ output, NULL });
    ifm_model_builder_int(self->builder, node, "axis", 1);
    add_value(self, output);
    return good || fail(self, "no values");
}

static gboolean step_resize(Expansion *self)
{
    const char *x = read_value(self);
    gint64 factors[2];
    if (x == NULL || !read_ints(self, "", factors, 2))
        return FALSE;
    const float scales[] = { 1, 1, (float)factors[0], (float)factors[1] };
    g_autofree char *named = constant(self, 1, (const gint64[]){ 4 }, scales);
    char *output = new_name(self);
    const gboolean is_late = self->opset >= 11;
    const gsize node =
        ifm_model_builder_node(self->builder, self->opset >= 10 ? "Resize" : "Upsample", output,
                               (const char *const[]){ x, is_late ? "" : named, is_late ? named : NULL, NULL },
                               (const char *const[]){ output, NULL });
    if (is_late)
    {
        ifm_model_builder_string(self->builder, node, "coordinate_transformation_mode", "asymmetric");
        ifm_model_builder_string(self->builder, node, "nearest_mode", "floor");
    }
    add_value(self, output);
    return is_at_end(self);
}

#define FIRST_LINE "region " G_STRINGIFY(IFM_REGION_VERSION)

/* --- a program -------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *word;
    gboolean (*expand)(Expansion *self);
} steps[] = {
    { "input", step_input },
    { "output", step_output },
    { "conv", step_conv },
    { "max_pool", step_max_pool },
    { "average_pool", step_average_pool },
    { "global_average_pool", step_global_pool },
    { "add", step_add },
    { "mul", step_mul },
    { "scale", step_scale },
    { "act", step_act },
    { "concat", step_concat },
    { "resize", step_resize },
};

static gboolean expand_line(Expansion *self, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    self->words = words;
    self->at = 0;
    if (self->line == 1)
        return g_str_equal(line, FIRST_LINE) || fail(self, "it is no program, or one of another version of inferometer");
    const char *first = word(self);
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
        if (g_str_equal(first, steps[i].word))
            return steps[i].expand(self);
    return fail(self, "a step that is not known");
}

static gboolean expand_region(const IfmModel *model, const IfmNode *node, IfmModelBuilder *builder, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
    const gint64 n_values = ifm_node_int(node, "n_values", -1);
    Expansion self = {
        .model = model, .node = node, .builder = builder, .opset = ifm_model_opset(model), .values = values, .error = &local
    };
    g_auto(GStrv) lines = g_strsplit(ifm_regions_program(node), "\n", -1);
    gboolean good = n_values >= 0 && (gsize)n_values <= node->n_inputs;
    self.n_values = good ? (gsize)n_values : 0;
    for (; good && lines[self.line] != NULL && (*lines[self.line] != '\0' || lines[self.line + 1] != NULL);)
        good = expand_line(&self, lines[self.line++]); /* lines are counted from 1 */
    if (good && (self.n_read != self.n_values || self.n_made != node->n_outputs))
        good = FALSE;
    if (!good && local == NULL)
        ifm_error_refuse(&local, "%s: its program has other inputs or outputs than the node", node->name);
    return good || ifm_error_pass(error, g_steal_pointer(&local));
}

IfmModel *ifm_regions_expand(IfmModel *model, GError **error)
{
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(gsize));
    return ifm_regions_are_in(model) ? ifm_regions_expand_from(model, ends, error) : ifm_model_ref(model);
}

IfmModel *ifm_regions_expand_from(IfmModel *model, GArray *ends, GError **error)
{
    if (!ifm_regions_check_version(model, error))
        return NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(ifm_model_name(model), ifm_model_opset(model));
    ifm_model_builder_copy_inputs(builder, model);
    ifm_model_builder_copy_outputs(builder, model);
    ifm_model_builder_copy_context(builder, model);
    ifm_model_builder_copy_metadata(builder, model);
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        ifm_model_builder_copy_weight(builder, model, ifm_model_initializer_name(model, i));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (ifm_regions_program(node) == NULL)
            ifm_model_builder_copy_node(builder, node);
        else if (!expand_region(model, node, builder, error))
            return NULL;
        const gsize end = ifm_model_builder_n_nodes(builder);
        g_array_append_val(ends, end);
    }
    ifm_model_builder_drop_domains(builder);
    return ifm_model_builder_finish(builder, error);
}

IfmAnalysis *ifm_regions_analyse(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error)
{
    g_autoptr(IfmModel) plain = ifm_regions_expand(model, error);
    return plain != NULL ? ifm_model_analyse(plain, bindings, n_bindings, error) : NULL;
}
