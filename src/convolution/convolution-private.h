#pragma once
#include <convolution/convolution.h>

#include <blocked/algorithm.h>

G_BEGIN_DECLS

/* Rows of oneDNN. */
extern const ConvAlgorithm conv_direct, conv_gemm;

/* conv_tuned_key: (transfer full) a row without an algorithm. @processor, @library: (transfer full) */
IfmConvTuned *conv_tuned_key(char *processor, char *library, const IfmConvShape *shape, const IfmConvOptions *options);

/* conv_processor_text: (transfer full) one text for each kind of processor: family, model, stepping, microcode, whether it
 * is under a hypervisor, caches; so that no generation takes what another measured.
 * @cpuinfo: /proc/cpuinfo    @cache_bytes: [n_caches] by level; below 1: not known */
char *conv_processor_text(const char *cpuinfo, const gint64 *cache_bytes, gsize n_caches);
G_END_DECLS
