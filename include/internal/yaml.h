#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/*
 * Configuration files in YAML, read by a table. A table of fields gives the type, range and meaning of every key, and the
 * place of its value in a C struct. Reading, messages and documentation use this one table.
 *
 *     typedef struct { IfmYamlRecord record; char *title; gint64 runs; } Study;
 *     static const IfmYamlField study_fields[] = {
 *         { .key = "title", .type = IFM_YAML_STRING, .offset = offsetof(Study, title), .required = TRUE, .help = "..." },
 *         { .key = "runs", .type = IFM_YAML_INT, .offset = offsetof(Study, runs), .min = 1, .max = 1e6,
 *           .fallback = "50", .help = "..." },
 *         { 0 } };
 *     static const IfmYamlTable study_table = { study_fields, sizeof(Study) };
 *     Study *study = ifm_yaml_read(&study_table, path, &error);  ...  ifm_yaml_free(&study_table, study);
 *
 * A file is a plain subset of YAML: one document of block or flow style, without anchors, aliases, tags and merge keys. So
 * a small file cannot expand to a large one. A quoted scalar is text, never a number.
 */

/** Limits on a file. A file beyond them is IFM_ERROR_INVALID. */
#define IFM_YAML_MAX_BYTES (16 << 20)
#define IFM_YAML_MAX_DEPTH 32
#define IFM_YAML_MAX_NODES 1000000

/** IfmYamlType: the type of a value, and the C type that stores it. */
typedef enum
{
    IFM_YAML_STRING,   /* char * */
    IFM_YAML_INT,      /* gint64; "1e6" and "1_000" are refused */
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

/** IfmYamlRecord: the first member of every struct that a table fills, for messages. */
typedef struct
{
    const char *file; /* interned */
    gsize line;
    char *name;        /* its key in an IFM_YAML_NAMED map, else NULL */
    GHashTable *lines; /* const char *key -> GArray of gsize: the line of its value, then those of a list's entries */
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
    const char *old_key; /* another name that files may have; NULL: none */
    IfmYamlType type, element;
    gsize offset; /* offsetof() in the record */
    gboolean required;
    gboolean percent;          /* for a DOUBLE: "1 %" means 0.01 */
    gboolean filled;           /* for a list: it has an entry where its key is given */
    double min, max;           /* range of a number (a duration in ns), also in a list; of any other list, range of its
                                     length; 0, 0: no limit */
    const char *const *words;  /* for an ENUM, NULL-terminated */
    const IfmYamlTable *table; /* for a MAP, or for elements that are maps */
    const char *fallback;      /* the default of a scalar, as written in a file; NULL: NULL, 0 or FALSE */
    const char *help;          /* one sentence */
} IfmYamlField;

struct IfmYamlTable
{
    const IfmYamlField *fields; /* ends with a NULL key */
    gsize size;                 /* of the record */
};

/**
 * ifm_yaml_read: Reads a file into a record.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE: ...": syntax, an unknown key (the nearest one is
 * named), a missing or duplicate key, a wrong type, a value out of range. Or NULL with IFM_ERROR_UNAVAILABLE.
 */
gpointer ifm_yaml_read(const IfmYamlTable *table, const char *path, GError **error);
/** ifm_yaml_read_with: The same, with keys of the outermost map replaced or added. @settings: (nullable) NULL-terminated
 * "KEY=VALUE", where VALUE is YAML: "batch=[1, 2]". Their errors begin with "setting: " in place of file and line. */
gpointer ifm_yaml_read_with(const IfmYamlTable *table, const char *path, const char *const *settings, GError **error);
/** ifm_yaml_free: Frees a record and everything in it. */
void ifm_yaml_free(const IfmYamlTable *table, gpointer record);

/** ifm_yaml_describe: The table as text for documentation, nested keys indented. (transfer full) */
char *ifm_yaml_describe(const IfmYamlTable *table);

/** ifm_yaml_error: Sets IFM_ERROR_INVALID "FILE:LINE: ..." with the place of a record. Returns: FALSE, so that a check can
 * return the call. */
gboolean ifm_yaml_error(const IfmYamlRecord *record, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
/** ifm_yaml_key_error: The same, "FILE:LINE: KEY: ...", with the line of a key's value; the record's where the file lacks
 * the key. @entry: of a list; -1: the whole value */
gboolean ifm_yaml_key_error(const IfmYamlRecord *record, const char *key, gssize entry, GError **error, const char *format,
                            ...) G_GNUC_PRINTF(5, 6);

/** ifm_yaml_peek: The scalar under a key of the file's outermost map, for a file that names the table by which it is read.
 * @value: (out) (transfer full) NULL without such a key, or if it is not a scalar    @line: (out) of the value
 * Returns: FALSE if the file cannot be read, with the errors of ifm_yaml_read(). */
gboolean ifm_yaml_peek(const char *path, const char *key, char **value, gsize *line, GError **error);

G_END_DECLS
