#include <base/fields.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/measure-private.h"

static void open_pair(int ends[2], IfmMessageReader *reader)
{
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), ==, 0);
    ifm_message_reader_init(reader, ends[1]);
}

static void test_messages(void)
{
    int ends[2];
    IfmMessageReader reader;
    open_pair(ends, &reader);
    json_t *got = NULL;
    g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_NOT_YET);
    for (int i = 0; i < 3; i++)
    {
        json_auto_t *message = json_pack("{s:i,s:s}", "n", i, "text", "f\xc3\xbcnf\n");
        g_assert_true(ifm_message_send(ends[0], message));
    }
    for (int i = 0; i < 3; i++)
    {
        g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_ONE);
        g_assert_cmpint(json_integer_value(json_object_get(got, "n")), ==, i);
        json_decref(got);
    }
    g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_NOT_YET);
    close(ends[0]);
    g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_ENDED);
    json_auto_t *late = json_object();
    g_assert_false(ifm_message_send(ends[1], late)); /* and no SIGPIPE */
    close(ends[1]);
    ifm_message_reader_clear(&reader);
}

/* A message that comes byte by byte is whole only with its last byte. */
static void test_pieces(void)
{
    int ends[2];
    IfmMessageReader reader;
    open_pair(ends, &reader);
    const char *text = "{\"a\":[1,2]}";
    guint32 n = (guint32)strlen(text);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)&n, sizeof n);
    g_byte_array_append(bytes, (const guint8 *)text, n);
    json_t *got = NULL;
    for (guint i = 0; i < bytes->len; i++)
    {
        g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_NOT_YET);
        g_assert_cmpint(send(ends[0], bytes->data + i, 1, 0), ==, 1);
    }
    g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_ONE);
    g_assert_cmpint(json_array_size(json_object_get(got, "a")), ==, 2);
    json_decref(got);
    g_byte_array_unref(bytes);
    close(ends[0]);
    close(ends[1]);
    ifm_message_reader_clear(&reader);
}

/* What is no message ends the conversation: a length beyond all bounds, and text that is no JSON. */
static void test_junk(void)
{
    const struct
    {
        guint32 length;
        const char *text;
    } cases[] = { { 0xffffffff, "" }, { 5, "{\"a\":" }, { 3, "\xff\xfe\xfd" }, { 0, "" } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        int ends[2];
        IfmMessageReader reader;
        open_pair(ends, &reader);
        json_t *got = NULL;
        g_assert_cmpint(send(ends[0], &cases[i].length, 4, 0), ==, 4);
        g_assert_cmpint(send(ends[0], cases[i].text, strlen(cases[i].text), 0), ==, (int)strlen(cases[i].text));
        g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_ENDED);
        close(ends[0]);
        close(ends[1]);
        ifm_message_reader_clear(&reader);
    }
}

static void test_model_case(void)
{
    static const IfmDimBinding bindings[] = { { "N", 8 }, { "x[1]", G_MAXINT64 } };
    static const IfmDimBinding sizes[] = { { "nodes", 1000 } };
    static const char *const vendor[] = { "A=1", "B=x=y", NULL };
    IfmModelCase model_case = { .model_path = "/tmp/M\xc3\xb6"
                                              "del \xff.onnx",
                                .model_name = "model",
                                .device = "openvino:CPU@0",
                                .bindings = bindings,
                                .n_bindings = 2,
                                .sizes = sizes,
                                .n_sizes = 1,
                                .free_shapes = TRUE,
                                .inputs_path = "/tmp/in \xff",
                                .cache_dir = "/tmp/cache \xff",
                                .dtype = IFM_DTYPE_BF16,
                                .threads = 3,
                                .vendor = vendor,
                                .seed = 0xfedcba98,
                                .protocol = IFM_PROTOCOL_INIT,
                                .profile = TRUE,
                                .profile_few = TRUE,
                                .verify = TRUE,
                                .rtol = 1e-3,
                                .atol = 0.1,
                                .as_wholes = TRUE,
                                .native_async = TRUE };
    json_auto_t *json = ifm_record_to_json(&model_case, ifm_kind_model.fields);
    g_autofree char *text = json_dumps(json, 0);
    json_auto_t *again = json_loads(text, 0, NULL);
    g_auto(IfmSpec) owned = { 0 };
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_spec_init(&owned, &ifm_kind_model, again, &error));
    g_assert_no_error(error);
    const IfmModelCase *got = owned.data;
    g_assert_cmpstr(got->model_path, ==, model_case.model_path);
    g_assert_cmpstr(got->device, ==, model_case.device);
    g_assert_cmpint((gint64)got->n_bindings, ==, 2);
    g_assert_cmpstr(got->bindings[1].name, ==, "x[1]");
    g_assert_cmpint(got->bindings[1].value, ==, G_MAXINT64);
    g_assert_cmpint((gint64)got->n_sizes, ==, 1);
    g_assert_cmpstr(got->sizes[0].name, ==, "nodes");
    g_assert_cmpint(got->sizes[0].value, ==, 1000);
    g_assert_true(got->free_shapes);
    g_assert_cmpstr(got->inputs_path, ==, model_case.inputs_path);
    g_assert_cmpstr(got->cache_dir, ==, model_case.cache_dir);
    g_assert_cmpstr(got->vendor[1], ==, "B=x=y");
    g_assert_null(got->vendor[2]);
    g_assert_cmpint(got->dtype, ==, IFM_DTYPE_BF16);
    g_assert_cmpint(got->threads, ==, 3);
    g_assert_cmpuint(got->seed, ==, 0xfedcba98);
    g_assert_true(got->profile && got->profile_few && got->verify && got->as_wholes && got->native_async);
    g_assert_cmpfloat(got->rtol, ==, 1e-3);
    g_assert_cmpfloat(got->atol, ==, 0.1);
    g_assert_cmpfloat(got->protocol.ci_ratio, ==, 0.01);
    g_assert_cmpuint(got->protocol.max_runs, ==, 20000);
    g_assert_cmpint(got->protocol.time_budget_ns, ==, model_case.protocol.time_budget_ns);
}

/* What a case does not have stays NULL on the other side: an empty list of sizes would mean that it has none. */
static void test_plain_case(void)
{
    IfmModelCase model_case = { .model_path = "m.onnx", .device = "d:e", .protocol = IFM_PROTOCOL_INIT };
    json_auto_t *json = ifm_record_to_json(&model_case, ifm_kind_model.fields);
    g_auto(IfmSpec) owned = { 0 };
    g_assert_true(ifm_spec_init(&owned, &ifm_kind_model, json, NULL));
    const IfmModelCase *got = owned.data;
    g_assert_null(got->sizes);
    g_assert_null(got->inputs_path);
    g_assert_null(got->cache_dir);
    g_assert_null(got->vendor);
    g_assert_false(got->free_shapes);
}

static void test_case_refused(void)
{
    IfmModelCase model_case = { .model_path = "m.onnx", .device = "d:e", .protocol = IFM_PROTOCOL_INIT };
    json_auto_t *json = ifm_record_to_json(&model_case, ifm_kind_model.fields);
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        json_auto_t *less = json_copy(json);
        json_object_del(less, key);
        IfmSpec owned;
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_spec_init(&owned, &ifm_kind_model, less, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    }
}

typedef struct
{
    int fd;
    json_t *message;
    gboolean sent;
} Sending;

static gpointer send_main(gpointer data)
{
    Sending *sending = data;
    sending->sent = ifm_message_send(sending->fd, sending->message);
    return NULL;
}

/* More than a socket holds, on one that does not block: it waits for the reader and goes on where it was. */
static void test_large(void)
{
    int ends[2];
    IfmMessageReader reader;
    open_pair(ends, &reader);
    g_autofree char *text = g_strnfill(8 << 20, 'x');
    json_auto_t *message = json_pack("{s:s}", "text", text);
    Sending sending = { .fd = ends[0], .message = message };
    GThread *thread = g_thread_new("send", send_main, &sending);
    g_usleep(50000); /* the socket is full by then, or will be */
    json_t *got = NULL;
    IfmMessageState state;
    while ((state = ifm_message_read(&reader, &got)) == IFM_MESSAGE_NOT_YET)
        g_usleep(100);
    g_thread_join(thread);
    g_assert_true(sending.sent);
    g_assert_cmpint(state, ==, IFM_MESSAGE_ONE);
    g_assert_cmpuint(json_string_length(json_object_get(got, "text")), ==, 8 << 20);
    json_decref(got);
    close(ends[0]);
    close(ends[1]);
    ifm_message_reader_clear(&reader);
}

/* Nothing of it is sent, so that the channel is whole for saying why. */
static void test_too_large(void)
{
    int ends[2];
    IfmMessageReader reader;
    open_pair(ends, &reader);
    g_autofree char *text = g_strnfill(IFM_MESSAGE_MAX_BYTES, 'x');
    json_auto_t *message = json_pack("{s:s}", "text", text), *why = json_pack("{s:i}", "n", 1);
    g_assert_false(ifm_message_send(ends[0], message));
    g_assert_cmpint(errno, ==, EMSGSIZE);
    json_t *got = NULL;
    g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_NOT_YET);
    g_assert_true(ifm_message_send(ends[0], why));
    g_assert_cmpint(ifm_message_read(&reader, &got), ==, IFM_MESSAGE_ONE);
    json_decref(got);
    close(ends[0]);
    close(ends[1]);
    ifm_message_reader_clear(&reader);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/protocol/messages", test_messages);
    g_test_add_func("/protocol/pieces", test_pieces);
    g_test_add_func("/protocol/large", test_large);
    g_test_add_func("/protocol/too-large", test_too_large);
    g_test_add_func("/protocol/junk", test_junk);
    g_test_add_func("/protocol/model-case", test_model_case);
    g_test_add_func("/protocol/plain-case", test_plain_case);
    g_test_add_func("/protocol/case-refused", test_case_refused);
    return g_test_run();
}
