#pragma once
#include <inferometer/onnx.h>

G_BEGIN_DECLS

/** IfmZooParameter: one number (or choice) a zoo model can be built with. */
typedef struct
{
    const char *name; /* "m", "batch" */
    gint64 fallback, least, most;
    const char *help;
} IfmZooParameter;

/** IfmZooEntry: one row of the zoo's table. @parameters: ends with a NULL name. */
typedef struct
{
    const char *name; /* "matmul", "small-cnn" */
    const char *help;
    const IfmZooParameter *parameters;
    /** @values: [parameters], in table order, already checked against least and most. */
    IfmModel *(*build)(const gint64 *values, guint32 seed, GError **error);
} IfmZooEntry;

/** ifm_zoo_entries: Returns: the table, its last row with a NULL name. */
const IfmZooEntry *ifm_zoo_entries(void);
/** ifm_zoo_find: Returns: NULL with IFM_ERROR_INVALID naming the nearest name there is. */
const IfmZooEntry *ifm_zoo_find(const char *name, GError **error);
/**
 * ifm_zoo_build: @settings: "NAME=VALUE", NULL-terminated (or NULL). Same settings and seed, same bytes.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for a parameter unknown (nearest named) or out of its range.
 */
IfmModel *ifm_zoo_build(const char *name, const char *const *settings, guint32 seed, GError **error);

G_END_DECLS
