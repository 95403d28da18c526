/* Finds the rights that a token or a certificate gives. */
#ifndef SHERD_MGMT_RIGHTS_H
#define SHERD_MGMT_RIGHTS_H

#include "base/bytes.h"
#include "base/vec.h"

/* Each holds what the ones before it hold. */
enum right {
    RIGHT_OPEN,    /* health, seed nodes */
    RIGHT_READ,
    RIGHT_OPERATE, /* leave, log level */
    RIGHT_ADMIN    /* join, down, prepare for shutdown */
};

/* "open", "read", "operate", "admin". */
const char *right_text(enum right right);
/* False: there is no right with this name that a token can have. */
bool right_named(struct slice name, enum right *right);

#define DIGEST_SIZE 32 /* bytes of SHA-256 */

struct token {
    uint8_t digest[DIGEST_SIZE];
    enum right right;
    char name[64]; /* for the audit */
};

/* Zero is an empty one. */
struct tokens {
    VEC(struct token) items;
};

void tokens_fini(struct tokens *tokens);
/* Reads lines `ROLE SHA256HEX NAME`; empty ones and those that begin with # are skipped. Returns 0, or
 * the number of the first wrong line. */
uint32_t tokens_read(struct tokens *tokens, struct slice text);
/* Compares with all tokens, in a time that does not depend on them. Null: none. */
const struct token *tokens_find(const struct tokens *tokens, const uint8_t digest[DIGEST_SIZE]);

/* Appends the token of an Authorization header: `Bearer T`, or Basic with T as the password. False: it
 * has neither form, or is too long. */
bool token_take(struct slice authorization, struct buf *token);

/* `CN=ops,* = operate`: does the pattern name the subject, and with which right? A star stands for any
 * rest of the subject, which is written as `CN=ops,O=acme`. */
bool client_right(const char *pattern, const char *subject, enum right *right);

#endif
