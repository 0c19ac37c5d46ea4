#include <math.h>
#include <string.h>

#include "profile-private.h"

/* What is inside of a device's time: its layers, what would gain most, the kinds of layers, the books of a profiled run. */

#define MOST_LAYER_FIELDS 32
#define WIDE 120
#define SLOWDOWN_SMALL 1.05 /* profiled runs up to this many times as long tell the nodes' times well enough */
#define RESIDUAL_SMALL 0.02 /* of the wall time; more is explained */
#define GAIN_SMALL 0.02     /* of the nodes' time; less is not worth a line */
#define MOST_GAINS 3
#define ABOVE_LIMIT 1.05 /* a share of the limit that measuring alone does not explain */

/* --- layers ---------------------------------------------------------------------------------------------------------- */

/* A runtime that tells but sums over all runs gives means. */
static gboolean are_means(const json_t *books)
{
    const char *of = ifm_member_text(books, "of");
    return of != NULL && strstr(of, "mean") != NULL;
}

/* The table's columns; where the runtime gives means, that is what the column says. On a narrow screen without the
 * implementation, which would need a table of its own: exports have it. @fields: (out) */
static void layer_fields(IfmField fields[MOST_LAYER_FIELDS], gboolean means, int width)
{
    gsize n = 0;
    for (const IfmField *field = ifm_layer_fields; field->key != NULL; field++)
    {
        if (width < WIDE && g_str_equal(field->key, "implementation"))
            continue;
        g_assert(n + 1 < MOST_LAYER_FIELDS);
        fields[n] = *field;
        if (means && g_str_equal(field->key, "median_ns"))
            fields[n].title = "mean";
        n++;
    }
    fields[n] = (IfmField){ NULL };
}

/* The slowest layers, and one row for all the others together. */
static void append_layers(GString *out, const IfmLayers *layers, gboolean means, gsize most, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    gsize shown = layers->rows->len <= most + 1 ? layers->rows->len : most;
    g_autofree char *others_name = g_strdup_printf("(%u others)", layers->rows->len - (guint)shown);
    IfmNodeRow others_row = { .name = others_name, .start_ns = NAN };
    IfmLayer others = { .node = &others_row, .place = { IFM_BOUND_NEITHER, NAN, NAN, NAN, NAN } };
    for (guint i = 0; i < layers->rows->len; i++)
    {
        IfmLayer *layer = layers->rows->pdata[i];
        if (i < shown)
        {
            g_ptr_array_add(records, layer);
            continue;
        }
        others_row.median_ns += layer->node->median_ns;
        others.share_ratio += layer->share_ratio;
    }
    if (shown < layers->rows->len)
        g_ptr_array_add(records, &others);
    IfmField fields[MOST_LAYER_FIELDS];
    layer_fields(fields, means, screen->width);
    ifm_page_table(out, fields, records, screen);
}

/* What the rows are, and what their shares are shares of. */
static void append_layers_head(GString *out, const IfmMeasurement *measurement, const IfmLayers *layers)
{
    g_autofree char *total = ifm_joined_duration(layers->nodes_ns);
    const char *figure = are_means(measurement->books) ? "mean" : "median";
    g_string_append_printf(out, "layers by %s", figure);
    if (measurement->profiled_ns->len > 0)
        g_string_append_printf(out, " of %u profiled runs", measurement->profiled_ns->len);
    double each_ns = ifm_member_number(measurement->books, "resolution_ns");
    if (each_ns > 0) /* neither NaN nor a clock without steps */
    {
        g_autofree char *each = ifm_joined_duration(each_ns);
        g_string_append_printf(out, ", each to within %s", each);
    }
    g_string_append_printf(out, ", as shares of the %ss' sum (%s)", figure, total);
}

/* A runtime that tells its own graph usually, and did not of this model. */
static void append_why_names(GString *out, const IfmLayers *layers, const IfmScreen *screen)
{
    if (layers->why_names == NULL)
        return;
    g_autofree char *clean = ifm_format_spelt(layers->why_names, screen->utf8);
    g_autofree char *text =
        g_strdup_printf("layers' work by the names of nodes, not by the runtime's own graph: %s", clean);
    ifm_format_wrap(out, text, 2, 0, screen->width);
}

/* What of the rows, and of the model, could not be brought together. */
static void append_remainder(GString *out, const IfmLayers *layers, const IfmScreen *screen)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (layers->told_by == NULL)
        return;
    g_autofree char *time = ifm_format_ratio(layers->unknown_ratio);
    if (layers->n_unknown > 0)
        g_string_append_printf(text,
                               "-: %" G_GSIZE_FORMAT " layer%s, %s of the time, of which no work of the model's is known",
                               layers->n_unknown, layers->n_unknown == 1 ? "" : "s", time);
    if (layers->n_marshalling > 0 && layers->n_marshalling == layers->n_unknown)
        g_string_append(text, ": data moved for the runtime's sake");
    else if (layers->n_marshalling > 0)
        g_string_append_printf(text, "; %" G_GSIZE_FORMAT " of these move data for the runtime's sake",
                               layers->n_marshalling);
    if (layers->n_model_missing > 0)
    {
        g_autofree char *flop = ifm_format_ratio(layers->missing_ratio);
        g_string_append_printf(text, "%s%" G_GSIZE_FORMAT " node%s of the model, %s of its FLOPs, found in no layer by %s",
                               text->len > 0 ? "; " : "", layers->n_model_missing, layers->n_model_missing == 1 ? "" : "s",
                               flop, layers->told_by);
    }
    if (layers->n_at_most > 0)
        g_string_append_printf(text,
                               "%sof %" G_GSIZE_FORMAT
                               " layer%s only what %s at most do is known, since nobody knows which "
                               "branch runs: no GFLOP/s and no share of the limit follows",
                               text->len > 0 ? "; " : "", layers->n_at_most, layers->n_at_most == 1 ? "" : "s",
                               layers->n_at_most == 1 ? "it can" : "they can");
    if (text->len > 0)
        ifm_format_wrap(out, text->str, 2, 0, screen->width);
    append_why_names(out, layers, screen);
}

/* --- what would gain most ------------------------------------------------------------------------------------------------
 */

static gint compare_gains(gconstpointer a, gconstpointer b)
{
    double x = (*(const IfmLayerFamily *const *)a)->excess_ns, y = (*(const IfmLayerFamily *const *)b)->excess_ns;
    return (x < y) - (x > y);
}

static void append_gain(GString *out, const char *what, double share, double attained, double gain_ns, gboolean first,
                        const IfmScreen *screen)
{
    g_autofree char *time = ifm_format_ratio(share), *of_limit = ifm_format_ratio(attained);
    g_autofree char *gain = ifm_joined_duration(gain_ns);
    g_autofree char *at = isfinite(attained) ? g_strdup_printf(" at %s of the limit", of_limit) : g_strdup("");
    g_autofree char *line =
        g_strdup_printf("%s%s: %s of the time%s: up to %s", first ? "what would gain most: " : "  ", what, time, at, gain);
    g_autofree char *spelt = ifm_format_spelt(line, TRUE);
    ifm_format_wrap(out, spelt, 4, 0, screen->width);
}

static const IfmLayer *layer_of_most_gain(const IfmLayers *layers)
{
    const IfmLayer *best = NULL;
    for (guint i = 0; i < layers->rows->len; i++)
    {
        const IfmLayer *layer = layers->rows->pdata[i];
        if (isfinite(layer->place.excess_ns) && (best == NULL || layer->place.excess_ns > best->place.excess_ns))
            best = layer;
    }
    return best;
}

/* By families, then the one layer with most above its limit. */
static void append_gains(GString *out, const IfmLayers *layers, const GArray *families, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    double least_ns = GAIN_SMALL * layers->nodes_ns;
    for (guint i = 0; i < families->len; i++)
    {
        IfmLayerFamily *family = &g_array_index(families, IfmLayerFamily, i);
        if (family->excess_ns >= least_ns)
            g_ptr_array_add(order, family);
    }
    g_ptr_array_sort(order, compare_gains);
    for (guint i = 0; i < order->len && i < MOST_GAINS; i++)
    {
        const IfmLayerFamily *family = order->pdata[i];
        append_gain(out, family->name, family->share_ratio, family->attained, family->excess_ns, i == 0, screen);
    }
    const IfmLayer *layer = layer_of_most_gain(layers);
    if (layer == NULL || layer->place.excess_ns < least_ns || layers->rows->len < 2)
        return;
    g_autofree char *clean = ifm_format_spelt(layer->label != NULL ? layer->label : layer->node->name, screen->utf8);
    g_autofree char *what = g_strdup_printf("in one layer, %s", clean);
    append_gain(out, what, layer->share_ratio, layer->place.attained, layer->place.excess_ns, order->len == 0, screen);
}

static void append_above_limit(GString *out, const IfmLayers *layers, const IfmScreen *screen)
{
    gsize n = 0;
    for (guint i = 0; i < layers->rows->len; i++)
        n += ((const IfmLayer *)layers->rows->pdata[i])->place.attained > ABOVE_LIMIT;
    if (n == 0)
        return;
    g_autofree char *text =
        g_strdup_printf("above 100 %% of the limit (%" G_GSIZE_FORMAT " of the layers): caches held what "
                        "their bytes count, or their algorithm does with fewer operations than are counted",
                        n);
    ifm_format_wrap(out, text, 2, 0, screen->width);
}

static void append_families(GString *out, const GArray *families, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    for (guint i = 0; i < families->len; i++)
        g_ptr_array_add(records, &g_array_index(families, IfmLayerFamily, i));
    if (records->len < 2) /* the table above says it all */
        return;
    g_string_append_c(out, '\n');
    ifm_page_table(out, ifm_layer_family_fields, records, screen);
}

/* --- the books ------------------------------------------------------------------------------------------------------- */

char *ifm_joined_duration(double ns)
{
    g_autofree char *text = ifm_format_duration(ns);
    g_auto(GStrv) parts = g_strsplit(text, " ", -1);
    return g_strjoinv(IFM_NO_BREAK, parts);
}

/* One term of the books: " + gaps 12.3 us"; nothing where the runtime does not tell it. */
static void append_term(GString *out, const char *sign, const char *name, double ns)
{
    if (!isfinite(ns))
        return;
    g_autofree char *text = ifm_joined_duration(ns);
    g_string_append_printf(out, " %s" IFM_NO_BREAK "%s %s", sign, name, text);
}

/* Profiling's cost is paid at each node, so it spoils the times of short nodes most, and with them the shares. */
static const char *what_slowdown_means(double lower, double upper)
{
    if (!isfinite(lower) || !isfinite(upper))
        return ": how sure that is cannot be told";
    if (upper <= SLOWDOWN_SMALL)
        return "";
    return lower > SLOWDOWN_SMALL ? ": the layers' times hold the cost of profiling too, short layers most of all"
                                  : ": too unsure to say what profiling costs";
}

static void append_slowdown(GString *out, const json_t *books, double slowdown, const IfmScreen *screen)
{
    double lower = ifm_member_number(books, "slowdown.lower"), upper = ifm_member_number(books, "slowdown.upper");
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "profiled runs took %.2f", slowdown);
    if (isfinite(lower) && isfinite(upper))
        g_string_append_printf(text, " (%.2f to %.2f)", lower, upper);
    g_string_append_printf(text, " times as long%s", what_slowdown_means(lower, upper));
    ifm_format_wrap(out, text->str, 2, 0, screen->width);
}

/* What the sums are of: they are no sums of the medians above. */
static void append_books_of(GString *out, const json_t *books)
{
    double n_runs = ifm_member_number(books, "n_runs");
    if (are_means(books) && isfinite(n_runs))
        g_string_append_printf(out, "books, mean of %.0f profiled runs:", n_runs);
    else if (isfinite(n_runs) && n_runs > 1)
        g_string_append_printf(out, "books of one run, the middle one of %.0f by wall time:", n_runs);
    else
        g_string_append(out, "books of one run:");
}

static void append_cause(GString *out, const char *what, double ns)
{
    if (!(ns > 0))
        return;
    g_autofree char *text = ifm_joined_duration(ns);
    g_string_append_printf(out, "%s%s up to %s", out->len > 0 ? ", " : "", what, text);
}

/* Why a residual is more than a fiftieth of the wall time, as far as the books know. */
static void append_why(GString *out, const json_t *books, double residual_ns, double wall_ns, const IfmScreen *screen)
{
    if (!(fabs(residual_ns) > RESIDUAL_SMALL * wall_ns))
        return;
    g_autoptr(GString) causes = g_string_new(NULL);
    append_cause(causes, "a call beside its nodes takes", ifm_member_number(books, "call_bound_ns"));
    append_cause(causes, "times cut to whole steps lose", ifm_member_number(books, "resolution_bound_ns"));
    append_cause(causes, "gaps, which this runtime does not tell, take", ifm_member_number(books, "gaps_bound_ns"));
    append_cause(causes, "its thread waited for a processor that others used", ifm_member_number(books, "waited_ns"));
    gboolean within = json_is_true(json_object_get(books, "within_bound"));
    g_autofree char *text =
        causes->len > 0 ? g_strdup_printf("the residual is over 2 %%: %s, as measured on this device%s", causes->str,
                                          within ? "" : "; that does not explain all of it")
                        : g_strdup("the residual is over 2 %, and nothing that is measured of this device explains it");
    ifm_format_wrap(out, text, 2, 0, screen->width);
}

static void append_residual(GString *text, const json_t *books, double wall_ns, const IfmScreen *screen)
{
    double residual_ns = ifm_member_number(books, "residual_ns"), bound_ns = ifm_member_number(books, "residual_bound_ns");
    append_term(text, residual_ns < 0 ? "-" : "+", "residual", fabs(residual_ns));
    if (!isfinite(residual_ns))
        return;
    g_autofree char *share = ifm_format_ratio(fabs(residual_ns) / wall_ns);
    g_string_append_printf(text, " (%s", share);
    const char *why = ifm_member_text(books, "why");
    if (why != NULL) /* a bound that bounds nothing is none */
    {
        g_autofree char *spelt = ifm_format_spelt(why, screen->utf8);
        g_string_append_printf(text, ": %s", spelt);
    }
    else if (isfinite(bound_ns))
    {
        g_autofree char *bound = ifm_joined_duration(bound_ns);
        gboolean within = fabs(residual_ns) <= bound_ns;
        IfmTone tone = within ? IFM_TONE_GOOD : IFM_TONE_WARN;
        g_string_append_printf(text, ", %s%s its bound of %s%s", ifm_tone_begin(screen, tone), within ? "within" : "beyond",
                               bound, ifm_tone_end(screen, tone));
    }
    g_string_append_c(text, ')');
}

static void append_books(GString *out, const json_t *books, const IfmScreen *screen)
{
    double overlap_ns = ifm_member_number(books, "overlap_ns"), wall_ns = ifm_member_number(books, "wall_ns");
    double slowdown = ifm_member_number(books, "slowdown.ratio");
    g_autofree char *wall = ifm_joined_duration(wall_ns);
    g_autoptr(GString) text = g_string_new(NULL);
    append_books_of(text, books);
    g_string_append_printf(text, " wall %s", wall);
    append_term(text, "=", "nodes", ifm_member_number(books, "nodes_ns"));
    append_term(text, "+", "gaps", ifm_member_number(books, "gaps_ns"));
    append_term(text, "+", "copies", ifm_member_number(books, "copies_ns"));
    if (overlap_ns > 0)
        append_term(text, "-", "overlap", overlap_ns);
    append_residual(text, books, wall_ns, screen);
    ifm_format_wrap(out, text->str, 2, 0, screen->width);
    append_why(out, books, ifm_member_number(books, "residual_ns"), wall_ns, screen);
    if (isfinite(slowdown))
        append_slowdown(out, books, slowdown, screen);
}

/* --- all of it ------------------------------------------------------------------------------------------------------- */

static void append_all_layers(GString *out, const IfmProfileStory *story, const IfmProfileDevice *device,
                              const IfmLayers *layers, const IfmScreen *screen)
{
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    g_autoptr(GArray) families = ifm_layers_families(layers);
    append_layers(out, layers, are_means(measurement->books), story->n_layers, screen);
    append_remainder(out, layers, screen);
    append_above_limit(out, layers, screen);
    append_gains(out, layers, families, screen);
    append_families(out, families, screen);
    ifm_profile_parts_table(out, story, device, screen);
}

void ifm_profile_inside(GString *out, const IfmProfileStory *story, const IfmProfileDevice *device, const IfmScreen *screen)
{
    const IfmMeasurement *measurement = ifm_result_measured(&device->result);
    if (measurement == NULL || (story->parts & IFM_PROFILE_LAYERS) == 0)
        return;
    g_autoptr(IfmLayers) layers = story->n_layers > 0 ? ifm_profile_layers(story, device) : NULL;
    const char *why = ifm_member_text(measurement->books, "why");
    gboolean has_books = isfinite(ifm_member_number(measurement->books, "wall_ns"));
    if (!has_books && layers == NULL && why == NULL)
        return;
    g_autoptr(GString) head = g_string_new(ifm_bold_begin(screen));
    ifm_page_spelt(head, ifm_result_name(&device->result), screen);
    g_string_append_printf(head, ":%s ", ifm_bold_end(screen));
    if (layers != NULL)
        append_layers_head(head, measurement, layers);
    else if (!has_books)
    {
        g_string_append(head, "nothing of its layers: ");
        ifm_page_spelt(head, why, screen);
    }
    g_string_append_c(out, '\n');
    if (layers != NULL || !has_books)
        ifm_format_wrap(out, head->str, 2, 0, screen->width);
    else
        g_string_append(out, head->str);
    if (layers != NULL)
        append_all_layers(out, story, device, layers, screen);
    if (has_books && layers != NULL)
        g_string_append_c(out, '\n');
    if (has_books)
        append_books(out, measurement->books, screen);
    else if (layers != NULL && why != NULL)
        ifm_page_told(out, "no books", IFM_TONE_PLAIN, why, screen);
}
