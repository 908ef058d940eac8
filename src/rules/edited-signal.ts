import type { Signal } from '../model/signal.ts';

/**
 * A stored signal after its author has edited the post: class, score and text are those of the edit, what is known of
 * author and company is added to, and what the signal is tied to stays: id, time of detection, lead and other places.
 */
export function editedSignal(before: Signal, edit: Signal): Signal {
  return {
    ...before,
    signal_type: edit.signal_type,
    classification: edit.classification,
    icp_score: edit.icp_score,
    prospect: filled(before.prospect, edit.prospect),
    // Facts of one company: those of another are no addition to them.
    company:
      edit.company.domain === '' || edit.company.domain === before.company.domain
        ? filled(before.company, edit.company)
        : edit.company,
    platform: filled(before.platform, edit.platform),
    excerpt: edit.excerpt,
    icp_profile_name: edit.icp_profile_name,
  };
}

/** Later facts take the place of earlier ones where they say anything. */
function filled<T extends Record<string, string>>(before: T, later: T): T {
  const said = Object.entries(later).filter(([, value]) => value !== '');
  return { ...before, ...Object.fromEntries(said) };
}
