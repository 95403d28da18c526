/* Defines every limit of the library, with its unit and its reason. Each core has a section. A
 * limit that is reached is counted, and a test reaches it. The comment of a default that users can
 * set names the setting. */
#ifndef SHERD_BASE_LIMITS_H
#define SHERD_BASE_LIMITS_H

/* base */
#define TRACE_TEXT_MAX 1024 /* bytes of one log line; longer ones are cut */
#define TRACE_LINES_MAX 4096 /* lines kept between two turns of a machine */
#define PROBES_MAX 262144 /* facts kept between two turns: many mailboxes may end at once */
#define PROBES_BYTES_MAX (64 * 1024 * 1024) /* bytes of these facts */

/* host */
/* mails between two machines, 64 KiB a ring; the sender keeps the rest */
#define RING_MAIL_MAX 1024
/* mails from a program's threads that wait for one machine; then SHERD_EFULL */
#define INBOX_MAIL_MAX 16384
#define INBOX_BYTES_MAX (64 * 1024 * 1024) /* of their bodies */
/* callbacks of a program for a node's start, and as many for its removal */
#define SYSTEM_TOLD_MAX 64
#define ACCEPT_WAITING_MAX 256 /* accepted connections whose machine is not known yet */
#define ACCEPT_WAITING_EACH_MAX 16 /* of these from one address: a peer needs three */
/* of these from unknown addresses; seed nodes and known peers use the rest */
#define ACCEPT_STRANGERS_MAX (ACCEPT_WAITING_MAX - 32)
#define ACCEPT_KNOWN_MAX 1024 /* addresses of peers that are remembered, the latest ones: 16 KiB */
#define EXPECTED_LOOK_MS 30000 /* between two look-ups of the seed nodes' names */
#define ACCEPT_PREAMBLE_MS 5000 /* until the first five bytes arrive */
/* until the first frame arrives: a peer sends it immediately. Akka's handshake-timeout is 20 s */
#define ACCEPT_FRAME_MS 5000
/* kept of such a connection: the preamble and the largest first frame */
#define ACCEPT_BYTES_MAX (INLET_UNKNOWN_SIZE_MAX + 16)
/* log lines a second about refused connections; one more line counts the rest */
#define ACCEPT_LINES_MAX 10
#define ACCEPT_BATCH_MAX 64 /* connections accepted before other sockets have their turn */
#define ACCEPT_PAUSE_MS 100 /* without accepting, after file descriptors have run out */
#define CONNECTIONS_MAX 32768 /* accepted connections of a system; five for each of 5,000 peers */
/* bytes read from a connection before their messages run: both fit a CPU core's own cache */
#define SOCKET_READ_SIZE (64 * 1024)
/* from a peer until its certificate is verified: a chain of four with RSA 4096 is 8 KiB */
#define TLS_HANDSHAKE_BYTES_MAX (16 * 1024)
/* of a client's first message: 2 KiB with post-quantum keys */
#define TLS_HELLO_BYTES_MAX (4 * 1024)
/* bytes of a record that we send during the handshake, and of its buffer */
#define TLS_HANDSHAKE_FRAGMENT_SIZE 4096
/* bytes of a file of certificates or revocation lists: those of large CAs have some MiB */
#define TLS_FILE_MAX (16 * 1024 * 1024)
#define TLS_SECRETS_MAX 2 /* of a cluster: the new one and the previous one */
/* bytes: a peer that this node connects to could guess a short one offline */
#define TLS_SECRET_SIZE_MIN 32
#define TLS_SECRET_SIZE_MAX 256
#define TLS_PINS_MAX 4096 /* all are compared for each connection: 50 us */
#define TLS_PIN_LINE_MAX 512 /* bytes of a line in the file of pins: 64 digits and a note */
/* bytes encrypted or decrypted at a time: each connection has buffers of this size */
#define TLS_PIECE_SIZE (32 * 1024)
/* least time between two checks of a thread's open connections against revocation lists */
#define TLS_LOOK_MS 1000
/* bytes of TLS's own replies not sent yet: new keys take 600, and no peer needs two of them */
#define TLS_ANSWERS_MAX (16 * 1024)
/* names that are looked up, or whose addresses are kept */
#define DNS_LOOKUP_NAMES_MAX ASSOCIATIONS_MAX
/* look-ups at a time: unanswered ones for seed nodes delay no other name */
#define DNS_LOOKUP_THREADS_MAX MEMBER_SEEDS_MAX
#define DNS_LOOKUP_ADDRESSES_MAX 64 /* of one name */
/* a name's addresses: late ones serve the next attempt, which waits for at most 5.5 s */
#define DNS_LOOKUP_KEPT_MS 10000
/* the failure of a look-up: shorter, because a starting node may get its name soon */
#define DNS_LOOKUP_FAILED_KEPT_MS 3000
/* look-up of the name, all addresses and TLS's handshake; Akka's connection-timeout */
#define SOCKET_CONNECT_MS 5000
#define THREAD_POLL_NS 50000 /* a thread polls this long after work before it sleeps: two wakings */
#define THREAD_POLL_ACTIVE_NS 1000000 /* it polls only if the last work was this recent */
/* a thread polls this long for the store's answer if the last one was faster: a fast disk's sync
 * and two wakings */
#define THREAD_POLL_STORE_NS 300000
/* between two checks of the sockets while only mail keeps a thread busy */
#define THREAD_POLL_SOCKETS_NS 5000
#define STALLED_NS 5000000000ull /* a longer turn is reported */
#define STATUS_WAIT_MS 5000 /* sherd_get_status waits this long for all machines */
/* concurrent calls of sherd_get_status; one that timed out counts until its parts return */
#define STATUS_CALLS_MAX 64
/* for sockets and stores, besides eight for each thread; a system with fewer does not start */
#define DESCRIPTORS_MIN 64
#define DESCRIPTORS_GOOD 1024 /* a system with fewer logs a warning */
/* member */
#define GOSSIP_MEMBERS_MAX 5000 /* of one gossip; a frame of 256 KiB carries about as many */
/* of one gossip: a day of removals, one each 9 s; the oldest is dropped first */
#define MEMBER_TOMBSTONES_MAX 10000
/* observations in one gossip: 5,000 members, almost all unreachable for 9 each, need 45,000 */
#define MEMBER_ROWS_MAX 65536
#define MEMBER_ROLES_MAX 1024 /* of one member; a JVM has no limit */
#define MEMBER_ROLE_SIZE_MAX 4096 /* bytes of a role's name; a JVM has no limit */
/* distinct roles, versions or hashes of one gossip; JVM peers repeat versions per member */
#define MEMBER_TABLE_MAX 65536
#define MEMBER_INFLATE_SIZE_MAX (8 * 1024 * 1024) /* bytes of a message after gunzip */
#define MEMBER_INFLATE_RATIO_MAX 50 /* gunzipped to compressed; a real gossip stays below 10 */
/* bytes that any message may inflate to, whatever the ratio */
#define MEMBER_INFLATE_SIZE_FREE (64 * 1024)
/* bytes of memory to decode one message; 5,000 members need 5 MiB. The roles and versions of a
 * gossip's new members take at most as much */
#define MEMBER_DECODE_SIZE_MAX (32 * 1024 * 1024)
#define MEMBER_CONFIG_SIZE_MAX (64 * 1024) /* bytes of a configuration text to check */
#define MEMBER_CONFIG_DEPTH_MAX 16 /* nested objects in it */
#define MEMBER_CONFIG_KEYS_MAX 1024 /* settings in it */
/* pending gossips sent in one step: 500 KB with a thousand members */
#define MEMBER_REPLIES_OF_STEP 16
/* gossips that wait for the next step; further ones are sent at once */
#define MEMBER_REPLIES_MAX 64
/* large replaced gossips that wait for a step to be freed; further ones are freed at once */
#define MEMBER_OVER_MAX 2
/* inflated gossips that wait to be read and merged; one more merges the first at once */
#define MEMBER_WAITING_MAX 4
#define MEMBER_SEEDS_MAX 128 /* seed nodes */
#define MEMBER_EXITING_MAX 5000 /* exiting members that confirmed; as many as members */

/* artery */
#define FRAME_SIZE_MAX (256 * 1024) /* bytes after the length field; Akka's maximum-frame-size */
#define FRAME_LARGE_SIZE_MAX (16 * 1024 * 1024) /* largest value of maximum-large-frame-size */
#define FRAME_LARGE_SIZE (2 * 1024 * 1024) /* its default */
#define FRAME_LARGE_SIZE_MIN (256 * 1024) /* its smallest value: an ordinary frame fits */
/* bytes of a large frame besides the message's body: refs, an id, a manifest */
#define FRAME_LARGE_HEAD_SIZE (16 * 1024)
#define LARGE_DESTINATIONS_MAX 256 /* entries: each message's recipient is compared with all */
/* bytes of an actor's ref; a percent-encoded entity id of 255 characters fits four times */
#define REF_SIZE_MAX 4096
#define MANIFEST_SIZE_MAX 1024 /* bytes; a Java class name with a version fits */
#define SELECTION_PATH_MAX 1024 /* bytes of a selection's path; the cluster's own are below 100 */
#define SELECTION_STEPS_MAX 64 /* elements of a selection's path */
#define TABLE_ENTRIES_MAX 256 /* texts of one compression table; Akka's default */
#define TABLE_VERSIONS_KEPT 3 /* own tables still understood; as in Akka */
#define LINK_FRAMES_MAX 3072 /* waiting on an ordinary link; Akka's outbound-message-queue-size */
#define LINK_BYTES_MAX (16 * 1024 * 1024) /* waiting on an ordinary link */
/* waiting on a large link; Akka's outbound-large-message-queue-size */
#define LINK_LARGE_FRAMES 256
/* waiting on a large link: four of the largest frames */
#define LINK_LARGE_BYTES_MAX (64 * 1024 * 1024)
/* waiting on a control link; Akka's outbound-control-queue-size */
#define LINK_CONTROL_FRAMES_MAX 20000
#define LINK_CONTROL_BYTES_MAX (64 * 1024 * 1024) /* 20,000 gossips of 3 kB */
/* largest send buffer: its bytes should still be in a processor's cache when sent */
#define LINK_CHUNK_SIZE (64 * 1024)
/* waiting on an ordinary link: beyond this, values of distributed data are dropped while others
 * wait. 1.5 s at 1.5 Mbit/s */
#define LINK_REPEATED_BYTES (256 * 1024)
#define LINK_URGENT_MAX 64 /* handshake responses waiting; a peer repeats its request each second */
#define LINK_CONNECT_MS 5000 /* Akka's advanced.tcp.connection-timeout */
#define LINK_HANDSHAKE_MS 20000 /* Akka's handshake-timeout; then the link reconnects */
/* between two handshake requests; Akka's handshake-retry-interval and inject-handshake-interval */
#define LINK_REQUEST_MS 1000
/* The same to a peer that answered on this very connection, as only nodes of this library do. Only
 * a precaution: another incarnation of the peer has other connections, and a peer that has
 * quarantined this node gets nothing more. */
#define LINK_REQUEST_NAMED_MS 3600000
/* doubles up to the next line, plus up to 10 % at random, so that peers do not connect together */
#define LINK_BACKOFF_MIN_MS 1000
#define LINK_BACKOFF_MAX_MS 5000
/* bytes of a frame from an unknown sender, a handshake; with its length 16 KiB, all that this node
 * keeps for it */
#define INLET_UNKNOWN_SIZE_MAX (16 * 1024 - 4)
#define INLET_PREAMBLE_MS 5000 /* until the first five bytes arrive */
/* until the sender is accepted: its request comes first. Akka's handshake-timeout is 20 s */
#define INLET_HANDSHAKE_MS 5000
#define ORIGINS_MAX 8192 /* senders known to a machine: 5,000 members and some that left */
#define ORIGIN_LANES_MAX (LANES_MAX + 1) /* sending machines of one sender: control and its lanes */
/* replaced or forgotten incarnations that a machine remembers, to refuse late requests */
#define ORIGINS_RETIRED_MAX 1024
#define ASSOCIATIONS_MAX 8192 /* peers known to control */
#define RETIRED_UIDS_MAX 16384 /* incarnations that have ended; the oldest is forgotten first */
/* between two turns; beyond it system messages are not acknowledged, so the peer resends them */
#define ASSOCIATION_NEWS_MAX 65536
#define ASSOCIATION_NEWS_SIZE_MAX (16 * 1024 * 1024) /* bytes of this news */
/* from ActorSystemTerminating until its uid is dropped; Akka's shutdown-flush-timeout */
#define TERMINATING_MS 1000
/* unacknowledged to one peer; Akka's system-message-buffer-size */
#define SYSTEM_MESSAGES_MAX 20000
#define SYSTEM_MESSAGES_SIZE_MAX (32 * 1024 * 1024) /* bytes of these messages */
/* resent at a tick, oldest first: fewer than the link's queue holds */
#define SYSTEM_RESEND_MAX 1000
#define SYSTEM_RESEND_MS 1000 /* Akka's system-message-resend-interval */
#define SYSTEM_GIVE_UP_MS (UINT64_C(6) * 3600 * 1000) /* Akka's give-up-system-message-after */
#define ADVERTISE_MS 5000 /* between two advertisements of an unacknowledged compression table */
#define ADVERTISE_MAX 12 /* advertisements; then the peer is not asked again */
#define FOREIGN_TRACED_MAX 64 /* unknown nodes named in the log; further ones are only counted */

/* shard: messages and the coordinator */
#define SHARD_ID_MAX 255 /* bytes of a shard's id; file and path names stay usable */
#define SHARD_REF_MAX 1024 /* bytes of a region's or coordinator's ref */
/* bytes allocated to read one message; a frame is at most 256 KiB */
#define SHARD_MESSAGE_MEMORY_MAX (8 * 1024 * 1024)
#define SHARD_HOMES_MAX 500 /* shards in one message of homes; Akka's */
/* such messages at a registration; Akka's; other homes are asked for when needed */
#define SHARD_HOMES_MESSAGES_MAX 10
/* bytes of a coordinator's state after gunzip: 131,072 shards with refs of 200 bytes */
#define STORED_SIZE_MAX (32 * 1024 * 1024)
/* bytes allocated to read it: as much again for each shard */
#define STORED_MEMORY_MAX (96 * 1024 * 1024)
/* regions and proxies of one type; a hand-off sends a message to each */
#define COORDINATOR_REGIONS_MAX 4096
/* shards of one type; 13 times Akka's largest advice (10 shards a node, 1000 nodes) */
#define COORDINATOR_SHARDS_MAX 131072
/* times that a coordinator takes a new term because the store has a higher one: two live ones would
 * never stop */
#define COORDINATOR_OUTBIDS_MAX 8
/* at the same time; others wait: each costs a message to every region */
#define COORDINATOR_HANDOFFS_MAX 256
/* messages of a coordinator in one step, without answers: half a ms with their frames. The next
 * step sends the rest */
#define COORDINATOR_TELLS_MAX 256
/* regions compared in one step to find homes; a look-up counts as sixteen: 65 shards at 1,000
 * regions, a quarter of a ms */
#define COORDINATOR_PLACES_MAX 65536
/* parts of its state compressed in one step: 256 shards or 64 regions each, a tenth of a ms */
#define COORDINATOR_PACKS_MAX 4
/* regions viewed in one step to rebalance, if more than one coordinator does so: a quarter of a ms.
 * Other coordinators follow in the next steps */
#define COORDINATOR_VIEWS_MAX 1024
#define COORDINATOR_QUERIES_MAX 16 /* cluster statistics gathered at the same time */
/* removed members remembered for 15 minutes; the oldest is dropped first */
#define SINGLETON_REMOVED_MAX 1024

/* ddata: values. Decoding refuses larger ones; the sender bounds those that this node makes */
/* bytes of a value after gunzip: 300,000 elements, each with its dot */
#define DDATA_INFLATE_SIZE_MAX (16 * 1024 * 1024)
/* bytes to decode a value: an element takes 56 and its text */
#define DDATA_MEMORY_MAX (64 * 1024 * 1024)
/* of a value by dd_weight: any value of this weight can be read again */
#define DDATA_WEIGHT_MAX (DDATA_MEMORY_MAX / 2)
#define DDATA_MANIFEST_SIZE_MAX 1024 /* bytes, of a value and of its elements */
#define DDATA_DEPTH_MAX 8 /* maps in maps; one is usual */

/* region (control) and its lanes */
#define SHARDS_MAX 65536 /* number-of-shards of a type: every lane has a table of them */
#define LANES_MAX 64 /* of a node: a set of lanes is one word */
#define MEMBERS_MAX GOSSIP_MEMBERS_MAX /* members that a region follows: any may be the oldest */
/* nodes that owe markers in one hand-off: every region may */
#define OWING_MAX COORDINATOR_REGIONS_MAX
#define GONE_MAX 1024 /* removed nodes remembered, for directives that still name them */
/* buffer-size: messages of a type that wait on a node; each lane has its share */
#define HELD_COUNT_MAX 100000
#define HELD_BYTES_MAX (256ull * 1024 * 1024) /* bytes of these messages */
/* markers that precede their order to drain; the oldest is dropped, which fails that attempt
 * only */
#define EARLY_MARKERS_MAX 4096
/* ns for entities to stop in a hand-off; with the drain it is below the hand-off timeout */
#define HOSTED_STOP_TIMEOUT (25 * 1000000000ull)
/* ns between attempts to raise a fence in the store; doubles up to eight times that */
#define HOSTED_CLAIM_RETRY 1000000000ull

/* actor: for each lane */
#define ACTOR_TYPES_MAX 256 /* entity types of a node */
/* different behaviors of plain actors; more are made at run time by mistake */
#define ACTOR_BEHAVIORS_MAX 4096
/* nodes named in the `where` of asks; the largest cluster in view has 5,000 */
#define ACTOR_PEERS_MAX 16384
/* actors of a lane, or entities of a shard, that a report of late stops names */
#define STOP_LATE_NAMED_MAX 8
#define ACTOR_SLOTS_MAX (16u * 1024 * 1024) /* actors and entities: 1.5 GiB of slots and table */
#define ACTOR_MAILBOX_MAX 1000000 /* messages waiting for one plain actor */
#define ENTITY_MAILBOX_MAX 10000 /* messages waiting for one entity: default of mailbox_max */
#define ENTITY_IDLE_MS 120000 /* default of idle_ms: passivate-idle-entity-after */
#define ENTITY_SHARDS 1000 /* default of shards: number-of-shards */
/* memory of all waiting messages; then MAILBOX_FULL */
#define ACTOR_WAITING_BYTES_MAX (1024ull * 1024 * 1024)
/* timed individually after a piece that took longer than ACTOR_RUN_NS */
#define ACTOR_EXACT_MESSAGES 1000
/* messages of one actor in a row: more gain nothing, fewer cost time (measured) */
#define ACTOR_RUN_MESSAGES 64
#define ACTOR_ASKS_MAX (4u * 1024 * 1024) /* open asks and timers of the lane: 128 MiB */
#define ACTOR_ASKS_OF_ONE_MAX 65535 /* open asks of one actor: counted in 16 bits */
#define ACTOR_TIMERS_OF_ONE_MAX 1024 /* timers of one actor: searched in order */
/* the wheel's range, 24 days; a longer timer goes round again, up to 4,000 years */
#define ACTOR_TIMER_MS_MAX 0x7fffffffu
/* messages of a mailbox that are searched for one ask from another node */
#define ACTOR_LOOK_MAX 64
#define ACTOR_ASK_MS_MAX 3600000 /* longest ask */
#define DATA_CHANGES_MAX 1000 /* of one update of distributed data */
/* of distributed data, searched for one answer to an actor: at most 256 KB */
#define DATA_KEYS_MAX 1000
/* bytes of updates that wait until the durable keys are loaded */
#define DATA_WAITING_SIZE_MAX (16 * 1024 * 1024)
/* subscriptions of the lane's actors to keys of distributed data: each change searches them */
#define DATA_FOLLOWERS_MAX 4096
/* actors of the lane with cluster events: each change sends a message to each */
#define CLUSTER_SUBSCRIBERS_MAX 4096
#define ACTOR_WATCHES_MAX (4u * 1024 * 1024) /* watches of and by actors of the lane: 256 MiB */
/* events of one entity that are not durable yet; then the entity is not scheduled */
#define ENTITY_EVENTS_MAX 1000
#define ENTITY_EVENT_BYTES_MAX (1024 * 1024) /* bytes of these events */
/* effects of one entity that wait for durability; then the entity is not scheduled */
#define ENTITY_HELD_MAX 10000
#define ENTITY_HELD_BYTES_MAX (4 * 1024 * 1024) /* bytes of these effects */
#define ENTITY_BACKOFF_MS 200 /* first wait after a failed recovery; doubles each time */
/* until a remembered entity that stopped by itself starts again; Akka's entity-restart-backoff */
#define ENTITY_RESTART_MS 10000
#define ENTITY_BACKOFF_MS_MAX 10000
/* open jobs of the lane's actors: ten seconds' work for four threads at 10 ms each. Users own their
 * bytes */
#define ACTOR_JOBS_MAX 4096
/* slower handlers are reported: default of slow-handler.report-after */
#define HANDLER_SLOW_NS 100000000ull
/* actors_run ends after this time, so that sockets have their turn */
#define ACTOR_RUN_NS 1000000ull

/* journal */
/* remembered entities of one type on one lane: each needs a slot */
#define REMEMBERED_MAX (16u * 1024 * 1024)
/* of these, asked to start in other shards without an answer yet: they use buffers that messages
 * need, too */
#define REMEMBER_MOVES_MAX 1000
/* sets of remembered entities that a node reads at the same time: 200 shards */
#define REMEMBER_READS_MAX 1024
/* their number at first: on a network of 1 ms it reads 10,000 shards in a second */
#define REMEMBER_READS_FIRST 64
#define REMEMBER_READS_MIN 4 /* their least number, when too few answer in time */
/* keys of remembered entities that a node subscribes to: as many as a replicator has
 * (REPLICATOR_KEYS_MAX), five for each of 52,428 shards */
#define REMEMBER_FOLLOWED_MAX 262144
/* bytes of ids in one record, plus or minus one id: far below an event's limit */
#define REMEMBER_PART_SIZE_MAX (64 * 1024)
/* records of a stream that one commit deletes, because other events wait for it; later commits
 * delete more */
#define BACKEND_CUT_MAX 10000
/* bytes of one event: a chunk of a replay holds at least one */
#define JOURNAL_EVENT_SIZE_MAX (1024 * 1024)
/* one entity's events in flight: one entity must not fill the lane while a disk is slow */
#define JOURNAL_ENTITY_EVENTS_MAX 1000
#define JOURNAL_ENTITY_BYTES_MAX (2 * 1024 * 1024)
/* a lane's events in flight: the most work that a failed commit loses */
#define JOURNAL_LANE_EVENTS_MAX 16384
#define JOURNAL_LANE_BYTES_MAX (16 * 1024 * 1024)
/* concurrent recoveries of a lane: 64 chunks of 256 KiB are 16 MiB */
#define JOURNAL_REPLAYS_MAX 64
/* events of one replay in memory, as in Pekko's replay window */
#define JOURNAL_CHUNK_EVENTS_MAX 1000
#define JOURNAL_CHUNK_SIZE_MAX (256 * 1024)
#define JOURNAL_RETRY_MS_MIN 50 /* between two attempts at a claim or an unknown outcome; doubles */
#define JOURNAL_RETRY_MS_MAX 5000

/* durable keys of distributed data */
#define DATA_DAMAGED_KEYS_MAX 64 /* named in a status; all are counted and logged */
/* bytes of a durable key: LMDB's limit less the prefix byte of a held key */
#define DURABLE_KEY_MAX 510
/* bytes of a durable value: as much as a large frame carries */
#define DURABLE_VALUE_MAX (2 * 1024 * 1024)
#define DURABLE_QUEUE_MAX 65536 /* requests waiting for the store's thread */
/* bytes of values that write-behind delays; more are written at once */
#define DURABLE_PENDING_SIZE_MAX (16 * 1024 * 1024)
/* bytes of all keys and values, held in memory: more than two replicators, the users' and one of
 * sharding, may write (REPLICATOR_BYTES_MAX, and their keys) */
#define DURABLE_LOAD_SIZE_MAX (3u * 1024 * 1024 * 1024)
#define DURABLE_MAP_SIZE_MIN (1024u * 1024) /* smallest first size of the database */
/* bytes that the database may grow to; address space, not memory */
#define DURABLE_MAP_SIZE_MAX (64ull * 1024 * 1024 * 1024)
/* until the child process that reads a database reports; then another one starts with twice the
 * time, up to: */
#define DURABLE_BEGIN_MS 2000
/* without a report from that child: the disk is too slow, and the read starts again */
#define DURABLE_SILENCE_MS 60000
/* of processor time that the child may need for one pair; more means a loop, since a slow disk
 * costs none */
#define DURABLE_CIRCLE_MS 15000

/* stores */
/* requests waiting for a store's threads: claims of every shard at a start fit */
#define BACKEND_QUEUE_MAX 65536
/* records of one transaction: bounds its time and the log's growth */
#define BACKEND_GROUP_RECORDS_MAX 65536
#define BACKEND_GROUP_SIZE_MAX (32 * 1024 * 1024)
/* for other processes' transactions; then the group fails. The default of a setting */
#define BACKEND_LOCK_WAIT_MS 10000
#define BACKEND_WAL_PAGES 4096 /* of 4 KiB: the write-ahead log is emptied at 16 MiB */
#define BACKEND_WAL_PAGES_MAX 65536 /* 256 MiB: beyond it the writer waits for readers */
#define BACKEND_KNOWN_MAX 65536 /* entities whose row id and last number the writer remembers */
#define TURN_STUCK_MS 50 /* a queue that stands still this long is skipped; a commit takes 0.2 ms */

/* config: a text is written by a person; anything larger is a mistake or an attack */
#define CONFIG_SIZE_MAX (1024 * 1024) /* bytes of one text */
#define CONFIG_DEPTH_MAX 16 /* names of a key; nested objects and lists */
#define CONFIG_KEYS_MAX 4096 /* keys of all texts, and after substitution of all ${...} */
#define CONFIG_NODES_MAX 65536 /* values, items and parts of all texts */
#define CONFIG_VALUE_SIZE_MAX (64 * 1024) /* bytes of one value or name */
#define CONFIG_MEMORY_MAX (32 * 1024 * 1024) /* bytes of the whole tree during substitution */
#define CONFIG_STEPS_MAX 1000000 /* of substitution; bounds ${...} that multiply */
#define CONFIG_LINKS_MAX 96 /* nested ${...} and sections during substitution */
#define CONFIG_INCLUDES_MAX 64 /* of all texts */
#define CONFIG_INCLUDE_DEPTH_MAX 8 /* nested includes */
#define CONFIG_OVERRIDES_MAX 4096 /* environment variables; keys set from code */

/* log */
#define LOG_LINE_MAX 4096 /* bytes of a written line: a pipe takes as many at once */
/* wait for a reader that does not read; then lines are dropped until it reads again */
#define LOG_STALL_MS 50
#define LOG_MODULES_MAX 64 /* modules with their own level */
#define LOG_REPEAT_MAX 20 /* lines of one kind in a window; the rest is counted */
#define LOG_REPEAT_MS 1000 /* the window */
#define LOG_KINDS_MAX 64 /* kinds of lines remembered at a time */

/* ddata: the replicator */
/* replicas; members that have seen a pruning mark; members with a delta version */
#define REPLICATOR_MEMBERS_MAX GOSSIP_MEMBERS_MAX
/* removed members remembered until pruned; the oldest is forgotten first */
#define REPLICATOR_REMOVED_MAX 1024
/* marks of one entry: kept for 6 h, and a rolling restart makes one for each member */
#define REPLICATOR_PRUNING_MAX 1024
#define EXPIRIES_MAX 1024 /* settings of keys that expire: each new key is compared with all */
/* deleted keys count permanently; Akka advises at most 100,000 */
#define REPLICATOR_KEYS_MAX 262144
/* expired keys: kept for some minutes, longer while a member is unreachable */
#define REPLICATOR_HIDDEN_MAX 65536
#define REPLICATOR_HIDDEN_BYTES_MAX (16ull * 1024 * 1024) /* of expired keys, encoded: 256 each */
#define REPLICATOR_KEY_SIZE_MAX 1024 /* bytes of a key; 500 keys and their digests are two frames */
/* bytes of a frame that an entry leaves for its key, marks and versions */
#define REPLICATOR_ENTRY_MARGIN 4096
/* bytes of an encoded entry */
#define REPLICATOR_ENTRY_SIZE_MAX (FRAME_SIZE_MAX - REPLICATOR_ENTRY_MARGIN)
/* bytes of an entry that an update leaves for other members' pruning marks: some forty */
#define REPLICATOR_MARKS_SIZE 4096
#define REPLICATOR_UPDATE_SIZE_MAX (REPLICATOR_ENTRY_SIZE_MAX - REPLICATOR_MARKS_SIZE)
#define REPLICATOR_UPDATE_SIZE_MIN 1024 /* smallest configurable limit of an update, in bytes */
#define REPLICATOR_BYTES_MAX (1024ull * 1024 * 1024) /* of all encoded entries */
/* bytes allocated to read one message, without its values */
#define REPLICATOR_MESSAGE_MEMORY_MAX (16 * 1024 * 1024)
/* bytes of a gossip after gunzip: ten times 500 entries of 1.5 KiB */
#define REPLICATOR_INFLATE_SIZE_MAX (8 * 1024 * 1024)
/* writes and reads in progress: 13,000 a second that time out after 5 s */
#define REPLICATOR_AGGREGATORS_MAX 65536
/* of these: 272 for each replica asked; 490 of all in a cluster of a thousand */
#define REPLICATOR_AGGREGATOR_BYTES_MAX (128 * 1024 * 1024)
/* each change of a key is a notice to each subscriber. Remembered entities have their own lower
 * limit, so coordinators always have a place */
#define REPLICATOR_SUBSCRIPTIONS_MAX (REMEMBER_FOLLOWED_MAX + 65536)
#define REPLICATOR_WAITING_MAX 65536 /* commands while the durable entries load */
#define REPLICATOR_STORES_MAX 16384 /* entries sent to the durable store and not answered yet */
/* of one key that some replica lacks; beyond it gossip carries the entry */
#define REPLICATOR_DELTAS_MAX 1000
#define REPLICATOR_STATUSES_MAX 10 /* in one round of gossip; Akka's */
/* of writes and reads to several replicas in one step: half a ms with their frames. The next step
 * sends the rest */
#define REPLICATOR_STEP_MESSAGES 256
/* of these messages: copied to each connection, a quarter of a ms */
#define REPLICATOR_STEP_BYTES (1024 * 1024)
/* waiting for the next step; beyond it a step has no limit */
#define REPLICATOR_SENDING_BYTES_MAX (16 * 1024 * 1024)
/* bytes encoded and hashed in one step for gossip: half a ms, or one value */
#define REPLICATOR_STEP_DIGESTED (128 * 1024)
/* statuses and gossips that wait for earlier ones: six rounds of others. The oldest is dropped
 * first; the next round repeats it */
#define REPLICATOR_ARRIVALS_MAX 64
/* of these: sixteen frames, or 64 statuses with 500 keys of 100 bytes */
#define REPLICATOR_ARRIVAL_BYTES_MAX (4 * 1024 * 1024)
#define REPLICATOR_SECONDARIES_MAX 10 /* replicas asked besides the first ones; Akka's */

/* lease */
#define LEASES_MAX 4096 /* names that one in-memory lease provider knows; a node asks for one */
/* bytes of a reply of etcd; the expected ones have less than 2 KiB */
#define ETCD_REPLY_MAX (64 * 1024)
#define ETCD_VALUE_MAX 512 /* of a key's value, in base64, with the zero: an owner is shorter */
#define ETCD_TOKEN_MAX 4096 /* of a user's token, with the zero; a JWT has less than 1 KiB */
#define ETCD_PREFIX_MAX 256 /* bytes before the leases' names */

/* finder */
#define SEED_FILE_MAX (64 * 1024) /* bytes of a file of seed nodes: 128 lines and comments */
/* bytes of a line without blanks and comment: protocol, system name, host, port */
#define SEED_LINE_MAX 512

/* node */
/* changes of members passed to all types' cores in one turn of control: a third of a ms with eight
 * types. The next turn passes the rest */
#define NEWS_OF_TURN_MAX 64
/* share of these for one removal in a cluster with as many members: it drops links and regions,
 * which takes half a ms or more with four types' coordinators of a thousand regions each */
#define NEWS_REMOVAL_COST 64
/* members visited in one turn of control for coordinators that start, read or write, if more than
 * one does so: a third of a ms. The next turn visits the rest */
#define WALKS_OF_TURN_MAX 512
#define WATCHERS_MAX 65536 /* watches of a lane's actors by JVM nodes: about 20 MiB of texts */
/* names of JVM actors that a lane knows: about 4 MiB; the oldest is dropped. An ask of a JVM has
 * its own name */
#define NAMES_MAX 16384
#define NAMES_PATH_MAX 255 /* bytes of such a name */
#define FORMATS_MAX 64 /* kinds of messages that are written in a JVM's format */
#define SHUTDOWN_TASKS_MAX 1024 /* actors' tasks during a node's shutdown */
#define STAGES_MAX 4096 /* asks from other nodes whose stage a lane reports; others get no report */
#define STAGE_WAIT_NS 100000000ull /* an ask that waits this long in a mailbox gets a report */
/* a member that left by itself is heard this long; Akka's quarantine-removed-node-after */
#define PARTED_MS 5000
#define PARTED_MAX 1000 /* such members at a time; the oldest is dropped first */
#define REMOVED_MAX 1000 /* downed incarnations remembered, to notify them when they come back */

/* store */
#define KVSTORE_POINTS 64 /* of a member on the ring: the shares of ten members differ by a third */
/* entries of a vector clock below which none is dropped; these four are Riak's */
#define KVSTORE_HISTORY_SMALL 10
#define KVSTORE_HISTORY_BIG 50 /* entries beyond which the oldest is dropped */
#define KVSTORE_HISTORY_YOUNG_S 20 /* age below which none is dropped */
#define KVSTORE_HISTORY_OLD_S 86400 /* age beyond which one is dropped */
#define KVSTORE_HISTORY_MAX 100 /* entries of a vector clock, whatever their age: 2.5 KiB */
/* versions of a key that a write may leave; more are refused: the writer has not read for long */
#define KVSTORE_SIBLINGS_PUT_MAX 8
/* versions of a key in all: from coordinators that did not hear of each other */
#define KVSTORE_SIBLINGS_MAX 64
/* bytes of all versions of a key with their clock: eight of the largest, in one message */
#define KVSTORE_STATE_SIZE_MAX 160000
#define KVSTORE_CONTEXT_SIZE_MAX 4096 /* bytes of a clock that callers give back */
#define KVSTORE_TIMEOUT_MS 3000 /* of a call: sherd_store_settings */
#define KVSTORE_TIMEOUT_MS_MAX 60000
/* of one broker: sherd_store_settings; about 300 bytes each, and the values */
#define KVSTORE_KEYS 100000
/* of one broker's keys, values and clocks: sherd_store_settings */
#define KVSTORE_BYTES (256ull * 1024 * 1024)
#define KVSTORE_BYTES_MIN (1024 * 1024) /* its smallest value: the largest key fits */
/* open calls of a broker, its own and moves; each has up to seven messages in flight */
#define KVSTORE_CALLS_MAX 1024
#define KVSTORE_MOVES_MAX 64 /* of these, keys that move at a time */
#define KVSTORE_KEEP_DELETED_MS 86400000 /* sherd_store_settings */
#define KVSTORE_SWEEP_KEYS 1000 /* checked each second for old deletions: one turn stays short */
#define KVSTORE_FORGETS_MAX 64 /* of a broker's calls, deletions that are forgotten at a time */
/* without a change of members: other brokers' walks over their keys have ended by then */
#define KVSTORE_FORGET_CALM_MS 30000
#define KVSTORE_MOVE_RETRY_MS 3000 /* until keys whose move failed are moved again */
/* until a key that arrived at no replica moves on: rings mostly agree again by then */
#define KVSTORE_ASTRAY_MS 10000
/* until an update that distributed data refused is repeated; doubles each time */
#define KVSTORE_REFS_RETRY_MS 1000
#define KVSTORE_REFS_RETRY_MS_MAX 60000
#define KVSTORE_WALK_KEYS 500 /* checked in one turn for new replicas */

#endif
