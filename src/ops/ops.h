/* Shared with other rooms: the operator inferometer:Region of ONNX Runtime. In plain C: libinferometer_ops.so is made of
 * this room and of src/blocked alone. */
#pragma once
#include <blocked/region.h>
#include <onnxruntime_c_api.h>

/*
 * Domain "inferometer", version 1. Region: inputs are values, then constants, all f32 of rank 4 or, constants, 1 to 4;
 * outputs are those of the program. ONNX Runtime does not tell an operator which version of its domain a model imports, and
 * writes 1000 into a model that it saves: what is of a later version says so in the first line of its program.
 *   program   text: blocked/region.h
 *   n_values  how many inputs are values; the others have to be initializers
 *   threads   of the session for which the algorithms were chosen; optional
 */

/* The oldest interface that has what is used, KernelContext_ParallelFor above all: of ONNX Runtime 1.17. */
#define IFM_OPS_API_VERSION 17

/* --- what all operators of this domain share -------------------------------------------------------------------------- */

/* IFM_OPS_TRY: returns the status of a call that failed. */
#define IFM_OPS_TRY(call)                                                                                                  \
    do                                                                                                                     \
    {                                                                                                                      \
        OrtStatus *failed = (call);                                                                                        \
        if (failed != NULL)                                                                                                \
            return failed;                                                                                                 \
    } while (0)

/** ifm_ops_operator_init: What an operator has unless it says otherwise: this domain's version 1 on the processor, one kind
 * of f32 inputs and one of outputs, of any number of each, in the provider's own memory. */
void ifm_ops_operator_init(OrtCustomOp *operator);

/** ifm_ops_shape: @shape: (out) [n], where the rank is not more    @rank: (out) */
OrtStatus *ifm_ops_shape(const OrtApi *api, const OrtValue *value, size_t n, int64_t *shape, size_t *rank);

/** IfmOpsRun: of a node. ifm_ops_parallel: an IfmBlockedParallel: on the session's own threads. @run: IfmOpsRun* */
typedef struct
{
    const OrtApi *api;
    const OrtKernelContext *context;
} IfmOpsRun;
void ifm_ops_parallel(void *run, size_t n, void (*function)(void *data, size_t index), void *data);

/* --- inferometer:Region ------------------------------------------------------------------------------------------------
 */

/**
 * IfmOpsOptions: zeros are the defaults.
 * @max_isa: as of IfmBlockedOptions    @is_timed: as of IfmRegionOptions
 * @n_threads: that the session has, where the caller knows it: a run then stays the same one; 0: the first runs find out
 * @made, @freed: a node of a session has this region. @node: borrowed until it returns
 */
typedef struct
{
    const char *max_isa;
    bool is_timed;
    int n_threads;
    void (*made)(void *user, const char *node, IfmRegion *region);
    void (*freed)(void *user, IfmRegion *region);
    void *user;
} IfmOpsOptions;

/** IfmOps: the operator, for sessions that end before it does. */
typedef struct IfmOps IfmOps;

/** ifm_ops_new: @api: of version IFM_OPS_API_VERSION or newer    @options: (nullable) copied
 * Returns: NULL with @status, which the caller releases; without memory for one it is NULL, too. */
IfmOps *ifm_ops_new(const OrtApi *api, const IfmOpsOptions *options, OrtStatus **status);
void ifm_ops_free(IfmOps *ops);

/** ifm_ops_domain: for OrtApi.AddCustomOpDomain(); borrowed. */
OrtCustomOpDomain *ifm_ops_domain(IfmOps *ops);
