/* Tracks members, finds those that may run the coordinator, and registers with it. */
#include "base/address.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mark.h"
#include "shard/region_inside.h"

#define REGISTER_DELAY_MIN (100 * MS)
#define REGISTER_WARN_FIRST 5  /* tries; 5.75 s with default settings */
#define REGISTER_WARN_EVERY 30 /* further tries */

static struct kept_member *find(const struct region *region, uint64_t uid)
{
    return kept_members_find(&region->members, uid, NULL);
}

void region_heard(struct region *region, const struct node_id *node)
{
    struct kept_member *member = find(region, node->uid);

    if (member)
        member->marks |= MARK_HEARD;
}

void region_free_members(struct region *region)
{
    kept_members_fini(&region->members);
    for (uint32_t i = 0; i < region->gone.count; i++)
        kept_member_fini(&region->gone.items[i]);
    vec_fini(&region->gone);
}

/* Candidates */

static bool is_eligible(const struct kept_member *member)
{
    return (member->marks & MARK_ROLE) &&
           (member->status == MEMBER_UP || member->status == MEMBER_LEAVING ||
            member->status == MEMBER_EXITING);
}

static const struct kept_member *oldest(const struct region *region, bool only_up)
{
    const struct kept_member *found = NULL, *member;

    for (uint32_t at = 0; (member = kept_members_next(&region->members, &at));)
        if (is_eligible(member) && (!only_up || member->status == MEMBER_UP) &&
            (!found || kept_member_compare_age(member, found) < 0))
            found = member;
    return found;
}

/* The candidates: the first Up member, and each older one that is not Up, as in Akka. */
static bool is_candidate(const struct kept_member *member,
                         const struct kept_member *first_up)
{
    return is_eligible(member) &&
           (!first_up || kept_member_compare_age(member, first_up) <= 0);
}

bool region_is_candidate(const struct region *region,
                         const struct node_id *node)
{
    const struct kept_member *member = find(region, node->uid);

    return member && kept_address_equal(member->address, &node->address) &&
           is_candidate(member, oldest(region, true));
}

/* Open addressing in the members' order; finds the first of two at one address. */
struct address_index {
    uint32_t mask;
    const struct kept_member *places[];
};

static uint32_t first_place(const struct address_index *index,
                            const struct address *address)
{
    uint64_t hash = hash_bytes(slice_text(address->host)) + address->port;

    return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
           index->mask;
}

static const struct kept_member *const *place_of(const struct address_index *index,
                                                 const struct address *address)
{
    uint32_t at = first_place(index, address);

    while (index->places[at] &&
           !kept_address_equal(index->places[at]->address, address))
        at = (at + 1) & index->mask;
    return &index->places[at];
}

void region_index_members(struct region *region)
{
    struct address_index *index;
    const struct kept_member *member;
    uint32_t places = 1;

    check(!region->by_address);
    while (places < 2 * region->members.count + 1)
        places *= 2;
    index = mem_alloc(sizeof *index + places * sizeof *index->places);
    index->mask = places - 1;
    for (uint32_t at = 0; (member = kept_members_next(&region->members, &at));) {
        const struct address address = address_again(member->address);
        const struct kept_member *const *place = place_of(index, &address);

        if (!*place)
            index->places[place - index->places] = member;
    }
    region->by_address = index;
}

void region_drop_index(struct region *region)
{
    mem_free(region->by_address);
    region->by_address = NULL;
}

static const struct kept_member *member_at(const struct region *region,
                                           const struct address *address)
{
    const struct kept_member *member;

    if (region->by_address)
        return *place_of(region->by_address, address);
    for (uint32_t at = 0; (member = kept_members_next(&region->members, &at));)
        if (kept_address_equal(member->address, address))
            return member;
    return NULL;
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
    const struct kept_member *member = node->uid ? find(region, node->uid) : NULL;
    bool dead = false;

    if (member && kept_address_equal(member->address, &node->address))
        return false; /* members are not in `gone` */
    if (node->uid && region_is_gone(region, node->uid))
        return true;
    for (uint32_t i = 0; i < region->gone.count && !dead; i++)
        dead = kept_address_equal(region->gone.items[i].address,
                                  &node->address);
    return dead && !member_at(region, &node->address);
}

struct node_id region_node_at(const struct region *region,
                              const struct address *address)
{
    const struct kept_member *member = member_at(region, address);

    return member ? kept_member_node(member) : (struct node_id){ *address, 0 };
}

bool region_next_candidate(const struct region *region, struct candidates *at,
                           struct node_id *node)
{
    const struct kept_member *member;

    if (!at->next)
        at->first_up = oldest(region, true);
    while ((member = kept_members_next(&region->members, &at->next)) != NULL) {
        if (!is_candidate(member, at->first_up))
            continue;
        *node = kept_member_node(member);
        return true;
    }
    return false;
}

/* Registration */

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
    message.cordon = message.kind == SHARD_REGISTER ? region->cordon : CORDON_NOT;
    message.fence.term = region->term; /* homes from then may be old */
    if (region->term && region->stored_term > region->term)
        message.stored_term = region->stored_term;
    message.hosted = hosted;
    for (uint32_t i = 0; i < region->entry_count && !region->is_proxy; i++) {
        const struct entry *entry = &region->entries[i];
        if (!entry->hosting)
            continue;
        char *text = texts[message.hosted_count];
        hosted[message.hosted_count++] = (struct shard_hosted){
            shard_name(region->names, entry_shard(region, entry), text),
            entry->hosting->fence
        };
    }
    region->counters.registrations++;
    region_send(region, to, path, &message);
    mem_free(texts);
    mem_free(hosted);
}

static void register_everywhere(struct region *region)
{
    struct candidates at = { 0 };
    struct node_id node;

    while (region_next_candidate(region, &at, &node))
        region_register(region, &node, slice_text(region->coordinator_path));
}

/* At once, then after delays that double up to the retry interval. */
static void start_registration(struct region *region, uint64_t now)
{
    region->register_at = NEVER;
    if (region_is_silent(region) || region->oldest.uid == 0)
        return;
    region->register_delay = region->retry_interval / 8;
    if (region->register_delay < REGISTER_DELAY_MIN)
        region->register_delay = REGISTER_DELAY_MIN;
    register_everywhere(region);
    region->silent_since = now;
    region->register_tries = 0;
    region->register_at = now + region->register_delay;
}

static bool has_type(const struct region *region,
                     const struct kept_member *member)
{
    if (member->marks & MARK_HEARD)
        return true;
    for (uint32_t i = 0; i < region->entry_count; i++) {
        const struct home *home = region->entries[i].home;

        if (home && home->node.uid == member->uid)
            return true;
    }
    return false;
}

/* Returns what the region knows about the node that should run the coordinator. */
static const char *silence_text(const struct region *region)
{
    const struct kept_member *member = find(region, region->oldest.uid);

    if (node_equal(&region->oldest, &region->self->node))
        return "the coordinator of this node is not active yet: see the lines "
               "of module coordinator";
    if (member && member->marks & MARK_UNREACHABLE)
        return "that node is unreachable: repair the network, or down it";
    if (member && has_type(region, member))
        return "that node has the type: see the lines of module coordinator "
               "there";
    return "that node has sent nothing about the type yet: check that its "
           "program registers the type, then its lines of module coordinator";
}

/* Only while something waits, for example for a type that no other node starts. */
static void warn_of_no_coordinator(struct region *region, uint64_t now)
{
    uint32_t tries = ++region->register_tries;
    char text[ADDRESS_TEXT_MAX];

    if (region->wanted_count == 0 ||
        tries % REGISTER_WARN_EVERY != REGISTER_WARN_FIRST)
        return;
    trace_put(region->trace, TRACE_WARNING, "region",
              "coordinator does not answer type=%s expected_at=%s "
              "seconds=%llu tries=%u shards_wanted=%u hint=\"%s\"",
              region->type,
              address_text(&region->oldest.address, text, sizeof text),
              (unsigned long long)((now - region->silent_since) / SECOND),
              tries, region->wanted_count, silence_text(region));
}

void region_register_again(struct region *region, uint64_t now)
{
    region->register_at = NEVER;
    if (region->registered && region_cordon_is_told(region))
        return;
    if (region->registered) {
        region_register(region, &region->coordinator.node, buf_slice(&region->coordinator.path));
    } else {
        register_everywhere(region);
        warn_of_no_coordinator(region, now);
    }
    region->register_delay *= 2;
    if (region->register_delay > region->retry_interval)
        region->register_delay = region->retry_interval;
    region->register_at = now + region->register_delay;
}

bool region_cordon_is_told(const struct region *region)
{
    return region->is_proxy || region->stopped ||
           (region->registered && region->told_cordon == region->cordon);
}

bool region_is_alone(const struct region *region)
{
    return region->registered && region->is_alone && region->hosted_count;
}

void region_cordon_heard(struct region *region, uint64_t now,
                         const struct shard_message *ack)
{
    region->told_cordon = ack->cordon;
    region->is_alone = ack->is_alone;
    if (region_cordon_is_told(region))
        return;
    REACHED("a coordinator acknowledges another cordon than the region's");
    region->register_at = now + region->register_delay;
}

void region_cordon(struct region *region, uint64_t now, enum cordon_level cordon)
{
    if (region->cordon == cordon)
        return;
    region->cordon = cordon;
    if (region_cordon_is_told(region) || !region->registered)
        return; /* the next registration says it */
    region->register_delay = REGISTER_DELAY_MIN / 2;
    region_register_again(region, now);
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

/* Members */

static void look_for_oldest(struct region *region, uint64_t now)
{
    const struct kept_member *member = oldest(region, false);
    struct node_id node = { 0 };

    if (member)
        node = kept_member_node(member);
    if (node_equal(&node, &region->oldest))
        return;
    region->oldest = node;
    region_coordinator_lost(region, now);
}

/* A change rarely concerns the oldest; then the others need no look. */
static void follow_oldest(struct region *region, uint64_t now,
                          const struct kept_member *changed)
{
    const struct kept_member *current = find(region, region->oldest.uid);

    if (changed != current && (current || !region->oldest.uid) &&
        (!is_eligible(changed) ||
         (current && kept_member_compare_age(current, changed) < 0)))
        return;
    look_for_oldest(region, now);
}

/* This node is up: a coordinator that ignored its registration, or did not know it, takes it now. */
static void self_is_up(struct region *region, uint64_t now)
{
    SOMETIMES("a region registers again when its node is up",
              region->register_at != NEVER);
    if (!region->registered && region->register_at != NEVER)
        start_registration(region, now);
}

void region_peer(struct region *region, uint64_t now, const struct member_info *peer)
{
    struct kept_member *member = find(region, peer->node.uid);
    bool is_up = node_equal(&peer->node, &region->self->node) &&
                 peer->status == MEMBER_UP && member &&
                 member->status != MEMBER_UP;

    if (peer->node.uid == 0)
        return;
    if (!member) {
        if (region_is_gone(region, peer->node.uid))
            return;
        if (region->members.count >= MEMBERS_MAX) {
            region->counters.limited++;
            return;
        }
        member = kept_members_add(&region->members, peer);
    }
    kept_member_set(member, peer);
    member->marks = (uint8_t)((member->marks & MARK_HEARD) |
                              (peer->has_role ? MARK_ROLE : 0) |
                              (peer->reachable ? 0 : MARK_UNREACHABLE));
    if (is_up)
        self_is_up(region, now);
    follow_oldest(region, now, member);
}

static void remember_gone(struct region *region, const struct node_id *node)
{
    struct kept_member *member = find(region, node->uid);
    struct kept_member kept = { 0 };
    struct kept_member *oldest;

    if (member && kept_member_is(member, node))
        kept = kept_member_again(member);
    else
        kept_member_set(&kept, &(struct member_info){ .node = *node });
    if (member)
        kept_members_remove(&region->members, member);
    if (region->gone.count < GONE_MAX) {
        vec_push(&region->gone, kept);
        return;
    }
    oldest = &region->gone.items[region->gone_next++ % GONE_MAX];
    kept_member_fini(oldest);
    *oldest = kept;
    region->counters.forgotten++;
}

void region_peer_removed(struct region *region, uint64_t now,
                         const struct node_id *node)
{
    if (node->uid == 0 || region_is_gone(region, node->uid))
        return;
    remember_gone(region, node);
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
    if (node->uid == region->oldest.uid)
        look_for_oldest(region, now);
    if (!region->registered && region->register_at == NEVER)
        start_registration(region, now);
}
