import { Faults } from '../../core/options/faults.ts'
import { isPlain, mergeOptions } from '../../core/options/merge.ts'
import type { Rule } from '../../core/options/rules.ts'
import { consumerFileOptions } from '../../runtime/consumer/consumer-options.ts'
import { dispatcherFileOptions } from '../../runtime/dispatcher/dispatcher-options.ts'
import { laneFileOptions, mergeLaneOptions } from '../../runtime/dispatcher/lane/lane-options.ts'
import { callFileOptions } from '../../runtime/resilient/resilient-options.ts'
import { locateFault } from '../locate.ts'
import type { ConfigSource, LocatedFault } from '../yaml-source.ts'
import { FormReader, faultKey, type OptionPlace } from './form-reader.ts'
import { policiesForm, presetOptions, presetRule } from './rules.ts'

type Options = Readonly<Record<string, unknown>>

/** One part of the file with options, such as `channels.orders`. */
interface Layer {
  readonly path: string
  readonly options: Options
}

/** The policies of one file or object: the options of each part, and the ways to put them over each other. */
export class PolicySet {
  readonly #root: Options

  /** What `FormReader` made of the section. */
  constructor(root: Options) {
    this.#root = root
  }

  consumer(channel: string, handler?: string): Options {
    return this.#merged(this.#consumerLayers(channel, handler))
  }

  dispatcher(): Options {
    return this.#merged([this.#layer('dispatcher')])
  }

  sinks(): Options {
    return this.#at('sinks')
  }

  /** Everything that holds for one sink. */
  sink(name: string): Options {
    return mergeLaneOptions(this.dispatcher(), this.#at('sinks', name)) as Options
  }

  /** The preset limits retries, so it holds for calls that are retried. */
  call(name: string): Options {
    const layers = this.#callLayers(name)
    const isRetried = layers.some(({ options }) => options['retry'] !== undefined)
    return isRetried ? this.#merged(layers) : mergeAll(layers)
  }

  /** Every stack of layers that a service can ask for, with the rule that its options follow. */
  *stacks(): Generator<{
    readonly rule: Rule<unknown>
    readonly options: Options
    readonly layers: readonly Layer[]
  }> {
    const rule = consumerFileOptions
    const unknown = this.#consumerLayers('').slice(0, 1)
    yield { rule, layers: unknown, options: this.#merged(unknown) }
    for (const channel of Object.keys(this.#at('channels'))) {
      yield { rule, layers: this.#consumerLayers(channel), options: this.consumer(channel) }
      for (const handler of Object.keys(this.#at('channels', channel, 'handlers')))
        yield {
          rule,
          layers: this.#consumerLayers(channel, handler),
          options: this.consumer(channel, handler),
        }
    }
    const dispatcher = this.#layer('dispatcher')
    yield { rule: dispatcherFileOptions, layers: [dispatcher], options: this.dispatcher() }
    for (const name of Object.keys(this.sinks())) {
      const layers = [dispatcher, this.#layer('sinks', name)]
      yield { rule: laneFileOptions, layers, options: this.sink(name) }
    }
    for (const name of ['', ...Object.keys(this.#at('calls'))])
      yield { rule: callFileOptions, layers: this.#callLayers(name), options: this.call(name) }
  }

  #consumerLayers(channel: string, handler?: string): readonly Layer[] {
    const { handlers: _, ...options } = this.#at('channels', channel)
    const layers = [this.#layer('defaults', 'consumer'), { path: `channels.${channel}`, options }]
    return handler === undefined ? layers : [...layers, this.#layer('channels', channel, 'handlers', handler)]
  }

  #callLayers(name: string): readonly Layer[] {
    return [this.#layer('defaults', 'call'), this.#layer('calls', name)]
  }

  #merged(layers: readonly Layer[]): Options {
    const preset = presetRule.read(this.#root['preset'], 'preset', new Faults())
    return mergeOptions(presetOptions(preset), mergeAll(layers))
  }

  #layer(...steps: readonly string[]): Layer {
    return { path: steps.join('.'), options: this.#at(...steps) }
  }

  #at(...steps: readonly string[]): Options {
    let found: unknown = this.#root
    for (const step of steps)
      found = isPlain(found) && Object.hasOwn(found, step) ? (found as Options)[step] : undefined
    return isPlain(found) ? (found as Options) : {}
  }
}

function mergeAll(layers: readonly Layer[]): Options {
  return layers.reduce<Options>((merged, { options }) => mergeOptions(merged, options), {})
}

/** Reads the section at `steps` of the source. All faults are found: of names, of values and between options. */
export function readPolicies(
  value: unknown,
  steps: readonly string[],
  source: ConfigSource,
): { readonly set: PolicySet; readonly faults: readonly LocatedFault[] } {
  const faults = new Faults()
  const reader = new FormReader(faults)
  const root = reader.read(policiesForm, value, '', steps) as Options
  const set = new PolicySet(root)
  const ofReader = new Set(faults.list.map(({ path }) => path))
  presetRule.read(root['preset'], 'preset', faults)
  for (const { rule, options, layers } of set.stacks()) {
    const found = new Faults()
    rule.read(options, '', found)
    for (const { path, received, remedy } of found.list) {
      const place = placeOf(path.slice(1), layers, reader.places, steps)
      const key = faultKey(place.path)
      // The reader has left out what it reported, so the rule would report that nothing was given.
      if (ofReader.has(key)) continue
      reader.places.set(key, place)
      faults.list.push({ path: key, received, remedy })
    }
  }
  const located = faults.list.map(fault => {
    const place = reader.places.get(fault.path) ?? { path: fault.path, steps }
    return locateFault(fault, place.path === '' ? 'policies' : place.path, place.steps, source)
  })
  return { set, faults: located.filter(fault => fault !== undefined) }
}

/** Where the most specific layer sets the option, or would set it: beside what it sets of the group. */
function placeOf(
  option: string,
  layers: readonly Layer[],
  places: ReadonlyMap<string, OptionPlace>,
  root: readonly string[],
): OptionPlace {
  for (let path = option; path !== ''; path = parentOf(path)) {
    const layer = layers.findLast(each => places.has(`${each.path}.${path}`))
    const found = layer && places.get(`${layer.path}.${path}`)
    if (found !== undefined) return below(found, option.slice(path.length))
  }
  const top = layers.at(-1)!.path
  return below(places.get(top) ?? { path: [...root, top].join('.'), steps: root }, '')
}

/** An option that is left out is called by the name that a file gives it. */
function below({ path, steps }: OptionPlace, rest: string): OptionPlace {
  const more = [...rest.matchAll(/[^.[\]]+/g)].map(([step]) => step.replace(/Ms$/, ''))
  return { path: [path, ...more].join('.'), steps: [...steps, ...more] }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.'), path.lastIndexOf('[')))
}
