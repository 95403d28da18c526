/* Tests extractors on whole nodes: text shards, messages to regions, starts with an acknowledgement,
 * Kafka's hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "cast.h"

#define NODES 3
#define TENANTS 12
#define USERS 4

enum { TEXT, STORED, KEPT, KAFKA, TYPES };
enum { WHERE = 100, WHERE_INSIDE };

/* ---- the types ---- */

struct told {
    char shard[SHERD_SHARD_MAX + 1];
    uint64_t node;
    uint32_t msg;
    uint32_t body_size;
};

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct told told = { .node = sherd_self(ctx).node, .msg = msg->msg };

    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == STORE)
        sherd_persist(ctx, 1, (struct sherd_bytes){ "x", 1 });
    told.body_size = (uint32_t)msg->body.size;
    (void)snprintf(told.shard, sizeof told.shard, "%s", sherd_shard_id(ctx));
    sherd_reply(ctx, msg->msg, (struct sherd_bytes){ &told, sizeof told });
    return SHERD_CONTINUE;
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)type;
    (void)event;
    ++*(uint64_t *)self;
}

/* A message WHERE has the id as its body, WHERE_INSIDE the id, a zero byte and the entity's message. */
static int entity_of(void *user, struct sherd_extracted *message)
{
    const char *body = message->body.data;
    const char *end;

    assert_ptr_equal(user, &cast);
    if (message->msg != WHERE && message->msg != WHERE_INSIDE)
        return 0;
    end = memchr(body, 0, message->body.size);
    assert_non_null(end);
    (void)snprintf(message->id, sizeof message->id, "%s", body);
    if (message->msg == WHERE_INSIDE) {
        message->msg = WHERE;
        message->body.data = end + 1;
        message->body.size -= (size_t)(end + 1 - body);
    }
    return 1;
}

/* The tenant before the slash. "none/..." has no shard, "bad/..." one that is not UTF-8. */
static int tenant_of(void *user, const struct sherd_extracted *message,
                     char shard[SHERD_SHARD_MAX + 1])
{
    assert_ptr_equal(user, &cast);
    if (strncmp(message->id, "none/", 5) == 0)
        return 0;
    (void)snprintf(shard, SHERD_SHARD_MAX + 1, "%.*s", (int)strcspn(message->id, "/"), message->id);
    if (strncmp(message->id, "bad/", 4) == 0)
        shard[0] = (char)0xff;
    return 1;
}

static const struct sherd_extractor tenants = { .entity = entity_of, .shard = tenant_of, .user = &cast };
static const struct sherd_extractor kafka = { .hash = SHERD_SHARD_HASH_MURMUR2 };

#define BEHAVIOR(of) .behavior = { .name = of, .state_size = 8, .receive = receive }

static const struct sherd_entity_type types[TYPES] = {
    { .name = "Text", BEHAVIOR("text"), .extractor = &tenants, .shards = TENANTS },
    { .name = "Stored",
      .behavior = { .name = "stored", .state_size = 8, .receive = receive, .apply = apply },
      .extractor = &tenants, .shards = TENANTS },
    { .name = "Kept", BEHAVIOR("kept"), .extractor = &tenants, .shards = TENANTS, .remember = 1 },
    { .name = "Kafka", BEHAVIOR("kafka"), .extractor = &kafka, .shards = 10 },
};

static void start(struct world *world, uint32_t node, bool in_data)
{
    struct node_settings settings = world_node_settings(world, node, types, TYPES);

    settings.lanes = 2;
    settings.remembers_in_data = in_data;
    settings.rebalance_interval = SECOND;
    settings.entity_restart_backoff = SECOND;
    world_start(world, node, &settings);
}

static struct world *begin(uint32_t nodes, bool in_data)
{
    struct world *world = cast_new(31);

    cast_begin();
    for (uint32_t i = 0; i < nodes; i++)
        start(world, i, in_data);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

/* ---- a caller ---- */

struct caller {
    struct world *world;
    uint32_t node;
    struct sherd_ref ref;
    char text[2 * SHERD_ID_MAX]; /* an id or a body */
    size_t size;
    const char *type;
    uint32_t msg;
    uint32_t count;
    enum sherd_kind kind;
    enum sherd_reason reason;
    struct told told; /* of the last answer */
};

typedef void call_act(struct sherd_ctx *ctx, struct caller *caller);

static enum sherd_next caller_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct caller **of = self;
    struct caller *caller;
    call_act *act;

    if (msg->kind == SHERD_STARTED)
        memcpy(of, msg->body.data, sizeof *of);
    caller = *of;
    if (msg->kind == SHERD_STARTED) {
        caller->ref = sherd_self(ctx);
        assert_string_equal(sherd_shard_id(ctx), ""); /* it is no entity */
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == CALL) {
        memcpy(&act, msg->body.data, sizeof act);
        act(ctx, caller);
    } else if (msg->kind != SHERD_STOPPING) {
        caller->count++;
        caller->kind = msg->kind;
        caller->reason = msg->reason;
        memset(&caller->told, 0, sizeof caller->told);
        if (msg->body.size)
            memcpy(&caller->told, msg->body.data, msg->body.size);
    }
    return SHERD_CONTINUE;
}

static void caller_spawn(struct caller *caller, struct world *world, uint32_t node)
{
    static const struct sherd_behavior behavior = { .name = "caller",
                                                    .state_size = sizeof(struct caller *),
                                                    .receive = caller_receive,
                                                    .wants_undelivered = 1 };

    memset(caller, 0, sizeof *caller);
    caller->world = world;
    caller->node = node;
    world_spawn(world, node, node % 2, &behavior, &caller, sizeof caller);
    world_run(world, MS);
    assert_true(caller->ref.actor != 0);
}

static bool has_heard(struct world *world, void *arg)
{
    (void)world;
    return ((struct caller *)arg)->count > 0;
}

/* Carries the call out, and waits for what follows. */
static void carry_out(struct caller *caller, call_act *act)
{
    caller->count = 0;
    world_tell(caller->world, caller->node, caller->ref, CALL, (struct sherd_bytes){ &act, sizeof act });
    assert_true(world_until(caller->world, has_heard, caller, 20 * SECOND));
}

static struct sherd_bytes body_of(const struct caller *caller)
{
    return (struct sherd_bytes){ caller->text, caller->size };
}

static void set(struct caller *caller, const char *type, uint32_t msg, const char *text)
{
    caller->type = type;
    caller->msg = msg;
    caller->size = strlen(text) + 1;
    memcpy(caller->text, text, caller->size);
}

static void entity_ask(struct sherd_ctx *ctx, struct caller *caller)
{
    sherd_entity_ask(ctx, caller->type, caller->text, caller->msg,
                     (struct sherd_bytes){ NULL, 0 }, 1, 10000);
}

static void region_ask(struct sherd_ctx *ctx, struct caller *caller)
{
    sherd_region_ask(ctx, caller->type, caller->msg, body_of(caller), 1, 10000);
}

static void region_tell(struct sherd_ctx *ctx, struct caller *caller)
{
    sherd_region_tell(ctx, caller->type, caller->msg, body_of(caller));
}

static void start_ask(struct sherd_ctx *ctx, struct caller *caller)
{
    sherd_entity_start_ask(ctx, caller->type, caller->text, 1, 10000);
}

/* Asks the entity where it is, and checks its shard. Returns its node. */
static uint64_t where(struct caller *caller, const char *type, const char *tenant, uint32_t user)
{
    char id[64];

    (void)snprintf(id, sizeof id, "%s/u%u", tenant, user);
    set(caller, type, WHERE, id);
    carry_out(caller, entity_ask);
    if (caller->kind != SHERD_ANSWER)
        print_message("%s %s: %s\n", type, id, sherd_reason_text(caller->reason));
    assert_int_equal(caller->kind, SHERD_ANSWER);
    assert_string_equal(caller->told.shard, tenant);
    return caller->told.node;
}

static void fails(struct caller *caller, call_act *act, enum sherd_kind kind, enum sherd_reason reason)
{
    carry_out(caller, act);
    assert_int_equal(caller->kind, kind);
    assert_int_equal(caller->reason, reason);
}

static uint64_t undelivered(struct world *world, uint32_t node, enum sherd_reason reason)
{
    struct sherd_status status = world_status(world, node);
    uint64_t count = status.undelivered[reason];

    world_status_fini(&status);
    return count;
}

/* Each node sees the tenants in another order, so each gives them other numbers. */
static void wake(struct world *world, struct caller callers[NODES], const char *type)
{
    static const uint32_t steps[NODES] = { 1, 5, 7 };
    char tenant[32];

    for (uint32_t i = 0; i < TENANTS * USERS; i++)
        for (uint32_t j = 0; j < NODES; j++) {
            (void)snprintf(tenant, sizeof tenant, "tenant \xc3\xa9-%u", (i * steps[j] + j) % TENANTS);
            if (world_node(world, j)->node)
                (void)where(&callers[j], type, tenant, i / TENANTS);
        }
}

/* ---- shards with texts ---- */

static void entities_of_a_text_shard_live_together(void **state)
{
    struct world *world = begin(NODES, false);
    struct caller callers[NODES];
    char tenant[32];
    (void)state;

    for (uint32_t i = 0; i < NODES; i++)
        caller_spawn(&callers[i], world, i);
    wake(world, callers, "Text");
    for (uint32_t i = 0; i < TENANTS; i++) {
        uint64_t home;

        (void)snprintf(tenant, sizeof tenant, "tenant \xc3\xa9-%u", i);
        home = where(&callers[0], "Text", tenant, 0);
        for (uint32_t j = 0; j < NODES * USERS; j++)
            assert_true(where(&callers[j % NODES], "Text", tenant, j % USERS) == home);
    }
    assert_int_equal(cast_running(world, TEXT), TENANTS * USERS);
    world_free(world);
}

/* They have homes again, with their fences, although the coordinator and its numbers are gone. */
static void text_shards_survive_the_oldest_node(void **state)
{
    struct world *world = begin(NODES, false);
    struct caller callers[NODES];
    (void)state;

    for (uint32_t i = 0; i < NODES; i++)
        caller_spawn(&callers[i], world, i);
    wake(world, callers, "Text");
    wake(world, callers, "Stored");
    world_leave(world, 0);
    world_run(world, 60 * SECOND);
    assert_null(world_node(world, 0)->node);
    wake(world, callers, "Text");
    wake(world, callers, "Stored");
    assert_int_equal(cast_running(world, TEXT), TENANTS * USERS);
    world_free(world);
}

static void check_remembered(bool in_data)
{
    struct world *world = begin(NODES, in_data);
    struct caller callers[NODES];

    for (uint32_t i = 0; i < NODES; i++)
        caller_spawn(&callers[i], world, i);
    wake(world, callers, "Kept");
    cast_await_running(world, KEPT, TENANTS * USERS);
    world_leave(world, 0);
    world_run(world, 60 * SECOND);
    cast_await_running(world, KEPT, TENANTS * USERS);
    wake(world, callers, "Kept");
    cast_await_running(world, KEPT, TENANTS * USERS);
    world_free(world);
}

static void entities_of_text_shards_are_remembered_in_the_journal(void **state)
{
    (void)state;
    check_remembered(false);
}

static void entities_of_text_shards_are_remembered_in_distributed_data(void **state)
{
    (void)state;
    check_remembered(true);
}

static bool is_answered(struct world *world, void *arg)
{
    return world_node(world, *(uint32_t *)arg)->answer != NULL;
}

static void queries_name_text_shards(void **state)
{
    struct world *world = begin(1, false);
    struct caller caller;
    const struct sherd_region *region;
    uint32_t node = 0;
    (void)state;

    caller_spawn(&caller, world, 0);
    (void)where(&caller, "Text", "only this", 1);
    world_query(world, 0, "Text", NODE_REGION_STATE, 0);
    assert_true(world_until(world, is_answered, &node, 10 * SECOND));
    region = world_node(world, 0)->answer->regions.regions;
    assert_int_equal(region->shard_count, 1);
    assert_string_equal(region->shards[0].id, "only this");
    assert_string_equal(region->shards[0].entity_ids[0], "only this/u1");
    world_free(world);
}

static void an_entity_without_a_shard_gets_nothing(void **state)
{
    struct world *world = begin(2, false);
    struct caller caller;
    char tenant[SHERD_SHARD_MAX + 1];
    (void)state;

    caller_spawn(&caller, world, 1);
    set(&caller, "Text", WHERE, "none/u1");
    fails(&caller, entity_ask, SHERD_NO_ANSWER, SHERD_REASON_NO_SHARD);
    fails(&caller, start_ask, SHERD_NO_ANSWER, SHERD_REASON_NO_SHARD);
    set(&caller, "Text", WHERE, "bad/u1");
    fails(&caller, region_tell, SHERD_UNDELIVERED, SHERD_REASON_NO_SHARD);
    set(&caller, "Text", WHERE, "/u1");
    fails(&caller, entity_ask, SHERD_NO_ANSWER, SHERD_REASON_NO_SHARD);
    for (uint32_t i = 0; i < TENANTS; i++) {
        (void)snprintf(tenant, sizeof tenant, "t%u", i);
        (void)where(&caller, "Text", tenant, 0);
    }
    set(&caller, "Text", WHERE, "t12/u1");
    fails(&caller, entity_ask, SHERD_NO_ANSWER, SHERD_REASON_NO_SHARD);
    (void)where(&caller, "Text", "t11", 7); /* those that have a number stay */
    assert_int_equal(undelivered(world, 1, SHERD_REASON_NO_SHARD), 4); /* starts do not count */
    world_free(world);
}

static void the_longest_shard_id_is_whole(void **state)
{
    struct world *world = begin(2, false);
    struct caller caller;
    char id[SHERD_ID_MAX + 1];
    (void)state;

    memset(id, 'x', SHERD_ID_MAX); /* 255 bytes without a slash */
    id[SHERD_ID_MAX] = 0;
    for (uint32_t i = 0; i < 2; i++) {
        caller_spawn(&caller, world, i);
        set(&caller, "Text", WHERE, id);
        carry_out(&caller, entity_ask);
        assert_int_equal(caller.kind, SHERD_ANSWER);
        assert_string_equal(caller.told.shard, id);
    }
    world_free(world);
}

/* ---- messages to a region ---- */

static void messages_to_the_region_reach_the_entity_that_they_name_SHT022(void **state)
{
    struct world *world = begin(2, false);
    struct caller callers[2];
    char text[64];
    (void)state;

    for (uint32_t i = 0; i < 2; i++)
        caller_spawn(&callers[i], world, i);
    for (uint32_t i = 0; i < 21; i++) {
        struct caller *caller = &callers[i % 2];

        (void)snprintf(text, sizeof text, "tenant%u/u%u", i % TENANTS, i);
        set(caller, "Text", WHERE, text);
        carry_out(caller, i % 3 ? region_ask : region_tell);
        assert_int_equal(caller->kind, i % 3 ? SHERD_ANSWER : SHERD_MESSAGE);
        (void)snprintf(text, sizeof text, "tenant%u", i % TENANTS);
        assert_string_equal(caller->told.shard, text);
    }
    world_free(world);
}

static void an_extractor_may_unwrap_the_message(void **state)
{
    struct world *world = begin(1, false);
    struct caller caller;
    (void)state;

    caller_spawn(&caller, world, 0);
    set(&caller, "Text", WHERE_INSIDE, "a/u1");
    memcpy(caller.text + caller.size, "payload", 7);
    caller.size += 7;
    carry_out(&caller, region_ask);
    assert_int_equal(caller.kind, SHERD_ANSWER);
    assert_int_equal(caller.told.msg, WHERE);
    assert_int_equal(caller.told.body_size, 7);
    world_free(world);
}

static void a_message_that_the_extractor_does_not_handle_is_undelivered(void **state)
{
    struct world *world = begin(1, false);
    struct caller caller;
    (void)state;

    caller_spawn(&caller, world, 0);
    set(&caller, "Text", 7, "a/u1");
    fails(&caller, region_tell, SHERD_UNDELIVERED, SHERD_REASON_NOT_EXTRACTED);
    fails(&caller, region_ask, SHERD_NO_ANSWER, SHERD_REASON_NOT_EXTRACTED);
    set(&caller, "Text", WHERE, ""); /* an empty id */
    fails(&caller, region_tell, SHERD_UNDELIVERED, SHERD_REASON_NOT_EXTRACTED);
    set(&caller, "Kafka", WHERE, "a"); /* its extractor has no such function */
    fails(&caller, region_tell, SHERD_UNDELIVERED, SHERD_REASON_NOT_EXTRACTED);
    set(&caller, "Nothing", WHERE, "a");
    fails(&caller, region_tell, SHERD_UNDELIVERED, SHERD_REASON_NO_SUCH_TYPE);
    assert_int_equal(undelivered(world, 0, SHERD_REASON_NOT_EXTRACTED), 4);
    assert_int_equal(cast_running(world, TEXT), 0);
    world_free(world);
}

/* ---- starts ---- */

static void a_started_entity_is_acknowledged_with_its_shard_SHT031(void **state)
{
    static const char *const names[] = { "Text", "Stored", "Kept" };
    struct world *world = begin(2, false);
    struct caller caller;
    char id[64];
    (void)state;

    for (uint32_t node = 0; node < 2; node++) {
        caller_spawn(&caller, world, node);
        for (uint32_t i = 0; i < 18; i++) {
            (void)snprintf(id, sizeof id, "tenant%u/u%u", i % 6, node);
            set(&caller, names[i / 6], 0, id);
            carry_out(&caller, start_ask);
            assert_int_equal(caller.kind, SHERD_ANSWER);
            (void)snprintf(id, sizeof id, "tenant%u", i % 6);
            assert_string_equal(caller.told.shard, id); /* the body is the id alone */
        }
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(cast_running(world, i), 12);
    carry_out(&caller, start_ask); /* it runs already */
    assert_int_equal(caller.kind, SHERD_ANSWER);
    set(&caller, "Nothing", 0, "a");
    fails(&caller, start_ask, SHERD_NO_ANSWER, SHERD_REASON_NO_SUCH_TYPE);
    set(&caller, "Text", 0, "");
    fails(&caller, start_ask, SHERD_NO_ANSWER, SHERD_REASON_EMPTY_ID);
    world_free(world);
}

/* ---- Kafka's hash ---- */

static void kafkas_hash_chooses_the_shard(void **state)
{
    static const char *const ids[] = { "a", "1", "foo", "h\xc3\xa9llo", "polygenelubricants" };
    static const char *const shards[] = { "4", "9", "6", "2", "6" };
    struct world *world = begin(2, false);
    struct caller caller;
    (void)state;

    caller_spawn(&caller, world, 1);
    for (uint32_t i = 0; i < 5; i++) {
        set(&caller, "Kafka", WHERE, ids[i]);
        carry_out(&caller, entity_ask);
        assert_int_equal(caller.kind, SHERD_ANSWER);
        assert_string_equal(caller.told.shard, shards[i]);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_of_a_text_shard_live_together),
        cmocka_unit_test(text_shards_survive_the_oldest_node),
        cmocka_unit_test(entities_of_text_shards_are_remembered_in_the_journal),
        cmocka_unit_test(entities_of_text_shards_are_remembered_in_distributed_data),
        cmocka_unit_test(queries_name_text_shards),
        cmocka_unit_test(an_entity_without_a_shard_gets_nothing),
        cmocka_unit_test(the_longest_shard_id_is_whole),
        cmocka_unit_test(messages_to_the_region_reach_the_entity_that_they_name_SHT022),
        cmocka_unit_test(an_extractor_may_unwrap_the_message),
        cmocka_unit_test(a_message_that_the_extractor_does_not_handle_is_undelivered),
        cmocka_unit_test(a_started_entity_is_acknowledged_with_its_shard_SHT031),
        cmocka_unit_test(kafkas_hash_chooses_the_shard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
