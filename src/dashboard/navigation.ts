/** What stands beside every screen. */
export const NAVIGATION = [
  {
    name: 'Work',
    links: [
      { path: '/dashboard', label: 'Today' },
      { path: '/dashboard/signals', label: 'Signals' },
      { path: '/dashboard/sources', label: 'Sources' },
      { path: '/dashboard/leads', label: 'Leads' },
      { path: '/dashboard/pipeline', label: 'Pipeline' },
      { path: '/dashboard/companies', label: 'Companies' },
      { path: '/dashboard/campaigns', label: 'Campaigns' },
      { path: '/dashboard/profiles', label: 'Profiles' },
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
  {
    name: 'Settings',
    links: [
      { path: '/dashboard/settings/api-keys', label: 'API keys' },
      { path: '/dashboard/settings/reply', label: 'Reply template' },
      { path: '/dashboard/settings/plan', label: 'Plan and usage' },
      { path: '/dashboard/settings/digest', label: 'Digest' },
      { path: '/dashboard/settings/team', label: 'Team' },
      { path: '/dashboard/settings/account', label: 'Your account' },
      { path: '/dashboard/settings/audit', label: 'Audit log' },
      { path: '/dashboard/settings/outbox', label: 'Account email' },
    ],
  },
];
