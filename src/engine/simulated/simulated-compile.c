/* Compiling for a simulated device: the options of the compile, and the checks before anything runs. */
#include <convolution/convolution.h>
#include <math.h>
#include <string.h>

#include "simulated-private.h"

/* --- options ---------------------------------------------------------------------------------------------------------- */

static gboolean read_sizes(SimulatedCompiled *compiled, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", 0);
    for (char **part = parts; *part != NULL; part++)
    {
        char *equals = strchr(*part, '='), *end = NULL;
        gint64 value = equals != NULL ? g_ascii_strtoll(equals + 1, &end, 10) : 0;
        if (value <= 0 || *end != '\0')
            return ifm_error_refuse(error, "%s: option SIZES=%s is not of the form NAME=N,NAME=N",
                                    compiled->base.spec->text, text);
        *equals = '\0';
        simulated_sizes_set(&compiled->known, *part, (double)value);
    }
    return TRUE;
}

static gboolean read_option(SimulatedCompiled *compiled, const char *option, GError **error)
{
    static const char *const keys[] = { "SEED", "NOISE", "SIZES", "OUTPUTS", NULL };
    const char *value = strchr(option, '=') + 1, *who = compiled->base.spec->text;
    g_autofree char *key = g_strndup(option, (gsize)(value - 1 - option));
    guint64 seed;
    if (g_str_equal(key, "SIZES"))
        return read_sizes(compiled, value, error);
    if (g_str_equal(key, "OUTPUTS"))
    {
        compiled->outputs = value;
        return TRUE;
    }
    if (g_str_equal(key, "NOISE") && g_str_equal(value, "none"))
        return compiled->noiseless = TRUE;
    if (g_str_equal(key, "SEED") && g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT32, &seed, NULL))
    {
        compiled->seed = (guint32)seed;
        return TRUE;
    }
    g_autofree char *hint = ifm_nearest_hint(key, keys);
    if (g_strv_contains(keys, key))
        ifm_error_refuse(error, "%s: option %s: SEED takes a number, NOISE the word none", who, option);
    else
        ifm_error_refuse(error, "%s: no option \"%s\" (there are SEED, NOISE, SIZES, OUTPUTS)%s", who, key, hint);
    return FALSE;
}

static void add_size_name(GPtrArray *names, const char *name)
{
    if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
        g_ptr_array_add(names, g_strdup(name));
}

/* The names of sizes in the unit's table and faults. */
static void collect_size_names(const UnitDescription *unit, SimulatedSizes *sizes)
{
    GPtrArray *names = g_ptr_array_new();
    const TableDescription *table = unit->latency->table;
    for (gsize i = 0; table != NULL && i < table->axes->len; i++)
    {
        g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(table->axes, i), "/", 0);
        for (char **part = parts; *part != NULL; part++)
            add_size_name(names, *part);
    }
    for (gsize i = 0; i < unit->faults->len; i++)
    {
        const FaultCondition *when = ((const FaultDescription *)g_ptr_array_index(unit->faults, i))->when;
        for (gsize k = 0; when != NULL && k < when->min->len; k++)
            add_size_name(names, ((const IfmScalar *)g_ptr_array_index(when->min, k))->place.name);
        for (gsize k = 0; when != NULL && k < when->max->len; k++)
            add_size_name(names, ((const IfmScalar *)g_ptr_array_index(when->max, k))->place.name);
    }
    sizes->n = names->len;
    g_ptr_array_add(names, NULL);
    sizes->names = (char **)g_ptr_array_free(names, FALSE);
    sizes->values = g_new(double, sizes->n + 1);
    for (gsize i = 0; i < sizes->n; i++)
        sizes->values[i] = NAN;
}

/* The sizes known before there is an input: the model's metadata, then the compile's options or vendor option (SIZES=),
 * then its bindings. */
static gboolean read_known(SimulatedCompiled *compiled, GError **error)
{
    const IfmCompileOptions *options = &compiled->base.options;
    SimulatedSizes *known = &compiled->known;
    collect_size_names(compiled->unit, known);
    for (gsize i = 0; i < known->n; i++)
    {
        g_autofree char *key = g_strconcat("inferometer.size.", known->names[i], NULL);
        const char *value = ifm_model_metadata(compiled->base.model, key);
        if (value != NULL)
            known->values[i] = (double)g_ascii_strtoll(value, NULL, 10);
    }
    for (gsize i = 0; i < options->n_sizes; i++)
        simulated_sizes_set(known, options->sizes[i].name, (double)options->sizes[i].value);
    compiled->seed = compiled->unit->noise != NULL ? (guint32)compiled->unit->noise->seed : 0;
    for (gsize i = 0; options->vendor != NULL && options->vendor[i] != NULL; i++)
        if (!read_option(compiled, options->vendor[i], error))
            return FALSE;
    for (gsize i = 0; i < options->n_bindings; i++)
        simulated_sizes_set(known, options->bindings[i].name, (double)options->bindings[i].value);
    return TRUE;
}

/* --- compiling -------------------------------------------------------------------------------------------------------- */

static void add_ports(SimulatedCompiled *compiled)
{
    const IfmModel *model = compiled->base.model;
    const IfmCompileOptions *options = &compiled->base.options;
    gsize n_inputs = ifm_model_n_inputs(model), n = n_inputs + ifm_model_n_outputs(model);
    for (gsize i = 0; i < n; i++)
    {
        gboolean input = i < n_inputs;
        IfmPort *port = ifm_port_copy(input ? ifm_model_input(model, i) : ifm_model_output(model, i - n_inputs));
        for (int axis = 0; axis < port->rank; axis++)
            for (gsize k = 0; k < options->n_bindings; k++)
                if (port->dims[axis] < 0 && g_strcmp0(port->dim_names[axis], options->bindings[k].name) == 0)
                {
                    port->dims[axis] = options->bindings[k].value;
                    g_clear_pointer(&port->dim_names[axis], g_free);
                }
        g_ptr_array_add(input ? compiled->base.inputs : compiled->base.outputs, port);
    }
}

static gboolean executes_in(const UnitDescription *unit, IfmDtype dtype)
{
    gboolean found = unit->dtypes->len == 0 && dtype == IFM_DTYPE_F32;
    for (gsize i = 0; i < unit->dtypes->len; i++)
        found |= ifm_dtype_from_name(g_ptr_array_index(unit->dtypes, i)) == dtype;
    return found;
}

/* A model in its own precision is computed in f32 where the device has nothing lower, as real runtimes do. */
IfmDtype simulated_dtype(const SimulatedCompiled *compiled)
{
    const IfmDtype asked = compiled->base.options.dtype;
    return !executes_in(compiled->unit, asked) && asked == ifm_model_dtype(compiled->base.model) ? IFM_DTYPE_F32 : asked;
}

static gboolean check_dtype(const SimulatedCompiled *compiled, GError **error)
{
    IfmDtype asked = compiled->base.options.dtype;
    const gboolean found = executes_in(compiled->unit, simulated_dtype(compiled));
    if (!found)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: does not execute in %s", compiled->base.spec->text,
                      ifm_dtype_name(asked));
    return found;
}

/* The described ratio of an algorithm; NULL: it is not described. */
static const IfmScalar *find_convolution(const UnitDescription *unit, IfmConvAlgorithm algorithm)
{
    for (gsize i = 0; i < unit->convolutions->len; i++)
    {
        const IfmScalar *scalar = unit->convolutions->pdata[i];
        IfmConvAlgorithm described;
        if (ifm_conv_algorithm_parse(scalar->place.name, &described, NULL) && described == algorithm)
            return scalar;
    }
    return NULL;
}

static gboolean read_convolutions(SimulatedCompiled *compiled, GError **error)
{
    const char *const *lines = compiled->base.options.convolutions;
    g_auto(IfmConvChoice) choice = { 0 };
    compiled->convolution_ratio = 1;
    if (lines == NULL || *lines == NULL)
        return TRUE;
    if (!ifm_conv_choice_init(&choice, lines, error))
        return FALSE;
    const IfmScalar *found = find_convolution(compiled->unit, choice.all);
    compiled->convolution_fell_back = found == NULL && choice.fallback != IFM_N_CONV_ALGORITHMS;
    if (compiled->convolution_fell_back)
        found = find_convolution(compiled->unit, choice.fallback);
    if (found == NULL && choice.all != IFM_CONV_RUNTIME)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s cannot do any layer of %s (%s describes no such algorithm)",
                             ifm_conv_algorithm_name(choice.all), ifm_model_name(compiled->base.model),
                             compiled->base.spec->text);
    compiled->convolution = ifm_conv_algorithm_name(compiled->convolution_fell_back ? choice.fallback : choice.all);
    compiled->convolution_ratio = found != NULL ? found->number : 1;
    return TRUE;
}

/* Floating-point parameters take memory in the precision that they are computed in, all others as they are stored. */
static gint64 weight_bytes(const SimulatedCompiled *compiled)
{
    g_autoptr(GArray) stored = ifm_model_stored(compiled->base.model);
    gint64 total = 0;
    for (guint i = 0; i < stored->len; i++)
    {
        const IfmStoredType *row = &g_array_index(stored, IfmStoredType, i);
        const gboolean is_float = ifm_dtype_is_float(ifm_dtype_from_name(row->dtype));
        total += is_float                ? row->n_parameters * (gint64)ifm_dtype_size_bytes(compiled->base.options.dtype)
                 : row->n_parameters > 0 ? row->bytes
                                         : 0;
    }
    return total;
}

static gboolean take_weights(SimulatedCompiled *compiled, GError **error)
{
    const gint64 bytes = weight_bytes(compiled);
    if (unit_state_take(compiled->state, bytes, compiled->unit->memory_bytes))
    {
        compiled->taken_bytes = bytes;
        return TRUE;
    }
    return ifm_error_set(error, IFM_ERROR_MEMORY,
                         "%s: the weights of %s take %" G_GINT64_FORMAT " bytes, of %" G_GINT64_FORMAT
                         " the device has %" G_GINT64_FORMAT " left",
                         compiled->base.spec->text, ifm_model_name(compiled->base.model), bytes,
                         compiled->unit->memory_bytes,
                         compiled->unit->memory_bytes - atomic_load(&compiled->state->taken_bytes));
}

static gboolean load_latency(SimulatedCompiled *compiled, GError **error)
{
    const LatencyDescription *latency = compiled->unit->latency;
    if (latency->source != SOURCE_TABLE)
        return TRUE;
    compiled->table = range_table_load(latency->table, compiled->stage, error);
    if (compiled->table == NULL)
        return FALSE;
    if (compiled->table->missing == NULL || latency->otherwise_roofline)
        return TRUE;
    const char *model = ifm_model_name(compiled->base.model);
    if (compiled->stage == NULL)
        ifm_error_set(
            error, IFM_ERROR_UNSUPPORTED,
            "%s: %s names no stage (metadata inferometer.stage), and the device knows the latencies of stages alone",
            compiled->base.spec->text, model);
    else if (simulated_range_has(compiled->stage, compiled->table->missing) &&
             !g_str_equal(compiled->stage, compiled->table->missing))
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                      "%s: %s: the device's table has no latency of stages \"%s\" as one, nor of stage \"%s\" to add up",
                      compiled->base.spec->text, model, compiled->stage, compiled->table->missing);
    else
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: %s: the device's table has no latency of stage \"%s\"",
                      compiled->base.spec->text, model, compiled->stage);
    return FALSE;
}

static gboolean compile_inner(SimulatedCompiled *compiled, GError **error)
{
    if (g_str_equal(compiled->outputs, "none"))
    {
        compiled->base.capabilities &= ~(guint32)IFM_CAN_TRUE_OUTPUTS;
        return TRUE;
    }
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(compiled->outputs, error);
    if (spec != NULL && g_str_equal(spec->engine, "simulated"))
        return ifm_error_refuse(error, "%s: option OUTPUTS=%s: is simulated itself", compiled->base.spec->text,
                                compiled->outputs);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.bindings = compiled->base.options.bindings;
    options.n_bindings = compiled->base.options.n_bindings;
    options.threads = 1;
    compiled->inner_clock = ifm_clock_new_real(); /* computing takes real time, with a virtual clock, too */
    compiled->inner_engine = spec != NULL ? ifm_engine_open(spec->engine, compiled->inner_clock, error) : NULL;
    if (compiled->inner_engine != NULL)
        compiled->inner = ifm_engine_compile(compiled->inner_engine, compiled->base.model, spec, &options, error);
    if (compiled->inner == NULL)
        g_prefix_error(error, "%s, computing true outputs: ", compiled->base.spec->text);
    else
        compiled->base.capabilities |= IFM_CAN_TRUE_OUTPUTS;
    return compiled->inner != NULL;
}

static gboolean strike_compile(SimulatedCompiled *compiled, GError **error)
{
    const FaultDescription *fault = fault_find(compiled->unit, 0, compiled->stage, &compiled->known);
    if (fault == NULL)
        return TRUE;
    g_autofree char *where =
        g_strdup_printf("%s, compiling %s", compiled->base.spec->text, ifm_model_name(compiled->base.model));
    IfmCondition *condition = ifm_condition_new(compiled->base.engine->clock);
    const FaultEffect effect = fault_strike(fault, compiled->state, where, condition, NULL, error);
    ifm_condition_free(condition);
    return effect != FAULT_EFFECT_ERROR;
}

gboolean simulated_compile(IfmCompiled *base, GError **error)
{
    SimulatedCompiled *compiled = (SimulatedCompiled *)base;
    if (!simulated_unit((SimulatedEngine *)base->engine, base->spec, &compiled->unit, &compiled->state, error))
        return FALSE;
    base->capabilities = compiled->unit->capabilities;
    if ((base->capabilities & IFM_PROFILE_MEANS) != 0 && base->spec->n_streams > 1)
        base->capabilities &= ~(guint32)IFM_CAN_PROFILE; /* as OpenVINO: each stream has means of its own */
    else if ((base->capabilities & IFM_PROFILE_MEANS) != 0 && base->options.profiling)
        compiled->node_sums_ns = g_new0(double, ifm_model_n_nodes(base->model) + 1);
    compiled->contention = simulated_contention((SimulatedEngine *)base->engine, base->spec);
    compiled->outputs = compiled->unit->outputs;
    compiled->stage = ifm_model_metadata(base->model, "inferometer.stage");
    add_ports(compiled);
    if (unit_state_refresh(compiled->state) == UNIT_LOST_REPORTED)
    {
        fault_set_lost(compiled->state, base->spec->text, NULL, error);
        return FALSE;
    }
    return check_dtype(compiled, error) && read_convolutions(compiled, error) && read_known(compiled, error) &&
           strike_compile(compiled, error) && load_latency(compiled, error) && take_weights(compiled, error) &&
           compile_inner(compiled, error);
}

void simulated_compiled_clear(IfmCompiled *base)
{
    SimulatedCompiled *compiled = (SimulatedCompiled *)base;
    ifm_compiled_free(compiled->inner);
    ifm_engine_unref(compiled->inner_engine);
    ifm_clock_unref(compiled->inner_clock);
    range_table_free(compiled->table);
    g_strfreev(compiled->known.names);
    g_free(compiled->known.values);
    g_free(compiled->node_sums_ns);
    if (compiled->state != NULL)
        unit_state_take(compiled->state, -compiled->taken_bytes, 0);
}
