import type { LazaretEvent } from '../src/core/event/event.ts'
import { PermanentError, RetryAfterError, TransientError } from '../src/core/failure/signals.ts'
import type { HandlerContext } from '../src/runtime/consumer/handler-context.ts'
import type { Misdeed } from './faults.ts'
import type { Note } from './journal.ts'
import { never, type Process } from './process.ts'
import type { HandlerPlan, Nature } from './world.ts'

/** What events do by nature, in good weather too. */
const BY_NATURE: { readonly [N in Nature]?: Misdeed } = {
  hopeless: 'permanent',
  stubborn: 'unknown',
  sickly: 'transient',
  killer: 'crash',
}

/** The kinds that say themselves that trying again cannot help. */
export const PERMANENT_KINDS: readonly string[] = ['permanent', 'schema']

type Handle = (event: LazaretEvent, context: HandlerContext) => unknown

/** The handler of one consumer of one incarnation: it works, fails, hangs or kills, and writes down what it did. */
export function handlerOf(process: Process, plan: HandlerPlan): Handle {
  let running = 0
  return (event, context) => {
    if (!process.isAlive) return never()
    const { journal, faults } = process.scene
    const { name: handler } = plan
    const about = {
      consumer: `${process.name}/${handler}`,
      handler,
      event: event.id,
      run: process.scene.nextNumber(),
    }
    const { attempt, replay } = context
    running++
    let isRunning = true
    const stop = () => {
      if (isRunning) running--
      isRunning = false
    }
    journal.note({ what: 'started', ...about, attempt, replay, running })
    context.signal.addEventListener('abort', () => {
      stop()
      note({ what: 'aborted', ...about, why: nameOfReason(context.signal.reason) })
    })
    // Its process may have died in this very moment: then it does nothing any more.
    const note = (what: Note) => {
      if (process.isAlive) journal.note(what)
    }
    const run: Run = {
      process,
      signal: context.signal,
      timeoutMs: plan.timeoutMs,
      effect: () => note({ what: 'effect', ...about, key: event.idempotencyKey }),
      returned: () => {
        stop()
        note({ what: 'returned', ...about })
      },
      fail: kind => {
        stop()
        note({ what: 'threw', ...about, kind })
        throw errorOf(kind, about.run, faults.delayMs(4_000))
      },
      kill: () => {
        note({ what: 'killed', ...about })
        process.crash()
      },
    }
    const nature = process.scene.plan.events.get(event.id)?.nature ?? 'fine'
    const misdeed = BY_NATURE[nature] ?? faults.misdeed()
    const workMs = faults.workMs()
    if (workMs === 0 && misdeed === undefined) {
      // Not every handler is async.
      run.effect()
      run.returned()
      return undefined
    }
    return work(run, misdeed, workMs)
  }
}

interface Run {
  readonly process: Process
  readonly signal: AbortSignal
  readonly timeoutMs: number
  effect(): void
  returned(): void
  fail(kind: Misdeed): never
  kill(): void
}

async function work(run: Run, misdeed: Misdeed | undefined, workMs: number): Promise<void> {
  const { process, signal, timeoutMs } = run
  await process.breathe(workMs)
  switch (misdeed) {
    case undefined:
      run.effect()
      return run.returned()
    case 'hang':
      await aborted(signal)
      return run.fail('hang')
    case 'ignore':
      await process.breathe(2 * timeoutMs + 100)
      run.effect()
      return run.returned()
    case 'slow':
      run.effect()
      await process.breathe(timeoutMs + 200)
      return run.returned()
    case 'crash-after':
      run.effect()
      run.kill()
      return never()
    case 'crash':
      run.kill()
      return never()
    default:
      return run.fail(misdeed)
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function errorOf(kind: Misdeed, run: number, delayMs: number): unknown {
  const message = `${kind} in run ${run}`
  switch (kind) {
    case 'transient':
      return Object.assign(new Error(message), { code: 'ECONNREFUSED' })
    case 'retry-after':
      return new RetryAfterError(message, { delayMs })
    case 'integration':
      return new TransientError(message, { category: 'integration' })
    case 'permanent':
      return new PermanentError(message)
    case 'schema':
      return Object.assign(new Error(message), { issues: [{ message }] })
    case 'odd':
      return undefined
    default:
      return new TypeError(message)
  }
}

function nameOfReason(reason: unknown): string {
  return reason instanceof Error ? reason.name : String(reason)
}
