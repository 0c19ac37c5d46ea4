/* The text of a region's program. */
#include <string.h>

#include "regions-private.h"

static guint number_of(GHashTable *numbers, const char *name)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(numbers, name));
}

static void set_value(Program *self, const char *name)
{
    g_hash_table_insert(self->numbers, (gpointer)name, GUINT_TO_POINTER(++self->n_values));
}

static guint region_of_reader(const Partition *partition, gsize node)
{
    return ((const Step *)partition->steps->pdata[partition->owners[node]])->region;
}

gboolean regions_stays_blocked(const Partition *partition, const char *tensor)
{
    const Facts *facts = partition->facts;
    const Step *maker = regions_maker(partition, tensor);
    const GArray *readers = ifm_model_consumers(facts->model, tensor);
    Shape4 shape;
    gboolean all = maker != NULL && maker->region > 0 && readers != NULL &&
                   !g_hash_table_contains(facts->outputs, tensor) && regions_shape(facts, tensor, &shape) &&
                   regions_fixed(&shape, 1) > 0;
    for (guint i = 0; all && i < readers->len; i++)
        all = region_of_reader(partition, g_array_index(readers, gsize, i)) > 0;
    return all;
}

/* --- inputs and outputs ----------------------------------------------------------------------------------------------- */

static void add_input(Program *self, const char *tensor)
{
    const Step *maker = regions_maker(self->partition, tensor);
    Shape4 shape;
    if ((maker != NULL && maker->region == self->region) || number_of(self->numbers, tensor) > 0)
        return;
    if (regions_stays_blocked(self->partition, tensor) && regions_shape(self->partition->facts, tensor, &shape))
        g_string_append_printf(self->text, "input blocked %" G_GINT64_FORMAT "\n", regions_fixed(&shape, 1));
    else
        g_string_append(self->text, "input nchw\n");
    g_ptr_array_add(self->values, (gpointer)tensor);
    set_value(self, tensor);
}

static void add_output(Program *self, const Step *step)
{
    const Facts *facts = self->partition->facts;
    const GArray *readers = ifm_model_consumers(facts->model, step->output);
    gboolean is_read = g_hash_table_contains(facts->outputs, step->output);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        is_read |= region_of_reader(self->partition, g_array_index(readers, gsize, i)) != self->region;
    if (!is_read)
        return;
    g_string_append_printf(self->text, "output %s v%u\n",
                           regions_stays_blocked(self->partition, step->output) ? "blocked" : "nchw",
                           number_of(self->numbers, step->output) - 1);
    g_ptr_array_add(self->outputs, (gpointer)step->output);
}

/* --- constants -------------------------------------------------------------------------------------------------------- */

/* A name that the model does not have. It lives as long as @taken. */
static const char *fresh_name(Program *self, const char *like, const char *suffix)
{
    char *name = g_strdup_printf("%s/%s", like, suffix);
    for (guint i = 2; g_hash_table_contains(self->taken, name); i++)
    {
        g_free(name);
        name = g_strdup_printf("%s/%s_%u", like, suffix, i);
    }
    g_hash_table_add(self->taken, name);
    return name;
}

static const char *make_weight(Program *self, const char *name, int rank, const gint64 *shape, const void *data)
{
    IfmTensor tensor;
    if (ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, rank, shape, (void *)data, NULL))
        ifm_model_builder_weight(self->builder, name, &tensor);
    return name;
}

/* The initializer of a constant: the model's own, or one that is made of numbers or of a Constant node. */
static const char *weight_of(Program *self, const Step *step, const Constant *constant, guint index)
{
    IfmTensor tensor;
    if (constant->name == NULL)
        return make_weight(self, fresh_name(self, step->output, index == 0 ? "factor" : "term"), 1, &constant->n,
                           constant->values);
    if (ifm_model_initializer(self->partition->facts->model, constant->name, &tensor) ||
        !regions_constant(self->partition->facts, constant->name, &tensor))
        return constant->name;
    return make_weight(self, fresh_name(self, constant->name, "value"), tensor.rank, tensor.shape, tensor.data);
}

static void say_constant(Program *self, const Step *step, guint index)
{
    const Constant *constant = &g_array_index(step->constants, Constant, index);
    const char *key = constant->name != NULL ? constant->name : "";
    if (g_str_equal(key, "-"))
    {
        g_string_append(self->text, " -");
        return;
    }
    guint number = number_of(self->weight_numbers, key);
    if (number == 0)
    {
        const char *name = weight_of(self, step, constant, index);
        g_ptr_array_add(self->weights, (gpointer)name);
        number = self->weights->len;
        g_hash_table_add(self->constants, (gpointer)name);
        if (*key != '\0')
            g_hash_table_insert(self->weight_numbers, (gpointer)key, GUINT_TO_POINTER(number));
    }
    g_string_append_printf(self->text, " w%u", number - 1);
}

/* --- steps ------------------------------------------------------------------------------------------------------------ */

static void say_number(GString *text, float value)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(text, " %s", g_ascii_formatd(buffer, sizeof buffer, "%.9g", (double)value));
}

static void say_value(Program *self, const char *tensor)
{
    g_string_append_printf(self->text, " v%u", number_of(self->numbers, tensor) - 1);
}

static void say_act(Program *self, const Step *step)
{
    const gboolean is_word = g_str_equal(step->word, "act"); /* a step of its own: its name alone says what it is */
    g_string_append_printf(self->text, "%s %s", is_word ? "" : " act", step->act.name != NULL ? step->act.name : "none");
    say_number(self->text, step->act.alpha);
    say_number(self->text, step->act.beta);
}

static void say_layer(Program *self, const Step *step)
{
    const GPtrArray *algorithms = self->options->algorithms;
    const char *algorithm =
        algorithms != NULL && step->conv < algorithms->len ? (const char *)algorithms->pdata[step->conv] : NULL;
    const char *said = algorithm != NULL ? algorithm : "any";
    g_string_append_printf(self->text, " algorithm %s%s name %s", said, strchr(said, ' ') == NULL ? " 0" : "", step->layer);
}

static void say_step(Program *self, const Step *step)
{
    g_string_append(self->text, step->word);
    for (guint i = 0; i < step->values->len; i++)
        say_value(self, step->values->pdata[i]);
    for (guint i = 0; i < step->constants->len; i++)
        say_constant(self, step, i);
    if (step->layer != NULL && step->sum != NULL)
        say_value(self, step->sum);
    else if (step->layer != NULL)
        g_string_append(self->text, " -");
    if (step->settings != NULL)
        g_string_append_printf(self->text, " %s", step->settings);
    if (step->has_act || g_str_equal(step->word, "act"))
        say_act(self, step);
    if (step->layer != NULL)
        say_layer(self, step);
    g_string_append_c(self->text, '\n');
    set_value(self, step->output);
}

static void add_step(Program *self, const Step *step)
{
    if (step->is_alias)
        g_hash_table_insert(self->numbers, (gpointer)step->output,
                            g_hash_table_lookup(self->numbers, step->values->pdata[0]));
    else
        say_step(self, step);
}

static void each_step(Program *self, void (*visit)(Program *self, const Step *step))
{
    for (guint i = 0; i < self->partition->steps->len; i++)
    {
        const Step *step = self->partition->steps->pdata[i];
        if (!step->is_joined && step->region == self->region)
            visit(self, step);
    }
}

static void add_inputs(Program *self, const Step *step)
{
    for (guint i = 0; i < step->values->len; i++)
        add_input(self, step->values->pdata[i]);
    if (step->sum != NULL)
        add_input(self, step->sum);
}

void regions_program_init(Program *program, const Partition *partition, guint region, const IfmRegionsOptions *options,
                          IfmModelBuilder *builder, GHashTable *taken, GHashTable *constants)
{
    *program = (Program){ .partition = partition,
                          .region = region,
                          .options = options,
                          .builder = builder,
                          .taken = taken,
                          .constants = constants,
                          .text = g_string_new(NULL),
                          .values = g_ptr_array_new(),
                          .weights = g_ptr_array_new(),
                          .outputs = g_ptr_array_new(),
                          .numbers = g_hash_table_new(g_str_hash, g_str_equal),
                          .weight_numbers = g_hash_table_new(g_str_hash, g_str_equal) };
    g_string_append_printf(program->text, "region %d\n", IFM_REGION_VERSION);
    each_step(program, add_inputs);
    each_step(program, add_step);
    each_step(program, add_output);
}

void regions_program_clear(Program *program)
{
    g_string_free(program->text, TRUE);
    g_ptr_array_unref(program->values);
    g_ptr_array_unref(program->weights);
    g_ptr_array_unref(program->outputs);
    g_hash_table_unref(program->numbers);
    g_hash_table_unref(program->weight_numbers);
}
