#include <math.h>
#include <unistd.h>

#include "study-page.h"
#include <predict/predict.h>

/* One stage on one device, at the size asked for. */
typedef struct
{
    const IfmStudyDevice *device;
    const IfmStage *stage;
    double latency_ns; /* NaN where there is none */
    IfmGridOrigin origin;
    double decades; /* an extrapolated one: beyond the measured sizes by; else NaN */
    const IfmStageFit *fit;
    char *why; /* NULL where there is a latency */
} StageAnswer;

static void answer_free(StageAnswer *answer)
{
    g_free(answer->why);
    g_free(answer);
}

/* --- asking ----------------------------------------------------------------------------------------------------------- */

static const IfmStageFit *fit_of(const IfmStudyTables *tables, const IfmStudyDevice *device, int stage)
{
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (fit->device == device && fit->stage == stage)
            return fit;
    }
    return NULL;
}

#define MAX_DECADES 1.0 /* beyond the measured sizes: what lies farther is no answer */

static void limit_guess(StageAnswer *answer, double decades)
{
    answer->decades = decades;
    if (decades <= MAX_DECADES + 1e-9)
        return;
    answer->latency_ns = NAN;
    answer->why = g_strdup_printf("%.2g decades beyond the measured sizes: measure one nearer to it", decades);
}

static StageAnswer *look_up(const IfmStudyTables *tables, const IfmStudyDevice *device, const IfmStage *stage, double nodes,
                            double edges)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmLookup) lookup = ifm_study_tables_lookup(tables, device->alias, stage->number, NULL);
    StageAnswer *answer = g_new0(StageAnswer, 1);
    *answer = (StageAnswer){
        .device = device, .stage = stage, .latency_ns = NAN, .decades = NAN, .fit = fit_of(tables, device, stage->number)
    };
    if (answer->fit == NULL || answer->fit->n_rows == 0)
        answer->why = g_strdup(device->reason != NULL ? "device unavailable" : "has no latency at any size");
    else if (!ifm_lookup_at(lookup, nodes, edges, &answer->latency_ns, &answer->origin, &error))
        answer->why = g_strdup(error->message);
    else if (answer->origin == IFM_GRID_OUTSIDE)
        limit_guess(answer, ifm_lookup_decades_outside(lookup, nodes, edges));
    return answer;
}

/* In the order of the stages, at each the devices: what gets compared lies together. */
static GPtrArray *look_all_up(const IfmStudyTables *tables, double nodes, double edges)
{
    GPtrArray *answers = g_ptr_array_new_with_free_func((GDestroyNotify)answer_free);
    for (gsize s = 0; s < tables->staged->n_stages; s++)
        for (guint d = 0; d < tables->devices->len; d++)
            if (fit_of(tables, tables->devices->pdata[d], tables->staged->stages[s].number) != NULL)
                g_ptr_array_add(answers,
                                look_up(tables, tables->devices->pdata[d], &tables->staged->stages[s], nodes, edges));
    return answers;
}

/* --- showing ---------------------------------------------------------------------------------------------------------- */

/* What an exact one is sure of stands in the study's own tables; of the others, how far off such guesses were. */
static void get_error(const void *record, const void *user, IfmValue *value)
{
    const StageAnswer *answer = record;
    if (answer->why != NULL || answer->origin == IFM_GRID_EXACT || !answer->fit->has_lookup)
        return;
    ifm_value_set_real(value, answer->origin == IFM_GRID_INTERPOLATED
                                  ? answer->fit->lookup_error.median_ratio
                                  : answer->fit->lookup_error.extrapolated_median_ratio);
}

static void get_origin(const void *record, const void *user, IfmValue *value)
{
    const StageAnswer *answer = record;
    static const char *const known[] = {
        [IFM_GRID_EXACT] = "measured", [IFM_GRID_INTERPOLATED] = "interpolated", [IFM_GRID_OUTSIDE] = "extrapolated"
    };
    ifm_value_set_text(value, answer->why != NULL ? answer->why : known[answer->origin]);
    value->tone = answer->why != NULL || answer->origin == IFM_GRID_OUTSIDE ? IFM_TONE_WARN : IFM_TONE_PLAIN;
}

static const IfmField lookup_fields[] = {
    { "stage", "stage", IFM_FIELD_INTEGER, IFM_MEMBER_VIA(StageAnswer, stage, number) },
    { "name", "", IFM_FIELD_TEXT, IFM_MEMBER_VIA(StageAnswer, stage, name), IFM_FIELD_WHOLE },
    { "alias", "alias", IFM_FIELD_TEXT, IFM_MEMBER_VIA(StageAnswer, device, alias), IFM_FIELD_WHOLE },
    { "latency_ns", "latency", IFM_FIELD_DURATION, IFM_MEMBER(StageAnswer, latency_ns) },
    { "usual_error_ratio", "median error", IFM_FIELD_RATIO, get_error },
    { "origin", "source", IFM_FIELD_TEXT, get_origin, .flags = IFM_FIELD_WHOLE },
    { "device", "device", IFM_FIELD_TEXT, IFM_MEMBER_VIA(StageAnswer, device, device), IFM_FIELD_WHOLE },
    { "simulated", "simulated", IFM_FIELD_BOOLEAN, IFM_MEMBER_VIA(StageAnswer, device, simulated) },
    { "decades_beyond", "decades beyond", IFM_FIELD_REAL, IFM_MEMBER(StageAnswer, decades), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* --- the verb --------------------------------------------------------------------------------------------------------- */

static int show(const IfmStudyTables *tables, const Arguments *arguments)
{
    const gint64 nodes = cli_integer(arguments, "nodes"), edges = cli_integer(arguments, "edges");
    g_autoptr(GPtrArray) answers = look_all_up(tables, (double)nodes, (double)edges);
    g_autofree char *size = g_strdup_printf(", %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", nodes, edges);
    return cli_answer(
        arguments,
        (Answer){ .document = ifm_table_document("stages", tables->name, size, lookup_fields, answers), .key = "stages" });
}

static int run_lookup(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    if (!cli_given(arguments, "nodes") || !cli_given(arguments, "edges"))
        return cli_usage("needs --nodes and --edges: the size to look up");
    if (!ifm_study_place_find(&place, cli_positional(arguments)[0], cli_text(arguments, "output"), &error))
        return cli_fail(error);
    g_autoptr(IfmStore) store = ifm_study_place_open(&place, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyTables) tables = store != NULL ? ifm_study_tables(place.study, store, &error) : NULL;
    return tables != NULL && ifm_study_tables_check_stages(tables, store, &error) ? show(tables, arguments)
                                                                                  : cli_fail(error);
}

static const IfmOption lookup_options[] = {
    { "nodes", IFM_OPTION_COUNT, "N", "nodes of the graph", .minimum = 1, .letter = 'n' },
    { "edges", IFM_OPTION_COUNT, "N", "edges of the graph", .minimum = 1, .letter = 'e' },
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the answer as JSON; - is standard output" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write a row a stage and device as CSV; - is standard output" },
    { NULL },
};

const Verb verb_study_lookup = {
    .name = "study lookup",
    .summary = "show the latency of each stage at any size",
    .arguments = "STUDY",
    .positional = POSITIONAL_STUDY,
    .tables = { cli_document_options, lookup_options, study_results_options },
    .details = WHICH_RESULTS
    "\nA size that was measured has its median; one between measured sizes is interpolated between the logarithms of "
    "nodes, edges per node and latency; one beyond them is extrapolated, a guess, by as many powers of ten as \"decades "
    "beyond\" says. \"median error\" is that of such answers at measured sizes that were left out one by one.",
    .examples = { { "inferometer study lookup gnn-stages --nodes 2500 --edges 4000",
                    "shows how long each stage takes on each device at a size between the measured ones" } },
    .run = run_lookup,
};
