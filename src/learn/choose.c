/* Which way predicts an operator: that with the least error on kernels that were not trained on. */
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

/* Two ways together must be better than the best alone by so much: they cost twice. */
#define PAIR_GAIN 0.98
/* Operators with fewer cases are chosen for together: an evaluation of IFM_LEARN_OPERATOR_CASES trains on four fifths. */
#define LEAST_CASES 20

char *ifm_operator_choice_text(const IfmOperatorChoice *choice)
{
    return choice->first == choice->second
               ? g_strdup(learn_way_words[choice->first])
               : g_strdup_printf("%s and %s", learn_way_words[choice->first], learn_way_words[choice->second]);
}

static IfmOperatorChoice *add_choice(IfmLatencyModel *model, const char *name, const char *group, int way)
{
    IfmOperatorChoice *choice = g_new0(IfmOperatorChoice, 1);
    *choice = (IfmOperatorChoice){ g_strdup(name), g_strdup(group), way, way, 0, (double)NAN, (double)NAN };
    g_ptr_array_add(model->choices, choice);
    return choice;
}

void learn_choose_any(IfmLatencyModel *model, const IfmLearnOptions *options)
{
    const int way = options->method == IFM_LEARN_FOREST ? LEARN_BY_FOREST : LEARN_BY_TREES;
    g_ptr_array_set_size(model->choices, 0);
    for (guint i = 0; i < model->operators->len; i++)
        add_choice(model, model->operators->pdata[i], "", way);
}

/* --- groups -------------------------------------------------------------------------------------------------------------
 */

/* Operators with few cases are chosen for together. */
typedef struct
{
    GHashTable *of_operator, *of_base; /* number of cases; of a base those of its operators that have few */
} Groups;

static guint count_of(GHashTable *counts, const char *name)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(counts, name));
}

static void count(GHashTable *counts, const char *name, guint n)
{
    g_hash_table_insert(counts, g_strdup(name), GUINT_TO_POINTER(count_of(counts, name) + n));
}

/* Trial: what each way predicts for a case that one fold left out. @of: the case */
typedef struct
{
    guint of;
    const double *ns;
} Trial;

static gboolean is_tried(const double *trial)
{
    for (int way = 0; way < LEARN_N_WAYS; way++)
        if (isfinite(trial[way]))
            return TRUE;
    return FALSE;
}

/* (transfer full) Trial: those of one case follow each other. Those without a prediction are left out. */
static GArray *list_trials(const LearnCases *cases, const double *trials, gsize n_sets)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Trial));
    const gsize n = cases->cases->len;
    for (guint i = 0; i < n; i++)
        for (gsize set = 0; set < n_sets; set++)
        {
            const Trial trial = { i, trials + (set * n + i) * LEARN_N_WAYS };
            if (is_tried(trial.ns))
                g_array_append_val(list, trial);
        }
    return list;
}

/* Of a list: whether it is the first of its case. */
static gboolean is_first(const GArray *list, guint i)
{
    return i == 0 || g_array_index(list, Trial, i - 1).of != g_array_index(list, Trial, i).of;
}

/* (transfer full) "Conv" of "Conv_Relu" */
static char *base_of(const char *op_type)
{
    return g_strndup(op_type, strcspn(op_type, "_"));
}

static void groups_init(Groups *groups, const IfmLatencyModel *model, const LearnCases *cases, const GArray *list)
{
    *groups = (Groups){ g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) };
    for (guint i = 0; i < list->len; i++)
        if (is_first(list, i))
            count(groups->of_operator, learn_case(cases, g_array_index(list, Trial, i).of)->sample.op_type, 1);
    for (guint i = 0; i < model->operators->len; i++)
    {
        const guint n = count_of(groups->of_operator, model->operators->pdata[i]);
        g_autofree char *base = base_of(model->operators->pdata[i]);
        if (n < LEAST_CASES)
            count(groups->of_base, base, n);
    }
}

static void groups_clear(Groups *groups)
{
    g_hash_table_unref(groups->of_operator);
    g_hash_table_unref(groups->of_base);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Groups, groups_clear)

/* (transfer full) */
static char *group_of(const Groups *groups, const char *op_type)
{
    g_autofree char *base = base_of(op_type);
    if (count_of(groups->of_operator, op_type) >= LEAST_CASES)
        return g_strdup(op_type);
    if (count_of(groups->of_base, base) >= LEAST_CASES)
        return g_strconcat("other ", base, NULL);
    return g_strdup("others");
}

/* --- the best -----------------------------------------------------------------------------------------------------------
 */

/* The mean of their logarithms. */
static double both(double a, double b)
{
    return a == b ? a : sqrt(a) * sqrt(b);
}

/* Of the trials of a group, the mean relative error by two ways; infinite where one of them was not tried. */
static double error_of(const LearnCases *cases, const GArray *members, int first, int second)
{
    double sum = 0;
    for (guint k = 0; k < members->len; k++)
    {
        const Trial *trial = &g_array_index(members, Trial, k);
        sum += fabs(both(trial->ns[first], trial->ns[second]) / learn_case(cases, trial->of)->latency_ns - 1);
    }
    return isfinite(sum) && members->len > 0 ? sum / members->len : (double)INFINITY;
}

static void choose_best(IfmOperatorChoice *choice, const LearnCases *cases, const GArray *members)
{
    double errors[LEARN_N_WAYS];
    int best = -1, second = -1;
    for (int way = 0; way < LEARN_N_WAYS; way++)
        errors[way] = error_of(cases, members, way, way);
    for (int way = 0; way < LEARN_N_WAYS; way++)
        if (isfinite(errors[way]) && (best < 0 || errors[way] < errors[best]))
            best = way;
    for (int way = 0; way < LEARN_N_WAYS; way++)
        if (way != best && isfinite(errors[way]) && (second < 0 || errors[way] < errors[second]))
            second = way;
    if (best < 0)
        return;
    const double pair = second >= 0 ? error_of(cases, members, best, second) : (double)INFINITY;
    const gboolean is_pair = pair < PAIR_GAIN * errors[best];
    choice->first = best;
    choice->second = is_pair ? second : best;
    choice->n = 0;
    for (guint i = 0; i < members->len; i++)
        choice->n += is_first(members, i);
    choice->mape = is_pair ? pair : errors[best];
    choice->linear = isfinite(errors[LEARN_LINEAR]) ? errors[LEARN_LINEAR] : (double)NAN;
}

void learn_choose(IfmLatencyModel *model, const LearnCases *cases, const double *trials, gsize n_sets)
{
    g_auto(Groups) groups = { 0 };
    g_autoptr(GArray) all = list_trials(cases, trials, n_sets);
    g_autoptr(GHashTable) members = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    groups_init(&groups, model, cases, all);
    for (guint i = 0; i < all->len; i++)
    {
        const Trial *trial = &g_array_index(all, Trial, i);
        g_autofree char *group = group_of(&groups, learn_case(cases, trial->of)->sample.op_type);
        GArray *list = g_hash_table_lookup(members, group);
        if (list == NULL)
            g_hash_table_insert(members, g_strdup(group), list = g_array_new(FALSE, FALSE, sizeof(Trial)));
        g_array_append_val(list, *trial);
    }
    for (guint i = 0; i < model->choices->len; i++)
    {
        IfmOperatorChoice *choice = model->choices->pdata[i];
        g_free(choice->group);
        choice->group = group_of(&groups, choice->name);
        const GArray *list = g_hash_table_lookup(members, choice->group);
        if (list != NULL)
            choose_best(choice, cases, list);
    }
}

/* --- what was chosen ----------------------------------------------------------------------------------------------------
 */

static int compare_name(gconstpointer name, gconstpointer choice)
{
    return strcmp(name, (*(const IfmOperatorChoice *const *)choice)->name);
}

const IfmOperatorChoice *learn_choice(const IfmLatencyModel *model, const char *op_type)
{
    const gpointer *found = model->choices->len > 0 ? bsearch(op_type, model->choices->pdata, model->choices->len,
                                                              sizeof(gpointer), compare_name)
                                                    : NULL;
    return found != NULL ? *found : NULL;
}

double learn_choice_ns(const IfmLatencyModel *model, const IfmOperatorChoice *choice, const IfmKernelSample *sample,
                       double roofline_ns, const float *row)
{
    const double first = learn_way_ns(model, (LearnWay)choice->first, sample, roofline_ns, row);
    return choice->first == choice->second
               ? first
               : both(first, learn_way_ns(model, (LearnWay)choice->second, sample, roofline_ns, row));
}

static gboolean is_chosen(const IfmLatencyModel *model, LearnWay way)
{
    for (guint i = 0; i < model->choices->len; i++)
    {
        const IfmOperatorChoice *choice = model->choices->pdata[i];
        if (choice->first == (int)way || choice->second == (int)way)
            return TRUE;
    }
    return FALSE;
}

gboolean learn_choices_check(const IfmLatencyModel *model, const char *where, GError **error)
{
    if (model->choices->len != model->operators->len)
        return ifm_error_refuse(error, "%s.choices: %u, expected one for each of %u operators", where, model->choices->len,
                                model->operators->len);
    for (guint i = 0; i < model->choices->len; i++)
    {
        const IfmOperatorChoice *choice = model->choices->pdata[i];
        if (!g_str_equal(choice->name, model->operators->pdata[i]))
            return ifm_error_refuse(error, "%s.choices[%u]: found \"%s\", expected \"%s\"", where, i, choice->name,
                                    (const char *)model->operators->pdata[i]);
    }
    if (is_chosen(model, LEARN_BY_TREES) && model->idle.n_features == 0)
        return ifm_error_refuse(error, "%s.idle_trees: found null, expected trees", where);
    if (is_chosen(model, LEARN_BY_FOREST) && model->forest.n_features == 0)
        return ifm_error_refuse(error, "%s.idle_forest: found null, expected trees", where);
    return learn_lines_check(model, where, error);
}

void learn_choices_trim(IfmLatencyModel *model)
{
    if (!is_chosen(model, LEARN_BY_TREES))
        learn_trees_clear(&model->idle);
    if (!is_chosen(model, LEARN_BY_FOREST))
        learn_trees_clear(&model->forest);
    for (guint i = 0; i < model->lines->len; i++)
    {
        LearnLine *line = model->lines->pdata[i];
        const IfmOperatorChoice *choice = learn_choice(model, line->name);
        if (choice == NULL || (choice->first != LEARN_SMOOTH && choice->second != LEARN_SMOOTH))
            g_clear_pointer(&line->smooth, ifm_smooth_free);
    }
}
