/** What is sold, as people who want it speak of it. Lists are parted by `|`. */
export interface Category {
  /** Words of an offer by which it is known. */
  known: string;
  /** How people ask for it. */
  phrases: string;
  /** Whom they compare or want to leave. */
  vendors: string;
  /** Who buys it. */
  titles: string;
  /** In which industries, where it is for some only. */
  industries?: string;
  /** A trade or profession: software that is sold to it is of another kind. */
  isTrade?: boolean;
}

export const CATEGORIES: readonly Category[] = [
  {
    known: 'crm|customer relationship|sales pipeline|contact management',
    phrases:
      'crm|crm software|customer relationship management|sales pipeline|contact management|lead tracking|deal tracking',
    vendors: 'Salesforce|HubSpot|Pipedrive|Zoho CRM|Close.io|Copper CRM',
    titles: 'Head of Sales|Sales Operations|Founder',
  },
  {
    known: 'help desk|helpdesk|ticketing|customer support software|support inbox|live chat',
    phrases:
      'help desk|helpdesk|ticketing system|shared inbox|support software|customer support tool|live chat|support tickets',
    vendors: 'Zendesk|Freshdesk|Intercom|Help Scout|Gorgias',
    titles: 'Head of Customer Support|Head of Customer Success|Founder',
  },
  {
    known: 'project management|task management|work management|kanban',
    phrases:
      'project management|project management software|task management|task tracking|team planning|gantt chart|kanban board',
    vendors: 'Asana|Trello|Monday.com|ClickUp|Jira|Basecamp',
    titles: 'Head of Operations|Project Manager|Founder',
  },
  {
    known: 'accounting|bookkeeping|bookkeeper|invoicing|accountant',
    phrases:
      'accounting software|bookkeeping|bookkeeper|accountant|invoicing|invoicing software|expense tracking|tax return',
    vendors: 'QuickBooks|Xero|FreshBooks|Wave Accounting|Sage Accounting',
    titles: 'CFO|Head of Finance|Owner',
  },
  {
    known: 'payroll|hr software|hris|human resources|people operations',
    phrases:
      'payroll|payroll software|hr software|hris|employee onboarding|time off tracking|benefits administration',
    vendors: 'Gusto|Rippling|BambooHR|ADP|Paychex|Deel',
    titles: 'Head of HR|People Operations|Owner',
  },
  {
    known: 'recruiting|recruitment|staffing|applicant tracking|ats|hiring platform',
    phrases:
      'applicant tracking system|ats|recruiting software|recruiter|recruitment agency|staffing agency|hiring tool|sourcing candidates',
    vendors: 'Greenhouse|Lever|Workable|Ashby|Recruitee',
    titles: 'Head of Talent|Recruiter|Head of HR',
  },
  {
    known: 'email marketing|newsletter|marketing automation|drip campaign',
    phrases:
      'email marketing|newsletter tool|newsletter platform|marketing automation|email campaigns|mailing list|drip campaign',
    vendors: 'Mailchimp|Klaviyo|ActiveCampaign|ConvertKit|Brevo',
    titles: 'Head of Marketing|Marketing Manager|Founder',
  },
  {
    known: 'seo|marketing agency|ppc|google ads|digital marketing|lead generation',
    phrases:
      'seo agency|seo consultant|marketing agency|google ads|ppc agency|digital marketing|lead generation|more leads|ad agency',
    vendors: 'Semrush|Ahrefs|Moz|WebFX',
    titles: 'Head of Marketing|Owner|Founder',
  },
  {
    known: 'web design|website|web development|web developer|web agency',
    phrases:
      'web designer|web design|web developer|new website|website redesign|website builder|web agency|landing page',
    vendors: 'Wix|Squarespace|Webflow|WordPress',
    titles: 'Owner|Founder|Head of Marketing',
  },
  {
    known: 'software development|app development|mobile app|development agency|outsourced developers',
    phrases:
      'app developer|development agency|software agency|mobile app development|outsource development|freelance developer|build an mvp',
    vendors: 'Toptal|Upwork|Fiverr',
    titles: 'Founder|CTO|Head of Product',
  },
  {
    known: 'ecommerce|online shop|online store|shopping cart',
    phrases: 'ecommerce platform|online shop|online store|shopping cart|sell online|storefront',
    vendors: 'Shopify|WooCommerce|BigCommerce|Magento',
    titles: 'Head of Ecommerce|Owner|Founder',
    industries: 'Retail',
  },
  {
    known: 'booking|appointment|scheduling software|reservation',
    phrases:
      'booking system|booking software|appointment scheduling|appointment booking|online booking|scheduling software|no shows',
    vendors: 'Calendly|Acuity|Setmore|Mindbody|Square Appointments',
    titles: 'Owner|Office Manager|Head of Operations',
  },
  {
    known: 'field service|dispatch|job scheduling|work orders|trade business software',
    phrases:
      'field service software|field service management|job scheduling|dispatch software|work orders|technician scheduling|quoting software',
    vendors: 'ServiceTitan|Jobber|Housecall Pro|FieldEdge|Tradify',
    titles: 'Owner|Operations Manager|Office Manager',
    industries: 'Construction',
  },
  {
    isTrade: true,
    known: 'plumbing|plumber|drain|boiler|water heater',
    phrases: 'plumber|plumbing|boiler|water heater|blocked drain|leaking pipe|leak|sewer line',
    vendors: 'Roto-Rooter|Mr. Rooter',
    titles: 'Facility Manager|Property Manager|Owner',
  },
  {
    isTrade: true,
    known: 'roofing|roofer|roof|gutter',
    phrases: 'roofer|roofing|roof repair|roof replacement|leaking roof|new roof|gutters|storm damage',
    vendors: '',
    titles: 'Property Manager|Facility Manager|Owner',
  },
  {
    isTrade: true,
    known: 'hvac|heating|air conditioning|furnace|heat pump',
    phrases:
      'hvac|hvac contractor|air conditioning|ac unit|furnace|heat pump|heating engineer|boiler service',
    vendors: '',
    titles: 'Facility Manager|Property Manager|Owner',
  },
  {
    isTrade: true,
    known: 'electrician|electrical|rewiring|ev charger',
    phrases: 'electrician|electrical contractor|rewiring|electrical panel|ev charger|fuse box|wiring',
    vendors: '',
    titles: 'Facility Manager|Property Manager|Owner',
  },
  {
    isTrade: true,
    known: 'landscaping|landscaper|lawn|garden|gardener|tree service',
    phrases: 'landscaper|landscaping|lawn care|lawn service|gardener|tree removal|garden design',
    vendors: 'TruGreen',
    titles: 'Property Manager|Facility Manager|Owner',
  },
  {
    isTrade: true,
    known: 'cleaning|cleaner|janitorial',
    phrases:
      'cleaner|cleaning service|cleaning company|office cleaning|janitorial|end of tenancy clean|deep clean',
    vendors: '',
    titles: 'Office Manager|Facility Manager|Property Manager',
  },
  {
    isTrade: true,
    known: 'construction|builder|contractor|renovation|remodeling|extension|scaffolding',
    phrases:
      'builder|general contractor|contractor|renovation|remodel|kitchen remodel|bathroom remodel|loft conversion|house extension|scaffolding',
    vendors: '',
    titles: 'Property Manager|Project Manager|Owner',
  },
  {
    known: 'soc 2|iso 27001|compliance automation',
    phrases: 'soc 2|soc 2 compliance|iso 27001|compliance automation|security questionnaire|soc 2 audit',
    vendors: 'Vanta|Drata|Secureframe|Sprinto',
    titles: 'CTO|Head of Security|Founder',
  },
  {
    known: 'kubernetes cost|cloud cost|cost monitoring|finops|cloud spend',
    phrases:
      'kubernetes cost|kubernetes costs|cloud costs|cloud bill|aws bill|finops|cost allocation|rightsizing',
    vendors: 'Kubecost|OpenCost|CAST AI|CloudZero|Vantage',
    titles: 'Head of Platform|CTO|VP Engineering',
  },
  {
    known: 'security software|cybersecurity|penetration testing|penetration test|pentest',
    phrases:
      'penetration test|pentest|soc 2|soc2 compliance|cybersecurity|security audit|iso 27001|vulnerability scanning|endpoint protection',
    vendors: 'Vanta|Drata|CrowdStrike|SentinelOne|Rapid7',
    titles: 'CISO|Head of Security|CTO',
  },
  {
    known: 'it support|managed services|msp|managed it|network support',
    phrases: 'it support|managed service provider|msp|managed it|it company|outsourced it|network setup',
    vendors: '',
    titles: 'Head of IT|Office Manager|Owner',
  },
  {
    known: 'analytics|business intelligence|dashboard|reporting|data warehouse',
    phrases:
      'analytics tool|product analytics|business intelligence|bi tool|reporting dashboard|data warehouse|web analytics',
    vendors: 'Tableau|Power BI|Looker|Mixpanel|Amplitude|Google Analytics',
    titles: 'Head of Data|Head of Product|Founder',
  },
  {
    known: 'monitoring|observability|logging|uptime|error tracking',
    phrases: 'monitoring tool|observability|log management|uptime monitoring|error tracking|status page|apm',
    vendors: 'Datadog|New Relic|Sentry|Grafana|Splunk',
    titles: 'CTO|Head of Engineering|DevOps Engineer',
  },
  {
    known: 'inventory|erp|warehouse management|stock management|manufacturing software',
    phrases: 'inventory management|inventory software|erp|erp system|stock control|warehouse management|mrp',
    vendors: 'NetSuite|Odoo|Cin7|Fishbowl|SAP Business One',
    titles: 'Head of Operations|COO|Owner',
    industries: 'Manufacturing|Retail',
  },
  {
    known: 'point of sale|pos system|card payment|payment processing',
    phrases:
      'pos system|point of sale|card reader|payment processor|payment processing|merchant account|card machine',
    vendors: 'Square|Toast|Clover|Lightspeed|Stripe',
    titles: 'Owner|Head of Operations|CFO',
    industries: 'Retail|Restaurants',
  },
  {
    known: 'e signature|esignature|electronic signature|contract management|proposal software',
    phrases:
      'e-signature|electronic signature|esign|contract management|proposal software|contract templates',
    vendors: 'DocuSign|PandaDoc|Dropbox Sign|Ironclad',
    titles: 'Head of Sales|Head of Legal|Founder',
  },
  {
    known: 'learning management|lms|course platform|online courses|employee training',
    phrases:
      'lms|learning management system|course platform|online course|employee training|training software',
    vendors: 'Teachable|Thinkific|Moodle|Docebo|TalentLMS',
    titles: 'Head of HR|Head of Training|Founder',
  },
  {
    known: 'answering service|call answering|virtual receptionist|phone system|voip|call center',
    phrases:
      'answering service|virtual receptionist|phone system|voip|business phone|missed calls|call center software',
    vendors: 'RingCentral|Ruby Receptionists|Dialpad|Aircall|Smith.ai',
    titles: 'Owner|Office Manager|Head of Operations',
  },
  {
    isTrade: true,
    known: 'insurance|insurance broker|liability cover',
    phrases:
      'business insurance|insurance broker|liability insurance|professional indemnity|workers comp|insurance quote',
    vendors: 'Hiscox|Next Insurance|Simply Business',
    titles: 'Owner|CFO|Office Manager',
  },
  {
    isTrade: true,
    known: 'lawyer|law firm|legal service|legal advice|attorney|solicitor',
    phrases: 'lawyer|business lawyer|law firm|legal advice|attorney|solicitor|contract review|trademark',
    vendors: 'LegalZoom|Rocket Lawyer',
    titles: 'Founder|Owner|Head of Legal',
  },
  {
    known: 'web hosting|hosting|vps|cloud hosting|managed wordpress',
    phrases:
      'web hosting|hosting provider|vps|managed hosting|cloud hosting|wordpress hosting|dedicated server',
    vendors: 'GoDaddy|Bluehost|DigitalOcean|SiteGround|WP Engine',
    titles: 'CTO|Founder|Head of IT',
  },
  {
    isTrade: true,
    known: 'solar|photovoltaic|solar panel|battery storage',
    phrases: 'solar panels|solar installer|solar quote|battery storage|photovoltaic|solar installation',
    vendors: 'Sunrun|Tesla Solar|SunPower',
    titles: 'Facility Manager|Property Manager|Owner',
  },
];
