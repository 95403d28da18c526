/* Creates and frees replicators, and handles members, timers and news. */
#include "ddata/replicator.h"

#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

#define DELTA_INTERVAL_MS_MIN 200 /* Akka's minimum */

static const char *const answer_texts[] = {
#define X(name, text) text,
    REPLICATOR_ANSWERS(X)
#undef X
};

const char *replicator_answer_text(enum replicator_answer answer)
{
    return answer_texts[answer];
}

static void set_default(uint64_t *setting, uint64_t value)
{
    if (!*setting)
        *setting = value;
}

static void set_defaults(struct replicator_settings *settings)
{
    uint32_t largest;

    set_default(&settings->gossip_interval_ms, 2000);
    set_default(&settings->notify_interval_ms, 500);
    set_default(&settings->pruning_interval_ms, 120000);
    set_default(&settings->pruning_dissemination_ms, 300000);
    set_default(&settings->pruning_marker_ms, UINT64_C(6) * 3600 * 1000);
    set_default(&settings->logged_size, 10 * 1024);
    set_default(&settings->durable_pruning_marker_ms,
                UINT64_C(10) * 24 * 3600 * 1000);
    if (!settings->max_delta_elements)
        settings->max_delta_elements = 500;
    if (!settings->max_delta_size)
        settings->max_delta_size = 50;
    if (!settings->frame_size)
        settings->frame_size = FRAME_SIZE_MAX;
    check(settings->frame_size > 2 * REPLICATOR_ENTRY_MARGIN);
    if (!settings->entry_size_max)
        settings->entry_size_max =
            settings->frame_size - REPLICATOR_ENTRY_MARGIN;
    largest = settings->entry_size_max;
    if (largest > 2 * REPLICATOR_MARKS_SIZE)
        largest -= REPLICATOR_MARKS_SIZE;
    if (!settings->update_size_max || settings->update_size_max > largest)
        settings->update_size_max = largest;
}

static uint64_t delta_interval(const struct replicator *replicator)
{
    uint64_t interval =
        replicator->settings.gossip_interval_ms / DELTA_ROUNDS_DIVISOR;

    return (interval > DELTA_INTERVAL_MS_MIN ? interval
                                             : DELTA_INTERVAL_MS_MIN) *
           MS;
}

static uint64_t interval_of(const struct replicator *replicator,
                            enum timer_kind kind)
{
    switch (kind) {
    case TIMER_GOSSIP:
        return replicator->settings.gossip_interval_ms * MS;
    case TIMER_NOTIFY:
        return replicator->settings.notify_interval_ms * MS;
    case TIMER_DELTAS:
        return delta_interval(replicator);
    case TIMER_PRUNING:
        return replicator->settings.pruning_interval_ms * MS;
    case TIMER_SECONDARY:
    case TIMER_TIMEOUT:
        break;
    }
    return NEVER;
}

static void arm(struct replicator *replicator, uint64_t now,
                enum timer_kind kind)
{
    timers_put(&replicator->timers, now + interval_of(replicator, kind), kind,
               0, 0);
}

struct replicator *replicator_new(const struct replicator_options *options,
                                  uint64_t now)
{
    struct replicator *replicator = mem_alloc(sizeof *replicator);
    char uid[16];

    replicator->identity = options->identity;
    replicator->trace = options->trace;
    replicator->probes = options->probes;
    replicator->writer = options->writer;
    replicator->settings = options->settings;
    set_defaults(&replicator->settings);
    rng_init(&replicator->rng, options->seed);
    (void)snprintf(uid, sizeof uid, "#%u",
                   (unsigned)(1 + rng_below(&replicator->rng, INT32_MAX)));
    buf_put_text(&replicator->path, options->path);
    buf_put_text(&replicator->path, uid);
    replicator->room = options->room ? options->room : &replicator->own_room;
    replicator_room_fill(&replicator->own_room);
    replicas_init(&replicator->replicas, &options->identity->node, now);
    deltas_init(&replicator->deltas, replicator->settings.max_delta_size);
    replicator->entries.is_lent = true;
    for (uint32_t i = 0; i < options->durable_key_count; i++)
        vec_push(&replicator->durable_keys,
                 mem_text(options->durable_keys[i]));
    for (uint32_t i = 0; i < options->expiry_count; i++) {
        struct replicator_expiry expiry = options->expiries[i];

        check(expiry.after_ms > 0);
        expiry.pattern = mem_text(expiry.pattern);
        vec_push(&replicator->expiries, expiry);
    }
    replicator->is_loading = options->durable_key_count > 0;
    replicator->gossip_ticks = 1;
    arm(replicator, now, TIMER_GOSSIP);
    arm(replicator, now, TIMER_NOTIFY);
    if (!replicator->settings.deltas_off)
        arm(replicator, now, TIMER_DELTAS);
    if (!replicator->settings.pruning_off)
        arm(replicator, now, TIMER_PRUNING);
    return replicator;
}

void replicator_free(struct replicator *replicator)
{
    if (!replicator)
        return;
    waiting_fini(replicator);
    durable_fini(replicator);
    turns_end(replicator);
    aggregators_fini(replicator);
    pulls_forget(replicator, NULL);
    notify_fini(replicator);
    entries_fini(replicator);
    hold_fini(replicator);
    hidden_fini(replicator);
    deltas_fini(&replicator->deltas);
    replicas_fini(&replicator->replicas);
    for (uint32_t i = 0; i < replicator->durable_keys.count; i++)
        mem_free(replicator->durable_keys.items[i]);
    vec_fini(&replicator->durable_keys);
    for (uint32_t i = 0; i < replicator->expiries.count; i++)
        mem_free((void *)(uintptr_t)replicator->expiries.items[i].pattern);
    vec_fini(&replicator->expiries);
    vec_fini(&replicator->news);
    buf_fini(&replicator->news_texts);
    timers_fini(&replicator->timers);
    buf_fini(&replicator->path);
    mem_free(replicator);
}

void replicator_wall(struct replicator *replicator, int64_t wall_ms)
{
    replicator->wall_ms = wall_ms;
}

/* Answers all waiting callers; values stay readable. */
static void replicator_end(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    if (replicator->has_ended)
        return;
    replicator->has_ended = true;
    replicator->is_loading = false;
    waiting_fini(replicator);
    durable_fini(replicator);
    turns_end(replicator);
    while (map_next(&replicator->aggregators, &at, &item)) {
        struct aggregator *aggregator = item.value;

        news_answer(replicator, aggregator->token, REPLICATOR_STOPPED,
                    aggregator->key);
        aggregator_end(replicator, aggregator);
    }
    news_put(replicator,
             &(struct news_item){ .kind = REPLICATOR_NEWS_ENDED },
             slice_of(NULL, 0), slice_of(NULL, 0));
    trace_put(replicator->trace, TRACE_INFO, "ddata", "ended path=%.*s",
              (int)path_plain(buf_slice(&replicator->path)).size,
              (const char *)replicator->path.data);
}

void replicator_peer(struct replicator *replicator, uint64_t now,
                     const struct member_info *peer)
{
    (void)now;
    replicas_put(&replicator->replicas, peer);
    replicator->counters.crowded = replicator->replicas.refused;
}

void replicator_peer_removed(struct replicator *replicator, uint64_t now,
                             const struct node_id *node)
{
    (void)now;
    if (node_equal(node, &replicator->replicas.self)) {
        replicator_end(replicator);
        return;
    }
    if (replicas_remove(&replicator->replicas, node))
        deltas_remove(&replicator->deltas, node);
    turns_forget(replicator, node);
    pulls_forget(replicator, node);
    replicator->counters.forgotten = replicator->replicas.forgotten;
}

void replicator_loaded(struct replicator *replicator, uint64_t now,
                       bool is_good, struct outbox *outbox)
{
    if (!replicator->is_loading)
        return;
    if (!is_good) {
        replicator_end(replicator);
        return;
    }
    replicator->is_loading = false;
    waiting_go_on(replicator, now, outbox);
    notify_flush(replicator);
}

void replicator_store_lost(struct replicator *replicator)
{
    replicator_end(replicator);
}

/* Ticks do nothing during loading. */
static void tick(struct replicator *replicator, uint64_t now,
                 enum timer_kind kind, struct outbox *outbox)
{
    if (kind == TIMER_GOSSIP)
        replicas_tick(&replicator->replicas, now);
    if (!replicator->is_loading) {
        if (kind == TIMER_GOSSIP) {
            expire_tick(replicator);
            gossip_tick(replicator, outbox);
        } else if (kind == TIMER_NOTIFY)
            notify_flush(replicator);
        else if (kind == TIMER_DELTAS)
            deltas_tick(replicator, outbox);
        else
            prune_tick(replicator);
    }
    arm(replicator, now, kind);
}

static void aggregator_tick(struct replicator *replicator, uint64_t id,
                            bool is_timeout, struct outbox *outbox)
{
    struct aggregator *aggregator = aggregator_by_id(replicator, id);

    if (!aggregator)
        return;
    if (aggregator->is_read && is_timeout)
        read_timeout(replicator, aggregator);
    else if (aggregator->is_read)
        read_secondary(replicator, aggregator, outbox);
    else if (is_timeout)
        write_timeout(replicator, aggregator);
    else
        write_secondary(replicator, aggregator, outbox);
}

void replicator_step(struct replicator *replicator, uint64_t now,
                     struct outbox *outbox)
{
    struct timer timer;

    turns_step(replicator, outbox);
    while (!replicator->has_ended &&
           timers_take(&replicator->timers, now, &timer)) {
        enum timer_kind kind = (enum timer_kind)timer.kind;

        if (kind == TIMER_SECONDARY || kind == TIMER_TIMEOUT)
            aggregator_tick(replicator, timer.id, kind == TIMER_TIMEOUT,
                            outbox);
        else
            tick(replicator, now, kind, outbox);
    }
}

uint64_t replicator_deadline(const struct replicator *replicator)
{
    if (replicator->has_ended)
        return NEVER;
    return replicator_waits(replicator)
               ? 0
               : timers_deadline(&replicator->timers);
}

bool replicator_next_news(struct replicator *replicator,
                          struct replicator_news *news)
{
    const struct news_item *item;

    if (replicator->news_head == replicator->news.count) {
        replicator->news_head = replicator->news.count = 0;
        buf_clear(&replicator->news_texts);
        return false;
    }
    item = &replicator->news.items[replicator->news_head++];
    *news = (struct replicator_news){ .kind = item->kind,
                                      .answer = item->answer,
                                      .token = item->token,
                                      .ticket = item->ticket,
                                      .by_others = item->by_others };
    if (replicator->news_texts.data) {
        const uint8_t *at = replicator->news_texts.data + item->at;

        news->key = slice_of(at, item->key_size);
        news->bytes = slice_of(at + item->key_size, item->bytes_size);
    }
    if (news->kind == REPLICATOR_NEWS_CHANGED ||
        (news->kind == REPLICATOR_NEWS_ANSWER &&
         news->answer == REPLICATOR_SUCCESS))
        news->value = replicator_look(replicator, news->key);
    if (news->kind == REPLICATOR_NEWS_ANSWER &&
        news->answer == REPLICATOR_SUCCESS && !news->value)
        news->value = hold_look(replicator, news->key, 0);
    return true;
}

const struct dd_value *
replicator_news_value(const struct replicator *replicator,
                      const struct replicator_news *news, uint32_t index)
{
    if (!index || !news->value)
        return index ? NULL : news->value;
    return entry_find(replicator, news->key)
               ? replicator_look_at(replicator, news->key, index)
               : hold_look(replicator, news->key, index);
}

uint32_t replicator_count(const struct replicator *replicator)
{
    return replicator->is_loading ? 0 : replicator->replicas.up_count + 1;
}

/* A sum does not depend on the order. */
struct replicator_members replicator_members(
    const struct replicator *replicator)
{
    const struct replicas *replicas = &replicator->replicas;
    struct replicator_members members = {
        .count = 1,
        .signature = replicas->self.uid * UINT64_C(0x9e3779b97f4a7c15),
        .exiting = replicas->self_status == MEMBER_EXITING,
        .asked = 1,
    };

    for (uint32_t i = 0; i < replicas->items.count; i++) {
        const struct replica *replica = &replicas->items.items[i];

        if (replica->group != REPLICA_UP)
            continue;
        members.count++;
        members.exiting += replica->peer.status == MEMBER_EXITING;
        members.asked += replica->peer.status != MEMBER_EXITING;
        members.signature +=
            replica->peer.uid * UINT64_C(0x9e3779b97f4a7c15);
    }
    return members;
}

bool replicator_counts(const struct replicator *replicator,
                       const struct node_id *node)
{
    const struct replicas *replicas = &replicator->replicas;
    const struct replica *replica = replicas_find(replicas, node);

    return node_equal(node, &replicas->self) ||
           (replica && replica->group == REPLICA_UP &&
            replica->peer.status != MEMBER_EXITING);
}

bool replicator_leads(const struct replicator *replicator)
{
    return replicas_leads(&replicator->replicas);
}

bool replicator_prunes(const struct replicator *replicator,
                       const struct node_id *node)
{
    const struct replicas *replicas = &replicator->replicas;

    return replicas_leads(replicas) && replicas_is_removed(replicas, node) &&
           !replicas_know(replicas, node);
}

struct slice replicator_path(const struct replicator *replicator)
{
    return buf_slice(&replicator->path);
}

bool replicator_is_recipient(const struct replicator *replicator,
                             struct slice recipient)
{
    struct slice path = path_plain(buf_slice(&replicator->path));

    return recipient.size >= path.size &&
           !memcmp(recipient.data, path.data, path.size) &&
           (recipient.size == path.size || recipient.data[path.size] == '/');
}

const struct replicator_counters *
replicator_counters(const struct replicator *replicator)
{
    return &replicator->counters;
}

struct replicator_view replicator_view(const struct replicator *replicator)
{
    return (struct replicator_view){
        .keys = replicator->entries.count - replicator->deleted_count,
        .deleted = replicator->deleted_count,
        .subscriptions = replicator->subscription_count,
        .aggregators = replicator->aggregators.count,
        .bytes = replicator->bytes,
        .is_loading = replicator->is_loading,
        .has_ended = replicator->has_ended,
    };
}
