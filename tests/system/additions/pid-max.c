#include "sensor-private.h"

json_t *ifm_sensor_pid_max(const char *root)
{
    gint64 value = 0;
    const gboolean known = ifm_sensor_read_int64(root, &value, "proc/sys/kernel/pid_max");
    return ifm_sensor_int64_or_null(known, value);
}
