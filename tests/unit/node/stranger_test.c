/* Tests which joiners a node accepts without TLS: those that answer at the address they claim. And
 * that nodes without an answer keep nobody out. */
#include "lone.h"

#include <stdio.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "base/limits.h"
#include "base/timers.h"
#include "journal/backend.h"
#include "member/profile.h"
#include "member/wire.h"
#include "node/control/control.h"
#include "node/lane/lane.h"

#define STRANGERS 4 /* the limit */
#define BATCH 64    /* handshakes between two turns */

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity joiner = { "akka", "S", { { "b", 2 }, 22 } };

/* A node that founded a cluster, and what it asks of the driver. */
struct fixture {
    struct node *node;
    struct machine *machine; /* control */
    uint64_t now;
    uint64_t link; /* the last one that is dialed; 0: none */
    uint32_t dialed, given_up; /* links */
    uint32_t closed;           /* connections */
};

static void turn(struct fixture *fixture)
{
    struct driver_request request;

    (void)machine_turn(fixture->machine, fixture->now, 0);
    while (machine_next_request(fixture->machine, &request))
        switch (request.kind) {
        case DRIVER_CONNECT:
            fixture->link = request.link;
            fixture->dialed++;
            break;
        case DRIVER_CLOSE_LINK:
            fixture->given_up++;
            break;
        case DRIVER_CLOSE_CONN:
            fixture->closed++;
            break;
        case DRIVER_STORE:
            journal_request_free(request.journal); /* there is no answer */
            break;
        default:
            break;
        }
}

static int setup(void **state)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);

    fixture->now = 1;
    fixture->node = lone_node((struct node_settings){ .identity = self,
                                                      .lanes = 1,
                                                      .strangers_max = STRANGERS,
                                                      .alone = true },
                              8);
    fixture->machine = node_machine(fixture->node, 0);
    machine_start(fixture->machine, 1, 0);
    turn(fixture);
    lone_accept(fixture->machine, 1, STREAM_CONTROL);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    node_free(fixture->node);
    mem_free(fixture);
    return 0;
}

/* As a JVM node: without generation. */
static void shake_as(struct machine *machine, uint64_t conn,
                     const struct identity *from, bool request)
{
    const struct handshake handshake = { 0 };
    struct buf payload = { 0 };

    if (request)
        handshake_request_put(&payload, from, &self.node.address, &handshake);
    else
        handshake_response_put(&payload, from, &handshake);
    lone_put(machine, conn, from, "", "",
             request ? ARTERY_HANDSHAKE_REQUEST : ARTERY_HANDSHAKE_RESPONSE,
             SERIALIZER_ARTERY, buf_slice(&payload));
    buf_fini(&payload);
}

static void shake(struct fixture *fixture, bool request)
{
    shake_as(fixture->machine, 1, &joiner, request);
}

/* No node listens at its address. */
static struct identity stranger(uint32_t number)
{
    struct identity identity = joiner;

    (void)snprintf(identity.node.address.host,
                   sizeof identity.node.address.host, "x%u", number);
    identity.node.uid = 1000 + number;
    return identity;
}

/* Each has a connection of its own. */
static void strangers_shake(struct fixture *fixture, struct machine *machine,
                            enum stream stream, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        const struct identity from = stranger(i);

        lone_accept(machine, 100 + i, stream);
        shake_as(machine, 100 + i, &from, true);
    }
    turn(fixture);
}

static struct machine *lane_of(struct fixture *fixture)
{
    return node_machine(fixture->node, 1);
}

static void carry_mail(struct machine *from, struct machine *to)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(from, to->index, &mail);

    machine_mail(to, from->now, mail, count);
    machine_sent(from, to->index, count);
}

static void join(struct fixture *fixture)
{
    struct profile *profile =
        profile_new(&joiner, &joiner.node, NULL, 0, "1.0");
    struct buf payload = { 0 };

    wire_put_join(&joiner, &payload, profile);
    lone_put(fixture->machine, 1, &joiner, "akka://S@a:1" MEMBER_DAEMON_PATH,
             "akka://S@b:2" MEMBER_DAEMON_PATH "#1", "J", MEMBER_SERIALIZER,
             buf_slice(&payload));
    buf_fini(&payload);
    profile_drop(profile);
}

static uint32_t members(const struct fixture *fixture)
{
    return member_count(fixture->machine->control->member);
}

static void a_joiner_that_answers_is_a_member(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(members(fixture), 1);
    shake(fixture, true);
    turn(fixture);
    assert_int_not_equal(fixture->link, 0);
    machine_connected(fixture->machine, fixture->now, fixture->link);
    turn(fixture);
    join(fixture); /* an honest joiner has our answer before our request is answered */
    turn(fixture);
    assert_int_equal(members(fixture), 1);
    shake(fixture, false);
    turn(fixture);
    assert_int_equal(members(fixture), 2);
}

static void a_join_after_the_answer_needs_no_second_one(void **state)
{
    struct fixture *fixture = *state;

    shake(fixture, true);
    turn(fixture);
    machine_connected(fixture->machine, fixture->now, fixture->link);
    shake(fixture, false);
    turn(fixture);
    machine_failed(fixture->machine, fixture->now, fixture->link, "lost");
    join(fixture);
    turn(fixture);
    assert_int_equal(members(fixture), 2);
}

/* The stranger's own answer proves nothing while nothing is at the address. */
static void a_joiner_without_a_listener_is_no_member(void **state)
{
    struct fixture *fixture = *state;

    shake(fixture, true);
    turn(fixture);
    shake(fixture, false);
    join(fixture);
    turn(fixture);
    machine_failed(fixture->machine, fixture->now, fixture->link,
                   "connection refused");
    shake(fixture, false);
    turn(fixture);
    assert_int_equal(members(fixture), 1);
    fixture->now += (JOIN_WAIT_MS + 1) * MS;
    turn(fixture);
    join(fixture);
    shake(fixture, false);
    turn(fixture);
    assert_int_equal(members(fixture), 1);
    /* lone_put comes at the start, so the second request is late, too */
    assert_int_equal(member_counters(fixture->machine->control->member)->dropped_unanswered, 2);
}

/* ---- too many strangers ---- */

static void the_oldest_strangers_make_room(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;
    uint64_t first;
    struct sherd_status status;

    strangers_shake(fixture, control, STREAM_CONTROL, 0, 1);
    first = fixture->link;
    strangers_shake(fixture, control, STREAM_CONTROL, 1, STRANGERS);
    assert_int_equal(fixture->dialed, STRANGERS + 1);
    assert_int_equal(fixture->given_up, 1); /* the dial of the oldest */
    assert_int_not_equal(fixture->link, first); /* the driver has yet to close that one */
    assert_int_equal(control->peers.strangers.count, STRANGERS);
    assert_int_equal(control->peers.sender_count, STRANGERS);
    assert_int_equal(fixture->closed, 0);
    fixture->now += STRANGERS_CLOSE_MS * MS + 1;
    turn(fixture);
    assert_int_equal(fixture->closed, 1); /* its connection, which it held open */
    assert_int_equal(control->inlets.count, 1 + STRANGERS);
    status = lone_status(fixture->node, 0);
    assert_int_equal(status.counters[SHERD_STRANGERS_FORGOTTEN], 1);
    assert_int_equal(status.counters[SHERD_FRAMES_REFUSED], 0);
    sherd_status_free(&status);
    strangers_shake(fixture, control, STREAM_CONTROL, 1 + STRANGERS, 1);
    assert_int_equal(fixture->link, first);
}

/* The driver reports what it sees of a connection before it takes the request to close it. */
static void late_reports_of_a_forgotten_strangers_link_are_ignored(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;
    struct slice bytes;
    uint64_t first;

    strangers_shake(fixture, control, STREAM_CONTROL, 0, 1);
    first = fixture->link;
    for (uint32_t i = 1; i <= STRANGERS; i++) {
        const struct identity from = stranger(i);

        lone_accept(control, 100 + i, STREAM_CONTROL);
        shake_as(control, 100 + i, &from, true);
    }
    machine_connected(control, fixture->now, first);
    assert_false(machine_pending(control, first, &bytes));
    machine_wrote(control, fixture->now, first, 1);
    machine_failed(control, fixture->now, first, "lost");
    turn(fixture);
    assert_int_equal(fixture->given_up, 1);
    assert_int_equal(fixture->dialed, STRANGERS + 1);
}

/* An honest one repeats its handshake each second. */
static void a_stranger_is_dialed_once_for_each_handshake(void **state)
{
    struct fixture *fixture = *state;

    shake(fixture, true);
    turn(fixture);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(fixture->dialed, i);
        machine_failed(fixture->machine, fixture->now, fixture->link, "refused");
        for (uint32_t j = 0; j < 20; j++) {
            fixture->now += SECOND / 5;
            turn(fixture);
        }
        assert_int_equal(fixture->dialed, i);
        shake(fixture, true);
        turn(fixture);
    }
}

/* As many as the table of peers has places, and one more. */
static void no_number_of_strangers_keeps_a_joiner_out(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    for (uint32_t i = 0; i <= PEERS_MAX; i += BATCH)
        strangers_shake(fixture, control, STREAM_CONTROL, i, BATCH);
    carry_mail(control, lane_of(fixture));
    a_joiner_that_answers_is_a_member(state);
    assert_true(control->peers.all.count <= STRANGERS + BATCH + 2);
    carry_mail(control, lane_of(fixture));
    assert_true(lane_of(fixture)->peers.heard.uids.count <= STRANGERS + 1);
}

static void a_member_is_never_forgotten(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;
    const struct peer *peer;

    a_joiner_that_answers_is_a_member(state);
    peer = peers_uid(&control->peers, joiner.node.uid);
    strangers_shake(fixture, control, STREAM_CONTROL, 0, 100);
    assert_ptr_equal(peers_uid(&control->peers, joiner.node.uid), peer);
    assert_int_equal(link_state(peer->links[0]), LINK_OPEN);
    assert_int_equal(control->inlets.count, 1 + 100); /* until they are closed */
    fixture->now += STRANGERS_CLOSE_MS * MS + 1;
    turn(fixture);
    assert_int_equal(control->inlets.count, 1 + STRANGERS);
}

/* Its handshakes come on connections that a lane reads. */
static void a_lane_forgets_what_control_forgets(void **state)
{
    struct fixture *fixture = *state;
    struct machine *lane = lane_of(fixture);

    strangers_shake(fixture, lane, STREAM_ORDINARY, 0, STRANGERS + 2);
    assert_int_equal(lane->peers.sender_count, STRANGERS + 2);
    carry_mail(lane, fixture->machine);
    turn(fixture);
    carry_mail(fixture->machine, lane);
    assert_int_equal(lane->peers.sender_count, STRANGERS);
    assert_null(peers_uid(&lane->peers, stranger(1).node.uid));
    assert_non_null(peers_uid(&lane->peers, stranger(2).node.uid));
    (void)machine_turn(lane, fixture->now, 0);
    assert_int_equal(lane->inlets.count, STRANGERS + 2);
    (void)machine_turn(lane, fixture->now + STRANGERS_CLOSE_MS * MS + 1, 0);
    assert_int_equal(lane->inlets.count, STRANGERS);
}

/* An actor that is watched there counts as ended. */
static void frames_for_a_forgotten_stranger_are_counted(void **state)
{
    struct fixture *fixture = *state;
    struct machine *lane = lane_of(fixture);
    const struct identity first = stranger(0);
    struct outbound message = { .to = first.node,
                                .recipient = slice_text("/user/x"),
                                .serializer = SERIALIZER_SHERD,
                                .manifest = slice_text("m1"),
                                .stream = STREAM_ORDINARY };
    struct sherd_status status;

    strangers_shake(fixture, lane, STREAM_ORDINARY, 0, 1);
    peer_links_send(&lane->links, &message);
    peer_links_send(&lane->links, &message);
    carry_mail(lane, fixture->machine);
    strangers_shake(fixture, fixture->machine, STREAM_CONTROL, 1, STRANGERS);
    carry_mail(fixture->machine, lane);
    assert_null(peers_uid(&lane->peers, first.node.uid));
    status = lone_status(fixture->node, 1);
    assert_int_equal(status.undelivered[SHERD_REASON_LINK_LOST], 2);
    sherd_status_free(&status);
}

/* ---- claims: the address of a node that answered, with another uid ---- */

#define CLAIM 50 /* the connection of the claim */

static const struct identity claimant = { "akka", "S", { { "b", 2 }, 23 } };

/* As a Sherd node. order: of the connection, which has that number. */
static void shake_by(struct machine *machine, uint64_t order, enum stream stream,
                     const struct identity *from, uint32_t lane)
{
    const struct handshake handshake = { .capabilities = CAPABILITY_SHERD,
                                         .lanes = 1,
                                         .lane = lane,
                                         .generation = order };
    struct buf payload = { 0 };

    handshake_request_put(&payload, from, &self.node.address, &handshake);
    lone_accept(machine, order, stream);
    lone_put(machine, order, from, "", "", ARTERY_HANDSHAKE_REQUEST,
             SERIALIZER_ARTERY, buf_slice(&payload));
    buf_fini(&payload);
}

/* Answers on the connection to `from`, or as if it did. */
static void respond_by(struct machine *machine, uint64_t order,
                       const struct identity *from, uint64_t generation)
{
    const struct handshake handshake = { .capabilities = CAPABILITY_SHERD,
                                         .lanes = 1,
                                         .generation = generation };
    struct buf payload = { 0 };

    handshake_response_put(&payload, from, &handshake);
    lone_put(machine, order, from, "", "", ARTERY_HANDSHAKE_RESPONSE,
             SERIALIZER_ARTERY, buf_slice(&payload));
    buf_fini(&payload);
}

static struct peer *peer_at(const struct fixture *fixture)
{
    return peers_find(&fixture->machine->peers, &joiner.node.address);
}

static uint64_t generation_of(const struct fixture *fixture)
{
    return link_generation(peer_at(fixture)->links[0]);
}

/* The joiner is a Sherd node that answered. Both machines know it. */
static void joiner_is_known(struct fixture *fixture)
{
    shake_by(fixture->machine, 2, STREAM_CONTROL, &joiner, 0);
    turn(fixture);
    machine_connected(fixture->machine, fixture->now, fixture->link);
    respond_by(fixture->machine, 2, &joiner, generation_of(fixture));
    turn(fixture);
    assert_true(peer_at(fixture)->has_answered);
    carry_mail(fixture->machine, lane_of(fixture));
    fixture->closed = fixture->dialed = fixture->given_up = 0;
}

/* Writes what the link to the joiner has; returns whether there was anything. */
static bool write_all(struct fixture *fixture)
{
    struct slice bytes;
    bool any = false;

    while (machine_pending(fixture->machine, fixture->link, &bytes)) {
        machine_wrote(fixture->machine, fixture->now, fixture->link, bytes.size);
        any = true;
    }
    return any;
}

static void a_claim_leaves_a_node_that_answered(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;
    struct peer *peer;

    joiner_is_known(fixture);
    (void)write_all(fixture);
    peer = peer_at(fixture);
    shake_by(control, CLAIM, STREAM_CONTROL, &claimant, 0);
    respond_by(control, CLAIM, &claimant, 0);                          /* as a JVM */
    respond_by(control, CLAIM, &claimant, generation_of(fixture) - 1); /* a guess */
    turn(fixture);
    assert_int_equal(peer->uid, joiner.node.uid);
    assert_non_null(peers_sender(&control->peers, joiner.node.uid));
    assert_int_equal(link_state(peer->links[0]), LINK_OPEN);
    assert_int_equal(fixture->dialed + fixture->given_up + fixture->closed, 0);
    assert_true(write_all(fixture)); /* a request to the node, and no answer to the claim */
    respond_by(control, 2, &joiner, generation_of(fixture));
    turn(fixture);
    fixture->now += 2 * LINK_DOUBT_MS * MS;
    turn(fixture);
    assert_int_equal(link_state(peer->links[0]), LINK_OPEN);
    fixture->now += INLET_HANDSHAKE_MS * MS;
    turn(fixture);
    assert_null(machine_place(control, CLAIM));
    assert_non_null(machine_place(control, 2));
    assert_int_equal(peer->uid, joiner.node.uid);
}

/* Its process has ended: the connection to it breaks. */
static void a_restarted_node_is_known_when_it_answers(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine, *lane = lane_of(fixture);

    joiner_is_known(fixture);
    machine_failed(control, fixture->now, fixture->link, "lost");
    fixture->now += 2 * SECOND;
    turn(fixture);
    shake_by(control, CLAIM, STREAM_CONTROL, &claimant, 0);
    shake_by(lane, CLAIM + 1, STREAM_ORDINARY, &claimant, 1);
    carry_mail(lane, control);
    turn(fixture);
    assert_int_equal(fixture->dialed, 1);
    carry_mail(control, lane);
    assert_null(peers_sender(&lane->peers, claimant.node.uid));
    machine_connected(control, fixture->now, fixture->link);
    respond_by(control, CLAIM, &claimant, generation_of(fixture));
    turn(fixture);
    assert_int_equal(peer_at(fixture)->uid, claimant.node.uid);
    assert_non_null(peers_sender(&control->peers, claimant.node.uid));
    carry_mail(control, lane);
    assert_non_null(peers_sender(&lane->peers, claimant.node.uid));
    assert_int_equal(control->claims.count + lane->claims.count, 0);
    carry_mail(lane, control); /* the lane's handshake, to be answered */
    turn(fixture);
    assert_int_equal(associations_counts(control->control->associations).handshakes,
                     3); /* the joiner's, and both of the claimant */
    fixture->now += INLET_HANDSHAKE_MS * MS;
    turn(fixture);
    (void)machine_turn(lane, fixture->now, 0);
    assert_non_null(machine_place(control, CLAIM));
    assert_non_null(machine_place(lane, CLAIM + 1));
}

/* Its host is gone without a word, and another one has the address. */
static void a_node_that_moved_is_known_when_the_old_one_is_silent(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    joiner_is_known(fixture);
    shake_by(control, CLAIM, STREAM_CONTROL, &claimant, 0);
    turn(fixture);
    assert_int_equal(fixture->dialed, 0);
    fixture->now += LINK_DOUBT_MS * MS;
    turn(fixture);
    assert_int_equal(fixture->given_up, 1);
    assert_int_equal(fixture->dialed, 1);
    machine_connected(control, fixture->now, fixture->link);
    respond_by(control, CLAIM, &claimant, generation_of(fixture));
    turn(fixture);
    assert_int_equal(peer_at(fixture)->uid, claimant.node.uid);
}

/* Passes in one of Artery's messages at the fixture's time. */
static void put_now(struct fixture *fixture, uint64_t conn,
                    const struct identity *from, const char *manifest,
                    const struct buf *payload)
{
    struct envelope_head head = { 0 };
    struct buf bytes = { 0 };

    assert_true(envelope_head_init(&head, from, NULL, slice_text(""),
                                   slice_text(manifest), SERIALIZER_ARTERY));
    envelope_head_put(&bytes, &head, slice_text(""), buf_slice(payload));
    machine_bytes(fixture->machine, fixture->now, conn, buf_slice(&bytes));
    envelope_head_fini(&head);
    buf_fini(&bytes);
}

/* A JVM's answer names no connection, so it could be anybody's. A Sherd node would have named it. */
static void a_jvm_waits_until_a_sherd_node_at_its_address_is_removed(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    joiner_is_known(fixture);
    machine_failed(control, fixture->now, fixture->link, "lost");
    fixture->now += 2 * SECOND;
    turn(fixture);
    lone_accept(control, CLAIM, STREAM_CONTROL);
    shake_as(control, CLAIM, &claimant, true);
    turn(fixture);
    machine_connected(control, fixture->now, fixture->link);
    shake_as(control, CLAIM, &claimant, false);
    turn(fixture);
    assert_int_equal(peer_at(fixture)->uid, joiner.node.uid);
    associations_quarantine(control->control->associations, &joiner.node);
    shake_as(control, CLAIM, &claimant, true); /* it repeats its request */
    shake_as(control, CLAIM, &claimant, false);
    turn(fixture);
    assert_int_equal(peer_at(fixture)->uid, claimant.node.uid);
    assert_true(peer_at(fixture)->has_answered);
}

static void a_jvm_replaces_a_jvm_by_an_answer(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    a_joiner_that_answers_is_a_member(state);
    lone_accept(control, CLAIM, STREAM_CONTROL);
    shake_as(control, CLAIM, &claimant, true);
    shake_as(control, CLAIM, &claimant, false);
    turn(fixture);
    assert_int_equal(peer_at(fixture)->uid, joiner.node.uid); /* the link to it is open */
    machine_failed(control, fixture->now, fixture->link, "lost");
    fixture->now += 2 * SECOND;
    turn(fixture);
    shake_as(control, CLAIM, &claimant, true);
    turn(fixture);
    machine_connected(control, fixture->now, fixture->link);
    shake_as(control, CLAIM, &claimant, false);
    turn(fixture);
    assert_int_equal(peer_at(fixture)->uid, claimant.node.uid);
}

static void the_number_of_waiting_claims_is_limited(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    joiner_is_known(fixture);
    for (uint32_t i = 0; i <= CLAIMS_MAX; i++) {
        struct identity life = claimant;

        life.node.uid = 100 + i;
        assert_int_equal(fixture->closed, 0);
        shake_by(control, CLAIM + i, STREAM_CONTROL, &life, 0);
        turn(fixture);
    }
    assert_int_equal(control->claims.count, CLAIMS_MAX);
    assert_int_equal(fixture->closed, 1);
    assert_null(machine_place(control, CLAIM));
    assert_non_null(machine_place(control, CLAIM + CLAIMS_MAX));
    assert_int_equal(peer_at(fixture)->uid, joiner.node.uid);
}

/* ---- a removed member ---- */

/* Returns how often the notice is among the bytes for the last dialed link. */
static uint32_t notices(struct fixture *fixture, bool has_preamble)
{
    static const struct inlet_options options = { .magics = { "AKKA" } };
    struct inlet *inlet = inlet_new(0, &options);
    struct slice bytes, frame;
    uint32_t count = 0;

    if (!has_preamble) {
        inlet_receive(inlet, slice_of("AKKA\x01", 5));
        (void)inlet_batch(inlet, &frame, 1);
    }
    while (machine_pending(fixture->machine, fixture->link, &bytes)) {
        size_t size = bytes.size;

        inlet_receive(inlet, bytes);
        while (inlet_batch(inlet, &frame, 1)) {
            struct envelope envelope;

            assert_int_equal(envelope_read(frame, NULL, &envelope), ENVELOPE_OK);
            inlet_accept(inlet, self.node.uid, 0, 0);
            count += envelope_is(&envelope, SERIALIZER_ARTERY, ARTERY_QUARANTINED);
        }
        machine_wrote(fixture->machine, fixture->now, fixture->link, size);
    }
    inlet_free(inlet);
    return count;
}

/* The joiner's handshake on that connection. */
static void hello_at(struct fixture *fixture, uint64_t conn)
{
    const struct handshake handshake = { .capabilities = CAPABILITY_SHERD,
                                         .lanes = 1,
                                         .generation = conn };
    struct buf payload = { 0 };

    handshake_request_put(&payload, &joiner, &self.node.address, &handshake);
    lone_accept(fixture->machine, conn, STREAM_CONTROL);
    put_now(fixture, conn, &joiner, ARTERY_HANDSHAKE_REQUEST, &payload);
    buf_fini(&payload);
}

/* It was downed without ever having connected here. */
static void a_removed_member_that_connects_later_is_notified(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    control_remember(control->control, joiner.node.uid);
    peers_forget(&control->peers, joiner.node.uid);
    control->control->notified_at = 0;
    fixture->now = 2 * SECOND;
    control->control->removed_at_once.count = 0;
    hello_at(fixture, 2);
    turn(fixture);
    assert_int_equal(fixture->closed, 1);
    assert_int_equal(fixture->dialed, 1);
    machine_connected(control, fixture->now, fixture->link);
    assert_int_equal(notices(fixture, true), 1);
    hello_at(fixture, 3); /* not twice in a second */
    turn(fixture);
    assert_int_equal(fixture->closed, 2);
    assert_int_equal(notices(fixture, false), 0);
    fixture->now += SECOND;
    hello_at(fixture, 4);
    turn(fixture);
    assert_int_equal(notices(fixture, false), 1);
}

/* The next incarnation is at its address. */
static void a_notice_goes_to_no_other_incarnation(void **state)
{
    struct fixture *fixture = *state;
    struct machine *control = fixture->machine;

    joiner_is_known(fixture);
    (void)write_all(fixture);
    control_remember(control->control, claimant.node.uid);
    peers_forget(&control->peers, claimant.node.uid);
    fixture->now = 2 * SECOND;
    shake_by(control, 7, STREAM_CONTROL, &claimant, 0);
    turn(fixture);
    assert_int_equal(fixture->closed, 1);
    assert_int_equal(fixture->dialed, 0);
    assert_false(write_all(fixture));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_joiner_that_answers_is_a_member),
        TEST(a_join_after_the_answer_needs_no_second_one),
        TEST(a_joiner_without_a_listener_is_no_member),
        TEST(the_oldest_strangers_make_room),
        TEST(late_reports_of_a_forgotten_strangers_link_are_ignored),
        TEST(a_stranger_is_dialed_once_for_each_handshake),
        TEST(no_number_of_strangers_keeps_a_joiner_out),
        TEST(a_member_is_never_forgotten),
        TEST(a_lane_forgets_what_control_forgets),
        TEST(frames_for_a_forgotten_stranger_are_counted),
        TEST(a_claim_leaves_a_node_that_answered),
        TEST(a_restarted_node_is_known_when_it_answers),
        TEST(a_node_that_moved_is_known_when_the_old_one_is_silent),
        TEST(a_jvm_waits_until_a_sherd_node_at_its_address_is_removed),
        TEST(a_jvm_replaces_a_jvm_by_an_answer),
        TEST(the_number_of_waiting_claims_is_limited),
        TEST(a_removed_member_that_connects_later_is_notified),
        TEST(a_notice_goes_to_no_other_incarnation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
