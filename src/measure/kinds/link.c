/* A link between two devices: what describes a case of it, its record, and how it is measured. */
#include <base/fields.h>
#include <store/store.h>

#include "../kind-private.h"

/* Beyond it no host has memory for; what less the devices have is theirs to say. */
#define MAX_BYTES (G_GINT64_CONSTANT(1) << 40)

static const IfmRecordField fields[] = {
    { IFM_RECORD(NAME, IfmLinkCase, from) },
    { IFM_RECORD(NAME, IfmLinkCase, to) },
    { IFM_RECORD(NAME, IfmLinkCase, from_alias) },
    { IFM_RECORD(NAME, IfmLinkCase, to_alias) },
    { IFM_RECORD(INT64, IfmLinkCase, size_bytes) },
    { IFM_RECORD(PART, IfmLinkCase, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    const IfmLinkCase *link_case = spec;
    if (!ifm_protocol_check(&link_case->protocol, error))
        return FALSE;
    return (link_case->size_bytes >= 1 && link_case->size_bytes <= MAX_BYTES) ||
           ifm_error_refuse(error, "link: found %" G_GINT64_FORMAT " bytes, expected 1 to %" G_GINT64_FORMAT,
                            link_case->size_bytes, MAX_BYTES);
}

/* --- the record --------------------------------------------------------------------------------------------------- */

/* "" where neither has one. */
static char *alias_of(const IfmLinkCase *link_case, const IfmDeviceSpec *from, const IfmDeviceSpec *to)
{
    const char *first = link_case->from_alias, *second = link_case->to_alias;
    if (first == NULL && second == NULL)
        return g_strdup("");
    return g_strdup_printf("%s>%s", first != NULL ? first : from->text, second != NULL ? second : to->text);
}

static gboolean seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmLinkCase *link_case = spec;
    g_autoptr(IfmDeviceSpec) from = ifm_device_spec_parse(link_case->from, error);
    g_autoptr(IfmDeviceSpec) to = from != NULL ? ifm_device_spec_parse(link_case->to, error) : NULL;
    const json_t *from_facts = to != NULL ? ifm_runner_engine_facts(runner, from->text, from, error) : NULL;
    const json_t *to_facts = from_facts != NULL ? ifm_runner_engine_facts(runner, to->text, to, error) : NULL;
    if (to_facts == NULL)
        return FALSE;
    g_autofree char *device = g_strdup_printf("%s>%s", from->text, to->text), *alias = alias_of(link_case, from, to);
    ifm_record_set_text(&record->subject_name, "link");
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, alias);
    ifm_record_set_json(&record->sizes, json_pack("{s:I}", "bytes", (json_int_t)link_case->size_bytes));
    ifm_case_set_engine(record, to_facts);
    json_object_set(record->environment, "sender_engine", json_object_get(from_facts, "engine"));
    json_object_set(record->environment, "sender_engine_version", json_object_get(from_facts, "version"));
    return TRUE;
}

static gboolean place(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error)
{
    IfmLinkCase *link_case = spec;
    const IfmDeviceSpec *from = ifm_kind_place_add(place, link_case->from, error);
    const IfmDeviceSpec *to = from != NULL ? ifm_kind_place_add(place, link_case->to, error) : NULL;
    if (to == NULL)
        return FALSE;
    link_case->from = from->text;
    link_case->to = to->text;
    place->worker = g_strdup(sealed->device);
    place->level = link_case->protocol.level;
    place->is_set = TRUE;
    return TRUE;
}

const IfmRecordField ifm_link_result_fields[] = {
    { IFM_RECORD(INT, IfmLinkResult, copies) },
    { IFM_RECORD(FLAG, IfmLinkResult, shared), .optional = TRUE },
    { IFM_RECORD(FLAG, IfmLinkResult, assumed), .optional = TRUE },
    { IFM_RECORD(WORDS, IfmLinkResult, within_inference), .optional = TRUE },
    { IFM_RECORD(WORDS, IfmLinkResult, around_inference), .optional = TRUE },
    { NULL },
};

gboolean ifm_link_result(const IfmMeasurement *link, IfmLinkResult *result)
{
    const json_t *reported = ifm_measurement_result(link, NULL);
    *result = (IfmLinkResult){ .lists = g_ptr_array_new_with_free_func(g_free) };
    return reported != NULL &&
           ifm_record_from_json(result, ifm_link_result_fields, reported, "result", result->lists, NULL) &&
           result->copies > 0;
}

void ifm_link_result_clear(IfmLinkResult *result)
{
    g_clear_pointer(&result->lists, g_ptr_array_unref);
    *result = (IfmLinkResult){ 0 };
}

/* --- in the worker ------------------------------------------------------------------------------------------------ */

/* Everything a link case holds while it is measured. */
typedef struct
{
    Worker *worker;
    const IfmLinkCase *link_case;
    IfmEngine *from, *to; /* borrowed */
    IfmLinkSubject *subject;
    gboolean reported_lost;
} Link;

static void drop(Worker *worker)
{
    Link *link = worker->state;
    if (link != NULL)
        g_clear_pointer(&link->subject, ifm_link_subject_free);
    g_clear_pointer(&worker->state, g_free);
}

/* Both go by one clock: a virtual one means nothing to a real device. */
static gboolean open_engines(Link *link, GError **error)
{
    g_autoptr(IfmDeviceSpec) from = NULL;
    g_autoptr(IfmDeviceSpec) to = NULL;
    link->worker->keeps_real_time = worker_is_simulated(link->link_case->from) != worker_is_simulated(link->link_case->to);
    link->from = worker_open_device(link->worker, link->link_case->from, &from, error);
    link->to = link->from != NULL ? worker_open_device(link->worker, link->link_case->to, &to, error) : NULL;
    return link->to != NULL;
}

/* The receiver's runtime makes the copy, where there is one alone. */
static void describe_environment(const Link *link)
{
    g_autofree char *device = g_strdup_printf("%s>%s", link->link_case->from, link->link_case->to);
    link->worker->measurement->environment =
        json_pack("{s:o,s:o,s:s,s:[]}", "runtime", worker_engine_to_json(link->to), "sender_runtime",
                  worker_engine_to_json(link->from), "device", device, "warnings");
}

static void say_lost(Link *link, json_t *devices /* (transfer full) */)
{
    link->reported_lost = TRUE;
    worker_say(link->worker, json_pack("{s:s,s:o}", "say", "lost", "devices", devices));
}

/* A lost device may have done as if it copied: both must still be there afterwards. */
static gboolean still_there(Worker *worker, GError **error)
{
    Link *link = worker->state;
    IfmEngine *engines[] = { link->from, link->to };
    const char *devices[] = { link->link_case->from, link->link_case->to };
    json_t *lost = json_array();
    worker_enter_phase(worker, "probing the devices");
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autoptr(GError) failure = NULL;
        if (worker_probe(engines[i], devices[i], &failure))
            continue;
        if (json_array_size(lost) == 0)
            g_set_error(error, IFM_ERROR, IFM_ERROR_LOST, "the device is lost after the copies: %s", failure->message);
        json_array_append_new(lost, json_string(devices[i]));
    }
    if (json_array_size(lost) > 0)
        say_lost(link, lost);
    else
        json_decref(lost);
    return !link->reported_lost;
}

/* Asked of the kernel: on which cores this thread, which copies, may run. FALSE where they are not those asked for. */
static gboolean effective_config_cores(const Link *link, GError **error)
{
    const char *devices[] = { link->link_case->to, link->link_case->from };
    g_autofree char *found = ifm_affinity_to_string();
    link->worker->measurement->effective_config = json_pack("{s:s}", "cores", found);
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(devices[i], NULL);
        if (spec->n_cores == 0)
            continue;
        g_autofree char *asked = ifm_cores_to_string(spec->cores, spec->n_cores);
        if (g_str_equal(asked, found))
            return TRUE;
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: cores %s were asked for, the copies would be made on %s",
                    devices[i], asked, found);
        return FALSE;
    }
    return TRUE;
}

/* A device that says itself that it is lost. */
static void report_loss(Link *link, const GError *failure)
{
    const char *blamed = link->subject != NULL ? ifm_link_subject_blamed(link->subject) : NULL;
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST) && !link->reported_lost && blamed != NULL)
        say_lost(link, json_pack("[s]", blamed));
}

static gboolean prepare(Worker *worker, const json_t *request, GError **error)
{
    g_autoptr(GError) failure = NULL;
    Link *link = worker->state = g_new0(Link, 1);
    link->worker = worker;
    link->link_case = worker->spec.data;
    worker_enter_phase(worker, "opening the runtimes");
    if (!open_engines(link, error))
        return FALSE;
    describe_environment(link);
    worker_report_base(worker);
    if (!worker_go_on(worker, "taking the devices' memory", 1, error))
        return FALSE;
    link->subject = ifm_link_subject_new();
    if (!ifm_link_subject_open(link->subject, link->from, link->to, link->link_case, &failure))
    {
        report_loss(link, failure);
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    ifm_record_set_json(&worker->measurement->result, ifm_link_subject_result(link->subject));
    return effective_config_cores(link, error);
}

static gboolean run(Worker *worker, const json_t *request, GError **error)
{
    Link *link = worker->state;
    IfmMeasureOptions options = { .protocol = link->link_case->protocol,
                                  .interrupted = &worker->interrupted,
                                  .progress = worker_beat,
                                  .progress_user = worker };
    IfmSubject slots = ifm_link_subject_slots(link->subject);
    g_autoptr(GError) failure = NULL;
    worker_send_draft(worker);
    worker_enter_phase(worker, "running");
    gboolean measured = ifm_measure_subject(&slots, &options, worker->measurement, &failure);
    json_object_set_new(worker->measurement->verification, "n_checks",
                        json_integer((json_int_t)ifm_link_subject_n_checks(link->subject)));
    gboolean known =
        g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) || g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    if (!known && !still_there(worker, error)) /* that says more than what it answered then */
        return FALSE;
    if (measured)
        return TRUE;
    report_loss(link, failure);
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

static IfmSubject subject(Worker *worker)
{
    return ifm_link_subject_slots(((Link *)worker->state)->subject);
}

static const IfmKindInWorker in_worker = {
    .place = place, .prepare = prepare, .run = run, .drop = drop, .subject = subject, .still_there = still_there
};

const IfmCaseKind ifm_kind_link = { .name = "link",
                                    .size = sizeof(IfmLinkCase),
                                    .fields = fields,
                                    .complete = complete,
                                    .seal = seal,
                                    .in_worker = &in_worker };
