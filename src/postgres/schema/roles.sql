-- Creates the role "sherd_writer" with the rights that nodes need after 001.sql. Grant it to the user
-- of the nodes: GRANT sherd_writer TO the_user. Such nodes need journal.postgres.create-schema = check.

DO $$
BEGIN
    CREATE ROLE sherd_writer NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END
$$;
GRANT USAGE ON SCHEMA sherd TO sherd_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sherd TO sherd_writer;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA sherd TO sherd_writer;
