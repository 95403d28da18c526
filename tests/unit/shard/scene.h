/* Plays the nodes around a coordinator: passes their messages to it, and keeps what it sends for
 * the tests. */
#ifndef SHERD_TEST_SHARD_SCENE_H
#define SHERD_TEST_SHARD_SCENE_H

#include <stdio.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/coordinator.h"

#define NODES_MAX 600
#define REGION_PATH "/system/sharding/T#1"
#define PROXY_PATH "/system/sharding/TProxy#2"

struct sent {
    int node;
    enum shard_message_kind kind;
    char recipient[80];
    char shard[64];
    char ref[80];
    char reason[120];
    struct fence fence;
    uint64_t attempt;
    uint64_t idle;
    uint32_t home_count;
    uint32_t owing_count;
    uint32_t owing_lanes;
    uint32_t stat_count;
    uint32_t address_count;
    bool is_alone;
};

struct scene {
    struct identity identity;
    const struct sherd_allocation_strategy *strategy; /* of the next coordinator */
    struct coordinator *coordinator;
    struct outbox outbox;
    struct trace *trace;
    uint64_t now;
    uint64_t report[NODES_MAX];
    bool is_silent[NODES_MAX]; /* does not answer */
    bool is_jvm[NODES_MAX]; /* a JVM: no lanes or fences */
    VEC(struct sent) sent;
    uint32_t played; /* of sent */
    uint32_t reports; /* of operations; the last one: */
    struct operation_progress told; /* without id and text */
    int told_to;
    struct buf state; /* stored in distributed data */
    struct buf fences;
    bool is_held; /* distributed data does not answer; see scene_answer */
    bool is_stepped; /* steps only when the test says so */
    uint32_t writes;
    struct coordinator_request request; /* last one; with is_held its slices are invalid */
    struct buf wanted_state, wanted_fences;
};

static inline struct node_id node_of(int n)
{
    struct node_id node = { .address = { .port = 2550 },
                            .uid = 100 + (uint64_t)n };

    snprintf(node.address.host, sizeof node.address.host, "n%d", n);
    return node;
}

static inline void text_of(char *text, size_t size, struct slice slice)
{
    snprintf(text, size, "%.*s", (int)slice.size, (const char *)slice.data);
}

static inline void ref_of(char *text, size_t size, int n, bool is_proxy)
{
    snprintf(text, size, "akka://S@n%d:2550%s", n,
             is_proxy ? PROXY_PATH : REGION_PATH);
}

static inline void scene_answer(struct scene *scene, bool is_good)
{
    struct coordinator_request *request = &scene->request;

    if (request->kind == COORDINATOR_REQUEST_READ) {
        coordinator_read(scene->coordinator, scene->now, request->ticket, is_good,
                         buf_slice(&scene->state), buf_slice(&scene->fences),
                         &scene->outbox);
        return;
    }
    if (is_good && scene->wanted_state.size) {
        buf_clear(&scene->state);
        buf_put_slice(&scene->state, buf_slice(&scene->wanted_state));
    }
    if (is_good && scene->wanted_fences.size) {
        buf_clear(&scene->fences);
        buf_put_slice(&scene->fences, buf_slice(&scene->wanted_fences));
    }
    coordinator_written(scene->coordinator, scene->now, request->ticket, is_good,
                        &scene->outbox);
}

static inline void scene_keep(struct scene *scene)
{
    while (coordinator_next_request(scene->coordinator, &scene->request)) {
        buf_clear(&scene->wanted_state);
        buf_clear(&scene->wanted_fences);
        buf_put_slice(&scene->wanted_state, scene->request.state);
        buf_put_slice(&scene->wanted_fences, scene->request.fences);
        scene->writes += scene->request.kind == COORDINATOR_REQUEST_WRITE;
        if (!scene->is_held)
            scene_answer(scene, true);
    }
}

static inline void scene_drain(struct scene *scene)
{
    struct outbound out;

    scene_keep(scene);
    while (!scene->is_stepped && coordinator_is_busy(scene->coordinator)) {
        coordinator_step(scene->coordinator, scene->now, &scene->outbox);
        scene_keep(scene);
    }
    while (outbox_next(&scene->outbox, &out)) {
        struct shard_message message;
        struct sent sent = { 0 };

        if (slice_is(out.manifest, "P")) {
            check(operation_progress_read(out.payload, &scene->told));
            scene->told_to = (int)(out.to.uid - 100);
            scene->reports++;
            continue;
        }
        check(shard_message_read(&message, out.serializer, out.manifest,
                                 out.payload));
        check(slice_equal(out.sender, coordinator_path(scene->coordinator)));
        sent.node = (int)(out.to.uid - 100);
        sent.kind = message.kind;
        text_of(sent.recipient, sizeof sent.recipient, out.recipient);
        text_of(sent.shard, sizeof sent.shard, message.shard);
        text_of(sent.ref, sizeof sent.ref, message.ref);
        text_of(sent.reason, sizeof sent.reason, message.reason);
        sent.fence = message.fence;
        sent.attempt = message.attempt;
        sent.idle = message.idle;
        sent.home_count = message.home_count;
        sent.owing_count = message.owing_count;
        for (uint32_t i = 0; i < message.owing_count; i++)
            sent.owing_lanes += message.owing[i].lanes;
        sent.stat_count = message.stat_count;
        sent.address_count = message.address_count;
        sent.is_alone = message.is_alone;
        vec_push(&scene->sent, sent);
        shard_message_fini(&message);
    }
    coordinator_verify(scene->coordinator);
}

/* Starts a coordinator on n0. A former one ends as in a crash. */
static inline void scene_coordinator(struct scene *scene,
                                     const struct coordinator_settings *settings)
{
    coordinator_free(scene->coordinator);
    scene->coordinator = coordinator_new(
        &(struct coordinator_options){
            .identity = &scene->identity,
            .type = "T",
            .settings = settings ? *settings
                                 : (struct coordinator_settings){ 0 },
            .trace = scene->trace,
            .strategy = scene->strategy,
            .seed = 1 },
        scene->now);
}

static inline struct scene *
scene_unread_by(const struct coordinator_settings *settings,
                const struct sherd_allocation_strategy *strategy)
{
    struct scene *scene = mem_alloc(sizeof *scene);

    scene->strategy = strategy;
    scene->now = SECOND;
    scene->identity =
        (struct identity){ .protocol = "akka", .system = "S", .node = node_of(0) };
    scene->trace = trace_new(TRACE_WARNING);
    scene_coordinator(scene, settings);
    return scene;
}

static inline struct scene *
scene_unread(const struct coordinator_settings *settings)
{
    return scene_unread_by(settings, NULL);
}

static inline struct scene *scene_new(const struct coordinator_settings *settings)
{
    struct scene *scene = scene_unread(settings);

    scene_drain(scene);
    return scene;
}

static inline void scene_free(struct scene *scene)
{
    coordinator_free(scene->coordinator);
    outbox_fini(&scene->outbox);
    buf_fini(&scene->state);
    buf_fini(&scene->fences);
    buf_fini(&scene->wanted_state);
    buf_fini(&scene->wanted_fences);
    trace_free(scene->trace);
    vec_fini(&scene->sent);
    mem_free(scene);
}

static inline void peer_is(struct scene *scene, int n, enum member_status status,
                           bool has_role, bool reachable)
{
    struct member_info peer = { .node = node_of(n),
                         .up_number = n + 1,
                         .status = status,
                         .reachable = reachable,
                         .has_role = has_role };

    coordinator_peer(scene->coordinator, scene->now, &peer, &scene->outbox);
    scene_drain(scene);
}

static inline void peer_up(struct scene *scene, int n)
{
    peer_is(scene, n, MEMBER_UP, true, true);
}

static inline void peer_removed(struct scene *scene, int n)
{
    struct node_id node = node_of(n);

    coordinator_peer_removed(scene->coordinator, scene->now, &node,
                             &scene->outbox);
    scene_drain(scene);
}

static inline void give_term(struct scene *scene, uint64_t term)
{
    coordinator_term(scene->coordinator, scene->now,
                     (struct proof){ term, 0 }, &scene->outbox);
    scene_drain(scene);
}

static inline void say_from(struct scene *scene, int n, const char *sender,
                            struct shard_message message)
{
    struct buf buf = { 0 };
    struct inbound inbound = {
        .from = node_of(n),
        .sender = slice_text(sender),
        .recipient = path_plain(coordinator_path(scene->coordinator)),
        .manifest = slice_text(shard_message_manifest(message.kind)),
        .serializer = shard_message_serializer(message.kind),
    };

    shard_message_put(&buf, &message, &scene->identity);
    inbound.payload = buf_slice(&buf);
    coordinator_receive(scene->coordinator, scene->now, &inbound,
                        &scene->outbox);
    buf_fini(&buf);
    scene_drain(scene);
}

static inline void say(struct scene *scene, int n, struct shard_message message)
{
    say_from(scene, n, REGION_PATH, message);
}

static inline void registers_with(struct scene *scene, int n, uint64_t report,
                                  const struct shard_hosted *hosted,
                                  uint32_t count)
{
    char ref[80];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n, (struct shard_message){
                      .kind = SHARD_REGISTER,
                      .ref = slice_text(ref),
                      .lanes = scene->is_jvm[n] ? 0 : 2,
                      .report = scene->is_jvm[n] ? 0 : report,
                      .hosted = hosted,
                      .hosted_count = count });
}

static inline void registers(struct scene *scene, int n)
{
    registers_with(scene, n, ++scene->report[n], NULL, 0);
}

static inline void registers_one(struct scene *scene, int n, const char *shard,
                                 struct fence fence)
{
    struct shard_hosted hosted = { slice_text(shard), fence };

    registers_with(scene, n, ++scene->report[n], &hosted, 1);
}

static inline void asks(struct scene *scene, int n, const char *shard)
{
    say(scene, n, (struct shard_message){ .kind = SHARD_GET_HOME,
                                          .shard = slice_text(shard) });
}

static inline void passes(struct scene *scene, uint64_t ms)
{
    scene->now += ms * MS;
    coordinator_step(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
}

static inline void answers(struct scene *scene, const struct sent *sent,
                           enum shard_message_kind kind)
{
    bool is_jvm = scene->is_jvm[sent->node];

    say_from(scene, sent->node,
             strstr(sent->recipient, "Proxy") ? PROXY_PATH : REGION_PATH,
             (struct shard_message){ .kind = kind,
                                     .shard = slice_text(sent->shard),
                                     .fence = is_jvm ? (struct fence){ 0, 0 }
                                                         : sent->fence,
                                     .attempt = is_jvm ? 0
                                                           : sent->attempt });
}

/* Answers for regions that are not silent, until nothing is left. */
static inline void play(struct scene *scene)
{
    while (scene->played < scene->sent.count) {
        struct sent sent = scene->sent.items[scene->played++];

        if (scene->is_silent[sent.node])
            continue;
        if (sent.kind == SHARD_HOST)
            answers(scene, &sent, SHARD_HOST_STARTED);
        else if (sent.kind == SHARD_BEGIN_HAND_OFF)
            answers(scene, &sent, SHARD_BEGIN_HAND_OFF_ACK);
        else if (sent.kind == SHARD_HAND_OFF)
            answers(scene, &sent, SHARD_HOST_STOPPED);
    }
}

static inline void forget_sent(struct scene *scene)
{
    scene->sent.count = 0;
    scene->played = 0;
}

#define ANY_NODE (-1)

static inline uint32_t sent_count(const struct scene *scene,
                                  enum shard_message_kind kind, int n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < scene->sent.count; i++)
        count += scene->sent.items[i].kind == kind &&
                 (n == ANY_NODE || scene->sent.items[i].node == n);
    return count;
}

/* A copy of the last one. */
static inline struct sent sent_last(const struct scene *scene,
                                    enum shard_message_kind kind, int n)
{
    for (uint32_t i = scene->sent.count; i-- > 0;)
        if (scene->sent.items[i].kind == kind &&
            (n == ANY_NODE || scene->sent.items[i].node == n))
            return scene->sent.items[i];
    check_failed(__FILE__, __LINE__, "sent");
    return (struct sent){ 0 };
}

/* The node that is a shard's home; -1 = none. */
static inline int home_of(const struct scene *scene, const char *id)
{
    struct coordinator_shard_view view;
    uint32_t at = 0;

    while (coordinator_next_shard(scene->coordinator, &at, &view))
        if (slice_is(view.shard, id))
            return view.region.size ? (int)(view.node.uid - 100) : -1;
    return -1;
}

static inline struct fence fence_of(const struct scene *scene, const char *id)
{
    struct coordinator_shard_view view;
    uint32_t at = 0;

    while (coordinator_next_shard(scene->coordinator, &at, &view))
        if (slice_is(view.shard, id))
            return view.fence;
    return (struct fence){ 0, 0 };
}

static inline uint32_t shards_at(const struct scene *scene, int n)
{
    struct coordinator_region_view view;
    uint32_t at = 0;

    while (coordinator_next_region(scene->coordinator, &at, &view))
        if (!view.is_proxy && view.node.uid == 100 + (uint64_t)n)
            return view.shard_count;
    return 0;
}

static inline bool has_news(struct scene *scene,
                            enum coordinator_news_kind kind)
{
    struct coordinator_news news;
    bool found = false;

    while (coordinator_next_news(scene->coordinator, &news))
        found |= news.kind == kind;
    return found;
}

static inline struct scene *scene_begin(struct scene *scene, int count)
{
    for (int n = 0; n < count; n++)
        peer_up(scene, n);
    give_term(scene, 1);
    for (int n = 0; n < count; n++)
        registers(scene, n);
    play(scene);
    forget_sent(scene);
    return scene;
}

/* A coordinator on n0 with `count` nodes, all registered, active with term 1. */
static inline struct scene *
scene_with(int count, const struct coordinator_settings *settings)
{
    return scene_begin(scene_new(settings), count);
}

#endif
