/* room: kernel */
#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * Models in many sizes and batches as files, each as it is written and as ONNX Runtime optimises it.
 */

/** IfmExportOptions: @folder: where files go; made where it is not there    @force: replaces files of other content that
 * were not exported    @written: (nullable) with each file, and of an optimised graph how it was checked: "ran", "ran at
 * batch 1: batch 128 needs at least 31.2 GiB, there are 22.0 GiB", "not run: …"; NULL of the others. FALSE ends it
 * @interrupted: (nullable) ends it */
typedef struct
{
    const char *folder;
    gboolean force;
    gboolean (*written)(const char *path, const char *said, void *user);
    void *user;
    const gint *interrupted;
} IfmExportOptions;

/**
 * ifm_export_config: Writes what a configuration lists (docs/zoo.md): models x sizes x batches, and of each the graph that
 * ONNX Runtime makes of it for each provider, with the runtime's version, the provider and the level in its name and its
 * metadata. Every graph is run once where its memory fits, else one of batch 1.
 * Returns: FALSE with IFM_ERROR_INVALID "FILE:LINE: …" (an unknown model or file, what is listed twice, a size that a model
 * does not take), IFM_ERROR_UNAVAILABLE (a provider that is not here: no graph is made by another one; a folder that cannot
 * be written), IFM_ERROR_CANCELLED, or what compiling and running give. Files that were written by then stay.
 */
gboolean ifm_export_config(const char *config, const IfmExportOptions *options, GError **error);

IFM_END_DECLS
