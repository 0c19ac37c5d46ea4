#pragma once
#include <base/fields.h>
#include <inferometer/model.h>

G_BEGIN_DECLS

/* The configuration of ifm_export_config(). */

/* ExportConfig: @models: char *    @files: IfmScalar *: a path and the type of its first input    @sizes, @batches:
 * gint64
 * @providers: int, of export_config_providers    @level: of export_config_levels */
typedef struct
{
    IfmPlace place;
    GPtrArray *models, *files;
    GArray *sizes, *batches, *providers;
    int level;
    gint64 seed;
} ExportConfig;

enum
{
    EXPORT_LEVEL_ALL,
    EXPORT_LEVEL_EXTENDED, /* without blocked channels */
};

/* NULL-terminated. */
extern const char *const export_config_providers[], *const export_config_levels[];

/* export_config_read: Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE: …": an unknown model or file, what
 * is listed twice, a size below a model's smallest. */
ExportConfig *export_config_read(const char *path, GError **error);
void export_config_free(ExportConfig *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExportConfig, export_config_free)
/* export_config_path: The path of a file, which is relative to the configuration. (transfer full) */
char *export_config_path(const ExportConfig *self, const IfmScalar *file);
/* export_config_name: The name in "vit,layers=2". (transfer full) */
char *export_config_name(const char *model);
/* export_config_has: Whether a model has a parameter. */
gboolean export_config_has(const IfmZooEntry *entry, const char *parameter);

G_END_DECLS
