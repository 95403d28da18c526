/* Identifies a node by its address, and its incarnation by a uid.
 * An address is host and port, because all nodes of a cluster share protocol and system name; the
 * full text is akka://System@host:port. Order: host as bytes, port, uid as a signed number. Hosts
 * are compared literally: "localhost" is not "127.0.0.1". */
#ifndef SHERD_BASE_ADDRESS_H
#define SHERD_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOST_MAX 253 /* bytes without the zero: DNS's longest name (RFC 1035) */

struct address {
    char host[HOST_MAX + 1]; /* zero bytes fill the rest */
    uint16_t port;
};

/* One incarnation of a node; uid 0 = any incarnation. */
struct node_id {
    struct address address;
    uint64_t uid;
};

int address_compare(const struct address *left, const struct address *right);
int node_compare(const struct node_id *left, const struct node_id *right);
/* Returns false if the host is empty or too long, or the port is 0 or above 65535. */
bool address_set(struct address *address, const char *host, size_t host_size,
                 uint32_t port);
/* As address_set, for a host from people or DNS: adds the brackets of an IPv6 address, if
 * missing. */
bool address_set_named(struct address *address, const char *host,
                       size_t host_size, uint32_t port);
/* Writes the host without brackets, as sockets and certificates need it. bare has HOST_MAX + 1
 * bytes; a longer host is cut. */
void address_bare_host(char *bare, const char *host);

/* Compares the first eight bytes as one word. */
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

/* A compact address that a core keeps for long: a node keeps several for each peer, and most hosts
 * are short. The bytes from the port to the host's end are a key. */
struct kept_address {
    uint16_t port;
    uint8_t host_size;
    char host[]; /* ends with a zero byte */
};

/* The key of the same kept_address. */
struct address_key {
    uint8_t bytes[offsetof(struct kept_address, host) + HOST_MAX];
    size_t size;
};

/* The caller frees it with mem_free. */
struct kept_address *address_keep(const struct address *address);
struct address address_again(const struct kept_address *kept);
int kept_address_compare(const struct kept_address *left,
                         const struct address *right); /* as address_compare */
void address_key_of(struct address_key *key, const struct address *address);

static inline bool kept_address_equal(const struct kept_address *left,
                                      const struct address *right)
{
    return left->port == right->port &&
           !memcmp(left->host, right->host, (size_t)left->host_size + 1);
}

/* As address_equal and address_compare. */
bool kept_addresses_equal(const struct kept_address *left,
                          const struct kept_address *right);
int kept_addresses_compare(const struct kept_address *left,
                           const struct kept_address *right);
/* For callers that allocate many in one block: the size, and the constructor. */
size_t kept_address_size(const struct address *address);
void address_keep_at(struct kept_address *kept, const struct address *address);

/* Returns the same address, lent for the caller's lifetime, instead of a copy. */
typedef const struct kept_address *
address_lasting(void *user, const struct address *address);

/* Writes "host:port" into text; size is at least ADDRESS_TEXT_MAX. Returns text. */
#define ADDRESS_TEXT_MAX (HOST_MAX + 8)
char *address_text(const struct address *address, char *text, size_t size);
char *kept_address_text(const struct kept_address *address, char *text,
                        size_t size);
/* Reads "host:port", "System@host:port" or "protocol://System@host:port"; protocol and system, if
 * present, must equal those given (null = any). False when malformed or different. See host_name.h
 * for the characters of a host. */
bool address_parse(struct address *address, const char *text,
                   const char *protocol, const char *system);
/* Is it a valid system name on a JVM? The name becomes part of every ref. */
bool address_is_system(const char *text);
#define ADDRESS_SYSTEM_FORM                                                    \
    "letters, digits, - or _, beginning with a letter or digit"

#endif
