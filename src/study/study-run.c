#include <math.h>
#include <sched.h>
#include <string.h>

#include <inferometer/paths.h>

#include "study-private.h"

/* How often the time spent is put down while cases end; what a kill forgets of it is less than this. */
#define NOTE_EVERY_US (5 * G_USEC_PER_SEC)

/* What takes equally long: links, each stage alone, ranges by their length, and both beside others, by the length, too. */
#define MOST_KINDS (1 + 3 * IFM_MAX_STAGES)

/* One study on its way. */
typedef struct
{
    IfmStudy *study;
    IfmStore *store;
    const IfmStudyOptions *options;
    IfmRunner *runner;
    IfmStudyProgress progress;
    char *step;     /* what progress.step points to: the runner's own words are gone once its call returns */
    json_t *before; /* the manifest as the store has it, or NULL */
    StudyPast *past;
    json_t *sessions; /* array; the last one is this one's, once something was measured */
    json_t *session;  /* borrowed from it; NULL before that */
    gint64 started_unix_ms, began_us, noted_us, case_began_us;
    struct
    {
        gint64 spent_us;
        gsize n;
    } kinds[MOST_KINDS]; /* what cases of each stage took in this session */
    gint64 left_ns;
    GHashTable *free_dims; /* model path -> GPtrArray of names */
} Run;

static void run_clear(Run *run)
{
    ifm_runner_free(run->runner);
    g_free(run->step);
    study_past_free(run->past);
    json_decref(run->before);
    json_decref(run->sessions);
    g_hash_table_unref(run->free_dims);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static gboolean is_here(const StudyCase *one)
{
    gboolean here = one->device->reason == NULL && (one->to == NULL || one->to->reason == NULL);
    for (IfmStudyDevice **other = one->beside; here && other != NULL && *other != NULL; other++)
        here = (*other)->reason == NULL;
    return here;
}

static gboolean is_interrupted(const Run *run)
{
    return run->options->interrupted != NULL && g_atomic_int_get(run->options->interrupted) != 0;
}

/* --- devices -------------------------------------------------------------------------------------------------------- */

/* Whether an engine that is here knows no unit of that name, present or absent. */
static gboolean is_unknown_unit(Run *run, const IfmDeviceSpec *spec)
{
    gsize i;
    json_t *device;
    json_auto_t *found = ifm_runner_devices(run->runner, spec->engine, NULL);
    json_array_foreach(json_object_get(found, "devices"), i, device)
    {
        g_autoptr(IfmDeviceSpec) listed = ifm_device_spec_parse(json_string_value(json_object_get(device, "spec")), NULL);
        if (listed != NULL && g_str_equal(listed->unit, spec->unit))
            return FALSE;
    }
    return json_array_size(json_object_get(found, "devices")) > 0;
}

/* Cores that are not there would be found out by every case anew. A simulated device runs on none. */
static gboolean check_cores(const IfmStudyDevice *device, const IfmDeviceSpec *spec, GError **error)
{
    cpu_set_t usable;
    if (device->simulated || sched_getaffinity(0, sizeof usable, &usable) != 0)
        return TRUE;
    for (gsize i = 0; i < spec->n_cores; i++)
    {
        if (spec->cores[i] < CPU_SETSIZE && CPU_ISSET((gsize)spec->cores[i], &usable))
            continue;
        g_autofree char *all = ifm_affinity_to_string();
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "%s=%s: there is no core %d that this process may use; it may use %s", device->alias, device->device,
                    spec->cores[i], all);
        return FALSE;
    }
    return TRUE;
}

/* A device that was lost is here: its cases are skipped one by one, so that each tells why. */
static gboolean find_device(Run *run, IfmStudyDevice *device, GError **error)
{
    GError *trouble = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
    if (spec == NULL || !check_cores(device, spec, error))
        return FALSE;
    g_clear_pointer(&device->description, g_free);
    g_clear_pointer(&device->reason, g_free);
    if (ifm_runner_find_device(run->runner, device->device, &device->description, &trouble))
        return TRUE;
    if (device->asked && g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNAVAILABLE) && is_unknown_unit(run, spec))
        trouble->code = IFM_ERROR_INVALID;
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED) || g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID))
    {
        g_propagate_prefixed_error(error, trouble, "%s=%s: ", device->alias, device->device);
        return FALSE;
    }
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_LOST))
        ifm_runner_set_lost(run->runner, device->device, trouble->message);
    else
        device->reason = g_strdup(trouble->message);
    g_error_free(trouble);
    return TRUE;
}

static gboolean check_any_device(const Run *run, GError **error)
{
    g_autoptr(GString) reasons = g_string_new(NULL);
    gboolean any = FALSE;
    for (guint i = 0; i < run->study->devices->len; i++)
    {
        const IfmStudyDevice *device = run->study->devices->pdata[i];
        any |= device->reason == NULL;
        if (device->reason != NULL)
            g_string_append_printf(reasons, "%s%s: %s", reasons->len > 0 ? "; " : "", device->alias, device->reason);
    }
    if (!any)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "no device of study \"%s\" is here: %s", run->study->name,
                    reasons->str);
    return any;
}

static gboolean find_devices(Run *run, GError **error)
{
    for (guint i = 0; i < run->study->devices->len; i++)
        if (!find_device(run, run->study->devices->pdata[i], error))
            return FALSE;
    return check_any_device(run, error);
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

/* What the runner is told of a case; the strings are its own. */
typedef struct
{
    IfmModelCase model_case;
    char *model_path, *inputs_path, *cache_dir, *name;
    IfmDimBinding bindings[2], sizes[2];
    IfmLoadDevice load[IFM_PLAN_MAX_DEVICES];
    char *load_models[IFM_PLAN_MAX_DEVICES], *load_inputs[IFM_PLAN_MAX_DEVICES];
} CaseText;

static void case_text_clear(CaseText *text)
{
    g_free(text->model_path);
    g_free(text->inputs_path);
    g_free(text->cache_dir);
    g_free(text->name);
    for (gsize i = 0; i < text->model_case.n_load; i++)
    {
        g_free(text->load_models[i]);
        g_free(text->load_inputs[i]);
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CaseText, case_text_clear)

/* Names of a model's free dimensions; borrowed. */
static const GPtrArray *free_dims_of(Run *run, const char *path, GError **error)
{
    GPtrArray *names = g_hash_table_lookup(run->free_dims, path);
    g_autoptr(IfmModel) model = names == NULL ? ifm_model_open(path, error) : NULL;
    if (model == NULL)
        return names;
    names = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int d = 0; d < port->rank; d++)
            if (port->dim_names[d] != NULL)
                g_ptr_array_add(names, g_strdup(port->dim_names[d]));
    }
    g_hash_table_insert(run->free_dims, g_strdup(path), names);
    return names;
}

/* Whether a range reads what the graph gives; the other ones' cases are the same whatever the graph. */
static gboolean reads_graph(const IfmStagedModel *staged, int first, int last)
{
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(staged, first, last);
    for (guint i = 0; i < inputs->len; i++)
    {
        const char *name = ((const IfmBoundary *)inputs->pdata[i])->name;
        if (g_str_equal(name, "edge_index") || g_str_equal(name, "c"))
            return TRUE;
    }
    return FALSE;
}

static gboolean add_binding(CaseText *text, const GPtrArray *free_dims, const char *name, gint64 value)
{
    if (!g_ptr_array_find_with_equal_func((GPtrArray *)free_dims, name, g_str_equal, NULL))
        return FALSE;
    text->bindings[text->model_case.n_bindings++] = (IfmDimBinding){ name, value };
    return TRUE;
}

static char *name_of(const IfmStudy *study, const StudyCase *one)
{
    const IfmStudyCase *row = &one->row;
    if (row->last > row->stage)
        return g_strdup_printf("%s stages %d-%d", study->staged->name, row->stage, row->last);
    return g_strdup_printf("%s stage %d %s", study->staged->name, row->stage, study_stage(study->staged, row->stage)->name);
}

/* What works beside: the same stages at the same size. */
static void describe_load(Run *run, const StudyCase *one, gboolean graph, CaseText *text)
{
    gsize n = 0;
    for (IfmStudyDevice **other = one->beside; other != NULL && *other != NULL; other++, n++)
    {
        text->load_models[n] = study_model_path(one, *other, run->options->folder);
        gboolean dynamic = (*other)->form == IFM_STUDY_DYNAMIC; /* takes what the measured one takes, padded or not */
        if (graph)
            text->load_inputs[n] = study_inputs_path(one, dynamic ? one->device : *other, run->options->folder);
        text->load[n] = (IfmLoadDevice){ .alias = (*other)->alias,
                                         .device = (*other)->device,
                                         .model_path = text->load_models[n],
                                         .inputs_path = text->load_inputs[n],
                                         .free_shapes = dynamic };
    }
    text->model_case.load = text->load;
    text->model_case.n_load = n;
}

static gboolean describe_case(Run *run, const StudyCase *one, CaseText *text, GError **error)
{
    const IfmStudy *study = run->study;
    gboolean dynamic = one->device->form == IFM_STUDY_DYNAMIC;
    gboolean graph = reads_graph(study->staged, one->row.stage, one->row.last);
    gint64 nodes, edges;
    study_case_model_size(one, one->device, &nodes, &edges);
    text->model_path = study_model_path(one, one->device, run->options->folder);
    text->inputs_path = graph ? study_inputs_path(one, one->device, run->options->folder) : NULL;
    text->cache_dir = g_build_filename(run->options->folder, "cache", NULL);
    text->name = name_of(study, one);
    text->sizes[0] = (IfmDimBinding){ "nodes", nodes };
    text->sizes[1] = (IfmDimBinding){ "edges", edges };
    text->model_case = (IfmModelCase){ .model_path = text->model_path,
                                       .model_name = text->name,
                                       .device = one->device->device,
                                       .alias = one->device->alias,
                                       .subject_kind = "stage",
                                       .bindings = text->bindings,
                                       .sizes = text->sizes,
                                       .n_sizes = G_N_ELEMENTS(text->sizes),
                                       .free_shapes = dynamic,
                                       .inputs_path = text->inputs_path,
                                       .cache_dir = text->cache_dir,
                                       .dtype = IFM_DTYPE_F32,
                                       .seed = study->seed,
                                       .protocol = *study_case_protocol(study, one),
                                       .verify = TRUE };
    describe_load(run, one, graph, text);
    const GPtrArray *free_dims = dynamic ? free_dims_of(run, text->model_path, error) : NULL;
    if (dynamic && free_dims == NULL)
        return FALSE;
    if (dynamic)
    {
        add_binding(text, free_dims, "nodes", nodes);
        add_binding(text, free_dims, "edges", edges);
    }
    return TRUE;
}

static IfmLinkCase describe_link(const IfmStudy *study, const StudyCase *one)
{
    return (IfmLinkCase){ .from = one->device->device,
                          .to = one->to->device,
                          .from_alias = one->row.alias,
                          .to_alias = one->row.to,
                          .size_bytes = one->row.bytes,
                          .protocol = study->link_protocol };
}

static IfmCase *seal(Run *run, const StudyCase *one, GError **error)
{
    g_auto(CaseText) text = { 0 };
    if (one->row.stage == 0)
    {
        IfmLinkCase link = describe_link(run->study, one);
        return ifm_runner_link_case(run->runner, &link, error);
    }
    return describe_case(run, one, &text, error) ? ifm_runner_case(run->runner, &text.model_case, error) : NULL;
}

static void forget_seals(IfmStudy *study)
{
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        g_clear_pointer(&one->sealed, ifm_case_free);
        g_clear_pointer(&one->row.key, g_free);
        one->state = STUDY_CASE_TODO;
        one->was_tried = FALSE;
    }
}

/* Whose trouble it is where a case of a phase cannot be sealed: of a link, that of the end which the phase is for. */
static IfmStudyDevice *blamed_for(const StudyCase *one)
{
    return one->to != NULL && one->to->phase == one->row.phase ? one->to : one->device;
}

static void give_up(IfmStudyDevice *device, const char *what, GError *trouble /* (transfer full) */)
{
    g_free(device->reason);
    device->reason = g_strdup_printf("%s: %s", what, trouble->message);
    g_error_free(trouble);
}

/* FALSE where the run must end; a failure costs its device alone. */
static gboolean seal_one(Run *run, StudyCase *one, GError **error)
{
    GError *trouble = NULL;
    if (!is_here(one))
        return TRUE;
    one->sealed = seal(run, one, &trouble);
    if (one->sealed != NULL)
    {
        ifm_record_set_text(&one->row.key, one->sealed->key);
        return TRUE;
    }
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    give_up(blamed_for(one), one->row.title, trouble);
    return TRUE;
}

/* A device whose own cases cannot be sealed is given up before it is asked to work beside another. */
static gboolean seal_phase(Run *run, int phase, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (int beside = 0; beside <= 1; beside++)
        for (guint i = 0; i < cases->len; i++)
        {
            StudyCase *one = cases->pdata[i];
            if (one->row.phase == phase && (one->beside != NULL) == beside && !seal_one(run, one, error))
                return FALSE;
        }
    for (guint i = 0; i < cases->len; i++) /* what was sealed of a device before it was given up */
    {
        StudyCase *one = cases->pdata[i];
        if (one->row.phase == phase && !is_here(one))
            g_clear_pointer(&one->sealed, ifm_case_free);
    }
    return TRUE;
}

static void export_phase(Run *run, int phase)
{
    for (guint i = 0; i < run->study->devices->len; i++)
    {
        IfmStudyDevice *device = run->study->devices->pdata[i];
        GError *trouble = NULL;
        if (device->phase == phase && device->reason == NULL &&
            !study_export_files(run->study, run->options->folder, device, NULL, &trouble))
            give_up(device, "its models cannot be written", trouble);
    }
}

static void count_cases(Run *run)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    run->progress.n_cases = 0;
    for (guint i = 0; i < cases->len; i++)
        run->progress.n_cases += is_here(cases->pdata[i]);
}

/* --- what the store has --------------------------------------------------------------------------------------------- */

static void settle(Run *run, StudyCase *one, const IfmMeasurement *last)
{
    one->was_tried = TRUE;
    if (!study_past_stands(run->past, one, last, run->options->retry))
        return;
    one->state = STUDY_CASE_DONE;
    run->progress.n_resumed++;
    run->progress.n_done++;
    run->progress.n_failed += last->outcome == IFM_OUTCOME_FAILED;
    run->progress.n_skipped += last->outcome == IFM_OUTCOME_SKIPPED;
}

/* Which cases of a phase are done. */
static gboolean look_back(Run *run, int phase, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        GError *trouble = NULL;
        if (one->sealed == NULL || one->row.phase != phase)
            continue;
        g_autoptr(IfmMeasurement) last = ifm_store_last(run->store, one->sealed->key, &trouble);
        if (trouble != NULL)
        {
            g_propagate_error(error, trouble);
            return FALSE;
        }
        if (last != NULL)
            settle(run, one, last);
    }
    return TRUE;
}

/* --- the manifest --------------------------------------------------------------------------------------------------- */

/* A device that is not here today may have been here yesterday: what was measured then stays in the tables. So does what a
 * later phase will find again. */
static gboolean keep_old_keys(Run *run, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        if (one->sealed != NULL)
            continue;
        g_clear_pointer(&one->row.key, g_free);
        if (!study_past_key(run->past, run->study, one, &one->row.key, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean write_manifest(Run *run, GError **error)
{
    json_auto_t *now = study_manifest(run->study, run->sessions);
    if (run->before != NULL && json_equal(run->before, now))
        return TRUE;
    if (!ifm_store_set_document(run->store, STUDY_DOCUMENT, now, error))
        return FALSE;
    json_decref(run->before);
    run->before = json_deep_copy(now); /* the sessions in it change */
    return TRUE;
}

/* Puts down the time spent; nothing where nothing was measured. */
static gboolean note_time(Run *run, gboolean now, GError **error)
{
    gint64 at = g_get_monotonic_time();
    if (run->progress.n_measured == 0 || (!now && at - run->noted_us < NOTE_EVERY_US))
        return TRUE;
    run->noted_us = at;
    if (run->session == NULL)
    {
        run->session = json_object();
        json_array_append_new(run->sessions, run->session);
    }
    json_object_set_new(run->session, "started_unix_ms", json_integer(run->started_unix_ms));
    json_object_set_new(run->session, "spent_ns", json_integer((at - run->began_us) * 1000));
    json_object_set_new(run->session, "n_measured", json_integer((json_int_t)run->progress.n_measured));
    return write_manifest(run, error);
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

static int kind_of(const StudyCase *one)
{
    const IfmStudyCase *row = &one->row;
    int length = row->last - row->stage;
    if (row->busy != NULL)
        return 1 + 2 * IFM_MAX_STAGES + length;
    return length > 0 ? 1 + IFM_MAX_STAGES + length : row->stage;
}

/* What is left at what each kind took so far: a link is over at once, a stage is not. -1 while nobody knows what stages
 * take. */
static gint64 time_left(Run *run)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    gint64 stages_us = 0;
    gsize n_stages = 0;
    double left_us = 0;
    for (int kind = 1; kind < MOST_KINDS; kind++)
    {
        stages_us += run->kinds[kind].spent_us;
        n_stages += run->kinds[kind].n;
    }
    for (guint i = 0; i < cases->len; i++)
    {
        const StudyCase *one = cases->pdata[i];
        int kind = kind_of(one);
        gboolean known = run->kinds[kind].n > 0;
        if (!is_here(one) || one->state == STUDY_CASE_DONE)
            continue;
        if (!known && n_stages == 0)
            return -1;
        left_us +=
            known ? (double)run->kinds[kind].spent_us / (double)run->kinds[kind].n : (double)stages_us / (double)n_stages;
    }
    return (gint64)(left_us * 1000);
}

static void report(Run *run, const IfmMeasurement *ended)
{
    IfmStudyProgress *progress = &run->progress;
    double spent_s = (double)(g_get_monotonic_time() - run->began_us) / G_USEC_PER_SEC;
    gboolean rated = progress->n_measured > 0 && spent_s > 0;
    progress->cases_per_s = rated ? (double)progress->n_measured / spent_s : (double)NAN;
    progress->left_ns = rated ? run->left_ns : -1;
    if (run->options->progress != NULL)
        run->options->progress(progress, ended, run->options->user);
}

static void set_step(Run *run, const char *step)
{
    g_free(run->step);
    run->progress.step = run->step = g_strdup(step);
}

static void hear(const char *phase, gsize n, double median_ns, double ci_ratio, void *user)
{
    Run *run = user;
    if (run->progress.now == NULL) /* it looks for devices, or seals */
        return;
    set_step(run, phase);
    run->progress.n = n;
    run->progress.median_ns = median_ns;
    run->progress.ci_ratio = ci_ratio;
    report(run, NULL);
}

static IfmMeasurement *measure_one(Run *run, const StudyCase *one, GError **error)
{
    g_auto(CaseText) text = { 0 };
    if (one->row.stage == 0)
    {
        IfmLinkCase link = describe_link(run->study, one);
        return ifm_runner_measure_link(run->runner, &link, one->sealed, error);
    }
    return describe_case(run, one, &text, error) ? ifm_runner_measure(run->runner, &text.model_case, one->sealed, error)
                                                 : NULL;
}

static gboolean say_interrupted(const Run *run, GError **error)
{
    g_set_error(error, IFM_ERROR, IFM_ERROR_CANCELLED,
                "interrupted: %zu of %zu cases are measured; the same command goes on", run->progress.n_done,
                run->progress.n_cases);
    return FALSE;
}

/* A case is whole or not there: one that was cut short is measured again next time. A skipped one is put down once, and
 * never in place of what it came to when it was tried. */
static gboolean take(Run *run, StudyCase *one, const IfmMeasurement *measurement, GError **error)
{
    IfmStudyProgress *progress = &run->progress;
    gboolean skipped = measurement->outcome == IFM_OUTCOME_SKIPPED;
    if (g_str_equal(measurement->stop_reason, "interrupted"))
        return say_interrupted(run, error);
    if (!(skipped && one->was_tried) && !ifm_store_commit(run->store, one->sealed, measurement, error))
        return FALSE;
    one->state = STUDY_CASE_DONE;
    progress->n_done++;
    if (skipped && one->was_tried)
        progress->n_resumed++;
    else
        progress->n_measured++;
    progress->n_failed += measurement->outcome == IFM_OUTCOME_FAILED;
    progress->n_skipped += skipped;
    run->kinds[kind_of(one)].spent_us += g_get_monotonic_time() - run->case_began_us;
    run->kinds[kind_of(one)].n++;
    run->left_ns = time_left(run);
    report(run, measurement);
    return note_time(run, FALSE, error);
}

static gboolean measure_case(Run *run, StudyCase *one, GError **error)
{
    IfmStudyProgress *progress = &run->progress;
    GError *trouble = NULL;
    run->case_began_us = g_get_monotonic_time();
    progress->now = &one->row;
    set_step(run, NULL);
    progress->n = 0;
    progress->median_ns = progress->ci_ratio = NAN;
    report(run, NULL);
    g_autoptr(IfmMeasurement) measurement = measure_one(run, one, &trouble);
    gboolean good = measurement != NULL && take(run, one, measurement, error);
    progress->now = NULL;
    if (measurement != NULL)
        return good;
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_error_free(trouble);
        return say_interrupted(run, error);
    }
    g_propagate_prefixed_error(error, trouble, "%s: ", one->row.title);
    return FALSE;
}

static gboolean measure_phase(Run *run, int phase, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    gboolean any = FALSE;
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        if (one->row.phase != phase || one->sealed == NULL)
            continue;
        any = TRUE;
        if (one->state == STUDY_CASE_DONE)
            continue;
        if (is_interrupted(run))
            return say_interrupted(run, error);
        if (!measure_case(run, one, error))
            return FALSE;
    }
    if (!note_time(run, TRUE, error))
        return FALSE;
    return !any || run->options->phase_done == NULL ||
           run->options->phase_done(run->study, run->store, phase, run->options->user, error);
}

static gboolean prepare(Run *run, GError **error)
{
    if (!ifm_study_check_store(run->study, run->store, error) || !study_manifest_read(run->store, &run->before, error) ||
        !find_devices(run, error))
        return FALSE;
    run->past = study_past_new(run->store, run->before, error);
    if (run->past == NULL)
        return FALSE;
    json_t *sessions = json_object_get(run->before, "sessions");
    run->sessions = sessions != NULL ? json_deep_copy(sessions) : json_array();
    study_past_tell_losses(run->past, run->runner);
    forget_seals(run->study);
    return TRUE;
}

/* Each phase by itself: what the models of a later one come to is no matter of an earlier one. */
static gboolean prepare_phase(Run *run, int phase, GError **error)
{
    export_phase(run, phase);
    if (!seal_phase(run, phase, error) || !check_any_device(run, error) || !keep_old_keys(run, error))
        return FALSE;
    count_cases(run);
    return look_back(run, phase, error) && write_manifest(run, error);
}

gboolean ifm_study_measure(IfmStudy *study, IfmStore *store, const IfmStudyOptions *options, IfmStudyProgress *result,
                           GError **error)
{
    IfmRunnerOptions runner_options = { .limits = options->limits, .interrupted = options->interrupted, .progress = hear };
    g_autofree char *worker = ifm_path_worker(error);
    g_autofree char *folder = g_path_get_dirname(ifm_store_path(store));
    if (result != NULL)
        *result = (IfmStudyProgress){ .cases_per_s = NAN, .left_ns = -1 };
    g_autoptr(IfmStudyLock) lock = worker != NULL ? ifm_study_lock_new(folder, error) : NULL;
    if (lock == NULL)
        return FALSE;
    g_auto(Run) run = { .study = study, .store = store, .options = options };
    runner_options.progress_user = &run;
    run.runner = ifm_runner_new(&runner_options);
    run.free_dims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    run.started_unix_ms = g_get_real_time() / 1000;
    run.began_us = run.noted_us = g_get_monotonic_time();
    gboolean good = prepare(&run, error);
    run.began_us = run.noted_us = g_get_monotonic_time();
    for (int phase = 1; good && phase <= 2; phase++)
    {
        good = prepare_phase(&run, phase, error);
        if (good)
            report(&run, NULL);
        good = good && measure_phase(&run, phase, error);
    }
    if (!good)
        note_time(&run, TRUE, NULL); /* the error at hand is the one to tell */
    set_step(&run, NULL);
    if (result != NULL)
        *result = run.progress;
    return good;
}
