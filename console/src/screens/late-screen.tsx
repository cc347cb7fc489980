import { type ComponentType, use } from 'react'
import { onSilence } from '../api/silence.ts'
import { after } from '../lib/browser-clock.ts'

/** The waits before a file is asked for again. A person sees an error within five seconds. */
const WAITS_MS = [1_000, 2_000]

/** The files of a screen could not be loaded. */
export class ScreenNotLoadedError extends Error {
  override readonly name = 'ScreenNotLoadedError'
}

const failed = new Set<() => void>()

/** Forgets screens that could not be loaded, so that the next rendering loads them again. */
export function forgetFailedScreens(): void {
  for (const forget of failed) forget()
  failed.clear()
}

/** The way in is in the first load; the screens behind it come when they are asked for, or when the page is calm. */
export function lateScreen<Name extends string, Props extends object>(
  load: () => Promise<{ readonly [N in Name]: ComponentType<Props> }>,
  name: Name,
): ComponentType<Props> {
  let loading: Promise<ComponentType<Props>> | undefined
  function start(): Promise<ComponentType<Props>> {
    loading ??= patiently(load).then(
      screens => screens[name],
      error => {
        failed.add(() => {
          loading = undefined
        })
        throw new ScreenNotLoadedError(error instanceof Error ? error.message : String(error))
      },
    )
    return loading
  }
  return function LateScreen(props: Props) {
    const Screen = use(start())
    return <Screen {...props} />
  }
}

/** A server that is away for a moment does not break a screen, and one that hangs does not leave it empty. */
async function patiently<T>(load: () => Promise<T>): Promise<T> {
  let stopWatch = () => {}
  const silence = new Promise<never>((_, reject) => {
    stopWatch = onSilence(() => reject(new Error('the server does not answer')))
  })
  return await Promise.race([repeatedly(load), silence]).finally(() => stopWatch())
}

async function repeatedly<T>(load: () => Promise<T>): Promise<T> {
  for (const waitMs of WAITS_MS) {
    try {
      return await load()
    } catch {
      await new Promise<void>(resume => after(waitMs, resume))
    }
  }
  return await load()
}
