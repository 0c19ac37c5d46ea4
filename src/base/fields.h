/* Shared with other rooms: tables of fields, and JSON, YAML and CSV by them. */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include <inferometer/options.h>

G_BEGIN_DECLS

/* --- CSV ----------------------------------------------------------------------------------------------------------- */

/**
 * IfmCsv: a table, read from a CSV file into memory. The format is RFC 4180: commas, "quoted" fields with doubled quotes,
 * line breaks inside quotes, CRLF or LF. The first record names the columns. All records have the same number of fields.
 * The last line break is optional.
 */
typedef struct IfmCsv IfmCsv;

/** The maximum size of a file. A larger one is IFM_ERROR_INVALID. */
#define IFM_CSV_MAX_BYTES (256 << 20)

/**
 * ifm_csv_open: Reads a file.
 * Returns: (transfer full) NULL with an error. IFM_ERROR_INVALID, "FILE:LINE: ...": too many or too few fields, a misplaced
 * or unclosed quote, a column without a name or with a name that is taken, or bytes that are not UTF-8.
 * IFM_ERROR_UNAVAILABLE: the file cannot be read.
 */
IfmCsv *ifm_csv_open(const char *path, GError **error);

/** ifm_csv_parse: ifm_csv_open() of a text in memory. @text: [length]    @name: the file name that messages begin with */
IfmCsv *ifm_csv_parse(const char *text, gsize length, const char *name, GError **error);
void ifm_csv_free(IfmCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCsv, ifm_csv_free)

const char *ifm_csv_name(const IfmCsv *csv);
gsize ifm_csv_n_rows(const IfmCsv *csv); /* without the header */

/** ifm_csv_column: The index of a column. Returns: FALSE with IFM_ERROR_INVALID, which names the nearest column. */
gboolean ifm_csv_column(const IfmCsv *csv, const char *name, gsize *column, GError **error);

/** ifm_csv_header: The name of a column, NULL behind the last. */
const char *ifm_csv_header(const IfmCsv *csv, gsize column);

/** ifm_csv_line: The line of the file on which a row begins, counted from 1. */
gsize ifm_csv_line(const IfmCsv *csv, gsize row);

/** ifm_csv_text: A field. (transfer none) "" for an empty field. */
const char *ifm_csv_text(const IfmCsv *csv, gsize row, gsize column);

/** ifm_csv_number: A field as a finite number. The decimal point is "." in every locale.
 * Returns: FALSE with IFM_ERROR_INVALID, "FILE:LINE: ...". */
gboolean ifm_csv_number(const IfmCsv *csv, gsize row, gsize column, double *value, GError **error);

/** ifm_csv_append: A text as a field, in quotes where it needs them. */
void ifm_csv_append(GString *out, const char *text);

/* --- JSON ---------------------------------------------------------------------------------------------------------- */

/** The maximum nesting of a document. A deeper one is refused before any recursion. */
#define IFM_JSON_MAX_DEPTH 64

/* --- documents in and out ------------------------------------------------------------------------------------------ */

/**
 * ifm_json_load: Reads a file.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE:COLUMN: ...": syntax, a duplicate key, bytes that are
 * not UTF-8, an integer beyond 64 bits, or too deep. Or NULL with IFM_ERROR_UNAVAILABLE: no such file, no permission.
 */
json_t *ifm_json_load(const char *path, GError **error);

/** ifm_json_parse: ifm_json_load() of text in memory. @bytes: [n_bytes]    @name: the file name that messages begin with */
json_t *ifm_json_parse(const char *bytes, gsize n_bytes, const char *name, GError **error);

/** ifm_json_canonical: Returns: (transfer full) compact text with sorted keys: equal documents give equal text. */
char *ifm_json_canonical(const json_t *json);

/** ifm_json_digest: Returns: (transfer full) SHA-256 (hex) of the canonical text. */
char *ifm_json_digest(const json_t *json);

/* --- values that JSON cannot express directly ---------------------------------------------------------------------- */

/** ifm_json_string: Returns: (transfer full) a string; "" for NULL. Bytes that are not UTF-8 become U+FFFD. */
json_t *ifm_json_string(const char *text);

/** ifm_json_some_string: The same; null for NULL and "". */
json_t *ifm_json_some_string(const char *text);

/** ifm_json_real: Returns: (transfer full) a number; null for NaN, "inf" or "-inf" for an infinity. */
json_t *ifm_json_real(double value);

/** ifm_json_int64_array: Returns: (transfer full) an array of integers. @values: gint64; NULL gives an empty array */
json_t *ifm_json_int64_array(const GArray *values);

/* --- lenient getters -----------------------------------------------------------------------------------------------------
 *
 * For documents that were checked, or whose members may be missing.
 * @path: member names with points between them: "median_interval.lower"
 */
/** ifm_member: Returns: (transfer none) NULL where there is no such member. */
const json_t *ifm_member(const json_t *json, const char *path);

/** ifm_member_number: NaN where the member is missing or not a number. */
double ifm_member_number(const json_t *json, const char *path);

/** ifm_member_text: (transfer none) NULL where the member is missing or not a string. */
const char *ifm_member_text(const json_t *json, const char *path);

/* --- strict getters -----------------------------------------------------------------------------------------------------
 *
 * Each looks up @key in @object and checks its type. Returns: FALSE with IFM_ERROR_INVALID "WHERE.KEY: found 12, expected a
 * string". A missing key is an error too. Test json_object_get() first where a key is optional.
 * @where: the path of @object for messages, with the file name if there is one    @value: (out) borrowed from @object
 */
gboolean ifm_json_get_string(const json_t *object, const char *where, const char *key, const char **value, GError **error);
gboolean ifm_json_get_boolean(const json_t *object, const char *where, const char *key, gboolean *value, GError **error);
gboolean ifm_json_get_int64(const json_t *object, const char *where, const char *key, gint64 *value, GError **error);

/** ifm_json_get_double: Takes the values that ifm_json_real() writes, and integers. */
gboolean ifm_json_get_double(const json_t *object, const char *where, const char *key, double *value, GError **error);
gboolean ifm_json_get_object(const json_t *object, const char *where, const char *key, json_t **value, GError **error);
gboolean ifm_json_get_array(const json_t *object, const char *where, const char *key, json_t **value, GError **error);

/** ifm_json_check_object: Whether @json is an object whose keys are all among @keys. @keys: NULL-terminated.
 * Returns: FALSE with IFM_ERROR_INVALID. */
gboolean ifm_json_check_object(const json_t *json, const char *where, const char *const *keys, GError **error);

/* --- options ------------------------------------------------------------------------------------------------------- */

/** ifm_option_text: A value as a user would write it. (transfer full) NULL where it is unset. */
char *ifm_option_text(const IfmOption *option, gconstpointer options);

/** ifm_option_is_given: Whether a value is there: of an option that begins unset, whether the user gave it. */
gboolean ifm_option_is_given(const IfmOption *option, gconstpointer options);

/**
 * ifm_options_check: Whether the rows allow all values of a struct. A function that takes a struct calls it first.
 * Returns: FALSE with IFM_ERROR_USAGE and the same line as for that value on the command line.
 */
gboolean ifm_options_check(const IfmOption *table, gconstpointer options, GError **error);

/* --- tables of fields ---------------------------------------------------------------------------------------------- */

/*
 * One table of fields for each struct that is written and read. The table gives the JSON of the struct, the reading of that
 * JSON and of YAML files, the fields that define a case, and the documentation of the file's keys.
 */

/** IfmPlace: where a struct stood in a file, for messages about it. */
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

/** IFM_RECORD_AS: under another name than the member's. */
#define IFM_RECORD_AS(TYPE, STRUCT, member, label)                                                                         \
    .name = (label), .offset = offsetof(STRUCT, member), .type = IFM_RECORD_##TYPE

#define IFM_RECORD(TYPE, STRUCT, member) IFM_RECORD_AS(TYPE, STRUCT, member, #member)

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

/* Records by their field tables. */

/** ifm_record_check: Whether each number with a range is within it, and each choice has a word; parts too. Returns: FALSE
 * with IFM_ERROR_INVALID: "WHERE: name of the field: found 1, expected 2 to 5". */
gboolean ifm_record_check(const void *self, const IfmRecordField *fields, const char *where, GError **error);

/**
 * ifm_record_from_json: Reads all fields.
 * @where: the place of @json for messages: "case"
 * @pool: (optional) for a struct that owns nothing. It receives the lists and paths of the struct; free them with g_free.
 * Texts and JSON are borrowed from @json, which must outlive the struct. NULL: the struct owns its members but for
 * those of NAME, which are borrowed all the same, and ifm_record_init() was called
 * Returns: FALSE with IFM_ERROR_INVALID and the place, for a missing or unknown key or a wrong type.
 */
gboolean ifm_record_from_json(void *self, const IfmRecordField *fields, const json_t *json, const char *where,
                              GPtrArray *pool, GError **error);

/** ifm_record_init: Allocates the members of a zeroed struct that are never NULL. ifm_record_clear: Frees all that the
 * struct owns. ifm_record_free: and the struct, which may be NULL. */
void ifm_record_init(void *self, const IfmRecordField *fields);
void ifm_record_clear(void *self, const IfmRecordField *fields);
void ifm_record_free(void *self, const IfmRecordField *fields);

/** ifm_record_key_to_json: (transfer full) an object of the fields that define a case, by their keys. Words are sorted. */
json_t *ifm_record_key_to_json(const void *self, const IfmRecordField *fields);

/** ifm_record_number: A number or a flag (1, 0) by its name, or within a part ("median_interval.lower"). NaN for another
 * name, or if it is not a number. */
double ifm_record_number(const void *self, const IfmRecordField *fields, const char *path);

/** ifm_record_to_json: (transfer full) an object of all fields, in the order of the table. */
json_t *ifm_record_to_json(const void *self, const IfmRecordField *fields);

/* --- YAML ---------------------------------------------------------------------------------------------------------- */

/*
 * Configuration files in YAML, read by a table of fields (record-fields.h): type, range, meaning and place of every key.
 * Reading, messages and documentation use this one table.
 *
 *     typedef struct { IfmPlace place; char *title; gint64 runs; } Study;
 *     static const IfmRecordField study_fields[] = {
 *         IFM_FIELD(PLACE, Study, place),
 *         IFM_FIELD(STRING, Study, title, .required = TRUE, .help = "..."),
 *         IFM_FIELD(INT64, Study, runs, .min = 1, .max = 1e6, .fallback = "50", .help = "..."),
 *         { 0 } };
 *     Study *study = ifm_yaml_read(study_fields, sizeof(Study), path, &error);
 *     ...  ifm_record_free(study, study_fields);
 *
 * A file is a plain subset of YAML: one document of block or flow style, without anchors, aliases, tags and merge keys. So
 * a small file cannot expand to a large one. A quoted scalar is text, never a number. Of the types of fields a file has
 * STRING, INT64, UINT32 (with a range), DOUBLE, RATIO, FLAG, CHOICE, DURATION, MAP and NAMED, and the lists TEXTS, SERIES,
 * NUMBERS, CHOICES, ROWS and SCALARS.
 */

/** Limits on a file. A file beyond them is IFM_ERROR_INVALID. */
#define IFM_YAML_MAX_BYTES (16 << 20)
#define IFM_YAML_MAX_DEPTH 32
#define IFM_YAML_MAX_NODES 1000000

/**
 * ifm_yaml_read: Reads a file into a new struct of @size bytes.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE: ...": syntax, an unknown key (the nearest one is
 * named), a missing or duplicate key, a wrong type, a value out of range. Or NULL with IFM_ERROR_UNAVAILABLE.
 */
gpointer ifm_yaml_read(const IfmRecordField *fields, gsize size, const char *path, GError **error);

/** ifm_yaml_read_with: The same, with keys of the outermost map replaced or added. @settings: (nullable) NULL-terminated
 * "KEY=VALUE", where VALUE is YAML: "batch=[1, 2]". Their errors begin with "setting: " in place of file and line. */
gpointer ifm_yaml_read_with(const IfmRecordField *fields, gsize size, const char *path, const char *const *settings,
                            GError **error);

/** ifm_yaml_describe: The table as text for documentation, nested keys indented. (transfer full) */
char *ifm_yaml_describe(const IfmRecordField *fields);

/** ifm_yaml_error: Sets IFM_ERROR_INVALID "FILE:LINE: ..." with a place. Returns: FALSE, so that a check can
 * return the call. */
gboolean ifm_yaml_error(const IfmPlace *place, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);

/** ifm_yaml_key_error: The same, "FILE:LINE: KEY: ...", with the line of a key's value; the struct's where the file lacks
 * the key. @entry: of a list; -1: the whole value */
gboolean ifm_yaml_key_error(const IfmPlace *place, const char *key, gssize entry, GError **error, const char *format, ...)
    G_GNUC_PRINTF(5, 6);

/** ifm_yaml_check_once: Whether no value of a key's list stands there twice. @values: gint64; with @words int, each of
 * these Returns: FALSE with the error of ifm_yaml_key_error(). */
gboolean ifm_yaml_check_once(const IfmPlace *place, const char *key, const GArray *values, const char *const *words,
                             GError **error);
/** ifm_yaml_check_texts_once: the same of texts. */
gboolean ifm_yaml_check_texts_once(const IfmPlace *place, const char *key, const GPtrArray *texts, GError **error);

/** ifm_yaml_peek: The scalar under a key of the file's outermost map, for a file that names the table by which it is read.
 * @value: (out) (transfer full) NULL without such a key, or if it is not a scalar    @line: (out) of the value
 * Returns: FALSE if the file cannot be read, with the errors of ifm_yaml_read(). */
gboolean ifm_yaml_peek(const char *path, const char *key, char **value, gsize *line, GError **error);

G_END_DECLS
