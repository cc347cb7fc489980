import type { Random } from '../src/core/random.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'

/** Dice of one world. Each purpose has its own, so that a change in one room does not reshuffle all the others. */
export class Chance {
  readonly random: Random

  constructor(seed: number, purpose: number) {
    this.random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca6b))
  }

  maybe(probability: number): boolean {
    return this.random() < probability
  }

  /** A whole number, both ends included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1))
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)]!
  }
}
