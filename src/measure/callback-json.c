/* A function of a program in another language is measured: its protocol is JSON, and so is what comes of it. */
#include <math.h>

#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/results.h>
#include <store/trust.h>

#include "runner-private.h"

/* --- the protocol ------------------------------------------------------------------------------------------------- */

static gboolean check_numbers(const json_t *given, GError **error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)given, key, value)
    {
        if (json_is_number(value) && json_number_value(value) < 0)
            return ifm_error_refuse(error, "protocol.%s: found %g, expected 0 or more", key, json_number_value(value));
    }
    return TRUE;
}

/* What is given, put over the default of the rule, or of a fixed count. */
static gboolean read_protocol(const char *text, IfmProtocol *protocol, GError **error)
{
    json_error_t trouble;
    json_auto_t *given = json_loads(text != NULL ? text : "{}", JSON_REJECT_DUPLICATES, &trouble);
    if (!json_is_object(given))
        return ifm_error_refuse(error, "protocol: %s", given == NULL ? trouble.text : "expected an object");
    if (!check_numbers(given, error))
        return FALSE;
    const gint64 runs = json_integer_value(json_object_get(given, "runs"));
    IfmProtocolOptions said = { IFM_OPTION_UNSET, runs > 0 ? runs : IFM_OPTION_UNSET, IFM_OPTION_UNSET, IFM_OPTION_UNSET };
    *protocol = ifm_protocol_with(&IFM_PROTOCOL_INIT, &said);
    json_auto_t *whole = ifm_record_to_json(protocol, ifm_protocol_fields);
    json_object_update(whole, given);
    const json_t *max_runs = json_object_get(given, "max_runs");
    if (json_integer_value(max_runs) > 0 && json_object_get(given, "min_runs") == NULL)
        json_object_set_new(whole, "min_runs",
                            json_integer(MIN((json_int_t)protocol->min_runs, json_integer_value(max_runs))));
    return ifm_record_from_json(protocol, ifm_protocol_fields, whole, "protocol", NULL, error) &&
           ((protocol->level > 0 && protocol->level < 1) ||
            ifm_error_refuse(error, "protocol.level: found %g, expected a number between 0 and 1", protocol->level));
}

/* --- what comes of it --------------------------------------------------------------------------------------------- */

static json_t *summary_to_json(const IfmResult *result)
{
    const char *name = result->subject_case->subject_name;
    g_autoptr(IfmDocument) document = ifm_document_new("callback", name);
    const IfmSummary *summary = &result->measurement->summary;
    const IfmInterval *interval = &summary->median_interval;
    g_autofree char *time = ifm_say_duration(summary->median), *rate = ifm_say_number(1e9 / summary->median),
                    *range = ifm_say_durations(interval->lower, interval->upper);
    ifm_document_subject(document, "%s: %zu run%s", name, summary->n, ifm_plural(summary->n));
    ifm_document_verdict(document, "%s takes %s", name, time);
    if (isfinite(interval->lower))
        ifm_document_verdict_more(document, "%s with %.3g" IFM_NO_BREAK "%% confidence; %s a second", range,
                                  100 * interval->level, rate);
    else
        ifm_document_verdict_more(document, "%s a second", rate);
    ifm_document_trust(document, result, NULL);
    return ifm_document_summary_to_json(document);
}

static char *result_to_text(const IfmResult *result)
{
    json_auto_t *json = ifm_json_begin("callback", 1);
    json_object_set_new(json, "summary", summary_to_json(result));
    ifm_json_add_record(json, result->subject_case, result->measurement);
    return json_dumps(json, JSON_COMPACT);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmSubject *subject;
    gint interrupted; /* atomic */
} Callback;

/* A run that ends as cancelled asks for the end, as the flag of a program in C does. */
static gboolean run_callback(void *self, GError **error)
{
    Callback *callback = self;
    GError *failure = NULL;
    if (callback->subject->run(callback->subject->self, &failure))
        return TRUE;
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        g_atomic_int_set(&callback->interrupted, 1);
    ifm_error_pass(error, failure);
    return FALSE;
}

char *ifm_measure_callback_subject(const IfmSubject *subject, const char *protocol, GError **error)
{
    Callback callback = { .subject = subject };
    IfmCallbackCase spec = { .subject = { subject->name, subject->clock, subject->run != NULL ? run_callback : NULL,
                                          subject->invoke, NULL, &callback } };
    if (!read_protocol(protocol, &spec.protocol, error))
        return NULL;
    g_autoptr(IfmRunner) runner = ifm_runner_new(&(IfmRunnerOptions){ .interrupted = &callback.interrupted });
    g_autoptr(IfmCase) sealed = ifm_runner_case(runner, &ifm_kind_callback, &spec, error);
    g_autoptr(IfmMeasurement) measurement =
        sealed != NULL ? ifm_runner_measure(runner, &ifm_kind_callback, &spec, sealed, error) : NULL;
    if (measurement == NULL)
        return NULL;
    if (measurement->outcome == IFM_OUTCOME_OK)
        return result_to_text(
            &(IfmResult){ .device = sealed->device, .alias = "", .subject_case = sealed, .measurement = measurement });
    ifm_error_set(error, ifm_error_code_from_name(measurement->error_code), "%s", measurement->reason);
    return NULL;
}

char *ifm_measure_callback(const char *name, gboolean (*run)(void *self, GError **error), void *self, const char *protocol,
                           GError **error)
{
    return ifm_measure_callback_subject(&(IfmSubject){ .name = name, .run = run, .self = self }, protocol, error);
}
