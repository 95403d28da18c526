/* Tests the simulated disk: syncs, and the effect of each fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/world/disk.h"

#define SEEDS 200

static struct disk *disk_of(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    return disk_new(rng);
}

/* Writes `count` sectors full of one letter. */
static struct disk_done fill(struct disk *disk, uint64_t sector,
                             uint64_t count, char content)
{
    struct buf bytes = { 0 };
    struct disk_done done;

    memset(buf_reserve(&bytes, count * DISK_SECTOR), content,
           count * DISK_SECTOR);
    bytes.size = count * DISK_SECTOR;
    done = disk_write(disk, 0, sector, buf_slice(&bytes));
    buf_fini(&bytes);
    return done;
}

/* The first letter of each sector read, or of each on the platter. */
static void contents(struct disk *disk, char *text, bool platter)
{
    struct buf bytes = { 0 };

    if (platter)
        disk_platter(disk, 0, &bytes);
    else
        assert_int_equal(
            disk_read(disk, 0, 0, disk_size(disk), &bytes).result, DISK_OK);
    assert_int_equal(bytes.size, disk_size(disk) * DISK_SECTOR);
    for (uint64_t i = 0; i < disk_size(disk); i++) {
        char first = (char)bytes.data[i * DISK_SECTOR];

        text[i] = first ? first : '.';
        assert_int_equal(bytes.data[(i + 1) * DISK_SECTOR - 1],
                         bytes.data[i * DISK_SECTOR]);
    }
    text[disk_size(disk)] = 0;
    buf_fini(&bytes);
}

static void assert_mail(struct disk *disk, const char *wanted)
{
    char text[300];

    contents(disk, text, false);
    assert_string_equal(text, wanted);
}

static void synced_sectors_survive_a_power_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct disk *disk = disk_of(seed);

        fill(disk, 0, 3, 'a');
        assert_int_equal(disk_sync(disk, 0).result, DISK_OK);
        disk_power_loss(disk, 0);
        assert_mail(disk, "aaa");
        disk_free(disk);
    }
}

/* Every kind of part occurs: nothing, everything, a beginning, and one with holes. */
static void any_part_of_unsynced_sectors_may_survive(void **state)
{
    uint32_t seen[1 << 4] = { 0 };
    (void)state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct disk *disk = disk_of(seed);
        char text[300];
        uint32_t parts = 0;

        fill(disk, 0, 4, 'a');
        (void)disk_sync(disk, 0);
        fill(disk, 0, 4, 'b');
        disk_power_loss(disk, 0);
        contents(disk, text, false);
        for (int i = 0; i < 4; i++) {
            assert_true(text[i] == 'a' || text[i] == 'b');
            parts |= (uint32_t)(text[i] == 'b') << i;
        }
        seen[parts]++;
        assert_int_equal(disk_counters(disk)->torn,
                         parts != 0 && parts != 15);
        disk_free(disk);
    }
    for (int parts = 0; parts < 16; parts++)
        assert_true(seen[parts] > 0);
}

static void a_sync_takes_effect_at_its_end(void **state)
{
    struct disk_faults slow = { .latency_min = 10 * MS };
    bool lost = false;
    (void)state;

    for (uint64_t seed = 0; seed < 50; seed++) {
        struct disk *disk = disk_of(seed);
        struct disk_done done;
        char text[300];

        fill(disk, 0, 1, 'a');
        (void)disk_sync(disk, 0);
        disk_set_faults(disk, &slow);
        fill(disk, 0, 1, 'b');
        done = disk_sync(disk, 0);
        assert_int_equal(done.at, 10 * MS);
        assert_int_equal(disk_sync_end(disk), 10 * MS);
        disk_power_loss(disk, 10 * MS - 1);
        contents(disk, text, true);
        lost |= text[0] == 'a';
        fill(disk, 0, 1, 'c');
        done = disk_sync(disk, 10 * MS);
        disk_power_loss(disk, done.at);
        assert_mail(disk, "c");
        disk_free(disk);
    }
    assert_true(lost);
}

/* The fsync gate: the next sync succeeds, but the data of the failed one is lost. */
static void after_a_failed_sync_the_next_one_writes_nothing(void **state)
{
    struct disk_faults failing = { .sync_error_ppm = 1000000 };
    struct disk_faults none = { 0 };
    int lost = 0;
    (void)state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct disk *disk = disk_of(seed);
        char text[300];

        fill(disk, 0, 1, 'a');
        disk_set_faults(disk, &failing);
        assert_int_equal(disk_sync(disk, 0).result, DISK_EIO);
        assert_mail(disk, "a"); /* still cached */
        disk_set_faults(disk, &none);
        assert_int_equal(disk_sync(disk, 0).result, DISK_OK);
        assert_mail(disk, "a");
        if (seed % 2)
            disk_power_loss(disk, 0);
        else
            disk_evict(disk, 0);
        contents(disk, text, false);
        lost += text[0] == '.';
        /* Written again and synced, it is there. */
        fill(disk, 0, 1, 'a');
        (void)disk_sync(disk, 0);
        disk_power_loss(disk, 0);
        assert_mail(disk, "a");
        disk_free(disk);
    }
    assert_true(lost > SEEDS / 4 && lost < SEEDS * 3 / 4);
}

static void a_write_that_fails_may_have_happened(void **state)
{
    struct disk_faults failing = { .write_error_ppm = 1000000 };
    uint32_t seen[4] = { 0 };
    (void)state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct disk *disk = disk_of(seed);

        disk_set_faults(disk, &failing);
        assert_int_equal(fill(disk, 0, 3, 'a').result, DISK_EIO);
        seen[disk_size(disk)]++;
        disk_free(disk);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 0);
}

static void a_full_disk_takes_only_sectors_that_have_space(void **state)
{
    struct disk_faults full = { .is_full = true };
    struct disk_faults none = { 0 };
    uint32_t seen[6] = { 0 };
    (void)state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct disk *disk = disk_of(seed);

        fill(disk, 0, 3, 'a');
        disk_set_faults(disk, &full);
        assert_int_equal(fill(disk, 1, 4, 'b').result, DISK_FULL);
        assert_true(disk_size(disk) >= 3 && disk_size(disk) < 5);
        seen[disk_size(disk)]++;
        assert_int_equal(fill(disk, 0, 3, 'c').result, DISK_OK);
        disk_set_faults(disk, &none);
        assert_int_equal(fill(disk, disk_size(disk), 4, 'd').result, DISK_OK);
        assert_int_equal(disk_counters(disk)->full, 1);
        disk_free(disk);
    }
    assert_true(seen[3] > 0 && seen[4] > 0);
}

static void operations_take_their_time(void **state)
{
    struct disk_faults slow = { .latency_min = MS,
                                .latency_mean = 3 * MS,
                                .stall_ppm = 100000,
                                .stall_max = 60 * SECOND };
    struct disk *disk = disk_of(1);
    uint64_t sum = 0;
    uint64_t count = 0;
    (void)state;

    disk_set_faults(disk, &slow);
    for (int i = 0; i < 5000; i++) {
        uint64_t stalls = disk_counters(disk)->stalls;
        uint64_t at = fill(disk, 0, 1, 'a').at;

        assert_true(at >= MS);
        if (disk_counters(disk)->stalls == stalls) {
            sum += at;
            count++;
        } else {
            assert_true(at <= 200 * SECOND);
        }
    }
    assert_true(sum / count > 2800000 && sum / count < 3200000);
    assert_true(count > 4300 && count < 4700);
    disk_free(disk);
}

static void reads_fail_and_bits_rot_permanently(void **state)
{
    struct disk_faults rot = { .rot_ppm = 1000000 };
    struct disk_faults failing = { .read_error_ppm = 1000000 };
    struct disk *disk = disk_of(1);
    struct buf first = { 0 };
    struct buf again = { 0 };
    int bits = 0;
    (void)state;

    fill(disk, 0, 1, 'a');
    (void)disk_sync(disk, 0);
    disk_set_faults(disk, &failing);
    assert_int_equal(disk_read(disk, 0, 0, 1, &first).result, DISK_EIO);
    assert_int_equal(first.size, 0);
    disk_set_faults(disk, &rot);
    assert_int_equal(disk_read(disk, 0, 0, 1, &first).result, DISK_OK);
    for (size_t i = 0; i < DISK_SECTOR; i++)
        bits += __builtin_popcount((unsigned)first.data[i] ^ 'a');
    assert_int_equal(bits, 1);
    assert_int_equal(disk_counters(disk)->rotten, 1);
    disk_platter(disk, 0, &again);
    assert_true(slice_equal(buf_slice(&first), buf_slice(&again)));
    buf_fini(&first);
    buf_fini(&again);
    disk_free(disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synced_sectors_survive_a_power_loss),
        cmocka_unit_test(any_part_of_unsynced_sectors_may_survive),
        cmocka_unit_test(a_sync_takes_effect_at_its_end),
        cmocka_unit_test(after_a_failed_sync_the_next_one_writes_nothing),
        cmocka_unit_test(a_write_that_fails_may_have_happened),
        cmocka_unit_test(a_full_disk_takes_only_sectors_that_have_space),
        cmocka_unit_test(operations_take_their_time),
        cmocka_unit_test(reads_fail_and_bits_rot_permanently),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
