/* room: sensor */
#pragma once
#include <inferometer/prometheus.h>

G_BEGIN_DECLS

/** ifm_prometheus_is_url: Whether a text can be the address of a server. */
gboolean ifm_prometheus_is_url(const char *text);

/** ifm_prometheus_parse: What a server answered to a query over a window. @where: for messages    @empty: (out) whether
 * there is nothing in it, which is no error here    Returns: FALSE with IFM_ERROR_INVALID */
gboolean ifm_prometheus_parse(const char *bytes, gsize n_bytes, const char *where, IfmPrometheusWindow *window,
                              gboolean *empty, GError **error);

G_END_DECLS
