#pragma once

#include "cli.h"

G_BEGIN_DECLS

/* What verbs that measure have in common: when to stop, and what a case may take. Rows for their own tables of options;
 * @fallback: what --help calls the default, or NULL. */
#define ROW_CI(fallback) IFM_PROTOCOL_ROW_CI(0, fallback)
#define ROW_RUNS IFM_PROTOCOL_ROW_RUNS(0)
#define ROW_WARMUP IFM_PROTOCOL_ROW_WARMUP(0)
#define ROW_TIME_BUDGET(fallback) IFM_PROTOCOL_ROW_TIME_BUDGET(0, fallback)
#define ROW_TIMEOUT(fallback) IFM_PROTOCOL_ROW_TIMEOUT(0, fallback)
#define ROW_CASE_TIMEOUT(fallback) IFM_PROTOCOL_ROW_CASE_TIMEOUT(0, fallback)
#define ROW_MEMORY_LIMIT(fallback) IFM_PROTOCOL_ROW_MEMORY_LIMIT(0, fallback)

/* cli_protocol_options: the values of these rows, all of which the verb must have; not checked. */
IfmProtocolOptions cli_protocol_options(const Arguments *arguments);

G_END_DECLS
