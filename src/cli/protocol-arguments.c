#include "protocol-arguments.h"

static gint64 said(const Arguments *arguments, const char *name)
{
    return cli_given(arguments, name) ? cli_integer(arguments, name) : IFM_OPTION_UNSET;
}

IfmProtocolOptions cli_protocol_options(const Arguments *arguments)
{
    return (IfmProtocolOptions){
        .ci_ratio = cli_given(arguments, "ci") ? cli_ratio(arguments, "ci") : IFM_OPTION_UNSET,
        .runs = said(arguments, "runs"),
        .warmup = said(arguments, "warmup"),
        .time_budget_ns = said(arguments, "time-budget"),
        .hang_ns = said(arguments, "timeout"),
        .case_time_ns = said(arguments, "case-timeout"),
        .memory_bytes = said(arguments, "memory-limit"),
    };
}
