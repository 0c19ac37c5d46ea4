#pragma once
#include <inferometer/sensor.h>

G_BEGIN_DECLS

/* ifm_sensor_read: The text of a file below @root, its end trimmed; NULL where it cannot be read, is larger than 4 MiB or
 * is no UTF-8. @relative: "proc/stat" */
char *ifm_sensor_read(const char *root, const char *relative);
char *ifm_sensor_readf(const char *root, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* ifm_sensor_read_int64: A file that holds one decimal number. Returns: FALSE where it does not. */
gboolean ifm_sensor_read_int64(const char *root, gint64 *value, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* ifm_sensor_list: The numbers N, ascending, of the entries PREFIXN in a folder below @root. (transfer full) gint */
GArray *ifm_sensor_list(const char *root, const char *folder, const char *prefix);
/* ifm_sensor_field: The value behind "KEY" and a colon at a line's start. (transfer full) NULL where there is none. */
char *ifm_sensor_field(const char *text, const char *key);
/* ifm_sensor_parse_int64: a whole decimal number and nothing else. */
gboolean ifm_sensor_parse_int64(const char *text, gint64 *value);
/* ifm_sensor_parse_count: one that is not negative and small enough that thousands of them can be added. */
gboolean ifm_sensor_parse_count(const char *text, gint64 *value);
/* ifm_sensor_text_or_null / ifm_sensor_int64_or_null: (transfer full) */
json_t *ifm_sensor_text_or_null(const char *text);
json_t *ifm_sensor_int64_or_null(gboolean known, gint64 value);

G_END_DECLS
