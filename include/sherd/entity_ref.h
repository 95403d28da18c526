/* References to entities as values: type, id and data center.
 *
 * A reference names an entity wherever it runs, and whether it runs or not. It
 * is plain data: copy it, store it, send its text in a body. A sherd_ref, in
 * contrast, names one incarnation of an actor.
 * Guide: docs/guide/clients.md. */
#ifndef SHERD_ENTITY_REF_H
#define SHERD_ENTITY_REF_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names an entity. sherd_entity_ref_make fills it: bytes after the end of a
 * text are zero, so references can be compared with memcmp and used as keys. */
struct sherd_entity_ref {
    char type[SHERD_TYPE_MAX + 1]; /* the name of its type */
    char id[SHERD_ID_MAX + 1];     /* its id */
    /* "": the data center of the node that uses the reference. */
    char data_center[SHERD_TYPE_MAX + 1];
};

/* Makes a reference. The type need not be registered.
 *
 * ref: filled; on failure all zero. type: 1 to SHERD_TYPE_MAX bytes of UTF-8
 * without a '|'. id: 1 to SHERD_ID_MAX bytes. data_center: up to
 * SHERD_TYPE_MAX bytes of UTF-8; null or "" for that of the node that uses the
 * reference.
 * Result: 0; SHERD_EINVAL: a text is missing, too long or not valid.
 * Threads: any. This holds for all functions without a ctx. */
SHERD_API SHERD_MUST_USE int
sherd_entity_ref_make(struct sherd_entity_ref *ref, const char *type,
                      const char *id, const char *data_center);

/* Fills in the reference of the entity that is running, with the data center of
 * its node. It is valid everywhere in the cluster.
 *
 * Result: 0; SHERD_EINVAL: ctx is that of a plain actor, which has no
 * reference, or the data center's name is longer than SHERD_TYPE_MAX. */
SHERD_API SHERD_MUST_USE int
sherd_entity_ref_self(const struct sherd_ctx *ctx,
                      struct sherd_entity_ref *ref);

/* ---- text ---- */

/* Bytes of the longest text of a reference, with its zero byte. */
#define SHERD_ENTITY_REF_TEXT_MAX                                              \
    (3 * (SHERD_TYPE_MAX + SHERD_ID_MAX + SHERD_TYPE_MAX) + 3)

/* Writes a reference as text: "cart/alice", with a data center
 * "cart@east/alice".
 *
 * Letters, digits and "-._~" stay, and every other byte becomes "%XX", with
 * capital digits. So the text is ASCII and fits into a URL, a log line and a
 * key. Two references are equal if their texts are equal.
 *
 * text: gets the text and a zero byte. size: of text, in bytes;
 * SHERD_ENTITY_REF_TEXT_MAX is always enough.
 * Result: the bytes of the text without the zero byte; SHERD_EINVAL: ref is not
 * valid, or size is too small; then text is "" unless size is 0. */
SHERD_API int sherd_entity_ref_text(const struct sherd_entity_ref *ref,
                                    char *text, size_t size);

/* Reads a reference from its text, such as a message's body.
 *
 * ref: filled; on failure all zero. text: lent; no zero byte is needed. Only
 * the form that sherd_entity_ref_text writes is accepted.
 * Result: 0; SHERD_EINVAL: it is no reference. */
SHERD_API SHERD_MUST_USE int
sherd_entity_ref_parse(struct sherd_entity_ref *ref, struct sherd_bytes text);

/* ---- use in actors ---- */

/* Send to the entity of a reference. They do what sherd_entity_tell,
 * sherd_entity_ask and sherd_entity_ask_or_fail do.
 *
 * A reference to another data center needs a type that is registered for it
 * (sherd_entity_type.data_center); otherwise the message ends as
 * SHERD_REASON_NO_SUCH_TYPE. A reference to the node's own data center reaches
 * its own entities. */
SHERD_API void sherd_entity_ref_tell(struct sherd_ctx *ctx,
                                     const struct sherd_entity_ref *ref,
                                     uint32_t msg, struct sherd_bytes body);
SHERD_API void sherd_entity_ref_ask(struct sherd_ctx *ctx,
                                    const struct sherd_entity_ref *ref,
                                    uint32_t msg, struct sherd_bytes body,
                                    uint32_t tag, uint64_t timeout_ms);
SHERD_API void sherd_entity_ref_ask_or_fail(struct sherd_ctx *ctx,
                                            const struct sherd_entity_ref *ref,
                                            uint32_t msg,
                                            struct sherd_bytes body,
                                            uint32_t tag, uint64_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
