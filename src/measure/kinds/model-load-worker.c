#include <base/base.h>
#include <base/fields.h>
#include <pthread.h>

#include "../worker-private.h"

/* One device that infers again and again while another is measured. */
typedef struct
{
    const IfmLoadDevice *device; /* the case's */
    WorkerLoad *all;
    IfmModel *model;
    IfmModelSubject *subject;
    IfmSubject slots;
    json_t *effective_config;
    pthread_t thread;
    gint64 began_ns, ended_ns; /* on the clock; the thread's, until it is joined */
    IfmRepeat runs;            /* so are these */
    gboolean under_way, ended; /* under the condition's lock */
} Load;

struct WorkerLoad
{
    Worker *worker;
    IfmClock *clock;         /* of all engines; borrowed */
    IfmCondition *condition; /* a load is under way, or has ended */
    gint stop;               /* atomic */
    gsize n, n_running;      /* threads to be joined */
    Load *loads;
};

void worker_load_free(WorkerLoad *self)
{
    if (self == NULL)
        return;
    for (gsize i = 0; i < self->n; i++)
    {
        g_clear_pointer(&self->loads[i].subject, ifm_model_subject_free);
        g_clear_pointer(&self->loads[i].model, ifm_model_unref);
        json_decref(self->loads[i].effective_config);
        g_clear_error(&self->loads[i].runs.error);
    }
    ifm_condition_free(self->condition);
    g_free(self->loads);
    g_free(self);
}

static const char *name_of(const IfmLoadDevice *device)
{
    return device->alias != NULL ? device->alias : device->device;
}

/* --- preparing -------------------------------------------------------------------------------------------------------- */

/* Whether its model still is the one that the case was made of. */
static gboolean check_sealed(const Load *load, const json_t *sealed, GError **error)
{
    gsize i;
    json_t *row;
    const char *digest = ifm_model_digest(load->model, error);
    if (digest == NULL)
        return FALSE;
    json_array_foreach(sealed, i, row)
    {
        if (g_strcmp0(ifm_member_text(row, "device"), load->device->device) == 0 &&
            g_strcmp0(ifm_member_text(row, "model"), digest) == 0)
            return TRUE;
    }
    return ifm_error_refuse(error, "%s: changed since this case was made", load->device->model_path);
}

static gboolean compile(Load *load, IfmEngine *engine, const IfmDeviceSpec *spec, const json_t *sealed, GError **error)
{
    IfmModelCase model_case = *worker_model_case(load->all->worker);
    load->model = ifm_model_open(load->device->model_path, error);
    if (load->model == NULL || !check_sealed(load, sealed, error))
        return FALSE;
    /* sizes come from the case: of those, the model takes what its inputs have free */
    const gboolean is_bound = model_case.n_bindings > 0;
    const IfmDimBinding *sizes = is_bound ? model_case.bindings : model_case.sizes;
    const gsize n = is_bound ? model_case.n_bindings : model_case.n_sizes;
    g_autofree IfmDimBinding *bindings = g_new(IfmDimBinding, n + 1);
    model_case.device = load->device->device;
    model_case.model_path = load->device->model_path;
    model_case.free_shapes = load->device->free_shapes;
    model_case.convolutions = NULL;
    model_case.n_bindings = sizes != NULL ? ifm_free_bindings(load->model, sizes, n, bindings) : 0;
    model_case.bindings = bindings;
    if (load->device->inputs_path != NULL)
        model_case.inputs_path = load->device->inputs_path;
    if (!worker_check_load_fits(engine, spec, load->model, &model_case, error))
        return FALSE;
    load->subject = ifm_model_subject_new(engine, load->model, &model_case, IFM_COMPILE_MEASURED, error);
    return load->subject != NULL;
}

static gboolean effective_config(Load *load, GError **error)
{
    g_autoptr(GError) failure = NULL;
    load->slots = ifm_model_subject_slots(load->subject);
    load->effective_config = ifm_model_subject_effective_config(load->subject, load->all->worker->measurement, &failure);
    json_object_del(load->effective_config, "nodes"); /* the measured device's are what a record is asked for */
    return ifm_error_pass(error, g_steal_pointer(&failure)) && load->effective_config != NULL;
}

int ifm_devices_share_core(const char *a, const char *b)
{
    g_autoptr(IfmDeviceSpec) one = ifm_device_spec_parse(a, NULL);
    g_autoptr(IfmDeviceSpec) other = ifm_device_spec_parse(b, NULL);
    int core = -1;
    const gboolean real =
        one != NULL && other != NULL && !g_str_equal(one->engine, "simulated") && !g_str_equal(other->engine, "simulated");
    for (gsize i = 0; real && core < 0 && i < one->n_cores; i++)
        for (gsize k = 0; core < 0 && k < other->n_cores; k++)
            core = one->cores[i] == other->cores[k] ? one->cores[i] : -1;
    return core;
}

/* Two that are pinned to one core take turns there, which is another thing than working at once. */
static void warn_of_shared_cores(Worker *worker, const char *a_name, const char *a_device, const char *b_name,
                                 const char *b_device)
{
    const int core = ifm_devices_share_core(a_device, b_device);
    if (core >= 0)
        ifm_measurement_warn(worker->measurement, "%s and %s share core %d: they take turns there", a_name, b_name, core);
}

static void check_cores(Worker *worker)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    for (gsize i = 0; i < model_case->n_load; i++)
    {
        const IfmLoadDevice *one = &model_case->load[i];
        warn_of_shared_cores(worker, model_case->device, model_case->device, name_of(one), one->device);
        for (gsize k = 0; k < i; k++)
            warn_of_shared_cores(worker, name_of(&model_case->load[k]), model_case->load[k].device, name_of(one),
                                 one->device);
    }
}

static gboolean prepare_one(Worker *worker, Load *load, const json_t *sealed, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = NULL;
    IfmEngine *engine = worker_open_device(worker, load->device->device, &spec, error);
    if (engine == NULL || !compile(load, engine, spec, sealed, error))
        return FALSE;
    g_assert(ifm_engine_info(engine).clock == worker->load->clock); /* one clock goes for all */
    return worker_go_on(worker, "checking the background load", WORKER_EFFECTIVE_CONFIG_STEPS, error) &&
           effective_config(load, error);
}

gboolean worker_load_prepare(Worker *worker, const json_t *sealed, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    if (model_case->n_load == 0)
        return TRUE;
    WorkerLoad *self = worker->load = g_new0(WorkerLoad, 1);
    self->worker = worker;
    self->clock = ifm_engine_info(worker->engine).clock;
    self->condition = ifm_condition_new(self->clock);
    self->loads = g_new0(Load, model_case->n_load);
    check_cores(worker);
    for (gsize i = 0; i < model_case->n_load; i++)
    {
        Load *load = &self->loads[self->n++];
        *load = (Load){ .device = &model_case->load[i], .all = self };
        if (!worker_go_on(worker, "compiling the background load", 1, error))
            return FALSE;
        if (!prepare_one(worker, load, sealed, error))
        {
            g_prefix_error(error, "load %s: ", name_of(load->device));
            return FALSE;
        }
    }
    return TRUE;
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

static void announce(Load *load, gboolean *what)
{
    ifm_condition_lock(load->all->condition);
    *what = TRUE;
    ifm_condition_broadcast(load->all->condition);
    ifm_condition_unlock(load->all->condition);
}

/* A lost device may answer at once. On a virtual clock no time would pass then, and nothing else get done. */
static gboolean infer_once(void *data, GError **error)
{
    Load *load = data;
    const IfmClock *clock = load->all->clock;
    const gint64 began_ns = ifm_clock_now_ns(load->all->clock);
    if (!load->slots.run(load->slots.self, error))
        return FALSE;
    if (ifm_clock_is_virtual(clock) && ifm_clock_now_ns(load->all->clock) <= began_ns)
        return ifm_error_set(error, IFM_ERROR_FAILED, "it answered at once, which no inference does");
    if (!load->under_way)
        announce(load, &load->under_way);
    return TRUE;
}

/* On the device's executing thread. */
static void infer_again_and_again(void *data)
{
    Load *load = data;
    load->runs = (IfmRepeat){ { .run = infer_once, .self = load }, .until_ns = IFM_CLOCK_NEVER, .stop = &load->all->stop };
    load->began_ns = ifm_clock_now_ns(load->all->clock);
    ifm_repeat(&load->runs);
    if (load->runs.error != NULL)
        g_atomic_int_set(&load->all->worker->interrupted, 1); /* what is measured from here on is of no use */
    load->ended_ns = ifm_clock_now_ns(load->all->clock);
}

static void *load_main(void *data)
{
    Load *load = data;
    load->slots.invoke(load->slots.self, infer_again_and_again, load);
    announce(load, &load->ended);
    ifm_clock_leave(load->all->clock);
    return NULL;
}

gboolean worker_load_start(Worker *worker, GError **error)
{
    WorkerLoad *self = worker->load;
    if (self == NULL)
        return TRUE;
    worker_enter_phase(worker, "starting the background load");
    for (; self->n_running < self->n; self->n_running++)
    {
        Load *load = &self->loads[self->n_running];
        ifm_clock_enter(self->clock); /* for the thread, before it runs */
        int failure = pthread_create(&load->thread, NULL, load_main, load);
        if (failure == 0)
            continue;
        ifm_clock_leave(self->clock);
        return ifm_error_set(error, IFM_ERROR_MEMORY, "load %s: no thread: %s", name_of(load->device), g_strerror(failure));
    }
    ifm_condition_lock(self->condition);
    for (gsize i = 0; i < self->n; i++)
        while (!self->loads[i].under_way && !self->loads[i].ended)
            ifm_condition_wait_until(self->condition, IFM_CLOCK_NEVER);
    ifm_condition_unlock(self->condition);
    return TRUE;
}

static void end_threads(WorkerLoad *self)
{
    g_atomic_int_set(&self->stop, 1);
    ifm_clock_leave(self->clock); /* a join is no wait of the clock's */
    for (gsize i = 0; i < self->n_running; i++)
        pthread_join(self->loads[i].thread, NULL);
    ifm_clock_enter(self->clock);
    self->n_running = 0;
}

/* --- what came of it -------------------------------------------------------------------------------------------------- */

static json_t *load_to_json(const Load *load)
{
    json_t *json = json_pack("{s:s,s:I,s:i,s:I,s:O}", "device", load->device->device, "n_inferences",
                             (json_int_t)load->runs.n, "n_failed", load->runs.error != NULL, "span_ns",
                             (json_int_t)(load->ended_ns - load->began_ns), "effective_config", load->effective_config);
    if (load->device->alias != NULL)
        json_object_set_new(json, "alias", ifm_json_string(load->device->alias));
    return json;
}

static void describe(WorkerLoad *self)
{
    json_t *list = json_array();
    for (gsize i = 0; i < self->n; i++)
        json_array_append_new(list, load_to_json(&self->loads[i]));
    json_object_set_new(self->worker->measurement->environment, "background_load", list);
}

/* A device that is lost says more by that than by what it answered then. */
static gboolean still_there(Load *load, GError **error)
{
    Worker *worker = load->all->worker;
    g_autoptr(IfmDeviceSpec) spec = NULL;
    g_autoptr(GError) failure = NULL;
    IfmEngine *engine = worker_open_device(worker, load->device->device, &spec, NULL);
    gboolean lost = g_error_matches(load->runs.error, IFM_ERROR, IFM_ERROR_LOST);
    if (engine != NULL && !lost && ifm_engine_probe_device(engine, spec, &failure))
        return TRUE;
    ifm_error_set(error, IFM_ERROR_LOST, "%s",
                  lost              ? load->runs.error->message
                  : failure != NULL ? failure->message
                                    : "its engine cannot be opened again");
    worker_say_lost(worker, load->device->device);
    return FALSE;
}

static gboolean check(Load *load, GError **error)
{
    if (!still_there(load, error))
        return FALSE;
    return ifm_error_pass(error, load->runs.error != NULL ? g_error_copy(load->runs.error) : NULL) &&
           load->slots.verify(load->slots.self, error);
}

gboolean worker_load_stop(Worker *worker, GError **error)
{
    WorkerLoad *self = worker->load;
    if (self == NULL)
        return TRUE;
    worker_enter_phase(worker, "ending the background load");
    end_threads(self);
    describe(self);
    for (gsize i = 0; i < self->n; i++)
        if (!check(&self->loads[i], error))
        {
            g_prefix_error(error, "load %s: ", name_of(self->loads[i].device));
            return FALSE;
        }
    return TRUE;
}
