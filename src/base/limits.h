/* Every limit of the library: its value, its unit, its reason. A section for each core; a limit that is reached is counted,
 * and a test reaches it. Defaults that users can set stand with their setting's name. */
#ifndef SHERD_BASE_LIMITS_H
#define SHERD_BASE_LIMITS_H

/* base */
#define TRACE_TEXT_MAX 1024 /* bytes of one log line; longer ones are cut */
#define TRACE_LINES_MAX 4096 /* lines kept between two turns of a machine */
#define PROBES_MAX 262144 /* facts kept between two turns: many mailboxes may end at once */
#define PROBES_BYTES_MAX (64 * 1024 * 1024) /* bytes of them */

/* host */
#define RING_MAIL_MAX 1024 /* mails between two machines; 64 KiB a ring. What does not fit waits with its sender */
#define INBOX_MAIL_MAX 16384 /* mails from foreign threads waiting for one machine's thread; then SHERD_EFULL */
#define INBOX_BYTES_MAX (64 * 1024 * 1024) /* of their bodies */
#define SYSTEM_TOLD_MAX 64 /* functions of a program that are told that a node is up, and as many that it is removed */
#define ACCEPT_WAITING_MAX 256 /* accepted connections whose machine is not known yet */
#define ACCEPT_WAITING_EACH_MAX 16 /* of them from one address: a peer needs three */
#define ACCEPT_STRANGERS_MAX (ACCEPT_WAITING_MAX - 32) /* of them from addresses that are no seed node's and of which none was ever taken: the rest is for peers */
#define ACCEPT_KNOWN_MAX 1024 /* addresses of peers that are remembered, the last ones: 16 KiB */
#define EXPECTED_LOOK_MS 30000 /* between two look-ups of the names of seed nodes */
#define ACCEPT_PREAMBLE_MS 5000 /* until the first five bytes are there */
#define ACCEPT_FRAME_MS 5000 /* until the first frame is there: a peer says it at once. Akka's handshake-timeout is 20 s */
#define ACCEPT_BYTES_MAX (INLET_UNKNOWN_SIZE_MAX + 16) /* kept of such a connection: the preamble and the largest first frame */
#define ACCEPT_LINES_MAX 10 /* lines in a second about connections that were refused; the rest is one more line with their number */
#define ACCEPT_BATCH_MAX 64 /* connections accepted before other sockets get their turn */
#define ACCEPT_PAUSE_MS 100 /* without accepting when no descriptor is left */
#define CONNECTIONS_MAX 32768 /* accepted ones of a system; five for each of 5,000 peers */
#define SOCKET_READ_SIZE (64 * 1024) /* bytes read of a connection before their messages run: they and the bytes fit a core's own cache */
#define TLS_HANDSHAKE_BYTES_MAX (16 * 1024) /* of a peer until its certificate is verified: a chain of four of RSA 4096 is 8 KiB */
#define TLS_HELLO_BYTES_MAX (4 * 1024) /* a client's first message: 2 KiB with keys that are safe from quantum computers */
#define TLS_HANDSHAKE_FRAGMENT_SIZE 4096 /* bytes of a record of ours until the handshake has ended: a buffer is as large */
#define TLS_FILE_MAX (16 * 1024 * 1024) /* bytes of a file of certificates, or of revocation lists: those of large CAs are some MiB */
#define TLS_SECRETS_MAX 2 /* of a cluster: a new one and the one before */
#define TLS_SECRET_SIZE_MIN 32 /* bytes: a peer that was dialled may try to guess it at its leisure */
#define TLS_SECRET_SIZE_MAX 256
#define TLS_PINS_MAX 4096 /* all are compared for each connection: 50 us */
#define TLS_PIN_LINE_MAX 512 /* bytes of a line of their file: 64 digits, and what its author says of them */
#define TLS_PIECE_SIZE (32 * 1024) /* bytes encrypted or decrypted at a time: each connection keeps buffers as large */
#define TLS_LOOK_MS 1000 /* between two looks of a thread for lists that revoke peers of its open connections, at least */
#define TLS_ANSWERS_MAX (16 * 1024) /* bytes of TLS's own answers to a peer, not sent yet: 600 for new keys, of which nobody needs two */
#define DNS_LOOKUP_NAMES_MAX ASSOCIATIONS_MAX /* names that are looked up, or whose addresses are kept */
#define DNS_LOOKUP_THREADS_MAX MEMBER_SEEDS_MAX /* look-ups at a time: seed nodes that DNS says nothing of hold up no other name */
#define DNS_LOOKUP_ADDRESSES_MAX 64 /* of one name */
#define DNS_LOOKUP_KEPT_MS 10000 /* a name's addresses: those that came too late for an attempt are there for the next one, which waits for 5.5 s at most */
#define DNS_LOOKUP_FAILED_KEPT_MS 3000 /* that it has none: less, since a node that starts may get its name just now */
#define SOCKET_CONNECT_MS 5000 /* name look-up, all addresses and TLS's handshake; Akka's connection-timeout */
#define THREAD_POLL_NS 50000 /* how long a thread polls after work before it sleeps: two wakings */
#define THREAD_POLL_ACTIVE_NS 1000000 /* only when there was work this short a time before */
#define THREAD_POLL_STORE_NS 300000 /* that a thread polls for the store's answer, when the last one came sooner: a quick disk's sync and two wakings */
#define THREAD_POLL_SOCKETS_NS 5000 /* between two looks at the sockets while mail is what keeps a thread busy */
#define STALLED_NS 5000000000ull /* a turn that lasts longer is reported */
#define STATUS_WAIT_MS 5000 /* that sherd_get_status waits for all machines */
#define STATUS_CALLS_MAX 64 /* of them at a time; those given up count until their parts are back */
#define DESCRIPTORS_MIN 64 /* file descriptors for sockets and stores, beside eight for each thread; below it a system does not start */
#define DESCRIPTORS_GOOD 1024 /* below it a warning is logged */
/* member */
#define GOSSIP_MEMBERS_MAX 5000 /* of one gossip; a frame of 256 KiB carries about as many */
#define MEMBER_TOMBSTONES_MAX 10000 /* of one gossip: a day of removals, one each 9 s; the oldest is dropped first */
#define MEMBER_ROWS_MAX 65536 /* observations in one gossip: all but a few of 5,000 members unreachable for 9 each is 45,000 */
#define MEMBER_ROLES_MAX 1024 /* of one member; a JVM has no limit */
#define MEMBER_ROLE_SIZE_MAX 4096 /* bytes of a role's name; likewise */
#define MEMBER_TABLE_MAX 65536 /* distinct roles, versions or hashes of one gossip; JVM peers repeat versions per member */
#define MEMBER_INFLATE_SIZE_MAX (8 * 1024 * 1024) /* bytes of a message after gunzip */
#define MEMBER_INFLATE_RATIO_MAX 50 /* gunzipped to compressed; a real gossip stays below 10 */
#define MEMBER_INFLATE_SIZE_FREE (64 * 1024) /* bytes that any message may inflate to whatever the ratio */
#define MEMBER_DECODE_SIZE_MAX (32 * 1024 * 1024) /* bytes of memory of one message being decoded; 5,000 members need 5 MiB. The roles and versions of
    * members that a gossip brings take no more, either */
#define MEMBER_CONFIG_SIZE_MAX (64 * 1024) /* bytes of a configuration text to check */
#define MEMBER_CONFIG_DEPTH_MAX 16 /* objects in objects of it */
#define MEMBER_CONFIG_KEYS_MAX 1024 /* settings in it */
#define MEMBER_REPLIES_OF_STEP 16 /* of those that wait, sent in one step: 500 KB of a thousand members */
#define MEMBER_REPLIES_MAX 64 /* gossips that wait for the next step; one more is sent at once */
#define MEMBER_OVER_MAX 2 /* large gossips that were replaced and wait for a step to be freed; one more is freed at once */
#define MEMBER_WAITING_MAX 4 /* gossips that were inflated and wait for steps to be read and merged in; one more, and the first is merged at once */
#define MEMBER_SEEDS_MAX 128 /* seed nodes */
#define MEMBER_EXITING_MAX 5000 /* exiting members that confirmed; no more than members */

/* artery */
#define FRAME_SIZE_MAX (256 * 1024) /* bytes after the length field; Akka's maximum-frame-size */
#define FRAME_LARGE_SIZE_MAX (16 * 1024 * 1024) /* that maximum-large-frame-size may be set to */
#define FRAME_LARGE_SIZE (2 * 1024 * 1024) /* what it is when nothing is set */
#define FRAME_LARGE_SIZE_MIN (256 * 1024) /* that it may be set to: what is not large fits */
#define FRAME_LARGE_HEAD_SIZE (16 * 1024) /* of a large frame that is not for a message's body: refs, an id, a manifest */
#define LARGE_DESTINATIONS_MAX 256 /* entries: the recipient of each message is compared with all */
#define REF_SIZE_MAX 4096 /* bytes of an actor's ref literal; entity ids of 255 characters, percent-encoded, fit four times */
#define MANIFEST_SIZE_MAX 1024 /* bytes; a Java class name with a version fits */
#define SELECTION_PATH_MAX 1024 /* bytes of a selection's path; the cluster's own are below 100 */
#define SELECTION_STEPS_MAX 64 /* elements of it */
#define TABLE_ENTRIES_MAX 256 /* texts of one compression table; Akka's default */
#define TABLE_VERSIONS_KEPT 3 /* own tables still understood; Akka keeps as many */
#define LINK_FRAMES_MAX 3072 /* waiting on an ordinary link; Akka's outbound-message-queue-size */
#define LINK_BYTES_MAX (16 * 1024 * 1024) /* waiting on an ordinary link */
#define LINK_LARGE_FRAMES 256 /* waiting on a large link; Akka's outbound-large-message-queue-size */
#define LINK_LARGE_BYTES_MAX (64 * 1024 * 1024) /* waiting on a large link: four of the largest frames */
#define LINK_CONTROL_FRAMES_MAX 20000 /* waiting on a control link; Akka's outbound-control-queue-size */
#define LINK_CONTROL_BYTES_MAX (64 * 1024 * 1024) /* 20,000 gossips of 3 kB */
#define LINK_CHUNK_SIZE (64 * 1024) /* bytes of one send buffer, at most: what is sent should still be in a processor's cache */
#define LINK_REPEATED_BYTES (256 * 1024) /* waiting on an ordinary link: behind more no values of distributed data are put while some wait. A second and a half at 1.5 Mbit/s */
#define LINK_URGENT_MAX 64 /* handshake responses waiting; a peer repeats its request each second */
#define LINK_CONNECT_MS 5000 /* Akka's advanced.tcp.connection-timeout */
#define LINK_HANDSHAKE_MS 20000 /* Akka's handshake-timeout; then the connection is made again */
#define LINK_REQUEST_MS 1000 /* between two handshake requests; Akka's handshake-retry-interval and inject-handshake-interval */
/* The same, to a peer that has answered this very connection, as only nodes of this library do: another life of it has other
 * connections, and to one for which this node is over nothing more is said. For caution only. */
#define LINK_REQUEST_NAMED_MS 3600000
#define LINK_BACKOFF_MIN_MS 1000 /* doubles up to the next line, plus up to 10 % by chance, so that peers do not knock together */
#define LINK_BACKOFF_MAX_MS 5000
#define INLET_UNKNOWN_SIZE_MAX (16 * 1024 - 4) /* bytes of a frame from a sender not yet accepted, which is a handshake; with its length 16 KiB, all that a stranger can make us keep */
#define INLET_PREAMBLE_MS 5000 /* until the first five bytes are there */
#define INLET_HANDSHAKE_MS 5000 /* until the sender is accepted: its request comes first. Akka's handshake-timeout is 20 s */
#define ORIGINS_MAX 8192 /* senders known to a machine; members (5,000) and some that left */
#define ORIGIN_LANES_MAX (LANES_MAX + 1) /* sending machines of one sender: control and its lanes */
#define ORIGINS_RETIRED_MAX 1024 /* replaced or forgotten incarnations that a machine remembers, to refuse their late requests */
#define ASSOCIATIONS_MAX 8192 /* peers known to control */
#define RETIRED_UIDS_MAX 16384 /* incarnations that are over; the oldest is forgotten first */
#define ASSOCIATION_NEWS_MAX 65536 /* not drained between two turns; beyond it system messages are not acknowledged, and come again */
#define ASSOCIATION_NEWS_SIZE_MAX (16 * 1024 * 1024) /* bytes of them */
#define TERMINATING_MS 1000 /* from ActorSystemTerminating until its uid is gone; Akka's shutdown-flush-timeout */
#define SYSTEM_MESSAGES_MAX 20000 /* unacknowledged to one peer; Akka's system-message-buffer-size */
#define SYSTEM_MESSAGES_SIZE_MAX (32 * 1024 * 1024) /* bytes of them */
#define SYSTEM_RESEND_MAX 1000 /* of them resent at a tick, oldest first: the link's queue holds more */
#define SYSTEM_RESEND_MS 1000 /* Akka's system-message-resend-interval */
#define SYSTEM_GIVE_UP_MS (UINT64_C(6) * 3600 * 1000) /* Akka's give-up-system-message-after */
#define ADVERTISE_MS 5000 /* between two advertisements of a table that is not acknowledged */
#define ADVERTISE_MAX 12 /* of them; then the peer does without */
#define FOREIGN_TRACED_MAX 64 /* strangers told apart in the log; further ones are only counted */

/* shard: messages and the coordinator */
#define SHARD_ID_MAX 255 /* bytes of a shard's id; file and path names stay usable */
#define SHARD_REF_MAX 1024 /* bytes of a region's or coordinator's ref */
#define SHARD_MESSAGE_MEMORY_MAX (8 * 1024 * 1024) /* bytes allocated to read one message; a frame is at most 256 KiB */
#define SHARD_HOMES_MAX 500 /* shards in one message of homes; Akka's */
#define SHARD_HOMES_MESSAGES_MAX 10 /* such messages at a registration; Akka's; the rest is asked for when needed */
#define STORED_SIZE_MAX (32 * 1024 * 1024) /* bytes of a coordinator's state after gunzip: 131,072 shards at a ref of 200 bytes */
#define STORED_MEMORY_MAX (96 * 1024 * 1024) /* bytes allocated to read it: as much again for each shard */
#define COORDINATOR_REGIONS_MAX 4096 /* regions and proxies of one type; each is told of every hand-off */
#define COORDINATOR_SHARDS_MAX 131072 /* shards of one type; 13 times Akka's largest advice (10 shards a node, 1000 nodes) */
#define COORDINATOR_OUTBIDS_MAX 8 /* terms that one takes since the store had a higher one: two that live would go on for ever */
#define COORDINATOR_HANDOFFS_MAX 256 /* at the same time; others wait: each costs a message to every region */
#define COORDINATOR_TELLS_MAX 256 /* messages of a coordinator in one step, without answers: half a ms with their frames. The rest waits for the next step */
#define COORDINATOR_PLACES_MAX 65536 /* regions compared in one step to find homes, one looked up counts as sixteen: 65 shards at 1,000 regions, a quarter of a ms */
#define COORDINATOR_PACKS_MAX 4 /* parts of its state that are packed in one step: 256 shards or 64 regions each, a tenth of a ms */
#define COORDINATOR_VIEWS_MAX 1024 /* regions looked at in one step to decide what moves, if they are of more than one coordinator: a quarter of a ms. The others look in the next steps */
#define COORDINATOR_QUERIES_MAX 16 /* cluster statistics being gathered at the same time */
#define SINGLETON_REMOVED_MAX 1024 /* removed members remembered for 15 minutes; the oldest go first */

/* ddata: values. What is larger is refused at decoding; what this node makes itself is bounded by whoever sends it */
#define DDATA_INFLATE_SIZE_MAX (16 * 1024 * 1024) /* bytes of a value after gunzip: 300,000 elements, each with its dot */
#define DDATA_MEMORY_MAX (64 * 1024 * 1024) /* bytes of a value being decoded: an element takes 56 and its text */
#define DDATA_WEIGHT_MAX (DDATA_MEMORY_MAX / 2) /* of a value by dd_weight: what weighs so much can be read again, whatever it consists of */
#define DDATA_MANIFEST_SIZE_MAX 1024 /* bytes, of a value and of what stands in it */
#define DDATA_DEPTH_MAX 8 /* maps in maps; the usual is one */

/* region (control) and its lanes */
#define SHARDS_MAX 65536 /* number-of-shards of a type: a table of them on every lane */
#define LANES_MAX 64 /* of a node: a set of lanes is one word */
#define MEMBERS_MAX GOSSIP_MEMBERS_MAX /* members that a region looks at: the oldest may be any of them */
#define OWING_MAX COORDINATOR_REGIONS_MAX /* nodes that owe markers in one hand-off: every region may */
#define GONE_MAX 1024 /* removed nodes remembered, for orders that still name them */
#define HELD_COUNT_MAX 100000 /* buffer-size: messages of a type that wait on a node; each lane has its share */
#define HELD_BYTES_MAX (256ull * 1024 * 1024) /* bytes of those */
#define EARLY_MARKERS_MAX 4096 /* markers before their order to drain; the oldest goes, which fails that attempt only */
#define HOSTED_STOP_TIMEOUT (25 * 1000000000ull) /* ns for entities to stop in a hand-off; with the drain below the hand-off time-out */
#define HOSTED_CLAIM_RETRY 1000000000ull /* ns between tries to raise a fence in the store; doubles up to eight times that */

/* actor: for each lane */
#define ACTOR_TYPES_MAX 256 /* entity types of a node */
#define ACTOR_BEHAVIORS_MAX 4096 /* different behaviors of plain actors; more means they are made at run time by mistake */
#define ACTOR_PEERS_MAX 16384 /* nodes named in the `where` of asks; the widest cluster we aim at is 5,000 */
#define STOP_LATE_NAMED_MAX 8 /* actors of a lane, or entities of a shard, that are named when they did not stop in time */
#define ACTOR_SLOTS_MAX (16u * 1024 * 1024) /* actors and entities: 1.5 GiB of slots and table */
#define ACTOR_MAILBOX_MAX 1000000 /* messages waiting for one plain actor */
#define ENTITY_MAILBOX_MAX 10000 /* messages waiting for one entity: default of mailbox_max */
#define ENTITY_IDLE_MS 120000 /* default of idle_ms: passivate-idle-entity-after */
#define ENTITY_SHARDS 1000 /* default of shards: number-of-shards */
#define ACTOR_WAITING_BYTES_MAX (1024ull * 1024 * 1024) /* memory of all waiting messages; then MAILBOX_FULL */
#define ACTOR_EXACT_MESSAGES 1000 /* timed one by one after a piece that took longer than ACTOR_RUN_NS */
#define ACTOR_RUN_MESSAGES 64 /* messages of one actor in a row: more adds nothing, less costs (measured) */
#define ACTOR_ASKS_MAX (4u * 1024 * 1024) /* open asks and timers of the lane: 128 MiB */
#define ACTOR_ASKS_OF_ONE_MAX 65535 /* open asks of one actor: counted in 16 bits */
#define ACTOR_TIMERS_OF_ONE_MAX 1024 /* timers of one actor: they are searched in order */
#define ACTOR_TIMER_MS_MAX 0x7fffffffu /* what the wheel takes at once, 24 days; a longer timer goes round again, up to 4,000 years */
#define ACTOR_LOOK_MAX 64 /* messages of a mailbox that are looked at for one ask from elsewhere */
#define ACTOR_ASK_MS_MAX 3600000 /* longest ask */
#define DATA_CHANGES_MAX 1000 /* of one update of distributed data */
#define DATA_KEYS_MAX 1000 /* of distributed data, looked at for one answer to an actor: 256 KB at most */
#define DATA_WAITING_SIZE_MAX (16 * 1024 * 1024) /* bytes of updates that wait until the durable keys are loaded */
#define DATA_FOLLOWERS_MAX 4096 /* subscriptions of the lane's actors to keys of distributed data: each change is looked up among them */
#define CLUSTER_SUBSCRIBERS_MAX 4096 /* actors of the lane that hear of the cluster: each change is a message to each of them */
#define ACTOR_WATCHES_MAX (4u * 1024 * 1024) /* watches of and by actors of the lane: 256 MiB */
#define ENTITY_EVENTS_MAX 1000 /* events of one entity that are not durable yet; then it is not scheduled */
#define ENTITY_EVENT_BYTES_MAX (1024 * 1024) /* their bytes */
#define ENTITY_HELD_MAX 10000 /* effects of one entity that wait for durability; then it is not scheduled */
#define ENTITY_HELD_BYTES_MAX (4 * 1024 * 1024) /* their bytes */
#define ENTITY_BACKOFF_MS 200 /* first wait after a recovery that failed; doubled each time */
#define ENTITY_RESTART_MS 10000 /* a remembered entity that ended by itself starts again, as in the reference */
#define ENTITY_BACKOFF_MS_MAX 10000
#define ACTOR_JOBS_MAX 4096 /* open jobs of the lane's actors: ten seconds' work for four threads at 10 ms each. Their bytes are users' own */
#define HANDLER_SLOW_NS 100000000ull /* handlers that take longer are reported: default of slow-handler.report-after */
#define ACTOR_RUN_NS 1000000ull /* actors_run ends after this time, so that sockets are looked at */

/* journal */
#define REMEMBERED_MAX (16u * 1024 * 1024) /* remembered entities of one type on one lane: each wants a slot */
#define REMEMBER_MOVES_MAX 1000 /* of them, asked to start in other shards and not heard of yet: they wait in buffers that messages need, too */
#define REMEMBER_READS_MAX 1024 /* sets of remembered entities that a node reads at the same time: 200 shards */
#define REMEMBER_READS_FIRST 64 /* the same at first: on a network of 1 ms all of 10,000 shards in a second */
#define REMEMBER_READS_MIN 4 /* the same where too few answer in time */
#define REMEMBER_FOLLOWED_MAX 262144 /* keys of remembered entities that a node is told of: as many as a replicator has (REPLICATOR_KEYS_MAX), five for each of 52,428 shards */
#define REMEMBER_PART_SIZE_MAX (64 * 1024) /* bytes of ids in one record, give or take one id: far below an event's limit */
#define BACKEND_CUT_MAX 10000 /* records of a stream that one commit deletes: others' events wait for it. More are deleted with later ones */
#define JOURNAL_EVENT_SIZE_MAX (1024 * 1024) /* bytes of one event: a chunk of a replay holds at least one */
#define JOURNAL_ENTITY_EVENTS_MAX 1000 /* one entity's events on their way: a slow disk must not fill the lane with one entity */
#define JOURNAL_ENTITY_BYTES_MAX (2 * 1024 * 1024)
#define JOURNAL_LANE_EVENTS_MAX 16384 /* a lane's events on their way: at most this much is lost work when a commit fails */
#define JOURNAL_LANE_BYTES_MAX (16 * 1024 * 1024)
#define JOURNAL_REPLAYS_MAX 64 /* entities of a lane recovering at once: 64 chunks of 256 KiB are 16 MiB */
#define JOURNAL_CHUNK_EVENTS_MAX 1000 /* events of one replay in memory, as in pekko's replay window */
#define JOURNAL_CHUNK_SIZE_MAX (256 * 1024)
#define JOURNAL_RETRY_MS_MIN 50 /* between two tries of a claim or of an unknown outcome; doubles */
#define JOURNAL_RETRY_MS_MAX 5000

/* durable keys of distributed data */
#define DATA_DAMAGED_KEYS_MAX 64 /* named in a status; all are counted and logged */
#define DURABLE_KEY_MAX 510 /* bytes of a durable key: one less than LMDB's limit, for the byte before it in its hold */
#define DURABLE_VALUE_MAX (2 * 1024 * 1024) /* bytes of a durable value: what a large frame carries */
#define DURABLE_QUEUE_MAX 65536 /* requests waiting for the store's thread */
#define DURABLE_PENDING_SIZE_MAX (16 * 1024 * 1024) /* bytes of values that write-behind holds back: then they are written at once */
#define DURABLE_LOAD_SIZE_MAX (3u * 1024 * 1024 * 1024) /* bytes of all keys and values, which are held in memory: above what two replicators, the users' and one of sharding, may write (REPLICATOR_BYTES_MAX, and as many keys as they may have) */
#define DURABLE_MAP_SIZE_MIN (1024u * 1024) /* bytes that the database may have at first, without growing */
#define DURABLE_MAP_SIZE_MAX (64ull * 1024 * 1024 * 1024) /* bytes that the database grows to; address space, not memory */
#define DURABLE_BEGIN_MS 2000 /* until the child that reads a database says something; then another one is made that has twice as long, up to: */
#define DURABLE_SILENCE_MS 60000 /* without anything from the child that reads a database: the disk is too slow, and it is tried again */
#define DURABLE_CIRCLE_MS 15000 /* of processor time that it may need for one pair; a slow disk costs none: it goes round in a circle */

/* stores */
#define BACKEND_QUEUE_MAX 65536 /* requests waiting for a store's threads: claims of every shard at a start fit */
#define BACKEND_GROUP_RECORDS_MAX 65536 /* records of one transaction: bounds its time and the log's growth */
#define BACKEND_GROUP_SIZE_MAX (32 * 1024 * 1024)
#define BACKEND_LOCK_WAIT_MS 10000 /* for other processes' transactions, as configured by default; then the group fails */
#define BACKEND_WAL_PAGES 4096 /* of 4 KiB: the write-ahead log is emptied at 16 MiB */
#define BACKEND_WAL_PAGES_MAX 65536 /* 256 MiB: from here on readers are waited for */
#define BACKEND_KNOWN_MAX 65536 /* entities whose row id and last number the writer remembers */
#define TURN_STUCK_MS 50 /* a queue that does not move for so long is passed; a commit takes 0.2 ms */

/* config: a text is written by a person; what is larger than these is a mistake or an attack */
#define CONFIG_SIZE_MAX (1024 * 1024) /* bytes of one text */
#define CONFIG_DEPTH_MAX 16 /* names of a key, and objects and lists inside each other */
#define CONFIG_KEYS_MAX 4096 /* keys of all texts, and after all ${...} are filled in */
#define CONFIG_NODES_MAX 65536 /* values, items and parts of all texts */
#define CONFIG_VALUE_SIZE_MAX (64 * 1024) /* bytes of one value, of one name */
#define CONFIG_MEMORY_MAX (32 * 1024 * 1024) /* bytes of the whole tree while ${...} are filled in */
#define CONFIG_STEPS_MAX 1000000 /* of filling in; bounds ${...} that multiply */
#define CONFIG_LINKS_MAX 96 /* ${...} and sections inside each other while filling in */
#define CONFIG_INCLUDES_MAX 64 /* of all texts */
#define CONFIG_INCLUDE_DEPTH_MAX 8 /* inside each other */
#define CONFIG_OVERRIDES_MAX 4096 /* variables of the environment; keys set from code */

/* log */
#define LOG_LINE_MAX 4096 /* bytes of a written line: what a pipe takes at once */
#define LOG_STALL_MS 50 /* waits this long for a reader that does not read; then drops lines until it reads again */
#define LOG_MODULES_MAX 64 /* modules with a level of their own */
#define LOG_REPEAT_MAX 20 /* lines of one kind in a window; the rest is counted */
#define LOG_REPEAT_MS 1000 /* the window */
#define LOG_KINDS_MAX 64 /* kinds of lines that are remembered at a time */

/* ddata: the replicator */
#define REPLICATOR_MEMBERS_MAX GOSSIP_MEMBERS_MAX /* replicas; those that have seen a mark of pruning; those with a delta version */
#define REPLICATOR_REMOVED_MAX 1024 /* removed members remembered until they are pruned; the oldest is forgotten first */
#define REPLICATOR_PRUNING_MAX 1024 /* marks of one entry: they are kept for 6 h, and a rolling restart makes one for each member */
#define EXPIRIES_MAX 1024 /* settings of keys that expire: each new key is compared with all */
#define REPLICATOR_KEYS_MAX 262144 /* deleted ones too, for ever; the reference advises 100,000 */
#define REPLICATOR_HIDDEN_MAX 65536 /* of those that expired: they are kept for some minutes, longer while a member cannot be reached */
#define REPLICATOR_HIDDEN_BYTES_MAX (16ull * 1024 * 1024) /* of them, as they would be sent: 256 each */
#define REPLICATOR_KEY_SIZE_MAX 1024 /* bytes of a key; 500 of them and their digests are two frames */
#define REPLICATOR_ENTRY_MARGIN 4096 /* bytes of a frame that an entry leaves to its key, its marks and versions */
#define REPLICATOR_ENTRY_SIZE_MAX (FRAME_SIZE_MAX - REPLICATOR_ENTRY_MARGIN) /* bytes of an entry as it is sent */
#define REPLICATOR_MARKS_SIZE 4096 /* bytes of those that an update leaves to marks of pruning, which others may have more of: some forty */
#define REPLICATOR_UPDATE_SIZE_MAX (REPLICATOR_ENTRY_SIZE_MAX - REPLICATOR_MARKS_SIZE)
#define REPLICATOR_UPDATE_SIZE_MIN 1024 /* bytes that an update may be limited to */
#define REPLICATOR_BYTES_MAX (1024ull * 1024 * 1024) /* of all entries, as they are sent */
#define REPLICATOR_MESSAGE_MEMORY_MAX (16 * 1024 * 1024) /* bytes allocated to read one message, without its values */
#define REPLICATOR_INFLATE_SIZE_MAX (8 * 1024 * 1024) /* bytes of a gossip after gunzip: ten times 500 entries of 1.5 KiB */
#define REPLICATOR_AGGREGATORS_MAX 65536 /* writes and reads on their way: 13,000 a second that time out after 5 s */
#define REPLICATOR_AGGREGATOR_BYTES_MAX (128 * 1024 * 1024) /* of them: 272 bytes for each replica asked; 490 of all in a cluster of a thousand */
#define REPLICATOR_SUBSCRIPTIONS_MAX (REMEMBER_FOLLOWED_MAX + 65536) /* each change of a key is a notice to each of its subscribers. Those of remembered entities have a limit of their own, below it: coordinators always have a place */
#define REPLICATOR_WAITING_MAX 65536 /* commands while the durable entries are loaded */
#define REPLICATOR_STORES_MAX 16384 /* entries on their way to the durable store whose answer is waited for */
#define REPLICATOR_DELTAS_MAX 1000 /* of one key that some replica has not been sent; beyond it gossip carries the entry */
#define REPLICATOR_STATUSES_MAX 10 /* in one round of gossip; Akka's */
#define REPLICATOR_STEP_MESSAGES 256 /* of writes and reads to several replicas in one step: half a ms with their frames. The rest waits for the next step */
#define REPLICATOR_STEP_BYTES (1024 * 1024) /* of those: copied to each connection, a quarter of a ms */
#define REPLICATOR_SENDING_BYTES_MAX (16 * 1024 * 1024) /* of what waits for the next step; beyond it a step is as long as it takes */
#define REPLICATOR_STEP_DIGESTED (128 * 1024) /* bytes packed and hashed in one step for gossip: half a ms, or one value */
#define REPLICATOR_ARRIVALS_MAX 64 /* statuses and gossips that wait until those before them are done: six rounds of others. The oldest is dropped first, the next round repeats it */
#define REPLICATOR_ARRIVAL_BYTES_MAX (4 * 1024 * 1024) /* of those: sixteen frames, or as many statuses as 500 keys of 100 bytes make */
#define REPLICATOR_SECONDARIES_MAX 10 /* replicas asked beside those that were asked at first; Akka's */

/* lease */
#define LEASES_MAX 4096 /* names that one keeper in memory knows; a node asks for one */
#define ETCD_REPLY_MAX (64 * 1024) /* bytes of a reply of etcd; those that are asked for have less than 2 KiB */
#define ETCD_VALUE_MAX 512 /* of a key's value, in base64, with the zero: an owner is shorter */
#define ETCD_TOKEN_MAX 4096 /* of what a user signs in with, with the zero; a JWT has less than 1 KiB */
#define ETCD_PREFIX_MAX 256 /* bytes before the leases' names */

/* finder */
#define SEED_FILE_MAX (64 * 1024) /* bytes of a file of seed nodes; 128 lines and comments */
#define SEED_LINE_MAX 512 /* bytes of a line without blanks and comment: a protocol, a system's name, a host, a port */

/* node */
#define NEWS_OF_TURN_MAX 64 /* of members, told to all types' cores in one turn of control: a third of a ms with eight types. The rest waits for the next turn */
#define NEWS_REMOVAL_COST 64 /* of those, where members are as many: links and regions go with a removed member: half a ms and more where four types have their coordinators, of a thousand regions each */
#define WALKS_OF_TURN_MAX 512 /* members walked in one turn of control for coordinators that start, read or write, if it is for more than one of these: a third of a ms. The rest waits for the next turn */
#define WATCHERS_MAX 65536 /* watches of a lane's actors by JVM nodes: about 20 MiB of texts */
#define NAMES_MAX 16384 /* names of JVM actors that a lane knows: about 4 MiB; the oldest goes, an ask of a JVM has one of its own */
#define NAMES_PATH_MAX 255 /* bytes of one */
#define FORMATS_MAX 64 /* kinds of messages that are written in a JVM's way */
#define SHUTDOWN_TASKS_MAX 1024 /* tasks of actors in a node's end */
#define STAGES_MAX 4096 /* asks from elsewhere that a lane looks after, to tell where they wait; others are not told */
#define STAGE_WAIT_NS 100000000ull /* an ask that waits as long in a mailbox is told so */
#define PARTED_MS 5000 /* that who left by itself is heard; Akka's quarantine-removed-node-after */
#define PARTED_MAX 1000 /* of them at a time; of one more the oldest is heard no longer */
#define REMOVED_MAX 1000 /* downed incarnations remembered, to tell them when they come back */

/* store */
#define KVSTORE_POINTS 64 /* of a member on the ring: the shares of ten members differ by a third */
#define KVSTORE_HISTORY_SMALL 10 /* entries of a vector clock below which none is dropped; these four are Riak's */
#define KVSTORE_HISTORY_BIG 50 /* entries beyond which the oldest is dropped */
#define KVSTORE_HISTORY_YOUNG_S 20 /* age below which none is dropped */
#define KVSTORE_HISTORY_OLD_S 86400 /* age beyond which one is dropped */
#define KVSTORE_HISTORY_MAX 100 /* entries of a vector clock, whatever their age: 2.5 KiB */
#define KVSTORE_SIBLINGS_PUT_MAX 8 /* versions of a key that a write may leave; beyond it is refused: whoever writes has not read for long */
#define KVSTORE_SIBLINGS_MAX 64 /* versions of a key in all: of coordinators that did not hear of each other */
#define KVSTORE_STATE_SIZE_MAX 160000 /* bytes of all versions of a key with their clock: eight of the largest, in one message */
#define KVSTORE_CONTEXT_SIZE_MAX 4096 /* bytes of a clock that callers give back */
#define KVSTORE_TIMEOUT_MS 3000 /* of a call: sherd_store_settings */
#define KVSTORE_TIMEOUT_MS_MAX 60000
#define KVSTORE_KEYS 100000 /* of one broker: sherd_store_settings; about 300 bytes each, and the values */
#define KVSTORE_BYTES (256ull * 1024 * 1024) /* of one broker's keys, values and clocks: sherd_store_settings */
#define KVSTORE_BYTES_MIN (1024 * 1024) /* that it may be set to: the largest key fits */
#define KVSTORE_CALLS_MAX 1024 /* open ones of a broker: its own and moves; each has up to seven messages out */
#define KVSTORE_MOVES_MAX 64 /* of them, keys that move at a time */
#define KVSTORE_KEEP_DELETED_MS 86400000 /* sherd_store_settings */
#define KVSTORE_SWEEP_KEYS 1000 /* looked at each second for deletions that are old: one turn stays short */
#define KVSTORE_FORGETS_MAX 64 /* of a broker's calls, deletions that are forgotten at a time */
#define KVSTORE_FORGET_CALM_MS 30000 /* that members stayed the same: walks of others over their keys have ended by then */
#define KVSTORE_MOVE_RETRY_MS 3000 /* until keys of which a move failed are moved again */
#define KVSTORE_ASTRAY_MS 10000 /* until a key that came to no replica goes on: rings are the same again mostly */
#define KVSTORE_REFS_RETRY_MS 1000 /* until what distributed data refused is tried again; twice as long each time */
#define KVSTORE_REFS_RETRY_MS_MAX 60000
#define KVSTORE_WALK_KEYS 500 /* looked at in one turn for replicas that are new */

#endif
