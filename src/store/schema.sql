-- Schema 1 of the store. Columns for what is looked up or ordered by; `record` is
-- the whole record in its JSON form (record/run.h), and the only thing read back.
-- What can be counted from nodes (visits, best times) is not kept.

CREATE TABLE run (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- a number once given is never given again
    state      TEXT NOT NULL CHECK (state IN ('active', 'done', 'interrupted')),
    problem    TEXT NOT NULL,
    started_at TEXT NOT NULL,
    record     TEXT NOT NULL
) STRICT;

CREATE TABLE node (
    run     INTEGER NOT NULL REFERENCES run (id),
    number  INTEGER NOT NULL CHECK (number >= 0),
    parent  INTEGER CHECK (parent < number),  -- NULL for the root
    verdict TEXT,                             -- NULL until it is evaluated
    time_s  REAL,                             -- NULL when it did not work
    record  TEXT NOT NULL,
    PRIMARY KEY (run, number),
    FOREIGN KEY (run, parent) REFERENCES node (run, number)
) STRICT;
