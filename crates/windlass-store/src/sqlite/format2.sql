-- From format 1 to format 2: what each run used, and indexes for questions and for days.
-- What the model calls of the run itself have used until then, without its child runs. NULL: an append of format 1, which does not say.
ALTER TABLE appends ADD COLUMN input INTEGER;
ALTER TABLE appends ADD COLUMN output INTEGER;
ALTER TABLE appends ADD COLUMN cached INTEGER;      -- part of input
ALTER TABLE appends ADD COLUMN cache_write INTEGER; -- part of input
ALTER TABLE appends ADD COLUMN reasoning INTEGER;   -- part of output
ALTER TABLE appends ADD COLUMN own_cost INTEGER;    -- in 10^-12 US dollars, without unpriced tokens
ALTER TABLE appends ADD COLUMN unpriced INTEGER;    -- tokens whose price is unknown
-- The runs that wait with a question: all of them in the order in which runs began, and an owner's.
CREATE INDEX runs_that_ask ON runs(no) WHERE question IS NOT NULL AND status IN ('running', 'suspended');
CREATE INDEX runs_that_ask_by_owner ON runs(owner) WHERE question IS NOT NULL AND status IN ('running', 'suspended');
-- The runs of a day.
CREATE INDEX runs_by_start ON runs(started_at, owner, agent);
