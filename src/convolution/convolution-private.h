#pragma once
#include <convolution/convolution.h>

G_BEGIN_DECLS

/* --- the code of one instruction set ---------------------------------------------------------------------------------- */

/* Limits of a tile of outputs, over all instruction sets. */
#define CONV_MAX_PIXELS 14
#define CONV_MAX_BLOCK 16
#define CONV_TILE_VECTORS 2

/* ConvStore: how a tile is begun and stored. Output (p, v) of a tile, a vector of `block` channels, is at
 * out + p * pixel_stride + v * vector_stride; the same holds for sum. */
typedef struct
{
    const float *start; /* [vectors * block] added to each pixel, or NULL */
    gboolean add;       /* to what out holds, too */
    gsize pixel_stride, vector_stride;
    const float *sum;  /* of the tile's first output; NULL: none */
    float low, high;   /* bounds of what is stored */
    const float *next; /* product: weights that one after this reads, as many: brought nearer; NULL: none */
} ConvStore;

/* ConvFftLine: a transform of n complex values, by passes of radix 1 to 5. */
typedef struct
{
    int n, n_factors, factors[24];
    float *twiddles; /* [pass][p < m][1 <= r < radix][re, im] */
} ConvFftLine;

/* ConvFft: a transform of an image of real values. Its half spectrum is stored column after column; columns whose second
 * half mirrors the first are stored to the middle. */
typedef struct
{
    ConvFftLine line[2]; /* [0] down the rows, [1] along a row */
} ConvFft;

static inline gboolean conv_fft_mirrors(const ConvFft *fft, gsize column)
{
    return column == 0 || 2 * column == (gsize)fft->line[1].n;
}
static inline gsize conv_fft_column_size(const ConvFft *fft, gsize column)
{
    return conv_fft_mirrors(fft, column) ? (gsize)fft->line[0].n / 2 + 1 : (gsize)fft->line[0].n;
}
/* conv_fft_column: index of the first frequency of a column; of the column after the last: how many there are */
static inline gsize conv_fft_column(const ConvFft *fft, gsize column)
{
    const gsize n = (gsize)fft->line[0].n, mirrored = n / 2 + 1;
    return column == 0 ? 0 : mirrored + (column - 1) * n - (2 * (column - 1) == (gsize)fft->line[1].n ? n - mirrored : 0);
}

/* ConvFftForm: what is stored of a value a + ib of an input, or c + id of a weight, for the product (a + ib)(c - id):
 * of 4 real products, as two rows (a, b) and (b, -a) that are multiplied by (c, d): the real and the imaginary part;
 * of 3 real products:  p = (a + b) c,  q = a (c + d),  r = b (c - d);  the product is  p - r + i (p - q). */
typedef enum
{
    CONV_FFT_INPUTS_OF_4,
    CONV_FFT_WEIGHTS_OF_4,
    CONV_FFT_INPUTS_OF_3,
    CONV_FFT_WEIGHTS_OF_3
} ConvFftForm;

/* ConvWindow: a part of an image: (y, x) is at base + offset + y row_stride + x pixel_stride; outside of first to end are
 * zeros. */
typedef struct
{
    const float *base;
    gint64 offset, row_stride, pixel_stride, first[2], end[2];
} ConvWindow;

/* ConvKernels: functions of one instruction set for one block. All weights are panels [k][vectors][block]. */
typedef struct
{
    const char *isa;
    int block, pixels; /* pixels: of a whole tile */
    /* product: n_pixels <= pixels, vectors 1 or 2. out[p][v] = sum over k < depth of weights[k][v] rows[p * row_stride + k]
     */
    void (*product)(int n_pixels, int vectors, gsize depth, const float *weights, const float *rows, gsize row_stride,
                    float *out, const ConvStore *store);
    /* product_indirect: rows are found by pointers: of tap t and pixel p at taps[t * tap_stride + p], for each of n_blocks
     * blocks of depth floats; the next block is block_stride floats further, but not where the pointer is @zero. */
    void (*product_indirect)(int n_pixels, int vectors, gsize n_taps, gsize n_blocks, gsize depth, const float *weights,
                             const float *const *taps, gsize tap_stride, gsize block_stride, const float *zero, float *out,
                             const ConvStore *store);
    /* fft_forward: the half spectrum of a window, times 2, in the parts of @form. Part i of frequency f is at
     * to + f * frequency_stride + i * part_stride. */
    void (*fft_forward)(const ConvFft *fft, const ConvWindow *window, float *scratch, float *to, gsize frequency_stride,
                        gsize part_stride, ConvFftForm form);
    /* fft_inverse: the first size[0] x size[1] values of what has a half spectrum, times the number of values, from the
     * outputs of products with inputs of @form. @store: start, sum, pixel_stride, low, high */
    void (*fft_inverse)(const ConvFft *fft, const float *from, gsize frequency_stride, gsize part_stride, ConvFftForm form,
                        float *scratch, const gint64 size[2], float *out, gsize row_stride, const ConvStore *store);
    /* winograd_input: the transform of the inputs of one tile, from (y, x) on, for all channels. Point i of channel c goes
     * to @to + i * point_stride + c; where channels are no whole blocks, zeros follow. @input: of the image and group */
    void (*winograd_input)(int pairs, const IfmConvShape *shape, const float *input, gint64 n_channels, gint64 y, gint64 x,
                           float *to, gsize point_stride);
    /* winograd_output: the inverse, of @vectors vectors of channels: size[0] x size[1] outputs of the tile. @store: start,
     * pixel_stride, vector_stride, sum, low, high */
    void (*winograd_output)(int pairs, const float *from, gsize point_stride, int vectors, const gint64 size[2], float *out,
                            gsize row_stride, const ConvStore *store);
} ConvKernels;

/* conv_kernels: the best of this processor for that block, or no better than max_isa (NULL: any). NULL where there is none.
 */
const ConvKernels *conv_kernels(int block, const char *max_isa);
extern const ConvKernels conv_kernels_avx512_16, conv_kernels_avx2_16, conv_kernels_avx2_8, conv_kernels_portable_16,
    conv_kernels_portable_8;

/* --- algorithms ------------------------------------------------------------------------------------------------------- */

/* ConvRun: one run. */
typedef struct
{
    const float *input, *sum;
    float *output;
    IfmConvParallel parallel; /* never NULL; its tasks are slots: options.n_threads of them, each with scratch of its own */
    void *user;
} ConvRun;

struct IfmConv
{
    IfmConvShape shape;
    IfmConvOptions options;
    IfmConvInfo info;
    const ConvKernels *kernels;
    const struct ConvAlgorithm *algorithm;
    float *bias;        /* [out_channels rounded up to whole tiles]; zeros without bias */
    float low, high;    /* of ConvStore: what of the activation is a bound */
    gboolean is_bounds; /* the activation is no more than those bounds */
    char *implementation;
    void *state;     /* of the algorithm */
    float *owned[5]; /* memory of the state: conv_own() */
    int n_owned;
    gboolean is_short; /* there was no memory for one of them */
    gsize n_tasks;     /* of ConvAlgorithm.task: n_threads unless make() sets another number */
};

/* ConvJob: a run, or one pass of it over a part of the layer. */
typedef struct
{
    IfmConv *conv;
    const ConvRun *run;
    gsize first, n; /* of the pass: what the algorithm divides the layer into */
} ConvJob;

/* ConvTask: one of the equal parts of a job. @slot: whose scratch it may use */
typedef void (*ConvTask)(const ConvJob *job, gsize slot, gsize task);

/* ConvAlgorithm: one row of the table in convolution.c. Two of one file are told apart by @self. */
typedef struct ConvAlgorithm ConvAlgorithm;
struct ConvAlgorithm
{
    const char *name, *meaning;
    /* refuses: static text why it cannot do the shape; NULL: it can. The workspace is checked by workspace. */
    const char *(*refuses)(const ConvAlgorithm *self, const IfmConvShape *shape, const IfmConvOptions *options);
    /* workspace: bytes for one run, and those of the transformed weights. */
    gsize (*workspace)(const ConvAlgorithm *self, const IfmConvShape *shape, const IfmConvOptions *options);
    gsize state_bytes; /* of IfmConv.state, which begins as zeros */
    /* make: fills state, info.implementation (through conv_set_implementation()), info.workspace_bytes, weights_bytes. */
    gboolean (*make)(IfmConv *conv, const float *weights, GError **error);
    /* run: NULL: @task for each of IfmConv.n_tasks */
    void (*run)(IfmConv *conv, const ConvRun *run);
    ConvTask task;
    void (*free)(IfmConv *conv); /* what the state has besides conv_own(); NULL: nothing */
};

extern const ConvAlgorithm conv_direct, conv_gemm, conv_implicit_gemm, conv_implicit_precomp_gemm, conv_fft,
    conv_fft_tiling, conv_winograd, conv_winograd_nonfused;

/* --- what algorithms share -------------------------------------------------------------------------------------------- */

/* conv_alloc: zeroed, aligned to 64 bytes, large pages asked for where it is large. Freed by free(). NULL: no memory. */
float *conv_alloc(gsize n_floats);
/* conv_own: the same, freed with the layer. NULL: no memory, and conv->is_short. */
float *conv_own(IfmConv *conv, gsize n_floats);
G_GNUC_PRINTF(2, 3) void conv_set_implementation(IfmConv *conv, const char *format, ...);

/* conv_own_weights: the same for the weights of a layer in another order; sets info.weights_bytes. */
float *conv_own_weights(IfmConv *conv);
/* conv_run_tasks: tasks 0 to n - 1, a share of them in a row for each slot. */
void conv_run_tasks(const ConvJob *job, gsize n, ConvTask task);

/* conv_no_memory: sets IFM_ERROR_MEMORY. Returns: FALSE */
gboolean conv_no_memory(const IfmConv *conv, GError **error);
/* conv_refuses_groups: why vectors of channels cannot do these groups, for ConvAlgorithm.refuses. */
const char *conv_refuses_groups(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options);

/* conv_depth: multiplications for one output: channels / groups * kernel */
static inline gsize conv_depth(const IfmConvShape *shape)
{
    return (gsize)(shape->channels / shape->groups * shape->kernel[0] * shape->kernel[1]);
}
static inline gsize conv_n_pixels(const IfmConvShape *shape)
{
    return (gsize)(shape->out[0] * shape->out[1]);
}

/* conv_pack_weights: into panels [group][panel][k][vectors][block] where the vectors of a group's last panel may be 1.
 * Order of k: kernel row, kernel column, block of input channels, channel. @panels: [out_channels * conv_depth()] */
void conv_pack_weights(const IfmConvShape *shape, const float *weights, float *panels);

/* conv_pack_patch: what one output pixel reads, in the order of conv_pack_weights(). @input: of the image and group
 * @row: (out) [conv_depth()] */
void conv_pack_patch(const IfmConvShape *shape, const float *input, gint64 y, gint64 x, float *row);

/* conv_finish: the part of the activation that is no bound, of n_blocks blocks of n_pixels pixels. */
void conv_finish(const IfmConv *conv, float *output, gsize n_pixels, gsize n_blocks, gsize block_stride);

/* conv_split: the bounds of part i of n nearly equal parts of a whole. */
static inline gsize conv_split(gsize whole, gsize n, gsize i)
{
    return whole * i / n;
}

/* ConvPart: part @part of @n_parts of the pixels of one group of one image. @input: of the group; @sum, @output: of the
 * first pixel and the group's first block. */
typedef struct
{
    const float *input, *sum;
    float *output;
    gsize group, first, n_pixels;
} ConvPart;
/* conv_n_parts: in all images and groups. conv_part: @index: of all parts, those of one group of an image in a row */
static inline gsize conv_n_parts(const IfmConvShape *shape, gsize n_parts)
{
    return (gsize)(shape->batch * shape->groups) * n_parts;
}
ConvPart conv_part(const ConvJob *job, gsize n_parts, gsize index);
G_END_DECLS
