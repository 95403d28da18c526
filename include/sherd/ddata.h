/* Distributed data: values under keys that every member of the cluster has, changes and reads as its own, and that converge.
 *
 * A value has a type whose copies can always be merged (a conflict-free replicated data type): what two members change at the
 * same time is both there afterwards, by the rules of the type below. A change is made here at once, and spreads: by the
 * change itself within a fraction of a second, by comparing digests every two seconds. How many members must have it before
 * the answer comes is the call's choice.
 *
 * Bytes and protocol are Akka's: members of a JVM cluster have the same values (serializers 11 and 12, the replicator
 * "/system/ddataReplicator").
 *
 *   struct sherd_change on = { .verb = SHERD_ADD, .item = sherd_text("dark-mode") };
 *
 *   sherd_data_update(ctx, "flags", SHERD_OR_SET, &on, 1, &majority, TAG);
 *   ...
 *   case SHERD_DATA:
 *       if (msg->msg == SHERD_DATA_CHANGED && (value = sherd_data_value(msg))) {
 *           printf("dark mode: %d\n", sherd_value_has(value, &item));
 *           sherd_value_free(value);
 *       }
 *
 * What the levels promise. A write of W members and a read of R of N meet in at least one member when W + R > N: so a majority
 * read sees every majority write that was answered before, as long as the members stay. MAJORITY_PLUS and ALL do not ask members that leave (the
 * status exiting), nor count them: such a member may lack what ALL have, and does not see it with LOCAL or a few MEMBERS; a majority read sees
 * it as long as no more than half of the members leave at the same time. A node that no cluster has taken in yet knows
 * of nobody but itself: each level is LOCAL there but SHERD_MEMBERS, which wants others, and what it writes spreads when it is taken in, if it lives so long. Who wants more waits
 * until the node is up (sherd/cluster.h; examples/flags.c). LOCAL promises no more than that it will be everywhere some time. No level makes two changes one: between a read and a change somebody else may change.
 * A write that timed out is not undone: it is there, and spreads.
 *
 * Keys that `cluster.distributed-data.durable.keys` names ("flags", or "shard-*" for all that begin so; a star that is not the last sign is itself) are also kept on each
 * member's disk, below `durable.lmdb.dir`: a cluster of which all members were killed has them when they are back. A change of
 * one is done, at every level, when it is on the disk of the member that makes it, and counts as acknowledged by another when it is on
 * that one's; with `durable.lmdb.write-behind-interval` before that, so a crash loses what the interval held. The local answer of a durable key outlives the process; one of a majority outlives
 * any minority of disks. What a member had written to its own disk alone when it ended is not promised for longer than `pruning-interval` and `max-pruning-dissemination`
 * after its removal: then the others have taken over what they knew of it, and what else it had, its disk too, goes when it is back (so in the reference).
 * Keys that the setting does not name any more stay on the disk as they were, and are not loaded, which the log says. At the start all calls wait until the disk is read. A disk that takes nothing: SHERD_DATA_NOT_STORED, and
 * sherd_is_ready is 0.
 *
 * A durable key whose value was damaged on the disk is held, over restarts too; the others are served. What is left of it, an earlier value or
 * nothing, is kept, and shown to nobody as if it were all; the damaged files are set aside beside the new ones. Gets and updates of it
 * are answered SHERD_DATA_HELD. It is served again when half of all members, this one not among them, have sent what they have of it (of two the other
 * one, of three both, of five three), mostly within seconds, and what was kept is merged into that: then no write is missing that a majority has
 * acknowledged. Or when it is deleted; or when somebody who knows that what is left and what came is good, or that the others will not come, says so:
 * sherd_data_release. A change that another member makes does not end it, and this member does not acknowledge one meanwhile. One that expires
 * (below) is forgotten when its time is over.
 * Which keys there are is on the disk twice. Where damage took both, what is found of them is held, and of others nothing is left to hold: the log
 * says "keys may be missing", and they are as if never written until other members' values come.
 * A get of several members asks one more, where there are so many, and succeeds with what they have. Which keys are held: sherd_status (sherd_damaged_key).
 *
 * A value may have as many bytes as `cluster.distributed-data.max-data-size` says, packed as it is sent; by default, and at most, what a message has room
 * for; of sets and maps each member that has changed it counts for some 60 bytes. One that packs very well has a limit besides: some 8 MiB of text, or 32 MiB of what its
 * elements take in memory, so that all members can unpack it. That is asked of the update's own member: changes of several at the same time are merged whatever they add up to, as long as a message has
 * room for it. Beyond that they are not the same any more: leave room for it, or use several keys.
 *
 * Keys that `cluster.distributed-data.expire-keys-after-inactivity` names (`"session-*" = 10 minutes`) are forgotten when no member has read,
 * changed or deleted them for so long, by the members' clocks, on disks too: also those that were deleted. To follow a key is no use of it.
 * Set it on all members: one without it keeps the key, and gives it to the others again. A key that comes back begins empty; what a
 * member that could not be reached still has of it may come back with it. Members tell each other of its use by gossip, and one that did not
 * hear of it in time, behind a cut or with a time near the gossip's interval, forgets it while others use it. It has it again when their gossip
 * comes; until then a read that asks nobody else who has it does not find it. What it changes meanwhile is added to what the others have: for that
 * a member that had changed the key before keeps what it had in it, shown to nobody, until all members have been reachable for
 * `max-pruning-dissemination` (5 minutes) since, and nobody has told that he has the key. The price of that: who changes a key again within this time finds his
 * former value in it, though nobody has used it. Of a counter that is what this member has counted; of a set or map what it knew of it, also what
 * others have removed since; and the change has to be one for the type that it had. Members let go of it each at its own time; no count and no addition that was acknowledged since
 * is lost by that. Who needs a value that begins empty for certain uses a new key (examples/sessions.c).
 * A deletion that has expired is forgotten like anything else: who was cut off all the time and has used the value gives it back.
 * So expire only what may be lost or be back, and after a time that is long beside any partition. When a durable key was used is not on the disk: it counts as used when it
 * is read from there, so that an outage of all ends no key; and who alone was away longer than its time brings back what the others have forgotten, also what was deleted: remove its files first. That a removed member was pruned
 * from a key is forgotten with it; so of a durable counter that is brought back by one such member, and by another one later, what a removed member had counted may count twice.
 *
 * Behaviour 13; seed 001 (data), seed 003 (the sharding that stands on it). */
#ifndef SHERD_DDATA_H
#define SHERD_DDATA_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHERD_DATA_KEY_MAX 255 /* bytes of a key, which is UTF-8 */

/* Types. What happens to changes at the same time stands behind each. */
enum sherd_data_type {
    SHERD_FLAG = 1,      /* off; once on, on for ever */
    SHERD_G_COUNTER,     /* a count that grows; all additions count */
    SHERD_PN_COUNTER,    /* a count that goes both ways; all count */
    SHERD_G_SET,         /* a set that only grows */
    SHERD_OR_SET,        /* a set; an addition wins over a removal at the same time. Some minutes after a member was removed another one takes over what it had
                            added, which is an addition, too */
    SHERD_LWW_REGISTER,  /* one item; the later write wins, by the members' clocks; so one of two gets lost */
    SHERD_LWW_MAP,       /* items to items, each a LWW_REGISTER; keys as in OR_SET */
    SHERD_PN_COUNTER_MAP, /* items to counts */
    SHERD_OR_MULTIMAP,   /* items to sets of items, each an OR_SET */
    SHERD_OR_MULTIMAP_DELTAS, /* the same; what is added to a large set travels alone. Another type, also for the JVM */
    SHERD_OR_MAP         /* items to values of any of the types from FLAG to LWW_REGISTER */
};

/* An item of a set, a key or value of a map, the value of a register. Two of different kinds are different, but for an INT and a LONG of the same number,
 * which are one item of a set and one key of a map for the JVM: a change that names one where the other one is, is none (SHERD_DATA_MISMATCH). Two members that
 * put one each at the same time have both nevertheless, and members on JVMs only one: so use one kind for all numbers of a key. */
enum sherd_item_kind {
    SHERD_ITEM_TEXT = 1, /* UTF-8, without a zero byte: a change with another text is none. The JVM's String */
    SHERD_ITEM_INT,      /* 32 bit; the JVM's Int */
    SHERD_ITEM_LONG,     /* 64 bit; the JVM's Long */
    SHERD_ITEM_BYTES,    /* the JVM's Array[Byte]. Not as an item of a set or the key of a map: the JVM compares arrays by address */
    SHERD_ITEM_OTHER     /* of a value that came from a JVM: bytes of another serializer. Never in a change */
};
struct sherd_item {
    enum sherd_item_kind kind;
    int64_t number;          /* of INT and LONG */
    struct sherd_bytes text; /* of TEXT, BYTES and OTHER */
};
SHERD_API struct sherd_item sherd_text(const char *text); /* lent as long as the text */
SHERD_API struct sherd_item sherd_long(int64_t number);

/* What a change does, and to which types. Several changes of one update are made together, in order. */
enum sherd_verb {
    SHERD_SWITCH_ON = 1, /* FLAG */
    SHERD_COUNT,         /* counters: amount, not negative for G_COUNTER. PN_COUNTER_MAP: of item */
    SHERD_ADD,           /* sets: item. OR_MULTIMAP: value to the set of item */
    SHERD_REMOVE,        /* OR_SET, maps: item. */
    SHERD_REMOVE_VALUE,  /* OR_MULTIMAP: value from the set of item */
    SHERD_CLEAR,         /* OR_SET: all */
    SHERD_PUT            /* LWW_REGISTER: value. LWW_MAP: value for item */
};
/* Of an OR_MAP: REMOVE takes the key `item` away when `inside` is zero. Any other change is one of the value that item has, which
 * begins as the empty one of the type `inside`: verb and amount as for that type, `value` in the place of its item. */
struct sherd_change {
    enum sherd_verb verb;
    struct sherd_item item;
    struct sherd_item value;
    int64_t amount;
    enum sherd_data_type inside; /* of an OR_MAP; zero of all others */
};

/* How many members must have a write, or be asked by a read, this one among them. Members with the status up or later count, and not those that are only
 * weakly up; those that cannot be reached, too. */
enum sherd_level {
    SHERD_LOCAL,         /* this one */
    SHERD_MEMBERS,       /* `members`, at least 2 */
    SHERD_MAJORITY,      /* more than half, at least `members` if there are so many */
    SHERD_MAJORITY_PLUS, /* `members` more than half of those that are not exiting */
    SHERD_ALL            /* that are not exiting */
};
struct sherd_consistency {
    enum sherd_level level;
    uint32_t members;
    uint64_t timeout_ms; /* of all but LOCAL; 1 to 3,600,000 */
};

/* As `msg` of a SHERD_DATA message: the answers, exactly one for each call with a tag, and what subscribers hear. */
enum sherd_data_message {
    SHERD_DATA_FOUND = 1,  /* to a get; see sherd_data_value */
    SHERD_DATA_NOT_FOUND,  /* to a get */
    SHERD_DATA_UPDATED,    /* to an update, delete or release: as many members have it as were asked for; durable where the key is */
    SHERD_DATA_DELETED,    /* to all three: the key was deleted, which is for ever. To a subscriber: it was deleted now */
    SHERD_DATA_TIMEOUT,    /* too few members, or not this one's disk, answered in time; a write is made here, and spreads */
    SHERD_DATA_MISMATCH,   /* to an update: the key has another type, or the change is none for it; nothing was changed */
    SHERD_DATA_NOT_STORED, /* to a write of a durable key: this member's disk did not take it, or those of too many others; it is made
                              here, and spreads */
    SHERD_DATA_REFUSED,    /* at a limit in number, or in bytes of all keys, the node has no replicas, or it ends; nothing was changed. To a
                              subscriber: it is none */
    SHERD_DATA_CHANGED,    /* to a subscriber: see sherd_data_value */
    SHERD_DATA_KEYS,       /* to sherd_data_keys: see sherd_data_next_key */
    SHERD_DATA_EXPIRED,    /* to a subscriber: nobody used the key, and it is forgotten (see above); its last value may not have been told */
    SHERD_DATA_HELD,       /* to a get or update: the key was damaged on this member's disk (see above); nothing was changed */
    SHERD_DATA_TOO_LARGE   /* to an update: the value would have more bytes than `cluster.distributed-data.max-data-size` says; nothing was
                              changed. Changes that make it smaller are made */
};

/* Reads a key. consistency: copied; null is LOCAL. The answer's tag is the call's. key: a text with a zero byte, copied. All
 * calls: an incarnation that has ended hears no answer. */
SHERD_API void sherd_data_get(struct sherd_ctx *ctx, const char *key,
                              const struct sherd_consistency *consistency,
                              uint32_t tag);
/* Changes a key, which begins as the type's empty value when it is not there; one that expired some minutes ago, as what this member had in it
 * (see above). changes: copied, 1 to 1,000. */
SHERD_API void sherd_data_update(struct sherd_ctx *ctx, const char *key,
                                 enum sherd_data_type type,
                                 const struct sherd_change *changes,
                                 uint32_t count,
                                 const struct sherd_consistency *consistency,
                                 uint32_t tag);
/* Deletes a key for ever: it can never be used again, and its name is kept. For what comes and goes, empty the value instead. */
SHERD_API void sherd_data_delete(struct sherd_ctx *ctx, const char *key,
                                 const struct sherd_consistency *consistency,
                                 uint32_t tag);
/* What is left of a key that is held (see above), and what came of it, is its value from now on; if nothing is, the key is not there. SHERD_DATA_UPDATED when
 * that is on the disk, where nothing was left at once; also of a key that is not held. SHERD_DATA_NOT_STORED, _REFUSED as of a write. */
SHERD_API void sherd_data_release(struct sherd_ctx *ctx, const char *key,
                                  uint32_t tag);
/* Asks for the keys that this member has a value for: what it knows now, others may know more. At most 1,000 come at
 * once, in the order in which this process first heard of them: `from` is 0 at first, then what sherd_data_more_keys
 * says. A key that is there all the time comes exactly once. The answer's tag is the call's. */
SHERD_API void sherd_data_keys(struct sherd_ctx *ctx, uint32_t from,
                               uint32_t tag);
/* This incarnation hears SHERD_DATA_CHANGED, with the tag, of the value that the key has now, if it has one, and of its changes; those
 * within half a second are told as one. One whose mailbox was full is told how the key is when there is room. A second call replaces
 * the tag. SHERD_EINVAL: not a key, or one that
 * ends with a star; SHERD_EFULL: too many
 * subscriptions on this lane. Too many on this node, or a node without replicas: it hears SHERD_DATA_REFUSED with
 * the tag, and no more; it may subscribe again. */
SHERD_API SHERD_MUST_USE int sherd_data_subscribe(struct sherd_ctx *ctx,
                                                  const char *key,
                                                  uint32_t tag);
SHERD_API void sherd_data_unsubscribe(struct sherd_ctx *ctx, const char *key);

/* ---- values ---- */

struct sherd_value;

/* The value of a SHERD_DATA_FOUND or _CHANGED message, a copy that the caller frees; null of other messages, and when it is of a
 * type that this library does not know. */
SHERD_API SHERD_MUST_USE struct sherd_value *
sherd_data_value(const struct sherd_msg *msg);
/* The key of a SHERD_DATA message, lent as long as the message. Of SHERD_DATA_KEYS an empty text. */
SHERD_API const char *sherd_data_key(const struct sherd_msg *msg);
/* The keys of a SHERD_DATA_KEYS message, one after the other; *at is 0 at first. Null: there is none left. Lent as
 * long as the message. */
SHERD_API const char *sherd_data_next_key(const struct sherd_msg *msg,
                                          uint32_t *at);
/* From where the next sherd_data_keys goes on; 0: these were the last. A message may have none, and yet there are more. */
SHERD_API uint32_t sherd_data_more_keys(const struct sherd_msg *msg);
SHERD_API void sherd_value_free(struct sherd_value *value); /* null is fine */
SHERD_API enum sherd_data_type sherd_value_type(const struct sherd_value *value);

SHERD_API int sherd_value_flag(const struct sherd_value *value); /* FLAG */
/* Counters, and with an item PN_COUNTER_MAP (null otherwise); at the ends of the type when it is beyond. */
SHERD_API int64_t sherd_value_count(const struct sherd_value *value,
                                    const struct sherd_item *item);
/* How many items the set, or keys the map, has. */
SHERD_API uint32_t sherd_value_size(const struct sherd_value *value);
SHERD_API int sherd_value_has(const struct sherd_value *value,
                              const struct sherd_item *item);
/* The register's item; or with a key that of LWW_MAP. 0: the key is not there. Lent as long as the value. */
SHERD_API int sherd_value_get(const struct sherd_value *value,
                              const struct sherd_item *key,
                              struct sherd_item *item);
/* What an OR_MAP has for a key, a copy that the caller frees; null: the key is not there, or its value is of a type that this
 * library's users have no name for. */
SHERD_API SHERD_MUST_USE struct sherd_value *
sherd_value_inside(const struct sherd_value *value,
                   const struct sherd_item *key);
/* The items of a set, or the keys of a map, one after the other, in an order that is the same everywhere. *at is 0 at first; 0
 * when there is none left. Lent as long as the value. */
SHERD_API int sherd_value_next(const struct sherd_value *value, uint32_t *at,
                               struct sherd_item *item);
/* The same for the set that an OR_MULTIMAP has for a key. */
SHERD_API int sherd_value_next_of(const struct sherd_value *value,
                                  const struct sherd_item *key, uint32_t *at,
                                  struct sherd_item *item);

#ifdef __cplusplus
}
#endif

#endif
