/* Which way predicts an operator: that with the least error on kernels that were not trained on. */
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

/* Two ways together must be better than the best alone by so much: they cost twice. */
#define PAIR_GAIN 0.98
/* So many of the configurations that are left out are near. */
#define NEAR_SHARE 0.9
/* Operators with fewer cases are chosen for together: an evaluation of IFM_LEARN_OPERATOR_CASES trains on four fifths. */
#define LEAST_CASES 20

char *ifm_operator_choice_text(const IfmOperatorChoice *choice, gboolean far)
{
    const int first = far ? choice->far_first : choice->first, second = far ? choice->far_second : choice->second;
    return first == second ? g_strdup(learn_way_words[first])
                           : g_strdup_printf("%s and %s", learn_way_words[first], learn_way_words[second]);
}

static IfmOperatorChoice *add_choice(IfmLatencyModel *model, const char *name, const char *group, int way)
{
    IfmOperatorChoice *choice = g_new0(IfmOperatorChoice, 1);
    *choice = (IfmOperatorChoice){ .name = g_strdup(name),
                                   .group = g_strdup(group),
                                   .first = way,
                                   .second = way,
                                   .far_first = way,
                                   .far_second = way,
                                   .mape = (double)NAN,
                                   .linear = (double)NAN };
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

/* Trial: what each way predicts for a case that one fold left out. @of: the case    @is_far: from all that were not */
typedef struct
{
    guint of;
    const double *ns;
    gboolean is_far;
} Trial;

static gboolean is_tried(const double *trial)
{
    for (int way = 0; way < LEARN_N_WAYS; way++)
        if (isfinite(trial[way]))
            return TRUE;
    return FALSE;
}

/* (transfer full) Trial: those of one case follow each other. Those without a prediction are left out. */
static GArray *list_trials(const LearnCases *cases, const LearnTrials *trials, double reach)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Trial));
    const gsize n = cases->cases->len;
    for (guint i = 0; i < n; i++)
        for (gsize set = 0; set < trials->n_sets; set++)
        {
            const gsize at = set * n + i;
            const Trial trial = { i, trials->ns + at * LEARN_N_WAYS, trials->distances[at] > reach };
            if (is_tried(trial.ns))
                g_array_append_val(list, trial);
        }
    return list;
}

/* Of the first set, the parts of the configurations. NaN: nothing was tried */
static double find_reach(const LearnCases *cases, const LearnTrials *trials)
{
    g_autofree double *distances = g_new(double, cases->cases->len + 1);
    gsize n = 0;
    for (gsize i = 0; i < cases->cases->len; i++)
        if (is_tried(trials->ns + i * LEARN_N_WAYS) && isfinite(trials->distances[i]))
            distances[n++] = trials->distances[i];
    return learn_quantile(distances, n, NEAR_SHARE);
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

static double pair_ns(const Trial *trial, int first, int second)
{
    return both(trial->ns[first], trial->ns[second]);
}

/* Of the trials of a group, the mean relative error by two ways; infinite where one of them was not tried. */
static double error_of(const LearnCases *cases, const GArray *members, int first, int second)
{
    double sum = 0;
    for (guint k = 0; k < members->len; k++)
    {
        const Trial *trial = &g_array_index(members, Trial, k);
        sum += fabs(pair_ns(trial, first, second) / learn_case(cases, trial->of)->latency_ns - 1);
    }
    return isfinite(sum) && members->len > 0 ? sum / members->len : (double)INFINITY;
}

/* (transfer full) those that are far, or that are not */
static GArray *part_of(const GArray *members, gboolean far)
{
    GArray *part = g_array_new(FALSE, FALSE, sizeof(Trial));
    for (guint i = 0; i < members->len; i++)
        if (g_array_index(members, Trial, i).is_far == far)
            g_array_append_val(part, g_array_index(members, Trial, i));
    return part;
}

/* Pair: the mean of the logarithms of two ways; of one where they are equal. @error: infinite: none was tried */
typedef struct
{
    int first, second;
    double error;
} Pair;

/* Far from what was learnt: what is simple and trees together, or a baseline. */
static gboolean may_be_far(int first, int second)
{
    return first == second ? first <= LEARN_LINEAR : first < LEARN_BY_TREES && second >= LEARN_BY_TREES;
}

static Pair best_pair(const LearnCases *cases, const GArray *members, gboolean far)
{
    Pair best = { 0, 0, (double)INFINITY };
    double least = (double)INFINITY;
    for (int first = 0; first < LEARN_N_WAYS; first++)
        for (int second = first; second < LEARN_N_WAYS; second++)
        {
            if (far && !may_be_far(first, second))
                continue;
            const double error = error_of(cases, members, first, second);
            if (!((first == second ? PAIR_GAIN * error : error) < least))
                continue;
            best = (Pair){ first, second, error };
            least = first == second ? PAIR_GAIN * error : error;
        }
    return best;
}

static void set_ways(IfmOperatorChoice *choice, const Pair *near, const Pair *far)
{
    choice->first = near->first;
    choice->second = near->second;
    choice->far_first = far->first;
    choice->far_second = far->second;
}

static double error_of_choice(const LearnCases *cases, const GArray *near, const GArray *far,
                              const IfmOperatorChoice *choice)
{
    double sum = 0;
    if (near->len > 0)
        sum += near->len * error_of(cases, near, choice->first, choice->second);
    if (far->len > 0)
        sum += far->len * error_of(cases, far, choice->far_first, choice->far_second);
    return sum / (near->len + far->len);
}

/* @any: what is best of all that are far, where the group has too few; infinite error: there are too few of all */
static void choose_best(IfmOperatorChoice *choice, const LearnCases *cases, const GArray *members, const Pair *any)
{
    g_autoptr(GArray) near = part_of(members, FALSE), far = part_of(members, TRUE);
    const Pair best = best_pair(cases, near->len > 0 ? near : members, FALSE),
               own = far->len >= LEAST_CASES ? best_pair(cases, far, TRUE) : *any;
    if (!isfinite(best.error))
        return;
    set_ways(choice, &best, isfinite(own.error) ? &own : &best);
    choice->mape = error_of_choice(cases, near, far, choice);
    /* what is best of all that are far need not be that of this group */
    for (int way = 0; way <= LEARN_LINEAR; way++)
    {
        const Pair baseline = { way, way, error_of(cases, members, way, way) };
        if (!(baseline.error < choice->mape))
            continue;
        set_ways(choice, &baseline, &baseline);
        choice->mape = baseline.error;
    }
    choice->n = 0;
    for (guint i = 0; i < members->len; i++)
        choice->n += is_first(members, i);
    const double linear = error_of(cases, members, LEARN_LINEAR, LEARN_LINEAR);
    choice->linear = isfinite(linear) ? linear : (double)NAN;
}

/* (transfer full) group -> Trial */
static GHashTable *list_groups(const Groups *groups, const LearnCases *cases, const GArray *all)
{
    GHashTable *members = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    for (guint i = 0; i < all->len; i++)
    {
        const Trial *trial = &g_array_index(all, Trial, i);
        g_autofree char *group = group_of(groups, learn_case(cases, trial->of)->sample.op_type);
        GArray *list = g_hash_table_lookup(members, group);
        if (list == NULL)
            g_hash_table_insert(members, g_strdup(group), list = g_array_new(FALSE, FALSE, sizeof(Trial)));
        g_array_append_val(list, *trial);
    }
    return members;
}

static void list_far_errors(const IfmLatencyModel *model, const LearnCases *cases, const GArray *all, GArray *errors)
{
    for (guint i = 0; i < all->len; i++)
    {
        const Trial *trial = &g_array_index(all, Trial, i);
        const LearnCase *one = learn_case(cases, trial->of);
        const IfmOperatorChoice *choice = trial->is_far ? learn_choice(model, one->sample.op_type) : NULL;
        const double ns = choice != NULL ? pair_ns(trial, choice->far_first, choice->far_second) : (double)NAN,
                     error = fabs(log(one->measured_ns / ns));
        if (isfinite(error))
            g_array_append_val(errors, error);
    }
}

void learn_choose(IfmLatencyModel *model, const LearnCases *cases, const LearnTrials *trials, GArray *far)
{
    g_auto(Groups) groups = { 0 };
    model->reach = find_reach(cases, trials);
    g_autoptr(GArray) all = list_trials(cases, trials, model->reach), all_far = part_of(all, TRUE);
    const Pair none = { 0, 0, (double)INFINITY },
               any = all_far->len >= LEAST_CASES ? best_pair(cases, all_far, TRUE) : none;
    groups_init(&groups, model, cases, all);
    g_autoptr(GHashTable) members = list_groups(&groups, cases, all);
    for (guint i = 0; i < model->choices->len; i++)
    {
        IfmOperatorChoice *choice = model->choices->pdata[i];
        g_free(choice->group);
        choice->group = group_of(&groups, choice->name);
        const GArray *list = g_hash_table_lookup(members, choice->group);
        if (list != NULL)
            choose_best(choice, cases, list, &any);
    }
    if (far != NULL)
        list_far_errors(model, cases, all, far);
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
                       double roofline_ns, const float *row, gboolean *far)
{
    const gboolean is_far = learn_distance(model, choice->name, sample) > model->reach;
    const int ways[] = { is_far ? choice->far_first : choice->first, is_far ? choice->far_second : choice->second };
    const double first = learn_way_ns(model, (LearnWay)ways[0], sample, roofline_ns, row);
    if (far != NULL)
        *far = is_far;
    return ways[0] == ways[1] ? first : both(first, learn_way_ns(model, (LearnWay)ways[1], sample, roofline_ns, row));
}

static gboolean has_way(const IfmOperatorChoice *choice, LearnWay way)
{
    const int ways[] = { choice->first, choice->second, choice->far_first, choice->far_second };
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
        if (ways[i] == (int)way)
            return TRUE;
    return FALSE;
}

static gboolean is_chosen(const IfmLatencyModel *model, LearnWay way)
{
    for (guint i = 0; i < model->choices->len; i++)
        if (has_way(model->choices->pdata[i], way))
            return TRUE;
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
        if (choice == NULL || !has_way(choice, LEARN_SMOOTH))
            g_clear_pointer(&line->smooth, ifm_smooth_free);
    }
}
