/* Computes SQLite's checksums of the write-ahead log, and reads the header of its mapped index. Both
 * formats are described in SQLite's "WAL-mode File Format". */
#include "host/backend_sqlite_frames.h"

#include <string.h>

#define PAGE_SIZE 4096
#define LOG_HEADER 32
#define LOG_SALT_AT 16
#define LOG_SUM_AT 24
#define FRAME_HEADER 24
#define FRAME_SALT_AT 8
#define FRAME_SUM_AT 16
#define FRAME_SIZE (FRAME_HEADER + PAGE_SIZE)
#define SUMMED 8 /* bytes of a frame's header that its checksum covers */

/* The index begins with two copies of its header. */
#define INDEX_COPY 48
#define INDEX_IS_VALID_AT 12
#define INDEX_BIG_ENDIAN_AT 13
#define INDEX_COUNT_AT 16
#define INDEX_SUM_AT 24
#define INDEX_SALT_AT 32
#define INDEX_TRIES 3

static uint32_t word_of(const uint8_t *bytes, bool is_big_endian)
{
    return is_big_endian
               ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                     (uint32_t)bytes[2] << 8 | bytes[3]
               : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
                     (uint32_t)bytes[1] << 8 | bytes[0];
}

static void add(uint32_t sum[2], const uint8_t *bytes, uint32_t size,
                bool is_big_endian)
{
    for (uint32_t i = 0; i < size; i += 8) {
        sum[0] += word_of(bytes + i, is_big_endian) + sum[1];
        sum[1] += word_of(bytes + i + 4, is_big_endian) + sum[0];
    }
}

/* Checksums are stored with their high byte first. */
static void read_sum(uint32_t sum[2], const uint8_t *bytes)
{
    sum[0] = word_of(bytes, true);
    sum[1] = word_of(bytes + 4, true);
}

static bool read_at(sqlite3_file *log, void *bytes, int size, sqlite3_int64 at)
{
    return log->pMethods->xRead(log, bytes, size, at) == SQLITE_OK;
}

bool frames_is_page(int size, sqlite3_int64 at)
{
    return size == PAGE_SIZE && at >= LOG_HEADER + FRAME_HEADER &&
           (at - LOG_HEADER - FRAME_HEADER) % FRAME_SIZE == 0;
}

uint32_t frames_number(sqlite3_int64 at)
{
    return (uint32_t)(at / FRAME_SIZE) + 1;
}

static sqlite3_int64 place_of(uint32_t number)
{
    return LOG_HEADER + (sqlite3_int64)(number - 1) * FRAME_SIZE;
}

static uint32_t index_count(const volatile uint8_t *index)
{
    return *(const volatile uint32_t *)(const volatile void *)(index + INDEX_COUNT_AT);
}

/* The salt does not change while a reader uses frames. */
static bool has_salt_of(const volatile uint8_t *index, const uint8_t *salt)
{
    for (uint32_t i = 0; i < 8; i++)
        if (index[INDEX_SALT_AT + i] != salt[i])
            return false;
    return true;
}

bool frames_fits(sqlite3_file *log, const uint8_t *page, sqlite3_int64 at,
                 const volatile uint8_t *index)
{
    uint32_t number = frames_number(at);
    uint8_t header[FRAME_HEADER];
    uint8_t before[8];
    uint32_t sum[2], stored[2];

    if (!index || !index[INDEX_IS_VALID_AT] || number > index_count(index))
        return true;
    if (!read_at(log, header, sizeof header, place_of(number)) ||
        !read_at(log, before, sizeof before,
                 number == 1 ? LOG_SUM_AT : place_of(number - 1) + FRAME_SUM_AT))
        return false;
    read_sum(sum, before);
    read_sum(stored, header + FRAME_SUM_AT);
    add(sum, header, SUMMED, index[INDEX_BIG_ENDIAN_AT]);
    add(sum, page, PAGE_SIZE, index[INDEX_BIG_ENDIAN_AT]);
    return sum[0] == stored[0] && sum[1] == stored[1] &&
           has_salt_of(index, header + FRAME_SALT_AT);
}

bool frames_read_state(const volatile uint8_t *index, struct frames_state *state)
{
    uint8_t copies[2 * INDEX_COPY];

    if (!index)
        return false;
    for (uint32_t i = 0; i < sizeof copies; i++)
        copies[i] = index[i];
    if (!copies[INDEX_IS_VALID_AT] || memcmp(copies, copies + INDEX_COPY, INDEX_COPY) != 0)
        return false;
    memcpy(&state->count, copies + INDEX_COUNT_AT, sizeof state->count);
    memcpy(&state->salt, copies + INDEX_SALT_AT, sizeof state->salt);
    memcpy(state->sum, copies + INDEX_SUM_AT, sizeof state->sum);
    return true;
}

/* A disk that fails for a moment is no cut file. */
static bool is_cut(sqlite3_file *log, void *bytes, int size, sqlite3_int64 at, bool *is_read)
{
    int result = log->pMethods->xRead(log, bytes, size, at);

    *is_read = result == SQLITE_OK;
    return result == SQLITE_IOERR_SHORT_READ;
}

static bool has_frame(sqlite3_file *log, const struct frames_state *state)
{
    uint8_t header[FRAME_HEADER];
    uint32_t sum[2];
    bool is_read;

    if (!state->count)
        return true;
    if (is_cut(log, header, sizeof header, place_of(state->count), &is_read))
        return false;
    if (!is_read)
        return true;
    read_sum(sum, header + FRAME_SUM_AT);
    return sum[0] == state->sum[0] && sum[1] == state->sum[1] &&
           memcmp(header + FRAME_SALT_AT, &state->salt, sizeof state->salt) == 0;
}

/* An older copy of the log has zeros there, or frames of an earlier use. */
static bool has_frames(sqlite3_file *log, uint32_t first, const struct frames_state *state)
{
    uint64_t salt;
    bool is_read;

    for (uint32_t i = first; i < state->count; i++)
        if (is_cut(log, &salt, sizeof salt, place_of(i) + FRAME_SALT_AT, &is_read) ||
            (is_read && salt != state->salt))
            return false;
    return has_frame(log, state);
}

/* Another process may start the log from the beginning meanwhile: then the index changes first. */
bool frames_are_kept(sqlite3_file *log, const volatile uint8_t *index,
                     struct frames_state *seen)
{
    struct frames_state state, later;

    for (int i = 0; i < INDEX_TRIES; i++) {
        bool is_same, fits;

        if (!frames_read_state(index, &state))
            return true; /* it is being written */
        is_same = state.salt == seen->salt && state.count >= seen->count;
        fits = (!is_same || has_frame(log, seen)) &&
               has_frames(log, is_same ? seen->count + 1 : 1, &state);
        if (fits) {
            *seen = state;
            return true;
        }
        if (frames_read_state(index, &later) && later.salt == state.salt)
            return false;
    }
    return true;
}

bool frames_has_page(sqlite3_file *log, uint32_t number, const uint8_t *page)
{
    uint8_t start[LOG_HEADER];
    uint8_t header[FRAME_HEADER];
    uint8_t found[PAGE_SIZE];
    uint32_t newest = 0;

    if (!read_at(log, start, sizeof start, 0))
        return false;
    for (uint32_t i = 1; read_at(log, header, sizeof header, place_of(i)) &&
                         memcmp(header + FRAME_SALT_AT, start + LOG_SALT_AT, 8) == 0;
         i++)
        if (word_of(header, true) == number)
            newest = i;
    return newest && read_at(log, found, PAGE_SIZE, place_of(newest) + FRAME_HEADER) &&
           memcmp(found, page, PAGE_SIZE) == 0;
}
