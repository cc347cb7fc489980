import type { Faults } from '../options/faults.ts'
import { show } from '../options/show.ts'
import type { EventLimits } from './limits.ts'
import { isCertainlyValid } from './payload-size.ts'
import { isBytes, isPlainObject } from './plain.ts'
import { jsonTextBytes } from './text.ts'

type PayloadLimits = Pick<EventLimits, 'maxPayloadBytes' | 'maxDepth'>

/** The limit on reported faults. More lines with the same fault do not help. */
const PAYLOAD_FAULTS_MAX = 20
const SEGMENT_SHOWN_MAX = 40

/**
 * Reports every part of a payload that JSON would change, because a replay must send the original. It reads every value
 * once, stops at the limits of depth and size, and survives getters and proxies that throw.
 */
export function checkPayload(payload: unknown, limits: PayloadLimits, faults: Faults): void {
  if (isBytes(payload)) {
    if (payload.byteLength > limits.maxPayloadBytes) addTooLarge(payload.byteLength, limits, faults)
    return
  }
  if (isCertainlyValid(payload, limits.maxDepth, limits.maxPayloadBytes)) return
  const walk = new PayloadWalk(limits, faults)
  try {
    walk.visit(payload)
  } catch {
    walk.fault('a getter or proxy that throws', 'give plain data')
  }
  if (walk.bytes > limits.maxPayloadBytes) addTooLarge(walk.bytes, limits, faults)
}

function addTooLarge(bytes: number, { maxPayloadBytes }: PayloadLimits, faults: Faults): void {
  const remedy = `keep it within ${maxPayloadBytes} bytes, for example by sending a reference to the data`
  faults.list.push({ path: 'payload', received: `at least ${bytes} bytes`, remedy })
}

class PayloadWalk {
  bytes = 0
  readonly #limits: PayloadLimits
  readonly #faults: Faults
  readonly #faultsAtMost: number
  readonly #path: (string | number)[] = []
  readonly #ancestors: object[] = []

  constructor(limits: PayloadLimits, faults: Faults) {
    this.#limits = limits
    this.#faults = faults
    this.#faultsAtMost = faults.list.length + PAYLOAD_FAULTS_MAX
  }

  visit(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.#countText(value)
        return
      case 'boolean':
        this.bytes += value ? 4 : 5
        return
      case 'number':
        if (Number.isFinite(value)) this.bytes += String(value).length
        else this.fault(show(value), 'give a finite number, or null; JSON would write null')
        return
      case 'object':
        if (value === null) this.bytes += 4
        else this.#enter(value)
        return
      default:
        this.fault(show(value), remedyFor(typeof value))
    }
  }

  fault(received: string, remedy: string): void {
    this.#faults.list.push({ path: pathText(this.#path), received, remedy })
  }

  #done(): boolean {
    return this.bytes > this.#limits.maxPayloadBytes || this.#faults.list.length >= this.#faultsAtMost
  }

  #countText(text: string): void {
    // A text that is longer than the limit is too large in any encoding, so it is not measured.
    this.bytes += text.length > this.#limits.maxPayloadBytes ? text.length : jsonTextBytes(text)
  }

  #enter(value: object): void {
    if (this.#ancestors.includes(value)) {
      this.fault('an object that contains itself', 'break the cycle')
    } else if (this.#ancestors.length >= this.#limits.maxDepth) {
      this.fault('another level', `nest at most ${this.#limits.maxDepth} deep`)
    } else {
      this.#ancestors.push(value)
      if (Array.isArray(value)) this.#visitArray(value)
      else this.#visitObject(value)
      this.#ancestors.pop()
    }
  }

  #visitArray(array: readonly unknown[]): void {
    if (Object.keys(array).length !== array.length) {
      this.fault('an array with holes or named properties', 'fill holes with null; use an object for names')
      return
    }
    if (this.#hasToJson(array)) return
    this.bytes += 2 + Math.max(0, array.length - 1)
    for (let index = 0; index < array.length && !this.#done(); index++) {
      this.#path.push(index)
      this.visit(array[index])
      this.#path.pop()
    }
  }

  #visitObject(object: object): void {
    if (!isPlainObject(object)) {
      this.fault(
        isBytes(object) ? 'bytes inside a payload' : 'an instance of a class',
        remedyForInstance(object),
      )
      return
    }
    if (Object.getOwnPropertySymbols(object).length > 0) {
      this.fault('a property named by a symbol', 'name it by a string; JSON would drop it')
    }
    if (this.#hasToJson(object)) return
    this.bytes += 2
    let members = 0
    for (const name of Object.keys(object)) {
      if (this.#done()) return
      this.#path.push(name)
      const value = object[name]
      if (value !== undefined) {
        this.bytes += members++ > 0 ? 2 : 1
        this.#countText(name)
        this.visit(value)
      }
      this.#path.pop()
    }
  }

  #hasToJson(value: object): boolean {
    if (!('toJSON' in value) || typeof value.toJSON !== 'function') return false
    this.fault('an object with toJSON', 'give what toJSON returns')
    return true
  }
}

function remedyFor(type: string): string {
  switch (type) {
    case 'bigint':
      return 'give a string; JSON has no BigInt'
    case 'undefined':
      return 'give null; JSON has no undefined'
    default:
      return 'remove it; JSON cannot carry it'
  }
}

function remedyForInstance(object: object): string {
  if (isBytes(object)) return 'give a base64 string, or bytes as the whole payload'
  if (object instanceof Date) return 'give its toISOString() or its epoch milliseconds'
  return 'give a plain object; JSON would bring back another'
}

function pathText(path: readonly (string | number)[]): string {
  let text = 'payload'
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`
    else if (/^[A-Za-z_$][\w$]{0,39}$/.test(segment)) text += `.${segment}`
    else text += `[${JSON.stringify(segment.slice(0, SEGMENT_SHOWN_MAX))}]`
  }
  return text
}
