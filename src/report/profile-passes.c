#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "profile-private.h"

/* A training's passes beside each other: forward, backward (which nobody runs by itself), both in one, the whole step. */

static const struct
{
    const char *key, *words;
} passes[] = {
    [IFM_PASS_FORWARD] = { "forward", "forward" },
    [IFM_PASS_TRAINING] = { "training_pass", "training pass" },
    [IFM_PASS_STEP] = { "training_step", "training step" },
    [IFM_PASS_BACKWARD] = { "backward", "backward" },
};

const char *ifm_pass_key(IfmPassKind kind)
{
    return passes[kind].key;
}

const char *ifm_pass_words(IfmPassKind kind)
{
    return passes[kind].words;
}

/* --- times ----------------------------------------------------------------------------------------------------------- */

/* Timing: ns; NaN: not known. */
typedef struct
{
    double mean, std, median;
    IfmInterval interval;
} Timing;

static const Timing unknown = { NAN, NAN, NAN, { NAN, NAN, NAN } };

static Timing timing_in(const IfmMeasurement *measurement)
{
    if (measurement == NULL)
        return unknown;
    const json_t *summary = measurement->summary;
    return (Timing){ ifm_member_number(summary, "mean"),
                     ifm_member_number(summary, "std"),
                     ifm_member_number(summary, "median"),
                     { ifm_member_number(summary, "median_interval.lower"),
                       ifm_member_number(summary, "median_interval.upper"),
                       ifm_member_number(summary, "median_interval.level") } };
}

static const IfmMeasurement *measured_on(const IfmProfileDevice *device)
{
    return device != NULL ? ifm_result_measured(&device->result) : NULL;
}

static Timing timing_of(const IfmProfileDevice *device)
{
    return timing_in(measured_on(device));
}

/* The standard deviation is that of one run less another. */
static Timing difference(const Timing *a, const Timing *b)
{
    return (Timing){ a->mean - b->mean, hypot(a->std, b->std), a->median - b->median,
                     ifm_difference_interval(a->median, &a->interval, b->median, &b->interval) };
}

/* The same device in another pass of the mode; NULL where that has none, or it was not tried there. */
static const IfmProfileDevice *device_in(const IfmProfileMode *mode, IfmPassKind kind, const IfmProfileDevice *like)
{
    const IfmProfileStory *story = mode->passes[kind];
    for (gsize i = 0; story != NULL && like != NULL && i < story->n_devices; i++)
        if (g_str_equal(story->devices[i].result.device, like->result.device) &&
            g_strcmp0(story->devices[i].result.alias, like->result.alias) == 0)
            return &story->devices[i];
    return NULL;
}

/* What the passes came to in turns; NULL: they were not, or too few processes were whole to give an interval. */
static const json_t *turns_of(const IfmProfileDevice *device)
{
    const json_t *surroundings = device != NULL && device->turns != NULL ? device->turns->surroundings : NULL;
    const json_t *comparison = json_object_get(json_object_get(surroundings, "compare"), "comparison");
    return isfinite(ifm_member_number(comparison, "difference_interval.lower")) ? comparison : NULL;
}

/* Why they were not, or are not told so; NULL: nobody asked. */
static const char *why_no_turns(const IfmProfileDevice *device)
{
    return device->turns != NULL ? "fewer than two pairs of processes were whole" : device->no_turns;
}

/* Mean and standard deviation are those of one round's difference. */
static Timing timing_in_turns(const json_t *comparison)
{
    const json_t *rounds = json_object_get(comparison, "rounds"), *round;
    double mean = 0, squares = 0;
    gsize n = json_array_size(rounds), i;
    json_array_foreach(rounds, i, round)
    {
        double difference = ifm_member_number(round, "b_ns") - ifm_member_number(round, "a_ns"), off = difference - mean;
        mean += off / (double)(i + 1);
        squares += off * (difference - mean);
    }
    return (Timing){ mean,
                     n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN,
                     ifm_member_number(comparison, "difference_ns"),
                     { ifm_member_number(comparison, "difference_interval.lower"),
                       ifm_member_number(comparison, "difference_interval.upper"),
                       ifm_member_number(comparison, "difference_interval.level") } };
}

static Timing backward_of(const IfmProfileMode *mode, const IfmProfileDevice *device)
{
    const json_t *turns = turns_of(device_in(mode, mode->asked, device));
    if (turns != NULL)
        return timing_in_turns(turns);
    Timing whole = timing_of(device_in(mode, IFM_PASS_TRAINING, device));
    Timing forward = timing_of(device_in(mode, IFM_PASS_FORWARD, device));
    return difference(&whole, &forward);
}

/* Whether the difference may be nothing at all. */
static gboolean holds_zero(const Timing *timing)
{
    return timing->interval.lower <= 0 && timing->interval.upper >= 0;
}

/* --- work ------------------------------------------------------------------------------------------------------------ */

/* Work: of a pass; NaN where not all nodes, of MACs: not all that may multiply, could be counted. */
typedef struct
{
    double macs, flop;
} Work;

static Work work_of(const IfmProfileStory *story)
{
    Work work = { NAN, NAN };
    IfmNodeCost total;
    gsize n_covered;
    g_auto(IfmCoverage) coverage = { 0 };
    if (story == NULL || story->analysis == NULL)
        return work;
    ifm_analysis_total(story->analysis, &total, &n_covered);
    ifm_analysis_coverage(story->analysis, &coverage);
    if (coverage.n_covered == coverage.n_nodes)
        work.flop = (double)total.flop;
    if (coverage.n_mac_covered == coverage.n_mac_nodes)
        work.macs = (double)total.macs;
    return work;
}

static Work pass_work(const IfmProfileMode *mode, int kind)
{
    if (kind != IFM_PASS_BACKWARD)
        return work_of(mode->passes[kind]);
    Work whole = work_of(mode->passes[IFM_PASS_TRAINING]), forward = work_of(mode->passes[IFM_PASS_FORWARD]);
    return (Work){ whole.macs - forward.macs, whole.flop - forward.flop };
}

void ifm_mode_backward(const IfmProfileMode *mode, const IfmProfileDevice *device, IfmBackward *told)
{
    Timing timing = backward_of(mode, device);
    *told = (IfmBackward){ timing.median, timing.interval, pass_work(mode, IFM_PASS_BACKWARD).flop, holds_zero(&timing) };
}

gboolean ifm_mode_has_pass(const IfmProfileMode *mode, int kind)
{
    return kind != IFM_PASS_BACKWARD ? mode->passes[kind] != NULL
                                     : mode->passes[IFM_PASS_TRAINING] != NULL && mode->passes[IFM_PASS_FORWARD] != NULL;
}

const int ifm_pass_order[IFM_PASS_N_TOLD] = { IFM_PASS_FORWARD, IFM_PASS_BACKWARD, IFM_PASS_TRAINING, IFM_PASS_STEP };

/* --- JSON ------------------------------------------------------------------------------------------------------------ */

static json_t *timing_to_json(const Timing *timing)
{
    if (!isfinite(timing->median))
        return json_null();
    return json_pack("{s:o,s:o,s:s,s:o,s:o,s:o}", "mean", ifm_json_real(timing->mean / 1e6), "std",
                     ifm_json_real(timing->std / 1e6), "unit", "ms", "median", ifm_json_real(timing->median / 1e6),
                     "median_lower", ifm_json_real(timing->interval.lower / 1e6), "median_upper",
                     ifm_json_real(timing->interval.upper / 1e6));
}

json_t *ifm_profile_time_to_json(const IfmMeasurement *measurement)
{
    Timing timing = timing_in(measurement);
    json_t *json = timing_to_json(&timing);
    if (!json_is_object(json))
        return json;
    json_t *n = json_object_get(measurement->summary, "n");
    json_object_set_new(json, "n", n != NULL ? json_incref(n) : json_null());
    json_object_set_new(json, "throughput_per_s", ifm_json_real(1e9 / timing.median));
    return json;
}

static json_t *measured_to_json(const IfmProfileDevice *device)
{
    return ifm_profile_time_to_json(measured_on(device));
}

/* How the difference came about. */
#define PAIRED "paired rounds"
#define INDEPENDENT "independent"

static json_t *backward_to_json(const IfmProfileMode *mode, const IfmProfileDevice *device)
{
    Timing timing = backward_of(mode, device);
    json_t *json = timing_to_json(&timing);
    if (!json_is_object(json))
        return json;
    const IfmProfileDevice *asked = device_in(mode, mode->asked, device);
    const json_t *turns = turns_of(asked);
    const char *why = turns == NULL ? why_no_turns(asked) : NULL;
    json_object_set_new(json, "of", json_string("training_pass - forward"));
    json_object_set_new(json, "difference", json_string(turns != NULL ? PAIRED : INDEPENDENT));
    json_object_set_new(json, "why", why != NULL ? ifm_json_string(why) : json_null());
    json_object_set_new(json, "n_pairs", turns != NULL ? json_incref(json_object_get(turns, "n_pairs")) : json_null());
    json_object_set_new(json, "n_rounds",
                        turns != NULL ? json_integer((json_int_t)json_array_size(json_object_get(turns, "rounds")))
                                      : json_null());
    json_object_set_new(json, "includes_zero",
                        isfinite(timing.interval.lower) ? json_boolean(holds_zero(&timing)) : json_null());
    return json;
}

/* @kind: one that the mode has */
static json_t *pass_runtime(const IfmProfileMode *mode, const IfmProfileDevice *device, int kind)
{
    return kind == IFM_PASS_BACKWARD ? backward_to_json(mode, device)
                                     : measured_to_json(device_in(mode, (IfmPassKind)kind, device));
}

/* All keys are always there. */
json_t *ifm_profile_runtime(const IfmProfileStory *story, const IfmProfileDevice *device)
{
    const IfmProfileMode *mode = story->mode;
    json_t *json = json_object();
    for (gsize i = 0; i < IFM_PASS_N_TOLD; i++)
    {
        int kind = ifm_pass_order[i];
        json_t *told = mode != NULL && ifm_mode_has_pass(mode, kind) ? pass_runtime(mode, device, kind)
                       : mode == NULL && kind == IFM_PASS_FORWARD    ? measured_to_json(device)
                                                                     : json_null();
        json_object_set_new(json, passes[kind].key, told);
    }
    return json;
}

/* Kind or part -> GFLOP of a pass; what encodes positions is in none. @story: NULL: nothing is known of it */
static json_t *breakdown_of(const IfmProfileStory *story)
{
    if (story == NULL || story->analysis == NULL)
        return json_null();
    json_t *json = ifm_profile_flop_breakdown(story);
    json_object_del(json, "pe");
    return json;
}

/* Of backward: what the training pass has more than the forward pass. */
static json_t *pass_breakdown(const IfmProfileMode *mode, int kind)
{
    if (kind != IFM_PASS_BACKWARD)
        return breakdown_of(mode->passes[kind]);
    json_t *json = breakdown_of(mode->passes[IFM_PASS_TRAINING]), *value;
    json_auto_t *forward = breakdown_of(mode->passes[IFM_PASS_FORWARD]);
    const char *key;
    json_object_foreach(json, key, value) json_object_set_new(
        json, key, ifm_json_real(json_number_value(value) - json_number_value(json_object_get(forward, key))));
    return json;
}

static json_t *pass_flops(const IfmProfileStory *story, int kind)
{
    const IfmProfileStory *pass = kind != IFM_PASS_BACKWARD ? story->mode->passes[kind] : NULL;
    Work work = pass_work(story->mode, kind);
    json_t *json = json_pack("{s:o,s:o,s:o,s:o}", "total_gflops", ifm_json_real(work.flop / 1e9), "total_macs",
                             isfinite(work.macs) ? json_integer((json_int_t)work.macs) : json_null(), "total_flop",
                             isfinite(work.flop) ? json_integer((json_int_t)work.flop) : json_null(), "breakdown",
                             pass_breakdown(story->mode, kind));
    if (story->graph != NULL) /* there is one of the forward pass alone */
        json_object_set_new(json, "closed_form",
                            kind == IFM_PASS_FORWARD ? ifm_profile_closed_form_to_json(pass) : json_null());
    return json;
}

json_t *ifm_profile_pass_flops(const IfmProfileStory *story)
{
    json_t *json = json_object();
    for (gsize i = 0; i < IFM_PASS_N_TOLD; i++)
        if (ifm_mode_has_pass(story->mode, ifm_pass_order[i]))
            json_object_set_new(json, passes[ifm_pass_order[i]].key, pass_flops(story, ifm_pass_order[i]));
    return json;
}

/* --- rows ------------------------------------------------------------------------------------------------------------ */

/* PassRow: a pass on a device. What reads an IfmResult reads this: of backward a result without anything. */
typedef struct
{
    IfmResult result;
    int kind;
    Timing timing;
    Work work;
    double forward_ratio, peak_bytes;
    const json_t *turns; /* of backward: the comparison that it comes from; NULL: there is none */
} PassRow;

static PassRow *row_new(const IfmProfileMode *mode, const IfmProfileDevice *device, int kind)
{
    PassRow *row = g_new0(PassRow, 1);
    const IfmProfileDevice *own = kind != IFM_PASS_BACKWARD ? device_in(mode, (IfmPassKind)kind, device) : NULL;
    const char *of;
    row->result = own != NULL ? own->result : (IfmResult){ .device = device->result.device, .alias = device->result.alias };
    row->kind = kind;
    row->timing = kind == IFM_PASS_BACKWARD ? backward_of(mode, device) : timing_of(own);
    row->work = pass_work(mode, kind);
    row->turns = kind == IFM_PASS_BACKWARD ? turns_of(device_in(mode, mode->asked, device)) : NULL;
    row->forward_ratio = row->timing.median / timing_of(device_in(mode, IFM_PASS_FORWARD, device)).median;
    if (row->turns != NULL) /* of the same rounds: what the machine did is in both */
        row->forward_ratio = ifm_member_number(row->turns, "ratio") - 1;
    row->peak_bytes =
        own != NULL && isfinite(row->timing.median) ? ifm_profile_peak(mode->passes[kind], own, &of) : (double)NAN;
    return row;
}

static GPtrArray *rows_of(const IfmProfileStory *story)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < story->n_devices; i++)
        for (gsize k = 0; k < IFM_PASS_N_TOLD; k++)
            if (ifm_mode_has_pass(story->mode, ifm_pass_order[k]))
                g_ptr_array_add(rows, row_new(story->mode, &story->devices[i], ifm_pass_order[k]));
    return rows;
}

static void get_row_device(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_result_name(record));
}

/* @user: not NULL: the key, for exports. */
static void get_pass(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    ifm_value_set_text(value, user != NULL ? passes[row->kind].key : passes[row->kind].words);
}

static void get_giga(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const PassRow *)record)->work.flop / 1e9);
}

static void get_flop_per_s(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (row->timing.median > 0 && row->work.flop > 0)
        ifm_value_set_real(value, row->work.flop / row->timing.median * (user != NULL ? 1e9 : 1));
}

static void get_row_outcome(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (row->kind == IFM_PASS_BACKWARD)
        ifm_value_set_text(value, isfinite(row->timing.median) ? "difference" : NULL);
    else
        ifm_value_set_text(value, ifm_result_code(&row->result) == NULL ? "ok" : "failed");
}

static void get_difference(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (row->kind == IFM_PASS_BACKWARD && isfinite(row->timing.median))
        ifm_value_set_text(value, row->turns != NULL ? PAIRED : INDEPENDENT);
}

static void get_row_reason(const void *record, const void *user, IfmValue *value)
{
    const PassRow *row = record;
    if (row->kind != IFM_PASS_BACKWARD)
        ifm_value_set_text(value, ifm_result_reason(&row->result));
}

#define RESULT(member) IFM_FIELD_AT(IfmResult, member)
#define ROW(member) IFM_FIELD_AT(PassRow, member)
#define SCREEN IFM_FIELD_NO_EXPORT
#define EXPORT IFM_FIELD_NO_SCREEN

static const IfmField pass_fields[] = {
    { "label", "device", IFM_FIELD_TEXT, get_row_device, NULL, SCREEN | IFM_FIELD_FOLD | IFM_FIELD_KEY },
    { "device", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, RESULT(device), EXPORT },
    { "alias", NULL, IFM_FIELD_TEXT, ifm_field_get_some_text, RESULT(alias), EXPORT },
    { "words", "pass", IFM_FIELD_TEXT, get_pass, NULL, SCREEN | IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "pass", NULL, IFM_FIELD_TEXT, get_pass, "key", EXPORT },
    { "outcome", NULL, IFM_FIELD_TEXT, get_row_outcome, NULL, EXPORT },
    { "difference", NULL, IFM_FIELD_TEXT, get_difference, NULL, EXPORT },
    { "median_ns", "median", IFM_FIELD_DURATION, ifm_field_get_real, ROW(timing.median) },
    { "median_lower_ns", "95 % from", IFM_FIELD_DURATION, ifm_field_get_real, ROW(timing.interval.lower) },
    { "median_upper_ns", "to", IFM_FIELD_DURATION, ifm_field_get_real, ROW(timing.interval.upper) },
    { "forward_ratio", "x forward", IFM_FIELD_REAL, ifm_field_get_real, ROW(forward_ratio) },
    { "mean_ns", NULL, IFM_FIELD_DURATION, ifm_field_get_real, ROW(timing.mean), EXPORT },
    { "std_ns", NULL, IFM_FIELD_DURATION, ifm_field_get_real, ROW(timing.std), EXPORT },
    { "macs", NULL, IFM_FIELD_REAL, ifm_field_get_real, ROW(work.macs), EXPORT },
    { "flop", NULL, IFM_FIELD_REAL, ifm_field_get_real, ROW(work.flop), EXPORT },
    { "gflop", "GFLOP", IFM_FIELD_REAL, get_giga, NULL, SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "flop_per_s", NULL, IFM_FIELD_REAL, get_flop_per_s, "per s", EXPORT },
    { "gflop_per_s", "GFLOP/s", IFM_FIELD_REAL, get_flop_per_s, NULL, SCREEN | IFM_FIELD_HIDE_EMPTY },
    { "peak_bytes", "memory", IFM_FIELD_BYTES, ifm_field_get_real, ROW(peak_bytes), IFM_FIELD_HIDE_EMPTY },
    { "reason", NULL, IFM_FIELD_TEXT, get_row_reason, NULL, EXPORT },
    { NULL },
};

/* Where nothing is run, what each pass has to do. */
static const IfmField work_fields[] = {
    { "words", "pass", IFM_FIELD_TEXT, get_pass },
    { "gflop", "GFLOP", IFM_FIELD_REAL, get_giga },
    { NULL },
};

char *ifm_profile_passes_csv(const IfmProfileStory *story)
{
    g_autoptr(GPtrArray) rows = rows_of(story);
    IfmTable table = { pass_fields, (const void *const *)rows->pdata, rows->len };
    return ifm_table_to_csv(&table);
}

/* --- the page -------------------------------------------------------------------------------------------------------- */

char *ifm_profile_mode_line(const IfmProfileStory *story)
{
    const IfmProfileMode *mode = story->mode;
    GString *text = g_string_new(mode->asked == IFM_PASS_STEP ? "train: " : "backward: ");
    char rate[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(text, "loss %s", mode->loss);
    if (mode->optimiser != NULL)
        g_string_append_printf(text, ", optimiser %s, learning rate %s", mode->optimiser,
                               g_ascii_formatd(rate, sizeof rate, "%g", mode->learning_rate));
    if (mode->forward_words != NULL)
        g_string_append_printf(text, "; %s", mode->forward_words);
    return g_string_free(text, FALSE);
}

static void append_work(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < IFM_PASS_N_TOLD; i++)
        if (ifm_mode_has_pass(story->mode, ifm_pass_order[i]))
        {
            PassRow *row = g_new0(PassRow, 1);
            row->kind = ifm_pass_order[i];
            row->work = pass_work(story->mode, ifm_pass_order[i]);
            g_ptr_array_add(rows, row);
        }
    g_string_append_c(out, '\n');
    ifm_page_table(out, work_fields, rows, screen);
}

/* How backward came about, and on which devices it did otherwise. */
static void append_difference(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    gsize n_paired = 0;
    for (gsize i = 0; i < story->n_devices; i++)
        n_paired += turns_of(&story->devices[i]) != NULL;
    ifm_page_wrapped(out,
                     n_paired > 0
                         ? "backward = training pass - forward, measured once more in turns: the interval is that "
                           "of paired rounds, at the mean speed that the machine had in them"
                         : "backward = training pass - forward, each measured by itself: the interval is that of a "
                           "difference of independent medians, without what the machine changed between the two",
                     screen);
    for (gsize i = 0; i < story->n_devices; i++)
    {
        const IfmProfileDevice *device = &story->devices[i];
        const char *why = turns_of(device) == NULL ? why_no_turns(device) : NULL;
        if (why == NULL)
            continue;
        g_autofree char *text = g_strdup_printf("%s: forward and training pass were not measured in turns: %s",
                                                ifm_result_name(&device->result), why);
        ifm_page_wrapped(out, text, screen);
    }
}

static void append_zero(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    for (gsize i = 0; i < story->n_devices; i++)
    {
        Timing timing = backward_of(story->mode, &story->devices[i]);
        if (!holds_zero(&timing))
            continue;
        g_autofree char *text =
            g_strdup_printf("%s: the interval of backward holds 0: these runs do not tell it from nothing",
                            ifm_result_name(&story->devices[i].result));
        ifm_page_wrapped(out, text, screen);
    }
}

/* A pass that holds another and took less: the machine was another one by then. As surely as their intervals say, where
 * they have any. */
static void append_impossible(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    static const IfmPassKind pairs[][2] = { { IFM_PASS_FORWARD, IFM_PASS_TRAINING }, { IFM_PASS_TRAINING, IFM_PASS_STEP } };
    const IfmProfileMode *mode = story->mode;
    for (gsize i = 0; i < 2 * story->n_devices; i++)
    {
        const IfmProfileDevice *device = &story->devices[i / 2];
        IfmPassKind in = pairs[i % 2][0], whole = pairs[i % 2][1];
        if (!ifm_mode_has_pass(mode, (int)whole))
            continue;
        Timing part = timing_of(device_in(mode, in, device)), all = timing_of(device_in(mode, whole, device));
        double least = isfinite(part.interval.lower) ? part.interval.lower : part.median;
        double most = isfinite(all.interval.upper) ? all.interval.upper : all.median;
        if (!(most < least))
            continue;
        g_autofree char *text =
            g_strdup_printf("%s: the %s took less time than the %s, which is a part of it: the machine changed between "
                            "the two measurements",
                            ifm_result_name(&device->result), passes[whole].words, passes[in].words);
        ifm_page_told(out, "warning", IFM_TONE_WARN, text, screen);
    }
}

static void append_failures(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const IfmProfileStory *pass = kind != (int)story->mode->asked ? story->mode->passes[kind] : NULL;
        for (gsize i = 0; pass != NULL && i < pass->n_devices; i++)
        {
            if (ifm_result_reason(&pass->devices[i].result) == NULL)
                continue;
            g_autofree char *line = ifm_result_line(&pass->devices[i].result);
            ifm_page_told(out, passes[kind].words, IFM_TONE_BAD, line, screen);
        }
    }
}

void ifm_profile_passes(GString *out, const IfmProfileStory *story, const IfmScreen *screen)
{
    if (story->mode == NULL)
        return;
    if (story->n_devices == 0)
    {
        if ((story->parts & IFM_PROFILE_FLOPS) != 0)
            append_work(out, story, screen);
        return;
    }
    g_autoptr(GPtrArray) rows = rows_of(story);
    g_string_append_c(out, '\n');
    ifm_page_table(out, pass_fields, rows, screen);
    append_difference(out, story, screen);
    append_zero(out, story, screen);
    append_impossible(out, story, screen);
    append_failures(out, story, screen);
}
