#pragma once
#include "study-private.h"

/*
 * StudyKind: how a study's axes become cases. One file a kind, with one static struct, and a row in study-kinds.c;
 * docs/add-a-study-kind.md lists the steps. A kind keeps its axes in IfmStudy.own and what it knows of a case in
 * StudyCase.own; devices, protocol, limits, phases, resume, manifest and tables are the same for all.
 */

typedef struct DeviceText DeviceText;

#define STUDY_DEFAULT_KIND "stages"

struct StudyKind
{
    const char *name; /* what `kind:` says */
    const char *help; /* what it spans, in a few words */
    /* fields: its own keys of the file, ending with a NULL key. text_size: of the record that they fill, whose first member
     * is a StudyText (definition.h). */
    const IfmRecordField *fields;
    gsize text_size;
    /* read: its axes, out of the record, which the study keeps, before the devices are read. FALSE with "FILE:LINE: ...".
     */
    gboolean (*read)(IfmStudy *study, StudyText *text, GError **error);
    /* take_device: (optional) what its devices have of their own: not_stages. NULL: that is refused */
    gboolean (*take_device)(const IfmStudy *study, const DeviceText *text, IfmStudyDevice *device, GError **error);
    /* read_rest: (optional) what needs devices and protocol. */
    gboolean (*read_rest)(IfmStudy *study, const StudyText *text, GError **error);
    /* clear: (optional) frees IfmStudy.own. clear_case: (optional) frees StudyCase.own. */
    void (*clear)(IfmStudy *study);
    void (*clear_case)(StudyCase *one);
    /* span: adds the cases of a phase, by study_add_case(). */
    void (*span)(IfmStudy *study, int phase);
    /* recall: (optional) adds the cases that the results of an earlier session led to, by the definition that it left in
     * the manifest. refine: (optional) adds cases of a phase by the results of those that there are; none where there is no
     * more to ask. FALSE with an error, which ends the run. A part of a study has its first cases alone: IfmStudy.in_parts
     */
    void (*recall)(IfmStudy *study, const json_t *definition);
    gboolean (*refine)(IfmStudy *study, int phase, const IfmStudyTables *tables, GError **error);
    /* export_files: writes what the cases of a device need, of all where it is NULL. @n_models: (out) (optional) */
    gboolean (*export_files)(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error);
    /* answers: (optional) whether a record of an earlier session, of that case with the same protocol on this machine, is
     * what would be measured now. */
    gboolean (*answers)(const IfmStudy *study, const StudyCase *one, const IfmCase *record);
    /* fill: the item's kind and spec of a case, from the files in @folder. drop: frees them, also after a failure. */
    gboolean (*fill)(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error);
    void (*drop)(StudyCase *one);
    /* pace: cases of one pace take equally long: IfmCampaignItem.pace. */
    int (*pace)(const StudyCase *one);
    /* definition: (transfer full) what the manifest says of the axes. Its member "model" is what makes a store this
     * study's: two that differ in it are different studies. */
    json_t *(*definition)(const IfmStudy *study);
    gboolean spans_by_run; /* span asks a runtime what there is to measure */
    gboolean one_device;   /* a second one is refused: what its tables come to is learnt of one */
    gboolean needs_peaks;  /* its tables compare with what each device can at most: measured before the first case */
    gboolean own_devices;  /* devices of the command line take the place of the file's: they are no subject of the study */
    const char *energy;    /* the default of `energy`; NULL: none is measured */
};

/* study-implausible.c. study_mark_rows: @rows: IfmStudyRow*; those that others contradict have code and reason from then
 * on. study_mark_points: along each axis, by their FLOP. */
void study_mark_rows(GPtrArray *rows);
void study_mark_points(IfmStudyTables *points);

/* study_kinds: NULL-terminated. */
extern const StudyKind *const study_kinds[];
extern const StudyKind study_kind_stages, study_kind_profile, study_kind_conv, study_kind_kernels;
/* study_kind_find: NULL where there is none of that name. */
const StudyKind *study_kind_find(const StudyKind *const *kinds, const char *name);
/* study_open_with: ifm_study_open_set() of a study of one of these kinds. */
IfmStudy *study_open_with(const StudyKind *const *kinds, const char *name, const char *const *settings, GError **error);
/* study_new: with nothing but its kind. */
IfmStudy *study_new(const StudyKind *kind);
/* study_point_new: (transfer full) a case of a kind without stages. @axes: (transfer full) in the order of the tables */
StudyCase *study_point_new(IfmStudyDevice *device, json_t *axes);
/* study_add_case: @one: (transfer full) with device, to and background load set, and of its row alias and title; a phase
 * that is not the one spanned drops it. */
void study_add_case(IfmStudy *study, int phase, StudyCase *one);
