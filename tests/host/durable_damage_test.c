/* Tests damaged files of durable keys: flipped bits, cut files, full disks. No value appears that
 * was not written, every lost acknowledged value is reported, and nothing crashes.
 *
 * DURABLE_FLIPS=2000 flips so many bits, one at a time, instead of 200. DURABLE_HISTORIES=1000 runs
 * so many random histories with full disks and crashes, instead of 60. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "durable_bench.h"

#include "base/limits.h"
#include "base/rng.h"
#include "host/durable_inside.h"

/* Loss of power is not tested here. */
int fdatasync(int file)
{
    (void)file;
    return 0;
}

static long page_size; /* of the creating system; 0: this one's */

/* LMDB takes a new database's page size from it. */
__attribute__((visibility("default"))) long sysconf(int name)
{
    long (*real)(int);

    if (name == _SC_PAGESIZE)
        return page_size ? page_size : getpagesize();
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return real(name);
}

static uint32_t wanted(const char *name, uint32_t usual)
{
    const char *text = getenv(name);

    return text ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

/* Distance between flips: 1 in long tests, larger if fewer flips are wanted. */
static uint32_t step_of(uint32_t far)
{
    uint32_t flips = wanted("DURABLE_FLIPS", 200);

    return flips && flips < 2000 ? far / flips + 1 : 1;
}

#define KEYS 40
#define TURNS 6 /* writes of each key; earlier values lie in free pages */
#define FAILURES 4 /* turns followed by the same number of failures on a full disk */
#define VERSIONS (TURNS + FAILURES)
#define LONE "erased" /* erased by the last transaction alone */

static uint64_t written[KEYS][VERSIONS]; /* hashes; failed ones last */

static uint64_t hash_of(struct slice bytes)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * 1099511628211u;
    return hash;
}

/* One transaction. */
static int write_all(struct durable_files *files, struct rng *rng, int version,
                     char *error)
{
    struct durable_change changes[KEYS] = { 0 };
    struct map map = { 0 };
    char names[KEYS][16];
    int result;

    for (int i = 0; i < KEYS; i++) {
        uint64_t size = i % 8 ? rng_below(rng, 300) : rng_below(rng, 9000);

        (void)snprintf(names[i], sizeof names[i], "shard-%d", i);
        changes[i].key = names[i];
        changes[i].key_size = (uint32_t)strlen(names[i]);
        for (uint64_t k = 0; k < size; k++)
            buf_put_u8(&changes[i].value, (uint8_t)rng_below(rng, 256));
        written[i][version] = hash_of(buf_slice(&changes[i].value));
        (void)map_put(&map, slice_text(names[i]), &changes[i]);
    }
    result = durable_files_write(files, &map, error);
    for (int i = 0; i < KEYS; i++)
        buf_fini(&changes[i].value);
    map_fini(&map);
    return result;
}

/* A database with a history: rewritten values, free pages of others, and an erased key. */
static void live(struct durable_files *files, struct rng *rng)
{
    char error[DURABLE_ERROR_MAX] = "";
    char path[128];
    struct stat about;

    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    assert_int_equal(change(files, LONE, "x", 100), 0);
    for (int turn = 0; turn < TURNS; turn++) {
        if (write_all(files, rng, turn, error) != 0)
            fail_msg("%s", error);
        if (turn == TURNS - 1 || turn >= FAILURES)
            continue;
        assert_int_equal(stat(path, &about), 0);
        limit_files((rlim_t)about.st_size + 4096);
        (void)write_all(files, rng, TURNS + turn, error); /* usually fails */
        limit_files(RLIM_INFINITY);
    }
    assert_int_equal(change(files, LONE, NULL, 0), 0);
}

/* Every value was written for its key, and is the last one unless damage is reported. Returns the
 * number of last values. */
static uint32_t check_values(const struct durable_request *loaded)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < loaded->entries.count; i++) {
        const struct durable_entry *entry = &loaded->entries.items[i];
        uint64_t hash = hash_of(durable_slice(loaded, entry->value));
        struct slice key = durable_slice(loaded, entry->key);
        char name[16] = "";
        int number, version = 0;

        if (entry->is_lost)
            continue; /* its key may be damaged, too */
        assert_true(key.size < sizeof name);
        memcpy(name, key.data, key.size);
        if (strcmp(name, LONE) == 0) {
            assert_true(loaded->was_damaged);
            continue;
        }
        number = atoi(name + sizeof "shard-" - 1);
        while (version < VERSIONS && written[number][version] != hash)
            version++;
        assert_true(version < VERSIONS);
        last += version == TURNS - 1;
    }
    if (!loaded->was_damaged) {
        assert_int_equal(loaded->entries.count, KEYS);
        assert_int_equal(last, KEYS);
    }
    return last;
}

/* It accepts writes, and has them after an orderly end. */
static void check_serves(struct durable_files *files)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_change change = { .key = "new", .key_size = 3 };
    char error[DURABLE_ERROR_MAX] = "";
    struct map map = { 0 };

    (void)map_put(&map, slice_text("new"), &change);
    assert_int_equal(durable_files_write(files, &map, error), 0);
    map_fini(&map);
    durable_files_close(files);
    files = open_files(loaded);
    assert_false(loaded->was_damaged);
    assert_non_null(entry_of(loaded, "new"));
    durable_files_close(files);
    durable_request_free(loaded);
}

/* Keys without a hold have their last value, and all keys exist; only erased ones may return. If
 * two places are damaged, keys may be missing or names unknown, which is reported. Returns the
 * number of served keys. */
static uint32_t check_served(const struct durable_request *loaded,
                             bool is_one_place)
{
    bool is_there[KEYS] = { false };
    uint32_t count = 0, served = 0;

    for (uint32_t i = 0; i < loaded->entries.count; i++) {
        const struct durable_entry *entry = &loaded->entries.items[i];
        struct slice key = durable_slice(loaded, entry->key);
        char name[16];
        int number = 0;

        while (number < KEYS &&
               (snprintf(name, sizeof name, "shard-%d", number),
                !slice_is(key, name)))
            number++;
        if (number == KEYS) {
            assert_true(slice_is(key, LONE) ||
                        (!is_one_place && (entry->is_held || entry->is_lost)));
            continue;
        }
        count += !is_there[number];
        is_there[number] = true;
        assert_int_equal(entry->is_held, entry->is_lost || entry->is_stale);
        if (!entry->is_held)
            assert_int_equal(hash_of(durable_slice(loaded, entry->value)),
                             written[number][TURNS - 1]);
        served += !entry->is_held;
    }
    assert_true(count == KEYS || (!is_one_place && loaded->may_lack_keys));
    return served;
}

/* A file as it was closed, and the results of its flips. */
struct flipping {
    struct buf whole, clean;
    uint32_t flips, damaged, missing, undone; /* undone: an erased key is back and served */
    uint64_t kept;
};

static void begin(struct flipping *flipping, struct rng *rng)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);

    *flipping = (struct flipping){ .flips = 0 };
    rng_init(rng, 1);
    live(files, rng);
    durable_files_close(files);
    durable_request_free(loaded);
    read_file("values.mdb", &flipping->whole);
    read_file("clean", &flipping->clean);
}

static void flip(struct flipping *flipping, uint64_t bit)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    uint8_t *byte = &flipping->whole.data[bit / 8];
    struct durable_files *files;

    *byte ^= (uint8_t)(1u << bit % 8);
    write_file("values.mdb", &flipping->whole);
    *byte ^= (uint8_t)(1u << bit % 8);
    write_file("clean", &flipping->clean); /* of the intact file */
    files = open_files(loaded);
    flipping->kept += check_values(loaded);
    (void)check_served(loaded, true);
    flipping->damaged += loaded->was_damaged;
    durable_request_free(loaded);
    if (flipping->flips++ % 20 == 0)
        check_serves(files);
    else
        durable_files_close(files);
}

static void finish(struct flipping *flipping, const char *where)
{
    print_message("%u flips %s of %zu bytes: %u databases damaged, %.1f of %d "
                  "values kept\n",
                  flipping->flips, where, flipping->whole.size,
                  flipping->damaged,
                  (double)flipping->kept / flipping->flips, KEYS);
    buf_fini(&flipping->whole);
    buf_fini(&flipping->clean);
}

static void a_flipped_bit_invents_no_value(void **state)
{
    uint32_t flips = wanted("DURABLE_FLIPS", 200);
    struct flipping flipping;
    struct rng rng;

    (void)state;
    begin(&flipping, &rng);
    for (uint32_t i = 0; i < flips; i++)
        flip(&flipping, rng_below(&rng, flipping.whole.size * 8));
    assert_true(flipping.damaged > 0 && flipping.damaged < flips);
    assert_true(flipping.kept > (uint64_t)flips * (KEYS - 2));
    finish(&flipping, "anywhere");
}

/* Finds the latest record of a key, and its size. */
static size_t find_last(struct slice bytes, struct slice key, size_t *size)
{
    struct durable_record record;
    uint64_t number = 0;
    size_t at = 0, found = 0;

    while (durable_find(bytes, &at, &record))
        if (slice_equal(record.key, key) && record.number > number) {
            number = record.number;
            *size = DURABLE_OVERHEAD + record.key.size + record.value.size;
            found = at - *size;
        }
    assert_true(number > 0);
    return found;
}

/* The mark and its surroundings in the page. */
static void a_flipped_bit_of_the_mark_is_reported(void **state)
{
    uint32_t step = step_of(1200);
    struct flipping flipping;
    size_t size = 0, at;
    struct rng rng;

    (void)state;
    begin(&flipping, &rng);
    at = find_last(buf_slice(&flipping.whole), durable_mark_key(), &size);
    assert_true(size >= DURABLE_OVERHEAD + 1 + 16); /* it lists a failure */
    for (size_t bit = at * 8; bit < (at + size) * 8; bit += step) {
        uint32_t damaged = flipping.damaged;

        flip(&flipping, bit);
        assert_int_equal(flipping.damaged, damaged + 1);
    }
    finish(&flipping, "of the mark");
}

/* One of the two heads belongs to the transaction before the last. */
static void a_flipped_bit_of_a_head_undoes_nothing(void **state)
{
    uint32_t step = step_of(2400);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct flipping flipping;
    struct rng rng;

    (void)state;
    begin(&flipping, &rng);
    for (size_t head = 0; head < 2; head++)
        for (size_t bit = 0; bit < 160 * 8; bit += step)
            flip(&flipping, head * page * 8 + bit);
    finish(&flipping, "of the heads");
}

/* LMDB's own copies of keys have no checksum. Only written keys may appear. */
static void a_flipped_bit_of_a_name_invents_no_key(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct flipping flipping = { .flips = 0 };
    struct durable_record record;
    uint32_t whole = 0, step = step_of(1000);
    size_t at = 0, bit = 0;
    (void)state;

    for (char name[] = "key-a"; name[4] < 'z'; name[4] += 5)
        assert_int_equal(change(files, name, "v", 30), 0);
    durable_files_close(files);
    durable_request_free(loaded);
    read_file("values.mdb", &flipping.whole);
    read_file("clean", &flipping.clean);
    while (durable_find(buf_slice(&flipping.whole), &at, &record)) {
        size_t size = DURABLE_OVERHEAD + record.key.size + record.value.size;
        uint8_t *name = flipping.whole.data + at - size - record.key.size;

        if (memcmp(name, record.key.data, record.key.size) != 0)
            continue; /* its pair now belongs to another key */
        for (; bit < record.key.size * 8; bit += step) {
            name[bit / 8] ^= (uint8_t)(1u << bit % 8);
            write_file("values.mdb", &flipping.whole);
            name[bit / 8] ^= (uint8_t)(1u << bit % 8);
            write_file("clean", &flipping.clean);
            for (int start = 0; start < 2; start++) {
                loaded = durable_request_new(DURABLE_LOAD);
                durable_files_close(open_files(loaded));
                assert_int_equal(loaded->entries.count, 5);
                for (char key[] = "key-a"; key[4] < 'z'; key[4] += 5) {
                    const struct durable_entry *entry = entry_of(loaded, key);

                    assert_non_null(entry);
                    assert_false(entry->is_lost);
                    whole += !entry->is_stale;
                }
                durable_request_free(loaded);
            }
            flipping.flips++;
        }
        bit -= record.key.size * 8;
    }
    assert_true(flipping.flips > 5 * 5 * 8 / step);
    assert_int_equal(whole, flipping.flips * 2 * 5);
    print_message("%u flips in names\n", flipping.flips);
    buf_fini(&flipping.whole);
    buf_fini(&flipping.clean);
}

/* The rest of the file, after an orderly end and after a crash in turn. */
/* The file set aside has the same bytes. */
static void check_aside(const struct durable_request *loaded,
                        const struct buf *left)
{
    struct buf aside = { 0 };

    if (!loaded->was_damaged)
        return;
    read_file("values.mdb.damaged", &aside);
    assert_true(slice_equal(buf_slice(&aside), buf_slice(left)));
    buf_fini(&aside);
}

static void lose(struct flipping *flipping, const struct buf *left,
                 bool is_one_place)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    const struct durable_entry *erased;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/clean", directory);
    (void)unlink(path);
    write_file("values.mdb", left);
    if (flipping->flips++ % 2)
        write_file("clean", &flipping->clean); /* of the intact file */
    durable_files_close(open_files(loaded));
    check_aside(loaded, left);
    flipping->kept += check_served(loaded, is_one_place);
    flipping->damaged += loaded->was_damaged;
    flipping->missing += loaded->entries.count < KEYS;
    erased = entry_of(loaded, LONE);
    flipping->undone += erased && !erased->is_held;
    durable_request_free(loaded);
    /* Holds persist at the next start. */
    loaded = durable_request_new(DURABLE_LOAD);
    durable_files_close(open_files(loaded));
    assert_false(loaded->was_damaged);
    loaded->may_lack_keys = true; /* it was reported before */
    (void)check_served(loaded, is_one_place);
    durable_request_free(loaded);
}

static void zero(struct flipping *flipping, size_t at, size_t size)
{
    struct buf bytes = { 0 };
    uint32_t undone = flipping->undone;

    buf_put_slice(&bytes, buf_slice(&flipping->whole));
    memset(bytes.data + at, 0, size);
    lose(flipping, &bytes, true);
    /* a head may undo the last transaction */
    assert_true(at < 2 * 4096 || flipping->undone == undone);
    buf_fini(&bytes);
}

/* After an orderly end; after a crash every second sector, or fewer if fewer flips are wanted. */
static void zero_all(struct flipping *flipping, size_t size)
{
    size_t step = step_of(100) * size;

    for (size_t at = 0; at + size <= flipping->whole.size; at += step) {
        zero(flipping, at, size);
        if (size == 4096)
            zero(flipping, at, size);
    }
    assert_true(flipping->damaged > 0);
    finish(flipping, size == 512 ? "of sectors" : "of pages");
}

static void zeroed_bytes_do_not_restore_earlier_values(void **state)
{
    struct flipping flipping;
    struct rng rng;

    (void)state;
    begin(&flipping, &rng);
    zero_all(&flipping, 4096);
    begin(&flipping, &rng);
    zero_all(&flipping, 512);
}

/* Each key is written once, so nothing remains of a lost page. */
static void begin_young(struct flipping *flipping, struct rng *rng)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    char error[DURABLE_ERROR_MAX];

    *flipping = (struct flipping){ .flips = 0 };
    rng_init(rng, 1);
    assert_int_equal(write_all(files, rng, TURNS - 1, error), 0);
    durable_files_close(files);
    assert_false(loaded->may_lack_keys);
    durable_request_free(loaded);
    read_file("values.mdb", &flipping->whole);
    read_file("clean", &flipping->clean);
}

static void a_key_with_a_lost_page_is_held(void **state)
{
    struct flipping flipping;
    struct rng rng;

    (void)state;
    begin_young(&flipping, &rng);
    zero_all(&flipping, 4096);
    assert_int_equal(drop_directory(state), 0);
    assert_int_equal(make_directory(state), 0);
    begin_young(&flipping, &rng);
    zero_all(&flipping, 512);
}

/* A crash rebuilds the database. */
static void begin_anew(struct flipping *flipping, struct rng *rng)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    char path[128];

    begin_young(flipping, rng);
    buf_fini(&flipping->whole);
    buf_fini(&flipping->clean);
    (void)snprintf(path, sizeof path, "%s/clean", directory);
    assert_int_equal(unlink(path), 0);
    durable_files_close(open_files(loaded));
    assert_false(loaded->was_damaged);
    durable_request_free(loaded);
    read_file("values.mdb", &flipping->whole);
    read_file("clean", &flipping->clean);
}

#define WRITES 12

static void write_one(struct durable_files *files, struct rng *rng,
                      uint32_t number)
{
    struct durable_change change = { .key_size = 0 };
    char name[16], error[DURABLE_ERROR_MAX];
    struct map map = { 0 };

    (void)snprintf(name, sizeof name, "shard-%u", number);
    change.key = name;
    change.key_size = (uint32_t)strlen(name);
    for (uint64_t size = rng_below(rng, 300); change.value.size < size;)
        buf_put_u8(&change.value, (uint8_t)rng_below(rng, 256));
    written[number][TURNS - 1] = hash_of(buf_slice(&change.value));
    (void)map_put(&map, slice_text(name), &change);
    assert_int_equal(durable_files_write(files, &map, error), 0);
    map_fini(&map);
    buf_fini(&change.value);
}

/* The disk confirmed a page without writing it: the old page is intact but does not fit the
 * others. */
static void a_lost_write_is_detected(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    uint64_t before[KEYS][WRITES + 1];
    struct buf files_then[WRITES + 1] = { 0 };
    char error[DURABLE_ERROR_MAX];
    struct flipping flipping = { .flips = 0 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    assert_int_equal(change(files, LONE, "x", 100), 0);
    assert_int_equal(write_all(files, &rng, TURNS - 1, error), 0);
    for (uint32_t i = 0; i <= WRITES; i++) {
        for (int number = 0; number < KEYS; number++)
            before[number][i] = written[number][TURNS - 1];
        read_file("values.mdb", &files_then[i]);
        if (i == WRITES / 2)
            assert_int_equal(change(files, LONE, NULL, 0), 0);
        else
            write_one(files, &rng, (uint32_t)rng_below(&rng, KEYS));
    }
    durable_files_close(files);
    durable_request_free(loaded);
    read_file("clean", &flipping.clean);
    for (uint32_t i = 1; i <= WRITES; i++) {
        struct buf *now = &files_then[i], *then = &files_then[i - 1];

        flipping.whole = *now;
        for (int number = 0; number < KEYS; number++)
            written[number][TURNS - 1] = before[number][i];
        for (size_t at = 0; at + 4096 <= now->size; at += 4096) {
            struct buf left = { 0 };

            if (at + 4096 <= then->size &&
                memcmp(now->data + at, then->data + at, 4096) == 0)
                continue;
            buf_put_slice(&left, buf_slice(now));
            memset(left.data + at, 0, 4096);
            if (at + 4096 <= then->size)
                memcpy(left.data + at, then->data + at, 4096);
            flipping.undone = 0;
            for (int turn = 0; turn < 2; turn++)
                lose(&flipping, &left, true);
            assert_true(i <= WRITES / 2 || at < 2 * 4096 || !flipping.undone);
            buf_fini(&left);
        }
        buf_fini(then);
    }
    assert_true(flipping.flips > 10 * WRITES);
    finish(&flipping, "of writes");
}

/* LMDB refuses an invalid head. No value is missing, so no key is held. */
static void a_lost_head_holds_no_key(void **state)
{
    static void (*const begins[])(struct flipping *, struct rng *) = {
        begin, begin_young, begin_anew
    };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (int past = 0; past < 3; past++) {
        struct flipping flipping;
        struct rng rng;

        begins[past](&flipping, &rng);
        for (size_t head = 0; head < 2; head++)
            for (int i = 0; i < 4; i++)
                zero(&flipping, head * page, i / 2 ? 512 : page);
        assert_int_equal(flipping.damaged, 8);
        assert_int_equal(flipping.kept, 8 * KEYS);
        finish(&flipping, "of heads");
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

/* With another page size the second head is elsewhere. */
static void a_database_with_another_page_size_is_read(void **state)
{
    static const uint32_t sizes[] = { 2048, 16384 };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct flipping flipping;
        struct rng rng;

        page_size = sizes[i];
        begin_young(&flipping, &rng);
        page_size = 0;
        lose(&flipping, &flipping.whole, true);
        assert_int_equal(flipping.kept, KEYS);
        assert_int_equal(flipping.damaged, 0);
        for (size_t head = 0; head < 2; head++)
            zero(&flipping, head * sizes[i], 512);
        assert_int_equal(flipping.kept, 3 * KEYS);
        assert_int_equal(flipping.damaged, 2);
        finish(&flipping, "of other pages");
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

#define PAGES_MAX 64

/* Pages with values, or names, of the last transaction that wrote all keys. */
static void find_pages(struct slice bytes, bool of_names,
                       bool is_there[PAGES_MAX])
{
    struct durable_record record;
    uint64_t last = 0;

    for (int turn = 0; turn < 2; turn++) {
        size_t at = 0;

        while (durable_find(bytes, &at, &record)) {
            size_t size =
                DURABLE_OVERHEAD + record.key.size + record.value.size;

            if (durable_is_name(record.key) != of_names ||
                slice_equal(record.key, durable_mark_key()))
                continue;
            if (!turn && record.number > last)
                last = record.number;
            for (size_t page = (at - size) / 4096;
                 turn && record.number == last && page <= (at - 1) / 4096;
                 page++)
                is_there[page] = true;
        }
    }
}

static void zero_pages(struct buf *bytes, const bool is_there[PAGES_MAX])
{
    for (size_t page = 0; page < PAGES_MAX; page++)
        if (is_there[page])
            memset(bytes->data + page * 4096, 0, 4096);
}

/* Zeroes names, and one or all of the last transaction's pages of values. */
static void possibly_missing_keys_are_reported(void **state)
{
    for (int is_young = 0; is_young < 2; is_young++) {
        bool values[PAGES_MAX] = { false }, names[PAGES_MAX] = { false };
        struct flipping flipping;
        struct buf left = { 0 };
        struct rng rng;

        (is_young ? begin_young : begin)(&flipping, &rng);
        assert_true(flipping.whole.size <= PAGES_MAX * 4096);
        find_pages(buf_slice(&flipping.whole), false, values);
        find_pages(buf_slice(&flipping.whole), true, names);
        for (size_t page = 0; page <= PAGES_MAX; page++) {
            if (page < PAGES_MAX && !values[page])
                continue;
            buf_clear(&left);
            buf_put_slice(&left, buf_slice(&flipping.whole));
            zero_pages(&left, names);
            if (page < PAGES_MAX)
                memset(left.data + page * 4096, 0, 4096);
            else
                zero_pages(&left, values);
            lose(&flipping, &left, false);
        }
        assert_true(!is_young || flipping.missing);
        finish(&flipping, "of names and values");
        buf_fini(&left);
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

/* An orderly end leaves a database, so a missing or empty one means another disk. */
static void a_missing_file_is_reported(void **state)
{
    for (int how = 0; how < 2; how++) {
        struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
        struct durable_files *files = open_files(loaded);
        struct buf none = { 0 };
        char path[128];
        struct rng rng;

        assert_false(loaded->may_lack_keys); /* the first start */
        rng_init(&rng, 1);
        live(files, &rng);
        durable_files_close(files);
        durable_request_free(loaded);
        (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
        assert_int_equal(unlink(path), 0);
        if (how)
            write_file("values.mdb", &none);
        loaded = durable_request_new(DURABLE_LOAD);
        files = open_files(loaded);
        assert_int_equal(loaded->entries.count, 0);
        assert_true(loaded->may_lack_keys);
        check_serves(files);
        durable_request_free(loaded);
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

static void a_cut_file_gives_what_is_left(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct buf whole = { 0 };
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    live(files, &rng);
    durable_files_close(files);
    durable_request_free(loaded);
    read_file("values.mdb", &whole);
    for (int i = 0; i < 20; i++) {
        struct buf cut = whole;

        cut.size = rng_below(&rng, whole.size);
        write_file("values.mdb", &cut);
        loaded = durable_request_new(DURABLE_LOAD);
        files = open_files(loaded);
        (void)check_values(loaded);
        check_serves(files);
        durable_request_free(loaded);
    }
    buf_fini(&whole);
}

/* ---- intact records of another key or version ---- */

static void put_pair(struct durable_files *files, MDB_dbi tree,
                     struct slice key, const struct buf *record)
{
    MDB_val name = { key.size, (void *)(uintptr_t)key.data };
    MDB_val bytes = { record->size, record->data };
    MDB_txn *txn;

    assert_int_equal(mdb_txn_begin(files->env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_put(txn, tree, &name, &bytes, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
}

/* Replaces the key's last record. */
static void put_as_it_is(struct durable_files *files, const char *key,
                         const struct buf *record)
{
    struct buf name = { 0 }, bytes = { 0 };

    put_pair(files, files->trees.values, slice_text(key), record);
    if (durable_key_is_good(slice_text(key))) {
        durable_name_key(slice_text(key), &name);
        durable_encode(&bytes, &(struct durable_record){
                                   .cluster = files->cluster,
                                   .number = ++files->number,
                                   .key = buf_slice(&name) });
        put_pair(files, files->trees.names, buf_slice(&name), &bytes);
    }
    buf_fini(&name);
    buf_fini(&bytes);
}

/* The value "strange" of another key, or of a later version, with a valid checksum. */
static void put_strange(struct durable_files *files, bool of_other_key)
{
    struct durable_record record = {
        .cluster = files->cluster,
        .number = 1,
        .key = slice_text(of_other_key ? "two" : "one"),
        .value = slice_text("strange"),
    };
    struct buf bytes = { 0 };

    durable_encode(&bytes, &record);
    if (!of_other_key) {
        bytes.data[4]++;
        bytes.size -= 8;
        buf_put_u64(&bytes, XXH3_64bits(bytes.data, bytes.size));
    }
    put_as_it_is(files, "one", &bytes);
    buf_fini(&bytes);
}

/* After an orderly end, when the database is opened in place, as after a crash. */
static void a_foreign_record_is_no_value_of_the_key(void **state)
{
    (void)state;

    for (int i = 0; i < 4; i++) {
        struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
        struct durable_files *files = open_files(loaded);
        const struct durable_entry *one;

        assert_int_equal(change(files, "one", "1", 3), 0);
        assert_int_equal(change(files, "two", "2", 3), 0);
        put_strange(files, i % 2);
        if (i < 2) {
            files = crash(files, &loaded);
        } else {
            durable_files_close(files);
            durable_request_free(loaded);
            loaded = durable_request_new(DURABLE_LOAD);
            files = open_files(loaded);
        }
        assert_true(loaded->was_damaged);
        one = entry_of(loaded, "one");
        assert_non_null(one);
        assert_true(one->is_lost || one->is_stale);
        assert_true(one->is_lost || slice_is(durable_slice(loaded, one->value), "111"));
        assert_value(loaded, "two", "222");
        durable_files_close(files);
        durable_request_free(loaded);
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

/* ---- holds ---- */

static struct durable_files *open_again(struct durable_files *files,
                                        struct durable_request **loaded)
{
    durable_files_close(files);
    durable_request_free(*loaded);
    *loaded = durable_request_new(DURABLE_LOAD);
    return open_files(*loaded);
}

/* "one" is lost, or has an earlier value. */
static struct durable_files *damaged(struct durable_request **loaded,
                                     bool is_lost)
{
    struct durable_files *files = open_files(*loaded);

    assert_int_equal(change(files, "zero", "0", 3), 0);
    if (!is_lost)
        assert_int_equal(change(files, "one", "1", 3), 0);
    put_strange(files, false);
    return crash(files, loaded);
}

static void assert_held(const struct durable_request *loaded, bool is_lost)
{
    const struct durable_entry *one = entry_of(loaded, "one");

    assert_int_equal(loaded->entries.count, 2);
    assert_value(loaded, "zero", "000");
    assert_false(entry_of(loaded, "zero")->is_held);
    assert_non_null(one);
    assert_true(one->is_held);
    assert_int_equal(one->is_lost, is_lost);
    assert_int_equal(one->is_stale, !is_lost);
    assert_true(slice_is(durable_slice(loaded, one->value),
                         is_lost ? "" : "111"));
}

/* Over orderly ends and crashes. */
static void a_damaged_key_is_held_until_it_is_written(void **state)
{
    for (int i = 0; i < 4; i++) {
        struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
        bool is_lost = i % 2, is_erased = i / 2;
        struct durable_files *files = damaged(&loaded, is_lost);

        assert_true(loaded->was_damaged);
        assert_held(loaded, is_lost);
        files = open_again(files, &loaded);
        assert_held(loaded, is_lost);
        files = crash(files, &loaded);
        assert_false(loaded->was_damaged);
        assert_held(loaded, is_lost);
        assert_int_equal(change(files, "zero", "0", 3), 0);
        files = crash(files, &loaded);
        assert_held(loaded, is_lost);
        assert_int_equal(change(files, "one", is_erased ? NULL : "2", 3), 0);
        for (int turn = 0; turn < 2; turn++) {
            files = turn ? crash(files, &loaded) : open_again(files, &loaded);
            assert_false(loaded->was_damaged);
            assert_int_equal(loaded->entries.count, is_erased ? 1 : 2);
            if (!is_erased)
                assert_value(loaded, "one", "222");
            if (!is_erased)
                assert_false(entry_of(loaded, "one")->is_held);
        }
        /* Damage after a write: the earlier hold must not count. */
        put_strange(files, false);
        files = crash(files, &loaded);
        assert_true(entry_of(loaded, "one")->is_held);
        durable_files_close(files);
        durable_request_free(loaded);
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

/* The record of the hold itself is damaged. */
static void a_damaged_hold_record_still_holds_its_key(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = damaged(&loaded, false);
    struct buf strange = { 0 };
    (void)state;

    buf_put_text(&strange, "strange");
    put_as_it_is(files, "\xfe" "one", &strange);
    files = crash(files, &loaded);
    assert_true(loaded->was_damaged);
    assert_held(loaded, false);
    durable_files_close(files);
    durable_request_free(loaded);
    buf_fini(&strange);
}

/* It is stored twice. */
static void a_hold_survives_the_loss_of_each_page(void **state)
{
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
        struct buf whole = { 0 };

        durable_files_close(damaged(&loaded, is_lost));
        assert_held(loaded, is_lost);
        read_file("values.mdb", &whole);
        for (size_t at = 0; at + 4096 <= whole.size; at += 4096) {
            struct buf bytes = { 0 };

            buf_put_slice(&bytes, buf_slice(&whole));
            memset(bytes.data + at, 0, 4096);
            write_file("values.mdb", &bytes);
            for (int start = 0; start < 2; start++) {
                durable_request_free(loaded);
                loaded = durable_request_new(DURABLE_LOAD);
                durable_files_close(open_files(loaded));
                assert_non_null(entry_of(loaded, "zero"));
                assert_non_null(entry_of(loaded, "one"));
                assert_true(entry_of(loaded, "one")->is_held);
            }
            buf_fini(&bytes);
        }
        durable_request_free(loaded);
        buf_fini(&whole);
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

/* No reader could wait for sharding's keys; nor for keys that are no text. */
static void keys_of_sharding_are_not_held(void **state)
{
    static const char *const keys[] = { "\xff" "role" "\xff" "key", "\x80" };
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct buf strange = { 0 };
    (void)state;

    buf_put_text(&strange, "strange");
    for (int i = 0; i < 2; i++)
        put_as_it_is(files, keys[i], &strange);
    files = crash(files, &loaded);
    assert_true(loaded->was_damaged);
    assert_int_equal(loaded->entries.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(entry_of(loaded, keys[i])->is_lost);
        assert_false(entry_of(loaded, keys[i])->is_held);
    }
    files = open_again(files, &loaded);
    assert_int_equal(loaded->entries.count, 0);
    durable_files_close(files);
    durable_request_free(loaded);
    buf_fini(&strange);
}

/* A longer key is refused, as it could have no hold. */
static void the_longest_key_is_held(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct buf strange = { 0 };
    char key[DURABLE_KEY_MAX + 2];
    (void)state;

    memset(key, 'k', sizeof key);
    assert_true(durable_key_is_good(slice_of(key, DURABLE_KEY_MAX)));
    assert_false(durable_key_is_good(slice_of(key, DURABLE_KEY_MAX + 1)));
    key[DURABLE_KEY_MAX] = 0;
    buf_put_text(&strange, "strange");
    assert_int_equal(change(files, key, "1", 3), 0);
    put_as_it_is(files, key, &strange);
    for (int i = 0; i < 2; i++) {
        files = crash(files, &loaded);
        assert_int_equal(loaded->entries.count, 1);
        assert_true(entry_of(loaded, key)->is_stale);
        assert_true(entry_of(loaded, key)->is_held);
    }
    durable_files_close(files);
    durable_request_free(loaded);
    buf_fini(&strange);
}

/* ---- a full disk ---- */

static int write_pair(struct durable_files *files, const char *first,
                      size_t first_size, const char *second,
                      size_t second_size)
{
    struct durable_change changes[] = {
        { .key = (char *)(uintptr_t)first, .key_size = 3 },
        { .key = (char *)(uintptr_t)second, .key_size = 3 },
    };
    char error[DURABLE_ERROR_MAX];
    struct map map = { 0 };
    int result;

    while (changes[0].value.size < first_size)
        buf_put_u8(&changes[0].value, 'x');
    while (changes[1].value.size < second_size)
        buf_put_u8(&changes[1].value, 'y');
    for (int i = 0; i < 2; i++)
        (void)map_put(&map, slice_of(changes[i].key, changes[i].key_size),
                      &changes[i]);
    result = durable_files_write(files, &map, error);
    map_fini(&map);
    for (int i = 0; i < 2; i++)
        buf_fini(&changes[i].value);
    return result;
}

/* Values of failed transactions stay in the file, however many fail; the mark lists them. */
static void a_long_full_disk_is_no_damage(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct stat about;
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    assert_int_equal(change(files, "one", "1", 60000), 0);
    for (int i = 0; i < 10; i++) /* frees pages */
        assert_int_equal(change(files, "pad", "p", 20000), 0);
    assert_int_equal(stat(path, &about), 0);
    limit_files((rlim_t)about.st_size + 100000);
    assert_int_equal(write_pair(files, "one", 60000, "two", MIB), -1);
    for (int i = 0; i < 200; i++) {
        limit_files((rlim_t)about.st_size);
        assert_int_equal(change(files, "two", "2", 100000), -1);
    }
    assert_int_equal(change(files, "six", "6", 30), 0);
    limit_files(RLIM_INFINITY);
    files = crash(files, &loaded);
    assert_false(loaded->was_damaged);
    assert_int_equal(
        durable_slice(loaded, entry_of(loaded, "one")->value).data[0], '1');
    assert_non_null(entry_of(loaded, "six"));
    assert_null(entry_of(loaded, "two"));
    durable_files_close(files);
    durable_request_free(loaded);
}

/* ---- histories ---- */

#define NAMES 12
#define ABSENT 0
#define MAYBE_MAX 512

/* Expected values, and values of transactions that failed since. */
struct model {
    uint32_t value[NAMES];
    uint32_t maybe[NAMES][MAYBE_MAX];
    uint32_t maybe_count[NAMES];
    uint32_t last; /* number of the last generated value */
};

static size_t size_of(uint32_t value)
{
    static const size_t sizes[] = { 4, 40, 300, 1900, 3000, 9000, 30000 };

    return sizes[value * 2654435761u % 7];
}

static void put_value(struct buf *bytes, uint32_t value)
{
    for (size_t size = size_of(value); bytes->size < size;)
        buf_put_u32(bytes, value);
}

static void forget_maybe(struct model *model)
{
    memset(model->maybe_count, 0, sizeof model->maybe_count);
}

/* One transaction, which may find no room. */
static void write_some(struct durable_files *files, struct model *model,
                       struct rng *rng, bool has_room)
{
    struct durable_change changes[NAMES] = { 0 };
    uint32_t values[NAMES] = { 0 };
    char error[DURABLE_ERROR_MAX];
    char names[NAMES][8], path[128];
    struct map map = { 0 };
    struct stat about;
    int result;

    for (uint32_t i = 0; i < NAMES; i++) {
        if (rng_below(rng, 3))
            continue;
        (void)snprintf(names[i], sizeof names[i], "n%u", i);
        changes[i].key = names[i];
        changes[i].key_size = (uint32_t)strlen(names[i]);
        changes[i].erases = rng_below(rng, 5) == 0;
        values[i] = changes[i].erases ? ABSENT : ++model->last;
        if (!changes[i].erases)
            put_value(&changes[i].value, values[i]);
        (void)map_put(&map, slice_text(names[i]), &changes[i]);
    }
    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    assert_int_equal(stat(path, &about), 0);
    if (!has_room)
        limit_files(rng_below(rng, (uint64_t)about.st_size + 16384));
    result = durable_files_write(files, &map, error);
    limit_files(RLIM_INFINITY);
    if (result == 0)
        forget_maybe(model);
    for (uint32_t i = 0; i < NAMES; i++) {
        if (changes[i].key && result == 0)
            model->value[i] = values[i];
        else if (changes[i].key && model->maybe_count[i] < MAYBE_MAX)
            model->maybe[i][model->maybe_count[i]++] = values[i];
        buf_fini(&changes[i].value);
    }
    map_fini(&map);
}

static bool may_be(const struct model *model, uint32_t name, uint32_t value)
{
    for (uint32_t i = 0; i < model->maybe_count[name]; i++)
        if (model->maybe[name][i] == value)
            return true;
    return value == model->value[name];
}

static void look(struct model *model, const struct durable_request *loaded,
                 uint64_t seed)
{
    if (loaded->was_damaged)
        fail_msg("life %u: damaged", (unsigned)seed);
    for (uint32_t i = 0; i < NAMES; i++) {
        const struct durable_entry *entry;
        uint32_t value = ABSENT;
        char name[8];

        (void)snprintf(name, sizeof name, "n%u", i);
        entry = entry_of(loaded, name);
        if (entry) {
            struct cursor cursor =
                cursor_of(durable_slice(loaded, entry->value));

            value = cursor_u32(&cursor);
            assert_int_equal(entry->value.size, size_of(value));
        }
        if (!may_be(model, i, value))
            fail_msg("life %u: %s is %u, not %u", (unsigned)seed, name, value,
                     model->value[i]);
        model->value[i] = value;
    }
    forget_maybe(model);
}

static void live_once(uint64_t seed)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct model *model = mem_alloc(sizeof *model);
    struct rng rng;
    uint64_t steps, room;
    char path[128];

    rng_init(&rng, seed);
    steps = 5 + rng_below(&rng, 40);
    room = rng_below(&rng, 101); /* percentage of writes with room */
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t what = rng_below(&rng, 12);
        /* A long full disk: more failures than a mark lists. */
        uint64_t tries = what == 0 && rng_below(&rng, 4) == 0 ? 150 : 1;

        while (what < 10 && tries--)
            write_some(files, model, &rng,
                       tries <= 1 && rng_below(&rng, 100) < room);
        if (what == 10) {
            files = crash(files, &loaded);
            look(model, loaded, seed);
        } else if (what == 11) {
            durable_files_close(files);
            durable_request_free(loaded);
            loaded = durable_request_new(DURABLE_LOAD);
            files = open_files(loaded);
            look(model, loaded, seed);
        }
    }
    files = crash(files, &loaded);
    look(model, loaded, seed);
    durable_files_close(files);
    durable_request_free(loaded);
    mem_free(model);
    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/clean", directory);
    (void)unlink(path);
}

static void acknowledged_values_survive_every_history(void **state)
{
    uint32_t lives = wanted("DURABLE_HISTORIES", 60);

    (void)state;
    for (uint32_t seed = 1; seed <= lives; seed++)
        live_once(seed);
    print_message("%u lives\n", lives);
}

#define in_a_directory(test) \
    cmocka_unit_test_setup_teardown(test, make_directory, drop_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_directory(a_flipped_bit_invents_no_value),
        in_a_directory(a_flipped_bit_of_the_mark_is_reported),
        in_a_directory(a_flipped_bit_of_a_head_undoes_nothing),
        in_a_directory(a_flipped_bit_of_a_name_invents_no_key),
        in_a_directory(zeroed_bytes_do_not_restore_earlier_values),
        in_a_directory(a_key_with_a_lost_page_is_held),
        in_a_directory(a_lost_write_is_detected),
        in_a_directory(a_lost_head_holds_no_key),
        in_a_directory(a_database_with_another_page_size_is_read),
        in_a_directory(possibly_missing_keys_are_reported),
        in_a_directory(a_missing_file_is_reported),
        in_a_directory(a_cut_file_gives_what_is_left),
        in_a_directory(a_foreign_record_is_no_value_of_the_key),
        in_a_directory(a_damaged_key_is_held_until_it_is_written),
        in_a_directory(a_damaged_hold_record_still_holds_its_key),
        in_a_directory(a_hold_survives_the_loss_of_each_page),
        in_a_directory(keys_of_sharding_are_not_held),
        in_a_directory(the_longest_key_is_held),
        in_a_directory(a_long_full_disk_is_no_damage),
        in_a_directory(acknowledged_values_survive_every_history),
    };

    if (access("/dev/shm", W_OK) == 0)
        disk = "/dev/shm"; /* for thousands of small files */
    (void)signal(SIGXFSZ, SIG_IGN); /* the size limit acts as a full disk */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
