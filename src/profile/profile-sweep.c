#include <string.h>

#include <predict/predict.h>

#include "profile-private.h"

/*
 * A row of models in place of one: a list of sizes, or what is varied of a graph transformer. Each point is a profile by
 * the options as they would be with one of the values.
 */

#define MAX_VALUES 100

static void row_free(SweepRow *row)
{
    g_ptr_array_unref(row->points);
    g_strfreev(row->values);
    g_free(row->name);
    g_free(row);
}

void profile_sweep_clear(Sweep *sweep)
{
    g_clear_pointer(&sweep->rows, g_ptr_array_unref);
    g_clear_pointer(&sweep->model, ifm_profile_point_free);
    g_clear_pointer(&sweep->written, g_hash_table_unref);
}

static SweepRow *add_row(Sweep *sweep, const char *axis, const char *help)
{
    SweepRow *row = g_new0(SweepRow, 1);
    row->axis = axis;
    row->help = help;
    row->points = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_profile_point_free);
    g_ptr_array_add(sweep->rows, row);
    return row;
}

/* --- points ---------------------------------------------------------------------------------------------------------- */

/* Varying: a row whose points are made. put: one value into the options of its point. @list: of --dim; NULL: @preset says
 * what is varied */
typedef struct Varying Varying;
struct Varying
{
    gboolean (*put)(const Varying *varying, IfmProfilePoint *point, const char *value, GError **error);
    const IfmProfileOptions *options;
    SweepRow *row;
    const char *list;
    const IfmScalingPreset *preset;
};

static gboolean take_point(const guint *at, void *user, GError **error)
{
    const Varying *varying = user;
    IfmProfilePoint *point = ifm_profile_point_new(varying->options);
    g_ptr_array_add(varying->row->points, point);
    return varying->put(varying, point, varying->row->values[at[0]], error);
}

/* A row is one axis. */
static gboolean make_points(Varying *varying, GError **error)
{
    const guint length = g_strv_length(varying->row->values);
    return ifm_axes_each(&length, 1, take_point, varying, error);
}

/* --- what the caller said of a graph transformer ------------------------------------------------------------------------
 */

static gboolean is_set_in_name(const char *model, const char *name)
{
    g_auto(GStrv) settings = g_strsplit(model, ",", -1);
    g_autofree char *start = g_strconcat(name, "=", NULL);
    for (char **setting = settings; *setting != NULL; setting++)
        if (g_str_has_prefix(*setting, start))
            return TRUE;
    return FALSE;
}

/* Whether the caller said it, as an option or behind the model's name. */
static gboolean is_said(const IfmProfileOptions *options, const char *option)
{
    g_autofree char *parameter = g_strdelimit(g_strdup(option), "-", '_');
    return profile_size_is_said(&options->graph, profile_size_find(option)) || is_set_in_name(options->model, parameter);
}

/* As though it was not given, as an option or behind the model's name. */
static void drop(IfmProfilePoint *point, const char *option)
{
    g_autofree char *start = g_strconcat(option, "=", NULL);
    g_auto(GStrv) settings = g_strsplit(point->options.model, ",", -1);
    g_autoptr(GPtrArray) kept = g_ptr_array_new();
    g_strdelimit(start, "-", '_');
    for (char **setting = settings; *setting != NULL; setting++)
        if (!g_str_has_prefix(*setting, start))
            g_ptr_array_add(kept, *setting);
    g_ptr_array_add(kept, NULL);
    point->options.model = profile_point_own(point, g_strjoinv(",", (char **)kept->pdata));
    profile_size_unsay(&point->options.graph, profile_size_find(option));
}

static gboolean put(IfmProfilePoint *point, const char *option, const char *text, GError **error)
{
    const IfmOption *row = profile_size_find(option);
    IfmOptionValue value;
    if (!ifm_option_parse(row, profile_point_own(point, g_strdup(text)), &value, error))
        return FALSE;
    ifm_option_store(row, &value, &point->options.graph);
    return TRUE;
}

/* --- a list of sizes ----------------------------------------------------------------------------------------------------
 */

/* "N=100,500": its name ends at the last "=". */
static gboolean is_list(const char *text)
{
    const char *equals = strrchr(text, '=');
    return equals != NULL && strchr(equals, ',') != NULL;
}

/* The option of a graph transformer that a list has words of, such as pe=none,lap:8; NULL: it is of sizes. */
static const IfmOption *words_option(const char *model, const char *name)
{
    g_autofree char *option = g_strdelimit(g_strdup(name), "_", '-');
    const IfmOption *row = profile_is_graph(model) ? profile_size_find(option) : NULL;
    return row != NULL && (row->kind == IFM_OPTION_CHOICE || g_str_equal(option, "pe")) ? row : NULL;
}

static gboolean check_words(const SweepRow *row, const char *text, GError **error)
{
    for (char **value = row->values; *value != NULL; value++)
        for (char **before = row->values; before < value; before++)
            if (g_str_equal(*before, *value))
                return ifm_error_misuse(error, "--dim %s: %s is given twice", text, *value);
    return TRUE;
}

/* Sizes that ascend are what a growth is read from; a size twice is a slip of the pen. */
static gboolean parse_list(SweepRow *row, const char *model, const char *text, GError **error)
{
    const char *equals = strrchr(text, '=');
    gint64 before = 0, size = 0;
    row->name = g_strndup(text, (gsize)(equals - text));
    row->axis = row->name;
    row->values = g_strsplit(equals + 1, ",", -1);
    if (*row->name == '\0')
        return ifm_error_misuse(error, "--dim: \"%s\" is not NAME=SIZE,SIZE..., such as N=100,500,1000", text);
    if (words_option(model, row->name) != NULL)
        return check_words(row, text, error);
    for (char **value = row->values; *value != NULL; value++, before = size)
    {
        if (!g_ascii_isdigit(**value) || !g_ascii_string_to_signed(*value, 10, 1, G_MAXINT64, &size, NULL))
            return ifm_error_misuse(error, "--dim %s: \"%s\" is no size (a whole number, 1 or more)", text, *value);
        if (size <= before)
            return ifm_error_misuse(error, "--dim %s: %s is not above %" G_GINT64_FORMAT ": the sizes of a list ascend",
                                    text, *value, before);
    }
    if (g_strv_length(row->values) > MAX_VALUES)
        return ifm_error_misuse(error, "--dim %s=: %u sizes, %d at most", row->name, g_strv_length(row->values),
                                MAX_VALUES);
    return TRUE;
}

/* @text: (out) the one list there is; NULL: none. */
static gboolean find_list(const IfmProfileOptions *options, const char **text, GError **error)
{
    *text = NULL;
    for (const char *const *dim = options->open.dims; dim != NULL && *dim != NULL; dim++)
    {
        if (!is_list(*dim))
            continue;
        if (*text != NULL)
            return ifm_error_misuse(error, "--dim %s and --dim %s: one dimension at a time has a list of sizes", *text,
                                    *dim);
        *text = *dim;
    }
    return TRUE;
}

static gboolean put_list_value(const Varying *varying, IfmProfilePoint *point, const char *value, GError **error)
{
    profile_point_drop_dim(point, varying->list);
    ifm_profile_point_set(point, varying->row->name, g_ascii_strtoll(value, NULL, 10));
    return TRUE;
}

static gboolean put_list_word(const Varying *varying, IfmProfilePoint *point, const char *value, GError **error)
{
    const IfmOption *option = words_option(varying->options->model, varying->row->name);
    profile_point_drop_dim(point, varying->list);
    if (g_str_equal(option->name, "pe") && (strchr(value, ':') != NULL || g_str_equal(value, "none")))
        drop(point, "pe-dim");
    return put(point, option->name, value, error);
}

static gboolean vary_list(Sweep *sweep, const IfmProfileOptions *options, const char *list, GError **error)
{
    SweepRow *row = add_row(sweep, NULL, NULL);
    Varying varying = { .put = put_list_value, .options = options, .row = row, .list = list };
    if (!parse_list(row, options->model, list, error))
        return FALSE;
    const IfmOption *option = words_option(options->model, row->name);
    if (option != NULL)
    {
        varying.put = put_list_word;
        row->help = option->help;
        if (is_said(options, option->name))
            return ifm_error_misuse(error, "--%s and --dim %s: %s is given twice", option->name, list, option->name);
        return make_points(&varying, error);
    }
    const IfmZooParameter *parameter = ifm_zoo_parameter(ifm_model_source_entry(options->model), row->name);
    row->help = parameter != NULL ? parameter->help : NULL;
    if (row->help != NULL && is_set_in_name(options->model, row->name))
        return ifm_error_misuse(error, "%s and --dim %s: %s is given twice", options->model, list, row->name);
    return make_points(&varying, error);
}

/* --- what is varied of a graph transformer ------------------------------------------------------------------------------
 */

/* One value of what is varied, on a graph that is made: one that is read, and what else contradicts the value, is of the
 * model as it is. */
static gboolean put_preset_value(const Varying *varying, IfmProfilePoint *point, const char *value, GError **error)
{
    const IfmScalingPreset *preset = varying->preset;
    if (is_said(varying->options, "dataset"))
        drop(point, "num-graphs");
    drop(point, "dataset");
    if (g_str_equal(preset->option, "pe"))
        drop(point, "pe-dim");
    for (const char *const *setting = preset->settings; *setting != NULL; setting++)
    {
        g_auto(GStrv) parts = g_strsplit(*setting, "=", 2);
        if (!is_said(varying->options, parts[0]) && !put(point, parts[0], parts[1], error))
            return FALSE;
    }
    drop(point, preset->option);
    return put(point, preset->option, value, error);
}

/* What the caller said of an option, as one or behind the model's name; NULL: nothing. (transfer full) */
static char *said_text(const IfmProfileOptions *options, const char *option)
{
    g_autofree char *parameter = g_strdelimit(g_strdup(option), "-", '_'), *start = g_strconcat(parameter, "=", NULL);
    g_auto(GStrv) settings = g_strsplit(options->model, ",", -1);
    for (char **setting = settings; *setting != NULL; setting++)
        if (g_str_has_prefix(*setting, start))
            return g_strdup(*setting + strlen(start));
    return profile_size_text(&options->graph, profile_size_find(option));
}

/* As a value of its axis: an encoding with its numbers. (transfer full) */
static char *said_value(const IfmProfileOptions *options, const char *option)
{
    char *value = said_text(options, option);
    if (value == NULL || !g_str_equal(option, "pe") || strchr(value, ':') != NULL || g_str_equal(value, "none"))
        return value;
    g_autofree char *word = value, *dim = said_text(options, "pe-dim");
    return g_strdup_printf("%s:%s", word, dim != NULL ? dim : G_STRINGIFY(IFM_TRANSFORMER_USUAL_PE));
}

/* The preset's, and of words the one that the command line asks for: numbers have an order and a range of their own.
 * (transfer full) */
static GStrv values_of(const IfmProfileOptions *options, const IfmScalingPreset *preset)
{
    g_autofree char *said =
        words_option(options->model, preset->option) != NULL ? said_value(options, preset->option) : NULL;
    const guint n = g_strv_length((char **)preset->values);
    GStrv values = g_new0(char *, n + 2);
    for (guint i = 0; i < n; i++)
        values[i] = g_strdup(preset->values[i]);
    if (said != NULL && !g_strv_contains(preset->values, said))
        values[n] = g_steal_pointer(&said);
    return values;
}

static gboolean vary_axis(Sweep *sweep, const IfmProfileOptions *options, const IfmScalingPreset *preset, GError **error)
{
    SweepRow *row = add_row(sweep, preset->axis, preset->help);
    Varying varying = { .put = put_preset_value, .options = options, .row = row, .preset = preset };
    row->values = values_of(options, preset);
    return make_points(&varying, error);
}

/* @text: "nodes,layers"; NULL: all there are. */
static gboolean vary_axes(Sweep *sweep, const IfmProfileOptions *options, const char *text, GError **error)
{
    g_auto(GStrv) axes = g_strsplit(text != NULL ? text : "", ",", -1);
    for (const IfmScalingPreset *preset = ifm_scaling_presets(); text == NULL && preset->axis != NULL; preset++)
        if (!vary_axis(sweep, options, preset, error))
            return FALSE;
    for (char **axis = axes; text != NULL && *axis != NULL; axis++)
    {
        g_autoptr(GError) trouble = NULL;
        const IfmScalingPreset *preset = ifm_scaling_preset(*axis, &trouble);
        if (preset == NULL)
            return ifm_error_misuse(error, "--scaling: %s", trouble->message);
        for (guint i = 0; i < sweep->rows->len; i++)
            if (((const SweepRow *)sweep->rows->pdata[i])->axis == preset->axis)
                return ifm_error_misuse(error, "--scaling: %s is given twice", *axis);
        if (!vary_axis(sweep, options, preset, error))
            return FALSE;
    }
    return TRUE;
}

/* --- what was asked for -------------------------------------------------------------------------------------------------
 */

/* @scaling: whether that word is among the parts. @list: of --dim, NULL: there is none. */
static gboolean vary(Sweep *sweep, const IfmProfileOptions *options, gboolean scaling, const char *list, GError **error)
{
    const char *axes = options->scaling;
    gboolean is_graph = profile_is_graph(options->model);
    if (axes != NULL && list != NULL)
        return ifm_error_misuse(error, "--scaling %s and --dim %s: one of them says what is varied", axes, list);
    if (axes != NULL && !is_graph)
        return ifm_error_misuse(error, "--scaling: of the zoo's graph_transformer and gps; of another model, --dim "
                                       "NAME=SIZE,SIZE...");
    if (list != NULL)
        return vary_list(sweep, options, list, error);
    if (axes == NULL && !scaling)
        return TRUE;
    if (!is_graph)
        return ifm_error_misuse(error,
                                "--profile scaling: of what? --dim N=100,500,1000 says which sizes of which dimension");
    if (!vary_axes(sweep, options, axes, error))
        return FALSE;
    if (is_said(options, "dataset"))
        profile_note(options->watch,
                     "--dataset is of the model as it is: the presets of a scaling are of seeded graphs (--dim "
                     "num_layers=2,4,8 varies a number on the dataset)");
    return TRUE;
}

#define POINT_PARTS "runtime,memory,flops"

/* Whether nothing is run for these parts on any device. */
static gboolean runs_nothing(const IfmProfileOptions *options, const char *const *parts)
{
    for (const char *const *part = parts; *part != NULL; part++)
    {
        gboolean of_model = g_str_equal(*part, "memory") && options->devices == NULL;
        if (!of_model && !g_str_equal(*part, "flops") && !g_str_equal(*part, "pe"))
            return FALSE;
    }
    return TRUE;
}

/* split_parts: "flops,scaling": what a point is profiled for, and what the model as it is. The word scaling itself has the
 * points measured; without it parts that run nothing have them run nothing, too. @others: (out) NULL: nothing */
static gboolean split_parts(const IfmProfileOptions *options, const char *list, char **of_points, char **others,
                            GError **error)
{
    const char *text = options->parts;
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : POINT_PARTS, ",", -1);
    g_autoptr(GPtrArray) rest = g_ptr_array_new();
    gboolean scaling = g_strv_contains((const char *const *)words, "scaling");
    for (char **word = words; *word != NULL; word++)
        if (!g_str_equal(*word, "scaling"))
            g_ptr_array_add(rest, *word);
    g_ptr_array_add(rest, NULL);
    const char *const *kept = (const char *const *)rest->pdata;
    if (list != NULL && (g_strv_contains(kept, "layers") || g_strv_contains(kept, "pe")))
        return ifm_error_misuse(error, "--profile %s: of one model; --dim %s makes several",
                                g_strv_contains(kept, "layers") ? "layers" : "pe", list);
    g_autofree char *rest_text = g_strjoinv(",", (char **)rest->pdata);
    *others = list == NULL && text != NULL && rest->len > 1 ? g_strdup(rest_text) : NULL;
    if (list == NULL)
        *of_points = g_strdup(*others != NULL && !scaling && runs_nothing(options, kept) ? rest_text : POINT_PARTS);
    else if (scaling)
        *of_points = g_strconcat(POINT_PARTS, rest->len > 1 ? "," : "", rest_text, NULL);
    else
        *of_points = g_steal_pointer(&rest_text);
    return TRUE;
}

/* The model as it is: on no device where none is run for its parts, whatever the points run on. */
static void take_model(Sweep *sweep, const IfmProfileOptions *options, const char *parts)
{
    g_auto(GStrv) words = g_strsplit(parts, ",", -1);
    sweep->model = ifm_profile_point_new(options);
    sweep->model->options.parts = profile_point_own(sweep->model, g_strdup(parts));
    if (runs_nothing(options, (const char *const *)words))
        sweep->model->options.devices = NULL;
}

/* --- plans --------------------------------------------------------------------------------------------------------------
 */

static gboolean init_row(SweepRow *row, GHashTable *written, const char *parts, GError **error)
{
    for (guint i = 0; i < row->points->len; i++)
    {
        IfmProfilePoint *point = row->points->pdata[i];
        ProfilePlan *plan = point->plan = g_new0(ProfilePlan, 1);
        plan->written = written;
        point->options.parts = profile_point_own(point, g_strdup(parts));
        if (!profile_plan_init(plan, &point->options, TRUE, error))
            return FALSE;
        plan->label = g_strdup_printf("%s %s", row->axis, row->values[i]);
    }
    return TRUE;
}

/* Where there is no model at any point, the first one's reason is the error. */
static gboolean check_any(const Sweep *sweep, GError **error)
{
    const GError *first = NULL;
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        for (guint at = 0; at < row->points->len; at++)
        {
            const ProfilePlan *plan = profile_row_plan(row, at);
            if (plan->refused == NULL)
                return TRUE;
            first = first != NULL ? first : plan->refused;
        }
    }
    if (first != NULL)
        g_propagate_error(error, g_error_copy(first));
    return first == NULL;
}

gboolean profile_sweep_init(Sweep *sweep, const IfmProfileOptions *options, GError **error)
{
    const char *list = NULL, *text = options->parts;
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", ",", -1);
    g_autofree char *of_points = NULL, *others = NULL;
    sweep->rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    sweep->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!find_list(options, &list, error) ||
        !vary(sweep, options, g_strv_contains((const char *const *)words, "scaling"), list, error))
        return FALSE;
    if (sweep->rows->len == 0)
        return TRUE;
    if (!split_parts(options, list, &of_points, &others, error))
        return FALSE;
    if (others != NULL)
        take_model(sweep, options, others);
    for (guint i = 0; i < sweep->rows->len; i++)
        if (!init_row(sweep->rows->pdata[i], sweep->written, of_points, error))
            return FALSE;
    return check_any(sweep, error);
}

void profile_sweep_add_plans(const Sweep *sweep, GPtrArray *plans)
{
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        for (guint at = 0; at < row->points->len; at++)
            if (profile_row_plan(row, at)->refused == NULL)
                g_ptr_array_add(plans, profile_row_plan(row, at));
    }
}
