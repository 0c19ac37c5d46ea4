/* Measures a function of your own: cc measure-callback.c $(pkg-config --cflags --libs inferometer) -o measure */
#include <string.h>

#include <inferometer/inferometer.h>

static gboolean fill(void *self, GError **error)
{
    memset(self, 1, 1 << 20);
    return TRUE;
}

int main(void)
{
    g_autofree void *buffer = g_malloc(1 << 20);
    IfmSubject subject = { .name = "memset of 1 MiB", .run = fill, .self = buffer };
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT }; /* until the interval is within 1 % of the median */
    g_autoptr(IfmMeasurement) result = ifm_measurement_new();
    g_autoptr(GError) error = NULL;
    if (!ifm_measure_subject(&subject, &options, result, &error))
        g_error("%s", error->message);
    json_auto_t *summary = ifm_summary_to_json(&result->summary);
    g_autofree char *text = json_dumps(summary, JSON_INDENT(2));
    g_print("%s: %s\n", subject.name, text);
}
