-- Format 1 of a Windlass log. Bodies are JSON. For people there is the view `log`.
CREATE TABLE runs (
  no INTEGER PRIMARY KEY,          -- the run's short number, used in the other tables; in the order in which runs began
  run BLOB NOT NULL UNIQUE,        -- the run's id: a UUIDv7
  agent TEXT NOT NULL,
  session TEXT,
  parent BLOB,
  base BLOB,
  started_at INTEGER NOT NULL,     -- milliseconds since the epoch, as all times here
  title TEXT NOT NULL,
  standing TEXT NOT NULL,          -- running, suspended, or the name of the status
  detail TEXT,                     -- which limit, which kind of failure
  epoch INTEGER NOT NULL,          -- the number of the last hold
  holder TEXT NOT NULL,            -- who took the last hold
  held INTEGER                     -- the holder's process (holders.id) as long as it holds the run
);
CREATE INDEX runs_by_session ON runs(session, run) WHERE session IS NOT NULL;
CREATE INDEX runs_by_parent ON runs(parent, run) WHERE parent IS NOT NULL;
-- One row per append, in the order of all appends: writing touches only the end of the table, however many runs are on.
CREATE TABLE appends (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,            -- runs.no
  last INTEGER NOT NULL,           -- the number of its last event within the run, from 1
  count INTEGER NOT NULL,          -- how many events it has
  at INTEGER NOT NULL,             -- the time of its last event
  schema INTEGER NOT NULL,         -- the schema version of its events
  body TEXT NOT NULL               -- [{"type":KIND,"data":{..}},..], with "at" where it is not the append's
);
CREATE UNIQUE INDEX appends_by_run ON appends(run, last);
CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL,            -- runs.no
  at INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX inbox_by_run ON inbox(run, id);
CREATE TABLE holders (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  host TEXT NOT NULL,              -- boot id and pid namespace: where the pid means something
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,        -- start time of the process in clock ticks since boot
  beat_at INTEGER NOT NULL         -- when it last said that it lives
);
CREATE VIEW log AS
  SELECT lower(substr(hex(runs.run), 1, 8) || '-' || substr(hex(runs.run), 9, 4) || '-' || substr(hex(runs.run), 13, 4) || '-' ||
           substr(hex(runs.run), 17, 4) || '-' || substr(hex(runs.run), 21)) AS run,
         appends.last - appends.count + 1 + event.key AS seq,
         datetime(coalesce(event.value ->> 'at', appends.at) / 1000, 'unixepoch') AS time,
         event.value ->> 'type' AS kind, event.value -> 'data' AS body, appends.schema AS schema
  FROM appends JOIN runs ON runs.no = appends.run, json_each(appends.body) AS event;
