/* The reference of a model's outputs, and what they may be off by. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <onnx/reference-model.h>
#include <regions/regions.h>

#include "verification.h"

/* The disturbed runs take this long at most; then there are fewer. */
#define LIMIT_NS (60 * IFM_NS_PER_S)
#define COST 4 /* of a disturbed run, in runs of the reference, before one was made: 1.2 to 7 */

/* What is being made: the outputs of one run, and how they move from one disturbed run to the next. */
typedef struct
{
    const IfmReferenceProgress *progress;
    IfmEngine *engine;
    IfmModel *model;          /* as it was given */
    IfmModel *rewritten;      /* in exact arithmetic; the same where there is nothing to rewrite, or it cannot be */
    IfmModelCase *model_case; /* of the runtime and arithmetic of references */
    IfmDtype dtype;           /* what the judged device computes in */
    gsize n;
    const char **names; /* [n] of the subject, which outlives this */
    IfmTensor *tensors; /* [n] own */
    IfmSpread **spreads;
    GHashTable *draws; /* of ifm_model_draws() */
    gint64 run_ns;
    json_t *facts;
} Making;

static void making_clear(Making *making)
{
    for (gsize i = 0; i < making->n; i++)
    {
        ifm_tensor_clear(&making->tensors[i]);
        ifm_spread_free(making->spreads[i]);
    }
    g_free(making->names);
    g_free(making->tensors);
    g_free(making->spreads);
    g_clear_pointer(&making->draws, g_hash_table_unref);
    ifm_model_unref(making->model);
    ifm_model_unref(making->rewritten);
    json_decref(making->facts);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Making, making_clear)

static void enter(const Making *making, const char *phase, int n_steps)
{
    if (making->progress != NULL)
        making->progress->enter(phase, n_steps, making->progress->user);
}

/* --- runs ------------------------------------------------------------------------------------------------------------- */

/* What a graph means decides what it is fed: a rewritten one is fed what the model itself is. A runtime may have written
 * into what a run before was fed: the new mean of a batch normalisation that trains replaces the old one. */
static gboolean feed(const Making *making, IfmModelSubject *subject, GError **error)
{
    g_auto(IfmInputs) inputs = { 0 };
    gboolean fed = ifm_case_make_inputs(making->model, making->model_case, TRUE, &inputs, error);
    for (gsize i = 0; fed && i < inputs.n; i++)
    {
        const IfmTensor *to = &subject->inputs.tensors[i];
        fed = to->size_bytes == inputs.tensors[i].size_bytes;
        if (fed && to->size_bytes > 0)
            memcpy(to->data, inputs.tensors[i].data, to->size_bytes);
        if (!fed)
            ifm_error_set(error, IFM_ERROR_FAILED, "the reference's input %zu is another one", i);
    }
    return fed;
}

/* In the precision that the model is written in: the runtime takes no other. */
static IfmModelSubject *compile(const Making *making, IfmModel *model, GError **error)
{
    static const IfmDtype dtypes[] = { IFM_DTYPE_F32, IFM_DTYPE_F16, IFM_DTYPE_BF16, IFM_DTYPE_F64 };
    g_autoptr(IfmModelSubject) subject = NULL;
    g_autoptr(GError) first = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(dtypes) && subject == NULL; i++)
    {
        g_autoptr(GError) failure = NULL;
        making->model_case->dtype = dtypes[i];
        subject = ifm_model_subject_new(making->engine, model, making->model_case, IFM_COMPILE_REFERENCE, &failure);
        const gboolean is_other = g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
        if (failure != NULL && first == NULL)
            first = g_steal_pointer(&failure);
        if (subject == NULL && !is_other)
            break;
    }
    if (subject == NULL)
    {
        g_propagate_error(error, g_steal_pointer(&first));
        return NULL;
    }
    return model == making->model || feed(making, subject, error) ? g_steal_pointer(&subject) : NULL;
}

static gboolean run_once(IfmModelSubject *subject, gint64 *run_ns, GError **error)
{
    const IfmSubject slots = ifm_model_subject_slots(subject);
    const gint64 began_us = g_get_monotonic_time();
    const gboolean ran = slots.run(slots.self, error);
    *run_ns = (g_get_monotonic_time() - began_us) * 1000;
    return ran;
}

static gboolean keep_outputs(Making *making, IfmModelSubject *subject, GError **error)
{
    IfmCompiled *compiled = subject->compiled;
    making->n = ifm_compiled_info(compiled).n_outputs;
    making->names = g_new0(const char *, making->n + 1);
    making->tensors = g_new0(IfmTensor, making->n + 1);
    making->spreads = g_new0(IfmSpread *, making->n + 1);
    for (gsize i = 0; i < making->n; i++)
    {
        IfmTensor seen, *copy = &making->tensors[i];
        making->names[i] = ifm_compiled_output(compiled, i)->name;
        if (ifm_dtype_size_bytes(ifm_compiled_output(compiled, i)->dtype) == 0)
            continue; /* texts */
        if (!ifm_request_output(subject->requests[0], i, &seen, error) ||
            !ifm_tensor_init(copy, seen.dtype, seen.rank, seen.shape, error))
            return FALSE;
        if (seen.size_bytes > 0)
            memcpy(copy->data, seen.data, seen.size_bytes);
    }
    return TRUE;
}

/* Where the model cannot be rewritten, or the runtime does not run it so, the runtime's own answer is the reference. */
static IfmModelSubject *run_reference(Making *making, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GPtrArray) kept = NULL;
    making->rewritten = ifm_model_reference(making->model, &kept, &failure);
    g_autoptr(IfmModelSubject) subject = making->rewritten != NULL ? compile(making, making->rewritten, &failure) : NULL;
    if (subject != NULL && run_once(subject, &making->run_ns, &failure))
    {
        json_t *list = json_array();
        for (guint i = 0; kept != NULL && i < kept->len; i++)
            json_array_append_new(list, ifm_json_string(kept->pdata[i]));
        json_object_set_new(making->facts, "kept", list);
        json_object_set_new(making->facts, "rewritten", json_boolean(making->rewritten != making->model));
        return g_steal_pointer(&subject);
    }
    if (making->rewritten == making->model)
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    json_object_set_new(making->facts, "not_rewritten", ifm_json_string(failure->message));
    g_clear_pointer(&making->rewritten, ifm_model_unref);
    making->rewritten = ifm_model_ref(making->model);
    ifm_model_subject_free(subject);
    subject = compile(making, making->model, error);
    return subject != NULL && run_once(subject, &making->run_ns, error) ? g_steal_pointer(&subject) : NULL;
}

/* --- outputs that are drawn ---------------------------------------------------------------------------------------------
 */

static gboolean find_drawn(Making *making, GError **error)
{
    g_auto(IfmInputs) inputs = { 0 };
    json_t *drawn = json_object();
    const gboolean fed = ifm_case_make_inputs(making->model, making->model_case, TRUE, &inputs, error);
    if (fed)
        making->draws = ifm_model_draws(making->model, inputs.tensors);
    for (gsize i = 0; fed && i < making->n; i++)
    {
        const char *source = g_hash_table_lookup(making->draws, making->names[i]);
        if (source != NULL)
            json_object_set_new(drawn, making->names[i], ifm_json_string(source));
    }
    json_object_set_new(making->facts, "draws", drawn);
    return fed;
}

static gboolean is_judged(const Making *making, gsize output)
{
    return ifm_dtype_size_bytes(making->tensors[output].dtype) > 0 &&
           !g_hash_table_contains(making->draws, making->names[output]);
}

/* --- what the outputs may be off by ------------------------------------------------------------------------------------
 */

static double roundoff_of(IfmDtype dtype)
{
    return dtype == IFM_DTYPE_F16 ? 0x1p-11 : dtype == IFM_DTYPE_BF16 ? 0x1p-8 : 0;
}

static IfmModelSubject *compile_disturbed(const Making *making, GError **error)
{
    IfmDisturbance disturbance = { 0 };
    ifm_disturbance_init(&disturbance, making->model);
    disturbance.seed = making->model_case->seed;
    disturbance.roundoff = fmax(disturbance.roundoff, roundoff_of(making->dtype));
    disturbance.bindings = making->model_case->bindings;
    disturbance.n_bindings = making->model_case->n_bindings;
    g_autoptr(IfmModel) disturbed = ifm_model_disturbed(making->rewritten, &disturbance, NULL, error);
    return disturbed != NULL ? compile(making, disturbed, error) : NULL;
}

/* An output whose shape another run gives another one says nothing. */
static gboolean add_run(Making *making, IfmModelSubject *subject, GError **error)
{
    for (gsize i = 0; i < making->n; i++)
    {
        IfmTensor seen;
        if (making->spreads[i] == NULL)
            continue;
        if (!ifm_request_output(subject->requests[0], i, &seen, error))
            return FALSE;
        if (!ifm_spread_add(making->spreads[i], &seen))
            g_clear_pointer(&making->spreads[i], ifm_spread_free);
    }
    return TRUE;
}

/* "computing the tolerance: 5 runs of about 0.2 s" */
static void announce(const Making *making, int n_runs, gint64 run_ns)
{
    g_autofree char *words = g_strdup_printf("computing the tolerance: %d run%s of about %.2g s", n_runs,
                                             ifm_plural(n_runs), (double)run_ns / 1e9);
    enter(making, g_intern_string(words), n_runs + 1);
}

static gboolean run_disturbed(Making *making, int n_asked, int *n_runs, GError **error)
{
    if (COST * making->run_ns > 2 * LIMIT_NS)
        return ifm_error_set(error, IFM_ERROR_TIMEOUT, "one run would take about %.0f s",
                             COST * (double)making->run_ns / 1e9);
    announce(making, n_asked, COST * making->run_ns);
    g_autoptr(IfmModelSubject) subject = compile_disturbed(making, error);
    gint64 spent_ns = 0;
    for (gsize i = 0; subject != NULL && i < making->n; i++)
        if (is_judged(making, i))
            making->spreads[i] = ifm_spread_new(&making->tensors[i]);
    for (*n_runs = 0; subject != NULL && *n_runs < n_asked; ++*n_runs)
    {
        gint64 run_ns;
        if (*n_runs > 0 && spent_ns + spent_ns / *n_runs > LIMIT_NS)
            break;
        if ((*n_runs > 0 && !feed(making, subject, error)) || !run_once(subject, &run_ns, error) ||
            !add_run(making, subject, error))
            return FALSE;
        spent_ns += run_ns;
        if (*n_runs == 0)
            announce(making, n_asked - 1, run_ns);
    }
    json_object_set_new(making->facts, "run_ns", json_integer((*n_runs > 0 ? spent_ns / *n_runs : 0)));
    return subject != NULL;
}

/* Without it outputs are judged by what their precision allows. */
static void find_tolerance(Making *making, int n_asked)
{
    g_autoptr(GError) failure = NULL;
    int n_runs = 0;
    gboolean any = FALSE;
    for (gsize i = 0; i < making->n; i++)
        any |= is_judged(making, i);
    n_asked = any ? n_asked : 0;
    if (n_asked > 0 && !run_disturbed(making, n_asked, &n_runs, &failure))
    {
        json_object_set_new(making->facts, "no_tolerance", ifm_json_string(failure->message));
        for (gsize i = 0; i < making->n; i++)
            g_clear_pointer(&making->spreads[i], ifm_spread_free);
    }
    json_object_set_new(making->facts, "n_runs", json_integer(n_runs));
    json_object_set_new(making->facts, "n_runs_asked", json_integer(n_asked));
    json_object_set_new(making->facts, "reference_ns", json_integer(making->run_ns));
}

/* --- the file ----------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    GPtrArray *names;
    GArray *tensors;
} Parts;

static void parts_clear(Parts *parts)
{
    for (guint i = 0; i < parts->tensors->len; i++)
        ifm_tensor_clear(&g_array_index(parts->tensors, IfmTensor, i));
    g_ptr_array_unref(parts->names);
    g_array_unref(parts->tensors);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Parts, parts_clear)

/* @tensor: (transfer full) */
static void add_part(Parts *parts, const char *name, const char *suffix, IfmTensor *tensor)
{
    g_ptr_array_add(parts->names, g_strconcat(name, suffix, NULL));
    g_array_append_val(parts->tensors, *tensor);
    *tensor = IFM_TENSOR_INIT;
}

static gboolean add_spread(Parts *parts, const char *name, IfmSpread *spread, GError **error)
{
    g_auto(IfmTensor) allowed = IFM_TENSOR_INIT, numbers = IFM_TENSOR_INIT;
    const gint64 n = IFM_SPREAD_N_FIGURES;
    IfmSpreadFigures figures;
    if (!ifm_spread_finish(spread, &allowed, &figures, error) || !ifm_tensor_init(&numbers, IFM_DTYPE_F64, 1, &n, error))
        return FALSE;
    memcpy(numbers.data, &figures, sizeof figures);
    add_part(parts, name, IFM_REFERENCE_ALLOWED, &allowed);
    add_part(parts, name, IFM_REFERENCE_FIGURES, &numbers);
    return TRUE;
}

static gboolean add_facts(Parts *parts, const json_t *facts, GError **error)
{
    g_autofree char *text = json_dumps(facts, JSON_COMPACT);
    const gint64 length = (gint64)strlen(text);
    IfmTensor bytes;
    if (!ifm_tensor_init(&bytes, IFM_DTYPE_U8, 1, &length, error))
        return FALSE;
    memcpy(bytes.data, text, (gsize)length);
    add_part(parts, "", IFM_REFERENCE_FACTS, &bytes);
    return TRUE;
}

/* The outputs that were given with the inputs. */
static gboolean add_expected(Parts *parts, const Making *making, GError **error)
{
    const char *path = making->model_case->inputs_path;
    g_autoptr(IfmTensorFile) file = path != NULL ? ifm_tensor_file_open(path, error) : NULL;
    for (gsize i = 0; file != NULL && i < making->n; i++)
    {
        g_autofree char *name = g_strconcat(making->names[i], IFM_EXPECTED, NULL);
        const IfmTensor *given = ifm_tensor_file_find(file, name);
        g_auto(IfmTensor) copy = IFM_TENSOR_INIT;
        if (given == NULL)
            continue;
        if (!ifm_tensor_init(&copy, given->dtype, given->rank, given->shape, error))
            return FALSE;
        if (given->size_bytes > 0)
            memcpy(copy.data, given->data, given->size_bytes);
        add_part(parts, making->names[i], IFM_EXPECTED, &copy);
    }
    return path == NULL || file != NULL;
}

static gboolean save(const Making *making, const char *path, GError **error)
{
    g_auto(Parts) parts = { g_ptr_array_new_with_free_func(g_free), g_array_new(FALSE, FALSE, sizeof(IfmTensor)) };
    for (gsize i = 0; i < making->n; i++)
    {
        if (ifm_dtype_size_bytes(making->tensors[i].dtype) == 0)
            continue;
        if (making->spreads[i] != NULL && !add_spread(&parts, making->names[i], making->spreads[i], error))
            return FALSE;
        add_part(&parts, making->names[i], "", &making->tensors[i]);
    }
    return add_expected(&parts, making, error) && add_facts(&parts, making->facts, error) &&
           ifm_tensor_file_save_temporary(path, (const char *const *)parts.names->pdata,
                                          (const IfmTensor *)(const void *)parts.tensors->data, parts.names->len, error);
}

/* --- all of it ---------------------------------------------------------------------------------------------------------
 */

gboolean ifm_reference_make(IfmEngine *engine, const IfmModelCase *given, const IfmReferenceProgress *progress,
                            const char *path, GError **error)
{
    IfmModelCase model_case = *given;
    g_auto(Making) making = {
        .progress = progress, .engine = engine, .model_case = &model_case, .dtype = given->dtype, .facts = json_object()
    };
    const int n_asked = given->tolerance_runs == 0 ? IFM_TOLERANCE_RUNS : MAX(given->tolerance_runs, 0);
    g_autoptr(IfmModel) model = ifm_case_open_model(given, error);
    making.model = model != NULL ? ifm_regions_expand(model, error) : NULL; /* not by the kernels that are to be judged */
    if (making.model == NULL)
        return FALSE;
    enter(&making, "computing the reference", 4); /* at most two compiles and runs */
    model_case.device = "onnxruntime:CPU";
    model_case.vendor = NULL;
    model_case.convolutions = NULL;
    model_case.native_async = FALSE;
    model_case.threads = 1; /* its ScatterND, for one, loses additions where several threads meet in one row */
    g_autoptr(IfmModelSubject) subject = run_reference(&making, error);
    if (subject == NULL || !keep_outputs(&making, subject, error) || !find_drawn(&making, error))
        return FALSE;
    find_tolerance(&making, n_asked);
    return save(&making, path, error);
}
