/** Stands for whatever a job is there for. */
export async function sendEmail(to: string): Promise<void> {
  process.stdout.write(`mail to ${to}\n`)
}
