#include <math.h>
#include <stddef.h>
#include <string.h>

#include <base/base.h>
#include <kernel/kernel.h>
#include <sensor/sensor.h>
#include <store/store.h>
#include <stress/stress.h>
#include <zoo/zoo.h>

#include "definition.h"
#include "kind-kernels.h"

/* Kind "kernels-under-load": the kernels of models, and others of sizes around theirs, alone and next to a stressor. A case
 * is a visit: each kernel is visited several times, far apart, and where it is loaded, without load in the same visit. */

/* --- its keys --------------------------------------------------------------------------------------------------------- */

#define OBSERVE_NS (20 * G_GINT64_CONSTANT(1000000))

static const char *const core_words[] = { "same", "other", NULL };

/* What the file says, and what is made of it. */
typedef struct
{
    StudyText study;
    GPtrArray *models;                        /* char* */
    GPtrArray *held_out_words, *stress_words; /* char* */
    GPtrArray *dims, *inputs;                 /* char*, NULL-terminated */
    GArray *levels, *threads;                 /* gint64 */
    GArray *cores;                            /* int: 0: same, 1: other */
    char *prometheus;                         /* NULL: none */
    GPtrArray *queries;                       /* IfmScalar* */
    gint64 prometheus_wait;                   /* ns */
    gint64 shapes, rounds, loaded, visits, batch;
    guint32 seed;

    GPtrArray *asked;       /* char*: the models as kernels are asked for */
    GPtrArray *held_out;    /* HeldOut* */
    IfmModelOptions open;   /* of all models */
    GArray *stress;         /* int: IfmStressKind */
    GPtrArray *query_texts; /* char* "NAME=PROMQL", NULL-terminated */
    char *level;            /* of the optimisation of the models' graphs; NULL until they were looked for */
    gint64 cache_bytes;     /* of the last level; 0: not read yet */
    StudyKernelSet set;     /* @kernels: NULL until they were looked for */
    GError *error;          /* why there are none */
} KernelAxes;

static const IfmRecordField kernels_fields[] = {
    IFM_FIELD(
        TEXTS, KernelAxes, models, .required = TRUE, .filled = TRUE,
        .help =
            "ONNX files, relative to this file, or models of the zoo with their parameters: their kernels are measured"),
    IFM_FIELD_AS(TEXTS, KernelAxes, held_out_words, "held_out",
                 .help = "models that are measured whole and predicted from what is learnt of the others' kernels"),
    IFM_FIELD(INT64, KernelAxes, batch, .min = 0, .max = 65536, .fallback = "0",
              .help = "inputs at once of all models, as profile --batch has it; 0: as the models are"),
    IFM_FIELD(TEXTS, KernelAxes, dims,
              .help = "sizes of free dimensions of all models, NAME=SIZE or *=SIZE as profile --dim has it"),
    IFM_FIELD(TEXTS, KernelAxes, inputs,
              .help = "what inputs are fed, NAME=FILE, NAME=VALUE or NAME=LOW..HIGH as profile --input has it"),
    IFM_FIELD(INT64, KernelAxes, shapes, .min = 1, .max = 100000, .fallback = "400",
              .help = "how many kernels: the distinct ones of the models first, then others of sizes around theirs"),
    IFM_FIELD(INT64, KernelAxes, rounds, .min = 1, .max = 100, .fallback = "1",
              .help =
                  "in how many rounds those of other sizes are chosen: first around each kernel alike, then, once these "
                  "are measured, around the operators whose prediction errs most, weighted by their time"),
    IFM_FIELD(INT64, KernelAxes, loaded, .min = 0, .max = 100000, .fallback = "60",
              .help = "how many of them are also measured under load"),
    IFM_FIELD(INT64, KernelAxes, visits, .min = 1, .max = 100, .fallback = "3",
              .help =
                  "how often each kernel is measured, each time in another order; under load, with and without it in each"),
    IFM_FIELD_AS(TEXTS, KernelAxes, stress_words, "stress", .help = "kinds of load: gemm, copy, random (docs/stress.md)"),
    IFM_FIELD(
        SERIES, KernelAxes, levels, .min = 0, .max = 100,
        .help =
            "percent of the time that the load's cores, or its GPU, are busy; 0 is without load, which is always measured"),
    IFM_FIELD(CHOICES, KernelAxes, cores, .words = core_words,
              .help = "where the load runs: on the device's cores, or its GPU; or on another core"),
    IFM_FIELD(SERIES, KernelAxes, threads, .min = 1, .max = 1024,
              .help = "threads of the runtime; else as many as the device has cores"),
    IFM_FIELD(
        STRING, KernelAxes, prometheus,
        .help =
            "a server that watches the machine, http://127.0.0.1:9090: each case lasts until it has scraped several times"),
    IFM_FIELD(DURATION, KernelAxes, prometheus_wait, .fallback = "4 min",
              .help = "how long each of a case's two windows may be at most: three scrapes, or else at least two"),
    IFM_FIELD(SCALARS, KernelAxes, queries, .element = IFM_RECORD_STRING,
              .help = "what to ask it, by the name of the metric: PromQL, or a name of docs/metrics.md such as cpu_busy"),
    IFM_FIELD(UINT32, KernelAxes, seed, .min = 0, .max = G_MAXUINT32, .fallback = "1",
              .help = "of sizes, order, weights and inputs"),
    { 0 }
};

/* --- its axes --------------------------------------------------------------------------------------------------------- */

/* HeldOut: a model that is measured whole. @asked: as records and files are asked for    @name: as the file has it
 * @records: NULL until they were looked for    @source: no model until it was opened */
typedef struct
{
    char *asked, *name;
    IfmKernelRecords *records;
    IfmModelSource source;
} HeldOut;

static void held_out_free(HeldOut *model)
{
    g_free(model->asked);
    g_free(model->name);
    ifm_kernel_records_free(model->records);
    ifm_model_source_clear(&model->source);
    g_free(model);
}

/* The members that no field has. */
static void clear(IfmStudy *study)
{
    KernelAxes *axes = study->own;
    if (axes == NULL)
        return;
    g_ptr_array_unref(axes->asked);
    g_ptr_array_unref(axes->held_out);
    g_array_unref(axes->stress);
    g_ptr_array_unref(axes->query_texts);
    study_kernel_set_clear(&axes->set);
    g_free(axes->level);
    g_clear_error(&axes->error);
}

static gboolean read_stress(KernelAxes *axes, GError **error)
{
    for (guint i = 0; i < axes->stress_words->len; i++)
    {
        g_autoptr(GError) trouble = NULL;
        IfmStressKind kind;
        if (!ifm_stress_parse(axes->stress_words->pdata[i], &kind, &trouble))
            return ifm_yaml_key_error(&axes->study.place, "stress", i, error, "%s", trouble->message);
        const int value = (int)kind;
        g_array_append_val(axes->stress, value);
    }
    const gboolean some = axes->stress_words->len > 0;
    if (some != (axes->levels->len > 0) || some != (axes->cores->len > 0))
        return ifm_yaml_key_error(&axes->study.place,
                                  some                    ? "stress"
                                  : axes->levels->len > 0 ? "levels"
                                                          : "cores",
                                  -1, error,
                                  "stress, levels and cores go together: a load has a kind, a level and a place");
    const IfmPlace *place = &axes->study.place;
    return ifm_yaml_check_texts_once(place, "stress", axes->stress_words, error) &&
           ifm_yaml_check_once(place, "cores", axes->cores, core_words, error) &&
           ifm_yaml_check_once(place, "levels", axes->levels, NULL, error) &&
           ifm_yaml_check_once(place, "threads", axes->threads, NULL, error);
}

/* "zoo:" says that it is the zoo's even where a file has that name. */
static const char *without_prefix(const char *model)
{
    return g_str_has_prefix(model, "zoo:") ? model + strlen("zoo:") : model;
}

static gboolean is_metric_name(const char *name)
{
    return *name != '\0' && name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.")] == '\0';
}

static gboolean read_queries(KernelAxes *axes, GError **error)
{
    if (axes->prometheus != NULL && !ifm_prometheus_is_url(axes->prometheus))
    {
        g_autofree char *shown = ifm_prometheus_shown(axes->prometheus);
        return ifm_yaml_key_error(&axes->study.place, "prometheus", -1, error,
                                  "\"%s\" is no URL of a server, such as http://127.0.0.1:9090", shown);
    }
    if ((axes->prometheus != NULL) != (axes->queries->len > 0))
        return ifm_yaml_key_error(&axes->study.place, axes->prometheus != NULL ? "prometheus" : "queries", -1, error,
                                  "prometheus and queries go together: a server, and what to ask it");
    for (guint i = 0; i < axes->queries->len; i++)
    {
        const IfmScalar *query = axes->queries->pdata[i];
        if (!is_metric_name(query->place.name))
            return ifm_yaml_error(&query->place, error, "queries: \"%s\" is no name of letters, digits, _ and .",
                                  query->place.name);
        g_ptr_array_add(axes->query_texts, g_strconcat(query->place.name, "=", query->text, NULL));
    }
    g_ptr_array_add(axes->query_texts, NULL);
    return TRUE;
}

/* Paths are relative to the file. (transfer full) */
static char *asked_as(const char *word, const char *file)
{
    return study_is_path(word) ? ifm_path_beside(file, word) : g_strdup(word);
}

/* A file that is there, or a name of the zoo; what is in it is found out when it is read. */
static gboolean check_model(const StudyText *common, const char *key, guint i, const char *asked, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    g_auto(GStrv) words = g_strsplit(without_prefix(asked), ",", -1);
    if (study_is_path(asked) && !g_file_test(asked, G_FILE_TEST_EXISTS))
        return ifm_yaml_key_error(&common->place, key, i, error, "%s: there is no such file", asked);
    return study_is_path(asked) || ifm_zoo_find(words[0], &trouble) != NULL ||
           ifm_yaml_key_error(&common->place, key, i, error, "%s", trouble->message);
}

static gboolean read_models(KernelAxes *axes, GError **error)
{
    const char *file = axes->study.place.file;
    for (guint i = 0; i < axes->models->len; i++)
    {
        const char *word = axes->models->pdata[i];
        g_ptr_array_add(axes->asked, asked_as(word, file));
        if (!check_model(&axes->study, "models", i, axes->asked->pdata[i], error))
            return FALSE;
    }
    for (guint i = 0; i < axes->held_out_words->len; i++)
    {
        const char *word = axes->held_out_words->pdata[i];
        if (g_ptr_array_find_with_equal_func(axes->models, word, g_str_equal, NULL))
            return ifm_yaml_key_error(&axes->study.place, "held_out", i, error, "\"%s\" is listed twice", word);
        HeldOut *model = g_new0(HeldOut, 1);
        model->name = g_strdup(word);
        model->asked = asked_as(word, file);
        g_ptr_array_add(axes->held_out, model);
        if (!check_model(&axes->study, "held_out", i, model->asked, error))
            return FALSE;
    }
    return ifm_yaml_check_texts_once(&axes->study.place, "models", axes->models, error) &&
           ifm_yaml_check_texts_once(&axes->study.place, "held_out", axes->held_out_words, error);
}

static gboolean read_axes(IfmStudy *study, StudyText *text, GError **error)
{
    KernelAxes *axes = study->own = (KernelAxes *)(void *)text;
    axes->asked = g_ptr_array_new_with_free_func(g_free);
    axes->held_out = g_ptr_array_new_with_free_func((GDestroyNotify)held_out_free);
    axes->query_texts = g_ptr_array_new_with_free_func(g_free);
    axes->stress = g_array_new(FALSE, FALSE, sizeof(int));
    study_seal_texts(&text->place, axes->dims, FALSE);
    study_seal_texts(&text->place, axes->inputs, TRUE);
    axes->open = (IfmModelOptions){ .batch = axes->batch,
                                    .dims = (const char *const *)axes->dims->pdata,
                                    .inputs = (const char *const *)axes->inputs->pdata };
    return read_models(axes, error) && read_stress(axes, error) && read_queries(axes, error);
}

/* --- kernels ------------------------------------------------------------------------------------------------------------
 */

static IfmKernelRecords *records_of(const IfmStudy *study, const char *asked, GError **error)
{
    const KernelAxes *axes = study->own;
    const IfmStudyDevice *device = study->devices->pdata[0];
    const IfmKernelOptions options = { .device = device->device, .seed = axes->seed, .open = axes->open };
    return ifm_kernel_records_open(asked, &options, error);
}

static gboolean add_models(IfmStudy *study, KernelAxes *axes, GError **error)
{
    for (guint i = 0; i < axes->models->len; i++)
    {
        g_autoptr(IfmKernelRecords) records = records_of(study, axes->asked->pdata[i], error);
        if (records == NULL)
            return FALSE;
        ifm_record_set_text(&axes->level, records->level);
        study_kernel_set_add(&axes->set, axes->models->pdata[i], records);
    }
    return TRUE;
}

/* @needs: (nullable) StudyNeed */
static void add_shapes(const IfmStudy *study, const GArray *needs)
{
    KernelAxes *axes = study->own;
    const gint64 others = MAX(axes->shapes - (gint64)axes->set.n_own, 0);
    const gint64 until = axes->set.n_own + (study->in_parts ? others : others * axes->set.round / axes->rounds);
    study_kernel_set_vary(&axes->set, (guint)until, needs, axes->seed);
}

/* Looked for once: it takes the runtime. */
static const GPtrArray *kernels_of(IfmStudy *study)
{
    KernelAxes *axes = study->own;
    if (axes->set.kernels != NULL || study->devices->len == 0)
        return axes->set.kernels;
    study_kernel_set_init(&axes->set);
    gboolean good = add_models(study, axes, &axes->error);
    for (guint i = 0; good && i < axes->held_out->len; i++)
    {
        HeldOut *model = axes->held_out->pdata[i];
        good = (model->records = records_of(study, model->asked, &axes->error)) != NULL;
    }
    study_kernel_set_seal(&axes->set, good ? (guint)axes->shapes : 0);
    if (good)
        add_shapes(study, NULL);
    return axes->set.kernels;
}

/* --- cases --------------------------------------------------------------------------------------------------------------
 */

/* Condition: of one visit. @stress: -1: without load */
typedef struct
{
    int stress, cores;
    gint64 level;
} Condition;

/* Visit: of a kernel, or of a whole model. */
typedef struct
{
    const StudyKernel *kernel; /* NULL: of @model */
    HeldOut *model;
    Condition condition;
    gint64 visit, threads;
} Visit;

typedef struct
{
    IfmModelCase model_case;
    IfmStressPlace place;
} CaseText;

static json_t *axes_of(const Visit *visit)
{
    const Condition *condition = &visit->condition;
    g_assert((visit->kernel == NULL) != (visit->model == NULL));
    return json_pack("{s:o,s:I,s:o*,s:s,s:I,s:s}", "kernel",
                     ifm_json_string(visit->model != NULL ? visit->model->name : visit->kernel->id), "visit",
                     (json_int_t)visit->visit, "threads", visit->threads > 0 ? json_integer(visit->threads) : NULL, "load",
                     condition->stress < 0 ? "none" : ifm_stress_words()[condition->stress], "level",
                     (json_int_t)condition->level, "cores", condition->stress < 0 ? "none" : core_words[condition->cores]);
}

static void add_case(IfmStudy *study, int phase, IfmStudyDevice *device, const Visit *visit)
{
    StudyCase *one = study_point_new(device, axes_of(visit));
    one->row.flop = visit->kernel == NULL || isnan(visit->kernel->record->flop) ? 0 : visit->kernel->record->flop;
    one->own = g_memdup2(visit, sizeof *visit);
    study_add_case(study, phase, one);
}

static void clear_case(StudyCase *one)
{
    g_free(one->own);
}

static void shuffle(GRand *random, gsize *indices, gsize n)
{
    for (gsize i = 0; i < n; i++)
        indices[i] = i;
    for (gsize i = n; i > 1; i--)
    {
        const gsize k = (gsize)g_rand_int_range(random, 0, (gint32)i), other = indices[k];
        indices[k] = indices[i - 1];
        indices[i - 1] = other;
    }
}

/* (transfer full) Condition: without load, and each load. */
static GArray *list_conditions(const KernelAxes *axes)
{
    GArray *conditions = g_array_new(FALSE, FALSE, sizeof(Condition));
    const Condition idle = { .stress = -1 };
    g_array_append_val(conditions, idle);
    for (guint s = 0; s < axes->stress->len; s++)
        for (guint c = 0; c < axes->cores->len; c++)
            for (guint l = 0; l < axes->levels->len; l++)
            {
                if (g_array_index(axes->levels, gint64, l) == 0)
                    continue; /* without load */
                const Condition condition = { g_array_index(axes->stress, int, s), g_array_index(axes->cores, int, c),
                                              g_array_index(axes->levels, gint64, l) };
                g_array_append_val(conditions, condition);
            }
    return conditions;
}

/* A kernel's conditions follow each other, in an order of their own. */
static void add_visit(IfmStudy *study, int phase, IfmStudyDevice *device, Visit visit, const GArray *conditions,
                      GRand *random)
{
    g_autofree gsize *order = g_new(gsize, conditions->len);
    shuffle(random, order, conditions->len);
    for (guint i = 0; i < conditions->len; i++)
    {
        visit.condition = g_array_index(conditions, Condition, order[i]);
        add_case(study, phase, device, &visit);
    }
}

/* All kernels of a round once a visit, in another order each time. Which of them come under load, in each visit, is drawn
 * from those of the first round. In that whole models are measured, too: their runs are long, and one visit under load is
 * enough. */
static void span_device(IfmStudy *study, int phase, IfmStudyDevice *device, gint64 threads, gint64 round)
{
    const KernelAxes *axes = study->own;
    g_autoptr(GPtrArray) kernels = study_kernel_set_round(&axes->set, round);
    const gsize n_loaded = round == 1 ? MIN(kernels->len, (gsize)axes->loaded) : 0;
    g_autoptr(GRand) random = g_rand_new_with_seed(axes->seed + (guint32)round - 1);
    g_autoptr(GArray) conditions = list_conditions(axes), idle = g_array_new(FALSE, FALSE, sizeof(Condition));
    g_autofree gsize *order = g_new0(gsize, MAX(kernels->len, 1)), *chosen = g_new0(gsize, MAX(kernels->len, 1));
    g_autoptr(GHashTable) loaded = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_array_append_vals(idle, conditions->data, 1);
    shuffle(random, chosen, kernels->len);
    for (gsize i = 0; i < n_loaded; i++)
        g_hash_table_add(loaded, kernels->pdata[chosen[i]]);
    for (gint64 visit = 1; visit <= axes->visits; visit++)
    {
        shuffle(random, order, kernels->len);
        for (gsize i = 0; i < kernels->len; i++)
        {
            const StudyKernel *kernel = kernels->pdata[order[i]];
            add_visit(study, phase, device, (Visit){ .kernel = kernel, .visit = visit, .threads = threads },
                      g_hash_table_contains(loaded, kernel) ? conditions : idle, random);
        }
        for (guint i = 0; round == 1 && i < axes->held_out->len; i++)
            add_visit(study, phase, device,
                      (Visit){ .model = axes->held_out->pdata[i], .visit = visit, .threads = threads },
                      visit == 1 ? conditions : idle, random);
    }
}

static void span_round(IfmStudy *study, int phase, gint64 round)
{
    const KernelAxes *axes = study->own;
    for (guint i = 0; i < study->devices->len; i++)
        for (guint t = 0; t < MAX(axes->threads->len, 1); t++)
            span_device(study, phase, study->devices->pdata[i],
                        axes->threads->len > 0 ? g_array_index(axes->threads, gint64, t) : 0, round);
}

static void span(IfmStudy *study, int phase)
{
    if (kernels_of(study) != NULL)
        span_round(study, phase, 1);
}

/* --- later rounds -------------------------------------------------------------------------------------------------------
 */

/* A manifest of another program may hold anything: what is none is left. The first round of a store of shards has all
 * kernels, and those under load were drawn from them: all rounds are spanned anew. */
static void recall(IfmStudy *study, const json_t *definition)
{
    KernelAxes *axes = study->own;
    const json_t *list = json_object_get(definition, "kernels");
    if (axes->set.kernels == NULL)
        return;
    const guint n = axes->set.kernels->len;
    for (gsize i = 0; axes->set.n_own > 0 && i < json_array_size(list); i++)
    {
        g_autoptr(StudyKernel) kernel = study_kernel_from_json(json_array_get(list, i), NULL);
        if (kernel != NULL)
            study_kernel_set_recall(&axes->set, kernel, (guint)axes->shapes, axes->rounds);
    }
    if (axes->set.kernels->len == n)
        return;
    for (guint i = 0; i < study->cases->len; i++)
        clear_case(study->cases->pdata[i]);
    g_ptr_array_set_size(study->cases, 0);
    for (gint64 round = 1; round <= axes->set.round; round++)
        span_round(study, ((const IfmStudyDevice *)study->devices->pdata[0])->phase, round);
}

static gboolean refine(IfmStudy *study, int phase, const IfmStudyTables *tables, GError **error)
{
    KernelAxes *axes = study->own;
    const IfmStudyDevice *device = study->devices->pdata[0];
    if (device->phase != phase || axes->set.kernels == NULL)
        return TRUE;
    g_autoptr(IfmKernelSamples) samples = ifm_study_kernel_samples(tables, error);
    if (samples == NULL)
        return FALSE;
    const guint n = axes->set.kernels->len;
    const gboolean last = axes->set.round >= axes->rounds;
    g_autoptr(GArray) needs = last ? NULL : study_kernel_needs(samples, study->interrupted, error);
    if (!last && needs == NULL)
        return FALSE;
    while (axes->set.kernels->len == n && axes->set.round < axes->rounds)
    {
        axes->set.round++;
        add_shapes(study, needs);
    }
    if (axes->set.kernels->len > n)
        span_round(study, phase, axes->set.round);
    return TRUE;
}

/* --- for the runner -----------------------------------------------------------------------------------------------------
 */

static gboolean place_of(int stress, const IfmStudyDevice *device, gboolean other, IfmStressPlace *place, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
    return spec != NULL && ifm_stress_place_of((IfmStressKind)stress, spec, other, place, error);
}

/* That there is each place that each kind of load is to have. */
static gboolean check_places(const KernelAxes *axes, const IfmStudyDevice *device, GError **error)
{
    for (guint i = 0; i < axes->cores->len * axes->stress->len; i++)
    {
        const int stress = g_array_index(axes->stress, int, i / axes->cores->len),
                  other = g_array_index(axes->cores, int, i % axes->cores->len);
        IfmStressPlace place;
        if (!place_of(stress, device, other == 1, &place, error))
            return ifm_error_prefix(error, "stress: %s, cores: %s: ", ifm_stress_words()[stress],
                                    other == 1 ? "other" : "same");
        ifm_stress_place_clear(&place);
    }
    return TRUE;
}

static void drop(StudyCase *one)
{
    CaseText *text = g_steal_pointer(&one->text);
    if (text == NULL)
        return;
    ifm_stress_place_clear(&text->place);
    g_free(text);
}

/* A whole model takes longer than a kernel: its time budget is so many times a kernel's. */
#define MODEL_TIMES 10

/* Its own file, or one of the zoo in the study's folder, with sizes and inputs. */
static gboolean open_held_out(const KernelAxes *axes, HeldOut *model, const char *folder, GError **error)
{
    g_autofree char *text = study_is_path(model->asked) ? g_strdup(model->asked)
                                                        : g_strconcat(IFM_ZOO_PREFIX, without_prefix(model->asked), NULL);
    const IfmModelRequest request = {
        .text = text, .open = &axes->open, .seed = axes->seed, .folder = folder, .is_run = TRUE
    };
    return model->source.model != NULL || ifm_model_source_open(&request, &model->source, error);
}

/* Read once: it is asked for each case. */
static gint64 cache_bytes_of(const IfmStudy *study)
{
    KernelAxes *axes = study->own;
    if (axes->cache_bytes == 0)
    {
        json_auto_t *machine = ifm_sensor_machine(NULL);
        axes->cache_bytes = MAX(ifm_sensor_last_cache_bytes(machine, NULL), 1);
    }
    return axes->cache_bytes;
}

static gsize copies_of(const IfmStudy *study, const StudyKernel *kernel)
{
    return ifm_kernel_ring_copies(kernel->record, kernel->working_set_bytes, cache_bytes_of(study));
}

/* A store of a program that made other rings has records that are none of this study. */
static gboolean answers(const IfmStudy *study, const StudyCase *one, const IfmCase *record)
{
    const Visit *visit = one->own;
    const json_t *copies = json_object_get(record->options, "ring");
    return visit->kernel == NULL || json_integer_value(copies) == (json_int_t)copies_of(study, visit->kernel);
}

static gboolean fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    const KernelAxes *axes = study->own;
    const Visit *visit = one->own;
    CaseText *text = one->text = g_new0(CaseText, 1);
    IfmModelCase *model_case = &text->model_case;
    *model_case =
        (IfmModelCase){ .device = one->device->device,
                        .alias = one->row.alias,
                        .threads = (int)visit->threads,
                        .seed = axes->seed,
                        .protocol = study->protocol,
                        .visit = visit->visit,
                        .keep_tensors = TRUE,
                        .observe_ns = OBSERVE_NS,
                        .prometheus = axes->prometheus,
                        .prometheus_wait_ns = axes->prometheus_wait,
                        .queries = axes->prometheus != NULL ? (const char *const *)axes->query_texts->pdata : NULL };
    if (visit->kernel != NULL)
    {
        model_case->model_name = visit->kernel->id;
        model_case->kernel = visit->kernel->json;
        model_case->n_copies = copies_of(study, visit->kernel);
    }
    else
    {
        model_case->model_name = visit->model->name;
        const IfmModelSource *source = &visit->model->source;
        if (!open_held_out(axes, visit->model, folder, error))
            return FALSE;
        model_case->model_path = source->path;
        model_case->inputs_path = source->inputs_path;
        model_case->bindings = ifm_model_feed_bindings(&source->feed);
        model_case->n_bindings = source->feed.bindings->len;
        model_case->protocol.time_budget_ns *= MODEL_TIMES;
    }
    if (visit->condition.stress >= 0)
    {
        if (!place_of(visit->condition.stress, one->device, visit->condition.cores == 1, &text->place, error))
            return FALSE;
        model_case->stress_kind = ifm_stress_words()[visit->condition.stress];
        model_case->stress_cores = text->place.cores;
        model_case->stress_device = text->place.device;
        model_case->stress_level = (double)visit->condition.level / 100;
    }
    item->kind = &ifm_kind_model;
    item->spec = model_case;
    return TRUE;
}

/* The models that are measured whole. Here it is also found out whether there are kernels at all. */
static gboolean export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error)
{
    const KernelAxes *axes = study->own;
    if (device != NULL && !check_places(axes, device, error))
        return FALSE;
    kernels_of(study);
    if (axes->error != NULL)
        g_propagate_error(error, g_error_copy(axes->error));
    for (guint i = 0; axes->error == NULL && i < axes->held_out->len; i++)
        if (!open_held_out(axes, axes->held_out->pdata[i], folder, error))
            return FALSE;
    if (n_models != NULL)
        *n_models = axes->held_out->len;
    return axes->error == NULL;
}

static int pace(const StudyCase *one)
{
    const Visit *visit = one->own;
    return visit->kernel == NULL ? 3 : visit->condition.stress < 0 ? 1 : 2;
}

/* --- the manifest -------------------------------------------------------------------------------------------------------
 */

static const IfmRecordField definition_fields[] = {
    { IFM_RECORD(TEXTS, KernelAxes, models) },
    { IFM_RECORD(INT64, KernelAxes, rounds), .sparse = TRUE },
    { IFM_RECORD(INT64, KernelAxes, visits) },
    { IFM_RECORD(SERIES, KernelAxes, levels) },
    { IFM_RECORD(STRING, KernelAxes, level) },
    { IFM_RECORD(INT64, KernelAxes, batch), .sparse = TRUE },
    { NULL },
};

static json_t *definition(const IfmStudy *study)
{
    const KernelAxes *axes = study->own;
    json_t *json = ifm_record_to_json(axes, definition_fields), *kernels = json_array(), *held_out = json_array();
    for (guint i = 0; axes->set.kernels != NULL && i < axes->set.kernels->len; i++)
        json_array_append_new(kernels, ifm_record_to_json(axes->set.kernels->pdata[i], study_kernel_fields));
    for (guint i = 0; i < axes->held_out->len;
         i++) /* with their kernels, so that a store predicts them without a runtime */
    {
        const HeldOut *model = axes->held_out->pdata[i];
        json_array_append_new(held_out,
                              json_pack("{s:o,s:o}", "name", ifm_json_string(model->name), "records",
                                        model->records != NULL ? ifm_kernel_records_to_json(model->records) : json_null()));
    }
    json_object_set_new(json, "model", json_pack("{s:I}", "seed", (json_int_t)axes->seed));
    json_object_set_new(json, "kernels", kernels);
    if (axes->dims->len > 1)
        json_object_set_new(json, "dims", study_texts_to_json(axes->dims));
    if (axes->inputs->len > 1)
        json_object_set_new(json, "inputs", study_texts_to_json(axes->inputs));
    json_object_set_new(json, "held_out", held_out);
    return json;
}

const StudyKind study_kind_kernels = {
    .name = "kernels-under-load",
    .help = "kernels of models, alone and next to a load of known strength",
    .fields = kernels_fields,
    .text_size = sizeof(KernelAxes),
    .read = read_axes,
    .spans_by_run = TRUE,
    .one_device = TRUE,
    .needs_peaks = TRUE,
    .clear = clear,
    .clear_case = clear_case,
    .span = span,
    .recall = recall,
    .refine = refine,
    .export_files = export_files,
    .fill = fill,
    .answers = answers,
    .drop = drop,
    .pace = pace,
    .definition = definition,
};
