/* Encodes and decodes Akka's cluster messages (serializer 5, cluster.proto).
 *
 * Encoders append to a buffer. Decoders check all rules on which Akka's peers rely. Results do not
 * point into the payload. Addresses in a message must have this cluster's protocol and system name;
 * others are WIRE_FOREIGN. */
#ifndef SHERD_MEMBER_WIRE_H
#define SHERD_MEMBER_WIRE_H

#include "base/bytes.h"
#include "member/gossip.h"

enum verdict {
    WIRE_OK,
    WIRE_MALFORMED, /* not this message, or an invalid address */
    WIRE_FOREIGN,   /* of another cluster */
    WIRE_HOSTILE,   /* decodes but breaks a rule; nothing is used */
    WIRE_BEYOND     /* decodes but passes a limit of base/limits.h or HOST_MAX; nothing is used */
};

enum config_check {
    CONFIG_UNCHECKED = 1,
    CONFIG_INCOMPATIBLE = 2,
    CONFIG_COMPATIBLE = 3
};

/* IJ. The config is JSON text. A decoded one replaces the buffer's contents, with a zero byte after
 * it. */
void wire_put_init_join(const struct identity *identity, struct buf *buf,
                        struct slice config);
enum verdict wire_get_init_join(const struct identity *identity,
                                struct slice payload, struct buf *config);
/* IJA */
void wire_put_init_join_ack(const struct identity *identity, struct buf *buf,
                            enum config_check check, struct slice config);
enum verdict wire_get_init_join_ack(const struct identity *identity,
                                    struct slice payload,
                                    struct address *address,
                                    enum config_check *check,
                                    struct buf *config);
/* IJN, L, D */
void wire_put_address(const struct identity *identity, struct buf *buf,
                      const struct address *address);
enum verdict wire_get_address(const struct identity *identity,
                              struct slice payload, struct address *address);
/* EC */
void wire_put_node(const struct identity *identity, struct buf *buf,
                   const struct node_id *node);
enum verdict wire_get_node(const struct identity *identity,
                           struct slice payload, struct node_id *node);
/* J. The caller holds the decoded profile. */
void wire_put_join(const struct identity *identity, struct buf *buf,
                   const struct profile *profile);
enum verdict wire_get_join(const struct identity *identity,
                           struct slice payload, struct profile **profile);

/* HB, HBR. A response has the numbers of its heartbeat. */
struct heartbeat {
    struct node_id from; /* uid 0 in a heartbeat, which names only the address */
    int64_t sequence;
    int64_t created; /* nanoseconds of the sender */
};
void wire_put_heartbeat(const struct identity *identity, struct buf *buf,
                        const struct heartbeat *heartbeat);
enum verdict wire_get_heartbeat(const struct identity *identity,
                                struct slice payload,
                                struct heartbeat *heartbeat);
void wire_put_response(const struct identity *identity, struct buf *buf,
                       const struct heartbeat *heartbeat);
enum verdict wire_get_response(const struct identity *identity,
                               struct slice payload,
                               struct heartbeat *heartbeat);

/* SHA-1 of the addresses in the seen set, joined by commas. */
#define SEEN_DIGEST_SIZE 20
void wire_seen_digest(const struct identity *identity,
                      const struct gossip *gossip,
                      uint8_t digest[SEEN_DIGEST_SIZE]);

/* GS: clock and digest of a gossip. */
struct gossip_status {
    struct node_id from;
    struct clock clock; /* free with clock_fini, even after an error */
    uint8_t digest[SEEN_DIGEST_SIZE];
    bool has_digest;
};
void wire_put_status(const struct identity *identity, struct buf *buf,
                     const struct node_id *from, const struct gossip *gossip,
                     const uint8_t digest[SEEN_DIGEST_SIZE]);
enum verdict wire_get_status(const struct identity *identity,
                             struct slice payload,
                             struct gossip_status *status);

/* A compressed gossip, as in GE. known: our gossip; profiles of its incarnations are shared. The
 * decoded gossip must be empty before. Free it with gossip_fini, even after an error. */
void wire_put_gossip(const struct identity *identity, struct buf *buf,
                     const struct gossip *gossip);
enum verdict wire_get_gossip(const struct identity *identity,
                             struct slice packed, const struct gossip *known,
                             struct gossip *gossip);
/* The same for inflated bytes. */
enum verdict wire_read_gossip(const struct identity *identity,
                              struct slice bytes, const struct gossip *known,
                              struct gossip *gossip);
/* GE around a compressed gossip. The decoded one replaces the buffer's contents. */
void wire_put_envelope(const struct identity *identity, struct buf *buf,
                       const struct node_id *from, const struct node_id *to,
                       struct slice packed);
enum verdict wire_get_envelope(const struct identity *identity,
                               struct slice payload, struct node_id *from,
                               struct node_id *to, struct buf *packed);
/* W */
void wire_put_welcome(const struct identity *identity, struct buf *buf,
                      const struct node_id *from, const struct gossip *gossip);
enum verdict wire_get_welcome(const struct identity *identity,
                              struct slice payload, const struct gossip *known,
                              struct node_id *from, struct gossip *gossip);
/* The same for inflated bytes. */
enum verdict wire_read_welcome(const struct identity *identity,
                               struct slice bytes, const struct gossip *known,
                               struct node_id *from, struct gossip *gossip);

#endif
