/* Values as users see them (sherd/ddata.h): changes applied to a replicated value, and the body of a SHERD_DATA message.
 *
 * A body is: the key, a zero byte, and of messages with a value its serializer (u32), its manifest's size (u16), manifest
 * and bytes. A body of keys is: a zero byte, since it is of no key, from where the next call goes on (u32), and keys,
 * each with a zero byte. They do not leave the process. */
#ifndef SHERD_DDATA_FACE_H
#define SHERD_DDATA_FACE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/ddata.h>

#include "ddata/value.h"

/* Makes the changes, in order, in a copy of the current value, or in the type's empty one when current is null. The new value is given;
 * null when the value is of another type, or a change is none for it. */
struct dd_value *face_change(const struct dd_value *current,
                             enum sherd_data_type type,
                             const struct sherd_change *changes, uint32_t count,
                             struct dd_writer *writer, int64_t now_ms);

/* Are these changes of a value of that type that can all be made in it, and only add to maps? growth_max: bytes that they add to it at most. */
bool face_is_sure(const struct dd_value *value, enum sherd_data_type type,
                  const struct sherd_change *changes, uint32_t count,
                  size_t *growth_max);
/* Makes those in the value itself. */
void face_change_in_place(struct dd_value *value,
                          const struct sherd_change *changes, uint32_t count,
                          struct dd_writer *writer, int64_t now_ms);

/* value null: the message has none. */
void face_put_body(struct buf *body, struct slice key,
                   const struct dd_value *value);

/* A body of keys: begun, put, ended. next: 0 when there are no more. A key that no call can have, of a JVM, is left out. */
void face_begin_keys(struct buf *body);
void face_put_key(struct buf *body, struct slice key);
void face_end_keys(struct buf *body, uint32_t next);

#endif
