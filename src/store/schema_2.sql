-- Schema 2: what was asked of models (record/exchange.h), and every answer of the judge
-- (record/judgement.h), so that a run can be replayed with neither.

CREATE TABLE exchange (
    run    INTEGER NOT NULL REFERENCES run (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    node   INTEGER NOT NULL,  -- that is being made; it may never come to be
    step   INTEGER NOT NULL,
    state  TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed')),
    record TEXT NOT NULL,
    PRIMARY KEY (run, number)
) STRICT;

CREATE TABLE judgement (
    run     INTEGER NOT NULL REFERENCES run (id),
    number  INTEGER NOT NULL CHECK (number >= 1),
    subject TEXT NOT NULL,
    record  TEXT NOT NULL,
    PRIMARY KEY (run, number)
) STRICT;
