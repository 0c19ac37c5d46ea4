/* What stores hold, and what changed between them. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/store.h>
#include <store/trust.h>

#include "study-answers.h"
#include "study-pages.h"
#include "study.h"

/* Held: a store and what it holds. @name: "A: out/monday" where there are several */
typedef struct
{
    char *name, *machines, *runtimes, *kind;
    gint64 n_cases, n_measured, first_ms, last_ms;
    const IfmResult *results; /* [n] */
    gsize n;
    GHashTable *latest; /* identity -> const IfmResult*: the newest measurement of a case */
} Held;

static void held_free(gpointer data)
{
    Held *held = data;
    g_free(held->name);
    g_free(held->machines);
    g_free(held->runtimes);
    g_free(held->kind);
    g_hash_table_unref(held->latest);
    g_free(held);
}

/* What makes a case the same in another store: all but machine, runtime's version and protocol. @device: "": whatever it
 * is. (transfer full) */
static char *identity_of(const IfmCase *one, const char *device)
{
    json_auto_t *options = json_copy(one->options);
    json_object_del(options, "protocol");
    json_auto_t *all = json_pack("[o,o,o,O?,O,O?]", ifm_json_string(one->subject_kind), ifm_json_string(one->subject_name),
                                 ifm_json_string(device), one->sizes, options, one->load);
    return json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
}

static void add_word(GString *list, const char *word)
{
    g_auto(GStrv) words = g_strsplit(list->str, ", ", -1);
    if (word != NULL && *word != '\0' && !g_strv_contains((const char *const *)words, word))
        g_string_append_printf(list, "%s%s", list->len > 0 ? ", " : "", word);
}

/* "AMD EPYC (66bb51)": names alone do not tell two machines of one kind apart. */
static void add_machine(GString *list, const IfmMeasurement *measurement)
{
    const json_t *machine = json_object_get(measurement->environment, "machine");
    const char *cpu = ifm_member_text(machine, "cpu"), *id = ifm_member_text(machine, "id");
    if (id == NULL)
        return;
    g_autofree char *word = g_strdup_printf("%s (%.6s)", cpu != NULL ? cpu : "a machine", id);
    add_word(list, word);
}

static void add_runtime(GString *list, const IfmCase *one)
{
    const char *engine = ifm_member_text(one->environment, "engine"),
               *version = ifm_member_text(one->environment, "engine_version");
    g_autofree char *word = engine != NULL ? g_strdup_printf("%s %s", engine, version != NULL ? version : "") : NULL;
    if (word != NULL)
        add_word(list, g_strchomp(word));
}

static Held *held_new(const IfmStoredResults *stored, const char *name, char *kind)
{
    g_autoptr(GString) machines = g_string_new(NULL), runtimes = g_string_new(NULL);
    Held *held = g_new0(Held, 1);
    held->name = g_strdup(name);
    held->kind = kind;
    held->results = ifm_stored_results(stored, &held->n);
    held->latest = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < held->n; i++) /* in the order of their starts: the newest stays */
    {
        const IfmResult *result = &held->results[i];
        const gint64 started = result->measurement->started_unix_ms;
        add_machine(machines, result->measurement);
        add_runtime(runtimes, result->subject_case);
        held->first_ms = i == 0 ? started : MIN(held->first_ms, started);
        held->last_ms = MAX(held->last_ms, started);
        held->n_measured += ifm_result_measured(result) != NULL;
        if (ifm_result_measured(result) != NULL && result->measurement->has_summary)
            g_hash_table_replace(held->latest, identity_of(result->subject_case, result->subject_case->device),
                                 (gpointer)result);
    }
    held->n_cases = g_hash_table_size(held->latest);
    held->machines = g_string_free(g_steal_pointer(&machines), FALSE);
    held->runtimes = g_string_free(g_steal_pointer(&runtimes), FALSE);
    return held;
}

/* --- overview --------------------------------------------------------------------------------------------------------- */

/* @user: the offset of a gint64, ms since 1970 */
static void get_time(const void *record, const void *user, IfmValue *value)
{
    const gint64 ms = G_STRUCT_MEMBER(gint64, record, GPOINTER_TO_SIZE(user));
    g_autoptr(GDateTime) time = ms > 0 ? g_date_time_new_from_unix_utc(ms / 1000) : NULL;
    if (time != NULL)
        ifm_value_take_text(value, g_date_time_format(time, "%Y-%m-%d %H:%M UTC"));
}

#define HELD(member, ...) IFM_MEMBER(Held, member, ##__VA_ARGS__)
#define HELD_AT(member) IFM_FIELD_AT(Held, member)

static const IfmField held_fields[] = {
    { "store", "store", IFM_FIELD_TEXT, HELD(name), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "study", "study of", IFM_FIELD_TEXT, HELD(kind, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "cases", "cases", IFM_FIELD_INTEGER, HELD(n_cases) },
    { "measurements", "measurements", IFM_FIELD_INTEGER, HELD(n_measured) },
    { "first", "from", IFM_FIELD_TEXT, get_time, HELD_AT(first_ms), IFM_FIELD_HIDE_EMPTY },
    { "last", "to", IFM_FIELD_TEXT, get_time, HELD_AT(last_ms), IFM_FIELD_HIDE_EMPTY },
    { "runtimes", "runtimes", IFM_FIELD_TEXT, HELD(runtimes, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "machines", "machines", IFM_FIELD_TEXT, HELD(machines, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

static void add_overview(IfmDocument *document, const GPtrArray *all)
{
    GPtrArray *rows = g_ptr_array_new();
    g_autoptr(GHashTable) machines = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < all->len; i++)
    {
        const Held *held = all->pdata[i];
        g_ptr_array_add(rows, (gpointer)held);
        if (*held->machines != '\0')
            g_hash_table_add(machines, held->machines);
    }
    ifm_document_title(document, "Stores", NULL);
    ifm_document_table(document, "stores", held_fields, rows);
    if (g_hash_table_size(machines) > 1)
        ifm_document_check(document, IFM_TRUST_CARE,
                           "the stores are of different machines: what differs may be the machine");
    for (guint i = 0; i < all->len; i++)
        if (((const Held *)all->pdata[i])->n == 0 && all->len > 1)
            ifm_document_check(document, IFM_TRUST_CARE, "%s: no measurements", ((const Held *)all->pdata[i])->name);
}

/* --- changes ---------------------------------------------------------------------------------------------------------- */

/* Change: of a case from the first store to another one. */
typedef struct
{
    const IfmResult *a, *b;
    const char *store; /* the other one's name */
    double ratio;      /* of the medians, b / a */
} Change;

static double figure_of(const IfmResult *result, const char *name)
{
    return ifm_summary_figure(&result->measurement->summary, name);
}

/* What names a case, from the columns of results. @user: the field */
static void get_of_case(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get(user, ((const Change *)record)->a, value);
}

/* @user: a figure of a summary */
static void get_of_a(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, figure_of(((const Change *)record)->a, user));
}

static void get_of_b(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, figure_of(((const Change *)record)->b, user));
}

static void get_difference(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const Change *)record)->ratio - 1);
}

/* With the columns that name a case before these. */
static const IfmField change_fields[] = {
    { "store", "in", IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(Change, store), IFM_FIELD_FOLD },
    { "a_median_ns", "A", IFM_FIELD_DURATION, get_of_a, "median" },
    { "a_lower_ns", "", IFM_FIELD_DURATION, get_of_a, "median_interval.lower", IFM_FIELD_NO_SCREEN },
    { "a_upper_ns", "", IFM_FIELD_DURATION, get_of_a, "median_interval.upper", IFM_FIELD_NO_SCREEN },
    { "b_median_ns", "there", IFM_FIELD_DURATION, get_of_b, "median" },
    { "b_lower_ns", "", IFM_FIELD_DURATION, get_of_b, "median_interval.lower", IFM_FIELD_NO_SCREEN },
    { "b_upper_ns", "", IFM_FIELD_DURATION, get_of_b, "median_interval.upper", IFM_FIELD_NO_SCREEN },
    { "change_ratio", "change", IFM_FIELD_RATIO, get_difference },
    { NULL },
};

static const GArray *fields_of(IfmDocument *document)
{
    static const char *const names[] = { "subject", "device", "sizes", "dtype" };
    GArray *fields = ifm_document_keep(document, g_array_new(TRUE, TRUE, sizeof(IfmField)), (GDestroyNotify)g_array_unref);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        for (const IfmField *field = ifm_record_fields; field->key != NULL; field++)
            if (g_str_equal(field->key, names[i]))
            {
                IfmField one = *field;
                one.get = get_of_case;
                one.user = field;
                one.flags |= IFM_FIELD_WHOLE;
                g_array_append_val(fields, one);
            }
    g_array_append_vals(fields, change_fields, G_N_ELEMENTS(change_fields) - 1);
    return fields;
}

/* The largest first. */
static gint compare_changes(gconstpointer a, gconstpointer b)
{
    const double of_a = fabs(log(((const Change *)a)->ratio)), of_b = fabs(log(((const Change *)b)->ratio));
    return (of_a < of_b) - (of_a > of_b);
}

/* (transfer full) Change */
static GArray *changes_of(const GPtrArray *all)
{
    const Held *first = all->pdata[0];
    GArray *changes = g_array_new(FALSE, FALSE, sizeof(Change));
    for (guint i = 1; i < all->len; i++)
    {
        const Held *other = all->pdata[i];
        GHashTableIter iter;
        gpointer identity, result;
        g_hash_table_iter_init(&iter, other->latest);
        while (g_hash_table_iter_next(&iter, &identity, &result))
        {
            const IfmResult *before = g_hash_table_lookup(first->latest, identity);
            const double ratio = before != NULL ? figure_of(result, "median") / figure_of(before, "median") : (double)NAN;
            const Change change = { before, result, other->name, ratio };
            if (ratio > 0 && isfinite(ratio))
                g_array_append_val(changes, change);
        }
    }
    g_array_sort(changes, compare_changes);
    return changes;
}

#define MOST_CHANGES 40 /* rows of the figure, the largest */

/* Whether the intervals of the two are apart: what one process each can say. */
static gboolean is_apart(const Change *change)
{
    return figure_of(change->b, "median_interval.lower") > figure_of(change->a, "median_interval.upper") ||
           figure_of(change->b, "median_interval.upper") < figure_of(change->a, "median_interval.lower");
}

char *ifm_changes_title(gsize n, gsize n_longer, gsize n_shorter, const char *most, double ratio)
{
    g_autofree char *times = ifm_say_number(ratio);
    if (n_longer + n_shorter == 0)
        return g_strdup_printf("No interval of %zu case%s is apart from that in A", n, ifm_plural(n));
    return g_strdup_printf(
        "Of %zu cases %zu took longer than in A beyond both intervals, %zu shorter; most of all %s, %s times as long", n,
        n_longer, n_shorter, most, times);
}

/* The one over the other, on one axis of ratios; relative half-widths add up as independent errors do. */
static IfmPoint ratio_point(const Change *change)
{
    const double a = figure_of(change->a, "median"), b = figure_of(change->b, "median"),
                 below = hypot(log(b / figure_of(change->b, "median_interval.lower")),
                               log(figure_of(change->a, "median_interval.upper") / a)),
                 above = hypot(log(figure_of(change->b, "median_interval.upper") / b),
                               log(a / figure_of(change->a, "median_interval.lower")));
    IfmPoint point = IFM_POINT_INIT;
    point.y = change->ratio;
    point.lower = change->ratio * exp(-below);
    point.upper = change->ratio * exp(above);
    point.mark = is_apart(change) ? IFM_MARK_NONE : IFM_MARK_ROUGH;
    return point;
}

/* @with_device: where not all are of one. (transfer full) */
static char *case_name(const Change *change, gboolean with_device)
{
    const IfmCase *one = change->a->subject_case;
    GString *text = g_string_new(one->subject_name);
    const char *name, *before = " ";
    json_t *size;
    json_object_foreach(one->sizes, name, size)
    {
        g_string_append_printf(text, "%s%s %" JSON_INTEGER_FORMAT, before, name, json_integer_value(size));
        before = ", ";
    }
    if (with_device)
        g_string_append_printf(text, " on %s", one->device);
    return g_string_free(text, FALSE);
}

static void add_ratios(IfmDocument *document, const GArray *changes)
{
    gsize n_longer = 0, n_shorter = 0;
    const Change *most = NULL, *first = &g_array_index(changes, Change, 0);
    gboolean devices = FALSE;
    for (guint i = 0; i < changes->len; i++)
        devices |= !g_str_equal(g_array_index(changes, Change, i).a->subject_case->device, first->a->subject_case->device);
    IfmBlock *block = ifm_document_page_figure(
        document, "changes_ratio", IFM_FIGURE_STRIPS, "",
        "Median there over that in A, the largest changes first; bars: from the 95 % intervals of one process each.");
    block->figure.y = ifm_axis_of_ratio("times as long as in A", TRUE, "unchanged");
    for (guint i = 0; i < changes->len; i++)
    {
        const Change *change = &g_array_index(changes, Change, i);
        const gboolean apart = is_apart(change);
        n_longer += apart && change->ratio > 1;
        n_shorter += apart && change->ratio < 1;
        most = most == NULL && apart ? change : most;
        if (i >= MOST_CHANGES)
            continue;
        g_autofree char *label = case_name(change, devices);
        IfmPoint point = ratio_point(change);
        point.label = label;
        ifm_document_point(document, ifm_document_series_named(document, block, change->store), &point);
    }
    g_autofree char *name = most != NULL ? case_name(most, devices) : NULL,
                    *title = ifm_changes_title(changes->len, n_longer, n_shorter, name, most != NULL ? most->ratio : NAN);
    block->figure.title = ifm_document_keep_text(document, title);
    if (changes->len > MOST_CHANGES)
        block->figure.caption = ifm_document_take_text(
            document, g_strdup_printf("%d of %u cases; the table has all.", MOST_CHANGES, changes->len));
}

/* The median ratio of all cases, with its interval: only that is compared, for a single case has one process on each side.
 */
static IfmInterval median_of(const GArray *changes, double *median)
{
    IfmInterval interval = { NAN, NAN, 0.95 };
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < changes->len; i++)
        g_array_append_val(ratios, g_array_index(changes, Change, i).ratio);
    double *sorted = (double *)(void *)ratios->data;
    ifm_sort_doubles(sorted, ratios->len);
    *median = ifm_quantile(sorted, ratios->len, 0.5);
    ifm_quantile_interval(sorted, ratios->len, (double)ratios->len, 0.5, 0.95, &interval);
    return interval;
}

/* "B" where all changes are of that store. (transfer none) */
static const char *other_of(const GArray *changes)
{
    const char *name = g_array_index(changes, Change, 0).store;
    gboolean one = g_str_has_prefix(name, "B:");
    for (guint i = 1; i < changes->len; i++)
        one = one && g_str_equal(g_array_index(changes, Change, i).store, name);
    return one ? "B" : "the other stores";
}

/* What was simulated in either store. */
static void check_simulated(IfmDocument *document, const GArray *changes)
{
    for (guint i = 0; i < changes->len; i++)
    {
        const char *device = g_array_index(changes, Change, i).a->subject_case->device;
        if (g_str_has_prefix(device, "simulated:") && strchr(device, '>') == NULL) /* no link */
            ifm_document_check_of(document, IFM_TRUST_CARE, device, "the figures",
                                  "come from a description, not from a device");
    }
}

/* @n_apart: cases whose own intervals are apart */
static void say_median(IfmDocument *document, const GArray *changes, gsize n_apart)
{
    double ratio;
    const IfmInterval interval = median_of(changes, &ratio);
    g_autofree char *times = ifm_say_number(ratio), *range = ifm_say_numbers(interval.lower, interval.upper);
    if (!isfinite(interval.lower))
        ifm_document_verdict(document, "%u case%s in A and %s: too few to say what changed", changes->len,
                             changes->len == 1 ? " is" : "s are", other_of(changes));
    else if (interval.lower <= 1 && interval.upper >= 1)
        ifm_document_verdict(document,
                             n_apart > 0 ? "The median of %u cases is not told apart between A and %s"
                                         : "None of %u cases is told apart between A and %s, nor is their median",
                             changes->len, other_of(changes));
    else
        ifm_document_verdict(document, "The median case of %u takes %s times the time that it took in A", changes->len,
                             times);
    if (!isfinite(interval.lower))
        return;
    ifm_document_estimate(document, &(IfmVerdictRange){ ratio, interval.lower, interval.upper, 1, TRUE, IFM_FIELD_REAL,
                                                        "unchanged", "less time than in A", "more time than in A" });
    ifm_document_check(document, IFM_TRUST_GOOD, "the median ratio is %s with 95" IFM_NO_BREAK "%% confidence", range);
}

/* What changed: gains and losses apart, each with its sum, of cases whose own intervals do not overlap. */
static void say_changes(IfmDocument *document, const GArray *changes)
{
    gsize n_less = 0, n_more = 0;
    double less_ns = 0, more_ns = 0;
    const Change *most = NULL;
    if (changes->len == 0)
    {
        ifm_document_verdict(document, "The stores have no case in common");
        ifm_document_check(document, IFM_TRUST_CARE, "no case is in A and in another store: nothing was compared");
        return;
    }
    for (guint i = 0; i < changes->len; i++)
    {
        const Change *change = &g_array_index(changes, Change, i);
        const double difference_ns = figure_of(change->b, "median") - figure_of(change->a, "median");
        if (!is_apart(change))
            continue;
        most = most != NULL ? most : change;
        n_less += difference_ns < 0;
        n_more += difference_ns > 0;
        less_ns += fmin(difference_ns, 0);
        more_ns += fmax(difference_ns, 0);
    }
    g_autofree char *less = ifm_say_difference(less_ns), *more = ifm_say_difference(more_ns);
    say_median(document, changes, n_less + n_more);
    check_simulated(document, changes);
    if (most == NULL)
        ifm_document_verdict_more(document, "In each case the two intervals overlap");
    else
        ifm_document_verdict_more(document,
                                  "%zu took less, %s together, and %zu more, %s; of the others the intervals overlap",
                                  n_less, less, n_more, more);
    ifm_document_check(document, IFM_TRUST_CARE,
                       "one process of each case at another time: from day to day a machine differs by more than its "
                       "intervals hold");
    if (most == NULL)
    {
        ifm_document_next(document, NULL, NULL, "Measure them again on another day: what changes twice is a change");
        return;
    }
    const IfmCase *one = most->a->subject_case;
    g_autofree char *times = ifm_say_number(most->ratio),
                    *command = g_strcmp0(one->subject_kind, "model") == 0
                                   ? ifm_say_command("profile", one->subject_name, "-d", one->device, NULL)
                                   : NULL;
    ifm_document_next(document, command, NULL, "Measure again what changed most, %s on %s, %s times", one->subject_name,
                      one->device, times);
}

static void add_changes(IfmDocument *document, const GPtrArray *all)
{
    GArray *changes = changes_of(all);
    say_changes(document, changes);
    const char *detail = document->summary->detail;
    ifm_document_question(document, "What changed?", detail != NULL ? "%s." : NULL, detail)->title = "What changed";
    if (changes->len == 0)
    {
        g_array_unref(changes);
        return;
    }
    add_ratios(document, changes);
    ifm_document_part(document);
    ifm_document_rows(document, "changes", ifm_fields_in(fields_of(document)), changes);
}

/* --- what one store holds --------------------------------------------------------------------------------------------- */

/* Best: of cases that differ in their device alone, the one with the least time, and whether that is sure. */
typedef struct
{
    const IfmResult *result;
    gboolean is_apart;
    guint n;
} Best;

/* (transfer full) identity -> Best */
static GHashTable *best_of(const Held *held)
{
    GHashTable *all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter iter;
    gpointer result;
    g_hash_table_iter_init(&iter, held->latest);
    while (g_hash_table_iter_next(&iter, NULL, &result))
    {
        char *identity = identity_of(((const IfmResult *)result)->subject_case, "");
        Best *best = g_hash_table_lookup(all, identity);
        if (best == NULL)
        {
            best = g_new0(Best, 1);
            *best = (Best){ result, TRUE, 1 };
            g_hash_table_insert(all, identity, best);
            continue;
        }
        g_free(identity);
        const IfmResult *less = figure_of(result, "median") < figure_of(best->result, "median") ? result : best->result,
                        *more = less == result ? best->result : result;
        const gboolean is_apart = figure_of(less, "median_interval.upper") < figure_of(more, "median_interval.lower");
        *best = (Best){ less, is_apart && (less == result || best->is_apart), best->n + 1 };
    }
    return all;
}

/* Which device is the lowest most often, where cases were measured on several. */
static void say_held(IfmDocument *document, const Held *held)
{
    g_autoptr(GHashTable) all = best_of(held), wins = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) results = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;
    const char *most = NULL;
    gsize n_most = 0, n_rivals = 0;
    g_hash_table_iter_init(&iter, all);
    while (g_hash_table_iter_next(&iter, NULL, &value))
    {
        const Best *best = value;
        const char *device = best->result->subject_case->device;
        const gsize n = GPOINTER_TO_SIZE(g_hash_table_lookup(wins, device)) + 1;
        n_rivals += best->n > 1;
        if (best->n < 2 || !best->is_apart)
            continue;
        g_hash_table_insert(wins, (gpointer)device, GSIZE_TO_POINTER(n));
        most = n > n_most ? device : most;
        n_most = MAX(n, n_most);
    }
    ifm_document_subject(document, "%s · %" G_GINT64_FORMAT " measurement%s, %" G_GINT64_FORMAT " case%s", held->name,
                         held->n_measured, ifm_plural(held->n_measured), held->n_cases, ifm_plural(held->n_cases));
    if (held->n_measured == 0)
        ifm_document_verdict(document, "Nothing was measured");
    else if (n_rivals == 0)
        ifm_document_verdict(document, "%" G_GINT64_FORMAT " case%s measured, none on several devices", held->n_cases,
                             held->n_cases == 1 ? " was" : "s were");
    else if (most == NULL)
        ifm_document_verdict(document, "No device is told apart in any of %zu cases", n_rivals);
    else
        ifm_document_verdict(document, "%s takes the least time in %zu of %zu cases on several devices", most, n_most,
                             n_rivals);
    if (n_rivals > 0)
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "one process of each: rounds of fresh processes tell more");
    for (gsize i = 0; i < held->n; i++)
        g_ptr_array_add(results, (gpointer)&held->results[i]);
    ifm_document_trust_all(document, results, "case");
    ifm_document_next(document, NULL, NULL, "Measure again on another day what you act on");
}

static IfmDocument *held_document(const Held *held)
{
    IfmDocument *document = ifm_document_new("measurements", held->name);
    GPtrArray *rows = g_ptr_array_new();
    for (gsize i = 0; i < held->n; i++)
        g_ptr_array_add(rows, (gpointer)&held->results[i]);
    say_held(document, held);
    ifm_document_title(document, held->name, NULL);
    ifm_document_table(document, "measurements", ifm_record_fields, rows);
    ifm_document_reasons(document, held->results, held->n);
    return document;
}

/* (transfer full) of its study where it holds one; NULL with an error where that is not whole */
static IfmDocument *document_of(const Held *held, IfmStore *store, GError **error)
{
    if (held->kind == NULL)
        return held_document(held);
    IfmStudyResults *results = ifm_study_results(NULL, store, error);
    if (results == NULL)
        return NULL;
    IfmDocument *document = ifm_study_results_document(results, IFM_STUDY_REPORT, NULL);
    ifm_document_keep(document, results, (GDestroyNotify)ifm_study_results_free);
    return document;
}

GPtrArray *ifm_stores_documents(const IfmReportedStore *stores, gsize n, GError **error)
{
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_document_free);
    IfmDocument *overview = ifm_document_new("stores", "Stores");
    GPtrArray *all =
        ifm_document_keep(overview, g_ptr_array_new_with_free_func(held_free), (GDestroyNotify)g_ptr_array_unref);
    g_ptr_array_add(documents, overview);
    for (gsize i = 0; i < n; i++)
    {
        IfmStoredResults *stored =
            ifm_document_keep(overview, ifm_stored_results_new(FALSE), (GDestroyNotify)ifm_stored_results_free);
        g_autofree char *name =
            n > 1 && i < 26 ? g_strdup_printf("%c: %s", 'A' + (int)i, stores[i].name) : g_strdup(stores[i].name);
        if (!ifm_stored_results_add(stored, stores[i].store, error))
            return NULL;
        Held *held = held_new(stored, name, ifm_study_store_kind(stores[i].store, NULL));
        g_ptr_array_add(all, held);
        IfmDocument *own = document_of(held, stores[i].store, error);
        if (own == NULL)
            return NULL;
        g_ptr_array_add(documents, own);
    }
    add_overview(overview, all);
    if (n > 1)
        add_changes(overview, all);
    else if (n == 1) /* there is nothing else to say of it */
        overview->summary = g_steal_pointer(&((IfmDocument *)documents->pdata[1])->summary);
    return g_steal_pointer(&documents);
}
