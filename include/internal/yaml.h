/* room: base */
#pragma once
#include <internal/record-fields.h>

G_BEGIN_DECLS

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

/** ifm_yaml_peek: The scalar under a key of the file's outermost map, for a file that names the table by which it is read.
 * @value: (out) (transfer full) NULL without such a key, or if it is not a scalar    @line: (out) of the value
 * Returns: FALSE if the file cannot be read, with the errors of ifm_yaml_read(). */
gboolean ifm_yaml_peek(const char *path, const char *key, char **value, gsize *line, GError **error);

G_END_DECLS
