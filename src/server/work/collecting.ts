import type { CollectingInto } from '../options.ts'
import type { Federation } from '../stores/federation.ts'

/** Starts them; the function returned ends them. */
export function startCollecting(
  collectors: readonly CollectingInto[],
  stores: Federation,
): () => Promise<void> {
  for (const { collector, store } of collectors) {
    const into = stores.all.find(({ name }) => name === store) ?? stores.all[0]!
    collector.start(into.store.deadLetters)
  }
  return async () => {
    await Promise.all(collectors.map(({ collector }) => collector.close()))
  }
}
