-- Schema 1 of the memory. Columns for what is looked up or ordered by; `record` is the whole lesson
-- in its JSON form (record/lesson.h), and the only thing read back.

CREATE TABLE lesson (
    run        TEXT PRIMARY KEY,  -- random: the same on every machine that has heard of it
    skeleton   TEXT NOT NULL,
    target     TEXT NOT NULL,
    place      TEXT NOT NULL,     -- form, types, sizes and device: whose champions compete
    learned_at TEXT NOT NULL,
    evals      INTEGER NOT NULL,
    time_s     REAL,              -- the champion's; NULL without one
    record     TEXT NOT NULL
) STRICT;

CREATE INDEX lesson_of_siblings ON lesson (skeleton, target);
CREATE INDEX lesson_by_place ON lesson (place, learned_at);
