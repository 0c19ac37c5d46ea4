/* room: base */
#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

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

G_END_DECLS
