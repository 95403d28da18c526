/* Assembles the records of a handshake. */
#include "host/tls_record.h"

#include "base/limits.h"

#define HEADER_SIZE 5 /* kind, version, size */
#define RECORD_HANDSHAKE 22
#define MESSAGE_HELLO 1 /* RFC 8446 4: of a client */

static size_t whole_size(const struct buf *record)
{
    return HEADER_SIZE + (size_t)(record->data[3] << 8 | record->data[4]);
}

/* Fills the record up to this size. True: complete. */
static bool fill(struct buf *record, size_t size, struct slice *bytes)
{
    size_t want = size > record->size ? size - record->size : 0;
    size_t part = want < bytes->size ? want : bytes->size;

    buf_put(record, bytes->data, part);
    *bytes = slice_of(bytes->data + part, bytes->size - part);
    return part == want;
}

/* Messages and records are not aligned. A second hello may follow the first, but no hello follows
 * another message; OpenSSL limits those itself. False: a hello is too large. */
static bool see_messages(struct tls_records *records, struct slice bytes)
{
    while (bytes.size > 0 && !records->is_past_hello) {
        size_t part = records->left < bytes.size ? records->left : bytes.size;

        if (!part) {
            records->message[records->message_size++] = bytes.data[0];
            part = 1;
        } else {
            records->left -= (uint32_t)part;
        }
        bytes = slice_of(bytes.data + part, bytes.size - part);
        if (records->message_size < sizeof records->message)
            continue;
        records->message_size = 0;
        records->left = (uint32_t)(records->message[1] << 16 |
                                   records->message[2] << 8 |
                                   records->message[3]);
        records->is_past_hello = records->message[0] != MESSAGE_HELLO;
        if (!records->is_past_hello && records->left > TLS_HELLO_BYTES_MAX)
            return false;
    }
    return true;
}

enum tls_record tls_records_take(struct tls_records *records, size_t most,
                                 struct slice *bytes)
{
    struct buf *record = &records->record;

    if (!fill(record, HEADER_SIZE, bytes))
        return TLS_RECORD_PART;
    if (record->data[1] != 3)
        return TLS_RECORD_OTHER;
    if (whole_size(record) > most)
        return TLS_RECORD_LONG;
    if (!fill(record, whole_size(record), bytes))
        return TLS_RECORD_PART;
    if (record->data[0] == RECORD_HANDSHAKE &&
        !see_messages(records,
                      slice_of(record->data + HEADER_SIZE,
                               record->size - HEADER_SIZE)))
        return TLS_RECORD_HELLO;
    return TLS_RECORD_WHOLE;
}
