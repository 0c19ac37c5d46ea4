#pragma once
#include <base/fields.h>

#include "study-private.h"

/* Tables measured elsewhere, as they are read (import-rows.c) and stored (study-import.c). */

/* ImportRow: times in ms, NaN where the table has none. */
typedef struct
{
    char *file, *place; /* "FILE:LINE" or "FILE: KEY" */
    char *alias;
    int stage, last; /* equal where it is one stage; else a range of stages, fused */
    char **busy;     /* aliases of the devices that work meanwhile, sorted; NULL: none */
    gint64 nodes, edges;
    double total_ms; /* what it says the stages take */
    double mean_ms;  /* where it has that as well as a median */
    double std_ms, min_ms, max_ms, compute_ms, transfer_ms;
    char *flag; /* why it is no latency; NULL where it is one */
    char *code; /* of the failure, where it has one */
    /* Of a study of points: */
    json_t *axes; /* names and values in order; NULL: a row of stages */
    double items, flop;
    double lower_ms, upper_ms, level; /* the interval of the median */
} ImportRow;

typedef struct
{
    const IfmStagedModel *staged;
    GPtrArray *rows;         /* ImportRow* */
    GHashTable *by_key;      /* "NODES,EDGES,ALIAS,STAGE-LAST,BUSY" -> ImportRow* */
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

void import_row_free(ImportRow *row);
ImportTable *import_table_new(const IfmStagedModel *staged);
void import_table_free(ImportTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportTable, import_table_free)
/* import_differ: notes a row that differs from another. @place: the row's    @there: where the other is */
void import_differ(ImportTable *table, const char *place, double total_ms, const char *there, double there_ms);
/* import_is_same: whether two totals are one figure, but for how many digits a table prints. NaN: a failure. */
gboolean import_is_same(double left_ms, double right_ms);
/* import_row_new: without figures. @place: (transfer full) */
ImportRow *import_row_new(const char *file, char *place);
/* import_add: Checks a row and adds it; within one file a row stands once. @row: (transfer full)    @total: what the file
 * calls the latency */
gboolean import_add(ImportTable *table, ImportRow *row, const char *total, GError **error);
/* import_refuse: "FILE:LINE: ..." Returns: FALSE */
gboolean import_refuse(const ImportRow *row, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* IMPORT_NO_COLUMN: where a table lacks a column that it may lack: its fields are empty. */
#define IMPORT_NO_COLUMN G_MAXSIZE
/* import_csv_columns: Finds columns. @names, @at: [n]    @optional: bit i: column i may be missing */
gboolean import_csv_columns(const IfmCsv *csv, const char *const *names, gsize n, guint64 optional, gsize *at,
                            GError **error);
const char *import_csv_text(const IfmCsv *csv, gsize row, gsize column);
/* import_csv_number: an empty field is NaN. */
gboolean import_csv_number(const IfmCsv *csv, gsize row, gsize column, double *value, GError **error);
/* import-points.c: import_is_points: whether a CSV file is a points.csv. import_points: adds its rows. */
gboolean import_is_points(const IfmCsv *csv);
gboolean import_points(ImportTable *table, const IfmCsv *csv, GError **error);
/* import_file: adds a file's rows; IFM_ERROR_INVALID "FILE: KEY: ..." or "FILE:LINE: ...". */
gboolean import_file(ImportTable *table, const char *path, GError **error);
