/* Assembles TLS records (RFC 8446 5.1) of a peer that is not verified yet.
 *
 * OpenSSL's reading buffer of about 50 KiB exists for whole records only. A hello that announces
 * too much is refused before OpenSSL allocates for it. */
#ifndef SHERD_HOST_TLS_RECORD_H
#define SHERD_HOST_TLS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* Zero is the initial state. */
struct tls_records {
    struct buf record; /* incomplete */
    uint8_t message[4]; /* header of the client's hello: kind and size */
    uint32_t message_size, left; /* received of the header; still to come of the message */
    bool is_past_hello; /* another or an encrypted message came */
};

enum tls_record {
    TLS_RECORD_PART,  /* all bytes were taken */
    TLS_RECORD_WHOLE, /* in `record`; `bytes` has the rest */
    TLS_RECORD_OTHER, /* no record */
    TLS_RECORD_LONG,  /* larger than `most` */
    TLS_RECORD_HELLO  /* hello above TLS_HELLO_BYTES_MAX */
};

/* Takes one record's bytes. The caller calls buf_fini on a whole record, and at the end. */
enum tls_record tls_records_take(struct tls_records *records, size_t most,
                                 struct slice *bytes);

#endif
