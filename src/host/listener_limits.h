/* What those who are not known yet can make a listener keep. Settings have it, listener_start takes it. */
#ifndef SHERD_HOST_LISTENER_LIMITS_H
#define SHERD_HOST_LISTENER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* 0: as in base/limits.h. */
struct listener_limits {
    uint32_t waiting_max;           /* connections whose machine is not known */
    uint32_t waiting_each_max;      /* of them of one address */
    uint32_t strangers_max;         /* of them of addresses that are not expected and of which none was ever taken */
    uint64_t preamble_ms, frame_ms; /* since a connection was accepted: until its first five bytes, its first frame are there */
    size_t frame_size_max;          /* bytes of the first frame, without its length */
};

#endif
