#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/*
 * Configuration files: YAML, read by a table. A table of fields says for every key its type, its range, where in a C
 * struct the value goes and what it means; reading, the messages and the documentation come from that one table.
 *
 *     typedef struct { IfmYamlRecord record; char *title; gint64 runs; } Study;
 *     static const IfmYamlField study_fields[] = {
 *         { .key = "title", .type = IFM_YAML_STRING, .offset = offsetof(Study, title), .required = TRUE, .help = "..." },
 *         { .key = "runs", .type = IFM_YAML_INT, .offset = offsetof(Study, runs), .least = 1, .most = 1e6,
 *           .fallback = "50", .help = "..." },
 *         { 0 } };
 *     static const IfmYamlTable study_table = { study_fields, sizeof(Study) };
 *     Study *study = ifm_yaml_read(&study_table, path, &error);  ...  ifm_yaml_free(&study_table, study);
 *
 * What is read is a plain subset: one document of block or flow style; no anchors, aliases, tags or merge keys (so a small
 * file cannot stand for a large one). A quoted scalar is text, never a number.
 */

/** What is read at most; more is IFM_ERROR_INVALID. */
#define IFM_YAML_MAX_BYTES (16 << 20)
#define IFM_YAML_MAX_DEPTH 32
#define IFM_YAML_MAX_NODES 1000000

/** IfmYamlType: of a value, and the C type it is stored as. */
typedef enum
{
    IFM_YAML_STRING,   /* char * */
    IFM_YAML_INT,      /* gint64; "1e6" and "1_000" are none */
    IFM_YAML_DOUBLE,   /* double, finite */
    IFM_YAML_BOOL,     /* gboolean: true, false */
    IFM_YAML_ENUM,     /* int: index of the word in .words */
    IFM_YAML_DURATION, /* gint64 ns: a number and ns, us, ms, s, min or h ("1.5 ms") */
    IFM_YAML_MAP,      /* a record of .table, allocated; NULL where the key is missing */
    IFM_YAML_LIST,  /* of .element: strings: GPtrArray of char *; maps: GPtrArray of records; BOOL and ENUM: GArray of int;
                       INT and DURATION: GArray of gint64; DOUBLE: GArray of double. Never NULL */
    IFM_YAML_NAMED, /* a map with free keys to values of .element: MAP: GPtrArray of records; STRING, INT, DOUBLE and
                       DURATION: GPtrArray of IfmYamlScalar *. In the order of the file, each under its name. Never NULL */
} IfmYamlType;

/** IfmYamlRecord: the first member of every struct that a table fills; for messages about it. */
typedef struct
{
    const char *file; /* interned */
    gsize line;
    char *name; /* its key in an IFM_YAML_NAMED map, else NULL */
} IfmYamlRecord;

/** IfmYamlScalar: one value of an IFM_YAML_NAMED map of scalars. */
typedef struct
{
    IfmYamlRecord record;
    char *text;     /* as written */
    gint64 integer; /* INT, DURATION */
    double number;  /* INT, DOUBLE, DURATION */
} IfmYamlScalar;

typedef struct IfmYamlTable IfmYamlTable;

typedef struct
{
    const char *key;
    IfmYamlType type, element;
    gsize offset; /* offsetof() in the record */
    gboolean required;
    gboolean percent;   /* of a DOUBLE: "1 %" is 0.01, too */
    gboolean filled;    /* of a list: where its key stands, it has an entry */
    double least, most; /* of a number (a duration's in ns), also in a list; of the count of any other list; 0, 0: any */
    const char *const *words;  /* of an ENUM, NULL-terminated */
    const IfmYamlTable *table; /* of a MAP or of its elements */
    const char *fallback;      /* a scalar's default, as it would be written; NULL: NULL, 0 or FALSE */
    const char *help;          /* one sentence */
} IfmYamlField;

struct IfmYamlTable
{
    const IfmYamlField *fields; /* ends with a NULL key */
    gsize size;                 /* of the record */
};

/**
 * ifm_yaml_read: Reads a file into a record.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID: "FILE:LINE: " and what is wrong (syntax, unknown key with the
 * nearest one, missing key, key given twice, wrong type, out of range), or IFM_ERROR_UNAVAILABLE.
 */
gpointer ifm_yaml_read(const IfmYamlTable *table, const char *path, GError **error);
/** ifm_yaml_parse: The same from memory. @name: what messages call it. */
gpointer ifm_yaml_parse(const IfmYamlTable *table, const char *text, gsize length, const char *name, GError **error);
/** ifm_yaml_free: Frees a record and all below it. */
void ifm_yaml_free(const IfmYamlTable *table, gpointer record);

/** ifm_yaml_describe: The table as text for documentation, nested keys indented. (transfer full) */
char *ifm_yaml_describe(const IfmYamlTable *table);

/** ifm_yaml_error: Sets IFM_ERROR_INVALID "FILE:LINE: ..." at a record. Returns: FALSE, for `return ifm_yaml_error(...)`.
 */
gboolean ifm_yaml_error(const IfmYamlRecord *record, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

/** ifm_duration_parse: "1.5 ms". Returns: FALSE where it is none (a sign, no unit, or beyond the range of gint64). */
gboolean ifm_duration_parse(const char *text, gint64 *ns);

G_END_DECLS
