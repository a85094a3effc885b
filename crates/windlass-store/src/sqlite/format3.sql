-- Format 3: a hash chain over the appends of each run, payloads on their way to an append, heartbeats that are judged
-- without comparing wall clocks, waits that a clock set back does not stretch, and listings in the order of `runs.no`,
-- which no clock decides.
ALTER TABLE appends ADD COLUMN chain BLOB;    -- SHA-256 over the chain of the append before and this row; null: written by an earlier format
ALTER TABLE runs ADD COLUMN unhashed INTEGER NOT NULL DEFAULT 0; -- the last event that an earlier format wrote: up to there `chain` may be null
UPDATE runs SET unhashed = coalesce((SELECT max(last) FROM appends WHERE appends.run = runs.no), 0);
ALTER TABLE runs ADD COLUMN parked_at INTEGER; -- when a suspended run's timer was set, by its holder's clock
ALTER TABLE holders ADD COLUMN beat_up INTEGER; -- the same moment as beat_at in milliseconds since boot
-- Which heartbeat was seen first when, by a process of another boot.
CREATE TABLE sightings (
  holder INTEGER PRIMARY KEY,      -- holders.id
  beat TEXT NOT NULL,              -- the heartbeat
  boot TEXT NOT NULL,              -- of the observer
  up INTEGER NOT NULL              -- when it was seen first, in milliseconds since that boot
);
-- Payloads that a process has stored and whose append may still come: they stay as long as the process lives.
CREATE TABLE pins (
  payload INTEGER NOT NULL,        -- payloads.no
  holder INTEGER NOT NULL,         -- holders.id
  PRIMARY KEY (payload, holder)
) WITHOUT ROWID;
-- An index ends with the row's number: ordered by ids, it would leave listings to be sorted.
DROP INDEX runs_by_session;
DROP INDEX runs_by_parent;
DROP INDEX runs_by_standing;
DROP INDEX runs_by_agent;
CREATE INDEX runs_by_session ON runs(session) WHERE session IS NOT NULL;
CREATE INDEX runs_by_parent ON runs(parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_by_standing ON runs(standing);
CREATE INDEX runs_by_agent ON runs(agent);
ALTER TABLE appends ADD COLUMN uses INTEGER;   -- the post that this append used (inbox.id)
CREATE UNIQUE INDEX appends_by_post ON appends(uses) WHERE uses IS NOT NULL; -- no post is used twice
