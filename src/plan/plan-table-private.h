#pragma once

#include "plan-private.h"

typedef struct
{
    IfmPlanSize size;
    IfmPlan *plan;
    IfmPlanCost cost;
} TableRow;

/* A table and the question of all its rows. Devices are aliases, since another cost model may number them
 * differently. */
struct IfmPlanTable
{
    char *model;
    IfmObjective objective;
    GArray *grid; /* double */
    int max_blocks;
    GPtrArray *without, *no_split; /* char*: aliases */
    gint64 most_visited;
    GArray *rows;    /* TableRow, by nodes, then edges */
    IfmGrid *places; /* at the rows' sizes; only its weights are used; NULL: not made since the last row was added */
};

IfmPlanTable *table_alloc(const char *model);
/* table_insert: Takes the row and inserts it in order. FALSE if there is a row of that size: @row is then cleared. */
gboolean table_insert(IfmPlanTable *table, TableRow *row);
void table_row_clear(TableRow *row);
