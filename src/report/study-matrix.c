#include <math.h>
#include <string.h>

#include "report-private.h"

/* Tables of stages by devices. */

/* --- stages by devices ------------------------------------------------------------------------------------------------ */

/* A row of a matrix: so many figures for each device. */
typedef struct
{
    char *name;        /* of the stage */
    double *numbers;   /* [devices * n_each] NaN where there is none */
    IfmInterval *sure; /* [devices] of the first figure of each */
    IfmMark *marks;    /* [devices] of the same */
    guint best;        /* the device with the least; G_MAXUINT where there is none */
    char *verdict;     /* NULL where there is nothing to compare */
} MatrixLine;

/* One column: which figure. */
typedef struct
{
    guint index, n_each;
    char *title;
} MatrixColumn;

static void matrix_line_free(MatrixLine *line)
{
    g_free(line->name);
    g_free(line->numbers);
    g_free(line->sure);
    g_free(line->marks);
    g_free(line->verdict);
    g_free(line);
}

static MatrixLine *matrix_line_new(char *name, guint n_devices, guint n_each)
{
    MatrixLine *line = g_new0(MatrixLine, 1);
    line->name = name;
    line->numbers = g_new(double, n_devices *n_each + 1);
    line->sure = g_new(IfmInterval, n_devices + 1);
    line->marks = g_new0(IfmMark, n_devices + 1);
    line->best = G_MAXUINT;
    for (guint i = 0; i < n_devices * n_each; i++)
        line->numbers[i] = NAN;
    for (guint i = 0; i < n_devices; i++)
        line->sure[i] = (IfmInterval){ NAN, NAN, NAN };
    return line;
}

static void get_line_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const MatrixLine *)record)->name);
}

static void get_line_number(const void *record, const void *user, IfmValue *value)
{
    const MatrixLine *line = record;
    const MatrixColumn *column = user;
    ifm_value_set_real(value, line->numbers[column->index]);
    if (column->index % column->n_each == 0)
        value->mark = line->marks[column->index / column->n_each];
    value->tone = line->best == column->index / column->n_each ? IFM_TONE_GOOD : IFM_TONE_PLAIN;
}

static void get_line_verdict(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const MatrixLine *)record)->verdict);
}

/* "3 REDUCE_SUM" (transfer full) */
char *ifm_stage_title(const IfmStudyTables *tables, int number)
{
    for (gsize i = 0; i < tables->staged->n_stages; i++)
        if (tables->staged->stages[i].number == number)
            return g_strdup_printf("%d %s", number, tables->staged->stages[i].name);
    return g_strdup_printf("%d", number);
}

/* Whether two latencies may be the same for all that is known. */
static gboolean may_be_same(const IfmInterval *fastest, const IfmInterval *other)
{
    return fastest->upper >= other->lower;
}

static gboolean is_known(const IfmInterval *interval)
{
    return isfinite(interval->lower) && isfinite(interval->upper);
}

static guint index_of_least(const MatrixLine *line, guint n, guint but)
{
    guint least = G_MAXUINT;
    for (guint i = 0; i < n; i++)
        if (i != but && isfinite(line->numbers[i]) && (least == G_MAXUINT || line->numbers[i] < line->numbers[least]))
            least = i;
    return least;
}

/* Says which is the least, and by how much; where intervals overlap, that any of them may be, and where there is none, that
 * nobody knows. */
static void judge(MatrixLine *line, const GPtrArray *devices)
{
    guint best = index_of_least(line, devices->len, G_MAXUINT);
    guint next = best != G_MAXUINT ? index_of_least(line, devices->len, best) : G_MAXUINT;
    if (next == G_MAXUINT)
        return;
    g_autofree char *first = ifm_device_marked(devices->pdata[best]), *second = ifm_device_marked(devices->pdata[next]);
    g_autoptr(GString) rivals = g_string_new(first);
    gboolean known = TRUE;
    for (guint i = 0; i < devices->len; i++)
    {
        if (!isfinite(line->numbers[i]))
            continue;
        known &= is_known(&line->sure[i]);
        if (i == best || !may_be_same(&line->sure[best], &line->sure[i]))
            continue;
        g_autofree char *rival = ifm_device_marked(devices->pdata[i]);
        g_string_append_printf(rivals, " or %s", rival);
    }
    if (!known)
        line->verdict = g_strdup("not known");
    else if (rivals->len > strlen(first))
        line->verdict = g_strdup(rivals->str);
    else
    {
        line->best = best;
        line->verdict = g_strdup_printf("%s, then %s (%.2fx)", first, second, line->numbers[next] / line->numbers[best]);
    }
}

static void add_column(GArray *fields, const char *title, IfmFieldKind kind,
                       void (*get)(const void *, const void *, IfmValue *), const void *user)
{
    IfmField field = { "figure", title, kind, get, user, IFM_FIELD_HIDE_EMPTY };
    if (kind == IFM_FIELD_TEXT)
        field.flags |= IFM_FIELD_WHOLE;
    g_array_append_val(fields, field);
}

/* A table of lines with columns for each device that has figures.
 * @titles: NULL-terminated, of the figures of a device after the first, which has the device's name    @verdict: NULL for
 * no such column */
static void append_matrix(GString *out, const IfmStudyTables *tables, const GPtrArray *lines, IfmFieldKind kind,
                          const char *const *titles, const char *verdict, const IfmScreen *screen)
{
    guint n_each = 1 + g_strv_length((char **)titles), n = tables->devices->len * n_each;
    g_autofree MatrixColumn *columns = g_new0(MatrixColumn, n + 1);
    g_autoptr(GArray) fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    add_column(fields, "stage", IFM_FIELD_TEXT, get_line_name, NULL);
    for (guint i = 0; i < n; i++)
    {
        columns[i] = (MatrixColumn){ i, n_each, NULL };
        columns[i].title =
            i % n_each == 0 ? ifm_device_marked(tables->devices->pdata[i / n_each]) : g_strdup(titles[i % n_each - 1]);
        add_column(fields, columns[i].title, kind, get_line_number, &columns[i]);
    }
    if (verdict != NULL)
        add_column(fields, verdict, IFM_FIELD_TEXT, get_line_verdict, NULL);
    ifm_page_table(out, (const IfmField *)fields->data, lines, screen);
    for (guint i = 0; i < n; i++)
        g_free(columns[i].title);
}

static guint device_index(const IfmStudyTables *tables, const IfmStudyDevice *device)
{
    for (guint i = 0; i < tables->devices->len; i++)
        if (tables->devices->pdata[i] == device)
            return i;
    return 0;
}

gboolean ifm_study_has_stage(const IfmStudyTables *tables, int stage)
{
    for (guint i = 0; i < tables->rows->len; i++)
        if (((const IfmStageRow *)tables->rows->pdata[i])->stage == stage)
            return TRUE;
    return FALSE;
}

/* Of the stages that the study has. @numbers: (out) their numbers */
static GPtrArray *lines_of_stages(const IfmStudyTables *tables, guint n_each, GArray *numbers)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func((GDestroyNotify)matrix_line_free);
    for (gsize i = 0; i < tables->staged->n_stages; i++)
    {
        int number = tables->staged->stages[i].number;
        if (!ifm_study_has_stage(tables, number))
            continue;
        g_array_append_val(numbers, number);
        g_ptr_array_add(lines, matrix_line_new(ifm_stage_title(tables, number), tables->devices->len, n_each));
    }
    return lines;
}

static MatrixLine *line_of(const GPtrArray *lines, const GArray *numbers, int stage)
{
    for (guint i = 0; i < numbers->len; i++)
        if (g_array_index(numbers, int, i) == stage)
            return lines->pdata[i];
    return NULL;
}

/* The sum of a device's stages, where it has them all. Its interval is the sum of theirs: wide enough whatever they have in
 * common. */
static MatrixLine *line_of_sums(const IfmStudyTables *tables, const GPtrArray *lines)
{
    MatrixLine *sums = matrix_line_new(g_strdup("sum, no moves"), tables->devices->len, 1);
    for (guint device = 0; device < tables->devices->len; device++)
    {
        sums->numbers[device] = 0;
        sums->sure[device] = (IfmInterval){ 0, 0, NAN };
        for (guint i = 0; i < lines->len; i++)
        {
            const MatrixLine *line = lines->pdata[i];
            sums->numbers[device] += line->numbers[device];
            sums->sure[device].lower += line->sure[device].lower;
            sums->sure[device].upper += line->sure[device].upper;
            sums->marks[device] = MAX(sums->marks[device], line->marks[device]);
        }
    }
    judge(sums, tables->devices);
    return sums;
}

static const char *const no_titles[] = { NULL };

/* Puts the rows of one size into the lines. @marks: (out) by IfmMark, those there are. Returns: whether there is an
 * interval, or a row that could have one. */
static gboolean fill_latencies(const IfmStudyTables *tables, const IfmStageRow *at, const GPtrArray *lines,
                               const GArray *numbers, gboolean marks[3])
{
    gboolean any = FALSE;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStageRow *row = tables->rows->pdata[i];
        MatrixLine *line = line_of(lines, numbers, row->stage);
        if (row->nodes != at->nodes || row->edges != at->edges || row->reason != NULL || line == NULL)
            continue;
        guint device = device_index(tables, row->device);
        line->numbers[device] = row->total_ns;
        line->sure[device] = row->interval;
        line->marks[device] = ifm_stage_row_mark(tables, row);
        marks[line->marks[device]] = TRUE;
        any |= row->n > 0;
    }
    return any;
}

static void append_latencies(GString *out, const IfmStudyTables *tables, const IfmStageRow *at, const IfmScreen *screen)
{
    gboolean marks[3] = { FALSE };
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GPtrArray) lines = lines_of_stages(tables, 1, numbers);
    gboolean judged = fill_latencies(tables, at, lines, numbers, marks);
    for (guint i = 0; i < lines->len; i++)
        judge(lines->pdata[i], tables->devices);
    if (lines->len > 1)
        g_ptr_array_add(lines, line_of_sums(tables, lines));
    append_matrix(out, tables, lines, IFM_FIELD_DURATION, no_titles, judged ? "fastest" : NULL, screen);
    ifm_study_mark_note(out, tables, marks, screen);
    if (!judged && tables->devices->len > 1)
        ifm_page_wrapped(out, "read in without intervals: which device is the fastest is not known", screen);
}

/* The first row of the smallest (@sign -1) or largest (1) size that has a latency; NULL where none has. */
static const IfmStageRow *outermost(const IfmStudyTables *tables, int sign)
{
    const IfmStageRow *found = NULL;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStageRow *row = tables->rows->pdata[i];
        gint64 further = found == NULL                ? 1
                         : row->nodes != found->nodes ? sign * (row->nodes - found->nodes)
                                                      : sign * (row->edges - found->edges);
        if (row->reason == NULL && further > 0)
            found = row;
    }
    return found;
}

void ifm_study_latencies(GString *out, const IfmStudyTables *tables, int sign, const IfmScreen *screen)
{
    const IfmStageRow *at = outermost(tables, sign), *most = outermost(tables, 1);
    if (at == NULL || (sign < 0 && at->nodes == most->nodes && at->edges == most->edges))
        return;
    gsize counts[IFM_ROW_STATES], n_absent;
    ifm_study_count(tables, 0, counts, &n_absent);
    g_autofree char *heading = g_strdup_printf(
        "Latency at the %s size%s, %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges",
        sign < 0 ? "smallest" : "largest", counts[IFM_ROW_LEFT] > 0 ? " reached so far" : "", at->nodes, at->edges);
    ifm_page_heading(out, heading, screen);
    append_latencies(out, tables, at, screen);
}

/* --- lookup errors ---------------------------------------------------------------------------------------------------- */

static void append_lookup_matrix(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    static const char *const titles[] = { "most", NULL };
    g_autoptr(GArray) stages = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GPtrArray) lines = lines_of_stages(tables, 2, stages);
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        MatrixLine *line = line_of(lines, stages, fit->stage);
        if (!fit->has_lookup || line == NULL)
            continue;
        double *numbers = line->numbers + 2 * device_index(tables, fit->device);
        numbers[0] = fit->lookup_error.median_ratio;
        numbers[1] = fit->lookup_error.max_ratio;
    }
    append_matrix(out, tables, lines, IFM_FIELD_RATIO, titles, NULL, screen);
}

void ifm_study_lookup_errors(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    gsize n_inner = 0, n_outer = 0;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (!fit->has_lookup)
            continue;
        n_inner += fit->lookup_error.n_interpolated;
        n_outer += fit->lookup_error.n_extrapolated;
    }
    if (n_inner == 0)
        return;
    ifm_page_heading(out, "Latency at sizes never measured", screen);
    g_autofree char *text = g_strdup_printf(
        "Each latency was left out once and predicted from the other sizes of its stage and device, by "
        "interpolation between "
        "logarithms of nodes, edges per node and latency. By how much that missed, in the middle and at most, where "
        "others lie around "
        "it (%" G_GSIZE_FORMAT " latencies; %" G_GSIZE_FORMAT
        " lie at the edge, where it could only extrapolate: lookup_table.json tells how badly):",
        n_inner, n_outer);
    ifm_page_wrapped(out, text, screen);
    g_string_append_c(out, '\n');
    append_lookup_matrix(out, tables, screen);
}
