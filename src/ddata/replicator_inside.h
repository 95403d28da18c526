/* Declares what the replicator's files share. Private to them. Each file has one duty, and calls
 * only files below it:
 *
 * replicator.c     lifetime, members, timers
 * waiting.c        commands of the node, which may have to wait
 * turns.c          work that exceeds one step
 * receive.c        received messages
 * stored.c         answers and entries of the durable file
 * arrive.c         order of received gossip
 * compare.c        received statuses
 * commands.c       local commands
 * write.c, read.c  writes and reads of several replicas
 * gossip.c         own statuses, and gossips
 * propagate.c      deltas
 * prune.c          removed members
 * expire.c         unused keys
 * sendings.c       one message to several replicas
 * aggregator.c     which replicas a write or read asks
 * take.c           received entries
 * held.c           damaged durable keys
 * pulls.c          states of one key that members are asked for
 * durable_queue.c  entries on their way to the durable file
 * entry_merge.c    changes of entries
 * origins.c        origins of values that may not merge here
 * entry_size.c     sizes and digests of entries
 * notify.c         subscribers
 * hidden.c         the table of hidden keys
 * entries.c        the table of keys
 * key_rules.c      durable keys, and the time without use
 * room.c           the work of a step
 * send.c           messages to peers
 * news.c           answers and notices to the node */
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
#include "ddata/opaque.h"

#define DIGEST_SIZE 20
#define MESSAGE_OVERHEAD 1024 /* bytes of a frame beside the payload */

/* One key. It stays in the table permanently, even deleted, unless it expires. */
struct entry {
    struct slice key; /* own */
    struct envelope envelope;
    struct delta_log log;
    uint64_t size;  /* as sent, at most */
    uint64_t logged_size; /* a tenth above the last logged size */
    uint64_t expires_after; /* ms without use; 0: never */
    int64_t used_ms; /* last use, by the wall clock; 0: unknown */
    int32_t hash;   /* the JVM's hash of the key, for chunks */
    uint32_t order; /* order of arrival: the place for replicator_step_key */
    uint32_t stamp; /* last status that named it */
    uint32_t round; /* last own status with its digest */
    uint8_t digest[DIGEST_SIZE];
    bool has_digest;
    bool is_durable;
    bool is_changed; /* listed in replicator.changed */
    bool by_others;  /* changed by another node since the last notice */
    uint8_t logged_refusals; /* bits of enum refusal: logged already */
    uint32_t asked;    /* last gossip tick in which a member was asked for its state */
    uint32_t answered; /* the same: its siblings were sent as an answer */
};

/* A member's write of a change whose value does not merge here. It is acknowledged when the
 * member's state with this version is here. */
struct pull {
    struct slice key; /* own */
    struct node_id from;
    int64_t version; /* the member's */
    struct slice recipient; /* own */
    uint32_t ticks; /* of gossip, since it came */
};

struct topic {
    struct slice key; /* own; without the "*" */
    bool is_prefix;
    VEC(uint64_t) tokens;
    VEC(uint64_t) fresh; /* not notified yet */
};

struct target {
    struct node_id node;
    bool is_done;   /* has acknowledged, or answered */
    bool has_nacked;
};

/* The durable file's answer to a write. */
enum own_store {
    OWN_STORE_UNUSED, /* the key is not durable */
    OWN_STORE_SILENT, /* no answer yet */
    OWN_STORE_HAS_IT,
    OWN_STORE_REFUSED
};

/* A write or read of several replicas. */
struct aggregator {
    uint64_t id;
    uint64_t token;
    struct slice key;       /* own */
    struct target *targets; /* asked at once, then those asked later */
    uint32_t count;
    uint32_t primary_count;
    uint32_t secondary_count;
    uint32_t remaining; /* not done */
    uint32_t silent;    /* of these, not refused */
    int64_t done_when;  /* the limit of `remaining`; below 0 or above count: too few nodes */
    bool is_read;
    bool is_delete;
    bool has_nack; /* from another node */
    enum own_store own_store;
    bool has_delta; /* the primaries were sent a delta, which they may refuse */
};

/* A message on its way to the targets from next on. */
struct sending {
    uint64_t aggregator;
    enum message_kind kind;
    uint32_t next;
    uint32_t end;
    struct buf payload;
};

/* Statuses of some chunks to one replica. Their digests were made after the round began. */
struct gossip_round {
    struct node_id to;
    uint32_t number;
    uint32_t first;
    uint32_t count;
    uint32_t chunks;
    uint32_t end; /* keys from this order on came later */
    uint32_t at;  /* continue here in the table */
    bool is_waiting;
};

/* A gossip message that is being filled. */
struct gossip_filling {
    struct node_id to;
    struct slice recipient; /* lent */
    bool send_back;
    VEC(struct message_entry) entries; /* keys are lent; filling_flush sets bytes.data */
    struct buf bytes;
    size_t size;   /* estimated */
    size_t packed; /* of it, bytes that are compressed already */
};

/* A gossip message that waits its turn. */
struct arrival {
    enum message_kind kind;
    struct node_id from;
    struct buf sender;
    struct buf payload;
};

/* The status being compared, and its answer. Keys may come and go between two steps. */
struct comparison {
    bool is_on;
    bool is_listed; /* the answer's keys are known */
    struct message status; /* own */
    struct buf sender;
    uint32_t compared; /* of its entries */
    uint32_t named;    /* keys that the status names and lends; the others are own */
    uint32_t first;    /* of the keys: begins the answer */
    uint32_t filled;   /* keys of the answer */
    VEC(struct slice) keys;
    VEC(struct message_entry) missing;
    struct gossip_filling answer;
};

/* The gossip being merged, and its answer. */
struct gossip_taking {
    bool is_on;
    struct message gossip; /* own */
    struct buf sender;
    uint32_t taken; /* of its entries */
    struct gossip_filling answer;
};

/* A pass over all keys. The next one finds keys that move during it. */
struct expiring {
    bool is_on;
    uint32_t hidden_at; /* continue here, first in the table of hidden keys */
    uint32_t at;        /* then in the table of entries */
};

/* This node's part of an expired key. */
struct hidden {
    /* empty during a change, when it is in the table, and if this node has no part */
    struct envelope envelope;
    uint64_t size;
    int64_t used_ms; /* last use, by the wall clock */
    int64_t version; /* this node's last delta */
    uint64_t at;     /* replicator.steady_ticks */
    bool is_alone;   /* during a change: nothing else was in the table */
};

enum durable_purpose { DURABLE_FOR_COMMAND, DURABLE_FOR_AGGREGATOR, DURABLE_FOR_PEER };

/* An entry on its way to the durable file. */
struct storing {
    enum durable_purpose purpose;
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

/* A command that came during loading. */
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
    struct replicator_settings settings; /* with defaults */
    struct dd_writer *writer;
    struct replicator_counters counters;
    bool has_logged_malformed; /* logged once */
    uint8_t logged_refusals; /* bits of enum refusal, logged for keys without an entry */
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
    uint64_t gone; /* removed entries: each moves at most one other in the table */
    uint32_t deleted_count;
    uint32_t order; /* of the next entry */
    uint32_t stamp;
    struct deltas deltas;
    VEC(char *) durable_keys;
    VEC(struct replicator_expiry) expiries; /* patterns are own */

    uint32_t chunk; /* first of the next own round */
    uint32_t chunks;
    struct gossip_round round; /* the last one */
    struct comparison comparison;
    struct gossip_taking taking; /* never at the same time as the comparison */
    VEC(struct arrival) arrivals;
    uint64_t arrival_bytes;       /* of their payloads */
    bool is_round_first; /* the next step starts with the round, not with received gossip */
    bool is_pruning;     /* the pass of the last tick continues */
    uint32_t prune_at;   /* at this place in the table */

    struct replicator_room *room; /* lent, or own */
    struct replicator_room own_room;
    VEC(struct sending) sendings;
    uint64_t sending_bytes;       /* of their payloads */

    struct map topics; /* key -> struct topic */
    VEC(struct topic *) prefixes;
    VEC(struct entry *) changed; /* entries that may have subscribers */
    uint32_t subscription_count;
    uint32_t fresh_count;

    struct map aggregators; /* id -> struct aggregator */
    uint64_t aggregator_id; /* of the next one */
    uint64_t aggregator_bytes;

    struct dd_mark lent_mark; /* of the value lent to be changed */

    struct map storing; /* ticket -> struct storing */
    uint64_t ticket;    /* the last */
    VEC(struct pull) pulls;
    uint32_t gossip_ticks; /* from 1 */
    struct map held;    /* key without an entry -> struct hold: damaged, see held.c */
    struct map hidden;  /* key -> struct hidden: removed, but may be elsewhere, see expire.c */
    uint64_t hidden_bytes;
    uint64_t steady_ticks; /* gossip ticks with all members reachable */
    struct expiring expiring;
    VEC(struct waiting) waiting;
    uint32_t waiting_head;
    bool is_modifying; /* the first waiting update may begin again */

    VEC(struct news_item) news;
    uint32_t news_head;
    struct buf news_texts;
};

/* answers and notices */
void news_answer(struct replicator *replicator, uint64_t token,
                 enum replicator_answer answer, struct slice key);
void news_put(struct replicator *replicator, const struct news_item *item,
              struct slice key, struct slice bytes);

/* messages out: to a member's replicator of the same path, or an answer to a sender */
void send_peer(struct replicator *replicator, const struct node_id *to,
               struct slice sender, enum message_kind kind,
               struct slice payload, struct outbox *outbox);
void send_answer(struct replicator *replicator, const struct node_id *to,
                 struct slice recipient, enum message_kind kind,
                 struct slice payload, struct outbox *outbox);
/* A part of an answer: without a sender, so that it does not count as the answer. */
void send_part(struct replicator *replicator, const struct node_id *to,
               struct slice recipient, enum message_kind kind,
               struct slice payload, struct outbox *outbox);
/* False: too large; counted. */
bool is_sendable(struct replicator *replicator, size_t size);

/* the table of keys */
struct entry *entry_find(const struct replicator *replicator,
                         struct slice key);
/* The caller sets the value at once. Null at a limit, counted. */
struct entry *entry_add(struct replicator *replicator, struct slice key,
                        size_t size);
bool entry_is_there(const struct entry *entry); /* not deleted; null is fine */
void entry_grow(struct replicator *replicator, struct entry *entry,
                uint64_t size); /* its sent size grows by at most this */
void entry_measured(struct replicator *replicator, struct entry *entry,
                    uint64_t size); /* its exact size */
/* Frees it; no other list may contain it. */
void entry_forget(struct replicator *replicator, struct entry *entry);
void entries_fini(struct replicator *replicator);

/* values that may not merge here */
struct arrived {
    const struct node_id *from;
    enum origin_way way;
    uint64_t number; /* of a write, in its sender's order; 0: not known */
    uint64_t size;   /* of the envelope */
};
/* Before a state that another node sent is joined with others. */
void origin_label(const struct replicator *replicator, struct slice key,
                  struct envelope *envelope, const struct arrived *arrived);
/* For tests: see unknown_key. */
void origin_hide_type(const struct replicator *replicator, struct slice key,
                      struct envelope *envelope);
/* A value without an origin becomes this node's. */
void origin_claim(const struct replicator *replicator,
                struct envelope *envelope);
/* envelope_merge; the values get origins if they need them. */
enum envelope_merged envelope_join(const struct replicator *replicator,
                                   struct envelope *envelope,
                                   struct envelope *other);
/* True if its values can be sent. */
bool envelope_fits(const struct replicator *replicator,
                   const struct envelope *envelope);

/* changes of entries */
/* After each change of its envelope. is_value: not only of its pruning. */
void entry_set(struct replicator *replicator, struct entry *entry,
               bool is_value);
void entry_delete(struct replicator *replicator, struct entry *entry);
/* Before a delta of this node is put into the log: continues the numbers of its earlier deltas. */
void entry_count_deltas(const struct replicator *replicator,
                        struct entry *entry);
/* Before the value of an entry with an origin is shown to a member: draws a version for it. */
int64_t entry_draw_version(struct replicator *replicator, struct entry *entry);
/* Merges an entry from elsewhere; the envelope is spent. Null: refused, and counted. */
struct entry *entry_merge(struct replicator *replicator, struct slice key,
                          struct envelope *envelope, size_t size);

/* sizes and digests */
/* Empty for a deleted entry. Lent until the entry changes. */
struct slice entry_digest(struct replicator *replicator, struct entry *entry);
/* Its encoded size, or its weight if that is more. */
uint64_t envelope_size(const struct replicator *replicator,
                       const struct envelope *envelope);
/* The same if the encoded size is known. Weight counts up to the entry limit. */
uint64_t envelope_counted(const struct replicator *replicator,
                          const struct envelope *envelope, uint64_t bytes);
uint64_t weight_size(const struct replicator *replicator,
                     const struct dd_value *value); /* weight converted to bytes */
/* Measures the entry if its size is uncertain. */
bool entry_has_room(struct replicator *replicator, struct entry *entry,
                    size_t size, uint64_t max);

/* aggregators */
bool is_local(const struct replicator *replicator,
              const struct consistency *consistency);
/* Chooses the targets, sends nothing. Null at a limit, without effect. */
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
/* The number in the path of a write or read, of any replicator with this path. */
bool aggregator_id_of(const struct replicator *replicator, struct slice path,
                      uint64_t *id);
struct target *aggregator_target(const struct aggregator *aggregator,
                                 const struct address *address);
void aggregator_done(struct aggregator *aggregator, struct target *target);
bool aggregator_lacks_nodes(const struct aggregator *aggregator);
/* The sender of its messages. */
void aggregator_path_put(const struct replicator *replicator,
                         const struct aggregator *aggregator, struct buf *path);
/* Sends to targets from first on that are not done; later steps send what exceeds this one. */
void aggregator_send(struct replicator *replicator,
                     const struct aggregator *aggregator, uint32_t first,
                     uint32_t count, enum message_kind kind,
                     struct slice payload, struct outbox *outbox);
/* Continues messages that wait for room. */
void sendings_go_on(struct replicator *replicator, struct outbox *outbox);
void sendings_end(struct replicator *replicator); /* drops them */

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

/* commands that need not wait */
void command_refuse(struct replicator *replicator, uint64_t token,
                    enum replicator_answer answer, struct slice key);
void command_get(struct replicator *replicator, uint64_t now, uint64_t token,
                 struct slice key, const struct consistency *consistency,
                 struct outbox *outbox);
void command_show(struct replicator *replicator, uint64_t token,
                  struct slice key);
void command_delete(struct replicator *replicator, uint64_t now,
                    uint64_t token, struct slice key,
                    const struct consistency *consistency,
                    struct outbox *outbox);
enum replicator_begin command_update_begin(struct replicator *replicator,
                                           uint64_t token, struct slice key,
                                           const struct dd_value **current);
/* The value is given. */
void command_update(struct replicator *replicator, uint64_t now,
                    uint64_t token, struct slice key,
                    const struct dd_value *current, struct dd_value *value,
                    const struct consistency *consistency,
                    struct outbox *outbox);
void command_update_fail(struct replicator *replicator, uint64_t token,
                         struct slice key);
void command_release(struct replicator *replicator, uint64_t token,
                     struct slice key);

/* damaged durable keys */
bool key_is_held(const struct replicator *replicator, struct slice key);
/* True if a written value may be a mere part of what its sender has. */
bool hold_is_part(const struct replicator *replicator, struct slice key,
                  const struct dd_value *value);
/* Before another node's value is put into the table. envelope: all that `from` has; empty: nothing.
 * False: still held; the envelope is spent. True: not held, or the last value needed has come. Then
 * the envelope is the merge of all values and the remains, of *size bytes; hold_end follows when it
 * is in the table. */
bool hold_take(struct replicator *replicator, struct slice key,
               const struct node_id *from, struct envelope *envelope,
               size_t *size);
void hold_end(struct replicator *replicator, const struct entry *entry); /* no effect if not held */
/* The value received so far at this place; null: none, or not held. */
const struct dd_value *hold_look(const struct replicator *replicator,
                                 struct slice key, uint32_t index);
void hold_drop(struct replicator *replicator, struct slice key);
void hold_tick(struct replicator *replicator); /* drops expired holds */
void hold_fini(struct replicator *replicator);

/* rules by name */
bool key_matches(struct slice key, const char *pattern); /* a key, or a prefix that ends with "*" */
bool key_is_durable(const struct replicator *replicator, struct slice key);
uint64_t expire_after(const struct replicator *replicator, struct slice key);
bool expire_is_over(const struct replicator *replicator, struct slice key,
                    int64_t used_ms);
bool entry_is_over(const struct replicator *replicator,
                   const struct entry *entry);
void entry_use(const struct replicator *replicator, struct entry *entry,
               int64_t used_ms); /* entry: null is fine */
void key_use(const struct replicator *replicator, struct slice key,
             int64_t used_ms); /* of its entry or hold, if any */

/* unused keys */
/* True: a key used last at that time has expired; counted. */
bool expire_refuses(struct replicator *replicator, struct slice key,
                    int64_t used_ms);
void expire_tick(struct replicator *replicator);
void expire_go_on(struct replicator *replicator); /* continues the pass */
/* Before a change: merges the key's hidden part into the table. False: at a limit. Then hidden_drop
 * if the change was made, else hidden_back before subscribers see it. */
bool hidden_show(struct replicator *replicator, struct slice key);
void hidden_back(struct replicator *replicator, struct slice key);
void hidden_give_back(struct replicator *replicator, struct hidden *hidden); /* drops the value */
int64_t hidden_version(const struct replicator *replicator,
                       struct slice key); /* this node's last delta of a hidden key */
void hidden_drop(struct replicator *replicator, struct slice key);
void hidden_fini(struct replicator *replicator);

/* received gossip */
/* A status or gossip. The message is given if processing begins at once; else its bytes are
 * kept. */
void arrive_receive(struct replicator *replicator,
                    const struct inbound *inbound, struct message *message,
                    struct outbox *outbox);
bool arrive_is_busy(const struct replicator *replicator);
void arrive_go_on(struct replicator *replicator, struct outbox *outbox);
void arrive_forget(struct replicator *replicator,
                   const struct node_id *node); /* messages of this node; null: all */
/* Both kinds: begin (message given), continue (true: finished), end early. */
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
/* Merges an entry and stores a durable one. inbound: answered when done; null: no answer. False:
 * refused, and counted. */
bool take_entry(struct replicator *replicator, struct slice key,
                struct envelope *envelope, size_t size,
                const struct inbound *inbound, struct outbox *outbox);

/* Asks a member for its state of a key, which it sends as gossip. */
void pull_ask(struct replicator *replicator, struct slice key,
              const struct node_id *to, struct outbox *outbox);
/* A write of something that may be a change only: its state is asked for. */
void pull_begin(struct replicator *replicator, struct slice key,
                const struct inbound *inbound, int64_t version,
                struct outbox *outbox);
/* The member's state with this version is in the entry. */
void pull_end(struct replicator *replicator, struct slice key,
              const struct node_id *from, int64_t version,
              struct outbox *outbox);
void pulls_tick(struct replicator *replicator, struct outbox *outbox); /* asks again */
void pulls_forget(struct replicator *replicator,
                  const struct node_id *node); /* of a removed node; null: all */

/* Appends the envelope with the delta as value. */
void delta_encode(const struct replicator *replicator,
                  const struct entry *entry, const struct dd_value *delta,
                  struct buf *bytes);

/* work that exceeds one step */
void turns_step(struct replicator *replicator, struct outbox *outbox);
void turns_forget(struct replicator *replicator,
                  const struct node_id *node); /* gossip with a removed node */
void turns_end(struct replicator *replicator); /* waiting work is dropped */
bool replicator_waits(const struct replicator *replicator); /* true: the next step is due at once */

/* the work of a step */
/* Takes the cost from a room, at most what is left. */
void room_spend(uint32_t *room, size_t cost);
/* Takes room to pack the entry; false: none is left. */
bool room_is_taken(struct replicator *replicator, const struct entry *entry);
/* Takes room for hashed bytes. */
bool room_is_spent(struct replicator *replicator, size_t cost);
/* Takes room for received bytes, perhaps compressed. */
bool room_is_spent_on(struct replicator *replicator, size_t size);

/* ticks */
void gossip_tick(struct replicator *replicator, struct outbox *outbox);
/* Continues the round that waits for digests. */
void gossip_go_on(struct replicator *replicator, struct outbox *outbox);
/* True if the chunk contains the entry. */
bool chunk_has(const struct entry *entry, uint32_t chunk, uint32_t chunks);
/* The common fields. */
struct message gossip_to(const struct replicator *replicator,
                         enum message_kind kind, uint64_t to_uid);
/* Sends what is there first if the entry does not fit. The key is lent until filling_flush. */
void filling_put(struct replicator *replicator,
                 struct gossip_filling *filling,
                 struct slice key, const struct entry *entry,
                 struct outbox *outbox);
/* Sends the values of an entry with siblings, each in a message of its own, except the last one that
 * the peer itself has sent. sends_back: the peer answers each with its state. */
void filling_put_siblings(struct replicator *replicator,
                          struct gossip_filling *filling, struct slice key,
                          struct entry *entry, bool sends_back,
                          struct outbox *outbox);
void filling_flush(struct replicator *replicator,
                   struct gossip_filling *filling,
                   struct outbox *outbox);
void filling_fini(struct gossip_filling *filling);
void deltas_tick(struct replicator *replicator, struct outbox *outbox);
void prune_tick(struct replicator *replicator);
void prune_go_on(struct replicator *replicator); /* continues the pass */
void notify_flush(struct replicator *replicator);
void notify_change(struct replicator *replicator, struct entry *entry);
/* Before it goes: drops its pending notice. */
void notify_forget(struct replicator *replicator, struct entry *entry);
/* Notifies at once. */
void notify_expired(struct replicator *replicator, const struct entry *entry);
void notify_fini(struct replicator *replicator);

/* the durable file */
/* storing: receives the answer; null: none. False: too many are on their way. */
bool durable_store_entry(struct replicator *replicator, struct entry *entry,
               const struct storing *storing);
void durable_forget(struct replicator *replicator, struct slice key);
void durable_fini(struct replicator *replicator);
void storing_free(struct storing *storing);

/* waiting commands */
/* Runs them in order up to an update, since later ones may need its result. */
void waiting_go_on(struct replicator *replicator, uint64_t now,
                   struct outbox *outbox);
void waiting_fini(struct replicator *replicator);

#endif
