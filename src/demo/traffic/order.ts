import { createEvent, type LazaretEvent } from '../../core/event/event.ts'
import { createIdSource } from '../../core/event/uuid.ts'
import type { Random } from '../../core/random.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import type { OrderPlaced } from '../shop/contracts.ts'
import { ARTICLES, CARDS, CITIES, DECLINED_CARD, FIRST_NAMES, LAST_NAMES, WALLETS } from './people.ts'

/** The fault of an order. Only its data has the fault; handlers do not know of flaws. */
export type Flaw =
  | 'impossible-date'
  | 'wrong-shape'
  | 'bad-address'
  | 'unknown-article'
  | 'unroutable'
  | 'declined'
  | 'none'

interface OrderRequest {
  readonly seed: number
  /** The number of this order. With the seed it decides everything except the time. */
  readonly number: number
  readonly at: number
  /** [drawn at random] */
  readonly flaw?: Flaw | undefined
}

const DAY_MS = 86_400_000
const FIRST_ORDER = 20_000
const WALLET_SHARE = 0.45
/** How many of a thousand orders get each flaw. */
const CHANCES: readonly (readonly [Flaw, number])[] = [
  ['bad-address', 25],
  ['declined', 20],
  ['unknown-article', 8],
  ['unroutable', 8],
  ['wrong-shape', 6],
  ['impossible-date', 5],
]

/** Each order has its own random source, so that an extra order does not change the others. */
export function orderEvent(request: OrderRequest): LazaretEvent<OrderPlaced> {
  const { seed, number, at } = request
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b))
  const chance = flawByChance(random)
  const flaw = request.flaw ?? chance
  const payload = payloadOf(random, number, at, flaw)
  return createEvent(
    {
      type: 'order.placed',
      channel: 'orders',
      key: customerNumber(payload.customer),
      payload,
      occurredAt: at,
      source: flaw === 'wrong-shape' ? '/partners/bazaar' : '/shop/web',
      headers: { traceparent: `00-${hex(random, 32)}-${hex(random, 16)}-01` },
    },
    { now: at, newId: createIdSource(random) },
  )
}

/** Every order of a customer gets the same number, which is the key of the events. */
function customerNumber({ name }: OrderPlaced['customer']): string {
  const [first = '', last = ''] = name.split(' ')
  return `C-${1_000 + FIRST_NAMES.indexOf(first) * LAST_NAMES.length + LAST_NAMES.indexOf(last)}`
}

function flawByChance(random: Random): Flaw {
  let left = random() * 1_000
  for (const [flaw, share] of CHANCES) {
    if (left < share) return flaw
    left -= share
  }
  return 'none'
}

function payloadOf(random: Random, number: number, at: number, flaw: Flaw): OrderPlaced {
  const first = pick(random, FIRST_NAMES)
  const last = pick(random, LAST_NAMES)
  const place = pick(random, CITIES)
  const items = itemsOf(random)
  const mailbox = `${plain(first)}.${plain(last)}`
  return {
    order: `SO-${FIRST_ORDER + number}`,
    customer: {
      name: `${first} ${last}`,
      email: `${mailbox}@${flaw === 'bad-address' ? 'mailbox.invalid' : pick(random, ['example.com', 'example.org', 'example.net'])}`,
      phone: `+49 30 ${String(Math.floor(random() * 9_000_000) + 1_000_000)}`,
      country: place.country,
    },
    items: flawed(items, flaw),
    total: Math.round(items.reduce((sum, { price, quantity }) => sum + price * quantity, 0) * 100) / 100,
    currency: 'EUR',
    deliverBy: flaw === 'impossible-date' ? '2026-02-30T25:61:00Z' : new Date(at + 3 * DAY_MS).toISOString(),
    address: {
      street: `${place.street} ${1 + Math.floor(random() * 120)}`,
      city: place.city,
      postcode: flaw === 'unroutable' ? '00000' : place.postcode,
      country: place.country,
    },
    paidWith: paidWith(random, `${first} ${last}`, place.country, flaw),
  }
}

function itemsOf(random: Random): OrderPlaced['items'] {
  const count = 1 + Math.floor(random() * 2)
  return Array.from({ length: count }, () => ({
    ...pick(random, ARTICLES),
    quantity: 1 + Math.floor(random() * 3),
  }))
}

function flawed([first, ...rest]: OrderPlaced['items'], flaw: Flaw): OrderPlaced['items'] {
  if (first === undefined) return rest
  if (flaw === 'unknown-article') return [{ ...first, sku: `OLD-${first.sku}` }, ...rest]
  // The partner sends a text where the type says number: only the schema can find that.
  if (flaw === 'wrong-shape') return [{ ...first, quantity: 'two' as unknown as number }, ...rest]
  return [first, ...rest]
}

function paidWith(random: Random, holder: string, country: string, flaw: Flaw): OrderPlaced['paidWith'] {
  const expires = `0${1 + Math.floor(random() * 9)}/29`
  const cvc = String(100 + Math.floor(random() * 900))
  const isWallet = random() < WALLET_SHARE
  const cardNumber = flaw === 'declined' ? DECLINED_CARD : pick(random, CARDS)
  if (flaw === 'declined' || !isWallet) return { card: { cardNumber, holder, expires, cvc, country } }
  return { wallet: { provider: pick(random, WALLETS), token: `tok_${hex(random, 20)}` } }
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)]!
}

function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('')
}

function plain(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').replace('ł', 'l').toLowerCase()
}
