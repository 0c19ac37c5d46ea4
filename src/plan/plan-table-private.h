#pragma once
#include <inferometer/grid.h>

#include "plan-private.h"

typedef struct
{
    IfmPlanSize size;
    IfmPlan *plan;
    IfmPlanCost cost;
} TableRow;

/* The question all rows were searched with; devices by alias, since a cost model made later may number them otherwise. */
struct IfmPlanTable
{
    char *model;
    IfmObjective objective;
    GArray *grid; /* double */
    int max_blocks;
    GPtrArray *without, *no_split; /* char*: aliases */
    gint64 most_visited;
    GArray *rows;    /* TableRow, by nodes, then edges */
    IfmGrid *places; /* of the rows' sizes, whose weights are wanted alone; NULL until needed, and when a row is added */
};

IfmPlanTable *table_alloc(const char *model);
/* table_insert: Takes the row, in its place. FALSE where there is one of that size: the row is then cleared. */
gboolean table_insert(IfmPlanTable *table, TableRow *row);
void table_row_clear(TableRow *row);
