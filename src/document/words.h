/* Shared with other rooms: figures in sentences. */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

#define IFM_SAY_MISSING "–" /* what is not known, where it must be said */

/* Figures as sentences have them: three significant digits, the unit after a blank that no line is broken at, one unit
 * within an interval, "–" for what is not finite. All are (transfer full). */

/** ifm_say_number: "9.74", "1.05", "1,240". ifm_say_duration: "9.74 ms". ifm_say_bytes: "44.6 MiB". ifm_say_per_cent: of a
 * ratio: "25 %", "0.4 %" below 1. ifm_say_rate: "97.8 /s". */
char *ifm_say_number(double value);
char *ifm_say_duration(double ns);
char *ifm_say_bytes(double bytes);
char *ifm_say_per_cent(double ratio);

/** ifm_say_durations: "9.74 to 10.7 ms", "980 µs to 1.02 ms" never: the unit is that of @upper_ns.
 * ifm_say_numbers: "0.969 to 1.13"; one number where both read alike. */
char *ifm_say_durations(double lower_ns, double upper_ns);
char *ifm_say_numbers(double lower, double upper);

/** ifm_say_list: "a", "a and b", "a, b and 3 more". @most: as many are named */
char *ifm_say_list(const char *const *names, gsize n, gsize most);

/** ifm_say_difference: "+139 µs", "−242 µs", "0" */
char *ifm_say_difference(double ns);

/** ifm_say_command: "inferometer WORD…", which a shell reads as these words: what it would not read as it is is quoted.
 * ifm_say_words: the same of a list. @words: end with NULL */
char *ifm_say_command(const char *verb, ...) G_GNUC_NULL_TERMINATED;
char *ifm_say_words(const char *const *words);

G_END_DECLS
