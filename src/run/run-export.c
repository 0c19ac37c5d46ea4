#include <base/fields.h>
#include <pipeline/pipeline.h>
#include <store/results.h>

#include "run-page.h"
#include "run.h"

/* Reports of runs are written as JSON, and the times of their batches in each block of the pipeline as CSV. */

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

static json_t *run_to_json(const IfmRunReport *report)
{
    json_t *json = json_object();
    g_autoptr(GPtrArray) figures = ifm_run_figures(report);
    json_object_set_new(json, "title", ifm_json_string(report->title));
    json_object_set_new(json, "plan", report->plan != NULL ? ifm_plan_to_json(report->plan) : json_null());
    json_object_set_new(json, "plan_origin", ifm_json_text(report->origin));
    json_object_set_new(json, "prediction", report->prediction != NULL ? json_deep_copy(report->prediction) : json_null());
    json_object_set_new(json, "error_code", ifm_json_string(report->code));
    json_object_set_new(json, "reason", ifm_json_string(ifm_run_reason(report)));
    json_object_set_new(json, "figures", ifm_rows_to_json(ifm_run_figure_fields, figures));
    ifm_json_add_record(json, report->subject_case, report->measurement);
    json_object_set_new(json, "trace",
                        report->analysis != NULL && report->trace != NULL
                            ? ifm_trace_analysis_to_json(report->analysis, report->trace)
                            : json_null());
    return json;
}

json_t *ifm_run_to_json(const IfmRunReport *reports, gsize n)
{
    json_t *runs = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(runs, run_to_json(&reports[i]));
    json_t *json = ifm_json_begin("runs", 2);
    json_object_set_new(json, "runs", runs);
    return json;
}

/* --- batches by blocks ------------------------------------------------------------------------------------------------ */

/* BatchRow: a batch of a run. */
typedef struct
{
    const IfmRunReport *report;
    gsize index; /* in the analysis */
} BatchRow;

static gint64 table_ns(const BatchRow *row, const GArray *table, gsize column)
{
    gsize n = row->report->analysis->stages->len;
    return column < n ? g_array_index(table, gint64, row->index * n + column) : -1;
}

static gint64 stage_ns(const BatchRow *row, gsize column)
{
    return table_ns(row, row->report->analysis->batch_stage_ns, column);
}

static void get_batch(const void *record, const void *user, IfmValue *value)
{
    const BatchRow *row = record;
    ifm_value_set_integer(value, g_array_index(row->report->analysis->batch_ids, gint32, row->index));
}

/* @user: the block's column. */
static void get_stage(const void *record, const void *user, IfmValue *value)
{
    gint64 ns = stage_ns(record, GPOINTER_TO_SIZE(user));
    if (ns >= 0)
        ifm_value_set_integer(value, ns);
}

static void get_turn(const void *record, const void *user, IfmValue *value)
{
    const BatchRow *row = record;
    gint64 ns = table_ns(row, row->report->analysis->batch_turn_ns, GPOINTER_TO_SIZE(user));
    if (ns >= 0)
        ifm_value_set_integer(value, ns);
}

/* The longest of them: the batch's cycle latency. -1 where it got to no block. */
static gint64 longest(const BatchRow *row, gsize *column)
{
    gint64 max = -1;
    for (gsize i = 0; i < row->report->analysis->stages->len; i++)
        if (stage_ns(row, i) > max)
        {
            max = stage_ns(row, i);
            *column = i;
        }
    return max;
}

static void get_cycle(const void *record, const void *user, IfmValue *value)
{
    gsize column = 0;
    gint64 ns = longest(record, &column);
    if (ns >= 0)
        ifm_value_set_integer(value, ns);
}

static void get_bottleneck(const void *record, const void *user, IfmValue *value)
{
    const BatchRow *row = record;
    gsize column = 0;
    if (longest(row, &column) >= 0)
        ifm_value_set_integer(value, g_array_index(row->report->analysis->stages, IfmStageUse, column).block);
}

static gsize max_blocks(const IfmRunReport *reports, gsize n)
{
    gsize max = 0;
    for (gsize i = 0; i < n; i++)
        if (reports[i].analysis != NULL)
            max = MAX(max, reports[i].analysis->stages->len);
    return max;
}

char *ifm_run_batches_to_csv(const IfmRunReport *reports, gsize n)
{
    g_autoptr(GArray) fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free), rows = g_ptr_array_new_with_free_func(g_free);
    const IfmField head[] = { { "run", "run", IFM_FIELD_TEXT, IFM_MEMBER_VIA(BatchRow, report, title) },
                              { "batch", "batch", IFM_FIELD_INTEGER, get_batch } },
                   tail[] = { { "cycle_ns", "cycle", IFM_FIELD_INTEGER, get_cycle },
                              { "bottleneck_block", "bottleneck", IFM_FIELD_INTEGER, get_bottleneck } };
    g_array_append_vals(fields, head, G_N_ELEMENTS(head));
    for (int turns = 0; turns < 2; turns++)
        for (gsize b = 0; b < max_blocks(reports, n); b++)
        {
            char *key = g_strdup_printf("block_%zu%s_ns", b + 1, turns ? "_turn" : "");
            IfmField field = { key, key, IFM_FIELD_INTEGER, turns ? get_turn : get_stage, GSIZE_TO_POINTER(b) };
            g_ptr_array_add(keys, key);
            g_array_append_val(fields, field);
        }
    g_array_append_vals(fields, tail, G_N_ELEMENTS(tail));
    for (gsize i = 0; i < n; i++)
        for (gsize b = 0; reports[i].analysis != NULL && b < reports[i].analysis->n_batches; b++)
        {
            BatchRow row = { &reports[i], b };
            g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
        }
    return ifm_rows_to_csv(ifm_fields_in(fields), rows);
}
