/**
 * A path in a value: names separated by dots, `[3]` for one entry of an array, `[*]` for every entry, `*` for any one
 * name or entry, `{a,b}` for one of several names, `**` for any number of steps. Examples: `payload.card.number`, `*.password`, `items[*].token`,
 * `**.secret`. A path is a linked list, so two paths with the same remaining part share one object, and a `Set` finds
 * duplicates.
 */
export interface MaskPath {
  readonly segment: Segment
  readonly rest: MaskPath | undefined
}

type Segment =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | {
      readonly kind: 'one-of'
      isOne(name: string): boolean
      /** Whether the name may be below entries of arrays: `customers[0].name` is `customers.name`. */
      readonly skipsEntries?: true
    }
  | { readonly kind: 'any-index' }
  | { readonly kind: 'any' }
  | { readonly kind: 'deep' }

/** The state of all paths at one node of a value: their remaining parts, and whether a path ends here. */
export interface PathCursors {
  readonly open: readonly MaskPath[]
  readonly arrived: boolean
}

const STEP = /^(?:\[(\*|\d{1,9})\]|(\.?)([^.[\]]+))/

/** Returns a function that tells whether a name is one of several. */
type NameMatcher = (names: readonly string[]) => (name: string) => boolean

/**
 * Returns the path, or undefined if the text is not a path. Names of the path are compared exactly. With `matcherOf` it
 * compares them, and the path reaches into arrays.
 */
export function parseMaskPath(text: string, matcherOf?: NameMatcher): MaskPath | undefined {
  const segments: Segment[] = []
  for (let rest = text; rest !== ''; ) {
    const [taken, index, dot, name] = STEP.exec(rest) ?? []
    if (taken === undefined) return undefined
    // Every name except the first must follow a dot.
    if (name !== undefined && (dot === '') !== (segments.length === 0)) return undefined
    segments.push(name === undefined ? indexSegment(index!) : nameSegment(name, matcherOf))
    rest = rest.slice(taken.length)
  }
  return segments.reduceRight<MaskPath | undefined>((rest, segment) => ({ segment, rest }), undefined)
}

function nameSegment(name: string, matcherOf: NameMatcher | undefined): Segment {
  if (name === '**') return { kind: 'deep' }
  if (name === '*') return { kind: 'any' }
  const [, several] = /^\{([^{}]+)\}$/.exec(name) ?? []
  if (matcherOf !== undefined)
    return { kind: 'one-of', isOne: matcherOf((several ?? name).split(',')), skipsEntries: true }
  if (several === undefined) return { kind: 'name', name }
  const names = new Set(several.split(','))
  return { kind: 'one-of', isOne: each => names.has(each) }
}

function indexSegment(text: string): Segment {
  return text === '*' ? { kind: 'any-index' } : { kind: 'index', index: Number(text) }
}

const NOWHERE: PathCursors = { open: [], arrived: false }

export function startCursors(paths: readonly MaskPath[]): PathCursors {
  return paths.length === 0 ? NOWHERE : { open: paths, arrived: paths.some(isDeepOnly) }
}

/** Returns the state of the paths after a step into a property (a string) or an array entry (a number). */
export function stepInto(cursors: PathCursors, into: string | number): PathCursors {
  if (cursors.open.length === 0) return NOWHERE
  if (!cursors.arrived && cursors.open.every(path => staysPut(path, into))) return cursors
  const open = new Set<MaskPath>()
  let arrived = false
  for (const path of cursors.open) arrived = advance(path, into, open) || arrived
  return open.size === 0 && !arrived ? NOWHERE : { open: [...open], arrived }
}

/** Whether the step changes nothing: most steps below a path that begins with `**`. */
function staysPut({ segment, rest }: MaskPath, into: string | number): boolean {
  return (
    segment.kind === 'deep' &&
    rest !== undefined &&
    rest.segment.kind !== 'deep' &&
    !matches(rest.segment, into)
  )
}

/** Returns whether the path ends with this step. Otherwise its remaining part joins the open paths. */
function advance(path: MaskPath, into: string | number, open: Set<MaskPath>): boolean {
  const { segment, rest } = path
  if (segment.kind === 'deep') {
    open.add(path)
    return rest === undefined || advance(rest, into, open)
  }
  if (typeof into === 'number' && segment.kind === 'one-of' && segment.skipsEntries) {
    open.add(path)
    return false
  }
  if (!matches(segment, into)) return false
  if (rest !== undefined) open.add(rest)
  return rest === undefined || isDeepOnly(rest)
}

/** `a.**` includes `a` itself, because `**` may match nothing. */
function isDeepOnly(path: MaskPath): boolean {
  return path.segment.kind === 'deep' && (path.rest === undefined || isDeepOnly(path.rest))
}

function matches(segment: Segment, into: string | number): boolean {
  switch (segment.kind) {
    case 'name':
      return segment.name === String(into)
    case 'one-of':
      return typeof into === 'string' && segment.isOne(into)
    case 'index':
      return segment.index === into
    case 'any-index':
      return typeof into === 'number'
    default:
      return true
  }
}
