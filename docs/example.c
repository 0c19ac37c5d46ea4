/* Measures a function of your own.   cc example.c $(pkg-config --cflags --libs inferometer) -o example && ./example */
#include <string.h>

#include <inferometer/measure.h>

static gboolean fill(void *self, GError **error)
{
    memset(self, 1, 1 << 20);
    return TRUE;
}

int main(void)
{
    IfmSubject subject = { .name = "memset of 1 MiB", .run = fill, .self = g_malloc(1 << 20) };
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT }; /* until the interval is within 1 % of the median */
    g_autoptr(IfmMeasurement) result = ifm_measurement_new();
    g_autoptr(GError) error = NULL;
    if (!ifm_measure_subject(&subject, &options, result, &error))
        g_error("%s", error->message);
    g_autofree char *summary = json_dumps(result->summary, JSON_INDENT(2));
    g_print("%s: %s\n", subject.name, summary);
}
