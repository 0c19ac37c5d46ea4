#pragma once
#include <inferometer/measure.h>

G_BEGIN_DECLS

/* Protocols in records, and devices that were lost. */

/** ifm_protocol_check: for a case that a worker measures. Returns: FALSE with IFM_ERROR_INVALID naming the count. */
gboolean ifm_protocol_check(const IfmProtocol *protocol, GError **error);

/** ifm_protocol_to_json: what of it defines a case: the counts, or the rule with all that may end it. (transfer full) */
json_t *ifm_protocol_to_json(const IfmProtocol *protocol);

/** ifm_runner_set_lost: Says that a device was lost earlier, before this runner was made: it is tried again only once it
 * answers a probe. No effect where @device is no device spec. */
void ifm_runner_set_lost(IfmRunner *runner, const char *device, const char *why);

/** ifm_runner_find_device: Whether a device is here and answers, whatever cores and streams it is named with.
 * @description: (out) (optional) (transfer full) the hardware's name. Returns: FALSE with IFM_ERROR_UNAVAILABLE (no
 * runtime, no such device), IFM_ERROR_LOST (as if ifm_runner_set_lost() had been called), that of a wrong spec, or that of
 * a worker that ended over it. */
gboolean ifm_runner_find_device(IfmRunner *runner, const char *device, char **description, GError **error);

G_END_DECLS
