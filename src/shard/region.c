/* Members, registration, homes, shutdown and views of a region: behaviour 16.2, 16.7; wire 7.4.1, 7.5. */
#include "shard/region.h"

#include "base/limits.h"
#include "base/mark.h"
#include "shard/region_inside.h"

#define RETRY_INTERVAL (2 * SECOND)
#define HANDOFF_TIMEOUT (60 * SECOND)
#define REGISTER_DELAY_MIN (100 * MS)
#define REGISTER_WARN_FIRST 5  /* tries; 5.75 s as configured by default */
#define REGISTER_WARN_EVERY 30 /* tries after that */

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
    region->members.is_lent = true;
    region->register_at = region->retry_at = region->shutdown_at = NEVER;
    return region;
}

static void drop_member(struct member *member)
{
    if (member)
        peer_forget(&member->peer);
    mem_free(member);
}

static void news_drop(struct news_item *item)
{
    mem_free(item->text);
    mem_free(item->owing);
    *item = (struct news_item){ 0 };
}

void region_free(struct region *region)
{
    struct map_entry at;
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
    for (uint32_t i = 0; map_next(&region->members, &i, &at);)
        drop_member(at.value);
    map_fini(&region->members);
    while (region->news_first < region->news.count)
        news_drop(&region->news.items[region->news_first++]);
    news_drop(&region->current);
    vec_fini(&region->news);
    vec_fini(&region->gone);
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
        region->news_first = region->news.count = 0;
        return false;
    }
    region->current = region->news.items[region->news_first++];
    *news = region->current.news;
    return true;
}

/* Members and the coordinator */

static bool is_eligible(const struct member *member)
{
    return member->has_role &&
           (member->peer.status == PEER_UP || member->peer.status == PEER_LEAVING ||
            member->peer.status == PEER_EXITING);
}

static const struct member *oldest(const struct region *region, bool only_up)
{
    const struct member *found = NULL;
    struct map_entry at;
    for (uint32_t i = 0; map_next(&region->members, &i, &at);) {
        const struct member *member = at.value;
        if (is_eligible(member) && (!only_up || member->peer.status == PEER_UP) &&
            (!found || peer_age_compare(&member->peer, &found->peer) < 0))
            found = member;
    }
    return found;
}

/* Wire 7.4.1: every one that is not Up and older than the first Up one, and that one. */
static bool is_candidate(const struct member *member,
                         const struct member *first_up)
{
    return is_eligible(member) &&
           (!first_up || peer_age_compare(&member->peer, &first_up->peer) <= 0);
}

bool region_is_candidate(const struct region *region,
                         const struct node_id *node)
{
    const struct member *member =
        map_get(&region->members, map_u64(&node->uid));
    return member && address_equal(member->peer.address, &node->address) &&
           is_candidate(member, oldest(region, true));
}

bool region_is_gone(const struct region *region, uint64_t uid)
{
    for (uint32_t i = 0; i < region->gone.count; i++) {
        if (region->gone.items[i].uid == uid)
            return true;
    }
    return false;
}

bool region_is_dead(const struct region *region, const struct node_id *node)
{
    struct map_entry at;
    bool dead = false;
    if (node->uid && region_is_gone(region, node->uid))
        return true;
    for (uint32_t i = 0; i < region->gone.count && !dead; i++)
        dead = address_equal(&region->gone.items[i].address, &node->address);
    for (uint32_t i = 0; dead && map_next(&region->members, &i, &at);) {
        const struct member *member = at.value;
        if (address_equal(member->peer.address, &node->address))
            return false;
    }
    return dead;
}

struct node_id region_node_at(const struct region *region,
                              const struct address *address)
{
    struct map_entry at;
    for (uint32_t i = 0; map_next(&region->members, &i, &at);) {
        const struct member *member = at.value;
        if (address_equal(member->peer.address, address))
            return peer_node(&member->peer);
    }
    return (struct node_id){ *address, 0 };
}

static void register_everywhere(struct region *region)
{
    const struct member *first_up = oldest(region, true);
    struct map_entry at;
    for (uint32_t i = 0; map_next(&region->members, &i, &at);) {
        const struct member *member = at.value;
        struct node_id node = peer_node(&member->peer);
        if (is_candidate(member, first_up))
            region_register(region, &node,
                            slice_text(region->coordinator_path));
    }
}

/* Behaviour 16.2: at once, then after a delay that doubles up to the retry interval. */
static void start_registration(struct region *region, uint64_t now)
{
    region->register_at = NEVER;
    if (region_is_silent(region) || region->oldest.uid == 0)
        return;
    region->register_delay = region->retry_interval / 8;
    if (region->register_delay < REGISTER_DELAY_MIN)
        region->register_delay = REGISTER_DELAY_MIN;
    register_everywhere(region);
    region->register_tries = 0;
    region->register_at = now + region->register_delay;
}

/* Said only while something waits for it: a type that another node does not start is otherwise a silence without end. */
static void warn_of_no_coordinator(struct region *region)
{
    uint32_t tries = ++region->register_tries;

    if (region->wanted_count == 0 ||
        tries % REGISTER_WARN_EVERY != REGISTER_WARN_FIRST)
        return;
    trace_put(region->trace, TRACE_WARNING, "region",
              "no coordinator answers: is the type registered on all nodes? "
              "type=%s tries=%u shards_wanted=%u",
              region->type, tries, region->wanted_count);
}

void region_coordinator_lost(struct region *region, uint64_t now)
{
    region->registered = false;
    start_registration(region, now);
}

void region_coordinator_gone(struct region *region, uint64_t now)
{
    if (region->registered)
        region_coordinator_lost(region, now);
}

static void look_for_oldest(struct region *region, uint64_t now)
{
    const struct member *member = oldest(region, false);
    struct node_id node = { 0 };
    if (member)
        node = peer_node(&member->peer);
    if (node_equal(&node, &region->oldest))
        return;
    region->oldest = node;
    region_coordinator_lost(region, now);
}

/* One member changed: most often it is neither the oldest nor older than that one, and the others need not be looked at. */
static void follow_oldest(struct region *region, uint64_t now,
                          const struct member *changed)
{
    const struct member *current =
        map_get(&region->members, map_u64(&region->oldest.uid));

    if (changed != current && (current || !region->oldest.uid) &&
        (!is_eligible(changed) ||
         (current && peer_age_compare(&current->peer, &changed->peer) < 0)))
        return;
    look_for_oldest(region, now);
}

void region_peer(struct region *region, uint64_t now, const struct peer *peer)
{
    struct slice key = map_u64(&peer->node.uid);
    struct member *member = map_get(&region->members, key);
    if (peer->node.uid == 0 || region_is_gone(region, peer->node.uid))
        return;
    if (!member) {
        if (region->members.count >= MEMBERS_MAX) {
            region->counters.limited++;
            return;
        }
        member = mem_alloc(sizeof *member);
        peer_keep(&member->peer, peer);
        (void)map_put(&region->members, map_u64(&member->peer.uid), member); /* none is replaced */
    }
    peer_keep(&member->peer, peer);
    member->has_role = peer->has_role;
    follow_oldest(region, now, member);
}

void region_peer_removed(struct region *region, uint64_t now,
                         const struct node_id *node)
{
    if (node->uid == 0 || region_is_gone(region, node->uid))
        return;
    drop_member(map_take(&region->members, map_u64(&node->uid)));
    if (region->gone.count < GONE_MAX) {
        vec_push(&region->gone, *node);
    } else {
        region->gone.items[region->gone_next++ % GONE_MAX] = *node;
        region->counters.forgotten++;
    }
    for (uint32_t i = 0; i < region->entry_count; i++) {
        const struct home *home = region->entries[i].home;
        if (home && !home->is_self &&
            address_equal(&home->node.address, &node->address) &&
            (home->node.uid == 0 || home->node.uid == node->uid)) {
            REACHED("a home's node is removed");
            region_forget_home(region, &region->entries[i]);
        }
    }
    region_tell(region,
                (struct region_news){ .kind = REGION_NODE_GONE,
                                      .lane = LANE_ALL,
                                      .node = *node },
                slice_of(NULL, 0), NULL);
    if (region->registered && region->coordinator.node.uid == node->uid)
        region->registered = false;
    look_for_oldest(region, now);
    if (!region->registered && region->register_at == NEVER)
        start_registration(region, now);
}

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

void region_register(struct region *region, const struct node_id *to,
                     struct slice path)
{
    struct shard_message message = { 0 };
    struct shard_hosted *hosted = mem_alloc(
        region->hosted_count * sizeof *hosted);
    char(*texts)[SHARD_TEXT_MAX] =
        mem_alloc(region->hosted_count * sizeof *texts);
    message.kind = region->is_proxy || region->stopped ? SHARD_REGISTER_PROXY
                                                       : SHARD_REGISTER;
    message.ref = buf_slice(&region->ref);
    message.lanes = region->lanes;
    message.report = ++region->report;
    message.number_of_shards = region->shard_count;
    message.persists = region->persists;
    message.fence.term = region->term; /* homes known from then may be old */
    message.hosted = hosted;
    for (uint32_t i = 0; i < region->entry_count && !region->is_proxy; i++) {
        const struct entry *entry = &region->entries[i];
        if (!entry->hosting)
            continue;
        char *text = texts[message.hosted_count];
        hosted[message.hosted_count++] = (struct shard_hosted){
            shard_text(entry_shard(region, entry), text), entry->hosting->fence
        };
    }
    region->counters.registrations++;
    region_send(region, to, path, &message);
    mem_free(texts);
    mem_free(hosted);
}

void region_asked(struct region *region, uint64_t now,
                  const struct inbound *query)
{
    (void)now;
    if (region->is_proxy || region->stopped) {
        region_answer_unknown(region->self, region->outbox, query,
                              slice_text(region->type));
        if (region->is_proxy || region_is_silent(region))
            return;
    }
    region_register(region, &query->from, query->sender);
}

void region_answer_unknown(const struct identity *self, struct outbox *outbox,
                           const struct inbound *query, struct slice type)
{
    struct shard_message message = { .kind = SHARD_NO_REGION, .type = type };
    shard_message_send(outbox, &query->from, query->sender,
                       slice_text(SHARDING_PATH), &message, self);
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
    (void)map_put(&region->homes, home->ref, home); /* none is replaced */
    return home;
}

void region_drop_home(struct region *region, struct home *home)
{
    if (home->users > 0)
        return;
    (void)map_take(&region->homes, home->ref); /* it is `home` */
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
        .shard = shard_text(entry_shard(region, entry), text)
    };
    region->counters.home_requests++;
    region_send(region, &region->coordinator.node,
                buf_slice(&region->coordinator.path), &message);
}

void region_repeat(struct region *region, uint64_t now)
{
    if (region->retry_at == NEVER)
        region->retry_at = now + region->retry_interval;
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

void region_want_home(struct region *region, uint64_t now, uint32_t lane,
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
    const struct member *first_up = oldest(region, true);
    struct shard_message message = { .kind = SHARD_GRACEFUL_SHUTDOWN,
                                     .ref = buf_slice(&region->ref) };
    struct map_entry at;
    for (uint32_t i = 0; map_next(&region->members, &i, &at);) {
        const struct member *member = at.value;
        struct node_id node = peer_node(&member->peer);
        if (is_candidate(member, first_up))
            region_send(region, &node,
                        slice_text(region->coordinator_path), &message);
    }
}

void region_say_stopped(struct region *region)
{
    struct shard_message message = { .kind = SHARD_REGION_STOPPED,
                                     .ref = buf_slice(&region->ref) };

    if (region->registered)
        region_send(region, &region->coordinator.node,
                    buf_slice(&region->coordinator.path), &message);
}

/* What its lanes have sent may be on its way to shards that are handed off. So it goes on as a proxy, whose markers are waited
 * for; a coordinator without terms (a JVM) waits for none. */
static void stop(struct region *region)
{
    struct probe probe = { .kind = PROBE_REGION_STOPPED,
                           .type = region->type_index,
                           .first = region->hosted_count };

    region_say_stopped(region);
    probes_put(region->probes, &probe);
    region->stopped = true;
    region->holds_on = region->registered && region->term;
    region->shutdown_at = NEVER;
    if (region_is_silent(region))
        region->register_at = NEVER;
    if (region_is_silent(region) || !region->wanted_count)
        region->retry_at = NEVER;
    region_tell(region, (struct region_news){ .kind = REGION_STOPPED },
                slice_of(NULL, 0), NULL);
}

void region_settle(struct region *region)
{
    uint64_t all = region->lanes == 64 ? UINT64_MAX
                                       : (UINT64_C(1) << region->lanes) - 1;
    if (!region->shutting_down || region->stopped)
        return;
    if (region->forced && region->hosted_count > 0)
        return;
    if (!region->preparing && !region->forced) {
        if (region->hosted_count > 0 || region->lanes_reported != all)
            return;
        for (uint32_t i = 0; i < region->lanes; i++) {
            if (region->waiting[i] > 0)
                return;
        }
    }
    stop(region);
}

/* Once the coordinator hears that this region has stopped, another one starts what ran here: so it must have ended before. */
static void force_stop(struct region *region)
{
    region->forced = true;
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
    region_settle(region);
}

void region_shutdown(struct region *region, uint64_t now, uint64_t deadline)
{
    if (region->shutting_down)
        return;
    region->shutting_down = true;
    region->shutdown_at = deadline;
    region_ask_shutdown(region);
    region_repeat(region, now);
    region_settle(region);
}

void region_prepare_shutdown(struct region *region, uint64_t now)
{
    (void)now;
    region->preparing = true;
    region_settle(region);
}

void region_lane_waiting(struct region *region, uint64_t now, uint32_t lane,
                         uint64_t count)
{
    (void)now;
    check(lane < region->lanes);
    region->waiting[lane] = count;
    if (region->shutting_down)
        region->lanes_reported |= UINT64_C(1) << lane;
    region_settle(region);
}

/* Time */

void region_tick(struct region *region, uint64_t now)
{
    if (region->register_at <= now) {
        region->register_at = NEVER;
        if (!region->registered) {
            register_everywhere(region);
            warn_of_no_coordinator(region);
            region->register_delay *= 2;
            if (region->register_delay > region->retry_interval)
                region->register_delay = region->retry_interval;
            region->register_at = now + region->register_delay;
        }
    }
    if (region->retry_at <= now) {
        region->retry_at = NEVER;
        if (region->registered)
            region_ask_all(region);
        if (region->shutting_down && !region->stopped)
            region_ask_shutdown(region);
        if (region->wanted_count ||
            (region->shutting_down && !region->stopped))
            region_repeat(region, now);
    }
    if (region->shutdown_at <= now && region->shutting_down &&
        !region->stopped) {
        REACHED("a region's shutdown took too long");
        trace_put(region->trace, TRACE_WARNING, "region",
                  "shutdown took too long type=%s shards=%u", region->type,
                  region->hosted_count);
        force_stop(region);
    }
}

uint64_t region_deadline(const struct region *region)
{
    uint64_t at = region->register_at;
    if (region->retry_at < at)
        at = region->retry_at;
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
