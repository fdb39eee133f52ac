/* The functions of fixed_point.h for ctypes: of `count` fractions, each a high and a low word, in place. */
#include "fixed_point.h"

typedef en_wide function(en_wide);

static en_wide sine(en_wide f) {
    return en_fixed_direction(f, 1);
}

static en_wide cosine(en_wide f) {
    return en_fixed_direction(f, 0);
}

static en_wide negative_log(en_wide u) {
    return en_fixed_negative_log(u);
}

static en_wide radius(en_wide u) {
    return en_fixed_radius(u);
}

__attribute__((visibility("default"))) void en_apply(int which, en_wide *values, size_t count) {
    static function *const functions[] = {negative_log, radius, sine, cosine};
    for (size_t i = 0; i < count; i++)
        values[i] = functions[which](values[i]);
}
