/* room: base */
#pragma once
#include <inferometer/visibility.h>

IFM_BEGIN_DECLS

/* Numbers and text for people to read. Numbers have a point in every locale. */

/** ifm_number_fixed: @value with @decimals digits after the point, then a blank and @unit. An empty @unit adds nothing.
 * (transfer full) */
char *ifm_number_fixed(double value, int decimals, const char *unit);
/** ifm_format_duration: "1.234 ms": four significant digits and the largest unit of ns, us, ms, s with a value of at
 * least 1. "0" for 0; "-" for NaN and infinity. (transfer full) */
char *ifm_format_duration(double ns);
/** ifm_is_precision: Whether half an interval, over the value that it is of, says how well that is known: not where it is
 * as large as the value, or not finite. */
gboolean ifm_is_precision(double half_ratio);
/** ifm_format_ratio: 0.0123 gives "1.23 %". (transfer full) */
char *ifm_format_ratio(double ratio);
/** ifm_format_bytes: 2097152 gives "2.00 MiB". (transfer full) */
char *ifm_format_bytes(double bytes);
/** ifm_format_rate: 2097152 bytes/s gives "2.00", in MB/s. MB = 2^20 bytes, as in the published tables. (transfer full) */
char *ifm_format_rate(double bytes_per_s);
/** ifm_format_clean: Makes text from outside harmless on a terminal: control characters become \xHH, invalid UTF-8 is
 * replaced. (transfer full) */
char *ifm_format_clean(const char *text);
/** ifm_format_mask: A message with each number blanked: the same message of other sizes reads the same. (transfer full) */
char *ifm_format_mask(const char *text);
/** ifm_format_spelt: ifm_format_clean(), in ASCII unless @utf8. (transfer full) */
char *ifm_format_spelt(const char *text, gboolean utf8);
/** ifm_text_width: The number of columns that a UTF-8 text takes on a terminal. */
int ifm_text_width(const char *text);
/** IFM_NO_BREAK: a blank at which ifm_format_wrap() does not break the line. */
#define IFM_NO_BREAK "\u00a0"
/** ifm_format_wrap: Appends @text and a newline. Breaks it at blanks into lines of at most @width columns, a word that no
 * line holds at its commas; colour codes take no column. @indent: blanks before each line but the first    @at: the column
 * at which the first line begins */
void ifm_format_wrap(GString *out, const char *text, int indent, int at, int width);

IFM_END_DECLS
