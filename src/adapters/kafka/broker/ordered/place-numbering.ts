import { topicTag } from '../topics/topic-tag.ts'

/**
 * How the records of a channel's partition are numbered in the lines of their keys. A topic that was deleted and created again
 * has another id, and its offsets begin at 0 again. Its events must not pass held ones of the deleted topic, so that their
 * numbers begin behind those.
 */
export interface PlaceNumbering {
  /** A part of the id of the channel's topic (topicTag). */
  readonly topic: string
  /** The place of the record with the offset 0. */
  readonly firstPlace: number
}

interface NumberedPlace extends PlaceNumbering {
  readonly place: number
}

/**
 * The numbering for a topic, by what is held. The first place is 0 unless events of a deleted topic are held. It stays the same
 * while an event is held that was numbered with it.
 */
export function numberingFor(topicId: string, held: readonly NumberedPlace[]): PlaceNumbering {
  const topic = topicTag(topicId)
  let firstPlace = 0
  for (const each of held)
    firstPlace = Math.max(firstPlace, each.topic === topic ? each.firstPlace : each.place + 1)
  return { topic, firstPlace }
}

/** The place of a held event in this numbering. */
export function placeIn(numbering: PlaceNumbering, { place, topic, firstPlace }: NumberedPlace): number {
  return topic === numbering.topic ? place + numbering.firstPlace - firstPlace : place
}
