// Groups of a store whose letters are sealed: a title and a basis are made of an error, which quotes the payload.
import { type Grouping, groupingOf } from '../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { TextCodec } from '../../ports/codec.ts'
import type { Group, Groups } from '../../ports/groups.ts'

/** What a store writes of a letter's group, and what a search for groups looks through. */
export function groupTextsAtRest(
  letter: DeadLetter,
  texts: TextCodec | undefined,
): Grouping & { readonly search: string } {
  const grouping = groupingOf(letter)
  const { title, basis, rule } = grouping
  // A reason and a handler say nothing of the payload.
  if (texts === undefined || rule === 'reason') return { ...grouping, search: `${title}\n${basis}` }
  const search = letter.cycle.failure?.name ?? ''
  return { ...grouping, title: texts.encode(title), basis: texts.encode(basis), search }
}

/** The groups of such a store as they are. Without a codec of texts they are the store's own. */
export function openGroups(groups: Groups, texts: TextCodec | undefined): Groups {
  if (texts === undefined) return groups
  const opened = (group: Group): Group => ({
    ...group,
    title: texts.decode(group.title),
    basis: texts.decode(group.basis),
  })
  return {
    async list(query) {
      const page = await groups.list(query)
      return { ...page, groups: page.groups.map(opened) }
    },
    async get(id) {
      const group = await groups.get(id)
      return group && opened(group)
    },
    async change(id, change) {
      const group = await groups.change(id, change)
      return group && opened(group)
    },
  }
}
