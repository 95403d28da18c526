/* Replaces the node in tests of the driver: hooks decide what it does.
 *
 * A machine keeps mail, requests and bytes of links in arrays, and calls a hook for each input, on
 * its own thread. Set fake_hooks before sherd_open. */
#ifndef TESTS_HOST_FAKE_NODE_H
#define TESTS_HOST_FAKE_NODE_H

#include <stdatomic.h>

#include "base/vec.h"
#include "node/node.h"

#define FAKE_LINKS_MAX 64

struct fake_link {
    bool open;
    bool asked;     /* a DRIVER_WRITE is pending */
    struct buf out;
    size_t written; /* bytes of out */
};

struct machine {
    struct node *node;
    uint32_t index;
    uint64_t now;
    uint64_t deadline; /* UINT64_MAX: none */
    struct trace *trace;
    VEC(struct mail) out[LANES_MAX + 1];
    VEC(struct driver_request) wants;
    uint32_t wants_at;
    struct fake_link links[FAKE_LINKS_MAX]; /* by number */
    uint64_t numbers[16];                   /* for the hooks */
    void *user;
};

struct node {
    uint32_t lanes;
    uint16_t port;
    struct machine *machines;
};

/* Kind of a mail, in words[0]; hooks use the rest. */
enum fake_mail { FAKE_MAIL, FAKE_TELL, FAKE_STATUS, FAKE_LEAVE, FAKE_COMMAND };

struct fake_hooks {
    void (*start)(struct machine *machine);
    void (*mail)(struct machine *machine, const struct mail *mail);
    void (*accepted)(struct machine *machine, uint64_t conn);
    void (*vouched)(struct machine *machine, uint64_t conn, const struct voucher *voucher);
    void (*bytes)(struct machine *machine, uint64_t conn, struct slice bytes);
    void (*closed)(struct machine *machine, uint64_t conn);
    void (*connected)(struct machine *machine, uint64_t link);
    void (*failed)(struct machine *machine, uint64_t link, const char *why);
    void (*wrote)(struct machine *machine, uint64_t link, size_t size);
    void (*stored)(struct machine *machine, struct journal_request *request); /* given */
    bool (*turn)(struct machine *machine);
    void (*leave)(struct machine *machine); /* null: the node ends at once */
};

extern struct fake_hooks fake_hooks;
extern _Atomic int fake_tells_freed; /* the program's mails that were refused or never read */

void fake_send(struct machine *machine, uint32_t to, const struct mail *mail);
void fake_connect(struct machine *machine, uint64_t link, const char *host,
                  uint16_t port);
void fake_close_link(struct machine *machine, uint64_t link);
void fake_close_conn(struct machine *machine, uint64_t conn);
void fake_write(struct machine *machine, uint64_t link, const void *data,
                size_t size);
void fake_end(struct machine *machine, int error);
/* First bytes of a connection for that machine: magic, stream, machine. */
#define FAKE_HELLO_SIZE 9
void fake_hello(uint8_t hello[FAKE_HELLO_SIZE], uint32_t machine);

#endif
