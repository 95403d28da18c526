/* Tests members that are no Sherd nodes (a handshake without capabilities), and roles of entity
 * types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "journal/backend.h"
#include "member/wire.h"
#include "node/control/control.h"
#include "shard/coordinator_state.h"
#include "shard/region_inside.h"

#define DAEMON MEMBER_DAEMON_PATH
#define CONNECTION 1

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity other = { "akka", "S", { { "b", 2 }, 22 } };
static const char *const plain_roles[] = { "dc-default" };
static const char *const native_roles[] = { "dc-default", "native" };

struct fixture {
    struct node *node;
    struct machine *machine; /* control */
    uint64_t now;
    int error;   /* 1 = it has not ended */
    bool logged; /* a role is shared */
};

static enum sherd_next nothing(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    (void)ctx;
    (void)state;
    (void)msg;
    return SHERD_CONTINUE;
}

/* role: of the type; empty: all nodes. */
static void open_node(struct fixture *fixture, const char *role, bool alone)
{
    const struct sherd_entity_type type = {
        .name = "T",
        .role = role,
        .behavior = { .name = "t", .state_size = 8, .receive = nothing },
    };
    struct node_settings settings = { .identity = self,
                                      .lanes = 1,
                                      .seed = 1,
                                      .alone = alone,
                                      .roles = native_roles + 1,
                                      .role_count = 1,
                                      .types = &type,
                                      .type_count = 1,
                                      .trace_level = TRACE_INFO,
                                      .number_of_shards = 10 };
    char error[200];

    *fixture = (struct fixture){ .now = SECOND, .error = 1 };
    fixture->node = node_new(&settings, error, sizeof error);
    assert_non_null(fixture->node);
    fixture->machine = node_machine(fixture->node, 0);
    machine_start(fixture->machine, fixture->now, 0);
}

static void put(struct fixture *fixture, bool to_daemon, const char *manifest,
                int32_t serializer, const struct buf *payload)
{
    struct envelope_head head = { 0 };
    struct buf bytes = { 0 };

    assert_true(envelope_head_init(
        &head, &other, NULL,
        slice_text(to_daemon ? "akka://S@a:1" DAEMON : ""),
        slice_text(manifest), serializer));
    envelope_head_put(&bytes, &head,
                      slice_text(to_daemon ? "akka://S@b:2" DAEMON "#7" : ""),
                      buf_slice(payload));
    machine_bytes(fixture->machine, fixture->now, CONNECTION,
                  buf_slice(&bytes));
    envelope_head_fini(&head);
    buf_fini(&bytes);
}

/* The other node listens at its address. */
static void answer(struct fixture *fixture, uint64_t link)
{
    const struct handshake handshake = { 0 };
    struct buf bytes = { 0 };

    machine_connected(fixture->machine, fixture->now, link);
    handshake_response_put(&bytes, &other, &handshake);
    put(fixture, false, ARTERY_HANDSHAKE_RESPONSE, SERIALIZER_ARTERY, &bytes);
    buf_fini(&bytes);
}

static void run(struct fixture *fixture, uint64_t time)
{
    const uint64_t end = fixture->now + time;
    struct trace_line line;
    struct driver_request request;

    for (; fixture->now < end; fixture->now += 20 * MS) {
        (void)machine_turn(fixture->machine, fixture->now,
                           (int64_t)(fixture->now / MS));
        while (machine_next_request(fixture->machine, &request))
            if (request.kind == DRIVER_END)
                fixture->error = request.error;
            else if (request.kind == DRIVER_STORE)
                journal_request_free(request.journal); /* there is no answer */
            else if (request.kind == DRIVER_CONNECT)
                answer(fixture, request.link);
        while (trace_next(machine_trace(fixture->machine), &line))
            fixture->logged |= strstr(line.text, "JVM member has the role") != NULL;
    }
}

/* The other node connects, with these capabilities. */
static void greet(struct fixture *fixture, uint64_t capabilities)
{
    struct handshake handshake = { .capabilities = capabilities,
                                   .lanes = capabilities ? 1 : 0,
                                   .generation = capabilities ? 5 : 0 };
    struct buf bytes = { 0 };

    machine_accepted(fixture->machine, fixture->now, &(struct arrival){ CONNECTION, CONNECTION, "x:9" });
    buf_put_text(&bytes, "AKKA");
    buf_put_u8(&bytes, STREAM_CONTROL);
    machine_bytes(fixture->machine, fixture->now, CONNECTION,
                  buf_slice(&bytes));
    buf_clear(&bytes);
    handshake_request_put(&bytes, &other, &self.node.address, &handshake);
    put(fixture, false, ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY, &bytes);
    buf_fini(&bytes);
}

static void meet(struct fixture *fixture, uint64_t capabilities)
{
    greet(fixture, capabilities);
    run(fixture, SECOND);
}

/* The other node is up already. */
static void join(struct fixture *fixture, const char *const *roles,
                 uint32_t role_count, enum member_status status)
{
    struct profile *there =
        profile_new(&other, &other.node, roles, role_count, "0.0.0");
    struct profile *here =
        profile_new(&self, &self.node, native_roles, 2, "0.0.0");
    struct control *control = fixture->machine->control;
    struct gossip gossip = { 0 };
    struct buf payload = { 0 };

    assert_true(member_join(control->member, fixture->now, 0,
                            &other.node.address, &fixture->machine->outbox));
    (void)gossip_add(&gossip, there, MEMBER_UP, 1);
    (void)gossip_add(&gossip, here, status,
                     status == MEMBER_UP ? 2 : UP_NUMBER_NONE);
    wire_put_welcome(&other, &payload, &other.node, &gossip);
    put(fixture, true, "W", MEMBER_SERIALIZER, &payload);
    buf_fini(&payload);
    gossip_fini(&gossip);
    profile_drop(there);
    profile_drop(here);
    run(fixture, SECOND);
    assert_int_equal(member_count(control->member), 2);
}

/* This node is up already. */
static void take_in(struct fixture *fixture)
{
    struct profile *there =
        profile_new(&other, &other.node, native_roles, 2, "0.0.0");
    struct buf payload = { 0 };

    wire_put_join(&other, &payload, there);
    put(fixture, true, "J", MEMBER_SERIALIZER, &payload);
    buf_fini(&payload);
    profile_drop(there);
    run(fixture, SECOND);
    assert_int_equal(member_count(fixture->machine->control->member), 2);
}

static enum member_status own_status(const struct fixture *fixture)
{
    return member_self(fixture->machine->control->member)->status;
}

/* It leaves once it is up: before, its up number would be lost. The other node does not help, so it
 * ends by time-out. */
static void the_younger_of_two_kinds_leaves(void **state)
{
    static const struct {
        const char *role;
        const char *const *roles;
        uint32_t role_count;
    } cases[] = { { "", plain_roles, 1 }, { "native", native_roles, 2 } };
    struct fixture fixture;
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_node(&fixture, cases[i].role, false);
        meet(&fixture, 0);
        assert_false(fixture.logged);
        join(&fixture, cases[i].roles, cases[i].role_count, MEMBER_JOINING);
        assert_true(fixture.logged);
        run(&fixture, 5 * SECOND);
        assert_int_equal(own_status(&fixture), MEMBER_JOINING);
        node_free(fixture.node);

        open_node(&fixture, cases[i].role, false);
        meet(&fixture, 0);
        join(&fixture, cases[i].roles, cases[i].role_count, MEMBER_UP);
        assert_true(fixture.logged);
        run(&fixture, 5 * SECOND);
        assert_int_equal(own_status(&fixture), MEMBER_LEAVING);
        /* a JVM coordinator is none */
        assert_false(region_is_candidate(fixture.machine->control->types[0].region, &other.node));
        run(&fixture, 120 * SECOND);
        assert_int_equal(fixture.error, SHERD_EJOIN);
        node_free(fixture.node);
    }
}

static void sherd_nodes_share_roles(void **state)
{
    struct fixture fixture;
    (void)state;

    open_node(&fixture, "", false);
    meet(&fixture, CAPABILITY_SHERD);
    join(&fixture, plain_roles, 1, MEMBER_JOINING);
    run(&fixture, 5 * SECOND);
    assert_false(fixture.logged);
    assert_int_equal(own_status(&fixture), MEMBER_JOINING);
    node_free(fixture.node);
}

/* It also holds with a subscriber, which gets the newcomer's event before the handshake is
 * handled. */
static void a_jvm_that_joins_right_after_its_handshake_is_known(void **state)
{
    struct profile *there =
        profile_new(&other, &other.node, native_roles, 2, "0.0.0");
    struct fixture fixture;
    struct buf payload = { 0 };
    struct control *control;
    (void)state;

    open_node(&fixture, "native", true);
    run(&fixture, 3 * SECOND);
    control = fixture.machine->control;
    control_follow(control, 0);
    greet(&fixture, CAPABILITY_SHERD);
    wire_put_join(&other, &payload, there);
    put(&fixture, true, "J", MEMBER_SERIALIZER, &payload);
    put(&fixture, true, "J", MEMBER_SERIALIZER, &payload);
    run(&fixture, SECOND);
    assert_int_equal(member_count(control->member), 2);
    assert_false(fixture.logged);
    assert_false(coordinator_member_of(control->types[0].coordinator,
                                       &other.node)
                     ->is_jvm);
    buf_fini(&payload);
    profile_drop(there);
    node_free(fixture.node);
}

static void a_role_without_jvm_members_is_accepted(void **state)
{
    struct fixture fixture;
    (void)state;

    open_node(&fixture, "native", false);
    meet(&fixture, 0);
    join(&fixture, plain_roles, 1, MEMBER_JOINING);
    run(&fixture, 5 * SECOND);
    assert_false(fixture.logged);
    assert_int_equal(own_status(&fixture), MEMBER_JOINING);
    node_free(fixture.node);
}

/* The JVM node has wrong settings. */
static void the_older_of_two_kinds_stays(void **state)
{
    struct fixture fixture;
    (void)state;

    open_node(&fixture, "native", true);
    run(&fixture, 3 * SECOND);
    assert_int_equal(own_status(&fixture), MEMBER_UP);
    meet(&fixture, 0);
    take_in(&fixture);
    assert_true(fixture.logged);
    fixture.logged = false;
    run(&fixture, 10 * SECOND);
    assert_false(fixture.logged); /* logged once */
    assert_true(coordinator_member_of(fixture.machine->control->types[0].coordinator,
                                      &other.node)
                    ->has_answered); /* its regions are not asked */
    assert_int_equal(own_status(&fixture), MEMBER_UP);
    assert_int_equal(fixture.error, 1);
    node_free(fixture.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_younger_of_two_kinds_leaves),
        cmocka_unit_test(sherd_nodes_share_roles),
        cmocka_unit_test(a_jvm_that_joins_right_after_its_handshake_is_known),
        cmocka_unit_test(a_role_without_jvm_members_is_accepted),
        cmocka_unit_test(the_older_of_two_kinds_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
