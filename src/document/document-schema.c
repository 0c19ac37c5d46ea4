#include <string.h>

#include <base/fields.h>

#include "document-private.h"
#include "summary.h"

/* The JSON Schema of a document. Whoever changes what document-export.c or summary.c writes changes a row here: the tests
 * of each verb refuse keys that have none. */

#define DRAFT "https://json-schema.org/draft/2020-12/schema"

/* SchemaKey: a key of an object.
 * @of: the object    @type: "text", "flag", "integer", "number"; "real": a number, "inf", "-inf" or null; "=WORD": that
 * word alone; "/NAME": a word of that list;
 * "[TYPE]": a list; "{TYPE}": any keys; "TYPE?": or null; else an object of this table    @help: NULL: the key says it
 * @optional: it may be missing */
typedef struct
{
    const char *of, *key, *type, *help;
    gboolean optional;
} SchemaKey;

static const SchemaKey keys[] = {
    { "document", "inferometer", "format", "what wrote it" },
    { "document", "of", "text", "the kind of result: kernels, study, trace, …" },
    { "document", "title", "text" },
    { "document", "devices", "[text]", "names that have one colour all over the page, in order" },
    { "document", "summary", "summary?", "what the terminal says first; null where there is no verdict" },
    { "document", "sections", "[section]" },
    { "format", "version", "text", "of the program" },
    { "format", "format", "=document" },
    { "format", "format_version", "integer" },

    { "summary", "subject", "text?", "what was measured, one line" },
    { "summary", "verdict", "text", "one sentence" },
    { "summary", "detail", "text?", "its figures with their interval" },
    { "summary", "estimate", "estimate?" },
    { "summary", "trust", "trust" },
    { "summary", "next", "[step]", "what to do, the first one first" },
    { "summary", "provenance", "provenance", "how it was measured" },
    { "summary", "tiles", "[tile]", "key figures" },
    { "estimate", "value", "real" },
    { "estimate", "lower", "real" },
    { "estimate", "upper", "real" },
    { "estimate", "reference", "real", "where nothing differs" },
    { "estimate", "unit", "text" },
    { "trust", "level", "/level", "the worst of the checks; never unchecked" },
    { "trust", "words", "text" },
    { "trust", "why", "text?" },
    { "trust", "checks", "[check]" },
    { "check", "level", "/level", "unchecked: it could not be made" },
    { "check", "text", "text?" },
    { "step", "text", "text?" },
    { "step", "gain", "text?", "what it is expected to bring" },
    { "step", "command", "text?", "to copy" },
    { "provenance", "command", "text?", "what was typed" },
    { "provenance", "facts", "{text}", "when, CPU, cores, load, runtimes, dtype, threads, seed, measurements" },
    { "tile", "label", "text?" },
    { "tile", "value", "text?" },
    { "tile", "range", "text?", "its interval, or what it is of" },
    { "tile", "device", "text?", "whose it is" },

    { "section", "title", "text?", "null: it continues the section before" },
    { "section", "rest", "text?", "text after the title" },
    { "section", "level", "integer", "0: a result, 1: a part, 2: a part of that" },
    { "section", "question", "text?", "what heads it on a page" },
    { "section", "answer", "text?", "one or two sentences that answer it" },
    { "section", "blocks", "[block]" },

    { "text block", "kind", "=text" },
    { "text block", "key", "text", NULL, TRUE },
    { "text block", "text", "text" },
    { "note block", "kind", "=note" },
    { "note block", "key", "text", NULL, TRUE },
    { "note block", "head", "text" },
    { "note block", "tone", "/tone" },
    { "note block", "text", "text" },
    { "facts block", "kind", "=facts" },
    { "facts block", "key", "text", NULL, TRUE },
    { "facts block", "facts", "[fact]" },
    { "fact", "name", "text", "empty: it continues the fact before" },
    { "fact", "text", "text" },
    { "table block", "kind", "=table" },
    { "table block", "key", "text", "unique in the document" },
    { "table block", "columns", "[column]" },
    { "table block", "rows", "[row]", "with the keys of the columns" },
    { "table block", "marks", "[mark]", "cells whose precision missed the aim, or is unknown" },
    { "column", "key", "text" },
    { "column", "title", "text?" },
    { "column", "unit", "/unit", "of its values; empty: they have none" },
    { "mark", "row", "integer", "from 0" },
    { "mark", "column", "text" },
    { "mark", "mark", "/mark" },
    { "figure block", "kind", "=figure" },
    { "figure block", "key", "text", "unique in the document" },
    { "figure block", "figure", "/figure" },
    { "figure block", "title", "text?" },
    { "figure block", "sentence", "text?" },
    { "figure block", "x", "axis" },
    { "figure block", "y", "axis" },
    { "figure block", "series", "[series]" },
    { "axis", "title", "text?" },
    { "axis", "unit", "text" },
    { "axis", "logarithmic", "flag" },
    { "axis", "categories", "[text]", NULL, TRUE },
    { "series", "name", "text?" },
    { "series", "group", "text?" },
    { "series", "tone", "/tone" },
    { "series", "points", "[point]" },
};

/* --- words ------------------------------------------------------------------------------------------------------------ */

static const char *word_of(const char *list, int i)
{
    if (g_str_equal(list, "tone"))
        return i <= IFM_TONE_DIM ? ifm_tone_name((IfmTone)i) : NULL;
    if (g_str_equal(list, "mark"))
        return i < IFM_MARK_UNKNOWN ? ifm_mark_name((IfmMark)(i + 1)) : NULL;
    if (g_str_equal(list, "level"))
        return i <= IFM_TRUST_BAD ? ifm_trust_name((IfmTrust)i) : NULL;
    if (g_str_equal(list, "figure"))
        return i <= IFM_FIGURE_ICICLE ? ifm_figure_kind_name((IfmFigureKind)i) : NULL;
    return i <= IFM_FIELD_INTERVAL ? ifm_field_unit((IfmFieldKind)i) : NULL; /* unit */
}

static json_t *words_to_json(const char *list)
{
    json_t *words = json_array();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const char *word;
    for (int i = 0; (word = word_of(list, i)) != NULL; i++)
        if (g_hash_table_add(seen, (gpointer)word))
            json_array_append_new(words, json_string(word));
    return words;
}

/* --- types ------------------------------------------------------------------------------------------------------------ */

static json_t *type_to_json(const char *type);

/* "[section]", "{text}" */
static json_t *many_to_json(const char *type)
{
    g_autofree char *one = g_strndup(type + 1, strlen(type) - 2);
    return *type == '[' ? json_pack("{s:s, s:o}", "type", "array", "items", type_to_json(one))
                        : json_pack("{s:s, s:o}", "type", "object", "additionalProperties", type_to_json(one));
}

static json_t *type_to_json(const char *type)
{
    static const char *const simple[][2] = {
        { "text", "string" }, { "flag", "boolean" }, { "integer", "integer" }, { "number", "number" }
    };
    if (g_str_has_suffix(type, "?"))
    {
        g_autofree char *one = g_strndup(type, strlen(type) - 1);
        return json_pack("{s:[o, {s:s}]}", "anyOf", type_to_json(one), "type", "null");
    }
    if (*type == '[' || *type == '{')
        return many_to_json(type);
    if (*type == '=')
        return json_pack("{s:s}", "const", type + 1);
    if (*type == '/')
        return json_pack("{s:o}", "enum", words_to_json(type + 1));
    if (g_str_equal(type, "real"))
        return json_pack("{s:[{s:[s, s]}, {s:[s, s]}]}", "anyOf", "type", "number", "null", "enum", "inf", "-inf");
    for (gsize i = 0; i < G_N_ELEMENTS(simple); i++)
        if (g_str_equal(type, simple[i][0]))
            return json_pack("{s:s}", "type", simple[i][1]);
    g_autofree char *place = g_strconcat("#/$defs/", type, NULL);
    return json_pack("{s:s}", "$ref", place);
}

/* --- objects ---------------------------------------------------------------------------------------------------------- */

/* The object of that name, which has no key yet, or those it has. (transfer none) */
static json_t *object_of(json_t *objects, const char *name)
{
    json_t *object = json_object_get(objects, name);
    if (object == NULL)
        json_object_set_new(objects, name,
                            object = json_pack("{s:s, s:{}, s:[], s:b}", "type", "object", "properties", "required",
                                               "additionalProperties", FALSE));
    return object;
}

static void add_key(json_t *objects, const SchemaKey *key)
{
    json_t *object = object_of(objects, key->of), *type = type_to_json(key->type);
    if (key->help != NULL)
        json_object_set_new(type, "description", json_string(key->help));
    json_object_set_new(json_object_get(object, "properties"), key->key, type);
    if (!key->optional)
        json_array_append_new(json_object_get(object, "required"), json_string(key->key));
}

/* A point's keys are those of its row as CSV but for its series; what it has not is missing. */
static void add_point(json_t *objects)
{
    for (const IfmField *field = ifm_point_fields + POINT_KEYS; field->key != NULL; field++)
        add_key(objects, &(SchemaKey){ "point", field->key,
                                       g_str_equal(field->key, "mark") ? "/mark"
                                       : field->kind == IFM_FIELD_TEXT ? "text"
                                                                       : "number",
                                       .optional = TRUE });
}

/* A cell is one value, or five of an interval. */
static void add_rows(json_t *objects)
{
    static const char *const marks[] = { "min", "lower", "median", "upper", "max" };
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        add_key(objects, &(SchemaKey){ "interval", marks[i], "number?" });
    json_object_set_new(objects, "row",
                        json_pack("{s:s, s:{s:[{s:[s, s, s, s]}, {s:s}]}}", "type", "object", "additionalProperties",
                                  "anyOf", "type", "null", "boolean", "number", "string", "$ref", "#/$defs/interval"));
}

static void add_block(json_t *objects)
{
    json_t *kinds = json_array();
    const char *name;
    json_t *object;
    json_object_foreach(objects, name, object) if (g_str_has_suffix(name, " block"))
        json_array_append_new(kinds, type_to_json(name));
    json_object_set_new(objects, "block", json_pack("{s:o}", "anyOf", kinds));
}

json_t *ifm_document_schema(void)
{
    json_t *objects = json_object();
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
        add_key(objects, &keys[i]);
    add_point(objects);
    add_rows(objects);
    add_block(objects);
    return json_pack("{s:s, s:s, s:s, s:o}", "$schema", DRAFT, "title", "What inferometer --document writes", "$ref",
                     "#/$defs/document", "$defs", objects);
}
