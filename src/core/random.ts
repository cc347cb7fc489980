/** Where chance comes from: a number in [0, 1). Core never draws one by itself, so every decision can be repeated. */
export type Random = () => number
