/* Lanes of any words, x and places in fixed point: every instruction set settles the same ones with the same values, and a
 * word that follows changes no value. Includes additive's plans and checks, so that there is one of each. */
#define LLVMFuzzerTestOneInput additive
#include "additive.c"
#undef LLVMFuzzerTestOneInput

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = input_of(bytes, size);
    const en_kernels *kernels[MAX_VARIANTS];
    const size_t available = read_kernels(kernels);
    const en_plan plan = read_plan(&in, 1);
    task t = {.n = (size_t)between(&in, 0, 60), .width = plan.form == EN_FLOAT32 ? 4 : 8};
    void *x = read_data(&in, &plan, t.n);
    uint64_t *extension = read_words(&in, en_extension_count(plan.family) * t.n), *words = read_words(&in, 3 * t.n);
    en_pending *lanes = zeros(sizeof *lanes * t.n);
    for (size_t i = 0; i < t.n; i++) {
        lanes[i].index = (int64_t)i;
        lanes[i].lane = between(&in, 0, INT64_MAX);
        if (between(&in, 0, 1)) /* as the index says, or its pair's */
            lanes[i].lane = lanes[i].index - (i > 0 && between(&in, 0, 1));
        memcpy(lanes[i].word, words + 3 * i, sizeof lanes[i].word);
        lanes[i].x = exact_bits(&plan, x, i);
    }
    released first[2];
    for (size_t v = 0; v < available; v++) {
        released alone = {zeros(t.width * t.n), zeros(t.n), copy_of(lanes, sizeof *lanes * t.n), t.n};
        released extended = {zeros(t.width * t.n), zeros(t.n), copy_of(lanes, sizeof *lanes * t.n), t.n};
        settle(&plan, kernels[v], &t, NULL, &alone);
        settle(&plan, kernels[v], &t, extension, &extended);
        check_on_grid(&plan, &t, alone);
        check_on_grid(&plan, &t, extended);
        check_same(&t, alone, extended, "a word that follows changed a settled lane");
        if (PLANTED && t.n > 0)
            extended.is_open[t.n - 1] = 1;
        for (size_t i = 0; i < t.n; i++)
            require(alone.is_open[i] || !extended.is_open[i], "a word that follows opened a lane");
        if (v == 0) {
            first[0] = alone;
            first[1] = extended;
            continue;
        }
        check_same(&t, first[0], alone, "instruction sets settle differently");
        check_same(&t, first[1], extended, "instruction sets settle differently");
        require(t.n == 0 || memcmp(first[0].is_open, alone.is_open, t.n) == 0, "instruction sets settle other lanes");
        discard(alone);
        discard(extended);
    }
    discard(first[0]);
    discard(first[1]);
    free(lanes);
    free(words);
    free(extension);
    free(x);
    return 0;
}
