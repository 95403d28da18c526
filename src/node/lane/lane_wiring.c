/* Connects a lane's cores: each event of one with the function of another. Read it with
 * wiring.c. */
#include "node/lane/lane.h"

#include "base/check.h"
#include "base/mark.h"
#include "shard/shard_id.h"

static void report(struct lane *lane, struct mail_content content)
{
    content = mail_from(lane->own, content);
    outputs_post(&lane->machine->outputs, 0, &content);
}

/* ---- owned shards ---- */

static void claim(struct lane *lane, uint32_t type,
                  const struct owned_news *news)
{
    const struct type_names *names = &lane->machine->node->names[type];
    struct slice name = slice_text(names->name);
    char text[SHARD_TEXT_MAX];
    struct slice shard = shard_name(names->rule.names, news->shard, text);

    if (!names->persists && names->remembers_in_data) { /* nothing of it is in the journal */
        if (owned_state(&lane->types[type].owned, news->shard) ==
            OWNED_CLAIMING)
            lane_remember_claimed(lane, type, news->shard, news->fence);
        return;
    }
    if (fence_is_none(news->fence))
        journal_claim_next(lane->journal, name, shard);
    else
        journal_claim(lane->journal, name, shard, news->fence,
                      lane->types[type].proof);
}

static void started(struct lane *lane, uint32_t type,
                    const struct owned_news *news)
{
    struct lane_type *of = &lane->types[type];
    struct message *message;

    actors_shard_start(lane->actors, (uint16_t)type, news->shard);
    if (lane->machine->node->names[type].remembers)
        remember_run(&of->remember, lane->machine->now, news->shard);
    while ((message = lane_unwrap(lane, owned_take(&of->owned,
                                                    news->shard))))
        lane_arrived(lane, message);
    lane_batch_end(lane);
    report(lane, mail_for_shard(type, news->shard,
                                MAIL(started, .fence = news->fence)));
}

static void stopped(struct lane *lane, uint32_t type,
                    const struct owned_news *news, bool ok)
{
    char text[SHARD_TEXT_MAX];

    if (ok) {
        lane_remember_end(lane, type, news->shard);
        journal_release(lane->journal,
                        slice_text(lane->machine->node->names[type].name),
                        shard_name(lane_shard_names(lane, type), news->shard, text));
        place_stopped(&lane->types[type].routes, &lane->types[type].owned,
                      news->shard);
    }
    report(lane, mail_for_shard(type, news->shard,
                                MAIL(stopped, .attempt = news->attempt,
                                     .reason = news->reason,
                                     .is_stopped = ok)));
}

static void put_held(struct lane *lane, struct pending_queue *queue,
                     struct message *message)
{
    struct pending_item *held = lane_wrap(message);
    struct pending_queue alone = { held, held, 1 };

    message->returned = 0;
    held->since = lane->machine->now;
    held->next = NULL;
    pending_append(queue, &alone);
}

static void refuse_held(struct lane *lane, struct pending_queue *queue)
{
    for (struct pending_item *held = queue->first; held;) {
        struct pending_item *next = held->next;

        REACHED("a message that returns from a mailbox finds the buffer full");

        actors_undelivered(lane->actors, lane_unwrap(lane, held),
                           SHERD_REASON_BUFFER_FULL);
        held = next;
    }
}

/* Ends all entities at once, and takes the messages of their mailboxes. */
static void take_mailboxes(struct lane *lane, uint32_t type, int32_t shard,
                           void (*end)(struct actors *, uint16_t, int32_t),
                           struct pending_queue *mailboxes)
{
    struct message *message;

    lane_drain(lane);
    end(lane->actors, (uint16_t)type, shard);
    while ((message = actors_take_out(lane->actors))) {
        if (!message_to_entity(message) || message->type != type ||
            message->entity.shard != shard)
            lane_send(lane, message);
        else
            put_held(lane, mailboxes, message);
    }
}

/* The shard keeps its home, so all messages wait for its next start here. */
static void lease_lost(struct lane *lane, uint32_t type, const struct owned_news *news)
{
    struct lane_type *of = &lane->types[type];
    struct pending_queue mailboxes = { 0 };
    char text[SHARD_TEXT_MAX];

    take_mailboxes(lane, type, news->shard, actors_shard_unleased, &mailboxes);
    place_returned(&of->routes, &of->owned, lane->machine->now, news->shard, &mailboxes);
    refuse_held(lane, &mailboxes);
    lane_remember_end(lane, type, news->shard);
    journal_release(lane->journal, slice_text(lane->machine->node->names[type].name),
                    shard_name(lane_shard_names(lane, type), news->shard, text));
    owned_entities_stopped(&of->owned, lane->machine->now, news->shard);
}

/* Another owner exists: effects may not leave any more, and waiting messages go to the new
 * owner. */
static void fenced(struct lane *lane, uint32_t type,
                   const struct owned_news *news)
{
    struct lane_type *of = &lane->types[type];
    struct pending_queue mailboxes = { 0 };
    char text[SHARD_TEXT_MAX];

    trace_put(lane->machine->trace, TRACE_ERROR, "shard",
              "shard fenced, its entities stop: another node owns it, or will "
              "at once type=%s shard=%s "
              "hint=\"check whether this process was suspended or cut off\"",
              lane->machine->node->names[type].name,
              shard_label(lane_shard_names(lane, type), news->shard, text));
    take_mailboxes(lane, type, news->shard, actors_shard_fenced, &mailboxes);
    place_fenced(&of->routes, &of->owned, lane->machine->now, news->shard,
                 &mailboxes);
    refuse_held(lane, &mailboxes);
    lane_remember_end(lane, type, news->shard);
    journal_release(lane->journal,
                    slice_text(lane->machine->node->names[type].name),
                    shard_name(lane_shard_names(lane, type), news->shard, text));
    report(lane, mail_for_shard(type, news->shard,
                                MAIL(fenced, .fence = news->fence,
                                     .stored_term = of->stored_term)));
    owned_entities_stopped(&of->owned, lane->machine->now, news->shard);
}

bool lane_wire_owned(struct lane *lane, uint32_t type)
{
    struct lane_type *of = &lane->types[type];
    uint64_t now = lane->machine->now;
    struct owned_news news;
    bool any = false;

    while (owned_next_news(&of->owned, &news)) {
        any = true;
        switch (news.kind) {
        case OWNED_LEASE:
        case OWNED_RELEASE:
            lane_lease_ask(lane, type, &news);
            break;
        case OWNED_LEASE_LOST:
            lease_lost(lane, type, &news);
            break;
        case OWNED_CLAIM:
            claim(lane, type, &news);
            break;
        case OWNED_STARTED:
            started(lane, type, &news);
            break;
        case OWNED_STOP_ENTITIES:
            lane_batch_end(lane);
            if (lane->machine->node->names[type].remembers)
                remember_halt(&of->remember, news.shard);
            actors_shard_stop(lane->actors, (uint16_t)type, news.shard, NEVER);
            break;
        case OWNED_KILL_ENTITIES:
            actors_shard_stop(lane->actors, (uint16_t)type, news.shard, now);
            break;
        case OWNED_STOPPED:
            stopped(lane, type, &news, true);
            break;
        case OWNED_DRAIN_FAILED:
            stopped(lane, type, &news, false);
            break;
        case OWNED_FENCED:
            fenced(lane, type, &news);
            break;
        }
        lane_open(lane, type, news.shard);
    }
    return any;
}

/* ---- routes ---- */

static bool wire_routes(struct lane *lane, uint32_t type)
{
    struct routes_news news;
    bool any = false;

    while (routes_next_news(&lane->types[type].routes, &news)) {
        any = true;
        if (news.kind == ROUTES_FLUSH)
            lane_flush(lane, type, news.shard);
        else
            report(lane, mail_for_shard(
                             type, news.shard,
                             MAIL(request_home,
                                  .is_suspect = news.kind == ROUTES_DOUBT_HOME)));
    }
    return any;
}

/* ---- journal ---- */

static int find_type(const struct lane *lane, struct slice name)
{
    for (uint32_t i = 0; i < lane->type_count; i++)
        if (slice_is(name, lane->machine->node->names[i].name))
            return (int)i;
    return -1;
}

static void claim_answered(struct lane *lane, const struct journal_news *news)
{
    int type = find_type(lane, news->type);
    int32_t shard = 0;
    struct owned_shards *owned;
    struct fence own;

    check(type >= 0 && shard_number(lane_shard_names(lane, (uint32_t)type),
                                    news->shard, &shard));
    if (lane_orphan_shard_claimed(lane, (uint32_t)type, shard, news))
        return;
    owned = &lane->types[type].owned;
    own = owned_fence(owned, shard);
    if (news->kind == JOURNAL_OTHER_STORE)
        report(lane, mail_for_type((uint32_t)type, mail_other_store_new()));
    if (news->kind == JOURNAL_SHARD_FENCED &&
        news->fence.term > lane->types[type].stored_term)
        lane->types[type].stored_term = news->fence.term;
    if (news->kind == JOURNAL_CLAIMED &&
        lane->machine->node->names[type].remembers &&
        owned_state(owned, shard) == OWNED_CLAIMING)
        lane_remember_claimed(lane, (uint32_t)type, shard, news->fence);
    else if (news->kind == JOURNAL_CLAIMED)
        owned_claimed(owned, lane->machine->now, shard,
                       news->fence.term ? news->fence : (struct fence){ 0 },
                       news->fence, CLAIM_OK);
    else if (owned_state(owned, shard) == OWNED_CLAIMING)
        owned_claimed(owned, lane->machine->now, shard, own, news->fence,
                       CLAIM_STALE);
    else
        owned_fenced(owned, lane->machine->now, shard, own);
}

static void entity_failed(struct lane *lane, const struct journal_news *news)
{
    switch (news->reason) {
    case JOURNAL_DAMAGED:
    case JOURNAL_UNREADABLE:
        actors_recovery_failed(lane->actors, news->handle, news->text);
        break;
    case JOURNAL_FENCED:
        actors_store_failed(lane->actors, news->handle, SHERD_REASON_FENCED);
        break;
    default:
        actors_store_failed(lane->actors, news->handle,
                            SHERD_REASON_NOT_STORED);
    }
}

static void snapshot_found(struct lane *lane, const struct journal_news *news)
{
    const char *why = actors_replay_snapshot(lane->actors, news->handle, news->seq,
                                             news->event.version, news->part,
                                             news->event.payload);

    if (why)
        journal_reject_snapshot(lane->journal, news->handle, why);
}

static bool wire_journal(struct lane *lane)
{
    struct journal_news news;
    bool any = false;

    while (journal_next_news(lane->journal, &news)) {
        any = true;
        if (news.handle && lane_is_stream(news.handle)) {
            lane_stream_news(lane, &news);
            continue;
        }
        switch (news.kind) {
        case JOURNAL_DURABLE:
            lane_remember_durable(lane, news.position);
            actors_durable(lane->actors, news.position);
            break;
        case JOURNAL_FAILED:
            entity_failed(lane, &news);
            break;
        case JOURNAL_CLAIMED:
        case JOURNAL_SHARD_FENCED:
        case JOURNAL_OTHER_STORE:
            claim_answered(lane, &news);
            break;
        case JOURNAL_EVENT:
            if (!actors_replay_event(lane->actors, news.handle, news.seq, news.event))
                journal_reject(lane->journal, news.handle);
            break;
        case JOURNAL_RECOVERED:
            actors_recovered(lane->actors, news.handle, news.seq);
            break;
        case JOURNAL_SNAPSHOT:
            snapshot_found(lane, &news);
            break;
        case JOURNAL_SAVED:
            actors_snapshot_saved(lane->actors, news.handle, news.seq);
            break;
        }
    }
    return any;
}

/* ---- actors ---- */

static void follow_key(struct lane *lane, const struct actors_news *news,
                       enum follow follow)
{
    struct buf *key = mem_alloc(sizeof *key);

    buf_put_slice(key, news->key);
    report(lane, MAIL(data_follow, .actor = news->actor,
                      .tag = news->values.follow.tag, .follow = follow,
                      .own = { key }));
}

static void request_replay(struct lane *lane, const struct actors_news *news)
{
    const struct actors_news_shard *shard = &news->values.shard;
    struct slice type = slice_text(lane->machine->node->names[shard->type].name);
    char text[SHARD_TEXT_MAX];
    struct slice name =
        shard_name(lane_shard_names(lane, shard->type), shard->number, text);

    if (shard->has_snapshots)
        journal_recover(lane->journal, news->actor, type, name, news->id);
    else
        journal_replay(lane->journal, news->actor, type, name, news->id);
}

static bool wire_actors(struct lane *lane)
{
    struct actors_news news;
    bool any = false;

    while (actors_next_news(lane->actors, &news)) {
        const struct actors_news_shard *shard = &news.values.shard;

        any = true;
        switch (news.kind) {
        case ACTORS_REQUEST_REPLAY:
            request_replay(lane, &news);
            break;
        case ACTORS_FORGET:
            journal_forget(lane->journal, news.actor);
            break;
        case ACTORS_REQUEST_CLUSTER:
            report(lane, mail_follow_new());
            break;
        case ACTORS_FOLLOW_KEY:
            follow_key(lane, &news,
                       news.values.follow.is_first ? FOLLOW_FIRST : FOLLOW_TOO);
            break;
        case ACTORS_UNFOLLOW_KEY:
            follow_key(lane, &news, FOLLOW_NO_MORE);
            break;
        case ACTORS_TASK:
            lane_task(lane, news.actor, news.values.phase, news.name);
            break;
        case ACTORS_TASK_DONE:
            lane_task_done(lane, news.actor, news.values.phase);
            break;
        case ACTORS_REMEMBER:
            remember_start(&lane->types[shard->type].remember,
                           lane->machine->now, shard->number, news.id,
                           news.actor);
            break;
        case ACTORS_FORGET_STORED:
            remember_stop(&lane->types[shard->type].remember,
                          lane->machine->now, shard->number, news.id,
                          news.actor);
            break;
        case ACTORS_NAME:
            lane_name(lane, &news);
            break;
        case ACTORS_NAME_END:
            lane_name_end(lane, news.actor);
            break;
        case ACTORS_SHARD_EMPTY:
            owned_entities_stopped(&lane->types[shard->type].owned,
                                    lane->machine->now, shard->number);
            break;
        }
    }
    return any;
}

_Static_assert(EVENT_REFUSED == POSITION_NEVER,
               "actors wait for the journal's positions");

uint64_t lane_append(void *user, uint64_t actor, struct entity_event event)
{
    const struct lane *lane = user;

    return journal_append(lane->journal, actor, event);
}

void lane_take_back(void *user, uint64_t actor, uint64_t seq)
{
    const struct lane *lane = user;

    journal_withdraw(lane->journal, actor, seq);
}

void lane_save(void *user, uint64_t actor, const struct actors_snapshot *snapshot)
{
    const struct lane *lane = user;

    journal_save(lane->journal, actor,
                 &(struct journal_snapshot){ snapshot->version, snapshot->part, snapshot->image,
                                             snapshot->keep,
                                             snapshot->deletes_events, snapshot->keep_events });
}

/* Puts back messages of a shard whose stop took too long: its mailboxes are older than all that is
 * held. `message` is their first; returns the one after them. */
static struct message *take_returned(struct lane *lane, struct message *message)
{
    struct pending_queue mailboxes = { 0 };
    struct lane_type *type = &lane->types[message->type];
    uint16_t index = message->type;
    int32_t shard = message->entity.shard;

    lane_batch_end(lane);
    REACHED("messages return from mailboxes of a shard that stops");
    while (message && message->returned && message->type == index &&
           message->entity.shard == shard) {
        put_held(lane, &mailboxes, message);
        message = actors_take_out(lane->actors);
    }
    place_returned(&type->routes, &type->owned, lane->machine->now, shard,
                   &mailboxes);
    refuse_held(lane, &mailboxes);
    lane_open(lane, index, shard);
    return message;
}

void lane_drain(struct lane *lane)
{
    struct message *message = actors_take_out(lane->actors);

    while (message) {
        while (message) {
            if (message->returned) {
                message = take_returned(lane, message);
                continue;
            }
            lane_send(lane, message);
            message = actors_take_out(lane->actors);
        }
        lane_batch_end(lane); /* refused messages come out again */
        message = actors_take_out(lane->actors);
    }
    lane_batch_end(lane);
}

void lane_wire(struct lane *lane)
{
    bool any;

    do {
        lane_drain(lane);
        any = wire_journal(lane);
        any |= wire_actors(lane);
        for (uint32_t i = 0; i < lane->type_count; i++) {
            any |= lane->remembers && lane_wire_remember(lane, i);
            any |= lane_wire_owned(lane, i);
            any |= wire_routes(lane, i);
        }
    } while (any);
    lane_drain(lane);
}
