#pragma once
#include <inferometer/yaml.h>

/* What yaml-tree.c parses and yaml.c reads: a file as nodes that know their lines. */

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
