#include "yaml-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <string.h>
#include <yaml.h>

/* This parser makes a tree of nodes, with their lines, of the only document of a YAML text; it relies on libyaml. */

typedef struct
{
    yaml_parser_t parser;
    const char *name;
    gsize n_nodes;
} Tree;

void yaml_node_free(YamlNode *node)
{
    if (node == NULL)
        return;
    g_free(node->text);
    g_clear_pointer(&node->keys, g_ptr_array_unref);
    g_clear_pointer(&node->items, g_ptr_array_unref);
    g_free(node);
}

static void set_error(GError **error, const Tree *tree, gsize line, const char *what)
{
    ifm_error_refuse(error, "%s:%zu: %s", tree->name, line, what);
}

static gboolean next_event(Tree *tree, yaml_event_t *event, GError **error)
{
    if (yaml_parser_parse(&tree->parser, event))
        return TRUE;
    /* A reader error (bytes that are not text) has an offset only. libyaml counts lines from 0. */
    const yaml_parser_t *parser = &tree->parser;
    gsize line = parser->problem_mark.line + 1;
    g_autofree char *what =
        g_strdup_printf("%s%s%s", parser->context != NULL ? parser->context : "", parser->context != NULL ? ": " : "",
                        parser->problem != NULL ? parser->problem : "not YAML");
    set_error(error, tree, line, what);
    return FALSE;
}

/* Refuses what lets a small file expand to a large one, or changes the meaning of a scalar. */
static const char *forbidden(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type)
    {
    case YAML_ALIAS_EVENT:
        return "an alias (*name) is not read here: write the value out";
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor, tag = event->data.scalar.tag;
        if (memchr(event->data.scalar.value, '\0', event->data.scalar.length) != NULL)
            return "a text with a NUL character";
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor, tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor, tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor != NULL)
        return "an anchor (&name) is not read here: write the value out where it is needed";
    return tag != NULL ? "a tag (!name) is not read here" : NULL;
}

static YamlNode *node_new(Tree *tree, const yaml_event_t *event)
{
    YamlNode *node = g_new0(YamlNode, 1);
    node->line = event->start_mark.line + 1;
    tree->n_nodes++;
    if (event->type == YAML_SCALAR_EVENT)
    {
        node->kind = YAML_SCALAR;
        node->text = g_strndup((const char *)event->data.scalar.value, event->data.scalar.length);
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return node;
    }
    node->kind = event->type == YAML_MAPPING_START_EVENT ? YAML_MAPPING : YAML_SEQUENCE;
    node->items = g_ptr_array_new_with_free_func((GDestroyNotify)yaml_node_free);
    if (node->kind == YAML_MAPPING)
        node->keys = g_ptr_array_new_with_free_func((GDestroyNotify)yaml_node_free);
    return node;
}

static gboolean check_key(const Tree *tree, const YamlNode *mapping, const YamlNode *key, GHashTable *seen, GError **error)
{
    if (key->kind != YAML_SCALAR)
    {
        set_error(error, tree, key->line, "a list or map where a key belongs");
        return FALSE;
    }
    gpointer before;
    if (g_hash_table_lookup_extended(seen, key->text, NULL, &before))
    {
        g_autofree char *what =
            g_strdup_printf("key \"%s\" is given twice, first on line %zu", key->text, (gsize)GPOINTER_TO_SIZE(before));
        set_error(error, tree, key->line, what);
        return FALSE;
    }
    g_hash_table_insert(seen, key->text, GSIZE_TO_POINTER(key->line));
    return TRUE;
}

static YamlNode *parse_node(Tree *tree, yaml_event_t *first, int depth, GError **error);

/* The children of a sequence or mapping. Its start event was read. */
static gboolean parse_children(Tree *tree, YamlNode *node, int depth, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean key_next = node->kind == YAML_MAPPING;
    for (;;)
    {
        yaml_event_t event;
        if (!next_event(tree, &event, error))
            return FALSE;
        if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
        {
            yaml_event_delete(&event);
            return TRUE;
        }
        YamlNode *child = parse_node(tree, &event, depth, error); /* takes the event */
        if (child == NULL)
            return FALSE;
        g_ptr_array_add(key_next ? node->keys : node->items, child);
        if (key_next && !check_key(tree, node, child, seen, error))
            return FALSE;
        key_next = node->kind == YAML_MAPPING && !key_next;
    }
}

static YamlNode *parse_node(Tree *tree, yaml_event_t *first, int depth, GError **error)
{
    const char *why = forbidden(first);
    if (why == NULL && depth >= IFM_YAML_MAX_DEPTH)
        why = "nested too deep: at most " G_STRINGIFY(IFM_YAML_MAX_DEPTH) " levels are read";
    if (why == NULL && tree->n_nodes >= IFM_YAML_MAX_NODES)
        why = "too many values: at most " G_STRINGIFY(IFM_YAML_MAX_NODES) " are read";
    if (why != NULL)
    {
        set_error(error, tree, first->start_mark.line + 1, why);
        yaml_event_delete(first);
        return NULL;
    }
    g_autoptr(YamlNode) node = node_new(tree, first);
    yaml_event_delete(first);
    if (node->kind != YAML_SCALAR && !parse_children(tree, node, depth + 1, error))
        return NULL;
    return g_steal_pointer(&node);
}

/* The only document of the stream. */
static YamlNode *parse_stream(Tree *tree, GError **error)
{
    g_autoptr(YamlNode) root = NULL;
    for (;;)
    {
        yaml_event_t event;
        if (!next_event(tree, &event, error))
            return NULL;
        yaml_event_type_t type = event.type;
        gsize line = event.start_mark.line + 1;
        if (type == YAML_STREAM_START_EVENT || type == YAML_STREAM_END_EVENT || type == YAML_DOCUMENT_START_EVENT ||
            type == YAML_DOCUMENT_END_EVENT)
        {
            yaml_event_delete(&event);
            if (type == YAML_DOCUMENT_START_EVENT && root != NULL)
            {
                set_error(error, tree, line, "a second document (---) begins; one file holds one");
                return NULL;
            }
            if (type != YAML_STREAM_END_EVENT)
                continue;
            if (root == NULL)
                set_error(error, tree, line, "the file is empty");
            return g_steal_pointer(&root);
        }
        root = parse_node(tree, &event, 0, error);
        if (root == NULL)
            return NULL;
    }
}

YamlNode *yaml_tree_parse(const char *text, gsize length, const char *name, GError **error)
{
    Tree tree = { .name = name };
    if (length > IFM_YAML_MAX_BYTES)
    {
        set_error(error, &tree, 1, "larger than 16 MiB");
        return NULL;
    }
    if (!yaml_parser_initialize(&tree.parser))
    {
        ifm_error_set(error, IFM_ERROR_MEMORY, "%s: no memory for the YAML parser", name);
        return NULL;
    }
    yaml_parser_set_input_string(&tree.parser, (const unsigned char *)text, length);
    YamlNode *root = parse_stream(&tree, error);
    yaml_parser_delete(&tree.parser);
    return root;
}
