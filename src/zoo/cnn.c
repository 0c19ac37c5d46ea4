/* Convolutional networks: the layers of all architectures, and the model around them. */
#include <math.h>
#include <stdarg.h>

#include "cnn-private.h"

struct IfmCnn
{
    IfmModelBuilder *builder;
    const char *model;
    gint64 batch, classes; /* batch: -1: free */
    gint64 height, width;  /* of an image */
    gboolean training;     /* in the training form */
    guint32 seed;
    GStringChunk *names;
    GError *error; /* the first */
};

enum
{
    BATCH,
    SIZE,
    HEIGHT,
    WIDTH,
    CLASSES,
    FORM,
};

const IfmZooParameter ifm_cnn_parameters[] = {
    [BATCH] = { "batch", 1, 0, 65536, "images; 0 leaves them free, as dimension N" },
    [SIZE] = { "size", 224, 1, 16384, "height and width of an image" },
    [HEIGHT] = { "height", 0, 0, 16384, "height of an image; 0: size" },
    [WIDTH] = { "width", 0, 0, 16384, "width of an image; 0: size" },
    [CLASSES] = { "classes", 1000, 1, 65536, "outputs" },
    [FORM] = { "form", 0, 0, 1, "training has batch norm by the batch, and dropout (chances are inputs)",
               ifm_zoo_form_words },
    [FORM + 1] = { NULL },
};

const char *ifm_cnn_name(IfmCnn *cnn, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *name = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return g_string_chunk_insert_const(cnn->names, name);
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

static void draw(IfmCnn *cnn, const char *name, int rank, const gint64 *shape, double low, double high)
{
    ifm_model_builder_drawn_weight(cnn->builder, name, rank, shape, low, high, cnn->seed);
}

/* draw_vector: Adds a weight with one number per channel. Returns: its name "NAME.WHAT". */
static const char *draw_vector(IfmCnn *cnn, const char *name, const char *what, gint64 n, double low, double high)
{
    const char *full = ifm_cnn_name(cnn, "%s.%s", name, what);
    draw(cnn, full, 1, &n, low, high);
    return full;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* slide: The number of positions of a kernel along an axis of length @n. */
static gint64 slide(IfmCnn *cnn, const char *name, gint64 n, int kernel, int stride, int pad, gboolean ceil_mode)
{
    gint64 room = n + 2 * pad - kernel;
    if (room < 0 && (!ceil_mode || room <= -stride))
    {
        if (cnn->error == NULL)
            g_set_error(&cnn->error, IFM_ERROR, IFM_ERROR_INVALID,
                        "zoo: %s: an image of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                        " is too small: of one side '%s' gets %" G_GINT64_FORMAT " for a kernel of %d; a larger size is "
                        "needed",
                        cnn->model, cnn->height, cnn->width, name, MAX(n, 0), kernel);
        return 1;
    }
    return (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

/* add_windows: @kernel, @stride: of rows, columns */
static void add_windows(IfmCnn *cnn, gsize node, const gint64 *kernel, const gint64 *stride, int pad)
{
    ifm_model_builder_ints(cnn->builder, node, "kernel_shape", kernel, 2);
    ifm_model_builder_ints(cnn->builder, node, "strides", stride, 2);
    ifm_model_builder_ints(cnn->builder, node, "pads", (gint64[]){ pad, pad, pad, pad }, 4);
}

/* The bound of He et al.: a rectifier and then a convolution keep the variance. */
IfmFeatures ifm_cnn_conv(IfmCnn *cnn, IfmFeatures from, const char *name, IfmConv conv, gboolean bias)
{
    const gint64 groups = MAX(conv.groups, 1);
    gint64 shape[] = { conv.channels, from.channels / groups, conv.kernel, conv.kernel };
    double bound = sqrt(6.0 / (double)(shape[1] * conv.kernel * conv.kernel));
    const char *weight = ifm_cnn_name(cnn, "%s.weight", name);
    draw(cnn, weight, 4, shape, -bound, bound);
    const char *offset = bias ? draw_vector(cnn, name, "bias", conv.channels, -0.1, 0.1) : NULL;
    gsize node =
        ifm_model_builder_node(cnn->builder, "Conv", name, IFM_ZOO_NAMES(from.name, weight, offset), IFM_ZOO_NAMES(name));
    add_windows(cnn, node, shape + 2, (gint64[]){ conv.stride, conv.stride }, conv.pad);
    if (groups > 1)
        ifm_model_builder_int(cnn->builder, node, "group", groups);
    return (IfmFeatures){ name, conv.channels, slide(cnn, name, from.height, conv.kernel, conv.stride, conv.pad, FALSE),
                          slide(cnn, name, from.width, conv.kernel, conv.stride, conv.pad, FALSE) };
}

/* Statistics as after training: means near 0, variances near 1. */
IfmFeatures ifm_cnn_norm(IfmCnn *cnn, IfmFeatures from, const char *name, double epsilon, double gain)
{
    gint64 n = from.channels;
    const char *scale = draw_vector(cnn, name, "weight", n, 0.75 * gain, 1.25 * gain);
    const char *offset = draw_vector(cnn, name, "bias", n, -0.1, 0.1);
    const char *mean = draw_vector(cnn, name, "running_mean", n, -0.1, 0.1);
    const char *variance = draw_vector(cnn, name, "running_var", n, 0.75, 1.25);
    const char *next_mean = cnn->training ? ifm_cnn_name(cnn, "%s.next_mean", name) : NULL;
    const char *next_variance = cnn->training ? ifm_cnn_name(cnn, "%s.next_var", name) : NULL;
    gsize node = ifm_model_builder_node(cnn->builder, "BatchNormalization", name,
                                        IFM_ZOO_NAMES(from.name, scale, offset, mean, variance),
                                        IFM_ZOO_NAMES(name, next_mean, next_variance));
    ifm_model_builder_float(cnn->builder, node, "epsilon", epsilon);
    if (cnn->training)
        ifm_model_builder_int(cnn->builder, node, "training_mode", 1);
    from.name = name;
    return from;
}

static const char *number(IfmCnn *cnn, const char *name, float value)
{
    IfmTensor tensor;
    if (ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 0, NULL, &value, NULL))
        ifm_model_builder_weight(cnn->builder, name, &tensor);
    return name;
}

/* The chance is an input: a number in [0, 1) per element, as seeded inputs are. */
IfmFeatures ifm_cnn_dropout(IfmCnn *cnn, IfmFeatures from, const char *name, double ratio, int rank)
{
    if (!cnn->training)
        return from;
    const char *chance = ifm_cnn_name(cnn, "chance.%s", name), *kept = ifm_cnn_name(cnn, "%s.kept", name);
    const char *ones = ifm_cnn_name(cnn, "%s.ones", name), *mask = ifm_cnn_name(cnn, "%s.mask", name);
    const char *keep = number(cnn, ifm_cnn_name(cnn, "%s.keep", name), (float)(1 - ratio));
    const char *gain = number(cnn, ifm_cnn_name(cnn, "%s.gain", name), (float)(1 / (1 - ratio)));
    g_autofree char *key = g_strdup_printf("inferometer.range.%s", chance);
    ifm_model_builder_input(cnn->builder, chance, IFM_DTYPE_F32, rank,
                            (gint64[]){ cnn->batch, from.channels, from.height, from.width },
                            (const char *const[]){ "N", NULL, NULL, NULL });
    ifm_model_builder_metadata(cnn->builder, key, "0 1");
    ifm_model_builder_node(cnn->builder, "Less", kept, IFM_ZOO_NAMES(chance, keep), IFM_ZOO_NAMES(kept));
    gsize cast = ifm_model_builder_node(cnn->builder, "Cast", ones, IFM_ZOO_NAMES(kept), IFM_ZOO_NAMES(ones));
    ifm_model_builder_int(cnn->builder, cast, "to", IFM_DTYPE_F32);
    ifm_model_builder_node(cnn->builder, "Mul", mask, IFM_ZOO_NAMES(ones, gain), IFM_ZOO_NAMES(mask));
    ifm_model_builder_node(cnn->builder, "Mul", name, IFM_ZOO_NAMES(from.name, mask), IFM_ZOO_NAMES(name));
    from.name = name;
    return from;
}

IfmFeatures ifm_cnn_relu(IfmCnn *cnn, IfmFeatures from, const char *name)
{
    ifm_model_builder_node(cnn->builder, "Relu", name, IFM_ZOO_NAMES(from.name), IFM_ZOO_NAMES(name));
    from.name = name;
    return from;
}

IfmFeatures ifm_cnn_relu6(IfmCnn *cnn, IfmFeatures from, const char *name)
{
    const char *low = number(cnn, ifm_cnn_name(cnn, "%s.min", name), 0),
               *high = number(cnn, ifm_cnn_name(cnn, "%s.max", name), 6);
    ifm_model_builder_node(cnn->builder, "Clip", name, IFM_ZOO_NAMES(from.name, low, high), IFM_ZOO_NAMES(name));
    from.name = name;
    return from;
}

IfmFeatures ifm_cnn_add(IfmCnn *cnn, IfmFeatures a, IfmFeatures b, const char *name)
{
    ifm_model_builder_node(cnn->builder, "Add", name, IFM_ZOO_NAMES(a.name, b.name), IFM_ZOO_NAMES(name));
    a.name = name;
    return a;
}

IfmFeatures ifm_cnn_concat(IfmCnn *cnn, const IfmFeatures *parts, gsize n, const char *name)
{
    IfmFeatures all = parts[0];
    g_autofree const char **names = g_new0(const char *, n + 1);
    for (gsize i = 0; i < n; i++)
        names[i] = parts[i].name;
    for (gsize i = 1; i < n; i++)
        all.channels += parts[i].channels;
    gsize node = ifm_model_builder_node(cnn->builder, "Concat", name, names, IFM_ZOO_NAMES(name));
    ifm_model_builder_int(cnn->builder, node, "axis", 1);
    all.name = name;
    return all;
}

/* --- pooling ------------------------------------------------------------------------------------------------------ */

static IfmFeatures pool_windows(IfmCnn *cnn, IfmFeatures from, const char *name, const char *op_type, const gint64 *kernel,
                                const gint64 *stride)
{
    gsize node = ifm_model_builder_node(cnn->builder, op_type, name, IFM_ZOO_NAMES(from.name), IFM_ZOO_NAMES(name));
    add_windows(cnn, node, kernel, stride, 0);
    return (IfmFeatures){ name, from.channels, (from.height - kernel[0]) / stride[0] + 1,
                          (from.width - kernel[1]) / stride[1] + 1 };
}

/* With @ceil a side shorter than the kernel gives one window, the whole side. Runtimes accept it only with that size. */
IfmFeatures ifm_cnn_pool(IfmCnn *cnn, IfmFeatures from, const char *name, IfmPool pool)
{
    gint64 height = slide(cnn, name, from.height, pool.kernel, pool.stride, pool.pad, pool.ceil);
    gint64 width = slide(cnn, name, from.width, pool.kernel, pool.stride, pool.pad, pool.ceil);
    gint64 kernel[] = { pool.kernel, pool.kernel };
    if (pool.ceil)
    {
        kernel[0] = MIN(kernel[0], from.height + 2 * pool.pad);
        kernel[1] = MIN(kernel[1], from.width + 2 * pool.pad);
    }
    gsize node = ifm_model_builder_node(cnn->builder, pool.op_type, name, IFM_ZOO_NAMES(from.name), IFM_ZOO_NAMES(name));
    add_windows(cnn, node, kernel, (gint64[]){ pool.stride, pool.stride }, pool.pad);
    if (pool.ceil)
        ifm_model_builder_int(cnn->builder, node, "ceil_mode", 1);
    return (IfmFeatures){ name, from.channels, height, width };
}

/* Windows: of an adaptive pooling along one axis. */
typedef struct
{
    gint64 n, size;        /* elements to pool, number of windows */
    gboolean even;         /* all windows have the same length and distance */
    gint64 kernel, stride; /* where so */
} Windows;

static gint64 window_start(const Windows *windows, gint64 i)
{
    return i * windows->n / windows->size;
}

static gint64 window_length(const Windows *windows, gint64 i)
{
    return ((i + 1) * windows->n + windows->size - 1) / windows->size - window_start(windows, i);
}

static Windows windows_of(gint64 n, gint64 size)
{
    Windows windows = { .n = n, .size = size };
    windows.kernel = window_length(&windows, 0);
    windows.stride = size > 1 ? window_start(&windows, 1) : 1;
    windows.even = windows.stride > 0;
    for (gint64 i = 1; i < size; i++)
        windows.even =
            windows.even && window_length(&windows, i) == windows.kernel && window_start(&windows, i) == i * windows.stride;
    return windows;
}

/* means_of: The means of all windows of one length, at every start. Length 1 is the input itself. */
static IfmFeatures means_of(IfmCnn *cnn, IfmFeatures from, const char *name, int axis, gint64 length)
{
    gint64 kernel[] = { axis == 2 ? length : 1, axis == 3 ? length : 1 };
    const char *full = ifm_cnn_name(cnn, "%s.means%d", name, (int)length);
    return length == 1 ? from : pool_windows(cnn, from, full, "AveragePool", kernel, (gint64[]){ 1, 1 });
}

/* gather: Picks positions along an axis. @index: [n] */
static void gather(IfmCnn *cnn, const char *from, const char *name, int axis, gint64 *index, gint64 n)
{
    const char *positions = ifm_cnn_name(cnn, "%s.positions", name);
    IfmTensor tensor;
    if (ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &n, index, NULL))
        ifm_model_builder_weight(cnn->builder, positions, &tensor);
    gsize node = ifm_model_builder_node(cnn->builder, "Gather", name, IFM_ZOO_NAMES(from, positions), IFM_ZOO_NAMES(name));
    ifm_model_builder_int(cnn->builder, node, "axis", axis);
}

/* pool_unevenly: Pools along one axis: concatenates the means of all windows of each length, then picks the wanted ones. A
 * length is at least n / size and below n / size + 2, so there are at most two lengths. */
static IfmFeatures pool_unevenly(IfmCnn *cnn, IfmFeatures from, const char *name, int axis, const Windows *windows)
{
    gint64 length = (windows->n + windows->size - 1) / windows->size, n_means = windows->n - length + 1;
    g_autofree gint64 *index = g_new0(gint64, windows->size);
    gboolean longer = FALSE;
    for (gint64 i = 0; i < windows->size; i++)
    {
        gboolean is_longer = window_length(windows, i) > length;
        index[i] = window_start(windows, i) + (is_longer ? n_means : 0);
        longer = longer || is_longer;
    }
    IfmFeatures means = means_of(cnn, from, name, axis, length);
    if (longer)
    {
        IfmFeatures others = means_of(cnn, from, name, axis, length + 1);
        const char *all = ifm_cnn_name(cnn, "%s.means", name);
        gsize node =
            ifm_model_builder_node(cnn->builder, "Concat", all, IFM_ZOO_NAMES(means.name, others.name), IFM_ZOO_NAMES(all));
        ifm_model_builder_int(cnn->builder, node, "axis", axis);
        means.name = all;
    }
    gather(cnn, means.name, name, axis, index, windows->size);
    return (IfmFeatures){ name, from.channels, axis == 2 ? windows->size : from.height,
                          axis == 3 ? windows->size : from.width };
}

static gboolean is_identity(const Windows *windows)
{
    return windows->n == windows->size;
}

static IfmFeatures pool_axis(IfmCnn *cnn, IfmFeatures from, const char *name, int axis, const Windows *windows)
{
    gint64 kernel[] = { axis == 2 ? windows->kernel : 1, axis == 3 ? windows->kernel : 1 };
    gint64 stride[] = { axis == 2 ? windows->stride : 1, axis == 3 ? windows->stride : 1 };
    const char *full = ifm_cnn_name(cnn, "%s.%s", name, axis == 2 ? "rows" : "columns");
    if (is_identity(windows))
        return from;
    return windows->even ? pool_windows(cnn, from, full, "AveragePool", kernel, stride)
                         : pool_unevenly(cnn, from, full, axis, windows);
}

IfmFeatures ifm_cnn_adaptive_average(IfmCnn *cnn, IfmFeatures from, const char *name, gint64 size)
{
    Windows rows = windows_of(from.height, size), columns = windows_of(from.width, size);
    if (is_identity(&rows) && is_identity(&columns))
        return from;
    if (rows.even && columns.even)
        return pool_windows(cnn, from, name, "AveragePool", (gint64[]){ rows.kernel, columns.kernel },
                            (gint64[]){ rows.stride, columns.stride });
    from = pool_axis(cnn, from, name, 2, &rows); /* the mean of a window is the mean of the means of its rows */
    return pool_axis(cnn, from, name, 3, &columns);
}

/* --- the end of a network ----------------------------------------------------------------------------------------- */

IfmFeatures ifm_cnn_flatten(IfmCnn *cnn, IfmFeatures from, const char *name)
{
    ifm_model_builder_node(cnn->builder, "Flatten", name, IFM_ZOO_NAMES(from.name), IFM_ZOO_NAMES(name));
    return (IfmFeatures){ name, from.channels * from.height * from.width, 1, 1 };
}

static IfmFeatures dense(IfmCnn *cnn, IfmFeatures from, const char *name, gint64 outputs, const char *to)
{
    double bound = sqrt(6.0 / (double)from.channels);
    const char *weight = ifm_cnn_name(cnn, "%s.weight", name);
    draw(cnn, weight, 2, (gint64[]){ outputs, from.channels }, -bound, bound);
    const char *bias = draw_vector(cnn, name, "bias", outputs, -0.1, 0.1);
    gsize node =
        ifm_model_builder_node(cnn->builder, "Gemm", name, IFM_ZOO_NAMES(from.name, weight, bias), IFM_ZOO_NAMES(to));
    ifm_model_builder_int(cnn->builder, node, "transB", 1);
    return (IfmFeatures){ to, outputs, 1, 1 };
}

IfmFeatures ifm_cnn_dense(IfmCnn *cnn, IfmFeatures from, const char *name, gint64 outputs)
{
    return dense(cnn, from, name, outputs, name);
}

void ifm_cnn_scores(IfmCnn *cnn, IfmFeatures from, const char *name)
{
    dense(cnn, from, name, cnn->classes, "scores");
}

gint64 ifm_cnn_classes(const IfmCnn *cnn)
{
    return cnn->classes;
}

IfmFeatures ifm_cnn_global_average(IfmCnn *cnn, IfmFeatures from)
{
    ifm_model_builder_node(cnn->builder, "GlobalAveragePool", "avgpool", IFM_ZOO_NAMES(from.name),
                           IFM_ZOO_NAMES("avgpool"));
    return (IfmFeatures){ "avgpool", from.channels, 1, 1 };
}

void ifm_cnn_pooled_scores(IfmCnn *cnn, IfmFeatures from, const char *name, double dropout)
{
    IfmFeatures flat = ifm_cnn_flatten(cnn, ifm_cnn_global_average(cnn, from), "flatten");
    ifm_cnn_scores(cnn, dropout > 0 ? ifm_cnn_dropout(cnn, flat, "dropout", dropout, 2) : flat, name);
}

void ifm_cnn_scores_of(IfmCnn *cnn, IfmFeatures from)
{
    ifm_cnn_flatten(cnn, ifm_cnn_global_average(cnn, from), "scores");
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* weights_file: Its name contains exactly what the weights depend on. */
static char *weights_file(const IfmCnn *cnn)
{
    if (cnn->classes == ifm_cnn_parameters[CLASSES].fallback)
        return g_strdup_printf("%s.seed%u.weights", cnn->model, cnn->seed);
    return g_strdup_printf("%s.classes%d.seed%u.weights", cnn->model, (int)cnn->classes, cnn->seed);
}

IfmModel *ifm_cnn_build(const IfmCnnArchitecture *architecture, const gint64 *values, guint32 seed, GError **error)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(architecture->name, IFM_ZOO_OPSET);
    g_autoptr(GStringChunk) names = g_string_chunk_new(4096);
    IfmCnn cnn = { .builder = builder,
                   .model = architecture->name,
                   .batch = values[BATCH] > 0 ? values[BATCH] : -1,
                   .classes = values[CLASSES],
                   .height = values[HEIGHT] > 0 ? values[HEIGHT] : values[SIZE],
                   .width = values[WIDTH] > 0 ? values[WIDTH] : values[SIZE],
                   .training = values[FORM] != 0,
                   .seed = seed,
                   .names = names };
    g_autofree char *file = weights_file(&cnn);
    const char *const dims[] = { "N", NULL, NULL, NULL };
    IfmFeatures image = { "image", 3, cnn.height, cnn.width };
    ifm_model_builder_external(builder, file);
    ifm_model_builder_input(builder, image.name, IFM_DTYPE_F32, 4,
                            (gint64[]){ cnn.batch, image.channels, image.height, image.width }, dims);
    ifm_model_builder_output(builder, "scores", IFM_DTYPE_F32, 2, (gint64[]){ cnn.batch, cnn.classes }, dims);
    architecture->emit(&cnn, architecture->layers, image);
    if (cnn.error == NULL)
        return ifm_model_builder_finish(builder, error);
    g_propagate_error(error, cnn.error);
    return NULL;
}
