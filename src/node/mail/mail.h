/* Defines mail between the machines of one node, its constructors and readers, and the queues of
 * mail that waits for the driver.
 *
 * A struct mail_content is the inside of a `struct mail`: fixed in size and copied. MAIL(held,
 * .attempt = attempt) makes one, mail_held_of reads it. The receiver or the holder frees the
 * pointers in `own`. */
#ifndef SHERD_NODE_MAIL_H
#define SHERD_NODE_MAIL_H

#include <string.h>

#include "base/check.h"
#include "base/vec.h"
#include "node/mail/kinds.h"
#include "node/node.h"

#define MAIL_KIND(kind, name) kind,
enum mail_kind { MAIL_KINDS(MAIL_KIND, MAIL_KIND, MAIL_KIND) };
#undef MAIL_KIND

#define MAIL_NONE(kind, name)
#define MAIL_MEMBER(kind, name) struct mail_##name name;
struct mail_content {
    uint16_t kind;
    uint16_t type; /* index of the entity type */
    int32_t shard;
    uint32_t lane; /* the sender, if it is a lane */
    union {
        MAIL_KINDS(MAIL_NONE, MAIL_MEMBER, MAIL_MEMBER)
    };
};
#undef MAIL_NONE
#undef MAIL_MEMBER

_Static_assert(sizeof(struct mail_content) == sizeof(struct mail),
               "the content fills the mail");

/* For each kind: mail_NAME_new makes the content, mail_NAME_of reads it, and mail_NAME_take also
 * gives what it owns to the caller. */
#define MAIL_NEW(kind_, name) \
    static inline struct mail_content mail_##name##_new(void) \
    { \
        return (struct mail_content){ .kind = kind_ }; \
    }
#define MAIL_NEW_WITH(kind_, name) \
    static inline struct mail_content mail_##name##_new(struct mail_##name inside) \
    { \
        return (struct mail_content){ .kind = kind_, .name = inside }; \
    } \
    static inline const struct mail_##name *mail_##name##_of( \
        const struct mail_content *content) \
    { \
        check(content->kind == kind_); \
        return &content->name; \
    }
#define MAIL_NEW_OWNER(kind_, name) \
    MAIL_NEW_WITH(kind_, name) \
    static inline struct mail_##name mail_##name##_take( \
        struct mail_content *content) \
    { \
        struct mail_##name inside = *mail_##name##_of(content); \
        \
        memset(&content->name.own, 0, sizeof content->name.own); \
        return inside; \
    }
MAIL_KINDS(MAIL_NEW, MAIL_NEW_WITH, MAIL_NEW_OWNER)
#undef MAIL_NEW
#undef MAIL_NEW_WITH
#undef MAIL_NEW_OWNER

/* Makes the content of a kind with fields; what stands in `own` is given. */
#define MAIL(name, ...) mail_##name##_new((struct mail_##name){ __VA_ARGS__ })

static inline struct mail_content mail_for_shard(uint32_t type, int32_t shard,
                                                 struct mail_content content)
{
    content.type = (uint16_t)type;
    content.shard = shard;
    return content;
}

static inline struct mail_content mail_for_type(uint32_t type,
                                                struct mail_content content)
{
    return mail_for_shard(type, 0, content);
}

static inline struct mail_content mail_from(uint32_t lane,
                                            struct mail_content content)
{
    content.lane = lane;
    return content;
}

static inline struct mail mail_seal(const struct mail_content *content)
{
    struct mail mail;

    memcpy(&mail, content, sizeof mail);
    return mail;
}

static inline struct mail_content mail_open(const struct mail *mail)
{
    struct mail_content content;

    memcpy(&content, mail, sizeof content);
    return content;
}

/* Copies a node for `own`; null gives null. */
struct node_id *mail_node(const struct node_id *node);
/* Copies the content with the node or name that it owns. Only for kinds that own no more. */
struct mail_content mail_copy(const struct mail_content *content);
void look_asked_free(struct look_asked *asked); /* null is fine */
/* Frees what the content owns. Messages in a lane's memory stay with the lane, which must still
 * exist. */
void mail_content_free(struct mail_content *content);

struct mail_queue {
    VEC(struct mail) mail;
    uint32_t head;
};

/* Copies the content; what it owns is given. */
void mail_post(struct mail_queue *queue, const struct mail_content *content);
void mail_queue_fini(struct mail_queue *queue); /* with everything that the mail owns */

#endif
