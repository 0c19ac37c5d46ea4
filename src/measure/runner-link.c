#include <inferometer/json.h>

#include "runner-private.h"

/* Beyond it no host has memory for; what less the devices have is theirs to say. */
#define MOST_BYTES (G_GINT64_CONSTANT(1) << 40)

static char *pair_of(const char *from, const char *to)
{
    return g_strdup_printf("%s>%s", from, to);
}

/* "" where neither has one. */
static char *alias_of(const IfmLinkCase *link_case, const IfmDeviceSpec *from, const IfmDeviceSpec *to)
{
    const char *first = link_case->from_alias, *second = link_case->to_alias;
    if (first == NULL && second == NULL)
        return g_strdup("");
    return pair_of(first != NULL ? first : from->text, second != NULL ? second : to->text);
}

static json_t *surroundings_of(IfmRunner *runner, const json_t *from, const json_t *to)
{
    json_t *id = json_object_get(ifm_runner_machine(runner), "id");
    return json_pack("{s:o,s:O,s:O,s:O,s:O}", "machine", id != NULL ? json_incref(id) : json_null(), "engine",
                     json_object_get(to, "engine"), "engine_version", json_object_get(to, "version"), "sender_engine",
                     json_object_get(from, "engine"), "sender_engine_version", json_object_get(from, "version"));
}

static gboolean check_size(gint64 size_bytes, GError **error)
{
    if (size_bytes >= 1 && size_bytes <= MOST_BYTES)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "link: found %" G_GINT64_FORMAT " bytes, expected 1 to %" G_GINT64_FORMAT, size_bytes, MOST_BYTES);
    return FALSE;
}

IfmCase *ifm_runner_link_case(IfmRunner *runner, const IfmLinkCase *link_case, GError **error)
{
    if (!ifm_protocol_check(&link_case->protocol, error) || !check_size(link_case->size_bytes, error))
        return NULL;
    g_autoptr(IfmDeviceSpec) from = ifm_device_spec_parse(link_case->from, error);
    g_autoptr(IfmDeviceSpec) to = from != NULL ? ifm_device_spec_parse(link_case->to, error) : NULL;
    const json_t *from_facts = to != NULL ? ifm_runner_engine_facts(runner, from->text, from, error) : NULL;
    const json_t *to_facts = from_facts != NULL ? ifm_runner_engine_facts(runner, to->text, to, error) : NULL;
    if (to_facts == NULL)
        return NULL;
    g_autofree char *device = pair_of(from->text, to->text), *alias = alias_of(link_case, from, to);
    g_autoptr(IfmCase) record = ifm_case_new();
    ifm_record_set_text(&record->subject_kind, "link");
    ifm_record_set_text(&record->subject_name, "link");
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, alias);
    ifm_record_set_json(&record->sizes, json_pack("{s:I}", "bytes", (json_int_t)link_case->size_bytes));
    ifm_record_set_json(&record->options, json_pack("{s:o}", "protocol", ifm_protocol_to_json(&link_case->protocol)));
    ifm_record_set_json(&record->surroundings, surroundings_of(runner, from_facts, to_facts));
    ifm_case_seal(record);
    return g_steal_pointer(&record);
}

typedef struct
{
    const IfmLinkCase *link_case; /* its specs are canonical */
    const char *worker;
} LinkJob;

static IfmMeasurement *measure_link(IfmHearing *hearing, void *user, GError **error)
{
    const LinkJob *job = user;
    IfmWorkerWatch watch = ifm_hearing_watch(hearing);
    json_auto_t *answer =
        ifm_runner_ask(hearing->runner, job->worker,
                       json_pack("{s:s,s:o}", "do", "link", "case", ifm_link_case_to_json(job->link_case)), &watch, error);
    return answer != NULL ? ifm_measurement_from_json(json_object_get(answer, "measurement"), error) : NULL;
}

IfmMeasurement *ifm_runner_measure_link(IfmRunner *runner, const IfmLinkCase *link_case, const IfmCase *sealed,
                                        GError **error)
{
    g_autoptr(IfmDeviceSpec) from = ifm_device_spec_parse(link_case->from, error);
    g_autoptr(IfmDeviceSpec) to = from != NULL ? ifm_device_spec_parse(link_case->to, error) : NULL;
    if (to == NULL)
        return NULL;
    IfmLinkCase whole = *link_case;
    whole.from = from->text;
    whole.to = to->text;
    LinkJob link = { &whole, sealed->device };
    const IfmDeviceSpec *devices[] = { from, to };
    IfmRunnerJob job = { .worker = sealed->device,
                         .devices = devices,
                         .n_devices = 2,
                         .level = link_case->protocol.level,
                         .measure = measure_link,
                         .user = &link };
    ifm_runner_drop_sets(runner, sealed->device);
    return ifm_runner_run(runner, &job, sealed, error);
}
