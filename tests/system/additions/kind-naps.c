/* Kind "naps": naps of several lengths. */
#include <measure/kinds.h>
#include <measure/measure.h>

#include "definition.h"

typedef struct
{
    StudyText study;
    GArray *lengths_us;
} NapText;

static const IfmRecordField fields[] = { IFM_FIELD(SERIES, NapText, lengths_us, .required = TRUE, .filled = TRUE, .min = 1,
                                                   .max = 1e6, .help = "how long each nap is"),
                                         { 0 } };

static gboolean read_lengths(IfmStudy *study, StudyText *text, GError **error)
{
    study->own = g_array_copy(((const NapText *)(const void *)text)->lengths_us);
    return TRUE;
}

static void clear(IfmStudy *study)
{
    g_array_unref(study->own);
}

static void span(IfmStudy *study, int phase)
{
    const GArray *lengths_us = study->own;
    for (guint i = 0; i < lengths_us->len; i++)
    {
        const json_int_t length_us = g_array_index(lengths_us, gint64, i);
        study_add_case(study, phase, study_point_new(study->devices->pdata[0], json_pack("{s:I}", "length_us", length_us)));
    }
}

static gboolean export_files(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error)
{
    if (n_models != NULL)
        *n_models = 0;
    return TRUE;
}

static gboolean fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error)
{
    IfmNapCase *nap = one->text = g_new(IfmNapCase, 1);
    *nap = (IfmNapCase){ json_integer_value(json_object_get(one->row.axes, "length_us")), study->protocol };
    item->kind = &ifm_kind_nap;
    item->spec = nap;
    return TRUE;
}

static void drop(StudyCase *one)
{
    g_clear_pointer(&one->text, g_free);
}

static int pace(const StudyCase *one)
{
    return 1;
}

static json_t *definition(const IfmStudy *study)
{
    return json_pack("{s:{},s:o}", "model", "protocol", ifm_protocol_to_json(&study->protocol));
}

const StudyKind study_kind_naps = { .name = "naps",
                                    .help = "naps of several lengths",
                                    .fields = fields,
                                    .text_size = sizeof(NapText),
                                    .read = read_lengths,
                                    .clear = clear,
                                    .span = span,
                                    .export_files = export_files,
                                    .fill = fill,
                                    .drop = drop,
                                    .pace = pace,
                                    .definition = definition };
