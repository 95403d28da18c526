/* A split brain resolver beside a member, as node/downing.c wires them: what the member sees goes in, whom to down comes out and is done.
 * For rounds.c: no roles, one data center, keep-majority with the reference's settings. */
#ifndef SHERD_BENCH_JUDGE_H
#define SHERD_BENCH_JUDGE_H

#include "base/outbox.h"
#include "base/vec.h"
#include "member/member.h"
#include "resolver/resolver.h"

struct judge {
    struct node_id self;
    struct resolver *resolver;
    VEC(struct side_member) members;
    VEC(struct side_record) records;
};

/* What a step decided; nodes are lent until the next step. */
struct judgement {
    VEC(struct node_id) downed;
    bool is_unstable; /* down-all-when-unstable did it */
};

/* is_patient: down-all-when-unstable is off. */
void judge_open(struct judge *judge, const struct node_id *self,
                bool is_patient, uint64_t now);
void judge_close(struct judge *judge);
void judge_see(struct judge *judge, const struct member *member,
               uint64_t now); /* after its news */
/* Does what is due, to the member too: its news are to be taken afterwards. False: nobody is downed. */
bool judge_step(struct judge *judge, struct member *member, uint64_t now,
                struct outbox *outbox, struct judgement *judgement);
uint64_t judge_deadline(const struct judge *judge,
                        const struct member *member);

#endif
