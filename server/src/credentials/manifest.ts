/** The IPTC's terms: made by a trained model, or by another program. */
type DigitalSource = 'trainedAlgorithmicMedia' | 'algorithmicMedia';

/** The media type in a manifest: of any video (whatever its container), or of a poster. */
export type Format = 'video/mp4' | 'image/webp';

/** What a manifest says about a video. */
export interface Origin {
  source: DigitalSource;
  model: string;
  /** ISO 8601. */
  at: string;
  /** What the service is called; by default Framewright. */
  generator?: string;
  /** The version of the service. */
  version: string;
  /** SHA-256 in hex; null: the manifest does not say. */
  promptHash: string | null;
  /** The files that it was made from; undefined: the manifest does not say. */
  inputs?: { role: string; mediaType: string; sha256: string }[];
}

/** Whether the video came with a manifest of the provider, and whether that manifest is valid. */
export type Parent = (typeof PARENTS)[number];
export const PARENTS = ['none', 'valid', 'invalid'] as const;

/** How the manifest names the parent: the video as the provider had signed it. */
export const PARENT_LABEL = 'parent';

/**
 * The definition of a manifest. If the provider had signed the video, that is the parent, and the
 * first action is `opened` instead of `created`; the signer adds the parent itself.
 */
export function manifestOf(origin: Origin, format: Format, hasParent: boolean) {
  const { source, model, at, generator: name = 'Framewright', version, promptHash } = origin;
  const ingredients = (origin.inputs ?? []).map(({ role, mediaType, sha256 }, i) => ({
    title: role.replace('_', ' '),
    format: mediaType,
    relationship: 'inputTo',
    instance_id: `sha256:${sha256}`,
    label: `input_${i}`,
  }));
  const inputIds = ingredients.map(({ label }) => label);
  const action = {
    action: hasParent ? 'c2pa.opened' : 'c2pa.created',
    when: at,
    softwareAgent: { name: model },
    digitalSourceType: `http://cv.iptc.org/newscodes/digitalsourcetype/${source}`,
    parameters: {
      // C2PA: `opened` names exactly one ingredient, its parent.
      ingredientIds: hasParent ? [PARENT_LABEL] : inputIds,
      ...(promptHash !== null && { 'framewright.prompt_sha256': promptHash }),
    },
  };
  return {
    claim_generator_info: [{ name, version }],
    format,
    ingredients,
    assertions: [{ label: 'c2pa.actions.v2', data: { actions: [action] } }],
  };
}
