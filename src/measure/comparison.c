#include <base/fields.h>
#include <measure/measure.h>
#include <store/store.h>

/* These functions name the verdicts of a comparison and write its record as JSON. */

static const char *const verdict_names[] = {
    [IFM_VERDICT_FASTER] = "faster",
    [IFM_VERDICT_SLOWER] = "slower",
    [IFM_VERDICT_SAME] = "same",
    [IFM_VERDICT_UNCERTAIN] = "uncertain",
    NULL,
};

const char *ifm_verdict_name(IfmVerdict verdict)
{
    return verdict <= IFM_VERDICT_UNCERTAIN ? verdict_names[verdict] : "unknown";
}

void ifm_comparison_clear(IfmComparison *comparison)
{
    g_clear_pointer(&comparison->rounds, g_array_unref);
    g_clear_pointer(&comparison->history, g_array_unref);
    g_clear_pointer(&comparison->notes, g_ptr_array_unref);
    g_clear_pointer(&comparison->why, g_free);
    g_clear_pointer(&comparison->accuracy, json_decref);
    for (gsize side = 0; side < G_N_ELEMENTS(comparison->cases); side++)
    {
        g_clear_pointer(&comparison->cases[side], ifm_case_free);
        g_clear_pointer(&comparison->measurements[side], ifm_measurement_free);
    }
}

static const char *const sides[] = { "A", "B", NULL };

static const IfmRecordField round_fields[] = {
    { IFM_RECORD(SIZE, IfmCompareRound, pair) },
    { IFM_RECORD_AS(CHOICE, IfmCompareRound, b_first, "first"), .words = sides },
    { IFM_RECORD(DOUBLE, IfmCompareRound, a_ns) },
    { IFM_RECORD(DOUBLE, IfmCompareRound, b_ns) },
    { NULL },
};

#define FIELD(TYPE, member) IFM_RECORD(TYPE, IfmComparison, member)

static const IfmRecordField fields[] = {
    { FIELD(CHOICE, verdict), .words = verdict_names },
    { FIELD(DOUBLE, ratio) },
    { FIELD(PART, interval), .fields = ifm_interval_fields },
    { FIELD(DOUBLE, margin) },
    { IFM_RECORD_AS(DOUBLE, IfmComparison, a_ns, "a_median_ns") },
    { IFM_RECORD_AS(DOUBLE, IfmComparison, b_ns, "b_median_ns") },
    { FIELD(DOUBLE, difference_ns) },
    { FIELD(PART, difference_interval), .fields = ifm_interval_fields },
    { FIELD(NAME, why) },
    { FIELD(SIZE, n_pairs) },
    { FIELD(DOUBLE, n_effective) },
    { FIELD(SIZE, n_looks) },
    { FIELD(DOUBLE, error) },
    { FIELD(INT64, elapsed_ns) },
    { IFM_RECORD_AS(DOUBLE, IfmComparison, between, "between_pairs_std") },
    { IFM_RECORD_AS(DOUBLE, IfmComparison, within, "within_pairs_std") },
    { FIELD(FLAG, outputs_differ) },
    { NULL },
};

json_t *ifm_comparison_to_json(const IfmComparison *comparison)
{
    json_t *json = ifm_record_to_json(comparison, fields), *notes = json_array(), *rounds = json_array();
    for (guint i = 0; comparison->notes != NULL && i < comparison->notes->len; i++)
        json_array_append_new(notes, ifm_json_string(comparison->notes->pdata[i]));
    for (guint i = 0; comparison->rounds != NULL && i < comparison->rounds->len; i++)
        json_array_append_new(rounds,
                              ifm_record_to_json(&g_array_index(comparison->rounds, IfmCompareRound, i), round_fields));
    json_object_set_new(json, "notes", notes);
    json_object_set_new(json, "rounds", rounds);
    if (comparison->accuracy != NULL)
        json_object_set(json, "accuracy", comparison->accuracy);
    return json;
}
