/* Implements the register: the higher timestamp wins, then the lower node. A node that makes a new
 * register instead of changing the present one can repeat a timestamp. Then the bytes decide. */
#include "base/mark.h"
#include "ddata/inside.h"

static int64_t next_timestamp(int64_t last, int64_t now_ms, enum dd_clock clock)
{
    if (clock == DD_CLOCK_LAST) {
        if (last < INT64_MAX)
            last++;
        return now_ms > last ? now_ms : last;
    }
    if (last > INT64_MIN)
        last--;
    return -now_ms < last ? -now_ms : last;
}

void reg_copy(struct reg *copy, const struct reg *reg)
{
    copy->node = reg->node;
    copy->timestamp = reg->timestamp;
    other_set(&copy->state, other_view(&reg->state));
}

bool reg_equal(const struct reg *left, const struct reg *right)
{
    return left->timestamp == right->timestamp &&
           node_equal(&left->node, &right->node) &&
           other_equal(other_view(&left->state), other_view(&right->state));
}

static int compare_slices(struct slice left, struct slice right)
{
    if (left.size != right.size)
        return left.size < right.size ? -1 : 1;
    return left.size ? memcmp(left.data, right.data, left.size) : 0;
}

static int compare_states(struct dd_other left, struct dd_other right)
{
    int order = compare_slices(left.bytes, right.bytes);

    if (!order)
        order = compare_slices(left.manifest, right.manifest);
    return order ? order
                 : (left.serializer > right.serializer) -
                       (left.serializer < right.serializer);
}

static bool is_newer(const struct reg *other, const struct reg *reg)
{
    int order = node_compare(&other->node, &reg->node);

    SOMETIMES("two members have written with the same timestamp",
              order && other->timestamp == reg->timestamp);
    if (other->timestamp != reg->timestamp)
        return other->timestamp > reg->timestamp;
    return order ? order < 0
                 : compare_states(other_view(&other->state),
                                  other_view(&reg->state)) > 0;
}

bool reg_merge(struct reg *reg, const struct reg *other)
{
    if (!is_newer(other, reg))
        return false;
    reg_copy(reg, other);
    return true;
}

void dd_register_set(struct dd_value *value, const struct node_id *node,
                     struct dd_other state, int64_t now_ms, enum dd_clock clock)
{
    struct reg *reg = &value->is.reg;

    check(value->kind == DD_REGISTER);
    reg->node = *node;
    reg->timestamp = next_timestamp(reg->timestamp, now_ms, clock);
    other_set(&reg->state, state);
    value_touch(value);
}

struct dd_value *dd_register_new(const struct node_id *node,
                                 struct dd_other state, int64_t now_ms,
                                 enum dd_clock clock)
{
    struct dd_value *value = value_new(DD_REGISTER);

    dd_register_set(value, node, state, now_ms, clock);
    return value;
}

struct dd_other dd_register_get(const struct dd_value *value)
{
    check(value->kind == DD_REGISTER);
    return other_view(&value->is.reg.state);
}

int64_t dd_register_timestamp(const struct dd_value *value)
{
    check(value->kind == DD_REGISTER);
    return value->is.reg.timestamp;
}

const struct node_id *dd_register_node(const struct dd_value *value)
{
    check(value->kind == DD_REGISTER);
    return &value->is.reg.node;
}
