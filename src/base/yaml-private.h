#pragma once
#include <inferometer/common.h>

/** ifm_yaml_parse: ifm_yaml_read() of a text in memory. @text: [length]    @name: the file name that messages begin with */
gpointer ifm_yaml_parse(const IfmRecordField *fields, gsize size, const char *text, gsize length, const char *name,
                        GError **error);

/* --- yaml-tree.c: the parsed file, a tree of nodes with their lines ------------------------------------------------------
 */

typedef enum
{
    YAML_SCALAR,
    YAML_SEQUENCE,
    YAML_MAPPING,
} YamlKind;

typedef struct
{
    YamlKind kind;
    gsize line;
    char *text;       /* scalar */
    gboolean quoted;  /* scalar: written in quotes or as a block: text, whatever it looks like */
    GPtrArray *keys;  /* mapping: YamlNode *, scalars */
    GPtrArray *items; /* sequence, mapping: YamlNode * */
} YamlNode;

/* yaml_tree_parse: Returns: (transfer full) NULL with an error that begins with "NAME:LINE: ". */
YamlNode *yaml_tree_parse(const char *text, gsize length, const char *name, GError **error);
void yaml_node_free(YamlNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(YamlNode, yaml_node_free)
