#include <string.h>

#include <base/fields.h>

#include "../measure-private.h"

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

struct IfmLinkSubject
{
    Side from, to;
    const Side *blamed; /* whose engine failed last */
    Copy copies[2];
    gsize n_copies;
    gboolean same_device;
    IfmTensor sent;    /* in host memory: what must arrive */
    IfmTensor staging; /* in host memory, between two devices' own */
    IfmTensor back;    /* in host memory: what arrived in a device's own */
    gboolean ran;      /* since the last check */
    gsize n_checks;
};

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

static gboolean side_open(IfmLinkSubject *self, Side *side, IfmEngine *engine, const char *device, GError **error)
{
    self->blamed = side;
    side->engine = engine;
    side->spec = ifm_device_spec_parse(device, error);
    side->info = side->spec != NULL ? ifm_engine_find_device(engine, side->spec, error) : NULL;
    return side->info != NULL;
}

static void side_clear(Side *side)
{
    ifm_buffer_free(side->buffer);
    ifm_tensor_clear(&side->tensor);
    g_clear_pointer(&side->info, ifm_device_info_free);
    g_clear_pointer(&side->spec, ifm_device_spec_free);
}

static gboolean is_one_device(const Side *a, const Side *b)
{
    return a->engine == b->engine && g_str_equal(a->info->spec, b->info->spec);
}

/* Of a device whose copies take described time, that time must be known: none at all would look like a free link. */
static gboolean check_described(const Side *side, GError **error)
{
    if (side->info->link_source != IFM_LINK_UNKNOWN)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                "%s: what a copy takes is not known: its description has no key \"link\"", side->spec->text);
    return FALSE;
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

static gboolean make_copy(IfmLinkSubject *self, const Copy *copy, GError **error)
{
    self->blamed = copy->by;
    if (copy->by->buffer == NULL)
        return ifm_engine_copy_host(copy->by->engine, copy->by->spec, copy->from, copy->to, error);
    return ifm_engine_copy(copy->by->engine, copy->from, copy->to, error) && ifm_engine_sync(copy->by->engine, error);
}

static void add_copy(IfmLinkSubject *self, Side *by, const IfmTensor *from, const IfmTensor *to)
{
    self->copies[self->n_copies++] = (Copy){ by, from, to };
}

/* What a pipeline has to do to get the tensor across. */
static gboolean plan_copies(IfmLinkSubject *self, gint64 size_bytes, GError **error)
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

static gboolean fill_sender(IfmLinkSubject *self, gint64 size_bytes, GError **error)
{
    if (!make_host(&self->sent, size_bytes, error))
        return FALSE;
    fill_pattern(&self->sent);
    if (self->from.buffer != NULL)
        return make_copy(self, &(Copy){ &self->from, &self->sent, &self->from.tensor }, error);
    memcpy(self->from.tensor.data, self->sent.data, self->sent.size_bytes);
    return TRUE;
}

IfmLinkSubject *ifm_link_subject_new(void)
{
    return g_new0(IfmLinkSubject, 1);
}

gboolean ifm_link_subject_open(IfmLinkSubject *self, IfmEngine *from, IfmEngine *to, const IfmLinkCase *link_case,
                               GError **error)
{
    gint64 size_bytes = link_case->size_bytes;
    if (!side_open(self, &self->from, from, link_case->from, error) ||
        !side_open(self, &self->to, to, link_case->to, error))
        return FALSE;
    self->same_device = is_one_device(&self->from, &self->to);
    if (!plan_copies(self, size_bytes, error))
        return FALSE;
    self->blamed = &self->from;
    if (!make_tensor(&self->from, size_bytes, error) || !fill_sender(self, size_bytes, error))
        return FALSE;
    self->blamed = &self->to;
    return make_tensor(&self->to, size_bytes, error) &&
           (self->to.buffer == NULL || make_host(&self->back, size_bytes, error));
}

void ifm_link_subject_free(IfmLinkSubject *self)
{
    if (self == NULL)
        return;
    side_clear(&self->from);
    side_clear(&self->to);
    ifm_tensor_clear(&self->sent);
    ifm_tensor_clear(&self->staging);
    ifm_tensor_clear(&self->back);
    g_free(self);
}

/* --- as a subject ------------------------------------------------------------------------------------------------- */

static gboolean run(void *user, GError **error)
{
    IfmLinkSubject *self = user;
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
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED,
                "what arrived is wrong: byte %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " is 0x%02x, sent was 0x%02x", i,
                sent->size_bytes, b[i], a[i]);
    return FALSE;
}

/* So that the next check sees bytes that came across after this one. */
static gboolean scrub(IfmLinkSubject *self, GError **error)
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
    IfmLinkSubject *self = user;
    const IfmTensor *arrived = self->to.buffer != NULL ? &self->back : &self->to.tensor;
    if (!self->ran) /* nothing came since */
        return TRUE;
    self->ran = FALSE;
    self->n_checks++;
    if (self->to.buffer != NULL && !make_copy(self, &(Copy){ &self->to, &self->to.tensor, &self->back }, error))
        return FALSE;
    return compare(&self->sent, arrived, error) && scrub(self, error);
}

IfmSubject ifm_link_subject_slots(IfmLinkSubject *self)
{
    return (IfmSubject){
        .name = "link", .clock = ifm_engine_info(self->to.engine).clock, .run = run, .verify = verify, .self = self
    };
}

gsize ifm_link_subject_n_checks(const IfmLinkSubject *self)
{
    return self->n_checks;
}

const char *ifm_link_subject_blamed(const IfmLinkSubject *self)
{
    return self->blamed != NULL && self->blamed->spec != NULL ? self->blamed->spec->text : NULL;
}

/* --- its result --------------------------------------------------------------------------------------------------- */

json_t *ifm_link_subject_result(const IfmLinkSubject *self)
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
    return ifm_record_to_json(&result, ifm_link_result_fields);
}
