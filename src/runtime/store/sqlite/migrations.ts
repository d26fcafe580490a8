/** The schema, step by step. A step that has been released is never edited: see `Migration`. */
import type { Migration } from '../migration-plan.ts'

/**
 * Of jobs
 * - `seq` is the order of submission, and the place of the row: indexes carry it for nothing, and
 *   new jobs are written side by side.
 * - what changes stands before what may be long, so that a look at the state never reads a body.
 * - an index holds only the jobs it is asked about; one that has ended is in that of its id, its key
 *   and its task, and no other.
 *
 * `settled_fence` is the fence of the last answer; a rescue leaves it, so a repeated answer can be
 * told from a late one. `nodes.lease_until` is 0 when the node is gone and nothing more will come.
 */
const first = `
CREATE TABLE jobs (
  seq                 INTEGER PRIMARY KEY,
  id                  TEXT    NOT NULL UNIQUE,
  state               TEXT    NOT NULL,
  lane                TEXT    NOT NULL,
  priority            INTEGER NOT NULL,
  run_at              INTEGER NOT NULL,
  attempt             INTEGER NOT NULL DEFAULT 0,
  attempts_max        INTEGER NOT NULL,
  crashes             INTEGER NOT NULL DEFAULT 0,
  fence               INTEGER NOT NULL DEFAULT 0,
  settled_fence       INTEGER,
  since_fence         INTEGER NOT NULL DEFAULT 1,
  is_cancel_requested INTEGER NOT NULL DEFAULT 0,
  node_id             TEXT,
  created_at          INTEGER NOT NULL,
  started_at          INTEGER,
  finished_at         INTEGER,
  type                TEXT    NOT NULL,
  version             TEXT    NOT NULL,
  domain              TEXT    NOT NULL,
  key                 TEXT,
  task_id             TEXT,
  trace_id            TEXT,
  span_id             TEXT,
  error_code          TEXT,
  error_message       TEXT,
  reason              TEXT,
  progress            TEXT,
  result              TEXT,
  body                TEXT    NOT NULL
) STRICT;
CREATE INDEX jobs_ready ON jobs (lane, priority, run_at) WHERE state = 'queued';
CREATE INDEX jobs_scheduled ON jobs (run_at) WHERE state = 'scheduled';
CREATE INDEX jobs_running ON jobs (node_id) WHERE state = 'running';
CREATE INDEX jobs_cancelling ON jobs (node_id) WHERE state = 'running' AND is_cancel_requested = 1;
CREATE INDEX jobs_troubled ON jobs (id) WHERE state IN ('failed', 'dead');
CREATE UNIQUE INDEX jobs_key ON jobs (key) WHERE key IS NOT NULL;
CREATE INDEX jobs_task ON jobs (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE attempts (
  id            INTEGER PRIMARY KEY,
  job           INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  fence         INTEGER NOT NULL,
  node_id       TEXT    NOT NULL,
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER NOT NULL,
  kind          TEXT    NOT NULL,
  error_code    TEXT,
  error_message TEXT
) STRICT;
CREATE INDEX attempts_job ON attempts (job);

CREATE TABLE tallies (
  node_id TEXT    NOT NULL,
  state   TEXT    NOT NULL,
  count   INTEGER NOT NULL,
  PRIMARY KEY (node_id, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
  id          TEXT    NOT NULL PRIMARY KEY,
  role        TEXT    NOT NULL,
  address     TEXT,
  version     TEXT    NOT NULL,
  epoch       INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  started_at  INTEGER NOT NULL,
  beat_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pauses (scope TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  duty    TEXT    NOT NULL PRIMARY KEY,
  node_id TEXT    NOT NULL,
  until   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  type         TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  key          TEXT,
  domain       TEXT,
  priority     INTEGER,
  run_at       REAL,
  attempts_max INTEGER,
  task_id      TEXT,
  refusal      TEXT,
  created_at   REAL    NOT NULL DEFAULT (unixepoch('subsec') * 1000)
) STRICT;
CREATE INDEX outbox_waiting ON outbox (id) WHERE refusal IS NULL;
CREATE INDEX outbox_task ON outbox (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE schedules (
  name      TEXT    NOT NULL PRIMARY KEY,
  cron      TEXT    NOT NULL,
  time_zone TEXT    NOT NULL,
  type      TEXT    NOT NULL,
  body      TEXT    NOT NULL,
  domain    TEXT    NOT NULL,
  priority  INTEGER NOT NULL,
  is_paused INTEGER NOT NULL,
  next_at   INTEGER NOT NULL,
  last_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  id            TEXT    NOT NULL PRIMARY KEY,
  group_id      TEXT    NOT NULL,
  state         TEXT    NOT NULL,
  priority      INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  type          TEXT    NOT NULL,
  domain        TEXT    NOT NULL,
  error_code    TEXT,
  error_message TEXT,
  result        TEXT,
  body          TEXT    NOT NULL
) STRICT;
CREATE INDEX tasks_group ON tasks (group_id, state);
CREATE INDEX tasks_queued ON tasks (updated_at) WHERE state = 'QUEUED';

CREATE TABLE snapshots (
  id     TEXT    NOT NULL PRIMARY KEY,
  fence  INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  due_at REAL,
  text   TEXT    NOT NULL
) STRICT;
`

export const sqliteMigrations: readonly Migration[] = [
  { version: 1, name: 'jobs, nodes, tasks and snapshots', sql: first },
]
