/* Lists the commands of the program sherd, with their options and texts. */
#include "sherd.h"

#include <stddef.h>

#define JSON { "json", NULL, "prints JSON objects, one a line", 0 }
#define SCHEMA { "schema", "NAME", "the schema of a journal in PostgreSQL (sherd)", 0 }
#define FROM { "from", "N", "the first event's number (1)", 0 }
#define FROM_ANY { "from", "N", "the first number (1)", 0 }
#define TO_ANY { "to", "M", "the last number", 0 }
#define DRY_RUN { "dry-run", NULL, "checks everything, and changes nothing", 0 }
#define PROGRAM { "program", "LIBRARY", "a shared library with the types' code (sherd/inspect.h)", 0 }
#define LIMIT { "limit", "N", "rows at most (200)", 0 }
#define ORDER { "order", "COLUMN", "the largest first", 0 }
#define NODE { "node", "HOST:PORT", "only what this member has", 0 }
#define TYPE { "type", "TYPE", "only this entity type", 0 }
#define YES { "yes", NULL, "does not ask", 0 }
#define REASON { "reason", "TEXT", "why, for the log", 0 }
#define DRY { "dry-run", NULL, "only the checks", 0 }
#define WITHIN { "within", "SECONDS", "gives up after SECONDS (30)", 0 }
#define ID { "id", "ID", "the same id again is the same operation", 0 }
#define NO_WAIT { "no-wait", NULL, "does not wait for the end", 0 }
#define OPERATES YES, REASON, WITHIN, DRY, ID, NO_WAIT
#define HEX { "hex", NULL, "prints whole payloads in hexadecimal digits", 0 }

#define MEMBER "NODE is a member's host:port."
#define ASKS true

const struct cmd_option cmd_node_options[CMD_NODE_OPTIONS_MAX] = {
    { "address", "ADDRESS", "the node to ask: a URL, host:port, or the path of its socket; default: SHERD_ADDR, or "
                            "the newest node of this user on this machine", 'a' },
    { "output", "FORMAT", "table, json (the answer as it came), or for lists ndjson (one row a line)", 'o' },
    { "watch", "SECONDS", "asks again and again", 'w' },
    { "timeout", "MS", "time for the whole answer (10000)", 0 },
    { "token-file", "FILE", "has the token; default: SHERD_TOKEN_FILE", 0 },
    { "cacert", "FILE", "CAs of the node's certificate; default: SHERD_CACERT", 0 },
    { "cert", "FILE", "a certificate of the caller; default: SHERD_CERT", 0 },
    { "key", "FILE", "its key; default: SHERD_KEY", 0 },
    { 0 },
};

const struct cmd_group cmd_groups[] = {
    { "explain", "tell why a thing is as it is, and what to do",
      "The exit status is 1 after a warning, and 7 after a critical finding. It looks at the cluster and changes nothing." },
    { "node", "look at members, cordon and drain them, let them leave", MEMBER },
    { "type", "look at entity types", "TYPE is the name of an entity type." },
    { "rebalance", "pause and resume rebalances", "TYPE is the name of an entity type." },
    { "op", "look at operations", "An operation is known to the node that began it." },
    { "shard", "look at shards, and move them", "TYPE is the name of an entity type, SHARD the text of a shard, as 17." },
    { "entity", "look at entities", "TYPE is the name of an entity type, ID the id of an entity. Looking starts no entity." },
    { "config", "look at settings", "Secrets are hidden." },
    { "log", "look at the log's level, or set it", "It is the level of the node that is asked." },
    { "token", "make tokens for the management", "A node knows only the hash of a token." },
    { "journal", "inspect, check, export and import a journal",
      "JOURNAL is the SQLite file of a node, such as sherd.db, or postgres:URL. "
      "ID is an entity as TYPE|ENTITY, or a shard's list of remembered entities as |TYPE|SHARD. "
      "Unless a command says otherwise, it changes nothing and may run while nodes use the journal." },
    { 0 },
};

const struct cmd_command cmd_commands[] = {
    { NULL, "status", "", 0, 0, "show the cluster on one screen",
      "Shows the members and entity types of the cluster, and its health. The exit status is 1 after a warning, and 7 if "
      "the cluster cannot do its work.",
      { { 0 } }, cmd_status, ASKS },
    { NULL, "health", "", 0, 0, "ask whether a node is ready",
      "Asks the node itself whether it is ready, and prints the checks that fail. The exit status is 1 if it is not.",
      { { "startup", NULL, "asks whether it was ready once", 0 }, { "live", NULL, "asks whether it runs", 0 } }, cmd_health, ASKS },
    { NULL, "events", "", 0, 0, "list what members decided",
      "Lists the last decisions of all members: homes of shards, moves, members that come and go. The newest is the last.",
      { { "since", "SECONDS", "only those of the last SECONDS", 0 }, TYPE, NODE, LIMIT }, cmd_events, ASKS },
    { NULL, "hot", "", 0, 0, "list the entities with the most messages",
      "Lists the busiest entities of all members, by samples of a short time.", { TYPE, NODE, LIMIT }, cmd_hot, ASKS },
    { NULL, "undelivered", "", 0, 0, "list messages that were not delivered",
      "Lists the last messages that were not delivered, with the reason.", { NODE, LIMIT }, cmd_undelivered, ASKS },
    { NULL, "get", "PATH", 1, 1, "print what a path of the management answers",
      "Prints the answer to a GET of PATH, such as /metrics or /api/v1/openapi.json.", { { 0 } }, cmd_get, ASKS },
    { "explain", "node", "[NODE]", 0, 1, "explain a member", "Explains the member, or the node that is asked.", { { 0 } },
      cmd_explain_node, ASKS },
    { "explain", "ready", "", 0, 0, "explain why a node is not ready", "Explains why the node that is asked is not ready.",
      { { 0 } }, cmd_explain_node, ASKS },
    { "explain", "shard", "TYPE SHARD", 2, 2, "explain a shard", "Explains where a shard is, or why it is nowhere.", { { 0 } },
      cmd_explain_shard, ASKS },
    { "explain", "rebalance", "TYPE", 1, 1, "explain a rebalance", "Explains why shards of a type do or do not move.", { { 0 } },
      cmd_explain_shard, ASKS },
    { "explain", "entity", "TYPE ID", 2, 2, "explain an entity", "Explains an entity, and faults of its shard.", { { 0 } },
      cmd_explain_entity, ASKS },
    { "explain", "message", "TYPE ID", 2, 2, "explain where a message would go",
      "Explains what would happen to a message to the entity now. Nothing is sent.", { { 0 } }, cmd_explain_entity, ASKS },
    { "node", "ls", "", 0, 0, "list members", "Lists the members, and what each says of itself.",
      { { "view", "HOST:PORT", "the members as this one sees them", 0 } }, cmd_node_ls, ASKS },
    { "node", "show", "NODE", 1, 1, "show a member", "Shows everything that a member says of itself.", { { 0 } },
      cmd_node_show, ASKS },
    { "node", "join", "ADDRESS", 1, 1, "let the node join a cluster",
      "Lets the node that is asked join the cluster of the node at ADDRESS.", { YES }, cmd_node_join, ASKS },
    { "node", "leave", "NODE", 1, 1, "let a member leave",
      "Lets a member leave: it hands its shards over, and ends.", { YES }, cmd_node_leave, ASKS },
    { "node", "down", "NODE", 1, 1, "let a member count as failed",
      "Lets a member count as failed, without asking it. Its shards get other homes. Do that only if its process has ended "
      "or cannot write any more.",
      { YES }, cmd_node_down, ASKS },
    { "node", "cordon", "NODE", 1, 1, "keep a member from getting shards",
      "Lets a member get no more shards while others take them. Its own stay. The mark ends with the member's process.",
      { OPERATES }, cmd_node_operate, ASKS },
    { "node", "uncordon", "NODE", 1, 1, "let a member get shards again", "Ends a cordon or a drain.", { OPERATES },
      cmd_node_operate, ASKS },
    { "node", "drain", "NODE", 1, 1, "move all shards of a member to others",
      "Moves the member's shards to others, at most 16 of a type at a time, and waits until it has none. It stays a member.",
      { OPERATES }, cmd_node_operate, ASKS },
    { "type", "ls", "", 0, 0, "list entity types", "Lists entity types with the sums of all members.", { { 0 } }, cmd_type_ls,
      ASKS },
    { "type", "show", "TYPE", 1, 1, "show an entity type", "Shows an entity type, and what each member has of it.", { { 0 } },
      cmd_type_show, ASKS },
    { "shard", "ls", "TYPE", 1, 1, "list shards", "Lists the shards of a type as their members run them.",
      { ORDER, NODE, LIMIT }, cmd_shard_ls, ASKS },
    { "shard", "show", "TYPE SHARD", 2, 2, "show a shard",
      "Shows a shard as the coordinator knows it, and as members run it.", { { 0 } }, cmd_shard_show, ASKS },
    { "shard", "move", "TYPE SHARD", 2, 2, "move a shard to a member",
      "Moves a shard to the member of --to by an ordinary hand-off, and waits until it runs there. It stays there for the time "
      "of --hold.",
      { { "to", "HOST:PORT", "the member; required", 0 }, { "hold", "SECONDS", "no rebalance moves it for so long (600)", 0 },
        OPERATES },
      cmd_shard_move, ASKS },
    { "rebalance", "pause", "TYPE", 1, 1, "pause rebalances of a type",
      "Lets no rebalance move shards of the type, also after its coordinator has moved. Leaves, drains and moves go on.",
      { OPERATES }, cmd_rebalance, ASKS },
    { "rebalance", "resume", "TYPE", 1, 1, "resume rebalances of a type", "Ends a pause.", { OPERATES }, cmd_rebalance, ASKS },
    { "op", "ls", "", 0, 0, "list operations", "Lists the operations that the node began: open ones, and the last that ended.",
      { { 0 } }, cmd_op_ls, ASKS },
    { "op", "show", "ID", 1, 1, "show an operation", "Shows an operation that the node began.", { { 0 } }, cmd_op_show, ASKS },
    { "entity", "ls", "TYPE", 1, 1, "list entities that run", "Lists the entities of a type that run.",
      { { "shard", "SHARD", "only those of this shard", 0 }, ORDER, NODE, LIMIT }, cmd_entity_ls, ASKS },
    { "entity", "where", "TYPE ID", 2, 2, "tell where an entity is or would be",
      "Tells the shard and the member of an entity, whether it runs or not. The exit status is 1 if its shard has no home.",
      { { 0 } }, cmd_entity_where, ASKS },
    { "entity", "show", "TYPE ID", 2, 2, "show an entity",
      "Shows an entity that runs. The exit status is 1 if it does not run.", { { 0 } }, cmd_entity_show, ASKS },
    { "config", "show", "", 0, 0, "list settings", "Lists the settings that have a value, with their sources.", { NODE, LIMIT },
      cmd_config_show, ASKS },
    { "config", "diff", "", 0, 0, "list settings that differ",
      "Lists the keys whose values differ between members. The exit status is 1 if there are any.", { { 0 } }, cmd_config_diff,
      ASKS },
    { "log", "level", "[LEVEL]", 0, 1, "print or set the level of the log",
      "Prints the level of the node's log, or sets it: OFF, ERROR, WARNING, INFO or DEBUG. It falls back after ten minutes.",
      { { "for", "SECONDS", "falls back after SECONDS", 0 } }, cmd_log_level, ASKS },
    { "token", "new", "ROLE NAME", 2, 2, "make a token",
      "Makes a token with the rights of ROLE (read, operate or admin). It prints the token to standard error, and the line "
      "for the file of management.http.tokens-file to standard output.",
      { { 0 } }, cmd_token_new, false },
    { "journal", "info", "JOURNAL", 1, 1, "print what a journal is and what is in it",
      "Prints the journal's identity, cluster, version, sizes and types, and whether nodes have it open.",
      { JSON, SCHEMA }, cmd_journal_info, false },
    { "journal", "ids", "JOURNAL [PREFIX]", 1, 2, "list entities and their event numbers",
      "Lists the entities whose id begins with PREFIX, such as \"Cart|\", in the order of their bytes, with "
      "the numbers of their first and last event.",
      { { "after", "ID", "begins behind this id", 0 }, { "limit", "N", "stops after N entities", 0 }, JSON, SCHEMA },
      cmd_journal_ids, false },
    { "journal", "cat", "JOURNAL ID", 2, 2, "print an entity's events",
      "Prints the events of an entity in order. It prints the first 64 bytes of each payload; a byte that is no "
      "printable ASCII is \\xNN. A damaged event is named, and the exit status is 1 then. It is also 1 if "
      "there is no event.",
      { FROM, { "to", "N", "the last event's number", 0 }, HEX, JSON, SCHEMA }, cmd_journal_cat, false },
    { "journal", "tail", "JOURNAL ID...", 2, CMD_ARGUMENTS_MAX, "follow the events of entities",
      "Prints the last event of each entity, then each new one, until it is interrupted. It looks twice a "
      "second.",
      { { "events", "N", "begins with the last N events (1)", 0 }, HEX, JSON, SCHEMA }, cmd_journal_tail, false },
    { "journal", "state-at", "JOURNAL ID N", 3, 3, "print the events that make the state at an event",
      "Prints the events 1 to N: an entity that applies them in order has the state that it had after event N. If the "
      "first ones were deleted, it begins with a snapshot. With --program it runs the application's code, and prints the "
      "state instead: the text of describe, or else the image of save. The exit status is 1 if an event is missing, "
      "damaged or rejected.",
      { PROGRAM, HEX, JSON, SCHEMA }, cmd_journal_state_at, false },
    { "journal", "upcast", "JOURNAL [PREFIX]", 1, 2, "try upcasters on all stored events",
      "Runs the application's upcasters and apply on all events of the entities whose id begins with PREFIX. For each "
      "type and version of events it prints how many are stored, how many of the present version they become, and "
      "how many are rejected, with the first one. The exit status is 1 if an entity would not start.",
      { { "dry-run", NULL, "required: stored events are never rewritten", 0 }, PROGRAM, JSON, SCHEMA }, cmd_journal_upcast, false },
    { "journal", "snapshots", "JOURNAL [PREFIX]", 1, 2, "list snapshots",
      "Lists the snapshots of the entities whose id begins with PREFIX: the number of the event, the version, fence and "
      "size of the image. The exit status is 1 if one is damaged.",
      { JSON, SCHEMA }, cmd_journal_snapshots, false },
    { "journal", "drop-snapshots", "JOURNAL ID", 2, 2, "delete snapshots of an entity",
      "Deletes the snapshots of an entity from number N to number M, by default all of them. Recovery then uses the "
      "others, or all events. It is refused if events were deleted that only these snapshots have, and while nodes "
      "have the journal open.",
      { FROM_ANY, TO_ANY, DRY_RUN, JSON, SCHEMA },
      cmd_journal_drop_snapshots, false },
    { "journal", "make-snapshot", "JOURNAL ID", 2, 2, "store a snapshot of an entity",
      "Runs the application's code on the events of an entity, and stores the state after the last one as a snapshot. "
      "Older ones stay. It is refused while nodes have the journal open.",
      { PROGRAM, JSON, SCHEMA }, cmd_journal_make_snapshot, false },
    { "journal", "verify", "JOURNAL", 1, 1, "look for damage",
      "Reads all events and snapshots, and all pages and tables of a file, and lists the damaged parts. The exit status "
      "is 1 if there are any. With --program it also compares each snapshot with the state that the events before it make.",
      { { "deep", NULL, "also checks that fences rise along each entity and fit the terms, that deleted events are in a good snapshot, and that tables agree", 0 },
        PROGRAM, JSON, SCHEMA },
      cmd_journal_verify, false },
    { "journal", "accept-loss", "JOURNAL", 1, 1, "rebuild a damaged journal without what is lost",
      "Does the same as verify. If something is damaged, it writes a new file with everything that can be "
      "read, and lists what is lost. An entity keeps its events up to the first one that is missing or damaged, "
      "so its state is an earlier one. The former file becomes FILE.damaged, and FILE-turn is deleted. Stop "
      "all nodes that use the journal before. A backup may have more: compare first.",
      { { 0 } }, cmd_journal_accept_loss, false },
    { "journal", "schema", "JOURNAL", 1, 1, "print, check or upgrade the tables",
      "Prints the version of the journal's tables, and the statements that made them. With --check the exit status is 1 "
      "if the tables are older than this program. With --migrate they are upgraded, as a new node does: stop all nodes "
      "that use a file before; those that use PostgreSQL may run.",
      { { "check", NULL, "compares the version", 0 }, { "migrate", NULL, "upgrades older tables", 0 }, JSON, SCHEMA },
      cmd_journal_schema, false },
    { "journal", "export", "JOURNAL", 1, 1, "write everything to standard output as JSON lines",
      "Writes terms, fences, all events and snapshots as lines of JSON (docs/protocol/journal.md, \"Export\"). "
      "A damaged event ends it with exit status 1. While nodes write, each entity's events are complete up to "
      "one of them, but not all up to the same moment.",
      { { "prefix", "PREFIX", "only entities whose id begins so", 0 }, SCHEMA }, cmd_journal_export, false },
    { "journal", "import", "JOURNAL [FILE]", 1, 2, "read an export into a journal",
      "Reads an export from FILE or standard input into JOURNAL, which is made if it does not exist. All is "
      "imported, or nothing: after an interruption the import is simply repeated. Entities that the journal already has are refused. Terms and fences become the "
      "higher ones of both. Stop all nodes that use the journal before: it is refused while a process has "
      "it open. A journal in PostgreSQL must be empty, and needs --number-of-shards: its tables have the shard of "
      "each entity. An export whose types have other extractors than Akka's hash is refused there.",
      { { "cluster", "ID", "the journal's cluster, if not that of the export", 0 },
        { "dry-run", NULL, "checks everything, and imports nothing", 0 },
        { "number-of-shards", "N", "as the nodes have it; only for PostgreSQL", 0 },
        JSON, SCHEMA },
      cmd_journal_import, false },
    { "journal", "move", "FILE [URL]", 1, 2, "move an SQLite journal into PostgreSQL",
      "Copies everything from FILE into an empty journal at postgres:URL, in one transaction, and verifies it. FILE keeps "
      "its content, and gets a mark, so that no node opens it any more. Stop all nodes before. A move that was interrupted "
      "is repeated from its beginning. With --undo it only deletes the mark: do that if the journal in PostgreSQL is "
      "not used.",
      { { "number-of-shards", "N", "as the nodes have it; required", 0 },
        { "undo", NULL, "deletes the mark of FILE", 0 },
        JSON, SCHEMA },
      cmd_journal_move, false },
    { "journal", "remove-sharding", "JOURNAL TYPE...", 2, CMD_ARGUMENTS_MAX,
      "delete what sharding remembers of types",
      "Deletes the lists of remembered entities of these types, and prints them. After the next start these "
      "entities start when they get a message. Events of entities, fences and terms stay. Stop the "
      "whole cluster before: it is refused while nodes have the journal open. Lists in durable distributed data "
      "(remember-entities-store = ddata) are deleted by remove-durable.",
      { { "dry-run", NULL, "only prints them", 0 }, JSON, SCHEMA },
      cmd_journal_remove_sharding, false },
    { "journal", "remove-durable", "FOLDER TYPE...", 2, CMD_ARGUMENTS_MAX,
      "delete what sharding remembers in durable data",
      "Deletes the keys of these types, such as shard-TYPE-all, from the durable distributed data in FOLDER, and prints "
      "them. FOLDER is the one of a node in lmdb.dir, with values.mdb. Keys of applications stay. Stop the whole "
      "cluster, and do it for the folder of each node: one that is left brings the keys back. It is refused while "
      "a node has FOLDER open.",
      { { "cluster", "ID", "the cluster's id, as journal.cluster-id (ClusterSystem)", 0 }, DRY_RUN, JSON },
      cmd_journal_remove_durable, false },
    { NULL, "version", "", 0, 0, "print the version", "Prints the version of this program.", { { 0 } }, cmd_version, false },
    { NULL, "man", "", 0, 0, "print the manual page", "Prints the manual page sherd(1) in mdoc.", { { 0 } },
      cmd_man, false },
    { NULL, "completion", "", 0, 0, "print completion for bash",
      "Prints a script that completes words in bash: source <(sherd completion).", { { 0 } }, cmd_completion, false },
    { 0 },
};
