#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/words.h>

#include "profile-findings.h"
#include "profile-page-private.h"

/* Where the time goes: families, blocks and layers on one scale for all devices, and two devices layer by layer. */

/* --- blocks ------------------------------------------------------------------------------------------------------------
 */

#define MAX_DEPTH 3    /* components of a layer's name that a block may have */
#define LEAST_BLOCKS 3 /* fewer say nothing */

static const char *name_of(const IfmKernel *kernel)
{
    return kernel->label != NULL ? kernel->label : kernel->node->name != NULL ? kernel->node->name : "";
}

/* "layer4" of "layer4.1.conv2" (transfer full) */
static char *block_of(const IfmKernel *kernel, int depth)
{
    const char *begin = name_of(kernel), *end;
    if (kernel->layers == NULL)
        return g_strdup(kernel->marshalling ? "layout changes" : "not known");
    begin += *begin == '/';
    for (end = begin; *end != '\0' && depth > 0; end++)
        depth -= *end == '.' || *end == '/';
    end -= end > begin && (end[-1] == '.' || end[-1] == '/');
    return g_strndup(begin, (gsize)(end - begin));
}

#define MOST_IN_ONE 0.8 /* of the kernels: a block of more is no block */

/* The fewest components of the names that make several blocks; 0: the names have none. */
static int depth_of(const IfmProfilePage *page)
{
    for (int depth = 1; depth <= MAX_DEPTH; depth++)
    {
        g_autoptr(GHashTable) blocks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        guint n = 0, most = 0;
        for (gsize i = 0; i < page->report->n_devices; i++)
            for (guint k = 0; page->kernels[i] != NULL && k < page->kernels[i]->rows->len; k++)
            {
                const IfmKernel *kernel = page->kernels[i]->rows->pdata[k];
                char *block = kernel->layers != NULL ? block_of(kernel, depth) : NULL;
                if (block == NULL)
                    continue;
                const guint count = 1 + GPOINTER_TO_UINT(g_hash_table_lookup(blocks, block));
                g_hash_table_replace(blocks, block, GUINT_TO_POINTER(count));
                most = MAX(most, count);
                n++;
            }
        if (g_hash_table_size(blocks) >= LEAST_BLOCKS && most <= MOST_IN_ONE * n)
            return g_hash_table_size(blocks) < n ? depth : 0;
    }
    return 0;
}

/* --- levels ------------------------------------------------------------------------------------------------------------
 */

/* Piece: a kernel with what is above it. */
typedef struct
{
    const IfmKernel *kernel;
    const char *family;
    char *block; /* owned */
    gsize rank;  /* of its family, by time */
    gsize first; /* of its layers */
    double ns;   /* its median, or its mean where a device on the same scale has no median */
} Piece;

static void piece_clear(gpointer piece)
{
    g_free(((Piece *)piece)->block);
}

static gint by_level(gconstpointer a, gconstpointer b)
{
    const Piece *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x->first > y->first) - (x->first < y->first);
}

/* @means: those of all nodes of the measurement; or NULL */
static double time_of(const IfmMeasurement *measurement, const json_t *means, const IfmKernel *kernel)
{
    guint at;
    return means != NULL && g_ptr_array_find(measurement->nodes, kernel->node, &at)
               ? json_number_value(json_array_get(means, at))
               : kernel->node->median_ns;
}

/* In the order of families, in each in that of the model. (transfer full) Piece */
static GArray *pieces_of(const IfmKernels *kernels, const IfmMeasurement *measurement, const json_t *means, int depth)
{
    g_autoptr(GArray) families = ifm_kernels_families(kernels);
    GArray *pieces = g_array_new(FALSE, FALSE, sizeof(Piece));
    g_array_set_clear_func(pieces, piece_clear);
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        const char *family = kernel->marshalling ? "the runtime's copies"
                             : kernel->known     ? ifm_family_name(kernel->family)
                                                 : "not known";
        Piece piece = { kernel,    ifm_kernel_family_words(family),    block_of(kernel, depth), 0,
                        G_MAXSIZE, time_of(measurement, means, kernel) };
        while (piece.rank < families->len &&
               !g_str_equal(g_array_index(families, IfmKernelFamily, piece.rank).name, family))
            piece.rank++;
        for (guint k = 0; kernel->layers != NULL && k < kernel->layers->len; k++)
            piece.first = MIN(piece.first, g_array_index(kernel->layers, gsize, k));
        g_array_append_val(pieces, piece);
    }
    g_array_sort(pieces, by_level);
    return pieces;
}

/* What pieces next to each other have in common on a level: 0: the family, 1: the block, 2: nothing. */
static const char *common(const Piece *piece, int level)
{
    return level == 0 ? piece->family : level == 1 ? piece->block : name_of(piece->kernel);
}

#define NAMED_SHARE 0.02 /* of the time: kernels of less are drawn with such neighbours, since no name fits into them */
#define LEAST_SHARE 0.01 /* of the time: what takes less has no bar, and no line but among the details */

/* Whether two pieces next to each other are drawn as one. */
static gboolean are_one(const Piece *first, const Piece *next, int level, double least_ns)
{
    if (level < 2)
        return g_str_equal(common(first, level), common(next, level));
    return first->ns < least_ns && next->ns < least_ns && g_str_equal(first->block, next->block);
}

static void add_levels(IfmDocument *document, IfmBlock *figure, const char *device, const GArray *pieces, int depth)
{
    double total_ns = 0, begin_ns = 0;
    for (guint i = 0; i < pieces->len; i++)
        total_ns += g_array_index(pieces, Piece, i).ns;
    for (guint from = 0, to; from < pieces->len; from = to) /* a family is a series, so that it has one colour */
    {
        const Piece *first = &g_array_index(pieces, Piece, from);
        IfmSeries *series = ifm_document_series(document, figure, first->family, device);
        for (to = from; to < pieces->len && g_array_index(pieces, Piece, to).rank == first->rank;)
            to++;
        for (int level = 0, row = 0; level < 3; level++)
        {
            double at_ns = begin_ns;
            if (level == 1 && depth == 0)
                continue;
            for (guint i = from; i < to;)
            {
                const Piece *begin = &g_array_index(pieces, Piece, i);
                IfmPoint point = IFM_POINT_INIT;
                const guint before = i;
                point.x = at_ns;
                do
                    at_ns += g_array_index(pieces, Piece, i++).ns;
                while (i < to && are_one(begin, &g_array_index(pieces, Piece, i), level, NAMED_SHARE * total_ns));
                g_autofree char *share = ifm_say_per_cent((at_ns - point.x) / total_ns),
                                *text = level == 0 ? g_strdup_printf("%s %s", common(begin, level), share) : NULL,
                                *several = level == 2 && i - before > 1 ? g_strdup_printf("%u kernels", i - before) : NULL;
                point.x_end = at_ns;
                point.y = row;
                point.label = several != NULL ? several : common(begin, level);
                point.text = text;
                ifm_document_point(document, series, &point);
            }
            row++;
        }
        for (guint i = from; i < to; i++)
            begin_ns += g_array_index(pieces, Piece, i).ns;
    }
}

/* --- shares ------------------------------------------------------------------------------------------------------------
 */

static double share_of(const GArray *pieces, const char *name, int level, double total_ns)
{
    double sum_ns = 0;
    for (guint i = 0; name != NULL && i < pieces->len; i++)
        if (g_str_equal(common(&g_array_index(pieces, Piece, i), level), name))
            sum_ns += g_array_index(pieces, Piece, i).ns;
    return sum_ns / total_ns;
}

/* The two of least time, in the order in which they were given. FALSE: there are no two with kernels. */
static gboolean find_pair(const IfmProfilePage *page, gsize pair[2])
{
    double least_ns[2] = { INFINITY, INFINITY };
    for (gsize i = 0; i < page->report->n_devices; i++)
    {
        IfmRoundsOfOne of;
        ifm_profile_time(page->report, &page->report->devices[i], &of);
        const double ns = page->kernels[i] != NULL && isfinite(of.median_ns) ? of.median_ns : (double)INFINITY;
        const int at = ns < least_ns[0] ? 0 : ns < least_ns[1] ? 1 : 2;
        if (at == 0)
        {
            least_ns[1] = least_ns[0];
            pair[1] = pair[0];
        }
        if (at < 2)
        {
            least_ns[at] = ns;
            pair[at] = i;
        }
    }
    const gsize first = MIN(pair[0], pair[1]);
    if (!isfinite(least_ns[1]))
        return FALSE;
    pair[1] = MAX(pair[0], pair[1]);
    pair[0] = first;
    return TRUE;
}

#define MOST_TOGETHER 3 /* devices in a figure of shares */

/* Devices whose kernels are known. */
typedef struct
{
    gsize n;
    const char **names;
    GArray **pieces;
    double *total_ns;
    gboolean means; /* the times of all are means of the profiled runs, since one has no medians */
} Measured;

static void measured_clear(Measured *self)
{
    for (gsize i = 0; i < self->n; i++)
        g_array_unref(self->pieces[i]);
    g_free(self->names);
    g_free(self->pieces);
    g_free(self->total_ns);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Measured, measured_clear)

/* Whether what is drawn on one scale has a device without medians, and all have means. */
static gboolean wants_means(const IfmProfilePage *page)
{
    gboolean any = FALSE, all = TRUE;
    for (gsize i = 0; i < page->report->n_devices; i++)
    {
        const IfmMeasurement *measurement = page->report->devices[i].result.measurement;
        if (page->kernels[i] == NULL)
            continue;
        any |= ifm_profile_are_means(measurement->breakdown);
        all &= json_array_size(json_object_get(measurement->breakdown, "nodes_mean_ns")) == measurement->nodes->len;
    }
    return any && all;
}

/* Of more than three devices the two of least time. */
static void measured_init(Measured *self, const IfmProfilePage *page, int depth)
{
    const gsize n = page->report->n_devices;
    gsize pair[2] = { 0, 0 };
    const gboolean only_pair = n > MOST_TOGETHER && find_pair(page, pair);
    *self = (Measured){ 0, g_new0(const char *, n + 1), g_new0(GArray *, n + 1), g_new0(double, n + 1), wants_means(page) };
    for (gsize i = 0; i < n; i++)
    {
        if (page->kernels[i] == NULL || !(page->kernels[i]->nodes_ns > 0) || (only_pair && i != pair[0] && i != pair[1]))
            continue;
        const IfmMeasurement *measurement = page->report->devices[i].result.measurement;
        GArray *pieces = pieces_of(page->kernels[i], measurement,
                                   self->means ? json_object_get(measurement->breakdown, "nodes_mean_ns") : NULL, depth);
        for (guint k = 0; k < pieces->len; k++)
            self->total_ns[self->n] += g_array_index(pieces, Piece, k).ns;
        self->names[self->n] = ifm_result_name(&page->report->devices[i].result);
        self->pieces[self->n++] = pieces;
    }
}

/* What each name of a level takes of the time. @figure: (nullable) that shows it. Returns: a sentence of the name that
 * takes most on each device. (transfer full) */
static char *add_shares(IfmDocument *document, IfmBlock *figure, const Measured *measured, int level)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree double *most = g_new0(double, measured->n);
    g_autofree const char **parts = g_new0(const char *, measured->n);
    for (gsize i = 0; i < measured->n; i++)
        for (guint k = 0; k < measured->pieces[i]->len; k++)
        {
            const char *name = common(&g_array_index(measured->pieces[i], Piece, k), level);
            if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
                g_ptr_array_add(names, (gpointer)name);
        }
    for (guint k = names->len; k-- > 0;)
    {
        double sum = 0;
        const char *name = names->pdata[k];
        for (gsize i = 0; i < measured->n; i++)
        {
            const double share = share_of(measured->pieces[i], name, level, measured->total_ns[i]);
            sum += share;
            if (parts[i] == NULL || share > most[i])
            {
                most[i] = share;
                parts[i] = name;
            }
        }
        if (sum < LEAST_SHARE * (double)measured->n)
            g_ptr_array_remove_index(names, k);
    }
    for (gsize i = 0; i < measured->n; i++)
    {
        IfmSeries *series = figure != NULL ? ifm_document_series(document, figure, measured->names[i], NULL) : NULL;
        for (guint k = 0; series != NULL && k < names->len; k++)
        {
            ifm_document_point_at(document, series, names->pdata[k], NAN,
                                  share_of(measured->pieces[i], names->pdata[k], level, measured->total_ns[i]));
        }
    }
    return ifm_finding_share(measured->names, measured->n, parts, most);
}

/* Of the two devices of least time; of one where there is one, and of the first of them where they are of many. */
static void add_icicle(const IfmProfilePage *page, const Measured *measured, int depth)
{
    g_autoptr(GString) title = g_string_new(NULL);
    gsize pair[2] = { 0, 0 };
    const char *names[2];
    const gboolean has_pair = find_pair(page, pair);
    for (int side = 0; side < 2 && has_pair; side++)
        names[side] = ifm_result_name(&page->report->devices[pair[side]].result);
    IfmBlock *figure = ifm_document_page_figure(
        page->document, "levels", IFM_FIGURE_ICICLE, NULL,
        depth > 0 ? "Width: time, on one scale. Top: families of operators; middle: blocks of the model in their order; "
                    "bottom: kernels, by their costliest layer. Colour: the family."
                  : "Width: time, on one scale. Top: families of operators; bottom: kernels, by their costliest layer. "
                    "Colour: the family.");
    figure->figure.x.title = measured->means ? "time of the kernels, mean" : "time of the kernels, median";
    const gsize n = page->report->n_devices > MOST_TOGETHER ? 1 : measured->n;
    for (gsize i = 0; i < n; i++)
    {
        if (has_pair && measured->names[i] != names[0] && measured->names[i] != names[1])
            continue;
        g_autofree char *sum = ifm_say_duration(measured->total_ns[i]);
        g_string_append_printf(title, "%s%s spends %s in %u kernel%s", title->len > 0 ? ", " : "", measured->names[i], sum,
                               measured->pieces[i]->len, ifm_plural(measured->pieces[i]->len));
        add_levels(page->document, figure, measured->names[i], measured->pieces[i], depth);
    }
    g_string_append(title, measured->means ? " (means)" : " (medians)");
    figure->figure.title = ifm_document_keep_text(page->document, title->str);
}

/* --- two devices, layer by layer ----------------------------------------------------------------------------------------
 */

#define DIFFERENCES 8 /* that a figure shows */

static void get_difference(const void *record, const void *user, IfmValue *value)
{
    const IfmAlignedRow *row = record;
    ifm_value_set_real(value, row->time_ns[1] - row->time_ns[0]);
}

static void get_time(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const IfmAlignedRow *)record)->time_ns[GPOINTER_TO_SIZE(user)]);
}

/* None where the clocks bound it by nothing. */
static void get_upper(const void *record, const void *user, IfmValue *value)
{
    const double upper = ((const IfmAlignedRow *)record)->upper;
    ifm_value_set_real(value, isfinite(upper) ? upper : (double)NAN);
}

static void get_ratio(const void *record, const void *user, IfmValue *value)
{
    const IfmAlignedRow *row = record;
    ifm_value_set_interval(value, NAN, row->lower, row->ratio, row->upper, NAN);
}

/* @user: the names of both. */
static void get_less(const void *record, const void *user, IfmValue *value)
{
    const IfmAlignedRow *row = record;
    const char *const *names = user;
    g_autofree char *alone = g_strdup_printf("%s alone", names[isfinite(row->time_ns[0]) ? 0 : 1]);
    if (!isfinite(row->ratio))
        ifm_value_take_text(value, g_steal_pointer(&alone));
    else
        ifm_value_set_text(value, !isfinite(row->lower) ? "no interval"
                                  : row->lower > 1      ? names[0]
                                  : row->upper < 1      ? names[1]
                                                        : "not told apart");
    value->tone = ifm_aligned_is_told(row) ? IFM_TONE_PLAIN : IFM_TONE_DIM;
}

/* The columns of these two. @drawn: with the ratio as a picture    (transfer none) */
static const IfmField *aligned_fields(IfmDocument *document, const char *const names[2], gboolean drawn)
{
    g_autofree char *ratio = g_strdup_printf("%s / %s", names[1], names[0]);
    const IfmField columns[] = {
        { "layer", "layer", IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(IfmAlignedRow, name), IFM_FIELD_KEY },
        { "ratio_marks", "ratio, line at 1", IFM_FIELD_INTERVAL, get_ratio, NULL, IFM_FIELD_NO_EXPORT,
          .of = IFM_FIELD_REAL },
        { "ratio", ifm_document_keep_text(document, ratio), IFM_FIELD_REAL, ifm_field_get_real,
          IFM_FIELD_AT(IfmAlignedRow, ratio) },
        { "ratio_lower", "95 % from", IFM_FIELD_REAL, ifm_field_get_real, IFM_FIELD_AT(IfmAlignedRow, lower),
          IFM_FIELD_HIDE_EMPTY },
        { "ratio_upper", "to", IFM_FIELD_REAL, get_upper, NULL, IFM_FIELD_HIDE_EMPTY },
        { "a_ns", ifm_document_keep_text(document, names[0]), IFM_FIELD_DURATION, get_time, GSIZE_TO_POINTER(0) },
        { "b_ns", ifm_document_keep_text(document, names[1]), IFM_FIELD_DURATION, get_time, GSIZE_TO_POINTER(1) },
        { "difference_ns", "difference", IFM_FIELD_DURATION, get_difference, .flags = IFM_FIELD_SIGNED },
        { "faster", "faster", IFM_FIELD_TEXT, get_less, names },
        { NULL },
    };
    GArray *fields = ifm_document_keep(document, ifm_fields_join(NULL, columns), (GDestroyNotify)g_array_unref);
    if (!drawn)
        g_array_remove_index(fields, 1);
    return ifm_fields_in(fields);
}

/* Of a layer that one alone has, the time it takes there. */
static double size_of_difference(const IfmAlignedRow *row)
{
    const double difference = fabs(row->time_ns[1] - row->time_ns[0]);
    return isfinite(difference) ? difference : fmax(row->time_ns[0], row->time_ns[1]);
}

static gint by_difference(gconstpointer a, gconstpointer b)
{
    const double p = size_of_difference(*(const IfmAlignedRow *const *)a),
                 q = size_of_difference(*(const IfmAlignedRow *const *)b);
    return (p < q) - (p > q);
}

/* The layers with the largest differences among those that are told apart. */
static void add_gains(IfmDocument *document, const char *const names[2], const GArray *rows)
{
    g_autofree char *title = ifm_finding_gains(names, rows),
                    *sentence = g_strdup_printf("%s less %s, of the layers that are told apart; the largest %d.", names[1],
                                                names[0], DIFFERENCES);
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (guint i = 0; i < rows->len; i++)
        if (ifm_aligned_is_told(&g_array_index(rows, IfmAlignedRow, i)))
            g_ptr_array_add(order, &g_array_index(rows, IfmAlignedRow, i));
    g_ptr_array_sort(order, by_difference);
    IfmBlock *figure = ifm_document_page_figure(document, "differences", IFM_FIGURE_BARS, title, sentence);
    IfmSeries *less[] = { ifm_document_series(document, figure, names[0], NULL),
                          ifm_document_series(document, figure, names[1], NULL) };
    figure->figure.y.title = "difference of the time";
    for (guint i = 0; i < order->len && i < DIFFERENCES; i++)
    {
        const IfmAlignedRow *row = order->pdata[i];
        IfmPoint point = IFM_POINT_INIT;
        g_autofree char *text = ifm_say_difference(row->time_ns[1] - row->time_ns[0]);
        point.label = row->name;
        point.y = row->time_ns[1] - row->time_ns[0];
        point.text = text;
        ifm_document_point(document, less[point.y < 0], &point);
    }
}

GArray *ifm_profile_aligned(const IfmProfilePage *page, const char *names[2])
{
    const IfmProfileReport *report = page->report;
    gsize pair[2] = { 0, 0 };
    IfmAlignedSide sides[2];
    if (report->model == NULL || report->analysis == NULL || !find_pair(page, pair))
        return NULL;
    for (int side = 0; side < 2; side++)
    {
        const IfmProfileDevice *device = &report->devices[pair[side]];
        names[side] = ifm_result_name(&device->result);
        sides[side] = (IfmAlignedSide){ page->kernels[pair[side]], device->result.measurement, device->nodes };
    }
    return ifm_kernels_align(sides, report->model, report->analysis);
}

static const IfmField aligned_export_fields[] = {
    { "layer", NULL, IFM_FIELD_TEXT, IFM_MEMBER(IfmAlignedRow, name) },
    { "a_ns", NULL, IFM_FIELD_DURATION, get_time, GSIZE_TO_POINTER(0) },
    { "b_ns", NULL, IFM_FIELD_DURATION, get_time, GSIZE_TO_POINTER(1) },
    { "ratio", NULL, IFM_FIELD_REAL, IFM_MEMBER(IfmAlignedRow, ratio) },
    { "ratio_lower", NULL, IFM_FIELD_REAL, IFM_MEMBER(IfmAlignedRow, lower) },
    { "ratio_upper", NULL, IFM_FIELD_REAL, get_upper },
    { "n_rounds", NULL, IFM_FIELD_INTEGER, IFM_MEMBER(IfmAlignedRow, n_rounds) },
    { NULL },
};

json_t *ifm_profile_aligned_to_json(const IfmProfileReport *report)
{
    g_autofree IfmKernels **kernels = g_new0(IfmKernels *, report->n_devices + 1);
    const IfmProfilePage page = { NULL, report, kernels };
    const char *names[2];
    for (gsize i = 0; i < report->n_devices; i++)
        kernels[i] = ifm_profile_kernels(report, &report->devices[i]);
    g_autoptr(GArray) rows = ifm_profile_aligned(&page, names);
    g_autoptr(GPtrArray) records = rows != NULL ? ifm_pointers_to(rows) : NULL;
    json_t *json = rows != NULL ? json_pack("{s:o,s:o,s:o}", "a", ifm_json_string(names[0]), "b", ifm_json_string(names[1]),
                                            "rows", ifm_rows_to_json(aligned_export_fields, records))
                                : json_null();
    for (gsize i = 0; i < report->n_devices; i++)
        ifm_kernels_free(kernels[i]);
    return json;
}

/* How the times came about, and what that took. */
static void say_basis(IfmDocument *document, const IfmProfileReport *report, const GArray *rows)
{
    gsize n_rounds = 0, n = 0;
    double elapsed_ns = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        n_rounds = MAX(n_rounds, g_array_index(rows, IfmAlignedRow, i).n_rounds);
        n += isfinite(g_array_index(rows, IfmAlignedRow, i).lower);
    }
    for (gsize i = 0; i < report->n_devices; i++)
        if (report->devices[i].nodes != NULL)
            elapsed_ns += ifm_member_number(report->devices[i].nodes, "elapsed_ns");
    g_autofree char *took = ifm_say_duration(elapsed_ns), *miss = ifm_say_number((double)n * ldexp(1, 1 - (int)n_rounds));
    if (n_rounds == 0)
        ifm_document_text(document, "kernels are one row where one computes what another does. Times are means of the "
                                    "profiled runs of one process each");
    else
        ifm_document_text(
            document,
            "kernels are one row where one computes what another does. The devices took turns, %zu process%s each, "
            "which took %s in all. The time of a process is the mean of its profiled runs; times are medians over "
            "the processes, and ratios are those of these times",
            n_rounds, n_rounds == 1 ? "" : "es", took);
    if (n > 0)
        ifm_document_span(
            document, IFM_TONE_PLAIN, FALSE,
            "; intervals hold all processes and what the runtimes' clocks may be off by: of %zu about %s miss "
            "the truth by chance",
            n, miss);
}

/* Those that take a share worth a line on either device, or the others, by their difference. (transfer full) borrowed rows
 */
static GPtrArray *rows_of(const GArray *rows, gboolean large)
{
    GPtrArray *found = g_ptr_array_new();
    double total_ns[2] = { 0, 0 };
    for (guint i = 0; i < rows->len; i++)
        for (int side = 0; side < 2; side++)
            total_ns[side] += fmax(g_array_index(rows, IfmAlignedRow, i).time_ns[side], 0);
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmAlignedRow *row = &g_array_index(rows, IfmAlignedRow, i);
        if ((row->time_ns[0] > LEAST_SHARE * total_ns[0] || row->time_ns[1] > LEAST_SHARE * total_ns[1]) == large)
            g_ptr_array_add(found, (gpointer)row);
    }
    g_ptr_array_sort(found, by_difference);
    return found;
}

#define SMALL_ON_PAGE 100 /* layers, of some 400 bytes each */

static void add_aligned(const IfmProfilePage *page)
{
    IfmDocument *document = page->document;
    const char **names = ifm_document_keep(document, g_new0(const char *, 2), g_free);
    GArray *rows = ifm_profile_aligned(page, names);
    if (rows == NULL)
        return;
    ifm_document_keep(document, rows, (GDestroyNotify)g_array_unref);
    g_autofree char *title = ifm_finding_layers(names, rows);
    g_autoptr(GPtrArray) small = rows_of(rows, FALSE);
    ifm_document_part(document);
    ifm_document_detail(document, IFM_DETAIL_FAMILIES, "layers of two devices beside each other");
    g_array_index(ifm_document_text(document, "%s", title)->spans, IfmSpan, 0).strong = TRUE;
    ifm_document_table(document, "aligned", aligned_fields(document, names, TRUE), rows_of(rows, TRUE));
    say_basis(document, page->report, rows);
    add_gains(document, names, rows);
    if (small->len == 0)
        return;
    ifm_document_closed(document, "%u layer%s that take%s at most 1 %% of either's time", small->len,
                        ifm_plural(small->len), small->len == 1 ? "s" : "");
    ifm_document_table(document, "aligned-small", aligned_fields(document, names, FALSE), g_ptr_array_ref(small))
        ->page_rows = SMALL_ON_PAGE;
}

/* --- all of it ----------------------------------------------------------------------------------------------------------
 */

void ifm_profile_add_layers(const IfmProfilePage *page)
{
    IfmDocument *document = page->document;
    const int depth = depth_of(page);
    g_auto(Measured) measured;
    measured_init(&measured, page, depth);
    if (measured.n == 0 || (page->report->parts & IFM_PROFILE_LAYERS) == 0)
        return;
    g_autofree char *answer = add_shares(document, NULL, &measured, 0);
    ifm_document_question(document, "Where does the time go?", "%s.", answer);
    IfmBlock *figure = ifm_document_page_figure(
        document, "shares", IFM_FIGURE_BARS, answer,
        "Share of the kernels' time of each block of the model, in its order; blocks by the names of layers. Those of "
        "less than 1 % are left out.");
    figure->figure.y = ifm_axis("share of the time", IFM_FIELD_RATIO);
    figure->figure.half = TRUE;
    figure->figure.title = ifm_document_take_text(document, add_shares(document, figure, &measured, depth > 0 ? 1 : 0));
    ifm_profile_add_breakdowns(page);
    add_icicle(page, &measured, depth);
    add_aligned(page);
    ifm_document_detail(document, 0, NULL);
}
