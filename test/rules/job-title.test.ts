import { expect, test } from 'vitest';
import { departmentOf, seniorityOf } from '../../src/rules/job-title.ts';

test.each([
  ['CEO & Co-Founder', 'founder', 'executive'],
  ['Chief Technology Officer', 'c_suite', 'engineering'],
  ['CFO', 'c_suite', 'finance'],
  ['CISO', 'c_suite', 'security'],
  ['President', 'c_suite', 'executive'],
  ['Vice President', 'vp', ''],
  ['Vice President of Sales', 'vp', 'sales'],
  ['SVP Marketing', 'vp', 'marketing'],
  ['Owner', 'owner', 'executive'],
  ['Product Owner', '', 'product'],
  ['Managing Director', 'c_suite', 'executive'],
  ['Director of Operations', 'director', 'operations'],
  ['Head of Design', 'head', 'design'],
  ['Managing Partner', 'partner', ''],
  ['Partner Manager', 'manager', ''],
  ['Chief of Staff', 'director', ''],
  ['Executive Assistant to the CEO', 'entry', 'executive'],
  ['Senior Software Engineer', 'senior', 'engineering'],
  ['Junior Developer', 'entry', 'engineering'],
  ['Marketing Intern', 'intern', 'marketing'],
  ['Sales Engineer', '', 'sales'],
  ['Customer Success Manager', 'manager', 'customer_success'],
  ['IT Administrator', '', 'it'],
  ['Is it a title?', '', ''],
  ['Human Resources Business Partner', 'partner', 'hr'],
  ['General Counsel', '', 'legal'],
  ['Purchasing Manager', 'manager', 'procurement'],
  ['Foreman', 'manager', 'operations'],
  ['Geschäftsführerin', 'c_suite', 'executive'],
  ['Plumber', '', ''],
  ['', '', ''],
])('%j has the seniority %j and the department %j', (title, seniority, department) => {
  expect([seniorityOf(title), departmentOf(title)]).toEqual([seniority, department]);
});
