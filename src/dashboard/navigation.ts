/** What stands beside every screen. */
export const NAVIGATION = [
  {
    name: 'Work',
    links: [{ path: '/dashboard', label: 'Today' }],
  },
];
