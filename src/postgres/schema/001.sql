-- Creates the tables of a Sherd journal, version 2, in the schema "sherd". It may run again: what is
-- there stays. Nodes with journal.postgres.create-schema = auto run the same text. For another schema,
-- replace each "sherd." and the name in the first statement.

CREATE SCHEMA IF NOT EXISTS sherd;

-- One row: which store this is, and which cluster may use it. A program of version v uses the store if
-- min_reader <= v.
CREATE TABLE IF NOT EXISTS sherd.meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    store_id uuid NOT NULL,
    cluster text NOT NULL,
    schema integer NOT NULL,
    min_reader integer NOT NULL,
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    touched timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The last term that a coordinator took, and the proofs of the last 100 terms.
CREATE TABLE IF NOT EXISTS sherd.term (
    type bytea PRIMARY KEY,
    last bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS sherd.proof (
    type bytea NOT NULL,
    term bigint NOT NULL,
    value bigint NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (type, term)
);

-- A process that writes, by its random number: the number of its records (last), a generation, which
-- each claim of one of its shards raises, and how many of its shards were taken (taken). Each commit
-- updates the row of its writer, so there is room for new versions on the same page.
CREATE TABLE IF NOT EXISTS sherd.writer (
    id bigint PRIMARY KEY,
    generation bigint NOT NULL,
    last bigint NOT NULL,
    taken bigint NOT NULL,
    owner text NOT NULL
) WITH (fillfactor = 10);

-- A shard's fence (term, epoch), and the writer that claimed it (claim); 0: none. A transaction that
-- changes claim or raises a fence also raises the generation of the former writer.
CREATE TABLE IF NOT EXISTS sherd.shard (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type bytea NOT NULL,
    shard bytea NOT NULL,
    term bigint NOT NULL,
    epoch bigint NOT NULL,
    claim bigint NOT NULL,
    owner text NOT NULL,
    UNIQUE (type, shard)
);

-- Ids of persistence may hold any bytes, so they are not text. Each writer takes 1000 numbers at once.
CREATE SEQUENCE IF NOT EXISTS sherd.entity_id INCREMENT 1000;
CREATE TABLE IF NOT EXISTS sherd.entity (
    id bigint PRIMARY KEY,
    shard bigint NOT NULL,
    pid bytea NOT NULL UNIQUE
);

-- pos counts a writer's records from 1 without gaps; at is for people only.
CREATE TABLE IF NOT EXISTS sherd.event (
    entity bigint NOT NULL,
    seq bigint NOT NULL,
    shard bigint NOT NULL,
    writer bigint NOT NULL,
    pos bigint NOT NULL,
    at timestamptz NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (entity, seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
ALTER TABLE sherd.event ALTER COLUMN record SET STORAGE EXTERNAL;

-- Snapshots of entities: the state after the event seq.
CREATE TABLE IF NOT EXISTS sherd.snapshot (
    entity bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (entity, seq)
);
ALTER TABLE sherd.snapshot ALTER COLUMN record SET STORAGE EXTERNAL;
