/* Reads the preamble and splits off frames. */
#include "artery/inlet.h"

#include "base/check.h"
#include "base/timers.h"

enum {
    PREAMBLE_SIZE = 5,
    MAGIC_SIZE = 4,
    LENGTH_SIZE = 4,
    KEPT_IDLE_MAX = 64 * 1024, /* memory kept between segments */
};

struct inlet {
    const struct inlet_options *options;
    uint8_t reason; /* enum inlet_reason */
    uint8_t stream; /* 0 until the preamble is complete */
    bool is_claimed; /* uid is not accepted yet */
    uint32_t lane;
    uint64_t uid;       /* 0 until accepted or claimed */
    struct slice given; /* lent bytes not yet split */
    struct buf kept;    /* a started preamble or frame, length included */
    size_t kept_at;     /* bytes at its front that were handed out */
    uint64_t generation;
    uint64_t order;
    uint64_t opened_at;
    struct inlet_counts counts;
};

struct inlet *inlet_new(uint64_t now, const struct inlet_options *options)
{
    struct inlet *inlet = mem_alloc(sizeof *inlet);

    for (unsigned i = 0; i < 2; i++)
        check(!options->magics[i] || strlen(options->magics[i]) == MAGIC_SIZE);
    inlet->options = options;
    inlet->opened_at = now;
    return inlet;
}

static bool is_accepted(const struct inlet *inlet)
{
    return inlet->uid && !inlet->is_claimed;
}

static void bytes_ended(const struct inlet *inlet, struct slice bytes)
{
    struct probe probe = { .kind = PROBE_BYTES_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .node.uid = inlet->uid,
                           .bytes = bytes };

    if (inlet->options->probes && bytes.size &&
        inlet->stream != STREAM_CONTROL)
        probes_put(inlet->options->probes, &probe);
}

/* Reports what was received and not handed out. */
static void rest_ended(const struct inlet *inlet)
{
    if (inlet->kept.size > inlet->kept_at) /* else there may be no memory */
        bytes_ended(inlet, slice_of(inlet->kept.data + inlet->kept_at,
                                    inlet->kept.size - inlet->kept_at));
    bytes_ended(inlet, inlet->given);
}

void inlet_free(struct inlet *inlet)
{
    if (!inlet)
        return;
    if (inlet->options->probes)
        rest_ended(inlet);
    buf_fini(&inlet->kept);
    mem_free(inlet);
}

static uint32_t length_of(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

void inlet_close(struct inlet *inlet, enum inlet_reason reason)
{
    check(reason != INLET_OPEN);
    if (inlet->reason != INLET_OPEN)
        return;
    if (inlet->options->probes)
        rest_ended(inlet);
    inlet->reason = (uint8_t)reason;
    inlet->counts.dropped_bytes +=
        inlet->kept.size - inlet->kept_at + inlet->given.size;
    inlet->kept.size =
        inlet->kept_at; /* handed out frames stay for this batch */
    inlet->given = (struct slice){0};
}

/* Moves up to `size` bytes in total into kept; true when complete. */
static bool keep(struct inlet *inlet, size_t size)
{
    size_t missing = size > inlet->kept.size ? size - inlet->kept.size : 0;

    if (missing > inlet->given.size)
        missing = inlet->given.size;
    if (missing) {
        buf_put(&inlet->kept, inlet->given.data, missing);
        inlet->given.data += missing;
        inlet->given.size -= missing;
    }
    return inlet->kept.size >= size;
}

static bool magic_known(const struct inlet *inlet, const uint8_t *bytes,
                        size_t size)
{
    for (unsigned i = 0; i < 2; i++)
        if (inlet->options->magics[i] &&
            !memcmp(bytes, inlet->options->magics[i], size))
            return true;
    return false;
}

static bool take_preamble(struct inlet *inlet)
{
    bool complete = keep(inlet, PREAMBLE_SIZE);
    size_t size = inlet->kept.size;
    int stream;

    /* Refused at the first wrong byte, without waiting for all five. */
    if (!magic_known(inlet, inlet->kept.data,
                     size < MAGIC_SIZE ? size : MAGIC_SIZE)) {
        inlet_close(inlet, INLET_BAD_MAGIC);
        return false;
    }
    if (!complete)
        return false;
    stream = inlet->kept.data[MAGIC_SIZE];
    if (stream != STREAM_CONTROL && stream != STREAM_ORDINARY &&
        stream != STREAM_LARGE) {
        inlet_close(inlet, INLET_BAD_STREAM);
        return false;
    }
    inlet->stream = (uint8_t)stream;
    buf_fini(&inlet->kept); /* frames usually come whole and need none */
    return true;
}

static uint32_t unknown_size_max(const struct inlet *inlet)
{
    return inlet->options->unknown_size_max ? inlet->options->unknown_size_max
                                            : INLET_UNKNOWN_SIZE_MAX;
}

static uint32_t known_size_max(const struct inlet *inlet)
{
    if (inlet->stream != STREAM_LARGE)
        return FRAME_SIZE_MAX;
    return inlet->options->large_size_max ? inlet->options->large_size_max
                                          : FRAME_LARGE_SIZE;
}

/* Checks a frame's length before a byte of it is kept. */
static bool length_good(struct inlet *inlet, uint32_t size)
{
    if (size == 0)
        inlet_close(inlet, INLET_FRAME_EMPTY);
    else if (size > known_size_max(inlet))
        inlet_close(inlet, INLET_FRAME_TOO_LARGE);
    else if (!is_accepted(inlet) && size > unknown_size_max(inlet))
        inlet_close(inlet, INLET_UNKNOWN_TOO_LARGE);
    return inlet->reason == INLET_OPEN;
}

/* Whether `bytes` begin with a whole frame of allowed length. */
static bool whole_frame(struct inlet *inlet, struct slice bytes,
                        struct slice *frame)
{
    uint32_t size;

    if (bytes.size < LENGTH_SIZE)
        return false;
    size = length_of(bytes.data);
    if (!length_good(inlet, size) || bytes.size - LENGTH_SIZE < size)
        return false;
    *frame = slice_of(bytes.data + LENGTH_SIZE, size);
    return true;
}

static uint32_t size_max(const struct inlet *inlet)
{
    return is_accepted(inlet) ? known_size_max(inlet)
                              : unknown_size_max(inlet);
}

/* Splits off the valid frames that lie whole in the given bytes, as most do. next_frame handles the
 * first other one. */
static uint32_t split_given(struct inlet *inlet, struct slice *frames,
                            uint32_t max)
{
    const uint8_t *at = inlet->given.data;
    size_t left = inlet->given.size;
    uint32_t limit = size_max(inlet);
    uint32_t count = 0;

    while (count < max && left >= LENGTH_SIZE) {
        uint32_t size = length_of(at);

        if (!size || size > limit || size > left - LENGTH_SIZE)
            break;
        frames[count++] = slice_of(at + LENGTH_SIZE, size);
        at += LENGTH_SIZE + size;
        left -= LENGTH_SIZE + size;
    }
    inlet->given = slice_of(at, left);
    return count;
}

/* Completes in kept a frame that an earlier segment began. */
static bool complete_kept(struct inlet *inlet, struct slice *frame)
{
    uint32_t size;

    if (!keep(inlet, LENGTH_SIZE))
        return false;
    size = length_of(inlet->kept.data);
    if (!length_good(inlet, size))
        return false;
    /* one allocation; without an accepted sender, memory grows only with received bytes */
    if (is_accepted(inlet))
        (void)buf_reserve(&inlet->kept, LENGTH_SIZE + size - inlet->kept.size);
    if (!keep(inlet, LENGTH_SIZE + size))
        return false;
    *frame = slice_of(inlet->kept.data + LENGTH_SIZE, size);
    inlet->kept_at = LENGTH_SIZE + size;
    return true;
}

/* The next frame. Unless it is the `first` of the batch, earlier ones must not move. */
static bool next_frame(struct inlet *inlet, bool first, struct slice *frame)
{
    if (inlet->kept.size > inlet->kept_at) {
        struct slice rest = slice_of(inlet->kept.data + inlet->kept_at,
                                     inlet->kept.size - inlet->kept_at);

        if (whole_frame(inlet, rest, frame)) {
            inlet->kept_at += LENGTH_SIZE + frame->size;
            return true;
        }
        return first && inlet->reason == INLET_OPEN &&
               complete_kept(inlet, frame);
    }
    if (whole_frame(inlet, inlet->given, frame)) {
        inlet->given.data += LENGTH_SIZE + frame->size;
        inlet->given.size -= LENGTH_SIZE + frame->size;
        return true;
    }
    if (first && inlet->reason == INLET_OPEN && inlet->given.size)
        return complete_kept(inlet, frame); /* less than a frame: only kept */
    return false;
}

void inlet_receive(struct inlet *inlet, struct slice bytes)
{
    inlet->counts.bytes += bytes.size;
    if (inlet->reason != INLET_OPEN) {
        inlet->counts.dropped_bytes += bytes.size;
        bytes_ended(inlet, bytes);
        return;
    }
    check(!inlet->given.size); /* inlet_batch has split the last bytes */
    inlet->given = bytes;
}

/* Removes the frames of the last batch from kept. */
static void compact(struct inlet *inlet)
{
    if (!inlet->kept_at)
        return;
    buf_take(&inlet->kept, inlet->kept_at);
    inlet->kept_at = 0;
    if (!inlet->kept.size && inlet->kept.capacity > KEPT_IDLE_MAX)
        buf_fini(&inlet->kept); /* a large frame is rare */
}

static bool ready(struct inlet *inlet)
{
    if (inlet->reason != INLET_OPEN)
        return false;
    if (inlet->stream)
        return true;
    return (inlet->given.size || inlet->kept.size) && take_preamble(inlet);
}

uint32_t inlet_batch(struct inlet *inlet, struct slice *frames, uint32_t max)
{
    uint32_t count = 0;

    compact(inlet);
    if (!ready(inlet))
        return 0;
    if (!is_accepted(inlet) && max > 1)
        max = 1; /* the sender must be accepted before the next frame */
    do {
        if (inlet->kept.size == inlet->kept_at)
            count += split_given(inlet, frames + count, max - count);
    } while (count < max && next_frame(inlet, count == 0, &frames[count]) &&
             ++count < max);
    inlet->counts.frames += count;
    return count;
}

bool inlet_first(struct inlet *inlet, struct slice *frame)
{
    check(!inlet->counts.frames);
    if (!ready(inlet))
        return false;
    /* Keeps all given bytes, which do not live on; the driver's read limits a segment. */
    (void)keep(inlet, inlet->kept.size + inlet->given.size);
    return whole_frame(inlet, buf_slice(&inlet->kept), frame);
}

void inlet_accept(struct inlet *inlet, uint64_t uid, uint32_t lane,
                  uint64_t generation)
{
    check(uid != 0);
    inlet->uid = uid;
    inlet->is_claimed = false;
    inlet->lane = lane;
    inlet->generation = generation;
}

void inlet_claim(struct inlet *inlet, uint64_t uid, uint32_t lane,
                 uint64_t generation)
{
    inlet_accept(inlet, uid, lane, generation);
    inlet->is_claimed = true;
}

uint64_t inlet_deadline(const struct inlet *inlet)
{
    uint64_t within = inlet->stream ? inlet->options->handshake_within
                                    : inlet->options->preamble_within;

    if (inlet->reason != INLET_OPEN || is_accepted(inlet))
        return NEVER;
    if (!within)
        within = (inlet->stream ? INLET_HANDSHAKE_MS : INLET_PREAMBLE_MS) * MS;
    return inlet->opened_at + within;
}

void inlet_tick(struct inlet *inlet, uint64_t now)
{
    if (now >= inlet_deadline(inlet))
        inlet_close(inlet, INLET_HANDSHAKE_LATE);
}

enum inlet_reason inlet_reason(const struct inlet *inlet)
{
    return (enum inlet_reason)inlet->reason;
}

const char *inlet_reason_text(enum inlet_reason reason)
{
    static const char *const texts[] = {
        [INLET_OPEN] = "open",
        [INLET_BAD_MAGIC] = "not this protocol",
        [INLET_BAD_STREAM] = "unknown stream",
        [INLET_FRAME_EMPTY] = "frame of no bytes",
        [INLET_FRAME_TOO_LARGE] = "frame too large",
        [INLET_UNKNOWN_TOO_LARGE] = "frame too large before the handshake",
        [INLET_HANDSHAKE_LATE] = "no handshake in time",
        [INLET_OVER] = "that life of the sender is over",
        [INLET_SUPERSEDED] = "a newer connection is in use",
        [INLET_FORGOTTEN] = "the sender never answered, and too many others came",
        [INLET_NOT_VOUCHED] = "the certificate is not for the sender's address",
        [INLET_REFUSED] = "sender refused",
    };

    return texts[reason];
}

int inlet_stream(const struct inlet *inlet)
{
    return inlet->stream;
}

uint64_t inlet_uid(const struct inlet *inlet)
{
    return is_accepted(inlet) ? inlet->uid : 0;
}

uint64_t inlet_claimed(const struct inlet *inlet)
{
    return inlet->is_claimed ? inlet->uid : 0;
}

uint32_t inlet_lane(const struct inlet *inlet)
{
    return inlet->lane;
}

uint64_t inlet_generation(const struct inlet *inlet)
{
    return inlet->generation;
}

uint64_t inlet_order(const struct inlet *inlet)
{
    return inlet->order;
}

void inlet_set_order(struct inlet *inlet, uint64_t order)
{
    inlet->order = order;
}

struct inlet_counts inlet_counts(const struct inlet *inlet)
{
    return inlet->counts;
}
