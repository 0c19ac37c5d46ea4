/* Shared with other rooms: a region of a graph, computed in blocked channels. In plain C, as blocked.h is. */
#pragma once
#include <blocked/blocked.h>

#ifdef __cplusplus
extern "C"
{
#endif

    /*
     * A program is text: one step a line, words apart by one blank. Each input and each step makes a value: v0, v1, … in
     * their order; constants are w0, w1, …; numbers are as C writes them, without a locale. Values are f32 of rank 4:
     * images, channels, rows, columns.
     *
     *   region 1                                   the format's version, first line
     *   input nchw                                 a value as ONNX has it
     *   input blocked 64                           a value in blocks, of another region; 64 channels are true
     *   conv v0 w0 w1 - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act relu 0 0 algorithm winograd 4 name
     * /conv1/Conv a value; weights [O][C / group][rows][columns]; bias [O] or "-"; a value of the output's shape that is
     * added before the activation, or "-"; an algorithm or "any": the rule, then 2, 4 or 6 outputs of a Winograd tile, or
     * 0: the rule; the name is the rest of the line max_pool v2 kernel 3 3 stride 2 2 dilation 1 1 pads 1 1 1 1 ceil 0
     *   average_pool v2 kernel 3 3 stride 2 2 pads 1 1 1 1 ceil 0 include_pad 0
     *   global_average_pool v3
     *   add v3 v4 act relu 0 0                     sizes are equal, or 1 of one of them, as ONNX broadcasts
     *   mul v3 v5 act none 0 0                     the same
     *   scale v3 w2 w3 act relu 0 0                times w2 plus w3, [C] each
     *   act v3 silu 0 0                            ifm_blocked_activation_name(), with alpha and beta
     *   concat v1 v2 v3                            along channels
     *   resize v3 2 2                              nearest (asymmetric, floor), whole factors
     *   output nchw v9
     *   output blocked v9
     *
     * A blocked tensor is [images][channels rounded up to whole blocks][rows][columns] to a runtime; its block is the
     * processor's: ifm_region_block().
     */

    /** IfmRegion: a program with its constants: what a node of a session has. IfmRegionRun: made for one set of sizes. */
    typedef struct IfmRegion IfmRegion;
    typedef struct IfmRegionRun IfmRegionRun;

    typedef struct
    {
        int rank;
        int64_t shape[4];
        const float *data;
    } IfmRegionConstant;

    /** IfmRegionOptions: zeros are the defaults. @max_isa: as of IfmBlockedOptions    @n_threads: of the caller
     * @max_bytes: of the values within, and of the workspace of a layer; 0: no limit of its own
     * @max_idle_bytes: that runs may own that wait for a caller, besides one for each of the last 8 sizes; 0: 256 MiB
     * @is_timed: the region and its layers take their times */
    typedef struct
    {
        const char *max_isa;
        int n_threads;
        size_t max_bytes, max_idle_bytes;
        bool is_timed;
    } IfmRegionOptions;

    /**
     * ifm_region_new: Checks everything that does not depend on sizes.
     * @program: any bytes up to a NUL: what is no program is refused    @constants: copied; their data are borrowed while
     * the region lives
     * Returns: NULL with IFM_BLOCKED_INVALID: "line 3: …". Freed by ifm_region_free(), which takes NULL.
     */
    IfmRegion *ifm_region_new(const char *program, const IfmRegionConstant *constants, size_t n_constants,
                              const IfmRegionOptions *options, IfmBlockedError *error);
    void ifm_region_free(IfmRegion *region);

    /** ifm_region_set_threads: of the caller, for runs that are made from now on. */
    void ifm_region_set_threads(IfmRegion *region, int n_threads);

    size_t ifm_region_n_inputs(const IfmRegion *region); /* values only */
    size_t ifm_region_n_outputs(const IfmRegion *region);
    /** ifm_region_block: channels of a block, 16 or 8. */
    int ifm_region_block(const IfmRegion *region);

    /**
     * ifm_region_take: A run for these sizes, which nobody else has: one that was given back, or a new one.
     * @shapes: [n_inputs] as the caller's tensors have them: that of a blocked input with whole blocks of channels
     * Returns: NULL with IFM_BLOCKED_INVALID where sizes do not fit, or IFM_BLOCKED_NO_MEMORY
     */
    IfmRegionRun *ifm_region_take(IfmRegion *region, const int64_t (*shapes)[4], IfmBlockedError *error);

    /** ifm_region_give_back: Kept for the next ifm_region_take(): one for each of the last 8 sizes, and others as far as
     * their bytes allow. Transformed weights are shared by all runs, and memory for values by those that wait. */
    void ifm_region_give_back(IfmRegion *region, IfmRegionRun *run);

    /** ifm_region_output_shape: of the caller's tensor. */
    void ifm_region_output_shape(const IfmRegionRun *run, size_t output, int64_t shape[4]);

    /** ifm_region_run: @inputs: [n_inputs] @outputs: [n_outputs], none of which overlaps with an input
     * @parallel: NULL: all on this thread */
    void ifm_region_run(IfmRegionRun *run, const float *const *inputs, float *const *outputs, IfmBlockedParallel parallel,
                        void *user);

    /** ifm_region_ran_ns: from when it was taken to when it was given back, where the region is timed; 0: it was not yet.
     */
    int64_t ifm_region_ran_ns(const IfmRegionRun *run);

    /** ifm_region_arena_bytes: of the values within the region; layers have their own weights and workspace. */
    size_t ifm_region_arena_bytes(const IfmRegionRun *run);

    /** IfmRegionLayerRun: what a convolution runs by. Texts are borrowed: @name, @asked from the region, the others from
     * the run. */
    typedef struct
    {
        const char *name, *asked, *algorithm, *implementation;
        bool is_replaced; /* the algorithm that was asked for cannot do it here */
        int64_t ran_ns;   /* of the last run, where the region is timed */
        IfmBlockedShape shape;
    } IfmRegionLayerRun;

    size_t ifm_region_n_layers(const IfmRegion *region);
    IfmRegionLayerRun ifm_region_layer(const IfmRegionRun *run, size_t layer);

    /** ifm_region_set: Another algorithm for a layer of a run. Returns: false where it cannot do the layer, which stays as
     * it is. */
    bool ifm_region_set(IfmRegionRun *run, size_t layer, IfmBlockedAlgorithm algorithm, int winograd_outputs,
                        IfmBlockedError *error);

    /** ifm_region_is_hopeless: ifm_blocked_is_hopeless() of a layer of a run. */
    bool ifm_region_is_hopeless(const IfmRegionRun *run, size_t layer, IfmBlockedAlgorithm algorithm);

    /** IfmRegionCounts: @n_made: runs    @n_transforms: of weights, for all runs together    @n_idle, @idle_bytes: runs
     * that wait for a caller, and what they own: workspaces, weights that were transformed for them, and memory for values
     */
    typedef struct
    {
        size_t n_made, n_transforms, n_idle, idle_bytes;
    } IfmRegionCounts;
    IfmRegionCounts ifm_region_counts(IfmRegion *region);

    /** ifm_region_idle: the run that was given back last, or NULL. Borrowed: for a caller whose region does not run. */
    IfmRegionRun *ifm_region_idle(IfmRegion *region);

#ifdef __cplusplus
}
#endif
