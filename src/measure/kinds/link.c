/* A link between two devices: what describes a case of it, its record, and how it is measured. */
#include <string.h>

#include <base/fields.h>
#include <store/store.h>

#include "../kind-private.h"

/* Beyond it no host has memory for; what less the devices have is theirs to say. */
#define MAX_BYTES (G_GINT64_CONSTANT(1) << 40)

static const IfmRecordField fields[] = {
    { IFM_RECORD(NAME, IfmLinkCase, from) },
    { IFM_RECORD(NAME, IfmLinkCase, to) },
    { IFM_RECORD(NAME, IfmLinkCase, from_alias) },
    { IFM_RECORD(NAME, IfmLinkCase, to_alias) },
    { IFM_RECORD(INT64, IfmLinkCase, size_bytes) },
    { IFM_RECORD(PART, IfmLinkCase, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { NULL },
};

static gboolean complete(void *spec, GError **error)
{
    const IfmLinkCase *link_case = spec;
    return ifm_protocol_check(&link_case->protocol, error) &&
           ((link_case->size_bytes >= 1 && link_case->size_bytes <= MAX_BYTES) ||
            ifm_error_refuse(error, "link: found %" G_GINT64_FORMAT " bytes, expected 1 to %" G_GINT64_FORMAT,
                             link_case->size_bytes, MAX_BYTES));
}

/* --- the record --------------------------------------------------------------------------------------------------- */

/* "" where neither has one. */
static char *alias_of(const IfmLinkCase *link_case, const IfmDeviceSpec *from, const IfmDeviceSpec *to)
{
    const char *first = link_case->from_alias, *second = link_case->to_alias;
    if (first == NULL && second == NULL)
        return g_strdup("");
    return g_strdup_printf("%s>%s", first != NULL ? first : from->text, second != NULL ? second : to->text);
}

static gboolean seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    const IfmLinkCase *link_case = spec;
    g_autoptr(IfmDeviceSpec) from = ifm_device_spec_parse(link_case->from, error);
    g_autoptr(IfmDeviceSpec) to = from != NULL ? ifm_device_spec_parse(link_case->to, error) : NULL;
    const json_t *from_facts = to != NULL ? ifm_runner_engine_facts(runner, from->text, from, error) : NULL;
    const json_t *to_facts = from_facts != NULL ? ifm_runner_engine_facts(runner, to->text, to, error) : NULL;
    if (to_facts == NULL)
        return FALSE;
    g_autofree char *device = g_strdup_printf("%s>%s", from->text, to->text), *alias = alias_of(link_case, from, to);
    ifm_record_set_text(&record->subject_name, "link");
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, alias);
    ifm_record_set_json(&record->sizes, json_pack("{s:I}", "bytes", (json_int_t)link_case->size_bytes));
    ifm_case_set_engine(record, to_facts);
    json_object_set(record->environment, "sender_engine", json_object_get(from_facts, "engine"));
    json_object_set(record->environment, "sender_engine_version", json_object_get(from_facts, "version"));
    return TRUE;
}

static gboolean place(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error)
{
    IfmLinkCase *link_case = spec;
    const IfmDeviceSpec *from = ifm_kind_place_add(place, link_case->from, error);
    const IfmDeviceSpec *to = from != NULL ? ifm_kind_place_add(place, link_case->to, error) : NULL;
    if (to == NULL)
        return FALSE;
    link_case->from = from->text;
    link_case->to = to->text;
    place->worker = g_strdup(sealed->device);
    place->level = link_case->protocol.level;
    place->is_set = TRUE;
    return TRUE;
}

static const IfmRecordField result_fields[] = {
    { IFM_RECORD(INT, IfmLinkResult, copies) },
    { IFM_RECORD(FLAG, IfmLinkResult, shared), .optional = TRUE },
    { IFM_RECORD(FLAG, IfmLinkResult, assumed), .optional = TRUE },
    { IFM_RECORD(WORDS, IfmLinkResult, within_inference), .optional = TRUE },
    { IFM_RECORD(WORDS, IfmLinkResult, around_inference), .optional = TRUE },
    { NULL },
};

gboolean ifm_link_result(const IfmMeasurement *link, IfmLinkResult *result)
{
    const json_t *reported = ifm_measurement_result(link, NULL);
    *result = (IfmLinkResult){ .lists = g_ptr_array_new_with_free_func(g_free) };
    return reported != NULL && ifm_record_from_json(result, result_fields, reported, "result", result->lists, NULL) &&
           result->copies > 0;
}

void ifm_link_result_clear(IfmLinkResult *result)
{
    g_clear_pointer(&result->lists, g_ptr_array_unref);
    *result = (IfmLinkResult){ 0 };
}

/* --- in the worker ------------------------------------------------------------------------------------------------ */

/* One end of a link. */
typedef struct
{
    IfmEngine *engine; /* borrowed */
    IfmDeviceSpec *spec;
    IfmDeviceInfo *info;
    IfmBuffer *buffer; /* NULL where the tensor handed over lies in host memory */
    IfmTensor tensor;  /* what is handed over, as this device has it */
} Side;

/* One copy; where the device has buffers its engine makes it and is waited for. */
typedef struct
{
    Side *by;
    const IfmTensor *from, *to;
} Copy;

/* Everything a link case holds while it is measured. */
typedef struct
{
    Worker *worker;
    const IfmLinkCase *link_case;
    Side from, to;
    const Side *blamed; /* whose engine failed last; NULL: none was asked yet */
    gboolean reported_lost;
    Copy copies[2];
    gsize n_copies;
    gboolean same_device;
    IfmTensor sent;    /* in host memory: what must arrive */
    IfmTensor staging; /* in host memory, between two devices' own */
    IfmTensor back;    /* in host memory: what arrived in a device's own */
    gboolean ran;      /* since the last check */
    gsize n_checks;
} Link;

/* --- the two ends ------------------------------------------------------------------------------------------------- */

static gboolean has_buffers(const Side *side)
{
    return (side->info->capabilities & IFM_CAN_BUFFERS) != 0;
}

/* Its memory cannot be reached from here: the runtime takes tensors in host memory. */
static gboolean is_hidden(const Side *side)
{
    return side->info->own_memory && !has_buffers(side);
}

/* A pipeline copies there and back itself, around each inference, which alone, from host tensors, holds the same copies. */
static gboolean is_copied_around(const Side *side)
{
    return side->info->own_memory && has_buffers(side) && !side->info->transfers_in_latency;
}

static gboolean side_open(Link *self, Side *side, const char *device, GError **error)
{
    self->blamed = side;
    side->engine = worker_open_device(self->worker, device, &side->spec, error);
    return side->engine != NULL;
}

static gboolean side_find(Link *self, Side *side, GError **error)
{
    self->blamed = side;
    side->info = ifm_engine_find_device(side->engine, side->spec, error);
    return side->info != NULL;
}

static void side_clear(Side *side)
{
    ifm_buffer_free(side->buffer);
    ifm_tensor_clear(&side->tensor);
    g_clear_pointer(&side->info, ifm_device_info_free);
    g_clear_pointer(&side->spec, ifm_device_spec_free);
}

/* Of a device whose copies take described time, that time must be known: none at all would look like a free link. */
static gboolean check_described(const Side *side, GError **error)
{
    return side->info->link_source != IFM_LINK_UNKNOWN ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                         "%s: what a copy takes is not known: its description has no key \"link\"", side->spec->text);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static gboolean make_host(IfmTensor *tensor, gint64 size_bytes, GError **error)
{
    if (!ifm_tensor_init(tensor, IFM_DTYPE_U8, 1, &size_bytes, error))
        return FALSE;
    memset(tensor->data, 0, tensor->size_bytes); /* the pages exist from here on */
    return TRUE;
}

static gboolean make_tensor(Side *side, gint64 size_bytes, GError **error)
{
    if (!has_buffers(side))
        return make_host(&side->tensor, size_bytes, error);
    side->buffer = ifm_engine_buffer_alloc(side->engine, side->spec, (gsize)size_bytes, error);
    return side->buffer != NULL && ifm_buffer_tensor(side->buffer, IFM_DTYPE_U8, 1, &size_bytes, &side->tensor, error);
}

/* Bytes that depend on their place, so that none arrives by chance or at another one's place (splitmix64). */
static void fill_pattern(IfmTensor *tensor)
{
    guint8 *bytes = tensor->data;
    for (gsize i = 0; i < tensor->size_bytes; i += sizeof(guint64))
    {
        guint64 word = (i / sizeof(guint64) + 1) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
        word = (word ^ (word >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
        word = (word ^ (word >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
        word ^= word >> 31;
        memcpy(bytes + i, &word, MIN(sizeof word, tensor->size_bytes - i));
    }
}

/* --- copying ------------------------------------------------------------------------------------------------------ */

static gboolean make_copy(Link *self, const Copy *copy, GError **error)
{
    self->blamed = copy->by;
    if (copy->by->buffer == NULL)
        return ifm_engine_copy_host(copy->by->engine, copy->by->spec, copy->from, copy->to, error);
    return ifm_engine_copy(copy->by->engine, copy->from, copy->to, error) && ifm_engine_sync(copy->by->engine, error);
}

static void add_copy(Link *self, Side *by, const IfmTensor *from, const IfmTensor *to)
{
    self->copies[self->n_copies++] = (Copy){ by, from, to };
}

/* What a pipeline has to do to get the tensor across. */
static gboolean plan_copies(Link *self, gint64 size_bytes, GError **error)
{
    Side *from = &self->from, *to = &self->to;
    gboolean staged = has_buffers(from) && has_buffers(to) && !self->same_device;
    if (staged)
    {
        add_copy(self, from, &from->tensor, &self->staging);
        add_copy(self, to, &self->staging, &to->tensor);
    }
    else
        add_copy(self, has_buffers(to) || !has_buffers(from) ? to : from, &from->tensor, &to->tensor);
    for (gsize i = 0; i < self->n_copies; i++)
        if (!check_described(self->copies[i].by, error))
            return FALSE;
    return !staged || make_host(&self->staging, size_bytes, error);
}

static gboolean fill_sender(Link *self, gint64 size_bytes, GError **error)
{
    if (!make_host(&self->sent, size_bytes, error))
        return FALSE;
    fill_pattern(&self->sent);
    if (self->from.buffer != NULL)
        return make_copy(self, &(Copy){ &self->from, &self->sent, &self->from.tensor }, error);
    memcpy(self->from.tensor.data, self->sent.data, self->sent.size_bytes);
    return TRUE;
}

static gboolean take_memory(Link *self, GError **error)
{
    const gint64 size_bytes = self->link_case->size_bytes;
    if (!side_find(self, &self->from, error) || !side_find(self, &self->to, error))
        return FALSE;
    self->same_device = self->from.engine == self->to.engine && g_str_equal(self->from.info->spec, self->to.info->spec);
    if (!plan_copies(self, size_bytes, error))
        return FALSE;
    self->blamed = &self->from;
    if (!make_tensor(&self->from, size_bytes, error) || !fill_sender(self, size_bytes, error))
        return FALSE;
    self->blamed = &self->to;
    return make_tensor(&self->to, size_bytes, error) &&
           (self->to.buffer == NULL || make_host(&self->back, size_bytes, error));
}

static void drop(Worker *worker)
{
    Link *self = worker->state;
    side_clear(&self->from);
    side_clear(&self->to);
    ifm_tensor_clear(&self->sent);
    ifm_tensor_clear(&self->staging);
    ifm_tensor_clear(&self->back);
    g_clear_pointer(&worker->state, g_free);
}

/* --- as a subject ------------------------------------------------------------------------------------------------- */

static gboolean run_copies(void *user, GError **error)
{
    Link *self = user;
    self->ran = TRUE;
    for (gsize i = 0; i < self->n_copies; i++)
        if (!make_copy(self, &self->copies[i], error))
            return FALSE;
    return TRUE;
}

static gboolean compare(const IfmTensor *sent, const IfmTensor *arrived, GError **error)
{
    const guint8 *a = sent->data, *b = arrived->data;
    gsize i = 0;
    if (memcmp(a, b, sent->size_bytes) == 0)
        return TRUE;
    while (a[i] == b[i])
        i++;
    return ifm_error_set(error, IFM_ERROR_FAILED, "what arrived is wrong: byte %zu of %zu is 0x%02x, sent was 0x%02x", i,
                         sent->size_bytes, b[i], a[i]);
}

/* So that the next check sees bytes that came across after this one. */
static gboolean scrub(Link *self, GError **error)
{
    if (self->n_copies > 1)
        memset(self->staging.data, 0, self->staging.size_bytes);
    if (self->to.buffer == NULL)
    {
        memset(self->to.tensor.data, 0, self->to.tensor.size_bytes);
        return TRUE;
    }
    memset(self->back.data, 0, self->back.size_bytes);
    return make_copy(self, &(Copy){ &self->to, &self->back, &self->to.tensor }, error);
}

static gboolean verify(void *user, GError **error)
{
    Link *self = user;
    const IfmTensor *arrived = self->to.buffer != NULL ? &self->back : &self->to.tensor;
    if (!self->ran) /* nothing came since */
        return TRUE;
    self->ran = FALSE;
    self->n_checks++;
    if (self->to.buffer != NULL && !make_copy(self, &(Copy){ &self->to, &self->to.tensor, &self->back }, error))
        return FALSE;
    return compare(&self->sent, arrived, error) && scrub(self, error);
}

static IfmSubject subject(Worker *worker)
{
    Link *self = worker->state;
    return (IfmSubject){
        .name = "link", .clock = ifm_engine_info(self->to.engine).clock, .run = run_copies, .verify = verify, .self = self
    };
}

/* --- its result --------------------------------------------------------------------------------------------------- */

/* (transfer full) the JSON of the IfmLinkResult */
static json_t *result_of(const Link *self)
{
    const Side *sides[] = { &self->from, &self->to };
    const char *hidden[G_N_ELEMENTS(sides) + 1] = { NULL }, *around[G_N_ELEMENTS(sides) + 1] = { NULL };
    gsize n_hidden = 0, n_around = 0;
    gboolean own_memory = FALSE;
    IfmLinkResult result = { .copies = (int)self->n_copies, .within_inference = hidden, .around_inference = around };
    for (gsize i = 0; i < G_N_ELEMENTS(sides); i++)
    {
        own_memory |= sides[i]->info->own_memory;
        if (is_hidden(sides[i]))
            hidden[n_hidden++] = sides[i]->spec->text;
        if (is_copied_around(sides[i]))
            around[n_around++] = sides[i]->spec->text;
    }
    for (gsize i = 0; i < self->n_copies; i++)
        result.assumed |= self->copies[i].by->info->link_source == IFM_LINK_ASSUMED;
    result.shared = !own_memory || (self->same_device && has_buffers(&self->to));
    return ifm_record_to_json(&result, result_fields);
}

/* --- the case in hand --------------------------------------------------------------------------------------------------
 */

/* A lost device may have done as if it copied: both must still be there afterwards. */
static gboolean still_there(Worker *worker, GError **error)
{
    Link *self = worker->state;
    g_autoptr(GPtrArray) devices = g_ptr_array_new();
    g_ptr_array_add(devices, self->from.spec->text);
    g_ptr_array_add(devices, self->to.spec->text);
    const gboolean there = worker_all_there(worker, devices, NULL, "copies", error);
    self->reported_lost |= !there;
    return there;
}

/* Asked of the kernel: on which cores this thread, which copies, may run. FALSE where they are not those asked for. */
static gboolean effective_config_cores(const Link *self, GError **error)
{
    const IfmDeviceSpec *specs[] = { self->to.spec, self->from.spec };
    g_autofree char *found = ifm_affinity_to_string();
    self->worker->measurement->effective_config = json_pack("{s:s}", "cores", found);
    for (gsize i = 0; i < G_N_ELEMENTS(specs); i++)
    {
        if (specs[i]->n_cores == 0)
            continue;
        g_autofree char *asked = ifm_cores_to_string(specs[i]->cores, specs[i]->n_cores);
        return g_str_equal(asked, found) ||
               ifm_error_set(error, IFM_ERROR_FAILED, "%s: cores %s were asked for, the copies would be made on %s",
                             specs[i]->text, asked, found);
    }
    return TRUE;
}

/* A device that says itself that it is lost. @failure: (transfer full) (nullable) Returns: whether it is NULL. */
static gboolean report_loss(Link *self, GError *failure, GError **error)
{
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST) && !self->reported_lost && self->blamed != NULL)
        worker_say_lost(self->worker, self->blamed->spec->text);
    return ifm_error_pass(error, failure);
}

/* Both go by one clock: a virtual one means nothing to a real device. */
static gboolean prepare(Worker *worker, const json_t *request, GError **error)
{
    GError *failure = NULL;
    Link *self = worker->state = g_new0(Link, 1);
    self->worker = worker;
    self->link_case = worker->spec.data;
    worker_enter_phase(worker, "opening the runtimes");
    worker->keeps_real_time = worker_is_simulated(self->link_case->from) != worker_is_simulated(self->link_case->to);
    if (!side_open(self, &self->from, self->link_case->from, error) ||
        !side_open(self, &self->to, self->link_case->to, error))
        return FALSE;
    g_autofree char *device = g_strdup_printf("%s>%s", self->link_case->from, self->link_case->to);
    worker->measurement->environment = /* the receiver's runtime makes the copy, where there is one alone */
        json_pack("{s:o,s:o,s:s,s:[]}", "runtime", worker_engine_to_json(self->to.engine), "sender_runtime",
                  worker_engine_to_json(self->from.engine), "device", device, "warnings");
    worker_report_base(worker);
    if (!worker_go_on(worker, "taking the devices' memory", 1, error))
        return FALSE;
    take_memory(self, &failure);
    if (!report_loss(self, failure, error))
        return FALSE;
    ifm_record_set_json(&worker->measurement->result, result_of(self));
    return effective_config_cores(self, error);
}

static gboolean run(Worker *worker, const json_t *request, GError **error)
{
    Link *self = worker->state;
    IfmMeasureOptions options = { .protocol = self->link_case->protocol,
                                  .interrupted = &worker->interrupted,
                                  .progress = worker_beat,
                                  .progress_user = worker };
    const IfmSubject slots = subject(worker);
    g_autoptr(GError) failure = NULL;
    worker_send_draft(worker);
    worker_enter_phase(worker, "running");
    ifm_measure_subject(&slots, &options, worker->measurement, &failure);
    json_object_set_new(worker->measurement->verification, "n_checks", json_integer(self->n_checks));
    gboolean known =
        g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) || g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    if (!known && !still_there(worker, error)) /* that says more than what it answered then */
        return FALSE;
    return report_loss(self, g_steal_pointer(&failure), error);
}

static const IfmKindInWorker in_worker = {
    .place = place, .prepare = prepare, .run = run, .drop = drop, .subject = subject, .still_there = still_there
};

const IfmCaseKind ifm_kind_link = { .name = "link",
                                    .size = sizeof(IfmLinkCase),
                                    .fields = fields,
                                    .complete = complete,
                                    .seal = seal,
                                    .in_worker = &in_worker };
