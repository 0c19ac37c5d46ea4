/*
 * Runs a tuned model once in ONNX Runtime, without anything else of inferometer than the library of its operators:
 *
 *     cc tuned.c -o tuned -I ONNXRUNTIME/include -L ONNXRUNTIME/lib -lonnxruntime
 *     ./tuned PREFIX/lib/libinferometer_ops.so tuned.onnx
 */
#include <stdio.h>
#include <stdlib.h>

#include <onnxruntime_c_api.h>

static const OrtApi *api;

static void check(OrtStatus *status)
{
    if (status == NULL)
        return;
    fprintf(stderr, "tuned: %s\n", api->GetErrorMessage(status));
    exit(1);
}

/* The first input, of ones; free dimensions are 1. */
static OrtValue *make_input(OrtSession *session, OrtAllocator *allocator)
{
    OrtTypeInfo *type;
    const OrtTensorTypeAndShapeInfo *shape;
    OrtValue *value;
    int64_t *dims;
    size_t rank, n = 1;
    float *data;
    check(api->SessionGetInputTypeInfo(session, 0, &type));
    check(api->CastTypeInfoToTensorInfo(type, &shape));
    check(api->GetDimensionsCount(shape, &rank));
    if ((dims = calloc(rank + 1, sizeof *dims)) == NULL)
        return NULL;
    check(api->GetDimensions(shape, dims, rank));
    api->ReleaseTypeInfo(type);
    for (size_t i = 0; i < rank; i++)
        n *= (size_t)(dims[i] = dims[i] > 0 ? dims[i] : 1);
    check(api->CreateTensorAsOrtValue(allocator, dims, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    free(dims);
    check(api->GetTensorMutableData(value, (void **)&data));
    for (size_t i = 0; i < n; i++)
        data[i] = 1;
    return value;
}

int main(int argc, char **argv)
{
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtSession *session;
    OrtAllocator *allocator;
    OrtValue *output = NULL;
    char *names[2];
    float *data;
    if (argc != 3)
    {
        fprintf(stderr, "usage: tuned LIBRARY MODEL\n");
        return 2;
    }
    if ((api = OrtGetApiBase()->GetApi(17)) == NULL)
    {
        fprintf(stderr, "tuned: ONNX Runtime %s is older than 1.17\n", OrtGetApiBase()->GetVersionString());
        return 1;
    }
    check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "tuned", &env));
    check(api->CreateSessionOptions(&options));
    check(api->RegisterCustomOpsLibrary_V2(options, argv[1]));
    check(api->CreateSession(env, argv[2], options, &session));
    check(api->GetAllocatorWithDefaultOptions(&allocator));
    check(api->SessionGetInputName(session, 0, allocator, &names[0]));
    check(api->SessionGetOutputName(session, 0, allocator, &names[1]));
    OrtValue *input = make_input(session, allocator);
    if (input == NULL)
        return 1;
    check(api->Run(session, NULL, (const char *const *)&names[0], (const OrtValue *const *)&input, 1,
                   (const char *const *)&names[1], 1, &output));
    check(api->GetTensorMutableData(output, (void **)&data));
    printf("%s: %g\n", names[1], (double)data[0]);
    api->ReleaseValue(input);
    api->ReleaseValue(output);
    api->ReleaseSession(session);
    api->ReleaseSessionOptions(options);
    api->ReleaseEnv(env);
    return 0;
}
