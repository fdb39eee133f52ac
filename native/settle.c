/* Declined lanes in fixed point; the contract and the derivation are in settle.h. */
#include "settle.h"

#include "fixed_point.h"
#include "float_env.h"

/* Two numbers that enclose a third. */
typedef struct {
    en_wide low, high;
} ends;

/* A lane's x or value. */
typedef union {
    uint64_t bits;
    int64_t whole;
    double real;
} number;

#define EN_ONE_MINUS_2_16 UINT64_C(0xffff000000000000)

size_t en_extension_count(en_family family) {
    if (family == EN_TABULATED)
        return 0;
    return family == EN_GAUSSIAN || family == EN_DISCRETE_GAUSSIAN ? 2 : 1;
}

/* The cell of a word without its `spare` lowest bits, and of what follows it, in units of 2^-128. */
static ends cell(uint64_t word, unsigned spare, const uint64_t *extension) {
    const uint64_t unit = UINT64_C(1) << spare;
    ends found = {{word >> spare << spare, 0}, {0, 0}};
    if (extension) {
        found.low.high |= *extension >> (64 - spare);
        found.low.low = *extension << spare;
    }
    found.high = en_wide_add(found.low, extension ? (en_wide){0, unit} : (en_wide){unit, 0});
    return found;
}

/* Whether the functions are proved on a cell of U: not next to 0, nor next to 1. */
static int is_inside(ends u) {
    return (u.low.high | u.low.low) != 0 && u.high.high < EN_ONE_MINUS_2_16 && en_wide_is_below(u.low, u.high);
}

/* s times a number in units of 2^-EN_RADIX, in units of 2^-64. */
static en_wide scaled(double s, en_wide value) {
    const uint64_t bits = en_bits(s);
    const uint64_t mantissa = bits << 11 | UINT64_C(1) << 63;
    const int exponent = (int)(bits >> 52) - 1023;
    return en_wide_right(en_wide_times_word(value, mantissa), (unsigned)(EN_RADIX - 65 - exponent));
}

/* |Z| / g for a cell of U. */
static ends exponential(double s, ends u) {
    return (ends){scaled(s, en_fixed_negative_log(u.high)), scaled(s, en_fixed_negative_log(u.low))};
}

/* |Z| / g for cells of U and f, as GaussianNoise in exactnoise/_refine/noise.py; f is signed. */
static ends normal(double s, ends u, ends f, int is_sine, int *is_negative) {
    const int is_below = f.low.high >> 63 != 0;
    const en_wide zero = {0, 0};
    if (is_below)
        f = (ends){en_wide_sub(zero, f.high), en_wide_sub(zero, f.low)};
    *is_negative ^= is_sine & is_below;
    const en_wide inner = en_fixed_direction(f.low, is_sine), outer = en_fixed_direction(f.high, is_sine);
    const en_wide least = is_sine ? inner : outer, most = is_sine ? outer : inner;
    return (ends){scaled(s, en_wide_left(en_wide_mul(en_fixed_radius(u.high), least), 1)),
                  scaled(s, en_wide_left(en_wide_mul(en_fixed_radius(u.low), most), 1))};
}

/* Encloses the lane's noise in grid units, in two's complement; 0 if that is not proved here. */
static int enclose_noise(const en_plan *plan, const en_pending *lane, const uint64_t *extension, ends *noise) {
    const en_wide zero = {0, 0};
    int is_negative;
    if (plan->family == EN_LAPLACE || plan->family == EN_DISCRETE_LAPLACE) {
        const ends u = cell(lane->word[0], 14, extension);
        if (!is_inside(u))
            return 0;
        *noise = exponential(plan->s, u);
        is_negative = plan->family == EN_LAPLACE && (lane->word[0] >> 13 & 1);
        if (plan->family == EN_DISCRETE_LAPLACE) {
            noise->low = en_wide_sub(noise->low, (en_wide){0, plan->shortfall});
            noise->high = en_wide_sub(noise->high, (en_wide){0, plan->shortfall});
        }
    } else {
        const ends u = cell(lane->word[0], 13, extension);
        if (!is_inside(u))
            return 0;
        const unsigned quadrant = (unsigned)(lane->word[1] >> 62);
        const int is_second = (lane->lane & ((INT64_C(1) << 48) - 1)) != lane->index;
        is_negative = is_second ? quadrant >= 2 : quadrant == 1 || quadrant == 2;
        const int is_sine = is_second != (int)(quadrant & 1);
        *noise =
            normal(plan->s, u, cell(lane->word[1] << 2, 15, extension ? extension + 1 : NULL), is_sine, &is_negative);
    }
    if (is_negative)
        *noise = (ends){en_wide_sub(zero, noise->high), en_wide_sub(zero, noise->low)};
    return 1;
}

/* The magnitude of what x / g, truncated, leaves, in units of 2^-64, and whether x is negative. */
static uint64_t rest_of(const en_plan *plan, uint64_t x, int *is_negative) {
    *is_negative = 0;
    if (plan->form == EN_INT64_FLOAT64 || (plan->form == EN_INT64 && plan->exponent == 0))
        return 0;
    if (plan->form == EN_INT64)
        return x << (64 - plan->exponent);

    const uint64_t infinite = UINT64_C(0x7ff0000000000000), sign = UINT64_C(1) << 63;
    if ((x & ~sign) > infinite)
        x = en_bits(plan->grid.nan);
    *is_negative = x >> 63 != 0;
    x &= ~sign;
    if (x >= infinite)
        return 0;
    const int field = (int)(x >> 52);
    const uint64_t leading = UINT64_C(1) << 52;
    const uint64_t mantissa = field ? (x & (leading - 1)) | leading : x;
    const int below = plan->exponent - ((field ? field : 1) - 1075); /* binary digits of x / g after the point */
    if (below <= 0 || below >= 128)
        return 0;
    return below < 64 ? mantissa << (64 - below) : mantissa >> (below - 64);
}

/* round(y) of a number in two's complement, in units of 2^-64. */
static int64_t nearest(en_wide y) {
    return (int64_t)en_wide_add(y, (en_wide){0, UINT64_C(1) << 63}).high;
}

/* Whether V < 1 - p - |u| for all of V's cell. */
static int is_accepted(const en_plan *plan, const en_pending *lane, double k) {
    const double v = (double)((lane->word[2] >> 32) + 1) * 0x1p-32;
    const double most = (4 * (k < 0 ? -k : k) + 1) * plan->inverse_square * 0.125;
    return v + most < 1 - 0x1p-40;
}

static int settle_lane(const en_plan *plan, const en_kernels *kernels, const en_pending *lane,
                       const uint64_t *extension, void *out) {
    ends y;
    if (!enclose_noise(plan, lane, extension, &y))
        return 0;
    int is_negative;
    const en_wide rest = {0, rest_of(plan, lane->x, &is_negative)}, doubt = {0, plan->doubt};
    y.low = is_negative ? en_wide_sub(y.low, rest) : en_wide_add(y.low, rest);
    y.high = is_negative ? en_wide_sub(y.high, rest) : en_wide_add(y.high, rest);
    const int64_t k = nearest(en_wide_sub(y.low, doubt));
    if (k != nearest(en_wide_add(y.high, doubt)))
        return 0;
    if (plan->family == EN_DISCRETE_GAUSSIAN && !is_accepted(plan, lane, (double)k))
        return 0;

    const double r = (double)rest.low * 0x1p-64;
    const double noise = (double)k - (is_negative ? -r : r);
    double slack = 0.5;
    number x, value;
    x.bits = lane->x;
    if (!en_rounding(plan, kernels)(plan, lane->word, &noise, &slack, &x, &value, 1))
        return 0;
    if (plan->form == EN_FLOAT32)
        kernels->narrow(&value.real, (float *)out + lane->index, 1);
    else
        memcpy((char *)out + 8 * lane->index, &value, 8);
    return 1;
}

/* A frame of its own, which is dead when the stack is wiped. */
EN_NEVER_INLINE size_t settle_lanes(const en_plan *plan, const en_kernels *kernels, en_pending *lanes, size_t count,
                                    const uint64_t *extension, void *out) {
    const size_t words = en_extension_count(plan->family);
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (!settle_lane(plan, kernels, &lanes[i], extension ? extension + words * i : NULL, out))
            lanes[left++] = lanes[i];
    return left;
}

size_t en_settle(const en_plan *plan, const en_kernels *kernels, en_pending *lanes, size_t count,
                 const uint64_t *extension, void *out) {
    if (plan->family == EN_TABULATED)
        return count;
    en_float_env found = en_float_env_set();
    const size_t left = settle_lanes(plan, kernels, lanes, count, extension, out);
    en_float_env_restore(found);
    en_wipe_dead_stack();
    return left;
}
