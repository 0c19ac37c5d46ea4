#include <inferometer/measure.h>

/* These functions apply the options of a protocol to a protocol and to limits. */

#define PUBLISHED_WARMUP 10 /* of protocols with fixed counts */

IfmProtocol ifm_protocol_with(const IfmProtocol *base, const IfmProtocolOptions *options)
{
    IfmProtocol protocol = *base;
    if (options->ci_ratio != IFM_OPTION_UNSET)
    {
        protocol.ci_ratio = options->ci_ratio;
        if (protocol.runs > 0) /* from fixed counts to the rule: with the rule's own warm-up and budget */
        {
            protocol.warmup = IFM_PROTOCOL_INIT.warmup;
            protocol.time_budget_ns = IFM_PROTOCOL_INIT.time_budget_ns;
        }
        protocol.runs = 0;
    }
    if (options->runs != IFM_OPTION_UNSET) /* as published protocols do: all of them, in no time that is set */
    {
        protocol.runs = (gsize)options->runs;
        protocol.warmup = PUBLISHED_WARMUP;
        protocol.time_budget_ns = 0;
    }
    if (options->warmup != IFM_OPTION_UNSET)
        protocol.warmup = (gsize)options->warmup;
    if (options->time_budget_ns != IFM_OPTION_UNSET)
        protocol.time_budget_ns = options->time_budget_ns;
    return protocol;
}

IfmLimits ifm_limits_with(const IfmLimits *base, const IfmProtocolOptions *options)
{
    IfmLimits limits = *base;
    if (options->hang_ns != IFM_OPTION_UNSET)
        limits.hang_ns = options->hang_ns;
    if (options->case_time_ns != IFM_OPTION_UNSET)
        limits.case_time_ns = options->case_time_ns;
    if (options->memory_bytes != IFM_OPTION_UNSET)
        limits.memory_bytes = options->memory_bytes;
    return limits;
}
