#include <stddef.h>

#include "definition.h"
#include <staged/staged.h>

/* The keys that studies of every kind have, in the order people should read them; a kind's own stand in the middle. */

static const char *const form_words[] = { "auto", "dynamic", "static", NULL };

static const IfmRecordField device_fields[] = {
    { IFM_RECORD(PLACE, DeviceText, place) },
    IFM_FIELD(STRING, DeviceText, device, .required = TRUE,
              .help = "ENGINE:UNIT[:INDEX][@CORES][#STREAMS], as inferometer devices lists them"),
    IFM_FIELD(
        CHOICE, DeviceText, form, .words = form_words, .fallback = "auto",
        .help = "of its models: dynamic takes any size and is measured in phase 1, static is one model a size and phase 2; "
                "auto: static for an NPU"),
    IFM_FIELD(SERIES, DeviceText, not_stages, .min = 1, .max = IFM_MAX_STAGES,
              .help = "stages that are not for it: neither they nor a range with one of them has a case on it"),
    { 0 }
};

const IfmRecordField study_protocol_fields[] = {
    { IFM_RECORD(PLACE, ProtocolText, place) },
    IFM_FIELD_AS(SIZE, ProtocolText, protocol.warmup, "warmup", .min = 0, .max = 1e6, .fallback = "3",
                 .help = "runs before those that count: exactly so many with `runs`, else at least so many"),
    IFM_FIELD_AS(SIZE, ProtocolText, protocol.runs, "runs", .min = 0, .max = IFM_PROTOCOL_MAX_RUNS, .fallback = "0",
                 .help = "exactly so many; 0: until the interval of the median is narrow enough, as below"),
    IFM_FIELD_AS(RATIO, ProtocolText, protocol.ci_ratio, "ci", .min = 1e-6, .max = 1, .fallback = "0.01",
                 .help = "half the interval's width / median to be reached: 0.01, or 1 %"),
    IFM_FIELD_AS(RATIO, ProtocolText, protocol.level, "level", .min = 0.5, .max = 0.9999, .fallback = "0.95",
                 .help = "confidence of the interval"),
    IFM_FIELD_AS(SIZE, ProtocolText, protocol.min_runs, "min_runs", .min = 1, .max = IFM_PROTOCOL_MAX_RUNS,
                 .fallback = "20", .help = "not fewer: the budget extends to them"),
    IFM_FIELD_AS(SIZE, ProtocolText, protocol.max_runs, "max_runs", .min = 1, .max = IFM_PROTOCOL_MAX_RUNS,
                 .fallback = "20000", .help = "not more"),
    IFM_FIELD_AS(
        DURATION, ProtocolText, protocol.time_budget_ns, "time_budget", .fallback = "20 s",
        .help =
            "of a case, warm-up included, after which it stops, however wide the interval; no case stops before a 50th of "
            "it"),
    { 0 }
};

static const IfmRecordField limits_fields[] = {
    { IFM_RECORD(PLACE, LimitsText, place) },
    IFM_FIELD_AS(DURATION, LimitsText, limits.hang_ns, "hang", .fallback = "60 s",
                 .help = "that one step (a compile, a run) may take before its process is ended; 0 s: no limit"),
    IFM_FIELD_AS(DURATION, LimitsText, limits.case_time_ns, "case_time", .fallback = "0 s",
                 .help = "that a whole case may take; 0 s: no limit"),
    IFM_FIELD_AS(INT64, LimitsText, limits.memory_bytes, "memory_bytes", .min = 0, .max = 1e15, .fallback = "0",
                 .help = "that a device's process may grow by; 0: no limit"),
    { 0 }
};

static const IfmRecordField first_fields[] = {
    { IFM_RECORD(PLACE, StudyText, place) },
    IFM_FIELD(STRING, StudyText, title, .required = TRUE, .help = "one line that reports show"),
    IFM_FIELD(STRING, StudyText, name, .help = "of the study, and of its folder under out/; without it the file's name"),
    IFM_FIELD(STRING, StudyText, kind, .fallback = STUDY_DEFAULT_KIND,
              .help = "what is spanned: a kind below, whose own keys stand under it"),
    { 0 }
};
static const IfmRecordField last_fields[] = {
    IFM_FIELD(NAMED, StudyText, devices, IFM_FIELDS_OF(device_fields, DeviceText), .required = TRUE,
              .help = "what to measure on, by alias: the short name that tables use"),
    IFM_FIELD(STRING, StudyText, energy,
              .help =
                  "also the energy of an inference: auto, rapl, nvml, hwmon, recorded:FILE or simulated; none: no energy, "
                  "which is the default but for conv-algorithms, whose default is auto"),
    IFM_FIELD(MAP, StudyText, protocol, IFM_FIELDS_OF(study_protocol_fields, ProtocolText),
              .help = "when a case has been measured enough"),
    IFM_FIELD(MAP, StudyText, limits, IFM_FIELDS_OF(limits_fields, LimitsText),
              .help = "what a case may take before it counts as failed"),
    { 0 }
};

static void add_fields(GArray *all, const IfmRecordField *fields)
{
    for (; fields->name != NULL; fields++)
        g_array_append_vals(all, fields, 1);
}

IfmRecordField *study_text_new_fields(const StudyKind *kind)
{
    GArray *all = g_array_new(TRUE, FALSE, sizeof(IfmRecordField));
    add_fields(all, first_fields);
    if (kind != NULL)
        add_fields(all, kind->fields);
    add_fields(all, last_fields);
    return (IfmRecordField *)(void *)g_array_free(all, FALSE);
}

/* The keys of all, then each kind's own. */
char *ifm_study_describe(void)
{
    g_autofree IfmRecordField *common = study_text_new_fields(NULL);
    g_autofree char *text = ifm_yaml_describe(common);
    g_autoptr(GString) all = g_string_new(text);
    for (const StudyKind *const *kind = study_kinds; *kind != NULL; kind++)
    {
        g_autofree char *keys = ifm_yaml_describe((*kind)->fields);
        g_string_append_printf(all, "\nkind: %s. %s\n%s", (*kind)->name, (*kind)->help, keys);
    }
    return g_string_free(g_steal_pointer(&all), FALSE);
}
