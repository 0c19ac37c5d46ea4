/* Plan tables as JSON documents. All content of a document is checked; errors name the place in it. */
#include <base/fields.h>

#include <math.h>

#include "plan-table-private.h"

#define FORMAT "plan-table"
#define FORMAT_VERSION 1
#define MAX_ROWS 100000

static const char *const origin_words[] = { [IFM_COST_MEASURED] = "measured",
                                            [IFM_COST_INTERPOLATED] = "interpolated",
                                            [IFM_COST_SUMMED] = "summed",
                                            [IFM_COST_EXTRAPOLATED] = "extrapolated",
                                            [IFM_COST_EXTRAPOLATED + 1] = NULL };

/* --- out -------------------------------------------------------------------------------------------------------------- */

const char *ifm_cost_origin_word(IfmCostOrigin origin)
{
    return origin_words[origin];
}

/* @required: of a DOUBLE: it is known; another may be NaN */
static const IfmRecordField cost_fields[] = {
    { IFM_RECORD(DOUBLE, IfmPlanCost, latency_ns), .required = TRUE },
    { IFM_RECORD(DOUBLE, IfmPlanCost, latency_spread_ratio) },
    { IFM_RECORD(DOUBLE, IfmPlanCost, cycle_ns), .required = TRUE },
    { IFM_RECORD(DOUBLE, IfmPlanCost, cycle_spread_ratio) },
    { IFM_RECORD(DOUBLE, IfmPlanCost, energy_j) },
    { IFM_RECORD(CHOICE, IfmPlanCost, origin), .words = origin_words },
    { IFM_RECORD(FLAG, IfmPlanCost, busy_known) },
    { IFM_RECORD(FLAG, IfmPlanCost, summed) },
    { IFM_RECORD(DOUBLE, IfmPlanCost, fused_least_ratio) },
    { IFM_RECORD(DOUBLE, IfmPlanCost, fused_most_ratio) },
    { IFM_RECORD(INT, IfmPlanCost, bottleneck_block), .called = "bottleneck_block", .max = IFM_COST_MAX_STAGES },
    { NULL },
};

/* The question of the rows, apart from the objective and the grid. */
static const IfmRecordField question_fields[] = {
    { IFM_RECORD(INT, IfmPlanTable, max_blocks), .called = "max_blocks", .max = IFM_COST_MAX_STAGES },
    { IFM_RECORD(TEXTS, IfmPlanTable, without) },
    { IFM_RECORD(TEXTS, IfmPlanTable, no_split) },
    { IFM_RECORD(INT64, IfmPlanTable, most_visited), .called = "most_visited", .max = G_MAXINT64 },
    { NULL },
};

json_t *ifm_plan_cost_to_json(const IfmPlanCost *cost)
{
    return ifm_record_to_json(cost, cost_fields);
}

static json_t *row_to_json(const TableRow *row)
{
    json_t *json = json_object();
    json_object_set_new(json, "nodes", json_integer(row->size.nodes));
    json_object_set_new(json, "edges", json_integer(row->size.edges));
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(row->plan));
    json_object_update_new(json, ifm_plan_cost_to_json(&row->cost));
    return json;
}

static json_t *question_to_json(const IfmPlanTable *table)
{
    json_t *json = json_object(), *grid = json_array();
    for (guint i = 0; i < table->grid->len; i++)
        json_array_append_new(grid, ifm_json_real(g_array_index(table->grid, double, i)));
    json_object_set_new(json, "grid", grid);
    json_object_update_new(json, ifm_record_to_json(table, question_fields));
    return json;
}

json_t *ifm_plan_table_to_json(const IfmPlanTable *table)
{
    json_t *json = json_object(), *plans = json_array();
    json_auto_t *whole = ifm_plan_to_json(g_array_index(table->rows, TableRow, 0).plan);
    json_object_set_new(json, "format", json_string(FORMAT));
    json_object_set_new(json, "format_version", json_integer(FORMAT_VERSION));
    json_object_set_new(json, "objective", json_string(ifm_objective_words()[table->objective]));
    json_object_set_new(json, "question", question_to_json(table));
    json_object_set_new(json, "model", json_string(table->model));
    json_object_set(json, "devices", json_object_get(whole, "devices"));
    for (guint i = 0; i < table->rows->len; i++)
        json_array_append_new(plans, row_to_json(&g_array_index(table->rows, TableRow, i)));
    json_object_set_new(json, "plans", plans);
    return json;
}

/* --- in --------------------------------------------------------------------------------------------------------------- */

/* read_word: Returns: the index of one of @words; -1 with an error that names the nearest. */
static int read_word(const json_t *json, const char *where, const char *key, const char *const *words, GError **error)
{
    const char *word;
    if (!ifm_json_get_string(json, where, key, &word, error))
        return -1;
    const int index = ifm_word_index(words, word);
    if (index >= 0)
        return index;
    g_autofree char *hint = ifm_nearest_hint(word, words);
    ifm_error_refuse(error, "%s.%s: there is no '%s'%s", where, key, word, hint);
    return -1;
}

static gboolean read_count(const json_t *json, const char *where, const char *key, gint64 min, gint64 max, gint64 *value,
                           GError **error)
{
    if (!ifm_json_get_int64(json, where, key, value, error))
        return FALSE;
    return (*value >= min && *value <= max) ||
           ifm_error_refuse(error,
                            "%s.%s: found %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " is expected",
                            where, key, *value, min, max);
}

/* Reads an object but for the keys of @apart. */
static gboolean read_rest(void *self, const IfmRecordField *fields, const json_t *json, const char *where,
                          const char *const *apart, GError **error)
{
    json_auto_t *rest = json_copy((json_t *)json);
    for (; *apart != NULL; apart++)
        json_object_del(rest, *apart);
    return ifm_record_from_json(self, fields, rest, where, NULL, error) && ifm_record_check(self, fields, where, error);
}

/* Times and ratios are 0 or above. */
static gboolean read_cost(const json_t *json, const char *where, IfmPlanCost *cost, GError **error)
{
    static const char *const apart[] = { "nodes", "edges", "plan", NULL };
    *cost = (IfmPlanCost){ .alone = g_array_new(FALSE, FALSE, sizeof(IfmBlockCost)),
                           .steady = g_array_new(FALSE, FALSE, sizeof(IfmBlockCost)) };
    if (!read_rest(cost, cost_fields, json, where, apart, error))
        return FALSE;
    for (const IfmRecordField *field = cost_fields; field->name != NULL; field++)
    {
        double value = field->type == IFM_RECORD_DOUBLE ? ifm_record_number(cost, cost_fields, field->name) : 0;
        if (value < 0 || (isnan(value) && field->required))
            return ifm_error_refuse(error, "%s.%s: found %g, a number not below 0 is expected", where, field->name, value);
    }
    return TRUE;
}

/* The plan as a document of its own: blocks of the row, model and devices of the table. */
static IfmPlan *read_plan(const json_t *table, const json_t *row, const char *where, GError **error)
{
    json_t *blocks;
    if (!ifm_json_get_array(row, where, "plan", &blocks, error))
        return NULL;
    json_auto_t *whole = json_pack("{s:O,s:O,s:O}", "plan", blocks, "model", json_object_get(table, "model"), "devices",
                                   json_object_get(table, "devices"));
    return ifm_plan_from_json(whole, where, error);
}

static gboolean read_row(IfmPlanTable *table, const json_t *json, const json_t *json_row, const char *where, GError **error)
{
    TableRow row = { 0 };
    gboolean good = read_count(json_row, where, "nodes", 1, IFM_GRAPH_MAX_NODES, &row.size.nodes, error) &&
                    read_count(json_row, where, "edges", 1, IFM_GRAPH_MAX_EDGES, &row.size.edges, error) &&
                    (row.plan = read_plan(json, json_row, where, error)) != NULL &&
                    read_cost(json_row, where, &row.cost, error);
    if (!good)
    {
        table_row_clear(&row);
        return FALSE;
    }
    IfmPlanSize size = row.size;
    return table_insert(table, &row) ||
           ifm_error_refuse(error,
                            "%s: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges: twice; each size once is expected",
                            where, size.nodes, size.edges);
}

static gboolean read_grid(const json_t *json, const char *where, GArray *grid, GError **error)
{
    json_t *array;
    if (!ifm_json_get_array(json, where, "grid", &array, error))
        return FALSE;
    for (gsize i = 0; i < json_array_size(array); i++)
    {
        double share = json_number_value(json_array_get(array, i));
        if (!(share > 0 && share < 1))
            return ifm_error_refuse(error, "%s.grid[%zu]: a share between 0 and 1 is expected", where, i);
        g_array_append_val(grid, share);
    }
    return TRUE;
}

static gboolean read_question(IfmPlanTable *table, const json_t *json, const char *name, GError **error)
{
    static const char *const apart[] = { "grid", NULL };
    g_autofree char *where = g_strdup_printf("%s.question", name);
    json_t *question;
    return ifm_json_get_object(json, name, "question", &question, error) &&
           read_grid(question, where, table->grid, error) &&
           read_rest(table, question_fields, question, where, apart, error);
}

static gboolean check_head(const json_t *json, const char *name, const char **model, GError **error)
{
    static const char *const keys[] = { "format", "format_version", "objective", "question",
                                        "model",  "devices",        "plans",     NULL };
    const char *format;
    gint64 version;
    json_t *devices;
    if (!ifm_json_check_object(json, name, keys, error) || !ifm_json_get_string(json, name, "format", &format, error))
        return FALSE;
    if (!g_str_equal(format, FORMAT))
        return ifm_error_refuse(error, "%s.format: found \"%s\", \"" FORMAT "\" is expected", name, format);
    return read_count(json, name, "format_version", FORMAT_VERSION, FORMAT_VERSION, &version, error) &&
           ifm_json_get_string(json, name, "model", model, error) &&
           ifm_json_get_object(json, name, "devices", &devices, error);
}

static IfmPlanTable *read_table(const json_t *json, const char *name, GError **error)
{
    const char *model;
    json_t *plans;
    int objective;
    if (!check_head(json, name, &model, error) ||
        (objective = read_word(json, name, "objective", ifm_objective_words(), error)) < 0 ||
        !ifm_json_get_array(json, name, "plans", &plans, error))
        return NULL;
    g_autoptr(IfmPlanTable) table = table_alloc(model);
    table->objective = (IfmObjective)objective;
    if (!read_question(table, json, name, error))
        return NULL;
    if (json_array_size(plans) == 0 || json_array_size(plans) > MAX_ROWS)
    {
        ifm_error_refuse(error, "%s.plans: found %zu, 1 to %d are expected", name, json_array_size(plans), MAX_ROWS);
        return NULL;
    }
    for (gsize i = 0; i < json_array_size(plans); i++)
    {
        g_autofree char *where = g_strdup_printf("%s.plans[%zu]", name, i);
        if (!read_row(table, json, json_array_get(plans, i), where, error))
            return NULL;
    }
    return g_steal_pointer(&table);
}

/* Messages contain texts of the document; each message is kept to one line. */
IfmPlanTable *ifm_plan_table_from_json(const json_t *json, const char *name, GError **error)
{
    IfmPlanTable *table = read_table(json, name, error);
    if (table == NULL)
        ifm_error_make_one_line(error);
    return table;
}
