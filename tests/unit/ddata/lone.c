/* Implements the replicator with one peer. */
#include "lone.h"

static const char *const durable_keys[] = { "dur*" };

void lone_tell(struct lone *lone, const struct node_id *node,
               enum member_status status, bool is_reachable)
{
    bool was_up = status != MEMBER_JOINING && status != MEMBER_WEAKLY_UP;

    replicator_peer(lone->replicator, 0,
                    &(struct member_info){ .node = *node,
                                    .up_number = was_up ? 1 : INT32_MAX,
                                    .status = status,
                                    .reachable = is_reachable,
                                    .has_role = true });
}

static struct lone *make(const struct replicator_settings *settings,
                         bool durable, const struct replicator_expiry *expiries,
                         uint32_t expiry_count)
{
    struct lone *lone = mem_alloc(sizeof *lone);

    lone->identity = (struct identity){ "akka", "S", { { "me", 2551 }, 5 } };
    lone->peer = (struct node_id){ { "other", 2552 }, 77 };
    lone->writer.node = lone->identity.node;
    lone->trace = trace_new(TRACE_INFO);
    lone->replicator = replicator_new(
        &(struct replicator_options){ .identity = &lone->identity,
                                      .path = CLUSTER_PATH,
                                      .settings = *settings,
                                      .durable_keys = durable_keys,
                                      .durable_key_count = durable,
                                      .expiries = expiries,
                                      .expiry_count = expiry_count,
                                      .writer = &lone->writer,
                                      .trace = lone->trace,
                                      .seed = 3 },
        0);
    replicator_wall(lone->replicator, CLUSTER_WALL_MS);
    lone_tell(lone, &lone->identity.node, MEMBER_UP, true);
    lone_tell(lone, &lone->peer, MEMBER_UP, true);
    return lone;
}

struct lone *lone_with(const struct replicator_settings *settings, bool durable)
{
    return make(settings, durable, NULL, 0);
}

struct lone *lone_expiring(const struct replicator_expiry *expiries,
                           uint32_t count)
{
    return make(&(struct replicator_settings){ 0 }, false, expiries, count);
}

struct lone *lone_durable_expiring(const struct replicator_expiry *expiries,
                                   uint32_t count)
{
    return make(&(struct replicator_settings){ 0 }, true, expiries, count);
}

struct lone *lone_new(const struct replicator_settings *settings)
{
    return lone_with(settings, false);
}

void lone_free(struct lone *lone)
{
    replicator_free(lone->replicator);
    trace_free(lone->trace);
    outbox_fini(&lone->outbox);
    mem_free(lone);
}

void lone_update(struct lone *lone, struct slice key, struct dd_value *value,
                 const struct consistency *consistency)
{
    const struct dd_value *current;

    check(replicator_update_begin(lone->replicator, 0, 1, key, &current,
                                  &lone->outbox) == REPLICATOR_MODIFY);
    replicator_update(lone->replicator, 0, 1, key, value, consistency,
                      &lone->outbox);
}

void lone_put(struct lone *lone, struct slice key)
{
    const struct dd_value *current = replicator_look(lone->replicator, key);
    struct dd_value *value = current ? dd_copy(current) : dd_new(DD_GCOUNTER);
    struct replicator_news news;

    dd_gcounter_add(value, &lone->identity.node, 1);
    lone_update(lone, key, value, &local);
    check(replicator_next_news(lone->replicator, &news));
    check(news.answer == REPLICATOR_SUCCESS);
    check(!replicator_next_news(lone->replicator, &news));
}

bool lone_next(struct lone *lone, struct message *message)
{
    struct outbound out;

    if (!outbox_next(&lone->outbox, &out))
        return false;
    check(message_get(message_kind_of(out.manifest), out.payload, message));
    return true;
}

enum message_kind lone_next_kind(struct lone *lone)
{
    struct message message;
    enum message_kind kind;

    if (!lone_next(lone, &message))
        return MESSAGE_UNKNOWN;
    kind = message.kind;
    message_fini(&message);
    return kind;
}

void lone_answer(struct lone *lone, const char *recipient,
                 const struct message *message)
{
    struct buf payload = { 0 };

    message_put(&payload, message);
    replicator_receive(
        lone->replicator, 0,
        &(struct inbound){
            .from = lone->peer,
            .sender = slice_text(CLUSTER_PATH "#9"),
            .recipient = slice_text(recipient),
            .manifest = slice_text(message_manifest(message->kind)),
            .payload = buf_slice(&payload),
            .serializer = REPLICATOR_SERIALIZER,
        },
        &lone->outbox);
    buf_fini(&payload);
}

void lone_receive(struct lone *lone, const struct message *message)
{
    lone_answer(lone, CLUSTER_PATH, message);
}

const struct replicator_counters *lone_counters(const struct lone *lone)
{
    return replicator_counters(lone->replicator);
}
