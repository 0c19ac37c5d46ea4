#include <string.h>

#include <inferometer/scaling.h>

#include "profile.h"

/*
 * A row of models in place of one: --dim N=100,500,1000, or what is varied of a graph transformer. Each point is a profile
 * by the command line as it would be with one of the values.
 */

#define MOST_VALUES 100

static void plan_free(ProfilePlan *plan)
{
    profile_plan_clear(plan);
    g_free(plan);
}

static void row_free(SweepRow *row)
{
    g_ptr_array_unref(row->plans);
    g_ptr_array_unref(row->arguments);
    g_strfreev(row->values);
    g_free(row->name);
    g_free(row);
}

void profile_sweep_clear(Sweep *sweep)
{
    g_clear_pointer(&sweep->rows, g_ptr_array_unref);
    g_clear_pointer(&sweep->model, cli_arguments_free);
}

static SweepRow *add_row(Sweep *sweep, const char *axis, const char *help)
{
    SweepRow *row = g_new0(SweepRow, 1);
    row->axis = axis;
    row->help = help;
    row->arguments = g_ptr_array_new_with_free_func((GDestroyNotify)cli_arguments_free);
    row->plans = g_ptr_array_new_with_free_func((GDestroyNotify)plan_free);
    g_ptr_array_add(sweep->rows, row);
    return row;
}

/* --- a list of sizes ----------------------------------------------------------------------------------------------------
 */

/* "N=100,500": its name ends at the last "=". */
static gboolean is_list(const char *text)
{
    const char *equals = strrchr(text, '=');
    return equals != NULL && strchr(equals, ',') != NULL;
}

/* Returns: an exit status. Sizes that ascend are what a growth is read from; a size twice is a slip of the pen. */
static int parse_list(SweepRow *row, const Arguments *arguments, const char *text)
{
    const Verb *verb = cli_verb_of(arguments);
    const char *equals = strrchr(text, '=');
    gint64 before = 0, size = 0;
    row->name = g_strndup(text, (gsize)(equals - text));
    row->axis = row->name;
    row->values = g_strsplit(equals + 1, ",", -1);
    if (*row->name == '\0')
        return cli_usage(verb, "--dim: \"%s\" is not NAME=SIZE,SIZE..., such as N=100,500,1000", text);
    for (char **value = row->values; *value != NULL; value++, before = size)
    {
        if (!g_ascii_isdigit(**value) || !g_ascii_string_to_signed(*value, 10, 1, G_MAXINT64, &size, NULL))
            return cli_usage(verb, "--dim %s: \"%s\" is no size (a whole number, 1 or more)", text, *value);
        if (size <= before)
            return cli_usage(verb, "--dim %s: %s is not above %" G_GINT64_FORMAT ": the sizes of a list ascend", text,
                             *value, before);
    }
    if (g_strv_length(row->values) > MOST_VALUES)
        return cli_usage(verb, "--dim %s=: %u sizes, %d at most", row->name, g_strv_length(row->values), MOST_VALUES);
    return CLI_EXIT_OK;
}

/* @text: (out) the one list there is; NULL: none. Returns: an exit status. */
static int find_list(const Arguments *arguments, const char **text)
{
    *text = NULL;
    for (const char *const *dim = cli_texts(arguments, "dim"); *dim != NULL; dim++)
    {
        if (!is_list(*dim))
            continue;
        if (*text != NULL)
            return cli_usage(cli_verb_of(arguments), "--dim %s and --dim %s: one dimension at a time has a list of sizes",
                             *text, *dim);
        *text = *dim;
    }
    return CLI_EXIT_OK;
}

/* The command line with one size in place of the list. */
static gboolean put_size(Arguments *point, const char *list, const char *name, const char *value, GError **error)
{
    g_autoptr(GPtrArray) dims = g_ptr_array_new();
    g_autofree char *size = g_strdup_printf("%s=%s", name, value);
    for (const char *const *dim = cli_texts(point, "dim"); *dim != NULL; dim++)
        g_ptr_array_add(dims, (gpointer)(*dim == list ? size : *dim));
    g_ptr_array_add(dims, NULL);
    return cli_arguments_set(point, "dim", (const char *const *)dims->pdata, error);
}

/* A size that a model of the zoo is built with is part of its name: "resnet18,batch=8". */
static gboolean put_parameter(Arguments *point, const char *list, const char *name, const char *value, GError **error)
{
    g_autoptr(GPtrArray) dims = g_ptr_array_new();
    g_autofree char *model = g_strdup_printf("%s,%s=%s", cli_positional(point)[0], name, value);
    for (const char *const *dim = cli_texts(point, "dim"); *dim != NULL; dim++)
        if (*dim != list)
            g_ptr_array_add(dims, (gpointer)*dim);
    g_ptr_array_add(dims, NULL);
    cli_arguments_set_positional(point, 0, model);
    return cli_arguments_set(point, "dim", (const char *const *)dims->pdata, error);
}

static const char *find_parameter(const char *model, const char *name)
{
    const IfmZooEntry *entry = profile_zoo_entry(model);
    for (const IfmZooParameter *at = entry != NULL ? entry->parameters : NULL; at != NULL && at->name != NULL; at++)
        if (g_str_equal(at->name, name))
            return at->help;
    return NULL;
}

static gboolean is_set_in_name(const char *model, const char *name)
{
    g_auto(GStrv) settings = g_strsplit(model, ",", -1);
    g_autofree char *start = g_strconcat(name, "=", NULL);
    for (char **setting = settings; *setting != NULL; setting++)
        if (g_str_has_prefix(*setting, start))
            return TRUE;
    return FALSE;
}

static int vary_list(Sweep *sweep, const Arguments *arguments, const char *list)
{
    const char *model = cli_positional(arguments)[0];
    SweepRow *row = add_row(sweep, NULL, NULL);
    int status = parse_list(row, arguments, list);
    if (status != CLI_EXIT_OK)
        return status;
    row->help = find_parameter(model, row->name);
    if (row->help != NULL && is_set_in_name(model, row->name))
        return cli_usage(cli_verb_of(arguments), "%s and --dim %s: %s is given twice", model, list, row->name);
    for (char **value = row->values; *value != NULL; value++)
    {
        Arguments *point = cli_arguments_copy(arguments);
        g_autoptr(GError) error = NULL;
        g_ptr_array_add(row->arguments, point);
        gboolean good = row->help != NULL ? put_parameter(point, list, row->name, *value, &error)
                                          : put_size(point, list, row->name, *value, &error);
        if (!good)
            return cli_fail(error);
    }
    return CLI_EXIT_OK;
}

/* --- what is varied of a graph transformer ------------------------------------------------------------------------------
 */

static gboolean put(Arguments *point, const char *option, const char *value, GError **error)
{
    const char *const values[] = { value, NULL };
    return cli_arguments_set(point, option, values, error);
}

/* Whether the user said it, as an option or beside the model's name. */
static gboolean is_said(const Arguments *arguments, const char *option)
{
    g_autofree char *parameter = g_strdelimit(g_strdup(option), "-", '_');
    return cli_given(arguments, option) || is_set_in_name(cli_positional(arguments)[0], parameter);
}

/* As though nobody had said it, as an option or beside the model's name. */
static gboolean drop(Arguments *point, const char *option, GError **error)
{
    g_autofree char *start = g_strconcat(option, "=", NULL);
    g_auto(GStrv) settings = g_strsplit(cli_positional(point)[0], ",", -1);
    g_autoptr(GPtrArray) kept = g_ptr_array_new();
    g_strdelimit(start, "-", '_');
    for (char **setting = settings; *setting != NULL; setting++)
        if (!g_str_has_prefix(*setting, start))
            g_ptr_array_add(kept, *setting);
    g_ptr_array_add(kept, NULL);
    g_autofree char *model = g_strjoinv(",", (char **)kept->pdata);
    cli_arguments_set_positional(point, 0, model);
    return put(point, option, NULL, error);
}

static gboolean put_settings(Arguments *point, const Arguments *arguments, const IfmScalingPreset *preset, GError **error)
{
    for (const char *const *setting = preset->settings; *setting != NULL; setting++)
    {
        g_auto(GStrv) parts = g_strsplit(*setting, "=", 2);
        if (!is_said(arguments, parts[0]) && !put(point, parts[0], parts[1], error))
            return FALSE;
    }
    return TRUE;
}

/* The command line with one value of what is varied, on a graph that is made: one that is read, and what else contradicts
 * the value, is of the model as it is. */
static gboolean put_value(Arguments *point, const Arguments *arguments, const IfmScalingPreset *preset, const char *value,
                          GError **error)
{
    gboolean encodings = g_str_equal(preset->option, "pe");
    return drop(point, "dataset", error) && drop(point, "num-graphs", error) &&
           (!encodings || drop(point, "pe-dim", error)) && put_settings(point, arguments, preset, error) &&
           drop(point, preset->option, error) && put(point, preset->option, value, error);
}

static int vary_axis(Sweep *sweep, const Arguments *arguments, const IfmScalingPreset *preset)
{
    SweepRow *row = add_row(sweep, preset->axis, preset->help);
    row->values = g_strdupv((char **)preset->values);
    for (char **value = row->values; *value != NULL; value++)
    {
        Arguments *point = cli_arguments_copy(arguments);
        g_autoptr(GError) error = NULL;
        g_ptr_array_add(row->arguments, point);
        if (!put_value(point, arguments, preset, *value, &error))
            return cli_fail(error);
    }
    return CLI_EXIT_OK;
}

/* @text: "nodes,layers"; NULL: all there are. */
static int vary_axes(Sweep *sweep, const Arguments *arguments, const char *text)
{
    g_auto(GStrv) axes = g_strsplit(text != NULL ? text : "", ",", -1);
    int status = CLI_EXIT_OK;
    for (const IfmScalingPreset *preset = ifm_scaling_presets(); text == NULL && preset->axis != NULL; preset++)
        if ((status = vary_axis(sweep, arguments, preset)) != CLI_EXIT_OK)
            return status;
    for (char **axis = axes; text != NULL && *axis != NULL; axis++)
    {
        g_autoptr(GError) error = NULL;
        const IfmScalingPreset *preset = ifm_scaling_preset(*axis, &error);
        if (preset == NULL)
            return cli_usage(cli_verb_of(arguments), "--scaling: %s", error->message);
        for (guint i = 0; i < sweep->rows->len; i++)
            if (((const SweepRow *)sweep->rows->pdata[i])->axis == preset->axis)
                return cli_usage(cli_verb_of(arguments), "--scaling: %s is given twice", *axis);
        if ((status = vary_axis(sweep, arguments, preset)) != CLI_EXIT_OK)
            return status;
    }
    return CLI_EXIT_OK;
}

/* --- what was asked for -------------------------------------------------------------------------------------------------
 */

/* @scaling: whether --profile has that word. @list: of --dim, NULL: there is none. Returns: an exit status. */
static int vary(Sweep *sweep, const Arguments *arguments, gboolean scaling, const char *list)
{
    const Verb *verb = cli_verb_of(arguments);
    const char *model = cli_positional(arguments)[0], *axes = cli_text(arguments, "scaling");
    if (axes != NULL && list != NULL)
        return cli_usage(verb, "--scaling %s and --dim %s: one of them says what is varied", axes, list);
    if (axes != NULL && !profile_is_graph(model))
        return cli_usage(verb,
                         "--scaling: of the zoo's graph_transformer and gps; of another model, --dim NAME=SIZE,SIZE...");
    if (list != NULL)
        return vary_list(sweep, arguments, list);
    if (axes == NULL && !scaling)
        return CLI_EXIT_OK;
    if (!profile_is_graph(model))
        return cli_usage(verb, "--profile scaling: of what? --dim N=100,500,1000 says which sizes of which dimension");
    int status = vary_axes(sweep, arguments, axes);
    if (status == CLI_EXIT_OK && is_said(arguments, "dataset"))
        cli_note(
            "--dataset is of the model as it is: the presets of a scaling are of seeded graphs (--dim num_layers=2,4,8 "
            "varies a number on the dataset)");
    return status;
}

#define POINT_PARTS "runtime,memory,flops"

/* Whether nothing is run for these parts on any device. */
static gboolean runs_nothing(const Arguments *arguments, const char *const *parts)
{
    for (const char *const *part = parts; *part != NULL; part++)
    {
        gboolean of_model = g_str_equal(*part, "memory") && !cli_given(arguments, "device");
        if (!of_model && !g_str_equal(*part, "flops") && !g_str_equal(*part, "pe"))
            return FALSE;
    }
    return TRUE;
}

/* split_parts: "flops,scaling": what a point is profiled for, and what the model as it is. The word scaling itself has the
 * points measured; without it parts that run nothing have them run nothing, too. @others: (out) NULL: nothing */
static int split_parts(const Arguments *arguments, const char *list, char **of_points, char **others)
{
    const char *text = cli_text(arguments, "profile");
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : POINT_PARTS, ",", -1);
    g_autoptr(GPtrArray) rest = g_ptr_array_new();
    gboolean scaling = g_strv_contains((const char *const *)words, "scaling");
    for (char **word = words; *word != NULL; word++)
        if (!g_str_equal(*word, "scaling"))
            g_ptr_array_add(rest, *word);
    g_ptr_array_add(rest, NULL);
    const char *const *kept = (const char *const *)rest->pdata;
    if (list != NULL && (g_strv_contains(kept, "layers") || g_strv_contains(kept, "pe")))
        return cli_usage(cli_verb_of(arguments), "--profile %s: of one model; --dim %s makes several",
                         g_strv_contains(kept, "layers") ? "layers" : "pe", list);
    g_autofree char *rest_text = g_strjoinv(",", (char **)rest->pdata);
    *others = list == NULL && text != NULL && rest->len > 1 ? g_strdup(rest_text) : NULL;
    if (list == NULL)
        *of_points = g_strdup(*others != NULL && !scaling && runs_nothing(arguments, kept) ? rest_text : POINT_PARTS);
    else if (scaling)
        *of_points = g_strconcat(POINT_PARTS, rest->len > 1 ? "," : "", rest_text, NULL);
    else
        *of_points = g_steal_pointer(&rest_text);
    return CLI_EXIT_OK;
}

/* The model as it is: on no device where none is run for its parts, whatever the points run on. */
static gboolean take_model(Sweep *sweep, const Arguments *arguments, const char *parts, GError **error)
{
    g_auto(GStrv) words = g_strsplit(parts, ",", -1);
    gboolean alone = runs_nothing(arguments, (const char *const *)words);
    sweep->model = cli_arguments_copy(arguments);
    return put(sweep->model, "profile", parts, error) && (!alone || put(sweep->model, "device", NULL, error));
}

/* --- plans --------------------------------------------------------------------------------------------------------------
 */

static int init_point(ProfilePlan *plan, const Arguments *arguments, const char *out)
{
    int status = profile_plan_init_point(plan, arguments, out);
    if (status != CLI_EXIT_OK || plan->refused != NULL)
        return status;
    GError *refused = NULL;
    status = profile_mode_init(plan, arguments, out, &refused); /* which makes another plan of it */
    plan->refused = refused;
    return status;
}

static int init_row(SweepRow *row, const char *out, const char *parts)
{
    for (guint i = 0; i < row->arguments->len; i++)
    {
        ProfilePlan *plan = g_new0(ProfilePlan, 1);
        g_autoptr(GError) error = NULL;
        g_ptr_array_add(row->plans, plan);
        if (!put(row->arguments->pdata[i], "profile", parts, &error))
            return cli_fail(error);
        int status = init_point(plan, row->arguments->pdata[i], out);
        if (status != CLI_EXIT_OK)
            return status;
        plan->label = g_strdup_printf("%s %s", row->axis, row->values[i]);
    }
    return CLI_EXIT_OK;
}

/* Where there is no model at any point, the first one's reason is all there is to tell. */
static int check_any(const Sweep *sweep)
{
    const GError *first = NULL;
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        for (guint at = 0; at < row->plans->len; at++)
        {
            const ProfilePlan *plan = row->plans->pdata[at];
            if (plan->refused == NULL)
                return CLI_EXIT_OK;
            first = first != NULL ? first : plan->refused;
        }
    }
    return first != NULL ? cli_fail(first) : CLI_EXIT_OK;
}

int profile_sweep_init(Sweep *sweep, const Arguments *arguments, const char *out)
{
    const char *list = NULL, *text = cli_text(arguments, "profile");
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", ",", -1);
    g_autofree char *of_points = NULL, *others = NULL;
    g_autoptr(GError) error = NULL;
    int status;
    sweep->rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    if ((status = find_list(arguments, &list)) != CLI_EXIT_OK ||
        (status = vary(sweep, arguments, g_strv_contains((const char *const *)words, "scaling"), list)) != CLI_EXIT_OK ||
        sweep->rows->len == 0 || (status = split_parts(arguments, list, &of_points, &others)) != CLI_EXIT_OK)
        return status;
    if (others != NULL && !take_model(sweep, arguments, others, &error))
        return cli_fail(error);
    for (guint i = 0; i < sweep->rows->len; i++)
        if ((status = init_row(sweep->rows->pdata[i], out, of_points)) != CLI_EXIT_OK)
            return status;
    return check_any(sweep);
}

/* --- telling ------------------------------------------------------------------------------------------------------------
 */

void profile_sweep_told_clear(SweepTold *told)
{
    g_clear_pointer(&told->rows, g_array_unref);
    g_clear_pointer(&told->blocks, g_ptr_array_unref);
}

void profile_sweep_tell(const Sweep *sweep, void (*tell)(const ProfilePlan *plan, IfmProfileStory *story, void *user),
                        void *user, SweepTold *told)
{
    told->rows = g_array_new(FALSE, FALSE, sizeof(IfmScalingRow));
    told->blocks = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        IfmProfileStory *stories = g_new0(IfmProfileStory, row->plans->len);
        const char **refusals = g_new0(const char *, row->plans->len);
        IfmScalingRow as_told = { .axis = row->axis,
                                  .help = row->help,
                                  .values = (const char *const *)row->values,
                                  .refusals = refusals,
                                  .stories = stories,
                                  .n = row->plans->len };
        g_ptr_array_add(told->blocks, stories);
        g_ptr_array_add(told->blocks, refusals);
        for (guint at = 0; at < row->plans->len; at++)
        {
            const ProfilePlan *plan = row->plans->pdata[at];
            if (plan->refused != NULL)
                refusals[at] = plan->refused->message;
            else
                tell(plan, &stories[at], user);
        }
        g_array_append_val(told->rows, as_told);
    }
}

void profile_sweep_add_plans(const Sweep *sweep, GPtrArray *plans)
{
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        for (guint at = 0; at < row->plans->len; at++)
            if (((const ProfilePlan *)row->plans->pdata[at])->refused == NULL)
                g_ptr_array_add(plans, row->plans->pdata[at]);
    }
}

int profile_sweep_status(const Sweep *sweep)
{
    guint n = 0, n_refused = 0;
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        for (guint at = 0; at < row->plans->len; at++, n++)
            n_refused += ((const ProfilePlan *)row->plans->pdata[at])->refused != NULL;
    }
    if (n_refused == 0)
        return CLI_EXIT_OK;
    cli_complain("%u of %u points have no model", n_refused, n);
    return CLI_EXIT_FAILED;
}
