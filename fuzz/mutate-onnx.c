/*
 * A mutator that knows the format: changed at random, bytes seldom stay a model, for every message says how long it is. So
 * half of the time the input is unpacked, one field of one message is changed, and it is packed again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "onnx-private.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Place: one field of one message of the model. */
typedef struct
{
    ProtobufCMessage *message;
    const ProtobufCFieldDescriptor *field;
} Place;

typedef struct
{
    GRand *random;
    GArray *places;      /* of Place */
    GPtrArray *messages; /* all messages */
    GPtrArray *strings;  /* all strings (borrowed) */
} Mutator;

static const char *const words[] = {
    "",
    "x",
    "y",
    "N",
    "MatMul",
    "Gemm",
    "Conv",
    "Add",
    "Relu",
    "MaxPool",
    "Flatten",
    "Reshape",
    "Softmax",
    "Transpose",
    "Concat",
    "Gather",
    "Squeeze",
    "Unsqueeze",
    "If",
    "axis",
    "axes",
    "perm",
    "keepdims",
    "transA",
    "pads",
    "strides",
    "dilations",
    "group",
    "value",
    "auto_pad",
    "VALID",
    "SAME_UPPER",
    "ceil_mode",
    "ReduceSum",
    "kernel_shape",
    "ai.onnx",
    "Shape",
    "location",
    "Constant",
    "value_ints",
    "ConstantOfShape",
    "inferometer.range.x",
    "-1 1",
    "../x",
    "size",
    "weights.bin",
    "sub/more.bin",
    "link.bin",
    "out/outside.bin",
    "../outside.bin",
    "offset",
    "length",
    "64",
    "63",
    "18446744073709551615",
    "9223372036854775807",
    "Slice",
    "Split",
    "Pad",
    "Tile",
    "TopK",
    "OneHot",
    "Resize",
    "Upsample",
    "Einsum",
    "ij,jk->ik",
    "...i",
    "LSTM",
    "GRU",
    "ConvTranspose",
    "LayerNormalization",
    "QLinearConv",
    "MatMulInteger",
    "QuantizeLinear",
    "Range",
    "NonZero",
    "Compress",
    "Loop",
    "Scan",
    "body",
    "num_scan_inputs",
    "else_branch",
    "then_branch",
    "Attention",
    "MultiHeadAttention",
    "GroupQueryAttention",
    "com.microsoft",
    "com.microsoft.nchwc",
    "FusedMatMul",
    "FusedConv",
    "SkipLayerNormalization",
    "EmbedLayerNormalization",
    "num_heads",
    "kv_num_heads",
    "qkv_hidden_sizes",
    "ReorderInput",
    "ReorderOutput",
    "channels",
    "channels_last",
    "GridSample",
    "RoiAlign",
    "Col2Im",
    "DeformConv",
    "CenterCropPad",
    "MaxUnpool",
    "DepthToSpace",
    "blocksize",
    "equation",
    "hidden_size",
    "output_padding",
    "output_shape",
    "keep_aspect_ratio_policy",
    "not_larger",
};

static const gint64 numbers[] = { 0,  1,  2,   3,          4,          7,           8,          16,         17,
                                  -1, -2, -16, G_MAXINT32, G_MININT32, G_MAXUINT32, G_MAXINT64, G_MININT64, 1LL << 56 };

static guint pick(Mutator *mutator, gsize n)
{
    return (guint)g_rand_int_range(mutator->random, 0, (gint32)n);
}

static gint64 number(Mutator *mutator, gint64 old)
{
    switch (pick(mutator, 3))
    {
    case 0:
        return (gint64)((guint64)old + (guint64)pick(mutator, 3) - 1);
    case 1:
        return pick(mutator, 32);
    default:
        return numbers[pick(mutator, G_N_ELEMENTS(numbers))];
    }
}

static char *text(Mutator *mutator)
{
    if (mutator->strings->len > 0 && pick(mutator, 2) == 0)
        return g_strdup(g_ptr_array_index(mutator->strings, pick(mutator, mutator->strings->len)));
    return g_strdup(words[pick(mutator, G_N_ELEMENTS(words))]);
}

static gsize size_of(ProtobufCType type)
{
    switch (type)
    {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return 8;
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static void collect(Mutator *mutator, ProtobufCMessage *message)
{
    g_ptr_array_add(mutator->messages, message);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
    {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        char *member = (char *)message + field->offset, *quantifier = (char *)message + field->quantifier_offset;
        gboolean repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        gboolean other = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 && *(guint32 *)(void *)quantifier != field->id;
        Place place = { message, field };
        if (other) /* of a oneof, only the one that is there */
            continue;
        g_array_append_val(mutator->places, place);
        gsize n = repeated ? *(size_t *)(void *)quantifier : 1;
        for (gsize k = 0; k < n; k++)
        {
            void **element = repeated ? *(void ***)(void *)member + k : (void **)(void *)member;
            if (field->type == PROTOBUF_C_TYPE_MESSAGE && *element != NULL)
                collect(mutator, *element);
            else if (field->type == PROTOBUF_C_TYPE_STRING && *element != NULL)
                g_ptr_array_add(mutator->strings, *element);
        }
    }
}

/* a_message: Returns: a copy of some message of that type; an empty one where there is none. */
static ProtobufCMessage *a_message(Mutator *mutator, const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *found = NULL;
    for (guint i = 0, n = 0; i < mutator->messages->len; i++)
    {
        ProtobufCMessage *message = g_ptr_array_index(mutator->messages, i);
        if (message->descriptor == type && pick(mutator, ++n) == 0)
            found = message;
    }
    g_autofree uint8_t *bytes = found != NULL ? g_malloc(protobuf_c_message_get_packed_size(found) + 1) : NULL;
    return protobuf_c_message_unpack(type, NULL, found != NULL ? protobuf_c_message_pack(found, bytes) : 0, bytes);
}

/* change: Gives one element of @field a new value. */
static void change(Mutator *mutator, const ProtobufCFieldDescriptor *field, void *element)
{
    ProtobufCBinaryData *bytes = element;
    void *made = NULL;
    switch (field->type)
    {
    case PROTOBUF_C_TYPE_STRING: /* the new first: it may be a copy of the old */
        made = text(mutator);
        g_free(*(char **)element);
        *(void **)element = made;
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        if (field->label == PROTOBUF_C_LABEL_REPEATED || pick(mutator, 4) != 0)
            made = a_message(mutator, field->descriptor);
        if (*(void **)element != NULL)
            protobuf_c_message_free_unpacked(*(void **)element, NULL);
        *(void **)element = made;
        break;
    case PROTOBUF_C_TYPE_BYTES:
        bytes->len =
            pick(mutator, 4) == 0 ? pick(mutator, 80) : (bytes->len + (gsize)pick(mutator, 9)) - MIN(bytes->len, 4);
        bytes->data = g_realloc(bytes->data, bytes->len + 1);
        if (bytes->len > 0)
            memset(bytes->data + bytes->len / 2, (int)pick(mutator, 256), bytes->len - bytes->len / 2);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)element = (float)number(mutator, 1) / 2;
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)element = (double)number(mutator, 1) / 2;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        *(gint64 *)element = number(mutator, *(gint64 *)element);
        break;
    default:
        *(gint32 *)element = (gint32)number(mutator, *(gint32 *)element);
    }
}

static void change_repeated(Mutator *mutator, const ProtobufCFieldDescriptor *field, char **array, size_t *n)
{
    gsize size = size_of(field->type);
    guint at = *n > 0 ? pick(mutator, *n) : 0, other = *n > 0 ? pick(mutator, *n) : 0;
    char swap[sizeof(ProtobufCBinaryData)], *element = *n > 0 ? *array + at * size : NULL;
    guint what = *n == 0 ? 0 : pick(mutator, 4);
    ProtobufCBinaryData made; /* the largest element there is */
    if (what == 0)            /* one more at the end */
    {
        memset(&made, 0, sizeof made);
        change(mutator, field, &made);
        *array = g_realloc(*array, (*n + 1) * size);
        memcpy(*array + (*n)++ * size, &made, size);
    }
    else if (what == 1) /* swap two */
    {
        memcpy(swap, element, size);
        memcpy(element, *array + other * size, size);
        memcpy(*array + other * size, swap, size);
    }
    else if (what == 2 && field->type != PROTOBUF_C_TYPE_BYTES) /* one less */
    {
        if (field->type == PROTOBUF_C_TYPE_STRING)
            g_free(*(char **)(void *)element);
        else if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            protobuf_c_message_free_unpacked(*(void **)(void *)element, NULL);
        memmove(element, element + size, (*n - at - 1) * size);
        (*n)--;
    }
    else
        change(mutator, field, element);
}

static void mutate(Mutator *mutator, ProtobufCMessage *root)
{
    collect(mutator, root);
    const Place *place = &g_array_index(mutator->places, Place, pick(mutator, mutator->places->len));
    char *member = (char *)place->message + place->field->offset;
    void *quantifier = (char *)place->message + place->field->quantifier_offset;
    if (place->field->label == PROTOBUF_C_LABEL_REPEATED)
    {
        change_repeated(mutator, place->field, (char **)(void *)member, quantifier);
        return;
    }
    gboolean oneof = (place->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (oneof && place->field->type == PROTOBUF_C_TYPE_MESSAGE)
        return;
    gboolean has = !oneof && place->field->type != PROTOBUF_C_TYPE_STRING && place->field->type != PROTOBUF_C_TYPE_MESSAGE;
    if (has)
        *(protobuf_c_boolean *)quantifier = pick(mutator, 8) != 0;
    change(mutator, place->field, member);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    g_autoptr(GByteArray) compact = g_byte_array_new();
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(IfmOnnxSpan));
    if (seed % 2 == 0 || !ifm_onnx_scan(data, size, compact, spans, NULL))
        return LLVMFuzzerMutate(data, size, max_size);
    Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, data);
    if (model == NULL)
        return LLVMFuzzerMutate(data, size, max_size);
    Mutator mutator = { g_rand_new_with_seed(seed), g_array_new(FALSE, FALSE, sizeof(Place)), g_ptr_array_new(),
                        g_ptr_array_new() };
    mutate(&mutator, &model->base);
    gsize packed = onnx__model_proto__get_packed_size(model);
    if (packed <= max_size)
        size = onnx__model_proto__pack(model, data);
    onnx__model_proto__free_unpacked(model, NULL);
    g_rand_free(mutator.random);
    g_array_unref(mutator.places);
    g_ptr_array_unref(mutator.messages);
    g_ptr_array_unref(mutator.strings);
    return size;
}
