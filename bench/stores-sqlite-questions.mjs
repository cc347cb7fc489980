// Asks a database of a million letters all that people ask, and prints what that costs, as JSON.
// Plain JavaScript on the built package, as it is installed: what strips types takes memory of its own, in every thread.
import { openSqlite } from '../dist/adapters/sqlite/index.js'

const [count, rare, path] = process.argv.slice(2)
const COUNT = Number(count)
const REPEATS = 5
const PAGE = 500

async function measure() {
  const store = openSqlite({ path })
  const openMs = await milliseconds(() => store.ready())
  const { deadLetters, groups } = store
  const { letters } = await deadLetters.list({ limit: 1 })
  const { channel, handler, event, cycle, state } = letters[0]
  const group = cycle.failure.fingerprint.id
  const middle = cycle.lastFailedAt - COUNT / 2
  const list = query => () => deadLetters.list(query)
  let cursor
  for (let page = 0; page < PAGE; page++) ({ cursor } = await deadLetters.list({ cursor }))
  const questions = {
    'first page': list({}),
    [`page ${PAGE}`]: list({ cursor }),
    'a channel': list({ channel }),
    'a handler': list({ handler }),
    'a type': list({ type: event.type }),
    'a reason': list({ reason: cycle.reason }),
    'a category': list({ category: cycle.category }),
    'a state': list({ state }),
    'a group': list({ group }),
    'a time': list({ after: middle, before: middle + 1_000 }),
    'all filters at once': list({ channel, handler, type: event.type, state, group, before: middle }),
    'a text that many have': list({ search: 'not to be reached' }),
    'a text that few have': list({ search: 'customer-4711' }),
    'a text that one has, in the midst': list({ search: rare }),
    'a text that none has': list({ search: 'nowhere to be found' }),
    'an event id': list({ search: event.id }),
    'a text in a channel': list({ search: 'host-7', channel }),
    figures: () => deadLetters.stats(),
    'figures of a channel': () => deadLetters.stats({ channel }),
    groups: () => groups.list(),
    'a group with its counts': () => groups.get(group),
  }
  const queries = []
  for (const [name, ask] of Object.entries(questions)) {
    const ms = []
    for (let repeat = 0; repeat < REPEATS; repeat++) ms.push(await milliseconds(ask))
    queries.push({ name, ms })
  }
  const { count } = await deadLetters.stats()
  if (count !== COUNT) throw new Error(`${count} letters are there, not ${COUNT}`)
  await store.close()
  // The most it ever took, in kilobytes.
  const memoryMb = process.resourceUsage().maxRSS / 1_000
  process.stdout.write(JSON.stringify({ openMs, memoryMb, queries }))
}

async function milliseconds(work) {
  const startedAt = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - startedAt) / 1e6
}

await measure()
