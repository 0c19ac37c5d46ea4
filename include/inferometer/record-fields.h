/* room: base */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * One table of fields for each struct that is written and read. The table gives the JSON of the struct, the reading of that
 * JSON and of YAML files, the fields that define a case, and the documentation of the file's keys.
 */

/** IfmPlace: where a struct stood in a file, for messages about it (internal/yaml.h). */
typedef struct
{
    const char *file; /* interned */
    gsize line;
    char *name;        /* its key, where it is one of NAMED; else NULL */
    GHashTable *lines; /* const char *key -> GArray of gsize: the line of its value, then those of a list's entries */
} IfmPlace;

/** IfmScalar: one of the values of SCALARS. */
typedef struct
{
    IfmPlace place;
    char *text;     /* as written */
    gint64 integer; /* INT64, DURATION */
    double number;  /* INT64, DOUBLE, DURATION */
} IfmScalar;

typedef enum
{
    IFM_RECORD_TEXT,   /* char *: owned by the struct, never NULL */
    IFM_RECORD_NAME,   /* const char *: NULL is written as null */
    IFM_RECORD_PATH,   /* const char *: as NAME, of bytes that need not be UTF-8 */
    IFM_RECORD_WORDS,  /* const char *const *: NULL-terminated; NULL is written as an empty list */
    IFM_RECORD_FLAG,   /* gboolean */
    IFM_RECORD_INT,    /* int */
    IFM_RECORD_INT64,  /* gint64 */
    IFM_RECORD_UINT32, /* guint32 */
    IFM_RECORD_SIZE,   /* gsize; a negative number is read as 0 */
    IFM_RECORD_DOUBLE, /* double; -0 is written as 0 */
    IFM_RECORD_DTYPE,  /* IfmDtype, by its name */
    IFM_RECORD_CHOICE, /* an enumeration, by one of @words */
    IFM_RECORD_JSON,   /* json_t *: an object; NULL is written as null */
    IFM_RECORD_JSONS,  /* const json_t *const *: [@count] */
    IFM_RECORD_TEXTS,  /* GPtrArray * of char *: owned by the struct, never NULL */
    IFM_RECORD_SERIES, /* GArray * of gint64: owned by the struct, never NULL */
    IFM_RECORD_PART,   /* a nested struct with @fields */
    IFM_RECORD_MAYBE,  /* as PART where the gboolean at @count is TRUE; else null */
    IFM_RECORD_PARTS,  /* const STRUCT *: [@count], each with @fields and of @size; never NULL */
    IFM_RECORD_ROWS,   /* GPtrArray * of pointers to such structs: owned by the struct, never NULL; @free frees one, or its
                          table does */
    /* in files of YAML alone */
    IFM_RECORD_PLACE,    /* IfmPlace: no key; the first row of a table that has one */
    IFM_RECORD_STRING,   /* char *: owned by the struct; NULL where the key is missing */
    IFM_RECORD_DURATION, /* gint64, ns: "1.5 ms" */
    IFM_RECORD_RATIO,    /* double: 0.01 or 1% */
    IFM_RECORD_NUMBERS,  /* GArray * of double: owned by the struct, never NULL */
    IFM_RECORD_CHOICES,  /* GArray * of int, each as CHOICE: owned by the struct, never NULL */
    IFM_RECORD_MAP,      /* STRUCT *: owned by the struct; NULL where the key is missing */
    IFM_RECORD_NAMED, /* GPtrArray * of such structs, each under a name of its own: in the order of the file, never NULL */
    IFM_RECORD_SCALARS, /* GPtrArray * of IfmScalar *, of type @element, each under a name of its own; never NULL */
} IfmRecordType;

/**
 * IfmRecordField: one field. A table ends with a row without a name. A row begins with IFM_RECORD(TYPE, STRUCT, member),
 * which sets @name, @offset and @type; IFM_FIELD(TYPE, STRUCT, member, ...) is a whole row.
 */
typedef struct IfmRecordField IfmRecordField;
struct IfmRecordField
{
    const char *name; /* in JSON and YAML */
    gsize offset;
    IfmRecordType type;
    gsize count; /* offset of a gsize; for MAYBE of a gboolean */
    const IfmRecordField *fields;
    gsize size;
    GDestroyNotify free;
    const char *const *words; /* NULL-terminated */
    gboolean optional;        /* may be missing in JSON: the member stays unchanged */
    /* the name of the field in the key of a case; NULL: it is not part of the key. @counts: (optional) whether it is part
     * of the key of this struct; @unless_zero: it is left out of the key where it is 0, FALSE, NULL or an empty list */
    const char *key;
    gboolean (*counts)(const void *self);
    gboolean unless_zero;
    /* its name in messages of ifm_record_check(), and its range; NULL: any number is valid. Of a file, also the range of
     * the numbers in a list (ns of durations) and of the length of any other list; 0, 0: no limit */
    const char *called;
    double min, max;
    /* of files of YAML: @filled: a list has an entry where its key is given    @fallback: the default of a scalar, as
     * written in a file; NULL: NULL, 0 or FALSE    @help: one sentence */
    IfmRecordType element;
    gboolean required, filled;
    const char *fallback, *help;
};

#define IFM_RECORD(TYPE, STRUCT, member) IFM_RECORD_AS(TYPE, STRUCT, member, #member)
/** IFM_RECORD_AS: under another name than the member's. */
#define IFM_RECORD_AS(TYPE, STRUCT, member, label)                                                                         \
    .name = (label), .offset = offsetof(STRUCT, member), .type = IFM_RECORD_##TYPE
/** IFM_FIELD: A whole row, with what else there is to say of the field. IFM_FIELD_AS: under another name. */
#define IFM_FIELD(TYPE, STRUCT, member, ...)                                                                               \
    {                                                                                                                      \
        IFM_RECORD(TYPE, STRUCT, member), __VA_ARGS__                                                                      \
    }
#define IFM_FIELD_AS(TYPE, STRUCT, member, label, ...)                                                                     \
    {                                                                                                                      \
        IFM_RECORD_AS(TYPE, STRUCT, member, label), __VA_ARGS__                                                            \
    }
/** IFM_FIELDS_OF: the table and the size of a nested struct. */
#define IFM_FIELDS_OF(table, STRUCT) .fields = (table), .size = sizeof(STRUCT)

IFM_END_DECLS
