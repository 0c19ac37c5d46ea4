-- A store as version 1 of the schema wrote it: one case with one measurement. Made by hand; it is never brought up to date.
CREATE TABLE machine (
  id TEXT PRIMARY KEY NOT NULL,
  facts TEXT NOT NULL
) STRICT;
CREATE TABLE model (
  digest TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL
) STRICT;
CREATE TABLE subject_case (
  key TEXT PRIMARY KEY NOT NULL,
  subject_kind TEXT NOT NULL,
  subject_name TEXT NOT NULL,
  subject_digest TEXT REFERENCES model (digest),
  model_path TEXT NOT NULL,
  device TEXT NOT NULL,
  alias TEXT NOT NULL,
  sizes TEXT,
  options TEXT,
  load TEXT,
  surroundings TEXT
) STRICT;
CREATE TABLE measurement (
  uid TEXT PRIMARY KEY NOT NULL,
  digest TEXT NOT NULL,
  case_key TEXT NOT NULL REFERENCES subject_case (key),
  machine_id TEXT REFERENCES machine (id),
  started_unix_ms INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed', 'skipped')),
  error_code TEXT NOT NULL,
  reason TEXT NOT NULL,
  stop_reason TEXT NOT NULL,
  summary TEXT,
  surroundings TEXT,
  attest TEXT,
  verification TEXT,
  books TEXT,
  memory TEXT
) STRICT;
CREATE TABLE sample (
  measurement_uid TEXT NOT NULL REFERENCES measurement (uid),
  series TEXT NOT NULL CHECK (series IN ('warmup_ns', 'samples_ns', 'profiled_ns')),
  n INTEGER NOT NULL CHECK (n >= 0),
  ns BLOB NOT NULL CHECK (length(ns) = 8 * n),
  PRIMARY KEY (measurement_uid, series)
) STRICT;
PRAGMA application_id = 1229344115;
PRAGMA user_version = 1;
INSERT INTO machine VALUES ('m1', '{"cpu":"a processor","id":"m1"}');
INSERT INTO model VALUES ('abababababababababababababababababababababababababababababababab', 'matmul');
INSERT INTO subject_case VALUES ('775a1a978f1975d0f3961ad84b93c66bf510b6efc5fb11e7ab2ffee8196383af', 'model', 'matmul', 'abababababababababababababababababababababababababababababababab', '/models/matmul.onnx', 'openvino:CPU@1', '', '{"m":64}', '{"dtype":"f32","runs":3}', NULL, '{"engine_version":"2026.4","machine":"m1"}');
INSERT INTO measurement VALUES ('0123456789abcdef0123456789abcdef', '3bb749a198ddfdbe424a32abc4488b6f43be9bac17ad659d0419c57e156c25b2', '775a1a978f1975d0f3961ad84b93c66bf510b6efc5fb11e7ab2ffee8196383af', 'm1', 1700000000123, 'ok', '', '', 'fixed', '{"median":700.0,"p99":null}', '{"machine":{"cpu":"a processor","id":"m1"}}', NULL, NULL, NULL, NULL);
INSERT INTO sample VALUES ('0123456789abcdef0123456789abcdef', 'warmup_ns', 2, x'84030000000000002003000000000000'), ('0123456789abcdef0123456789abcdef', 'samples_ns', 3, x'bc020000000000000100000000002000ffffffffffffffff'), ('0123456789abcdef0123456789abcdef', 'profiled_ns', 0, x'');
