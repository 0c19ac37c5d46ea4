#pragma once
#include "study-private.h"

/* A study's YAML as it is read: the records that definition-table.c describes and definition.c makes a study of. */

typedef struct
{
    IfmYamlRecord record;
    char *model;
    gint64 features, hidden, seed;
    GArray *stages;
    GPtrArray *ranges; /* char * */
} SubjectText;

typedef struct
{
    IfmYamlRecord record;
    int kind;
    gint64 seed;
} GraphText;

typedef struct
{
    IfmYamlRecord record;
    gint64 nodes;
    GArray *edges;
} SizesText;

typedef struct
{
    IfmYamlRecord record;
    char *path;
    gint64 part;
    gboolean padded;
} RealText;

typedef struct
{
    IfmYamlRecord record;
    char *device;
    int form;
    GArray *not_stages; /* gint64 */
} DeviceText;

typedef struct
{
    IfmYamlRecord record;
    gint64 warmup, runs, least_runs, most_runs, time_budget_ns;
    double ci, level;
} ProtocolText;

typedef struct
{
    IfmYamlRecord record;
    gboolean measure;
    ProtocolText *protocol;
} LinksText;

typedef struct
{
    IfmYamlRecord record;
    gboolean measure;
    ProtocolText *protocol;
} ContentionText;

typedef struct
{
    IfmYamlRecord record;
    gint64 hang_ns, case_time_ns, memory_bytes;
} LimitsText;

typedef struct
{
    IfmYamlRecord record;
    char *title, *name;
    SubjectText *subject;
    GraphText *graph;
    GPtrArray *sizes, *graphs, *devices;
    ProtocolText *protocol;
    LinksText *links;
    ContentionText *contention;
    LimitsText *limits;
} StudyText;

extern const IfmYamlTable study_text_table;
/* study_kind_words: in step with IfmGraphKind. */
extern const char *const study_kind_words[];
