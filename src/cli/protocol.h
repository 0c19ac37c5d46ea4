#pragma once
#include <inferometer/measure.h>

#include "cli.h"

G_BEGIN_DECLS

/* What verbs that measure have in common: when to stop, and what a case may take. Rows for their tables of options;
 * @fallback: what --help calls the default, or NULL. */
#define ROW_CI(fallback)                                                                                                   \
    {                                                                                                                      \
        "ci", 0, OPTION_RATIO, FALSE, "PERCENT", HELP_CI, fallback                                                         \
    }
#define ROW_RUNS                                                                                                           \
    {                                                                                                                      \
        "runs", 0, OPTION_COUNT, FALSE, "N", HELP_RUNS, .least = 1, .most = IFM_PROTOCOL_MOST_RUNS                         \
    }
#define ROW_WARMUP                                                                                                         \
    {                                                                                                                      \
        "warmup", 0, OPTION_COUNT, FALSE, "N", HELP_WARMUP, .most = IFM_PROTOCOL_MOST_RUNS                                 \
    }
#define ROW_TIME_BUDGET(fallback)                                                                                          \
    {                                                                                                                      \
        "time-budget", 0, OPTION_DURATION, FALSE, "TIME", HELP_TIME_BUDGET, fallback                                       \
    }
#define ROW_TIMEOUT(fallback)                                                                                              \
    {                                                                                                                      \
        "timeout", 0, OPTION_DURATION, FALSE, "TIME", HELP_TIMEOUT, fallback                                               \
    }
#define ROW_CASE_TIMEOUT(fallback)                                                                                         \
    {                                                                                                                      \
        "case-timeout", 0, OPTION_DURATION, FALSE, "TIME", HELP_CASE_TIMEOUT, fallback                                     \
    }
#define ROW_MEMORY_LIMIT(fallback)                                                                                         \
    {                                                                                                                      \
        "memory-limit", 0, OPTION_BYTES, FALSE, "SIZE", HELP_MEMORY_LIMIT, fallback                                        \
    }

#define HELP_CI "measure until half the median's 95 % interval is at most this part of it"
#define HELP_RUNS "measure exactly so many runs instead"
#define HELP_WARMUP "runs before measuring: at least so many, or with --runs exactly (then 10)"
#define HELP_TIME_BUDGET "the most time to warm up and measure one case for; 0: no limit"
#define HELP_TIMEOUT "a device that shows no progress for so long has hung; 0: no limit"
#define HELP_CASE_TIMEOUT "the most time for one case, all told; 0: no limit"
#define HELP_MEMORY_LIMIT "how far a device's process may grow once its runtime is open; 0: no limit"

/* cli_check_ci: that an interval of nothing is not aimed at. Returns: as below. */
int cli_check_ci(const Arguments *arguments);
/* cli_check_protocol: what no single option's row can say. Returns: an exit status; what is wrong was told. */
int cli_check_protocol(const Arguments *arguments);
/* cli_protocol, cli_limits: @base with what was given on the command line put over it. */
IfmProtocol cli_protocol(const Arguments *arguments, const IfmProtocol *base);
IfmLimits cli_limits(const Arguments *arguments, const IfmLimits *base);

G_END_DECLS
