/* The window of every family, and the grid's constants; the contract is in plan.h. No libm: the few logarithms needed
 * are bounded from above through the exponent of s. */
#include "plan.h"

#include "float_env.h"
#include "settle.h"

/* For the bounds that the elementary functions state; the baseline, since nothing here is a kernel. */
#define EN_NAME(f) f
#define EN_TARGET
#define EN_HAVE_FMA 0
#define EN_VECTOR_BYTES 8
#include "negative_log.h"
#include "sincos.h"

#define EN_ROUNDING 0x1p-53       /* relative error of one rounding to double */
#define EN_SAFETY (1 + 0x1p-40)   /* covers products of errors and the arithmetic in this file */
#define EN_LN2_ABOVE 0x1.62e43p-1 /* more than ln 2 */

enum { EN_REGULAR = 900 }; /* granularities between 2^-900 and 2^900 scale in one step */

static double power_of_two(int exponent) {
    return en_from_bits((uint64_t)(1023 + exponent) << 52);
}

/* 2^exponent, or 0 below and infinity above the range of doubles. */
static double power_of_two_clamped(int exponent) {
    if (exponent > 1023)
        return en_from_bits(0x7ff0000000000000u);
    if (exponent >= -1022)
        return power_of_two(exponent);
    return exponent < -1074 ? 0.0 : en_from_bits(UINT64_C(1) << (exponent + 1074));
}

/* floor(log2 s) of a normal number. */
static int binary_exponent(double s) {
    return (int)(en_bits(s) >> 52 & 0x7ff) - 1023;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Roundings that do not grow with the noise: of the sum, of an inexact rest and of the test itself. */
#define EN_CONSTANT_ERROR (EN_ROUNDING + 0x1p-54 + 0x1.8p-53)

/* laplace.h, "Error". */
static void laplace_window(en_plan *plan) {
    double s = plan->s;
    int bits = 50 - binary_exponent(s); /* an accepted lane has a midpoint above 2^-bits */
    double longest = (bits < 51 ? bits : 51) * EN_LN2_ABOVE;
    plan->window = s * (EN_LOG_ABSOLUTE_A / 2 + longest * (EN_LOG_ABSOLUTE_B + 2 * EN_ROUNDING)) + EN_CONSTANT_ERROR;
    plan->reach = 0x1p13 * EN_POWER_BOUND * larger(s, 1.5);
}

/* Newton's iteration from above: never below the root. */
static double root_above(double a) {
    double root = larger(a, 1);
    for (int i = 0; i < 60; i++)
        root = 0.5 * (root + a / root);
    return root * EN_SAFETY;
}

/* The largest |Z| / scale that is accepted: acceptance needs s 2^-51 / (U1 Q) < 1/2 with Q < 2^4, so U1 > s 2^-54. */
static double largest_radius(double s) {
    int bits = 54 - binary_exponent(s);
    return root_above(2 * EN_LN2_ABOVE * (bits < 52 ? bits : 52));
}

/* gaussian.h, "Error". */
static void gaussian_window(en_plan *plan) {
    double s = plan->s;
    double rho = largest_radius(s);
    double half_cell = 0x1.921fb6p0 * 0x1p-50; /* more than (pi/2) 2^-50 */
    double relative = EN_LOG_ABSOLUTE_B / 2 + 4 * EN_ROUNDING + EN_SINCOS_ABSOLUTE_ERROR + half_cell;
    plan->window = s * (EN_LOG_ROOT_A + rho * relative) + EN_CONSTANT_ERROR;
    plan->reach = 0x1p13 * EN_POWER_BOUND * larger(s, 2.5);
}

/* discrete_gaussian.h, "Error". */
static void discrete_gaussian_window(en_plan *plan) {
    double s = plan->s;
    gaussian_window(plan);
    plan->inverse_square = 1 / (s * s);
    plan->steepness = 2 * (largest_radius(s) * s + 1) * plan->inverse_square * EN_SAFETY;
    plan->acceptance = 0x1p-31;
}

static void grid_init(en_grid *grid, en_form form, int exponent, double nan) {
    int first = exponent > EN_REGULAR ? EN_REGULAR : exponent < -EN_REGULAR ? -EN_REGULAR : exponent;
    int second = exponent - first;
    grid->down[0] = power_of_two(-first);
    grid->down[1] = power_of_two(-second);
    grid->up[0] = power_of_two(first);
    grid->up[1] = power_of_two(second);
    grid->far = power_of_two_clamped(exponent + 52);
    grid->near = power_of_two_clamped(exponent - 200);
    grid->nan = nan;
    grid->shift = form == EN_INT64 ? (unsigned)exponent : 0;

    /* The type's largest number is 2^emax (2 - 2^(1-precision)); without its bits below g it is a multiple of g. */
    int emax = form == EN_FLOAT32 ? 127 : 1023;
    int last_bit = form == EN_FLOAT32 ? 127 - 23 : 1023 - 52;
    double ulp_above = power_of_two(exponent > last_bit ? exponent : last_bit);
    grid->limit = power_of_two(emax) + (power_of_two(emax) - ulp_above);
}

void en_plan_init(en_plan *plan, en_family family, en_form form, double s, int exponent, double nan, double offset,
                  double window_factor) {
    memset(plan, 0, sizeof *plan);
    plan->family = family;
    plan->form = form;
    if (form == EN_FLOAT64 && (exponent > EN_REGULAR || exponent < -EN_REGULAR))
        plan->form = EN_FLOAT64_EXTREME;
    plan->exponent = exponent;
    plan->s = s;
    plan->offset = offset;
    en_float_env found = en_float_env_set();
    if (family == EN_GAUSSIAN)
        gaussian_window(plan);
    else if (family == EN_DISCRETE_GAUSSIAN)
        discrete_gaussian_window(plan);
    else if (family != EN_TABULATED)
        laplace_window(plan);
    plan->window *= EN_SAFETY * window_factor;
    plan->reach *= EN_SAFETY * window_factor;
    plan->acceptance *= window_factor;
    plan->shortfall = offset < 0 ? (uint64_t)(-offset * 0x1p64) : 0;
    plan->doubt = (uint64_t)(EN_SETTLE_DOUBT * (window_factor < 0x1p62 ? window_factor : 0x1p62));
    grid_init(&plan->grid, form, exponent, nan);
    en_float_env_restore(found);
}

void en_plan_set_shortfall(en_plan *plan, uint64_t shortfall) {
    plan->shortfall = shortfall;
}

void en_plan_set_thresholds(en_plan *plan, const double *threshold, size_t count) {
    for (size_t k = 0; k < EN_MOST_THRESHOLDS; k++)
        plan->threshold[k] = k < count ? threshold[k] : -1.0; /* above no J */
    plan->thresholds = (count + EN_THRESHOLD_GROUP - 1) / EN_THRESHOLD_GROUP * EN_THRESHOLD_GROUP;
}
