/* Carries to a thread what does not come by rings: mail of the program's threads, accepted
 * connections, finished journal requests and jobs.
 *
 * Mail is bounded in count and bytes (INBOX_MAIL_MAX, INBOX_BYTES_MAX), the others where they come
 * from. Any thread puts, only the owner takes. Items of one thread keep their order.
 *
 * A putter sets `count` before it reads the owner's `sleeping` flag. The owner sets the flag before
 * it reads `count`. */
#ifndef SHERD_HOST_INBOX_H
#define SHERD_HOST_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "node/node.h"

struct tls_end;

/* An accepted connection on its way to its machine. */
struct accepted {
    int fd;
    uint64_t order;  /* order of acceptance, from 1 */
    char remote[64]; /* "address:port" */
    struct buf first; /* plain bytes that the listener read */
    struct tls_end *tls; /* null: the connection is plain */
};

enum inbox_kind { INBOX_MAIL, INBOX_ACCEPTED, INBOX_STORED, INBOX_LEASED, INBOX_DURABLE, INBOX_FOUND, INBOX_JOB };

struct inbox_item {
    enum inbox_kind kind;
    uint32_t machine;
    size_t size; /* mail: bytes of its body, for the limit */
    union {
        struct mail mail;
        struct accepted *accepted;
        struct journal_request *request;
        struct lease_request *lease;
        struct durable_request *durable;
        struct seed_list *seeds;
        struct job *job;
    } is;
};

struct inbox {
    uv_mutex_t mutex;
    bool closed;
    VEC(struct inbox_item) items; /* under the mutex */
    uint32_t mail_count;          /* under the mutex, as are its bytes */
    size_t mail_bytes;
    uint64_t refused;             /* mail at the limit */
    _Atomic uint32_t count;       /* of items; readable without the mutex */
    VEC(struct inbox_item) taken; /* the owner's */
    uint32_t taken_at;
};

void inbox_init(struct inbox *inbox);
/* Frees the mail, sockets and requests in it. */
void inbox_fini(struct inbox *inbox);
/* Refuses mail from now on; keeps the rest until inbox_fini. */
void inbox_close(struct inbox *inbox);

/* Any thread. False: at the limit or closed; the caller keeps the mail. */
bool inbox_put_mail(struct inbox *inbox, uint32_t machine,
                    const struct mail *mail, size_t size);
/* For the few mails that must not be refused (status). */
void inbox_put_command(struct inbox *inbox, uint32_t machine,
                       const struct mail *mail);
void inbox_put_accepted(struct inbox *inbox, uint32_t machine,
                        struct accepted *accepted); /* given */
void inbox_put_stored(struct inbox *inbox, struct journal_request *request); /* given */
/* given; for machine 0, as the next two */
void inbox_put_leased(struct inbox *inbox, struct lease_request *request);
void inbox_put_durable(struct inbox *inbox, struct durable_request *request); /* given */
void inbox_put_found(struct inbox *inbox, struct seed_list *list); /* given */
void inbox_put_job(struct inbox *inbox, struct job *job); /* given; for the machine that it names */

static inline bool inbox_is_empty(struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->count, memory_order_seq_cst) == 0;
}

/* Returns the next item, lent until the next call; its content is given. False after those that
 * were there at a run's first call. */
bool inbox_next(struct inbox *inbox, struct inbox_item *item);

/* closes the socket unless fd is -1, frees tls unless it is null */
void accepted_free(struct accepted *accepted);

#endif
