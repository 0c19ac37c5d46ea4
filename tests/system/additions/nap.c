/* A nap: what describes a case of it, its record, and how it is measured, in this process. */
#include <base/fields.h>
#include <store/store.h>

#include "../runner-private.h"

static const IfmRecordField fields[] = {
    { IFM_RECORD(INT64, IfmNapCase, length_us), .key = "length_us" },
    { IFM_RECORD(PART, IfmNapCase, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    const IfmNapCase *nap = spec;
    return (nap->length_us > 0 || ifm_error_refuse(error, "nap: found no length, expected 1 us or more")) &&
           ifm_protocol_check(&nap->protocol, error);
}

static gboolean seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    ifm_record_set_text(&record->subject_name, "nap");
    ifm_record_set_text(&record->device, IFM_HOST_DEVICE);
    return TRUE;
}

static gboolean run(void *self, GError **error)
{
    g_usleep((gulong)((const IfmNapCase *)self)->length_us);
    return TRUE;
}

static gboolean subject(const void *spec, IfmSubject *subject, GError **error)
{
    *subject = (IfmSubject){ .name = "nap", .run = run, .self = (gpointer)spec };
    return TRUE;
}

const IfmCaseKind ifm_kind_nap = {
    .name = "nap", .size = sizeof(IfmNapCase), .fields = fields, .complete = complete, .seal = seal, .subject = subject
};
