/** The command line asks for something that cannot be meant: exit 2, and nothing was started. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
