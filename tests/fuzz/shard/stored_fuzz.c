/* Fuzzes a coordinator's state and fences from a peer's distributed data. Input: 1 byte choice, 2
 * bytes size of the state (little endian), the state, the fences. With choice 1 the target
 * compresses them, so that the fuzzer reaches the fields.
 *
 * Oracle: an accepted state is the same after it is written and read again, and has the same bytes
 * after another write. A coordinator that begins with it keeps its invariants. The state that it
 * stores can be read, and no shard has a lower fence in it. */
#include "../../unit/shard/scene.h"

#include "base/gzip.h"
#include "base/limits.h"
#include "shard/coordinator_state.h"
#include "shard/stored.h"

#define MEMBERS 3
#define TERMS_MAX 4 /* most terms that are taken; the journal's may be higher than the state's */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Compresses in two parts, as a coordinator does. */
static void pack(struct buf *packed, struct buf *first, struct buf *second)
{
    struct gzip_part parts[2] = { 0 }, sum = { 0 };

    gzip_part_set(&parts[0], buf_slice(first));
    gzip_part_set(&parts[1], buf_slice(second));
    gzip_begin(packed);
    gzip_join(packed, &sum, &parts[0]);
    gzip_join(packed, &sum, &parts[1]);
    gzip_end(packed, &sum);
    gzip_part_fini(&parts[0]);
    gzip_part_fini(&parts[1]);
    buf_clear(first);
    buf_clear(second);
}

/* Writes everything except shards without a home, which no coordinator of this library writes. */
static void write_again(const struct stored *stored, struct buf *state,
                        struct buf *fences)
{
    struct buf first = { 0 }, second = { 0 };

    for (uint32_t i = 0; i < stored->region_count; i++)
        stored_region_put(&first, stored->regions[i], false);
    for (uint32_t i = 0; i < stored->proxy_count; i++)
        stored_region_put(&first, stored->proxies[i], true);
    for (uint32_t i = 0; i < stored->home_count; i++)
        stored_home_put(&second, stored->homes[i].shard,
                        stored->homes[i].region);
    pack(state, &first, &second);
    stored_term_put(&first, (struct proof){ stored->term, stored->proof });
    stored_pause_put(&first, stored->pause);
    for (uint32_t i = 0; i < stored->fence_count; i++)
        stored_fence_put(&second, stored->fences[i].shard,
                         stored->fences[i].fence);
    pack(fences, &first, &second);
    buf_fini(&first);
    buf_fini(&second);
}

static void check_texts(const struct slice *left, uint32_t left_count,
                        const struct slice *right, uint32_t right_count)
{
    check(left_count == right_count && left_count <= COORDINATOR_REGIONS_MAX);
    for (uint32_t i = 0; i < left_count; i++)
        check(slice_equal(left[i], right[i]) && left[i].size > 0 &&
              left[i].size <= SHARD_REF_MAX);
}

static void check_equal(const struct stored *left, const struct stored *right)
{
    check_texts(left->regions, left->region_count, right->regions,
                right->region_count);
    check_texts(left->proxies, left->proxy_count, right->proxies,
                right->proxy_count);
    check(left->home_count == right->home_count &&
          left->home_count <= COORDINATOR_SHARDS_MAX);
    for (uint32_t i = 0; i < left->home_count; i++)
        check(slice_equal(left->homes[i].shard, right->homes[i].shard) &&
              slice_equal(left->homes[i].region, right->homes[i].region));
    check(left->term == right->term);
    check(left->fence_count == right->fence_count &&
          left->fence_count <= COORDINATOR_SHARDS_MAX);
    for (uint32_t i = 0; i < left->fence_count; i++)
        check(slice_equal(left->fences[i].shard, right->fences[i].shard) &&
              fence_compare(left->fences[i].fence, right->fences[i].fence) ==
                  0);
}

static void check_round_trip(const struct stored *stored)
{
    struct buf state = { 0 }, fences = { 0 };
    struct buf state_again = { 0 }, fences_again = { 0 };
    struct stored again;

    write_again(stored, &state, &fences);
    check(stored_read(&again, buf_slice(&state), buf_slice(&fences)));
    check_equal(stored, &again);
    write_again(&again, &state_again, &fences_again);
    check(slice_equal(buf_slice(&state), buf_slice(&state_again)));
    check(slice_equal(buf_slice(&fences), buf_slice(&fences_again)));
    stored_fini(&again);
    buf_fini(&state);
    buf_fini(&fences);
    buf_fini(&state_again);
    buf_fini(&fences_again);
}

/* Gives the coordinator the terms that it requests, as the journal does. */
static void activate(struct scene *scene)
{
    struct coordinator_news news;

    for (int i = 0; i < TERMS_MAX; i++) {
        uint64_t wanted = FENCE_PART_MAX;

        while (coordinator_next_news(scene->coordinator, &news))
            if (news.kind == COORDINATOR_NEWS_NEEDS_TERM)
                wanted = news.term;
        if (wanted < FENCE_PART_MAX)
            give_term(scene, wanted + 1);
    }
}

static struct fence fence_in(const struct stored *stored, struct slice shard)
{
    struct fence highest = { 0, 0 };

    for (uint32_t i = 0; i < stored->fence_count; i++)
        if (slice_equal(stored->fences[i].shard, shard) &&
            fence_compare(stored->fences[i].fence, highest) > 0)
            highest = stored->fences[i].fence;
    return highest;
}

static void check_quorum(const struct scene *scene, const struct stored *before)
{
    struct stored after;

    check(stored_read(&after, buf_slice(&scene->state),
                      buf_slice(&scene->fences)));
    check_round_trip(&after);
    for (uint32_t i = 0; i < before->fence_count; i++) {
        const struct shard_hosted *hosted = &before->fences[i];

        if (hosted->fence.term <= FENCE_PART_MAX &&
            hosted->fence.epoch <= FENCE_PART_MAX)
            check(fence_compare(fence_in(&after, hosted->shard),
                                hosted->fence) >= 0);
    }
    stored_fini(&after);
}

/* Runs a coordinator with this state. The last member has no region, and then leaves. */
static void coordinate(struct slice state, struct slice fences,
                       const struct stored *before)
{
    struct scene *scene = scene_unread(NULL);

    scene->is_held = true;
    for (int n = 0; n < MEMBERS; n++)
        peer_up(scene, n);
    buf_put_slice(&scene->state, state);
    buf_put_slice(&scene->fences, fences);
    scene->is_held = false;
    scene_answer(scene, true);
    scene_drain(scene);
    activate(scene);
    for (int n = 0; n < MEMBERS - 1; n++)
        registers(scene, n);
    asks(scene, 0, "1");
    play(scene);
    passes(scene, 12000);
    peer_removed(scene, MEMBERS - 1);
    play(scene);
    passes(scene, 12000);
    if (coordinator_is_active(scene->coordinator))
        check_quorum(scene, before);
    scene_free(scene);
}

static void take(struct slice state, struct slice fences)
{
    static const struct stored nothing;
    struct stored stored;

    if (!stored_read(&stored, state, fences)) {
        coordinate(state, fences, &nothing);
        return;
    }
    check_round_trip(&stored);
    coordinate(state, fences, &stored);
    stored_fini(&stored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice state, fences;
    struct buf packed_state = { 0 }, packed_fences = { 0 };
    size_t state_size;

    if (size < 3 || size > 8192)
        return 0;
    state_size = (size_t)data[1] | (size_t)data[2] << 8;
    if (state_size > size - 3)
        state_size = size - 3;
    state = slice_of(data + 3, state_size);
    fences = slice_of(data + 3 + state_size, size - 3 - state_size);
    if (data[0] & 1) {
        gzip_deflate(&packed_state, state);
        gzip_deflate(&packed_fences, fences);
        take(buf_slice(&packed_state), buf_slice(&packed_fences));
    } else {
        take(state, fences);
    }
    buf_fini(&packed_state);
    buf_fini(&packed_fences);
    return 0;
}
