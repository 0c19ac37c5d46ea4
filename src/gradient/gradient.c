/* The public functions: the tensors to differentiate by, the ports of the new model, the state of a training step. */
#include <string.h>

#include <base/base.h>

#include "backward.h"

/* --- tensors to differentiate by ---------------------------------------------------------------------------------- */

/* source_of: the weight behind Identity nodes: exporters write equal weights once. */
static const char *source_of(const IfmModel *model, const char *name)
{
    for (gssize producer = ifm_model_producer(model, name); producer >= 0; producer = ifm_model_producer(model, name))
    {
        const IfmNode *node = ifm_model_node(model, (gsize)producer);
        if (!g_str_equal(node->op_type, "Identity") || node->n_inputs == 0)
            break;
        name = node->inputs[0];
    }
    return name;
}

/* refuse_name: With the nearest name. @names: (transfer container) */
static void refuse_name(const IfmModel *model, const char *what, const char *name, GPtrArray *names, GError **error)
{
    g_ptr_array_add(names, NULL);
    g_autofree char *hint = ifm_nearest_hint(name, (const char *const *)names->pdata);
    ifm_error_refuse(error, "%s: %s%s", ifm_model_name(model), what, hint);
    g_ptr_array_unref(names);
}

static gboolean is_float_weight(const IfmModel *model, const char *name)
{
    IfmTensor tensor;
    return ifm_model_weight(model, name, &tensor) && ifm_dtype_is_float(tensor.dtype);
}

/* find_parameters: Returns: (transfer container) names, in the model's order; NULL with an error. @names: (nullable) each
 * is a floating-point weight */
static GPtrArray *find_parameters(const IfmModel *model, const char *const *names, GError **error)
{
    if (names == NULL)
        return ifm_model_trainable(model);
    g_autoptr(GPtrArray) weights = g_ptr_array_new();
    g_autoptr(GPtrArray) parameters = g_ptr_array_new();
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        if (is_float_weight(model, ifm_model_initializer_name(model, i)))
            g_ptr_array_add(weights, (gpointer)ifm_model_initializer_name(model, i));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (node->n_outputs == 1 && is_float_weight(model, node->outputs[0]))
            g_ptr_array_add(weights, (gpointer)node->outputs[0]);
    }
    for (guint i = 0; i < weights->len; i++)
        if (g_strv_contains(names, weights->pdata[i]))
            g_ptr_array_add(parameters, weights->pdata[i]);
    for (; *names != NULL; names++)
        if (!g_ptr_array_find_with_equal_func(weights, *names, g_str_equal, NULL))
        {
            g_autofree char *what =
                g_strdup_printf("parameter '%s': the model has no floating-point weight of that name", *names);
            refuse_name(model, what, *names, g_steal_pointer(&weights), error);
            return NULL;
        }
    return g_steal_pointer(&parameters);
}

/* find_output: Returns: the port that the loss reads; NULL with an error. */
static const IfmPort *find_output(const IfmModel *model, const IfmGradientOptions *options, GError **error)
{
    const IfmPort *port = NULL;
    for (gsize i = 0; i < ifm_model_n_outputs(model) && port == NULL; i++)
        if (options->output == NULL || g_str_equal(ifm_model_output(model, i)->name, options->output))
            port = ifm_model_output(model, i);
    if (port == NULL)
    {
        GPtrArray *names = g_ptr_array_new();
        for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
            g_ptr_array_add(names, ifm_model_output(model, i)->name);
        const char *name = options->output != NULL ? options->output : "";
        g_autofree char *what = g_strdup_printf("output '%s': the model has none of that name", name);
        refuse_name(model, what, name, names, error);
    }
    return port;
}

/* check_output: whether the loss can be of it. */
static gboolean check_output(const IfmBack *back, IfmLoss loss, const IfmPort *port, GError **error)
{
    IfmBackShape shape;
    gboolean is_known = ifm_back_facts_shape(back->facts, port->name, &shape);
    g_autofree char *text = is_known ? ifm_shape_to_string(shape.rank, shape.dims) : g_strdup("a shape that is not known");
    if (!is_known || !ifm_dtype_is_float(shape.dtype))
        ifm_error_refuse(error, "%s: output '%s': %s of %s; a loss is of floating-point numbers",
                         ifm_model_name(back->model), port->name, text,
                         ifm_dtype_name(is_known ? shape.dtype : port->dtype));
    else if (loss == IFM_LOSS_CROSS_ENTROPY && (shape.rank != 2 || shape.dims[1] < 1))
        ifm_error_refuse(error, "%s: output '%s': %s; cross-entropy is of [rows, classes], with the classes fixed",
                         ifm_model_name(back->model), port->name, text);
    else
        return TRUE;
    return FALSE;
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* IfmPass: one model in the making. @training: NULL: backward alone */
typedef struct
{
    IfmModel *inlined, *lowered; /* without branches that are known; what is differentiated */
    IfmBack *back;
    const IfmGradientOptions *options;
    const IfmTrainingOptions *training;
    const IfmPort *output;
    GPtrArray *parameters;
    GPtrArray *inputs;     /* float inputs that are differentiated by */
    GPtrArray *statistics; /* … of batch normalisations in training, as "NAME", "the tensor that replaces it" */
} Pass;

static const char *named(IfmBack *back, const char *prefix, const char *name)
{
    g_autofree char *text = g_strconcat(prefix, name, NULL);
    return g_string_chunk_insert_const(back->strings, text);
}

/* find_statistics: running statistics that a normalisation in training replaces, where the loss depends on it. */
static void find_statistics(Pass *pass)
{
    const IfmModel *model = pass->back->model;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (!g_str_equal(node->op_type, "BatchNormalization") || ifm_node_int(node, "training_mode", 0) == 0)
            continue;
        for (gsize k = 1; k < MIN(node->n_outputs, 3); k++)
            if (*node->outputs[k] != '\0' && k + 2 < node->n_inputs)
            {
                g_ptr_array_add(pass->statistics, (gpointer)source_of(model, node->inputs[k + 2]));
                g_ptr_array_add(pass->statistics, (gpointer)node->outputs[k]);
                g_hash_table_add(pass->back->wanted, (gpointer)node->outputs[k]);
            }
    }
}

static gboolean check_reserved(const IfmBack *back, GError **error)
{
    static const char *const reserved[] = { "target", "loss", "state.step" };
    for (gsize i = 0; i < G_N_ELEMENTS(reserved); i++)
        if (g_hash_table_contains(back->taken, reserved[i]))
            return ifm_error_refuse(error, "%s: tensor '%s': a model with a loss needs that name for its own",
                                    ifm_model_name(back->model), reserved[i]);
    return TRUE;
}

static gboolean check_opset(const IfmModel *model, GError **error)
{
    gint64 opset = ifm_model_opset(model);
    if (opset >= IFM_GRADIENT_MIN_OPSET)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                         "%s: opset %" G_GINT64_FORMAT ": models of opset %d and later are differentiated",
                         ifm_model_name(model), opset, IFM_GRADIENT_MIN_OPSET);
}

static void pass_clear(Pass *pass)
{
    ifm_back_free(pass->back);
    g_clear_pointer(&pass->lowered, ifm_model_unref);
    g_clear_pointer(&pass->inlined, ifm_model_unref);
    g_clear_pointer(&pass->parameters, g_ptr_array_unref);
    g_clear_pointer(&pass->inputs, g_ptr_array_unref);
    g_clear_pointer(&pass->statistics, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Pass, pass_clear)

static void reach_from(const Pass *pass, const GPtrArray *names)
{
    for (guint i = 0; i < names->len; i++)
        g_hash_table_add(pass->back->reached, g_ptr_array_index(names, i));
}

/* pass_init: All checks; after it only a rule can fail. */
static gboolean pass_init(Pass *pass, IfmModel *model, GError **error)
{
    pass->inputs = g_ptr_array_new();
    pass->statistics = g_ptr_array_new();
    if (!check_opset(model, error) || (pass->inlined = ifm_gradient_inlined(model, pass->options, error)) == NULL ||
        (pass->lowered = ifm_gradient_lowered(pass->inlined, pass->options, error)) == NULL ||
        (pass->output = find_output(pass->lowered, pass->options, error)) == NULL ||
        (pass->parameters = find_parameters(pass->inlined, pass->options->parameters, error)) == NULL ||
        (pass->back = ifm_back_new(pass->lowered, pass->options, pass->training != NULL ? "train" : "backward", error)) ==
            NULL ||
        !check_reserved(pass->back, error) || !check_output(pass->back, pass->options->loss, pass->output, error))
        return FALSE;
    for (gsize i = 0; i < ifm_model_n_inputs(pass->lowered) && pass->options->input_gradients; i++)
        if (ifm_dtype_is_float(ifm_model_input(pass->lowered, i)->dtype))
            g_ptr_array_add(pass->inputs, ifm_model_input(pass->lowered, i)->name);
    reach_from(pass, pass->parameters);
    reach_from(pass, pass->inputs);
    g_hash_table_add(pass->back->wanted, pass->output->name);
    find_statistics(pass);
    return ifm_back_follow(pass->back, pass->output->name, error);
}

/* --- ports -------------------------------------------------------------------------------------------------------- */

/* set_range: Seeded values of a state are in the range of real ones: a variance is not below 0. */
static void set_range(const IfmBack *back, const char *port, double low, double high)
{
    char texts[2][G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *key = g_strdup_printf("inferometer.range.%s", port);
    g_autofree char *range = g_strdup_printf("%s %s", g_ascii_dtostr(texts[0], sizeof texts[0], low),
                                             g_ascii_dtostr(texts[1], sizeof texts[1], high));
    ifm_model_builder_metadata(back->builder, key, range);
}

static void set_range_of_weight(const IfmBack *back, const char *name, const IfmTensor *weight)
{
    double low = 0, high = 0;
    for (gint64 i = 0; i < ifm_tensor_n_elements(weight); i++)
    {
        double value = ifm_tensor_get_double(weight, i);
        low = i == 0 ? value : MIN(low, value);
        high = i == 0 ? value : MAX(high, value);
    }
    set_range(back, name, low, high);
}

/* --- a training step's state -------------------------------------------------------------------------------------- */

static void free_state(gpointer data)
{
    IfmTrainingState *state = data;
    g_free(state->input);
    g_free(state->output);
    ifm_tensor_clear(&state->first);
    g_free(state);
}

/* States: being collected. @ports_alone: no values are made: a weight's are borrowed, those of a state are not there. */
typedef struct
{
    GPtrArray *all; /* IfmTrainingState */
    gboolean ports_alone;
} States;

/* add_state: of the weight's shape; its first values are the weight's, or zeros, of a type that they can be summed in. */
static IfmTrainingState *add_state(const States *states, const char *input, const IfmTensor *like, gboolean is_copy,
                                   GError **error)
{
    IfmTrainingState *state = g_new0(IfmTrainingState, 1);
    IfmDtype dtype = is_copy ? like->dtype : ifm_back_wide(like->dtype);
    state->input = g_strdup(input);
    state->output = g_strconcat("next.", input, NULL);
    g_ptr_array_add(states->all, state);
    if (states->ports_alone)
        return ifm_tensor_wrap(&state->first, dtype, like->rank, like->shape, is_copy ? like->data : NULL, error) ? state
                                                                                                                  : NULL;
    if (!ifm_tensor_init(&state->first, dtype, like->rank, like->shape, error))
        return NULL;
    if (is_copy && like->size_bytes > 0)
        memcpy(state->first.data, like->data, like->size_bytes);
    return state;
}

static gboolean add_parameter_states(const States *states, const IfmModel *model, const char *name, IfmOptimiser optimiser,
                                     GError **error)
{
    IfmTensor weight;
    if (!ifm_model_weight(model, name, &weight) || add_state(states, name, &weight, TRUE, error) == NULL)
        return FALSE;
    for (const char *const *kind = ifm_optimiser_states(optimiser); *kind != NULL; kind++)
    {
        g_autofree char *input = g_strdup_printf("state.%s.%s", *kind, name);
        if (add_state(states, input, &weight, FALSE, error) == NULL)
            return FALSE;
    }
    return TRUE;
}

/* make_states: in the order of the step's inputs: parameters with their states, running statistics, the step count.
 * @ports_alone: without values of their own */
static GPtrArray *make_states(const Pass *pass, gboolean ports_alone, GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(free_state);
    const States states = { all, ports_alone };
    const IfmModel *model = pass->back->model;
    IfmOptimiser optimiser = pass->training->optimiser;
    for (guint i = 0; i < pass->parameters->len; i++)
        if (!add_parameter_states(&states, model, g_ptr_array_index(pass->parameters, i), optimiser, error))
            return NULL;
    for (guint i = 0; i < pass->statistics->len; i += 2)
    {
        IfmTensor weight;
        const char *name = g_ptr_array_index(pass->statistics, i);
        if (ifm_model_weight(model, name, &weight) && add_state(&states, name, &weight, TRUE, error) == NULL)
            return NULL;
    }
    IfmTensor step = { .dtype = IFM_DTYPE_I64, .rank = 1, .shape = { 1 } };
    if (optimiser == IFM_OPTIMISER_ADAM && add_state(&states, "state.step", &step, FALSE, error) == NULL)
        return NULL;
    return g_steal_pointer(&all);
}

/* add_state_inputs: Returns: (transfer container) the names of weights that are inputs now. */
static GHashTable *add_state_inputs(const Pass *pass, const GPtrArray *states)
{
    GHashTable *inputs = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; states != NULL && i < states->len; i++)
    {
        const IfmTrainingState *state = g_ptr_array_index(states, i);
        const char *name = g_string_chunk_insert_const(pass->back->strings, state->input);
        ifm_model_builder_input(pass->back->builder, name, state->first.dtype, state->first.rank, state->first.shape, NULL);
        if (g_str_has_prefix(name, "state."))
            set_range(pass->back, name, 0, 1);
        else
            set_range_of_weight(pass->back, name, &state->first);
        g_hash_table_add(inputs, (gpointer)name);
    }
    return inputs;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* gradient_of: Zeros for a tensor that the loss does not depend on. */
static const char *gradient_of(IfmBack *back, const char *name)
{
    const char *gradient = g_hash_table_lookup(back->gradients, name);
    return gradient != NULL ? gradient : ifm_back_zeros(back, name);
}

static void add_gradient_outputs(const Pass *pass, const GPtrArray *names)
{
    for (guint i = 0; i < names->len; i++)
    {
        const char *name = g_ptr_array_index(names, i), *output = named(pass->back, "grad.", name);
        const char *dim_names[IFM_MAX_RANK] = { NULL };
        const IfmBackShape shape = ifm_back_shape(pass->back, name);
        for (gsize k = 0; k < ifm_model_n_inputs(pass->back->model); k++)
            if (g_str_equal(ifm_model_input(pass->back->model, k)->name, name))
                memcpy(dim_names, ifm_model_input(pass->back->model, k)->dim_names, sizeof dim_names);
        ifm_back_op_to(pass->back, output, "Identity", gradient_of(pass->back, name), NULL);
        ifm_model_builder_output(pass->back->builder, output, shape.dtype, shape.rank, shape.dims, dim_names);
    }
}

/* add_statistics: "next.NAME" of each running statistic; their ports too where no state has them. */
static void add_statistics(const Pass *pass)
{
    for (guint i = 0; i < pass->statistics->len; i += 2)
    {
        const char *name = g_ptr_array_index(pass->statistics, i), *next = named(pass->back, "next.", name);
        const IfmBackShape shape = ifm_back_shape(pass->back, name);
        ifm_back_op_to(pass->back, next, "Identity", g_ptr_array_index(pass->statistics, i + 1), NULL);
        if (pass->training == NULL)
            ifm_model_builder_output(pass->back->builder, next, shape.dtype, shape.rank, shape.dims, NULL);
    }
}

static IfmModel *build(Pass *pass, const GPtrArray *states, GError **error)
{
    IfmBack *back = pass->back;
    ifm_back_copy_inputs(back);
    g_autoptr(GHashTable) inputs = add_state_inputs(pass, states);
    ifm_back_copy_forward(back, inputs);
    back->part = "loss";
    ifm_back_loss(back, pass->options->loss, pass->output);
    ifm_back_run_rules(back);
    if (pass->training == NULL)
    {
        add_gradient_outputs(pass, pass->parameters);
        add_gradient_outputs(pass, pass->inputs);
    }
    else
    {
        back->part = "update";
        ifm_back_count_step(back, pass->training);
        for (guint i = 0; i < pass->parameters->len; i++)
        {
            const char *name = g_ptr_array_index(pass->parameters, i);
            ifm_back_update(back, pass->training, name, gradient_of(back, name));
        }
    }
    add_statistics(pass);
    for (guint i = 0; states != NULL && i < states->len; i++)
    {
        const IfmTrainingState *state = g_ptr_array_index(states, i);
        ifm_model_builder_output(back->builder, state->output, state->first.dtype, state->first.rank, state->first.shape,
                                 NULL);
    }
    if (back->error == NULL)
        return ifm_model_builder_finish(back->builder, error);
    g_propagate_error(error, g_steal_pointer(&back->error));
    return NULL;
}

IfmModel *ifm_gradient_backward(IfmModel *model, const IfmGradientOptions *options, GError **error)
{
    g_auto(Pass) pass = { .options = options };
    IfmModel *made = pass_init(&pass, model, error) ? build(&pass, NULL, error) : NULL;
    if (made == NULL)
        ifm_error_make_one_line(error); /* it names what the file names */
    return made;
}

IfmModel *ifm_gradient_training_step(IfmModel *model, const IfmTrainingOptions *options, GError **error)
{
    g_auto(Pass) pass = { .options = &options->gradient, .training = options };
    g_autoptr(GPtrArray) states = pass_init(&pass, model, error) ? make_states(&pass, TRUE, error) : NULL;
    IfmModel *made = states != NULL ? build(&pass, states, error) : NULL;
    if (made == NULL)
        ifm_error_make_one_line(error);
    return made;
}

GPtrArray *ifm_gradient_state(IfmModel *model, const IfmTrainingOptions *options, GError **error)
{
    g_auto(Pass) pass = { .options = &options->gradient, .training = options };
    GPtrArray *states = pass_init(&pass, model, error) ? make_states(&pass, FALSE, error) : NULL;
    if (states == NULL)
        ifm_error_make_one_line(error);
    return states;
}
