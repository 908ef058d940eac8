/** What stands beside every screen. */
export const NAVIGATION = [
  {
    name: 'Work',
    links: [
      { path: '/dashboard', label: 'Today' },
      { path: '/dashboard/signals', label: 'Signals' },
    ],
  },
  {
    name: 'Delivery',
    links: [
      { path: '/dashboard/settings/integrations/webhooks', label: 'Webhooks' },
      { path: '/dashboard/webhook-logs', label: 'Webhook Logs' },
      { path: '/dashboard/dead-letters', label: 'Dead letters' },
    ],
  },
];
