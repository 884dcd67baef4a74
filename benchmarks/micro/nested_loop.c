/* The baseline: counts the matches of the papers' predicate, four probes a block, and does nothing else. */
#include <stdint.h>

int64_t count(const int32_t *x, const float *y, const int32_t *a, const float *b, int64_t n, int64_t m) {
    int64_t total = 0;
    for (int64_t i = 0; i + 4 <= n; i += 4) {
        int32_t x0[4], x1[4];
        float y0[4], y1[4];
        for (int k = 0; k < 4; k++) {
            x0[k] = x[i + k] - 10, x1[k] = x[i + k] + 10;
            y0[k] = y[i + k] - 10, y1[k] = y[i + k] + 10;
        }
        int32_t found = 0;
        for (int64_t j = 0; j < m; j++)
            for (int k = 0; k < 4; k++)
                found += (a[j] >= x0[k]) & (a[j] <= x1[k]) & (b[j] >= y0[k]) & (b[j] <= y1[k]);
        total += found;
    }
    return total;
}
