/*
 * The libFuzzer target of the readers of a model's inputs, NumPy's files (NPY and NPZ) and ONNX's (a TensorProto), and
 * (compiled into tests/base/test-fuzz-numpy.c) the same entry for the corpus. Whatever the file says, an error must be one
 * line with its place, and a tensor must be whole.
 */
#include <onnx/onnx.h>

#include "fuzz.h"

/* Takes @error. */
static void check(gboolean read, const IfmTensor *tensor, GError *error)
{
    gsize bytes;
    if (read)
    {
        must(error == NULL && ifm_tensor_is_contiguous(tensor));
        must(ifm_shape_size_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes, NULL) && bytes == tensor->size_bytes);
        ifm_tensor_root_mean_square(tensor); /* reads all of it */
        return;
    }
    must(tensor->data == NULL && error != NULL && g_str_has_prefix(error->message, "input"));
    must_be_line(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree guint8 *copy =
        g_memdup2(size > 0 ? data : (const uint8_t *)"", MAX(size, 1)); /* of just its size, so that ASan sees its end */
    g_auto(IfmTensor) array = IFM_TENSOR_INIT, tensor = IFM_TENSOR_INIT;
    GError *error = NULL, *other = NULL;
    gboolean is_array = ifm_numpy_read(copy, size, "x", "input", NULL, NULL, &array, &error);
    check(is_array, &array, error);
    gboolean is_tensor = ifm_onnx_tensor_read(copy, size, "input", &tensor, &other);
    check(is_tensor, &tensor, other);
    return 0;
}
