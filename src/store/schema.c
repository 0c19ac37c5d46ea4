#include <store/store.h>

#include "store-private.h"

/* The tables of a store; docs/formats.md says what they hold. */
static const char tables[] = "CREATE TABLE subject_case ("
                             "  key TEXT PRIMARY KEY NOT NULL,"
                             "  subject_kind TEXT NOT NULL,"
                             "  subject_name TEXT NOT NULL,"
                             "  subject_digest TEXT NOT NULL,"
                             "  model_path TEXT NOT NULL,"
                             "  device TEXT NOT NULL,"
                             "  alias TEXT NOT NULL,"
                             "  sizes TEXT,"
                             "  options TEXT,"
                             "  load TEXT,"
                             "  environment TEXT"
                             ") STRICT;"
                             "CREATE TABLE measurement ("
                             "  uid TEXT PRIMARY KEY NOT NULL,"
                             "  digest TEXT NOT NULL,"
                             "  case_key TEXT NOT NULL REFERENCES subject_case (key),"
                             "  started_unix_ms INTEGER NOT NULL,"
                             "  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed', 'skipped')),"
                             "  error_code TEXT NOT NULL,"
                             "  reason TEXT NOT NULL,"
                             "  stop_reason TEXT NOT NULL,"
                             "  summary TEXT,"
                             "  result TEXT,"
                             "  environment TEXT,"
                             "  effective_config TEXT,"
                             "  verification TEXT,"
                             "  breakdown TEXT,"
                             "  memory TEXT,"
                             "  nodes TEXT NOT NULL,"
                             "  warmup_ns BLOB NOT NULL CHECK (length(warmup_ns) % 8 = 0),"
                             "  profiled_ns BLOB NOT NULL CHECK (length(profiled_ns) % 8 = 0),"
                             "  samples_ns BLOB NOT NULL CHECK (length(samples_ns) % 8 = 0)"
                             ") STRICT;"
                             "CREATE INDEX measurement_by_case ON measurement (case_key, started_unix_ms);"
                             "CREATE TABLE document ("
                             "  name TEXT PRIMARY KEY NOT NULL,"
                             "  digest TEXT NOT NULL,"
                             "  content TEXT NOT NULL"
                             ") STRICT;";

gboolean ifm_store_make_schema(const IfmStore *store, GError **error)
{
    g_autofree char *mark =
        g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %d", IFM_STORE_APPLICATION_ID, IFM_STORE_SCHEMA);
    return ifm_store_run(store, tables, error) && ifm_store_run(store, mark, error);
}
