/** What an error says. */

/** Of a host with several addresses that all failed, the error itself says nothing: what those of its addresses say. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof AggregateError) || error.message !== '') return error.message;
  return [...new Set(error.errors.map(messageOf))].join('; ');
}
