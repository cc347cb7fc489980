/** A number of something, as it is given on the command line. */
export function whole(text: string): number {
  const number = Number(text)
  if (text === '' || !Number.isSafeInteger(number) || number < 0)
    throw new Error(`'${text}' is not a whole number`)
  return number
}
