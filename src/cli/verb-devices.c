#include <string.h>
#include <unistd.h>

#include <inferometer/engine.h>

#include <base/fields.h>
#include <document/document.h>

#include "cli.h"

/* Records are devices as their engine's worker reports them, in JSON. @user: the key of a text */
static void get_text(const void *record, const void *user, IfmValue *value)
{
    const char *text = ifm_member_text(record, user);
    ifm_value_set_text(value, text != NULL && *text != '\0' ? text : NULL);
}

static void get_state(const void *record, const void *user, IfmValue *value)
{
    gboolean available = json_is_true(json_object_get(record, "available"));
    ifm_value_set_text(value, available ? "available" : "missing");
    value->tone = available ? IFM_TONE_GOOD : IFM_TONE_WARN;
}

static void get_capabilities(const void *record, const void *user, IfmValue *value)
{
    GString *text = g_string_new(NULL);
    json_t *name;
    gsize i;
    json_array_foreach(json_object_get(record, "capabilities"), i, name)
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", json_string_value(name));
    ifm_value_take_text(value, g_string_free(text, text->len == 0));
}

static const IfmField device_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, get_text, "spec" },
    { "state", "state", IFM_FIELD_TEXT, get_state },
    { "description", "hardware", IFM_FIELD_TEXT, get_text, "description" },
    { "capabilities", "can", IFM_FIELD_TEXT, get_capabilities, NULL, IFM_FIELD_NO_SCREEN },
    { NULL },
};

static const IfmField device_fields_long[] = {
    { "device", "device", IFM_FIELD_TEXT, get_text, "spec" },
    { "capabilities", "can", IFM_FIELD_TEXT, get_capabilities },
    { NULL },
};

static void get_available(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, json_is_true(json_object_get(record, "available")) ? "yes" : "no");
}

/* Of --document. */
static const IfmField all_device_fields[] = {
    { "engine", "engine", IFM_FIELD_TEXT, get_text, "engine" },
    { "spec", "device", IFM_FIELD_TEXT, get_text, "spec" },
    { "available", "available", IFM_FIELD_TEXT, get_available },
    { "description", "hardware", IFM_FIELD_TEXT, get_text, "description" },
    { "reason", "reason", IFM_FIELD_TEXT, get_text, "reason" },
    { "capabilities", "can", IFM_FIELD_TEXT, get_capabilities },
    { NULL },
};

static const IfmField engine_fields[] = {
    { "engine", "engine", IFM_FIELD_TEXT, get_text, "engine" },
    { "version", "version", IFM_FIELD_TEXT, get_text, "version" },
    { "available", "available", IFM_FIELD_TEXT, get_available },
    { "reason", "reason", IFM_FIELD_TEXT, get_text, "reason" },
    { "untested", "warning", IFM_FIELD_TEXT, get_text, "untested" },
    { "library", "library", IFM_FIELD_TEXT, get_text, "library" },
    { NULL },
};

/* (transfer full) */
static IfmDocument *devices_document(const json_t *engines)
{
    g_autoptr(GPtrArray) devices = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref),
                         all = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    json_t *engine, *device;
    gsize i, k;
    json_array_foreach(engines, i, engine)
    {
        g_ptr_array_add(all, json_incref(engine));
        json_array_foreach(json_object_get(engine, "devices"), k, device)
        {
            g_ptr_array_add(devices, json_copy(device));
            json_object_set(devices->pdata[devices->len - 1], "engine", json_object_get(engine, "engine"));
        }
    }
    IfmDocument *document = ifm_table_document("devices", NULL, NULL, all_device_fields, devices);
    ifm_document_table(document, "engines", engine_fields, g_ptr_array_ref(all));
    return document;
}

/* What one engine has, in a document of the same shape whether it is there or not. (transfer full) */
static json_t *ask_engine(IfmRunner *runner, const char *name)
{
    g_autoptr(GError) error = NULL;
    json_t *engine = ifm_runner_devices(runner, name, &error);
    if (engine != NULL)
    {
        json_object_set_new(engine, "available", json_true());
        json_object_set_new(engine, "reason", json_null());
        json_object_set_new(engine, "error_code", json_null());
        return engine;
    }
    g_autofree char *reason = g_utf8_make_valid(error->message, -1);
    return json_pack("{s:s,s:n,s:n,s:[],s:b,s:s,s:s}", "engine", name, "version", "library", "devices", "available", 0,
                     "reason", reason, "error_code", ifm_error_code_name(error->code));
}

static void append_reason(GString *out, const json_t *device, const IfmScreen *screen)
{
    const char *spec = ifm_member_text(device, "spec"), *why = ifm_member_text(device, "reason");
    if (why == NULL || *why == '\0')
        return;
    gsize length = strlen(spec);
    g_autofree char *reason = ifm_format_spelt(why, screen->utf8);
    g_string_append_printf(out, "%s%s%s: %s\n", screen->colour ? "\033[33m" : "", spec, screen->colour ? "\033[0m" : "",
                           g_str_has_prefix(reason, spec) ? reason + length + strspn(reason + length, ",: ") : reason);
}

static void append_engine(GString *out, const json_t *engine, gboolean with_capabilities, const IfmScreen *screen)
{
    const char *version = ifm_member_text(engine, "version");
    const char *library = ifm_member_text(engine, "library");
    const char *reason = ifm_member_text(engine, "reason"), *untested = ifm_member_text(engine, "untested");
    json_t *devices = json_object_get(engine, "devices"), *device;
    gsize i;
    g_string_append_printf(out, "%s%s%s%s", out->len > 0 ? "\n" : "", screen->colour ? "\033[1m" : "",
                           ifm_member_text(engine, "engine"), screen->colour ? "\033[0m" : "");
    if (version != NULL && *version != '\0')
        g_string_append_printf(out, " %s", version);
    if (library != NULL && *library != '\0')
        g_string_append_printf(out, "  (%s)", library);
    g_string_append_c(out, '\n');
    if (untested != NULL)
        g_string_append_printf(out, "warning: %s\n", untested);
    if (reason != NULL)
    {
        g_autofree char *clean = ifm_format_clean(reason);
        g_string_append_printf(out, "unavailable: %s\n", clean);
    }
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    json_array_foreach(devices, i, device) g_ptr_array_add(records, device);
    if (records->len == 0)
        return;
    IfmTable table = { with_capabilities ? device_fields_long : device_fields, (const void *const *)records->pdata,
                       records->len };
    g_autofree char *text = ifm_table_to_screen(&table, screen);
    g_string_append(out, text);
    for (guint row = 0; row < records->len; row++)
        append_reason(out, records->pdata[row], screen);
}

static int run_devices(const Arguments *arguments)
{
    IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT, .interrupted = cli_interrupt_install() };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    const IfmScreen screen = cli_screen();
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *engines = json_array();
    for (const char *const *name = ifm_engine_names(); *name != NULL && cli_interrupt_signal() == 0; name++)
    {
        json_t *engine = ask_engine(runner, *name);
        append_engine(text, engine, cli_given(arguments, "capabilities"), &screen);
        json_array_append_new(engines, engine);
    }
    json_auto_t *document = ifm_json_begin("devices", 1);
    json_object_set_new(document, "engines", engines);
    if (cli_interrupt_signal() != 0)
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    return cli_answer(
        arguments,
        (Answer){ .document = devices_document(engines), .json = json_incref(document), .text = g_strdup(text->str) });
}

static const IfmOption devices_options[] = {
    { "capabilities", IFM_OPTION_FLAG, NULL, "show what each device can do instead of what it is" },
    { NULL },
};

const Verb verb_devices = {
    .name = "devices",
    .summary = "list the engines and their devices, and what is missing and why",
    .arguments = "",
    .tables = { devices_options, cli_document_options, cli_json_options },

    .details =
        "Each engine is asked in a process of its own. A device is written ENGINE:UNIT[:INDEX][@CORES][#STREAMS], for "
        "example openvino:CPU@0 or simulated:meteor-lake/GPU.\nA missing device is not an error: the exit status is 0.",
    .examples = { { "inferometer devices", "lists the available devices, and why others are missing" } },
    .run = run_devices,
};
