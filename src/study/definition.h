#pragma once
#include "study-kind.h"
#include <base/fields.h>

/* A study's YAML as it is read: what studies of every kind have. A kind's own record begins with StudyText. */

struct DeviceText
{
    IfmPlace place;
    char *device;
    int form;
    GArray *not_stages; /* gint64 */
};

typedef struct
{
    IfmPlace place;
    IfmProtocol protocol;
} ProtocolText;

typedef struct
{
    IfmPlace place;
    IfmLimits limits;
} LimitsText;

struct StudyText
{
    IfmPlace place;
    char *title, *name, *kind, *energy;
    GPtrArray *devices; /* DeviceText* */
    ProtocolText *protocol;
    LimitsText *limits;
};

/* study_text_new_fields: (transfer full) The keys of every study with those of a kind between them; NULL: without. */
IfmRecordField *study_text_new_fields(const StudyKind *kind);
extern const IfmRecordField study_protocol_fields[];

/* study_take_protocol: @text: NULL leaves it as it is. */
gboolean study_take_protocol(IfmProtocol *protocol, const ProtocolText *text, GError **error);
/* study_seal_texts: ends a file's list with NULL. @are_inputs: "NAME=WHAT" as profile --input has it, whose paths are
 * relative to the file of @place */
void study_seal_texts(const IfmPlace *place, GPtrArray *texts, gboolean are_inputs);
/* study_texts_to_json: (transfer full) of a NULL-terminated list. */
json_t *study_texts_to_json(const GPtrArray *texts);
/* study_prefix_place: @trouble with the place of a record before it. @trouble: (transfer full) Returns: FALSE */
gboolean study_prefix_place(const IfmPlace *record, GError *trouble, GError **error);
