/** The platform of made-up posts, by which they are told from real ones wherever they are shown. */
export const SAMPLE_PLATFORM = 'sample';
