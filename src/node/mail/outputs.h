/* Keeps what one machine hands to its driver: mail for the other machines, and requests. */
#ifndef SHERD_NODE_MAIL_OUTPUTS_H
#define SHERD_NODE_MAIL_OUTPUTS_H

#include "base/vec.h"
#include "node/mail/mail.h"
#include "node/node.h"

struct outputs {
    VEC(struct driver_request) requests;
    uint32_t request_head;
    uint32_t own;            /* the machine's index */
    uint32_t machine_count;
    struct mail_queue *mail; /* by machine */
};

void outputs_init(struct outputs *outputs, uint32_t own, uint32_t machine_count);
/* Frees the requests with what they point to. The mail must be gone. */
void outputs_fini(struct outputs *outputs);
/* Posts mail to another machine. */
void outputs_post(struct outputs *outputs, uint32_t to,
                  const struct mail_content *content);
/* Posts mail to every lane. The last lane gets the given pointers, each other lane a copy. */
void outputs_post_lanes(struct outputs *outputs,
                        const struct mail_content *content);
/* Returns the number of pieces of mail for a machine; lent until outputs_sent. */
uint32_t outputs_mail(const struct outputs *outputs, uint32_t to,
                      const struct mail **mail);
void outputs_sent(struct outputs *outputs, uint32_t to, uint32_t count);
void outputs_request(struct outputs *outputs,
                     const struct driver_request *request);
void outputs_request_write(struct outputs *outputs, uint64_t link);
bool outputs_next_request(struct outputs *outputs,
                          struct driver_request *request);

#endif
