/* Gathers one page of a look from all nodes, at the node that asks: the nodes to ask, their answers, and
 * the parts that are missing.
 *
 * A look without an order *walks*: nodes come by their UID, and the page ends where it is full. Its
 * cursor names that node, and where its next part begins. A kind with short answers asks several
 * nodes ahead; their parts wait for their turn. An *ordered* look asks all nodes, keeps the best rows,
 * and has one page.
 *
 * A gather ends exactly once, at its deadline at the latest. It keeps one page, and one part of each
 * node that is asked ahead.
 *
 * Order of use: gather_new, gather_add for each member, gather_begin. After each call take all of
 * gather_next_ask; then gather_is_done, or gather_tick at gather_deadline. */
#ifndef SHERD_LOOK_GATHER_H
#define SHERD_LOOK_GATHER_H

#include "base/address.h"
#include "base/vec.h"
#include "look/row.h"
#include "look/wire.h"

/* The member is asked, unless another state says why not. */
#define LOOK_ASKED SHERD_LOOK_STATE_COUNT

struct gather_options {
    enum sherd_look_kind kind;
    struct slice type, shard, entity; /* copied; empty: all */
    struct slice cursor; /* of sherd_look_page; copied */
    uint32_t order;      /* a column, or LOOK_NO_ORDER */
    uint32_t count;      /* rows, 1 to SHERD_LOOK_ROWS_MAX */
    uint64_t since_ms;
    uint64_t deadline;
};

struct gather;

/* Null: the cursor is none of ours. */
struct gather *gather_new(const struct gather_options *options);
void gather_free(struct gather *gather);
/* Adds a member, before gather_begin; LOOK_ASKED, or why it is not asked. */
void gather_add(struct gather *gather, const struct node_id *node, enum sherd_look_state state);
void gather_begin(struct gather *gather, uint64_t now);

/* Returns the next node to ask now, and the request without its texts' owner: all is lent until the
 * next call. id: for the request; no other request of this node has it. False: nobody. */
bool gather_next_ask(struct gather *gather, uint64_t now, uint64_t id, struct node_id *node,
                     struct look_request *request);
/* Takes an answer, lent. False: it is for another look, or late. */
bool gather_reply(struct gather *gather, uint64_t now, const struct node_id *from,
                  const struct look_reply *reply);
/* The node of that request cannot be asked yet: it is next after a pause. */
void gather_later(struct gather *gather, uint64_t now, uint64_t id);
/* The node's answer could not be read, or the node cannot be asked. */
void gather_failed(struct gather *gather, uint64_t now, uint64_t uid, enum sherd_look_state state);
/* The member was removed. */
void gather_gone(struct gather *gather, uint64_t now, uint64_t uid);
void gather_tick(struct gather *gather, uint64_t now);
uint64_t gather_deadline(const struct gather *gather); /* NEVER when done */
bool gather_is_done(const struct gather *gather);
/* Bytes of rows and parts that it holds. */
size_t gather_bytes(const struct gather *gather);
uint32_t gather_asked(const struct gather *gather); /* requests without an answer yet */

/* Describes the page of a gather that is done. Valid until gather_free. */
void gather_page(struct gather *gather, struct sherd_look_page *page);

#endif
