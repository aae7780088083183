-- A full-text index of entries, and which version of each entry it has.
CREATE TABLE IF NOT EXISTS seen(number INTEGER PRIMARY KEY, id TEXT UNIQUE, stamp TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(title, text);  -- its rowid is the number in `seen`
