#include <base/fields.h>
#include <document/document.h>
#include <document/summary.h>
#include <document/words.h>

#include "profile-page-private.h"

/* An estimate of FLOPs, parameters and memory is written as a document, as JSON and as CSV. */

static void get_intensity(const void *record, const void *user, IfmValue *value)
{
    const IfmEstimate *estimate = &((const IfmEstimateLine *)record)->estimate;
    if (estimate->bytes > 0)
        ifm_value_set_real(value, (double)estimate->flop / (double)estimate->bytes);
}

#define LINE(member) IFM_MEMBER(IfmEstimateLine, member)
#define STORAGE(member) IFM_MEMBER(IfmEstimateStorage, member)

static const IfmField line_fields[] = {
    { "part", "part", IFM_FIELD_TEXT, LINE(name), IFM_FIELD_WHOLE },
    { "macs", "MACs", IFM_FIELD_INTEGER, LINE(estimate.macs) },
    { "flop", "FLOPs", IFM_FIELD_INTEGER, LINE(estimate.flop) },
    { "parameters", "parameters", IFM_FIELD_INTEGER, LINE(estimate.parameters) },
    { "bytes", "in and out", IFM_FIELD_BYTES, LINE(estimate.bytes) },
    { "intensity", "FLOP/B", IFM_FIELD_REAL, get_intensity },
    { NULL },
};

static const IfmField storage_fields[] = {
    { "what", "memory, f32", IFM_FIELD_TEXT, STORAGE(name), IFM_FIELD_WHOLE },
    { "bytes", "size", IFM_FIELD_BYTES, STORAGE(bytes) },
    { NULL },
};

static const IfmRecordField size_fields[] = {
    { IFM_RECORD(INT64, IfmTransformerSizes, num_nodes) },
    { IFM_RECORD(INT64, IfmTransformerSizes, num_edges) },
    { IFM_RECORD(INT64, IfmTransformerSizes, feature_dim) },
    { IFM_RECORD(INT64, IfmTransformerSizes, hidden_dim) },
    { IFM_RECORD(INT64, IfmTransformerSizes, num_layers) },
    { IFM_RECORD(INT64, IfmTransformerSizes, num_heads) },
    { IFM_RECORD(INT64, IfmTransformerSizes, ffn_dim) },
    { IFM_RECORD(INT64, IfmTransformerSizes, pe_dim) },
    { IFM_RECORD(INT64, IfmTransformerSizes, num_outputs) },
    { IFM_RECORD(DOUBLE, IfmTransformerSizes, sparse_ratio) },
    { NULL },
};

json_t *ifm_estimate_answer_to_json(const IfmEstimateAnswer *answer)
{
    g_autoptr(GPtrArray) lines = ifm_pointers_to(answer->lines), storage = ifm_pointers_to(answer->storage);
    json_t *json = ifm_json_begin("estimate", 1);
    json_object_set_new(json, "estimate", json_string(ifm_profile_estimate_words[answer->kind]));
    json_t *sizes = ifm_record_to_json(&answer->sizes, size_fields);
    json_object_set_new(sizes, "mpnn", json_string(ifm_message_passing_words()[answer->sizes.mpnn]));
    json_object_set_new(sizes, "pe", json_string(ifm_positional_encoding_words()[answer->sizes.pe]));
    json_object_set_new(json, "sizes", sizes);
    json_object_set_new(json, "batch", json_integer(answer->batch));
    json_object_set_new(json, "parts", ifm_rows_to_json(line_fields, lines));
    json_object_set_new(json, "memory", ifm_rows_to_json(storage_fields, storage));
    return json;
}

char *ifm_estimate_answer_to_csv(const IfmEstimateAnswer *answer)
{
    g_autoptr(GPtrArray) lines = ifm_pointers_to(answer->lines);
    return ifm_rows_to_csv(line_fields, lines);
}

/* (transfer full) */
static char *text_of(gint64 number)
{
    return g_strdup_printf("%" G_GINT64_FORMAT, number);
}

/* A model of these sizes on the usual device. (transfer full) */
static char *command_of(const IfmTransformerSizes *sizes)
{
    g_autofree char *nodes = text_of(sizes->num_nodes), *features = text_of(sizes->feature_dim),
                    *hidden = text_of(sizes->hidden_dim), *layers = text_of(sizes->num_layers),
                    *heads = text_of(sizes->num_heads), *inner = text_of(sizes->ffn_dim);
    return ifm_say_command("profile", "graph_transformer", "--num-nodes", nodes, "--feature-dim", features, "--hidden-dim",
                           hidden, "--num-layers", layers, "--num-heads", heads, "--ffn-dim", inner, NULL);
}

/* All of it, which stands last, and the part with most work. */
static void add_headline(IfmDocument *document, const IfmEstimateAnswer *answer)
{
    const IfmEstimateLine *lines = (const IfmEstimateLine *)(const void *)answer->lines->data, *most = lines;
    if (answer->lines->len == 0)
        return;
    const IfmEstimate *all = &lines[answer->lines->len - 1].estimate;
    for (guint i = 0; i + 1 < answer->lines->len; i++)
        most = lines[i].estimate.flop > most->estimate.flop ? &lines[i] : most;
    g_autofree char *flop = ifm_scaled((double)all->flop), *parameters = ifm_grouped(all->parameters),
                    *bytes = ifm_say_bytes((double)all->bytes),
                    *share = ifm_say_per_cent((double)most->estimate.flop / (double)all->flop);
    ifm_document_subject(document, "%s · batch of %" G_GINT64_FORMAT, ifm_profile_estimate_words[answer->kind],
                         answer->batch);
    ifm_document_verdict(document, "The %s of these sizes needs %sFLOP and %s parameters",
                         ifm_profile_estimate_words[answer->kind], flop, parameters);
    if (answer->lines->len > 1 && all->flop > 0)
        ifm_document_verdict_more(document, "%s of it in %s; %s go in and out", share, most->name, bytes);
    ifm_document_check(document, IFM_TRUST_GOOD, "counted by a closed form from the sizes");
    ifm_document_check(document, IFM_TRUST_UNCHECKED, "no model was made, and nothing was measured");
    g_autofree char *command = command_of(&answer->sizes);
    ifm_document_next(document, command, NULL, "Measure a transformer of these sizes");
}

IfmDocument *ifm_estimate_answer_document(const IfmEstimateAnswer *answer)
{
    IfmDocument *document = ifm_document_new("estimate", ifm_profile_estimate_words[answer->kind]);
    add_headline(document, answer);
    ifm_document_part(document);
    ifm_document_rows(document, "parts", line_fields, g_array_ref(answer->lines));
    ifm_document_part(document);
    if (answer->storage->len > 0)
        ifm_document_rows(document, "memory", storage_fields, g_array_ref(answer->storage));
    return document;
}
