/*
 * What benches in Python call beside the public library: functions that it does not export, each under its name with
 * "bench_" before. bench/peers.py opens this library instead of libinferometer.so; it has all of that inside.
 */
#include <inferometer/visibility.h>
#include <internal/onnx.h>
#include <internal/tensor.h>

IFM_BEGIN_DECLS
gboolean bench_model_initializer(const IfmModel *model, const char *name, IfmTensor *tensor);
const char *bench_model_initializer_name(const IfmModel *model, gsize index);
gsize bench_model_n_initializers(const IfmModel *model);
gsize bench_tensor_file_n(const IfmTensorFile *file);
const char *bench_tensor_file_name(const IfmTensorFile *file, gsize index);
const IfmTensor *bench_tensor_file_tensor(const IfmTensorFile *file, gsize index);
IFM_END_DECLS

gboolean bench_model_initializer(const IfmModel *model, const char *name, IfmTensor *tensor)
{
    return ifm_model_initializer(model, name, tensor);
}

const char *bench_model_initializer_name(const IfmModel *model, gsize index)
{
    return ifm_model_initializer_name(model, index);
}

gsize bench_model_n_initializers(const IfmModel *model)
{
    return ifm_model_n_initializers(model);
}

gsize bench_tensor_file_n(const IfmTensorFile *file)
{
    return ifm_tensor_file_n(file);
}

const char *bench_tensor_file_name(const IfmTensorFile *file, gsize index)
{
    return ifm_tensor_file_name(file, index);
}

const IfmTensor *bench_tensor_file_tensor(const IfmTensorFile *file, gsize index)
{
    return ifm_tensor_file_tensor(file, index);
}
