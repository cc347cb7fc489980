import type { PaymentRequested } from './contracts.ts'

const RELEASES = ['2.3.9', '2.4.0', '2.4.1'] as const
export type Release = (typeof RELEASES)[number]

const RATES: Readonly<Record<string, number>> = { DE: 0.009, FR: 0.011, GB: 0.014 }
const USUAL_RATE = 0.012

/** The fee of a payment, as each release of the payments computes it. */
export const FEES: { readonly [R in Release]: (payment: PaymentRequested) => number } = {
  '2.3.9': flatFee,
  '2.4.0': feeByCardCountry,
  '2.4.1': feeByCountry,
}

function flatFee({ amount }: PaymentRequested): number {
  return amount * USUAL_RATE
}

/** The bug of 2.4.0 is one exclamation mark: a customer who pays with a wallet has no card. */
function feeByCardCountry({ amount, paidWith }: PaymentRequested): number {
  return amount * (RATES[paidWith.card!.country] ?? USUAL_RATE)
}

function feeByCountry({ amount, paidWith, customer }: PaymentRequested): number {
  return amount * (RATES[paidWith.card?.country ?? customer.country] ?? USUAL_RATE)
}
