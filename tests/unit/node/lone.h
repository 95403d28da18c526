/* Provides a node without driver and peers, whose machines get frames and mail from the test. */
#ifndef TESTS_NODE_LONE_H
#define TESTS_NODE_LONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/envelope.h"
#include "node/machine/machine.h"

static inline enum sherd_next lone_receive(struct sherd_ctx *ctx, void *state,
                                           const struct sherd_msg *msg)
{
    (void)ctx;
    (void)state;
    (void)msg;
    return SHERD_CONTINUE;
}

static inline enum sherd_next lone_stop(struct sherd_ctx *ctx, void *state,
                                        const struct sherd_msg *msg)
{
    (void)ctx;
    (void)state;
    return msg->kind == SHERD_MESSAGE ? SHERD_STOP : SHERD_CONTINUE;
}

/* Makes a node with one type, "T", of so many shards (0: as set), whose entities accept
 * everything. */
static inline struct node *lone_node(struct node_settings settings,
                                     uint32_t shards)
{
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = shards,
        .behavior = { .name = "t", .state_size = 8, .receive = lone_receive },
    };
    char error[200];
    struct node *node;

    settings.seed = 1;
    settings.types = &type;
    settings.type_count = 1;
    node = node_new(&settings, error, sizeof error);
    assert_non_null(node);
    return node;
}

/* Makes a node named as in the recorded conversations with JVM nodes; without types. */
static inline struct node *lone_interop(uint32_t lanes)
{
    const struct node_settings settings = {
        .identity = { "akka",
                      "Interop",
                      { { "127.0.0.1", 58705 }, UINT64_C(11) } },
        .lanes = lanes,
        .seed = 1,
        .buffer_size = 100,
    };
    char error[200];
    struct node *node = node_new(&settings, error, sizeof error);

    assert_non_null(node);
    return node;
}

static inline void lone_accept(struct machine *machine, uint64_t conn,
                               enum stream stream)
{
    uint8_t preamble[] = { 'A', 'K', 'K', 'A', (uint8_t)stream };

    machine_accepted(machine, 1, &(struct arrival){ conn, conn, "b:2" });
    machine_bytes(machine, 1, conn, slice_of(preamble, sizeof preamble));
}

/* Passes in a whole frame of `origin`. */
static inline void lone_put(struct machine *machine, uint64_t conn,
                            const struct identity *origin,
                            const char *recipient, const char *sender,
                            const char *manifest, int32_t serializer,
                            struct slice payload)
{
    struct envelope_head head = { 0 };
    struct buf bytes = { 0 };

    assert_true(envelope_head_init(&head, origin, NULL, slice_text(recipient),
                                   slice_text(manifest), serializer));
    envelope_head_put(&bytes, &head, slice_text(sender), payload);
    machine_bytes(machine, 1, conn, buf_slice(&bytes));
    envelope_head_fini(&head);
    buf_fini(&bytes);
}

/* The caller frees it with sherd_status_free. */
static inline struct sherd_status lone_status(struct node *node, uint32_t index)
{
    struct machine *machine = node_machine(node, index);
    struct status_part part = { .machine = 99 };
    struct mail mail = node_mail_status(&part);
    struct driver_request request;
    bool told = false;

    machine_mail(machine, 1, &mail, 1);
    while (machine_next_request(machine, &request))
        told |= request.kind == DRIVER_STATUS;
    assert_true(told);
    assert_int_equal(part.machine, index);
    return part.status;
}

#endif
