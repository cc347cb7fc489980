import type { LazaretEvent } from '../src/core/event/event.ts'
import { PermanentError, RetryAfterError, TransientError } from '../src/core/failure/signals.ts'
import type { HandlerContext } from '../src/runtime/consumer/handler-context.ts'
import { type BrokenFunctions, unreadableValue } from './broken-functions.ts'
import type { HandlerFault } from './faults.ts'
import { followUpOf } from './follow-ups.ts'
import type { NewFact } from './history.ts'
import type { EventKind, HandlerPlan } from './plan.ts'
import { never, type Process } from './process.ts'

/** The handler fault that each event kind causes, also after the fault phase. */
const FAULT_OF_KIND: { readonly [N in EventKind]?: HandlerFault } = {
  'fails-permanently': 'permanent',
  'fails-transiently': 'transient',
  'crashes-process': 'crash',
}

/**
 * An event that fails alike has a failure that blames it, or one that nothing recognises: poison treats them
 * differently. The id decides, so that the other draws of a seed stay the same.
 */
function faultOfKind(kind: EventKind, { id }: LazaretEvent): HandlerFault | undefined {
  if (kind !== 'fails-alike') return FAULT_OF_KIND[kind]
  return /[13579]$/.test(id) ? 'business' : 'unknown'
}

/** The handler faults that Lazaret classifies as permanent. */
export const PERMANENT_KINDS: readonly string[] = ['permanent', 'schema']

type Handle = (event: LazaretEvent, context: HandlerContext) => unknown

/** The handler of one consumer: it works, fails, hangs or crashes its process, and records what it did. */
export function handlerOf(process: Process, plan: HandlerPlan, functions: BrokenFunctions): Handle {
  let running = 0
  return (event, context) => {
    if (!process.isAlive) return never()
    const { history, faults } = process.world
    const { name: handler } = plan
    const about = {
      consumer: `${process.name}/${handler}`,
      handler,
      event: event.id,
      run: process.world.nextNumber(),
    }
    const { attempt, replay } = context
    running++
    let isRunning = true
    const stop = () => {
      if (isRunning) running--
      isRunning = false
    }
    history.record({ what: 'started', ...about, attempt, replay, running })
    context.signal.addEventListener('abort', () => {
      stop()
      record({ what: 'aborted', ...about, why: nameOfReason(context.signal.reason) })
    })
    // A dead process records nothing.
    const record = (what: NewFact) => {
      if (process.isAlive) history.record(what)
    }
    const run: Run = {
      process,
      signal: context.signal,
      timeoutMs: plan.timeoutMs,
      lateMs: process.world.plan.extras.lateShare === 0 ? 0 : lateMs(process, plan),
      effect: () => record({ what: 'effect', ...about, key: event.idempotencyKey }),
      followUp: followUpOf(process, event, about.run),
      returned: () => {
        stop()
        record({ what: 'returned', ...about })
      },
      fail: kind => {
        stop()
        record({ what: 'threw', ...about, kind })
        throw errorOf(kind, about.run, faults.delayMs(4_000))
      },
      kill: () => {
        record({ what: 'killed', ...about })
        process.crash()
      },
    }
    const eventPlan = process.world.plan.events.get(event.id)
    const eventKind = eventPlan?.kindByHandler?.[handler] ?? eventPlan?.eventKind ?? 'valid'
    const handlerFault = faultOfKind(eventKind, event) ?? faults.handlerFault() ?? functions.handlerFault()
    const workMs = faults.workMs()
    if (workMs === 0 && handlerFault === undefined && run.followUp === undefined) {
      // Not every handler is async.
      run.effect()
      run.returned()
      return undefined
    }
    return work(run, handlerFault, workMs)
  }
}

interface Run {
  readonly process: Process
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly lateMs: number
  effect(): void
  readonly followUp: (() => void | Promise<void>) | undefined
  returned(): void
  fail(kind: HandlerFault): never
  kill(): void
}

async function work(run: Run, handlerFault: HandlerFault | undefined, workMs: number): Promise<void> {
  const { process, signal, timeoutMs } = run
  await process.wait(workMs)
  switch (handlerFault) {
    case undefined:
      run.effect()
      try {
        await run.followUp?.()
      } catch {
        return run.fail('transient')
      }
      return run.returned()
    case 'hang':
      await aborted(signal)
      return run.fail('hang')
    case 'ignores-signal':
      await process.wait(2 * timeoutMs + 100)
      run.effect()
      return run.returned()
    case 'late-success':
      await process.wait(run.lateMs)
      run.effect()
      return run.returned()
    case 'late-failure':
      await process.wait(run.lateMs)
      return run.fail('late-failure')
    case 'slow':
      run.effect()
      await process.wait(timeoutMs + 200)
      return run.returned()
    case 'crash-after':
      run.effect()
      run.kill()
      return never()
    case 'crash':
      run.kill()
      return never()
    default:
      return run.fail(handlerFault)
  }
}

/** A time from just after the deadline to long after the lease. */
function lateMs({ world }: Process, { timeoutMs }: HandlerPlan): number {
  return timeoutMs + world.extraChance.pick([1, timeoutMs, 4 * timeoutMs, 15_000])
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function errorOf(kind: HandlerFault, run: number, delayMs: number): unknown {
  const message = `${kind} in run ${run}`
  switch (kind) {
    case 'transient':
      return Object.assign(new Error(message), { code: 'ECONNREFUSED' })
    case 'retry-after':
      return new RetryAfterError(message, { delayMs })
    case 'integration':
      return new TransientError(message, { category: 'integration' })
    case 'business':
      return new TransientError(message, { category: 'business' })
    case 'permanent':
      return new PermanentError(message)
    case 'schema':
      return Object.assign(new Error(message), { issues: [{ message }] })
    case 'throws-undefined':
      return undefined
    case 'throws-unreadable':
      return unreadableValue()
    default:
      return new TypeError(message)
  }
}

function nameOfReason(reason: unknown): string {
  return reason instanceof Error ? reason.name : String(reason)
}
