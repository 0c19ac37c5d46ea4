#include <inferometer/json.h>

#include "report-private.h"

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

static json_t *run_to_json(const IfmRunStory *story)
{
    json_t *json = json_object();
    g_autoptr(GPtrArray) figures = ifm_run_figures(story);
    IfmTable table = { ifm_run_figure_fields, (const void *const *)figures->pdata, figures->len };
    json_object_set_new(json, "title", ifm_json_string(story->title));
    json_object_set_new(json, "plan", story->plan != NULL ? ifm_plan_to_json(story->plan) : json_null());
    json_object_set_new(json, "plan_origin", story->origin != NULL ? ifm_json_string(story->origin) : json_null());
    json_object_set_new(json, "prediction", story->prediction != NULL ? json_deep_copy(story->prediction) : json_null());
    json_object_set_new(json, "error_code", ifm_json_string(story->code));
    json_object_set_new(json, "reason", ifm_json_string(ifm_run_reason(story)));
    json_object_set_new(json, "figures", ifm_table_to_json(&table));
    json_object_set_new(json, "case", story->subject_case != NULL ? ifm_case_to_json(story->subject_case) : json_null());
    json_object_set_new(json, "measurement",
                        story->measurement != NULL ? ifm_measurement_to_json(story->measurement) : json_null());
    json_object_set_new(json, "trace",
                        story->analysis != NULL && story->trace != NULL
                            ? ifm_trace_analysis_to_json(story->analysis, story->trace)
                            : json_null());
    return json;
}

json_t *ifm_run_to_json(const IfmRunStory *stories, gsize n)
{
    json_t *runs = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(runs, run_to_json(&stories[i]));
    return json_pack("{s:{s:s,s:s,s:i},s:o}", "inferometer", "version", IFM_VERSION, "format", "runs", "format_version", 1,
                     "runs", runs);
}

/* --- batches by blocks ------------------------------------------------------------------------------------------------ */

/* BatchRow: a batch of a run. */
typedef struct
{
    const IfmRunStory *story;
    gsize index; /* in the analysis */
} BatchRow;

static gint64 table_ns(const BatchRow *row, const GArray *table, gsize column)
{
    gsize n = row->story->analysis->stages->len;
    return column < n ? g_array_index(table, gint64, row->index * n + column) : -1;
}

static gint64 stage_ns(const BatchRow *row, gsize column)
{
    return table_ns(row, row->story->analysis->batch_stage_ns, column);
}

static void get_run(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const BatchRow *)record)->story->title);
}

static void get_batch(const void *record, const void *user, IfmValue *value)
{
    const BatchRow *row = record;
    ifm_value_set_integer(value, g_array_index(row->story->analysis->batch_ids, gint32, row->index));
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
    gint64 ns = table_ns(row, row->story->analysis->batch_turn_ns, GPOINTER_TO_SIZE(user));
    if (ns >= 0)
        ifm_value_set_integer(value, ns);
}

/* The longest of them: the batch's cycle latency. -1 where it got to no block. */
static gint64 longest(const BatchRow *row, gsize *column)
{
    gint64 most = -1;
    for (gsize i = 0; i < row->story->analysis->stages->len; i++)
        if (stage_ns(row, i) > most)
        {
            most = stage_ns(row, i);
            *column = i;
        }
    return most;
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
        ifm_value_set_integer(value, g_array_index(row->story->analysis->stages, IfmStageUse, column).block);
}

static gsize most_blocks(const IfmRunStory *stories, gsize n)
{
    gsize most = 0;
    for (gsize i = 0; i < n; i++)
        if (stories[i].analysis != NULL)
            most = MAX(most, stories[i].analysis->stages->len);
    return most;
}

char *ifm_run_batches_to_csv(const IfmRunStory *stories, gsize n)
{
    g_autoptr(GArray) fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free), rows = g_ptr_array_new_with_free_func(g_free);
    const IfmField head[] = { { "run", "run", IFM_FIELD_TEXT, get_run },
                              { "batch", "batch", IFM_FIELD_INTEGER, get_batch } },
                   tail[] = { { "cycle_ns", "cycle", IFM_FIELD_INTEGER, get_cycle },
                              { "bottleneck_block", "bottleneck", IFM_FIELD_INTEGER, get_bottleneck } };
    g_array_append_vals(fields, head, G_N_ELEMENTS(head));
    for (int turns = 0; turns < 2; turns++)
        for (gsize b = 0; b < most_blocks(stories, n); b++)
        {
            char *key = g_strdup_printf("block_%" G_GSIZE_FORMAT "%s_ns", b + 1, turns ? "_turn" : "");
            IfmField field = { key, key, IFM_FIELD_INTEGER, turns ? get_turn : get_stage, GSIZE_TO_POINTER(b) };
            g_ptr_array_add(keys, key);
            g_array_append_val(fields, field);
        }
    g_array_append_vals(fields, tail, G_N_ELEMENTS(tail));
    for (gsize i = 0; i < n; i++)
        for (gsize b = 0; stories[i].analysis != NULL && b < stories[i].analysis->n_batches; b++)
        {
            BatchRow row = { &stories[i], b };
            g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
        }
    IfmTable table = { (const IfmField *)(const void *)fields->data, (const void *const *)rows->pdata, rows->len };
    return ifm_table_to_csv(&table);
}
