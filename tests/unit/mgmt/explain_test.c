/* Tests each rule of `explain`: the facts that make it hold, and its sentence; and that docs/guide/explain.md lists
 * all rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/check.h"
#include "look/kinds.h"
#include "mgmt/explain.h"

static bool was_seen[RULE_COUNT];

/* ---- facts ---- */

static struct facts facts[API_ASKS_ROOM];
static uint32_t kinds;
static struct api_request request;

static void clear(void)
{
    for (uint32_t i = 0; i < kinds; i++)
        facts_free(&facts[i]);
    memset(facts, 0, sizeof facts);
    kinds = 0;
    memset(&request, 0, sizeof request);
    request.route = API_EXPLAIN_ROUTE;
    request.self = "h:1";
}

static void ask(const char *of, const char *type, const char *shard, const char *id)
{
    clear();
    request.words[API_OF] = (char *)(uintptr_t)of;
    request.words[API_TYPE] = (char *)(uintptr_t)type;
    request.words[API_SHARD] = (char *)(uintptr_t)shard;
    request.words[API_ID] = (char *)(uintptr_t)id;
}

/* The facts of a kind, which the member has told. */
static struct facts *table(enum sherd_look_kind kind, const char *node)
{
    struct sherd_look_part part = { .uid = 1, .state = SHERD_LOOK_OK, .wall_ms = 1 };
    struct facts *of = NULL;

    for (uint32_t i = 0; i < kinds; i++)
        if (facts[i].kind == kind)
            of = &facts[i];
    if (!of) {
        of = &facts[kinds++];
        of->kind = kind;
        (void)sherd_look_columns(kind, &of->columns);
    }
    if (!facts_part_of(of, slice_text(node))) {
        (void)snprintf(part.address, sizeof part.address, "%s", node);
        vec_push(&of->parts, part);
    }
    return of;
}

/* Adds a row, without values. */
static struct facts *row(enum sherd_look_kind kind, const char *node)
{
    struct facts *of = table(kind, node);

    for (uint32_t i = 0; i < of->columns; i++)
        vec_push(&of->values, ((struct fact){ .is_known = false }));
    vec_push(&of->row_parts, (uint32_t)(facts_part_of(of, slice_text(node)) - of->parts.items));
    return of;
}

static struct fact *last(struct facts *of, uint32_t column)
{
    return &of->values.items[(of->row_parts.count - 1) * of->columns + column];
}

static void number(struct facts *of, uint32_t column, uint64_t value)
{
    *last(of, column) = (struct fact){ .is_known = true, .number = value };
}

static void text(struct facts *of, uint32_t column, const char *value)
{
    *last(of, column) = (struct fact){ .is_known = true, .at = (uint32_t)of->bytes.size, .size = (uint32_t)strlen(value) };
    buf_put_text(&of->bytes, value);
}

/* ---- findings ---- */

static json_t *answer(void)
{
    struct buf body = { 0 };
    json_t *root;

    assert_int_equal(explain_answer(&request, facts, kinds, &body), ERROR_NONE);
    root = json_loadb((const char *)body.data, body.size, 0, NULL);
    assert_non_null(root);
    buf_fini(&body);
    return root;
}

/* Asserts that exactly these rules hold, in their order. */
static void assert_rules(const char *names)
{
    json_t *root = answer(), *finding;
    char found[128] = "";
    size_t i, size = 0;

    json_array_foreach(json_object_get(root, "findings"), i, finding) {
        const char *name = json_string_value(json_object_get(finding, "rule"));

        size += (size_t)snprintf(found + size, sizeof found - size, "%s%s", size ? " " : "", name);
        for (int rule = 0; rule < RULE_COUNT; rule++)
            was_seen[rule] |= strcmp(name, explain_rule_text((enum explain_rule)rule)) == 0;
    }
    json_decref(root);
    assert_string_equal(found, names);
}

/* Asserts a field of the first finding. */
static void assert_says(const char *field, const char *wanted)
{
    json_t *root = answer();

    assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(root, "findings"), 0), field)),
                        wanted);
    json_decref(root);
}

/* ---- nodes ---- */

static struct facts *add_member(const char *viewer, const char *address, const char *status)
{
    struct facts *of = row(SHERD_LOOK_MEMBERS, viewer);

    text(of, LOOK_MEMBERS_ADDRESS, address);
    text(of, LOOK_MEMBERS_STATUS, status);
    text(of, LOOK_MEMBERS_VERSION, "1.0");
    number(of, LOOK_MEMBERS_REACHABLE, 1);
    number(of, LOOK_MEMBERS_SEEN, 1);
    number(of, LOOK_MEMBERS_JVM, 0);
    return of;
}

static void nodes_are_explained(void **state)
{
    struct facts *of;

    (void)state;
    ask("node", NULL, NULL, NULL);
    request.words[API_NODE] = (char *)(uintptr_t)"akka://S@h:2";
    add_member("h:1", "h:1", "up");
    add_member("h:1", "h:2", "up");
    assert_rules("");
    text(facts, LOOK_MEMBERS_STATUS, "joining");
    of = row(SHERD_LOOK_CONFIG, "h:2");
    text(of, LOOK_CONFIG_KEY, "cluster.min-nr-of-members");
    text(of, LOOK_CONFIG_VALUE, "3");
    assert_rules("N3");
    assert_says("cause", "2 of at least 3 members are there");
    of = add_member("h:1", "h:3", "up");
    number(of, LOOK_MEMBERS_SEEN, 0);
    assert_rules("N4");
    assert_says("remedy", "bring h:3 back, or down it");
    number(add_member("h:3", "h:2", "joining"), LOOK_MEMBERS_REACHABLE, 0);
    of = row(SHERD_LOOK_TIMELINE, "h:3");
    text(of, LOOK_TIMELINE_EVENT, "unreachable");
    text(of, LOOK_TIMELINE_MEMBER, "h:2");
    number(of, LOOK_TIMELINE_TIME, 1796000000123);
    assert_rules("N6 N4");
    assert_says("cause", "h:3 does not reach it, since 2026-11-30T00:53:20.123Z");

    ask("node", NULL, NULL, NULL);
    add_member("h:1", "h:1", "weakly up");
    number(add_member("h:1", "h:2", "up"), LOOK_MEMBERS_SEEN, 0);
    assert_rules("N5");
    assert_says("text", "h:1 is up in part (WeaklyUp), and hosts nothing");

    ask("node", NULL, NULL, NULL);
    add_member("h:1", "h:1", "leaving");
    number(row(SHERD_LOOK_TYPES, "h:1"), LOOK_TYPES_HOSTED, 4);
    assert_rules("N14");
    assert_says("cause", "4 shards are left to hand off");
    clear();
}

static void a_node_outside_is_explained(void **state)
{
    struct facts *of;

    (void)state;
    ask("node", NULL, NULL, NULL);
    (void)row(SHERD_LOOK_NODES, "h:1");
    of = table(SHERD_LOOK_CONFIG, "h:1");
    assert_rules("N1");
    (void)row(SHERD_LOOK_CONFIG, "h:1");
    text(of, LOOK_CONFIG_KEY, "cluster.seed-nodes");
    text(of, LOOK_CONFIG_VALUE, "[\"h:2\"]");
    assert_rules("N2");
    assert_says("cause", "it asks its seed nodes [\"h:2\"]");
    of->is_partial = true; /* a setting may be missing */
    assert_rules("");
    clear();
}

static void a_busy_node_is_explained(void **state)
{
    struct facts *of;

    (void)state;
    ask("node", NULL, NULL, NULL);
    of = row(SHERD_LOOK_NODES, "h:1");
    text(of, LOOK_NODES_STATUS, "up");
    assert_rules("");
    number(of, LOOK_NODES_STALLED_LANE, 1);
    number(of, LOOK_NODES_STALLED, 7200);
    assert_rules("N10");
    assert_says("text", "lane 1 of h:1 is blocked");
    assert_says("cause", "it has not ended a turn for 7 s, because a handler blocks");
    text(of, LOOK_NODES_CORDON, "draining");
    assert_rules("N10 N12");
    last(of, LOOK_NODES_STALLED)->is_known = false;
    assert_rules("N12");
    last(of, LOOK_NODES_CORDON)->is_known = false;
    of = row(SHERD_LOOK_HOT, "h:1");
    text(of, LOOK_HOT_TYPE, "Cart");
    text(of, LOOK_HOT_ID, "a");
    number(of, LOOK_HOT_MESSAGES, 9000);
    number(of, LOOK_HOT_ERROR, 1000);
    number(of, LOOK_HOT_OF, 10000);
    assert_rules("N13");
    assert_says("text", "one entity gets 80 % of the messages of its lane at h:1");
    number(of, LOOK_HOT_ERROR, 4001); /* so many may be another one's */
    assert_rules("");
    number(of, LOOK_HOT_ERROR, 0);
    number(of, LOOK_HOT_OF, 9999);
    assert_rules("");
    clear();
}

/* ---- shards ---- */

static struct facts *add_type(const char *node, const char *coordinator)
{
    struct facts *of = row(SHERD_LOOK_TYPES, node);

    text(of, LOOK_TYPES_TYPE, "Cart");
    number(of, LOOK_TYPES_SHARDS, 20);
    if (coordinator)
        text(of, LOOK_TYPES_COORDINATOR, coordinator);
    return of;
}

static void add_coordinator(bool active, uint32_t awaited)
{
    struct facts *of = row(SHERD_LOOK_COORDINATORS, "h:1");

    text(of, LOOK_COORDINATORS_TYPE, "Cart");
    number(of, LOOK_COORDINATORS_ACTIVE, active);
    number(of, LOOK_COORDINATORS_AWAITED, awaited);
    (void)table(SHERD_LOOK_HOMES, "h:1");
    (void)table(SHERD_LOOK_REGIONS, "h:1");
    (void)table(SHERD_LOOK_SHARDS, "h:1");
}

static struct facts *add_region(const char *node, uint64_t shards)
{
    struct facts *of = row(SHERD_LOOK_REGIONS, "h:1");

    text(of, LOOK_REGIONS_TYPE, "Cart");
    text(of, LOOK_REGIONS_ADDRESS, node);
    number(of, LOOK_REGIONS_SHARDS, shards);
    number(of, LOOK_REGIONS_PROXY, 0);
    number(of, LOOK_REGIONS_LEAVING, 0);
    return of;
}

static struct facts *add_home(const char *node, bool started, bool moving)
{
    struct facts *of = row(SHERD_LOOK_HOMES, "h:1");

    text(of, LOOK_HOMES_HOME, node);
    number(of, LOOK_HOMES_STARTED, started);
    number(of, LOOK_HOMES_MOVING, moving);
    return of;
}

static void add_shard(const char *node, const char *shard_state)
{
    struct facts *of = row(SHERD_LOOK_SHARDS, node);

    text(of, LOOK_SHARDS_STATE, shard_state);
    number(of, LOOK_SHARDS_ENTITIES, 12);
    number(of, LOOK_SHARDS_OWED, 3);
}

/* A shard 7 whose coordinator acts. */
static void ask_shard(const char *of, const char *id)
{
    ask(of, "Cart", id ? NULL : "7", id);
    (void)add_type("h:2", "h:1");
    add_coordinator(true, 0);
    (void)add_region("h:2", 3);
}

static void shards_without_a_home_are_explained(void **state)
{
    (void)state;
    ask_shard("shard", NULL);
    assert_rules("S1");
    assert_says("text", "shard 7 of Cart has no home");
    number(&facts[3], LOOK_REGIONS_PROXY, 1);
    assert_int_equal(facts[3].kind, SHERD_LOOK_REGIONS);
    assert_rules("S5 S1");
    assert_says("remedy", "start a member that hosts Cart");
    facts[3].is_partial = true; /* a region may be missing */
    assert_rules("S1");
    facts[2].is_partial = true;
    assert_rules("");

    ask("shard", "Cart", "21", NULL);
    (void)add_type("h:2", NULL);
    assert_rules("S2 S16");
    (void)add_type("h:1", "h:1");
    add_coordinator(false, 2);
    assert_rules("S3 S16");
    assert_says("cause", "it waits for 2 members to say what they host");
    clear();
}

static void shards_with_a_home_are_explained(void **state)
{
    static const struct {
        const char *shard_state;
        bool is_moving;
        const char *rule, *field, *says;
    } rows[] = {
        { "claiming", false, "S9", "cause", "its state is claiming" },
        { "leasing", false, "S9", "cause", "its state is leasing" },
        { "fenced", false, "S10", "text", "h:2 lost shard 7 of Cart: its writes are refused" },
        { "running", true, "S12", "text", "shard 7 of Cart begins to move away from h:2" },
        { "draining", true, "S13", "cause", "3 markers are owed; then its entities stop" },
        { "running", false, "S15", "cause", "it has 12 entities" },
    };
    struct facts *of;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ask_shard("shard", NULL);
        (void)add_home("h:2", true, rows[i].is_moving);
        add_shard("h:2", rows[i].shard_state);
        assert_rules(rows[i].rule);
        assert_says(rows[i].field, rows[i].says);
    }
    ask_shard("shard", NULL);
    (void)add_home("h:2", false, false);
    assert_rules("S8");
    number(add_member("h:1", "h:2", "up"), LOOK_MEMBERS_REACHABLE, 0);
    assert_rules("S7 S8");
    assert_says("text", "the home h:2 of shard 7 is unreachable");

    ask_shard("shard", NULL);
    (void)add_home("h:2", true, false);
    add_shard("h:2", "running");
    of = row(SHERD_LOOK_NODES, "h:2");
    number(of, LOOK_NODES_STALLED_LANE, 0);
    number(of, LOOK_NODES_STALLED, 6000);
    assert_rules("S17 S15");
    assert_says("text", "the home h:2 of shard 7 has a blocked lane");
    clear();
}

static void add_decision(const char *shard, const char *event)
{
    struct facts *of = row(SHERD_LOOK_TIMELINE, "h:2");

    text(of, LOOK_TIMELINE_SHARD, shard);
    text(of, LOOK_TIMELINE_EVENT, event);
    number(of, LOOK_TIMELINE_TIME, 1796000000123);
}

/* The newest decision comes first. */
static void a_failed_handoff_is_explained(void **state)
{
    (void)state;
    ask_shard("shard", NULL);
    add_decision("8", "shard started");
    add_decision("7", "hand-off failed");
    add_decision("7", "shard started");
    assert_rules("S14 S1");
    assert_says("text", "the last hand-off of shard 7 of Cart failed at h:2, since 2026-11-30T00:53:20.123Z");
    assert_says("cause", "the cause is not known");
    ask_shard("shard", NULL);
    add_decision("7", "shard started");
    add_decision("7", "hand-off failed");
    assert_rules("S1");
    clear();
}

/* ---- entities ---- */

static struct facts *add_entity(const char *status)
{
    struct facts *of = row(SHERD_LOOK_ENTITY, "h:2");

    text(of, LOOK_ENTITY_STATUS, status);
    number(of, LOOK_ENTITY_LANE, 1);
    number(of, LOOK_ENTITY_MAILBOX, 0);
    return of;
}

static void assert_entity(const char *status, uint32_t column, uint64_t value, const char *rule, const char *cause)
{
    struct facts *of;

    ask_shard("entity", "a");
    of = row(SHERD_LOOK_LANES, "h:2");
    number(of, LOOK_LANES_LANE, 1);
    number(of, LOOK_LANES_RECOVERING, 5);
    number(of, LOOK_LANES_RUNNABLE, 7);
    of = add_entity(status);
    if (column)
        number(of, column, value);
    if (column == LOOK_ENTITY_HELD)
        number(of, LOOK_ENTITY_UNDURABLE, 2);
    if (column == LOOK_ENTITY_ATTEMPTS)
        text(of, LOOK_ENTITY_FAULT, "it throws");
    (void)add_home("h:2", true, false);
    add_shard("h:2", "running");
    assert_rules(rule);
    if (cause)
        assert_says("cause", cause);
}

static void entities_are_explained(void **state)
{
    (void)state;
    assert_entity("alive", 0, 0, "", NULL);
    assert_entity("recovering", 0, 0, "E2", "5 entities of its lane recover or wait for it");
    assert_entity("back-off", LOOK_ENTITY_ATTEMPTS, 3, "E3", "it failed 3 times: it throws");
    assert_entity("alive", LOOK_ENTITY_HELD, 4, "E4", "4 effects wait for 2 events");
    assert_entity("alive", LOOK_ENTITY_MAILBOX, 40, "E7", "7 actors of its lane have messages");
    assert_entity("stopping", 0, 0, "E9", NULL);
    assert_entity("restarting", 0, 0, "E10", NULL);
    assert_entity("alive", LOOK_ENTITY_ASKS, 6, "E11", "6 asks or jobs are open");
    ask_shard("entity", "a");
    (void)table(SHERD_LOOK_ENTITY, "h:2");
    (void)add_home("h:2", true, false);
    add_shard("h:2", "running");
    assert_rules("E1");
    assert_says("text", "Cart/a does not run");
    clear();
}

/* ---- messages ---- */

static void messages_are_explained(void **state)
{
    char id[257];
    struct facts *of;

    (void)state;
    ask("message", "Crat", NULL, "a");
    (void)add_type("h:2", "h:1");
    assert_rules("M1");
    assert_says("cause", "did you mean Cart? The types are Cart");
    for (int i = 0; i < 3; i++) {
        static const char *const of_names[] = { "shard", "entity", "rebalance" };

        ask(of_names[i], "Order", "7", "a");
        (void)add_type("h:2", "h:1");
        assert_rules("M1");
        assert_says("cause", "the types are Cart");
    }

    memset(id, 'a', sizeof id - 1);
    id[256] = '\0';
    ask_shard("message", id);
    assert_rules("M2 M4");
    assert_says("cause", "it has 256 bytes of at most 255");

    ask_shard("message", "a");
    number(&facts[0], LOOK_TYPES_WAITING, 9);
    assert_rules("M4");
    assert_says("cause", "9 messages of the type wait");
    (void)add_home("h:2", true, true);
    assert_rules("M5");

    ask_shard("message", "a");
    (void)add_home("h:2", true, false);
    add_shard("h:2", "running");
    number(add_entity("alive"), LOOK_ENTITY_MAILBOX, 8);
    assert_rules("M7");
    assert_says("cause", "shard 17 runs there; 8 messages are before it");
    of = row(SHERD_LOOK_UNDELIVERED, "h:3");
    text(of, LOOK_UNDELIVERED_TYPE, "Cart");
    text(of, LOOK_UNDELIVERED_REASON, "the mailbox is full");
    number(of, LOOK_UNDELIVERED_TIME, 1796000000123);
    assert_rules("M8 M7");
    assert_says("text", "a message of Cart was not delivered at h:3 at 2026-11-30T00:53:20.123Z");
    number(add_member("h:1", "h:1", "up"), LOOK_MEMBERS_JVM, 1);
    assert_rules("M8 M7 M9");

    ask_shard("message", "a");
    (void)add_home("h:2", true, false);
    add_shard("h:2", "running");
    number(add_entity("back-off"), LOOK_ENTITY_ATTEMPTS, 3);
    assert_rules("E3");

    ask("message", "Cart", NULL, "a"); /* the home does not say how many shards there are */
    number(row(SHERD_LOOK_NODES, "h:1"), LOOK_NODES_STALLED, 9000);
    assert_rules("N10");
    clear();
}

/* ---- the rest ---- */

static void rebalance_is_explained(void **state)
{
    struct facts *of;

    (void)state;
    ask_shard("rebalance", "unused");
    (void)add_region("h:3", 5);
    (void)add_member("h:1", "h:1", "up");
    assert_rules("");
    (void)add_region("h:4", 4);
    number(&facts[3], LOOK_REGIONS_PROXY, 1); /* counts no more */
    assert_rules("");
    text(add_member("h:1", "h:2", "up"), LOOK_MEMBERS_VERSION, "1.1");
    assert_rules("R3");
    assert_says("cause", "h:2 has 1.1");
    (void)add_member("h:1", "h:3", "joining");
    assert_rules("R2 R3");
    assert_says("cause", "h:3 is Joining");

    ask("rebalance", "Cart", NULL, NULL);
    (void)add_type("h:2", "h:1");
    add_coordinator(false, 3);
    (void)add_region("h:2", 4);
    (void)add_region("h:3", 5);
    assert_rules("R8 R4");
    of = &facts[1];
    assert_int_equal(of->kind, SHERD_LOOK_COORDINATORS);
    text(of, LOOK_COORDINATORS_PAUSED, "ops: a roll");
    number(of, LOOK_COORDINATORS_STOPPING, 2);
    assert_rules("R8 R1 R4 R5");
    number(of, LOOK_COORDINATORS_ACTIVE, 1);
    assert_rules("R1 R4 R5");
    assert_says("text", "rebalances of Cart are paused");
    clear();
}

static void readiness_is_explained(void **state)
{
    (void)state;
    ask("ready", NULL, NULL, NULL);
    request.health.status = SHERD_LEAVING;
    assert_rules("");
    request.health.unready = SHERD_UNREADY_ENDED | SHERD_UNREADY_MEMBER | SHERD_UNREADY_LEAVING | SHERD_UNREADY_LANES |
                             SHERD_UNREADY_STORAGE | SHERD_UNREADY_TLS | SHERD_UNREADY_SHARDING;
    assert_rules("Q1 Q4 Q5 Q8 Q2 Q6 Q3");
    request.health.unready = SHERD_UNREADY_MEMBER;
    assert_says("cause", "its status is Leaving");
    clear();
}

static void explanations_name_missing_members(void **state)
{
    json_t *root;

    (void)state;
    ask_shard("shard", NULL);
    facts[0].parts.items[0].state = SHERD_LOOK_TIMEOUT;
    facts[2].is_partial = true;
    root = answer();
    assert_string_equal(json_string_value(json_object_get(root, "text")), "not known: see notKnown");
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "notKnown"), 0)),
                        "h:2 did not answer: timeout");
    json_decref(root);
    ask("nothing", NULL, NULL, NULL);
    assert_int_equal(explain_answer(&request, facts, 0, NULL), ERROR_BAD_PARAMETER);
    ask("shard", "Cart", NULL, NULL);
    assert_int_equal(explain_answer(&request, facts, 0, NULL), ERROR_BAD_PARAMETER);
    clear();
}

/* ---- the status ---- */

static void assert_status(const char *health, const char *problems)
{
    struct buf body = { 0 };
    json_t *root, *problem;
    char found[128] = "";
    size_t i, size = 0;

    assert_int_equal(api_answer(&request, facts, kinds, &body), ERROR_NONE);
    root = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "health")), health);
    json_array_foreach(json_object_get(root, "problems"), i, problem) {
        const char *node = json_string_value(json_object_get(problem, "node"));
        const char *type = json_string_value(json_object_get(problem, "type"));

        size += (size_t)snprintf(found + size, sizeof found - size, "%s %s;",
                                 json_string_value(json_object_get(problem, "rule")), node ? node : type);
    }
    assert_string_equal(found, problems);
    json_decref(root);
    buf_fini(&body);
}

static void the_status_has_problems_of_members_and_types(void **state)
{
    (void)state;
    clear();
    request.route = API_STATUS_ROUTE;
    request.system = "S";
    add_member("h:1", "h:1", "up");
    (void)table(SHERD_LOOK_NODES, "h:1");
    (void)table(SHERD_LOOK_LANES, "h:1");
    (void)add_type("h:1", "h:1");
    add_coordinator(true, 0);
    assert_status("ok", "");
    number(&facts[4], LOOK_COORDINATORS_ACTIVE, 0);
    number(&facts[4], LOOK_COORDINATORS_AWAITED, 1);
    assert_status("warning", "S3 Cart;");
    number(add_member("h:1", "h:2", "up"), LOOK_MEMBERS_REACHABLE, 0);
    assert_status("critical", "N6 h:2;S3 Cart;");
    clear();
}

/* ---- all rules ---- */

static void every_rule_was_seen(void **state)
{
    (void)state;
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (!was_seen[rule])
            fail_msg("%s", explain_rule_text((enum explain_rule)rule));
}

static void the_guide_lists_every_rule(void **state)
{
    static const char *const lines[] = {
#define X(rule, of, severity, sentence, cause, remedy) "| " #rule " | " sentence " | " cause " | " remedy " |\n",
        EXPLAIN_RULES(X)
#undef X
    };
    FILE *file = fopen(GUIDE, "r");
    char *guide = mem_alloc(65536);
    size_t rows = 0;

    (void)state;
    assert_non_null(file);
    guide[fread(guide, 1, 65535, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(guide, lines[i]))
            fail_msg("docs/guide/explain.md lacks the line: %s", lines[i]);
    for (const char *at = guide; (at = strstr(at, "\n| ")); at++)
        rows += at[3] >= 'A' && at[3] <= 'Z';
    assert_int_equal(rows, RULE_COUNT);
    mem_free(guide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_explained),
        cmocka_unit_test(a_node_outside_is_explained),
        cmocka_unit_test(a_busy_node_is_explained),
        cmocka_unit_test(shards_without_a_home_are_explained),
        cmocka_unit_test(shards_with_a_home_are_explained),
        cmocka_unit_test(a_failed_handoff_is_explained),
        cmocka_unit_test(entities_are_explained),
        cmocka_unit_test(messages_are_explained),
        cmocka_unit_test(rebalance_is_explained),
        cmocka_unit_test(readiness_is_explained),
        cmocka_unit_test(explanations_name_missing_members),
        cmocka_unit_test(the_status_has_problems_of_members_and_types),
        cmocka_unit_test(every_rule_was_seen),
        cmocka_unit_test(the_guide_lists_every_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
