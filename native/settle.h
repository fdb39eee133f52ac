/* Decides lanes that the kernels declined, in fixed point: nearly all of them. What is left takes arbitrary precision.
 *
 * Contract   The lanes' values are written to out, as en_release would have; those that stay open move to the front of
 *            the list, unchanged, and their number is returned. A lane's words stand for cells of the unit interval. It
 *            is decided only if all of the cells rounds to one integer, so that no later word could change it: the
 *            result is that of refinement at any precision. `extension` has en_extension_count words a lane, which
 *            follow the lane's words and make its cells 2^64 times smaller, or is NULL.
 *            No allocation; scratch is wiped; the floating-point environment is set for the call and restored.
 * Method     Noise is monotone in each uniform variable on a cell, so that its values at a cell's ends, by
 *            fixed_point.h, enclose it. Together with the rest of x / g that gives the ends of y in units of 2^-64,
 *            which are compared after both were moved outwards by `doubt`. The kernel that rounds to the grid then
 *            writes the lane's value: it gets k - r for the noise, k the decided integer and r the rest, so that its
 *            sum is in the middle between two boundaries.
 * Error      In units of 2^-64, EN_SETTLE_DOUBT bounds what y is off:
 *              noise, |Z| / g   s (error of fixed_point.h, and 2^-119 of the radius times the direction) + s 2^-119,
 *                               the roundings of the products, together below 2^-3, s <= 2^36; and 1 of the last shift
 *              r                1 where x has digits below 2^-64 g, or
 *              c - 1/2          1 of the discrete Laplace, whose r is 0
 *            U = 0 and the cells that end above 1 - 2^-16, where the radius is steep, are left open.
 *            Discrete Gaussian: K is the sample if T < 1 for all of V's cell (discrete_gaussian.h). As T <= V exp(p +
 *            |u|), p = 1 / (8 s^2), |u| <= |K| / (2 s^2), and exp(-t) >= 1 - t, it suffices that V < 1 - p - |u|; the
 *            roundings of that comparison are below 2^-40. All others, the rejected ones among them, are left open.
 *            Lanes of EN_TABULATED are left open.
 * Source     As in laplace.h.
 */
#ifndef EN_SETTLE_H
#define EN_SETTLE_H

#include "release.h"

enum { EN_SETTLE_DOUBT = 3 };

/* How many words make a lane's cells smaller: one a cell, in the order of the lane's words. */
size_t en_extension_count(en_family family);

size_t en_settle(const en_plan *plan, const en_kernels *kernels, en_pending *lanes, size_t count,
                 const uint64_t *extension, void *out);

#endif
