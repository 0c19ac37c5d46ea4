/* A function of the program's own: what describes a case of it, and its record. It is measured in this process. */
#include <base/fields.h>
#include <store/store.h>

#include "../runner-private.h"

static const IfmRecordField fields[] = {
    { IFM_RECORD(NAME, IfmCallbackCase, name) },
    { IFM_RECORD(PART, IfmCallbackCase, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    IfmCallbackCase *callback = spec;
    if (callback->name == NULL)
        callback->name = callback->subject.name;
    if (callback->name == NULL || *callback->name == '\0')
        return ifm_error_refuse(error, "callback: it has no name; expected one that distinguishes it from other functions");
    if (callback->subject.run == NULL)
        return ifm_error_refuse(error, "callback %s: it has no function to run", callback->name);
    return ifm_protocol_check(&callback->protocol, error);
}

static gboolean seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmCallbackCase *callback = spec;
    ifm_record_set_text(&record->subject_name, callback->name);
    ifm_record_set_text(&record->device, IFM_HOST_DEVICE);
    if (callback->version != NULL)
        json_object_set_new(record->options, "version", json_string(callback->version));
    for (gsize i = 0; i < callback->n_sizes; i++)
        json_object_set_new(record->sizes, callback->sizes[i].name, json_integer(callback->sizes[i].value));
    return TRUE;
}

static gboolean subject(const void *spec, IfmSubject *subject, GError **error)
{
    *subject = ((const IfmCallbackCase *)spec)->subject;
    return TRUE;
}

const IfmCaseKind ifm_kind_callback = { .name = "callback",
                                        .size = sizeof(IfmCallbackCase),
                                        .fields = fields,
                                        .complete = complete,
                                        .seal = seal,
                                        .subject = subject };
