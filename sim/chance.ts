import type { Random } from '../src/core/random.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'

/**
 * The random source of one world and one purpose. Each purpose has its own source, so that a new draw for one purpose
 * does not change the others, and old seeds keep their worlds.
 */
export class Chance {
  readonly random: Random

  constructor(seed: number, purpose: number) {
    this.random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca6b))
  }

  maybe(probability: number): boolean {
    return this.random() < probability
  }

  /** An integer from min to max, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1))
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)]!
  }
}
