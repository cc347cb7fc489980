import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { describeFact, describePlan } from './describe.ts'
import { drawPlan } from './draw-plan.ts'
import { simulate } from './simulate.ts'
import { runWorlds } from './worker-pool.ts'

const USAGE =
  'usage: npm run sim -- --seeds N [--start S], or npm run sim -- --seed X to repeat one world and print its history'
/** The number of failed worlds that are printed. A broken rule fails hundreds of worlds in the same way. */
const PRINTED = 20

const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  const { values } = parseArgs({
    options: { seeds: { type: 'string' }, start: { type: 'string' }, seed: { type: 'string' } },
  })
  if (values.seed !== undefined) await tell(whole(values.seed))
  else await runMany(whole(values.seeds ?? '2000'), whole(values.start ?? '1'))
} catch (error) {
  process.stderr.write(`sim: ${error instanceof Error ? error.message : error}; ${USAGE}\n`)
  process.exitCode = 2
}

function whole(text: string): number {
  const number = Number(text)
  if (text === '' || !Number.isSafeInteger(number) || number < 0)
    throw new Error(`'${text}' is not a whole number`)
  return number
}

/** Runs one world and prints its whole history. */
async function tell(seed: number): Promise<void> {
  const { violations, history, events, faults } = await simulate(seed)
  for (const line of describePlan(drawPlan(seed))) print(line)
  for (const fact of history.facts) print(describeFact(fact))
  for (const { checker, message } of violations) print(`VIOLATION of ${checker}: ${message}`)
  print(`1 worlds, ${violations.length} violations, ${events} events, ${faults} faults`)
  if (violations.length > 0) process.exitCode = 1
}

async function runMany(count: number, start: number): Promise<void> {
  let printed = 0
  const total = await runWorlds({ count, start, workers: availableParallelism() }, ({ seed, violations }) => {
    if (printed++ >= PRINTED) return
    for (const { checker, message } of violations) print(`seed ${seed} violates ${checker}: ${message}`)
    print(`  npm run sim -- --seed ${seed}`)
  })
  if (printed > PRINTED) print(`and ${printed - PRINTED} more worlds`)
  print(`${count} worlds, ${total.violations} violations, ${total.events} events, ${total.faults} faults`)
  if (total.violations > 0) process.exitCode = 1
}
