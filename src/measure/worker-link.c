#include <inferometer/json.h>

#include "worker-private.h"

/* Everything a link case holds while it is measured. */
typedef struct
{
    Worker *worker;
    IfmLinkCase link_case;
    IfmEngine *from, *to; /* borrowed */
    IfmLinkSubject *subject;
    gboolean told_lost;
} Link;

static void link_clear(Link *link)
{
    g_clear_pointer(&link->subject, ifm_link_subject_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Link, link_clear)

static gboolean is_simulated(const char *device)
{
    return g_str_has_prefix(device, "simulated:");
}

/* Both go by one clock: a virtual one means nothing to a real device. */
static gboolean open_engines(Link *link, GError **error)
{
    g_autoptr(IfmDeviceSpec) from = NULL;
    g_autoptr(IfmDeviceSpec) to = NULL;
    link->worker->keeps_real_time = is_simulated(link->link_case.from) != is_simulated(link->link_case.to);
    link->from = worker_open_device(link->worker, link->link_case.from, &from, error);
    link->to = link->from != NULL ? worker_open_device(link->worker, link->link_case.to, &to, error) : NULL;
    return link->to != NULL;
}

/* The receiver's runtime makes the copy, where there is one alone. */
static void describe_surroundings(const Link *link)
{
    g_autofree char *device = g_strdup_printf("%s>%s", link->link_case.from, link->link_case.to);
    link->worker->measurement->surroundings =
        json_pack("{s:o,s:o,s:s,s:[]}", "runtime", worker_engine_to_json(link->to), "sender_runtime",
                  worker_engine_to_json(link->from), "device", device, "warnings");
}

static void say_lost(Link *link, json_t *devices /* (transfer full) */)
{
    link->told_lost = TRUE;
    worker_say(link->worker, json_pack("{s:s,s:o}", "say", "lost", "devices", devices));
}

/* A lost device may have done as if it copied: both must still be there afterwards. */
static gboolean still_there(Link *link, GError **error)
{
    IfmEngine *engines[] = { link->from, link->to };
    const char *devices[] = { link->link_case.from, link->link_case.to };
    json_t *lost = json_array();
    worker_enter_phase(link->worker, "probing the devices");
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
    return !link->told_lost;
}

/* Asked of the kernel: on which cores this thread, which copies, may run. FALSE where they are not those asked for. */
static gboolean attest_cores(const Link *link, GError **error)
{
    const char *devices[] = { link->link_case.to, link->link_case.from };
    g_autofree char *found = ifm_affinity_to_string();
    link->worker->measurement->attest = json_pack("{s:s}", "cores", found);
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

static gboolean run_copies(const Link *link, GError **error)
{
    Worker *worker = link->worker;
    IfmMeasureOptions options = { .protocol = link->link_case.protocol,
                                  .interrupted = &worker->interrupted,
                                  .progress = worker_beat,
                                  .progress_user = worker };
    IfmSubject slots = ifm_link_subject_slots(link->subject);
    worker_send_draft(worker);
    worker_enter_phase(worker, "running");
    gboolean measured = ifm_measure_subject(&slots, &options, worker->measurement, error);
    json_object_set_new(worker->measurement->verification, "n_checks",
                        json_integer((json_int_t)ifm_link_subject_n_checks(link->subject)));
    return measured;
}

static gboolean measure(Link *link, GError **error)
{
    Worker *worker = link->worker;
    worker_enter_phase(worker, "opening the runtimes");
    if (!open_engines(link, error))
        return FALSE;
    describe_surroundings(link);
    worker_tell_base(worker);
    if (!worker_go_on(worker, "taking the devices' memory", 1, error))
        return FALSE;
    link->subject = ifm_link_subject_new();
    if (!ifm_link_subject_open(link->subject, link->from, link->to, &link->link_case, error))
        return FALSE;
    json_object_set_new(worker->measurement->surroundings, "link", ifm_link_subject_describe(link->subject));
    if (!attest_cores(link, error))
        return FALSE;
    g_autoptr(GError) failure = NULL;
    gboolean measured = run_copies(link, &failure);
    gboolean known =
        g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) || g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    if (!known && !still_there(link, error)) /* that says more than what it answered then */
        return FALSE;
    if (!measured)
        g_propagate_error(error, g_steal_pointer(&failure));
    return measured;
}

json_t *worker_answer_link(Worker *worker, const json_t *request, GError **error)
{
    g_auto(Link) link = { .worker = worker };
    g_autoptr(GError) failure = NULL;
    worker_drop_prepared(worker);
    if (!ifm_link_case_from_json(json_object_get(request, "case"), &link.link_case, error))
        return NULL;
    worker->measurement = ifm_measurement_new();
    measure(&link, &failure);
    gboolean lost = g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    if (lost && !link.told_lost && link.subject != NULL && ifm_link_subject_blamed(link.subject) != NULL)
        say_lost(&link, json_pack("[s]", ifm_link_subject_blamed(link.subject)));
    return worker_answer_measurement(worker, failure, error);
}
