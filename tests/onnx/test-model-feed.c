/* Sizes of free dimensions, and what they are taken for where nothing is said. */
#include <onnx/onnx.h>
#include <string.h>

#define MAX_INPUTS 3

/* Case: first dimensions of the inputs, NULL: a nameless one, "": one of 3; and what they come to. */
typedef struct
{
    const char *firsts[MAX_INPUTS];
    gsize n;
    gint64 batch;
    const char *bound; /* NULL: refused */
} Case;

static IfmModel *build(const Case *one)
{
    static const char *const inputs[] = { "a", "b", "c" };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("free", 17);
    for (gsize i = 0; i < one->n; i++)
    {
        const gboolean fixed = one->firsts[i] != NULL && *one->firsts[i] == '\0';
        const gint64 dims[] = { fixed ? 3 : -1, 4 };
        ifm_model_builder_input(builder, inputs[i], IFM_DTYPE_F32, 2, dims, (const char *const[]){ one->firsts[i], NULL });
    }
    ifm_model_builder_node(builder, "Relu", "r", (const char *const[]){ "a", NULL }, (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, -1, NULL, NULL);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    return model;
}

static void on_note(const char *message, void *user)
{
    g_string_append(user, message);
}

static void test_batch(void)
{
    static const Case cases[] = {
        { { "batch_size" }, 1, 0, "batch_size=1" },
        { { "unk__749" }, 1, 0, "unk__749=1" },
        { { "DynamicDimension.0" }, 1, 0, "DynamicDimension.0=1" },
        { { "-1" }, 1, 0, "a[0]=1" },
        { { "?" }, 1, 0, "a[0]=1" },
        { { NULL }, 1, 0, "a[0]=1" },
        { { "unk__7", "unk__7" }, 2, 0, "unk__7=1" },
        { { NULL, "?", "-1" }, 3, 0, "a[0]=1 b[0]=1 c[0]=1" },
        { { NULL, NULL }, 2, 5, "a[0]=5 b[0]=5" },
        { { "DynamicDimension.3", "DynamicDimension.3" }, 2, 8, "DynamicDimension.3=8" },
        { { "unk__7", "unk__8" }, 2, 0, NULL }, /* two dimensions */
        { { NULL, "" }, 2, 0, NULL },           /* not all inputs have it */
        { { "unknown" }, 1, 0, NULL },
        { { "unk__x" }, 1, 0, NULL },
        { { "seq" }, 1, 0, NULL },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = build(&cases[i]);
        g_autoptr(GString) note = g_string_new(NULL), bound = g_string_new(NULL);
        g_auto(IfmModelFeed) feed = { 0 };
        const IfmModelOptions options = { .batch = cases[i].batch };
        g_assert_true(ifm_model_feed_init(&feed, NULL, &error));
        const gboolean filled = ifm_model_feed_fill(&feed, model, &options, 1, on_note, note, &error);
        for (guint k = 0; k < feed.bindings->len; k++)
        {
            const IfmDimBinding *one = &ifm_model_feed_bindings(&feed)[k];
            g_string_append_printf(bound, "%s%s=%" G_GINT64_FORMAT, k > 0 ? " " : "", one->name, one->value);
        }
        g_test_message("%" G_GSIZE_FORMAT ": %s; %s", i, bound->str, note->str);
        g_assert_cmpint(filled, ==, cases[i].bound != NULL);
        if (filled)
            g_assert_cmpstr(bound->str, ==, cases[i].bound);
        else
            g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpint(note->len > 0, ==, filled && cases[i].batch == 0);
    }
}

static void test_dims(void)
{
    static const struct
    {
        const char *dims[3];
        int code; /* 0: none */
        const char *part;
    } cases[] = {
        { { "P=0" }, 0, "P=0 Q=1" },
        { { "*=0" }, 0, "P=0 Q=0" },
        { { "*=7", "Q=2" }, 0, "Q=2 P=7" },
        { { "P=1", "P=2" }, IFM_ERROR_USAGE, "P is given twice" },
        { { "P=-1" }, IFM_ERROR_USAGE, "is not NAME=SIZE" },
        { { "P=x" }, IFM_ERROR_USAGE, "is not NAME=SIZE" },
        { { "=3" }, IFM_ERROR_USAGE, "is not NAME=SIZE" },
        { { "R=3" }, IFM_ERROR_INVALID, "no input has a free dimension 'R'" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = build(&(Case){ { "P", "Q" }, 2, 0, NULL });
        g_autoptr(GString) bound = g_string_new(NULL);
        g_auto(IfmModelFeed) feed = { 0 };
        const char *const with[] = { cases[i].dims[0], cases[i].dims[1] != NULL ? cases[i].dims[1] : "Q=1", NULL };
        const char *const *dims = *with[0] == '*' && cases[i].dims[1] == NULL ? cases[i].dims : with;
        const IfmModelOptions options = { .dims = dims };
        const gboolean good =
            ifm_model_feed_init(&feed, dims, &error) && ifm_model_feed_fill(&feed, model, &options, 1, NULL, NULL, &error);
        for (guint k = 0; good && k < feed.bindings->len; k++)
        {
            const IfmDimBinding *one = &ifm_model_feed_bindings(&feed)[k];
            g_string_append_printf(bound, "%s%s=%" G_GINT64_FORMAT, k > 0 ? " " : "", one->name, one->value);
        }
        g_assert_cmpint(good, ==, cases[i].code == 0);
        if (good)
            g_assert_cmpstr(bound->str, ==, cases[i].part);
        else
        {
            g_assert_error(error, IFM_ERROR, cases[i].code);
            g_assert_nonnull(strstr(error->message, cases[i].part));
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/feed/batch", test_batch);
    g_test_add_func("/onnx/feed/dims", test_dims);
    return g_test_run();
}
