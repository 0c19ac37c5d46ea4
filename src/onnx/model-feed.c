#include <errno.h>
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <onnx/onnx.h>

/* What a user feeds a model with (--input), and sizes of its free dimensions: those of the inputs, those asked for, and 1
 * for a batch that nothing is said of. */

const IfmOption ifm_model_options[] = {
    { "batch", IFM_OPTION_COUNT, "N",
      "inputs at once: the free first dimension of the model's first input; 0: as the model is", "0", .maximum = 65536,
      .at = G_STRUCT_OFFSET(IfmModelOptions, batch) },
    { "dim", IFM_OPTION_TEXT, "NAME=SIZE", "size of a free dimension, such as N=8; '*=1': of every one that has none",
      .at = G_STRUCT_OFFSET(IfmModelOptions, dims), .repeatable = TRUE },
    { "input", IFM_OPTION_TEXT, "NAME=FILE|VALUE|LOW..HIGH",
      "what an input is fed: a file of NumPy (.npy, .npz) or ONNX (.pb), one number, or random ones of a range; without "
      "it plausible ones where the model shows what they are (pictures 0..1, words of the vocabulary), else -1..1, of "
      "whole "
      "numbers 0..1",
      .at = G_STRUCT_OFFSET(IfmModelOptions, inputs), .repeatable = TRUE },
    { "allow-outside-data", IFM_OPTION_FLAG, NULL,
      "weights behind a symbolic link that leaves the model's folder: work on a copy of them and of the model",
      .at = G_STRUCT_OFFSET(IfmModelOptions, allow_outside_data) },
    { NULL },
};

/* Side: of the model: its inputs, or its outputs. */
typedef struct
{
    const char *option, *word, *takes;
    gsize (*n)(const IfmModel *model);
    const IfmPort *(*port)(const IfmModel *model, gsize index);
} Side;

static const Side of_inputs = { "input", "input", "takes", ifm_model_n_inputs, ifm_model_input };
static const Side of_outputs = { "expect", "output", "gives", ifm_model_n_outputs, ifm_model_output };

/* Fed: an input of the model and what it gets; or an output and what it must be. */
typedef struct
{
    const Side *side;
    const IfmPort *port;
    const char *what; /* "image.npy", "16000", "0..1000" */
    double low, high; /* of no file */
    IfmTensor tensor; /* of a file; else empty until its shape is known */
    gboolean may_have_samples;
    IfmTensor samples; /* of a file with several, of which the tensor is the first; else empty */
} Fed;

static void fed_free(gpointer data)
{
    ifm_tensor_clear(&((Fed *)data)->tensor);
    ifm_tensor_clear(&((Fed *)data)->samples);
    g_free(data);
}

/* --- names ------------------------------------------------------------------------------------------------------------ */

/* "NAME=WHAT" of an input or output of the model, whose name may hold a "=". */
static const IfmPort *find_port(const IfmModel *model, const Side *side, const char *text, const char **what)
{
    for (gsize i = 0; i < side->n(model); i++)
    {
        const IfmPort *port = side->port(model, i);
        const gsize length = strlen(port->name);
        if (strncmp(text, port->name, length) == 0 && text[length] == '=')
        {
            *what = text + length + 1;
            return port;
        }
    }
    return NULL;
}

static gboolean refuse_name(const IfmModel *model, const Side *side, const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    g_autofree char *name = g_strndup(text, equals != NULL ? (gsize)(equals - text) : strlen(text));
    g_autoptr(GString) names = g_string_new(NULL);
    if (equals == NULL)
        return ifm_error_misuse(error, "--%s: \"%s\" is not NAME=FILE%s", side->option, text,
                                side == &of_inputs ? ", NAME=VALUE or NAME=LOW..HIGH" : "");
    for (gsize i = 0; i < side->n(model); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", side->port(model, i)->name);
    return ifm_error_refuse(error, "--%s: %s has no %s '%s' (it has %s)", side->option, ifm_model_name(model), side->word,
                            name, names->len > 0 ? names->str : "none");
}

/* --- files ------------------------------------------------------------------------------------------------------------ */

static gboolean is_file(const char *what)
{
    return g_str_has_suffix(what, ".npy") || g_str_has_suffix(what, ".npz") || g_str_has_suffix(what, ".pb");
}

/* Whether a file's tensor goes into the input (IfmNumpyAccept); its free dimensions are bound by it. */
static gboolean fits(IfmDtype dtype, int rank, const gint64 *shape, gconstpointer user, GError **error)
{
    const Fed *fed = user;
    const IfmPort *port = fed->port;
    gboolean same = dtype == port->dtype && (port->rank < 0 || rank == port->rank);
    for (int axis = 0; same && axis < port->rank; axis++)
        same = port->dims[axis] < 0 || port->dims[axis] == shape[axis] ||
               (axis == 0 && fed->may_have_samples && port->dims[0] == 1 && shape[0] > 1);
    if (same)
        return TRUE;
    g_autoptr(GString) expected = g_string_new("[");
    for (int axis = 0; axis < port->rank; axis++)
        if (port->dims[axis] >= 0)
            g_string_append_printf(expected, "%s%" G_GINT64_FORMAT, axis > 0 ? ", " : "", port->dims[axis]);
        else
            g_string_append_printf(expected, "%s%s", axis > 0 ? ", " : "", port->dim_names[axis]);
    g_autofree char *found = ifm_shape_to_string(rank, shape);
    return ifm_error_refuse(error, "%s: %s %s, but %s '%s' %s %s %s]", fed->what, ifm_dtype_name(dtype), found,
                            fed->side->word, port->name, fed->side->takes, ifm_dtype_name(port->dtype), expected->str);
}

/* Of several samples the first is fed to a model that takes one at once. */
static gboolean split(Fed *fed, GError **error)
{
    IfmTensor *whole = &fed->samples;
    gint64 shape[IFM_MAX_RANK];
    fed->samples = fed->tensor;
    fed->tensor = (IfmTensor)IFM_TENSOR_INIT;
    memcpy(shape, whole->shape, sizeof shape);
    shape[0] = 1;
    if (!ifm_tensor_init(&fed->tensor, whole->dtype, whole->rank, shape, error))
        return FALSE;
    memcpy(fed->tensor.data, whole->data, fed->tensor.size_bytes);
    return TRUE;
}

static gboolean read_file(Fed *fed, GError **error)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new(fed->what, FALSE, NULL);
    if (file == NULL)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "--%s %s: %s: cannot be read: %s", fed->side->option,
                             fed->port->name, fed->what, g_strerror(errno));
    const guint8 *data = (const guint8 *)g_mapped_file_get_contents(file);
    const gsize size = g_mapped_file_get_length(file);
    gboolean read = g_str_has_suffix(fed->what, ".pb")
                        ? ifm_onnx_tensor_read(data, size, fed->what, &fed->tensor, error)
                        : ifm_numpy_read(data, size, fed->port->name, fed->what, fits, fed, &fed->tensor, error);
    if (read && fits(fed->tensor.dtype, fed->tensor.rank, fed->tensor.shape, fed, error))
        return !fed->may_have_samples || fed->port->rank <= 0 || fed->port->dims[0] != 1 || fed->tensor.shape[0] == 1 ||
               split(fed, error);
    g_prefix_error(error, "--%s %s: ", fed->side->option, fed->port->name);
    return FALSE;
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

/* "16000" or "0..1000" */
static gboolean parse_values(Fed *fed, GError **error)
{
    const char *dots = strstr(fed->what, "..");
    if (ifm_dtype_size_bytes(fed->port->dtype) == 0)
        return ifm_error_misuse(error, "--input %s: \"%s\" is no file, and %s are read from one (.pb)", fed->port->name,
                                fed->what, fed->port->dtype == IFM_DTYPE_STRING ? "texts" : "packed numbers");
    g_autofree char *first = dots != NULL ? g_strndup(fed->what, (gsize)(dots - fed->what)) : g_strdup(fed->what);
    const char *second = dots != NULL ? dots + 2 : first;
    char *end = NULL, *last = NULL;
    double *low = &fed->low, *high = &fed->high;
    *low = g_ascii_strtod(first, &end);
    *high = g_ascii_strtod(second, &last);
    if (end == first || *end != '\0' || last == second || *last != '\0' || !isfinite(*low) || !isfinite(*high))
        return ifm_error_misuse(error,
                                "--input %s: \"%s\" is no file (.npy, .npz, .pb), no number and no range, such as 0..1000",
                                fed->port->name, fed->what);
    if (*low > *high)
        return ifm_error_misuse(error, "--input %s: %s: the first is above the second", fed->port->name, fed->what);
    if (ifm_dtype_is_float(fed->port->dtype))
        return TRUE;
    if (fed->port->dtype == IFM_DTYPE_BOOL && (*low != *high || (*low != 0 && *low != 1)))
        return ifm_error_misuse(error, "--input %s: %s: it takes 0 or 1 (bool)", fed->port->name, fed->what);
    if (*low != floor(*low) || *high != floor(*high) || fabs(*low) > 0x1p53 || fabs(*high) > 0x1p53)
        return ifm_error_misuse(error, "--input %s: %s: it takes whole numbers up to 2^53 (%s)", fed->port->name, fed->what,
                                ifm_dtype_name(fed->port->dtype));
    return TRUE;
}

/* Whether the type of the input has the number. */
static gboolean has_number(const Fed *fed, double number, GError **error)
{
    if (ifm_dtype_is_float(fed->port->dtype) || ifm_tensor_get_double(&fed->tensor, 0) == number)
        return TRUE;
    return ifm_error_misuse(error, "--input %s: %s: %s has no %g", fed->port->name, fed->what,
                            ifm_dtype_name(fed->port->dtype), number);
}

static gboolean make_values(Fed *fed, const IfmModelFeed *feed, guint32 seed, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    const double low = fed->low, high = fed->high;
    g_autoptr(GRand) random = ifm_onnx_random(seed, fed->port->name);
    if (!ifm_port_bind(fed->port, ifm_model_feed_bindings(feed), feed->bindings->len, shape, error) ||
        !ifm_tensor_init(&fed->tensor, fed->port->dtype, fed->port->rank, shape, error))
        return FALSE;
    if (fed->tensor.size_bytes == 0)
        return TRUE;
    if (fed->port->dtype == IFM_DTYPE_BOOL)
    {
        memset(fed->tensor.data, (int)low, fed->tensor.size_bytes);
        return TRUE;
    }
    const double ends[] = { low, high };
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) /* a number beyond the type would be clamped unseen */
        if (!ifm_tensor_fill_random(&fed->tensor, random, ends[i], ends[i], error) || !has_number(fed, ends[i], error))
            return FALSE;
    /* Of whole numbers the generator leaves out the upper end. */
    return ifm_tensor_fill_random(&fed->tensor, random, low, ifm_dtype_is_float(fed->port->dtype) ? high : high + 1, error);
}

/* --- free dimensions -------------------------------------------------------------------------------------------------- */

static const IfmDimBinding *find_binding(const IfmModelFeed *feed, const char *name)
{
    for (guint i = 0; i < feed->bindings->len; i++)
        if (g_str_equal(g_array_index(feed->bindings, IfmDimBinding, i).name, name))
            return &g_array_index(feed->bindings, IfmDimBinding, i);
    return NULL;
}

void ifm_model_feed_bind(IfmModelFeed *feed, const char *name, gint64 size)
{
    const IfmDimBinding binding = { g_strdup(name), size };
    g_ptr_array_add(feed->names, (gpointer)binding.name);
    g_array_append_val(feed->bindings, binding);
}

static gboolean parse_dim(IfmModelFeed *feed, const char *text, GError **error)
{
    const char *equals = strrchr(text, '=');
    gint64 size = 0;
    if (equals == NULL || equals == text || !g_ascii_string_to_signed(equals + 1, 10, 0, G_MAXINT64, &size, NULL))
        return ifm_error_misuse(error, "--dim: \"%s\" is not NAME=SIZE, such as N=8", text);
    g_autofree char *name = g_strndup(text, (gsize)(equals - text));
    if (find_binding(feed, name) != NULL)
        return ifm_error_misuse(error, "--dim: %s is given twice", name);
    ifm_model_feed_bind(feed, name, size);
    return TRUE;
}

static void given_clear(gpointer data)
{
    ifm_tensor_clear(&((IfmGivenInput *)data)->tensor);
}

gboolean ifm_model_feed_init(IfmModelFeed *feed, const char *const *dims, GError **error)
{
    *feed = (IfmModelFeed){ .bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding)),
                            .names = g_ptr_array_new_with_free_func(g_free),
                            .given = g_array_new(FALSE, FALSE, sizeof(IfmGivenInput)),
                            .samples = g_array_new(FALSE, FALSE, sizeof(IfmGivenInput)) };
    g_array_set_clear_func(feed->given, given_clear);
    g_array_set_clear_func(feed->samples, given_clear);
    for (; dims != NULL && *dims != NULL; dims++)
        if (!parse_dim(feed, *dims, error))
            return FALSE;
    return TRUE;
}

void ifm_model_feed_clear(IfmModelFeed *feed)
{
    g_clear_pointer(&feed->given, g_array_unref);
    g_clear_pointer(&feed->samples, g_array_unref);
    g_clear_pointer(&feed->bindings, g_array_unref);
    g_clear_pointer(&feed->names, g_ptr_array_unref);
}

/* The sizes of a file's tensor. */
static gboolean bind_by_file(IfmModelFeed *feed, Fed *fed, GError **error)
{
    for (int axis = 0; axis < fed->port->rank; axis++)
    {
        const char *name = fed->port->dim_names[axis];
        const IfmDimBinding *known = name != NULL && fed->port->dims[axis] < 0 ? find_binding(feed, name) : NULL;
        if (name == NULL || fed->port->dims[axis] >= 0)
            continue;
        if (known != NULL && known->value == 1 && axis == 0 && fed->may_have_samples && fed->tensor.shape[0] > 1 &&
            !split(fed, error))
            return FALSE;
        if (known != NULL && known->value != fed->tensor.shape[axis])
            return ifm_error_refuse(error, "--input %s: %s has %s=%" G_GINT64_FORMAT ", but it is %" G_GINT64_FORMAT,
                                    fed->port->name, fed->what, name, fed->tensor.shape[axis], known->value);
        if (known == NULL)
            ifm_model_feed_bind(feed, name, fed->tensor.shape[axis]);
    }
    return TRUE;
}

/* "batch", "batch_size", "N": as exporters call it. */
static gboolean is_batch(const char *name)
{
    static const char *const names[] = { "n", "b", "bs", "bsz", "batchsize", "num_batch", "unk__batch", NULL };
    g_autofree char *lower = g_ascii_strdown(name, -1);
    return g_str_has_prefix(lower, "batch") || g_strv_contains(names, lower);
}

/* The first dimension of an input that is free; NULL: it has none. */
static const char *first_dim(const IfmPort *port)
{
    return port->rank > 0 && port->dims[0] < 0 ? port->dim_names[0] : NULL;
}

static gboolean is_nameless(const IfmPort *port)
{
    g_autofree char *made = g_strdup_printf("%s[0]", port->name);
    return g_strcmp0(first_dim(port), made) == 0;
}

/* "unk__749" of tf2onnx, "DynamicDimension.0" of other converters. */
static gboolean is_made_up(const char *name)
{
    static const char *const prefixes[] = { "unk__", "DynamicDimension." };
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(name, prefixes[i]) && g_ascii_isdigit(name[strlen(prefixes[i])]))
            return TRUE;
    return FALSE;
}

/* Whether the first dimension of the first input, which says nothing of what it is, is that of all inputs. */
static gboolean all_have_it(const IfmModel *model)
{
    const IfmPort *first = ifm_model_n_inputs(model) > 0 ? ifm_model_input(model, 0) : NULL;
    const gboolean nameless = first != NULL && is_nameless(first);
    if (first == NULL || first_dim(first) == NULL || (!nameless && !is_made_up(first_dim(first))))
        return FALSE;
    for (gsize i = 1; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        if (nameless ? !is_nameless(port) : g_strcmp0(first_dim(port), first_dim(first)) != 0)
            return FALSE;
    }
    return TRUE;
}

/* --batch: of an input without a name for it, also the other inputs' where none has one. */
static gboolean bind_batch(IfmModelFeed *feed, const IfmModel *model, gint64 batch, GError **error)
{
    const char *name = ifm_model_n_inputs(model) > 0 ? first_dim(ifm_model_input(model, 0)) : NULL;
    if (name == NULL)
        return ifm_error_refuse(error, "batch: the first dimension of the first input of %s is not free",
                                ifm_model_name(model));
    const gsize n = all_have_it(model) ? ifm_model_n_inputs(model) : 1;
    for (gsize i = 0; i < n; i++)
    {
        name = first_dim(ifm_model_input(model, i));
        const IfmDimBinding *known = find_binding(feed, name);
        if (known != NULL && i == 0)
            return ifm_error_misuse(error, "--batch and --dim %s: the size of one dimension is given twice", name);
        if (known == NULL)
            ifm_model_feed_bind(feed, name, batch);
    }
    return TRUE;
}

/* Takes "*" from the sizes that were asked for; -1: it was not there. */
static gint64 take_any(IfmModelFeed *feed)
{
    for (guint i = 0; i < feed->bindings->len; i++)
    {
        const IfmDimBinding one = g_array_index(feed->bindings, IfmDimBinding, i);
        if (!g_str_equal(one.name, "*"))
            continue;
        g_array_remove_index(feed->bindings, i);
        return one.value;
    }
    return -1;
}

/* One message for all, with the words that bind them. */
static gboolean refuse_free(const IfmModel *model, const GPtrArray *names, GError **error)
{
    g_autoptr(GString) command = g_string_new(NULL);
    for (guint i = 0; i < names->len; i++)
    {
        g_autofree char *dim = g_strconcat(names->pdata[i], "=SIZE", NULL), *quoted = g_shell_quote(dim);
        g_string_append_printf(command, " --dim %s", strpbrk(dim, " []*?'\"$&;<>()|\\") != NULL ? quoted : dim);
    }
    return ifm_error_refuse(error, "%s: %u dimension%s of its inputs %s free: add%s, or --dim '*=1' for 1 everywhere",
                            ifm_model_name(model), names->len, ifm_plural(names->len), names->len == 1 ? "is" : "are",
                            command->str);
}

/* A size for a dimension that is not free, of any input. */
static gboolean check_names(const IfmModelFeed *feed, const IfmModel *model, GError **error)
{
    const IfmDimBinding *bindings = ifm_model_feed_bindings(feed);
    for (guint i = 0; i < feed->bindings->len; i++)
    {
        gboolean found = FALSE;
        for (gsize k = 0; k < ifm_model_n_inputs(model) && !found; k++)
        {
            const IfmPort *port = ifm_model_input(model, k);
            for (int axis = 0; axis < port->rank && !found; axis++)
                found = g_strcmp0(port->dim_names[axis], bindings[i].name) == 0;
        }
        if (!found) /* which says so, and what is free */
            return ifm_model_check_bindings(model, bindings, feed->bindings->len, error);
    }
    return TRUE;
}

/* Binds what is still free of one input. @names: what nothing says the size of */
static void bind_port(IfmModelFeed *feed, const IfmPort *port, gint64 any, gboolean is_common, GPtrArray *names,
                      GString *taken)
{
    for (int axis = 0; axis < port->rank; axis++)
    {
        const char *name = port->dim_names[axis];
        if (port->dims[axis] >= 0 || name == NULL || find_binding(feed, name) != NULL)
            continue;
        if (any >= 0)
            ifm_model_feed_bind(feed, name, any);
        else if (axis == 0 && (is_batch(name) || is_common))
        {
            ifm_model_feed_bind(feed, name, 1);
            g_string_append_printf(taken, "%s%s", taken->len > 0 ? ", " : "", name);
        }
        else if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
            g_ptr_array_add(names, (gpointer)name);
    }
}

static gboolean bind_rest(IfmModelFeed *feed, const IfmModel *model, IfmNote note, void *user, GError **error)
{
    const gint64 any = take_any(feed);
    const gboolean is_common = all_have_it(model);
    if (!check_names(feed, model, error))
        return FALSE;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(GString) taken = g_string_new(NULL);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        bind_port(feed, ifm_model_input(model, i), any, is_common, names, taken);
    if (names->len > 0)
        return refuse_free(model, names, error);
    const gboolean one = strstr(taken->str, ", ") == NULL;
    g_autofree char *line = one ? g_strdup_printf("%s: its free dimension %s is taken as 1 (--dim %s=SIZE sets it)",
                                                  ifm_model_name(model), taken->str, taken->str)
                                : g_strdup_printf("%s: its free dimensions %s are taken as 1 (--batch sets them)",
                                                  ifm_model_name(model), taken->str);
    if (taken->len > 0 && note != NULL)
        note(line, user);
    return TRUE;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

/* (transfer full) Fed*, files read. */
static GPtrArray *read_side(const IfmModel *model, const Side *side, const char *const *texts, gboolean samples,
                            GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(fed_free);
    for (const char *const *text = texts; text != NULL && *text != NULL; text++)
    {
        const char *what = NULL;
        const IfmPort *port = find_port(model, side, *text, &what);
        if (port == NULL)
        {
            refuse_name(model, side, *text, error);
            return NULL;
        }
        if (port->dtype == IFM_DTYPE_UNDEFINED)
        {
            ifm_error_refuse(error, "--%s %s: it is a sequence, a map or optional: tensors alone can be %s", side->option,
                             port->name, side == &of_inputs ? "fed" : "compared");
            return NULL;
        }
        for (guint i = 0; i < all->len; i++)
            if (((const Fed *)all->pdata[i])->port == port)
            {
                ifm_error_misuse(error, "--%s %s: is given twice", side->option, port->name);
                return NULL;
            }
        Fed *fed = g_new0(Fed, 1);
        *fed = (Fed){ .side = side, .port = port, .what = what, .may_have_samples = samples };
        g_ptr_array_add(all, fed);
        if (!(is_file(what) || side == &of_outputs ? read_file : parse_values)(fed, error))
            return NULL;
    }
    return g_steal_pointer(&all);
}

char *ifm_given_inputs_save(const GArray *inputs, const char *folder, GError **error)
{
    const guint n = inputs->len;
    g_autofree const char **names = g_new(const char *, n + 1);
    g_autofree IfmTensor *tensors = g_new(IfmTensor, n + 1);
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    for (guint i = 0; i < n; i++)
    {
        const IfmGivenInput *given = &g_array_index(inputs, IfmGivenInput, i);
        names[i] = given->name;
        tensors[i] = given->tensor;
        g_checksum_update(checksum, (const guchar *)names[i], (gssize)strlen(names[i]) + 1);
        g_checksum_update(checksum, (const guchar *)tensors[i].shape, (gssize)(sizeof(gint64) * (gsize)tensors[i].rank));
        g_checksum_update(checksum, tensors[i].data, (gssize)tensors[i].size_bytes);
    }
    g_autofree char *name = g_strdup_printf("given-%.16s.inputs", g_checksum_get_string(checksum));
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return ifm_tensor_file_save(path, names, tensors, n, error) ? g_steal_pointer(&path) : NULL;
}

static void give(IfmModelFeed *feed, GArray *to, const Fed *fed, IfmTensor *tensor)
{
    const IfmGivenInput given = { g_strconcat(fed->port->name, fed->side == &of_outputs ? IFM_EXPECTED : NULL, NULL),
                                  *tensor };
    g_ptr_array_add(feed->names, (gpointer)given.name);
    g_array_append_val(to, given);
    *tensor = (IfmTensor)IFM_TENSOR_INIT;
}

/* Files of several samples must have equally many. */
static gboolean give_samples(IfmModelFeed *feed, Fed *fed, GError **error)
{
    const gint64 n = fed->samples.rank > 0 ? fed->samples.shape[0] : 0;
    if (n == 0)
        return TRUE;
    if (feed->n_samples > 0 && feed->n_samples != n)
        return ifm_error_refuse(error, "--input %s: %s has %" G_GINT64_FORMAT " samples, another input %" G_GINT64_FORMAT,
                                fed->port->name, fed->what, n, feed->n_samples);
    feed->n_samples = n;
    give(feed, feed->samples, fed, &fed->samples);
    return TRUE;
}

gboolean ifm_model_feed_fill(IfmModelFeed *feed, const IfmModel *model, const IfmModelOptions *options, guint32 seed,
                             IfmNote note, void *user, GError **error)
{
    if (options->batch > 0 && !bind_batch(feed, model, options->batch, error))
        return FALSE;
    g_autoptr(GPtrArray) all = read_side(model, &of_inputs, options->inputs, options->samples, error);
    for (guint i = 0; all != NULL && i < all->len; i++)
    {
        Fed *fed = all->pdata[i];
        if (is_file(fed->what) && !bind_by_file(feed, fed, error))
            return FALSE;
    }
    if (all == NULL || !bind_rest(feed, model, note, user, error))
        return FALSE;
    for (guint i = 0; i < all->len; i++)
    {
        Fed *fed = all->pdata[i];
        if (!is_file(fed->what) && !make_values(fed, feed, seed, error))
            return FALSE;
        give(feed, feed->given, fed, &fed->tensor);
        if (!give_samples(feed, fed, error))
            return FALSE;
    }
    g_autoptr(GPtrArray) expected = read_side(model, &of_outputs, options->expected, FALSE, error);
    for (guint i = 0; expected != NULL && i < expected->len; i++)
        give(feed, feed->given, expected->pdata[i], &((Fed *)expected->pdata[i])->tensor);
    return expected != NULL;
}
