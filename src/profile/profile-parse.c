#include <string.h>

#include <convolution/convolution.h>
#include <engine/engine.h>

#include "profile-private.h"

/* From options to a plan: parts, devices, sizes, the model, its passes. */

#define DEFAULT_DEVICE "onnxruntime:CPU"

/* --- parts -------------------------------------------------------------------------------------------------------------
 */

guint profile_parts_of(const char *text)
{
    g_auto(GStrv) asked = g_strsplit(text != NULL ? text : "", ",", -1);
    guint parts = text != NULL ? 0 : IFM_PROFILE_ALL;
    for (char **word = asked; *word != NULL; word++)
        parts |= 1u << ifm_word_index(ifm_profile_part_words(), *word);
    return parts;
}

/* The model's own work and memory need no device; a device's memory is asked for by naming one. */
static gboolean needs_device(const IfmProfilePlan *plan)
{
    gboolean named = plan->options.devices != NULL && (plan->parts & IFM_PROFILE_MEMORY) != 0;
    return named || (plan->parts & (IFM_PROFILE_RUNTIME | IFM_PROFILE_LAYERS | IFM_PROFILE_SCALING)) != 0;
}

/* --- devices -------------------------------------------------------------------------------------------------------- */

static Target *parse_device(const char *option, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    g_autofree char *alias = equals != NULL ? g_strndup(text, (gsize)(equals - text)) : NULL;
    g_autoptr(IfmDeviceSpec) spec = NULL;
    if ((alias == NULL || ifm_alias_check(alias, error)) &&
        (spec = ifm_device_spec_parse(equals != NULL ? equals + 1 : text, error)) != NULL &&
        ifm_engine_name_check(spec->engine, error))
        return profile_target_new(alias, g_steal_pointer(&spec), NULL);
    g_prefix_error(error, "--%s %s: ", option, text);
    return NULL;
}

/* Two rows that cannot be told apart are a mistake. */
static gboolean is_new(const GPtrArray *targets, const Target *target, GError **error)
{
    const char *alias = target->device.result.alias, *device = target->spec->text;
    for (guint i = 0; i < targets->len; i++)
    {
        const Target *other = targets->pdata[i];
        const gboolean same = g_strcmp0(other->device.result.alias, alias) == 0;
        if (same && g_str_equal(other->spec->text, device))
            return ifm_error_misuse(error, "--device %s: given twice", device);
        if (same && alias != NULL)
            return ifm_error_misuse(error, "--device: alias %s means both %s and %s", alias, other->spec->text, device);
    }
    return TRUE;
}

/* A device's name may be wrong input; saying it twice is a wrong request. */
static gboolean parse_devices(IfmProfilePlan *plan, const char *option, GError **error)
{
    static const char *const usual[] = { DEFAULT_DEVICE, NULL };
    const IfmProfileOptions *options = &plan->options;
    plan->targets = g_ptr_array_new_with_free_func((GDestroyNotify)profile_target_free);
    if (!needs_device(plan))
        return options->devices == NULL ||
               ifm_error_misuse(error, "--profile %s is of the model alone: no device is run for it", options->parts);
    for (const char *const *text = options->devices != NULL ? options->devices : usual; *text != NULL; text++)
    {
        Target *target = parse_device(option, *text, error);
        if (target == NULL)
            return FALSE;
        gboolean good = is_new(plan->targets, target, error);
        g_ptr_array_add(plan->targets, target);
        if (!good)
            return FALSE;
    }
    return TRUE;
}

/* --- options of the runtimes --------------------------------------------------------------------------------------------
 */

/* The engine an option is meant for: "openvino" of "openvino:KEY=VALUE"; NULL: for every device. No runtime's own words
 * have a colon in the key. */
static char *engine_of(const char *option)
{
    gsize length = strcspn(option, ":=");
    return option[length] == ':' ? g_strndup(option, length) : NULL;
}

/* An option that no device would get is a slip of the pen. */
static gboolean check_option(const IfmProfilePlan *plan, const char *option, GError **error)
{
    g_autofree char *engine = engine_of(option);
    if (strchr(option, '=') == NULL || *option == '=')
        return ifm_error_refuse(error, "\"%s\" is not [ENGINE:]KEY=VALUE", option);
    if (engine == NULL)
        return TRUE;
    if (!ifm_engine_name_check(engine, error))
        return FALSE;
    for (guint i = 0; i < plan->targets->len; i++)
        if (g_str_equal(((const Target *)plan->targets->pdata[i])->spec->engine, engine))
            return TRUE;
    return ifm_error_refuse(error, "\"%s\" is for %s, and no --device is of that engine", option, engine);
}

static gboolean give_options(IfmProfilePlan *plan, GError **error)
{
    static const char *const none[] = { NULL };
    const char *const *texts = plan->options.vendor != NULL ? plan->options.vendor : none;
    for (gsize i = 0; texts[i] != NULL; i++)
    {
        g_autoptr(GError) trouble = NULL;
        if (!check_option(plan, texts[i], &trouble))
            return ifm_error_misuse(error, "--option: %s", trouble->message);
    }
    for (guint i = 0; i < plan->targets->len; i++)
    {
        Target *target = plan->targets->pdata[i];
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        for (gsize at = 0; texts[at] != NULL; at++)
        {
            g_autofree char *engine = engine_of(texts[at]);
            if (engine == NULL)
                g_strv_builder_add(builder, texts[at]);
            else if (g_str_equal(engine, target->spec->engine))
                g_strv_builder_add(builder, texts[at] + strlen(engine) + 1);
        }
        target->vendor = g_strv_builder_end(builder);
    }
    return TRUE;
}

/* --- convolution algorithms ------------------------------------------------------------------------------------------ */

/* @line: of ifm_conv_choice_init(), checked by itself so that the message names the option. */
static gboolean add_conv_line(GPtrArray *lines, const char *option, char *line /* (transfer full) */, GError **error)
{
    g_auto(IfmConvChoice) choice = { 0 };
    g_autoptr(GError) trouble = NULL;
    g_ptr_array_add(lines, line);
    return ifm_conv_choice_init(&choice, (const char *const[]){ line, NULL }, &trouble) ||
           ifm_error_misuse(error, "--%s: %s", option, trouble->message);
}

static gboolean parse_convolutions(IfmProfilePlan *plan, GError **error)
{
    const IfmProfileOptions *options = &plan->options;
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    g_auto(IfmConvChoice) choice = { 0 };
    g_autoptr(GError) trouble = NULL;
    const gboolean is_asked = options->conv != NULL && *options->conv != NULL;
    if (!is_asked && (options->conv_fallback != NULL ||
                      (options->conv_workspace > 0 && options->conv_workspace != (gint64)IFM_CONV_WORKSPACE_BYTES)))
        return ifm_error_misuse(error, "--conv-%s: no --conv is given",
                                options->conv_fallback != NULL ? "fallback" : "workspace");
    if (!is_asked)
        return TRUE;
    for (const char *const *line = options->conv; *line != NULL; line++)
        if (!add_conv_line(lines, "conv", g_strdup(*line), error))
            return FALSE;
    if (options->conv_fallback != NULL &&
        !add_conv_line(lines, "conv-fallback", g_strconcat("fallback=", options->conv_fallback, NULL), error))
        return FALSE;
    if (options->conv_workspace > 0)
        g_ptr_array_add(lines, g_strdup_printf("workspace=%" G_GINT64_FORMAT, options->conv_workspace));
    g_ptr_array_add(lines, NULL);
    if (!ifm_conv_choice_init(&choice, (const char *const *)lines->pdata, &trouble))
        return ifm_error_misuse(error, "--conv: %s", trouble->message);
    if (choice.max_workspace_bytes == IFM_CONV_WORKSPACE_BYTES) /* the default, given or not, is one case */
        choice.max_workspace_bytes = 0;
    plan->convolutions = ifm_conv_choice_lines(&choice);
    return TRUE;
}

/* --- all of it ---------------------------------------------------------------------------------------------------------
 */

static gboolean is_accepted(const IfmProfilePlan *plan, GError **error)
{
    const IfmProfileWatch *watch = plan->options.watch;
    return watch == NULL || watch->accept == NULL || watch->accept(plan->source.model, watch->user, error);
}

/* What a side of a comparison has, too. */
static IfmModelCase case_of(const IfmProfilePlan *plan)
{
    const IfmProfileOptions *options = &plan->options;
    return (IfmModelCase){
        .model_path = plan->source.path,
        .model_name = plan->graph != NULL ? plan->graph->report.title : ifm_model_name(plan->source.model),
        .bindings = ifm_model_feed_bindings(&plan->source.feed),
        .n_bindings = plan->source.feed.bindings->len,
        .sizes = plan->sizes != NULL ? (const IfmDimBinding *)(const void *)plan->sizes->data : NULL,
        .n_sizes = plan->sizes != NULL ? plan->sizes->len : 0,
        .dtype = options->dtype != NULL ? ifm_dtype_from_name(options->dtype) : ifm_model_dtype(plan->source.model),
        .threads = (int)options->threads,
        .seed = (guint32)options->seed,
        .protocol = IFM_PROTOCOL_INIT,
        .verify = !options->no_verify,
        .tolerance_runs = options->tolerance_runs == 0                    ? -1
                          : options->tolerance_runs == IFM_TOLERANCE_RUNS ? 0
                                                                          : (int)options->tolerance_runs,
        .convolutions = (const char *const *)plan->convolutions,
    };
}

/* @refused: (out) why there is no such model. Returns: FALSE with an error of another kind. */
static gboolean plan_model(IfmProfilePlan *plan, GError **refused, GError **error)
{
    const IfmProtocol rule = IFM_PROTOCOL_INIT;
    const IfmProfileOptions *options = &plan->options;
    GError *trouble = NULL;
    if (options->energy != NULL && !ifm_energy_source_check(options->energy, &trouble))
    {
        g_propagate_prefixed_error(error, trouble, "--energy: ");
        return FALSE;
    }
    if (plan->parts == 0)
        plan->parts = profile_parts_of(options->parts);
    if (!parse_devices(plan, "device", error) || !give_options(plan, error) || !parse_convolutions(plan, error))
        return FALSE;
    gboolean is_graph = profile_is_graph(options->model);
    if (!is_graph && (plan->parts & IFM_PROFILE_PE) != 0)
        return ifm_error_misuse(error, "--profile pe: %s has no positional encoding: graph_transformer and gps do",
                                options->model);
    if (is_graph && options->open.inputs != NULL && *options->open.inputs != NULL)
        return ifm_error_misuse(error, "--input: %s is fed its graph", options->model);
    if (!(is_graph ? profile_graph_init : profile_plan_open)(plan, &trouble))
    {
        ifm_error_blame_sizes(trouble);
        g_propagate_error(g_error_matches(trouble, IFM_ERROR, IFM_ERROR_USAGE) ? error : refused, trouble);
        return *refused != NULL;
    }
    if (!is_accepted(plan, error))
        return FALSE;
    plan->base = case_of(plan);
    plan->base.protocol = ifm_protocol_with(&rule, &options->protocol);
    plan->base.profile = (plan->parts & IFM_PROFILE_LAYERS) != 0 && !options->no_nodes;
    plan->base.native_async = options->native_async;
    plan->base.energy = options->energy;
    return TRUE;
}

/* A model that cannot be trained is wrong input, whatever it lacks. */
static gboolean plan_passes(IfmProfilePlan *plan, GError **refused, GError **error)
{
    GError *trouble = NULL;
    if (profile_mode_init(plan, &trouble))
        return TRUE;
    ifm_error_blame_sizes(trouble);
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
        trouble->code = IFM_ERROR_INVALID;
    g_propagate_error(g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID) ? refused : error, trouble);
    return *refused != NULL;
}

gboolean profile_plan_init(IfmProfilePlan *plan, gboolean point, GError **error)
{
    GError *refused = NULL;
    if (!plan_model(plan, &refused, error))
        return FALSE;
    if (refused == NULL && point && plan->graph != NULL && plan->targets->len > 0)
    {
        plan->parts |=
            IFM_PROFILE_PE; /* what grows besides the model, and attention's share of the time, are reported of each */
        plan->base.profile = !plan->options.no_nodes;
        plan->base.profile_few =
            (plan->parts & IFM_PROFILE_LAYERS) == 0; /* that share is all that is reported of the nodes */
    }
    if (refused == NULL && !plan_passes(plan, &refused, error)) /* which makes another plan of it */
        return FALSE;
    if (refused != NULL && !point)
        g_propagate_error(error, refused);
    else
        plan->refused = refused;
    return refused == NULL || point;
}

gboolean profile_plan_init_side(IfmProfilePlan *plan, const char *name, const char *device_option, GError **error)
{
    plan->parts = IFM_PROFILE_RUNTIME;
    if (!parse_devices(plan, device_option, error) || !give_options(plan, error))
        return FALSE;
    if (!profile_plan_open(plan, error))
    {
        if (name != NULL && !g_error_matches(*error, IFM_ERROR, IFM_ERROR_USAGE)) /* which names the option */
            g_prefix_error(error, "%s: ", name);
        return FALSE;
    }
    if (!is_accepted(plan, error))
        return FALSE;
    plan->base = case_of(plan);
    plan->base = profile_plan_case(plan, plan->targets->pdata[0]);
    return TRUE;
}
