/* Where a node is, and which of its lives is meant.
 *
 * Protocol and system name are the same for all nodes of a cluster, so an address here is host and port; the full text
 * form (akka://System@host:port) is made with both. Order as behaviour demands: host as bytes, then port, then uid as a
 * signed number. A host is compared literally: "localhost" is not "127.0.0.1". */
#ifndef SHERD_BASE_ADDRESS_H
#define SHERD_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOST_MAX 253 /* bytes of a host's name without the zero: as many as a name in DNS may have (RFC 1035) */

struct address {
    char host[HOST_MAX + 1]; /* filled with zero bytes behind the text */
    uint16_t port;
};

/* One incarnation of a node; uid 0 = any incarnation. */
struct node_id {
    struct address address;
    uint64_t uid;
};

int address_compare(const struct address *left, const struct address *right);
int node_compare(const struct node_id *left, const struct node_id *right);
bool address_set(struct address *address, const char *host, size_t host_size,
                 uint32_t port); /* false: host empty or too long, or port 0 or above 65535 */
/* As address_set, of a host that people or DNS name: addresses of IPv6 get the brackets that they have in refs (wire 1.1), if they have
 * none. */
bool address_set_named(struct address *address, const char *host,
                       size_t host_size, uint32_t port);
/* The host as sockets and certificates have it: without those brackets. bare: of HOST_MAX + 1 bytes; a longer host is cut. */
void address_bare_host(char *bare, const char *host);

/* Short names are compared as one word. */
static inline bool address_equal(const struct address *left,
                                 const struct address *right)
{
    uint64_t a, b;

    memcpy(&a, left->host, sizeof a);
    memcpy(&b, right->host, sizeof b);
    return a == b && left->port == right->port &&
           (!left->host[7] || !strcmp(left->host + 8, right->host + 8));
}

static inline bool node_equal(const struct node_id *left,
                              const struct node_id *right)
{
    return left->uid == right->uid &&
           address_equal(&left->address, &right->address);
}

/* An address that is kept for long, in as many bytes as its text needs: most hosts have few, and a node keeps some for each other one.
 * The bytes from the port to the host's end are a key. */
struct kept_address {
    uint16_t port;
    uint8_t host_size;
    char host[]; /* ends with a zero byte */
};

/* A key of an address as of one that is kept. */
struct address_key {
    uint8_t bytes[offsetof(struct kept_address, host) + HOST_MAX];
    size_t size;
};

struct kept_address *address_keep(const struct address *address); /* given; mem_free frees it */
struct address address_again(const struct kept_address *kept); /* as it was when it was kept */
int kept_address_compare(const struct kept_address *left,
                         const struct address *right); /* as address_compare */
void address_key_of(struct address_key *key, const struct address *address);

static inline bool kept_address_equal(const struct kept_address *left,
                                      const struct address *right)
{
    return left->port == right->port &&
           !memcmp(left->host, right->host, (size_t)left->host_size + 1);
}

/* As address_equal, and as address_compare. */
bool kept_addresses_equal(const struct kept_address *left,
                          const struct kept_address *right);
int kept_addresses_compare(const struct kept_address *left,
                           const struct kept_address *right);
/* The bytes that one takes, and that it becomes where there are so many. */
size_t kept_address_size(const struct address *address);
void address_keep_at(struct kept_address *kept, const struct address *address);

/* The same address, lent for as long as whoever asks lives: to be kept instead of a copy. */
typedef const struct kept_address *
address_lasting(void *user, const struct address *address);

/* "host:port" into text; size at least ADDRESS_TEXT_MAX. Returns text. */
#define ADDRESS_TEXT_MAX (HOST_MAX + 8)
char *address_text(const struct address *address, char *text, size_t size);
char *kept_address_text(const struct kept_address *address, char *text,
                        size_t size);
/* Reads "host:port", "System@host:port" or "protocol://System@host:port"; the parts before the host, when present, must be
 * equal to those given (null = anything). False when malformed or different: a host has letters, digits and -.:[]%, and _ before its last
 * dot (MEM-060, as a JVM takes them). */
bool address_parse(struct address *address, const char *text,
                   const char *protocol, const char *system);
/* Will it do as a system's name? What a JVM takes: it becomes part of every ref. */
bool address_is_system(const char *text);
#define ADDRESS_SYSTEM_FORM                                                    \
    "letters, digits, - or _, beginning with a letter or digit"

#endif
