/* Looks for seed nodes in a file or by DNS, on a thread of its own; src/member/discovery.c uses the
 * lists.
 *
 * A file has an address on each line, "host:port" or an Akka address, in order of preference; #
 * begins a comment. A file that is missing, empty or has an invalid line gives no list.
 *
 * In DNS, SRV names give hosts and ports; other names give addresses (A, AAAA), which get a port.
 * The list is sorted, so all nodes see one order. An SRV target must be that node's canonical host,
 * and is taken in lower case. */
#ifndef SHERD_HOST_DISCOVERY_H
#define SHERD_HOST_DISCOVERY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trace.h"
#include "node/node.h"

/* Texts are lent. */
struct dns_question {
    const char *name;    /* in full, as "_remote._tcp.shop.example" */
    bool is_srv;         /* or addresses */
    uint16_t port;       /* for addresses */
    const char *servers; /* "127.0.0.1:53,..."; null or "": the system's */
    uint64_t timeout;    /* ns */
};

struct discovery_options {
    const char *file; /* null: use DNS. Copied, like all texts */
    const char *protocol, *system; /* required of full addresses in the file */
    struct dns_question dns;
    /* `done` gets the list, given; `say` the reason of an empty list, one line, not twice in a row.
     * On the discovery's thread. */
    void (*done)(void *context, struct seed_list *list);
    void (*say)(void *context, enum trace_level level, const char *text);
    void *context;
};

struct discovery;

/* Null: the thread cannot start. */
struct discovery *discovery_open(const struct discovery_options *options);
/* any thread; `done` follows once for one or more calls */
void discovery_look(struct discovery *discovery);
/* Reports, once, that a file has not answered for 5 s. False: there is no file to watch. Null is
 * allowed. */
bool discovery_watch(struct discovery *discovery);
/* Ends a look without a list; leaves a file that does not answer behind after 2 s. Null is
 * allowed. */
void discovery_close(struct discovery *discovery);

#define DISCOVERY_CAUSE_MAX 512 /* bytes of a reason, with the zero */

/* One look; never null. An empty list has a reason in why. For discovery.c and tests. */
struct seed_list *discovery_read_file(const char *path, const char *protocol,
                                   const char *system,
                                   char why[DISCOVERY_CAUSE_MAX]);
struct seed_list *discovery_ask_dns(const struct dns_question *question,
                                 const _Atomic bool *stopped,
                                 char why[DISCOVERY_CAUSE_MAX]);

#endif
