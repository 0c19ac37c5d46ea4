/* room: sensor */
#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * Metrics that a Prometheus server has of this machine or of others, over a window of time. Nothing is sent but the
 * queries.
 */

/** IfmPrometheusPreset: a query by a short name. @query: PromQL    @help: what it gives, with its unit and exporter */
typedef struct
{
    const char *name, *query, *help;
} IfmPrometheusPreset;
/** ifm_prometheus_presets: of node exporter (processors) and of the DCGM exporter (GPUs); ends with a row without a name.
 */
extern const IfmPrometheusPreset ifm_prometheus_presets[];

/** IfmPrometheusWindow: what a query gave over a window. @mean, @min, @max: over all samples of all series    @first_ns,
 * @last_ns: times of the first and last sample, Unix: the server gives one a step, whenever it scraped    @interval_ns: how
 * far apart scrapes of the server's slowest target are; 0: not known yet    @is_short: the window holds fewer than two
 * scrapes: what is measured is to be repeated until it holds several */
typedef struct
{
    double mean, min, max;
    gint64 n_samples, n_series, first_ns, last_ns, interval_ns;
    gboolean is_short;
} IfmPrometheusWindow;

/**
 * ifm_prometheus_window: Asks over [@start_ns, @end_ns] (Unix) in steps of @step_ns, by /api/v1/query_range.
 * @url: of the server, "http://127.0.0.1:9090"; http or https    @query: PromQL, or the name of a preset
 * Returns: FALSE with IFM_ERROR_INVALID (no such URL; a query that the server refuses, with its words; an answer that is
 * none), IFM_ERROR_UNAVAILABLE (no server; a metric that is not there: the nearest names are given), IFM_ERROR_TIMEOUT.
 */
gboolean ifm_prometheus_window(const char *url, const char *query, gint64 start_ns, gint64 end_ns, gint64 step_ns,
                               IfmPrometheusWindow *window, GError **error);

/** ifm_prometheus_busy: How busy processors were over the last @window_ns, or where scrapes are farther apart between the
 * last two, by node exporter's counters: means of the cores in @cores, and of all others (0 where there are none).
 * @cores: NULL or empty: all count as @same    Errors: as above */
gboolean ifm_prometheus_busy(const char *url, const int *cores, gsize n_cores, gint64 window_ns, double *same,
                             double *other, GError **error);

IFM_END_DECLS
