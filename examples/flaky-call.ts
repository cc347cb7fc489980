// A flaky call healing under resilient(): a tax service drops a connection, later goes down for three seconds and comes
// back, while a shop keeps asking it for a rate. `npm run demo` runs this.
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { type Observer, resilient } from '../src/index.ts'

const startedAt = process.hrtime.bigint()
const seconds = () => Number(process.hrtime.bigint() - startedAt) / 1e9

const colours = process.stdout.isTTY || process.env['FORCE_COLOR'] !== undefined
const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)
const dim = (text: string) => paint(2, text)
const red = (text: string) => paint(31, text)
const green = (text: string) => paint(32, text)
const yellow = (text: string) => paint(33, text)

function say(line: string): void {
  process.stdout.write(`${dim(`${seconds().toFixed(2).padStart(6)} s`)}  ${line}\n`)
}

/** The dependency: loses its third call, and refuses connections between second 2 and second 5. */
let calls = 0
async function fetchTaxRate(country: string): Promise<number> {
  await wait(20)
  if (++calls === 3) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  if (seconds() > 2 && seconds() < 5) {
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), { code: 'ECONNREFUSED' })
  }
  return country === 'DE' ? 0.19 : 0.2
}

const observer: Observer = {
  attemptFailed: ({ attempt, failure }) =>
    say(`   ${red('failed')}   attempt ${attempt}: ${failure.message} ${dim(`(${failure.category})`)}`),
  retryScheduled: ({ attempt, delayMs }) =>
    say(`   ${yellow('waits')}    ${Math.round(delayMs)} ms before attempt ${attempt}`),
  gaveUp: ({ attempts, reason }) => say(`   ${red('gave up')}  after attempt ${attempts}: ${reason}`),
  breakerChanged: ({ from, to }) => say(`   ${yellow('breaker')}  ${from} → ${paint(1, to)}`),
  callSucceeded: ({ attempts }) => {
    if (attempts > 1) say(`   ${green('healed')}   by attempt ${attempts}`)
  },
}

const taxRate = resilient(fetchTaxRate, {
  name: 'tax service',
  retry: { attempts: 3 },
  breaker: { failures: 4, openMs: 1_000, successes: 2 },
  timeoutMs: 500,
  observer,
})

say('A shop asks a tax service for a rate, again and again.')
say('It will drop one connection, then be down from second 2 to second 5.')
let answered = 0
let unanswered = 0
while (seconds() < 7.5) {
  try {
    const rate = await taxRate('DE')
    answered++
    say(`${green('answered')}  ${rate}`)
  } catch (error) {
    unanswered++
    say(`${red('no answer')} ${(error as Error).message.split(/ since |;/)[0]}`)
  }
  await wait(300)
}
say(
  `${answered} answered, ${unanswered} not. One lost connection was healed by a retry without anyone noticing.`,
)
say(
  'While the breaker was open the sick service was left alone; its probes found it well and closed it again.',
)
