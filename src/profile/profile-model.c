#include <string.h>

#include <internal/axes.h>

#include "profile-private.h"

/* Models of files, and those of the zoo that are built by their names alone. */

#define ZOO_PREFIX "zoo:"

/* "zoo:matmul,m=512" is built and kept under OUT/models, so that a store's record says where its model is. */
static IfmModel *build_from_zoo(ProfilePlan *plan, const char *text, guint32 seed, const char *out, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    if (parts[0] == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, ZOO_PREFIX " which model? (see inferometer zoo list)");
        return NULL;
    }
    g_autofree char *name = seed == 1 ? g_strdup_printf("%s.onnx", text) : g_strdup_printf("%s,seed=%u.onnx", text, seed);
    plan->model_path = g_build_filename(out, "models", name, NULL);
    if (plan->written != NULL && g_hash_table_contains(plan->written, plan->model_path))
        return ifm_model_open(plan->model_path, error);
    g_autoptr(IfmModel) model = ifm_zoo_build(parts[0], (const char *const *)parts + 1, seed, error);
    if (model == NULL)
        return NULL;
    g_free(plan->model_path);
    plan->model_path = profile_out_file(out, "models", name, error);
    if (plan->model_path == NULL || !ifm_model_save(model, plan->model_path, error))
        return NULL;
    if (plan->written != NULL)
        g_hash_table_add(plan->written, g_strdup(plan->model_path));
    return ifm_model_open(plan->model_path, error);
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
    g_autoptr(GError) unknown = NULL;
    g_clear_error(error);
    if (*name == '\0')
    {
        ifm_error_refuse(error, "the model's name is empty: expected an ONNX file, or a model of the zoo");
        return;
    }
    ifm_zoo_find(name, &unknown);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no such file, nor in the zoo: %s", text,
                unknown != NULL ? unknown->message : name);
}

/* "resnet18,form=training" of "resnet18", where the entry knows that and the user said nothing of it. (transfer full) */
static char *training_form(const char *text)
{
    gboolean takes_form = ifm_axis_parameter(find_in_zoo(text), "form") != NULL;
    return g_strconcat(text, takes_form && strstr(text, ",form=") == NULL ? ",form=training" : "", NULL);
}

/* open_outside: A copy under OUT/models of a model whose data a link has elsewhere: runtimes refuse such links, too. */
static IfmModel *open_outside(ProfilePlan *plan, const IfmProfileOptions *options, GError **error)
{
    gboolean is_outside;
    g_autoptr(IfmModel) model = ifm_model_open_outside(options->model, &is_outside, error);
    const char *digest = model != NULL ? ifm_model_digest(model, error) : NULL;
    if (digest == NULL || !is_outside)
        return digest != NULL ? g_steal_pointer(&model) : NULL;
    g_autofree char *stem = g_strdup_printf("%s-%.8s", ifm_model_name(model), digest);
    g_autofree char *folder = g_build_filename("models", stem, NULL),
                    *name = g_strconcat(ifm_model_name(model), ".onnx", NULL);
    g_autofree char *path = profile_out_file(options->output, folder, name, error);
    if (path == NULL || !ifm_model_save(model, path, error))
        return NULL;
    profile_note(options->watch, "%s: weights outside of its folder: model and weights are copied to %s", options->model,
                 path);
    g_free(plan->model_path);
    plan->model_path = g_steal_pointer(&path);
    return ifm_model_open(plan->model_path, error);
}

/* The user's own file stands before the zoo's model of the same name. */
static IfmModel *open_named(ProfilePlan *plan, const IfmProfileOptions *options, GError **error)
{
    const char *text = options->model;
    gboolean prefixed = g_str_has_prefix(text, ZOO_PREFIX), exists = !prefixed && g_file_test(text, G_FILE_TEST_EXISTS);
    gboolean in_zoo = find_in_zoo(text) != NULL, folder = !prefixed && g_file_test(text, G_FILE_TEST_IS_DIR);
    const char *name = prefixed ? text + strlen(ZOO_PREFIX) : text;
    if (prefixed || ((!exists || folder) && in_zoo)) /* no folder is a model */
    {
        gboolean free_batch = options->batch > 0 && ifm_axis_parameter(find_in_zoo(name), "batch") != NULL;
        if (free_batch && strstr(name, ",batch=") != NULL)
        {
            ifm_error_misuse(error, "%s and --batch %" G_GINT64_FORMAT ": batch is given twice", text, options->batch);
            return NULL;
        }
        g_autofree char *form = plan->training ? training_form(name) : g_strdup(name);
        g_autofree char *words = g_strconcat(form, free_batch ? ",batch=0" : "", NULL);
        plan->source = g_strconcat(ZOO_PREFIX, words, NULL);
        return build_from_zoo(plan, words, (guint32)options->seed, options->output, error);
    }
    if (in_zoo)
        profile_note(options->watch, "%s: the file of that name, not the zoo's model (" ZOO_PREFIX "%s)", text, text);
    g_autofree char *here = g_get_current_dir();
    plan->model_path = g_canonicalize_filename(text, here);
    plan->source = g_strdup(text);
    IfmModel *model = options->allow_outside_data ? open_outside(plan, options, error) : ifm_model_open(text, error);
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

static gboolean bind_batch(ProfilePlan *plan, gint64 batch, GError **error)
{
    const IfmPort *port = ifm_model_n_inputs(plan->model) > 0 ? ifm_model_input(plan->model, 0) : NULL;
    if (port == NULL || port->rank == 0 || port->dim_names[0] == NULL)
        return ifm_error_refuse(error, "batch: the first dimension of the first input of %s is not free",
                                ifm_model_name(plan->model));
    IfmDimBinding binding = { g_strdup(port->dim_names[0]), batch };
    g_ptr_array_add(plan->dim_names, (gpointer)binding.name);
    g_array_append_val(plan->bindings, binding);
    return TRUE;
}

gboolean profile_model_init(ProfilePlan *plan, const IfmProfileOptions *options, GError **error)
{
    plan->model = open_named(plan, options, error);
    return plan->model != NULL && (options->batch <= 0 || bind_batch(plan, options->batch, error)) &&
           gives_anything(plan->model, error) && can_be_fed(plan, error) && profile_plan_feed(plan, options, error) &&
           profile_plan_analyse(plan, error);
}
