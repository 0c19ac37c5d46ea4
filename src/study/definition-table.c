#include <stddef.h>

#include "definition.h"

/* Every key of a study, in the order people should read them. */

#define FIELD(struct_type, member) .offset = offsetof(struct_type, member)
#define NAMED_OF(of) .type = IFM_YAML_NAMED, .element = of
#define LIST_OF(of) .type = IFM_YAML_LIST, .element = of
#define MOST_SEED 4294967295.0

static const char *const form_words[] = { "auto", "dynamic", "static", NULL };
const char *const study_kind_words[] = { "uniform", "power-law", NULL };

static const IfmYamlField subject_fields[] = {
    { .key = "model",
      .type = IFM_YAML_STRING,
      FIELD(SubjectText, model),
      .required = TRUE,
      .help = "a model in stages: graphsage" },
    { .key = "features",
      .type = IFM_YAML_INT,
      FIELD(SubjectText, features),
      .least = 1,
      .most = 65536,
      .fallback = "500",
      .help = "numbers that a node comes with" },
    { .key = "hidden",
      .type = IFM_YAML_INT,
      FIELD(SubjectText, hidden),
      .least = 1,
      .most = 65536,
      .fallback = "256",
      .help = "numbers that a node leaves with" },
    { .key = "stages",
      LIST_OF(IFM_YAML_INT),
      FIELD(SubjectText, stages),
      .filled = TRUE,
      .least = 1,
      .most = IFM_MAX_STAGES,
      .help = "which stages, by number, in the order they are measured; without it all" },
    { .key = "ranges",
      LIST_OF(IFM_YAML_STRING),
      FIELD(SubjectText, ranges),
      .help = "contiguous stages to be measured as one model, too, after the stages: 2-4, ends (all that begin with the "
              "first stage or end with the last: what plans of two blocks are made of), all; without it none" },
    { .key = "seed",
      .type = IFM_YAML_INT,
      FIELD(SubjectText, seed),
      .least = 0,
      .most = MOST_SEED,
      .fallback = "1",
      .help = "of weights and inputs" },
    { 0 }
};
static const IfmYamlTable subject_table = { subject_fields, sizeof(SubjectText) };

static const IfmYamlField graph_fields[] = {
    { .key = "kind",
      .type = IFM_YAML_ENUM,
      .words = study_kind_words,
      FIELD(GraphText, kind),
      .fallback = "uniform",
      .help = "how edges are drawn: each as likely as any other, or degrees that fall as a power law" },
    { .key = "seed",
      .type = IFM_YAML_INT,
      FIELD(GraphText, seed),
      .least = 0,
      .most = MOST_SEED,
      .fallback = "1",
      .help = "of the generator" },
    { 0 }
};
static const IfmYamlTable graph_table = { graph_fields, sizeof(GraphText) };

static const IfmYamlField sizes_fields[] = { { .key = "nodes",
                                               .type = IFM_YAML_INT,
                                               FIELD(SizesText, nodes),
                                               .required = TRUE,
                                               .least = 1,
                                               .most = IFM_GRAPH_MAX_NODES,
                                               .help = "of the graph" },
                                             { .key = "edges",
                                               LIST_OF(IFM_YAML_INT),
                                               FIELD(SizesText, edges),
                                               .required = TRUE,
                                               .filled = TRUE,
                                               .least = 1,
                                               .most = IFM_GRAPH_MAX_EDGES,
                                               .help = "a graph for each of these counts of edges" },
                                             { 0 } };
static const IfmYamlTable sizes_table = { sizes_fields, sizeof(SizesText) };

static const IfmYamlField real_fields[] = {
    { .key = "path",
      .type = IFM_YAML_STRING,
      FIELD(RealText, path),
      .required = TRUE,
      .help = "an edge list, a Matrix Market file or a TUDataset folder, relative to this file" },
    { .key = "part",
      .type = IFM_YAML_INT,
      FIELD(RealText, part),
      .least = -1,
      .most = IFM_GRAPH_MAX_NODES,
      .fallback = "-1",
      .help = "which of the file's graphs, from 0; -1: all of them side by side, as one" },
    { .key = "padded",
      .type = IFM_YAML_BOOL,
      FIELD(RealText, padded),
      .help = "whether static devices get it padded into the smallest of `sizes` that holds it; else their model has its "
              "very size" },
    { 0 }
};
static const IfmYamlTable real_table = { real_fields, sizeof(RealText) };

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
      .least = 1,
      .most = IFM_MAX_STAGES,
      .help = "stages that are not for it: neither they nor a range with one of them has a case on it" },
    { 0 }
};
static const IfmYamlTable device_table = { device_fields, sizeof(DeviceText) };

static const IfmYamlField protocol_fields[] = {
    { .key = "warmup",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, warmup),
      .least = 0,
      .most = 1e6,
      .fallback = "3",
      .help = "runs before those that count: exactly so many with `runs`, else at least so many" },
    { .key = "runs",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, runs),
      .least = 0,
      .most = IFM_PROTOCOL_MOST_RUNS,
      .fallback = "0",
      .help = "exactly so many; 0: until the interval of the median is narrow enough, as below" },
    { .key = "ci",
      .type = IFM_YAML_DOUBLE,
      FIELD(ProtocolText, ci),
      .least = 1e-6,
      .most = 1,
      .fallback = "0.01",
      .percent = TRUE,
      .help = "half the interval's width / median to be reached: 0.01, or 1 %" },
    { .key = "level",
      .type = IFM_YAML_DOUBLE,
      FIELD(ProtocolText, level),
      .least = 0.5,
      .most = 0.9999,
      .fallback = "0.95",
      .percent = TRUE,
      .help = "confidence of the interval" },
    { .key = "least_runs",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, least_runs),
      .least = 1,
      .most = IFM_PROTOCOL_MOST_RUNS,
      .fallback = "20",
      .help = "not fewer" },
    { .key = "most_runs",
      .type = IFM_YAML_INT,
      FIELD(ProtocolText, most_runs),
      .least = 1,
      .most = IFM_PROTOCOL_MOST_RUNS,
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
static const IfmYamlTable protocol_table = { protocol_fields, sizeof(ProtocolText) };

static const IfmYamlField links_fields[] = { { .key = "measure",
                                               .type = IFM_YAML_BOOL,
                                               FIELD(LinksText, measure),
                                               .fallback = "true",
                                               .help = "whether copies between each two devices are measured" },
                                             { .key = "protocol",
                                               .type = IFM_YAML_MAP,
                                               .table = &protocol_table,
                                               FIELD(LinksText, protocol),
                                               .help = "of these; without it that of the stages" },
                                             { 0 } };
static const IfmYamlTable links_table = { links_fields, sizeof(LinksText) };

static const IfmYamlField contention_fields[] = {
    { .key = "measure",
      .type = IFM_YAML_BOOL,
      FIELD(ContentionText, measure),
      .fallback = "true",
      .help = "whether each stage and range is also measured while each set of the other devices does the same" },
    { .key = "protocol",
      .type = IFM_YAML_MAP,
      .table = &protocol_table,
      FIELD(ContentionText, protocol),
      .help = "of these; without it that of the stages" },
    { 0 }
};
static const IfmYamlTable contention_table = { contention_fields, sizeof(ContentionText) };

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
      .least = 0,
      .most = 1e15,
      .fallback = "0",
      .help = "that a device's process may grow by; 0: no limit" },
    { 0 }
};
static const IfmYamlTable limits_table = { limits_fields, sizeof(LimitsText) };

static const IfmYamlField study_fields[] = {
    { .key = "title", .type = IFM_YAML_STRING, FIELD(StudyText, title), .required = TRUE, .help = "one line for people" },
    { .key = "name",
      .type = IFM_YAML_STRING,
      FIELD(StudyText, name),
      .help = "of the study, and of its folder under out/; without it the file's name" },
    { .key = "subject",
      .type = IFM_YAML_MAP,
      .table = &subject_table,
      FIELD(StudyText, subject),
      .required = TRUE,
      .help = "what is measured" },
    { .key = "graph",
      .type = IFM_YAML_MAP,
      .table = &graph_table,
      FIELD(StudyText, graph),
      .help = "how the random graphs of `sizes` are made" },
    { .key = "sizes",
      LIST_OF(IFM_YAML_MAP),
      .table = &sizes_table,
      FIELD(StudyText, sizes),
      .help = "random graphs to measure on, in this order" },
    { .key = "graphs",
      LIST_OF(IFM_YAML_MAP),
      .table = &real_table,
      FIELD(StudyText, graphs),
      .help = "real graphs to measure on, after the random ones" },
    { .key = "devices",
      NAMED_OF(IFM_YAML_MAP),
      .table = &device_table,
      FIELD(StudyText, devices),
      .required = TRUE,
      .help = "what to measure on, by alias: the short name that tables use" },
    { .key = "protocol",
      .type = IFM_YAML_MAP,
      .table = &protocol_table,
      FIELD(StudyText, protocol),
      .help = "when a case has been measured enough" },
    { .key = "links",
      .type = IFM_YAML_MAP,
      .table = &links_table,
      FIELD(StudyText, links),
      .help = "moving tensors from device to device" },
    { .key = "contention",
      .type = IFM_YAML_MAP,
      .table = &contention_table,
      FIELD(StudyText, contention),
      .help = "how much devices slow each other while they work at once; without it nothing of that is measured" },
    { .key = "limits",
      .type = IFM_YAML_MAP,
      .table = &limits_table,
      FIELD(StudyText, limits),
      .help = "what a case may take before it counts as failed" },
    { 0 }
};
const IfmYamlTable study_text_table = { study_fields, sizeof(StudyText) };

char *ifm_study_describe(void)
{
    return ifm_yaml_describe(&study_text_table);
}
