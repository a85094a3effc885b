-- Format 2: payloads that are too large for events, each once; and ways to find runs in a large log.
CREATE TABLE payloads (
  no INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE,
  bytes INTEGER NOT NULL,
  stored_at INTEGER NOT NULL       -- when it was stored last
);
-- The bytes of a payload, in pieces of 256 KiB, so that any range can be read alone.
CREATE TABLE pieces (
  payload INTEGER NOT NULL,        -- payloads.no
  place INTEGER NOT NULL,          -- from 0
  data BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_place ON pieces(payload, place);
-- Which runs' events refer to a payload: without any it may go.
CREATE TABLE needs (
  run INTEGER NOT NULL,            -- runs.no
  payload INTEGER NOT NULL,        -- payloads.no
  PRIMARY KEY (run, payload)
) WITHOUT ROWID;
CREATE INDEX needs_by_payload ON needs(payload);
CREATE INDEX runs_by_base ON runs(base) WHERE base IS NOT NULL;
CREATE INDEX runs_by_standing ON runs(standing, run);
CREATE INDEX runs_by_agent ON runs(agent, run);
