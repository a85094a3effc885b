-- Format 1 of a Windlass log. Bodies and causes are JSON. For people there is the view `log`.
CREATE TABLE runs (
  no INTEGER PRIMARY KEY,          -- the run's short number, used in the other tables; in the order in which runs began
  run BLOB NOT NULL UNIQUE,        -- the run's id: a UUID
  agent TEXT NOT NULL,
  owner TEXT NOT NULL,             -- the one who started it; "local" at the command line
  session TEXT,
  parent BLOB,
  base BLOB,
  started_at INTEGER NOT NULL,     -- milliseconds since the epoch, as all times here
  title TEXT NOT NULL,
  question TEXT,                   -- the beginning of the question that it waits with
  status TEXT NOT NULL,            -- running, suspended, or the name of the status
  detail TEXT,                     -- which limit, which kind of failure; when a suspended run goes on by itself
  suspended_at INTEGER,            -- when a suspended run's timer was set, by its holder's clock
  epoch INTEGER NOT NULL,          -- the number of the last hold
  holder TEXT NOT NULL,            -- who took the last hold
  held INTEGER,                    -- the holder's process (holders.id) as long as it holds the run
  claim INTEGER                    -- the number of the holder's request that acquired the last hold
);
-- An index ends with the row's number, so that listings need no sorting: no clock decides their order.
CREATE INDEX runs_by_session ON runs(session) WHERE session IS NOT NULL;
CREATE INDEX runs_by_owner ON runs(owner);
CREATE INDEX runs_by_parent ON runs(parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_by_base ON runs(base) WHERE base IS NOT NULL;
CREATE INDEX runs_by_status ON runs(status);
CREATE INDEX runs_by_agent ON runs(agent);
-- The next five find runs that are due without reading those that a living process holds, or that wait for people.
CREATE INDEX runs_free ON runs(status) WHERE held IS NULL AND status = 'running' AND parent IS NULL;
CREATE INDEX runs_by_timer ON runs(status, CAST(detail AS INTEGER)) WHERE status = 'suspended' AND detail IS NOT NULL;
CREATE INDEX runs_by_clock ON runs(status, suspended_at) WHERE status = 'suspended' AND detail IS NOT NULL;
CREATE INDEX runs_by_process ON runs(held) WHERE held IS NOT NULL;
CREATE INDEX runs_by_claim ON runs(claim, holder) WHERE held IS NOT NULL;
-- The run that the next message of a session continues. A session is named by its owner and its name.
CREATE TABLE heads (
  owner TEXT NOT NULL,
  session TEXT NOT NULL,
  run INTEGER NOT NULL,            -- runs.no
  queued INTEGER NOT NULL,         -- 1: messages are queued in the session, which a later run answers
  PRIMARY KEY (owner, session)
) WITHOUT ROWID;
CREATE UNIQUE INDEX heads_by_run ON heads(run); -- the order in which sessions are listed
CREATE INDEX heads_with_queue ON heads(queued, run) WHERE queued = 1;
-- One row per append, in the order of all appends: writing touches only the end of the table, however many runs are on.
CREATE TABLE appends (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,            -- runs.no
  last INTEGER NOT NULL,           -- the number of its last event within the run, from 1
  count INTEGER NOT NULL,          -- how many events it has
  at INTEGER NOT NULL,             -- the time of its last event
  schema INTEGER NOT NULL,         -- the schema version of its events and its cause
  cause TEXT NOT NULL,             -- {"type":KIND,..}: which input led to it, as far as the events do not say it
  body TEXT NOT NULL,              -- [{"type":KIND,"data":{..}},..], with "at" where it is not the append's
  uses INTEGER,                    -- the post that it used (inbox.id)
  cost INTEGER,                    -- what the run has cost until then, in 10^-12 US dollars; NULL: not known
  chain BLOB NOT NULL              -- SHA-256 over the chain of the append before and this row
);
CREATE UNIQUE INDEX appends_by_run ON appends(run, last);
CREATE UNIQUE INDEX appends_by_post ON appends(uses) WHERE uses IS NOT NULL; -- no post is used twice
CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL,            -- runs.no
  at INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX inbox_by_run ON inbox(run, id);
-- The keys of posts, used or not, as long as the run: what is sent twice under one is posted once.
CREATE TABLE post_keys (
  run INTEGER NOT NULL,            -- runs.no
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  digest BLOB NOT NULL,            -- SHA-256 of the request
  post INTEGER NOT NULL,           -- inbox.id
  PRIMARY KEY (run, owner, key)
) WITHOUT ROWID;
CREATE INDEX post_keys_by_key ON post_keys(owner, key);
CREATE TABLE holders (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  host TEXT NOT NULL,              -- boot id and pid namespace: where the pid means something
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,        -- start time of the process in clock ticks since boot
  heartbeat_at INTEGER NOT NULL,        -- when it last said that it lives
  heartbeat_uptime INTEGER                  -- the same moment in milliseconds since boot
);
-- Which heartbeat was seen first when, by a process of another boot.
CREATE TABLE seen_heartbeats (
  holder INTEGER PRIMARY KEY,      -- holders.id
  heartbeat TEXT NOT NULL,           -- the heartbeat
  boot TEXT NOT NULL,              -- of the observer
  uptime INTEGER NOT NULL           -- when it was seen first, in milliseconds since that boot
);
-- Payloads that are too large for events, each once.
CREATE TABLE payloads (
  no INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE,
  bytes INTEGER NOT NULL,
  stored_at INTEGER NOT NULL       -- when it was stored last
);
-- The bytes of a payload, in pieces of 256 KiB, so that any range can be read alone.
CREATE TABLE chunks (
  payload INTEGER NOT NULL,        -- payloads.no
  place INTEGER NOT NULL,          -- from 0
  data BLOB NOT NULL
);
CREATE UNIQUE INDEX chunks_by_place ON chunks(payload, place);
-- Which runs' events refer to a payload: without any it may go.
CREATE TABLE run_payloads (
  run INTEGER NOT NULL,            -- runs.no
  payload INTEGER NOT NULL,        -- payloads.no
  PRIMARY KEY (run, payload)
) WITHOUT ROWID;
CREATE INDEX run_payloads_by_payload ON run_payloads(payload);
-- Payloads that a process has stored and whose append may still come: they stay as long as the process lives.
CREATE TABLE pins (
  payload INTEGER NOT NULL,        -- payloads.no
  holder INTEGER NOT NULL,         -- holders.id
  PRIMARY KEY (payload, holder)
) WITHOUT ROWID;
CREATE VIEW log AS
  SELECT lower(substr(hex(runs.run), 1, 8) || '-' || substr(hex(runs.run), 9, 4) || '-' || substr(hex(runs.run), 13, 4) || '-' ||
           substr(hex(runs.run), 17, 4) || '-' || substr(hex(runs.run), 21)) AS run,
         appends.last - appends.count + 1 + event.key AS seq,
         datetime(coalesce(event.value ->> 'at', appends.at) / 1000, 'unixepoch') AS time,
         event.value ->> 'type' AS kind, event.value -> 'data' AS body,
         CASE event.key WHEN 0 THEN appends.cause ->> 'type' END AS cause, appends.schema AS schema
  FROM appends JOIN runs ON runs.no = appends.run, json_each(appends.body) AS event;
