/* Shared with other rooms: convolutions on the processor in blocked layout, in plain C. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This room needs the C library, libm and threads alone, so that what is made of it runs within any program. Nothing here
 * ends the program: what fails says so. Functions may be called from several threads at once; a layer is run by one caller
 * at a time. */

#ifdef __cplusplus
extern "C"
{
#endif

    /* --- errors
     * ----------------------------------------------------------------------------------------------------------- */

    typedef enum
    {
        IFM_BLOCKED_OK,
        IFM_BLOCKED_INVALID,     /* no such layer can be */
        IFM_BLOCKED_UNSUPPORTED, /* the algorithm cannot do this layer */
        IFM_BLOCKED_UNAVAILABLE, /* a library that the algorithm calls is not there */
        IFM_BLOCKED_NO_MEMORY
    } IfmBlockedCode;

    /** IfmBlockedError: why something failed, one line. Functions that take one take NULL, too, and leave it where they
     * succeed.
     */
    typedef struct
    {
        IfmBlockedCode code;
        char text[240];
    } IfmBlockedError;

    /** ifm_blocked_fail: Sets an error. @error: (nullable)    Returns: false */
    bool ifm_blocked_fail(IfmBlockedError *error, IfmBlockedCode code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

    /* --- layers
     * ----------------------------------------------------------------------------------------------------------- */

    /** IfmBlockedAlgorithm: how a convolution is computed. IFM_BLOCKED_GEMM has no row of this room: see
     * IfmBlockedOptions.rows. */
    typedef enum
    {
        IFM_BLOCKED_DIRECT,
        IFM_BLOCKED_GEMM,
        IFM_BLOCKED_IMPLICIT_GEMM,
        IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM,
        IFM_BLOCKED_FFT,
        IFM_BLOCKED_FFT_TILING,
        IFM_BLOCKED_WINOGRAD,
        IFM_BLOCKED_WINOGRAD_NONFUSED,
        IFM_N_BLOCKED_ALGORITHMS
    } IfmBlockedAlgorithm;

    /** ifm_blocked_algorithm_name: "direct", "implicit_gemm", …: static text. */
    const char *ifm_blocked_algorithm_name(IfmBlockedAlgorithm algorithm);

    /** IfmBlockedActivation: what is applied to an output after bias and sum. @alpha, @beta: as ONNX names them for that
     * operator. */
    typedef enum
    {
        IFM_BLOCKED_IDENTITY,
        IFM_BLOCKED_RELU,
        IFM_BLOCKED_CLIP,         /* alpha: lower bound, beta: upper bound */
        IFM_BLOCKED_LEAKY_RELU,   /* alpha: slope below 0 */
        IFM_BLOCKED_HARD_SIGMOID, /* max(0, min(1, alpha x + beta)) */
        IFM_BLOCKED_SIGMOID,
        IFM_BLOCKED_TANH,
        IFM_BLOCKED_SILU,       /* x sigmoid(x) */
        IFM_BLOCKED_HARD_SWISH, /* x max(0, min(1, x / 6 + 1 / 2)) */
        IFM_BLOCKED_GELU,
        IFM_BLOCKED_GELU_TANH, /* its approximation by tanh */
        IFM_N_BLOCKED_ACTIVATIONS
    } IfmBlockedActivation;

    /** ifm_blocked_activation_name: "none", "relu", …: static text. */
    const char *ifm_blocked_activation_name(IfmBlockedActivation activation);

    /**
     * IfmBlockedShape: one layer. Channel c of a tensor is at [n][c / block][y][x][c % block]; where the block is 1 that is
     * NCHW.
     * @block: of the output, 16 or 8, or 1 on a GPU; @channels (but see @input_block) and @out_channels are multiples of it
     * @input_block: @block, or 1: the input is NCHW with any number of channels
     * @out: computed by ifm_blocked_shape_complete()
     */
    typedef struct
    {
        int64_t batch, channels, out_channels, groups;
        int64_t in[2], kernel[2], stride[2], dilation[2]; /* [0] rows, [1] columns */
        int64_t pads[4];                                  /* top, left, bottom, right, as ONNX has them */
        int64_t out[2];
        int block, input_block;
    } IfmBlockedShape;

    /** ifm_blocked_shape_complete: Checks a shape and fills @out. Returns: false with IFM_BLOCKED_INVALID. */
    bool ifm_blocked_shape_complete(IfmBlockedShape *shape, IfmBlockedError *error);

    /** ifm_blocked_shape_macs: multiplications of the direct algorithm; padding counts. */
    int64_t ifm_blocked_shape_macs(const IfmBlockedShape *shape);

    /** IfmBlockedParallel: runs task(data, i) for each i < @n on the caller's threads and returns when all have returned.
     */
    typedef void (*IfmBlockedParallel)(void *user, size_t n, void (*task)(void *data, size_t index), void *data);

    /**
     * IfmBlockedOptions: zeros are the defaults.
     * @max_workspace_bytes: an algorithm that needs more refuses the layer; 0: IFM_BLOCKED_WORKSPACE_BYTES
     * @max_isa: of the own kernels, for tests: "avx512", "avx2", "portable"; NULL: the best one that the processor has
     * @winograd_outputs: of the Winograd algorithms: 2, 4 or 6 for F(2,3), F(4,3), F(6,3); 0: by a rule from the shape
     * @n_threads: how many of the caller's threads work at a time, 1 for 0: sizes the blocks and the workspace
     * @weights: [n_weights] as other layers of the same weights have transformed them: one is taken that this layer would
     * transform them to
     * @rows: [IFM_N_BLOCKED_ALGORITHMS] implementations that take the place of the own ones (blocked/algorithm.h) in the
     * layers that they do, NULL for those that stay; or NULL: all are the own ones
     */
    typedef struct
    {
        size_t max_workspace_bytes;
        const char *max_isa;
        int winograd_outputs;
        int n_threads;
        IfmBlockedActivation activation;
        float alpha, beta;
        bool has_sum; /* an output-shaped tensor is added before the activation */
        struct IfmBlockedWeights *const *weights;
        size_t n_weights;
        const struct ConvAlgorithm *const *rows;
    } IfmBlockedOptions;

#define IFM_BLOCKED_WORKSPACE_BYTES ((size_t)1 << 30)

    /** IfmBlockedConv: a layer that is ready to run: weights transformed, workspace allocated. One run at a time. */
    typedef struct IfmBlockedConv IfmBlockedConv;

    /** IfmBlockedInfo: what runs. Borrowed from the layer. */
    typedef struct
    {
        IfmBlockedAlgorithm algorithm;
        const char *implementation; /* packing and kernel, such as "F(4,3) fused, avx512 14x32" */
        size_t workspace_bytes, weights_bytes;
    } IfmBlockedInfo;

    /**
     * ifm_blocked_conv_new:
     * @options: (nullable) max_isa and rows have to outlive the layer
     * @weights: [out_channels][channels / groups][kernel rows][kernel columns], f32, not kept
     * @bias: [out_channels] or NULL, not kept
     * Returns: NULL with IFM_BLOCKED_UNSUPPORTED and one line why the algorithm cannot do this layer, or another error.
     * Freed by ifm_blocked_conv_free(), which takes NULL.
     */
    IfmBlockedConv *ifm_blocked_conv_new(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm,
                                         const IfmBlockedOptions *options, const float *weights, const float *bias,
                                         IfmBlockedError *error);
    void ifm_blocked_conv_free(IfmBlockedConv *conv);

    /** IfmBlockedWeights: as a layer has transformed them; counted. ifm_blocked_conv_weights: a reference, or NULL: a layer
     * that keeps them otherwise. ifm_blocked_weights_unref: takes NULL. ifm_blocked_weights_n_users: references. */
    typedef struct IfmBlockedWeights IfmBlockedWeights;
    IfmBlockedWeights *ifm_blocked_conv_weights(const IfmBlockedConv *conv);
    void ifm_blocked_weights_unref(IfmBlockedWeights *weights);
    int ifm_blocked_weights_n_users(const IfmBlockedWeights *weights);

    IfmBlockedInfo ifm_blocked_conv_info(const IfmBlockedConv *conv);

    /** ifm_blocked_conv_shape: complete; borrowed. */
    const IfmBlockedShape *ifm_blocked_conv_shape(const IfmBlockedConv *conv);

    /** ifm_blocked_conv_run: output = activation(convolution(input) + bias + sum).
     * @sum: NULL without has_sum; not @output    @parallel: NULL: all on this thread */
    void ifm_blocked_conv_run(IfmBlockedConv *conv, const float *input, const float *sum, float *output,
                              IfmBlockedParallel parallel, void *user);

    /** ifm_blocked_isa: The instruction set of the own kernels for a block, as max_isa of the options limits it: "avx512",
     * "avx2", "portable". Returns: static text; NULL where there are none. */
    const char *ifm_blocked_isa(int block, const char *max_isa);

    /** ifm_blocked_max_isa: What max_isa of the options is to be by the environment: IFM_CONV_ISA; the kernels of a lesser
     * processor on this one. Returns: (transfer none) NULL where it is not set, or empty */
    const char *ifm_blocked_max_isa(void);

    /** ifm_blocked_now_ns: by a clock that never goes back, from an arbitrary moment. */
    int64_t ifm_blocked_now_ns(void);

    /** ifm_blocked_supports: whether an algorithm can do a layer, without making it. @shape: complete
     * @why: (out) (nullable) where it cannot: IFM_BLOCKED_UNSUPPORTED and a few words, such as "stride 2" */
    bool ifm_blocked_supports(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm, const IfmBlockedOptions *options,
                              IfmBlockedError *why);

    /** ifm_blocked_workspace: bytes that an algorithm needs for a complete shape, which it may refuse for another reason.
     */
    size_t ifm_blocked_workspace(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm,
                                 const IfmBlockedOptions *options);

    /** ifm_blocked_is_hopeless: Whether the transformed weights of a complete shape are so large that an algorithm that
     * can do it is no candidate: more than 16 times those of the layer, and 32 MiB. Candidates that are measured in turns
     * are in memory at once; so this is known before one is made. @options: not NULL */
    bool ifm_blocked_is_hopeless(const IfmBlockedShape *shape, IfmBlockedAlgorithm algorithm,
                                 const IfmBlockedOptions *options);

    /** ifm_blocked_guess: The algorithm that a rule names from a complete shape: Winograd's or tiles of spectra where they
     * save multiplications; else indices for few outputs, else direct. */
    IfmBlockedAlgorithm ifm_blocked_guess(const IfmBlockedShape *shape, const IfmBlockedOptions *options);

#ifdef __cplusplus
}
#endif
