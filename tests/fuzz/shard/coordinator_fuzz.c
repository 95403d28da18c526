/* Fuzzes a coordinator with messages, membership changes and time. Its invariants hold after each
 * step. The fences of a shard never go back, and one fence never has two homes. */
#include "../../unit/shard/scene.h"

#define NODES 5
#define SHARDS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The fence and home of a shard that the regions got last. */
struct told {
    struct fence fence;
    int home;
};

static int node_in(const char *ref)
{
    return ref[10] - '0'; /* akka://S@nN:2550/... */
}

static void watch(struct scene *scene, struct told *told)
{
    for (uint32_t i = 0; i < scene->sent.count; i++) {
        const struct sent *sent = &scene->sent.items[i];
        struct told *shard;
        int order;
        int home = sent->node;

        if (sent->kind != SHARD_HOST && sent->kind != SHARD_HOME)
            continue;
        if (sent->kind == SHARD_HOME)
            home = node_in(sent->ref);
        shard = &told[sent->shard[0] - '0'];
        order = fence_compare(sent->fence, shard->fence);
        check(order >= 0);
        check(order > 0 || home == shard->home);
        shard->fence = sent->fence;
        shard->home = home;
    }
}

/* Keeps the last sent messages, for answers now or later. */
static void keep(struct scene *scene, struct sent *kept, uint32_t *count)
{
    for (uint32_t i = 0; i < scene->sent.count; i++) {
        const struct sent *sent = &scene->sent.items[i];

        if (sent->kind == SHARD_HOST || sent->kind == SHARD_BEGIN_HAND_OFF ||
            sent->kind == SHARD_HAND_OFF)
            kept[(*count)++ % 16] = *sent;
    }
    forget_sent(scene);
}

static void answer(struct scene *scene, const struct sent *sent)
{
    if (sent->kind == SHARD_HOST)
        answers(scene, sent, SHARD_HOST_STARTED);
    else if (sent->kind == SHARD_BEGIN_HAND_OFF)
        answers(scene, sent, SHARD_BEGIN_HAND_OFF_ACK);
    else
        answers(scene, sent, SHARD_HOST_STOPPED);
}

static void act(struct scene *scene, uint8_t op, uint8_t x, uint8_t y)
{
    static const enum member_status statuses[] = {
        MEMBER_UP, MEMBER_UP, MEMBER_LEAVING, MEMBER_EXITING, MEMBER_DOWN, MEMBER_JOINING,
    };
    int n = x % NODES;
    char shard[2] = { (char)('0' + y % SHARDS), 0 };
    char ref[80];
    struct shard_hosted hosted[2] = {
        { slice_text(shard), { (uint64_t)(y >> 3) % 4, (uint64_t)(y >> 5) } },
        { slice_of(&"0123456789"[y % SHARDS], 1),
          { (uint64_t)x % 3, (uint64_t)y % 7 } },
    };

    ref_of(ref, sizeof ref, n, false);
    switch (op % 13) {
    case 0:
        peer_is(scene, n, statuses[y % 6], y & 64, !(y & 128));
        break;
    case 1:
        peer_removed(scene, n);
        break;
    case 2:
        registers(scene, n);
        break;
    case 3:
        registers_with(scene, n, y & 1 ? ++scene->report[n] : y % 4, hosted,
                       y % 3);
        break;
    case 4:
    case 5:
        asks(scene, n, shard);
        break;
    case 6:
        passes(scene, (uint64_t)y * 500);
        break;
    case 7:
        give_term(scene, (uint64_t)x % 8 + 1);
        break;
    case 8:
        say(scene, n, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                              .ref = slice_text(ref),
                                              .idle = y & 1 });
        break;
    case 9:
        say(scene, n, (struct shard_message){ .kind = SHARD_REGION_STOPPED,
                                              .ref = slice_text(ref) });
        break;
    case 10:
        say(scene, n, (struct shard_message){
                          .kind = y & 1 ? SHARD_NO_REGION
                                        : SHARD_HAND_OFF_FAILED,
                          .type = slice_text("T"),
                          .shard = slice_text(shard),
                          .fence = fence_of(scene, shard),
                          .attempt = (uint64_t)y % 16 });
        break;
    case 11:
        ref_of(ref, sizeof ref, n, true);
        say_from(scene, n, PROXY_PATH,
                 (struct shard_message){ .kind = SHARD_REGISTER_PROXY,
                                         .ref = slice_text(ref),
                                         .lanes = 1 });
        break;
    default:
        say(scene, n, (struct shard_message){ .kind = SHARD_GET_CLUSTER_STATS,
                                              .timeout_ns = y * 1000000 });
        say(scene, n, (struct shard_message){ .kind = SHARD_REGION_STATS });
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct coordinator_settings settings = { .absolute_limit =
                                                 size ? data[0] % 4 : 0,
                                             .removal_margin_ms =
                                                 size && data[0] & 64 ? 700
                                                                      : 0 };
    struct scene *scene = scene_new(&settings);
    struct told told[10] = { 0 };
    struct sent kept[16];
    uint32_t count = 0;

    scene->is_jvm[4] = true;
    for (size_t i = 1; i + 2 < size && i < 3000; i += 3) {
        if (data[i] & 128 && count)
            answer(scene,
                   &kept[(count - 1 - data[i + 1] % (count < 16 ? count : 16)) %
                         16]);
        else
            act(scene, data[i], data[i + 1], data[i + 2]);
        watch(scene, told);
        keep(scene, kept, &count);
    }
    scene_free(scene);
    return 0;
}
