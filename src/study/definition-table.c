#include <stddef.h>

#include "definition.h"

/* The keys that studies of every kind have, in the order people should read them; a kind's own stand in the middle. */

#define FIELD(struct_type, member) .offset = offsetof(struct_type, member)
#define NAMED_OF(of) .type = IFM_YAML_NAMED, .element = of
#define LIST_OF(of) .type = IFM_YAML_LIST, .element = of

static const char *const form_words[] = { "auto", "dynamic", "static", NULL };

static const IfmYamlField device_fields[] = {
    { .key = "device",
      .type = IFM_YAML_STRING,
      FIELD(DeviceText, device),
      .required = TRUE,
      .help = "ENGINE:UNIT[:INDEX][@CORES][#STREAMS], as inferometer devices lists them" },
    { .key = "form",
      .type = IFM_YAML_ENUM,
      .words = form_words,
      FIELD(DeviceText, form),
      .fallback = "auto",
      .help = "of its models: dynamic takes any size and is measured in phase 1, static is one model a size and phase 2; "
              "auto: static for an NPU" },
    { .key = "not_stages",
      LIST_OF(IFM_YAML_INT),
      FIELD(DeviceText, not_stages),
      .min = 1,
      .max = IFM_MAX_STAGES,
      .help = "stages that are not for it: neither they nor a range with one of them has a case on it" },
    { 0 }
};
static const IfmYamlTable device_table = { device_fields, sizeof(DeviceText) };

static const IfmYamlField protocol_fields[] = {
    { .key = "warmup",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, warmup),
      .min = 0,
      .max = 1e6,
      .fallback = "3",
      .help = "runs before those that count: exactly so many with `runs`, else at least so many" },
    { .key = "runs",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, runs),
      .min = 0,
      .max = IFM_PROTOCOL_MAX_RUNS,
      .fallback = "0",
      .help = "exactly so many; 0: until the interval of the median is narrow enough, as below" },
    { .key = "ci",
      .type = IFM_YAML_DOUBLE,
      FIELD(ProtocolText, ci),
      .min = 1e-6,
      .max = 1,
      .fallback = "0.01",
      .percent = TRUE,
      .help = "half the interval's width / median to be reached: 0.01, or 1 %" },
    { .key = "level",
      .type = IFM_YAML_DOUBLE,
      FIELD(ProtocolText, level),
      .min = 0.5,
      .max = 0.9999,
      .fallback = "0.95",
      .percent = TRUE,
      .help = "confidence of the interval" },
    { .key = "min_runs",
      .old_key = "least_runs",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, min_runs),
      .min = 1,
      .max = IFM_PROTOCOL_MAX_RUNS,
      .fallback = "20",
      .help = "not fewer" },
    { .key = "max_runs",
      .old_key = "most_runs",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, max_runs),
      .min = 1,
      .max = IFM_PROTOCOL_MAX_RUNS,
      .fallback = "20000",
      .help = "not more" },
    { .key = "time_budget",
      .type = IFM_YAML_DURATION,
      FIELD(ProtocolText, time_budget_ns),
      .fallback = "20 s",
      .help =
          "of a case, warm-up included, after which it stops, however wide the interval; no case stops before a 50th of "
          "it" },
    { 0 }
};
const IfmYamlTable study_protocol_table = { protocol_fields, sizeof(ProtocolText) };

static const IfmYamlField limits_fields[] = {
    { .key = "hang",
      .type = IFM_YAML_DURATION,
      FIELD(LimitsText, hang_ns),
      .fallback = "60 s",
      .help = "that one step (a compile, a run) may take before its process is ended; 0 s: no limit" },
    { .key = "case_time",
      .type = IFM_YAML_DURATION,
      FIELD(LimitsText, case_time_ns),
      .fallback = "0 s",
      .help = "that a whole case may take; 0 s: no limit" },
    { .key = "memory_bytes",
      .type = IFM_YAML_INT,
      FIELD(LimitsText, memory_bytes),
      .min = 0,
      .max = 1e15,
      .fallback = "0",
      .help = "that a device's process may grow by; 0: no limit" },
    { 0 }
};
static const IfmYamlTable limits_table = { limits_fields, sizeof(LimitsText) };

static const IfmYamlField first_fields[] = {
    { .key = "title", .type = IFM_YAML_STRING, FIELD(StudyText, title), .required = TRUE, .help = "one line for people" },
    { .key = "name",
      .type = IFM_YAML_STRING,
      FIELD(StudyText, name),
      .help = "of the study, and of its folder under out/; without it the file's name" },
    { .key = "kind",
      .type = IFM_YAML_STRING,
      FIELD(StudyText, kind),
      .fallback = STUDY_DEFAULT_KIND,
      .help = "what is spanned: a kind below, whose own keys stand under it" },
    { 0 }
};
static const IfmYamlField last_fields[] = { { .key = "devices",
                                              NAMED_OF(IFM_YAML_MAP),
                                              .table = &device_table,
                                              FIELD(StudyText, devices),
                                              .required = TRUE,
                                              .help = "what to measure on, by alias: the short name that tables use" },
                                            { .key = "energy",
                                              .type = IFM_YAML_STRING,
                                              FIELD(StudyText, energy),
                                              .help = "also the energy of an inference: auto, rapl, nvml, hwmon, "
                                                      "recorded:FILE or simulated" },
                                            { .key = "protocol",
                                              .type = IFM_YAML_MAP,
                                              .table = &study_protocol_table,
                                              FIELD(StudyText, protocol),
                                              .help = "when a case has been measured enough" },
                                            { .key = "limits",
                                              .type = IFM_YAML_MAP,
                                              .table = &limits_table,
                                              FIELD(StudyText, limits),
                                              .help = "what a case may take before it counts as failed" },
                                            { 0 } };

static void add_fields(GArray *all, const IfmYamlField *fields)
{
    for (; fields->key != NULL; fields++)
        g_array_append_vals(all, fields, 1);
}

IfmYamlTable *study_text_new_table(const StudyKind *kind)
{
    IfmYamlTable *table = g_new0(IfmYamlTable, 1);
    GArray *all = g_array_new(TRUE, FALSE, sizeof(IfmYamlField));
    add_fields(all, first_fields);
    add_fields(all, kind->fields);
    add_fields(all, last_fields);
    table->size = kind->text_size;
    table->fields = (const IfmYamlField *)(void *)g_array_free(all, FALSE);
    return table;
}

void study_text_free_table(IfmYamlTable *table)
{
    g_free((void *)table->fields);
    g_free(table);
}

/* The keys of all, then each kind's own. */
char *ifm_study_describe(void)
{
    g_autoptr(GArray) common = g_array_new(TRUE, FALSE, sizeof(IfmYamlField));
    add_fields(common, first_fields);
    add_fields(common, last_fields);
    IfmYamlTable table = { (const IfmYamlField *)(void *)common->data, sizeof(StudyText) };
    g_autofree char *text = ifm_yaml_describe(&table);
    g_autoptr(GString) all = g_string_new(text);
    for (const StudyKind *const *kind = study_kinds; *kind != NULL; kind++)
    {
        const IfmYamlTable own = { (*kind)->fields, (*kind)->text_size };
        g_autofree char *keys = ifm_yaml_describe(&own);
        g_string_append_printf(all, "\nkind: %s. %s\n%s", (*kind)->name, (*kind)->help, keys);
    }
    return g_string_free(g_steal_pointer(&all), FALSE);
}
