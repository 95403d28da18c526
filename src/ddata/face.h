/* Applies users' changes (sherd/ddata.h) to values, and encodes the bodies of SHERD_DATA messages,
 * which never leave the process.
 *
 * A body is the key, a zero byte, and for each value its serializer (u32), sizes of manifest (u16)
 * and bytes (u32), manifest and bytes. A list of keys is a zero byte for the missing key, where the next call
 * continues (u32), and the keys, each with a zero byte. */
#ifndef SHERD_DDATA_FACE_H
#define SHERD_DDATA_FACE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/ddata.h>

#include "ddata/value.h"

/* Applies the changes in order to a copy of the value; null is the type's empty value. Returns the
 * new value, given. Null: another type, or a change that does not fit. */
struct dd_value *face_change(const struct dd_value *current,
                             enum sherd_data_type type,
                             const struct sherd_change *changes, uint32_t count,
                             struct dd_writer *writer, int64_t now_ms);

/* True if the changes can be made in the value itself, without failing, and only add to maps.
 * growth_max: the most bytes added. */
bool face_is_sure(const struct dd_value *value, enum sherd_data_type type,
                  const struct sherd_change *changes, uint32_t count,
                  size_t *growth_max);
/* Makes such changes. */
void face_change_in_place(struct dd_value *value,
                          const struct sherd_change *changes, uint32_t count,
                          struct dd_writer *writer, int64_t now_ms);

/* value: null if the message has none. */
void face_put_body(struct buf *body, struct slice key,
                   const struct dd_value *value);
void face_put_value(struct buf *body, const struct dd_value *value); /* a further one */

/* A list of keys: begin, put, end. next: 0 if there are no more. Skips keys of a JVM that no call
 * can name. */
void face_begin_keys(struct buf *body);
void face_put_key(struct buf *body, struct slice key);
void face_end_keys(struct buf *body, uint32_t next);

#endif
