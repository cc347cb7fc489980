// Orders to play with: `npx node examples/order-service/shop.ts 500 5` places 500 orders within five seconds.
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const [count = '10', seconds = '1'] = process.argv.slice(2)
const url = new URL('/orders', process.env['SERVICE_URL'] ?? 'http://localhost:4700')
const agent = new Agent({ keepAlive: true, maxSockets: 50 })
const EVERY_MS = 20
const DECLINED_EVERY = 20

function order(number: number): Promise<number> {
  const card = number % DECLINED_EVERY === 0 ? '4240' : '4242'
  const body = JSON.stringify({ customer: `customer-${number % 100}`, total: 10 + (number % 90), card })
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } })
    sent.on('response', response => response.resume().on('end', () => resolve(response.statusCode ?? 0)))
    sent.on('error', reject)
    sent.end(body)
  })
}

const answers: Promise<number>[] = []
const startedAt = process.uptime()
while (answers.length < Number(count)) {
  const share = Math.min(1, (process.uptime() - startedAt) / Number(seconds))
  while (answers.length < Math.ceil(share * Number(count))) answers.push(order(answers.length + 1))
  await pause(EVERY_MS)
}
const taken = (await Promise.all(answers)).filter(status => status === 201).length
process.stdout.write(`${taken} of ${count} orders were taken\n`)
agent.destroy()
