/* Fuzzes the messages to a member. Input: messages of 1 byte kind, 2 bytes size, payload. A joining
 * node gets the first message, too. */
#include "core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const manifests[] = { "IJ", "IJA", "IJN", "J", "W", "GE",
                                         "GS", "HB",  "HBR", "L", "D", "EC",
                                         "v",  "h",   "r" };

static const char *manifest_of(uint8_t kind)
{
    return manifests[kind % (sizeof manifests / sizeof *manifests)];
}

/* Sends the message to a node that has asked b to join. */
static void answer_seeker(const char *manifest, struct slice payload)
{
    struct member_settings settings = {
        .seeds = &core_peer.address,
        .seed_count = 1,
    };
    struct outbox outbox = { 0 };
    struct member *member = member_new(&core_identity, &settings, 1, NULL);
    struct member_news news;

    member_start(member, SECOND, 0, &outbox);
    core_put(member, manifest, payload, &outbox);
    (void)member_join(member, SECOND, 0, &core_peer.address, &outbox);
    core_put(member, manifest, payload, &outbox);
    member_step(member, 20 * SECOND, 0, &outbox);
    while (member_next_news(member, &news))
        ;
    member_free(member);
    outbox_fini(&outbox);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    struct outbox outbox = { 0 };
    struct member *member = core_new(&outbox);
    enum member_status before = member_self(member)->status;

    for (int i = 0; i < 8 && cursor_left(&cursor) > 3; i++) {
        const char *manifest = manifest_of(cursor_u8(&cursor));
        size_t wanted = cursor_u16(&cursor);
        size_t left = cursor_left(&cursor);
        struct slice payload =
            cursor_slice(&cursor, wanted < left ? wanted : left);

        if (i == 0)
            answer_seeker(manifest, payload);
        core_put(member, manifest, payload, &outbox);
    }
    core_check(member, before, &outbox);
    member_free(member);
    outbox_fini(&outbox);
    return 0;
}
