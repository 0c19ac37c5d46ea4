/* Which kernels a study has: those of its models, and others of sizes around theirs, round by round. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <kernel/kernel.h>

#include "kind-kernels.h"

const IfmRecordField study_kernel_fields[] = {
    { IFM_RECORD(STRING, StudyKernel, id) },
    { IFM_RECORD(STRING, StudyKernel, base) },
    { IFM_RECORD(STRING, StudyKernel, models) },
    { IFM_RECORD(INT64, StudyKernel, round), .sparse = TRUE },
    { IFM_RECORD(INT64, StudyKernel, working_set_bytes), .sparse = TRUE },
    { IFM_RECORD_AS(JSON, StudyKernel, json, "record") },
    { NULL },
};

void study_kernel_free(StudyKernel *kernel)
{
    ifm_kernel_record_free(kernel->record);
    g_free(kernel->families);
    g_free(kernel->shape);
    ifm_record_free(kernel, study_kernel_fields);
}

void study_kernel_set_init(StudyKernelSet *set)
{
    *set = (StudyKernelSet){ .kernels = g_ptr_array_new_with_free_func((GDestroyNotify)study_kernel_free),
                             .known = g_hash_table_new(g_str_hash, g_str_equal),
                             .round = 1 };
}

void study_kernel_set_clear(StudyKernelSet *set)
{
    g_clear_pointer(&set->known, g_hash_table_unref);
    g_clear_pointer(&set->kernels, g_ptr_array_unref);
}

static StudyKernel *add_kernel(StudyKernelSet *set, const IfmKernelRecord *record, const StudyKernel *base)
{
    StudyKernel *kernel = g_new0(StudyKernel, 1);
    kernel->record = ifm_kernel_record_copy(record);
    g_ptr_array_set_size(kernel->record->covers, 0); /* of one model: no part of what is measured */
    g_array_set_size(kernel->record->depends, 0);
    ifm_record_set_text(&kernel->record->node, "");
    kernel->json = ifm_kernel_record_to_json(kernel->record);
    kernel->id = ifm_kernel_record_stem(kernel->record);
    kernel->base = g_strdup(base != NULL ? base->id : kernel->id);
    kernel->models = g_strdup("");
    kernel->round = set->round;
    if (base != NULL)
        kernel->working_set_bytes = base->working_set_bytes;
    if (kernel->working_set_bytes > 0)
        kernel->working_set_bytes += ifm_kernel_bytes(kernel->record) - ifm_kernel_bytes(base->record);
    g_ptr_array_add(set->kernels, kernel);
    g_hash_table_insert(set->known, kernel->record->digest, kernel);
    return kernel;
}

/* --- those of models ----------------------------------------------------------------------------------------------------
 */

/* Whether it is the last of the models of a kernel: they are added in their order. */
static gboolean is_last(const char *models, const char *name)
{
    const char *last = strrchr(models, ';');
    return g_str_equal(last != NULL ? last + 1 : models, name);
}

static gboolean can_measure(const IfmKernelRecord *record)
{
    g_autoptr(IfmModel) model = NULL;
    if (ifm_kernel_record_moves(record))
        return FALSE; /* alone it copies; in a model it costs what any node does */
    g_autoptr(IfmAnalysis) analysis = ifm_kernel_analyse(record, &model, NULL);
    return analysis != NULL;
}

void study_kernel_set_add(StudyKernelSet *set, const char *model, const IfmKernelRecords *records)
{
    const gint64 working_set_bytes = ifm_kernel_records_working_set(records);
    for (guint k = 0; k < records->kernels->len; k++)
    {
        const IfmKernelRecord *record = records->kernels->pdata[k];
        StudyKernel *kernel = g_hash_table_lookup(set->known, record->digest);
        if (kernel == NULL && can_measure(record))
            kernel = add_kernel(set, record, NULL);
        if (kernel == NULL || is_last(kernel->models, model))
            continue;
        kernel->working_set_bytes =
            kernel->working_set_bytes != 0 ? MAX(kernel->working_set_bytes, working_set_bytes) : working_set_bytes;
        char *models = g_strconcat(kernel->models, *kernel->models != '\0' ? ";" : "", model, NULL);
        g_free(kernel->models);
        kernel->models = models;
    }
}

void study_kernel_set_seal(StudyKernelSet *set, guint most)
{
    for (; set->kernels->len > most; g_ptr_array_set_size(set->kernels, (gint)set->kernels->len - 1))
        g_hash_table_remove(set->known, ((const StudyKernel *)set->kernels->pdata[set->kernels->len - 1])->record->digest);
    set->n_own = set->kernels->len;
}

/* The models' own kernels of an operator; NULL: of all. (transfer container) */
static GPtrArray *list_own(const StudyKernelSet *set, const char *op_type)
{
    GPtrArray *own = g_ptr_array_new();
    for (guint i = 0; i < set->n_own; i++)
    {
        StudyKernel *kernel = set->kernels->pdata[i];
        if (op_type == NULL || g_str_equal(kernel->record->name, op_type))
            g_ptr_array_add(own, kernel);
    }
    return own;
}

/* --- those of other sizes -----------------------------------------------------------------------------------------------
 */

#define MAX_TRIES 20

/* Around these in turn, so that each has about as many around it. @bases: StudyKernel*    @until: so many kernels in all */
static void add_around(StudyKernelSet *set, const GPtrArray *bases, guint until, GRand *random)
{
    for (guint tries = 0; bases->len > 0 && tries < bases->len * MAX_TRIES && set->kernels->len < until; tries++)
    {
        const StudyKernel *base = bases->pdata[tries % bases->len];
        g_autoptr(IfmKernelRecord) other = ifm_kernel_vary(base->record, g_rand_int(random));
        if (other != NULL && !g_hash_table_contains(set->known, other->digest))
            add_kernel(set, other, base);
    }
}

void study_kernel_set_vary(StudyKernelSet *set, guint until, const GArray *needs, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed + (guint32)set->round - 1);
    const guint n_new = until - MIN(set->kernels->len, until);
    for (guint i = 0; needs != NULL && i < needs->len; i++)
    {
        const StudyNeed *need = &g_array_index(needs, StudyNeed, i);
        g_autoptr(GPtrArray) own = list_own(set, need->op_type);
        const guint some = (guint)ceil(need->share * (double)n_new);
        add_around(set, own, MIN(set->kernels->len + some, until), random);
    }
    g_autoptr(GPtrArray) all = list_own(set, NULL);
    add_around(set, all, until, random);
}

/* --- rounds -------------------------------------------------------------------------------------------------------------
 */

GPtrArray *study_kernel_set_round(const StudyKernelSet *set, gint64 round)
{
    GPtrArray *kernels = g_ptr_array_new();
    for (guint i = 0; i < set->kernels->len; i++)
        if (((const StudyKernel *)set->kernels->pdata[i])->round == round)
            g_ptr_array_add(kernels, set->kernels->pdata[i]);
    return kernels;
}

void study_kernel_set_recall(StudyKernelSet *set, const StudyKernel *kernel, guint most, gint64 n_rounds)
{
    const StudyKernel *base = NULL;
    for (guint i = 0; base == NULL && i < set->n_own; i++)
        if (g_str_equal(((const StudyKernel *)set->kernels->pdata[i])->id, kernel->base))
            base = set->kernels->pdata[i];
    if (base == NULL || set->kernels->len >= most || g_hash_table_contains(set->known, kernel->record->digest))
        return;
    StudyKernel *added = add_kernel(set, kernel->record, base);
    added->round = MIN(kernel->round, n_rounds);
    set->round = MAX(set->round, added->round);
}
