-- Brings the index up to date with a batch of changes: JSON objects on standard input, one on each line.
.bail on
.timeout 10000
CREATE TEMP TABLE batch(change);
.mode ascii
.separator "\037" "\n"
.import /dev/stdin batch

BEGIN IMMEDIATE;

-- The newest version of each entity in the batch. `entity` is NULL if it was deleted.
CREATE TEMP TABLE newer AS
  SELECT change ->> 'id' AS id, max(change ->> 'stamp') AS stamp, change -> 'entity' AS entity FROM batch GROUP BY 1;

-- A change can come again, or late. Ignore it unless it is newer than what the index has.
DELETE FROM newer WHERE stamp <= (SELECT stamp FROM seen WHERE seen.id = newer.id);

-- The stamp of a deleted entity stays. So an older version of it is ignored, too.
INSERT INTO seen(id, stamp) SELECT id, stamp FROM newer WHERE true
  ON CONFLICT(id) DO UPDATE SET stamp = excluded.stamp;

DELETE FROM search WHERE rowid IN (SELECT number FROM seen JOIN newer USING (id));
.system eval "$BEFORE_COMMIT"
INSERT INTO search(rowid, title, text)
  SELECT number, entity ->> 'title', entity ->> 'text' FROM newer JOIN seen USING (id) WHERE entity IS NOT NULL;

COMMIT;
