/** What a scrape says, read by nothing but the rules of the text format 0.0.4. */
export interface Scraped {
  readonly type: string
  /** By the whole name of the sample and its labels in order: `a_total{channel="orders"}`. */
  readonly samples: ReadonlyMap<string, number>
}

const HELP = /^# HELP ([a-zA-Z_:][\w:]*) \S.*$/
const TYPE = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/
const LABEL = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/

/** Throws at the first line that is not as it has to be. */
export function parseScrape(text: string): ReadonlyMap<string, Scraped> {
  if (!text.endsWith('\n')) throw new Error('the last line is not ended')
  const families = new Map<string, { type: string; samples: Map<string, number> }>()
  let head: string | undefined
  let current: { name: string; type: string; samples: Map<string, number> } | undefined
  for (const line of text.split('\n').filter(each => each !== '')) {
    const help = HELP.exec(line)
    const type = TYPE.exec(line)
    if (help !== null) {
      head = help[1]
    } else if (type !== null) {
      const [, name = '', kind = ''] = type
      if (name !== head) throw new Error(`the type of ${name} does not follow its help`)
      if (families.has(name)) throw new Error(`${name} is there twice`)
      current = { name, type: kind, samples: new Map() }
      families.set(name, current)
    } else {
      const [sample, value] = sampleOf(line)
      if (current === undefined || !belongs(sample, current)) throw new Error(`out of its family: ${line}`)
      if (current.samples.has(sample)) throw new Error(`twice: ${line}`)
      current.samples.set(sample, value)
    }
  }
  return families
}

function sampleOf(line: string): [string, number] {
  const found = SAMPLE.exec(line)
  if (found === null) throw new Error(`no sample: ${line}`)
  const [, name = '', labels, value = ''] = found
  return [series(name, labels === undefined ? {} : labelsOf(labels, line)), numberOf(value)]
}

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== ''; ) {
    const found = LABEL.exec(rest)
    if (found === null) throw new Error(`no labels: ${line}`)
    const [all, label = '', value = ''] = found
    if (label in labels) throw new Error(`a label twice: ${line}`)
    labels[label] = value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(all.length)
  }
  return labels
}

function belongs(sample: string, { name, type }: { readonly name: string; readonly type: string }): boolean {
  const [own = ''] = sample.split('{')
  return type === 'histogram'
    ? [`${name}_bucket`, `${name}_sum`, `${name}_count`].includes(own)
    : own === name
}

function numberOf(text: string): number {
  return text.endsWith('Inf') ? Number(text.replace('Inf', 'Infinity')) : Number(text)
}

/** The name of one series, the labels in the order of the alphabet. */
export function series(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.keys(labels)
    .sort()
    .map(label => `${label}=${JSON.stringify(labels[label])}`)
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`
}
