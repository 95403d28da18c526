/* Queues writers by tickets in a mapped side file, held by byte locks, woken by a futex. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_turn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "host/backend_place.h"
#include "journal/backend.h"

#define FIRST_BYTE (1 << 20) /* ticket n locks byte FIRST_BYTE + n, beyond the file's end */
#define CHECK_BYTE (FIRST_BYTE - 1) /* locked by the process that checks the journal */
#define OPEN_BYTE (FIRST_BYTE - 2) /* locked, shared, by each process that has the journal open */
#define MAP_SIZE 4096
#define DRAW_TRIES 100 /* for the owner of a locked number to draw it */
#define SLOTS 4 /* marks: writers that passed each other use different ones */
#define POLL_NS 10000000 /* a dead predecessor wakes no waiter */

struct slot {
    uint64_t ticket; /* of the turn that wrote it */
    struct turn_mark mark;
    uint64_t check; /* checksum of the fields before; it does not fit an unfinished slot */
};

/* All zero is a valid initial state. */
struct shared {
    _Atomic uint64_t next_ticket;
    _Atomic uint32_t given; /* turns given back; the futex */
    uint32_t unused[13];
    struct slot slots[SLOTS];
    struct page_marks marks;
};

_Static_assert(sizeof(struct shared) <= MAP_SIZE, "it is one page");

struct turn {
    int file;
    struct shared *shared;
    uint64_t ticket;
    uint64_t passed; /* waiters ignore lower tickets */
    uint64_t least;  /* the next ticket, as the counter never goes back */
    bool went_back;
};

struct turn *turn_open(const char *path, bool creates, char *error)
{
    struct turn *turn = mem_alloc(sizeof *turn);
    void *mapped = MAP_FAILED;
    char label[BACKEND_LABEL_SIZE];

    turn->file =
        open(path, O_RDWR | (creates ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW,
             0600);
    /* A page without a block on a full disk would end the process with SIGBUS. */
    if (turn->file >= 0)
        errno = posix_fallocate(turn->file, 0, MAP_SIZE);
    if (turn->file >= 0 && errno == 0)
        mapped = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                      turn->file, 0);
    if (mapped == MAP_FAILED) {
        int reason = errno;

        backend_place_label(path, label);
        (void)snprintf(error, BACKEND_ERROR_MAX, "cannot open %s: %s", label,
                       strerror(reason)); /* fits */
        turn_close(turn);
        return NULL;
    }
    turn->shared = mapped;
    return turn;
}

void turn_close(struct turn *turn)
{
    if (!turn)
        return;
    if (turn->shared)
        check(munmap(turn->shared, MAP_SIZE) == 0);
    if (turn->file >= 0)
        (void)close(turn->file); /* nothing was written through it */
    mem_free(turn);
}

/* False: another process holds it. */
static bool lock_own(struct turn *turn, short type)
{
    struct flock lock = { .l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)(FIRST_BYTE + turn->ticket),
                          .l_len = 1 };

    /* Without such locks the queue only orders less well. */
    return fcntl(turn->file, F_OFD_SETLK, &lock) == 0 ||
           (errno != EAGAIN && errno != EACCES);
}

/* Tells whether a ticket between `passed` and this process's ticket is held. */
static bool must_wait(const struct turn *turn)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (turn->ticket <= turn->passed)
        return false;
    lock.l_start = (off_t)(FIRST_BYTE + turn->passed);
    lock.l_len = (off_t)(turn->ticket - turn->passed);
    if (fcntl(turn->file, F_OFD_GETLK, &lock) != 0)
        return false;
    return lock.l_type != F_UNLCK;
}

static uint32_t ticket_bit(uint64_t ticket)
{
    return UINT32_C(1) << (ticket % 32);
}

/* Unlocks the ticket's byte, and wakes the waiters whose bits are set. */
static void let_go(struct turn *turn, uint32_t bits)
{
    struct shared *shared = turn->shared;

    (void)lock_own(turn, F_UNLCK);
    atomic_fetch_add(&shared->given, 1);
    if (atomic_load(&shared->next_ticket) > turn->ticket + 1)
        (void)syscall(SYS_futex, &shared->given, FUTEX_WAKE_BITSET, INT32_MAX,
                      NULL, NULL, bits);
}

/* Locks the byte first, so that a process with a later number finds it locked. If it drew first,
 * others would overtake a process that loses the processor between the steps. */
static void draw(struct turn *turn)
{
    _Atomic uint64_t *next = &turn->shared->next_ticket;

    for (uint32_t tries = 1;; tries++) {
        uint64_t expected = atomic_load(next);
        bool locked;

        turn->ticket = expected;
        locked = lock_own(turn, F_WRLCK);
        if (!locked && tries % DRAW_TRIES != 0) {
            (void)sched_yield(); /* another process is about to draw it */
            continue;
        }
        /* Without the lock, skips the number of a process that does not draw it. */
        if (atomic_compare_exchange_strong(next, &expected, expected + 1)) {
            if (locked)
                return;
        } else if (locked) {
            let_go(turn, FUTEX_BITSET_MATCH_ANY);
        }
    }
}

void turn_take(struct turn *turn)
{
    struct shared *shared = turn->shared;
    uint32_t polls_left = TURN_STUCK_MS * 1000000 / POLL_NS;
    uint32_t given = atomic_load(&shared->given);

    draw(turn);
    turn->went_back |= turn->ticket < turn->least;
    turn->least = turn->ticket + 1;
    while (must_wait(turn)) {
        struct timespec at;
        uint32_t moved;

        check(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
        at.tv_nsec += POLL_NS;
        if (at.tv_nsec >= 1000000000) {
            at.tv_nsec -= 1000000000;
            at.tv_sec++;
        }
        /* The loop checks all tickets again. */
        (void)syscall(SYS_futex, &shared->given, FUTEX_WAIT_BITSET, given, &at,
                      NULL, ticket_bit(turn->ticket));
        moved = atomic_load(&shared->given);
        if (moved != given) {
            polls_left = TURN_STUCK_MS * 1000000 / POLL_NS;
            given = moved;
        } else if (--polls_left == 0) {
            turn->passed = turn->ticket;
        }
    }
}

void turn_give(struct turn *turn)
{
    /* Only the successor; if it is dead, the others find out by polling. */
    let_go(turn, ticket_bit(turn->ticket + 1));
}

static bool lock_check(struct turn *turn, short type)
{
    struct flock lock = { .l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = CHECK_BYTE,
                          .l_len = 1 };

    /* Without such locks each process checks. */
    return fcntl(turn->file, F_OFD_SETLK, &lock) == 0 ||
           (errno != EAGAIN && errno != EACCES);
}

bool turn_check_begin(struct turn *turn)
{
    return lock_check(turn, F_WRLCK);
}

void turn_check_end(struct turn *turn)
{
    (void)lock_check(turn, F_UNLCK);
}

static uint64_t check_of(const struct slot *slot)
{
    return hash_bytes(slice_of(slot, offsetof(struct slot, check)));
}

void turn_set_mark(struct turn *turn, const struct turn_mark *mark)
{
    struct slot slot = { .ticket = turn->ticket, .mark = *mark };

    slot.check = check_of(&slot);
    memcpy(&turn->shared->slots[turn->ticket % SLOTS], &slot, sizeof slot);
}

bool turn_get_mark(const struct turn *turn, struct turn_mark *mark)
{
    uint64_t newest = 0;
    bool found = false;

    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot slot = turn->shared->slots[i];

        if (slot.check != check_of(&slot) || (found && slot.ticket < newest))
            continue;
        *mark = slot.mark;
        newest = slot.ticket;
        found = true;
    }
    return found;
}

struct page_marks *turn_marks(struct turn *turn)
{
    return &turn->shared->marks;
}

bool turn_is_kept(const struct turn *turn)
{
    return !turn->went_back && atomic_load(&turn->shared->next_ticket) >= turn->least;
}

void turn_hold(struct turn *turn)
{
    struct flock lock = { .l_type = F_RDLCK,
                          .l_whence = SEEK_SET,
                          .l_start = OPEN_BYTE,
                          .l_len = 1 };

    (void)fcntl(turn->file, F_OFD_SETLK, &lock); /* without such locks each process is alone */
}

bool turn_is_alone(const struct turn *turn)
{
    struct flock lock = { .l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = OPEN_BYTE,
                          .l_len = 1 };

    return fcntl(turn->file, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK;
}

uint64_t turn_ticket(const struct turn *turn)
{
    return turn->ticket;
}

uint64_t turn_passed(const struct turn *turn)
{
    return turn->passed;
}
