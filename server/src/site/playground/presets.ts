import { Type } from 'typebox';
import { deletePreset, listPresets, savePreset } from '../../catalog/presets.ts';
import { GenerationBodySchema } from '../../catalog/request.ts';
import { ApiError } from '../../kernel/errors.ts';
import { nameSchema, type PageDeps, siteRoute } from '../route.ts';

const getPresets = siteRoute('GET /console/api/presets', {
  handle: async ({ db }: PageDeps, { session: { accountId } }) => {
    return { items: await listPresets(db, accountId), next: null };
  },
});

const RequestSchema = Type.Partial(GenerationBodySchema, { additionalProperties: false });

const putPreset = siteRoute('PUT /console/api/presets', {
  body: Type.Object({ name: nameSchema(80), request: RequestSchema }),
  handle: async ({ db }: PageDeps, { body: { name, request }, session: { accountId } }) => {
    await savePreset(db, accountId, { name: name.trim(), request });
    return {};
  },
});

/** The name is not in the path, because it may be a dot, which clients drop from paths. */
const removePreset = siteRoute('DELETE /console/api/presets', {
  query: Type.Object({ name: nameSchema(80) }),
  handle: async ({ db }: PageDeps, { query: { name }, session: { accountId } }) => {
    if (await deletePreset(db, accountId, name)) return { deleted: true };
    throw new ApiError('not_found', 'There is no preset of this name.');
  },
});

export const PRESET_ROUTES = [getPresets, putPreset, removePreset];
