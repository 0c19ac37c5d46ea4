#include "protocol.h"

#define PUBLISHED_WARMUP 10 /* of protocols with fixed counts */

int cli_check_ci(const Arguments *arguments)
{
    if (cli_given(arguments, "ci") && cli_ratio(arguments, "ci") <= 0)
        return cli_usage(cli_verb_of(arguments), "--ci: above 0%%, at most 100%%");
    return CLI_EXIT_OK;
}

int cli_check_protocol(const Arguments *arguments)
{
    const Verb *verb = cli_verb_of(arguments);
    if (cli_given(arguments, "runs") && cli_given(arguments, "ci"))
        return cli_usage(verb, "--runs and --ci: a fixed count or an interval to reach, not both");
    if (cli_given(arguments, "runs") && cli_given(arguments, "time-budget"))
        return cli_usage(verb, "--runs and --time-budget: a fixed count is run whole, whatever the time it takes (see "
                               "--case-timeout)");
    return cli_check_ci(arguments);
}

IfmProtocol cli_protocol(const Arguments *arguments, const IfmProtocol *base)
{
    IfmProtocol protocol = *base;
    if (cli_given(arguments, "ci"))
    {
        protocol.ci_ratio = cli_ratio(arguments, "ci");
        if (protocol.runs > 0) /* from fixed counts to the rule: with the rule's own warm-up and budget */
        {
            protocol.warmup = IFM_PROTOCOL_INIT.warmup;
            protocol.time_budget_ns = IFM_PROTOCOL_INIT.time_budget_ns;
        }
        protocol.runs = 0;
    }
    if (cli_given(arguments, "runs")) /* as published protocols do: all of them, in no time that is set */
    {
        protocol.runs = (gsize)cli_integer(arguments, "runs");
        protocol.warmup = PUBLISHED_WARMUP;
        protocol.time_budget_ns = 0;
    }
    if (cli_given(arguments, "warmup"))
        protocol.warmup = (gsize)cli_integer(arguments, "warmup");
    if (cli_given(arguments, "time-budget"))
        protocol.time_budget_ns = cli_integer(arguments, "time-budget");
    return protocol;
}

IfmLimits cli_limits(const Arguments *arguments, const IfmLimits *base)
{
    IfmLimits limits = *base;
    if (cli_given(arguments, "timeout"))
        limits.hang_ns = cli_integer(arguments, "timeout");
    if (cli_given(arguments, "case-timeout"))
        limits.case_time_ns = cli_integer(arguments, "case-timeout");
    if (cli_given(arguments, "memory-limit"))
        limits.memory_bytes = cli_integer(arguments, "memory-limit");
    return limits;
}
