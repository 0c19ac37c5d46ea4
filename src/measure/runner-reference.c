#include <glib/gstdio.h>

#include <base/fields.h>

#include "runner-private.h"

/* The runner has a worker compute the reference of each model and its inputs once, and keeps the files up to a size. */

#define REFERENCE_WORKER "reference"
/* Of reference outputs on disk. */
#define REFERENCES_MAX_BYTES (G_GUINT64_CONSTANT(1) << 30)

void ifm_references_init(IfmReferences *references, const IfmTemporary *folder)
{
    *references = (IfmReferences){ .folder = folder };
    references->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
}

void ifm_references_clear(IfmReferences *references)
{
    g_hash_table_unref(references->known);
    g_queue_clear_full(&references->kept, g_free);
}

static char *reference_key(const IfmModelCase *model_case, const IfmCase *sealed)
{
    const char *inputs = ifm_runner_inputs_of(sealed);
    GString *key = g_string_new(sealed->subject_digest);
    g_string_append_printf(key, " %u %d %d %s", model_case->seed, (int)model_case->dtype, model_case->tolerance_runs,
                           inputs != NULL ? inputs : "");
    for (gsize i = 0; i < model_case->n_bindings; i++)
        g_string_append_printf(key, " %s=%" G_GINT64_FORMAT, model_case->bindings[i].name, model_case->bindings[i].value);
    return g_string_free(key, FALSE);
}

static guint64 file_bytes(const char *path)
{
    GStatBuf status;
    return g_stat(path, &status) == 0 ? (guint64)status.st_size : 0;
}

static const char *path_of(const IfmReferences *references, const char *key)
{
    return json_string_value(json_object_get(g_hash_table_lookup(references->known, key), "path"));
}

/* Outputs may be large and cases many: the oldest files go. */
static void keep_file(IfmReferences *references, const char *key)
{
    g_queue_push_tail(&references->kept, g_strdup(key));
    references->kept_bytes += file_bytes(path_of(references, key));
    while (references->kept_bytes > REFERENCES_MAX_BYTES && references->kept.length > 1)
    {
        g_autofree char *oldest = g_queue_pop_head(&references->kept);
        const char *path = path_of(references, oldest);
        references->kept_bytes -= MIN(references->kept_bytes, file_bytes(path));
        g_unlink(path);
        g_hash_table_remove(references->known, oldest);
    }
}

/* Returns: (transfer full) {"path"}, or {"why"} there is none; NULL where interrupted. */
static json_t *reference_for(const IfmModelCase *model_case, const IfmCase *sealed, IfmRunMonitor *monitor, GError **error)
{
    IfmReferences *references = &monitor->runner->references;
    g_autofree char *key = reference_key(model_case, sealed);
    json_t *known = g_hash_table_lookup(references->known, key);
    if (known != NULL)
        return json_incref(known);
    g_autofree char *name = g_strdup_printf("reference-%u", references->n_made++);
    g_autofree char *path = g_build_filename(references->folder->path, name, NULL);
    IfmWorkerWatch watch = ifm_run_monitor_watch(monitor);
    g_autoptr(GError) failure = NULL;
    json_t *answer = ifm_runner_ask(monitor->runner, REFERENCE_WORKER,
                                    json_pack("{s:s,s:o,s:s}", "do", "reference", "case",
                                              ifm_record_to_json(model_case, ifm_kind_model.fields), "path", path),
                                    &watch, &failure);
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    if (answer == NULL)
        answer = json_pack("{s:o}", "why", ifm_json_string(failure->message));
    g_hash_table_insert(references->known, g_strdup(key), json_incref(answer));
    if (path_of(references, key) != NULL)
        keep_file(references, key);
    return answer;
}

gboolean ifm_references_add(const IfmModelCase *model_case, const IfmCase *sealed, gboolean true_outputs,
                            IfmRunMonitor *monitor, json_t *request, GError **error)
{
    const char *status = "not-applicable", *why = "simulated: this device computes no true outputs";
    json_auto_t *reference = NULL;
    if (true_outputs && !model_case->verify)
    {
        status = "not-asked";
        why = "verification was switched off";
    }
    else if (true_outputs)
    {
        reference = reference_for(model_case, sealed, monitor, error);
        if (reference == NULL)
            return FALSE;
        json_t *path = json_object_get(reference, "path");
        if (path != NULL)
        {
            json_object_set(request, "reference", path);
            return TRUE;
        }
        status = "unavailable";
        why = ifm_member_text(reference, "why");
    }
    json_object_set_new(request, "verification", json_pack("{s:s,s:s}", "status", status, "why", why));
    return TRUE;
}
