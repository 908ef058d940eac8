/** What to do about each fault of a source. */
const HINTS: Record<string, string> = {
  timeout:
    'Nothing, if it happens now and then: it is tried again. Else open the address in a browser; the host may be slow or down.',
  connection_refused: 'Check that the address is right and the site is up; it is tried again.',
  connection_reset: 'The site may be down or refuse programs; it is tried again.',
  dns: 'Check the spelling of the host name.',
  tls: 'The certificate of the site is not valid; tell its owner, or use another address.',
  blocked_target: 'Use an address on the public internet, reached over port 80, 443, 8080 or 8443.',
  invalid_response: 'Open the address in a browser; if that works, the site may refuse programs.',
  network: 'Nothing, if it happens now and then: it is tried again.',
  process_ended:
    'Nothing, if the server was ended by its operator. Else what the address answers may be too much for it: look for another feed of the site.',
  document_too_costly:
    'Open the address in a browser: the answer is broken, or made to keep its readers busy. Look for another feed of the site, or delete the source.',
  too_large: 'Look for a smaller feed of the site, such as one for a category.',
  http_status:
    'Open the address in a browser. If there is nothing, look for the new address and change the source.',
  unauthorized: 'Check the key, token or app of the source at the service, and set it anew.',
  rate_limited:
    'Nothing: it is read when the pause is over. With many sources of one service, lengthen their intervals or set a key.',
  robots_disallowed:
    'The site does not want it read by programs. Use its API as a source of another kind, or send posts to POST /v1/signals.',
  robots_unreachable:
    'It is tried again. If it stays so, tell the owner of the site that its robots.txt cannot be read.',
  too_many_redirects: 'Open the address in a browser and use the one that it ends at.',
  invalid_feed: 'Open the address in a browser and look for the address of its RSS or Atom feed.',
  invalid_answer:
    'Check that the address or name belongs to this service; the service may also have changed its answers.',
  no_active_profile:
    'Activate one of its profiles, or take "icp_profile_ids" away to match all that are active.',
  plan_ceiling:
    'Take a larger plan; what was found meanwhile is read then, as far as the site still shows it.',
  internal: 'Nothing: it is tried again. Tell us if it stays so.',
};

/** In plain words, what somebody can do about a fault. */
export function hintFor(code: string): string {
  return HINTS[code] ?? 'It is tried again, less and less often.';
}
