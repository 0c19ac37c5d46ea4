#include <math.h>

#include "scaling-private.h"

/* How a model grows, beyond the table of points: the passes of a training, and the memory of a graph
 * transformer. */

#define LINE(member) IFM_MEMBER(IfmScalingLine, member)
#define HIDE IFM_FIELD_HIDE_EMPTY

/* --- the axis --------------------------------------------------------------------------------------------------------- */

static void get_number(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingLine *line = record;
    if (!isnan(line->point.x))
        ifm_value_set_integer(value, (gint64)line->point.x);
}

/* The first column of a table whose records begin with an IfmScalingLine. */
static IfmField axis_field(const IfmScalingPart *part)
{
    IfmField field = {
        "value",        part->row->axis, IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(IfmScalingLine, point.value),
        IFM_FIELD_WHOLE
    };
    if (ifm_scaling_has_numbers(part))
    {
        field.kind = IFM_FIELD_INTEGER;
        field.get = get_number;
        field.user = NULL;
    }
    return field;
}

GArray *ifm_scaling_fields(IfmDocument *document, const IfmScalingPart *part, const IfmField *fields)
{
    const IfmField axis[] = { axis_field(part), { NULL } };
    return ifm_document_keep(document, ifm_fields_join(axis, fields), (GDestroyNotify)g_array_unref);
}

const char *ifm_scaling_key(IfmDocument *document, const char *word)
{
    guint n = 0;
    for (guint i = 0; i < document->sections->len; i++)
        n += ((const IfmSection *)document->sections->pdata[i])->level == 0;
    return ifm_document_take_text(document, g_strdup_printf("%s-%u", word, n));
}

GPtrArray *ifm_scaling_records(const IfmScalingPart *part)
{
    GPtrArray *records = g_ptr_array_new();
    for (gsize i = 0; i < part->row->n; i++)
        g_ptr_array_add(records, &part->lines[i]);
    return records;
}

static void add_table(IfmDocument *document, const IfmScalingPart *part, const char *word, const IfmField *fields,
                      GPtrArray *records)
{
    const GArray *all = ifm_scaling_fields(document, part, fields);
    ifm_document_part(document);
    ifm_document_table(document, ifm_scaling_key(document, word), ifm_fields_in(all), records);
}

/* --- passes ----------------------------------------------------------------------------------------------------------- */

/* PassesLine: a point with what each pass of it came to; NaN: not known, or not shown. */
typedef struct
{
    IfmScalingLine line;
    struct
    {
        double time_ns, half_ratio, lower_ns, upper_ns, gflop;
    } of[IFM_N_PASS_FIGURES];
} PassesLine;

#define OF(kind, member) IFM_MEMBER(PassesLine, of[kind].member)

/* Without a device there are the FLOP of each. */
static const IfmField passes_fields[] = {
    { "forward_ns", "forward", IFM_FIELD_DURATION, OF(IFM_PASS_FORWARD, time_ns), HIDE },
    { "forward_half", "±", IFM_FIELD_PRECISION, OF(IFM_PASS_FORWARD, half_ratio), HIDE },
    { "backward_ns", "backward", IFM_FIELD_DURATION, OF(IFM_PASS_BACKWARD, time_ns), HIDE },
    { "backward_lower", "95 % from", IFM_FIELD_DURATION, OF(IFM_PASS_BACKWARD, lower_ns), HIDE },
    { "backward_upper", "to", IFM_FIELD_DURATION, OF(IFM_PASS_BACKWARD, upper_ns), HIDE },
    { "training_ns", "training pass", IFM_FIELD_DURATION, OF(IFM_PASS_TRAINING, time_ns), HIDE },
    { "training_half", "±", IFM_FIELD_PRECISION, OF(IFM_PASS_TRAINING, half_ratio), HIDE },
    { "update_ns", "update", IFM_FIELD_DURATION, OF(IFM_PASS_UPDATE, time_ns), HIDE },
    { "step_ns", "training step", IFM_FIELD_DURATION, OF(IFM_PASS_STEP, time_ns), HIDE },
    { "forward_gflop", "GFLOP: forward", IFM_FIELD_REAL, OF(IFM_PASS_FORWARD, gflop), HIDE },
    { "backward_gflop", "backward", IFM_FIELD_REAL, OF(IFM_PASS_BACKWARD, gflop), HIDE },
    { "training_gflop", "training pass", IFM_FIELD_REAL, OF(IFM_PASS_TRAINING, gflop), HIDE },
    { "update_gflop", "update", IFM_FIELD_REAL, OF(IFM_PASS_UPDATE, gflop), HIDE },
    { "step_gflop", "training step", IFM_FIELD_REAL, OF(IFM_PASS_STEP, gflop), HIDE },
    { NULL },
};

/* The interval of the pass that was asked for stands in the points' own table. */
static void put_pass(PassesLine *line, const IfmScalingPart *part, const IfmScalingPart *pass, gsize i)
{
    const IfmScalingPoint *point = &pass->points[i];
    gboolean own = pass == part;
    line->of[pass->kind].time_ns = point->time_ns;
    line->of[pass->kind].half_ratio =
        own ? (double)NAN : (point->interval.upper - point->interval.lower) / 2 / point->time_ns;
    line->of[pass->kind].lower_ns = point->interval.lower;
    line->of[pass->kind].upper_ns = point->interval.upper;
    if (part->device == NULL && point->flop >= 0)
        line->of[pass->kind].gflop = (double)point->flop / 1e9;
}

static GPtrArray *passes_lines(const IfmScalingPart *part)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < part->row->n; i++)
    {
        PassesLine *line = g_new0(PassesLine, 1);
        line->line = part->lines[i];
        for (int kind = 0; kind < IFM_N_PASS_FIGURES; kind++)
            line->of[kind].time_ns = line->of[kind].half_ratio = line->of[kind].lower_ns = line->of[kind].upper_ns =
                line->of[kind].gflop = NAN;
        for (guint k = 0; k < part->passes->len; k++)
            put_pass(line, part, part->passes->pdata[k], i);
        g_ptr_array_add(lines, line);
    }
    return lines;
}

/* Where the difference may be nothing at all. */
static void add_zeros(IfmDocument *document, const IfmScalingPart *pass)
{
    g_autoptr(GString) values = g_string_new(NULL);
    for (gsize i = 0; i < pass->row->n; i++)
        if (pass->points[i].interval.lower <= 0 && pass->points[i].interval.upper >= 0)
            g_string_append_printf(values, "%s%s %s", values->len > 0 ? ", " : "", pass->row->axis, pass->points[i].value);
    if (values->len > 0)
        ifm_document_text(document, "%s: the interval of %s%s holds 0: these runs do not distinguish it from 0",
                          values->str, pass->kind == IFM_PASS_UPDATE ? "the " : "", ifm_pass_words(pass->kind));
}

/* Of the other passes: the one asked for has its reasons below its own table. */
static void add_reasons(IfmDocument *document, const IfmScalingPart *part, const IfmScalingPart *pass)
{
    for (gsize i = 0; pass != part && pass->kind < IFM_N_PASSES && i < pass->row->n; i++)
    {
        if (pass->points[i].reason == NULL || part->points[i].reason != NULL)
            continue;
        g_autofree char *head =
            g_strdup_printf("%s %s, %s", pass->row->axis, pass->points[i].value, ifm_pass_words(pass->kind));
        ifm_document_note(document, head, IFM_TONE_BAD, "%s", pass->points[i].reason);
    }
}

void ifm_scaling_add_passes(IfmDocument *document, const IfmScalingPart *part)
{
    if (part->passes->len == 0)
        return;
    GPtrArray *lines = passes_lines(part);
    add_table(document, part, "passes", passes_fields, lines);
    for (guint i = 0; i < part->passes->len; i++)
    {
        const IfmScalingPart *pass = part->passes->pdata[i];
        add_reasons(document, part, pass);
        if (pass->kind >= IFM_N_PASSES)
            add_zeros(document, pass);
    }
    gboolean all_in_rounds = TRUE; /* all points that have a time */
    for (gsize i = 0; i < part->row->n; i++)
        all_in_rounds &= isnan(part->points[i].time_ns) || part->points[i].n_rounds > 0;
    if (part->device != NULL)
        ifm_document_text(document, "backward = training pass - forward%s%s",
                          part->kind == IFM_PASS_STEP ? ", update = training step - training pass" : "",
                          all_in_rounds ? ", all of the same rounds: they add up"
                                        : ", with the interval of that difference");
}

/* --- memory ----------------------------------------------------------------------------------------------------------- */

/* What is held as estimated needs no column. */
static void get_held(const void *record, const void *user, IfmValue *value)
{
    const IfmScalingPoint *point = &((const IfmScalingLine *)record)->point;
    if (!ifm_is_as_estimated(point->encoding_estimated_bytes, point->encoding_held_bytes))
        ifm_value_set_real(value, point->encoding_held_bytes);
}

static const IfmField memory_fields[] = {
    { "attention_estimated_bytes", "attention: estimated", IFM_FIELD_BYTES, LINE(point.attention_estimated_bytes) },
    { "attention_planned_bytes", "planned", IFM_FIELD_BYTES, LINE(point.attention_planned_bytes) },
    { "model_bytes", "model", IFM_FIELD_BYTES, LINE(point.bytes) },
    { "allocator_bytes", "allocator", IFM_FIELD_BYTES, LINE(point.allocator_bytes), HIDE },
    { "process_bytes", "process", IFM_FIELD_BYTES, LINE(point.process_bytes), HIDE },
    { "encoding_estimated_bytes", "encoding", IFM_FIELD_BYTES, LINE(point.encoding_estimated_bytes), HIDE },
    { "encoding_held_bytes", "held", IFM_FIELD_BYTES, get_held, NULL, HIDE },
    { NULL },
};

gboolean ifm_scaling_has_memory(const IfmScalingPart *part)
{
    for (gsize i = 0; i < part->row->n; i++)
        if (!isnan(part->points[i].attention_planned_bytes))
            return TRUE;
    return FALSE;
}

void ifm_scaling_add_memory(IfmDocument *document, const IfmScalingPart *part)
{
    if (!ifm_scaling_has_memory(part))
        return;
    add_table(document, part, "memory", memory_fields, ifm_scaling_records(part));
    ifm_document_text(document, "memory: attention by the closed form (in training of all layers), and the maximum that it "
                                "has alive by the shapes; "
                                "model: parameters and the maximum alive at once; the maximum that the runtime's allocator "
                                "held; how far the process "
                                "grew; an encoding by the closed form, and held where that is more");
}
