/* Reads and changes distributed data: values under keys. Every member has a
 * replica; replicas converge.
 *
 * Calls take a ctx, are made in receive, and return at once; answers and
 * changes come as messages of the kind SHERD_DATA. Parameters are copied. Texts
 * of an answer are lent as long as its message; a value is the caller's, to be
 * freed by sherd_value_free.
 * Guide, with the rules of durable and expiring keys:
 * docs/guide/replicated-data.md. Programs: examples/flags.c,
 * examples/sessions.c. */
#ifndef SHERD_DDATA_H
#define SHERD_DDATA_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example:
 *
 *   struct sherd_change on = { .verb = SHERD_ADD, .item = sherd_text("dark") };
 *   struct sherd_consistency majority = { SHERD_MAJORITY, 0, 3000 };
 *
 *   sherd_data_update(ctx, "flags", SHERD_OR_SET, &on, 1, &majority, TAG);
 *   ...
 *   case SHERD_DATA:
 *       if (msg->msg == SHERD_DATA_CHANGED) {
 *           value = sherd_data_value(msg);
 *           if (value)
 *               printf("dark: %d\n", sherd_value_has(value, &on.item));
 *           sherd_value_free(value);
 *       }
 */

/* ---- values and changes ---- */

#define SHERD_DATA_KEY_MAX 255 /* bytes of a key, which is UTF-8 */

/* The type of a value decides what becomes of changes that several members make
 * at the same time. */
enum sherd_data_type {
    /* Off. Once it is on, it stays on. */
    SHERD_FLAG = 1,
    /* A count that grows. All additions count. */
    SHERD_G_COUNTER,
    /* A count that grows and shrinks. All changes count. */
    SHERD_PN_COUNTER,
    /* A set that grows. All additions count. */
    SHERD_G_SET,
    /* A set. An addition wins over a removal. Some minutes after a member was
     * removed, another member takes over its additions: that is an addition. */
    SHERD_OR_SET,
    /* One item. The later write wins, by the members' wall clocks; the other
     * one is lost. */
    SHERD_LWW_REGISTER,
    /* From items to items. Each value is as an LWW_REGISTER, the keys are as an
     * OR_SET. */
    SHERD_LWW_MAP,
    /* From items to counts, each as a PN_COUNTER. */
    SHERD_PN_COUNTER_MAP,
    /* From items to sets, each as an OR_SET. */
    SHERD_OR_MULTIMAP,
    /* The same, but an addition to a large set is sent alone. JVM nodes see
     * another type, too. */
    SHERD_OR_MULTIMAP_DELTAS,
    /* From items to values of any type from FLAG to LWW_REGISTER. */
    SHERD_OR_MAP,
    /* Never in an update: a JVM program's own type, as bytes, or a value of it
     * in an OR_MAP. Only JVM members can merge it, so a key may have several
     * values side by side: sherd_data_next_value, sherd_value_custom. An OR_MAP
     * with such a value is merged by JVM members, too, as a whole. */
    SHERD_CUSTOM
};

/* The kind of an item. Items of different kinds differ.
 *
 * One exception: to the JVM, an INT and a LONG of the same number are the same
 * item or key. A change that names one of them where the
 * other one is gets SHERD_DATA_MISMATCH. If two members add both at the same
 * time, both are there, and only one on JVM nodes. Use one kind for all numbers
 * of a key. */
enum sherd_item_kind {
    /* UTF-8 without a zero byte; the JVM's String. */
    SHERD_ITEM_TEXT = 1,
    /* 32 bits; the JVM's Int. */
    SHERD_ITEM_INT,
    /* 64 bits; the JVM's Long. */
    SHERD_ITEM_LONG,
    /* The JVM's Array[Byte]. Not for sets and keys of maps: the JVM compares
     * arrays by address. */
    SHERD_ITEM_BYTES,
    /* Bytes of another serializer, in a value from a JVM. Never in a change. As
     * a key it finds the value that a map has for it. */
    SHERD_ITEM_OTHER
};

/* An item of a set, a key or value of a map, the value of a register. */
struct sherd_item {
    enum sherd_item_kind kind; /* which of the fields is set */
    int64_t number;            /* of INT and LONG */
    struct sherd_bytes text;   /* of TEXT, BYTES and OTHER; lent */
    /* OTHER: the JVM's serializer; 0: text is the path of an actor. */
    int32_t serializer;
    struct sherd_bytes manifest; /* OTHER: of the serializer; lent */
};

/* Return an item of a text, which is lent as long as the item is used, and of a
 * number.
 * Threads: any. */
SHERD_API struct sherd_item sherd_text(const char *text);
SHERD_API struct sherd_item sherd_long(int64_t number);

/* The effect of a change, and the types that have it. */
enum sherd_verb {
    SHERD_SWITCH_ON = 1, /* FLAG */
    SHERD_COUNT,         /* counters: amount; PN_COUNTER_MAP: that of item */
    SHERD_ADD,           /* sets: item; OR_MULTIMAP: value to item's set */
    SHERD_REMOVE,        /* OR_SET and maps: item */
    SHERD_REMOVE_VALUE,  /* OR_MULTIMAP: value from item's set */
    SHERD_CLEAR,         /* OR_SET: every item */
    SHERD_PUT            /* LWW_REGISTER: value; LWW_MAP: value for item */
};

/* One change of a value. */
struct sherd_change {
    enum sherd_verb verb;    /* the effect */
    struct sherd_item item;  /* the item, or the key in a map */
    struct sherd_item value; /* of PUT; in multimaps of ADD, REMOVE_VALUE */
    int64_t amount;          /* of COUNT; not below 0 for a G_COUNTER */
    /* Only for an OR_MAP. Zero: REMOVE takes the key `item` away. Else the
     * change is one of the value at `item`, and `value` is the item in it. A
     * new value begins as the empty value of this type. */
    enum sherd_data_type inside;
};

/* ---- calls ---- */

/* How many members must have a write, or be read. This member is one of them.
 * Members count that are up or later in their life, also unreachable ones, but
 * not those that are only weakly up. */
enum sherd_level {
    /* This member. Others get a write within a fraction of a second if the
     * network allows, else by gossip. */
    SHERD_LOCAL,
    /* As many as `members`, at least 2. */
    SHERD_MEMBERS,
    /* More than half; at least `members`, if there are so many. */
    SHERD_MAJORITY,
    /* `members` more than a majority. Exiting members do not count. */
    SHERD_MAJORITY_PLUS,
    /* All. Exiting members do not count. */
    SHERD_ALL
};

/* How consistent a call is. A majority read sees every majority write that was
 * answered before it, as long as the members stay. */
struct sherd_consistency {
    enum sherd_level level; /* how many members */
    uint32_t members;       /* see the levels */
    uint64_t timeout_ms;    /* 1 to 3,600,000; LOCAL has none */
};

/* Each call is answered by exactly one SHERD_DATA message with its tag and an
 * enum sherd_data_message as msg, unless this incarnation ends before.
 *
 * key: a text, 1 to SHERD_DATA_KEY_MAX bytes. consistency: null is LOCAL.
 * tag: the actor chooses it. A wrong key, level, time or number of changes is
 * answered SHERD_DATA_REFUSED. */

/* Reads a key. */
SHERD_API void sherd_data_get(struct sherd_ctx *ctx, const char *key,
                              const struct sherd_consistency *consistency,
                              uint32_t tag);

/* Changes a key. If it is not there, it begins as the type's empty value. If it
 * expired some minutes ago, it may begin with what this member had in it. No
 * other change comes between those of one update; other changes may come
 * between a get and an update.
 *
 * changes: made in order. count: 1 to 1,000, and all items and values together
 * at most SHERD_BODY_MAX bytes. */
SHERD_API void sherd_data_update(struct sherd_ctx *ctx, const char *key,
                                 enum sherd_data_type type,
                                 const struct sherd_change *changes,
                                 uint32_t count,
                                 const struct sherd_consistency *consistency,
                                 uint32_t tag);

/* Subscribes this incarnation to a key. It gets SHERD_DATA_CHANGED with this
 * tag for the present value, if there is one, and for each change. Changes
 * within half a second come as one. An actor whose mailbox was full gets the
 * value when there is room. A second call replaces the tag.
 * Subscribing to a key does not count as using it (SHERD_DATA_EXPIRED).
 *
 * Result: 0; SHERD_EINVAL: a wrong key, or one with a star at its end;
 * SHERD_EFULL.
 * If the node has too many subscriptions or no replicas, SHERD_DATA_REFUSED
 * comes with the tag; the actor may subscribe again.
 * Limits: 4,096 subscriptions on a lane. */
SHERD_API SHERD_MUST_USE int
sherd_data_subscribe(struct sherd_ctx *ctx, const char *key, uint32_t tag);

/* Ends a subscription. */
SHERD_API void sherd_data_unsubscribe(struct sherd_ctx *ctx, const char *key);

/* Deletes a key permanently: it can never be used again, and its name is kept.
 * For a key that is used again, empty the value instead. */
SHERD_API void sherd_data_delete(struct sherd_ctx *ctx, const char *key,
                                 const struct sherd_consistency *consistency,
                                 uint32_t tag);

/* Asks for the keys that this member has a value for; other members may have
 * more. An answer has at most 1,000, in the order in which this process first
 * saw them. A key that is there all the time comes exactly once.
 *
 * from: 0 at first; then what sherd_data_more_keys says. */
SHERD_API void sherd_data_keys(struct sherd_ctx *ctx, uint32_t from,
                               uint32_t tag);

/* Releases a damaged key (SHERD_DATA_HELD): serves what this member's disk
 * still has, merged with what other members have sent. If there is nothing, the
 * key is not there. An operator calls it if that value is good, or if the other
 * members will not come back.
 *
 * Answered SHERD_DATA_UPDATED when it is on the disk, also if the key was not
 * held; SHERD_DATA_NOT_STORED and _REFUSED as for a write. */
SHERD_API void sherd_data_release(struct sherd_ctx *ctx, const char *key,
                                  uint32_t tag);

/* ---- answers ---- */

/* The `msg` of a SHERD_DATA message. */
enum sherd_data_message {
    /* A get found a value: sherd_data_value. */
    SHERD_DATA_FOUND = 1,
    /* A get found no value. */
    SHERD_DATA_NOT_FOUND,
    /* An update, delete or release was made: as many members have it as the
     * level says, and a durable key is on this member's disk. */
    SHERD_DATA_UPDATED,
    /* A call found the key permanently deleted, or deleted it. A subscriber
     * gets it when the key is deleted. */
    SHERD_DATA_DELETED,
    /* Too few members, or not this member's disk, answered in time. A write
     * is not undone: it is made here, and spreads. */
    SHERD_DATA_TIMEOUT,
    /* An update met a key of another type, perhaps a custom one, or a type
     * without such a change. Nothing was changed. */
    SHERD_DATA_MISMATCH,
    /* The disk of this member, or of too many others, did not take a write of
     * a durable key. It is made here, and spreads. */
    SHERD_DATA_NOT_STORED,
    /* A limit was reached, a parameter is wrong, the node has no replicas or
     * ends. Nothing was changed. A subscriber is not subscribed. */
    SHERD_DATA_REFUSED,
    /* A subscriber gets the new value: sherd_data_value. */
    SHERD_DATA_CHANGED,
    /* Keys for sherd_data_keys: sherd_data_next_key, sherd_data_more_keys. */
    SHERD_DATA_KEYS,
    /* A subscriber's key was not used for its time, and is forgotten. Its last
     * value may not have been told. */
    SHERD_DATA_EXPIRED,
    /* A get or update met a key that was damaged on this member's disk, and
     * waits for the other members' values. Nothing was changed. */
    SHERD_DATA_HELD,
    /* An update would make the value larger than
     * cluster.distributed-data.max-data-size. Nothing was changed. Changes that
     * make it smaller are made. */
    SHERD_DATA_TOO_LARGE
};

struct sherd_value;

/* Returns the value of a SHERD_DATA_FOUND or _CHANGED: a copy that the caller
 * frees with sherd_value_free. Null for other messages, and for a type that has
 * no name here.
 * Threads: any, while the message is valid. The same holds for the next
 * four. */
SHERD_API SHERD_MUST_USE struct sherd_value *
sherd_data_value(const struct sherd_msg *msg);

/* Returns the next value of such a message, which the caller frees. Only a key
 * with a value of SHERD_CUSTOM, perhaps in a map, has several: states of
 * different members that no JVM member has merged yet. The first is that of
 * sherd_data_value, and came last. Null: there is no further one.
 *
 * at: 0 for the first; the call moves it on. */
SHERD_API SHERD_MUST_USE struct sherd_value *
sherd_data_next_value(const struct sherd_msg *msg, uint32_t *at);

/* Returns the key that a SHERD_DATA message is about, lent. "" for
 * SHERD_DATA_KEYS, and for a message of another kind. */
SHERD_API const char *sherd_data_key(const struct sherd_msg *msg);

/* Returns the next key of a SHERD_DATA_KEYS, lent. Null: there is no further
 * key, or it is another message.
 *
 * at: 0 for the first; the call moves it on. */
SHERD_API const char *sherd_data_next_key(const struct sherd_msg *msg,
                                          uint32_t *at);

/* Returns `from` for the next sherd_data_keys. 0: these were the last keys, or
 * it is another message. An answer may have no key and yet not be the last. */
SHERD_API uint32_t sherd_data_more_keys(const struct sherd_msg *msg);

/* ---- reading a value ---- */

/* The following functions may be called on any thread, for one value on one
 * thread at a time. Items that they give are lent as long as the value. A value
 * of a type that a function does not name gives 0 or null. */

/* Frees a value. Null is fine. */
SHERD_API void sherd_value_free(struct sherd_value *value);

/* Returns the type of a value. */
SHERD_API enum sherd_data_type
sherd_value_type(const struct sherd_value *value);

/* FLAG: returns 1 if it is on, else 0. 0 for another type. */
SHERD_API int sherd_value_flag(const struct sherd_value *value);

/* Counters: returns the count. PN_COUNTER_MAP: returns the count of item, which
 * is null for the others. A count beyond the range of int64_t is cut to it.
 * 0 for another type, and if the item is not there. */
SHERD_API int64_t sherd_value_count(const struct sherd_value *value,
                                    const struct sherd_item *item);

/* Sets and maps: returns the number of items or keys. 0 for another type. */
SHERD_API uint32_t sherd_value_size(const struct sherd_value *value);

/* Sets and maps: returns 1 if the item or key is there, else 0. */
SHERD_API int sherd_value_has(const struct sherd_value *value,
                              const struct sherd_item *item);

/* LWW_REGISTER (key is null) and LWW_MAP: gets the item.
 * Result: 1; 0: it is not there. */
SHERD_API int sherd_value_get(const struct sherd_value *value,
                              const struct sherd_item *key,
                              struct sherd_item *item);

/* Sets and maps: gets the next item or key, in an order that is the same on all
 * members.
 *
 * at: 0 for the first; the call moves it on.
 * Result: 1; 0: there is no further one. */
SHERD_API int sherd_value_next(const struct sherd_value *value, uint32_t *at,
                               struct sherd_item *item);

/* OR_MULTIMAP: the same for the set of one key. */
SHERD_API int sherd_value_next_of(const struct sherd_value *value,
                                  const struct sherd_item *key, uint32_t *at,
                                  struct sherd_item *item);

/* CUSTOM: gets the value as an item of the kind OTHER: serializer, manifest and
 * bytes, as the JVM program wrote them.
 * Result: 1; 0: it is of another type. */
SHERD_API int sherd_value_custom(const struct sherd_value *value,
                                 struct sherd_item *item);

/* OR_MAP: returns the value of a key, a copy that the caller frees. Null: the
 * key is not there, or its type has no name here. */
SHERD_API SHERD_MUST_USE struct sherd_value *
sherd_value_inside(const struct sherd_value *value,
                   const struct sherd_item *key);

#ifdef __cplusplus
}
#endif

#endif
