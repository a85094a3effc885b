-- Format 1 of a Windlass log. Bodies are JSON. For people there is the view `log`.
CREATE TABLE runs (
  no INTEGER PRIMARY KEY,          -- the run's short number, upper 31 bits of its events' ids
  run BLOB NOT NULL UNIQUE,        -- the run's id: a UUIDv7, so that the order of ids is the order of births
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
CREATE TABLE events (
  id INTEGER PRIMARY KEY,          -- runs.no * 4294967296 + the event's number, from 1
  last INTEGER NOT NULL,           -- 1: the last event of its append
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  schema INTEGER NOT NULL,
  body TEXT NOT NULL
);
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
  SELECT lower(substr(hex(run), 1, 8) || '-' || substr(hex(run), 9, 4) || '-' || substr(hex(run), 13, 4) || '-' ||
           substr(hex(run), 17, 4) || '-' || substr(hex(run), 21)) AS run,
         id & 4294967295 AS seq, last, datetime(at / 1000, 'unixepoch') AS time, kind, schema, body
  FROM events JOIN runs ON runs.no = events.id >> 32;
