#include <string.h>

#include <base/fields.h>

#include "profile-private.h"

/*
 * A row of models in place of one: a list of sizes, or what is varied of a graph transformer. Each point is a profile by
 * the options as they would be with one of the values.
 */

#define MAX_VALUES 100

void profile_row_free(SweepRow *row)
{
    g_ptr_array_unref(row->points);
    g_strfreev(row->values);
    g_free(row->name);
    g_free(row->reports);
    g_free(row->refusals);
    g_free(row);
}

static SweepRow *add_row(IfmProfile *self)
{
    SweepRow *row = g_new0(SweepRow, 1);
    row->points = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_profile_plan_free);
    g_ptr_array_add(self->rows, row);
    return row;
}

/* --- what the caller said of a graph transformer ---------------------------------------------------------------------- */

/* The value of a setting behind a model's name: "lap" of pe in "gps,num_layers=2,pe=lap". @rest: (optional) the name
 * without it. (transfer full) NULL: it is not set */
static char *find_setting(const char *model, const char *option, char **rest)
{
    char *value = NULL;
    g_autofree char *start = g_strdelimit(g_strconcat(option, "=", NULL), "-", '_');
    g_auto(GStrv) settings = g_strsplit(model, ",", -1);
    g_autoptr(GPtrArray) kept = g_ptr_array_new();
    for (char **setting = settings; *setting != NULL; setting++)
        if (!g_str_has_prefix(*setting, start))
            g_ptr_array_add(kept, *setting);
        else if (value == NULL)
            value = g_strdup(*setting + strlen(start));
    g_ptr_array_add(kept, NULL);
    if (rest != NULL)
        *rest = g_strjoinv(",", (char **)kept->pdata);
    return value;
}

/* What the caller said of an option, as one or behind the model's name; NULL: nothing. (transfer full) */
static char *said_text(const IfmProfileOptions *options, const char *option)
{
    char *value = find_setting(options->model, option, NULL);
    return value != NULL ? value : ifm_option_text(profile_size_find(option), &options->graph);
}

static gboolean is_said(const IfmProfileOptions *options, const char *option)
{
    g_autofree char *text = said_text(options, option);
    return text != NULL;
}

/* As though it was not given, as an option or behind the model's name. */
static void drop(IfmProfilePlan *point, const char *option)
{
    char *rest;
    g_autofree char *value = find_setting(point->options.model, option, &rest);
    point->options.model = profile_plan_own(point, rest);
    profile_size_unsay(&point->options.graph, profile_size_find(option));
}

static gboolean put(IfmProfilePlan *point, const char *option, const char *text, GError **error)
{
    const IfmOption *row = profile_size_find(option);
    IfmOptionValue value;
    if (!ifm_option_parse(row, profile_plan_own(point, g_strdup(text)), &value, error))
        return FALSE;
    ifm_option_store(row, &value, &point->options.graph);
    return TRUE;
}

/* --- a list of sizes -------------------------------------------------------------------------------------------------- */

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

static gboolean put_list_value(const SweepRow *row, IfmProfilePlan *point, const char *value, GError **error)
{
    const IfmOption *option = words_option(point->options.model, row->name);
    profile_plan_change_dims(point, row->list, NULL);
    if (option == NULL)
    {
        ifm_profile_plan_set(point, row->name, g_ascii_strtoll(value, NULL, 10));
        return TRUE;
    }
    if (g_str_equal(option->name, "pe") && (strchr(value, ':') != NULL || g_str_equal(value, "none")))
        drop(point, "pe-dim");
    return put(point, option->name, value, error);
}

static gboolean vary_list(IfmProfile *self, const char *list, GError **error)
{
    const IfmProfileOptions *options = &self->options;
    SweepRow *row = add_row(self);
    row->list = list;
    if (!parse_list(row, options->model, list, error))
        return FALSE;
    const IfmOption *option = words_option(options->model, row->name);
    const IfmZooParameter *parameter = ifm_zoo_parameter(ifm_model_source_entry(options->model), row->name);
    row->help = option != NULL ? option->help : parameter != NULL ? parameter->help : NULL;
    if (option != NULL && is_said(options, option->name))
        return ifm_error_misuse(error, "--%s and --dim %s: %s is given twice", option->name, list, option->name);
    g_autofree char *said = find_setting(options->model, row->name, NULL);
    return option != NULL || row->help == NULL || said == NULL ||
           ifm_error_misuse(error, "%s and --dim %s: %s is given twice", options->model, list, row->name);
}

/* --- what is varied of a graph transformer ---------------------------------------------------------------------------- */

/* One value of what is varied, on a graph that is made: one that is read, and what else contradicts the value, is of the
 * model as it is. */
static gboolean put_preset_value(const IfmScalingPreset *preset, const IfmProfileOptions *said, IfmProfilePlan *point,
                                 const char *value, GError **error)
{
    if (is_said(said, "dataset"))
        drop(point, "num-graphs");
    drop(point, "dataset");
    if (g_str_equal(preset->option, "pe"))
        drop(point, "pe-dim");
    for (const char *const *setting = preset->settings; *setting != NULL; setting++)
    {
        g_auto(GStrv) parts = g_strsplit(*setting, "=", 2);
        if (!is_said(said, parts[0]) && !put(point, parts[0], parts[1], error))
            return FALSE;
    }
    drop(point, preset->option);
    return put(point, preset->option, value, error);
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

static void vary_axis(IfmProfile *self, const IfmScalingPreset *preset)
{
    SweepRow *row = add_row(self);
    row->axis = preset->axis;
    row->help = preset->help;
    row->preset = preset;
    row->values = values_of(&self->options, preset);
}

/* @text: "nodes,layers"; NULL: all there are. */
static gboolean vary_axes(IfmProfile *self, const char *text, GError **error)
{
    g_auto(GStrv) axes = g_strsplit(text != NULL ? text : "", ",", -1);
    for (const IfmScalingPreset *preset = ifm_scaling_presets(); text == NULL && preset->axis != NULL; preset++)
        vary_axis(self, preset);
    for (char **axis = axes; text != NULL && *axis != NULL; axis++)
    {
        g_autoptr(GError) trouble = NULL;
        const IfmScalingPreset *preset = ifm_scaling_preset(*axis, &trouble);
        if (preset == NULL)
            return ifm_error_misuse(error, "--scaling: %s", trouble->message);
        for (guint i = 0; i < self->rows->len; i++)
            if (((const SweepRow *)self->rows->pdata[i])->preset == preset)
                return ifm_error_misuse(error, "--scaling: %s is given twice", *axis);
        vary_axis(self, preset);
    }
    return TRUE;
}

/* --- what was asked for ----------------------------------------------------------------------------------------------- */

/* @scaling: whether that word is among the parts. @list: of --dim, NULL: there is none. */
static gboolean vary(IfmProfile *self, gboolean scaling, const char *list, GError **error)
{
    const IfmProfileOptions *options = &self->options;
    const char *axes = options->scaling;
    gboolean is_graph = profile_is_graph(options->model);
    if (axes != NULL && list != NULL)
        return ifm_error_misuse(error, "--scaling %s and --dim %s: one of them says what is varied", axes, list);
    if (axes != NULL && !is_graph)
        return ifm_error_misuse(error, "--scaling: of the zoo's graph_transformer and gps; of another model, --dim "
                                       "NAME=SIZE,SIZE...");
    if (list != NULL)
        return vary_list(self, list, error);
    if (axes == NULL && !scaling)
        return TRUE;
    if (!is_graph)
        return ifm_error_misuse(error,
                                "--profile scaling: of what? --dim N=100,500,1000 says which sizes of which dimension");
    if (!vary_axes(self, axes, error))
        return FALSE;
    if (is_said(options, "dataset"))
        profile_note(options->watch,
                     "--dataset is of the model as it is: the presets of a scaling are of seeded graphs (--dim "
                     "num_layers=2,4,8 varies a number on the dataset)");
    return TRUE;
}

#define POINT_PARTS (IFM_PROFILE_RUNTIME | IFM_PROFILE_MEMORY | IFM_PROFILE_FLOPS)

/* Whether nothing is run for these parts on any device. */
static gboolean runs_nothing(const IfmProfileOptions *options, guint parts)
{
    const guint of_model = options->devices == NULL ? IFM_PROFILE_MEMORY : 0;
    return (parts & ~(of_model | IFM_PROFILE_FLOPS | IFM_PROFILE_PE)) == 0;
}

/* split_parts: "flops,scaling": what a point is profiled for, and what the model as it is. The word scaling itself has the
 * points measured; without it parts that run nothing have them run nothing, too. @others: (out) 0: nothing */
static gboolean split_parts(const IfmProfileOptions *options, const char *list, guint *of_points, guint *others,
                            GError **error)
{
    guint asked = POINT_PARTS;
    if (options->parts != NULL)
        asked = profile_parts_of(options->parts);
    const gboolean scaling = (asked & IFM_PROFILE_SCALING) != 0;
    const guint rest = asked & ~(guint)IFM_PROFILE_SCALING;
    if (list != NULL && (rest & (IFM_PROFILE_LAYERS | IFM_PROFILE_PE)) != 0)
        return ifm_error_misuse(error, "--profile %s: of one model; --dim %s makes several",
                                (rest & IFM_PROFILE_LAYERS) != 0 ? "layers" : "pe", list);
    *others = list == NULL && options->parts != NULL ? rest : 0;
    if (list == NULL)
        *of_points = *others != 0 && !scaling && runs_nothing(options, rest) ? rest : POINT_PARTS;
    else
        *of_points = scaling ? POINT_PARTS | rest : rest;
    return TRUE;
}

/* --- plans ------------------------------------------------------------------------------------------------------------ */

/* Points with what of them there is a model of: as options alone, then as a plan. */
static gboolean make_points(IfmProfile *self, SweepRow *row, GError **error)
{
    for (char **value = row->values; *value != NULL; value++)
    {
        IfmProfilePlan *point = ifm_profile_plan_new(&self->options);
        g_ptr_array_add(row->points, point);
        if (!(row->preset != NULL ? put_preset_value(row->preset, &self->options, point, *value, error)
                                  : put_list_value(row, point, *value, error)))
            return FALSE;
    }
    return TRUE;
}

static gboolean plan_points(IfmProfile *self, SweepRow *row, guint parts, GError **error)
{
    for (guint i = 0; i < row->points->len; i++)
    {
        IfmProfilePlan *point = row->points->pdata[i];
        point->written = self->written;
        point->parts = parts;
        if (!profile_plan_init(point, TRUE, error))
            return FALSE;
        point->label = g_strdup_printf("%s %s", row->axis, row->values[i]);
        if (point->refused == NULL)
            g_ptr_array_add(self->plans, point);
    }
    return TRUE;
}

gboolean profile_sweep_init(IfmProfile *self, GError **error)
{
    const IfmProfileOptions *options = &self->options;
    const char *list = NULL, *text = options->parts;
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", ",", -1);
    guint of_points = 0, others = 0;
    if (!find_list(options, &list, error) ||
        !vary(self, g_strv_contains((const char *const *)words, "scaling"), list, error))
        return FALSE;
    for (guint i = 0; i < self->rows->len; i++)
        if (!make_points(self, self->rows->pdata[i], error))
            return FALSE;
    if (self->rows->len > 0 && !split_parts(options, list, &of_points, &others, error))
        return FALSE;
    if (self->rows->len == 0 || others != 0)
        self->model = ifm_profile_plan_new(options);
    if (others != 0)
    {
        self->model->parts = others;
        if (runs_nothing(options, others)) /* on no device, whatever the points run on */
            self->model->options.devices = NULL;
    }
    for (guint i = 0; i < self->rows->len; i++)
        if (!plan_points(self, self->rows->pdata[i], of_points, error))
            return FALSE;
    if (self->rows->len == 0 || self->plans->len > 0)
        return TRUE;
    const SweepRow *row = self->rows->pdata[0]; /* no point has a model: the first one's reason is the error */
    return ifm_error_pass(error, g_error_copy(((const IfmProfilePlan *)row->points->pdata[0])->refused));
}
