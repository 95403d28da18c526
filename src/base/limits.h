/* Defines every limit of the library with its unit and its reason, a section for each core. A limit
 * that is reached is counted, and a test reaches it. The comment of a user's setting names the
 * setting. */
#ifndef SHERD_BASE_LIMITS_H
#define SHERD_BASE_LIMITS_H

/* base */
#define TRACE_TEXT_MAX 1024 /* bytes of one log line; longer ones are cut */
#define TRACE_LINES_MAX 4096 /* between two turns of a machine */
#define PROBES_MAX 262144 /* between two turns: many mailboxes may end at once */
#define PROBES_BYTES_MAX (64 * 1024 * 1024) /* bytes of these */

/* host */
#define RING_MAIL_MAX 1024 /* from one machine to another, 64 KiB; the sender keeps the rest */
#define INBOX_MAIL_MAX 16384 /* from a program's threads to one machine; then SHERD_EFULL */
#define INBOX_BYTES_MAX (64 * 1024 * 1024) /* of their bodies */
/* actors that a program's threads spawn before a turn of the first lane; then SHERD_EFULL */
#define RESERVED_REFS_MAX 1024
#define SYSTEM_CALLBACKS_MAX 64 /* a program's callbacks for a node's start, and for its removal */
#define ACCEPT_WAITING_MAX 256 /* accepted connections without a machine yet */
#define ACCEPT_WAITING_EACH_MAX 16 /* of these from one address: a peer needs three */
/* of these from addresses of no seed node or known peer */
#define ACCEPT_STRANGERS_MAX (ACCEPT_WAITING_MAX - 32)
#define ACCEPT_KNOWN_MAX 1024 /* addresses of peers, the latest ones: 16 KiB */
#define EXPECTED_LOOK_MS 30000 /* between look-ups of the seed nodes' names */
#define ACCEPT_PREAMBLE_MS 5000 /* for the first five bytes */
#define ACCEPT_FRAME_MS 5000 /* for the first frame, which a peer sends immediately */
/* the preamble and the largest first frame */
#define ACCEPT_BYTES_MAX (INLET_UNKNOWN_SIZE_MAX + 16)
/* log lines a second about refused connections; one more counts the rest */
#define ACCEPT_LINES_MAX 10
#define ACCEPT_BATCH_MAX 64 /* connections before other sockets have their turn */
#define ACCEPT_PAUSE_MS 100 /* after file descriptors ran out */
#define CONNECTIONS_MAX 32768 /* of a system; five for each of 5,000 peers */
#define SOCKET_READ_SIZE (64 * 1024) /* before its messages run: both fit a CPU core's cache */
/* from an unverified peer: four certificates with RSA 4096 are 8 KiB */
#define TLS_HANDSHAKE_BYTES_MAX (16 * 1024)
#define TLS_HELLO_BYTES_MAX (4 * 1024) /* a client's first message: 2 KiB with post-quantum keys */
#define TLS_HANDSHAKE_FRAGMENT_SIZE 4096 /* bytes of a sent record and of its buffer */
#define TLS_FILE_MAX (16 * 1024 * 1024) /* bytes; revocation lists of large CAs have some MiB */
#define TLS_SECRETS_MAX 2 /* the new and the previous one */
#define TLS_SECRET_SIZE_MIN 32 /* bytes: a peer could guess a short one offline */
#define TLS_SECRET_SIZE_MAX 256
#define TLS_PINS_MAX 4096 /* compared for each connection: 50 us */
#define TLS_PIN_LINE_MAX 512 /* bytes: 64 digits and a note */
#define TLS_PIECE_SIZE (32 * 1024) /* bytes at a time: each connection has buffers of this size */
#define TLS_LOOK_MS 1000 /* between looks for missing files, and for new revocation lists */
#define TLS_ANSWERS_MAX (16 * 1024) /* bytes of unsent TLS replies: new keys take 600 */
#define DNS_LOOKUP_NAMES_MAX PEERS_MAX /* looked up, or with addresses */
/* concurrent: unanswered ones for seed nodes delay no other name */
#define DNS_LOOKUP_THREADS_MAX MEMBER_SEEDS_MAX
#define DNS_LOOKUP_ADDRESSES_MAX 64 /* of one name */
/* addresses: late ones serve the next attempt, at most 5.5 s later */
#define DNS_LOOKUP_KEPT_MS 10000
#define DNS_LOOKUP_FAILED_KEPT_MS 3000 /* a failure: a starting node may get its name soon */
/* look-up, all addresses, TLS's handshake; Akka's connection-timeout */
#define SOCKET_CONNECT_MS 5000
#define THREAD_POLL_NS 50000 /* after work, before a thread sleeps: two wakings */
#define THREAD_POLL_ACTIVE_NS 1000000 /* a thread polls only if its last work was this recent */
/* for the journal's answer, if the last one was faster: a fast disk's sync and two wakings */
#define THREAD_POLL_STORE_NS 300000
#define THREAD_POLL_SOCKETS_NS 5000 /* between checks of the sockets while only mail is busy */
#define STALLED_NS 5000000000ull /* a longer turn is reported */
#define STATUS_WAIT_MS 5000 /* sherd_get_status waits for all machines */
#define REGION_CALLS_MAX 64 /* concurrent calls of sherd/sharding.h, as for STATUS_CALLS_MAX */
#define TYPE_CALLS_MAX 64 /* concurrent calls about types of a node that runs */
#define STATUS_CALLS_MAX 64 /* concurrent; one that timed out counts until its parts return */
#define STATUS_DAMAGED_MAX 64 /* damaged parts of the journal in a status; the rest is counted */
#define DESCRIPTORS_MIN 64 /* and eight for each thread; a system with fewer does not start */
#define DESCRIPTORS_GOOD 1024 /* with fewer a system warns */
/* member */
#define GOSSIP_MEMBERS_MAX 5000 /* a frame of 256 KiB carries about as many */
#define MEMBER_TOMBSTONES_MAX 10000 /* a day with a removal each 9 s; the oldest is dropped first */
/* observations: 5,000 members, most unreachable for 9 each, need 45,000 */
#define MEMBER_ROWS_MAX 65536
#define MEMBER_ROLES_MAX 1024 /* for each member; a JVM has no limit */
#define MEMBER_ROLE_SIZE_MAX 4096 /* bytes; a JVM has no limit */
/* distinct roles, versions or hashes; JVM peers repeat versions per member */
#define MEMBER_TABLE_MAX 65536
#define MEMBER_INFLATE_SIZE_MAX (8 * 1024 * 1024) /* bytes of a message after gunzip */
#define MEMBER_INFLATE_RATIO_MAX 50 /* inflated to compressed; a real gossip stays below 10 */
#define MEMBER_INFLATE_SIZE_FREE (64 * 1024) /* bytes, whatever the ratio */
/* memory to decode a message, and for new members' roles and versions; 5,000 members need 5 MiB */
#define MEMBER_DECODE_SIZE_MAX (32 * 1024 * 1024)
#define MEMBER_CONFIG_SIZE_MAX (64 * 1024) /* bytes of a configuration to check */
#define MEMBER_CONFIG_DEPTH_MAX 16 /* nested objects */
#define MEMBER_CONFIG_KEYS_MAX 1024
#define MEMBER_REPLIES_OF_STEP 16 /* gossips sent in one step: 500 KB with a thousand members */
#define MEMBER_REPLIES_MAX 64 /* gossips for the next step; further ones are sent at once */
/* large replaced gossips to be freed in a step; further ones are freed at once */
#define MEMBER_OVER_MAX 2
#define MEMBER_WAITING_MAX 4 /* inflated gossips to be merged; one more merges the first at once */
#define MEMBER_SEEDS_MAX 128 /* seed nodes */
#define MEMBER_JOINERS_MAX 64 /* nodes that wait until the member at their address is removed */
#define MEMBER_EXITING_MAX 5000 /* confirmed; as many as members */
/* requests to join until the joiner's address has answered: an honest one waits for a round trip */
#define JOINS_WAITING_MAX 64
#define JOINS_WAITING_BYTES_MAX (1024 * 1024) /* bytes of these; one has 200 */
#define JOIN_WAIT_MS 5000 /* for that answer; a connection attempt takes as long */

/* artery */
#define FRAME_SIZE_MAX (256 * 1024) /* without the length field; Akka's maximum-frame-size */
#define FRAME_LARGE_SIZE_MAX (16 * 1024 * 1024) /* largest value of maximum-large-frame-size */
#define FRAME_LARGE_SIZE (2 * 1024 * 1024) /* its default */
#define FRAME_LARGE_SIZE_MIN (256 * 1024) /* its smallest value: an ordinary frame fits */
/* of a large frame, besides the body: refs, an id, a manifest */
#define FRAME_LARGE_HEAD_SIZE (16 * 1024)
#define LARGE_DESTINATIONS_MAX 256 /* each recipient is compared with all */
#define REF_SIZE_MAX 4096 /* bytes; a percent-encoded entity id of 255 characters fits four times */
#define MANIFEST_SIZE_MAX 1024 /* bytes; a Java class name with a version fits */
#define SELECTION_PATH_MAX 1024 /* bytes; the cluster's own are below 100 */
#define SELECTION_STEPS_MAX 64 /* of a path */
#define TABLE_ENTRIES_MAX 256 /* texts of one compression table; Akka's default */
#define TABLE_VERSIONS_KEPT 3 /* own tables still understood; as in Akka */
#define LINK_FRAMES_MAX 3072 /* ordinary link; Akka's outbound-message-queue-size */
#define LINK_BYTES_MAX (16 * 1024 * 1024) /* ordinary link */
#define LINK_LARGE_FRAMES 256 /* Akka's outbound-large-message-queue-size */
#define LINK_LARGE_BYTES_MAX (64 * 1024 * 1024) /* four of the largest frames */
#define LINK_CONTROL_FRAMES_MAX 20000 /* Akka's outbound-control-queue-size */
#define LINK_CONTROL_BYTES_MAX (64 * 1024 * 1024) /* 20,000 gossips of 3 kB */
/* largest send buffer: should stay in a processor's cache until sent */
#define LINK_CHUNK_SIZE (64 * 1024)
/* waiting: beyond it values of distributed data are dropped while others wait. 1.5 s at 1.5
 * Mbit/s */
#define LINK_REPEATED_BYTES (256 * 1024)
#define LINK_URGENT_MAX 64 /* handshake responses; a peer repeats its request each second */
#define LINK_CONNECT_MS 5000 /* Akka's advanced.tcp.connection-timeout */
#define LINK_HANDSHAKE_MS 20000 /* Akka's handshake-timeout; then the link reconnects */
#define LINK_REQUEST_MS 1000 /* Akka's handshake-retry-interval and inject-handshake-interval */
/* The same to a peer that answered on this connection, as only nodes of this library do. Only a
 * precaution: another incarnation has other connections, and a peer that has quarantined this node
 * gets nothing more. */
#define LINK_REQUEST_NAMED_MS 3600000
/* for a peer's answer, after another node claimed its address: the peer is gone or very slow */
#define LINK_DOUBT_MS 2000
#define LINK_HURRY_MS 100 /* from a failure to the next connection, if a node claims the address */
/* doubles up to the next line, plus up to 10 % at random to spread peers */
#define LINK_BACKOFF_MIN_MS 1000
#define LINK_BACKOFF_MAX_MS 5000
/* a handshake frame; with its length 16 KiB, all that this node keeps for an unknown sender */
#define INLET_UNKNOWN_SIZE_MAX (16 * 1024 - 4)
#define INLET_PREAMBLE_MS 5000 /* for the first five bytes */
#define INLET_HANDSHAKE_MS 5000 /* until the sender is accepted. Akka's handshake-timeout is 20 s */
#define PEERS_MAX 8192 /* peers that send to a machine: 5,000 members and some that left */
/* peers of control that are no members and never answered at their address; the oldest is forgotten
 * first. A flood of 10,000 handshakes a second leaves a joiner 100 ms for its answer */
#define STRANGERS_MAX 1024
#define CLAIMS_MAX 64 /* connections of a machine that wait: see inlet_claim; the oldest is closed */
#define STRANGERS_CLOSE_MS 100 /* between searches for connections of forgotten strangers */
#define PEER_LANES_MAX (LANES_MAX + 1) /* a peer's machines: control and lanes */
#define RETIRED_PEERS_MAX 16384 /* ended incarnations of a machine; the oldest is forgotten first */
#define RETIRED_STRANGERS_MAX 1024 /* of these, besides: incarnations that never answered */
/* between turns; beyond it system messages are not acknowledged, so the peer resends */
#define ASSOCIATION_NEWS_MAX 65536
#define ASSOCIATION_NEWS_SIZE_MAX (16 * 1024 * 1024) /* bytes */
#define TERMINATING_MS 1000 /* from ActorSystemTerminating; Akka's shutdown-flush-timeout */
#define SYSTEM_MESSAGES_MAX 20000 /* unacknowledged; Akka's system-message-buffer-size */
#define SYSTEM_MESSAGES_SIZE_MAX (32 * 1024 * 1024) /* bytes */
#define SYSTEM_RESEND_MAX 1000 /* at a tick, oldest first: fewer than the link's queue holds */
#define SYSTEM_RESEND_MS 1000 /* Akka's system-message-resend-interval */
#define SYSTEM_GIVE_UP_MS (UINT64_C(6) * 3600 * 1000) /* Akka's give-up-system-message-after */
#define ADVERTISE_MS 5000 /* between advertisements of an unacknowledged compression table */
#define ADVERTISE_MAX 12 /* then the peer is not asked again */
#define FOREIGN_TRACED_MAX 64 /* unknown nodes in the log; further ones are counted */

/* shard: messages and the coordinator */
#define SHARD_ID_MAX 255 /* bytes; file and path names stay usable */
#define SHARD_REF_MAX 1024 /* bytes of a region's or coordinator's ref */
/* bytes to read one message; a frame is at most 256 KiB */
#define SHARD_MESSAGE_MEMORY_MAX (8 * 1024 * 1024)
/* bytes of a registration; a larger one is compressed: 20,000 shards are 480 KiB, and then 110 */
#define SHARD_REGISTER_PLAIN_MAX (192 * 1024)
#define SHARD_REGISTER_INFLATE_MAX (4 * 1024 * 1024) /* bytes of such a one: 131,072 shards */
#define SHARD_HOMES_MAX 500 /* in one message; Akka's */
/* at a registration; Akka's; other homes are asked for when needed */
#define SHARD_HOMES_MESSAGES_MAX 10
/* a coordinator's inflated state: 131,072 shards with refs of 200 bytes */
#define STORED_SIZE_MAX (32 * 1024 * 1024)
#define STORED_MEMORY_MAX (96 * 1024 * 1024) /* bytes to read it */
/* of a type, with proxies; a hand-off sends a message to each */
#define COORDINATOR_REGIONS_MAX 4096
/* of a type; 13 times Akka's largest advice (10 shards a node, 1000 nodes) */
#define COORDINATOR_SHARDS_MAX 131072
/* new terms because the journal has a higher one: two live coordinators would never stop */
#define COORDINATOR_OUTBIDS_MAX 8
#define COORDINATOR_HANDOFFS_MAX 256 /* concurrent; each costs a message to every region */
/* a coordinator's messages in one step, except answers: half a ms with their frames */
#define COORDINATOR_TELLS_MAX 256
/* regions compared in one step to find homes; a look-up counts as sixteen: 65 shards at 1,000
 * regions, a quarter of a ms */
#define COORDINATOR_PLACES_MAX 65536
/* parts of its state compressed in one step: 256 shards or 64 regions each, a tenth of a ms */
#define COORDINATOR_PACKS_MAX 4
/* regions viewed in one step by rebalancing coordinators, if several do so: a quarter of a ms */
#define COORDINATOR_VIEWS_MAX 1024
#define COORDINATOR_QUERIES_MAX 16 /* concurrent cluster statistics */
/* open requests for shards to a program's strategy; other shards wait for their turn */
#define COORDINATOR_REQUESTS_MAX 256
#define ALLOCATION_MOVES_MAX 10000 /* shards in an answer of such a strategy */
/* members remembered for 15 minutes; the oldest is dropped first */
#define SINGLETON_REMOVED_MAX 1024

/* ddata: values. Decoding refuses larger ones; the sender bounds those that this node makes */
/* bytes of a value: 300,000 elements, each with its dot */
#define DDATA_INFLATE_SIZE_MAX (16 * 1024 * 1024)
/* bytes to decode a value: an element takes 56 and its text */
#define DDATA_MEMORY_MAX (64 * 1024 * 1024)
/* by dd_weight: any value of this weight can be read again */
#define DDATA_WEIGHT_MAX (DDATA_MEMORY_MAX / 2)
#define DDATA_MANIFEST_SIZE_MAX 1024 /* of a value and of its elements */
#define DDATA_DEPTH_MAX 8 /* maps in maps; one is usual */

/* queries about regions */
#define QUERIES_MAX 64 /* open ones of a node: each asks all lanes or the coordinator */
#define QUERY_TIME_MAX (3600 * SECOND)
#define LOOK_BYTES_MAX (16 * 1024 * 1024) /* of a lane's answer: ids of a million entities */
#define LOOK_ENTITIES_OF_TURN 4096 /* entities named in one turn of a lane, beyond the last shard: 0.4 ms */

/* region (control) and its lanes */
#define SHARDS_MAX 65536 /* number-of-shards: every lane has a table of them */
#define LANES_MAX 64 /* a set of lanes is one word */
#define MEMBERS_MAX GOSSIP_MEMBERS_MAX /* for each region: any may be the oldest */
/* nodes that owe markers in a hand-off: every region may */
#define OWING_MAX COORDINATOR_REGIONS_MAX
#define GONE_MAX 1024 /* removed nodes that late directives may name */
#define PENDING_COUNT_MAX 100000 /* buffer-size: of a type on a node; each lane has its share */
#define PENDING_BYTES_MAX (256ull * 1024 * 1024) /* of these messages */
/* before their order to drain; the oldest is dropped, which fails that attempt only */
#define EARLY_MARKERS_MAX 4096
/* ns from the order to drain to the forced stop of entities; Akka's for a hand-off timeout of 60 s */
#define OWNED_STOP_TIMEOUT (55 * 1000000000ull)
#define OWNED_STOP_MIN 1000000000ull /* ns that entities have at least */
/* ns between attempts to raise a fence; doubles up to eight times */
#define OWNED_CLAIM_RETRY 1000000000ull
/* ns between tries to get a shard's lease: Akka's lease-retry-interval */
#define OWNED_LEASE_RETRY 5000000000ull

/* actor: for each lane */
#define ACTOR_TYPES_MAX 256 /* entity types of a node */
#define ACTOR_BEHAVIORS_MAX 4096 /* for plain actors; more are made at run time by mistake */
/* nodes in the `where` of asks; the largest cluster in view has 5,000 */
#define ACTOR_PEERS_MAX 16384
/* actors of a lane, or entities of a shard, named when they stop late */
#define STOP_LATE_NAMED_MAX 8
#define ACTOR_SLOTS_MAX (16u * 1024 * 1024) /* actors and entities: 1.5 GiB of slots and table */
#define ACTOR_MAILBOX_MAX 1000000 /* of one plain actor */
#define ENTITY_MAILBOX_MAX 10000 /* default of mailbox_max */
#define ENTITY_IDLE_MS 120000 /* default of idle_ms: passivate-idle-entity-after */
#define ENTITY_SHARDS 1000 /* default of shards: number-of-shards */
/* memory of all waiting messages; then MAILBOX_FULL */
#define ACTOR_WAITING_BYTES_MAX (1024ull * 1024 * 1024)
#define ACTOR_EXACT_MESSAGES 1000 /* timed individually after a piece longer than ACTOR_RUN_NS */
/* of one actor in a row: more gain nothing, fewer cost time (measured) */
#define ACTOR_RUN_MESSAGES 64
#define ACTOR_ASKS_MAX (4u * 1024 * 1024) /* and timers of the lane: 128 MiB */
#define ACTOR_ASKS_OF_ONE_MAX 65535 /* counted in 16 bits */
#define ACTOR_TIMERS_OF_ONE_MAX 1024 /* searched in order */
/* the wheel's range, 24 days; a longer timer goes round again */
#define ACTOR_TIMER_MS_MAX 0x7fffffffu
#define ACTOR_LOOK_MAX 64 /* messages of a mailbox searched for one ask from another node */
#define ACTOR_ASK_MS_MAX 3600000 /* longest ask */
#define DATA_CHANGES_MAX 1000 /* of one update */
#define DATA_KEYS_MAX 1000 /* searched for one answer to an actor: at most 256 KB */
/* bytes of updates until the durable keys are loaded */
#define DATA_WAITING_SIZE_MAX (16 * 1024 * 1024)
#define DATA_FOLLOWERS_MAX 4096 /* a lane's subscriptions to keys: each change searches them */
#define CLUSTER_SUBSCRIBERS_MAX 4096 /* of the lane: each change sends a message to each */
#define ACTOR_WATCHES_MAX (4u * 1024 * 1024) /* of and by actors of the lane: 256 MiB */
#define ENTITY_EVENTS_MAX 1000 /* not yet durable; then the entity is not scheduled */
#define ENTITY_EVENT_BYTES_MAX (1024 * 1024) /* bytes */
/* effects that wait for durability; then the entity is not scheduled */
#define ENTITY_HELD_MAX 10000
#define ENTITY_HELD_BYTES_MAX (4 * 1024 * 1024) /* bytes */
#define UPCASTS_MAX 256 /* of a type: looked through for each event */
#define UPCAST_STEPS_MAX 16 /* from a stored event to one that is applied */
#define UPCAST_EVENTS_MAX 1000 /* made of one stored event */
#define UPCAST_BYTES_MAX (1024 * 1024) /* theirs */
/* bytes, with a zero byte: why an event is rejected; it goes to askers */
#define EVENT_FAULT_MAX 200
#define DELIVERY_NUMBER_MAX (UINT64_C(1) << 60) /* of a sender's deliveries */
#define DELIVERY_SENDERS_MAX 10000 /* known to a receiver; more are not handled */
/* numbers of a sender above its lowest open one that a receiver knows; then only that one is handled */
#define DELIVERY_SEEN_MAX 4096
#define DELIVERY_BURST_MAX 256 /* transmissions of an entity in one of its turns */
#define DELIVERY_BURST_MS 20 /* until the next ones */
#define DELIVERY_REPEAT_MS 5000 /* default of delivery.repeat-interval; Akka's redeliver-interval */
#define DELIVERY_REPEAT_MS_MAX 60000 /* default of delivery.repeat-interval-max */
#define DELIVERY_GIVE_UP_MS (5ull * 86400 * 1000) /* default of delivery.give-up-after */
#define DELIVERY_FORGET_MS (7ull * 86400 * 1000) /* default of delivery.forget-after */
#define DELIVERY_COMMANDS_MAX 1000 /* default of delivery.commands-max: kept for an entity */
#define DELIVERY_COMMANDS_MS 3600000 /* default of delivery.commands-max-age */
#define ENTITY_BACKOFF_MS 200 /* after a failed recovery; doubles each time */
/* of a remembered entity that stopped by itself; Akka's entity-restart-backoff */
#define ENTITY_RESTART_MS 10000
#define ENTITY_BACKOFF_MS_MAX 10000
/* for each lane: ten seconds' work for four threads at 10 ms each; users own their bytes */
#define ACTOR_JOBS_MAX 4096
#define HANDLER_SLOW_NS 100000000ull /* default of slow-handler.report-after */
#define ACTOR_RUN_NS 1000000ull /* of actors_run, so that sockets have their turn */

/* journal */
#define REMEMBERED_MAX (16u * 1024 * 1024) /* of one type on one lane: each needs a slot */
/* of these, unanswered starts in other shards: they use messages' buffers */
#define REMEMBER_MOVES_MAX 1000
#define REMEMBER_READS_MAX 1024 /* concurrent sets of a node: 200 shards */
#define REMEMBER_READS_FIRST 64 /* at first: 10,000 shards in a second on a network of 1 ms */
#define REMEMBER_READS_MIN 4 /* when too few answer in time */
/* a node's keys of remembered entities: five for each of 52,428 shards */
#define REMEMBER_FOLLOWED_MAX 262144
#define REMEMBER_PART_SIZE_MAX (64 * 1024) /* bytes of ids in one record, plus or minus one id */
/* records that one commit deletes, because others wait; later commits delete more */
#define BACKEND_CUT_MAX 10000
#define OTHER_STORES_MAX 64 /* nodes with another journal that a node remembers */
#define BACKEND_PROOFS_MAX 100 /* terms of a type whose proofs a journal keeps; see backend_prove */
#define JOURNAL_EVENT_SIZE_MAX (1024 * 1024) /* bytes: a chunk of a replay holds at least one */
/* in flight: one entity must not fill the lane while a disk is slow */
#define JOURNAL_ENTITY_EVENTS_MAX 1000
#define JOURNAL_ENTITY_BYTES_MAX (2 * 1024 * 1024)
#define JOURNAL_LANE_EVENTS_MAX 16384 /* in flight: the most that a failed commit loses */
#define JOURNAL_LANE_BYTES_MAX (16 * 1024 * 1024)
#define JOURNAL_REPLAYS_MAX 64 /* for each lane: 64 chunks of 256 KiB are 16 MiB */
#define RECOVERIES_NODE 50 /* default of a node's share of them; Akka's max-concurrent-recoveries */
#define LONG_REPLAY_EVENTS 100000 /* default of journal.long-replay-events */
#define LONG_REPLAY_SAID_NS 60000000000ull /* at least between two warnings of a type */
#define JOURNAL_CHUNK_EVENTS_MAX 1000 /* of one replay, as in Pekko's replay window */
#define JOURNAL_CHUNK_SIZE_MAX (256 * 1024)
#define JOURNAL_SNAPSHOT_SIZE_MAX (16 * 1024 * 1024) /* bytes of an image */
/* snapshots of a lane that wait for their events or the backend; beyond it the oldest one is dropped */
#define JOURNAL_SNAPSHOTS_MAX 1024
#define JOURNAL_SNAPSHOTS_SIZE_MAX (64 * 1024 * 1024) /* bytes, and the last one may exceed it */
#define SNAPSHOTS_KEPT 2 /* default of sherd_entity_type.keep_snapshots */
#define SNAPSHOTS_KEPT_MAX 100
#define JOURNAL_TRIM_MAX 1000 /* events that one commit deletes behind a snapshot */
#define JOURNAL_RETRY_MS_MIN 50 /* of a claim or an unknown outcome; doubles */
#define JOURNAL_RETRY_MS_MAX 5000

/* durable keys of distributed data */
#define DATA_DAMAGED_KEYS_MAX 64 /* named in a status; all are counted and logged */
#define DURABLE_KEY_MAX 510 /* bytes: LMDB's limit less the prefix of a held key */
#define DURABLE_VALUE_MAX (2 * 1024 * 1024) /* bytes: as much as a large frame carries */
#define DURABLE_QUEUE_MAX 65536 /* requests to the durable file's thread */
/* bytes that write-behind delays; more are written at once */
#define DURABLE_PENDING_SIZE_MAX (16 * 1024 * 1024)
/* bytes of keys and values in memory: more than two replicators may write (REPLICATOR_BYTES_MAX,
 * and their keys) */
#define DURABLE_LOAD_SIZE_MAX (3u * 1024 * 1024 * 1024)
#define DURABLE_MAP_SIZE_MIN (1024u * 1024) /* first size of the database */
/* largest size of the database: address space, not memory */
#define DURABLE_MAP_SIZE_MAX (64ull * 1024 * 1024 * 1024)
/* first report of the child that reads a database; the next child has twice the time, up to: */
#define DURABLE_BEGIN_MS 2000
/* without a report: the disk is too slow, and the read starts again */
#define DURABLE_SILENCE_MS 60000
/* of processor time for one pair: a loop in the file, since a slow disk costs none */
#define DURABLE_CIRCLE_MS 15000

/* journal backends */
#define BACKEND_QUEUE_MAX 65536 /* claims of every shard at a start fit */
/* of one transaction: bounds its time and the log's growth */
#define BACKEND_GROUP_RECORDS_MAX 65536
#define BACKEND_GROUP_SIZE_MAX (32 * 1024 * 1024)
/* for other processes' transactions, by default; then the group fails */
#define BACKEND_LOCK_WAIT_MS 10000
#define BACKEND_WAL_PAGES 4096 /* pages of 4 KiB: the log is emptied at 16 MiB */
#define BACKEND_SIGN_PAGES 4096 /* a file of 16 MiB is signed when it is opened, larger ones by the check */
#define BACKEND_WAL_PAGES_MAX 65536 /* 256 MiB: then the writer waits for readers */
#define BACKEND_ROOM_MIN (1024 * 1024) /* bytes: after a full disk, a journal with less counts as failing */
#define BACKEND_CHECK_RATE_MIN (64 * 1024) /* bytes a second: a gigabyte takes five hours */
#define BACKEND_DAMAGED_MAX 4096 /* damaged parts of a journal that are remembered */
#define BACKEND_KNOWN_MAX 65536 /* entities whose row id and last number stay in memory */
#define TURN_STUCK_MS 50 /* then the queue is skipped; a commit takes 0.2 ms */

/* config: a text is written by a person; anything larger is a mistake or an attack */
#define CONFIG_SIZE_MAX (1024 * 1024) /* bytes of a text */
#define CONFIG_DEPTH_MAX 16 /* names of a key; nested objects and lists */
#define CONFIG_KEYS_MAX 4096 /* of all texts, also after substitution of ${...} */
#define CONFIG_NODES_MAX 65536 /* values, items and parts */
#define CONFIG_VALUE_SIZE_MAX (64 * 1024) /* bytes of one value or name */
#define CONFIG_MEMORY_MAX (32 * 1024 * 1024) /* bytes during substitution */
#define CONFIG_STEPS_MAX 1000000 /* of substitution: bounds ${...} that multiply */
#define CONFIG_LINKS_MAX 96 /* nested ${...} and sections */
#define CONFIG_INCLUDES_MAX 64
#define CONFIG_INCLUDE_DEPTH_MAX 8
#define CONFIG_UNREAD_MAX 256 /* sections and keys that are listed because they are not read */
#define CONFIG_OVERRIDES_MAX 4096 /* variables; keys set from code */

/* log */
#define LOG_LINE_MAX 4096 /* bytes: a pipe takes as many at once */
#define LOG_STALL_MS 50 /* for a reader that does not read; then lines are dropped until it reads */
#define LOG_MODULES_MAX 64 /* modules with their own level */
#define LOG_REPEAT_MAX 20 /* lines of one kind in a window; the rest is counted */
#define LOG_REPEAT_MS 1000 /* the window */
#define LOG_KINDS_MAX 64 /* remembered at a time */

/* ddata: the replicator */
/* replicas; members with a pruning mark; members with a delta version */
#define REPLICATOR_MEMBERS_MAX GOSSIP_MEMBERS_MAX
#define REPLICATOR_REMOVED_MAX 1024 /* until pruned; the oldest is forgotten first */
/* of one entry: kept for 6 h; a rolling restart makes one for each member */
#define REPLICATOR_PRUNING_MAX 1024
#define EXPIRIES_MAX 1024 /* settings: each new key is compared with all */
/* deleted keys count permanently; Akka advises at most 100,000 */
#define REPLICATOR_KEYS_MAX 262144
/* expired keys: kept for minutes, longer while a member is unreachable */
#define REPLICATOR_HIDDEN_MAX 65536
#define REPLICATOR_HIDDEN_BYTES_MAX (16ull * 1024 * 1024) /* encoded: 256 each */
#define REPLICATOR_KEY_SIZE_MAX 1024 /* 500 keys and their digests are two frames */
#define REPLICATOR_ENTRY_MARGIN 4096 /* of a frame, for key, marks and versions */
#define REPLICATOR_ENTRY_SIZE_MAX (FRAME_SIZE_MAX - REPLICATOR_ENTRY_MARGIN) /* encoded */
#define REPLICATOR_MARKS_SIZE 4096 /* room for others' pruning marks: some forty */
#define REPLICATOR_UPDATE_SIZE_MAX (REPLICATOR_ENTRY_SIZE_MAX - REPLICATOR_MARKS_SIZE)
#define REPLICATOR_UPDATE_SIZE_MIN 1024 /* smallest configurable limit */
#define REPLICATOR_BYTES_MAX (1024ull * 1024 * 1024) /* of all encoded entries */
/* to read one message without its values */
#define REPLICATOR_MESSAGE_MEMORY_MAX (16 * 1024 * 1024)
#define REPLICATOR_INFLATE_SIZE_MAX (8 * 1024 * 1024) /* ten times 500 entries of 1.5 KiB */
/* writes and reads: 13,000 a second that time out after 5 s */
#define REPLICATOR_AGGREGATORS_MAX 65536
/* 272 for each replica asked; 490 of all in a cluster of a thousand */
#define REPLICATOR_AGGREGATOR_BYTES_MAX (128 * 1024 * 1024)
/* each change sends a notice to each. Remembered entities have a lower limit, so coordinators
 * always have a place */
#define REPLICATOR_SUBSCRIPTIONS_MAX (REMEMBER_FOLLOWED_MAX + 65536)
#define REPLICATOR_WAITING_MAX 65536 /* commands while the durable entries load */
#define REPLICATOR_STORES_MAX 16384 /* unanswered entries at the durable file */
/* of one key that some replica lacks; beyond it gossip carries the entry */
#define REPLICATOR_DELTAS_MAX 1000
#define REPLICATOR_STATUSES_MAX 10 /* in one round of gossip; Akka's */
/* of writes and reads to several replicas in one step: half a ms with their frames */
#define REPLICATOR_STEP_MESSAGES 256
/* of these: copied to each connection, a quarter of a ms */
#define REPLICATOR_STEP_BYTES (1024 * 1024)
/* waiting for the next step; beyond it a step has no limit */
#define REPLICATOR_SENDING_BYTES_MAX (16 * 1024 * 1024)
/* encoded and hashed in one step: half a ms, or one value */
#define REPLICATOR_STEP_DIGESTED (128 * 1024)
/* waiting statuses and gossips: six rounds of others. The oldest is dropped first; the next round
 * repeats it */
#define REPLICATOR_ARRIVALS_MAX 64
/* of these: sixteen frames, or 64 statuses with 500 keys of 100 bytes */
#define REPLICATOR_ARRIVAL_BYTES_MAX (4 * 1024 * 1024)
#define REPLICATOR_SECONDARIES_MAX 10 /* Akka's */
/* values of one key that cannot be merged here: one for each JVM member that writes at once */
#define SIBLINGS_MAX 64
#define SIBLINGS_SIZE_MAX (1536 * 1024) /* of these, in bytes: six of the largest, or one record */
#define SIBLING_SHOWN_MAX 16 /* members that a value was sent to last */
/* writes of changes whose whole value is awaited: 500 a second for two seconds */
#define REPLICATOR_PULLS_MAX 1024

/* lease */
#define LEASE_SETTLE_MS 3000 /* before a lease in a new file counts: a holder looks at its file each second */
#define LEASES_MAX 4096 /* of one in-memory lease provider; a node asks for two */
#define LEASE_REQUESTS_MAX 7 /* of a node: the resolver's, and two for each provider */
#define LEASES_BOUND_MAX 262144 /* taken ones there: of 26 types with 10,000 shards */
/* bound leases of one request: etcd allows 128 comparisons in a transaction, two for each and one */
#define LEASE_BIND_MAX 60
#define ETCD_REPLY_MAX (128 * 1024) /* 60 keys of the longest names have 80 KiB */
#define ETCD_VALUE_MAX 512 /* base64, with the zero: an owner is shorter */
#define ETCD_TOKEN_MAX 4096 /* with the zero; a JWT has less than 1 KiB */
#define ETCD_PREFIX_MAX 256 /* bytes before the leases' names */

/* discovery */
#define SEED_FILE_MAX (64 * 1024) /* 128 lines and comments */
#define SEED_LINE_MAX 512 /* without blanks and comment: protocol, system name, host, port */

/* node */
/* changes of members for all types' cores in one turn: a third of a ms with eight types */
#define NEWS_OF_TURN_MAX 64
/* of these for one removal in a cluster of as many members: it drops links and regions, half a ms
 * or more with four types of a thousand regions */
#define NEWS_REMOVAL_COST 64
/* members visited in one turn for coordinators that start, read or write, if several do so: a third
 * of a ms */
#define WALKS_OF_TURN_MAX 512
#define WATCHERS_MAX 65536 /* by JVM nodes, of a lane's actors: about 20 MiB of texts */
/* JVM actors known to a lane: about 4 MiB; the oldest is dropped. An ask of a JVM has its own
 * name */
#define NAMES_MAX 16384
#define NAMES_PATH_MAX 255 /* bytes of such a name */
#define ACTOR_NAMES_MAX 16384 /* named actors of a node: every lane has all names, 3 MiB */
#define FORMATS_MAX 64 /* kinds of messages in a JVM's format */
#define SHUTDOWN_TASKS_MAX 1024 /* of actors */
#define USER_SINGLETONS_MAX 256 /* singletons that actors of a node open; each follows all members */

#define STAGES_MAX 4096 /* asks from other nodes that get reports of their stage */
#define STAGE_WAIT_NS 100000000ull /* in a mailbox, before such a report */
/* for late messages of a member that left; Akka's quarantine-removed-node-after */
#define DEPARTED_MS 5000
#define DEPARTED_MAX 1000 /* the oldest is dropped first */
#define REMOVED_MAX 1000 /* downed incarnations, to be notified when they come back */

/* look */
#define LOOK_TARGETS_MAX 16 /* nodes asked at a time, each for a part */
#define LOOK_CURSOR_MAX 32 /* bytes of a node's cursor: its machine, and three numbers */
#define LOOK_NAME_MAX 255 /* bytes of a type, a shard or an id in a request */
#define LOOK_TEXT_MAX 512 /* bytes of a text in a row; longer ones are cut */
#define LOOK_WITHIN_MAX_MS 30000 /* the longest time-out */
#define LOOK_PART_SIZE (32 * 1024) /* a part without an order ends with the row that reaches this */
#define LOOK_PART_BYTES_MAX (240 * 1024) /* the largest part, of an ordered look: it fits a frame */
#define LOOK_PAGE_BYTES_MAX (256 * 1024) /* rows of a page; it ends with the part that reaches this */
#define LOOK_TOP_MAX 500 /* rows of an ordered look, from each lane and in the page */
#define LOOKS_MAX 16 /* open looks that a node has begun */
#define LOOKS_SERVED_MAX 16 /* requests that wait at a lane; others are told to ask again */
#define LOOK_SHARDS_OF_TURN 256 /* shards that a lane describes in a turn */
#define LOOK_PLACES_OF_TURN 16384 /* places of shards, present or not, that it looks at */
#define LOOK_SLOTS_OF_TURN 1024 /* slots of entities likewise: 50 us */

/* operations */
#define OPERATION_NAME_MAX 255 /* bytes of a type or a shard in a request */
#define OPERATION_BY_MAX 128 /* bytes of the name of a person or tool */
#define OPERATION_REASON_MAX 256 /* bytes */
#define OPERATION_TEXT_MAX 512 /* bytes of a report's text */
#define OPERATION_WITHIN_MAX_MS 600000 /* the longest time-out */
#define OPERATION_HOLD_MAX_MS 86400000 /* rebalances leave a moved shard alone at most for a day */
#define OPERATIONS_MAX 16 /* open operations that a node has begun */
#define OPERATIONS_OF_CORDON_MAX 64 /* ids that a node remembers; the oldest is dropped first */
#define OPERATIONS_OF_TYPE_MAX 64 /* open ones that a coordinator decides */
#define OPERATIONS_ENDED_MAX 256 /* ended ones; the oldest is dropped first */

/* client: of a program's threads */
/* open asks of a client; each lane has room for all of them, as one of its actors has */
#define CLIENT_REQUESTS_MAX ACTOR_ASKS_OF_ONE_MAX
#define CLIENT_REQUESTS 10000 /* the default */
#define CLIENT_TELLS_MAX 16384 /* waiting for one lane; as mail from threads of the program */
#define CLIENT_WAITING_BYTES_MAX (64 * 1024 * 1024) /* bodies of requests that wait for one lane */
#define CLIENT_WORK_MAX 256 /* messages that it sends before the lane's other actors have a turn */
#define SYSTEM_CLIENTS_MAX 64 /* each has an actor on every lane of its system */

/* N/R/W store */
#define KVSTORE_POINTS 64 /* of a member on the ring: the shares of ten members differ by a third */
#define KVSTORE_HISTORY_SMALL 10 /* entries that stay; these four are Riak's */
#define KVSTORE_HISTORY_BIG 50 /* entries beyond which the oldest is dropped */
#define KVSTORE_HISTORY_YOUNG_S 20 /* age of entries that stay */
#define KVSTORE_HISTORY_OLD_S 86400 /* age beyond which an entry is dropped */
#define KVSTORE_HISTORY_MAX 100 /* entries at any age: 2.5 KiB */
/* siblings after a write; more are refused, because the writer has not read for long */
#define KVSTORE_SIBLINGS_PUT_MAX 8
#define KVSTORE_SIBLINGS_MAX 64 /* from coordinators that did not hear of each other */
/* all versions of a key with their clock: eight of the largest, in one message */
#define KVSTORE_STATE_SIZE_MAX 160000
#define KVSTORE_CONTEXT_SIZE_MAX 4096 /* bytes */
#define KVSTORE_TIMEOUT_MS 3000 /* sherd_store_settings */
#define KVSTORE_TIMEOUT_MS_MAX 60000
#define KVSTORE_KEYS 100000 /* sherd_store_settings; about 300 bytes each, and the values */
#define KVSTORE_BYTES (256ull * 1024 * 1024) /* sherd_store_settings: keys, values and clocks */
#define KVSTORE_BYTES_MIN (1024 * 1024) /* the largest key fits */
/* for each broker, with moves; each has up to seven messages in flight */
#define KVSTORE_CALLS_MAX 1024
#define KVSTORE_MOVES_MAX 64 /* of these, moving keys */
#define KVSTORE_KEEP_DELETED_MS 86400000 /* sherd_store_settings */
#define KVSTORE_SWEEP_KEYS 1000 /* checked each second for old deletions */
#define KVSTORE_FORGETS_MAX 64 /* of these, deletions to be forgotten */
/* without a change of members: others' walks have ended by then */
#define KVSTORE_FORGET_CALM_MS 30000
#define KVSTORE_MOVE_RETRY_MS 3000
#define KVSTORE_ASTRAY_MS 10000 /* until a key at no replica moves on: rings mostly agree by then */
#define KVSTORE_REFS_RETRY_MS 1000 /* after a refusal by distributed data; doubles each time */
#define KVSTORE_REFS_RETRY_MS_MAX 60000
#define KVSTORE_WALK_KEYS 500 /* checked in one turn for new replicas */

/* services */
#define SINGLETON_BUFFER 1000 /* messages that wait in a proxy: Akka's buffer-size */
#define SINGLETON_BUFFER_MAX 10000 /* the largest such setting, as in Akka */
#define KEPT_QUEUE_BYTES_MAX (64 * 1024 * 1024) /* of the bodies of these */
#define SINGLETON_IDENTIFICATION_MS 1000 /* Akka's singleton-identification-interval */
#define SINGLETON_TIME_MAX_MS (3600 * 1000) /* the largest time of a singleton's settings */
#define SINGLETON_RETRIES_MAX 100000 /* the largest min-number-of-hand-over-retries */
#define SINGLETON_RESTART_MS 200 /* before an instance that ended by itself starts again */
#define SINGLETON_RESTART_MAX_MS 10000 /* the delay doubles up to this */
#define DAEMON_KEEP_ALIVE_MS 10000 /* Akka's keep-alive-interval */
#define DAEMON_PINGS_MAX 100 /* daemons started at a time */
#define DAEMON_PING_PAUSE_MS 100 /* before the next ones: Pekko's keep-alive-throttle-interval */
#define DAEMON_STATES_MAX 64 /* stored counts that a write replaces; the next one replaces the rest */

/* mgmt: what is read of a request, before anything is allocated for it */
#define MGMT_LINE_MAX 4096 /* bytes of a request line; then 414 */
#define MGMT_HEADER_MAX 8192 /* bytes of a header line; then 431, as for the next two */
#define MGMT_HEADERS_MAX 64
#define MGMT_HEAD_MAX (24 * 1024) /* bytes of the line and the headers */
#define MGMT_BODY_MAX (64 * 1024) /* bytes; then 413 */
#define MGMT_SEGMENTS_MAX 16 /* of a path; then 400, as for the next two */
#define MGMT_PARAMS_MAX 32 /* of a query or a form */
#define MGMT_PARAM_SIZE_MAX 1024 /* bytes of a decoded segment, name or value */
#define MGMT_TOKEN_SIZE_MAX 512 /* bytes of a token in a request */
#define MGMT_TOKENS_MAX 256 /* lines of the tokens file */
#define MGMT_TOKEN_LINE_MAX 256 /* bytes of such a line */
#define MGMT_WRONG_MAX 10 /* wrong tokens from an address in a minute; then 429 for one */
#define MGMT_WRONG_ADDRESSES_MAX 256 /* remembered for that; then the oldest is forgotten */
#define MGMT_WRONG_MS 60000
#define MGMT_FACTS_MAX 4096 /* rows of one look that an answer keeps; more are left out, and the answer says so */
#define MGMT_EVENTS_BYTES_MAX (64 * 1024) /* of events that wait for a stream; then it ends */
#define METRICS_TYPES_MAX 100 /* entity types with a label of their own; the others share one */
#define METRICS_BYTES_MAX (512 * 1024) /* of an answer; types beyond it share a label */

/* httpd: the threads and sockets of the management */
#define HTTPD_CONNECTIONS_EACH_MAX 16 /* from one address that is not loopback */
#define HTTPD_HEAD_MS 5000 /* from the first byte to the end of the head; then 408 */
#define HTTPD_REQUEST_MS 10000 /* to the end of the body */
#define HTTPD_IDLE_MS 15000 /* between two requests of a connection */
#define HTTPD_UNREAD_MS 20000 /* without a byte taken by the peer; then closed */
#define HTTPD_TICK_MS 250 /* between looks at these times, while there are connections */
#define HTTPD_WORK_MAX 32 /* requests that wait for the node; then 503 */
#define HTTPD_WORKERS_MAX 4 /* threads that ask the node: a late lane holds one for 3 s */
#define HTTPD_LOOKS_MAX 32 /* requests that wait for looks; then 503 */
#define HTTPD_VIEW_MS 250 /* then the view of before is the answer */
#define HTTPD_FIGURES_MS 200 /* then the figures of before stand for those of late threads */
/* on their way to a stream's peer; further events wait */
#define HTTPD_STREAM_BYTES (64 * 1024)
#define HTTPD_BEAT_MS 10000 /* of silence, then a stream gets an empty event */
#define HTTPD_SYSTEMS_MAX 64 /* systems of a process that serve HTTP */

#endif
