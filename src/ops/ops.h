/* Shared with other rooms: the operator inferometer:Region of ONNX Runtime. In plain C: libinferometer_ops.so is made of
 * this room and of src/blocked alone. */
#pragma once
#include <blocked/region.h>
#include <onnxruntime_c_api.h>

/*
 * Domain "inferometer", version 1. Region: inputs are values, then constants, all f32 of rank 4 or, constants, 1 to 4;
 * outputs are those of the program.
 *   program   text: blocked/region.h
 *   n_values  how many inputs are values; the others have to be initializers
 *   threads   of the session for which the algorithms were chosen; optional
 */

/* The oldest interface that has what is used, KernelContext_ParallelFor above all: of ONNX Runtime 1.17. */
#define IFM_OPS_API_VERSION 17

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
