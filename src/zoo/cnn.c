/* Convolutional networks: the layers of all architectures, and the model around them. */
#include <math.h>
#include <stdarg.h>

#include <onnx/outline.h>

#include "cnn-private.h"

#define CLASSES 1000 /* usual ones, of ImageNet */

/* Cnn: @batch: -1: free    @height, @width: of an image */
typedef struct
{
    const char *model;
    gint64 batch, classes, height, width;
    gboolean training; /* in the training form */
} Cnn;

static const Cnn *cnn_of(const IfmNet *net)
{
    return net->of;
}

typedef struct
{
    gint64 batch, size, height, width, classes, form;
} Parameters;

const IfmZooParameter ifm_cnn_parameters[] = {
    { "batch", 1, 0, 65536, "images; 0 leaves them free, as dimension N" },
    { "size", 224, 1, 16384, "height and width of an image" },
    { "height", 0, 0, 16384, "height of an image; 0: size" },
    { "width", 0, 0, 16384, "width of an image; 0: size" },
    { "classes", CLASSES, 1, 65536, "outputs" },
    { "form", 0, 0, 1, "training has batch norm by the batch, and dropout (chances are inputs)", ifm_zoo_form_words },
    { NULL },
};

/* draw_vector: Adds a weight with one number per channel. Returns: its name "NAME.WHAT". */
static const char *draw_vector(IfmNet *net, const char *name, const char *what, gint64 n, double low, double high)
{
    return ifm_net_vector(net, ifm_net_name(net, "%s.%s", name, what), n, low, high);
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

/* slide: The number of positions of a kernel along an axis of length @n. */
static gint64 slide(IfmNet *net, const char *name, gint64 n, int kernel, int stride, int pad, gboolean ceil_mode)
{
    gint64 room = n + 2 * pad - kernel;
    if (room < 0 && (!ceil_mode || room <= -stride))
    {
        if (net->error == NULL)
            ifm_error_refuse(&net->error,
                             "zoo: %s: an image of %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                             " is too small: of one side '%s' gets %" G_GINT64_FORMAT
                             " for a kernel of %d; a larger size is "
                             "needed",
                             cnn_of(net)->model, cnn_of(net)->height, cnn_of(net)->width, name, MAX(n, 0), kernel);
        return 1;
    }
    return (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

/* add_windows: To the last node. @kernel, @stride: of rows, columns */
static void add_windows(IfmNet *net, const gint64 *kernel, const gint64 *stride, int pad)
{
    ifm_model_builder_ints(net->builder, net->last, "kernel_shape", kernel, 2);
    ifm_model_builder_ints(net->builder, net->last, "strides", stride, 2);
    ifm_model_builder_ints(net->builder, net->last, "pads", (gint64[]){ pad, pad, pad, pad }, 4);
}

/* The bound of He et al.: a rectifier and then a convolution keep the variance. */
IfmFeatures ifm_cnn_conv(IfmNet *net, IfmFeatures from, const char *name, IfmCnnConv conv, gboolean bias)
{
    const gint64 groups = MAX(conv.groups, 1);
    gint64 shape[] = { conv.channels, from.channels / groups, conv.kernel, conv.kernel };
    double bound = sqrt(6.0 / (double)(shape[1] * conv.kernel * conv.kernel));
    const char *weight = ifm_net_name(net, "%s.weight", name);
    ifm_net_draw(net, weight, 4, shape, -bound, bound);
    const char *offset = bias ? draw_vector(net, name, "bias", conv.channels, -0.1, 0.1) : NULL;
    ifm_net_op(net, name, "Conv", from.name, weight, offset, NULL);
    add_windows(net, shape + 2, (gint64[]){ conv.stride, conv.stride }, conv.pad);
    if (groups > 1)
        ifm_model_builder_int(net->builder, net->last, "group", groups);
    return (IfmFeatures){ name, conv.channels, slide(net, name, from.height, conv.kernel, conv.stride, conv.pad, FALSE),
                          slide(net, name, from.width, conv.kernel, conv.stride, conv.pad, FALSE) };
}

IfmFeatures ifm_cnn_norm(IfmNet *net, IfmFeatures from, const char *name, double epsilon, double gain)
{
    const IfmBatchNorm norm = { .epsilon = epsilon, .gain = gain, .training = cnn_of(net)->training };
    from.name = ifm_net_batch_norm(net, name, from.name, from.channels, norm);
    return from;
}

/* The chance is an input: a number in [0, 1) per element, as seeded inputs are. */
IfmFeatures ifm_cnn_dropout(IfmNet *net, IfmFeatures from, const char *name, double ratio, int rank)
{
    if (!cnn_of(net)->training)
        return from;
    const char *chance = ifm_net_name(net, "chance.%s", name), *kept = ifm_net_name(net, "%s.kept", name);
    const char *ones = ifm_net_name(net, "%s.ones", name), *mask = ifm_net_name(net, "%s.mask", name);
    const char *keep = ifm_net_number(net, ifm_net_name(net, "%s.keep", name), (1 - ratio));
    const char *gain = ifm_net_number(net, ifm_net_name(net, "%s.gain", name), (1 / (1 - ratio)));
    g_autofree char *key = g_strdup_printf("inferometer.range.%s", chance);
    ifm_model_builder_input(net->builder, chance, IFM_DTYPE_F32, rank,
                            (gint64[]){ cnn_of(net)->batch, from.channels, from.height, from.width },
                            (const char *const[]){ "N", NULL, NULL, NULL });
    ifm_model_builder_metadata(net->builder, key, "0 1");
    ifm_net_op(net, kept, "Less", chance, keep, NULL);
    ifm_net_op(net, ones, "Cast to=1", kept, NULL); /* f32 */
    ifm_net_op(net, mask, "Mul", ones, gain, NULL);
    from.name = ifm_net_op(net, name, "Mul", from.name, mask, NULL);
    return from;
}

IfmFeatures ifm_cnn_relu(IfmNet *net, IfmFeatures from, const char *name)
{
    from.name = ifm_net_op(net, name, "Relu", from.name, NULL);
    return from;
}

IfmFeatures ifm_cnn_relu6(IfmNet *net, IfmFeatures from, const char *name)
{
    const char *low = ifm_net_number(net, ifm_net_name(net, "%s.min", name), 0),
               *high = ifm_net_number(net, ifm_net_name(net, "%s.max", name), 6);
    from.name = ifm_net_op(net, name, "Clip", from.name, low, high, NULL);
    return from;
}

IfmFeatures ifm_cnn_add(IfmNet *net, IfmFeatures a, IfmFeatures b, const char *name)
{
    a.name = ifm_net_op(net, name, "Add", a.name, b.name, NULL);
    return a;
}

IfmFeatures ifm_cnn_concat(IfmNet *net, const IfmFeatures *parts, gsize n, const char *name)
{
    IfmFeatures all = parts[0];
    g_autofree const char **names = g_new0(const char *, n + 1);
    for (gsize i = 0; i < n; i++)
        names[i] = parts[i].name;
    for (gsize i = 1; i < n; i++)
        all.channels += parts[i].channels;
    ifm_model_builder_node(net->builder, "Concat axis=1", name, names, IFM_ZOO_NAMES(name));
    all.name = name;
    return all;
}

/* --- pooling ------------------------------------------------------------------------------------------------------ */

static IfmFeatures pool_windows(IfmNet *net, IfmFeatures from, const char *name, const char *op_type, const gint64 *kernel,
                                const gint64 *stride)
{
    ifm_net_op(net, name, op_type, from.name, NULL);
    add_windows(net, kernel, stride, 0);
    return (IfmFeatures){ name, from.channels, (from.height - kernel[0]) / stride[0] + 1,
                          (from.width - kernel[1]) / stride[1] + 1 };
}

/* With @ceil a side shorter than the kernel gives one window, the whole side. Runtimes accept it only with that size. */
IfmFeatures ifm_cnn_pool(IfmNet *net, IfmFeatures from, const char *name, IfmPool pool)
{
    gint64 height = slide(net, name, from.height, pool.kernel, pool.stride, pool.pad, pool.ceil);
    gint64 width = slide(net, name, from.width, pool.kernel, pool.stride, pool.pad, pool.ceil);
    gint64 kernel[] = { pool.kernel, pool.kernel };
    if (pool.ceil)
    {
        kernel[0] = MIN(kernel[0], from.height + 2 * pool.pad);
        kernel[1] = MIN(kernel[1], from.width + 2 * pool.pad);
    }
    ifm_net_op(net, name, pool.op_type, from.name, NULL);
    add_windows(net, kernel, (gint64[]){ pool.stride, pool.stride }, pool.pad);
    if (pool.ceil)
        ifm_model_builder_int(net->builder, net->last, "ceil_mode", 1);
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
static IfmFeatures means_of(IfmNet *net, IfmFeatures from, const char *name, int axis, gint64 length)
{
    gint64 kernel[] = { axis == 2 ? length : 1, axis == 3 ? length : 1 };
    const char *full = ifm_net_name(net, "%s.means%d", name, (int)length);
    return length == 1 ? from : pool_windows(net, from, full, "AveragePool", kernel, (gint64[]){ 1, 1 });
}

/* pool_unevenly: Pools along one axis: concatenates the means of all windows of each length, then picks the wanted ones. A
 * length is at least n / size and below n / size + 2, so there are at most two lengths. */
static IfmFeatures pool_unevenly(IfmNet *net, IfmFeatures from, const char *name, int axis, const Windows *windows)
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
    IfmFeatures means = means_of(net, from, name, axis, length);
    if (longer)
    {
        IfmFeatures others = means_of(net, from, name, axis, length + 1);
        const char *all = ifm_net_name(net, "%s.means", name);
        ifm_net_op(net, all, axis == 2 ? "Concat axis=2" : "Concat axis=3", means.name, others.name, NULL);
        means.name = all;
    }
    const char *positions = ifm_net_ints(net, ifm_net_name(net, "%s.positions", name), windows->size, index);
    ifm_net_op(net, name, axis == 2 ? "Gather axis=2" : "Gather axis=3", means.name, positions, NULL);
    return (IfmFeatures){ name, from.channels, axis == 2 ? windows->size : from.height,
                          axis == 3 ? windows->size : from.width };
}

static gboolean is_identity(const Windows *windows)
{
    return windows->n == windows->size;
}

static IfmFeatures pool_axis(IfmNet *net, IfmFeatures from, const char *name, int axis, const Windows *windows)
{
    gint64 kernel[] = { axis == 2 ? windows->kernel : 1, axis == 3 ? windows->kernel : 1 };
    gint64 stride[] = { axis == 2 ? windows->stride : 1, axis == 3 ? windows->stride : 1 };
    const char *full = ifm_net_name(net, "%s.%s", name, axis == 2 ? "rows" : "columns");
    if (is_identity(windows))
        return from;
    return windows->even ? pool_windows(net, from, full, "AveragePool", kernel, stride)
                         : pool_unevenly(net, from, full, axis, windows);
}

IfmFeatures ifm_cnn_adaptive_average(IfmNet *net, IfmFeatures from, const char *name, gint64 size)
{
    Windows rows = windows_of(from.height, size), columns = windows_of(from.width, size);
    if (is_identity(&rows) && is_identity(&columns))
        return from;
    if (rows.even && columns.even)
        return pool_windows(net, from, name, "AveragePool", (gint64[]){ rows.kernel, columns.kernel },
                            (gint64[]){ rows.stride, columns.stride });
    from = pool_axis(net, from, name, 2, &rows); /* the mean of a window is the mean of the means of its rows */
    return pool_axis(net, from, name, 3, &columns);
}

/* --- the end of a network ----------------------------------------------------------------------------------------- */

IfmFeatures ifm_cnn_flatten(IfmNet *net, IfmFeatures from, const char *name)
{
    ifm_net_op(net, name, "Flatten", from.name, NULL);
    return (IfmFeatures){ name, from.channels * from.height * from.width, 1, 1 };
}

static IfmFeatures dense(IfmNet *net, IfmFeatures from, const char *name, gint64 outputs, const char *to)
{
    double bound = sqrt(6.0 / (double)from.channels);
    const char *weight = ifm_net_name(net, "%s.weight", name);
    ifm_net_draw(net, weight, 2, (gint64[]){ outputs, from.channels }, -bound, bound);
    const char *bias = draw_vector(net, name, "bias", outputs, -0.1, 0.1);
    ifm_model_builder_node(net->builder, "Gemm transB=1", name, IFM_ZOO_NAMES(from.name, weight, bias), IFM_ZOO_NAMES(to));
    return (IfmFeatures){ to, outputs, 1, 1 };
}

IfmFeatures ifm_cnn_dense(IfmNet *net, IfmFeatures from, const char *name, gint64 outputs)
{
    return dense(net, from, name, outputs, name);
}

void ifm_cnn_scores(IfmNet *net, IfmFeatures from, const char *name)
{
    dense(net, from, name, cnn_of(net)->classes, "scores");
}

gint64 ifm_cnn_classes(const IfmNet *net)
{
    return cnn_of(net)->classes;
}

IfmFeatures ifm_cnn_global_average(IfmNet *net, IfmFeatures from)
{
    ifm_net_op(net, "avgpool", "GlobalAveragePool", from.name, NULL);
    return (IfmFeatures){ "avgpool", from.channels, 1, 1 };
}

void ifm_cnn_pooled_scores(IfmNet *net, IfmFeatures from, const char *name, double dropout)
{
    IfmFeatures flat = ifm_cnn_flatten(net, ifm_cnn_global_average(net, from), "flatten");
    ifm_cnn_scores(net, dropout > 0 ? ifm_cnn_dropout(net, flat, "dropout", dropout, 2) : flat, name);
}

void ifm_cnn_scores_of(IfmNet *net, IfmFeatures from)
{
    ifm_cnn_flatten(net, ifm_cnn_global_average(net, from), "scores");
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* weights_file: Its name contains exactly what the weights depend on. */
static char *weights_file(const Cnn *cnn, guint32 seed)
{
    if (cnn->classes == CLASSES)
        return g_strdup_printf("%s.seed%u.weights", cnn->model, seed);
    return g_strdup_printf("%s.classes%d.seed%u.weights", cnn->model, (int)cnn->classes, seed);
}

/* emit: All layers, into @net, which is to be cleared. */
static void emit(IfmNet *net, const IfmZooEntry *entry, const Cnn *cnn, guint32 seed)
{
    const IfmCnnArchitecture *architecture = entry->of;
    g_autofree char *file = weights_file(cnn, seed);
    const char *const dims[] = { "N", NULL, NULL, NULL };
    IfmFeatures image = { "image", 3, cnn->height, cnn->width };
    ifm_net_init(net, entry->name, IFM_ZOO_OPSET, seed, cnn);
    ifm_model_builder_external(net->builder, file);
    ifm_model_builder_input(net->builder, image.name, IFM_DTYPE_F32, 4,
                            (gint64[]){ cnn->batch, image.channels, image.height, image.width }, dims);
    ifm_model_builder_output(net->builder, "scores", IFM_DTYPE_F32, 2, (gint64[]){ cnn->batch, cnn->classes }, dims);
    architecture->emit(net, architecture->layers, image);
}

gboolean ifm_cnn_fits(const IfmZooEntry *entry, gint64 size, GError **error)
{
    const Cnn cnn = { .model = entry->name, .batch = 1, .classes = CLASSES, .height = size, .width = size };
    g_auto(IfmNet) net = { 0 };
    emit(&net, entry, &cnn, 1);
    if (net.error != NULL)
        g_propagate_error(error, g_error_copy(net.error));
    return net.error == NULL;
}

static IfmModel *build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, gboolean is_outline, GError **error)
{
    const Parameters *at = (const void *)values;
    const Cnn cnn = { .model = entry->name,
                      .batch = at->batch > 0 ? at->batch : -1,
                      .classes = at->classes,
                      .height = at->height > 0 ? at->height : at->size,
                      .width = at->width > 0 ? at->width : at->size,
                      .training = at->form != 0 };
    g_auto(IfmNet) net = { 0 };
    emit(&net, entry, &cnn, seed);
    if (is_outline)
        ifm_model_builder_outline(net.builder);
    return ifm_net_finish(&net, error);
}

IfmModel *ifm_cnn_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    return build(entry, values, seed, FALSE, error);
}

IfmModel *ifm_cnn_outline(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    return build(entry, values, seed, TRUE, error);
}
