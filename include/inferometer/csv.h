#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/**
 * IfmCsv: a table read whole from a CSV file (RFC 4180: commas, "quoted" fields with doubled quotes, line breaks inside
 * quotes, CRLF or LF). The first record names the columns; every other has as many fields. A last line break may miss.
 */
typedef struct IfmCsv IfmCsv;

/** What is read at most; more is IFM_ERROR_INVALID. */
#define IFM_CSV_MAX_BYTES (256 << 20)

/**
 * ifm_csv_open: Reads a file.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID ("FILE:LINE: ...": a field too many or too few, a quote out of
 * place or left open, a column named twice or not at all, bytes that are not UTF-8) or IFM_ERROR_UNAVAILABLE.
 */
IfmCsv *ifm_csv_open(const char *path, GError **error);
/** ifm_csv_parse: The same from memory. @name: what messages call it. */
IfmCsv *ifm_csv_parse(const char *text, gsize length, const char *name, GError **error);
void ifm_csv_free(IfmCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCsv, ifm_csv_free)

const char *ifm_csv_name(const IfmCsv *csv);
gsize ifm_csv_n_rows(const IfmCsv *csv); /* the header is none */
/** ifm_csv_column: Returns: FALSE with IFM_ERROR_INVALID naming the nearest column there is. */
gboolean ifm_csv_column(const IfmCsv *csv, const char *name, gsize *column, GError **error);
/** ifm_csv_line: the line of the file on which a row begins, from 1. */
gsize ifm_csv_line(const IfmCsv *csv, gsize row);
/** ifm_csv_text: a field, borrowed; "" where it is empty. */
const char *ifm_csv_text(const IfmCsv *csv, gsize row, gsize column);
/** ifm_csv_number: a field as a finite number ("." as decimal point whatever the locale). FALSE with "FILE:LINE: ...". */
gboolean ifm_csv_number(const IfmCsv *csv, gsize row, gsize column, double *value, GError **error);

G_END_DECLS
