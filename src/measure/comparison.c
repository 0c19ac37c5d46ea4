#include <inferometer/compare.h>
#include <internal/json.h>

static const char *const verdict_names[] = {
    [IFM_VERDICT_FASTER] = "faster",
    [IFM_VERDICT_SLOWER] = "slower",
    [IFM_VERDICT_SAME] = "same",
    [IFM_VERDICT_UNCERTAIN] = "uncertain",
};

const char *ifm_verdict_name(IfmVerdict verdict)
{
    return (gsize)verdict < G_N_ELEMENTS(verdict_names) ? verdict_names[verdict] : "unknown";
}

void ifm_comparison_clear(IfmComparison *comparison)
{
    g_clear_pointer(&comparison->rounds, g_array_unref);
    g_clear_pointer(&comparison->notes, g_ptr_array_unref);
    g_clear_pointer(&comparison->why, g_free);
    for (gsize side = 0; side < G_N_ELEMENTS(comparison->cases); side++)
    {
        g_clear_pointer(&comparison->cases[side], ifm_case_free);
        g_clear_pointer(&comparison->measurements[side], ifm_measurement_free);
    }
}

static json_t *rounds_to_json(const GArray *rounds)
{
    json_t *json = json_array();
    for (guint i = 0; rounds != NULL && i < rounds->len; i++)
    {
        const IfmCompareRound *round = &g_array_index(rounds, IfmCompareRound, i);
        json_array_append_new(json, json_pack("{s:I,s:s,s:o,s:o}", "pair", (json_int_t)round->pair, "first",
                                              round->b_first ? "B" : "A", "a_ns", ifm_json_real(round->a_ns), "b_ns",
                                              ifm_json_real(round->b_ns)));
    }
    return json;
}

static json_t *interval_to_json(const IfmInterval *interval)
{
    return json_pack("{s:o,s:o,s:o}", "lower", ifm_json_real(interval->lower), "upper", ifm_json_real(interval->upper),
                     "level", ifm_json_real(interval->level));
}

json_t *ifm_comparison_to_json(const IfmComparison *comparison)
{
    json_t *notes = json_array();
    for (guint i = 0; comparison->notes != NULL && i < comparison->notes->len; i++)
        json_array_append_new(notes, ifm_json_string(comparison->notes->pdata[i]));
    json_t *json = json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "verdict", ifm_verdict_name(comparison->verdict), "ratio",
                             ifm_json_real(comparison->ratio), "interval", interval_to_json(&comparison->interval),
                             "margin", ifm_json_real(comparison->margin), "a_median_ns", ifm_json_real(comparison->a_ns),
                             "b_median_ns", ifm_json_real(comparison->b_ns));
    json_object_set_new(json, "difference_ns", ifm_json_real(comparison->difference_ns));
    json_object_set_new(json, "difference_interval", interval_to_json(&comparison->difference_interval));
    json_object_set_new(json, "why", comparison->why != NULL ? ifm_json_string(comparison->why) : json_null());
    json_object_set_new(json, "n_pairs", json_integer((json_int_t)comparison->n_pairs));
    json_object_set_new(json, "n_effective", ifm_json_real(comparison->n_effective));
    json_object_set_new(json, "n_looks", json_integer((json_int_t)comparison->n_looks));
    json_object_set_new(json, "elapsed_ns", json_integer(comparison->elapsed_ns));
    json_object_set_new(json, "between_pairs_std", ifm_json_real(comparison->between));
    json_object_set_new(json, "within_pairs_std", ifm_json_real(comparison->within));
    json_object_set_new(json, "notes", notes);
    json_object_set_new(json, "rounds", rounds_to_json(comparison->rounds));
    return json;
}

const json_t *ifm_comparison_stored(const IfmMeasurement *of_b, const IfmCase *case_a)
{
    const json_t *other = ifm_measurement_result(of_b, "other_case");
    gboolean same = g_strcmp0(json_string_value(other), case_a->key) == 0;
    gboolean whole = g_strcmp0(of_b->stop_reason, ifm_stop_reason_name(IFM_STOP_INTERRUPTED)) != 0;
    return same && whole ? ifm_measurement_result(of_b, "comparison") : NULL;
}
