/**
 * A place in a value: names separated by dots, `[3]` for one entry of an array, `[*]` for every one, `*` for any one
 * name or entry, `**` for any number of them. `payload.card.number`, `*.password`, `items[*].token`, `**.secret`.
 * Each segment leads on to the rest of its path; two walks that are at the same place are at the same object.
 */
export interface MaskPath {
  readonly segment: Segment
  readonly rest: MaskPath | undefined
}

type Segment =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'any-index' }
  | { readonly kind: 'any' }
  | { readonly kind: 'deep' }

/** Where the paths stand at one node of a value: what is left of each, and whether one of them ends here. */
export interface PathCursors {
  readonly open: readonly MaskPath[]
  readonly arrived: boolean
}

const STEP = /^(?:\[(\*|\d{1,9})\]|(\.?)([^.[\]]+))/

/** The path, or undefined when the text is not a path. */
export function parseMaskPath(text: string): MaskPath | undefined {
  const segments: Segment[] = []
  for (let rest = text; rest !== ''; ) {
    const [taken, index, dot, name] = STEP.exec(rest) ?? []
    if (taken === undefined) return undefined
    // Every name but the first has its dot.
    if (name !== undefined && (dot === '') !== (segments.length === 0)) return undefined
    segments.push(name === undefined ? indexSegment(index!) : nameSegment(name))
    rest = rest.slice(taken.length)
  }
  return segments.reduceRight<MaskPath | undefined>((rest, segment) => ({ segment, rest }), undefined)
}

function nameSegment(name: string): Segment {
  if (name === '**') return { kind: 'deep' }
  return name === '*' ? { kind: 'any' } : { kind: 'name', name }
}

function indexSegment(text: string): Segment {
  return text === '*' ? { kind: 'any-index' } : { kind: 'index', index: Number(text) }
}

const NOWHERE: PathCursors = { open: [], arrived: false }

export function startCursors(paths: readonly MaskPath[]): PathCursors {
  return paths.length === 0 ? NOWHERE : { open: paths, arrived: paths.some(isDeepOnly) }
}

/** Where the paths stand after going into a property (a string) or an entry of an array (a number). */
export function stepInto(cursors: PathCursors, into: string | number): PathCursors {
  if (cursors.open.length === 0) return NOWHERE
  const open = new Set<MaskPath>()
  let arrived = false
  for (const path of cursors.open) arrived = advance(path, into, open) || arrived
  return open.size === 0 && !arrived ? NOWHERE : { open: [...open], arrived }
}

/** Whether the path ends with this step; else what is left of it joins the open ones. */
function advance(path: MaskPath, into: string | number, open: Set<MaskPath>): boolean {
  const { segment, rest } = path
  if (segment.kind === 'deep') {
    open.add(path)
    return rest === undefined || advance(rest, into, open)
  }
  if (!matches(segment, into)) return false
  if (rest !== undefined) open.add(rest)
  return rest === undefined || isDeepOnly(rest)
}

/** `a.**` means a itself too: any number includes none. */
function isDeepOnly(path: MaskPath): boolean {
  return path.segment.kind === 'deep' && (path.rest === undefined || isDeepOnly(path.rest))
}

function matches(segment: Segment, into: string | number): boolean {
  switch (segment.kind) {
    case 'name':
      return segment.name === String(into)
    case 'index':
      return segment.index === into
    case 'any-index':
      return typeof into === 'number'
    default:
      return true
  }
}
