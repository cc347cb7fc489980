import { z } from 'zod'

const Card = z.object({
  cardNumber: z.string(),
  holder: z.string(),
  expires: z.string(),
  cvc: z.string(),
  country: z.string().length(2),
})

const Wallet = z.object({ provider: z.string(), token: z.string() })

const Customer = z.object({ name: z.string(), email: z.string(), phone: z.string(), country: z.string() })

const Item = z.object({
  sku: z.string(),
  title: z.string(),
  quantity: z.number().int().positive(),
  price: z.number(),
})

const Address = z.object({
  street: z.string(),
  city: z.string(),
  postcode: z.string(),
  country: z.string().length(2),
})

/** Either a card or a wallet, never both. Release 2.4.0 of the payments expects a card. */
const PaidWith = z.object({ card: Card.optional(), wallet: Wallet.optional() })

export const OrderPlaced = z.object({
  order: z.string(),
  customer: Customer,
  items: z.array(Item).min(1),
  total: z.number(),
  currency: z.string().length(3),
  deliverBy: z.string(),
  address: Address,
  paidWith: PaidWith,
})

export const PaymentRequested = z.object({
  order: z.string(),
  amount: z.number(),
  currency: z.string().length(3),
  customer: Customer,
  paidWith: PaidWith,
})

export const EmailRequested = z.object({
  order: z.string(),
  template: z.string(),
  to: z.string(),
  name: z.string(),
  subject: z.string(),
})

export const ShipmentRequested = z.object({
  order: z.string(),
  items: z.array(Item).min(1),
  address: Address,
  deliverBy: z.string(),
})

export type OrderPlaced = z.infer<typeof OrderPlaced>
export type PaymentRequested = z.infer<typeof PaymentRequested>
export type EmailRequested = z.infer<typeof EmailRequested>
export type ShipmentRequested = z.infer<typeof ShipmentRequested>

export const SCHEMAS = {
  orders: OrderPlaced,
  payments: PaymentRequested,
  emails: EmailRequested,
  warehouse: ShipmentRequested,
} as const

export type Channel = keyof typeof SCHEMAS
