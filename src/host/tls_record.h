/* Records of TLS (RFC 8446 5.1) of a peer whose certificate is not verified yet: kept here until each is whole, so that what
 * OpenSSL has for reading, some 50 KiB, is there for whole ones only; and a hello that announces too much is found before
 * OpenSSL makes room for it. Private to tls.c. */
#ifndef SHERD_HOST_TLS_RECORD_H
#define SHERD_HOST_TLS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Zero is the beginning. */
struct tls_records {
    struct buf record; /* the one that comes */
    uint8_t message[4]; /* kind and size of the client's hello that comes */
    uint32_t message_size, left; /* bytes of these, and of what follows them, until the next one */
    bool is_past_hello; /* another message came, or it is encrypted */
};

enum tls_record {
    TLS_RECORD_PART,  /* all bytes were taken, and the record is not whole */
    TLS_RECORD_WHOLE, /* it is in record; bytes has what follows it */
    TLS_RECORD_OTHER, /* no record */
    TLS_RECORD_LONG,  /* it is announced with more than most bytes */
    TLS_RECORD_HELLO  /* a hello of more than TLS_HELLO_BYTES_MAX is announced */
};

/* Takes from bytes what belongs to one record. When it is whole the caller empties it, by buf_fini, as he does at the end. */
enum tls_record tls_records_take(struct tls_records *records, size_t most,
                                 struct slice *bytes);

#endif
