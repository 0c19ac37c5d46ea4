#pragma once
#include "runner-private.h"
#include "worker-private.h"

G_BEGIN_DECLS

/* How a kind of case is measured in a worker: what kinds.c and the files in kinds/ share. */

/** IfmKindPlace: where a case is measured. */
struct IfmKindPlace
{
    char *worker;       /* the key of the worker */
    GPtrArray *devices; /* IfmDeviceSpec*: what it needs */
    GPtrArray *texts;   /* char*: what the spec borrows from now on */
    double level;       /* of the summary */
    gboolean is_set;    /* of several devices: the workers of other sets end before */
    void *job;          /* the kind's own, from place to finish */
};
/** ifm_kind_place_add: Parses a device, which the case needs. (transfer none) */
const IfmDeviceSpec *ifm_kind_place_add(IfmKindPlace *place, const char *device, GError **error);
/** ifm_kind_place_keep: @text: (transfer full) (optional) Returns: (transfer none) */
const char *ifm_kind_place_keep(IfmKindPlace *place, char *text);
/** ifm_kind_place_path: (transfer none) absolute, since workers have another folder of their own; NULL stays NULL. */
const char *ifm_kind_place_path(IfmKindPlace *place, const char *path);
void ifm_kind_place_init(IfmKindPlace *place);
void ifm_kind_place_clear(IfmKindPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmKindPlace, ifm_kind_place_clear)

/** IfmKindInWorker: the upper half is called in the program, the lower one in the worker. Slots may be NULL but for place,
 * prepare and run. */
typedef struct IfmKindInWorker
{
    /* place: Says where, and completes a copy of the spec for the message to the worker: canonical, with absolute paths. */
    gboolean (*place)(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error);
    /* ask: Completes the request with what files and other workers give. FALSE without @error where @skipped was set. */
    gboolean (*ask)(IfmRunMonitor *monitor, const void *spec, const IfmCase *sealed, IfmKindPlace *place, json_t *request,
                    IfmMeasurement **skipped, GError **error);
    /* finish: @measurement: NULL where there is none */
    void (*finish)(IfmRunner *runner, const void *spec, IfmKindPlace *place, IfmMeasurement *measurement);
    /* vary: What differs between two processes of one case, as it does by itself on a real device. */
    void (*vary)(json_t *request_case, GRand *random);
    gboolean needs_reference; /* between preparing and running: right outputs; the spec is then an IfmModelCase */

    /* prepare: all before the first timed run: opened, checked, compiled. A failure goes into the record. */
    gboolean (*prepare)(Worker *worker, const json_t *request, GError **error);
    gboolean (*run)(Worker *worker, const json_t *request, GError **error);
    void (*drop)(Worker *worker); /* frees Worker.state */
    /* subject: of what is prepared, for runs in rounds; NULL: it cannot be run once more. still_there: after them; and what
     * verifying saw goes into the record. */
    IfmSubject (*subject)(Worker *worker);
    gboolean (*still_there)(Worker *worker, GError **error);
    /* node_times: (optional) of what is prepared, compiled once more for that: fills the nodes of @measurement. */
    gboolean (*node_times)(Worker *worker, gint64 time_ns, IfmMeasurement *measurement, GError **error);
} IfmKindInWorker;

/** ifm_kinds: all that can be measured in a worker; ends with NULL. */
extern const IfmCaseKind *const ifm_kinds[];
/** ifm_kind_find: IFM_ERROR_INVALID where there is none of that name. */
const IfmCaseKind *ifm_kind_find(const char *name, GError **error);
/** ifm_kind_field: of what describes its cases; NULL: it has none of that name. */
const IfmRecordField *ifm_kind_field(const IfmCaseKind *kind, const char *name);
/** ifm_kind_protocol: that of a case, where its kind has one; else NULL. */
IfmProtocol *ifm_kind_protocol(const IfmCaseKind *kind, void *spec);
/** ifm_kind_request: (transfer full) what a worker is asked to measure. */
json_t *ifm_kind_request(const IfmCaseKind *kind, const void *spec, const IfmCase *sealed, gint64 memory_bytes);

/* --- worker-compare.c --------------------------------------------------------------------------------------------- */

/** ifm_compare_answer: What a worker answers to a request of a comparison, of a subject in this process. (transfer full) */
json_t *ifm_compare_answer(const IfmSubject *subject, const json_t *request, const gint *interrupted, GError **error);

G_END_DECLS
