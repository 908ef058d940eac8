/** How to resolve each error of a source. */
const HINTS: Record<string, string> = {
  timeout:
    'No action is needed if this happens now and then: the source is retried. Otherwise open the URL in a browser; the host may be slow or down.',
  connection_refused: 'Check that the URL is right and the site is up. The source is retried.',
  connection_reset: 'The site may be down or block programs. The source is retried.',
  dns: 'Check the spelling of the host name.',
  tls: "The site's certificate is not valid. Notify its owner, or use another URL.",
  blocked_target: 'Use a URL on the public internet, with port 80, 443, 8080 or 8443.',
  invalid_response: 'Open the URL in a browser; if that works, the site may block programs.',
  network: 'No action is needed if this happens now and then: the source is retried.',
  process_ended:
    'No action is needed if the operator restarted the server. Otherwise the response may be too much for it: use another feed of the site.',
  document_too_costly:
    'Open the URL in a browser: the response is broken, or made to keep its readers busy. Use another feed of the site, or delete the source.',
  too_large: 'Use a smaller feed of the site, such as one for a category.',
  http_status: 'Open the URL in a browser. If the page is gone, find its new URL and change the source.',
  unauthorized: 'Check the key, token or app of the source at the service, and set it again.',
  rate_limited:
    'No action is needed: the source is read when the pause is over. With many sources of one service, use longer intervals or set a key.',
  robots_disallowed:
    'The site does not allow programs to read it. Use its API as a source of another kind, or send posts to POST /v1/signals.',
  robots_unreachable:
    'The source is retried. If the error persists, notify the owner of the site that its robots.txt cannot be read.',
  too_many_redirects: 'Open the URL in a browser and use the one that it ends at.',
  invalid_feed: 'Open the URL in a browser and look for the URL of its RSS or Atom feed.',
  invalid_answer:
    'Check that the URL or name belongs to this service. The service may also have changed its responses.',
  no_active_profile:
    'Activate one of its profiles, or clear "icp_profile_ids" to match posts with all active profiles.',
  plan_ceiling:
    'Upgrade your plan. Posts published in the meantime are read then, as far as the site still shows them.',
  internal: 'No action is needed: the source is retried. Contact us if the error persists.',
};

/** How to resolve an error of a source, for people. */
export function hintFor(code: string): string {
  return HINTS[code] ?? 'The source is retried, at growing intervals.';
}
