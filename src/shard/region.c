/* Implements homes, the graceful shutdown and the views of a region. */
#include "shard/region.h"

#include "base/limits.h"
#include "base/mark.h"
#include "shard/region_inside.h"

/* also the longest pause of shorter settings while the coordinator is silent */
#define RETRY_INTERVAL (2 * SECOND)
#define HOMES_ASKED_AGAIN_MIN 16u /* in one repetition */
#define RETRIES_HALVED_MAX 16u
#define HANDOFF_TIMEOUT (60 * SECOND)
#define NOBODY_TIME (10 * SECOND) /* Akka's limit for the phase */
/* after that the coordinator has gone, or does not know the question */
#define DISMISSAL_TIME (10 * SECOND)

struct region *region_new(const struct region_options *options)
{
    check(options->shard_count > 0 && options->shard_count <= SHARDS_MAX);
    check(options->lanes > 0 && options->lanes <= LANES_MAX);
    struct region *region = mem_alloc(sizeof *region);
    region->self = options->self;
    region->outbox = options->outbox;
    region->trace = options->trace;
    region->probes = options->probes;
    region->type_index = options->type_index;
    region->type = mem_text(options->type);
    region->path = mem_text(options->path);
    region->coordinator_path = mem_text(options->coordinator_path);
    region->shard_count = options->shard_count;
    region->names = options->names;
    region->lanes = options->lanes;
    region->is_proxy = options->is_proxy;
    region->persists = options->persists;
    region->retry_interval =
        options->retry_interval ? options->retry_interval : RETRY_INTERVAL;
    region->handoff_timeout =
        options->handoff_timeout ? options->handoff_timeout : HANDOFF_TIMEOUT;
    ref_put(&region->ref, region->self, &region->self->node.address,
            slice_text(region->path));
    region->entry_count = 2 * options->shard_count - 1;
    region->entries = mem_alloc(region->entry_count * sizeof *region->entries);
    region->register_at = region->retry_at = region->shutdown_at = NEVER;
    region->idle_until = NEVER;
    return region;
}

static void news_drop(struct news_item *item)
{
    mem_free(item->text);
    mem_free(item->owing);
    *item = (struct news_item){ 0 };
}

void region_free(struct region *region)
{
    if (!region)
        return;
    for (uint32_t i = 0; i < region->entry_count; i++) {
        region_drop_hold(&region->entries[i]);
        if (region->entries[i].hosting)
            region_drop_hosting(region, &region->entries[i]);
        region_forget_home(region, &region->entries[i]);
    }
    check(region->homes.count == 0);
    map_fini(&region->homes);
    region_free_members(region);
    while (region->news_first < region->news.count)
        news_drop(&region->news.items[region->news_first++]);
    news_drop(&region->current);
    vec_fini(&region->news);
    region_party_fini(&region->coordinator);
    buf_fini(&region->ref);
    mem_free(region->entries);
    mem_free(region->type);
    mem_free(region->path);
    mem_free(region->coordinator_path);
    mem_free(region);
}

void region_party_set(struct party *party, const struct inbound *message)
{
    party->node = message->from;
    buf_clear(&party->path);
    buf_put_slice(&party->path, message->sender);
}

void region_party_fini(struct party *party)
{
    buf_fini(&party->path);
}

void region_send(struct region *region, const struct node_id *to,
                 struct slice recipient, const struct shard_message *message)
{
    shard_message_send(region->outbox, to, recipient, slice_text(region->path),
                       message, region->self);
}

void region_tell(struct region *region, struct region_news news,
                 struct slice text, struct owing *owing)
{
    struct news_item item = { news, NULL, owing };
    if (text.size) {
        item.text = mem_copy(text.data, text.size);
        struct slice copy = slice_of(item.text, text.size);
        if (news.kind == REGION_REFUSED)
            item.news.text = copy;
        else
            item.news.path = copy;
    }
    item.news.owing = owing;
    vec_push(&region->news, item);
}

bool region_next_news(struct region *region, struct region_news *news)
{
    news_drop(&region->current);
    if (region->news_first == region->news.count) {
        region->news_first = 0;
        vec_empty(&region->news, 8);
        return false;
    }
    region->current = region->news.items[region->news_first++];
    *news = region->current.news;
    return true;
}

/* A region that has gone */

void region_gone(struct region *region, uint64_t now,
                 const struct address *address, struct slice path)
{
    (void)now;
    for (uint32_t i = 0; i < region->entry_count; i++) {
        struct entry *entry = &region->entries[i];
        const struct home *home = entry->home;
        if (!home || home->is_self ||
            !address_equal(&home->node.address, address) ||
            !slice_equal(home->path, path))
            continue;
        region_forget_home(region, entry);
        region_tell(region,
                    (struct region_news){ .kind = REGION_FORGET,
                                          .shard = entry_shard(region, entry),
                                          .lane = LANE_ALL },
                    slice_of(NULL, 0), NULL);
    }
}

/* Homes */

struct home *region_home_of(struct region *region, struct slice ref)
{
    struct home *home = map_get(&region->homes, ref);
    struct address address;
    struct slice path;
    if (home)
        return home;
    if (ref.size > SHARD_REF_MAX ||
        !ref_parse(region->self, ref, &address, &path))
        return NULL;
    home = mem_alloc(sizeof *home);
    home->ref = slice_of(mem_copy(ref.data, ref.size), ref.size);
    home->path =
        slice_of(home->ref.data + (path.data - ref.data), path.size);
    home->is_self = slice_equal(ref, buf_slice(&region->ref));
    home->node = home->is_self ? region->self->node
                               : region_node_at(region, &address);
    (void)map_put(&region->homes, home->ref, home);
    return home;
}

void region_drop_home(struct region *region, struct home *home)
{
    if (home->users > 0)
        return;
    (void)map_take(&region->homes, home->ref);
    mem_free((void *)home->ref.data);
    mem_free(home);
}

void region_forget_home(struct region *region, struct entry *entry)
{
    struct home *home = entry->home;
    entry->home = NULL;
    if (!home)
        return;
    home->users--;
    region_drop_home(region, home);
}

static void unwant(struct region *region, struct entry *entry)
{
    if (entry->wanted)
        region->wanted_count--;
    entry->wanted = false;
}

static void tell_route(struct region *region, const struct entry *entry,
                       uint32_t lane)
{
    region_tell(region,
                (struct region_news){ .kind = REGION_ROUTE,
                                      .shard = entry_shard(region, entry),
                                      .lane = lane,
                                      .fence = entry->fence,
                                      .node = entry->home->node },
                entry->home->path, NULL);
}

void region_set_home(struct region *region, struct entry *entry,
                     struct home *home, struct fence fence)
{
    bool known = entry->home == home && !entry->hold && !entry->wanted;
    home->users++;
    region_forget_home(region, entry);
    entry->home = home;
    entry->fence = fence;
    region_drop_hold(entry);
    unwant(region, entry);
    if (!known)
        tell_route(region, entry, LANE_ALL);
}

void region_drop_hold(struct entry *entry)
{
    if (!entry->hold)
        return;
    region_party_fini(&entry->hold->from);
    mem_free(entry->hold);
    entry->hold = NULL;
}

void region_drop_hosting(struct region *region, struct entry *entry)
{
    region_party_fini(&entry->hosting->start_from);
    region_party_fini(&entry->hosting->stop_from);
    mem_free(entry->hosting);
    entry->hosting = NULL;
    region->hosted_count--;
}

static void send_home_request(struct region *region, const struct entry *entry)
{
    char text[SHARD_TEXT_MAX];
    struct shard_message message = {
        .kind = SHARD_GET_HOME,
        .shard = shard_name(region->names, entry_shard(region, entry), text)
    };
    region->counters.home_requests++;
    region_send(region, &region->coordinator.node,
                buf_slice(&region->coordinator.path), &message);
}

/* Waits longer each time without an answer: earlier questions are still on their way, and
 * repetitions fill slow connections. */
static uint64_t retry_wait(const struct region *region)
{
    uint64_t wait = region->retry_interval;

    for (uint32_t i = 0; i < region->silent_retries && wait < RETRY_INTERVAL;
         i++)
        wait *= 2;
    return wait > RETRY_INTERVAL && region->retry_interval < RETRY_INTERVAL
               ? RETRY_INTERVAL
               : wait;
}

void region_repeat(struct region *region, uint64_t now)
{
    if (region->retry_at == NEVER)
        region->retry_at = now + retry_wait(region);
}

void region_ask_home(struct region *region, uint64_t now, struct entry *entry)
{
    if (entry->wanted || region_is_silent(region))
        return;
    entry->wanted = true;
    region->wanted_count++;
    if (region->registered)
        send_home_request(region, entry);
    region_repeat(region, now);
}

void region_ask_all(struct region *region)
{
    for (uint32_t i = 0; region->wanted_count && i < region->entry_count; i++) {
        if (region->entries[i].wanted)
            send_home_request(region, &region->entries[i]);
    }
}

/* Repeats unanswered questions. Too many of them fill the connections that the coordinator's writes
 * need, and without these it announces no home. */
static void ask_again(struct region *region)
{
    uint32_t room = region->wanted_count >> region->silent_retries;

    if (room < HOMES_ASKED_AGAIN_MIN)
        room = HOMES_ASKED_AGAIN_MIN;
    SOMETIMES("a region requests only a part of its unknown homes",
              room < region->wanted_count);
    if (region->silent_retries < RETRIES_HALVED_MAX)
        region->silent_retries++;
    for (uint32_t i = 0; room && i < region->entry_count; i++) {
        const struct entry *entry = &region->entries[region->retry_next];

        region->retry_next = (region->retry_next + 1) % region->entry_count;
        if (!entry->wanted)
            continue;
        send_home_request(region, entry);
        room--;
    }
}

void region_request_home(struct region *region, uint64_t now, uint32_t lane,
                         int32_t shard)
{
    int64_t index = shard_index(shard, region->shard_count);
    check(index >= 0 && lane < region->lanes);
    struct entry *entry = &region->entries[index];
    if (entry->home)
        tell_route(region, entry, lane);
    else
        region_ask_home(region, now, entry);
}

/* Shutdown */

void region_ask_shutdown(struct region *region)
{
    struct shard_message message = { .kind = SHARD_GRACEFUL_SHUTDOWN,
                                     .ref = buf_slice(&region->ref),
                                     .idle = region->idle };
    struct candidates at = { 0 };
    struct node_id node;

    while (region_next_candidate(region, &at, &node))
        region_send(region, &node, slice_text(region->coordinator_path),
                    &message);
}

void region_say_stopped(struct region *region)
{
    struct shard_message message = { .kind = SHARD_REGION_STOPPED,
                                     .ref = buf_slice(&region->ref) };

    if (region->registered)
        region_send(region, &region->coordinator.node,
                    buf_slice(&region->coordinator.path), &message);
}

/* Its lanes' messages may be on their way to moving shards, and hand-offs wait for its markers. So
 * it continues as a proxy; a JVM coordinator waits for none. */
static void stop(struct region *region)
{
    struct probe probe = { .kind = PROBE_REGION_STOPPED,
                           .type = region->type_index,
                           .first = region->hosted_count,
                           .second = region->forced + region->had_shards };

    region_say_stopped(region);
    probes_put(region->probes, &probe);
    region->stopped = true;
    region->holds_on = region->registered && region->term;
    region->shutdown_at = region->idle_until = NEVER;
    if (region_is_silent(region))
        region->register_at = NEVER;
    if (region_is_silent(region) || !region->wanted_count)
        region->retry_at = NEVER;
    region_tell(region, (struct region_news){ .kind = REGION_STOPPED },
                slice_of(NULL, 0), NULL);
}

static bool is_idle(const struct region *region)
{
    uint64_t all = region->lanes == 64 ? UINT64_MAX
                                       : (UINT64_C(1) << region->lanes) - 1;

    if (region->hosted_count > 0 || region->lanes_reported != all)
        return false;
    for (uint32_t i = 0; i < region->lanes; i++) {
        if (region->waiting[i] > 0)
            return false;
    }
    return true;
}

void region_is_busy(struct region *region)
{
    region->idle = 0;
    region->dismissed = false;
    region->idle_until = NEVER;
}

/* The coordinator may have announced a shard here before it learned of the shutdown. Messages that
 * reach a stopped region cannot wait for the next home, as later ones could overtake them. */
static bool is_dismissed(struct region *region, uint64_t now)
{
    if (!region->term || region->is_proxy || region->dismissed)
        return true; /* a JVM does not know the question */
    if (!region->idle) {
        region->idle = ++region->idle_count;
        region->idle_until = now + DISMISSAL_TIME;
        region_ask_shutdown(region);
        return false;
    }
    SOMETIMES("a leaving region gets no reply that nothing is in flight",
              region->idle_until <= now);
    return region->idle_until <= now;
}

void region_settle(struct region *region, uint64_t now)
{
    if (!region->shutting_down || region->stopped)
        return;
    if (region->forced && region->hosted_count > 0)
        return;
    if (!region->preparing && !region->forced) {
        if (!region->registered && region->asked_term > region->term)
            return; /* the coordinator that it reported to would not see it */
        if (!is_idle(region)) {
            bool asked = region->idle != 0;

            region_is_busy(region);
            if (asked) /* it may be the last resort again */
                region_ask_shutdown(region);
            return;
        }
        if (!is_dismissed(region, now))
            return;
    }
    stop(region);
}

void region_dismiss(struct region *region, uint64_t now, uint64_t term,
                    uint64_t idle)
{
    if (!region->registered || term != region->term || !region->idle ||
        idle != region->idle) {
        REACHED("a late reply that nothing is in flight reaches a hosting region");
        region->counters.stale++;
        return;
    }
    region->dismissed = true;
    region_settle(region, now);
}

/* After the stop is known, another region starts these shards. So they end here first. */
static void force_stop(struct region *region, uint64_t now)
{
    region->forced = true;
    region->had_shards = region->hosted_count > 0;
    region->shutdown_at = NEVER;
    for (uint32_t i = 0; i < region->entry_count; i++) {
        const struct entry *entry = &region->entries[i];

        if (entry->hosting)
            region_tell(region,
                        (struct region_news){
                            .kind = REGION_LOST,
                            .shard = entry_shard(region, entry) },
                        slice_of(NULL, 0), NULL);
    }
    region_settle(region, now);
}

void region_shutdown(struct region *region, uint64_t now, uint64_t deadline)
{
    if (region->shutting_down)
        return;
    region->shutting_down = true;
    region->shutdown_at = deadline;
    region_ask_shutdown(region);
    region_repeat(region, now);
    region_settle(region, now);
}

void region_prepare_shutdown(struct region *region, uint64_t now)
{
    region->preparing = true;
    region_settle(region, now);
}

void region_lane_waiting(struct region *region, uint64_t now, uint32_t lane,
                         uint64_t count)
{
    check(lane < region->lanes);
    region->waiting[lane] = count;
    if (region->shutting_down)
        region->lanes_reported |= UINT64_C(1) << lane;
    region_settle(region, now);
}

/* Time */

/* Only a joining member could take the waiting messages, and the wait for one is shorter than for a
 * hand-off. */
static void give_up_soon(struct region *region, uint64_t now)
{
    if (!region->shutting_down || region->stopped || region->oldest.uid ||
        region->shutdown_at <= now + NOBODY_TIME)
        return;
    region->shutdown_at = now + NOBODY_TIME;
    trace_put(region->trace, TRACE_WARNING, "region",
              "no member hosts this type: waiting messages are given up "
              "type=%s in_s=%u hint=\"start a node that has the type\"",
              region->type, (unsigned)(NOBODY_TIME / SECOND));
}

void region_tick(struct region *region, uint64_t now)
{
    if (region->register_at <= now)
        region_register_again(region, now);
    if (region->retry_at <= now) {
        region->retry_at = NEVER;
        if (region->registered)
            ask_again(region);
        if (region->shutting_down && !region->stopped)
            region_ask_shutdown(region);
        if (region->wanted_count ||
            (region->shutting_down && !region->stopped))
            region_repeat(region, now);
        give_up_soon(region, now);
    }
    if (region->idle_until <= now)
        region_settle(region, now);
    if (region->shutdown_at <= now && region->shutting_down &&
        !region->stopped) {
        REACHED("a region's shutdown took too long");
        trace_put(region->trace, TRACE_WARNING, "region",
                  "shutdown of a region took too long, its shards are stopped "
                  "by force type=%s shards=%u "
                  "hint=\"stop entities sooner, or raise the phase's timeout\"",
                  region->type,
                  region->hosted_count);
        force_stop(region, now);
    }
}

uint32_t region_shards(const struct region *region)
{
    return region->hosted_count;
}

uint64_t region_deadline(const struct region *region)
{
    uint64_t at = region->register_at;
    if (region->retry_at < at)
        at = region->retry_at;
    if (region->idle_until < at)
        at = region->idle_until;
    return region->shutdown_at < at ? region->shutdown_at : at;
}

/* Views */

bool region_registered(const struct region *region)
{
    return region->registered;
}

const struct node_id *region_coordinator(const struct region *region)
{
    return region->registered ? &region->coordinator.node : NULL;
}

struct proof region_proof(const struct region *region)
{
    return region->proof;
}

uint64_t region_term(const struct region *region)
{
    return region->term;
}

uint32_t region_hosted_count(const struct region *region)
{
    return region->hosted_count;
}

uint32_t region_wanted_count(const struct region *region)
{
    return region->wanted_count;
}

const struct region_counters *region_counters(const struct region *region)
{
    return &region->counters;
}

bool region_home(const struct region *region, int32_t shard,
                 struct node_id *node, struct fence *fence)
{
    int64_t index = shard_index(shard, region->shard_count);
    if (index < 0 || !region->entries[index].home)
        return false;
    *node = region->entries[index].home->node;
    *fence = region->entries[index].fence;
    return true;
}

bool region_next_wanted(const struct region *region, uint32_t *at,
                        int32_t *shard)
{
    while (region->wanted_count && *at < region->entry_count) {
        const struct entry *entry = &region->entries[(*at)++];

        if (!entry->wanted)
            continue;
        *shard = entry_shard(region, entry);
        return true;
    }
    return false;
}

bool region_next_hosted(const struct region *region, uint32_t *at,
                        int32_t *shard, struct fence *fence)
{
    while (*at < region->entry_count) {
        const struct entry *entry = &region->entries[(*at)++];
        if (!entry->hosting)
            continue;
        *shard = entry_shard(region, entry);
        *fence = entry->hosting->fence;
        return true;
    }
    return false;
}
