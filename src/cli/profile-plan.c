#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>

#include <inferometer/nearest.h>
#include <inferometer/zoo.h>

#include "profile.h"
#include "protocol.h"

#define ZOO_PREFIX "zoo:"

static const char *const outputs[] = { "json", "csv", NULL }; /* of profile and compare */

static void target_free(Target *target)
{
    g_free(target->alias);
    ifm_device_spec_free(target->spec);
    g_strfreev(target->vendor);
    ifm_case_free(target->sealed);
    ifm_measurement_free(target->measurement);
    ifm_measurement_free(target->limit);
    g_free(target->no_limit);
    g_free(target->limit_doubt);
    ifm_measurement_free(target->turns);
    g_free(target->no_turns);
    g_clear_error(&target->error);
    g_free(target);
}

GPtrArray *profile_targets_copy(const GPtrArray *targets)
{
    GPtrArray *copies = g_ptr_array_new_with_free_func((GDestroyNotify)target_free);
    for (guint i = 0; i < targets->len; i++)
    {
        const Target *target = targets->pdata[i];
        Target *copy = g_new0(Target, 1);
        copy->alias = g_strdup(target->alias);
        copy->spec = ifm_device_spec_parse(target->spec->text, NULL); /* it was one before */
        copy->vendor = g_strdupv(target->vendor);
        g_ptr_array_add(copies, copy);
    }
    return copies;
}

void profile_plan_clear(ProfilePlan *plan)
{
    g_clear_pointer(&plan->mode, profile_mode_free);
    g_clear_pointer(&plan->targets, g_ptr_array_unref);
    g_clear_pointer(&plan->bindings, g_array_unref);
    g_clear_pointer(&plan->dim_names, g_ptr_array_unref);
    g_clear_pointer(&plan->model, ifm_model_unref);
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->model_path, g_free);
    g_clear_pointer(&plan->inputs_path, g_free);
    g_clear_pointer(&plan->source, g_free);
    g_clear_pointer(&plan->observed_on, g_free);
    g_clear_pointer(&plan->why_not_observed, g_free);
    g_clear_pointer(&plan->label, g_free);
    g_clear_error(&plan->refused);
    g_clear_pointer(&plan->graph, profile_graph_unref);
    g_clear_pointer(&plan->sizes, g_array_unref);
}

/* --- parts --------------------------------------------------------------------------------------------------------------
 */

/* "runtime,layers" */
static int parse_parts(ProfilePlan *plan, const Arguments *arguments)
{
    const char *text = cli_text(arguments, "profile");
    const char *const *words = ifm_profile_part_words();
    g_auto(GStrv) asked = g_strsplit(text != NULL ? text : "", ",", -1);
    plan->parts = text != NULL ? 0 : IFM_PROFILE_ALL;
    for (char **word = asked; text != NULL && *word != NULL; word++)
    {
        guint bit = 0;
        while (words[bit] != NULL && !g_str_equal(words[bit], *word))
            bit++;
        if (words[bit] == NULL)
        {
            g_autofree char *all = g_strjoinv(", ", (char **)words), *hint = ifm_nearest_hint(*word, words);
            return cli_usage(cli_verb_of(arguments), "--profile: \"%s\" is no part of a profile (there are %s)%s", *word,
                             all, hint);
        }
        plan->parts |= 1u << bit;
    }
    return CLI_EXIT_OK;
}

/* The model's own work and memory need no device; a device's memory is asked for by naming one. */
static gboolean needs_device(const ProfilePlan *plan, const Arguments *arguments)
{
    gboolean named = cli_given(arguments, "device") && (plan->parts & IFM_PROFILE_MEMORY) != 0;
    return named || (plan->parts & (IFM_PROFILE_RUNTIME | IFM_PROFILE_LAYERS | IFM_PROFILE_SCALING)) != 0;
}

/* --- options of one side of a comparison ------------------------------------------------------------------------------ */

/* The side's own option where it was given, else that for all. (transfer full) */
static char *option_name(const ProfilePlan *plan, const Arguments *arguments, const char *name)
{
    g_autofree char *own = plan->side != NULL ? g_strdup_printf("%s-%s", plan->side, name) : NULL;
    return own != NULL && cli_given(arguments, own) ? g_steal_pointer(&own) : g_strdup(name);
}

/* What may be said several times: what was said for all, and what for the side. (transfer container) */
static GPtrArray *texts_of(const ProfilePlan *plan, const Arguments *arguments, const char *name)
{
    GPtrArray *texts = g_ptr_array_new();
    g_autofree char *own = plan->side != NULL ? g_strdup_printf("%s-%s", plan->side, name) : NULL;
    const char *names[] = { name, own };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        for (const char *const *text = names[i] != NULL ? cli_texts(arguments, names[i]) : NULL;
             text != NULL && *text != NULL; text++)
            g_ptr_array_add(texts, (gpointer)*text);
    g_ptr_array_add(texts, NULL);
    return texts;
}

/* --- devices -------------------------------------------------------------------------------------------------------- */

static Target *parse_device(const char *option, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    Target *target = g_new0(Target, 1);
    target->alias = equals != NULL ? g_strndup(text, (gsize)(equals - text)) : NULL;
    gboolean good = FALSE;
    if ((target->alias == NULL || ifm_alias_check(target->alias, error)) &&
        (target->spec = ifm_device_spec_parse(equals != NULL ? equals + 1 : text, error)) != NULL)
        good = ifm_engine_name_check(target->spec->engine, error);
    if (good)
        return target;
    g_prefix_error(error, "--%s %s: ", option, text);
    target_free(target);
    return NULL;
}

/* Two rows nobody could tell apart are a slip of the pen. */
static gboolean is_new(const GPtrArray *targets, const Target *target, GError **error)
{
    for (guint i = 0; i < targets->len; i++)
    {
        const Target *other = targets->pdata[i];
        if (g_str_equal(other->spec->text, target->spec->text) && g_strcmp0(other->alias, target->alias) == 0)
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--device %s: given twice", target->spec->text);
        else if (target->alias != NULL && g_strcmp0(other->alias, target->alias) == 0)
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--device: alias %s means both %s and %s", target->alias,
                        other->spec->text, target->spec->text);
        else
            continue;
        return FALSE;
    }
    return TRUE;
}

/* Returns: an exit status. A device's name may be wrong input; saying it twice is a wrong command line. */
static int parse_devices(ProfilePlan *plan, const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    plan->targets = g_ptr_array_new_with_free_func((GDestroyNotify)target_free);
    if (!needs_device(plan, arguments))
    {
        if (cli_given(arguments, "device"))
            return cli_usage(cli_verb_of(arguments), "--profile %s is of the model alone: no device is run for it",
                             cli_text(arguments, "profile"));
        return CLI_EXIT_OK;
    }
    g_autofree char *option = option_name(plan, arguments, "device");
    for (const char *const *text = cli_texts(arguments, option); *text != NULL; text++)
    {
        Target *target = parse_device(option, *text, &error);
        if (target == NULL)
            return cli_fail(error);
        gboolean good = is_new(plan->targets, target, &error);
        g_ptr_array_add(plan->targets, target);
        if (!good)
            return cli_usage(cli_verb_of(arguments), "%s", error->message);
    }
    return CLI_EXIT_OK;
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
static gboolean check_option(const ProfilePlan *plan, const char *option, GError **error)
{
    g_autofree char *engine = engine_of(option);
    if (strchr(option, '=') == NULL || *option == '=')
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "\"%s\" is not [ENGINE:]KEY=VALUE", option);
        return FALSE;
    }
    if (engine == NULL)
        return TRUE;
    if (!ifm_engine_name_check(engine, error))
        return FALSE;
    for (guint i = 0; i < plan->targets->len; i++)
        if (g_str_equal(((const Target *)plan->targets->pdata[i])->spec->engine, engine))
            return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "\"%s\" is for %s, and no --device is of that engine", option, engine);
    return FALSE;
}

static int give_options(ProfilePlan *plan, const Arguments *arguments)
{
    g_autoptr(GPtrArray) texts = texts_of(plan, arguments, "option");
    const char *const *options = (const char *const *)texts->pdata;
    for (gsize i = 0; options[i] != NULL; i++)
    {
        g_autoptr(GError) error = NULL;
        if (!check_option(plan, options[i], &error))
            return cli_usage(cli_verb_of(arguments), "--option: %s", error->message);
    }
    for (guint i = 0; i < plan->targets->len; i++)
    {
        Target *target = plan->targets->pdata[i];
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        for (gsize at = 0; options[at] != NULL; at++)
        {
            g_autofree char *engine = engine_of(options[at]);
            if (engine == NULL)
                g_strv_builder_add(builder, options[at]);
            else if (g_str_equal(engine, target->spec->engine))
                g_strv_builder_add(builder, options[at] + strlen(engine) + 1);
        }
        target->vendor = g_strv_builder_end(builder);
    }
    return CLI_EXIT_OK;
}

/* --- free dimensions ----------------------------------------------------------------------------------------------------
 */

static int parse_dims(ProfilePlan *plan, const Arguments *arguments)
{
    plan->bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    plan->dim_names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) texts = texts_of(plan, arguments, "dim");
    for (const char *const *text = (const char *const *)texts->pdata; *text != NULL; text++)
    {
        const char *equals = strrchr(*text, '=');
        gint64 value = 0;
        if (equals == NULL || equals == *text || !g_ascii_string_to_signed(equals + 1, 10, 1, G_MAXINT64, &value, NULL))
            return cli_usage(cli_verb_of(arguments), "--dim: \"%s\" is not NAME=SIZE, such as N=8", *text);
        char *name = g_strndup(*text, (gsize)(equals - *text));
        g_ptr_array_add(plan->dim_names, name);
        for (guint i = 0; i < plan->bindings->len; i++)
            if (g_str_equal(g_array_index(plan->bindings, IfmDimBinding, i).name, name))
                return cli_usage(cli_verb_of(arguments), "--dim: %s is given twice", name);
        IfmDimBinding binding = { name, value };
        g_array_append_val(plan->bindings, binding);
    }
    return CLI_EXIT_OK;
}

/* --- the model ----------------------------------------------------------------------------------------------------------
 */

char *profile_out_file(const char *out, const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(out, folder, NULL);
    if (g_mkdir_with_parents(path, 0777) == 0)
        return g_build_filename(path, name, NULL);
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: cannot be made: %s", path, g_strerror(errno));
    return NULL;
}

/* "zoo:matmul,m=512" is built and kept under OUT/models, so that a store's record says where its model is. */
static IfmModel *build_from_zoo(ProfilePlan *plan, const char *text, guint32 seed, const char *out, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    if (parts[0] == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, ZOO_PREFIX " which model? (see inferometer zoo list)");
        return NULL;
    }
    g_autofree char *unknown = cli_unknown_in_zoo(parts[0]);
    if (unknown != NULL)
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, unknown);
        return NULL;
    }
    g_autoptr(IfmModel) model = ifm_zoo_build(parts[0], (const char *const *)parts + 1, seed, error);
    if (model == NULL)
        return NULL;
    g_autofree char *name = seed == 1 ? g_strdup_printf("%s.onnx", text) : g_strdup_printf("%s,seed=%u.onnx", text, seed);
    plan->model_path = profile_out_file(out, "models", name, error);
    return plan->model_path != NULL && ifm_model_save(model, plan->model_path, error)
               ? ifm_model_open(plan->model_path, error)
               : NULL;
}

/* "resnet50", "resnet50,batch=8" */
static const IfmZooEntry *find_in_zoo(const char *text)
{
    gsize length = strcspn(text, ",");
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
        if (strlen(entry->name) == length && memcmp(entry->name, text, length) == 0)
            return entry;
    return NULL;
}

const IfmZooEntry *profile_zoo_entry(const char *text)
{
    if (g_str_has_prefix(text, ZOO_PREFIX))
        return find_in_zoo(text + strlen(ZOO_PREFIX));
    return g_file_test(text, G_FILE_TEST_EXISTS) && !g_file_test(text, G_FILE_TEST_IS_DIR) ? NULL : find_in_zoo(text);
}

/* Neither a file nor in the zoo: what is like a file's name was meant as one, and is missing; else it is a wrong name. */
static void explain_absent(const char *text, GError **error)
{
    if (!g_error_matches(*error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) || strpbrk(text, "./") != NULL)
        return;
    g_autofree char *name = g_strndup(text, strcspn(text, ","));
    g_autofree char *unknown = cli_unknown_in_zoo(name);
    g_clear_error(error);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no such file, nor in the zoo: %s", text,
                unknown != NULL ? unknown : name);
}

/* "resnet18,form=training" of "resnet18", where the entry knows that and the user said nothing of it. (transfer full) */
static char *training_form(const char *text)
{
    gsize length = strcspn(text, ",");
    const IfmZooEntry *entry = ifm_zoo_entries();
    while (entry->name != NULL && (strlen(entry->name) != length || memcmp(entry->name, text, length) != 0))
        entry++;
    for (gsize i = 0; entry->name != NULL && entry->parameters[i].name != NULL; i++)
        if (g_str_equal(entry->parameters[i].name, "form") && strstr(text, ",form=") == NULL)
            return g_strconcat(text, ",form=training", NULL);
    return g_strdup(text);
}

/* The user's own file stands before the zoo's model of the same name. */
static IfmModel *open_named(ProfilePlan *plan, const char *text, guint32 seed, const char *out, GError **error)
{
    gboolean prefixed = g_str_has_prefix(text, ZOO_PREFIX), exists = !prefixed && g_file_test(text, G_FILE_TEST_EXISTS);
    gboolean in_zoo = find_in_zoo(text) != NULL, folder = !prefixed && g_file_test(text, G_FILE_TEST_IS_DIR);
    const char *name = prefixed ? text + strlen(ZOO_PREFIX) : text;
    if (prefixed || ((!exists || folder) && in_zoo)) /* no folder is a model */
    {
        g_autofree char *form = plan->training ? training_form(name) : g_strdup(name);
        plan->source = g_strconcat(ZOO_PREFIX, form, NULL);
        return build_from_zoo(plan, form, seed, out, error);
    }
    if (in_zoo)
        cli_note("%s: the file of that name, not the zoo's model (" ZOO_PREFIX "%s)", text, text);
    g_autofree char *here = g_get_current_dir();
    plan->model_path = g_canonicalize_filename(text, here);
    plan->source = g_strdup(text);
    IfmModel *model = ifm_model_open(text, error);
    if (model == NULL && !exists)
        explain_absent(text, error);
    return model;
}

static gboolean gives_anything(const IfmModel *model, GError **error)
{
    if (ifm_model_n_outputs(model) > 0)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: its graph has no outputs: there is nothing to infer",
                ifm_model_name(model));
    return FALSE;
}

/* Whatever the device: inputs are tensors of numbers. A model that is only looked at needs none. */
static gboolean can_be_fed(const ProfilePlan *plan, GError **error)
{
    for (gsize i = 0; i < ifm_model_n_inputs(plan->model) && plan->targets->len > 0; i++)
    {
        const IfmPort *port = ifm_model_input(plan->model, i);
        if (ifm_dtype_size_bytes(port->dtype) > 0)
            continue;
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "%s: input '%s' is no tensor of numbers (%s): nothing can be made up to feed it with",
                    ifm_model_name(plan->model), port->name, ifm_dtype_name(port->dtype));
        return FALSE;
    }
    return TRUE;
}

static gboolean open_model(ProfilePlan *plan, const char *text, guint32 seed, const char *out, GError **error)
{
    const IfmDimBinding *bindings = (const IfmDimBinding *)(const void *)plan->bindings->data;
    plan->model = open_named(plan, text, seed, out, error);
    if (plan->model == NULL || !gives_anything(plan->model, error) || !can_be_fed(plan, error) ||
        !ifm_model_check_bindings(plan->model, bindings, plan->bindings->len, error))
        return FALSE;
    plan->analysis = ifm_model_analyse(plan->model, bindings, plan->bindings->len, error);
    return plan->analysis != NULL;
}

/* --- all of it ----------------------------------------------------------------------------------------------------------
 */

/* Returns: an exit status; with @error where there is no such model, which then was told nobody. */
static int plan_model(ProfilePlan *plan, const Arguments *arguments, const char *out, GError **error)
{
    int status = cli_check_protocol(arguments);
    if (status != CLI_EXIT_OK)
        return status;
    if ((status = parse_parts(plan, arguments)) != CLI_EXIT_OK ||
        (status = parse_devices(plan, arguments)) != CLI_EXIT_OK ||
        (status = give_options(plan, arguments)) != CLI_EXIT_OK || (status = parse_dims(plan, arguments)) != CLI_EXIT_OK)
        return status;
    guint32 seed = (guint32)cli_integer(arguments, "seed");
    IfmProtocol rule = IFM_PROTOCOL_INIT;
    plan->training = profile_mode_trains(arguments);
    const char *text = cli_positional(arguments)[0];
    if (!profile_is_graph(text) && (plan->parts & IFM_PROFILE_PE) != 0)
        return cli_usage(cli_verb_of(arguments),
                         "--profile pe: %s has no positional encoding: graph_transformer and gps do", text);
    GError *trouble = NULL;
    if (profile_is_graph(text))
        status = profile_graph_init(plan, arguments, out, &trouble);
    else
        open_model(plan, text, seed, out, &trouble);
    cli_blame_sizes(trouble);
    if (trouble != NULL)
        g_propagate_error(error, trouble);
    if (trouble != NULL || status != CLI_EXIT_OK)
        return status;
    if ((status = cli_check_model_kept(arguments, outputs, plan->model)) != CLI_EXIT_OK)
        return status;
    plan->base = (IfmModelCase){
        .model_path = plan->model_path,
        .model_name = plan->graph != NULL ? plan->graph->title : ifm_model_name(plan->model),
        .bindings = (const IfmDimBinding *)(const void *)plan->bindings->data,
        .n_bindings = plan->bindings->len,
        .sizes = plan->sizes != NULL ? (const IfmDimBinding *)(const void *)plan->sizes->data : NULL,
        .n_sizes = plan->sizes != NULL ? plan->sizes->len : 0,
        .dtype = ifm_dtype_from_name(cli_text(arguments, "dtype")),
        .threads = (int)cli_integer(arguments, "threads"),
        .seed = seed,
        .protocol = cli_protocol(arguments, &rule),
        .profile = (plan->parts & IFM_PROFILE_LAYERS) != 0 && !cli_given(arguments, "no-nodes"),
        .verify = !cli_given(arguments, "no-verify"),
        .native_async = cli_given(arguments, "native-async"),
    };
    return CLI_EXIT_OK;
}

int profile_plan_init(ProfilePlan *plan, const Arguments *arguments, const char *out)
{
    g_autoptr(GError) error = NULL;
    int status = plan_model(plan, arguments, out, &error);
    return error != NULL ? cli_fail(error) : status;
}

int profile_plan_init_point(ProfilePlan *plan, const Arguments *arguments, const char *out)
{
    int status = plan_model(plan, arguments, out, &plan->refused);
    if (status != CLI_EXIT_OK || plan->refused != NULL || plan->graph == NULL || plan->targets->len == 0)
        return status;
    plan->parts |= IFM_PROFILE_PE; /* what grows beside the model, and attention's share of the time, are told of each */
    plan->base.profile = !cli_given(arguments, "no-nodes");
    plan->base.profile_few = (plan->parts & IFM_PROFILE_LAYERS) == 0; /* that share is all that is told of the nodes */
    return status;
}

int profile_plan_init_side(ProfilePlan *plan, const Arguments *arguments, const char *side, const char *text,
                           const char *out)
{
    int status;
    g_autoptr(GError) error = NULL;
    plan->side = side;
    plan->parts = IFM_PROFILE_RUNTIME;
    if ((status = parse_devices(plan, arguments)) != CLI_EXIT_OK ||
        (status = give_options(plan, arguments)) != CLI_EXIT_OK || (status = parse_dims(plan, arguments)) != CLI_EXIT_OK)
        return status;
    guint32 seed = (guint32)cli_integer(arguments, "seed");
    if (!open_model(plan, text, seed, out, &error))
    {
        g_prefix_error(&error, "%s: ", g_str_equal(side, "a") ? "A" : "B");
        return cli_fail(error);
    }
    if ((status = cli_check_model_kept(arguments, outputs, plan->model)) != CLI_EXIT_OK)
        return status;
    g_autofree char *dtype = option_name(plan, arguments, "dtype"), *threads = option_name(plan, arguments, "threads");
    plan->base = (IfmModelCase){
        .model_path = plan->model_path,
        .model_name = ifm_model_name(plan->model),
        .bindings = (const IfmDimBinding *)(const void *)plan->bindings->data,
        .n_bindings = plan->bindings->len,
        .dtype = ifm_dtype_from_name(cli_text(arguments, dtype)),
        .threads = (int)cli_integer(arguments, threads),
        .seed = seed,
        .protocol = IFM_PROTOCOL_INIT,
        .verify = !cli_given(arguments, "no-verify"),
    };
    return CLI_EXIT_OK;
}

gboolean profile_plan_save(ProfilePlan *plan, GError **error)
{
    const IfmDimBinding *bindings = (const IfmDimBinding *)(const void *)plan->bindings->data;
    if (!ifm_model_save(plan->model, plan->model_path, error))
        return FALSE;
    g_clear_pointer(&plan->analysis, ifm_analysis_free);
    g_clear_pointer(&plan->model, ifm_model_unref);
    plan->model = ifm_model_open(plan->model_path, error);
    if (plan->model != NULL)
        plan->analysis = ifm_model_analyse(plan->model, bindings, plan->bindings->len, error);
    return plan->analysis != NULL;
}

IfmModelCase profile_plan_case(const ProfilePlan *plan, const Target *target)
{
    IfmModelCase model_case = plan->base;
    model_case.inputs_path = plan->inputs_path;
    model_case.device = target->spec->text;
    model_case.alias = target->alias;
    model_case.vendor = target->vendor[0] != NULL ? (const char *const *)target->vendor : NULL;
    return model_case;
}
