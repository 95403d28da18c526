/* Fuzzes a replicator with two peers. Input: messages and commands, each with 1 byte kind, 2 bytes
 * size, bytes. Each command gets one answer, peers can read every message, and every value can be
 * sent. */
#include <string.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/timers.h"
#include "ddata/message.h"
#include "ddata/replicator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATH "/system/r"
#define TOKENS_MAX 256

static const struct identity identity = { "akka", "S", { { "me", 1 }, 5 } };

struct run {
    struct dd_writer writer;
    struct replicator *replicator;
    struct outbox outbox;
    uint64_t now;
    uint64_t token;
    uint8_t answers[TOKENS_MAX];
};

static struct node_id peer_of(uint32_t index)
{
    struct node_id node = { { "h", 2551 }, 0x0807060504030201 };

    node.address.port = (uint16_t)(node.address.port + index);
    return node;
}

static void drain(struct run *run)
{
    struct replicator_news news;
    struct outbound out;
    struct message message;

    while (replicator_next_news(run->replicator, &news))
        if (news.kind == REPLICATOR_NEWS_ANSWER)
            run->answers[news.token]++;
    while (outbox_next(&run->outbox, &out)) {
        check(message_get(message_kind_of(out.manifest), out.payload,
                          &message));
        message_fini(&message);
    }
}

static void receive(struct run *run, uint8_t what, struct slice bytes)
{
    enum message_kind kind = (enum message_kind)(what % MESSAGE_CLIENT);
    struct buf packed = { 0 };
    bool is_answer = kind == MESSAGE_WRITE_ACK ||
                     kind == MESSAGE_WRITE_NACK ||
                     kind == MESSAGE_DELTA_NACK || kind == MESSAGE_READ_RESULT;

    if (kind == MESSAGE_GOSSIP) {
        gzip_deflate(&packed, bytes);
        bytes = buf_slice(&packed);
    }
    replicator_receive(run->replicator, run->now,
                       &(struct inbound){
                           .from = peer_of(what >> 7),
                           .sender = slice_text("/system/r#7"),
                           .recipient = slice_text(is_answer ? PATH "/$a"
                                                             : PATH),
                           .manifest = slice_text(message_manifest(kind)),
                           .payload = bytes,
                           .serializer = REPLICATOR_SERIALIZER,
                       },
                       &run->outbox);
    buf_fini(&packed);
}

static void command(struct run *run, uint8_t what, struct slice key)
{
    struct consistency consistency = { (enum consistency_level)(what & 3), 2, 0,
                                       1000 };
    const struct dd_value *current;
    struct dd_value *value;

    if (run->token + 1 >= TOKENS_MAX || !text_is_valid(key))
        return;
    run->token++;
    if (what & 4) {
        replicator_get(run->replicator, run->now, run->token, key, &consistency,
                       &run->outbox);
    } else if (what & 8) {
        replicator_delete(run->replicator, run->now, run->token, key,
                          &consistency, &run->outbox);
    } else if (replicator_update_begin(run->replicator, run->now, run->token,
                                       key, &current,
                                       &run->outbox) == REPLICATOR_MODIFY) {
        value = current ? dd_copy(current) : dd_new(DD_ORSET);
        if (dd_kind_of(value) == DD_ORSET) {
            struct dd_element element = dd_long(what);

            dd_orset_add(value, &run->writer, &element);
        }
        replicator_update(run->replicator, run->now, run->token, key, value,
                          &consistency, &run->outbox);
    }
}

static void begin(struct run *run)
{
    memset(run, 0, sizeof *run);
    run->writer.node = identity.node;
    run->replicator = replicator_new(
        &(struct replicator_options){
            .identity = &identity,
            .path = PATH,
            .settings = { .pruning_interval_ms = 1000,
                          .pruning_dissemination_ms = 1000 },
            .writer = &run->writer,
            .seed = 1 },
        0);
    for (uint32_t i = 0; i < 3; i++)
        replicator_peer(run->replicator, 0,
                        &(struct member_info){ .node = i == 2 ? identity.node
                                                       : peer_of(i),
                                        .up_number = 1,
                                        .status = MEMBER_UP,
                                        .reachable = true,
                                        .has_role = true });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    struct run run;

    begin(&run);
    (void)replicator_subscribe(run.replicator, 0, slice_text("*"));
    while (cursor_left(&cursor) >= 3) {
        uint8_t what = cursor_u8(&cursor);
        size_t length = cursor_u16(&cursor);

        if (length > cursor_left(&cursor))
            length = cursor_left(&cursor);
        if ((what & 0x70) == 0x70) {
            run.now += 700 * MS;
            replicator_step(run.replicator, run.now, &run.outbox);
        } else if (what & 0x40) {
            command(&run, what, cursor_slice(&cursor, length));
        } else {
            receive(&run, what, cursor_slice(&cursor, length));
        }
        drain(&run);
    }
    run.now += 10 * SECOND;
    replicator_step(run.replicator, run.now, &run.outbox);
    drain(&run);
    for (uint64_t token = 1; token <= run.token; token++)
        check(run.answers[token] == 1);
    replicator_free(run.replicator);
    outbox_fini(&run.outbox);
    return 0;
}
