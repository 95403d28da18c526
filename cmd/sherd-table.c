/* Lists the commands of the program sherd, with their options and texts. */
#include "sherd.h"

#include <stddef.h>

#define JSON { "json", NULL, "prints JSON objects, one a line" }
#define SCHEMA { "schema", "NAME", "the schema of a journal in PostgreSQL (sherd)" }
#define FROM { "from", "N", "the first event's number (1)" }
#define FROM_ANY { "from", "N", "the first number (1)" }
#define TO_ANY { "to", "M", "the last number" }
#define DRY_RUN { "dry-run", NULL, "checks everything, and changes nothing" }
#define PROGRAM { "program", "LIBRARY", "a shared library with the types' code (sherd/inspect.h)" }
#define HEX { "hex", NULL, "prints whole payloads in hexadecimal digits" }

const struct cmd_group cmd_groups[] = {
    { "journal", "inspect, check, export and import a journal",
      "JOURNAL is the SQLite file of a node, such as sherd.db, or postgres:URL. "
      "ID is an entity as TYPE|ENTITY, or a shard's list of remembered entities as |TYPE|SHARD. "
      "Unless a command says otherwise, it changes nothing and may run while nodes use the journal." },
    { 0 },
};

const struct cmd_command cmd_commands[] = {
    { "journal", "info", "JOURNAL", 1, 1, "print what a journal is and what is in it",
      "Prints the journal's identity, cluster, version, sizes and types, and whether nodes have it open.",
      { JSON, SCHEMA }, cmd_journal_info },
    { "journal", "ids", "JOURNAL [PREFIX]", 1, 2, "list entities and their event numbers",
      "Lists the entities whose id begins with PREFIX, such as \"Cart|\", in the order of their bytes, with "
      "the numbers of their first and last event.",
      { { "after", "ID", "begins behind this id" }, { "limit", "N", "stops after N entities" }, JSON, SCHEMA },
      cmd_journal_ids },
    { "journal", "cat", "JOURNAL ID", 2, 2, "print an entity's events",
      "Prints the events of an entity in order. It prints the first 64 bytes of each payload; a byte that is no "
      "printable ASCII is \\xNN. A damaged event is named, and the exit status is 1 then. It is also 1 if "
      "there is no event.",
      { FROM, { "to", "N", "the last event's number" }, HEX, JSON, SCHEMA }, cmd_journal_cat },
    { "journal", "tail", "JOURNAL ID...", 2, CMD_ARGUMENTS_MAX, "follow the events of entities",
      "Prints the last event of each entity, then each new one, until it is interrupted. It looks twice a "
      "second.",
      { { "events", "N", "begins with the last N events (1)" }, HEX, JSON, SCHEMA }, cmd_journal_tail },
    { "journal", "state-at", "JOURNAL ID N", 3, 3, "print the events that make the state at an event",
      "Prints the events 1 to N: an entity that applies them in order has the state that it had after event N. If the "
      "first ones were deleted, it begins with a snapshot. With --program it runs the application's code, and prints the "
      "state instead: the text of describe, or else the image of save. The exit status is 1 if an event is missing, "
      "damaged or rejected.",
      { PROGRAM, HEX, JSON, SCHEMA }, cmd_journal_state_at },
    { "journal", "upcast", "JOURNAL [PREFIX]", 1, 2, "try upcasters on all stored events",
      "Runs the application's upcasters and apply on all events of the entities whose id begins with PREFIX. For each "
      "type and version of events it prints how many are stored, how many of the present version they become, and "
      "how many are rejected, with the first one. The exit status is 1 if an entity would not start.",
      { { "dry-run", NULL, "required: stored events are never rewritten" }, PROGRAM, JSON, SCHEMA }, cmd_journal_upcast },
    { "journal", "snapshots", "JOURNAL [PREFIX]", 1, 2, "list snapshots",
      "Lists the snapshots of the entities whose id begins with PREFIX: the number of the event, the version, fence and "
      "size of the image. The exit status is 1 if one is damaged.",
      { JSON, SCHEMA }, cmd_journal_snapshots },
    { "journal", "drop-snapshots", "JOURNAL ID", 2, 2, "delete snapshots of an entity",
      "Deletes the snapshots of an entity from number N to number M, by default all of them. Recovery then uses the "
      "others, or all events. It is refused if events were deleted that only these snapshots have, and while nodes "
      "have the journal open.",
      { FROM_ANY, TO_ANY, DRY_RUN, JSON, SCHEMA },
      cmd_journal_drop_snapshots },
    { "journal", "make-snapshot", "JOURNAL ID", 2, 2, "store a snapshot of an entity",
      "Runs the application's code on the events of an entity, and stores the state after the last one as a snapshot. "
      "Older ones stay. It is refused while nodes have the journal open.",
      { PROGRAM, JSON, SCHEMA }, cmd_journal_make_snapshot },
    { "journal", "verify", "JOURNAL", 1, 1, "look for damage",
      "Reads all events and snapshots, and all pages and tables of a file, and lists the damaged parts. The exit status "
      "is 1 if there are any. With --program it also compares each snapshot with the state that the events before it make.",
      { { "deep", NULL, "also checks that fences rise along each entity and fit the terms, that deleted events are in a good snapshot, and that tables agree" },
        PROGRAM, JSON, SCHEMA },
      cmd_journal_verify },
    { "journal", "accept-loss", "JOURNAL", 1, 1, "rebuild a damaged journal without what is lost",
      "Does the same as verify. If something is damaged, it writes a new file with everything that can be "
      "read, and lists what is lost. An entity keeps its events up to the first one that is missing or damaged, "
      "so its state is an earlier one. The former file becomes FILE.damaged, and FILE-turn is deleted. Stop "
      "all nodes that use the journal before. A backup may have more: compare first.",
      { { 0 } }, cmd_journal_accept_loss },
    { "journal", "schema", "JOURNAL", 1, 1, "print, check or upgrade the tables",
      "Prints the version of the journal's tables, and the statements that made them. With --check the exit status is 1 "
      "if the tables are older than this program. With --migrate they are upgraded, as a new node does: stop all nodes "
      "that use a file before; those that use PostgreSQL may run.",
      { { "check", NULL, "compares the version" }, { "migrate", NULL, "upgrades older tables" }, JSON, SCHEMA },
      cmd_journal_schema },
    { "journal", "export", "JOURNAL", 1, 1, "write everything to standard output as JSON lines",
      "Writes terms, fences, all events and snapshots as lines of JSON (docs/protocol/journal.md, \"Export\"). "
      "A damaged event ends it with exit status 1. While nodes write, each entity's events are complete up to "
      "one of them, but not all up to the same moment.",
      { { "prefix", "PREFIX", "only entities whose id begins so" }, SCHEMA }, cmd_journal_export },
    { "journal", "import", "JOURNAL [FILE]", 1, 2, "read an export into a journal",
      "Reads an export from FILE or standard input into JOURNAL, which is made if it does not exist. All is "
      "imported, or nothing: after an interruption the import is simply repeated. Entities that the journal already has are refused. Terms and fences become the "
      "higher ones of both. Stop all nodes that use the journal before: it is refused while a process has "
      "it open. A journal in PostgreSQL must be empty, and needs --number-of-shards: its tables have the shard of "
      "each entity. An export whose types have other extractors than Akka's hash is refused there.",
      { { "cluster", "ID", "the journal's cluster, if not that of the export" },
        { "dry-run", NULL, "checks everything, and imports nothing" },
        { "number-of-shards", "N", "as the nodes have it; only for PostgreSQL" },
        JSON, SCHEMA },
      cmd_journal_import },
    { "journal", "move", "FILE [URL]", 1, 2, "move an SQLite journal into PostgreSQL",
      "Copies everything from FILE into an empty journal at postgres:URL, in one transaction, and verifies it. FILE keeps "
      "its content, and gets a mark, so that no node opens it any more. Stop all nodes before. A move that was interrupted "
      "is repeated from its beginning. With --undo it only deletes the mark: do that if the journal in PostgreSQL is "
      "not used.",
      { { "number-of-shards", "N", "as the nodes have it; required" },
        { "undo", NULL, "deletes the mark of FILE" },
        JSON, SCHEMA },
      cmd_journal_move },
    { "journal", "remove-sharding", "JOURNAL TYPE...", 2, CMD_ARGUMENTS_MAX,
      "delete what sharding remembers of types",
      "Deletes the lists of remembered entities of these types, and prints them. After the next start these "
      "entities start when they get a message. Events of entities, fences and terms stay. Stop the "
      "whole cluster before: it is refused while nodes have the journal open. Lists in durable distributed data "
      "(remember-entities-store = ddata) are deleted by remove-durable.",
      { { "dry-run", NULL, "only prints them" }, JSON, SCHEMA },
      cmd_journal_remove_sharding },
    { "journal", "remove-durable", "FOLDER TYPE...", 2, CMD_ARGUMENTS_MAX,
      "delete what sharding remembers in durable data",
      "Deletes the keys of these types, such as shard-TYPE-all, from the durable distributed data in FOLDER, and prints "
      "them. FOLDER is the one of a node in lmdb.dir, with values.mdb. Keys of applications stay. Stop the whole "
      "cluster, and do it for the folder of each node: one that is left brings the keys back. It is refused while "
      "a node has FOLDER open.",
      { { "cluster", "ID", "the cluster's id, as journal.cluster-id (ClusterSystem)" }, DRY_RUN, JSON },
      cmd_journal_remove_durable },
    { NULL, "man", "", 0, 0, "print the manual page", "Prints the manual page sherd(1) in mdoc.", { { 0 } },
      cmd_man },
    { NULL, "completion", "", 0, 0, "print completion for bash",
      "Prints a script that completes words in bash: source <(sherd completion).", { { 0 } }, cmd_completion },
    { 0 },
};
