# The C core's headers, line by line.

from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "status.h" nogil:
    ctypedef enum en_status:
        EN_OK
        EN_ENTROPY_FAILED
        EN_SIMD_UNAVAILABLE
        EN_STATUS_END


cdef extern from "entropy.h" nogil:
    en_status en_entropy(void *bytes, size_t size)
    const char *en_entropy_source()


cdef extern from "plan.h" nogil:
    ctypedef enum en_family:
        EN_LAPLACE
        EN_GAUSSIAN
        EN_DISCRETE_LAPLACE
        EN_DISCRETE_GAUSSIAN
        EN_TABULATED

    enum:
        EN_MOST_THRESHOLDS

    ctypedef enum en_form:
        EN_FLOAT64
        EN_FLOAT64_EXTREME
        EN_FLOAT32
        EN_INT64_FLOAT64
        EN_INT64
        EN_FORM_COUNT

    ctypedef struct en_plan:
        en_family family
        en_form form
        int exponent
        double s
        double offset
        double window
        double reach

    void en_plan_init(en_plan *plan, en_family family, en_form form, double s, int exponent,
                      double nan, double offset, double window_factor)
    void en_plan_set_shortfall(en_plan *plan, uint64_t shortfall)
    void en_plan_set_thresholds(en_plan *plan, const double *threshold, size_t count)


cdef extern from "kernels.h" nogil:
    enum:
        EN_BLOCK
        EN_KEY_BYTES
        EN_GROUP_BLOCKS
        EN_GROUP_WORDS

    ctypedef enum en_norm:
        EN_L1
        EN_L2
        EN_NORM_COUNT

    ctypedef enum en_rows:
        EN_ROWS_FLOAT64
        EN_ROWS_FLOAT32
        EN_ROWS_COUNT

    ctypedef struct en_kernels:
        void (*chacha20)(const uint8_t *key, uint32_t counter, uint64_t *words, size_t groups) noexcept nogil
        void (*negative_log)(const uint64_t *words, double *out, size_t n) noexcept nogil
        void (*sincos)(const uint64_t *words, double *sine, double *cosine, size_t n) noexcept nogil
        void (*sqrt)(const double *x, double *out, size_t n) noexcept nogil


cdef extern from "cpu.h" nogil:
    size_t en_variant_count()
    const char *en_variant_name(size_t index)
    int en_variant_available(size_t index)
    en_status en_variant_kernels(size_t index, const en_kernels **kernels)


cdef extern from "release.h" nogil:
    ctypedef enum en_origin:
        EN_FROM_KEY
        EN_FROM_SYSTEM
        EN_FROM_WORDS

    ctypedef struct en_randomness:
        en_origin origin
        const uint8_t *key
        const uint64_t *words
        size_t word_count

    size_t en_word_count(en_family family, size_t n)
    const int64_t EN_SAMPLES_PER_KEY

    ctypedef struct en_pending:
        int64_t index
        int64_t lane
        uint64_t word[3]
        uint64_t x

    ctypedef struct en_pending_list:
        en_pending *lanes
        size_t capacity
        size_t count

    en_status en_release(const en_plan *plan, const en_kernels *kernels, en_randomness randomness,
                         const void *x, void *out, size_t start, size_t n,
                         en_pending_list *pending, size_t *done)


cdef extern from "settle.h" nogil:
    size_t en_extension_count(en_family family)
    size_t en_settle(const en_plan *plan, const en_kernels *kernels, en_pending *lanes, size_t count,
                     const uint64_t *extension, void *out)


cdef extern from "clip.h" nogil:
    void en_clip(const en_kernels *kernels, en_norm norm, en_rows type, const void *x, void *out, size_t rows,
                 size_t columns, double bound)
    void en_clamp_float64(const double *x, double *out, size_t n, double low, double high)
    void en_clamp_float32(const float *x, float *out, size_t n, float low, float high)
    void en_widen(const en_kernels *kernels, const float *x, double *out, size_t n)


cdef extern from "selection_plan.h" nogil:
    ctypedef enum en_selection_family:
        EN_EXPONENTIAL_MECHANISM
        EN_PERMUTE_AND_FLIP
        EN_SELECTION_COUNT

    ctypedef enum en_score_form:
        EN_SCORES_FLOAT64
        EN_SCORES_INT64
        EN_SCORES_COUNT

    enum:
        EN_EXCLUDED
        EN_MISSING

    ctypedef struct en_selection_plan:
        en_selection_family family
        en_score_form form

    void en_selection_plan_init(en_selection_plan *plan, en_selection_family family, en_score_form form, double scale,
                                double window_factor)


cdef extern from "select.h" nogil:
    ctypedef struct en_scores:
        const void *values
        const uint8_t *flags
        size_t rows
        size_t candidates

    ctypedef struct en_contender:
        int64_t row
        int64_t candidate
        uint64_t word
        uint64_t score
        double upper

    ctypedef struct en_contender_list:
        en_contender *contenders
        size_t capacity
        size_t count

    const int64_t EN_TILES_PER_KEY

    void en_select(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
                   const en_scores *scores, int64_t *out, en_contender_list *list)
    void en_widen_range(const en_selection_plan *plan, const en_kernels *kernels, const en_scores *part,
                        int64_t maxima[2])
    double en_select_part(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
                          const en_scores *part, const int64_t maxima[2], en_contender_list *list)


cdef extern from "response_plan.h" nogil:
    enum:
        EN_COIN_LEVELS

    ctypedef enum en_coin_end:
        EN_ENDS_IN_LEVELS
        EN_ENDS_IN_TAIL
        EN_GOES_ON

    ctypedef struct en_domain:
        uint64_t categories
        uint64_t missing

    ctypedef struct en_response:
        uint64_t choices

    ctypedef struct en_coin:
        unsigned levels
        uint64_t bits[EN_COIN_LEVELS]
        uint64_t tail
        en_coin_end end

    ctypedef struct en_unary:
        en_domain domain
        uint64_t keep
        size_t bytes
        en_coin coin


cdef extern from "response.h" nogil:
    enum:
        EN_REPORT_BLOCK
        EN_COIN_GROUPS
        EN_HASH_BYTES

    void en_response_init(en_response *plan, uint64_t choices, uint64_t other)
    en_status en_respond(const en_domain *domain, const en_response *plan, const en_kernels *kernels,
                         en_randomness randomness, const int64_t *codes, void *reports, size_t n)
    en_status en_respond_hashed(const en_domain *domain, const en_response *plan, const en_kernels *kernels,
                                en_randomness randomness, const int64_t *codes, uint8_t *reports, size_t n)
    en_status en_respond_unary(const en_unary *plan, const en_kernels *kernels, en_randomness randomness,
                               size_t *spare, const int64_t *codes, uint8_t *reports, size_t n)
    en_status en_coins(const en_coin *coin, const en_kernels *kernels, en_randomness randomness, size_t *spare,
                       uint8_t *ones, uint8_t *undecided, size_t bytes)
    void en_count_columns(const en_kernels *kernels, const uint8_t *rows, size_t bytes, size_t n, int64_t *counts)
    void en_count_supports(const en_kernels *kernels, const uint8_t *reports, size_t n, uint32_t buckets,
                           int64_t *supports, size_t categories)


cdef extern from "quantize.h" nogil:
    ctypedef enum en_values:
        EN_VALUES_FLOAT64
        EN_VALUES_FLOAT32
        EN_VALUES_INT64
        EN_VALUES_COUNT

    const int64_t EN_MOST_QUANTIZED

    ctypedef struct en_quantizer:
        int64_t low
        int64_t high

    void en_quantizer_init(en_quantizer *quantizer, int exponent, int64_t low, int64_t high, const int64_t *nan)


cdef extern from "strided.h" nogil:
    ctypedef struct en_strided:
        const char *start
        ptrdiff_t stride
        size_t n


cdef extern from "sums.h" nogil:
    void en_add_sums(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                     const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums)
    void en_add_moments(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                        const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums, uint64_t *squares)
    void en_cells(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                  int64_t *out)
    void en_add_rows(const en_kernels *kernels, en_values type, const void *rows, size_t n, size_t columns,
                     int exponent, const int64_t *codes, size_t groups, uint64_t *sums)


cdef extern from "counts.h" nogil:
    ctypedef enum en_codes:
        EN_CODES_INT8
        EN_CODES_INT16
        EN_CODES_INT32
        EN_CODES_INT64
        EN_CODES_UINT8
        EN_CODES_UINT16
        EN_CODES_UINT32

    void en_count_codes(en_codes type, const en_strided *codes, size_t groups, int64_t *counts)
    void en_bin_values(const en_kernels *kernels, en_values type, const en_strided *x, const void *edges, size_t count,
                       int64_t *out)
