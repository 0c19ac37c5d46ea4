#include "store-private.h"
#include <inferometer/json.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

/*
 * The records' fields are told by tables, so that making, freeing, writing and reading one cannot drift apart.
 * What a field means is said at its struct in store.h, its place in a file in docs/formats.md.
 */
typedef enum
{
    FIELD_TEXT,    /* char * */
    FIELD_JSON,    /* json_t *, NULL is null */
    FIELD_INT64,   /* gint64 */
    FIELD_SERIES,  /* GArray of gint64 */
    FIELD_DOUBLE,  /* double */
    FIELD_OUTCOME, /* IfmOutcome */
    FIELD_NODES,   /* GPtrArray of IfmNodeRow */
} FieldKind;

typedef struct
{
    const char *name;
    FieldKind kind;
    gsize offset;
} Field;

#define MAX_FIELDS 20
/* One row of a table: { FIELD(kind, type, member) }. */
#define FIELD(kind, type, member) #member, FIELD_##kind, offsetof(type, member)
#define AT(type, self, field) (*(type *)((char *)(self) + (field)->offset))
#define CONST_AT(type, self, field) (*(type const *)((const char *)(self) + (field)->offset))

static const Field case_fields[] = {
    { FIELD(TEXT, IfmCase, key) },          { FIELD(TEXT, IfmCase, subject_kind) },
    { FIELD(TEXT, IfmCase, subject_name) }, { FIELD(TEXT, IfmCase, subject_digest) },
    { FIELD(TEXT, IfmCase, model_path) },   { FIELD(TEXT, IfmCase, device) },
    { FIELD(TEXT, IfmCase, alias) },        { FIELD(JSON, IfmCase, sizes) },
    { FIELD(JSON, IfmCase, options) },      { FIELD(JSON, IfmCase, load) },
    { FIELD(JSON, IfmCase, surroundings) }, { NULL },
};

static const Field measurement_fields[] = {
    { FIELD(TEXT, IfmMeasurement, uid) },
    { FIELD(TEXT, IfmMeasurement, case_key) },
    { FIELD(INT64, IfmMeasurement, started_unix_ms) },
    { FIELD(OUTCOME, IfmMeasurement, outcome) },
    { FIELD(TEXT, IfmMeasurement, error_code) },
    { FIELD(TEXT, IfmMeasurement, reason) },
    { FIELD(TEXT, IfmMeasurement, stop_reason) },
    { FIELD(SERIES, IfmMeasurement, warmup_ns) },
    { FIELD(SERIES, IfmMeasurement, samples_ns) },
    { FIELD(SERIES, IfmMeasurement, profiled_ns) },
    { FIELD(NODES, IfmMeasurement, nodes) },
    { FIELD(JSON, IfmMeasurement, summary) },
    { FIELD(JSON, IfmMeasurement, surroundings) },
    { FIELD(JSON, IfmMeasurement, attest) },
    { FIELD(JSON, IfmMeasurement, verification) },
    { FIELD(JSON, IfmMeasurement, books) },
    { FIELD(JSON, IfmMeasurement, memory) },
    { NULL },
};

static const Field node_fields[] = {
    { FIELD(TEXT, IfmNodeRow, name) },       { FIELD(TEXT, IfmNodeRow, op_type) },
    { FIELD(TEXT, IfmNodeRow, provider) },   { FIELD(TEXT, IfmNodeRow, implementation) },
    { FIELD(TEXT, IfmNodeRow, dtype) },      { FIELD(DOUBLE, IfmNodeRow, median_ns) },
    { FIELD(DOUBLE, IfmNodeRow, start_ns) }, { NULL },
};

static const char *const outcome_names[] = {
    [IFM_OUTCOME_OK] = "ok", [IFM_OUTCOME_FAILED] = "failed", [IFM_OUTCOME_SKIPPED] = "skipped"
};

const char *ifm_outcome_name(IfmOutcome outcome)
{
    g_return_val_if_fail((gsize)outcome < G_N_ELEMENTS(outcome_names), "failed");
    return outcome_names[outcome];
}

static void fields_init(void *self, const Field *fields)
{
    for (const Field *field = fields; field->name != NULL; field++)
        if (field->kind == FIELD_TEXT)
            AT(char *, self, field) = g_strdup("");
        else if (field->kind == FIELD_SERIES)
            AT(GArray *, self, field) = g_array_new(FALSE, FALSE, sizeof(gint64));
        else if (field->kind == FIELD_NODES)
            AT(GPtrArray *, self, field) = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_node_row_free);
}

static void fields_clear(void *self, const Field *fields)
{
    for (const Field *field = fields; field->name != NULL; field++)
        if (field->kind == FIELD_TEXT)
            g_clear_pointer(&AT(char *, self, field), g_free);
        else if (field->kind == FIELD_SERIES)
            g_clear_pointer(&AT(GArray *, self, field), g_array_unref);
        else if (field->kind == FIELD_JSON)
            g_clear_pointer(&AT(json_t *, self, field), json_decref);
        else if (field->kind == FIELD_NODES)
            g_clear_pointer(&AT(GPtrArray *, self, field), g_ptr_array_unref);
}

void ifm_node_row_free(IfmNodeRow *row)
{
    if (row == NULL)
        return;
    fields_clear(row, node_fields);
    g_free(row);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmNodeRow, ifm_node_row_free)

static json_t *fields_to_json(const void *self, const Field *fields);

static json_t *nodes_to_json(const GPtrArray *nodes)
{
    json_t *array = json_array();
    for (guint i = 0; i < nodes->len; i++)
        json_array_append_new(array, fields_to_json(nodes->pdata[i], node_fields));
    return array;
}

static json_t *field_to_json(const void *self, const Field *field)
{
    switch (field->kind)
    {
    case FIELD_TEXT:
        return ifm_json_string(CONST_AT(char *, self, field));
    case FIELD_JSON:
    {
        const json_t *json = CONST_AT(json_t *, self, field);
        return json != NULL ? json_deep_copy(json) : json_null();
    }
    case FIELD_INT64:
        return json_integer(CONST_AT(gint64, self, field));
    case FIELD_SERIES:
        return ifm_json_int64_array(CONST_AT(GArray *, self, field));
    case FIELD_DOUBLE: /* + 0.0: SQLite keeps no minus zero, so there is none in a record */
        return ifm_json_real(CONST_AT(double, self, field) + 0.0);
    case FIELD_OUTCOME:
        return json_string(ifm_outcome_name(CONST_AT(IfmOutcome, self, field)));
    case FIELD_NODES:
        return nodes_to_json(CONST_AT(GPtrArray *, self, field));
    }
    g_assert_not_reached();
}

static json_t *fields_to_json(const void *self, const Field *fields)
{
    json_t *json = json_object();
    for (const Field *field = fields; field->name != NULL; field++)
        json_object_set_new(json, field->name, field_to_json(self, field));
    return json;
}

static gboolean outcome_from_json(const json_t *json, const char *where, IfmOutcome *outcome, GError **error)
{
    const char *name = NULL;
    if (!ifm_json_get_string(json, where, "outcome", &name, error))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(outcome_names); i++)
        if (g_str_equal(name, outcome_names[i]))
        {
            *outcome = (IfmOutcome)i;
            return TRUE;
        }
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s.outcome: found \"%s\", expected \"ok\", \"failed\" or \"skipped\"",
                where, name);
    return FALSE;
}

static gboolean fields_from_json(void *self, const Field *fields, const json_t *json, const char *where, GError **error);

static gboolean nodes_from_json(const json_t *json, const char *where, GPtrArray *nodes, GError **error)
{
    json_t *array = NULL, *element;
    if (!ifm_json_get_array(json, where, "nodes", &array, error))
        return FALSE;
    g_ptr_array_set_size(nodes, 0);
    gsize i;
    json_array_foreach(array, i, element)
    {
        g_autofree char *place = g_strdup_printf("%s.nodes[%" G_GSIZE_FORMAT "]", where, i);
        g_autoptr(IfmNodeRow) row = g_new0(IfmNodeRow, 1);
        if (!fields_from_json(row, node_fields, element, place, error))
            return FALSE;
        g_ptr_array_add(nodes, g_steal_pointer(&row));
    }
    return TRUE;
}

static gboolean text_from_json(const json_t *json, const char *where, const char *key, char **text, GError **error)
{
    const char *found = NULL;
    if (!ifm_json_get_string(json, where, key, &found, error))
        return FALSE;
    g_free(*text);
    *text = g_strdup(found);
    return TRUE;
}

static gboolean member_from_json(const json_t *json, const char *where, const char *key, json_t **member, GError **error)
{
    json_t *found = NULL;
    if (!json_is_null(json_object_get(json, key)) && !ifm_json_get_object(json, where, key, &found, error))
        return FALSE;
    json_decref(*member);
    *member = found != NULL ? json_deep_copy(found) : NULL;
    return TRUE;
}

static gboolean field_from_json(void *self, const Field *field, const json_t *json, const char *where, GError **error)
{
    switch (field->kind)
    {
    case FIELD_TEXT:
        return text_from_json(json, where, field->name, &AT(char *, self, field), error);
    case FIELD_JSON:
        return member_from_json(json, where, field->name, &AT(json_t *, self, field), error);
    case FIELD_INT64:
        return ifm_json_get_int64(json, where, field->name, &AT(gint64, self, field), error);
    case FIELD_SERIES:
        return ifm_json_get_int64_array(json, where, field->name, AT(GArray *, self, field), error);
    case FIELD_DOUBLE:
        return ifm_json_get_double(json, where, field->name, &AT(double, self, field), error);
    case FIELD_OUTCOME:
        return outcome_from_json(json, where, &AT(IfmOutcome, self, field), error);
    case FIELD_NODES:
        return nodes_from_json(json, where, AT(GPtrArray *, self, field), error);
    }
    g_assert_not_reached();
}

/* Exactly the fields: a key that is missing or unknown is refused. */
static gboolean fields_from_json(void *self, const Field *fields, const json_t *json, const char *where, GError **error)
{
    const char *keys[MAX_FIELDS + 1] = { NULL };
    for (gsize i = 0; fields[i].name != NULL; i++)
    {
        g_assert(i < MAX_FIELDS);
        keys[i] = fields[i].name;
    }
    if (!ifm_json_check_object(json, where, keys, error))
        return FALSE;
    for (const Field *field = fields; field->name != NULL; field++)
        if (!field_from_json(self, field, json, where, error))
            return FALSE;
    return TRUE;
}

/* --- cases --------------------------------------------------------------------------------------------------------------
 */

IfmCase *ifm_case_new(void)
{
    IfmCase *self = g_new0(IfmCase, 1);
    fields_init(self, case_fields);
    self->sizes = json_object();
    self->options = json_object();
    self->surroundings = json_object();
    return self;
}

void ifm_case_free(IfmCase *self)
{
    if (self == NULL)
        return;
    fields_clear(self, case_fields);
    g_free(self);
}

void ifm_record_set_text(char **field, const char *text)
{
    char *copy = g_strdup(text != NULL ? text : "");
    g_free(*field);
    *field = copy;
}

void ifm_record_set_json(json_t **field, json_t *json)
{
    json_decref(*field);
    *field = json;
}

char *ifm_record_digest(const json_t *record)
{
    json_auto_t *told = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)record, key, value)
    {
        gboolean empty = json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
                         (json_is_object(value) && json_object_size(value) == 0) ||
                         (json_is_array(value) && json_array_size(value) == 0);
        if (!empty)
            json_object_set(told, key, value);
    }
    return ifm_json_digest(told);
}

static char *case_key(const IfmCase *self)
{
    json_auto_t *json = ifm_case_to_json(self);
    json_object_del(json, "key");
    json_object_del(json, "model_path");
    json_object_del(json, "alias"); /* a name for a thing is not the thing */
    return ifm_record_digest(json);
}

void ifm_case_seal(IfmCase *self)
{
    char *key = case_key(self);
    g_free(self->key);
    self->key = key;
}

json_t *ifm_case_to_json(const IfmCase *self)
{
    return fields_to_json(self, case_fields);
}

IfmCase *ifm_case_from_json(const json_t *json, GError **error)
{
    g_autoptr(IfmCase) self = ifm_case_new();
    if (!fields_from_json(self, case_fields, json, "case", error))
        return NULL;
    g_autofree char *key = case_key(self);
    if (*self->key != '\0' && !g_str_equal(self->key, key))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "case.key: found %s, the other fields give %s", self->key, key);
        return NULL;
    }
    return g_steal_pointer(&self);
}

/* --- measurements -------------------------------------------------------------------------------------------------------
 */

/* From the kernel and not from GLib's generator: processes that forked from one another would draw the same numbers. */
static char *random_uid(void)
{
    guint64 chance[2] = { 0 };
    if (getrandom(chance, sizeof chance, 0) != sizeof chance)
        g_error("the kernel gives no random numbers");
    return g_strdup_printf("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", chance[0], chance[1]);
}

IfmMeasurement *ifm_measurement_new(void)
{
    IfmMeasurement *self = g_new0(IfmMeasurement, 1);
    fields_init(self, measurement_fields);
    g_free(self->uid);
    self->uid = random_uid();
    self->started_unix_ms = g_get_real_time() / 1000;
    return self;
}

void ifm_measurement_free(IfmMeasurement *self)
{
    if (self == NULL)
        return;
    fields_clear(self, measurement_fields);
    g_free(self);
}

json_t *ifm_measurement_to_json(const IfmMeasurement *self)
{
    json_t *json = fields_to_json(self, measurement_fields);
    json_object_set_new(json, "outcome", json_string(ifm_outcome_name(self->outcome)));
    json_t *nodes = json_array();
    for (guint i = 0; i < self->nodes->len; i++)
        json_array_append_new(nodes, fields_to_json(self->nodes->pdata[i], node_fields));
    json_object_set_new(json, "nodes", nodes);
    return json;
}

IfmMeasurement *ifm_measurement_from_json(const json_t *json, GError **error)
{
    g_autoptr(IfmMeasurement) self = ifm_measurement_new();
    if (!fields_from_json(self, measurement_fields, json, "measurement", error))
        return NULL;
    return g_steal_pointer(&self);
}
