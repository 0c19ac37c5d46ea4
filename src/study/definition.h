#pragma once
#include "study-kind.h"

/* A study's YAML as it is read: what studies of every kind have. A kind's own record begins with StudyText. */

struct DeviceText
{
    IfmYamlRecord record;
    char *device;
    int form;
    GArray *not_stages; /* gint64 */
};

typedef struct
{
    IfmYamlRecord record;
    gint64 warmup, runs, min_runs, max_runs, time_budget_ns;
    double ci, level;
} ProtocolText;

typedef struct
{
    IfmYamlRecord record;
    gint64 hang_ns, case_time_ns, memory_bytes;
} LimitsText;

struct StudyText
{
    IfmYamlRecord record;
    char *title, *name, *kind, *energy;
    GPtrArray *devices; /* DeviceText* */
    ProtocolText *protocol;
    LimitsText *limits;
};

/* study_text_new_table: The keys of every study with those of a kind between them. study_text_free_table */
IfmYamlTable *study_text_new_table(const StudyKind *kind);
void study_text_free_table(IfmYamlTable *table);
extern const IfmYamlTable study_protocol_table;

/* study_take_protocol: @text: NULL leaves it as it is. */
gboolean study_take_protocol(IfmProtocol *protocol, const ProtocolText *text, GError **error);
/* study_new_inputs: "NAME=WHAT" as profile --input has it, of a file's words; paths are relative to that file. (transfer
 * full) char*, NULL-terminated */
GPtrArray *study_new_inputs(const IfmYamlRecord *record, const GPtrArray *words);
/* study_texts_to_json: (transfer full) of a NULL-terminated list. */
json_t *study_texts_to_json(const GPtrArray *texts);
/* study_prefix_place: @trouble with the place of a record before it. @trouble: (transfer full) Returns: FALSE */
gboolean study_prefix_place(const IfmYamlRecord *record, GError *trouble, GError **error);
