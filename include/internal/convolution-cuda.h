/* room: convolution */
#pragma once
#include <internal/convolution.h>

G_BEGIN_DECLS

/* Convolutions on an NVIDIA GPU by a named algorithm: cuDNN's, and a direct kernel of our own. Tensors are NCHW in f32 on
 * the GPU. cuDNN, the CUDA runtime and NVRTC are opened at run time; setup/install cuda gets them. */

/** IfmConvCuda: a GPU with a handle of cuDNN of our own and a workspace that all layers share. One stream. */
typedef struct IfmConvCuda IfmConvCuda;
/** ifm_conv_cuda_open: @device: the CUDA runtime's index
 * Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE and one line: what is missing and how to get it. */
IfmConvCuda *ifm_conv_cuda_open(int device, GError **error);
void ifm_conv_cuda_free(IfmConvCuda *cuda);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmConvCuda, ifm_conv_cuda_free)

/** IfmConvCudaLayer: a layer that is ready to run. Weights stay where the caller has them. */
typedef struct IfmConvCudaLayer IfmConvCudaLayer;
/**
 * ifm_conv_cuda_layer_new:
 * @cuda: has to outlive the layer    @shape: its blocks are 1
 * @algorithm: a fixed one, IFM_CONV_GUESS (cuDNN's own rule) or IFM_CONV_BEST (cuDNN measures on this GPU)
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED and a few words why it cannot do the layer: "stride 2".
 */
IfmConvCudaLayer *ifm_conv_cuda_layer_new(IfmConvCuda *cuda, const IfmConvShape *shape, IfmConvAlgorithm algorithm,
                                          const IfmConvOptions *options, GError **error);
void ifm_conv_cuda_layer_free(IfmConvCudaLayer *layer);
/** ifm_conv_cuda_layer_info: borrowed from the layer. */
IfmConvInfo ifm_conv_cuda_layer_info(const IfmConvCudaLayer *layer);
const IfmConvShape *ifm_conv_cuda_layer_shape(const IfmConvCudaLayer *layer);
/** ifm_conv_cuda_layer_run: Puts the layer on a stream. All tensors are on the GPU.
 * @bias, @sum: or NULL    @timed: events before and after it are kept until ifm_conv_cuda_layer_times() */
gboolean ifm_conv_cuda_layer_run(IfmConvCudaLayer *layer, void *stream, const float *input, const float *weights,
                                 const float *bias, const float *sum, float *output, gboolean timed, GError **error);
/** ifm_conv_cuda_layer_times: Waits for the timed runs. Returns: (transfer full) double: milliseconds of each, in order,
 * and forgets them. */
GArray *ifm_conv_cuda_layer_times(IfmConvCudaLayer *layer, GError **error);

G_END_DECLS
