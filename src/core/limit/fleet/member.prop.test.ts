import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FleetBucket, grantTurns, IDLE_BUCKET, type TurnRequest } from './bucket.ts'
import { FleetMember } from './member.ts'
import { ANSWER_TIMEOUT_MS, type FleetPolicy, PROBE_EVERY_MS, SLICE_MS } from './policy.ts'

const STEP_MS = 5

/** The fault of the connection between a member and the shared limit, while it lasts. */
interface Weather {
  readonly forMs: number
  /** `lost`: nothing arrives. `deaf`: asks arrive and answers do not. */
  readonly link: 'fine' | 'lost' | 'deaf'
  readonly latencyMs: number
  /** Nothing runs in the member for as long as this holds. */
  readonly isPaused: boolean
}

interface Keeper {
  bucket: FleetBucket
  members: number
}

/** One member with more retries than it can ever start, driven through its weather. */
class Simulated {
  readonly starts: number[] = []
  readonly #member: FleetMember
  readonly #weather: readonly Weather[]
  readonly #keeper: Keeper
  readonly #due: { at: number; run: (now: number) => void }[] = []

  constructor(policy: FleetPolicy, weather: readonly Weather[], keeper: Keeper) {
    this.#member = new FleetMember(policy)
    this.#weather = weather
    this.#keeper = keeper
  }

  get isAlone(): boolean {
    return this.#member.isAlone
  }

  step(now: number): void {
    const weather = this.#weatherAt(now)
    if (weather.isPaused) return
    for (const task of this.#due.splice(0))
      if (task.at <= now) task.run(now)
      else this.#due.push(task)
    const waiting = 1_000
    this.#member.advance(now, waiting)
    for (let at = this.#member.take(now); at !== undefined; at = this.#member.take(now))
      this.starts.push(Math.max(at, now))
    const asked = this.#member.toAsk(now, waiting)
    if (asked !== undefined) this.#send(asked, weather, now)
  }

  #send(asked: TurnRequest, { link, latencyMs }: Weather, now: number): void {
    const { latencyMs: half } = { latencyMs: latencyMs / 2 }
    const fail = { at: now + 1_000, run: (now: number) => this.#member.unanswered(asked, now) }
    if (link === 'lost') {
      this.#due.push(fail)
      return
    }
    const { bucket, answer } = grantTurns(this.#keeper.bucket, asked, now + half)
    this.#keeper.bucket = bucket
    if (link === 'deaf') this.#due.push(fail)
    else {
      const { members } = this.#keeper
      this.#due.push({
        at: now + latencyMs,
        run: now => this.#member.answered(asked, { ...answer, members }, now),
      })
    }
  }

  #weatherAt(now: number): Weather {
    let left = now
    for (const one of this.#weather) {
      left -= one.forMs
      if (left < 0) return one
    }
    return { forMs: 0, link: 'fine', latencyMs: 2, isPaused: false }
  }
}

function run(members: readonly Simulated[], forMs: number): void {
  for (let now = 0; now < forMs; now += STEP_MS) for (const member of members) member.step(now)
}

function most(starts: readonly number[], windowMs: number): number {
  const sorted = starts.toSorted((a, b) => a - b)
  let first = 0
  let most = 0
  for (const [index, at] of sorted.entries()) {
    while (sorted[first]! <= at - windowMs) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}

function policyOf(perSecond: number, members: number): FleetPolicy {
  return { perSecond, burst: 1, kind: 'queue', maxWaitMs: undefined, assumedMembers: members }
}

const fine: Weather = { forMs: 3_000, link: 'fine', latencyMs: 2, isPaused: false }
const weather = fc.array(
  fc.record({
    forMs: fc.integer({ min: 50, max: 2_000 }),
    link: fc.constantFrom<Weather['link']>('fine', 'lost', 'deaf'),
    latencyMs: fc.constantFrom(0, 2, 30),
    isPaused: fc.oneof(
      { weight: 4, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  }),
  { maxLength: 6 },
)

describe('the members of a fleet', () => {
  it('E5: in good weather any number of members use the limit wholly, evenly, and never more', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 10, max: 500 }), (count, perSecond) => {
        const keeper = { bucket: IDLE_BUCKET, members: count }
        const members = Array.from(
          { length: count },
          () => new Simulated(policyOf(perSecond, count), [], keeper),
        )
        run(members, 5_000)
        const starts = members.flatMap(member => member.starts)
        const late = starts.filter(at => at >= 1_000 && at < 5_000)
        expect(late.length / 4).toBeGreaterThan(perSecond * 0.95)
        expect(most(starts, 1_000)).toBeLessThanOrEqual(perSecond * 1.02 + 3)
        const shares = members.map(member => member.starts.length)
        expect(Math.max(...shares)).toBeLessThanOrEqual(1.5 * Math.min(...shares) + 10)
      }),
      { numRuns: 25 },
    )
  })

  it('E5: through lost asks, lost answers and pauses a second sees little more than the limit, and it is used again', () => {
    const fleet = fc.array(weather, { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(fleet, fc.constantFrom(20, 100, 400), (weathers, perSecond) => {
        const count = weathers.length
        const keeper = { bucket: IDLE_BUCKET, members: count }
        const members = weathers.map(
          weather => new Simulated(policyOf(perSecond, count), [fine, ...weather], keeper),
        )
        run(members, 20_000)
        const starts = members.flatMap(member => member.starts)
        const end = starts.filter(at => at >= 17_000 && at < 20_000)
        expect(end.length / 3).toBeGreaterThan(perSecond * 0.95)
        // Those who cannot ask use their shares while the others use the limit: with nobody to say so, up to twice.
        const whileChanging = count * (1 + (perSecond / count) * ((SLICE_MS + ANSWER_TIMEOUT_MS) / 1_000))
        expect(most(starts, 1_000)).toBeLessThanOrEqual(2 * perSecond + whileChanging + 3)
        expect(most(end, 1_000)).toBeLessThanOrEqual(perSecond * 1.02 + 3)
      }),
      { numRuns: 60 },
    )
  })

  it('E5: a shared limit that is unreachable for a while, or forgets everything, costs and adds few turns', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.constantFrom(20, 100, 1_000),
        fc.integer({ min: 0, max: 3_000 }),
        fc.boolean(),
        (count, perSecond, awayMs, forgets) => {
          const keeper = { bucket: IDLE_BUCKET, members: count }
          const outage: Weather = { forMs: awayMs, link: 'lost', latencyMs: 2, isPaused: false }
          const members = Array.from(
            { length: count },
            () => new Simulated(policyOf(perSecond, count), [fine, outage], keeper),
          )
          run(members, 3_000)
          for (let now = 3_000; now < 10_000; now += STEP_MS) {
            if (forgets && now === 3_000 + Math.ceil(awayMs / STEP_MS) * STEP_MS) keeper.bucket = IDLE_BUCKET
            for (const member of members) member.step(now)
          }
          const starts = members.flatMap(member => member.starts)
          const across = starts.filter(at => at >= 1_000 && at < 10_000).length / 9
          expect(across).toBeGreaterThan(perSecond * 0.95)
          expect(across).toBeLessThan(perSecond * 1.05)
          // The members notice one after the other: some use their shares while others have the limit to themselves.
          const slack = (perSecond * (PROBE_EVERY_MS + ANSWER_TIMEOUT_MS)) / 1_000 + 2 * count
          expect(most(starts, 1_000)).toBeLessThanOrEqual(perSecond + slack)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('E5: members that reach the shared limit again one after the other do not exceed it meanwhile', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 2, maxLength: 8 }),
        fc.constantFrom(100, 1_000),
        fc.boolean(),
        (delays, perSecond, forgets) => {
          const keeper = { bucket: IDLE_BUCKET, members: delays.length }
          const members = delays.map(delayMs => {
            const outage: Weather = { forMs: 1_500 + delayMs, link: 'lost', latencyMs: 2, isPaused: false }
            return new Simulated(policyOf(perSecond, delays.length), [fine, outage], keeper)
          })
          run(members, 3_000)
          if (forgets) keeper.bucket = IDLE_BUCKET
          for (let now = 3_000; now < 8_000; now += STEP_MS) for (const member of members) member.step(now)
          const starts = members.flatMap(member => member.starts)
          const back = starts.filter(at => at >= 4_500 && at < 6_500).length / 2
          expect(back).toBeLessThan(perSecond * 1.05)
          expect(back).toBeGreaterThan(perSecond * 0.9)
        },
      ),
      { numRuns: 40 },
    )
  })
})
