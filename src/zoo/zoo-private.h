#pragma once
#include <inferometer/zoo.h>

G_BEGIN_DECLS

#define IFM_ZOO_MAX_PARAMETERS 16
#define IFM_ZOO_OPSET 17
#define IFM_ZOO_NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

extern const IfmZooParameter ifm_zoo_matmul_parameters[];
IfmModel *ifm_zoo_matmul_build(const gint64 *values, guint32 seed, GError **error);

extern const IfmZooParameter ifm_zoo_small_cnn_parameters[];
IfmModel *ifm_zoo_small_cnn_build(const gint64 *values, guint32 seed, GError **error);

G_END_DECLS
