/* Trees: trained by XGBoost, evaluated here, so that a model can be used where XGBoost is not. */
#include <math.h>
#include <string.h>
#include <xgboost/c_api.h>

#include <base/base.h>

#include "learn-private.h"

void learn_table_init(LearnTable *table, gsize n_columns)
{
    table->x = g_array_new(FALSE, FALSE, sizeof(float));
    table->y = g_array_new(FALSE, FALSE, sizeof(float));
    table->directions = g_array_new(FALSE, TRUE, sizeof(int));
    table->n_columns = n_columns;
}

void learn_table_clear(LearnTable *table)
{
    g_clear_pointer(&table->x, g_array_unref);
    g_clear_pointer(&table->y, g_array_unref);
    g_clear_pointer(&table->directions, g_array_unref);
}

void learn_trees_clear(LearnTrees *trees)
{
    g_clear_pointer(&trees->nodes, g_array_unref);
    g_clear_pointer(&trees->starts, g_array_unref);
    trees->n_features = 0;
}

static void trees_init(LearnTrees *trees, gsize n_features, double intercept)
{
    *trees = (LearnTrees){ .nodes = g_array_new(FALSE, FALSE, sizeof(LearnNode)),
                           .starts = g_array_new(FALSE, FALSE, sizeof(guint32)),
                           .n_features = n_features,
                           .intercept = intercept };
}

/* --- grafting -----------------------------------------------------------------------------------------------------------
 */

/* @i: of the trees    Returns: number of its nodes, whose leaves get @share more    @first: place that its root has in the
 * new tree */
static guint32 copy_nodes(GArray *nodes, const LearnTrees *trees, guint i, guint32 first, double share)
{
    const guint32 start = g_array_index(trees->starts, guint32, i);
    const guint32 end = i + 1 < trees->starts->len ? g_array_index(trees->starts, guint32, i + 1) : trees->nodes->len;
    for (guint32 k = start; k < end; k++)
    {
        LearnNode node = g_array_index(trees->nodes, LearnNode, k);
        if (node.children[0] == 0)
            node.value = (float)((double)node.value + share);
        else
            for (gsize side = 0; side < 2; side++)
                node.children[side] += first;
        g_array_append_val(nodes, node);
    }
    return end - start;
}

/* Each tree begins with two nodes: below the value, and above it, go to the tree that there was. */
void learn_trees_graft(LearnTrees *trees, const LearnTrees *own, gsize feature, guint value)
{
    const double share = (own->intercept - trees->intercept) / MAX(own->starts->len, 1);
    LearnTrees grafted;
    trees_init(&grafted, trees->n_features, trees->intercept);
    g_assert(own->starts->len == trees->starts->len);
    for (guint i = 0; i < trees->starts->len; i++)
    {
        const guint32 start = grafted.nodes->len;
        LearnNode roots[2] = { { { 0, 1 }, (float)value, (guint16)feature, 1 },
                               { { 2, 0 }, (float)value + 1, (guint16)feature, 1 } };
        g_array_append_val(grafted.starts, start);
        g_array_append_vals(grafted.nodes, roots, 2);
        const guint32 other = 2 + copy_nodes(grafted.nodes, own, i, 2, share);
        copy_nodes(grafted.nodes, trees, i, other, 0);
        g_array_index(grafted.nodes, LearnNode, start).children[0] = other;
        g_array_index(grafted.nodes, LearnNode, start + 1).children[1] = other;
    }
    learn_trees_clear(trees);
    *trees = grafted;
}

/* --- walking ------------------------------------------------------------------------------------------------------------
 */

/* So many walks go side by side: which way a row goes is not foreseeable, so that one walk by itself waits. */
#define ABREAST 8

/* The sum is in float, in the order of the trees, and features are compared as float, as in XGBoost. */
double learn_trees_at(const LearnTrees *trees, const float *row)
{
    const LearnNode *nodes = (const LearnNode *)(const void *)trees->nodes->data, *at[ABREAST], *tree[ABREAST];
    const guint32 *starts = (const guint32 *)(const void *)trees->starts->data;
    float sum = 0;
    for (guint i = 0; i < trees->starts->len; i += ABREAST)
    {
        const guint n = MIN(ABREAST, trees->starts->len - i);
        guint32 moved;
        for (guint k = 0; k < ABREAST; k++)
            at[k] = tree[k] = nodes + starts[k < n ? i + k : i];
        do
        {
            moved = 0;
            for (guint k = 0; k < ABREAST; k++)
            {
                const float value = row[at[k]->feature];
                const guint left = (guint)(value < at[k]->value) | ((guint)(isnan(value) != 0) & at[k]->default_left);
                const guint32 child = at[k]->children[1 - left];
                at[k] = child != 0 ? tree[k] + child : at[k];
                moved |= child;
            }
        } while (moved != 0);
        for (guint k = 0; k < n; k++)
            sum += at[k]->value;
    }
    return trees->intercept + (double)sum;
}

/* --- XGBoost ------------------------------------------------------------------------------------------------------------
 */

/* Settings: pairs of names and values, NULL-terminated. @n_rounds: trees one after the other */
typedef struct
{
    const char *parameters[24];
    int n_rounds;
} Settings;

/* Boosting takes shallow trees with small steps; some kernels slow down many times more than others, so under load large
 * errors count by their size and not by its square (Huber). A forest takes deep ones, each of another part of rows and
 * features; its leaves have 2 rows at least, or 8 under load: single visits are noisy. Of several machines each tree sees
 * less than half of the features: machines are few, and no number of theirs is to tell them apart alone. */
static const Settings settings[IFM_N_LEARN_METHODS][LEARN_N_TASKS] = {
    [IFM_LEARN_BOOSTED] = {
        [LEARN_IDLE] = { { "eta", "0.1", "max_depth", "6", "subsample", "0.8", "colsample_bytree", "0.8",
                           "min_child_weight", "2", "max_bin", "64" }, 200 },
        [LEARN_MACHINES] = { { "eta", "0.05", "max_depth", "6", "subsample", "0.8", "colsample_bytree", "0.4",
                               "min_child_weight", "2", "max_bin", "64" }, 400 },
        [LEARN_LOAD] = { { "objective", "reg:pseudohubererror", "huber_slope", "0.2", "eta", "0.05", "max_depth", "4", "subsample", "0.8", "colsample_bytree", "0.6",
                           "min_child_weight", "8" }, 200 },
    },
    [IFM_LEARN_FOREST] = {
        [LEARN_IDLE] = { { "eta", "1", "max_depth", "12", "subsample", "0.632", "colsample_bynode", "0.4",
                           "min_child_weight", "2", "lambda", "0", "num_parallel_tree", "100", "max_bin", "64" }, 1 },
        [LEARN_MACHINES] = { { "eta", "1", "max_depth", "14", "subsample", "0.632", "colsample_bynode", "0.4",
                               "min_child_weight", "2", "lambda", "0", "num_parallel_tree", "200" }, 1 },
        [LEARN_LOAD] = { { "eta", "1", "max_depth", "8", "subsample", "0.632", "colsample_bynode", "0.4",
                           "min_child_weight", "8", "lambda", "0", "num_parallel_tree", "100" }, 1 },
    },
};

static gboolean check(int status, GError **error)
{
    if (status == 0)
        return TRUE;
    const char *text = XGBGetLastError();
    ifm_error_set(error, IFM_ERROR_FAILED, "XGBoost: %.*s", (int)strcspn(text, "\n"), text); /* a stack trace follows */
    ifm_error_make_one_line(error);
    return FALSE;
}

static gboolean set_parameters(BoosterHandle booster, const Settings *of, const IfmLearnOptions *options, GError **error)
{
    g_autofree char *seed = g_strdup_printf("%" G_GINT64_FORMAT, options->seed);
    g_autofree char *threads = g_strdup_printf("%" G_GINT64_FORMAT, MAX(options->threads, 1));
    const char *const common[] = {
        "objective", "reg:squarederror", "tree_method", "hist",    "base_score", "0", "verbosity", "0", "seed",
        seed,        "nthread",          threads,       "max_bin", "256",        NULL
    };
    const char *const *const lists[] = { common, of->parameters };
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
        for (const char *const *pair = lists[i]; *pair != NULL; pair += 2)
            if (!check(XGBoosterSetParam(booster, pair[0], pair[1]), error))
                return FALSE;
    return TRUE;
}

/* "(0,1,-1)" */
static gboolean set_directions(BoosterHandle booster, const LearnTable *table, GError **error)
{
    g_autoptr(GString) list = g_string_new("(");
    for (guint i = 0; i < table->directions->len; i++)
        g_string_append_printf(list, "%s%d", i > 0 ? "," : "", g_array_index(table->directions, int, i));
    g_string_append_c(list, ')');
    return table->directions->len == 0 || check(XGBoosterSetParam(booster, "monotone_constraints", list->str), error);
}

static gboolean boost(BoosterHandle booster, DMatrixHandle matrix, const LearnTable *table, const Settings *of,
                      const IfmLearnOptions *options, GError **error)
{
    if (!set_parameters(booster, of, options, error) || !set_directions(booster, table, error))
        return FALSE;
    for (int round = 0; round < of->n_rounds; round++)
    {
        if (options->interrupted != NULL && g_atomic_int_get(options->interrupted) != 0)
            return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted while learning");
        if (!check(XGBoosterUpdateOneIter(booster, round, matrix), error))
            return FALSE;
    }
    return TRUE;
}

static json_t *save(BoosterHandle booster, GError **error)
{
    bst_ulong length = 0;
    const char *text = NULL;
    if (!check(XGBoosterSaveModelToBuffer(booster, "{\"format\": \"json\"}", &length, &text), error))
        return NULL;
    return ifm_json_parse(text, (gsize)length, "XGBoost's model", error);
}

/* XGBoost aborts on no rows; the callers have some. */
gboolean learn_trees_train(LearnTrees *trees, const LearnTable *table, LearnTask task, IfmLearnMethod method,
                           const IfmLearnOptions *options, double *gains, GError **error)
{
    const gsize n = table->y->len;
    DMatrixHandle matrix = NULL;
    BoosterHandle booster = NULL;
    double mean = 0;
    g_assert(n > 0 && table->x->len == n * table->n_columns);
    for (gsize i = 0; i < n; i++)
        mean += (double)g_array_index(table->y, float, i) / (double)n;
    g_autofree float *target = g_new(float, n);
    for (gsize i = 0; i < n; i++)
        target[i] = (float)((double)g_array_index(table->y, float, i) - mean);
    json_t *model = NULL;
    const gboolean trained =
        check(XGDMatrixCreateFromMat_omp((const float *)(const void *)table->x->data, n, table->n_columns, NAN, &matrix,
                                         (int)MAX(options->threads, 1)),
              error) &&
        check(XGDMatrixSetFloatInfo(matrix, "label", target, n), error) &&
        check(XGBoosterCreate(&matrix, 1, &booster), error) &&
        boost(booster, matrix, table, &settings[method][task], options, error) && (model = save(booster, error)) != NULL &&
        learn_trees_from_xgboost(trees, model, table->n_columns, gains, error);
    if (trained)
        trees->intercept = mean;
    json_decref(model);
    XGBoosterFree(booster);
    XGDMatrixFree(matrix);
    return trained;
}

/* The arrays of one tree as XGBoost names them; a leaf has no left child (-1), and its value among the thresholds. */
typedef struct
{
    const json_t *left, *right, *feature, *value, *default_left, *gain;
} SavedTree;

static gboolean find_arrays(SavedTree *saved, const json_t *tree)
{
    saved->left = json_object_get(tree, "left_children");
    saved->right = json_object_get(tree, "right_children");
    saved->feature = json_object_get(tree, "split_indices");
    saved->value = json_object_get(tree, "split_conditions");
    saved->default_left = json_object_get(tree, "default_left");
    saved->gain = json_object_get(tree, "loss_changes");
    const gsize n = json_array_size(saved->left);
    return n > 0 && json_array_size(saved->right) == n && json_array_size(saved->feature) == n &&
           json_array_size(saved->value) == n && json_array_size(saved->default_left) == n &&
           json_array_size(saved->gain) == n;
}

static gint64 integer_at(const json_t *array, gsize i)
{
    const json_t *value = json_array_get(array, i);
    return json_is_true(value) ? 1 : json_integer_value(value);
}

/* Level by level, so that children stand behind their parent. @queue: where each node of the copy was */
static gboolean copy_tree(LearnTrees *trees, const SavedTree *saved, double *gains)
{
    const gsize n = json_array_size(saved->left), start = trees->nodes->len;
    g_autoptr(GArray) queue = g_array_new(FALSE, TRUE, sizeof(gsize));
    g_array_set_size(queue, 1);
    for (guint i = 0; i < queue->len; i++)
    {
        const gsize from = g_array_index(queue, gsize, i);
        const gint64 children[] = { integer_at(saved->left, from), integer_at(saved->right, from) };
        const gint64 feature = integer_at(saved->feature, from);
        LearnNode node = { .value = (float)json_number_value(json_array_get(saved->value, from)) };
        if (children[0] >= 0)
        {
            if (children[0] >= (gint64)n || children[1] < 0 || children[1] >= (gint64)n || feature < 0 ||
                feature >= (gint64)trees->n_features || queue->len + 2 > n)
                return FALSE;
            node.children[0] = queue->len;
            node.children[1] = queue->len + 1;
            node.feature = (guint16)feature;
            node.default_left = (guint16)(integer_at(saved->default_left, from) != 0);
            const gsize places[] = { (gsize)children[0], (gsize)children[1] };
            g_array_append_vals(queue, places, 2);
            if (gains != NULL)
                gains[feature] += json_number_value(json_array_get(saved->gain, from));
        }
        g_array_append_val(trees->nodes, node);
    }
    const guint32 first = (guint32)start;
    g_array_append_val(trees->starts, first);
    return TRUE;
}

gboolean learn_trees_from_xgboost(LearnTrees *trees, const json_t *model, gsize n_features, double *gains, GError **error)
{
    const json_t *list = ifm_member(model, "learner.gradient_booster.model.trees");
    gsize i;
    json_t *tree;
    trees_init(trees, n_features, 0);
    for (gsize k = 0; gains != NULL && k < n_features; k++)
        gains[k] = 0;
    json_array_foreach(list, i, tree)
    {
        SavedTree saved;
        if (!find_arrays(&saved, tree) || !copy_tree(trees, &saved, gains))
            break;
    }
    if (trees->starts->len > 0 && i == json_array_size(list))
        return TRUE;
    learn_trees_clear(trees);
    return ifm_error_set(error, IFM_ERROR_FAILED, "XGBoost's model has no trees that can be read");
}

/* --- files --------------------------------------------------------------------------------------------------------------
 */

static const char *const tree_keys[] = { "intercept", "sizes", "left", "right", "feature", "value", "default_left", NULL };

json_t *learn_trees_to_json(const LearnTrees *trees)
{
    json_t *json = json_object(), *arrays[G_N_ELEMENTS(tree_keys)] = { json_real(trees->intercept) };
    for (gsize k = 1; tree_keys[k] != NULL; k++)
        arrays[k] = json_array();
    for (guint i = 0; i < trees->starts->len; i++)
    {
        const guint32 end = i + 1 < trees->starts->len ? g_array_index(trees->starts, guint32, i + 1) : trees->nodes->len;
        json_array_append_new(arrays[1], json_integer(end - g_array_index(trees->starts, guint32, i)));
    }
    for (guint i = 0; i < trees->nodes->len; i++)
    {
        const LearnNode *node = &g_array_index(trees->nodes, LearnNode, i);
        json_array_append_new(arrays[2], json_integer(node->children[0]));
        json_array_append_new(arrays[3], json_integer(node->children[1]));
        json_array_append_new(arrays[4], json_integer(node->feature));
        json_array_append_new(arrays[5], json_real((double)node->value));
        json_array_append_new(arrays[6], json_integer(node->default_left));
    }
    for (gsize k = 0; tree_keys[k] != NULL; k++)
        json_object_set_new(json, tree_keys[k], arrays[k]);
    return json;
}

/* TreeFile: the arrays of a file, of which @at are read. */
typedef struct
{
    const char *where;
    json_t *arrays[G_N_ELEMENTS(tree_keys)];
    gsize at;
} TreeFile;

static gboolean read_integer(const TreeFile *file, gsize k, gsize at, gint64 limit, gint64 *value, GError **error)
{
    const json_t *json = json_array_get(file->arrays[k], at);
    *value = json_integer_value(json);
    if (json_is_integer(json) && *value >= 0 && *value < limit)
        return TRUE;
    return ifm_error_refuse(error, "%s.%s[%zu]: expected an integer from 0 to %" G_GINT64_FORMAT, file->where, tree_keys[k],
                            at, limit - 1);
}

/* Children above their parent: so there is no cycle, and a walk ends. */
static gboolean read_node(const TreeFile *file, gsize start, gsize size, gsize n_features, LearnNode *node, GError **error)
{
    const gsize place = file->at - start;
    const json_t *value = json_array_get(file->arrays[5], file->at);
    gint64 left, right, feature, default_left;
    if (!read_integer(file, 2, file->at, (gint64)size, &left, error) ||
        !read_integer(file, 3, file->at, (gint64)size, &right, error) ||
        !read_integer(file, 4, file->at, (gint64)n_features, &feature, error) ||
        !read_integer(file, 6, file->at, 2, &default_left, error))
        return FALSE;
    if ((left == 0) != (right == 0) || (left != 0 && (left <= (gint64)place || right <= (gint64)place)))
        return ifm_error_refuse(error,
                                "%s.left[%zu]: children %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                                " of node %zu, expected both to be above it, or both 0",
                                file->where, file->at, left, right, place);
    if (!json_is_number(value) || fabs(json_number_value(value)) > 1e38)
        return ifm_error_refuse(error, "%s.value[%zu]: expected a number", file->where, file->at);
    *node = (LearnNode){
        { (guint32)left, (guint32)right }, (float)json_number_value(value), (guint16)feature, (guint16)default_left
    };
    return TRUE;
}

static gboolean read_trees(LearnTrees *trees, TreeFile *file, GError **error)
{
    const gsize n_nodes = json_array_size(file->arrays[2]);
    for (gsize i = 0; i < json_array_size(file->arrays[1]); i++)
    {
        const guint32 start = (guint32)file->at;
        gint64 size;
        if (!read_integer(file, 1, i, (gint64)(n_nodes - file->at) + 1, &size, error))
            return FALSE;
        if (size == 0)
            return ifm_error_refuse(error, "%s.sizes[%zu]: a tree without nodes", file->where, i);
        g_array_append_val(trees->starts, start);
        for (gsize end = file->at + (gsize)size; file->at < end; file->at++)
        {
            LearnNode node;
            if (!read_node(file, start, (gsize)size, trees->n_features, &node, error))
                return FALSE;
            g_array_append_val(trees->nodes, node);
        }
    }
    return file->at == n_nodes ||
           ifm_error_refuse(error, "%s.sizes: %zu nodes, but there are %zu", file->where, file->at, n_nodes);
}

gboolean learn_trees_from_json(LearnTrees *trees, const json_t *json, const char *where, gsize n_features, GError **error)
{
    TreeFile file = { .where = where };
    double intercept;
    if (!ifm_json_check_object(json, where, tree_keys, error) ||
        !ifm_json_get_double(json, where, tree_keys[0], &intercept, error))
        return FALSE;
    for (gsize k = 1; tree_keys[k] != NULL; k++)
        if (!ifm_json_get_array(json, where, tree_keys[k], &file.arrays[k], error))
            return FALSE;
    const gsize n_nodes = json_array_size(file.arrays[2]), n_trees = json_array_size(file.arrays[1]);
    for (gsize k = 3; tree_keys[k] != NULL; k++)
        if (json_array_size(file.arrays[k]) != n_nodes)
            return ifm_error_refuse(error, "%s.%s: %zu elements, expected %zu as of left", where, tree_keys[k],
                                    json_array_size(file.arrays[k]), n_nodes);
    if (n_trees == 0 || n_trees > LEARN_MAX_TREES || n_nodes > LEARN_MAX_NODES)
        return ifm_error_refuse(error, "%s: %zu trees of %zu nodes, expected 1 to %d of up to %d", where, n_trees, n_nodes,
                                LEARN_MAX_TREES, LEARN_MAX_NODES);
    if (!isfinite(intercept) || fabs(intercept) > LEARN_MAX_INTERCEPT)
        return ifm_error_refuse(error, "%s.intercept: found %g, expected a logarithm from -%d to %d", where, intercept,
                                LEARN_MAX_INTERCEPT, LEARN_MAX_INTERCEPT);
    trees_init(trees, n_features, intercept);
    if (read_trees(trees, &file, error))
        return TRUE;
    learn_trees_clear(trees);
    return FALSE;
}
