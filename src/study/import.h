#pragma once
#include <base/fields.h>

#include "study-private.h"

/* Tables measured elsewhere, as they are read (import-csv.c, import-json.c), checked (import-rows.c) and stored
 * (study-import.c). */

/* ImportRow: times in ms, NaN where the table has none. */
typedef struct
{
    char *file, *place; /* "FILE:LINE" or "FILE: KEY" */
    IfmStudyCase of;    /* without key, title and phase */
    double total_ms;    /* what it says the stages take */
    double mean_ms;     /* where it has that as well as a median */
    double std_ms, min_ms, max_ms, compute_ms, transfer_ms;
    double lower_ms, upper_ms, level; /* the interval of the median */
    char *flag;                       /* why it is no latency; NULL where it is one */
    char *code;                       /* of the failure, where it has one */
    char *outcome, *simulated;        /* as CSV has them; NULL */
} ImportRow;

typedef struct
{
    const IfmStagedModel *staged;
    GPtrArray *rows;         /* ImportRow* */
    GHashTable *by_key;      /* what a row is of -> ImportRow* */
    GHashTable *simulated;   /* aliases that a file says are simulated */
    gint64 features, hidden; /* as files say; 0: none does */
    gboolean replace;        /* the later of two rows counts; else they must not differ */
    gsize n_read;            /* rows of the files */
    gsize n_left_out;        /* of these, what was not measured there either */
    gsize n_taken;           /* of rows: what the store had not */
    gsize n_differ;          /* rows that differ from others in the files or in the store */
    char *first;             /* the first of them, in words */
    json_t *axes;            /* names, of a study of points; NULL: none was read */
    json_t *bandwidth;       /* "ALIAS_stageN" -> MB/s, as it stood there */
} ImportTable;

/* The rows of stages.csv, ranges.csv and lookup_table.json have intervals of 95 %. */
#define IMPORT_LEVEL 0.95

ImportTable *import_table_new(const IfmStagedModel *staged);
void import_table_free(ImportTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportTable, import_table_free)
/* import_differ: notes a row that differs from another. @place: the row's    @there: where the other is */
void import_differ(ImportTable *table, const char *place, double total_ms, const char *there, double there_ms);
/* import_is_same: whether two totals are one figure, but for how many digits a table prints. NaN: a failure. */
gboolean import_is_same(double left_ms, double right_ms);
/* import_row_new: without figures. @place: (transfer full) */
ImportRow *import_row_new(const char *file, char *place);
void import_row_free(ImportRow *row);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportRow, import_row_free)
/* import_take_axes: that a file has points of these axes, as those before it. @axes: (transfer full) their names
 * @where: of the file    Returns: FALSE with IFM_ERROR_INVALID. */
gboolean import_take_axes(ImportTable *table, json_t *axes, const char *where, GError **error);
/* import_add: Checks a row and adds it; within one file a row stands once. @row: (transfer full)    @total: what the file
 * calls the latency */
gboolean import_add(ImportTable *table, ImportRow *row, const char *total, GError **error);
/* import_csv, import_json: add a file's rows; IFM_ERROR_INVALID "FILE:LINE: ..." or "FILE: KEY: ...". */
gboolean import_csv(ImportTable *table, const char *path, GError **error);
gboolean import_json(ImportTable *table, const char *path, GError **error);
