#pragma once
#include <jansson.h>
#include <stddef.h>

#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * One table of fields for each struct that is written and read. The table gives the JSON of the struct, the reading of that
 * JSON, and the fields that define a case.
 */

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
    IFM_RECORD_ROWS,   /* GPtrArray * of pointers to such structs: owned by the struct, never NULL; @free frees one */
} IfmRecordType;

/**
 * IfmRecordField: one field. A table ends with a row without a name. A row begins with IFM_RECORD(TYPE, STRUCT, member),
 * which sets @name, @offset and @type.
 */
typedef struct IfmRecordField IfmRecordField;
struct IfmRecordField
{
    const char *name; /* in JSON */
    gsize offset;
    IfmRecordType type;
    gsize count; /* offset of a gsize; for MAYBE of a gboolean */
    const IfmRecordField *fields;
    gsize size;
    GDestroyNotify free;
    const char *const *words; /* [n_words] */
    gsize n_words;
    gboolean optional; /* may be missing in JSON: the member stays unchanged */
    /* the name of the field in the key of a case; NULL: it is not part of the key. @counts: (optional) whether it is part
     * of the key of this struct; @unless_zero: it is left out of the key where it is 0, FALSE, NULL or an empty list */
    const char *key;
    gboolean (*counts)(const void *self);
    gboolean unless_zero;
    /* its name in messages of ifm_record_check(), and its range; NULL: any number is valid */
    const char *called;
    gint64 min, max;
};

#define IFM_RECORD(TYPE, STRUCT, member) IFM_RECORD_AS(TYPE, STRUCT, member, #member)
/** IFM_RECORD_AS: under another name than the member's. */
#define IFM_RECORD_AS(TYPE, STRUCT, member, label)                                                                         \
    .name = (label), .offset = offsetof(STRUCT, member), .type = IFM_RECORD_##TYPE

IFM_END_DECLS
