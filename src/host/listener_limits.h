/* Limits what connections of unknown nodes may occupy. Read from settings by listener_start. */
#ifndef SHERD_HOST_LISTENER_LIMITS_H
#define SHERD_HOST_LISTENER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* 0 means the default of base/limits.h. */
struct listener_limits {
    uint32_t waiting_max;           /* connections whose machine is not known */
    uint32_t waiting_each_max;      /* of these, for each address */
    uint32_t strangers_max; /* of these, from addresses that are neither expected nor known */
    /* from acceptance until the first five bytes, until the first frame */
    uint64_t preamble_ms, frame_ms;
    size_t frame_size_max;          /* bytes, without the length */
};

#endif
