const TAG_LENGTH = 8

/** A part of the id of a topic, which is enough to notice that the topic was deleted and created again. */
export function topicTag(topicId: string): string {
  return topicId.slice(0, TAG_LENGTH)
}
