/* Where the prediction of kernels errs: what is to be measured next, and whether that helped. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <learn/learn.h>

#include "kind-kernels.h"

/* Errors: of an operator's kernels that were left out. @sum: of |log(measured / predicted)|    @time_ns: of the models' own
 */
typedef struct
{
    double sum, time_ns;
    gsize n;
} Errors;

/* (transfer full) operator -> Errors* */
static GHashTable *list_errors(const GArray *left_out)
{
    GHashTable *operators = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    for (guint i = 0; i < left_out->len; i++)
    {
        const IfmLearnLeftOut *row = &g_array_index(left_out, IfmLearnLeftOut, i);
        Errors *errors = g_hash_table_lookup(operators, row->op_type);
        if (errors == NULL)
            g_hash_table_insert(operators, (gpointer)row->op_type, errors = g_new0(Errors, 1));
        errors->sum += fabs(log(row->measured_ns / row->predicted_ns));
        errors->time_ns += row->of_model ? row->measured_ns : 0;
        errors->n++;
    }
    return operators;
}

static gint compare_needs(gconstpointer a, gconstpointer b)
{
    const StudyNeed *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share) - (x->share > y->share) : strcmp(x->op_type, y->op_type);
}

static void need_clear(gpointer need)
{
    g_free(((StudyNeed *)need)->op_type);
}

/* Until: what a round knew. @rounds: kernel -> the round that it was chosen in */
typedef struct
{
    GHashTable *rounds;
    gint64 round;
} Until;

static gint64 round_of(const Until *until, const char *kernel)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(until->rounds, kernel));
}

static gboolean was_known(const IfmKernelSample *sample, gpointer user)
{
    const Until *until = user;
    return round_of(until, sample->kernel_id) <= until->round;
}

/* As ifm_learn_left_out(). @left_out: (out) NULL: nothing can be learnt yet */
static gboolean leave_out(const IfmKernelSamples *samples, const gint *interrupted, const Until *until, GArray **left_out,
                          GError **error)
{
    const IfmLearnOptions options = { .seed = 1, .threads = 1, .interrupted = interrupted };
    GError *trouble = NULL;
    *left_out = ifm_learn_left_out(samples, &options, until != NULL ? was_known : NULL, (gpointer)until, &trouble);
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID))
        g_clear_error(&trouble);
    if (trouble == NULL)
        return TRUE;
    g_propagate_error(error, trouble);
    return FALSE;
}

GArray *study_kernel_needs(const IfmKernelSamples *samples, const gint *interrupted, GError **error)
{
    g_autoptr(GArray) needs = g_array_new(FALSE, FALSE, sizeof(StudyNeed)), left_out = NULL;
    g_array_set_clear_func(needs, need_clear);
    if (!leave_out(samples, interrupted, NULL, &left_out, error))
        return NULL;
    if (left_out == NULL)
        return g_steal_pointer(&needs);
    g_autoptr(GHashTable) operators = list_errors(left_out);
    double all = 0;
    GHashTableIter iterator;
    gpointer name, value;
    g_hash_table_iter_init(&iterator, operators);
    while (g_hash_table_iter_next(&iterator, &name, &value))
    {
        const Errors *errors = value;
        const StudyNeed need = { g_strdup(name), errors->sum / (double)errors->n * errors->time_ns };
        all += need.share;
        g_array_append_val(needs, need);
    }
    for (guint i = 0; i < needs->len && all > 0; i++)
        g_array_index(needs, StudyNeed, i).share /= all;
    g_array_sort(needs, compare_needs);
    return g_steal_pointer(&needs);
}

/* --- whether it helped --------------------------------------------------------------------------------------------------
 */

/* (transfer full) kernel -> round; texts are the definition's */
static GHashTable *list_rounds(const IfmStudyTables *points, gint64 *last)
{
    GHashTable *rounds = g_hash_table_new(g_str_hash, g_str_equal);
    const json_t *list = ifm_member(points->definition, "kernels");
    *last = 1;
    for (gsize i = 0; i < json_array_size(list); i++)
    {
        const json_t *kernel = json_array_get(list, i);
        const char *id = ifm_member_text(kernel, "id");
        const gint64 round = CLAMP(json_integer_value(json_object_get(kernel, "round")), 1, G_MAXINT32);
        if (id == NULL)
            continue;
        g_hash_table_insert(rounds, (gpointer)id, GINT_TO_POINTER((gint)round));
        *last = MAX(*last, round);
    }
    return rounds;
}

/* The operator that most of a round's kernels are of; borrowed from them. */
static const char *most_of(const GArray *left_out, const Until *until)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    const char *most = NULL;
    gint n_most = 0;
    for (guint i = 0; i < left_out->len; i++)
    {
        const IfmLearnLeftOut *row = &g_array_index(left_out, IfmLearnLeftOut, i);
        if (round_of(until, row->kernel_id) != until->round)
            continue;
        const gint n = GPOINTER_TO_INT(g_hash_table_lookup(counts, row->op_type)) + 1;
        g_hash_table_insert(counts, (gpointer)row->op_type, GINT_TO_POINTER(n));
        if (n > n_most)
            most = row->op_type;
        n_most = MAX(n, n_most);
    }
    return most;
}

/* |predicted / measured - 1| of the models' own kernels, which are the same in each round and in one order. */
static GArray *list_own_errors(const GArray *left_out)
{
    GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < left_out->len; i++)
    {
        const IfmLearnLeftOut *one = &g_array_index(left_out, IfmLearnLeftOut, i);
        const double error = fabs(one->predicted_ns / one->measured_ns - 1);
        if (one->of_model)
            g_array_append_val(errors, error);
    }
    return errors;
}

static IfmRoundRow row_of(const GArray *left_out, const Until *until, const GArray *own)
{
    IfmRoundRow row = { .round = until->round,
                        .most = most_of(left_out, until),
                        .change = (double)NAN,
                        .change_interval = { (double)NAN, (double)NAN } };
    double missed = 0, measured = 0;
    for (guint i = 0; i < left_out->len; i++)
    {
        const IfmLearnLeftOut *one = &g_array_index(left_out, IfmLearnLeftOut, i);
        row.n_kernels += round_of(until, one->kernel_id) <= until->round;
        missed += one->of_model ? fabs(one->predicted_ns - one->measured_ns) : 0;
        measured += one->of_model ? one->measured_ns : 0;
    }
    row.mape = own->len > 0 ? ifm_mean((const double *)(const void *)own->data, own->len) : (double)NAN;
    row.weighted = measured > 0 ? missed / measured : (double)NAN;
    return row;
}

/* The mean change of a kernel's error. Those of one fold are by one model: where these follow each other alike, the
 * interval is the wider for it. */
static void compare_to_first(IfmRoundRow *row, const GArray *own, const GArray *first)
{
    g_autofree double *changes = g_new(double, own->len + 1);
    g_assert(own->len == first->len);
    for (guint i = 0; i < own->len; i++)
        changes[i] = g_array_index(own, double, i) - g_array_index(first, double, i);
    row->change = ifm_mean_interval(changes, own->len, 0.95, &row->change_interval);
}

GArray *ifm_kernel_round_rows(const IfmStudyTables *points, const IfmKernelSamples *samples, GError **error)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(IfmRoundRow)), first = NULL;
    gint64 last;
    g_autoptr(GHashTable) rounds = list_rounds(points, &last);
    for (gint64 round = 1; last > 1 && round <= last; round++)
    {
        const Until until = { rounds, round };
        g_autoptr(GArray) left_out = NULL;
        if (!leave_out(samples, NULL, &until, &left_out, error))
            return NULL;
        if (left_out == NULL)
            continue;
        g_autoptr(GArray) own = list_own_errors(left_out);
        IfmRoundRow row = row_of(left_out, &until, own);
        if (first == NULL)
            first = g_steal_pointer(&own);
        else
            compare_to_first(&row, own, first);
        g_array_append_val(rows, row);
    }
    return g_steal_pointer(&rows);
}
