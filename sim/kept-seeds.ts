/**
 * The seeds that the tables of docs/testing.md name, from the time before worlds had fleets. They keep the worlds that they
 * had, so that each row of the tables can be repeated.
 */
export const KEPT_SEEDS: ReadonlySet<number> = new Set([
  1, 3, 4, 5, 9, 11, 13, 14, 15, 17, 18, 24, 26, 28, 29, 32, 35, 45, 62, 68, 71, 99, 104, 137, 164, 204, 261,
  294, 319, 387, 419, 451, 592, 618, 690, 804, 1282, 1290, 1673, 2426, 5504, 6889, 7009, 14_044, 27_940,
  616_015, 2_002_050, 2_098_962, 2_116_000, 2_128_557, 3_001_709, 9_113_421,
])
