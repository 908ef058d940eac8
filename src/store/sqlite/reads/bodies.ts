/** Joins a delivery `d` to its body, `b`, and to the text that ends it, `t`. */
export const BODY_JOINS =
  'LEFT JOIN delivery_bodies b ON b.id = d.body_id LEFT JOIN body_tails t ON t.id = b.tail_id';

/** The whole body; null where it is not kept any more. */
export const WHOLE_BODY = 'iif(t.text IS NULL, b.body, b.body || t.text)';
