/* Feeds a split brain resolver and carries out its decisions, as node/control/downing.c does, but without a
 * lease. */
#include "judge.h"

#include "base/timers.h"

#define STABLE (20 * SECOND) /* stable-after */
#define UNSTABLE (15 * SECOND) /* down-all-when-unstable: three quarters of stable-after */

void judge_open(struct judge *judge, const struct node_id *self,
                bool is_patient, uint64_t now)
{
    const struct resolver_settings settings = {
        .strategy = { .kind = STRATEGY_KEEP_MAJORITY },
        .stable_after = STABLE,
        .unstable_after = is_patient ? 0 : UNSTABLE,
    };

    *judge = (struct judge){ .self = *self };
    peers_init(&judge->peers, &(struct peers_options){ .user = NULL });
    judge->resolver = resolver_new(self, &settings, NULL, now);
}

void judge_close(struct judge *judge)
{
    resolver_free(judge->resolver);
    peers_fini(&judge->peers);
    vec_fini(&judge->members);
    vec_fini(&judge->records);
    *judge = (struct judge){ .resolver = NULL };
}

static void put_members(struct judge *judge, const struct member *member)
{
    judge->members.count = 0;
    for (uint32_t i = 0; i < member_count(member); i++) {
        const struct member_view *view = member_at(member, i);
        const struct kept_member put = {
            .uid = view->profile->uid,
            .address = peers_lasting(&judge->peers,
                                     &PROFILE_NODE(view->profile)->address),
            .up_number = view->up_number,
            .status = (uint8_t)view->status,
            .has_role = true,
            .reachable = profile_is(view->profile, &judge->self) ||
                         (view->reachable && view->status != MEMBER_DOWN),
            .seen = view->seen,
        };

        vec_push(&judge->members, put);
    }
}

void judge_see(struct judge *judge, const struct member *member, uint64_t now)
{
    struct resolver_view view = { .is_leader = member_is_leader(member) };
    struct member_walk walk = { 0, 0 };
    struct member_observation observation;

    if (!member_is_in(member))
        return;
    put_members(judge, member);
    judge->records.count = 0;
    while (member_next_observation(member, &walk, &observation))
        vec_push(&judge->records, ((struct side_record){ observation.observer,
                                                         observation.subject }));
    view.side = (struct side){
        .members = judge->members.items,
        .member_count = judge->members.count,
        .records = judge->records.items,
        .record_count = judge->records.count,
    };
    resolver_see(judge->resolver, now, &view);
}

bool judge_step(struct judge *judge, struct member *member, uint64_t now,
                struct outbox *outbox, struct judgement *judgement)
{
    struct resolver_news news;

    judgement->downed.count = 0;
    judgement->is_unstable = false;
    if (judge_deadline(judge, member) > now)
        return false;
    judge_see(judge, member, now);
    resolver_step(judge->resolver, now);
    while (resolver_next_news(judge->resolver, &news)) {
        judgement->is_unstable |= news.kind == RESOLVER_NEWS_UNSTABLE;
        if (news.kind == RESOLVER_NEWS_DOWN)
            vec_push(&judgement->downed, news.node);
    }
    if (!judgement->downed.count)
        return false;
    (void)member_down_decided(member, now, judgement->downed.items,
                              judgement->downed.count, outbox);
    return true;
}

uint64_t judge_deadline(const struct judge *judge, const struct member *member)
{
    return member_is_in(member) ? resolver_deadline(judge->resolver) : NEVER;
}
