import { CARD_WITHOUT_FUNDS } from '../shop/services/card-processor.ts'

export const FIRST_NAMES = [
  'Ada',
  'Amir',
  'Anna',
  'Bilal',
  'Chiara',
  'Elif',
  'Emeka',
  'Frida',
  'Hugo',
  'Ines',
  'Jonas',
  'Kaito',
  'Lena',
  'Mateo',
  'Mira',
  'Nadia',
  'Noor',
  'Oskar',
  'Priya',
  'Rosa',
  'Sami',
  'Tove',
  'Yusuf',
  'Zofia',
]

export const LAST_NAMES = [
  'Almeida',
  'Bergström',
  'Costa',
  'Demir',
  'Eriksen',
  'Fischer',
  'García',
  'Haddad',
  'Ivanova',
  'Jansen',
  'Kowalski',
  'Lindqvist',
  'Moreau',
  'Novak',
  'Okafor',
  'Petrov',
  'Rossi',
  'Sharma',
  'Tanaka',
  'Weber',
]

export const CITIES = [
  { city: 'Berlin', postcode: '10115', country: 'DE', street: 'Ackerstraße' },
  { city: 'Lyon', postcode: '69002', country: 'FR', street: 'Rue Mercière' },
  { city: 'Leeds', postcode: 'LS1 4DY', country: 'GB', street: 'Park Row' },
  { city: 'Porto', postcode: '4050-253', country: 'PT', street: 'Rua das Flores' },
  { city: 'Gdańsk', postcode: '80-831', country: 'PL', street: 'ulica Długa' },
  { city: 'Malmö', postcode: '211 22', country: 'SE', street: 'Storgatan' },
] as const

export const ARTICLES = [
  { sku: 'KTL-0412', title: 'Enamel kettle, blue', price: 48.5 },
  { sku: 'LMP-1180', title: 'Reading lamp, brass', price: 129 },
  { sku: 'BLK-0077', title: 'Wool blanket', price: 89.9 },
  { sku: 'CUP-2301', title: 'Stoneware cups, set of 4', price: 36 },
  { sku: 'CHR-0915', title: 'Folding chair, oak', price: 154 },
  { sku: 'KNF-0550', title: 'Bread knife', price: 27.4 },
] as const

/** Test numbers of card processors: their check digit is valid, and no real card has them. */
export const CARDS = ['4242424242424242', '5555555555554444', '4000056655665556', '2223003122003222'] as const
export const DECLINED_CARD = CARD_WITHOUT_FUNDS
export const WALLETS = ['Apple Pay', 'PayPal', 'Klarna'] as const
