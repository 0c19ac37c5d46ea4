#include "compare-side.h"

#include <base/statistics.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include <math.h>
#include <string.h>

/* Sides that are compared: their records, and their processes one after the other. */

static void close_subject(IfmSide *side)
{
    if (side->is_open && side->kind->done != NULL)
        side->kind->done(&side->subject);
    side->is_open = FALSE;
}

static void side_clear(const IfmSides *self, IfmSide *side)
{
    close_subject(side);
    if (side->asked != NULL && side->kind->in_worker->finish != NULL)
        side->kind->in_worker->finish(self->runner, side->spec, &side->place, NULL);
    json_decref(side->asked);
    json_decref(side->protocol);
    json_decref(side->nodes);
    ifm_kind_place_clear(&side->place);
    ifm_case_free(side->sealed);
    ifm_measurement_free(side->measurement);
    ifm_worker_free(side->worker);
    json_decref(side->check);
    g_clear_pointer(&side->warmup_ns, g_array_unref);
    g_clear_pointer(&side->samples_ns, g_array_unref);
    g_free(side->setting);
    g_free(side->spec);
}

void ifm_sides_init(IfmSides *self, IfmRunner *runner, const IfmCompareSide *given, const char *const *names, gsize n,
                    guint32 seed)
{
    *self = (IfmSides){ .runner = runner, .sides = g_new0(IfmSide, n), .n = n, .random = g_rand_new_with_seed(seed) };
    self->monitor.runner = runner;
    for (gsize i = 0; i < n; i++)
    {
        IfmSide *side = &self->sides[i];
        side->name = names[i];
        side->given = &given[i];
        side->kind = given[i].kind;
        ifm_kind_place_init(&side->place);
        side->warmup_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
        side->samples_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    }
}

void ifm_sides_clear(IfmSides *self)
{
    for (gsize i = 0; i < self->n; i++)
        side_clear(self, &self->sides[i]);
    g_clear_pointer(&self->sides, g_free);
    ifm_run_monitor_clear(&self->monitor);
    g_clear_pointer(&self->random, g_rand_free);
}

gint64 ifm_sides_now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

/* --- the processes -------------------------------------------------------------------------------------------------- */

/* @device: whose cores it keeps to; NULL: none */
static gboolean start_worker(IfmSides *self, IfmSide *side, const char *device, GError **error)
{
    const char *folder = ifm_runner_folder(self->runner, error);
    if (folder != NULL)
        side->worker = ifm_worker_start(folder, device, side->setting, error);
    return side->worker != NULL;
}

/* @device: (out) (transfer full) that of a kind whose cases are on one; NULL: of another kind */
static gboolean read_device(const IfmSide *side, IfmDeviceSpec **device, GError **error)
{
    const IfmRecordField *field = ifm_kind_field(side->kind, "device");
    *device = NULL;
    if (field == NULL || side->kind->in_worker == NULL)
        return TRUE;
    const char *text = *(const char *const *)(const void *)((const char *)side->spec + field->offset);
    *device = ifm_device_spec_parse(text, error);
    return *device != NULL;
}

static gboolean has_load(const IfmSide *side)
{
    const IfmRecordField *field = ifm_kind_field(side->kind, "load");
    return field != NULL && *(const gsize *)(const void *)((const char *)side->spec + field->count) > 0;
}

/* The worker knows its library from a variable of its environment, the user from what was said on the command line. */
static void say_as_user(const IfmSide *side, GError **error)
{
    const char *variable = side->setting != NULL ? side->setting : "";
    g_autofree char *wrong = g_strdup_printf("(set by %.*s)", (int)strcspn(variable, "="), variable);
    if (side->given->runtime_said == NULL || error == NULL || *error == NULL)
        return;
    char *at = strstr((*error)->message, wrong);
    if (at == NULL)
        return;
    char *message = g_strdup_printf("%.*s(set by %s)%s", (int)(at - (*error)->message), (*error)->message,
                                    side->given->runtime_said, at + strlen(wrong));
    g_free((*error)->message);
    (*error)->message = message;
}

/* @request: (transfer full). Returns: (transfer full) NULL with an error that names the side. */
static json_t *ask(IfmSides *self, IfmSide *side, json_t *request, GError **error)
{
    json_auto_t *owned = request;
    IfmWorkerWatch watch = ifm_runner_watch(self->runner);
    if (side->kind->in_worker == NULL)
        return ifm_compare_answer(&side->subject, owned, watch.interrupted, error);
    watch.spent_ns = self->began_ns > 0 ? ifm_sides_now_ns() - self->began_ns : 0;
    watch.is_wrong = &side->is_wrong;
    gboolean alive;
    json_t *answer = ifm_worker_ask(side->worker, owned, &watch, &alive, error);
    if (!alive)
        g_clear_pointer(&side->worker, ifm_worker_free);
    if (answer == NULL && side->given->runtime != NULL)
        say_as_user(side, error);
    return answer;
}

/* The error of a case that could not be prepared is in its record. */
static gboolean take_ready(const json_t *answer, GError **error)
{
    if (json_is_true(json_object_get(answer, "ready")))
        return TRUE;
    g_autoptr(IfmMeasurement) failed = ifm_measurement_from_json(json_object_get(answer, "measurement"), error);
    if (failed != NULL)
        g_set_error_literal(error, IFM_ERROR, ifm_error_code_from_name(failed->error_code), failed->reason);
    return FALSE;
}

/* Asks once a side for what its kind's requests need: files, what devices can do. */
static gboolean complete_request(IfmSides *self, IfmSide *side, json_t *request, GError **error)
{
    const IfmKindInWorker *way = side->kind->in_worker;
    IfmMeasurement *skipped = NULL;
    if (way->ask == NULL)
        return TRUE;
    if (side->asked == NULL)
    {
        side->asked = json_object();
        const gboolean good =
            way->ask(&self->monitor, side->spec, side->sealed, &side->place, side->asked, &skipped, error);
        ifm_runner_drop_worker(self->runner, side->place.worker); /* nothing idles next to what is measured */
        if (!good && skipped != NULL)
            g_set_error_literal(error, IFM_ERROR, ifm_error_code_from_name(skipped->error_code), skipped->reason);
        ifm_measurement_free(skipped);
        if (!good)
            return FALSE;
    }
    json_object_update(request, side->asked);
    return TRUE;
}

gboolean ifm_side_prepare(IfmSides *self, IfmSide *side, GError **error)
{
    if (side->kind->in_worker == NULL)
        return side->is_open = side->kind->subject(side->spec, &side->subject, error);
    const gint64 waited_ns = ifm_runner_wait_idle(self->runner, side->place.devices);
    self->began_ns += self->began_ns > 0 ? waited_ns : 0;
    g_autofree char *device = ifm_runner_key_cores(side->place.worker);
    if (side->worker == NULL && !start_worker(self, side, device, error))
        return FALSE;
    json_t *request = ifm_kind_request(side->kind, side->spec, side->sealed, 0);
    if (!complete_request(self, side, request, error))
    {
        json_decref(request);
        return FALSE;
    }
    json_object_set_new(request, "rounds", json_true());
    json_object_set_new(request, "config_known", json_boolean(self->n_ended > 0));
    if (side->kind->in_worker->vary != NULL)
        side->kind->in_worker->vary(json_object_get(request, "case"), self->random);
    json_auto_t *answer = ask(self, side, request, error);
    if (answer == NULL || !take_ready(answer, error))
        return FALSE;
    side->true_outputs = json_is_true(json_object_get(answer, "true_outputs"));
    return TRUE;
}

/* Returns: the median of what is added; NaN where that is nothing. */
static double append_samples(GArray *series, const json_t *list)
{
    gsize n = json_array_size(list), i;
    json_t *item;
    g_autofree double *added = g_new(double, n + 1);
    json_array_foreach(list, i, item)
    {
        gint64 ns = json_integer_value(item);
        g_array_append_val(series, ns);
        added[i] = (double)ns;
    }
    return ifm_quantile_of(added, n, 0.5);
}

gboolean ifm_side_check_with(IfmSides *self, IfmSide *side, GError **error)
{
    side->check = json_object();
    if (side->kind->in_worker == NULL || !side->kind->in_worker->needs_reference)
        return TRUE;
    return ifm_references_add(side->spec, side->sealed, side->true_outputs, &self->monitor, side->check, error);
}

json_t *ifm_side_warm_up(IfmSides *self, IfmSide *side, json_t *request, GError **error)
{
    json_t *reference = json_object_get(side->check, "reference");
    if (reference != NULL)
        json_object_set(request, "reference", reference);
    json_t *answer = ask(self, side, request, error);
    if (answer == NULL)
        return NULL;
    side->run_ns = append_samples(side->warmup_ns, json_object_get(answer, "warmup_ns"));
    return answer;
}

gboolean ifm_side_run(IfmSides *self, IfmSide *side, gsize n_warm, gsize n_runs, double *median_ns, GError **error)
{
    json_t *request =
        json_pack("{s:s,s:I,s:I}", "do", "compare-round", "warmup", (json_int_t)n_warm, "runs", (json_int_t)n_runs);
    json_auto_t *answer = ask(self, side, request, error);
    if (answer == NULL)
        return FALSE;
    const double found_ns = append_samples(side->samples_ns, json_object_get(answer, "samples_ns"));
    *median_ns = MAX(found_ns, 1); /* a simulated device may take no time at all */
    return TRUE;
}

/* The times of a process by the nodes of the first: 0 of those that took no time it can tell. Of one that made another
 * graph null. (transfer full) */
static json_t *times_of(const json_t *first, const json_t *answer)
{
    const json_t *names = json_object_get(first, "names"), *own = json_object_get(answer, "names"),
                 *node_ns = json_object_get(answer, "node_ns");
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    json_t *times = json_array();
    gsize n_found = 0;
    for (gsize i = 0; i < json_array_size(own); i++)
        g_hash_table_insert(by_name, (gpointer)json_string_value(json_array_get(own, i)), GSIZE_TO_POINTER(i + 1));
    gsize n_known = 0;
    for (gsize i = 0; i < json_array_size(names); i++)
        n_known += g_hash_table_contains(by_name, json_string_value(json_array_get(names, i)));
    /* names that are there twice are told apart by their order, and those that a runtime numbers anew in each process */
    const gboolean in_order =
        json_equal(names, own) || (n_known < json_array_size(names) &&
                                   json_equal(json_object_get(first, "op_types"), json_object_get(answer, "op_types")));
    for (gsize i = 0; i < json_array_size(names); i++)
    {
        const char *name = json_string_value(json_array_get(names, i));
        const gsize place = in_order ? i + 1 : GPOINTER_TO_SIZE(g_hash_table_lookup(by_name, name));
        json_array_append_new(times, json_real(place > 0 ? json_number_value(json_array_get(node_ns, place - 1)) : 0));
        n_found += place > 0;
    }
    if (2 * n_found > json_array_size(names))
        return times;
    json_decref(times);
    return json_null();
}

static void take_nodes(IfmSide *side, const json_t *answer, gint64 elapsed_ns)
{
    if (side->nodes == NULL)
        side->nodes = json_pack("{s:O*,s:O*,s:O*,s:[],s:i}", "names", json_object_get(answer, "names"), "op_types",
                                json_object_get(answer, "op_types"), "why", json_object_get(answer, "why"), "rounds",
                                "elapsed_ns", 0);
    json_array_append_new(json_object_get(side->nodes, "rounds"), times_of(side->nodes, answer));
    const gint64 before_ns = json_integer_value(json_object_get(side->nodes, "elapsed_ns"));
    json_object_set_new(side->nodes, "elapsed_ns", json_integer(before_ns + elapsed_ns));
}

gboolean ifm_side_node_times(IfmSides *self, IfmSide *side, gint64 time_ns, GError **error)
{
    const gint64 began_ns = ifm_sides_now_ns();
    if (side->kind->in_worker == NULL || json_object_get(side->nodes, "why") != NULL)
        return TRUE;
    json_auto_t *answer =
        ask(self, side, json_pack("{s:s,s:I}", "do", "compare-nodes", "time_ns", (json_int_t)time_ns), error);
    if (answer == NULL)
        return FALSE;
    take_nodes(side, answer, ifm_sides_now_ns() - began_ns);
    self->began_ns += ifm_sides_now_ns() - began_ns;
    return TRUE;
}

gboolean ifm_side_end(IfmSides *self, IfmSide *side, GError **error)
{
    json_t *request =
        json_pack("{s:s,s:O*}", "do", "compare-end", "verification", json_object_get(side->check, "verification"));
    json_auto_t *answer = ask(self, side, request, error);
    g_clear_pointer(&side->worker, ifm_worker_free);
    close_subject(side);
    if (answer != NULL &&
        side->measurement ==
            NULL) /* what is known of the first process holds for all: its effective configuration is known */
        side->measurement = ifm_measurement_from_json(json_object_get(answer, "measurement"), error);
    return answer != NULL && side->measurement != NULL;
}

gboolean ifm_sides_step(IfmSides *self, IfmSideStep step, const gsize *order, GError **error)
{
    for (gsize i = 0; i < self->n; i++)
    {
        IfmSide *side = &self->sides[order != NULL ? order[i] : i];
        if (step(self, side, error))
            continue;
        g_prefix_error(error, "%s: ", side->name);
        return FALSE;
    }
    return TRUE;
}

/* --- the records ---------------------------------------------------------------------------------------------------- */

/* The case of a side is another than that of the same thing measured by itself: its protocol is the comparison's.
 * @protocol: (transfer full) */
static void set_protocol(IfmCase *sealed, json_t *protocol)
{
    json_object_set_new(sealed->options, "protocol", protocol);
    ifm_case_seal(sealed);
}

/* A completed copy of what describes a side, with a protocol that is none of its own. */
static void *spec_of(const IfmCompareSide *given)
{
    void *spec = g_memdup2(given->spec, given->kind->size);
    IfmProtocol *protocol = ifm_kind_protocol(given->kind, spec);
    if (protocol != NULL)
        *protocol = IFM_PROTOCOL_INIT;
    return spec;
}

static gboolean check_kind(const IfmCaseKind *kind, GError **error)
{
    if (kind->in_worker != NULL ? kind->in_worker->subject != NULL : kind->subject != NULL)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "a case of kind %s has no runs to repeat, so none to compare",
                         kind->name);
}

IfmCase *ifm_side_case(IfmRunner *runner, const IfmCompareSide *given, json_t *protocol, GError **error)
{
    g_autofree void *spec = spec_of(given);
    IfmCase *sealed = check_kind(given->kind, error) ? ifm_kind_seal(runner, given->kind, spec, NULL, error) : NULL;
    if (sealed != NULL)
        set_protocol(sealed, protocol);
    else
        json_decref(protocol);
    return sealed;
}

char *ifm_side_setting(const IfmCompareSide *given, const IfmDeviceSpec *device)
{
    const char *variable = device != NULL ? ifm_path_runtime_variable(device->engine) : NULL;
    if (given->runtime == NULL || variable == NULL)
        return NULL;
    g_autofree char *library = g_canonicalize_filename(given->runtime, NULL);
    return g_strdup_printf("%s=%s", variable, library);
}

/* What can be said before anything is started. */
static gboolean check_side(IfmSides *self, IfmSide *side, GError **error)
{
    g_autoptr(IfmDeviceSpec) device = NULL;
    side->spec = spec_of(side->given);
    if (!check_kind(side->kind, error) || !read_device(side, &device, error))
        return FALSE;
    if (has_load(side))
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "a comparison has no background load");
    side->setting = ifm_side_setting(side->given, device);
    return side->given->runtime == NULL || side->setting != NULL ||
           ifm_error_refuse(error, "%s: engine %s has no runtime's library to choose", side->given->runtime,
                            device != NULL ? device->engine : "of several devices");
}

/* The engine's facts are those of this side's own runtime, where its kind is on one device. */
static gboolean seal(IfmSides *self, IfmSide *side, GError **error)
{
    g_autoptr(IfmDeviceSpec) device = NULL;
    json_auto_t *facts = NULL;
    if (!read_device(side, &device, error))
        return FALSE;
    if (device != NULL)
    {
        const char *cores = device->n_cores > 0 ? device->text : NULL;
        facts = start_worker(self, side, cores, error)
                    ? ask(self, side, json_pack("{s:s,s:s}", "do", "engine", "engine", device->engine), error)
                    : NULL;
        if (facts == NULL)
            return FALSE;
    }
    side->sealed = ifm_kind_seal(self->runner, side->kind, side->spec, facts, error);
    if (side->sealed == NULL)
        return FALSE;
    set_protocol(side->sealed, json_incref(side->protocol));
    if (side->kind->complete != NULL && !side->kind->complete(side->spec, error))
        return FALSE;
    return side->kind->in_worker == NULL ||
           side->kind->in_worker->place(self->runner, side->spec, side->sealed, &side->place, error);
}

gboolean ifm_sides_start(IfmSides *self, const gsize *order, GError **error)
{
    return ifm_sides_step(self, check_side, NULL, error) && ifm_sides_step(self, seal, order, error);
}

void ifm_sides_end_processes(IfmSides *self)
{
    for (gsize i = 0; i < self->n; i++)
        g_clear_pointer(&self->sides[i].worker, ifm_worker_free);
}

gboolean ifm_sides_repeat(IfmSides *self, gboolean (*once)(void *user, GError **error), gboolean (*is_done)(void *user),
                          void *user, const char *whole, gboolean *interrupted, GError **error)
{
    g_autoptr(GError) failure = NULL;
    gboolean done = FALSE;
    self->began_ns = ifm_sides_now_ns();
    while (!done && !ifm_runner_is_interrupted(self->runner) && once(user, &failure))
    {
        self->n_ended++;
        done = is_done(user);
    }
    *interrupted = !done && ifm_runner_is_interrupted(self->runner);
    if (*interrupted && self->n_ended > 0)
        return TRUE;
    if (*interrupted && failure == NULL)
        return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted before %s", whole);
    return ifm_error_pass(error, g_steal_pointer(&failure)) && done;
}

void ifm_sides_end(IfmSides *self)
{
    json_decref(self->monitor.after); /* one of a reference that was asked for meanwhile */
    self->monitor.after = ifm_sensor_snapshot("/");
    for (gsize i = 0; i < self->n; i++)
    {
        g_clear_pointer(&self->monitor.cores, g_array_unref);
        if (self->sides[i].kind->in_worker != NULL)
            self->monitor.cores = ifm_runner_cores(self->sides[i].place.devices);
        ifm_run_monitor_add_environment(&self->monitor, self->sides[i].measurement);
    }
}

static const json_t *warnings_of(const IfmSide *side)
{
    return json_object_get(side->measurement->environment, "warnings");
}

static gboolean is_of_all(const IfmSides *self, const char *warning)
{
    for (gsize i = 0; i < self->n; i++)
        if (!ifm_is_among(warnings_of(&self->sides[i]), warning))
            return FALSE;
    return TRUE;
}

/* What disturbed the machine disturbed all. */
GPtrArray *ifm_sides_warnings(const IfmSides *self)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < self->n; i++)
    {
        gsize n;
        json_t *warning;
        json_array_foreach(warnings_of(&self->sides[i]), n, warning)
        {
            const char *text = json_string_value(warning);
            if (!is_of_all(self, text))
                g_ptr_array_add(list, g_strdup_printf("%s: %s", self->sides[i].name, text));
            else if (i == 0)
                g_ptr_array_add(list, g_strdup(text));
        }
    }
    return list;
}

void ifm_side_finish(IfmSide *side, const char *stop_reason, double level, json_t *result)
{
    IfmMeasurement *measurement = side->measurement;
    ifm_record_set_text(&measurement->case_key, side->sealed->key);
    ifm_record_set_text(&measurement->stop_reason, stop_reason);
    GArray **series[] = { &measurement->warmup_ns, &measurement->samples_ns };
    GArray **taken[] = { &side->warmup_ns, &side->samples_ns };
    for (gsize i = 0; i < G_N_ELEMENTS(series); i++)
    {
        g_clear_pointer(series[i], g_array_unref);
        *series[i] = g_steal_pointer(taken[i]);
    }
    ifm_measurement_summarise(measurement, level);
    if (measurement->result == NULL)
        measurement->result = json_object();
    json_object_update_new(measurement->result, result);
}
