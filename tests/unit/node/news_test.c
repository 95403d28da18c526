/* Tests a crowd of new members: control announces a limited number in a turn, and cores that decide
 * by all members wait for the last one. */
#include "lone.h"

#include <stdio.h>

#include "actor/cluster.h"
#include "base/limits.h"
#include "member/gossip.h"
#include "member/wire.h"
#include "node/control/control.h"
#include "node/mail/mail.h"
#include "shard/coordinator_state.h"

#define OTHERS (5 * NEWS_OF_TURN_MAX)

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };

static struct node_id other(uint32_t number)
{
    struct node_id node = { .address = { .port = 2 }, .uid = 1000 + number };

    snprintf(node.address.host, sizeof node.address.host, "b%03u",
             (unsigned)number);
    return node;
}

/* All members are up. The oldest has the highest address, so it is announced last; this node, the
 * second oldest, comes first. */
static void put_members(struct gossip *gossip, uint32_t first, uint32_t end)
{
    for (uint32_t i = 0; i <= OTHERS; i++) {
        struct node_id node = i < OTHERS ? other(i) : self.node;
        int32_t up_number = i == OTHERS       ? 2
                            : i == OTHERS - 1 ? 1
                                              : 3 + (int32_t)i;
        struct profile *profile = profile_new(&self, &node, NULL, 0, "0.0.0");

        if (i == OTHERS || (i >= first && i < end))
            (void)gossip_add(gossip, profile, MEMBER_UP, up_number);
        else
            assert_true(gossip_add_tombstone(gossip, &node, 1));
        profile_drop(profile);
    }
}

/* A large gossip takes several steps. */
static void take_in(struct machine *machine)
{
    while (!member_deadline(machine->control->member))
        (void)member_step(machine->control->member, 1, 1, &machine->outbox);
}

static void receive(struct machine *machine, const struct node_id *from,
                    const char *manifest, const struct buf *payload)
{
    struct inbound inbound = { .from = *from,
                               .serializer = MEMBER_SERIALIZER,
                               .manifest = slice_text(manifest),
                               .payload = buf_slice(payload) };

    control_dispatch(machine->control, &inbound);
}

/* resolver: or null */
static struct node *welcomed(const struct sherd_entity_type *types,
                             uint32_t type_count,
                             const struct resolver_settings *resolver)
{
    struct node_settings settings = { .identity = self,
                                      .lanes = 1,
                                      .buffer_size = 100,
                                      .seed = 1,
                                      .types = types,
                                      .type_count = type_count,
                                      .resolves = resolver != NULL };
    const struct node_id from = other(0);
    char error[200];
    struct node *node;
    struct machine *machine;
    struct gossip gossip = { 0 };
    struct buf payload = { 0 };

    if (resolver)
        settings.resolver = *resolver;
    node = node_new(&settings, error, sizeof error);
    machine = node_machine(node, 0);
    machine->now = 1;
    assert_true(member_join(machine->control->member, 1, 1, &from.address,
                            &machine->outbox));
    put_members(&gossip, 0, OTHERS);
    wire_put_welcome(&self, &payload, &from, &gossip);
    receive(machine, &from, "W", &payload);
    take_in(machine);
    buf_fini(&payload);
    gossip_fini(&gossip);
    assert_int_equal(member_count(machine->control->member), OTHERS + 1);
    return node;
}

static struct node *welcomed_with(uint32_t type_count)
{
    static const char *const names[] = { "T", "U", "V" };
    struct sherd_entity_type types[3] = { { .name = NULL } };

    for (uint32_t i = 0; i < 3; i++)
        types[i] = (struct sherd_entity_type){
            .name = names[i],
            .shards = 8,
            .behavior = { .name = "t", .state_size = 8, .receive = lone_receive },
        };
    return welcomed(types, type_count, NULL);
}

/* A gossip arrives with one more change. */
static void gossip_comes(struct machine *machine, struct gossip *gossip,
                     uint32_t number)
{
    const struct node_id from = other(number);
    struct buf packed = { 0 }, payload = { 0 };

    clock_increment(&gossip->clock,
                    &gossip_find(gossip, &from)->profile->key);
    wire_put_gossip(&self, &packed, gossip);
    wire_put_envelope(&self, &payload, &from, &self.node, buf_slice(&packed));
    receive(machine, &from, "GE", &payload);
    buf_fini(&payload);
    buf_fini(&packed);
}

static void gossiped(struct machine *machine, struct gossip *gossip,
                     uint32_t number)
{
    gossip_comes(machine, gossip, number);
    take_in(machine);
    assert_int_equal(member_count(machine->control->member),
                     gossip->members.count);
}

/* A remaining member has removed the others. */
static void remove_others(struct machine *machine, uint32_t first,
                          uint32_t end)
{
    struct gossip gossip = { 0 };

    put_members(&gossip, first, end);
    gossiped(machine, &gossip, first);
    gossip_fini(&gossip);
}

static enum singleton_state state_of(const struct machine *machine)
{
    return singleton_state(machine->control->types[0].singleton);
}

static void members_are_announced_in_several_turns(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    uint32_t turns = 1, told = 0;
    (void)state;

    while (machine_turn(machine, 1, 1)) {
        assert_in_range(machine->control->turn.cost, 1, NEWS_OF_TURN_MAX);
        assert_int_equal(state_of(machine), SINGLETON_STARTING);
        told += machine->control->turn.cost;
        turns++;
    }
    assert_in_range(turns, OTHERS / NEWS_OF_TURN_MAX,
                    OTHERS / NEWS_OF_TURN_MAX + 3);
    assert_true(told >= OTHERS - NEWS_OF_TURN_MAX);
    assert_int_equal(state_of(machine), SINGLETON_YOUNGER);
    assert_false(machine_turn(machine, 1, 1));
    node_free(node);
}

/* Among those announced so far, this node is the oldest. */
static void a_hand_over_during_a_crowd_is_decided_by_all_members(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    struct inbound inbound = {
        .from = other(1),
        .serializer = SINGLETON_SERIALIZER,
        .manifest = slice_text("A"),
        .sender = slice_text(node->names[0].manager_path),
        .recipient = slice_text(node->names[0].manager_path)
    };
    (void)state;

    assert_true(machine_turn(machine, 1, 1));
    control_dispatch(machine->control, &inbound);
    assert_int_equal(state_of(machine), SINGLETON_YOUNGER);
    assert_null(machine->control->types[0].coordinator);
    node_free(node);
}

/* Returns a change among those that the lane got. */
static const struct cluster_change *change_at(const struct machine *machine,
                                              uint32_t index)
{
    const struct mail_queue *queue = &machine->outputs.mail[1];

    for (uint32_t i = queue->head; i < queue->mail.count; i++) {
        struct mail_content content = mail_open(&queue->mail.items[i]);

        if (content.kind == MAIL_CLUSTER && !index--)
            return mail_cluster_of(&content)->own.change;
    }
    return NULL;
}

static uint32_t told_of(const struct machine *machine,
                        enum cluster_change_kind kind)
{
    const struct cluster_change *change;
    uint32_t count = 0;

    for (uint32_t i = 0; (change = change_at(machine, i)) != NULL; i++)
        count += change->kind == kind;
    return count;
}

static uint32_t told_of_members(const struct machine *machine)
{
    return told_of(machine, CLUSTER_MEMBER);
}

/* The subscriber gets the state, and no event that the state contains. */
static void a_subscriber_during_a_crowd_gets_each_member_once(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    struct mail_content follow = mail_follow_new();
    (void)state;

    assert_true(machine_turn(machine, 1, 1));
    control_mail(machine->control, 0, &follow);
    assert_int_equal(told_of_members(machine), OTHERS + 1);
    while (machine_turn(machine, 1, 1))
        ;
    assert_int_equal(told_of_members(machine), OTHERS + 1);
    node_free(node);
}

static void turn_until_told(struct machine *machine)
{
    while (machine_turn(machine, 1, 1))
        ;
}

static void observed(struct gossip *gossip, uint32_t by, uint32_t whom,
                     enum reach status)
{
    const struct node_id observer = other(by), subject = other(whom);

    assert_true(reachability_change(&gossip->reachability,
                                    gossip_find(gossip, &observer)->profile,
                                    gossip_find(gossip, &subject)->profile,
                                    status));
}

/* As in Akka, both are announced, even if the second reverts the first. */
static void changes_of_two_gossips_give_two_events(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    struct gossip gossip = { 0 };
    (void)state;

    turn_until_told(machine);
    control_follow(machine->control, 0);
    put_members(&gossip, 0, OTHERS);
    observed(&gossip, 0, 1, UNREACHABLE);
    gossiped(machine, &gossip, 0);
    observed(&gossip, 0, 1, REACHABLE);
    gossiped(machine, &gossip, 0);
    turn_until_told(machine);
    assert_int_equal(told_of(machine, CLUSTER_UNREACHABLE), 1);
    assert_int_equal(told_of(machine, CLUSTER_REACHABLE), 1);
    assert_int_equal(member_counters(machine->control->member)->changes_merged, 0);
    gossip_fini(&gossip);
    node_free(node);
}

/* Returns how many events say that the member has the status. */
static uint32_t told_of_status(const struct machine *machine,
                               const struct node_id *member,
                               enum sherd_member_status status)
{
    const struct cluster_change *change;
    uint32_t count = 0;

    for (uint32_t i = 0; (change = change_at(machine, i)) != NULL; i++)
        count += change->kind == CLUSTER_MEMBER &&
                 change->member.status == status &&
                 node_equal(&change->member.node, member);
    return count;
}

/* A gossip waits to be announced while the resolver decides to down all members. */
static void a_decision_downs_members_after_the_events_that_wait(void **state)
{
    const struct resolver_settings resolver = {
        .strategy.kind = STRATEGY_KEEP_MAJORITY,
        .stable_after = SECOND,
        .unstable_after = SECOND,
    };
    const struct node_id leaving = other(2);
    struct node *node = welcomed(NULL, 0, &resolver);
    struct machine *machine = node_machine(node, 0);
    struct control *control = machine->control;
    struct gossip gossip = { 0 };
    (void)state;

    turn_until_told(machine);
    control_follow(control, 0);
    put_members(&gossip, 0, OTHERS);
    observed(&gossip, 0, 1, UNREACHABLE);
    gossiped(machine, &gossip, 0);
    turn_until_told(machine);
    gossip_find(&gossip, &leaving)->status = MEMBER_LEAVING;
    gossiped(machine, &gossip, 0);
    machine->now = 3 * SECOND; /* still not stable */
    downing_step(control);
    control_wire(control);
    while (machine_turn(machine, machine->now, 1))
        ;
    assert_int_equal(told_of_status(machine, &leaving, SHERD_LEAVING), 1);
    assert_int_equal(told_of_status(machine, &leaving, SHERD_DOWN), 1);
    assert_int_equal(member_counters(control->member)->changes_merged, 0);
    gossip_fini(&gossip);
    node_free(node);
}

static void a_member_that_joins_and_comes_up_gives_both_events(void **state)
{
    static const enum sherd_member_status statuses[] = {
        SHERD_JOINING, SHERD_UP, SHERD_LEAVING, SHERD_EXITING
    };
    const struct node_id joiner = other(900);
    struct profile *profile = profile_new(&self, &joiner, NULL, 0, "0.0.0");
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    struct gossip gossip = { 0 };
    uint32_t before;
    (void)state;

    turn_until_told(machine);
    control_follow(machine->control, 0);
    for (before = 0; change_at(machine, before) != NULL; before++)
        ;
    put_members(&gossip, 0, OTHERS);
    (void)gossip_add(&gossip, profile, MEMBER_JOINING, UP_NUMBER_NONE);
    gossiped(machine, &gossip, 0);
    gossip_find(&gossip, &joiner)->up_number = 5000;
    gossip_find(&gossip, &joiner)->status = MEMBER_UP;
    gossiped(machine, &gossip, 0);
    gossip_find(&gossip, &joiner)->status = MEMBER_LEAVING;
    gossiped(machine, &gossip, 0);
    gossip_find(&gossip, &joiner)->status = MEMBER_EXITING;
    gossiped(machine, &gossip, 0);
    turn_until_told(machine);
    for (uint32_t i = 0; i < 4; i++) {
        const struct cluster_change *change = change_at(machine, before + i);

        assert_non_null(change);
        assert_int_equal(change->kind, CLUSTER_MEMBER);
        assert_true(node_equal(&change->member.node, &joiner));
        assert_int_equal(change->member.status, statuses[i]);
    }
    assert_null(change_at(machine, before + 4));
    profile_drop(profile);
    gossip_fini(&gossip);
    node_free(node);
}

/* Events before the second gossip and in the turn after it are one turn's share. */
static void a_second_gossip_does_not_speed_up_a_crowd(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    struct gossip gossip = { 0 };
    (void)state;

    turn_until_told(machine);
    control_follow(machine->control, 0);
    put_members(&gossip, 0, OTHERS);
    for (uint32_t i = 2; i < OTHERS; i++)
        observed(&gossip, 0, i, UNREACHABLE);
    gossiped(machine, &gossip, 0);
    observed(&gossip, 0, 1, UNREACHABLE);
    gossiped(machine, &gossip, 0);
    observed(&gossip, 0, 1, REACHABLE);
    gossiped(machine, &gossip, 0);
    assert_true(machine_turn(machine, 1, 1));
    assert_int_equal(told_of(machine, CLUSTER_UNREACHABLE), NEWS_OF_TURN_MAX);
    turn_until_told(machine);
    assert_int_equal(told_of(machine, CLUSTER_UNREACHABLE), OTHERS - 2);
    /* node 1 had no event */
    assert_int_equal(member_counters(machine->control->member)->changes_merged, 1);
    gossip_fini(&gossip);
    node_free(node);
}

/* Each of them fills a turn: a due step waits for one, and no longer. */
static void many_news_and_a_step_have_separate_turns(void **state)
{
    const uint64_t due = 5 * SECOND;
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    const struct member_counters *counters =
        member_counters(machine->control->member);
    struct gossip gossip = { 0 };
    uint32_t waited = 0;
    bool more = true;
    (void)state;

    turn_until_told(machine);
    control_follow(machine->control, 0);
    put_members(&gossip, 0, OTHERS);
    for (uint32_t i = 2; i < OTHERS; i++)
        observed(&gossip, 0, i, UNREACHABLE);
    gossiped(machine, &gossip, 0);
    for (uint64_t now = due; more; now += SECOND) {
        uint32_t told = told_of(machine, CLUSTER_UNREACHABLE);
        uint64_t sent = counters->heartbeat_sent;
        bool is_due = member_deadline(machine->control->member) <= now;

        more = machine_turn(machine, now, 1);
        told = told_of(machine, CLUSTER_UNREACHABLE) - told;
        sent = counters->heartbeat_sent - sent;
        assert_true(told < NEWS_OF_TURN_MAX || !sent);
        waited = is_due && !sent ? waited + 1 : 0;
        assert_true(waited <= 2); /* one takes the gossip in */
    }
    assert_int_equal(told_of(machine, CLUSTER_UNREACHABLE), OTHERS - 2);
    gossip_fini(&gossip);
    node_free(node);
}

/* Each removal costs more work than another change. */
static void removals_take_more_turns(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    uint32_t turns = 1;
    (void)state;

    while (machine_turn(machine, 1, 1))
        ;
    remove_others(machine, OTHERS - 1, OTHERS);
    while (machine_turn(machine, 1, 1)) {
        assert_in_range(machine->control->turn.cost, NEWS_REMOVAL_COST,
                        NEWS_OF_TURN_MAX);
        assert_int_equal(machine->control->turn.cost % NEWS_REMOVAL_COST, 0);
        turns++;
    }
    assert_in_range(turns, OTHERS * NEWS_REMOVAL_COST / NEWS_OF_TURN_MAX,
                    OTHERS * NEWS_REMOVAL_COST / NEWS_OF_TURN_MAX + 3);
    assert_int_equal(state_of(machine), SINGLETON_YOUNGER);
    node_free(node);
}

static uint32_t coordinators(const struct machine *machine)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < machine->control->type_count; i++)
        count += machine->control->types[i].coordinator != NULL;
    return count;
}

/* Writes seven members; those with the highest addresses are gone or down. */
static void put_few(struct gossip *gossip, uint32_t gone,
                    enum member_status of_third, int32_t up_number)
{
    for (uint32_t i = 0; i <= 6; i++) {
        struct node_id node = i < 6 ? other(i) : self.node;
        struct profile *profile = profile_new(&self, &node, NULL, 0, "0.0.0");

        if (i < 6 && i >= 6 - gone)
            assert_true(gossip_add_tombstone(gossip, &node, 1));
        else if (i == 2)
            (void)gossip_add(gossip, profile, of_third, up_number);
        else
            (void)gossip_add(gossip, profile,
                             i >= 3 && i < 6 ? MEMBER_DOWN : MEMBER_UP,
                             i < 6 ? (int32_t)(3 + i) : 2);
        profile_drop(profile);
    }
}

/* In a small cluster three members are removed, and one comes up that the next gossip makes
 * leave. */
static void removals_hide_no_change_where_members_are_few(void **state)
{
    const struct node_settings settings = { .identity = self,
                                            .lanes = 1,
                                            .buffer_size = 100,
                                            .seed = 1 };
    const struct node_id from = other(0), third = other(2);
    char error[200];
    struct node *node = node_new(&settings, error, sizeof error);
    struct machine *machine = node_machine(node, 0);
    struct gossip gossip = { 0 };
    struct buf payload = { 0 };
    (void)state;

    machine->now = 1;
    assert_true(member_join(machine->control->member, 1, 1, &from.address,
                            &machine->outbox));
    put_few(&gossip, 0, MEMBER_JOINING, UP_NUMBER_NONE);
    wire_put_welcome(&self, &payload, &from, &gossip);
    receive(machine, &from, "W", &payload);
    take_in(machine);
    buf_fini(&payload);
    gossip_fini(&gossip);
    while (machine_turn(machine, 1, 1))
        ;
    control_follow(machine->control, 0);
    gossip = (struct gossip){ 0 };
    put_few(&gossip, 3, MEMBER_UP, 50);
    gossiped(machine, &gossip, 0);
    gossip_find(&gossip, &third)->status = MEMBER_LEAVING;
    gossiped(machine, &gossip, 0);
    while (machine_turn(machine, 1, 1))
        ;
    assert_int_equal(member_counters(machine->control->member)->changes_merged, 0);
    gossip_fini(&gossip);
    node_free(node);
}

/* This node becomes the oldest for all types at once; each coordinator hears of all members, and
 * asks most of them. */
static void one_coordinator_of_many_members_starts_or_reads_in_a_turn(void **state)
{
    struct node *node = welcomed_with(3);
    struct machine *machine = node_machine(node, 0);
    uint32_t turns = 0;
    (void)state;

    assert_in_range(OTHERS, WALKS_OF_TURN_MAX / 2 + 1, WALKS_OF_TURN_MAX);
    while (machine_turn(machine, 1, 1))
        ;
    assert_int_equal(coordinators(machine), 0);
    remove_others(machine, 0, OTHERS - 1);
    for (bool more = true; more;) {
        uint32_t started = coordinators(machine);
        uint32_t asked = machine->control->shard_data.calls.count;

        more = machine_turn(machine, 1, 1);
        started = coordinators(machine) - started;
        asked = machine->control->shard_data.calls.count - asked;
        assert_in_range(started + asked / 2, 0, 1); /* a state and its fences */
        assert_true(!(started + asked) ||
                    machine->control->turn.cost < NEWS_OF_TURN_MAX);
        turns++;
    }
    assert_int_equal(coordinators(machine), 3);
    assert_int_equal(machine->control->shard_data.calls.count, 6);
    assert_in_range(turns, 6, 8);
    node_free(node);
}

/* All removals are announced only in the next turn, which has no other work. */
static void a_turn_filled_by_its_last_removal_delays_a_coordinator_by_one(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    (void)state;

    while (machine_turn(machine, 1, 1))
        ;
    remove_others(machine, 0, OTHERS - NEWS_OF_TURN_MAX / NEWS_REMOVAL_COST);
    assert_true(machine_turn(machine, 1, 1));
    assert_int_equal(machine->control->turn.cost, NEWS_OF_TURN_MAX);
    assert_int_equal(coordinators(machine), 0);
    (void)machine_turn(machine, 1, 1);
    assert_int_equal(coordinators(machine), 1);
    node_free(node);
}

static void turn_to_the_end(struct machine *machine, uint64_t now)
{
    while (machine_turn(machine, now, 1))
        ;
}

/* Returns a coordinator that has read its state, and has something to write. */
static struct coordinator *writing(struct machine *machine)
{
    struct coordinator *coordinator = machine->control->types[0].coordinator;

    assert_non_null(coordinator);
    coordinator->state_store.is_read = coordinator->state_store.wants = true;
    turn_stir(&machine->control->turn);
    return coordinator;
}

/* This node has the coordinator, and the others are removed one by one. */
static struct node *with_coordinator(void)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);

    turn_to_the_end(machine, 1);
    remove_others(machine, 0, OTHERS - 1);
    turn_to_the_end(machine, 1);
    remove_others(machine, 1, OTHERS - 9); /* concurrent: it is merged */
    return node;
}

/* Each member of a crowd changes the writes. */
static void writes_wait_until_a_crowd_is_announced(void **state)
{
    struct node *node = with_coordinator();
    struct machine *machine = node_machine(node, 0);
    const struct coordinator *coordinator = writing(machine);
    (void)state;

    while (member_has_news(machine->control->member)) {
        assert_true(coordinator->state_store.wants);
        (void)machine_turn(machine, 1, 1);
    }
    turn_to_the_end(machine, 1);
    assert_false(coordinator->state_store.wants);
    assert_int_equal(machine->control->turn.crowd_until, 0); /* the next crowd has its own second */
    node_free(node);
}

/* The write comes in the turn after it, which has no events. */
static void no_write_waits_for_longer_than_a_second(void **state)
{
    struct node *node = with_coordinator();
    struct machine *machine = node_machine(node, 0);
    const struct coordinator *coordinator = writing(machine);
    (void)state;

    assert_true(machine_turn(machine, 1, 1));
    assert_true(machine_turn(machine, SECOND, 1));
    assert_true(coordinator->state_store.wants);
    assert_true(machine_turn(machine, SECOND + 1, 1));
    assert_true(coordinator->state_store.wants); /* a removal fills the turn */
    assert_true(machine_turn(machine, SECOND + 1, 1));
    assert_int_equal(machine->control->turn.cost, 0);
    assert_false(coordinator->state_store.wants);
    assert_true(member_has_news(machine->control->member));
    node_free(node);
}

/* The types' cores step in a later turn. */
static void types_do_not_step_beside_much_work(void **state)
{
    struct node *node = welcomed_with(1);
    struct machine *machine = node_machine(node, 0);
    struct control *control = machine->control;
    const struct region *region = control->types[0].region;
    struct gossip gossip = { 0 };
    uint64_t due, received;
    (void)state;

    turn_to_the_end(machine, 1);
    due = region_deadline(region);
    assert_in_range(due, 2, NEVER - 1);
    put_members(&gossip, 0, OTHERS);
    machine->now = due;
    gossip_comes(machine, &gossip, 0);
    received = member_counters(control->member)->gossip_received;
    for (int turns = 0; turns < 2; turns++) { /* it is read, and taken in */
        assert_int_equal(member_counters(control->member)->gossip_received, received);
        (void)machine_turn(machine, due, 1);
        assert_int_equal(region_deadline(region), due);
        assert_true(control_deadline(control) <= due);
    }
    assert_true(member_counters(control->member)->gossip_received > received);
    for (int turns = 0; region_deadline(region) <= due; turns++) {
        assert_in_range(turns, 0, 8);
        (void)machine_turn(machine, due, 1);
    }
    gossip_fini(&gossip);
    node_free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_announced_in_several_turns),
        cmocka_unit_test(many_news_and_a_step_have_separate_turns),
        cmocka_unit_test(removals_take_more_turns),
        cmocka_unit_test(removals_hide_no_change_where_members_are_few),
        cmocka_unit_test(one_coordinator_of_many_members_starts_or_reads_in_a_turn),
        cmocka_unit_test(a_turn_filled_by_its_last_removal_delays_a_coordinator_by_one),
        cmocka_unit_test(writes_wait_until_a_crowd_is_announced),
        cmocka_unit_test(no_write_waits_for_longer_than_a_second),
        cmocka_unit_test(types_do_not_step_beside_much_work),
        cmocka_unit_test(a_hand_over_during_a_crowd_is_decided_by_all_members),
        cmocka_unit_test(a_subscriber_during_a_crowd_gets_each_member_once),
        cmocka_unit_test(changes_of_two_gossips_give_two_events),
        cmocka_unit_test(a_decision_downs_members_after_the_events_that_wait),
        cmocka_unit_test(a_member_that_joins_and_comes_up_gives_both_events),
        cmocka_unit_test(a_second_gossip_does_not_speed_up_a_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
