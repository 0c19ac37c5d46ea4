/* room: measure */
#pragma once
#include <inferometer/measure.h>
#include <inferometer/options.h>

IFM_BEGIN_DECLS

/**
 * IfmProtocolOptions: what a caller says about when to stop (IfmProtocol) and what a case may take (IfmLimits), put over
 * what holds where nothing is said. IFM_OPTION_UNSET: nothing is said.
 */
typedef struct
{
    double ci_ratio;
    gint64 runs, warmup;
    gint64 time_budget_ns;
    gint64 hang_ns, case_time_ns;
    gint64 memory_bytes;
} IfmProtocolOptions;

/** IFM_PROTOCOL_ROW_…: Their rows in a table of options. @offset: of the IfmProtocolOptions in the table's struct
 * @fallback: what --help calls the default, or NULL */
#define IFM_PROTOCOL_ROW_CI(offset, fallback_)                                                                             \
    {                                                                                                                      \
        "ci", 0, IFM_OPTION_RATIO, FALSE, "PERCENT",                                                                       \
            "measure until half the median's 95 % interval is at most this part of it", fallback_,                         \
            .minimum = 1, .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, ci_ratio)                 \
    }
#define IFM_PROTOCOL_ROW_RUNS(offset)                                                                                      \
    {                                                                                                                      \
        "runs", 0, IFM_OPTION_COUNT, FALSE, "N", "measure exactly so many runs instead",                                   \
            .minimum = 1, .maximum = IFM_PROTOCOL_MAX_RUNS, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, runs)     \
    }
#define IFM_PROTOCOL_ROW_WARMUP(offset)                                                                                    \
    {                                                                                                                      \
        "warmup", 0, IFM_OPTION_COUNT, FALSE, "N",                                                                         \
            "runs before measuring: at least so many, or with --runs exactly (then 10)",                                   \
            .maximum = IFM_PROTOCOL_MAX_RUNS, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, warmup)                 \
    }
#define IFM_PROTOCOL_ROW_TIME_BUDGET(offset, fallback_)                                                                    \
    {                                                                                                                      \
        "time-budget", 0, IFM_OPTION_DURATION, FALSE, "TIME",                                                              \
            "the maximum time to warm up and measure one case; 0: no limit", fallback_,                                    \
            .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, time_budget_ns)                         \
    }
#define IFM_PROTOCOL_ROW_TIMEOUT(offset, fallback_)                                                                        \
    {                                                                                                                      \
        "timeout", 0, IFM_OPTION_DURATION, FALSE, "TIME",                                                                  \
            "a device that shows no progress for so long has hung; 0: no limit", fallback_,                                \
            .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, hang_ns)                                \
    }
#define IFM_PROTOCOL_ROW_CASE_TIMEOUT(offset, fallback_)                                                                   \
    {                                                                                                                      \
        "case-timeout", 0, IFM_OPTION_DURATION, FALSE, "TIME", "the maximum time for one case, in all; 0: no limit",       \
            fallback_, .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, case_time_ns)                \
    }
#define IFM_PROTOCOL_ROW_MEMORY_LIMIT(offset, fallback_)                                                                   \
    {                                                                                                                      \
        "memory-limit", 0, IFM_OPTION_BYTES, FALSE, "SIZE",                                                                \
            "how far a device's process may grow once its runtime is open; 0: no limit", fallback_,                        \
            .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, memory_bytes)                           \
    }

/** ifm_protocol_options_check: What no single row can say. Returns: FALSE with IFM_ERROR_USAGE. */
gboolean ifm_protocol_options_check(const IfmProtocolOptions *options, GError **error);
/** ifm_protocol_with, ifm_limits_with: @base with what was said put over it. Fixed counts are run whole, after 10 runs of
 * warm-up where nothing else is said, in no time that is set. */
IfmProtocol ifm_protocol_with(const IfmProtocol *base, const IfmProtocolOptions *options);
IfmLimits ifm_limits_with(const IfmLimits *base, const IfmProtocolOptions *options);

IFM_END_DECLS
