#pragma once
#include <inferometer/zoo.h>
#include <internal/yaml.h>

G_BEGIN_DECLS

/* The configuration of zoo export --config. */

/* ZooConfig: @models: char *    @files: IfmYamlScalar *: a path and the type of its first input    @sizes, @batches: gint64
 * @providers: int, of zoo_config_providers    @level: of zoo_config_levels */
typedef struct
{
    IfmYamlRecord record;
    GPtrArray *models, *files;
    GArray *sizes, *batches, *providers;
    int level;
    gint64 seed;
} ZooConfig;

enum
{
    ZOO_LEVEL_ALL,
    ZOO_LEVEL_EXTENDED, /* without blocked channels */
};

/* NULL-terminated. */
extern const char *const zoo_config_providers[], *const zoo_config_levels[];

/* zoo_config_read: Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE: …": an unknown model or file, what is
 * listed twice, a size below a model's smallest. */
ZooConfig *zoo_config_read(const char *path, GError **error);
void zoo_config_free(ZooConfig *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ZooConfig, zoo_config_free)
/* zoo_config_path: The path of a file, which is relative to the configuration. (transfer full) */
char *zoo_config_path(const ZooConfig *self, const IfmYamlScalar *file);
/* zoo_config_name: The name in "vit,layers=2". (transfer full) */
char *zoo_config_name(const char *model);
/* zoo_config_has: Whether a model has a parameter. */
gboolean zoo_config_has(const IfmZooEntry *entry, const char *parameter);

G_END_DECLS
