/* What the replicator's files share. Private to them. One file for each duty:
 * replicator.c   life, members, timers, news            commands.c   what is asked for here
 * receive.c      messages that arrive                   entries.c    the table of keys
 * aggregator.c   writes and reads of several replicas   write.c, read.c
 * gossip.c       own statuses, and gossips              propagate.c  deltas, sent and received
 * compare.c      a status that came                     turns.c      what one step has no room for
 * arrive.c       what comes by gossip, in its order
 * prune.c        removed members                        notify.c     subscribers
 * store.c        the durable store, and what waits while it is read
 * held.c         keys that were damaged there
 * expire.c       what nobody uses */
#ifndef SHERD_DDATA_REPLICATOR_INSIDE_H
#define SHERD_DDATA_REPLICATOR_INSIDE_H

#include "base/map.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "ddata/deltas.h"
#include "ddata/envelope.h"
#include "ddata/message.h"
#include "ddata/replicas.h"
#include "ddata/replicator.h"

#define DIGEST_SIZE 20
#define MESSAGE_OVERHEAD 1024 /* bytes of a frame beside the payload: paths, hosts, and what a selection adds */

/* One key. It stays in the table for ever, deleted or not, unless it expires. */
struct entry {
    struct slice key; /* own */
    struct envelope envelope;
    struct delta_log log;
    uint64_t size;  /* bytes as it is sent, at most */
    uint64_t told_size; /* a tenth above the one that was logged last; 0: none was */
    uint64_t expires_after; /* ms without use; 0: never */
    int64_t used_ms; /* last, by the wall clock; 0: not known */
    int32_t hash;   /* the JVM's of the key, for chunks */
    uint32_t order; /* of its coming: the place of replicator_step_key */
    uint32_t stamp; /* of the last status that named it */
    uint32_t round; /* of the last own status whose digest it has, or had */
    uint8_t digest[DIGEST_SIZE];
    bool has_digest;
    bool is_durable;
    bool is_changed; /* is in replicator.changed */
    bool by_others;  /* something has come from another node that subscribers were not told yet */
    uint8_t told_refusals; /* why a value of others is not taken (entries.c): each once */
};

/* Subscribers of a key, or of all that begin so. */
struct topic {
    struct slice key; /* own; without the "*" */
    bool is_prefix;
    VEC(uint64_t) tokens;
    VEC(uint64_t) fresh; /* not yet told anything */
};

struct target {
    struct node_id node;
    bool is_done;   /* has acknowledged, or answered */
    bool has_nacked;
};

/* What the durable store of this node has said of a write. */
enum own_store {
    OWN_STORE_UNUSED, /* the key is not durable */
    OWN_STORE_SILENT, /* nothing yet */
    OWN_STORE_HAS_IT,
    OWN_STORE_REFUSED
};

/* A write or read of several replicas; behaviour 13.4. */
struct aggregator {
    uint64_t id;
    uint64_t token;
    struct slice key;       /* own */
    struct target *targets; /* first those that are asked at once, then those that are asked later */
    uint32_t count;
    uint32_t primary_count;
    uint32_t secondary_count;
    uint32_t remaining; /* not done */
    uint32_t silent;    /* of them, those that have not refused either */
    int64_t done_when;  /* so few remain; below 0 or above count: there are not enough */
    bool is_read;
    bool is_delete;
    bool has_nack; /* another one has refused */
    enum own_store own_store;
    bool has_delta; /* the primaries were sent a delta that may not fit */
};

/* A message of a write or read on its way to those from next on. */
struct sending {
    uint64_t aggregator;
    enum message_kind kind;
    uint32_t next;
    uint32_t end;
    struct buf payload;
};

/* A round of gossip: statuses of some chunks to one replica. Each key has a digest in it that was made since it began. */
struct gossip_round {
    struct node_id to;
    uint32_t number;
    uint32_t first;
    uint32_t count;
    uint32_t chunks;
    uint32_t end; /* what has this order or a later one came since, and is not in it */
    uint32_t at;  /* where the next step looks on, in the table */
    bool is_waiting;
};

/* A gossip that is being filled. */
struct gossip_filling {
    struct node_id to;
    struct slice recipient; /* lent */
    bool send_back;
    VEC(struct message_entry) entries; /* keys are lent, offsets in bytes for data */
    struct buf bytes;
    size_t size;   /* estimated */
    size_t packed; /* bytes of entries that are packed already */
};

/* What came by gossip while what came before was worked on. */
struct arrival {
    enum message_kind kind;
    struct node_id from;
    struct buf sender;
    struct buf payload;
};

/* The status that is compared, each of its keys once, and the answer to it. Between two steps keys may come and go. */
struct comparison {
    bool is_on;
    bool is_listed; /* all that goes into the answer is known */
    struct message status; /* own */
    struct buf sender;
    uint32_t compared; /* of its entries */
    uint32_t named;    /* keys of the answer that it named; they are lent by it, the others are own */
    uint32_t first;    /* of the keys: with which the answer begins */
    uint32_t filled;   /* keys of the answer */
    VEC(struct slice) keys;
    VEC(struct message_entry) missing;
    struct gossip_filling answer;
};

/* The gossip that is merged, and the answer to it. */
struct gossip_taking {
    bool is_on;
    struct message gossip; /* own */
    struct buf sender;
    uint32_t taken; /* of its entries */
    struct gossip_filling answer;
};

/* A look at all keys, whether they are over. What changes places in the tables meanwhile is looked at the next time. */
struct expiring {
    bool is_on;
    uint32_t hidden_at; /* where the next step looks on: first in the table of hidden keys */
    uint32_t at;        /* then in that of entries */
};

enum backend_purpose { DURABLE_FOR_COMMAND, DURABLE_FOR_AGGREGATOR, DURABLE_FOR_PEER };

/* An entry on its way to the durable store. */
struct storing {
    enum backend_purpose purpose;
    uint64_t id; /* token, or aggregator */
    bool is_delete;
    struct node_id to; /* a peer's write */
    struct slice recipient; /* own */
};

enum waiting_kind {
    WAITING_GET,
    WAITING_SHOW,
    WAITING_UPDATE,
    WAITING_DELETE,
    WAITING_RELEASE
};

/* A command that came while the durable entries were loaded. */
struct waiting {
    enum waiting_kind kind;
    uint64_t token;
    struct slice key; /* own */
    struct consistency consistency;
};

struct news_item {
    enum replicator_news_kind kind;
    enum replicator_answer answer;
    uint64_t token;
    uint64_t ticket;
    size_t at; /* of key and bytes in news_texts */
    size_t key_size;
    size_t bytes_size;
    bool by_others;
};

enum timer_kind {
    TIMER_GOSSIP,
    TIMER_NOTIFY,
    TIMER_DELTAS,
    TIMER_PRUNING,
    TIMER_SECONDARY, /* of an aggregator */
    TIMER_TIMEOUT
};

struct replicator {
    const struct identity *identity;
    struct trace *trace;
    struct probes *probes;
    struct replicator_settings settings; /* with the defaults filled in */
    struct dd_writer *writer;
    struct replicator_counters counters;
    bool has_told_malformed; /* that a message could not be read: once */
    uint8_t told_refusals; /* why a key of others is not taken: each once */
    struct rng rng;
    struct timers timers;
    struct replicas replicas;
    struct buf path; /* with "#uid" */
    int64_t wall_ms;
    bool is_loading;
    bool has_ended;

    struct map entries; /* key -> struct entry */
    uint64_t bytes;     /* of all */
    uint64_t key_bytes;
    uint64_t gone; /* entries that were forgotten: so far at most one has moved up in the table */
    uint32_t deleted_count;
    uint32_t order; /* of the next entry */
    uint32_t stamp;
    struct deltas deltas;
    VEC(char *) durable_keys;
    VEC(struct replicator_expiry) expiries; /* patterns are own */

    uint32_t chunk; /* the next one of the own statuses */
    uint32_t chunks;
    struct gossip_round round; /* the last one */
    struct comparison comparison;
    struct gossip_taking taking; /* either this or the comparison */
    VEC(struct arrival) arrivals; /* that wait, in the order in which they came */
    uint64_t arrival_bytes;       /* of their payloads */
    bool is_round_first; /* at the next step: digests for the own status before what comes */
    bool is_pruning;     /* not all entries were looked at since the last tick of it */
    uint32_t prune_at;   /* where the next step looks on, in the table */

    struct replicator_room *room; /* lent, or own */
    struct replicator_room own_room;
    VEC(struct sending) sendings; /* that wait, in their order */
    uint64_t sending_bytes;       /* of their payloads */

    struct map topics; /* key -> struct topic */
    VEC(struct topic *) prefixes;
    VEC(struct entry *) changed; /* that somebody may be subscribed to */
    uint32_t subscription_count;
    uint32_t fresh_count;

    struct map aggregators; /* id -> struct aggregator */
    uint64_t aggregator_id; /* of the last */
    uint64_t aggregator_bytes;

    struct dd_mark lent_mark; /* of the value that is lent to be changed in its place, as it was */

    struct map storing; /* ticket -> struct storing */
    uint64_t ticket;    /* the last */
    struct map held;    /* key that is in no entry -> struct hold: what was damaged, see held.c */
    struct map hidden;  /* key -> struct hidden: what was forgotten, and perhaps is not elsewhere, see expire.c */
    uint64_t hidden_bytes;
    uint64_t steady_ticks; /* of gossip, while everybody was reachable */
    struct expiring expiring;
    VEC(struct waiting) waiting;
    uint32_t waiting_head;
    bool is_modifying; /* the first that waits has been asked to begin again */

    VEC(struct news_item) news;
    uint32_t news_head;
    struct buf news_texts;
};

/* news */
void news_answer(struct replicator *replicator, uint64_t token,
                 enum replicator_answer answer, struct slice key);
void news_put(struct replicator *replicator, const struct news_item *item,
              struct slice key, struct slice bytes);
void replicator_end(struct replicator *replicator);

/* messages out: to the replicator of the same path on a member, or as an answer to who sent something */
void send_peer(struct replicator *replicator, const struct node_id *to,
               struct slice sender, enum message_kind kind,
               struct slice payload, struct outbox *outbox);
void send_answer(struct replicator *replicator, const struct node_id *to,
                 struct slice recipient, enum message_kind kind,
                 struct slice payload, struct outbox *outbox);
/* Can a payload be sent? Counted when not. */
bool is_sendable(struct replicator *replicator, size_t size);

/* entries */
struct entry *entry_find(const struct replicator *replicator,
                         struct slice key);
/* Adds one without a value, to be given one at once; null at a limit, counted. size: of what it will be. */
struct entry *entry_add(struct replicator *replicator, struct slice key,
                        size_t size);
bool entry_is_there(const struct entry *entry); /* and not deleted; null is fine */
/* After each change of its envelope. is_value: not only its pruning. */
void entry_set(struct replicator *replicator, struct entry *entry,
               bool is_value);
void entry_delete(struct replicator *replicator, struct entry *entry);
/* Before a delta of this node's is put into its log: which number it has. */
void entry_count_deltas(const struct replicator *replicator,
                        struct entry *entry);
/* Empty for a deleted one. Lent until the entry changes. */
struct slice entry_digest(struct replicator *replicator, struct entry *entry);
void entry_grow(struct replicator *replicator, struct entry *entry,
                uint64_t size); /* what it is sent in has become so much larger, at most */
void entry_measured(struct replicator *replicator, struct entry *entry,
                    uint64_t size); /* it is exactly so large */
bool key_is_durable(const struct replicator *replicator, struct slice key);
bool key_matches(struct slice key, const char *pattern); /* a key, or with a "*" at the end all that begin so */
void entry_forget(struct replicator *replicator, struct entry *entry); /* frees it; nobody else may know of it */
void entries_fini(struct replicator *replicator);
/* Merges what came from elsewhere; the envelope is spent. size: of its bytes. Null: refused, and counted. */
struct entry *entry_merge(struct replicator *replicator, struct slice key,
                          struct envelope *envelope, size_t size);
/* Of its bytes, which are made for that, or more, if it is heavy: what takes no more than the settings allow can be read again. */
uint64_t envelope_size(const struct replicator *replicator,
                       const struct envelope *envelope);
uint64_t weight_size(const struct replicator *replicator,
                     const struct dd_value *value); /* as many bytes as it counts for by its weight */
/* Does a value of so many bytes fit into an entry of at most max? Measures it when it may not. */
bool entry_has_room(struct replicator *replicator, struct entry *entry,
                    size_t size, uint64_t max);

/* aggregators */
bool is_local(const struct replicator *replicator,
              const struct consistency *consistency);
/* Null at a limit: nothing has happened then. The targets are there, nothing is sent. */
struct aggregator *aggregator_new(struct replicator *replicator, uint64_t now,
                                  uint64_t token, struct slice key,
                                  const struct consistency *consistency,
                                  bool is_ordered);
bool aggregator_has_room(const struct replicator *replicator);
void aggregator_end(struct replicator *replicator,
                    struct aggregator *aggregator); /* frees it */
void aggregators_fini(struct replicator *replicator);
struct aggregator *aggregator_of(const struct replicator *replicator,
                                 struct slice recipient);
struct aggregator *aggregator_by_id(const struct replicator *replicator,
                                    uint64_t id);
struct target *aggregator_target(const struct aggregator *aggregator,
                                 const struct address *address);
void aggregator_done(struct aggregator *aggregator, struct target *target);
bool aggregator_lacks_nodes(const struct aggregator *aggregator);
/* Who sends its messages: a path below the replicator's. */
void aggregator_path_put(const struct replicator *replicator,
                         const struct aggregator *aggregator, struct buf *path);
/* To the targets from first on, that are not done: in the steps that follow those for whom this one has no room. */
void aggregator_send(struct replicator *replicator,
                     const struct aggregator *aggregator, uint32_t first,
                     uint32_t count, enum message_kind kind,
                     struct slice payload, struct outbox *outbox);
void aggregator_timer(struct replicator *replicator, uint64_t id,
                      bool is_timeout, struct outbox *outbox);

void write_begin(struct replicator *replicator, struct aggregator *aggregator,
                 const struct dd_value *delta, int64_t version,
                 struct outbox *outbox);
void write_receive(struct replicator *replicator,
                   struct aggregator *aggregator,
                   const struct inbound *inbound, enum message_kind kind,
                   struct outbox *outbox);
void write_stored(struct replicator *replicator, struct aggregator *aggregator,
                  bool is_good);
void write_secondary(struct replicator *replicator,
                     struct aggregator *aggregator, struct outbox *outbox);
void write_timeout(struct replicator *replicator,
                   struct aggregator *aggregator);

void read_begin(struct replicator *replicator, struct aggregator *aggregator,
                struct outbox *outbox);
void read_receive(struct replicator *replicator, struct aggregator *aggregator,
                  const struct inbound *inbound, const struct message *message,
                  struct outbox *outbox);
void read_secondary(struct replicator *replicator,
                    struct aggregator *aggregator, struct outbox *outbox);
void read_timeout(struct replicator *replicator,
                  struct aggregator *aggregator);

/* commands */
void command_get(struct replicator *replicator, uint64_t now, uint64_t token,
                 struct slice key, const struct consistency *consistency,
                 struct outbox *outbox);
void command_show(struct replicator *replicator, uint64_t token,
                  struct slice key);
void command_delete(struct replicator *replicator, uint64_t now,
                    uint64_t token, struct slice key,
                    const struct consistency *consistency,
                    struct outbox *outbox);

void command_release(struct replicator *replicator, uint64_t token,
                     struct slice key);

/* keys that were damaged */
bool key_is_held(const struct replicator *replicator, struct slice key);
/* A value that was written to it, which may be a mere change: it says nothing of what else its sender has. */
bool hold_is_part(const struct replicator *replicator, struct slice key,
                  const struct dd_value *value);
/* Before anything that others have of a key is put into the table. envelope: all that `from` has, empty: nothing. False: the key is held
 * still, and the envelope is spent. True: it is not held, or that was the last that it needed: then the envelope is what all have sent and what is
 * left, of *size bytes. hold_end when it is in the table. */
bool hold_take(struct replicator *replicator, struct slice key,
               const struct node_id *from, struct envelope *envelope,
               size_t *size);
void hold_end(struct replicator *replicator, const struct entry *entry); /* is fine if it was not held */
const struct dd_value *hold_look(const struct replicator *replicator,
                                 struct slice key); /* what came of it so far; null: nothing, or it is not held */
void hold_drop(struct replicator *replicator, struct slice key);
void hold_tick(struct replicator *replicator); /* those that nobody used are forgotten */
void hold_fini(struct replicator *replicator);

/* what nobody uses */
uint64_t expire_after(const struct replicator *replicator, struct slice key);
bool expire_is_over(const struct replicator *replicator, struct slice key,
                    int64_t used_ms);
/* Somebody tells of a key that he used last at that time. True: it is over, and not to be taken; counted. */
bool expire_refuses(struct replicator *replicator, struct slice key,
                    int64_t used_ms);
void entry_use(const struct replicator *replicator, struct entry *entry,
               int64_t used_ms); /* entry: null is fine */
void key_use(const struct replicator *replicator, struct slice key,
             int64_t used_ms); /* of its entry, or as it is held; fine if it is not here */
void expire_tick(struct replicator *replicator);
void expire_go_on(struct replicator *replicator); /* with the keys that the last step had no room for */
/* Before a change of the key: what is hidden of it, if anything is, is in the table. False: at a limit. Then hidden_drop when it was made, or
 * hidden_back when it was not: nothing was changed, and nothing is shown. */
bool hidden_show(struct replicator *replicator, struct slice key);
void hidden_back(struct replicator *replicator, struct slice key);
int64_t hidden_version(const struct replicator *replicator,
                       struct slice key); /* of the last delta that was made here of a key that is hidden */
void hidden_drop(struct replicator *replicator, struct slice key);
void hidden_fini(struct replicator *replicator);

/* what arrives */
/* A status or a gossip. The message is given, if it is begun with at once; else it is kept as it came. */
void arrive_receive(struct replicator *replicator,
                    const struct inbound *inbound, struct message *message,
                    struct outbox *outbox);
bool arrive_is_busy(const struct replicator *replicator);
void arrive_go_on(struct replicator *replicator, struct outbox *outbox);
void arrive_forget(struct replicator *replicator,
                   const struct node_id *node); /* what came from it; null: all */
/* Of both kinds: begun with a message that is given, gone on with, which says whether it has ended, or ended before that. */
void compare_begin(struct replicator *replicator, const struct node_id *from,
                   struct slice sender, struct message *status);
bool compare_go_on(struct replicator *replicator, struct outbox *outbox);
void compare_end(struct replicator *replicator);
void gossip_begin(struct replicator *replicator, const struct node_id *from,
                  struct slice sender, struct message *gossip);
bool gossip_take(struct replicator *replicator, struct outbox *outbox);
void gossip_end(struct replicator *replicator);
void deltas_receive(struct replicator *replicator,
                    const struct inbound *inbound,
                    const struct message *message, struct outbox *outbox);
/* Merges an entry and stores a durable one. inbound: who is answered when that is done; null: nobody. False: it is
 * refused, and counted. */
bool take_entry(struct replicator *replicator, struct slice key,
                struct envelope *envelope, size_t size,
                const struct inbound *inbound, struct outbox *outbox);

/* Appends an entry's envelope with a delta of it in its value's place, as others get it. */
void delta_encode(const struct replicator *replicator,
                  const struct entry *entry, const struct dd_value *delta,
                  struct buf *bytes);

/* turns */
void turns_step(struct replicator *replicator, struct outbox *outbox);
void turns_forget(struct replicator *replicator,
                  const struct node_id *node); /* gossip with who was removed */
void turns_end(struct replicator *replicator); /* what waits is dropped */
bool replicator_waits(const struct replicator *replicator); /* the next step is due at once */
/* Is there room to pack an entry? It is taken then. */
bool room_is_taken(struct replicator *replicator, const struct entry *entry);
/* Or to spend so much, as bytes that are hashed? */
bool room_is_spent(struct replicator *replicator, size_t cost);
/* And for so many bytes that came, perhaps packed? */
bool room_is_spent_on(struct replicator *replicator, size_t size);

/* ticks */
void gossip_tick(struct replicator *replicator, struct outbox *outbox);
/* The round that waits for digests. */
void gossip_go_on(struct replicator *replicator, struct outbox *outbox);
/* Is an entry in that part of a status? */
bool chunk_has(const struct entry *entry, uint32_t chunk, uint32_t chunks);
/* Fields that all messages of gossip have. */
struct message gossip_to(const struct replicator *replicator,
                         enum message_kind kind, uint64_t to_uid);
/* The key is lent until filling_flush. What does not fit sends what is there. */
void filling_put(struct replicator *replicator,
                 struct gossip_filling *filling,
                 struct slice key, const struct entry *entry,
                 struct outbox *outbox);
void filling_flush(struct replicator *replicator,
                   struct gossip_filling *filling,
                   struct outbox *outbox);
void filling_fini(struct gossip_filling *filling);
void deltas_tick(struct replicator *replicator, struct outbox *outbox);
void prune_tick(struct replicator *replicator);
void prune_go_on(struct replicator *replicator); /* with the entries that the last step had no room for */
void notify_flush(struct replicator *replicator);
void notify_change(struct replicator *replicator, struct entry *entry);
void notify_forget(struct replicator *replicator, struct entry *entry); /* it goes: its last change is not told */
void notify_expired(struct replicator *replicator, const struct entry *entry); /* at once */
void notify_fini(struct replicator *replicator);

/* the store */
/* Gives an entry to the durable store; for: whom the answer is for, null: nobody. False: too many are on their way. */
bool durable_store_entry(struct replicator *replicator, struct entry *entry,
               const struct storing *storing);
void durable_forget(struct replicator *replicator, struct slice key);
void durable_fini(struct replicator *replicator);
/* Keeps a command until all is loaded; false at the limit. */
bool durable_wait(struct replicator *replicator, const struct waiting *waiting);
bool durable_must_wait(const struct replicator *replicator, uint64_t token);
void durable_modified(struct replicator *replicator, uint64_t now,
                    struct outbox *outbox); /* an update has ended: goes on with what waits */

#endif
