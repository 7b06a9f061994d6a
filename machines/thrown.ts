/** What a thrown value says of itself, for a failure's message. Nothing is converted: an object's own toString may throw. */
export function thrownText(thrown: unknown): string {
  const text = typeof thrown === 'object' && thrown !== null && 'message' in thrown ? thrown.message : thrown;
  return typeof text === 'string' && text !== '' ? text : 'no reason was given';
}
