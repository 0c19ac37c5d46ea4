#include <internal/store.h>

#include "store-private.h"

/*
 * The schema, as the steps that lead to it: step N brings version N to version N + 1. A step that was released is never
 * changed; what is new is a new row. docs/formats.md lists the tables as they are after the last.
 */
static const char *const steps[] = {
    /* 0 -> 1 */
    "CREATE TABLE machine ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  facts TEXT NOT NULL"
    ") STRICT;"
    "CREATE TABLE model ("
    "  digest TEXT PRIMARY KEY NOT NULL,"
    "  name TEXT NOT NULL"
    ") STRICT;"
    "CREATE TABLE subject_case ("
    "  key TEXT PRIMARY KEY NOT NULL,"
    "  subject_kind TEXT NOT NULL,"
    "  subject_name TEXT NOT NULL,"
    "  subject_digest TEXT REFERENCES model (digest),"
    "  model_path TEXT NOT NULL,"
    "  device TEXT NOT NULL,"
    "  alias TEXT NOT NULL,"
    "  sizes TEXT,"
    "  options TEXT,"
    "  load TEXT,"
    "  surroundings TEXT"
    ") STRICT;"
    "CREATE TABLE measurement ("
    "  uid TEXT PRIMARY KEY NOT NULL,"
    "  digest TEXT NOT NULL,"
    "  case_key TEXT NOT NULL REFERENCES subject_case (key),"
    "  machine_id TEXT REFERENCES machine (id),"
    "  started_unix_ms INTEGER NOT NULL,"
    "  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed', 'skipped')),"
    "  error_code TEXT NOT NULL,"
    "  reason TEXT NOT NULL,"
    "  stop_reason TEXT NOT NULL,"
    "  summary TEXT,"
    "  surroundings TEXT,"
    "  attest TEXT,"
    "  verification TEXT,"
    "  books TEXT,"
    "  memory TEXT"
    ") STRICT;"
    "CREATE TABLE sample ("
    "  measurement_uid TEXT NOT NULL REFERENCES measurement (uid),"
    "  series TEXT NOT NULL CHECK (series IN ('warmup_ns', 'samples_ns', 'profiled_ns')),"
    "  n INTEGER NOT NULL CHECK (n >= 0),"
    "  ns BLOB NOT NULL CHECK (length(ns) = 8 * n),"
    "  PRIMARY KEY (measurement_uid, series)"
    ") STRICT;",

    /* 1 -> 2: nodes of the profiled runs; cases are looked up by key and time */
    "CREATE TABLE node ("
    "  measurement_uid TEXT NOT NULL REFERENCES measurement (uid),"
    "  position INTEGER NOT NULL CHECK (position >= 0),"
    "  name TEXT NOT NULL,"
    "  op_type TEXT NOT NULL,"
    "  provider TEXT NOT NULL,"
    "  implementation TEXT NOT NULL,"
    "  dtype TEXT NOT NULL,"
    "  median_ns REAL,"
    "  start_ns REAL,"
    "  PRIMARY KEY (measurement_uid, position)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX measurement_by_case ON measurement (case_key, started_unix_ms);",

    /* 2 -> 3: what a room keeps besides the measurements */
    "CREATE TABLE document ("
    "  name TEXT PRIMARY KEY NOT NULL,"
    "  digest TEXT NOT NULL,"
    "  content TEXT NOT NULL"
    ") STRICT;",

    /* 3 -> 4: results apart from the environment, columns renamed; migrate.c migrates the records */
    "ALTER TABLE measurement ADD COLUMN result TEXT;"
    "ALTER TABLE measurement RENAME COLUMN surroundings TO environment;"
    "ALTER TABLE measurement RENAME COLUMN attest TO effective_config;"
    "ALTER TABLE measurement RENAME COLUMN books TO breakdown;"
    "ALTER TABLE subject_case RENAME COLUMN surroundings TO environment;",
};

int ifm_store_schema_version(void)
{
    return G_N_ELEMENTS(steps);
}

gboolean ifm_store_migrate(const IfmStore *store, int from_version, GError **error)
{
    for (int version = from_version; version < ifm_store_schema_version(); version++)
        if (!ifm_store_run(store, steps[version], error))
            return FALSE;
    if (from_version > 0 && !ifm_store_migrate_records(store, from_version, error))
        return FALSE;
    g_autofree char *mark = g_strdup_printf("PRAGMA application_id = %d; PRAGMA user_version = %d",
                                            IFM_STORE_APPLICATION_ID, ifm_store_schema_version());
    return ifm_store_run(store, mark, error);
}
