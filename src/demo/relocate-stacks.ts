import type { Sink } from '../ports/sink.ts'
import type { ConsumerOptions } from '../runtime/consumer/consumer-options.ts'

/** Where the shop pretends to be deployed. */
const SHOP_HOME = '/srv/shop'

/** This package's own folder, as stacks name it: by path or by URL. */
const OWN = import.meta.url.replace(/demo\/relocate-stacks\.[jt]s.*$/, '')
const OWN_FORMS = [OWN, OWN.replace(/^file:\/\//, '')]

/**
 * The handler as if it were deployed on a server of its own. Frames of this package do not count as the application's,
 * and the shop lies inside it: without this its failures could be told apart by their messages alone, and the stacks
 * would name folders of your machine.
 */
export function relocateStacks<P>(handle: ShopHandler<P>['handle']): ShopHandler<P>['handle'] {
  return (event, context) => relocating(() => handle(event, context))
}

/** The same for a sink, also for what it throws at single events. */
export function relocateSinkStacks(sink: Sink): Sink {
  const { probe } = sink
  return {
    write: (batch, context) =>
      relocating(async () => {
        const result = await sink.write(batch, context)
        for (const { error } of result?.rejected ?? []) relocated(error)
        return result
      }),
    ...(probe && { probe: probe.bind(sink) }),
  }
}

async function relocating<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw relocated(error)
  }
}

function relocated(error: unknown): unknown {
  if (error instanceof Error && error.stack !== undefined) error.stack = relocatedStack(error.stack)
  return error
}

/** Sources and build name their files alike, so that both fall into the same groups. */
function relocatedStack(stack: string): string {
  const frames = stack.split('\n').filter(line => !line.includes('demo/relocate-stacks.'))
  const moved = OWN_FORMS.reduce(
    (text, own) =>
      text
        .replaceAll(`${own}demo/shop/`, `${SHOP_HOME}/src/`)
        .replaceAll(own, `${SHOP_HOME}/node_modules/lazaret/`),
    frames.join('\n'),
  )
  return moved.replaceAll(/(\/srv\/shop\/\S+)\.js:/g, '$1.ts:')
}

/** What a consumer's author decides. Where its events and letters live is decided once, for all of them. */
export type ShopHandler<P> = Omit<ConsumerOptions<P>, 'broker'> & { readonly name: string }
