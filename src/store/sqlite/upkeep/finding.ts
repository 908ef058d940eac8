/** Something that is wrong, in words for an operator; no text of a tenant's stands in it. */
export interface Finding {
  part: 'pages' | 'references' | 'schema' | 'json' | 'index' | 'counts' | 'order' | 'deliveries';
  detail: string;
}
