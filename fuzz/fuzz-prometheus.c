/*
 * The libFuzzer target of what a Prometheus server answers, and (compiled into tests/sensor/test-fuzz-prometheus.c) the
 * same entry for the corpus. An answer is read or refused with one line; what is read is finite and in order.
 */
#include <math.h>
#include <sensor/sensor.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy = g_memdup2(size > 0 ? data : (const uint8_t *)"", MAX(size, 1));
    GError *error = NULL;
    IfmPrometheusWindow window;
    gboolean empty = FALSE;
    if (!ifm_prometheus_parse(copy, size, "query", &window, &empty, &error))
    {
        must(error != NULL && error->code == IFM_ERROR_INVALID);
        must_be_line(error);
        return 0;
    }
    must(error == NULL && empty == (window.n_samples == 0) && window.n_series >= 0);
    if (!empty)
        must(window.min <= window.max && isfinite(window.min) && isfinite(window.max) && window.first_ns <= window.last_ns);
    return 0;
}
