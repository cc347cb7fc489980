import type { Sink } from '../ports/sink.ts'
import type { ConsumerOptions } from '../runtime/consumer/consumer-options.ts'

/** The folder in which the stacks place the shop. */
const SHOP_HOME = '/srv/shop'

/** The folder of this package, as stacks name it: by path or by URL. */
const OWN = import.meta.url.replace(/demo\/relocate-stacks\.[jt]s.*$/, '')
const OWN_FORMS = [OWN, OWN.replace(/^file:\/\//, '')]

/**
 * Rewrites the stacks of a handler as if it ran on a server of its own. The shop lies inside this package, and fingerprints
 * ignore frames of this package: without the rewrite only messages would tell failures apart, and stacks would show folders
 * of your machine.
 */
export function relocateStacks<P>(handle: ShopHandler<P>['handle']): ShopHandler<P>['handle'] {
  return (event, context) => relocating(() => handle(event, context))
}

/** Rewrites the stacks of a sink, including the errors of single events. */
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

/** Source and build get the same file names, so that their failures get the same groups. */
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
