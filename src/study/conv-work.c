/* What of a convolution its time goes with: the work of each algorithm, and the sizes of the layer. */
#include <math.h>

#include <base/base.h>

#include "conv-learn.h"

/* Kernels compute so many channels at once, whether a layer has them or not. */
#define BLOCK 16

gboolean conv_is_known(const IfmConvLayer *layer)
{
    return layer->macs > 0 && layer->groups > 0 && layer->in_channels >= layer->groups && layer->out_channels > 0;
}

/* Of one group. */
static double channels_of(const IfmConvLayer *layer)
{
    const gint64 channels = layer->in_channels / layer->groups;
    return (double)channels;
}

static double outputs_of(const IfmConvLayer *layer)
{
    return (double)layer->out_channels / (double)layer->groups;
}

static double taps_of(const IfmConvLayer *layer)
{
    return (double)(layer->kernel_rows * layer->kernel_columns);
}

double conv_pixels(const IfmConvLayer *layer)
{
    return (double)layer->macs / ((double)layer->out_channels * channels_of(layer) * taps_of(layer));
}

double conv_output_bytes(const IfmConvLayer *layer)
{
    return sizeof(float) * conv_pixels(layer) * (double)layer->out_channels;
}

const char *conv_grouping(const IfmConvLayer *layer)
{
    return layer->groups == 1                                                            ? "dense"
           : layer->groups == layer->in_channels && layer->groups == layer->out_channels ? "depthwise"
                                                                                         : "grouped";
}

char *conv_kind(const IfmConvLayer *layer, const char *algorithm)
{
    return g_strdup_printf("%s %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT " %s %s",
                           algorithm, layer->kernel_rows, layer->kernel_columns, layer->stride_rows, layer->stride_columns,
                           layer->dilation_rows > 1 || layer->dilation_columns > 1 ? "dilated" : "plain",
                           conv_grouping(layer));
}

/* --- work ---------------------------------------------------------------------------------------------------------------
 */

/* What kernels compute at once: channels of two vectors, or of four in the runtime's, by pixels. */
#define PANEL 32
#define WIDE_PANEL 64
#define PIXELS 14

/* Work: multiplications; numbers that are read of inputs and written of outputs, transformed where they are; weights;
 * what kernels do for whole panels, also wide ones */
typedef struct
{
    double products, inputs, outputs, weights, panels, wide_panels;
} Work;

static double whole(double n, double of)
{
    return ceil(n / of) * of;
}

/* Patches of the input by weights; a layer of fewer outputs than a block computes the rest in vain, and reads its inputs
 * for each panel of outputs. */
static Work plain_work(const IfmConvLayer *layer)
{
    const double depth = channels_of(layer) * taps_of(layer), groups = (double)layer->groups, pixels = conv_pixels(layer);
    const gboolean is_depthwise = layer->groups > 1 && layer->groups == layer->in_channels;
    const double outputs = is_depthwise ? outputs_of(layer) : whole(outputs_of(layer), BLOCK);
    return (Work){ .products = pixels * groups * outputs * depth,
                   .inputs = pixels * (double)(layer->in_channels * layer->stride_rows * layer->stride_columns),
                   .outputs = pixels * (double)layer->out_channels,
                   .weights = groups * outputs_of(layer) * depth,
                   .panels = pixels * groups * depth * ceil(outputs_of(layer) / PANEL),
                   .wide_panels = pixels * groups * depth * ceil(outputs_of(layer) / WIDE_PANEL) };
}

/* Tiles, of which each has @points numbers of a channel once it is transformed, and takes @factor times as many
 * multiplications. */
static Work tiled_work(const IfmConvLayer *layer, double n_tiles, double points, double factor)
{
    const double channels = channels_of(layer), outputs = whole(outputs_of(layer), BLOCK), groups = (double)layer->groups;
    const double products = factor * groups * points * channels * outputs;
    return (Work){ .products = n_tiles * products,
                   .inputs = groups * n_tiles * points * channels,
                   .outputs = groups * n_tiles * points * outputs,
                   .weights = products,
                   .panels = whole(n_tiles, PIXELS) * products };
}

/* As the algorithms themselves choose their tiles. */
#define COST_OF_TRANSFORM 16
#define COST_OF_WEIGHT 6

static double cost_of(const Work *work)
{
    return work->products + COST_OF_TRANSFORM * (work->inputs + work->outputs) + COST_OF_WEIGHT * work->weights;
}

static Work cheaper(Work a, Work b)
{
    return cost_of(&a) <= cost_of(&b) ? a : b;
}

/* Tiles of @rows x @columns outputs. */
static double tiles_of(const IfmConvLayer *layer, double rows, double columns)
{
    const double side = sqrt(conv_pixels(layer));
    return layer->batch > 0
               ? (double)layer->batch * ceil((double)layer->out_rows / rows) * ceil((double)layer->out_columns / columns)
               : ceil(side / rows) * ceil(side / columns);
}

static Work winograd_work(const IfmConvLayer *layer)
{
    Work best = { .products = INFINITY };
    for (int side = 2; side <= 6; side += 2)
        best = cheaper(best, tiled_work(layer, tiles_of(layer, side, side), (side + 2) * (side + 2), 1));
    return best;
}

/* Half of the spectrum of a tile; each number of it takes three multiplications of real ones. */
static Work spectra_work(const IfmConvLayer *layer, double n_tiles, double rows, double columns)
{
    return tiled_work(layer, n_tiles, rows * (columns / 2 + 1), 3);
}

static Work fft_tiling_work(const IfmConvLayer *layer)
{
    Work best = { .products = INFINITY };
    for (int side = 8; side <= 16; side += 8)
    {
        const double rows = side - (double)layer->kernel_rows + 1, columns = side - (double)layer->kernel_columns + 1;
        if (rows > 0 && columns > 0)
            best = cheaper(best, spectra_work(layer, tiles_of(layer, rows, columns), side, side));
    }
    return isfinite(best.products) ? best : plain_work(layer);
}

static Work fft_work(const IfmConvLayer *layer)
{
    const double side = sqrt(conv_pixels(layer) / (double)MAX(layer->batch, 1));
    return spectra_work(layer, (double)MAX(layer->batch, 1), side + (double)layer->kernel_rows - 1,
                        side + (double)layer->kernel_columns - 1);
}

static Work work_of(const IfmConvLayer *layer, const char *algorithm)
{
    static const struct
    {
        IfmConvAlgorithm algorithm;
        Work (*work)(const IfmConvLayer *layer);
    } rows[] = { { IFM_CONV_FFT, fft_work },
                 { IFM_CONV_FFT_TILING, fft_tiling_work },
                 { IFM_CONV_WINOGRAD, winograd_work },
                 { IFM_CONV_WINOGRAD_NONFUSED, winograd_work } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_equal(algorithm, ifm_conv_algorithm_name(rows[i].algorithm)))
            return rows[i].work(layer);
    return plain_work(layer);
}

/* --- what of it a cache holds -------------------------------------------------------------------------------------------
 */

double ifm_conv_weights_bytes(const GPtrArray *layers)
{
    double sum = 0;
    for (guint i = 0; i < layers->len; i++)
    {
        const IfmConvLayer *layer = layers->pdata[i];
        if (conv_is_known(layer))
            sum += sizeof(float) * channels_of(layer) * taps_of(layer) * (double)layer->out_channels;
    }
    return sum;
}

/* Weights of this size and less are near. Each doubling above is farther: the caches differ, and are shared. */
#define NEAR_BYTES 4e6

void conv_work(const IfmConvLayer *layer, double weights_bytes, const char *algorithm, double terms[CONV_N_TERMS])
{
    const Work work = work_of(layer, algorithm);
    terms[0] = 1;
    terms[1] = work.products;
    terms[2] = work.inputs;
    terms[3] = work.outputs;
    terms[4] = work.weights;
    terms[5] = work.weights * log2(1 + weights_bytes / NEAR_BYTES);
    terms[6] = work.panels;
    terms[7] = work.wide_panels;
}

void conv_place(const IfmConvLayer *layer, double weights_bytes, double place[CONV_N_PLACES])
{
    const double sizes[CONV_N_PLACES] = { channels_of(layer),
                                          outputs_of(layer),
                                          conv_pixels(layer),
                                          taps_of(layer),
                                          (double)(layer->stride_rows * layer->stride_columns),
                                          (double)layer->groups,
                                          (double)(layer->dilation_rows * layer->dilation_columns),
                                          weights_bytes };
    for (gsize i = 0; i < CONV_N_PLACES; i++)
        place[i] = log2(MAX(sizes[i], 1));
}
