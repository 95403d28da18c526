/* Connects a split brain resolver to a membership core, as node/control/downing.c does, for rounds.c. The
 * resolver gets the member's view, and its decisions are carried out. It has no roles, one data
 * center, and keep-majority with the default settings. */
#ifndef SHERD_BENCH_JUDGE_H
#define SHERD_BENCH_JUDGE_H

#include "artery/peers.h"
#include "base/outbox.h"
#include "base/vec.h"
#include "member/member.h"
#include "resolver/resolver.h"

struct judge {
    struct node_id self;
    struct resolver *resolver;
    struct peers peers; /* the members' addresses */
    VEC(struct kept_member) members;
    VEC(struct side_record) records;
};

/* The decision of a step. The nodes are lent until the next step. */
struct judgement {
    VEC(struct node_id) downed;
    bool is_unstable; /* whether down-all-when-unstable decided */
};

/* is_patient: whether down-all-when-unstable is off. */
void judge_open(struct judge *judge, const struct node_id *self,
                bool is_patient, uint64_t now);
void judge_close(struct judge *judge);
void judge_see(struct judge *judge, const struct member *member,
               uint64_t now); /* call it after the member's news */
/* Decides if a decision is due, and downs the nodes in the member, whose news the caller must then
 * read. Returns false if no node is downed. */
bool judge_step(struct judge *judge, struct member *member, uint64_t now,
                struct outbox *outbox, struct judgement *judgement);
uint64_t judge_deadline(const struct judge *judge,
                        const struct member *member);

#endif
