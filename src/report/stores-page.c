/* What stores hold, and what changed between them. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <store/store.h>
#include <study/study.h>

#include "report-private.h"

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

/* What makes a case the same in another store: all but machine, runtime's version and protocol. (transfer full) */
static char *identity_of(const IfmCase *one)
{
    json_auto_t *options = json_copy(one->options);
    json_object_del(options, "protocol");
    json_auto_t *all = json_pack("[o,o,o,O?,O,O?]", ifm_json_string(one->subject_kind), ifm_json_string(one->subject_name),
                                 ifm_json_string(one->device), one->sizes, options, one->load);
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
            g_hash_table_replace(held->latest, identity_of(result->subject_case), (gpointer)result);
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
        ifm_document_warning(document, "the stores are of different machines: what differs may be the machine");
    for (guint i = 0; i < all->len; i++)
        if (((const Held *)all->pdata[i])->n == 0)
            ifm_document_note(document, ((const Held *)all->pdata[i])->name, IFM_TONE_WARN, "no measurements");
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

/* Each case that both have, the one over the other. */
static void add_scatter(IfmDocument *document, const GArray *changes)
{
    IfmBlock *block = ifm_document_predicted(document, "changes_scatter", "Medians there over those of A");
    block->no_screen = TRUE; /* which shows the table */
    block->figure.sentence = "Below the diagonal a case took less than in A; bars are 95 % intervals of one process each.";
    block->figure.x.title = "A";
    block->figure.y.title = "there";
    for (guint i = 0; i < changes->len; i++)
    {
        const Change *change = &g_array_index(changes, Change, i);
        g_autofree char *label =
            g_strdup_printf("%s, %s", change->a->subject_case->subject_name, change->a->subject_case->device);
        IfmPoint point = IFM_POINT_INIT;
        point.x = figure_of(change->a, "median");
        point.y = figure_of(change->b, "median");
        point.lower = figure_of(change->b, "median_interval.lower");
        point.upper = figure_of(change->b, "median_interval.upper");
        point.label = label;
        ifm_document_predicted_point(document, block, change->store, &point);
    }
    ifm_document_diagonal(document, block, "unchanged");
}

static void add_changes(IfmDocument *document, const GPtrArray *all)
{
    GArray *changes = changes_of(all);
    ifm_document_heading(document, "What changed");
    ifm_document_text(document,
                      "%u case%s that A and another store have, each measured in one process at another time: that is not "
                      "compared, and who is faster does not follow. An interval holds what varied within one measurement; "
                      "from day to day and from process to process a machine differs by more: `inferometer compare` "
                      "measures two in turns.",
                      changes->len, changes->len == 1 ? "" : "s");
    if (changes->len == 0)
    {
        g_array_unref(changes);
        return;
    }
    add_scatter(document, changes);
    ifm_document_part(document);
    ifm_document_rows(document, "changes", ifm_fields_in(fields_of(document)), changes);
}

/* --- what one store holds --------------------------------------------------------------------------------------------- */

static IfmDocument *held_document(const Held *held)
{
    IfmDocument *document = ifm_document_new("measurements", held->name);
    GPtrArray *rows = g_ptr_array_new();
    for (gsize i = 0; i < held->n; i++)
        g_ptr_array_add(rows, (gpointer)&held->results[i]);
    ifm_document_title(document, held->name, NULL);
    if (held->n == 0)
        ifm_document_text(document, "no measurements");
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
    return g_steal_pointer(&documents);
}
