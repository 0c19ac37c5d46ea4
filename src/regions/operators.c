/* A node as a step of a region: what of its operator a program can say. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "regions-private.h"

typedef struct
{
    const Facts *facts;
    const IfmNode *node;
    Step *step;
    Shape4 in, out; /* of the first input and output */
} Reading;

/* A reading returns NULL, or why no program has the node. */
typedef const char *Read(Reading *self);

static void add_constant(Step *step, const char *name, float *values, gint64 n)
{
    const Constant constant = { .name = name, .values = values, .n = n };
    g_array_append_val(step->constants, constant);
}

/* --- windows ---------------------------------------------------------------------------------------------------------- */

static gboolean read_ints(const IfmNode *node, const char *attribute, gint64 *values, gsize n, gint64 fallback)
{
    gsize n_found = 0;
    const gint64 *found = ifm_node_ints(node, attribute, &n_found);
    for (gsize i = 0; i < n; i++)
        values[i] = found != NULL && n_found == n ? found[i] : fallback;
    return n_found == 0 || n_found == n;
}

typedef struct
{
    gint64 kernel[2], stride[2], dilation[2], pads[4];
} Window;

static gboolean is_in_range(const gint64 *values, gsize n, gint64 least)
{
    for (gsize i = 0; i < n; i++)
        if (values[i] < least || values[i] > G_MAXINT32)
            return FALSE;
    return TRUE;
}

/* What auto_pad means depends on sizes where the stride is not 1: a free one may be odd or even. */
static gboolean find_pads(const Reading *self, Window *window)
{
    const char *automatic = ifm_node_string(self->node, "auto_pad", "NOTSET");
    for (int axis = 0; axis < 2; axis++)
    {
        const gint64 reach = (window->kernel[axis] - 1) * window->dilation[axis] + 1;
        gint64 pads[] = { window->pads[axis], window->pads[axis + 2] };
        if (g_str_has_prefix(automatic, "SAME") && window->stride[axis] != 1 && regions_fixed(&self->in, axis + 2) < 0)
            return FALSE;
        ifm_window_pads(automatic, self->in.dims[0][axis + 2], window->stride[axis], reach, pads);
        window->pads[axis] = pads[0];
        window->pads[axis + 2] = pads[1];
    }
    return TRUE;
}

/* @kernel: [2] that of the weights; NULL: the attribute alone says it */
static const char *read_window(const Reading *self, const gint64 *kernel, Window *window)
{
    gsize n = 0;
    const gint64 *said = ifm_node_ints(self->node, "kernel_shape", &n);
    if ((said != NULL && n != 2) || (said == NULL && kernel == NULL))
        return "a window that is not of two dimensions";
    memcpy(window->kernel, said != NULL ? said : kernel, sizeof window->kernel);
    if (kernel != NULL && memcmp(window->kernel, kernel, sizeof window->kernel) != 0)
        return "a window of another size than its weights";
    if (!read_ints(self->node, "strides", window->stride, 2, 1) ||
        !read_ints(self->node, "dilations", window->dilation, 2, 1) || !read_ints(self->node, "pads", window->pads, 4, 0))
        return "a window that is not of two dimensions";
    if (!is_in_range(window->kernel, 2, 1) || !is_in_range(window->stride, 2, 1) || !is_in_range(window->dilation, 2, 1))
        return "a window of no size";
    if (!find_pads(self, window))
        return "pads that depend on the input's size";
    return is_in_range(window->pads, 4, 0) ? NULL : "negative pads";
}

static void say_ints(GString *text, const char *word, const gint64 *values, gsize n)
{
    g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", word);
    for (gsize i = 0; i < n; i++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, values[i]);
}

static GString *say_window(const Window *window, gboolean has_dilation)
{
    GString *text = g_string_new(NULL);
    say_ints(text, "kernel", window->kernel, 2);
    say_ints(text, "stride", window->stride, 2);
    if (has_dilation)
        say_ints(text, "dilation", window->dilation, 2);
    say_ints(text, "pads", window->pads, 4);
    return text;
}

/* --- convolutions ----------------------------------------------------------------------------------------------------- */

static char *layer_name(const IfmNode *node)
{
    char *name = g_strstrip(g_strdup(*node->name != '\0' ? node->name : node->outputs[0]));
    for (char *c = name; *c != '\0'; c++)
        if ((guchar)*c < ' ' || *c == 0x7f) /* a step is a line */
            *c = '_';
    return name;
}

static const char *check_weights(const Reading *self, const IfmTensor *weights, gint64 groups)
{
    const gint64 channels = regions_fixed(&self->in, 1);
    if (weights->rank != 4)
        return "not of two dimensions";
    if (groups < 1 || channels < 1 || channels % groups != 0 || weights->shape[0] % groups != 0 ||
        weights->shape[1] != channels / groups || weights->shape[0] < 1)
        return "weights of other channels than its input";
    return NULL;
}

static const char *read_conv(Reading *self)
{
    const IfmNode *node = self->node;
    const char *w = regions_input(node, 1), *b = regions_input(node, 2);
    const gint64 groups = ifm_node_int(node, "group", 1);
    IfmTensor weights, bias;
    Window window;
    if (!regions_constant(self->facts, w, &weights) || (b != NULL && !regions_constant(self->facts, b, &bias)))
        return "weights that are no constants";
    const char *why = check_weights(self, &weights, groups);
    if (why == NULL && b != NULL && (bias.rank != 1 || bias.shape[0] != weights.shape[0]))
        why = "a bias of other channels";
    if (why == NULL)
        why = read_window(self, weights.shape + 2, &window);
    if (why != NULL)
        return why;
    GString *text = say_window(&window, TRUE);
    say_ints(text, "group", &groups, 1);
    add_constant(self->step, w, NULL, 0);
    add_constant(self->step, b != NULL ? b : "-", NULL, 0);
    self->step->settings = g_string_free(text, FALSE);
    self->step->layer = layer_name(node);
    self->step->word = "conv";
    self->step->has_act = TRUE;
    return NULL;
}

/* --- pooling ---------------------------------------------------------------------------------------------------------- */

static const char *read_pool(Reading *self)
{
    const gboolean is_max = regions_is(self->node, "MaxPool");
    Window window;
    const char *why = read_window(self, NULL, &window);
    if (why != NULL)
        return why;
    if (regions_output(self->node, 1) != NULL || ifm_node_int(self->node, "storage_order", 0) != 0)
        return "indices";
    if (!is_max && (window.dilation[0] != 1 || window.dilation[1] != 1))
        return "a dilated average";
    GString *text = say_window(&window, is_max);
    g_string_append_printf(text, " ceil %d", ifm_node_int(self->node, "ceil_mode", 0) != 0);
    if (!is_max)
        g_string_append_printf(text, " include_pad %d", ifm_node_int(self->node, "count_include_pad", 0) != 0);
    self->step->settings = g_string_free(text, FALSE);
    self->step->word = is_max ? "max_pool" : "average_pool";
    return NULL;
}

static const char *read_global_pool(Reading *self)
{
    self->step->word = "global_average_pool";
    return NULL;
}

static const char *read_mean(Reading *self)
{
    gint64 values[IFM_ANALYSIS_MAX_INTS] = { 0 };
    gsize n = 0;
    const gint64 *axes = ifm_node_ints(self->node, "axes", &n);
    const char *tensor = regions_input(self->node, 1);
    if (axes == NULL && tensor != NULL && ifm_analysis_ints(self->facts->analyses[0], tensor, values, &n))
        axes = values;
    const gboolean is_spatial = axes != NULL && n == 2 && MIN((axes[0] + 4) % 4, (axes[1] + 4) % 4) == 2 &&
                                MAX((axes[0] + 4) % 4, (axes[1] + 4) % 4) == 3;
    if (!is_spatial || ifm_node_int(self->node, "keepdims", 1) == 0)
        return "other axes than rows and columns";
    self->step->word = "global_average_pool";
    return NULL;
}

/* --- activations ------------------------------------------------------------------------------------------------------ */

static const char *set_act(Reading *self, const char *name, double alpha, double beta)
{
    if (!isfinite(alpha) || !isfinite(beta))
        return "a parameter that is no number";
    self->step->act = (Activation){ .name = name, .alpha = (float)alpha, .beta = (float)beta };
    self->step->word = "act";
    return NULL;
}

static const char *read_clip(Reading *self)
{
    float bounds[2] = { (float)ifm_node_float(self->node, "min", -(double)FLT_MAX),
                        (float)ifm_node_float(self->node, "max", (double)FLT_MAX) };
    for (gsize i = 0; i < 2; i++)
        if (regions_input(self->node, i + 1) != NULL &&
            !regions_scalar(self->facts, regions_input(self->node, i + 1), &bounds[i]))
            return "bounds that are no constants";
    return set_act(self, "clip", (double)CLAMP(bounds[0], -FLT_MAX, FLT_MAX), (double)CLAMP(bounds[1], -FLT_MAX, FLT_MAX));
}

static const char *read_prelu(Reading *self)
{
    float slope;
    return regions_scalar(self->facts, regions_input(self->node, 1), &slope) ? set_act(self, "leaky_relu", (double)slope, 0)
                                                                             : "a slope for each channel";
}

static const char *read_gelu(Reading *self)
{
    return g_str_equal(ifm_node_string(self->node, "approximate", "none"), "none") ? set_act(self, "gelu", 0, 0)
                                                                                   : "an approximation";
}

static const char *read_act(Reading *self)
{
    static const struct
    {
        const char *op_type, *name;
        double alpha, beta;
    } plain[] = { { "Relu", "relu" }, { "LeakyRelu", "leaky_relu", 0.01 },         { "Sigmoid", "sigmoid" },
                  { "Tanh", "tanh" }, { "HardSigmoid", "hard_sigmoid", 0.2, 0.5 }, { "HardSwish", "hard_swish" } };
    for (gsize i = 0; i < G_N_ELEMENTS(plain); i++)
        if (regions_is(self->node, plain[i].op_type))
            return set_act(self, plain[i].name, ifm_node_float(self->node, "alpha", plain[i].alpha),
                           ifm_node_float(self->node, "beta", plain[i].beta));
    return "an activation that is not known here";
}

/* --- sums, products, scales ------------------------------------------------------------------------------------------- */

/* How one tensor lies along another: of its shape, or one number for each picture and channel, or one channel. */
typedef enum
{
    OTHER,
    EQUAL,
    OF_CHANNELS,
    OF_PIXELS
} Lie;

static Lie lie_of(const Shape4 *small, const Shape4 *large)
{
    gboolean same[4] = { TRUE, TRUE, TRUE, TRUE }, one[4] = { TRUE, TRUE, TRUE, TRUE };
    for (int i = 0; i < 2; i++)
        for (int axis = 0; axis < 4; axis++)
        {
            same[axis] &= small->dims[i][axis] == large->dims[i][axis];
            one[axis] &= small->dims[i][axis] == 1;
        }
    if (same[0] && same[1] && same[2] && same[3])
        return EQUAL;
    if (same[0] && same[1] && one[2] && one[3])
        return OF_CHANNELS;
    return same[0] && one[1] && same[2] && same[3] ? OF_PIXELS : OTHER;
}

/* Numbers of a constant that is one for each channel, or one for all. (transfer full) NULL: it is neither */
static float *channel_values(const IfmTensor *tensor, gint64 channels)
{
    const gint64 n = ifm_tensor_n_elements(tensor);
    const int axis = tensor->rank - 3; /* of channels */
    if (tensor->rank > 4 || (n != 1 && (n != channels || axis < 0 || tensor->shape[axis] != channels)))
        return NULL;
    float *values = g_new(float, (gsize)channels);
    for (gint64 c = 0; c < channels; c++)
        values[c] = regions_constant_at(tensor, n == 1 ? 0 : c);
    return values;
}

static void set_scale(Step *step, float *factors, float *terms, gint64 channels)
{
    add_constant(step, NULL, factors, channels);
    add_constant(step, NULL, terms, channels);
    step->word = "scale";
    step->has_act = TRUE;
}

/* @constant: input 0 or 1 of Add, Sub, Mul or Div, the other is a tensor */
static const char *read_scale(Reading *self, gsize constant, const IfmTensor *tensor)
{
    const char *op_type = self->node->op_type;
    const gint64 channels = regions_fixed(&self->out, 1);
    const gboolean is_last = constant == 1, is_term = g_str_equal(op_type, "Add") || g_str_equal(op_type, "Sub");
    Shape4 in;
    if (!regions_shape(self->facts, regions_input(self->node, 1 - constant), &in) || lie_of(&in, &self->out) != EQUAL ||
        channels < 1 || (!is_last && (g_str_equal(op_type, "Sub") || g_str_equal(op_type, "Div"))))
        return "a constant before the tensor";
    float *values = channel_values(tensor, channels);
    if (values == NULL)
        return "a constant that is not one for each channel";
    float *others = g_new(float, (gsize)channels);
    for (gint64 c = 0; c < channels; c++)
    {
        others[c] = is_term ? 1 : 0;
        if (g_str_equal(op_type, "Sub"))
            values[c] = -values[c];
        if (g_str_equal(op_type, "Div"))
            values[c] = 1 / values[c];
    }
    set_scale(self->step, is_term ? others : values, is_term ? values : others, channels);
    g_ptr_array_remove_index(self->step->values, (guint)constant);
    return NULL;
}

static const char *read_binary(Reading *self)
{
    const IfmNode *node = self->node;
    const gboolean is_mul = regions_is(node, "Mul");
    IfmTensor tensor;
    if (node->n_inputs != 2)
        return "more than two tensors";
    for (gsize i = 0; i < 2 && !regions_is(node, "Sum"); i++)
        if (regions_constant(self->facts, node->inputs[i], &tensor))
            return read_scale(self, i, &tensor);
    Shape4 a, b;
    if (regions_is(node, "Sub") || regions_is(node, "Div") || !regions_shape(self->facts, node->inputs[0], &a) ||
        !regions_shape(self->facts, node->inputs[1], &b))
        return "of other tensors";
    const Lie first = lie_of(&a, &self->out), second = lie_of(&b, &self->out);
    if (first == OTHER || second == OTHER || (first != EQUAL && second != EQUAL))
        return "shapes that are broadcast otherwise";
    self->step->word = is_mul ? "mul" : "add";
    self->step->has_act = TRUE;
    self->step->is_equal = !is_mul && first == EQUAL && second == EQUAL;
    return NULL;
}

static const char *read_normalisation(Reading *self)
{
    const IfmNode *node = self->node;
    const gint64 channels = regions_fixed(&self->in, 1);
    const double epsilon = ifm_node_float(node, "epsilon", 1e-5);
    IfmTensor parts[4];
    if (ifm_node_int(node, "training_mode", 0) != 0 || ifm_node_int(node, "spatial", 1) == 0 ||
        regions_output(node, 1) != NULL)
        return "of training";
    for (gsize i = 0; i < 4; i++)
        if (!regions_constant(self->facts, regions_input(node, i + 1), &parts[i]) ||
            ifm_tensor_n_elements(&parts[i]) != channels)
            return "statistics that are no constants";
    float *factors = g_new(float, (gsize)channels), *terms = g_new(float, (gsize)channels);
    for (gint64 c = 0; c < channels; c++)
    {
        const double factor =
            (double)regions_constant_at(&parts[0], c) / sqrt((double)regions_constant_at(&parts[3], c) + epsilon);
        factors[c] = (float)factor;
        terms[c] = (float)((double)regions_constant_at(&parts[1], c) - (double)regions_constant_at(&parts[2], c) * factor);
    }
    set_scale(self->step, factors, terms, channels);
    g_ptr_array_set_size(self->step->values, 1);
    return NULL;
}

/* --- movement --------------------------------------------------------------------------------------------------------- */

static const char *read_concat(Reading *self)
{
    const gint64 axis = ifm_node_int(self->node, "axis", 1);
    Shape4 shape;
    if (axis != 1 && axis != -3)
        return "another axis than channels";
    for (gsize i = 0; i < self->node->n_inputs; i++)
        if (ifm_model_producer(self->facts->model, self->node->inputs[i]) < 0 &&
            regions_constant(self->facts, self->node->inputs[i], &(IfmTensor){ 0 }))
            return "a constant among the tensors";
        else if (!regions_shape(self->facts, self->node->inputs[i], &shape) || regions_fixed(&shape, 1) < 1)
            return "channels that are not known";
    self->step->word = "concat";
    return NULL;
}

/* Resize before opset 11, and Upsample. */
static gboolean is_early(const IfmNode *node)
{
    return regions_is(node, "Upsample") || node->n_inputs == 2;
}

/* The pixel of the input that is the nearest to one of the output is, for whole factors, the one that it lies in. */
static gboolean takes_its_own_pixel(const IfmNode *node)
{
    const char *mode = ifm_node_string(node, "nearest_mode", "round_prefer_floor");
    const char *place = ifm_node_string(node, "coordinate_transformation_mode", "half_pixel");
    if (is_early(node))
        return TRUE;
    if (g_str_equal(place, "asymmetric"))
        return g_str_equal(mode, "floor");
    return (g_str_equal(place, "half_pixel") || g_str_equal(place, "pytorch_half_pixel")) &&
           g_str_has_prefix(mode, "round");
}

static gboolean is_fixed(const Reading *self)
{
    for (int axis = 2; axis < 4; axis++)
        if (regions_fixed(&self->in, axis) < 0 || regions_fixed(&self->out, axis) < 0)
            return FALSE;
    return TRUE;
}

/* The scales, where they are given, have to be the factors that the shapes show: 2.2 of 4 rows makes 8, too. */
static gboolean has_scales(const Reading *self, const gint64 factors[2])
{
    gsize n = 0;
    const float *said = ifm_node_floats(self->node, "scales", &n);
    const char *name = regions_input(self->node, is_early(self->node) ? 1 : 2);
    IfmTensor tensor;
    if (said != NULL)
        return n == 4 && said[2] == (float)factors[0] && said[3] == (float)factors[1];
    if (name == NULL || !regions_constant(self->facts, name, &tensor) || ifm_tensor_n_elements(&tensor) == 0)
        return regions_input(self->node, 3) != NULL && is_fixed(self); /* sizes: factors of other images may be others */
    return ifm_tensor_n_elements(&tensor) == 4 && regions_constant_at(&tensor, 2) == (float)factors[0] &&
           regions_constant_at(&tensor, 3) == (float)factors[1];
}

static const char *read_resize(Reading *self)
{
    gint64 factors[2];
    gsize n;
    for (int axis = 0; axis < 4; axis++)
    {
        const gint64 factor = self->in.dims[0][axis] > 0 ? self->out.dims[0][axis] / self->in.dims[0][axis] : 0;
        for (int i = 0; i < 2; i++)
            if (factor < 1 || factor * self->in.dims[i][axis] != self->out.dims[i][axis])
                return "factors that are not whole";
        if (axis < 2 && factor != 1)
            return "of channels";
        if (axis >= 2)
            factors[axis - 2] = factor;
    }
    if (!g_str_equal(ifm_node_string(self->node, "mode", "nearest"), "nearest") || !takes_its_own_pixel(self->node) ||
        ifm_node_ints(self->node, "axes", &n) != NULL || !has_scales(self, factors))
        return "another way to resize";
    self->step->settings = g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, factors[0], factors[1]);
    self->step->word = "resize";
    g_ptr_array_set_size(self->step->values, 1);
    return NULL;
}

static const char *read_alias(Reading *self)
{
    if (regions_output(self->node, 1) != NULL || regions_input(self->node, 2) != NULL)
        return "of training";
    self->step->is_alias = TRUE;
    return NULL;
}

/* --- the table -------------------------------------------------------------------------------------------------------- */

/* @is_of_one: its first input is the only tensor that it reads besides constants */
static const struct
{
    const char *op_type;
    gboolean is_of_one;
    Read *read;
} operators[] = {
    { "Conv", TRUE, read_conv },        { "MaxPool", TRUE, read_pool },
    { "AveragePool", TRUE, read_pool }, { "GlobalAveragePool", TRUE, read_global_pool },
    { "ReduceMean", TRUE, read_mean },  { "Relu", TRUE, read_act },
    { "LeakyRelu", TRUE, read_act },    { "PRelu", TRUE, read_prelu },
    { "Clip", TRUE, read_clip },        { "Sigmoid", TRUE, read_act },
    { "Tanh", TRUE, read_act },         { "HardSigmoid", TRUE, read_act },
    { "HardSwish", TRUE, read_act },    { "Gelu", TRUE, read_gelu },
    { "Add", FALSE, read_binary },      { "Sum", FALSE, read_binary },
    { "Sub", FALSE, read_binary },      { "Mul", FALSE, read_binary },
    { "Div", FALSE, read_binary },      { "BatchNormalization", FALSE, read_normalisation },
    { "Concat", FALSE, read_concat },   { "Resize", FALSE, read_resize },
    { "Upsample", FALSE, read_resize }, { "Identity", TRUE, read_alias },
    { "Dropout", TRUE, read_alias },
};

static const char *read_with(Reading *self, Read *read, gboolean is_of_one)
{
    const IfmNode *node = self->node;
    const gsize n = is_of_one ? 1 : node->n_inputs;
    const gsize data = regions_is(node, "Add") || regions_is(node, "Mul") ? 1 : 0; /* the first may be a constant */
    if (!regions_shape(self->facts, regions_output(node, 0), &self->out) ||
        (!regions_shape(self->facts, regions_input(node, 0), &self->in) &&
         (data == 0 || !regions_shape(self->facts, regions_input(node, data), &self->in))))
        return "not of two dimensions, in f32";
    for (gsize i = 0; i < n; i++)
        g_ptr_array_add(self->step->values, (gpointer)node->inputs[i]);
    return read(self);
}

const char *regions_read_node(const Facts *facts, const IfmNode *node, Step *step)
{
    Reading self = { .facts = facts, .node = node, .step = step };
    if (*node->domain != '\0' || node->n_outputs == 0)
        return "an operator of another domain";
    for (gsize i = 0; i < G_N_ELEMENTS(operators); i++)
        if (g_str_equal(node->op_type, operators[i].op_type))
        {
            const char *why = read_with(&self, operators[i].read, operators[i].is_of_one);
            step->output = why == NULL ? node->outputs[0] : NULL;
            return why;
        }
    return "an operator that no program has";
}
