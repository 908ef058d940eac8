import { cue } from './cue.ts';

/** What a request is for: the same verb with another object is another wish. */
export const OBJECTS = [
  cue(
    'tool',
    '\\b(?:tools?|software|apps?|platforms?|plugins?|plug-ins?|saas|solutions?|systems?|extensions?|crm|ats|erp|pim|cms|pos|dashboard|builder|themes?|templates?|program|database|api|framework|library|integration|automation|provider|hosting|host|server|cloud|domain|gateway|processor|vpn|chatbot|ai|website|site|scheduler|tracker|monitoring|observability|analytics|orchestrator|package|product|hardware|laptop|printer|scanner|phone system|voip)\\b',
  ),
  cue(
    'supplier',
    '\\b(?:agency|agencies|freelancers?|consultants?|contractors?|vendors?|suppliers?|manufacturers?|providers?|company|companies|firms?|service|services|accountants?|bookkeepers?|bookkeeping|lawyers?|attorneys?|designers?|developers?|devs?|cpa|3pl|warehouse|fulfillment|fulfilment|shipping|courier|carrier|freight|bank|banking|lender|loan|financing|insurance|broker|photographer|videographer|printing|virtual assistant|va|factory|wholesaler|distributor|agent|marketer|expert|specialist|partner|studio|installer|editor|writer|translator|seo|ppc|payroll|merchant|payment processor|recruiters?|staffing|headhunter|caterers?|catering|cleaners?|cleaning|installers?|forwarder|trainer|auditors?|leasing|office space)\\b',
  ),
  cue(
    'learning',
    '\\b(?:courses?|books?|resources?|tutorials?|certifications?|certs?|bootcamp|degree|college|university|podcasts?|youtube|videos?|learn|learning|career|blogs?|newsletters?|articles?|reading|mentor|guidance|roadmap|ideas?|tips|inspiration|communities|community|subreddit|meetup|conferences?|exam|interview|papers?|journals?|documentation|docs|examples?)\\b',
  ),
  cue(
    'job',
    '\\b(?:jobs?|roles?|positions?|internships?|employment|work from home|salary|earns?|earning|offer|recruiters?|employers?|career|opportunit(?:y|ies)|full[- ]time|entry[- ]level|interviews?|resume|cv)\\b',
  ),
  cue(
    'audience',
    '\\b(?:feedback|beta|testers?|users|customers|clients|investors?|co-?founders?|funding|vcs?|angel|validation|early adopters|partnerships?|collaborat\\w+|contributors|critique|roast|criticism|interested in (?:joining|trying)|technical partner|business partner|growth|traffic|sales|leads|followers|advice|thoughts|opinions|insights?)\\b',
  ),
  cue(
    'home',
    '\\b(?:apartment|flat|bhk|1rk|pg|flatmate|roommate|restaurants?|doctors?|dentist|dermatologist|therapist|gym|wedding|vacation|trip|hotel|flight|car|bike|scooter|gaming|games?|movies?|puppy|dog|cat|vet|school|kids?|toddler|baby|my (?:wife|husband|girlfriend|boyfriend|mom|dad|mother|father|parents|son|daughter|kid|kids|house|home|room|dog|cat)|personal (?:use|project|finance)|hobby|homelab|home lab|home owner|mortgage|credit card|savings|salon|food|plumber|electrician|rent|landlord|tenant|hair|skin|gift|phone|tablet|pc build|gpu|headphones|travel)\\b',
  ),
] as const;

/** Who speaks and what they are about when they do not ask. */
export const SPEAKERS = [
  cue(
    'job_seeker',
    '\\[for hire\\]|\\b(?:for hire|open to work|my (?:resume|cv|portfolio)|(?:resume|cv) review|hire me|available for (?:work|hire|freelance|projects)|seeking (?:employment|work)|laid off|job (?:search|hunt|market|offer|offers)|seeking work|willing to relocate|years? of experience|yoe|ctc|lpa|notice period|new grad|fresher|earns?|salary|salaries)\\b',
    '\\b(?:looking|searching|applying|applied) for (?:an? |my |some |new )?(?:\\w+ ){0,2}(?:job|jobs|work|internship|position|role|roles|opportunities|clients|projects)\\b',
    '\\bi(?: am|.?m) an? (?:\\w+[ -]){0,4}(?:developer|engineer|designer|freelancer|writer|student|marketer|editor)\\b|\\bi can (?:help|build|design|do|write)\\b',
  ),
  cue(
    'job_ad',
    "\\b(?:we(?: are|'re) hiring|now hiring|job description|responsibilities|qualifications|apply (?:here|now|at|via|online|today)|equal opportunity|benefits include|join (?:our|us|the) (?:team|as|in)|competitive (?:salary|compensation)|what you(?:'ll| will) (?:do|bring)|you(?:'ll| will) (?:be responsible|work|join)|the ideal candidate|about the role|experience (?:in|with) \\w+ (?:is )?required|requirements|our mission|visa|onsite|on-site|hybrid|equity|full[- ]time)\\b",
  ),
  cue(
    'full_time_job',
    '\\bfull[- ]?time\\b|[$€£] ?\\d{2,3}k? ?(?:-|–|to) ?[$€£]? ?\\d{2,3}k\\b|\\b\\d{2,3}k\\+? ?(?:-|–) ?\\d{2,3}k\\b|\\b(?:equity|401k|base salary|pto|health benefits|first hire|founding (?:\\w+ )?engineer|co-?founder)\\b',
  ),
  cue(
    'thread',
    "\\b(?:who's hiring|who is hiring|weekly thread|monthly thread|mod (?:post|poll)|megathread|daily thread|feel free to post|post(?:ing)? template)\\b",
  ),
  cue(
    'seller',
    "\\b(?:show hn|launch hn|book a (?:demo|call)|dm me|dm for|link in (?:bio|comments|profile)|affiliate link|promo code|use code|free trial|early access|wait ?list|sign up (?:for|at|here)|limited time|discount code|reach out to us|contact us|get in touch|message me|visit our|inbox me|feel free to (?:dm|reach|message)|choose ours|(?:first|free) (?:month|quote|consultation|demo|audit)|for a (?:free )?quote|look no further|call us|click here|try (?:it|ours) free|ask (?:us|me) anything|(?:that's|that is|it's|it is) (?:us|ours)|(?:i|we) charge|room for (?:more|new) clients|my rates?|our rates)\\b",
    "\\b(?:i|we)(?:'m|'re| am| are) (?:an? )?(?:\\w+ ){0,3}(?:agency|firm|company|consultancy|vendor|provider|supplier|studio|freelancer|contractor|consultant)s? (?:that|which|doing|specialising|specializing|offering|helping|providing)\\b|\\b(?:i|we) (?:run|own) (?:an? |our own )(?:\\w+ ){0,3}(?:agency|service|company|consultancy|studio) (?:for|that)\\b",
    "\\b(?:check out (?:my|our|the)|my (?:startup|new app|side project|saas|app|product|tool|extension|agency)|we (?:offer|provide|help|specialize|specialise|deliver)|i (?:offer|provide|help|specialize)|our (?:\\w+ ){0,3}(?:clients|app|platform|product|software|tool|service|solution|services|agency) (?:\\w+ )?(?:love|get|see|is|helps|help|lets|makes|allows|are|can|will)|we(?:'ve| have)? helped|built for|designed for|perfect for|our (?:product|software|app|platform|tool|solution) (?:was|has|is|helps)|if you(?:'re| are) (?:looking|interested|struggling|tired|a \\w+))\\b",
  ),
  cue(
    'maker',
    "\\b(?:i|we)(?: have|'ve|ve| am|'m|m| are|'re)? (?:just |recently |finally |been |also |currently |then )?(?:built|launched|released|made|created|wrote|developed|shipped|building|launching|developing|making|open[- ]sourced|designed|started|coded|published|put together)\\b",
    '\\b(?:introducing|announcing|launching|open[- ]source[d]?|now available|is live|v\\d+\\.\\d+|is an? (?:open[- ]source|free|new|tool|platform|app))\\b|\\bbeta testers?\\b',
  ),
  cue(
    'feedback_wanted',
    '\\b(?:would you (?:use|pay|buy|be interested)|roast|feedback (?:on|would|is|welcome|appreciated)|any feedback|honest feedback|brutal|validate|validating|validation|my (?:idea|landing page|mvp|pitch)|what do you (?:guys )?think|is this a good idea|does this (?:sound|make sense)|would love (?:to hear|your|feedback|any|some))\\b',
  ),
  cue(
    'survey',
    "\\b(?:survey|poll|questionnaire|market research|doing (?:some )?research|curious (?:how|what|if|whether|about|to)|i(?:'m| am) curious|not selling|not (?:trying )?to sell|biggest (?:challenge|problem|bottleneck|pain|headache|frustration|struggle)|quick question|just wondering|genuinely (?:curious|wondering)|what(?:'s| is) (?:one|the one)|interested in (?:learning|hearing|understanding)|share your)\\b",
  ),
  cue(
    'already_bought',
    "\\b(?:we|i) (?:already|finally|recently|just|eventually|have since|'ve since) (?:switched|moved|migrated|bought|chose|signed|went with|got|purchased|hired|subscribed)\\b",
    "\\b(?:decided (?:to (?:move forward|go) with|on)|decision made|will be (?:using|going with)|moving forward with|settled on|was awarded|award(?:ed)? (?:to|of)|resulting in the award|have chosen|we chose|i chose|been using .{0,40} (?:ever )?since|my actual stack|here's (?:my|our) (?:actual )?(?:stack|setup))\\b",
    "\\b(?:ended up (?:going|choosing|buying|with|using|picking|switching)|so happy (?:with|we)|problem solved|went with|glad (?:we|i) (?:switched|moved)|(?:we|i) (?:have been|'ve been) (?:using|with) \\w+ for .{0,30}(?:love|great|happy))\\b",
    '\\b(?:update|edit)\\s*:.{0,80}(?:thank|went with|ended up|found|solved|decided|resolved)',
    "\\b(?:i|we)(?:'ve| have|'d| had)? (?:just |now |already |finally |since )?(?:found|picked|chosen|hired|signed|renewed|purchased) (?:a|an|one|our|the|it|another|someone)\\b|\\b(?:was|were|been|is) renewed\\b|\\bno (?:more )?(?:help|demos?|pitches|calls|suggestions|quotes|vendors) (?:please|needed|any ?more)\\b|\\bno more (?:help|demos?|pitches|calls|suggestions|quotes)\\b|\\b(?:decided|went) against\\b",
    '\\bi purchased\\b|\\bwe purchased\\b|\\bmy (?:order|purchase|invoice|licen[cs]e)\\b',
  ),
  cue(
    'student',
    '\\b(?:student|thesis|dissertation|homework|assignment|class project|school project|university project|academic|my degree|semester|professor|final year|internship|capstone|coursework|bootcamp)\\b',
  ),
  cue(
    'how_to',
    '\\bhow (?:do|can|to|should|would|could|does|did) (?:i|you|we|one|it|this|to)?\\b',
    '\\b(?:error|exception|stack trace|function|variable|config|configure|install|command|query|syntax|debug|code|implement|class|method|array|async|endpoint|docker|script)\\b',
    '\\b(?:how|why) (?:is|are|does|do|did)\\b|\\bwhat (?:is|does|happens|happened|are the)\\b|\\bdifference between\\b|\\bbest practices?\\b|\\bis it (?:possible|legal|normal|okay|ok|ethical|safe)\\b',
  ),
  cue(
    'story',
    "\\b(?:here's (?:what|how|why|the)|lessons? (?:learned|from)|my (?:story|journey|experience)|how i|how we|\\d+ (?:things|ways|tips|lessons|reasons|tools|steps|mistakes|years of)|i learned|what i learned|hot take|unpopular opinion|psa|rant|til|guide|tips for|case study|breakdown|tutorial|here is (?:what|how)|the truth about|we analyzed|tl;?dr|deep dive|why (?:you|we|i|most|the|your))\\b",
  ),
  cue(
    'news',
    '\\b(?:announces?|announced|launches|unveils?|reports?|says|said|acquires?|acquired|acquisition|according to|ceo|released?|shares|market(?! for)|lawsuit|sues|ipo|billion|government|study|researchers|researcher|president|court|police|today announced|press release|newswire|prnewswire|globe newswire)\\b',
  ),
  cue(
    'opinion',
    '\\b(?:anyone else|am i the only|is it just me|does anyone else|unpopular|thoughts on|discussion|debate|what do you think|why do(?:es)?|change my mind|overrated|underrated|dead|future of|the end of|replace (?:developers|engineers|us|jobs|humans))\\b',
  ),
] as const;

/** Whose wish it is where it is not the author's. */
export const HEARSAY = [
  cue(
    'hearsay',
    '\\b(?:told|tells|asked|asks|texted|emailed|called) (?:me|us) (?:that|whether|if|how|why|his|her|their|he|she|they|to)\\b',
    '\\b(?:he|she|they|somebody|someone|people|analysts|experts|studies|(?:the|an|this) (?:article|study|report|survey|author)|a (?:friend|colleague|client|customer|buddy) of mine|my (?:(?:old|former|ex) )?(?:boss|cousin|friend|neighbou?r|uncle|aunt|brother|sister|buddy|colleague|manager)) (?:\\w+ )?(?:said|says?|told|claims?|thinks?|was looking|were looking|had been|used to|needed|wanted|was thinking|were thinking|wants|needs)\\b',
    '\\b(?:years? ago|back then|back in (?:19|20)\\d\\d|once (?:said|asked|told|needed|wanted))\\b',
  ),
] as const;

/** What goes on around the author that makes a purchase likely or pressing. */
export const CIRCUMSTANCES = [
  cue(
    'pain',
    "\\b(?:struggl\\w+|frustrat\\w+|fed up|sick of|tired of|nightmare|driving (?:us|me) (?:mad|crazy|nuts|insane)|headache|killing (?:me|us)|drowning|painful|pain|clunky|a mess|messy|wast(?:e|ing|ed)|hate|annoying|bottleneck|overwhelm\\w+|falling apart|falling through|losing|lost|can't keep up|time[- ]consuming|tedious|manual(?:ly)?|stuck|issues?|problems?|trouble|broken|fails?|failing|slow|sluggish|unreliable|crash\\w*|limit(?:ed|ations?)|lacking|lacks|isn't cutting it|aren't cutting it|not cutting it|chargebacks?|fraud|declin\\w+)\\b",
  ),
  cue(
    'price_pain',
    '\\b(?:too expensive|overpriced|price (?:hike|increase|jump)|pricing (?:is|has|change|structure|model)|ridiculous|insane|costly|expensive|fees?|raised (?:their|the|its|our|my) (?:price|rate|fee|bill)|(?:prices?|rates?) (?:went up|doubled|rose|jumped)|doubled (?:our|my|the|their|its) (?:price|bill|rate|fee)|charging|cost(?:s|ing) (?:us|me|a|too|\\$)|hidden|upcharge|renewal|bill)\\b',
  ),
  cue(
    'bad_review',
    "\\b(?:terrible|horrible|awful|worst|scam\\w*|avoid|beware|never again|stay away|do not (?:use|buy|recommend)|don't use|disappoint\\w*|rip[- ]?off|unprofessional|rude|useless|garbage|joke|poor (?:service|quality|customer|support)|bad (?:experience|service|support|customer)|refund|no response|ignored|customer (?:service|support)|support team|closed (?:my|our) account|locked|suspended|held (?:my|our) (?:money|funds)|overcharg\\w+|misleading|warning|incompeten\\w+|abysmal)\\b",
    '\\b[12] of 5\\b',
  ),
  cue(
    'vendor',
    '\\b(?:shopify|etsy|amazon|ebay|meta|facebook|instagram|google|stripe|paypal|square|godaddy|wix|squarespace|wordpress|notion|slack|zoom|aws|azure|microsoft|salesforce|hubspot|quickbooks|intuit|xero|linkedin|indeed|yelp|trustpilot|tiktok|klaviyo|mailchimp|fedex|ups|usps|dhl|canva|adobe|atlassian|jira|github|openai|upwork|fiverr|airtable|zapier|twilio|ahrefs|semrush|cloudflare|heroku|vercel|docusign|zoho|freshbooks|wells fargo|chase|amex|hostgator|bluehost|comcast|verizon)\\b',
  ),
  cue(
    'outrage',
    "\\b(?:what the hell|wtf|ffs|sucks?|insane|ridiculous|unbelievable|disgusting|shocking|i'm done|done with|fed up|had enough|learn from my|stay away|avoid at all costs|be careful|warning|don't (?:trust|use)|never use|down again|is down|out(?:age|ages)|deactivated|banned|(?:can't|cannot) (?:reach|get through|get hold)|lock you in|locked into|huge (?:mistake|upset)|regret|mess)\\b",
    '!!!|\\?!',
  ),
  cue(
    'good_review',
    '\\b[45] of 5\\b|\\b(?:highly recommend|great (?:service|product|experience|company|team|work)|love (?:it|this|the|their)|excellent|amazing|easy to use|user[- ]friendly|very (?:happy|pleased|satisfied|helpful|responsive)|best decision|game[- ]changer|works (?:great|perfectly)|awesome)\\b',
  ),
  cue(
    'review_form',
    '\\b(?:pros|cons|overall|likes?|dislikes?)\\s*:|\\b\\d(?:\\.\\d)? (?:of|out of|\\/) 5\\b|\\breview by\\b|\\breview of\\b|\\b(?:my|honest|our) review\\b|\\bstars?\\b|\\breviews?\\s*[:|-]',
  ),
  cue(
    'round',
    '\\b(?:raises?|raised|raising|closes?|closed|secures?|secured|lands?|landed|nets?|bags?) (?:\\w+ ){0,2}(?:[$€£₹] ?\\d[\\d.,]{0,15} ?(?:m|mn|mm|million|bn|billion|k|crore)?\\b|\\d[\\d.,]{0,15} ?(?:m|mn|million|bn|billion)\\b|(?:a |an |its )?(?:seed|series [a-h]|pre-seed|funding round))',
    '\\bseries [a-h]\\b|\\bseed (?:round|funding)\\b|\\bfunding round\\b',
  ),
  cue(
    'growth',
    '\\b(?:expansion|expands? (?:into|to|its|operations)|opens? (?:a |its )?(?:new|first|second) (?:office|location|store|headquarters|branch|facility)|new (?:office|location|headquarters|branch|facility)|migrat(?:e|ing|ion) (?:\\w+ ){0,5}(?:to|from) (?:aws|azure|the cloud|gcp|\\w+)|digital transformation|hiring (?:our|its|their|my) first|first (?:employee|hire|sales|marketing)|scaling (?:fast|quickly|up)|growing (?:fast|quickly)|acqui(?:res|red))\\b',
  ),
  cue('board_only', '\\b(?:non-executive|board of directors|advisory board|board member|advisor)\\b'),
  cue(
    'funding',
    '\\b(?:raises?|raised|raising|closes?|closed|secures?|secured|lands?|landed|nets?|bags?|completes?|announce[sd]?|receiv\\w+|gets?) (?:\\w+ ){0,4}(?:[$€£₹] ?\\d[\\d.,]{0,15}|\\d[\\d.,]{0,15} ?(?:m|mn|million|bn|billion|k|crore)\\b|seed|series [a-h]\\b|funding|pre-seed|investment|round|capital|financing)',
    '\\bseries [a-h]\\b|\\b(?:seed|funding|financing|investment|growth) round\\b|\\bled by\\b.{0,60}\\b(?:ventures?|capital|partners)\\b|\\b[$€£] ?\\d[\\d.,]{0,15} ?(?:m|mn|million|bn|billion)\\b|\\b(?:vc|venture)[- ](?:backed|funded)\\b|\\bseed[- ]funded\\b|\\byc [ws]\\d\\d\\b',
  ),
  cue(
    'appointment',
    '\\b(?:appoints?|appointed|appointment of|names|named|hires|taps|promotes|promoted|welcomes|joins|joined|steps down|stepping down|succeeds|elected)\\b(?:\\W+\\w+){0,9}\\W+(?:ceo|cto|cfo|coo|cmo|cro|cio|ciso|chro|chief|vp|svp|evp|vice president|head of|director|president|manager|partner|lead|chair\\w*|leadership)\\b',
    '\\b(?:new (?:ceo|cto|cfo|coo|cmo|cro|cio|ciso|vp|head of|director|manager|role|position|job) (?:as|at|of|with)|started? (?:a )?new (?:role|position|job)|happy to share that i|(?:glad|delighted|thrilled|pleased|proud) to (?:share|announce) that i(?:.m| am|.ve| have)? (?:been |now )?(?:start|join|accept|promot)\\w*|excited to (?:announce|share|join)|(?:starting|start|started) (?:\\w+ ){0,3}as (?:an? |the |their |our |its )?(?:new )?(?:\\w+ )?(?:ceo|cto|cfo|coo|cmo|cro|cio|ciso|chief|vp|svp|evp|vice president|head of|director|manager)|joining .{0,40} as|as (?:its|their|the|our) new|first (?:head|vp|director) of|recently (?:joined|hired|promoted)|just (?:joined|started|got promoted) (?:at|as|a|to)|took over as|been (?:tasked|asked) (?:with|to))\\b',
  ),
  cue(
    'programming',
    '\\b(?:lambdas?|api gateway|dynamodb|s3 bucket|ec2|cognito|cloudformation|terraform|dockerfile|kubernetes|helm|rails|django|flask|laravel|react|next\\.js|node\\.?js|python|javascript|typescript|golang|npm|pip|gems?|jwt|oauth|sql|regex|json|xml|csv file|back-?end|front-?end|end-?points?|rest api|code ?base|codebase|source code|my code|unit tests?|framework|github repo|stack trace|error message|boilerplate|templates?|scripts?|functions?|variables?|package manager|librar(?:y|ies))\\b',
  ),
  cue(
    'date',
    '\\b(?:asap|urgent(?:ly)?|immediately|right away|deadline|this (?:week|month|quarter)|next (?:week|month|quarter|year)|end of (?:the )?(?:week|month|quarter|year)|tomorrow|by (?:friday|monday|tuesday|wednesday|thursday|saturday|sunday|end|the end|january|february|march|april|june|july|august|september|october|november|december|q[1-4])|within (?:a|the|\\d+|two|three) |before (?:the|we|i|our|q[1-4]|launch)|soon|quickly|in \\d+ (?:days|weeks|months)|time[- ]sensitive)\\b',
  ),
  cue(
    'money',
    '[$€£₹] ?\\d|\\b\\d[\\d.,]{0,15} ?(?:k|usd|eur|gbp|inr|dollars|euros|pounds|lakhs?)\\b|\\bper (?:seat|user|month|year|hour|agent)\\b|\\/(?:mo|month|yr|hr|hour|user|seat)\\b',
  ),
  cue(
    'team_size',
    '\\b(?:\\d+|two|three|four|five|six|ten|dozen)[ -]?(?:\\+ ?)?(?:people|person|persons|employees|users|seats|reps|engineers|staff|devs|developers|team members|locations|clients|agents|orders|skus|man|stores|servers|customers)\\b|\\bteam of (?:\\d+|two|three|four|five|six|ten)\\b|\\b(?:small|growing|lean|remote|in-house) (?:team|company|business|shop|firm|store|agency)\\b',
  ),
  cue(
    'business',
    "\\b(?:(?:my|our|the) (?:\\w+ )?(?:business|company|team|store|shop|startup|clients?|customers|agency|firm|practice|nonprofit|non-profit|ngo|employer|boss|cto|ceo|manager|org|organi[sz]ation|department|employees|staff|warehouse|saas|platform|product|brand|website|app|infrastructure)|small business|b2b|(?:we|i) (?:run|own|operate|manage|sell|work (?:at|for|with|in))|(?:for|at|in|of|run|own|have) (?:my|our|a|an|the|his|her) (?:(?:small|new|local|growing|little|family|busy|mid-?sized?|medium|law|dental|accounting|construction|online|web|e-?commerce|retail|coffee|repair) ){0,2}(?:bakery|restaurant|caf[eé]|bar|salon|clinic|gym|studio|hotel|hostel|brewery|farm|workshop|garage|dealership|consultancy|charity|church|factory|plant|office|boutique|shop|store|practice|firm|company|business|agency|startup|nonprofit|non-profit|brand|school|laborator(?:y|ies)|lab)\\b|(?:fill|filling) (?:\\w+ ){0,3}(?:roles?|positions?|vacanc(?:y|ies))|i(?:'m| am) (?:a|the) (?:founder|owner|co-?founder|ceo|cto|manager|director|freelancer|consultant|recruiter|small business))\\b",
  ),
  cue(
    'current_tool',
    "\\b(?:(?:we|i)(?: are|'re|re| am|'m|m|'ve been| have been|'ve| have)? (?:currently |now |still |mostly |just |already |been )?(?:use|using|used|on|with|tried|paying|pay|have|running|run)|right now (?:we|i)|currently (?:we|i|on|use|using|have|running)|at the moment)\\b",
  ),
  cue(
    'requirements',
    '\\b(?:must[- ]haves?|nice to have|requirements?|needs? to (?:be|have|support|integrate|handle|work)|should (?:be able|support|have|integrate)|ideally|preferably|integrat(?:e|es|ion) with|features? (?:we|i|like|needed)|key (?:features|requirements)|deal ?breakers?|criteria|priorit(?:y|ies) (?:is|are)|use case|we want|able to handle)\\b',
  ),
  cue(
    'legal',
    '\\b(?:tax(?:es)?|vat|llc|legal(?:ly)?|lawsuit|sue|court|irs|visa|permit|licen[cs]e|gdpr|compliance|contract|invoice|trademark|copyright|deposit|refund|chargeback)\\b',
  ),
  cue('politeness', '\\b(?:thanks|thank you|thx|tia|cheers|appreciated?|please|grateful|hi|hello|hey)\\b'),
  cue(
    'private_money',
    '\\b(?:invest(?:ing)?|stocks?|etf|portfolio|401k|ira|retirement|mortgage|net worth|salary|emi|sip|mutual funds?|credit (?:card|score)|savings account|debt|nifty|crypto|shares|dividend|pension|hysa)\\b',
  ),
  cue(
    'german',
    '\\b(?:wir|ich|für|nicht|und|eine[nr]?|suchen|oder|auch) (?:\\w+ ){0,3}(?:wir|ich|für|nicht|und|eine[nr]?|das|der|die|mit|auf)\\b',
  ),
] as const;
