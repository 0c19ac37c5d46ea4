/* Options with ONNX Runtime's own keys. It accepts any key and any value, and does not report whether it uses them. */
#include <onnxruntime_session_options_config_keys.h>
#include <string.h>

#include "onnxruntime-private.h"

/* The keys of its header. */
static const char *const *const keys[] = {
    &kOrtSessionOptionsConfigDisablePrepacking,
    &kOrtSessionOptionsConfigUseEnvAllocators,
    &kOrtSessionOptionsConfigLoadModelFormat,
    &kOrtSessionOptionsConfigSaveModelFormat,
    &kOrtSessionOptionsConfigSetDenormalAsZero,
    &kOrtSessionOptionsDisableQuantQDQ,
    &kOrtSessionOptionsDisableDoubleQDQRemover,
    &kOrtSessionOptionsEnableQuantQDQCleanup,
    &kOrtSessionOptionsEnableGeluApproximation,
    &kOrtSessionOptionsEnableCastChainElimination,
    &kOrtSessionOptionsDisableAheadOfTimeFunctionInlining,
    &kOrtSessionOptionsDisableSpecifiedOptimizers,
    &kOrtSessionOptionsGraphOptimizationsLoopLevel,
    &kOrtSessionOptionsUseDeviceAllocatorForInitializers,
    &kOrtSessionOptionsConfigAllowInterOpSpinning,
    &kOrtSessionOptionsConfigAllowIntraOpSpinning,
    &kOrtSessionOptionsConfigUseORTModelBytesDirectly,
    &kOrtSessionOptionsConfigUseORTModelBytesForInitializers,
    &kOrtSessionOptionsQDQIsInt8Allowed,
    &kOrtSessionOptionsAvx2PrecisionMode,
    &kOrtSessionOptionsConfigMinimalBuildOptimizations,
    &kOrtSessionOptionsConfigNnapiEpPartitioningStopOps,
    &kOrtSessionOptionsConfigDynamicBlockBase,
    &kOrtSessionOptionsConfigForceSpinningStop,
    &kOrtSessionOptionsConfigStrictShapeTypeInference,
    &kOrtSessionOptionsConfigStrictAllowReleasedOpsetsOnly,
    &kNodePartitionConfigFile,
    &kOrtSessionOptionsConfigIntraOpThreadAffinities,
    &kDebugLayoutTransformation,
    &kOrtSessionOptionsDisableCPUEPFallback,
    &kOrtSessionOptionsOptimizedModelExternalInitializersFileName,
    &kOrtSessionOptionsOptimizedModelExternalInitializersMinSizeInBytes,
    &kOrtSessionOptionsModelExternalInitializersFileFolderPath,
    &kOrtSessionOptionsSavePrePackedConstantInitializers,
    &kOrtSessionOptionsCollectNodeMemoryStatsToFile,
    &kOrtSessionOptionsResourceCudaPartitioningSettings,
    &kOrtSessionOptionEpContextEnable,
    &kOrtSessionOptionEpContextFilePath,
    &kOrtSessionOptionEpContextEmbedMode,
    &kOrtSessionOptionEpContextNodeNamePrefix,
    &kOrtSessionOptionShareEpContexts,
    &kOrtSessionOptionStopShareEpContexts,
    &kOrtSessionOptionsEpContextModelExternalInitializersFileName,
    &kOrtSessionOptionsMlasGemmFastMathArm64Bfloat16,
    &kOrtSessionOptionsQDQMatMulNBitsAccuracyLevel,
    &kOrtEpDynamicOptionsWorkloadType,
    &kOrtSessionOptionsDisableModelCompile,
    &kOrtSessionOptionsFailOnSuboptimalCompiledModel,
    &kOrtEpDynamicOptionsQnnHtpPerformanceMode,
};

static gboolean is_named(const char *key)
{
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        if (g_str_equal(*keys[i], key))
            return TRUE;
    return FALSE;
}

/* A newer runtime may have more keys. A key that its code uses is a string in its library, followed by NUL. A compiler
 * may split such a string, so a key that is not found is reported as unconfirmed, not as wrong. */
static gboolean has_text(GMappedFile *library, const char *key)
{
    return memmem(g_mapped_file_get_contents(library), g_mapped_file_get_length(library), key, strlen(key) + 1) != NULL;
}

/* Once of each measurement that asked for "best". */
static void note_tuning(const OrtCompiled *compiled, IfmEffectiveConfig *effective_config)
{
    OrtEngine *engine = ort_engine((IfmCompiled *)&compiled->base);
    g_auto(IfmConvChoice) choice = { 0 };
    const gboolean is_best = ifm_conv_choice_init(&choice, compiled->base.options.convolutions, NULL) &&
                             ifm_conv_choice_has(&choice, IFM_CONV_BEST);
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&engine->tuning_lock);
    if (is_best && engine->tuning_trouble != NULL)
        ifm_effective_config_note(effective_config, g_strdup(engine->tuning_trouble));
}

void ifm_ort_note_options(const OrtCompiled *compiled, IfmEffectiveConfig *effective_config)
{
    note_tuning(compiled, effective_config);
    if (compiled->conv_note != NULL)
        ifm_effective_config_note(effective_config, g_strdup(compiled->conv_note));
    const char *const *option = compiled->base.options.vendor;
    gboolean any = option != NULL && *option != NULL &&
                   g_str_equal(compiled->base.spec->unit, "CPU"); /* other providers are libraries of their own */
    g_autoptr(GMappedFile) library = any ? g_mapped_file_new(compiled->base.engine->library, FALSE, NULL) : NULL;
    for (; library != NULL && *option != NULL; option++)
    {
        g_autofree char *key = g_strndup(*option, strcspn(*option, "="));
        if (!is_named(key) && !has_text(library, key))
            ifm_effective_config_note(
                effective_config,
                g_strdup_printf("ONNX Runtime took the option \"%s\" as it takes any, and confirmed nothing: neither "
                                "its header nor its library has a key of that name",
                                key));
    }
}
